"""Calls of torch's functions, such as ``torch.nn.functional.gelu``, which Ogive's take the places of while a mode is on."""

from __future__ import annotations

import dis
from collections import Counter
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import torch
from torch.compiler import is_compiling
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from ogive.common.contracts import checked
from ogive.errors import OgiveError
from ogive.torch import nn

#: So many modules of a kind are kept, one for each combination of arguments.
MOST = 64

Make = Callable[[Any], Callable[..., Any]]
"""The function from a module that has the classes, ``ogive.torch.nn`` or one under a contract, to a function like torch's."""


def _by_module(name: str) -> Make:
    """A function whose arguments, behind the input, are those of a module without parameters."""

    def make(ours: Any) -> Callable[..., Any]:
        kind = getattr(ours, name)
        known: dict[str, torch.nn.Module] = {}

        def function(input: Any, *arguments: Any, **keywords: Any) -> Any:  # noqa: A002
            if is_compiling():
                return kind(*arguments, **keywords).forward(input)
            if any(isinstance(one, torch.Tensor) for one in (*arguments, *keywords.values())):
                return NotImplemented
            key = repr((arguments, keywords)) if arguments or keywords else ""  # -0 is not 0 there
            module = known.get(key)
            if module is None:
                if len(known) == MOST:
                    known.clear()
                module = known[key] = kind(*arguments, **keywords)
            return module.forward(input)

        return function

    return make


