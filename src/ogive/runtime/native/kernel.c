/* A kernel: an operator for one combination of element types, compiled when it is first needed. */
#include "native.h"

#include <stdlib.h>

#include <structmember.h>
#include "../../backends/floating_point.h"

#include <string.h>

PyTypeObject *ogive_kernel_type;

/* ---- what is checked --------------------------------------------------------------------- */

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

/* ---- compiling ------------------------------------------------------------------------------ */

static int read_reduction(PyObject *name, enum ogive_reduction *kind) {
    static const char *const known[] = {"row_max",  "row_min",   "row_sum",   "row_lost",  "row_product",
                                        "row_rest", "whole_max", "whole_min", "whole_sum", "whole_product"};
    const char *text = PyUnicode_AsUTF8(name);
    for (int i = 0; text != NULL && i < (int)(sizeof known / sizeof *known); ++i) {
        if (strcmp(text, known[i]) == 0) {
            *kind = (enum ogive_reduction)i;
            return 0;
        }
    }
    if (text != NULL) {
        PyErr_Format(PyExc_ValueError, "Kernel: there is no reduction %R", name);
    }
    return -1;
}

/* Whether the last name of a stage says that the stage runs until it finds the same numbers twice; -1 with an error set. */
static int is_repeated(PyObject *names, Py_ssize_t count) {
    const char *last = count < 2 ? "" : PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, count - 1));
    return last == NULL ? -1 : strcmp(last, "again") == 0;
}

/* Reads the reductions of every stage: a tuple of tuples of names. Only the last stage has none. */
static int read_stages(OgiveKernel *kernel, PyObject *stages, int entries) {
    const Py_ssize_t count = PyTuple_GET_SIZE(stages);
    int total = 0;
    if (count < 1 || count > OGIVE_MAX_STAGES || count != entries) {
        PyErr_Format(PyExc_ValueError, "Kernel: %zd stages and code with %d entries", count, entries);
        return -1;
    }
    for (Py_ssize_t s = 0; s < count; ++s) {
        PyObject *names = PyTuple_GET_ITEM(stages, s);
        Py_ssize_t reductions = PyTuple_Check(names) ? PyTuple_GET_SIZE(names) : -1;
        const int repeats = is_repeated(names, reductions);
        if (repeats < 0) {
            return -1;
        }
        reductions -= repeats;
        const int has_room = reductions <= OGIVE_MAX_OF_A_STAGE && total + reductions <= OGIVE_MAX_REDUCTIONS;
        if (reductions < 0 || !has_room || (reductions == 0) != (s == count - 1)) {
            PyErr_Format(PyExc_ValueError, "Kernel: every stage but the last must reduce, to %d numbers at most, and %d together",
                         OGIVE_MAX_OF_A_STAGE, OGIVE_MAX_REDUCTIONS);
            return -1;
        }
        kernel->reductions_of[s] = (int)reductions;
        kernel->repeats[s] = (char)repeats;
        kernel->has_repeats |= repeats;
        for (Py_ssize_t r = 0; r < reductions; ++r) {
            if (read_reduction(PyTuple_GET_ITEM(names, r), &kernel->reductions[total++]) < 0) {
                return -1;
            }
        }
    }
    kernel->stages = (int)count;
    return 0;
}

#define MOST_STAGED 2048
#define MOST_EIGHTHS 4096 /* of the last cache: far more than memory has */

/* How many elements are staged at a time: whole blocks, of whole lines unless there are many operands. */
static npy_intp staged_elements(npy_intp bytes, npy_intp block) {
    const npy_intp fits = OGIVE_STAGING_BYTES / bytes, most = fits < MOST_STAGED ? fits : MOST_STAGED;
    const npy_intp unit = most < OGIVE_ELEMENTS_OF_LINES ? block : OGIVE_ELEMENTS_OF_LINES;
    return most / unit * unit;
}

/* Whether this is a kernel that can repair the results of the other, or compute them again with a test of its own; 0, or -1
 * with an error set. A retry has no code yet: so kernels cannot lead back to one another. */
