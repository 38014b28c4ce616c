/* Custom operators for ONNX Runtime: what all of them have in common. custom_operators.py puts the operators' table behind it.
 *
 * ONNX Runtime hands over a table of functions. It only grows, so the places of these are the same in every version since
 * 1.16. The function that shares work among threads is there since 1.17, and is asked for by that version.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef void Status; /* NULL is success */
typedef const void *const *Api;

enum {
    CREATE_STATUS = 0, CREATE_DOMAIN = 26, ADD_TO_DOMAIN = 27, ADD_DOMAIN = 28, DATA = 51, RANK = 61, SHAPE = 62,
    TYPE_AND_SHAPE = 65, GET_FLOAT = 85, GET_INTEGER = 86, GET_TEXT = 87, INPUT = 90, OUTPUT = 91, RELEASE_STATUS = 93,
    RELEASE_SHAPE = 99, PARALLEL = 274
};
enum { API_VERSION = 16, API_WITH_THREADS = 17, OUT_OF_ARGUMENTS = 2 };
enum { MOST_OPERANDS = 32, MOST_AXES = 32, MOST_PARAMETERS = 64, ELEMENTS_OF_A_SHARE = 16384 };

struct api_base {
    Api (*get_api)(uint32_t version);
    const char *(*get_version)(void);
};

/* OrtCustomOp, as of version 16. */
struct custom_op {
    uint32_t version;
    void *(*create)(const struct custom_op *, Api, const void *);
    const char *(*name)(const struct custom_op *);
    const char *(*provider)(const struct custom_op *);
    int (*input_type)(const struct custom_op *, size_t);
    size_t (*inputs)(const struct custom_op *);
    int (*output_type)(const struct custom_op *, size_t);
    size_t (*outputs)(const struct custom_op *);
    void (*compute)(void *, void *);
    void (*destroy)(void *);
    int (*input_kind)(const struct custom_op *, size_t);
    int (*output_kind)(const struct custom_op *, size_t);
    int (*memory)(const struct custom_op *, size_t);
    int (*arity[4])(const struct custom_op *);
    Status *(*create_2)(const struct custom_op *, Api, const void *, void **);
    Status *(*compute_2)(void *, void *);
    void *of_later_versions[8];
};

/* Elements begin to end; of rows, rows of count elements. The strided one takes distances in bytes. */
struct task {
    char *data[MOST_OPERANDS];
    ptrdiff_t step[MOST_OPERANDS], row[MOST_OPERANDS];
    size_t count;
    const double *values;
    void *scratch;
};
struct function {
    void (*plain)(const struct task *, size_t begin, size_t end);
    void (*strided)(const struct task *, size_t begin, size_t end);
    size_t (*scratch)(size_t count);
};
struct op {
    struct custom_op base;
    const char *name;
    int inputs, outputs, is_row_wise;
    const int *types, *sizes, *of_row; /* of all operands: inputs, then outputs; of_row have one number a row */
    int parameters;
    const char *const *parameter_names;
    const double *defaults;
    const char *choice; /* the attribute that selects one of the functions, or NULL */
    int choices;
    const char *const *choice_values;
    const struct function *functions;
};
struct kernel {
    const struct op *op;
    const struct function *function;
    Api api;
    int64_t axis;
    double values[MOST_PARAMETERS];
};

static Api the_api, api_with_threads;

static Status *failure(Api api, const char *text) {
    return ((Status * (*)(int, const char *)) api[CREATE_STATUS])(OUT_OF_ARGUMENTS, text);
}
static int failed(Api api, Status *status) { /* what is missing has its default */
    if (status != NULL) {
        ((void (*)(Status *))api[RELEASE_STATUS])(status);
    }
    return status != NULL;
}

static const struct op *op_of(const struct custom_op *base) { return (const struct op *)base; }
static const char *get_name(const struct custom_op *base) { return op_of(base)->name; }
static const char *get_provider(const struct custom_op *base) { (void)base; return NULL; }
static int input_type(const struct custom_op *base, size_t i) { return op_of(base)->types[i]; }
static size_t inputs(const struct custom_op *base) { return (size_t)op_of(base)->inputs; }
static int output_type(const struct custom_op *base, size_t i) { return op_of(base)->types[op_of(base)->inputs + (int)i]; }
static size_t outputs(const struct custom_op *base) { return (size_t)op_of(base)->outputs; }
static int required(const struct custom_op *base, size_t i) { (void)base; (void)i; return 0; }
static int one(const struct custom_op *base) { (void)base; return 1; }
static void destroy(void *kernel) { free(kernel); }

