/* The stages of rows. The runtime includes this file (rows.c); exported C and the text for devices have it in them.
 *
 * The code of a row-wise operator is a sequence of stages. Each stage but the last goes over the row and reduces it to
 * numbers (its largest element, a sum, the first position where something holds), which it leaves in the row's record
 * for the later stages. A row is cut into segments of fixed length; the code reduces a segment in
 * one fixed order, and the segments are joined here, one after the other. So a sum does not depend on the
 * machine, on the layout, or on how many threads share the segments.
 *
 * Some stages use the numbers that they have found themselves, zeros at first. They run until these stay the same.
 *
 * Number i of row r lies in `records[i][r]`: the parameters, the length of the row, two numbers for each reduction,
 * OGIVE_MAX_AHEAD that the code keeps for itself, and how many elements the last stage leaves undecided. */

#define OGIVE_SEGMENT 16384 /* elements; a multiple of every block */

/* Newton's method for the threshold of a row divides the product of what is left and the slope by 4 each time. So
 * numbers of float64 need at most half as many turns. */
#define OGIVE_MOST_TURNS 2048

/* Some rows, contiguous each; and their records, which the stages read and write. */
typedef struct ogive_row_group {
    const OGIVE_ROW_KERNEL *program;
    OGIVE_MEMORY char *operands[OGIVE_MAX_OPERANDS]; /* of the first row; the program's own rows follow the outputs */
    intptr_t steps[OGIVE_MAX_OPERANDS]; /* from row to row */
    intptr_t count;                     /* elements of a row */
    int parameter_count;
    double (*records)[OGIVE_ROWS_AT_ONCE];
    void *caller; /* what the caller keeps with it */
} ogive_row_group;

FUNCTION OGIVE_MEMORY char *ogive_row_operand(const ogive_row_group *group, intptr_t row, int operand) {
    return group->operands[operand] + row * group->steps[operand];
}

/* The size of all stages together. */
FUNCTION int ogive_reductions_of(const OGIVE_ROW_KERNEL *program) {
    int reductions = 0;
    for (int s = 0; s < program->stages; ++s) {
        reductions += program->reductions_of[s];
    }
    return reductions;
}

/* Where a row's record says whether a result is undecided. */
FUNCTION int ogive_mark_slot(const ogive_row_group *group) {
    return group->parameter_count + 1 + 2 * ogive_reductions_of(group->program) + OGIVE_MAX_AHEAD;
}

FUNCTION int ogive_has_results_of_elements(const OGIVE_ROW_KERNEL *program) {
    int found = 0;
    for (int k = program->inputs; k < program->inputs + program->outputs; ++k) {
        found |= !program->of_row[k];
    }
    return found;
}

/* Segments begin to end - 1 of a stage of a row: what they find, joined, goes to `found`. `slot` and `kind` say where the
 * findings and the reductions of the stage begin; `records` is room for OGIVE_RECORDS. Whether a result is undecided is
 * returned. */
FUNCTION int ogive_run_segments(const ogive_row_group *group, intptr_t row, int stage, int slot, int kind,
                                intptr_t begin, intptr_t end, ogive_partial *found, double (*records)[OGIVE_ROWS_AT_ONCE]) {
    const OGIVE_ROW_KERNEL *program = group->program;
    const int reductions = program->reductions_of[stage], mark = ogive_mark_slot(group);
    const int known = slot + (program->repeats[stage] ? 2 * reductions : 0); /* of all segments, from the turn before */
    double unused;
    int is_undecided = 0;
    for (intptr_t s = begin; s < end; ++s) {
        const intptr_t first = s * OGIVE_SEGMENT, left = group->count - first;
        OGIVE_MEMORY char *operands[OGIVE_MAX_OPERANDS];
        for (int k = 0; k < program->inputs + program->outputs + program->scratches; ++k) {
            OGIVE_MEMORY char *operand = ogive_row_operand(group, row, k);
            if (!program->of_row[k]) {
                operands[k] = operand + first * program->itemsizes[k];
            } else { /* a result is written by the first segment: the others have the same one */
                operands[k] = k < program->inputs || s == 0 ? operand : OGIVE_UNUSED(operand, unused);
            }
        }
        for (int i = 0; i < mark + 2; ++i) {
            records[i][0] = i < known ? group->records[i][row] : 0.0;
            for (int r = 1; r < OGIVE_ROWS_AT_ONCE; ++r) {
                records[i][r] = 0.0;
            }
        }
        OGIVE_RUN_STAGE(program, stage, operands, left < OGIVE_SEGMENT ? left : OGIVE_SEGMENT, records, 1, group->steps, first);
        ogive_partial latest[OGIVE_MAX_REDUCTIONS];
        for (int r = 0; r < reductions; ++r) {
            latest[r] = ogive_pair(records[slot + 2 * r][0], records[slot + 2 * r + 1][0]);
            found[r] = s == begin ? latest[r] : found[r];
        }
        if (s > begin) {
            ogive_join(program->reductions + kind, reductions, found, latest);
        }
        is_undecided |= stage == program->stages - 1 && records[mark][0] != 0.0;
    }
    (void)unused;
    return is_undecided;
}

