"""Every kind of node, each an object that knows the facts of its kind.

``OPERATIONS`` lists the kinds of both stages; a pass may rely on no other. Here are the operations of which
arithmetic, choices, rows and machine instructions are made. Each elementary function is a file of its own in
``ogive.lowering.numerics.elementary``, which adds it to the list.

An operation is its name: it is equal to that text, hashes like it, and prints as it. Code names operations by these
constants (``ops.ADD``), so that a misspelt one is found before it runs.
"""

from __future__ import annotations

import math
import operator as python
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, dataclass_transform

from ogive.errors import PickleError, message
from ogive.graph.formats import Format

if TYPE_CHECKING:
    from dataclasses import KW_ONLY

#: Whether a node of this kind is well-formed. (Nodes import this file, so that their type has no name here.)
Rule = Callable[[Any], bool]

#: A value of a function: an int, a fraction, a zero or an infinity that it is exactly, NaN; or the number of float64 next to it.
Fact = int | Fraction | float

#: By a ball of a number: the sign of a function there (0 where it is unknown), and the fraction that it is beside, with the side.
Sides = Callable[[Any], tuple[int, tuple[int, int] | None]]

#: All kinds of nodes, by name.
OPERATIONS: dict[str, Operation] = {}


@dataclass_transform(eq_default=False)
def _row(cls: type[Operation]) -> type[Operation]:
    """A dataclass to type checkers, which know the facts so; making a real one takes 2 ms."""

    def __init__(self: Operation, name: str, arity: int, **facts: Any) -> None:  # noqa: N807  # a method
        if unknown := facts.keys() - cls.__annotations__.keys():
            raise TypeError(f"Operation: {', '.join(sorted(unknown))}: there is no such fact")
        self.__dict__.update(facts, name=name, arity=arity)
        self.__post_init__()

    cls.__init__ = __init__  # type: ignore[method-assign]
    return cls


