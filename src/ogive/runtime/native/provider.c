/* The execution provider for ONNX Runtime: the two functions that its plug-in interface calls by name, and the computation
 * of a fused node. All else is in Python (onnxruntime/provider.py), behind pointers of ctypes.
 *
 * ONNX Runtime opens this module as a library of its own; it is the module that Python has loaded. Its table of functions
 * only grows, so the places of these are the same in every version since 1.23 (as in custom_operators.c).
 */
#include "native.h"

#include <stdlib.h>

typedef void Status; /* NULL is success */
typedef void *const *Api;

enum {
    CREATE_STATUS = 0, DATA = 51, ELEMENT_TYPE = 60, RANK = 61, SHAPE = 62, TYPE_AND_SHAPE = 65, INPUT = 90, OUTPUT = 91,
    RELEASE_STATUS = 93, RELEASE_SHAPE = 99
};
enum { API_VERSION = 23, FAILED = 1 };

struct api_base {
    Api (*get_api)(uint32_t version);
    const char *(*get_version)(void);
};

typedef Status *create_factories(const char *, const struct api_base *, const void *, void **, size_t, size_t *);
typedef Status *release_factory(void *);

static create_factories *create;

#if defined _WIN32
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

EXPORTED create_factories CreateEpFactories;
EXPORTED release_factory ReleaseEpFactory;

static Status *failure(Api api, const char *text) {
    return ((Status * (*)(int, const char *)) api[CREATE_STATUS])(FAILED, text);
}

Status *CreateEpFactories(
    const char *name, const struct api_base *base, const void *logger, void **factories, size_t most, size_t *count
) {
    if (create == NULL) {
        const Api api = base->get_api(API_VERSION);
        return api == NULL ? NULL : failure(api, "ogive: register the provider by ogive.onnxruntime.register()");
    }
    return create(name, base, logger, factories, most, count);
}

/* The factory lives as long as the process: when ONNX Runtime gives it back, Python may be gone. */
Status *ReleaseEpFactory(void *factory) {
    (void)factory;
    return NULL;
}

PyObject *ogive_set_provider(PyObject *module, PyObject *address) {
    (void)module;
    void *const made = PyLong_AsVoidPtr(address);
    if (PyErr_Occurred()) {
        return NULL;
    }
    create = (create_factories *)made;
    Py_RETURN_NONE;
}

/* ---- a fused node */


/* OrtNodeComputeInfo, and what it computes. */
struct node {
    uint32_t version;
    Status *(*create_state)(struct node *, void *, void **);
    Status *(*compute)(struct node *, void *, void *);
    void (*release_state)(struct node *, void *);
    Api api;
    PyObject *function, *types; /* and a tuple of NumPy's, of the inputs that are read */
    int count;
    int64_t *places; /* of these inputs, and their kinds behind */
};

static Status *create_state(struct node *node, void *context, void **state) {
    (void)context;
    *state = node;
    return NULL;
}

static void release_state(struct node *node, void *state) {
    (void)node;
    (void)state;
}

/* An array on the memory of a tensor; NULL with an error set, or with a status. */
static PyObject *array_of(const struct node *node, const void *value, int kind, PyObject *type, int flags, Status **status) {
    const Api api = node->api;
    void *shape = NULL, *data = NULL;
    size_t rank = 0;
    int found = 0;
    int64_t lengths[NPY_MAXDIMS];
    npy_intp sizes[NPY_MAXDIMS];
    *status = ((Status * (*)(const void *, void **)) api[TYPE_AND_SHAPE])(value, &shape);
    if (*status != NULL) {
        return NULL;
    }
    *status = ((Status * (*)(const void *, int *)) api[ELEMENT_TYPE])(shape, &found);
    if (*status == NULL) {
        *status = ((Status * (*)(const void *, size_t *)) api[RANK])(shape, &rank);
    }
    if (*status == NULL && (found != kind || rank > NPY_MAXDIMS)) {
        *status = failure(api, found != kind ? "ogive: a tensor's type is not the model's" : "ogive: a tensor has too many axes");
    }
    if (*status == NULL) {
        *status = ((Status * (*)(const void *, int64_t *, size_t)) api[SHAPE])(shape, lengths, rank);
    }
    ((void (*)(void *))api[RELEASE_SHAPE])(shape);
    if (*status == NULL) {
        *status = ((Status * (*)(const void *, void **)) api[DATA])(value, &data);
    }
    if (*status != NULL) {
        return NULL;
    }
    npy_intp elements = 1;
    for (size_t i = 0; i < rank; i++) {
        sizes[i] = (npy_intp)lengths[i];
        elements *= sizes[i];
    }
    if (elements == 0) { /* nothing is read or written: ONNX Runtime may have no memory for it */
        Py_INCREF(type);
        return PyArray_Zeros((int)rank, sizes, (PyArray_Descr *)type, 0);
    }
    Py_INCREF(type);
    return PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)type, (int)rank, sizes, NULL, data, flags, NULL);
}

/* What Python raised, as a status. */
static Status *raised(Api api) {
    PyObject *kind, *value, *trace;
    PyErr_Fetch(&kind, &value, &trace);
    PyObject *const text = value == NULL ? NULL : PyObject_Str(value);
    const char *const words = text == NULL ? NULL : PyUnicode_AsUTF8(text);
    Status *const status = failure(api, words == NULL ? "ogive: an exception without a message" : words);
    PyErr_Clear();
    Py_XDECREF(text), Py_XDECREF(kind), Py_XDECREF(value), Py_XDECREF(trace);
    return status;
}

