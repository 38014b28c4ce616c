"""Runs a graph: the first time for some shapes step by step, from then on by the plan made of that."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from ogive import forking
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

    def __init__(self, outline: Outline, memory_limit: int) -> None:
        self.outline = outline
        self.memory_limit = memory_limit
        self._plans: OrderedDict[tuple[Any, ...], Plan] = OrderedDict()
        self._lock = forking.lock()
        self._latest: tuple[Any, ...] = ()

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        """The results for inputs in the order of the graph's; every result is an array of its own."""
        key = tuple(value.shape if isinstance(value, np.ndarray) else None for value in inputs)
        with self._lock:
            plan = self._plans.get(key)
            if plan is not None:
                self._use(key)
        if plan is not None:
            try:
                return plan.run(inputs)
            except ShapesChanged:  # shapes inside depend on the values of the inputs, not on their shapes alone
                pass
        results, record = trace(self.outline, dict(zip(self.outline.inputs, inputs, strict=True)), self.memory_limit)
        plan = make_plan(record, self.outline.inputs, self.outline.results)
        with self._lock:
            self._plans[key] = plan
            self._use(key)
        return [separate(value, is_own=is_own) for value, is_own in zip(results, plan.is_own, strict=True)]

    def _use(self, key: tuple[Any, ...]) -> None:
        """Make a plan the last one used; the one before gives its memory back if that is much."""
        if key != self._latest:
            previous = self._plans.get(self._latest)
            if previous is not None and sum(previous.buffers) > LARGEST_IDLE:
                previous.idle.clear()
            self._latest = key
            self._plans.move_to_end(key)
        while len(self._plans) > MOST_PLANS:
            self._plans.popitem(last=False)
