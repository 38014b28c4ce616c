"""The special parts of formulas over rows: their exponentials, and what a row's numbers are computed in.

``exp(x - max(x))`` would magnify a rounding error of its argument. Here large numbers are not subtracted but reduced
one by one: with m the integer nearest to (x - max) / log(2), max = N log(2) + rest and n = m + N,

    exp(x - max) = 2**m exp(r),    r = (x - n log(2)) - rest.

n times the first part of log(2), x and rest are multiples of the same small number, so that both differences are
exact; that of the largest element is zero, and its exponential 1. The others are right to about one unit in the last
place, by a polynomial and one power of two.

Where exponentials are summed and not needed again, a common factor does no harm. Then n is the integer nearest to
x / log(2), the rest stays in the exponentials, and their sum is divided by exp(rest), once a row.

n is a small number only where x is. If the largest element is not, it is subtracted before: that is exact for all
elements near enough to have an exponential other than zero (Sterbenz).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import cast

from ogive.graph import operations as ops
from ogive.graph.elementary_functions import COSH, EXP, EXP2, EXPM1, LOG, LOG2, LOG10, POWER, SINH
from ogive.graph.expression import (
    COMPARISONS,
    EXTREMES,
    REDUCTIONS,
    REPEATED,
    ROW_NUMBERS,
    Expression,
    Format,
    Term,
    formula_node,
    in_format,
    lift,
    node,
    rewritten,
    walk,
)
from ogive.lowering.numerics.double_word import Arithmetic, DoubleWord
from ogive.lowering.numerics.elementary.derived_numbers import POLYNOMIALS
from ogive.lowering.numerics.elementary.exponential.exp import EXACT_LOG_2, LOG2_E, minus_log_2, whole_part
from ogive.lowering.numerics.interval import Interval
from ogive.lowering.program import SUBNORMAL_BITS, Reduction

#: The number of a row's elements.
LENGTH = node(ops.ROW_LENGTH, (), None, Format.F64)

#: Up to where the largest element of a row is left in its elements. Whatever has an exponential other than zero is
#: then at most this far below one that lies beyond.
NEAR = {Format.F32: 256.0, Format.F64: 2048.0}

#: Where exponentials lie, and, of any row in memory, their sum: the largest element's is 1, or exp(rest).
EXPONENTIALS = Interval(0.0, 2.0)
SUM_OF_EXPONENTIALS = Interval(0.5, 2.0**62)


#: The functions that make infinities of finite numbers: of any size, or of what has underflowed.
GROWING = frozenset({EXP, EXP2, EXPM1, SINH, COSH, POWER, LOG, LOG2, LOG10})

#: The exponents of what float64 holds, and of the lengths of rows.
LARGEST_EXPONENT, LOWEST_EXPONENT, EXPONENT_OF_LENGTH = 1020, -1070, 32.0

#: Formulas that make infinities of smaller numbers do so of float32's.
MOST_OF_SINGLE = 112

#: Operations that leave exact numbers exact: they are only compared and chosen.
CHOICES = frozenset(
    {
        *(ops.INPUT, ops.PARAMETER, ops.CONSTANT, ops.SELECT, *COMPARISONS),
        *(ops.AND, ops.OR, ops.EXCLUSIVE_OR, ops.NOT, ops.NEGATE, ops.ABSOLUTE, ops.COPY_SIGN),
        *(ROW_NUMBERS - {ops.ROW_SUM, ops.ROW_PRODUCT} - REPEATED),
    }
)


def within_row(current: Expression) -> Sequence[Expression]:
    """The operands as far as they are no other pass over the row."""
    return () if current.operation in ROW_NUMBERS else current.operands


def reductions_by_stage(roots: Sequence[Expression]) -> list[list[Expression]]:
    """The reductions of each stage: one comes a stage after those that it needs."""
    depth: dict[Expression, int] = {}
    stages: list[list[Expression]] = []
    for current in walk(*roots):
        below = max((depth[operand] for operand in current.operands), default=0)
        is_reduction = current.operation in REDUCTIONS
        depth[current] = below + is_reduction
        if is_reduction:
            if below == len(stages):
                stages.append([])
            stages[below].append(current)
    return stages


def first_position(truth: Expression) -> Reduction:
    """The smallest position of a row at which something is true, in float64: infinity where it is nowhere."""
    position, nowhere = node(ops.ROW_POSITION, (), None, Format.F64), node(ops.CONSTANT, (), math.inf, Format.F64)
    return Reduction(ops.ROW_MIN, node(ops.SELECT, (truth, position, nowhere), None, Format.F64))


def threshold_of_row(root: Expression) -> tuple[Expression, Expression, Expression, Expression]:
    """A row's threshold, as formulas: which elements lie above it, how many do, their sum, and the threshold.

    That is Michelot's algorithm, a form of Newton's method: from a threshold, which elements lie above it; from these the
    next one. From -1 on it rises until they stay the same.
    """
    t, x = cast(Term, root), cast(Term, root.operands[0])
    is_above = formula_node(ops.LESS, t, x)
    count = formula_node(ops.ROW_SUM, formula_node(ops.SELECT, is_above, lift(1), lift(0)))
    total = formula_node(ops.ROW_SUM, formula_node(ops.SELECT, is_above, x, lift(0)))
    following = formula_node(ops.DIVIDE, formula_node(ops.SUBTRACT, total, lift(1)), count)
    has_some = formula_node(ops.LESS, lift(0), count)
    return is_above, count, total, formula_node(ops.SELECT, has_some, following, lift(-1))


def turn_of_threshold(x: Expression, index: int) -> list[Reduction]:
    """Reductions ``index`` and on of a stage that repeats: a number t next to the one for which max(x - t, 0)**2 adds up to 1.

    That is Newton's method for the root of that sum, which is convex and of large numbers nearly straight. From -1 on t
    rises; rounding does not let it fall, so the turns end.
    """
    m = Arithmetic(Format.F64)
    t, slope, squares = (node(ops.ROW_VALUE, (), (index + i, 0), Format.F64) for i in range(3))
    zero = m.number(0.0)
    root = m.sqrt_(squares)
    following = m.add_(t, m.div_(m.mul_(root, m.sub_(root, m.number(1.0))), slope))
    following = m.select_(m.less_(t, following), following, t)
    t = m.select_(m.less_(zero, slope), following, m.number(-1.0))
    above = m.sub_(in_format(x, Format.F64), t)
    above = m.select_(m.less_(zero, above), above, zero)
    return [Reduction("row_max", t), Reduction("row_sum", above), Reduction("row_sum", m.mul_(above, above))]


#: Stands for a truth value that is not known yet.
OPEN_TRUTH = node(ops.INPUT, (), 1 << 20, Format.BIT)


def replaced(root: Expression, truth: Expression) -> Expression:
    """The graph with this truth value where one was open."""
    return rewritten([root], lambda old, new: truth if old is OPEN_TRUTH else new)[0]


def product_of_row(m: Arithmetic, index: int, *, most: float, has_rest: bool = True) -> DoubleWord:
    """The findings of a product's reductions, in float64: for exponents beyond ``most`` that one is taken."""
    words = [node(ops.ROW_VALUE, (), place, Format.F64) for place in ((index, 0), (index, 1), (index + 1, 0))]
    exponent = words[1]
    exponent = m.select_(m.less_(exponent, m.number(-most)), m.number(-most), exponent)
    exponent = m.select_(m.less_(m.number(most), exponent), m.number(most), exponent)
    return DoubleWord(words[0], words[2] if has_rest else None, exponent, low_is_number=False)


