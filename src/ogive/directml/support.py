"""The limits that a feature level sets for an operator: its support tables and the sentences beside them, enforced.

`validate` is what `Device.CreateOperator` asks, and says no more than the data does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NoReturn

from ogive.directml import data
from ogive.directml.data import FEATURE_LEVELS, OperatorFacts, TensorSupport, facts
from ogive.directml.descs import OperatorDesc
from ogive.directml.enumerations import level_name, short_name
from ogive.directml.results import refuse
from ogive.directml.structure import short
from ogive.directml.tensor import DML_BUFFER_TENSOR_DESC, overlaps_itself

Rule = Callable[[OperatorDesc, int], None]

#: Members for which an infinity means something: no bound on that side.
_BOUNDS = ("Min", "Max")

#: Members that no formula computes with: any number will do, NaN too.
_PLAIN = ("Value", "ValueStart", "ValueDelta")


def validate(desc: OperatorDesc, level: int) -> None:
    """Raise DMLError unless a device of this feature level takes the desc."""
    operator = desc.FACTS
    introduced = FEATURE_LEVELS[operator.introduced]
    row = operator.row(level)
    if level < introduced or row is None:
        what = f"it needs {level_name(introduced)} or later, and the device has {level_name(level)}"
        refuse(operator.type_name, what, "", f'Make a device with Device("{operator.introduced}")')
    for member in operator.tensors:
        _validate_tensor(desc, member, row[member.name], level)
    for rule in rules(operator.name):
        rule(desc, level)
    _validate_numbers(desc)
    if "FusedActivation" in desc.__match_args__ and desc.FusedActivation is not None:
        _validate_fused(desc, desc.FusedActivation, level)


def _struct(desc: OperatorDesc) -> str:
    return type(desc).__name__


def _refuse(
    desc: OperatorDesc, member: str, what: str, allowed: str, way_out: str = "", *, of: str | None = None
) -> NoReturn:
    shown = member if of is None else f"{member}.{of}"
    refuse(_struct(desc), f"{shown} {what}", allowed, way_out, member=shown)


# ---- tensors


def _validate_tensor(desc: OperatorDesc, member: data.Member, support: TensorSupport, level: int) -> None:
    tensor = getattr(desc, member.name)
    if tensor is None:
        if not support.optional:
            since = _since(desc, level, lambda row: row[member.name].optional)
            _refuse(desc, member.name, "is None", f"a tensor desc at {level_name(level)}", since)
        return
    if short_name(tensor.DataType) not in support.types:
        if tensor.bits < 8:
            way_out = "The 4-bit types belong to QUANTIZE and DEQUANTIZE alone"
        else:
            way_out = _since(desc, level, lambda row: short_name(tensor.DataType) in row[member.name].types)
        allowed = f"{', '.join(support.types)} at {level_name(level)}"
        _refuse(desc, member.name, f"is {short_name(tensor.DataType)}", allowed, way_out, of="DataType")
    least, most = support.minimum_dimensions, support.maximum_dimensions
    if not least <= tensor.DimensionCount <= most:
        allowed = f"{least} to {most} at {level_name(level)}" if least < most else f"{least} at {level_name(level)}"
        if tensor.DimensionCount < least:
            way_out = f"Put sizes of 1 in front: {(1,) * (least - tensor.DimensionCount) + tensor.Sizes}"
        else:
            way_out = _since(desc, level, lambda row: tensor.DimensionCount <= row[member.name].maximum_dimensions)
        _refuse(desc, member.name, f"is {tensor.DimensionCount}", allowed, way_out, of="DimensionCount")
    if member.kind == "output":
        _validate_output(desc, member.name, tensor)


def _since(desc: OperatorDesc, level: int, takes: Callable[[dict[str, TensorSupport]], bool]) -> str:
    """The lowest level above this one whose table takes what this one does not."""
    for value, _, row in desc.FACTS.support:
        if value > level and takes(row):
            return f"{level_name(value)} takes it"
    return ""


def _validate_output(desc: OperatorDesc, name: str, tensor: DML_BUFFER_TENSOR_DESC) -> None:
    if tensor.is_owned:
        _refuse(desc, name, f"is {tensor.Flags}", "DML_TENSOR_FLAG_NONE for an output", of="Flags")
    if overlaps_itself(tensor.Sizes, tensor.strides):
        what = f"is {tensor.Strides} for Sizes {tensor.Sizes}, which puts several elements at one place"
        _refuse(desc, name, what, "a place of its own for every element of an output", of="Strides")


# ---- numbers


def _numbers(desc: OperatorDesc) -> Iterable[tuple[str, float]]:
    """The FLOAT numbers of a desc, with the paths of their members."""
    for member in desc.MEMBERS:
        value = getattr(desc, member.name)
        if member.type == "FLOAT":
            yield member.name, value
        elif member.type == "DML_SCALE_BIAS" and value is not None:
            yield f"{member.name}.Scale", value.Scale
            yield f"{member.name}.Bias", value.Bias
        elif member.type == "DML_SCALAR_UNION":
            yield member.name, value.value(desc.scalar_type)


def _validate_numbers(desc: OperatorDesc) -> None:
    for name, value in _numbers(desc):
        if name in _PLAIN:
            continue
        if math.isnan(value):
            _refuse(desc, name, "is NaN", "any number but NaN")
        if math.isinf(value) and name not in _BOUNDS:
            _refuse(desc, name, f"is {value}", "finite numbers")


# ---- fused activations


def _validate_fused(desc: OperatorDesc, activation: OperatorDesc, level: int) -> None:
    host, name = desc.FACTS.name, activation.FACTS.name
    fusable = {fused: row for fused, row in data.FUSABLE.items() if row.hosts is None or host in row.hosts}
    row = fusable.get(name)
    if row is None:
        allowed = f"{', '.join(fusable)} in {host}"
        _refuse(desc, "FusedActivation", f"is {name}", allowed, "Run it as an operator of its own")
    since = FEATURE_LEVELS[row.level]
    if level < since:
        what = f"is {name} on a device of {level_name(level)}"
        _refuse(desc, "FusedActivation", what, f"{level_name(since)} and above")
    for member in activation.FACTS.tensors:
        if getattr(activation, member.name) is not None:
            what = f"is {getattr(activation, member.name)!r}"
            allowed = "None: a fused activation has no tensors of its own"
            refuse(
                _struct(desc), f"FusedActivation.{member.name} {what}", allowed, member=f"FusedActivation.{member.name}"
            )
    for rule in rules(name):
        if rule in _ATTRIBUTE_RULES:
            rule(activation, level)
    _validate_numbers(activation)


# ---- the sentences beside the tables

_IDENTICAL = re.compile(r"(?P<tensors>[\w, ]+): identical (?P<what>[\w, ]+?)(?: \(.*\))?")
_SEPARATOR = re.compile(r", | and ")


@cache
def rules(operator_name: str) -> tuple[Rule, ...]:
    """The checks that the sentences beside an operator's tables, and its decisions, ask for."""
    operator = facts(operator_name)
    return tuple(_rule(operator, sentence) for sentence in _sentences(operator))


