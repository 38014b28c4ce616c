"""What is special about formulas over rows: their exponentials, and what a row's numbers are computed in.

``exp(x - max(x))`` would magnify a rounding error of its argument. Here nothing is subtracted: with n the integer
nearest to x / log(2) and r = x - n log(2),

    exp(x - max) = 2**(n - N) exp(r) / exp(rest),    max = N log(2) + rest.

n - N keeps all exponentials of a row in range, and exp(rest) is the same for all of them: it cancels in a quotient
of such exponentials and their sums, and is divided by once a row elsewhere. So an exponential of a row is a
polynomial with one power of two, to about one unit in the last place.

n is a small number only where x is. If the largest element is not, it is subtracted after all: that is exact for all
elements near enough to have an exponential other than zero (Sterbenz).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ogive.elementary.coefficients import EXP
from ogive.elementary.exponential import LOG2_E
from ogive.expression import Expression, Format, walk
from ogive.transform.interval import Interval
from ogive.transform.wide import Arithmetic, Wide

__all__ = ["REDUCTIONS", "RowExponential", "is_of_row", "is_ratio_only", "row_exponential", "within_row"]

#: What makes one number of a row.
REDUCTIONS = frozenset({"row_max", "row_min", "row_sum", "row_first"})

#: Up to where the largest element of a row is left in its elements. Whatever has an exponential other than zero is
#: then at most this far below one that lies beyond.
NEAR = {Format.F32: 256.0, Format.F64: 2048.0}

#: log(2) in two parts. A fused multiplication needs no room in the first one.
LOG_2 = {
    Format.F32: ("0x1.62e430p-1", "-0x1.05c610p-29"),
    Format.F64: ("0x1.62e42fefa39efp-1", "0x1.abc9e3b39803fp-56"),
}


def within_row(current: Expression) -> Sequence[Expression]:
    """The operands as far as they are no other pass over the row."""
    return () if current.operation in REDUCTIONS else current.operands


def is_of_row(root: Expression) -> bool:
    """Whether this depends on reductions, parameters and constants only, and on a reduction."""
    leaves = {current.operation for current in walk(root, operands=within_row)}
    return "input" not in leaves and not leaves.isdisjoint(REDUCTIONS)


def row_exponential(root: Expression) -> tuple[Expression, Expression] | None:
    """(x, the reduction) if this is ``exp(x - row_max(x))``."""
    if root.operation != "exp" or root.operands[0].operation != "subtract":
        return None
    x, largest = root.operands[0].operands
    return (x, largest) if largest.operation == "row_max" and largest.operands[0] is x else None


def is_ratio_only(root: Expression, roots: Sequence[Expression]) -> bool:
    """Whether all that the formulas make of this is ``root / row_sum(root)``: then a common factor cancels."""
    if root in roots:
        return False
    for user in _users(root, roots):
        if user.operation == "row_sum":
            if user in roots or any(not _is_ratio(above, root) for above in _users(user, roots)):
                return False
        elif not _is_ratio(user, root):
            return False
    return True


def _users(root: Expression, roots: Sequence[Expression]) -> Iterator[Expression]:
    return (current for current in walk(*roots) if root in current.operands)


def _is_ratio(user: Expression, root: Expression) -> bool:
    return (
        user.operation == "divide"
        and user.operands[0] is root
        and user.operands[1].operation == "row_sum"
        and user.operands[1].operands[0] is root
    )


@dataclass(frozen=True)
class RowExponential:
    """``exp(x - largest)`` for the elements of a row, but for a factor that they share."""

    m: Arithmetic
    largest: Expression

    #: Where the exponentials and, for any row in memory, their sum lie. The largest element's is 0.7 at least.
    interval = Interval(0.0, 1.5)
    sum_interval = Interval(0.7, 2.0**62)

    @property
    def _is_near(self) -> Expression:
        return self.m.less_(self.m.abs_(self.largest), self.m.number(NEAR[self.m.format]))

    @property
    def _kept(self) -> Expression:
        """What is not subtracted of the largest element."""
        return self.m.select_(self._is_near, self.largest, self.m.number(0.0))

    @property
    def _power(self) -> Expression:
        """N."""
        m, magic = self.m, self.m.number(self.m.magic)
        return m.sub_(m.fma_(self._kept, m.number(float.fromhex(LOG2_E[m.format])), magic), magic)

    def of(self, x: Expression) -> Expression:
        """The exponential of an element."""
        m = self.m
        near = NEAR[m.format]
        # What is clamped is too small to count, infinities included.
        x = m.sub_(x, m.select_(self._is_near, m.number(0.0), self.largest))
        x = m.select_(m.less_(x, m.number(-2 * near)), m.number(-2 * near), x)
        log2_e, magic = m.number(float.fromhex(LOG2_E[m.format])), m.number(m.magic)
        magic_of_row = m.sub_(magic, self._power)
        rounded = m.fma_(x, log2_e, magic_of_row)
        r = _rest(m, x, m.sub_(rounded, magic_of_row))
        value = m.polynomial_(r, (1.0, 1.0, *EXP[m.format]))
        return m.scale_(value, m.sub_(rounded, magic))

    def logarithm_of_factor(self, m: Arithmetic, converted: Callable[[Expression], Expression]) -> Wide:
        """The logarithm of what ``of`` has to be multiplied by: ``N log(2) - largest``, at most log(2) / 2."""
        rest = _rest(m, converted(self._kept), converted(self._power))
        return Wide(m.neg_(rest), interval=Interval(-0.35, 0.35))


def _rest(m: Arithmetic, x: Expression, n: Expression) -> Expression:
    """``x - n log(2)``; the first step is exact."""
    high, low = (m.number(-float.fromhex(part)) for part in LOG_2[m.format])
    return m.fma_(n, low, m.fma_(n, high, x))
