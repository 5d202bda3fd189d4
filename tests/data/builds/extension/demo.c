#include <Python.h>

static PyObject *says(PyObject *self, PyObject *none)
{
    return PyUnicode_FromString("says A");
}

static PyMethodDef methods[] = {{"says", says, METH_NOARGS, ""}, {0}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "demo", "", -1, methods};

PyMODINIT_FUNC PyInit_demo(void)
{
    return PyModule_Create(&module);
}