static int check_repair(const OgiveKernel *kernel, PyObject *object, Py_ssize_t block) {
    const OgiveKernel *repair = (OgiveKernel *)object;
    int suits = Py_TYPE(object) == ogive_kernel_type && kernel->row_wise == repair->row_wise &&
                (kernel->row_wise || block % 8 == 0) && repair->inputs == kernel->inputs;
    for (int k = 0; suits && k < kernel->inputs + kernel->outputs; ++k) {
        suits = repair->itemsizes[k] == kernel->itemsizes[k] && repair->of_row[k] == kernel->of_row[k];
    }
    if (suits && ogive_is_retry(repair, kernel)) {
        if (repair != kernel && atomic_load(&repair->function) == NULL) {
            return 0;
        }
        PyErr_SetString(PyExc_ValueError, "Kernel: a retry is another kernel, without code yet");
        return -1;
    }
    if (!suits || repair->outputs != kernel->outputs + 1 || repair->itemsizes[kernel->inputs + kernel->outputs] != 1) {
        PyErr_SetString(PyExc_ValueError,
                        "Kernel: a repair is a kernel of the same operands and one result more, of 1 byte, or of the same "
                        "results; and the block of what it repairs is a multiple of 8");
        return -1;
    }
    return 0;
}

/* Whether these kernels can be the rest of the chain; 0, or -1 with an error set. */
static int check_later(const OgiveKernel *kernel, PyObject *later, Py_ssize_t block) {
    const Py_ssize_t count = PyTuple_GET_SIZE(later);
    if (count > OGIVE_MOST_LATER - kernel->before) {
        PyErr_Format(PyExc_ValueError, "Kernel: a chain of %zd kernels; %d are possible", kernel->before + 1 + count,
                     OGIVE_MOST_LATER + 1);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject *object = PyTuple_GET_ITEM(later, i);
        if (check_repair(kernel, object, block) < 0) {
            return -1;
        }
        if (i < count - 1 && !ogive_is_retry((OgiveKernel *)object, kernel)) {
            PyErr_SetString(PyExc_ValueError, "Kernel: nothing follows a repair");
            return -1;
        }
    }
    return 0;
}

/* Whether this is a kernel that computes the same of columns; 0, or -1 with an error set. */
static int check_columns(const OgiveKernel *kernel, PyObject *object) {
    const OgiveKernel *columns = (OgiveKernel *)object;
    int suits = Py_TYPE(object) == ogive_kernel_type && kernel->row_wise && columns->row_wise &&
                columns->inputs == kernel->inputs && columns->outputs == kernel->outputs;
    for (int k = 0; suits && k < kernel->inputs + kernel->outputs; ++k) {
        suits = columns->itemsizes[k] == kernel->itemsizes[k] && columns->of_row[k] == kernel->of_row[k];
    }
    if (!suits) {
        PyErr_SetString(PyExc_ValueError, "Kernel: what computes columns is a row-wise kernel of the same operands");
        return -1;
    }
    return 0;
}

