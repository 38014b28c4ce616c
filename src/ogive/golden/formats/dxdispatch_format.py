"""A model for DxDispatch: ``NAME/model.json``, its inputs and expected results as .npy beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ogive.catalog.standards import counterpart
from ogive.common.array_shapes import broadcast_arrays
from ogive.directml import data
from ogive.directml.support import is_rowwise
from ogive.errors import UnsupportedError, message, naming
from ogive.golden.specification import Specification, find_operator
from ogive.golden.vectors import Vectors


def write(vectors: Vectors, folder: Path) -> list[Path]:
    """Write a folder. Elements lie along the last axis; each case of a row-wise operator is a dispatch of its own."""
    spec = vectors.specification
    if spec.kind.directml is None:
        raise UnsupportedError(message(spec.operator, f"DirectML has no {spec.kind.name}", "types of DirectML"))
    name = _name(spec)
    facts = data.facts(name)
    place = folder / vectors.name
    place.mkdir(parents=True, exist_ok=True)
    written, resources, dispatchables, commands = [place / "model.json"], {}, {}, []
    cases = vectors.cases[:1] if not spec.is_row_wise else [c for c in vectors.cases if c.expected.ndim == 2]
    for number, case in enumerate(cases):
        arrays = [np.ascontiguousarray(x) for x in broadcast_arrays(*case.inputs)]
        shape = (1,) * (4 - arrays[0].ndim) + arrays[0].shape
        desc: dict[str, Any] = _attributes(spec, name)
        if is_rowwise(name) and "Axes" in {m.name for m in facts.members}:
            desc |= {"AxisCount": 1, "Axes": [3]}
        bindings = {}
        for member, x in zip((*spec_members(name), facts.output.name), (*arrays, case.expected), strict=True):
            # DirectML has no truth values: they are 0 and 1.
            kept = x.astype(np.uint8) if x.dtype == bool else x
            resource = f"{member}_{number}"
            file = "expected" if member == facts.output.name else member
            path = place / f"{file}_{number}.npy"
            with naming(path):
                np.save(path, kept.reshape(shape))
            written.append(path)
            kind = kept.dtype.name.upper()
            is_output = member == facts.output.name
            zeros = {"valueCount": int(kept.size), "value": 0}
            resources[resource] = {
                "initialValuesDataType": kind,
                "initialValues": zeros if is_output else {"sourcePath": path.name},
            }
            desc[member] = {"DataType": kind, "Sizes": list(shape)}
            bindings[member] = resource
        dispatchables[f"case_{number}"] = {"type": f"DML_OPERATOR_{name}", "desc": desc}
        commands.append({"type": "dispatch", "dispatchable": f"case_{number}", "bindings": bindings})
        result: dict[str, Any] = {
            "type": "writeFile",
            "resource": bindings[facts.output.name],
            "dimensions": list(shape),
        }
        commands.append({**result, "targetPath": f"result_{number}.npy"})
    model = {"resources": resources, "dispatchables": dispatchables, "commands": commands}
    with naming(written[0]) as path:
        path.write_text(json.dumps(model, indent=2) + "\n", encoding="utf-8")
    return written


def _name(spec: Specification) -> str:
    if spec.standard == "directml":
        return spec.operator
    op = find_operator(spec.catalogue) if spec.standard == "ogive" else None
    if op is None or op.directml is None:
        raise UnsupportedError(message(spec.operator, "DirectML does not have it", "operators with a DirectML name"))
    return op.directml


def spec_members(name: str) -> list[str]:
    """The input tensors of an operator."""
    return [member.name for member in data.facts(name).inputs]


def _attributes(spec: Specification, name: str) -> dict[str, Any]:
    """The members that are numbers."""
    if spec.standard == "directml":
        return {member: _number(value) for member, value in spec.parameters.items()}
    found: dict[str, Any] = {}
    for member in data.facts(name).members:
        own = counterpart("directml", name, member.name)
        if member.type == "FLOAT" and own in spec.parameters:
            found[member.name] = _number(spec.parameters[own])
    return found


def _number(value: float) -> Any:
    """A number, or what DxDispatch calls an infinity."""
    return value if np.isfinite(value) else "inf" if value > 0 else "-inf"
