/* The thread pool: one job at a time, cut into pieces that the caller and the workers take in turn.
 *
 * A worker that has just finished spins for a while before it sleeps, so that calls in a row
 * find it awake. A caller that finds the pool busy (another Python thread is computing) runs its job
 * alone. After a fork the child starts with no workers. Workers never touch Python.
 */
#include "native.h"

#include <time.h>

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
#else
#include <pthread.h>
typedef pthread_mutex_t lock_type;
typedef pthread_cond_t condition_type;
#define LOCK_INITIALISER PTHREAD_MUTEX_INITIALIZER
#define CONDITION_INITIALISER PTHREAD_COND_INITIALIZER
static void lock(lock_type *l) { pthread_mutex_lock(l); }
static int try_lock(lock_type *l) { return pthread_mutex_trylock(l) == 0; }
static void unlock(lock_type *l) { pthread_mutex_unlock(l); }
static void wait_for(condition_type *c, lock_type *l) { pthread_cond_wait(c, l); }
static void wake_all(condition_type *c) { pthread_cond_broadcast(c); }
#endif

#if defined(__x86_64__) || defined(_M_X64) || defined(__i386__) || defined(_M_IX86)
#include <immintrin.h>
#define PAUSE() _mm_pause()
#elif defined(__aarch64__) && defined(__GNUC__)
#define PAUSE() __asm__ volatile("yield")
#else
#define PAUSE() ((void)0)
#endif

/* How long a thread spins for the next job before it sleeps: longer than the gaps between calls in a row, and than
 * a woken thread may take to get a processor, so that it does not miss one short job after the other; short enough
 * that a process which has stopped computing leaves its cores alone. */
#define SPIN_NANOSECONDS 1000000
/* How long a caller spins for the last piece: a thread that holds it may be waiting for the caller's processor. */
#define CALLER_SPIN_NANOSECONDS 100000
#define PAUSES_A_LOOK 32 /* at the clock */
#define MAX_THREADS 1024
/* Pieces per thread: enough that one slow thread does not hold up the rest. */
#define PIECES 8

typedef struct {
    ogive_range_function function;
    void *context;
    intptr_t count;
    intptr_t piece;
    atomic_intptr_t next; /* where the next piece begins */
} job_type;

static lock_type owner = LOCK_INITIALISER; /* held by the caller whose job is running */
static lock_type state = LOCK_INITIALISER; /* guards what follows */
static condition_type job_ready = CONDITION_INITIALISER;
static condition_type job_left = CONDITION_INITIALISER;
static job_type job;
static int job_open;         /* workers may still join */
static int helpers_wanted;   /* how many workers may join this job */
static int stopping;
static int workers_started;
static atomic_int workers_inside; /* changed under `state`; read while spinning */
static atomic_uint generation;    /* counts jobs; changed under `state`; read while spinning */
static atomic_int thread_limit = 1;

#if defined(_WIN32)
static HANDLE worker_handles[MAX_THREADS];
#else
static pthread_t worker_handles[MAX_THREADS];
#endif

