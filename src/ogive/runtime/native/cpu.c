/* The abilities of the processor, and how large its last cache is. */
#include "native.h"

#if !defined(_WIN32)
#include <unistd.h>
#endif

/* Only speed depends on it. Where the system does not say, or says what cannot be, 32 MiB. */
size_t ogive_last_level_cache(void) {
    static _Atomic(size_t) known;
    size_t size = atomic_load(&known);
    if (size == 0) {
        long told = 0;
#if defined(_SC_LEVEL3_CACHE_SIZE)
        told = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
        size = told < (1L << 20) || told > (1L << 28) ? (size_t)32 << 20 : (size_t)told;
        atomic_store(&known, size);
    }
    return size;
}

/* The level of x86-64 that this machine runs, as the System V ABI numbers them: 1, 3 or 4. */

#if defined(__x86_64__) || defined(_M_X64)
#if defined(_MSC_VER)
#include <intrin.h>
static void cpuid(unsigned int leaf, unsigned int registers[4]) { __cpuidex((int *)registers, (int)leaf, 0); }
static unsigned long long enabled_state(void) { return _xgetbv(0); }
#else
#include <cpuid.h>
static void cpuid(unsigned int leaf, unsigned int registers[4]) {
    __cpuid_count(leaf, 0, registers[0], registers[1], registers[2], registers[3]);
}
static unsigned long long enabled_state(void) {
    unsigned int low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (unsigned long long)high << 32 | low;
}
#endif

static int has(unsigned int bits, unsigned int wanted) { return (bits & wanted) == wanted; }

int ogive_x86_level(void) {
    unsigned int basic[4], one[4], seven[4], extended[4];
    cpuid(0, basic);
    if (basic[0] < 7) {
        return 1;
    }
    cpuid(1, one);
    cpuid(7, seven);
    cpuid(0x80000001u, extended);
    /* ecx of leaf 1: SSE3 0, SSSE3 9, FMA 12, SSE4.1 19, SSE4.2 20, MOVBE 22, POPCNT 23, OSXSAVE 27, AVX 28,
     * F16C 29; ebx of leaf 7: BMI1 3, AVX2 5, BMI2 8; ecx of 0x80000001: LZCNT 5. */
    if (!has(one[2], 1u << 0 | 1u << 9 | 1u << 12 | 1u << 19 | 1u << 20 | 1u << 22 | 1u << 23 | 1u << 27 |
                         1u << 28 | 1u << 29) ||
        !has(seven[1], 1u << 3 | 1u << 5 | 1u << 8) || !has(extended[2], 1u << 5)) {
        return 1;
    }
    /* The operating system must save the registers: SSE and AVX (6), and for level 4 the 512-bit state (E0). */
    unsigned long long state = enabled_state();
    if ((state & 0x6) != 0x6) {
        return 1;
    }
    /* ebx of leaf 7: AVX512 F 16, DQ 17, CD 28, BW 30, VL 31. */
    if (has(seven[1], 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31) && (state & 0xE6) == 0xE6) {
        return 4;
    }
    return 3;
}
#else
int ogive_x86_level(void) { return 0; }
#endif
