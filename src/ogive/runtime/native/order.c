/* The order in which everything goes through a graph (ogive.graph.walking). */
#include "native.h"

#include <stdlib.h>

/* The nodes that were seen: their addresses, by open addressing; NULL where there is none. */
typedef struct {
    PyObject **entries;
    size_t size, count; /* the size is a power of two */
} nodes;

static PyObject **place_of(PyObject **entries, size_t size, PyObject *node) {
    size_t at = (size_t)((uint64_t)(uintptr_t)node * 0x9E3779B97F4A7C15u >> 20);
    while (entries[at % size] != NULL && entries[at % size] != node) {
        ++at;
    }
    return &entries[at % size];
}

static int has(const nodes *seen, PyObject *node) {
    return *place_of(seen->entries, seen->size, node) != NULL;
}

/* Adds a node that is not there; 0, or -1 without memory. */
static int add(nodes *seen, PyObject *node) {
    if (2 * seen->count >= seen->size) {
        const size_t size = 2 * seen->size;
        PyObject **entries = calloc(size, sizeof *entries);
        if (entries == NULL) {
            return -1;
        }
        for (size_t i = 0; i < seen->size; ++i) {
            if (seen->entries[i] != NULL) {
                *place_of(entries, size, seen->entries[i]) = seen->entries[i];
            }
        }
        free(seen->entries);
        seen->entries = entries;
        seen->size = size;
    }
    *place_of(seen->entries, seen->size, node) = node;
    seen->count += 1;
    return 0;
}

/* A node whose operands are being looked at. Whoever holds a node holds its operands, so none is lost meanwhile. */
typedef struct {
    PyObject *node, *operands;
    Py_ssize_t next;
} visit;

typedef struct {
    visit *entries;
    size_t size, count;
} visits;

/* Begins to look at a node; 0, or -1 with an error set. */
static int begin(visits *stack, nodes *seen, PyObject *node, PyObject *name) {
    if (stack->count == stack->size) {
        visit *entries = realloc(stack->entries, 2 * stack->size * sizeof *entries);
        if (entries == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        stack->entries = entries;
        stack->size *= 2;
    }
    if (add(seen, node) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    PyObject *operands = PyObject_GetAttr(node, name);
    if (operands != NULL && !PyTuple_Check(operands)) {
        Py_CLEAR(operands);
        PyErr_SetString(PyExc_TypeError, "operands_first: the operands of a node are a tuple");
    }
    if (operands == NULL) {
        return -1;
    }
    stack->entries[stack->count++] = (visit){node, operands, 0};
    return 0;
}

/* Every node of the graphs of these roots once, operands before the nodes that use them: a list. */
PyObject *ogive_operands_first(PyObject *module, PyObject *roots) {
    (void)module;
    if (!PyTuple_Check(roots)) {
        PyErr_SetString(PyExc_TypeError, "operands_first: the roots are a tuple");
        return NULL;
    }
    nodes seen = {calloc(256, sizeof(PyObject *)), 256, 0};
    visits stack = {malloc(64 * sizeof(visit)), 64, 0};
    PyObject *name = PyUnicode_InternFromString("operands"), *found = PyList_New(0);
    int failed = found == NULL || name == NULL;
    if (!failed && (seen.entries == NULL || stack.entries == NULL)) {
        PyErr_NoMemory();
        failed = 1;
    }
    for (Py_ssize_t i = 0; !failed && i < PyTuple_GET_SIZE(roots); ++i) {
        PyObject *root = PyTuple_GET_ITEM(roots, i);
        failed = !has(&seen, root) && begin(&stack, &seen, root, name) < 0;
        while (!failed && stack.count > 0) {
            visit *top = &stack.entries[stack.count - 1];
            if (top->next < PyTuple_GET_SIZE(top->operands)) {
                PyObject *operand = PyTuple_GET_ITEM(top->operands, top->next++);
                failed = !has(&seen, operand) && begin(&stack, &seen, operand, name) < 0;
            } else {
                failed = PyList_Append(found, top->node) < 0;
                Py_DECREF(top->operands);
                stack.count -= 1;
            }
        }
    }
    while (stack.count > 0) {
        Py_DECREF(stack.entries[--stack.count].operands);
    }
    free(stack.entries);
    free(seen.entries);
    Py_XDECREF(name);
    if (failed) {
        Py_CLEAR(found);
    }
    return found;
}
