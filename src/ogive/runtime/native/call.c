/* The call path of an operator: `celu(x, alpha=1.5, out=y)` -> the ufunc bound to alpha=1.5 -> NumPy.
 *
 * Parameters are not NumPy's business, so a call with parameters goes to a ufunc that holds them. Which
 * one is remembered per operator by the keywords' names and values; a hit costs about 20 ns, a Python
 * function in its place about 400. Only values that cannot change are remembered. Calls of plain arrays that are
 * alike do not need the ufunc itself, only its loops (direct.c). Whatever is not a plain hit goes to Python
 * (ogive.operator, ogive.row_operator):
 *
 *   _bind(names, values) -> (ufunc, names that are left for NumPy)     an unseen set of keywords
 *   _trace(args, keywords) -> Expression                               symbolic arguments
 *   _call_otherwise(args, keywords) -> result                          another number of tensors, or None for one
 *   _over_axes(args, keywords) -> result                               rows that the loops do not take as they are
 *   _call_with_containers(args, keywords) -> result                    arrays of other libraries, and what to refuse
 *   _explain(error, args, keywords) -> None                            raises what to tell the user
 */
#include "native.h"

#include <numpy/arrayscalars.h>
#include <string.h>
#include <structmember.h>

#define REMEMBERED 4
#define MAX_KEYWORDS 16

/* Where calls with a set of keywords go. */
typedef struct {
    PyObject *ufunc;
    PyObject *rest_names; /* NumPy's keywords, or NULL */
    OgiveDirect *direct; /* the ufunc's loops, if the call may go to them: no keyword of NumPy's but out */
    Py_ssize_t out;       /* which keyword is out, or -1 */
    unsigned int parameters; /* bit i: keyword i is a parameter of the operator */
    char is_partial;         /* whether the ufunc has no loops for types of ml_dtypes, which nothing had imported yet */
} bound_call;

typedef struct {
    PyObject *names;  /* the keywords of the call; NULL in an empty entry */
    PyObject *values; /* a tuple: the value of each parameter, None in the place of NumPy's keywords */
    bound_call bound;
} remembered_call;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    int inputs;
    char is_row_wise;
    int next; /* which entry is overwritten next */
    bound_call without_keywords;
    remembered_call calls[REMEMBERED];
} OgiveOperator;

PyTypeObject *ogive_operator_type;
static PyTypeObject *expression_type; /* set by ogive.operator */

/* ---- types of ml_dtypes -------------------------------------------------------------------------- */

/* Whether ml_dtypes is imported: before, there is no array of its types, and loops for them would import it. */
static int types_are_registered(void) {
    static _Atomic int are;
    if (!atomic_load_explicit(&are, memory_order_relaxed)) {
        atomic_store_explicit(&are, PyDict_GetItemString(PyImport_GetModuleDict(), "ml_dtypes") != NULL, memory_order_relaxed);
    }
    return atomic_load_explicit(&are, memory_order_relaxed);
}

/* ---- what is remembered ------------------------------------------------------------------------ */

/* Whether a value is the same for ever. An array of no dimensions, a tensor or an object with __float__ may have
 * another value at the next call, though it is the same object. */
static int is_immutable(PyObject *value) {
    return PyFloat_CheckExact(value) || PyLong_CheckExact(value) || PyUnicode_CheckExact(value) || PyBool_Check(value) ||
           value == Py_None || Py_IS_TYPE(value, &PyFloatArrType_Type) || Py_IS_TYPE(value, &PyDoubleArrType_Type);
}

/* Whether a value is surely the same as a remembered one. */
static int same_value(PyObject *known, PyObject *value) {
    if (known == value) {
        return 1;
    }
    if (Py_TYPE(known) != Py_TYPE(value)) {
        return 0;
    }
    /* Bytes, not ==: 0.0 and -0.0 are different parameters. */
    if (PyFloat_CheckExact(value) || Py_IS_TYPE(value, &PyDoubleArrType_Type)) {
        const double x = PyFloat_AS_DOUBLE(known), y = PyFloat_AS_DOUBLE(value);
        return memcmp(&x, &y, sizeof x) == 0;
    }
    if (Py_IS_TYPE(value, &PyFloatArrType_Type)) {
        const float x = PyArrayScalar_VAL(known, Float), y = PyArrayScalar_VAL(value, Float);
        return memcmp(&x, &y, sizeof x) == 0;
    }
    return 0;
}

