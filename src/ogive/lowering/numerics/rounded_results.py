"""How a number becomes a result of fewer bits, rounded as if once, or an integer."""

from __future__ import annotations

from collections.abc import Container, Sequence
from fractions import Fraction

import numpy as np

from ogive.common.dtypes import ElementType
from ogive.graph import operations as ops
from ogive.graph.expression import STORAGE, Expression, Format, in_format, node, walk
from ogive.lowering.numerics.double_word import Arithmetic, DoubleWord
from ogive.lowering.numerics.truths import both, either, except_where, opposite

#: How many more undecided results an instruction is worth. A test by a mask alone takes one less.
WORTH_AN_INSTRUCTION = 1.5

UNSIGNED = {Format.I32: Format.U32, Format.I64: Format.U64}


#: The smallest normal numbers of 16 bits, and numbers above which none is asked about.
NORMAL = {Format.F16: (2.0**-14, 65504.0), Format.BF16: (2.0**-126, 2.0**127)}


def is_short(exact: Fraction | float, storage: Format) -> bool:
    """Whether this is zero or a normal number of 16 bits."""
    if exact == 0 or not isinstance(exact, Fraction):  # the floats are infinity, NaN and -0
        return exact == 0
    least, most = NORMAL[storage]
    numerator, denominator = abs(exact).as_integer_ratio()
    odd = numerator // (numerator & -numerator)
    return least <= abs(exact) <= most and not denominator & (denominator - 1) and odd < 1 << storage.precision


def product_to_odd(m: Arithmetic, a: Expression, b: Expression, storage: Format) -> Expression:
    """A product of two float32. Its error may underflow in float32, where float16 has zero, but not bfloat16 (`is_tiny`)."""
    if storage is Format.F16:
        return node(ops.MULTIPLY_TO_ODD, (a, b), None, Format.F32)
    wide = [in_format(operand, Format.F64) for operand in (a, b)]
    return single_to_odd(m, node(ops.MULTIPLY, tuple(wide), None, Format.F64))


def is_tiny(product: Expression) -> Expression:
    """Whether the error of this product underflows, and the product may be subnormal as bfloat16; of zeros it is none."""
    bits = node(ops.SHIFT_LEFT, (node(ops.BITCAST, (product,), None, Format.U32),), 1, Format.U32)
    from_zero = _whole(ops.SUBTRACT, bits, 1)
    return node(ops.LESS, (from_zero, _unsigned((127 - 100) << 24)), None, Format.BIT)


def to_odd(m: Arithmetic, high: Expression, low: Expression) -> Expression:
    """Rounding to odd (Boldo and Melquiond): what is rounded to fewer bits then never lies on a tie that the exact
    value does not lie on.

    Where a rounded value is inexact, that is where low is a number and not zero, the exact value is cut off, and
    the last bit set. A value larger than the exact one is cut off to its neighbour.
    """
    signs = node(ops.EXCLUSIVE_OR, (m.bits_(high), m.bits_(low)), None, m.integer)
    is_larger = node(ops.BITCAST, (signs,), None, UNSIGNED[m.integer])
    is_larger = node(ops.BITCAST, (m.shift_right_(is_larger, m.bits - 1),), None, m.integer)
    cut = node(ops.SUBTRACT, (m.bits_(high), is_larger), None, m.integer)
    odd = node(ops.OR, (cut, m.whole(1)), None, m.integer)
    zero = m.number(0.0)
    is_inexact = either(m.less_(zero, low), m.less_(low, zero))
    return m.from_bits_(m.select_(is_inexact, odd, m.bits_(high)))


def to_subnormal(m: Arithmetic, number: DoubleWord) -> Expression:
    """A number with an exponent, rounded once to the fewer bits of a subnormal number."""
    exponent = number.exponent
    assert exponent is not None
    number = m.renormalised(number)
    rounded, back = m.scale_(number.high, exponent), m.neg_(exponent)
    if number.low is None:
        return rounded
    # The second word counts beside a tie alone: it is less than a bit of the first.
    rest, low = m.sub_(number.high, m.scale_(rounded, back)), m.low_part(number)
    half = m.scale_(m.number(2.0**-1074), m.sub_(back, m.number(1.0)))
    is_tie = m.equal_(half, m.abs_(rest))
    same = m.equal_(*(m.copy_sign(DoubleWord(m.number(1.0)), part).high for part in (rest, low)))
    rises = both(is_tie, except_where(same, m.equal_(low, m.number(0.0))))
    step = m.copy_sign(DoubleWord(m.number(2.0**-1074)), rest).high
    return m.select_(rises, m.add_(rounded, step), rounded)


