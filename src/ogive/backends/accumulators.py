"""What accumulates each reduction of a stage; integers, of which every order gives the same, in their own format."""

from __future__ import annotations

from collections.abc import Sequence

from ogive.backends.products import Product
from ogive.backends.reductions import Accumulator
from ogive.backends.writer import Writer
from ogive.expression import Format
from ogive.program import Reduction

__all__ = ["accumulators"]


def accumulators(writer: Writer, reductions: Sequence[Reduction]) -> list[Accumulator]:
    """The reductions of a stage. What a sum lost is found with the sum, the rest of a product with the product."""
    following = [*(reduction.kind for reduction in reductions), ""][1:]
    return [
        _accumulator(writer, i, reduction, after)
        for i, (reduction, after) in enumerate(zip(reductions, following, strict=True))
        if reduction.kind not in ("row_lost", "row_rest")
    ]


def _accumulator(writer: Writer, index: int, reduction: Reduction, after: str) -> Accumulator:
    if reduction.value.format.is_integer:
        return WholeNumbers(writer, index, reduction)
    if reduction.kind == "row_product":
        return Product(writer, index, reduction, is_compensated=after == "row_rest")
    return Accumulator(writer, index, reduction, counts_lost=after == "row_lost")


INSTRUCTIONS = {"whole_sum": "add", "whole_product": "mul"}
COMPARISONS = {"whole_max": "sgt", "whole_min": "slt"}


class WholeNumbers(Accumulator):
    """Sums and products, which wrap around, and extremes. Records hold the bits of 64-bit integers."""

    def __init__(self, writer: Writer, index: int, reduction: Reduction) -> None:
        super().__init__(writer, index, reduction)
        self.form = self.taken_form = self.value.format
        end = 1 << self.form.bits - 1
        self.neutral = {"whole_sum": 0, "whole_product": 1, "whole_max": -end, "whole_min": end - 1}[self.kind]
        self.starts, self.parts = (self.neutral,), 1

    def _with_blocks(self, totals: list[str], blocks: list[str]) -> list[str]:
        while len(blocks) > 1:
            pairs = zip(blocks[::2], blocks[1::2], strict=True)
            blocks = [self._joined([a], [b], self.form)[0] for a, b in pairs]
        return self._joined(totals, blocks, self.form)

    def _joined(self, a: list[str], b: list[str], form: Format) -> list[str]:
        e = self.e
        if self.kind in INSTRUCTIONS:
            return [e.binary(INSTRUCTIONS[self.kind], form, a[0], b[0])]
        is_beyond = e.emit(f"icmp {COMPARISONS[self.kind]} {e.type(form)} {b[0]}, {a[0]}")
        return [e.choose(is_beyond, form, b[0], a[0])]

    def _as_doubles(self, values: list[str], form: Format) -> list[str]:
        value = values[0] if form.bits == 64 else self.e.cast("sext", values[0], form, Format.I64)
        return [self.e.cast("bitcast", value, Format.I64, Format.F64)]
