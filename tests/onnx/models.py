"""Models for tests: from ONNX's text form, or of one node made from a schema."""

import numpy as np
from onnx import TypeProto, helper, numpy_helper, parser

from ogive.onnx.data_types import DATA_TYPES, data_type_of, proto_of_type
from ogive.onnx.schemas import followed

#: The operators that Ogive is for: the activations, and what stands around them.
ACTIVATIONS = [
    "Celu",
    "Clip",
    "Elu",
    "GeGLU",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "Hardmax",
    "LeakyRelu",
    "LogSoftmax",
    "Mish",
    "PRelu",
    "Relu",
    "Selu",
    "Shrink",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "Softsign",
    "SwiGLU",
    "Swish",
    "Tanh",
    "ThresholdedRelu",
]
HELPERS = [
    "Abs",
    "Acos",
    "Acosh",
    "Add",
    "And",
    "ArgMax",
    "ArgMin",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "BatchNormalization",
    "BitCast",
    "BitShift",
    "BitwiseAnd",
    "BitwiseNot",
    "BitwiseOr",
    "BitwiseXor",
    "Cast",
    "CastLike",
    "Ceil",
    "Compress",
    "Concat",
    "Constant",
    "ConstantOfShape",
    "Cos",
    "Cosh",
    "CumProd",
    "CumSum",
    "DepthToSpace",
    "DequantizeLinear",
    "Div",
    "Dropout",
    "Equal",
    "Erf",
    "Exp",
    "Expand",
    "EyeLike",
    "Flatten",
    "Floor",
    "Gather",
    "GatherElements",
    "GatherND",
    "GlobalAveragePool",
    "GlobalLpPool",
    "GlobalMaxPool",
    "Greater",
    "GreaterOrEqual",
    "GroupNormalization",
    "Identity",
    "InstanceNormalization",
    "IsInf",
    "IsNaN",
    "LayerNormalization",
    "Less",
    "LessOrEqual",
    "Log",
    "LpNormalization",
    "Max",
    "Mean",
    "MeanVarianceNormalization",
    "Min",
    "Mod",
    "Mul",
    "Neg",
    "NonZero",
    "Not",
    "OneHot",
    "Or",
    "Pad",
    "Pow",
    "QuantizeLinear",
    "RMSNormalization",
    "Range",
    "Reciprocal",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
    "Reshape",
    "ReverseSequence",
    "Round",
    "Scatter",
    "ScatterElements",
    "ScatterND",
    "Shape",
    "Sign",
    "Sin",
    "Sinh",
    "Size",
    "Slice",
    "SpaceToDepth",
    "Split",
    "Sqrt",
    "Squeeze",
    "Sub",
    "Sum",
    "Tan",
    "Tile",
    "TopK",
    "Transpose",
    "Trilu",
    "Unsqueeze",
    "Where",
    "Xor",
]
SCOPE = frozenset(ACTIVATIONS + HELPERS)

NEWEST_OPSET = 29

#: Every version of those operators up to the newest opset.
SCHEMAS = sorted(
    (schema for schema in followed() if schema.name in SCOPE and schema.since_version <= NEWEST_OPSET),
    key=lambda schema: (schema.name, schema.since_version),
)


def text_model(text, opset=18, ir_version=8):
    """A model from ONNX's text form, without its header."""
    return parser.parse_model(f'<ir_version: {ir_version}, opset_import: ["" : {opset}]>\n{text}')


def node_model(operator, opset, inputs, attributes=None, outputs=("y",), constants=None, domain=""):
    """A model of one node.

    ``inputs`` is a list of (name, type or array); a name of "" is an input that is left out. ``constants``
    become initialisers.
    """
    infos = [helper.make_value_info(name, type_proto(value)) for name, value in inputs if name]
    constants = constants or {}
    node = helper.make_node(
        operator, [name for name, _ in inputs] + list(constants), list(outputs), domain=domain, **(attributes or {})
    )
    results = [helper.make_value_info(name, TypeProto()) for name in outputs if name]
    graph = helper.make_graph([node], "test", infos, results, [tensor(n, a) for n, a in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(domain, opset)], ir_version=10)


def type_proto(value):
    if isinstance(value, np.ndarray):
        value = data_type_of(value.dtype).type
    if value in DATA_TYPES:
        return proto_of_type(value)
    kind, inner = value.removesuffix(")").split("(", 1)
    make = {"seq": helper.make_sequence_type_proto, "optional": helper.make_optional_type_proto}[kind]
    return make(type_proto(inner))


def tensor(name, array):
    return numpy_helper.from_array(np.asarray(array), name)
