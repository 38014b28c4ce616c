"""The formulas of the catalogue are their definitions: where an operator's own results no longer show it, too.

A result of gelu at -41 is a zero, and its logarithm inside a formula is -841.4. Lowering computes forms of the definitions
(lowering/forms.py), so formulas around the operators are compared with the oracle's words for them here, on every instruction set.
Enclosures evaluate the definitions; they are compared with the same words.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpfr

import ogive
from ogive import formula as f
from ogive.backends.target import runnable_targets
from ogive.catalog import OPERATORS
from ogive.common.dtypes import element_type
from ogive.enclosures.enclosure import decided, evaluated, of_number
from ogive.graph.expression import walk
from ogive.lowering import forms
from ogive.lowering.fold import fold
from ogive.operators.operator import Operator
from ogive.runtime.kernels import make_ufunc
from tests.golden.oracle import FORMULAS, OF_SEVERAL, required

#: Enough bits for what cancels near zero.
LONG = gmpy2.context(precision=4000, emax=gmpy2.get_emax_max(), emin=gmpy2.get_emin_min(), trap_divzero=False)

#: So near zero, so far out, and between.
POINTS = (1e-30, 1e-20, 3e-5, 0.3, 0.8124032, 3, 30, 40, 41, 100, 1500, 2900, 1e4, 1e30)


def _by_tanh(x: Any) -> Any:
    cube = x + mpfr(0.044715) * x**3
    return x / (1 + gmpy2.exp(-2 * gmpy2.sqrt(2 / gmpy2.const_pi()) * cube))


def _softplus(x: Any) -> Any:
    return gmpy2.log1p(gmpy2.exp(x)) if x < 0 else x + gmpy2.log1p(gmpy2.exp(-x))


#: Operators of one tensor whose forms are not their definitions, and the oracle's words for them.
CHANGED: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    **{
        name: (getattr(ogive, name), FORMULAS[name])
        for name in ("gelu", "swish", "mish", "log_sigmoid", "softsign", "snake", "squareplus", "log1mexp", "logit")
    },
    "gelu by tanh": (partial(ogive.gelu, approximate="tanh"), _by_tanh),
    "geglu": (lambda x: ogive.geglu(x, 1), FORMULAS["gelu"]),
    "swiglu": (lambda x: ogive.swiglu(x, 1), FORMULAS["swish"]),
    "glu": (lambda x: ogive.glu(1, x), lambda x: 1 / (1 + gmpy2.exp(-x))),
    "tanhshrink": (ogive.tanhshrink, lambda x: x - gmpy2.tanh(x)),
    "softplus": (ogive.softplus, _softplus),
    "parametric_softplus": (
        lambda x: ogive.parametric_softplus(x, alpha=0.75, beta=0.75),
        lambda x: mpfr(0.75) * _softplus(mpfr(0.75) * x),
    ),
    "serf": (ogive.serf, lambda x: x * gmpy2.erf(_softplus(x))),
    "xielu": (
        lambda x: ogive.xielu(x, alpha_p=0.75, alpha_n=0.75),
        lambda x: (mpfr(0.75) * x * x if x > 0 else mpfr(0.75) * (gmpy2.expm1(x) - x)) + x / 2,
    ),
}

#: Formulas that show what a result does not.
SHOWN: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "log(abs(op))": (lambda y, x: f.log(abs(y)), lambda y, x: gmpy2.log(abs(y))),
    "op / x": (lambda y, x: y / x, lambda y, x: y / x),
    "(2 op / x - 1) / x": (lambda y, x: (2 * y / x - 1) / x, lambda y, x: (2 * y / x - 1) / x),
    "sqrt(sqrt(abs(op)))": (lambda y, x: f.sqrt(f.sqrt(abs(y))), lambda y, x: gmpy2.sqrt(gmpy2.sqrt(abs(y)))),
    "cbrt(op)": (lambda y, x: f.cbrt(y), lambda y, x: gmpy2.cbrt(y)),
    "abs(op) ** 0.05": (lambda y, x: np.power(abs(y), 0.05), lambda y, x: abs(y) ** mpfr(0.05)),
    "-op * 2**60": (lambda y, x: -y * 2.0**60, lambda y, x: -y * 2**60),
}


def rounded(value: Any, kind: str) -> tuple[float, float]:
    """A number, rounded to a type both ways, with next to nothing to spare."""
    precision, most, least = {
        "float16": (11, 16, -23),
        "bfloat16": (8, 128, -132),
        "float32": (24, 128, -148),
        "float64": (53, 1024, -1073),
    }[kind]
    share = mpfr(2) ** -3000
    narrow = gmpy2.context(precision=precision, emax=most, emin=least, subnormalize=True)
    with gmpy2.context(LONG):
        ends = [value * (1 - share), value * (1 + share)] if gmpy2.is_finite(value) else [value, value]
    with gmpy2.context(narrow):
        low, high = sorted(float(mpfr(end)) for end in ends)
    return low, high


@pytest.mark.matrix("name", share=9)
@pytest.mark.parametrize("target", runnable_targets())
@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16", "float64"])
@pytest.mark.parametrize("name", CHANGED)
def test_formulas_around_an_operator_are_those_of_its_definition(name: str, kind: str, target: str) -> None:
    formula, exact = CHANGED[name]
    signs = (1,) if name in ("log1mexp", "logit") else (1, -1)
    most = 1 if name == "logit" else {"float16": 60000, "float64": 900}.get(kind, 1e38)
    x = np.array([sign * p for p in POINTS for sign in signs if 0 < p < most]).astype(element_type(kind).numpy)
    x = x[x != 0]
    op: Operator = ogive.operator(signatures=[((kind,), (kind,) * len(SHOWN))])(
        lambda x: tuple(shown(formula(x), x) for shown, _ in SHOWN.values())
    )
    found = make_ufunc("shown", op.program(op.signatures[0]), runnable_targets()[target])(x)
    for (said, (_, of_oracle)), values in zip(SHOWN.items(), found, strict=True):
        for operand, value in zip(x.astype(np.float64), values.astype(np.float64), strict=True):
            with gmpy2.context(LONG):
                number = mpfr(float(operand))
                result = exact(number)
                right = of_oracle(result, number)
            if result == 0:  # MPFR has no room for it
                continue
            low, high = rounded(right, kind)
            assert low <= value <= high, (said, float(operand), float(value), low, high)
            if value == 0:
                if said.startswith("log") and right == 0:
                    continue  # of log(1 - exp(-x)) far out the bits of the oracle leave zero, without a sign
                assert np.signbit(value) == (right < 0), (said, float(operand))


@pytest.mark.matrix(share=16, pool="slow")
def test_remainders_by_an_operator_are_those_by_its_definition() -> None:
    """An approximation that is good for results alone is not good enough for these."""
    rng = np.random.default_rng(11)
    x, y = (rng.uniform(0.1, 1, 200), 2.0 ** rng.uniform(0, 60, 200))
    x, y = (a.astype(np.float32) for a in (x, y))
    found = ogive.operator(types=["float32"])(lambda x, y: np.fmod(y, ogive.tanhshrink(x)))(x, y)
    for operand, dividend, value in zip(*(a.tolist() for a in (x, y, found)), strict=True):
        with gmpy2.context(LONG):
            divisor = mpfr(operand) - gmpy2.tanh(mpfr(operand))
            right = gmpy2.fmod(mpfr(dividend), divisor)
        assert value == rounded(right, "float32")[0]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda x: ogive.tanhshrink(x), lambda x: x - np.tanh(x)),
        (lambda x: ogive.swish(x), lambda x: x * ogive.sigmoid(x)),
        (lambda x: ogive.mish(x), lambda x: x * np.tanh(np.log(1 + np.exp(x)))),
        (lambda x: ogive.gelu(x), lambda x: x * ogive.ndtr(x)),
    ],
)
def test_an_operator_equals_its_definition(one: Any, other: Any) -> None:
    x = np.float32([-41, -3, -0.75, -1e-3, -1e-30, 1e-30, 0.125, 0.8124032, 2, 30])
    assert ogive.operator(signatures=[(("float32",), ("bool",))])(lambda x: one(x) == other(x))(x).all()


def test_lowering_knows_the_definitions_of_the_catalogue() -> None:
    """A form stands for a definition as the catalogue writes it: where the two part, nothing is wrong, but slower."""
    names = {
        *("geglu", "gelu", "glu", "log1mexp", "log_sigmoid", "logit", "mish", "parametric_softplus", "serf", "snake"),
        *("softplus", "softsign", "squareplus", "swiglu", "swish", "tanhshrink", "xielu"),
    }
    met = set()
    for name in names:
        op = OPERATORS[name]
        for choice in op.parameters[0].choices or (None,) if op.parameters else (None,):
            (root,) = op.formula(**({} if choice is None else {op.parameters[0].name: choice}))
            root = fold(root)
            found = forms._match(root)
            assert found is not None, name
            formed = [forms.with_forms([root], of_doubles=of_doubles)[0] for of_doubles in (False, True)]
            assert any(form is not root for form in formed), name  # geglu has a form in float64 alone
            met.add(found[0])
    parts = {name for name, part in forms.PARTS.items() if part.result is not None}
    assert parts - met == {
        "softplus",
        "mish gate",
        "exponential less",
        "less tanh",
        "square threshold",
    }  # parts of operators, of derivatives and of rows


def test_forms_inside_leave_nothing_out() -> None:
    """Where a form has a number that is far out, or near zero, that is a choice between equals: each is tried on both sides."""
    for name, part in forms.PARTS.items():
        for form in (part.inside, part.definition):
            if form is None:
                continue
            _, root = forms._traced(form)
            limits = {
                n.attribute
                for current in walk(root)
                if current.operation in ("less", "less_equal")
                for n in current.operands
                if n.operation == "constant"
            }
            assert limits <= {0, -1, 0.25, 0.5, 0.6875, 1, -3, 3, -2, Fraction(-0.0)}, (name, limits)


def ends(value: Any) -> tuple[Any, Any]:
    """Between which numbers an enclosed value lies."""
    if value.kind == "ball":
        parts = [end.man_exp() for end in (value.ball.lower(), value.ball.upper())]
        low, high = (mpfr(int(m)) * mpfr(2) ** int(e) for m, e in parts)
        return low, high
    if value.kind == "fraction":
        exact = mpfr(int(value.fraction.p)) / mpfr(int(value.fraction.q))
        return exact, exact
    return (mpfr(0), mpfr(0)) if value.kind == "zero" else (mpfr(value.sign * float("inf")),) * 2


#: Operators whose results are no numbers.
LEFT_OUT = {"isfinite", "isinf", "isnan"}

OF_NUMBERS = {
    **{name: (1, formula) for name, formula in FORMULAS.items() if name in OPERATORS and name not in LEFT_OUT},
    **{name: (2, OF_SEVERAL[name]) for name in ("geglu", "glu", "logaddexp", "logaddexp2", "reglu", "swiglu")},
}


def drawn(rng: np.random.Generator, count: int, farthest: float) -> list[float]:
    """Numbers of float32 near zero, and up to that power of two."""
    return [
        float(np.float32(rng.choice([-1, 1]) * 2.0 ** rng.choice([rng.uniform(-140, 0), rng.uniform(-3, farthest)])))
        for _ in range(count)
    ]


@pytest.mark.parametrize("count", [12, pytest.param(1000, marks=pytest.mark.matrix())])
@pytest.mark.parametrize("name", OF_NUMBERS)
def test_enclosures_of_a_formula_contain_the_value_of_its_definition(name: str, count: int) -> None:
    """Near zero, far out and between."""
    tensors, formula = OF_NUMBERS[name]
    op = OPERATORS[name]
    (root,) = op.formula()
    values = {p.name: p.default for p in op.numeric_parameters if not p.is_required} | required(name)
    parameters = {name: float(np.float32(value)) for name, value in values.items()}
    rng = np.random.default_rng(len(name) + 7)
    outside = 0
    for _ in range(count):
        operands = drawn(rng, tensors, 13)

        def leaf(n: Any, operands: list[float] = operands) -> Any:
            if n.operation == "input":
                return of_number(operands[n.attribute])
            return of_number(parameters[n.attribute[1]] if n.operation == "parameter" else n.attribute)

        with gmpy2.context(LONG):
            right = formula(*map(mpfr, operands))
        value = decided(lambda rules, leaf=leaf: evaluated(root, leaf, rules), lambda value, is_last: value)
        if value.kind == "nan" or gmpy2.is_nan(right):
            outside += value.kind != "nan" or not gmpy2.is_nan(right)
            continue
        with gmpy2.context(LONG):
            low, high = ends(value)
            slack = abs(right) * mpfr(2) ** -290 if gmpy2.is_finite(right) else 0
            outside += not low <= right + slack or not right - slack <= high
    assert outside == 0


# ---- what docstrings state


#: Operators whose docstring states a definition by cases, in words, by a root of which MPFR has no exponent, or by parameters
#: that are named as functions.
IN_WORDS = frozenset(
    {
        "cbrt",
        "clamp",
        "clipped_gelu",
        "copysign",
        "elu",
        "erf",
        "erfinv",
        "heaviside",
        "leaky_relu",
        "mod",
        "relu_grad",
        "selu",
        "shrink",
        "sign",
    }
    | {"sparse_plus", "thresholded_relu", "trunc", "xielu", "isfinite", "isinf", "isnan"}
)

#: The words of docstrings, in MPFR's.
WORDS = {
    **{name: getattr(gmpy2, name) for name in ("acos", "asin", "atan", "atan2", "cos", "exp", "floor", "ceil", "log")},
    **{name: getattr(gmpy2, name) for name in ("log2", "sin", "sqrt", "tan", "tanh", "acosh", "asinh", "atanh", "erf")},
    "round": gmpy2.rint,
    "gelu": FORMULAS["gelu"],
    "max": max,
    "min": min,
    "abs": abs,
}


def stated(name: str) -> str:
    """The formula that the first sentence of an operator's docstring has."""
    first = (OPERATORS[name].function.__doc__ or "").strip().partition("\n\n")[0]
    return re.sub(r"(\d) ([a-z])", r"\1 * \2", " ".join(first.split("``")[1].split()))


