"""Identities: forms of a formula in which nothing cancels or overflows, of the same value everywhere.

People write ``1 + erf(u)``, whose tail lies far below the last bit of 1, and ``log(1 + exp(u))``, which overflows. As
``erfc(-u)`` and ``max(u, 0) + log1p(exp(-abs(u)))`` the kernels compute them at the price of ordinary elements. So it is with
``exp(u) - 1``, ``log(1 + u)``, and quotients of exponentials. Each rule holds for every real number and for infinities, and
keeps the sign of a zero; enclosures decide by the formula itself.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from ogive.differentiation.algebra import is_power_of_two, rational
from ogive.differentiation.slope_forms import with_slopes
from ogive.graph import elementary_functions as functions
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, Operation, constant, is_extreme, node, rewritten, walk
from ogive.lowering.fold import fold
from ogive.lowering.forms import CUBIC, GELU_SCALE, with_forms
from ogive.lowering.row_numbers import CHOICES, beside_largest, beside_smallest, multiple

#: Logarithms and their bases. The natural one's is not used.
LOGARITHMS: Mapping[Operation, int] = {functions.LOG: 0, functions.LOG2: 2, functions.LOG10: 10}


def as_computed(
    roots: Sequence[Expression], keep: Collection[str] = (), *, of_doubles: bool = False, states_limits: bool = False
) -> list[Expression]:
    """The formulas with the forms of all parts that have one; functions that are kept stay as they are.

    ``states_limits``: for the repair, whose slopes are their limits at infinities.
    """
    formed = with_forms(roots, of_doubles=of_doubles)
    if of_doubles:
        formed = _rewritten(formed, _by_reciprocal)
    return without_cancellation([fold(root) for root in with_slopes(formed, keep, states_limits=states_limits)])


def _by_reciprocal(a: Expression) -> Expression:
    """A product in the place of a quotient by a power of two, of which no second word is asked."""
    divisor = rational(a.operands[1]) if a.operation == ops.DIVIDE else None
    is_power = divisor is not None and is_power_of_two(divisor)
    return _of(ops.MULTIPLY, a.operands[0], constant(1 / divisor)) if divisor and is_power else a


def without_cancellation(roots: Sequence[Expression]) -> list[Expression]:
    """The formulas with the better form of each part that has one."""
    return _rewritten(roots, _better)


def without_sums(roots: Sequence[Expression]) -> list[Expression]:
    """The formulas with products in the place of sums that cancel a little: their bounds need not run beside the values."""
    return _rewritten(roots, _as_gate)


def with_common_factors(roots: Sequence[Expression]) -> list[Expression]:
    """The formulas with ``x (1 + c x**2)`` in the place of ``x + c x**3``: no sum of it has terms of both signs."""
    return _rewritten(roots, _with_common_factor)


def with_positive_parameters(roots: Sequence[Expression]) -> list[Expression]:
    """The formulas where all parameters are positive: the products of operands with them have the operands' signs."""
    return _rewritten(roots, _as_operand)


def beside_one(roots: Sequence[Expression]) -> list[Expression]:
    """The formulas with 1 and what is more or less in the place of numbers beside 1, for the repair, which knows the sign of
    that: products beside ties are decided by it.
    """
    return _rewritten(roots, _one_and_more)


def infinite_at_ends(roots: Sequence[Expression]) -> list[Expression]:
    """The formulas with ``abs(erfinv(u))`` in the place of ``exp(erfinv(u)**2)`` at 1 and -1, for the repair of float64, which
    does not follow what is infinite into exponentials.
    """
    return _rewritten(roots, _as_infinite)


class SpelledGate(NamedTuple):
    """An activation that a product is, as people write it."""

    name: str
    """Its name in forms.py."""
    x: Expression
    off: float
    """How far a constant of it may be from the definition's, as a share: people write numbers of float64 for roots."""


#: A constant is taken for another one that is as near: no nearer than float64 is to a number.
MOST_OFF = Fraction(1, 2**51)


