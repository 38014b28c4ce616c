"""Cast between all types, against exact arithmetic."""

import itertools

import ml_dtypes
import mpmath
import numpy as np
import pytest

import ogive.onnx
from ogive.errors import ModelError, UnsupportedError
from ogive.onnx.casting import convert
from ogive.onnx.data_types import DATA_TYPES
from ogive.reference import correctly_rounded
from tests.inputs import random_values, special_values
from tests.onnx.models import node_model

KERNEL_TYPES = [row for row in DATA_TYPES.values() if row.element]
PAIRS = [(a, b) for a, b in itertools.product(KERNEL_TYPES, repeat=2) if a is not b]


def cast(array, wanted, opset=28, **attributes):
    model = node_model("Cast", opset, [("x", array)], {"to": wanted.number, **attributes})
    return ogive.onnx.load(model)(x=array)


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


def test_text_is_refused():
    x = np.array(["1"], object)
    with pytest.raises(
        UnsupportedError, match=r"Cast node .*it casts tensor\(string\) to tensor\(float\); allowed: numbers"
    ):
        cast(x, DATA_TYPES["tensor(float)"])
    assert cast(x, DATA_TYPES["tensor(string)"]).tolist() == ["1"]


def test_unknown_modes_are_refused():
    with pytest.raises(ModelError, match="round_mode is 'sideways'; allowed: 'up', 'down', 'nearest'"):
        cast(np.float32([1]), DATA_TYPES["tensor(float8e8m0)"], round_mode="sideways")