def below_largest(root: Expression) -> tuple[Expression, Expression] | None:
    """(x, the reduction) if this is ``x - row_max(x)``."""
    if root.operation != ops.SUBTRACT:
        return None
    x, largest = root.operands
    return (x, largest) if largest.operation == ops.ROW_MAX and largest.operands[0] is x else None


def row_exponential(root: Expression) -> tuple[Expression, Expression] | None:
    """(x, the reduction) if this is ``exp(x - row_max(x))``."""
    return below_largest(root.operands[0]) if root.operation == EXP else None


def reach_of_operands(roots: Sequence[Expression]) -> int:
    """The exponent of two up to which finite operands, tiny ones apart, make no infinity on the way in float64; 0 where functions
    grow, and by quotients by elements.
    """
    return bisect_left(range(LARGEST_EXPONENT), True, key=lambda reach: makes_infinities(roots, reach + 1))


def reach_of_factors(roots: Sequence[Expression]) -> int:
    """The exponent of two up to which nothing vanishes in float64 that a factor multiplies: times an infinity that would be NaN."""
    return bisect_left(range(LARGEST_EXPONENT), True, key=lambda reach: bool(factors_of_vanishing(roots, reach + 1)))


def factors_of_vanishing(roots: Sequence[Expression], reach: int) -> frozenset[int]:
    """The operands that multiply what is made of others and may vanish in float64, where finite ones have no larger exponent."""
    ends = _exponents(walk(*roots), reach, lowest=-math.log2(math.e) * 2.0 ** (reach + 1))
    found = (
        _operands_of(factor) - _operands_of(other)
        for n in ends
        if n.operation is ops.MULTIPLY
        for factor, other in (n.operands, n.operands[::-1])
        if ends[other][0] < LOWEST_EXPONENT
    )
    return frozenset().union(*found)


