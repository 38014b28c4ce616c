/* The loop of a row-wise operator (softmax and its kin), a gufunc of signature (n)->(n).
 *
 * Its code is a sequence of stages. Every stage but the last goes over the row and reduces it to numbers
 * (its largest element, a sum, the first position where something holds), which the later stages get behind
 * the operator's parameters. A row is cut into segments of fixed length; a segment is reduced by the code in
 * one fixed order, and the segments are combined here, one after the other. So a sum does not depend on the
 * machine, on the layout, or on how many threads share the segments.
 */
#include "native.h"
#include "floating_point.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEGMENT 16384 /* elements; a multiple of every block */
#define ROWS_AT_ONCE 16 /* rows that are gathered together when they are not contiguous */
#define LARGEST_SCRATCH ((size_t)64 << 20)
/* Parameters, two numbers per reduction, and the number of valid elements. */
#define MAX_VALUES (OGIVE_MAX_PARAMETERS + 2 * OGIVE_MAX_REDUCTIONS + 1)

/* ---- numbers that are combined -------------------------------------------------------------- */

/* A sum as an unevaluated sum of two; other reductions use `high` alone. */
typedef struct {
    double high, low;
} partial;

static partial neutral(enum ogive_reduction kind) {
    switch (kind) {
        case OGIVE_MAXIMUM: return (partial){-INFINITY, 0};
        case OGIVE_MINIMUM: return (partial){INFINITY, 0};
        case OGIVE_FIRST: return (partial){INFINITY, 0};
        default: return (partial){0, 0};
    }
}

/* NaN in either makes NaN, whichever comes first. */
static partial combined(enum ogive_reduction kind, partial a, partial b) {
    switch (kind) {
        case OGIVE_MAXIMUM: return a.high < b.high || b.high != b.high ? b : a;
        case OGIVE_MINIMUM: return b.high < a.high || b.high != b.high ? b : a;
        case OGIVE_FIRST: return b.high < a.high ? b : a;
        default: break;
    }
    /* TwoSum; compiled without contraction. */
    double sum = a.high + b.high, t = sum - a.high;
    double lost = (a.high - (sum - t)) + (b.high - t);
    double low = lost + (a.low + b.low);
    double high = sum + low;
    /* After an overflow the corrections are NaN: the sum alone is right then. */
    return isfinite(high) ? (partial){high, low - (high - sum)} : (partial){sum, 0};
}

/* ---- one stage over a part of a row --------------------------------------------------------- */

typedef struct {
    const OgiveKernel *kernel;
    char *operands[OGIVE_MAX_OPERANDS]; /* of one row, contiguous */
    double values[MAX_VALUES];          /* parameters, then what the stages so far have found */
    int value_count;
    int first_value; /* of the row's own */
} row_state;

/* Values of positions are told relative to where the code begins to count. */
static void shift_positions(const OgiveKernel *kernel, double *values, const row_state *row, npy_intp begin) {
    for (int i = row->first_value, r = 0; i < row->value_count; i += 2, ++r) {
        if (kernel->reductions[r] == OGIVE_FIRST) {
            values[i] = row->values[i] - (double)begin;
        }
    }
}

/* A copy of fewer bytes than a call of memcpy pays for. */
static void copy_short(char *to, const char *from, size_t size) {
    for (; size >= 16; size -= 16, to += 16, from += 16) {
        memcpy(to, from, 16);
    }
    if (size & 8) {
        memcpy(to, from, 8);
        to += 8, from += 8;
    }
    if (size & 4) {
        memcpy(to, from, 4);
        to += 4, from += 4;
    }
    if (size & 2) {
        memcpy(to, from, 2);
        to += 2, from += 2;
    }
    if (size & 1) {
        *to = *from;
    }
}

/* The last elements of a row, fewer than a block, in a buffer of a whole one. */
static void run_incomplete_block(const row_state *row, int stage, npy_intp from, npy_intp count, void **pointers,
                                 const double *values) {
    const OgiveKernel *kernel = row->kernel;
    const int operands = kernel->inputs + kernel->outputs + kernel->scratches;
    _Alignas(64) char staging[OGIVE_STAGING_BYTES];
    char *cursor = staging;
    for (int k = 0; k < operands; ++k) {
        const size_t used = (size_t)(count * kernel->itemsizes[k]), all = (size_t)(kernel->block * kernel->itemsizes[k]);
        memset(cursor, 0, all);
        copy_short(cursor, row->operands[k] + from * kernel->itemsizes[k], used);
        pointers[k] = cursor;
        cursor += all;
    }
    kernel->functions[stage](pointers, kernel->block, values, 0);
    /* The last stage writes the outputs, the others what is kept; the two may be the same memory. */
    const int outputs_end = kernel->inputs + kernel->outputs, is_last = stage == kernel->stages - 1;
    for (int k = is_last ? kernel->inputs : outputs_end; k < (is_last ? outputs_end : operands); ++k) {
        copy_short(row->operands[k] + from * kernel->itemsizes[k], pointers[k], (size_t)(count * kernel->itemsizes[k]));
    }
}

