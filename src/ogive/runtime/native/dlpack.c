/* Tensors of another library as NumPy arrays and back, and calls of operators on them, without Python in between.
 *
 * The library (PyTorch from 2.10 on) says how by a table of C functions: DLPack's exchange API, a capsule that its tensor
 * type has as `__dlpack_c_exchange_api__`. The declarations are the part of DLPack 1 that is needed here, so nothing has to
 * be compiled where the library is installed.
 *
 *   TensorExchange   the table, the types of tensors and of elements, and who may be watching
 *   TensorCall       an operator on tensors. A call that it does not take goes to `__call__` of its subclass, the general
 *                    way; without one it gives NotImplemented
 *
 * Whatever is out of the ordinary (another device, no strides, a negative view, a transformation that is at work) is not
 * taken here, and is no error: the caller has a way for it.
 */
#include "native.h"

#include <stdlib.h>
#include <string.h>
#include <structmember.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

/* ---- DLPack's interface ------------------------------------------------------------------ */

typedef struct {
    uint32_t major, minor;
} dl_version;

typedef struct {
    int32_t type, id;
} dl_device;

typedef struct {
    uint8_t code, bits;
    uint16_t lanes;
} dl_dtype;

typedef struct {
    void *data;
    dl_device device;
    int32_t ndim;
    dl_dtype dtype;
    int64_t *shape;
    int64_t *strides; /* in elements */
    uint64_t byte_offset;
} dl_tensor;

typedef struct dl_managed {
    dl_version version;
    void *context;
    void (*deleter)(struct dl_managed *);
    uint64_t flags;
    dl_tensor tensor;
} dl_managed;

typedef struct dl_api {
    dl_version version;
    const struct dl_api *previous; /* of an older version, or NULL */
    int (*allocate)(dl_tensor *, dl_managed **, void *, void (*)(void *, const char *, const char *));
    int (*managed_of_object)(void *, dl_managed **);
    int (*object_of_managed)(dl_managed *, void **); /* owns the tensor from then on */
    int (*tensor_of_object)(void *, dl_tensor *);    /* borrowed: until control returns to the library */
    int (*current_stream)(int32_t, int32_t, void **);
} dl_api;

#define DL_MAJOR 1
#define DL_CPU 1
#define DL_CAPSULE "dlpack_exchange_api"

/* ---- the exchange ------------------------------------------------------------------------ */

#define MAX_DTYPES 24
#define MAX_KEYWORDS 16
#define MAX_TENSORS 8 /* of a call: others go the general way */
#define ALONE 1024    /* as many elements are never shared out to threads */
#define MOST_BYTES (1 << 25)    /* of results in memory of our own; longer ones are NumPy's */
#define KEPT_BLOCKS 8           /* blocks that wait for the next result */
#define KEPT_LEAST (1 << 20)    /* shorter ones malloc keeps itself: it gives longer ones back to the system, page by page */
#define KEPT_BYTES (1 << 26)    /* of all that wait */
#define LARGE_PAGES (1 << 22)   /* blocks of as many bytes ask for them */

typedef struct {
    PyObject_HEAD
    const dl_api *api;
    PyObject *types;      /* a tuple: the exact types of tensors that are taken */
    PyObject *is_negated; /* tensor -> whether its memory has the numbers with the other sign */
    PyObject *records;    /* () -> whether gradients are recorded */
    PyObject *conditions; /* a tuple of (dict, name, value): what has to be so for nobody to watch */
    PyObject *watchers;   /* a tuple of () -> None, False or 0 while nobody watches */
    PyObject *threads;    /* () -> how many threads the library lets a call use */
    PyObject *written;    /* (tuple of tensors): counts that they are written */
    PyObject *is_uncounted; /* tensor -> whether nobody counts that, and it may be written in a mode alone */
    PyObject *is_writable;  /* () -> whether that mode is on */
    int dtypes;
    dl_dtype dtype_of[MAX_DTYPES];
    PyArray_Descr *descr_of[MAX_DTYPES];
} TensorExchange;

PyTypeObject *ogive_tensor_call_type;
static PyTypeObject *exchange_type;
static PyObject *name_requires_grad, *name_out, *name_apply, *name_made, *name_to_save, *name_usual, *name_gradients;
static PyObject *name_needs_input_grad, *name_saved_tensors;

static const dl_api *checked_api(PyObject *capsule) {
    const dl_api *api = PyCapsule_GetPointer(capsule, DL_CAPSULE);
    while (api != NULL && api->version.major != DL_MAJOR) {
        api = api->previous;
    }
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (api == NULL || api->object_of_managed == NULL || api->tensor_of_object == NULL) {
        PyErr_SetString(PyExc_ValueError, "TensorExchange: the functions of DLPack 1 are wanted");
        return NULL;
    }
    return api;
}

static int are_callable(PyObject *tuple) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
        if (!PyCallable_Check(PyTuple_GET_ITEM(tuple, i))) {
            return 0;
        }
    }
    return 1;
}

static int read_dtypes(TensorExchange *self, PyObject *rows) {
    if (PyTuple_GET_SIZE(rows) > MAX_DTYPES) {
        PyErr_Format(PyExc_ValueError, "TensorExchange: at most %d element types are wanted", MAX_DTYPES);
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rows); ++i) {
        unsigned char code, bits;
        PyObject *descr;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(rows, i), "bbO!", &code, &bits, &PyArrayDescr_Type, &descr)) {
            return -1;
        }
        if (PyDataType_ELSIZE((PyArray_Descr *)descr) * 8 != bits || !PyArray_ISNBO(((PyArray_Descr *)descr)->byteorder) ||
            PyDataType_REFCHK((PyArray_Descr *)descr)) {
            PyErr_Format(PyExc_ValueError, "TensorExchange: %R has not %d bits", descr, (int)bits);
            return -1;
        }
        self->dtype_of[i] = (dl_dtype){code, bits, 1};
        self->descr_of[i] = (PyArray_Descr *)Py_NewRef(descr);
        self->dtypes = (int)i + 1;
    }
    return 0;
}

