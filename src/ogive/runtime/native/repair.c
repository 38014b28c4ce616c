/* Results that a kernel could not decide: found, and computed again.
 *
 * A kernel that has a repair computes with a bound of its error, and flags the elements whose result that bound leaves
 * open: a few in a thousand or fewer. They are gathered, computed again by the repair, which has more bits, and put back.
 * A kernel writes no result that it flags: if it lies over an operand, that is still there to be gathered.
 * The elements that the repair flags in its turn go to Python (`decide`), which has as many bits as it takes. In the place of the repair
 * there may be a retry: a kernel of the same results, with a test and a repair of its own. Rows are repaired as a whole
 * (rows.c).
 */
#include "native.h"
#include "../../backends/floating_point.h"
#include "streaming.h"

#include <stdlib.h>
#include <string.h>
#if defined(_MSC_VER)
#include <intrin.h>
#endif
#if defined(__x86_64__) || defined(_M_X64)
#define OGIVE_HAS_SSE2
#include <emmintrin.h>
#endif

/* Elements between two looks at the flags: their inputs are then still in the cache nearby. */
#define CHUNK 4096

/* Elements whose flags fill 64 bytes. */
#define ELEMENTS_OF_A_MAP 512

/* Where more than a tenth of a chunk is undecided, and more than so few, a retry computes all of it, and so many chunks after
 * it at once. */
#define RETRIED_SHARE 10
#define FEW 128
#define RETRIED_AT_ONCE 15

/* Among so many flagged elements a fourth has to be like the first, for all of a chunk to be compared with it; and so often at most. */
#define COMPARED 16
#define MOST_ALIKE 2

/* ---- exceptions ------------------------------------------------------------------------------ */

/* Keeps the exception of this thread for the one that called; the first of all threads is kept. With the lock. */
static void keep_failure(ogive_call *call) {
#if PY_VERSION_HEX >= 0x030C0000
    PyObject *value = PyErr_GetRaisedException();
#else
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback != NULL) {
        PyException_SetTraceback(value, traceback);
    }
    Py_XDECREF(type);
    Py_XDECREF(traceback);
#endif
    PyObject *none = NULL;
    if (!atomic_compare_exchange_strong(&call->failure, &none, value)) {
        Py_XDECREF(value);
    }
}

OGIVE_THREAD_LOCAL int ogive_failures;

void ogive_raise(ogive_call *call) {
    PyObject *value = atomic_load(&call->failure);
    if (value != NULL) {
        ogive_failures += 1;
        PyGILState_STATE lock = ogive_enter_python();
        PyErr_SetObject((PyObject *)Py_TYPE(value), value);
        Py_DECREF(value);
        ogive_leave_python(lock);
    }
}

/* ---- counting -------------------------------------------------------------------------------- */

void ogive_count(OgiveKernel *kernel, npy_intp elements) {
    static _Atomic int threads;
    static OGIVE_THREAD_LOCAL int number; /* from 1 on; 0: not known yet */
    if (number == 0) {
        number = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) + 1;
        number = number < OGIVE_COUNTING_THREADS && number > 0 ? number : OGIVE_COUNTING_THREADS;
    }
    if (number < OGIVE_COUNTING_THREADS) {
        _Atomic int64_t *own = &kernel->counts.computed[number][0];
        atomic_store_explicit(own, atomic_load_explicit(own, memory_order_relaxed) + elements, memory_order_relaxed);
    } else {
        atomic_fetch_add_explicit(&kernel->counts.computed[0][0], elements, memory_order_relaxed);
    }
}

static int64_t marked(const char *mask, npy_intp count) {
    int64_t found = 0;
    for (npy_intp i = 0; i < count; ++i) {
        found += mask[i] != 0;
    }
    return found;
}

/* ---- what the repair leaves open ------------------------------------------------------------- */

static PyObject *bytes_of(char *const *buffers, const npy_intp *itemsizes, int count, const npy_intp *elements) {
    PyObject *found = PyTuple_New(count);
    for (int k = 0; found != NULL && k < count; ++k) {
        PyObject *bytes = PyBytes_FromStringAndSize(buffers[k], elements[k] * itemsizes[k]);
        if (bytes == NULL) {
            Py_CLEAR(found);
        } else {
            PyTuple_SET_ITEM(found, k, bytes);
        }
    }
    return found;
}

static PyObject *parameters_of(const OgiveLoopData *loop) {
    PyObject *found = PyTuple_New(loop->parameter_count);
    for (int k = 0; found != NULL && k < loop->parameter_count; ++k) {
        PyObject *value = PyFloat_FromDouble(loop->parameters[k]);
        if (value == NULL) {
            Py_CLEAR(found);
        } else {
            PyTuple_SET_ITEM(found, k, value);
        }
    }
    return found;
}

/* Takes over the results that `decide` returned; 0, or -1 with an error set. */
static int take(PyObject *answer, char *const *results, const npy_intp *itemsizes, int count, const npy_intp *elements) {
    int suits = PyTuple_Check(answer) && PyTuple_GET_SIZE(answer) == count;
    for (int k = 0; suits && k < count; ++k) {
        PyObject *bytes = PyTuple_GET_ITEM(answer, k);
        suits = PyBytes_Check(bytes) && PyBytes_GET_SIZE(bytes) == elements[k] * itemsizes[k];
    }
    if (!suits) {
        PyErr_SetString(PyExc_TypeError, "Kernel: decide must return a tuple of bytes, the results");
        return -1;
    }
    for (int k = 0; k < count; ++k) {
        memcpy(results[k], PyBytes_AS_STRING(PyTuple_GET_ITEM(answer, k)), (size_t)(elements[k] * itemsizes[k]));
    }
    return 0;
}

