"""A value of a model file and where it stands: every reading checks, and every refusal names the place."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Collection, Mapping
from typing import Any, NoReturn, TypeVar

from ogive.common.documents.document import Document, Members, Step
from ogive.errors import ModelError, OgiveError, message

_T = TypeVar("_T")

_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_PLAIN_NAME = re.compile(r"[\w$ .()-]+")

#: How a message calls what JSON has.
_KINDS = {Members: "an object", list: "an array", str: "text", bool: "true or false", type(None): "null"}


def shown(value: Any) -> str:
    """A value for a message: itself if it is short, else what it is."""
    if isinstance(value, Members | list) and len(value) > 8:
        return f"{_KINDS[type(value)]} with {len(value)} entries"
    text = json.dumps(value)
    return text if len(text) <= 100 else _KINDS.get(type(value), "a very long number")


class DocumentPlace:
    """A value of a document.

    Readings raise ModelError for what they do not take: `members`, `entries`, `text`, `boolean`, `whole`, `number`,
    `choice`. The text begins with the file, the line and the path, such as ``/resources/x/initialValues[2]``.
    """

    __slots__ = ("document", "steps", "value")

    def __init__(self, document: Document, steps: tuple[Step, ...], value: Any) -> None:
        self.document = document
        self.steps = steps
        self.value = value

    @classmethod
    def root(cls, document: Document) -> DocumentPlace:
        """All of a document."""
        return cls(document, (), document.data)

    def __repr__(self) -> str:
        return f"<{self.path}>"

    @property
    def path(self) -> str:
        """The path from the root: ``/name`` for a member, ``[number]`` for an entry."""
        return "".join(_written(step) for step in self.steps) or "/"

    def at(self, step: Step) -> DocumentPlace:
        """A member or an entry, which must be there."""
        return DocumentPlace(self.document, (*self.steps, step), self.value[step])

    def follow(self, member: str) -> DocumentPlace:
        """As far as a DirectML error's ``member`` (``InputTensor.Sizes``, ``Axes[2]``) leads from here."""
        place = self
        for name, number in re.findall(r"(\w+)|\[(\d+)\]", member):
            if isinstance(place.value, Members) and name not in place.value:
                place = next((place.at(wrapper) for wrapper in ("Desc", "desc") if wrapper in place.value), place)
            if isinstance(place.value, Members) and name in place.value:
                place = place.at(name)
            elif isinstance(place.value, list) and number and int(number) < len(place.value):
                place = place.at(int(number))
            else:
                break
        return place

    def refuse(
        self,
        what: str,
        allowed: str = "",
        way_out: str = "",
        *,
        error: type[OgiveError] = ModelError,
        cause: BaseException | None = None,
    ) -> NoReturn:
        """Raise an error about this place."""
        line = self.document.line_of(self.steps)
        subject = f"{self.document.name}, line {line}, {self.path}"
        raise error(message(subject, what, allowed, way_out)) from cause

    def _refuse_value(self, allowed: str) -> NoReturn:
        self.refuse(f"it is {shown(self.value)}", allowed)

    # ---- readings

    def members(
        self, allowed: Collection[str] | None = None, required: Collection[str] = ()
    ) -> dict[str, DocumentPlace]:
        """The members of an object: those that are allowed, all where that is None, and those that must be there."""
        if not isinstance(self.value, Members):
            self._refuse_value("an object")
        if self.value.repeated is not None:
            self.refuse(f"it has {json.dumps(self.value.repeated)} twice", "every name once")
        for name in self.value:
            if allowed is not None and name not in allowed:
                close = difflib.get_close_matches(name, list(allowed), n=1)
                way_out = f"Did you mean {close[0]}?" if close else ""
                self.at(name).refuse("there is no such member", ", ".join(sorted(allowed)), way_out)
        for name in required:
            if name not in self.value:
                self.refuse(f"{name} is missing", "", f"Add {json.dumps(name)}")
        return {name: self.at(name) for name in self.value}

    def entries(self) -> list[DocumentPlace]:
        """The entries of an array."""
        if not isinstance(self.value, list):
            self._refuse_value("an array")
        return [self.at(number) for number in range(len(self.value))]

    def text(self) -> str:
        """Text."""
        if not isinstance(self.value, str):
            self._refuse_value("text")
        if any("\ud800" <= character <= "\udfff" or character == "\0" for character in self.value):
            self._refuse_value("text without halves of characters and without NUL")
        return self.value

    def boolean(self) -> bool:
        """True or false."""
        if not isinstance(self.value, bool):
            self._refuse_value("true or false")
        return self.value

    def whole(self, least: int = 0, most: int = (1 << 64) - 1) -> int:
        """A whole number, written as one: 2 but not 2.0."""
        if type(self.value) is not int or not least <= self.value <= most:
            self._refuse_value(f"whole numbers from {least} to {most}")
        return self.value

    def number(self) -> float:
        """A number, or one of the texts "nan", "inf" and "-inf" in any case."""
        if isinstance(self.value, str) and self.value.lower() in _NOT_FINITE:
            return _NOT_FINITE[self.value.lower()]
        if type(self.value) not in (int, float):
            self._refuse_value('a number, "nan", "inf" or "-inf"')
        try:
            number = float(self.value)
        except OverflowError:
            number = math.inf
        if math.isinf(number):
            self.refuse("it is too large for any floating-point type", 'numbers up to 1.7e308, or the text "inf"')
        return number

    def choice(
        self,
        among: Mapping[str, _T],
        *,
        ignore_case: bool = False,
        what: str = "",
    ) -> _T:
        """One of some texts; ``what`` is what they are the names of."""
        text = self.text()
        names = {name.lower(): name for name in among} if ignore_case else {name: name for name in among}
        found = names.get(text.lower() if ignore_case else text)
        if found is None:
            close = [names[name] for name in difflib.get_close_matches(text, list(names), n=1)]
            allowed = ", ".join(among) if len(among) <= 40 else f"one of {len(among)} names"
            way_out = f"Did you mean {close[0]}?" if close else ""
            self.refuse(
                f"there is no {what} {shown(self.value)}" if what else f"it is {shown(self.value)}", allowed, way_out
            )
        return among[found]

    def type_place(self, allowed: str) -> DocumentPlace:
        """The member "type"; ``allowed`` is said where it is missing."""
        members = self.members()
        if "type" not in members:
            other = next((name for name in members if name.lower() == "type"), None)
            self.refuse("type is missing", allowed, f"Write type in place of {other}" if other else "")
        return members["type"]


def _written(step: Step) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f"/{step}" if _PLAIN_NAME.fullmatch(step) else f"/{json.dumps(step)}"
