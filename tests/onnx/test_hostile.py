"""Damaged and hostile models: every one either runs or is refused with an error of Ogive's, in bounded time and memory."""

import contextlib
import os
import random
import warnings

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, numpy_helper

import ogive.onnx
from ogive.errors import OgiveError
from ogive.onnx.data_types import DATA_TYPES
from ogive.onnx.declarations import infer_shapes
from tests.onnx.models import text_model
from tests.onnx.recipes import elements

MEMORY = 1 << 22


def seeds():
    """Valid models with something of everything."""
    texts = [
        """t (float[N] x, float[2] w) => (float[N] y, int64[?] s) {
            c = Constant <value_floats = [1.0, 2.0]> ()  a = Mul(x, c)  b = Celu <alpha = 0.5> (a)  s = Shape(b)  y = PRelu(b, w) }""",
        """t (int8[N, 3] x, int64[?] s) => (float16[?] y) {
            a = Abs(x)  b = Cast <to = 10> (a)  c = Reshape(b, s)  k = Constant <value_ints = [0]> ()  y = ReduceSum <keepdims = 0> (c, k) }""",
        """t (double[?, ?] x) => (double[?, ?] y) {
            a = Transpose <perm = [1, 0]> (x)  b = Shrink <lambd = 0.25, bias = 0.5> (a)  y = Sum(b, b, a) }""",
        """t (int64[?] s) => (float[?, ?] y) {
            z = ConstantOfShape <value = float[1] {2.0}> (s)  e = Expand(z, s)  o = Constant <value_ints = [1]> ()
            u = Unsqueeze(e, o)  v = Slice(u, o, o, o, o)  y = Flatten(v) }""",
    ]
    models = [text_model(text) for text in texts]
    models[0].graph.initializer.append(numpy_helper.from_array(np.float32([1, 2]), "w"))
    function = """<ir_version: 10, opset_import: ["" : 18, "l" : 1]>
        t (float[N] x) => (float[N] y) { y = l.f <k = 2.0> (x) }
        <opset_import: ["" : 18], domain: "l">
        f <k> (x) => (y) { a = Celu <alpha: float = @k> (x)  y = Neg(a) }"""
    from onnx import parser

    models.append(parser.parse_model(function))
    return models


SEEDS = seeds()
DATA = [model.SerializeToString() for model in SEEDS]


def inputs_of(model):
    """Arrays for a model's inputs; sizes that it leaves open are 2, large ones 3."""
    arrays = {}
    for info in model.inputs:
        if info.type not in DATA_TYPES or (info.shape is None and len(arrays) > 10):
            return None
        shape = tuple(min(size, 3) if isinstance(size, int) else 2 for size in info.shape or ())
        arrays[info.name] = (
            elements(info.type, (40,))[: int(np.prod(shape))].reshape(shape) if np.prod(shape) <= 40 else None
        )
    return None if any(array is None for array in arrays.values()) else arrays


