"""ONNX models: loaded and run twice. Seeds are ONNX's own tests of nodes."""

from __future__ import annotations

import contextlib
import random
import warnings
from typing import Any

import numpy as np
import onnx
from google.protobuf.descriptor import FieldDescriptor as Field
from onnx import ModelProto

import ogive.onnx
from tests.hostile.fuzz import Target
from tests.onnx.test_hostile import DATA, inputs_of

MEMORY = 1 << 24
_LONGEST_SEED = 12_000

_INTEGERS = [
    0,
    1,
    -1,
    2,
    3,
    7,
    16,
    23,
    33,
    64,
    65,
    255,
    1 << 27,
    1 << 31,
    -(1 << 31),
    1 << 32,
    1 << 62,
    (1 << 63) - 1,
    -(1 << 63),
]
_NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.5, 3.25, 1e30, 1e-40, float("nan"), float("inf"), -float("inf")]
_TEXTS = ["", "x", "y", "/etc/passwd", "../a", "a" * 3000, "\0", "é", "linear", "NOTSET", "none", "location", "offset"]
_NAMES = sorted({schema.name for schema in onnx.defs.get_all_schemas()})
_WHOLE = {Field.TYPE_INT64: 64, Field.TYPE_INT32: 32, Field.TYPE_UINT64: 64, Field.TYPE_UINT32: 32}


def _seeds() -> list[bytes]:
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():  # ONNX's own cases overflow while they are made
        warnings.simplefilter("ignore")
        found = [case.model.SerializeToString() for case in collect_testcases("") if case.model is not None]
    return DATA + [data for data in found if len(data) <= _LONGEST_SEED]


SEEDS = _seeds()


def _messages(message: Any, found: list[Any], depth: int = 0) -> list[Any]:
    """The message, and those inside of it."""
    found.append(message)
    for field, value in message.ListFields() if depth < 12 else ():
        if field.type == Field.TYPE_MESSAGE:
            for inner in list(value[:40]) if field.is_repeated else [value]:
                _messages(inner, found, depth + 1)
    return found


def _parsed(data: bytes) -> ModelProto:
    model = ModelProto()
    model.ParseFromString(data)
    return model


def _value(field: Any, rng: random.Random, among: list[Any]) -> Any:
    """A value for a field: an odd one, or one of the same kind from elsewhere in the model."""
    if field.type in _WHOLE:
        bits = _WHOLE[field.type]
        value = rng.choice(_INTEGERS) if rng.random() < 0.7 else rng.randrange(-5, 30)
        is_signed = field.type in (Field.TYPE_INT64, Field.TYPE_INT32)
        return max(-(1 << bits - 1), min((1 << bits - 1) - 1, value)) if is_signed else value % (1 << bits)
    if field.type == Field.TYPE_ENUM:
        return rng.randrange(30)
    if field.type in (Field.TYPE_FLOAT, Field.TYPE_DOUBLE):
        return rng.choice(_NUMBERS)
    if field.type == Field.TYPE_BYTES:
        return rng.randbytes(rng.choice([0, 1, 3, 4, 8, 16, 64]))
    if field.type == Field.TYPE_BOOL:
        return rng.random() < 0.5
    nodes = [m for m in among if m.DESCRIPTOR.name == "NodeProto"]
    values = [name for node in nodes for name in (*node.input, *node.output)]
    return rng.choice(rng.choice([_TEXTS, _NAMES, values or _TEXTS]))


def _other(name: str, rng: random.Random) -> Any:
    """A message of that kind, from another seed."""
    return next((m for m in _messages(_parsed(rng.choice(SEEDS)), []) if m.DESCRIPTOR.name == name), None)


def _change_field(message: Any, field: Any, rng: random.Random, among: list[Any]) -> None:
    value, way = getattr(message, field.name), rng.random()
    if field.is_repeated and way < 0.25 and len(value):
        del value[rng.randrange(len(value))]
    elif field.type == Field.TYPE_MESSAGE:
        new = _other(field.message_type.name, rng) if way > 0.5 or not field.is_repeated or not len(value) else None
        if field.is_repeated:
            new = rng.choice(value) if new is None and len(value) else new
            if new is not None:
                value.add().CopyFrom(new)
        elif way < 0.3 or new is None:
            message.ClearField(field.name)
        else:
            value.CopyFrom(new)
    elif field.is_repeated and way < 0.6 and len(value):
        value[rng.randrange(len(value))] = _value(field, rng, among)
    elif field.is_repeated:
        value.extend([_value(field, rng, among)] * rng.choice([1, 1, 2, 9, 33, 65, 1000]))
    elif way < 0.2:
        message.ClearField(field.name)
    else:
        setattr(message, field.name, _value(field, rng, among))


def change(data: bytes, rng: random.Random) -> bytes:
    try:
        model = _parsed(data)
    except Exception:  # bytes were changed before
        model = _parsed(rng.choice(SEEDS))
    for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 5])):
        found = _messages(model, [])
        message = rng.choice(found)
        there = [field for field, _ in message.ListFields()]
        fields = there if there and rng.random() < 0.7 else list(message.DESCRIPTOR.fields)
        if fields:
            with contextlib.suppress(ValueError, TypeError):  # protobuf refuses a text or a number
                _change_field(message, rng.choice(fields), rng, found)
    return model.SerializeToString()


def survives(data: bytes) -> bool:
    model = ogive.onnx.load(data, memory_limit=MEMORY)
    arrays = inputs_of(model)
    if arrays is None:
        return False
    first, second = model.run(arrays), model.run(arrays)
    for name, value in first.items():
        if isinstance(value, np.ndarray) and value.dtype != object:
            assert value.tobytes() == second[name].tobytes(), f"two runs differ: {name}"
    return True


TARGET = Target(SEEDS, survives, change)
