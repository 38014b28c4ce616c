"""The refusals of WebNN, by the text of the message."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

from ogive.errors import OgiveError, UnsupportedError
from ogive.webnn import InvalidStateError, MLContext, MLGraphBuilder, MLTypeError, NotSupportedError, createContext
from ogive.webnn.operator_table import OPERATORS, OUT_OF_SCOPE
from tools.webnn_table import renewed


def made():
    return MLGraphBuilder(MLContext())


def operand(builder, kind="float32", *shape, name=None):
    return builder.input(name or f"x{builder._count}", {"dataType": kind, "shape": shape})


#: The calls, on a builder `b` with float32 operands x (2, 3), y (4,), an int32 one i (2,) and a uint8 one t (2, 3).
WRONG = {
    "b.input('', D)": "input: name is ''; allowed: text that is not empty",
    "b.input('x', D)": "input: there is an input 'x' already; allowed: another name",
    "b.input('z', {'dataType': 'int4', 'shape': [2]})": "input: dataType is 'int4'; allowed: 'float32', 'float16', "
    "'int32', 'uint32', 'int64', 'uint64', 'int8', 'uint8'. The specification has no types of 4 bits; give the numbers "
    "as 'int8' or 'uint8'",
    "b.input('z', {'dataType': 'float32', 'shape': [2, 0]})": "input: shape[1] is 0; allowed: whole numbers from 1 to "
    "2147483647",
    "b.input('z', {'dataType': 'float32'})": "input: the descriptor has no member 'shape'; allowed: dataType, shape",
    "b.input('z', {'dataType': 'float32', 'shape': [65536, 65536]})": "input: shape is [65536, 65536]; allowed: shapes "
    "of up to 2147483647 elements",
    "b.constant('float32', 'one')": "constant: value is 'one'; allowed: a number",
    "b.constant(D, np.zeros(3, np.float32))": "constant: the buffer has 3 elements; allowed: 6, for float32 [2, 3]",
    "b.constant(D, np.zeros((2, 3)))": "constant: the buffer is an array of float64; allowed: float32. Convert it first: "
    "array.astype('float32')",
    "b.constant(D, bytes(5))": "constant: the buffer has 5 bytes; allowed: 24, for float32 [2, 3]",
    "b.add(x, 1)": "add: b is 1; allowed: an MLOperand. Make one of a number with builder.constant(dataType, value)",
    "b.add(x, i)": "add: b is int32 and a float32; allowed: one type for both. Use builder.cast(x, dataType)",
    "b.add(x, y)": "add: its operands have the shapes [2, 3] and [4]; allowed: equal sizes, or 1, from the last axis on",
    "b.add(x, other)": "add: b is of another builder; allowed: operands of this one",
    "b.add(x, y, label='sum')": "add 'sum': its operands have the shapes [2, 3] and [4]; allowed: equal sizes, or 1, "
    "from the last axis on",
    "b.add(x, x, {'alpha': 1})": "add: there is no option 'alpha'; allowed: label",
    "b.add(x, x, 'sum')": "add: options is 'sum'; allowed: a dictionary. Write {'label': 'here'}, or give it by name",
    "b.sigmoid(i)": "sigmoid: input is int32; allowed: float32, float16. Use builder.cast(x, dataType)",
    "b.relu(t)": "relu: input is uint8; allowed: float32, float16, int64, int32, int8. Use builder.cast(x, dataType)",
    "b.elu(x, alpha='1')": "elu: alpha is '1'; allowed: a number",
    "b.elu(h, alpha=1e6)": "elu: alpha is 1000000.0; as a number of float16, alpha is inf; allowed: any finite number",
    "b.logicalNot(x)": "logicalNot: a is float32; allowed: uint8. Use builder.cast(x, dataType)",
    "b.isNaN(i)": "isNaN: a is int32; allowed: float32, float16. Use builder.cast(x, dataType)",
    "b.where(x, x, x)": "where: condition is float32; allowed: uint8. Use builder.cast(x, dataType)",
    "b.clamp(x, minValue=2, maxValue=1)": "clamp: minValue is 2.0 and maxValue 1.0; allowed: a minValue up to maxValue",
    "b.cast(x, 'bool')": "cast: dataType is 'bool'; allowed: 'float32', 'float16', 'int32', 'uint32', 'int64', "
    "'uint64', 'int8', 'uint8'",
    "b.softmax(x, 2)": "softmax: axis is 2; allowed: 0 to 1, as the input has 2 axes",
    "b.softmax(x, -1)": "softmax: axis is -1; allowed: whole numbers from 0 to 4294967295",
    "b.softmax(s, 0)": "softmax: input has 0 axes; allowed: 1 and more",
    "b.reduceSum(x, axes=[0, 0])": "reduceSum: axes is [0, 0]; allowed: every axis once",
    "b.reduceSum(x, keepDimensions=1)": "reduceSum: keepDimensions is 1; allowed: True, False",
    "b.argMax(x, 0, outputDataType='int8')": "argMax: outputDataType is 'int8'; allowed: 'int32', 'int64'",
    "b.concat([], 0)": "concat: inputs is a list; allowed: a list of 1 to 8192 operands",
    "b.concat([x, i], 0)": "concat: inputs[1] is int32 and inputs[0] float32; allowed: one type for all",
    "b.concat([x, y], 0)": "concat: inputs[1] has the shape [4] and inputs[0] [2, 3]; allowed: equal sizes but for axis 0",
    "b.expand(x, [3, 3])": "expand: the input has the shape [2, 3] and newShape is [3, 3]; allowed: shapes to which the "
    "input broadcasts",
    "b.reshape(x, [4])": "reshape: newShape is [4], of 4 elements; allowed: shapes of 6 elements, as the input of shape "
    "[2, 3] has",
    "b.transpose(x, permutation=[0])": "transpose: permutation is [0]; allowed: all axes of an input of 2, each once",
    "b.slice(x, [0, 1], [2, 3])": "slice: axis 1 of size 3 is cut from 1 to 4; allowed: up to 3",
    "b.slice(x, [0], [2])": "slice: starts has 1 numbers; allowed: 2, one for each axis",
    "b.split(x, 2, axis=1)": "split: an axis of size 3 is cut into 2 equal parts; allowed: numbers that divide it",
    "b.split(x, [1, 1], axis=1)": "split: splits is [1, 1]; allowed: up to 8192 sizes whose sum is 3",
    "b.tile(x, [2])": "tile: repetitions has 1 numbers; allowed: 2, one for each axis",
    "b.pad(x, [0, 3], [0, 0], mode='reflection')": "pad: axis 1 of size 3 is padded by 3; allowed: up to 2 with the mode "
    "'reflection'",
    "b.pad(x, [0, 0], [0, 0], mode='wrap')": "pad: mode is 'wrap'; allowed: 'constant', 'edge', 'reflection'",
    "b.triangular(y)": "triangular: input has 1 axes; allowed: 2 and more",
    "b.gather(x, x)": "gather: indices is float32; allowed: int32, uint32, int64. Use builder.cast(x, dataType)",
    "b.gatherElements(x, i)": "gatherElements: indices has the shape [2] and the input [2, 3]; allowed: equal sizes but "
    "for axis 0",
    "b.gatherND(y, i)": "gatherND: the last axis of indices has the size 2; allowed: up to 1",
    "b.scatterND(x, i, x)": "scatterND: updates has the shape [2, 3]; allowed: []",
    "b.dequantizeLinear(t, y, t)": "dequantizeLinear: scale has the shape [4] and zeroPoint [2, 3]; allowed: equal shapes",
    "b.batchNormalization(x, y, y)": "batchNormalization: mean has the shape [4]; allowed: [3]",
    "b.layerNormalization(x, scale=y)": "layerNormalization: scale has the shape [4]; allowed: [3]",
    "b.instanceNormalization(x)": "instanceNormalization: input has 2 axes; allowed: 4",
    "b.build({})": "build: outputs is {}; allowed: a dictionary of names and operands, not empty",
    "b.build({'y': x})": "build: the output 'y' is an input; allowed: what an operator makes. Use builder.identity(x)",
    "b.build({'y': s})": "build: the output 'y' is a constant; allowed: what an operator makes. Use builder.identity(x)",
}


@pytest.mark.parametrize("call", WRONG)
def test_wrong_calls(call):
    b = made()
    names = {
        "b": b,
        "np": np,
        "D": {"dataType": "float32", "shape": [2, 3]},
        "x": operand(b, "float32", 2, 3, name="x"),
        "y": operand(b, "float32", 4),
        "h": operand(b, "float16", 4),
        "i": operand(b, "int32", 2),
        "t": operand(b, "uint8", 2, 3),
        "s": b.constant("float32", 1),
        "other": operand(made(), "float32", 2, 3),
    }
    before = b._count
    with pytest.raises(MLTypeError) as error:
        eval(call, names)
    assert str(error.value) == WRONG[call]
    assert isinstance(error.value, TypeError)
    assert isinstance(error.value, OgiveError)
    assert b._count == before
    b.build({"y": b.identity(names["x"])})  # a call that was refused leaves the builder as it was


@pytest.mark.parametrize("name", OUT_OF_SCOPE)
def test_operators_out_of_scope(name):
    with pytest.raises(NotSupportedError) as error:
        getattr(made(), name)
    assert str(error.value) == (
        f"MLGraphBuilder.{name}: it is {OUT_OF_SCOPE[name]}, which Ogive does not compute. Compute it elsewhere, and "
        "build a graph of what comes before and one of what comes after it"
    )
    assert isinstance(error.value, UnsupportedError)
    assert not hasattr(made(), name)
    assert name not in OPERATORS


def test_a_name_that_webnn_does_not_have():
    with pytest.raises(AttributeError, match="'MLGraphBuilder' object has no attribute 'celu'"):
        made().celu  # noqa: B018


def test_states():
    b = made()
    x = operand(b, "float32", 2, name="x")
    graph = b.build({"y": b.abs(x)})
    for call in (lambda: b.abs(x), lambda: b.build({"y": x}), lambda: b.input("z", {}), lambda: b.constant("int8", 1)):
        with pytest.raises(InvalidStateError, match="the builder has built its graph. Make another MLGraphBuilder"):
            call()
    given = {"x": np.zeros(2, np.float32)}
    assert graph(given)["y"].tolist() == [0, 0]
    graph.destroy()
    with pytest.raises(InvalidStateError, match="MLGraph: the graph is destroyed. Build it again"):
        graph(given)
    context = createContext()
    other = MLGraphBuilder(context)
    context.destroy()
    with pytest.raises(InvalidStateError, match="constant: the context is destroyed. Make another MLContext"):
        other.constant("float32", 1)


def test_inputs_of_a_call():
    b = made()
    graph = b.build({"y": b.abs(operand(b, "float32", 2, name="x"))})
    for given, text in (
        ([1, 2], "MLGraph: the inputs are a list; allowed: a dictionary. Write {'name': array}"),
        ({}, "MLGraph: the input 'x' is missing; allowed: x"),
        ({"x": [1, 2], "z": 1}, "MLGraph: there is no input 'z'; allowed: x"),
        (
            {"x": np.zeros(2)},
            "MLGraph: the input 'x' is float64; allowed: float32. Convert it first: array.astype('float32')",
        ),
        ({"x": np.zeros(3, np.float32)}, "MLGraph: the input 'x' has the shape [3]; allowed: [2]"),
    ):
        with pytest.raises(MLTypeError) as error:
            graph(given)
        assert str(error.value) == text
    assert graph({"x": [-1, 2]})["y"].tolist() == [1, 2]


def test_tensors():
    context = MLContext()
    descriptor = {"dataType": "float32", "shape": [2]}
    b = MLGraphBuilder(context)
    weights = context.createConstantTensor(descriptor, [2, 3])
    graph = b.build({"y": b.mul(b.input("x", descriptor), b.constant(weights))})
    weights.destroy()
    x = context.createTensor({**descriptor, "writable": True})
    y = context.createTensor({**descriptor, "readable": True})
    context.writeTensor(x, np.float32([1, 2]))
    context.dispatch(graph, {"x": x}, {"y": y})
    assert context.readTensor(y).tolist() == [2, 6]
    foreign = MLContext().createTensor(descriptor)
    small = context.createTensor({"dataType": "int8", "shape": [2]})
    for call, text in (
        (
            lambda: context.readTensor(x),
            "readTensor: the tensor is not readable; allowed: tensors made with 'readable': True",
        ),
        (
            lambda: context.writeTensor(y, [1, 2]),
            "writeTensor: the tensor is not writable; allowed: tensors made with 'writable': True",
        ),
        (
            lambda: context.dispatch(graph, {"x": x}, {"y": x}),
            "dispatch: a tensor stands for two inputs or outputs; allowed: a tensor for each",
        ),
        (lambda: context.dispatch(graph, {}, {"y": y}), "dispatch: the input 'x' is missing; allowed: x"),
        (
            lambda: context.dispatch(graph, {"x": foreign}, {"y": y}),
            "dispatch: the input 'x' is of another context; allowed: tensors of this one",
        ),
        (
            lambda: context.dispatch(graph, {"x": small}, {"y": y}),
            "dispatch: the input 'x' is <MLTensor int8 [2]>; allowed: float32 [2]",
        ),
        (
            lambda: MLGraphBuilder(context).constant(x),
            "constant: the tensor is no constant; allowed: what context.createConstantTensor makes",
        ),
        (
            lambda: MLContext().compute(graph, {}),
            "compute: the graph is of another context; allowed: graphs of this one",
        ),
    ):
        with pytest.raises(MLTypeError) as error:
            call()
        assert str(error.value) == text


def test_indices_out_of_range_are_refused_when_the_graph_runs():
    b = made()
    x, i = operand(b, "float32", 3, name="x"), operand(b, "int32", 1, name="i")
    graph = b.build({"y": b.gather(x, i)})
    with pytest.raises(OgiveError, match="indices have 3 for an axis of size 3; allowed: -3 to 2"):
        graph({"x": np.zeros(3, np.float32), "i": np.int32([3])})


# ---- the examples of the specification


def test_the_example_of_dispatch():
    """C = 0.2 * A + B."""
    b = made()
    descriptor = {"dataType": "float32", "shape": [2, 2]}
    constant = b.constant(descriptor, np.full(4, 0.2, np.float32))
    c = b.add(b.mul(b.input("A", descriptor), constant), b.input("B", descriptor))
    graph = b.build({"C": c})
    found = graph({"A": np.ones((2, 2), np.float32), "B": np.full((2, 2), 0.8, np.float32)})["C"]
    np.testing.assert_array_equal(found, np.float32(0.2) + np.full((2, 2), 0.8, np.float32))


def test_the_example_of_round_even():
    b = made()
    x = b.constant({"dataType": "float32", "shape": [10]}, [0.1, 0.9, 1.1, 1.9, -3.5, -2.5, -1.5, 1.5, 2.5, 3.5])
    assert b.build({"y": b.roundEven(x)})()["y"].tolist() == [0, 1, 1, 2, -4, -2, -2, 2, 2, 4]


def test_numbers_are_cast_as_the_specification_says():
    b = made()
    cases = {
        ("int8", 300): 127,
        ("uint8", -1): 0,
        ("int32", 2.5): 2,
        ("int32", float("nan")): 0,
        ("float16", 1e6): np.inf,
    }
    for (kind, value), wanted in cases.items():
        assert b.constant(kind, value)._array == wanted
    assert b.constant("float32", 2**24 + 1)._array == 2**24
    assert b.constant("int64", 2**62 + 1)._array == 2**62 + 1


# ---- every method of the builder, with everything in the place of each operand: wrong ones raise MLTypeError, and nothing else


METHODS = sorted(
    name for name in vars(MLGraphBuilder) if not name.startswith("_") and name not in ("input", "constant", "build")
)
WRONG_OPERANDS = (
    3,
    1.5,
    [1.5],
    None,
    "x",
    np.float32(2),
    {"a": 1},
    True,
    [3],
    np.ones(2, np.float32),
    [[1]],
    object(),
    "int4",
)


def test_there_are_methods():
    assert len(METHODS) > 80


@pytest.mark.parametrize("name", METHODS)
def test_wrong_operands_and_options(name):
    builder = MLGraphBuilder(MLContext())
    x = builder.input("x", {"dataType": "float32", "shape": [2, 4]})
    method = getattr(builder, name)
    places = [
        p
        for p in inspect.signature(method).parameters.values()
        if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
    ]
    assert places
    raised = 0
    for wrong in (*WRONG_OPERANDS, [x], [[x]]):
        calls = [[*[x] * place, wrong, *[x] * (len(places) - place - 1)] for place in range(len(places))]
        calls += [
            [*[x] * len(places), {option: wrong}] for option in ("axis", "axes", "scale", "bias", "alpha", "label")
        ]
        calls.append([*[x] * len(places), wrong])
        for arguments in calls:
            try:
                method(*arguments)
            except MLTypeError:
                raised += 1
    assert raised


# ---- the guide's programs run, its message is the real one, and its table is the data


DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "webnn.md").read_text(encoding="utf-8")


def programs(text):
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def test_the_programs_run_in_order():
    scope = {}
    assert len(programs(TEXT)) == 3
    for program in programs(TEXT):
        exec(compile(program, "docs/webnn.md", "exec"), scope)
    assert scope["text"] == re.search(r"```text\n(.*?)\n```", TEXT, re.DOTALL)[1]


def test_the_table_has_every_operator():
    table = (DOCS / "tables" / "webnn.md").read_text(encoding="utf-8")
    assert renewed(table) == table, "run: make pages"
    assert all(f"| `{name}` |" in table for name in OPERATORS)
    assert all(f"`{name}`" in TEXT for name in OUT_OF_SCOPE)


@pytest.mark.matrix(share=16, pool="slow")
def test_importing_the_guides_module_needs_no_other_front_end():
    import subprocess
    import sys

    code = "import sys, ogive.webnn; print([m for m in ('onnx', 'llvmlite', 'ogive.onnx', 'ogive.directml') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"


def test_support_limits_are_the_specifications_dictionaries():
    """Each operator has the members of its dictionary, of results too, and what the specification requires of everybody."""
    from ogive.webnn.operator_table import required, specified

    found = MLContext().opSupportLimits()
    for name in OPERATORS:
        assert list(found[name]) == list(specified()[name]), name
        assert {"output", "outputs"} & found[name].keys(), name
        for member, least in required(name).items():
            own = found[name][member]
            assert own.keys() == {"dataTypes", "rankRange"}
            assert set(least["dataTypes"]) <= set(own["dataTypes"]), (name, member)
            assert (
                own["rankRange"]["min"]
                <= least["rankRange"]["min"]
                <= least["rankRange"]["max"]
                <= own["rankRange"]["max"]
            )
    assert list(found["batchNormalization"]) == ["input", "mean", "variance", "scale", "bias", "output"]
    assert list(found["quantizeLinear"]) == ["input", "scale", "zeroPoint", "output"]
    assert found["quantizeLinear"]["output"]["dataTypes"] == found["quantizeLinear"]["zeroPoint"]["dataTypes"]
    assert list(found["where"]) == ["condition", "trueValue", "falseValue", "output"]
    assert list(found["concat"]) == ["inputs", "output"]
    assert list(found["split"]) == ["input", "outputs"]
    assert found["equal"]["output"]["dataTypes"] == ["uint8"]