int ogive_decide(ogive_call *call, const OgiveKernel *repair, char *const *buffers, const npy_intp *elements) {
    int is_decided = 0;
    if (repair->decide == NULL || atomic_load(&call->failure) != NULL) {
        return 0;
    }
    const int inputs = repair->inputs, outputs = repair->outputs - 1;
    PyGILState_STATE lock = ogive_enter_python();
    if (!PyErr_Occurred()) { /* NumPy goes on after a loop that failed */
        PyObject *before = bytes_of(buffers, repair->itemsizes, inputs, elements);
        PyObject *after = bytes_of(buffers + inputs, repair->itemsizes + inputs, outputs, elements + inputs);
        PyObject *mask = PyBytes_FromStringAndSize(buffers[inputs + outputs], elements[inputs + outputs]);
        PyObject *parameters = parameters_of(call->loop), *answer = NULL;
        if (before != NULL && after != NULL && mask != NULL && parameters != NULL) {
            const int64_t begin = ogive_nanoseconds();
            answer = PyObject_CallFunctionObjArgs(repair->decide, before, after, mask, parameters, NULL);
            atomic_fetch_add_explicit(&call->kernel->counts.nanoseconds, ogive_nanoseconds() - begin, memory_order_relaxed);
            /* In rows with one mark for all elements, all are asked about. */
            const npy_intp marks = elements[inputs + outputs];
            int64_t asked = marked(buffers[inputs + outputs], marks);
            for (int k = 0; k < inputs && repair->of_row[inputs + outputs]; ++k) {
                asked = elements[k] > asked ? elements[k] : asked;
            }
            atomic_fetch_add_explicit(&call->kernel->counts.asked, asked, memory_order_relaxed);
        }
        if (answer == NULL || take(answer, buffers + inputs, repair->itemsizes + inputs, outputs, elements + inputs) < 0) {
            keep_failure(call);
        } else {
            is_decided = 1;
        }
        Py_XDECREF(answer);
        Py_XDECREF(before);
        Py_XDECREF(after);
        Py_XDECREF(mask);
        Py_XDECREF(parameters);
    }
    ogive_leave_python(lock);
    ogive_pool_end_orphan();
    return is_decided;
}

/* ---- the repair ------------------------------------------------------------------------------ */

/* The code of the repair; NULL where it cannot be had, which the call will say. */
ogive_kernel_function ogive_repair_function(ogive_call *call, OgiveKernel *repair) {
    ogive_kernel_function function = atomic_load_explicit(&repair->function, memory_order_acquire);
    if (function == NULL && atomic_load(&call->failure) == NULL) {
        PyGILState_STATE lock = ogive_enter_python();
        if (!PyErr_Occurred() && (function = ogive_kernel_resolve(repair)) == NULL) {
            keep_failure(call);
        }
        ogive_leave_python(lock);
    }
    return function;
}

/* ---- sharing out ------------------------------------------------------------------------------ */

/* Whether a kernel and all later ones of the chain have code. */
static int is_compiled(const OgiveKernel *kernel) {
    int are = atomic_load_explicit(&kernel->function, memory_order_acquire) != NULL;
    for (int i = 0; are && i < kernel->later_count; ++i) {
        are = atomic_load_explicit(&kernel->later[i]->function, memory_order_acquire) != NULL;
    }
    return are;
}

/* Compiles what is later in the chain than a kernel with code; whether all have code then. Python runs in the middle of a job as little as possible: there it may fork, and
 * then the caller does the rest alone. */
static int compile_later(ogive_call *call, const OgiveKernel *kernel) {
    int are = 1;
    for (int i = 0; are && i < kernel->later_count; ++i) {
        are = ogive_repair_function(call, kernel->later[i]) != NULL;
    }
    return are;
}

static PyThreadState *begin_job(const ogive_call *call) {
    return call->kernel->later_count > 0 && PyGILState_Check() ? PyEval_SaveThread() : NULL;
}

static void end_job(ogive_call *call, PyThreadState *saved, int is_whole) {
    if (saved != NULL) {
        PyEval_RestoreThread(saved);
    }
    if (!is_whole) {
        PyGILState_STATE lock = ogive_enter_python();
        PyErr_SetString(PyExc_RuntimeError, "ogive: the process was forked inside this call while another thread computed a part of "
                                            "it, which this child does not have; call again");
        keep_failure(call);
        ogive_leave_python(lock);
    }
}

void ogive_run_in_pool(ogive_call *call, ogive_range_function function, void *context, intptr_t count, intptr_t grain,
                       intptr_t unit) {
    if (ogive_pool_size() < 2 || compile_later(call, call->kernel)) {
        PyThreadState *saved = begin_job(call);
        end_job(call, saved, ogive_pool_run(function, context, count, grain, unit));
    }
}

static void compute_left(ogive_call *call);

void ogive_take_in_pool(ogive_call *call, ogive_pieces_function function, void *context, intptr_t count, intptr_t grain,
                        intptr_t unit, int may_leave) {
    call->may_leave = may_leave;
    if (may_leave || ogive_pool_size() < 2 || compile_later(call, call->kernel)) {
        PyThreadState *saved = begin_job(call);
        end_job(call, saved, ogive_pool_take(function, context, count, grain, unit));
        compute_left(call);
    }
}

/* ---- equal operands ---------------------------------------------------------------------------- */

static inline void copy_element(char *to, const char *from, npy_intp size) {
    switch (size) {
    case 1: *to = *from; break;
    case 2: memcpy(to, from, 2); break;
    case 4: memcpy(to, from, 4); break;
    default: memcpy(to, from, 8); break;
    }
}

/* The place of the first element of a batch with the same operands, for each flagged one. Others keep no mark, so that
 * Python is asked once about padding, constants and zeros. Returns how many marks are gone. `table` has room for twice
 * as many as are gathered: open addressing of a place and one, 0 where it is free. */
static npy_intp keep_first_marks(const OgiveKernel *repair, char *const *buffers, npy_intp count, uint16_t *first,
                                 uint16_t *table) {
    char *mask = buffers[repair->inputs + repair->outputs - 1];
    npy_intp gone = 0;
    memset(table, 0, 2 * OGIVE_MOST_GATHERED * sizeof *table);
    for (npy_intp i = 0; i < count; ++i) {
        first[i] = (uint16_t)i;
        if (mask[i] == 0) {
            continue;
        }
        uint64_t hash = 0;
        for (int k = 0; k < repair->inputs; ++k) {
            uint64_t bits = 0;
            memcpy(&bits, buffers[k] + i * repair->itemsizes[k], (size_t)repair->itemsizes[k]);
            hash = (hash ^ bits) * 0x9E3779B97F4A7C15u;
            hash ^= hash >> 29;
        }
        for (uint64_t at = hash;; ++at) {
            uint16_t *entry = &table[at % (2 * OGIVE_MOST_GATHERED)];
            if (*entry == 0) {
                *entry = (uint16_t)(i + 1);
                break;
            }
            const npy_intp other = *entry - 1;
            int same = 1;
            for (int k = 0; same && k < repair->inputs; ++k) {
                const npy_intp size = repair->itemsizes[k];
                same = memcmp(buffers[k] + i * size, buffers[k] + other * size, (size_t)size) == 0;
            }
            if (same) {
                first[i] = (uint16_t)other;
                mask[i] = 0;
                gone += 1;
                break;
            }
        }
    }
    return gone;
}

/* ---- what was decided last ---------------------------------------------------------------------- */

