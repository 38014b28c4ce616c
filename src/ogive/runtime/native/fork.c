/* The steps before and after a fork (ogive/forking.py): locks are taken, so that nothing is copied half-done, and given back.
 *
 * No Python instruction runs here. Python handles a signal, Ctrl-C above all, between two of its instructions; an exception
 * that comes in a hook is printed and lost, and the hook's other half never runs. A signal that comes while a hook of this
 * file runs is handled after the fork, by the instruction that follows it in the program.
 */
#include "native.h"

#if defined(_WIN32)
PyObject *ogive_fork_hooks(PyObject *module, PyObject *args) {
    (void)module;
    (void)args;
    PyErr_SetString(PyExc_NotImplementedError, "fork_hooks: this system has no fork");
    return NULL;
}

int ogive_is_compiling(void) { return 0; }
#else
#include <pthread.h>
#include <time.h>

#define NAP_NANOSECONDS 1000000

static PyObject *held;    /* a list of locks that a fork waits for, taken in this order */
static PyObject *locks;   /* a dictionary of weak references to locks that the child makes anew */
static PyObject *imports; /* the module with the interpreter's lock of imports: acquire_lock, release_lock */
static PyObject *loading; /* a dictionary of weak references to the locks of modules that are being loaded */
static double longest_wait;

/* The locks that the fork of this thread has taken, and will give back: the first locks of `held`, and the lock of imports. */
#define MOST_HELD 16
static OGIVE_THREAD_LOCAL Py_ssize_t tried;
static OGIVE_THREAD_LOCAL int taken[MOST_HELD];
static OGIVE_THREAD_LOCAL int has_imports;

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void nap(void) {
    const struct timespec while_others_run = {0, NAP_NANOSECONDS};
    Py_BEGIN_ALLOW_THREADS
    nanosleep(&while_others_run, NULL);
    Py_END_ALLOW_THREADS
}

/* The names of what is called. Calls by them make no objects, so that locks are given back where there is no memory. */
enum { ACQUIRE, RELEASE, ACQUIRE_IMPORTS, RELEASE_IMPORTS, REINIT, IS_OWNED, OWNER, NAMES };
static PyObject *names[NAMES];

static PyObject *call(PyObject *object, int name) { return PyObject_CallMethodNoArgs(object, names[name]); }

/* A hook has nobody to raise an error to. */
static int succeeded(PyObject *answer) {
    if (answer == NULL) {
        PyErr_Clear();
        return 0;
    }
    Py_DECREF(answer);
    return 1;
}

/* The same of what must be done: tried again while there is no memory. */
static void insist(PyObject *object, int name) {
    PyObject *answer;
    while ((answer = call(object, name)) == NULL && PyErr_ExceptionMatches(PyExc_MemoryError)) {
        PyErr_Clear();
    }
    succeeded(answer);
}

/* Takes a lock, by its own C method; 0 where it could not before the time is over. No time: it waits as long as it takes. */
static int take(PyObject *lock, double until) {
    for (;;) {
        const double left = until - seconds();
        PyObject *answer =
            until > 0 ? PyObject_CallMethod(lock, "acquire", "Od", Py_True, left > 0 ? left : 0) : call(lock, ACQUIRE);
        const int is_taken = answer == Py_True, is_tried = answer != NULL || !PyErr_ExceptionMatches(PyExc_MemoryError);
        succeeded(answer);
        if (is_taken || is_tried || (until > 0 && left <= 0)) {
            return is_taken;
        }
    }
}

static void give_back(void) {
    if (has_imports) {
        has_imports = 0;
        insist(imports, RELEASE_IMPORTS);
    }
    while (tried > 0) {
        if (taken[--tried]) {
            insist(PyList_GET_ITEM(held, tried), RELEASE);
        }
    }
}

/* Whether the calling thread has a lock. */
static int is_owned(PyObject *lock) {
    PyObject *answer = call(lock, IS_OWNED);
    const int is_true = answer == Py_True;
    return succeeded(answer) && is_true;
}

int ogive_is_compiling(void) { return held != NULL && is_owned(PyList_GET_ITEM(held, 0)); }

