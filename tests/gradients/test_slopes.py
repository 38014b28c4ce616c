"""The first three derivatives of everything that has a rule, from 1e-30 to the largest numbers, beside power series of balls.

The definitions are written once more, in Arb's words: a series of a definition at a point has its derivatives, with bounds and
signs, however small they are.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import flint
import ml_dtypes
import numpy as np
import pytest

import ogive
from ogive.catalog import OPERATORS
from ogive.differentiation.partials import FLAT, PARTIALS
from ogive.enclosures.enclosure import nearest
from ogive.gradients.registered import RULES
from ogive.graph.elementary_functions import ANGLE_SLOPES, HYPOT_SLOPES

BITS = 4000

# ---- definitions. A number is a ball or a series of balls; `at` is the ball itself, which decides branches


def at(x: Any) -> Any:
    return x[0] if isinstance(x, flint.arb_series) else x


def exp(x: Any) -> Any:
    return x.exp()


def log(x: Any) -> Any:
    return x.log()


def root(x: Any) -> Any:
    return x.sqrt()


def number(x: Any) -> Any:
    if isinstance(x, flint.arb | flint.arb_series):
        return x
    q = Fraction(x)
    return flint.arb(q.numerator) / q.denominator


def pi() -> Any:
    return flint.arb.pi()


def sigmoid(x: Any) -> Any:
    return 1 / (1 + exp(-x))


def softplus(x: Any) -> Any:
    return log(1 + exp(x)) if at(x) < 0 else x + log(1 + exp(-x))


def tanh(x: Any) -> Any:
    return 1 - 2 / (1 + exp(2 * x))


def ndtr(x: Any) -> Any:
    return (-x / root(flint.arb(2))).erfc() / 2


def gelu(x: Any, approximate: str) -> Any:
    if approximate == "none":
        return x * ndtr(x)
    return x * sigmoid(2 * root(2 / pi()) * (x + number(Fraction(0.044715)) * x * x * x))


def mish(x: Any) -> Any:
    e = exp(x)
    return x * (e * (e + 2) / (e * (e + 2) + 2) if at(x) < 0 else 1 - 2 / (e * (e + 2) + 2))


def serf(x: Any) -> Any:
    return x * softplus(x).erf() if at(x) < 1 else x * (1 - softplus(x).erfc())


def log_ndtr(x: Any) -> Any:
    return log(ndtr(x))


def expm1(x: Any) -> Any:
    return exp(x) - 1


def magnitude(x: Any) -> Any:
    return -x if at(x) < 0 else x


def asinh(x: Any) -> Any:
    found = log(magnitude(x) + root(x * x + 1))
    return -found if at(x) < 0 else found


def cbrt(x: Any) -> Any:
    found = exp(log(magnitude(x)) / 3)
    return -found if at(x) < 0 else found


def erfinv(x: Any) -> Any:
    """By the derivatives of an inverse function: y' is sqrt(pi) / 2 exp(y**2)."""
    y = at(x).erfinv()
    first = root(pi()) / 2 * exp(y * y)
    second = 2 * y * first * first
    third = 2 * first * first * first + 4 * y * first * second
    return flint.arb_series([y, first, second / 2, third / 6])


def unless(condition: bool, a: Any, b: Any) -> Any:
    return b if condition else a


def between(x: Any, low: Any, high: Any) -> Any:
    return low if at(x) < at(low) else high if at(x) > at(high) else x


def hard_gate(x: Any, alpha: Any, beta: Any) -> Any:
    return between(alpha * x + beta, number(0), number(1))


def atan2(y: Any, x: Any) -> Any:
    """But for a constant, by the larger one of y / x and x / y."""
    return (y / x).atan() if abs(at(y)) < abs(at(x)) else -(x / y).atan()


def larger(a: Any, b: Any) -> Any:
    return a if at(a) > at(b) else b


def smaller(a: Any, b: Any) -> Any:
    return a if at(a) < at(b) else b


def whole(x: Any) -> Any:
    """The integer part."""
    return flint.arb(at(x).floor().unique_fmpz() if at(x) > 0 else -(-at(x)).floor().unique_fmpz())


