"""Formulas of people's own: each says what it says in NumPy, on special values and random ones."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ogive
from ogive import formula as f
from ogive.backends.target import runnable_targets
from ogive.catalog import OPERATORS
from ogive.common.dtypes import element_type
from ogive.laboratory.accuracy.ulp import error_in_ulp
from ogive.runtime.kernels import make_ufunc

SPECIAL = np.array(
    [
        *(0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 7.0, -7.0, 10.0, 1000.0),
        *(1e-300, -1e-300, 5e-324, -5e-324, 1e300, -1e300, 1.7976931348623157e308, 2.0**53, 1e16, 1 / 3),
        *(math.inf, -math.inf, math.nan),
    ]
)
_random = np.random.default_rng(17)
POINTS = np.concatenate([SPECIAL, _random.normal(size=120) * 10 ** _random.uniform(-3, 3, 120)])
PAIRS = tuple(axis.ravel() for axis in np.meshgrid(POINTS, POINTS))

Formula = Callable[..., Any]


def _calling(function: Formula) -> Formula:
    return lambda x: function(x)


def _composed(outer: Formula, inner: Formula) -> Formula:
    return lambda x: outer(inner(x))


def _calling_with_two(function: Formula) -> Formula:
    return lambda x, y: function(x, y)


OF_ONE: dict[str, Formula] = {
    "x == 0": lambda x: np.where(x == 0, 100.0, x),
    "x != x": lambda x: np.where(x != x, 0.0, x),  # NaN
    "0 == x": lambda x: np.where(x == 0, -x, 2.0),
    "truth times number": lambda x: (x == 0) * 1.0 + x,
    "number minus truth": lambda x: 1.0 - (x > 0),
    "truth plus truth": lambda x: ((x > 0) + (x > 1)) * 1.0,
    "truth times truth": lambda x: ((x > 0) * (x < 1)) + 0.0,
    "truth equals truth": lambda x: np.where((x > 0) == (x < 1), 3.0, 4.0),
    "truth differs": lambda x: np.where((x > 0) != (x < 1), 3.0, 4.0),
    "truth below number": lambda x: np.where((x > 0) < x, 3.0, 4.0),
    "truth or False": lambda x: np.where((x > 0) | False, 3.0, 4.0),
    "choice of truths and numbers": lambda x: np.where(x > 0, x > 1, x),
    "not": lambda x: np.where(~(x > 0), x, 1.0),
    "x ** -1": lambda x: x**-1,
    "x ** 0": lambda x: x**0,
    "x ** 1": lambda x: x**1,
    "x ** 2": lambda x: x**2,
    "x ** 3": lambda x: x**3,
    "x ** 5": lambda x: x**5,
    "x ** 8": lambda x: x**8,
    "x ** -2": lambda x: x**-2,
    "x ** 2.5": lambda x: x**2.5,
    "2 ** x": lambda x: 2**x,
    "numpy scalar ** x": lambda x: np.float64(1.5) ** x,
    "x % 2": lambda x: x % 2,
    "x % -3": lambda x: x % -3.0,
    "7 % x": lambda x: 7 % x,
    "x // 2": lambda x: x // 2,
    "x // -0.375": lambda x: x // -0.375,
    "7 // x": lambda x: 7 // x,
    "divmod": lambda x: divmod(x, 3)[0] - divmod(x, 3)[1],
    "abs": lambda x: abs(x) + 0.0,
    "unary": lambda x: -(+x),
    "round": lambda x: np.round(x),
    "around": lambda x: np.around(x, 0),
    "sign": _calling(np.sign),
    "isnan": lambda x: np.where(np.isnan(x), 1.0, 0.0),
    "isinf": lambda x: np.isinf(x) * 2.0,
    "isfinite": lambda x: np.where(np.isfinite(x), x, 0.0),
    "isposinf": lambda x: np.isposinf(x) * 2.0,
    "isneginf": lambda x: np.isneginf(x) * 2.0,
    "square": _calling(np.square),
    "cbrt": _calling(np.cbrt),
    "exp": _calling(np.exp),
    "exp2": _calling(np.exp2),
    "expm1": _calling(np.expm1),
    "log": _calling(np.log),
    "log2": _calling(np.log2),
    "log10": _calling(np.log10),
    "log1p": _calling(np.log1p),
    "sqrt": _calling(np.sqrt),
    "reciprocal": _calling(np.reciprocal),
    "positive": _calling(np.positive),
    "negative": _calling(np.negative),
    "fabs": _calling(np.fabs),
    "floor": _calling(np.floor),
    "ceil": _calling(np.ceil),
    "trunc": _calling(np.trunc),
    "fix": _calling(np.fix),
    "rint": _calling(np.rint),
    "modf, fraction": lambda x: np.modf(x)[0],
    "modf, whole": lambda x: np.modf(x)[1],
    "deg2rad": _calling(np.deg2rad),
    "rad2deg": _calling(np.rad2deg),
    "degrees": _calling(np.degrees),
    "radians": _calling(np.radians),
    "clip": lambda x: np.clip(x, -1, 2.5),
    "clip, one bound": lambda x: np.clip(x, 0.25, None),
    "clip, by name": lambda x: np.clip(x, a_min=-1, a_max=0.5),
    "heaviside": lambda x: np.heaviside(x, 0.5),
    "nan_to_num": lambda x: np.nan_to_num(x, nan=1.0, posinf=2.0, neginf=3.0),
    "select": lambda x: np.select([x > 1, x > 0], [x, 10.0], -1.0),
    "logical_not": lambda x: np.logical_not(x) * 1.0,
    "logaddexp with 0": lambda x: np.logaddexp(x, 0),
    "logaddexp2 with 1": lambda x: np.logaddexp2(1, x),
    "sum of truths": lambda x: sum([x > 0, x > 1, x > 2]) * 1.0,
    "reduce over a list": lambda x: sum(c * x**n for n, c in enumerate((1.0, 0.5))),
}

OF_TWO: dict[str, Formula] = {
    "x == y": lambda x, y: (x == y) * 2.0 + (x != y),
    "x ** y": lambda x, y: x**y,
    "x % y": lambda x, y: x % y,
    "x // y": lambda x, y: x // y,
    "signbit": lambda x, y: np.where(np.isnan(x), y, np.where(np.signbit(x), y, 1.0)),  # of a NaN it is open
    "fmod": _calling_with_two(np.fmod),
    "mod": _calling_with_two(np.mod),
    "remainder": _calling_with_two(np.remainder),
    "floor_divide": _calling_with_two(np.floor_divide),
    "divmod": lambda x, y: np.divmod(x, y)[1],
    "power": _calling_with_two(np.power),
    "float_power": _calling_with_two(np.float_power),
    "hypot": _calling_with_two(np.hypot),
    "maximum": lambda x, y: np.maximum(x, y) + 0.0,  # NumPy leaves open which of two zeros it takes
    "minimum": lambda x, y: np.minimum(x, y) + 1.0,
    "fmax": lambda x, y: np.fmax(x, y) + 1.0,
    "fmin": lambda x, y: np.fmin(x, y) + 1.0,
    "copysign": lambda x, y: np.copysign(x, np.where(np.isnan(y), 1.0, y)),
    "heaviside of two": _calling_with_two(np.heaviside),
    "arctan2": _calling_with_two(np.arctan2),
    "logical_and": lambda x, y: np.logical_and(x, y) * 1.0,
    "logical_or": lambda x, y: np.logical_or(x > 1, y) * 1.0,
    "logical_xor": lambda x, y: np.logical_xor(x, y) * 1.0,
    "bitwise_and of truths": lambda x, y: np.bitwise_and(x > 0, y > 0) * 1.0,
    "invert of truths": lambda x, y: np.where(np.invert(x > y), x, y),
    "not_equal": lambda x, y: np.not_equal(x, y) * 1.0,
    "greater_equal": lambda x, y: np.greater_equal(x, y) * 1.0,
    "xor": lambda x, y: np.where((x > 0) ^ (y > 0), x, y),
}


def off_by(got: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """By how many units in the last place results differ; zeros by their sign too."""
    same = ((got == wanted) & ((wanted != 0) | (np.signbit(got) == np.signbit(wanted)))) | (
        np.isnan(got) & np.isnan(wanted)
    )
    off: np.ndarray = np.where(same, 0.0, np.abs(got - wanted) / np.spacing(np.abs(wanted)))
    return np.where(same | ((off > 0) & (off < np.inf)), off, np.inf)


def in_numpy(formula: Formula, *arrays: np.ndarray) -> np.ndarray:
    return np.asarray(formula(*arrays)).astype(np.float64)


@pytest.mark.matrix(share=5)
@pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")
@pytest.mark.parametrize("name", OF_ONE)
def test_of_one(name):
    formula = OF_ONE[name]
    wanted = in_numpy(formula, POINTS)
    got = ogive.operator(types=["float64"])(formula)(POINTS)
    worst = np.argmax(off_by(got, wanted))
    assert off_by(got, wanted)[worst] <= 2, (POINTS[worst], got[worst], wanted[worst])


@pytest.mark.matrix(share=5)
@pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")
@pytest.mark.parametrize("name", OF_TWO)
def test_of_two(name):
    formula = OF_TWO[name]
    wanted = in_numpy(formula, *PAIRS)
    got = ogive.operator(types=["float64"])(formula)(*PAIRS)
    worst = np.argmax(off_by(got, wanted))
    assert off_by(got, wanted)[worst] <= 2, (PAIRS[0][worst], PAIRS[1][worst], got[worst], wanted[worst])


@pytest.mark.matrix(share=5)
@pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")
@pytest.mark.parametrize("name", [*OF_ONE, *OF_TWO])
def test_in_float32(name):
    """In float32 the same, rounded once: NumPy's result in float64 says which number that is, but for ties."""
    formula = OF_ONE.get(name) or OF_TWO[name]
    arrays = (POINTS,) if name in OF_ONE else PAIRS
    short = [array.astype(np.float32) for array in arrays]
    wanted = in_numpy(formula, *(array.astype(np.float64) for array in short)).astype(np.float32)
    got = ogive.operator(types=["float32"])(formula)(*short)
    worst = np.argmax(off_by(got, wanted))
    assert off_by(got, wanted)[worst] <= 1, ([array[worst] for array in short], got[worst], wanted[worst])


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")
def test_sinc():
    """At integers it is 0, where NumPy's sine of a rounded multiple of pi is not."""
    got = ogive.operator(types=["float64"])(lambda x: np.sinc(x))(POINTS)
    near = np.abs(POINTS) < 1e6
    np.testing.assert_allclose(got[near], np.sinc(POINTS[near]), rtol=1e-12, atol=1e-15)
    assert ogive.operator(lambda x: f.sinc(x))([0.0, 1.0, 2.0, -5.0]).tolist() == [1, 0, 0, 0]


