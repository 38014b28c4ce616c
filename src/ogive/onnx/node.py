"""One node of a model, as loading hands it to what computes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["OnnxNode"]


@dataclass(frozen=True, eq=False)
class OnnxNode:
    """One node, checked against the schema that its opset selects."""

    operator: str
    version: int
    """The version of the operator: the opset that brought its schema."""
    label: str
    """How messages call the node."""
    inputs: tuple[str | None, ...]
    """None for an optional input that is left out."""
    outputs: tuple[str, ...]
    parameters: tuple[str, ...]
    """The schema's name for each of the inputs."""
    input_types: tuple[str | None, ...]
    attributes: Mapping[str, Any]
    """With the schema's defaults; those without default and value are not there."""
    given: frozenset[str]
    """The attributes that the model itself sets."""

    @property
    def operands(self) -> tuple[str, ...]:
        """The inputs that are there."""
        return tuple(name for name in self.inputs if name is not None)

    @property
    def operand_parameters(self) -> tuple[str, ...]:
        """The schema's names for the inputs that are there."""
        return tuple(p for p, name in zip(self.parameters, self.inputs, strict=True) if name is not None)
