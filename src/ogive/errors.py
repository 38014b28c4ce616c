"""The exceptions of Ogive, and the one function that words a message.

Every class also derives from the built-in that fits, so that ``except ValueError`` keeps working.
"""

from __future__ import annotations

import pickle

__all__ = [
    "ArgumentError",
    "CompileError",
    "DTypeError",
    "FormulaError",
    "MissingNameError",
    "MissingPackageError",
    "ModelError",
    "OgiveError",
    "OutputError",
    "ParameterError",
    "PickleError",
    "ShapeError",
    "UnsupportedError",
    "message",
]


class OgiveError(Exception):
    """The base of everything that Ogive raises on purpose."""


class DTypeError(OgiveError, TypeError):
    """An argument has an element type that the operator does not take."""


class ShapeError(OgiveError, ValueError):
    """Shapes do not fit together."""


class OutputError(OgiveError, ValueError):
    """The result cannot be put where it should go: the array is read-only, or its type cannot hold it."""


class ArgumentError(OgiveError, TypeError):
    """An operator was called with the wrong arguments: their number, or a keyword that it does not have."""


class ParameterError(OgiveError, ValueError):
    """A parameter has a value for which the operator has no meaning."""


class PickleError(OgiveError, pickle.PicklingError, TypeError):
    """An object cannot be pickled: it contains something that another process could not make again."""


class FormulaError(OgiveError, TypeError):
    """A formula cannot be traced: it does something that an expression cannot."""


class CompileError(OgiveError, RuntimeError):
    """A kernel could not be compiled or loaded."""


class MissingPackageError(OgiveError, ModuleNotFoundError):
    """A part of Ogive needs a package that is not installed."""


class ModelError(OgiveError, ValueError):
    """A model file is damaged, or contradicts its own standard."""


class UnsupportedError(OgiveError, NotImplementedError):
    """A model asks for an operator, a version or a type that Ogive does not have."""


class MissingNameError(UnsupportedError, AttributeError):
    """A module does not have a name that another one, or another installation, has. ``hasattr`` is then false."""


def message(subject: str, what: str, allowed: str = "", way_out: str = "") -> str:
    """Word a message: who complains, about which argument and what it was, what is allowed, what to do.

    >>> message("celu", "alpha is 0", "any finite number but 0")
    'celu: alpha is 0; allowed: any finite number but 0'
    """
    text = f"{subject}: {what}"
    if allowed:
        text += f"; allowed: {allowed}"
    if way_out:
        text += f". {way_out}"
    return text
