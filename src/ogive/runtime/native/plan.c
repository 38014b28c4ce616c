/* Plans: the runs of a graph whose every decision is made, without Python between the kernels.
 *
 * A plan is a list of steps over numbered slots. A slot holds an array: an input, a constant, or the result of a step.
 * A step is a kernel (a ufunc, whose loops run directly where they can), a function of Python, a view, or a copy. Kernels
 * write into arrays of the workspace or into a new array. Two arrays of the workspace may be the same memory.
 * A view is an array over the memory of another: it is known for one layout of that; for others a function makes it.
 *
 * A plan is for inputs of certain shapes, but for two kinds. In a uniform one, all inputs have one shape, which may be any.
 * In one for batches, some inputs, and what follows from them, may have any length along the first axis.
 *
 * `Model` calls (the base of ogive.onnx.Model) find a plan for the types and shapes of their inputs and run it. A call
 * that no plan fits goes to Python: `_call(args, keywords)`, which makes one and offers it with `_publish`.
 */
#include "native.h"

#include <string.h>
#include <structmember.h>

#define ANY_LENGTH (-1) /* of a first axis: that of the batch */
#define REMEMBERED_PLANS 4
#define MOST_SLOTS 128 /* that the stack holds; more are allocated for a run */
#define IDLE_WORKSPACES 4    /* more threads at once make more, and drop them */
#define LARGEST_IDLE (1 << 26) /* only the plan used last keeps workspaces of more bytes than this */

typedef enum { OWN, BUFFER, FRESH, VIEW } place_kind;

/* An array over the memory of another that has these dimensions and strides. */
typedef struct {
    int source_ndim;
    npy_intp source_dims[NPY_MAXDIMS], source_strides[NPY_MAXDIMS];
    npy_intp strides[NPY_MAXDIMS], offset;
} plan_view;

/* Where an output of a kernel lies. */
typedef struct {
    place_kind kind;
    int index; /* BUFFER: position in the workspace; FRESH: which result it is, or -1 */
    PyArray_Descr *descr; /* FRESH; VIEW: NULL for the type of the source */
    int ndim;
    npy_intp dims[NPY_MAXDIMS]; /* FRESH, unless the plan is uniform; VIEW */
    npy_intp *strides;                       /* FRESH: NULL for C order */
    plan_view *view;                         /* VIEW */
} plan_place;

typedef struct {
    PyObject *callable;  /* None: a view that needs no function, an array of the workspace as it is, or a copy */
    OgiveDirect *direct; /* of a kernel; lives as long as the callable */
    int has_one_loop, is_kernel, inputs, outputs, released;
    int *slots; /* inputs, then outputs, then what is released */
    plan_place *places;
} plan_step;

typedef struct {
    PyArray_Descr *descr;
    int ndim;
    npy_intp dims[NPY_MAXDIMS];
} plan_input;

typedef struct {
    PyObject_HEAD
    int step_count, slot_count, input_count, result_count;
    plan_step *steps;
    PyObject *given; /* the steps as a tuple, for people and tests */
    PyObject *start; /* a tuple: what is in each slot before a run; None: nothing */
    int *input_slots;
    plan_input *input_kinds; /* descr NULL: an input that is no array; no call fits */
    int *result_slots;
    char *is_own;      /* whether a result is an array that nothing else uses */
    char *is_bindable; /* whether a result is computed into an array that the caller gives; others are copied to it */
    int binds_all;
    int is_uniform;    /* all inputs have one shape, which may be any of `uniform_ndim` axes, and so has every value */
    int batch_input;        /* the first whose first axis has any length; -1: none */
    npy_intp most_elements; /* of a uniform plan, or the longest batch: more would be beyond the memory limit */
    PyObject *make_workspace; /* (shape or None) -> tuple of arrays */
    PyObject *separate;       /* value -> the same in an array that nothing else uses */
    npy_intp workspace_bytes; /* of one workspace, for the inputs that the plan was made from */
    int has_workspace;        /* whether a step writes to it; it may be empty */
    PyObject *idle;           /* a list of workspaces */
    npy_intp idle_dims[NPY_MAXDIMS]; /* of a uniform plan: the shape that they are for; or the batch */
    unsigned int generation;  /* counts changes of idle_dims */
} OgivePlan;

/* The source of the shapes of a run. */
typedef struct {
    int ndim; /* of a uniform plan: of every value; 0 for other plans */
    const npy_intp *dims;
    npy_intp batch; /* of a plan for batches: the length of first axes; 0 for other plans */
} run_shape;

PyTypeObject *ogive_model_type;
static PyTypeObject *plan_type;
static PyObject *shapes_changed; /* the exception ShapesChanged */
static PyObject *names_of_out;   /* ("out",): the keywords of a call of a ufunc */

/* ---- making a plan ---------------------------------------------------------------------------- */

static int read_dims(PyObject *shape, npy_intp *dims) {
    if (!PyTuple_Check(shape) || PyTuple_GET_SIZE(shape) > NPY_MAXDIMS) {
        PyErr_SetString(PyExc_ValueError, "Plan: a shape is a tuple of at most 64 sizes");
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape); ++i) {
        if (i == 0 && PyTuple_GET_ITEM(shape, i) == Py_None) {
            dims[0] = ANY_LENGTH;
            continue;
        }
        dims[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
        if (dims[i] < 0) {
            if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_ValueError, "Plan: a size is negative");
            }
            return -1;
        }
    }
    return (int)PyTuple_GET_SIZE(shape);
}

static int read_index(PyObject *value, int limit, int *index) {
    long found = PyLong_AsLong(value);
    if (found < 0 || found >= limit) {
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_ValueError, "Plan: %ld is no index below %d", found, limit);
        }
        return -1;
    }
    *index = (int)found;
    return 0;
}

static int read_strides(PyObject *given, int ndim, npy_intp *strides) {
    if (!PyTuple_Check(given) || PyTuple_GET_SIZE(given) != ndim) {
        PyErr_SetString(PyExc_ValueError, "Plan: strides are a tuple, one for each axis");
        return -1;
    }
    for (int i = 0; i < ndim; ++i) {
        strides[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(given, i));
        if (strides[i] == -1 && PyErr_Occurred()) {
            return -1;
        }
    }
    return 0;
}

/* Where the first and the last byte lie at which an element begins; -1 if that is beyond all memory, 0 without elements. */
static int extent(int ndim, const npy_intp *dims, const npy_intp *strides, npy_intp offset, npy_intp *low,
                  npy_intp *high) {
    const npy_intp most = NPY_MAX_INTP / 2 / (NPY_MAXDIMS + 2);
    *low = *high = offset;
    if (offset > most || offset < -most) {
        return -1;
    }
    for (int a = 0; a < ndim; ++a) {
        if (dims[a] == 0) {
            return 0;
        }
    }
    for (int a = 0; a < ndim; ++a) {
        if (dims[a] > 1 && (strides[a] > most / (dims[a] - 1) || strides[a] < -(most / (dims[a] - 1)))) {
            return -1;
        }
        const npy_intp reach = strides[a] * (dims[a] - 1);
        *(reach < 0 ? low : high) += reach;
    }
    return 1;
}

static int read_indices(PyObject *tuple, int limit, int *indices) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
        if (read_index(PyTuple_GET_ITEM(tuple, i), limit, &indices[i]) < 0) {
            return -1;
        }
    }
    return 0;
}