static PyObject *exchange_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"capsule", "types", "dtypes", "is_negated", "records", "conditions",
                            "watchers", "threads", "written", "is_uncounted", "is_writable", NULL};
    PyObject *capsule, *types, *dtypes, *is_negated, *records, *conditions, *watchers, *threads, *written;
    PyObject *is_uncounted, *is_writable;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO!O!OOO!O!OOOO:TensorExchange", names, &capsule, &PyTuple_Type,
                                     &types, &PyTuple_Type, &dtypes, &is_negated, &records, &PyTuple_Type, &conditions,
                                     &PyTuple_Type, &watchers, &threads, &written, &is_uncounted,
                                     &is_writable)) {
        return NULL;
    }
    const dl_api *api = checked_api(capsule);
    if (api == NULL) {
        return NULL;
    }
    int well_formed = PyCallable_Check(is_negated) && PyCallable_Check(records) && are_callable(watchers) &&
                      PyCallable_Check(threads) && PyCallable_Check(written) && PyCallable_Check(is_uncounted) &&
                      PyCallable_Check(is_writable);
    for (Py_ssize_t i = 0; well_formed && i < PyTuple_GET_SIZE(types); ++i) {
        well_formed = PyType_Check(PyTuple_GET_ITEM(types, i));
    }
    for (Py_ssize_t i = 0; well_formed && i < PyTuple_GET_SIZE(dtypes); ++i) {
        well_formed = PyTuple_Check(PyTuple_GET_ITEM(dtypes, i));
    }
    for (Py_ssize_t i = 0; well_formed && i < PyTuple_GET_SIZE(conditions); ++i) {
        PyObject *row = PyTuple_GET_ITEM(conditions, i);
        well_formed = PyTuple_Check(row) && PyTuple_GET_SIZE(row) == 3 && PyDict_Check(PyTuple_GET_ITEM(row, 0)) &&
                      PyUnicode_Check(PyTuple_GET_ITEM(row, 1));
    }
    if (!well_formed) {
        PyErr_SetString(PyExc_TypeError, "TensorExchange: types, functions and (dict, name, value) are wanted");
        return NULL;
    }
    TensorExchange *self = (TensorExchange *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->api = api;
    self->types = Py_NewRef(types);
    self->is_negated = Py_NewRef(is_negated);
    self->records = Py_NewRef(records);
    self->conditions = Py_NewRef(conditions);
    self->watchers = Py_NewRef(watchers);
    self->threads = Py_NewRef(threads);
    self->written = Py_NewRef(written);
    self->is_uncounted = Py_NewRef(is_uncounted);
    self->is_writable = Py_NewRef(is_writable);
    if (read_dtypes(self, dtypes) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static int exchange_traverse(PyObject *object, visitproc visit, void *arg) {
    TensorExchange *self = (TensorExchange *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->types);
    Py_VISIT(self->is_negated);
    Py_VISIT(self->records);
    Py_VISIT(self->conditions);
    Py_VISIT(self->watchers);
    Py_VISIT(self->threads);
    Py_VISIT(self->written);
    Py_VISIT(self->is_uncounted);
    Py_VISIT(self->is_writable);
    return 0;
}

/* Nothing is cleared: it is made of tuples and functions of others, which cannot lead back to it but through a dict. */
static void exchange_dealloc(PyObject *object) {
    TensorExchange *self = (TensorExchange *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    Py_CLEAR(self->types);
    Py_CLEAR(self->is_negated);
    Py_CLEAR(self->records);
    Py_CLEAR(self->conditions);
    Py_CLEAR(self->watchers);
    Py_CLEAR(self->threads);
    Py_CLEAR(self->written);
    Py_CLEAR(self->is_uncounted);
    Py_CLEAR(self->is_writable);
    for (int i = 0; i < self->dtypes; ++i) {
        Py_CLEAR(self->descr_of[i]);
    }
    type->tp_free(object);
    Py_DECREF(type);
}

/* ---- from tensors to arrays -------------------------------------------------------------- */

/* Drops the error that says why a tensor is no ordinary one. */
static void nothing(void) {
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception)) {
        PyErr_Clear();
    }
}

static int is_taken_type(const TensorExchange *self, PyObject *object) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self->types); ++i) {
        if (PyTuple_GET_ITEM(self->types, i) == (PyObject *)Py_TYPE(object)) {
            return 1;
        }
    }
    return 0;
}

/* The form of a tensor of ordinary memory, until control returns to the library. */
typedef struct {
    dl_tensor tensor;
    PyArray_Descr *descr; /* borrowed */
    char *data;
} borrowed;

/* Whether a tensor has memory that may be read as it is; if not, mostly without an error. */
static int borrow(const TensorExchange *self, PyObject *object, borrowed *found) {
    dl_tensor *tensor = &found->tensor;
    memset(tensor, 0, sizeof *tensor);
    if (self->api->tensor_of_object(object, tensor) != 0) {
        nothing();
        return 0;
    }
    if (tensor->device.type != DL_CPU || tensor->ndim < 0 || tensor->ndim > NPY_MAXDIMS || tensor->data == NULL ||
        (tensor->ndim > 0 && (tensor->shape == NULL || tensor->strides == NULL))) {
        return 0;
    }
    int row = 0;
    while (row < self->dtypes && memcmp(&self->dtype_of[row], &tensor->dtype, sizeof tensor->dtype) != 0) {
        ++row;
    }
    if (row == self->dtypes) {
        return 0;
    }
    found->descr = self->descr_of[row];
    found->data = (char *)tensor->data + tensor->byte_offset;
    const npy_intp most = NPY_MAX_INTP / PyDataType_ELSIZE(found->descr);
    for (int d = 0; d < tensor->ndim; ++d) {
        if (tensor->shape[d] < 0 || tensor->shape[d] > most || tensor->strides[d] > most || tensor->strides[d] < -most) {
            return 0;
        }
    }
    return 1;
}

/* Whether a tensor's memory has the numbers themselves, and not their negatives. */
static int is_straight(const TensorExchange *self, PyObject *object) {
    PyObject *negated = PyObject_CallOneArg(self->is_negated, object);
    if (negated == NULL) {
        nothing();
    }
    Py_XDECREF(negated);
    return negated == Py_False;
}

