/* redlane_context_syscall._hot: answers plain calls without Python; see hot.py. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "hot.h"


struct hot_loop {
    PyObject_HEAD
    struct hot hot;
    struct call call;
    /* Guarded by the interpreter's lock: */
    bool is_serving;
    bool asks;                /* `call` waits for a ruling */
    unsigned long long token; /* names that question */
};

static int loop_init(PyObject *object, PyObject *arguments, PyObject *keywords) {
    struct hot_loop *self = (struct hot_loop *)object;
    int listener, polls = 0;
    static char *names[] = {"listener", "polls", NULL};
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "i|p", names, &listener, &polls))
        return -1;
    if (self->hot.rulings.kept) {
        PyErr_SetString(PyExc_RuntimeError, "it is at work already");
        return -1;
    }
    if (hot_init(&self->hot, listener, polls)) return 0;
    PyErr_SetFromErrno(PyExc_OSError);
    hot_free(&self->hot);
    return -1;
}

/* Nobody may allow any more what was asked about last. */
static void withdraw(struct hot_loop *self) {
    self->token++;
    if (self->asks) let_go(&self->call);
    self->asks = false;
}

static void loop_dealloc(PyObject *object) {
    struct hot_loop *self = (struct hot_loop *)object;
    PyTypeObject *type = Py_TYPE(object);
    withdraw(self);
    if (self->hot.rulings.kept) hot_free(&self->hot);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

/* False, with an exception, for one that was made without its listener. */
static bool is_ready(const struct hot_loop *self) {
    if (self->hot.rulings.kept) return true;
    PyErr_SetString(PyExc_ValueError, "it has no listener");
    return false;
}

static PyObject *question(struct hot_loop *self) {
    const struct call *call = &self->call;
    self->asks = true;
    return Py_BuildValue("(y#y#y#OK)", (const char *)&call->notification,
                         (Py_ssize_t)sizeof call->notification, call->literal,
                         (Py_ssize_t)call->subject.literal_length, call->canonical,
                         (Py_ssize_t)call->subject.canonical_length,
                         call->subject.changes ? Py_True : Py_False, self->token);
}

static PyObject *loop_serve(PyObject *object, PyObject *nothing) {
    struct hot_loop *self = (struct hot_loop *)object;
    enum outcome outcome;
    (void)nothing;
    if (!is_ready(self)) return NULL;
    if (self->is_serving) Py_RETURN_NONE; /* by another thread: the listener has room */
    withdraw(self);
    self->is_serving = true;
    Py_BEGIN_ALLOW_THREADS
    outcome = hot_serve(&self->hot, &self->call);
    Py_END_ALLOW_THREADS
    self->is_serving = false;
    if (outcome == INTERRUPTED) Py_RETURN_NONE;
    if (outcome == ASK) return question(self);
    return Py_BuildValue("(y#)", (const char *)&self->call.notification,
                         (Py_ssize_t)sizeof self->call.notification);
}

/* As if it served, so that nobody receives meanwhile: a disk may be waited for. */
static PyObject *loop_allow(PyObject *object, PyObject *arguments) {
    struct hot_loop *self = (struct hot_loop *)object;
    unsigned long long token;
    int lasts;
    if (!is_ready(self) || !PyArg_ParseTuple(arguments, "Kp", &token, &lasts)) return NULL;
    if (!self->asks || self->token != token || self->is_serving) Py_RETURN_FALSE;
    bool is_answered;
    self->is_serving = true;
    Py_BEGIN_ALLOW_THREADS
    is_answered = hot_allow(&self->hot, &self->call, lasts);
    Py_END_ALLOW_THREADS
    self->is_serving = false;
    withdraw(self);
    return PyBool_FromLong(is_answered);
}

static PyObject *loop_forget(PyObject *object, PyObject *nothing) {
    struct hot_loop *self = (struct hot_loop *)object;
    (void)nothing;
    if (!is_ready(self)) return NULL;
    rulings_forget(&self->hot.rulings);
    Py_RETURN_NONE;
}

static PyObject *loop_stand_down(PyObject *object, PyObject *nothing) {
    (void)nothing;
    atomic_store(&((struct hot_loop *)object)->hot.stands_down, true);
    Py_RETURN_NONE;
}

static PyObject *loop_answering(PyObject *object, PyObject *nothing) {
    (void)nothing;
    return PyLong_FromUnsignedLongLong(
        atomic_load(&((struct hot_loop *)object)->hot.under_way));
}

static PyObject *loop_calls(PyObject *object, PyObject *nothing) {
    (void)nothing;
    return PyLong_FromUnsignedLong(atomic_load(&((struct hot_loop *)object)->hot.calls));
}

static PyObject *loop_wake_by(PyObject *object, PyObject *descriptor) {
    long number = PyLong_AsLong(descriptor);
    if (number == -1 && PyErr_Occurred()) return NULL;
    atomic_store(&((struct hot_loop *)object)->hot.wake, (int)number);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"serve", loop_serve, METH_NOARGS, "Answer plain calls until one is not."},
    {"allow", loop_allow, METH_VARARGS, "Answer what was asked about last."},
    {"forget", loop_forget, METH_NOARGS, "Forget what was allowed."},
    {"stand_down", loop_stand_down, METH_NOARGS, "Answer nothing from now on."},
    {"answering", loop_answering, METH_NOARGS, "The call under way, or 0."},
    {"calls", loop_calls, METH_NOARGS, "How many calls there have been."},
    {"wake_by", loop_wake_by, METH_O, "Write to this eventfd at the next call."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_doc, "Answers plain calls of one listener."},
                              {Py_tp_init, (void *)loop_init},
                              {Py_tp_dealloc, (void *)loop_dealloc},
                              {Py_tp_methods, methods},
                              {0, NULL}};

static PyType_Spec specification = {.name = "redlane_context_syscall._hot.HotLoop",
                                    .basicsize = sizeof(struct hot_loop),
                                    .flags = Py_TPFLAGS_DEFAULT,
                                    .slots = slots};

static int fill(PyObject *module) {
    PyObject *type = PyType_FromSpec(&specification);
    if (!type) return -1;
    int failed = PyModule_AddObjectRef(module, "HotLoop", type);
    Py_DECREF(type);
    return failed;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, (void *)fill}, {0, NULL}};

static PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                 .m_name = "_hot",
                                 .m_doc = "Answers plain system calls without Python.",
                                 .m_slots = module_slots};

PyMODINIT_FUNC PyInit__hot(void) {
    return PyModuleDef_Init(&definition);
}
