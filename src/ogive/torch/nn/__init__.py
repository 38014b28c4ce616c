"""The activations of ``torch.nn``, computed by Ogive: the same names, arguments, representations and state.

LayerNorm, RMSNorm and losses of elements and of labelled rows are here too (`LOSSES`), and QuickGELU, ClippedGELU and HardMish, which
models of other packages have.

Each is a subclass of torch's own class, so that a model changes by its import:

>>> import torch, ogive.torch
>>> from ogive.torch import nn
>>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), nn.GELU(approximate="tanh"), torch.nn.Linear(3, 1))
>>> model(torch.zeros(1, 2)).shape
torch.Size([1, 1])

At kinks the derivatives are torch's. RReLU, which draws random numbers, and MultiheadAttention are not here.

`wrap` makes a module of any operator, of one's own too: ``nn.wrap(operator, slope=torch.nn.Parameter(torch.tensor(0.5)))``.

``ogive.torch.nn.fast`` has the same modules under the fast contract, forward and backward: ``nn.fast.GELU()``.
``ogive.torch.nn.exact`` has those of the exact contract, whatever ``OGIVE_ACCURACY`` says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, ClassVar

import torch
from torch import Tensor

from ogive.catalog import OPERATORS
from ogive.catalog.aliases import ALIASES, by_name
from ogive.errors import ArgumentError, UnsupportedError, message, suggestion
from ogive.operators.operator import Operator, check_is_operator
from ogive.torch import formulas
from ogive.torch.tensor_functions import wrap as function_of

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "BCEWithLogitsLoss",
    "ClippedGELU",
    "CrossEntropyLoss",
    "HardMish",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "HuberLoss",
    "KLDivLoss",
    "LayerNorm",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "MSELoss",
    "Mish",
    "PReLU",
    "QuickGELU",
    "RMSNorm",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "SmoothL1Loss",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


class Wrapped(torch.nn.Module):
    """A module that calls an operator with the parameters that it holds. `wrap` makes it."""

    def __init__(self, operator: Operator, parameters: dict[str, Any]) -> None:
        super().__init__()
        self._operator, self._names = operator, tuple(parameters)
        for name, value in parameters.items():
            if isinstance(value, torch.nn.Parameter):
                self.register_parameter(name, value)
            elif isinstance(value, Tensor):
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)

    def forward(self, *tensors: Tensor, **given: Any) -> Any:
        held = {name: getattr(self, name) for name in self._names}
        return function_of(self._operator)(*tensors, **{**held, **given})

    def extra_repr(self) -> str:
        shown = [
            f"{name}={tuple(value.shape)}" if isinstance(value := getattr(self, name), Tensor) else f"{name}={value!r}"
            for name in self._names
        ]
        return ", ".join([self._operator.name, *shown])


def wrap(operator: Any, **parameters: Any) -> Wrapped:
    """A ``torch.nn.Module`` of an operator, with parameters that it holds: numbers, tensors, or learned ones.

    A ``torch.nn.Parameter`` is learned, another tensor is a buffer; both are in ``state_dict()`` by the parameter's name. The module is
    called with the operator's tensors, and with other parameters by name. Element types, gradients and special cases are those of
    the function, `ogive.torch.wrap`. Operators over rows take ``dim`` too.

    Raises ArgumentError where there is no operator, no such parameter, or one that every module has by this name; ParameterError for
    a value that the operator refuses.

    >>> import torch, ogive, ogive.torch
    >>> @ogive.operator
    ... def bent(x, *, slope=0.1):
    ...     return slope * x + (1 - slope) * ogive.softplus(x)
    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), ogive.torch.nn.wrap(bent, slope=torch.nn.Parameter(torch.tensor(0.5))))
    >>> model[1]
    Wrapped(bent, slope=())
    >>> model(torch.ones(2, 4)).sum().backward()
    >>> model[1].slope.grad is not None
    True

    Source: torch.nn.Module.
    """
    check_is_operator("ogive.torch.nn.wrap", operator)
    numbers = {
        name: value.detach().reshape(-1)[0].item() if isinstance(value, Tensor) and value.numel() else value
        for name, value in parameters.items()
        if name != "dim" or not operator.is_row_wise
    }
    operator.checked_parameters(numbers)
    blank = torch.nn.Module()
    for name in parameters:
        if hasattr(blank, name):
            what = f"the parameter {name!r} has the name of an attribute of torch.nn.Module"
            way_out = "Rename it in the formula, or call ogive.torch.wrap(operator) in a module of your own"
            raise ArgumentError(message(f"ogive.torch.nn.wrap: {operator.name}", what, way_out=way_out))
    return Wrapped(operator, parameters)


#: The modules that compare a result with a target.
LOSSES = ("BCEWithLogitsLoss", "CrossEntropyLoss", "HuberLoss", "KLDivLoss", "MSELoss", "SmoothL1Loss")

#: Those of torch, which has more digits than the standards' float32 numbers.
SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


class _Computed:
    """A module that calls ``function``, an operator or its name, with its own attributes and numbers as parameters.

    A class says them in its head: ``alpha="slope"`` is the attribute ``slope``, ``alpha=1.5`` the number.
    """

    _function: ClassVar[Any]
    _parameters_of_function: ClassVar[Mapping[str, str | float]] = {}

    def __init_subclass__(cls, function: Any = None, **parameters: Any) -> None:
        if function is None:  # a class of somebody else
            super().__init_subclass__(**parameters)
            return
        super().__init_subclass__()
        cls._function = function_of(OPERATORS[function] if isinstance(function, str) else function)
        cls._parameters_of_function = parameters

    def _given(self) -> dict[str, Any]:
        parameters = self._parameters_of_function.items()
        return {name: getattr(self, own) if isinstance(own, str) else own for name, own in parameters}


class _Activation(_Computed):
    """A module of one tensor's elements."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        return self._function(input, **self._given())


