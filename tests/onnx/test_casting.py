"""Cast between all types, against exact arithmetic."""

import itertools

import ml_dtypes
import mpmath
import numpy as np
import pytest

import ogive.onnx
from ogive.errors import ModelError
from ogive.laboratory.reference import correctly_rounded
from ogive.onnx.casting import convert
from ogive.onnx.data_types import DATA_TYPES
from tests.inputs import random_values, special_values
from tests.onnx.models import node_model

KERNEL_TYPES = [row for row in DATA_TYPES.values() if row.element]
PAIRS = [(a, b) for a, b in itertools.product(KERNEL_TYPES, repeat=2) if a is not b]


def cast(array, wanted, opset=28, **attributes):
    model = node_model("Cast", opset, [("x", array)], {"to": wanted.number, **attributes})
    return ogive.onnx.load(model)(x=array)


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize(("source", "wanted"), PAIRS, ids=lambda row: row.text)
def test_numbers(source, wanted):
    kind = wanted.element
    x = np.concatenate([special_values(source.element), random_values(source.element, 300)])
    result = cast(x, wanted)
    assert result.dtype == kind.numpy
    is_modular = not (source.element.is_float or kind.is_float)
    for value, got in zip(x.tolist(), result.tolist(), strict=True):
        if kind.name == "bool":
            assert got == (value != 0)
            continue
        with mpmath.workprec(100):
            expected = correctly_rounded(mpmath.mpf(value), kind, modular=is_modular)
        assert got == expected or (got != got and expected != expected), (value, got, expected)
        if kind.is_float and got == 0 and source.element.is_float:
            assert np.signbit(got) == np.signbit(value)


def test_what_the_standard_leaves_open():
    """Floats beyond the range of an integer saturate, NaN is zero, fractions are cut off."""
    x = np.float32([np.nan, np.inf, -np.inf, 300.5, -300.5, 1.9, -1.9, -0.5])
    assert cast(x, DATA_TYPES["tensor(int8)"]).tolist() == [0, 127, -128, 127, -128, 1, -1, 0]
    assert cast(x, DATA_TYPES["tensor(uint8)"]).tolist() == [0, 255, 0, 255, 0, 1, 0, 0]


def test_what_the_standard_says():
    assert cast(np.int16([200]), DATA_TYPES["tensor(int8)"]).tolist() == [-56]
    assert cast(np.float64([1e300, -1e300]), DATA_TYPES["tensor(float)"]).tolist() == [np.inf, -np.inf]
    assert cast(np.int64([2**40]), DATA_TYPES["tensor(float16)"]).tolist() == [np.inf]
    assert cast(np.float32([0.0, -0.0, 1e-45, np.nan]), DATA_TYPES["tensor(bool)"]).tolist() == [
        False,
        False,
        True,
        True,
    ]


def test_cast_1_names_the_type():
    x = np.float32([1.5])
    for name in ("INT32", "int32"):
        assert ogive.onnx.load(node_model("Cast", 1, [("x", x)], {"to": name}))(x=x).tolist() == [1]


# ---- 8 bits and less


SMALL_FLOATS = [row for row in DATA_TYPES.values() if row.element is None and row.name.startswith("FLOAT")]
SIGNED_FLOATS = [row for row in SMALL_FLOATS if row.name != "FLOAT8E8M0"]
SMALL_INTEGERS = [row for row in DATA_TYPES.values() if row.name in ("INT4", "UINT4", "INT2", "UINT2")]


def every_value(row):
    count = 1 << row.bits
    if row.name.startswith(("INT", "UINT")):
        low = -count // 2 if row.name.startswith("INT") else 0
        return np.arange(low, low + count).astype(np.int8).astype(row.numpy)
    return np.arange(count, dtype=np.uint8).view(row.numpy)


@pytest.mark.parametrize("row", SMALL_FLOATS + SMALL_INTEGERS, ids=repr)
def test_every_small_value_comes_back(row):
    """All of their values are exact in float32 and float64."""
    values = every_value(row)
    for wide in ("tensor(float)", "tensor(double)"):
        there = convert(values, row.type, wide, saturate=True, round_mode="up")
        assert np.array_equal(there, values.astype(np.float32), equal_nan=True)
        back = convert(there, wide, row.type, saturate=False, round_mode="nearest")
        assert np.array_equal(back.astype(np.float32), values.astype(np.float32), equal_nan=True)


