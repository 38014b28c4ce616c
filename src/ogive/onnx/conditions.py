"""Conditions that are known before a model runs: they follow from constants, and from sizes that the model declares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ogive.engine.movement import copies
from ogive.errors import OgiveError
from ogive.onnx.checked_graph import CheckedGraph, CheckedStep, Shape, ValueInfo
from ogive.onnx.node_computation import NodeFunction
from ogive.onnx.outline import outline
from ogive.onnx.tracing import trace

#: Stands for a size that is not known, in arrays of sizes. No size is negative.
_OPEN = -(1 << 61) - 1

#: Values of more elements are not looked at, nor conditions that are further away from constants.
MOST_ELEMENTS = 1 << 12
DEEPEST = 100


def decided(graph: CheckedGraph, value: str, shape_of: Callable[[str], Shape | None]) -> bool | None:
    """The value of a condition in every run; None where that depends on the inputs. ``shape_of`` is what is known of shapes."""
    found = _Search(graph, shape_of).value(value, 0)
    return None if found is None or found.size != 1 or _has_open(found) else bool(found.reshape(()))


class _Search:
    def __init__(self, graph: CheckedGraph, shape_of: Callable[[str], Shape | None]) -> None:
        self.graph, self.shape_of = graph, shape_of
        self.steps = {step.output: step for step in graph.steps}
        self.known: dict[str, np.ndarray | None] = {}

    def value(self, name: str, depth: int) -> np.ndarray | None:
        """A value that is the same in every run, with `_OPEN` for sizes that are not known; None for others."""
        if name not in self.known:
            found = self.graph.constants.get(name)
            step = self.steps.get(name)
            if found is None and step is not None and depth < DEEPEST:
                found = self._computed(step, depth + 1)
            self.known[name] = found if found is not None and found.size <= MOST_ELEMENTS else None
        return self.known[name]

    def _computed(self, step: CheckedStep, depth: int) -> np.ndarray | None:
        made = step.made
        if isinstance(made, NodeFunction) and made.shape_only:
            return self._sizes(step, made)
        arrays: dict[str, np.ndarray] = {}
        for place, name in enumerate(made.operands):
            array = self.value(name, depth)
            if array is None or (_has_open(array) and not _moves(made, place)):
                return None
            arrays[name] = array
        return self._run(step, arrays)

    def _sizes(self, step: CheckedStep, made: NodeFunction) -> np.ndarray | None:
        """Shape or Size: what two arrays, whose other sizes differ, do not have in common is not known."""
        constant = self.graph.constants.get(made.operands[0])
        shape = self.shape_of(made.operands[0]) if constant is None else constant.shape
        if shape is None:
            return None
        stand_ins = [
            np.broadcast_to(np.zeros((), bool), [size if isinstance(size, int) else other for size in shape])
            for other in (2, 3)
        ]
        one, two = (np.asarray(made.function(array)) for array in stand_ins)
        return np.where(one == two, one, _OPEN)

    def _run(self, step: CheckedStep, arrays: dict[str, np.ndarray]) -> np.ndarray | None:
        types = {name: self.graph.types[name] for name in (*arrays, step.output)}
        info = ValueInfo("result", types[step.output])
        alone = CheckedGraph(
            outputs=[info], results=[step.output], constants=dict(arrays), types=types, steps=[replace(step)]
        )
        try:
            results, _ = trace(outline(alone, ("result",), fuse=False), {}, 1 << 20)
        except OgiveError:  # the run says what is wrong
            return None
        return results[0] if isinstance(results[0], np.ndarray) else None


def _has_open(array: np.ndarray) -> bool:
    return array.dtype == np.int64 and bool((array == _OPEN).any())


def _moves(made: object, place: int) -> bool:
    """Whether the elements of this operand go into the result as they are."""
    if not isinstance(made, NodeFunction):
        return False
    function = getattr(made.function, "args", (None,))[0]  # behind the arguments that the node names
    return function is copies.concat or (place == 0 and (made.is_view or function is copies.gather))
