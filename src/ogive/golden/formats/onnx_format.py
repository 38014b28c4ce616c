"""ONNX's backend tests: ``NAME/model.onnx`` and ``NAME/test_data_set_N/input_0.pb, output_0.pb``.

Sequences and optional values are there as ONNX's own tests of Identity have them: ``SequenceProto``, ``OptionalProto``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper

from ogive.catalog.standards import row_of
from ogive.errors import UnsupportedError, message, naming
from ogive.golden.onnx_values import proto_of_value, tensor_of
from ogive.golden.specification import Specification, WholeSpecification, find_operator
from ogive.golden.vectors import Case, Vectors
from ogive.golden.whole_arrays import model_of_whole
from ogive.onnx.node_support import supported

#: A tensor of a model has one rank, so sizes of 1 are put in front of shorter shapes.
RANK = 4


#: Operators whose further inputs have one number for each index of the second axis of the first.
OF_CHANNELS = ("BatchNormalization", "DequantizeLinear", "QuantizeLinear")


def write(vectors: Vectors, folder: Path) -> list[Path]:
    """Write a folder: the model, and a data set for each case."""
    spec = vectors.specification
    place = folder / vectors.name
    if isinstance(spec, WholeSpecification) and spec.standard != "onnx":
        raise UnsupportedError(message(spec.operator, "ONNX does not have it", "operators with a name in ONNX"))
    if isinstance(spec, WholeSpecification):
        model = model_of_whole(spec)
    else:
        model = model_of(spec, [x.dtype for x in vectors.inputs], vectors.expected.dtype)
    place.mkdir(parents=True, exist_ok=True)
    written = [place / "model.onnx"]
    with naming(written[0]) as to:
        onnx.save(model, str(to))
    names, results = ([info.name for info in infos] for infos in (model.graph.input, model.graph.output))
    for number, case in enumerate(_written(vectors)):
        data = place / f"test_data_set_{number}"
        data.mkdir(exist_ok=True)
        values = [(f"input_{i}", name, x) for i, (name, x) in enumerate(zip(names, case.inputs, strict=True))]
        expected = zip(results, (case.expected, *case.others), strict=True)
        values += [(f"output_{i}", name, x) for i, (name, x) in enumerate(expected)]
        kinds = (*spec.input_types, *spec.result_types) if isinstance(spec, WholeSpecification) else ()
        for number_of_value, (file, name, x) in enumerate(values):
            path = data / f"{file}.pb"
            if kinds:
                proto = proto_of_value(x, kinds[number_of_value], name)
            else:
                shape = x.shape if spec.operator in OF_CHANNELS else (1,) * (RANK - x.ndim) + x.shape
                proto = tensor_of(x.reshape(shape), name)
            with naming(path):
                path.write_bytes(proto.SerializeToString())
            written.append(path)
    return written


def _written(vectors: Vectors) -> Iterator[Case]:
    """The calls that files have. ONNX's runner takes the shape of every result: it compares no missing values."""
    if vectors.specification.operator in OF_CHANNELS:
        return _as_channels(vectors)
    return (case for case in vectors.cases if case.expected is not None)


def _as_channels(vectors: Vectors) -> Iterator[Case]:
    """The calls of elements with one shape: each element is a channel."""
    spec = vectors.specification
    if isinstance(spec, WholeSpecification):
        yield from vectors.cases
        return
    if "uantize" in spec.operator and int(spec.version) < 13:
        what = f"version {spec.version} has one scale for all elements, and its golden data one for each"
        raise UnsupportedError(message(spec.operator, what, "npz"))
    for case in vectors.cases:
        if all(x.ndim == 1 and x.shape == case.expected.shape for x in case.inputs) and case.expected.size:
            yield Case(case.name, (case.inputs[0][None], *case.inputs[1:]), case.expected[None])


def model_of(spec: Specification, inputs: list[Any], output: Any) -> onnx.ModelProto:
    """A model of one node, for tensors of any sizes and one rank."""
    operator, version, attributes = _node_of(spec)
    names = list(spec.tensors)
    shape = None if operator in OF_CHANNELS else [None] * RANK
    graph = helper.make_graph(
        [helper.make_node(operator, names, ["result"], **attributes)],
        operator.lower(),
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), shape)
            for name, kind in zip(names, inputs, strict=True)
        ],
        [helper.make_tensor_value_info("result", helper.np_dtype_to_tensor_dtype(np.dtype(output)), shape)],
    )
    opset = helper.make_opsetid("", version)
    return helper.make_model(
        graph, opset_imports=[opset], ir_version=helper.find_min_ir_version_for([opset], ignore_unknown=True)
    )


def _node_of(spec: Specification) -> tuple[str, int, dict[str, Any]]:
    if spec.standard == "onnx":
        return spec.operator, int(spec.version), dict(spec.parameters)
    op = find_operator(spec.catalogue) if spec.standard == "ogive" else None
    if op is None or op.onnx is None:
        raise UnsupportedError(message(spec.operator, "ONNX does not have it", "operators with a name in ONNX"))
    kind = f"tensor({spec.kind.onnx.lower()})"
    versions = [r.version for r in supported() if r.operator == op.onnx and any(kind in t for t in r.types.values())]
    if not versions:
        raise UnsupportedError(message(spec.operator, f"ONNX does not have it in {spec.kind.name}"))
    row = row_of("onnx", op.onnx)
    chosen = {} if row is None else row.choices
    for name, value in chosen.items():
        if spec.parameters.get(name, value) != value:
            what = f"{name} is {spec.parameters[name]!r}"
            raise UnsupportedError(message(spec.operator, what, f"{value!r}, which ONNX means"))
    from ogive.onnx.schemas import schema_of

    schema = schema_of(op.onnx, max(versions))
    known = set(schema.attributes) if schema is not None else set()
    given = {name: value for name, value in spec.parameters.items() if name in known}
    for parameter in op.parameters:
        value = spec.parameters[parameter.name]
        if parameter.name not in known and parameter.name not in chosen and not parameter.is_default(value):
            what = f"{parameter.name} is {value!r}"
            raise UnsupportedError(message(spec.operator, what, f"{parameter.default!r}, which ONNX means"))
    if spec.is_row_wise:
        given["axis"] = -1
    return op.onnx, max(versions), given
