/* redlane_context_syscall._hot: answers plain opens without Python; see hot.py. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "hot.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

struct hot_loop {
    PyObject_HEAD
    struct hot hot;
    struct call call;
    bool is_serving; /* guarded by the interpreter's lock */
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

static void loop_dealloc(PyObject *object) {
    struct hot_loop *self = (struct hot_loop *)object;
    PyTypeObject *type = Py_TYPE(object);
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

static PyObject *asked(struct call *call) {
    PyObject *result = Py_BuildValue(
        "(y#y#y#iK)", (const char *)&call->notification,
        (Py_ssize_t)sizeof call->notification, call->literal,
        (Py_ssize_t)call->subject.literal_length, call->canonical,
        (Py_ssize_t)call->subject.canonical_length, call->pin,
        (unsigned long long)call->epoch);
    if (!result && call->pin >= 0) close(call->pin);
    return result;
}

static PyObject *loop_serve(PyObject *object, PyObject *nothing) {
    struct hot_loop *self = (struct hot_loop *)object;
    enum outcome outcome;
    (void)nothing;
    if (!is_ready(self)) return NULL;
    if (self->is_serving) {
        PyErr_SetString(PyExc_RuntimeError, "another thread receives");
        return NULL;
    }
    self->is_serving = true;
    Py_BEGIN_ALLOW_THREADS
    outcome = hot_serve(&self->hot, &self->call);
    Py_END_ALLOW_THREADS
    self->is_serving = false;
    if (outcome == INTERRUPTED) Py_RETURN_NONE;
    if (outcome == ASK) return asked(&self->call);
    return Py_BuildValue("(y#)", (const char *)&self->call.notification,
                         (Py_ssize_t)sizeof self->call.notification);
}

static PyObject *loop_remember(PyObject *object, PyObject *arguments) {
    struct hot_loop *self = (struct hot_loop *)object;
    struct subject subject;
    Py_ssize_t literal, canonical;
    unsigned long long epoch;
    if (!is_ready(self) ||
        !PyArg_ParseTuple(arguments, "iy#y#K", &subject.number, &subject.literal, &literal,
                          &subject.canonical, &canonical, &epoch))
        return NULL;
    subject.literal_length = (size_t)literal;
    subject.canonical_length = (size_t)canonical;
    rulings_add(&self->hot.rulings, &subject, epoch);
    Py_RETURN_NONE;
}

static PyObject *loop_reopen(PyObject *object, PyObject *arguments) {
    struct hot_loop *self = (struct hot_loop *)object;
    int pin, file = -1;
    const char *canonical;
    unsigned flags;
    struct stat about;
    if (!is_ready(self) || !PyArg_ParseTuple(arguments, "iyI", &pin, &canonical, &flags)) return NULL;
    Py_BEGIN_ALLOW_THREADS
    if (fstat(pin, &about) == 0)
        file = hot_reopen(&self->hot, pin, canonical, S_ISDIR(about.st_mode), flags);
    Py_END_ALLOW_THREADS
    if (file < 0) return PyErr_SetFromErrno(PyExc_OSError);
    return PyLong_FromLong(file);
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

static PyMethodDef methods[] = {
    {"serve", loop_serve, METH_NOARGS, "Answer plain calls until one is not."},
    {"remember", loop_remember, METH_VARARGS, "Keep that a call is allowed."},
    {"forget", loop_forget, METH_NOARGS, "Forget what was allowed."},
    {"reopen", loop_reopen, METH_VARARGS, "Open a pinned file with a caller's flags."},
    {"stand_down", loop_stand_down, METH_NOARGS, "Answer nothing from now on."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_doc, "Answers plain opens of one listener."},
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
