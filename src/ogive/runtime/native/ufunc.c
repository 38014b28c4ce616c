/* A numpy.ufunc made from kernels.
 *
 * NumPy borrows every array that it is given here (loops, data, types, name, documentation) for as long
 * as the ufunc lives; they lie together in one block, which the ufunc owns through its `obj` member.
 */
#include "native.h"

#include <string.h>

static const char *block_name = "ogive.ufunc";

typedef struct {
    PyObject *kernels; /* a list: every kernel that `data` points to */
    double *parameters;
    OgiveLoopData *loops;
    PyUFuncGenericFunction *functions;
    void **data;
    char *types;
    char *name;
    char *doc;
    OgiveDirect direct;
} ufunc_block;

static void free_block(ufunc_block *block) {
    if (block != NULL) {
        for (int i = 0; i < block->direct.loop_count; ++i) {
            ogive_table_free(&block->loops[i]);
        }
        Py_XDECREF(block->kernels);
        PyMem_Free(block->parameters);
        PyMem_Free(block->loops);
        PyMem_Free(block->functions);
        PyMem_Free(block->data);
        PyMem_Free(block->types);
        PyMem_Free(block->name);
        PyMem_Free(block->doc);
        PyMem_Free(block->direct.types);
        PyMem_Free(block);
    }
}

static void capsule_destructor(PyObject *capsule) {
    free_block(PyCapsule_GetPointer(capsule, block_name));
}

OgiveDirect *ogive_direct_loops(PyObject *ufunc) {
    PyObject *capsule = ((PyUFuncObject *)ufunc)->obj;
    if (capsule == NULL || !PyCapsule_IsValid(capsule, block_name)) {
        return NULL;
    }
    ufunc_block *block = PyCapsule_GetPointer(capsule, block_name);
    return &block->direct;
}

/* The type of our ufuncs: numpy.ufunc with other pickling. A type of its own leaves the reducer alone that NumPy
 * registers for numpy.ufunc, and lets the garbage collector look into the block: kernels can refer to their
 * operator, which keeps its ufuncs. Python code cannot derive from numpy.ufunc, a static type can. */

static int ufunc_traverse(PyObject *ufunc, visitproc visit, void *arg) {
    PyObject *capsule = ((PyUFuncObject *)ufunc)->obj;
    if (capsule != NULL && PyCapsule_IsValid(capsule, block_name)) { /* nobody else has a reference to it */
        ufunc_block *block = PyCapsule_GetPointer(capsule, block_name);
        Py_VISIT(block->kernels);
    }
    return PyUFunc_Type.tp_traverse(ufunc, visit, arg);
}

static PyObject *ufunc_reduce(PyObject *ufunc, PyObject *unused) {
    (void)unused;
    PyObject *module = PyImport_ImportModule("ogive.pickling");
    if (module == NULL) {
        return NULL;
    }
    PyObject *result = PyObject_CallMethod(module, "reduced_ufunc", "O", ufunc);
    Py_DECREF(module);
    return result;
}

static PyMethodDef ufunc_methods[] = {
    {"__reduce__", ufunc_reduce, METH_NOARGS, "How pickle and copy take the ufunc apart: see ogive.pickling."},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject ufunc_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ogive._native.Ufunc",
    .tp_doc = "A numpy.ufunc made by make_ufunc.",
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_traverse = ufunc_traverse,
    .tp_methods = ufunc_methods,
};

int ogive_add_ufunc_type(PyObject *module) {
    ufunc_type.tp_base = &PyUFunc_Type; /* known only now: the address comes from NumPy's table */
    ufunc_type.tp_basicsize = PyUFunc_Type.tp_basicsize;
    ufunc_type.tp_clear = PyUFunc_Type.tp_clear;
    return PyModule_AddType(module, &ufunc_type);
}