DEFINITIONS: dict[str, Callable[..., Any]] = {
    "abs": magnitude,
    "acos": lambda x: x.acos(),
    "acosh": lambda x: log(x + root(x - 1) * root(x + 1)),
    "add": lambda a, b: a + b,
    "asin": lambda x: x.asin(),
    "asinh": asinh,
    "atan": lambda x: x.atan(),
    "atan2": atan2,
    "atanh": lambda x: (log(1 + x) - log(1 - x)) / 2,
    "binary_cross_entropy_with_logits": lambda x, target: softplus(x) - target * x,
    "cbrt": cbrt,
    "celu": lambda x, alpha: unless(at(x) < 0, x, alpha * expm1(x / alpha)),
    "clamp": lambda x, **ends: between(x, ends["min"], ends["max"]),
    "clip": lambda x, low, high, wins: (
        smaller(larger(x, low), high) if wins == "max" else larger(smaller(x, high), low)
    ),
    "copysign": lambda x, sign: magnitude(x) if at(sign) > 0 else -magnitude(x),
    "cos": lambda x: x.cos(),
    "cosh": lambda x: (exp(x) + exp(-x)) / 2,
    "div": lambda a, b: a / b,
    "erf": lambda x: x.erf(),
    "erfc": lambda x: x.erfc(),
    "erfinv": erfinv,
    "exp": exp,
    "exp2": lambda x: exp(x * log(flint.arb(2))),
    "expm1": expm1,
    "fmax": larger,
    "fmin": smaller,
    "geglu": lambda a, b, approximate: gelu(a, approximate) * b,
    "gelu": gelu,
    "glu": lambda a, b: a * sigmoid(b),
    "hard_mish": lambda x: unless(at(x) < 0, x, x * between(x + 2, number(0), number(2)) / 2),
    "hard_sigmoid": hard_gate,
    "hard_swish": lambda x: x * hard_gate(x, number(Fraction(1, 6)), number(Fraction(1, 2))),
    "derf": lambda x, weight, bias, alpha, shift: weight * (alpha * x + shift).erf() + bias,
    "dyt": lambda x, weight, bias, alpha: weight * tanh(alpha * x) + bias,
    "hypot": lambda a, b: root(a * a + b * b),
    "kl_div": lambda x, target: target * (log(target) - x),
    "log": log,
    "log10": lambda x: log(x) / log(flint.arb(10)),
    "log1mexp": lambda x: log(1 - exp(-x)),
    "log1p": lambda x: log(1 + x),
    "log2": lambda x: log(x) / log(flint.arb(2)),
    "log_ndtr": log_ndtr,
    "log_sigmoid": lambda x: -softplus(-x),
    "logaddexp": lambda a, b: b + softplus(a - b),
    "logaddexp2": lambda a, b: b + softplus((a - b) * log(flint.arb(2))) / log(flint.arb(2)),
    "logit": lambda x: log(x) - log(1 - x),
    "max": larger,
    "min": smaller,
    "mish": mish,
    "modulus_truncate": lambda a, b: a - whole(at(a) / at(b)) * b,
    "mul": lambda a, b: a * b,
    "ndtr": ndtr,
    "neg": lambda x: -x,
    "parametric_hard_swish": lambda x, alpha, beta: x * hard_gate(x, alpha, beta),
    "parametric_softplus": lambda x, alpha, beta: alpha * softplus(beta * x),
    "pow": lambda x, y: exp(log(x) * y),
    "scaled_tanh": lambda x, alpha, beta: alpha * tanh(beta * x),
    "serf": serf,
    "sigmoid": sigmoid,
    "sin": lambda x: x.sin(),
    "sinh": lambda x: (exp(x) - exp(-x)) / 2,
    "snake": lambda x, alpha: x + (alpha * x).sin() * (alpha * x).sin() / alpha,
    "softcap": lambda x, cap: cap * tanh(x / cap),
    "softplus": lambda x, steepness: softplus(steepness * x) / steepness,
    "softsign": lambda x: x / (1 + magnitude(x)),
    "sparse_plus": lambda x: number(0) if at(x) < -1 else x if at(x) > 1 else (x + 1) * (x + 1) / 4,
    "sqrt": root,
    "squareplus": lambda x, b: (x + root(x * x + b)) / 2 if at(x) > 0 else b / (root(x * x + b) - x) / 2,
    "sub": lambda a, b: a - b,
    "swiglu": lambda a, b, alpha: a * sigmoid(alpha * a) * b,
    "swish": lambda x, alpha: x * sigmoid(alpha * x),
    "tan": lambda x: x.tan(),
    "tanh": tanh,
    "tanhshrink": lambda x: x - tanh(x),
    "threshold": lambda x, **ends: larger(x, ends["min"]),
    "xielu": lambda x, alpha_p, alpha_n, beta: (
        alpha_p * x * x + beta * x if at(x) > 0 else alpha_n * (expm1(x) - x) + beta * x
    ),
}

