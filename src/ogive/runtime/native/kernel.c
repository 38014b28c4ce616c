/* The loop that NumPy calls, and the kernel that it runs.
 *
 * Compiled code knows one layout only: contiguous. Operands with another stride are staged through
 * buffers in the first-level cache, a chunk at a time; so there is one code path for every layout, and
 * the bits of an element cannot depend on where it lies.
 */
#include "native.h"
#include "floating_point.h"

#include <string.h>

/* All staging buffers of one thread together. Two of them fit a 128 KiB stack. */
#define STAGING_BYTES 32768
#define LARGEST_CHUNK 2048

PyTypeObject *ogive_kernel_type;

/* ---- strided copies ------------------------------------------------------------------------- */

#define STRIDED_COPY(type)                                                                       \
    for (npy_intp i = 0; i < count; ++i, to += to_step, from += from_step) {                    \
        *(type *)to = *(const type *)from;                                                       \
    }                                                                                            \
    break;

/* NumPy hands over operands that are aligned to their element size. */
static void strided_copy(char *to, npy_intp to_step, const char *from, npy_intp from_step,
                         npy_intp count, npy_intp itemsize) {
    switch (itemsize) {
        case 1: STRIDED_COPY(uint8_t)
        case 2: STRIDED_COPY(uint16_t)
        case 4: STRIDED_COPY(uint32_t)
        default: STRIDED_COPY(uint64_t)
    }
}

/* ---- one range of a loop -------------------------------------------------------------------- */

typedef struct {
    const OgiveKernel *kernel;
    ogive_kernel_function function;
    const double *parameters;
    char **operands;
    const npy_intp *steps;
    int contiguous;
} range_context;

/* Elements [begin, end) through buffers. Operands that are contiguous are used where they lie, but for the
 * last, incomplete block (`everything`), which the code must not read or write past. */
static void run_staged(const range_context *context, npy_intp begin, npy_intp end, int everything) {
    const OgiveKernel *kernel = context->kernel;
    const int operands = kernel->inputs + kernel->outputs;
    _Alignas(64) char staging[STAGING_BYTES];
    void *pointers[OGIVE_MAX_OPERANDS];
    char *buffers[OGIVE_MAX_OPERANDS]; /* NULL: the operand is used where it lies */
    char *cursor = staging;

    for (int k = 0; k < operands; ++k) {
        npy_intp itemsize = kernel->itemsizes[k], step = context->steps[k];
        buffers[k] = NULL;
        if (everything || step != itemsize) {
            buffers[k] = cursor;
            cursor += kernel->chunk * itemsize;
            if (k < kernel->inputs && step == 0) { /* broadcast: the buffer is filled once */
                npy_intp count = end - begin < kernel->chunk ? end - begin : kernel->chunk;
                strided_copy(buffers[k], itemsize, context->operands[k], 0, count, itemsize);
            }
        }
    }
    for (npy_intp at = begin; at < end; at += kernel->chunk) {
        npy_intp count = end - at < kernel->chunk ? end - at : kernel->chunk;
        npy_intp padded = (count + kernel->block - 1) / kernel->block * kernel->block;
        for (int k = 0; k < operands; ++k) {
            npy_intp itemsize = kernel->itemsizes[k], step = context->steps[k];
            char *operand = context->operands[k] + at * step;
            pointers[k] = buffers[k] != NULL ? buffers[k] : operand;
            if (k < kernel->inputs && buffers[k] != NULL) {
                if (step != 0) {
                    strided_copy(buffers[k], itemsize, operand, step, count, itemsize);
                }
                /* The lanes that pad the last block: any value does, as long as it is one. */
                memset(buffers[k] + count * itemsize, 0, (size_t)((padded - count) * itemsize));
            }
        }
        context->function(pointers, padded, context->parameters);
        for (int k = kernel->inputs; k < operands; ++k) {
            if (buffers[k] != NULL) {
                strided_copy(context->operands[k] + at * context->steps[k], context->steps[k],
                             buffers[k], kernel->itemsizes[k], count, kernel->itemsizes[k]);
            }
        }
    }
}

static void run_range(void *opaque, intptr_t begin, intptr_t end) {
    const range_context *context = opaque;
    const OgiveKernel *kernel = context->kernel;
    const npy_intp whole_end = begin + (end - begin) / kernel->block * kernel->block;
    ogive_fp_state saved = ogive_fp_enter();
    if (whole_end > begin) {
        if (context->contiguous) {
            void *pointers[OGIVE_MAX_OPERANDS];
            for (int k = 0; k < kernel->inputs + kernel->outputs; ++k) {
                pointers[k] = context->operands[k] + begin * context->steps[k];
            }
            context->function(pointers, whole_end - begin, context->parameters);
        } else {
            run_staged(context, begin, whole_end, 0);
        }
    }
    if (end > whole_end) {
        run_staged(context, whole_end, end, 1);
    }
    ogive_fp_leave(saved);
}

