"""The JSON of WebNN's conformance tests: each graph, run by ogive.webnn, has the results that the file expects."""

import json

import numpy as np
import pytest

import ogive
from ogive.errors import UnsupportedError
from ogive.golden import make
from ogive.golden.formats import write
from ogive.golden.formats.webnn_format import OPERATORS
from ogive.golden.formats.webnn_nodes import specifications
from ogive.golden.onnx_operators import of_onnx
from ogive.webnn import MLContext, MLGraphBuilder
from ogive.webnn.operator_table import OPERATORS as TABLE

WHOLE = {f"{s.operator} to {s.output.name}": s for s in specifications()}
#: ONNX's name -> WebNN's. Slice has two.
TABLE_NAME = {row.onnx: name for name, row in TABLE.items() if name != "reverse"}
TEXTS = {"NaN", "Infinity", "-Infinity"}


def array(tensor):
    kind = np.dtype(tensor["descriptor"]["dataType"])
    read = int if kind.kind in "iu" else float
    values = np.array([read(v) for v in tensor["data"]], object if read is int else np.float64)
    return values.astype(kind).reshape(tensor["descriptor"]["shape"])


def operand(value, operands):
    """An operand by its name, or the value itself."""
    if isinstance(value, list):
        return [operand(v, operands) for v in value]
    if isinstance(value, str):
        return float(value) if value in TEXTS else operands.get(value, value)
    return value


def wrong(test):
    """The names of the results that differ from what the file expects."""
    graph, context = test["graph"], MLContext()
    builder = MLGraphBuilder(context)
    operands = {name: builder.input(name, tensor["descriptor"]) for name, tensor in graph["inputs"].items()}
    (operator,) = graph["operators"]
    positional, options = [], {}
    for argument in operator["arguments"]:
        ((name, value),) = argument.items()
        if name == "options":
            options = {option: operand(v, operands) for option, v in value.items()}
        else:
            positional.append(operand(value, operands))
    made = getattr(builder, operator["name"])(*positional, options)
    results = dict(zip(graph["expectedOutputs"], made if isinstance(made, list | tuple) else [made], strict=True))
    found = context.compute(builder.build(results), {name: array(x) for name, x in graph["inputs"].items()})
    return [name for name, x in graph["expectedOutputs"].items() if not same(found[name], array(x))]


def same(found, right):
    if found.dtype != right.dtype or found.shape != right.shape:
        return False
    bits = f"u{right.dtype.itemsize}"
    is_nan = np.isnan(right) if right.dtype.kind == "f" else np.zeros(right.shape, bool)
    return bool(np.all((found.view(bits) == right.view(bits)) | (is_nan & (found != found))))


def graphs_of(vectors, folder):
    path, _ = write(vectors, "webnn", folder)
    return json.loads(path.read_text())


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize("name", WHOLE)
def test_rows_and_whole_arrays(name, tmp_path):
    tests = graphs_of(make(WHOLE[name]), tmp_path)
    assert tests
    assert [t["name"] for t in tests if wrong(t)] == []


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize("name", OPERATORS)
def test_elements(name, tmp_path):
    types = [s.inputs[0].name for s in getattr(ogive, name).signatures]
    tests = graphs_of(ogive.vectors(name, "float32" if "float32" in types else types[0]), tmp_path)
    assert all(min(t["descriptor"]["shape"], default=1) > 0 for test in tests for t in test["graph"]["inputs"].values())
    assert [t["name"] for t in tests if wrong(t)] == []


def test_every_operator_of_webnn_is_there():
    made = {TABLE_NAME[s.operator] for s in WHOLE.values()} | {"reverse"}
    assert made | {webnn for webnn, _ in OPERATORS.values()} == set(TABLE)


def test_a_wrong_result_is_seen(tmp_path):
    (test,) = graphs_of(make(WHOLE["Concat to float32"]), tmp_path)
    assert wrong(test) == []
    test["graph"]["expectedOutputs"]["output"]["data"][1] += 1
    assert wrong(test) == ["output"]


def test_integers_beyond_a_double_are_texts(tmp_path):
    vectors = make(of_onnx("Concat", 13, {"T": "tensor(int64)"}))
    (test,) = graphs_of(vectors, tmp_path)
    assert str(np.iinfo(np.int64).max) in test["graph"]["inputs"]["inputs_0"]["data"]
    assert wrong(test) == []


@pytest.mark.matrix(share=16, pool="slow")
def test_wrong_calls(tmp_path):
    with pytest.raises(
        UnsupportedError, match="NonZero: WebNN does not have it; allowed: .*, and by ONNX's names ArgMax,"
    ):
        write(make(of_onnx("NonZero", 13, {"T": "tensor(float)"})), "webnn", tmp_path)
    with pytest.raises(UnsupportedError, match="ReduceMax: WebNN has no float64; allowed: float32, float16"):
        write(make(of_onnx("ReduceMax", 20, {"T": "tensor(double)"})), "webnn", tmp_path)
