/* Kernels inside of programs that XLA compiled: one handler of its foreign function interface (FFI).
 *
 * XLA calls the handler with buffers and attributes; the attribute `kernel` is a number under which `add_xla_kernel` has
 * put a kernel into the table here, `values` are the operator's parameters. The numbers follow from what the kernels compute,
 * so that a program of XLA's cache on disk means the same kernel in another process.
 *
 * The declarations are the part of XLA's stable C interface (xla/ffi/api/c_api.h, version 0.x) that is needed here. Every
 * structure begins with its size as its writer knows it, and grows at its end only. So nothing has to be compiled where
 * JAX is installed.
 */
#include "native.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- XLA's interface --------------------------------------------------------------------- */

typedef struct xla_extension {
    size_t struct_size;
    int type;
    struct xla_extension *next;
} xla_extension;

typedef struct {
    size_t struct_size;
    xla_extension *extension;
    int major, minor;
} xla_version;

typedef struct {
    size_t struct_size;
    xla_version version;
    uint32_t traits;
} xla_metadata;

typedef struct {
    xla_extension base;
    xla_metadata *metadata;
} xla_metadata_extension;

typedef struct xla_error xla_error;

typedef struct {
    size_t struct_size;
    xla_extension *extension;
    const char *message;
    int code;
} xla_error_args;

typedef struct {
    size_t struct_size;
    xla_extension *extension;
    xla_version version;
    const void *internal;
    xla_error *(*create_error)(xla_error_args *args);
} xla_api;

typedef struct {
    size_t struct_size;
    xla_extension *extension;
    int type;
    void *data;
    int64_t rank;
    int64_t *lengths;
} xla_buffer;

typedef struct {
    size_t struct_size;
    xla_extension *extension;
    int64_t count;
    int *kinds;
    void **items;
} xla_list; /* of arguments, and of results */

typedef struct {
    const char *text;
    size_t length;
} xla_text;

typedef struct {
    int type;
    void *value;
} xla_scalar;

typedef struct {
    int type;
    size_t count;
    void *data;
} xla_array;

typedef struct {
    size_t struct_size;
    xla_extension *extension;
    int64_t count;
    int *kinds;
    xla_text **names;
    void **items;
} xla_attributes;

typedef struct {
    size_t struct_size;
    xla_extension *extension;
    const xla_api *api;
    void *context;
    int stage;
    xla_list arguments;
    xla_list results;
    xla_attributes attributes;
} xla_frame;

enum { XLA_METADATA = 1 };                  /* kinds of extensions */
enum { XLA_BUFFER = 1 };                    /* kinds of arguments and results */
enum { XLA_ARRAY = 1, XLA_SCALAR = 3 };     /* kinds of attributes */
enum { XLA_EXECUTE = 3 };                   /* stages */
enum { XLA_S64 = 5, XLA_F64 = 12 };         /* types of attributes */
enum { XLA_INVALID = 3, XLA_PRECONDITION = 9, XLA_INTERNAL = 13 }; /* codes of errors */
enum { XLA_MAJOR = 0, XLA_MINOR = 3 };

static npy_intp itemsize_of(int type) {
    switch (type) {
    case 1: /* PRED */
    case 2: /* S8 */
    case 6: /* U8 */
        return 1;
    case 3:  /* S16 */
    case 7:  /* U16 */
    case 10: /* F16 */
    case 16: /* BF16 */
        return 2;
    case 4:  /* S32 */
    case 8:  /* U32 */
    case 11: /* F32 */
        return 4;
    case 5:  /* S64 */
    case 9:  /* U64 */
    case 12: /* F64 */
        return 8;
    default:
        return 0;
    }
}

static xla_error *failed(const xla_frame *frame, int code, const char *text) {
    xla_error_args args = {sizeof args, NULL, text, code};
    return frame->api->create_error(&args);
}

/* ---- the kernels that programs name ------------------------------------------------------- */

typedef struct table {
    size_t capacity; /* a power of two */
    size_t count;
    struct table *earlier; /* a thread may still read it: tables stay */
    struct {
        _Atomic int64_t number;
        _Atomic(OgiveKernel *) kernel;
    } places[];
} table;