def test_functions_of_python():
    """round(), math.floor() and the like ask numbers for what they mean."""
    x = np.array([-2.5, -0.5, 0.5, 1.5, 2.7])
    assert ogive.operator(lambda x: round(x))(x).tolist() == np.rint(x).tolist()
    assert ogive.operator(lambda x: math.floor(x))(x).tolist() == np.floor(x).tolist()
    assert ogive.operator(lambda x: math.ceil(x))(x).tolist() == np.ceil(x).tolist()
    assert ogive.operator(lambda x: math.trunc(x))(x).tolist() == np.trunc(x).tolist()
    assert ogive.operator(lambda x: divmod(x, 1)[1])(x).tolist() == (x % 1).tolist()
    assert ogive.operator(lambda x: pow(x, 2))(x).tolist() == (x * x).tolist()


@pytest.mark.matrix(share=16, pool="slow")
def test_exact_points():
    """Logarithms and powers of powers of the base are exact, roots of cubes too."""
    for kind in (np.float32, np.float64):
        limits = np.finfo(kind)
        exponents = np.arange(limits.minexp - limits.nmant, limits.maxexp)
        powers = np.ldexp(kind(1), exponents)
        name = np.dtype(kind).name
        assert (ogive.operator(types=[name])(lambda x: np.log2(x))(powers) == exponents).all()
        assert (ogive.operator(types=[name])(lambda x: np.exp2(x))(exponents.astype(kind)) == powers).all()
        tens = np.arange(11)
        assert (ogive.operator(types=[name])(lambda x: np.log10(x))((10.0**tens).astype(kind)) == tens).all()
        whole = np.arange(-200, 201).astype(kind)
        assert (ogive.operator(types=[name])(lambda x: np.cbrt(x))(whole**3) == whole).all()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_root_written_as_a_power_has_the_sign_of_a_power(kind):
    """The power of -0 is 0, as in C and Python; NumPy takes the root here, which is -0."""
    x = np.array([-0.0, 0.0, 1e-40, 0.25, 2.0, 7.0, np.inf, np.nan, -1.0], kind)
    with np.errstate(all="ignore"):
        expected = np.float_power(x.astype(np.float64), 0.5).astype(kind)
        found = ogive.operator(types=[np.dtype(kind).name])(lambda x: x**0.5)(x)
    assert np.array_equal(found, np.where(np.isfinite(x) & (x > 0), np.sqrt(np.abs(x)), expected), equal_nan=True)
    assert not np.signbit(found[:2]).any()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("exp2", (7.7,)), ("log2", (1.36,)), ("log10", (1.22,)), ("cbrt", (35.7,)), ("hypot", (1.24e-38, 3.7e-38))],
)
def test_functions_made_of_others_are_right_to_a_unit(name, arguments):
    mpmath = pytest.importorskip("mpmath", reason="the exact values come from mpmath")
    exact = {
        "exp2": lambda x: mpmath.mpf(2) ** x,
        "log2": lambda x: mpmath.log(x, 2),
        "log10": mpmath.log10,
        "cbrt": mpmath.cbrt,
        "hypot": mpmath.hypot,
    }[name]
    random = np.random.default_rng(3)
    for kind in (np.float32, np.float64):
        near = [(value * random.uniform(0.5, 2.0, 200)).astype(kind) for value in arguments]
        calling = _calling if len(arguments) == 1 else _calling_with_two
        formula = calling(getattr(f, name))
        got = ogive.operator(types=[np.dtype(kind).name])(formula)(*near)
        with mpmath.workprec(200):
            for value, *points in zip(got, *near, strict=True):
                unit = float(np.spacing(np.abs(value)))
                assert abs(exact(*(mpmath.mpf(float(p)) for p in points)) - mpmath.mpf(float(value))) < 0.75 * unit


