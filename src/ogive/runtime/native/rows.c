/* The loop of a row-wise operator (softmax and its kin), a gufunc of signature (n)->(n); of what has one number a row,
 * which an operand or a result may have, the signature is (1).
 *
 * backends/row_stages.h has what one row goes through. Here are many rows: threads, layouts, columns, repairs.
 */
#include "native.h"
#include "../../backends/floating_point.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif
#include <stdlib.h>

#define LARGEST_SCRATCH ((size_t)64 << 20)
/* Parameters, the length of the row, two numbers per reduction, what a stage computes of them, and room for the lanes of its reductions, which
 * wait there until all rows are through. */
#define RECORD_SIZE (OGIVE_MAX_PARAMETERS + 1 + 2 * OGIVE_MAX_REDUCTIONS + OGIVE_MAX_AHEAD + 2)
#define WITH_LANES (RECORD_SIZE + OGIVE_LANES_ASIDE * OGIVE_MAX_OF_A_STAGE)
#define ROWS_AT_ONCE OGIVE_ROWS_AT_ONCE

/* ---- the stages of rows --------------------------------------------------------------------- */

#define OGIVE_ROW_KERNEL OgiveKernel
#define OGIVE_IS_FOLLOWED(kernel) ((kernel)->later_count > 0)
#define OGIVE_MEMORY
#define OGIVE_ALIGNED _Alignas(64)
#define OGIVE_RECORDS WITH_LANES
#define OGIVE_UNUSED(operand, unused) (char *)&(unused)
#define OGIVE_RUN_STAGE(kernel, stage, operands, count, records, rows, steps, first) \
    ((ogive_row_function)(kernel)->functions[stage])((void *const *)(operands), count, &(records)[0][0], rows, steps, first)
#define OGIVE_RUN_SEGMENTS run_segments

struct ogive_row_group;
static int run_segments(const struct ogive_row_group *group, intptr_t row, int stage, int slot, int kind, intptr_t segments,
                        ogive_partial *found);

#include "../../backends/row_stages.h"

/* Records on the heap, in aligned memory that begins at `*memory`; NULL if there is none. They are larger than half of a
 * small thread's stack, and one frame has some already. */
static double (*new_records(char **memory))[ROWS_AT_ONCE] {
    *memory = malloc(sizeof(double) * WITH_LANES * ROWS_AT_ONCE + 63);
    return *memory == NULL ? NULL : (double(*)[ROWS_AT_ONCE])(((uintptr_t)*memory + 63) & ~(uintptr_t)63);
}

static OGIVE_APART int run_segments_on_stack(const ogive_row_group *group, intptr_t row, int stage, int slot, int kind,
                                             intptr_t begin, intptr_t end, ogive_partial *found) {
    _Alignas(64) double records[WITH_LANES][ROWS_AT_ONCE];
    return ogive_run_segments(group, row, stage, slot, kind, begin, end, found, records);
}

static int run_some_segments(const ogive_row_group *group, intptr_t row, int stage, int slot, int kind, intptr_t begin,
                             intptr_t end, ogive_partial *found) {
    char *memory;
    double (*records)[ROWS_AT_ONCE] = new_records(&memory);
    if (records == NULL) {
        return run_segments_on_stack(group, row, stage, slot, kind, begin, end, found);
    }
    const int undecided = ogive_run_segments(group, row, stage, slot, kind, begin, end, found, records);
    free(memory);
    return undecided;
}

/* The segments of a stage of a row. Threads share them where the group has room for what each of them finds. */
typedef struct {
    const ogive_row_group *group;
    intptr_t row;
    int stage, slot, kind;
    _Atomic(int) undecided;
} segment_context;

static void run_shared_segments(void *opaque, intptr_t begin, intptr_t end) {
    segment_context *context = opaque;
    const ogive_row_group *group = context->group;
    ogive_partial *found = group->caller;
    ogive_fp_state saved = ogive_fp_enter();
    for (intptr_t s = begin; s < end; ++s) {
        if (run_some_segments(group, context->row, context->stage, context->slot, context->kind, s, s + 1,
                              found + s * OGIVE_MAX_OF_A_STAGE)) {
            atomic_store_explicit(&context->undecided, 1, memory_order_relaxed);
        }
    }
    ogive_fp_leave(saved);
}

static int run_segments(const ogive_row_group *group, intptr_t row, int stage, int slot, int kind, intptr_t segments,
                        ogive_partial *found) {
    const ogive_partial *of_all = group->caller;
    if (of_all == NULL) {
        return run_some_segments(group, row, stage, slot, kind, 0, segments, found);
    }
    const int reductions = group->program->reductions_of[stage];
    segment_context context = {group, row, stage, slot, kind, 0};
    ogive_pool_run(run_shared_segments, &context, segments, 1, 1);
    memcpy(found, of_all, (size_t)reductions * sizeof *found);
    for (intptr_t s = 1; s < segments; ++s) {
        ogive_join(group->program->reductions + kind, reductions, found, of_all + s * OGIVE_MAX_OF_A_STAGE);
    }
    return atomic_load(&context.undecided);
}

/* The first `rows` rows of the group, but for what is undecided. 0, or -1 if memory ran out. Joining is arithmetic too: the
 * caller has entered the floating-point environment. */
static int run_stages(const ogive_row_group *group, intptr_t rows, int threads) {
    if (!threads || group->count <= OGIVE_SEGMENT) {
        ogive_run_stages(group, rows);
        return 0;
    }
    ogive_row_group shared = *group;
    const size_t segments = (size_t)((group->count + OGIVE_SEGMENT - 1) / OGIVE_SEGMENT);
    shared.caller = malloc(sizeof(ogive_partial) * segments * OGIVE_MAX_OF_A_STAGE);
    if (shared.caller == NULL) {
        return -1;
    }
    ogive_run_stages(&shared, rows);
    free(shared.caller);
    return 0;
}

/* ---- all rows ------------------------------------------------------------------------------- */

/* A row that the kernel keeps between stages begins where a line of the cache does. */
static npy_intp scratch_row(npy_intp count, npy_intp size) { return (count * size + 63) / 64 * 64; }

/* Where these rows lie: one after the other in `scratch`, but for the first `shared` of a row, which lie elsewhere. */
static void place_scratch(ogive_row_group *group, char *scratch, intptr_t rows, int shared) {
    const OgiveKernel *kernel = group->program;
    const int operands = kernel->inputs + kernel->outputs;
    scratch += (64 - (uintptr_t)scratch % 64) % 64;
    for (int k = operands + shared; k < operands + kernel->scratches; ++k) {
        group->operands[k] = scratch;
        group->steps[k] = scratch_row(group->count, kernel->itemsizes[k]);
        scratch += rows * group->steps[k];
    }
}

/* What a row takes of memory for that, which begins anywhere. */
static size_t scratch_bytes(const OgiveKernel *kernel, npy_intp count, int shared) {
    const int operands = kernel->inputs + kernel->outputs;
    size_t bytes = kernel->scratches > shared ? 63 : 0;
    for (int k = operands + shared; k < operands + kernel->scratches; ++k) {
        bytes += (size_t)scratch_row(count, kernel->itemsizes[k]);
    }
    return bytes;
}

/* Puts back the results of the level before, which lie one after the other in `before`, where the mask has an element open. */
static void put_back_open(char *const *buffers, const npy_intp *elements, const char *before, const char *mask,
                          const OgiveKernel *later) {
    for (int k = later->inputs; k < later->inputs + later->outputs - 1; ++k) {
        const size_t size = (size_t)later->itemsizes[k];
        for (npy_intp i = 0; i < elements[k]; ++i, before += size) {
            if (mask[i] != 0) {
                memcpy(buffers[k] + (size_t)i * size, before, size);
            }
        }
    }
}