static _Atomic(table *) known;

static size_t place_of(const table *at, int64_t number) {
    size_t place = (size_t)((uint64_t)number * 0x9E3779B97F4A7C15u >> 32) & (at->capacity - 1);
    while (atomic_load(&at->places[place].kernel) != NULL && atomic_load(&at->places[place].number) != number) {
        place = (place + 1) & (at->capacity - 1);
    }
    return place;
}

static OgiveKernel *find(int64_t number) {
    const table *at = atomic_load(&known);
    return at == NULL ? NULL : atomic_load(&at->places[place_of(at, number)].kernel);
}

static void put(table *at, int64_t number, OgiveKernel *kernel) {
    const size_t place = place_of(at, number);
    atomic_store(&at->places[place].number, number);
    atomic_store(&at->places[place].kernel, kernel);
    at->count += 1;
}

/* Adds a kernel, with the module's lock; 0, or -1 without memory. */
static int add(int64_t number, PyObject *kernel) {
    if (find(number) != NULL) {
        return 0;
    }
    table *at = atomic_load(&known);
    if (at == NULL || 2 * at->count >= at->capacity) {
        const size_t capacity = at == NULL ? 256 : 2 * at->capacity;
        table *larger = calloc(1, sizeof(table) + capacity * sizeof larger->places[0]);
        if (larger == NULL) {
            return -1;
        }
        larger->capacity = capacity;
        larger->earlier = at;
        for (size_t i = 0; at != NULL && i < at->capacity; ++i) {
            OgiveKernel *moved = atomic_load(&at->places[i].kernel);
            if (moved != NULL) {
                put(larger, atomic_load(&at->places[i].number), moved);
            }
        }
        at = larger;
    }
    put(at, number, (OgiveKernel *)Py_NewRef(kernel));
    atomic_store(&known, at);
    return 0;
}

/* Kernels stay: a compiled program may be called as long as the process lives. */
PyObject *ogive_add_xla_kernel(PyObject *module, PyObject *args) {
    long long number;
    PyObject *kernel;
    if (!PyArg_ParseTuple(args, "LO!:add_xla_kernel", &number, ogive_kernel_type, &kernel)) {
        return NULL;
    }
    /* Compiled here, where Python can say what went wrong. */
    if (ogive_kernel_resolve((OgiveKernel *)kernel) == NULL) {
        return NULL;
    }
    int failed;
    OGIVE_LOCK(module);
    failed = add(number, kernel);
    OGIVE_UNLOCK();
    if (failed) {
        return PyErr_NoMemory();
    }
    Py_RETURN_NONE;
}

/* ---- one call ------------------------------------------------------------------------------ */

#define MOST_XLA_AXES 64

typedef struct {
    OgiveLoopData loop;
    double values[OGIVE_MAX_PARAMETERS];
    int operands;
    char *data[OGIVE_MAX_OPERANDS];
    int axis_count;
    npy_intp lengths[MOST_XLA_AXES];                    /* the last axis first */
    npy_intp steps[MOST_XLA_AXES][OGIVE_MAX_OPERANDS]; /* in bytes; 0 where an operand is broadcast */
} xla_call;

/* Axes of all operands, the last one first; axes that lie behind each other in all operands become one. */
static const char *read_axes(xla_call *call, const xla_buffer *const *buffers, int rows) {
    const OgiveKernel *kernel = call->loop.kernel;
    const xla_buffer *like = buffers[kernel->inputs];
    npy_intp step[OGIVE_MAX_OPERANDS];
    for (int k = 0; k < call->operands; ++k) {
        if (buffers[k]->rank != like->rank) {
            return "its operands have different numbers of dimensions";
        }
        step[k] = kernel->itemsizes[k];
    }
    for (int64_t a = like->rank - 1; a >= 0; --a) {
        const int is_row = rows && a == like->rank - 1;
        int64_t length = like->lengths[a];
        for (int k = 0; k < call->operands; ++k) { /* of a row-wise kernel a result may have one number a row */
            length = is_row && !kernel->of_row[k] ? buffers[k]->lengths[a] : length;
        }
        npy_intp here[OGIVE_MAX_OPERANDS];
        int joins = call->axis_count > rows;
        for (int k = 0; k < call->operands; ++k) {
            const int64_t own = buffers[k]->lengths[a];
            if (is_row ? own != (kernel->of_row[k] ? 1 : length) : own != length && (own != 1 || k >= kernel->inputs)) {
                return "the shapes of its operands do not fit";
            }
            here[k] = own == length ? step[k] : 0;
            step[k] *= own;
            joins = joins && here[k] == call->steps[call->axis_count - 1][k] * call->lengths[call->axis_count - 1];
        }
        if (length == 1 && !is_row) {
            continue;
        }
        if (joins) {
            call->lengths[call->axis_count - 1] *= length;
            continue;
        }
        if (call->axis_count == MOST_XLA_AXES) {
            return "its operands have more than 64 dimensions";
        }
        call->lengths[call->axis_count] = length;
        memcpy(call->steps[call->axis_count++], here, sizeof here);
    }
    return NULL;
}

