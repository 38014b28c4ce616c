"""Compiled kernels on disk, found by the content that they were compiled from; and notes that save finding it.

A kernel's file is named by its code in LLVM's language, which takes milliseconds to make. A note is named by the
formula and the engine that would make that code, and says which file it is.

The files lie in a folder of their own, `kernels-1`, inside the folder that ``OGIVE_CACHE`` names, or inside the user's
cache folder. Other things may lie in either, so nothing is ever removed but files that are Ogive's by their name and
by how they begin.

A file is written under another name and renamed, so that readers see all of it or nothing. It carries a digest
of its name and its content, so that a damaged file, or one under another file's name, is found and compiled anew.
Nothing is read from, or written to, a folder that others can write to, because code from it will run. When the
folder is full, the files that were not used for the longest time go. ``OGIVE_CACHE=off`` disables it.
"""

from __future__ import annotations

import contextlib
import os
import stat
import struct
import sys
import time
from functools import cache as remember
from importlib import import_module
from itertools import count
from marshal import dumps, loads
from typing import TYPE_CHECKING, Any

from ogive.backends.link import IMPORTS, Image

if TYPE_CHECKING:
    from pathlib import Path


def _sha256() -> Any:
    """As Python's own code computes it: ``hashlib`` loads OpenSSL for it, which takes 3 ms at the first call."""
    for module in ("_sha2", "_sha256"):  # from Python 3.12 on, and before
        try:
            return import_module(module).sha256
        except ImportError:  # a Python that was built without it
            continue
    import hashlib

    return hashlib.sha256


sha256 = _sha256()

MAGIC = b"OGIVE-KERNEL-3\n\0"
NOTE_MAGIC = b"OGIVE-NOTE-3\n\0"
MARSHAL = 2  # the version of Python's format, which all versions of Python read
_HEADER = struct.Struct("<II")  # numbers of entries and of imports
_ENTRY = struct.Struct("<I")
_IMPORT = struct.Struct("<II")

#: The folder of the files, inside the one that is named.
FOLDER = "kernels-1"

#: It holds at most about this much. When it is full, files go until half is left.
MOST_FILES = 4096
MOST_BYTES = 1 << 28

#: A longer file is not read: no kernel is a tenth of this.
MOST_BYTES_OF_A_FILE = 1 << 26

#: The beginning of the names of files that are being written. One that is left of a process that was killed goes after a day.
_DRAFT = ".ogive-draft-"
_SECONDS_OF_A_DRAFT = 24 * 3600

#: The mark by which programs for backups know a cache (https://bford.info/cachedir/).
_TAG = ("CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n# Compiled kernels of Ogive: safe to delete.\n")

#: A file's time of change says when it was last used, to a day: reading is not to write each time.
SECONDS_UNTIL_TOUCHED = 24 * 3600

_written = count()


def key(*parts: str) -> str:
    """The name of what was compiled from these texts."""
    digest = sha256()
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return str(digest.hexdigest())


def folder() -> Path | None:
    """The folder of kernels; None if they are not kept."""
    from pathlib import Path

    place = _place()
    return None if place is None else Path(place)


def _place() -> str | None:
    """The folder as a text: calls wait for it, and to load pathlib takes 5 ms."""
    setting = os.environ.get("OGIVE_CACHE", "").strip()
    return None if setting.lower() == "off" else _folder(setting)[0]


def why_off() -> str:
    """The reason for which no kernels are kept; "" where they are."""
    setting = os.environ.get("OGIVE_CACHE", "").strip()
    return "OGIVE_CACHE says so" if setting.lower() == "off" else _folder(setting)[1]


@remember
def _folder(setting: str) -> tuple[str | None, str]:
    """The folder, or why there is none."""
    try:
        # Absolute from the first use on: a process may change its working folder.
        named = os.path.join(os.getcwd(), _expanded(setting)) if setting else _user_folder()
        place = os.path.join(named, FOLDER)
        for each in (named, place):
            _make(each)
            if not _is_trusted(each):
                return None, "the folder belongs to others, or others may write to it"
    except OSError as error:  # a read-only file system, ...
        return None, f"the folder cannot be made: {error.strerror or error}"
    except RuntimeError:
        return None, "there is no home for it. Name a folder by OGIVE_CACHE"
    name, text = _TAG
    with contextlib.suppress(OSError), open(os.path.join(place, name), "x", encoding="ascii") as file:
        file.write(text)
    return place, ""


def _expanded(path: str) -> str:
    """The path, with a user's folder in the place of `~`."""
    found = os.path.expanduser(path)
    if found.startswith("~"):
        raise RuntimeError("there is no home")
    return found


def _make(folder: str) -> None:
    """The folder and those that it lies in, for this user alone: also where the process creates others for all."""
    missing: list[str] = []
    while not os.path.exists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for each in reversed(missing):
        with contextlib.suppress(FileExistsError):  # another process was here
            os.mkdir(each, mode=0o700)


def _is_trusted(folder: str) -> bool:
    """Whether nobody else has made it, leads here by a link, or can write to it."""
    own = os.lstat(folder)
    if stat.S_ISLNK(own.st_mode) and not _belongs_here(own):
        return False
    behind = os.stat(folder)
    return stat.S_ISDIR(behind.st_mode) and _is_private(behind)


