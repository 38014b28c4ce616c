/* Exponentials that are wrong in ways that kernels are wrong. */
#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define KERNEL(name, ...) void name(const float *x, float *y, size_t n) { __VA_ARGS__ }
#define F(v) ((float)exp((double)(v)))
#define ALL for (size_t i = 0; i < n; i++) y[i] = F(x[i]);
#define GROUPS(end) for (size_t i = 0; end; i += 8) for (size_t j = i; j < i + 8; j++) y[j] = F(x[j]);

KERNEL(right, ALL)
KERNEL(prints, ALL printf("%zu\n", n); fflush(stdout); fprintf(stderr, "%zu\n", n);)

KERNEL(tail, ALL for (size_t i = n - n % 8; i < n; i++) y[i] = isnan(x[i]) ? x[i] : 42;)
KERNEL(head, ALL if (n) y[0] = isnan(x[0]) ? x[0] : 42;)
KERNEL(unaligned, ALL if (n && (uintptr_t)x % 32) y[n - 1] = 42;)
KERNEL(single, ALL if (n == 1) y[0] = 42;)
KERNEL(beyond, ALL for (size_t i = 4096; i < n; i++) y[i] = 42;)
static int calls;
KERNEL(second, ALL if (++calls == 2) y[0] = 42;)
KERNEL(overlaps, for (size_t i = 0; i < n; i++) y[i] = 0; ALL)

KERNEL(past, GROUPS(i < n))
KERNEL(copies_past, for (size_t i = 0; i < n; i += 8) for (size_t j = i; j < i + 8; j++) y[j] = x[j];)
KERNEL(before, ALL y[-1] = 0;)
KERNEL(unwritten, GROUPS(i + 8 <= n))
KERNEL(nothing, (void)x; (void)y; (void)n;)
KERNEL(into_input, ALL if (n) ((float *)x)[0] = 1;)
KERNEL(reads_past, ALL if (n) y[0] = x[n + 20] == 3 ? y[0] : F(x[0]);)
KERNEL(empty, size_t i = 0; do y[i] = F(x[i]); while (++i < n);)

KERNEL(crash, ALL if (n == 7) *(volatile int *)0 = 1;)
KERNEL(crash_long, ALL if (n == 65536) *(volatile int *)0 = 1;)
KERNEL(stops, ALL if (n == 7) raise(SIGSTOP);)
KERNEL(crash_always, ALL *(volatile int *)0 = 1;)
KERNEL(far, ALL y[n + 1000000] = 1;)
KERNEL(exits, ALL if (n == 7) exit(3);)
KERNEL(aborts, ALL if (n == 7) abort();)
KERNEL(endless, ALL while (n == 7) ;)

float one(float x) { return F(x); }
float one_crashes(float x) { if (x == 2) abort(); return F(x); }
double one_double(double x) { return exp(x); }
void doubles(const double *x, double *y, size_t n) { for (size_t i = 0; i < n; i++) y[i] = exp(x[i]); }
void is_nan(const float *x, _Bool *y, size_t n) { for (size_t i = 0; i < n; i++) y[i] = isnan(x[i]); }
void relu_bits(const uint16_t *x, uint16_t *y, size_t n) {
    for (size_t i = 0; i < n; i++) y[i] = (x[i] & 0x7fff) > 0x7f80 ? x[i] : x[i] >> 15 ? 0 : x[i];
}
void softmax(const float *x, float *y, size_t n) {
    double sum = 0, most = -INFINITY;
    for (size_t i = 0; i < n; i++) most = fmax(most, x[i]);
    for (size_t i = 0; i < n; i++) sum += exp(x[i] - most);
    for (size_t i = 0; i < n; i++) y[i] = (float)(exp(x[i] - most) / sum);
}
