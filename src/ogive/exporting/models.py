"""ONNX models that are one kernel, as functions."""

from __future__ import annotations

from ogive.exporting.interface import Interface, Operand, identifiers
from ogive.exporting.sources import Source
from ogive.onnx.model import Model
from ogive.onnx.one_kernel import one_kernel

__all__ = ["source_of_model"]


def source_of_model(model: Model, name: str | None) -> Source:
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
    return Source(Interface(name, title, operands, (), computation.program, kernel.parameters), computation, ())