/* A repair takes up to 35 ns an element, and Python 40 us a batch. Infinities, NaN, zeros and constants come again in each batch of an
 * array: the results of such elements are kept here, and neither is asked again. Entries lie at a place by their hash, and the
 * last one stays. In the child of a fork the flag may stay set: then nothing is looked up any more, and nothing else changes. */
#define BITS_OF_PLACE 9 /* the highest of a hash, which all bits of an operand change: also its sign */
#define REMEMBERED (1 << BITS_OF_PLACE)
#define MOST_KEPT 3 /* operands, results and parameters of an entry */
#define LOOKED_UP 16 /* where less than a fourth of so many is known, the others are computed: ordinary data seldom come again */

typedef struct {
    int is_used;
    int is_of_python; /* whether Python decided it */
    uint64_t operands[MOST_KEPT], results[MOST_KEPT];
    double parameters[MOST_KEPT];
} remembered_type;

struct ogive_remembered {
    remembered_type entries[REMEMBERED];
};

static int may_remember(const ogive_call *call, const OgiveKernel *repair) {
    return repair->inputs <= MOST_KEPT && repair->outputs - 1 <= MOST_KEPT && call->loop->parameter_count <= MOST_KEPT;
}

static inline uint64_t bits_of(const char *from, npy_intp size) {
    uint64_t bits = 0;
    copy_element((char *)&bits, from, size);
    return bits;
}

/* The entry where an element's results are, or would be; and its operands. */
static inline remembered_type *entry_of(const ogive_call *call, const OgiveKernel *repair, char *const *buffers, npy_intp i,
                                        uint64_t operands[MOST_KEPT], int *is_it) {
    uint64_t hash = 0;
    for (int k = 0; k < repair->inputs; ++k) {
        const npy_intp size = repair->itemsizes[k];
        operands[k] = bits_of(buffers[k] + i * size, size);
        hash = (hash ^ operands[k]) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    }
    remembered_type *entry = &repair->remembered->entries[hash >> (64 - BITS_OF_PLACE)];
    int same = entry->is_used;
    for (int k = 0; same && k < repair->inputs; ++k) {
        same = entry->operands[k] == operands[k];
    }
    for (int k = 0; same && k < call->loop->parameter_count; ++k) {
        same = memcmp(&entry->parameters[k], &call->loop->parameters[k], sizeof(double)) == 0;
    }
    *is_it = same;
    return entry;
}

static inline void put_results(const OgiveKernel *repair, const remembered_type *entry, char *const *operands, npy_intp at) {
    for (int k = 0; k < repair->outputs - 1; ++k) {
        const npy_intp size = repair->itemsizes[repair->inputs + k];
        copy_element(operands[repair->inputs + k] + at * size, (const char *)&entry->results[k], size);
    }
}

/* Puts known results of gathered elements into place, and moves the others together. Returns how many these are; `asked` counts the
 * known ones that Python decided. */
static npy_intp recall(const ogive_call *call, OgiveKernel *repair, ogive_heap *found, int64_t *asked) {
    if (!may_remember(call, repair) || atomic_flag_test_and_set_explicit(&repair->is_looked_into, memory_order_acquire)) {
        return found->count;
    }
    npy_intp left = repair->remembered == NULL ? found->count : 0;
    for (npy_intp i = 0; repair->remembered != NULL && i < found->count; ++i) {
        if (i == LOOKED_UP && 4 * (i - left) < LOOKED_UP) {
            const size_t rest = (size_t)(found->count - i);
            for (int k = 0; k < repair->inputs; ++k) {
                const npy_intp size = repair->itemsizes[k];
                memmove(found->buffers[k] + left * size, found->buffers[k] + i * size, rest * (size_t)size);
            }
            memmove(found->places + left, found->places + i, rest * sizeof *found->places);
            left += (npy_intp)rest;
            break;
        }
        uint64_t operands[MOST_KEPT];
        int is_it;
        const remembered_type *entry = entry_of(call, repair, found->buffers, i, operands, &is_it);
        if (is_it) {
            put_results(repair, entry, found->results, found->places[i]);
        }
        for (int k = 0; !is_it && k < repair->inputs; ++k) {
            const npy_intp size = repair->itemsizes[k];
            copy_element(found->buffers[k] + left * size, found->buffers[k] + i * size, size);
        }
        found->places[left] = found->places[i];
        left += !is_it;
        *asked += is_it && entry->is_of_python;
    }
    atomic_flag_clear_explicit(&repair->is_looked_into, memory_order_release);
    return left;
}

/* Gives the known results to those elements of a batch that the repair flagged, and takes their marks away. */
static void recall_flagged(ogive_call *call, OgiveKernel *repair, char *const *buffers, npy_intp count) {
    char *const mask = buffers[repair->inputs + repair->outputs - 1];
    if (!may_remember(call, repair) || atomic_flag_test_and_set_explicit(&repair->is_looked_into, memory_order_acquire)) {
        return;
    }
    int64_t asked = 0;
    for (npy_intp i = 0; repair->remembered != NULL && i < count; ++i) {
        uint64_t operands[MOST_KEPT];
        int is_it = 0;
        const remembered_type *entry = mask[i] ? entry_of(call, repair, buffers, i, operands, &is_it) : NULL;
        if (is_it) {
            put_results(repair, entry, buffers, i);
            mask[i] = 0;
            asked += entry->is_of_python;
        }
    }
    atomic_flag_clear_explicit(&repair->is_looked_into, memory_order_release);
    atomic_fetch_add_explicit(&call->kernel->counts.asked, asked, memory_order_relaxed);
}

/* Marks the flagged elements of a batch, and those whose first operand has the bits of the one before, in a loop that compilers
 * vectorize. */
static void mark_flagged_or_repeated(const OgiveKernel *repair, char *const *buffers, npy_intp count, char *restrict marks) {
#define MARK(type)                                                                                                              \
    {                                                                                                                           \
        const type *restrict const from = (const type *)buffers[0];                                                             \
        for (npy_intp i = 1; i < count; ++i) {                                                                                  \
            marks[i] = (char)(mask[i] | (from[i] == from[i - 1]));                                                              \
        }                                                                                                                       \
        break;                                                                                                                  \
    }
    const char *restrict const mask = buffers[repair->inputs + repair->outputs - 1];
    marks[0] = mask[0];
    switch (repair->itemsizes[0]) {
    case 1: MARK(uint8_t)
    case 2: MARK(uint16_t)
    case 4: MARK(uint32_t)
    default: MARK(uint64_t)
    }
#undef MARK
}

static int is_repeated(const OgiveKernel *repair, char *const *buffers, npy_intp i) {
    for (int k = 0; i > 0 && k < repair->inputs; ++k) {
        const npy_intp size = repair->itemsizes[k];
        if (bits_of(buffers[k] + i * size, size) != bits_of(buffers[k] + (i - 1) * size, size)) {
            return 0;
        }
    }
    return i > 0;
}

