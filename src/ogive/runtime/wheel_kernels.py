"""Kernels that come with an installed package: one file for each target, found before the disk cache is asked.

A wheel has the kernels of the catalogue (tools/build_wheel_kernels.py makes them), so that these need no compiler, no lowering and no cache. A
kernel is found by the identity of its computation, as a note of the cache is. A pack belongs to one state of the
package's files: it says their digest, and with other files it is as if it were not there.

The file: a head; the keys, sorted; for each key where its note and its image lie, and a digest of all three; where the blocks
end; then these. Texts lie in blocks, an image once, and each note in the block of its image: a kernel takes one block. A block
is compressed as a whole (LZMA): kernels of one operator are alike.
Kernels that repair results are half of the bytes, and are asked for last: they lie behind the others, in longer blocks.

The head has a checksum of itself and the index, and each kernel a digest. So a bit that changed anywhere is found before code that it belongs to runs, and
the kernel is compiled anew. The file stays open: an installer that replaces it does not change what a running process reads.
"""

from __future__ import annotations

import contextlib
import os
import struct
from binascii import crc32
from collections.abc import Iterable, Mapping, Sequence
from functools import cache as remember
from itertools import accumulate
from typing import Any

from ogive.backends.link import Image
from ogive.backends.target import TARGETS, Target
from ogive.errors import variable
from ogive.runtime.cache import decode, encode, key, sha256
from ogive.runtime.engine_files import engine_files

MAGIC = b"OGIVE-PACK-5\n\0\0\0"
_HEAD = struct.Struct("<16s32s32sII")  # what it is, two digests of the engine's files, numbers of keys and of blocks
_CHECKSUM_BYTES = 4  # of the head and the index; it lies between them
_KEY_BYTES = 16
_CHECK_BYTES = 16
_PLACE = struct.Struct(
    f"<IIIIII{_CHECK_BYTES}s"
)  # of note and image: in which block, where, how many bytes; their digest

#: A block's texts have about so many bytes: of kernels, and of those that repair. A kernel takes longer to load from a longer
#: block: some 25 ms for each MiB of texts. Half of all bytes are the lowest level's, which processors since 2013 do not read:
#: blocks that are four times as long are an eighth shorter, compressed.
_BLOCK_BYTES = (1 << 16, 1 << 19)
_LOWEST_BLOCK_BYTES = (1 << 18, 1 << 21)

#: The memory that a reader may allocate to decompress: damage must not ask for more. The dictionary is most of it.
_DICTIONARY_BYTES = 1 << 21
_MEMORY_OF_LZMA = 1 << 23

#: The folder of packs, in the package.
FOLDER = "kernels"

#: Installers write files within this many seconds of each other. Files that are newer than the pack are read.
_SECONDS_OF_INSTALLING = 60

Kernel = tuple[dict[str, Any], Image]

#: The identity of a computation, its kernel's note as text, and the image.
Packed = tuple[str, str, Image]


def _key(identity: str) -> bytes:
    return bytes.fromhex(key("packed", identity))[:_KEY_BYTES]


def _check(name: bytes, note: bytes, image: bytes) -> bytes:
    """An entry: a key, its note and its image."""
    return bytes(sha256(b"".join((name, len(note).to_bytes(8, "little"), note, image))).digest()[:_CHECK_BYTES])


def _checksum(data: bytes) -> bytes:
    """The checksum of a head and an index. A digest of such 150 kB would take 0.7 ms of each process."""
    return crc32(data).to_bytes(_CHECKSUM_BYTES, "little")


def digest_of_files(files: Mapping[str, bytes]) -> bytes:
    """Tells apart the states of the engine by its files' names, relative to the package, and what is in them."""
    parts = [part for name, data in sorted(files.items()) for part in (name, sha256(data).hexdigest())]
    return bytes.fromhex(key(*parts))


def _digest_of_sizes(sizes: Mapping[str, int]) -> bytes:
    return bytes.fromhex(key(*(f"{name} {size}" for name, size in sorted(sizes.items()))))