static char *copy_text(const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = PyMem_Malloc(size);
    if (copy == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    return memcpy(copy, text, size);
}

static void *allocate(size_t count, size_t size) {
    void *memory = PyMem_Calloc(count > 0 ? count : 1, size);
    if (memory == NULL) {
        PyErr_NoMemory();
    }
    return memory;
}

/* Checks one loop (type numbers, kernel) and stores its type numbers. */
static OgiveKernel *read_loop(PyObject *loop, int inputs, int outputs, int row_wise, int *typenums) {
    PyObject *types, *kernel;
    if (!PyTuple_Check(loop) || !PyArg_ParseTuple(loop, "O!O!", &PyTuple_Type, &types,
                                                   ogive_kernel_type, &kernel)) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "make_ufunc: a loop is a tuple (type numbers, Kernel)");
        }
        return NULL;
    }
    OgiveKernel *found = (OgiveKernel *)kernel;
    if (found->inputs != inputs || found->outputs != outputs ||
        PyTuple_GET_SIZE(types) != inputs + outputs) {
        PyErr_Format(PyExc_ValueError,
                     "make_ufunc: a loop has %zd types and a kernel of %d inputs and %d outputs; "
                     "the ufunc has %d inputs and %d outputs",
                     PyTuple_GET_SIZE(types), found->inputs, found->outputs, inputs, outputs);
        return NULL;
    }
    if (found->row_wise != row_wise) {
        PyErr_SetString(PyExc_ValueError, "make_ufunc: its kernels must be row-wise as it is, or not as it is not");
        return NULL;
    }
    for (int k = 0; k < inputs + outputs; ++k) {
        long typenum = PyLong_AsLong(PyTuple_GET_ITEM(types, k));
        if (typenum == -1 && PyErr_Occurred()) {
            return NULL;
        }
        PyArray_Descr *descr = PyArray_DescrFromType((int)typenum); /* sets an error if there is none */
        if (descr == NULL) {
            return NULL;
        }
        npy_intp itemsize = PyDataType_ELSIZE(descr);
        Py_DECREF(descr);
        if (itemsize != found->itemsizes[k]) {
            PyErr_Format(PyExc_ValueError,
                         "make_ufunc: operand %d has %zd bytes by its type and %zd by its kernel", k,
                         (Py_ssize_t)itemsize, (Py_ssize_t)found->itemsizes[k]);
            return NULL;
        }
        typenums[k] = (int)typenum;
    }
    return found;
}

static int is_builtin(const int *typenums, int count) {
    for (int k = 0; k < count; ++k) {
        if (typenums[k] >= NPY_NTYPES_LEGACY) {
            return 0;
        }
    }
    return 1;
}

