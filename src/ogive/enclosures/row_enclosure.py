"""Formulas at single elements and rows, exactly: rounded to an element type, or to decimal digits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cmp_to_key, lru_cache
from typing import Any

import numpy as np

from ogive.common.dtypes import ELEMENT_TYPES, ElementType
from ogive.enclosures.enclosure import Negligible, Undecided, decided, of_number, rounded, to_decimal
from ogive.graph import operations as ops
from ogive.graph.elementary_functions import LARGER, SMALLER
from ogive.graph.expression import REDUCTIONS, Expression, Operation, walk
from ogive.graph.limits import with_limits


def right_row(
    root: Expression, row: Sequence[float], parameters: Mapping[str, float], kind: ElementType
) -> list[float | int]:
    """The correctly rounded results of a formula over one row, one for each element.

    Sums are sums of balls and fractions, so their order does not matter.
    """
    return right_rows(root, (row,), parameters, kind)


def right_rows(
    root: Expression,
    rows: Sequence[Sequence[float | int]],
    parameters: Mapping[str, float],
    kind: ElementType,
    wanted: Sequence[int] | None = None,
) -> list[float | int]:
    """The same of a formula of several tensors, over a row of each; a tensor of one number a row has one element.

    ``wanted`` are the positions of the results that are computed; all by default. Among elements with the same operands one
    is computed: constants cost as much as one number.
    """
    alike = _alike(root, rows)
    wanted = range(_length(rows)) if wanted is None else wanted
    places = list(dict.fromkeys(alike[i] for i in wanted))
    results: dict[int, float | int] = {}

    def compute(rules: Any) -> Any:
        return Rows(rules, rows, parameters, alike).value(root, [i for i in places if i not in results])

    def accept(values: Any, is_last: bool) -> list[float | int]:
        """Each element is decided once, with as many bits as it takes."""
        if isinstance(values, Common):
            return [rounded(values.value, kind, False, is_last)] * len(wanted)
        undecided: Undecided | None = None
        for i, value in values.items():
            try:
                results[i] = rounded(value, kind, False, is_last)
            except Undecided as found:
                undecided = found if undecided is None or isinstance(undecided, Negligible) else undecided
        if undecided is not None:
            raise undecided
        return [results[alike[i]] for i in wanted]

    (root,) = with_limits([root], kind if kind.is_float else ELEMENT_TYPES["float64"])
    found: list[float | int] = decided(compute, accept)
    return found


def exact_row(
    root: Expression, row: Sequence[float], parameters: Mapping[str, float], digits: int = 50
) -> list[Decimal]:
    """The values of a formula over one row, with so many decimal digits, one for each element."""

    def accept(values: Any, is_last: bool) -> list[Decimal]:
        every = [values.value] * len(row) if isinstance(values, Common) else values.values()
        return [to_decimal(value, is_last, digits) for value in every]

    (root,) = with_limits([root], ELEMENT_TYPES["float64"])
    places = range(len(row))
    found: list[Decimal] = decided(lambda rules: _row(root, (row,), parameters, rules, places), accept)
    return found


def right_total(
    root: Expression,
    terms: Sequence[tuple[float, float, float, Sequence[float]]],
    divisor: Fraction,
    kind: ElementType,
) -> float:
    """The sum of ``weight * (a - b + result)`` for terms of a weight, a, b and a row, divided and rounded once.

    The result is what the formula has one of, for the row.
    """

    def compute(rules: Any) -> Any:
        total = of_number(0)
        for weight, a, b, row in terms:
            value = _row(root, (row,), {}, rules, ()).value
            value = rules.add(rules.add(of_number(a), of_number(-b)), value)
            total = rules.add(total, rules.multiply(of_number(weight), value))
        return rules.settled(rules.divide(total, of_number(divisor)))

    found: float = decided(compute, lambda value, is_last: rounded(value, kind, False, is_last))
    return found


def _alike(root: Expression, rows: Sequence[Sequence[float | int]]) -> list[int]:
    """For each position that of the first element with the same operands, which has the same results.

    Formulas that ask for the first element tell that from the others: these are alike from the second one on.
    """
    length = _length(rows)
    keys = [*zip(*(_bits(row, length) for row in rows), strict=True)]
    found = _firsts(keys)
    if any(n.operation in (ops.ROW_FIRST, ops.ROW_INDEX) for n in _nodes(root)[1]):
        others = [i for i, first in enumerate(found) if first != i]
        for i, first in zip(others, _firsts([keys[i] for i in others]), strict=True):
            found[i] = others[first]
    return found


def _bits(row: Sequence[float | int], length: int) -> list[int]:
    column = np.asarray(row)
    bits: list[int] = (column.astype(np.int64) if column.dtype == bool else column).view(np.int64).tolist()
    return bits * (length // len(bits))


def _firsts(keys: Sequence[tuple[int, ...]]) -> list[int]:
    """For each key the place of the first one that is the same."""
    seen: dict[tuple[int, ...], int] = {}
    return [seen.setdefault(key, i) for i, key in enumerate(keys)]


def _length(rows: Sequence[Sequence[float | int]]) -> int:
    return max(map(len, rows))


def _row(
    root: Expression,
    rows: Sequence[Sequence[float | int]],
    parameters: Mapping[str, float],
    rules: Any,
    wanted: Sequence[int],
) -> Any:
    """The value of a graph at some elements of a row, by position, or its `Common` value."""
    return Rows(rules, rows, parameters).value(root, wanted)


class Common:
    """The numbers that a row has one of."""

    def __init__(self, value: Any) -> None:
        self.value = value


@lru_cache(maxsize=256)
def _nodes(root: Expression) -> tuple[tuple[Expression, ...], frozenset[Expression], frozenset[Expression]]:
    """The nodes of a formula, those that reduce rows, and those whose values at all elements these ask for."""
    every = tuple(walk(root))
    reduced = frozenset(n for n in every if n.operation in REDUCTIONS)
    return every, reduced, frozenset(walk(*(operand for n in reduced for operand in n.operands)))


class Rows:
    """The values of formulas over rows, by the rules of enclosures. A row of one element is what the others have one of."""

    def __init__(
        self,
        domain: Any,
        rows: Sequence[Sequence[Any]],
        parameters: Mapping[str, float],
        alike: Sequence[int] | None = None,
    ) -> None:
        self.domain, self.rows, self.parameters = domain, rows, parameters
        self.length = _length(rows)
        self.every = Counter(range(self.length) if alike is None else alike)
        """The elements that are computed, and how many are like each."""

    def value(self, root: Expression, wanted: Sequence[int]) -> Any:
        """The value of a graph at the wanted elements, by position, or its `Common` value.

        All elements are computed of what is reduced, and the wanted ones alone of what follows from that.
        """
        every, reduced, of_all = _nodes(root)
        values: dict[Expression, Any] = {}
        for current in every:
            operands = [values[operand] for operand in current.operands]
            places = list(self.every) if current in of_all else wanted
            if current.operation == ops.ROW_COUNT:
                values[current] = Common(self.domain.number(self.length))
            elif not current.operands:
                values[current] = self._leaf(current, places)
            elif current in reduced:
                (operand,) = operands
                row = {i: operand.value if isinstance(operand, Common) else operand[i] for i in self.every}
                values[current] = self._reduced(current.operation, row)
            else:
                values[current] = self._of_operands(current.operation, operands, places)
        return values[root]

    def _leaf(self, n: Expression, places: Sequence[int]) -> Any:
        if n.operation != ops.INPUT:
            given = self.parameters[n.attribute[1]] if n.operation == ops.PARAMETER else n.attribute
            return Common(self.domain.leaf(n, given))
        row = self.rows[n.attribute]
        if len(row) < self.length:
            return Common(self.domain.leaf(n, row[0]))
        return {i: self.domain.leaf(n, row[i]) for i in places}

    def _of_operands(self, operation: Operation, operands: Sequence[Any], places: Sequence[int]) -> Any:
        if all(isinstance(operand, Common) for operand in operands):
            return Common(self.domain.applied(operation, [operand.value for operand in operands]))
        return {
            i: self.domain.applied(operation, [o.value if isinstance(o, Common) else o[i] for o in operands])
            for i in places
        }

    def _reduced(self, operation: Operation, row: dict[int, Any]) -> Any:
        domain = self.domain
        if operation in (ops.ROW_FIRST, ops.ROW_INDEX):
            first = next((i for i, truth in row.items() if domain.holds(truth)), None)
            if operation == ops.ROW_FIRST:
                return {i: domain.applied(ops.EQUAL, [domain.number(i == first), domain.number(1)]) for i in row}
            return Common(domain.number(math.inf if first is None else first))
        if operation == ops.ROW_SUM:
            add, multiply, total = domain.rule(ops.ADD), domain.rule(ops.MULTIPLY), domain.number(0)
            for i, value in row.items():
                count = self.every[i]
                total = add(total, value if count == 1 else multiply(domain.number(count), value))
            return Common(domain.settled(total))
        if operation in OF_LISTS:
            every = [value for i, value in row.items() for _ in range(self.every[i])]
            return Common(domain.settled(OF_LISTS[operation](self, every)))
        extreme, values = domain.rule(LARGER if operation == ops.ROW_MAX else SMALLER), iter(row.values())
        found = next(values)
        for value in values:
            found = extreme(found, value)
        return Common(found)

    def _product(self, row: list[Any]) -> Any:
        """The product of factors of like length, two and two: so long fractions are multiplied few times."""
        multiply = self.domain.rule(ops.MULTIPLY)
        while len(row) > 1:
            pairs = zip(row[::2], row[1::2], strict=False)
            row = [*(multiply(a, b) for a, b in pairs), *row[len(row) // 2 * 2 :]]
        return row[0] if row else self.domain.number(1)

    def _threshold(self, row: list[Any]) -> Any:
        """As many of the largest elements that the next one is not above the threshold that they make."""
        domain = self.domain
        add, divide = domain.rule(ops.ADD), domain.rule(ops.DIVIDE)
        total = found = domain.number(-1)
        ordered = self._ordered(row)
        if ordered is None:
            return domain.number(math.nan)
        for count, value in enumerate(ordered, start=1):
            if domain.order(found, value) != -1:
                break
            total = add(total, value)
            found = divide(total, domain.number(count))
        return found

    def _square_threshold(self, row: list[Any]) -> Any:
        """As many of the largest elements that the squares of what they are above the next one add up to 1 or more."""
        domain = self.domain
        add, multiply, divide = (domain.rule(rule) for rule in (ops.ADD, ops.MULTIPLY, ops.DIVIDE))
        one, total, squares, count = domain.number(1), domain.number(0), domain.number(0), 0

        def less(a: Any, b: Any) -> Any:
            return add(a, multiply(domain.number(-1), b))

        ordered = self._ordered(row)
        if ordered is None:
            return domain.number(math.nan)
        for value in ordered:
            twice = multiply(domain.number(2), multiply(value, total))
            above = add(less(squares, twice), multiply(domain.number(count), multiply(value, value)))
            if domain.order(above, one) != -1:
                break
            total, squares, count = add(total, value), add(squares, multiply(value, value)), count + 1
        inner = less(multiply(total, total), multiply(domain.number(count), less(squares, one)))
        return divide(less(total, domain.rule(ops.SQUARE_ROOT)(inner)), domain.number(count))

    def _ordered(self, row: list[Any]) -> list[Any] | None:
        """The elements from the largest on; None where one is NaN."""
        order = self.domain.order
        if any(order(value, value) is None for value in row):
            return None
        return sorted(row, key=cmp_to_key(lambda a, b: order(a, b) or 0), reverse=True)


#: Numbers of a row that all its elements make at once.
OF_LISTS: dict[str, Callable[[Rows, list[Any]], Any]] = {
    ops.ROW_PRODUCT: Rows._product,
    ops.ROW_THRESHOLD: Rows._threshold,
    ops.ROW_SQUARE_THRESHOLD: Rows._square_threshold,
}
