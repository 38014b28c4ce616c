/* A C program that computes with Ogive's kernels, without Python:
 *
 *   ogive export celu softmax --name activations
 *   cc -O3 -march=native -o program program.c activations.c && ./program
 */
#include "activations.h"

#include <stdio.h>
#include <stdlib.h>

static void print(const char *name, const float *y, size_t count) {
    printf("%-8s", name);
    for (size_t i = 0; i < count; ++i) {
        printf(" %f", (double)y[i]);
    }
    printf("\n");
}

int main(void) {
    const float x[] = {-1.0f, 0.0f, 2.0f};
    float y[3];
    ogive_celu_float32(x, y, 0, 3, 1.5);
    print("celu", y, 3);

    void *scratch = malloc(ogive_softmax_float32_scratch(3)); /* once for all calls of one thread */
    if (scratch == NULL) {
        return 1;
    }
    ogive_softmax_float32(x, y, 0, 1, 3, scratch);
    print("softmax", y, 3);
    free(scratch);
    return 0;
}