/* The remembered call like this one, or NULL. With the operator's lock. */
static const bound_call *recall(const OgiveOperator *self, PyObject *names, PyObject *const *values) {
    const Py_ssize_t count = PyTuple_GET_SIZE(names);
    for (int i = 0; i < REMEMBERED; ++i) {
        const remembered_call *call = &self->calls[i];
        if (call->names == NULL || PyTuple_GET_SIZE(call->names) != count) {
            continue;
        }
        Py_ssize_t k = 0;
        while (k < count && PyTuple_GET_ITEM(call->names, k) == PyTuple_GET_ITEM(names, k) &&
               (!(call->bound.parameters >> k & 1) || same_value(PyTuple_GET_ITEM(call->values, k), values[k]))) {
            ++k;
        }
        if (k == count) {
            return &call->bound;
        }
    }
    return NULL;
}

static bound_call new_references(const bound_call *bound) {
    Py_XINCREF(bound->ufunc);
    Py_XINCREF(bound->rest_names);
    return *bound;
}

static void release(bound_call *bound) {
    bound->direct = NULL;
    Py_CLEAR(bound->ufunc);
    Py_CLEAR(bound->rest_names);
}

static void forget(remembered_call *call) {
    Py_CLEAR(call->names);
    Py_CLEAR(call->values);
    release(&call->bound);
}

/* Forgets the calls that go to ufuncs without all loops. */
static void forget_partial(OgiveOperator *self) {
    bound_call old = {.out = -1};
    remembered_call others[REMEMBERED] = {{NULL}};
    OGIVE_LOCK(self);
    if (self->without_keywords.is_partial) {
        old = self->without_keywords;
        self->without_keywords = (bound_call){.out = -1};
    }
    for (int i = 0; i < REMEMBERED; ++i) {
        if (self->calls[i].bound.is_partial) {
            others[i] = self->calls[i];
            self->calls[i] = (remembered_call){NULL};
        }
    }
    OGIVE_UNLOCK();
    release(&old);
    for (int i = 0; i < REMEMBERED; ++i) {
        forget(&others[i]);
    }
}

/* Remembers a call if the values of its parameters cannot change; 0, or -1 with an error set. Dropping an older entry
 * may run Python code, which may call the operator again: that comes last, without the lock. */
static int remember(OgiveOperator *self, PyObject *names, PyObject *const *values, const bound_call *bound) {
    const Py_ssize_t count = PyTuple_GET_SIZE(names);
    for (Py_ssize_t k = 0; k < count; ++k) {
        if ((bound->parameters >> k & 1) && !is_immutable(values[k])) {
            return 0;
        }
    }
    PyObject *kept = PyTuple_New(count);
    if (kept == NULL) {
        return -1;
    }
    for (Py_ssize_t k = 0; k < count; ++k) { /* an array must not be kept alive by having been an argument */
        PyTuple_SET_ITEM(kept, k, Py_NewRef(bound->parameters >> k & 1 ? values[k] : Py_None));
    }
    remembered_call old;
    OGIVE_LOCK(self);
    remembered_call *place = &self->calls[self->next];
    self->next = (self->next + 1) % REMEMBERED;
    old = *place;
    *place = (remembered_call){Py_NewRef(names), kept, new_references(bound)};
    OGIVE_UNLOCK();
    forget(&old);
    return 0;
}