/* Takes over what `resolve` answered, if no other thread was here before; 0, or -1 with an error set. */
static int accept(OgiveKernel *kernel, PyObject *answer) {
    PyObject *code, *stages, *scratch;
    PyObject *later = NULL, *columns = Py_None, *quick = Py_None;
    Py_ssize_t block, threshold, eighths;
    if (!PyTuple_Check(answer) || !PyArg_ParseTuple(answer, "O!nO!O!nn|O!OO", ogive_code_type, &code, &block, &PyTuple_Type,
                                                    &stages, &PyTuple_Type, &scratch, &threshold, &eighths, &PyTuple_Type,
                                                    &later, &columns, &quick)) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "Kernel: resolve must return (Code, block, stages, scratch, parallel threshold, "
                                             "streaming threshold, later, columns, quick)");
        }
        return -1;
    }
    if (atomic_load(&kernel->function) != NULL) { /* another thread was here while the compiler ran: what is later has code by now */
        return 0;
    }
    if (later != NULL && check_later(kernel, later, block) < 0) {
        return -1;
    }
    const int later_count = later == NULL ? 0 : (int)PyTuple_GET_SIZE(later);
    if (columns != Py_None && check_columns(kernel, columns) < 0) {
        return -1;
    }
    if (quick != Py_None && (later_count == 0 || kernel->row_wise || check_repair(kernel, quick, block) < 0 ||
                             ogive_is_retry((OgiveKernel *)quick, kernel))) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_ValueError, "Kernel: what goes before a retry is a repair of elements");
        }
        return -1;
    }
    if (block < 1 || block > OGIVE_STAGING_BYTES / kernel->bytes || OGIVE_ELEMENTS_OF_LINES % block != 0) {
        PyErr_Format(PyExc_ValueError,
                     "Kernel: block is %zd; divisors of %d up to %zd are possible for %zd bytes an element", block,
                     OGIVE_ELEMENTS_OF_LINES, (Py_ssize_t)(OGIVE_STAGING_BYTES / kernel->bytes), (Py_ssize_t)kernel->bytes);
        return -1;
    }
    if (eighths < 0 || eighths > MOST_EIGHTHS) {
        PyErr_Format(PyExc_ValueError, "Kernel: the streaming threshold is %zd eighths of the last cache; 0 to %d are possible",
                     eighths, MOST_EIGHTHS);
        return -1;
    }
    if (read_stages(kernel, stages, ogive_code_entries(code)) < 0 ||
        (PyTuple_GET_SIZE(scratch) > 0 &&
         read_itemsizes(kernel, scratch, kernel->inputs + kernel->outputs, &kernel->scratches) < 0)) {
        return -1;
    }
    if (!kernel->row_wise && (kernel->stages > 1 || kernel->scratches > 0)) {
        PyErr_SetString(PyExc_ValueError, "Kernel: it was made for elements, and its code is for rows");
        return -1;
    }
    if (kernel->reduces && kernel->stages < 2) {
        PyErr_SetString(PyExc_ValueError, "Kernel: a result has one number a row, and its code reduces nothing");
        return -1;
    }
    for (int s = 0; s < kernel->stages; ++s) {
        kernel->functions[s] = ogive_code_entry(code, s);
    }
    kernel->block = block;
    kernel->staged = staged_elements(kernel->bytes, block < OGIVE_LEAST_GATHERED ? OGIVE_LEAST_GATHERED : block);
    kernel->stream_threshold = ogive_last_level_cache() / 8 * (size_t)eighths;
    kernel->parallel_threshold = threshold < 2 ? 2 : threshold;
    kernel->code = Py_NewRef(code);
    for (int i = 0; i < later_count; ++i) {
        kernel->later[i] = (OgiveKernel *)Py_NewRef(PyTuple_GET_ITEM(later, i));
        kernel->later[i]->before = kernel->before + 1 + i;
    }
    kernel->later_count = later_count;
    kernel->columns = columns == Py_None ? NULL : (OgiveKernel *)Py_NewRef(columns);
    kernel->quick = quick == Py_None ? NULL : (OgiveKernel *)Py_NewRef(quick);
    atomic_store(&kernel->function, kernel->functions[0]);
    return 0;
}

/* The same, by one thread at a time. What made the kernel is dropped last: that may run Python code. */
static void accept_alone(OgiveKernel *kernel, PyObject *answer) {
#ifdef Py_GIL_DISABLED
    PyMutex_Lock(&kernel->accepting);
    const int failed = accept(kernel, answer);
    PyMutex_Unlock(&kernel->accepting);
#else
    const int failed = accept(kernel, answer);
#endif
    if (failed == 0) {
        PyObject *resolver;
        OGIVE_LOCK(kernel);
        resolver = kernel->resolve;
        kernel->resolve = NULL;
        OGIVE_UNLOCK();
        Py_XDECREF(resolver);
    }
}