@_row
class Operation(str):
    """One kind of node: its name, and what is known of it.

    ``in_formulas`` and ``in_programs`` say which nodes are well-formed; without the one there is no such operation at
    that stage. The other facts are the attributes below; ``evaluate_exactly``, ``evaluate``, ``enclosure``, ``lowering``
    and ``derivative`` are rules of whoever evaluates, lowers or differentiates formulas. The passes have the rules of
    the operations of this file; elementary functions bring theirs with them.

    Raises ValueError if there is an operation of that name.

    >>> ADD == "add", ADD.arity, OPERATIONS["add"] is ADD
    (True, 2, True)
    """

    name: str
    arity: int
    _: KW_ONLY
    in_formulas: Rule | None = None
    in_programs: Rule | None = None
    result: Literal["operand", "truth", "attribute"] = "operand"
    """The source of the result's format: the last operand, a truth value, or the constructor."""
    symbol: str = ""
    """How people write it, ``+``; empty for a call by its name."""
    of_truths: Operation | None = None
    """The result for truth values alone, as NumPy has it."""
    doc: str = ""
    """The documentation of the function of formulas."""
    exactly: Callable[..., Any] | None = None
    """The exact result for fractions; None if it makes no fractions of them."""
    is_choice: bool = False
    """Whether it compares or chooses, so that of integers it is the same in every type."""
    is_kept_whole: bool = False
    """Whether its result is whole where its operands are, and lies between its results of their extremes."""
    is_nothing_to_integers: bool = False
    is_of_integers: bool = False
    """Whether only integers have it, in arithmetic that wraps around."""
    wraps_around: bool = False
    """Whether there is such an operation in arithmetic that wraps around."""
    returns_operand: bool = False
    """Whether it returns one of its operands, but for the sign."""
    never_makes_nan: bool = False
    """Whether it makes no NaN of numbers, infinities among them."""
    is_estimate: bool = False
    """Whether machines differ in its bits, so that no result may depend on it but one that a rounding test decides."""
    cost: float = 1.0
    """Its time, in that of a multiplication (lowering/cost.py)."""
    instructions: int = 2
    """About how many instructions lowering makes of it."""
    is_elementary: bool = False
    numpy: tuple[str, ...] = ()
    """The names of NumPy's functions that mean it."""
    lowering: Callable[..., Any] | None = None
    """The arithmetic of an elementary function: of an Arithmetic and the operands as double words, a double word."""
    domain: tuple[float, float] = (-math.inf, math.inf)
    """The interval of the operand of a function of one number, which is NaN outside."""
    at_zero: Fact | None = None
    """The value at zero of a function of one number; 0.0 stands for the zero itself, with its sign. None where nobody has said."""
    at_infinities: tuple[Fact, Fact] | None = None
    """The values of a function of one number at the two infinities, or its limits there."""
    is_linear_at_zero: bool = False
    """Whether it is its argument near zero: f(u) = u (1 + O(u))."""
    loses_subnormals: bool = False
    """Whether its rule does not return a subnormal argument as it is."""
    evaluate: Callable[..., Any] | None = None
    """It on arrays of float64 or long double, with NumPy."""
    evaluate_exactly: Callable[..., Any] | None = None
    """It on numbers of mpmath; the first argument is the context."""
    ball: Callable[[Any], Any] | None = None
    """A function of one number on balls. Enclosures are made of that, and of the values at zero and at the infinities."""
    apart: Callable[[Any], Any] | None = None
    """On balls of magnitudes: how far it is from the limit that is a fraction."""
    enclosure: Callable[..., Any] | None = None
    """It on values of ogive.enclosures.enclosure, where no ball tells enough; the first argument is the rules."""
    near_zero: Callable[[Any, int], tuple[Any, int]] | None = None
    """For fractions u between -1 and 1 but 0, and their signs: a fraction that the value is beside, and on which side.

    So ties that a formula comes near where u is tiny are told apart without many bits.
    """
    derivative: Callable[..., Any] | None = None
    """From the operands and the result, as terms: the derivative with respect to each operand."""

    def __new__(cls, name: str, *args: Any, **facts: Any) -> Operation:
        return super().__new__(cls, name)

    def __post_init__(self) -> None:
        if self.name in OPERATIONS:
            raise ValueError(f"Operation: there is an operation {self.name!r}. Give this one another name")
        self.wraps_around |= self.is_choice or self.is_nothing_to_integers or self.is_of_integers
        OPERATIONS[self] = self

    @property
    def python(self) -> str:
        """How people write it: ``{0} + {1}``; empty for a call by its name."""
        if not self.symbol:
            return ""
        return self.symbol + "{0}" if self.arity == 1 else f"{{0}} {self.symbol} {{1}}"

    @property
    def stages(self) -> Literal["formula", "primitive", "both"]:
        """The graphs that may have it: formulas, primitive graphs, or both."""
        if self.in_formulas is None:
            return "primitive"
        return "formula" if self.in_programs is None else "both"

    def __reduce__(self) -> tuple[Any, ...]:
        return named, (str(self),)


def is_exact(value: Fact | None) -> bool:
    """Whether a value of a function is a finite number exactly, and not next to one."""
    return isinstance(value, int | Fraction) or value == 0


def named(name: str) -> Operation:
    """The operation of that name. Raises PickleError where there is none."""
    try:
        return OPERATIONS[name]
    except KeyError:
        way_out = "Import the module that defines it first"
        raise PickleError(message("ogive", f"there is no operation {name!r}", way_out=way_out)) from None


# ---- which nodes are well-formed


def _formats(n: Any) -> tuple[Format, ...]:
    return tuple(operand.format for operand in n.operands)


def _are_alike(n: Any) -> bool:
    return all(form is n.format for form in _formats(n))


def is_number(n: Any) -> bool:
    """Whether this is a number of a formula, made of numbers."""
    return n.format is Format.NUMBER and _are_alike(n)


def _is_truth(n: Any) -> bool:
    return n.format is Format.TRUTH and _are_alike(n)


def _is_number_or_truth(n: Any) -> bool:
    return _is_truth(n) or is_number(n)


