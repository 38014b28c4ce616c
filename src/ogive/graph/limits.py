"""The parts of a formula that depend on the element type: where numbers become infinite, and how far parameters are rounded.

There are two questions. ``isinf(exp(x))`` asks about the number as results are stored: exp(12) is infinite in float16.
`is_infinite` asks whether a number is an infinity by its formula, whatever the element type has room for: that is so of
infinite operands and of 1/0, and not of exp(12).

A parameter is rounded to float32 where numbers are computed in that, in a direct call and in a formula that calls the operator.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import cast

import numpy as np

from ogive.common.dtypes import ELEMENT_TYPES, FLOAT_FORMATS, ElementType
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, Term, constant, lift, node, rewritten, walk


def is_infinite(x: Term) -> Term:
    """Whether a number is an infinity by its formula, and not merely larger than the element type has room for."""
    size = node(ops.ABSOLUTE, (x,), None, Format.NUMBER)
    return cast(Term, node(ops.EQUAL, (size, constant(math.inf)), None, Format.TRUTH))


def at_infinities(value: Term, x: Term, *, below: object = None, above: object = None) -> Term:
    """A value that depends on x, and its limits where x is -inf and inf by its formula. None: the value itself.

    >>> import numpy as np, ogive
    >>> from ogive.formula import exp
    >>> ogive.operator(lambda x: at_infinities(x * exp(x), x, below=-0.0))([-np.inf, 0.0])
    array([-0.,  0.])
    """
    for end, limit in ((math.inf, above), (-math.inf, below)):
        if limit is not None:
            is_there = node(ops.EQUAL, (x, constant(end)), None, Format.TRUTH)
            value = cast(Term, node(ops.SELECT, (is_there, lift(limit), value), None, Format.NUMBER))
    return value


def stored_in(inputs: Sequence[ElementType], outputs: Sequence[ElementType]) -> ElementType:
    """The element type that computed numbers are stored in: the longest floating-point type of the results.

    Where results are no floating-point numbers, it is that of the operands, and of integers float64.
    """
    floats = [[t for t in types if t.is_float] for types in (outputs, inputs)]
    return max(floats[0] or floats[1] or [ELEMENT_TYPES["float64"]], key=lambda t: (t.bits, t.name))


def overflow_of(kind: ElementType) -> Fraction:
    """The least number that is rounded to an infinity.

    >>> int(overflow_of(ELEMENT_TYPES["float16"]))
    65520
    """
    form = FLOAT_FORMATS.get(kind.name, FLOAT_FORMATS["float64"])
    precision, largest = form.precision, form.largest_exponent
    return Fraction(2) ** (largest + 1) - Fraction(2) ** (largest - precision)


def with_limits(
    roots: Sequence[Expression],
    kind: ElementType,
    *,
    in_float64: bool = False,
    rounds_parameters: bool | None = None,
    keeps_overflow: bool = False,
) -> tuple[Expression, ...]:
    """The formulas of numbers that are stored in a type.

    ``in_float64``: for arithmetic that is of float64 itself, where a number that is too large is an infinity already.
    ``rounds_parameters``: whether parameters are rounded to float32; as the type says, unless told otherwise.
    ``keeps_overflow``: for parameters alone; the places where numbers become infinite stay open.
    """
    of_type = {ops.GIVEN} if keeps_overflow else {ops.OVERFLOW, ops.GIVEN}
    if not any(current.operation in of_type for current in walk(*roots)):
        return tuple(roots)
    limit = constant(math.inf if in_float64 and kind.bits > 32 else overflow_of(kind))
    is_rounded = kind.computes_in == "float32" if rounds_parameters is None else rounds_parameters

    def stored(old: Expression, new: Expression) -> Expression:
        if old.operation == ops.OVERFLOW and not keeps_overflow:
            return limit
        if old.operation == ops.GIVEN:
            return constant(float(np.float32(old.attribute)) if is_rounded else old.attribute)
        is_negative = old.operation == ops.NEGATE and new.operands[0].operation == ops.CONSTANT
        return constant(-new.operands[0].attribute) if is_negative else new

    return rewritten(roots, stored)


def given(value: object) -> object:
    """A parameter's value in a formula: of a number that float32 lacks, what depends on the element type."""
    if not isinstance(value, float) or not math.isfinite(value):
        return value
    with np.errstate(all="ignore"):
        is_single = float(np.float32(value)) == value
    return value if is_single else node(ops.GIVEN, (), value, Format.NUMBER)
