"""The DirectML operator that an ONNX operator maps to: the catalogue where both have it, else a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ogive.catalog.standards import row_of
from ogive.directml.data import OPERATOR_TYPES, facts


class Counterpart(NamedTuple):
    """A DirectML operator that can stand for an ONNX node."""

    directml: str
    inputs: int | None = None
    """How many of the node's inputs are tensors of the operator, from the first on; None: all"""
    dimensions: int | None = None
    """The dimensions that its tensors are seen with, where that is not the node's rank"""
    is_repeated: bool = False
    """Whether it takes two inputs at a time, as often as needed"""


class _MappingRow(NamedTuple):
    onnx: str
    directml: tuple[str, ...]
    """In the order of preference"""
    when: tuple[tuple[str, Any], ...] = ()
    """Values of attributes, the default's included, for which this holds"""
    inputs: int | None = None
    is_repeated: bool = False


#: Operators for which both names in the catalogue do not say all.
_TABLE = (
    _MappingRow("Cast", ("CAST",)),
    _MappingRow("CastLike", ("CAST",), inputs=1),
    _MappingRow("Clip", ("ELEMENT_WISE_CLIP", "ELEMENT_WISE_CLIP1"), inputs=1),
    _MappingRow("ConstantOfShape", ("FILL_VALUE_CONSTANT",), inputs=0),
    _MappingRow("Dropout", ("ELEMENT_WISE_IDENTITY",), inputs=1),
    _MappingRow("Expand", ("ELEMENT_WISE_IDENTITY",), inputs=1),
    _MappingRow("Gelu", ("ACTIVATION_GELU",), (("approximate", "none"),)),
    _MappingRow("HardSwish", ("ACTIVATION_HARD_SWISH",)),
    _MappingRow("Identity", ("ELEMENT_WISE_IDENTITY", "ACTIVATION_IDENTITY")),
    _MappingRow("Mean", ("ELEMENT_WISE_MEAN",), is_repeated=True),
    _MappingRow("Mod", ("ELEMENT_WISE_MODULUS_FLOOR",), (("fmod", 0),)),
    _MappingRow("Mod", ("ELEMENT_WISE_MODULUS_TRUNCATE",), (("fmod", 1),)),
    _MappingRow("Neg", ("ELEMENT_WISE_NEGATE", "ELEMENT_WISE_IDENTITY")),
    _MappingRow("Range", ("FILL_VALUE_SEQUENCE",), inputs=0),
    _MappingRow("Sum", ("ELEMENT_WISE_ADD",), is_repeated=True),
    _MappingRow("Tanh", ("ACTIVATION_TANH", "ELEMENT_WISE_TANH")),
    _MappingRow("Transpose", ("ELEMENT_WISE_IDENTITY",)),
)

#: ONNX's defaults of the attributes in the table.
_DEFAULTS: dict[str, Any] = {"approximate": "none", "fmod": 0}

#: Operators that need none on the device, and why.
NO_OPERATOR = {
    "Constant": "a constant",
    "Flatten": "the same bytes with other sizes",
    "Reshape": "the same bytes with other sizes",
    "Shape": "known before anything runs",
    "Size": "known before anything runs",
    "Squeeze": "the same bytes with other sizes",
    "Unsqueeze": "the same bytes with other sizes",
}

