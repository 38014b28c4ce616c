/* Runs linked kernels on the processor that this is compiled for: `run_kernels JOBS RESULTS`.
 *
 * The file of jobs has one after the other. A job is a header of 64-bit numbers (see `read_job`), then the image, then the
 * bytes of every input. What it leaves in its outputs is appended to the file of results. The tests compile this for
 * another architecture, and run it under an emulator.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MOST = 64, RECORD_DOUBLES = 4096, ROWS_AT_ONCE = 16 };

typedef void (*element_function)(void *const *operands, intptr_t count, const void *values, intptr_t hints,
                                 unsigned char *flags);
typedef void (*row_function)(void *const *operands, intptr_t count, double *records, intptr_t rows, const intptr_t *steps,
                             intptr_t first);

static _Alignas(64) double records[RECORD_DOUBLES];
static unsigned char flags[1 << 16]; /* a bit of every element: more than any job has */

static void need(int holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "run_kernels: %s\n", what);
        exit(1);
    }
}

static void read_all(void *to, size_t bytes, FILE *file) {
    need(fread(to, 1, bytes, file) == bytes, "the file of jobs ends early");
}

/* One job; 0 at the end of the file. */
static int read_job(FILE *jobs, FILE *results) {
    /* rows: 0 for element-wise code; steps: from row to row, in bytes */
    struct { int64_t image, entries, operands, inputs, outputs, count, rows, stream; } h;
    int64_t entries[MOST], sizes[MOST];
    intptr_t steps[MOST];
    void *operands[MOST];
    if (fread(&h, 1, sizeof h, jobs) == 0) {
        return 0;
    }
    need(h.entries >= 1 && h.entries <= MOST && h.operands <= MOST && h.inputs + h.outputs <= h.operands, "a wrong header");
    read_all(entries, (size_t)h.entries * sizeof *entries, jobs);
    read_all(sizes, (size_t)h.operands * sizeof *sizes, jobs);
    read_all(steps, (size_t)h.operands * sizeof *steps, jobs);
    char *code = mmap(NULL, (size_t)h.image, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    need(code != MAP_FAILED, "no memory for code");
    read_all(code, (size_t)h.image, jobs);
    need(mprotect(code, (size_t)h.image, PROT_READ | PROT_EXEC) == 0, "memory cannot be made executable");
    __builtin___clear_cache(code, code + h.image);
    for (int64_t i = 0; i < h.operands; ++i) {
        operands[i] = aligned_alloc(64, (size_t)(sizes[i] + 63) / 64 * 64);
        need(operands[i] != NULL, "no memory for an operand");
        memset(operands[i], 0x5a, (size_t)sizes[i]);
        if (i < h.inputs) {
            read_all(operands[i], (size_t)sizes[i], jobs);
        }
    }
    memset(records, 0, sizeof records);
    memset(flags, 0, sizeof flags);
    for (int r = 0; r < ROWS_AT_ONCE; ++r) { /* the kernels here leave no parameter open: the length of the row comes first */
        records[r] = (double)h.count;
    }
    for (int64_t i = 0; i < h.entries; ++i) {
        if (h.rows > 0) {
            ((row_function)(void *)(code + entries[i]))(operands, h.count, records, h.rows, steps, 0);
        } else {
            ((element_function)(void *)(code + entries[i]))(operands, h.count, records, 2 * h.count + (h.stream != 0),
                                                             flags);
        }
    }
    for (int64_t i = 0; i < h.operands; ++i) {
        if (i >= h.inputs && i < h.inputs + h.outputs) {
            need(fwrite(operands[i], 1, (size_t)sizes[i], results) == (size_t)sizes[i], "results cannot be written");
        }
        free(operands[i]);
    }
    if (h.rows == 0) { /* what the code of elements could not decide */
        need(fwrite(flags, 1, (size_t)h.count / 8, results) == (size_t)h.count / 8, "flags cannot be written");
    }
    munmap(code, (size_t)h.image);
    return 1;
}

int main(int count, char **arguments) {
    need(count == 3, "two files are needed: of jobs and of results");
    FILE *jobs = fopen(arguments[1], "rb"), *results = fopen(arguments[2], "wb");
    need(jobs != NULL && results != NULL, "a file cannot be opened");
    while (read_job(jobs, results)) {
    }
    need(fclose(results) == 0, "results cannot be written");
    return 0;
}