/* Asks Python where a call goes; the answer holds references of its own. 0, or -1 with an error set. */
static int bind(OgiveOperator *self, PyObject *names, PyObject *const *values, bound_call *bound) {
    const Py_ssize_t count = PyTuple_GET_SIZE(names);
    PyObject *value_tuple = PyTuple_New(count);
    if (value_tuple == NULL) {
        return -1;
    }
    for (Py_ssize_t k = 0; k < count; ++k) {
        PyTuple_SET_ITEM(value_tuple, k, Py_NewRef(values[k]));
    }
    const int has_types = types_are_registered();
    PyObject *answer = PyObject_CallMethod((PyObject *)self, "_bind", "OO", names, value_tuple);
    Py_DECREF(value_tuple);
    PyObject *ufunc, *rest;
    if (answer == NULL || !PyArg_ParseTuple(answer, "O!O!:_bind", &PyUFunc_Type, &ufunc, &PyTuple_Type, &rest)) {
        Py_XDECREF(answer);
        return -1;
    }
    *bound = (bound_call){.out = -1, .is_partial = !has_types};
    for (Py_ssize_t k = 0; k < count; ++k) {
        PyObject *name = PyTuple_GET_ITEM(names, k);
        int left = PySequence_Contains(rest, name);
        if (left < 0) {
            Py_DECREF(answer);
            return -1;
        }
        if (!left) {
            bound->parameters |= 1u << k;
        } else if (PyUnicode_CompareWithASCIIString(name, "out") == 0) {
            bound->out = k;
        }
    }
    if (PyTuple_GET_SIZE(rest) == (bound->out >= 0)) {
        bound->direct = ogive_direct_loops(ufunc);
    }
    bound->ufunc = Py_NewRef(ufunc);
    bound->rest_names = PyTuple_GET_SIZE(rest) > 0 ? Py_NewRef(rest) : NULL;
    Py_DECREF(answer);
    if (remember(self, names, values, bound) < 0) {
        release(bound);
        return -1;
    }
    return 0;
}

/* Where this call goes, with references of its own: what is remembered may be overwritten while arguments run Python
 * code. 0, or -1 with an error set. */
static int find(OgiveOperator *self, PyObject *names, PyObject *const *values, bound_call *bound) {
    const int has_keywords = names != NULL && PyTuple_GET_SIZE(names) > 0;
    int is_known;
    OGIVE_LOCK(self);
    const bound_call *known = has_keywords ? recall(self, names, values) : &self->without_keywords;
    is_known = known != NULL && known->ufunc != NULL;
    if (is_known) {
        *bound = new_references(known);
    }
    OGIVE_UNLOCK();
    if (is_known) {
        return 0;
    }
    if (has_keywords) {
        return bind(self, names, values, bound);
    }
    PyObject *none = PyTuple_New(0);
    const int failed = none == NULL || bind(self, none, values, bound) < 0;
    Py_XDECREF(none);
    if (failed) {
        return -1;
    }
    bound_call old;
    OGIVE_LOCK(self);
    old = self->without_keywords;
    self->without_keywords = new_references(bound);
    OGIVE_UNLOCK();
    release(&old);
    return 0;
}

/* The same, where loops for all types that there are by now. */
static int find_complete(OgiveOperator *self, PyObject *names, PyObject *const *values, bound_call *bound) {
    if (find(self, names, values, bound) < 0) {
        return -1;
    }
    if (!bound->is_partial || !types_are_registered()) {
        return 0;
    }
    release(bound);
    forget_partial(self);
    return find(self, names, values, bound);
}

/* ---- the way to Python ------------------------------------------------------------------------- */

PyObject *ogive_keywords_dict(PyObject *names, PyObject *const *values) {
    PyObject *dict = PyDict_New();
    for (Py_ssize_t k = 0; dict != NULL && names != NULL && k < PyTuple_GET_SIZE(names); ++k) {
        if (PyDict_SetItem(dict, PyTuple_GET_ITEM(names, k), values[k]) < 0) {
            Py_CLEAR(dict);
        }
    }
    return dict;
}

PyObject *ogive_argument_tuple(PyObject *const *args, Py_ssize_t count) {
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; tuple != NULL && i < count; ++i) {
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(args[i]));
    }
    return tuple;
}

/* Calls a Python method of the operator with (args, keywords), after `first` if there is one. */
static PyObject *call_python(OgiveOperator *self, const char *method, PyObject *first, PyObject *const *args,
                             Py_ssize_t nargs, PyObject *names) {
    PyObject *result = NULL;
    PyObject *arguments = ogive_argument_tuple(args, nargs), *keywords = ogive_keywords_dict(names, args + nargs);
    if (arguments != NULL && keywords != NULL) {
        result = first == NULL
                     ? PyObject_CallMethod((PyObject *)self, method, "OO", arguments, keywords)
                     : PyObject_CallMethod((PyObject *)self, method, "OOO", first, arguments, keywords);
    }
    Py_XDECREF(arguments);
    Py_XDECREF(keywords);
    return result;
}

