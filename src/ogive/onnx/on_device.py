"""A model whose kernels run on a device, and whose arrays stay there."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np

from ogive import forking
from ogive.devices.device_plan import Device, DevicePlan, copied
from ogive.devices.kernels import Driver
from ogive.errors import UnsupportedError, message
from ogive.onnx.arguments import checked_inputs
from ogive.onnx.checked_graph import CheckedGraph
from ogive.onnx.outline import Outline, outline
from ogive.onnx.runner import MOST_PLANS
from ogive.onnx.tracing import trace

__all__ = ["DeviceRunner"]


class DeviceRunner:
    """Runs a checked graph on a device: its arrays in, its arrays out. NumPy's arrays are copied there, and the results back.

    The first run for new shapes finds the plan, and refuses nodes that have no kernel.
    """

    def __init__(self, graph: CheckedGraph, name: str, device: Device, memory_limit: int, *, fuse: bool) -> None:
        self.graph, self.name, self.device, self.memory_limit, self.fuse = graph, name, device, memory_limit, fuse
        self._dtypes = [None] * len(graph.inputs)
        self._outlines: dict[tuple[str, ...], Outline] = {}
        self._plans: OrderedDict[Any, DevicePlan] = OrderedDict()
        self._lock = forking.lock()

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
            plan = self._plan(driver, outputs, arrays)
            placed = {
                name: device.placed(subject, name, there[name]) if name in there else copied(driver, value)
                for name, value in arrays.items()
                if value is not None
            }
            found = plan.run(driver, placed)
            return [device.wrapped(one) if there else np.array(one.on_host(driver), order="C") for one in found]

    def _plan(self, driver: Driver, outputs: tuple[str, ...], arrays: Mapping[str, Any]) -> DevicePlan:
        """The plan for inputs of these shapes."""
        key = outputs, tuple(None if value is None else value.shape for value in arrays.values())
        with self._lock:
            plan = self._plans.get(key)
            if plan is None:
                part = self._outlines.get(outputs)
                if part is None:
                    part = self._outlines[outputs] = outline(self.graph, outputs, fuse=self.fuse)
                empty = {name: None if v is None else np.zeros(v.shape, v.dtype) for name, v in arrays.items()}
                _, record = trace(part, empty, self.memory_limit, computes=False)
                kinds = {name: None if value is None else (value.dtype, value.shape) for name, value in empty.items()}
                plan = DevicePlan(self.name, driver, record.calls, record.fixed, kinds, part.results)
                self._plans[key] = plan
                if len(self._plans) > MOST_PLANS:
                    self._plans.popitem(last=False)
            self._plans.move_to_end(key)
            return plan


def _stand_in(array: Any) -> np.ndarray:
    """What is checked in place of an array on the device: of its type and shape."""
    return np.broadcast_to(np.zeros((), array.dtype), array.shape)