/* ("view", shape, strides, offset, shape of the source, its strides): of a packed or a permuted source. A type may
 * follow, of the size of the source's. */
static int read_view(PyObject *given, plan_place *place) {
    const char *kind;
    PyObject *shape, *strides, *source_shape, *source_strides, *descr = NULL;
    plan_view *view = place->view = PyMem_Calloc(1, sizeof *view);
    if (view == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    place->kind = VIEW;
    if (!PyArg_ParseTuple(given, "sOOnOO|O!:Plan", &kind, &shape, &strides, &view->offset, &source_shape,
                          &source_strides, &PyArrayDescr_Type, &descr) ||
        (place->ndim = read_dims(shape, place->dims)) < 0 || read_strides(strides, place->ndim, view->strides) < 0 ||
        (view->source_ndim = read_dims(source_shape, view->source_dims)) < 0) {
        return -1;
    }
    if (read_strides(source_strides, view->source_ndim, view->source_strides) < 0) {
        return -1;
    }
    place->descr = (PyArray_Descr *)Py_XNewRef(descr);
    npy_intp low, high, first, last;
    /* In a batch, each item within its own. */
    const int is_batch = place->ndim > 0 && place->dims[0] == ANY_LENGTH;
    if (is_batch != (view->source_ndim > 0 && view->source_dims[0] == ANY_LENGTH) ||
        (is_batch && view->strides[0] != view->source_strides[0])) {
        PyErr_SetString(PyExc_ValueError, "Plan: a view of a batch is no batch");
        return -1;
    }
    const int is_there = extent(place->ndim - is_batch, place->dims + is_batch, view->strides + is_batch, view->offset,
                                &low, &high);
    const int has_source = extent(view->source_ndim - is_batch, view->source_dims + is_batch,
                                  view->source_strides + is_batch, 0, &first, &last);
    if (has_source < 0 || is_there < 0 || (is_there == 0 ? view->offset != 0 : !has_source || low < first || high > last)) {
        PyErr_SetString(PyExc_ValueError, "Plan: a view leads out of its source");
        return -1;
    }
    return 0;
}

/* ("own",), ("buffer", position), ("fresh", shape, dtype), the same with strides, or ("view", ...). */
static int read_place(PyObject *given, plan_place *place) {
    const char *kind;
    PyObject *first = NULL, *second = NULL, *third = NULL;
    if (PyTuple_Check(given) && PyTuple_GET_SIZE(given) >= 6) {
        PyObject *name = PyTuple_GET_ITEM(given, 0);
        if (PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "view") == 0) {
            return read_view(given, place);
        }
    }
    if (!PyTuple_Check(given) || !PyArg_ParseTuple(given, "s|OOO:Plan", &kind, &first, &second, &third)) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "Plan: a place is a tuple");
        }
        return -1;
    }
    if (strcmp(kind, "own") == 0) {
        place->kind = OWN;
        return 0;
    }
    if (strcmp(kind, "buffer") == 0 && first != NULL) {
        place->kind = BUFFER;
        return read_index(first, 1 << 30, &place->index);
    }
    if (strcmp(kind, "fresh") == 0 && second != NULL && PyArray_DescrCheck(second)) {
        place->kind = FRESH;
        place->index = -1;
        place->descr = (PyArray_Descr *)Py_NewRef(second);
        place->ndim = read_dims(first, place->dims);
        if (place->ndim < 0 || third == NULL) {
            return place->ndim < 0 ? -1 : 0;
        }
        place->strides = PyMem_Calloc((size_t)place->ndim + 1, sizeof *place->strides);
        if (place->strides == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        if (read_strides(third, place->ndim, place->strides) < 0) {
            return -1;
        }
        npy_intp packed[NPY_MAXDIMS], low, high, last;
        const int is_batch = place->ndim > 0 && place->dims[0] == ANY_LENGTH;
        for (npy_intp a = place->ndim - 1, bytes = PyDataType_ELSIZE(place->descr); a >= 0; --a) {
            packed[a] = bytes;
            if (a == 0 && is_batch && place->strides[0] != bytes) {
                PyErr_SetString(PyExc_ValueError, "Plan: the items of a batch lie one after the other");
                return -1;
            }
            bytes = place->dims[a] > 0 && bytes > NPY_MAX_INTP / place->dims[a] ? NPY_MAX_INTP : bytes * place->dims[a];
        }
        if (extent(place->ndim - is_batch, place->dims + is_batch, packed + is_batch, 0, &low, &last) < 0 ||
            extent(place->ndim - is_batch, place->dims + is_batch, place->strides + is_batch, 0, &low, &high) < 0 ||
            low < 0 || high > last) {
            PyErr_SetString(PyExc_ValueError, "Plan: the strides lead out of the array");
            return -1;
        }
        return 0;
    }
    PyErr_Format(PyExc_ValueError, "Plan: there is no place %R", given);
    return -1;
}

/* (callable, is kernel, inputs, outputs, places, released) */
static int read_step(OgivePlan *self, PyObject *given, plan_step *step) {
    PyObject *callable, *inputs, *outputs, *places, *released;
    if (!PyTuple_Check(given) ||
        !PyArg_ParseTuple(given, "OpO!O!O!O!:Plan", &callable, &step->is_kernel, &PyTuple_Type, &inputs, &PyTuple_Type,
                          &outputs, &PyTuple_Type, &places, &PyTuple_Type, &released)) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "Plan: a step is a tuple");
        }
        return -1;
    }
    step->callable = Py_NewRef(callable);
    step->inputs = (int)PyTuple_GET_SIZE(inputs);
    step->outputs = (int)PyTuple_GET_SIZE(outputs);
    step->released = (int)PyTuple_GET_SIZE(released);
    const int is_ufunc = PyObject_TypeCheck(callable, &PyUFunc_Type);
    /* A kernel is a ufunc, which has at most NPY_MAXARGS operands; a function may have any number. */
    if (step->outputs < 1 || PyTuple_GET_SIZE(places) != step->outputs ||
        (step->is_kernel ? !is_ufunc : step->outputs != 1 || !(callable == Py_None || PyCallable_Check(callable))) ||
        (step->is_kernel && (((PyUFuncObject *)callable)->nin != step->inputs ||
                             ((PyUFuncObject *)callable)->nout != step->outputs))) {
        PyErr_SetString(PyExc_ValueError, "Plan: a step has another number of operands than what it calls");
        return -1;
    }
    step->slots = PyMem_Calloc((size_t)(step->inputs + step->outputs + step->released), sizeof *step->slots);
    step->places = PyMem_Calloc((size_t)step->outputs, sizeof *step->places);
    if (step->slots == NULL || step->places == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    if (read_indices(inputs, self->slot_count, step->slots) < 0 ||
        read_indices(outputs, self->slot_count, step->slots + step->inputs) < 0 ||
        read_indices(released, self->slot_count, step->slots + step->inputs + step->outputs) < 0) {
        return -1;
    }
    for (int k = 0; k < step->outputs; ++k) {
        if (read_place(PyTuple_GET_ITEM(places, k), &step->places[k]) < 0) {
            return -1;
        }
        self->has_workspace |= step->places[k].kind == BUFFER;
        if (step->is_kernel && (step->places[k].kind == OWN || step->places[k].kind == VIEW)) {
            PyErr_SetString(PyExc_ValueError, "Plan: a kernel makes no array of its own");
            return -1;
        }
    }
    if (!step->is_kernel) {
        const place_kind kind = step->places[0].kind;
        const int wanted = callable != Py_None ? kind == VIEW : kind == OWN ? 2 : kind != BUFFER || step->inputs > 0;
        if (step->inputs < wanted || (callable == Py_None && step->inputs > 1)) {
            PyErr_SetString(PyExc_ValueError, "Plan: a view or a copy has one operand");
            return -1;
        }
    }
    if (step->is_kernel && (step->direct = ogive_direct_loops(callable)) != NULL) {
        step->has_one_loop = ((PyUFuncObject *)callable)->ntypes == 1;
    }
    return 0;
}

