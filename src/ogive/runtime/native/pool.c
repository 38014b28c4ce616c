/* The thread pool: one job at a time, cut into a share for every thread.
 *
 * A thread takes its share piece by piece, and then pieces of the others' shares: a worker that comes late, or not at
 * all, holds nobody up. Shares are the same in every call, so a thread finds in its caches what it needs next. A thread's
 * share and its counter lie in one cache line of its own. A line takes 0.3 us from one processor to another in the
 * virtual machine that this was measured on, and a job costs two such journeys.
 *
 * A worker that has just finished spins for a while before it sleeps, so that calls in a row find it awake. A caller
 * that finds the pool busy (another Python thread is computing) runs its job alone. docs/performance.md says what a user
 * sees of all this.
 *
 * The last level of results runs Python, which may fork in the middle of a job. The child has no workers. So the caller of a
 * job takes it back from its workers before it forks, and does what is left alone, in both processes.
 */
#include "native.h"

#if defined(__linux__)
#include <sched.h>
#endif

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
typedef SRWLOCK lock_type;
typedef CONDITION_VARIABLE condition_type;
#define LOCK_INITIALISER SRWLOCK_INIT
#define CONDITION_INITIALISER CONDITION_VARIABLE_INIT
static void lock(lock_type *l) { AcquireSRWLockExclusive(l); }
static int try_lock(lock_type *l) { return TryAcquireSRWLockExclusive(l); }
static void unlock(lock_type *l) { ReleaseSRWLockExclusive(l); }
static void wait_for(condition_type *c, lock_type *l) { SleepConditionVariableSRW(c, l, INFINITE, 0); }
static void wake_all(condition_type *c) { WakeAllConditionVariable(c); }
static void nap(void) { Sleep(1); }
#else
#include <pthread.h>
#include <time.h>
typedef pthread_mutex_t lock_type;
typedef pthread_cond_t condition_type;
#define LOCK_INITIALISER PTHREAD_MUTEX_INITIALIZER
#define CONDITION_INITIALISER PTHREAD_COND_INITIALIZER
static void lock(lock_type *l) { pthread_mutex_lock(l); }
static int try_lock(lock_type *l) { return pthread_mutex_trylock(l) == 0; }
static void unlock(lock_type *l) { pthread_mutex_unlock(l); }
static void wait_for(condition_type *c, lock_type *l) { pthread_cond_wait(c, l); }
static void wake_all(condition_type *c) { pthread_cond_broadcast(c); }
static void nap(void) {
    const struct timespec time = {0, 50000};
    nanosleep(&time, NULL);
}
#endif

#if defined(__x86_64__) || defined(_M_X64) || defined(__i386__) || defined(_M_IX86)
#include <immintrin.h>
#define PAUSE() _mm_pause()
#elif defined(__aarch64__) && defined(__GNUC__)
#define PAUSE() __asm__ volatile("yield")
#else
#define PAUSE() ((void)0)
#endif

/* How long a worker spins for the next job before it sleeps. It is longer than the gaps between calls in a row, and than
 * the time a woken thread may need to get a processor, so that a worker does not miss one short job after the other. It
 * is short enough that a process which has stopped computing leaves its processors alone. */
#define SPIN_NANOSECONDS 1000000
/* How long a caller spins for the last piece: the worker that holds it may be waiting for the caller's processor. */
#define CALLER_SPIN_NANOSECONDS 100000
#define PAUSES_A_LOOK 32 /* at the clock */
/* Pieces of a share: enough that one slow thread does not hold up the rest. */
#define PIECES 8
/* How many of the next threads a worker helps; the caller helps all. */
#define NEIGHBOURS 4
/* Bytes of a worker's stack: docs/performance.md says so. A worker's loops take 150 KiB, and the last level of results runs
 * Python. */
#define WORKER_STACK (1 << 20)
/* A job of fewer grains is short: it does not pay to wake a thread for one that comes alone. */
#define SHORT_JOB 16

/* The state that a worker's slot says. The caller posts a job, and takes it back if the worker has not claimed it when all pieces
 * are taken. The worker claims the job, and empties the slot when it has no more pieces to take. */
enum { EMPTY, POSTED, CLAIMED };