/* Runs a stage on [begin, end) and, if it reduces, leaves its findings in `found`. The stages before it have
 * made `first` reductions. */
static void run_stage(const row_state *row, int stage, int first, npy_intp begin, npy_intp end, partial *found) {
    const OgiveKernel *kernel = row->kernel;
    const int operands = kernel->inputs + kernel->outputs + kernel->scratches;
    const int reductions = kernel->reductions_of[stage];
    const npy_intp whole_end = begin + (end - begin) / kernel->block * kernel->block;
    for (int r = 0; r < reductions; ++r) {
        found[r] = neutral(kernel->reductions[first + r]);
    }
    void *pointers[OGIVE_MAX_OPERANDS + 1];
    double values[MAX_VALUES];
    partial results[OGIVE_MAX_REDUCTIONS];
    pointers[operands] = results;
    for (int i = 0; i < row->value_count; ++i) {
        values[i] = row->values[i];
    }
    for (int part = 0; part < 2; ++part) { /* whole blocks where they lie, then the rest in a buffer */
        const npy_intp from = part == 0 ? begin : whole_end, to = part == 0 ? whole_end : end;
        if (from >= to) {
            continue;
        }
        shift_positions(kernel, values, row, from);
        values[row->value_count] = (double)(to - from); /* how many elements are valid */
        if (part == 0) {
            for (int k = 0; k < operands; ++k) {
                pointers[k] = row->operands[k] + from * kernel->itemsizes[k];
            }
            kernel->functions[stage](pointers, to - from, values, 0);
        } else {
            run_incomplete_block(row, stage, from, to - from, pointers, values);
        }
        for (int r = 0; r < reductions; ++r) {
            if (kernel->reductions[first + r] == OGIVE_FIRST) {
                results[r].high += (double)from;
            }
            found[r] = combined(kernel->reductions[first + r], found[r], results[r]);
        }
    }
}

/* ---- one row -------------------------------------------------------------------------------- */

typedef struct {
    const row_state *row;
    int stage;
    int first; /* reductions before this stage's */
    npy_intp count;
    partial *found; /* of every segment */
} segment_context;

static void run_segments(const segment_context *context, intptr_t begin, intptr_t end) {
    const int reductions = context->row->kernel->reductions_of[context->stage];
    for (intptr_t s = begin; s < end; ++s) {
        npy_intp last = (s + 1) * SEGMENT < context->count ? (s + 1) * SEGMENT : context->count;
        run_stage(context->row, context->stage, context->first, s * SEGMENT, last, context->found + s * reductions);
    }
}

static void run_shared_segments(void *opaque, intptr_t begin, intptr_t end) {
    ogive_fp_state saved = ogive_fp_enter();
    run_segments(opaque, begin, end);
    ogive_fp_leave(saved);
}

/* All stages of one row; with `threads` its segments are shared out. 0, or -1 if memory ran out. Combining is
 * arithmetic too: the caller has entered the floating-point environment. */
static int run_row(row_state *row, npy_intp count, int threads) {
    const OgiveKernel *kernel = row->kernel;
    const npy_intp segments = (count + SEGMENT - 1) / SEGMENT;
    partial few[8 * OGIVE_MAX_REDUCTIONS], *found = few;
    if (segments > 8 && (found = malloc(sizeof(partial) * (size_t)segments * OGIVE_MAX_REDUCTIONS)) == NULL) {
        return -1;
    }
    for (int stage = 0, kind = 0; stage < kernel->stages; ++stage) {
        const int reductions = kernel->reductions_of[stage];
        segment_context context = {row, stage, kind, count, found};
        if (threads && segments > 1) {
            ogive_pool_run(run_shared_segments, &context, segments, 1, 1);
        } else {
            run_segments(&context, 0, segments);
        }
        for (int r = 0; r < reductions; ++r, ++kind) {
            partial total = found[r];
            for (npy_intp s = 1; s < segments; ++s) {
                total = combined(kernel->reductions[kind], total, found[s * reductions + r]);
            }
            row->values[row->value_count++] = total.high;
            row->values[row->value_count++] = total.low;
        }
    }
    if (found != few) {
        free(found);
    }
    return 0;
}