/* The result that a kernel writes into a new array may be written to one of the caller's instead. */
static void find_bindable(OgivePlan *self) {
    self->binds_all = 1;
    for (int s = 0; s < self->step_count; ++s) {
        plan_step *step = &self->steps[s];
        for (int k = 0; k < step->outputs && step->is_kernel; ++k) {
            for (int r = 0; r < self->result_count; ++r) {
                if (step->places[k].kind == FRESH && step->places[k].strides == NULL && self->is_own[r] &&
                    self->result_slots[r] == step->slots[step->inputs + k]) {
                    step->places[k].index = r;
                    self->is_bindable[r] = 1;
                }
            }
        }
    }
    for (int r = 0; r < self->result_count; ++r) {
        self->binds_all &= self->is_bindable[r];
    }
}

static int plan_traverse(PyObject *object, visitproc visit, void *arg) {
    OgivePlan *self = (OgivePlan *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->given);
    Py_VISIT(self->start);
    Py_VISIT(self->make_workspace);
    Py_VISIT(self->separate);
    Py_VISIT(self->idle);
    for (int s = 0; self->steps != NULL && s < self->step_count; ++s) {
        Py_VISIT(self->steps[s].callable);
    }
    return 0;
}

static int plan_clear(PyObject *object) {
    OgivePlan *self = (OgivePlan *)object;
    Py_CLEAR(self->given);
    Py_CLEAR(self->start);
    Py_CLEAR(self->make_workspace);
    Py_CLEAR(self->separate);
    Py_CLEAR(self->idle);
    plan_step *steps = self->steps;
    self->steps = NULL;
    for (int s = 0; steps != NULL && s < self->step_count; ++s) {
        for (int k = 0; steps[s].places != NULL && k < steps[s].outputs; ++k) {
            Py_XDECREF(steps[s].places[k].descr);
            PyMem_Free(steps[s].places[k].strides);
            PyMem_Free(steps[s].places[k].view);
        }
        PyMem_Free(steps[s].places);
        PyMem_Free(steps[s].slots);
        Py_XDECREF(steps[s].callable);
    }
    PyMem_Free(steps);
    return 0;
}

static void plan_dealloc(PyObject *object) {
    OgivePlan *self = (OgivePlan *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    plan_clear(object);
    for (int i = 0; self->input_kinds != NULL && i < self->input_count; ++i) {
        Py_XDECREF(self->input_kinds[i].descr);
    }
    PyMem_Free(self->input_kinds);
    PyMem_Free(self->input_slots);
    PyMem_Free(self->result_slots);
    PyMem_Free(self->is_own);
    PyMem_Free(self->is_bindable);
    type->tp_free(object);
    Py_DECREF(type);
}

static int read_inputs(OgivePlan *self, PyObject *kinds) {
    for (int i = 0; i < self->input_count; ++i) {
        PyObject *kind = PyTuple_GET_ITEM(kinds, i), *dtype, *shape;
        if (kind == Py_None) {
            continue;
        }
        if (!PyTuple_Check(kind) || !PyArg_ParseTuple(kind, "O!O:Plan", &PyArrayDescr_Type, &dtype, &shape)) {
            if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_TypeError, "Plan: an input is (dtype, shape) or None");
            }
            return -1;
        }
        self->input_kinds[i].descr = (PyArray_Descr *)Py_NewRef(dtype);
        self->input_kinds[i].ndim = read_dims(shape, self->input_kinds[i].dims);
        if (self->input_kinds[i].ndim < 0) {
            return -1;
        }
        if (self->batch_input < 0 && self->input_kinds[i].ndim > 0 && self->input_kinds[i].dims[0] == ANY_LENGTH) {
            self->batch_input = i;
        }
    }
    return 0;
}