typedef struct {
    _Alignas(128) atomic_int slot; /* processors fetch lines in pairs */
    atomic_int asleep;
    atomic_int in_python; /* how many calls of the worker hold the interpreter, or ask for it */
    ogive_pieces_function function;
    void *context;
    intptr_t piece;
    intptr_t end;
    atomic_intptr_t next; /* where the next piece begins */
    int participants;
    int processor; /* where the worker runs from its start on; -1: anywhere */
} share_type;

static lock_type owner = LOCK_INITIALISER; /* held by the caller whose job is running */
static lock_type state = LOCK_INITIALISER; /* for those who sleep */
static condition_type job_ready = CONDITION_INITIALISER;
static condition_type job_left = CONDITION_INITIALISER;
static share_type shares[OGIVE_MAX_THREADS]; /* the caller's first */
static atomic_int caller_sleeps;
static atomic_int withdrawn; /* whether workers get no more pieces of the job */
static atomic_int stopping;
static OGIVE_THREAD_LOCAL int is_caller; /* whether the job that is running is the calling thread's */
static OGIVE_THREAD_LOCAL int is_worker; /* its share; 0: another thread */
static OGIVE_THREAD_LOCAL int is_orphan; /* a worker that forked, in the child */
static int has_lost_pieces; /* whether a fork took away workers of the job that is running; changed by the owner */
static int workers_started; /* changed by the owner */
static int64_t last_short_job; /* when it began; changed by the owner */
static atomic_int thread_limit = 1;      /* of the process */
static OGIVE_THREAD_LOCAL int own_thread_limit; /* of the calling thread; 0: it has none of its own */

#if defined(_WIN32)
static HANDLE worker_handles[OGIVE_MAX_THREADS];
#else
static pthread_t worker_handles[OGIVE_MAX_THREADS];
#endif

int64_t ogive_nanoseconds(void) {
#if defined(_WIN32)
    LARGE_INTEGER now, per_second;
    QueryPerformanceCounter(&now);
    QueryPerformanceFrequency(&per_second);
    return (int64_t)((double)now.QuadPart * 1e9 / (double)per_second.QuadPart);
#else
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
#endif
}

/* Whether a spinning thread should go on: most times without a look at the clock. */
static int spins_on(int *pauses, int64_t *since, int64_t limit) {
    PAUSE();
    if (++*pauses % PAUSES_A_LOOK != 0) {
        return 1;
    }
    const int64_t now = ogive_nanoseconds();
    if (*since == 0) {
        *since = now;
    }
    return now - *since < limit;
}

/* A thread takes what is left of its own share, and of those of so many that follow. */
struct ogive_pieces {
    int self, others;
    int at; /* whose pieces it takes, counted from itself on */
    intptr_t count; /* of a job that has one piece; then there are no shares */
};

int ogive_next_piece(ogive_pieces *pieces, intptr_t *begin, intptr_t *end) {
    if (pieces->count > 0) {
        *begin = 0;
        *end = pieces->count;
        pieces->count = 0;
        pieces->others = -1;
        return 1;
    }
    if (pieces->self > 0 && atomic_load(&withdrawn)) {
        return 0;
    }
    for (; pieces->at <= pieces->others; ++pieces->at) {
        share_type *share = &shares[(pieces->self + pieces->at) % shares[pieces->self].participants];
        if (atomic_load(&share->next) < share->end) {
            *begin = atomic_fetch_add(&share->next, share->piece);
            if (*begin < share->end) {
                *end = *begin + share->piece < share->end ? *begin + share->piece : share->end;
                return 1;
            }
        }
    }
    return 0;
}

static void take_pieces(int self, int others) {
    ogive_pieces pieces = {self, others, 0, 0};
    shares[self].function(shares[self].context, &pieces);
}

static void run_alone(ogive_pieces_function function, void *context, intptr_t count) {
    ogive_pieces whole = {0, -1, 0, count};
    function(context, &whole);
}

#if defined(__linux__)
/* Linux at times wakes a thread on the processor of the thread that wakes it: in a virtual machine, where an idle
 * processor can look like one that the host took away, half of the time. Caller and worker then share it for up to 4 ms
 * while another processor idles. So each worker is bound to one processor when it starts, if the threads are to use all
 * processors of the caller: the first worker to the processor after the caller's. With fewer threads than processors,
 * others may be there for other processes, and the scheduler places the workers. Nothing here changes a mask later, so
 * one that is set from outside stays. */
