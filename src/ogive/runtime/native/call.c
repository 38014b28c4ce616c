/* The call path of an operator: `celu(x, alpha=1.5, out=y)` -> the ufunc bound to alpha=1.5 -> NumPy.
 *
 * Parameters are not NumPy's business, so a call with parameters goes to a ufunc that holds them. Which
 * one is remembered per operator by the keywords' names and values; a hit costs about 20 ns, a Python
 * function in its place about 400. Calls of plain arrays that are alike do not need the ufunc itself, only its
 * loops (direct.c). Whatever is not a plain hit goes to Python (ogive.operator, ogive.row_operator):
 *
 *   _bind(names, values) -> (ufunc, names that are left for NumPy)     an unseen set of keywords
 *   _trace(args, keywords) -> Expression                               symbolic arguments
 *   _call_otherwise(args, keywords) -> result                          another number of tensors, or None for one
 *   _over_axes(args, keywords) -> result                               rows that the loops do not take as they are
 *   _explain(error, args, keywords) -> None                            raises what to tell the user
 */
#include "native.h"

#include <string.h>
#include <structmember.h>

#define REMEMBERED 4
#define MAX_KEYWORDS 16

typedef struct {
    PyObject *names;      /* the keywords of the call; NULL in an empty entry */
    PyObject *values;     /* a tuple: the value of each parameter, None in the place of NumPy's keywords */
    PyObject *ufunc;
    PyObject *rest_names; /* NumPy's keywords, or NULL */
    OgiveDirect *direct; /* the ufunc's loops, if the call may go to them: no keyword of NumPy's but out */
    Py_ssize_t out;       /* which keyword is out, or -1 */
    unsigned int parameters; /* bit i: keyword i is a parameter of the operator */
} remembered_call;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    int inputs;
    char is_row_wise;
    int next; /* which entry is overwritten next */
    PyObject *default_ufunc;
    OgiveDirect *default_direct;
    remembered_call calls[REMEMBERED];
} OgiveOperator;

PyTypeObject *ogive_operator_type;
static PyTypeObject *expression_type; /* set by ogive.expression */

static int same_value(PyObject *a, PyObject *b) {
    if (a == b) {
        return 1;
    }
    if (PyFloat_CheckExact(a) && PyFloat_CheckExact(b)) {
        double x = PyFloat_AS_DOUBLE(a), y = PyFloat_AS_DOUBLE(b);
        return memcmp(&x, &y, sizeof x) == 0; /* not ==: 0.0 and -0.0 are different parameters */
    }
    return 0;
}

static const remembered_call *recall(const OgiveOperator *self, PyObject *names, PyObject *const *values) {
    const Py_ssize_t count = PyTuple_GET_SIZE(names);
    for (int i = 0; i < REMEMBERED; ++i) {
        const remembered_call *call = &self->calls[i];
        if (call->names == NULL || PyTuple_GET_SIZE(call->names) != count) {
            continue;
        }
        Py_ssize_t k = 0;
        while (k < count && PyTuple_GET_ITEM(call->names, k) == PyTuple_GET_ITEM(names, k) &&
               (!(call->parameters >> k & 1) || same_value(PyTuple_GET_ITEM(call->values, k), values[k]))) {
            ++k;
        }
        if (k == count) {
            return call;
        }
    }
    return NULL;
}

static void forget(remembered_call *call) {
    Py_CLEAR(call->names);
    Py_CLEAR(call->values);
    Py_CLEAR(call->ufunc);
    Py_CLEAR(call->rest_names);
}

/* Asks Python for the ufunc and remembers the answer. */
static const remembered_call *bind(OgiveOperator *self, PyObject *names, PyObject *const *values) {
    const Py_ssize_t count = PyTuple_GET_SIZE(names);
    PyObject *value_tuple = PyTuple_New(count);
    if (value_tuple == NULL) {
        return NULL;
    }
    for (Py_ssize_t k = 0; k < count; ++k) {
        PyTuple_SET_ITEM(value_tuple, k, Py_NewRef(values[k]));
    }
    PyObject *answer = PyObject_CallMethod((PyObject *)self, "_bind", "OO", names, value_tuple);
    PyObject *ufunc, *rest;
    if (answer == NULL || !PyArg_ParseTuple(answer, "O!O!:_bind", &PyUFunc_Type, &ufunc, &PyTuple_Type, &rest)) {
        Py_XDECREF(answer);
        Py_DECREF(value_tuple);
        return NULL;
    }
    remembered_call fresh = {Py_NewRef(names), value_tuple, Py_NewRef(ufunc), NULL, NULL, -1, 0};
    for (Py_ssize_t k = 0; k < count; ++k) {
        int left = PySequence_Contains(rest, PyTuple_GET_ITEM(names, k));
        if (left < 0) {
            forget(&fresh);
            Py_DECREF(answer);
            return NULL;
        }
        if (!left) {
            fresh.parameters |= 1u << k;
        } else { /* an array must not be kept alive by having been an argument */
            PyObject *old = PyTuple_GET_ITEM(value_tuple, k);
            PyTuple_SET_ITEM(value_tuple, k, Py_NewRef(Py_None));
            Py_DECREF(old);
            if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, k), "out") == 0) {
                fresh.out = k;
            }
        }
    }
    if (PyTuple_GET_SIZE(rest) == (fresh.out >= 0)) {
        fresh.direct = ogive_direct_loops(ufunc);
    }
    if (PyTuple_GET_SIZE(rest) > 0) {
        fresh.rest_names = Py_NewRef(rest);
    }
    Py_DECREF(answer);
    remembered_call *place = &self->calls[self->next];
    self->next = (self->next + 1) % REMEMBERED;
    remembered_call old = *place;
    *place = fresh;
    forget(&old);
    return place;
}

