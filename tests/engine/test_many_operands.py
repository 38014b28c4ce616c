"""Nodes of more operands than a ufunc has: 64 in NumPy. A plan gives kernels at most so many, and functions any number."""

import numpy as np
import pytest
from onnx import TensorProto, helper

import ogive
import ogive.onnx
from ogive.webnn import MLContext, MLGraphBuilder

COUNTS = (63, 64, 65, 300)
NODES = {
    "Concat": np.concatenate,
    "Sum": lambda arrays: np.sum(arrays, axis=0),
    "Max": lambda arrays: np.max(arrays, axis=0),
    "Min": lambda arrays: np.min(arrays, axis=0),
    "Mean": lambda arrays: np.mean(arrays, axis=0),
}


def arrays_of(count, rows=2):
    """Small whole numbers, whose sums and means are exact or rounded once."""
    return [np.full((rows, 3), number % 7 - 3, np.float32) for number in range(count)]


def model(name, count, rows):
    """A node of ``count`` inputs, each the result of a kernel."""
    given = [f"x{number}" for number in range(count)]
    negated = [helper.make_node("Neg", [one], [f"n{one}"]) for one in given]
    node = helper.make_node(name, [f"n{one}" for one in given], ["y"], **({"axis": 0} if name == "Concat" else {}))
    inputs = [helper.make_tensor_value_info(one, TensorProto.FLOAT, [rows, 3]) for one in given]
    graph = helper.make_graph(
        [*negated, node], "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", NODES)
@pytest.mark.parametrize("rows", [2, "N"])
def test_a_node_takes_any_number_of_operands(name, count, rows):
    loaded = ogive.onnx.load(model(name, count, rows))
    for size in (2, 2, 5, 3, 3) if rows == "N" else (2, 2):  # recorded, and by plans
        arrays = arrays_of(count, size)
        expected = NODES[name]([-array for array in arrays])
        named = {f"x{number}": array for number, array in enumerate(arrays)}
        np.testing.assert_array_equal(loaded.run(named)["y"], expected)
        out = np.empty_like(expected)
        loaded(*arrays, out=out)
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("is_one_operand", [False, True])
def test_a_webnn_graph_joins_any_number_of_operands(count, is_one_operand):
    builder, given = MLGraphBuilder(MLContext()), arrays_of(1 if is_one_operand else count)
    operands = [builder.input(f"x{n}", {"dataType": "float32", "shape": [2, 3]}) for n in range(len(given))]
    repeats = count // len(given)
    graph = builder.build({"y": builder.neg(builder.concat(operands * repeats, 1))})
    result = graph({f"x{n}": array for n, array in enumerate(given)})["y"]
    np.testing.assert_array_equal(result, -np.concatenate(given * repeats, axis=1))