def _is_constant(n: Any) -> bool:
    if n.format is Format.TRUTH:
        return n.attribute in (0, 1)
    value = n.attribute
    return isinstance(value, Fraction) or (isinstance(value, float) and (value == 0 or not math.isfinite(value)))


def _is_position(n: Any) -> bool:
    return isinstance(n.attribute, int) and n.attribute >= 0


def _selects(n: Any) -> bool:
    return n.operands[1].format is n.format and n.operands[2].format is n.format


def _is_real(n: Any) -> bool:
    """Machine formats in which arithmetic happens: float16 and bfloat16 are only stored."""
    return n.format in (Format.F32, Format.F64) and _are_alike(n)


def _is_whole(n: Any) -> bool:
    return n.format.is_integer and _are_alike(n)


def _is_real_or_whole(n: Any) -> bool:
    return _is_real(n) or _is_whole(n)


def _is_double(n: Any) -> bool:
    return n.format is Format.F64


def _compares_numbers(n: Any) -> bool:
    return set(_formats(n)) == {Format.NUMBER}


def _compares(n: Any) -> bool:
    return n.format is Format.BIT and len(set(_formats(n))) == 1


def _is_of_bits(n: Any) -> bool:
    return _are_alike(n) and not n.format.is_float


def _shifts(n: Any) -> bool:
    return _is_whole(n) and isinstance(n.attribute, int) and 0 <= n.attribute < n.format.bits


def _selects_by_bit(n: Any) -> bool:
    return n.operands[0].format is Format.BIT and _selects(n)


def _is_table(n: Any) -> bool:
    (index,), numbers = _formats(n), n.attribute
    return (
        n.format is Format.F32
        and index in (Format.I32, Format.U32)
        and (isinstance(numbers, tuple) and len(numbers) in (8, 16, 32))
        and all(isinstance(x, float) and math.isfinite(x) and _is_single(x) for x in numbers)
    )


def _is_single(value: float) -> bool:
    try:
        return bool(struct.unpack("<f", struct.pack("<f", value))[0] == value)
    except OverflowError:
        return False


def _converts(n: Any) -> bool:
    source, result = _formats(n)[0], n.format
    stored = (Format.F16, Format.BF16)
    if source in stored or result in stored:
        return {source, result} - set(stored) == {Format.F32}
    return source is not result and result is not Format.BIT


def elementary(name: str, arity: int = 1, **facts: Any) -> Operation:
    """A function of real numbers that lowering replaces by arithmetic, ``lowering``.

    Its other facts are those of :class:`Operation`. ``doc`` is what the function of formulas says; without
    ``enclosure``, ``evaluate`` or ``evaluate_exactly`` whoever wants that rule refuses formulas of it.
    """
    return Operation(name, arity, in_formulas=is_number, is_elementary=True, **{"instructions": 30, **facts})


# ---- leaves. An input has its position, a parameter (position, name), a constant its exact value

INPUT = Operation(
    "input",
    0,
    result="attribute",
    in_formulas=_is_position,
    in_programs=_is_position,
    is_choice=True,
    never_makes_nan=True,
    cost=0.0,
)
PARAMETER = Operation(
    "parameter",
    0,
    result="attribute",
    in_programs=_is_double,
    never_makes_nan=True,
    in_formulas=lambda n: n.format is Format.NUMBER and isinstance(n.attribute, tuple) and len(n.attribute) == 2,
)
CONSTANT = Operation(
    "constant",
    0,
    result="attribute",
    in_formulas=_is_constant,
    is_choice=True,
    cost=0.0,
    in_programs=lambda n: isinstance(n.attribute, float if n.format.is_float else int),
)
#: In comparisons: the least number that is stored as an infinity. It depends on the element type
#: (ogive.graph.limits); without one it is the infinity that is its attribute.
OVERFLOW = Operation(
    "overflow",
    0,
    result="attribute",
    in_formulas=lambda n: n.format is Format.NUMBER and n.attribute == math.inf,
    never_makes_nan=True,
    cost=0.0,
)

