"""Operators that are put together from others: normalisations, ONNX Runtime's own, and experimental ones."""

import numpy as np
import onnx
import pytest
from onnx import helper

import ogive.onnx
from ogive.errors import ModelError, OgiveError
from ogive.onnx import bodies
from tests.onnx.models import node_model

X = np.random.default_rng(0).standard_normal((2, 6, 4)).astype(np.float32)


def model_of(operator, inputs, attributes=None, outputs=("y",), domain="com.microsoft", opset=1):
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in inputs.items()
        if name
    ]
    node = helper.make_node(operator, list(inputs), list(outputs), domain=domain, **(attributes or {}))
    results = [helper.make_value_info(name, onnx.TypeProto()) for name in outputs if name]
    opsets = (
        [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        if domain
        else [helper.make_opsetid("", opset)]
    )
    return helper.make_model(helper.make_graph([node], "test", infos, results), opset_imports=opsets, ir_version=8)


def normalised(x, axes, epsilon=1e-5):
    x = x.astype(np.float64)
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon)


ONES, NOUGHTS = np.ones(4, np.float32), np.zeros(4, np.float32)
SCALE, ZERO = np.float32(0.05), np.uint8(128)
BYTES = np.array([[0, 100, 128, 200, 255]], np.uint8)
NUMBERS = (BYTES.astype(np.float64) - 128) * 0.05


def as_bytes(numbers):
    return np.clip(np.rint(numbers.astype(np.float32) / SCALE) + 128, 0, 255).astype(np.uint8)


#: operator, inputs, attributes, right result, tolerance
CASES = {
    "Gelu": ({"x": X}, {}, lambda: ogive.gelu(X)),
    "QuickGelu": ({"x": X}, {}, lambda: ogive.swish(X, alpha=1.702)),
    "FastGelu": ({"x": X}, {}, lambda: ogive.gelu(X, approximate="tanh")),
    "FastGelu with bias": ({"x": X, "b": ONES}, {}, lambda: ogive.gelu(X + ONES, approximate="tanh")),
    "BiasGelu": ({"x": X, "b": ONES}, {}, lambda: ogive.gelu(X + ONES)),
    "BiasSoftmax": ({"x": X, "b": ONES}, {"axis": 2, "is_inner_broadcast": 0}, lambda: ogive.softmax(X + ONES)),
    "SkipLayerNormalization": (
        {"x": X, "skip": X, "gamma": ONES, "beta": NOUGHTS},
        {},
        lambda: normalised(2 * X, (2,)),
    ),
    "SkipSimplifiedLayerNormalization": (
        {"x": X, "skip": X, "gamma": ONES},
        {},
        lambda: 2 * X / np.sqrt(np.mean((2.0 * X) ** 2, axis=2, keepdims=True) + 1e-5),
    ),
    "QLinearSigmoid": (
        {"x": BYTES, "xs": SCALE, "xz": ZERO, "ys": SCALE, "yz": ZERO},
        {},
        lambda: as_bytes(1 / (1 + np.exp(-NUMBERS))),
    ),
    "QLinearLeakyRelu": (
        {"x": BYTES, "xs": SCALE, "xz": ZERO, "ys": SCALE, "yz": ZERO},
        {"alpha": 0.25},
        lambda: as_bytes(np.where(NUMBERS < 0, NUMBERS * 0.25, NUMBERS)),
    ),
    "QLinearAdd": (
        {"a": BYTES, "as": SCALE, "az": ZERO, "b": BYTES, "bs": SCALE, "bz": ZERO, "cs": SCALE, "cz": ZERO},
        {},
        lambda: as_bytes(NUMBERS + NUMBERS),
    ),
    "QLinearMul": (
        {"a": BYTES, "as": SCALE, "az": ZERO, "b": BYTES, "bs": SCALE, "bz": ZERO, "cs": SCALE, "cz": ZERO},
        {},
        lambda: as_bytes(NUMBERS * NUMBERS),
    ),
    "QLinearSoftmax": (
        {"x": BYTES, "xs": SCALE, "xz": ZERO, "ys": np.float32(1 / 256), "yz": np.uint8(0)},
        {"axis": -1, "opset": 13},
        lambda: np.clip(np.rint(ogive.softmax(NUMBERS) * 256), 0, 255).astype(np.uint8),
    ),
    "QuantizeLinear": ({"x": X, "s": SCALE, "z": ZERO}, {}, lambda: as_bytes(X)),
    "DequantizeLinear": ({"x": BYTES, "s": SCALE, "z": ZERO}, {}, lambda: NUMBERS.astype(np.float32)),
}


