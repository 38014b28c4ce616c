"""The expression graph: immutable, typed nodes, each there once, and the closed list of their kinds.

A graph is its root node; a node points to its operands. Two stages use the same class:

* a **formula** is about real numbers and truth values, no matter in how many bits (`NUMBER`, `TRUTH`);
* a **primitive** graph is about machine formats, one IEEE or integer instruction a node.

``OPERATIONS`` lists every kind of node of both stages. A pass may rely on nothing else existing.
"""

from __future__ import annotations

import enum
import math
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

from ogive import forking
from ogive.errors import FormulaError

__all__ = [
    "ELEMENTS",
    "OPERATIONS",
    "Expression",
    "Format",
    "Operation",
    "constant",
    "depends_on_elements",
    "lift",
    "node",
    "python",
    "walk",
]


class Format(enum.Enum):
    """What a node's value is. The first two belong to formulas, the others are machine formats."""

    NUMBER = "number"
    TRUTH = "truth"
    F16 = "f16"
    BF16 = "bf16"
    F32 = "f32"
    F64 = "f64"
    I8 = "i8"
    I16 = "i16"
    I32 = "i32"
    I64 = "i64"
    U8 = "u8"
    U16 = "u16"
    U32 = "u32"
    U64 = "u64"
    BIT = "bit"

    def __repr__(self) -> str:
        return self.name

    @property
    def is_machine(self) -> bool:
        return self not in (Format.NUMBER, Format.TRUTH)

    @property
    def is_float(self) -> bool:
        return self in (Format.F16, Format.BF16, Format.F32, Format.F64)

    @property
    def is_signed(self) -> bool:
        return self in (Format.I8, Format.I16, Format.I32, Format.I64)

    @property
    def is_integer(self) -> bool:
        return self.is_machine and not self.is_float and self is not Format.BIT

    @property
    def bits(self) -> int:
        return _BITS[self]

    @property
    def precision(self) -> int:
        """How many significant bits a number of this floating-point format has."""
        return _PRECISION[self]


_BITS: dict[Format, int] = {f: int(f.value.lstrip("bfiu")) for f in Format if f.is_machine and f is not Format.BIT}
_BITS[Format.BIT] = 1
_PRECISION = {Format.F16: 11, Format.BF16: 8, Format.F32: 24, Format.F64: 53}


@dataclass(frozen=True)
class Operation:
    """One kind of node. ``arity`` None: a leaf that is told apart by its attribute."""

    name: str
    arity: int
    stages: Literal["formula", "primitive", "both"]
    result: Literal["operand", "truth", "attribute"] = "operand"
    """Where the format of the result comes from: the last operand, a truth value, or the constructor."""
    python: str = ""
    """How people write it: ``{0} + {1}``; empty for a call by its name."""


def _operations(
    stages: Literal["formula", "primitive", "both"],
    result: Literal["operand", "truth", "attribute"],
    arity: int,
    names: str,
) -> list[Operation]:
    rows = []
    for entry in names.split():
        name, _, symbol = entry.partition(":")
        python = "" if not symbol else symbol + "{0}" if arity == 1 else f"{{0}} {symbol} {{1}}"
        rows.append(Operation(name, arity, stages, result, python))
    return rows


#: Functions that lowering replaces by arithmetic; each has its own rule in ogive.elementary.
ELEMENTARY = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "erf", "erfc"),
    *("exp", "expm1", "log", "log1p", "logistic", "normal_tail", "sin", "sinh", "tan", "tanh"),
)
ELEMENTARY_OF_TWO = ("atan2", "larger", "power", "smaller")

