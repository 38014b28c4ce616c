"""The error bound of a computed number."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ogive.graph.expression import Expression


@dataclass(frozen=True)
class Beyond:
    """An exact number, and on which side of it another one lies, however near: so ties beside it are decided.

    It lacks the same exponent that `DoubleWord.high` lacks.
    """

    high: Expression
    low: Expression
    #: A truth value: where it lies above.
    is_above: Expression
    #: The condition that it lies below.
    is_below: Expression


@dataclass(frozen=True)
class Bound:
    """``abs(value - exact) <= relative * abs(value) + static + absolute`` where the operands are finite.

    That holds wherever `doubt` is false. Where it is true nothing is known. The value is what the number stands for,
    all parts of a `DoubleWord`; `static` is of the number with its exponent multiplied in, `absolute` lacks the same exponent
    that `DoubleWord.high` lacks.
    """

    #: A number that holds for every value; infinite where no bound is known.
    relative: float = 0.0
    #: The same, absolute: what a subnormal result has lost, or what a logarithm makes of a relative error.
    static: float = 0.0
    #: A bound computed beside the value, in float64: it may be low by a relative 2**-30, for its own rounding.
    absolute: Expression | None = None
    #: A truth value computed beside it.
    doubt: Expression | None = None
    #: How many significant bits an exact number has at most.
    bits: int | None = None
    #: For finite operands: the smallest magnitude but zero itself, and the largest.
    least: float = 0.0
    largest: float = math.inf
    #: A truth value: where the number has the sign of the exact one, also where it underflows to zero; None: nowhere.
    keeps_sign: Expression | None = None
    #: A truth value: where the number is the exact one, whatever the bound; None: nowhere.
    exactly: Expression | None = None
    #: The number that the exact one lies beyond: for sums of two words, of which one is exact and the other's sign is known.
    beyond: Beyond | None = None
    #: A truth value: where the exact number is too large for the arithmetic, or far, with the number's sign (beyond_range.py). The
    #: bound does not hold there. None: nowhere.
    vast: Expression | None = None
    #: The exponent of two that vast numbers have at least; of far ones how many bits of it are right.
    vast_exponent: int = 0
    #: A truth value: where the exact number is none, whatever the doubt; None: not known of any.
    nan: Expression | None = None

    @property
    def is_known(self) -> bool:
        return self.relative < math.inf

    @property
    def is_exact(self) -> bool:
        """Whether the value is the exact one, where that is not in doubt."""
        return self.relative == 0 and self.is_relative

    @property
    def is_relative(self) -> bool:
        """Whether one number bounds the relative error, where that is not in doubt."""
        return self.is_known and self.static == 0 and self.absolute is None

    @property
    def kind(self) -> str:
        """``exact``, ``static``, ``running`` or ``unknown``: what `ogive show` says."""
        if not self.is_known:
            return "unknown"
        if self.absolute is not None:
            return "running"
        return "exact" if self.is_exact else "static"


#: The bound of a number that has none: everything that is computed of it is unknown too, and costs nothing.
UNKNOWN = Bound(relative=math.inf)

#: The bound of the operands and of what is only chosen among them.
EXACT = Bound()
