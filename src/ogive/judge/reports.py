"""Files of the judge: reports in JSON and JUnit's XML, and results that were made elsewhere, beside golden data."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ogive.dtypes import ElementType
from ogive.errors import ArgumentError, ModelError, message, naming
from ogive.golden.formats import read_npz
from ogive.golden.specification import Specification, of_operator
from ogive.judge.judgement import SCHEMA_VERSION, Judgement
from ogive.judge.subjects import Subject

__all__ = ["SCHEMA", "as_json", "of_results", "write_json", "write_junit"]

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
        facts = json.loads(path.read_text(encoding="utf-8"))
        spec = of_operator(facts["operator"], _first_number(facts), facts["parameters"])
        arrays = read_npz(path.with_suffix(".npz"))
        inputs = [_viewed(arrays[f"elements/{t}"], k) for t, k in zip(spec.tensors, spec.inputs, strict=True)]
        result = _result(results, path.stem, spec.output)
        if result is None:
            continue
        if result.size != inputs[0].size:
            raise ModelError(message(str(results / path.stem), f"it has {result.size} results", f"{inputs[0].size}"))
        found = True
        yield spec, Subject(str(results), "", _looked_up(result), is_slow=True), inputs
    if not found:
        raise ArgumentError(message("ogive judge", f"{results} has no results", "NAME.npz, NAME.npy, NAME.bin"))


def _first_number(facts: dict[str, Any]) -> str:
    return next((kind for kind in facts["tensors"].values() if kind != "bool"), "bool")


def _viewed(x: np.ndarray, kind: ElementType) -> np.ndarray:
    return x.view(kind.numpy) if x.dtype != kind.numpy else x


def _result(folder: Path, stem: str, kind: ElementType) -> np.ndarray | None:
    if (folder / f"{stem}.npz").is_file():
        arrays = read_npz(folder / f"{stem}.npz")
        if "elements/result" not in arrays:
            raise ModelError(message(str(folder / f"{stem}.npz"), "it has no 'elements/result'", ", ".join(arrays)))
        return _viewed(arrays["elements/result"].reshape(-1), kind)
    if (folder / f"{stem}.npy").is_file():
        return _viewed(np.load(folder / f"{stem}.npy", allow_pickle=False).reshape(-1), kind)
    if (folder / f"{stem}.bin").is_file():
        return np.fromfile(folder / f"{stem}.bin", kind.numpy)
    return None


def _looked_up(result: np.ndarray) -> Callable[..., np.ndarray]:
    """The results, for exactly these inputs."""

    def compute(*arrays: np.ndarray) -> np.ndarray:
        assert arrays[0].size == result.size
        return result

    return compute
