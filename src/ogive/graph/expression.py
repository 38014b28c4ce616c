"""The expression graph: immutable, typed nodes, each there once.

A graph is its root node; a node points to its operands. Two stages use the same class:

* a **formula** is about real numbers and truth values, no matter in how many bits (`NUMBER`, `TRUTH`);
* a **primitive** graph is about machine formats, one IEEE or integer instruction a node.

ogive.graph.operations lists every kind of node of both stages.
"""

from __future__ import annotations

import _thread
import math
import sys
import weakref
from collections.abc import Callable, Collection, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from operator import is_
from typing import Any, ClassVar, NoReturn, cast

import numpy as np

from ogive.common import forking
from ogive.errors import FormulaError, described
from ogive.graph import operations as ops
from ogive.graph.formats import STORAGE, Format
from ogive.graph.operations import OPERATIONS, Operation
from ogive.graph.walking import walk

__all__ = [
    "COMPARISONS",
    "ELEMENTS",
    "EXTREMES",
    "OPERATIONS",
    "REDUCTIONS",
    "REPEATED",
    "ROW_NUMBERS",
    "STORAGE",
    "Expression",
    "Format",
    "Operation",
    "Term",
    "constant",
    "depends_on_elements",
    "eager_operands",
    "formula_node",
    "in_format",
    "is_computed",
    "lift",
    "node",
    "of_rows",
    "python",
    "rewritten",
    "tracing",
    "varying",
    "vocabulary",
    "walk",
]


#: Operations that make one number of a row, or a truth value for one of its elements.
REDUCTIONS = frozenset(
    {
        *(ops.ROW_MAX, ops.ROW_MIN, ops.ROW_SUM, ops.ROW_PRODUCT, ops.ROW_FIRST, ops.ROW_INDEX),
        *(ops.ROW_THRESHOLD, ops.ROW_SQUARE_THRESHOLD, ops.ROW_NEAR_THRESHOLD),
    }
)

#: The reductions that are found by repeated passes over a row.
REPEATED = frozenset({ops.ROW_THRESHOLD, ops.ROW_SQUARE_THRESHOLD, ops.ROW_NEAR_THRESHOLD})

#: The comparisons of two numbers.
COMPARISONS = frozenset({ops.LESS, ops.LESS_EQUAL, ops.EQUAL})

#: The reductions that are NaN where an element is.
EXTREMES = frozenset({ops.ROW_MAX, ops.ROW_MIN})

#: The leaves that differ from element to element.
ELEMENTS = frozenset({ops.INPUT, ops.ROW_POSITION})

#: Operations that look at a whole row.
ROW_NUMBERS = REDUCTIONS | {ops.ROW_COUNT}

Value = Fraction | float | int
"""The attribute of a constant. At the formula stage a finite value but -0.0 is a Fraction."""

#: By kind, operands' identities, attribute and format. Identities, not operands: comparing operands would make nodes,
#: and whoever holds a node holds its operands.
_table: weakref.WeakValueDictionary[tuple[Any, ...], Expression] = weakref.WeakValueDictionary()
_references: dict[tuple[Any, ...], weakref.ref[Expression]] = _table.data  # type: ignore[attr-defined]  # its get raises and catches KeyError
_table_lock = forking.lock()

#: The attributes that are looked up by their text.
_NUMBERS = (float, int, tuple, Fraction)


class Expression:
    """A node. Two nodes that say the same are the same object, so ``is`` compares whole graphs.

    Nodes of formulas are of the class :class:`Term`, which has Python's operators.
    """

    __slots__ = ("__weakref__", "attribute", "format", "of_elements", "operands", "operation")

    operation: Operation
    operands: tuple[Expression, ...]
    attribute: Any
    format: Format
    of_elements: bool
    """Whether it has a leaf of ELEMENTS."""

    def __init__(self) -> None:
        raise FormulaError("Expression: nodes are made by ogive.graph.expression.node() and by formulas")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Expression: {name} cannot be set; nodes are immutable")

    def __repr__(self) -> str:
        from ogive.graph.show import formula

        return f"<{self.format.value} expression {formula(self)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return node, (str(self.operation), self.operands, self.attribute, self.format)


#: Nodes cannot change; these fill a new one.
_set_operation, _set_operands, _set_attribute, _set_format, _set_of_elements = (
    getattr(Expression, name).__set__ for name in ("operation", "operands", "attribute", "format", "of_elements")
)


class _Tracing(_thread._local):
    """Whether a formula is being traced in this thread."""

    depth = 0


tracing = _Tracing()