/* Computes a row again, all of it, by a later kernel of the chain: a repair, with the mask of what it leaves open, or a retry. 1 if
 * the next kernel has to follow, 0 if not, -1 if memory ran out. `follows_retry`: the row has a retry's results, of which those that
 * the repair leaves open stay: where they are NaN or infinite is what enclosures go by, and a repair's bounds may overflow to NaN. */
static int compute_row_again(const ogive_row_group *group, ogive_call *call, intptr_t row, int threads, int follows_retry,
                             OgiveKernel *later, double (*records)[ROWS_AT_ONCE]) {
    if (ogive_repair_function(call, later) == NULL) {
        return 0; /* the call has the exception */
    }
    const int is_retry = ogive_is_retry(later, group->program);
    ogive_counts *counts = &call->kernel->counts;
    atomic_fetch_add_explicit(is_retry ? &counts->retried : &counts->repaired, group->count, memory_order_relaxed);
    const int operands = later->inputs + later->outputs, mask = is_retry ? operands : operands - 1;
    const npy_intp marks = is_retry ? 0 : later->of_row[mask] ? 1 : group->count;
    size_t kept = 0;
    for (int k = later->inputs; follows_retry && !is_retry && k < operands - 1; ++k) {
        kept += (size_t)(later->of_row[k] ? 1 : group->count) * (size_t)later->itemsizes[k];
    }
    char *memory = malloc((size_t)marks + kept + 1 + scratch_bytes(later, group->count, 0));
    if (memory == NULL) {
        return -1;
    }
    const int used = group->parameter_count + 1 + 2 * ogive_reductions_of(later) + OGIVE_MAX_AHEAD + 2;
    memset(records, 0, (size_t)used * sizeof *records);
    for (int i = 0; i <= group->parameter_count; ++i) {
        records[i][0] = group->records[i][row];
    }
    ogive_row_group one = {.program = later, .count = group->count, .parameter_count = group->parameter_count, .records = records};
    char *buffers[OGIVE_MAX_OPERANDS + 1];
    npy_intp elements[OGIVE_MAX_OPERANDS + 1];
    for (int k = 0; k < operands; ++k) {
        buffers[k] = one.operands[k] = k == mask ? memory : ogive_row_operand(group, row, k);
        elements[k] = later->of_row[k] ? 1 : group->count;
    }
    char *before = memory + marks;
    for (int k = later->inputs; kept > 0 && k < operands - 1; ++k) {
        const size_t bytes = (size_t)elements[k] * (size_t)later->itemsizes[k];
        memcpy(before, buffers[k], bytes);
        before += bytes;
    }
    place_scratch(&one, before, 1, 0);
    const int failed = run_stages(&one, 1, threads);
    if (failed == 0 && marks > 0 && memchr(memory, 1, (size_t)marks) != NULL) {
        if (kept > 0) {
            put_back_open(buffers, elements, memory + marks, memory, later);
        }
        ogive_decide(call, later, buffers, elements);
    }
    free(memory);
    return failed != 0 ? -1 : is_retry && later->later_count > 0 && records[ogive_mark_slot(&one)][0] != 0;
}

/* Computes a row again by one kernel of the chain after the other, until one decides it. 0, or -1 if memory ran out. */
static int repair_row(const ogive_row_group *group, ogive_call *call, intptr_t row, int threads) {
    char *memory;
    double (*records)[ROWS_AT_ONCE] = new_records(&memory);
    if (records == NULL) {
        return -1;
    }
    int found = 1;
    for (int i = 0; found == 1 && i < group->program->later_count; ++i) {
        found = compute_row_again(group, call, row, threads, i > 0, group->program->later[i], records);
    }
    free(memory);
    return found;
}

/* Compute the first `rows` rows of the group; with `is_undecided`, go straight to the repair. How many rows were undecided, or
 * -1 if memory ran out. */
static intptr_t run_group(const ogive_row_group *group, ogive_call *call, intptr_t rows, int threads, int is_undecided) {
    int failed = is_undecided ? 0 : run_stages(group, rows, threads);
    intptr_t undecided = 0;
    if (group->program->later_count > 0) {
        const int mark = ogive_mark_slot(group);
        for (intptr_t row = 0; row < rows && failed == 0; ++row) {
            if (is_undecided || group->records[mark][row] != 0) {
                failed = repair_row(group, call, row, threads);
                ++undecided;
            }
        }
    }
    return failed != 0 ? -1 : undecided;
}

typedef struct {
    const OgiveLoopData *loop;
    ogive_call *call;
    char **args;
    const npy_intp *steps; /* of the rows, then of the elements in a row */
    npy_intp count;
    int side_by_side; /* whether rows are columns whose kernel takes them as they lie */
    _Atomic(int) failed;
} rows_context;

/* The part of records before the first stage. */
static void begin_records(const rows_context *context, double (*records)[ROWS_AT_ONCE]) {
    const OgiveLoopData *loop = context->loop;
    for (int i = 0; i <= loop->parameter_count; ++i) {
        for (int r = 0; r < ROWS_AT_ONCE; ++r) {
            records[i][r] = i < loop->parameter_count ? loop->parameters[i] : (double)context->count;
        }
    }
}

/* Rows without operands as yet; their records have the parameters and the length. */
static ogive_row_group new_group(const rows_context *context, double (*records)[ROWS_AT_ONCE]) {
    const OgiveLoopData *loop = context->loop;
    const int used = loop->parameter_count + 1 + 2 * ogive_reductions_of(loop->kernel) + OGIVE_MAX_AHEAD + 2;
    memset(records, 0, (size_t)used * sizeof *records); /* short rows would feel the rest */
    begin_records(context, records);
    return (ogive_row_group){.program = loop->kernel,
                       .count = context->count,
                       .parameter_count = loop->parameter_count,
                       .records = records};
}

/* A row that is written last may serve as the kernel's scratch row until then. */
static int output_serves_as_scratch(const OgiveKernel *kernel) {
    return kernel->scratches > 0 && !kernel->of_row[kernel->inputs] && kernel->itemsizes[kernel->inputs] == kernel->itemsizes[kernel->inputs + kernel->outputs];
}

static int is_contiguous(const OgiveKernel *kernel, const npy_intp *element_steps, npy_intp count) {
    for (int k = 0; k < kernel->inputs + kernel->outputs; ++k) {
        if (!kernel->of_row[k] && element_steps[k] != kernel->itemsizes[k] && count > 1) {
            return 0;
        }
    }
    return 1;
}

/* Where items lie: from row to row, and in a row, in bytes. */
typedef struct {
    char *begin;
    npy_intp row, item;
} layout;

/* Items that lie apart are asked for before they are needed: no processor foresees steps of whole pages. */
#define AHEAD 24
#define LINES_AHEAD 8 /* of matrices, whose lines are longer */
#if defined(__GNUC__)
#define ASK_FOR(address) __builtin_prefetch(address)
#else
#define ASK_FOR(address) ((void)0)
#endif

/* Neighbouring rows often lie together where the elements of one lie apart: so item by item, of all rows. */
#define COPY(bytes)                                                                                                  \
    case bytes:                                                                                                      \
        for (npy_intp j = 0; j < count; ++j) {                                                                       \
            ASK_FOR(from.begin + (j + AHEAD < count ? j + AHEAD : j) * from.item);                                   \
            for (intptr_t r = 0; r < rows; ++r) {                                                                    \
                memcpy(to.begin + r * to.row + j * to.item, from.begin + r * from.row + j * from.item, bytes);       \
            }                                                                                                        \
        }                                                                                                            \
        break;

