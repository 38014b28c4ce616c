"""Results that were made elsewhere, beside golden data that was written with ``ogive vectors --format npz``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ogive.dtypes import ElementType
from ogive.errors import ArgumentError, ModelError, message
from ogive.golden.formats.npz_format import read
from ogive.golden.specification import Specification, of_operator
from ogive.judge.subjects import Subject

__all__ = ["of_results"]


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
        arrays = read(path.with_suffix(".npz"))
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
        arrays = read(folder / f"{stem}.npz")
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
