/* The loop of element-wise kernels over operands of several dimensions and any layout.
 *
 * Two axes are cut into tiles that fit the first-level cache: the one along which results lie together, and the
 * one along which an input does, if that is another. A tile of an operand that does not lie as compiled code
 * wants it goes through a buffer; the others are used where they lie. Threads share the tiles.
 */
#include "native.h"
#include "copies.h"
#include "../../backends/floating_point.h"
#include "streaming.h"

#define TILE_ROW 64       /* elements along the results' axis where an input lies along the other */
#define SHORTEST_STREAM 1024 /* elements along it that are written past the caches */

typedef struct {
    ogive_call *call;
    char **operands;
    const OgiveAxis *axes;
    int axis_count;
    int other; /* the second axis of tiles; the first is axes[0] */
    npy_intp columns, rows;                 /* of a tile */
    npy_intp tiles_in_row, tiles_in_column; /* along the axes */
    _Bool streams; /* outputs, whose tiles lie well, are written past the caches */
} grid_context;

/* A tile of an operand, and what its buffer holds of an earlier one. */
typedef struct {
    char *buffer;
    const char *source;
    npy_intp columns, rows;
} staged_operand;

/* Between a buffer, row by row, and an operand: along the axis where its elements lie closer together. */
static void gather(char *buffer, const char *operand, npy_intp step, npy_intp row_step, npy_intp columns, npy_intp rows,
                   npy_intp itemsize) {
    if (Py_ABS(step) <= Py_ABS(row_step) || rows == 1) {
        for (npy_intp r = 0; r < rows; ++r) {
            ogive_copy_elements(buffer + r * columns * itemsize, itemsize, operand + r * row_step, step, columns, itemsize);
        }
    } else {
        for (npy_intp c = 0; c < columns; ++c) {
            ogive_copy_elements(buffer + c * itemsize, columns * itemsize, operand + c * step, row_step, rows, itemsize);
        }
    }
}

static void scatter(char *operand, const char *buffer, npy_intp step, npy_intp row_step, npy_intp columns, npy_intp rows,
                    npy_intp itemsize) {
    for (npy_intp r = 0; r < rows; ++r) {
        ogive_copy_elements(operand + r * row_step, step, buffer + r * columns * itemsize, itemsize, columns, itemsize);
    }
}

/* One tile, whose first elements are at `operands`. */
static void run_tile(const grid_context *context, char *const *operands, npy_intp columns, npy_intp rows,
                     staged_operand *staged, ogive_heap *found) {
    const OgiveKernel *kernel = context->call->kernel;
    const npy_intp count = columns * rows, padded = (count + kernel->block - 1) / kernel->block * kernel->block;
    const int operand_count = kernel->inputs + kernel->outputs;
    void *pointers[OGIVE_MAX_GRID_OPERANDS];
    int lies_well[OGIVE_MAX_GRID_OPERANDS];
    for (int k = 0; k < operand_count; ++k) {
        const npy_intp size = kernel->itemsizes[k];
        const npy_intp step = context->axes[0].steps[k], row_step = context->axes[context->other].steps[k];
        lies_well[k] = padded == count && (columns == 1 || step == size) && (rows == 1 || row_step == columns * size);
        if (lies_well[k]) {
            pointers[k] = operands[k];
            continue;
        }
        pointers[k] = staged[k].buffer;
        if (k >= kernel->inputs) {
            continue;
        }
        const int is_there = staged[k].source == operands[k] && staged[k].columns == columns && staged[k].rows >= rows;
        if (!is_there) {
            gather(staged[k].buffer, operands[k], step, row_step, columns, rows, size);
            staged[k] = (staged_operand){staged[k].buffer, operands[k], columns, rows};
            /* The lanes that pad the last block: any value does, as long as it is one. */
            memset(staged[k].buffer + count * size, 0, (size_t)((padded - count) * size));
        }
    }
    /* Where all results lie well, undecided elements wait for those of other tiles. Else those that wait are computed first, and
     * this tile's behind it: threads with small stacks have room for one heap. */
    const int first = kernel->inputs;
    const npy_intp behind = (operands[first] - context->operands[first]) / kernel->itemsizes[first];
    int can_wait = 1;
    for (int k = first; k < operand_count; ++k) {
        can_wait &= lies_well[k] && operands[k] - context->operands[k] == behind * kernel->itemsizes[k];
    }
    if (kernel->later_count == 0) {
        ogive_compute(context->call, pointers, padded, count, context->streams);
    } else if (can_wait) {
        ogive_compute_tile(context->call, pointers, padded, count, context->streams, behind, found);
    } else {
        ogive_end_tiles(context->call, found, context->streams);
        ogive_compute_tile(context->call, pointers, padded, count, context->streams, 0, found);
        ogive_end_tiles(context->call, found, context->streams);
    }
    for (int k = kernel->inputs; k < operand_count; ++k) {
        if (!lies_well[k]) {
            scatter(operands[k], staged[k].buffer, context->axes[0].steps[k], context->axes[context->other].steps[k],
                    columns, rows, kernel->itemsizes[k]);
        }
    }
}