static PyObject *plan_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"steps",    "start",          "inputs",   "input_kinds",     "results",       "is_own",
                            "separate", "make_workspace", "workspace_bytes", "uniform", "most_elements", NULL};
    PyObject *steps, *start, *inputs, *kinds, *results, *is_own, *separate, *make_workspace;
    Py_ssize_t workspace_bytes, most_elements;
    int uniform;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O!O!O!O!O!OOnpn:Plan", names, &PyTuple_Type, &steps,
                                     &PyTuple_Type, &start, &PyTuple_Type, &inputs, &PyTuple_Type, &kinds,
                                     &PyTuple_Type, &results, &PyTuple_Type, &is_own, &separate, &make_workspace,
                                     &workspace_bytes, &uniform, &most_elements)) {
        return NULL;
    }
    if (PyTuple_GET_SIZE(kinds) != PyTuple_GET_SIZE(inputs) || PyTuple_GET_SIZE(is_own) != PyTuple_GET_SIZE(results) ||
        (uniform && PyTuple_GET_SIZE(inputs) == 0)) {
        PyErr_SetString(PyExc_ValueError, "Plan: lists of different lengths");
        return NULL;
    }
    OgivePlan *self = (OgivePlan *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->step_count = (int)PyTuple_GET_SIZE(steps);
    self->slot_count = (int)PyTuple_GET_SIZE(start);
    self->input_count = (int)PyTuple_GET_SIZE(inputs);
    self->result_count = (int)PyTuple_GET_SIZE(results);
    self->is_uniform = uniform;
    self->batch_input = -1;
    self->most_elements = most_elements;
    self->workspace_bytes = workspace_bytes;
    self->given = Py_NewRef(steps);
    self->start = Py_NewRef(start);
    self->separate = Py_NewRef(separate);
    self->make_workspace = Py_NewRef(make_workspace);
    self->idle = PyList_New(0);
    self->steps = PyMem_Calloc((size_t)self->step_count + 1, sizeof *self->steps);
    self->input_slots = PyMem_Calloc((size_t)self->input_count + 1, sizeof *self->input_slots);
    self->input_kinds = PyMem_Calloc((size_t)self->input_count + 1, sizeof *self->input_kinds);
    self->result_slots = PyMem_Calloc((size_t)self->result_count + 1, sizeof *self->result_slots);
    self->is_own = PyMem_Calloc((size_t)self->result_count + 1, 1);
    self->is_bindable = PyMem_Calloc((size_t)self->result_count + 1, 1);
    if (self->idle == NULL || self->steps == NULL || self->input_slots == NULL || self->input_kinds == NULL ||
        self->result_slots == NULL || self->is_own == NULL || self->is_bindable == NULL) {
        Py_DECREF(self);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    int failed = read_indices(inputs, self->slot_count, self->input_slots) < 0 || read_inputs(self, kinds) < 0 ||
                 read_indices(results, self->slot_count, self->result_slots) < 0;
    for (int r = 0; !failed && r < self->result_count; ++r) {
        int truth = PyObject_IsTrue(PyTuple_GET_ITEM(is_own, r));
        failed = truth < 0;
        self->is_own[r] = (char)(truth > 0);
    }
    for (int s = 0; !failed && s < self->step_count; ++s) {
        failed = read_step(self, PyTuple_GET_ITEM(steps, s), &self->steps[s]) < 0;
    }
    if (failed) {
        Py_DECREF(self);
        return NULL;
    }
    for (int s = 0; s < self->step_count; ++s) {
        for (int k = 0; k < self->steps[s].outputs; ++k) {
            const plan_place *place = &self->steps[s].places[k];
            if (self->batch_input < 0 && place->kind != OWN && place->kind != BUFFER && place->ndim > 0 &&
                place->dims[0] == ANY_LENGTH) {
                PyErr_SetString(PyExc_ValueError, "Plan: no input says how long the batch is");
                Py_DECREF(self);
                return NULL;
            }
        }
    }
    find_bindable(self);
    return (PyObject *)self;
}

/* ---- running ---------------------------------------------------------------------------------- */

static run_shape shape_of(const OgivePlan *self, PyObject *const *inputs) {
    if (self->is_uniform) {
        PyArrayObject *first = (PyArrayObject *)inputs[0];
        return (run_shape){PyArray_NDIM(first), PyArray_DIMS(first), 0};
    }
    return (run_shape){.batch = self->batch_input < 0 ? 0 : PyArray_DIM((PyArrayObject *)inputs[self->batch_input], 0)};
}

static int is_flexible(const OgivePlan *self) { return self->is_uniform || self->batch_input >= 0; }

/* Whether an array has dimensions, of which the first may be that of the batch. */
static int has_dims(PyArrayObject *array, int ndim, const npy_intp *dims, const run_shape *shape) {
    if (PyArray_NDIM(array) != ndim) {
        return 0;
    }
    const int is_batch = ndim > 0 && dims[0] == ANY_LENGTH;
    return (!is_batch || PyArray_DIM(array, 0) == shape->batch) &&
           PyArray_CompareLists(PyArray_DIMS(array) + is_batch, dims + is_batch, ndim - is_batch);
}

/* Whether the plan was made for inputs like these. */
static int fits(const OgivePlan *self, PyObject *const *inputs) {
    for (int i = 0; i < self->input_count; ++i) {
        const plan_input *kind = &self->input_kinds[i];
        if (kind->descr == NULL || !PyArray_CheckExact(inputs[i]) ||
            PyArray_DESCR((PyArrayObject *)inputs[i]) != kind->descr ||
            PyArray_NDIM((PyArrayObject *)inputs[i]) != kind->ndim) {
            return 0;
        }
    }
    const run_shape shape = shape_of(self, inputs);
    for (int i = 0; i < self->input_count; ++i) {
        const plan_input *kind = &self->input_kinds[i];
        if (!has_dims((PyArrayObject *)inputs[i], kind->ndim, self->is_uniform ? shape.dims : kind->dims, &shape)) {
            return 0;
        }
    }
    return self->is_uniform ? PyArray_SIZE((PyArrayObject *)inputs[0]) <= self->most_elements
                            : self->batch_input < 0 || (shape.batch > 0 && shape.batch <= self->most_elements);
}

static PyObject *take_workspace(OgivePlan *self, const run_shape *shape, unsigned int *generation) {
    const int ndim = self->is_uniform ? shape->ndim : self->batch_input >= 0;
    const npy_intp *dims = self->is_uniform ? shape->dims : &shape->batch;
    PyObject *found = NULL;
    int failed = 0;
    OGIVE_LOCK(self);
    if (ndim > 0 && !PyArray_CompareLists(dims, self->idle_dims, ndim)) {
        memcpy(self->idle_dims, dims, sizeof(npy_intp) * (size_t)ndim);
        ++self->generation;
        failed = PyList_SetSlice(self->idle, 0, PyList_GET_SIZE(self->idle), NULL) < 0;
    }
    *generation = self->generation;
    const Py_ssize_t idle = PyList_GET_SIZE(self->idle);
    if (!failed && idle > 0) {
        found = Py_NewRef(PyList_GET_ITEM(self->idle, idle - 1));
        failed = PyList_SetSlice(self->idle, idle - 1, idle, NULL) < 0;
    }
    OGIVE_UNLOCK();
    if (failed) {
        Py_CLEAR(found);
    }
    if (failed || found != NULL) {
        return found;
    }
    PyObject *given = is_flexible(self) ? PyArray_IntTupleFromIntp(ndim, dims) : Py_NewRef(Py_None);
    PyObject *made = given == NULL ? NULL : PyObject_CallOneArg(self->make_workspace, given);
    Py_XDECREF(given);
    if (made != NULL && !PyTuple_Check(made)) {
        PyErr_SetString(PyExc_TypeError, "Plan: a workspace is a tuple");
        Py_CLEAR(made);
    }
    return made;
}

/* The dimensions of a place in a run. */
static const npy_intp *dims_of(const plan_place *place, const run_shape *shape, npy_intp *of_batch) {
    if (shape->ndim) {
        return shape->dims;
    }
    if (place->ndim == 0 || place->dims[0] != ANY_LENGTH) {
        return place->dims;
    }
    memcpy(of_batch, place->dims, sizeof *of_batch * (size_t)place->ndim);
    of_batch[0] = shape->batch;
    return of_batch;
}

/* The array that a place stands for, or NULL with an error set. */
static PyObject *target(const plan_place *place, PyObject *workspace, PyObject *const *outs, const run_shape *shape) {
    if (place->kind == BUFFER) {
        if (place->index >= PyTuple_GET_SIZE(workspace)) {
            PyErr_SetString(PyExc_IndexError, "Plan: the workspace is too small");
            return NULL;
        }
        return Py_NewRef(PyTuple_GET_ITEM(workspace, place->index));
    }
    if (outs != NULL && place->index >= 0 && outs[place->index] != NULL) {
        return Py_NewRef(outs[place->index]);
    }
    npy_intp of_batch[NPY_MAXDIMS];
    const npy_intp *dims = dims_of(place, shape, of_batch);
    return PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)Py_NewRef(place->descr),
                                shape->ndim ? shape->ndim : place->ndim, dims, place->strides, NULL, 0, NULL);
}

