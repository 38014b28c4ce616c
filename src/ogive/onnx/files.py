"""Files that may be anything: opening one must not wait for a writer, as opening a pipe does."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

__all__ = ["opened"]


def opened(path: Path) -> tuple[BinaryIO, os.stat_result] | None:
    """A regular file, open for reading, and what is known of it; None for a pipe or a device.

    Raises OSError for what cannot be opened, a folder among it.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode):
            return os.fdopen(descriptor, "rb"), status
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None