/* One element after the other, each written before the next is read. */
static void run_in_order(const range_context *context, npy_intp count) {
    for (npy_intp i = 0; i < count; ++i) {
        run_range((void *)context, i, i + 1);
    }
}

/* ---- the loop ------------------------------------------------------------------------------- */

/* Whether an output lies over an input other than element on element. NumPy copies such operands in
 * ordinary calls; reduce and accumulate pass them on purpose and expect sequential execution. */
static int depends_on_order(const range_context *context, npy_intp count) {
    const OgiveKernel *kernel = context->kernel;
    for (int o = kernel->inputs; o < kernel->inputs + kernel->outputs; ++o) {
        const char *out = context->operands[o];
        npy_intp out_reach = context->steps[o] * (count - 1);
        const char *out_low = out_reach < 0 ? out + out_reach : out;
        const char *out_high = (out_reach < 0 ? out : out + out_reach) + kernel->itemsizes[o];
        for (int k = 0; k < kernel->inputs; ++k) {
            const char *in = context->operands[k];
            npy_intp in_reach = context->steps[k] * (count - 1);
            const char *in_low = in_reach < 0 ? in + in_reach : in;
            const char *in_high = (in_reach < 0 ? in : in + in_reach) + kernel->itemsizes[k];
            int same = in == out && context->steps[k] == context->steps[o] &&
                       kernel->itemsizes[k] == kernel->itemsizes[o] && context->steps[o] != 0;
            if (!same && in_low < out_high && out_low < in_high) {
                return 1;
            }
        }
    }
    return 0;
}

/* Takes over what `resolve` answered; 0, or -1 with an error set. */
static int accept(OgiveKernel *kernel, PyObject *answer) {
    PyObject *code;
    Py_ssize_t block, threshold;
    if (!PyTuple_Check(answer) || !PyArg_ParseTuple(answer, "O!nn", ogive_code_type, &code, &block, &threshold)) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "Kernel: resolve must return (Code, block, parallel threshold)");
        }
        return -1;
    }
    if (block < 1 || block > STAGING_BYTES / kernel->bytes) {
        PyErr_Format(PyExc_ValueError, "Kernel: block is %zd; 1 to %zd are possible for %zd bytes an element",
                     block, (Py_ssize_t)(STAGING_BYTES / kernel->bytes), (Py_ssize_t)kernel->bytes);
        return -1;
    }
    if (atomic_load(&kernel->function) != NULL) { /* another thread was here while the compiler ran */
        return 0;
    }
    npy_intp chunk = STAGING_BYTES / kernel->bytes < LARGEST_CHUNK ? STAGING_BYTES / kernel->bytes : LARGEST_CHUNK;
    kernel->block = block;
    kernel->chunk = chunk < block ? block : chunk / block * block;
    kernel->parallel_threshold = threshold < 2 ? 2 : threshold;
    kernel->code = Py_NewRef(code);
    atomic_store(&kernel->function, ogive_code_entry(code));
    Py_CLEAR(kernel->resolve);
    return 0;
}

/* Compiles the kernel. NumPy calls loops with or without the interpreter's lock; on failure the error
 * is left set and NULL comes back. */
static ogive_kernel_function resolve(OgiveKernel *kernel) {
    PyGILState_STATE lock = PyGILState_Ensure();
    /* The compiler raises floating-point flags, which NumPy would report as this call's. */
    ogive_fp_state saved = ogive_fp_enter();
    if (atomic_load(&kernel->function) == NULL) {
        if (kernel->resolve == NULL) {
            PyErr_SetString(PyExc_RuntimeError, "Kernel: it was cleared and cannot be compiled any more");
        } else {
            PyObject *resolver = Py_NewRef(kernel->resolve);
            PyObject *answer = PyObject_CallNoArgs(resolver);
            Py_DECREF(resolver);
            if (answer != NULL) {
                accept(kernel, answer);
                Py_DECREF(answer);
            }
        }
    }
    ogive_kernel_function function = atomic_load(&kernel->function);
    ogive_fp_leave(saved);
    PyGILState_Release(lock);
    return function;
}

void ogive_loop(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data) {
    const OgiveLoopData *loop = data;
    OgiveKernel *kernel = loop->kernel;
    npy_intp count = dimensions[0];
    if (count <= 0) {
        return;
    }
    range_context context = {kernel, atomic_load(&kernel->function), loop->parameters, args, steps, 1};
    if (context.function == NULL && (context.function = resolve(kernel)) == NULL) {
        return;
    }
    for (int k = 0; k < kernel->inputs + kernel->outputs; ++k) {
        context.contiguous &= steps[k] == kernel->itemsizes[k];
    }
    if (count > 1 && depends_on_order(&context, count)) {
        run_in_order(&context, count);
    } else if (count >= kernel->parallel_threshold) {
        ogive_pool_run(run_range, &context, count, kernel->parallel_threshold / 2);
    } else {
        run_range(&context, 0, count);
    }
}