def single_to_odd(m: Arithmetic, value: Expression) -> Expression:
    """A float64 as float32, of the two neighbours the one whose last bit is set; exact values stay."""
    single = in_format(value, Format.F32)
    back = in_format(single, Format.F64)
    bits, one = node(ops.BITCAST, (single,), None, Format.I32), node(ops.CONSTANT, (), 1, Format.I32)
    is_inexact = either(m.less_(back, value), m.less_(value, back))
    is_beyond = m.less_(m.abs_(value), m.abs_(back))
    below = node(ops.SELECT, (is_beyond, node(ops.SUBTRACT, (bits, one), None, Format.I32), bits), None, Format.I32)
    odd = node(ops.OR, (below, one), None, Format.I32)
    return node(ops.BITCAST, (node(ops.SELECT, (is_inexact, odd, bits), None, Format.I32),), None, Format.F32)


def normal_single_to_odd(value: Expression) -> Expression:
    """The same in a third of the instructions, but for values that are subnormal in float32: these are rounded.

    The bits that float32 has no place for are cut off, and the last that it has is set if one of them was.
    """
    bits = node(ops.BITCAST, (value,), None, Format.I64)

    def whole(number: int) -> Expression:
        return node(ops.CONSTANT, (), number, Format.I64)

    surplus = whole((1 << (Format.F64.precision - Format.F32.precision)) - 1)
    # The sum reaches the last bit unless all of them are zero.
    carried = node(ops.ADD, (node(ops.AND, (bits, surplus), None, Format.I64), surplus), None, Format.I64)
    odd = node(ops.OR, (bits, carried), None, Format.I64)
    cut = node(ops.AND, (odd, whole(~surplus.attribute)), None, Format.I64)
    return in_format(node(ops.BITCAST, (cut,), None, Format.F64), Format.F32)


def moved_by_half(value: Expression, reach: int) -> Expression:
    """The bits of a float32, with half a unit of the last place of bfloat16 added, and more units of its own."""
    return _whole(ops.ADD, node(ops.BITCAST, (value,), None, Format.U32), (1 << 15) + reach)


def upper_half(moved: Expression) -> Expression:
    """The bfloat16 number that it is rounded to."""
    upper = in_format(node(ops.SHIFT_RIGHT, (moved,), 16, Format.U32), Format.U16)
    return node(ops.BITCAST, (upper,), None, Format.BF16)


def in_storage(value: Expression, storage: Format, rounded: Container[Expression] = ()) -> Expression:
    """A number in the format of its element type. One that is a bfloat16 already has the bits of its upper half.

    ``rounded``: numbers of float32 that have been rounded to bfloat16.
    """
    if storage is value.format:
        return value
    if storage is Format.BF16 and value.format is Format.F32:
        among = walk(value, operands=lambda n: _same_number(n, rounded))
        if all(_is_of_bfloat16(n) or n in rounded or _same_number(n, rounded) for n in among):
            return upper_half(node(ops.BITCAST, (value,), None, Format.U32))
    return in_format(value, storage)


def _same_number(current: Expression, rounded: Container[Expression]) -> Sequence[Expression]:
    """The operands that this is one of, but for its sign."""
    if current in rounded:
        return ()
    if current.operation is ops.SELECT:
        return current.operands[1:]
    return current.operands[:1] if current.operation in (ops.NEGATE, ops.ABSOLUTE, ops.COPY_SIGN) else ()


def _is_of_bfloat16(current: Expression) -> bool:
    if current.operation is ops.CONSTANT:
        return not np.float32(current.attribute).view(np.uint32) & 0xFFFF
    return current.operation is ops.CONVERT and current.operands[0].format is Format.BF16


def with_zeros_below(moved: Expression) -> Expression:
    """The bits of that number as a float32."""
    return _whole(ops.AND, moved, 0xFFFF0000)


def have_same_halves(a: Expression, b: Expression) -> Expression:
    """Whether two numbers, moved so, are rounded to the same one."""
    differing = node(ops.EXCLUSIVE_OR, (a, b), None, Format.U32)
    return node(ops.EQUAL, (_whole(ops.AND, differing, 0xFFFF0000), _unsigned(0)), None, Format.BIT)


def is_near_tie(moved: Expression, reach: int) -> Expression:
    """Whether a number, moved so, is nearer to a tie than that."""
    most = 2 * reach
    if most.bit_length() <= 2 or (1 << most.bit_length()) <= WORTH_AN_INSTRUCTION * (most + 1):
        mask = (1 << 16) - (1 << most.bit_length())
        return node(ops.EQUAL, (_whole(ops.AND, moved, mask), _unsigned(0)), None, Format.BIT)
    return node(ops.LESS, (_whole(ops.AND, moved, 0xFFFF), _unsigned(most + 1)), None, Format.BIT)