def test_every_operator_of_onnx_runtime_has_a_case():
    assert {name.split()[0] for name in CASES} == set(bodies._MICROSOFT)


@pytest.mark.parametrize("name", CASES)
def test_operator_of_onnx_runtime(name):
    inputs, attributes, right = CASES[name]
    result = ogive.onnx.load(model_of(name.split()[0], inputs, attributes))(inputs)
    expected = right()
    if expected.dtype.kind == "u":
        assert result.dtype == expected.dtype
        assert np.abs(result.astype(int) - expected.astype(int)).max() <= (name != "QuantizeLinear")
    else:
        np.testing.assert_allclose(result, expected, rtol=3e-6, atol=3e-6)


@pytest.mark.matrix(share=16, pool="slow")
def test_the_sum_is_an_output_too():
    inputs = {"x": X, "skip": X, "gamma": ONES, "beta": NOUGHTS, "bias": ONES}
    model = ogive.onnx.load(model_of("SkipLayerNormalization", inputs, {}, ("y", "", "", "s")))
    y, total = model(inputs)
    np.testing.assert_array_equal(total, X + X + 1)
    np.testing.assert_allclose(y, normalised(2 * X.astype(np.float64) + 1, (2,)), rtol=1e-5, atol=1e-5)


@pytest.mark.matrix(share=16, pool="slow")
def test_the_sum_is_rounded_once():
    inputs = {"x": np.float16([[1, 2]]), "skip": np.float16([[2**-11, 0]]), "gamma": np.ones(2, np.float16)}
    inputs |= {"beta": np.zeros(2, np.float16), "bias": np.float16([2**-20, 0])}
    _, total = ogive.onnx.load(model_of("SkipLayerNormalization", inputs, {}, ("y", "", "", "s")))(inputs)
    assert total.tolist() == [[1 + 2**-10, 2]]  # 1, where two roundings each go to even


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_skip_layer_normalization_far_from_zero(kind):
    x = np.arange(40, 44, dtype=kind)[None]
    one, zero = np.ones(4, kind), np.zeros(4, kind)
    inputs = {"x": x, "skip": x * 0 + 1000, "gamma": one, "beta": zero}
    y = ogive.onnx.load(model_of("SkipLayerNormalization", inputs))(inputs)
    np.testing.assert_allclose(
        y, [[-1.341635, -0.447212, 0.447212, 1.341635]], rtol=1e-3 if kind == np.float16 else 1e-6
    )


def test_instance_normalization():
    inputs = [("x", X), ("s", np.arange(6, dtype=np.float32)), ("b", np.ones(6, np.float32))]
    for opset in (6, 22):
        y = ogive.onnx.load(node_model("InstanceNormalization", opset, inputs))(dict(inputs))
        expected = normalised(X, (2,)) * np.arange(6).reshape(6, 1) + 1
        np.testing.assert_allclose(y, expected, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("p", [1, 2])
def test_lp_normalization(p):
    x = np.float32([[3, -4], [0, 0]])
    y = ogive.onnx.load(node_model("LpNormalization", 22, [("x", x)], {"p": p, "axis": 1}))(x=x)
    np.testing.assert_allclose(y, np.float64([[3, -4], [0, 0]]) / (7 if p == 1 else 5), rtol=1e-7)


@pytest.mark.parametrize(
    ("operator", "attributes", "right"),
    [
        ("ScaledTanh", {"alpha": 2.0, "beta": 0.5}, lambda: ogive.scaled_tanh(X, alpha=2.0, beta=0.5)),
        ("ParametricSoftplus", {"alpha": 2.0, "beta": 0.5}, lambda: ogive.parametric_softplus(X, alpha=2.0, beta=0.5)),
        ("Affine", {"alpha": 2.0, "beta": 0.5}, lambda: ogive.linear(X, alpha=2.0, beta=0.5)),
        ("ThresholdedRelu", {"alpha": 0.25}, lambda: ogive.thresholded_relu(X, alpha=0.25)),
    ],
)
def test_experimental_operators(operator, attributes, right):
    model = ogive.onnx.load(model_of(operator, {"x": X}, attributes, domain="", opset=7))
    np.testing.assert_array_equal(model(x=X), right())


def test_an_experimental_operator_of_two_inputs_is_refused():
    with pytest.raises(ModelError, match=r"ScaledTanh node .*: it has 2 inputs and 1 outputs; allowed: 1 and 1"):
        ogive.onnx.load(model_of("ScaledTanh", {"x": X, "z": X}, {}, domain="", opset=7))


@pytest.mark.parametrize(
    ("attributes", "sentence"),
    [
        ([("", 2.0)], "the attribute '' has no counterpart in thresholded_relu"),
        ([("slope", 2.0)], "the attribute 'slope' has no counterpart in thresholded_relu"),
        ([("alpha", 2.0), ("alpha", 3.0)], "it has the attribute 'alpha' twice; allowed: each attribute once"),
        ([("alpha", 2)], "the attribute 'alpha' is of type INT; allowed: FLOAT"),
    ],
)
def test_attributes_of_an_operator_without_a_schema(attributes, sentence):
    node = onnx.helper.make_node("ThresholdedRelu", ["x"], ["y"])
    node.attribute.extend(onnx.helper.make_attribute(name, value) for name, value in attributes)
    infos = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [3]) for name in "xy"]
    graph = onnx.helper.make_graph([node], "g", infos[:1], infos[1:])
    with pytest.raises(OgiveError, match=sentence):
        ogive.onnx.load(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 7)], ir_version=8))


