"""ONNX's own interface for what runs models: ``onnx.backend.base.Backend``.

>>> import ogive.onnx.backend as backend
>>> from onnx import helper
>>> backend.run_node(helper.make_node("Relu", ["x"], ["y"]), [np.float32([-1.0, 2.0])])
OgiveOutputs(y=array([0., 2.], dtype=float32))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx.defs
from onnx import ModelProto, NodeProto, TypeProto, helper
from onnx.backend.base import Backend, BackendRep, Device, DeviceType, namedtupledict

from ogive.errors import ArgumentError, DTypeError, OgiveError, UnsupportedError, message
from ogive.onnx.data_types import data_type_of, proto_of_type
from ogive.onnx.model import Model, load
from ogive.onnx.schemas import NEWEST_OPSET

__all__ = ["OgiveBackend", "OgiveModel", "is_compatible", "prepare", "run_model", "run_node", "supports_device"]


class OgiveModel(BackendRep):
    """A prepared model: `run` takes the inputs in the model's order, or by name."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def run(self, inputs: Any, **keywords: Any) -> tuple[Any, ...]:
        """The outputs, as a named tuple.

        ``inputs`` is a sequence in the order of the model's inputs, a mapping by name, or, for a model with
        one input, an array. There are no other options.
        """
        if keywords:
            raise ArgumentError(message("ogive.onnx.backend", f"run got {', '.join(keywords)}", "the inputs alone"))
        names = self.model.input_names
        if isinstance(inputs, np.ndarray):
            inputs = [inputs]
        given = inputs if isinstance(inputs, Mapping) else dict(zip(names, inputs, strict=False))
        if len(inputs) > len(names):
            what, allowed = f"{len(inputs)} inputs were given", f"{len(names)}: {', '.join(names)}"
            raise ArgumentError(message("ogive.onnx.backend", what, allowed))
        results = self.model(given)
        names = self.model.output_names
        made = namedtupledict("OgiveOutputs", list(names))  # a name that is there twice has its second place by number
        outputs: tuple[Any, ...] = made(*(results if len(names) > 1 else (results,)))
        return outputs


class OgiveBackend(Backend):
    """Ogive behind ONNX's interface. The one device is the CPU."""

    @classmethod
    def is_compatible(cls, model: ModelProto, device: str = "CPU", **keywords: Any) -> bool:
        """Whether Ogive can run the model."""
        try:
            cls.prepare(model, device, **keywords)
        except OgiveError:
            return False
        return True

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **keywords: Any) -> OgiveModel:
        """Load a model, to run it many times. Keywords are those of `ogive.onnx.load`."""
        if not cls.supports_device(device):
            raise UnsupportedError(message("ogive.onnx.backend", f"the device is {device!r}", "'CPU'"))
        return OgiveModel(load(model, **keywords))

    @classmethod
    def run_model(cls, model: ModelProto, inputs: Any, device: str = "CPU", **keywords: Any) -> tuple[Any, ...]:
        """Load a model and run it once."""
        return cls.prepare(model, device, **keywords).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[np.dtype, tuple[int, ...]]] | None = None,
        **keywords: Any,
    ) -> tuple[Any, ...]:
        """Run one node, of the newest opset or of ``opset_version``. The types of its inputs are those given."""
        opset = keywords.pop("opset_version", min(NEWEST_OPSET, onnx.defs.onnx_opset_version()))
        names = [name for name in node.input if name]
        arrays = [np.asarray(value) for value in (inputs.values() if isinstance(inputs, Mapping) else inputs)]
        values = []
        for name, array in zip(names, arrays, strict=False):
            kind = data_type_of(array.dtype)
            if kind is None:
                raise DTypeError(
                    message(f"{node.op_type} node", f"its input {name!r} is {array.dtype}", "types of ONNX")
                )
            values.append(helper.make_value_info(name, proto_of_type(kind.type)))
        outputs = [helper.make_value_info(name, TypeProto()) for name in node.output if name]
        graph = helper.make_graph([node], node.op_type, values, outputs)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=onnx.IR_VERSION)
        return cls.run_model(model, arrays, device, **keywords)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether this is the CPU."""
        try:
            return bool(Device(device).type == DeviceType.CPU)
        except (AttributeError, ValueError):
            return False


is_compatible = OgiveBackend.is_compatible
prepare = OgiveBackend.prepare
run_model = OgiveBackend.run_model
run_node = OgiveBackend.run_node
supports_device = OgiveBackend.supports_device
