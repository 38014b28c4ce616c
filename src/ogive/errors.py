"""The exceptions of Ogive, and the functions that word a message.

Every class also derives from the built-in that fits, so that ``except ValueError`` keeps working.
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import reprlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "ArgumentError",
    "CompileError",
    "DTypeError",
    "DeviceError",
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
    "by_position",
    "described",
    "message",
    "naming",
    "needed",
    "refuse_variable",
    "shapes_apart",
    "suggestion",
    "variable",
]


class OgiveError(Exception):
    """The base of everything that Ogive raises on purpose."""

    summary = ""
    """The error in fewer words, where the text repeats something. A command prints it."""


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


class DeviceError(OgiveError, RuntimeError):
    """A device cannot compute as IEEE 754 says, has too little memory, or failed."""


class MissingPackageError(OgiveError, ModuleNotFoundError):
    """A part of Ogive needs a package that is not installed."""


class ModelError(OgiveError, ValueError):
    """A model file is damaged, or contradicts its own standard."""


class UnsupportedError(OgiveError, NotImplementedError):
    """A model asks for an operator, a version or a type that Ogive does not have."""


class MissingNameError(UnsupportedError, AttributeError):
    """A module does not have a name that another one, or another installation, has. ``hasattr`` is then false."""


def suggestion(name: str, known: Iterable[str], otherwise: str = "", *, least: float = 0.65) -> str:
    """The name that somebody may have meant, as a question; where none is near, what is said instead.

    ``least`` is how alike names are at least, from 0 to 1. The name itself is no answer: it is known elsewhere, and not here.

    >>> suggestion("Sofmax", ["relu", "softmax"]), suggestion("axis", ["alpha"], "ogive list names them")
    ('Did you mean softmax?', 'ogive list names them')
    """
    from difflib import get_close_matches

    names = [one for one in known if one != name]
    by_letters = {text.lower(): text for text in names}
    near = get_close_matches(name, names, 1, least) or [
        by_letters[text] for text in get_close_matches(name.lower(), by_letters, 1, least)
    ]
    return f"Did you mean {near[0]}?" if near else otherwise


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


@contextlib.contextmanager
def needed(subject: str, install: str, package: str, *modules: str) -> Iterator[None]:
    """Around imports: if the package is missing, whose modules have these names or its own, a sentence says so.

    >>> with needed("ogive.abacus", "'ogive[abacus]'", "abacus"):
    ...     import abacus
    Traceback (most recent call last):
        ...
    ogive.errors.MissingPackageError: ogive.abacus: the package abacus is not installed. Install it: pip install 'ogive[abacus]'
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in (package, *modules):
            raise
        what, way_out = f"the package {package} is not installed", f"Install it: pip install {install}"
        raise MissingPackageError(message(subject, what, way_out=way_out)) from error


def variable(name: str, allowed: Sequence[str], environment: Mapping[str, str] = os.environ) -> str:
    """The value of an environment variable; the first that is allowed, where it is empty or not there.

    >>> variable("OGIVE_ACCURACY", ("exact", "fast"), {"OGIVE_ACCURACY": " fast"})
    'fast'
    """
    wanted = environment.get(name, "").strip() or allowed[0]
    if wanted not in allowed:
        refuse_variable(name, f"it is {wanted!r}", ", ".join(map(repr, allowed)))
    return wanted


def refuse_variable(name: str, what: str, allowed: str) -> NoReturn:
    """Refuse a wrong environment variable. The command line imports the package before any code of its own runs, so its line is
    printed here.
    """
    text = message(name, what, allowed)
    if _is_command_line() and os.environ.get("OGIVE_DEBUG", "0").strip() in ("", "0"):
        print(f"ogive: {text}", file=sys.stderr)
        sys.exit(2)
    raise OgiveError(text)


def _is_command_line() -> bool:
    """Whether this process is ``ogive`` or ``python -m ogive``. Python gives a module its ``sys.argv`` after its package."""
    begins = getattr(sys, "argv", [])[:1]
    if begins == ["-m"]:
        return "-m ogive" in " ".join(sys.orig_argv)
    return any(os.path.basename(word).removesuffix(".exe") == "ogive" for word in begins)  # noqa: PTH119


def shapes_apart(subject: str, names: Iterable[str], shapes: Iterable[Iterable[int]]) -> ShapeError:
    """The error for tensors whose shapes do not broadcast together.

    >>> print(shapes_apart("prelu", ["x", "slope"], [(2, 3, 4), (3,)]))
    prelu: the shapes do not broadcast together: x (2, 3, 4) and slope (3,); allowed: equal sizes, or 1, from the last axis \
on. For one number a channel give slope the shape (3, 1)
    """
    named = [(name, tuple(shape)) for name, shape in zip(names, shapes, strict=True)]
    longest = max((shape for _, shape in named), key=len)
    way_out = ""
    for name, shape in named:
        if len(shape) == 1 and len(longest) > 2 and shape[0] == longest[1]:  # PyTorch takes the channels from axis 1
            way_out = f"For one number a channel give {name} the shape {(*shape, *(1 for _ in longest[2:]))}"
    what = f"the shapes do not broadcast together: {' and '.join(f'{name} {shape}' for name, shape in named)}"
    return ShapeError(message(subject, what, "equal sizes, or 1, from the last axis on", way_out))


def by_position(count: int) -> str:
    """How many arguments were given by position, in words."""
    return f"{count or 'no'} argument{' was' if count == 1 else 's were'} given by position"


def described(value: object) -> str:
    """A wrong value as a message names it: itself where it is short, else what it is.

    >>> described(None), described("1.5"), described([1, 2]), described(range)
    ('None', "'1.5'", 'a list', 'the class range')
    """
    if type(value) is int and abs(value) >= 10**20:  # printing it could take long, and Python forbids it at some length
        return f"a whole number of about {int(math.log10(abs(value))) + 1} digits"
    shape = getattr(value, "shape", None)
    is_scalar = shape == () and type(value).__module__ == "numpy"
    if value is None or is_scalar or isinstance(value, int | float | complex | str | bytes):
        return reprlib.repr(value)
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(shape, tuple) and hasattr(value, "dtype"):
        return f"an array of shape {tuple(shape)}"
    if callable(value) and hasattr(value, "__name__"):
        return f"the function {value.__name__}"
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


@contextlib.contextmanager
def naming(path: Path) -> Iterator[Path]:
    """The path, for a block that writes the file: an error of a full disk does not say by itself which file it is.

    >>> from pathlib import Path
    >>> try:
    ...     with naming(Path("/dev/full")) as path:
    ...         _ = path.write_text("text")
    ... except OSError as error:
    ...     print(error.filename)
    /dev/full
    """
    try:
        yield path
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise
