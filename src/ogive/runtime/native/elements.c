/* The loop of element-wise kernels, which NumPy calls.
 *
 * Compiled code knows one layout only: contiguous. Operands with another stride are staged through
 * buffers in the first-level cache, a chunk at a time; so there is one code path for every layout, and
 * the bits of an element cannot depend on where it lies.
 */
#include "native.h"
#include "copies.h"
#include "../../backends/floating_point.h"
#include "streaming.h"

/* ---- one range of a loop -------------------------------------------------------------------- */

typedef struct {
    ogive_call *call;
    char **operands;
    const npy_intp *steps;
    npy_intp chunk; /* elements that are staged at a time */
    int contiguous;
    _Bool streams; /* outputs, which are contiguous, are written past the caches */
    npy_intp tail[2]; /* what no block fills, of pieces */
} range_context;

/* Elements [begin, end) through buffers. Operands that are contiguous are used where they lie, but for the
 * last, incomplete block (`everything`), which the code must not read or write past. */
static void run_staged(const range_context *context, npy_intp begin, npy_intp end, int everything) {
    const OgiveKernel *kernel = context->call->kernel;
    const int operands = kernel->inputs + kernel->outputs;
    _Alignas(64) char staging[OGIVE_STAGING_BYTES];
    void *pointers[OGIVE_MAX_OPERANDS];
    char *buffers[OGIVE_MAX_OPERANDS]; /* NULL: the operand is used where it lies */
    char *cursor = staging;

    for (int k = 0; k < operands; ++k) {
        npy_intp itemsize = kernel->itemsizes[k], step = context->steps[k];
        buffers[k] = NULL;
        if (everything || step != itemsize) {
            buffers[k] = cursor;
            cursor += context->chunk * itemsize;
            if (k < kernel->inputs && step == 0) { /* broadcast: the buffer is filled once */
                npy_intp count = end - begin < context->chunk ? end - begin : context->chunk;
                ogive_copy_elements(buffers[k], itemsize, context->operands[k], 0, count, itemsize);
            }
        }
    }
    for (npy_intp at = begin; at < end; at += context->chunk) {
        npy_intp count = end - at < context->chunk ? end - at : context->chunk;
        npy_intp padded = (count + kernel->block - 1) / kernel->block * kernel->block;
        for (int k = 0; k < operands; ++k) {
            npy_intp itemsize = kernel->itemsizes[k], step = context->steps[k];
            char *operand = context->operands[k] + at * step;
            pointers[k] = buffers[k] != NULL ? buffers[k] : operand;
            if (k < kernel->inputs && buffers[k] != NULL) {
                if (step != 0) {
                    ogive_copy_elements(buffers[k], itemsize, operand, step, count, itemsize);
                }
                /* The lanes that pad the last block: any value does, as long as it is one. */
                memset(buffers[k] + count * itemsize, 0, (size_t)((padded - count) * itemsize));
            }
        }
        ogive_compute(context->call, pointers, padded, count, context->streams && !everything);
        for (int k = kernel->inputs; k < operands; ++k) {
            if (buffers[k] != NULL) {
                ogive_copy_elements(context->operands[k] + at * context->steps[k], context->steps[k],
                             buffers[k], kernel->itemsizes[k], count, kernel->itemsizes[k]);
            }
        }
    }
}

static void run_range(void *opaque, intptr_t begin, intptr_t end) {
    const range_context *context = opaque;
    const OgiveKernel *kernel = context->call->kernel;
    const npy_intp whole_end = end - ((end - begin) & (kernel->block - 1));
    ogive_fp_state saved = ogive_fp_enter();
    if (whole_end > begin) {
        if (context->contiguous) {
            void *pointers[OGIVE_MAX_OPERANDS];
            for (int k = 0; k < kernel->inputs + kernel->outputs; ++k) {
                pointers[k] = context->operands[k] + begin * context->steps[k];
            }
            ogive_compute(context->call, pointers, whole_end - begin, whole_end - begin, context->streams);
        } else {
            run_staged(context, begin, whole_end, 0);
        }
    }
    if (end > whole_end) {
        run_staged(context, whole_end, end, 1);
    }
    if (context->streams) {
        ogive_stream_end();
    }
    ogive_fp_leave(saved);
}

/* The ranges that a thread takes. Where a kernel has a repair, undecided elements of several are computed together. */
static void run_pieces(void *opaque, ogive_pieces *pieces) {
    range_context *context = opaque;
    if (context->contiguous && context->call->kernel->later_count > 0) {
        npy_intp tail[2] = {0, 0};
        ogive_fp_state saved = ogive_fp_enter();
        ogive_compute_pieces(context->call, (void *const *)context->operands, pieces, context->streams, tail);
        if (context->streams) {
            ogive_stream_end();
        }
        ogive_fp_leave(saved);
        if (tail[0] < tail[1]) { /* the last of all elements: the caller computes them */
            context->tail[0] = tail[0];
            context->tail[1] = tail[1];
        }
        return;
    }
    for (intptr_t begin, end; ogive_next_piece(pieces, &begin, &end);) {
        run_range(opaque, begin, end);
    }
}

