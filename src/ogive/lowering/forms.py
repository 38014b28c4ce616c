"""Forms of operators that lowering computes, in the places of their definitions.

The catalogue and people write definitions: ``x * ndtr(x)``, ``x - tanh(x)``. A form has the same value, but nothing in it
cancels or overflows. There are two kinds:

* The form of a **result** rounds as the definition does, in every element type. It may leave out what no type can hold: beyond
  40 the tail of the normal distribution is nothing, beyond 2**60 ``x / (1 + abs(x))`` is 1.
* The form **inside** a formula is equal to the definition, for every real number and for infinities. A quotient, a logarithm or
  a remainder may show what a result does not. Where a form is equal only nearly, `approximation` says by how much, and
  bounds have it.

Enclosures and the exact reference evaluate the definitions, in as many bits as it takes. The reference for arrays has too few and takes
the forms inside.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from functools import cache
from inspect import signature
from typing import Any, NamedTuple, cast

from ogive import formula as f
from ogive.differentiation.algebra import matched, rational
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, Term, constant, node, tracing, walk
from ogive.graph.limits import at_infinities
from ogive.lowering.fold import fold

Form = Callable[..., Term]


class Forms(NamedTuple):
    """A definition, of one argument or several, and its forms. None: the definition itself."""

    definition: Form
    result: Form | None = None
    inside: Form | None = None
    spelled: tuple[Form, ...] = ()
    """Other ways to write the definition."""
    doubles: Form | None = None
    """The form of a result in float64, where that is another one."""


# ---- gates. Beyond FAR below zero an exponential is zero times any number, in every element type

FAR = 2000


def _gated(x: Term, u: Term) -> Term:
    return at_infinities(x * f.logistic(u), u, below=f.copy_sign(0, x))


def _gated_result(x: Term, u: Term) -> Term:
    return f.where(u < -FAR, f.copy_sign(0, x), x) * f.logistic(u)


def _glu(a: Term, b: Term) -> Term:
    return f.where(f.isnan(a), a, _gated(a, b))


def _glu_result(a: Term, b: Term) -> Term:
    return _glu_with(a, b, f.maximum(b, -FAR))


def _glu_of_doubles(a: Term, b: Term) -> Term:
    """No number on the way leaves the range, so nothing is clamped: a may be exp(-b)."""
    return _glu_with(a, b, b)


def _glu_with(a: Term, b: Term, near: Term) -> Term:
    """Below -60 the gate is exp(b) in every format; half of a leaves room for its mantissa."""
    closed = f.copy_sign(f.minimum(f.absolute(a), 0), a)  # keeps NaN
    closing = at_infinities(a, b, below=closed) * 0.5 * f.exp(near + f.log_2)
    return f.where(b < -60, closing, a / (1 + f.exp(-b)))


def _swiglu_result(a: Term, u: Term, b: Term) -> Term:
    """Near zero the gate is 1/2 + u/4, which decides ties; a * gate may underflow there where the result does not, and
    a * b may overflow. No clamp stands before the product: b may be infinite, or exp(-u).
    """
    half = f.where(f.absolute(b) > 1, b * 0.5 * a, a * b * 0.5)
    factor = at_infinities(a, u, below=f.copy_sign(0, a))
    return f.where(f.absolute(u) < 2.0**-60, half * (1 + u * 0.5), factor * f.logistic(u) * b)


def _gelu(x: Term) -> Term:
    return at_infinities(x * f.ndtr(x), x, below=-0.0)


def _gelu_result(x: Term) -> Term:
    """The difference to x, and for negative x less than zero (-0, which remains where nothing is subtracted)."""
    size = f.minimum(f.absolute(x), 40)
    return f.maximum(x, -0.0) - size * f.normal_tail(size)


#: The factor of 2 u in the approximate form, and that of the cube.
SCALE, CUBIC = 2 * f.square_root(2 / f.pi), 0.044715
GELU_SCALE = cast(Fraction, rational(fold(SCALE)))


def _gelu_by_tanh(x: Term) -> Term:
    u = f.square_root(2 / f.pi) * (x + CUBIC * x**3)
    return at_infinities(x * f.logistic(2 * u), x, below=-0.0)


def _gelu_by_tanh_inside(x: Term) -> Term:
    return at_infinities(x * f.logistic(x * (SCALE * (1 + CUBIC * (x * x)))), x, below=-0.0)


def _gelu_by_tanh_result(x: Term) -> Term:
    inner = f.minimum(f.maximum(x, -40), 40)  # the cube does not overflow
    return f.maximum(x, -40) * f.logistic(inner * (SCALE * (1 + CUBIC * (inner * inner))))


def _geglu(a: Term, b: Term) -> Term:
    return _gelu(a) * b


def _geglu_by_tanh(a: Term, b: Term) -> Term:
    return _gelu_by_tanh(a) * b


#: Near zero the gates are 1/2 and a times half of this. In shorter formats a alone tells that they are more or less.
SLOPE = f.square_root(2 / f.pi)


def _beside_half(a: Term, b: Term, product: Term, more: Term) -> Term:
    """Near zero the gate is 1/2 and a little more or less, which decides ties; gelu(a) may underflow there where the
    result does not.
    """
    return f.where(f.absolute(a) < 2.0**-60, a * b * 0.5 * (1 + more), product)


def _geglu_of_doubles(a: Term, b: Term) -> Term:
    """Far below zero by the logarithm of gelu(a), which is too small for float64 there. The result is not. Above -37 it would lose
    bits. b may be an exponential: gelu(a) keeps its power of two as long as float64 holds a**2.
    """
    near = f.maximum(a, -1e154)
    far = at_infinities(near * 0.5 * f.exp(f.log_ndtr(near) + f.log_2), a, below=-0.0)  # b may be infinite, too
    return _beside_half(a, b, f.where(a < -37, far * b, _gelu_result(a) * b), a * SLOPE)


def _geglu_by_tanh_result(a: Term, b: Term) -> Term:
    return _beside_half(a, b, _gelu_by_tanh_result(a) * b, a)


def _geglu_by_tanh_of_doubles(a: Term, b: Term) -> Term:
    """Without a clamp: b may be vast."""
    return _beside_half(a, b, _gelu_by_tanh_inside(a) * b, a * SLOPE)


# ---- the logarithm of one and an exponential. Below -80 it is the exponential, which keeps its bits where it is subnormal
# ---- and the product or the quotient is not


def _tail(u: Term) -> Term:
    return f.exp(-f.absolute(u))


def _softplus_inside(u: Term) -> Term:
    return f.where(u > 0, u, 0) + f.log1p(_tail(u))


def _softplus_result(u: Term) -> Term:
    return f.where(u < -80, _tail(u), _softplus_inside(u))


def _softplus_of_steepness(x: Term, steepness: Term) -> Term:
    return f.softplus(steepness * x) / steepness


def _softplus_of_steepness_inside(x: Term, steepness: Term) -> Term:
    u = steepness * x
    return f.where(u > 0, x, -0.0) + f.log1p(_tail(u)) / steepness


def _softplus_of_steepness_result(x: Term, steepness: Term) -> Term:
    u = steepness * x
    rises = f.where(u > 0, x, 0) + f.log1p(_tail(u)) / steepness
    return f.where(u < -80, _tail(u) / steepness, rises)


def _parametric_softplus(x: Term, alpha: Term, beta: Term) -> Term:
    return alpha * f.softplus(beta * x)


def _parametric_softplus_inside(x: Term, alpha: Term, beta: Term) -> Term:
    u = beta * x
    return f.where(u > 0, alpha * beta * x, -0.0) + alpha * f.log1p(_tail(u))


def _parametric_softplus_result(x: Term, alpha: Term, beta: Term) -> Term:
    u = beta * x
    return f.where(u < -80, alpha * _tail(u), _parametric_softplus_inside(x, alpha, beta))


def _log_sigmoid(x: Term) -> Term:
    return -f.softplus(-x)


def _log_sigmoid_inside(x: Term) -> Term:
    return f.minimum(x, -0.0) - f.log1p(_tail(x))


def _log_sigmoid_result(x: Term) -> Term:
    return f.where(x > 80, -_tail(x), _log_sigmoid_inside(x))


def _log1mexp(x: Term) -> Term:
    return f.log1p(-f.exp(-x))


def _log1mexp_inside(x: Term) -> Term:
    opposite = -f.maximum(x, -1)  # below zero all are NaN, and the exponential does not overflow
    return f.where(x < 0.6875, f.log(-f.expm1(opposite)), f.log1p(-f.exp(opposite)))


def _log1mexp_result(x: Term) -> Term:
    return f.where(x > 80, -f.exp(-f.maximum(x, -1)), _log1mexp_inside(x))


def _mish_gate(x: Term) -> Term:
    return f.tanh(f.softplus(x))


def _mish_gate_inside(x: Term) -> Term:
    """With e = exp(-abs(x)) nothing cancels."""
    e = _tail(x)
    numerator = f.where(x < 0, e * (2 + e), 1 + 2 * e)
    return numerator / f.where(x < 0, 2 + 2 * e + e * e, 1 + 2 * e + 2 * (e * e))


def _mish(x: Term) -> Term:
    return at_infinities(x * _mish_gate(x), x, below=-0.0)


def _mish_inside(x: Term) -> Term:
    return at_infinities(x * _mish_gate_inside(x), x, below=-0.0)


def _mish_result(x: Term) -> Term:
    return f.maximum(x, -FAR) * _mish_gate_inside(x)


def _serf(x: Term) -> Term:
    return at_infinities(x * f.erf(f.softplus(x)), x, below=-0.0)


def _serf_result(x: Term) -> Term:
    """Below -80 erf(u) is 2 u / sqrt(pi), and u is exp(x). Beyond 30 erf is 1 in every format."""
    near = f.maximum(x, -FAR)
    e = _tail(near)
    tail = near * (e * (2 / f.square_root(f.pi)))
    return f.where(x < -80, tail, near * f.erf(f.minimum(f.maximum(near, 0), 30) + f.log1p(e)))


# ---- others


def _softsign(x: Term) -> Term:
    return at_infinities(x / (1 + f.absolute(x)), x, below=-1, above=1)


def _softsign_result(x: Term) -> Term:
    return f.where(f.absolute(x) > 2**60, f.copy_sign(1, x), x / (1 + f.absolute(x)))


def _snake(x: Term, alpha: Term) -> Term:
    wave = f.sin(alpha * x)
    return at_infinities(x + wave * wave / alpha, x, below=x, above=x)


def _snake_result(x: Term, alpha: Term) -> Term:
    """Beyond 2**54 the wave is nothing beside x in every format."""
    u = alpha * x
    wave = f.sin(u)
    return f.where(f.absolute(u) > 2**54, x, x + wave * wave / alpha)


def _squareplus(x: Term, b: Term) -> Term:
    return at_infinities((x + f.square_root(x * x + b)) / 2, x, below=0)


def _squareplus_inside(x: Term, b: Term) -> Term:
    length = f.hypot(x, f.square_root(b))
    return f.where(x < 0, (b + 0) * 0.25 / (length * 0.5 - x * 0.5), x * 0.5 + length * 0.5)  # b may be -0


def _logit(x: Term) -> Term:
    return f.log(x / (1 - x))


def _logit_inside(x: Term) -> Term:
    is_near = f.absolute(x - 0.5) < 0.25
    return f.where(is_near, 2 * f.atanh(2 * x - 1), f.log(x / (1 - x)))


#: x - tanh(x) is x**3 N(x**2) / D(x**2) below 1: the tenth convergent of the continued fraction of tanh. All coefficients
#: are positive, so that nothing cancels. It is wrong by less than this share.
TANHSHRINK_ABOVE = (4583103525, 349188840, 6891885, 42900, 65)
TANHSHRINK_BELOW = (13749310575, 6547290750, 413513100, 7567560, 45045, 66)
TANHSHRINK_ERROR = 2.0**-71


def _less_tanh(x: Term) -> Term:
    return x - f.tanh(x)


def _less_tanh_result(x: Term) -> Term:
    """The same, but for the sign of zero: a difference of equal numbers is 0."""
    return _tanhshrink_result(x) + 0


def _less_tanh_inside(x: Term) -> Term:
    return _tanhshrink_inside(x) + 0


def _tanhshrink(x: Term) -> Term:
    return f.copy_sign(_less_tanh(x), x)


def _tanhshrink_result(x: Term) -> Term:
    return f.where(f.absolute(x) < 1, _tanhshrink_near_zero(x), x - f.tanh(x))


def _tanhshrink_inside(x: Term) -> Term:
    near = _approximation(_tanhshrink_near_zero(x), TANHSHRINK_ERROR)
    return f.where(f.absolute(x) < 1, near, x - f.tanh(x))


def _tanhshrink_near_zero(x: Term) -> Term:
    square = x * x
    return x * (square * (_polynomial(square, TANHSHRINK_ABOVE) / _polynomial(square, TANHSHRINK_BELOW)))


def _polynomial(x: Term, coefficients: Sequence[Fraction | int]) -> Term:
    value: Any = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        value = value * x + coefficient
    return cast(Term, value)


def _approximation(value: Term, error: float) -> Term:
    return cast(Term, node(ops.APPROXIMATION, (value,), error, Format.NUMBER))


#: The coefficients of ``(exp(x) - 1 - x) / x**2``. Below 1/2 the series that ends with the last one is wrong by less than this share.
OF_EXPONENTIAL = tuple(Fraction(1, math.factorial(k)) for k in range(2, 20))
EXPONENTIAL_ERROR = 2.0**-77


def _exponential_less(x: Term) -> Term:
    return f.expm1(x) - x


def _exponential_less_inside(x: Term) -> Term:
    near = _approximation(x * x * _polynomial(x, OF_EXPONENTIAL), EXPONENTIAL_ERROR)
    return f.where(f.absolute(x) < 0.5, near, f.expm1(x) - x)


def _xielu(x: Term, alpha_p: Term, alpha_n: Term, beta: Term) -> Term:
    below = at_infinities(alpha_n * (f.expm1(x) - x) + beta * x, x, below=(beta - alpha_n) * x)
    return f.where(x > 0, alpha_p * x * x + beta * x, below)


def _xielu_inside(x: Term, alpha_p: Term, alpha_n: Term, beta: Term, *, near: float = 0) -> Term:
    parabola = f.where(x > 0, alpha_p, 0.5 * alpha_n) * x * x + beta * x
    return f.where(x > near if near else x >= 0, parabola, alpha_n * f.expm1(x) + (beta - alpha_n) * x)


def _xielu_result(x: Term, alpha_p: Term, alpha_n: Term, beta: Term) -> Term:
    """Near zero the exponential is its series, whose second power is less than all formats can tell."""
    return _xielu_inside(x, alpha_p, alpha_n, beta, near=-(2.0**-70))


def _square_threshold(x: Term) -> Term:
    """By a step of Newton's method from a number next to it: no support is to be decided, and what is left is tiny."""
    near = cast(Term, node(ops.ROW_NEAR_THRESHOLD, (x,), None, Format.NUMBER))
    above = f.larger(x - near, 0)
    step = (f.row_sum(above * above) - 1) / (2 * f.row_sum(above))
    return cast(Term, node(ops.THRESHOLD_STEP, (near, step, f.row_count(x)), None, Format.NUMBER))


