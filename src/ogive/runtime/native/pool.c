/* The thread pool: one job at a time, cut into a share for every thread.
 *
 * A thread takes its share piece by piece, and then pieces of the others' shares: who comes late, or not at all, holds
 * nobody up. Shares are the same in every call, so that what a thread has in its caches is what it needs next. All that
 * a thread is told, and what it counts, lies in one cache line of its own: where a line takes 0.3 us from one processor
 * to another, as in the virtual machine that this was measured on, a job costs two such journeys.
 *
 * A worker that has just finished spins for a while before it sleeps, so that calls in a row find it awake. A caller
 * that finds the pool busy (another Python thread is computing) runs its job alone. After a fork the child starts with
 * no workers. Workers never touch Python.
 */
#include "native.h"

#include <time.h>

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
/* Pieces of a share: enough that one slow thread does not hold up the rest. */
#define PIECES 8
/* How many of the next threads a worker helps; the caller helps all. */
#define NEIGHBOURS 4
/* A job of fewer grains is short: it does not pay to wake a thread for one that comes alone. */
#define SHORT_JOB 16

/* What a worker may do. The caller opens a door and closes it; whoever is inside leaves by closing it. */
enum { CLOSED, OPEN, INSIDE };

typedef struct {
    _Alignas(128) atomic_int door; /* processors fetch lines in pairs */
    atomic_int asleep;
    ogive_range_function function;
    void *context;
    intptr_t piece;
    intptr_t end;
    atomic_intptr_t next; /* where the next piece begins */
    int participants;
    int is_kept_off; /* whether the sleeping worker may not wake on its caller's processor; `state` guards it */
} share_type;

static lock_type owner = LOCK_INITIALISER; /* held by the caller whose job is running */
static lock_type state = LOCK_INITIALISER; /* for those who sleep */
static condition_type job_ready = CONDITION_INITIALISER;
static condition_type job_left = CONDITION_INITIALISER;
static share_type shares[MAX_THREADS]; /* the caller's first */
static atomic_int caller_sleeps;
static atomic_int stopping;
static int workers_started; /* changed by the owner */
static int64_t last_short_job; /* when it began; changed by the owner */
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

/* What is left of one's own share, and of those of so many that follow. */
static void take_pieces(int self, int others) {
    const int participants = shares[self].participants;
    for (int k = 0; k <= others; ++k) {
        share_type *share = &shares[(self + k) % participants];
        while (atomic_load(&share->next) < share->end) {
            const intptr_t begin = atomic_fetch_add(&share->next, share->piece);
            if (begin >= share->end) {
                break;
            }
            const intptr_t end = begin + share->piece;
            share->function(share->context, begin, end < share->end ? end : share->end);
        }
    }
}

#if defined(__linux__)
static cpu_set_t allowed[MAX_THREADS]; /* processors of workers that are kept off one; `state` guards it */

/* Linux may wake a thread on the processor of who wakes it, where both then wait for each other until the scheduler
 * looks at them again, up to 4 ms later, while another processor idles: after a pause of some milliseconds half of the
 * calls of the next 3 ms were computed by one thread. So a sleeping worker is forbidden that processor until it is
 * awake. */
static void keep_off(int worker) {
    cpu_set_t *all = &allowed[worker];
    const int processor = sched_getcpu();
    if (shares[worker].is_kept_off || processor < 0 || processor >= CPU_SETSIZE ||
        pthread_getaffinity_np(worker_handles[worker], sizeof *all, all) != 0) {
        return;
    }
    cpu_set_t others = *all;
    CPU_CLR(processor, &others);
    if (CPU_COUNT(&others) > 0 && pthread_setaffinity_np(worker_handles[worker], sizeof others, &others) == 0) {
        shares[worker].is_kept_off = 1;
    }
}

/* What the worker itself does when it is awake, with `state` locked. */
static void allow_all_processors(int worker) {
    if (shares[worker].is_kept_off) {
        shares[worker].is_kept_off = 0;
        (void)sched_setaffinity(0, sizeof allowed[worker], &allowed[worker]);
    }
}
#else
static void keep_off(int worker) { (void)worker; }
static void allow_all_processors(int worker) { (void)worker; }
#endif

static void work(int self) {
    share_type *share = &shares[self];
    while (!atomic_load(&stopping)) {
        int pauses = 0;
        int64_t since = 0;
        while (atomic_load(&share->door) != OPEN && !atomic_load(&stopping) &&
               spins_on(&pauses, &since, SPIN_NANOSECONDS)) {
        }
        if (atomic_load(&share->door) != OPEN) {
            lock(&state);
            atomic_store(&share->asleep, 1);
            while (atomic_load(&share->door) != OPEN && !atomic_load(&stopping)) {
                wait_for(&job_ready, &state);
                allow_all_processors(self); /* also where the job is over by now, and it goes on sleeping */
            }
            atomic_store(&share->asleep, 0);
            unlock(&state);
        }
        int expected = OPEN;
        if (atomic_compare_exchange_strong(&share->door, &expected, INSIDE)) {
            const int others = share->participants - 1;
            take_pieces(self, others < NEIGHBOURS ? others : NEIGHBOURS);
            atomic_store(&share->door, CLOSED);
            if (atomic_load(&caller_sleeps)) {
                lock(&state);
                wake_all(&job_left);
                unlock(&state);
            }
        }
    }
}

