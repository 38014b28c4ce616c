"""A model whose kernels run on a device, and whose arrays stay there."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ogive.common import forking
from ogive.devices.device_plan import Device, DevicePlan, copied
from ogive.devices.kernels import Driver
from ogive.errors import UnsupportedError, message
from ogive.onnx.arguments import checked_inputs
from ogive.onnx.checked_graph import CheckedGraph
from ogive.onnx.outline import Outline, outline
from ogive.onnx.runner import MOST_PLANS, Ran
from ogive.onnx.tracing import trace


class DeviceRunner:
    """Runs a checked graph on a device: its arrays in, its arrays out. NumPy's arrays are copied there, and the results back.

    The first run for new shapes finds the plan, and refuses nodes of which no input says the shape of what they make.
    """

    def __init__(self, graph: CheckedGraph, name: str, device: Device, memory_limit: int, *, fuse: bool) -> None:
        self.graph, self.name, self.device, self.memory_limit, self.fuse = graph, name, device, memory_limit, fuse
        self._dtypes = [None] * len(graph.inputs)
        self._outlines: dict[tuple[str, ...], Outline] = {}
        self._plans: OrderedDict[Any, DevicePlan] = OrderedDict()
        self._steering: dict[Any, Iterable[str]] = {}
        """By shapes, and what lies on the device, the inputs that steer where elements go: the plan is for their values."""
        self._latest: dict[tuple[str, ...], DevicePlan] = {}
        self._lock = forking.lock()

    def ran(self, outputs: tuple[str, ...]) -> Ran | None:
        """The work of the last run for these outputs; None before the first."""
        plan = self._latest.get(outputs)
        if plan is None:
            return None
        kernels, others = plan.kernels, len(plan.steps) - len(plan.kernels)
        types, on_host = self._outlines[outputs].computed_types, tuple(dict.fromkeys(plan.on_host))
        return Ran(len(set(map(id, kernels))), len(kernels), others, types, on_host)

    def results(self, inputs: Mapping[str, Any], outputs: tuple[str, ...]) -> list[Any]:
        """The outputs of these names, for inputs by name."""
        device, subject = self.device, self.name
        there = {name: value for name, value in inputs.items() if device.holds(value)}
        given = {name: _stand_in(value) if name in there else value for name, value in inputs.items()}
        values = checked_inputs(subject, self.graph.inputs, self._dtypes, self.graph.defaults, given)
        arrays = dict(zip((info.name for info in self.graph.inputs), values, strict=True))
        for name, value in arrays.items():
            if isinstance(value, list) or (value is not None and value.dtype.hasobject):
                what = f"the input {name!r} is a list, or has text"
                raise UnsupportedError(
                    message(subject, what, f"arrays of numbers on {device.name}", "Load the model without device=")
                )
        driver = device.driver()
        with driver.failures(subject, "the arrays of a run"):
            plan = self._plan(driver, outputs, arrays, there)
            placed = {
                name: device.placed(subject, name, there[name]) if name in there else copied(driver, value)
                for name, value in arrays.items()
                if value is not None
            }
            found, self._latest[outputs] = plan.run(driver, placed), plan
            return [device.wrapped(one) if there else np.array(one.on_host(driver), order="C") for one in found]

    def _plan(
        self, driver: Driver, outputs: tuple[str, ...], arrays: Mapping[str, Any], there: Collection[str]
    ) -> DevicePlan:
        """The plan for inputs of these shapes; where shapes follow from integers that the host gives, for their values too."""
        shapes = outputs, tuple(None if value is None else value.shape for value in arrays.values())
        with self._lock:
            key = shapes, frozenset(there)
            steering = self._steering.get(key, {})
            try:
                return self._kept(driver, shapes, arrays, steering)
            except UnsupportedError:
                few = {name: v for name, v in arrays.items() if name not in there and _is_few(v)}
                if steering or not few:
                    raise
            plan = self._kept(driver, shapes, arrays, few)
            self._steering[key] = few
            return plan

    def _kept(self, driver: Driver, shapes: Any, arrays: Mapping[str, Any], steering: Iterable[str]) -> DevicePlan:
        """The plan, which may be known already."""
        fixed = {name: arrays[name] for name in steering}
        key = shapes, tuple(array.tobytes() for array in fixed.values())
        if key not in self._plans:
            outputs, _ = shapes
            if outputs not in self._outlines:
                self._outlines[outputs] = outline(self.graph, outputs, fuse=self.fuse)
            part = self._outlines[outputs]
            empty = {
                name: None if v is None else np.zeros(v.shape, v.dtype)
                for name, v in arrays.items()
                if name not in fixed
            }
            known = replace(part, arrays={**part.arrays, **{name: array.copy() for name, array in fixed.items()}})
            _, record = trace(known, empty, self.memory_limit, computes=False)
            kinds = {name: None if value is None else (value.dtype, value.shape) for name, value in empty.items()}
            self._plans[key] = DevicePlan(self.name, driver, record.calls, record.fixed, kinds, part.results)
            if len(self._plans) > MOST_PLANS:
                self._plans.popitem(last=False)
        self._plans.move_to_end(key)
        return self._plans[key]


#: So many integers of an input may steer where elements go.
MOST_STEERING = 1024


def _is_few(array: np.ndarray | None) -> bool:
    return array is not None and array.dtype.kind in "biu" and array.size <= MOST_STEERING


def _stand_in(array: Any) -> np.ndarray:
    """The facts that are checked in place of an array on the device: of its type and shape."""
    return np.broadcast_to(np.zeros((), array.dtype), array.shape)