def _hard_swish(x: Term) -> Term:
    inner = f.minimum(f.maximum(x, -3), 3)
    return f.where(x >= 3, x, inner * ((inner + 3) / 6))


def _hard_mish(x: Term) -> Term:
    inner = f.maximum(x, -2)
    return f.where(x >= 0, x, inner * ((inner + 2) / 2))


#: By name. The first that matches is taken: whole operators stand before their parts.
PARTS: dict[str, Forms] = {
    "swiglu": Forms(lambda a, u, b: _gated(a, u) * b, _swiglu_result),
    "geglu": Forms(_geglu, _geglu, doubles=_geglu_of_doubles),
    "geglu by tanh": Forms(_geglu_by_tanh, _geglu_by_tanh_result, doubles=_geglu_by_tanh_of_doubles),
    "glu": Forms(_glu, _glu_result, doubles=_glu_of_doubles),
    "gelu": Forms(_gelu, _gelu_result),
    "gelu by tanh": Forms(_gelu_by_tanh, _gelu_by_tanh_result, _gelu_by_tanh_inside),
    "mish": Forms(_mish, _mish_result, _mish_inside),
    "mish gate": Forms(
        _mish_gate,
        _mish_gate_inside,
        _mish_gate_inside,
        spelled=(
            lambda x: f.tanh(f.log(1 + f.exp(x))),
            lambda x: f.tanh(f.log1p(f.exp(x))),
            lambda x: f.tanh(_softplus_of_steepness(x, constant(1))),
        ),
    ),
    "serf": Forms(_serf, _serf_result),
    "gated": Forms(_gated, _gated_result),
    "softplus of steepness": Forms(
        _softplus_of_steepness, _softplus_of_steepness_result, _softplus_of_steepness_inside
    ),
    "parametric softplus": Forms(_parametric_softplus, _parametric_softplus_result, _parametric_softplus_inside),
    "log sigmoid": Forms(_log_sigmoid, _log_sigmoid_result, _log_sigmoid_inside),
    "softplus": Forms(f.softplus, _softplus_result, _softplus_inside),
    "log1mexp": Forms(_log1mexp, _log1mexp_result, _log1mexp_inside),
    "logit": Forms(_logit, _logit_inside, _logit_inside),
    "softsign": Forms(_softsign, _softsign_result),
    "snake": Forms(_snake, _snake_result),
    "squareplus": Forms(_squareplus, _squareplus_inside, _squareplus_inside),
    "tanhshrink": Forms(_tanhshrink, _tanhshrink_result, _tanhshrink_inside, doubles=_tanhshrink_inside),
    "less tanh": Forms(_less_tanh, _less_tanh_result, _less_tanh_inside, doubles=_less_tanh_inside),
    "xielu": Forms(_xielu, _xielu_result, _xielu_inside, doubles=_xielu_inside),
    "exponential less": Forms(
        _exponential_less,
        _exponential_less_inside,
        _exponential_less_inside,
        spelled=(lambda x: f.exp(x) - 1 - x, lambda x: f.exp(x) - x - 1),
    ),
    "square threshold": Forms(f.row_square_threshold, _square_threshold, _square_threshold),
    "hard swish": Forms(_hard_swish),
    "hard mish": Forms(_hard_mish),
}

