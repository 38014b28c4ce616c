"""A checked graph: what loading makes of a model, and what running starts from.

Values are known by name, and every name is unique: what functions contain has been put in their place, and
a value that only renames another (Identity) is gone.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ogive.onnx.data_types import DATA_TYPES
from ogive.onnx.node_computation import ElementwiseNode, NodeFunction, RowWiseNode

Shape = tuple[int | str | None, ...]


@dataclass(frozen=True)
class ValueInfo:
    """An input or output of a model, as the model declares it.

    A size is a number; a name, for sizes that must agree wherever the name stands; or None, for any size.
    """

    name: str
    type: str
    """As ONNX writes it: ``tensor(float)``."""
    shape: Shape | None = None
    """None if the model does not say how many axes there are."""
    required: bool = True
    """Whether a call must give this input; those that need not be given have a default in the model."""

    @property
    def dtype(self) -> np.dtype | None:
        """NumPy's dtype of a tensor; None for values of other kinds."""
        row = DATA_TYPES.get(self.type)
        return None if row is None else row.numpy

    def __str__(self) -> str:
        kind = self.type if self.dtype is None else self.dtype.name
        sizes = "" if self.shape is None else ", ".join("?" if size is None else str(size) for size in self.shape)
        return f"{self.name}: {kind}" if self.shape is None else f"{self.name}: {kind}[{sizes}]"


@dataclass(frozen=True, eq=False)
class CheckedStep:
    """One value and what computes it."""

    label: str
    """How messages call the node that it comes from."""
    output: str
    made: ElementwiseNode | NodeFunction | RowWiseNode


@dataclass
class CheckedGraph:
    """Values, constants and nodes in an order in which they can be computed."""

    inputs: list[ValueInfo] = field(default_factory=list)
    outputs: list[ValueInfo] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    """The value that each output is: another name than the output's own where a node only renames."""
    initialisers: dict[str, np.ndarray] = field(default_factory=dict)
    """The data that came with the model, by its names."""
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    defaults: dict[str, np.ndarray] = field(default_factory=dict)
    """The values of the inputs that a call need not give."""
    types: dict[str, str] = field(default_factory=dict)
    steps: list[CheckedStep] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    """Value -> how the model calls it, if it does."""