/* An array that shares the memory of a tensor and keeps the tensor; NULL with an error set. */
static PyObject *array_of(PyObject *tensor, const borrowed *found) {
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    for (int d = 0; d < found->tensor.ndim; ++d) {
        shape[d] = (npy_intp)found->tensor.shape[d];
        strides[d] = (npy_intp)found->tensor.strides[d] * PyDataType_ELSIZE(found->descr);
    }
    PyObject *array =
        PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)Py_NewRef(found->descr), found->tensor.ndim, shape, strides,
                             found->data, NPY_ARRAY_WRITEABLE, NULL);
    if (array != NULL && PyArray_SetBaseObject((PyArrayObject *)array, Py_NewRef(tensor)) < 0) {
        Py_CLEAR(array);
    }
    return array;
}

static PyObject *exchange_array(PyObject *object, PyObject *tensor) {
    const TensorExchange *self = (TensorExchange *)object;
    borrowed found;
    if (is_taken_type(self, tensor) && is_straight(self, tensor) && borrow(self, tensor, &found)) {
        return array_of(tensor, &found);
    }
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* ---- and back ---------------------------------------------------------------------------- */

/* The library's part of a result: the shape and the strides lie behind it, then a short result itself. */
typedef struct {
    dl_managed managed;
    size_t bytes; /* of this block */
    int64_t numbers[];
} owned_result;

/* Long blocks wait here for the next result of their size: a fresh one costs a fault for each of its pages, which takes
 * longer than to compute a cheap operator. */
static _Atomic(owned_result *) kept[KEPT_BLOCKS];
static _Atomic size_t kept_bytes;

static owned_result *take_kept(int slot) {
    owned_result *block = atomic_exchange(&kept[slot], NULL);
    if (block != NULL) {
        atomic_fetch_sub(&kept_bytes, block->bytes);
    }
    return block;
}

/* Keeps a block, in the place of others if there is no room. */
static void keep_or_free(owned_result *block) {
    static _Atomic unsigned turn;
    if (block->bytes >= KEPT_LEAST) {
        for (int i = 0; i < KEPT_BLOCKS && atomic_load(&kept_bytes) + block->bytes > KEPT_BYTES; ++i) {
            free(take_kept((int)(atomic_fetch_add(&turn, 1) % KEPT_BLOCKS)));
        }
        atomic_fetch_add(&kept_bytes, block->bytes);
        for (int i = 0; i < KEPT_BLOCKS; ++i) {
            owned_result *none = NULL;
            if (atomic_compare_exchange_strong(&kept[i], &none, block)) {
                return;
            }
        }
        block = atomic_exchange(&kept[atomic_fetch_add(&turn, 1) % KEPT_BLOCKS], block);
        if (block != NULL) {
            atomic_fetch_sub(&kept_bytes, block->bytes);
        }
    }
    free(block);
}

static owned_result *new_block(size_t bytes) {
    for (int i = 0; bytes >= KEPT_LEAST && i < KEPT_BLOCKS; ++i) {
        owned_result *block = take_kept(i);
        if (block != NULL && block->bytes >= bytes && block->bytes - bytes <= bytes / 8) {
            return block;
        }
        if (block != NULL) {
            keep_or_free(block);
        }
    }
    owned_result *block = malloc(bytes);
    if (block != NULL) {
        block->bytes = bytes;
#ifdef MADV_HUGEPAGE
        if (bytes >= LARGE_PAGES) {
            const uintptr_t page = 4096, begin = ((uintptr_t)block + page - 1) / page * page;
            madvise((void *)begin, ((uintptr_t)block + bytes - begin) / page * page, MADV_HUGEPAGE);
        }
#endif
    }
    return block;
}

static owned_result *new_owned(const TensorExchange *self, int row, int ndim, size_t bytes) {
    owned_result *owned = new_block(sizeof *owned + 2 * (size_t)ndim * sizeof owned->numbers[0] + bytes);
    if (owned != NULL) {
        owned->managed = (dl_managed){
            .version = {DL_MAJOR, 0},
            .tensor = {.device = {DL_CPU, 0},
                       .ndim = ndim,
                       .dtype = self->dtype_of[row],
                       .shape = owned->numbers,
                       .strides = owned->numbers + ndim},
        };
    }
    return owned;
}

/* The library calls these two from any thread, with or without the interpreter's lock. */
static void free_own(dl_managed *managed) { keep_or_free((owned_result *)managed); }

static void free_array(dl_managed *managed) {
    if (Py_IsInitialized()) { /* else the array went with the interpreter */
        const PyGILState_STATE state = PyGILState_Ensure();
        Py_DECREF((PyObject *)managed->context);
        PyGILState_Release(state);
    }
    free(managed);
}

/* The tensor; NULL with an error set. Whether the library has taken the memory if it fails, it does not say: then the
 * memory stays. */
static PyObject *hand_over(const TensorExchange *self, owned_result *owned) {
    void *tensor = NULL;
    return self->api->object_of_managed(&owned->managed, &tensor) == 0 ? tensor : NULL;
}

static int row_of(const TensorExchange *self, int type) {
    int row = 0;
    while (row < self->dtypes && !PyArray_EquivTypenums(self->descr_of[row]->type_num, type)) {
        ++row;
    }
    return row < self->dtypes ? row : -1;
}

/* A tensor that shares the memory of a result, and keeps it; NULL with an error set. */
static PyObject *tensor_of(const TensorExchange *self, PyObject *result) {
    PyArrayObject *array = (PyArrayObject *)PyArray_FROM_O(result); /* NumPy makes scalars of arrays without dimensions */
    if (array == NULL) {
        return NULL;
    }
    const int ndim = PyArray_NDIM(array), row = row_of(self, PyArray_TYPE(array));
    const npy_intp size = PyArray_ITEMSIZE(array);
    int fits = row >= 0 && PyArray_ISBEHAVED(array);
    for (int d = 0; fits && d < ndim; ++d) {
        fits = PyArray_STRIDE(array, d) >= 0 && PyArray_STRIDE(array, d) % size == 0;
    }
    if (!fits) {
        PyErr_Format(PyExc_ValueError, "a writeable array of %R with strides of whole elements has no tensor",
                     PyArray_DESCR(array));
        Py_DECREF(array);
        return NULL;
    }
    owned_result *owned = new_owned(self, row, ndim, 0);
    if (owned == NULL) {
        Py_DECREF(array);
        return PyErr_NoMemory();
    }
    owned->managed.context = array;
    owned->managed.deleter = free_array;
    owned->managed.tensor.data = PyArray_DATA(array);
    for (int d = 0; d < ndim; ++d) {
        owned->numbers[d] = PyArray_DIM(array, d);
        owned->numbers[ndim + d] = PyArray_STRIDE(array, d) / size;
    }
    return hand_over(self, owned);
}

static PyObject *exchange_tensor(PyObject *object, PyObject *array) {
    return tensor_of((TensorExchange *)object, array);
}

static PyMethodDef exchange_methods[] = {
    {"array", exchange_array, METH_O,
     "array(tensor)\n--\n\nAn array that shares the memory of a tensor; None if that cannot be read as it is."},
    {"tensor", exchange_tensor, METH_O, "tensor(array)\n--\n\nA tensor that shares the memory of a writeable array."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot exchange_slots[] = {
    {Py_tp_doc, "Tensors of a library as arrays, and arrays as tensors, by DLPack's exchange API."},
    {Py_tp_new, exchange_new},
    {Py_tp_dealloc, exchange_dealloc},
    {Py_tp_traverse, exchange_traverse},
    {Py_tp_methods, exchange_methods},
    {0, NULL},
};

static PyType_Spec exchange_spec = {
    .name = "ogive._native.TensorExchange",
    .basicsize = sizeof(TensorExchange),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = exchange_slots,
};

/* ---- calls ------------------------------------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    TensorExchange *exchange; /* NULL: no call is taken */
    PyObject *operator;
    PyObject *names;  /* a frozenset: the parameters, which are numbers or text */
    PyObject *record; /* (**keywords) -> how autograd records such calls (`call_record`), or None; or it is None */
    int inputs;
    int row_wise;
    int dtypes;
    int type_nums[MAX_DTYPES]; /* of the element types that there is a kernel for, the same for all tensors */
} TensorCall;

/* A new reference to a value of a dictionary; NULL without an error if it is not there. */
static PyObject *value_of(PyObject *dict, PyObject *key) {
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *value;
    return PyDict_GetItemRef(dict, key, &value) < 0 ? NULL : value;
#else
    return Py_XNewRef(PyDict_GetItemWithError(dict, key));
#endif
}

/* Whether nobody but autograd may want to see what happens; -1 with an error set. */
static int is_unwatched(const TensorExchange *self) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self->conditions); ++i) {
        PyObject *row = PyTuple_GET_ITEM(self->conditions, i);
        PyObject *value = value_of(PyTuple_GET_ITEM(row, 0), PyTuple_GET_ITEM(row, 1));
        if (value == NULL) {
            return PyErr_Occurred() ? -1 : 0;
        }
        const int same = PyObject_RichCompareBool(value, PyTuple_GET_ITEM(row, 2), Py_EQ);
        Py_DECREF(value);
        if (same != 1) {
            return same;
        }
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self->watchers); ++i) {
        PyObject *found = PyObject_CallNoArgs(PyTuple_GET_ITEM(self->watchers, i));
        const int watches = found == NULL ? -1 : PyObject_IsTrue(found);
        Py_XDECREF(found);
        if (watches != 0) {
            return watches < 0 ? -1 : 0;
        }
    }
    return 1;
}