def _refusing(what: str, way_out: str) -> Callable[..., Any]:
    """A method of :class:`Term` for what a formula cannot mean."""

    def refuse(self: Term, *args: object, **keywords: object) -> NoReturn:
        raise FormulaError(f"the formula {what}. {way_out}")

    return refuse


#: The requests of terms to functions that are made of terms: the functions behind Python's operators and NumPy's. ogive.formula and
#: ogive.operators.trace put them here, so that no arrow points back to these.
vocabulary: dict[str, Callable[..., Any]] = {}


def _operator(name: str, *, swapped: bool = False) -> Callable[..., Any]:
    """A method of :class:`Term` that calls a function of ogive.formula."""

    def method(self: Term, *others: object) -> Any:
        return vocabulary[name](*(*others, self) if swapped else (self, *others))

    return method


_VALUE = "which is known only when it runs"
_ELEMENT = "an expression stands for one element"
_SHIFT = "Use ogive.formula.bit_shift_left and bit_shift_right for the bits of integers, x * 2.0**n to scale"


class Term(Expression):
    """A node of a formula: a number or a truth value, with Python's operators.

    They mean what they mean for arrays of NumPy, and make new nodes; ``==`` and ``!=`` do too. NumPy's functions
    do what the functions of :mod:`ogive.formula` of the same names do. Everything else raises FormulaError.
    """

    __slots__ = ()

    def __add__(self, other: object) -> Term:
        return _binary(ops.ADD, self, other)

    def __radd__(self, other: object) -> Term:
        return _binary(ops.ADD, other, self)

    def __sub__(self, other: object) -> Term:
        return _binary(ops.SUBTRACT, self, other)

    def __rsub__(self, other: object) -> Term:
        return _binary(ops.SUBTRACT, other, self)

    def __mul__(self, other: object) -> Term:
        return _binary(ops.MULTIPLY, self, other)

    def __rmul__(self, other: object) -> Term:
        return _binary(ops.MULTIPLY, other, self)

    def __truediv__(self, other: object) -> Term:
        return _binary(ops.DIVIDE, self, other)

    def __rtruediv__(self, other: object) -> Term:
        return _binary(ops.DIVIDE, other, self)

    def __neg__(self) -> Term:
        return formula_node(ops.NEGATE, self)

    def __pos__(self) -> Term:
        return self

    def __abs__(self) -> Term:
        return formula_node(ops.ABSOLUTE, self)

    def __lt__(self, other: object) -> Term:
        return _binary(ops.LESS, self, other)

    def __le__(self, other: object) -> Term:
        return _binary(ops.LESS_EQUAL, self, other)

    def __gt__(self, other: object) -> Term:
        return _binary(ops.LESS, other, self)

    def __ge__(self, other: object) -> Term:
        return _binary(ops.LESS_EQUAL, other, self)

    def __eq__(self, other: object) -> Term:  # type: ignore[override]
        return _binary(ops.EQUAL, self, other)

    def __ne__(self, other: object) -> Term:  # type: ignore[override]
        return formula_node(ops.NOT, _binary(ops.EQUAL, self, other))

    def __hash__(self) -> int:
        """By identity: no two nodes have the same hash, so that sets and dictionaries never ask for ``==``."""
        if tracing.depth and sys._getframe(1).f_globals.get("__name__", "").partition(".")[0] != "ogive":
            raise FormulaError(
                "the formula looks an expression up in a set or a dictionary, or caches a function of it; that "
                f"would ask for its value, {_VALUE}. Write (x == 0) | (x == 1) for `x in {{0, 1}}`"
            )
        return object.__hash__(self)

    def __and__(self, other: object) -> Term:
        return _binary(ops.AND, self, other)

    def __or__(self, other: object) -> Term:
        return _binary(ops.OR, self, other)

    def __xor__(self, other: object) -> Term:
        return _binary(ops.EXCLUSIVE_OR, self, other)

    def __invert__(self) -> Term:
        return formula_node(ops.NOT, self)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    __mod__, __rmod__ = _operator("mod"), _operator("mod", swapped=True)
    __floordiv__, __rfloordiv__ = _operator("floor_divide"), _operator("floor_divide", swapped=True)
    __divmod__, __rdivmod__ = _operator("divmod"), _operator("divmod", swapped=True)
    __pow__, __rpow__ = _operator("raised"), _operator("raised", swapped=True)
    __round__ = _operator("round")
    __floor__, __ceil__, __trunc__ = _operator("floor"), _operator("ceiling"), _operator("truncate")

    __bool__ = _refusing(
        f"asks whether an expression is true, {_VALUE}",
        "Write where(condition, a, b) instead of if, `and`, `or`, min() and max(); (a < x) & (x < b) for a < x < b; "
        "(x == 0) | (x == 1) for `x in (0, 1)`. Annotate a parameter that selects with Literal[...]",
    )
    __float__ = __int__ = __complex__ = __index__ = _refusing(
        f"asks for the value of an expression, {_VALUE}",
        "Use the functions of ogive.formula, or NumPy's, instead of those of the math module; "
        "truncate(x) is the integer part",
    )
    __iter__ = __len__ = __contains__ = _refusing(
        "takes an expression for a sequence, but it stands for one element and cannot be iterated",
        "Write the formula for one element, or use row_sum, row_max and row_min in @ogive.row_operator()",
    )
    __getitem__ = __setitem__ = __delitem__ = _refusing(
        f"takes elements of an expression by index, but {_ELEMENT} and cannot be indexed",
        "Take the parts of the array before the call, and make each a tensor argument",
    )
    __matmul__ = __rmatmul__ = _refusing(
        f"multiplies matrices with `@`, but {_ELEMENT}", "Multiply matrices outside of the formula, with numpy.matmul"
    )
    __lshift__ = __rlshift__ = _refusing("shifts an expression with `<<`", _SHIFT)
    __rshift__ = __rrshift__ = _refusing("shifts an expression with `>>`", _SHIFT)
    __call__ = _refusing("calls an expression as a function", "Write `*` where a product is meant")
    __array__ = _refusing(
        f"makes an array of an expression, but {_ELEMENT}", "Use expressions as they are, without numpy.array()"
    )

    def __array_ufunc__(self, ufunc: Any, method: str, *args: object, **keywords: object) -> Any:
        """Let formulas use NumPy's functions: ``np.exp(x)`` is ``ogive.formula.exp(x)``."""
        return vocabulary["call_ufunc"](ufunc, method, args, keywords)

    def __array_function__(
        self, function: Any, types: object, args: tuple[object, ...], keywords: dict[str, object]
    ) -> Any:
        return vocabulary["call_function"](function, args, keywords)

    __array_priority__: ClassVar[float] = 1000.0


