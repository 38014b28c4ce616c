"""Runs a graph: the first time for some shapes step by step, from then on by the plan made of that."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from ogive.common import forking
from ogive.engine.plan import Plan, ShapesChanged, make_plan, separate
from ogive.onnx.batches import Declared, find_batch, shape_of_all
from ogive.onnx.delivery import Delivery, Destinations
from ogive.onnx.outline import Outline
from ogive.onnx.tracing import Record, Room, trace, within

#: For how many sets of input shapes a plan, and its memory, is kept.
MOST_PLANS = 16

#: More plans are kept without memory, as long as all have no more steps than this: a step takes some kilobytes, and what has
#: lengths of its own in each call has some hundred lengths.
MOST_STEPS = 4096

#: Only the plan that was used last keeps more than this many bytes of buffers.
LARGEST_IDLE = 1 << 26


@dataclass(frozen=True)
class Ran:
    """The steps of the last run of a graph."""

    kernels: int
    """How many different kernels it called."""
    kernel_calls: int
    function_calls: int
    """Calls of other functions, and copies: rows, reductions, movement of data. Views are none."""
    types: tuple[str, ...]
    """The element types that it computed with, as NumPy calls them."""
    on_host: tuple[str, ...] = ()
    """On a device the nodes that have no kernel there: the host computed what they make, between two copies."""


class Runner:
    """A graph that can be run from several threads at once."""

    def __init__(
        self,
        outline: Outline,
        memory_limit: int,
        *,
        is_flexible: bool = False,
        declared: Sequence[Declared] | None = None,
    ) -> None:
        self.outline = outline
        self.memory_limit = memory_limit
        self.is_flexible = is_flexible
        self.declared = declared
        self._plans: OrderedDict[tuple[Any, ...], Plan] = OrderedDict()
        self._lock = forking.lock()
        self._latest: tuple[Any, ...] = ()

    def run(
        self, inputs: Sequence[Any], outputs: Sequence[str] = (), delivery: Delivery | None = None
    ) -> tuple[Sequence[Any], Plan]:
        """The results for inputs in the order of the graph's, each an array of its own; and the plan for such inputs.

        With a delivery, to which ``outputs`` are the names of the results, arrays may share memory.
        """
        destinations = None
        if delivery is not None:
            # The first of several outputs that are one value is the one that is computed in place.
            names = dict(zip(reversed(self.outline.results), reversed(outputs), strict=True))
            destinations = Destinations(delivery, names)
        key = tuple(value.shape if isinstance(value, np.ndarray) else None for value in inputs)
        with self._lock:
            if key not in self._plans:
                flexible = (known for known, plan in self._plans.items() if plan.flexible and plan.fits(inputs))
                key = next(flexible, key)
            plan = self._plans.get(key)
            if plan is not None:
                self._use(key)
        if plan is not None and destinations is None:
            try:
                return plan.run(inputs), plan
            except ShapesChanged:  # shapes inside depend on the values of the inputs, not on their shapes alone
                pass
        given = dict(zip(self.outline.inputs, inputs, strict=True))
        results, record = trace(self.outline, given, self.memory_limit, destinations)
        plan = self._plan_of(record, inputs)
        if destinations is None:
            results = self._separate(results, plan.is_own, record.bytes)
        with self._lock:  # a run that the memory limit refuses leaves no plan
            self._plans[key] = plan
            self._use(key)
            self._forget()
        return results, plan

    def _separate(self, results: Sequence[Any], is_own: Sequence[bool], used: int) -> list[Any]:
        """The results as arrays that nothing else uses. Copies of views and inputs count like other arrays of the run."""
        found = []
        for name, value, own in zip(self.outline.results, results, is_own, strict=True):
            result = within(f"result {name!r}", Room(self.memory_limit, used), partial(separate, is_own=own), value)
            found.append(result)
            if result is not value and isinstance(result, np.ndarray):
                used += result.nbytes
        return found

    def _plan_of(self, record: Record, inputs: Sequence[Any]) -> Plan:
        """The plan of the runs that do the same as the recorded one.

        If the model is flexible (it declares nothing that other shapes would contradict) and all values had one shape,
        the plan is for any shape of so many axes. If the declared shapes allow batches of any length, and nothing but
        first axes follows from the length, the plan is for batches.
        """
        names, results = self.outline.inputs, self.outline.results
        uniform = shape_of_all(record, inputs, results) if self.is_flexible else None
        batch = None
        if uniform is None and self.declared is not None:
            batch = find_batch(record, names, inputs, self.declared)
        kinds = [(value.dtype, value.shape) if isinstance(value, np.ndarray) else None for value in inputs]
        return make_plan(
            record.calls,
            record.fixed,
            dict(zip(names, kinds, strict=True)),
            results,
            uniform=uniform,
            batch=batch,
            memory_limit=self.memory_limit,
        )

    def ran(self) -> Ran | None:
        """The steps of the last run; None before the first."""
        with self._lock:
            plan = self._plans.get(self._latest)
        if plan is None:
            return None
        kernels = [call for call, is_kernel, *_ in plan.steps if is_kernel]
        functions = [
            None
            for what, is_kernel, inputs, _, ((place, *_), *_), _ in plan.steps
            if not is_kernel and place != "view" and (what is not None or inputs)
        ]
        return Ran(len({id(k) for k in kernels}), len(kernels), len(functions), self.outline.computed_types)

    def _use(self, key: tuple[Any, ...]) -> None:
        """Make a plan the last one used; the one before gives its memory back if that is much."""
        if key != self._latest:
            previous = self._plans.get(self._latest)
            if previous is not None and (previous.flexible or previous.workspace_bytes > LARGEST_IDLE):
                previous.idle.clear()
            self._latest = key
            self._plans.move_to_end(key)
            oldest = next(islice(reversed(self._plans), MOST_PLANS, None), None)
            if oldest is not None:
                self._plans[oldest].idle.clear()

    def _forget(self) -> None:
        """Keep no more plans than there is room for."""
        steps = sum(len(plan.steps) for plan in self._plans.values())
        while len(self._plans) > MOST_PLANS and steps > MOST_STEPS:
            steps -= len(self._plans.popitem(last=False)[1].steps)
