"""Models over Dask arrays: chunk by chunk, where no chunk needs what is in another one.

Element-wise nodes need their own elements only; rows (Softmax) need whole rows. Constants of several elements lie along
certain axes, and are whole. So the axes that chunks may cut are known without running the model.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from ogive.errors import ArgumentError, ShapeError, described, message
from ogive.onnx.broadcasting import identical, multidirectional
from ogive.onnx.checked_graph import CheckedGraph
from ogive.onnx.node_computation import ArrangedRows, ElementwiseNode


class Runs(Protocol):
    """A model, as `run` sees it."""

    def run(self, inputs: Mapping[str, Any], outputs: Sequence[str] | None = None) -> dict[str, Any]: ...


def map_blocks(model: Runs, name: str, graph: CheckedGraph, given: Mapping[str, Any]) -> Any:
    """The outputs of a model as Dask arrays, from inputs by name."""
    da = sys.modules.get("dask.array")
    arrays = _arrays(name, graph, given)
    rank = max(array.ndim for array in arrays.values())
    places = [tuple(range(rank - array.ndim, rank)) for array in arrays.values()]
    assert da is not None
    _, aligned = da.core.unify_chunks(*(part for pair in zip(arrays.values(), places, strict=True) for part in pair))
    arrays = dict(zip(arrays, aligned, strict=True))
    whole = _whole_axes(graph, rank)
    for input_name, array in arrays.items():
        for axis, blocks in enumerate(array.numblocks):
            reason = whole.get(axis - array.ndim) or whole.get(0)
            if blocks > 1 and reason:
                what = f"input {input_name!r} is cut into chunks along axis {axis}, and {reason} needs it whole"
                way_out = f"Rechunk it: {input_name}.rechunk({{{axis}: -1}})"
                raise ShapeError(message(f"{name}.map_blocks", what, "", way_out))
        _check_declared(name, graph, input_name, array)
    pairs = [part for pair in zip(arrays.values(), places, strict=True) for part in pair]
    names = tuple(arrays)
    results = tuple(
        da.blockwise(
            partial(_output, model, info.name, names),
            tuple(range(rank)),
            *pairs,
            dtype=info.dtype,
            meta=np.empty((0,) * rank, info.dtype),
        )
        for info in graph.outputs
    )
    return results[0] if len(results) == 1 else results


def _output(model: Runs, output: str, names: Sequence[str], *blocks: np.ndarray) -> Any:
    return model.run(dict(zip(names, blocks, strict=True)), outputs=[output])[output]


def _arrays(name: str, graph: CheckedGraph, given: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs in the model's order, as Dask arrays of the model's types."""
    subject, known = f"{name}.map_blocks", [info.name for info in graph.inputs]
    for one in given:
        if one not in known:
            raise ArgumentError(message(subject, f"there is no input {one!r}", ", ".join(known)))
    da = sys.modules.get("dask.array")
    arrays = {}
    for info in graph.inputs:
        value = given.get(info.name)
        if value is None:
            if info.required:
                raise ArgumentError(message(subject, f"the input {info.name!r} is missing"))
            continue
        if da is None or not isinstance(value, da.Array):
            what = f"the input {info.name!r} is {described(value)}"
            raise ArgumentError(message(subject, what, "Dask arrays", "Give dask.array.from_array(x, chunks=...)"))
        if value.dtype != info.dtype:
            what = f"the input {info.name!r} has dtype {value.dtype}"
            raise ArgumentError(message(subject, what, str(info.dtype), f"Convert it: x.astype({str(info.dtype)!r})"))
        arrays[info.name] = value
    if not arrays:
        raise ArgumentError(message(subject, "no input was given", "one Dask array or more"))
    return arrays


def _whole_axes(graph: CheckedGraph, rank: int) -> dict[int, str]:
    """Axes that chunks must not cut, counted from the last one, with what needs them; 0 stands for all of them."""
    whole: dict[int, str] = {}
    for step in graph.steps:
        made = step.made
        if isinstance(made, ElementwiseNode) and made.rule in (identical, multidirectional):
            for operand in made.operands:
                constant = graph.constants.get(operand, graph.defaults.get(operand))
                if constant is not None:
                    for axis, length in enumerate(constant.shape):
                        if length != 1:
                            whole.setdefault(axis - constant.ndim, f"a constant of {step.label}")
            continue
        shape = (2,) * rank
        rows = made.arrange([shape], ()) if isinstance(made, ArrangedRows) and len(made.operands) == 1 else None
        if rows is None or rows.result != shape:
            whole.setdefault(0, step.label)
            continue
        for axis in rows.order[rank - rows.row_axes :]:
            whole.setdefault(axis - rank, step.label)
    return whole


def _check_declared(name: str, graph: CheckedGraph, input_name: str, array: Any) -> None:
    """Chunks must have the sizes that the model declares as numbers."""
    info = next(info for info in graph.inputs if info.name == input_name)
    for axis, size in enumerate(info.shape or ()):
        if isinstance(size, int) and axis < array.ndim and set(array.chunks[axis]) != {size}:
            found = ", ".join(str(length) for length in dict.fromkeys(array.chunks[axis]))
            what = f"input {input_name!r} has chunks of {found} elements along axis {axis}"
            raise ShapeError(message(f"{name}.map_blocks", what, f"{size}, which the model declares"))