/* Whether autograd records a call of these tensors; -1 with an error set. */
static int is_recorded(const TensorExchange *self, PyObject *const *tensors, int count) {
    int needs = 0;
    for (int i = 0; i < count && !needs; ++i) {
        PyObject *found = PyObject_GetAttr(tensors[i], name_requires_grad);
        needs = found == NULL ? -1 : PyObject_IsTrue(found);
        Py_XDECREF(found);
    }
    if (needs != 1) {
        return needs;
    }
    PyObject *found = PyObject_CallNoArgs(self->records);
    const int records = found == NULL ? -1 : PyObject_IsTrue(found);
    Py_XDECREF(found);
    return records;
}

/* Whether the keywords are `out` and parameters, which are numbers or text; -1 with an error set. `out` is where `out`
 * stands among them, or -1. */
static int are_plain(const TensorCall *self, PyObject *names, PyObject *const *values, Py_ssize_t *out) {
    const Py_ssize_t count = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    *out = -1;
    if (count > MAX_KEYWORDS) {
        return 0;
    }
    for (Py_ssize_t k = 0; k < count; ++k) {
        if (PyTuple_GET_ITEM(names, k) == name_out) { /* names in code are interned; others go the general way */
            *out = k;
            continue;
        }
        const int known = PySet_Contains(self->names, PyTuple_GET_ITEM(names, k));
        if (known != 1) {
            return known;
        }
        if (!(PyFloat_CheckExact(values[k]) || PyLong_CheckExact(values[k]) || PyBool_Check(values[k]) ||
              PyUnicode_CheckExact(values[k]))) {
            return 0;
        }
    }
    return 1;
}

/* Has autograd record a result: `apply` of its function takes (what was computed, the result) and the tensors. NULL without
 * an error where the call is one for the general way. Takes the reference to the result. */
static PyObject *call_record(const TensorCall *self, PyObject *result, PyObject *const *args, PyObject *names) {
    PyObject *stack[1 + MAX_TENSORS], *recorded = NULL;
    PyObject *made = PyObject_Vectorcall(self->record, args + self->inputs, 0, names);
    if (made != NULL && made != Py_None) {
        PyObject *apply = PyObject_GetAttr(made, name_apply);
        stack[0] = apply == NULL ? NULL : PyTuple_Pack(2, made, result);
        if (stack[0] != NULL) {
            memcpy(stack + 1, args, sizeof *stack * (size_t)self->inputs);
            recorded = PyObject_Vectorcall(apply, stack, (size_t)self->inputs + 1, NULL);
            Py_DECREF(stack[0]);
        }
        Py_XDECREF(apply);
    }
    Py_XDECREF(made);
    Py_DECREF(result);
    return recorded;
}

/* Whether all tensors have memory that may be read, and one element type that there is a kernel for. */
static int borrow_all(const TensorCall *self, PyObject *const *tensors, borrowed *found) {
    int i = 0;
    while (i < self->inputs && is_straight(self->exchange, tensors[i])) {
        ++i;
    }
    if (i < self->inputs) {
        return 0;
    }
    for (i = 0; i < self->inputs; ++i) {
        if (!borrow(self->exchange, tensors[i], &found[i]) || found[i].descr != found[0].descr ||
            (self->row_wise && found[i].tensor.ndim == 0)) {
            return 0;
        }
    }
    int k = 0;
    while (k < self->dtypes && self->type_nums[k] != found[0].descr->type_num) {
        ++k;
    }
    return k < self->dtypes;
}