class _InPlace(_Activation):
    """A module that leaves its result in the input's own memory if that is asked for."""

    inplace: bool

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        parameters = self._given()
        if not self.inplace:
            return self._function(input, **parameters)
        # Backward needs what the input was; and what torch.fx traces with stands for a tensor that may need a gradient.
        if not isinstance(input, torch.Tensor) or (input.requires_grad and torch.is_grad_enabled()):
            return input.copy_(self._function(input.clone(), **parameters))
        return self._function(input, out=input, **parameters)


class _AlongDim(_Computed):
    """A module of rows along the axis ``dim``; without one along torch's choice, with its warning."""

    dim: int | None

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        dim = self.dim
        if dim is None:
            dim = torch.nn.functional._get_softmax_dim(self._function.operator.name, input.ndim, 5)
        return _rows(self._function, input, dim)


class ReLU(_InPlace, torch.nn.ReLU, function="relu"):
    """``torch.nn.ReLU(inplace=False)``: ``max(0, x)``."""


class LeakyReLU(_InPlace, torch.nn.LeakyReLU, function="leaky_relu", alpha="negative_slope"):
    """``torch.nn.LeakyReLU(negative_slope=0.01, inplace=False)``: x where x >= 0, ``negative_slope * x`` elsewhere."""


class PReLU(_Computed, torch.nn.PReLU, function="prelu"):
    """``torch.nn.PReLU(num_parameters=1, init=0.25)``: x where x >= 0, ``weight * x`` elsewhere, with learned weights.

    Several weights belong to the channels, the second axis of the input.
    """

    @classmethod
    def computed(cls, input: Tensor, weight: Tensor) -> Tensor:  # noqa: A002
        """As ``torch.nn.functional.prelu`` takes its arguments."""
        if weight.numel() > 1 and input.ndim > 1:
            weight = weight.reshape(-1, *(1,) * (input.ndim - 2))
        elif input.ndim == 0:
            weight = weight.reshape(())
        return cls._function(input, weight)

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        return self.computed(input, self.weight)


class ELU(_InPlace, torch.nn.ELU, function="elu", alpha="alpha"):
    """``torch.nn.ELU(alpha=1.0, inplace=False)``: x where x >= 0, ``alpha * (exp(x) - 1)`` elsewhere."""


