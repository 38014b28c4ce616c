import copy
import gc
import inspect
import pickle
import re
import tracemalloc
import weakref
from typing import Literal

import ml_dtypes
import numpy as np
import pytest

import ogive
from ogive import _native
from ogive import formula as f
from ogive.catalog import OPERATORS
from ogive.common.dtypes import NUMBERS
from ogive.engine import computation
from ogive.errors import (
    ArgumentError,
    CompileError,
    DTypeError,
    FormulaError,
    OgiveError,
    OutputError,
    ParameterError,
    ShapeError,
)
from ogive.graph.expression import Expression, Format, node
from ogive.operators.signature import NONZERO
from tests.cpu.test_layout import required
from tests.inputs import assert_same_bits, special_values

X = np.linspace(-4, 4, 101, dtype=np.float32)


@ogive.operator
def module_level(x, *, gain=2.0):
    """Nothing special."""
    return f.exp(x) * gain


# ---- calls


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda: ogive.celu(X, 1.5),
            ArgumentError,
            r"celu: 2 arguments were given by position; allowed: 1 tensor \(x\)\. Give all else by name: alpha=, out=",
        ),
        (lambda: ogive.celu(), ArgumentError, "celu: no arguments were given by position"),
        (
            lambda: ogive.prelu(X),
            ArgumentError,
            r"prelu: 1 argument was given by position; allowed: 2 tensors \(x, slope\)",
        ),
        (
            lambda: ogive.celu(X, aplha=1.5),
            ArgumentError,
            "celu: there is no parameter 'aplha'; allowed: alpha, out, where",
        ),
        (
            lambda: ogive.relu(X, alpha=1),
            ArgumentError,
            "relu: there is no parameter 'alpha'; allowed: no parameters; out, ",
        ),
        (lambda: ogive.celu(X, alpha=0), ParameterError, "celu: alpha is 0.0; allowed: any finite number but 0"),
        (lambda: ogive.celu(X, alpha=-0.0), ParameterError, "celu: alpha is -0.0; allowed: any finite number but 0"),
        (lambda: ogive.celu(X, alpha=np.nan), ParameterError, "celu: alpha is nan; allowed: any finite number but 0"),
        (lambda: ogive.celu(X, alpha=np.inf), ParameterError, "celu: alpha is inf; allowed: any finite number but 0"),
        (lambda: ogive.shrink(X, bias=-np.inf), ParameterError, "shrink: bias is -inf; allowed: any finite number"),
        (
            lambda: ogive.celu(X, alpha="1.5x"),
            ParameterError,
            "celu: alpha is '1.5x'; allowed: any finite number but 0",
        ),
        (
            lambda: ogive.celu(X, alpha="1.5"),
            ParameterError,
            r"celu: alpha is '1.5'; allowed: any finite number but 0\. Write the number itself: alpha=1\.5$",
        ),
        (
            lambda: ogive.celu(X, alpha=True),
            ParameterError,
            r"celu: alpha is True; allowed: any finite number but 0\. Write the number itself: alpha=1\.0$",
        ),
        (lambda: ogive.celu(X, alpha=np.True_), ParameterError, "celu: alpha is np.True_; allowed: any finite"),
        (lambda: ogive.celu(X, alpha=np.array("1.5")), ParameterError, r"celu: alpha is array\('1.5', .*; allowed"),
        (
            lambda: ogive.celu(X, alpha=np.complex64(1)),
            ParameterError,
            r"celu: alpha is np.complex64\(1\+0j\); allowed",
        ),
        (lambda: ogive.celu(X, alpha=1j), ParameterError, "celu: alpha is 1j; allowed: any finite number but 0$"),
        (lambda: ogive.celu(X, alpha=b"2"), ParameterError, "celu: alpha is b'2'; allowed: any finite number but 0"),
        (lambda: ogive.celu(X, alpha="9" * 5000), ParameterError, r"celu: alpha is '9+\.\.\.9+'; allowed"),
        (lambda: ogive.celu(X, alpha=None), ParameterError, "celu: alpha is None; allowed: any finite number but 0$"),
        (lambda: ogive.celu(X, alpha=[1.5]), ParameterError, "celu: alpha is a list; allowed: any finite number"),
        (
            lambda: ogive.celu(X, alpha=10**400),
            ParameterError,
            "celu: alpha is a whole number of about 401 digits; allowed: any finite number but 0$",
        ),
        (lambda: ogive.celu(X, alpha=-(10**5000)), ParameterError, "a whole number of about 5001 digits"),
        (lambda: ogive.gelu(X, approximate=10**5000), ParameterError, "gelu: approximate is a whole number of about"),
        (
            lambda: ogive.celu(X, alpha=1e-46),
            ParameterError,
            r"celu: alpha is 1e-46; allowed: 0 and magnitudes from 2\*\*-149 to 3.4e38",
        ),
        (lambda: ogive.celu(X, alpha=1e39), ParameterError, "celu: alpha is 1e\\+39; allowed: 0 and magnitudes"),
        (
            lambda: ogive.celu(X, alpha=np.ones(2)),
            ParameterError,
            (
                r"celu: alpha is an array of shape \(2,\); allowed: any finite number but 0, one for all elements\. "
                r"Pass a single one, such as alpha=float\(\.\.\.\)"
            ),
        ),
        (lambda: ogive.celu(X, alpha=np.ones(1)), ParameterError, r"celu: alpha is an array of shape \(1,\); allowed"),
        (
            lambda: ogive.celu(X.astype(complex)),
            DTypeError,
            r"celu: x has dtype complex128; allowed: float16, float32, float64, bfloat16\. Convert it first: x.astype",
        ),
        (
            lambda: ogive.isnan([1.0], dtype=ml_dtypes.bfloat16),
            DTypeError,
            r"isnan: dtype is bfloat16; allowed: bool",
        ),
        (
            lambda: ogive.celu(np.float64([1.0]), dtype=ml_dtypes.bfloat16, casting="safe"),
            DTypeError,
            "celu: dtype is bfloat16, to which casting='safe' does not convert the operands: x float64",
        ),
        (lambda: ogive.celu(X, dtype="wide"), DTypeError, "celu: dtype is 'wide', which is no dtype; allowed"),
        (
            lambda: ogive.dequantize_linear(np.uint8([200]), np.float32([1]), np.uint8([0]), dtype=ml_dtypes.bfloat16),
            DTypeError,
            "dequantize_linear: dtype is bfloat16; allowed: float16, float32",
        ),
        (
            lambda: ogive.celu([1j], dtype=ml_dtypes.bfloat16),
            DTypeError,
            "celu: x is a list with numbers of dtype complex128; allowed",
        ),
        (
            lambda: ogive.add(np.ones(2, ml_dtypes.bfloat16), 2**70),
            DTypeError,
            "add: b is a whole number of about 22 digits; allowed",
        ),
        (lambda: ogive.celu(["a"]), DTypeError, "celu: x is a list with text; allowed: .* of float16"),
        (lambda: ogive.celu(object()), DTypeError, "celu: x is an object; allowed"),
        (
            lambda: ogive.prelu(X, X[:7]),
            ShapeError,
            r"prelu: the shapes do not broadcast together: x \(101,\) and slope \(7,\); allowed: equal sizes, or 1, from the last axis on",
        ),
        (lambda: ogive.celu(X, out=X[:7].copy()), ShapeError, r"celu: out has shape \(7,\); allowed: \(101,\)"),
        (
            lambda: ogive.celu(X, out=np.zeros(101, np.int32)),
            DTypeError,
            "celu: out has dtype int32, which cannot take the result for float32",
        ),
        (lambda: ogive.celu(X, out=[0.0] * 101), OutputError, "celu: out is a list; allowed: an array"),
    ],
)
def test_wrong_calls_say_what_is_wrong(call, kind, text):
    with pytest.raises(kind, match=text) as caught:
        call()
    assert isinstance(caught.value, OgiveError)


