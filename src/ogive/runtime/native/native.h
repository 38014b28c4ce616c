/* The native half of ogive.runtime: what Python cannot do fast enough or at all.
 *
 *   code.c     executable memory that holds one compiled kernel
 *   pool.c     the threads
 *   kernel.c   a kernel: code that is compiled when it is first needed
 *   repair.c   results that a kernel could not decide: found, and computed again
 *   elements.c the loop of element-wise kernels: floating-point environment, strides, threads
 *   grid.c     the same over several dimensions, for any layout
 *   rows.c     the loop of row-wise kernels: stages, reductions, threads
 *   ufunc.c    a numpy.ufunc made from kernels
 *   call.c     the call path of an operator: keywords -> bound ufunc
 *   direct.c   calls that need only the loop of a ufunc
 *   strided.c  calls of a plan's kernels for any layout and several outputs
 *   plan.c     computations of several kernels, run without Python
 *   xla.c      kernels called by programs that XLA compiled (ogive.jax)
 *   dlpack.c   operators called on another library's tensors (ogive.torch)
 *   fork.c     what runs before and after a fork
 *   stack.c    calls that need a large stack
 *   memory.c   calls whose arrays may take so many bytes
 *   cpu.c      what the processor can do, and its last cache
 *   module.c   the Python module ogive._native
 *
 * Everything that arrives from Python is checked where it arrives (code.c, kernel.c, ufunc.c, call.c, direct.c, plan.c,
 * dlpack.c); the loops (elements.c, grid.c, rows.c) and pool.c then trust it.
 */
#ifndef OGIVE_NATIVE_H
#define OGIVE_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL ogive_ARRAY_API
#define PY_UFUNC_UNIQUE_SYMBOL ogive_UFUNC_API
#ifndef OGIVE_DEFINES_NUMPY_API
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

#include <math.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef _MSC_VER
#define OGIVE_THREAD_LOCAL __declspec(thread)
#define OGIVE_APART __declspec(noinline) /* a function whose frame its callers do without */
#else
/* glibc allocates such variables of a loaded library when a thread first touches them, and ends the process if it cannot. It keeps
 * room in all threads for a few small ones, which `initial-exec` takes. Other systems have no such fault. */
#if defined(__GLIBC__)
#define OGIVE_THREAD_LOCAL __attribute__((tls_model("initial-exec"))) _Thread_local
#else
#define OGIVE_THREAD_LOCAL _Thread_local
#endif
#define OGIVE_APART __attribute__((noinline))
#endif

/* The data that the interpreter's lock guards in other builds of Python, the object's own lock guards in a free-threaded one. No
 * `return` may leave the lines between, and they run no Python code. */
#ifdef Py_GIL_DISABLED
#define OGIVE_LOCK(object) Py_BEGIN_CRITICAL_SECTION(object)
#define OGIVE_UNLOCK() Py_END_CRITICAL_SECTION()
#else
#define OGIVE_LOCK(object) {         \
    (void)(object)
#define OGIVE_UNLOCK() }
#endif

/* NumPy allows 64 operands from version 2.0 on. */
#define OGIVE_MAX_OPERANDS 64

/* The functions that LLVM compiles: `count` elements, a positive multiple of the kernel's block, every operand contiguous
 * and aligned to its element size. `values` are the operator's parameters, doubles in the order of its signature.
 * `hints` is twice the number of elements of the whole call, and one more to ask it to write past the caches; outputs are
 * then aligned to OGIVE_STREAM_ALIGNMENT. Of a kernel that has a repair, bit i % 8 of `flags[i / 8]` is set if element i
 * is not decided. */
typedef void (*ogive_kernel_function)(void *const *operands, intptr_t count, const void *values, intptr_t hints,
                                      unsigned char *flags);

/* A stage of row-wise code: `count` elements of each of `rows` rows, both positive. `operands` are those of the first
 * row, and `steps` lead from row to row, in bytes. `first` is the position in the row of the first element.
 * Number i of row r lies at OGIVE_ROWS_AT_ONCE * i + r of `records`. These numbers are, in this order:
 *   - the parameters, and the length of the row;
 *   - two for every reduction, where the stage leaves what it finds;
 *   - room for what the stage computes of them for all rows at once;
 *   - if the kernel has a repair, two, of which the first counts the elements that the last stage leaves undecided;
 *   - room for the lanes of the reductions, which wait there for the last row. */
