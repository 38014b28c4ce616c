"""Operators by name: those of the catalogue, and anybody's own as ``module:name`` or ``file.py:name``."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import click
from click.shell_completion import CompletionItem

from ogive.errors import OgiveError, described
from ogive.operators.operator import Operator, bound_of

#: The choices of the option --rounding, and its help.
ROUNDINGS = ("once", "gate", "body")
ROUNDING = (
    "Where a gated unit rounds: once, the gate to the element type first, or each step of the body in ONNX's schema."
)


class OperatorName(click.ParamType):  # type: ignore[type-arg]  # generic in new versions only
    """The name of an operator; a shell completes it."""

    name = "operator"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from ogive.catalog import OPERATORS
        from ogive.catalog.aliases import ALIASES

        return [CompletionItem(name) for name in sorted({*OPERATORS, *ALIASES}) if name.startswith(incomplete.lower())]


def find(name: str) -> Operator:
    """The operator of that name, in our words, in those of a standard or of another library, or somebody's own."""
    return find_with_name(name)[0]


def find_with_name(name: str) -> tuple[Operator, str]:
    """The operator, and the name that files and reports of it have: an alias keeps its own."""
    if ":" in name:
        op = own(name)[0]
        return op, op.name
    from ogive.catalog import OPERATORS
    from ogive.catalog.aliases import ALIASES, by_name
    from ogive.catalog.other_names import advice, called

    found = by_name(name)
    elsewhere = () if found else called(name.lower())
    if len(elsewhere) == 1:
        (ours,) = elsewhere
        found = by_name(ours)
    if found is not None:
        return found
    if known := advice(name):
        raise click.UsageError(f"there is no operator {name!r}. {known}")
    near = difflib.get_close_matches(name.lower(), {*OPERATORS, *ALIASES}, 3, 0.65)
    hint = (
        f"did you mean {' or '.join(near)}?" if near else "allowed: the names that `ogive list` prints, or module:name"
    )
    raise click.UsageError(f"there is no operator {name!r}; {hint}")


def own(text: str) -> tuple[Operator, dict[str, Any]]:
    """Somebody's own operator, and the parameters that it is bound to: ``module:name`` or ``file.py:name``.

    Modules are looked for in the current folder first, as ``python -m`` does. Importing runs the module's code.
    """
    place, _, name = text.rpartition(":")
    if not place or not name:
        raise click.UsageError(f"the operator is {text!r}; allowed: a name of `ogive list`, module:name, file.py:name")
    module = _module(place)
    found: Any = module
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            known = [key for key, value in vars(module).items() if bound_of(value) is not None]
            hint = f"allowed: {', '.join(known)}" if known else "allowed: a name of an operator, and it has none"
            raise click.UsageError(f"{place} has no {name!r}; {hint}") from None
    bound = bound_of(found)
    if bound is None:
        what = f"{text} is {described(found)}, not an operator"
        way_out = "Put @ogive.operator before the function" if callable(found) else "Name an operator of the module"
        raise click.UsageError(f"{what}. {way_out}")
    return bound


def _module(place: str) -> ModuleType:
    is_file = place.endswith(".py") or "/" in place or "\\" in place
    try:
        return _module_of_file(Path(place)) if is_file else _module_named(place)
    except (OgiveError, click.ClickException, KeyboardInterrupt):
        raise
    except BaseException as error:  # a module may raise anything, SystemExit too
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise click.UsageError(f"{place} cannot be imported: {what}") from error


def _module_named(name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise click.UsageError(
            f"{name!r} is no name of a module; allowed: module:name, package.module:name, file.py:name"
        )
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            what = f"there is no module {name!r} in the current folder or among the installed packages"
            if Path(name).exists():
                raise click.UsageError(f"{name} is no Python file; allowed: module:name, file.py:name") from error
            raise click.UsageError(f"{what}; allowed: module:name, package.module:name, file.py:name") from error
        raise


def _module_of_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise click.UsageError(f"there is no file {str(path)!r}; allowed: module:name, file.py:name")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise click.UsageError(f"{path} is no Python file; allowed: module:name, file.py:name")
    folder = str(path.resolve().parent)  # what it imports from beside itself, as `python file.py` does
    if folder not in sys.path:
        sys.path.insert(0, folder)
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    spec.loader.exec_module(module)
    return module