static void choose_processor(int index) {
    static int origin; /* the same for all workers, or two would get one processor; changed by the owner */
    cpu_set_t allowed;
    shares[index].processor = -1;
    if (index == 1) {
        origin = sched_getcpu();
    }
    if (origin < 0 || origin >= CPU_SETSIZE || sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        return;
    }
    const int count = CPU_COUNT(&allowed);
    if (index >= count || ogive_pool_size() < count) {
        return;
    }
    int processor = origin;
    for (int steps = index; steps > 0;) {
        processor = (processor + 1) % CPU_SETSIZE;
        steps -= CPU_ISSET(processor, &allowed) != 0;
    }
    shares[index].processor = processor;
}

static void go_to_processor(int self) {
    if (shares[self].processor >= 0) {
        cpu_set_t only;
        CPU_ZERO(&only);
        CPU_SET(shares[self].processor, &only);
        (void)sched_setaffinity(0, sizeof only, &only);
    }
}
#else
static void choose_processor(int index) { (void)index; }
static void go_to_processor(int self) { (void)self; }
#endif

static void work(int self) {
    share_type *share = &shares[self];
    is_worker = self;
    go_to_processor(self);
    while (!atomic_load(&stopping)) {
        int pauses = 0;
        int64_t since = 0;
        while (atomic_load(&share->slot) != POSTED && !atomic_load(&stopping) &&
               spins_on(&pauses, &since, SPIN_NANOSECONDS)) {
        }
        if (atomic_load(&share->slot) != POSTED) {
            lock(&state);
            atomic_store(&share->asleep, 1);
            while (atomic_load(&share->slot) != POSTED && !atomic_load(&stopping)) {
                wait_for(&job_ready, &state);
            }
            atomic_store(&share->asleep, 0);
            unlock(&state);
        }
        int expected = POSTED;
        if (atomic_compare_exchange_strong(&share->slot, &expected, CLAIMED)) {
            const int others = share->participants - 1;
            take_pieces(self, others < NEIGHBOURS ? others : NEIGHBOURS);
            atomic_store(&share->slot, EMPTY);
            if (atomic_load(&caller_sleeps)) {
                lock(&state);
                wake_all(&job_left);
                unlock(&state);
            }
        }
    }
}

#if !defined(_WIN32)
/* All but those that a thread's own instructions raise: blocked, these would end the process without a handler. */
void ogive_block_signals(sigset_t *before) {
    sigset_t blocked;
    sigfillset(&blocked);
    sigdelset(&blocked, SIGSEGV);
    sigdelset(&blocked, SIGBUS);
    sigdelset(&blocked, SIGFPE);
    sigdelset(&blocked, SIGILL);
    pthread_sigmask(SIG_SETMASK, &blocked, before);
}
#endif

#if !defined(_WIN32)
static int workers_hold_pieces(void) {
    for (int i = 1; i < shares[0].participants; ++i) {
        if (atomic_load(&shares[i].slot) == CLAIMED) {
            return 1;
        }
    }
    return 0;
}

int ogive_pool_is_caller(void) { return is_caller; }

void ogive_pool_end_orphan(void) {
    if (is_orphan) {
        pthread_exit(NULL);
    }
}

void ogive_pool_withdraw(int64_t longest) {
    const int64_t begin = ogive_nanoseconds();
    atomic_store(&withdrawn, 1);
    for (int i = 1; i < shares[0].participants; ++i) {
        int expected = POSTED;
        atomic_compare_exchange_strong(&shares[i].slot, &expected, EMPTY);
    }
    while (workers_hold_pieces() && (longest <= 0 || ogive_nanoseconds() - begin < longest)) {
        nap();
    }
}
#endif