@pytest.mark.parametrize("count", [40, pytest.param(1000, marks=pytest.mark.matrix())])
@pytest.mark.parametrize("name", [name for name in OF_NUMBERS if name not in IN_WORDS])
def test_the_docstring_states_the_definition(name: str, count: int) -> None:
    """The formula of the docstring, the oracle's and, by the test above, the catalogue's have one value, near zero and far out."""
    tensors, formula = OF_NUMBERS[name]
    op = OPERATORS[name]
    values = {p.name: p.default for p in op.numeric_parameters if not p.is_required} | required(name)
    compiled = compile(stated(name), name, "eval")
    rng = np.random.default_rng(len(name) + 11)
    compared = 0
    for _ in range(count):
        operands = drawn(rng, tensors, 5.3)
        with gmpy2.context(LONG):
            names = {key: mpfr(float(np.float32(value))) for key, value in values.items()}
            names |= dict(zip(op.tensors, map(mpfr, operands), strict=False))
            found, right = eval(compiled, {"__builtins__": {}}, WORDS | names), formula(*map(mpfr, operands))
            if gmpy2.is_nan(right) or not gmpy2.is_finite(right):
                assert gmpy2.is_nan(found) == gmpy2.is_nan(right), operands
                continue
            compared += 1
            assert abs(found - right) <= abs(right) * mpfr(2) ** -200, operands
    assert compared
