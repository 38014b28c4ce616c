"""Files that may be anything: opening one must not wait for a writer, as opening a pipe does.

The facts that a model says of itself.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from onnx import ModelProto


@dataclass(frozen=True)
class Home:
    """The folders that may have a model's data: the model's own, and that of the file to which a link leads.

    Caches of downloads keep the model and its data as links into one store.
    """

    folder: Path
    """The folder that the model was named in."""
    real: Path
    """The folder of the file itself; the same where the model is no link."""

    @classmethod
    def of(cls, model: Path) -> Home:
        """The home of the model at a path."""
        return cls(model.parent.resolve(), model.resolve().parent)

    def find(self, location: str) -> Path | None:
        """The file at a relative path, without links; None where it lies in neither folder.

        Raises OSError or RuntimeError for a path that cannot be followed.
        """
        found = self._end(self.folder, location)
        if found is not None and not found.exists():
            other = self._end(self.real, location)
            if other is not None and other.exists():
                return other
        return found

    def end(self, location: str) -> Path:
        """The place that a relative path leads to, wherever that is."""
        return (self.folder / location).resolve()

    def _end(self, start: Path, location: str) -> Path | None:
        end = (start / location).resolve()
        is_inside = any(end.is_relative_to(home) and end != home for home in (self.folder, self.real))
        return end if is_inside else None


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


# ---- what a model says of itself


@dataclass(frozen=True)
class About:
    """The facts that a model says of itself."""

    opsets: Mapping[str, int]
    """Domain -> version; ONNX's own domain is ``ai.onnx``."""
    operators: Mapping[str, int]
    """Operator -> how many nodes of the graph it has."""
    text: str
    """The documentation that the model or its graph has."""


def about_model(proto: ModelProto) -> About:
    """The facts that the model says: its opsets, its operators, its documentation."""
    opsets = {entry.domain or "ai.onnx": entry.version for entry in proto.opset_import}
    operators = Counter(node.op_type for node in proto.graph.node)
    return About(opsets, dict(operators), proto.doc_string or proto.graph.doc_string)