/* Lets Python word the error that is set; sets that one instead. */
static PyObject *explain(OgiveOperator *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    if (error != NULL && traceback != NULL) {
        PyException_SetTraceback(error, traceback);
    }
    PyObject *nothing = error == NULL ? NULL : call_python(self, "_explain", error, args, nargs, names);
    if (nothing != NULL) { /* nothing to add: the error as it was */
        Py_DECREF(nothing);
        PyErr_Restore(type, error, traceback);
    } else {
        Py_XDECREF(type);
        Py_XDECREF(error);
        Py_XDECREF(traceback);
    }
    return NULL;
}

/* ---- the call ---------------------------------------------------------------------------------- */

/* The ufunc gets the tensors, and those keywords that are NumPy's. */
static PyObject *call_ufunc(const bound_call *bound, PyObject *const *args, Py_ssize_t nargs, Py_ssize_t keyword_count) {
    if (bound->rest_names == NULL) {
        return PyObject_Vectorcall(bound->ufunc, args, (size_t)nargs, NULL);
    }
    PyObject *stack[NPY_MAXARGS + MAX_KEYWORDS];
    memcpy(stack, args, sizeof *stack * (size_t)nargs);
    Py_ssize_t at = nargs;
    for (Py_ssize_t k = 0; k < keyword_count; ++k) {
        if (!(bound->parameters >> k & 1)) {
            stack[at++] = args[nargs + k];
        }
    }
    return PyObject_Vectorcall(bound->ufunc, stack, (size_t)nargs, bound->rest_names);
}

/* Whether a value may be an array of another library that NumPy's ufuncs would turn into a NumPy array: a torch
 * tensor, for example. Objects with __array_ufunc__ get the call from NumPy. A tuple may be `out`. */
static int may_be_container(PyObject *value) {
    if (PyArray_Check(value)) { /* text as `out`: numbers would be cut off at its length */
        return PyTypeNum_ISFLEXIBLE(PyArray_TYPE((PyArrayObject *)value)) ||
               PyArray_TYPE((PyArrayObject *)value) == NPY_VSTRING;
    }
    if (PyFloat_Check(value) || PyLong_Check(value) || PyList_Check(value) ||
        PyUnicode_Check(value) || PyType_Check(value) || value == Py_None || PyArray_DescrCheck(value) ||
        PyArray_IsScalar(value, Generic)) {
        return 0;
    }
    if (PyTuple_Check(value)) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i) {
            if (!PyTuple_Check(PyTuple_GET_ITEM(value, i)) && may_be_container(PyTuple_GET_ITEM(value, i))) {
                return 1;
            }
        }
        return 0;
    }
    return !PyObject_HasAttrString((PyObject *)Py_TYPE(value), "__array_ufunc__");
}

/* Whether this is an array of a type that another package registered with NumPy (bfloat16), or a tuple of `out` with one. */
static int is_registered(PyObject *value) {
    if (PyTuple_Check(value)) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i) {
            if (PyArray_Check(PyTuple_GET_ITEM(value, i)) && is_registered(PyTuple_GET_ITEM(value, i))) {
                return 1;
            }
        }
        return 0;
    }
    return PyArray_Check(value) && PyTypeNum_ISUSERDEF(PyArray_TYPE((PyArrayObject *)value));
}

/* Whether NumPy may round this operand twice on its way to such a type, which it takes by way of float32. */
static int may_round_twice(PyObject *value) {
    if (PyFloat_CheckExact(value)) {
        const double x = PyFloat_AS_DOUBLE(value);
        return x == x && (double)(float)x != x;
    }
    if (PyLong_CheckExact(value)) {
        int overflow;
        const long long x = PyLong_AsLongLongAndOverflow(value, &overflow);
        return overflow || x > 1 << 24 || x < -(1 << 24);
    }
    return !is_registered(value);
}

/* Whether Python has to look at a call: one of the tensors, or a value of NumPy's keywords, may be such an array, or
 * `where` is an array, or None, which NumPy reads as False; or `out` holds text; or an operand, or the result, could be rounded
 * twice. */