@pytest.mark.parametrize("shape", [(2, 3, 4), (5,)])
@pytest.mark.parametrize("opset", [1, 11, 12, 13])
def test_quantised_softmax_of_older_opsets(shape, opset):
    """Below 13 the axes from the given one on are one row."""
    x = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    inputs = {"x": x, "xs": SCALE, "xz": ZERO, "ys": np.float32(1 / 256), "yz": np.uint8(0)}
    numbers = ((x.astype(np.float64) - 128) * 0.05).astype(np.float32)
    for axis in range(-x.ndim, x.ndim):
        rows = numbers if opset == 13 else numbers.reshape(int(np.prod(shape[: axis % x.ndim])), -1)
        right = ogive.softmax(rows, axis=axis if opset == 13 else -1).reshape(shape)
        got = ogive.onnx.load(model_of("QLinearSoftmax", inputs, {"axis": axis, "opset": opset}))(inputs)
        np.testing.assert_array_equal(got, np.clip(np.rint(right * 256), 0, 255))


#: Attributes and outputs of bodies that no node of them has, and why.
UNUSED = {
    ("BiasSoftmax", "is_inner_broadcast"): "the shapes say along which axes a bias is repeated",
    ("SkipSimplifiedLayerNormalization", "mean"): "a model that asks for it is refused: there is none",
    ("SkipSimplifiedLayerNormalization", "inverse"): "a model that asks for it is refused",
}

#: For attributes that choose the nodes: a value that makes other ones.
CHOOSING = {("QLinearSoftmax", "opset"): 12}


def bodies_of(table, domain, **attributes):
    """The body of each operator where all inputs and outputs are there."""
    for name in table:
        node = helper.make_node(
            name, [f"i{i}" for i in range(9)], [f"o{i}" for i in range(4)], domain=domain, **attributes
        )
        yield name, bodies.body_of(node, domain)


@pytest.mark.parametrize(("table", "domain"), [(bodies._MICROSOFT, "com.microsoft"), (bodies._ONNX, "")])
def test_attributes_inputs_and_outputs_of_bodies_are_used(table, domain):
    unused = set()
    for name, body in bodies_of(table, domain):
        read = {value for node in body.node for value in node.input}
        made = {value for node in body.node for value in node.output}
        referred = {a.ref_attr_name for node in body.node for a in node.attribute}
        missing = {*body.input} - read | {*body.output} - made
        missing |= {a.name for a in body.attribute_proto if a.name not in referred} | {*body.attribute} - referred
        for attribute in missing.copy():
            if (name, attribute) in CHOOSING:
                (other,) = (b for n, b in bodies_of([name], domain, **{attribute: CHOOSING[name, attribute]}))
                if other.node != body.node:
                    missing.remove(attribute)
        unused |= {(name, value) for value in missing}
    assert unused == {key for key in UNUSED if key[0] in table}
