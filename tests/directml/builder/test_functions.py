"""Every function makes the operator that its name says, from the arguments that the data says."""

import inspect
import json

import numpy as np
import pytest

import ogive
import ogive.directml as dml
from ogive.directml.builder import vocabulary
from ogive.directml.data import function_names
from ogive.errors import ArgumentError, DTypeError, ParameterError, ShapeError, UnsupportedError
from tests.directml.running import DEVICE, IDS, RUNNABLE, values
from tests.directml.standard import FOLDER, NUMPY, OPERATORS, inputs, make, output, sizes_for
from tests.inputs import assert_same_bits

PYTHON = json.loads((FOLDER / "python.json").read_text(encoding="utf-8"))


def variant_of(name):
    short = name.removeprefix("DML_OPERATOR_")
    return next((f, v) for f in vocabulary.functions().values() for v in f.variants if v.facts.name == short)


def arguments(desc, variant):
    """The keywords for which a function makes the desc."""
    found = {}
    for argument in variant.keywords:
        value = getattr(desc, argument.member, None)
        if argument.kind == "data_type":
            value = NUMPY[desc.output.DataType.name[21:]]
        elif argument.kind == "sizes":
            value = desc.output.Sizes
        elif argument.kind == "scalar":
            value = value.value(desc.scalar_type)
        elif argument.kind == "fused_activation":
            value = dml.FusedActivation.relu()
        if value is not None:
            found[argument.name] = value
    return found


def called(graph, desc):
    """The expression, and the arrays for its inputs."""
    function, variant = variant_of(desc.FACTS.type_name)
    given = {}
    for position, member in enumerate(inputs(desc.FACTS.type_name)):
        t = getattr(desc, member)
        kind = t.DataType.name[21:]
        data = values(kind, int(np.prod(t.Sizes)), position).reshape(t.Sizes)
        given[graph.input(t.Sizes, NUMPY[kind])] = data
    first = [graph] if function.is_source else list(given)
    return getattr(dml, function.name)(*first, **arguments(desc, variant)), given


@pytest.mark.matrix("name", share=5)
@pytest.mark.parametrize(("name", "types"), RUNNABLE, ids=IDS)
def test_functions_compute_their_operators(name, types):
    desc = make(name, types=dict(types), sizes=(3, 5))
    if "FusedActivation" in desc.__match_args__:
        desc = desc.replace(FusedActivation=dml.DML_ACTIVATION_RELU_OPERATOR_DESC(None, None))
    graph = dml.Graph(DEVICE)
    y, given = called(graph, desc)
    assert y._node.operator.desc == desc
    assert y.dtype == NUMPY[dict(types)[output(name)]]
    (result,) = graph.compile([y])(given)
    (wanted,) = DEVICE.CompileOperator(DEVICE.CreateOperator(desc)).dispatch(list(given.values()))
    assert_same_bits(result, np.ascontiguousarray(wanted))


def test_there_is_a_function_for_every_operator():
    assert len(OPERATORS) >= 95
    covered = {v.facts.type_name for f in vocabulary.functions().values() for v in f.variants}
    assert covered == set(OPERATORS)
    assert set(function_names()) == set(vocabulary.functions()) <= set(dir(dml))


