"""The operators of WebNN as data: types of operands, ranks, options with their defaults, and what computes them.

The rows follow the tables "Tensor limits for ..." and the dictionaries of options of the specification (W3C, Web Neural
Network API, June 2026).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ogive.webnn.data_types import DATA_TYPES, FLOATS, SIGNED, WIDE

__all__ = ["OPERATORS", "OUT_OF_SCOPE", "Operand", "Row"]

ANY = tuple(DATA_TYPES)
TRUTH = ("uint8",)
PLACES = ("int32", "uint32", "int64")
QUANTISED = ("uint8", "int8", "uint32", "int32")

#: How a row is computed: by an operator of the catalogue on numbers, on truth values or with one as the result, by a
#: reduction of the engine, or by what lowering.py says.
Kind = Literal["unary", "binary", "comparison", "logical", "test", "reduction", "own"]


@dataclass(frozen=True)
class Operand:
    """An operand: its name, the types it may have, and its ranks (None: any)."""

    name: str
    types: tuple[str, ...] | str
    """Types, or the name of the operand whose type it has."""
    ranks: tuple[int, int | None] = (0, None)


@dataclass(frozen=True)
class Row:
    """An operator."""

    kind: Kind
    operands: tuple[Operand, ...]
    computes: str = ""
    """The catalogue's name, or the engine's of a reduction."""
    options: dict[str, Any] = field(default_factory=dict)
    """The options besides the label, with their defaults; None: absent."""
    choices: dict[str, Any] = field(default_factory=dict)
    """What the catalogue's operator is asked for."""
    onnx: str = ""
    """The operator of ONNX that does the same; the notes of docs/webnn.md say where they differ."""


def _unary(computes: str, onnx: str, types: tuple[str, ...] = FLOATS, operand: str = "input", **more: Any) -> Row:
    return Row("unary", (Operand(operand, types),), computes, onnx=onnx, **more)


def _binary(computes: str, onnx: str) -> Row:
    return Row("binary", (Operand("a", ANY), Operand("b", "a")), computes, onnx=onnx)


def _comparison(computes: str, onnx: str) -> Row:
    return Row("comparison", (Operand("a", ANY), Operand("b", "a")), computes, onnx=onnx)


def _logical(computes: str, onnx: str, *names: str) -> Row:
    return Row("logical", tuple(Operand(name, TRUTH) for name in names), computes, onnx=onnx)


def _reduction(computes: str, onnx: str, types: tuple[str, ...]) -> Row:
    options = {"axes": None, "keepDimensions": False}
    return Row("reduction", (Operand("input", types),), computes, options, onnx=onnx)


def _own(onnx: str, *operands: Operand, **options: Any) -> Row:
    return Row("own", operands, options=options, onnx=onnx)


_X = Operand("input", ANY)
_AXIS = Operand("input", ANY, (1, None))