def node(operation: Operation, operands: tuple[Expression, ...], attribute: Any, form: Format) -> Expression:
    """The node of that kind: the one that is already there, or a new one. A text stands for the operation of that name.

    (What comes from outside has texts: pickles, and the Python that `python` writes.)
    """
    # NaN and -0.0 as keys: by their text, in tables too. 1 == 1.0 == Fraction(1) must be three keys.
    shown = repr(attribute) if attribute is not None and isinstance(attribute, _NUMBERS) else attribute
    key = (operation, tuple(map(id, operands)), shown, form)
    reference = _references.get(key)
    found = None if reference is None else reference()
    if found is None:
        made = object.__new__(Expression if form.is_machine else Term)
        _set_operation(made, OPERATIONS.get(operation, operation))
        _set_operands(made, operands)
        _set_attribute(made, attribute)
        _set_format(made, form)
        of_elements = operation in ELEMENTS
        for operand in operands:
            of_elements = of_elements or operand.of_elements
        _set_of_elements(made, of_elements)
        with _table_lock:
            found = _table.setdefault(key, made)  # another thread or a signal handler may have been here meanwhile
    return found


def in_format(value: Expression, form: Format) -> Expression:
    """A value of a program in a machine format: itself, or converted."""
    if value.format is Format.BIT and form is Format.BF16:  # which is made of float32 alone
        value = node(ops.CONVERT, (value,), None, Format.F32)
    return value if value.format is form else node(ops.CONVERT, (value,), None, form)


def constant(value: Value | bool) -> Term:
    """A number, exactly, or a truth value.

    >>> constant(0.5) is constant(1 / 2)
    True
    """
    form = Format.TRUTH if isinstance(value, bool) else Format.NUMBER
    exact: Value = value
    if isinstance(value, bool):
        exact = int(value)
    elif not isinstance(value, float) or (math.isfinite(value) and not (value == 0 and math.copysign(1, value) < 0)):
        exact = Fraction(value)
    return cast(Term, node(ops.CONSTANT, (), exact, form))


def is_negative_zero(root: Expression) -> bool:
    """Whether this is the constant -0."""
    return bool(root.operation == ops.CONSTANT and root.attribute == 0 and math.copysign(1, root.attribute) < 0)


