"""The JSON of WebNN's conformance tests: a list of graphs with inputs and expected outputs.

Numbers that JSON does not have are texts: ``NaN``, ``Infinity``, ``-Infinity``, and integers beyond 2**53.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ogive.catalog.standards import rows
from ogive.errors import UnsupportedError, message, naming
from ogive.golden.formats.webnn_nodes import FROM_ONNX, Node
from ogive.golden.specification import find_operator, python_value
from ogive.golden.vectors import Case, Vectors
from ogive.onnx.schemas import default_values
from ogive.webnn.operator_table import OPERATORS as TABLE

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
    """Write one file: a test for each case that WebNN can have."""
    spec = vectors.specification
    is_of_onnx = spec.standard == "onnx" and spec.operator in FROM_ONNX
    if spec.catalogue not in OPERATORS and not is_of_onnx:
        allowed = f"{', '.join(sorted(OPERATORS))}, and by ONNX's names {', '.join(sorted(FROM_ONNX))}"
        raise UnsupportedError(message(spec.operator, "WebNN does not have it", allowed))
    nodes = _of_onnx(vectors) if is_of_onnx else _of_catalogue(vectors)
    for kind in dict.fromkeys(x.dtype for _, node in nodes for x in (*node.inputs.values(), *node.results.values())):
        if kind.name not in TYPES and kind.name != "bool":
            raise UnsupportedError(message(spec.operator, f"WebNN has no {kind.name}", ", ".join(TYPES)))
    tests = [
        {
            "name": f"{node.name} {spec.kind.name} {case.name}",
            "graph": {
                "inputs": {tensor: _tensor(x) for tensor, x in node.inputs.items()},
                "operators": [{"name": node.name, "arguments": _arguments(node), "outputs": _outputs(node)}],
                "expectedOutputs": {name: _tensor(x) for name, x in node.results.items()},
            },
        }
        for case, node in nodes
        if all(x.size for x in (*node.inputs.values(), *node.results.values()))  # WebNN has no axes of size 0
    ]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{vectors.name}.json"
    with naming(path):
        path.write_text(json.dumps(tests, allow_nan=False) + "\n", encoding="utf-8")
    return [path]


def _of_onnx(vectors: Vectors) -> list[tuple[Case, Node]]:
    spec = vectors.specification
    translate = FROM_ONNX[spec.operator]
    given = {**default_values(spec.operator, int(spec.version)), **spec.parameters}
    made = [(case, translate(dict(zip(spec.tensors, case.inputs, strict=True)), given, case)) for case in vectors.cases]
    return [(case, node) for case, node in made if node is not None]


def _of_catalogue(vectors: Vectors) -> list[tuple[Case, Node]]:
    spec = vectors.specification
    name, options = OPERATORS[spec.catalogue]
    for parameter in find_operator(spec.catalogue).parameters:
        value = spec.parameters[parameter.name]
        if parameter.name not in options and not parameter.is_default(value):
            raise UnsupportedError(
                message(spec.operator, f"{parameter.name} is {value!r}", f"{parameter.default!r}, which WebNN means")
            )
    given = {webnn: _number(spec.parameters[own]) for own, webnn in options.items()}
    nodes = []
    for case in vectors.cases:
        arguments: list[Any] = list(spec.tensors)
        if spec.reduces:
            arguments.append({"options": {"axes": [case.inputs[0].ndim - 1], "keepDimensions": False}})
        elif spec.is_row_wise:
            arguments.append({"axis": case.inputs[0].ndim - 1})
        if given:
            arguments.append({"options": given})
        inputs = dict(zip(spec.tensors, case.inputs, strict=True))
        nodes.append((case, Node(name, arguments, inputs, {"output": case.expected})))
    return nodes


def _arguments(node: Node) -> list[dict[str, Any]]:
    return [
        {one: one} if isinstance(one, str) else {"inputs": one} if isinstance(one, list) else _plain(one)
        for one in node.arguments
    ]


def _plain(argument: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers of an argument that is no tensor as JSON has them."""
    return {
        name: _plain(value) if isinstance(value, Mapping) else value if isinstance(value, list) else _number(value)
        for name, value in argument.items()
    }


def _outputs(node: Node) -> str | list[str]:
    names = list(node.results)
    return names[0] if len(names) == 1 else names


def _tensor(x: np.ndarray) -> dict[str, Any]:
    kind = "uint8" if x.dtype == bool else x.dtype.name
    values = [_number(python_value(v)) for v in np.ascontiguousarray(x).reshape(-1)]
    return {
        "data": [int(v) if isinstance(v, bool) else v for v in values],
        "descriptor": {"shape": list(x.shape), "dataType": kind},
    }


def _number(value: Any) -> Any:
    """A number as JSON has it. A text is what ``BigInt`` or ``Number`` of JavaScript reads: a double has no room for it."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 2**53:
        return str(value)
    return value