/* Keeps what Python has decided of a batch, and what is there twice in a row, as far as there are places. */
static void remember(const ogive_call *call, OgiveKernel *repair, char *const *buffers, npy_intp count) {
    const char *mask = buffers[repair->inputs + repair->outputs - 1];
    char marks[OGIVE_MOST_GATHERED];
    mark_flagged_or_repeated(repair, buffers, count, marks);
    const char *next = memchr(marks, 1, (size_t)count);
    if (next == NULL || !may_remember(call, repair) ||
        atomic_flag_test_and_set_explicit(&repair->is_looked_into, memory_order_acquire)) {
        return;
    }
    if (repair->remembered == NULL) {
        repair->remembered = calloc(1, sizeof *repair->remembered);
    }
    npy_intp kept = 0;
    while (repair->remembered != NULL && kept < REMEMBERED && next != NULL) {
        const npy_intp i = next - marks;
        next = memchr(next + 1, 1, (size_t)(count - i - 1));
        uint64_t operands[MOST_KEPT];
        int is_it;
        if (mask[i] == 0 && !is_repeated(repair, buffers, i)) {
            continue;
        }
        remembered_type *entry = entry_of(call, repair, buffers, i, operands, &is_it);
        if (is_it) {
            continue;
        }
        entry->is_used = 1;
        entry->is_of_python = mask[i] != 0;
        memcpy(entry->operands, operands, (size_t)repair->inputs * sizeof *operands);
        for (int k = 0; k < call->loop->parameter_count; ++k) {
            entry->parameters[k] = call->loop->parameters[k];
        }
        for (int k = 0; k < repair->outputs - 1; ++k) {
            const npy_intp size = repair->itemsizes[repair->inputs + k];
            copy_element((char *)&entry->results[k], buffers[repair->inputs + k] + i * size, size);
        }
        kept += 1;
    }
    atomic_flag_clear_explicit(&repair->is_looked_into, memory_order_release);
}

/* Has Python decide what the repair flagged of a batch; whether it has. Threads with small stacks call this: 6 KiB lie elsewhere. */
static int decide_elements(ogive_call *call, OgiveKernel *repair, char *const *buffers, npy_intp count) {
    recall_flagged(call, repair, buffers, count);
    if (memchr(buffers[repair->inputs + repair->outputs - 1], 1, (size_t)count) == NULL) {
        return 1;
    }
    uint16_t *const first = malloc(3 * OGIVE_MOST_GATHERED * sizeof *first); /* NULL: Python is asked about each */
    npy_intp elements[OGIVE_MAX_OPERANDS + 1];
    const int operands = repair->inputs + repair->outputs;
    for (int k = 0; k < operands; ++k) {
        elements[k] = count;
    }
    const npy_intp gone = first == NULL ? 0 : keep_first_marks(repair, buffers, count, first, first + OGIVE_MOST_GATHERED);
    atomic_fetch_add_explicit(&call->kernel->counts.asked, gone, memory_order_relaxed);
    const int is_decided = ogive_decide(call, repair, buffers, elements);
    for (npy_intp i = 0; gone > 0 && i < count; ++i) {
        for (int k = repair->inputs; first[i] != i && k < operands - 1; ++k) {
            const npy_intp size = repair->itemsizes[k];
            copy_element(buffers[k] + i * size, buffers[k] + first[i] * size, size);
        }
    }
    free(first);
    return is_decided;
}

/* Has Python compute gathered elements in the place of a repair without code; whether it has. From when it says that the repair has
 * to, it is asked no more. */
static int compute_few(ogive_call *call, OgiveKernel *repair, char *const *buffers, npy_intp count) {
    npy_intp elements[OGIVE_MAX_OPERANDS + 1];
    const int outputs = repair->outputs - 1;
    int are_computed = 0;
    for (int k = 0; k < repair->inputs + outputs; ++k) {
        elements[k] = count;
    }
    PyGILState_STATE lock = ogive_enter_python();
    if (!PyErr_Occurred()) {
        PyObject *operands = bytes_of(buffers, repair->itemsizes, repair->inputs, elements);
        PyObject *parameters = parameters_of(call->loop), *answer = NULL;
        if (operands != NULL && parameters != NULL) {
            const int64_t begin = ogive_nanoseconds();
            answer = PyObject_CallFunctionObjArgs(repair->few, operands, parameters, NULL);
            atomic_fetch_add_explicit(&call->kernel->counts.nanoseconds, ogive_nanoseconds() - begin, memory_order_relaxed);
        }
        if (answer == Py_None) {
            atomic_store(&repair->may_ask_few, 0);
        } else if (answer == NULL ||
                   take(answer, buffers + repair->inputs, repair->itemsizes + repair->inputs, outputs, elements) < 0) {
            keep_failure(call);
        } else {
            are_computed = 1;
        }
        Py_XDECREF(answer);
        Py_XDECREF(operands);
        Py_XDECREF(parameters);
    }
    ogive_leave_python(lock);
    ogive_pool_end_orphan();
    if (are_computed) {
        memset(buffers[repair->inputs + outputs], 1, (size_t)count);
        atomic_fetch_add_explicit(&call->kernel->counts.asked, count, memory_order_relaxed);
    }
    return are_computed;
}

/* ---- the chain of kernels -------------------------------------------------------------------- */

/* The task of one kernel of the chain: elements that lie one after the other. */
typedef struct {
    ogive_call *call;
    OgiveKernel *kernel;
    ogive_kernel_function function;
    void *const *pointers;
    npy_intp count, valid; /* whole blocks, and those of them that are wanted */
    _Bool streams, is_in_place; /* whether results lie over inputs, which stay there where the kernel leaves results undecided */
    npy_intp behind; /* how many elements lie before these, of tiles whose undecided elements are computed together */
} level;

static void compute_level(level *work);
static void empty_heap(const level *work, ogive_heap *found);

/* The kernel that computes undecided elements: the quick repair in the place of a retry that nothing has compiled, until it has
 * computed as many as a chunk has. Both have the same bits. */
static OgiveKernel *next_of(const level *work) {
    OgiveKernel *next = work->kernel->later[0], *quick = work->kernel->quick;
    const int is_missing = quick != NULL && atomic_load_explicit(&next->function, memory_order_acquire) == NULL;
    return is_missing && atomic_load_explicit(&work->call->kernel->counts.repaired, memory_order_relaxed) < CHUNK ? quick : next;
}