/* Whether no element of a tensor lies where another one does. */
static int is_apart(const dl_tensor *tensor) {
    char is_done[NPY_MAXDIMS] = {0};
    int64_t reach = 1; /* elements from the first to the last, of the axes so far: those with the smallest strides */
    for (int n = 0; n < tensor->ndim; ++n) {
        int next = -1;
        for (int d = 0; d < tensor->ndim; ++d) {
            if (!is_done[d] && (next < 0 || tensor->strides[d] < tensor->strides[next])) {
                next = d;
            }
        }
        is_done[next] = 1;
        if (tensor->shape[next] > 1) {
            if (tensor->strides[next] < reach) {
                return 0;
            }
            reach += (tensor->shape[next] - 1) * tensor->strides[next];
        }
    }
    return 1;
}

/* Whether a tensor has the shape that the operands broadcast to. */
static int has_common_shape(const TensorCall *self, const borrowed *found, const dl_tensor *out) {
    int ndim = 0;
    for (int i = 0; i < self->inputs; ++i) {
        ndim = found[i].tensor.ndim > ndim ? found[i].tensor.ndim : ndim;
    }
    if (out->ndim != ndim) {
        return 0;
    }
    for (int d = 1; d <= ndim; ++d) {
        int64_t length = 1;
        for (int i = 0; i < self->inputs; ++i) {
            const dl_tensor *tensor = &found[i].tensor;
            length = d <= tensor->ndim && tensor->shape[tensor->ndim - d] != 1 ? tensor->shape[tensor->ndim - d] : length;
        }
        if (out->shape[ndim - d] != length) {
            return 0;
        }
    }
    return 1;
}

/* Whether the result may be written to a tensor as it is computed: of the element type of the operands, and of the
 * result's shape. Mostly it is the first operand, which is borrowed already. */
static int borrow_out(const TensorCall *self, PyObject *object, PyObject *first, const borrowed *found, borrowed *out) {
    if (object == first) {
        *out = found[0];
    } else if (!is_straight(self->exchange, object) || !borrow(self->exchange, object, out)) {
        return 0;
    }
    return out->descr == found[0].descr && has_common_shape(self, found, &out->tensor) && is_apart(&out->tensor);
}

/* Whether a plain result may be written while a plain operand is read: they lie apart, or are the same. */
static int may_be_written(const TensorCall *self, const char *out, const char *in, npy_intp bytes) {
    return out == in ? !self->row_wise : out + bytes <= in || in + bytes <= out;
}

/* The number of elements of tensors of one shape, if all have them one after the other, and not too many; else 0. */
static npy_intp count_short(const TensorCall *self, const borrowed *found, int tensors) {
    const dl_tensor *first = &found[0].tensor;
    const npy_intp size = PyDataType_ELSIZE(found[0].descr);
    npy_intp count = 1;
    for (int d = first->ndim - 1; d >= 0; --d) {
        for (int i = 0; i < tensors; ++i) {
            const dl_tensor *tensor = &found[i].tensor;
            if (tensor->ndim != first->ndim || tensor->shape[d] != first->shape[d] ||
                (tensor->shape[d] != 1 && tensor->strides[d] != count)) {
                return 0;
            }
        }
        if (first->shape[d] > MOST_BYTES / size / count || first->shape[d] == 0) {
            return 0;
        }
        count *= (npy_intp)first->shape[d];
    }
    for (int i = 0; i < tensors; ++i) {
        if (found[i].tensor.ndim != first->ndim || (uintptr_t)found[i].data % (size_t)size != 0 ||
            (tensors > self->inputs && !may_be_written(self, found[self->inputs].data, found[i].data, count * size) &&
             i < self->inputs)) {
            return 0;
        }
    }
    return count;
}

/* Limits large calls of this thread to as many threads as the library uses; what they were limited to before. */
static int enter_limit(const TensorExchange *self) {
    const int before = ogive_pool_own_size();
    PyObject *found = PyObject_CallNoArgs(self->threads);
    const long limit = found == NULL ? -1 : PyLong_AsLong(found);
    Py_XDECREF(found);
    nothing();
    if (limit >= 1 && limit < ogive_pool_size()) {
        ogive_pool_resize_own((int)limit);
    }
    return before;
}

static void run_alike(const TensorCall *self, const OgiveDirect *direct, OgiveLoopData *loop, char **args,
                      npy_intp count, npy_intp length) {
    if (count <= ALONE) {
        ogive_run_alike(direct, loop, args, count, length);
        return;
    }
    const int before = enter_limit(self->exchange);
    ogive_run_alike(direct, loop, args, count, length);
    ogive_pool_resize_own(before);
}

/* A short call of tensors of one shape, without arrays, past the operator's class: the result lies in memory of its own,
 * or in `out`, the last of the tensors. NULL if it is for another way, or with an error. */
static PyObject *call_short(const TensorCall *self, const borrowed *found, PyObject *out, PyObject *names,
                            PyObject *const *values) {
    const npy_intp count = count_short(self, found, self->inputs + (out != NULL));
    PyObject *owner, *result = NULL;
    int types[OGIVE_MAX_OPERANDS], out_type;
    char *args[OGIVE_MAX_OPERANDS];
    OgiveDirect *direct = count == 0 ? NULL : ogive_find_direct(self->operator, names, values, &owner);
    if (direct == NULL) {
        return NULL;
    }
    for (int i = 0; i < self->inputs; ++i) {
        types[i] = found[i].descr->type_num;
        args[i] = found[i].data;
    }
    OgiveLoopData *loop = direct->inputs == self->inputs && !direct->has_row_operands
                              ? ogive_find_loop(direct, types, &out_type)
                              : NULL;
    const int row = loop == NULL ? -1 : row_of(self->exchange, out_type), ndim = found[0].tensor.ndim;
    const npy_intp length = ndim == 0 ? 1 : (npy_intp)found[0].tensor.shape[ndim - 1];
    if (row >= 0 && out != NULL) {
        if (self->exchange->descr_of[row] == found[self->inputs].descr) {
            args[self->inputs] = found[self->inputs].data;
            run_alike(self, direct, loop, args, count, length);
            result = PyErr_Occurred() ? NULL : Py_NewRef(out);
        }
    } else if (row >= 0) {
        const npy_intp bytes = count * PyDataType_ELSIZE(self->exchange->descr_of[row]);
        owned_result *owned = new_owned(self->exchange, row, ndim, (size_t)bytes + OGIVE_STREAM_ALIGNMENT);
        if (owned != NULL) {
            const uintptr_t end = (uintptr_t)(owned->numbers + 2 * ndim) + OGIVE_STREAM_ALIGNMENT - 1;
            args[self->inputs] = (char *)(end - end % OGIVE_STREAM_ALIGNMENT);
            owned->managed.deleter = free_own;
            owned->managed.tensor.data = args[self->inputs];
            npy_intp step = 1;
            for (int d = ndim - 1; d >= 0; --d) {
                owned->numbers[d] = found[0].tensor.shape[d];
                owned->numbers[ndim + d] = step;
                step *= (npy_intp)found[0].tensor.shape[d];
            }
            run_alike(self, direct, loop, args, count, length);
            if (PyErr_Occurred()) { /* a kernel could not be compiled */
                free(owned);
            } else {
                result = hand_over(self->exchange, owned);
            }
        }
    }
    Py_DECREF(owner);
    return result;
}

