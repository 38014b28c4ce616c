"""The accumulators of the reductions of a stage.

Products of rows: their mantissas are multiplied, and their exponents added up, so that nothing overflows on the way.
"""

from __future__ import annotations

from collections.abc import Sequence

from ogive.backends.reduction_plans import plans_of
from ogive.backends.reductions import Accumulator
from ogive.backends.writer import Writer
from ogive.graph import operations as ops
from ogive.graph.expression import Format, node
from ogive.lowering.program import Reduction

#: A node of the format, for what writes instructions by their nodes.
DOUBLE = node(ops.CONSTANT, (), 0.0, Format.F64)

FIELD, BIAS = 0x7FF, 1023
ONE = BIAS << 52


class Product(Accumulator):
    """The product of a row, as ``(high + low) * 2**exponent``.

    Each lane multiplies its elements in order. The high word is kept from 1 to 2, and what is taken from its exponent is
    added up as an integer. Zeros, infinities and NaN stay as they are, and multiply as IEEE 754 says. A compensated product
    keeps the low word too, and the sum of the magnitudes of what rounding lost: it is zero where the high word is exact.
    In an uncompensated one up to four numbers of float32 are multiplied at once, which neither overflow nor underflow.
    """

    #: How many float32 numbers have a product that is a normal float64 number.
    AT_ONCE = 4

    @property
    def is_compensated(self) -> bool:
        return self.parts > 2

    def _with_blocks(self, totals: list[str], blocks: list[str]) -> list[str]:
        e, form = self.e, self.form
        if self.taken_form is not form:
            blocks = [e.cast("fpext", block, self.taken_form, form) for block in blocks]
            if not self.is_compensated:
                starts = range(0, len(blocks), self.AT_ONCE)
                blocks = [self._product(blocks[start : start + self.AT_ONCE]) for start in starts]
        for block in blocks:
            totals = self._joined(totals, self._parts(block), form)
        return totals

    def _product(self, factors: list[str]) -> str:
        while len(factors) > 1:
            pairs = zip(factors[::2], factors[1::2], strict=False)
            rest = factors[len(factors) // 2 * 2 :]
            factors = [*(self.e.binary("fmul", self.form, a, b) for a, b in pairs), *rest]
        return factors[0]

    def _parts(self, value: str) -> list[str]:
        """An element as mantissa and exponent: of float64, whose exponents may be any."""
        if self.taken_form is not Format.F64:
            return [value]
        e, form = self.e, self.form
        field = self._field(value)
        is_small = e.emit(f"icmp eq {e.type(Format.I64)} {field}, {e.literal(Format.I64, 0)}")
        larger = e.binary("fmul", form, value, e.literal(form, 2.0**64))
        value = e.choose(is_small, form, larger, value)
        mantissa, exponent = self._split(value)
        less = e.choose(is_small, Format.I64, e.literal(Format.I64, -64), e.literal(Format.I64, 0))
        return [mantissa, self._double(e.binary("add", Format.I64, exponent, less))]

    def _whole(self, value: str) -> str:
        return self.e.cast("bitcast", value, Format.F64, Format.I64)

    def _double(self, value: str) -> str:
        return self.e.cast("bitcast", value, Format.I64, Format.F64)

    def _field(self, value: str) -> str:
        """The exponent's bits."""
        e = self.e
        shifted = e.binary("lshr", Format.I64, self._whole(value), e.literal(Format.I64, 52))
        return e.binary("and", Format.I64, shifted, e.literal(Format.I64, FIELD))

    def _is_special(self, field: str) -> str:
        """Whether this is zero (or subnormal), infinite or NaN."""
        e = self.e
        moved = e.binary("sub", Format.I64, field, e.literal(Format.I64, 1))
        return e.emit(f"icmp ugt {e.type(Format.I64)} {moved}, {e.literal(Format.I64, FIELD - 2)}")

    def _split(self, value: str) -> tuple[str, str]:
        """The mantissa, and the exponent as an integer, which is 0 where there is none."""
        e, field = self.e, self._field(value)
        is_special = self._is_special(field)
        bits = e.binary("and", Format.I64, self._whole(value), e.literal(Format.I64, ~(FIELD << 52)))
        mantissa = self._double(e.binary("or", Format.I64, bits, e.literal(Format.I64, ONE)))
        exponent = e.binary("sub", Format.I64, field, e.literal(Format.I64, BIAS))
        return (
            e.choose(is_special, Format.F64, value, mantissa),
            e.choose(is_special, Format.I64, e.literal(Format.I64, 0), exponent),
        )

    def _joined(self, a: list[str], b: list[str], form: Format) -> list[str]:
        """The product of both, by lane; an element has no more than a mantissa and perhaps an exponent."""
        e, whole = self.e, Format.I64
        product = e.binary("fmul", form, a[0], b[0])
        mantissa, power = self._split(product)
        exponent = e.binary("add", whole, self._whole(a[1]), power)
        for more in b[1:2]:
            exponent = e.binary("add", whole, exponent, self._whole(more))
        if not self.is_compensated:
            return [mantissa, self._double(exponent)]
        lost = e.rows["fma"](e, DOUBLE, a[0], b[0], e.emit(f"fneg {e.type(form)} {product}"))
        low = e.binary("fmul", form, a[2], b[0])
        for more in b[2:3]:
            low = e.binary("fadd", form, low, e.binary("fmul", form, a[0], more))
        low = e.binary("fadd", form, lost, low)
        field = e.binary("sub", whole, e.literal(whole, BIAS), power)
        factor = self._double(e.binary("shl", whole, field, e.literal(whole, 52)))
        total = e.binary("fadd", form, a[3], e.call("fabs", form, lost))
        for more in b[3:4]:
            total = e.binary("fadd", form, total, more)
        return [mantissa, self._double(exponent), e.binary("fmul", form, low, factor), total]

    def _as_doubles(self, values: list[str], form: Format) -> list[str]:
        return [values[0], self.e.cast("sitofp", self._whole(values[1]), Format.I64, form), *values[2:]]


def accumulators(writer: Writer, reductions: Sequence[Reduction]) -> list[Accumulator]:
    """The reductions of a stage."""
    kinds = ((Product if plan.kind == "row_product" else Accumulator, i, plan) for i, plan in plans_of(reductions))
    return [kind(writer, i, plan) for kind, i, plan in kinds]
