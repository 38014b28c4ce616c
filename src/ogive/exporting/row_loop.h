/* Rows of an exported function: one after the other, each through the stages of its program. */

/* The bytes of a row in scratch memory. */
static size_t ogive_row_bytes(size_t count, intptr_t size) { return (count * (size_t)size + 63) / 64 * 64; }

static size_t ogive_rows_scratch(const ogive_row_kernel *kernel, size_t count) {
    size_t bytes = 64, most = 0;
    for (int k = 0; k < kernel->inputs + kernel->outputs; k++) {
        bytes += ogive_row_bytes(count, kernel->itemsizes[k]);
    }
    for (; kernel != NULL; kernel = kernel->next) {
        size_t own = 0;
        for (int k = 0; k < kernel->scratches; k++) {
            own += ogive_row_bytes(count, kernel->itemsizes[kernel->inputs + kernel->outputs + k]);
        }
        most = own > most ? own : most;
    }
    return bytes + most;
}

/* A row of operands that lie as they are, or in scratch memory from `memory` on. */
static int ogive_row(const ogive_row_kernel *kernel, char *const *operands, size_t count, const double *parameters,
                     int parameter_count, char *memory) {
    double records[OGIVE_RECORDS][OGIVE_ROWS_AT_ONCE];
    ogive_row_group group;
    memset(records, 0, sizeof records);
    memset(&group, 0, sizeof group);
    group.program = kernel;
    group.count = (intptr_t)count;
    group.parameter_count = parameter_count;
    group.records = records;
    for (int i = 0; i < parameter_count; i++) {
        records[i][0] = parameters[i];
    }
    records[parameter_count][0] = (double)count;
    const int given = kernel->inputs + kernel->outputs;
    for (int k = 0; k < given + kernel->scratches; k++) {
        group.operands[k] = k < given ? operands[k] : memory;
        memory += k < given ? 0 : ogive_row_bytes(count, kernel->itemsizes[k]);
    }
    ogive_run_stages(&group, 1);
    return kernel->next != NULL && records[ogive_mark_slot(&group)][0] != 0.0;
}

/* Rows begin to end - 1. Results are written behind the last read of their row, so they may lie over operands. */
static OGIVE_APART void ogive_rows(const ogive_row_kernel *kernel, char *const *operands, const ptrdiff_t *rows,
                       const ptrdiff_t *steps, size_t begin, size_t end, size_t count, const double *parameters,
                       int parameter_count, void *scratch) {
    for (size_t row = begin; row < end; row++) {
        char *memory = (char *)scratch + (64 - (uintptr_t)scratch % 64) % 64;
        char *places[OGIVE_MAX_OPERANDS];
        uint64_t numbers[OGIVE_MAX_OPERANDS];
        for (int k = 0; k < OGIVE_MAX_OPERANDS; k++) {
            places[k] = memory; /* of the mask of a repair, which nobody reads */
        }
        for (int k = 0; k < kernel->inputs + kernel->outputs; k++) {
            const size_t size = (size_t)kernel->itemsizes[k], items = kernel->of_row[k] ? 1 : count;
            char *given = operands[k] + (ptrdiff_t)row * rows[k];
            if (kernel->of_row[k]) {
                places[k] = (char *)&numbers[k];
            } else if (k < kernel->inputs && steps[k] == (ptrdiff_t)size) {
                places[k] = given;
                continue;
            } else {
                places[k] = memory;
                memory += ogive_row_bytes(count, kernel->itemsizes[k]);
            }
            if (k < kernel->inputs) {
                ogive_copy(places[k], (ptrdiff_t)size, given, steps[k], items, size);
            }
        }
        const ogive_row_kernel *open = kernel;
        while (open != NULL && ogive_row(open, places, count, parameters, parameter_count, memory)) {
            open = open->next;
        }
        for (int k = kernel->inputs; k < kernel->inputs + kernel->outputs; k++) {
            const size_t size = (size_t)kernel->itemsizes[k], items = kernel->of_row[k] ? 1 : count;
            ogive_copy(operands[k] + (ptrdiff_t)row * rows[k], steps[k], places[k], (ptrdiff_t)size, items, size);
        }
    }
}