ogive_kernel_function ogive_kernel_resolve(OgiveKernel *kernel) {
    PyGILState_STATE lock = ogive_enter_python();
    /* The compiler raises floating-point flags, which NumPy would report as this call's. */
    ogive_fp_state saved = ogive_fp_enter();
    /* NumPy goes on after a loop that failed (at, outer, reduceat), with the error set: the compiler must not run then. */
    if (atomic_load(&kernel->function) == NULL && !PyErr_Occurred()) {
        PyObject *resolver;
        OGIVE_LOCK(kernel);
        resolver = Py_XNewRef(kernel->resolve);
        OGIVE_UNLOCK();
        PyObject *answer = resolver == NULL ? NULL : ogive_call_with_stack(resolver);
        if (answer != NULL) {
            accept_alone(kernel, answer);
            Py_DECREF(answer);
        } else if (resolver == NULL && atomic_load(&kernel->function) == NULL) {
            PyErr_SetString(PyExc_RuntimeError, "Kernel: it was cleared and cannot be compiled any more");
        }
        Py_XDECREF(resolver);
    }
    ogive_kernel_function function = atomic_load(&kernel->function);
    ogive_fp_leave(saved);
    ogive_leave_python(lock);
    return function;
}

/* ---- the type ------------------------------------------------------------------------------- */

/* The numbers of the operands that have one number a row. One operand at least must have the row's elements, an input. */
static int read_of_row(OgiveKernel *self, PyObject *numbers) {
    if (!PyTuple_Check(numbers)) {
        PyErr_SetString(PyExc_TypeError, "Kernel: of_row must be a tuple of int");
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(numbers); ++i) {
        const Py_ssize_t k = PyLong_AsSsize_t(PyTuple_GET_ITEM(numbers, i));
        if (k == -1 && PyErr_Occurred()) {
            return -1;
        }
        if (k < 0 || k >= self->inputs + self->outputs || !self->row_wise) {
            PyErr_Format(PyExc_ValueError, "Kernel: of_row has %zd; numbers of operands of a row-wise kernel are possible", k);
            return -1;
        }
        self->of_row[k] = 1;
        self->reduces |= k >= self->inputs;
    }
    int elements = 0;
    for (int k = 0; k < self->inputs; ++k) {
        elements += !self->of_row[k];
    }
    if (elements == 0) {
        PyErr_SetString(PyExc_ValueError, "Kernel: no input has the elements of rows");
        return -1;
    }
    return 0;
}