def lift(value: object) -> Term:
    """The values that a formula may write in the place of an expression: an expression, a number, a truth value."""
    if isinstance(value, Term):
        return value
    if isinstance(value, bool | float):
        return constant(value)
    if isinstance(value, int | Fraction):
        exact = Fraction(value)
        if abs(exact) >= 1 << sys.float_info.max_exp:
            bits = exact.numerator.bit_length() - exact.denominator.bit_length()
            raise FormulaError(
                f"the formula has a constant of about 2**{bits}; allowed: magnitudes below "
                f"2**{sys.float_info.max_exp}. Multiply by several that are smaller"
            )
        return constant(value)
    if hasattr(value, "item") and getattr(value, "shape", None) == ():  # a NumPy scalar
        item: Any = value.item()
        if not isinstance(item, np.longdouble):
            return lift(item)
        return lift(Fraction(*item.as_integer_ratio()) if np.isfinite(item) else float(item))
    raise FormulaError(_not_combined(value))


#: The values that a formula can combine expressions with.
_COMBINED = "numbers, truth values and expressions"


def _not_combined(value: object) -> str:
    """Why a formula cannot use this value, and what it can."""
    if value is None:
        return "the formula combines an expression with None. Check that helper functions `return` their results"
    if isinstance(value, str | bytes):
        return (
            f"the formula combines an expression with the text {value!r}; allowed: {_COMBINED}. "
            "Annotate a parameter that selects by a text with Literal[...] and its choices"
        )
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) or isinstance(value, list | tuple):
        what = f"an array of shape {tuple(shape)}" if isinstance(shape, tuple) else described(value)
        return (
            f"the formula combines an expression with {what}; allowed: {_COMBINED}. "
            "Pass arrays as tensor arguments: def operator(x, weights)"
        )
    return (
        f"the formula combines an expression with {described(value)}; allowed: {_COMBINED}. "
        f"{'Call it first' if callable(value) else 'Convert it to a float or an int first'}"
    )


_NOT_OF_TRUTHS = {
    ops.SUBTRACT: "`-` has no meaning between two truth values. Write a ^ b to ask whether they differ",
    ops.NEGATE: "`-` has no meaning for a truth value. Write ~a for the opposite",
}
_OF_TRUTHS_ONLY = {ops.AND: "&", ops.OR: "|", ops.EXCLUSIVE_OR: "^", ops.NOT: "~", ops.ROW_FIRST: "row_first"}


def formula_node(operation: Operation, *operands: Term) -> Term:
    """A node of a formula. A truth value among numbers is 1 or 0."""
    operation = OPERATIONS[operation]
    truths = [operand.format is Format.TRUTH for operand in operands]
    if operation in _OF_TRUTHS_ONLY:
        if not all(truths):
            raise FormulaError(
                f"`{_OF_TRUTHS_ONLY[operation]}`: an operand is a number; allowed: truth values, which comparisons "
                "such as x > 0 make. Use ogive.formula.bit_and, bit_or, bit_xor and bit_not for the bits of integers"
            )
    elif operation == ops.SELECT:
        if truths[1] != truths[2]:
            operands = (operands[0], *map(as_number, operands[1:]))
    elif all(truths):
        if operation in _NOT_OF_TRUTHS:
            raise FormulaError(_NOT_OF_TRUTHS[operation])
        if operation == ops.ABSOLUTE:
            return operands[0]
        if operation == ops.EQUAL:
            return formula_node(ops.NOT, formula_node(ops.EXCLUSIVE_OR, *operands))
        if operation.of_truths is not None:
            return formula_node(operation.of_truths, *operands)
        operands = tuple(map(as_number, operands))
    elif any(truths):
        operands = tuple(map(as_number, operands))
    if operation in COMPARISONS:
        return _compared(operation, *operands)
    form = Format.TRUTH if operation.result == "truth" else operands[-1].format
    return cast(Term, node(operation, operands, None, form))


def _compared(operation: Operation, a: Term, b: Term) -> Term:
    """A comparison. One of a computed number with an infinity asks about the number as results are stored.

    So ``exp(x) == inf`` is true where exp(x) is a number that the element type has no room for, as NumPy's users expect.
    """
    limit = cast(Term, node(ops.OVERFLOW, (), math.inf, Format.NUMBER))
    sides = {a: _infinity(a), b: _infinity(b)}
    computed, other = (a, b) if sides[b] else (b, a)
    sign = sides[other]
    if sign and is_computed(computed):
        end = limit if sign > 0 else cast(Term, node(ops.NEGATE, (limit,), None, Format.NUMBER))
        # A comparison with `<` of one is never true, one with `<=` always: these stay.
        is_upper = (sign > 0) == (other is b)
        if operation == ops.EQUAL:
            operation, a, b = ops.LESS_EQUAL, *((end, computed) if sign > 0 else (computed, end))
        elif is_upper == (operation == ops.LESS):
            a, b = (end, b) if other is a else (a, end)
    return cast(Term, node(operation, (a, b), None, Format.TRUTH))