#: Steps, whose derivatives are zero or those of a number; tests/gradients/test_kinks.py has them.
STEPS = {"mod", "modulus_floor", "round", "shrink", "sign"}

#: By kind of node: an operator whose derivatives need the rule, where it has another name.
OPERATORS_OF_NODES = {
    "add": "add",
    "bell": "erf",
    "copy_sign": "copysign",
    "divide": "div",
    "exp_bend": "celu",
    "gate_slope": "swish",
    "logistic": "sigmoid",
    "logistic_slope": "sigmoid",
    "mish_slope": "mish",
    "multiply": "mul",
    "negate": "neg",
    "normal_density": "ndtr",
    "normal_gate_slope": "gelu",
    "normal_hazard": "log_ndtr",
    "normal_hazard_slope": "log_ndtr",
    "normal_tail": "ndtr",
    "nothing": "atan",
    "power": "pow",
    "remainder": "modulus_truncate",
    "serf_slope": "serf",
    "square_root": "sqrt",
    "subtract": "sub",
    "tanh_gate_bend": "gelu",
    "tanh_gate_slope": "gelu",
    "tanh_slope": "tanh",
    **{operation.name: "hypot" for operation in HYPOT_SLOPES.values()},
    **{operation.name: "atan2" for operation in ANGLE_SLOPES.values()},
}


def test_everything_has_a_definition():
    assert set(RULES) - STEPS <= DEFINITIONS.keys()
    named = {OPERATORS_OF_NODES.get(kind, kind) for kind in set(PARTIALS) - FLAT - {"row_sum"}}
    assert named <= DEFINITIONS.keys()


# ---- points and results

#: Magnitudes from next to zero to where numbers end.
SIZES = (1e-30, 1e-3, 0.3, 0.8, 1.7, 5.3, 16.02, 40.5, 102.449, 790.0, 1500.0, 1e6, 1e10, 1e20, 1e37)
LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38, "float64": 1e300}
TYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32, "float64": np.float64}

#: Other operands and parameters.
OTHERS = (1.25, -0.75, 0.4375)
PARAMETERS = {
    "alpha": 1.25,
    "alpha_n": 1.0,
    "alpha_p": 0.75,
    "b": 4.0,
    "beta": 0.75,
    "cap": 30.0,
    "min": -1.0,
    "max": 1.0,
    "shift": 0.25,
    "steepness": 1.5,
}


def choices_of(op: Any) -> Iterator[dict[str, str]]:
    selecting = [parameter for parameter in op.parameters if parameter.choices]
    for chosen in itertools.product(*(parameter.choices for parameter in selecting)):
        yield {parameter.name: choice for parameter, choice in zip(selecting, chosen, strict=True)}


def cases() -> Iterator[tuple[str, str, dict[str, str]]]:
    for name in DEFINITIONS:
        op = OPERATORS[name]
        for wrt in (*op.tensors, *(p.name for p in op.numeric_parameters)):
            for choices in choices_of(op):
                yield name, wrt, choices


CASES = [*cases()]
IDS = ["-".join((name, wrt, *choices.values())) for name, wrt, choices in CASES]


