"""Formulas at single elements and rows, exactly: rounded to an element type, or to decimal digits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cmp_to_key
from typing import Any

from ogive.dtypes import ELEMENT_TYPES, ElementType
from ogive.enclosure import Negligible, Undecided, decided, of_number, rounded, to_decimal
from ogive.errors import UnsupportedError
from ogive.expression import Expression, Format, Operation, walk
from ogive.limits import with_limits

__all__ = ["exact_row", "right_row", "right_rows", "right_total"]

_REDUCTIONS = ("row_max", "row_min", "row_sum", "row_product", "row_threshold", "row_first", "row_index")


class _Common:
    """What a row has one of."""

    def __init__(self, value: Any) -> None:
        self.value = value


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

    ``wanted`` are the positions of the results that are computed; all by default.
    """
    places = range(_length(rows)) if wanted is None else wanted
    results: dict[int, float | int] = {}

    def compute(rules: Any) -> Any:
        return _row(root, rows, parameters, rules, [i for i in places if i not in results])

    def accept(values: Any, is_last: bool) -> list[float | int]:
        """Each element is decided once, with as many bits as it takes."""
        if isinstance(values, _Common):
            return [rounded(values.value, kind, False, is_last)] * len(places)
        undecided: Undecided | None = None
        for i, value in values.items():
            try:
                results[i] = rounded(value, kind, False, is_last)
            except Undecided as found:
                undecided = found if undecided is None or isinstance(undecided, Negligible) else undecided
        if undecided is not None:
            raise undecided
        return [results[i] for i in places]

    (root,) = with_limits([root], kind if kind.is_float else ELEMENT_TYPES["float64"])
    found: list[float | int] = decided(compute, accept)
    return found


def exact_row(
    root: Expression, row: Sequence[float], parameters: Mapping[str, float], digits: int = 50
) -> list[Decimal]:
    """The values of a formula over one row, with so many decimal digits, one for each element."""

    def accept(values: Any, is_last: bool) -> list[Decimal]:
        every = [values.value] * len(row) if isinstance(values, _Common) else values.values()
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


def _length(rows: Sequence[Sequence[float | int]]) -> int:
    return max(map(len, rows))


def _row(
    root: Expression,
    rows: Sequence[Sequence[float | int]],
    parameters: Mapping[str, float],
    rules: Any,
    wanted: Sequence[int],
) -> Any:
    """The value of a graph at some elements of a row, by position, or its `_Common` value.

    All elements are computed of what is reduced, and the wanted ones alone of what follows from that.
    """
    every = range(_length(rows))
    reduced = {n for n in walk(root) if n.operation in _REDUCTIONS}
    of_all = set(walk(*(operand for n in reduced for operand in n.operands)))
    values: dict[Expression, Any] = {}
    for current in walk(root):
        places = every if current in of_all else wanted
        if current.operation == "input":
            row = rows[current.attribute]
            if len(row) == len(every):
                values[current] = {i: _given(current, row[i], rules) for i in places}
            else:
                values[current] = _Common(_given(current, row[0], rules))
        elif current.operation in ("parameter", "constant"):
            one = parameters[current.attribute[1]] if current.operation == "parameter" else current.attribute
            values[current] = _Common(_given(current, one, rules))
        elif current.operation == "row_count":
            values[current] = _Common(of_number(len(every)))
        elif current in reduced:
            operand = values[current.operands[0]]
            row = [operand.value] * len(every) if isinstance(operand, _Common) else [operand[i] for i in every]
            values[current] = _reduced(current.operation, row, rules)
        else:
            values[current] = _of_operands(current.operation, [values[o] for o in current.operands], places, rules)
    return values[root]


def _given(leaf: Expression, value: Any, rules: Any) -> Any:
    return bool(value) if leaf.format is Format.TRUTH else rules.settled(of_number(value))


def _of_operands(operation: Operation, operands: Sequence[Any], places: Sequence[int], rules: Any) -> Any:
    if all(isinstance(operand, _Common) for operand in operands):
        return _Common(_applied(operation, tuple(operand.value for operand in operands), rules))
    return {
        i: _applied(operation, tuple(o.value if isinstance(o, _Common) else o[i] for o in operands), rules)
        for i in places
    }


def _applied(operation: Operation, operands: tuple[Any, ...], rules: Any) -> Any:
    if operation == "select":
        return operands[1 if operands[0] else 2]
    rule = rules.rule(operation)
    if rule is None:
        raise UnsupportedError(f"exact results: there is no rule for {operation}")
    value = rule(*operands)
    return value if isinstance(value, bool) else rules.settled(value)


def _product(row: list[Any], rules: Any) -> Any:
    """Of factors of like length, two and two: so long fractions are multiplied few times."""
    while len(row) > 1:
        pairs = zip(row[::2], row[1::2], strict=False)
        row = [*(rules.multiply(a, b) for a, b in pairs), *row[len(row) // 2 * 2 :]]
    return row[0] if row else of_number(1)


def _threshold(row: list[Any], rules: Any) -> Any:
    """Of the largest elements so many that the next one is not above the threshold that they make."""
    if any(value.kind == "nan" for value in row):
        return of_number(math.nan)
    order = sorted(row, key=cmp_to_key(rules.compare), reverse=True)
    total, found = of_number(-1), of_number(-1)
    for count, value in enumerate(order, start=1):
        if rules.compare(found, value) != -1:
            break
        total = rules.add(total, value)
        found = rules.divide(total, of_number(count))
    return rules.settled(found)


def _reduced(operation: str, row: list[Any], rules: Any) -> Any:
    if operation in ("row_first", "row_index"):
        first = next((i for i, truth in enumerate(row) if truth), None)
        if operation == "row_first":
            return {i: i == first for i in range(len(row))}
        return _Common(of_number(math.inf if first is None else first))
    if operation == "row_sum":
        total = rules.add(of_number(0), row[0]) if row else of_number(0)
        for value in row[1:]:
            total = rules.add(total, value)
        return _Common(rules.settled(total))
    if operation == "row_threshold":
        return _Common(_threshold(row, rules))
    if operation == "row_product":
        return _Common(rules.settled(_product(row, rules)))
    found = row[0]
    for value in row[1:]:
        found = rules.extreme(1 if operation == "row_max" else -1, found, value)
    return _Common(found)
