/* The short way from a call to a kernel, past NumPy's machinery.
 *
 * Most calls need little of the work of a ufunc: no casting, no copies against overlap, no override. For these the
 * loop is found and run here. Arrays that are alike need no broadcasting either, and are done in a third of the
 * time for a few elements; for others the dimensions are put into an order in which all threads can share them
 * (grid.c), or rows are found that all operands have or share. Every other call goes to the ufunc. What comes out is the same.
 */
#include "native.h"

#include <string.h>

/* Arrays of ordinary memory; plain ones have their elements one after the other, the last dimension first. */
#define ORDINARY NPY_ARRAY_ALIGNED
#define PLAIN (NPY_ARRAY_C_CONTIGUOUS | ORDINARY)

static int has_flags(PyObject *array, int flags) { return (PyArray_FLAGS((PyArrayObject *)array) & flags) == flags; }

static int is_ordinary(PyObject *object) {
    return PyArray_CheckExact(object) && has_flags(object, ORDINARY) && PyArray_ISNOTSWAPPED((PyArrayObject *)object);
}

/* NumPy's own functions for these two are calls into another library, 3 ns each of the 80 of a short call. */
static int same_shape(PyArrayObject *a, PyArrayObject *b) {
    int d = PyArray_NDIM(a) == PyArray_NDIM(b) ? PyArray_NDIM(a) : -1;
    while (d > 0 && PyArray_DIM(a, d - 1) == PyArray_DIM(b, d - 1)) {
        --d;
    }
    return d == 0;
}

static npy_intp element_count(PyArrayObject *array) {
    npy_intp count = 1;
    for (int d = 0; d < PyArray_NDIM(array); ++d) {
        count *= PyArray_DIM(array, d);
    }
    return count;
}

static int takes(const OgiveDirect *direct, int loop, const int *given) {
    const int *types = direct->types + loop * (direct->inputs + 1);
    int k = 0;
    while (k < direct->inputs && types[k] == given[k]) {
        ++k;
    }
    return k == direct->inputs;
}

OgiveLoopData *ogive_find_loop(OgiveDirect *direct, const int *types, int *out_type) {
    int i = atomic_load_explicit(&direct->latest, memory_order_relaxed);
    if (direct->loop_count == 0 || !takes(direct, i, types)) {
        for (i = 0; i < direct->loop_count && !takes(direct, i, types); ++i) {
        }
        if (i == direct->loop_count) {
            return NULL;
        }
        atomic_store_explicit(&direct->latest, i, memory_order_relaxed);
    }
    *out_type = direct->types[i * (direct->inputs + 1) + direct->inputs];
    return &direct->loops[i];
}

/* Whether to release the interpreter's lock: only for about 1 us of work or more, a quarter of what a second thread
 * pays for. Releasing the lock and taking it again would be a large part of shorter calls. */
static int lets_others_run(const OgiveLoopData *loop, npy_intp count) {
    const OgiveKernel *kernel = loop->kernel;
    return atomic_load_explicit(&kernel->function, memory_order_acquire) == NULL || count >= kernel->parallel_threshold / 4;
}

/* ---- arrays that are alike ------------------------------------------------------------------ */

/* Whether one of two plain arrays may be written while the other is read: they lie apart, or they are the same and
 * elements do not depend on each other. */
static int may_be_written(const OgiveDirect *direct, const OgiveKernel *kernel, PyArrayObject *out, PyArrayObject *in,
                          int input, npy_intp count) {
    const char *a = PyArray_BYTES(out), *b = PyArray_BYTES(in);
    const npy_intp out_size = kernel->itemsizes[direct->inputs], in_size = kernel->itemsizes[input];
    return a == b ? out_size == in_size && !direct->row_wise : a + count * out_size <= b || b + count * in_size <= a;
}