#if defined(__SSE2__)
/* Neighbouring elements of neighbouring rows: four of each at a time, or two of 8 bytes. */
static void turn(layout to, layout from, npy_intp size) {
    if (size == 4) {
        __m128 a = _mm_loadu_ps((const float *)from.begin), b = _mm_loadu_ps((const float *)(from.begin + from.item));
        __m128 c = _mm_loadu_ps((const float *)(from.begin + 2 * from.item));
        __m128 d = _mm_loadu_ps((const float *)(from.begin + 3 * from.item));
        _MM_TRANSPOSE4_PS(a, b, c, d);
        _mm_storeu_ps((float *)to.begin, a);
        _mm_storeu_ps((float *)(to.begin + to.row), b);
        _mm_storeu_ps((float *)(to.begin + 2 * to.row), c);
        _mm_storeu_ps((float *)(to.begin + 3 * to.row), d);
    } else {
        const __m128d a = _mm_loadu_pd((const double *)from.begin), b = _mm_loadu_pd((const double *)(from.begin + from.item));
        _mm_storeu_pd((double *)to.begin, _mm_unpacklo_pd(a, b));
        _mm_storeu_pd((double *)(to.begin + to.row), _mm_unpackhi_pd(a, b));
    }
}

/* The rows and elements that are whole tiles of that; 0 if the rows do not lie side by side. */
static npy_intp turn_rows(layout to, layout from, intptr_t rows, npy_intp count, npy_intp size) {
    const npy_intp tile = 16 / size;
    if (from.row != size || to.item != size || (size != 4 && size != 8) || rows % tile != 0) {
        return 0;
    }
    npy_intp j = 0;
    for (; j + tile <= count; j += tile) {
        for (npy_intp i = j + LINES_AHEAD; i < j + LINES_AHEAD + tile && i < count; ++i) {
            for (npy_intp line = 0; line < rows * size + 63; line += 64) {
                ASK_FOR(from.begin + i * from.item + (line < rows * size ? line : rows * size - 1));
            }
        }
        for (intptr_t r = 0; r < rows; r += tile) {
            layout here = to, there = from;
            here.begin += r * to.row + j * size;
            there.begin += r * size + j * from.item;
            turn(here, there, size);
        }
    }
    return j;
}
#else
static npy_intp turn_rows(layout to, layout from, intptr_t rows, npy_intp count, npy_intp size) {
    (void)to, (void)from, (void)rows, (void)count, (void)size;
    return 0;
}
#endif

static void copy_rows(layout to, layout from, intptr_t rows, npy_intp count, npy_intp size) {
    const npy_intp turned = turn_rows(to, from, rows, count, size);
    to.begin += turned * to.item;
    from.begin += turned * from.item;
    count -= turned;
    switch (size) {
        COPY(1)
        COPY(2)
        COPY(4)
        COPY(8)
        default: break;
    }
}

#undef COPY

/* From row to row in a buffer: whole lines of the cache and one more, so that not all rows' elements of one position
 * compete for the same few lines. */
static npy_intp buffered_row(npy_intp count, npy_intp size) { return (count * size + 63) / 64 * 64 + 64; }

typedef struct {
    layout to, from;
    npy_intp size;
} row_copy;

static void copy_part(void *opaque, intptr_t begin, intptr_t end) {
    const row_copy *copy = opaque;
    layout to = copy->to, from = copy->from;
    to.begin += begin * to.item;
    from.begin += begin * from.item;
    copy_rows(to, from, 1, end - begin, copy->size);
}

/* The same of one long row, whose parts threads share. */
static void copy_long_row(layout to, layout from, npy_intp count, npy_intp size) {
    row_copy copy = {to, from, size};
    ogive_pool_run(copy_part, &copy, count, OGIVE_SEGMENT, OGIVE_ELEMENTS_OF_LINES);
}

/* Rows [begin, end) through a buffer: several rows at a time, because where elements of a row lie apart,
 * neighbouring rows often lie together. With `threads` these share each row.
 * Rows that are known to be undecided are repaired at once. */
static void run_gathered_rows(rows_context *context, intptr_t begin, intptr_t end, int threads, int is_undecided) {
    const OgiveKernel *kernel = context->loop->kernel;
    const int operands = kernel->inputs + kernel->outputs;
    const npy_intp count = context->count, *row_steps = context->steps, *steps = context->steps + operands;
    size_t bytes = 0; /* of one row of every operand */
    for (int k = 0; k < operands; ++k) {
        bytes += kernel->of_row[k] ? 0 : (size_t)buffered_row(count, kernel->itemsizes[k]);
    }
    intptr_t group = threads ? 1 : ROWS_AT_ONCE;
    while (group > 1 && bytes * (size_t)group > LARGEST_SCRATCH) {
        group /= 2;
    }
    if (group > end - begin) {
        group = end - begin;
    }
    const size_t gathered = bytes * (size_t)group;
    char *scratch = malloc(gathered + scratch_bytes(kernel, count, 0) * (size_t)group);
    if (scratch == NULL) {
        atomic_store(&context->failed, 1);
        return;
    }
    _Alignas(64) double records[WITH_LANES][ROWS_AT_ONCE];
    ogive_row_group rows_of = new_group(context, records);
    place_scratch(&rows_of, scratch + gathered, group, 0);
    for (intptr_t at = begin; at < end; at += group) {
        intptr_t rows = end - at < group ? end - at : group;
        layout buffers[OGIVE_MAX_OPERANDS];
        char *cursor = scratch;
        for (int k = 0; k < operands; ++k) {
            npy_intp size = kernel->itemsizes[k];
            if (kernel->of_row[k]) { /* used as it lies */
                rows_of.operands[k] = context->args[k] + at * row_steps[k];
                rows_of.steps[k] = row_steps[k];
                continue;
            }
            buffers[k] = (layout){cursor, buffered_row(count, size), size};
            cursor += buffers[k].row * group;
            if (k < kernel->inputs) {
                const layout given = {context->args[k] + at * row_steps[k], row_steps[k], steps[k]};
                if (threads) {
                    copy_long_row(buffers[k], given, count, size);
                } else {
                    copy_rows(buffers[k], given, rows, count, size);
                }
            }
        }
        for (int k = 0; k < operands; ++k) {
            if (!kernel->of_row[k]) {
                rows_of.operands[k] = buffers[k].begin;
                rows_of.steps[k] = buffers[k].row;
            }
        }
        if (run_group(&rows_of, context->call, rows, threads, is_undecided) < 0) {
            atomic_store(&context->failed, 1);
        }
        for (int k = kernel->inputs; k < operands; ++k) {
            if (!kernel->of_row[k]) {
                const layout given = {context->args[k] + at * row_steps[k], row_steps[k], steps[k]};
                if (threads) {
                    copy_long_row(given, buffers[k], count, kernel->itemsizes[k]);
                } else {
                    copy_rows(given, buffers[k], rows, count, kernel->itemsizes[k]);
                }
            }
        }
    }
    free(scratch);
}

/* Whether rows may be computed by the retry of a kernel at once, not by the kernel first. */
static int may_retry_at_once(ogive_call *call, const OgiveKernel *kernel) {
    OgiveKernel *retry = kernel->later[0];
    return retry != NULL && ogive_is_retry(retry, kernel) && ogive_repair_function(call, retry) != NULL;
}