#: The functions of the maintained Python binding that are in scope, with their parameters as it declares them.
DECLARED = {
    **dict.fromkeys(
        [
            "identity",
            "abs",
            "acos",
            "asin",
            "atan",
            "ceil",
            "cos",
            "exp",
            "floor",
            "log",
            "recip",
            "sin",
            "sqrt",
            "tan",
            "erf",
            "sinh",
            "cosh",
            "tanh",
            "asinh",
            "acosh",
            "atanh",
        ],
        "(input, *, scale_bias)",
    ),
    **dict.fromkeys(["sign", "negate", "logical_not", "bit_not"], "(input)"),
    **dict.fromkeys(
        [
            "subtract",
            "multiply",
            "divide",
            "max",
            "min",
            "mean",
            "atan_yx",
            "difference_square",
            "logical_and",
            "logical_or",
            "logical_xor",
            "bit_and",
            "bit_or",
            "bit_xor",
            "bit_shift_left",
            "bit_shift_right",
            "modulus_truncate",
            "modulus_floor",
        ],
        "(a, b)",
    ),
    **dict.fromkeys(
        ["equals", "greater_than", "greater_than_or_equal", "less_than", "less_than_or_equal"],
        "(a, b, *, output_dtype)",
    ),
    **dict.fromkeys(["is_nan", "bit_count"], "(input, *, output_dtype)"),
    **dict.fromkeys(
        [f"activation_{n}" for n in ["relu", "sigmoid", "identity", "tanh", "gelu", "softsign"]],
        "(input)",
    ),
    **dict.fromkeys(
        [f"activation_{n}" for n in ["elu", "celu", "leaky_relu", "thresholded_relu"]], "(input, *, alpha)"
    ),
    **dict.fromkeys(
        [f"activation_{n}" for n in ["hard_sigmoid", "linear", "parametric_softplus", "scaled_tanh"]],
        "(input, *, alpha, beta)",
    ),
    **dict.fromkeys([f"activation_{n}" for n in ["softmax", "hardmax", "log_softmax"]], "(input, *, axes)"),
    "activation_scaled_elu": "(input, *, alpha, gamma)",
    "activation_shrink": "(input, *, bias, threshold)",
    "activation_softplus": "(input, *, steepness)",
    "activation_parameterized_relu": "(input, slope)",
    "add": "(a, b, *, fused_activation)",
    "clip": "(input, *, scale_bias, min, max)",
    "threshold": "(input, *, scale_bias, min)",
    "round": "(input, *, rounding_mode)",
    "is_infinity": "(input, *, infinity_mode, output_dtype)",
    "cast": "(input, *, dtype)",
    "pow": "(input, exponent, *, scale_bias)",
    "where": "(condition, a, b)",
    "quantize_linear": "(input, scale, zero_point, *, output_dtype)",
    "dequantize_linear": "(input, scale, zero_point)",
    "fill_value_constant": "(graph, *, sizes, value, dtype)",
    "fill_value_sequence": "(graph, *, sizes, value_start, value_delta, dtype)",
    "clip_grad": "(input, input_gradient, *, min, max)",
}


@pytest.mark.parametrize("name", DECLARED)
def test_signatures(name):
    parameters = inspect.signature(getattr(dml, name)).parameters
    shown, seen = [], False
    for parameter in parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not seen:
            shown.append("*")
            seen = True
        shown.append(parameter.name)
    assert f"({', '.join(shown)})" == DECLARED[name]


@pytest.mark.parametrize("name", function_names())
def test_functions_are_documented(name):
    function = getattr(dml, name)
    assert function.__name__ == name
    assert "DML_OPERATOR_" in inspect.getdoc(function)
    for parameter in inspect.signature(function).parameters:
        assert parameter == "graph" or f"{parameter}: " in inspect.getdoc(function)


@pytest.mark.parametrize("name", PYTHON["out_of_scope"])
def test_what_is_out_of_scope_is_refused_by_name(name):
    function = getattr(dml, name)  # naming it is no error
    with pytest.raises(UnsupportedError, match=f"^{name}: it is out of scope; allowed: activations, element-wise"):
        function(1, whatever=dml.ReduceFunction.SUM)


def test_enumerations_of_other_operators_are_there():
    assert len(PYTHON["out_of_scope_enumerations"]) == 10
    for name, members in PYTHON["out_of_scope_enumerations"].items():
        assert [m.name for m in getattr(dml, name)] == members
    assert dml.TensorDataType.FLOAT16 is dml.DML_TENSOR_DATA_TYPE_FLOAT16
    assert dml.OperatorType.ACTIVATION_RELU is dml.DML_OPERATOR_ACTIVATION_RELU
    for name, full in PYTHON["aliases"].items():
        assert getattr(dml, name) is getattr(dml, full)


# ---- which operator

X = np.float32([[-2.0, -0.5, 0.5, 3.0]])


