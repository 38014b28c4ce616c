/* A malloc that fails when it is told to, for LD_PRELOAD: shim_arm(n, w) has calls n to n + w - 1 from now on fail, of any thread.
 * Threads that cannot be started, and that hang where they should end.
 *
 * With OGIVE_FAILS in the environment, calls about files of the kernel cache fail: eio, enospc, edquot, short, rename, close,
 * unlink, fstat.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static atomic_long first = -1, width, seen, failed;
static atomic_int is_armed;

void shim_arm(long n, long w) {
    atomic_store(&seen, 0);
    atomic_store(&failed, 0);
    atomic_store(&first, n);
    atomic_store(&width, w);
    atomic_store(&is_armed, 1);
}

/* How many calls there were since. */
long shim_disarm(void) {
    atomic_store(&is_armed, 0);
    return atomic_load(&seen);
}

long shim_failed(void) { return atomic_load(&failed); }

static int fails(void) {
    if (!atomic_load(&is_armed)) {
        return 0;
    }
    const long n = atomic_fetch_add(&seen, 1), begin = atomic_load(&first);
    if (begin < 0 || n < begin || n >= begin + atomic_load(&width)) {
        return 0;
    }
    atomic_fetch_add(&failed, 1);
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return fails() ? NULL : __libc_calloc(count, size); }
void *realloc(void *memory, size_t size) { return fails() ? NULL : __libc_realloc(memory, size); }
void *memalign(size_t alignment, size_t size) { return fails() ? NULL : __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return fails() ? NULL : __libc_memalign(alignment, size); }

int posix_memalign(void **memory, size_t alignment, size_t size) {
    *memory = fails() ? NULL : __libc_memalign(alignment, size);
    return *memory == NULL ? ENOMEM : 0;
}

/* ---- threads ----------------------------------------------------------------------------------- */

#define NEXT(name, type) ((type)dlsym(RTLD_NEXT, name))

static atomic_int refuses_threads, hangs_at_end;

/* Whether no thread can be started from now on. */
void shim_refuse_threads(int refuses) { atomic_store(&refuses_threads, refuses); }

/* Whether a thread that is to end hangs: Python 3.14 leaves those so that ask for the interpreter when it is gone. */
void shim_hang_at_end(int hangs) { atomic_store(&hangs_at_end, hangs); }

int pthread_create(pthread_t *made, const pthread_attr_t *how, void *(*function)(void *), void *argument) {
    typedef int (*type)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    return atomic_load(&refuses_threads) ? EAGAIN : NEXT("pthread_create", type)(made, how, function, argument);
}

_Noreturn void pthread_exit(void *value) {
    while (atomic_load(&hangs_at_end)) {
        pause();
    }
    NEXT("pthread_exit", void (*)(void *))(value);
    abort(); /* it does not come back */
}

/* ---- files of the cache ------------------------------------------------------------------------ */

static int is(const char *kind) {
    const char *chosen = getenv("OGIVE_FAILS");
    return chosen != NULL && strcmp(chosen, kind) == 0;
}

static int is_of_cache(int descriptor) {
    char link[64], path[512];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    const ssize_t length = descriptor < 3 ? 0 : readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    return strstr(path, "kernels-1") != NULL;
}

static int refused(int error) {
    errno = error;
    return -1;
}

ssize_t read(int descriptor, void *to, size_t size) {
    if (is("eio") && is_of_cache(descriptor)) {
        return refused(EIO);
    }
    const size_t most = is("short") && size > 7 && is_of_cache(descriptor) ? 7 : size;
    return NEXT("read", ssize_t(*)(int, void *, size_t))(descriptor, to, most);
}

ssize_t write(int descriptor, const void *from, size_t size) {
    ssize_t (*next)(int, const void *, size_t) = NEXT("write", ssize_t(*)(int, const void *, size_t));
    if (descriptor > 2 && (is("eio") || is("enospc") || is("edquot") || is("short")) && is_of_cache(descriptor)) {
        if (is("eio") || is("enospc")) {
            return refused(is("eio") ? EIO : ENOSPC);
        }
        if (is("edquot") && size > 1) { /* half of it is written first */
            (void)!next(descriptor, from, size / 2);
            return refused(EDQUOT);
        }
        size = size > 100 ? 100 : size;
    }
    return next(descriptor, from, size);
}

int rename(const char *from, const char *to) {
    if (is("rename") && strstr(to, "kernels-1") != NULL) {
        return refused(EIO);
    }
    return NEXT("rename", int (*)(const char *, const char *))(from, to);
}

int unlink(const char *path) {
    if (is("unlink") && strstr(path, "kernels-1") != NULL) {
        return refused(EIO);
    }
    return NEXT("unlink", int (*)(const char *))(path);
}

int close(int descriptor) {
    const int is_refused = is("close") && is_of_cache(descriptor);
    const int answer = NEXT("close", int (*)(int))(descriptor);
    return is_refused ? refused(EIO) : answer;
}

int fstat(int descriptor, struct stat *found) {
    if (is("fstat") && is_of_cache(descriptor)) {
        return refused(ESTALE);
    }
    return NEXT("fstat", int (*)(int, struct stat *))(descriptor, found);
}
