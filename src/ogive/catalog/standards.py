"""The standards' operators, and their formulas of the catalogue.

A formula carries the names that ONNX and DirectML have for it, and WebNN's names are ours in camel case. The table says
what names alone do not. Types, versions and defaults stand in the data of each standard.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from ogive.catalog import OPERATORS
from ogive.catalog.arithmetic import mean_of_terms, sum_of_terms
from ogive.common.dtypes import BOOLEAN
from ogive.operators.operator import Operator

Standard = Literal["directml", "onnx", "webnn"]

_NONE: Mapping[str, Any] = MappingProxyType({})


class StandardRow(NamedTuple):
    """An operator of a standard."""

    formula: str = ""
    """The catalogue's name; without one, that of the formula that carries the standard's name."""
    choices: Mapping[str, Any] = _NONE
    """The standard's choice where the formula leaves a choice."""
    when: Mapping[str, Any] = _NONE
    """Values of members for which the row holds. These members are no parameters."""
    renamed: Mapping[str, str] = _NONE
    """Members that are parameters or tensors of another name in the formula."""
    is_repeated: bool = False
    """Whether the operator takes any number of operands, one after the other."""
    was_experimental: bool = False
    """Whether opset 1 of ONNX had it as an experiment: models have it, no schema does."""

    @property
    def operator(self) -> Operator:
        """The operator of the catalogue."""
        return OPERATORS[self.formula]

    @property
    def gives_truth(self) -> bool:
        """Whether the result is a truth value."""
        return all(signature.outputs[0] is BOOLEAN for signature in self.operator.signatures)


def _camel(name: str) -> str:
    """A name of the catalogue as WebNN would write it."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


#: Formulas whose name in camel case is an operator of WebNN.
_OF_WEBNN = (
    "abs add batch_normalization ceil cos dequantize_linear div elu equal erf exp floor gelu greater "
    "greater_or_equal hard_sigmoid hard_swish identity layer_normalization leaky_relu linear log "
    "logical_and logical_not logical_or logical_xor max min mul neg not_equal pow prelu quantize_linear "
    "reciprocal relu sigmoid sign sin softmax softplus softsign sqrt sub tan tanh where"
)

#: By standard and name, what is to be said beyond the names that formulas carry.
TABLE: dict[Standard, dict[str, tuple[StandardRow, ...]]] = {
    "onnx": {
        "Affine": (StandardRow("linear", was_experimental=True),),
        "BitShift": (
            StandardRow("bit_shift_left", when={"direction": "LEFT"}),
            StandardRow("bit_shift_right", when={"direction": "RIGHT"}),
        ),
        "DequantizeLinear": (StandardRow("dequantize_linear"),),
        "Max": (StandardRow(is_repeated=True),),
        "Min": (StandardRow(is_repeated=True),),
        "ParametricSoftplus": (StandardRow("parametric_softplus", was_experimental=True),),
        "QuantizeLinear": (StandardRow("quantize_linear"),),
        "ScaledTanh": (StandardRow("scaled_tanh", was_experimental=True),),
        "Shrink": (StandardRow(choices={"first": "negative"}),),
        "ThresholdedRelu": (StandardRow(was_experimental=True),),
    },
    "directml": {
        "ACTIVATION_HARDMAX": (StandardRow("hardmax"),),
        "ACTIVATION_LOG_SOFTMAX": (StandardRow("log_softmax"),),
        "ACTIVATION_SHRINK": (StandardRow(renamed={"Threshold": "lambd"}),),
        "ACTIVATION_SOFTMAX": (StandardRow("softmax"),),
        "ACTIVATION_SWISH": (StandardRow(renamed={"SigmoidInputScale": "alpha"}),),
        "ELEMENT_WISE_ADD1": (StandardRow("add"),),
        "ELEMENT_WISE_CLIP1": (StandardRow(choices={"wins": "min"}),),
        "ELEMENT_WISE_CONSTANT_POW": (StandardRow("pow"),),
        "ELEMENT_WISE_IDENTITY": (StandardRow("identity"),),
        "ELEMENT_WISE_IS_INFINITY": (
            StandardRow(when={"InfinityMode": "EITHER"}),
            StandardRow(choices={"detect_negative": 0}, when={"InfinityMode": "POSITIVE"}),
            StandardRow(choices={"detect_positive": 0}, when={"InfinityMode": "NEGATIVE"}),
        ),
        "ELEMENT_WISE_ROUND": (
            StandardRow(choices={"mode": "nearest_even"}, when={"RoundingMode": "HALVES_TO_NEAREST_EVEN"}),
            StandardRow(choices={"mode": "truncate"}, when={"RoundingMode": "TOWARD_ZERO"}),
            StandardRow(choices={"mode": "nearest_away"}, when={"RoundingMode": "TOWARD_INFINITY"}),
        ),
        "ELEMENT_WISE_SIGN": (StandardRow(choices={"nan": "zero"}),),
        "ELEMENT_WISE_TANH": (StandardRow("tanh"),),
    },
    # Each of WebNN's operators that is a formula, since no formula carries WebNN's name.
    "webnn": {
        **{_camel(name): (StandardRow(name),) for name in _OF_WEBNN.split()},
        "clamp": (StandardRow("clip"),),
        "isInfinite": (StandardRow("isinf", {"detect_negative": 1, "detect_positive": 1}),),
        "isNaN": (StandardRow("isnan"),),
        "lesser": (StandardRow("less"),),
        "lesserOrEqual": (StandardRow("less_or_equal"),),
        "reduceLogSumExp": (StandardRow("logsumexp"),),
        "roundEven": (StandardRow("round", {"mode": "nearest_even"}),),
    },
}

#: Operators of ONNX that are one formula of any number of terms, rounded once.
OF_TERMS: dict[str, Callable[[Sequence[Any]], Any]] = {"Mean": mean_of_terms, "Sum": sum_of_terms}


@cache
def rows(standard: Standard, name: str) -> tuple[StandardRow, ...]:
    """The catalogue's formulas for an operator of a standard, one row for each case; nothing where it has no formula.

    >>> [row.formula for row in rows("webnn", "leakyRelu")], [row.formula for row in rows("onnx", "BitShift")]
    (['leaky_relu'], ['bit_shift_left', 'bit_shift_right'])
    """
    own = "" if standard == "webnn" else _carrier(standard, name)
    listed = TABLE[standard].get(name, (StandardRow(),))
    return tuple(row if row.formula else row._replace(formula=own) for row in listed if row.formula or own)


def _carrier(standard: Standard, name: str) -> str:
    """The formula that carries a standard's name."""
    return next((op.name for op in OPERATORS.values() if getattr(op, standard) == name), "")


def row_of(standard: Standard, name: str, members: Mapping[str, Any] = _NONE) -> StandardRow | None:
    """The row that holds for an operator with these members; None where there is no formula."""
    found = rows(standard, name)
    return next((row for row in found if all(members.get(m) == value for m, value in row.when.items())), None)


def counterpart(standard: Standard, name: str, member: str) -> str:
    """The parameter or tensor of the formula that a member of a standard's operator is.

    >>> counterpart("directml", "ACTIVATION_SHRINK", "Threshold"), counterpart("directml", "ACTIVATION_SHRINK", "Bias")
    ('lambd', 'bias')
    """
    renamed = (row.renamed[member] for row in rows(standard, name) if member in row.renamed)
    return next(renamed, "") or re.sub(r"(?<!^)(?=[A-Z])", "_", member).lower()
