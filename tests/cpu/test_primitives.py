"""A tiny interpreter defines the primitives; compiled code must agree with it bit for bit.

It works on one element, in NumPy's scalars and in fractions: slow, and nothing like the code generator.
"""

import math
import struct
from fractions import Fraction
from functools import cache

import ml_dtypes  # noqa: F401
import numpy as np
import pytest

from ogive.graph.expression import Format, walk
from tests.inputs import CASE_IDS, CASES, assert_same_bits, operands

NUMPY = {Format.F16: np.float16, Format.F32: np.float32, Format.F64: np.float64}
NUMPY |= {f: np.dtype(("uint" if f.value[0] == "u" else "int") + f.value[1:]).type for f in Format if f.is_integer}
NUMPY[Format.BF16] = np.dtype("bfloat16").type


def rounded(value: Fraction, form: Format):
    """The nearest number of the format: half to even, subnormals, overflow, the sign of zero aside."""
    kind = NUMPY[form]
    if value == 0:
        return kind(0)
    precision, smallest, largest = (24, -149, 128) if form is Format.F32 else (53, -1074, 1024)
    numerator, denominator = abs(value.numerator), value.denominator
    exponent = numerator.bit_length() - denominator.bit_length()
    if numerator << max(-exponent, 0) < denominator << max(exponent, 0):
        exponent -= 1
    unit = max(exponent - precision + 1, smallest)
    denominator <<= max(unit, 0)
    count, rest = divmod(numerator << max(-unit, 0), denominator)
    count += 2 * rest > denominator or (2 * rest == denominator and count % 2)
    size = math.inf if count.bit_length() + unit > largest else math.ldexp(count, unit)
    return kind(size if value > 0 else -size)


def fma(a, b, c, form):
    if not all(map(np.isfinite, (a, b, c))):
        if np.isfinite(a) and np.isfinite(b):
            return NUMPY[form](c)  # the product does not overflow before c is added
        return NUMPY[form](a * b + c)
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if exact == 0:
        sign = math.copysign(1, a) * math.copysign(1, b)
        product = NUMPY[form](math.copysign(0.0, sign))
        return product + c if c == 0 and (a == 0 or b == 0) else NUMPY[form](0.0)
    return rounded(exact, form)


def scale(a, n, form):
    if not np.isfinite(a) or a == 0 or np.isnan(n):
        return a if not np.isnan(n) else NUMPY[form](np.nan)
    power = Fraction(2) ** int(min(max(n, -5000), 5000))  # beyond, as there: an infinity or a zero
    return rounded(Fraction(float(a)) * power, form)


def multiply_to_odd(a, b):
    if not all(map(np.isfinite, (a, b))) or a == 0 or b == 0:
        return a * b
    exact = Fraction(float(a)) * Fraction(float(b))
    below = rounded(exact, Format.F32)
    if not np.isfinite(below) or abs(Fraction(float(below))) > abs(exact):
        below = np.nextafter(below, np.float32(0))
    is_even = not below.view(np.uint32) & 1
    return np.nextafter(below, np.float32(np.inf) * below) if Fraction(float(below)) != exact and is_even else below


def wrap(value: int, form: Format):
    bits = form.bits
    value %= 1 << bits
    return NUMPY[form](value - (1 << bits) if form.is_signed and value >> (bits - 1) else value)


def convert(value, source: Format, result: Format):
    if source is Format.BIT:
        return NUMPY[result](int(value))
    if result.is_float:
        return NUMPY[result](value) if source.is_float else rounded_from_int(int(value), result)
    return wrap(int(value), result) if not source.is_float or np.isfinite(value) else NUMPY[result](0)


def rounded_from_int(value: int, form: Format):
    return rounded(Fraction(value), form)


def bitcast(value, source: Format, result: Format):
    codes = {Format.F32: "f", Format.F64: "d", Format.I32: "i", Format.I64: "q", Format.U32: "I", Format.U64: "Q"}
    if result.bits == 16:
        return np.array([value], NUMPY[source]).view(NUMPY[result])[0]
    return NUMPY[result](struct.unpack("<" + codes[result], struct.pack("<" + codes[source], value))[0])


@cache
def in_order(root):
    return [*walk(root)]


