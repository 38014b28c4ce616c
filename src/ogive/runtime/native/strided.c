/* A kernel over the arrays of a plan's step, whatever their layout, one output or several.
 *
 * direct.c has the short ways for arrays that are alike, and for rows that lie one after the other. Here strides are
 * read, and axes that all operands step through alike are joined. A plan has seen to what a call cannot know: types and
 * shapes fit, and outputs overlap nothing but an input of the same layout.
 */
#include "native.h"

#define MOST_ROW_AXES 8 /* before the row itself */

typedef struct {
    npy_intp length;
    npy_intp steps[OGIVE_MAX_OPERANDS];
} strided_axis;

static int is_ordinary(PyObject *object) {
    return PyArray_CheckExact(object) && PyArray_ISBEHAVED_RO((PyArrayObject *)object);
}

/* From element to element of an operand along an axis of the result, which counts from the end; -1 if it has another
 * length there. */
static int step_along(PyArrayObject *array, int from_end, npy_intp length, npy_intp *step) {
    const int axis = PyArray_NDIM(array) - 1 - from_end;
    *step = 0;
    if (axis < 0 || PyArray_DIM(array, axis) == 1) {
        return 0;
    }
    *step = PyArray_STRIDE(array, axis);
    return PyArray_DIM(array, axis) == length ? 0 : -1;
}

/* The axes of `like` but the last `left_out`, the innermost first, without those of one element, and joined where all
 * operands step on alike. Their number, or -1: no elements, too many axes, or other lengths. */
static int read_axes(PyArrayObject *like, int left_out, PyArrayObject *const *operands, int count, strided_axis *axes,
                     int most) {
    int found = 0;
    for (int from_end = left_out; from_end < PyArray_NDIM(like); ++from_end) {
        strided_axis axis = {.length = PyArray_DIM(like, PyArray_NDIM(like) - 1 - from_end)};
        int continues = found > 0;
        for (int k = 0; k < count; ++k) {
            if (step_along(operands[k], from_end, axis.length, &axis.steps[k]) < 0) {
                return -1;
            }
            continues = continues && axis.steps[k] == axes[found - 1].steps[k] * axes[found - 1].length;
        }
        if (axis.length == 0) {
            return -1;
        }
        if (axis.length == 1) {
            continue;
        }
        if (continues) {
            axes[found - 1].length *= axis.length;
        } else if (found == most) {
            return -1;
        } else {
            axes[found++] = axis;
        }
    }
    return found;
}

/* ---- rows -------------------------------------------------------------------------------------- */

static int run_rows(OgiveLoopData *loop, PyArrayObject *const *operands, int count) {
    const OgiveKernel *kernel = loop->kernel;
    strided_axis axes[MOST_ROW_AXES];
    npy_intp length = -1, steps[2 * OGIVE_MAX_OPERANDS];
    char *args[OGIVE_MAX_OPERANDS];
    for (int k = 0; k < count; ++k) {
        const int ndim = PyArray_NDIM(operands[k]);
        const npy_intp last = ndim < 1 ? -1 : PyArray_DIM(operands[k], ndim - 1);
        if (last < 1 || (kernel->of_row[k] ? last != 1 : length >= 0 && length != last)) {
            return 0;
        }
        if (!kernel->of_row[k]) {
            length = last;
        }
        args[k] = PyArray_BYTES(operands[k]);
        steps[count + k] = kernel->of_row[k] || last == 1 ? kernel->itemsizes[k] : PyArray_STRIDE(operands[k], ndim - 1);
    }
    const int axis_count = read_axes(operands[kernel->inputs], 1, operands, count, axes, MOST_ROW_AXES);
    if (length < 1 || axis_count < 0) {
        return 0;
    }
    int longest = 0; /* its rows are run together */
    npy_intp calls = 1, elements = length;
    for (int a = 0; a < axis_count; ++a) {
        longest = axes[a].length > axes[longest].length ? a : longest;
        elements = elements > NPY_MAX_INTP / axes[a].length ? NPY_MAX_INTP : elements * axes[a].length;
    }
    for (int a = 0; a < axis_count; ++a) {
        calls *= a == longest ? 1 : axes[a].length;
    }
    const npy_intp dimensions[] = {axis_count ? axes[longest].length : 1, length, length};
    for (int k = 0; k < count; ++k) {
        steps[k] = axis_count ? axes[longest].steps[k] : 0;
    }
    NPY_BEGIN_THREADS_DEF;
    if (elements >= kernel->parallel_threshold / 4) {
        NPY_BEGIN_THREADS;
    }
    for (npy_intp call = 0; call < calls; ++call) {
        char *first[OGIVE_MAX_OPERANDS];
        npy_intp rest = call;
        for (int k = 0; k < count; ++k) {
            first[k] = args[k];
        }
        for (int a = 0; a < axis_count; ++a) {
            if (a != longest) {
                const npy_intp at = rest % axes[a].length;
                rest /= axes[a].length;
                for (int k = 0; k < count; ++k) {
                    first[k] += at * axes[a].steps[k];
                }
            }
        }
        ogive_row_loop(first, dimensions, steps, loop);
    }
    NPY_END_THREADS;
    return PyErr_Occurred() ? -1 : 1;
}