static const char *read_call(xla_call *call, const xla_frame *frame) {
    const OgiveKernel *kernel = call->loop.kernel;
    const xla_buffer *buffers[OGIVE_MAX_OPERANDS] = {NULL};
    if (frame->arguments.count != kernel->inputs || frame->results.count != kernel->outputs) {
        return "it was called with another number of operands";
    }
    call->operands = kernel->inputs + kernel->outputs;
    for (int k = 0; k < call->operands; ++k) {
        const int is_input = k < kernel->inputs;
        const xla_list *list = is_input ? &frame->arguments : &frame->results;
        const int at = is_input ? k : k - kernel->inputs;
        buffers[k] = list->items[at];
        if (list->kinds[at] != XLA_BUFFER || itemsize_of(buffers[k]->type) != kernel->itemsizes[k]) {
            return "its operands have other element types";
        }
        call->data[k] = buffers[k]->data;
    }
    return read_axes(call, buffers, kernel->row_wise);
}

/* Calls `run` for every position of the axes from `first` on. */
static void over_outer_axes(xla_call *call, int first, void (*run)(xla_call *, char **)) {
    npy_intp calls = 1;
    for (int a = first; a < call->axis_count; ++a) {
        calls *= call->lengths[a];
    }
    for (npy_intp i = 0; i < calls; ++i) {
        char *data[OGIVE_MAX_OPERANDS];
        memcpy(data, call->data, sizeof data);
        npy_intp rest = i;
        for (int a = first; a < call->axis_count; ++a) {
            const npy_intp at = rest % call->lengths[a];
            rest /= call->lengths[a];
            for (int k = 0; k < call->operands; ++k) {
                data[k] += at * call->steps[a][k];
            }
        }
        run(call, data);
    }
}

static void run_line(xla_call *call, char **data) {
    ogive_element_loop(data, call->lengths, call->steps[0], &call->loop);
}

static void run_grid(xla_call *call, char **data) {
    OgiveAxis axes[OGIVE_MAX_AXES];
    const int count = call->axis_count < OGIVE_MAX_AXES ? call->axis_count : OGIVE_MAX_AXES;
    for (int a = 0; a < count; ++a) {
        axes[a].length = call->lengths[a];
        memcpy(axes[a].steps, call->steps[a], (size_t)call->operands * sizeof(npy_intp));
    }
    ogive_element_grid(data, axes, count, &call->loop);
}

static void run_elements(xla_call *call) {
    const OgiveKernel *kernel = call->loop.kernel;
    int plain = call->axis_count <= 1;
    for (int k = 0; plain && k < call->operands; ++k) {
        plain = call->axis_count == 0 || call->steps[0][k] == kernel->itemsizes[k];
    }
    if (plain) {
        ogive_plain_elements(call->data, call->axis_count ? call->lengths[0] : 1, kernel->itemsizes, &call->loop);
    } else if (call->axis_count == 1 || call->operands > OGIVE_MAX_GRID_OPERANDS) {
        over_outer_axes(call, 1, run_line);
    } else {
        over_outer_axes(call, OGIVE_MAX_AXES, run_grid);
    }
}

