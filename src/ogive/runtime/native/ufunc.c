/* A numpy.ufunc made from kernels.
 *
 * NumPy borrows every array that it is given here (loops, data, types, name, documentation) for as long
 * as the ufunc lives; they lie together in one block, which the ufunc owns through its `obj` member.
 *
 * A kernel that is yet to be compiled refers to the operator, and the operator to its ufuncs. So that such a circle is
 * found by the garbage collector, the block is an object that shows its kernels, and the ufunc is tracked.
 */
#include "native.h"

#include <string.h>

typedef struct {
    PyObject_HEAD
    PyObject *kernels; /* a list: every kernel that `data` points to */
    double *parameters;
    OgiveLoopData *loops;
    PyUFuncGenericFunction *functions;
    void **data;
    char *types;
    char *name;
    char *doc;
    int loop_count;
    OgiveDirect direct;
    vectorcallfunc vectorcall; /* NumPy's */
} ufunc_block;

static PyTypeObject *block_type;

static int block_traverse(PyObject *object, visitproc visit, void *arg) {
    Py_VISIT(((ufunc_block *)object)->kernels); /* never cleared: the ufunc may still be called */
    Py_VISIT(Py_TYPE(object));
    return 0;
}

static void block_dealloc(PyObject *object) {
    ufunc_block *block = (ufunc_block *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    Py_XDECREF(block->kernels);
    PyMem_Free(block->parameters);
    PyMem_Free(block->loops);
    PyMem_Free(block->functions);
    PyMem_Free(block->data);
    PyMem_Free(block->types);
    PyMem_Free(block->name);
    PyMem_Free(block->doc);
    PyMem_Free(block->direct.types);
    type->tp_free(object);
    Py_DECREF(type);
}

OgiveDirect *ogive_direct_loops(PyObject *ufunc) {
    PyObject *block = ((PyUFuncObject *)ufunc)->obj;
    return block != NULL && Py_IS_TYPE(block, block_type) ? &((ufunc_block *)block)->direct : NULL;
}

/* The type of our ufuncs: numpy.ufunc with other pickling. A type of its own leaves the reducer alone that NumPy
 * registers for numpy.ufunc, and lets the garbage collector look into the block: kernels can refer to their
 * operator, which keeps its ufuncs. Python code cannot derive from numpy.ufunc, a static type can. */

static PyObject *ufunc_reduce(PyObject *ufunc, PyObject *unused) {
    (void)unused;
    PyObject *module = PyImport_ImportModule("ogive.operators.pickling");
    if (module == NULL) {
        return NULL;
    }
    PyObject *result = PyObject_CallMethod(module, "reduced_ufunc", "O", ufunc);
    Py_DECREF(module);
    return result;
}

static PyMethodDef ufunc_methods[] = {
    {"__reduce__", ufunc_reduce, METH_NOARGS, "How pickle and copy take the ufunc apart: see ogive.operators.pickling."},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject ufunc_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ogive._native.Ufunc",
    .tp_doc = "A numpy.ufunc made by make_ufunc.",
    .tp_flags = Py_TPFLAGS_DEFAULT, /* with what inherits NumPy's part in garbage collection */
    .tp_methods = ufunc_methods,
};

int ogive_add_ufunc_type(PyObject *module) {
    ufunc_type.tp_base = &PyUFunc_Type; /* known only now: the address comes from NumPy's table */
    ufunc_type.tp_basicsize = PyUFunc_Type.tp_basicsize;
    return PyModule_AddType(module, &ufunc_type);
}

/* ---- rows of masked arrays ---- */

/* NumPy's ufuncs of rows compute with what a mask hides. The operator leaves it out, or says why it cannot. */
static PyObject *call_operator(PyObject *ufunc, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
    PyObject *binding = PyObject_GetAttrString(ufunc, "ogive_binding"), *op, *values, *result = NULL;
    PyObject *tuple = PyTuple_New(nargs), *keywords = PyDict_New();
    if (binding != NULL && tuple != NULL && keywords != NULL && PyArg_ParseTuple(binding, "OO", &op, &values) &&
        PyDict_MergeFromSeq2(keywords, values, 1) == 0) {
        for (Py_ssize_t i = 0; i < nargs; ++i) {
            PyTuple_SET_ITEM(tuple, i, Py_NewRef(args[i]));
        }
        Py_ssize_t k = 0;
        while (names != NULL && k < PyTuple_GET_SIZE(names) &&
               PyDict_SetItem(keywords, PyTuple_GET_ITEM(names, k), args[nargs + k]) == 0) {
            ++k;
        }
        result = PyErr_Occurred() ? NULL : PyObject_Call(op, tuple, keywords);
    }
    Py_XDECREF(binding);
    Py_XDECREF(tuple);
    Py_XDECREF(keywords);
    return result;
}

/* NumPy's call. It does not look after a loop of rows, which may have had no memory or no compiler; and where its iterators have no
 * memory it does not say so. */
static PyObject *element_vectorcall(PyObject *ufunc, PyObject *const *args, size_t nargsf, PyObject *names) {
    PyObject *result = ((ufunc_block *)((PyUFuncObject *)ufunc)->obj)->vectorcall(ufunc, args, nargsf, names);
    if (result != NULL && PyErr_Occurred()) {
        Py_CLEAR(result);
    } else if (result == NULL && !PyErr_Occurred()) {
        PyErr_NoMemory();
    }
    return result;
}

static PyObject *row_vectorcall(PyObject *ufunc, PyObject *const *args, size_t nargsf, PyObject *names) {
    const Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    for (Py_ssize_t i = 0; i < nargs; ++i) {
        if (PyArray_Check(args[i]) && !PyArray_CheckExact(args[i]) && PyObject_HasAttrString(args[i], "mask") &&
            PyObject_HasAttrString(ufunc, "ogive_binding")) {
            return call_operator(ufunc, args, nargs, names);
        }
    }
    return element_vectorcall(ufunc, args, nargsf, names);
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

/* ---- types that other packages registered -------------------------------------------------------- */

static const char *promoter_name = "numpy._ufunc_promoter"; /* NumPy's name for capsules of promoters */

static int is_number_of_python(const PyArray_DTypeMeta *dtype) {
    return dtype == &PyArray_PyLongDType || dtype == &PyArray_PyFloatDType;
}

static int is_real_number(const PyArray_DTypeMeta *dtype) {
    const int type = dtype->type_num;
    return is_number_of_python(dtype) || PyTypeNum_ISBOOL(type) || PyTypeNum_ISINTEGER(type) || PyTypeNum_ISFLOAT(type);
}

/* Whether a loop with an operand of a registered type is the one for these operands: they have its types, or are Python's
 * numbers, which take the registered type that they stand beside. `asked` are the types that a call names (dtype=): where
 * it names that of a result, real numbers are cast to it, if NumPy's rules for casting let them. */
static int suits(const int *types, PyArray_DTypeMeta *const *given, PyArray_DTypeMeta *const *asked, int inputs,
                 int outputs) {
    int registered = 0, result_is_asked = 0; /* whether an operand has such a type, and a result must have */
    for (int k = inputs; k < inputs + outputs; ++k) {
        if (asked[k] != NULL && asked[k]->type_num != types[k]) {
            return 0;
        }
        result_is_asked |= asked[k] != NULL && types[k] >= NPY_USERDEF;
    }
    for (int k = 0; k < inputs; ++k) {
        const PyArray_DTypeMeta *dtype = asked[k] != NULL ? asked[k] : given[k];
        if (dtype == NULL) { /* the accumulator of a reduction: what the loop makes */
            continue;
        }
        if (dtype->type_num == types[k]) {
            registered |= types[k] >= NPY_USERDEF;
        } else if (types[k] < NPY_USERDEF || asked[k] != NULL ||
                   !(result_is_asked ? is_real_number(dtype) : is_number_of_python(dtype))) {
            return 0;
        }
    }
    return registered || result_is_asked;
}

/* Finds the loop for Python's numbers beside bfloat16. NumPy does that for its own types only. Called where no loop has
 * exactly these types; -1 without an error leaves the call to NumPy. */
static int promote(PyObject *ufunc, PyArray_DTypeMeta *const given[], PyArray_DTypeMeta *const asked[],
                   PyArray_DTypeMeta *promoted[]) {
    const PyUFuncObject *self = (PyUFuncObject *)ufunc;
    const ufunc_block *block = (const ufunc_block *)self->obj;
    const int operands = self->nin + self->nout;
    for (int i = 0; i < block->loop_count; ++i) {
        const int *types = block->direct.types + i * operands;
        if (!is_builtin(types, operands) && suits(types, given, asked, self->nin, self->nout)) {
            for (int k = 0; k < operands; ++k) {
                PyArray_Descr *descr = PyArray_DescrFromType(types[k]);
                promoted[k] = (PyArray_DTypeMeta *)Py_NewRef(Py_TYPE(descr));
                Py_DECREF(descr);
            }
            return 0;
        }
    }
    return -1;
}

static int add_promoter(PyObject *ufunc, int operands) {
    PyObject *any = PyTuple_New(operands), *capsule = PyCapsule_New((void *)promote, promoter_name, NULL);
    int status = -1;
    if (any != NULL && capsule != NULL) {
        for (int k = 0; k < operands; ++k) {
            PyTuple_SET_ITEM(any, k, Py_NewRef(Py_None));
        }
        status = PyUFunc_AddPromoter(ufunc, any, capsule);
    }
    Py_XDECREF(any);
    Py_XDECREF(capsule);
    return status;
}

PyObject *ogive_make_ufunc(PyObject *module, PyObject *args, PyObject *keywords) {
    (void)module;
    static char *names[] = {"name", "doc", "inputs", "outputs", "loops", "parameters", "row_wise",
                            "identity", "reorderable", "reduces", NULL};
    const char *name, *doc;
    int inputs, outputs;
    int row_wise = 0, reorderable = 0, reduces = 0;
    PyObject *loops, *parameters, *identity = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "ssiiO!O!|pOpp:make_ufunc", names, &name, &doc,
                                     &inputs, &outputs, &PyList_Type, &loops, &PyTuple_Type,
                                     &parameters, &row_wise, &identity, &reorderable, &reduces)) {
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

    ufunc_block *block = (ufunc_block *)block_type->tp_alloc(block_type, 0);
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
        Py_DECREF(block);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < parameter_count; ++i) {
        block->parameters[i] = PyFloat_AsDouble(PyTuple_GET_ITEM(parameters, i));
        if (block->parameters[i] == -1.0 && PyErr_Occurred()) {
            Py_DECREF(block);
            return NULL;
        }
    }
    int builtin_loops = 0;
    const char *of_row = NULL; /* of all loops the same */
    for (Py_ssize_t i = 0; i < loop_count; ++i) {
        OgiveKernel *kernel = read_loop(PyList_GET_ITEM(loops, i), inputs, outputs, row_wise, typenums);
        if (kernel == NULL || PyList_Append(block->kernels, (PyObject *)kernel) < 0) {
            Py_DECREF(block);
            return NULL;
        }
        if (of_row != NULL && memcmp(of_row, kernel->of_row, (size_t)operands) != 0) {
            PyErr_SetString(PyExc_ValueError, "make_ufunc: kernels differ in which operands have one number a row");
            Py_DECREF(block);
            return NULL;
        }
        of_row = kernel->of_row;
        PyObject *its_name = PyUnicode_FromString(name);
        if (its_name == NULL) {
            Py_DECREF(block);
            return NULL;
        }
        OGIVE_LOCK(kernel);
        if (kernel->name == NULL) {
            kernel->name = Py_NewRef(its_name);
        }
        OGIVE_UNLOCK();
        Py_DECREF(its_name);
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
    block->loop_count = (int)loop_count;
    block->direct.inputs = inputs;
    block->direct.row_wise = row_wise;
    for (int k = 0; of_row != NULL && k < operands; ++k) {
        block->direct.has_row_operands |= of_row[k];
    }
    block->direct.reduces = reduces;
    block->direct.loop_count = outputs != 1 ? 0 : (int)loop_count;
    block->direct.loops = block->loops;
    /* (n),(1),...->(n),...: every operand of a row-wise operator has one row at a time, or one number of a row. Where it
     * reduces rows, its results have no axis for that number: (n)->(). */
    char signature[OGIVE_MAX_OPERANDS * 4 + 2], *end = signature;
    for (int k = 0; k < operands; ++k) {
        memcpy(end, k == inputs ? "->" : ",", 2);
        end += k == inputs ? 2 : k > 0;
        const char *part = reduces && k >= inputs ? "()" : of_row != NULL && of_row[k] ? "(1)" : "(n)";
        end = strcpy(end, part) + strlen(part);
    }
    const int kind = identity != Py_None ? PyUFunc_IdentityValue : reorderable ? PyUFunc_ReorderableNone : PyUFunc_None;
    PyObject *ufunc = PyUFunc_FromFuncAndDataAndSignatureAndIdentity(
        block->functions, block->data, block->types, builtin_loops, inputs, outputs, kind, block->name, block->doc, 0,
        row_wise ? signature : NULL, identity);
    if (ufunc == NULL) {
        Py_DECREF(block);
        return NULL;
    }
    ((PyUFuncObject *)ufunc)->obj = (PyObject *)block; /* from here on the ufunc frees the block */
    Py_SET_TYPE(ufunc, &ufunc_type); /* NumPy made it as an object of its own type, of the same layout */
    block->vectorcall = ((PyUFuncObject *)ufunc)->vectorcall;
    ((PyUFuncObject *)ufunc)->vectorcall = row_wise ? row_vectorcall : element_vectorcall;
    if (!PyObject_GC_IsTracked(ufunc)) { /* NumPy tracks only those that it makes of Python functions */
        PyObject_GC_Track(ufunc);
    }

    /* Types that other packages registered (bfloat16) are added one by one. */
    int registered = 0;
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
        registered = 1;
    }
    if (registered && add_promoter(ufunc, operands) < 0) {
        Py_DECREF(ufunc);
        return NULL;
    }
    return ufunc;
}

static PyType_Slot block_slots[] = {
    {Py_tp_doc, "What a ufunc made by make_ufunc owns."},
    {Py_tp_dealloc, block_dealloc},
    {Py_tp_traverse, block_traverse},
    {0, NULL},
};

static PyType_Spec block_spec = {
    .name = "ogive._native.Loops",
    .basicsize = sizeof(ufunc_block),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = block_slots,
};

int ogive_add_ufunc_parts(void) {
    block_type = (PyTypeObject *)PyType_FromSpec(&block_spec);
    return block_type == NULL ? -1 : 0;
}