def evaluate(root, values):
    done = {}
    for n in in_order(root):
        operands_ = [done[o] for o in n.operands]
        form = n.format
        source = n.operands[0].format if n.operands else form
        match n.operation:
            case "input":
                result = NUMPY[form](values[n.attribute])
            case "constant":
                result = bool(n.attribute) if form is Format.BIT else NUMPY[form](n.attribute)
            case "add" | "subtract" | "multiply" if form.is_integer:
                a, b = map(int, operands_)
                result = wrap({"add": a + b, "subtract": a - b, "multiply": a * b}[n.operation], form)
            case "add":
                result = operands_[0] + operands_[1]
            case "subtract":
                result = operands_[0] - operands_[1]
            case "multiply":
                result = operands_[0] * operands_[1]
            case "divide":
                result = operands_[0] / operands_[1]
            case "quotient" | "remainder":
                a, b = map(int, operands_)
                q = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
                result = wrap(q if n.operation == "quotient" else a - q * b, form)
            case "negate":
                result = wrap(-int(operands_[0]), form) if form.is_integer else -operands_[0]
            case "absolute":
                result = wrap(abs(int(operands_[0])), form) if form.is_integer else abs(operands_[0])
            case "square_root":
                result = np.sqrt(operands_[0])
            case "floor" | "ceiling" | "truncate" | "round_even":
                function = {"floor": np.floor, "ceiling": np.ceil, "truncate": np.trunc, "round_even": np.rint}
                result = function[n.operation](operands_[0])
            case "copy_sign":
                result = np.copysign(*operands_)
            case "less":
                result = bool(operands_[0] < operands_[1])
            case "less_equal":
                result = bool(operands_[0] <= operands_[1])
            case "equal":
                result = bool(operands_[0] == operands_[1])
            case "and" | "or" | "exclusive_or":
                a, b = map(int, operands_)
                bits = {"and": a & b, "or": a | b, "exclusive_or": a ^ b}[n.operation]
                result = bool(bits) if form is Format.BIT else wrap(bits, form)
            case "not":
                result = not operands_[0] if form is Format.BIT else wrap(~int(operands_[0]), form)
            case "select" | "select_rare":
                result = operands_[1] if operands_[0] else operands_[2]
            case "fma":
                result = fma(*operands_, form)
            case "shift_left":
                result = wrap(int(operands_[0]) << n.attribute, form)
            case "shift_right":
                result = wrap(int(operands_[0]) >> n.attribute, form)
            case "bit_shift_left":
                result = wrap(int(operands_[0]) << int(operands_[1]), form)
            case "bit_shift_right":
                result = wrap(int(operands_[0]) >> int(operands_[1]), form)
            case "bit_count":
                result = wrap((int(operands_[0]) % (1 << form.bits)).bit_count(), form)
            case "convert":
                result = convert(operands_[0], source, form)
            case "bitcast":
                result = bitcast(operands_[0], source, form)
            case "scale_by_power_of_two":
                result = scale(*operands_, form)
            case "multiply_to_odd":
                result = multiply_to_odd(*operands_)
            case "table":
                result = NUMPY[form](n.attribute[int(operands_[0]) % len(n.attribute)])
            case "reciprocal_estimate":
                result = NUMPY[form](1) / operands_[0]
            case unknown:
                raise AssertionError(f"the interpreter does not know {unknown}")
        done[n] = result
    return done[root]


@pytest.mark.matrix("op.name", share=5)
@pytest.mark.parametrize(("op", "signature"), CASES, ids=CASE_IDS)
def test_compiled_code_is_what_the_interpreter_says(op, signature):
    required = {p.name: 0.75 for p in op.parameters if p.is_required}
    program = op.program(signature, **op.checked_parameters(required))
    arrays = [array[::7] for array in operands(signature, 250)]
    compiled = op(*arrays, **required)
    with np.errstate(all="ignore"):
        interpreted = [evaluate(program.results[0], row) for row in zip(*arrays, strict=True)]
        if program.undecided is not None:
            repair = program.later[-1].make()
            for i, row in enumerate(zip(*arrays, strict=True)):
                if evaluate(program.undecided, row):
                    is_open = evaluate(repair.results[-1], row)
                    interpreted[i] = compiled[i] if is_open else evaluate(repair.results[0], row)
    expected = np.array(interpreted).astype(compiled.dtype)
    if compiled.dtype.kind == "f":  # which NaN the interpreter made does not matter
        expected[np.isnan(expected)] = np.nan
    if signature.outputs[0].name == "bfloat16":
        nan = np.isnan(expected.astype(np.float32))
        expected[nan] = np.float32(np.nan)
    assert_same_bits(compiled, expected, *arrays)
