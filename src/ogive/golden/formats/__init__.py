"""Files that golden data is written to, one module a format, each imported when it is wanted."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import numpy as np

from ogive.errors import ArgumentError, UnsupportedError, message
from ogive.golden.specification import WholeSpecification
from ogive.golden.vectors import Vectors

__all__ = ["FORMATS", "write"]

#: Format -> what it is.
FORMATS = {
    "npz": "NumPy's archive: every case, 16-bit brain floats as uint16",
    "csv": "a table of the elements: decimal numbers and bits",
    "c": "a C header with the bits as arrays",
    "onnx": "folders for ONNX's backend tests: model.onnx and test_data_set_N",
    "dxdispatch": "a model for DxDispatch, with its inputs and expected results as .npy",
    "webnn": "the JSON of WebNN's conformance tests",
}


#: Those that hold calls of operators of whole arrays.
OF_CALLS = ("npz", "onnx")


def write(vectors: Vectors, format: str, folder: Path) -> list[Path]:  # noqa: A002
    """Write golden data and its manifest; the paths of the files.

    Raises ArgumentError for an unknown format, UnsupportedError where a format has no such operator or type.
    """
    if format not in FORMATS:
        raise ArgumentError(message("ogive.golden", f"the format is {format!r}", ", ".join(FORMATS)))
    if format != "onnx" and not isinstance(vectors.expected, np.ndarray):
        what = f"{format} has arrays, and its values are of type {vectors.specification.kind.name}"
        raise UnsupportedError(message(vectors.specification.operator, what, "onnx"))
    if isinstance(vectors.specification, WholeSpecification) and format not in OF_CALLS:
        what = f"{format} has one table of elements, and its golden data are calls"
        raise UnsupportedError(message(vectors.specification.operator, what, ", ".join(OF_CALLS)))
    folder.mkdir(parents=True, exist_ok=True)
    module = importlib.import_module(f"ogive.golden.formats.{format}_format")
    written: list[Path] = module.write(vectors, folder)
    manifest = folder / f"{vectors.name}.json"
    if format in ("onnx", "dxdispatch"):
        manifest = folder / vectors.name / "manifest.json"
    if format == "webnn":
        manifest = folder / f"{vectors.name}.manifest.json"
    facts = {**vectors.manifest, "format": format, "files": [str(path.relative_to(folder)) for path in written]}
    manifest.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    return [*written, manifest]
