"""The page docs/tables/onnx.md: operators, versions and types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from ogive.onnx.data_types import DATA_TYPES
from ogive.onnx.node_support import Support, supported

__all__ = ["markdown"]

#: Words for types that mostly come together.
FAMILIES = {
    "floats": ("float16", "bfloat16", "float", "double"),
    "signed": ("int8", "int16", "int32", "int64"),
    "unsigned": ("uint8", "uint16", "uint32", "uint64"),
    "complex": ("complex64", "complex128"),
    "8-bit floats": ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"),
    "6-bit floats": ("float6e2m3", "float6e3m2"),
    "4 bits": ("int4", "uint4"),
    "2 bits": ("int2", "uint2"),
}


_ABOVE = """# ONNX's operators

<!-- Made by `make pages`; do not edit. -->

[ONNX](../onnx.md) is the guide. Ten operators that ONNX defines by functions are computed by the words of the standard, not by
those functions, which round after every step: AffineGrid, BlackmanWindow, CenterCropPad, DynamicQuantizeLinear,
HammingWindow, HannWindow, NegativeLogLikelihoodLoss, RotaryEmbedding, SoftmaxCrossEntropyLoss and the normalisations.
LRN of floats loads too, in versions 1 and 13.
"""


def markdown() -> str:
    """The page: a row for versions of an operator that take the same types."""
    lines = [_ABOVE, "| operator | versions | element types | not taken |", "|---|---|---|---|"]
    for operator, rows in groupby(supported(), key=lambda row: row.operator):
        for (taken, refused), same in groupby(rows, key=_described):
            versions = ", ".join(str(row.version) for row in same)
            lines.append(f"| {operator} | {versions} | {taken} | {refused} |")
    words = "; ".join(f"*{word}*: {', '.join(types)}" for word, types in FAMILIES.items())
    return "\n".join(lines) + f"\n\n{words}.\n"


def _described(row: Support) -> tuple[str, str]:
    return _parameters(row.types), _parameters(row.refused)


def _parameters(types: Mapping[str, tuple[str, ...]]) -> str:
    """The types of every parameter; those that are the same are said once."""
    said: dict[str, list[str]] = {}
    for parameter, kinds in types.items():
        words = _words(kinds)
        if words:
            said.setdefault(words, []).append(parameter)
    return "; ".join(f"{words} ({', '.join(names)})" if len(types) > 1 else words for words, names in said.items())


def _words(kinds: Sequence[str]) -> str:
    tensors = [DATA_TYPES[kind].text for kind in kinds if kind in DATA_TYPES]
    words = [word for word, family in FAMILIES.items() if set(family) <= set(tensors)]
    covered = {kind for word in words for kind in FAMILIES[word]}
    words += [kind for kind in tensors if kind not in covered]
    wrapped = {kind.split("(")[0] for kind in kinds} - {"tensor"}
    return ", ".join(words + sorted({"seq": "sequences", "optional": "optional values"}[kind] for kind in wrapped))