LIMITS: dict[str, Formula] = {
    "isnan": lambda v: np.isnan(v) * 1.0,
    "isinf": lambda v: np.isinf(v) * 1.0,
    "isfinite": lambda v: np.isfinite(v) * 1.0,
    "== inf": lambda v: (v == np.inf) * 1.0,
    "<= inf": lambda v: (v <= np.inf) * 1.0,
    "v == v": lambda v: (v == v) * 1.0,  # NaN
    "fmin": lambda v: np.fmin(v, 2.0),
}


@pytest.mark.matrix(share=7)
@pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")
@pytest.mark.parametrize("kind", ["float64", "float32", "float16"])
@pytest.mark.parametrize("asked", LIMITS)
def test_whether_a_computed_number_is_infinite(asked, kind):
    """On the way infinities may be numbers that are merely large, with corrections that are NaN."""
    x = np.array([0.0, -0.0, 1.0, -2.0, 800.0, -800.0, np.inf, -np.inf, np.nan], dtype=kind)
    made: dict[str, Formula] = {
        **{
            name: _calling(getattr(np, name))
            for name in ("cbrt", "exp", "exp2", "expm1", "sinh", "cosh", "sqrt", "log")
        },
        "power": lambda x: np.power(x, 1.5),
        "difference": lambda x: np.exp(x) - np.exp(-x),
        "quotient": lambda x: (x + 1) / (x - 1),
    }
    for name, inner in made.items():
        value = inner(x.astype(np.float64)).astype(kind)
        formula = _composed(LIMITS[asked], inner)
        got = ogive.operator(types=[kind])(formula)(x)
        np.testing.assert_allclose(got, LIMITS[asked](value), rtol=2e-3, err_msg=name)