def spelled_gate(a: Expression) -> SpelledGate | None:
    """``0.5 * x * (1 + erf(x / sqrt(2)))``, in any order of its factors, and the same of gelu's approximation by tanh."""
    factor, counts = _as_product(a)
    names = {n.operation for n in counts}
    kind = next((k for k in (functions.ERFC, functions.LOGISTIC) if k in names), None)
    if kind is None or len(counts) != 2 or counts.total() != 2:
        return None
    gate, x = sorted(counts, key=lambda n: n.operation != kind)
    scale, inner = _as_product(gate.operands[0])
    rest = [n for n in inner if n is not x]
    if inner[x] != 1:
        return None
    if kind == functions.ERFC:
        is_it = factor == Fraction(1, 2) and not rest and scale < 0
        off = abs(2 * scale * scale - 1) / 2
        name = "gelu"
    else:
        more = _one_less_than(rest[0]) if len(rest) == inner.total() - 1 == 1 else None
        is_it = factor == 1 and more is not None and _as_product(more) == (Fraction(CUBIC), Counter({x: 2}))
        off = abs(scale / GELU_SCALE - 1)
        name = "gelu by tanh"
    return SpelledGate(name, x, float(off)) if is_it and off < MOST_OFF else None


def _as_product(a: Expression) -> tuple[Fraction, Counter[Expression]]:
    """A number as a constant and how often each other factor is there."""
    factor, counts, open_ones = Fraction(1), Counter[Expression](), [a]
    while open_ones:
        n = open_ones.pop()
        value = n.attribute if n.operation == ops.CONSTANT else None
        if isinstance(value, Fraction):
            factor *= value
        elif n.operation == ops.MULTIPLY:
            open_ones += n.operands
        elif n.operation == ops.NEGATE:
            factor, open_ones = -factor, [*open_ones, *n.operands]
        elif n.operation == ops.DIVIDE and rational(n.operands[1]):
            factor, open_ones = factor / n.operands[1].attribute, [*open_ones, n.operands[0]]
        else:
            counts[n] += 1
    return factor, counts


def _as_operand(a: Expression) -> Expression:
    if a.operation != ops.LESS or a.operands[0] is not constant(0) or a.operands[1].operation != ops.MULTIPLY:
        return a
    parameter, x = a.operands[1].operands
    return node(ops.LESS, (a.operands[0], x), None, a.format) if parameter.operation is ops.PARAMETER else a


def _as_infinite(a: Expression) -> Expression:
    n = _squared(a.operands[0]) if a.operation == functions.EXP else None
    if n is None or n.operation != functions.ERFINV:
        return a
    is_end = node(ops.EQUAL, (_of(ops.ABSOLUTE, n.operands[0]), constant(1)), None, Format.TRUTH)
    return _where(is_end, _of(ops.ABSOLUTE, n), a)


def _one_and_more(a: Expression) -> Expression:
    """``Q(u) + t`` as ``1 + (t - Q(-u))`` below zero, and ``(1 + p) / (1 + q)**2`` as ``1 + (p - q (2 + q)) / (1 + q)**2``
    for the exponential q of a number that is not positive.
    """
    one = constant(1)
    if a.operation == ops.ADD and a.operands[0].operation == functions.NORMAL_TAIL:
        tail, other = a.operands
        (u,) = tail.operands
        rest = _of(ops.SUBTRACT, other, _of(functions.NORMAL_TAIL, _negative(u)))
        return _where(node(ops.LESS, (u, constant(0)), None, Format.TRUTH), _of(ops.ADD, one, rest), a)
    if a.operation == functions.LOG and a.operands[0].operation == ops.DIVIDE:
        return _logarithm_beside_one(a)
    root = _squared(a.operands[1]) if a.operation == ops.DIVIDE else None
    q = None if root is None else _one_less_than(root)
    if q is None or q.operation != functions.EXP or not _is_never_positive(q.operands[0]):
        return a
    if a.operands[0].operation != ops.SELECT:
        return a
    condition, below, above = a.operands[0].operands
    p = _one_less_than(above)
    if p is None:
        return a
    rest = _of(ops.SUBTRACT, p, _product(q, _of(ops.ADD, constant(2), q)))
    more = _of(ops.DIVIDE, rest, a.operands[1])
    return _where(condition, _of(ops.DIVIDE, below, a.operands[1]), _of(ops.ADD, one, more))


