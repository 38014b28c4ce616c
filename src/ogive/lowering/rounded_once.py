"""Formulas whose results one IEEE operation rounds, once: they are right without a test.

So are comparisons, choices, signs and rounding to integers of operands, and the larger or smaller of such a result and a
constant. Data on a grid (`x / 8`) has results that lie on ties; a rounding test would find each of them undecided, so these
formulas, which need none, must have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ogive.common.dtypes import ElementType
from ogive.graph import operations as ops
from ogive.graph.expression import STORAGE, Expression, Format, is_extreme, walk
from ogive.lowering.numerics.machine import Machine
from ogive.lowering.untested_elements import is_of_16_bits, is_sum

SINGLE = Machine(Format.F32)

#: Operations that are exact for exact numbers.
EXACT = frozenset({ops.NEGATE, ops.ABSOLUTE, ops.COPY_SIGN, ops.FLOOR, ops.CEILING, ops.TRUNCATE, ops.ROUND_EVEN})

#: Operations that may only give a result another sign.
SIGNS = frozenset({ops.NEGATE, ops.ABSOLUTE})


def rounds_once(roots: Sequence[Expression], inputs: Sequence[ElementType], outputs: Sequence[ElementType]) -> bool:
    """Whether each result is one operation of float32 on exact numbers, and choices among such results."""
    found = _Formulas(inputs)
    return all(found.is_result(root, output) for root, output in zip(roots, outputs, strict=True))


class _Formulas:
    def __init__(self, inputs: Sequence[ElementType]) -> None:
        self.inputs = inputs
        self.exact: dict[Expression, bool] = {}
        self.results: dict[tuple[Expression, str], bool] = {}

    def is_exact(self, root: Expression) -> bool:
        """Whether float32 holds the number, and nothing has been rounded; of truth values, whether such decide them."""
        for current in walk(root, operands=lambda n: () if n in self.exact else n.operands):
            if current not in self.exact:
                self.exact[current] = self._is_exact(current)
        return self.exact[root]

    def _is_exact(self, current: Expression) -> bool:
        match current.operation:
            case ops.INPUT:
                kind = self.inputs[current.attribute]
                return bool(kind.computes_in == "float32")
            case ops.PARAMETER:
                return True
            case ops.CONSTANT:
                value = current.attribute
                return not isinstance(value, Fraction) or _is_single(value)
        is_choice = current.operation == ops.SELECT or current.format is Format.TRUTH or current.operation in EXACT
        return is_choice and all(self.exact[operand] for operand in current.operands)

    def is_result(self, root: Expression, output: ElementType) -> bool:
        if root.format is Format.TRUTH:
            return self.is_exact(root)
        key = root, output.name
        for current in walk(root, operands=lambda n: () if (n, output.name) in self.results else _of_result(n)):
            if (current, output.name) not in self.results:
                self.results[current, output.name] = self._is_result(current, output)
        return self.results[key]

    def _is_result(self, root: Expression, output: ElementType) -> bool:
        if output.name not in ("float32", "float16", "bfloat16"):
            return False
        if self.is_exact(root):
            return True
        operands, operation = root.operands, root.operation
        if operation in SIGNS:
            return self.results[operands[0], output.name]
        if operation == ops.SELECT:
            chosen = all(self.results[n, output.name] for n in operands[1:])
            return chosen and (self.is_exact(operands[0]) or self._is_clamp(root))
        if operation not in (ops.ADD, ops.SUBTRACT, ops.MULTIPLY, ops.DIVIDE, ops.SQUARE_ROOT):
            return False
        are_exact = all(map(self.is_exact, operands))
        if output.name == "float32":
            return are_exact or (operation in (ops.ADD, ops.SUBTRACT) and self._is_fma(*operands))
        if operation in (ops.DIVIDE, ops.SQUARE_ROOT):
            return all(is_of_16_bits(n, self.inputs, STORAGE[output.name]) for n in operands)
        return are_exact

    def _is_fma(self, a: Expression, b: Expression) -> bool:
        return any(
            product.operation == ops.MULTIPLY and all(map(self.is_exact, (*product.operands, other)))
            for product, other in ((a, b), (b, a))
        )

    def _is_clamp(self, root: Expression) -> bool:
        """Whether this is the larger or smaller of a result and a constant: it may be chosen after rounding.

        Where that is zero, the sign of a zero might differ (`UntestedElements._choice_after_rounding`): sums with a constant or a
        parameter are -0 of zeros alone.
        """
        condition, a, b = root.operands
        if not is_extreme(root) or condition.operation != ops.LESS:
            return False
        constants = [n for n in (a, b) if n.operation == ops.CONSTANT]
        if len(constants) != 1:
            return False
        if constants[0].attribute != 0 or constants[0] is condition.operands[0]:
            return True
        return a is constants[0] and is_sum(condition.operands[0])


def _of_result(current: Expression) -> Sequence[Expression]:
    if current.operation == ops.SELECT:
        return current.operands[1:]
    return current.operands if current.operation in SIGNS else ()


def _is_single(value: Fraction) -> bool:
    is_normal = SINGLE.smallest_normal <= abs(value) <= SINGLE.largest
    return value == 0 or (is_normal and Fraction(SINGLE.rounded(value)) == value)