def graph_of(*arrays, device=DEVICE):
    graph = dml.Graph(device)
    return graph, [graph.input(a.shape, a.dtype) for a in arrays]


def compute(build, *arrays, device=DEVICE):
    graph, xs = graph_of(*arrays, device=device)
    return graph.compile([build(*xs)])(dict(zip(xs, arrays, strict=True)))[0]


def operator_of(x):
    return x._node.operator.desc.FACTS.name


def test_arguments_choose_the_operator():
    _, (x, y) = graph_of(X, X)
    assert operator_of(dml.add(x, y)) == "ELEMENT_WISE_ADD"
    assert operator_of(dml.add(x, y, fused_activation=dml.FusedActivation.relu())) == "ELEMENT_WISE_ADD1"
    assert operator_of(dml.pow(x, y)) == "ELEMENT_WISE_POW"
    assert operator_of(dml.pow(x, 2.0)) == "ELEMENT_WISE_CONSTANT_POW"
    assert operator_of(dml.pow(x, exponent=2, scale_bias=(1, 2))) == "ELEMENT_WISE_CONSTANT_POW"
    assert operator_of(dml.activation_softmax(x)) == "ACTIVATION_SOFTMAX"
    assert operator_of(dml.activation_softmax(x, axes=[])) == "ACTIVATION_SOFTMAX"
    assert operator_of(dml.activation_softmax(x, axes=[0])) == "ACTIVATION_SOFTMAX1"
    assert operator_of(dml.activation_softmax(x, axes=np.array([1]))) == "ACTIVATION_SOFTMAX1"
    assert operator_of(dml.add(x, y, fused_activation=dml.FusedActivation.none())) == "ELEMENT_WISE_ADD"


def test_none_is_no_fused_activation():
    result = compute(lambda a, b: dml.add(a, b, fused_activation=dml.FusedActivation.none()), X, X)
    assert_same_bits(result, X + X)
    result = compute(lambda a, b: dml.add(a, b, fused_activation=dml.FusedActivation.relu()), X, X)
    assert_same_bits(result, ogive.relu(X + X))


def test_defaults():
    defaults = {p.name: p.default for p in inspect.signature(dml.activation_scaled_elu).parameters.values()}
    assert defaults["alpha"] == 1.67326319217681884765625
    assert_same_bits(compute(dml.activation_shrink, X), ogive.shrink(X))
    assert_same_bits(compute(dml.round, X), np.float32([[-2, -0.0, 0, 3]]))
    half = compute(lambda x: dml.is_nan(x), X)
    assert half.dtype == np.uint8
    assert compute(lambda x: dml.is_nan(x, output_dtype=np.uint32), X).dtype == np.uint32


def test_the_types_of_quantisation():
    x, scale, zero = X, np.full_like(X, 0.5), np.full(X.shape, -3, np.int8)
    assert compute(dml.quantize_linear, x, scale, zero).tolist() == [[-7, -4, -2, 3]]
    found = compute(lambda a, b: dml.quantize_linear(a, b, output_dtype=np.int8), x, scale)
    assert found.dtype == np.int8
    assert found.tolist() == [[-4, -1, 1, 6]]
    assert compute(dml.quantize_linear, x, scale).dtype == np.uint8
    back = compute(dml.dequantize_linear, np.int8([[1, 2, 3, 4]]), scale, zero)
    assert back.tolist() == [[2, 2.5, 3, 3.5]]


def test_where_and_clip():
    condition = np.uint8([[1, 0, 200, 0]])
    assert compute(dml.where, condition, X, -X).tolist() == [[-2, 0.5, 0.5, -3]]
    assert compute(lambda x: dml.clip(x, min=-1, max=1, scale_bias=(2.0, 1.0)), X).tolist() == [[-1, 0, 1, 1]]
    exact = np.int64([[2**62, 2**62 + 5]])
    assert compute(lambda x: dml.clip1(x, min=0, max=2**62 + 1), exact).tolist() == [[2**62, 2**62 + 1]]