static int is_for_python(const bound_call *bound, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
    const Py_ssize_t keyword_count = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    int has_registered = 0, rounds = 0, names_types = 0;
    for (Py_ssize_t i = 0; i < nargs + keyword_count; ++i) {
        if (i >= nargs && (bound->parameters >> (i - nargs) & 1)) {
            continue;
        }
        has_registered |= is_registered(args[i]);
        rounds |= i < nargs ? may_round_twice(args[i]) : 0;
        names_types |= i >= nargs && (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i - nargs), "dtype") == 0 ||
                                      PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i - nargs), "signature") == 0);
        if (may_be_container(args[i]) ||
            (i >= nargs && args[i] != Py_True && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i - nargs), "where") == 0)) {
            return 1;
        }
    }
    return rounds && (has_registered || names_types);
}

OgiveDirect *ogive_find_direct(PyObject *operator, PyObject *names, PyObject *const *values, PyObject **owner) {
    bound_call bound;
    *owner = NULL;
    if (!PyObject_TypeCheck(operator, ogive_operator_type) ||
        (names != NULL && PyTuple_GET_SIZE(names) > MAX_KEYWORDS) ||
        find_complete((OgiveOperator *)operator, names, values, &bound) < 0) {
        return NULL;
    }
    Py_XDECREF(bound.rest_names);
    if (bound.direct == NULL || bound.out >= 0) {
        Py_DECREF(bound.ufunc);
        return NULL;
    }
    *owner = bound.ufunc;
    return bound.direct;
}

static PyObject *operator_vectorcall(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *names) {
    OgiveOperator *self = (OgiveOperator *)object;
    const Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    const Py_ssize_t keyword_count = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    int is_complete = nargs == self->inputs && keyword_count <= MAX_KEYWORDS;
    for (Py_ssize_t i = 0; i < nargs; ++i) {
        if (Py_TYPE(args[i]) == expression_type) {
            return call_python(self, "_trace", NULL, args, nargs, names);
        }
        is_complete &= args[i] != Py_None;
    }
    if (!is_complete) {
        return call_python(self, "_call_otherwise", NULL, args, nargs, names);
    }
    bound_call bound;
    if (find(self, names, args + nargs, &bound) < 0) {
        return explain(self, args, nargs, names);
    }
    PyObject *result = NULL;
    if (bound.direct != NULL) {
        result = ogive_call_directly(bound.direct, args, bound.out < 0 ? NULL : args[nargs + bound.out]);
    }
    if (result == NULL && bound.is_partial && !PyErr_Occurred() && types_are_registered()) { /* an operand may be of these types */
        release(&bound);
        if (find_complete(self, names, args + nargs, &bound) < 0) {
            return explain(self, args, nargs, names);
        }
        if (bound.direct != NULL) {
            result = ogive_call_directly(bound.direct, args, bound.out < 0 ? NULL : args[nargs + bound.out]);
        }
    }
    const int has_failed = result == NULL && PyErr_Occurred() != NULL; /* in a callback of the loops, as by Ctrl-C */
    if (result == NULL && !has_failed && !self->is_row_wise) {
        result = is_for_python(&bound, args, nargs, names)
                     ? call_python(self, "_call_with_containers", NULL, args, nargs, names)
                     : call_ufunc(&bound, args, nargs, keyword_count);
    }
    Py_DECREF(bound.ufunc);
    Py_XDECREF(bound.rest_names);
    if (result == NULL && !has_failed && self->is_row_wise) { /* not one for the loops: Python knows the axes */
        result = call_python(self, "_over_axes", NULL, args, nargs, names);
    }
    if (result != NULL && PyErr_Occurred()) { /* a kernel could not be compiled inside NumPy's loop */
        Py_CLEAR(result);
    }
    return result != NULL ? result : explain(self, args, nargs, names);
}

static PyObject *operator_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    (void)args;
    (void)keywords;
    OgiveOperator *self = (OgiveOperator *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->vectorcall = operator_vectorcall;
        self->inputs = 1;
    }
    return (PyObject *)self;
}

static int operator_traverse(PyObject *object, visitproc visit, void *arg) {
    OgiveOperator *self = (OgiveOperator *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->without_keywords.ufunc);
    Py_VISIT(self->without_keywords.rest_names);
    for (int i = 0; i < REMEMBERED; ++i) {
        Py_VISIT(self->calls[i].names);
        Py_VISIT(self->calls[i].values);
        Py_VISIT(self->calls[i].bound.ufunc);
        Py_VISIT(self->calls[i].bound.rest_names);
    }
    return 0;
}