def test_a_read_only_output_is_refused_and_unchanged():
    out = np.full_like(X, 7)
    out.flags.writeable = False
    with pytest.raises(OutputError, match="celu: out is a read-only array; allowed: writable arrays"):
        ogive.celu(X, out=out)
    assert (out == 7).all()


@pytest.mark.parametrize(
    "call", [lambda out: ogive.prelu(X, X[:7], out=out), lambda out: ogive.celu(X, alpha=0, out=out)]
)
def test_nothing_is_written_by_a_refused_call(call):
    out = np.full_like(X, 7)
    with pytest.raises(OgiveError):
        call(out)
    assert (out == 7).all()


def test_array_likes_and_scalars():
    assert ogive.celu([1, -1]).dtype == np.float64
    assert isinstance(ogive.celu(np.float32(-1)), np.float32)
    assert ogive.celu(2) == 2.0
    assert ogive.relu(np.int16(-3)) == 0
    assert ogive.prelu(X, 0.25).dtype == np.float32


def test_integers_are_cast_as_numpy_casts_them():
    assert ogive.celu(np.arange(3, dtype=np.int64)).dtype == np.float64
    assert ogive.prelu(np.int8([-4]), np.float32(0.5)).dtype == np.float32


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("bound", [False, True])
def test_numbers_of_python_take_the_type_of_arrays(dtype, bound):
    """The types hold for bfloat16, too, for which NumPy's own ufuncs give float32; whether the operator is called or its ufunc."""
    add, prelu, clip, where = (op.bind() if bound else op for op in (ogive.add, ogive.prelu, ogive.clip, ogive.where))
    x = np.array([-1, 2]).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    results = [prelu(x, 0.25), add(1, x), add(x, 2.5), clip(x, 0, 1.0), where([True, False], x, 2.0)]
    for y in (*results, prelu(x, 0.25, out=x.copy()), add(x[0], 1.0)):
        assert y.dtype == x.dtype
    assert [y.tolist() for y in results] == [[-0.25, 2], [0, 3], [1.5, 4.5], [0, 1], [-1, 2]]
    assert add(x, np.float32(1)).dtype == np.float32 or dtype == "float16"
    assert add(x, 1.0, dtype=np.float64).dtype == np.float64
    assert ogive.greater.bind()(x, 1.0).tolist() == [False, True]


@pytest.mark.parametrize("bound", [False, True])
@pytest.mark.parametrize("given", [[1.0, 3.0], [1, 3], np.float32([1, 3]), np.uint8([1, 3]), np.float64([1, 3])])
def test_bfloat16_may_be_asked_for(given, bound):
    add, softmax, celu = (op.bind() if bound else op for op in (ogive.add, ogive.softmax, ogive.celu))
    kind = np.dtype(ml_dtypes.bfloat16)
    x = np.asarray(given).astype(kind)
    assert_same_bits(add(given, given, dtype=kind), ogive.add(x, x))
    assert_same_bits(softmax(given, dtype=kind), ogive.softmax(x))
    assert_same_bits(celu(given, dtype=ml_dtypes.bfloat16), ogive.celu(x))
    assert ogive.add.bind().reduce(given, dtype=kind) == kind.type(4)