/* Whether all arrays are plain and of one shape, which has so many elements. */
static int are_alike(const OgiveDirect *direct, const OgiveKernel *kernel, PyObject *const *inputs, PyObject *out,
                     npy_intp count) {
    PyArrayObject *first = (PyArrayObject *)inputs[0];
    if (out != NULL && !(has_flags(out, PLAIN) && same_shape(first, (PyArrayObject *)out))) {
        return 0;
    }
    for (int k = 0; k < direct->inputs; ++k) {
        PyArrayObject *input = (PyArrayObject *)inputs[k];
        if (!has_flags(inputs[k], PLAIN) || (k > 0 && !same_shape(first, input)) ||
            (out != NULL && !may_be_written(direct, kernel, (PyArrayObject *)out, input, k, count))) {
            return 0;
        }
    }
    return 1;
}

void ogive_run_alike(const OgiveDirect *direct, OgiveLoopData *loop, char **args, npy_intp count, npy_intp length) {
    const npy_intp *steps = loop->kernel->itemsizes;
    NPY_BEGIN_THREADS_DEF;
    if (lets_others_run(loop, count)) {
        NPY_BEGIN_THREADS;
    }
    if (direct->row_wise) {
        const npy_intp dimensions[] = {count / length, length};
        npy_intp row_steps[2 * OGIVE_MAX_OPERANDS];
        for (int k = 0; k <= direct->inputs; ++k) {
            row_steps[k] = length * steps[k];
            row_steps[direct->inputs + 1 + k] = steps[k];
        }
        ogive_row_loop(args, dimensions, row_steps, loop);
    } else {
        ogive_plain_elements(args, count, steps, loop);
    }
    NPY_END_THREADS;
}

static PyObject *run_alike(const OgiveDirect *direct, PyObject *const *inputs, PyObject *out, OgiveLoopData *loop,
                           int out_type, npy_intp count) {
    PyArrayObject *first = (PyArrayObject *)inputs[0];
    char *args[OGIVE_MAX_OPERANDS];
    PyObject *result =
        out != NULL ? Py_NewRef(out) : PyArray_SimpleNew(PyArray_NDIM(first), PyArray_DIMS(first), out_type);
    if (result == NULL) {
        PyErr_Clear(); /* no memory: NumPy tries again, and says how much is wanted */
        return NULL;
    }
    for (int k = 0; k <= direct->inputs; ++k) {
        args[k] = PyArray_BYTES((PyArrayObject *)(k < direct->inputs ? inputs[k] : result));
    }
    ogive_run_alike(direct, loop, args, count, PyArray_DIM(first, PyArray_NDIM(first) - 1));
    return result;
}

/* ---- arrays of several layouts -------------------------------------------------------------- */

typedef struct {
    int operands;
    int axis_count;
    npy_intp count; /* of elements of the result */
    OgiveAxis axes[OGIVE_MAX_AXES];
    char *pointers[OGIVE_MAX_GRID_OPERANDS];
} grid;

/* The axes of the result in the order of its dimensions, the last one first; 0 if the inputs do not broadcast. */
static int broadcast(grid *g, PyObject *const *inputs, npy_intp *shape) {
    g->axis_count = 0;
    for (int k = 0; k < g->operands - 1; ++k) {
        const int dimensions = PyArray_NDIM((PyArrayObject *)inputs[k]);
        g->axis_count = dimensions > g->axis_count ? dimensions : g->axis_count;
    }
    if (g->axis_count > OGIVE_MAX_AXES) {
        return 0;
    }
    g->count = 1;
    for (int a = 0; a < g->axis_count; ++a) {
        OgiveAxis *axis = &g->axes[a];
        axis->length = 1;
        for (int k = 0; k < g->operands - 1; ++k) {
            PyArrayObject *input = (PyArrayObject *)inputs[k];
            const int d = PyArray_NDIM(input) - 1 - a;
            const npy_intp length = d < 0 ? 1 : PyArray_DIM(input, d);
            axis->steps[k] = length == 1 ? 0 : PyArray_STRIDE(input, d);
            if (length != 1) {
                if (axis->length != 1 && axis->length != length) {
                    return 0;
                }
                axis->length = length;
            }
        }
        shape[g->axis_count - 1 - a] = axis->length;
        if (axis->length == 0 || g->count > NPY_MAX_INTP / axis->length) {
            return 0;
        }
        g->count *= axis->length;
    }
    return 1;
}