/* The same rows of the retry of a kernel, which counts them. */
static OgiveLoopData loop_of_retry(const OgiveLoopData *loop, npy_intp elements) {
    OgiveLoopData found = *loop;
    found.kernel = loop->kernel->later[0];
    atomic_fetch_add_explicit(&loop->kernel->counts.retried, elements, memory_order_relaxed);
    return found;
}

/* After so many undecided rows, groups that follow are retried at once. */
#define SIGN_OF_MORE 4
#define GROUPS_RETRIED_AT_ONCE 15
/* Bounds of what is added up are of as many elements (lowering/float_float_results.py). */
#define LONGEST_ROW_TO_TRY (1 << 20)
/* One of more products of kept float32 numbers is often undecided, and with it the row. */
#define LONGEST_ROW_OF_SHARES 8192
#define SHORTEST_ROW_TO_REDUCE 64 /* fewer elements take less time than the row's own numbers */

/* Loads wait for stores before them that lie at the same place of another page. So scratch rows lie where the operand lies, and
 * what is stored is never what is read next. */
#define PAGE ((size_t)4096)

/* Rows are taken together that fit a cache: the numbers that a row has one of are computed of 16 rows at a time, whether they are
 * there or not. Where rows have a rounding test, that takes longer than to read them from the second level again. */
#define BYTES_OF_TESTED_ROWS ((npy_intp)128 << 10)

/* A thread's share has four pieces or more. Shares differ by an eighth of all rows at most. */
#define PIECES_OF_ROWS 4
#define UNEVEN 8

static intptr_t rows_together(const OgiveKernel *kernel, npy_intp count) {
    const int is_long_work = kernel->later_count > 0 && !kernel->has_repeats;
    const npy_intp bytes = is_long_work ? BYTES_OF_TESTED_ROWS : OGIVE_STAGING_BYTES;
    const npy_intp length = count < 1 ? 1 : count < bytes ? count : bytes, rows = bytes / kernel->bytes / length;
    return rows < 1 ? 1 : rows > ROWS_AT_ONCE ? ROWS_AT_ONCE : rows;
}

/* How many rows a piece of a shared call has at least: many enough to be taken together, of shares that are alike. */
static npy_intp rows_of_a_piece(const OgiveKernel *kernel, npy_intp count, npy_intp rows, int threads) {
    npy_intp found = rows_together(kernel, count), most = rows / (PIECES_OF_ROWS * threads);
    for (found = found < most ? found : most; found > 1; --found) {
        const npy_intp units = (rows + found - 1) / found, share = (units + threads - 1) / threads * found;
        if ((share * threads - rows) * UNEVEN <= rows) {
            break;
        }
    }
    return found < 1 ? 1 : found;
}

static void run_contiguous_rows(rows_context *context, intptr_t begin, intptr_t end, int threads) {
    const OgiveKernel *kernel = context->loop->kernel;
    const npy_intp count = context->count;
    const int operands = kernel->inputs + kernel->outputs, shares = output_serves_as_scratch(kernel);
    const size_t of_one = scratch_bytes(kernel, count, shares);
    const intptr_t together = rows_together(kernel, count), group = together > end - begin ? end - begin : together;
    char *scratch = NULL;
    if (of_one > 0 && (scratch = malloc(of_one * (size_t)group + PAGE)) == NULL) {
        atomic_store(&context->failed, 1);
        return;
    }
    _Alignas(64) double records[WITH_LANES][ROWS_AT_ONCE];
    ogive_row_group rows_of = new_group(context, records);
    for (int k = 0; k < operands; ++k) {
        rows_of.steps[k] = context->steps[k];
    }
    intptr_t undecided_before = 0;
    size_t placed = PAGE; /* nowhere as yet */
    for (intptr_t at = begin; at < end; at += group) {
        const intptr_t rows = end - at < group ? end - at : group;
        for (int k = 0; k < operands; ++k) {
            rows_of.operands[k] = context->args[k] + at * context->steps[k];
        }
        const size_t place = ((uintptr_t)rows_of.operands[0] / 64 * 64 - (uintptr_t)scratch) % PAGE;
        if (of_one > 0 && place != placed) {
            place_scratch(&rows_of, scratch + place, group, shares);
            placed = place;
        }
        if (shares) {
            rows_of.operands[operands] = rows_of.operands[kernel->inputs];
            rows_of.steps[operands] = rows_of.steps[kernel->inputs];
        }
        const intptr_t undecided = run_group(&rows_of, context->call, rows, threads, 0);
        if (undecided < 0) {
            atomic_store(&context->failed, 1);
        }
        undecided_before = undecided == rows ? undecided_before + rows : 0;
        if (undecided_before >= SIGN_OF_MORE && may_retry_at_once(context->call, kernel)) {
            const intptr_t first = at + rows, left = end - first, most = GROUPS_RETRIED_AT_ONCE * group;
            const intptr_t some = left < most ? left : most;
            const OgiveLoopData loop = loop_of_retry(context->loop, some * count);
            rows_context of_retry = {&loop, context->call, context->args, context->steps, count, 0, 0};
            run_contiguous_rows(&of_retry, first, first + some, threads);
            atomic_fetch_or(&context->failed, atomic_load(&of_retry.failed));
            at += some;
        }
    }
    free(scratch);
}

/* The bytes from an operand's first element to its end, where its rows follow each other upwards. */
static npy_intp extent(const rows_context *context, int operand, intptr_t rows) {
    const OgiveKernel *kernel = context->loop->kernel;
    const npy_intp of_row = (kernel->of_row[operand] ? 1 : context->count) * kernel->itemsizes[operand];
    const npy_intp step = context->steps[operand];
    return of_row + (step > 0 ? step * (rows - 1) : 0);
}

/* Whether results that may have to be repaired lie over inputs. */
static int is_in_place(const rows_context *context, intptr_t rows) {
    const OgiveKernel *kernel = context->loop->kernel;
    for (int k = kernel->inputs; kernel->later_count > 0 && k < kernel->inputs + kernel->outputs; ++k) {
        for (int i = 0; i < kernel->inputs; ++i) {
            const char *a = context->args[k], *b = context->args[i];
            if (a == b || (a < b + extent(context, i, rows) && b < a + extent(context, k, rows))) {
                return 1;
            }
        }
    }
    return 0;
}

/* ---- columns -------------------------------------------------------------------------------- */

/* Rows whose elements lie apart, each beside its neighbour's, are the columns of a matrix. What reduces them takes parts
 * of many columns at a time, so that memory is read along the matrix' lines. Parts are segments; where the order decides
 * no bit, they are short enough for the caches. */
#define COLUMNS_AT_ONCE 64
#define BYTES_OF_COLUMNS ((npy_intp)128 << 10)
#define BYTES_OF_LONG_COLUMNS ((npy_intp)1 << 20) /* where whole segments are taken */

/* Whether results are the same whatever the segments: sums and products of the fast contract have one order, and no test. */
static int takes_any_segments(const OgiveKernel *kernel) {
    const int reductions = ogive_reductions_of(kernel);
    for (int r = 0; r < reductions && kernel->later_count == 0; ++r) {
        if (kernel->reductions[r] == OGIVE_SUM || kernel->reductions[r] == OGIVE_PRODUCT) {
            return 0;
        }
    }
    return 1;
}

/* Whether a kernel makes nothing but one number a row, which is also all that is tested. */
static int makes_numbers_of_rows(const OgiveKernel *kernel) {
    const OgiveKernel *next = kernel->later[0];
    const int tests_rows =
        next == NULL || (!ogive_is_retry(next, kernel) && next->of_row[next->inputs + next->outputs - 1]);
    return kernel->scratches == 0 && !kernel->has_repeats && !ogive_has_results_of_elements(kernel) && tests_rows;
}