static int run_kernel(const plan_step *step, PyObject **values, PyObject *workspace, PyObject *const *outs,
                      const run_shape *shape) {
    PyObject *stack[NPY_MAXARGS + 1], *targets[NPY_MAXARGS];
    for (int i = 0; i < step->inputs; ++i) {
        stack[i] = values[step->slots[i]];
    }
    if (step->direct != NULL && step->outputs == 1) {
        const plan_place *place = &step->places[0];
        /* A new result is made by the call itself, in the layout that is fastest: in C order where it has several axes. */
        const int is_new = place->kind == FRESH && (outs == NULL || place->index < 0 || outs[place->index] == NULL);
        const int is_flat = is_new && (shape->ndim ? shape->ndim : place->ndim) == 1;
        PyObject *out = is_flat ? NULL : target(place, workspace, outs, shape);
        if (out == NULL && !is_flat) {
            return -1;
        }
        PyObject *result = ogive_call_directly(step->direct, stack, out);
        if (result != NULL) {
            Py_XDECREF(out);
            Py_XSETREF(values[step->slots[step->inputs]], result);
            return PyErr_Occurred() ? -1 : 0; /* a kernel could not be compiled */
        }
        if (PyErr_Occurred()) { /* that of rows, which NumPy made no array of then */
            Py_XDECREF(out);
            return -1;
        }
        if (out != NULL && step->has_one_loop) {
            stack[step->inputs] = out;
            const int ran = ogive_call_strided(step->direct->loops, step->direct->types, step->direct->row_wise, stack,
                                               step->inputs + 1);
            if (ran > 0) {
                Py_XSETREF(values[step->slots[step->inputs]], out);
                return 0;
            }
            if (ran < 0) {
                Py_DECREF(out);
                return -1;
            }
        }
        Py_XDECREF(out);
    }
    PyObject *tuple = PyTuple_New(step->outputs);
    if (tuple == NULL) {
        return -1;
    }
    for (int k = 0; k < step->outputs; ++k) {
        targets[k] = target(&step->places[k], workspace, outs, shape);
        if (targets[k] == NULL) {
            Py_DECREF(tuple);
            return -1;
        }
        PyTuple_SET_ITEM(tuple, k, targets[k]);
    }
    if (step->has_one_loop && step->outputs > 1) {
        for (int k = 0; k < step->outputs; ++k) {
            stack[step->inputs + k] = targets[k];
        }
        const int ran = ogive_call_strided(step->direct->loops, step->direct->types, step->direct->row_wise, stack,
                                           step->inputs + step->outputs);
        for (int k = 0; ran > 0 && k < step->outputs; ++k) {
            Py_XSETREF(values[step->slots[step->inputs + k]], Py_NewRef(targets[k]));
        }
        if (ran != 0) {
            Py_DECREF(tuple);
            return ran < 0 ? -1 : 0;
        }
    }
    stack[step->inputs] = tuple;
    PyObject *result = PyObject_Vectorcall(step->callable, stack, (size_t)step->inputs, names_of_out);
    for (int k = 0; result != NULL && k < step->outputs; ++k) {
        Py_XSETREF(values[step->slots[step->inputs + k]], Py_NewRef(targets[k]));
    }
    Py_DECREF(tuple);
    Py_XDECREF(result);
    return result == NULL || PyErr_Occurred() ? -1 : 0;
}

/* The array over the source's memory, or NULL: with an error set, or without one if the source does not lie so. */
static PyObject *view_of(const plan_place *place, PyObject *object, const run_shape *shape) {
    const plan_view *view = place->view;
    if (!PyArray_CheckExact(object) ||
        !has_dims((PyArrayObject *)object, view->source_ndim, view->source_dims, shape)) {
        return NULL;
    }
    PyArrayObject *source = (PyArrayObject *)object;
    for (int a = 0; a < view->source_ndim; ++a) {
        if (PyArray_DIM(source, a) != 1 && PyArray_STRIDE(source, a) != view->source_strides[a]) {
            return NULL;
        }
    }
    PyArray_Descr *descr = place->descr == NULL ? PyArray_DESCR(source) : place->descr;
    if (PyDataType_ELSIZE(descr) != PyArray_ITEMSIZE(source)) {
        return NULL;
    }
    npy_intp of_batch[NPY_MAXDIMS];
    PyObject *result = PyArray_NewFromDescr(
        &PyArray_Type, (PyArray_Descr *)Py_NewRef(descr), place->ndim,
        dims_of(place, shape, of_batch), view->strides,
        PyArray_BYTES(source) + view->offset, PyArray_FLAGS(source) & NPY_ARRAY_WRITEABLE, NULL);
    if (result != NULL && PyArray_SetBaseObject((PyArrayObject *)result, Py_NewRef(object)) < 0) {
        Py_CLEAR(result);
    }
    return result;
}

/* The operand's elements one after the other in another array, which may have other dimensions. */
static PyObject *copy_of(const plan_place *place, PyObject *object, PyObject *workspace, PyObject *const *outs,
                         const run_shape *shape) {
    PyObject *result = target(place, workspace, outs, shape);
    PyObject *into = NULL;
    if (result == NULL) {
        return NULL;
    }
    if (!PyArray_Check(object) || !PyArray_Check(result) ||
        PyArray_SIZE((PyArrayObject *)object) != PyArray_SIZE((PyArrayObject *)result) ||
        !PyArray_IS_C_CONTIGUOUS((PyArrayObject *)result)) {
        PyErr_SetString(PyExc_ValueError, "Plan: a copy needs two arrays of one size");
    } else {
        PyArrayObject *source = (PyArrayObject *)object;
        into = PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)Py_NewRef(PyArray_DESCR((PyArrayObject *)result)),
                                    PyArray_NDIM(source), PyArray_DIMS(source), NULL,
                                    PyArray_BYTES((PyArrayObject *)result), NPY_ARRAY_WRITEABLE, NULL);
    }
    if (into == NULL || PyArray_CopyInto((PyArrayObject *)into, (PyArrayObject *)object) < 0) {
        Py_CLEAR(result);
    }
    Py_XDECREF(into);
    return result;
}

/* A view, a copy, or a function of Python, which gets a tuple of its inputs, and the array to fill or None. */
static int run_function(const plan_step *step, PyObject **values, PyObject *workspace, PyObject *const *outs,
                        const run_shape *shape) {
    const plan_place *place = &step->places[0];
    PyObject **made = &values[step->slots[step->inputs]];
    if (place->kind == VIEW) {
        PyObject *view = view_of(place, values[step->slots[0]], shape);
        if (view != NULL) {
            Py_XSETREF(*made, view);
            return 0;
        }
        if (!PyErr_Occurred() && step->callable == Py_None) {
            PyErr_SetString(PyExc_ValueError, "Plan: a view of an array with another layout");
        }
        if (PyErr_Occurred()) {
            return -1;
        }
    }
    if (step->callable == Py_None) {
        PyObject *array = step->inputs > 0 ? copy_of(place, values[step->slots[0]], workspace, outs, shape)
                                           : target(place, workspace, outs, shape);
        if (array == NULL) {
            return -1;
        }
        Py_XSETREF(*made, array);
        return 0;
    }
    PyObject *inputs = PyTuple_New(step->inputs);
    if (inputs == NULL) {
        return -1;
    }
    for (int i = 0; i < step->inputs; ++i) {
        PyTuple_SET_ITEM(inputs, i, Py_NewRef(values[step->slots[i]]));
    }
    PyObject *out = place->kind == OWN || place->kind == VIEW ? Py_NewRef(Py_None) : target(place, workspace, outs, shape);
    PyObject *result = out == NULL ? NULL : PyObject_CallFunctionObjArgs(step->callable, inputs, out, NULL);
    Py_XDECREF(out);
    Py_DECREF(inputs);
    if (result == NULL) {
        return -1;
    }
    Py_XSETREF(*made, result);
    return 0;
}

static int run_steps(const OgivePlan *self, PyObject **values, PyObject *workspace, PyObject *const *outs,
                     const run_shape *shape) {
    for (int s = 0; s < self->step_count; ++s) {
        const plan_step *step = &self->steps[s];
        for (int i = 0; i < step->inputs; ++i) {
            if (values[step->slots[i]] == NULL) {
                PyErr_SetString(PyExc_ValueError, "Plan: a step uses an empty slot");
                return -1;
            }
        }
        if ((step->is_kernel ? run_kernel : run_function)(step, values, workspace, outs, shape) < 0) {
            return -1;
        }
        for (int r = 0; r < step->released; ++r) {
            Py_CLEAR(values[step->slots[step->inputs + step->outputs + r]]);
        }
    }
    return 0;
}

