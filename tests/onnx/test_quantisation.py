"""QuantizeLinear and DequantizeLinear: every integer type by one formula, with blocks and without, judged in fractions."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import ogive.onnx
from ogive.errors import ShapeError
from ogive.onnx.data_types import DATA_TYPES, data_type_of
from tests.onnx.models import node_model, text_model

INTEGERS = ["int8", "uint8", "int16", "uint16", "int4", "uint4", "int2", "uint2"]
FLOATS = ["float", "float16", "bfloat16"]


def dtype(kind):
    return DATA_TYPES[f"tensor({kind})"].numpy


def run(operator, arrays, **attributes):
    names = ["x", "s", "z"][: len(arrays)]
    model = node_model(operator, 28, list(zip(names, arrays, strict=True)), attributes)
    return ogive.onnx.load(model)(dict(zip(names, arrays, strict=True)))


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("number", FLOATS)
@pytest.mark.parametrize("block", [0, 2])
def test_nan_is_zero_in_every_integer_type(kind, number, block):
    x = np.array([np.nan, 1, np.inf, -np.inf]).astype(dtype(number))
    shape = (2,) if block else ()
    s, z = np.ones(shape).astype(x.dtype), np.ones(shape).astype(dtype(kind))
    y = run("QuantizeLinear", [x, s, z], **({"axis": 0, "block_size": block} if block else {})).astype(int)
    bits = int(kind.lstrip("uint"))
    low, high = (0, 2**bits - 1) if kind[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    assert y.tolist() == [0, min(2, high), high, low]


@pytest.mark.parametrize("kind", ["int16", "uint16"])
def test_sixteen_bits_are_a_kernel(kind):
    model = text_model(
        f"g (float[N] x, float s, {kind} z) => ({kind}[N] y) {{ y = QuantizeLinear(x, s, z) }}", opset=21, ir_version=10
    )
    assert type(ogive.onnx.load(model)._graph.steps[0].made).__name__ == "ElementwiseNode"


def rounded(value, kind):
    """To nearest even, of a fraction, by bisection between neighbours in float64."""
    near = np.float64(value).astype(kind)
    step = np.array([np.nextafter(near, kind.type(-np.inf)), near, np.nextafter(near, kind.type(np.inf))])
    ordered = sorted(step, key=lambda v: (abs(Fraction(float(v)) - value), int(v.view(f"u{kind.itemsize}")) & 1))
    return ordered[0]


@pytest.mark.matrix(share=16, pool="slow")
def test_blocks_of_int32_are_rounded_once():
    """x * scale lies one unit in the 55th bit beside a tie of float32: float64 would round it to the tie."""
    generator = np.random.default_rng(0)
    wrong_in_double = 0
    for _ in range(50):
        s = np.float32(generator.integers(2**22, 2**23) * 2 + 1)
        x = np.int32(pow(int(s), -1, 2**31) * (2**30 + 1) % 2**31)
        right = rounded(Fraction(int(x)) * Fraction(float(s)), np.dtype(np.float32))
        blocks = run("DequantizeLinear", [np.int32([x, x]), np.array([s])], axis=0, block_size=2)
        assert blocks.tolist() == [right, right]
        assert run("DequantizeLinear", [np.array(x), np.array(s)]) == right
        wrong_in_double += np.float32(np.float64(x) * np.float64(s)) != right
    assert wrong_in_double > 5


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("result", ["float", "float16"])
def test_dequantised_with_blocks(kind, result):
    x = np.array([0, 1, 1, 0, 1]).astype(dtype(kind))
    s = np.array([0.1, 0.3, 1 / 3]).astype(dtype(result))
    z = np.array([1, 0, 1]).astype(dtype(kind))
    y = run("DequantizeLinear", [x, s, z], axis=0, block_size=2)
    assert data_type_of(y.dtype) is DATA_TYPES[f"tensor({result})"]
    assert y.tolist() == [(int(v) - int(z[i // 2])) * s[i // 2] for i, v in enumerate(x)]


def test_a_longer_scale_is_rounded_to_the_type_once():
    """127 * s of float32 lies just above a tie of bfloat16, and is rounded to it in float32."""
    x = np.int8([127] * 2000)
    s = np.random.default_rng(1).uniform(1, 2, 2000).astype(np.float32)
    y = run("DequantizeLinear", [x, s], axis=0, output_dtype=16)
    assert y.dtype == ml_dtypes.bfloat16
    for value, got in zip(s, y, strict=True):
        exact = 127 * Fraction(float(value))
        near = int(np.float32(float(got)).view(np.uint32))
        beside = [np.uint32(near + d).view(np.float32) for d in (-0x10000, 0x10000)]
        assert all(abs(Fraction(float(got)) - exact) <= abs(Fraction(float(b)) - exact) for b in beside)


@pytest.mark.parametrize("kind", ["uint8", "int4", "float8e4m3fn"])
def test_errors_say_the_node_once(kind):
    x, s = np.zeros(4, np.float32), np.ones(3, np.float32)
    z = np.zeros(3).astype(dtype(kind))
    start = (
        r"^QuantizeLinear node that computes 'y' \(opset 28\): its scale has the shape \(3,\) for x of shape \(4,\) "
    )
    with pytest.raises(ShapeError, match=rf"{start}in blocks of 2; allowed: \(2,\)$"):
        run("QuantizeLinear", [x, s, z], axis=0, block_size=2)
    with pytest.raises(ShapeError, match=rf"{start}and axis 0; allowed: one element, or as many as the axis has$"):
        run("QuantizeLinear", [x, s, z], axis=0)


@pytest.mark.parametrize("operator", ["Where", "Equal", "BitShift"])
def test_errors_of_functions_on_arrays_say_the_node_once(operator):
    text = np.array(["a", "b"], object), np.array(["a", "b", "c"], object)
    integers = np.int8([1, 2]), np.int8([1, 2, 3])
    arrays, attributes = (text, {}) if operator != "BitShift" else (integers, {"direction": "LEFT"})
    names = {"x": arrays[0], "y": arrays[1]}
    if operator == "Where":
        names = {"c": np.array([True, False]), **names}
    model = ogive.onnx.load(node_model(operator, 28, list(names.items()), attributes, ("r",)))
    with pytest.raises(ShapeError) as caught:
        model(names)
    assert str(caught.value).count(f"{operator} node") == 1