#if !defined(OGIVE_RUN_SEGMENTS)
FUNCTION int ogive_run_all_segments(const ogive_row_group *group, intptr_t row, int stage, int slot, int kind,
                                    intptr_t segments, ogive_partial *found) {
    OGIVE_ALIGNED double records[OGIVE_RECORDS][OGIVE_ROWS_AT_ONCE];
    return ogive_run_segments(group, row, stage, slot, kind, 0, segments, found, records);
}
#define OGIVE_RUN_SEGMENTS ogive_run_all_segments
#endif

/* The earlier findings of a stage that repeats, of the first `rows` rows. */
typedef struct {
    int slot, size, rows, turns; /* of the numbers of its reductions: the first, and how many */
    double numbers[2 * OGIVE_MAX_REDUCTIONS][OGIVE_ROWS_AT_ONCE];
} ogive_findings;

/* Sets the numbers of a stage that repeats to zero. */
FUNCTION void ogive_begin_findings(const ogive_row_group *group, int stage, int slot, intptr_t rows, ogive_findings *before) {
    before->slot = slot;
    before->size = group->program->repeats[stage] ? 2 * group->program->reductions_of[stage] : 0;
    before->rows = (int)rows;
    before->turns = 0;
    for (int i = 0; i < before->size; ++i) {
        for (int r = 0; r < before->rows; ++r) {
            group->records[slot + i][r] = before->numbers[i][r] = 0.0;
        }
    }
}

/* Whether a stage runs again: its numbers differ from those before, which they replace. */
FUNCTION int ogive_runs_again(const ogive_row_group *group, ogive_findings *before) {
    int differ = 0;
    for (int i = 0; i < before->size; ++i) {
        for (int r = 0; r < before->rows; ++r) {
            const double found = group->records[before->slot + i][r];
            differ |= ogive_bits_of_double(found) != ogive_bits_of_double(before->numbers[i][r]);
            before->numbers[i][r] = found;
        }
    }
    return differ && ++before->turns < OGIVE_MOST_TURNS;
}

/* All stages of one long row. */
FUNCTION void ogive_run_long_row(const ogive_row_group *group, intptr_t row) {
    const OGIVE_ROW_KERNEL *program = group->program;
    intptr_t segments = (group->count + OGIVE_SEGMENT - 1) / OGIVE_SEGMENT;
    int is_undecided = 0;
    for (int stage = 0, kind = 0; stage < program->stages; ++stage) {
        const int reductions = program->reductions_of[stage], slot = group->parameter_count + 1 + 2 * kind;
        if (stage == program->stages - 1 && !ogive_has_results_of_elements(program) && !OGIVE_IS_FOLLOWED(program)) {
            segments = 1; /* nothing is left to do for elements */
        }
        ogive_findings before;
        ogive_begin_findings(group, stage, slot, OGIVE_ROWS_AT_ONCE, &before);
        do {
            ogive_partial found[OGIVE_MAX_REDUCTIONS];
            is_undecided = OGIVE_RUN_SEGMENTS(group, row, stage, slot, kind, segments, found);
            for (int r = 0; r < reductions; ++r) {
                group->records[slot + 2 * r][row] = found[r].high;
                group->records[slot + 2 * r + 1][row] = found[r].low;
            }
        } while (ogive_runs_again(group, &before));
        kind += reductions;
    }
    group->records[ogive_mark_slot(group)][row] = is_undecided;
}

/* The first `rows` rows of the group, but for what is undecided. */
FUNCTION void ogive_run_stages(const ogive_row_group *group, intptr_t rows) {
    const OGIVE_ROW_KERNEL *program = group->program;
    for (intptr_t row = 0; group->count > OGIVE_SEGMENT && row < rows; ++row) {
        ogive_run_long_row(group, row);
    }
    /* Short rows stage by stage: what one row waits for, another row computes. */
    for (int stage = 0, slot = group->parameter_count + 1; group->count <= OGIVE_SEGMENT && stage < program->stages; ++stage) {
        ogive_findings before;
        ogive_begin_findings(group, stage, slot, rows, &before);
        do {
            OGIVE_RUN_STAGE(program, stage, group->operands, group->count, group->records, rows, group->steps, 0);
        } while (ogive_runs_again(group, &before));
        slot += 2 * program->reductions_of[stage];
    }
}