/* ---- the job of the thread that forks --------------------------------------------------------- */

/* A lock that this thread has, and how often it has taken it. */
typedef struct {
    PyObject *lock;
    int times;
} lent_type;

/* Gives the locks of this thread to those that wait for them; returns how many. They guard data that is in order between any two
 * instructions of Python, and a signal handler of this thread could take them as well. */
static int lend(lent_type *lent) {
    PyObject *reference;
    Py_ssize_t at = 0;
    int count = 0;
    OGIVE_LOCK(locks);
    while (count < MOST_HELD && PyDict_Next(locks, &at, &reference, NULL)) {
        lent_type *next = &lent[count];
        next->lock = PyObject_CallNoArgs(reference);
        next->times = 0;
        while (next->lock != NULL && next->lock != Py_None && is_owned(next->lock)) {
            insist(next->lock, RELEASE);
            next->times += 1;
        }
        count += next->times > 0;
        if (next->times == 0) {
            Py_XDECREF(next->lock);
        }
    }
    OGIVE_UNLOCK();
    PyErr_Clear();
    return count;
}

static int takes_at_once(PyObject *lock) {
    PyObject *answer = PyObject_CallMethodOneArg(lock, names[ACQUIRE], Py_False);
    const int is_taken = answer == Py_True;
    return succeeded(answer) && is_taken;
}

/* Takes them back: all, or none for a while, because others may take the same ones in another order. */
static void take_back(const lent_type *lent, int count) {
    int at = 0;
    while (at < count) {
        for (at = 0; at < count && takes_at_once(lent[at].lock); ++at) {
        }
        for (int i = at; at < count && i > 0; --i) {
            insist(lent[i - 1].lock, RELEASE);
        }
        if (at < count) {
            nap();
        }
    }
    for (int i = 0; i < count; ++i) {
        for (int times = 1; times < lent[i].times; ++times) {
            insist(lent[i].lock, ACQUIRE);
        }
        Py_DECREF(lent[i].lock);
    }
}

/* Has the workers end their pieces of this thread's job, for ever if need be (0): they may wait for the interpreter's lock, or for
 * one that this thread has. */
static void withdraw_job(double longest) {
    lent_type lent[MOST_HELD];
    const int count = lend(lent);
    Py_BEGIN_ALLOW_THREADS
    ogive_pool_withdraw((int64_t)(longest * 1e9));
    Py_END_ALLOW_THREADS
    take_back(lent, count);
}

/* ---- the hooks -------------------------------------------------------------------------------- */

/* How many threads are in the middle of loading a module: this one, or (`elsewhere`) others. */
static int count_loading(int elsewhere) {
    const unsigned long self = PyThread_get_thread_ident();
    PyObject *reference;
    Py_ssize_t at = 0;
    int count = 0;
    OGIVE_LOCK(loading);
    while (PyDict_Next(loading, &at, NULL, &reference)) {
        PyObject *lock = PyObject_CallNoArgs(reference);
        PyObject *owner = lock == NULL ? NULL : PyObject_GetAttr(lock, names[OWNER]);
        if (owner != NULL && PyLong_Check(owner)) {
            count += (PyLong_AsUnsignedLong(owner) != self) == elsewhere;
        }
        Py_XDECREF(owner);
        Py_XDECREF(lock); /* not the last one: its module has another */
        PyErr_Clear(); /* a lock without an owner */
    }
    OGIVE_UNLOCK();
    return count;
}

/* Waits until nothing is half-done, and keeps other threads from beginning anything. Signals are blocked meanwhile: one that
 * broke the wait for a lock would have Python handle it there. Compiling ends, so a fork waits for it; but not for ever if
 * this thread is loading a module, for which a thread that compiles may be waiting. The pieces of this thread's job end too; but
 * not if this thread holds a lock that a worker waits for. */
