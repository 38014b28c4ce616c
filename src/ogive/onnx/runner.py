"""Runs a graph: the first time for some shapes step by step, from then on by the plan made of that."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np

from ogive.onnx.outline import Outline
from ogive.onnx.plan import Plan, ShapesChanged, make_plan, separate
from ogive.onnx.tracing import trace

__all__ = ["Runner"]

#: For how many sets of input shapes a plan, and its memory, is kept.
MOST_PLANS = 16

#: Only the plan that was used last keeps more than this many bytes of buffers.
LARGEST_IDLE = 1 << 26


class Runner:
    """A graph that can be run from several threads at once."""

    def __init__(self, outline: Outline, memory_limit: int, *, is_flexible: bool = False) -> None:
        self.outline = outline
        self.memory_limit = memory_limit
        self.is_flexible = is_flexible
        self._plans: OrderedDict[tuple[Any, ...], Plan] = OrderedDict()
        self._lock = Lock()
        self._latest: tuple[Any, ...] = ()

    def run(self, inputs: Sequence[Any]) -> tuple[Sequence[Any], Plan]:
        """The results for inputs in the order of the graph's, each an array of its own; and the plan for such inputs."""
        key = tuple(value.shape if isinstance(value, np.ndarray) else None for value in inputs)
        with self._lock:
            if key not in self._plans:
                uniform = (known for known, plan in self._plans.items() if plan.uniform and plan.fits(inputs))
                key = next(uniform, key)
            plan = self._plans.get(key)
            if plan is not None:
                self._use(key)
        if plan is not None:
            try:
                return plan.run(inputs), plan
            except ShapesChanged:  # shapes inside depend on the values of the inputs, not on their shapes alone
                pass
        results, record = trace(self.outline, dict(zip(self.outline.inputs, inputs, strict=True)), self.memory_limit)
        names = self.outline.inputs, self.outline.results
        plan = make_plan(record, *names, inputs, is_flexible=self.is_flexible, memory_limit=self.memory_limit)
        with self._lock:
            self._plans[key] = plan
            self._use(key)
        return [separate(value, is_own=is_own) for value, is_own in zip(results, plan.is_own, strict=True)], plan

    def _use(self, key: tuple[Any, ...]) -> None:
        """Make a plan the last one used; the one before gives its memory back if that is much."""
        if key != self._latest:
            previous = self._plans.get(self._latest)
            if previous is not None and (previous.uniform or previous.workspace_bytes > LARGEST_IDLE):
                previous.idle.clear()
            self._latest = key
            self._plans.move_to_end(key)
        while len(self._plans) > MOST_PLANS:
            self._plans.popitem(last=False)