def test_fills():
    graph = dml.Graph(DEVICE)
    ones = dml.fill_value_constant(graph, sizes=[2, 2], value=1)
    counted = dml.fill_value_sequence(graph, sizes=[2, 2], value_start=1.0, value_delta=2.0, dtype=np.int16)
    both = graph.compile([dml.identity(ones), ones, counted])()
    assert [array.tolist() for array in both] == [[[1, 1], [1, 1]]] * 2 + [[[1, 3], [5, 7]]]
    assert [array.dtype for array in both] == [np.float32, np.float32, np.int16]
    with pytest.raises(ParameterError, match=r"^fill_value_constant: value is 1.5; allowed: a number that INT16 holds"):
        dml.fill_value_constant(graph, sizes=[2], value=1.5, dtype=np.int16)
    with pytest.raises(ParameterError, match="value is 300; allowed: a number that UINT8 holds"):
        dml.fill_value_constant(graph, sizes=[2], value=300, dtype=np.uint8)
    with pytest.raises(ArgumentError, match="^fill_value_constant: graph is 7; allowed: a dml.Graph"):
        dml.fill_value_constant(7, sizes=[2], value=1)


# ---- refusals


def test_shapes_and_types_must_agree():
    graph = dml.Graph(DEVICE)
    x, y, z = graph.input([2, 2]), graph.input([2, 3]), graph.input([2, 2], np.float16)
    text = r"^max: b has shape \[2, 3\]; allowed: \[2, 2\], as a. Nothing is broadcast .* dml.broadcast\(b, \[2, 2\]\)"
    with pytest.raises(ShapeError, match=text):
        dml.max(x, y)
    with pytest.raises(ValueError, match="^where: b has shape"):
        dml.where(graph.input([2, 2], np.uint8), x, y)
    text = r"^multiply: b is of type float16; allowed: float32, as a. Nothing is converted .* use dml.cast\(b, dtype="
    with pytest.raises(dml.DMLError, match=text):
        x * z
    with pytest.raises(ValueError, match="^add: b has shape"):
        x + y


def test_what_a_level_does_not_take_is_refused_where_it_is_written():
    graph = dml.Graph(dml.Device("3_0"))
    x = graph.input([2, 2], np.int32)
    with pytest.raises(dml.DMLError, match="InputTensor.DataType is INT32; allowed: FLOAT32, FLOAT16 at .*_3_0"):
        dml.activation_shrink(x)
    with pytest.raises(dml.DMLError, match="Alpha is 0.0; allowed: any finite number but 0"):
        dml.activation_celu(graph.input([2]), alpha=0)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: dml.activation_linear(x, alpha=1), ArgumentError, "^activation_linear: missing a required .*beta"),
        (lambda x: dml.activation_elu(x, beta=1), ArgumentError, "unexpected keyword argument 'beta'.*; allowed: acti"),
        (lambda x: dml.activation_elu(x, 2.0), ArgumentError, r"too many positional .*\(input, \*, alpha=1.0\)"),
        (lambda x: dml.activation_elu(np.zeros(3)), ArgumentError, "input is an array.*Use graph.constant"),
        (lambda x: dml.pow(x, "2"), dml.DMLError, "Exponent is '2'; allowed: a number"),
        (lambda x: dml.abs(x, scale_bias=2.0), ParameterError, r"scale_bias is 2.0; allowed: a pair \(scale, bias\)"),
        (lambda x: dml.abs(x, scale_bias=(1, 2, 3)), ParameterError, "allowed: a pair"),
        (lambda x: dml.abs(x, scale_bias=(1, "a")), dml.DMLError, "Bias is 'a'; allowed: a number"),
        (lambda x: dml.add(x, x, fused_activation="relu"), ArgumentError, "fused_activation is 'relu'; allowed: a Fus"),
        (lambda x: dml.cast(x, dtype=np.complex64), DTypeError, "^cast: dtype is the class complex64; allowed: "),
        (lambda x: dml.cast(x, dtype=None), ArgumentError, "^cast: dtype is None; allowed: a NumPy dtype"),
        (lambda x: dml.round(x, rounding_mode=17), dml.DMLError, "RoundingMode is 17; allowed: DML_ROUNDING_MODE_HALV"),
        (lambda x: dml.activation_softmax(x, axes=[7]), dml.DMLError, "Axes is .7.; allowed|Axes is \\(7,\\)"),
        (lambda x: dml.broadcast(x, 7), ArgumentError, "^broadcast: shape is 7; allowed: a sequence of whole numbers"),
        (lambda x: dml.broadcast(x, "77"), ArgumentError, "^broadcast: shape is '77'"),
        (lambda x: dml.broadcast(7, [7]), ArgumentError, "^broadcast: input is 7; allowed: an expression of a graph"),
        (lambda x: dml.reinterpret(x, None), ArgumentError, "^reinterpret: sizes is None"),
        (lambda x: dml.reinterpret(x, [4], 1), ArgumentError, "^reinterpret: strides is 1"),
        (lambda x: dml.reinterpret(x, [-4]), dml.DMLError, "is -4; allowed: whole numbers from 0"),
        (lambda x: dml.reinterpret(x, [4], dtype="i3"), DTypeError, "^reinterpret: dtype is 'i3'"),
        (lambda x: dml.where(x, x, x), dml.DMLError, "ConditionTensor.DataType is FLOAT32; allowed: UINT8"),
        (lambda x: dml.add(x, dml.Graph(DEVICE).input([1, 4])), ArgumentError, "b belongs to another graph than a"),
    ],
)
def test_wrong_arguments(call, error, text):
    _, (x,) = graph_of(X)
    with pytest.raises(error, match=text):
        call(x)