/* Whether a few elements are computed without the code of the repair, which there is not. */
static int asks_few(OgiveKernel *next) {
    return atomic_load_explicit(&next->may_ask_few, memory_order_relaxed) &&
           atomic_load_explicit(&next->function, memory_order_acquire) == NULL;
}

/* Whether elements wait for the caller, which alone compiles while work is shared out: a worker that compiled, or waited for the
 * compiler, would hold up a fork of the caller. */
static int must_leave(const level *work, const OgiveKernel *next) {
    return work->call->may_leave && ogive_pool_is_worker() && !is_compiled(next);
}

/* Gives an empty heap the buffers of its kernel's operands, of so many elements. */
static void make_room(ogive_heap *found, npy_intp room) {
    const OgiveKernel *next = found->next;
    char *cursor = found->memory;
    found->at_once = 0;
    found->count = 0;
    found->room = room < OGIVE_MOST_GATHERED ? room : OGIVE_MOST_GATHERED;
    for (int k = 0; k < next->inputs + next->outputs; ++k) {
        found->buffers[k] = cursor;
        cursor += found->room * next->itemsizes[k];
    }
}

/* Whether elements can be gathered: the next kernel has code, or the caller will see to it, or the call has the exception. */
static int has_heap(const level *work, ogive_heap *found) {
    OgiveKernel *next = next_of(work);
    for (int k = next->inputs; k < next->inputs + work->kernel->outputs; ++k) {
        found->results[k] = (char *)work->pointers[k] - work->behind * next->itemsizes[k];
    }
    if (found->next == work->kernel->quick && found->next != NULL && next != found->next) {
        empty_heap(work, found);
        found->next = NULL;
    }
    if (found->next != NULL) {
        return 1;
    }
    const int waits = must_leave(work, next) || asks_few(next);
    if (!waits && ogive_repair_function(work->call, next) == NULL) {
        return 0;
    }
    npy_intp room = next->staged;
    if (waits) { /* nobody knows the block yet, which divides this */
        for (room = OGIVE_MOST_GATHERED; room > OGIVE_STAGING_BYTES / next->bytes; room /= 2) {
        }
    }
    found->next = next;
    make_room(found, room);
    return 1;
}

/* ---- undecided elements that workers leave to the caller ---------------------------------------- */

/* Gathered elements: their places in the results, then the operands, one after the other. */
struct ogive_left {
    struct ogive_left *after;
    OgiveKernel *kernel, *next;
    char *results[OGIVE_MAX_OPERANDS];
    npy_intp count;
    npy_intp places[];
};

/* Marks that elements could not be left: there was no memory for them. */
static struct ogive_left no_memory;

static void leave(const level *work, ogive_heap *found) {
    const OgiveKernel *next = found->next;
    const npy_intp count = found->count;
    size_t bytes = sizeof(struct ogive_left) + (size_t)count * sizeof(npy_intp);
    for (int k = 0; k < next->inputs; ++k) {
        bytes += (size_t)(count * next->itemsizes[k]);
    }
    struct ogive_left *left = malloc(bytes), *after = atomic_load(&work->call->left);
    found->count = 0;
    if (left != NULL) {
        left->kernel = work->kernel;
        left->next = found->next;
        left->count = count;
        memcpy(left->results, found->results, sizeof left->results);
        memcpy(left->places, found->places, (size_t)count * sizeof(npy_intp));
        char *cursor = (char *)(left->places + count);
        for (int k = 0; k < next->inputs; ++k) {
            const size_t size = (size_t)(count * next->itemsizes[k]);
            memcpy(cursor, found->buffers[k], size);
            cursor += size;
        }
    }
    do {
        if (after == &no_memory) {
            free(left);
            return;
        }
        if (left != NULL) {
            left->after = after;
        }
    } while (!atomic_compare_exchange_weak(&work->call->left, &after, left == NULL ? &no_memory : left));
    while (left == NULL && after != NULL) { /* nobody computes these any more */
        struct ogive_left *gone = after;
        after = after->after;
        free(gone);
    }
}

/* Computes them, when all workers have ended. */
static void compute_left(ogive_call *call) {
    struct ogive_left *left = atomic_exchange(&call->left, NULL);
    if (left == NULL) {
        return;
    }
    const ogive_fp_state saved = ogive_fp_enter();
    ogive_heap *found = left == &no_memory ? NULL : malloc(sizeof *found);
    if (found == NULL) {
        PyGILState_STATE lock = ogive_enter_python();
        PyErr_NoMemory();
        keep_failure(call);
        ogive_leave_python(lock);
        left = left == &no_memory ? NULL : left;
    }
    while (left != NULL) {
        struct ogive_left *after = left->after;
        const level work = {call, left->kernel, call->function, NULL, 0, 0, 0, 0, 0};
        const char *inputs[OGIVE_MAX_OPERANDS];
        const char *cursor = (const char *)(left->places + left->count);
        for (int k = 0; k < left->next->inputs; ++k) {
            inputs[k] = cursor;
            cursor += left->count * left->next->itemsizes[k];
        }
        const int is_possible = found != NULL && ogive_repair_function(call, left->next) != NULL && compile_later(call, left->next);
        for (npy_intp done = 0; is_possible && done < left->count; done += found->count) {
            const npy_intp rest = left->count - done;
            found->next = left->next;
            make_room(found, left->next->staged);
            memcpy(found->results, left->results, sizeof found->results);
            const npy_intp some = rest < found->room ? rest : found->room;
            memcpy(found->places, left->places + done, (size_t)some * sizeof(npy_intp));
            for (int k = 0; k < left->next->inputs; ++k) {
                const npy_intp size = left->next->itemsizes[k];
                memcpy(found->buffers[k], inputs[k] + done * size, (size_t)(some * size));
            }
            found->count = some;
            empty_heap(&work, found);
            found->count = some;
        }
        free(left);
        left = after;
    }
    free(found);
    ogive_fp_leave(saved);
}