OPERATIONS: dict[str, Operation] = {
    row.name: row
    for rows in (
        # Leaves. `input`: position; `parameter`: (position, name); `constant`: its exact value.
        _operations("both", "attribute", 0, "input parameter constant"),
        # Arithmetic. On machine integers it wraps around.
        _operations("both", "operand", 2, "add:+ subtract:- multiply:* divide:/"),
        _operations("both", "operand", 1, "negate:- absolute square_root floor ceiling truncate round_even"),
        _operations("both", "operand", 2, "copy_sign"),
        # The quotient rounded towards zero (of integers only), and what it leaves. Where the divisor is zero, NaN
        # or the integer zero.
        _operations("both", "operand", 2, "quotient remainder"),
        # Of integers too: bits. Shifts are logical; as long as the number or longer they give zero.
        _operations("both", "operand", 2, "bit_shift_left bit_shift_right"),
        _operations("both", "operand", 1, "bit_count"),
        # Comparisons are false when an operand is NaN. `>` is `<` with its operands exchanged.
        _operations("both", "truth", 2, "less:< less_equal:<= equal:=="),
        _operations("both", "operand", 2, "and:& or:| exclusive_or:^"),
        _operations("both", "operand", 1, "not:~"),
        # (condition, value where it holds, value elsewhere)
        _operations("both", "operand", 3, "select"),
        _operations("formula", "operand", 1, " ".join(ELEMENTARY)),
        _operations("formula", "operand", 2, " ".join(ELEMENTARY_OF_TWO)),
        # Of integers, modulo the number of their values.
        _operations("formula", "operand", 2, "integer_power"),
        # What a whole row has in common: its largest and smallest element, its sum; and whether an element is
        # the first of its row for which a condition holds.
        _operations("formula", "operand", 1, "row_max row_min row_sum row_first"),
        # Machine only from here on. The same as `select`; what only the first value needs is computed for a
        # block of elements only if the condition holds for one of them.
        _operations("primitive", "operand", 3, "select_rare"),
        # a * b + c, rounded once.
        _operations("primitive", "operand", 3, "fma"),
        # Integer bits: shifts by a constant that is the attribute.
        _operations("primitive", "operand", 1, "shift_left shift_right"),
        # `convert` keeps the value as far as the format can: to nearest even between floats; towards zero
        # to integers, which must be in range. `bitcast` keeps the bits.
        _operations("primitive", "attribute", 1, "convert bitcast"),
        # Where a row's elements are reduced: (which reduction, 0 or 1 for the two parts of a sum), and the
        # position of the element. Both are float64.
        _operations("primitive", "attribute", 0, "row_value row_position"),
        # a * 2**n for an integral n of the same floating-point format, rounded once.
        _operations("primitive", "operand", 2, "scale_by_power_of_two"),
        # Of float32: a * b, of its two neighbours the one whose last bit is set, unless it is a number of the format.
        # Where what rounding loses is too small for the format, either one.
        _operations("primitive", "operand", 2, "multiply_to_odd"),
    )
    for row in rows
}

Value = Fraction | float | int
"""The attribute of a constant. At the formula stage a finite value but -0.0 is a Fraction."""

_table: weakref.WeakValueDictionary[tuple[Any, ...], Expression] = weakref.WeakValueDictionary()
_table_lock = forking.lock()


class Expression:
    """A node. Two nodes that say the same are the same object, so ``is`` compares whole graphs.

    In a formula, ``+ - * /``, comparisons, ``& | ^ ~`` on truth values, ``abs()`` and the functions of
    :mod:`ogive.formula` (or NumPy's of the same names) make new nodes.
    """

    __slots__ = ("__weakref__", "attribute", "format", "operands", "operation")

    operation: str
    operands: tuple[Expression, ...]
    attribute: Any
    format: Format

    def __init__(self) -> None:
        raise FormulaError("Expression: nodes are made by ogive.expression.node() and by formulas")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Expression: {name} cannot be set; nodes are immutable")

    def __repr__(self) -> str:
        from ogive.show import formula

        return f"<{self.format.value} expression {formula(self)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return node, (self.operation, self.operands, self.attribute, self.format)

    # ---- what a formula may write

    def __add__(self, other: object) -> Expression:
        return _binary("add", self, other)

    def __radd__(self, other: object) -> Expression:
        return _binary("add", other, self)

    def __sub__(self, other: object) -> Expression:
        return _binary("subtract", self, other)

    def __rsub__(self, other: object) -> Expression:
        return _binary("subtract", other, self)

    def __mul__(self, other: object) -> Expression:
        return _binary("multiply", self, other)

    def __rmul__(self, other: object) -> Expression:
        return _binary("multiply", other, self)

    def __truediv__(self, other: object) -> Expression:
        return _binary("divide", self, other)

    def __rtruediv__(self, other: object) -> Expression:
        return _binary("divide", other, self)

    def __neg__(self) -> Expression:
        return _formula("negate", self)

    def __pos__(self) -> Expression:
        return self

    def __abs__(self) -> Expression:
        return _formula("absolute", self)

    def __lt__(self, other: object) -> Expression:
        return _binary("less", self, other)

    def __le__(self, other: object) -> Expression:
        return _binary("less_equal", self, other)

    def __gt__(self, other: object) -> Expression:
        return _binary("less", other, self)

    def __ge__(self, other: object) -> Expression:
        return _binary("less_equal", other, self)

    def __and__(self, other: object) -> Expression:
        return _binary("and", self, other)

    def __or__(self, other: object) -> Expression:
        return _binary("or", self, other)

    def __xor__(self, other: object) -> Expression:
        return _binary("exclusive_or", self, other)

    def __invert__(self) -> Expression:
        return _formula("not", self)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    # `==` compares nodes, as dictionaries and sets need it; formulas write ogive.formula.equal(a, b).
    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise FormulaError(
            "a formula asked whether an expression is true, which is known only when it runs. "
            "Write where(condition, a, b) instead of if, `and`, `or`, min() and max()"
        )

    def __float__(self) -> float:
        raise FormulaError(
            "a formula asked for the value of an expression, which is known only when it runs. "
            "Use the functions of ogive.formula instead of those of the math module"
        )

    def __iter__(self) -> Iterator[Expression]:
        raise FormulaError("an expression stands for one element and cannot be iterated")

    def __array_ufunc__(self, ufunc: Any, method: str, *args: object, **keywords: object) -> Expression:
        """Let formulas use NumPy's functions: ``np.exp(x)`` is ``ogive.formula.exp(x)``."""
        function = None if keywords or method != "__call__" else _numpy_functions().get(ufunc.__name__)
        if function is None:
            raise FormulaError(f"a formula called numpy.{ufunc.__name__}, which has no counterpart in ogive.formula")
        return function(*args)

    def __array_function__(
        self, function: Any, types: object, args: tuple[object, ...], keywords: dict[str, object]
    ) -> Expression:
        if function.__name__ != "where" or keywords or len(args) != 3:
            raise FormulaError(f"a formula called numpy.{function.__name__}, which works on arrays only")
        return _numpy_functions()["where"](*args)

    __array_priority__: ClassVar[float] = 1000.0