def test_keywords_of_numpy():
    out = np.zeros_like(X)
    assert ogive.celu(X, alpha=1.5, out=out) is out
    assert ogive.celu(X, out=(out,)) is out
    assert ogive.celu(X, dtype=np.float64).dtype == np.float64
    assert_same_bits(ogive.celu(X, casting="same_kind", alpha=1.5), ogive.celu(X, alpha=1.5))


def test_calls_in_any_order_of_values_are_told_apart():
    expected = {alpha: ogive.celu.bind(alpha=alpha)(X) for alpha in (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)}
    for _ in range(3):
        for alpha, values in expected.items():
            assert_same_bits(ogive.celu(X, alpha=alpha), values)
            assert_same_bits(ogive.celu(X, alpha=np.float32(alpha)), values)
            out = np.empty_like(X)
            assert_same_bits(ogive.celu(X, out=out, alpha=alpha), values)
    assert_same_bits(ogive.celu(X), expected[1.0])


def test_zeros_of_both_signs_are_two_parameters():
    @ogive.operator
    def times(x, *, factor=1.0):
        return x * factor

    one = np.float32([1.0])
    for _ in range(2):
        assert not np.signbit(times(one, factor=0.0))[0]
        assert np.signbit(times(one, factor=-0.0))[0]


class Number:
    """An object that counts as a number, and may count as another one later."""

    def __init__(self, value):
        self.value = value

    def __float__(self):
        return self.value


def changing_array():
    array = np.array(1.5)
    return array, array.fill


def changing_object():
    number = Number(1.5)
    return number, lambda value: setattr(number, "value", value)


def changing_tensor():
    torch = pytest.importorskip("torch", reason="PyTorch's parameters are changed in place")
    tensor = torch.tensor(1.5)
    return tensor, tensor.fill_


@pytest.mark.parametrize("make", [changing_array, changing_object, changing_tensor])
@pytest.mark.parametrize("call", [ogive.celu, lambda x, alpha: ogive.celu(x, alpha=alpha, out=np.empty_like(x))])
def test_a_parameter_changed_in_place_counts_as_what_it_is_now(make, call):
    alpha, change = make()
    for value in (1.5, 3.0, 0.5, 1.5):
        change(value)
        for _ in range(2):
            assert_same_bits(call(X, alpha=alpha), ogive.celu(X, alpha=value))


@pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad:UserWarning")
def test_a_learned_parameter_counts_as_what_it_is_now():
    torch = pytest.importorskip("torch", reason="PyTorch's parameters are changed in place")
    alpha = torch.nn.Parameter(torch.tensor(1.5))
    for value in (1.5, 3.0, 1.5):
        with torch.no_grad():
            alpha.fill_(value)
        assert_same_bits(ogive.celu(X, alpha=alpha), ogive.celu(X, alpha=value))


def test_axes_changed_in_place_count_as_what_they_are_now():
    x = np.random.default_rng(3).standard_normal((2, 3, 4))
    axis = [0]
    for values in ([0], [1], [2], [0, 2], [-1], [0]):
        axis[:] = values
        assert_same_bits(ogive.softmax(x, axis=axis), ogive.softmax(x, axis=tuple(values)))


def test_numbers_of_every_kind_are_parameters():
    from decimal import Decimal
    from fractions import Fraction

    half = ogive.celu.bind(alpha=0.5)(X)
    kinds = (np.float16, np.float32, np.float64, np.longdouble, ml_dtypes.bfloat16, Decimal, Fraction, np.array, Number)
    for _ in range(2):
        for kind in kinds:
            assert_same_bits(ogive.celu(X, alpha=kind(0.5)), half)
            assert_same_bits(ogive.celu(X, alpha=kind(2.0)), ogive.celu(X, alpha=2.0))


def test_parameters_that_cannot_change_are_remembered(monkeypatch):
    asked = []
    bind = ogive.Operator._bind
    monkeypatch.setattr(ogive.Operator, "_bind", lambda *args: asked.append(1) or bind(*args))
    for make in (lambda: 1.25, lambda: 3, lambda: np.float32(1.25), lambda: np.float64(1.25)):
        ogive.celu._forget()
        asked.clear()
        for _ in range(3):
            ogive.celu(X, alpha=make())
        assert len(asked) == 1
    ogive.celu._forget()
    asked.clear()
    for _ in range(3):
        ogive.gelu(X, approximate="tanh")
        ogive.softmax(np.ones((2, 2)), axis=-1)
    assert len(asked) <= 2


def test_values_that_are_equal_but_not_the_same_select_their_own_formulas():
    @ogive.operator
    def chosen(x, *, how: Literal[1, True] = 1):
        return x + (10 if how is True else 20)

    for _ in range(2):
        assert chosen(np.float64([0]), how=True) == 10
        assert chosen(np.float64([0]), how=1) == 20


def test_a_parameter_whose_end_calls_the_operator_does_not_change_the_call():
    class Loud(float):
        def __del__(self):
            for alpha in (5.0, 6.0, 7.0, 8.0, 9.0):
                ogive.celu(X, alpha=alpha)

    expected = {alpha: ogive.celu.bind(alpha=alpha)(X) for alpha in (2.0, 3.0, 4.0)}
    for _ in range(20):
        for alpha, values in expected.items():
            assert_same_bits(ogive.celu(X, alpha=Loud(alpha)), values)
            assert_same_bits(ogive.celu(X, alpha=alpha), values)