static PyObject *tensors_of(const TensorExchange *exchange, PyObject *found) {
    if (!PyTuple_CheckExact(found)) {
        return tensor_of(exchange, found);
    }
    PyObject *tensors = PyTuple_New(PyTuple_GET_SIZE(found));
    for (Py_ssize_t i = 0; tensors != NULL && i < PyTuple_GET_SIZE(found); ++i) {
        PyObject *tensor = tensor_of(exchange, PyTuple_GET_ITEM(found, i));
        if (tensor == NULL) {
            Py_CLEAR(tensors);
        } else {
            PyTuple_SET_ITEM(tensors, i, tensor);
        }
    }
    return tensors;
}

/* The call of the operator on arrays; `out` is where `out` stands among the keywords, or -1. */
static PyObject *call_arrays(const TensorCall *self, const borrowed *found, PyObject *const *args, PyObject *names,
                             Py_ssize_t out) {
    PyObject *stack[MAX_TENSORS + MAX_KEYWORDS], *result = NULL, *target = NULL;
    int taken = 0;
    while (taken < self->inputs && (stack[taken] = array_of(args[taken], &found[taken])) != NULL) {
        ++taken;
    }
    if (names != NULL) {
        memcpy(stack + self->inputs, args + self->inputs, sizeof *stack * (size_t)PyTuple_GET_SIZE(names));
    }
    if (taken == self->inputs && out >= 0) {
        target = stack[taken + out] = array_of(args[taken + out], &found[taken]);
    }
    if (taken == self->inputs && (out < 0 || target != NULL)) {
        const int before = enter_limit(self->exchange);
        PyObject *arrays = PyObject_Vectorcall(self->operator, stack, (size_t)taken, names);
        ogive_pool_resize_own(before);
        if (arrays != NULL) {
            result = out < 0 ? tensors_of(self->exchange, arrays) : Py_NewRef(args[taken + out]);
            Py_DECREF(arrays);
        }
    }
    for (int i = 0; i < taken; ++i) {
        Py_DECREF(stack[i]);
    }
    Py_XDECREF(target);
    return result;
}

/* Whether a function says yes; -1 with an error set. Takes the reference to what it gave. */
static int is_true(PyObject *answer) {
    const int found = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    return found;
}

/* Tells the library that a tensor is written. Whether that is allowed; -1 with an error set. */
static int count_write(const TensorExchange *self, PyObject *tensor) {
    const int uncounted = is_true(PyObject_CallOneArg(self->is_uncounted, tensor));
    if (uncounted != 0) {
        return uncounted < 0 ? -1 : is_true(PyObject_CallNoArgs(self->is_writable));
    }
    PyObject *tensors = PyTuple_Pack(1, tensor);
    PyObject *counted = tensors == NULL ? NULL : PyObject_CallOneArg(self->written, tensors);
    Py_XDECREF(tensors);
    Py_XDECREF(counted);
    return counted == NULL ? -1 : 1;
}

/* A call that writes its result to `out`, which stands there among the keywords. */
static PyObject *take_call_with_out(const TensorCall *self, borrowed *found, PyObject *const *args, PyObject *names,
                                    Py_ssize_t out) {
    PyObject *target = args[self->inputs + out], *values[MAX_KEYWORDS], *rest = NULL;
    if (!borrow_out(self, target, args[0], found, &found[self->inputs])) {
        return NULL;
    }
    if (count_write(self->exchange, target) != 1) {
        return NULL; /* the general way has the library's own error */
    }
    const Py_ssize_t others = PyTuple_GET_SIZE(names) - 1;
    if (others > 0) {
        rest = PyTuple_New(others);
        for (Py_ssize_t k = 0; rest != NULL && k < others; ++k) {
            const Py_ssize_t from = k < out ? k : k + 1;
            PyTuple_SET_ITEM(rest, k, Py_NewRef(PyTuple_GET_ITEM(names, from)));
            values[k] = args[self->inputs + from];
        }
    }
    PyObject *result = others > 0 && rest == NULL ? NULL : call_short(self, found, target, rest, values);
    Py_XDECREF(rest);
    return result == NULL && !PyErr_Occurred() ? call_arrays(self, found, args, names, out) : result;
}

/* The result of a call, and whether autograd is to record it; NULL, mostly without an error, if the call is one for the
 * general way, which tells what is wrong. */
static PyObject *take_call(const TensorCall *self, PyObject *const *args, PyObject *names, int *recorded) {
    for (int i = 0; i < self->inputs; ++i) {
        if (!is_taken_type(self->exchange, args[i])) {
            return NULL;
        }
    }
    Py_ssize_t out;
    if (are_plain(self, names, args + self->inputs, &out) != 1 || is_unwatched(self->exchange) != 1) {
        return NULL;
    }
    *recorded = is_recorded(self->exchange, args, self->inputs);
    if (out >= 0) {
        PyObject *const *target = &args[self->inputs + out];
        if (*recorded != 0 || (*target != args[0] && (!is_taken_type(self->exchange, *target) ||
                                                      is_recorded(self->exchange, target, 1) != 0))) {
            *recorded = 0;
            return NULL;
        }
    }
    borrowed found[MAX_TENSORS + 1];
    if (*recorded < 0 || (*recorded && self->record == Py_None) || !borrow_all(self, args, found)) {
        return NULL;
    }
    if (out >= 0) {
        return take_call_with_out(self, found, args, names, out);
    }
    PyObject *result = call_short(self, found, NULL, names, args + self->inputs);
    if (result == NULL && !PyErr_Occurred()) {
        result = call_arrays(self, found, args, names, -1);
    }
    return result;
}

