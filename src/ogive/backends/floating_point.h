/* The floating-point environment of a kernel: round to nearest even, subnormals kept, nothing trapped.
 *
 * A caller may have preset flush-to-zero or another rounding mode, and its sticky exception flags
 * are its own; kernels compute lanes that a select throws away, which would raise flags that NumPy
 * turns into warnings. So a kernel runs in the default environment and the caller's comes back after.
 */
#ifndef OGIVE_FLOATING_POINT_H
#define OGIVE_FLOATING_POINT_H

#include <stdint.h>

#if defined(__x86_64__) || defined(_M_X64) || defined(__i386__) || defined(_M_IX86)
#include <immintrin.h>
typedef unsigned int ogive_fp_state;
static inline ogive_fp_state ogive_fp_enter(void) {
    const ogive_fp_state saved = _mm_getcsr(), flags = 0x3F;
    if ((saved & ~flags) != 0x1F80) { /* which takes 5 ns */
        _mm_setcsr(0x1F80); /* all exceptions masked, no flag raised, nearest even, no FTZ, no DAZ */
    }
    return saved;
}
static inline void ogive_fp_leave(ogive_fp_state saved) { _mm_setcsr(saved); }

#elif defined(__aarch64__) || defined(_M_ARM64)
/* FPCR holds the modes, FPSR the sticky flags. */
typedef struct { uint64_t control, status; } ogive_fp_state;
#if defined(_MSC_VER)
#include <intrin.h>
#define OGIVE_FPCR ARM64_SYSREG(3, 3, 4, 4, 0)
#define OGIVE_FPSR ARM64_SYSREG(3, 3, 4, 4, 1)
static inline ogive_fp_state ogive_fp_enter(void) {
    ogive_fp_state saved = {(uint64_t)_ReadStatusReg(OGIVE_FPCR), (uint64_t)_ReadStatusReg(OGIVE_FPSR)};
    _WriteStatusReg(OGIVE_FPCR, 0);
    return saved;
}
static inline void ogive_fp_leave(ogive_fp_state saved) {
    _WriteStatusReg(OGIVE_FPCR, (int64_t)saved.control);
    _WriteStatusReg(OGIVE_FPSR, (int64_t)saved.status);
}
#else
static inline ogive_fp_state ogive_fp_enter(void) {
    ogive_fp_state saved;
    uint64_t zero = 0;
    __asm__ volatile("mrs %0, fpcr" : "=r"(saved.control));
    __asm__ volatile("mrs %0, fpsr" : "=r"(saved.status));
    __asm__ volatile("msr fpcr, %0" : : "r"(zero));
    return saved;
}
static inline void ogive_fp_leave(ogive_fp_state saved) {
    __asm__ volatile("msr fpcr, %0" : : "r"(saved.control));
    __asm__ volatile("msr fpsr, %0" : : "r"(saved.status));
}
#endif

#elif defined(__riscv)
typedef unsigned long ogive_fp_state; /* the mode and the flags */
static inline ogive_fp_state ogive_fp_enter(void) {
    ogive_fp_state saved, zero = 0;
    __asm__ volatile("fscsr %0, %1" : "=r"(saved) : "r"(zero));
    return saved;
}
static inline void ogive_fp_leave(ogive_fp_state saved) { __asm__ volatile("fscsr %0" : : "r"(saved)); }

#elif defined(__wasm__)
typedef int ogive_fp_state; /* there is no other environment */
static inline ogive_fp_state ogive_fp_enter(void) { return 0; }
static inline void ogive_fp_leave(ogive_fp_state saved) { (void)saved; }

#else
/* Elsewhere the C99 environment does the same, more slowly. */
#include <fenv.h>
typedef fenv_t ogive_fp_state;
static inline ogive_fp_state ogive_fp_enter(void) {
    ogive_fp_state saved;
    fegetenv(&saved);
    fesetenv(FE_DFL_ENV);
    return saved;
}
static inline void ogive_fp_leave(ogive_fp_state saved) { fesetenv(&saved); }
#endif

#endif