/* All stages of some short rows, stage by stage: what one row waits for, another row computes. */
static void run_short_rows(row_state *rows, intptr_t row_count, npy_intp count) {
    const OgiveKernel *kernel = rows->kernel;
    for (int stage = 0, first = 0; stage < kernel->stages; ++stage) {
        for (intptr_t i = 0; i < row_count; ++i) {
            partial found[OGIVE_MAX_REDUCTIONS];
            run_stage(&rows[i], stage, first, 0, count, found);
            for (int r = 0; r < kernel->reductions_of[stage]; ++r) {
                rows[i].values[rows[i].value_count++] = found[r].high;
                rows[i].values[rows[i].value_count++] = found[r].low;
            }
        }
        first += kernel->reductions_of[stage];
    }
}

/* Rows that lie in `rows`, which are at most one if they are long. 0, or -1 if memory ran out. */
static int run_some_rows(row_state *rows, intptr_t row_count, npy_intp count, int threads) {
    if (count <= SEGMENT) {
        run_short_rows(rows, row_count, count);
        return 0;
    }
    for (intptr_t i = 0; i < row_count; ++i) {
        if (run_row(&rows[i], count, threads) < 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- all rows ------------------------------------------------------------------------------- */

typedef struct {
    const OgiveLoopData *loop;
    char **args;
    const npy_intp *steps; /* of the rows, then of the elements in a row */
    npy_intp count;
    _Atomic(int) failed;
} rows_context;

/* `scratch` is memory for the rows that the kernel keeps between stages. */
static void start_row(row_state *row, const OgiveLoopData *loop, char *scratch, npy_intp count) {
    const OgiveKernel *kernel = loop->kernel;
    row->kernel = kernel;
    row->value_count = row->first_value = loop->parameter_count;
    for (int i = 0; i < loop->parameter_count; ++i) {
        row->values[i] = loop->parameters[i];
    }
    for (int k = kernel->inputs + kernel->outputs; k < kernel->inputs + kernel->outputs + kernel->scratches; ++k) {
        row->operands[k] = scratch;
        scratch += count * kernel->itemsizes[k];
    }
}

static size_t scratch_bytes(const OgiveKernel *kernel, npy_intp count) {
    size_t bytes = 0;
    for (int k = kernel->inputs + kernel->outputs; k < kernel->inputs + kernel->outputs + kernel->scratches; ++k) {
        bytes += (size_t)count * (size_t)kernel->itemsizes[k];
    }
    return bytes;
}

/* A row that is written last may serve as the kernel's scratch row until then. */
static int output_serves_as_scratch(const OgiveKernel *kernel) {
    return kernel->scratches == 1 && kernel->itemsizes[kernel->inputs] == kernel->itemsizes[kernel->inputs + kernel->outputs];
}

static int is_contiguous(const OgiveKernel *kernel, const npy_intp *element_steps, npy_intp count) {
    for (int k = 0; k < kernel->inputs + kernel->outputs; ++k) {
        if (element_steps[k] != kernel->itemsizes[k] && count > 1) {
            return 0;
        }
    }
    return 1;
}

static void copy_item(char *to, const char *from, npy_intp size) {
    switch (size) {
        case 1: *to = *from; break;
        case 2: memcpy(to, from, 2); break;
        case 4: memcpy(to, from, 4); break;
        default: memcpy(to, from, 8); break;
    }
}

/* Rows [begin, end) through a buffer: several rows at a time, because where elements of a row lie apart,
 * neighbouring rows often lie together. */
static void run_gathered_rows(rows_context *context, intptr_t begin, intptr_t end) {
    const OgiveKernel *kernel = context->loop->kernel;
    const int operands = kernel->inputs + kernel->outputs;
    const npy_intp count = context->count, *row_steps = context->steps, *steps = context->steps + operands;
    size_t bytes = 0;
    for (int k = 0; k < operands; ++k) {
        bytes += (size_t)kernel->itemsizes[k];
    }
    intptr_t group = ROWS_AT_ONCE;
    while (group > 1 && (size_t)count * bytes * (size_t)group > LARGEST_SCRATCH) {
        group /= 2;
    }
    if (group > end - begin) {
        group = end - begin;
    }
    const size_t gathered = (size_t)count * bytes * (size_t)group;
    char *scratch = malloc(gathered + scratch_bytes(kernel, count));
    if (scratch == NULL) {
        atomic_store(&context->failed, 1);
        return;
    }
    for (intptr_t at = begin; at < end; at += group) {
        intptr_t rows = end - at < group ? end - at : group;
        char *buffers[OGIVE_MAX_OPERANDS], *cursor = scratch;
        for (int k = 0; k < operands; ++k) {
            npy_intp size = kernel->itemsizes[k];
            buffers[k] = cursor;
            cursor += (size_t)count * (size_t)size * (size_t)group;
            for (npy_intp j = 0; k < kernel->inputs && j < count; ++j) {
                for (intptr_t r = 0; r < rows; ++r) {
                    copy_item(buffers[k] + (r * count + j) * size,
                              context->args[k] + (at + r) * row_steps[k] + j * steps[k], size);
                }
            }
        }
        for (intptr_t r = 0; r < rows; ++r) {
            row_state row;
            start_row(&row, context->loop, scratch + gathered, count);
            for (int k = 0; k < operands; ++k) {
                row.operands[k] = buffers[k] + r * count * kernel->itemsizes[k];
            }
            if (run_some_rows(&row, 1, count, 0) < 0) {
                atomic_store(&context->failed, 1);
            }
        }
        for (int k = kernel->inputs; k < operands; ++k) {
            npy_intp size = kernel->itemsizes[k];
            for (npy_intp j = 0; j < count; ++j) {
                for (intptr_t r = 0; r < rows; ++r) {
                    copy_item(context->args[k] + (at + r) * row_steps[k] + j * steps[k],
                              buffers[k] + (r * count + j) * size, size);
                }
            }
        }
    }
    free(scratch);
}

static void run_contiguous_rows(rows_context *context, intptr_t begin, intptr_t end, int threads) {
    const OgiveKernel *kernel = context->loop->kernel;
    const npy_intp count = context->count;
    const int operands = kernel->inputs + kernel->outputs, shares = output_serves_as_scratch(kernel);
    const size_t of_one = shares ? 0 : scratch_bytes(kernel, count);
    /* As many rows together as the first-level cache holds. */
    intptr_t group = OGIVE_STAGING_BYTES / kernel->bytes / (count < OGIVE_STAGING_BYTES ? count : OGIVE_STAGING_BYTES);
    group = group < 1 ? 1 : group > ROWS_AT_ONCE ? ROWS_AT_ONCE : group;
    group = group > end - begin ? end - begin : group;
    char *scratch = NULL;
    if (of_one > 0 && (scratch = malloc(of_one * (size_t)group)) == NULL) {
        atomic_store(&context->failed, 1);
        return;
    }
    for (intptr_t at = begin; at < end; at += group) {
        const intptr_t rows = end - at < group ? end - at : group;
        row_state states[ROWS_AT_ONCE];
        for (intptr_t r = 0; r < rows; ++r) {
            row_state *row = &states[r];
            start_row(row, context->loop, of_one > 0 ? scratch + of_one * (size_t)r : NULL, count);
            for (int k = 0; k < operands; ++k) {
                row->operands[k] = context->args[k] + (at + r) * context->steps[k];
            }
            if (shares) {
                row->operands[operands] = row->operands[kernel->inputs];
            }
        }
        if (run_some_rows(states, rows, count, threads) < 0) {
            atomic_store(&context->failed, 1);
        }
    }
    free(scratch);
}

static void run_rows(void *opaque, intptr_t begin, intptr_t end) {
    rows_context *context = opaque;
    const OgiveKernel *kernel = context->loop->kernel;
    ogive_fp_state saved = ogive_fp_enter();
    if (is_contiguous(kernel, context->steps + kernel->inputs + kernel->outputs, context->count)) {
        run_contiguous_rows(context, begin, end, 0);
    } else {
        run_gathered_rows(context, begin, end);
    }
    ogive_fp_leave(saved);
}

/* ---- the loop ------------------------------------------------------------------------------- */

void ogive_row_loop(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data) {
    const OgiveLoopData *loop = data;
    const OgiveKernel *kernel = loop->kernel;
    const npy_intp rows = dimensions[0], count = dimensions[1];
    if (rows <= 0 || count <= 0) {
        return;
    }
    if (atomic_load(&kernel->function) == NULL && ogive_kernel_resolve(loop->kernel) == NULL) {
        return;
    }
    rows_context context = {loop, args, steps, count, 0};
    const int threads = ogive_pool_size();
    const npy_intp all = rows > NPY_MAX_INTP / count ? NPY_MAX_INTP : rows * count;
    const int contiguous = is_contiguous(kernel, steps + kernel->inputs + kernel->outputs, count);
    if (all < kernel->parallel_threshold || threads < 2) {
        run_rows(&context, 0, rows);
    } else if (rows < threads && contiguous) { /* few long rows: threads share their segments */
        ogive_fp_state saved = ogive_fp_enter();
        run_contiguous_rows(&context, 0, rows, 1);
        ogive_fp_leave(saved);
    } else {
        npy_intp grain = kernel->parallel_threshold / 2 / count;
        ogive_pool_run(run_rows, &context, rows, grain < 1 ? 1 : grain, 1);
    }
    if (atomic_load(&context.failed)) {
        PyGILState_STATE lock = PyGILState_Ensure();
        PyErr_NoMemory();
        PyGILState_Release(lock);
    }
}
