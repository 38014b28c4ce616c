"""Compiled kernels on disk, found by the content that they were compiled from; and notes that save finding it.

A kernel's file is named by its code in LLVM's language, which takes milliseconds to make. A note is named by the
formula and the engine that would make that code, and says which file it is.

A file is written under another name and renamed, so that readers see all of it or nothing; it carries a
digest, so that a damaged one is found and compiled anew; and nothing is read from, or written to, a folder
that others can write to, because code from it will run. ``OGIVE_CACHE=off`` disables it, another value
names the folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import struct
import sys
from functools import cache as remember
from pathlib import Path
from typing import Any

from ogive.codegen.link import IMPORTS, Image

__all__ = ["folder", "key", "load", "load_note", "store", "store_note"]

MAGIC = b"OGIVE-KERNEL-2\n\0"
NOTE_MAGIC = b"OGIVE-NOTE-1\n\0"
_HEADER = struct.Struct("<II")  # numbers of entries and of imports
_ENTRY = struct.Struct("<I")
_IMPORT = struct.Struct("<II")

#: When the folder holds more files than this, the oldest half is removed.
MOST_FILES = 4096


def key(*parts: str) -> str:
    """The name of what was compiled from these texts."""
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest.hexdigest()


def folder() -> Path | None:
    """Where kernels are kept; None if they are not."""
    setting = os.environ.get("OGIVE_CACHE", "")
    return None if setting.lower() == "off" else _folder(setting)


@remember
def _folder(setting: str) -> Path | None:
    path = Path(setting) if setting else _user_folder() / "kernels"
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path if _is_private(path.stat()) else None
    except (OSError, RuntimeError):  # read-only file system, no home, ...
        return None


def _user_folder() -> Path:
    """The folder for caches of this user's programs; in it, ours."""
    if sys.platform == "linux" and os.environ.get("HOME"):
        # What platformdirs would say. Importing it takes 5 to 8 ms, a tenth of the way to a first result.
        caches = Path(os.environ.get("XDG_CACHE_HOME", ""))
        return (caches if caches.is_absolute() else Path(os.environ["HOME"], ".cache")) / "ogive"
    import platformdirs

    return Path(platformdirs.user_cache_dir("ogive", appauthor=False))


def _is_private(status: os.stat_result) -> bool:
    """Whether only this user (or the administrator) can have written it."""
    if not hasattr(os, "getuid"):  # Windows: the folder lies in the user's profile
        return True
    return status.st_uid in (os.getuid(), 0) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def load(name: str) -> Image | None:
    """The image of that name, or None: not there, damaged, or not to be trusted."""
    payload = _read(name, MAGIC)
    return None if payload is None else _decode(payload)


def store(name: str, image: Image) -> None:
    """Keep the image. Failing to is no error: the next process compiles again."""
    _write(name, MAGIC, _encode(image))


def load_note(name: str) -> dict[str, Any] | None:
    """What was noted under that name, or None."""
    payload = _read(name, NOTE_MAGIC)
    return None if payload is None else dict(json.loads(payload))


def store_note(name: str, note: dict[str, Any]) -> None:
    """Keep a note."""
    _write(name, NOTE_MAGIC, json.dumps(note).encode())


def _read(name: str, magic: bytes) -> bytes | None:
    """What a file holds behind its digest, or None: not there, damaged, or not to be trusted."""
    place = folder()
    if place is None:
        return None
    try:
        descriptor = os.open(place / name, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(descriptor, "rb") as file:
            if not _is_private(os.fstat(file.fileno())):
                return None
            data = file.read()
    except OSError:
        return None
    payload = data[len(magic) + 32 :]
    is_whole = data.startswith(magic) and hashlib.sha256(payload).digest() == data[len(magic) : len(magic) + 32]
    return payload if is_whole else None


def _write(name: str, magic: bytes, payload: bytes) -> None:
    place = folder()
    if place is None:
        return
    import tempfile  # reading needs none of it

    with contextlib.suppress(OSError):
        descriptor, temporary = tempfile.mkstemp(prefix=".", dir=place)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(magic + hashlib.sha256(payload).digest() + payload)
            Path(temporary).replace(place / name)
        except BaseException:
            Path(temporary).unlink()
            raise
        _prune(place)


def _encode(image: Image) -> bytes:
    payload = _HEADER.pack(len(image.entries), len(image.imports))
    payload += b"".join(map(_ENTRY.pack, image.entries))
    payload += b"".join(_IMPORT.pack(*pair) for pair in image.imports) + image.code
    return payload


def _decode(payload: bytes) -> Image | None:
    if len(payload) < _HEADER.size:
        return None
    entry_count, import_count = _HEADER.unpack_from(payload)
    imports_at = _HEADER.size + entry_count * _ENTRY.size
    code_at = imports_at + import_count * _IMPORT.size
    if import_count > len(IMPORTS) or code_at > len(payload):
        return None
    entries = tuple(_ENTRY.unpack_from(payload, _HEADER.size + i * _ENTRY.size)[0] for i in range(entry_count))
    imports = tuple(_IMPORT.unpack_from(payload, imports_at + i * _IMPORT.size) for i in range(import_count))
    return Image(payload[code_at:], entries, imports)


def _prune(place: Path) -> None:
    files = [entry for entry in os.scandir(place) if entry.is_file(follow_symlinks=False)]
    if len(files) > MOST_FILES:
        for entry in sorted(files, key=lambda e: e.stat(follow_symlinks=False).st_mtime)[: MOST_FILES // 2]:
            Path(entry).unlink(missing_ok=True)