static PyObject *before_fork(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    sigset_t mask;
    ogive_block_signals(&mask);
    const double deadline = seconds() + longest_wait;
    const int is_loading = count_loading(0) > 0;
    const double until = is_loading ? deadline : 0;
    if (ogive_pool_is_caller()) {
        withdraw_job(is_loading || ogive_is_compiling() ? longest_wait : 0);
    }
    for (;;) {
        const Py_ssize_t count = PyList_GET_SIZE(held) < MOST_HELD ? PyList_GET_SIZE(held) : MOST_HELD;
        for (tried = 0; tried < count; ++tried) {
            taken[tried] = take(PyList_GET_ITEM(held, tried), until);
        }
        has_imports = succeeded(call(imports, ACQUIRE_IMPORTS)); /* nobody begins to load a module */
        if (count_loading(1) == 0 || seconds() > deadline) {
            break;
        }
        give_back();
        nap();
    }
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    Py_RETURN_NONE;
}

/* The system calls this, too: where Python has no memory it leaves hooks out. */
static void give_back_in_parent(void) {
    if ((tried > 0 || has_imports) && PyGILState_Check()) {
        give_back();
    }
}

static PyObject *after_in_parent(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    give_back();
    Py_RETURN_NONE;
}

/* Locks that other threads held are made anew: their owners are not in this process. The ones of this thread stay its own. */
static PyObject *after_in_child(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    for (Py_ssize_t i = 0; i < tried; ++i) {
        if (!taken[i]) {
            insist(PyList_GET_ITEM(held, i), REINIT);
        }
    }
    give_back();
    PyObject *reference;
    Py_ssize_t at = 0;
    OGIVE_LOCK(locks);
    while (PyDict_Next(locks, &at, &reference, NULL)) {
        PyObject *lock = PyObject_CallNoArgs(reference);
        if (lock != NULL && lock != Py_None && !is_owned(lock)) {
            insist(lock, REINIT);
        }
        Py_XDECREF(lock);
    }
    OGIVE_UNLOCK();
    PyErr_Clear();
    Py_RETURN_NONE;
}

static PyMethodDef hooks[] = {
    {"before_fork", before_fork, METH_NOARGS, "Take the locks that a fork waits for."},
    {"after_fork_in_parent", after_in_parent, METH_NOARGS, "Give them back."},
    {"after_fork_in_child", after_in_child, METH_NOARGS, "Give them back, and make others anew that nobody holds any more."},
};

PyObject *ogive_fork_hooks(PyObject *module, PyObject *args) {
    PyObject *of[4];
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!OO!d:fork_hooks", &PyList_Type, &of[0], &PyDict_Type, &of[1], &of[2], &PyDict_Type,
                          &of[3], &longest_wait)) {
        return NULL;
    }
    static const char *const texts[NAMES] = {[ACQUIRE] = "acquire",
                                             [RELEASE] = "release",
                                             [ACQUIRE_IMPORTS] = "acquire_lock",
                                             [RELEASE_IMPORTS] = "release_lock",
                                             [REINIT] = "_at_fork_reinit",
                                             [IS_OWNED] = "_is_owned",
                                             [OWNER] = "owner"};
    for (int i = 0; i < NAMES; ++i) {
        if (names[i] == NULL && (names[i] = PyUnicode_InternFromString(texts[i])) == NULL) {
            return NULL;
        }
    }
    static int is_registered;
    if (!is_registered && pthread_atfork(NULL, give_back_in_parent, NULL) != 0) {
        PyErr_SetString(PyExc_OSError, "fork_hooks: the system takes no handler of forks");
        return NULL;
    }
    is_registered = 1;
    PyObject **const kept[4] = {&held, &locks, &imports, &loading};
    for (int i = 0; i < 4; ++i) {
        Py_XSETREF(*kept[i], Py_NewRef(of[i]));
    }
    PyObject *made[3] = {NULL, NULL, NULL};
    for (int i = 0; i < 3; ++i) {
        made[i] = PyCFunction_New(&hooks[i], NULL);
    }
    PyObject *answer = made[0] == NULL || made[1] == NULL || made[2] == NULL
                           ? NULL
                           : PyTuple_Pack(3, made[0], made[1], made[2]);
    for (int i = 0; i < 3; ++i) {
        Py_XDECREF(made[i]);
    }
    return answer;
}
#endif
