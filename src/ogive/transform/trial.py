"""Trial: all 65,536 operands that float16 has, to see which results plain arithmetic rounds wrong.

The bound of plain.py cannot tell an exact tie, which rounds as it should, from what only seems to be one: one of 300
results of hard_swish would be computed with corrections, and 20 % of all blocks of elements have one. Here plain arithmetic
is done, in float32 as a kernel does it, and beside it the formula in float64; where that cannot decide either, in fractions.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.expression import Expression, Format, walk
from ogive.transform.fold import OPERATORS

if TYPE_CHECKING:
    from ogive.transform.plain import Plain

__all__ = ["exceptions"]

#: What is done to arrays of floats, bit for bit as IEEE 754 says, and to fractions.
OPERATIONS: dict[str, Callable[..., Any]] = {
    **OPERATORS,
    "copy_sign": lambda magnitude, sign: np.where(np.signbit(np.float64(sign)), -abs(magnitude), abs(magnitude)),
    "not": np.logical_not,
    "select": np.where,
    "convert": lambda operand: operand,  # float32 holds all numbers of float16
}

#: How many operands a kernel looks for; each takes a comparison and a choice.
MOST_EXCEPTIONS = 2


def exceptions(root: Expression, near: Plain) -> dict[float, float] | None:
    """The operands whose results plain arithmetic does not round to the nearest float16, with these; None where there are
    more than a few, and where this does not find them.
    """
    graphs = (*walk(root), *walk(near.value))
    known = {"input", "constant", *OPERATIONS}
    if {n.attribute for n in graphs if n.operation == "input"} != {0} or any(n.operation not in known for n in graphs):
        return None
    try:
        return _exceptions(root, near)
    except (ArithmeticError, ValueError):  # in fractions: of a branch that is not taken, too
        return None


@np.errstate(all="ignore")
def _exceptions(root: Expression, near: Plain) -> dict[float, float] | None:
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float64)
    plain, nearly = _computed(near.value, x.astype(np.float32), np.float32), _computed(root, x, np.float64)
    # Twice what operations in float64 are off by, which are no more than those in float32.
    off = near.off * 2.0**-52
    low, high = ((nearly * (1 + sign * off)).astype(np.float16) for sign in (-1, 1))
    is_known = _same(low, high)
    is_wrong = is_known & ~_same(plain.astype(np.float16), low)
    for i in np.flatnonzero(~is_known).tolist():
        tie = Fraction((float(low[i]) + float(high[i])) / 2)
        exact, found = _computed(root, Fraction(x[i]), Fraction), Fraction(float(plain[i]))
        if (exact > tie) != (found > tie) or (exact < tie) != (found < tie):
            return None
    wrong = x[is_wrong].tolist()
    if len(wrong) > MOST_EXCEPTIONS or not all(0 < abs(operand) < np.inf for operand in wrong):
        return None
    return dict(zip(wrong, low[is_wrong].astype(np.float64).tolist(), strict=True))


def _same(a: Any, b: Any) -> Any:
    """Whether these are equal, signs of zeros too, or both NaN."""
    return ((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b))


def _computed(root: Expression, x: Any, kind: Callable[[Any], Any]) -> Any:
    """A graph of an operand, or of an array of them, in numbers of a kind."""
    found: dict[Expression, Any] = {}
    for current in walk(root):
        operands = [found[operand] for operand in current.operands]
        if current.operation == "input":
            found[current] = x
        elif current.operation == "constant":
            found[current] = (bool if current.format in (Format.TRUTH, Format.BIT) else kind)(current.attribute)
        else:
            found[current] = OPERATIONS[current.operation](*operands)
    return found[root]
