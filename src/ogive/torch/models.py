"""Whole models: their activations replaced by Ogive's. Known classes are those of torch.nn, and by their names those of other packages.

Neither transformers nor timm is imported. A class of theirs is known by its package and its name, and what it computes is
compared on a sample of numbers before a module of it is replaced: a name may mean something else in another version.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Any, NamedTuple

import torch

from ogive.common.contracts import checked
from ogive.errors import ArgumentError, described, message
from ogive.torch import nn
from ogive.torch.functional_mode import FunctionalForward, calls_in, functional_mode

#: They are replaced where that is asked for: torch's LayerNorm takes less time.
NORMALISATIONS = ("LayerNorm", "RMSNorm")

#: Modules of torch.nn that belong here, and have no counterpart.
WITHOUT_COUNTERPART = MappingProxyType(
    {
        torch.nn.RReLU: "it draws random numbers",
        torch.nn.MultiheadAttention: "its softmax is inside of torch's own attention",
    }
)


class _KnownClass(NamedTuple):
    name: str
    """The class of ogive.torch.nn."""
    arguments: dict[str, Any] = {}  # noqa: RUF012
    """Attributes of the new module, beside those of the old one."""


_TANH = _KnownClass("GELU", {"approximate": "tanh"})

#: By package, and by patterns of the names of classes.
KNOWN: dict[str, dict[str, _KnownClass]] = {
    "transformers": {
        "GELUActivation": _KnownClass("GELU", {"approximate": "none"}),
        "NewGELUActivation": _TANH,
        "FastGELUActivation": _TANH,
        "AccurateGELUActivation": _TANH,
        "GELUTanh": _TANH,
        "PytorchGELUTanh": _TANH,
        "QuickGELUActivation": _KnownClass("QuickGELU"),
        "ClippedGELUActivation": _KnownClass("ClippedGELU"),
        "SiLUActivation": _KnownClass("SiLU", {"inplace": False}),
        "MishActivation": _KnownClass("Mish", {"inplace": False}),
        "*RMSNorm": _KnownClass("RMSNorm"),
        "*T5LayerNorm": _KnownClass("RMSNorm"),
        "SwitchTransformersLayerNorm": _KnownClass("RMSNorm"),
        "Pix2StructLayerNorm": _KnownClass("RMSNorm"),
        "Pop2PianoLayerNorm": _KnownClass("RMSNorm"),
    },
    "timm": {
        "GELU": _KnownClass("GELU", {"approximate": "none"}),
        "GELUTanh": _TANH,
        "QuickGELU": _KnownClass("QuickGELU"),
        "Swish": _KnownClass("SiLU"),
        "SwishMe": _KnownClass("SiLU", {"inplace": False}),
        "Mish": _KnownClass("Mish", {"inplace": False}),
        "MishMe": _KnownClass("Mish", {"inplace": False}),
        "Sigmoid": _KnownClass("Sigmoid"),
        "Tanh": _KnownClass("Tanh"),
        "HardSigmoid": _KnownClass("Hardsigmoid"),
        "HardSigmoidMe": _KnownClass("Hardsigmoid", {"inplace": False}),
        "HardSwish": _KnownClass("Hardswish"),
        "HardSwishMe": _KnownClass("Hardswish", {"inplace": False}),
        "HardMish": _KnownClass("HardMish"),
        "HardMishMe": _KnownClass("HardMish", {"inplace": False}),
        "PReLU": _KnownClass("PReLU"),
        "LayerNorm": _KnownClass("LayerNorm"),
        "RmsNorm": _KnownClass("RMSNorm"),
    },
}


def class_name(kind: type) -> str:
    """The name of a class in a report: ``torch.nn.GELU``, and others by their package."""
    if getattr(torch.nn, kind.__name__, None) is kind:
        return f"torch.nn.{kind.__name__}"
    return f"{kind.__module__.partition('.')[0]}: {kind.__name__}"


def looked_for(module: torch.nn.Module) -> Iterator[str]:
    """The names of classes of ogive.torch.nn that a module looks like: by its class, or one that it is derived from."""
    known = _known(type(module))
    if known is not None:
        yield known.name
    for kind in type(module).__mro__:
        if kind in WITHOUT_COUNTERPART or (
            kind.__name__ in nn.__all__ and getattr(torch.nn, kind.__name__, None) is kind
        ):
            yield kind.__name__


def _known(kind: type) -> _KnownClass | None:
    rows = KNOWN.get(kind.__module__.partition(".")[0], {})
    return next((row for pattern, row in rows.items() if fnmatchcase(kind.__name__, pattern)), None)


def replacement(module: torch.nn.Module, ours: Any) -> torch.nn.Module | str:
    """The module that takes the place of one, of a class of a module such as ``ogive.torch.nn``; or why there is none.

    Parameters, buffers and hooks are the same objects.
    """
    kind = type(module)
    if kind in WITHOUT_COUNTERPART:
        return WITHOUT_COUNTERPART[kind]
    if kind.__name__ in nn.__all__ and getattr(torch.nn, kind.__name__, None) is kind:
        return _with_state(getattr(ours, kind.__name__), module, {})
    known = _known(kind)
    if known is None:
        return "its class is derived from torch's, and may compute something else"
    made = _with_state(getattr(ours, known.name), module, _attributes(module, known))
    return (
        made if _computes_the_same(module, made) else "on a sample of numbers its results are others, or lie elsewhere"
    )


def _with_state(kind: Any, module: torch.nn.Module, attributes: dict[str, Any]) -> torch.nn.Module:
    made: torch.nn.Module = kind.__new__(kind)
    made.__dict__.update(module.__dict__)
    made.__dict__.update(attributes)
    return made


def _attributes(module: torch.nn.Module, known: _KnownClass) -> dict[str, Any]:
    if known.name != "RMSNorm":
        return dict(known.arguments)
    found = module.__dict__
    weight = module._parameters.get("weight")
    epsilon = next((found[name] for name in ("variance_epsilon", "eps", "epsilon") if name in found), None)
    shape = () if weight is None else tuple(weight.shape)
    return {"normalized_shape": shape, "eps": epsilon, "elementwise_affine": weight is not None}


def _computes_the_same(theirs: torch.nn.Module, ours: torch.nn.Module) -> bool:
    """Whether two modules give the same numbers, but for rounding, and in the same memory where they work in place."""
    weight = theirs._parameters.get("weight")
    length = 64 if weight is None else max(weight.numel(), 1)
    kind = torch.float32 if weight is None else weight.dtype
    sample = torch.linspace(-7, 9, 3 * length, dtype=torch.float64).reshape(3, length).to(kind)
    copies = sample.clone(), sample.clone()
    try:
        with torch.no_grad():
            found = theirs.forward(copies[0]), ours.forward(copies[1])
        tolerance = 64 * torch.finfo(kind).eps
        torch.testing.assert_close(found[1], found[0], rtol=tolerance, atol=tolerance)
    except Exception:  # whatever a class of another version does with the sample
        return False
    return bool((found[0] is copies[0]) == (found[1] is copies[1]))


class ModulesOfClass(NamedTuple):
    """Modules of one class, in a :class:`Replacements`."""

    name: str
    """Their class, such as ``torch.nn.GELU``, or ``timm: HardMish``."""
    note: str
    """The class that took their places, or why none did."""
    places: tuple[str, ...]
    """Their names in the model, as in ``named_modules``."""


@dataclass(frozen=True)
class Replacements:
    """The activations that :func:`replace` replaced and left, by name and count. Printed, it is a short text."""

    replaced: tuple[ModulesOfClass, ...]
    left: tuple[ModulesOfClass, ...]
    """Activations, softmax and normalisations of torch, transformers or timm that are as they were."""
    calls: Counter[str]
    """Calls of torch's functions. With ``functional=True`` it counts those that Ogive computed, run by run. Without, it
    has those that were found in the code of ``forward``, and are torch's."""
    functional: bool
    already: tuple[str, ...] = ()
    """The places of modules that were Ogive's before."""

    def __repr__(self) -> str:
        count, left = (sum(len(row.places) for row in rows) for rows in (self.replaced, self.left))
        lines = [f"replaced {count} of {count + left} modules"]
        lines += [f"  {len(row.places)} {row.name} by {row.note}" for row in self.replaced]
        lines += [f"left {len(row.places)} {row.name}: {row.note}" for row in self.left]
        if self.already:
            lines.append(f"{len(self.already)} Ogive's already")
        calls = ", ".join(f"{name} {times}" for name, times in self.calls.most_common())
        if self.functional:
            lines.append(f"calls of functions that Ogive computed so far: {calls or 'none'}")
        elif calls:
            lines.append(f"calls of functions that are torch's: {calls}; functional=True replaces them, too")
        return "\n".join(lines)


