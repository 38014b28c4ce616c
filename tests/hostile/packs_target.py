"""Packs of a wheel's kernels, whose bytes were changed: a kernel is found whole, or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import ogive
from ogive.backends.target import host_target
from ogive.runtime import wheel_kernels
from tests.hostile.cache_target import change
from tests.hostile.fuzz import Target
from tools import build_wheel_kernels

_FORMULAS = [ogive.relu.computation(ogive.relu.signatures[0]), ogive.celu.computation(ogive.celu.signatures[0])]
_PACKAGE = Path(tempfile.mkdtemp(prefix="ogive-fuzz-"))
_FILE = _PACKAGE / wheel_kernels.FOLDER / f"{host_target().name}.pack"

SEEDS = [build_wheel_kernels.make_pack(host_target(), _FORMULAS)]
_FILE.parent.mkdir()
os.environ["OGIVE_PACKS"] = "on"
wheel_kernels.__file__ = str(_PACKAGE / "runtime" / "wheel_kernels.py")


def _loaded(data: bytes) -> list[wheel_kernels.Kernel | None]:
    _FILE.write_bytes(data)
    wheel_kernels._opened.cache_clear()
    try:
        return [wheel_kernels.load(formula.identity, host_target()) for formula in _FORMULAS]
    finally:
        pack = wheel_kernels._opened(host_target().name)
        if pack is not None:
            pack.close()


WHOLE = _loaded(SEEDS[0])
assert all(WHOLE), "the pack itself is not read"


def survives(data: bytes) -> bool:
    found = _loaded(data)
    assert all(one is None or one == whole for one, whole in zip(found, WHOLE, strict=True)), "damage is accepted"
    return any(found)


TARGET = Target(SEEDS, survives, lambda data, rng: change(data or SEEDS[0], rng))