#if defined(_WIN32)
static DWORD WINAPI worker_main(LPVOID self) {
    work((int)(intptr_t)self);
    return 0;
}
static int start_worker(int index) {
    worker_handles[index] = CreateThread(NULL, 0, worker_main, (LPVOID)(intptr_t)index, 0, NULL);
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
static int start_worker(int index) {
    return pthread_create(&worker_handles[index], NULL, worker_main, (void *)(intptr_t)index) == 0;
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
    for (int i = 1; i <= workers_started; ++i) {
        atomic_store(&shares[i].door, CLOSED);
        atomic_store(&shares[i].asleep, 0);
        shares[i].is_kept_off = 0;
    }
    workers_started = 0;
    atomic_store(&caller_sleeps, 0);
}
#endif

/* Whether the workers sleep, or are not there yet, and this job is not worth waking them: a short one that does not
 * follow another. */
static int is_short_and_alone(int is_short) {
    if (!is_short || (workers_started > 0 && !atomic_load(&shares[1].asleep))) {
        return 0;
    }
    const int64_t now = nanoseconds();
    const int follows = now >= last_short_job && now - last_short_job < SPIN_NANOSECONDS;
    last_short_job = now;
    return !follows;
}

/* Cuts the job and opens the doors. */
static void share_out(ogive_range_function function, void *context, intptr_t count, intptr_t unit, int participants) {
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
    int wakes = 0;
    for (int i = 1; i < participants; ++i) {
        atomic_store(&shares[i].door, OPEN);
        wakes |= atomic_load(&shares[i].asleep);
    }
    if (wakes) {
        lock(&state);
        for (int i = 1; i < participants; ++i) {
            if (atomic_load(&shares[i].asleep)) {
                keep_off(i);
            }
        }
        wake_all(&job_ready);
        unlock(&state);
    }
}

/* Closes the doors, when all pieces are taken, and waits for who is still inside. */
static void wait_for_workers(int participants) {
    for (int i = 1; i < participants; ++i) {
        int expected = OPEN;
        if (atomic_compare_exchange_strong(&shares[i].door, &expected, CLOSED) || expected == CLOSED) {
            continue;
        }
        int pauses = 0;
        int64_t since = 0;
        while (atomic_load(&shares[i].door) != CLOSED && spins_on(&pauses, &since, CALLER_SPIN_NANOSECONDS)) {
        }
        if (atomic_load(&shares[i].door) != CLOSED) {
            lock(&state);
            atomic_store(&caller_sleeps, 1);
            while (atomic_load(&shares[i].door) != CLOSED) {
                wait_for(&job_left, &state);
            }
            atomic_store(&caller_sleeps, 0);
            unlock(&state);
        }
    }
}

void ogive_pool_run(ogive_range_function function, void *context, intptr_t count, intptr_t grain, intptr_t unit) {
    int threads = atomic_load(&thread_limit);
    const intptr_t most = grain > 0 ? count / grain : count; /* a piece smaller than this does not pay */
    if (threads > most) {
        threads = (int)most;
    }
    if (threads <= 1 || !try_lock(&owner)) {
        function(context, 0, count);
        return;
    }
    if (is_short_and_alone(most < SHORT_JOB)) {
        unlock(&owner);
        function(context, 0, count);
        return;
    }
    while (workers_started < threads - 1 && start_worker(workers_started + 1)) {
        ++workers_started;
    }
    const int participants = threads <= workers_started ? threads : workers_started + 1;
    share_out(function, context, count, unit, participants);
    take_pieces(0, participants - 1);
    wait_for_workers(participants);
    unlock(&owner);
}

int ogive_pool_size(void) { return atomic_load(&thread_limit); }

void ogive_pool_resize(int threads) {
    atomic_store(&thread_limit, threads < 1 ? 1 : threads > MAX_THREADS ? MAX_THREADS : threads);
}

/* At interpreter exit, after which the module's code may be unloaded. Who owns the pool stays its owner: nobody starts
 * workers any more. Only a daemon thread can be inside a job now, and it may never come back. */
static void stop_workers(void) {
    (void)try_lock(&owner);
    lock(&state);
    atomic_store(&stopping, 1);
    wake_all(&job_ready);
    unlock(&state);
    for (int i = 1; i <= workers_started; ++i) {
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