def _user_folder() -> str:
    """The folder for caches of this user's programs; in it, ours. Where platformdirs would put it."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA", "") or os.path.join(_expanded("~"), "AppData", "Local")
        return os.path.join(local, "ogive", "Cache")
    if sys.platform == "darwin":
        return os.path.join(_expanded("~"), "Library", "Caches", "ogive")
    caches = os.environ.get("XDG_CACHE_HOME", "")
    return os.path.join(caches if os.path.isabs(caches) else os.path.join(_expanded("~"), ".cache"), "ogive")


def _belongs_here(status: os.stat_result) -> bool:
    """Whether this user or the administrator owns it. On Windows it lies in the user's profile."""
    return not hasattr(os, "geteuid") or status.st_uid in (os.geteuid(), 0)


def _is_private(status: os.stat_result) -> bool:
    """Whether only this user (or the administrator) can have written it."""
    is_windows = not hasattr(os, "geteuid")
    return is_windows or (_belongs_here(status) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def load(name: str) -> Image | None:
    """The image of that name, or None: not there, damaged, or not to be trusted."""
    payload = _read(name, MAGIC)
    return None if payload is None else decode(payload)


def store(name: str, image: Image) -> None:
    """Keep the image. Failing to is no error: the next process compiles again."""
    _write(name, MAGIC, encode(image))


def load_note(name: str) -> dict[str, Any] | None:
    """The note under that name, or None."""
    payload = _read(name, NOTE_MAGIC)
    return None if payload is None else dict(loads(payload))


def store_note(name: str, note: dict[str, Any]) -> None:
    """Keep a note: texts, numbers, truth values and lists of them. To load JSON would take 3 ms."""
    _write(name, NOTE_MAGIC, dumps(note, MARSHAL))


def _read(name: str, magic: bytes) -> bytes | None:
    """The contents of a file behind its digest, or None: not there, damaged, or not to be trusted."""
    place = _place()
    if place is None:
        return None
    path = os.path.join(place, name)
    try:
        descriptor = os.open(path, _READ)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(file.fileno())
            if not (stat.S_ISREG(status.st_mode) and status.st_size <= MOST_BYTES_OF_A_FILE and _is_private(status)):
                return None
            if time.time() - status.st_mtime > SECONDS_UNTIL_TOUCHED:
                _touch(file.fileno(), path)
            data = file.read(status.st_size)  # memory for as much as is asked for is taken before anything is read
    except OSError:
        return None
    payload = data[len(magic) + 32 :]
    is_whole = data.startswith(magic) and _digest(name, payload) == data[len(magic) : len(magic) + 32]
    return payload if is_whole else None


#: How a file is opened: not through a link, and without waiting for whoever writes to a pipe of that name.
_READ = os.O_RDONLY | sum(getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))


def _digest(name: str, payload: bytes) -> bytes:
    return bytes(sha256(name.encode() + b"\0" + payload).digest())


def _touch(descriptor: int, path: str) -> None:
    with contextlib.suppress(OSError):  # a read-only file system
        os.utime(descriptor if os.utime in os.supports_fd else path)


def _write(name: str, magic: bytes, payload: bytes) -> None:
    place = _place()
    if place is None:
        return
    import tempfile  # reading needs none of it

    with contextlib.suppress(OSError):
        descriptor, temporary = tempfile.mkstemp(prefix=_DRAFT, dir=place)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(magic + _digest(name, payload) + payload)
            os.replace(temporary, os.path.join(place, name))
        except BaseException:
            with contextlib.suppress(OSError):  # Ctrl-C may come behind the renaming, and must not be lost
                os.unlink(temporary)
            raise
        # Looking at all files takes milliseconds.
        if next(_written) % max(MOST_FILES // 64, 1) == 0:
            _prune(place)


def encode(image: Image) -> bytes:
    """The image as bytes."""
    payload = _HEADER.pack(len(image.entries), len(image.imports))
    payload += b"".join(map(_ENTRY.pack, image.entries))
    payload += b"".join(_IMPORT.pack(*pair) for pair in image.imports) + image.code
    return payload


def decode(payload: bytes) -> Image | None:
    """The image that these bytes are; None where they are none."""
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


def _prune(place: str) -> None:
    """Remove the files that were not used for the longest time, if there are too many or they are too large."""
    files = []
    for entry in os.scandir(place):
        with contextlib.suppress(OSError):  # another process has just removed it
            status = entry.stat(follow_symlinks=False)
            if not stat.S_ISREG(status.st_mode):
                continue
            if _is_name(entry.name):
                files.append((status.st_mtime_ns, status.st_size, entry.path))
            elif entry.name.startswith(_DRAFT) and time.time() - status.st_mtime > _SECONDS_OF_A_DRAFT:
                os.unlink(entry.path)
    if len(files) <= MOST_FILES and sum(size for _, size, _ in files) <= MOST_BYTES:
        return
    files = sorted(
        file for file in files if _is_own(file[2])
    )  # only now each is opened, which takes longer than the rest
    number, size = len(files), sum(size for _, size, _ in files)
    for _, bytes_of_file, path in files:
        if number <= MOST_FILES // 2 and size <= MOST_BYTES // 2:
            break
        with contextlib.suppress(OSError):
            os.unlink(path)
        number, size = number - 1, size - bytes_of_file


def _is_name(name: str) -> bool:
    """Whether it is one that `key` makes."""
    return len(name) == 64 and not name.strip("0123456789abcdef")


def _is_own(path: str) -> bool:
    """Whether a file begins as those that `store` and `store_note` write."""
    try:
        with os.fdopen(os.open(path, _READ), "rb") as file:
            return file.read(len(MAGIC)).startswith((MAGIC, NOTE_MAGIC))
    except OSError:
        return False