@pytest.mark.parametrize("row", SIGNED_FLOATS, ids=repr)
def test_small_floats_are_rounded_once(row):
    """The neighbours of the midpoint between two values, which float32 cannot tell from it, go to their own side."""
    numbers = every_value(row).astype(np.float64)
    positive = np.unique(numbers[np.isfinite(numbers) & (numbers >= 0)])
    middle = (positive[1:] + positive[:-1]) / 2
    for sign in (1, -1):
        below = convert(sign * np.nextafter(middle, 0), "tensor(double)", row.type, saturate=True, round_mode="up")
        above = convert(sign * np.nextafter(middle, 1e9), "tensor(double)", row.type, saturate=True, round_mode="up")
        assert (np.abs(below.astype(np.float64)) == positive[:-1]).all()
        assert (np.abs(above.astype(np.float64)) == positive[1:]).all()


#: The tables of the standard: (input, result with saturation, result without), for FLT_MAX of each type.
TABLES = {
    "FLOAT8E4M3FN": {np.inf: (448, np.nan), -np.inf: (-448, np.nan), 1e9: (448, np.nan), -1e9: (-448, np.nan)},
    "FLOAT8E4M3FNUZ": {np.inf: (240, np.nan), -np.inf: (-240, np.nan), 1e9: (240, np.nan), -1e9: (-240, np.nan)},
    "FLOAT8E5M2": {np.inf: (57344, np.inf), -np.inf: (-57344, -np.inf), 1e9: (57344, np.inf), -1e9: (-57344, -np.inf)},
    "FLOAT8E5M2FNUZ": {
        np.inf: (57344, np.nan),
        -np.inf: (-57344, np.nan),
        1e9: (57344, np.nan),
        -1e9: (-57344, np.nan),
    },
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("source", ["float", "float16", "bfloat16", "double"])
def test_tables_of_the_standard(name, source):
    row = next(r for r in SMALL_FLOATS if r.name == name)
    for given, results in (TABLES[name] | {0.0: (0, 0), np.nan: (np.nan, np.nan)}).items():
        with np.errstate(over="ignore"):
            x = np.array([given], DATA_TYPES[f"tensor({source})"].numpy)
        for saturate, expected in zip((1, 0), results, strict=True):
            result = cast(x, row, saturate=saturate).astype(np.float32)
            assert np.array_equal(result, np.float32([expected]), equal_nan=True), (given, saturate, result)
    negative_zero = cast(np.float32([-0.0]), row).view(np.uint8)
    assert negative_zero.tolist() == [0 if name.endswith("UZ") else 128]


@pytest.mark.parametrize(
    ("mode", "saturate", "given", "expected"),
    [
        ("up", 1, [1.0, 1.1, 1.5, 2.0, 3.0], [1, 2, 2, 2, 4]),
        ("down", 1, [1.0, 1.1, 1.5, 1.99, 3.0], [1, 1, 1, 1, 2]),
        ("nearest", 1, [1.0, 1.49, 1.5, 2.9, 3.0], [1, 1, 2, 2, 4]),
        ("up", 1, [0.0, 1e-45, np.inf, np.nan], [2.0**-127, 2.0**-127, 2.0**127, np.nan]),
        ("nearest", 0, [0.0, 1e-45, np.inf, np.nan], [np.nan] * 4),
        ("up", 1, [3.4e38, 2.0**127], [2.0**127, 2.0**127]),
        ("up", 0, [3.4e38, 2.0**127], [np.nan, 2.0**127]),
    ],
)
def test_powers_of_two(mode, saturate, given, expected):
    row = DATA_TYPES["tensor(float8e8m0)"]
    result = cast(np.float32(given), row, saturate=saturate, round_mode=mode).astype(np.float32)
    assert np.array_equal(result, np.float32(expected), equal_nan=True)


def test_small_integers_are_the_lower_bits_of_int8():
    x = np.float32([-9, -8, -1, 0, 7, 8, 9.9, 300, np.nan])
    assert cast(x, DATA_TYPES["tensor(int4)"]).astype(int).tolist() == [7, -8, -1, 0, 7, -8, -7, -1, 0]
    assert cast(x, DATA_TYPES["tensor(uint4)"]).astype(int).tolist() == [7, 8, 15, 0, 7, 8, 9, 15, 0]
    whole = np.int64([-(2**63), 2**63 - 1, 255, 16, 1])
    assert cast(whole, DATA_TYPES["tensor(uint2)"]).astype(int).tolist() == [0, 3, 3, 0, 1]
    assert cast(whole, DATA_TYPES["tensor(int2)"]).astype(int).tolist() == [0, -1, -1, 0, 1]


def test_between_small_types():
    x = np.array([-1, 3], ml_dtypes.int4)
    assert cast(x, DATA_TYPES["tensor(float8e5m2)"]).astype(np.float32).tolist() == [-1, 3]
    assert cast(x, DATA_TYPES["tensor(bool)"]).tolist() == [True, True]
    assert cast(np.array([True, False]), DATA_TYPES["tensor(uint4)"]).astype(int).tolist() == [1, 0]
    assert cast(np.array(7.0, np.float32), DATA_TYPES["tensor(float4e2m1)"]).astype(np.float32).tolist() == 6.0


# ---- what is refused


def test_unknown_modes_are_refused():
    with pytest.raises(ModelError, match="round_mode is 'sideways'; allowed: 'up', 'down', 'nearest'"):
        cast(np.float32([1]), DATA_TYPES["tensor(float8e8m0)"], round_mode="sideways")


# ---- text

TEXT = DATA_TYPES["tensor(string)"]


def text(*words):
    return np.array(words, object)


@pytest.mark.parametrize("row", [row for row in DATA_TYPES.values() if row.bits and "COMPLEX" not in row.name])
def test_every_number_comes_back_from_text(row):
    if row.bits <= 8 and row.name != "BOOL":
        x = every_value(row)
    else:
        x = np.concatenate([special_values(row.element), random_values(row.element, 200)])
    words = cast(x, TEXT)
    assert all(isinstance(word, str) and "e" not in word.lower().replace("inf", "") for word in words)
    options = {"round_mode": "nearest"} if row.name == "FLOAT8E8M0" else {"saturate": 0}
    back = cast(words, row, **options)
    assert back.dtype == x.dtype
    with np.errstate(invalid="ignore"):
        is_nan = x != x
        assert np.array_equal(is_nan, back != back)
    assert back[~is_nan].tobytes() == x[~is_nan].tobytes()


def test_numbers_as_text():
    x = np.float32([0.1, 1e-5, 314.15927, 3, 2**24, -0.0, np.nan, np.inf, -np.inf])
    assert cast(x, TEXT).tolist() == ["0.1", "0.00001", "314.15927", "3.0", "16777216.0", "-0.0", "NaN", "INF", "-INF"]
    assert cast(np.array([[True], [False]]), TEXT).tolist() == [["1"], ["0"]]
    assert cast(np.uint64([2**64 - 1]), TEXT).tolist() == ["18446744073709551615"]


def test_text_is_rounded_once():
    tie = "1.000000059604644775390625"  # half way between 1 and the next float32
    words = text(tie, tie + "0" * 40 + "1", tie[:-1] + "4" + "9" * 40)
    assert cast(words, DATA_TYPES["tensor(float)"]).tolist() == [1, 1 + 2**-23, 1]
    words = text("1.00390625", "1.0039062500000000000000000000000000001")
    assert cast(words, DATA_TYPES["tensor(bfloat16)"]).astype(float).tolist() == [1, 1.0078125]
    assert cast(text("9007199254740993", "100.9", "-1e99"), DATA_TYPES["tensor(int64)"]).tolist() == [
        2**53 + 1,
        100,
        -(2**63),
    ]
    assert cast(text("1e999999999", "-1e-999999999", "iNf"), DATA_TYPES["tensor(double)"]).tolist() == [
        np.inf,
        0,
        np.inf,
    ]
    assert cast(text("1e-999999999", "0"), DATA_TYPES["tensor(bool)"]).tolist() == [True, False]


@pytest.mark.parametrize("word", ["Hello World!", "", " 1", "1_0", "0x10", "infinity", "\u0661", "1e", "."])
def test_what_is_no_number_is_refused(word):
    with pytest.raises(ModelError, match=r"Cast node .*: the text at \(1,\) is .*; allowed: numbers such as '3.14'"):
        cast(text("1", word), DATA_TYPES["tensor(float)"])


# ---- bits


def bit_cast(array, kind):
    row = DATA_TYPES[f"tensor({kind})"]
    return ogive.onnx.load(node_model("BitCast", 26, [("x", array)], {"to": row.number}))(x=array)


def test_bits_stay():
    x = np.float32([[1, -0.0], [np.nan, 3]])
    assert bit_cast(x, "int32").tolist() == x.view(np.int32).tolist()
    assert bit_cast(x.T, "uint32").tolist() == x.view(np.uint32).T.tolist()
    assert bit_cast(np.array(1.0), "int64") == 0x3FF0000000000000
    assert bit_cast(np.array([-1, 3, -8], ml_dtypes.int4), "uint4").astype(int).tolist() == [15, 3, 8]
    assert bit_cast(np.array([15, 3], ml_dtypes.uint4), "float4e2m1").astype(float).tolist() == [-6, 1.5]
    assert bit_cast(np.uint8([0, 1, 2]), "bool").view(np.uint8).tolist() == [0, 1, 1]


def test_other_numbers_of_bits_are_refused():
    with pytest.raises(
        ModelError, match=r"it makes tensor\(int8\), of 8 bits, of tensor\(float\), of 32; allowed: types"
    ):
        bit_cast(np.float32([1]), "int8")
