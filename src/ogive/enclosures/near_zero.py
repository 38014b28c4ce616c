"""Formulas next to zero, where the first terms of a series in powers of x are their results.

Enclosures take 0.1 ms an element. Of half of all subnormal numbers GELU's result lies just beside a tie, and ``x - tanh(x)``
loses the bits of x three times. Here whole arrays are decided at once. A formula is expanded in powers of x, with an
enclosure of all that is behind the last term: ``x/2`` and more is GELU, ``x/3`` and less Langevin's function
``1/tanh(x) - 1/x``, in which infinities cancel. Where the first term is a tie, the sign of the others tells on which side
of it the result lies. Other operands may be factors, as a gradient is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from ogive.common.conversion import converted, to_odd
from ogive.common.dtypes import ElementType
from ogive.common.keys import remembered
from ogive.differentiation.algebra import substituted
from ogive.differentiation.tangents import tangents
from ogive.enclosures.enclosure import Undecided, Value, ball_of, decided, evaluated, of_ball, of_number
from ogive.errors import UnsupportedError
from ogive.graph import elementary_functions as functions
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, Operation, Term, constant, node, walk

#: The magnitudes of the input up to which a series is looked for, the largest first: formulas may have branches between them.
LIMITS = (2.0**-12, 2.0**-16, 2.0**-20, 2.0**-40, 2.0**-64, 2.0**-100)

#: The number of terms before the one that encloses the rest.
TERMS = 7

#: The largest power of x.
MOST = 3

#: Two words hold no coefficient that is as large.
MOST_OF_WORDS = 2.0**1000

#: The share of the first term that the rest is no larger than, at the limit.
LARGEST_REST = 2.0**-56

#: The error of a product of numbers of two words, relative to it, and more.
RELATIVE = 2.0**-97

#: The terms behind the first are added at last where they are a smaller share of it. Then they have this error, relative to
#: themselves, and where they are still less, this share stands for them.
BELOW_A_BIT, OF_OTHERS, LEAST_SHARE = 2.0**-60, 2.0**-40, 2.0**-110

#: Splits a number of 53 bits into two of 26.
SPLITTER = 2.0**27 + 1

Pair = tuple[np.ndarray, np.ndarray]


class Leading(NamedTuple):
    """The first terms of a formula, multiples of powers of the input's magnitude, and what is known of the rest."""

    power: int
    terms: Mapping[bool, tuple[tuple[float, float], ...]]
    """The coefficients, in two words each. For negative inputs (True) and for others, as the other facts."""
    rest: Mapping[bool, float]
    """No larger multiple of the first coefficient and of the next power of the input is behind the last term."""
    is_exact: bool
    """Whether the first coefficients are exact, and products with them as well."""
    above: Mapping[bool, bool]
    """Whether the formula is larger than its first term."""
    limit: float
    """The largest magnitude of the input for which that is so."""
    operand: int = 0
    """The number of that input."""
    factors: tuple[int, ...] = ()
    """The numbers of other inputs, which the formula of that one is multiplied by."""

    @property
    def coefficients(self) -> Mapping[bool, float]:
        """The coefficients of the first terms, rounded."""
        return {side: terms[0][0] for side, terms in self.terms.items()}

    def rounded(self, kind: Any, x: np.ndarray, *factors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The results in a floating-point type at inputs that are not zero, and where they are decided."""
        x, factors = x.astype(np.float64), tuple(factor.astype(np.float64) for factor in factors)
        if x.size and np.max(np.abs(x)) < self._next_to_nothing:
            return self._beside_first(kind, x, factors), np.ones(x.shape, bool)
        found, decided = np.zeros(x.shape, kind), np.zeros(x.shape, bool)
        for side in (False, True):
            where = np.signbit(x) == side
            if where.any():
                ends = self._ends(side, np.abs(x[where]), [factor[where] for factor in factors])
                low, high = (_rounded(*end, kind) for end in ends)
                found[where], decided[where] = low, _same(low, high)
        return found, decided

    @property
    def _next_to_nothing(self) -> float:
        """The magnitude of inputs below which only the sign of the terms behind the first counts: next to it lies no boundary."""
        if not self.is_exact:
            return 0.0
        shares = (sum(abs(high) for high, _ in others) / abs(first[0]) for first, *others in self.terms.values())
        return min(self.limit, LEAST_SHARE / (1 + max(shares) + max(self.rest.values())))

    def _side_of_first(self, side: bool) -> float:
        """The share of the first term that stands for smaller ones."""
        return LEAST_SHARE if self.above[side] == (self.terms[side][0][0] > 0) else -LEAST_SHARE

    def _beside_first(self, kind: Any, x: np.ndarray, factors: Sequence[np.ndarray]) -> np.ndarray:
        """The results at inputs that are next to nothing: the exact first term, and a little more or less."""
        is_negative = np.signbit(x)
        first = np.where(is_negative, *(self.terms[side][0][0] for side in (True, False)))
        share = np.where(is_negative, *map(self._side_of_first, (True, False)))
        (high, low), exponent = self._multiplied((first, np.zeros_like(x)), np.abs(x), factors)
        return _rounded(*_two_sum(high, to_odd(*_two_sum(low, high * share))), exponent, kind)

    def _multiplied(self, total: Pair, t: np.ndarray, factors: Sequence[np.ndarray]) -> tuple[Pair, np.ndarray]:
        """A coefficient times the power of the input's magnitude and the factors: two words, without a power of two, and that."""
        m, exponent = np.frexp(t)
        exponent = exponent * self.power
        for number in [m] * self.power:
            total = _times(total, number)
        for factor in factors:
            part, more = np.frexp(factor)
            total, exponent = _times(total, part), exponent + more
        return total, exponent

    def _ends(
        self, side: bool, t: np.ndarray, factors: Sequence[np.ndarray]
    ) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Two numbers between which the formula lies, each a sum of two words times a power of two."""
        first, *others = self.terms[side]
        rise: Pair = np.zeros_like(t), np.zeros_like(t)
        for term in reversed(others):
            rise = _times(_plus(term, rise), t)
        rest = self.rest[side] * t ** len(self.terms[side])
        begin: Pair = np.full_like(t, first[0]), np.full_like(t, first[1])
        total, share, reach = _plus(begin, rise), np.zeros_like(t), RELATIVE + rest
        if self.is_exact:
            # The other terms are added at last: beside a tie their sign is all that counts.
            ratio = rise[0] / first[0]
            is_small, least = np.abs(ratio) < BELOW_A_BIT, self._side_of_first(side)
            share = np.where(is_small, np.where(np.abs(ratio) < LEAST_SHARE, least, ratio), 0.0)
            reach = np.where(is_small, np.abs(share) * OF_OTHERS + rest, reach)
            total = np.where(is_small, begin[0], total[0]), np.where(is_small, begin[1], total[1])
        (high, low), exponent = self._multiplied(total, t, factors)
        lows = (to_odd(*_two_sum(low, high * end)) for end in (share - reach, share + reach))
        return [(*_two_sum(high, rest), exponent) for rest in lows]


def _two_sum(a: np.ndarray, b: np.ndarray) -> Pair:
    """The sum of two numbers, and what rounding takes from it."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _split(a: np.ndarray) -> Pair:
    part = a * SPLITTER
    high = part - (part - a)
    return high, a - high


def _plus(a: Any, b: Pair) -> Pair:
    """The sum of numbers of two words."""
    high, rest = _two_sum(a[0] + np.zeros_like(b[0]), b[0])
    return _two_sum(high, rest + (a[1] + b[1]))


def _times(a: Pair, b: np.ndarray) -> Pair:
    """The product of a number of two words and one."""
    high = a[0] * b
    (p, q), (r, s) = _split(a[0]), _split(b)
    rest = ((p * r - high) + p * s + q * r) + q * s
    return _two_sum(high, rest + a[1] * b)


def _rounded(high: np.ndarray, low: np.ndarray, exponent: np.ndarray, kind: Any) -> np.ndarray:
    """A sum of two words, the second no more than half of a unit of the first, times a power of two, rounded once."""
    if np.dtype(kind) != np.float64:
        return np.asarray(converted(np.ldexp(to_odd(high, low), exponent), kind))
    found = np.ldexp(high, exponent)
    # A subnormal number loses more bits: a tie there is decided by the second word.
    with np.errstate(all="ignore"):
        lost = high - np.ldexp(found, -exponent)
        is_tie = (np.abs(lost) == np.ldexp(1.0, -1075 - exponent)) & (np.abs(found) < 2.0**-1021)
    step = np.where(is_tie & (lost * low > 0), np.copysign(2.0**-1074, lost), 0.0)
    return np.asarray(np.where(step == 0, found, found + step))


def _same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The elements at which two arrays have the same bits, as truth values."""
    form = f"u{a.dtype.itemsize}"
    return np.asarray(a.view(form) == b.view(form))


def leading_of(
    root: Expression, parameters: Mapping[str, float], kinds: tuple[ElementType, ElementType]
) -> Leading | None:
    """The leading term of a formula of one input, for an input's and a result's type; None if there is none."""
    if not all(kind.is_float for kind in kinds):
        return None
    named = tuple(sorted(parameters.items()))
    bits = BITS[kinds[0].name]
    return next(filter(None, (_leading(root, named, limit, bits) for limit in LIMITS)), None)


def leading_beside_factors(
    root: Expression,
    used: Collection[int],
    parameters: Mapping[str, float],
    inputs: Sequence[ElementType],
    output: ElementType,
) -> Leading | None:
    """The same of a formula of one input and factors, for the types of inputs and result."""
    if not used or not all(inputs[i].is_float for i in used):
        return None
    for operand in sorted(used):
        factors = tuple(sorted(set(used) - {operand}))
        if not all(_is_factor(root, factor) for factor in factors):
            continue
        leaves: dict[Expression, Expression] = dict.fromkeys(map(_input, factors), constant(1))
        (rest,) = substituted([root], leaves | {_input(operand): _input(0)})
        found = leading_of(rest, parameters, (inputs[operand], output))
        if found is None or found.power + len(factors) > MOST:
            continue
        bits = [BITS[inputs[operand].name]] * found.power + [BITS[inputs[factor].name] for factor in factors]
        return found._replace(operand=operand, factors=factors, is_exact=found.is_exact and _fit(found, bits))
    return None


#: The bits of a type's numbers.
BITS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}


def _fit(found: Leading, bits: Sequence[int]) -> bool:
    """Whether products of the first coefficients with numbers of so many bits are exact in two words, one after the other."""
    for terms in found.terms.values():
        total = abs(Fraction(terms[0][0])).numerator.bit_length()
        for i, more in enumerate(bits):
            if total > 53 or (total + more > 53 and i + 1 < len(bits)):
                return False
            total += more
    return True


def _input(index: int) -> Expression:
    return node(ops.INPUT, (), index, Format.NUMBER)


def _is_factor(root: Expression, index: int) -> bool:
    """Whether a formula is an input times what does not depend on it."""
    depends: dict[Expression, bool] = {}
    linear: dict[Expression, bool] = {}
    for current in walk(root):
        operands, operation = current.operands, current.operation
        depends[current] = any(depends[n] for n in operands) or (operation == ops.INPUT and current.attribute == index)
        if operation == ops.INPUT:
            linear[current] = depends[current]
        elif operation == ops.NEGATE:
            linear[current] = linear[operands[0]]
        elif operation == ops.MULTIPLY:
            linear[current] = any(linear[a] and not depends[b] for a, b in (operands, operands[::-1]))
        elif operation == ops.DIVIDE:
            linear[current] = linear[operands[0]] and not depends[operands[1]]
        elif operation in (ops.ADD, ops.SUBTRACT):
            linear[current] = all(linear[n] for n in operands)
        elif operation == ops.SELECT:
            condition, *others = operands
            linear[current] = not depends[condition] and all(
                linear[n] or (n.operation == ops.CONSTANT and n.attribute == 0) for n in others
            )
        else:
            linear[current] = False
    return linear[root]


@remembered(maxsize=256)
def _leading(root: Expression, parameters: tuple[tuple[str, float], ...], limit: float, bits: int) -> Leading | None:
    found = []
    for sign in (1, -1):
        try:
            terms = _terms(root, sign, limit, dict(parameters))
        except UnsupportedError:
            return None
        if terms is None:
            return None
        found.append(terms)
    first, second = found
    if first.power != second.power:
        return None
    if not all(2.0**-100 < abs(side.coefficients[0][0]) < 2.0**100 for side in found):
        return None
    sides = {False: first, True: second}
    made = Leading(
        first.power,
        {key: side.coefficients for key, side in sides.items()},
        {key: side.rest for key, side in sides.items()},
        first.is_exact and second.is_exact,
        {key: side.rises for key, side in sides.items()},
        limit,
    )
    return made._replace(is_exact=made.is_exact and _fit(made, [bits] * made.power))


class _Terms(NamedTuple):
    """The first terms for inputs of one sign."""

    power: int
    coefficients: tuple[tuple[float, float], ...]
    is_exact: bool
    rest: float
    rises: bool


def _terms(root: Expression, sign: int, limit: float, parameters: Mapping[str, float]) -> _Terms | None:
    """The terms for inputs of one sign; None if there are none, or not all is known of the rest."""

    def compute(rules: Any) -> _Terms | None:
        if rules.is_last:
            return None
        expansion = _Expansion(rules, sign, limit)
        series = expansion.of(root, parameters)
        if series is None or not 0 <= series.power <= MOST or series.terms[0].kind not in ("fraction", "ball"):
            return None
        *terms, last = series.terms
        skipped = next((i for i, term in enumerate(series.terms[1:]) if term.kind != "zero"), None)
        if skipped is None:
            return None  # it is the first term
        size, others = abs(ball_of(terms[0])), expansion.tail(series, skipped + 1)
        if not size > 0 or not others.sign:
            raise Undecided
        for term in terms[1:]:
            if term.kind not in ("zero", "fraction", "ball"):
                return None
        rest = rules.arb(0) if last.kind == "zero" else abs(ball_of(last)) / size
        if not rest * rules.arb(limit) ** len(terms) < rules.arb(LARGEST_REST):
            return None
        if not abs(ball_of(others)) * rules.arb(limit) ** (skipped + 1) < size * rules.arb(0.5):
            return None
        if not all(abs(ball_of(term)) < rules.arb(MOST_OF_WORDS) for term in terms):
            return None
        coefficients = tuple(map(_two_words, terms))
        # A coefficient is known to 2**-104 of itself, or of the first one.
        for term, words in zip(terms, coefficients, strict=True):
            if term.kind == "ball":
                error = abs(ball_of(term) - rules.arb(words[0]) - rules.arb(words[1]))
                if not error < size * rules.arb(2.0**-103):
                    raise Undecided
        is_exact = terms[0].kind == "fraction" and coefficients[0][1] == 0 and _fraction(terms[0]) == coefficients[0][0]
        return _Terms(series.power, coefficients, is_exact, _upper(rest), others.sign > 0)

    found: _Terms | None = decided(compute, lambda value, is_last: value)
    return found


#: Operations with steps, of which no derivative knows.
TO_INTEGERS: Mapping[Operation, Callable[[Fraction], int]] = {
    ops.FLOOR: math.floor,
    ops.CEILING: math.ceil,
    ops.TRUNCATE: math.trunc,
    ops.ROUND_EVEN: round,
}


class _Series(NamedTuple):
    """``t**power * (terms[0] + terms[1] t + ...)`` for 0 < t <= limit. The last one encloses all that is left."""

    power: int
    terms: tuple[Value, ...]


class _Expansion:
    """The nodes as series in the magnitude t of the input. None: it is not known, or there is no series."""

    def __init__(self, rules: Any, sign: int, limit: float) -> None:
        self.rules, self.zero = rules, rules.zero[1]
        self.input = _Series(1, (of_number(sign), *self._zeros(TERMS)))
        self.small = rules.arb(0).union(rules.arb(limit))

    def of(self, root: Expression, parameters: Mapping[str, float]) -> _Series | None:
        """The series of a formula. Raises Undecided where more bits may tell."""
        found: dict[Expression, Any] = {}
        undecided: set[Expression] = set()
        for current in walk(root):
            operands = [found[operand] for operand in current.operands]
            needed = current.operands
            if current.operation is ops.SELECT and operands[0] is not None:
                needed = (needed[1 if operands[0] else 2],)
            try:
                found[current] = self._node(current, operands, parameters)
            except (UnsupportedError, ZeroDivisionError):
                found[current], needed = None, ()
            except Undecided:
                found[current] = None
                undecided.add(current)
            if found[current] is None and not undecided.isdisjoint(needed):
                undecided.add(current)
        if root in undecided:
            raise Undecided
        return found[root] if isinstance(found[root], _Series) else None

    def _node(self, n: Expression, operands: Sequence[Any], parameters: Mapping[str, float]) -> Any:
        operation = n.operation
        if operation is ops.INPUT:
            return self.input
        if operation in (ops.CONSTANT, ops.GIVEN, ops.PARAMETER):
            value = parameters[n.attribute[1]] if operation is ops.PARAMETER else n.attribute
            return bool(value) if n.format is Format.TRUTH else self._constant(of_number(value))
        if operation is ops.SELECT:
            return None if operands[0] is None else operands[1 if operands[0] else 2]
        if any(operand is None for operand in operands):
            return None
        if n.format is Format.TRUTH:
            return self._truth(operation, *operands)
        rules: Mapping[Operation, Callable[..., Any]] = {
            ops.ADD: self._add,
            ops.SUBTRACT: lambda a, b: self._add(a, self._times(b, -1)),
            ops.MULTIPLY: self._multiply,
            ops.DIVIDE: self._divide,
            ops.NEGATE: lambda a: self._times(a, -1),
            ops.ABSOLUTE: lambda a: self._times(a, self._sign(a) or 1),
            ops.COPY_SIGN: lambda a, b: self._times(a, (self._sign(a) or 1) * self._sign(b)) if self._sign(b) else None,
            functions.LARGER: lambda a, b: a if self._order(a, b) >= 0 else b,
            functions.SMALLER: lambda a, b: a if self._order(a, b) <= 0 else b,
            **{whole: partial(self._whole, round_) for whole, round_ in TO_INTEGERS.items()},
        }
        rule = rules.get(operation)
        return rule(*operands) if rule is not None else self._function(n, operands)

    def _truth(self, operation: Operation, *operands: Any) -> bool | None:
        if isinstance(operands[0], bool):
            a, b = operands[0], operands[-1]
            found = {ops.AND: a and b, ops.OR: a or b, ops.NOT: not a, ops.EXCLUSIVE_OR: a != b}
            return found.get(operation)
        orders = {ops.LESS: (-1,), ops.LESS_EQUAL: (-1, 0), ops.EQUAL: (0,)}
        return self._order(*operands) in orders[operation] if operation in orders else None

    # ---- arithmetic

    def _zeros(self, count: int) -> tuple[Value, ...]:
        return (self.zero,) * count

    def _constant(self, value: Value) -> _Series:
        return _Series(0, (value, *self._zeros(TERMS)))

    def _power_of_small(self, exponent: int) -> Value:
        return of_ball(self.small**exponent, 1)

    def _product(self, x: Value, y: Value) -> Value:
        """The larger or smaller of two numbers, of which a ball may have any sign."""
        found: Value = self.zero if "zero" in (x.kind, y.kind) else self.rules.multiply(x, y)
        return found

    def tail(self, series: _Series, begin: int) -> Value:
        """The terms from one on, divided by its power of t, as one number."""
        total = series.terms[begin]
        with self.rules.without_signs():
            for i, term in enumerate(series.terms[begin + 1 :], start=1):
                total = self.rules.add(total, self._product(term, self._power_of_small(i)))
        return total

    def _cut(self, series: _Series, count: int) -> tuple[Value, ...]:
        """So many terms."""
        return (*series.terms[: count - 1], self.tail(series, count - 1))

    def _normal(self, power: int, terms: Sequence[Value]) -> _Series:
        """Without terms that are zero before the first that is not."""
        begin = next((i for i, term in enumerate(terms) if term.kind != "zero"), len(terms) - 1)
        return _Series(power + begin, tuple(terms[begin:]))

    def _sign(self, series: _Series) -> int:
        """1, -1 or 0."""
        total = series.terms[0] if series.terms[0].kind == "infinity" else self.tail(series, 0)
        if total.kind == "nan" or (total.kind == "ball" and not total.sign):
            raise Undecided
        return 0 if total.kind == "zero" else int(total.sign)

    def _order(self, a: _Series, b: _Series) -> int:
        return self._sign(self._add(a, self._times(b, -1)))

    def _times(self, a: _Series, factor: int) -> _Series:
        return a if factor == 1 else _Series(a.power, tuple(map(self.rules.negate, a.terms)))

    def _add(self, a: _Series, b: _Series) -> _Series:
        power = min(a.power, b.power)
        a, b = (_Series(power, (*self._zeros(x.power - power), *x.terms)) for x in (a, b))
        count = min(len(a.terms), len(b.terms))
        return self._normal(power, list(map(self.rules.add, self._cut(a, count), self._cut(b, count))))

    def _multiply(self, a: _Series, b: _Series) -> _Series:
        count, rules = min(len(a.terms), len(b.terms)), self.rules
        terms = list(self._zeros(count))
        for i, x in enumerate(self._cut(a, count)):
            for j, y in enumerate(self._cut(b, count)):
                product, beyond = self._product(x, y), i + j - (count - 1)
                if beyond > 0:
                    product = self._product(product, self._power_of_small(beyond))
                place = min(i + j, count - 1)
                terms[place] = rules.add(terms[place], product)
        return self._normal(a.power + b.power, terms)

    def _divide(self, a: _Series, b: _Series) -> _Series | None:
        if not self._sign(b):
            return None
        count, rules = min(len(a.terms), len(b.terms)), self.rules
        rests, divisors = list(self._cut(a, count)), self._cut(b, count)
        terms: list[Value] = []
        for i in range(count):
            terms.append(rules.divide(rests[i], divisors[0] if i < count - 1 else self.tail(_Series(0, divisors), 0)))
            for j, divisor in enumerate(divisors[1:], start=1):
                product, beyond = rules.negate(self._product(terms[i], divisor)), i + j - (count - 1)
                if beyond > 0:
                    product = self._product(product, self._power_of_small(beyond))
                place = min(i + j, count - 1)
                if i < count - 1:
                    rests[place] = rules.add(rests[place], product)
        return self._normal(a.power - b.power, terms)

    def _begin_and_change(self, u: _Series) -> tuple[Value, _Series]:
        """The number at zero, and what is added to it."""
        return (u.terms[0], self._normal(1, u.terms[1:])) if u.power == 0 else (self.zero, u)

    def _whole(self, round_: Callable[[Fraction], int], u: _Series) -> _Series | None:
        """A number rounded to an integer: the one that all numbers beside the first term have, on the side of the others."""
        begin, change = self._begin_and_change(u)
        if u.power < 0 or begin.kind not in ("fraction", "zero"):
            return None
        value = _fraction(begin)
        # Steps lie at multiples of one half; within half of the way to the next one there is none.
        steps, side = 2 * value, self._sign(change)
        next_step = steps + side if steps.denominator == 1 else Fraction(math.floor(steps) + (side > 0))
        way = abs(next_step - steps) / 4
        reach = self._product(self.tail(change, 0), self._power_of_small(change.power))
        if side and not abs(ball_of(reach)) < self.rules.arb(float(way) / 2):
            return None
        return self._constant(of_number(round_(value + side * way)))

    def _function(self, n: Expression, operands: Sequence[_Series]) -> _Series | None:
        """A function of one series, by its derivatives where that begins; other operands are constants."""
        moving = [i for i, x in enumerate(operands) if x.power or any(term.kind != "zero" for term in x.terms[1:])]
        fixed = {i: x.terms[0] for i, x in enumerate(operands) if i not in moving}
        if len(moving) > 1 or any(value.kind not in ("fraction", "zero") for value in fixed.values()):
            return None
        leaves = [
            _input(0) if i in moving else constant(_fraction(v))
            for i, v in ((i, fixed.get(i, self.zero)) for i in range(len(operands)))
        ]
        whole = node(n.operation, tuple(leaves), n.attribute, n.format)
        if not moving:
            return self._constant(self._at(whole, self.zero))
        u = operands[moving[0]]
        if u.power < 0:
            return None
        begin, change = self._begin_and_change(u)
        if begin.kind not in ("fraction", "zero", "ball"):
            return None
        count = len(change.terms)
        derivatives = _derivatives(whole, count)
        total, power = self._constant(self._at(whole, begin)), self._constant(of_number(1))
        for order, derivative in enumerate(derivatives, start=1):
            power = self._multiply(power, change)
            if order < count:
                value = self._at(derivative, begin)
            else:
                others = self.tail(_Series(0, (*self._zeros(change.power), *change.terms)), 0)
                with self.rules.without_signs():  # for gelu by tanh they take 5 s
                    value = self._at(derivative, self.rules.add(begin, others))
            value = self.rules.divide(value, of_number(math.factorial(order)))
            total = self._add(total, self._multiply(power, self._constant(value)))
        return total

    def _at(self, root: Expression, value: Value) -> Value:
        """A formula at a number: finite."""
        found: Value = evaluated(
            root, lambda leaf: value if leaf.operation is ops.INPUT else of_number(leaf.attribute), self.rules
        )
        if found.kind in ("nan", "infinity") or (found.kind == "ball" and not found.ball.is_finite()):
            raise UnsupportedError("there is no series")
        return found


@lru_cache(maxsize=256)
def _derivatives(root: Expression, count: int) -> tuple[Term, ...]:
    """So many derivatives of a function."""
    found: list[Any] = [root]
    for _ in range(count):
        found.extend(tangents(found[-1:], _input(0)))
    return tuple(found[1:])


def _fraction(value: Value) -> Fraction:
    """A fraction or zero."""
    return Fraction(0) if value.kind == "zero" else Fraction(int(value.fraction.p), int(value.fraction.q))


def _two_words(value: Value) -> tuple[float, float]:
    """A number in two words."""
    if value.kind == "zero":
        return 0.0, 0.0
    if value.kind == "fraction":
        exact = _fraction(value)
    else:
        mantissa, exponent = value.ball.mid().man_exp()
        exact = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    high = float(exact)
    return high, float(exact - Fraction(high))


def _upper(ball: Any) -> float:
    """A float64 number that is larger than all of a ball."""
    return float(ball.mid()) * (1 + 2.0**-20) + float(ball.rad()) * 2