def replace(model: Any, *, accuracy: str | None = None, functional: bool = False, normalisations: bool = False) -> Any:
    """The model, with Ogive's modules in place of activations and softmax in its tree.

    The model itself is changed and returned; if it is an activation itself, another module is returned. Parameters,
    buffers, hooks and names stay the same, so optimizers and state dicts go on. ``model.ogive_report`` is a
    :class:`Replacements` of what was replaced and what was left; a UserWarning says so where nothing was.

    Classes of torch.nn are known, and those of transformers and timm by their names. The latter are compared with
    Ogive's on a sample of numbers first. Modules of other subclasses stay as they are.

    >>> import torch, ogive.torch
    >>> model = ogive.torch.replace(torch.nn.Sequential(torch.nn.Linear(1, 2), torch.nn.CELU(1.5), torch.nn.RReLU()))
    >>> model[1], type(model[1]).__module__
    (CELU(alpha=1.5), 'ogive.torch.nn')
    >>> model.ogive_report
    replaced 1 of 2 modules
      1 torch.nn.CELU by CELU
    left 1 torch.nn.RReLU: it draws random numbers

    ``accuracy`` names a contract, "exact" or "fast": then modules of Ogive are replaced by those of this contract, too.

    >>> type(ogive.torch.replace(torch.nn.CELU(), accuracy="fast")).__module__
    'ogive.torch.nn.fast'

    ``functional=True`` runs the model's ``forward`` within :class:`functional_mode`, which finds calls of functions.
    ``normalisations=True`` replaces LayerNorm and RMSNorm, too; docs/torch.md says what that costs.

    Raises ArgumentError if the model is no module, ParameterError for another contract.
    """
    ours = nn
    if accuracy is not None:
        checked("ogive.torch.replace", accuracy)
        ours = getattr(nn, accuracy)
    if not isinstance(model, torch.nn.Module):
        what = f"model is {described(model)}"
        raise ArgumentError(message("ogive.torch.replace", what, "a torch.nn.Module"))
    own = {getattr(source, name): name for source in (nn, nn.exact, nn.fast) for name in nn.__all__}
    known: dict[torch.nn.Module, torch.nn.Module] = {}  # a module that stands in two places does so afterwards
    rows: dict[tuple[bool, str, str], list[str]] = {}
    kinds: dict[type, None] = {}
    already: list[str] = []

    def replaced(module: torch.nn.Module, place: str) -> torch.nn.Module:
        if module in known:
            return known[module]
        kind = type(module)
        name = own.get(kind)
        made: torch.nn.Module | str | None = None
        if name is not None and accuracy is not None:
            made = getattr(ours, name).__new__(getattr(ours, name))
            made.__dict__.update(module.__dict__)
        elif name is not None:
            already.append(place)
        elif looks := set(looked_for(module)):
            is_left = not normalisations and not looks.isdisjoint(NORMALISATIONS)
            made = "normalisations=True replaces it" if is_left else replacement(module, ours)
        if isinstance(made, torch.nn.Module):
            rows.setdefault((True, class_name(kind), type(made).__name__), []).append(place)
            known[module] = made
            return made
        if made is not None:
            rows.setdefault((False, class_name(kind), made), []).append(place)
        known[module] = module
        if name is None and class_name(kind).partition(".")[0] != "torch":
            kinds[kind] = None
        for child_name, child in module._modules.items():
            if child is not None:
                module._modules[child_name] = replaced(child, f"{place}.{child_name}".lstrip("."))
        return module

    found = replaced(model, "")
    forward = found.__dict__.pop("forward", None)
    if isinstance(forward, FunctionalForward):
        forward = forward.forward if "forward" in vars(forward.forward) else None
    if forward is not None:
        found.__dict__["forward"] = forward
    calls: Counter[str] = Counter()
    if functional:
        mode = functional_mode(accuracy, normalisations=normalisations)
        found.__dict__["forward"] = FunctionalForward(found.forward, mode)
        calls = mode.calls
    else:
        for kind in kinds:
            calls += calls_in(kind)
    each = [(was, ModulesOfClass(name, note, tuple(places))) for (was, name, note), places in rows.items()]
    report = Replacements(
        tuple(row for was, row in each if was),
        tuple(row for was, row in each if not was),
        calls,
        functional,
        tuple(already),
    )
    found.__dict__["ogive_report"] = report
    if not (report.replaced or already or functional):
        warnings.warn(f"ogive.torch.replace: nothing was replaced. {report!r}", UserWarning, stacklevel=2)
    return found
