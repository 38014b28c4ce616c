"""Formulas over intervals: what a formula can be where its operands are anything in their intervals.

Natural evaluation puts intervals in the place of numbers. Where the formula is smooth over the intervals, that is, no
condition is in doubt and nothing is rounded, the mean value form is an enclosure too, and a narrow one:
``f(middle) + f'(intervals) * (x - middle)``. The result is what both have in common.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

from ogive import operations as ops
from ogive.differentiation.tangents import tangents
from ogive.elementary_functions import ATAN2, LARGER, LOGISTIC, POWER, SMALLER
from ogive.enclosure import Undecided, Value, ball_of, decided, of_ball, of_number, undecided_rules
from ogive.errors import UnsupportedError
from ogive.expression import Expression, Format, Operation, Term, node, walk
from ogive.row_enclosure import Common, Rows

__all__ = ["Interval", "enclosed_over", "enclosed_rows_over", "softmax_over"]

#: The ends; None: unbounded, and perhaps no number.
Interval = tuple[Fraction, Fraction] | None

_BOTH = frozenset({True, False})


class _Unbounded(Exception):
    """A step has no finite enclosure."""


class _Intervals:
    """The meaning of nodes over intervals, which are balls. ``is_smooth`` turns false where a condition is in doubt, or a
    number is rounded.
    """

    def __init__(self, arb: Any, fmpq: Any) -> None:
        self.arb, self.fmpq = arb, fmpq
        self.is_smooth = True

    def value(self, root: Expression, inputs: Sequence[Any], parameters: Mapping[str, float]) -> Any:
        found: dict[Expression, Any] = {}
        for current in walk(root):
            found[current] = self._node(current, [found[x] for x in current.operands], inputs, parameters)
        return found[root]

    def _node(self, n: Expression, x: list[Any], inputs: Sequence[Any], parameters: Mapping[str, float]) -> Any:
        if n.operation == ops.INPUT:
            return inputs[n.attribute]
        if n.operation in (ops.CONSTANT, ops.GIVEN, ops.PARAMETER):
            return self.leaf(n, parameters[n.attribute[1]] if n.operation == ops.PARAMETER else n.attribute)
        return self.applied(n.operation, x)

    # ---- a domain (row_enclosure.py)

    def leaf(self, n: Expression, value: Any) -> Any:
        if n.operation == ops.INPUT:
            return value
        return frozenset({bool(value)}) if n.format is Format.TRUTH else self.number(value)

    def applied(self, operation: Operation, operands: Sequence[Any]) -> Any:
        return self._select(*operands) if operation == ops.SELECT else self.rule(operation)(*operands)

    def rule(self, operation: Operation) -> Callable[..., Any]:
        rule = _RULES.get(operation)
        if rule is not None:
            return partial(rule, self)
        if operation.enclosure is None:
            raise UnsupportedError(f"intervals: there is no rule for {operation}")
        return partial(self._function, operation.enclosure)

    def _function(self, enclosure: Callable[..., Any], *operands: Any) -> Any:
        """By the rule for enclosures; without a finite enclosure where that needs a decision which is open."""
        try:
            return ball_of(enclosure(undecided_rules(), *map(_enclosed, operands)))
        except Undecided:
            return self.arb(math.nan)

    def settled(self, value: Any) -> Any:
        return value

    def holds(self, truth: frozenset[bool]) -> bool:
        if len(truth) > 1:
            raise UnsupportedError("intervals: which element of a row is the first one is in doubt")
        return True in truth

    def order(self, a: Any, b: Any) -> int | None:
        if a < b or a > b:
            return -1 if a < b else 1
        if a is b or self.compared(bool(a.is_exact() and b.is_exact() and a == b), not a.overlaps(b)) == {True}:
            return 0
        raise UnsupportedError("intervals: the order of a row's elements is in doubt")

    def number(self, value: Any) -> Any:
        if isinstance(value, float) and not math.isfinite(value):
            return self.arb(value)  # of NaN, and of what is made of it, there is no finite enclosure
        exact = Fraction(value)
        return self.arb(self.fmpq(exact.numerator, exact.denominator))

    def _select(self, condition: frozenset[bool], a: Any, b: Any) -> Any:
        if condition == {True}:
            return a
        if condition == {False}:
            return b
        self.is_smooth = False
        return a | b if isinstance(a, frozenset) else a.union(b)

    def compared(self, is_true: bool, is_false: bool) -> frozenset[bool]:
        return frozenset({True}) if is_true else frozenset({False}) if is_false else _BOTH

    def rounded(self, low: Any, high: Any) -> Any:
        """The rounded number: one whole number, or in doubt."""
        if not (low.is_exact() and high.is_exact() and low == high):
            self.is_smooth = False
        return low.union(high)

    def with_sign(self, a: Any, b: Any) -> Any:
        size = abs(a)
        if b >= 0:
            return size
        if b < 0:
            return -size
        self.is_smooth = False
        return size.union(-size)

    def power(self, a: Any, b: Any) -> Any:
        if not (a > 0 or (b.is_exact() and b.is_integer())):
            raise _Unbounded
        return a**b


def _ends(function: str) -> Callable[[_Intervals, Any], Any]:
    """A step function: it rises, so its ends are those of the interval."""

    def rule(w: _Intervals, x: Any) -> Any:
        low, high = (getattr(w.arb(end), function)() for end in (x.lower(), x.upper()))
        return w.rounded(low, high)

    return rule


def _half_even(w: _Intervals, end: Any) -> Any:
    low = (end - w.arb(0.5)).ceil()
    return (
        low if low == (end + w.arb(0.5)).floor() else (low / 2).floor() * 2 + (0 if low == (low / 2).floor() * 2 else 2)
    )


def _truncated(w: _Intervals, end: Any) -> Any:
    return end.floor() if end >= 0 else end.ceil()


def _truth(combine: Callable[[bool, bool], bool]) -> Callable[..., frozenset[bool]]:
    return lambda w, a, b: frozenset(combine(p, q) for p in _truths(a) for q in _truths(b))


def _truths(a: Any) -> frozenset[bool]:
    if not isinstance(a, frozenset):
        raise UnsupportedError("intervals: there is no rule for the bits of integers")
    return a


def _equal(w: _Intervals, a: Any, b: Any) -> frozenset[bool]:
    if isinstance(a, frozenset):
        return frozenset(p == q for p in a for q in b)
    if a is b:
        return frozenset({True})  # there are no NaNs here
    return w.compared(bool(a.is_exact() and b.is_exact() and a == b), not a.overlaps(b))


_RULES: dict[Operation, Callable[..., Any]] = {
    ops.ADD: lambda w, a, b: a + b,
    ops.SUBTRACT: lambda w, a, b: a - b,
    ops.MULTIPLY: lambda w, a, b: a * b,
    ops.DIVIDE: lambda w, a, b: a / b,
    ops.NEGATE: lambda w, a: -a,
    ops.ABSOLUTE: lambda w, a: abs(a),
    ops.SQUARE_ROOT: lambda w, a: a.sqrt(),
    ops.FLOOR: _ends("floor"),
    ops.CEILING: _ends("ceil"),
    ops.TRUNCATE: lambda w, x: w.rounded(_truncated(w, w.arb(x.lower())), _truncated(w, w.arb(x.upper()))),
    ops.ROUND_EVEN: lambda w, x: w.rounded(_half_even(w, w.arb(x.lower())), _half_even(w, w.arb(x.upper()))),
    ops.COPY_SIGN: lambda w, a, b: w.with_sign(a, b),
    # For one number with itself the answer is known; there are no NaNs here.
    ops.LESS: lambda w, a, b: w.compared(a is not b and a < b, a is b or a >= b),
    ops.LESS_EQUAL: lambda w, a, b: w.compared(a is b or a <= b, a is not b and a > b),
    ops.EQUAL: _equal,
    ops.AND: _truth(lambda p, q: p and q),
    ops.OR: _truth(lambda p, q: p or q),
    ops.EXCLUSIVE_OR: _truth(lambda p, q: p != q),
    ops.NOT: lambda w, a: frozenset(not p for p in _truths(a)),
    # Functions of operands that may have either order or sign; and one that is narrower so.
    LARGER: lambda w, a, b: a if a > b else b if b > a else a.max(b),
    SMALLER: lambda w, a, b: a if a < b else b if b < a else a.min(b),
    POWER: lambda w, a, b: w.power(a, b),
    ATAN2: lambda w, y, x: w.arb.atan2(y, x),
    LOGISTIC: lambda w, x: 1 / (1 + (-x).exp()),
}


def _enclosed(ball: Any) -> Value:
    """A ball as a value of enclosures: a number where it is one."""
    return of_number(_fraction(ball)) if ball.is_exact() and ball.is_finite() else of_ball(ball)


@lru_cache(maxsize=256)
def _slopes(root: Expression, count: int) -> tuple[Term, ...] | None:
    """The derivatives by the inputs that are numbers."""
    leaves = [node(ops.INPUT, (), i, Format.NUMBER) for i in range(count)]
    return tuple(tangents((root,), leaf)[0] for leaf in leaves)


def enclosed_over(
    root: Expression, inputs: Sequence[Interval | frozenset[bool]], parameters: Mapping[str, float]
) -> Any:
    """The values that a formula can have: an interval, or a set of truth values.

    ``inputs`` are intervals, or sets of truth values. None, where a step has no finite enclosure.

    Raises UnsupportedError for operations that have no rule here.
    """
    if any(given is None for given in inputs):
        return _BOTH if root.format is Format.TRUTH else None

    def compute(rules: Any) -> Any:
        return _both_forms(_Arb(rules), root, inputs, parameters)

    def accept(found: Any, is_last: bool) -> Any:
        value, middle = found
        if middle is not None and not is_last and not _is_narrow(middle):
            raise Undecided
        return value

    try:
        return decided(compute, accept)
    except (_Unbounded, ZeroDivisionError):
        return None


class _Arb:
    def __init__(self, rules: Any) -> None:
        self.arb, self.fmpq = rules.arb, rules.fmpq

    def ball(self, low: Fraction, high: Fraction) -> Any:
        ends = [self.arb(self.fmpq(x.numerator, x.denominator)) for x in (low, high)]
        return ends[0] if low == high else ends[0].union(ends[1])


def _both_forms(made: _Arb, root: Expression, inputs: Sequence[Any], parameters: Mapping[str, float]) -> Any:
    boxes = [given if isinstance(given, frozenset) else made.ball(*given) for given in inputs]
    walked = _Intervals(made.arb, made.fmpq)
    natural = walked.value(root, boxes, parameters)
    if isinstance(natural, frozenset):
        return natural, None
    middle = None
    wide = [i for i, given in enumerate(inputs) if not isinstance(given, frozenset) and given[0] != given[1]]
    if not wide:
        middle = natural
    elif walked.is_smooth:
        points = list(boxes)
        for i in wide:
            low, high = inputs[i]
            points[i] = made.ball((low + high) / 2, (low + high) / 2)
        middle = _Intervals(made.arb, made.fmpq).value(root, points, parameters)
        slopes = _slopes(root, len(inputs))
        total = middle
        for i in wide:
            assert slopes is not None
            total = total + _Intervals(made.arb, made.fmpq).value(slopes[i], boxes, parameters) * (boxes[i] - points[i])
        if total.is_finite():
            natural = natural.intersection(total) if natural.is_finite() else total
    if not natural.is_finite():
        raise _Unbounded
    return (_fraction(natural.lower()), _fraction(natural.upper())), middle


def _fraction(end: Any) -> Fraction:
    m, e = end.man_exp()
    power = int(e)
    return Fraction(int(m)) * (Fraction(2) ** power if abs(power) < 20000 else Fraction(0 if power < 0 else 2**20000))


def _is_narrow(ball: Any) -> bool:
    """Whether the value in the middle is known well enough to round it to any type."""
    return bool(not ball.is_finite() or ball.is_exact() or ball.rel_accuracy_bits() > 100)


def enclosed_rows_over(
    root: Expression, rows: Sequence[Sequence[Interval]], parameters: Mapping[str, float]
) -> list[Interval]:
    """The values that a formula over rows can have at each element. If a row has one result, all elements have the same.

    Raises UnsupportedError where it depends on which element is the largest, or the first, and that is in doubt.
    """
    count = max(map(len, rows))
    if any(x is None for row in rows for x in row):
        return [None] * count

    def compute(rules: Any) -> list[Interval]:
        made, domain = _Arb(rules), _Intervals(rules.arb, rules.fmpq)
        balls = [[made.ball(*x) for x in row if x is not None] for row in rows]
        found = Rows(domain, balls, parameters).value(root, range(count))
        values = [found.value] * count if isinstance(found, Common) else [found[i] for i in range(count)]
        return [(_fraction(x.lower()), _fraction(x.upper())) if x.is_finite() else None for x in values]

    found: list[Interval] = decided(compute, lambda value, is_last: value)
    return found


def softmax_over(row: Sequence[Interval]) -> list[Interval]:
    """Softmax of a row of intervals: each result is smallest where its element is and the others are largest."""
    if any(x is None for x in row):
        return [None] * len(row)
    known: list[tuple[Fraction, Fraction]] = [x for x in row if x is not None]

    def compute(rules: Any) -> list[tuple[Fraction, Fraction]]:
        made = _Arb(rules)

        def share(i: int, own: int, others: int) -> Any:
            total = made.arb(1)
            for j, x in enumerate(known):
                if j != i:
                    distance = x[others] - known[i][own]
                    total += made.ball(distance, distance).exp()
            return 1 / total

        return [(_fraction(share(i, 0, 1).lower()), _fraction(share(i, 1, 0).upper())) for i in range(len(known))]

    found: list[Interval] = decided(compute, lambda value, is_last: value)
    return found
