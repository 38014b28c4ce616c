"""Results that `ogive judge` is given, beside golden data and their manifest: any of the files may be damaged."""

from __future__ import annotations

import io
import random
import shutil
import tempfile
from pathlib import Path

import numpy as np

from ogive.golden import vectors
from ogive.golden.formats import write
from ogive.judge.judging import judge
from ogive.judge.reports import of_results
from tests.hostile import json_changes
from tests.hostile.cache_target import change as damaged
from tests.hostile.fuzz import Target

_WORK = Path(tempfile.mkdtemp(prefix="ogive-fuzz-"))
_NAME = "relu-float32"


def _vectors() -> tuple[bytes, bytes, np.ndarray]:
    write(vectors("relu", "float32"), "npz", _WORK / "made")
    archive, manifest = ((_WORK / "made" / f"{_NAME}.{end}").read_bytes() for end in ("npz", "json"))
    with np.load(io.BytesIO(archive)) as arrays:
        return archive, manifest, arrays["elements/expected"]


ARCHIVE, MANIFEST, RESULTS = _vectors()


def _saved(save: object, *arrays: np.ndarray, **named: np.ndarray) -> bytes:
    file = io.BytesIO()
    save(file, *arrays, **named)  # type: ignore[operator]
    return file.getvalue()


#: The first letter says which file the rest is.
SEEDS = [
    b"y" + _saved(np.save, RESULTS),
    b"y" + _saved(np.save, RESULTS.astype(">f4")),
    b"z" + _saved(np.savez, **{"elements/result": RESULTS}),
    b"b" + RESULTS.tobytes(),
    b"y" + _saved(np.save, np.minimum(RESULTS, np.float32(100))),
    b"m" + MANIFEST,
    b"v" + ARCHIVE,
]
_HEADERS = [
    b"<f4",
    b">f4",
    b"<f8",
    b"|O",
    b"<U5",
    b"<i4",
    b"|V4",
    b"<M8[s]",
    b"(1981,)",
    b"(9999999999999,)",
    b"(-1,)",
    b"True",
    b"()",
]


def change(data: bytes, rng: random.Random) -> bytes:
    kind, rest = data[:1], data[1:]
    if kind == b"m" and rng.random() < 0.7:
        return kind + json_changes.changed(rest, rng, [MANIFEST])
    if kind in (b"y", b"z") and rng.random() < 0.5:
        return kind + rest.replace(rng.choice(_HEADERS), rng.choice(_HEADERS), 1)
    return kind + damaged(rest, rng)


def survives(data: bytes) -> bool:
    kind, rest = data[:1], data[1:]
    shutil.rmtree(_WORK / "r", ignore_errors=True)
    (_WORK / "r").mkdir()
    (_WORK / "made" / f"{_NAME}.json").write_bytes(rest if kind == b"m" else MANIFEST)
    (_WORK / "made" / f"{_NAME}.npz").write_bytes(rest if kind == b"v" else ARCHIVE)
    end = {b"z": "npz", b"b": "bin"}.get(kind, "npy")
    (_WORK / "r" / f"{_NAME}.{end}").write_bytes(rest if kind in (b"y", b"z", b"b") else SEEDS[0][1:])
    for spec, subject, inputs in of_results(_WORK / "r", _WORK / "made"):
        judge(subject, spec, inputs=inputs)
    return True


TARGET = Target(SEEDS, survives, change)
