"""Parameters down to the smallest subnormal float32: numbers like others, through every door."""

from __future__ import annotations

import itertools

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import ogive
import ogive.directml as dml
import ogive.onnx
import ogive.webnn as webnn
from ogive import formula as f
from ogive.catalog import OPERATORS
from ogive.common.dtypes import ELEMENT_TYPES
from ogive.enclosures.enclosure import right_result
from ogive.errors import ParameterError
from ogive.operators.operator import Operator

TINY = (1e-39, -1e-40, 2.0**-149, 1e-45, 2.0**-127)
X = np.float32([1, -1, 1e-38, -1e-38, -1e-40, 3e38, -3e38, 0.5, -100, -0.0, np.inf, -np.inf])


def _with_numbers() -> list[Operator]:
    found = [
        op
        for op in OPERATORS.values()
        if not op.is_row_wise and op.nout == 1 and len(op.tensors) == 1 and op.numeric_parameters
    ]
    assert len(found) > 15
    return [op for op in found if any(s.inputs[0].name == "float32" for s in op.signatures)]


@pytest.mark.matrix(share=3)
@pytest.mark.parametrize("op", _with_numbers(), ids=str)
def test_results_are_correctly_rounded(op: Operator) -> None:
    kind, names = ELEMENT_TYPES["float32"], [p.name for p in op.numeric_parameters]
    usual = {p.name: 1.0 if p.is_required else p.default for p in op.numeric_parameters}
    for name in names:
        for value in TINY:
            parameters = usual | {name: abs(value) if (op.name, name) == ("squareplus", "b") else value}
            found, fast = op.exact(X, **parameters), op.fast(X, **parameters)
            numbers = {key: float(np.float32(number)) for key, number in parameters.items()}
            right = [right_result(op.formula()[0], [float(x)], numbers, kind)[0] for x in X]
            assert np.array_equal(found.astype(np.float32), np.float32(right), equal_nan=True), (name, value)
            assert (np.isnan(fast) == np.isnan(found)).all(), (name, value)


@pytest.mark.parametrize(
    ("operator", "attributes"),
    [
        ("Elu", {"alpha": 1e-40}),
        ("LeakyRelu", {"alpha": 1e-40}),
        ("Shrink", {"bias": 1e-40, "lambd": 1e-41}),
        ("HardSigmoid", {"alpha": 1e-40, "beta": 1e-40}),
        ("ThresholdedRelu", {"alpha": 1e-40}),
        ("Celu", {"alpha": 1e-39}),
    ],
)
def test_attributes_of_onnx(operator: str, attributes: dict[str, float]) -> None:
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [X.size]) for name in "xy"]
    graph = helper.make_graph([helper.make_node(operator, ["x"], ["y"], **attributes)], "g", ends[:1], ends[1:])
    model: onnx.ModelProto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)])
    names = {
        "Elu": "elu",
        "LeakyRelu": "leaky_relu",
        "HardSigmoid": "hard_sigmoid",
        "ThresholdedRelu": "thresholded_relu",
    }
    function = OPERATORS[names.get(operator, operator.lower())]
    assert np.array_equal(ogive.onnx.load(model)(X), function(X, **attributes), equal_nan=True)


def test_members_of_directml() -> None:
    device, graph = dml.Device(), dml.Graph(dml.Device())
    sizes = [1, 1, 1, X.size]
    tensor = dml.DML_BUFFER_TENSOR_DESC(DataType=dml.DML_TENSOR_DATA_TYPE_FLOAT32, Sizes=sizes)
    for desc in (
        dml.DML_ACTIVATION_CELU_OPERATOR_DESC(tensor, tensor, Alpha=1e-39),
        dml.DML_ACTIVATION_SHRINK_OPERATOR_DESC(tensor, tensor, Bias=1e-40, Threshold=1e-41),
        dml.DML_ACTIVATION_SCALED_TANH_OPERATOR_DESC(tensor, tensor, Alpha=1e-40, Beta=1e-40),
    ):
        assert device.CreateOperator(desc) is not None
    x = graph.input(sizes, np.float32)
    (found,) = graph.compile([dml.activation_celu(x, alpha=1e-39)])({x: X.reshape(sizes)})
    assert np.array_equal(found.ravel(), ogive.celu(X, alpha=1e-39), equal_nan=True)


def test_options_of_webnn() -> None:
    builder = webnn.MLGraphBuilder(webnn.createContext())
    x = builder.input("x", {"dataType": "float32", "shape": [X.size]})
    assert builder.elu(x, alpha=1e-40) is not None
    assert builder.leakyRelu(x, alpha=1e-40) is not None


def test_what_float32_has_no_number_for_is_refused() -> None:
    for value in (1e-46, -1e-300):
        with pytest.raises(ParameterError, match="magnitudes from 2\\*\\*-149 to 3.4e38"):
            ogive.elu(X, alpha=value)


def _clipped_sums() -> dict[str, Operator]:
    def clipped(x: object, *, alpha: float = 1.0, beta: float = 0.0) -> object:
        return f.maximum(alpha * x + beta, 0)

    def shifted(x: object, *, alpha: float = 1.0, beta: float = 0.0) -> object:
        return f.where(x + alpha * beta < 0, 0, x + alpha * beta)

    def bounded(x: object, *, alpha: float = 1.0, beta: float = 0.0) -> object:
        y = f.minimum(alpha * x + beta, 1)
        return -f.where(y < 0, 0, y)

    def of_function(x: object, *, alpha: float = 1.0, beta: float = 0.0) -> object:
        return f.where(alpha * f.tanh(x) + beta < 0, 0, alpha * f.tanh(x) + beta)

    def scaled(x: object, *, alpha: float = 1.0, beta: float = 0.0) -> object:
        y = alpha * x + beta
        return f.where(y < 0, 0, y) * -3

    functions = (clipped, shifted, bounded, scaled, of_function)
    own = {function.__name__: ogive.operator(function) for function in functions}
    return {"hard_sigmoid": ogive.hard_sigmoid, **own}


@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", ["hard_sigmoid", "clipped", "shifted", "bounded", "scaled", "of_function"])
def test_the_sign_of_a_sum_of_zeros_that_is_clipped(name: str, kind: str) -> None:
    """-0 is not below 0, and stays; what rounds to -0 is below it."""
    op, element = _clipped_sums()[name], ELEMENT_TYPES[kind]
    tiny = 2.0**-1074 if kind == "float64" else 2.0**-24 if kind == "float16" else 2.0**-133
    x = np.array([0.0, -0.0, tiny, -tiny, 1, -1, np.inf, -np.inf, np.nan]).astype(element.numpy)
    root = op.formula(for_doubles=kind == "float64")[0]
    for alpha, beta in itertools.product(
        (0.0, -0.0, 1.0, -1.0, 1e-30, -1e-30), (0.0, -0.0, 0.5, 2.0**-149, -(2.0**-149))
    ):
        found = op(x, alpha=alpha, beta=beta).astype(np.float64)
        numbers = {"alpha": alpha if kind == "float64" else float(np.float32(alpha)), "beta": beta}
        right = np.array([right_result(root, [float(v)], numbers, element)[0] for v in x])
        assert np.array_equal(found, right, equal_nan=True), (alpha, beta)
        there = ~np.isnan(right)
        assert np.array_equal(np.signbit(found)[there], np.signbit(right)[there]), (alpha, beta)
