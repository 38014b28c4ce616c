"""What accumulates each reduction of a stage."""

from __future__ import annotations

from collections.abc import Sequence

from ogive.backends.products import Product
from ogive.backends.reductions import Accumulator
from ogive.backends.whole_numbers import WholeNumbers
from ogive.backends.writer import Writer
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
