"""The operators of WebNN as data: types of operands, ranks, options with their defaults, and what computes them.

The rows follow the tables "Tensor limits for ..." and the dictionaries of options of the specification (W3C, Web Neural
Network API, 27 June 2026). tensor_limits.json has those tables as they are: `opSupportLimits` says what is supported here, and
the *required* types and ranks are those that every implementation must have.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from ogive.webnn.operand import DATA_TYPES, FLOATS, SIGNED, WIDE

ANY = tuple(DATA_TYPES)
TRUTH = ("uint8",)
PLACES = ("int32", "uint32", "int64")
QUANTISED = ("uint8", "int8", "uint32", "int32")

#: How a row is computed: element by element by the formula that catalog/standards.py says, by a reduction of the engine, or
#: by what lowering.py says.
Kind = Literal["elements", "reduction", "own"]


@dataclass(frozen=True)
class OperandRule:
    """An operand: its name, the types it may have, and its ranks (None: any)."""

    name: str
    types: tuple[str, ...] | str
    """Types, or the name of the operand whose type it has."""
    ranks: tuple[int, int | None] = (0, None)


@dataclass(frozen=True)
class OperatorRule:
    """An operator."""

    kind: Kind
    operands: tuple[OperandRule, ...]
    reduction: str = ""
    """The engine's name of a reduction."""
    options: dict[str, Any] = field(default_factory=dict)
    """The options besides the label, with their defaults; None: absent."""
    onnx: str = ""
    """The operator of ONNX that does the same; the notes of docs/tables/webnn.md say where they differ."""


def _unary(onnx: str, types: tuple[str, ...] = FLOATS, operand: str = "input", **options: Any) -> OperatorRule:
    return OperatorRule("elements", (OperandRule(operand, types),), options=options, onnx=onnx)


def _binary(onnx: str, types: tuple[str, ...] = ANY, first: str = "a", second: str = "b") -> OperatorRule:
    return OperatorRule("elements", (OperandRule(first, types), OperandRule(second, first)), onnx=onnx)


def _reduction(name: str, onnx: str, types: tuple[str, ...]) -> OperatorRule:
    options = {"axes": None, "keepDimensions": False}
    return OperatorRule("reduction", (OperandRule("input", types),), name, options, onnx=onnx)


def _own(onnx: str, *operands: OperandRule, **options: Any) -> OperatorRule:
    return OperatorRule("own", operands, options=options, onnx=onnx)


_X = OperandRule("input", ANY)
_AXIS = OperandRule("input", ANY, (1, None))