def test_numbers_of_numpy_are_exact():
    third = np.longdouble(1) / 3
    assert ogive.operator(lambda x: third * x)(3.0) == 1.0
    assert ogive.operator(lambda x: x * np.float32(0.5) + np.int8(2) + np.True_)(1.0) == 3.5
    assert ogive.operator(lambda x: x + np.array(2.0))(1.0) == 3.0


def test_every_formula_of_the_catalogue_is_traced():
    """Their decorators do not, so that importing them costs nothing."""
    found = OPERATORS.values()
    assert len(found) > 80
    for op in found:
        op.check_formula()
        assert op._formulas


@pytest.mark.parametrize(
    ("function", "dtype"),
    # cosh and sinh of bfloat16 are infinite there: they are numbers of float32 before they are multiplied.
    [("exp", "bfloat16"), *((name, kind) for name in ("exp", "cosh", "sinh") for kind in ("float32", "float64"))],
)
def test_a_small_multiple_of_an_exponential_that_is_too_large(function, dtype):
    """No clamp on the way shows: exp(95) is too large for float32, a thousandth of it is not."""
    kind = element_type(dtype)

    @ogive.operator
    def small(x):
        return 0.001 * getattr(f, function)(x)

    largest = {"float32": 88.0, "bfloat16": 88.0, "float64": 709.0}[dtype]
    x = (largest + np.arange(0, 400, 0.25)).astype(kind.numpy)
    with np.errstate(over="ignore"):
        exact = np.longdouble(0.001) * getattr(np, function)(x.astype(np.longdouble))
    assert error_in_ulp(small(x), exact, kind).max() < 1