static Status *create(const struct custom_op *base, Api api, const void *info, void **result) {
    const struct op *op = op_of(base);
    struct kernel *kernel = calloc(1, sizeof *kernel);
    if (kernel == NULL) {
        return failure(api, "ogive: out of memory");
    }
    kernel->op = op, kernel->api = api, kernel->function = op->functions, kernel->axis = -1;
    for (int i = 0; i < op->parameters; i++) {
        float value;
        Status *status = ((Status * (*)(const void *, const char *, float *)) api[GET_FLOAT])(info, op->parameter_names[i], &value);
        kernel->values[i] = failed(api, status) ? op->defaults[i] : (double)value;
    }
    if (op->is_row_wise) {
        int64_t axis;
        if (!failed(api, ((Status * (*)(const void *, const char *, int64_t *)) api[GET_INTEGER])(info, "axis", &axis))) {
            kernel->axis = axis;
        }
    }
    if (op->choice != NULL) {
        char text[64] = "";
        size_t size = sizeof text;
        if (!failed(api, ((Status * (*)(const void *, const char *, char *, size_t *)) api[GET_TEXT])(info, op->choice, text, &size))) {
            int chosen = 0;
            while (chosen < op->choices && strcmp(text, op->choice_values[chosen]) != 0) {
                chosen++;
            }
            if (chosen == op->choices) {
                free(kernel);
                return failure(api, "ogive: an attribute has a value that the operator does not know");
            }
            kernel->function = op->functions + chosen;
        }
    }
    *result = kernel;
    return NULL;
}

/* ---- the work, in shares */

struct work {
    const struct function *function;
    const struct task *task;
    size_t total, share; /* in elements, rows or, where axes are given, in runs along the last axis or in rows of them */
    int is_row_wise, is_plain, operands, axes, no_memory;
    /* of operands that are broadcast: the axes of runs, or of rows */
    int64_t sizes[MOST_AXES];
    ptrdiff_t strides[MOST_OPERANDS][MOST_AXES];
};

/* Where operands are at a place, which counts over the first axes. */
static void go_to(const struct work *work, struct task *task, size_t place, int axes) {
    for (int k = 0; k < work->operands; k++) {
        task->data[k] = work->task->data[k];
    }
    for (int axis = axes - 1; axis >= 0; axis--) {
        const size_t at = place % (size_t)work->sizes[axis];
        place /= (size_t)work->sizes[axis];
        for (int k = 0; k < work->operands; k++) {
            task->data[k] += (ptrdiff_t)at * work->strides[k][axis];
        }
    }
}

static void runs_of_elements(const struct work *work, size_t begin, size_t end) {
    struct task task = *work->task;
    const int last = work->axes - 1;
    for (size_t run = begin; run < end; run++) {
        go_to(work, &task, run, last);
        work->function->strided(&task, 0, (size_t)work->sizes[last]);
    }
}

static void runs_of_rows(const struct work *work, struct task *task, size_t begin, size_t end) {
    const size_t length = (size_t)work->sizes[work->axes - 1];
    while (begin < end) {
        const size_t first = begin % length, left = end - begin;
        const size_t rows = length - first < left ? length - first : left;
        go_to(work, task, begin / length, work->axes - 1);
        work->function->strided(task, first, first + rows);
        begin += rows;
    }
}

static void share(void *data, size_t number) {
    struct work *work = data;
    const size_t begin = number * work->share;
    const size_t end = begin + work->share < work->total ? begin + work->share : work->total;
    if (work->is_row_wise) {
        struct task task = *work->task;
        const size_t bytes = work->function->scratch(task.count);
        task.scratch = malloc(bytes ? bytes : 1);
        if (task.scratch == NULL) {
            work->no_memory = 1;
        } else if (work->axes) {
            runs_of_rows(work, &task, begin, end);
        } else {
            (work->is_plain ? work->function->plain : work->function->strided)(&task, begin, end);
        }
        free(task.scratch);
    } else if (work->is_plain) {
        work->function->plain(work->task, begin, end);
    } else {
        runs_of_elements(work, begin, end);
    }
}

static Status *shared_out(const struct kernel *kernel, void *context, struct work *work, size_t elements_of_one) {
    work->share = ELEMENTS_OF_A_SHARE / (elements_of_one ? elements_of_one : 1);
    work->share = work->share ? work->share : 1;
    const size_t shares = (work->total + work->share - 1) / work->share;
    if (shares < 2 || api_with_threads == NULL) {
        for (size_t i = 0; i < shares; i++) {
            share(work, i);
        }
    } else {
        Status *status = ((Status * (*)(const void *, void (*)(void *, size_t), size_t, size_t, void *))
                              api_with_threads[PARALLEL])(context, share, shares, 0, work);
        if (status != NULL) {
            return status;
        }
    }
    return work->no_memory ? failure(kernel->api, "ogive: out of memory") : NULL;
}