class CELU(_InPlace, torch.nn.CELU, function="celu", alpha="alpha"):
    """``torch.nn.CELU(alpha=1.0, inplace=False)``: x where x >= 0, ``alpha * (exp(x / alpha) - 1)`` elsewhere."""


class SELU(_InPlace, torch.nn.SELU, function="selu", alpha=SELU_ALPHA, gamma=SELU_SCALE):
    """``torch.nn.SELU(inplace=False)``: ELU, scaled so that the mean and the variance of activations persist."""


class GELU(_Activation, torch.nn.GELU, function="gelu", approximate="approximate"):
    """``torch.nn.GELU(approximate="none")``: ``x / 2 * (1 + erf(x / sqrt(2)))``, or with ``"tanh"`` its approximation."""


class QuickGELU(_Activation, torch.nn.Module, function="swish", alpha=1.702):
    """The GELU of CLIP: ``x / (1 + exp(-1.702 * x))``."""


class ClippedGELU(_Activation, torch.nn.Module, function="clipped_gelu", min="min", max="max"):
    """``ClippedGELU(min, max)``: ``min(max(GELU(x), min), max)``, rounded once."""

    def __init__(self, min: float, max: float) -> None:  # noqa: A002
        super().__init__()
        self.min, self.max = min, max

    def extra_repr(self) -> str:
        return f"min={self.min}, max={self.max}"


class SiLU(_InPlace, torch.nn.SiLU, function="swish"):
    """``torch.nn.SiLU(inplace=False)``: ``x / (1 + exp(-x))``."""


class Mish(_InPlace, torch.nn.Mish, function="mish"):
    """``torch.nn.Mish(inplace=False)``: ``x * tanh(log(1 + exp(x)))``."""


class Softplus(_Activation, torch.nn.Softplus, function=formulas.softplus, beta="beta", threshold="threshold"):
    """``torch.nn.Softplus(beta=1.0, threshold=20.0)``: ``log(1 + exp(beta * x)) / beta``, x where beta * x > threshold."""


class Softsign(_Activation, torch.nn.Softsign, function="softsign"):
    """``torch.nn.Softsign()``: ``x / (1 + abs(x))``."""


class Tanh(_Activation, torch.nn.Tanh, function="tanh"):
    """``torch.nn.Tanh()``: the hyperbolic tangent."""


class Sigmoid(_Activation, torch.nn.Sigmoid, function="sigmoid"):
    """``torch.nn.Sigmoid()``: ``1 / (1 + exp(-x))``."""


class LogSigmoid(_Activation, torch.nn.LogSigmoid, function="log_sigmoid"):
    """``torch.nn.LogSigmoid()``: ``-log(1 + exp(-x))``."""


class Hardtanh(_InPlace, torch.nn.Hardtanh, function=formulas.hardtanh, min="min_val", max="max_val"):
    """``torch.nn.Hardtanh(min_val=-1.0, max_val=1.0, inplace=False)``: ``min(max(x, min_val), max_val)``."""


class ReLU6(_InPlace, torch.nn.ReLU6, function=formulas.hardtanh, min="min_val", max="max_val"):
    """``torch.nn.ReLU6(inplace=False)``: ``min(max(x, 0), 6)``."""


class Hardsigmoid(_InPlace, torch.nn.Hardsigmoid, function=formulas.hardsigmoid):
    """``torch.nn.Hardsigmoid(inplace=False)``: ``min(max(x + 3, 0), 6) / 6``."""


class Hardswish(_InPlace, torch.nn.Hardswish, function="hard_swish"):
    """``torch.nn.Hardswish(inplace=False)``: ``x * min(max(x + 3, 0), 6) / 6``."""


