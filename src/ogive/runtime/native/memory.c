/* Calls whose arrays may take so many bytes and no more: NumPy asks here for the memory of arrays meanwhile.
 *
 * The limit holds before memory is taken, for results and for whatever lies beside them, in every function of NumPy. Arrays that a
 * call leaves behind keep the limit alive, and no longer count once it is over.
 */
#include "native.h"

#include <stdlib.h>

#define HANDLER_NAME "mem_handler" /* NumPy's name of the capsule */

/* The allocator that NumPy calls while a limit holds, and the one that it called before, which has the memory. */
typedef struct {
    PyDataMem_Handler handler;
    PyObject *before; /* a capsule, too */
    const PyDataMemAllocator *source;
    _Atomic int64_t left;
    _Atomic int64_t refused; /* how many bytes were asked for in vain; 0: none */
} limit_type;

/* Whether so many bytes are left; then they are taken. */
static int takes(limit_type *limit, size_t size) {
    const int64_t wanted = size > INT64_MAX ? INT64_MAX : (int64_t)size;
    int64_t left = atomic_load(&limit->left);
    do {
        if (wanted > left) {
            atomic_store(&limit->refused, wanted);
            return 0;
        }
    } while (!atomic_compare_exchange_weak(&limit->left, &left, left - wanted));
    return 1;
}

static void *given(limit_type *limit, size_t size, void *memory) {
    if (memory == NULL) {
        atomic_fetch_add(&limit->left, (int64_t)size);
    }
    return memory;
}

static void *limited_malloc(void *context, size_t size) {
    limit_type *limit = context;
    return takes(limit, size) ? given(limit, size, limit->source->malloc(limit->source->ctx, size)) : NULL;
}

static void *limited_calloc(void *context, size_t count, size_t size) {
    limit_type *limit = context;
    const size_t all = size > 0 && count > (size_t)INT64_MAX / size ? (size_t)INT64_MAX : count * size;
    return takes(limit, all) ? given(limit, all, limit->source->calloc(limit->source->ctx, count, size)) : NULL;
}

/* NumPy does not say how many bytes it had. */
static void *limited_realloc(void *context, void *memory, size_t size) {
    limit_type *limit = context;
    return takes(limit, size) ? given(limit, size, limit->source->realloc(limit->source->ctx, memory, size)) : NULL;
}

static void limited_free(void *context, void *memory, size_t size) {
    limit_type *limit = context;
    atomic_fetch_add(&limit->left, memory == NULL ? 0 : (int64_t)size);
    limit->source->free(limit->source->ctx, memory, size);
}

static void limit_dealloc(PyObject *capsule) {
    limit_type *limit = PyCapsule_GetPointer(capsule, HANDLER_NAME);
    if (limit != NULL) {
        Py_DECREF(limit->before);
        free(limit);
    }
}

/* How many bytes this limit, or one around it, has refused; 0: none. */
static long long refused_by(const limit_type *limit) {
    while (limit != NULL && atomic_load(&limit->refused) == 0) {
        const limit_type *around = PyCapsule_GetPointer(limit->before, HANDLER_NAME);
        limit = around != NULL && around->handler.allocator.malloc == limited_malloc ? around : NULL;
    }
    return limit == NULL ? 0 : (long long)atomic_load(&limit->refused);
}

/* A capsule with the limit of so many bytes; NULL with an error set. */
static PyObject *new_limit(int64_t bytes) {
    limit_type *limit = calloc(1, sizeof *limit);
    if (limit == NULL) {
        return PyErr_NoMemory();
    }
    limit->before = PyDataMem_GetHandler();
    const PyDataMem_Handler *before =
        limit->before == NULL ? NULL : PyCapsule_GetPointer(limit->before, HANDLER_NAME);
    PyObject *capsule = before == NULL ? NULL : PyCapsule_New(limit, HANDLER_NAME, limit_dealloc);
    if (capsule == NULL) {
        Py_XDECREF(limit->before);
        free(limit);
        return NULL;
    }
    limit->source = &before->allocator;
    atomic_init(&limit->left, bytes);
    memcpy(limit->handler.name, "ogive_limit", sizeof "ogive_limit");
    limit->handler.version = 1;
    limit->handler.allocator =
        (PyDataMemAllocator){limit, limited_malloc, limited_calloc, limited_realloc, limited_free};
    return capsule;
}

PyObject *ogive_call_within(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    if (count < 3) {
        PyErr_SetString(PyExc_TypeError, "call_within takes a number of bytes, an exception, a function and its arguments");
        return NULL;
    }
    const long long bytes = PyLong_AsLongLong(args[0]);
    if (bytes == -1 && PyErr_Occurred()) {
        return NULL;
    }
    PyObject *capsule = new_limit(bytes < 0 ? 0 : bytes);
    if (capsule == NULL) {
        return NULL;
    }
    PyObject *before = PyDataMem_SetHandler(capsule);
    if (before == NULL) {
        Py_DECREF(capsule);
        return NULL;
    }
    PyObject *result = PyObject_Vectorcall(args[2], args + 3, (size_t)(count - 3), NULL);
    const long long refused = result == NULL ? refused_by(PyCapsule_GetPointer(capsule, HANDLER_NAME)) : 0;
    if (result == NULL && refused > 0 && PyErr_ExceptionMatches(PyExc_MemoryError)) {
        PyErr_Clear();
        PyObject *size = PyLong_FromLongLong(refused);
        if (size != NULL) {
            PyErr_SetObject(args[1], size);
            Py_DECREF(size);
        }
    }
    atomic_store(&((limit_type *)PyCapsule_GetPointer(capsule, HANDLER_NAME))->left, INT64_MAX / 2); /* of arrays that stay */
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *own = PyDataMem_SetHandler(before);
    PyErr_Restore(type, value, traceback);
    Py_XDECREF(own);
    Py_DECREF(before);
    Py_DECREF(capsule);
    return result;
}