static int has_columns(const rows_context *context, intptr_t rows) {
    const OgiveKernel *kernel = context->loop->kernel;
    const npy_intp *steps = context->steps + kernel->inputs + kernel->outputs;
    int apart = 0;
    for (int k = 0; k < kernel->inputs; ++k) {
        const npy_intp row = context->steps[k], item = steps[k];
        if (!kernel->of_row[k] && (row < 0 ? -row : row) >= (item < 0 ? -item : item)) {
            return 0;
        }
        apart += !kernel->of_row[k];
    }
    return apart > 0 && rows > 1 && context->count > 1 && makes_numbers_of_rows(kernel);
}

typedef struct {
    ogive_row_group groups[COLUMNS_AT_ONCE / ROWS_AT_ONCE];
    layout buffers[OGIVE_MAX_OPERANDS];
    ogive_partial found[COLUMNS_AT_ONCE][2 * OGIVE_MAX_REDUCTIONS]; /* so far, and of the latest part */
    npy_intp part;                                             /* elements of a column that are taken at a time */
} column_block;

/* One stage of columns [at, at + columns): of all their parts, one after the other. */
static void run_stage_of_columns(const rows_context *context, column_block *block, int stage, int kind, intptr_t at,
                                 intptr_t columns) {
    const OgiveKernel *kernel = context->loop->kernel;
    const int reductions = kernel->reductions_of[stage], slot = context->loop->parameter_count + 1 + 2 * kind;
    const npy_intp *element_steps = context->steps + kernel->inputs + kernel->outputs;
    const npy_intp end = reductions > 0 ? context->count : 1;
    const int has_parts = reductions > 0 && end > block->part; /* else the records have what was found already */
    for (npy_intp first = 0; first < end; first += block->part) {
        const npy_intp count = end - first < block->part ? end - first : block->part;
        for (int k = 0; k < kernel->inputs && reductions > 0; ++k) {
            if (!kernel->of_row[k]) {
                const npy_intp row = context->steps[k], item = element_steps[k];
                const layout given = {context->args[k] + at * row + first * item, row, item};
                copy_rows(block->buffers[k], given, columns, count, kernel->itemsizes[k]);
            }
        }
        for (intptr_t begin = 0; begin < columns; begin += ROWS_AT_ONCE) {
            const ogive_row_group *group = &block->groups[begin / ROWS_AT_ONCE];
            const intptr_t rows = columns - begin < ROWS_AT_ONCE ? columns - begin : ROWS_AT_ONCE;
            OGIVE_RUN_STAGE(kernel, stage, group->operands, count, group->records, rows, group->steps, first);
            for (intptr_t row = 0; row < rows && has_parts; ++row) {
                ogive_partial *found = block->found[begin + row], *latest = first == 0 ? found : found + reductions;
                for (int r = 0; r < reductions; ++r) {
                    latest[r] = ogive_pair(group->records[slot + 2 * r][row], group->records[slot + 2 * r + 1][row]);
                }
                if (first > 0) {
                    ogive_join(kernel->reductions + kind, reductions, found, latest);
                }
            }
        }
    }
    for (intptr_t column = 0; column < columns && has_parts; ++column) {
        const ogive_row_group *group = &block->groups[column / ROWS_AT_ONCE];
        for (int r = 0; r < reductions; ++r) {
            group->records[slot + 2 * r][column % ROWS_AT_ONCE] = block->found[column][r].high;
            group->records[slot + 2 * r + 1][column % ROWS_AT_ONCE] = block->found[column][r].low;
        }
    }
}

