"""The JSON of WebNN's conformance tests: a list of graphs with inputs and expected outputs.

Numbers that JSON does not have are texts: ``NaN``, ``Infinity``, ``-Infinity``.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from ogive.catalog.standards import rows
from ogive.errors import UnsupportedError, message, naming
from ogive.golden.specification import python_value
from ogive.golden.vectors import Vectors
from ogive.webnn.operator_table import OPERATORS as TABLE

__all__ = ["OPERATORS", "write"]

#: Ogive's name -> WebNN's, and WebNN's names of the options.
OPERATORS: dict[str, tuple[str, dict[str, str]]] = {
    "clamp": ("clamp", {"min": "minValue", "max": "maxValue"}),
    "softmax": ("softmax", {}),
    "average": ("reduceMean", {}),
    "logsumexp": ("reduceLogSumExp", {}),
    "sum": ("reduceSum", {}),
    **{
        rows("webnn", name)[0].formula: (name, {option: option for option in row.options})
        for name, row in TABLE.items()
        if row.kind == "elements"
    },
}

#: WebNN's element types.
TYPES = ("float32", "float16", "int32", "uint32", "int64", "uint64", "int8", "uint8")


def write(vectors: Vectors, folder: Path) -> list[Path]:
    """Write one file: a test for each case."""
    spec = vectors.specification
    if spec.catalogue not in OPERATORS:
        raise UnsupportedError(message(spec.operator, "WebNN does not have it", ", ".join(sorted(OPERATORS))))
    name, options = OPERATORS[spec.catalogue]
    for kind in (*spec.inputs, spec.output):
        if kind.name not in TYPES and kind.name != "bool":
            raise UnsupportedError(message(spec.operator, f"WebNN has no {kind.name}", ", ".join(TYPES)))
    from ogive.golden.specification import find_operator

    for parameter in find_operator(spec.catalogue).parameters:
        value = spec.parameters[parameter.name]
        if parameter.name not in options and not parameter.is_default(value):
            raise UnsupportedError(
                message(spec.operator, f"{parameter.name} is {value!r}", f"{parameter.default!r}, which WebNN means")
            )
    given = {webnn: _number(spec.parameters[own]) for own, webnn in options.items()}
    tests = []
    for case in vectors.cases:
        arguments: list[dict[str, Any]] = [{tensor: tensor} for tensor in spec.tensors]
        if spec.reduces:
            arguments.append({"options": {"axes": [case.inputs[0].ndim - 1], "keepDimensions": False}})
        elif spec.is_row_wise:
            arguments.append({"axis": case.inputs[0].ndim - 1})
        if given:
            arguments.append({"options": given})
        tests.append(
            {
                "name": f"{name} {spec.kind.name} {case.name}",
                "graph": {
                    "inputs": {t: _tensor(x) for t, x in zip(spec.tensors, case.inputs, strict=True)},
                    "operators": [{"name": name, "arguments": arguments, "outputs": "output"}],
                    "expectedOutputs": {"output": _tensor(case.expected)},
                },
            }
        )
    path = folder / f"{vectors.name}.json"
    with naming(path):
        path.write_text(json.dumps(tests, allow_nan=False) + "\n", encoding="utf-8")
    return [path]


def _tensor(x: np.ndarray) -> dict[str, Any]:
    kind = "uint8" if x.dtype == bool else x.dtype.name
    values = [_number(python_value(v)) for v in np.ascontiguousarray(x).reshape(-1)]
    return {"data": values, "descriptor": {"shape": list(x.shape), "dataType": kind}}


def _number(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