def points(dtype: str, wrt: str, op: Any) -> np.ndarray:
    if wrt not in op.tensors:  # a parameter: about its usual value
        return np.array([PARAMETERS[wrt] * factor for factor in (0.25, 0.5, 1.0, 2.0)])
    sizes = np.array([*(size for size in SIZES if size < LARGEST[dtype]), LARGEST[dtype]])
    with np.errstate(under="ignore"):
        found = np.concatenate([sizes, -sizes]).astype(TYPES[dtype])
    return found[found != 0]


def ends(value: Any, order: int, dtype: str) -> tuple[float, float] | None:
    """Both ends of an enclosed derivative, rounded; None where the series has no bound."""
    coefficients = [*value] if isinstance(value, flint.arb_series) else [value]
    found = coefficients[order] if order < len(coefficients) else flint.arb(0)
    found = found * math.factorial(order)
    if not found.is_finite():
        return None
    if found == 0:  # of any sign
        return -0.0, 0.0
    results = []
    for end in (found.lower(), found.upper()):
        mantissa, exponent = (int(part) for part in end.man_exp())
        size, sign = mantissa.bit_length() + exponent, 1 if mantissa > 0 or found > 0 else -1
        if mantissa == 0 or size < -3000:
            results.append(math.copysign(0.0, sign))
        elif size > 3000:
            results.append(math.copysign(math.inf, sign))
        else:
            q = Fraction(mantissa) * Fraction(2) ** exponent
            results.append(nearest(q.numerator, q.denominator, dtype))
    return results[0], results[1]


def wrong(name: str, wrt: str, choices: dict[str, str], dtype: str, order: int) -> tuple[list[str], int]:
    """The points where the derivative of this order is not the right one, and at how many it is known."""
    op = OPERATORS[name]
    slope = op
    for _ in range(order):
        slope = ogive.grad(slope, wrt)
    values = points(dtype, wrt, op)
    given = dict(zip((t for t in op.tensors if t != wrt), OTHERS, strict=False))
    numbers = {p.name: PARAMETERS[p.name] for p in op.numeric_parameters if p.name != wrt}
    found, checked = [], 0
    for x in values:
        operands = [TYPES[dtype](x if t == wrt else given[t]) for t in op.tensors]
        if wrt not in op.tensors:
            operands[0] = TYPES[dtype](-0.75 if name in ("celu", "parametric_softplus") else 0.75)
        with np.errstate(all="ignore"):
            result = float(slope(*operands, **numbers, **({} if wrt in op.tensors else {wrt: float(x)}), **choices))
        right = right_ends(name, wrt, choices, order, dtype, float(x), operands, numbers)
        if right is None or (math.isnan(result) and right[0] != right[1]):
            continue
        low, high = right
        checked += 1
        if dtype == "float64" and order == 3 and low == high == 0 and not result:
            continue  # a sum of underflowed terms has the sign that float64 gives it
        if not is_right(result, low, high):
            found.append(f"{name} {wrt} {choices} {dtype} {order}: at {float(x)!r} {result!r}, right {low!r} {high!r}")
    return found, checked


def right_ends(
    name: str, wrt: str, choices: Any, order: int, dtype: str, x: float, operands: Any, numbers: Any
) -> tuple[float, float] | None:
    op = OPERATORS[name]
    before = flint.ctx.prec, flint.ctx.cap
    flint.ctx.prec, flint.ctx.cap = BITS, 4
    try:
        moving = flint.arb_series([number(x), 1], 4)
        arguments = [
            moving if t == wrt else number(float(operand)) for t, operand in zip(op.tensors, operands, strict=True)
        ]
        parameters = {
            n: moving if n == wrt else number(v) for n, v in (numbers | ({} if wrt in op.tensors else {wrt: x})).items()
        }
        try:
            value = DEFINITIONS[name](*arguments, **parameters, **choices)
        except (ValueError, ZeroDivisionError, TypeError):
            return None
        return ends(value, order, dtype)
    finally:
        flint.ctx.prec, flint.ctx.cap = before