def packed(target: Target, kernels: Iterable[Packed], repairs: Iterable[Packed], files: Mapping[str, bytes]) -> bytes:
    """The pack of a target's kernels and of those that repair their results, for an engine of these files. The same bytes for
    the same kernels.
    """
    import lzma

    images: dict[bytes, tuple[int, int, int]] = {}
    blocks = list[bytearray]()
    rows = dict[bytes, bytes]()
    for some, most in zip((kernels, repairs), _BLOCK_BYTES if target.has_tables else _LOWEST_BLOCK_BYTES, strict=True):
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
            name = _key(identity)
            rows[name] = _PLACE.pack(*at, *images[data], _check(name, text, data))
    sizes = _digest_of_sizes({name: len(data) for name, data in files.items()})
    filters = [
        # Jumps by where they lead: the code of this level has most of them.
        *([{"id": lzma.FILTER_X86}] if target.name == "x86-64" else []),
        {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": _DICTIONARY_BYTES, "lc": 4, "pb": 0},
    ]
    pressed = [lzma.compress(block, check=lzma.CHECK_CRC32, filters=filters) for block in blocks]
    ends = list(accumulate(map(len, pressed)))
    head = _HEAD.pack(MAGIC, digest_of_files(files), sizes, len(rows), len(ends))
    names = sorted(rows)
    index = b"".join(names) + b"".join(rows[name] for name in names) + struct.pack(f"<{len(ends)}I", *ends)
    return b"".join((head, _checksum(head + index), index, *pressed))


def _appended(blocks: Sequence[bytearray], number: int, data: bytes) -> tuple[int, int, int]:
    """The place of a text that comes into a block."""
    begin = len(blocks[number])
    blocks[number].extend(data)
    return number, begin, len(data)


class _Pack:
    """An opened pack: its index. An entry is read when it is asked for."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._file = _identity(os.fstat(descriptor))
        self._latest: tuple[int, bytes] | None = None
        self._names, self._places, self._ends, self._begin = b"", b"", (0,), 0

    def close(self) -> None:
        """It is not needed."""
        os.close(self._descriptor)

    def is_open(self) -> bool:
        """Whether the descriptor is still this file's: daemons close all that they have not opened themselves."""
        try:
            return _identity(os.fstat(self._descriptor)) == self._file
        except OSError:
            return False

    def read_index(self) -> bool:
        """Whether the pack is whole up to its blocks, and was made of the engine's files."""
        status = os.fstat(self._descriptor)
        head = self._read(0, _HEAD.size)
        magic, content, sizes, count, blocks = _HEAD.unpack(head)
        length = count * (_KEY_BYTES + _PLACE.size) + 4 * blocks
        self._begin = _HEAD.size + _CHECKSUM_BYTES + length
        if magic != MAGIC or self._begin > status.st_size:
            return False
        checksum, index = self._read(_HEAD.size, _CHECKSUM_BYTES), self._read(_HEAD.size + _CHECKSUM_BYTES, length)
        if _checksum(head + index) != checksum:
            return False
        places_at, ends_at = count * _KEY_BYTES, length - 4 * blocks
        self._names, self._places = index[:places_at], index[places_at:ends_at]
        self._ends = (0, *struct.unpack(f"<{blocks}I", index[ends_at:]))
        return _is_of_these_files(content, sizes, status.st_mtime)

    def _read(self, begin: int, size: int) -> bytes:
        """So many bytes of the file from a place on."""
        if hasattr(os, "pread"):  # the child of a fork has the same descriptor, with the same place to read on
            return os.pread(self._descriptor, size, begin)
        os.lseek(self._descriptor, begin, os.SEEK_SET)
        return os.read(self._descriptor, size)

    def find(self, name: bytes) -> tuple[bytes, bytes] | None:
        """The note and the image, or None: not there, or damaged."""
        low, high = 0, len(self._names) // _KEY_BYTES
        while low < high:
            middle = (low + high) // 2
            if self._names[middle * _KEY_BYTES : (middle + 1) * _KEY_BYTES] < name:
                low = middle + 1
            else:
                high = middle
        if self._names[low * _KEY_BYTES : (low + 1) * _KEY_BYTES] != name:
            return None
        *places, check = _PLACE.unpack_from(self._places, low * _PLACE.size)
        note, image = self._text(*places[:3]), self._text(*places[3:])
        return (note, image) if _check(name, note, image) == check else None

    def _text(self, number: int, begin: int, size: int) -> bytes:
        return self._block(number)[begin : begin + size]

    def _block(self, number: int) -> bytes:
        """The texts of a block. The latest is kept: a kernel's repair lies beside it."""
        latest = self._latest
        if latest is not None and latest[0] == number:
            return latest[1]
        import lzma

        begin, end = self._ends[number], self._ends[number + 1]
        texts = lzma.decompress(self._read(self._begin + begin, end - begin), lzma.FORMAT_XZ, _MEMORY_OF_LZMA)
        self._latest = number, texts
        return texts


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


@remember
def _opened(target: str) -> _Pack | None:
    """The pack of a target, if there is one for the engine as it is now."""
    path = os.path.join(_folder(), f"{target}.pack")  # noqa: PTH118
    try:
        pack = _Pack(os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0)))
    except OSError:
        return None
    is_good = False
    with contextlib.suppress(Exception):  # whatever damage leads to, kernels are compiled
        is_good = pack.read_index()
    if not is_good:
        pack.close()
    return pack if is_good else None


def _folder() -> str:
    package = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120  (pathlib would take 1 ms)
    return os.path.join(package, FOLDER)  # noqa: PTH118


def has_pack(target: str) -> bool:
    """Whether kernels of a target come with the package."""
    return _opened(target) is not None


def are_there() -> bool:
    """Whether the package came with kernels, of any target and state."""
    try:
        return any(name.endswith(".pack") for name in os.listdir(_folder()))  # noqa: PTH208
    except OSError:
        return False


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
    """The note and the image of a computation's kernel, or None: not there, or damaged. ``OGIVE_PACKS=off`` disables packs."""
    if variable("OGIVE_PACKS", ("on", "off")) == "off" or TARGETS.get(target.name) != target:
        return None
    pack = _opened(target.name)
    if pack is not None and not pack.is_open():
        _opened.cache_clear()
        pack = _opened(target.name)
    try:
        found = None if pack is None else pack.find(_key(identity))
        if found is None:
            return None
        from ast import literal_eval  # which `inspect` has imported; JSON would take 2 ms

        image = decode(found[1])
        return None if image is None else (dict(literal_eval(found[0].decode())), image)
    except Exception:  # whatever damage leads to, the kernel is compiled
        return None
