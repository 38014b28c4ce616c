/* Calls that need more stack than the calling thread may have: compiling. A program gives its threads small stacks with
 * threading.stack_size; LLVM and the import of its modules take 200 KiB and more, by the formula's size. */
#include "native.h"

#if defined(__linux__) || defined(__APPLE__)
#include <pthread.h>

#define SMALL_STACK (1 << 20) /* what is left of it */
#define LARGE_STACK (8 << 20)

static intptr_t stack_left(void) {
    char here;
    char *low = NULL;
#if defined(__linux__)
    pthread_attr_t attributes;
    size_t size;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
        return INTPTR_MAX;
    }
    const int failed = pthread_attr_getstack(&attributes, (void **)&low, &size);
    pthread_attr_destroy(&attributes);
    if (failed) {
        return INTPTR_MAX;
    }
#else
    low = (char *)pthread_get_stackaddr_np(pthread_self()) - pthread_get_stacksize_np(pthread_self());
#endif
    return &here - low;
}

typedef struct {
    PyObject *function, *answer, *error[3];
} call_type;

static void *call_main(void *context) {
    call_type *call = context;
    const PyGILState_STATE lock = PyGILState_Ensure();
    call->answer = PyObject_CallNoArgs(call->function);
    if (call->answer == NULL) {
#if PY_VERSION_HEX >= 0x030C0000
        call->error[0] = PyErr_GetRaisedException();
#else
        PyErr_Fetch(&call->error[0], &call->error[1], &call->error[2]);
#endif
    }
    PyGILState_Release(lock);
    return NULL;
}

PyObject *ogive_call_with_stack(PyObject *function) {
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t before;
    call_type call = {.function = function};
    /* A thread that holds the compiler's lock would wait for another that takes it. */
    if (stack_left() >= SMALL_STACK || ogive_is_compiling() || pthread_attr_init(&attributes) != 0) {
        return PyObject_CallNoArgs(function);
    }
    int failed = pthread_attr_setstacksize(&attributes, LARGE_STACK);
    ogive_block_signals(&before);
    failed = failed || pthread_create(&thread, &attributes, call_main, &call) != 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (failed) {
        return PyObject_CallNoArgs(function);
    }
    Py_BEGIN_ALLOW_THREADS
    pthread_join(thread, NULL);
    Py_END_ALLOW_THREADS
    if (call.answer == NULL) {
#if PY_VERSION_HEX >= 0x030C0000
        PyErr_SetRaisedException(call.error[0]);
#else
        PyErr_Restore(call.error[0], call.error[1], call.error[2]);
#endif
    }
    return call.answer;
}
#else
PyObject *ogive_call_with_stack(PyObject *function) { return PyObject_CallNoArgs(function); }
#endif
