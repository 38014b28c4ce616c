"""ONNX models that are one kernel, as functions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ogive.engine.computation import Compilable
from ogive.errors import UnsupportedError, message
from ogive.exporting.interface import Interface, Operand, identifiers
from ogive.exporting.sources import ExportSource
from ogive.onnx.model import Model
from ogive.onnx.outline import outline
from ogive.onnx.tracing import trace


def source_of_model(model: Model, name: str | None) -> ExportSource:
    """The function of a model: inputs, then outputs; numbers of its nodes are constants."""
    kernel = one_kernel(model, "ogive.export")
    computation = kernel.computation
    words = identifiers([*kernel.inputs, *kernel.outputs])
    types = [*computation.inputs, *computation.outputs]
    count = len(kernel.inputs)
    operands = tuple(
        Operand(word, kind, k < count, k in computation.row_operands)
        for k, (word, kind) in enumerate(zip(words, types, strict=True))
    )
    (name,) = identifiers([name or "ogive_model"])
    title = f"An ONNX model, {model!r}"
    return ExportSource(Interface(name, title, operands, (), computation.program, kernel.parameters), computation, ())


#: The size of an axis of which a model says none.
ANY_SIZE = 4


@dataclass(frozen=True)
class OneKernel:
    """The computation of a model in one pass, and the names of its operands."""

    computation: Compilable
    parameters: tuple[float, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def one_kernel(model: Model, subject: str) -> OneKernel:
    """The kernel of a model whose graph is fused into one; others raise UnsupportedError."""
    graph = model._graph
    made = outline(graph, model.output_names, fuse=True)
    given = {}
    for info in graph.inputs:
        if info.dtype is None:
            raise UnsupportedError(message(subject, f"the input {info.name!r} is {info.type}", "tensors"))
        sizes = (ANY_SIZE,) if info.shape is None else info.shape
        shape = [size if isinstance(size, int) else ANY_SIZE for size in sizes]
        given[info.name] = np.ones(shape, info.dtype)
    _, record = trace(made, given, 1 << 30)
    calls = record.calls
    first = calls[0] if calls else None
    if len(calls) != 1 or first is None or first.group is None:
        what = f"the model is computed in {len(calls)} steps"
        way_out = "Export the parts that are one kernel each; `ogive run` says how many there are"
        raise UnsupportedError(message(subject, what, "models that are one kernel", way_out))
    unread = set(given) - set(first.inputs)
    if unread or any(name in record.fixed for name in first.inputs):
        what = "the kernel reads a constant array, or not every input"
        raise UnsupportedError(message(subject, what, "constants of one number, and inputs that are used"))
    names = dict(zip(made.results, model.output_names, strict=True))
    inputs, outputs = map(str, first.inputs), (str(output.name) for output in first.outputs)
    named = (names.get(value, value) for value in outputs)
    return OneKernel(first.group.computation, first.group.parameters, _plain(inputs), _plain(named))


def _plain(names: Iterable[str]) -> tuple[str, ...]:
    """Without what marks views of values."""
    return tuple(name.partition("\0")[0] for name in names)
