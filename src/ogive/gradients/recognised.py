"""Operators inside of larger formulas: their registered derivatives hold there too.

A formula that calls an operator has the operator's graph as a part, which is found again by its shape. Left out are
operators of one or two nodes, such as ``abs`` and ``max``: a formula may use these to write a smooth function.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any, NamedTuple

from ogive import operations as ops
from ogive.catalog import OPERATORS
from ogive.differentiation.algebra import multiply, negative, rational, substituted
from ogive.expression import Expression, Term, walk
from ogive.gradients.derivatives import derivatives, leaves
from ogive.gradients.registered import RULES

__all__ = ["recognised"]

NAMES = (
    *("celu", "gelu", "hard_sigmoid", "hard_swish", "mish", "parametric_hard_swish", "parametric_softplus"),
    *("shrink", "softplus", "softsign", "swiglu", "swish"),
)


class _Pattern(NamedTuple):
    root: Expression
    leaves: tuple[Expression, ...]
    partials: tuple[Expression, ...]
    """The derivatives with respect to the leaves."""


@cache
def _patterns() -> dict[str, list[_Pattern]]:
    """By the kind of the root."""
    found: dict[str, list[_Pattern]] = {}
    for name in NAMES:
        operator = OPERATORS[name]
        chosen = [parameter for parameter in operator.parameters if parameter.choices]
        for values in product(*(parameter.choices for parameter in chosen)):
            choices = {parameter.name: value for parameter, value in zip(chosen, values, strict=True)}
            (root,) = operator.formula(**choices)
            places = leaves(operator)
            partials = [derivatives(operator, wrt, RULES[name].get(wrt), choices)[0] for wrt in places]
            found.setdefault(root.operation, []).append(_Pattern(root, tuple(places.values()), tuple(partials)))
    return found


def recognised(root: Expression) -> list[tuple[Expression, Term]] | None:
    """The operands of the operator whose result a node is, and the partial derivatives by them; None if it is none."""
    for pattern in _patterns().get(root.operation, ()):
        bound = _matched(pattern.root, root)
        if bound is not None:
            partials: Any = substituted(pattern.partials, bound)
            operands = [bound.get(leaf) for leaf in pattern.leaves]
            return [(operand, p) for operand, p in zip(operands, partials, strict=True) if operand is not None]
    return None


def _matched(pattern: Expression, root: Expression) -> dict[Expression, Expression] | None:
    """What stands in the places of the pattern's leaves."""
    bound: dict[Expression, Expression] = {}
    computed: list[tuple[Expression, Fraction]] = []
    pairs = [(pattern, root)]
    seen = set()
    while pairs:
        pair = pairs.pop()
        wanted, given = pair
        if pair in seen or (wanted is given and not wanted.operands and wanted.operation == ops.CONSTANT):
            continue
        seen.add(pair)
        value = rational(given)
        if wanted.operation in (ops.INPUT, ops.PARAMETER):
            if bound.setdefault(wanted, given) is not given or wanted.format is not given.format:
                return None
        elif wanted.operation in _COMPUTED and value is not None:
            computed.append((wanted, value))
        elif not wanted.operands or (wanted.operation, wanted.attribute) != (given.operation, given.attribute):
            return None
        else:
            pairs += zip(wanted.operands, given.operands, strict=True)
    return bound if all(_value(wanted, bound) == value for wanted, value in computed) else None


#: What Python computes where a formula is called with numbers for its parameters.
_COMPUTED: dict[str, Callable[..., Term]] = {"negate": negative, "multiply": multiply}


def _value(wanted: Expression, bound: dict[Expression, Expression]) -> Fraction | None:
    """The value of a product of parameters; None where it has none."""
    values: dict[Expression, Any] = {}
    for current in walk(wanted):
        if current.operation in _COMPUTED:
            values[current] = _COMPUTED[current.operation](*(values[operand] for operand in current.operands))
        else:
            values[current] = bound.get(current, current)
    return rational(values[wanted])
