/* Executable memory that holds one compiled kernel.
 *
 * The bytes are position-independent machine code with its constants behind it, as ogive.backends.link
 * leaves them: nothing is left to relocate but the addresses of imported C functions. Memory is never
 * writable and executable at once.
 */
#include "native.h"

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <sys/mman.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <libkern/OSCacheControl.h>
#include <pthread.h>
#endif
#endif
#include <math.h>
#include <string.h>

typedef struct {
    PyObject_HEAD
    void *memory;
    size_t size; /* of the mapping */
    int entry_count;
    size_t entries[OGIVE_MAX_STAGES]; /* where the functions begin */
} OgiveCode;

PyTypeObject *ogive_code_type;

/* Maps `size` bytes that hold a copy of `bytes` and may be executed; NULL with an error set. */
static void *map_executable(const void *bytes, size_t length, size_t size) {
#if defined(_WIN32)
    void *memory = VirtualAlloc(NULL, size, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE);
    DWORD old;
    if (memory == NULL) {
        PyErr_SetFromWindowsErr(0);
        return NULL;
    }
    memcpy(memory, bytes, length);
    if (!VirtualProtect(memory, size, PAGE_EXECUTE_READ, &old)) {
        PyErr_SetFromWindowsErr(0);
        VirtualFree(memory, 0, MEM_RELEASE);
        return NULL;
    }
    FlushInstructionCache(GetCurrentProcess(), memory, size);
    return memory;
#elif defined(__APPLE__) && defined(__aarch64__)
    /* Apple's chips allow code pages only as MAP_JIT, writable per thread while the switch is off. */
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC,
                        MAP_PRIVATE | MAP_ANON | MAP_JIT, -1, 0);
    if (memory == MAP_FAILED) {
        PyErr_SetFromErrno(PyExc_OSError);
        return NULL;
    }
    pthread_jit_write_protect_np(0);
    memcpy(memory, bytes, length);
    pthread_jit_write_protect_np(1);
    sys_icache_invalidate(memory, size);
    return memory;
#else
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (memory == MAP_FAILED) {
        PyErr_SetFromErrno(PyExc_OSError);
        return NULL;
    }
    memcpy(memory, bytes, length);
    if (mprotect(memory, size, PROT_READ | PROT_EXEC) != 0) {
        PyErr_SetFromErrno(PyExc_OSError);
        munmap(memory, size);
        return NULL;
    }
#if defined(__GNUC__)
    __builtin___clear_cache((char *)memory, (char *)memory + size);
#endif
    return memory;
#endif
}

static void unmap(void *memory, size_t size) {
#if defined(_WIN32)
    (void)size;
    VirtualFree(memory, 0, MEM_RELEASE);
#else
    munmap(memory, size);
#endif
}

static size_t page_size(void) {
#if defined(_WIN32)
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return info.dwPageSize;
#else
    return (size_t)sysconf(_SC_PAGESIZE);
#endif
}

#if defined(_WIN64) && defined(_MSC_VER)
extern void __chkstk(void); /* of the C runtime: the compiler writes calls of it, and so does LLVM */
#endif

/* The C functions that code may call, in the order of ogive.backends.link.IMPORTS: IEEE 754 defines every
 * bit of what the first two return. */
static uint64_t imported_address(long index) {
    double (*fma_double)(double, double, double) = fma;
    float (*fma_single)(float, float, float) = fmaf;
    uint64_t address = 0;
    if (index == 0) {
        memcpy(&address, &fma_double, sizeof fma_double);
    } else if (index == 1) {
        memcpy(&address, &fma_single, sizeof fma_single);
    }
#if defined(_WIN64) && defined(_MSC_VER)
    if (index == 2) {
        void (*room)(void) = __chkstk;
        memcpy(&address, &room, sizeof room);
    }
#endif
    return address;
}

/* A copy of the image with its imports filled in; NULL with an error set. */
static char *filled_image(const Py_buffer *image, PyObject *imports) {
    char *copy = PyMem_Malloc((size_t)image->len);
    if (copy == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    memcpy(copy, image->buf, (size_t)image->len);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(imports); ++i) {
        Py_ssize_t place;
        long index;
        PyObject *import = PyTuple_GET_ITEM(imports, i);
        if (!PyTuple_Check(import) || !PyArg_ParseTuple(import, "nl", &place, &index) || place < 0 ||
            place > image->len - 8 || imported_address(index) == 0) {
            if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_ValueError, "Code: an import is (a place in the image, the index of a function)");
            }
            PyMem_Free(copy);
            return NULL;
        }
        uint64_t address = imported_address(index);
        memcpy(copy + place, &address, sizeof address);
    }
    return copy;
}