def are_same(a: Expression, b: Expression) -> Expression:
    """Whether two numbers of 16 bits have the same ones."""
    bits = tuple(node(ops.BITCAST, (number,), None, Format.U16) for number in (a, b))
    return node(ops.EQUAL, bits, None, Format.BIT)


def single_to_16_bits(single: Expression, storage: Format) -> tuple[Expression, Expression]:
    """The number of 16 bits that a float32 is rounded to, and whether what it was rounded from itself may be rounded to another.

    The float32 is wrong by half a unit of its last place and next to nothing more, so the number lies between its neighbours.
    Products with what is next to one are these neighbours, or the ones after them.
    """
    if storage is Format.BF16:
        moved = moved_by_half(single, 0)
        return upper_half(moved), is_near_tie(moved, 0)
    lower, upper = (
        in_format(node(ops.MULTIPLY, (single, end), None, Format.F32), storage)
        for end in (node(ops.CONSTANT, (), end, Format.F32) for end in (1 - 2.0**-24, 1 + 2.0**-23))
    )
    return upper, opposite(are_same(lower, upper))


def _whole(operation: ops.Operation, a: Expression, b: int) -> Expression:
    return node(operation, (a, _unsigned(b)), None, Format.U32)


def _unsigned(value: int) -> Expression:
    return node(ops.CONSTANT, (), value, Format.U32)


def to_integer(m: Arithmetic, a: DoubleWord, result: ElementType) -> Expression:
    """Towards zero, saturating; NaN (which finite parameters never make of integers) becomes zero."""
    if result.bits == 64:
        return _to_wide_integer(m, a, result)
    value = m.single(a)
    if m.is_long and a.low is not None:  # rounded to odd, what is no integer does not become one
        a = m.renormalised(m.unscaled(a))
        value = to_odd(m, a.high, m.low_part(a))
    value = m.select_(m.equal_(value, value), value, m.number(0.0))
    for limit, is_maximum in ((float(result.minimum), False), (float(result.maximum), True)):
        bound = m.number(limit)
        beyond = m.less_(bound, value) if is_maximum else m.less_(value, bound)
        value = m.select_(beyond, bound, value)
    return in_format(value, STORAGE[result.name])


def _to_wide_integer(m: Arithmetic, a: DoubleWord, result: ElementType) -> Expression:
    """64 bits from a sum of two float64: the integer parts of both are added as integers."""
    storage = STORAGE[result.name]
    a = m.renormalised(m.unscaled(a))
    zero = m.number(0.0)
    low_part = zero if a.low is None else a.low
    negative = m.less_(a.high, zero)
    high = m.abs_(a.high)
    low = m.select_(negative, m.neg_(low_part), low_part)
    whole = m.make(ops.FLOOR, high)
    rest = m.make(ops.FLOOR, m.add_(m.sub_(high, whole), low))
    # abs(a) >= limit? Exactly: the sum is normalised.
    limit = m.number(2.0 ** (63 if result.kind == "signed" else 64))
    tied = both(m.equal_(high, limit), m.less_equal_(zero, low))
    saturated = either(m.less_(limit, high), tied)
    is_number = m.equal_(whole, whole)
    usable = both(m.less_equal_(whole, m.number(2.0**64 - 2.0**11)), is_number)
    small = m.select_(usable, whole, zero)
    rest = m.select_(usable, rest, zero)
    unsigned = in_format(small, Format.U64)
    # whole may be 2**63 or 2**64 and rest negative: the largest values below the limit.
    at_top = both(m.equal_(whole, m.number(2.0**64)), m.not_(saturated))
    rest = m.select_(at_top, m.make(ops.FLOOR, low), rest)
    addend = node(ops.BITCAST, (in_format(rest, Format.I64),), None, Format.U64)
    magnitude = node(ops.ADD, (unsigned, addend), None, Format.U64)
    minimum = node(ops.CONSTANT, (), result.minimum % 2**64, Format.U64)
    maximum = node(ops.CONSTANT, (), result.maximum, Format.U64)
    if result.kind == "signed":
        minus = node(ops.SUBTRACT, (node(ops.CONSTANT, (), 0, Format.U64), magnitude), None, Format.U64)
        value = node(ops.SELECT, (negative, minus, magnitude), None, Format.U64)
        end = node(ops.SELECT, (negative, minimum, maximum), None, Format.U64)
    else:
        value = node(ops.SELECT, (negative, minimum, magnitude), None, Format.U64)
        end = node(ops.SELECT, (negative, minimum, maximum), None, Format.U64)
    value = node(ops.SELECT, (saturated, end, value), None, Format.U64)
    return value if storage is Format.U64 else node(ops.BITCAST, (value,), None, storage)
