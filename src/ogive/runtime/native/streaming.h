/* Results that are written past the caches: where it pays, and what it needs. */
#ifndef OGIVE_STREAMING_H
#define OGIVE_STREAMING_H

#include "native.h"

#if defined(__x86_64__) || defined(_M_X64)
#include <xmmintrin.h>
#endif

/* Whether the results would push everything else out of the caches and not be there when they are needed: what
 * is written is no operand, and all operands together are larger than the last cache by as much as the target's tuning
 * says. Operands that overlap otherwise must have been dealt with before. */
static inline int ogive_streaming_pays(const OgiveKernel *kernel, char *const *operands, npy_intp count) {
    if ((size_t)count < kernel->stream_threshold / (size_t)kernel->bytes) {
        return 0;
    }
    for (int o = kernel->inputs; o < kernel->inputs + kernel->outputs; ++o) {
        for (int k = 0; k < kernel->inputs; ++k) {
            if (operands[o] == operands[k]) {
                return 0;
            }
        }
    }
    return 1;
}

/* How many elements lie before the first one at which all outputs are aligned for streaming; -1 if none is. */
static inline npy_intp ogive_elements_before_alignment(const OgiveKernel *kernel, char *const *operands) {
    for (npy_intp head = 0; head < OGIVE_STREAM_ALIGNMENT; ++head) {
        int aligned = 1;
        for (int o = kernel->inputs; o < kernel->inputs + kernel->outputs; ++o) {
            aligned &= (uintptr_t)(operands[o] + head * kernel->itemsizes[o]) % OGIVE_STREAM_ALIGNMENT == 0;
        }
        if (aligned) {
            return head;
        }
    }
    return -1;
}

/* Orders what was written past the caches before what other threads are told. */
static inline void ogive_stream_end(void) {
#if defined(__x86_64__) || defined(_M_X64)
    _mm_sfence();
#endif
}

#endif