/* ---- operands */

struct shape {
    size_t rank;
    int64_t sizes[MOST_AXES];
};

static Status *read_input(Api api, void *context, size_t i, char **data, struct shape *shape) {
    void *value;
    void *info;
    Status *status = ((Status * (*)(void *, size_t, void **)) api[INPUT])(context, i, &value);
    if (status != NULL || (status = ((Status * (*)(void *, void **)) api[TYPE_AND_SHAPE])(value, &info)) != NULL) {
        return status;
    }
    status = ((Status * (*)(void *, size_t *)) api[RANK])(info, &shape->rank);
    if (status == NULL && shape->rank > MOST_AXES) {
        status = failure(api, "ogive: a tensor has more than 32 axes");
    }
    if (status == NULL) {
        status = ((Status * (*)(void *, int64_t *, size_t)) api[SHAPE])(info, shape->sizes, shape->rank);
    }
    ((void (*)(void *))api[RELEASE_SHAPE])(info);
    return status != NULL ? status : ((Status * (*)(void *, char **)) api[DATA])(value, data);
}

static Status *make_output(Api api, void *context, size_t i, const struct shape *shape, char **data) {
    void *value;
    Status *status = ((Status * (*)(void *, size_t, const int64_t *, size_t, void **)) api[OUTPUT])(
        context, i, shape->sizes, shape->rank, &value);
    return status != NULL ? status : ((Status * (*)(void *, char **)) api[DATA])(value, data);
}

/* How far apart the elements of an operand lie along the axes of the result; 0 where it is broadcast. */
static void find_strides(ptrdiff_t *strides, const struct shape *shape, size_t rank, ptrdiff_t size) {
    for (size_t axis = rank; axis-- > 0;) {
        const size_t missing = rank - shape->rank;
        const int64_t own = axis < missing ? 1 : shape->sizes[axis - missing];
        strides[axis] = own == 1 ? 0 : size;
        size *= (ptrdiff_t)own;
    }
}

/* Neighbouring axes become one where all operands step over both as over one. */
static void join_axes(struct work *work) {
    int axes = 1;
    for (int axis = 1; axis < work->axes; axis++) {
        int is_one = 1;
        for (int k = 0; k < work->operands; k++) {
            is_one &= work->strides[k][axes - 1] == work->strides[k][axis] * work->sizes[axis];
        }
        is_one |= work->sizes[axes - 1] == 1;
        work->sizes[axes - 1] = is_one ? work->sizes[axes - 1] * work->sizes[axis] : work->sizes[axes - 1];
        axes += !is_one;
        for (int k = 0; k < work->operands; k++) {
            work->strides[k][axes - 1] = work->strides[k][axis];
        }
        work->sizes[axes - 1] = is_one ? work->sizes[axes - 1] : work->sizes[axis];
    }
    work->axes = axes;
}

static Status *compute_elements(const struct kernel *kernel, void *context, struct work *work, const struct shape *shapes,
                                const struct shape *all, size_t elements) {
    if (work->is_plain) {
        work->total = elements;
        return shared_out(kernel, context, work, 1);
    }
    struct task task = *work->task;
    work->task = &task, work->axes = (int)all->rank;
    memcpy(work->sizes, all->sizes, all->rank * sizeof *all->sizes);
    for (int k = 0; k < work->operands; k++) {
        find_strides(work->strides[k], &shapes[k], all->rank, kernel->op->sizes[k]);
    }
    join_axes(work);
    const size_t length = (size_t)work->sizes[work->axes - 1];
    for (int k = 0; k < work->operands; k++) {
        task.step[k] = work->strides[k][work->axes - 1];
    }
    work->total = elements / length;
    return shared_out(kernel, context, work, length);
}

/* Rows along the last axis, where operands are broadcast or have one number a row. */
static Status *compute_broadcast_rows(const struct kernel *kernel, void *context, struct work *work,
                                      const struct shape *shapes, const struct shape *all) {
    const struct op *op = kernel->op;
    struct task task = *work->task;
    const size_t last = all->rank - 1;
    work->task = &task, work->is_plain = 0, task.count = (size_t)all->sizes[last];
    work->axes = 1, work->sizes[0] = 1, work->total = 1;
    for (size_t axis = 0; axis < last; axis++) {
        work->sizes[axis] = all->sizes[axis];
        work->total *= (size_t)all->sizes[axis];
        work->axes = (int)axis + 1;
    }
    for (int k = 0; k < work->operands; k++) {
        ptrdiff_t strides[MOST_AXES] = {0};
        const int64_t own = shapes[k].rank ? shapes[k].sizes[shapes[k].rank - 1] : 1;
        if (own != (op->of_row[k] ? 1 : all->sizes[last])) {
            return failure(kernel->api, "ogive: the operands of an operator of rows differ in shape");
        }
        find_strides(strides, &shapes[k], all->rank, op->sizes[k]);
        task.step[k] = op->sizes[k];
        work->strides[k][0] = 0;
        memcpy(work->strides[k], strides, last * sizeof *strides);
    }
    join_axes(work);
    for (int k = 0; k < work->operands; k++) {
        task.row[k] = work->strides[k][work->axes - 1];
    }
    return shared_out(kernel, context, work, task.count);
}