def test_arguments_are_not_kept_alive():
    class Array(np.ndarray):
        pass

    out = np.zeros(101, np.float32).view(Array)
    watched = weakref.ref(out)
    ogive.celu(X, alpha=1.125, out=out)
    del out
    gc.collect()
    assert watched() is None


def test_binding_many_values_does_not_grow_without_bound():
    for i in range(1, 600):
        ogive.celu.bind(alpha=float(i))
    assert len(ogive.celu._bound) <= 256


def test_other_array_types_get_the_call():
    class Logged:
        def __array_ufunc__(self, ufunc, method, *inputs, **keywords):
            return ufunc.__name__, method, sorted(keywords)

    assert ogive.celu(Logged(), alpha=1.5) == ("celu(alpha=1.5)", "__call__", [])
    assert ogive.celu(Logged()) == ("celu", "__call__", [])
    assert ogive.celu(Logged(), alpha=1.0) == ("celu", "__call__", [])


@pytest.mark.parametrize("first", [{}, {"alpha": 1.0}, {"alpha": 1}, {"alpha": np.float32(1)}])
def test_the_name_of_a_ufunc_says_which_values_are_not_the_defaults(first):
    @ogive.operator
    def named(x, *, alpha=1, how: Literal["a", "b"] = "a"):
        return x * alpha

    named.bind(**first)
    assert named.bind().__name__ == named.bind(alpha=1.0).__name__ == named.bind(how="a").__name__ == "named"
    assert named.bind(how="b").__name__ == "named(alpha=1.0, how='b')"
    assert named.bind(alpha=0.0).__name__ != named.bind(alpha=-0.0).__name__


# ---- bound ufuncs


def test_bind_gives_a_ufunc():
    bound = ogive.celu.bind(alpha=1.5)
    assert isinstance(bound, np.ufunc)
    assert bound is ogive.celu.bind(alpha=1.5)
    assert bound.__name__ == "celu(alpha=1.5)"
    assert (bound.nin, bound.nout) == (1, 1)
    out = np.empty_like(X)
    assert bound(X, out) is out
    assert_same_bits(out, ogive.celu(X, alpha=1.5))


#: Operators of two and NumPy's ufuncs that reduce as they do.
REDUCING = {
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}
REDUCTIONS = [
    lambda ufunc, a: ufunc.reduce(a, axis=None, dtype=a.dtype),
    lambda ufunc, a: ufunc.reduce(a, axis=(0, 2), dtype=a.dtype),
    lambda ufunc, a: ufunc.reduce(a, axis=(1, 2), keepdims=True, dtype=a.dtype),
    lambda ufunc, a: ufunc.reduce(a[:, :0], axis=1, dtype=a.dtype),
    lambda ufunc, a: ufunc.reduce(a, axis=None, where=a > a.dtype.type(1), dtype=a.dtype),
    lambda ufunc, a: ufunc.reduce(a, axis=(0, 1), initial=a.dtype.type(1), dtype=a.dtype),
    lambda ufunc, a: ufunc.accumulate(a, axis=1, dtype=a.dtype),
    lambda ufunc, a: ufunc.reduceat(a, [0, 2], axis=2, dtype=a.dtype),
]
REDUCING_TYPES = [
    (name, t) for name in REDUCING for t in dict.fromkeys(s.inputs[0] for s in getattr(ogive, name).signatures)
]


def test_there_are_reductions_of_every_type():
    assert len(REDUCING_TYPES) == 4 * 12 + 3 * 8 + 3


@pytest.mark.matrix("name")
@pytest.mark.parametrize("use", REDUCTIONS)
@pytest.mark.parametrize(("name", "kind"), REDUCING_TYPES)
def test_reductions_are_those_of_numpy(name, kind, use):
    """Over all axes or several, of nothing, of some, from an initial value: NumPy's results, or its refusals."""
    values = np.random.default_rng(5).integers(0, 4, (3, 4, 5)).astype(kind.numpy)
    bound = getattr(ogive, name).bind()
    assert bound.identity == REDUCING[name].identity
    with np.errstate(over="ignore"):
        try:
            wanted = np.asarray(use(REDUCING[name], values))
        except ValueError as refusal:
            text = str(refusal).replace("maximum", "max").replace("minimum", "min")
            with pytest.raises(ValueError, match=re.escape(text)):
                use(bound, values)
        else:
            assert_same_bits(np.asarray(use(bound, values)), wanted)


def test_an_operator_of_ones_own_says_how_it_reduces():
    @ogive.operator(identity=0.0)
    def hypotenuse(a, b):
        return f.square_root(a * a + b * b)

    @ogive.operator(reorderable=True)
    def smaller(a, b):
        return np.minimum(a, b)

    @ogive.operator
    def difference(a, b):
        return a - b

    x = np.full((4, 4), 3.0)
    assert hypotenuse.bind().reduce(x, axis=None) == 12
    assert hypotenuse.bind().reduce(x[:0], axis=None) == 0
    assert smaller.bind().reduce(x, axis=None) == 3
    with pytest.raises(ValueError, match="has no identity"):
        smaller.bind().reduce(x[:0], axis=None)
    with pytest.raises(ValueError, match="not reorderable"):
        difference.bind().reduce(x, axis=None)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: ogive.operator(identity="0")(lambda a, b: a + b),
            "<lambda>: its identity is '0'; allowed: a number, a truth value or None",
        ),
        (
            lambda: ogive.operator(identity=0)(lambda a: a),
            "identity or reorderable was given; allowed: both for element-wise operators of two tensors and one",
        ),
        (lambda: ogive.operator(reorderable=True)(lambda a, b, c: a), "<lambda>: identity or reorder"),
    ],
)
def test_identities_that_make_no_sense(make, text):
    with pytest.raises(FormulaError, match=text):
        make()