static int read_entries(OgiveCode *self, PyObject *entries, Py_ssize_t length) {
    Py_ssize_t count = PyTuple_GET_SIZE(entries);
    if (count < 1 || count > OGIVE_MAX_STAGES) {
        PyErr_Format(PyExc_ValueError, "Code: %zd entries; 1 to %d are possible", count, OGIVE_MAX_STAGES);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
        Py_ssize_t entry = PyLong_AsSsize_t(PyTuple_GET_ITEM(entries, i));
        if (entry == -1 && PyErr_Occurred()) {
            return -1;
        }
        if (entry < 0 || entry >= length) {
            PyErr_Format(PyExc_ValueError, "Code: entry is %zd; it must lie inside the image of %zd bytes", entry, length);
            return -1;
        }
        self->entries[i] = (size_t)entry;
    }
    self->entry_count = (int)count;
    return 0;
}

static PyObject *code_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"image", "entries", "imports", NULL};
    Py_buffer image;
    PyObject *entries, *imports;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "y*O!O!:Code", names, &image, &PyTuple_Type, &entries,
                                     &PyTuple_Type, &imports)) {
        return NULL;
    }
    OgiveCode *self = NULL;
    char *filled = filled_image(&image, imports);
    if (filled != NULL && (self = (OgiveCode *)type->tp_alloc(type, 0)) != NULL) {
        size_t page = page_size();
        self->size = ((size_t)image.len + page - 1) / page * page;
        if (read_entries(self, entries, image.len) < 0 ||
            (self->memory = map_executable(filled, (size_t)image.len, self->size)) == NULL) {
            Py_CLEAR(self);
        }
    }
    PyMem_Free(filled);
    PyBuffer_Release(&image);
    return (PyObject *)self;
}

static void code_dealloc(PyObject *object) {
    OgiveCode *self = (OgiveCode *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->memory != NULL) {
        unmap(self->memory, self->size);
    }
    type->tp_free(object);
    Py_DECREF(type);
}

int ogive_code_entries(PyObject *object) { return ((OgiveCode *)object)->entry_count; }

ogive_kernel_function ogive_code_entry(PyObject *object, int index) {
    OgiveCode *code = (OgiveCode *)object;
    void *address = (char *)code->memory + code->entries[index];
    ogive_kernel_function function;
    /* ISO C has no cast from data to function pointers; copying the bits is how POSIX says to do it. */
    memcpy(&function, &address, sizeof function);
    return function;
}

/* For callers that are no Python: they must keep the Code. */
static PyObject *code_addresses(PyObject *object, PyObject *unused) {
    (void)unused;
    OgiveCode *self = (OgiveCode *)object;
    PyObject *found = PyTuple_New(self->entry_count);
    for (int i = 0; found != NULL && i < self->entry_count; ++i) {
        PyObject *address = PyLong_FromVoidPtr((char *)self->memory + self->entries[i]);
        if (address == NULL) {
            Py_CLEAR(found);
        } else {
            PyTuple_SET_ITEM(found, i, address);
        }
    }
    return found;
}

static PyMethodDef code_methods[] = {
    {"addresses", code_addresses, METH_NOARGS, "Where the functions lie, as long as this object lives."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot code_slots[] = {
    {Py_tp_doc, "Code(image, entries, imports)\n--\n\nExecutable memory with a copy of position-independent code."},
    {Py_tp_new, code_new},
    {Py_tp_dealloc, code_dealloc},
    {Py_tp_methods, code_methods},
    {0, NULL},
};

static PyType_Spec code_spec = {
    .name = "ogive._native.Code",
    .basicsize = sizeof(OgiveCode),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = code_slots,
};

int ogive_add_code_type(PyObject *module) {
    ogive_code_type = (PyTypeObject *)PyType_FromSpec(&code_spec);
    return ogive_code_type == NULL ? -1 : PyModule_AddType(module, ogive_code_type);
}