static void run_tiles(void *opaque, intptr_t begin, intptr_t end) {
    const grid_context *context = opaque;
    const OgiveKernel *kernel = context->call->kernel;
    const int operand_count = kernel->inputs + kernel->outputs;
    const OgiveAxis *first = &context->axes[0], *other = &context->axes[context->other];
    _Alignas(64) char staging[OGIVE_STAGING_BYTES];
    staged_operand staged[OGIVE_MAX_GRID_OPERANDS];
    ogive_heap found;
    found.next = NULL;
    char *cursor = staging;
    const npy_intp block = kernel->block, most = (context->columns * context->rows + block - 1) / block * block;
    for (int k = 0; k < operand_count; ++k) {
        staged[k] = (staged_operand){cursor, NULL, 0, 0};
        cursor += most * kernel->itemsizes[k];
    }
    ogive_fp_state saved = ogive_fp_enter();
    for (intptr_t tile = begin; tile < end; ++tile) {
        const npy_intp column = tile % context->tiles_in_row * context->columns;
        npy_intp rest = tile / context->tiles_in_row;
        const npy_intp row = rest % context->tiles_in_column * context->rows;
        rest /= context->tiles_in_column;
        char *operands[OGIVE_MAX_GRID_OPERANDS];
        for (int k = 0; k < operand_count; ++k) {
            operands[k] = context->operands[k] + column * first->steps[k] + row * other->steps[k];
        }
        for (int a = 1; a < context->axis_count; ++a) {
            if (a != context->other) {
                const npy_intp at = rest % context->axes[a].length;
                rest /= context->axes[a].length;
                for (int k = 0; k < operand_count; ++k) {
                    operands[k] += at * context->axes[a].steps[k];
                }
            }
        }
        const npy_intp columns = first->length - column < context->columns ? first->length - column : context->columns;
        const npy_intp rows = other->length - row < context->rows ? other->length - row : context->rows;
        run_tile(context, operands, columns, rows, staged, &found);
    }
    ogive_end_tiles(context->call, &found, context->streams);
    if (context->streams) {
        ogive_stream_end();
    }
    ogive_fp_leave(saved);
}

/* The axis along which an input lies that does not lie along the first; 0 if there is none. */
static int conflicting_axis(const OgiveKernel *kernel, const OgiveAxis *axes, int axis_count) {
    for (int k = 0; k < kernel->inputs; ++k) {
        const npy_intp step = Py_ABS(axes[0].steps[k]);
        for (int a = 1; a < axis_count; ++a) {
            const npy_intp other = Py_ABS(axes[a].steps[k]);
            if (other > 0 && other < step && axes[a].length > 1) {
                return a;
            }
        }
    }
    return 0;
}

/* A broadcast operand is staged once a piece of a thread's share: it serves at least so many tiles. */
#define TILES_OF_A_PIECE 8

