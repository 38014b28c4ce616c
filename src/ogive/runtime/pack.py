"""Kernels that come with an installed package: one file for each target, found before the disk cache is asked.

A wheel has the kernels of the catalogue (packs.py makes them), so that these need no compiler, no lowering and no cache. A
kernel is found by the identity of its computation, as a note of the cache is. A pack belongs to one state of the
package's files: it says their digest, and with other files it is as if it were not there.

The file: a head; the keys, sorted; for each key where its note and its image lie; then these, deflated, each text once.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterable, Mapping
from functools import cache as remember
from typing import Any

from ogive.backends.link import Image
from ogive.backends.target import TARGETS, Target
from ogive.runtime.cache import decode, encode, key
from ogive.runtime.engine_files import engine_files

__all__ = ["FOLDER", "digest_of_files", "load", "packed"]

MAGIC = b"OGIVE-PACK-1\n\0\0\0"
_HEAD = struct.Struct("<16s32s32sI")  # what it is, two digests of the engine's files, number of keys
_KEY_BYTES = 16
_PLACE = struct.Struct("<IIII")  # of the note and of the image: where, and how many bytes

#: Where packs lie, in the package.
FOLDER = "kernels"

#: Installers write files within this many seconds of each other. Files that are newer than the pack are read.
_SECONDS_OF_INSTALLING = 60

Kernel = tuple[dict[str, Any], Image]


def _key(identity: str) -> bytes:
    return bytes.fromhex(key("packed", identity))[:_KEY_BYTES]


def digest_of_files(files: Mapping[str, bytes]) -> bytes:
    """Tells apart the states of the engine by its files' names, relative to the package, and what is in them."""
    parts = [part for name, data in sorted(files.items()) for part in (name, hashlib.sha256(data).hexdigest())]
    return bytes.fromhex(key(*parts))


def _digest_of_sizes(sizes: Mapping[str, int]) -> bytes:
    return bytes.fromhex(key(*(f"{name} {size}" for name, size in sorted(sizes.items()))))


def packed(kernels: Iterable[tuple[str, str, Image]], files: Mapping[str, bytes]) -> bytes:
    """The pack of (identity, note as text, image), for an engine of these files. The same bytes for the same kernels."""
    import zlib

    kept: dict[bytes, tuple[int, int]] = {}
    body = bytearray()

    def place(data: bytes) -> tuple[int, int]:
        if data not in kept:
            deflated = zlib.compress(data, 9)
            kept[data] = len(body), len(deflated)
            body.extend(deflated)
        return kept[data]

    rows = {
        _key(identity): _PLACE.pack(*place(note.encode()), *place(encode(image))) for identity, note, image in kernels
    }
    sizes = _digest_of_sizes({name: len(data) for name, data in files.items()})
    head = _HEAD.pack(MAGIC, digest_of_files(files), sizes, len(rows))
    names = sorted(rows)
    return head + b"".join(names) + b"".join(rows[name] for name in names) + bytes(body)


class _Pack:
    """An opened pack: its index. What it has is read when it is asked for."""

    def __init__(self, path: str, names: bytes, places: bytes, begin: int) -> None:
        self.path, self.names, self.places, self.begin = path, names, places, begin

    def find(self, name: bytes) -> tuple[bytes, bytes] | None:
        """The note and the image, or None."""
        low, high = 0, len(self.names) // _KEY_BYTES
        while low < high:
            middle = (low + high) // 2
            if self.names[middle * _KEY_BYTES : (middle + 1) * _KEY_BYTES] < name:
                low = middle + 1
            else:
                high = middle
        if self.names[low * _KEY_BYTES : (low + 1) * _KEY_BYTES] != name:
            return None
        import zlib

        note_at, note_size, image_at, image_size = _PLACE.unpack_from(self.places, low * _PLACE.size)
        with open(self.path, "rb") as file:  # noqa: PTH123
            file.seek(self.begin + note_at)
            note = file.read(note_size)
            file.seek(self.begin + image_at)
            image = file.read(image_size)
        try:  # each has a check sum
            return zlib.decompress(note), zlib.decompress(image)
        except zlib.error:
            return None


@remember
def _opened(target: str) -> _Pack | None:
    """The pack of a target, if there is one for the engine as it is now."""
    package = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120  (pathlib would take 1 ms)
    path = os.path.join(package, FOLDER, f"{target}.pack")  # noqa: PTH118
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            head = file.read(_HEAD.size)
            if len(head) < _HEAD.size:
                return None
            magic, content, sizes, count = _HEAD.unpack(head)
            if magic != MAGIC or not _is_of_these_files(content, sizes, os.fstat(file.fileno()).st_mtime):
                return None
            names, places = file.read(count * _KEY_BYTES), file.read(count * _PLACE.size)
    except OSError:
        return None
    return _Pack(path, names, places, _HEAD.size + len(names) + len(places))


def _is_of_these_files(content: bytes, sizes: bytes, written: float) -> bool:
    """Whether the engine's files are those that the pack was made with. Reading them all takes 3 ms; often that is not needed."""
    found = engine_files()
    states = {name: os.stat(path) for name, path in found.items()}  # noqa: PTH116
    if _digest_of_sizes({name: state.st_size for name, state in states.items()}) != sizes:
        return False
    newest = max(max(state.st_mtime, state.st_ctime) for state in states.values())
    return newest <= written + _SECONDS_OF_INSTALLING or digest_of_files(_read(found)) == content


def _read(files: Mapping[str, str]) -> dict[str, bytes]:
    read = {}
    for name, path in files.items():
        with open(path, "rb") as file:  # noqa: PTH123
            read[name] = file.read()
    return read


def load(identity: str, target: Target) -> Kernel | None:
    """The note and the image of a computation's kernel, or None. ``OGIVE_PACKS=off`` disables packs."""
    if os.environ.get("OGIVE_PACKS", "").lower() == "off" or TARGETS.get(target.name) != target:
        return None
    pack = _opened(target.name)
    found = None if pack is None else pack.find(_key(identity))
    if found is None:
        return None
    import json

    image = decode(found[1])
    return None if image is None else (dict(json.loads(found[0])), image)