static PyObject *keywords_dict(PyObject *names, PyObject *const *values) {
    PyObject *dict = PyDict_New();
    for (Py_ssize_t k = 0; dict != NULL && names != NULL && k < PyTuple_GET_SIZE(names); ++k) {
        if (PyDict_SetItem(dict, PyTuple_GET_ITEM(names, k), values[k]) < 0) {
            Py_CLEAR(dict);
        }
    }
    return dict;
}

static PyObject *argument_tuple(PyObject *const *args, Py_ssize_t count) {
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
    PyObject *arguments = argument_tuple(args, nargs), *keywords = keywords_dict(names, args + nargs);
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

/* Whether a Python number stands beside an array of bfloat16. NumPy lets Python's numbers take the type of arrays,
 * but not of arrays whose type it does not bring itself. */
static int has_number_beside_bfloat16(PyObject *const *args, Py_ssize_t nargs) {
    int numbers = 0, arrays = 0;
    for (Py_ssize_t i = 0; i < nargs; ++i) {
        numbers |= PyFloat_CheckExact(args[i]) || PyLong_CheckExact(args[i]);
        if (PyArray_Check(args[i])) {
            const PyArray_Descr *descr = PyArray_DESCR((PyArrayObject *)args[i]);
            arrays |= descr->type_num >= NPY_USERDEF && strstr(descr->typeobj->tp_name, "bfloat16") != NULL;
        }
    }
    return numbers && arrays;
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
    if (nargs > 1 && has_number_beside_bfloat16(args, nargs)) {
        return call_python(self, "_call_with_numbers", NULL, args, nargs, names);
    }
    PyObject *result = NULL;
    if (keyword_count == 0 && self->default_ufunc != NULL) {
        if (self->default_direct != NULL) {
            PyObject *ufunc = Py_NewRef(self->default_ufunc);
            result = ogive_call_directly(self->default_direct, args, NULL);
            Py_DECREF(ufunc);
        }
        if (result == NULL && !self->is_row_wise) {
            result = PyObject_Vectorcall(self->default_ufunc, args, (size_t)nargs, NULL);
        }
    } else {
        PyObject *known = names == NULL ? PyTuple_New(0) : Py_NewRef(names);
        if (known == NULL) {
            return NULL;
        }
        const remembered_call *call = recall(self, known, args + nargs);
        if (call == NULL && (call = bind(self, known, args + nargs)) == NULL) {
            Py_DECREF(known);
            return explain(self, args, nargs, names);
        }
        if (keyword_count == 0) {
            Py_XSETREF(self->default_ufunc, Py_NewRef(call->ufunc));
            self->default_direct = call->direct;
        }
        if (call->direct != NULL) {
            PyObject *ufunc = Py_NewRef(call->ufunc); /* the loops live as long */
            result = ogive_call_directly(call->direct, args, call->out < 0 ? NULL : args[nargs + call->out]);
            Py_DECREF(ufunc);
        }
        if (result == NULL && !self->is_row_wise) {
            /* Entries may be overwritten while NumPy runs Python code of the arguments. */
            PyObject *ufunc = Py_NewRef(call->ufunc), *rest_names = Py_XNewRef(call->rest_names);
            PyObject *stack[NPY_MAXARGS + MAX_KEYWORDS];
            Py_ssize_t at = 0;
            for (Py_ssize_t i = 0; i < nargs; ++i) {
                stack[at++] = args[i];
            }
            for (Py_ssize_t k = 0; k < keyword_count; ++k) {
                if (!(call->parameters >> k & 1)) {
                    stack[at++] = args[nargs + k];
                }
            }
            result = PyObject_Vectorcall(ufunc, stack, (size_t)nargs, rest_names);
            Py_DECREF(ufunc);
            Py_XDECREF(rest_names);
        }
        Py_DECREF(known);
    }
    if (result == NULL && self->is_row_wise) { /* not one for the loops, and no error: Python knows the axes */
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
    Py_VISIT(self->default_ufunc);
    for (int i = 0; i < REMEMBERED; ++i) {
        Py_VISIT(self->calls[i].names);
        Py_VISIT(self->calls[i].values);
        Py_VISIT(self->calls[i].ufunc);
        Py_VISIT(self->calls[i].rest_names);
    }
    return 0;
}

static int operator_clear(PyObject *object) {
    OgiveOperator *self = (OgiveOperator *)object;
    self->default_direct = NULL;
    Py_CLEAR(self->default_ufunc);
    for (int i = 0; i < REMEMBERED; ++i) {
        forget(&self->calls[i]);
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

/* Python 3.11 does not pass the vectorcall flag on to classes written in Python; 3.12 does. */
PyObject *ogive_inherit_vectorcall(PyObject *module, PyObject *type) {
    (void)module;
    if (!PyType_Check(type) || !PyType_IsSubtype((PyTypeObject *)type, ogive_operator_type) ||
        ((PyTypeObject *)type)->tp_call != PyVectorcall_Call) {
        PyErr_SetString(PyExc_TypeError, "inherit_vectorcall: a subclass of OperatorCall without __call__ is wanted");
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
