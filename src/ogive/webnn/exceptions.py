"""The errors of WebNN: TypeError, and the DOMExceptions that it names."""

from __future__ import annotations

from typing import NoReturn

from ogive.errors import OgiveError, UnsupportedError, message


class MLTypeError(OgiveError, TypeError):
    """WebNN's TypeError: operands, shapes, types and options that do not fit."""


class InvalidStateError(OgiveError, RuntimeError):
    """WebNN's "InvalidStateError": a builder that has built, a graph, a tensor or a context that is destroyed."""


class NotSupportedError(UnsupportedError):
    """WebNN's "NotSupportedError": an operator that Ogive does not have."""


def refuse(subject: str, what: str, allowed: str = "", way_out: str = "") -> NoReturn:
    """Raise a TypeError of WebNN."""
    raise MLTypeError(message(subject, what, allowed, way_out))
