"""NumPy's archive: ``CASE/TENSOR`` and ``CASE/expected`` for every case."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ogive.golden.vectors import Vectors

__all__ = ["read", "stored", "write"]


def stored(x: np.ndarray) -> np.ndarray:
    """An array as NumPy's files can keep it: types that NumPy lacks as their bits, text of a fixed length."""
    if x.dtype == object:
        return x.astype(str)
    return x.view(f"u{x.dtype.itemsize}") if x.dtype.kind == "V" else x


def write(vectors: Vectors, folder: Path) -> list[Path]:
    """Write one file."""
    arrays = {}
    for case in vectors.cases:
        name = case.name.replace(" ", "_").replace(",", "")
        for tensor, x in zip(vectors.specification.tensors, case.inputs, strict=True):
            arrays[f"{name}/{tensor}"] = stored(np.ascontiguousarray(x).reshape(x.shape))
        for i, x in enumerate((case.expected, *case.others)):
            arrays[f"{name}/expected{f'_{i}' if i else ''}"] = stored(np.ascontiguousarray(x).reshape(x.shape))
    path = folder / f"{vectors.name}.npz"
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]  # its stubs take a name for an option
    return [path]


def read(path: Path) -> dict[str, np.ndarray]:
    """All arrays of a file."""
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}