OPERATORS: dict[str, Row] = {
    # activations
    "clamp": _own("Clip", _X, minValue=None, maxValue=None),
    "elu": _unary("elu", "Elu", options={"alpha": 1}),
    "gelu": _unary("gelu", "Gelu"),
    "hardSigmoid": _unary("hard_sigmoid", "HardSigmoid", options={"alpha": 0.2, "beta": 0.5}),
    "hardSwish": _unary("hard_swish", "HardSwish"),
    "leakyRelu": _unary("leaky_relu", "LeakyRelu", options={"alpha": 0.01}),
    "linear": _unary("linear", "Affine", options={"alpha": 1, "beta": 0}),
    "prelu": Row("binary", (Operand("input", SIGNED), Operand("slope", "input")), "prelu", onnx="PRelu"),
    "relu": _unary("relu", "Relu", SIGNED),
    "sigmoid": _unary("sigmoid", "Sigmoid"),
    "softmax": _own("Softmax", Operand("input", FLOATS, (1, None))),
    "softplus": _unary("softplus", "Softplus"),
    "softsign": _unary("softsign", "Softsign"),
    "tanh": _unary("tanh", "Tanh"),
    # one operand, element by element
    "abs": _unary("abs", "Abs", SIGNED),
    "ceil": _unary("ceil", "Ceil"),
    "cos": _unary("cos", "Cos"),
    "erf": _unary("erf", "Erf"),
    "exp": _unary("exp", "Exp"),
    "floor": _unary("floor", "Floor"),
    "identity": _unary("identity", "Identity", ANY),
    "log": _unary("log", "Log"),
    "neg": _unary("neg", "Neg", SIGNED),
    "reciprocal": _unary("reciprocal", "Reciprocal"),
    "roundEven": _unary("round", "Round", choices={"mode": "nearest_even"}),
    "sign": _unary("sign", "Sign", SIGNED),
    "sin": _unary("sin", "Sin"),
    "sqrt": _unary("sqrt", "Sqrt"),
    "tan": _unary("tan", "Tan"),
    "cast": _own("Cast", _X),
    # two operands
    "add": _binary("add", "Add"),
    "div": _binary("div", "Div"),
    "max": _binary("max", "Max"),
    "min": _binary("min", "Min"),
    "mul": _binary("mul", "Mul"),
    "pow": _binary("pow", "Pow"),
    "sub": _binary("sub", "Sub"),
    # comparisons and truth values, which are uint8 here
    "equal": _comparison("equal", "Equal"),
    "notEqual": _comparison("equal", "Equal, Not"),
    "greater": _comparison("greater", "Greater"),
    "greaterOrEqual": _comparison("greater_or_equal", "GreaterOrEqual"),
    "lesser": _comparison("less", "Less"),
    "lesserOrEqual": _comparison("less_or_equal", "LessOrEqual"),
    "logicalNot": _logical("logical_not", "Not", "a"),
    "logicalAnd": _logical("logical_and", "And", "a", "b"),
    "logicalOr": _logical("logical_or", "Or", "a", "b"),
    "logicalXor": _logical("logical_xor", "Xor", "a", "b"),
    "isNaN": Row("test", (Operand("a", FLOATS),), "isnan", onnx="IsNaN"),
    "isInfinite": Row("test", (Operand("a", FLOATS),), "isinf", onnx="IsInf"),
    "where": _own("Where", Operand("condition", TRUTH), Operand("trueValue", ANY), Operand("falseValue", "trueValue")),
    # reductions
    "reduceL1": _reduction("l1", "ReduceL1", WIDE),
    "reduceL2": _reduction("l2", "ReduceL2", FLOATS),
    "reduceLogSum": _reduction("log_sum", "ReduceLogSum", FLOATS),
    "reduceLogSumExp": _reduction("log_sum_exp", "ReduceLogSumExp", FLOATS),
    "reduceMax": _reduction("max", "ReduceMax", ANY),
    "reduceMean": _reduction("mean", "ReduceMean", FLOATS),
    "reduceMin": _reduction("min", "ReduceMin", ANY),
    "reduceProduct": _reduction("product", "ReduceProd", WIDE),
    "reduceSum": _reduction("sum", "ReduceSum", WIDE),
    "reduceSumSquare": _reduction("sum_square", "ReduceSumSquare", WIDE),
    "argMax": _own("ArgMax", _AXIS, keepDimensions=False, outputDataType="int32"),
    "argMin": _own("ArgMin", _AXIS, keepDimensions=False, outputDataType="int32"),
    "cumulativeSum": _own("CumSum", Operand("input", WIDE, (1, None)), exclusive=False, reversed=False),
    # where elements lie
    "concat": _own("Concat", _AXIS),
    "expand": _own("Expand", _X),
    "gather": _own("Gather", _AXIS, Operand("indices", PLACES), axis=0),
    "gatherElements": _own("GatherElements", _AXIS, Operand("indices", PLACES, (1, None)), axis=0),
    "gatherND": _own("GatherND", _AXIS, Operand("indices", PLACES, (1, None))),
    "pad": _own("Pad", _X, mode="constant", value=0),
    "reshape": _own("Reshape", _X),
    "reverse": _own("Slice", _X, axes=None),
    "scatterElements": _own(
        "ScatterElements", _AXIS, Operand("indices", PLACES, (1, None)), Operand("updates", "input"), axis=0
    ),
    "scatterND": _own("ScatterND", _AXIS, Operand("indices", PLACES, (1, None)), Operand("updates", "input")),
    "slice": _own("Slice", _X, strides=None),
    "split": _own("Split", _AXIS, axis=0),
    "tile": _own("Tile", _X),
    "transpose": _own("Transpose", _X, permutation=None),
    "triangular": _own("Trilu", Operand("input", ANY, (2, None)), upper=True, diagonal=0),
    # quantised numbers, normalisation
    "dequantizeLinear": _own(
        "DequantizeLinear", Operand("input", QUANTISED), Operand("scale", FLOATS), Operand("zeroPoint", "input")
    ),
    "quantizeLinear": _own(
        "QuantizeLinear", Operand("input", FLOATS), Operand("scale", "input"), Operand("zeroPoint", QUANTISED)
    ),
    "batchNormalization": _own(
        "BatchNormalization",
        Operand("input", FLOATS, (1, None)),
        Operand("mean", "input", (1, 1)),
        Operand("variance", "input", (1, 1)),
        scale=None,
        bias=None,
        axis=1,
        epsilon=1e-5,
    ),
    "instanceNormalization": _own(
        "InstanceNormalization", Operand("input", FLOATS, (4, 4)), scale=None, bias=None, epsilon=1e-5, layout="nchw"
    ),
    "layerNormalization": _own(
        "LayerNormalization", Operand("input", FLOATS), scale=None, bias=None, axes=None, epsilon=1e-5
    ),
}

#: Operators that Ogive does not have, and what they are.
OUT_OF_SCOPE: dict[str, str] = {
    **dict.fromkeys(("matmul", "gemm"), "a product of matrices"),
    **dict.fromkeys(("conv2d", "convTranspose2d"), "a convolution"),
    **dict.fromkeys(("averagePool2d", "l2Pool2d", "maxPool2d"), "a pooling"),
    **dict.fromkeys(("gru", "gruCell", "lstm", "lstmCell"), "a recurrent network"),
    "resample2d": "a resampling",
}