ATTRIBUTES = ["nin", "nout", "nargs", "ntypes", "types", "signature", "identity"]


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_an_operator_has_what_its_ufunc_has(name):
    op = OPERATORS[name]
    bound = op.bind(**required(op))
    for attribute in ATTRIBUTES:
        assert getattr(op, attribute) == getattr(bound, attribute)
    assert all(hasattr(op, method) for method in dir(np.ufunc) if not method.startswith("_"))


def test_methods_of_ufuncs_take_parameters():
    @ogive.operator
    def weighted(a, b, *, weight=1.0):
        return a + b * weight

    x = np.float32([1, 2, 3])
    assert weighted.reduce(x) == 6
    assert weighted.reduce(x, axis=0, weight=2.0) == 11
    assert weighted.reduce(x, 0, np.float64, weight=2.0).dtype == np.float64
    assert weighted.accumulate(x, weight=2.0).tolist() == [1, 5, 11]
    assert weighted.reduceat(x, [0, 1], weight=2.0).tolist() == [1, 8]
    assert weighted.outer(x, x, weight=2.0).tolist() == (x[:, None] + 2 * x).tolist()
    weighted.at(x, [0, 0], 1.0, weight=2.0)
    assert x.tolist() == [5, 2, 3]
    y = np.float32([-1])
    ogive.celu.at(y, [0], alpha=1.5)
    assert_same_bits(y, ogive.celu(np.float32([-1]), alpha=1.5))
    assert ogive.add.resolve_dtypes((np.dtype("int8"), np.dtype("float16"), None)) == (np.dtype("float16"),) * 3


@pytest.mark.parametrize(
    ("use", "kind", "text"),
    [
        (lambda op: op.reduce(X), ArgumentError, "line: slope is missing, and has no default. Give slope a value"),
        (lambda op: op.outer(X, X, slope=None), ParameterError, "line: slope is None; allowed: any finite number"),
        (lambda op: op.at(X.copy(), 0, 1.0, incline=1.0), ArgumentError, "line: there is no parameter 'incline'"),
        (lambda op: ogive.celu.reduce(X), ArgumentError, "celu: reduce was called, but it has 1 tensor and 1 result"),
        (lambda op: ogive.celu.outer(X, X), ArgumentError, "allowed: element-wise operators of two tensors and one"),
        (lambda op: ogive.clip.at(X, 0, 1), ArgumentError, "clip: at .* 3 tensors .* allowed: .* one or two tensors"),
        (lambda op: ogive.softmax.reduce(X), ArgumentError, "softmax: reduce was called, but it looks at whole rows"),
        (lambda op: ogive.softmax.at(X, 0), ArgumentError, "softmax: at was called, but it looks at whole rows"),
        (lambda op: ogive.add.reduce(X, where=None), ArgumentError, "add: where is None; allowed: .* Leave it out"),
    ],
)
def test_wrong_uses_of_methods_say_what_is_wrong(use, kind, text):
    @ogive.operator
    def line(a, b, *, slope):
        return a + b * slope

    assert (line.nin, line.types[-1]) == (2, "dd->d")
    with pytest.raises(kind, match=text):
        use(line)


def test_pandas_hands_columns_to_bound_operators():
    pandas = pytest.importorskip("pandas", reason="pandas asks what is a numpy.ufunc")
    series = pandas.Series(X, index=range(5, 106), name="x")
    wanted = ogive.celu(X, alpha=1.5)
    bound = ogive.celu.bind(alpha=1.5)
    frame = series.to_frame()
    for got in (series.apply(bound), series.transform(bound), frame.apply(bound)["x"], ogive.celu(series, alpha=1.5)):
        assert got.index.equals(series.index)
        assert_same_bits(got.to_numpy(), wanted)
    np.testing.assert_allclose(series.apply(ogive.celu, alpha=1.5), wanted)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickling(protocol):
    for thing in (ogive.celu, ogive.celu.bind(alpha=1.5), ogive.relu.bind(), np.exp, module_level, ogive.abs):
        assert pickle.loads(pickle.dumps(thing, protocol)) is thing
    assert copy.copy(ogive.celu) is ogive.celu
    assert copy.deepcopy(ogive.celu) is ogive.celu


# ---- operators of one's own


def test_an_operator_looks_like_its_formula():
    assert module_level.__name__ == "module_level"
    assert module_level.__doc__.startswith("Nothing special.\n\nTensors: x, of any shapes")
    assert str(inspect.signature(module_level)) == "(x, *, gain=2.0)"
    assert repr(module_level) == "<operator module_level(x, *, gain=2.0)>"
    assert len({module_level, ogive.celu, module_level}) == 2


