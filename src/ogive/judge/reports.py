"""Files of the judge: reports in JSON and JUnit's XML, and results that were made elsewhere, beside golden data."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ogive.catalog.rounded_steps import ONCE
from ogive.common.array_files import as_type, read_npy, read_npz, read_raw
from ogive.common.documents.document import read_document
from ogive.common.documents.place import DocumentPlace
from ogive.common.dtypes import ELEMENT_TYPES, FLOATS_OF_8_BITS, ElementType
from ogive.errors import ArgumentError, ModelError, OgiveError, message, naming
from ogive.golden.specification import Specification, of_operator
from ogive.judge.judgement import SCHEMA_VERSION, Judgement
from ogive.judge.subjects import Subject

#: The schema of the JSON.
SCHEMA = Path(__file__).parent / "data" / "judgement.schema.json"


def as_json(judgements: Sequence[Judgement]) -> dict[str, Any]:
    """Judgements as JSON has them: numbers that JSON does not have are texts."""
    import ogive

    data = {
        "schema_version": SCHEMA_VERSION,
        "made_by": f"ogive {ogive.__version__}",
        "within_budget": all(j.within_budget for j in judgements),
        "judgements": [j.as_dict() for j in judgements],
    }
    found: dict[str, Any] = _plain(data)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def write_json(judgements: Sequence[Judgement], path: Path) -> None:
    """Write one file."""
    with naming(path):
        path.write_text(json.dumps(as_json(judgements), indent=1, allow_nan=False) + "\n", encoding="utf-8")


def write_junit(judgements: Sequence[Judgement], path: Path) -> None:
    """Write one file in JUnit's XML: a test for each judgement, which fails beyond the budget."""
    suite = ElementTree.Element(
        "testsuite",
        name="ogive judge",
        tests=str(len(judgements)),
        failures=str(sum(not j.within_budget for j in judgements)),
        errors="0",
    )
    for judgement in judgements:
        case = ElementTree.SubElement(suite, "testcase", classname=judgement.subject, name=judgement.title)
        if not judgement.within_budget:
            failure = ElementTree.SubElement(case, "failure", message=_clean(judgement.beyond[0]), type="budget")
            lines = [*judgement.beyond, *(f"cause: {cause.text} ({cause.evidence})" for cause in judgement.causes)]
            failure.text = _clean("\n".join(lines))
    ElementTree.indent(suite)
    with naming(path):
        ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def _clean(text: str) -> str:
    """Without what XML does not allow."""
    return "".join(c for c in text if c in "\n\t" or ord(c) >= 32)


def of_results(results: Path, vectors: Path) -> Iterator[tuple[Specification, Subject, list[np.ndarray]]]:
    """For each set of golden data in a folder, its specification, a subject that has the results, and the inputs.

    Results of ``NAME.npz`` are ``NAME.npz`` with ``elements/result``, ``NAME.npy``, or ``NAME.bin`` with raw bytes.

    Raises ArgumentError where there is nothing, ModelError for files that do not fit.
    """
    manifests = sorted(path for path in vectors.glob("*.json") if path.with_suffix(".npz").is_file())
    if not manifests:
        raise ArgumentError(message("ogive judge", f"{vectors} has no golden data", "what --format npz has written"))
    found = False
    for path in manifests:
        spec = _specified(path)
        archive = path.with_suffix(".npz")
        arrays = read_npz(archive)
        inputs = [_elements(archive, arrays, t, k) for t, k in zip(spec.tensors, spec.inputs, strict=True)]
        result = _result(results, path.stem, spec.output)
        if result is None:
            continue
        if any(x.shape != inputs[0].shape or x.ndim != 1 for x in inputs):
            shapes = ", ".join(str(x.shape) for x in inputs)
            raise ModelError(
                message(str(archive), f"its elements have the shapes {shapes}", "one axis, of equal length")
            )
        if result.size != inputs[0].size:
            raise ModelError(message(str(results / path.stem), f"it has {result.size} results", f"{inputs[0].size}"))
        found = True
        yield spec, Subject(str(results), "", _looked_up(result), has_results_alone=True), inputs
    if not found:
        raise ArgumentError(message("ogive judge", f"{results} has no results", "NAME.npz, NAME.npy, NAME.bin"))


def _specified(path: Path) -> Specification:
    """The operator, the types and the parameters that a manifest names."""
    manifest = DocumentPlace.root(read_document(path))
    members = manifest.members(None, ("operator", "tensors", "parameters"))
    kinds = {
        name: place.choice(ELEMENT_TYPES | FLOATS_OF_8_BITS) for name, place in members["tensors"].members().items()
    }
    first = next((kind for kind in kinds.values() if kind.name != "bool"), ELEMENT_TYPES["bool"])
    parameters = {name: _parameter(place) for name, place in members["parameters"].members().items()}
    try:
        saturate = manifest.value.get("saturates") is not False
        rounding = manifest.value.get("rounding", ONCE)
        name = members["operator"].text()
        return of_operator(name, first, parameters, saturate=saturate, rounding=rounding)
    except OgiveError as error:
        raise ModelError(message(str(path), str(error))) from error


def _parameter(place: DocumentPlace) -> Any:
    """A number, a truth value or a text; numbers that JSON does not have are texts."""
    value = place.value
    if isinstance(value, str) and value.lower() not in ("nan", "inf", "-inf"):
        return place.text()
    return value if isinstance(value, bool) or type(value) is int else place.number()


def _elements(path: Path, arrays: dict[str, np.ndarray], tensor: str, kind: ElementType) -> np.ndarray:
    name = f"elements/{tensor}"
    if name not in arrays:
        raise ModelError(message(str(path), f"it has no {name!r}", ", ".join(arrays)))
    return as_type(f"{path}, {name}", arrays[name], kind)


def _result(folder: Path, stem: str, kind: ElementType) -> np.ndarray | None:
    path = folder / f"{stem}.npz"
    if path.is_file():
        return _elements(path, read_npz(path), "result", kind).reshape(-1)
    path = folder / f"{stem}.npy"
    if path.is_file():
        return as_type(str(path), read_npy(path), kind).reshape(-1)
    path = folder / f"{stem}.bin"
    return read_raw(path, kind) if path.is_file() else None


def _looked_up(result: np.ndarray) -> Callable[..., np.ndarray]:
    """The results, for exactly these inputs."""

    def compute(*arrays: np.ndarray) -> np.ndarray:
        assert arrays[0].size == result.size
        return result

    return compute