/* Whether an array is all of its memory, in C order: a result that need not be copied. */
static int is_whole(PyObject *object) {
    PyArrayObject *array = (PyArrayObject *)object;
    PyObject *base = PyArray_BASE(array);
    return PyArray_ISCARRAY(array) &&
           (base == NULL || (PyArray_CheckExact(base) &&
                             PyArray_NBYTES((PyArrayObject *)base) == PyArray_NBYTES(array)));
}

/* The value in an array that nothing else uses. */
static PyObject *separated(const OgivePlan *self, PyObject *value, int is_own) {
    if (!PyArray_CheckExact(value)) {
        return PyObject_CallFunction(self->separate, "Oi", value, is_own);
    }
    return is_own && is_whole(value) ? Py_NewRef(value) : PyArray_NewCopy((PyArrayObject *)value, NPY_CORDER);
}

/* Results that could not be computed into the caller's arrays are copied. Without an error if one does not fit. */
static PyObject *deliver(const OgivePlan *self, PyObject **values, PyObject *const *outs) {
    for (int r = 0; r < self->result_count; ++r) {
        PyObject *value = values[self->result_slots[r]];
        if (value == NULL || !PyArray_CheckExact(value)) {
            return NULL;
        }
        PyArrayObject *array = (PyArrayObject *)value, *out = (PyArrayObject *)outs[r];
        if (PyArray_DESCR(array) != PyArray_DESCR(out) || PyArray_NDIM(array) != PyArray_NDIM(out) ||
            !PyArray_CompareLists(PyArray_DIMS(array), PyArray_DIMS(out), PyArray_NDIM(out))) {
            return NULL;
        }
    }
    PyObject *results = PyTuple_New(self->result_count);
    for (int r = 0; results != NULL && r < self->result_count; ++r) {
        if (values[self->result_slots[r]] != outs[r] &&
            PyArray_CopyInto((PyArrayObject *)outs[r], (PyArrayObject *)values[self->result_slots[r]]) < 0) {
            Py_CLEAR(results);
            break;
        }
        PyTuple_SET_ITEM(results, r, Py_NewRef(outs[r]));
    }
    return results;
}

static PyObject *collect(const OgivePlan *self, PyObject **values, PyObject *const *outs) {
    if (outs != NULL && !self->binds_all) {
        return deliver(self, values, outs);
    }
    PyObject *results = PyTuple_New(self->result_count);
    for (int r = 0; results != NULL && r < self->result_count; ++r) {
        PyObject *value = values[self->result_slots[r]];
        if (value == NULL) {
            PyErr_SetString(PyExc_ValueError, "Plan: a result is in no slot");
            Py_CLEAR(results);
            break;
        }
        /* A result of a kernel is whole; what a function returned may be a view. */
        PyObject *result = self->is_bindable[r] ? Py_NewRef(value) : separated(self, value, self->is_own[r]);
        if (result == NULL) {
            Py_CLEAR(results);
            break;
        }
        PyTuple_SET_ITEM(results, r, result);
    }
    return results;
}

/* A tuple of the results for inputs that fit. `outs`: NULL, or for each result an array that fits it, or NULL. */
static PyObject *run(OgivePlan *self, PyObject *const *inputs, PyObject *const *outs) {
    PyObject *on_stack[MOST_SLOTS], **values = on_stack;
    const run_shape like = shape_of(self, inputs), *shape = &like;
    unsigned int generation = 0;
    PyObject *workspace = NULL;
    if (self->has_workspace && (workspace = take_workspace(self, shape, &generation)) == NULL) {
        return NULL;
    }
    if (self->slot_count > MOST_SLOTS &&
        (values = PyMem_Malloc(sizeof *values * (size_t)self->slot_count)) == NULL) {
        Py_XDECREF(workspace);
        return PyErr_NoMemory();
    }
    Py_INCREF(self);
    for (int s = 0; s < self->slot_count; ++s) {
        PyObject *value = PyTuple_GET_ITEM(self->start, s);
        values[s] = value == Py_None ? NULL : Py_NewRef(value);
    }
    for (int i = 0; i < self->input_count; ++i) {
        Py_XSETREF(values[self->input_slots[i]], Py_NewRef(inputs[i]));
    }
    PyObject *results = run_steps(self, values, workspace, outs, shape) < 0 ? NULL : collect(self, values, outs);
    for (int s = 0; s < self->slot_count; ++s) {
        Py_XDECREF(values[s]);
    }
    if (values != on_stack) {
        PyMem_Free(values);
    }
    if (workspace != NULL) {
        OGIVE_LOCK(self);
        if (results != NULL && generation == self->generation && PyList_GET_SIZE(self->idle) < IDLE_WORKSPACES &&
            PyList_Append(self->idle, workspace) < 0) {
            PyErr_Clear();
        }
        OGIVE_UNLOCK();
        Py_DECREF(workspace);
    }
    Py_DECREF(self);
    return results;
}

/* The memory of an array, from `low` to before `high`. */
static void memory_of(PyArrayObject *array, const char **low, const char **high) {
    *low = *high = PyArray_BYTES(array);
    for (int a = 0; a < PyArray_NDIM(array); ++a) {
        const npy_intp reach = PyArray_STRIDE(array, a) * (PyArray_DIM(array, a) - 1);
        *(reach < 0 ? low : high) += PyArray_DIM(array, a) > 0 ? reach : 0;
    }
    *high += PyArray_ITEMSIZE(array);
}

static int are_apart(PyObject *a, PyObject *b) {
    const char *a_low, *a_high, *b_low, *b_high;
    memory_of((PyArrayObject *)a, &a_low, &a_high);
    memory_of((PyArrayObject *)b, &b_low, &b_high);
    return a_high <= b_low || b_high <= a_low;
}

/* Whether the caller's arrays can take the results: as they are computed, or as copies. */
static int can_bind(const OgivePlan *plan, PyObject *const *inputs, PyObject *const *outs) {
    for (int r = 0; r < plan->result_count; ++r) {
        if (!PyArray_CheckExact(outs[r]) || !PyArray_ISCARRAY((PyArrayObject *)outs[r])) {
            return 0;
        }
        for (int i = 0; i < plan->input_count; ++i) {
            if (!are_apart(outs[r], inputs[i])) {
                return 0;
            }
        }
        for (int other = 0; other < r; ++other) {
            if (!are_apart(outs[r], outs[other])) {
                return 0;
            }
        }
    }
    /* Type and shape of every result: as the place says that it has. */
    for (int s = 0; s < plan->step_count; ++s) {
        const plan_step *step = &plan->steps[s];
        for (int k = 0; k < step->outputs; ++k) {
            const plan_place *place = &step->places[k];
            if (place->kind != FRESH || place->index < 0) {
                continue;
            }
            PyArrayObject *out = (PyArrayObject *)outs[place->index];
            const run_shape shape = shape_of(plan, inputs);
            if (PyArray_DESCR(out) != place->descr ||
                !has_dims(out, shape.ndim ? shape.ndim : place->ndim, shape.ndim ? shape.dims : place->dims, &shape)) {
                return 0;
            }
        }
    }
    return 1;
}

static PyObject *plan_run(PyObject *object, PyObject *inputs) {
    OgivePlan *self = (OgivePlan *)object;
    PyObject *fast = PySequence_Tuple(inputs);
    PyObject *results = NULL;
    if (fast == NULL) {
        return NULL;
    }
    if (PyTuple_GET_SIZE(fast) != self->input_count) {
        PyErr_Format(PyExc_ValueError, "Plan: %zd inputs, where it has %d", PyTuple_GET_SIZE(fast), self->input_count);
    } else if (is_flexible(self) && !fits(self, ((PyTupleObject *)fast)->ob_item)) {
        PyErr_SetString(PyExc_ValueError, "Plan: the inputs do not fit it");
    } else {
        results = run(self, ((PyTupleObject *)fast)->ob_item, NULL);
    }
    Py_DECREF(fast);
    return results;
}

