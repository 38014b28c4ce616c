"""Pickled operators whose contents were changed. A pickle is a program, so any exception may come, but no crash and no hang."""

from __future__ import annotations

import io
import pickle
import random
import re
from typing import Any

import numpy as np

import ogive
from ogive.operators import pickling
from tests.hostile.fuzz import Target

X = np.float32([-1.0, 0.0, 2.5])

#: An unpickler may call whatever it finds: only values are taken, and the operator is made of them here.
SEEDS = [pickling.content(op) for op in (ogive.celu, ogive.gelu, ogive.clip, ogive.leaky_relu)]
_ODD = [
    0,
    1,
    -1,
    1 << 70,
    2.5,
    float("nan"),
    "",
    "x",
    "float32",
    "multiply",
    None,
    True,
    (),
    [],
    {},
    (0,),
    ("x", (), None, "f32"),
]

_BYTEARRAY = re.compile(re.escape(pickle.BYTEARRAY8) + b"(?=(.{8}))", re.DOTALL)


class _Values(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if module.startswith("ogive.") or (module, name) == ("fractions", "Fraction"):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} is no value")


def _changed(value: Any, rng: random.Random, depth: int = 0) -> Any:
    if rng.random() < 0.15 or depth > 8:
        return rng.choice(_ODD)
    if isinstance(value, dict) and value:
        key = rng.choice(list(value))
        return {**value, key: _changed(value[key], rng, depth + 1)}
    if isinstance(value, list | tuple) and value:
        at, way = rng.randrange(len(value)), rng.random()
        items = list(value)
        if way < 0.1:
            del items[at]
        elif way < 0.2:
            items.insert(at, items[rng.randrange(len(items))])
        else:
            items[at] = _changed(items[at], rng, depth + 1)
        return type(value)(items)
    return rng.choice(_ODD)


def change(data: bytes, rng: random.Random) -> bytes:
    try:
        if _has_vast_bytearray(data):
            raise ValueError
        value = _Values(io.BytesIO(data)).load()
    except Exception:  # bytes were changed before
        value = pickle.loads(rng.choice(SEEDS))
    for _ in range(rng.choice([1, 1, 2])):
        value = _changed(value, rng)
    return pickle.dumps(value)


def _has_vast_bytearray(data: bytes) -> bool:
    """Whether a bytearray is longer than its pickle. CPython frees it unfinished, and prints that it "has exported buffers"."""
    return any(int.from_bytes(size, "little") > len(data) for size in _BYTEARRAY.findall(data))


def survives(data: bytes) -> bool:
    if _has_vast_bytearray(data):
        return False
    _Values(io.BytesIO(data)).load()  # raises where it is more than values
    made = pickling._remade.__wrapped__(type(ogive.celu), "m", "f", data)
    made(X, *([X] * (made.nin - 1)))
    return True


TARGET = Target(SEEDS, survives, change, lambda error: isinstance(error, Exception))
