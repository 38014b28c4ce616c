"""The instructions of one floating-point format, as nodes: what a rule is written with."""

from __future__ import annotations

import math
from fractions import Fraction

from ogive.graph import operations as ops
from ogive.graph.expression import COMPARISONS, Expression, Format, Operation, in_format, node
from ogive.lowering.numerics.truths import both, opposite

#: The polynomials of a float64 that computes shorter results with a bound of the error (bounded.py).
LONG = "long"


def is_power_of_two(constant: Expression) -> bool:
    """Whether this is a constant by which multiplying is exact."""
    return constant.operation is ops.CONSTANT and abs(math.frexp(constant.attribute)[0]) == 0.5


class Machine:
    """Builds nodes of one floating-point format.

    ``goal`` is the format that results are wanted in, where that is a shorter one: rules then need no more
    accuracy than it has, and numbers are not ``extended``: every correction is left out. A number that is converted from it is
    compared, chosen and given another sign before the conversion.
    """

    #: Whether numbers carry a bound of their error, and rules for a shorter goal take the long polynomials.
    bounded = False

    def __init__(self, form: Format, goal: Format | None = None) -> None:
        self.format = form
        self.goal = goal or form
        self.extended = self.goal is form
        self.precision = form.precision
        self.bits = form.bits
        self.integer = Format.I32 if form is Format.F32 else Format.I64
        self.bias = form.bias
        self.largest = (2 - 2.0 ** (1 - self.precision)) * 2.0**self.bias
        self.smallest_normal = 2.0 ** (1 - self.bias)
        #: The polynomials that rules take.
        self.polynomials = LONG if self.bounded and not self.extended else self.goal
        #: Adding it rounds to an integer, which then stands in the last bits.
        self.magic = 1.5 * 2.0 ** (self.precision - 1)

    # ---- constants

    def number(self, value: float | Fraction) -> Expression:
        """A constant that the format holds exactly."""
        if isinstance(value, Fraction):
            exact = float(value)
            if Fraction(exact) != value:
                raise ValueError(f"{value} is not a {self.format.value}")
            value = exact
        if not self.holds(value):
            raise ValueError(f"{value} is not a {self.format.value}")
        return node(ops.CONSTANT, (), float(value), self.format)

    def holds(self, value: float) -> bool:
        """Whether this is a number of the format, infinity or NaN."""
        if not math.isfinite(value):
            return True
        exponent = max(math.frexp(value)[1] - 1, 1 - self.bias)
        units = math.ldexp(value, self.precision - 1 - exponent)
        return float(value) == value and abs(value) <= self.largest and units.is_integer()

    def whole(self, value: int) -> Expression:
        """A constant of the integer format of the same width."""
        return node(ops.CONSTANT, (), value, self.integer)

    def is_negative_(self, a: Expression) -> Expression:
        """Whether the sign bit is set, that of -0 too."""
        return node(ops.LESS, (self.bits_(a), self.whole(0)), None, Format.BIT)

    def is_tiny_(self, size: Expression, limit: float) -> Expression:
        """Whether a magnitude is below a limit, and not zero."""
        return both(self.less_(self.number(0.0), size), self.less_(size, self.number(limit)))

    def is_power_of_two_(self, a: Expression) -> Expression:
        """Whether a normal number or its negative is a power of two. Zeros and infinities have the bits of one, too."""
        fraction = node(ops.AND, (self.bits_(a), self.whole((1 << self.precision - 1) - 1)), None, self.integer)
        return node(ops.EQUAL, (fraction, self.whole(0)), None, Format.BIT)

    def rounded(self, value: Fraction) -> float:
        """The nearest number of the format, ties to even; exact in the range of normal numbers."""
        if value == 0:
            return 0.0
        magnitude = abs(value)
        exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
        if magnitude < Fraction(2) ** exponent:
            exponent -= 1
        exponent = max(exponent, 1 - self.bias)
        unit = Fraction(2) ** (exponent - self.precision + 1)
        result = round(value / unit) * unit
        return math.copysign(math.inf, value) if abs(result) > self.largest else float(result)

    #: Whether results are float64 too: then powers of two are kept apart as far as they go, so that numbers on the way do
    #: not leave the range that the result lies in.
    of_doubles = False

    #: Whether the second words of elementary functions are right too (elementary/double_double.py).
    is_long = False

    # ---- instructions

    def make(self, operation: Operation, *operands: Expression) -> Expression:
        """A node in the format of its last operand."""
        return node(operation, operands, None, operands[-1].format)

    def add_(self, a: Expression, b: Expression) -> Expression:
        return self.make(ops.ADD, a, b)

    def sub_(self, a: Expression, b: Expression) -> Expression:
        return self.make(ops.SUBTRACT, a, b)

    def mul_(self, a: Expression, b: Expression) -> Expression:
        return self.make(ops.MULTIPLY, a, b)

    def div_(self, a: Expression, b: Expression) -> Expression:
        return self.make(ops.DIVIDE, a, b)

    def neg_(self, a: Expression) -> Expression:
        if a.operation == ops.CONSTANT:
            return node(ops.CONSTANT, (), -a.attribute, a.format)
        if a.operation == ops.NEGATE:
            return a.operands[0]
        return self._on_singles(ops.NEGATE, a)

    def fma_(self, a: Expression, b: Expression, c: Expression) -> Expression:
        return self.make(ops.FMA, a, b, c)

    def exact_sum_(self, a: Expression, b: Expression, c: Expression) -> Expression:
        """``a * b + c`` where the product must not be rounded first: c nearly is its opposite, or what it lacks is small."""
        return self.fma_(a, b, c)

    def lost_of_product_(self, a: Expression, b: Expression, product: Expression) -> Expression:
        """The part of a product that rounding lost."""
        return self.fma_(a, b, self.neg_(product))

    def abs_(self, a: Expression) -> Expression:
        return self.number(abs(a.attribute)) if a.operation == ops.CONSTANT else self._on_singles(ops.ABSOLUTE, a)

    def sqrt_(self, a: Expression) -> Expression:
        return self.make(ops.SQUARE_ROOT, a)

    def round_even_(self, a: Expression) -> Expression:
        return self.make(ops.ROUND_EVEN, a)

    def less_(self, a: Expression, b: Expression) -> Expression:
        return self._on_singles(ops.LESS, a, b)

    def less_equal_(self, a: Expression, b: Expression) -> Expression:
        return self._on_singles(ops.LESS_EQUAL, a, b)

    def equal_(self, a: Expression, b: Expression) -> Expression:
        return self._on_singles(ops.EQUAL, a, b)

    def not_(self, truth: Expression) -> Expression:
        return opposite(truth)

    def is_finite_(self, a: Expression) -> Expression:
        return self.less_(self.abs_(a), self.number(math.inf))

    def canonical_(self, a: Expression) -> Expression:
        """The number with the one canonical NaN in the place of any."""
        if a.operation == ops.SELECT_RARE and self._excludes_nan(a.operands[0], a.operands[2]):
            return self.select_rare_(a.operands[0], self.canonical_(a.operands[1]), a.operands[2])
        return self.select_(self.equal_(a, a), a, node(ops.CONSTANT, (), math.nan, a.format))

    def _excludes_nan(self, is_rare: Expression, common: Expression) -> bool:
        """Whether a number is common only where it compares with another."""
        if is_rare.operation != ops.NOT or is_rare.operands[0].operation != ops.LESS_EQUAL:
            return False
        return any(
            n is common or (n.operation == ops.ABSOLUTE and n.operands[0] is common)
            for n in is_rare.operands[0].operands
        )

    def select_(self, condition: Expression, a: Expression, b: Expression) -> Expression:
        if condition.operation is ops.CONSTANT:
            return a if condition.attribute else b
        return a if a is b else self._on_singles(ops.SELECT, condition, a, b)

    def select_rare_(self, condition: Expression, a: Expression, b: Expression) -> Expression:
        """The same, with ``a`` computed only for blocks of elements that need it."""
        return self.make(ops.SELECT_RARE, condition, a, b)

    def bits_(self, a: Expression) -> Expression:
        return node(ops.BITCAST, (a,), None, self.integer)

    def from_bits_(self, a: Expression) -> Expression:
        return node(ops.BITCAST, (a,), None, self.format)

    def shift_left_(self, a: Expression, count: int) -> Expression:
        return node(ops.SHIFT_LEFT, (a,), count, a.format)

    def shift_right_(self, a: Expression, count: int) -> Expression:
        return node(ops.SHIFT_RIGHT, (a,), count, a.format)

    def scale_(self, a: Expression, exponent: Expression) -> Expression:
        if exponent.operation == ops.CONSTANT:
            factor = 2.0**exponent.attribute
            if self.smallest_normal <= factor <= self.largest:
                return self.mul_(a, self.number(factor))
        return self.make(ops.SCALE_BY_POWER_OF_TWO, a, exponent)

    def times_power_of_two_(self, a: Expression, shifted: Expression) -> Expression:
        """``a * 2**n`` with ``shifted`` n + magic: n, in its last bits, is added to the exponent of a.

        For products that are normal numbers and for NaN, if the 12 last bits of its payload are zero, as they are in
        NaN that arithmetic makes and in those of shorter formats.
        """
        power = self.shift_left_(self.bits_(shifted), self.precision - 1)
        return self.from_bits_(node(ops.ADD, (self.bits_(a), power), None, self.integer))

    def polynomial_(self, x: Expression, coefficients: tuple[float, ...]) -> Expression:
        """Horner's rule; coefficients from the lowest power up."""
        one, value = self.number(1.0), self.number(coefficients[-1])
        for coefficient in map(self.number, reversed(coefficients[:-1])):
            value = self.add_(x, coefficient) if value is one else self.fma_(value, x, coefficient)
        return value

    def quotient_(
        self, x: Expression, coefficients: tuple[tuple[float, ...], tuple[float, ...]], factor: Expression
    ) -> Expression:
        """``factor p(x) / q(x)``: two polynomials side by side have shorter chains of instructions than a longer one."""
        above, below = coefficients
        return self.div_(self.mul_(factor, self.polynomial_(x, above)), self.polynomial_(x, below))

    # ---- conversions

    def converted(self, a: Expression, form: Format) -> Expression:
        """The number in another format; of a constant the constant, where that format holds it in any case."""
        if a.operation == ops.CONSTANT and form is Format.F64:
            return node(ops.CONSTANT, (), a.attribute, form)
        return in_format(a, form)

    def single_of(self, a: Expression) -> Expression | None:
        """The float32 number that this float64 number was converted from; None for others."""
        if a.operation == ops.CONVERT and a.operands[0].format is Format.F32:
            return a.operands[0]
        if a.operation == ops.CONSTANT and Machine(Format.F32).holds(a.attribute):
            return node(ops.CONSTANT, (), a.attribute, Format.F32)
        return None

    def _on_singles(self, operation: Operation, *operands: Expression) -> Expression:
        """An operation that does not round. On float64 numbers that were float32 it is done before the conversion:
        on half as many registers.
        """
        form = Format.BIT if operation in COMPARISONS else operands[-1].format
        if self.format is Format.F64 and any(operand.operation == ops.CONVERT for operand in operands):
            singles = [operand if operand.format is Format.BIT else self.single_of(operand) for operand in operands]
            found = tuple(single for single in singles if single is not None)
            if len(found) == len(operands):
                if form is Format.BIT:
                    return node(operation, found, None, form)
                return self.converted(node(operation, found, None, Format.F32), form)
        return node(operation, operands, None, form)

    # ---- sums without an error

    def two_sum(self, a: Expression, b: Expression) -> tuple[Expression, Expression]:
        """The rounded sum and exactly what rounding lost."""
        s = self.add_(a, b)
        t = self.sub_(s, a)
        return s, self.add_(self.sub_(a, self.sub_(s, t)), self.sub_(b, t))

    def fast_two_sum(self, a: Expression, b: Expression) -> tuple[Expression, Expression]:
        """The same where ``abs(a) >= abs(b)``, or a is zero."""
        s = self.add_(a, b)
        return s, self.sub_(b, self.sub_(s, a))
