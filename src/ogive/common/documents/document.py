"""JSON as DxDispatch reads it: with comments and with a comma after the last entry.

Both are blanked out, every line keeping its place, and Python's own parser reads the rest: what it says of a line
and a column is true of the file, and so is what `Document.line_of` finds.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from ogive.errors import ModelError, message

Step = str | int
"""One step of a path into a document: the name of a member or the number of an entry."""

#: Text of so many bytes takes several times as much memory once it is read.
MOST_BYTES = 1 << 30

_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)'
_COMMENT = r"//[^\n]*+|/\*.*?(?:\*/|\Z)"
_SPACE = r"[ \t\r\n]*+"
_COMMENTS = re.compile(f"{_STRING}|(?P<comment>{_COMMENT})", re.DOTALL)
#: A comma that stands after a value and before the end of an array or object.
_LAST_COMMAS = re.compile(rf"(?:{_STRING}|(?<=[\w\]}}])){_SPACE}(?P<comma>,(?={_SPACE}[\]}}]))?", re.DOTALL)


class Members(dict[str, Any]):
    """An object of the file. ``repeated`` is a name that it has twice, if there is one."""

    __slots__ = ("repeated",)

    def __init__(self, pairs: Sequence[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.repeated: str | None = None
        if len(self) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            self.repeated = next(name for name, count in counts.items() if count > 1)


class Document:
    """A file: its name in messages, its text without comments, and the data in it."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = self._without_last_commas(self._without_comments(text))
        self.data = self._parsed()

    # ---- from text to data

    def _without_comments(self, text: str) -> str:
        def blank(found: re.Match[str]) -> str:
            comment = found["comment"]
            if comment is None:
                return found[0]
            if comment.startswith("/*") and not (comment.endswith("*/") and len(comment) > 3):
                self._refuse_at(text, found.start(), "a comment has no end", "comments that end with */")
            return re.sub(r"[^\r\n]", " ", comment)

        return _COMMENTS.sub(blank, text)

    @staticmethod
    def _without_last_commas(text: str) -> str:
        def blank(found: re.Match[str]) -> str:
            return found[0][:-1] + " " if found["comma"] else found[0]

        return _LAST_COMMAS.sub(blank, text)

    def _parsed(self) -> Any:
        decoder = json.JSONDecoder(object_pairs_hook=Members, parse_constant=self._refuse_constant)
        try:
            return decoder.decode(self.text)
        except json.JSONDecodeError as error:
            self._refuse_at(
                self.text, error.pos, error.msg[0].lower() + error.msg[1:], "JSON with comments and last commas"
            )
        except ModelError:
            raise
        except RecursionError:
            raise ModelError(
                message(self.name, "its arrays and objects are nested too deeply", "a few hundred levels")
            ) from None
        except ValueError:  # Python's limit for turning text into an integer
            raise ModelError(
                message(self.name, "it has a number with thousands of digits", "up to 4,300 digits")
            ) from None

    def _refuse_constant(self, name: str) -> NoReturn:
        at = re.search(rf"(?<![\w\"]){re.escape(name)}", self.text)
        self._refuse_at(self.text, at.start() if at else 0, f"{name} is no JSON", "numbers", f'Write "{name}" as text')

    def _refuse_at(self, text: str, offset: int, what: str, allowed: str = "", way_out: str = "") -> NoReturn:
        line, column = text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
        raise ModelError(message(f"{self.name}, line {line}, column {column}", what, allowed, way_out))

    # ---- from data back to text

    def line_of(self, path: Sequence[Step]) -> int:
        """The line on which a value begins; of a member, that of its name."""
        decoder, text = json.JSONDecoder(), self.text

        def after_space(offset: int) -> int:
            while text[offset] in " \t\r\n":
                offset += 1
            return offset

        begin = offset = after_space(0)
        for step in path:
            offset = after_space(offset + 1)
            entry = 0
            while True:
                begin = offset
                if isinstance(step, str):
                    name, offset = json.decoder.scanstring(text, offset + 1)  # type: ignore[attr-defined]
                    offset = after_space(after_space(offset) + 1)
                    found = name == step
                else:
                    found = entry == step
                if found:
                    break
                _, offset = decoder.raw_decode(text, offset)
                offset = after_space(after_space(offset) + 1)
                entry += 1
        return text.count("\n", 0, begin) + 1


def is_regular(path: Path) -> bool:
    """Whether a path leads to a regular file: not to a folder, a pipe or a device."""
    return stat.S_ISREG(path.stat().st_mode)


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file. Raises ModelError for what is none, and OSError where it cannot be read."""
    name, size = os.fspath(path), Path(path).stat().st_size
    if not is_regular(Path(path)):
        raise ModelError(message(name, "it is not a regular file", "files on disk"))
    if size > MOST_BYTES:
        raise ModelError(message(name, f"it has {size} bytes", f"up to {MOST_BYTES}"))
    try:
        return Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ModelError(message(name, f"the byte at offset {error.start} is not UTF-8", "text in UTF-8")) from None


def read_document(path: str | os.PathLike[str]) -> Document:
    """The document in a file. Raises ModelError for what is no JSON, and OSError where it cannot be read."""
    return Document(os.fspath(path), read_text(path))
