/* A GELU as a vendor might ship it: exact, but its tail is cut off. docs/judge.md judges it. */
#include <math.h>
#include <stddef.h>

void my_gelu(const float *x, float *y, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const double v = x[i];
        y[i] = x[i] < -4.5f ? -0.0f : (float)(0.5 * v * erfc(-v * 0.70710678118654752440));
    }
}