static PyObject *kernel_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"inputs", "outputs", "resolve", "row_wise", "of_row", "decide", "few", NULL};
    PyObject *inputs, *outputs, *resolver, *of_row = NULL, *decide = Py_None, *few = Py_None;
    int row_wise = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOO|pOOO:Kernel", names, &inputs, &outputs, &resolver, &row_wise,
                                     &of_row, &decide, &few)) {
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
    self->row_wise = row_wise;
    if (of_row != NULL && read_of_row(self, of_row) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    self->resolve = Py_NewRef(resolver);
    self->decide = decide == Py_None ? NULL : Py_NewRef(decide);
    self->few = few == Py_None ? NULL : Py_NewRef(few);
    atomic_init(&self->may_ask_few, self->few != NULL);
    atomic_init(&self->function, NULL);
    return (PyObject *)self;
}

static int kernel_traverse(PyObject *object, visitproc visit, void *arg) {
    OgiveKernel *self = (OgiveKernel *)object;
    Py_VISIT(self->resolve);
    Py_VISIT(self->code);
    for (int i = 0; i < self->later_count; ++i) {
        Py_VISIT(self->later[i]);
    }
    Py_VISIT(self->columns);
    Py_VISIT(self->quick);
    Py_VISIT(self->decide);
    Py_VISIT(self->few);
    Py_VISIT(Py_TYPE(object));
    return 0;
}

static int kernel_clear(PyObject *object) {
    Py_CLEAR(((OgiveKernel *)object)->resolve);
    return 0; /* `code`, `later`, `columns`, `quick`, `decide` and `few` stay: a loop may still run them */
}

static void kernel_dealloc(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    PyObject_ClearWeakRefs(object);
    kernel_clear(object);
    Py_CLEAR(((OgiveKernel *)object)->code);
    for (int i = 0; i < OGIVE_MOST_LATER; ++i) {
        Py_CLEAR(((OgiveKernel *)object)->later[i]);
    }
    Py_CLEAR(((OgiveKernel *)object)->columns);
    Py_CLEAR(((OgiveKernel *)object)->quick);
    Py_CLEAR(((OgiveKernel *)object)->decide);
    Py_CLEAR(((OgiveKernel *)object)->few);
    free(((OgiveKernel *)object)->remembered);
    Py_CLEAR(((OgiveKernel *)object)->name);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyObject *kernel_prepare(PyObject *object, PyObject *unused) {
    (void)unused;
    OgiveKernel *self = (OgiveKernel *)object;
    if (atomic_load(&self->function) == NULL && ogive_kernel_resolve(self) == NULL) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *kernel_is_prepared(PyObject *object, void *unused) {
    (void)unused;
    return PyBool_FromLong(atomic_load(&((OgiveKernel *)object)->function) != NULL);
}

static PyObject *kernel_name(PyObject *object, void *unused) {
    (void)unused;
    OgiveKernel *self = (OgiveKernel *)object;
    PyObject *name;
    OGIVE_LOCK(self);
    name = Py_NewRef(self->name == NULL ? Py_None : self->name);
    OGIVE_UNLOCK();
    return name;
}

static PyObject *kernel_counts(PyObject *object, void *unused) {
    (void)unused;
    ogive_counts *counts = &((OgiveKernel *)object)->counts;
    int64_t computed = 0;
    for (int i = 0; i < OGIVE_COUNTING_THREADS; ++i) {
        computed += atomic_load_explicit(&counts->computed[i][0], memory_order_relaxed);
    }
    return Py_BuildValue("LLLLL", (long long)computed, (long long)atomic_load(&counts->retried),
                         (long long)atomic_load(&counts->repaired), (long long)atomic_load(&counts->asked), (long long)atomic_load(&counts->nanoseconds));
}

static PyObject *kernel_addresses(PyObject *object, void *unused) {
    (void)unused;
    const OgiveKernel *self = (OgiveKernel *)object;
    PyUFuncGenericFunction loop = self->row_wise ? ogive_row_loop : ogive_element_loop;
    return Py_BuildValue("KK", (unsigned long long)(uintptr_t)loop, (unsigned long long)(uintptr_t)object);
}

static PyMethodDef kernel_methods[] = {
    {"prepare", kernel_prepare, METH_NOARGS, "Compile now what would be compiled at the first call."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef kernel_getset[] = {
    {"prepared", kernel_is_prepared, NULL, "Whether the code is there.", NULL},
    {"addresses", kernel_addresses, NULL, "Of the loop of a ufunc that runs it, and of the kernel: for machine code that calls it.",
     NULL},
    {"name", kernel_name, NULL, "The name of the first ufunc that was made of it, or None.", NULL},
    {"counts", kernel_counts, NULL,
     "Of a kernel with a repair: elements computed, of them retried, repaired, asked of `decide`, and its nanoseconds.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef kernel_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(OgiveKernel, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot kernel_slots[] = {
    {Py_tp_doc, "Kernel(inputs, outputs, resolve, row_wise=False, of_row=(), decide=None, few=None)\n--\n\n"
                "An operator for one combination of element types, given by their sizes in bytes. `of_row` are the\n"
                "operands, by their numbers, that have one number a row in place of its elements. `resolve`\n"
                "is called when it is first needed; it returns the Code, the number of elements that the code\n"
                "takes at a time, the reductions of each stage, the sizes of rows kept between stages, from how many\n"
                "elements on threads pay, from how many eighths of the last cache on streaming does, the Kernels of the\n"
                "rest of the chain, each of which computes again what the code of the one before flags as undecided (the\n"
                "last, a repair, has a mask as its last result; retries have the same results), and the Kernel that computes\n"
                "the same where rows are the columns of a matrix, or None. Another repair may follow, which compiles sooner\n"
                "and computes elements while a retry has no code, as long as they are few. `decide` is a repair's: called as\n"
                "decide(inputs, outputs, mask, parameters), with bytes, and returns the outputs as bytes. `few` is, too: called\n"
                "as few(inputs, parameters) while a repair has no code, it returns the outputs, or None from when on the\n"
                "repair has to compute them."},
    {Py_tp_new, kernel_new},
    {Py_tp_dealloc, kernel_dealloc},
    {Py_tp_traverse, kernel_traverse},
    {Py_tp_clear, kernel_clear},
    {Py_tp_methods, kernel_methods},
    {Py_tp_members, kernel_members},
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
