"""Values of ONNX's types in golden data: tensors, sequences of them, and optional ones, and how files hold them.

In Python they are arrays, lists of arrays, and None for an optional value that is not there. Types are written as the
standard's schemas write them: ``optional(seq(tensor(float)))``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ogive.golden.requests import drawn
from ogive.golden.specification import Call
from ogive.onnx.data_types import DATA_TYPES, DataType

_SEQUENCE, _OPTIONAL = "seq(", "optional("


def _inner(kind: str) -> str:
    """The type in a sequence's or an optional one's."""
    return kind.partition("(")[2][:-1]


def element_of(kind: str) -> DataType | None:
    """The type of the elements of a value's tensors; None for what is no tensor, sequence or optional value.

    >>> element_of("optional(seq(tensor(float)))")
    FLOAT
    """
    while kind.startswith((_SEQUENCE, _OPTIONAL)):
        kind = _inner(kind)
    return DATA_TYPES.get(kind)


def name_of_type(kind: str) -> str:
    """A type as a part of a file's name.

    >>> name_of_type("optional(seq(tensor(float)))")
    'optional_seq_float32'
    """
    element = element_of(kind)
    assert element is not None, kind
    name = element.dtype.rstrip("_") if element.name != "STRING" else "text"
    return "_".join([*kind.split("(")[:-2], name])


def type_of(kind: str) -> onnx.TypeProto:
    """The type of a value whose tensors have any shape."""
    if kind.startswith(_SEQUENCE):
        return helper.make_sequence_type_proto(type_of(_inner(kind)))
    if kind.startswith(_OPTIONAL):
        return helper.make_optional_type_proto(type_of(_inner(kind)))
    return helper.make_tensor_type_proto(DATA_TYPES[kind].number, None)


def tensor_of(value: np.ndarray, name: str) -> onnx.TensorProto:
    """An array of any type as a tensor of a file."""
    if value.dtype == object:
        texts: Any = [str(v).encode() for v in value.flat]
        return helper.make_tensor(name, onnx.TensorProto.STRING, value.shape, texts)
    return numpy_helper.from_array(np.ascontiguousarray(value).reshape(value.shape), name)


def proto_of_value(value: Any, kind: str, name: str) -> onnx.TensorProto | onnx.SequenceProto | onnx.OptionalProto:
    """A value as the files of ONNX's backend tests hold it."""
    if kind.startswith(_SEQUENCE):
        sequence = onnx.SequenceProto(name=name, elem_type=onnx.SequenceProto.TENSOR)
        sequence.tensor_values.extend(tensor_of(item, f"{name}_{i}") for i, item in enumerate(value))
        return sequence
    if kind.startswith(_OPTIONAL):
        is_sequence = _inner(kind).startswith(_SEQUENCE)
        optional = onnx.OptionalProto(name=name)
        optional.elem_type = onnx.OptionalProto.SEQUENCE if is_sequence else onnx.OptionalProto.TENSOR
        if value is not None:
            member = optional.sequence_value if is_sequence else optional.tensor_value
            member.CopyFrom(proto_of_value(value, _inner(kind), name))
        return optional
    return tensor_of(value, name)


def container_calls(kind: str, seed: int) -> Iterator[Call]:
    """Calls of Identity on sequences and optional values: none, one and several tensors, of several shapes."""
    element = element_of(kind)
    assert element is not None, kind
    generator = np.random.default_rng(seed)
    shapes = ((2, 3), (0,), (7,), (1, 2, 1))
    values: dict[str, Any] = {f"shape {shape}": drawn(element, shape, generator) for shape in shapes}
    if _SEQUENCE in kind:
        tensors = list(values.values())
        values = {"several tensors": tensors, "one tensor": tensors[:1], "no tensor": []}
    if kind.startswith(_OPTIONAL):
        values["no value"] = None
    for name, value in values.items():
        copy = [x.copy() for x in value] if isinstance(value, list) else None if value is None else value.copy()
        yield name, (value,), (copy,)
