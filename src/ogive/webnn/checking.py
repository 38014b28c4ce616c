"""The checks of a builder before it adds an operator: options, operands, types and ranks, by the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ogive.catalog.standards import StandardRow
from ogive.errors import ParameterError, described, suggestion
from ogive.webnn.exceptions import refuse
from ogive.webnn.operand import DATA_TYPES, MLOperand, cast_number
from ogive.webnn.operator_table import OPERATORS, OperandRule


def options_of(name: str, options: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a call, by dictionary or by keyword, over the defaults; the label among them."""
    row = OPERATORS[name]
    if options is not None and not isinstance(options, Mapping):
        refuse(name, f"options is {described(options)}", "a dictionary", "Write {'label': 'here'}, or give it by name")
    both = {**(options or {}), **given}
    defaults = {"label": "", **row.options}
    for key in both:
        if key not in defaults:
            refuse(name, f"there is no option {key!r}", ", ".join(defaults), suggestion(str(key), defaults))
    if not isinstance(both.get("label", ""), str):
        refuse(name, f"label is {described(both['label'])}", "text")
    for key, value in both.items():
        if isinstance(defaults[key], bool) and not isinstance(value, bool | np.bool_):
            refuse(name, f"{key} is {described(value)}", "True, False")
    return {key: both[key] if both.get(key) is not None else default for key, default in defaults.items()}


def subject_of(name: str, options: Mapping[str, Any]) -> str:
    """How messages name an operator: with its label, if it has one."""
    label = options["label"]
    return f"{name} {label!r}" if label else name


def check_operands(name: str, subject: str, builder: object, operands: tuple[Any, ...]) -> None:
    """Whether the operands are of this builder, and have types and ranks that the operator takes."""
    row = OPERATORS[name]
    by_name: dict[str, MLOperand] = {}
    for rule, operand in zip(row.operands, operands, strict=True):
        check_operand(subject, rule.name, builder, operand)
        by_name[rule.name] = operand
    for rule in row.operands:
        _check_type(subject, rule, by_name)


def check_operand(subject: str, what: str, builder: object, operand: Any) -> None:
    """Whether something is an operand of this builder."""
    if not isinstance(operand, MLOperand):
        way_out = "Make one of a number with builder.constant(dataType, value)" if np.isscalar(operand) else ""
        refuse(subject, f"{what} is {described(operand)}", "an MLOperand", way_out)
    if operand._builder is not builder:
        refuse(subject, f"{what} is of another builder", "operands of this one")


def _check_type(subject: str, rule: OperandRule, operands: Mapping[str, MLOperand]) -> None:
    operand = operands[rule.name]
    if isinstance(rule.types, str):
        other = operands[rule.types]
        if operand.dataType != other.dataType:
            what = f"{rule.name} is {operand.dataType} and {rule.types} {other.dataType}"
            refuse(subject, what, "one type for both", "Use builder.cast(x, dataType)")
    elif operand.dataType not in rule.types:
        refuse(subject, f"{rule.name} is {operand.dataType}", ", ".join(rule.types), "Use builder.cast(x, dataType)")
    low, high = rule.ranks
    rank = len(operand.shape)
    if rank < low or (high is not None and rank > high):
        allowed = f"{low}" if low == high else f"{low} and more"
        refuse(subject, f"{rule.name} has {rank} axes", allowed)


def parameters_of(row: StandardRow, subject: str, options: Mapping[str, Any], kind: str) -> tuple[float, ...]:
    """The numeric options as parameters of the catalogue's operator, cast to the type of the operand."""
    op = row.operator
    numeric = (p.name for p in op.numeric_parameters if p.name in options)
    given = {name: float(cast_number(subject, name, options[name], kind)) for name in numeric}
    try:
        checked = op.checked_parameters({**row.choices, **given})
    except ParameterError as error:
        reason = str(error).removeprefix(f"{op.name}: ")
        name = reason.partition(" is ")[0]
        refuse(subject, f"{name} is {described(options[name])}; as a number of {kind}, {reason}")
    return tuple(checked[parameter.name] for parameter in op.numeric_parameters)


def descriptor_of(subject: str, descriptor: Any) -> tuple[Any, Any]:
    """The members of an MLOperandDescriptor."""
    if not isinstance(descriptor, Mapping):
        way_out = "Write {'dataType': 'float32', 'shape': [2, 3]}"
        refuse(subject, f"the descriptor is {described(descriptor)}", "a dictionary", way_out)
    unknown = [key for key in descriptor if key not in ("dataType", "shape", "readable", "writable")]
    if unknown:
        way_out = suggestion(str(unknown[0]), ("dataType", "shape"))
        refuse(subject, f"the descriptor has a member {unknown[0]!r}", "dataType, shape", way_out)
    for member in ("dataType", "shape"):
        if member not in descriptor:
            refuse(subject, f"the descriptor has no member {member!r}", "dataType, shape")
    return descriptor["dataType"], descriptor["shape"]


def buffer_of(subject: str, buffer: Any, kind: str, shape: tuple[int, ...]) -> np.ndarray:
    """A copy of a buffer's elements: an array of the type, of any shape with so many elements, or its bytes."""
    dtype = DATA_TYPES[kind].numpy
    count = int(np.prod(shape, dtype=np.int64))
    if isinstance(buffer, bytes | bytearray | memoryview):
        raw = bytes(buffer)
        if len(raw) != count * dtype.itemsize:
            refuse(subject, f"the buffer has {len(raw)} bytes", f"{count * dtype.itemsize}, for {kind} {list(shape)}")
        return np.frombuffer(raw, dtype).reshape(shape)
    array = np.asarray(buffer)
    if isinstance(buffer, list | tuple | int | float) and array.dtype.kind in "iuf":
        made = array.astype(dtype) if DATA_TYPES[kind].is_float or array.dtype.kind in "iu" else array
        if made.dtype == dtype and (DATA_TYPES[kind].is_float or np.array_equal(made, array)):
            array = made
    if array.dtype != dtype:
        given = f"an array of {array.dtype}" if isinstance(buffer, np.ndarray) else described(buffer)
        refuse(subject, f"the buffer is {given}", f"{kind}", f"Convert it first: array.astype({kind!r})")
    if array.size != count:
        refuse(subject, f"the buffer has {array.size} elements", f"{count}, for {kind} {list(shape)}")
    return np.array(array, dtype, order="C").reshape(shape)