static PyObject *plan_fits(PyObject *object, PyObject *inputs) {
    OgivePlan *self = (OgivePlan *)object;
    PyObject *fast = PySequence_Tuple(inputs);
    if (fast == NULL) {
        return NULL;
    }
    const int does = PyTuple_GET_SIZE(fast) == self->input_count && fits(self, ((PyTupleObject *)fast)->ob_item);
    Py_DECREF(fast);
    return PyBool_FromLong(does);
}

/* A tuple of the results, written to `outs` unless that is None; None where inputs or outs do not fit. */
static PyObject *plan_try(PyObject *object, PyObject *const *args, Py_ssize_t nargs) {
    OgivePlan *self = (OgivePlan *)object;
    if (nargs != 2) {
        PyErr_SetString(PyExc_TypeError, "attempt: inputs and outs are wanted");
        return NULL;
    }
    const int has_outs = args[1] != Py_None;
    PyObject *inputs = PySequence_Tuple(args[0]), *outs = has_outs ? PySequence_Tuple(args[1]) : NULL, *results = NULL;
    if (inputs == NULL || (has_outs && outs == NULL)) {
        Py_XDECREF(inputs);
        Py_XDECREF(outs);
        return NULL;
    }
    PyObject *const *given = ((PyTupleObject *)inputs)->ob_item, *const *targets = NULL;
    int does = PyTuple_GET_SIZE(inputs) == self->input_count && fits(self, given);
    if (does && has_outs) {
        targets = ((PyTupleObject *)outs)->ob_item;
        does = PyTuple_GET_SIZE(outs) == self->result_count && can_bind(self, given, targets);
    }
    results = does ? run(self, given, targets) : NULL;
    if (results == NULL && !PyErr_Occurred()) {
        results = Py_NewRef(Py_None);
    }
    Py_DECREF(inputs);
    Py_XDECREF(outs);
    return results;
}

static PyMethodDef plan_methods[] = {
    {"attempt", (PyCFunction)(void (*)(void))plan_try, METH_FASTCALL,
     "attempt(inputs, outs): the results, written to outs unless that is None; None where they do not fit."},
    {"run", plan_run, METH_O, "A tuple of the results for a sequence of inputs."},
    {"fits", plan_fits, METH_O, "Whether the plan was made for inputs like these."},
    {NULL, NULL, 0, NULL},
};

static PyObject *get_is_own(PyObject *object, void *unused) {
    (void)unused;
    const OgivePlan *self = (OgivePlan *)object;
    PyObject *tuple = PyTuple_New(self->result_count);
    for (int r = 0; tuple != NULL && r < self->result_count; ++r) {
        PyTuple_SET_ITEM(tuple, r, PyBool_FromLong(self->is_own[r]));
    }
    return tuple;
}

static PyObject *get_flexible(PyObject *object, void *unused) {
    (void)unused;
    return PyBool_FromLong(is_flexible((OgivePlan *)object));
}

static PyGetSetDef plan_getset[] = {
    {"flexible", get_flexible, NULL, "Whether it serves inputs of several shapes.", NULL},
    {"is_own", get_is_own, NULL, "For each result whether it is an array that nothing else uses.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef plan_members[] = {
    {"uniform", T_INT, offsetof(OgivePlan, is_uniform), READONLY, "Whether any shape of so many axes fits."},
    {"workspace_bytes", T_PYSSIZET, offsetof(OgivePlan, workspace_bytes), READONLY, "The bytes of one workspace."},
    {"steps", T_OBJECT, offsetof(OgivePlan, given), READONLY, "What it was made of."},
    {"make_workspace", T_OBJECT, offsetof(OgivePlan, make_workspace), READONLY, "What makes a workspace."},
    {"idle", T_OBJECT, offsetof(OgivePlan, idle), READONLY, "Workspaces for the next runs."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot plan_slots[] = {
    {Py_tp_doc, "The runs of a graph with every decision made."},
    {Py_tp_new, plan_new},
    {Py_tp_dealloc, plan_dealloc},
    {Py_tp_traverse, plan_traverse},
    {Py_tp_clear, plan_clear},
    {Py_tp_methods, plan_methods},
    {Py_tp_members, plan_members},
    {Py_tp_getset, plan_getset},
    {0, NULL},
};

static PyType_Spec plan_spec = {
    .name = "ogive._native.Plan",
    .basicsize = sizeof(OgivePlan),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = plan_slots,
};

/* ---- calls of a model ------------------------------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *names; /* of the inputs: a tuple of interned texts */
    OgivePlan *plans[REMEMBERED_PLANS];
    OgivePlan *latest; /* the one used last; borrowed from `plans` */
    int next;
} OgiveModel;

/* The inputs in their order, and `out`; 0 if that is not a call of all inputs by position or name. */
static int sort_arguments(const OgiveModel *self, PyObject *const *args, Py_ssize_t nargs, PyObject *keywords,
                          PyObject **inputs, PyObject **out) {
    const Py_ssize_t wanted = PyTuple_GET_SIZE(self->names);
    const Py_ssize_t keyword_count = keywords == NULL ? 0 : PyTuple_GET_SIZE(keywords);
    *out = NULL;
    if (nargs > wanted || wanted > MOST_SLOTS) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < wanted; ++i) {
        inputs[i] = i < nargs ? args[i] : NULL;
    }
    Py_ssize_t given = nargs;
    for (Py_ssize_t k = 0; k < keyword_count; ++k) {
        PyObject *name = PyTuple_GET_ITEM(keywords, k);
        Py_ssize_t i = 0;
        while (i < wanted && PyTuple_GET_ITEM(self->names, i) != name) {
            ++i;
        }
        if (i == wanted && !PyUnicode_CHECK_INTERNED(name)) { /* a name of model(**{...}) that was made at run time */
            for (i = 0; i < wanted && PyUnicode_Compare(PyTuple_GET_ITEM(self->names, i), name) != 0; ++i) {
            }
        }
        if (i < wanted && inputs[i] == NULL) {
            inputs[i] = args[nargs + k];
            ++given;
        } else if (i == wanted && PyUnicode_CompareWithASCIIString(name, "out") == 0) {
            *out = args[nargs + k];
        } else {
            return 0;
        }
    }
    return given == wanted;
}

static PyObject *single_or_tuple(PyObject *results) {
    if (results == NULL || PyTuple_GET_SIZE(results) != 1) {
        return results;
    }
    PyObject *result = Py_NewRef(PyTuple_GET_ITEM(results, 0));
    Py_DECREF(results);
    return result;
}

/* The plan used before gives its memory back if that is much. */
static void use(OgiveModel *self, OgivePlan *plan) {
    OgivePlan *before = NULL;
    OGIVE_LOCK(self);
    if (self->latest != plan) {
        before = (OgivePlan *)Py_XNewRef(self->latest);
        self->latest = plan;
    }
    OGIVE_UNLOCK();
    if (before != NULL && before->workspace_bytes > (is_flexible(before) ? 0 : LARGEST_IDLE) &&
        PyList_SetSlice(before->idle, 0, PY_SSIZE_T_MAX, NULL) < 0) {
        PyErr_Clear();
    }
    Py_XDECREF(before);
}

/* A new reference to a plan for such inputs, or NULL. */
static OgivePlan *plan_for(OgiveModel *self, PyObject *const *inputs) {
    OgivePlan *found = NULL;
    OGIVE_LOCK(self);
    for (int p = 0; p < REMEMBERED_PLANS && self->plans[p] != NULL && found == NULL; ++p) {
        OgivePlan *plan = self->plans[p];
        if (plan->input_count == PyTuple_GET_SIZE(self->names) && fits(plan, inputs)) {
            found = (OgivePlan *)Py_NewRef(plan);
        }
    }
    OGIVE_UNLOCK();
    return found;
}

/* The result by a plan for such inputs, or NULL: without an error where `out` does not fit it. */
static PyObject *run_planned(OgiveModel *self, OgivePlan *plan, PyObject *const *inputs, PyObject *out) {
    PyObject *single[1] = {out}, *const *outs = NULL;
    if (out != NULL) {
        const int is_tuple = PyTuple_CheckExact(out);
        if ((is_tuple ? PyTuple_GET_SIZE(out) : 1) != plan->result_count) {
            return NULL;
        }
        outs = is_tuple ? ((PyTupleObject *)out)->ob_item : single;
        if (!can_bind(plan, inputs, outs)) {
            return NULL;
        }
    }
    use(self, plan);
    return single_or_tuple(run(plan, inputs, outs));
}

static PyObject *model_vectorcall(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *keywords) {
    OgiveModel *self = (OgiveModel *)object;
    const Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    PyObject *inputs[MOST_SLOTS], *out;
    OgivePlan *plan = sort_arguments(self, args, nargs, keywords, inputs, &out) ? plan_for(self, inputs) : NULL;
    if (plan != NULL) {
        PyObject *result = run_planned(self, plan, inputs, out);
        Py_DECREF(plan);
        if (result != NULL) {
            return result;
        }
        if (PyErr_Occurred() && !PyErr_ExceptionMatches(shapes_changed)) {
            return NULL;
        }
        PyErr_Clear();
    }
    PyObject *tuple = PyTuple_New(nargs), *dict = PyDict_New(), *result = NULL;
    for (Py_ssize_t i = 0; tuple != NULL && i < nargs; ++i) {
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(args[i]));
    }
    int failed = tuple == NULL || dict == NULL;
    for (Py_ssize_t k = 0; !failed && keywords != NULL && k < PyTuple_GET_SIZE(keywords); ++k) {
        failed = PyDict_SetItem(dict, PyTuple_GET_ITEM(keywords, k), args[nargs + k]) < 0;
    }
    if (!failed) {
        result = PyObject_CallMethod(object, "_call", "OO", tuple, dict);
    }
    Py_XDECREF(tuple);
    Py_XDECREF(dict);
    return result;
}