static int64_t nanoseconds(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Whether a spinning thread should go on: most times without a look at the clock. */
static int spins_on(int *pauses, int64_t *since, int64_t limit) {
    PAUSE();
    if (++*pauses % PAUSES_A_LOOK != 0) {
        return 1;
    }
    const int64_t now = nanoseconds();
    if (*since == 0) {
        *since = now;
    }
    return now - *since < limit && now >= *since; /* the clock may have been set back */
}

static void take_pieces(void) {
    for (;;) {
        intptr_t begin = atomic_fetch_add(&job.next, job.piece);
        if (begin >= job.count) {
            return;
        }
        intptr_t end = begin + job.piece;
        job.function(job.context, begin, end < job.count ? end : job.count);
    }
}

static void work(void) {
    unsigned int seen = 0;
    for (;;) {
        int pauses = 0;
        int64_t since = 0;
        while (atomic_load(&generation) == seen && spins_on(&pauses, &since, SPIN_NANOSECONDS)) {
        }
        lock(&state);
        while (atomic_load(&generation) == seen && !stopping) {
            wait_for(&job_ready, &state);
        }
        if (stopping) {
            unlock(&state);
            return;
        }
        seen = atomic_load(&generation);
        int joins = job_open && helpers_wanted > 0;
        if (joins) {
            --helpers_wanted;
            atomic_fetch_add(&workers_inside, 1);
        }
        unlock(&state);
        if (joins) {
            take_pieces();
            lock(&state);
            if (atomic_fetch_sub(&workers_inside, 1) == 1) {
                wake_all(&job_left);
            }
            unlock(&state);
        }
    }
}

#if defined(_WIN32)
static DWORD WINAPI worker_main(LPVOID unused) {
    (void)unused;
    work();
    return 0;
}
static int start_worker(int index) {
    worker_handles[index] = CreateThread(NULL, 0, worker_main, NULL, 0, NULL);
    return worker_handles[index] != NULL;
}
static void join_worker(int index) {
    WaitForSingleObject(worker_handles[index], INFINITE);
    CloseHandle(worker_handles[index]);
}
#else
static void *worker_main(void *unused) {
    (void)unused;
    work();
    return NULL;
}
static int start_worker(int index) {
    return pthread_create(&worker_handles[index], NULL, worker_main, NULL) == 0;
}
static void join_worker(int index) { pthread_join(worker_handles[index], NULL); }

/* The child of a fork has only the forking thread: whatever the others held is gone. */
static void forget_workers(void) {
    static const lock_type fresh_lock = LOCK_INITIALISER;
    static const condition_type fresh_condition = CONDITION_INITIALISER;
    owner = fresh_lock;
    state = fresh_lock;
    job_ready = fresh_condition;
    job_left = fresh_condition;
    job_open = 0;
    workers_started = 0;
    atomic_store(&workers_inside, 0);
}
#endif

void ogive_pool_run(ogive_range_function function, void *context, intptr_t count, intptr_t grain, intptr_t unit) {
    int threads = atomic_load(&thread_limit);
    intptr_t most = grain > 0 ? count / grain : count; /* a piece smaller than this does not pay */
    if (threads > most) {
        threads = (int)most;
    }
    if (threads <= 1 || !try_lock(&owner)) {
        function(context, 0, count);
        return;
    }
    lock(&state);
    while (workers_started < threads - 1 && start_worker(workers_started)) {
        ++workers_started;
    }
    const intptr_t piece = (count / threads / PIECES + unit) / unit * unit;
    job.function = function;
    job.context = context;
    job.count = count;
    job.piece = piece;
    atomic_store(&job.next, 0);
    helpers_wanted = threads - 1;
    job_open = 1;
    atomic_fetch_add(&generation, 1);
    wake_all(&job_ready);
    unlock(&state);

    take_pieces();

    lock(&state);
    job_open = 0; /* who wakes up only now finds the door shut */
    unlock(&state);
    int pauses = 0;
    int64_t since = 0;
    while (atomic_load(&workers_inside) != 0 && spins_on(&pauses, &since, CALLER_SPIN_NANOSECONDS)) {
    }
    lock(&state);
    while (atomic_load(&workers_inside) != 0) {
        wait_for(&job_left, &state);
    }
    unlock(&state);
    unlock(&owner);
}

int ogive_pool_size(void) { return atomic_load(&thread_limit); }

void ogive_pool_resize(int threads) {
    atomic_store(&thread_limit, threads < 1 ? 1 : threads > MAX_THREADS ? MAX_THREADS : threads);
}

/* At interpreter exit, after which the module's code may be unloaded. */
static void stop_workers(void) {
    lock(&state);
    stopping = 1;
    wake_all(&job_ready);
    unlock(&state);
    for (int i = 0; i < workers_started; ++i) {
        join_worker(i);
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