#: A number that a formula gives to a parameter of an operator that it calls: as in a direct call, it is rounded to float32 where
#: numbers are computed in that (ogive.graph.limits).
GIVEN = Operation(
    "given",
    0,
    result="attribute",
    in_formulas=lambda n: n.format is Format.NUMBER and isinstance(n.attribute, float),
    cost=0.0,
)

# ---- comparisons, which are false when an operand is NaN; `>` is `<` with its operands exchanged. And choices:
# (condition, value where it holds, value elsewhere)

LESS = Operation(
    "less",
    2,
    symbol="<",
    result="truth",
    in_formulas=_compares_numbers,
    in_programs=_compares,
    exactly=python.lt,
    is_choice=True,
    cost=2.0,
    numpy=("less",),
)
LESS_EQUAL = Operation(
    "less_equal",
    2,
    symbol="<=",
    result="truth",
    in_formulas=_compares_numbers,
    in_programs=_compares,
    exactly=python.le,
    is_choice=True,
    cost=2.0,
    numpy=("less_equal",),
)
EQUAL = Operation(
    "equal",
    2,
    symbol="==",
    result="truth",
    in_formulas=_compares_numbers,
    in_programs=_compares,
    exactly=python.eq,
    is_choice=True,
    cost=2.0,
    numpy=("equal",),
)
AND = Operation(
    "and",
    2,
    symbol="&",
    in_formulas=_is_number_or_truth,
    in_programs=_is_of_bits,
    exactly=python.and_,
    is_choice=True,
    cost=0.5,
)
OR = Operation(
    "or",
    2,
    symbol="|",
    in_formulas=_is_number_or_truth,
    in_programs=_is_of_bits,
    exactly=python.or_,
    is_choice=True,
    cost=0.5,
)
EXCLUSIVE_OR = Operation(
    "exclusive_or",
    2,
    symbol="^",
    in_formulas=_is_number_or_truth,
    in_programs=_is_of_bits,
    exactly=python.xor,
    is_choice=True,
    cost=0.5,
)
NOT = Operation(
    "not", 1, symbol="~", in_formulas=_is_number_or_truth, in_programs=_is_of_bits, is_choice=True, cost=0.5
)
SELECT = Operation(
    "select",
    3,
    in_programs=_selects_by_bit,
    is_choice=True,
    returns_operand=True,
    never_makes_nan=True,
    cost=0.5,
    in_formulas=lambda n: n.operands[0].format is Format.TRUTH and _selects(n),
)

#: In lowering: a number that is only nearly the one that the formula means. Its attribute says how nearly, as a share.
APPROXIMATION = Operation(
    "approximation",
    1,
    in_formulas=lambda n: is_number(n) and isinstance(n.attribute, float),
    never_makes_nan=True,
    cost=0.0,
)

# ---- arithmetic. On machine integers it wraps around

ADD = Operation(
    "add",
    2,
    symbol="+",
    in_formulas=is_number,
    in_programs=_is_real_or_whole,
    exactly=python.add,
    of_truths=OR,
    is_kept_whole=True,
    wraps_around=True,
    numpy=("add",),
)
SUBTRACT = Operation(
    "subtract",
    2,
    symbol="-",
    in_formulas=is_number,
    in_programs=_is_real_or_whole,
    exactly=python.sub,
    is_kept_whole=True,
    wraps_around=True,
    numpy=("subtract",),
)
MULTIPLY = Operation(
    "multiply",
    2,
    symbol="*",
    in_formulas=is_number,
    in_programs=_is_real_or_whole,
    exactly=python.mul,
    of_truths=AND,
    is_kept_whole=True,
    wraps_around=True,
    numpy=("multiply",),
)
DIVIDE = Operation(
    "divide",
    2,
    symbol="/",
    in_formulas=is_number,
    in_programs=_is_real,
    exactly=python.truediv,
    cost=6.0,
    numpy=("divide",),
)
NEGATE = Operation(
    "negate",
    1,
    symbol="-",
    in_formulas=is_number,
    in_programs=_is_real_or_whole,
    exactly=python.neg,
    is_kept_whole=True,
    wraps_around=True,
    returns_operand=True,
    never_makes_nan=True,
    cost=0.5,
    numpy=("negative",),
)
ABSOLUTE = Operation(
    "absolute",
    1,
    in_formulas=is_number,
    in_programs=_is_real_or_whole,
    exactly=abs,
    wraps_around=True,
    returns_operand=True,
    never_makes_nan=True,
    cost=0.5,
    numpy=("absolute", "fabs"),
    doc="The magnitude of a number; clears the sign of a zero.",
)
SQUARE_ROOT = Operation(
    "square_root",
    1,
    in_formulas=is_number,
    in_programs=_is_real,
    cost=10.0,
    numpy=("sqrt",),
    doc="The square root; NaN below zero, -0 at -0.",
    domain=(0.0, math.inf),
)


