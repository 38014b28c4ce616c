"""DxDispatch's JSON models: loaded, run once, and printed to nowhere."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import numpy as np

import ogive.dxdispatch
from ogive.common.documents.document import read_document
from tests.dxdispatch.models import MODEL
from tests.hostile import json_changes
from tests.hostile.fuzz import Target

_ROOT = Path(__file__).parents[2]
_FOLDER = Path(tempfile.mkdtemp(prefix="ogive-fuzz-"))

SEEDS = [json.dumps(model).encode() for model in (MODEL, read_document(_ROOT / "examples/shrink.json").data)]
np.save(_FOLDER / "x.npy", np.arange(12, dtype=np.float32))
shutil.copy(_ROOT / "examples/threshold.onnx", _FOLDER / "x.onnx")


def survives(data: bytes) -> bool:
    path = _FOLDER / "model.json"
    path.write_bytes(data)
    model = ogive.dxdispatch.load(path, output_folder=_FOLDER / "out", memory_limit=1 << 24)
    model.run(lambda text: None, iterations=1)
    return True


TARGET = Target(SEEDS, survives, lambda data, rng: json_changes.changed(data, rng, SEEDS))