OPERATORS: dict[str, OperatorRule] = {
    # activations
    "clamp": _own("Clip", _X, minValue=None, maxValue=None),
    "elu": _unary("Elu", alpha=1),
    "gelu": _unary("Gelu"),
    "hardSigmoid": _unary("HardSigmoid", alpha=0.2, beta=0.5),
    "hardSwish": _unary("HardSwish"),
    "leakyRelu": _unary("LeakyRelu", alpha=0.01),
    "linear": _unary("Affine", alpha=1, beta=0),
    "prelu": _binary("PRelu", SIGNED, "input", "slope"),
    "relu": _unary("Relu", SIGNED),
    "sigmoid": _unary("Sigmoid"),
    "softmax": _own("Softmax", OperandRule("input", FLOATS, (1, None))),
    "softplus": _unary("Softplus"),
    "softsign": _unary("Softsign"),
    "tanh": _unary("Tanh"),
    # one operand, element by element
    "abs": _unary("Abs", SIGNED),
    "ceil": _unary("Ceil"),
    "cos": _unary("Cos"),
    "erf": _unary("Erf"),
    "exp": _unary("Exp"),
    "floor": _unary("Floor"),
    "identity": _unary("Identity", ANY),
    "log": _unary("Log"),
    "neg": _unary("Neg", SIGNED),
    "reciprocal": _unary("Reciprocal"),
    "roundEven": _unary("Round"),
    "sign": _unary("Sign", SIGNED),
    "sin": _unary("Sin"),
    "sqrt": _unary("Sqrt"),
    "tan": _unary("Tan"),
    "cast": _own("Cast", _X),
    # two operands
    "add": _binary("Add"),
    "div": _binary("Div"),
    "max": _binary("Max"),
    "min": _binary("Min"),
    "mul": _binary("Mul"),
    "pow": _binary("Pow"),
    "sub": _binary("Sub"),
    # comparisons and truth values, which are uint8 here
    "equal": _binary("Equal"),
    "notEqual": _binary("Equal, Not"),
    "greater": _binary("Greater"),
    "greaterOrEqual": _binary("GreaterOrEqual"),
    "lesser": _binary("Less"),
    "lesserOrEqual": _binary("LessOrEqual"),
    "logicalNot": _unary("Not", TRUTH, "a"),
    "logicalAnd": _binary("And", TRUTH),
    "logicalOr": _binary("Or", TRUTH),
    "logicalXor": _binary("Xor", TRUTH),
    "isNaN": _unary("IsNaN", FLOATS, "a"),
    "isInfinite": _unary("IsInf", FLOATS, "a"),
    "where": OperatorRule(
        "elements",
        (OperandRule("condition", TRUTH), OperandRule("trueValue", ANY), OperandRule("falseValue", "trueValue")),
        onnx="Where",
    ),
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
    "cumulativeSum": _own("CumSum", OperandRule("input", WIDE, (1, None)), exclusive=False, reversed=False),
    # where elements lie
    "concat": _own("Concat", _AXIS),
    "expand": _own("Expand", _X),
    "gather": _own("Gather", _AXIS, OperandRule("indices", PLACES), axis=0),
    "gatherElements": _own("GatherElements", _AXIS, OperandRule("indices", PLACES, (1, None)), axis=0),
    "gatherND": _own("GatherND", _AXIS, OperandRule("indices", PLACES, (1, None))),
    "pad": _own("Pad", _X, mode="constant", value=0),
    "reshape": _own("Reshape", _X),
    "reverse": _own("Slice", _X, axes=None),
    "scatterElements": _own(
        "ScatterElements", _AXIS, OperandRule("indices", PLACES, (1, None)), OperandRule("updates", "input"), axis=0
    ),
    "scatterND": _own("ScatterND", _AXIS, OperandRule("indices", PLACES, (1, None)), OperandRule("updates", "input")),
    "slice": _own("Slice", _X, strides=None),
    "split": _own("Split", _AXIS, axis=0),
    "tile": _own("Tile", _X),
    "transpose": _own("Transpose", _X, permutation=None),
    "triangular": _own("Trilu", OperandRule("input", ANY, (2, None)), upper=True, diagonal=0),
    # quantised numbers, normalisation
    "dequantizeLinear": _own(
        "DequantizeLinear",
        OperandRule("input", QUANTISED),
        OperandRule("scale", FLOATS),
        OperandRule("zeroPoint", "input"),
    ),
    "quantizeLinear": _own(
        "QuantizeLinear",
        OperandRule("input", FLOATS),
        OperandRule("scale", "input"),
        OperandRule("zeroPoint", QUANTISED),
    ),
    "batchNormalization": _own(
        "BatchNormalization",
        OperandRule("input", FLOATS, (1, None)),
        OperandRule("mean", "input", (1, 1)),
        OperandRule("variance", "input", (1, 1)),
        scale=None,
        bias=None,
        axis=1,
        epsilon=1e-5,
    ),
    "instanceNormalization": _own(
        "InstanceNormalization",
        OperandRule("input", FLOATS, (4, 4)),
        scale=None,
        bias=None,
        epsilon=1e-5,
        layout="nchw",
    ),
    "layerNormalization": _own(
        "LayerNormalization", OperandRule("input", FLOATS), scale=None, bias=None, axes=None, epsilon=1e-5
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


@cache
def specified() -> dict[str, dict[str, dict[str, Any]]]:
    """By operator and member of its dictionary: types, ranks, required types and ranks; or the member that they are those of."""
    found: dict[str, dict[str, dict[str, Any]]] = json.loads(
        (Path(__file__).parent / "tensor_limits.json").read_bytes()
    )
    return found


def limits(operator: str, largest_rank: int) -> dict[str, dict[str, Any]]:
    """The MLTensorLimits of each member of an operator's dictionary, as they hold here.

    >>> limits("argMax", 8)["output"]
    {'dataTypes': ['int32', 'int64'], 'rankRange': {'min': 0, 'max': 8}}
    """
    own = {operand.name: operand for operand in OPERATORS[operator].operands}
    found: dict[str, dict[str, Any]] = {}
    for name, facts in specified()[operator].items():
        rule = own.get(name, own.get(name.removesuffix("s")))  # concat has many operands in one member
        types = facts["types"] if rule is None or isinstance(rule.types, str) else rule.types
        low_and_high = facts["ranks"] if rule is None else rule.ranks
        if isinstance(types, str):
            types = list(DATA_TYPES) if types == "any" else found[types]["dataTypes"]
        if isinstance(low_and_high, str):
            ranks = found[low_and_high]["rankRange"]
        else:
            low, high = low_and_high
            ranks = {"min": low, "max": largest_rank if high is None else high}
        found[name] = {"dataTypes": list(types), "rankRange": dict(ranks)}
    return found


def required(operator: str) -> dict[str, dict[str, Any]]:
    """The types and ranks that every implementation must have, by member.

    >>> required("gelu")["input"]
    {'dataTypes': ['float32', 'float16'], 'rankRange': {'min': 0, 'max': 5}}
    """
    return {
        name: {
            "dataTypes": facts["required"],
            "rankRange": dict(zip(("min", "max"), facts["requiredRanks"], strict=True)),
        }
        for name, facts in specified()[operator].items()
    }