def _operands_of(root: Expression) -> frozenset[int]:
    """The operands that a number is made of, but for truth values."""
    nodes = walk(root, operands=lambda n: tuple(a for a in n.operands if a.format is not Format.TRUTH))
    return frozenset(n.attribute for n in nodes if n.operation is ops.INPUT)


def makes_infinities(roots: Sequence[Expression], reach: int) -> bool:
    """Whether finite operands up to an exponent of two, tiny ones apart, may make an infinity on the way in float64."""
    nodes = tuple(walk(*roots))
    return any(map(_grows, nodes)) or any(high > LARGEST_EXPONENT for _, high in _exponents(nodes, reach).values())


def _grows(n: Expression) -> bool:
    """Whether this is a function that makes infinities of numbers of any size, or a quotient by elements."""
    if n.operation is ops.DIVIDE:
        return any(leaf.operation is ops.INPUT for leaf in walk(n.operands[1], operands=within_row))
    return n.operation in GROWING and row_exponential(n) is None


def _exponents(
    nodes: Iterable[Expression], reach: int, *, lowest: float = 0.0
) -> dict[Expression, tuple[float, float]]:
    """The exponents between which lie the numbers that are not zero, but for sums that cancel. ``lowest``: that of an exponential."""
    found: dict[Expression, tuple[float, float]] = {}
    for n in nodes:
        of = [found[a] for a in n.operands] or [(0.0, 0.0)]
        low, high = min(low for low, _ in of), max(high for _, high in of)
        if n.operation in (ops.INPUT, ops.PARAMETER):
            low, high = -reach - SUBNORMAL_BITS, reach
        elif n.operation is ops.CONSTANT and n.attribute and math.isfinite(n.attribute):
            low = high = math.log2(abs(n.attribute))
        elif n.format is Format.TRUTH or _is_scale(n):
            low, high = 0.0, 0.0
        elif row_exponential(n) is not None:
            low, high = lowest, 0.0
        elif n.operation is ops.MULTIPLY:
            low, high = sum(low for low, _ in of), sum(high for _, high in of)
        elif n.operation is ops.DIVIDE:
            is_mean = n.operands[0].operation is ops.ROW_SUM and n.operands[1].operation is ops.ROW_COUNT
            low, high = of[0][0] - of[1][1], of[0][1] - (EXPONENT_OF_LENGTH if is_mean else of[1][0])
        elif n.operation is ops.SQUARE_ROOT:
            low, high = low / 2, high / 2
        elif n.operation is ops.ROW_COUNT:
            low, high = 0.0, EXPONENT_OF_LENGTH
        elif n.operation in (ops.ADD, ops.SUBTRACT, ops.ROW_SUM):
            high += EXPONENT_OF_LENGTH if n.operation is ops.ROW_SUM else 1.0
            low = 0.0 if n.operation is ops.ROW_SUM and row_exponential(n.operands[0]) is not None else low
        found[n] = low, high
    return found


