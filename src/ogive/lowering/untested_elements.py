"""Elements without a rounding test: results that one operation rounds, and float64.

Numbers are rounded once, at the end. Every floating-point result that is NaN leaves as the one canonical quiet NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from ogive.common.dtypes import ElementType
from ogive.graph import operations as ops
from ogive.graph.expression import (
    STORAGE,
    Expression,
    Format,
    constant,
    depends_on_elements,
    in_format,
    is_extreme,
    is_negative_zero,
    node,
    walk,
)
from ogive.lowering.fold import fewer_conversions
from ogive.lowering.numerics.double_word import Arithmetic, DoubleWord
from ogive.lowering.numerics.rounded_results import (
    in_storage,
    is_short,
    is_tiny,
    normal_single_to_odd,
    product_to_odd,
    single_to_odd,
    to_integer,
    to_odd,
)
from ogive.lowering.numerics.truths import both, either
from ogive.lowering.program import Program
from ogive.lowering.real_lowering import RealLowering


def _values_of_choice(current: Expression) -> Sequence[Expression]:
    return current.operands[1:] if current.operation == ops.SELECT else ()


def is_sum(root: Expression) -> bool:
    """Whether this is a sum with a number that is the same for all elements, and it is known where all terms are zeros; or of that
    and constants the smaller.
    """
    if root.operation == ops.SELECT:
        return all(is_sum(a) or (a.operation == ops.CONSTANT and a.attribute != 0) for a in root.operands[1:])
    factors = [*map(_operands_of_product, root.operands)]
    return (
        root.operation == ops.ADD
        and not all(map(depends_on_elements, root.operands))
        and (() in factors or None not in factors)
    )


def _is_zero_or_sum(root: Expression) -> bool:
    """Whether this is the larger one of 0 and such a sum."""
    condition, a, b = root.operands
    is_largest = is_extreme(root) and condition.operation == ops.LESS and condition.operands[1] is a
    return is_largest and a.operation == ops.CONSTANT and a.attribute == 0 and not is_negative_zero(a) and is_sum(b)


def _operands_of_product(term: Expression) -> tuple[Expression, ...] | None:
    """The operands and parameters that a term is a product of, with constants other than 0; None of another term."""
    if term.operation in (ops.INPUT, ops.PARAMETER):
        return (term,)
    if term.operation is ops.CONSTANT:
        return () if term.attribute else None
    parts = [*map(_operands_of_product, term.operands)] if term.operation is ops.MULTIPLY else [None]
    return None if None in parts else tuple(leaf for part in parts for leaf in part or ())


def untested(
    roots: Sequence[Expression],
    inputs: Sequence[ElementType],
    outputs: Sequence[ElementType],
    arithmetic: Arithmetic,
    parameter_count: int,
) -> Program:
    """The program of elements without a rounding test."""
    elements = UntestedElements(arithmetic, tuple(inputs))
    results = fewer_conversions([elements.store(root, t) for root, t in zip(roots, outputs, strict=True)])
    return Program(tuple(inputs), tuple(outputs), results, parameter_count=parameter_count)


def with_short_products(made: Program, roots: Sequence[Expression], arithmetic: Arithmetic) -> Program:
    """The program with a level before it whose products to bfloat16 are computed in float32; tiny ones are left to the program."""
    elements = UntestedElements(arithmetic, made.inputs, has_short_products=True)
    results = [elements.store(root, t) for root, t in zip(roots, made.outputs, strict=True)]
    undecided = either(None, *(is_tiny(product) for product in elements.short_products))
    if undecided is None:
        return made
    *some, undecided = fewer_conversions([*results, undecided])
    return replace(made, first_levels=(made.level_before(results=tuple(some), undecided=undecided),))


class UntestedElements(RealLowering):
    """Elements whose numbers are rounded without a test."""

    def __init__(
        self,
        arithmetic: Arithmetic,
        inputs: tuple[ElementType, ...],
        parameters: Format | None = None,
        *,
        has_short_products: bool = False,
    ) -> None:
        super().__init__(arithmetic, inputs, parameters)
        self.finished: dict[Expression, Expression] = {}
        self.has_short_products = has_short_products
        self.short_products: list[Expression] = []
        """The products of bfloat16 that float32 computes: those that are not tiny are right."""

    def _limits(self, root: Expression) -> Expression:
        if self.m.bounded:
            return super()._limits(root)
        return node(root.operation, tuple(map(self.finish, root.operands)), None, Format.BIT)

    def store(self, root: Expression, result: ElementType) -> Expression:
        """The result in the storage format of its element type."""
        if root.format is Format.TRUTH:
            return in_format(self.truth(root), STORAGE[result.name])
        if result.is_integer:
            return to_integer(self.m, self.number(root), result)
        m, storage = self.m, STORAGE[result.name]
        if m.format is Format.F64 and storage is Format.F16:  # there is no conversion from float64 to it
            value = normal_single_to_odd(self._odd(root))
        elif m.format is Format.F64 and storage is Format.BF16:
            value = single_to_odd(m, self._odd(root))
        elif not m.extended:
            value = self._as_single(root)
        else:
            value = self._narrowed(root, storage) if storage.bits < m.bits else self.finish(root)
        return in_storage(self._canonical(root, value), storage)

    def _odd(self, root: Expression) -> Expression:
        """The number in one word, which may be rounded to odd once more; with right second words to odd itself."""
        if not self.m.is_long:
            return self.finish(root)
        number = self.m.renormalised(self.m.unscaled(self.number(root)))
        return number.high if number.low is None else to_odd(self.m, number.high, self.m.low_part(number))

    def _as_single(self, root: Expression) -> Expression:
        """The number rounded to float32; what only chooses does so behind the rounding."""
        done: dict[Expression, Expression] = {}
        for current in walk(root, operands=self._chosen_among):
            if current.operation != ops.SELECT:
                value = self.finish(current)
                single = self.m.single_of(value)
                done[current] = in_format(value, Format.F32) if single is None else single
                continue
            among = self._chosen_among(current)
            values = [done[operand] for operand in among]
            truth = self.truth(current.operands[0]) if len(among) > 1 else None
            done[current] = values[0] if truth is None else self.m.select_(truth, *values)
        return done[root]

    def finish(self, root: Expression) -> Expression:
        """The number rounded to the format of the arithmetic: like single(number(root)), with less work.

        A choice between numbers is made between their rounded values, and a result of one operation on
        exact numbers is that one instruction.
        """
        if root not in self.finished:
            for current in walk(root, operands=self._unfinished_operands):  # without recursion
                if current not in self.finished:
                    self.finished[current] = self._finished(current)
        return self.finished[root]

    def _unfinished_operands(self, current: Expression) -> Sequence[Expression]:
        """The operands that `_finished` asks to be finished."""
        if current in self.finished:
            return ()
        if current.operation == ops.SELECT:
            decided = self._decided(current)
            return current.operands[1:] if decided is None else (decided,)
        return current.operands if current.operation in (ops.NEGATE, ops.ABSOLUTE, ops.COPY_SIGN) else ()

    def _finished(self, root: Expression) -> Expression:
        m = self.m
        match root.operation:
            case ops.SELECT:
                decided = self._decided(root)
                if decided is not None:
                    return self.finish(decided)
                condition, a, b = root.operands
                chosen = self._choice_after_rounding(root)
                truth = self.truth(condition) if chosen is None else chosen
                return self._select(root, truth, self.finish(a), self.finish(b))
            case ops.NEGATE:
                return m.neg_(self.finish(root.operands[0]))
            case ops.ABSOLUTE:
                return m.abs_(self.finish(root.operands[0]))
            case ops.COPY_SIGN:
                magnitude, sign = map(self.finish, root.operands)
                if m.is_long:  # it knows the sign of a number that rounds to zero
                    sign = m.signed(self.number(root.operands[1]))
                if root.operands[1].operands:
                    sign = m.select_(m.equal_(sign, sign), sign, m.abs_(sign))
                return m.copy_sign(DoubleWord(magnitude), sign).high
            case ops.MULTIPLY:
                value = m.multiply_single(*map(self.number, root.operands))
                return self._linear_near_zero(root, value)
            case ops.ADD | ops.SUBTRACT:
                return self._finished_sum(root)
            case ops.DIVIDE:
                dividend, divisor = map(self.number, root.operands)
                if not m.extended:
                    return m.single(m.divide(dividend, divisor))
                if dividend.is_exact and divisor.is_exact:
                    return m.div_(dividend.high, divisor.high)
            case ops.SQUARE_ROOT:
                radicand = self.number(root.operands[0])
                if radicand.is_exact:
                    return m.sqrt_(radicand.high)
        value = m.single(self.number(root))
        return self._linear_near_zero(root, value) if root.operation.loses_subnormals else value

    def _choice_after_rounding(self, root: Expression) -> Expression | None:
        """For a number and a constant, which is the larger or smaller: of rounded numbers it is the same one, rounded.

        Of equal ones the number is chosen, whose rounding is tested. None where this is another choice, or where the sign
        of a zero might differ: -2**-150 is less than 0, and rounded it is -0, which is not. A sum with a constant or a
        parameter is -0 itself where its terms are zeros; elsewhere -0 is less.
        """
        condition, a, b = root.operands
        constants = [operand for operand in (a, b) if operand.operation == ops.CONSTANT]
        if not is_extreme(root) or condition.operation != ops.LESS or len(constants) != 1:
            return None
        left, right = map(self.finish, condition.operands)
        is_first = constants[0] is condition.operands[0]
        if constants[0].attribute != 0:
            return self.m.less_(left, right) if a is constants[0] else self.m.less_equal_(left, right)
        if is_first != is_negative_zero(constants[0]):
            return self.m.less_(left, right)
        return self.m.less_equal_(left, right) if _is_zero_or_sum(root) else None

    def _select(self, root: Expression, condition: Expression, a: Expression, b: Expression) -> Expression:
        """The chosen one. Of 0 and a sum whose terms are all zeros it is the sum, which may be -0."""
        found = self.m.select_(condition, a, b)
        of_parameters, of_elements = self._are_zeros(root.operands[2]) if _is_zero_or_sum(root) else (None, None)
        if of_parameters is None or of_elements is None:
            return found
        # Parameters are rarely zeros: elements are asked where those are.
        return self.m.select_rare_(of_parameters, self.m.select_(of_elements, b, found), found)

    def _are_zeros(self, root: Expression) -> tuple[Expression | None, Expression | None]:
        """Where all terms of a sum, or of one that is chosen, are zeros, as an operand or parameter of each is; None for never.

        First where terms without elements are.
        """
        if root.operation is ops.SELECT:
            parts = zip(*map(self._are_zeros, root.operands[1:]), strict=True)
            of_parameters, of_elements = (either(*part) for part in parts)
            return of_parameters, of_elements
        factors = [_operands_of_product(n) for n in root.operands] if root.operation is ops.ADD else [()]
        if not all(factors):
            return None, None
        zero = self.m.number(0.0)
        terms = [either(*(self.m.equal_(self.number(n).high, zero) for n in each or ())) for each in factors]
        of_parameters = [t for t in terms if t is not None and not depends_on_elements(t)]
        return reduce(both, of_parameters), reduce(both, terms)

    def _finished_sum(self, root: Expression) -> Expression:
        m = self.m
        for product, other in (root.operands, root.operands[::-1]):
            if product.operation == ops.MULTIPLY:
                a, b, c = (self.number(operand) for operand in (*product.operands, other))
                if a.is_exact and b.is_exact and c.is_exact:
                    x, z = a.high, c.high
                    if root.operation == ops.SUBTRACT:
                        x, z = (m.neg_(x), z) if product is root.operands[1] else (x, m.neg_(z))
                    return m.fma_(x, b.high, z)
        a, b = map(self.number, root.operands)
        if a.is_exact and b.is_exact:
            return m.add_(a.high, b.high) if root.operation == ops.ADD else m.sub_(a.high, b.high)
        return m.single(self.number(root))

    def _linear_near_zero(self, root: Expression, value: Expression) -> Expression:
        """``a * f(x * b)`` and ``a * f(x / b)`` where f(u) is u near zero: there, ``x * (a * b)``.

        On the way to f, and in it, numbers may underflow where the result does not: without this,
        celu(x, alpha=1000) has lost its last 10 bits at 1e-43.
        """
        m = self.m
        one: Expression = constant(1)
        for factor, call in (root.operands, root.operands[::-1]) if root.operation == ops.MULTIPLY else ((one, root),):
            if not (m.extended and not depends_on_elements(factor) and call.operation.is_linear_at_zero):
                continue
            argument = call.operands[0]
            x, b, by = argument, one, ops.MULTIPLY
            if argument.operation in (ops.MULTIPLY, ops.DIVIDE):
                x, b = argument.operands
                by = argument.operation
                if by == ops.MULTIPLY and not depends_on_elements(x):
                    x, b = b, x
            if not depends_on_elements(x) or depends_on_elements(b) or not self.number(x).is_exact:
                continue
            if factor is (b if by == ops.DIVIDE else one) and (by == ops.DIVIDE or b is one):
                tiny = self.finish(x)
            else:
                slope = getattr(m, by)(self.number(factor), self.number(b))
                tiny = m.multiply_single(slope, self.number(x))
            is_tiny = m.less_(m.abs_(self.number(argument).high), m.number(2.0**-60))
            return m.select_(is_tiny, tiny, value)
        return value

    def _narrowed(self, root: Expression, storage: Format) -> Expression:
        """The number rounded so that rounding it again, to fewer bits, is as good as rounding once."""
        m = self.m
        match root.operation:
            case ops.SELECT:
                done: dict[Expression, Expression] = {}
                for current in walk(root, operands=_values_of_choice):
                    if current.operation == ops.SELECT:
                        condition, a, b = current.operands
                        done[current] = m.select_(self.truth(condition), done[a], done[b])
                    else:
                        done[current] = self._narrowed(current, storage)
                return done[root]
            case ops.ADD | ops.SUBTRACT | ops.MULTIPLY | ops.DIVIDE | ops.SQUARE_ROOT if self._is_of_16_bits(
                root, storage
            ):
                return self.finish(root)
            case ops.MULTIPLY:
                x, y = (self.number(operand) for operand in root.operands)
                if x.is_exact and y.is_exact and m.format is Format.F32:
                    if self.has_short_products and storage is Format.BF16:
                        self.short_products.append(node(ops.MULTIPLY, (x.high, y.high), None, Format.F32))
                        return product_to_odd(m, x.high, y.high, Format.F16)
                    return product_to_odd(m, x.high, y.high, storage)
        number = m.renormalised(m.unscaled(self.number(root)))
        return number.high if number.low is None else to_odd(m, number.high, number.low)

    def _is_of_16_bits(self, root: Expression, storage: Format) -> bool:
        """Whether float32 computes an operation so well that rounding twice is as good as once."""
        m = self.m
        return m.format is Format.F32 and all(is_of_16_bits(n, self.inputs, storage) for n in root.operands)


def is_of_16_bits(root: Expression, inputs: Sequence[ElementType], storage: Format) -> bool:
    """Whether this is an operand or a constant that is a number of these 16 bits, or a choice between such.

    float32 holds a product of two exactly; and it has the 2 p + 2 bits that make rounding their sum, their quotient or a
    root twice as good as once (Figueroa). In bfloat16 results may be subnormal in float32, too: of p = 8 bits each, products
    with bits below 2**-149 are less than the first tie, 2**-134, and quotients are 2**-142 or more beside ties.
    """
    if root.operation == ops.CONSTANT:
        return is_short(root.attribute, storage)
    if root.operation == ops.SELECT:
        return all(is_of_16_bits(n, inputs, storage) for n in root.operands[1:])
    return root.operation == ops.INPUT and STORAGE[inputs[root.attribute].name] is storage
