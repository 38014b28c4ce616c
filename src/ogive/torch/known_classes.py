"""Classes of modules that Ogive's take the places of: those of torch.nn, and by their names those of other packages.

Neither transformers nor timm is imported. A class of theirs is known by its package and its name, and what it computes is
compared on a sample of numbers before a module of it is replaced: a name may mean something else in another version.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Any, NamedTuple

import torch

from ogive.torch import nn

__all__ = ["NORMALISATIONS", "class_name", "looked_for", "replacement"]

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