def _to_integer(name: str, exactly: Callable[..., Any], numpy: str, doc: str) -> Operation:
    return Operation(
        name,
        1,
        in_formulas=is_number,
        in_programs=_is_real,
        exactly=exactly,
        is_kept_whole=True,
        is_nothing_to_integers=True,
        never_makes_nan=True,
        numpy=(numpy,),
        doc=doc,
    )


FLOOR = _to_integer("floor", math.floor, "floor", "The largest integer that is not larger.")
CEILING = _to_integer("ceiling", math.ceil, "ceil", "The smallest integer that is not smaller.")
TRUNCATE = _to_integer("truncate", math.trunc, "trunc", "The integer part: rounds towards zero.")
ROUND_EVEN = _to_integer("round_even", round, "rint", "The nearest integer; of two equally near ones the even one.")
COPY_SIGN = Operation(
    "copy_sign",
    2,
    in_formulas=is_number,
    in_programs=_is_real,
    returns_operand=True,
    never_makes_nan=True,
    cost=0.5,
    numpy=("copysign",),
)

# ---- integers. The quotient rounded towards zero, and what it leaves: where the divisor is zero, NaN or the integer
# zero. Shifts are logical; as long as the number or longer they give zero. Powers are modulo the number of their values

QUOTIENT = Operation("quotient", 2, in_formulas=is_number, in_programs=_is_whole, is_of_integers=True)
REMAINDER = Operation(
    "remainder",
    2,
    in_formulas=is_number,
    in_programs=_is_whole,
    wraps_around=True,
    instructions=110,
    numpy=("fmod",),
)
BIT_SHIFT_LEFT = Operation("bit_shift_left", 2, in_formulas=is_number, in_programs=_is_whole, is_of_integers=True)
BIT_SHIFT_RIGHT = Operation("bit_shift_right", 2, in_formulas=is_number, in_programs=_is_whole, is_of_integers=True)
BIT_COUNT = Operation("bit_count", 1, in_formulas=is_number, in_programs=_is_whole, is_of_integers=True)
INTEGER_POWER = Operation("integer_power", 2, in_formulas=is_number, is_of_integers=True, instructions=50)

# ---- what a whole row has in common: its largest and smallest element, its sum, its product; and whether an element is the first
# of its row for which a condition holds. The number of a row's elements; the position of the first element for which a
# condition holds, infinity if there is none