#: DirectML's operators for ONNX's where Ogive has neither tables nor formulas.
_OUTSIDE = {
    "ArgMax": "ARGMAX",
    "ArgMin": "ARGMIN",
    "AveragePool": "AVERAGE_POOLING1",
    "BatchNormalization": "BATCH_NORMALIZATION",
    "Concat": "JOIN",
    "Conv": "CONVOLUTION",
    "ConvInteger": "CONVOLUTION_INTEGER",
    "ConvTranspose": "CONVOLUTION",
    "CumSum": "CUMULATIVE_SUMMATION",
    "DepthToSpace": "DEPTH_TO_SPACE1",
    "Gather": "GATHER",
    "GatherElements": "GATHER_ELEMENTS",
    "GatherND": "GATHER_ND1",
    "Gemm": "GEMM",
    "GlobalAveragePool": "AVERAGE_POOLING1",
    "GlobalLpPool": "LP_POOLING1",
    "GlobalMaxPool": "MAX_POOLING2",
    "GRU": "GRU",
    "InstanceNormalization": "MEAN_VARIANCE_NORMALIZATION1",
    "LayerNormalization": "MEAN_VARIANCE_NORMALIZATION1",
    "LpNormalization": "LP_NORMALIZATION",
    "LpPool": "LP_POOLING1",
    "LRN": "LOCAL_RESPONSE_NORMALIZATION",
    "LSTM": "LSTM",
    "MatMul": "GEMM",
    "MatMulInteger": "MATRIX_MULTIPLY_INTEGER",
    "MaxPool": "MAX_POOLING2",
    "MaxRoiPool": "ROI_POOLING",
    "MaxUnpool": "MAX_UNPOOLING",
    "MeanVarianceNormalization": "MEAN_VARIANCE_NORMALIZATION1",
    "NonZero": "NONZERO_COORDINATES",
    "OneHot": "ONE_HOT",
    "Pad": "PADDING1",
    "QLinearConv": "QUANTIZED_LINEAR_CONVOLUTION",
    "QLinearMatMul": "QUANTIZED_LINEAR_MATRIX_MULTIPLY",
    **{
        f"Reduce{norm}": "REDUCE"
        for norm in ["L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"]
    },
    "Resize": "RESAMPLE2",
    "ReverseSequence": "REVERSE_SUBSEQUENCES",
    "RNN": "RNN",
    "RoiAlign": "ROI_ALIGN1",
    "ScatterElements": "SCATTER",
    "ScatterND": "SCATTER_ND",
    "Slice": "SLICE1",
    "SpaceToDepth": "SPACE_TO_DEPTH1",
    "Split": "SPLIT",
    "Tile": "TILE",
    "TopK": "TOP_K1",
    "Upsample": "RESAMPLE2",
}


def candidates(operator: str, attributes: Mapping[str, Any], *, is_two_dimensional: bool = False) -> list[Counterpart]:
    """The DirectML operators that can stand for an ONNX one, best first; empty where there is none in the data.

    ``is_two_dimensional``: whether a row-wise operator works on what can be seen as a matrix of rows, so that
    those of DirectML's that know no axes can stand for it too.

    >>> [candidate.directml for candidate in candidates("Mod", {"fmod": 1})]
    ['ELEMENT_WISE_MODULUS_TRUNCATE']
    """
    rows = [row for row in _TABLE if row.onnx == operator]
    if not rows:
        return _of_the_catalogue(operator, attributes, is_two_dimensional)
    given = {**_DEFAULTS, **attributes}
    return [
        Counterpart(name, row.inputs, is_repeated=row.is_repeated)
        for row in rows
        if all(given.get(name) == value for name, value in row.when)
        for name in row.directml
        if name in OPERATOR_TYPES
    ]


def _of_the_catalogue(operator: str, attributes: Mapping[str, Any], is_two_dimensional: bool) -> list[Counterpart]:
    row = row_of("onnx", operator, attributes)
    name = None if row is None else row.operator.directml
    if row is None or name not in OPERATOR_TYPES:
        return []
    found = [Counterpart(name, is_repeated=row.is_repeated)]
    older = name.removesuffix("1")
    # Without axes: the last one of at most two dimensions.
    if "Axes" in (member.name for member in facts(name).members) and older in OPERATOR_TYPES and is_two_dimensional:
        found.append(Counterpart(older, dimensions=2))
    return found


def outside(operator: str) -> str | None:
    """The DirectML operator for an ONNX one that Ogive has no tables for; None where none is known.

    >>> outside("Conv"), outside("StringConcat")
    ('CONVOLUTION', None)
    """
    of_the_table = (name for row in _TABLE if row.onnx == operator for name in row.directml)
    return _OUTSIDE.get(operator) or next((name for name in of_the_table if name not in OPERATOR_TYPES), None)