class HardMish(_InPlace, torch.nn.Module, function="hard_mish"):
    """``HardMish(inplace=False)``: ``x / 2 * min(max(x + 2, 0), 2)``."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class Hardshrink(_Activation, torch.nn.Hardshrink, function=formulas.hardshrink, lambd="lambd"):
    """``torch.nn.Hardshrink(lambd=0.5)``: 0 where -lambd <= x <= lambd, x elsewhere."""


class Softshrink(_Activation, torch.nn.Softshrink, function=formulas.softshrink, lambd="lambd"):
    """``torch.nn.Softshrink(lambd=0.5)``: x - lambd where x > lambd, x + lambd where x < -lambd, 0 elsewhere."""


class Tanhshrink(_Activation, torch.nn.Tanhshrink, function="tanhshrink"):
    """``torch.nn.Tanhshrink()``: ``x - tanh(x)``."""


class Threshold(_InPlace, torch.nn.Threshold, function=formulas.threshold, threshold="threshold", value="value"):
    """``torch.nn.Threshold(threshold, value, inplace=False)``: x where x > threshold, ``value`` elsewhere."""


class GLU(_Computed, torch.nn.GLU, function="glu"):
    """``torch.nn.GLU(dim=-1)``: ``a / (1 + exp(-b))`` of the two halves of the input along ``dim``."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        length = input.shape[self.dim]
        if length % 2:
            return super().forward(input)  # torch's own refusal
        a, b = input.split(length // 2, self.dim)
        return self._function(a, b)


class Softmax(_AlongDim, torch.nn.Softmax, function="softmax"):
    """``torch.nn.Softmax(dim=None)``: ``exp(x - max(x)) / sum(exp(x - max(x)))`` along ``dim``."""


class Softmax2d(_Computed, torch.nn.Softmax2d, function="softmax"):
    """``torch.nn.Softmax2d()``: softmax over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        if input.ndim not in (3, 4):
            return super().forward(input)  # torch's own refusal
        return self._function(input, dim=-3)


class LogSoftmax(_AlongDim, torch.nn.LogSoftmax, function="log_softmax"):
    """``torch.nn.LogSoftmax(dim=None)``: the logarithm of softmax along ``dim``."""


class Softmin(_AlongDim, torch.nn.Softmin, function="softmin"):
    """``torch.nn.Softmin(dim=None)``: softmax of ``-x`` along ``dim``."""


class LayerNorm(_Computed, torch.nn.LayerNorm, function="layer_normalization"):
    """``torch.nn.LayerNorm(normalized_shape, eps=1e-05, elementwise_affine=True, bias=True)``, rounded once."""

    @classmethod
    def computed(
        cls,
        input: Tensor,  # noqa: A002
        normalized_shape: Sequence[int],
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        eps: float = 1e-5,
    ) -> Any:
        """As ``torch.nn.functional.layer_norm`` takes its arguments."""
        found = _normalised(cls._function, input, normalized_shape, ((weight, 1.0), (bias, 0.0)), eps)
        return found if found is NotImplemented else found.to(input.dtype)

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        found: Any = self.computed(input, self.normalized_shape, self.weight, self.bias, self.eps)
        return super().forward(input) if found is NotImplemented else found


class RMSNorm(_Computed, torch.nn.RMSNorm, function="rms_normalization"):
    """``torch.nn.RMSNorm(normalized_shape, eps=None, elementwise_affine=True)``, rounded once."""

    @classmethod
    def computed(
        cls,
        input: Tensor,  # noqa: A002
        normalized_shape: Sequence[int],
        weight: Tensor | None = None,
        eps: float | None = None,
    ) -> Any:
        """As ``torch.nn.functional.rms_norm`` takes its arguments."""
        epsilon = torch.finfo(input.dtype).eps if eps is None else eps
        return _normalised(cls._function, input, normalized_shape, ((weight, 1.0),), epsilon)

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        found: Any = self.computed(input, self.normalized_shape, self.weight, self.eps)
        return super().forward(input) if found is NotImplemented else found


def _normalised(
    function: Any,
    input: Tensor,  # noqa: A002
    shape: Sequence[int],
    weights: Sequence[tuple[Tensor | None, float]],
    epsilon: float,
) -> Any:
    """Rows of the last axes, with numbers for the weights that there are none of; torch refuses other shapes."""
    axes = len(shape)
    if not axes or tuple(input.shape[-axes:]) != tuple(shape):
        return NotImplemented
    rows = input.flatten(-axes) if axes > 1 else input
    given = [rows.new_full(rows.shape[-1:], number) if w is None else w.flatten() for w, number in weights]
    found = function(rows, *given, epsilon=epsilon)
    return found.reshape(input.shape) if axes > 1 else found


class CrossEntropyLoss(_Computed, torch.nn.CrossEntropyLoss, function="log_softmax"):
    """``torch.nn.CrossEntropyLoss()`` of labels: ``-log_softmax(x)[label]``, each rounded once, with torch's mean or sum.

    For probabilities, and with ``label_smoothing``, it is torch's.
    """

    @classmethod
    def computed(
        cls,
        input: Tensor,  # noqa: A002
        target: Tensor,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> Any:
        """As ``torch.nn.functional.cross_entropy`` takes its arguments."""
        is_other = size_average is not None or reduce is not None or label_smoothing
        if is_other or target.is_floating_point() or not input.ndim:
            return NotImplemented
        logarithms = _rows(cls._function, input, min(1, input.ndim - 1))
        return torch.nn.functional.nll_loss(logarithms, target, weight, ignore_index=ignore_index, reduction=reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:  # noqa: A002
        given = {"ignore_index": self.ignore_index, "reduction": self.reduction}
        found: Any = self.computed(input, target, self.weight, label_smoothing=self.label_smoothing, **given)
        return super().forward(input, target) if found is NotImplemented else found


#: Reductions of a loss's elements.
_REDUCED: Mapping[str, Any] = {
    "none": lambda x: x,
    "mean": torch.mean,
    "sum": torch.sum,
    "batchmean": lambda x: x.sum() / x.size(0) if x.ndim else x,
}

#: Arguments with which older programs ask for a reduction.
_OLDER = ("size_average", "reduce")


class _ElementLoss(_Computed):
    """A loss of single elements: each is rounded once, with torch's mean or sum. What it does not compute is torch's."""

    _order: ClassVar[tuple[str, ...]]
    """The arguments of torch's function behind the two tensors."""
    _is_torchs: ClassVar[Any]
    """Whether torch computes it: a function of these arguments, by name."""
    reduction: str

    @classmethod
    def computed(cls, input: Tensor, target: Tensor, *more: Any, **named: Any) -> Any:  # noqa: A002
        """As the function of ``torch.nn.functional`` takes its arguments."""
        given = dict(zip(cls._order, more, strict=False), **named)
        is_wrong = len(given) < len(more) + len(named) or not given.keys() <= set(cls._order)
        is_older = any(given.get(name) is not None for name in _OLDER)
        reduced = _REDUCED.get(given.get("reduction", "mean"))
        if reduced is None or is_wrong or is_older or cls._is_torchs(given) or not isinstance(target, Tensor):
            return NotImplemented
        if target.shape != input.shape or not target.is_floating_point():
            return NotImplemented
        found = cls._function(input, target, **{name: given[name] for name in ("beta", "delta") if name in given})
        weight = given.get("weight")
        return reduced(found if weight is None else found * weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:  # noqa: A002
        found: Any = self.computed(input, target, reduction=self.reduction, **self._given())
        return super().forward(input, target) if found is NotImplemented else found  # type: ignore[misc]


class MSELoss(_ElementLoss, torch.nn.MSELoss, function="difference_square"):
    """``torch.nn.MSELoss(reduction="mean")``: ``(input - target)**2``, each rounded once."""

    _order = (*_OLDER, "reduction", "weight")
    _is_torchs = staticmethod(lambda given: given.get("weight") is not None)  # its mean is that of the weights


class HuberLoss(_ElementLoss, torch.nn.HuberLoss, function="huber_loss", delta="delta"):
    """``torch.nn.HuberLoss(reduction="mean", delta=1.0)``: a square of small differences and a line beyond, each rounded once."""

    _order = ("reduction", "delta", "weight")
    _is_torchs = staticmethod(lambda given: given.get("weight") is not None)


class SmoothL1Loss(_ElementLoss, torch.nn.SmoothL1Loss, function=formulas.smooth_l1, beta="beta"):
    """``torch.nn.SmoothL1Loss(reduction="mean", beta=1.0)``: Huber's loss divided by beta, each rounded once.

    With beta=0 it is torch's.
    """

    _order = (*_OLDER, "reduction", "beta")
    _is_torchs = staticmethod(lambda given: not given.get("beta", 1.0) > 0)


class KLDivLoss(_ElementLoss, torch.nn.KLDivLoss, function="kl_div", log_target="log_target"):
    """``torch.nn.KLDivLoss(reduction="mean", log_target=False)``: ``target * (log(target) - input)``, each rounded once.

    With log_target=True it is torch's.
    """

    _order = (*_OLDER, "reduction", "log_target")
    _is_torchs = staticmethod(  # torch warns of this mean
        lambda given: given.get("log_target") or given.get("reduction", "mean") == "mean"
    )


class BCEWithLogitsLoss(
    _ElementLoss,
    torch.nn.BCEWithLogitsLoss,
    function="binary_cross_entropy_with_logits",
    weight="weight",
    pos_weight="pos_weight",
):
    """``torch.nn.BCEWithLogitsLoss(weight=None, reduction="mean")``: cross entropy of logits and probabilities, each rounded once.

    With pos_weight it is torch's.
    """

    _order = ("weight", *_OLDER, "reduction", "pos_weight")
    _is_torchs = staticmethod(lambda given: given.get("pos_weight") is not None)


def _rows(function: Any, input: Tensor, dim: Any) -> Any:  # noqa: A002
    """The function of rows along an axis; along the last one, by the shortest call."""
    return function(input) if dim == -1 or dim == input.ndim - 1 else function(input, dim=dim)


def _refuse_script(module: torch.nn.Module) -> None:
    """The method of a module that ``torch.jit.script`` calls first, wherever it stands in a model."""
    name = type(module).__name__
    what = f"{name} was given, which is no code of TorchScript"
    way_out = "Use torch.jit.trace, torch.compile or torch.export"
    allowed = f"torch.nn.{name}" if hasattr(torch.nn, name) else "modules of torch.nn"
    raise UnsupportedError(message("torch.jit.script", what, allowed, way_out))


for _name in __all__:
    globals()[_name].__prepare_scriptable__ = _refuse_script
Wrapped.__prepare_scriptable__ = _refuse_script


def under(accuracy: str, module: str) -> dict[str, type[torch.nn.Module]]:
    """The classes of a module that has them under a contract: ``exact`` or ``fast``."""
    made = {}
    for name in __all__:
        ours = globals()[name]
        function = function_of(getattr(ours._function.operator, accuracy))
        facts = {"__module__": module, "__doc__": ours.__doc__, "_function": function}
        made[name] = type(name, (ours,), facts)
    return made


def __getattr__(name: str) -> Any:
    if name in ("exact", "fast"):  # loaded when they are used
        return import_module(f"{__name__}.{name}")
    way_out = f"Use torch.nn.{name}" if hasattr(torch.nn, name) else _hint(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}" + (f". {way_out}" if way_out else ""))


def _hint(name: str) -> str:
    """The module of the operator that is called so, or its function; else what looks alike."""
    joined = {known.replace("_", ""): known for known in (*ALIASES, *OPERATORS)}
    found = by_name(joined.get(name.lower(), name))
    if found is None or name.lower() in map(str.lower, __all__):
        return suggestion(name, __all__)
    modules = [
        own for own in __all__ if hasattr(torch.nn, own) and globals()[own]._function.operator.base is found[0].base
    ]
    return f"Use {modules[0]}" if modules else f"Use ogive.torch.nn.wrap(ogive.{found[1]})"


def __dir__() -> list[str]:
    return sorted({*__all__, "exact", "fast", "wrap", *(name for name in globals() if name.startswith("__"))})
