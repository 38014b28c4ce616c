import copy
import inspect
import pickle
from typing import Literal

import ml_dtypes
import numpy as np
import pytest

import ogive
from ogive import formula as f
from ogive.dtypes import NUMBERS
from ogive.errors import ArgumentError, DTypeError, FormulaError, OgiveError, OutputError, ParameterError, ShapeError
from ogive.expression import Expression, Format, node
from ogive.signature import NONZERO
from tests.inputs import assert_same_bits

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
            r"celu: 2 positional arguments were given; allowed: 1 tensor \(x\)\. Everything else is a keyword: alpha=, out=",
        ),
        (lambda: ogive.celu(), ArgumentError, "celu: 0 positional arguments were given"),
        (
            lambda: ogive.prelu(X),
            ArgumentError,
            r"prelu: 1 positional arguments were given; allowed: 2 tensors \(x, slope\)",
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
        (lambda: ogive.celu(X, alpha=None), ParameterError, "celu: alpha is 'of type NoneType'; allowed"),
        (lambda: ogive.celu(X, alpha=10**400), ParameterError, "celu: alpha is 1000"),
        (
            lambda: ogive.celu(X, alpha=1e-40),
            ParameterError,
            r"celu: alpha is 1e-40; allowed: 0 and magnitudes from 2\*\*-126 to 3.4e38",
        ),
        (lambda: ogive.celu(X, alpha=1e39), ParameterError, "celu: alpha is 1e\\+39; allowed: 0 and magnitudes"),
        (lambda: ogive.celu(X, alpha=np.ones(2)), ParameterError, "celu: alpha is 'of type ndarray'"),
        (
            lambda: ogive.celu(X.astype(complex)),
            DTypeError,
            r"celu: x has dtype complex128; allowed: float16, float32, float64, bfloat16\. Convert it first: x.astype",
        ),
        (lambda: ogive.celu(["a"]), DTypeError, "celu: x has dtype <U1; allowed: float16"),
        (lambda: ogive.celu(object()), DTypeError, "celu: x has dtype object; allowed"),
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
def test_numbers_of_python_take_the_type_of_arrays(dtype):
    x = np.array([-1, 2]).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    for y in (ogive.prelu(x, 0.25), ogive.add(1, x), ogive.clip(x, 0, 1.0), ogive.prelu(x, 0.25, out=x.copy())):
        assert y.dtype == x.dtype
    assert ogive.prelu(x, 0.25).tolist() == [-0.25, 2]
    assert ogive.add(x, np.float32(1)).dtype == np.float32 or dtype == "float16"


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


def test_arguments_are_not_kept_alive():
    import gc
    import weakref

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
    @ogive.operator
    def both(x):
        return x + 1, x - 1

    with pytest.raises(FormulaError, match="both: the formula returns 2 values; allowed: 1"):
        both(X)


def test_required_parameters():
    @ogive.operator(constraints={"alpha": NONZERO})
    def line(x, *, alpha, beta):
        return alpha * x + beta

    assert line(np.float64([2.0]), alpha=3, beta=4).tolist() == [10.0]
    with pytest.raises(ArgumentError, match="line: beta is missing; it has no default"):
        line(X, alpha=1)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: ogive.operator(lambda *x: x), "its argument x is variadic positional; allowed: positional tensors"),
        (lambda: ogive.operator(3), "ogive.operator: 3 was given; allowed: a function that is a formula"),
        (lambda: ogive.operator(lambda: 1), "it has no tensor argument"),
        (lambda: ogive.operator(constraints={"beta": NONZERO})(lambda x, *, alpha=1.0: x), "constraints name beta"),
        (lambda: ogive.operator(lambda x, *, out=1.0: x), "its argument out is keyword-only"),
        (lambda: ogive.operator(lambda x: x if x > 0 else -x)(X), "Write where\\(condition, a, b\\) instead of if"),
        (lambda: ogive.operator(lambda x: "text")(X), "combined an expression with str"),
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
    with pytest.raises(ArgumentError, match="2 positional arguments"):
        ogive.celu(x, x)


def test_an_error_of_the_compiler_reaches_the_caller(monkeypatch):
    from ogive.codegen import compiler
    from ogive.errors import CompileError

    @ogive.operator
    def fresh(x):
        return x * 1.03125

    def broken(*_):
        raise CompileError("no compiler today")

    with monkeypatch.context() as patch:
        patch.setattr(compiler, "object_code", broken)
        with pytest.raises(CompileError, match="no compiler today"):
            fresh(X)
        with pytest.raises((CompileError, SystemError)):
            fresh.bind()(X)
    assert fresh(np.float32([1.0]))[0] == np.float32(1.03125)


def test_a_short_form_of_a_result_is_not_used_within_formulas():
    """erf alone is good to 0.82 units; the square of that would have an error of 1.1."""
    import mpmath

    from ogive import formula as f
    from ogive import operator

    @operator
    def square_of_erf(x):
        return f.erf(x) * f.erf(x)

    x = np.random.default_rng(5).uniform(-2, 2, 2000).astype(np.float32)
    squares = square_of_erf(x)
    with mpmath.workdps(30):
        exact = [mpmath.erf(float(value)) ** 2 for value in x]
        errors = [abs(float(mpmath.mpf(float(y)) - e)) for y, e in zip(squares, exact, strict=True)]
    assert (np.array(errors) / np.spacing(squares)).max() < 0.9


def test_formulas_may_use_the_logistic_function():
    from ogive import formula as f
    from ogive import operator, sigmoid, swish

    @operator
    def gated(x):
        return x * f.logistic(x)

    x = np.array([-200, -90, -1, -0.0, 0.0, 1, 90, np.inf, np.nan], np.float32)
    np.testing.assert_array_equal(gated(x), swish(x))
    np.testing.assert_array_equal(sigmoid([-np.inf, 0.0, np.inf]), [0, 0.5, 1])


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