/* An array for the result that lies as NumPy's would; NULL if only NumPy knows. */
static PyObject *new_result(const grid *g, PyObject *const *inputs, const npy_intp *shape, int out_type) {
    int all_plain = 1;
    for (int k = 0; k < g->operands - 1; ++k) {
        all_plain &= has_flags(inputs[k], PLAIN);
    }
    if (all_plain) {
        return PyArray_SimpleNew(g->axis_count, shape, out_type);
    }
    for (int a = 0; a < g->axis_count; ++a) {
        if (g->axes[a].steps[0] < 0 || (g->axes[a].steps[0] == 0 && g->axes[a].length > 1)) {
            return NULL;
        }
    }
    return g->operands > 2 ? NULL
                           : PyArray_NewLikeArray((PyArrayObject *)inputs[0], NPY_KEEPORDER,
                                                  PyArray_DescrFromType(out_type), 0);
}

static void exchange(OgiveAxis *a, OgiveAxis *b) {
    const OgiveAxis kept = *a;
    *a = *b;
    *b = kept;
}

/* Axes in the order in which results lie, in their direction, and as few as possible. */
static void simplify(grid *g) {
    const int out = g->operands - 1;
    int kept = 0;
    for (int a = 0; a < g->axis_count; ++a) {
        OgiveAxis *axis = &g->axes[a];
        if (axis->length == 1) {
            continue;
        }
        if (axis->steps[out] < 0) {
            for (int k = 0; k < g->operands; ++k) {
                g->pointers[k] += axis->steps[k] * (axis->length - 1);
                axis->steps[k] = -axis->steps[k];
            }
        }
        g->axes[kept++] = *axis;
    }
    for (int a = 1; a < kept; ++a) {
        for (int b = a; b > 0 && g->axes[b].steps[out] < g->axes[b - 1].steps[out]; --b) {
            exchange(&g->axes[b], &g->axes[b - 1]);
        }
    }
    int last = 0;
    for (int a = 1; a < kept; ++a) {
        int continues = 1;
        for (int k = 0; k < g->operands; ++k) {
            continues &= g->axes[a].steps[k] == g->axes[last].steps[k] * g->axes[last].length;
        }
        if (continues) {
            g->axes[last].length *= g->axes[a].length;
        } else {
            g->axes[++last] = g->axes[a];
        }
    }
    g->axis_count = last + 1;
    if (kept == 0) { /* a single element */
        g->axes[0] = (OgiveAxis){.length = 1};
    }
}

/* The memory of an operand: from `low` to before `high`. */
static void extent(const grid *g, int operand, npy_intp itemsize, const char **low, const char **high) {
    *low = *high = g->pointers[operand];
    for (int a = 0; a < g->axis_count; ++a) {
        const npy_intp reach = g->axes[a].steps[operand] * (g->axes[a].length - 1);
        *(reach < 0 ? low : high) += reach;
    }
    *high += itemsize;
}

/* Whether results do not overlap each other, nor an input but element on element. */
static int is_safe(const grid *g, const npy_intp *itemsizes) {
    const int out = g->operands - 1;
    npy_intp reach = itemsizes[out];
    for (int a = 0; a < g->axis_count; ++a) {
        if (g->axes[a].length > 1) {
            if (g->axes[a].steps[out] < reach) {
                return 0;
            }
            reach += g->axes[a].steps[out] * (g->axes[a].length - 1);
        }
    }
    const char *low, *high;
    extent(g, out, itemsizes[out], &low, &high);
    for (int k = 0; k < out; ++k) {
        const char *in_low, *in_high;
        extent(g, k, itemsizes[k], &in_low, &in_high);
        int same = g->pointers[k] == g->pointers[out] && itemsizes[k] == itemsizes[out];
        for (int a = 0; a < g->axis_count; ++a) {
            same &= g->axes[a].steps[k] == g->axes[a].steps[out];
        }
        if (!same && in_low < high && low < in_high) {
            return 0;
        }
    }
    return 1;
}