#if defined(_WIN32)
static DWORD WINAPI worker_main(LPVOID self) {
    work((int)(intptr_t)self);
    return 0;
}
static int start_worker(int index) {
    worker_handles[index] = CreateThread(NULL, WORKER_STACK, worker_main, (LPVOID)(intptr_t)index,
                                         STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
    return worker_handles[index] != NULL;
}
static void join_worker(int index) {
    WaitForSingleObject(worker_handles[index], INFINITE);
    CloseHandle(worker_handles[index]);
}
#else
static void *worker_main(void *self) {
    work((int)(intptr_t)self);
    return NULL;
}

/* A worker must not take the signals of the program: one that waits for them (sigwait, signalfd) has blocked them in its
 * own threads alone. The stack is stated, because the system's default may be small: musl gives 128 KiB. */
static int start_worker(int index) {
    pthread_attr_t attributes;
    sigset_t before;
    if (pthread_attr_init(&attributes) != 0) {
        return 0;
    }
    int failed = pthread_attr_setstacksize(&attributes, WORKER_STACK);
    ogive_block_signals(&before);
    failed = failed || pthread_create(&worker_handles[index], &attributes, worker_main, (void *)(intptr_t)index) != 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return !failed;
}
static void join_worker(int index) { pthread_join(worker_handles[index], NULL); }

/* The child of a fork has only the forking thread: whatever the others held is gone. If that thread is in the middle of a job,
 * the pool stays its own, and it finds the pieces that are left in the shares. */
static void forget_workers(void) {
    static const lock_type fresh_lock = LOCK_INITIALISER;
    static const condition_type fresh_condition = CONDITION_INITIALISER;
    owner = fresh_lock;
    if (is_caller) {
        lock(&owner);
        has_lost_pieces |= workers_hold_pieces();
    }
    is_orphan = is_worker != 0;
    state = fresh_lock;
    job_ready = fresh_condition;
    job_left = fresh_condition;
    for (int i = 1; i <= workers_started; ++i) {
        atomic_store(&shares[i].slot, EMPTY);
        atomic_store(&shares[i].asleep, 0);
        atomic_store(&shares[i].in_python, 0);
    }
    workers_started = 0;
    atomic_store(&caller_sleeps, 0);
}
#endif

/* Whether this job is not worth waking anybody: it is short, the workers sleep or are not there yet, and no other short
 * job came in the last SPIN_NANOSECONDS. So a short call after a pause runs on its caller's thread; the second wakes
 * the workers. */
static int is_short_and_alone(int is_short) {
    if (!is_short || (workers_started > 0 && !atomic_load(&shares[1].asleep))) {
        return 0;
    }
    const int64_t now = ogive_nanoseconds();
    const int follows = now - last_short_job < SPIN_NANOSECONDS;
    last_short_job = now;
    return !follows;
}

/* Cuts the job into shares, posts it to the workers and wakes those that sleep, by one broadcast. */
static void share_out(ogive_pieces_function function, void *context, intptr_t count, intptr_t unit, int participants) {
    const intptr_t units = (count + unit - 1) / unit;
    const intptr_t size = (units + participants - 1) / participants * unit;
    const intptr_t piece = (size / unit + PIECES - 1) / PIECES * unit;
    for (int i = 0; i < participants; ++i) {
        share_type *share = &shares[i];
        const intptr_t begin = size * i < count ? size * i : count;
        share->function = function;
        share->context = context;
        share->participants = participants;
        share->piece = piece;
        share->end = count - begin < size ? count : begin + size;
        atomic_store(&share->next, begin);
    }
    atomic_store(&withdrawn, 0);
    int wakes = 0;
    for (int i = 1; i < participants; ++i) {
        atomic_store(&shares[i].slot, POSTED);
        wakes |= atomic_load(&shares[i].asleep);
    }
    if (wakes) {
        lock(&state);
        wake_all(&job_ready);
        unlock(&state);
    }
}

/* When all pieces are taken: takes the job back from workers that have not claimed it, and waits for those that have. */
static void wait_for_workers(int participants) {
    for (int i = 1; i < participants; ++i) {
        int expected = POSTED;
        if (atomic_compare_exchange_strong(&shares[i].slot, &expected, EMPTY) || expected == EMPTY) {
            continue;
        }
        int pauses = 0;
        int64_t since = 0;
        while (atomic_load(&shares[i].slot) != EMPTY && spins_on(&pauses, &since, CALLER_SPIN_NANOSECONDS)) {
        }
        if (atomic_load(&shares[i].slot) != EMPTY) {
            lock(&state);
            atomic_store(&caller_sleeps, 1);
            while (atomic_load(&shares[i].slot) != EMPTY) {
                wait_for(&job_left, &state);
            }
            atomic_store(&caller_sleeps, 0);
            unlock(&state);
        }
    }
}

int ogive_pool_take(ogive_pieces_function function, void *context, intptr_t count, intptr_t grain, intptr_t unit) {
    int threads = ogive_pool_size();
    const intptr_t most = grain > 0 ? count / grain : count; /* a piece smaller than this does not pay */
    if (threads > most) {
        threads = (int)most;
    }
    if (threads <= 1 || !try_lock(&owner)) {
        run_alone(function, context, count);
        return 1;
    }
    if (is_short_and_alone(most < SHORT_JOB)) {
        unlock(&owner);
        run_alone(function, context, count);
        return 1;
    }
    while (workers_started < threads - 1) {
        choose_processor(workers_started + 1);
        if (!start_worker(workers_started + 1)) {
            break;
        }
        ++workers_started;
    }
    const int participants = threads <= workers_started ? threads : workers_started + 1;
    has_lost_pieces = 0;
    is_caller = 1;
    share_out(function, context, count, unit, participants);
    take_pieces(0, participants - 1);
    wait_for_workers(participants);
    is_caller = 0;
    const int is_whole = !has_lost_pieces;
    unlock(&owner);
    return is_whole;
}

typedef struct {
    ogive_range_function function;
    void *context;
} ranges;

static void run_ranges(void *opaque, ogive_pieces *pieces) {
    const ranges *job = opaque;
    for (intptr_t begin, end; ogive_next_piece(pieces, &begin, &end);) {
        job->function(job->context, begin, end);
    }
}

int ogive_pool_run(ogive_range_function function, void *context, intptr_t count, intptr_t grain, intptr_t unit) {
    ranges job = {function, context};
    return ogive_pool_take(run_ranges, &job, count, grain, unit);
}

int ogive_pool_is_worker(void) { return is_worker; }

int ogive_pool_size(void) { return own_thread_limit > 0 ? own_thread_limit : atomic_load(&thread_limit); }

void ogive_pool_resize(int threads) { atomic_store(&thread_limit, threads); }

int ogive_pool_own_size(void) { return own_thread_limit; }

void ogive_pool_resize_own(int threads) { own_thread_limit = threads; }

/* The functions that threadpoolctl calls: for the calling thread, as it asks of libraries that can. Whoever restores the number of
 * the process gives up the thread's own. */
OGIVE_EXPORT int ogive_get_num_threads(void) { return ogive_pool_size(); }

OGIVE_EXPORT void ogive_set_num_threads(int threads) {
    const int wanted = threads < 1 ? 1 : threads > OGIVE_MAX_THREADS ? OGIVE_MAX_THREADS : threads;
    own_thread_limit = wanted == atomic_load(&thread_limit) ? 0 : wanted;
}

PyGILState_STATE ogive_enter_python(void) {
    atomic_fetch_add(&shares[is_worker].in_python, 1);
    return PyGILState_Ensure();
}

void ogive_leave_python(PyGILState_STATE state_before) {
    PyGILState_Release(state_before);
    atomic_fetch_sub(&shares[is_worker].in_python, 1);
}

/* Whether a worker ends, now that there is no interpreter. One that asks for it does not: Python 3.14 lets such threads hang. */
static int comes_back(int index) {
    share_type *share = &shares[index];
    int expected = POSTED;
    atomic_compare_exchange_strong(&share->slot, &expected, EMPTY);
    while (atomic_load(&share->slot) == CLAIMED) {
        if (atomic_load(&share->in_python)) {
            return 0;
        }
        nap();
    }
    return 1;
}

/* At interpreter exit, after which the module's code may be unloaded. Who owns the pool stays its owner: nobody starts
 * workers any more. Only a daemon thread can be inside a job now, and it may never come back. */
static void stop_workers(void) {
    (void)try_lock(&owner);
    lock(&state);
    atomic_store(&withdrawn, 1);
    atomic_store(&stopping, 1);
    wake_all(&job_ready);
    unlock(&state);
    for (int i = 1; i <= workers_started; ++i) {
        if (comes_back(i)) {
            join_worker(i);
        }
    }
    workers_started = 0;
}

int ogive_pool_setup(void) {
#if !defined(_WIN32)
    if (pthread_atfork(NULL, NULL, forget_workers) != 0) {
        PyErr_SetString(PyExc_OSError, "ogive: the fork handler of the thread pool could not be registered");
        return -1;
    }
#endif
    return Py_AtExit(stop_workers);
}