static PyObject *tensor_vectorcall(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *names) {
    const TensorCall *self = (const TensorCall *)object;
    const Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    int recorded = 0;
    PyObject *result = self->exchange != NULL && nargs == self->inputs ? take_call(self, args, names, &recorded) : NULL;
    nothing();
    if (result != NULL && recorded) { /* its errors are final: hooks of saved tensors, which may stop a run, see them once */
        result = call_record(self, result, args, names);
    }
    if (result != NULL || PyErr_Occurred()) {
        return result;
    }
    if (Py_TYPE(object)->tp_call == PyVectorcall_Call) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    PyObject *positional = ogive_argument_tuple(args, nargs), *keywords = ogive_keywords_dict(names, args + nargs);
    if (positional != NULL && keywords != NULL) {
        result = Py_TYPE(object)->tp_call(object, positional, keywords);
    }
    Py_XDECREF(positional);
    Py_XDECREF(keywords);
    return result;
}

static PyObject *call_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *keyword_names[] = {"exchange", "operator", "inputs", "dtypes", "names", "row_wise", "record", NULL};
    PyObject *exchange, *operator, *dtypes, *names, *record = Py_None;
    int inputs, row_wise;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOiO!O!p|O:TensorCall", keyword_names, &exchange, &operator,
                                     &inputs, &PyTuple_Type, &dtypes, &PyFrozenSet_Type, &names, &row_wise, &record)) {
        return NULL;
    }
    if ((exchange != Py_None && !Py_IS_TYPE(exchange, exchange_type)) || !PyCallable_Check(operator) || (record != Py_None && !PyCallable_Check(record))) {
        PyErr_SetString(PyExc_TypeError, "TensorCall: a TensorExchange or None, and functions are wanted");
        return NULL;
    }
    if (inputs < 1 || inputs > MAX_TENSORS || PyTuple_GET_SIZE(dtypes) > MAX_DTYPES) {
        PyErr_Format(PyExc_ValueError, "TensorCall: %d tensors, %zd element types", inputs, PyTuple_GET_SIZE(dtypes));
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(dtypes); ++i) {
        if (!PyArray_DescrCheck(PyTuple_GET_ITEM(dtypes, i))) {
            PyErr_SetString(PyExc_TypeError, "TensorCall: NumPy's dtypes are wanted");
            return NULL;
        }
    }
    TensorCall *self = (TensorCall *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->vectorcall = tensor_vectorcall;
    self->exchange = exchange == Py_None ? NULL : (TensorExchange *)Py_NewRef(exchange);
    self->operator = Py_NewRef(operator);
    self->names = Py_NewRef(names);
    self->record = Py_NewRef(record);
    self->inputs = inputs;
    self->row_wise = row_wise;
    self->dtypes = (int)PyTuple_GET_SIZE(dtypes);
    for (int i = 0; i < self->dtypes; ++i) {
        self->type_nums[i] = ((PyArray_Descr *)PyTuple_GET_ITEM(dtypes, i))->type_num;
    }
    return (PyObject *)self;
}

static int call_traverse(PyObject *object, visitproc visit, void *arg) {
    TensorCall *self = (TensorCall *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->exchange);
    Py_VISIT(self->operator);
    Py_VISIT(self->names);
    Py_VISIT(self->record);
    return 0;
}

static int call_clear(PyObject *object) { /* whoever calls it afterwards goes the general way */
    TensorCall *self = (TensorCall *)object;
    Py_CLEAR(self->exchange);
    Py_CLEAR(self->operator);
    Py_CLEAR(self->names);
    Py_CLEAR(self->record);
    return 0;
}

static void call_dealloc(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    call_clear(object);
    type->tp_free(object);
    Py_DECREF(type);
}

/* ---- calls that autograd records ---------------------------------------------------------- */

/* The arguments of a function of autograd: (node, (what was computed, the result), *tensors) -> the result. */
static PyObject *recorded_forward(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    (void)module;
    if (nargs < 2 || !PyTuple_CheckExact(args[1]) || PyTuple_GET_SIZE(args[1]) != 2) {
        PyErr_SetString(PyExc_TypeError, "recorded_forward: a node, (made, result) and tensors are wanted");
        return NULL;
    }
    PyObject *tensors = ogive_argument_tuple(args + 2, nargs - 2);
    /* The second does what save_for_backward does, a call less. */
    const int failed = tensors == NULL || PyObject_SetAttr(args[0], name_made, PyTuple_GET_ITEM(args[1], 0)) < 0 ||
                       PyObject_SetAttr(args[0], name_to_save, tensors) < 0;
    Py_XDECREF(tensors);
    return failed ? NULL : Py_NewRef(PyTuple_GET_ITEM(args[1], 1));
}

/* The gradients in the places of their operands, None elsewhere: `places` says where each of them stands. Takes the reference. */
static PyObject *in_places(PyObject *found, PyObject *places, Py_ssize_t count) {
    const Py_ssize_t many = PyTuple_CheckExact(found) ? PyTuple_GET_SIZE(found) : 1;
    PyObject *all = many == PyTuple_GET_SIZE(places) ? PyTuple_New(count) : NULL;
    for (Py_ssize_t i = 0; all != NULL && i < count; ++i) {
        PyTuple_SET_ITEM(all, i, Py_NewRef(Py_None));
    }
    for (Py_ssize_t k = 0; all != NULL && k < many; ++k) {
        const Py_ssize_t place = PyLong_AsSsize_t(PyTuple_GET_ITEM(places, k));
        if (place >= 0 && place < count) {
            Py_DECREF(Py_None);
            PyTuple_SET_ITEM(all, place, Py_NewRef(PyTuple_CheckExact(found) ? PyTuple_GET_ITEM(found, k) : found));
        }
    }
    Py_DECREF(found);
    return all;
}