static PyObject *run_grid(const OgiveDirect *direct, PyObject *const *inputs, PyObject *out, OgiveLoopData *loop,
                          int out_type) {
    grid g;
    npy_intp shape[OGIVE_MAX_AXES];
    g.operands = direct->inputs + 1;
    if (g.operands > OGIVE_MAX_GRID_OPERANDS || !broadcast(&g, inputs, shape) || g.axis_count == 0) {
        return NULL;
    }
    if (out != NULL && !(PyArray_NDIM((PyArrayObject *)out) == g.axis_count &&
                         PyArray_CompareLists(PyArray_DIMS((PyArrayObject *)out), shape, g.axis_count))) {
        return NULL;
    }
    PyObject *result = out != NULL ? Py_NewRef(out) : new_result(&g, inputs, shape, out_type);
    if (result == NULL) {
        PyErr_Clear(); /* no memory: NumPy tries again, and says how much is wanted */
        return NULL;
    }
    for (int a = 0; a < g.axis_count; ++a) {
        g.axes[a].steps[direct->inputs] = PyArray_STRIDE((PyArrayObject *)result, g.axis_count - 1 - a);
    }
    for (int k = 0; k < g.operands; ++k) {
        g.pointers[k] = PyArray_BYTES((PyArrayObject *)(k < direct->inputs ? inputs[k] : result));
    }
    simplify(&g);
    if (!is_safe(&g, loop->kernel->itemsizes)) {
        Py_DECREF(result);
        return NULL;
    }
    NPY_BEGIN_THREADS_DEF;
    if (lets_others_run(loop, g.count)) {
        NPY_BEGIN_THREADS;
    }
    ogive_element_grid(g.pointers, g.axes, g.axis_count, loop);
    NPY_END_THREADS;
    return result;
}

/* ---- rows -------------------------------------------------------------------------------------- */

/* Plain arrays whose last axis is a row, or one number of a row. */
typedef struct {
    npy_intp rows, length;
    int longest; /* the input that has all rows: its dimensions before the last are the result's */
    int ndim;
} row_shape;

static npy_intp rows_of(PyArrayObject *array) {
    npy_intp count = 1;
    for (int d = 0; d < PyArray_NDIM(array) - 1; ++d) {
        count *= PyArray_DIM(array, d);
    }
    return count;
}

/* 0 if the call is one for the ufunc: no rows, no elements, or lengths that differ. */
static int find_rows(const OgiveDirect *direct, const OgiveKernel *kernel, PyObject *const *inputs, row_shape *found) {
    *found = (row_shape){.rows = 0, .length = -1};
    for (int k = 0; k < direct->inputs; ++k) {
        PyArrayObject *input = (PyArrayObject *)inputs[k];
        const int ndim = PyArray_NDIM(input);
        if (!has_flags(inputs[k], PLAIN) || ndim < 1 || ndim > NPY_MAXDIMS) {
            return 0;
        }
        const npy_intp rows = rows_of(input), last = PyArray_DIM(input, ndim - 1);
        if (kernel->of_row[k] ? last != 1 : found->length >= 0 && found->length != last) {
            return 0;
        }
        if (!kernel->of_row[k]) {
            found->length = last;
        }
        if (ndim > found->ndim || (ndim == found->ndim && rows > found->rows)) {
            found->longest = k;
            found->ndim = ndim;
            found->rows = rows;
        }
    }
    return found->rows > 0 && found->length > 0 && found->rows <= NPY_MAX_INTP / found->length;
}

/* Whether an array has all rows, in so many dimensions. */
static int has_all_rows(const row_shape *shape, PyObject *const *inputs, PyArrayObject *array, int ndim) {
    return PyArray_NDIM(array) == ndim &&
           PyArray_CompareLists(PyArray_DIMS(array), PyArray_DIMS((PyArrayObject *)inputs[shape->longest]),
                                shape->ndim - 1);
}

