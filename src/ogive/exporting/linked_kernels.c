/* Loops over kernels that LLVM has compiled and the linker puts beside this file: those of the runtime (elements.c, rows.c)
 * without Python and without threads. What such a kernel leaves undecided is computed by the same function in C.
 * onnxruntime/custom_operators.py puts this file behind custom_operators.c and backends/row_stages.h. */

struct linked {
    int inputs, operands, block, has_flags, parameters;
    const int *sizes, *of_row;
    const double *constants; /* NULL: the task has the parameters */
    void (*elements)(void *const *operands, intptr_t count, const double *values, intptr_t hints, unsigned char *flags);
    const ogive_row_kernel *rows; /* NULL: of elements */
    void (*in_c)(const struct task *task, size_t begin, size_t end); /* the strided one */
    size_t (*scratch_in_c)(size_t count);
};

enum { BYTES_STAGED = 65536, MOST_OF_A_CHUNK = 4096, ELEMENTS_OF_LINES = 64 };

static void linked_elements(const struct linked *linked, const struct task *given, size_t begin, size_t end, int is_strided) {
    _Alignas(64) char staging[BYTES_STAGED];
    unsigned char flags[MOST_OF_A_CHUNK / 8] = {0};
    void *pointers[MOST_OPERANDS];
    struct task task = *given;
    size_t bytes = 0;
    for (int k = 0; k < linked->operands; k++) {
        task.step[k] = is_strided ? task.step[k] : linked->sizes[k];
        bytes += (size_t)linked->sizes[k];
    }
    size_t chunk = BYTES_STAGED / bytes / ELEMENTS_OF_LINES * ELEMENTS_OF_LINES;
    chunk = chunk < MOST_OF_A_CHUNK ? chunk : MOST_OF_A_CHUNK;
    const double *values = linked->constants != NULL ? linked->constants : task.values;
    const ogive_fp_state saved = ogive_fp_enter();
    for (size_t at = begin; at < end; at += chunk) {
        const size_t count = end - at < chunk ? end - at : chunk, block = (size_t)linked->block;
        const size_t padded = (count + block - 1) / block * block;
        char *buffer = staging;
        for (int k = 0; k < linked->operands; k++) {
            const int size = linked->sizes[k];
            char *place = task.data[k] + (ptrdiff_t)at * task.step[k];
            pointers[k] = buffer;
            if (task.step[k] == size && padded == count) {
                pointers[k] = place; /* the code takes whole blocks, and those where they lie */
            } else if (k < linked->inputs && (task.step[k] != 0 || at == begin)) {
                ogive_copy(buffer, size, place, task.step[k], count, (size_t)size);
                memset(buffer + count * (size_t)size, 0, (padded - count) * (size_t)size);
            }
            buffer += chunk * (size_t)size;
        }
        linked->elements(pointers, (intptr_t)padded, values, (intptr_t)padded << 1, flags);
        buffer = staging;
        for (int k = 0; k < linked->operands; k++) {
            if (k >= linked->inputs && pointers[k] == (void *)buffer) {
                char *place = task.data[k] + (ptrdiff_t)at * task.step[k];
                ogive_copy(place, task.step[k], buffer, linked->sizes[k], count, (size_t)linked->sizes[k]);
            }
            buffer += chunk * (size_t)linked->sizes[k];
        }
        for (size_t i = 0; linked->has_flags && i < count; i += ELEMENTS_OF_LINES) {
            uint64_t word;
            memcpy(&word, flags + i / 8, sizeof word);
            for (size_t j = i; word != 0 && j < count; j++, word >>= 1) {
                if (word & 1) {
                    linked->in_c(&task, at + j, at + j + 1);
                }
            }
        }
    }
    ogive_fp_leave(saved);
}

static size_t bytes_of_row(size_t count, intptr_t size) { return (count * (size_t)size + 63) / 64 * 64; }

static size_t linked_scratch(const struct linked *linked, size_t count) {
    const ogive_row_kernel *kernel = linked->rows;
    size_t bytes = 64, in_c = linked->scratch_in_c(count);
    for (int k = 0; k < kernel->scratches; k++) {
        bytes += OGIVE_ROWS_AT_ONCE * bytes_of_row(count, kernel->itemsizes[linked->operands + k]);
    }
    return bytes > in_c ? bytes : in_c;
}

static void linked_rows(const struct linked *linked, const struct task *given, size_t begin, size_t end, int is_strided) {
    _Alignas(64) double records[OGIVE_RECORDS][OGIVE_ROWS_AT_ONCE];
    const ogive_row_kernel *kernel = linked->rows;
    struct task task = *given;
    ogive_row_group group;
    int is_apart = 0;
    for (int k = 0; k < linked->operands; k++) {
        const ptrdiff_t size = linked->sizes[k];
        task.step[k] = is_strided ? task.step[k] : size;
        task.row[k] = is_strided ? task.row[k] : linked->of_row[k] ? size : (ptrdiff_t)task.count * size;
        is_apart |= !linked->of_row[k] && task.step[k] != size && task.count > 1;
    }
    if (is_apart) {
        linked->in_c(&task, begin, end);
        return;
    }
    memset(&group, 0, sizeof group);
    group.program = kernel, group.count = (intptr_t)task.count, group.records = records;
    group.parameter_count = linked->parameters;
    const double *values = linked->constants != NULL ? linked->constants : task.values;
    const int mark = ogive_mark_slot(&group);
    const ogive_fp_state saved = ogive_fp_enter();
    const size_t most = task.count > OGIVE_SEGMENT ? 1 : OGIVE_ROWS_AT_ONCE;
    for (size_t at = begin, rows; at < end; at += rows) {
        rows = end - at < most ? end - at : most;
        char *memory = (char *)task.scratch + (64 - (uintptr_t)task.scratch % 64) % 64;
        for (int k = 0; k < linked->operands + kernel->scratches; k++) {
            const int is_own = k >= linked->operands;
            group.operands[k] = is_own ? memory : task.data[k] + (ptrdiff_t)at * task.row[k];
            group.steps[k] = is_own ? (intptr_t)bytes_of_row(task.count, kernel->itemsizes[k]) : task.row[k];
            memory += is_own ? OGIVE_ROWS_AT_ONCE * group.steps[k] : 0;
        }
        memset(records, 0, (size_t)(mark + 2) * sizeof *records);
        for (size_t row = 0; row < OGIVE_ROWS_AT_ONCE; row++) {
            for (int i = 0; i < linked->parameters; i++) {
                records[i][row] = values[i];
            }
            records[linked->parameters][row] = (double)task.count;
        }
        ogive_run_stages(&group, (intptr_t)rows);
        for (size_t row = 0; kernel->next != NULL && row < rows; row++) {
            if (records[mark][row] != 0.0) {
                linked->in_c(&task, at + row, at + row + 1);
            }
        }
    }
    ogive_fp_leave(saved);
}