def test_unknown_names_are_no_functions():
    assert not hasattr(dml, "activation_nothing")
    with pytest.raises(AttributeError, match="module 'ogive.directml' has no attribute 'output_tensor'"):
        _ = dml.output_tensor
    for name, meant in (
        ("DMLCreateDevice", "Device"),
        ("DMLCreateDevice1", "Device"),
        ("IDMLDevice1", "Device"),
        ("IDMLBindingTable", "BindingTable"),
    ):
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'. Did you mean {meant}\\?"):
            getattr(dml, name)


# ---- fused activations

FUSABLE = [n for n in dir(dml.FusedActivation) if n[0] != "_" and n not in ("desc", "none", "linear")]
assert len(FUSABLE) >= 15


@pytest.mark.parametrize("name", FUSABLE)
def test_fused_activations_have_the_defaults_of_their_functions(name):
    factory = getattr(dml.FusedActivation, name)
    alone = inspect.signature(getattr(dml, f"activation_{name}")).parameters
    for parameter in inspect.signature(factory).parameters.values():
        assert alone[parameter.name].default == parameter.default
    numbers = [0.5, 0.75][: len(inspect.signature(factory).parameters)]
    activation = factory(*numbers)
    assert activation == dml.FusedActivation(activation.activation, *numbers)
    keywords = dict(zip(inspect.signature(factory).parameters, numbers, strict=True))
    wanted = compute(lambda x: getattr(dml, f"activation_{name}")(x, **keywords), X + X)
    assert_same_bits(compute(lambda a, b: dml.add(a, b, fused_activation=activation), X, X), wanted)


def test_fused_activations_that_there_are_not():
    assert repr(dml.FusedActivation(dml.OperatorType.ACTIVATION_LEAKY_RELU)) == (
        "FusedActivation(ACTIVATION_LEAKY_RELU, 0.01)"
    )
    with pytest.raises(ArgumentError, match="alpha of ACTIVATION_LINEAR is missing; it has no default"):
        dml.FusedActivation(dml.OperatorType.ACTIVATION_LINEAR)
    with pytest.raises(ArgumentError, match=r"^FusedActivation.linear: missing a required argument: 'beta'; allowed"):
        dml.FusedActivation.linear(1.0)
    with pytest.raises(dml.DMLError, match="activation is 12345; allowed: a member of DML_OPERATOR_TYPE"):
        dml.FusedActivation(12345)
    _, (x,) = graph_of(X)
    swish = dml.FusedActivation(dml.OperatorType.ACTIVATION_SWISH)
    with pytest.raises(dml.DMLError, match="FusedActivation is ACTIVATION_SWISH; allowed: "):
        dml.add(x, x, fused_activation=swish)