def _logarithm_beside_one(a: Expression) -> Expression:
    """``log((1 + u) / (1 + v))`` as ``log1p((u - v) / (1 + v))`` of finite numbers."""
    (quotient,) = a.operands
    p, q = quotient.operands
    u, v = _one_less_than(p), _one_less_than(q)
    if u is None or v is None:
        return a
    less = [node(ops.LESS, (_of(ops.ABSOLUTE, n), constant(math.inf)), None, Format.TRUTH) for n in (u, v)]
    are_finite = node(ops.AND, tuple(less), None, Format.TRUTH)
    more = _of(ops.DIVIDE, _of(ops.SUBTRACT, u, v), q)
    return _of(functions.LOG1P, _where(are_finite, more, _of(ops.SUBTRACT, quotient, constant(1))))


def _rewritten(roots: Sequence[Expression], better: Callable[[Expression], Expression]) -> list[Expression]:
    return list(rewritten(roots, lambda old, new: better(new)))


def _with_common_factor(a: Expression) -> Expression:
    if a.operation != ops.ADD:
        return a
    for x, term in (a.operands, a.operands[::-1]):
        counts = Counter(_factors(term))
        if counts.total() < 3 or counts[x] < 1:
            continue
        counts[x] -= 1
        if all(count % 2 == 0 or (n.operation == ops.CONSTANT and n.attribute > 0) for n, count in counts.items()):
            once = [n for n, count in counts.items() if count % 2]
            squares = [_product(n, n) for n, count in counts.items() for _ in range(count // 2)]
            return _product(x, _of(ops.ADD, constant(1), functools.reduce(_product, (*once, *squares))))
    return a


def _as_gate(a: Expression) -> Expression:
    """``max(x, -0) - s Q(s)`` with ``s = min(abs(x), c)`` as ``max(x, -c) Q(-x)``: gelu."""
    if a.operation != ops.SUBTRACT or a.operands[1].operation != ops.MULTIPLY or not is_extreme(a.operands[0]):
        return a
    size, tail = a.operands[1].operands
    if tail.operation != functions.NORMAL_TAIL or tail.operands[0] is not size or not is_extreme(size):
        return a
    (_, zero, x), (_, most, magnitude) = a.operands[0].operands, size.operands
    if not all(n.operation == ops.CONSTANT for n in (zero, most)) or magnitude is not _of(ops.ABSOLUTE, x):
        return a
    is_gelu = zero.attribute == 0 and a.operands[0] is _larger(x, zero) and size is _smaller(magnitude, most)
    return _product(_larger(x, _negative(most)), _of(functions.NORMAL_TAIL, _negative(x))) if is_gelu else a


def _larger(a: Expression, b: Expression) -> Expression:
    return node(ops.SELECT, (node(ops.LESS, (a, b), None, Format.TRUTH), b, a), None, a.format)


def _smaller(a: Expression, b: Expression) -> Expression:
    return node(ops.SELECT, (node(ops.LESS, (b, a), None, Format.TRUTH), b, a), None, a.format)


def _better(a: Expression) -> Expression:
    if a.format is not Format.NUMBER or len(a.operands) not in (1, 2):
        return a
    if a.operation in (ops.ADD, ops.SUBTRACT) and (shares := _of_equal_shares(a)) is not None:
        return shares
    if a.operation == ops.ADD:
        for one, other in (a.operands, a.operands[::-1]):
            if _is_one(one):
                return _one_and(other, a)
            if other.operation == ops.SQUARE_ROOT:
                return _beside_root(one, other, a)
        return _of_sum_beside_largest(a)
    if a.operation == ops.SUBTRACT and _is_one(a.operands[0]):
        return _one_less(a.operands[1], a)
    if a.operation == ops.SUBTRACT and _is_one(a.operands[1]) and a.operands[0].operation == functions.COSH:
        half = _of(functions.SINH, _times(Fraction(1, 2), a.operands[0].operands[0]))
        return _times(2, _product(half, half))
    if a.operation == ops.SUBTRACT and _is_one(a.operands[1]) and a.operands[0].operation == functions.EXP:
        return _of_no_negative_zero(_of(functions.EXPM1, a.operands[0].operands[0]))
    if a.operation == ops.SUBTRACT:
        return _difference_of_roots(a)
    if a.operation in LOGARITHMS:
        return _logarithm(a.operands[0], a)
    if a.operation == functions.EXP:
        return beside_smallest(a)
    if a.operation == functions.LOG1P and a.operands[0].operation == functions.EXP:
        v = a.operands[0].operands[0]
        return a if _is_never_positive(v) else _softplus(v)
    if a.operation == ops.DIVIDE:
        return _quotient_of_exponentials(a)
    return _product_by_expm1(a) if a.operation == ops.MULTIPLY else a


def _of_equal_shares(a: Expression) -> Expression | None:
    """``c + c * u`` and ``c - c * u`` as c times one of the forms of ``1 + u`` and ``1 - u``; None where there is none."""
    pairs = (a.operands, a.operands[::-1]) if a.operation == ops.ADD else (a.operands,)
    for share, product in pairs:
        if share.operation != ops.CONSTANT or product.operation != ops.MULTIPLY or not share.attribute:
            continue
        for c, u in (product.operands, product.operands[::-1]):
            if c is share:
                found = _one_and(u, a) if a.operation == ops.ADD else _one_less(u, a)
                return None if found is a else _product(share, found)
    return None


def _one_and(u: Expression, a: Expression) -> Expression:
    """``1 + u``."""
    if u.operation == ops.NEGATE:
        return _one_less(u.operands[0], a)
    if u.operation == functions.ERF:
        return _of(functions.ERFC, _negative(u.operands[0]))
    if u.operation == functions.TANH:
        return _times(2, _of(functions.LOGISTIC, _times(2, u.operands[0])))
    return a


def _of_sum_beside_largest(a: Expression) -> Expression:
    """For computed elements the exponentials beside the largest: their whole sum, less one.

    The formula sums those of smaller elements and counts the others. Rounding leaves open which those are; the sum is the
    same either way.
    """
    power = beside_largest(a)
    if power is None:
        return a
    element = power.operands[0].operands[0]
    known = multiple(element)
    if {n.operation for n in walk(element if known is None else known[0])} <= CHOICES:
        return a
    return _of(ops.SUBTRACT, _of(ops.ROW_SUM, power), constant(1))


def _one_less(u: Expression, a: Expression) -> Expression:
    """``1 - u``."""
    if u.operation == functions.ERF:
        return _of(functions.ERFC, u.operands[0])
    if u.operation == functions.TANH:
        return _times(2, _of(functions.LOGISTIC, _times(-2, u.operands[0])))
    if u.operation == functions.LOGISTIC:
        return _of(functions.LOGISTIC, _negative(u.operands[0]))
    if u.operation == functions.EXP:
        return _of(ops.SUBTRACT, constant(0), _of(functions.EXPM1, u.operands[0]))
    if u.operation == functions.COS:
        half = _of(functions.SIN, _times(Fraction(1, 2), u.operands[0]))
        return _times(2, _product(half, half))
    squared = _squared(u)
    if squared is not None and squared.operation == functions.TANH:
        twice = _times(2, squared.operands[0])
        return _times(4, _product(_of(functions.LOGISTIC, twice), _of(functions.LOGISTIC, _negative(twice))))
    return a


def _logarithm(u: Expression, a: Expression) -> Expression:
    """``log(u)``, ``log2(u)`` or ``log10(u)``."""
    is_natural = a.operation == functions.LOG
    if is_natural and u.operation == functions.COSH:
        size = _of(ops.ABSOLUTE, u.operands[0])
        half = _of(functions.SINH, _times(Fraction(1, 2), size))
        near = _of(functions.LOG1P, _times(2, _product(half, half)))
        rest = _of(functions.LOG1P, _of(functions.EXP, _times(-2, size)))
        far = _of(ops.ADD, size, _of(ops.SUBTRACT, rest, _of(functions.LOG, constant(2))))
        return _where(node(ops.LESS, (size, constant(1)), None, Format.TRUTH), near, far)
    if is_natural and u.operation == ops.DIVIDE:
        return _logarithm_of_quotient(u, a)
    v = _one_less_than(u)
    if v is None:
        return a
    if is_natural and v.operation == functions.EXP:
        return _softplus(v.operands[0])
    logarithm = _of(functions.LOG1P, v)
    if not is_natural:
        logarithm = _of(ops.DIVIDE, logarithm, _of(functions.LOG, constant(LOGARITHMS[a.operation])))
    return _of_no_negative_zero(logarithm)


def _logarithm_of_quotient(quotient: Expression, a: Expression) -> Expression:
    """``log((1 + u) / (1 - u))``, and ``log((1 + exp(u)) / (1 + exp(v)))``."""
    p, q = quotient.operands
    u, v = _one_less_than(p), _one_less_than(q)
    if u is None:
        return a
    if q.operation == ops.SUBTRACT and _is_one(q.operands[0]) and q.operands[1] is u:
        return _of_no_negative_zero(_times(2, _of(functions.ATANH, u)))
    if v is None or not u.operation == v.operation == functions.EXP:
        return a
    (first, second) = (_softplus(w.operands[0]).operands for w in (u, v))
    largest, rest = (_of(ops.SUBTRACT, *pair) for pair in zip(first, second, strict=True))
    size = _of(ops.ABSOLUTE, _of(ops.ADD, largest, rest))
    # The difference of -0 and 0 is -0, and their logarithm 0.
    return _of(ops.COPY_SIGN, size, _of_no_negative_zero(_of(ops.SUBTRACT, u.operands[0], v.operands[0])))


def _is_never_positive(v: Expression) -> bool:
    """Whether a number is one less than zero, or zero, by how it is written."""
    if v.operation == ops.MULTIPLY:
        return any(
            c.operation == ops.CONSTANT and c.attribute < 0 and size.operation == ops.ABSOLUTE
            for c, size in (v.operands, v.operands[::-1])
        )
    return v.operation == ops.NEGATE and v.operands[0].operation == ops.ABSOLUTE


def _softplus(v: Expression) -> Expression:
    """``log(1 + exp(v))``."""
    rest = _of(functions.LOG1P, _of(functions.EXP, _negative(_of(ops.ABSOLUTE, v))))
    return _of(ops.ADD, _of(functions.LARGER, v, constant(0)), rest)


def _quotient_by_expm1(a: Expression) -> Expression | None:
    """``r * exp(u) / (exp(u) - 1)`` as ``r / -expm1(-u)``, and ``r / (4 sinh(u / 2)**2)`` of a square: neither is inf/inf."""
    p, q = a.operands
    root = _squared(q)
    is_squared = root is not None
    root = q if root is None else root
    # exp(u) - 1 is 0 where u is -0, and expm1(u) is -0
    is_difference = root.operation == ops.ADD and _is_zero(root.operands[1])
    minus_one = root.operands[0] if is_difference else root
    if minus_one.operation != functions.EXPM1:
        return None
    u = minus_one.operands[0]
    factors = _factors(p)
    exponential = _of(functions.EXP, u)
    others = [factor for factor in factors if factor is not exponential]
    if len(others) != len(factors) - 1:
        return None
    again = next((n for n in others if n.operation is ops.DIVIDE and n.operands[1] is q), None)
    if again is not None and not is_squared:  # r / (exp(u) - 1) * exp(u) / (exp(u) - 1)
        others, is_squared = [n.operands[0] if n is again else n for n in others], True
    rest = functools.reduce(_product, others) if others else constant(1)
    half = _of(functions.SINH, _times(Fraction(1, 2), u))
    divisor = _times(4, _product(half, half)) if is_squared else _negative(_of(functions.EXPM1, _negative(u)))
    value = _of(ops.DIVIDE, rest, divisor)
    at_zero, at_infinity = (node(ops.EQUAL, (u, constant(end)), None, Format.TRUTH) for end in (0, math.inf))
    if is_difference:
        value = _where(at_zero, _of(ops.DIVIDE, rest, constant(0)), value)
    return _where(at_infinity, constant(math.nan), value)


def _product_by_expm1(a: Expression) -> Expression:
    """``r / expm1(u) * exp(u)``, which derivatives of quotients are, in the same form."""
    for quotient, exponential in (a.operands, a.operands[::-1]):
        if exponential.operation == functions.EXP and quotient.operation == ops.DIVIDE:
            r, q = quotient.operands
            found = _quotient_by_expm1(_of(ops.DIVIDE, _product(r, exponential), q))
            if found is not None:
                return found
    return a


def _factors(a: Expression) -> list[Expression]:
    if a.operation != ops.MULTIPLY:
        return [a]
    return [factor for operand in a.operands for factor in _factors(operand)]


def _quotient_of_exponentials(a: Expression) -> Expression:
    """The logistic function, its derivative and tanh. At infinity these are no numbers: inf/inf."""
    if (found := _quotient_by_expm1(a)) is not None:
        return found
    p, q = a.operands
    if p.operation == functions.EXP:
        u = p.operands[0]
        of = u
        if _one_less_than(q) is p:
            value = _of(functions.LOGISTIC, u)
        elif (root := _squared(q)) is not None and _one_less_than(root) is p:
            value = _product(_of(functions.LOGISTIC, u), _of(functions.LOGISTIC, _negative(u)))
        else:
            return a
    elif p.operation == ops.SUBTRACT and q.operation == ops.ADD and set(p.operands) == set(q.operands):
        first, second = p.operands
        if not first.operation == second.operation == functions.EXP:
            return a
        u, v = first.operands[0], second.operands[0]
        if v.operation != ops.NEGATE or v.operands[0] is not u:
            return a
        of, value = _of(ops.ABSOLUTE, u), _of_no_negative_zero(_of(functions.TANH, u))
    else:
        return a
    is_infinite = node(ops.EQUAL, (of, constant(math.inf)), None, Format.TRUTH)
    return _where(is_infinite, constant(math.nan), value)


def _beside_root(u: Expression, root: Expression, a: Expression) -> Expression:
    """``u + sqrt(u * u + c)``, c positive: ``c / (sqrt(u * u + c) - u)`` below zero, but at -inf."""
    radicand = root.operands[0]
    if radicand.operation != ops.ADD:
        return a
    for square, c in (radicand.operands, radicand.operands[::-1]):
        if (
            _squared(square) is u
            and c.operation == ops.CONSTANT
            and isinstance(c.attribute, Fraction)
            and c.attribute > 0
        ):
            is_negative = node(ops.LESS, (u, constant(0)), None, Format.TRUTH)
            is_finite = node(ops.LESS, (constant(-math.inf), u), None, Format.TRUTH)
            where = node(ops.AND, (is_negative, is_finite), None, Format.TRUTH)
            return _where(where, _of(ops.DIVIDE, c, _of(ops.SUBTRACT, root, u)), a)
    return a


def _difference_of_roots(a: Expression) -> Expression:
    """``sqrt(u + c) - sqrt(u)``: the difference of the radicands by the sum of the roots, which is not zero."""
    first, second = a.operands
    if not first.operation == second.operation == ops.SQUARE_ROOT:
        return a
    p, q = first.operands[0], second.operands[0]
    for radicand, other in ((p, q), (q, p)):
        constants = [c for c in radicand.operands if c.operation == ops.CONSTANT and c.attribute]
        if radicand.operation == ops.ADD and other in radicand.operands and constants:
            return _of(ops.DIVIDE, _of(ops.SUBTRACT, p, q), _of(ops.ADD, first, second))
    return a


def _one_less_than(a: Expression) -> Expression | None:
    """The u for which a is one and u."""
    if a.operation == ops.SUBTRACT and _is_one(a.operands[0]):
        return _negative(a.operands[1])
    if a.operation == ops.ADD:
        for one, other in (a.operands, a.operands[::-1]):
            if _is_one(one):
                return other
    return None


def _squared(u: Expression) -> Expression | None:
    """The number that u is the square of."""
    if u.operation == ops.MULTIPLY and u.operands[0] is u.operands[1]:
        return u.operands[0]
    if u.operation == functions.POWER and u.operands[1].operation == ops.CONSTANT and u.operands[1].attribute == 2:
        return u.operands[0]
    return None


def _where(condition: Expression, a: Expression, b: Expression) -> Expression:
    return node(ops.SELECT, (condition, a, b), None, Format.NUMBER)


def _of_no_negative_zero(a: Expression) -> Expression:
    """The number, with 0 for -0: a difference of equal numbers is 0."""
    return _of(ops.ADD, a, constant(0))


def _times(factor: Fraction | int, u: Expression) -> Expression:
    return _product(constant(factor), u)


def _product(a: Expression, b: Expression) -> Expression:
    return _of(ops.MULTIPLY, a, b)


def _negative(u: Expression) -> Expression:
    return _of(ops.NEGATE, u)


def _of(operation: Operation, *operands: Expression) -> Expression:
    return node(operation, operands, None, Format.NUMBER)


def _is_zero(a: Expression) -> bool:
    return a.operation == ops.CONSTANT and a.attribute == 0


def _is_one(a: Expression) -> bool:
    return a.operation == ops.CONSTANT and a.format is Format.NUMBER and a.attribute == 1