ROW_MAX = Operation(
    "row_max",
    1,
    in_formulas=is_number,
    doc="The largest element of the row; NaN if there is one. +0 is larger than -0.",
)
ROW_MIN = Operation(
    "row_min",
    1,
    in_formulas=is_number,
    doc="The smallest element of the row; NaN if there is one. -0 is smaller than +0.",
)
ROW_SUM = Operation(
    "row_sum",
    1,
    in_formulas=is_number,
    doc="The sum of the row, in one fixed order and with more precision than the row has.",
)
ROW_PRODUCT = Operation(
    "row_product",
    1,
    in_formulas=is_number,
    doc="The product of the row; what overflows or underflows on the way does not decide it.",
)
ROW_THRESHOLD = Operation(
    "row_threshold",
    1,
    in_formulas=is_number,
    doc="The number t of a row whose largest element is 0, for which max(x - t, 0) adds up to 1.",
)
ROW_SQUARE_THRESHOLD = Operation(
    "row_square_threshold",
    1,
    in_formulas=is_number,
    doc="The number t of a row whose largest element is 0, for which max(x - t, 0)**2 adds up to 1.",
)
#: In lowering: a number of float64 that lies next to that.
ROW_NEAR_THRESHOLD = Operation("row_near_threshold", 1, in_formulas=is_number)
#: In lowering: a step of Newton's method for that from the first number, by the second. The third is the length of the row.
THRESHOLD_STEP = Operation("threshold_step", 3, in_formulas=is_number)
ROW_FIRST = Operation("row_first", 1, in_formulas=_is_truth)
ROW_COUNT = Operation("row_count", 1, in_formulas=is_number, doc="How many elements the row has.")
ROW_INDEX = Operation(
    "row_index",
    1,
    result="attribute",
    in_formulas=lambda n: n.format is Format.NUMBER and _formats(n) == (Format.TRUTH,),
)

# ---- machine only from here on

#: `select`; what only the first value needs is computed for a block of elements only if the condition
#: holds for one of them.
SELECT_RARE = Operation("select_rare", 3, in_programs=_selects_by_bit, cost=1.0)
#: a * b + c, rounded once.
FMA = Operation("fma", 3, in_programs=_is_real)
#: Integer bits: shifts by a constant that is the attribute.
SHIFT_LEFT = Operation("shift_left", 1, in_programs=_shifts)
SHIFT_RIGHT = Operation("shift_right", 1, in_programs=_shifts)
#: Keeps the value as far as the format can: to nearest even between floats; towards zero to integers, which must be in
#: range.
CONVERT = Operation("convert", 1, result="attribute", in_programs=_converts, cost=3.5)
#: Keeps the bits.
BITCAST = Operation(
    "bitcast",
    1,
    result="attribute",
    cost=0.0,
    in_programs=lambda n: n.format.bits == _formats(n)[0].bits and n.format is not Format.BIT,
)
#: The place of a reduction of a row's elements: (which reduction, 0 or 1 for the two parts of a sum), and the position of the
#: element. Both are float64.
ROW_VALUE = Operation(
    "row_value", 0, result="attribute", in_programs=lambda n: _is_double(n) and isinstance(n.attribute, tuple)
)
ROW_POSITION = Operation("row_position", 0, result="attribute", in_programs=_is_double)
#: The number of a row's elements, in float64; and the number that an operand has for the whole row.
ROW_LENGTH = Operation("row_length", 0, result="attribute", in_programs=_is_double)
ROW_INPUT = Operation("row_input", 0, result="attribute", in_programs=_is_position)
#: a * 2**n for an integral n of the same floating-point format, rounded once.
SCALE_BY_POWER_OF_TWO = Operation("scale_by_power_of_two", 2, in_programs=_is_real, cost=2.0)
#: For float32: a * b, as the one of its two neighbours whose last bit is set, unless it is a number of the format. Where
#: what rounding loses is too small for the format, either one.
MULTIPLY_TO_ODD = Operation(
    "multiply_to_odd", 2, in_programs=lambda n: _is_real(n) and n.format is Format.F32, cost=7.5
)
#: A number of float32 out of a table of 8, 16 or 32, which is the attribute: that whose place is the lowest 3, 4 or 5 bits of
#: an integer of 32 bits. The other bits do not count.
TABLE = Operation("table", 1, result="attribute", in_programs=_is_table)
#: For float32: 1 / x with a relative error below 2**-14, where abs(x) lies between 2**-126 and 2**126; elsewhere anything.
RECIPROCAL_ESTIMATE = Operation(
    "reciprocal_estimate", 1, in_programs=lambda n: _is_real(n) and n.format is Format.F32, is_estimate=True
)