PyObject *ogive_make_ufunc(PyObject *module, PyObject *args, PyObject *keywords) {
    (void)module;
    static char *names[] = {"name", "doc", "inputs", "outputs", "loops", "parameters", "row_wise", NULL};
    const char *name, *doc;
    int inputs, outputs;
    int row_wise = 0;
    PyObject *loops, *parameters;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "ssiiO!O!|p:make_ufunc", names, &name, &doc,
                                     &inputs, &outputs, &PyList_Type, &loops, &PyTuple_Type,
                                     &parameters, &row_wise)) {
        return NULL;
    }
    if (inputs < 1 || outputs < 1 || inputs + outputs > OGIVE_MAX_OPERANDS) {
        PyErr_Format(PyExc_ValueError, "make_ufunc: %d inputs and %d outputs; 1 to %d operands are possible",
                     inputs, outputs, OGIVE_MAX_OPERANDS);
        return NULL;
    }
    const int operands = inputs + outputs;
    const Py_ssize_t loop_count = PyList_GET_SIZE(loops), parameter_count = PyTuple_GET_SIZE(parameters);
    int typenums[OGIVE_MAX_OPERANDS];
    PyUFuncGenericFunction function = row_wise ? ogive_row_loop : ogive_element_loop;
    if (row_wise && parameter_count > OGIVE_MAX_PARAMETERS) {
        PyErr_Format(PyExc_ValueError, "make_ufunc: %zd parameters; at most %d are possible for rows",
                     parameter_count, OGIVE_MAX_PARAMETERS);
        return NULL;
    }

    ufunc_block *block = allocate(1, sizeof *block);
    if (block == NULL) {
        return NULL;
    }
    if ((block->kernels = PyList_New(0)) == NULL ||
        (block->parameters = allocate((size_t)parameter_count, sizeof *block->parameters)) == NULL ||
        (block->loops = allocate((size_t)loop_count, sizeof *block->loops)) == NULL ||
        (block->functions = allocate((size_t)loop_count, sizeof *block->functions)) == NULL ||
        (block->data = allocate((size_t)loop_count, sizeof *block->data)) == NULL ||
        (block->types = allocate((size_t)(loop_count * operands), 1)) == NULL ||
        (block->direct.types = allocate((size_t)(loop_count * operands), sizeof *block->direct.types)) == NULL ||
        (block->name = copy_text(name)) == NULL || (block->doc = copy_text(doc)) == NULL) {
        free_block(block);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < parameter_count; ++i) {
        block->parameters[i] = PyFloat_AsDouble(PyTuple_GET_ITEM(parameters, i));
        if (block->parameters[i] == -1.0 && PyErr_Occurred()) {
            free_block(block);
            return NULL;
        }
    }
    int builtin_loops = 0;
    for (Py_ssize_t i = 0; i < loop_count; ++i) {
        OgiveKernel *kernel = read_loop(PyList_GET_ITEM(loops, i), inputs, outputs, row_wise, typenums);
        if (kernel == NULL || PyList_Append(block->kernels, (PyObject *)kernel) < 0) {
            free_block(block);
            return NULL;
        }
        block->loops[i].kernel = kernel;
        block->loops[i].parameters = block->parameters;
        block->loops[i].parameter_count = (int)parameter_count;
        memcpy(block->direct.types + i * operands, typenums, sizeof *typenums * (size_t)operands);
        if (is_builtin(typenums, operands)) {
            for (int k = 0; k < operands; ++k) {
                block->types[builtin_loops * operands + k] = (char)typenums[k];
            }
            block->functions[builtin_loops] = function;
            block->data[builtin_loops] = &block->loops[i];
            ++builtin_loops;
        }
    }
    block->direct.inputs = inputs;
    block->direct.row_wise = row_wise;
    block->direct.loop_count = outputs != 1 ? 0 : (int)loop_count;
    block->direct.loops = block->loops;
    PyObject *capsule = PyCapsule_New(block, block_name, capsule_destructor);
    if (capsule == NULL) {
        free_block(block);
        return NULL;
    }
    /* (n),...->(n),...: every operand of a row-wise operator has one row at a time. */
    char signature[OGIVE_MAX_OPERANDS * 4 + 2], *end = signature;
    for (int k = 0; k < operands; ++k) {
        memcpy(end, k == inputs ? "->" : ",", 2);
        end += k == inputs ? 2 : k > 0;
        memcpy(end, "(n)", 4);
        end += 3;
    }
    PyObject *ufunc = PyUFunc_FromFuncAndDataAndSignature(block->functions, block->data, block->types, builtin_loops,
                                                          inputs, outputs, PyUFunc_None, block->name, block->doc, 0,
                                                          row_wise ? signature : NULL);
    if (ufunc == NULL) {
        Py_DECREF(capsule);
        return NULL;
    }
    ((PyUFuncObject *)ufunc)->obj = capsule; /* from here on the ufunc frees the block */
    Py_SET_TYPE(ufunc, &ufunc_type); /* NumPy made it as an object of its own type, of the same layout */
    if (!PyObject_GC_IsTracked(ufunc)) {
        PyObject_GC_Track(ufunc);
    }

    /* Types that other packages registered (bfloat16) are added one by one. */
    for (Py_ssize_t i = 0; i < loop_count; ++i) {
        if (read_loop(PyList_GET_ITEM(loops, i), inputs, outputs, row_wise, typenums) == NULL) {
            Py_DECREF(ufunc);
            return NULL;
        }
        if (is_builtin(typenums, operands)) {
            continue;
        }
        int user_type = typenums[0];
        for (int k = 1; k < operands; ++k) {
            user_type = typenums[k] > user_type ? typenums[k] : user_type;
        }
        if (PyUFunc_RegisterLoopForType((PyUFuncObject *)ufunc, user_type, function, typenums,
                                        &block->loops[i]) < 0) {
            Py_DECREF(ufunc);
            return NULL;
        }
    }
    return ufunc;
}