def test_choices_select_formulas():
    @ogive.operator
    def rounding(x, *, mode: Literal["down", "up"] = "down", scale=1.0):
        return (f.floor(x) if mode == "down" else f.ceiling(x)) * scale

    values = np.float64([0.5, -0.5])
    assert rounding(values).tolist() == [0, -1]
    assert rounding(values, mode="up", scale=3.0).tolist() == [3, 0]
    assert rounding.bind(mode="up").__name__ == "rounding(mode='up', scale=1.0)"
    with pytest.raises(ParameterError, match="rounding: mode is 'sideways'; allowed: 'down', 'up'"):
        rounding(values, mode="sideways")


def test_operators_inside_formulas_are_one_formula():
    @ogive.operator
    def chain(x, w, b, *, alpha=1.5):
        return ogive.celu(x * w + b, alpha=alpha) * ogive.tanh(x)

    result = chain(X, np.float32(2), np.float32(1))
    exact = X.astype(np.float64) * 2 + 1
    exact = np.where(exact >= 0, exact, 1.5 * np.expm1(exact / 1.5)) * np.tanh(X.astype(np.float64))
    assert np.max(np.abs(result - exact) / np.spacing(np.abs(exact).astype(np.float32))) < 1


def test_several_results():
    def both(x):
        return x + 1, x - 1

    with pytest.raises(FormulaError, match="both: the formula returns 2 values; allowed: 1"):
        ogive.operator(both)
    float32 = ("float32",)
    made = ogive.operator(signatures=[(float32, float32 * 2)])(both)
    assert [result.tolist() for result in made(np.float32([1.0]))] == [[2.0], [0.0]]


def test_required_parameters():
    @ogive.operator(constraints={"alpha": NONZERO})
    def line(x, *, alpha, beta):
        return alpha * x + beta

    assert line(np.float64([2.0]), alpha=3, beta=4).tolist() == [10.0]
    with pytest.raises(ArgumentError, match="line: beta is missing, and has no default"):
        line(X, alpha=1)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: ogive.operator(lambda *x: x),
            "its argument x is any number of arguments .*; allowed: positional tensors",
        ),
        (lambda: ogive.operator(3), "ogive.operator: 3 was given; allowed: a function that is a formula"),
        (lambda: ogive.operator(lambda: 1), "it has no tensor argument"),
        (lambda: ogive.operator(constraints={"beta": NONZERO})(lambda x, *, alpha=1.0: x), "constraints name beta"),
        (lambda: ogive.operator(lambda x, *, out=1.0: x), "its argument out is a keyword of NumPy"),
        (lambda: ogive.operator(lambda x: x if x > 0 else -x), "Write where\\(condition, a, b\\) instead of if"),
        (lambda: ogive.operator(lambda x: "text"), "with the text 'text'"),
    ],
)
def test_formulas_that_cannot_be_operators(make, text):
    with pytest.raises(FormulaError, match=text):
        make()


def test_calls_with_expressions():
    x = node("input", (), 0, Format.NUMBER)
    assert isinstance(ogive.celu(x), Expression)
    assert ogive.celu(x, alpha=1.5) is ogive.celu(x, alpha=3 / 2)
    with pytest.raises(ParameterError, match="celu: alpha is 0.0"):
        ogive.celu(x, alpha=0)
    with pytest.raises(ArgumentError, match="there is no parameter 'beta'"):
        ogive.celu(x, beta=0)
    with pytest.raises(ArgumentError, match="2 arguments were given by position"):
        ogive.celu(x, x)


# ---- operators that nobody holds any more


def call_it(op, held):
    op(np.float32([1.0]))


def call_it_with_parameters(op, held):
    for gain in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0):
        op(np.float32([1.0]), gain=gain)
        op(np.float32([1.0]), gain=gain, out=np.zeros(1, np.float32))


def call_it_with_several_types(op, held):
    for dtype in (np.float16, np.float32, np.float64, ml_dtypes.bfloat16):
        op(np.ones(3, dtype))


def bind_it(op, held):
    op.bind(gain=2.0)


def bind_and_call_it(op, held):
    op.bind(gain=2.0)(np.float32([1.0]))
    op.bind()(np.float64([1.0]))


def hold_an_error(op, held):
    with pytest.raises(OgiveError):
        op(np.ones(3), gain=None)


USES = [call_it, call_it_with_parameters, call_it_with_several_types, bind_it, bind_and_call_it, hold_an_error]


def operator_with(array):
    @ogive.operator
    def temporary(x, *, gain=1.0):
        return x * gain + float(array[0])

    return temporary


def kernels_alive():
    gc.collect()
    return sum(type(thing) is _native.Kernel for thing in gc.get_objects())


@pytest.mark.parametrize("use", USES)
def test_an_operator_goes_with_all_that_it_holds(use):
    before = kernels_alive()
    array = np.full(10, 0.28125)
    operator = operator_with(array)
    use(operator, array)
    watched = weakref.ref(operator), weakref.ref(array)
    assert kernels_alive() > before or use is hold_an_error
    del operator, array
    assert kernels_alive() == before
    assert [reference() for reference in watched] == [None, None]