def survives(source):
    """Load and run: what cannot be is refused with an error of Ogive's that has a message."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            model = ogive.onnx.load(source, memory_limit=MEMORY)
            arrays = inputs_of(model)
            if arrays is not None:
                for _ in range(2):
                    model.run(arrays)
        except OgiveError as error:
            assert len(str(error)) > 10  # noqa: PT017  # either outcome is right


@pytest.mark.parametrize("data", DATA, ids=range(len(DATA)))
def test_the_seeds_themselves_run(data):
    model = ogive.onnx.load(data, memory_limit=MEMORY)
    arrays = inputs_of(model)
    if "s" in arrays:
        arrays["s"] = np.array([2, 3])
        if "x" in arrays:
            arrays["x"] = np.zeros((2, 3), np.int8)
    assert model.run(arrays)


@pytest.mark.parametrize("data", DATA, ids=range(len(DATA)))
def test_every_truncation(data):
    for length in range(0, len(data), 3):
        survives(data[:length])


@pytest.mark.matrix(share=16, pool="slow")
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(DATA), st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255), st.integers(0, 2)), max_size=8)
)
def test_changed_bytes(data, changes):
    changed = bytearray(data)
    for place, byte, kind in changes:
        place %= max(len(changed), 1)
        if kind == 0:
            changed[place : place + 1] = [byte]
        elif kind == 1:
            changed[place:place] = [byte]
        else:
            del changed[place : place + 1 + byte % 8]
    survives(bytes(changed))


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_random_bytes(data):
    survives(data)


# ---- changes of what the protos say, which stay valid as protos

INTEGERS = [0, 1, -1, 2, 3, 7, 64, 255, 1 << 31, -(1 << 31), (1 << 62), (1 << 63) - 1, -(1 << 63)]
OPERATORS = [
    "Relu",
    "Neg",
    "Add",
    "Sub",
    "Sum",
    "Mean",
    "Cast",
    "CastLike",
    "Reshape",
    "Slice",
    "Squeeze",
    "Unsqueeze",
    "Expand",
    "Transpose",
    "Flatten",
    "Shape",
    "Size",
    "ConstantOfShape",
    "Constant",
    "Identity",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceSum",
    "Shrink",
    "PRelu",
    "Celu",
    "Softmax",
    "Conv",
    "If",
]


def scramble(model, generator):
    """Change one thing."""
    graph = model.graph
    node = generator.choice(graph.node) if graph.node else graph.node.add()
    names = ["", "x", "y", "s", "w", "new", *(name for n in graph.node for name in n.output)]
    number = generator.choice(INTEGERS)
    small = max(min(number, (1 << 31) - 1), -(1 << 31))
    info = generator.choice([*graph.input, *graph.output])
    shape = info.type.tensor_type.shape
    match generator.randrange(16):
        case 0:
            node.op_type = generator.choice(OPERATORS)
        case 1 if node.input:
            node.input[generator.randrange(len(node.input))] = generator.choice(names)
        case 2:
            node.input.append(generator.choice(names))
        case 3 if node.output:
            node.output[0] = generator.choice(names)
        case 4:
            info.type.tensor_type.elem_type = generator.choice([*range(28), 99])
        case 5 if shape.dim:
            generator.choice(shape.dim).dim_value = number
        case 6:
            shape.dim.add().dim_param = generator.choice(["N", "M", ""])
        case 7:
            graph.node.insert(
                generator.randrange(len(graph.node)),
                NodeProto(op_type="Relu", input=[generator.choice(names)], output=[generator.choice(names)]),
            )
        case 8:
            model.opset_import[0].version = generator.choice([1, 5, 6, 7, 9, 11, 12, 13, 14, 18, 21, 28, 29])
        case 9:
            name = generator.choice(
                ["axes", "axis", "perm", "to", "shape", "keepdims", "broadcast", "start", "alpha", "value"]
            )
            kind = generator.choice(
                [AttributeProto.INT, AttributeProto.INTS, AttributeProto.FLOAT, AttributeProto.TENSOR]
            )
            values = [generator.choice([*INTEGERS, 0, 1, 1, 2]) for _ in range(generator.randrange(4))]
            node.attribute.append(
                AttributeProto(
                    name=name, type=kind, i=number, ints=values, f=float(number), t=odd_tensor(generator, "")
                )
            )
        case 10 if node.attribute:
            attribute = generator.choice(node.attribute)
            attribute.i = number
            if attribute.ints:
                attribute.ints[0] = number
        case 11:
            graph.initializer.append(odd_tensor(generator, generator.choice(names)))
        case 12:
            graph.output.append(ValueInfoProto(name=generator.choice(names)))
        case 13 if graph.node:
            del graph.node[generator.randrange(len(graph.node))]
        case 14:
            for attribute in node.attribute:
                if attribute.t.dims:
                    attribute.t.dims[0] = small
        case 15 if model.functions:
            body = model.functions[0]
            generator.choice(body.node).op_type = generator.choice([*OPERATORS, "f"])
            generator.choice(body.node).domain = generator.choice(["", "l"])


def odd_tensor(generator, name):
    dims = [generator.choice([0, 1, 1, 2, 3, *INTEGERS]) for _ in range(generator.randrange(4))]
    data = bytes(generator.randrange(256) for _ in range(generator.choice([0, 1, 4, 8, 16, 24])))
    return TensorProto(name=name, data_type=generator.choice([1, 1, 7, 7, *range(28)]), dims=dims, raw_data=data)


@pytest.mark.matrix(share=16, pool="slow")
@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(SEEDS) - 1), st.integers(0, 1 << 30), st.integers(1, 5))
@example(0, 0, 1)
def test_scrambled_models(seed, randomness, changes):
    model = ModelProto()
    model.CopyFrom(SEEDS[seed])
    generator = random.Random(randomness)
    for _ in range(changes):
        scramble(model, generator)
    survives(model)


# ---- what is asked for at run time


@pytest.mark.parametrize("values", [[-1], [1 << 62], [-(1 << 63)], [0, 5], [1 << 20, 1 << 20], [(1 << 63) - 1, 2]])
@pytest.mark.parametrize(
    "text",
    [
        "t (int64[?] s) => (float[?] y) { y = ConstantOfShape(s) }",
        "t (int64[?] s, float[?] x) => (float[?] y) { y = Expand(x, s) }",
        "t (int64[?] s, float[?] x) => (float[?] y) { y = Reshape(x, s) }",
        "t (int64[?] s, float[?] x) => (float[?] y) { y = Unsqueeze(x, s) }",
        "t (int64[?] s, float[?] x) => (float[?] y) { y = Squeeze(x, s) }",
        "t (int64[?] s, float[?] x) => (float[?] y) { y = Slice(x, s, s) }",
        "t (int64[?] s, float[?] x) => (float[?] y) { z = Constant <value_ints = [0]> () y = Slice(x, z, z, s) }",
        "t (int64[?] s, float[?] x) => (float[?] y) { y = ReduceSum(x, s) }",
    ],
)
def test_arguments_without_meaning(text, values):
    model = ogive.onnx.load(text_model(text), memory_limit=MEMORY)
    arrays = {"s": np.array(values)} | ({"x": np.float32([1, 2])} if "x" in model.input_names else {})
    before = {name: array.copy() for name, array in arrays.items()}
    try:
        model.run(arrays)
    except OgiveError as error:
        assert "node that computes 'y'" in str(error)  # noqa: PT017  # either outcome is right
    assert all(np.array_equal(arrays[name], array) for name, array in before.items())


#: A value for an attribute of each type.
SIMPLE = {"INT": 1, "INTS": [1, 1], "FLOAT": 1.0, "FLOATS": [1.0], "STRING": "a", "STRINGS": ["a"]}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a child finds out what ends a process")
def test_inference_ends_no_process():
    """ONNX's inference is C++, and looks at the types of inputs that may have none: of every operator, with and without inputs."""
    models = {}
    for name in sorted({schema.name for schema in onnx.defs.get_all_schemas() if not schema.domain}):
        schema = onnx.defs.get_schema(name)
        for inputs in ([], [f"x{i}" for i in range(max(schema.min_input, 1))]):
            for has_attributes in (False, True):
                values = {key: SIMPLE.get(a.type.name) for key, a in schema.attributes.items() if has_attributes}
                given = {key: value for key, value in values.items() if value is not None}
                node = onnx.helper.make_node(name, inputs, [f"y{i}" for i in range(max(schema.min_output, 1))], **given)
                model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", [], []))
                models[name, bool(inputs), has_attributes] = model
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        for (name, *_), model in models.items():
            os.write(writer, f"{name} ".encode())
            with contextlib.suppress(Exception):
                infer_shapes(model)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        seen = file.read().decode().split()
    assert os.waitpid(pid, 0)[1] == 0, f"the inference of {seen[-1]} ends the process: add it to CRASHING"
    assert len(seen) == len(models) > 300
