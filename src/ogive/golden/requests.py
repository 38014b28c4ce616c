"""Requests for golden data of operators of whole arrays, and the elements that their inputs are drawn from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ogive.onnx.data_types import DataType


@dataclass(frozen=True, eq=False)
class Request:
    """The request to a rule: one version of an operator, its types, its attributes."""

    operator: str
    version: int
    inputs: Mapping[str, DataType]
    """The types of the inputs, by the schema's names."""
    output: DataType
    attributes: Mapping[str, Any]
    """With the schema's defaults."""
    generator: np.random.Generator
    reference: Callable[..., tuple[np.ndarray, ...]]
    """The results of ONNX's reference implementation."""

    @property
    def first(self) -> DataType:
        """The type of the first input."""
        return next(iter(self.inputs.values()))

    def kind(self, position: int) -> DataType:
        return list(self.inputs.values())[position]

    def has(self, name: str) -> bool:
        """Whether there is such an input."""
        return name in self.inputs

    def data(self, *shape: int) -> np.ndarray:
        """Elements of the first input's type."""
        return drawn(self.first, shape, self.generator)


def drawn(kind: DataType, shape: Sequence[int], generator: np.random.Generator) -> np.ndarray:
    """Elements of a type: any bits for integers, floats near 1 and special ones, words."""
    count = math.prod(shape)
    if kind.name == "STRING":
        found = np.array([f"{'äß∂'[i % 3]}{i}" for i in generator.integers(0, 99, count)], object)
    elif kind.name == "BOOL":
        found = generator.integers(0, 2, count).astype(bool)
    elif kind.is_integer:
        low, high = kind.limits
        whole = [int.from_bytes(generator.bytes(8), "little") % (high - low + 1) + low for _ in range(count)]
        found = np.array([low, high, 0, 1, *whole][:count], object).astype(kind.numpy)
    elif kind.name.startswith("COMPLEX"):
        parts = generator.standard_normal((2, count))
        found = (parts[0] + 1j * parts[1]).astype(kind.numpy)
    elif kind.bits <= 8:
        found = every_value(kind)[generator.integers(0, every_value(kind).size, count)]
    else:
        with np.errstate(all="ignore"):
            found = (generator.standard_normal(count) * 10).astype(kind.numpy)
            found[: count // 6] = np.resize(np.array([np.nan, -0.0, np.inf, -np.inf, 0.0]), count // 6)
    return found.reshape(tuple(shape))


def every_value(kind: DataType) -> np.ndarray:
    """All numbers of a type of at most 8 bits, in the order of the bits."""
    if kind.is_integer:
        low, high = kind.limits
        return np.arange(low, high + 1).astype(kind.numpy)
    return np.arange(1 << kind.bits, dtype=np.uint8).view(kind.numpy)


def array_of(kind: DataType, values: Sequence[Any], shape: Sequence[int]) -> np.ndarray:
    """Python's numbers as an array of a type."""
    if kind.bits > 8 and not kind.is_integer and kind.name != "STRING":
        found = np.array([float(v) for v in values], np.float64)
        with np.errstate(all="ignore"):
            return found.astype(kind.numpy).reshape(tuple(shape))
    made = np.empty(len(values), kind.numpy)
    for i, value in enumerate(values):
        made[i] = value
    return made.reshape(tuple(shape))