static Status *compute_held(struct node *node, void *context) {
    PyObject *const arguments = PyTuple_New(node->count + 2);
    if (arguments == NULL) {
        return raised(node->api);
    }
    Status *status = NULL;
    PyTuple_SET_ITEM(arguments, 0, PyLong_FromVoidPtr(node));
    PyTuple_SET_ITEM(arguments, 1, PyLong_FromVoidPtr(context));
    for (int i = 0; i < node->count && status == NULL; i++) {
        const void *value = NULL;
        status = ((Status * (*)(const void *, size_t, const void **)) node->api[INPUT])(context, (size_t)node->places[i], &value);
        if (status == NULL && value == NULL) {
            status = failure(node->api, "ogive: an input is missing");
        }
        if (status == NULL) {
            PyObject *const array = array_of(
                node, value, (int)node->places[node->count + i], PyTuple_GET_ITEM(node->types, i), NPY_ARRAY_CARRAY_RO, &status
            );
            if (array == NULL && status == NULL) {
                status = raised(node->api);
            }
            if (array != NULL) {
                PyTuple_SET_ITEM(arguments, i + 2, array);
            }
        }
    }
    if (status == NULL) {
        PyObject *const result = PyObject_Call(node->function, arguments, NULL);
        if (result == NULL) {
            status = raised(node->api);
        }
        Py_XDECREF(result);
    }
    Py_DECREF(arguments);
    return status;
}

static Status *compute(struct node *node, void *state, void *context) {
    (void)state;
    const PyGILState_STATE held = PyGILState_Ensure();
    Status *const status = compute_held(node, context);
    PyGILState_Release(held);
    return status;
}

static struct node *node_of(PyObject *number) { return PyLong_AsVoidPtr(number); }

/* provider_node(api, function, types, places): a fused node's OrtNodeComputeInfo. `places` are those of the inputs that are
 * read, then ONNX Runtime's numbers of their types. */
PyObject *ogive_provider_node(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *api, *function, *types, *places;
    if (!PyArg_ParseTuple(args, "OOO!O!:provider_node", &api, &function, &PyTuple_Type, &types, &PyTuple_Type, &places)) {
        return NULL;
    }
    const Py_ssize_t count = PyTuple_GET_SIZE(types);
    if (PyTuple_GET_SIZE(places) != 2 * count) {
        PyErr_SetString(PyExc_ValueError, "provider_node: a place and a number for every type");
        return NULL;
    }
    struct node *const node = calloc(1, sizeof *node);
    int64_t *const numbers = calloc((size_t)(2 * count + 1), sizeof *numbers);
    if (node == NULL || numbers == NULL) {
        free(node), free(numbers);
        return PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; i < 2 * count; i++) {
        numbers[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(places, i));
        PyObject *const type = i < count ? PyTuple_GET_ITEM(types, i) : NULL;
        if (type != NULL && (!PyArray_DescrCheck(type) || PyDataType_REFCHK((PyArray_Descr *)type))) {
            PyErr_SetString(PyExc_TypeError, "provider_node: types are NumPy's, of plain memory");
        }
    }
    node->api = PyLong_AsVoidPtr(api);
    if (PyErr_Occurred()) {
        free(node), free(numbers);
        return NULL;
    }
    node->version = API_VERSION, node->create_state = create_state, node->compute = compute, node->release_state = release_state;
    node->function = Py_NewRef(function), node->types = Py_NewRef(types), node->count = (int)count, node->places = numbers;
    return PyLong_FromVoidPtr(node);
}

PyObject *ogive_release_provider_node(PyObject *module, PyObject *number) {
    (void)module;
    struct node *const node = node_of(number);
    if (node == NULL) {
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    Py_DECREF(node->function), Py_DECREF(node->types);
    free(node->places), free(node);
    Py_RETURN_NONE;
}

/* provider_output(node, context, index, shape, type, kind): an array on the memory of a result. */
PyObject *ogive_provider_output(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *number, *given, *shape, *type;
    int index, kind;
    if (!PyArg_ParseTuple(
            args, "OOiO!O!i:provider_output", &number, &given, &index, &PyTuple_Type, &shape, &PyArrayDescr_Type, &type, &kind
        )) {
        return NULL;
    }
    if (PyDataType_REFCHK((PyArray_Descr *)type)) {
        PyErr_SetString(PyExc_TypeError, "provider_output: the type is one of plain memory");
        return NULL;
    }
    const struct node *const node = node_of(number);
    void *const context = PyLong_AsVoidPtr(given), *value = NULL;
    const Py_ssize_t rank = PyTuple_GET_SIZE(shape);
    int64_t lengths[NPY_MAXDIMS];
    if (rank > NPY_MAXDIMS) {
        PyErr_SetString(PyExc_ValueError, "provider_output: too many axes");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < rank; i++) {
        lengths[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, i));
    }
    if (PyErr_Occurred()) {
        return NULL;
    }
    Status *status = ((Status * (*)(void *, size_t, const int64_t *, size_t, void **)) node->api[OUTPUT])(
        context, (size_t)index, lengths, (size_t)rank, &value
    );
    PyObject *array = NULL;
    if (status == NULL) {
        array = array_of(node, value, kind, type, NPY_ARRAY_CARRAY, &status);
    }
    if (status != NULL) {
        ((void (*)(Status *))node->api[RELEASE_STATUS])(status);
        PyErr_SetString(PyExc_RuntimeError, "ONNX Runtime gave no memory for a result");
        return NULL;
    }
    return array;
}