/* Has the next kernel compute what was gathered, and puts the results into place. */
static void empty_heap(const level *work, ogive_heap *found) {
    ogive_call *call = work->call;
    OgiveKernel *next = found->next;
    if (must_leave(work, next)) {
        leave(work, found);
        return;
    }
    ogive_counts *counts = &call->kernel->counts;
    if (!ogive_is_retry(next, work->kernel)) {
        const npy_intp all = found->count;
        int64_t asked = 0;
        found->count = recall(call, next, found, &asked);
        atomic_fetch_add_explicit(&counts->repaired, all - found->count, memory_order_relaxed);
        atomic_fetch_add_explicit(&counts->asked, asked, memory_order_relaxed);
        if (found->count == 0) {
            return;
        }
    }
    const npy_intp count = found->count;
    found->count = 0;
    const int few = asks_few(next) && compute_few(call, next, found->buffers, count);
    const ogive_kernel_function function = few ? NULL : ogive_repair_function(call, next);
    if (!few && function == NULL) { /* the call has the exception */
        return;
    }
    const npy_intp padded = few ? count : (count + next->block - 1) / next->block * next->block;
    for (int k = 0; k < next->inputs; ++k) {
        const npy_intp size = next->itemsizes[k];
        memset(found->buffers[k] + count * size, 0, (size_t)((padded - count) * size));
    }
    if (few) {
        atomic_fetch_add_explicit(&counts->repaired, count, memory_order_relaxed);
        remember(call, next, found->buffers, count);
    } else if (ogive_is_retry(next, work->kernel)) {
        atomic_fetch_add_explicit(&counts->retried, count, memory_order_relaxed);
        compute_level(&(level){call, next, function, (void *const *)found->buffers, padded, count, 0, 0, 0});
    } else {
        atomic_fetch_add_explicit(&counts->repaired, count, memory_order_relaxed);
        function((void *const *)found->buffers, padded, call->loop->parameters, 2 * padded, NULL);
        const int is_open = memchr(found->buffers[next->inputs + next->outputs - 1], 1, (size_t)count) != NULL;
        if (!is_open || decide_elements(call, next, found->buffers, count)) {
            remember(call, next, found->buffers, count);
        }
    }
    if (work->streams) {
        ogive_stream_end();
    }
    for (int k = next->inputs; k < next->inputs + work->kernel->outputs; ++k) {
        const npy_intp size = next->itemsizes[k];
        for (npy_intp i = 0; i < count; ++i) {
            copy_element(found->results[k] + found->places[i] * size, found->buffers[k] + i * size, size);
        }
    }
}

/* The flags of a chunk: a bit of every element, and one of every byte that has any. */
typedef struct {
    _Alignas(64) unsigned char bits[CHUNK / 8];
    uint64_t bytes[CHUNK / ELEMENTS_OF_A_MAP];
    int maps; /* how many of these there are */
} flags;

static int lowest(uint64_t word) { /* of a number that is not zero */
#if defined(_MSC_VER)
    unsigned long at;
    _BitScanForward64(&at, word);
    return (int)at;
#else
    return __builtin_ctzll(word);
#endif
}

/* A bit of each of 64 bytes that is not zero. */
static uint64_t map_of(const unsigned char *bytes) {
    uint64_t found = 0;
#if defined(OGIVE_HAS_SSE2)
    for (int i = 0; i < 64; i += 16) {
        const __m128i some = _mm_load_si128((const __m128i *)(bytes + i));
        found |= (uint64_t)(uint16_t)~_mm_movemask_epi8(_mm_cmpeq_epi8(some, _mm_setzero_si128())) << i;
    }
#else
    for (int i = 0; i < 64; i += 8) {
        const uint64_t low = 0x7F7F7F7F7F7F7F7Fu;
        uint64_t word;
        memcpy(&word, bytes + i, sizeof word);
        word = (word | ((word & low) + low)) >> 7 & 0x0101010101010101u; /* the highest bit of a byte that is not zero */
        found |= (word * 0x0102040810204080u >> 56) << i;
    }
#endif
    return found;
}

static int has_any(const unsigned char *bytes, npy_intp count) {
    uint64_t all = 0;
    for (npy_intp i = 0; i < count; i += 8) {
        uint64_t word;
        memcpy(&word, bytes + i, sizeof word);
        all |= word;
    }
    return all != 0;
}

/* Flagged elements of a chunk: those of the first `maps` of its maps. */
typedef struct {
    _Alignas(64) uint16_t among[CHUNK + 1];
    npy_intp count;
    int maps;
} flagged_elements;

/* Finds more flagged elements of a chunk, until there are more than `most`. Few bytes have two: the second is written in any case,
 * and the next one over it where it is none, because no processor foresees where it is. */
static npy_intp find_flagged(const flags *of, npy_intp most, flagged_elements *found) {
    uint16_t *to = found->among + found->count;
    for (; found->maps < of->maps && to - found->among <= most; ++found->maps) {
        const int k = found->maps;
        for (uint64_t map = of->bytes[k]; map != 0; map &= map - 1) {
            const int byte = 64 * k + lowest(map);
            unsigned bits = of->bits[byte];
            *to++ = (uint16_t)(8 * byte + lowest(bits));
            bits &= bits - 1;
            *to = (uint16_t)(8 * byte + lowest(bits | 0x80));
            to += bits != 0;
            for (bits &= bits - 1; bits != 0; bits &= bits - 1) {
                *to++ = (uint16_t)(8 * byte + lowest(bits));
            }
        }
    }
    found->count = to - found->among;
    return found->count;
}

/* The operands of the chunk that begins at an element. */
static void find_chunk(const level *work, npy_intp at, void **places) {
    const OgiveKernel *kernel = work->kernel;
    for (int k = 0; k < kernel->inputs + kernel->outputs; ++k) {
        places[k] = (char *)work->pointers[k] + at * kernel->itemsizes[k];
    }
}

/* Has the retry compute chunks as they lie. */
static void retry_chunks(const level *work, OgiveKernel *next, npy_intp at, npy_intp count, npy_intp valid) {
    const ogive_kernel_function function = atomic_load_explicit(&next->function, memory_order_acquire);
    void *places[OGIVE_MAX_OPERANDS];
    find_chunk(work, at, places);
    atomic_fetch_add_explicit(&work->call->kernel->counts.retried, valid, memory_order_relaxed);
    compute_level(&(level){work->call, next, function, places, count, valid, 0, work->is_in_place, 0});
}

/* ---- equal elements of a chunk ------------------------------------------------------------------ */

/* Marks the elements of a chunk that have the operands of one. */
static void mark_alike(const OgiveKernel *kernel, void *const *places, npy_intp at, npy_intp count, unsigned char *marks) {
#define MARK(type)                                                                                                              \
    {                                                                                                                           \
        const type *const from = places[k];                                                                                     \
        const type wanted = from[at];                                                                                           \
        for (npy_intp i = 0; i < count; ++i) {                                                                                  \
            marks[i] &= from[i] == wanted;                                                                                      \
        }                                                                                                                       \
        break;                                                                                                                  \
    }
    memset(marks, 1, (size_t)count);
    for (int k = 0; k < kernel->inputs; ++k) {
        switch (kernel->itemsizes[k]) {
        case 1: MARK(uint8_t)
        case 2: MARK(uint16_t)
        case 4: MARK(uint32_t)
        default: MARK(uint64_t)
        }
    }
#undef MARK
}