@pytest.mark.matrix(share=16, pool="slow")
def test_many_operators_take_no_more_memory_than_a_few():
    """The memory left of one operator with an array of 8 MiB is less than 16 KiB."""

    def use_many(count):
        for _ in range(count):
            call_it(operator_with(np.full(1 << 20, 0.28125)), None)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        few = use_many(5)
        assert use_many(20) - few < 20 * 16384
    finally:
        tracemalloc.stop()


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("call_before", [False, True])
def test_a_bound_ufunc_outlives_its_operator(call_before):
    """Other element types are compiled when they are first needed: then, too, the formula is there."""
    operator = operator_with(np.full(10, 0.28125))
    bound = operator.bind(gain=2.0)
    if call_before:
        assert bound(np.float32([1.0]))[0] == 2.28125
    del operator
    gc.collect()
    assert bound(np.float32([1.0]))[0] == 2.28125
    assert bound(np.float64([1.0]))[0] == 2.28125
    assert bound(np.ones(1, ml_dtypes.bfloat16))[0] == ml_dtypes.bfloat16(2.28125)
    assert bound.ogive_binding[0].bind(gain=2.0) is bound


# ---- errors inside NumPy's loops


@pytest.mark.parametrize("kind", [CompileError, KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize(
    "use",
    [
        lambda ufunc: ufunc(X, X),
        lambda ufunc: ufunc(np.ones((50, 60)), np.ones((60, 50)).T),
        lambda ufunc: ufunc.at(X.copy(), [1, 2, 3], X[:3]),
        lambda ufunc: ufunc.at(X.astype(np.float64), [1, 2, 3], X[:3]),
        lambda ufunc: ufunc.outer(X, X),
        lambda ufunc: ufunc.reduce(X),
        lambda ufunc: ufunc.reduce(np.ones((5, 6)), axis=0),
        lambda ufunc: ufunc.accumulate(X),
        lambda ufunc: ufunc.reduceat(X, [0, 5, 9]),
    ],
)
def test_an_error_of_the_compiler_is_the_error_of_every_use(monkeypatch, kind, use):
    """NumPy enters a loop again after it failed; the compiler must not run with an error set (SystemError)."""
    from ogive.runtime import kernels

    @ogive.operator
    def product(x, y):
        return x * y * 1.0625

    def broken(*_, **__):
        raise kind("no compiler today")

    monkeypatch.setattr(kernels, "compiled", broken)
    monkeypatch.setattr(kernels.cache, "load_note", lambda *_: None)
    with pytest.raises(kind, match="no compiler today"):
        use(product.bind())


@pytest.mark.parametrize("kind", [CompileError, KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize(
    "use",
    [
        lambda op: op(np.ones((5, 6))),
        lambda op: op(np.ones((5, 6), np.float32), out=np.ones((5, 6), np.float32)),
        lambda op: op(np.ones(6)),
        lambda op: op(np.ones((5, 6)), axis=0),
        lambda op: op(np.ones((5, 6))[:, ::2]),
        lambda op: op(np.ones((5, 6), int)),
    ],
)
@pytest.mark.parametrize("reduces", [False, True])
def test_an_error_of_the_compiler_is_the_error_of_rows(monkeypatch, kind, use, reduces):
    """Ctrl-C while a row kernel was compiled became "'RowOperator' object has no attribute '_over_axes'"."""
    from ogive.runtime import kernels

    def formula(x):
        return ogive.formula.row_sum(x) * 1.0625 if reduces else x / ogive.formula.row_sum(x) * 1.0625

    op = ogive.row_operator(reduces=True)(formula) if reduces else ogive.row_operator(formula)

    def broken(*_, **__):
        raise kind("no compiler today")

    monkeypatch.setattr(kernels, "compiled", broken)
    monkeypatch.setattr(kernels.cache, "load_note", lambda *_: None)
    if reduces:
        real = use
        use = lambda op: real(lambda *x, **keywords: op(*x, **{k: v for k, v in keywords.items() if k != "out"}))  # noqa: E731
    for _ in range(2):  # what a type's attributes are is remembered from the second time on
        with pytest.raises(kind, match="no compiler today"):
            use(op)


def test_an_error_of_the_compiler_is_the_error_of_a_model(monkeypatch):
    from onnx import parser

    import ogive.onnx
    from ogive.runtime import kernels

    head = '<ir_version: 10, opset_import: ["" : 21]> g (float[N, 7] x) => (float[N, 7] y) '
    text = "{ c = Constant<value_float=1.0625>() s = Mul(x, c) y = Softmax<axis=-1>(s) }"
    x = np.ones((3, 7), np.float32)

    def broken(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(kernels, "compiled", broken)
        patched.setattr(kernels.cache, "load_note", lambda *_: None)
        model = ogive.onnx.load(parser.parse_model(head + text))
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                model(x)
    assert_same_bits(model(x), ogive.softmax(x * np.float32(1.0625)))


def test_an_error_of_the_compiler_reaches_the_caller(monkeypatch):
    from ogive.backends import compiler

    @ogive.operator
    def fresh(x):
        return x * 1.03125

    def broken(*_):
        raise CompileError("no compiler today")

    with monkeypatch.context() as patch:
        patch.setattr(compiler, "object_code", broken)
        with pytest.raises(CompileError, match="no compiler today"):
            fresh(X)
        with pytest.raises(CompileError, match="no compiler today"):
            fresh.bind()(X)
    assert fresh(np.float32([1.0]))[0] == np.float32(1.03125)


def test_formulas_may_use_the_logistic_function():
    from ogive import formula as f
    from ogive import operator, sigmoid, swish

    @operator
    def gated(x):
        return x * f.logistic(x)

    x = np.array([-200, -90, -1, -0.0, 0.0, 1, 90, np.inf, np.nan], np.float32)
    np.testing.assert_array_equal(gated(x), swish(x))
    np.testing.assert_array_equal(sigmoid([-np.inf, 0.0, np.inf]), [0, 0.5, 1])


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize(("dtype", "largest_error"), [("float16", 0.501), ("float32", 0.65), ("float64", 1.5)])
def test_formulas_may_use_the_normal_distributions_tail(dtype, largest_error):
    import mpmath

    from ogive import formula as f

    @ogive.operator
    def more_than(x):
        return f.normal_tail(x)

    x = np.random.default_rng(6).uniform(-10, 10, 2000).astype(dtype)
    found = more_than(x)
    with mpmath.workdps(40):
        exact = [mpmath.erfc(mpmath.mpf(float(value)) / mpmath.sqrt(2)) / 2 for value in x]
        errors = [abs(float(mpmath.mpf(float(y)) - e)) for y, e in zip(found, exact, strict=True)]
    assert (np.array(errors) / np.spacing(found).astype(float)).max() < largest_error
    special = more_than(np.array([-np.inf, -0.0, 0.0, np.inf, np.nan], dtype))
    np.testing.assert_array_equal(special, [1, 0.5, 0.5, 0, np.nan])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
@pytest.mark.parametrize("function", [np.maximum, np.minimum])
def test_formulas_may_use_the_larger_and_the_smaller_number(function, dtype):
    """NaN in either operand gives NaN, and zeros have an order: of operands, of computed numbers, and of both."""
    values = [-7, -1, 0, 1, 7] if dtype == "int32" else [-np.inf, -1.5, -0.0, 0.0, 0.3, np.inf, np.nan]
    a, b = (x.ravel() for x in np.meshgrid(np.array(values, dtype), np.array(values, dtype)))
    wanted = function(a, b)
    is_zero = (a == 0) & (b == 0)
    is_negative = function(-1 * np.signbit(a), -1 * np.signbit(b)) < 0
    wanted[is_zero] = np.where(is_negative, -0.0, 0.0)[is_zero]

    @ogive.operator(types=NUMBERS)
    def extreme(x, y):
        return function(x, y)

    @ogive.operator(types=NUMBERS)
    def of_products(x, y):
        return function(x * 3, y * 3)

    @ogive.operator(types=NUMBERS)
    def with_a_product(x, y):
        return function(x, y * 3)

    assert_same_bits(extreme(a, b), wanted)
    with np.errstate(invalid="ignore"):
        assert np.array_equal(of_products(a, b), function(a * 3, b * 3), equal_nan=dtype != "int32")
        assert np.array_equal(with_a_product(a, b), function(a, b * 3), equal_nan=dtype != "int32")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: ogive.celu(None), "celu: x is None; allowed: an array or a number"),
        (lambda: ogive.add([1.0], None), "add: b is None; allowed: an array or a number"),
        (lambda: ogive.celu([1.0], **{f"k{i}": 1 for i in range(20)}), "celu: there is no parameter 'k0'"),
    ],
)
def test_what_is_no_complete_call(call, text):
    with pytest.raises(ArgumentError, match=text):
        call()


def test_linear_has_defaults():
    assert ogive.linear([-2.0, 3.0]).tolist() == [-2, 3]
    assert ogive.linear([-2.0, 3.0], alpha=2).tolist() == [-4, 6]


def test_completion_shows_what_a_user_calls_and_no_engine():
    for operator in (ogive.gelu, ogive.softmax, ogive.add, ogive.gelu.fast):
        shown = [name for name in dir(operator) if not name.startswith("_")]
        assert {"bind", "fast", "exact", "parameters", "tensors"} <= set(shown)
        assert not {"opened_of", "double_function", "truth_inputs", "under_contract_of", "kernel", "program"} & set(
            shown
        )
        assert all(hasattr(operator, name) for name in shown)


# ---- numbers that are constants of the code


@pytest.mark.parametrize(
    "name", ["swish", "softplus", "celu", "elu", "swiglu", "scaled_tanh", "linear", "shrink", "snake"]
)
def test_defaults_that_change_nothing_are_constants(name):
    """Results are those of a kernel with open numbers."""
    op = OPERATORS[name]
    values, signatures = op.checked_parameters({}), {s.inputs[0].name: s for s in op.signatures}
    single = signatures["float32"]
    assert op.constants(single, values) == values
    number = op.numeric_parameters[0].name
    assert number not in op.constants(single, {**values, number: 0.75})
    assert number not in op.constants(signatures["float64"], values)
    assert number not in op.fast.constants(single, values)
    random = np.random.default_rng(1)
    x = [random.integers(0, 1 << 32, 20_000, np.uint32).view(np.float32) for _ in range(op.inputs)]
    x += [np.resize(special_values(single.inputs[0]), 3000)] * (op.inputs == 1)
    choices = {p.name: values[p.name] for p in op.parameters if p.choices}
    numbers = [values[p.name] for p in op.numeric_parameters]
    open_numbers = computation.make_ufunc(name, op.computation(single, **choices), numbers)
    for operands in [x[: op.inputs], x[-op.inputs :]]:
        assert_same_bits(op(*operands), open_numbers(*operands))


def test_numbers_that_change_results_stay_open():
    for name in ("leaky_relu", "selu", "hard_sigmoid", "layer_normalization"):
        op = OPERATORS[name]
        single = next(s for s in op.signatures if s.inputs[0].name == "float32")
        assert not any(p.name in op.constants(single, op.checked_parameters({})) for p in op.numeric_parameters)