typedef void (*ogive_row_function)(void *const *operands, intptr_t count, double *records, intptr_t rows,
                                   const intptr_t *steps, intptr_t first);

/* The same of a kernel for columns: of rows whose elements at one position lie side by side, a multiple of
 * OGIVE_ROWS_AT_ONCE. `steps` lead from element to element; behind them is the distance from the records of so many rows
 * to those of the next ones. In place of the lanes, which are rows already, OGIVE_PARTS_ASIDE numbers of each reduction of a
 * stage wait for the call with the next elements: of the same OGIVE_ELEMENTS_TOGETHER, or of the last stage. `first` is twice the
 * number of the first element, and one more where the records take what is found. */

#define OGIVE_STREAM_ALIGNMENT 64

#define OGIVE_MAX_STAGES 8
#define OGIVE_MAX_REDUCTIONS 64  /* of all stages together */
#define OGIVE_MAX_OF_A_STAGE 16  /* reductions of one stage */
#define OGIVE_MAX_PARAMETERS 16
#define OGIVE_MAX_AHEAD 16       /* numbers that a row-wise stage computes for all rows at once */
#define OGIVE_LANES_ASIDE 24     /* numbers of each row's record that a reduction's lanes take: 192 bytes */
#define OGIVE_ROWS_AT_ONCE 16    /* the most rows that it takes */
#define OGIVE_PARTS_ASIDE 4
#define OGIVE_ELEMENTS_TOGETHER 1024 /* of a column: so many are reduced in one order, by as many calls as it takes */

