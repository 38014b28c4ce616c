"""Files that are written under another name beside their own, and renamed when they are whole.

A reader sees the old file or the new one, also after a full disk or the end of the process. A rename replaces a hard link and
does not write through it.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from types import TracebackType


class Draft:
    """A file that will be called otherwise. Leaving the ``with`` block removes it, unless it has got its name.

    The name is known before the file is there, so that a signal in between leaves nothing behind.
    """

    def __init__(self, folder: Path, suffix: str = "") -> None:
        self.path = folder / f".ogive-{secrets.token_hex(8)}{suffix}"

    def __enter__(self) -> Draft:
        self.make()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    def make(self) -> None:
        """Make the file, empty, with the permissions of any new file."""
        try:
            os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        except BaseException:
            self.remove()
            raise

    def finish(self, target: Path) -> None:
        """Give the file its name: from now on it is seen whole."""
        self.path.replace(target)

    def remove(self) -> None:
        """Remove the file, if it has not got its name."""
        self.path.unlink(missing_ok=True)