@pytest.mark.parametrize("formula", [lambda x: 1 / f.cosh(x), lambda x: x / f.sinh(x)], ids=["cosh", "sinh"])
def test_a_quotient_whose_divisor_keeps_a_power_of_two_apart(formula):
    x = np.float32([0.5, 2.0, 10.0, -40.0, 95.0])
    one = ogive.operator(formula)
    exact = one(x.astype(np.float64))
    assert error_in_ulp(one(x), exact, "float32").max() <= 0.51


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_logarithm_of_a_sum_of_two_tensors(name: str, dtype: Any) -> None:
    """It is the catalogue's operator, beside zero and at infinities too."""
    generator = np.random.default_rng(3)
    x, y = (
        np.concatenate([generator.normal(0, 9, 500), ends]).astype(dtype)
        for ends in ([np.inf, 1, -np.inf], [3, np.nan, 0])
    )
    x[:100] = np.log(np.linspace(0.1, 0.9, 100))
    y[:100] = np.log1p(-np.linspace(0.1, 0.9, 100))
    function = getattr(np, name)
    own = ogive.operator(lambda x, y: function(x, y))
    assert own(x, y).tobytes() == getattr(ogive, name)(x, y).tobytes()
    slope = ogive.grad(own)(dtype(1), dtype(2))
    assert slope == ogive.grad(getattr(ogive, name))(dtype(1), dtype(2))


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_a_power_of_a_half_is_not_a_root_at_minus_zero(kind):
    """IEEE 754's power of -0 is 0, and its root is -0. Mean squares and sums with a constant take the root as it is."""
    x = np.array([-0.0, 0.0, 4.0], kind)
    power = ogive.operator(lambda x: x**0.5)
    assert np.signbit(power(x)).tolist() == [False, False, False]
    assert power(x).tolist() == [0, 0, 2]
    assert ogive.operator(lambda x: -(x**0.5))(x).tolist() == [0, 0, -2]
    assert np.signbit(ogive.operator(lambda x: np.sqrt(x))(x)).tolist() == [True, False, False]
    assert ogive.grad(power)(x).tolist() == [np.inf, np.inf, 0.25]
    (plain,) = ogive.operator(lambda x: (x * x + 1e-5) ** 0.5).formula()
    (root,) = ogive.operator(lambda x: np.sqrt(x * x + 1e-5)).formula()
    assert plain is root