/* Gives the marked elements the results of one. */
static void spread(const OgiveKernel *kernel, void *const *places, npy_intp at, npy_intp count, const unsigned char *marks) {
#define SPREAD(type)                                                                                                            \
    {                                                                                                                           \
        type *const to = places[k];                                                                                             \
        const type result = to[at];                                                                                             \
        for (npy_intp i = 0; i < count; ++i) {                                                                                  \
            to[i] ^= (to[i] ^ result) & (type)-(type)marks[i];                                                                  \
        }                                                                                                                       \
        break;                                                                                                                  \
    }
    for (int k = kernel->inputs; k < kernel->inputs + kernel->outputs; ++k) {
        switch (kernel->itemsizes[k]) {
        case 1: SPREAD(uint8_t)
        case 2: SPREAD(uint16_t)
        case 4: SPREAD(uint32_t)
        default: SPREAD(uint64_t)
        }
    }
#undef SPREAD
}

/* Adds elements of a chunk to what is gathered. */
static void add_to_heap(const level *work, ogive_heap *found, void *const *places, npy_intp at, const uint16_t *among,
                        npy_intp flagged) {
    const OgiveKernel *next = found->next;
    for (npy_intp done = 0; done < flagged;) {
        if (found->count == found->room) {
            empty_heap(work, found);
        }
        const npy_intp room = found->room - found->count, some = flagged - done < room ? flagged - done : room;
        for (int k = 0; k < work->kernel->inputs; ++k) {
            const npy_intp size = next->itemsizes[k];
            char *to = found->buffers[k] + found->count * size;
            for (npy_intp i = 0; i < some; ++i) {
                copy_element(to + i * size, (const char *)places[k] + among[done + i] * size, size);
            }
        }
        for (npy_intp i = 0; i < some; ++i) {
            found->places[found->count++] = work->behind + at + among[done + i];
        }
        done += some;
    }
}

/* Computes one of many flagged elements that have the same operands, as NaN, zeros and infinities have, and gives its results to the
 * others; `flags` has the rest. Whether there are so many. */
static int compute_alike(const level *work, ogive_heap *found, void *const *places, npy_intp at, npy_intp valid, flags *of,
                         flagged_elements *flagged) {
    const OgiveKernel *kernel = work->kernel;
    if (find_flagged(of, COMPARED, flagged) <= COMPARED) {
        return 0;
    }
    const uint16_t *const among = flagged->among;
    const uint16_t first = among[0], twice[] = {first, first}; /* so that it is remembered */
    int alike = 0;
    for (int i = 0; i < COMPARED; ++i) {
        int same = 1;
        for (int k = 0; k < kernel->inputs; ++k) {
            const npy_intp size = kernel->itemsizes[k];
            const char *from = places[k];
            same = same && bits_of(from + among[i] * size, size) == bits_of(from + first * size, size);
        }
        alike += same;
    }
    if (4 * alike < COMPARED || find_flagged(of, FEW, flagged) <= FEW) {
        return 0;
    }
    unsigned char *const marks = (unsigned char *)flagged->among;
    flagged->count = flagged->maps = 0;
    mark_alike(kernel, places, first, valid, marks);
    for (npy_intp i = 0; work->is_in_place && i < valid; ++i) { /* a result may be what an operand is */
        marks[i] &= of->bits[i / 8] >> i % 8 & 1;
    }
    if (found->count + 2 > found->room) { /* in place, the first result would be the operand of the second */
        empty_heap(work, found);
    }
    add_to_heap(work, found, places, at, twice, 2);
    empty_heap(work, found);
    spread(kernel, places, first, valid, marks);
    memset(marks + valid, 0, (size_t)(CHUNK - valid));
    for (int k = 0; k < of->maps; ++k) {
        for (int i = 64 * k; i < 64 * k + 64; i += 8) {
            uint64_t word;
            memcpy(&word, of->bits + i, sizeof word);
            word &= ~map_of(marks + 8 * i);
            memcpy(of->bits + i, &word, sizeof word);
        }
        of->bytes[k] = map_of(of->bits + 64 * k);
    }
    return 1;
}

/* Gathers the flagged elements of a chunk, or has the retry compute all of it, unless inputs are gone: those in place of which
 * there are results. */
static void gather(const level *work, ogive_heap *found, npy_intp at, npy_intp count, npy_intp valid, flags *of) {
    OgiveKernel *next = found->next;
    const int may_retry = ogive_is_retry(next, work->kernel) && !must_leave(work, next) && count % next->block == 0;
    const npy_intp share = valid / RETRIED_SHARE, most = may_retry ? (share < FEW ? FEW : share) : valid;
    flagged_elements some;
    some.count = some.maps = 0;
    void *places[OGIVE_MAX_OPERANDS];
    find_chunk(work, at, places);
    for (int i = 0; i < MOST_ALIKE && !must_leave(work, next); ++i) {
        if (!compute_alike(work, found, places, at, valid, of, &some)) {
            break;
        }
    }
    npy_intp flagged = find_flagged(of, most, &some);
    if (flagged > most) {
        found->at_once = RETRIED_AT_ONCE;
        if (work->count <= CHUNK) {
            atomic_store_explicit(&work->kernel->skipped, RETRIED_AT_ONCE, memory_order_relaxed);
        }
        flagged = work->is_in_place ? find_flagged(of, valid, &some) : valid;
        if (flagged == valid) {
            retry_chunks(work, next, at, count, valid);
            return;
        }
    }
    add_to_heap(work, found, places, at, some.among, flagged);
}

/* Computes the chunk that begins at an element; whether any of its elements is flagged. */
static int run_chunk(level *work, npy_intp at, npy_intp count, npy_intp valid, flags *of) {
    void *places[OGIVE_MAX_OPERANDS];
    find_chunk(work, at, places);
    const npy_intp bytes = (count + 63) / 64 * 8;
    memset(of->bits + bytes - 8, 0, 8); /* the code writes the flags of `count` elements only */
    work->function(places, count, work->call->loop->parameters, 2 * work->call->total + work->streams, of->bits);
    if (valid < count) { /* the rest pads a block, of 64 elements or fewer */
        uint64_t last;
        memcpy(&last, of->bits + bytes - 8, sizeof last);
        last &= ((uint64_t)1 << valid % 64) - 1;
        memcpy(of->bits + bytes - 8, &last, sizeof last);
    }
    if (bytes <= 64 && !has_any(of->bits, bytes)) { /* a short call: its flags are not in the cache yet, and are read as they were written */
        return 0;
    }
    of->maps = (int)((bytes + 63) / 64);
    memset(of->bits + bytes, 0, (size_t)(64 * of->maps - bytes));
    uint64_t all = 0;
    for (int k = 0; k < of->maps; ++k) {
        all |= of->bytes[k] = map_of(of->bits + 64 * k);
    }
    return all != 0;
}