static PyObject *run_rows(const OgiveDirect *direct, PyObject *const *inputs, PyObject *out, OgiveLoopData *loop,
                          int out_type) {
    const OgiveKernel *kernel = loop->kernel;
    const int operands = direct->inputs + 1;
    npy_intp steps[2 * OGIVE_MAX_OPERANDS], dims[NPY_MAXDIMS];
    char *args[OGIVE_MAX_OPERANDS];
    row_shape shape;
    if (!find_rows(direct, kernel, inputs, &shape)) {
        return NULL;
    }
    for (int k = 0; k < operands; ++k) {
        steps[operands + k] = kernel->itemsizes[k];
        steps[k] = kernel->of_row[k] ? kernel->itemsizes[k] : shape.length * kernel->itemsizes[k];
    }
    for (int k = 0; k < direct->inputs; ++k) {
        PyArrayObject *input = (PyArrayObject *)inputs[k];
        args[k] = PyArray_BYTES(input);
        if (!has_all_rows(&shape, inputs, input, shape.ndim)) {
            if (rows_of(input) != 1) {
                return NULL; /* some rows are repeated */
            }
            steps[k] = 0;
        }
    }
    const npy_intp last = kernel->of_row[direct->inputs] ? 1 : shape.length;
    const int ndim = shape.ndim - direct->reduces;
    if (out != NULL) {
        PyArrayObject *given = (PyArrayObject *)out;
        if (!has_flags(out, PLAIN) || !has_all_rows(&shape, inputs, given, ndim) ||
            (!direct->reduces && PyArray_DIM(given, ndim - 1) != last)) {
            return NULL;
        }
        const char *begin = PyArray_BYTES(given), *end = begin + shape.rows * last * kernel->itemsizes[direct->inputs];
        for (int k = 0; k < direct->inputs; ++k) {
            const npy_intp bytes = element_count((PyArrayObject *)inputs[k]) * kernel->itemsizes[k];
            if (begin < args[k] + bytes && args[k] < end) {
                return NULL; /* NumPy copies what overlaps */
            }
        }
    }
    memcpy(dims, PyArray_DIMS((PyArrayObject *)inputs[shape.longest]), sizeof *dims * (size_t)shape.ndim);
    dims[shape.ndim - 1] = last;
    PyObject *result = out != NULL ? Py_NewRef(out) : PyArray_SimpleNew(ndim, dims, out_type);
    if (result == NULL) {
        PyErr_Clear(); /* no memory: NumPy tries again, and says how much is wanted */
        return NULL;
    }
    args[direct->inputs] = PyArray_BYTES((PyArrayObject *)result);
    const npy_intp dimensions[] = {shape.rows, shape.length, shape.length};
    NPY_BEGIN_THREADS_DEF;
    if (lets_others_run(loop, shape.rows * shape.length)) {
        NPY_BEGIN_THREADS;
    }
    ogive_row_loop(args, dimensions, steps, loop);
    NPY_END_THREADS;
    return out != NULL ? result : PyArray_Return((PyArrayObject *)result); /* of one row a scalar, as NumPy has it */
}

/* ---- the call ------------------------------------------------------------------------------- */

PyObject *ogive_call_directly(OgiveDirect *direct, PyObject *const *inputs, PyObject *out) {
    int types[OGIVE_MAX_OPERANDS], out_type;
    for (int k = 0; k < direct->inputs; ++k) {
        if (!is_ordinary(inputs[k])) {
            return NULL;
        }
        types[k] = PyArray_TYPE((PyArrayObject *)inputs[k]);
    }
    OgiveLoopData *loop = ogive_find_loop(direct, types, &out_type);
    if (loop == NULL) {
        return NULL;
    }
    if (out != NULL && (!is_ordinary(out) || PyArray_TYPE((PyArrayObject *)out) != out_type ||
                        !has_flags(out, NPY_ARRAY_WRITEABLE) || has_flags(out, NPY_ARRAY_WRITEBACKIFCOPY))) {
        return NULL;
    }
    PyArrayObject *first = (PyArrayObject *)inputs[0];
    const npy_intp count = element_count(first);
    if (direct->has_row_operands) {
        return run_rows(direct, inputs, out, loop, out_type);
    }
    if (!are_alike(direct, loop->kernel, inputs, out, count)) {
        return (direct->row_wise ? run_rows : run_grid)(direct, inputs, out, loop, out_type);
    }
    /* NumPy makes scalars of arrays without dimensions. */
    return PyArray_NDIM(first) == 0 || count == 0 ? NULL : run_alike(direct, inputs, out, loop, out_type, count);
}
