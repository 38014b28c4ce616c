"""Random graphs of elements, rows, reductions and views: fused, and node by node, the same bits.

    OGIVE_EXAMPLES=5000 python -m pytest tests/onnx/test_random_graphs.py

Each model runs with its first batch, then with other ones, with operands whose elements lie apart, and into a given array.
Inputs without axes, of one element and of none stand beside the batch. Models of operators that are exact, or rounded once
by everybody, run in ONNX Runtime too, and have equal results there.
"""

import math
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper, printer

import ogive.onnx
from ogive.errors import OgiveError
from tests.inputs import assert_same_bits

ASKED = os.environ.get("OGIVE_EXAMPLES")

KINDS = [TensorProto.FLOAT, TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16]
OF_TWO = {True: ["Add", "Sub", "Mul", "Max", "Min"], False: ["Add", "Sub", "Mul", "Div", "Max"]}
OF_ONE = {True: ["Neg", "Abs", "Relu", "Floor"], False: ["Neg", "Abs", "Exp", "Tanh", "Sigmoid", "Sqrt"]}
REDUCTIONS = {True: ["ReduceMax", "ReduceMin"], False: ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin"]}
OF_ROWS = {True: ["Hardmax"], False: ["Softmax", "LogSoftmax", "Hardmax"]}
"""By whether results are the same everywhere. None of those makes a NaN, which ONNX Runtime's extremes may drop."""
MOVEMENTS = ["Transpose", "Slice", "Reshape", "Unsqueeze", "Squeeze", "Expand"]
OF_BATCH = "xr"
"""The inputs whose first axis may have any length."""
MOST_ELEMENTS = 40_000


class Maker:
    """A graph that grows: values with their shapes, and the nodes and constants that make them."""

    def __init__(self, draw, *, is_exact):
        self.draw = draw
        self.is_exact = is_exact
        self.kind = TensorProto.FLOAT if is_exact else draw(st.sampled_from(KINDS))
        length = draw(st.sampled_from([1, 2, 5, 16, 33, 0]))
        self.batch = draw(st.integers(1, 6))
        inner = (draw(st.sampled_from([1, 2, 3, 17])),) if draw(st.booleans()) else ()
        self.inputs = {"x": (self.batch, *inner, length), "b": (length,), "r": (self.batch, *(1 for _ in inner), 1)}
        self.inputs |= {"s": (), "o": (1,), "e": (draw(st.sampled_from([0, 1, length])),)}
        self.shapes = {**self.inputs, "c": (1,)}
        self.nodes = []
        self.constants = [numpy_helper.from_array(np.array([0.75], helper.tensor_dtype_to_np_dtype(self.kind)), "c")]

    def integers(self, values):
        self.constants.append(numpy_helper.from_array(np.array(values, np.int64), f"i{len(self.constants)}"))
        return self.constants[-1].name

    def some_axes(self, rank):
        axes = self.draw(st.lists(st.integers(0, rank - 1), min_size=1, max_size=rank, unique=True))
        return [axis - rank * self.draw(st.booleans()) for axis in axes]

    def add(self, number):
        draw = self.draw
        of_two, of_one, reductions, of_rows = (table[self.is_exact] for table in (OF_TWO, OF_ONE, REDUCTIONS, OF_ROWS))
        operator = draw(st.sampled_from(of_two + of_one + reductions * 2 + of_rows + MOVEMENTS))
        names = ["x", "s", *list(self.shapes)[-4:]] if operator not in of_two else list(self.shapes)
        first = draw(st.sampled_from([name for name in names if name != "c"]))
        shape = self.shapes[first]
        operands, attributes, result = [first], {}, np.broadcast_to(0, shape)
        if operator in of_two:
            operands.append(draw(st.sampled_from(list(self.shapes))))
            try:
                result = np.broadcast_to(0, np.broadcast_shapes(shape, self.shapes[operands[1]]))
            except ValueError:
                operands[1] = "c"
                result = np.broadcast_to(0, np.broadcast_shapes(shape, (1,)))
        elif operator in reductions:
            axes = self.some_axes(len(shape)) if shape and draw(st.integers(0, 4)) else None
            attributes = {"keepdims": draw(st.integers(0, 1))}
            if axes is not None:
                operands.append(self.integers(axes))
            if operator in ("ReduceMax", "ReduceMin") and not math.prod(shape) and self.is_exact:
                return  # ONNX Runtime has no extreme of nothing
            result = np.sum(result, axis=axes and tuple(axes), keepdims=bool(attributes["keepdims"]))
        elif operator in of_rows or operator in MOVEMENTS:
            if not shape:
                return
            result = self.moved(operator, shape, operands, attributes)
        if result.ndim > 4 or math.prod(result.shape) > MOST_ELEMENTS:
            return
        self.nodes.append(helper.make_node(operator, operands, [f"v{number}"], **attributes))
        self.shapes[f"v{number}"] = result.shape

    def moved(self, operator, shape, operands, attributes):
        draw, data = self.draw, np.broadcast_to(0, shape)
        axis = draw(st.integers(0, len(shape) - 1))
        if operator in OF_ROWS[False]:
            attributes["axis"] = axis
            return data
        if operator == "Transpose":
            attributes["perm"] = draw(st.permutations(range(len(shape))))
            return data.transpose(attributes["perm"])
        if operator == "Slice":
            start, step = draw(st.integers(0, 1)), draw(st.sampled_from([1, 2, -1, -2]))
            start, end = (start, 1 << 40) if step > 0 else (-1 - start, -(1 << 40))
            operands += [self.integers([start]), self.integers([end]), self.integers([axis]), self.integers([step])]
            part = slice(start, None, step) if shape[axis] > 1 or start in (0, -1) else slice(0, 0)
            return data[(slice(None),) * axis + (part,)]
        if operator == "Reshape":
            wanted = draw(st.sampled_from([[-1], [*shape[:-1], -1], [-1, shape[-1]], [0, -1], [1, *shape]]))
            if not math.prod(shape):
                wanted = list(shape)
            operands.append(self.integers(wanted))
            return data.reshape([shape[i] if size == 0 and i < len(shape) else size for i, size in enumerate(wanted)])
        if operator == "Unsqueeze":
            operands.append(self.integers([axis]))
            return np.expand_dims(data, axis)
        if operator == "Squeeze":
            return data.squeeze()
        operands.append(self.integers([3, *(size if size != 1 else 2 for size in shape)]))
        return np.broadcast_to(data, (3, *(size if size != 1 else 2 for size in shape)))


@st.composite
def graphs(draw, *, is_exact=False):
    maker = Maker(draw, is_exact=is_exact)
    for number in range(draw(st.integers(2, 12))):
        maker.add(number)
    made = [node.output[0] for node in maker.nodes]
    if not made:
        maker.nodes.append(helper.make_node("Neg", ["x"], ["v"]))
        made = ["v"]
    outputs = draw(st.lists(st.sampled_from(made), min_size=1, max_size=3, unique=True))
    outputs = list(dict.fromkeys([*outputs, made[-1]]))
    inputs = [
        helper.make_tensor_value_info(
            name, maker.kind, ["B" if name in OF_BATCH and i == 0 else size for i, size in enumerate(shape)]
        )
        for name, shape in maker.inputs.items()
    ]
    graph = helper.make_graph(
        maker.nodes,
        "random",
        inputs,
        [helper.make_tensor_value_info(v, maker.kind, None) for v in outputs],
        maker.constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    return model, maker.inputs, draw(st.lists(st.integers(0, 9), max_size=3)), draw(st.integers(0, 99))


def results_of(model, arrays, **keywords):
    """A tuple of the results, or the kind of the error."""
    try:
        results = model(**arrays, **keywords)
    except OgiveError as error:
        return type(error)
    return results if isinstance(results, tuple) else (results,)


def arrays_of(inputs, shapes, batch, generator):
    """Arrays for the inputs of a model, with a batch of this length."""
    sizes = {name: (batch, *shape[1:]) if name in OF_BATCH else shape for name, shape in shapes.items()}
    return {info.name: np.asarray(generator.standard_normal(sizes[info.name])).astype(info.dtype) for info in inputs}


def settings_of(examples):
    return settings(
        max_examples=int(ASKED) if ASKED else examples,
        derandomize=not ASKED,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


@pytest.mark.matrix(share=16, pool="slow")
@settings_of(60)
@given(graphs())
def test_fused_and_node_by_node(case):
    model, shapes, batches, seed = case
    note(printer.to_text(model))
    fused, plain = ogive.onnx.load(model), ogive.onnx.load(model, fuse=False)
    generator = np.random.default_rng(seed)
    first = shapes["x"][0]
    for batch in (first, *batches, first):
        arrays = arrays_of(fused.inputs, shapes, batch, generator)
        expected = results_of(plain, arrays)
        if isinstance(expected, type):
            assert results_of(fused, arrays) is expected
            continue
        apart = {
            name: np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array for name, array in arrays.items()
        }
        turned = {name: np.array(array, order="F") for name, array in arrays.items()}
        out = tuple(np.empty_like(array, order="C") for array in expected)
        runs = [results_of(fused, given) for given in (arrays, arrays, apart, turned)]
        runs.append(results_of(fused, arrays, out=out if len(out) > 1 else out[0]))
        for results in runs:
            for got, wanted in zip(results, expected, strict=True):
                assert_same_bits(got, wanted)
        assert all(got is given for got, given in zip(runs[-1], out, strict=True))


def check_beside_onnxruntime(case):
    """A model at several batch sizes in turn: fused, node by node, and in ONNX Runtime."""
    model, shapes, batches, seed = case
    note(printer.to_text(model))
    onnxruntime = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in model.graph.output]
    models = ogive.onnx.load(model), ogive.onnx.load(model, fuse=False)
    generator = np.random.default_rng(seed)
    first = shapes["x"][0]
    for batch in (first, *batches, 1, first):
        arrays = arrays_of(models[0].inputs, shapes, batch, generator)
        fused, plain = (results_of(model, arrays) for model in models)
        if isinstance(plain, type):
            assert fused is plain
            continue
        for got, wanted in zip(fused, plain, strict=True):
            assert_same_bits(got, wanted)
        try:
            others = session.run(names, arrays)
        except Exception:  # what ONNX Runtime refuses
            continue
        for got, wanted in zip(plain, others, strict=True):
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.matrix(share=16, pool="slow")
@settings_of(25)
@given(graphs(is_exact=True))
def test_beside_onnxruntime(case):
    check_beside_onnxruntime(case)


@pytest.mark.matrix(share=16, pool="slow")
@settings_of(400)
@given(graphs(is_exact=True))
def test_more_beside_onnxruntime(case):
    check_beside_onnxruntime(case)