/* How many elements from one on go to the retry at once: whole chunks, and the last if whole blocks of the retry are left. Then the
 * retry looks ahead as well: what it leaves open may go to the kernel behind it at once. */
static npy_intp retried_at_once(const level *work, const ogive_heap *found, npy_intp at) {
    if (found->next == NULL || found->at_once == 0) {
        return 0;
    }
    const npy_intp left = work->count - at, most = (npy_intp)found->at_once * CHUNK, count = left < most ? left : most;
    return count % found->next->block == 0 ? count : count / CHUNK * CHUNK;
}

/* The chunks from an element on; `is_flagged` says that the first is computed and has flagged elements. */
static void continue_level(level *work, ogive_heap *found, npy_intp at, int is_flagged, flags *of) {
    for (npy_intp count; at < work->count; at += count) {
        const npy_intp left = work->count - at, retried = is_flagged ? 0 : retried_at_once(work, found, at);
        count = retried > 0 ? retried : left < CHUNK ? left : CHUNK;
        const npy_intp valid = work->valid - at < count ? work->valid - at : count;
        if (retried > 0) {
            found->at_once -= (int)((retried + CHUNK - 1) / CHUNK);
            retry_chunks(work, found->next, at, count, valid);
        } else if ((is_flagged || run_chunk(work, at, count, valid, of)) && has_heap(work, found)) {
            gather(work, found, at, count, valid, of);
        }
        is_flagged = 0;
    }
}

static void finish_with(level *work, ogive_heap *found, npy_intp at, flags *of) {
    found->next = NULL;
    continue_level(work, found, at, 1, of);
    if (found->next != NULL && found->count > 0) {
        empty_heap(work, found);
    }
}

/* Its frame is large. */
static OGIVE_APART void finish_on_stack(level *work, npy_intp at, flags *of) {
    ogive_heap found;
    finish_with(work, &found, at, of);
}

/* The same of all that are left. Threads with small stacks have room for one heap: that of a retry lies elsewhere. */
static void finish_level(level *work, npy_intp at, flags *of) {
    ogive_heap *found = work->kernel == work->call->kernel ? NULL : malloc(sizeof *found);
    if (found == NULL) {
        finish_on_stack(work, at, of);
        return;
    }
    finish_with(work, found, at, of);
    free(found);
}

/* Whether a call of a chunk or less is the task of the retry at once, because one before was. */
static int is_skipped(const level *work) {
    OgiveKernel *kernel = work->kernel, *next = kernel->later[0];
    const int left = atomic_load_explicit(&kernel->skipped, memory_order_relaxed);
    if (left == 0 || work->count > CHUNK || next_of(work) != next || work->count % next->block != 0) {
        return 0;
    }
    atomic_store_explicit(&kernel->skipped, left - 1, memory_order_relaxed);
    return 1;
}

static void compute_level(level *work) {
    flags of;
    if (work->kernel->later_count == 0) { /* it decides all */
        work->function(work->pointers, work->count, work->call->loop->parameters, 2 * work->call->total, NULL);
        return;
    }
    if (is_skipped(work)) {
        retry_chunks(work, work->kernel->later[0], 0, work->count, work->valid);
        return;
    }
    for (npy_intp at = 0; at < work->count; at += CHUNK) {
        const npy_intp count = work->count - at < CHUNK ? work->count - at : CHUNK;
        const npy_intp valid = work->valid - at < count ? work->valid - at : count;
        if (run_chunk(work, at, count, valid, &of)) {
            finish_level(work, at, &of);
            return;
        }
    }
}

/* Whether results lie over inputs: element on element, as callers see to it. */
static _Bool is_in_place(const OgiveKernel *kernel, void *const *pointers) {
    for (int result = kernel->inputs; result < kernel->inputs + kernel->outputs; ++result) {
        for (int k = 0; k < kernel->inputs; ++k) {
            if (pointers[k] == pointers[result]) {
                return 1;
            }
        }
    }
    return 0;
}

void ogive_compute(ogive_call *call, void *const *pointers, npy_intp count, npy_intp valid, _Bool streams) {
    OgiveKernel *kernel = call->kernel;
    if (kernel->later_count == 0) {
        call->function(pointers, count, call->loop->parameters, 2 * call->total + streams, NULL);
        return;
    }
    ogive_count(kernel, valid);
    const _Bool in_place = is_in_place(kernel, pointers);
    compute_level(&(level){call, kernel, call->function, pointers, count, valid, streams && !in_place, in_place, 0});
}

void ogive_compute_tile(ogive_call *call, void *const *pointers, npy_intp count, npy_intp valid, _Bool streams, npy_intp behind,
                        ogive_heap *found) {
    OgiveKernel *kernel = call->kernel;
    const _Bool in_place = is_in_place(kernel, pointers);
    level work = {call, kernel, call->function, pointers, count, valid, streams && !in_place, in_place, behind};
    flags of;
    ogive_count(kernel, valid);
    continue_level(&work, found, 0, 0, &of);
}

void ogive_end_tiles(ogive_call *call, ogive_heap *found, _Bool streams) {
    if (found->next != NULL && found->count > 0) {
        empty_heap(&(level){call, call->kernel, call->function, NULL, 0, 0, streams, 0, 0}, found);
    }
}

/* Whether this worker has left a full heap, or others have left some: each takes memory. */
static int left_many(const level *work, const ogive_heap *found) {
    return found->next != NULL && atomic_load(&work->call->left) != NULL && must_leave(work, found->next);
}

void ogive_compute_pieces(ogive_call *call, void *const *pointers, ogive_pieces *pieces, _Bool streams, npy_intp tail[2]) {
    OgiveKernel *kernel = call->kernel;
    const _Bool in_place = is_in_place(kernel, pointers);
    level work = {call, kernel, call->function, pointers, 0, 0, streams && !in_place, in_place, 0};
    flags of;
    ogive_heap found;
    found.next = NULL;
    npy_intp elements = 0;
    for (intptr_t begin, end; ogive_next_piece(pieces, &begin, &end);) {
        const npy_intp whole_end = end - ((end - begin) & (kernel->block - 1));
        work.count = work.valid = whole_end;
        continue_level(&work, &found, begin, 0, &of);
        elements += whole_end - begin;
        if (whole_end < end) {
            tail[0] = whole_end;
            tail[1] = end;
        }
        if (left_many(&work, &found)) { /* others take what is left of the job */
            break;
        }
    }
    if (found.next != NULL && found.count > 0) {
        empty_heap(&work, &found);
    }
    ogive_count(kernel, elements);
}