def _numpy_functions() -> dict[str, Callable[..., Expression]]:
    from ogive import formula

    return formula.NUMPY_NAMES


def node(operation: str, operands: tuple[Expression, ...], attribute: Any, form: Format) -> Expression:
    """The node of that kind: the one that is already there, or a new one."""
    # NaN and -0.0 as keys: by their text. 1 == 1.0 == Fraction(1) must be three keys.
    shown = repr(attribute) if isinstance(attribute, float | int | Fraction) else attribute
    key = (operation, operands, shown, form)
    found = _table.get(key)
    if found is None:
        with _table_lock:
            found = _table.get(key)
            if found is None:
                found = object.__new__(Expression)
                set_slot = object.__setattr__
                set_slot(found, "operation", operation)
                set_slot(found, "operands", operands)
                set_slot(found, "attribute", attribute)
                set_slot(found, "format", form)
                _table[key] = found
    return found


def constant(value: Value | bool) -> Expression:
    """A number, exactly, or a truth value.

    >>> constant(0.5) is constant(1 / 2)
    True
    """
    if isinstance(value, bool):
        return node("constant", (), int(value), Format.TRUTH)
    if isinstance(value, float) and (not math.isfinite(value) or (value == 0 and math.copysign(1, value) < 0)):
        return node("constant", (), value, Format.NUMBER)
    return node("constant", (), Fraction(value), Format.NUMBER)


def lift(value: object) -> Expression:
    """What a formula may write in the place of an expression: an expression, a number, a truth value."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, bool | int | float | Fraction):
        return constant(value)
    if hasattr(value, "item") and getattr(value, "shape", None) == ():  # a NumPy scalar
        return lift(value.item())
    raise FormulaError(
        f"a formula combined an expression with {type(value).__name__}; "
        "numbers, truth values and expressions can be combined. Pass arrays as tensor arguments"
    )


def _formula(operation: str, *operands: Expression) -> Expression:
    row = OPERATIONS[operation]
    wants_truth = operation in ("and", "or", "exclusive_or", "not", "row_first")
    for operand in operands[1:] if operation == "select" else operands:
        if wants_truth != (operand.format is Format.TRUTH) and operation != "select":
            wanted = "truth values (comparisons)" if wants_truth else "numbers"
            raise FormulaError(
                f"{operation}: an operand is a {operand.format.value}; allowed: {wanted}. "
                "where(condition, 1, 0) makes a number of a truth value"
            )
    form = Format.TRUTH if row.result == "truth" else operands[-1].format
    return node(operation, operands, None, form)


def _binary(operation: str, left: object, right: object) -> Expression:
    return _formula(operation, lift(left), lift(right))


def _operands(current: Expression) -> Sequence[Expression]:
    return current.operands


def walk(
    *roots: Expression, operands: Callable[[Expression], Sequence[Expression]] = _operands
) -> Iterator[Expression]:
    """Every node of the graphs once, operands before the nodes that use them.

    ``operands`` says what counts as the operands of a node, where that is not all of them.
    """
    seen: set[Expression] = set()
    stack: list[tuple[Expression, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        current, operands_done = stack.pop()
        if operands_done:
            yield current
        elif current not in seen:
            seen.add(current)
            stack.append((current, True))
            stack.extend((operand, False) for operand in reversed(operands(current)) if operand not in seen)


#: The leaves that differ from element to element.
ELEMENTS = frozenset({"input", "row_position"})


def is_extreme(current: Expression) -> bool:
    """Whether this is the larger or the smaller of two numbers: a choice between those that are compared."""
    if current.operation != "select" or current.operands[0].operation not in ("less", "less_equal"):
        return False
    return set(current.operands[0].operands) == set(current.operands[1:])


def depends_on_elements(root: Expression) -> bool:
    """Whether this is more than parameters, constants and what rows have in common.

    >>> depends_on_elements(lift(2))
    False
    """
    return any(current.operation in ELEMENTS for current in walk(root))


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
        "from ogive.expression import Format, node",
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