#: Through these a result stays one: choices, and what changes signs alone.
OF_RESULTS: Mapping[str, slice] = {
    ops.SELECT: slice(1, 3),
    ops.NEGATE: slice(0, 1),
    ops.ABSOLUTE: slice(0, 1),
    ops.COPY_SIGN: slice(0, 1),
}
NO_OPERANDS = slice(0, 0)


class _Written(NamedTuple):
    root: Expression
    arguments: tuple[Expression, ...]
    part: str


@cache
def _patterns() -> dict[str, list[_Written]]:
    """The definitions of all parts, by the operation of the root."""
    found: dict[str, list[_Written]] = {}
    for name, part in PARTS.items():
        for form in (part.definition, *part.spelled) if part.result or part.inside else ():
            arguments, root = _traced(form)
            found.setdefault(root.operation, []).append(_Written(root, arguments, name))
    return found


def _traced(form: Form) -> tuple[tuple[Term, ...], Expression]:
    """Arguments, and the form of them."""
    count = sum(parameter.default is parameter.empty for parameter in signature(form).parameters.values())
    arguments = tuple(cast(Term, node(ops.INPUT, (), i, Format.NUMBER)) for i in range(count))
    return arguments, fold(_made(form, arguments))


def _made(form: Form, arguments: Sequence[Term]) -> Term:
    tracing.depth += 1
    try:
        return form(*arguments)
    finally:
        tracing.depth -= 1