@pytest.mark.matrix("name", share=40)
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize(("name", "wrt", "choices"), CASES, ids=IDS)
def test_derivatives_at_all_sizes(name: str, wrt: str, choices: dict[str, str], order: int) -> None:
    """They are the nearest numbers, with the sign of a zero."""
    for dtype in TYPES:
        if not any(signature.outputs[0].name == dtype for signature in OPERATORS[name].signatures):
            continue
        found, checked = wrong(name, wrt, choices, dtype, order)
        assert not found, "\n".join(found)
        assert checked >= 3  # logit has a third of the points in its domain


def is_right(result: float, low: float, high: float) -> bool:
    if low == high == 0 and math.copysign(1, low) == math.copysign(1, high):
        return result == 0 and math.copysign(1, result) == math.copysign(1, low)
    return low <= result <= high or (math.isnan(result) and math.isnan(low))


# ---- inside formulas


#: Slopes of formulas, where, and what they are: the derivative of log(sigmoid(x)) is sigmoid(-x), and so on.
OF_FORMULAS: tuple[tuple[Callable[[Any], Any], float, float], ...] = (
    (lambda x: ogive.formula.log(ogive.sigmoid(x)), -1500.0, 1.0),
    (lambda x: ogive.formula.square_root(ogive.sigmoid(x)), -3000.0, 0.0),
    (lambda x: ogive.formula.log(ogive.erfc(x)), 150.0, -300.00666),
    (lambda x: ogive.formula.log(1 - ogive.tanh(x)), 800.0, -2.0),
    (lambda x: ogive.formula.log(ogive.ndtr(x)), -150.0, 150.00667),
    (lambda x: ogive.formula.log(ogive.softplus(x)), -900.0, 1.0),
)


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize(("formula", "x", "right"), OF_FORMULAS)
def test_slopes_in_formulas(formula: Callable[[Any], Any], x: float, right: float) -> None:
    """A factor that no format holds has a logarithm, a root and quotients."""
    make = ogive.operator(types=["float16", "bfloat16", "float32"])
    slope, opposite = (ogive.grad(make(made)) for made in (formula, lambda x: -formula(x)))
    for dtype in (np.float16, ml_dtypes.bfloat16, np.float32):
        operand = np.array(x, dtype)
        assert slope(operand) == np.array(right, dtype)
        assert opposite(operand) == -np.array(right, dtype)


def test_the_slope_of_log_ndtr_is_no_short_series() -> None:
    x = np.array([-30.0007, -30.16327857901085, -31.25, -37.5, -59.0, -100.0, -101.0])
    for value, found in zip(x, ogive.grad(ogive.log_ndtr)(x), strict=True):
        low, high = right_ends("log_ndtr", "x", {}, 1, "float64", float(value), [value], {}) or (math.nan, math.nan)
        assert low <= found <= high or abs(found - low) <= math.ulp(low)


#: Activations of which gradient penalties take second derivatives, and data far out.
SATURATED = (
    "gelu",
    "swish",
    "mish",
    "serf",
    "tanh",
    "sigmoid",
    "softplus",
    "erf",
    "log_ndtr",
    "logaddexp2",
    "squareplus",
)
FAR = ((12.0, 40.0), (80.0, 110.0), (500.0, 3000.0), (1e4, 1e30))


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("name", SATURATED)
def test_saturated_second_derivatives_are_not_left_to_enclosures(name: str) -> None:
    """An enclosure takes 0.1 ms: beside that of a gradient and a second derivative the kernels know what is rounded to zero."""
    from ogive.runtime import statistics

    op, rng = OPERATORS[name], np.random.default_rng(12)
    numbers = {p.name: PARAMETERS[p.name] for p in op.numeric_parameters}
    for choices in choices_of(op):
        second = ogive.vjp(ogive.grad(op), wrt=[op.tensors[0]])
        before = sum(row.enclosed for row in statistics())
        for low, high in FAR:
            x = (rng.uniform(low, high, 200) * rng.choice([-1, 1], 200)).astype(np.float32)
            given, *others = (rng.normal(size=200).astype(np.float32) for _ in range(op.nin))
            second(given, x, *others, **numbers, **choices)
        assert sum(row.enclosed for row in statistics()) - before <= 20
