"""Parameters down to the smallest subnormal float32: numbers like others, through every door."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import ogive
import ogive.directml as dml
import ogive.onnx
import ogive.webnn as webnn
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
