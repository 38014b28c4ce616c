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
static PyObject *locks;   /* a set of weak references to locks that the child makes anew */
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

/* A hook has nobody to raise an error to. */
static int succeeded(PyObject *answer) {
    if (answer == NULL) {
        PyErr_Clear();
        return 0;
    }
    Py_DECREF(answer);
    return 1;
}

/* Takes a lock, by its own C method; 0 where it could not before the time is over. No time: it waits as long as it takes. */
static int take(PyObject *lock, double until) {
    double left = -1;
    if (until > 0) {
        left = until - seconds();
        left = left > 0 ? left : 0;
    }
    PyObject *answer = PyObject_CallMethod(lock, "acquire", "Od", Py_True, left);
    const int is_taken = answer == Py_True;
    return succeeded(answer) && is_taken;
}

static void give_back(void) {
    if (has_imports) {
        has_imports = 0;
        succeeded(PyObject_CallMethod(imports, "release_lock", NULL));
    }
    while (tried > 0) {
        if (taken[--tried]) {
            succeeded(PyObject_CallMethod(PyList_GET_ITEM(held, tried), "release", NULL));
        }
    }
}

int ogive_is_compiling(void) {
    PyObject *answer = held == NULL ? NULL : PyObject_CallMethod(PyList_GET_ITEM(held, 0), "_is_owned", NULL);
    const int is_owned = answer == Py_True;
    return succeeded(answer) && is_owned;
}

/* How many threads are in the middle of loading a module: this one, or (`elsewhere`) others. */
static int count_loading(int elsewhere) {
    const unsigned long self = PyThread_get_thread_ident();
    PyObject *references = PyDict_Values(loading);
    int count = 0;
    for (Py_ssize_t i = 0; references != NULL && i < PyList_GET_SIZE(references); ++i) {
        PyObject *lock = PyObject_CallNoArgs(PyList_GET_ITEM(references, i));
        PyObject *owner = lock == NULL ? NULL : PyObject_GetAttrString(lock, "owner");
        if (owner != NULL && PyLong_Check(owner)) {
            count += (PyLong_AsUnsignedLong(owner) != self) == elsewhere;
        }
        Py_XDECREF(owner);
        Py_XDECREF(lock);
        PyErr_Clear(); /* a lock without an owner */
    }
    Py_XDECREF(references);
    PyErr_Clear();
    return count;
}

/* Waits until nothing is half-done, and keeps other threads from beginning anything. Signals are blocked meanwhile: one that
 * broke the wait for a lock would have Python handle it there. Compiling ends, so a fork waits for it; but not for ever if
 * this thread is loading a module, for which a thread that compiles may be waiting. */
static PyObject *before_fork(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    sigset_t mask;
    ogive_block_signals(&mask);
    const double deadline = seconds() + longest_wait;
    const double until = count_loading(0) > 0 ? deadline : 0;
    for (;;) {
        const Py_ssize_t count = PyList_GET_SIZE(held) < MOST_HELD ? PyList_GET_SIZE(held) : MOST_HELD;
        for (tried = 0; tried < count; ++tried) {
            taken[tried] = take(PyList_GET_ITEM(held, tried), until);
        }
        has_imports = succeeded(PyObject_CallMethod(imports, "acquire_lock", NULL)); /* nobody begins to load a module */
        if (count_loading(1) == 0 || seconds() > deadline) {
            break;
        }
        give_back();
        Py_BEGIN_ALLOW_THREADS
        const struct timespec nap = {0, NAP_NANOSECONDS};
        nanosleep(&nap, NULL);
        Py_END_ALLOW_THREADS
    }
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    Py_RETURN_NONE;
}

static PyObject *after_in_parent(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    give_back();
    Py_RETURN_NONE;
}

/* Locks that other threads held are made anew: their owners are not in this process. */
static PyObject *after_in_child(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    for (Py_ssize_t i = 0; i < tried; ++i) {
        if (!taken[i]) {
            succeeded(PyObject_CallMethod(PyList_GET_ITEM(held, i), "_at_fork_reinit", NULL));
        }
    }
    give_back();
    PyObject *references = PySequence_List(locks);
    for (Py_ssize_t i = 0; references != NULL && i < PyList_GET_SIZE(references); ++i) {
        PyObject *lock = PyObject_CallNoArgs(PyList_GET_ITEM(references, i));
        if (lock != NULL && lock != Py_None) {
            succeeded(PyObject_CallMethod(lock, "_at_fork_reinit", NULL));
        }
        Py_XDECREF(lock);
    }
    Py_XDECREF(references);
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
    if (!PyArg_ParseTuple(args, "O!O!OO!d:fork_hooks", &PyList_Type, &of[0], &PySet_Type, &of[1], &of[2], &PyDict_Type,
                          &of[3], &longest_wait)) {
        return NULL;
    }
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