/* ---- elements ---------------------------------------------------------------------------------- */

static void exchange(strided_axis *a, strided_axis *b) {
    const strided_axis kept = *a;
    *a = *b;
    *b = kept;
}

/* In the order in which the first result lies: the closest together first. */
static void sort_axes(strided_axis *axes, int axis_count, int result) {
    for (int a = 1; a < axis_count; ++a) {
        for (int b = a; b > 0 && axes[b].steps[result] < axes[b - 1].steps[result]; --b) {
            exchange(&axes[b], &axes[b - 1]);
        }
    }
}

static int run_elements(OgiveLoopData *loop, PyArrayObject *const *operands, int count) {
    const OgiveKernel *kernel = loop->kernel;
    strided_axis axes[OGIVE_MAX_AXES];
    char *args[OGIVE_MAX_OPERANDS];
    PyArrayObject *like = operands[kernel->inputs];
    const int axis_count = read_axes(like, 0, operands, count, axes, OGIVE_MAX_AXES);
    if (axis_count < 0 || (axis_count > 1 && count > OGIVE_MAX_GRID_OPERANDS)) {
        return 0;
    }
    int is_plain = axis_count <= 1;
    for (int k = 0; k < count; ++k) {
        args[k] = PyArray_BYTES(operands[k]);
        is_plain = is_plain && (axis_count == 0 || axes[0].steps[k] == kernel->itemsizes[k]);
    }
    sort_axes(axes, axis_count, kernel->inputs);
    const npy_intp elements = PyArray_SIZE(like);
    NPY_BEGIN_THREADS_DEF;
    if (elements >= kernel->parallel_threshold / 4) {
        NPY_BEGIN_THREADS;
    }
    if (is_plain) {
        ogive_plain_elements(args, elements, kernel->itemsizes, loop);
    } else if (axis_count == 1) {
        ogive_element_loop(args, &axes[0].length, axes[0].steps, loop);
    } else {
        OgiveAxis grid[OGIVE_MAX_AXES];
        for (int a = 0; a < axis_count; ++a) {
            grid[a].length = axes[a].length;
            for (int k = 0; k < count; ++k) {
                grid[a].steps[k] = axes[a].steps[k];
            }
        }
        ogive_element_grid(args, grid, axis_count, loop);
    }
    NPY_END_THREADS;
    return PyErr_Occurred() ? -1 : 1;
}

int ogive_call_strided(OgiveLoopData *loop, const int *types, int row_wise, PyObject *const *operands, int count) {
    PyArrayObject *arrays[OGIVE_MAX_OPERANDS];
    const int inputs = loop->kernel->inputs;
    for (int k = 0; k < count; ++k) {
        arrays[k] = (PyArrayObject *)operands[k];
        if (!is_ordinary(operands[k]) || PyArray_TYPE(arrays[k]) != types[k] ||
            (k >= inputs && !PyArray_ISWRITEABLE(arrays[k]))) {
            return 0;
        }
        /* All outputs have the elements of the first; of rows, but for the last axis. */
        if (k > inputs && (PyArray_NDIM(arrays[k]) != PyArray_NDIM(arrays[inputs]) ||
                           !PyArray_CompareLists(PyArray_DIMS(arrays[k]), PyArray_DIMS(arrays[inputs]),
                                                 PyArray_NDIM(arrays[k]) - (row_wise && PyArray_NDIM(arrays[k]) > 0)))) {
            return 0;
        }
        if (k < inputs && PyArray_NDIM(arrays[k]) > PyArray_NDIM((PyArrayObject *)operands[inputs])) {
            return 0;
        }
    }
    return (row_wise ? run_rows : run_elements)(loop, arrays, count);
}