def _infinity(root: Expression) -> int:
    """The sign of an infinite constant; 0 of all else."""
    is_infinite = root.operation == ops.CONSTANT and root.attribute in (math.inf, -math.inf)
    return 0 if not is_infinite else 1 if root.attribute > 0 else -1


def is_computed(root: Expression) -> bool:
    """Whether this is more than an operand, a parameter or a constant, with whatever sign."""
    while root.operation in (ops.ABSOLUTE, ops.NEGATE):
        root = root.operands[0]
    return bool(root.operands)


def as_number(value: Term) -> Term:
    """1 for true and 0 for false; a number is one."""
    if value.format is not Format.TRUTH:
        return value
    if value.operation == ops.CONSTANT:
        return constant(int(value.attribute))
    return cast(Term, node(ops.SELECT, (value, constant(1), constant(0)), None, Format.NUMBER))


def _binary(operation: Operation, left: object, right: object) -> Term:
    return formula_node(operation, lift(left), lift(right))


def is_extreme(current: Expression) -> bool:
    """Whether this is the larger or the smaller of two numbers: a choice between those that are compared."""
    if current.operation != ops.SELECT or current.operands[0].operation not in (ops.LESS, ops.LESS_EQUAL):
        return False
    return set(current.operands[0].operands) == set(current.operands[1:])


def rewritten(
    roots: Iterable[Expression], rule: Callable[[Expression, Expression], Expression]
) -> tuple[Expression, ...]:
    """The graphs with what a rule makes of each node in its place: of the node, and of that with the operands that have been made.

    >>> x = node(ops.INPUT, (), 0, Format.NUMBER)
    >>> rewritten([x + 1], lambda old, new: constant(2) if old is x else new)
    (<number expression 2 + 1>,)
    """
    roots, made = tuple(roots), dict[Expression, Expression]()
    for current in walk(*roots):
        operands = tuple(made[operand] for operand in current.operands)
        is_same = all(map(is_, operands, current.operands))
        new = current if is_same else node(current.operation, operands, current.attribute, current.format)
        made[current] = rule(current, new)
    return tuple(made[root] for root in roots)


def depends_on_elements(root: Expression) -> bool:
    """Whether this is more than parameters, constants and what rows have in common.

    >>> depends_on_elements(lift(2))
    False
    """
    return root.of_elements


def of_rows(*roots: Expression) -> set[Expression]:
    """The nodes of formulas that are one number of a row: reductions, and what is made of them and of constants."""
    found: set[Expression] = set()
    for current in walk(*roots):
        if current.operation in ROW_NUMBERS:
            is_one = current.operation != ops.ROW_FIRST
        else:
            is_one = current.operation not in ELEMENTS and found.issuperset(current.operands)
        if is_one:
            found.add(current)
    return found


def varying(roots: Sequence[Expression], leaves: Collection[str] = ELEMENTS) -> frozenset[Expression]:
    """The nodes of primitive graphs that these leaves make differ."""
    return _varying(tuple(roots), frozenset(leaves))


@lru_cache(maxsize=16)  # whoever makes code of a program asks ten times
def _varying(roots: tuple[Expression, ...], leaves: frozenset[str]) -> frozenset[Expression]:
    found: set[Expression] = set()
    for current in walk(*roots):
        if current.operation in leaves or not found.isdisjoint(current.operands):
            found.add(current)
    return frozenset(found)


def eager_operands(current: Expression) -> Sequence[Expression]:
    """The operands that are needed whatever the values: of a rare select the condition and the common value."""
    return current.operands[::2] if current.operation == ops.SELECT_RARE else current.operands


def python(*roots: Expression) -> str:
    """Python that makes the same nodes: bug reports and tests can paste it. Equal texts are equal graphs.

    >>> import ogive
    >>> root = ogive.relu.formula()[0]
    >>> scope = {}
    >>> exec(python(root), scope)
    >>> scope["roots"] == (root,)
    True
    """
    lines = [
        "from fractions import Fraction",
        "from ogive.graph.expression import Format, node",
        "inf, nan = float('inf'), float('nan')",
    ]
    names: dict[Expression, str] = {}
    for index, current in enumerate(walk(*roots)):
        names[current] = f"n{index}"
        operands = "".join(f"{names[operand]}, " for operand in current.operands)
        lines.append(
            f"n{index} = node({current.operation!r}, ({operands}), {current.attribute!r}, Format.{current.format.name})"
        )
    lines.append(f"roots = ({''.join(f'{names[root]}, ' for root in roots)})")
    return "\n".join(lines) + "\n"
