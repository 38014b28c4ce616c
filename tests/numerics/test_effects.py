"""No operation forgets a field of a number: by the tables, and by what numbers with each field are worth after each operation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, make_dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest

from ogive.common.dtypes import ELEMENT_TYPES
from ogive.common.effects import Checked, Effects, UnlistedField, complete
from ogive.enclosures import enclosure
from ogive.enclosures.enclosure import Beside, Value, of_ball, of_number
from ogive.graph import operations as ops
from ogive.graph.expression import STORAGE, Expression, Format, node
from ogive.lowering.numerics import double_word, float_float
from ogive.lowering.numerics.bound import Beyond, Bound
from ogive.lowering.numerics.bounded import Bounded, exact_operand
from ogive.lowering.numerics.double_word import Arithmetic, DoubleWord
from ogive.lowering.numerics.elementary.extremes import larger, smaller
from ogive.lowering.numerics.float_float import Around, FloatFloat, FloatFloatArithmetic, NoFloatFloat, U
from ogive.lowering.numerics.interval import Interval
from ogive.lowering.numerics.precisions import CORRECTED_DOUBLES, CORRECTED_ELEMENTS, CORRECTED_ROWS, IN_WORDS, PROMOTED
from ogive.lowering.numerics.single import SingleBounded
from ogive.lowering.program import Program
from ogive.runtime.kernels import make_ufunc

ARITHMETICS = {
    "paired": FloatFloatArithmetic(),
    "words": Arithmetic(Format.F64),
    "bounded": Bounded(),
    "short": SingleBounded(Format.F16),
}


def made(arithmetic: Any, kind: type[Any] | None = None) -> Any:
    """A number of an arithmetic, perhaps of a class with one more field."""
    x = node("input", (), 0, arithmetic.format)
    number = arithmetic.exactly(x) if isinstance(arithmetic, FloatFloatArithmetic) else DoubleWord(x, error=Bound())
    if kind is None:
        return number
    return kind(**{part.name: getattr(number, part.name) for part in fields(number)})


@pytest.mark.parametrize("name", ARITHMETICS)
def test_a_field_that_no_row_lists_is_refused(name: str) -> None:
    arithmetic: Any = ARITHMETICS[name]
    plain = made(arithmetic)
    more = make_dataclass("More", [("more", int, 1)], bases=(type(plain),), frozen=True)
    number, truth = made(arithmetic, more), node("less", (plain.high, plain.high), None, Format.BIT)
    calls = {
        "negate": (number,),
        "absolute": (number,),
        "add": (plain, number),
        "multiply": (number, plain),
        "divide": (number, plain),
        "square_root": (number,),
        "select": (truth, plain, number),
    }
    calls |= (
        {"reciprocal": (number,)}
        if name == "paired"
        else {"copy_sign": (number, plain.high), "integral": (ops.FLOOR, number)}
    )
    for operation, operands in calls.items():
        with pytest.raises(arithmetic.refusal, match=f"{operation} of a More, whose fields it does not know"):
            getattr(arithmetic, operation)(*operands)


def test_every_row_lists_every_field() -> None:
    for table in (float_float.EFFECTS, double_word.EFFECTS, enclosure.EFFECTS):
        complete(table)
    negated = float_float.EFFECTS["negate"][FloatFloat]
    with pytest.raises(UnlistedField, match=r"negate: each field of FloatFloat has one effect; wrong are \['turn'\]"):
        complete({"negate": {FloatFloat: replace(negated, made=negated.made.replace("turn", ""))}})
    with pytest.raises(UnlistedField, match="two of one field"):
        complete({"negate": {FloatFloat: replace(negated, kept=f"{negated.kept} turn")}})


def test_an_operation_that_forgets_a_field_is_found() -> None:
    @dataclass(frozen=True)
    class Number:
        word: float
        turn: float | None = None

    class Forgetful(Checked):
        effects: ClassVar = {
            "negate": {Number: Effects(kept="turn", made="word")},
            "add": {Number: Effects(made="word", dropped={"turn": ""})},
        }

        def negate(self, a: Number) -> Number:
            return Number(-a.word)

        def add(self, a: Number, b: Number) -> Number:
            return replace(a, word=a.word + b.word)

    assert Forgetful().negate(Number(1.0)) == Number(-1.0)
    nan = float("nan")
    Effects(kept="turn").confirm("negate", [Number(1.0, nan)], Number(2.0, nan))
    with pytest.raises(UnlistedField, match="negate changes the field 'turn' of Number, which it keeps"):
        Forgetful().negate(Number(1.0, 2.0))
    with pytest.raises(UnlistedField, match="add keeps the field 'turn' of Number, which it drops"):
        Forgetful().add(Number(1.0, 2.0), Number(1.0))


# ---- pairs of float32

X = np.float32([-3, -1.5, -0.625, 0.625, 1.25, 2.75, 1.5, -2.5])
Y = np.float32([1.5, -0.75, 3, -2, 1, 0.5, -1.25, -0.5])
M = FloatFloatArithmetic()
x, y = (node("input", (), place, Format.F32) for place in range(2))
OTHER = replace(M.exactly(y), is_nonzero=True)
LOW = 2.0**-16


def low_word(of: Expression) -> Expression:
    return M.mul_(of, M.number(LOW))


def of_pairs() -> dict[str, tuple[FloatFloat, Callable[[Any, Any], Any]]]:
    """Numbers with fields of each kind, and what each is."""
    words = FloatFloat(x, low=low_word(x), share=LOW, is_nonzero=True, may_be_zero=x)
    size = FloatFloat(
        M.abs_(x), low=low_word(M.abs_(x)), share=LOW, interval=Interval(0.0, 4.0), is_nonzero=True, may_be_zero=x
    )
    scaled = FloatFloat(
        x, y, scale=M.number(LOW), share=LOW, is_nonzero=True, may_be_zero=x, interval=Interval(-16.0, 16.0)
    )
    around = Around(M.abs_(x), M.number(2.0**-40), M.number(0.0))
    more = 1 + LOW
    return {
        "single": (replace(M.exactly(x), is_nonzero=True), lambda x, y: x),
        "words": (words, lambda x, y: x * more),
        "beside a bound": (replace(words, around=around, covered=8), lambda x, y: x * more),
        "product": (
            FloatFloat(x, y, is_nonzero=True, may_be_zero=x, interval=Interval(-16.0, 16.0)),
            lambda x, y: x * y,
        ),
        "scaled": (scaled, lambda x, y: x * y * more),
        "magnitude with a turn": (replace(size, turn=y), lambda x, y: np.copysign(abs(x) * more, y)),
        "words with a turn": (replace(words, turn=y), lambda x, y: np.copysign(1, y) * x * more),
        "product with a turn": (replace(scaled, turn=y), lambda x, y: np.copysign(1, y) * x * y * more),
        "a sign of zeros": (
            replace(M.exactly(M.sub_(x, x), Interval.point(0.0)), low=M.number(0.0), relative=2.0**-60, sign=y),
            lambda x, y: np.copysign(0, y),
        ),
        "ends": (
            replace(words, low=low_word(x), other_end=M.mul_(x, M.number(LOW * (1 + 2.0**-16)))),
            lambda x, y: x * more,
        ),
        "ends of a product": (
            FloatFloat(x, y, low=M.mul_(x, M.number(LOW)), other_end=M.mul_(x, M.number(LOW * (1 + 2.0**-16)))),
            lambda x, y: x * y + x * LOW,
        ),
        "ends with a turn": (
            replace(words, other_end=M.mul_(x, M.number(LOW * (1 + 2.0**-16))), turn=y),
            lambda x, y: np.copysign(1, y) * x * more,
        ),
        "biased": (replace(size, bias=2.0**-40), lambda x, y: abs(x) * more),
        "half": (replace(words, is_half=True, relative=2.0**-60), lambda x, y: 2 * x * more),
        "power of two": (M.constant(4.0), lambda x, y: np.float64(4) + 0 * x),
        "quotient": (replace(M.exactly(x), is_quotient=True, is_nonzero=True), lambda x, y: x),
    }


def by_pairs() -> dict[str, tuple[Callable[[FloatFloat], FloatFloat], Callable[[Any, Any, Any], Any]]]:
    """Operations with a number, and what each makes of its value."""
    found: dict[str, tuple[Callable[[FloatFloat], FloatFloat], Callable[[Any, Any, Any], Any]]] = {
        "negate": (M.negate, lambda v, x, y: -v),
        "absolute": (M.absolute, lambda v, x, y: abs(v)),
        "negate, negate": (lambda n: M.negate(M.negate(n)), lambda v, x, y: v),
        "absolute, negate": (lambda n: M.absolute(M.negate(n)), lambda v, x, y: abs(v)),
        "negate, absolute": (lambda n: M.negate(M.absolute(n)), lambda v, x, y: -abs(v)),
        "absolute, absolute": (lambda n: M.absolute(M.absolute(n)), lambda v, x, y: abs(v)),
        "times y": (lambda n: M.multiply(n, OTHER), lambda v, x, y: v * y),
        "y times": (lambda n: M.multiply(OTHER, n), lambda v, x, y: v * y),
        "plus y": (lambda n: M.add(n, OTHER), lambda v, x, y: v + y),
        "y minus": (lambda n: M.subtract(OTHER, n), lambda v, x, y: y - v),
        "plus 0": (lambda n: M.add(n, M.constant(0.0)), lambda v, x, y: v + 0.0),
        "divided by -4": (lambda n: M.divide(n, M.constant(-4.0), is_same_for_all=True), lambda v, x, y: v / -4),
        "divided by 5 + abs(y)": (
            lambda n: M.divide(n, M.add(M.constant(5.0), M.absolute(M.exactly(y, Interval(-4.0, 4.0))))),
            lambda v, x, y: v / (5 + abs(y)),
        ),
        "chosen": (lambda n: M.select(M.less_(x, y), n, OTHER), lambda v, x, y: np.where(x < y, v, y)),
        "not chosen": (lambda n: M.select(M.less_(x, y), OTHER, n), lambda v, x, y: np.where(x < y, y, v)),
        "root": (lambda n: M.square_root(M.absolute(n)), lambda v, x, y: np.sqrt(abs(v))),
    }
    for c in (-2.0, -0.75, -1.0, 0.5, 1.0, 2.0, 3.0):
        found[f"times {c}"] = (lambda n, c=c: M.multiply(n, M.constant(c)), lambda v, x, y, c=c: v * c)
    return found


OF_PAIRS = of_pairs()

#: Fields that no other number is computed of.
OF_RESULTS_ALONE = {"ends", "ends of a product", "ends with a turn", "biased", "half"}


@pytest.mark.parametrize("field", OF_PAIRS)
def test_numbers_in_pairs_are_right_after_each_operation(field: str) -> None:
    number, meaning = OF_PAIRS[field]
    results, rights, names, wide = [], [], [], (X.astype(np.float64), Y.astype(np.float64))
    for name, (operation, right) in by_pairs().items():
        try:
            value, undecided = M.result(operation(number))
        except NoFloatFloat:
            continue  # float64 computes it
        results += [value, node("convert", (undecided or node("constant", (), False, Format.BIT),), None, Format.U8)]
        rights.append(right(meaning(*wide), *wide))
        names.append(name)
    assert {"negate"} <= {*names}
    if field not in OF_RESULTS_ALONE:
        assert {"absolute", "times -2.0", "times -0.75"} <= {*names}
    kinds = tuple(ELEMENT_TYPES["bool" if r.format is Format.U8 else "float32"] for r in results)
    found = make_ufunc("fields", Program((ELEMENT_TYPES["float32"],) * 2, kinds, tuple(results)))(X, Y)
    for name, value, doubts, right in zip(names, found[::2], found[1::2], rights, strict=True):
        assert not doubts.all() or name not in ("negate", "absolute", "times -2.0"), name
        sure = ~doubts
        assert (np.signbit(value) == np.signbit(right))[sure].all(), (name, value, right)
        assert (abs(value - right) <= (U + 2.0**-30) * abs(right))[sure].all(), (name, value, right)


def test_every_field_of_a_pair_is_tried() -> None:
    plain = M.exactly(x)
    tried = {
        part.name
        for number, _ in OF_PAIRS.values()
        for part in fields(FloatFloat)
        if getattr(number, part.name) != getattr(plain, part.name)
    }
    assert tried | {"relative", "lost", "where", "high"} == {part.name for part in fields(FloatFloat)}


# ---- sums of two numbers with bounds


def of_operand(m: Bounded, kind: str, place: int) -> DoubleWord:
    storage = STORAGE[kind]
    value = node("input", (), place, storage)
    value = value if storage is m.format else node("convert", (value,), None, m.format)
    return DoubleWord(value, error=exact_operand(ELEMENT_TYPES[kind]))


def of_words(m: Bounded, kind: str) -> dict[str, tuple[DoubleWord, Callable[[Fraction, Fraction], Fraction]]]:
    """Numbers with fields of each kind, and what each is, of two operands."""
    first, second = (of_operand(m, kind, place) for place in range(2))
    tiny = m.multiply(m.multiply(second, second), m.multiply(second, m.wide(2.0**-40)))
    found = {
        "single": (first, lambda x, y: x),
        "product": (m.multiply(first, second), lambda x, y: x * y),
        "third": (m.divide(first, m.wide(3.0)), lambda x, y: x / 3),
        "beside": (m.add(first, tiny), lambda x, y: x + y**3 * Fraction(2) ** -40),
        "cancelled": (m.subtract(m.multiply(first, second), first), lambda x, y: x * y - x),
    }
    if m.extended:
        scaled = m.with_exponent(m.multiply(first, second))
        found["scaled"] = scaled, lambda x, y: x * y
    return found


def by_words(
    m: Bounded, kind: str
) -> dict[str, tuple[Callable[[DoubleWord], DoubleWord], Callable[[Fraction, Fraction], Fraction]]]:
    """Operations with a number, and what each makes of its value and of the second operand."""
    second = of_operand(m, kind, 1)
    is_below = m.compare(ops.LESS, second, m.wide(1.0))
    found: dict[str, tuple[Callable[[DoubleWord], DoubleWord], Callable[[Fraction, Fraction], Fraction]]] = {
        "negate": (m.negate, lambda v, y: -v),
        "absolute": (m.absolute, lambda v, y: abs(v)),
        "negate, absolute": (lambda n: m.negate(m.absolute(n)), lambda v, y: -abs(v)),
        "absolute, negate": (lambda n: m.absolute(m.negate(n)), lambda v, y: abs(v)),
        "copy_sign": (lambda n: m.copy_sign(n, second.high), lambda v, y: abs(v) if y > 0 else -abs(v)),
        "times y": (lambda n: m.multiply(n, second), lambda v, y: v * y),
        "plus y": (lambda n: m.add(n, second), lambda v, y: v + y),
        "minus itself negated": (lambda n: m.subtract(n, m.negate(n)), lambda v, y: 2 * v),
        "divided by y": (lambda n: m.divide(n, second), lambda v, y: v / y),
        "y divided": (lambda n: m.divide(second, n), lambda v, y: y / v),
        "chosen": (lambda n: m.select(is_below, n, m.negate(n)), lambda v, y: v if y < 1 else -v),
        "larger": (lambda n: larger(m, n, m.negate(n)), lambda v, y: abs(v)),
        "smaller": (lambda n: smaller(m, m.wide(-0.75), n), lambda v, y: min(v, Fraction(-3, 4))),
        "floor": (lambda n: m.integral(ops.FLOOR, n), lambda v, y: Fraction(v // 1)),
    }
    for c in (-2.0, -0.75, -0.0, 0.0, 0.5, 3.0):
        found[f"times {c}"] = (lambda n, c=c: m.multiply(n, m.wide(c)), lambda v, y, c=c: v * Fraction(c))
    return found


MODES: dict[str, tuple[Bounded, str]] = {
    "promoted": (Bounded(PROMOTED), "float32"),
    "corrected": (Bounded(CORRECTED_ELEMENTS), "float32"),
    "of rows": (Bounded(CORRECTED_ROWS), "float32"),
    "in words": (Bounded(IN_WORDS), "float64"),
    "long in words": (Bounded(CORRECTED_DOUBLES), "float64"),
    "short": (SingleBounded(Format.F16), "float32"),
}


@pytest.mark.matrix(share=9)
@pytest.mark.parametrize("mode", MODES)
def test_numbers_in_words_are_within_their_bounds_after_each_operation(mode: str) -> None:
    m, kind = MODES[mode]
    never, zero = node("constant", (), False, Format.BIT), m.number(0.0)
    cases = []
    for (field, (number, meaning)), (name, (operation, right)) in (
        (n, o) for n in of_words(m, kind).items() for o in by_words(m, kind).items()
    ):
        made = m.unscaled(operation(number))
        beyond = made.error.beyond or Beyond(zero, zero, never, never)
        numbers = made.high, m.low_part(made), m.total(made) or zero, beyond.high, beyond.low
        truths = made.error.doubt or never, made.error.exactly or never, beyond.is_above, beyond.is_below
        results = (*numbers, *(node("convert", (truth,), None, Format.U8) for truth in truths))
        cases.append((f"{field}: {name}", results, lambda x, y, f=meaning, g=right: g(f(x, y), y)))
    inputs = [values.astype(kind) for values in (X, Y)]
    parts = (ELEMENT_TYPES["float32" if m.format is Format.F32 else "float64"],) * 5 + (ELEMENT_TYPES["bool"],) * 4
    known = 0
    for start in range(0, len(cases), 6):
        some = cases[start : start + 6]
        program = Program(
            (ELEMENT_TYPES[kind],) * 2, parts * len(some), tuple(r for _, results, _ in some for r in results)
        )
        found = make_ufunc("fields", program)(*inputs)
        for place, (name, _, exact) in enumerate(some):
            for a, b, *values, doubt, exactly, above, below in zip(
                *inputs, *found[9 * place : 9 * place + 9], strict=True
            ):
                if doubt or not np.isfinite(values).all():
                    continue
                right = exact(Fraction(float(a)), Fraction(float(b)))
                high, low, margin, *beside = (Fraction(float(value)) for value in values)
                assert abs(high + low - right) <= margin * (1 + Fraction(2) ** -20), (name, a, b, values, float(right))
                assert not exactly or high + low == right, (name, a, b, values, float(right))
                assert not above or right > sum(beside), (name, a, b, values, float(right))
                assert not below or right < sum(beside), (name, a, b, values, float(right))
                known += 1
    assert known > 0.8 * len(cases) * len(X)


# ---- values of enclosures


def test_values_of_enclosures_are_right_after_each_operation() -> None:
    """Signs are right of narrow balls and of numbers beside fractions, and so are the sides that they lie on."""
    import flint

    with flint.ctx.workprec(128):
        judge_values(flint, enclosure._Rules(is_last=False, bits=128))


def judge_values(flint: Any, rules: Any) -> None:
    tiny = flint.arb(2) ** -300
    values: dict[str, tuple[Value, Fraction]] = {
        str(n): (of_number(n), Fraction(n)) for n in (Fraction(3, 2), Fraction(-3, 2), Fraction(1, 3))
    }
    for n in (Fraction(3, 2), Fraction(-5, 4)):
        for side in (1, -1):
            fraction = flint.fmpq(n.numerator, n.denominator)
            ball, right = flint.arb(fraction) + side * tiny * flint.arb(1, 0.5), n + side * Fraction(1, 2**300)
            values[f"{n} and {side} tiny"] = of_ball(ball, beside=Beside(fraction, side)), right
            values[f"{n} and {side} tiny, known"] = of_ball(ball, beside=Beside(fraction, side, lambda: tiny)), right
    unary = {
        "negate": (rules.negate, lambda v: -v),
        "absolute": (rules.table[ops.ABSOLUTE], abs),
        "floor": (rules.table[ops.FLOOR], lambda v: Fraction(v // 1)),
        "ceiling": (rules.table[ops.CEILING], lambda v: -Fraction(-v // 1)),
        **{
            f"times {c}": (lambda v, c=c: rules.multiply(of_number(c), v), lambda v, c=c: c * v)
            for c in (Fraction(-2), Fraction(-3, 4), Fraction(1, 2), Fraction(3))
        },
    }
    binary = {
        "add": (rules.add, lambda v, w: v + w),
        "multiply": (rules.multiply, lambda v, w: v * w),
        "divide": (rules.divide, lambda v, w: v / w),
        "copy_sign": (rules.copy_sign, lambda v, w: abs(v) if w > 0 else -abs(v)),
        "larger": (lambda a, b: rules.extreme(1, a, b), max),
    }

    def judge(name: str, value: Value, right: Fraction) -> None:
        sign = (right > 0) - (right < 0)
        assert value.sign in (0, sign) or value.kind == "zero", name
        if value.kind == "fraction":
            assert Fraction(int(value.fraction.p), int(value.fraction.q)) == right, name
        if value.beside:
            fraction, side = Fraction(int(value.beside[0].p), int(value.beside[0].q)), value.beside[1]
            assert (right > fraction) if side > 0 else (right < fraction), name
            if value.beside.apart is not None:
                distance = abs(right - fraction)
                exact = flint.arb(flint.fmpq(distance.numerator, distance.denominator))
                assert abs(value.beside.apart() / exact - 1) < 2.0**-90, name
        if value.kind == "ball":
            exact = flint.arb(flint.fmpq(right.numerator, right.denominator))
            assert abs(value.ball - exact) < 2.0**-90, name

    for name, (operation, meaning) in unary.items():
        for which, (value, number) in values.items():
            judge(f"{name} of {which}", operation(value), meaning(number))
    for name, (operation, meaning) in binary.items():
        for (first, (a, v)), (second, (b, w)) in ((p, q) for p in values.items() for q in values.items()):
            try:
                found = operation(a, b)
            except enclosure.Undecided:
                continue
            judge(f"{name} of {first} and {second}", found, meaning(v, w))