@pytest.mark.parametrize("kind", ["float32", "float16", "float64"])
def test_powers_have_the_special_cases_of_c(kind):
    """Those of C99, F.10.4.4: of computed exponents and constant ones, opposed and in a choice."""
    exponents = np.array([-np.inf, -3.0, -2.5, -2.0, -1.0, -0.5, -0.0, 0.5, 1.0, 1.5, 2.0, 3.0, np.inf, np.nan], kind)
    bases = np.array([-np.inf, -2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0, np.inf, np.nan], kind)
    x, y = (part.ravel() for part in np.meshgrid(bases, exponents))
    _check_power(ogive.operator(types=[kind])(lambda x, y: -((x * 2 * 0.5) ** (y + 0))), x, y, factor=-1)
    for constant in (0.5, -0.5, -1.0, 3.0):
        _check_power(_chosen_power(kind, constant), bases, np.full_like(bases, constant))


def _chosen_power(kind, constant):
    return ogive.operator(types=[kind])(lambda x: np.where(x < 5, np.power(x, constant), -(x**constant) * -1))


def _check_power(power, x, y, factor=1):
    right = factor * np.array([_power_of_c(*pair) for pair in zip(x.tolist(), y.tolist(), strict=True)])
    found = power(*(x, y)[: power.nin])
    where = (right == 0) | ~np.isfinite(right)
    np.testing.assert_array_equal(found[where], right[where])
    where &= ~np.isnan(right)
    np.testing.assert_array_equal(np.signbit(found[where]), np.signbit(right[where]))


def _power_of_c(x, y):
    try:
        return math.pow(x, y)
    except ValueError:  # C has infinities where Python has an error
        is_odd = y % 2 == 1
        return math.nan if x else math.copysign(math.inf, x) if is_odd else math.inf


@pytest.mark.parametrize("target", runnable_targets())
def test_a_number_that_is_not_equal_to_zero_may_lie_on_both_sides_of_it(target):
    """Kernels in pairs of float32 take what a comparison says of an operand: an equality says nothing of other elements."""
    x = np.linspace(-9, 9, 700, dtype=np.float32)
    wide = x.astype(np.float64)
    for formula, right in (
        (lambda x: ogive.logaddexp(0, x), np.logaddexp(0, wide)),
        (lambda x: -ogive.logaddexp(x, 0), -np.logaddexp(0, wide)),
        (lambda x: np.where(np.equal(x, 0), 0.5, np.exp(-abs(x))), np.exp(-abs(wide))),
        (
            lambda x: np.where(np.equal(0, x), 0.5, np.where(x < 0, 3 * x, np.exp(x))),
            np.where(wide < 0, 3 * wide, np.exp(wide)),
        ),
    ):
        op = ogive.operator(types=["float32"])(formula)
        found = make_ufunc("chosen", op.program(op.signatures[0]), runnable_targets()[target])(x)
        assert np.array_equal(found, right.astype(np.float32))