/* Rows along the first axis here, many of them along the second. */
static void run_these_rows(xla_call *call, char **data) {
    npy_intp steps[2 * OGIVE_MAX_OPERANDS];
    for (int k = 0; k < call->operands; ++k) {
        steps[k] = call->axis_count > 1 ? call->steps[1][k] : 0;
        steps[call->operands + k] = call->loop.kernel->itemsizes[k];
    }
    const npy_intp dimensions[] = {call->axis_count > 1 ? call->lengths[1] : 1, call->lengths[0], call->lengths[0]};
    ogive_row_loop(data, dimensions, steps, &call->loop);
}

static xla_error *execute(const xla_frame *frame) {
    int64_t number = 0;
    xla_call call = {0};
    char text[512];
    for (int64_t i = 0; i < frame->attributes.count; ++i) {
        const xla_text *name = frame->attributes.names[i];
        if (name->length != 6) { /* both are that long */
            continue;
        }
        if (memcmp(name->text, "kernel", 6) == 0 && frame->attributes.kinds[i] == XLA_SCALAR) {
            const xla_scalar *scalar = frame->attributes.items[i];
            number = scalar->type == XLA_S64 ? *(const int64_t *)scalar->value : 0;
        } else if (memcmp(name->text, "values", 6) == 0 && frame->attributes.kinds[i] == XLA_ARRAY) {
            const xla_array *array = frame->attributes.items[i];
            if (array->type != XLA_F64 || array->count > OGIVE_MAX_PARAMETERS) {
                return failed(frame, XLA_INVALID, "ogive.jax: the parameters are no array of float64");
            }
            memcpy(call.values, array->data, array->count * sizeof(double));
            call.loop.parameter_count = (int)array->count;
        }
    }
    call.loop.kernel = find(number);
    call.loop.parameters = call.values;
    if (call.loop.kernel == NULL) {
        snprintf(text, sizeof text,
                 "ogive.jax: this process does not know kernel %lld of a program that was compiled in another one. Trace "
                 "the function with ogive.jax here first, for the same element types.",
                 (long long)number);
        return failed(frame, XLA_PRECONDITION, text);
    }
    const char *reason = read_call(&call, frame);
    if (reason != NULL) {
        snprintf(text, sizeof text, "ogive.jax: kernel %lld: %s.", (long long)number, reason);
        return failed(frame, XLA_INVALID, text);
    }
    for (int a = 0; a < call.axis_count; ++a) {
        if (call.lengths[a] == 0 && !(call.loop.kernel->reduces && a == 0)) {
            return NULL;
        }
    }
    ogive_failures = 0;
    if (call.loop.kernel->row_wise) {
        if (call.axis_count < 1) {
            return failed(frame, XLA_INVALID, "ogive.jax: an operator over rows was given a single number.");
        }
        over_outer_axes(&call, 2, run_these_rows);
    } else {
        run_elements(&call);
    }
    if (ogive_failures == 0) {
        return NULL;
    }
    /* The exception was set in this thread's state, or in one that is gone. */
    PyGILState_STATE lock = PyGILState_Ensure();
    PyErr_Clear();
    PyGILState_Release(lock);
    return failed(frame, XLA_INTERNAL, "ogive.jax: computing again what a kernel could not decide failed.");
}

static xla_error *handle(xla_frame *frame) {
    for (xla_extension *one = frame->extension; one != NULL; one = one->next) {
        if (one->type == XLA_METADATA) { /* asked once, when the handler is registered */
            xla_metadata *metadata = ((xla_metadata_extension *)one)->metadata;
            metadata->version.major = XLA_MAJOR;
            metadata->version.minor = XLA_MINOR;
            metadata->traits = 0;
            return NULL;
        }
    }
    if (frame->struct_size < sizeof(xla_frame)) {
        return failed(frame, XLA_PRECONDITION, "ogive.jax: this version of XLA is older than its interface 0.3.");
    }
    return frame->stage == XLA_EXECUTE ? execute(frame) : NULL;
}

PyObject *ogive_xla_handler(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    xla_error *(*handler)(xla_frame *) = handle;
    void *pointer;
    memcpy(&pointer, &handler, sizeof pointer);
    return PyCapsule_New(pointer, "xla._CUSTOM_CALL_TARGET", NULL);
}