/* How rows are reduced, in the words that exported C has too. */
#define FUNCTION static inline
#define ogive_fabs_d fabs
#define ogive_fma_d fma
static inline uint64_t ogive_bits_of_double(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
static inline double ogive_double_of_bits(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
#include "../../backends/row_reductions.h"

/* How many elements each level of a kernel with a repair has computed. Threads add to numbers of their own, which costs no
 * locked instruction; the first number is that of all threads for which there is none. */
#define OGIVE_MOST_LATER 3 /* kernels of a chain behind the first: each before the last takes 40 KiB of the stack */
#define OGIVE_COUNTING_THREADS 16
#define OGIVE_NUMBERS_OF_A_LINE 8

typedef struct {
    _Atomic int64_t computed[OGIVE_COUNTING_THREADS][OGIVE_NUMBERS_OF_A_LINE]; /* lines of the cache that threads don't share */
    _Atomic int64_t retried;
    _Atomic int64_t repaired;
    _Atomic int64_t asked;       /* of `decide` */
    _Atomic int64_t nanoseconds; /* that `decide` took */
} ogive_counts;

/* One kernel: an operator for one combination of element types, compiled when it is first needed. An
 * element-wise one has one stage, which reduces nothing. */
typedef struct OgiveKernel {
    PyObject_HEAD
    _Atomic(ogive_kernel_function) function; /* of the first stage; NULL until resolved, then the rest is set */
    /* () -> (Code, block, stages, scratch, parallel threshold, streaming threshold, later, columns, quick); called once,
     * then dropped */
    PyObject *resolve;
    /* The rest of the chain, of a kernel whose code flags what it cannot decide: each computes again what the one before leaves.
     * The last may have one more result, an uint8 that is not 0 where enclosures have to decide: a repair. The others are retries,
     * with the same results and flags of their own. */
    struct OgiveKernel *later[OGIVE_MOST_LATER];
    int later_count;
    int before; /* how many kernels of the chain are before this one */
    _Atomic int skipped; /* how many short calls go to the retry next, whatever they have */
    /* The repair once more, which compiles sooner: it computes the first few such elements while a retry has no code. */
    struct OgiveKernel *quick;
    /* For a row-wise kernel whose results depend on no order: its code for rows that are the columns of a matrix. */
    struct OgiveKernel *columns;
    PyObject *decide;  /* of a repair: computes what it could not decide (see repair.c) */
    PyObject *few;     /* of a repair: computes a few elements while nothing has compiled it; NULL where nothing does */
    _Atomic _Bool may_ask_few; /* until it says that the repair has to */
    struct ogive_remembered *remembered; /* what it has decided last; NULL until it has */
    atomic_flag is_looked_into;          /* by a thread; others then ask Python */
    PyObject *name;    /* that of the first ufunc of it */
    ogive_counts counts;
    PyObject *code;    /* the Code that the functions lie in */
    PyObject *weakrefs;
#ifdef Py_GIL_DISABLED
    PyMutex accepting; /* held by the thread that takes over what `resolve` answered */
#endif
    int row_wise;      /* whether it may have several stages */
    int inputs;
    int outputs;
    char of_row[OGIVE_MAX_OPERANDS];        /* of a row-wise kernel: whether an operand has one number a row */
    int reduces;                            /* whether a result has, so that rows without elements have one too */
    int scratches;                          /* rows of its own that a row-wise kernel keeps between stages */
    npy_intp itemsizes[OGIVE_MAX_OPERANDS]; /* inputs, then outputs, then scratches */
    npy_intp bytes;                         /* of one element of every operand together */
    npy_intp block;                         /* elements that the code takes at a time, a power of two */
    npy_intp staged;                        /* elements that are staged at a time, where it cannot have them as they lie */
    npy_intp parallel_threshold;            /* fewer elements than this: one thread */
    size_t stream_threshold;                /* fewer bytes of all operands than this: results go through the caches */
    int stages;
    ogive_kernel_function functions[OGIVE_MAX_STAGES];
    int reductions_of[OGIVE_MAX_STAGES];
    char repeats[OGIVE_MAX_STAGES]; /* whether a stage runs again until it finds the same numbers twice */
    int has_repeats;
    enum ogive_reduction reductions[OGIVE_MAX_REDUCTIONS]; /* of all stages, one after the other */
} OgiveKernel;

/* So many elements of any size fill whole lines of the cache; blocks divide it. */
#define OGIVE_ELEMENTS_OF_LINES 64

/* A repair computes multiples of so many elements or more, whatever its block. */
#define OGIVE_LEAST_GATHERED 8

/* All staging buffers of one thread together; blocks are small enough for it. */
#define OGIVE_STAGING_BYTES 32768

/* The argument that a loop of a ufunc gets as its `data`. */
typedef struct {
    OgiveKernel *kernel;
    const double *parameters;
    int parameter_count;
} OgiveLoopData;

extern PyTypeObject *ogive_kernel_type;
extern PyTypeObject *ogive_code_type;
extern PyTypeObject *ogive_operator_type;
extern PyTypeObject *ogive_model_type;
extern PyTypeObject *ogive_tensor_call_type;

int ogive_add_code_type(PyObject *module);
int ogive_add_kernel_type(PyObject *module);
int ogive_add_operator_type(PyObject *module);
int ogive_add_plan_types(PyObject *module);
int ogive_add_tensor_types(PyObject *module);

/* cpu.c */
int ogive_x86_level(void);
size_t ogive_last_level_cache(void); /* in bytes; a guess where the system does not say */

/* code.c */
int ogive_code_entries(PyObject *code);
ogive_kernel_function ogive_code_entry(PyObject *code, int index);

/* kernel.c: the function of the first stage, compiled if need be; NULL with an error set. May be called with
 * or without the interpreter's lock. */
ogive_kernel_function ogive_kernel_resolve(OgiveKernel *kernel);

/* pool.c: where a thread finds what it is to compute. */
typedef struct ogive_pieces ogive_pieces;

/* repair.c: one call of a kernel's loop. */
struct ogive_left;

typedef struct {
    OgiveKernel *kernel;
    ogive_kernel_function function;
    const OgiveLoopData *loop;
    npy_intp total;                /* elements of the call */
    _Atomic(PyObject *) failure;   /* the first exception of any thread */
    int may_leave;                 /* whether workers may leave undecided elements to the caller */
    _Atomic(struct ogive_left *) left; /* those elements, until the caller has computed them */
} ogive_call;

/* Computes `count` elements, whole blocks, as `function` does, and again what it could not decide of the first `valid`. */
void ogive_compute(ogive_call *call, void *const *pointers, npy_intp count, npy_intp valid, _Bool streams);
/* Whether what computes elements of the other kernel again is a retry. */
static inline int ogive_is_retry(const OgiveKernel *next, const OgiveKernel *kernel) {
    return next->outputs == kernel->outputs;
}
/* The most undecided elements that are gathered. */
#define OGIVE_MOST_GATHERED 1024

/* Undecided elements of several chunks, which the next kernel of the chain takes together. */
typedef struct {
    OgiveKernel *next; /* NULL until there is something to gather */
    int at_once; /* how many chunks go to a retry next, whatever they have */
    npy_intp count, room;
    npy_intp places[OGIVE_MOST_GATHERED]; /* in the results */
    char *results[OGIVE_MAX_OPERANDS]; /* as operands are counted */
    char *buffers[OGIVE_MAX_OPERANDS + 1];
    _Alignas(64) char memory[OGIVE_STAGING_BYTES];
} ogive_heap;

/* The same of one of several tiles of a kernel with a repair: their undecided elements are computed together, at `ogive_end_tiles`
 * at the latest. So many elements of each result lie before the tile's. */
void ogive_compute_tile(ogive_call *call, void *const *pointers, npy_intp count, npy_intp valid, _Bool streams, npy_intp behind,
                        ogive_heap *found);
void ogive_end_tiles(ogive_call *call, ogive_heap *found, _Bool streams);

/* The same of the whole blocks of pieces, whose undecided elements are computed together. `tail` is the range that no block
 * fills, if there is one: only the last piece may end with it. */
void ogive_compute_pieces(ogive_call *call, void *const *pointers, ogive_pieces *pieces, _Bool streams, npy_intp tail[2]);
/* The code of the kernel's repair; NULL where it cannot be had, which the call will say. */
ogive_kernel_function ogive_repair_function(ogive_call *call, OgiveKernel *repair);
/* The results that the repair left open: `elements` of every operand and result, one after the other, and where in the mask.
 * Returns whether they are decided. */
int ogive_decide(ogive_call *call, const OgiveKernel *repair, char *const *buffers, const npy_intp *elements);
/* Counts elements that a kernel with a repair computes. */
void ogive_count(OgiveKernel *kernel, npy_intp elements);
/* Sets the exception of the call, if there was one. */
void ogive_raise(ogive_call *call);
/* Counts calls of this thread that failed: callers without a Python thread of their own find no exception (xla.c). */
extern OGIVE_THREAD_LOCAL int ogive_failures;
/* `ogive_pool_run` and `ogive_pool_take` of a part of a call: without the interpreter's lock, which threads may need to repair, and
 * with the code of the whole chain, unless workers may leave undecided elements to the caller (`may_leave`): those of
 * `ogive_compute_pieces` alone, whose results lie where they stay. */
void ogive_run_in_pool(ogive_call *call, void (*function)(void *, intptr_t, intptr_t), void *context, intptr_t count,
                       intptr_t grain, intptr_t unit);
void ogive_take_in_pool(ogive_call *call, void (*function)(void *, ogive_pieces *), void *context, intptr_t count,
                        intptr_t grain, intptr_t unit, int may_leave);

/* elements.c, rows.c: each a PyUFuncGenericFunction whose data is an OgiveLoopData. */
void ogive_element_loop(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data);
void ogive_row_loop(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data);

/* elements.c: the same for at least one element of operands that lie one after the other, and do not overlap but element
 * on element. */
void ogive_plain_elements(char **args, npy_intp count, const npy_intp *steps, OgiveLoopData *loop);

/* grid.c: several dimensions. Results lie the closer together, the lower the axis, and do not overlap. */
#define OGIVE_MAX_AXES 8
#define OGIVE_MAX_GRID_OPERANDS 8

typedef struct {
    npy_intp length;
    npy_intp steps[OGIVE_MAX_GRID_OPERANDS]; /* in bytes, of every operand */
} OgiveAxis;

void ogive_element_grid(char **operands, const OgiveAxis *axes, int axis_count, OgiveLoopData *loop);

/* The loops of a ufunc of one output, for direct.c. Lives as long as the ufunc. */
typedef struct {
    int inputs;
    int row_wise;
    int has_row_operands; /* that have one number a row */
    int reduces;          /* whether the result has no axis for that number */
    int loop_count; /* 0: its calls always go to NumPy */
    int *types; /* NumPy's numbers of the operands of every loop */
    OgiveLoopData *loops;
    _Atomic int latest; /* the loop of the latest call: the next one's, most often */
} OgiveDirect;

/* direct.c: the result, or NULL without an error set if the call is one for the ufunc. An error of the compiler
 * is left set beside a result, as NumPy leaves it. */
PyObject *ogive_call_directly(OgiveDirect *direct, PyObject *const *inputs, PyObject *out);

/* direct.c: the loop for inputs of these types, and the type of its result; NULL if there is none. */
OgiveLoopData *ogive_find_loop(OgiveDirect *direct, const int *types, int *out_type);

/* direct.c: a loop on operands of one shape, whose elements lie one after the other: `count` in all, more than 0, and
 * `length` in a row. Results overlap nothing but element on element. An error of the compiler is left set. */
void ogive_run_alike(const OgiveDirect *direct, OgiveLoopData *loop, char **args, npy_intp count, npy_intp length);

/* call.c: the arguments of a vectorcall as Python has them. */
PyObject *ogive_argument_tuple(PyObject *const *args, Py_ssize_t count);
PyObject *ogive_keywords_dict(PyObject *names, PyObject *const *values);

/* call.c: the loops that a call of an operator with these keywords goes to, and a new reference to the ufunc that they
 * live as long as; NULL if there are none, with an error set if a keyword is wrong. */
OgiveDirect *ogive_find_direct(PyObject *operator, PyObject *names, PyObject *const *values, PyObject **owner);

/* strided.c: the kernel on `count` arrays, inputs then outputs, which exist and have the shapes of a plan. 1 if it ran, 0
 * if the call is one for the ufunc, -1 with an error set. `types` are NumPy's numbers of the operands. */
int ogive_call_strided(OgiveLoopData *loop, const int *types, int row_wise, PyObject *const *operands, int count);

/* ufunc.c: the loops of a ufunc made by make_ufunc; NULL for another one. */
OgiveDirect *ogive_direct_loops(PyObject *ufunc);
int ogive_add_ufunc_parts(void);
PyObject *ogive_make_ufunc(PyObject *module, PyObject *args, PyObject *keywords);
int ogive_add_ufunc_type(PyObject *module);

/* pool.c */
typedef void (*ogive_range_function)(void *context, intptr_t begin, intptr_t end);
/* Calls the function for ranges that make up [0, count), each beginning at a multiple of `unit`; there is one
 * thread for every `grain` at most. 0 if parts were lost: the caller forked inside, and this is the child. */
int ogive_pool_run(ogive_range_function function, void *context, intptr_t count, intptr_t grain, intptr_t unit);
/* The same by a function that each thread calls once, and that asks for one range after the other: 0 if none is left. */
typedef void (*ogive_pieces_function)(void *context, ogive_pieces *pieces);
int ogive_next_piece(ogive_pieces *pieces, intptr_t *begin, intptr_t *end);
int ogive_pool_take(ogive_pieces_function function, void *context, intptr_t count, intptr_t grain, intptr_t unit);
/* How many threads a job of the calling thread may use: its own number, else that of the process. */
#define OGIVE_MAX_THREADS 1024
int ogive_pool_size(void);
int ogive_pool_is_worker(void); /* whether the calling thread is */
void ogive_pool_resize(int threads); /* of the process; from 1 to OGIVE_MAX_THREADS */
int ogive_pool_own_size(void);
void ogive_pool_resize_own(int threads); /* of the calling thread; 0: that of the process again */
#if defined(_WIN32)
#define OGIVE_EXPORT __declspec(dllexport)
#else
#define OGIVE_EXPORT __attribute__((visibility("default")))
#endif
OGIVE_EXPORT int ogive_get_num_threads(void);
OGIVE_EXPORT void ogive_set_num_threads(int threads);
int ogive_pool_setup(void);
/* PyGILState_Ensure and PyGILState_Release for loops, which a worker may run: at exit nobody waits for a worker between the two. */
PyGILState_STATE ogive_enter_python(void);
void ogive_leave_python(PyGILState_STATE state_before);
#if !defined(_WIN32)
/* Whether the job that is running is the calling thread's; then it withdraws the job from its workers before it forks, and waits
 * for the pieces that they hold, so many nanoseconds at most (0: for ever). Without the interpreter's lock, which they may need. */
int ogive_pool_is_caller(void);
void ogive_pool_withdraw(int64_t longest);
/* Ends this thread, and so the process, if it is a worker that has forked, in the child: it has no call to return to. */
void ogive_pool_end_orphan(void);
#else
static inline void ogive_pool_end_orphan(void) {}
#endif
/* A clock that nobody sets: time since some moment. */
int64_t ogive_nanoseconds(void);
#if !defined(_WIN32)
#include <signal.h>
/* Block the calling thread's signals, and say which were blocked before. */
void ogive_block_signals(sigset_t *before);
#endif

/* fork.c */
/* Whether the calling thread holds the first lock that a fork waits for, that of compiling. */
int ogive_is_compiling(void);

/* stack.c */
/* Calls a Python function without arguments, on a stack of 8 MiB where the calling thread has not enough left. */
PyObject *ogive_call_with_stack(PyObject *function);

#endif
