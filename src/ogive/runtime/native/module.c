/* The Python module ogive._native. */
#define OGIVE_DEFINES_NUMPY_API
#include "native.h"

PyObject *ogive_set_expression_type(PyObject *module, PyObject *type);
PyObject *ogive_inherit_vectorcall(PyObject *module, PyObject *type);
PyObject *ogive_add_xla_kernel(PyObject *module, PyObject *args);
PyObject *ogive_xla_handler(PyObject *module, PyObject *unused);

PyObject *ogive_fork_hooks(PyObject *module, PyObject *args);
PyObject *ogive_call_within(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *ogive_operands_first(PyObject *module, PyObject *roots);

static PyObject *get_pool_size(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    return PyLong_FromLong(ogive_pool_size());
}

/* A number of threads, not less than `least`; -1 with an error set. */
static int as_threads(PyObject *value, int least) {
    const long threads = PyLong_AsLong(value);
    if (threads == -1 && PyErr_Occurred()) {
        return -1;
    }
    if (threads < least || threads > OGIVE_MAX_THREADS) {
        PyErr_Format(PyExc_ValueError, "%ld threads; from %d to %d are allowed", threads, least, OGIVE_MAX_THREADS);
        return -1;
    }
    return (int)threads;
}

static PyObject *set_pool_size(PyObject *module, PyObject *value) {
    (void)module;
    const int threads = as_threads(value, 1);
    if (threads < 0) {
        return NULL;
    }
    ogive_pool_resize(threads);
    Py_RETURN_NONE;
}

static PyObject *get_own_pool_size(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    return PyLong_FromLong(ogive_pool_own_size());
}

static PyObject *set_own_pool_size(PyObject *module, PyObject *value) {
    (void)module;
    const int threads = as_threads(value, 0);
    if (threads < 0) {
        return NULL;
    }
    ogive_pool_resize_own(threads);
    Py_RETURN_NONE;
}

static PyObject *x86_level(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    return PyLong_FromLong(ogive_x86_level());
}

/* Kernels take the lock of Python by PyGILState_Ensure, which waits for the main interpreter's state for ever in another one. */
static PyObject *check_interpreter(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_ImportError, "ogive: it was imported in a sub-interpreter; allowed: the main interpreter of a "
                                           "process. Under mod_wsgi, set WSGIApplicationGroup %{GLOBAL}");
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"check_interpreter", check_interpreter, METH_NOARGS, "Raise ImportError in a sub-interpreter."},
    {"make_ufunc", (PyCFunction)(void (*)(void))ogive_make_ufunc, METH_VARARGS | METH_KEYWORDS,
     "make_ufunc(name, doc, inputs, outputs, loops, parameters, row_wise=False, identity=None, reorderable=False, "
     "reduces=False)\n--\n\n"
     "A numpy.ufunc whose loops are [(type numbers, Kernel), ...]; row-wise: a generalised one, (n)->(n); of rows that "
     "it reduces (n)->()."},
    {"pool_size", get_pool_size, METH_NOARGS, "How many threads a large call of this thread uses at most."},
    {"set_pool_size", set_pool_size, METH_O, "Set how many threads a large call of this process uses at most."},
    {"own_pool_size", get_own_pool_size, METH_NOARGS, "The calling thread's own number of threads; 0: none."},
    {"set_own_pool_size", set_own_pool_size, METH_O,
     "Set how many threads a large call of the calling thread uses at most; 0: as many as the process's."},
    {"x86_level", x86_level, METH_NOARGS, "The level of x86-64 that this machine runs: 1, 3 or 4; 0 elsewhere."},
    {"call_within", (PyCFunction)(void (*)(void))ogive_call_within, METH_FASTCALL,
     "call_within(bytes, exception, function, *arguments)\n--\n\n"
     "Call a function whose arrays may take so many bytes together; if one asks for more, raise the exception, with its bytes."},
    {"fork_hooks", ogive_fork_hooks, METH_VARARGS,
     "fork_hooks(held, locks, imports, loading, longest_wait)\n--\n\n"
     "What runs before a fork, after it in the parent and after it in the child, as os.register_at_fork takes them."},
    {"operands_first", ogive_operands_first, METH_O,
     "operands_first(roots)\n--\n\n"
     "Every node of the graphs of a tuple of roots once, operands before the nodes that use them."},
    {"set_expression_type", ogive_set_expression_type, METH_O,
     "Set the class whose instances make a call of an operator symbolic."},
    {"inherit_vectorcall", ogive_inherit_vectorcall, METH_O,
     "Give a subclass of OperatorCall, ModelCall or TensorCall its fast call path; returns the class."},
    {"xla_handler", ogive_xla_handler, METH_NOARGS, "The handler for XLA's foreign function interface, as a capsule."},
    {"add_xla_kernel", ogive_add_xla_kernel, METH_VARARGS,
     "add_xla_kernel(number, kernel)\n--\n\nLet the handler find a kernel, compiled, by a number, as long as the process lives."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "ogive._native",
    .m_doc = "Executable memory, kernels, ufuncs, plans and the thread pool.", .m_size = -1, .m_methods = methods,
};

PyMODINIT_FUNC PyInit__native(void) {
    import_array();
    import_umath();
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL) {
        return NULL;
    }
#ifdef Py_GIL_DISABLED
    PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED);
#endif
    if (ogive_add_code_type(module) < 0 || ogive_add_kernel_type(module) < 0 ||
        ogive_add_operator_type(module) < 0 || ogive_add_ufunc_parts() < 0 || ogive_add_ufunc_type(module) < 0 ||
        ogive_add_plan_types(module) < 0 || ogive_add_tensor_types(module) < 0 || ogive_pool_setup() < 0 ||
        PyModule_AddIntConstant(module, "MAX_THREADS", OGIVE_MAX_THREADS) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
