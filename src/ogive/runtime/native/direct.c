/* The short way from a call to a kernel, past NumPy's machinery.
 *
 * Of what a ufunc does, a call of arrays that are alike needs nothing: no broadcasting, no casting, no copies
 * against overlap, no override. For such calls, which are most, the loop is found and run here, in a third of
 * the time for a few elements; every other call goes to the ufunc. What comes out is the same.
 */
#include "native.h"

/* Plain arrays whose elements lie one after the other in the order of the last dimension. */
#define PLAIN (NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED)

static int is_plain(PyObject *object, int flags) {
    return PyArray_CheckExact(object) && (PyArray_FLAGS((PyArrayObject *)object) & flags) == flags &&
           PyArray_ISNOTSWAPPED((PyArrayObject *)object);
}

static int same_shape(PyArrayObject *a, PyArrayObject *b) {
    return PyArray_NDIM(a) == PyArray_NDIM(b) &&
           PyArray_CompareLists(PyArray_DIMS(a), PyArray_DIMS(b), PyArray_NDIM(a));
}

/* Whether one of two arrays may be written while the other is read: they are the same, or lie apart. */
static int may_be_written(PyArrayObject *out, PyArrayObject *in) {
    const char *a = PyArray_BYTES(out), *b = PyArray_BYTES(in);
    return a == b ? PyArray_ITEMSIZE(out) == PyArray_ITEMSIZE(in)
                  : a + PyArray_NBYTES(out) <= b || b + PyArray_NBYTES(in) <= a;
}

static OgiveLoopData *find_loop(const OgiveDirect *direct, PyObject *const *inputs, int *out_type) {
    const int operands = direct->inputs + 1;
    for (int i = 0; i < direct->loop_count; ++i) {
        const int *types = direct->types + i * operands;
        int k = 0;
        while (k < direct->inputs && types[k] == PyArray_TYPE((PyArrayObject *)inputs[k])) {
            ++k;
        }
        if (k == direct->inputs) {
            *out_type = types[k];
            return &direct->loops[i];
        }
    }
    return NULL;
}

PyObject *ogive_call_directly(const OgiveDirect *direct, PyObject *const *inputs, PyObject *out) {
    for (int k = 0; k < direct->inputs; ++k) {
        if (!is_plain(inputs[k], PLAIN)) {
            return NULL;
        }
    }
    PyArrayObject *first = (PyArrayObject *)inputs[0];
    npy_intp count = PyArray_SIZE(first);
    if (PyArray_NDIM(first) == 0 || count == 0) { /* NumPy makes scalars of the former */
        return NULL;
    }
    int out_type;
    OgiveLoopData *loop = find_loop(direct, inputs, &out_type);
    if (loop == NULL) {
        return NULL;
    }
    if (out != NULL && (!is_plain(out, PLAIN | NPY_ARRAY_WRITEABLE) || PyArray_TYPE((PyArrayObject *)out) != out_type ||
                        PyArray_FLAGS((PyArrayObject *)out) & NPY_ARRAY_WRITEBACKIFCOPY)) {
        return NULL;
    }
    char *args[OGIVE_MAX_OPERANDS];
    npy_intp steps[OGIVE_MAX_OPERANDS];
    for (int k = 0; k < direct->inputs; ++k) {
        PyArrayObject *input = (PyArrayObject *)inputs[k];
        if ((k > 0 && !same_shape(first, input)) || (out != NULL && !may_be_written((PyArrayObject *)out, input))) {
            return NULL;
        }
        args[k] = PyArray_BYTES(input);
        steps[k] = PyArray_ITEMSIZE(input);
    }
    if (out != NULL && !same_shape(first, (PyArrayObject *)out)) {
        return NULL;
    }
    PyObject *result = out != NULL ? Py_NewRef(out) : PyArray_SimpleNew(PyArray_NDIM(first), PyArray_DIMS(first), out_type);
    if (result == NULL) {
        PyErr_Clear(); /* NumPy will say it */
        return NULL;
    }
    args[direct->inputs] = PyArray_BYTES((PyArrayObject *)result);
    steps[direct->inputs] = PyArray_ITEMSIZE((PyArrayObject *)result);
    NPY_BEGIN_THREADS_DEF;
    NPY_BEGIN_THREADS_THRESHOLDED(count);
    ogive_element_loop(args, &count, steps, loop);
    NPY_END_THREADS;
    return result;
}