static Status *compute_rows(const struct kernel *kernel, void *context, struct work *work, const struct shape *shapes,
                            const struct shape *all, size_t elements) {
    const int64_t rank = (int64_t)all->rank, axis = kernel->axis < 0 ? kernel->axis + rank : kernel->axis;
    if (axis < 0 || axis >= rank) {
        return failure(kernel->api, "ogive: axis is none of the tensor's axes");
    }
    if (!work->is_plain && axis == rank - 1) {
        return compute_broadcast_rows(kernel, context, work, shapes, all);
    }
    if (!work->is_plain) {
        return failure(kernel->api, "ogive: the operands of an operator of rows differ in shape");
    }
    struct task task = *work->task;
    size_t inner = 1;
    for (int64_t k = axis + 1; k < rank; k++) {
        inner *= (size_t)all->sizes[k];
    }
    work->task = &task, task.count = (size_t)all->sizes[axis];
    if (inner == 1) {
        work->total = elements / task.count;
        return shared_out(kernel, context, work, task.count);
    }
    Status *status = NULL;
    work->is_plain = 0, work->total = inner;
    for (size_t outer = 0; status == NULL && outer < elements / task.count / inner; outer++) {
        for (int k = 0; k < work->operands; k++) {
            task.row[k] = kernel->op->sizes[k], task.step[k] = (ptrdiff_t)inner * kernel->op->sizes[k];
        }
        status = shared_out(kernel, context, work, task.count);
        for (int k = 0; k < work->operands; k++) {
            task.data[k] += (ptrdiff_t)(task.count * inner) * kernel->op->sizes[k];
        }
    }
    return status;
}

static Status *compute(void *data, void *context) {
    const struct kernel *kernel = data;
    const struct op *op = kernel->op;
    const int operands = op->inputs + op->outputs;
    struct task task;
    struct shape shapes[MOST_OPERANDS], all = {0, {0}};
    struct work work;
    Status *status = NULL;
    work.function = kernel->function, work.task = &task, work.is_row_wise = op->is_row_wise, work.is_plain = 1;
    work.operands = operands, work.axes = 0, work.no_memory = 0;
    task.values = kernel->values, task.scratch = NULL, task.count = 0;
    for (int k = 0; k < op->inputs; k++) {
        if ((status = read_input(kernel->api, context, (size_t)k, &task.data[k], &shapes[k])) != NULL) {
            return status;
        }
        all.rank = shapes[k].rank > all.rank ? shapes[k].rank : all.rank;
    }
    for (size_t axis = 0; axis < all.rank; axis++) {
        all.sizes[axis] = 1;
        for (int k = 0; k < op->inputs; k++) {
            const size_t missing = all.rank - shapes[k].rank;
            const int64_t size = axis < missing ? 1 : shapes[k].sizes[axis - missing];
            if (size != 1 && all.sizes[axis] != 1 && size != all.sizes[axis]) {
                return failure(kernel->api, "ogive: the shapes of the operands do not fit together");
            }
            all.sizes[axis] = size != 1 ? size : all.sizes[axis];
        }
    }
    for (int k = op->inputs; k < operands; k++) {
        shapes[k] = all;
        if (op->of_row[k] && all.rank) {
            shapes[k].sizes[all.rank - 1] = 1;
        }
        if ((status = make_output(kernel->api, context, (size_t)(k - op->inputs), &shapes[k], &task.data[k])) != NULL) {
            return status;
        }
    }
    size_t elements = 1;
    for (size_t axis = 0; axis < all.rank; axis++) {
        elements *= (size_t)all.sizes[axis];
    }
    if (elements == 0) {
        return NULL;
    }
    for (int k = 0; k < operands; k++) {
        size_t own = 1;
        for (size_t axis = 0; axis < shapes[k].rank; axis++) {
            own *= (size_t)shapes[k].sizes[axis];
        }
        work.is_plain &= own == elements && !op->of_row[k];
    }
    return (op->is_row_wise ? compute_rows : compute_elements)(kernel, context, &work, shapes, &all, elements);
}

#define BASE {API_VERSION, NULL, get_name, get_provider, input_type, inputs, output_type, outputs, NULL, destroy, \
    required, required, required, {one, one, one, one}, create, compute, {NULL}}
