"""Kernels that come with an installed package: one file for each target, found before the disk cache is asked.

A wheel has the kernels of the catalogue (packs.py makes them), so that these need no compiler, no lowering and no cache. A
kernel is found by the identity of its computation, as a note of the cache is. A pack belongs to one state of the
package's files: it says their digest, and with other files it is as if it were not there.

The file: a head; the keys, sorted; for each key where its note and its image lie; where the blocks end; then these. Texts
lie in blocks, an image once, and each note in the block of its image: a kernel takes one block. A block is compressed as a
whole (LZMA, with a check sum): kernels of one operator are alike.
Kernels that repair results are half of the bytes, and are asked for last: they lie behind the others, in longer blocks.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Mapping, Sequence
from functools import cache as remember
from itertools import accumulate
from typing import Any

from ogive.backends.link import Image
from ogive.backends.target import TARGETS, Target
from ogive.runtime.cache import decode, encode, key
from ogive.runtime.engine_files import engine_files
from ogive.runtime.sha256 import sha256

__all__ = ["FOLDER", "digest_of_files", "load", "packed"]

MAGIC = b"OGIVE-PACK-3\n\0\0\0"
_HEAD = struct.Struct("<16s32s32sII")  # what it is, two digests of the engine's files, numbers of keys and of blocks
_KEY_BYTES = 16
_PLACE = struct.Struct("<IIIIII")  # of the note and of the image: in which block, where, and how many bytes

#: A block's texts have about so many bytes: of kernels, and of those that repair. Longer ones save little, and a kernel takes
#: longer to load: some 25 ms for each MiB of texts.
_BLOCK_BYTES = (1 << 16, 1 << 18)

#: Where packs lie, in the package.
FOLDER = "kernels"

#: Installers write files within this many seconds of each other. Files that are newer than the pack are read.
_SECONDS_OF_INSTALLING = 60

Kernel = tuple[dict[str, Any], Image]

#: The identity of a computation, its kernel's note as text, and the image.
Packed = tuple[str, str, Image]


def _key(identity: str) -> bytes:
    return bytes.fromhex(key("packed", identity))[:_KEY_BYTES]


def digest_of_files(files: Mapping[str, bytes]) -> bytes:
    """Tells apart the states of the engine by its files' names, relative to the package, and what is in them."""
    parts = [part for name, data in sorted(files.items()) for part in (name, sha256(data).hexdigest())]
    return bytes.fromhex(key(*parts))


def _digest_of_sizes(sizes: Mapping[str, int]) -> bytes:
    return bytes.fromhex(key(*(f"{name} {size}" for name, size in sorted(sizes.items()))))


def packed(kernels: Iterable[Packed], repairs: Iterable[Packed], files: Mapping[str, bytes]) -> bytes:
    """The pack of kernels and of those that repair their results, for an engine of these files. The same bytes for the same
    kernels.
    """
    import lzma

    images: dict[bytes, tuple[int, int, int]] = {}
    blocks = list[bytearray]()
    rows = dict[bytes, bytes]()
    for some, most in zip((kernels, repairs), _BLOCK_BYTES, strict=True):
        blocks.append(bytearray())
        for identity, note, image in some:
            data, text = encode(image), note.encode()
            if data not in images:
                if len(blocks[-1]) >= most:
                    blocks.append(bytearray())
                images[data] = _appended(blocks, len(blocks) - 1, data)
            number = images[data][0]
            begin = blocks[number].find(text)
            at = _appended(blocks, number, text) if begin < 0 else (number, begin, len(text))
            rows[_key(identity)] = _PLACE.pack(*at, *images[data])
    sizes = _digest_of_sizes({name: len(data) for name, data in files.items()})
    # The dictionary is what a reader allocates.
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": 1 << 19}]
    pressed = [lzma.compress(block, check=lzma.CHECK_CRC32, filters=filters) for block in blocks]
    ends = list(accumulate(map(len, pressed)))
    head = _HEAD.pack(MAGIC, digest_of_files(files), sizes, len(rows), len(ends))
    names = sorted(rows)
    index = b"".join(names) + b"".join(rows[name] for name in names) + struct.pack(f"<{len(ends)}I", *ends)
    return head + index + b"".join(pressed)


def _appended(blocks: Sequence[bytearray], number: int, data: bytes) -> tuple[int, int, int]:
    """The place of a text that comes into a block."""
    begin = len(blocks[number])
    blocks[number].extend(data)
    return number, begin, len(data)


class _Pack:
    """An opened pack: its index. What it has is read when it is asked for."""

    def __init__(self, path: str, names: bytes, places: bytes, ends: Sequence[int], begin: int) -> None:
        self.path, self.names, self.places, self.ends, self.begin = path, names, places, (0, *ends), begin
        self.latest: tuple[int, bytes] | None = None

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
        places = _PLACE.unpack_from(self.places, low * _PLACE.size)
        found = []
        for number, begin, size in (places[:3], places[3:]):
            block = self.block(number)
            if block is None:
                return None
            found.append(block[begin : begin + size])
        return found[0], found[1]

    def block(self, number: int) -> bytes | None:
        """The texts of a block, None if they are damaged. The latest is kept: a kernel's repair lies beside it."""
        latest = self.latest
        if latest is not None and latest[0] == number:
            return latest[1]
        import lzma

        with open(self.path, "rb") as file:  # noqa: PTH123
            file.seek(self.begin + self.ends[number])
            pressed = file.read(self.ends[number + 1] - self.ends[number])
        try:
            texts = lzma.decompress(pressed)
        except lzma.LZMAError:
            return None
        self.latest = number, texts
        return texts


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
            magic, content, sizes, count, blocks = _HEAD.unpack(head)
            if magic != MAGIC or not _is_of_these_files(content, sizes, os.fstat(file.fileno()).st_mtime):
                return None
            names, places = file.read(count * _KEY_BYTES), file.read(count * _PLACE.size)
            ends = struct.unpack(f"<{blocks}I", file.read(4 * blocks))
            return _Pack(path, names, places, ends, file.tell())
    except (OSError, struct.error):
        return None


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
    if os.environ.get("OGIVE_PACKS", "").strip().lower() == "off" or TARGETS.get(target.name) != target:
        return None
    pack = _opened(target.name)
    found = None if pack is None else pack.find(_key(identity))
    if found is None:
        return None
    from ast import literal_eval  # which `inspect` has imported; JSON would take 2 ms

    image = decode(found[1])
    return None if image is None else (dict(literal_eval(found[0].decode())), image)