# ---- views


def test_broadcast_follows_numpy():
    graph = dml.Graph(DEVICE)
    image = graph.input([1, 3, 2, 2])
    bias = graph.constant(np.float32([1, 2, 3]), sizes=[1, 3, 1, 1])
    view = dml.broadcast(bias, [2, 3, 4, 5])
    assert view.shape == (2, 3, 4, 5)
    assert view.strides == (0, 1, 0, 0)
    assert dml.broadcast(graph.input([3, 4]), [2, 3, 4]).strides == (0, 4, 1)
    assert dml.broadcast(image, [1, 3, 2, 2]) is image
    data = np.arange(12, dtype=np.float32).reshape(1, 3, 2, 2)
    (result,) = graph.compile([image + dml.broadcast(bias, image.shape)])({image: data})
    assert_same_bits(result, data + np.float32([1, 2, 3]).reshape(1, 3, 1, 1))
    for shape in ([1, 3, 4, 4], [3, 2, 2], [], [2, 2, 2, 2]):
        with pytest.raises(ShapeError, match=r"^broadcast: it cannot broadcast \[1, 3, 2, 2\] to \["):
            dml.broadcast(image, shape)


def test_views_keep_strides_and_bytes():
    graph = dml.Graph(DEVICE)
    x = graph.input([2, 3])
    transposed = dml.reinterpret(x, [3, 2], [1, 3])
    assert dml.broadcast(transposed, [4, 3, 2]).strides == (0, 1, 3)
    bits = dml.reinterpret(x, [2, 3], dtype=np.int32)
    data = np.arange(6, dtype=np.float32).reshape(2, 3)
    found = graph.compile(
        [dml.identity(transposed), dml.identity(bits), dml.identity(dml.broadcast(transposed, [2, 3, 2]))]
    )
    first, second, third = found({x: data})
    assert_same_bits(first, np.ascontiguousarray(data.T))
    assert_same_bits(second, data.view(np.int32))
    assert_same_bits(third, np.broadcast_to(data.T, (2, 3, 2)))
    for sizes, strides in (([7], None), ([5], None), ([2, 3], [4, 1]), ([3], [3])):
        with pytest.raises(ShapeError, match="^reinterpret: sizes .* take .* bytes; allowed: 24 bytes, as <dml.Expre"):
            dml.reinterpret(x, sizes, strides)


def test_views_of_results_are_outputs():
    graph = dml.Graph(DEVICE)
    x = graph.input([2, 3])
    y = x * 2.0
    data = np.arange(6, dtype=np.float32).reshape(2, 3)
    doubled, turned, repeated = graph.compile(
        [y, dml.reinterpret(y, [3, 2], [1, 3]), dml.broadcast(dml.reinterpret(y, [6, 1]), [6, 2])]
    )({x: data})
    assert_same_bits(doubled, data * 2)
    assert turned.tolist() == (data.T * 2).tolist()
    assert repeated.tolist() == np.broadcast_to(data.reshape(6, 1) * 2, (6, 2)).tolist()
    assert repeated.strides == (8, 4)


def test_sizes_for_scales_of_quantised_sums():
    """Every zero point may be None, wherever it stands."""
    name = "DML_OPERATOR_ELEMENT_WISE_QUANTIZED_LINEAR_ADD"
    assert sizes_for(name, "AScaleTensor", 2) == (1, 1)
    graph = dml.Graph(DEVICE)
    a, b, scale = graph.input([1, 3], np.uint8), graph.input([1, 3], np.uint8), graph.input([1, 1])
    y = dml.quantized_linear_add(a, scale, None, b, scale, None, scale)
    data = np.uint8([[1, 100, 200]])
    assert graph.compile([y])({a: data, b: data, scale: [[1.0]]})[0].tolist() == [[2, 200, 255]]
    with pytest.raises(ArgumentError, match="a_scale is None; allowed: an expression"):
        dml.quantized_linear_add(a, None, None, b, scale, None, scale)
