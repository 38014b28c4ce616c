"""Functions of numbers in float32, with their bounds: where float32 computes results of 16 bits."""

from __future__ import annotations

import math
from dataclasses import replace

from ogive.graph.expression import Operation
from ogive.lowering.numerics.bound import UNKNOWN, Bound
from ogive.lowering.numerics.double_word import DoubleWord
from ogive.lowering.numerics.elementary.argument import SingleOperand
from ogive.lowering.numerics.elementary.function_row import FUNCTIONS
from ogive.lowering.numerics.elementary.own_errors import SHORT
from ogive.lowering.numerics.elementary.propagation import of_one
from ogive.lowering.numerics.interval import Interval
from ogive.lowering.numerics.single import NoSingle, SingleBounded
from ogive.lowering.numerics.truths import either

__all__ = ["single_rule"]

#: Factors are no larger, so that constants can be multiplied by them. Reciprocals are no smaller than one by this.
LARGEST_FACTOR = 2.0**100


def single_rule(m: SingleBounded, operation: Operation, operand: DoubleWord, *, is_result: bool) -> DoubleWord:
    """The function of a number, with its bound. Raises NoSingle where there is no rule."""
    name = operation.name
    row = FUNCTIONS.get(name)
    form = None if row is None else row.in_single
    if row is None or form is None or form.tested is None:
        raise NoSingle(f"{name} has no rule in float32")
    if not operand.error.is_known:
        return replace(operand, error=UNKNOWN)
    factors = None if form.of_product is None else m.factors.get(operand.high)
    is_short = is_result or not form.has_shorter_results
    x = SingleOperand(m, operand, factors, is_short=is_short)
    number, lies, static, doubt = form.tested(x, is_result)
    error, more = operand.error, 0.0
    if factors is not None and form.of_product is not None:
        error = replace(error, relative=0.0)  # the rule multiplies
        more = form.of_product
        size = m.abs_(factors.w)
        doubt = either(doubt, m.not_(m.less_(size, m.number(LARGEST_FACTOR))))
        if factors.rest is not None:
            doubt = either(doubt, m.less_(size, m.number(1 / LARGEST_FACTOR)))
    inside = Interval(max(operand.interval.low, -form.reach), min(operand.interval.high, form.reach))
    error = replace(error, largest=min(error.largest, form.reach))
    function = replace(row, limits=(math.inf, math.inf), increasing=None)
    of_rule = f"{name} as {'bfloat16' if m.is_wide else 'float16'}" if is_result and form.has_shorter_results else name
    own = Bound(SHORT[of_rule] + more, static=static, doubt=doubt)
    result = DoubleWord(number, interval=lies)
    made = of_one(m, function, own, result, replace(operand, interval=inside, error=error))
    return made if is_result else m.finished(made, made.error)
