"""Files that golden data is written to, those of other tools a module each, imported when it is wanted."""

from __future__ import annotations

import csv
import importlib
import json
import re
from pathlib import Path

import numpy as np

from ogive.common.array_shapes import broadcast_arrays, broadcast_shapes
from ogive.common.conversion import is_of_ml_dtypes
from ogive.errors import ArgumentError, UnsupportedError, message, naming, needed
from ogive.golden.specification import WholeSpecification, bits_of, python_value
from ogive.golden.vectors import Vectors

__all__ = ["FORMATS", "write"]

#: Format -> what it is.
FORMATS = {
    "npz": "NumPy's archive: every case; bfloat16 and floats of 8 bits as their bits",
    "csv": "a table of the elements: decimal numbers and bits",
    "c": "a C header with the bits as arrays",
    "onnx": "folders for ONNX's backend tests: model.onnx and test_data_set_N",
    "dxdispatch": "a model for DxDispatch, with its inputs and expected results as .npy",
    "webnn": "the JSON of WebNN's conformance tests",
    "xsref": "the parquet tables of scipy/xsref, for functions that both have",
}


#: The formats that hold calls of operators of whole arrays.
OF_CALLS = ("npz", "onnx", "webnn")


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
    # Each writer makes its folder when it has refused what it cannot write.
    if format in _WRITERS:
        folder.mkdir(parents=True, exist_ok=True)
        written = _WRITERS[format](vectors, folder)
    else:
        install, package = ("pyarrow", "pyarrow") if format == "xsref" else ("'ogive[onnx]'", "onnx")
        with needed(f"the format {format}", install, package):
            module = importlib.import_module(f"ogive.golden.formats.{format}_format")
        written = module.write(vectors, folder)
    manifest = folder / f"{vectors.name}.json"
    if format in ("onnx", "dxdispatch"):
        manifest = folder / vectors.name / "manifest.json"
    if format == "webnn":
        manifest = folder / f"{vectors.name}.manifest.json"
    facts = {**vectors.manifest, "format": format, "files": [str(path.relative_to(folder)) for path in written]}
    with naming(manifest):
        manifest.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    return [*written, manifest]


def _stored(x: np.ndarray) -> np.ndarray:
    """An array as NumPy's files can keep it: types that NumPy lacks as their bits, text of a fixed length."""
    if x.dtype == object:
        return x.astype(str)
    return x.view(f"u{x.dtype.itemsize}") if is_of_ml_dtypes(x.dtype) else x


def _write_npz(vectors: Vectors, folder: Path) -> list[Path]:
    """NumPy's archive: ``CASE/TENSOR`` and ``CASE/expected`` for every case."""
    arrays = {}
    for case in vectors.cases:
        name = case.name.replace(" ", "_").replace(",", "")
        for tensor, x in zip(vectors.specification.tensors, case.inputs, strict=True):
            arrays[f"{name}/{tensor}"] = _stored(np.ascontiguousarray(x).reshape(x.shape))
        for i, x in enumerate((case.expected, *case.others)):
            arrays[f"{name}/expected{f'_{i}' if i else ''}"] = _stored(np.ascontiguousarray(x).reshape(x.shape))
    path = folder / f"{vectors.name}.npz"
    with naming(path), path.open("wb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]  # its stubs take a name for an option
    return [path]


def _write_csv(vectors: Vectors, folder: Path) -> list[Path]:
    """A table of the elements of the first case: decimal numbers that read back, and bits."""
    spec, case = vectors.specification, vectors.cases[0]
    rows = []
    case_arrays = list(broadcast_arrays(*case.inputs))
    columns = [*case_arrays, case.expected] if case.expected.shape == case_arrays[0].shape else case_arrays
    header = []
    for name in (*spec.tensors, "expected")[: len(columns)]:
        header += [name, f"{name}_bits"]
    flat = [np.ascontiguousarray(x).reshape(-1) for x in columns]
    bits = [bits_of(x) for x in flat]
    for i in range(flat[0].size):
        row: list[object] = []
        for x, b in zip(flat, bits, strict=True):
            row += [repr(python_value(x[i])), f"{int(b[i]):#0{2 + 2 * x.dtype.itemsize}x}"]
        reason = "" if vectors.chosen is None else vectors.chosen.labels[vectors.chosen.reasons[i]]
        rows.append([*row, reason])
    path = folder / f"{vectors.name}.csv"
    with naming(path), path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*header, "chosen_as"])
        writer.writerows(rows)
    return [path]


def _write_c(vectors: Vectors, folder: Path) -> list[Path]:
    """A C header: the bits of the elements of the first case as arrays of unsigned integers."""
    spec, case = vectors.specification, vectors.cases[0]
    name = re.sub(r"\W", "_", vectors.name)
    shape = broadcast_shapes(*(x.shape for x in case.inputs))
    lines = [
        f"/* {spec.title}: expected results, correctly rounded.",
        *(f"   {key} = {value}" for key, value in spec.parameters.items()),
        f"   {spec.parameter_rule}.",
        f"   sha256:{vectors.digest} */",
        f"#ifndef OGIVE_{name.upper()}_H",
        f"#define OGIVE_{name.upper()}_H",
        "#include <stdint.h>",
        f"#define {name.upper()}_COUNT {int(np.prod(shape))}",
    ]
    arrays = [np.broadcast_to(x, shape) for x in case.inputs]
    for tensor, x in zip((*spec.tensors, "expected"), (*arrays, case.expected), strict=True):
        bits = bits_of(np.ascontiguousarray(x)).reshape(-1)
        width = 8 * x.dtype.itemsize
        lines.append(f"static const uint{width}_t {name}_{tensor}[] = {{ /* bits of {x.dtype.name} */")
        digits = x.dtype.itemsize * 2
        texts = [f"0x{int(value):0{digits}x}{'u' if width < 64 else 'ull'}" for value in bits]
        lines += [f"    {', '.join(texts[i : i + 8])}," for i in range(0, len(texts), 8)]
        lines.append("};")
    lines.append("#endif")
    path = folder / f"{vectors.name}.h"
    with naming(path):
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [path]


_WRITERS = {"npz": _write_npz, "csv": _write_csv, "c": _write_c}
