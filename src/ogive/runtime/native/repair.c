/* Results that a kernel could not decide: found, and computed again.
 *
 * A kernel that has a repair computes with a bound of its error, and flags the elements whose result that bound leaves
 * open: a few in a thousand or fewer. They are gathered, computed again by the repair, which has more bits, and put back.
 * What the repair flags in its turn goes to Python (`decide`), which has as many bits as it takes. Rows are repaired as a
 * whole (rows.c).
 */
#include "native.h"
#include "streaming.h"

#include <stdlib.h>
#include <string.h>

/* Elements between two looks at the flags: their inputs are then still in the cache nearby. */
#define CHUNK 4096
#define FEWEST_IN_PLACE 64

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
        PyGILState_STATE lock = PyGILState_Ensure();
        PyErr_SetObject((PyObject *)Py_TYPE(value), value);
        Py_DECREF(value);
        PyGILState_Release(lock);
    }
}

void ogive_run_in_pool(const OgiveKernel *kernel, ogive_range_function function, void *context, intptr_t count,
                       intptr_t grain, intptr_t unit) {
    PyThreadState *saved = kernel->repair != NULL && PyGILState_Check() ? PyEval_SaveThread() : NULL;
    ogive_pool_run(function, context, count, grain, unit);
    if (saved != NULL) {
        PyEval_RestoreThread(saved);
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

void ogive_decide(ogive_call *call, const OgiveKernel *repair, char *const *buffers, const npy_intp *elements) {
    if (repair->decide == NULL || atomic_load(&call->failure) != NULL) {
        return;
    }
    const int inputs = repair->inputs, outputs = repair->outputs - 1;
    PyGILState_STATE lock = PyGILState_Ensure();
    if (!PyErr_Occurred()) { /* NumPy goes on after a loop that failed */
        PyObject *before = bytes_of(buffers, repair->itemsizes, inputs, elements);
        PyObject *after = bytes_of(buffers + inputs, repair->itemsizes + inputs, outputs, elements + inputs);
        PyObject *mask = PyBytes_FromStringAndSize(buffers[inputs + outputs], elements[inputs + outputs]);
        PyObject *parameters = parameters_of(call->loop), *answer = NULL;
        if (before != NULL && after != NULL && mask != NULL && parameters != NULL) {
            const int64_t begin = ogive_nanoseconds();
            answer = PyObject_CallFunctionObjArgs(repair->decide, before, after, mask, parameters, NULL);
            atomic_fetch_add_explicit(&call->kernel->counts.nanoseconds, ogive_nanoseconds() - begin, memory_order_relaxed);
            /* Of rows with one mark for all elements, all are asked about. */
            const npy_intp marks = elements[inputs + outputs];
            int64_t asked = marked(buffers[inputs + outputs], marks);
            for (int k = 0; k < inputs && repair->of_row[inputs + outputs]; ++k) {
                asked = elements[k] > asked ? elements[k] : asked;
            }
            atomic_fetch_add_explicit(&call->kernel->counts.asked, asked, memory_order_relaxed);
        }
        if (answer == NULL || take(answer, buffers + inputs, repair->itemsizes + inputs, outputs, elements + inputs) < 0) {
            keep_failure(call);
        }
        Py_XDECREF(answer);
        Py_XDECREF(before);
        Py_XDECREF(after);
        Py_XDECREF(mask);
        Py_XDECREF(parameters);
    }
    PyGILState_Release(lock);
}

/* ---- the repair ------------------------------------------------------------------------------ */

/* The code of the repair; NULL where it cannot be had, which the call will say. */
ogive_kernel_function ogive_repair_function(ogive_call *call, OgiveKernel *repair) {
    ogive_kernel_function function = atomic_load_explicit(&repair->function, memory_order_acquire);
    if (function == NULL && atomic_load(&call->failure) == NULL) {
        PyGILState_STATE lock = PyGILState_Ensure();
        if (!PyErr_Occurred() && (function = ogive_kernel_resolve(repair)) == NULL) {
            keep_failure(call);
        }
        PyGILState_Release(lock);
    }
    return function;
}

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
 * as many as a chunk: open addressing of a place and one, 0 where it is free. */
static npy_intp keep_first_marks(const OgiveKernel *repair, char *const *buffers, npy_intp count, uint16_t *first,
                                 uint16_t *table) {
    char *mask = buffers[repair->inputs + repair->outputs - 1];
    npy_intp gone = 0;
    memset(table, 0, 2 * CHUNK * sizeof *table);
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
            uint16_t *entry = &table[at % (2 * CHUNK)];
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

/* Has Python decide what the repair flagged of a batch. Threads with small stacks call this: 24 KiB lie elsewhere. */
static void decide_elements(ogive_call *call, const OgiveKernel *repair, char *const *buffers, npy_intp count) {
    uint16_t *const first = malloc(3 * CHUNK * sizeof *first); /* NULL: Python is asked about each */
    npy_intp elements[OGIVE_MAX_OPERANDS + 1];
    const int operands = repair->inputs + repair->outputs;
    for (int k = 0; k < operands; ++k) {
        elements[k] = count;
    }
    const npy_intp gone = first == NULL ? 0 : keep_first_marks(repair, buffers, count, first, first + CHUNK);
    atomic_fetch_add_explicit(&call->kernel->counts.asked, gone, memory_order_relaxed);
    ogive_decide(call, repair, buffers, elements);
    for (npy_intp i = 0; gone > 0 && i < count; ++i) {
        for (int k = repair->inputs; first[i] != i && k < operands - 1; ++k) {
            const npy_intp size = repair->itemsizes[k];
            copy_element(buffers[k] + i * size, buffers[k] + first[i] * size, size);
        }
    }
    free(first);
}

/* Computes the elements with these numbers again. */
static void repair_elements(ogive_call *call, void *const *pointers, const uint16_t *numbers, npy_intp count) {
    OgiveKernel *repair = call->kernel->repair;
    const ogive_kernel_function function = ogive_repair_function(call, repair);
    if (function == NULL) {
        return;
    }
    atomic_fetch_add_explicit(&call->kernel->counts.repaired, count, memory_order_relaxed);
    const int operands = repair->inputs + repair->outputs;
    _Alignas(64) char staging[OGIVE_STAGING_BYTES];
    char *buffers[OGIVE_MAX_OPERANDS + 1];
    for (npy_intp begin = 0; begin < count; begin += repair->staged) {
        const npy_intp some = count - begin < repair->staged ? count - begin : repair->staged;
        const npy_intp padded = (some + repair->block - 1) / repair->block * repair->block;
        char *cursor = staging;
        for (int k = 0; k < operands; ++k) {
            const npy_intp size = repair->itemsizes[k];
            buffers[k] = cursor;
            cursor += padded * size;
            if (k < repair->inputs) {
                for (npy_intp i = 0; i < some; ++i) {
                    copy_element(buffers[k] + i * size, (const char *)pointers[k] + numbers[begin + i] * size, size);
                }
                memset(buffers[k] + some * size, 0, (size_t)((padded - some) * size));
            }
        }
        function((void *const *)buffers, padded, call->loop->parameters, 2 * padded, NULL);
        const char *mask = buffers[operands - 1];
        if (memchr(mask, 1, (size_t)some) != NULL) {
            decide_elements(call, repair, buffers, some);
        }
        for (int k = repair->inputs; k < operands - 1; ++k) {
            const npy_intp size = repair->itemsizes[k];
            for (npy_intp i = 0; i < some; ++i) {
                copy_element((char *)pointers[k] + numbers[begin + i] * size, buffers[k] + i * size, size);
            }
        }
    }
}

/* The numbers of the flagged elements. */
static npy_intp find_flagged(const unsigned char *flags, npy_intp valid, uint16_t *numbers) {
    npy_intp found = 0;
    for (npy_intp at = 0; at < valid; at += 64) {
        uint64_t word;
        memcpy(&word, flags + at / 8, sizeof word);
        if (valid - at < 64) {
            word &= ((uint64_t)1 << (valid - at)) - 1;
        }
        for (npy_intp i = at; word != 0; ++i, word >>= 1) {
            while ((word & 0xFF) == 0) {
                word >>= 8;
                i += 8;
            }
            if (word & 1) {
                numbers[found++] = (uint16_t)i;
            }
        }
    }
    return found;
}

static int any_flagged(const unsigned char *flags, npy_intp valid) {
    uint64_t all = 0;
    for (npy_intp at = 0; at < valid; at += 64) {
        uint64_t word;
        memcpy(&word, flags + at / 8, sizeof word);
        all |= word;
    }
    return all != 0;
}

static void compute_chunk(ogive_call *call, void *const *pointers, npy_intp count, npy_intp valid, _Bool streams) {
    _Alignas(64) unsigned char flags[CHUNK / 8];
    memset(flags + (count - 1) / 64 * 8, 0, 8); /* the code writes the flags of `count` elements only */
    call->function(pointers, count, call->loop->parameters, 2 * call->total + streams, flags);
    if (any_flagged(flags, valid)) {
        uint16_t numbers[CHUNK];
        const npy_intp found = find_flagged(flags, valid, numbers);
        if (streams) {
            ogive_stream_end();
        }
        repair_elements(call, pointers, numbers, found);
    }
}

/* Whether a result lies over an input. */
static int is_in_place(const OgiveKernel *kernel, void *const *pointers, int result) {
    for (int k = 0; k < kernel->inputs; ++k) {
        if (pointers[k] == pointers[result]) {
            return 1;
        }
    }
    return 0;
}

void ogive_compute(ogive_call *call, void *const *pointers, npy_intp count, npy_intp valid, _Bool streams) {
    const OgiveKernel *kernel = call->kernel;
    const int operands = kernel->inputs + kernel->outputs;
    if (kernel->repair == NULL) {
        call->function(pointers, count, call->loop->parameters, 2 * call->total + streams, NULL);
        return;
    }
    ogive_count(call->kernel, valid);
    /* In place, results go through a buffer: to repair them, the inputs are needed. */
    _Alignas(64) char buffer[OGIVE_STAGING_BYTES];
    char *buffers[OGIVE_MAX_OPERANDS];
    npy_intp bytes = 0, chunk = CHUNK;
    for (int k = kernel->inputs; k < operands; ++k) {
        buffers[k] = is_in_place(kernel, pointers, k) ? buffer : NULL;
        bytes += buffers[k] == NULL ? 0 : kernel->itemsizes[k];
    }
    if (bytes > 0) {
        chunk = OGIVE_STAGING_BYTES / 4 / bytes / FEWEST_IN_PLACE * FEWEST_IN_PLACE;
        chunk = chunk < FEWEST_IN_PLACE ? FEWEST_IN_PLACE : chunk;
        chunk = chunk > CHUNK ? CHUNK : chunk; /* the flags have room for so many, whatever the size of elements */
        char *cursor = buffer;
        for (int k = kernel->inputs; k < operands; ++k) {
            if (buffers[k] != NULL) {
                buffers[k] = cursor;
                cursor += chunk * kernel->itemsizes[k];
            }
        }
    }
    for (npy_intp at = 0; at < count; at += chunk) {
        const npy_intp some = count - at < chunk ? count - at : chunk;
        const npy_intp of_them = valid - at < some ? valid - at : some;
        void *places[OGIVE_MAX_OPERANDS];
        for (int k = 0; k < operands; ++k) {
            places[k] = (char *)pointers[k] + at * kernel->itemsizes[k];
            if (k >= kernel->inputs && buffers[k] != NULL) {
                places[k] = buffers[k];
            }
        }
        compute_chunk(call, places, some, of_them, streams && bytes == 0);
        for (int k = kernel->inputs; bytes > 0 && k < operands; ++k) {
            if (buffers[k] != NULL) {
                memcpy((char *)pointers[k] + at * kernel->itemsizes[k], buffers[k], (size_t)(some * kernel->itemsizes[k]));
            }
        }
    }
}