/* ---- the type ------------------------------------------------------------------------------- */

static int read_itemsizes(OgiveKernel *self, PyObject *sizes, int offset, int *count) {
    if (!PyTuple_Check(sizes)) {
        PyErr_SetString(PyExc_TypeError, "Kernel: item sizes must be a tuple of int");
        return -1;
    }
    Py_ssize_t length = PyTuple_GET_SIZE(sizes);
    if (length < 1 || length + offset > OGIVE_MAX_OPERANDS) {
        PyErr_Format(PyExc_ValueError, "Kernel: %zd operands; 1 to %d are possible, inputs and outputs together",
                     length + offset, OGIVE_MAX_OPERANDS);
        return -1;
    }
    for (Py_ssize_t i = 0; i < length; ++i) {
        Py_ssize_t size = PyLong_AsSsize_t(PyTuple_GET_ITEM(sizes, i));
        if (size == -1 && PyErr_Occurred()) {
            return -1;
        }
        if (size != 1 && size != 2 && size != 4 && size != 8) {
            PyErr_Format(PyExc_ValueError, "Kernel: item size %zd; 1, 2, 4 or 8 are possible", size);
            return -1;
        }
        self->itemsizes[offset + i] = size;
    }
    *count = (int)length;
    return 0;
}

static PyObject *kernel_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"inputs", "outputs", "resolve", NULL};
    PyObject *inputs, *outputs, *resolver;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOO:Kernel", names, &inputs, &outputs, &resolver)) {
        return NULL;
    }
    OgiveKernel *self = (OgiveKernel *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    if (read_itemsizes(self, inputs, 0, &self->inputs) < 0 ||
        read_itemsizes(self, outputs, self->inputs, &self->outputs) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    for (int k = 0; k < self->inputs + self->outputs; ++k) {
        self->bytes += self->itemsizes[k];
    }
    self->resolve = Py_NewRef(resolver);
    atomic_init(&self->function, NULL);
    return (PyObject *)self;
}

static int kernel_traverse(PyObject *object, visitproc visit, void *arg) {
    OgiveKernel *self = (OgiveKernel *)object;
    Py_VISIT(self->resolve);
    Py_VISIT(self->code);
    Py_VISIT(Py_TYPE(object));
    return 0;
}

static int kernel_clear(PyObject *object) {
    Py_CLEAR(((OgiveKernel *)object)->resolve);
    return 0; /* `code` stays: a loop may still run it */
}

static void kernel_dealloc(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    kernel_clear(object);
    Py_CLEAR(((OgiveKernel *)object)->code);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyObject *kernel_prepare(PyObject *object, PyObject *unused) {
    (void)unused;
    OgiveKernel *self = (OgiveKernel *)object;
    if (atomic_load(&self->function) == NULL && resolve(self) == NULL) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *kernel_is_prepared(PyObject *object, void *unused) {
    (void)unused;
    return PyBool_FromLong(atomic_load(&((OgiveKernel *)object)->function) != NULL);
}

static PyMethodDef kernel_methods[] = {
    {"prepare", kernel_prepare, METH_NOARGS, "Compile now what would be compiled at the first call."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef kernel_getset[] = {
    {"prepared", kernel_is_prepared, NULL, "Whether the code is there.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot kernel_slots[] = {
    {Py_tp_doc, "Kernel(inputs, outputs, resolve)\n--\n\n"
                "An operator for one combination of element types, given by their sizes in bytes. `resolve`\n"
                "is called when it is first needed; it returns the Code, the number of elements that the code\n"
                "takes at a time, and the number from which on several threads pay."},
    {Py_tp_new, kernel_new},
    {Py_tp_dealloc, kernel_dealloc},
    {Py_tp_traverse, kernel_traverse},
    {Py_tp_clear, kernel_clear},
    {Py_tp_methods, kernel_methods},
    {Py_tp_getset, kernel_getset},
    {0, NULL},
};

static PyType_Spec kernel_spec = {
    .name = "ogive._native.Kernel",
    .basicsize = sizeof(OgiveKernel),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = kernel_slots,
};

int ogive_add_kernel_type(PyObject *module) {
    ogive_kernel_type = (PyTypeObject *)PyType_FromSpec(&kernel_spec);
    return ogive_kernel_type == NULL ? -1 : PyModule_AddType(module, ogive_kernel_type);
}