/* The elements [begin, end) of the first axis, of everything that the context says of the whole. */
static void run_part(grid_context context, npy_intp begin, npy_intp end, int conflict) {
    const OgiveKernel *kernel = context.call->kernel;
    OgiveAxis axes[OGIVE_MAX_AXES];
    char *operands[OGIVE_MAX_GRID_OPERANDS];
    if (begin == end) {
        return;
    }
    memcpy(axes, context.axes, sizeof *axes * (size_t)context.axis_count);
    axes[0].length = end - begin;
    for (int k = 0; k < kernel->inputs + kernel->outputs; ++k) {
        operands[k] = context.operands[k] + begin * axes[0].steps[k];
    }
    context.axes = axes;
    context.operands = operands;
    const npy_intp most = kernel->staged;
    npy_intp row = conflict ? TILE_ROW : most;
    context.columns = axes[0].length < row ? axes[0].length : row < most ? row : most;
    context.other = conflict ? conflict : 1;
    const npy_intp length = axes[context.other].length;
    npy_intp fits = context.streams ? 1 : most / context.columns;
    fits = fits < kernel->block ? fits : fits / kernel->block * kernel->block; /* whole blocks, whatever the columns */
    context.rows = context.columns < axes[0].length && !conflict ? 1 : fits < length ? fits : length;
    context.tiles_in_row = (axes[0].length + context.columns - 1) / context.columns;
    context.tiles_in_column = (length + context.rows - 1) / context.rows;
    npy_intp tiles = context.tiles_in_row * context.tiles_in_column;
    for (int a = 1; a < context.axis_count; ++a) {
        tiles *= a == context.other ? 1 : axes[a].length;
    }
    const npy_intp of_one = context.columns * context.rows, grain = kernel->parallel_threshold / 2 / of_one;
    if (tiles > 1 && tiles >= kernel->parallel_threshold / of_one) {
        const npy_intp unit = conflict || tiles < 2 * TILES_OF_A_PIECE ? 1 : TILES_OF_A_PIECE;
        ogive_run_in_pool(context.call, run_tiles, &context, tiles, grain < 1 ? 1 : grain, unit);
    } else {
        run_tiles(&context, 0, tiles);
    }
}

/* Whether the middle of every row of results may be written past the caches: it begins at the same column in all. */
static int may_stream(const grid_context *context, npy_intp count) {
    const OgiveKernel *kernel = context->call->kernel;
    if (kernel->staged % OGIVE_ELEMENTS_OF_LINES != 0 ||
        context->axes[0].length < SHORTEST_STREAM + OGIVE_ELEMENTS_OF_LINES ||
        !ogive_streaming_pays(kernel, context->operands, count)) {
        return 0;
    }
    for (int o = kernel->inputs; o < kernel->inputs + kernel->outputs; ++o) {
        int suits = context->axes[0].steps[o] == kernel->itemsizes[o];
        for (int a = 1; a < context->axis_count; ++a) {
            suits &= context->axes[a].steps[o] % OGIVE_STREAM_ALIGNMENT == 0;
        }
        if (!suits) {
            return 0;
        }
    }
    return 1;
}

void ogive_element_grid(char **operands, const OgiveAxis *axes, int axis_count, OgiveLoopData *loop) {
    OgiveKernel *kernel = loop->kernel;
    if (axis_count == 1) {
        ogive_element_loop(operands, &axes[0].length, axes[0].steps, loop);
        return;
    }
    npy_intp count = 1;
    for (int a = 0; a < axis_count; ++a) {
        count *= axes[a].length;
    }
    ogive_call call = {kernel, atomic_load(&kernel->function), loop, count, NULL, 0, NULL};
    if (call.function == NULL && (call.function = ogive_kernel_resolve(kernel)) == NULL) {
        return;
    }
    grid_context context = {.call = &call, .operands = operands, .axes = axes, .axis_count = axis_count};
    const int conflict = conflicting_axis(kernel, axes, axis_count);
    const npy_intp width = axes[0].length;
    npy_intp begin = 0, end = 0; /* of what is streamed */
    if (!conflict && may_stream(&context, count) && (begin = ogive_elements_before_alignment(kernel, operands)) >= 0) {
        end = begin + (width - begin) / OGIVE_ELEMENTS_OF_LINES * OGIVE_ELEMENTS_OF_LINES;
    }
    if (end == 0) {
        run_part(context, 0, width, conflict);
    } else {
        run_part(context, 0, begin, conflict);
        run_part(context, end, width, conflict);
        context.streams = 1;
        run_part(context, begin, end, conflict);
    }
    ogive_raise(&call);
}