def _of_rows(name: str) -> Make:
    def make(ours: Any) -> Callable[..., Any]:
        computed = getattr(ours, name)._function

        def function(input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Any:  # noqa: A002
            if dim is None:
                return NotImplemented
            if dtype is None and (dim == -1 or dim == input.ndim - 1):
                return computed(input)  # the shortest call
            return computed(input, dim=dim, dtype=dtype)

        return function

    return make


def _like_torchs(name: str) -> Make:
    """A function that the class has beside its ``forward``."""

    def make(ours: Any) -> Callable[..., Any]:
        made: Callable[..., Any] = getattr(ours, name).computed
        return made

    return make


#: torch's functions, and what makes Ogive's: of modules by their own arguments, but for those that follow.
FUNCTIONS: dict[Any, Make] = {
    **{getattr(functional, name.lower()): _by_module(name) for name in nn.__all__ if hasattr(functional, name.lower())},
    functional.leaky_relu: _by_module("LeakyReLU"),
    **{
        getattr(owner, name): _by_module(kind)
        for owner in (torch, torch.Tensor)
        for name, kind in (("relu", "ReLU"), ("sigmoid", "Sigmoid"), ("tanh", "Tanh"))
    },
    **{
        getattr(owner, name): _of_rows(kind)
        for owner in (functional, torch, torch.Tensor)
        for name, kind in (("log_softmax", "LogSoftmax"), ("softmax", "Softmax"))
    },
    functional.softmin: _of_rows("Softmin"),
    functional.binary_cross_entropy_with_logits: _like_torchs("BCEWithLogitsLoss"),
    functional.cross_entropy: _like_torchs("CrossEntropyLoss"),
    functional.huber_loss: _like_torchs("HuberLoss"),
    functional.kl_div: _like_torchs("KLDivLoss"),
    functional.mse_loss: _like_torchs("MSELoss"),
    functional.smooth_l1_loss: _like_torchs("SmoothL1Loss"),
    functional.prelu: _like_torchs("PReLU"),
}
NORMALISATIONS: dict[Any, Make] = {
    functional.layer_norm: _like_torchs("LayerNorm"),
    functional.rms_norm: _like_torchs("RMSNorm"),
}


class functional_mode(TorchFunctionMode):  # noqa: N801
    """A context in which Ogive computes torch's activations, softmax and the like, wherever they are called.

    It finds what :func:`replace` cannot see: functions that a ``forward`` calls. Within it torch asks Python about every
    function that is called, which costs about a microsecond each. Calls that Ogive cannot compute (other devices, other
    types) are torch's, as without it. ``calls`` counts those that were Ogive's.

    ``accuracy`` is "exact" or "fast"; ``normalisations`` says whether layer_norm and rms_norm are replaced, too.

    Raises ParameterError for another contract.

    >>> import torch, ogive.torch
    >>> with ogive.torch.functional_mode() as mode:
    ...     y = torch.nn.functional.gelu(torch.tensor([1.0]))
    >>> mode.calls
    Counter({'gelu': 1})
    """

    def __init__(self, accuracy: str | None = None, *, normalisations: bool = False) -> None:
        super().__init__()
        if accuracy is not None:
            checked("ogive.torch.functional_mode", accuracy)
        self.accuracy, self.normalisations = accuracy, normalisations
        self.calls: Counter[str] = Counter()
        """How many calls of each function were Ogive's, but for those of compiled programs."""
        ours = nn if accuracy is None else getattr(nn, accuracy)
        table = FUNCTIONS | NORMALISATIONS if normalisations else FUNCTIONS
        self._functions = {function: make(ours) for function, make in table.items()}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = kwargs or {}
        ours = self._functions.get(func)
        if ours is not None and args and _is_ordinary(args[0]):
            try:
                found = ours(*args, **given)
            except (OgiveError, TypeError):  # torch has the message for its own function, or another way
                found = NotImplemented
            if found is not NotImplemented:
                if not is_compiling():
                    self.calls[func.__name__] += 1
                return found
        return func(*args, **given)

    def __reduce__(self) -> tuple[Any, ...]:
        return _mode, (self.accuracy, self.normalisations, self.calls)


def _mode(accuracy: str | None, normalisations: bool, calls: Counter[str]) -> functional_mode:
    made = functional_mode(accuracy, normalisations=normalisations)
    made.calls = calls
    return made


def _is_ordinary(tensor: Any) -> bool:
    return isinstance(tensor, torch.Tensor) and tensor.device.type == "cpu" and tensor.dtype.is_floating_point


class FunctionalForward:
    """The ``forward`` of a model, with the mode on."""

    def __init__(self, forward: Callable[..., Any], mode: functional_mode) -> None:
        self.forward, self.mode = forward, mode

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        with self.mode:
            return self.forward(*args, **keywords)


# ---- what a forward calls, by its code


def calls_in(kind: type) -> Counter[str]:
    """The calls of known functions in the ``forward`` of a class, and in functions and methods of its package there.

    They are read from its code: calls by other ways, such as methods of tensors, are not seen.
    """
    found: Counter[str] = Counter()
    forward = getattr(kind, "forward", None)
    if isinstance(forward, FunctionType):
        _count(forward, kind, found, set())
    return found


def _count(function: FunctionType, kind: type, found: Counter[str], seen: set[CodeType]) -> None:
    if function.__code__ in seen:
        return
    seen.add(function.__code__)
    for reached in _reached(function, kind):
        if isinstance(reached, FunctionType) and _package(reached) == _package(kind):
            _count(reached, kind, found, seen)
        elif reached in FUNCTIONS or reached in NORMALISATIONS:
            found[reached.__name__] += 1


def _package(one: Any) -> str:
    return str(one.__module__).partition(".")[0]


def _reached(function: FunctionType, kind: type) -> Iterator[Any]:
    """The meaning of the names in the code of a function: global ones, and those of modules and of ``self``."""
    code, at = function.__code__, None
    itself = code.co_varnames[0] if code.co_argcount else None
    for instruction in dis.get_instructions(code):
        name = instruction.argval
        if instruction.opname.startswith("LOAD_GLOBAL"):
            at = function.__globals__.get(name)
        elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            at = getattr(at, name, None) if isinstance(at, ModuleType) or at is kind else None
        elif instruction.opname.startswith("LOAD_FAST"):
            at = kind if name == itself else None
        else:
            continue
        if callable(at) and at is not kind and getattr(at, "__hash__", None) is not None:
            yield at