/* One element after the other, each written before the next is read. */
static void run_in_order(const range_context *context, npy_intp count) {
    for (npy_intp i = 0; i < count; ++i) {
        run_range((void *)context, i, i + 1);
    }
}

/* ---- the loop ------------------------------------------------------------------------------- */

/* Whether an output lies over an input other than element on element. NumPy copies such operands in
 * ordinary calls; reduce and accumulate pass them on purpose and expect sequential execution. */
static int depends_on_order(const range_context *context, npy_intp count) {
    const OgiveKernel *kernel = context->call->kernel;
    for (int o = kernel->inputs; o < kernel->inputs + kernel->outputs; ++o) {
        const char *out = context->operands[o];
        npy_intp out_reach = context->steps[o] * (count - 1);
        const char *out_low = out_reach < 0 ? out + out_reach : out;
        const char *out_high = (out_reach < 0 ? out : out + out_reach) + kernel->itemsizes[o];
        for (int k = 0; k < kernel->inputs; ++k) {
            const char *in = context->operands[k];
            npy_intp in_reach = context->steps[k] * (count - 1);
            const char *in_low = in_reach < 0 ? in + in_reach : in;
            const char *in_high = (in_reach < 0 ? in : in + in_reach) + kernel->itemsizes[k];
            int same = in == out && context->steps[k] == context->steps[o] &&
                       kernel->itemsizes[k] == kernel->itemsizes[o] && context->steps[o] != 0;
            if (!same && in_low < out_high && out_low < in_high) {
                return 1;
            }
        }
    }
    return 0;
}

static void run_call(ogive_call *call, char **args, npy_intp count, const npy_intp *steps, int may_depend);

static void run_elements(char **args, npy_intp count, const npy_intp *steps, OgiveLoopData *loop, int may_depend) {
    OgiveKernel *kernel = loop->kernel;
    if (count <= 0) {
        return;
    }
    ogive_call call = {kernel, atomic_load(&kernel->function), loop, count, NULL, 0, NULL};
    if (call.function == NULL && (call.function = ogive_kernel_resolve(kernel)) == NULL) {
        return;
    }
    run_call(&call, args, count, steps, may_depend);
    ogive_raise(&call);
}

static void run_call(ogive_call *call, char **args, npy_intp count, const npy_intp *steps, int may_depend) {
    const OgiveKernel *kernel = call->kernel;
    range_context context = {call, args, steps, 0, 1, 0, {0, 0}};
    context.chunk = kernel->staged;
    int contiguous_outputs = 1;
    for (int k = 0; k < kernel->inputs + kernel->outputs; ++k) {
        const int is_contiguous = steps[k] == kernel->itemsizes[k];
        context.contiguous &= is_contiguous;
        contiguous_outputs &= is_contiguous || k < kernel->inputs;
    }
    if (may_depend && count > 1 && depends_on_order(&context, count)) {
        run_in_order(&context, count);
        return;
    }
    if (count < kernel->parallel_threshold) {
        run_range(&context, 0, count);
        return;
    }
    char *shifted[OGIVE_MAX_OPERANDS];
    const int can_stream = context.contiguous || context.chunk % OGIVE_ELEMENTS_OF_LINES == 0;
    const int streams = contiguous_outputs && can_stream && ogive_streaming_pays(kernel, args, count);
    if (streams || context.contiguous) {
        /* The first elements, up to where outputs are aligned; the rest begins there. A store to two lines takes twice as long. */
        const npy_intp head = ogive_elements_before_alignment(kernel, args);
        if (head > 0) {
            run_range(&context, 0, head);
            for (int k = 0; k < kernel->inputs + kernel->outputs; ++k) {
                shifted[k] = args[k] + head * steps[k];
            }
            context.operands = shifted;
            count -= head;
        }
        context.streams = streams && head >= 0;
    }
    /* Pieces fill whole lines of the cache, so that no two threads write to one. */
    ogive_take_in_pool(call, run_pieces, &context, count, kernel->parallel_threshold / 2, OGIVE_ELEMENTS_OF_LINES,
                       context.contiguous && kernel->later_count > 0);
    if (context.tail[0] < context.tail[1]) {
        run_range(&context, context.tail[0], context.tail[1]);
    }
}

void ogive_element_loop(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data) {
    run_elements(args, dimensions[0], steps, data, 1);
}

void ogive_plain_elements(char **args, npy_intp count, const npy_intp *steps, OgiveLoopData *loop) {
    const OgiveKernel *kernel = loop->kernel;
    const ogive_kernel_function function = atomic_load_explicit(&kernel->function, memory_order_acquire);
    /* A few whole blocks leave nothing to be decided: 5 ns of the 40 of a short call. */
    if (function != NULL && count < kernel->parallel_threshold && (count & (kernel->block - 1)) == 0) {
        const ogive_fp_state saved = ogive_fp_enter();
        if (kernel->later_count == 0) {
            function((void *const *)args, count, loop->parameters, 2 * count, NULL);
        } else {
            ogive_call call = {loop->kernel, function, loop, count, NULL, 0, NULL};
            ogive_compute(&call, (void *const *)args, count, count, 0);
            ogive_raise(&call);
        }
        ogive_fp_leave(saved);
        return;
    }
    run_elements(args, count, steps, loop, 0);
}
