"""Files of the cache: entries and notes whose bytes were changed. None may be read, but with the very bytes that were written."""

from __future__ import annotations

import os
import random
import tempfile

from ogive.backends.link import Image
from ogive.runtime import cache
from tests.hostile.fuzz import Target

os.environ["OGIVE_CACHE"] = tempfile.mkdtemp(prefix="ogive-fuzz-")

IMAGE, NOTE = Image(bytes(range(200)), (0, 64), ()), {"image": "x", "block": 8}
_NAMES = {kind: cache.key(kind) for kind in ("image", "note")}


def _seeds() -> list[bytes]:
    cache.store(_NAMES["image"], IMAGE)
    cache.store_note(_NAMES["note"], NOTE)
    place = cache.folder()
    assert place is not None, "the cache has no folder"
    return [(place / name).read_bytes() for name in _NAMES.values()]


SEEDS = _seeds()


def change(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data or rng.choice(SEEDS))
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = rng.randrange(len(changed) + 1)
        way = rng.random()
        if way < 0.5 and at < len(changed):
            changed[at] ^= 1 << rng.randrange(8)
        elif way < 0.75:
            changed[at:at] = rng.randbytes(rng.choice([1, 4, 40]))
        else:
            del changed[at : at + rng.choice([1, 4, 40, 4000])]
    return bytes(changed)


def survives(data: bytes) -> bool:
    place, is_read = cache.folder(), False
    assert place is not None
    for kind, name in _NAMES.items():
        (place / name).write_bytes(data)
        (place / name).chmod(0o600)
        found = cache.load(name) if kind == "image" else cache.load_note(name)
        assert found is None or found == (IMAGE if kind == "image" else NOTE), f"damage is accepted as {found}"
        is_read |= found is not None
    cache.decode(data)  # what a digest covers is trusted; it must not crash either
    return is_read


TARGET = Target(SEEDS, survives, change)
