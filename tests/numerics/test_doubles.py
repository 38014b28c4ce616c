"""float64: correctly rounded results, in the range of the mathematics, judged by enclosures."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import ogive
from ogive import formula as f
from ogive.common.dtypes import ELEMENT_TYPES
from ogive.enclosures.enclosure import right_result
from ogive.lowering.lower import lower
from ogive.operators.operator import Operator
from ogive.runtime.kernels import make_ufunc

DOUBLE = ELEMENT_TYPES["float64"]


def is_right(op: Operator, *operands: float) -> bool:
    """Whether a result is the nearest number."""
    (root,) = op.formula(for_doubles=True)
    numbers = {p.name: float(p.default) for p in op.parameters if isinstance(p.default, (int, float))}
    right, _ = right_result(root, operands, numbers, DOUBLE, bits=64)
    with np.errstate(all="ignore"):
        result = float(op(*map(np.float64, operands)))
    assert math.isfinite(result)
    return result == right and math.copysign(1, result) == math.copysign(1, right)


Formula = Callable[[Any], Any]

#: Formulas that lost bits, or left the range, with operands where they did.
FORMULAS: dict[str, tuple[Formula, tuple[float, ...]]] = {
    "Gompertz": (lambda x: np.exp(-np.exp(-x)), (-5.93, -6.5, -3.2, 0.1, 2.0)),
    "of constants": (lambda x: 2 * np.exp(-3 * np.exp(-0.7 * x)), (-5.0, -6.5, 1.0)),
    "expm1 exp": (lambda x: np.expm1(x) * np.exp(-x), (1532.0, 800.0, 1e-300, -3.0)),
    "sqrt exp": (lambda x: np.sqrt(np.exp(x)), (-800.0, -1400.0, 800.0, 1.5)),
    "log cosh": (lambda x: np.log(np.cosh(x)), (720.0, 1e5, 3.0, -0.7)),
    "atan2": (lambda x: np.arctan2(np.exp(x), 2 * np.exp(x)), (720.0, -800.0, 1.0)),
    "hypot": (lambda x: np.hypot(np.exp(x), 1) / np.exp(x), (700.0, 1.0, -3.0)),
    "gelu": (lambda x: 0.5 * x * (1 + ogive.erf(x / np.sqrt(2.0))), (-5.0, -8.0, -0.5, 3.0)),
    "cosine": (lambda x: np.cos(np.exp(x)), (3.0, 10.0, 20.0)),
    "sine": (lambda x: np.sin(x * x), (1e5, 3e7, 123.456)),
    "nearly one": (lambda x: np.tanh(np.exp(x)), (-740.0, -1.0, 3.0)),
    "scaled tail": (lambda x: np.exp(x * x) * ogive.erfc(x), (1.0, 27.4, 27.6, 30.0, 500.0)),
    "Mills": (lambda x: ogive.ndtr(x) * np.exp(x * x / 2), (-1.0, -38.0, -39.0, -45.0, -500.0)),
    "gelu' times a large number": (
        lambda x: 1e300 * (ogive.ndtr(x) + x * np.exp(-x * x / 2) / np.sqrt(2 * np.pi)),
        (-40.0,),
    ),
    "Cauchy": (lambda x: 0.5 + np.arctan(x) / np.pi, (-3.0, 2.0, -1e5)),
}


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_are_correctly_rounded(name: str) -> None:
    formula, operands = FORMULAS[name]
    op = ogive.operator(lambda x: formula(x))
    for x in operands:
        assert is_right(op, x), x


#: Derivatives beside their zeros, and functions where they were the worst.
HARD: dict[str, tuple[Callable[[], Operator], tuple[float, ...]]] = {
    "log_ndtr'": (lambda: ogive.grad(ogive.log_ndtr), (-30.0007, -5.0, 1.0)),
    "gelu'": (lambda: ogive.grad(ogive.gelu), (-0.7517915246935645, -0.75)),
    "swish'": (lambda: ogive.grad(ogive.swish), (-1.2784645427610738, -1.2785)),
    "mish'": (lambda: ogive.grad(ogive.mish), (-1.1924312145154155, -1.1924)),
    "serf'": (lambda: ogive.grad(ogive.serf), (-1.0, -0.99)),
    "xielu": (lambda: ogive.xielu, (-2.4325, -2.43)),
    "gelu": (lambda: ogive.gelu, (-1.3789562408188765, -37.5)),
    "erf": (lambda: ogive.erf, (-7.886878083778927e-308, 0.3)),
    "erfc": (lambda: ogive.erfc, (26.5, 0.058336027519473976)),
    "tanh": (lambda: ogive.tanh, (0.18279201427720282, 1e-310)),
}


@pytest.mark.parametrize("name", HARD)
def test_operators_and_derivatives_are_too(name: str) -> None:
    make, operands = HARD[name]
    op = make()
    for x in operands:
        for near in (x, math.nextafter(x, math.inf), math.nextafter(x, -math.inf)):
            assert is_right(op, near), near


#: Choices and whole numbers of sums and products whose powers of two are kept apart: what they lie beyond is, too.
BESIDE_POWERS: tuple[Formula, ...] = (
    lambda x: ogive.parametric_hard_swish(x, alpha=0.25, beta=0.5),
    lambda x: np.where(x * 0.25 + 0.5 < 1, x, -x),
    lambda x: np.floor(x * x + 0.5),
    lambda x: np.ceil(1 - x * x),
    lambda x: np.where((x * x + 2) * 0.25 > 0.5, x, -x),
    lambda x: np.ceil(np.exp(x) * 0.25),
)


@pytest.mark.parametrize("formula", BESIDE_POWERS)
def test_what_a_number_lies_beyond_has_its_power_of_two(formula: Formula) -> None:
    op = ogive.operator(lambda x: formula(x))
    random = np.random.default_rng(2)
    for x in (np.ldexp(random.uniform(1, 2, 30), random.integers(-1074, 3, 30)) * random.choice([-1, 1], 30)).tolist():
        assert is_right(op, x), x


#: Functions of quotients next to where they are singular, or where they cross a limit: there the quotient's second word counts.
BESIDE: dict[str, tuple[float, Formula, Callable[[Any], Any]]] = {
    "log1p": (-1, np.log1p, lambda u: u.log1p()),
    "log": (1, np.log, lambda u: u.log()),
    "atanh": (1, np.arctanh, lambda u: u.atanh()),
    "asin": (1, np.arcsin, lambda u: u.asin()),
    "acosh": (1, np.arccosh, lambda u: u.acosh()),
    "erfinv": (1, ogive.erfinv, lambda u: u.erfinv()),
    "tan": (math.pi / 2, np.tan, lambda u: u.tan()),
    "sin": (math.pi, np.sin, lambda u: u.sin()),
    "a root": (1, lambda u: np.sqrt(1 - u * u), lambda u: (1 - u * u).sqrt()),
    "a power": (1, lambda u: u**1000.5, lambda u: u ** (type(u)(2001) / 2)),
}


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("name", BESIDE)
def test_functions_of_quotients_are_correctly_rounded_next_to_their_singularities(name: str) -> None:
    import flint

    place, formula, in_balls = BESIDE[name]
    op = ogive.operator(lambda x: formula(x / 700))
    random = np.random.default_rng(5)
    x = (
        700
        * place
        * (1 + np.ldexp(random.uniform(1, 2, 400), random.integers(-52, -3, 400)) * random.choice([-1, 1], 400))
    )
    with np.errstate(all="ignore"):
        found = op(x)
    precision, flint.ctx.prec = flint.ctx.prec, 400
    try:
        for value, result in zip(x.tolist(), found.tolist(), strict=True):
            exact = in_balls(flint.arb(value) / 700)
            if exact.is_finite():
                mantissa, exponent = exact.mid().man_exp()
                assert result == float(Fraction(int(mantissa)) * Fraction(2) ** int(exponent)), value
    finally:
        flint.ctx.prec = precision


def composed(outer: Formula, inner: Formula) -> Formula:
    return lambda x: outer(inner(x))


LARGEST = {"float64": 1.7976931348623157e308, "float32": 3.4028234e38, "bfloat16": 3.3e38, "float16": 65504.0}


@pytest.mark.matrix("function", share=3)
@pytest.mark.parametrize("function", ["sin", "cos", "tanh", "sigmoid", "erf"])
@pytest.mark.parametrize("dtype", LARGEST)
def test_bounded_functions_of_computed_operands_stay_in_their_range(function: str, dtype: str) -> None:
    outer = getattr(ogive, function)
    largest = LARGEST[dtype]
    x = np.append(np.geomspace(1e-5, largest / 2, 700), largest).astype(ELEMENT_TYPES[dtype].numpy)
    x = np.concatenate([x, -x])
    for inner in (lambda a: a * 1.1, lambda a: a * a, lambda a: np.exp(a), lambda a: np.sinh(a) + a, lambda a: a**3):
        result = ogive.operator(composed(outer, inner))(x).astype(np.float64)
        known = result[~np.isnan(result)]
        assert known.size > 30
        assert np.all(np.abs(known) <= 1), (function, dtype)
        if function == "sigmoid":
            assert np.all(known >= 0)


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize(
    ("formula", "exponents"),
    [
        (lambda x: 5 * (x - np.tanh(x)), (-110, -9)),
        (lambda x: np.sqrt(x * x + 1) - 1, (-510, -9)),
        (lambda x: np.exp(x) - 1 - x, (-510, -9)),
        (lambda x: (1 - np.cos(x)) / (x * x), (-300, -9)),
        (lambda x: x * ogive.gelu(x), (-510, -9)),
        (lambda x: np.sin(x) - x * np.cos(x), (-300, -9)),
    ],
)
def test_formulas_that_cancel_next_to_zero_are_decided_at_once(formula: Formula, exponents: Any, asked: Any) -> None:
    """The first terms of their series are right to 100 bits; one element in a hundred at most is left to enclosures."""
    op = ogive.operator(lambda x: formula(x))
    (root,) = op.formula(for_doubles=True)
    random = np.random.default_rng(1)
    x = np.ldexp(random.uniform(1, 2, 4096), random.integers(*exponents, 4096)) * random.choice([-1, 1], 4096)
    found = op(x)
    assert len(asked) <= 40
    for place in range(0, 4096, 64):
        right, _ = right_result(root, [float(x[place])], {}, DOUBLE, bits=64)
        assert found[place] == right, x[place]


@pytest.mark.matrix(share=16, pool="slow")
def test_ordinary_results_are_those_of_mpfr() -> None:
    """None of 40,000 results is misrounded: formulas in the words of MPFR."""
    gmpy2 = pytest.importorskip("gmpy2")
    words = {
        "exp": gmpy2.exp,
        "tanh": gmpy2.tanh,
        "sigmoid": lambda v: 1 / (1 + gmpy2.exp(-v)),
        "softplus": lambda v: gmpy2.log1p(gmpy2.exp(v)),
        "gelu": lambda v: v * gmpy2.erfc(-v / gmpy2.sqrt(gmpy2.mpfr(2))) / 2,
        "sin": gmpy2.sin,
        "erf": gmpy2.erf,
        "mish": lambda v: v * gmpy2.tanh(gmpy2.log1p(gmpy2.exp(v))),
    }
    x = np.random.default_rng(11).normal(0, 2, 5000)
    with gmpy2.context(precision=300):
        for name, compute in words.items():
            right = np.array([float(compute(gmpy2.mpfr(v))) for v in x.tolist()])
            assert np.array_equal(getattr(ogive, name)(x), right), name


#: Operators whose first kernel is of moderate operands alone, with their parameters.
MODERATE = {
    "star_relu": (1.5, 0.25),
    "parametric_hard_swish": (0.5, 0.25),
    "swiglu": (1.5,),
    "reciprocal'": (),
    "xielu": (0.75, 0.5, 0.5),
}


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("name", MODERATE)
def test_moderate_elements_have_the_same_bits_beside_any_others(name: str) -> None:
    """The first kernel decides nothing otherwise than its retry, which takes whole chunks where many elements are large."""
    op: Operator = getattr(ogive, name.rstrip("'"))
    op = ogive.grad(op) if name.endswith("'") else op
    double = ELEMENT_TYPES["float64"]
    types = [double] * op.inputs
    made = lower(op.formula(for_doubles=True), types, [double], parameter_count=len(op.parameters))
    assert not made.later[0].has_mask
    parameters = MODERATE[name]
    first = make_ufunc("moderate", made, parameters=parameters)
    retry = make_ufunc("of_any_size", made.later[0].make(), parameters=parameters)
    generator = np.random.default_rng(7)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1e308, -1e308, 2.0**59, -(2.0**60), 340.0, -341.0])
    ordinary = generator.normal(0, 3, 20_000)
    sparse = np.where(generator.random(20_000) < 0.01, generator.choice(special, 20_000), ordinary)
    spread = np.ldexp(generator.normal(0, 1, 20_000), generator.integers(-1074, 1024, 20_000))
    operands = [np.concatenate([special, ordinary, sparse, spread]) for _ in types]
    operands = [np.roll(values, 7 * i) for i, values in enumerate(operands)]
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(first(*operands).view(np.int64), retry(*operands).view(np.int64))


@pytest.mark.matrix(share=16, pool="slow")
def test_a_closed_gate_is_decided_by_the_first_kernel() -> None:
    """Where a number is clamped to a constant, its bound is nothing: the sixth of elements below -3 were repaired."""

    @ogive.operator
    def gated(x):  # a formula of its own
        return x * np.maximum(0, np.minimum(0.1875 * x + 0.5, 1))

    gated(np.linspace(-40.0, 40.0, 1 << 12))
    row = next(row for row in ogive.runtime.statistics() if row.operator == "gated" and "float64" in row.types)
    assert row.elements == 1 << 12
    assert row.repaired <= 3  # beside the corner


#: Formulas that underflow for large negative operands, and the zeros that they are.
UNDERFLOWING: dict[str, tuple[Callable[[Any], Any], float]] = {
    "exp": (lambda x: f.exp(x), 0.0),
    "-exp / 3": (lambda x: -f.exp(x) / 3, -0.0),
    "sigmoid": (lambda x: ogive.sigmoid(x), 0.0),
    "silu": (lambda x: ogive.silu(x), -0.0),
    "-mish": (lambda x: -ogive.mish(x), 0.0),
    "exp(-x * x)": (lambda x: f.exp(-x * x), 0.0),
    "where": (lambda x: f.where(x < 0, -f.exp(x), x), -0.0),
}


def repaired() -> int:
    """The elements of float64 that have been repaired so far, of all operators: equal formulas share a kernel, and its name."""
    return sum(row.repaired for row in ogive.runtime.statistics() if "float64" in row.types)


@pytest.mark.parametrize("name", UNDERFLOWING)
def test_what_underflows_is_not_repaired(name: str) -> None:
    """Beyond -745 every element was repaired, in 14 to 28 times the ordinary time."""
    formula, zero = UNDERFLOWING[name]

    op, before = ogive.operator(lambda x: formula(x)), repaired()
    x = np.concatenate([np.linspace(-5000.0, -780.0, 4000), -np.geomspace(5000.0, 1e308, 96)])
    found = op(x)
    assert not found.any()
    assert (np.signbit(found) == np.signbit(zero)).all()
    assert repaired() - before <= x.size // 20  # what lies beside a tie before it is scaled


@pytest.mark.parametrize("first", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("name", ["exp", "gelu", "tanh", "cos", "hypot", "huber_loss"])
def test_a_gradient_that_is_no_number_needs_no_enclosure(name, first, asked):
    op = ogive.vjp(getattr(ogive, name))
    others = np.random.default_rng(3).standard_normal((len(op.tensors) - 1, 200))
    with np.errstate(all="ignore"):
        op(np.full(200, first), *others)
    assert not asked


@pytest.mark.matrix(share=16, pool="slow")
def test_powers_of_negative_numbers_need_no_enclosure(asked):
    """Their exponents are no whole numbers, and in the derivative they are computed."""
    rng = np.random.default_rng(4)
    x, y = -np.abs(rng.standard_normal(200)) - 0.1, rng.integers(-9, 9, 200) + rng.uniform(0.01, 0.99, 200)
    with np.errstate(all="ignore"):
        for result in ogive.vjp(ogive.pow)(np.ones(200), x, y):
            assert np.isnan(result).all()
    assert not asked


#: Results near the ends of float64's range that were wrong, with their operands.
MENDED = {
    "a product that overflows beside its power of two": ("glu' (1)", (1.7944833205189058e308, 12.3356045806279)),
    "a tail that is nearly subnormal": ("log_ndtr", (37.44774681670127,)),
    "a sum with what is less than the smallest number": ("logaddexp", (-745.0000009894193, -7.418689856388881e-308)),
}


@pytest.mark.parametrize("case", MENDED)
def test_results_near_the_ends_of_the_range(case: str) -> None:
    name, operands = MENDED[case]
    op: Operator = getattr(ogive, name.split("'")[0])
    op = ogive.grad(op, 1) if "'" in name else op
    assert is_right(op, *operands)