/* `usual` of what was computed is None, or (which inputs need gradients, the TensorCall of these, names of parameters or None,
 * their values, places). NULL without an error for all other calls. */
static PyObject *usual_gradients(PyObject *usual, PyObject *needed, PyObject *operands) {
    if (!PyTuple_CheckExact(usual) || PyObject_RichCompareBool(PyTuple_GET_ITEM(usual, 0), needed, Py_EQ) != 1) {
        return NULL;
    }
    PyObject *const call = PyTuple_GET_ITEM(usual, 1), *const names = PyTuple_GET_ITEM(usual, 2);
    PyObject *const values = PyTuple_GET_ITEM(usual, 3), *stack[MAX_TENSORS + MAX_KEYWORDS];
    const Py_ssize_t tensors = PyTuple_GET_SIZE(operands), numbers = PyTuple_GET_SIZE(values);
    if (tensors > MAX_TENSORS || numbers > MAX_KEYWORDS) {
        return NULL;
    }
    memcpy(stack, &PyTuple_GET_ITEM(operands, 0), sizeof *stack * (size_t)tensors);
    memcpy(stack + tensors, &PyTuple_GET_ITEM(values, 0), sizeof *stack * (size_t)numbers);
    PyObject *found = PyObject_Vectorcall(call, stack, (size_t)tensors, names == Py_None ? NULL : names);
    if (found == Py_NotImplemented) {
        Py_CLEAR(found);
    }
    return found == NULL ? NULL : in_places(found, PyTuple_GET_ITEM(usual, 4), PyTuple_GET_SIZE(needed));
}

/* `apply` of a node: (node, *gradients) -> the gradients of its inputs. Unusual calls go to `gradients` of what was computed. */
static PyObject *recorded_backward(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    (void)module;
    if (nargs < 1) {
        PyErr_SetString(PyExc_TypeError, "recorded_backward: a node and gradients are wanted");
        return NULL;
    }
    PyObject *made = PyObject_GetAttr(args[0], name_made), *result = NULL, *operands = NULL;
    PyObject *usual = made == NULL ? NULL : PyObject_GetAttr(made, name_usual);
    PyObject *needed = usual == NULL ? NULL : PyObject_GetAttr(args[0], name_needs_input_grad);
    PyObject *saved = needed == NULL ? NULL : PyObject_GetAttr(args[0], name_saved_tensors);
    PyObject *gradients = saved == NULL ? NULL : ogive_argument_tuple(args + 1, nargs - 1);
    if (gradients != NULL && PyTuple_CheckExact(saved) && PyTuple_CheckExact(needed)) {
        operands = PySequence_Concat(gradients, saved);
    }
    if (operands != NULL) {
        result = usual_gradients(usual, needed, operands);
        if (result == NULL && !PyErr_Occurred()) {
            result = PyObject_CallMethodObjArgs(made, name_gradients, needed, operands, NULL);
        }
    }
    if (result == NULL && !PyErr_Occurred()) {
        PyErr_SetString(PyExc_TypeError, "recorded_backward: a node of autograd is wanted");
    }
    Py_XDECREF(made);
    Py_XDECREF(usual);
    Py_XDECREF(needed);
    Py_XDECREF(saved);
    Py_XDECREF(gradients);
    Py_XDECREF(operands);
    return result;
}

static PyMethodDef recorded_functions[] = {
    {"recorded_forward", (PyCFunction)(void (*)(void))recorded_forward, METH_FASTCALL,
     "recorded_forward(node, made_and_result, *tensors)\n--\n\nThe result, whose node gets what was computed and the tensors."},
    {"recorded_backward", (PyCFunction)(void (*)(void))recorded_backward, METH_FASTCALL,
     "recorded_backward(node, *gradients)\n--\n\nThe gradients of a node's inputs; a method of the class that has it."},
    {NULL, NULL, 0, NULL},
};

/* The second becomes a method of what class has it. */
static int add_recorded(PyObject *module) {
    PyObject *forward = PyCFunction_New(&recorded_functions[0], NULL), *backward = PyCFunction_New(&recorded_functions[1], NULL);
    PyObject *method = backward == NULL ? NULL : PyInstanceMethod_New(backward);
    const int failed = forward == NULL || method == NULL || PyModule_AddObjectRef(module, "recorded_forward", forward) < 0 ||
                       PyModule_AddObjectRef(module, "recorded_backward", method) < 0;
    Py_XDECREF(forward);
    Py_XDECREF(backward);
    Py_XDECREF(method);
    return failed ? -1 : 0;
}

static PyMemberDef call_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(TensorCall, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot call_slots[] = {
    {Py_tp_doc, "An operator on tensors. Calls that it does not take go to the subclass, or give NotImplemented."},
    {Py_tp_new, call_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_dealloc, call_dealloc},
    {Py_tp_traverse, call_traverse},
    {Py_tp_clear, call_clear},
    {Py_tp_members, call_members},
    {0, NULL},
};

static PyType_Spec call_spec = {
    .name = "ogive._native.TensorCall",
    .basicsize = sizeof(TensorCall),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = call_slots,
};

static int intern_names(void) {
    const struct {
        PyObject **name;
        const char *text;
    } rows[] = {{&name_requires_grad, "requires_grad"}, {&name_out, "out"}, {&name_apply, "apply"}, {&name_made, "made"},
                {&name_to_save, "to_save"}, {&name_usual, "usual"}, {&name_gradients, "gradients"},
                {&name_needs_input_grad, "needs_input_grad"}, {&name_saved_tensors, "saved_tensors"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        *rows[i].name = PyUnicode_InternFromString(rows[i].text);
        if (*rows[i].name == NULL) {
            return -1;
        }
    }
    return 0;
}

int ogive_add_tensor_types(PyObject *module) {
    exchange_type = (PyTypeObject *)PyType_FromSpec(&exchange_spec);
    ogive_tensor_call_type = (PyTypeObject *)PyType_FromSpec(&call_spec);
    return intern_names() < 0 || exchange_type == NULL || ogive_tensor_call_type == NULL ||
                   PyModule_AddType(module, exchange_type) < 0 ||
                   PyModule_AddType(module, ogive_tensor_call_type) < 0 || add_recorded(module) < 0 ||
                   PyModule_AddIntConstant(module, "MAX_TENSORS", MAX_TENSORS) < 0
               ? -1
               : 0;
}