def _is_scale(n: Expression) -> bool:
    """Whether this is a constant by which a formula scales its rows, of any size: nothing overflows by it."""
    return n.operation is ops.SELECT and all(a.operation is ops.CONSTANT and a.attribute for a in n.operands[1:])


def reduced_operands(roots: Sequence[Expression]) -> frozenset[int]:
    """The operands that numbers of the row are made of."""
    numbers = (n for n in walk(*roots) if n.operation in REDUCTIONS)
    of_numbers = walk(*numbers, operands=lambda n: () if n.operation is ops.ROW_COUNT else n.operands)
    return frozenset(n.attribute for n in of_numbers if n.operation == ops.INPUT)


def summed_exponential(root: Expression) -> tuple[Expression, Expression] | None:
    """The same if this is that where something holds, and zero elsewhere."""
    if root.operation != ops.SELECT:
        return row_exponential(root)
    is_zero = [operand.operation == ops.CONSTANT and not operand.attribute for operand in root.operands[1:]]
    return row_exponential(root.operands[2 if is_zero[0] else 1]) if any(is_zero) else None


def beside_largest(root: Expression) -> Expression | None:
    """The exponential, if this is the sum of the smaller elements' exponentials and of the number of the others, less one."""
    if root.operation != ops.ADD or [n.operation for n in root.operands] != [ops.ROW_SUM, ops.SUBTRACT]:
        return None
    chosen, (others, one) = root.operands[0].operands[0], root.operands[1].operands
    if chosen.operation != ops.SELECT or chosen.operands[2] is not lift(0) or one is not lift(1):
        return None
    is_smaller, power, _ = chosen.operands
    counted = node(ops.SELECT, (is_smaller, lift(0), lift(1)), None, Format.NUMBER)
    is_count = others.operation == ops.ROW_SUM and others.operands[0] is counted
    parts = row_exponential(power)
    is_beside = parts is not None and is_smaller is node(ops.LESS, parts, None, Format.TRUTH)
    return power if is_count and is_beside else None


def multiple(root: Expression) -> tuple[Expression, Callable[[Expression], Expression]] | None:
    """(x, what makes the same of another number) if this is x times a positive constant, or divided by one."""
    if root.operation not in (ops.MULTIPLY, ops.DIVIDE):
        return None
    for place in (0, 1) if root.operation == ops.MULTIPLY else (0,):
        constant = root.operands[1 - place]
        if constant.operation == ops.CONSTANT and 0 < constant.attribute < math.inf:

            def made(other: Expression, place: int = place, constant: Expression = constant) -> Expression:
                operands = (other, constant) if place == 0 else (constant, other)
                return node(root.operation, operands, None, Format.NUMBER)

            return root.operands[place], made
    return None


def multiple_beside_extreme(root: Expression) -> Expression | None:
    """For multiples beside the largest or smallest one: the same comparison of what they are multiples of, or the multiple of
    its difference. These are exact where that is.
    """
    if len(root.operands) != 2:
        return None
    for place, (element, found) in enumerate((root.operands, root.operands[::-1])):
        parts = multiple(element) if found.operation in EXTREMES and found.operands[0] is element else None
        if parts is not None:
            x, made = parts
            extreme = node(found.operation, (x,), None, Format.NUMBER)
            same = node(root.operation, (x, extreme) if place == 0 else (extreme, x), None, root.format)
            return made(same) if root.operation == ops.SUBTRACT else same if root.format is Format.TRUTH else None
    return None


def square_around_mean(root: Expression) -> tuple[Expression, Expression] | None:
    """An element x and the mean of its row, where this is ``(x - mean) * (x - mean)``; None for another number."""
    if root.operation != ops.MULTIPLY or root.operands[0] is not root.operands[1]:
        return None
    away = root.operands[0]
    if away.operation != ops.SUBTRACT or away.operands[1].operation != ops.DIVIDE:
        return None
    x, mean = away.operands
    total, count = mean.operands
    is_mean = total.operation == ops.ROW_SUM and total.operands[0] is x and count.operation == ops.ROW_COUNT
    return (x, mean) if is_mean else None