def patterns_of(name: str) -> list[Expression]:
    """A part as it stands in formulas that have their forms: of operands of its own."""
    part = PARTS[name]
    forms = dict.fromkeys((part.definition if part.inside is None else part.inside, part.result))
    return [_traced(form)[1] for form in forms if form is not None]


def with_forms(roots: Sequence[Expression], *, of_doubles: bool = False, of_results: bool = True) -> list[Expression]:
    """The formulas with the forms of all parts; without ``of_results`` those that are equal to the definitions alone."""
    found = {current: match for current in walk(*roots) if (match := _match(current)) is not None}
    if not found:
        return list(roots)
    results = _results(roots, found) if of_results else ()
    done: dict[Expression, Expression] = {}
    for current in walk(*roots, operands=lambda n: found[n][1] if n in found else n.operands):
        if current in found:
            name, arguments = found[current]
            part = PARTS[name]
            form = (of_doubles and part.doubles) or part.result if current in results else part.inside
            made = _made(form or part.definition, [cast(Term, done[argument]) for argument in arguments])
            done[current] = fold(made)
        else:
            operands = tuple(done[operand] for operand in current.operands)
            same = all(a is b for a, b in zip(operands, current.operands, strict=True))
            done[current] = current if same else node(current.operation, operands, current.attribute, current.format)
    return [done[root] for root in roots]


def cancels(root: Expression) -> bool:
    """Whether a part of the formula is a definition that has an equal form, because terms of it cancel."""
    return any((found := _match(current)) is not None and PARTS[found[0]].inside is not None for current in walk(root))


def _match(root: Expression) -> tuple[str, list[Expression]] | None:
    """The name of the part that a node is, and its arguments."""
    for pattern in _patterns().get(root.operation, ()):
        bound = matched(pattern.root, root)
        if bound is not None:
            return pattern.part, [bound[argument] for argument in pattern.arguments]
    return None


def _results(
    roots: Sequence[Expression], found: Mapping[Expression, tuple[str, list[Expression]]]
) -> Collection[Expression]:
    """The nodes that are results of the formulas, and nothing else."""
    results = set(
        walk(*roots, operands=lambda n: () if n in found else n.operands[OF_RESULTS.get(n.operation, NO_OPERANDS)])
    )
    used: list[Expression] = []
    for current in results:
        kept = OF_RESULTS.get(current.operation, NO_OPERANDS)
        used += (
            found[current][1] if current in found else current.operands[: kept.start] + current.operands[kept.stop :]
        )
    return results.difference(walk(*used))