static PyObject *model_publish(PyObject *object, PyObject *given) {
    OgiveModel *self = (OgiveModel *)object;
    if (!PyObject_TypeCheck(given, plan_type)) {
        PyErr_SetString(PyExc_TypeError, "_publish: a Plan is wanted");
        return NULL;
    }
    OgivePlan *old = NULL;
    OGIVE_LOCK(self);
    int is_known = 0;
    for (int p = 0; p < REMEMBERED_PLANS; ++p) {
        is_known |= self->plans[p] == (OgivePlan *)given;
    }
    if (!is_known) {
        old = self->plans[self->next];
        if (self->latest == old) {
            self->latest = NULL;
        }
        self->plans[self->next] = (OgivePlan *)Py_NewRef(given);
        self->next = (self->next + 1) % REMEMBERED_PLANS;
    }
    OGIVE_UNLOCK();
    Py_XDECREF(old);
    Py_RETURN_NONE;
}

static PyObject *model_set_names(PyObject *object, PyObject *names) {
    OgiveModel *self = (OgiveModel *)object;
    if (!PyTuple_Check(names)) {
        PyErr_SetString(PyExc_TypeError, "_set_names: a tuple is wanted");
        return NULL;
    }
    PyObject *interned = PyTuple_New(PyTuple_GET_SIZE(names));
    for (Py_ssize_t i = 0; interned != NULL && i < PyTuple_GET_SIZE(names); ++i) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        if (!PyUnicode_CheckExact(name)) {
            PyErr_SetString(PyExc_TypeError, "_set_names: a name is no text");
            Py_CLEAR(interned);
            break;
        }
        Py_INCREF(name);
        PyUnicode_InternInPlace(&name); /* keywords of calls are interned: names compare by identity */
        PyTuple_SET_ITEM(interned, i, name);
    }
    if (interned == NULL) {
        return NULL;
    }
    Py_XSETREF(self->names, interned);
    Py_RETURN_NONE;
}

static PyObject *model_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    (void)args;
    (void)keywords;
    OgiveModel *self = (OgiveModel *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->vectorcall = model_vectorcall;
        if ((self->names = PyTuple_New(0)) == NULL) {
            Py_CLEAR(self);
        }
    }
    return (PyObject *)self;
}

static int model_traverse(PyObject *object, visitproc visit, void *arg) {
    OgiveModel *self = (OgiveModel *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->names);
    for (int p = 0; p < REMEMBERED_PLANS; ++p) {
        Py_VISIT(self->plans[p]);
    }
    return 0;
}

static int model_clear(PyObject *object) {
    OgiveModel *self = (OgiveModel *)object;
    self->latest = NULL;
    for (int p = 0; p < REMEMBERED_PLANS; ++p) {
        Py_CLEAR(self->plans[p]);
    }
    return 0;
}

static void model_dealloc(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    model_clear(object);
    Py_CLEAR(((OgiveModel *)object)->names);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyMethodDef model_methods[] = {
    {"_publish", model_publish, METH_O, "Offer a plan to the calls to come."},
    {"_set_names", model_set_names, METH_O, "Say what the inputs are called."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef model_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OgiveModel, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot model_slots[] = {
    {Py_tp_doc, "The base of ogive.onnx.Model: calls run the plan for their inputs."},
    {Py_tp_new, model_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_dealloc, model_dealloc},
    {Py_tp_traverse, model_traverse},
    {Py_tp_clear, model_clear},
    {Py_tp_methods, model_methods},
    {Py_tp_members, model_members},
    {0, NULL},
};

static PyType_Spec model_spec = {
    .name = "ogive._native.ModelCall",
    .basicsize = sizeof(OgiveModel),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = model_slots,
};

/* ---- the module ------------------------------------------------------------------------------- */

int ogive_add_plan_types(PyObject *module) {
    shapes_changed = PyErr_NewExceptionWithDoc(
        "ogive._native.ShapesChanged",
        "A function returned another shape than in the run that the plan was made from: another plan is due.", NULL,
        NULL);
    plan_type = (PyTypeObject *)PyType_FromSpec(&plan_spec);
    ogive_model_type = (PyTypeObject *)PyType_FromSpec(&model_spec);
    names_of_out = Py_BuildValue("(s)", "out");
    return names_of_out == NULL || shapes_changed == NULL || plan_type == NULL || ogive_model_type == NULL ||
                   PyModule_AddObjectRef(module, "ShapesChanged", shapes_changed) < 0 ||
                   PyModule_AddType(module, plan_type) < 0 || PyModule_AddType(module, ogive_model_type) < 0
               ? -1
               : 0;
}