static void run_columns(rows_context *context, intptr_t begin, intptr_t end) {
    const OgiveKernel *kernel = context->loop->kernel;
    const int operands = kernel->inputs + kernel->outputs;
    npy_intp bytes = 0; /* of one element of every operand that is gathered */
    for (int k = 0; k < kernel->inputs; ++k) {
        bytes += kernel->of_row[k] ? 0 : kernel->itemsizes[k];
    }
    intptr_t most = end - begin < COLUMNS_AT_ONCE ? end - begin : COLUMNS_AT_ONCE;
    npy_intp part = OGIVE_SEGMENT;
    if (takes_any_segments(kernel)) {
        part = BYTES_OF_COLUMNS / (bytes * most) / OGIVE_ELEMENTS_OF_LINES * OGIVE_ELEMENTS_OF_LINES;
        part = part < OGIVE_ELEMENTS_OF_LINES ? OGIVE_ELEMENTS_OF_LINES : part < OGIVE_SEGMENT ? part : OGIVE_SEGMENT;
    } else {
        part = context->count < OGIVE_SEGMENT ? context->count : OGIVE_SEGMENT;
        while (most > ROWS_AT_ONCE && most * part * bytes > BYTES_OF_LONG_COLUMNS) {
            most /= 2;
        }
    }
    size_t gathered = 0;
    for (int k = 0; k < kernel->inputs; ++k) {
        gathered += kernel->of_row[k] ? 0 : (size_t)(buffered_row(part, kernel->itemsizes[k]) * most);
    }
    const size_t groups = (size_t)(most + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
    const size_t of_records = WITH_LANES * ROWS_AT_ONCE * sizeof(double);
    column_block *block = malloc(sizeof *block);
    char *scratch = malloc(groups * of_records + gathered + 64);
    if (block == NULL || scratch == NULL) {
        free(block);
        free(scratch);
        atomic_store(&context->failed, 1);
        return;
    }
    block->part = part;
    char *cursor = scratch + (64 - (uintptr_t)scratch % 64) % 64;
    for (size_t g = 0; g < groups; ++g, cursor += of_records) {
        block->groups[g] = new_group(context, (double(*)[ROWS_AT_ONCE])cursor);
    }
    for (int k = 0; k < kernel->inputs; ++k) {
        const npy_intp size = kernel->itemsizes[k];
        if (!kernel->of_row[k]) {
            block->buffers[k] = (layout){cursor, buffered_row(part, size), size};
            cursor += block->buffers[k].row * most;
        }
    }
    for (intptr_t at = begin; at < end; at += most) {
        const intptr_t columns = end - at < most ? end - at : most;
        for (size_t g = 0; g < groups; ++g) {
            ogive_row_group *group = &block->groups[g];
            const intptr_t row = (intptr_t)g * ROWS_AT_ONCE;
            for (int k = 0; k < operands; ++k) {
                group->steps[k] = kernel->of_row[k] ? context->steps[k] : block->buffers[k].row;
                group->operands[k] = kernel->of_row[k] ? context->args[k] + (at + row) * context->steps[k]
                                                       : block->buffers[k].begin + row * block->buffers[k].row;
            }
        }
        for (int stage = 0, kind = 0; stage < kernel->stages; kind += kernel->reductions_of[stage++]) {
            run_stage_of_columns(context, block, stage, kind, at, columns);
        }
        const int mark = ogive_mark_slot(&block->groups[0]);
        for (intptr_t c = 0; c < columns && kernel->later_count > 0; ++c) {
            if (block->groups[c / ROWS_AT_ONCE].records[mark][c % ROWS_AT_ONCE] != 0) {
                run_gathered_rows(context, at + c, at + c + 1, 0, 1);
            }
        }
    }
    free(block);
    free(scratch);
}

/* ---- columns whose kernel takes them as they lie ------------------------------------------------ */

#define GROUPS_AT_ONCE 64 /* of 16 columns each */
/* Columns that several stages read are copied: else caches hold few lines of those that are pages apart. */
#define GROUPS_COPIED_AT_ONCE 8
#define BYTES_BETWEEN_STAGES ((npy_intp)1 << 19)
#define MOST_COPIED ((npy_intp)1 << 22) /* bytes of 16 columns */
/* A divisor of OGIVE_ELEMENTS_TOGETHER. Where lines are pages apart, the first-level cache holds no more of one place. Each call
 * computes the numbers that a row has one of, so it takes more elements that are copied. */
#define ELEMENTS_OF_A_CALL 8
#define MOST_ELEMENTS_OF_A_CALL 32

/* Whether an operand's memory may be that of another one. */
static int has_overlap(const rows_context *context, intptr_t rows) {
    const OgiveKernel *kernel = context->loop->kernel;
    const npy_intp *steps = context->steps + kernel->inputs + kernel->outputs;
    char *begins[OGIVE_MAX_OPERANDS], *ends[OGIVE_MAX_OPERANDS];
    for (int k = 0; k < kernel->inputs + kernel->outputs; ++k) {
        const npy_intp along = kernel->of_row[k] ? 0 : steps[k] * (context->count - 1), across = context->steps[k] * (rows - 1);
        begins[k] = context->args[k] + (along < 0 ? along : 0) + (across < 0 ? across : 0);
        ends[k] = context->args[k] + (along > 0 ? along : 0) + (across > 0 ? across : 0) + kernel->itemsizes[k];
    }
    for (int k = kernel->inputs; k < kernel->inputs + kernel->outputs; ++k) {
        for (int i = 0; i < k; ++i) {
            if (begins[k] < ends[i] && begins[i] < ends[k]) {
                return 1;
            }
        }
    }
    return 0;
}

/* Whether all rows read the same elements. They are repeated for 16 rows, which all rows then use. */
static int is_shared(const rows_context *context, int k) {
    return k < context->loop->kernel->inputs && context->steps[k] == 0;
}

static size_t bytes_of_shared_one(const rows_context *context, int k) {
    const OgiveKernel *kernel = context->loop->kernel;
    return is_shared(context, k) ? (size_t)(kernel->of_row[k] ? 1 : context->count) * ROWS_AT_ONCE * kernel->itemsizes[k] : 0;
}

static size_t bytes_of_shared(const rows_context *context) {
    size_t bytes = 0;
    for (int k = 0; k < context->loop->kernel->inputs; ++k) {
        bytes += (bytes_of_shared_one(context, k) + 63) / 64 * 64;
    }
    return bytes;
}

/* Each element of a shared operand, once for each of 16 rows. */
static void repeat_shared(const rows_context *context, int k, char *target) {
    const OgiveKernel *kernel = context->loop->kernel;
    const size_t size = (size_t)kernel->itemsizes[k];
    const npy_intp step = context->steps[kernel->inputs + kernel->outputs + k];
    for (npy_intp i = 0; i < (kernel->of_row[k] ? 1 : context->count); ++i, target += ROWS_AT_ONCE * size) {
        memcpy(target, context->args[k] + i * step, size);
        for (size_t done = 1; done < ROWS_AT_ONCE; done *= 2) {
            memcpy(target + done * size, target, done * size);
        }
    }
}

/* Whether rows lie side by side, for the code that takes them so. */
static int has_side_by_side(const rows_context *context, intptr_t rows) {
    const OgiveKernel *kernel = context->loop->kernel;
    if (kernel->columns == NULL || rows < ROWS_AT_ONCE || context->count < 1 ||
        scratch_bytes(kernel, context->count, 0) > LARGEST_SCRATCH / ROWS_AT_ONCE) {
        return 0;
    }
    for (int k = 0; k < kernel->inputs + kernel->outputs; ++k) {
        if (context->steps[k] != kernel->itemsizes[k] && !is_shared(context, k)) {
            return 0;
        }
    }
    return bytes_of_shared(context) <= (size_t)LARGEST_SCRATCH && !has_overlap(context, rows);
}

/* Some columns side by side, a multiple of 16, and what their kernel has found of them. */
typedef struct {
    intptr_t at, columns;
    char *operands[OGIVE_MAX_OPERANDS];
    char *shared[OGIVE_MAX_OPERANDS]; /* the repeated elements, of operands that all columns share; else NULL */
    char *copied[OGIVE_MAX_OPERANDS]; /* where the elements of these columns lie together; NULL where they are used as they lie */
    npy_intp of_a_call; /* elements that a call takes */
    intptr_t steps[OGIVE_MAX_OPERANDS + 1]; /* from element to element; then between the records of 16 columns each */
    double (*records)[ROWS_AT_ONCE];
    ogive_partial (*found)[2 * OGIVE_MAX_REDUCTIONS]; /* of each column, where it is long: so far, and of the latest elements */
} strip;

static size_t record_size_of_columns(const OgiveLoopData *loop) {
    const OgiveKernel *kernel = loop->kernel;
    int most = 1; /* the last stage counts what is undecided */
    for (int s = 0; s < kernel->stages; ++s) {
        most = kernel->reductions_of[s] > most ? kernel->reductions_of[s] : most;
    }
    return (size_t)(loop->parameter_count + 1 + 2 * ogive_reductions_of(kernel) + OGIVE_MAX_AHEAD + 2 + OGIVE_PARTS_ASIDE * most);
}

/* The records of 16 columns from this one on. */
static double (*records_from(const strip *columns, intptr_t first))[ROWS_AT_ONCE] {
    return (double(*)[ROWS_AT_ONCE])((char *)columns->records + first / ROWS_AT_ONCE * columns->steps[OGIVE_MAX_OPERANDS]);
}

/* The findings of a stage about elements that are reduced together join those of before. */
static void join_columns(const OgiveKernel *kernel, const strip *columns, int reductions, int kind, int slot, int is_first,
                         int is_last) {
    for (intptr_t c = 0; c < columns->columns; ++c) {
        ogive_partial *found = columns->found[c], *latest = is_first ? found : found + reductions;
        double(*records)[ROWS_AT_ONCE] = records_from(columns, c) + slot;
        const intptr_t lane = c % ROWS_AT_ONCE;
        for (int r = 0; r < reductions; ++r) {
            latest[r] = ogive_pair(records[2 * r][lane], records[2 * r + 1][lane]);
        }
        if (!is_first) {
            ogive_join(kernel->reductions + kind, reductions, found, latest);
        }
        for (int r = 0; r < reductions && is_last; ++r) {
            records[2 * r][lane] = found[r].high;
            records[2 * r + 1][lane] = found[r].low;
        }
    }
}

/* One stage, a few elements of all columns at a time: so memory is read along its lines. */
static void run_stage_side_by_side(const rows_context *context, const strip *columns, int stage, int kind) {
    const OgiveKernel *kernel = context->loop->kernel;
    const ogive_row_function function = (ogive_row_function)kernel->columns->functions[stage];
    const int reductions = kernel->reductions_of[stage], slot = context->loop->parameter_count + 1 + 2 * kind;
    const int operands = kernel->inputs + kernel->outputs + kernel->scratches;
    const npy_intp end = reductions > 0 || !makes_numbers_of_rows(kernel) ? context->count : 1;
    intptr_t steps[2 * OGIVE_MAX_OPERANDS + 1];
    memcpy(steps, columns->steps, (size_t)operands * sizeof *steps);
    steps[operands] = columns->steps[OGIVE_MAX_OPERANDS];
    for (int k = 0; k < operands; ++k) {
        steps[operands + 1 + k] = columns->shared[k] != NULL ? 0 : kernel->itemsizes[k];
    }
    for (npy_intp first = 0; first < end; first += columns->of_a_call) {
        const npy_intp next = end - first < columns->of_a_call ? end : first + columns->of_a_call;
        void *pointers[OGIVE_MAX_OPERANDS];
        for (int k = 0; k < operands; ++k) {
            pointers[k] = columns->operands[k] + (kernel->of_row[k] ? 0 : first * steps[k]);
        }
        const int is_last = next % OGIVE_ELEMENTS_TOGETHER == 0 || next == end;
        function(pointers, next - first, &columns->records[0][0], columns->columns, steps, 2 * first + is_last);
        if (reductions > 0 && end > OGIVE_ELEMENTS_TOGETHER && is_last) {
            join_columns(kernel, columns, reductions, kind, slot, next <= OGIVE_ELEMENTS_TOGETHER, next == end);
        }
    }
}

/* Whether the largest or smallest element of one of 16 columns is a zero: of zeros of both signs the order says which. */
static int has_zero_extreme(const rows_context *context, double (*records)[ROWS_AT_ONCE]) {
    const OgiveKernel *kernel = context->loop->kernel;
    const int reductions = ogive_reductions_of(kernel), slot = context->loop->parameter_count + 1;
    int found = 0;
    for (int r = 0; r < reductions; ++r) {
        for (int c = 0; c < ROWS_AT_ONCE && kernel->reductions[r] <= OGIVE_MINIMUM; ++c) {
            found |= records[slot + 2 * r][c] == 0;
        }
    }
    return found;
}

/* A line of some columns, 64 bytes at a time; the same is soon copied from or to `ahead`. */
static void copy_line(char *to, const char *from, const char *ahead, size_t bytes) {
    size_t at = 0;
    for (; at + 64 <= bytes; at += 64) {
        ASK_FOR(ahead + at);
        memcpy(to + at, from + at, 64);
    }
    for (; at < bytes; at += ROWS_AT_ONCE) {
        memcpy(to + at, from + at, ROWS_AT_ONCE);
    }
}

/* The elements of operands [first, last) of some columns: to where they lie together, or back. */
static void copy_columns(const rows_context *context, const strip *columns, int first, int last, int back) {
    const OgiveKernel *kernel = context->loop->kernel;
    for (int k = first; k < last; ++k) {
        const npy_intp step = context->steps[kernel->inputs + kernel->outputs + k];
        const size_t bytes = (size_t)(columns->columns * kernel->itemsizes[k]);
        char *copy = columns->copied[k], *given = context->args[k] + columns->at * context->steps[k];
        for (npy_intp i = 0; copy != NULL && i < context->count; ++i, copy += columns->steps[k], given += step) {
            copy_line(back ? given : copy, back ? copy : given, given + LINES_AHEAD * step, bytes);
        }
    }
}

/* All stages of some columns, and again what is left open. */
static void run_strip(rows_context *context, strip *columns, intptr_t at, intptr_t count) {
    const OgiveKernel *kernel = context->loop->kernel;
    const int operands = kernel->inputs + kernel->outputs;
    const int mark = context->loop->parameter_count + 1 + 2 * ogive_reductions_of(kernel) + OGIVE_MAX_AHEAD;
    char *args[OGIVE_MAX_OPERANDS]; /* of these columns: where they are copied, or where they lie */
    npy_intp steps[2 * OGIVE_MAX_OPERANDS];
    columns->at = at;
    columns->columns = count;
    memcpy(steps, context->steps, (size_t)operands * 2 * sizeof *steps);
    for (int k = 0; k < operands; ++k) {
        args[k] = columns->copied[k] != NULL ? columns->copied[k] : context->args[k] + at * steps[k];
        steps[operands + k] = columns->copied[k] != NULL ? columns->steps[k] : steps[operands + k];
        columns->operands[k] = columns->shared[k] != NULL ? columns->shared[k] : args[k];
    }
    rows_context own = {context->loop, context->call, args, steps, context->count, 0, 0};
    copy_columns(context, columns, 0, kernel->inputs, 0);
    if (output_serves_as_scratch(kernel)) {
        columns->operands[operands] = columns->operands[kernel->inputs];
    }
    for (int stage = 0, kind = 0; stage < kernel->stages; kind += kernel->reductions_of[stage++]) {
        run_stage_side_by_side(context, columns, stage, kind);
    }
    for (intptr_t first = 0; first < count; first += ROWS_AT_ONCE) {
        double(*records)[ROWS_AT_ONCE] = records_from(columns, first);
        if (has_zero_extreme(context, records)) {
            run_gathered_rows(&own, first, first + ROWS_AT_ONCE, 0, 0);
            continue;
        }
        for (intptr_t c = 0; c < ROWS_AT_ONCE && kernel->later_count > 0; ++c) {
            if (records[mark][c] != 0) {
                run_gathered_rows(&own, first + c, first + c + 1, 0, 1);
            }
        }
    }
    copy_columns(context, columns, kernel->inputs, operands, 1);
    atomic_fetch_or(&context->failed, atomic_load(&own.failed));
}

/* How many elements a call takes where columns are used as they lie: fewer, the nearer lines of the same place in a page are. */
static npy_intp elements_as_they_lie(const rows_context *context) {
    const OgiveKernel *kernel = context->loop->kernel;
    npy_intp found = MOST_ELEMENTS_OF_A_CALL;
    for (int k = 0; k < kernel->inputs + kernel->outputs; ++k) {
        const npy_intp step = context->steps[kernel->inputs + kernel->outputs + k];
        while (!kernel->of_row[k] && !is_shared(context, k) && found > ELEMENTS_OF_A_CALL &&
               step % ((npy_intp)PAGE * ELEMENTS_OF_A_CALL / found * 2) == 0) {
            found /= 2;
        }
    }
    return found;
}

static void run_side_by_side(rows_context *context, intptr_t begin, intptr_t end) {
    const OgiveKernel *kernel = context->loop->kernel;
    const int operands = kernel->inputs + kernel->outputs, shares = output_serves_as_scratch(kernel);
    npy_intp bytes = 0; /* of one element of every operand that has them */
    for (int k = 0; k < operands; ++k) {
        bytes += kernel->of_row[k] ? 0 : kernel->itemsizes[k];
    }
    const int has_passes = kernel->stages > 2 || !makes_numbers_of_rows(kernel);
    const int has_copies = has_passes && bytes * ROWS_AT_ONCE <= MOST_COPIED / context->count;
    const intptr_t groups = (end - begin) / ROWS_AT_ONCE; /* then perhaps columns that one of them has already */
    intptr_t most = has_passes ? BYTES_BETWEEN_STAGES / (bytes * ROWS_AT_ONCE) / context->count : GROUPS_AT_ONCE;
    const intptr_t at_once = has_copies ? GROUPS_COPIED_AT_ONCE : GROUPS_AT_ONCE;
    most = most < 1 ? 1 : most > at_once ? at_once : most;
    most = (most > groups ? groups : most) * ROWS_AT_ONCE;
    const size_t of_records = record_size_of_columns(context->loop) * ROWS_AT_ONCE * sizeof(double);
    const size_t of_found = context->count > OGIVE_ELEMENTS_TOGETHER ? sizeof(ogive_partial[2 * OGIVE_MAX_REDUCTIONS]) : 0;
    const size_t of_scratch = scratch_bytes(kernel, context->count, shares);
    const size_t of_copies = has_copies ? (size_t)(bytes * context->count) : 0; /* and a line beside each element's columns */
    const size_t of_group = of_records + ROWS_AT_ONCE * (of_found + of_scratch + of_copies);
    const size_t of_lines = (size_t)(64 * ((has_copies ? operands : 0) + kernel->scratches) * context->count);
    char *memory = malloc((size_t)most / ROWS_AT_ONCE * of_group + of_lines + bytes_of_shared(context) + 64);
    if (memory == NULL) {
        atomic_store(&context->failed, 1);
        return;
    }
    char *cursor = memory + (64 - (uintptr_t)memory % 64) % 64;
    strip columns = {.of_a_call = has_copies ? OGIVE_ELEMENTS_TOGETHER : elements_as_they_lie(context)};
    for (int k = 0; k < operands; ++k) {
        columns.steps[k] = context->steps[operands + k];
        if (has_copies && !kernel->of_row[k] && !is_shared(context, k)) {
            columns.copied[k] = cursor;
            columns.steps[k] = most * kernel->itemsizes[k] + 64;
            cursor += (context->count * columns.steps[k] + 63) / 64 * 64;
        } else if (is_shared(context, k)) {
            columns.shared[k] = cursor;
            columns.steps[k] = ROWS_AT_ONCE * kernel->itemsizes[k];
            repeat_shared(context, k, cursor);
            cursor += (bytes_of_shared_one(context, k) + 63) / 64 * 64;
        }
    }
    columns.records = (double(*)[ROWS_AT_ONCE])cursor;
    for (intptr_t c = 0; c < most; c += ROWS_AT_ONCE, cursor += of_records) {
        begin_records(context, (double(*)[ROWS_AT_ONCE])cursor);
    }
    columns.found = (ogive_partial(*)[2 * OGIVE_MAX_REDUCTIONS])cursor;
    cursor += (size_t)most * of_found;
    columns.steps[OGIVE_MAX_OPERANDS] = (intptr_t)of_records;
    for (int k = operands; k < operands + kernel->scratches; ++k) {
        const int is_shared_one = shares && k == operands;
        columns.steps[k] = is_shared_one ? columns.steps[kernel->inputs] : most * kernel->itemsizes[k] + 64;
        columns.operands[k] = cursor;
        cursor += is_shared_one ? 0 : context->count * columns.steps[k];
    }
    for (intptr_t at = begin; at + ROWS_AT_ONCE <= end; at += most) {
        const intptr_t left = (end - at) / ROWS_AT_ONCE * ROWS_AT_ONCE;
        run_strip(context, &columns, at, left < most ? left : most);
    }
    if ((end - begin) % ROWS_AT_ONCE != 0) {
        run_strip(context, &columns, end - ROWS_AT_ONCE, ROWS_AT_ONCE);
    }
    free(memory);
}

static void run_rows(void *opaque, intptr_t begin, intptr_t end) {
    rows_context *context = opaque;
    const OgiveKernel *kernel = context->loop->kernel;
    ogive_fp_state saved = ogive_fp_enter();
    if (is_contiguous(kernel, context->steps + kernel->inputs + kernel->outputs, context->count) &&
        !is_in_place(context, end)) {
        run_contiguous_rows(context, begin, end, 0);
    } else if (context->side_by_side && end - begin >= ROWS_AT_ONCE) {
        run_side_by_side(context, begin, end);
    } else if (has_columns(context, end - begin) && !is_in_place(context, end)) {
        run_columns(context, begin, end);
    } else {
        run_gathered_rows(context, begin, end, 0, 0);
    }
    ogive_fp_leave(saved);
}

/* ---- the loop ------------------------------------------------------------------------------- */

void ogive_row_loop(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data) {
    const OgiveLoopData *loop = data;
    const OgiveKernel *kernel = loop->kernel;
    /* The lengths of dimensions follow in the order of the signature: (1), if an input of rows' numbers is the first. */
    const npy_intp rows = dimensions[0], count = dimensions[1 + kernel->of_row[0]];
    if (rows <= 0 || count < 0 || (count == 0 && !kernel->reduces)) {
        return;
    }
    if (atomic_load(&kernel->function) == NULL && ogive_kernel_resolve(loop->kernel) == NULL) {
        return;
    }
    if (kernel->stages == 1) { /* the formula reduces nothing */
        for (npy_intp r = 0; r < rows; ++r) {
            char *row[OGIVE_MAX_OPERANDS];
            for (int k = 0; k < kernel->inputs + kernel->outputs; ++k) {
                row[k] = args[k] + r * steps[k];
            }
            ogive_element_loop(row, &count, steps + kernel->inputs + kernel->outputs, data);
        }
        return;
    }
    ogive_call call = {loop->kernel, NULL, loop, rows, NULL, 0, NULL};
    const int threads = ogive_pool_size();
    const npy_intp length = count < 1 ? 1 : count, all = rows > NPY_MAX_INTP / length ? NPY_MAX_INTP : rows * length;
    if (kernel->later_count > 0 && count > 0) {
        ogive_count(loop->kernel, all);
    }
    OgiveLoopData of_retry;
    const int has_shares = kernel->scratches > 0 && kernel->itemsizes[kernel->inputs] > 2;
    const npy_intp longest = has_shares ? LONGEST_ROW_OF_SHARES : LONGEST_ROW_TO_TRY;
    const int has_other_length = count > longest || (kernel->reduces && count < SHORTEST_ROW_TO_REDUCE);
    if (has_other_length && may_retry_at_once(&call, kernel)) {
        of_retry = loop_of_retry(loop, all);
        loop = &of_retry;
        kernel = loop->kernel;
    }
    rows_context context = {loop, &call, args, steps, count, 0, 0};
    const int contiguous = is_contiguous(kernel, steps + kernel->inputs + kernel->outputs, count) && !is_in_place(&context, rows);
    context.side_by_side = !contiguous && has_side_by_side(&context, rows);
    if (context.side_by_side) {
        if (atomic_load(&kernel->columns->function) == NULL && ogive_kernel_resolve(kernel->columns) == NULL) {
            return;
        }
        context.side_by_side = kernel->columns->stages == kernel->stages && kernel->columns->scratches == kernel->scratches;
    }
    if (all < kernel->parallel_threshold || threads < 2) {
        run_rows(&context, 0, rows);
    } else if (rows < threads && (contiguous || count > OGIVE_SEGMENT)) { /* few long rows: threads share their segments */
        ogive_fp_state saved = ogive_fp_enter();
        if (contiguous) {
            run_contiguous_rows(&context, 0, rows, 1);
        } else {
            run_gathered_rows(&context, 0, rows, 1, 0);
        }
        ogive_fp_leave(saved);
    } else {
        npy_intp grain = kernel->parallel_threshold / 2 / length, unit = 1;
        if (context.side_by_side || (!contiguous && has_columns(&context, rows))) { /* neighbours lie in the same lines of memory */
            const npy_intp share = (rows / threads + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE * ROWS_AT_ONCE;
            const npy_intp wanted = share < COLUMNS_AT_ONCE ? share : COLUMNS_AT_ONCE;
            grain = grain < wanted ? wanted : grain;
        } else if (contiguous) {
            unit = rows_of_a_piece(kernel, count, rows, threads);
        }
        ogive_run_in_pool(&call, run_rows, &context, rows, grain < 1 ? 1 : grain, unit);
    }
    ogive_raise(&call);
    if (atomic_load(&context.failed)) {
        ogive_failures += 1;
        PyGILState_STATE lock = PyGILState_Ensure();
        PyErr_Format(PyExc_MemoryError,
                     "there is no memory for rows of %zd elements: each takes %zu bytes beside operands and results, for the "
                     "time of the call. Shorter rows, and fewer rows at a time (OGIVE_THREADS=1), take less",
                     (Py_ssize_t)count, scratch_bytes(kernel, count, 0));
        PyGILState_Release(lock);
    }
}