def _sentences(operator: OperatorFacts) -> tuple[str, ...]:
    return operator.constraints + _DECIDED.get(operator.name, ())


def _rule(operator: OperatorFacts, sentence: str) -> Rule:
    if sentence in _RULES:
        return _RULES[sentence]
    parsed = _parsed(operator, sentence)
    if parsed is None:
        raise LookupError(f"{operator.type_name}: no rule for the sentence {sentence!r}")
    return _identical(*parsed)


def _parsed(operator: OperatorFacts, sentence: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The tensors of a sentence, and in what they are identical."""
    match = _IDENTICAL.fullmatch(sentence)
    if match is None:
        return None
    listed = match["tensors"]
    names = [m.name for m in operator.tensors] if listed == "all tensors" else _SEPARATOR.split(listed)
    return tuple(names), tuple(_SEPARATOR.split(match["what"]))


def identical(operator_name: str, attribute: str) -> list[tuple[str, ...]]:
    """Groups of tensors that must agree in an attribute, such as DataType.

    >>> identical("ELEMENT_WISE_IF", "DataType")
    [('ATensor', 'BTensor', 'OutputTensor')]
    """
    operator = facts(operator_name)
    parsed = [found for sentence in _sentences(operator) if (found := _parsed(operator, sentence))]
    return [names for names, attributes in parsed if attribute in attributes]


def _identical(names: tuple[str, ...], attributes: tuple[str, ...]) -> Rule:
    def rule(desc: OperatorDesc, level: int) -> None:
        present = [(name, getattr(desc, name)) for name in names if getattr(desc, name) is not None]
        first, model = present[0]
        for attribute in attributes:
            wanted = getattr(model, attribute)
            for name, tensor in present[1:]:
                given = getattr(tensor, attribute)
                if given != wanted:
                    way_out = "Nothing is broadcast by itself: give equal sizes and strides of 0"
                    shown = _value(wanted)
                    _refuse(
                        desc,
                        name,
                        f"is {_value(given)}",
                        f"{shown}, as {first}.{attribute}",
                        way_out if attribute != "DataType" else "",
                        of=attribute,
                    )

    return rule


def _value(value: Any) -> str:
    return short_name(value) if hasattr(value, "name") else str(value)


def _effective_rank(desc: OperatorDesc, level: int) -> None:
    sizes = desc.InputTensor.Sizes
    leading = next((i for i, size in enumerate(sizes) if size != 1), len(sizes))
    rank = len(sizes) - leading
    if rank > 2:
        _refuse(
            desc,
            "InputTensor",
            f"is {sizes}, of effective rank {rank}",
            "an effective rank (the dimensions after leading sizes of 1) of at most 2",
            f"DML_{desc.FACTS.name}1_OPERATOR_DESC reduces along any axes from DML_FEATURE_LEVEL_5_1 on",
            of="Sizes",
        )


def _axes(desc: OperatorDesc, level: int) -> None:
    count = desc.InputTensor.DimensionCount
    if desc.AxisCount != len(desc.Axes):
        _refuse(desc, "AxisCount", f"is {desc.AxisCount}", f"{len(desc.Axes)}, the length of Axes")
    if not desc.Axes:
        _refuse(desc, "Axes", "is empty", "one axis or more")
    if max(desc.Axes) >= count:
        _refuse(desc, "Axes", f"is {short(desc.Axes)}", f"axes from 0 to {count - 1}, for {count} dimensions")
    if len(set(desc.Axes)) < len(desc.Axes):
        _refuse(desc, "Axes", f"is {short(desc.Axes)}", "every axis once")


def _steepness(desc: OperatorDesc, level: int) -> None:
    if level < FEATURE_LEVELS["6_4"] and desc.Steepness < 1:
        allowed = f"1 and above at {level_name(level)}"
        _refuse(desc, "Steepness", f"is {desc.Steepness}", allowed, "DML_FEATURE_LEVEL_6_4 takes it")


def _scalar_type(desc: OperatorDesc, level: int) -> None:
    if desc.scalar_type != desc.output.DataType:
        name = next(member.name for member in desc.MEMBERS if member.type == "DML_TENSOR_DATA_TYPE")
        allowed = f"{short_name(desc.output.DataType)}, as {desc.FACTS.output.name}.DataType"
        _refuse(desc, name, f"is {short_name(desc.scalar_type)}", allowed)


def _exponent_type(desc: OperatorDesc, level: int) -> None:
    if level < FEATURE_LEVELS["3_0"]:
        _identical(("InputTensor", "ExponentTensor"), ("DataType",))(desc, level)


def _scale_type(desc: OperatorDesc, level: int) -> None:
    given = short_name(desc.InputTensor.DataType)
    wanted = "FLOAT32" if given == "INT32" else given
    if short_name(desc.ScaleTensor.DataType) != wanted:
        what = f"is {short_name(desc.ScaleTensor.DataType)}"
        _refuse(desc, "ScaleTensor", what, f"{wanted} where InputTensor.DataType is {given}", of="DataType")


def _single_elements(desc: OperatorDesc, level: int) -> None:
    for member in desc.FACTS.inputs:
        tensor = getattr(desc, member.name)
        is_single = member.name.endswith(("ScaleTensor", "ZeroPointTensor"))
        if is_single and tensor is not None and set(tensor.Sizes) != {1}:
            _refuse(desc, member.name, f"is {tensor.Sizes}", "sizes of 1 only", of="Sizes")


def _in_the_tables(desc: OperatorDesc, level: int) -> None:
    """Nothing to do: the support tables say the same."""


_RULES: dict[str, Rule] = {
    "Effective rank of InputTensor at most 2, effective rank being DimensionCount minus the number of leftmost "
    "size-1 dimensions; e.g. Sizes {1,1,BatchCount,Width} is valid and treated as {BatchCount,Width}": _effective_rank,
    "Axes has AxisCount elements, each in [0, InputTensor.DimensionCount - 1]": _axes,
    "Before 6_4: Steepness >= 1. From 6_4: Steepness < 1 is allowed (feature level history); no lower bound is "
    "given": _steepness,
    "MinMaxDataType equals OutputTensor.DataType": _scalar_type,
    "MinMaxDataType equals OutputGradientTensor.DataType": _scalar_type,
    "ValueDataType equals OutputTensor.DataType": _scalar_type,
    "below DML_FEATURE_LEVEL_3_0 ExponentTensor must also have the DataType of InputTensor; from 3_0 it may "
    "differ": _exponent_type,
    "InputTensor INT32 requires ScaleTensor FLOAT32; otherwise ScaleTensor and InputTensor have identical "
    "DataType": _scale_type,
    "every scale tensor and every zero-point tensor holds exactly one element (all Sizes 1)": _single_elements,
    "ZeroPointTensor may be null from DML_FEATURE_LEVEL_6_2 only": _in_the_tables,
    "ConditionTensor: UINT8": _in_the_tables,
    "FusedActivation only when OutputTensor.DataType is FLOAT16 or FLOAT32": _in_the_tables,
}

#: Rules about attributes alone, which hold in a fused activation too.
_ATTRIBUTE_RULES = (_steepness,)

#: Rules that no sentence states: see decisions.json.
_DECIDED = {
    "ELEMENT_WISE_QUANTIZED_LINEAR_ADD": ("ATensor, BTensor, OutputTensor: identical Sizes",),
}


# ---- row-wise operators


def is_rowwise(operator_name: str) -> bool:
    """Whether the operator reduces along axes."""
    return any(rule in (_effective_rank, _axes) for rule in rules(operator_name))


def reduced_axes(desc: OperatorDesc) -> tuple[int, ...]:
    """The axes that a row-wise operator reduces: those of the desc, or the last one."""
    dimensions = desc.InputTensor.DimensionCount
    return tuple(sorted(desc.Axes)) if "Axes" in desc.__match_args__ else (dimensions - 1,)