def weighted_exponential(root: Expression) -> tuple[Expression, Expression] | None:
    """(w, u) if this is ``w exp(u)``, or that divided by a number of the row: so is ``exp(x - row_max(x))``, with x for u."""
    if root.operation != ops.MULTIPLY:
        return None
    for weight, power in (root.operands, root.operands[::-1]):
        if power.operation == ops.DIVIDE and power.operands[1].operation == ops.ROW_SUM:
            power, summed = power.operands[0], power.operands[1].operands[0]
            power = power if summed is power else root
        parts = row_exponential(power)
        if power.operation == EXP:
            return weight, power.operands[0] if parts is None else parts[0]
    return None


def beside_smallest(root: Expression) -> Expression:
    """``exp(row_min(x) - x)`` as that of ``-x`` beside the largest."""
    if root.operation == EXP and root.operands[0].operation == ops.SUBTRACT:
        least, x = root.operands[0].operands
        if least.operation == ops.ROW_MIN and least.operands[0] is x:
            opposite = formula_node(ops.NEGATE, cast(Term, x))
            return formula_node(EXP, formula_node(ops.SUBTRACT, opposite, formula_node(ops.ROW_MAX, opposite)))
    return root


def _is_near(m: Arithmetic, largest: Expression) -> Expression:
    return m.less_(m.abs_(largest), m.number(NEAR[m.format]))  # an infinity and NaN are not


def kept_of_largest(m: Arithmetic, largest: Expression) -> tuple[Expression, Expression]:
    """(the largest element, N), once a row; zeros where it is subtracted before."""
    kept = m.select_(_is_near(m, largest), largest, m.number(0.0))
    return kept, whole_part(m, kept)[1]


def rest_of_largest(m: Arithmetic, kept: Expression, power: Expression) -> DoubleWord:
    """``rest``, in an arithmetic that may be the promotion of that of the elements."""
    if kept.format is not m.format:
        kept, power = (in_format(part, m.format) for part in (kept, power))
    log2_high, log2_low = minus_log_2(m, EXACT_LOG_2)
    rest = DoubleWord(m.fma_(power, log2_high, kept), m.mul_(power, log2_low), interval=Interval(-0.35, 0.35))
    return m.renormalised(rest)


def exponential(m: Arithmetic, x: Expression, largest: Expression, *, with_rest: bool = False) -> Expression:
    """``exp(x - largest)`` of the elements of a row; with the rest ``exp(x - largest + rest)``, which takes less."""
    log2_e, magic = m.number(float.fromhex(LOG2_E[m.format])), m.number(m.magic)
    log2_high, log2_low = minus_log_2(m, EXACT_LOG_2)
    kept, power = kept_of_largest(m, largest)  # once a row
    # An element that is clamped is too small to count, infinities included.
    lowest = m.number(-2 * NEAR[m.format])
    x = m.select_rare_(m.not_(_is_near(m, largest)), m.sub_(x, largest), x)
    x = m.select_(m.less_(x, lowest), lowest, x)
    if with_rest:
        shifted_by = m.sub_(magic, power)
        shifted = m.fma_(x, log2_e, shifted_by)
        exponent, n = m.sub_(shifted, magic), m.sub_(shifted, shifted_by)
        r = m.fma_(n, log2_low, m.fma_(n, log2_high, x))
    else:
        rest, offset = m.fma_(power, log2_high, kept), m.neg_(m.mul_(kept, log2_e))  # once a row
        exponent = m.round_even_(m.fma_(x, log2_e, offset))
        r = m.sub_(m.fma_(m.add_(exponent, power), log2_high, x), rest)
        r = m.fma_(exponent, log2_low, r)
    return m.scale_(m.polynomial_(r, (1.0, 1.0, *POLYNOMIALS["EXP"][m.format])), exponent)