static int operator_clear(PyObject *object) {
    OgiveOperator *self = (OgiveOperator *)object;
    bound_call without_keywords;
    remembered_call calls[REMEMBERED];
    OGIVE_LOCK(self);
    without_keywords = self->without_keywords;
    memcpy(calls, self->calls, sizeof calls);
    self->without_keywords = (bound_call){.out = -1};
    memset(self->calls, 0, sizeof self->calls);
    OGIVE_UNLOCK();
    release(&without_keywords);
    for (int i = 0; i < REMEMBERED; ++i) {
        forget(&calls[i]);
    }
    return 0;
}

static void operator_dealloc(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    operator_clear(object);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyObject *operator_forget(PyObject *object, PyObject *unused) {
    (void)unused;
    operator_clear(object);
    Py_RETURN_NONE;
}

static PyObject *get_inputs(PyObject *object, void *unused) {
    (void)unused;
    return PyLong_FromLong(((OgiveOperator *)object)->inputs);
}

static int set_inputs(PyObject *object, PyObject *value, void *unused) {
    (void)unused;
    long inputs = value == NULL ? -1 : PyLong_AsLong(value);
    if (inputs < 1 || inputs >= NPY_MAXARGS) {
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_ValueError, "an operator has 1 to %d inputs", NPY_MAXARGS - 1);
        }
        return -1;
    }
    ((OgiveOperator *)object)->inputs = (int)inputs;
    return 0;
}

static PyMethodDef operator_methods[] = {
    {"_forget", operator_forget, METH_NOARGS, "Drop every remembered ufunc."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef operator_getset[] = {
    {"inputs", get_inputs, set_inputs, "How many tensors the operator takes.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef operator_members[] = {
    {"is_row_wise", T_BOOL, offsetof(OgiveOperator, is_row_wise), 0, "Whether the formula looks at whole rows."},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OgiveOperator, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot operator_slots[] = {
    {Py_tp_doc, "The base of ogive.Operator: calls go to the ufunc bound to their parameters."},
    {Py_tp_new, operator_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_dealloc, operator_dealloc},
    {Py_tp_traverse, operator_traverse},
    {Py_tp_clear, operator_clear},
    {Py_tp_methods, operator_methods},
    {Py_tp_members, operator_members},
    {Py_tp_getset, operator_getset},
    {0, NULL},
};

static PyType_Spec operator_spec = {
    .name = "ogive._native.OperatorCall",
    .basicsize = sizeof(OgiveOperator),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = operator_slots,
};

PyObject *ogive_set_expression_type(PyObject *module, PyObject *type) {
    (void)module;
    if (!PyType_Check(type)) {
        PyErr_SetString(PyExc_TypeError, "set_expression_type: a class is wanted");
        return NULL;
    }
    Py_XSETREF(expression_type, (PyTypeObject *)Py_NewRef(type));
    Py_RETURN_NONE;
}

/* Python 3.11 does not pass the vectorcall flag on to classes written in Python; 3.12 does, unless they have `__call__`.
 * TensorCall hands over to it what it does not take. */
PyObject *ogive_inherit_vectorcall(PyObject *module, PyObject *type) {
    (void)module;
    if (!PyType_Check(type) ||
        !(PyType_IsSubtype((PyTypeObject *)type, ogive_tensor_call_type) ||
          ((PyType_IsSubtype((PyTypeObject *)type, ogive_operator_type) ||
            PyType_IsSubtype((PyTypeObject *)type, ogive_model_type)) &&
           ((PyTypeObject *)type)->tp_call == PyVectorcall_Call))) {
        PyErr_SetString(PyExc_TypeError, "inherit_vectorcall: a subclass of OperatorCall or ModelCall without __call__, "
                                         "or of TensorCall, is wanted");
        return NULL;
    }
    ((PyTypeObject *)type)->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
    PyType_Modified((PyTypeObject *)type);
    return Py_NewRef(type);
}

int ogive_add_operator_type(PyObject *module) {
    ogive_operator_type = (PyTypeObject *)PyType_FromSpec(&operator_spec);
    return ogive_operator_type == NULL ? -1 : PyModule_AddType(module, ogive_operator_type);
}
