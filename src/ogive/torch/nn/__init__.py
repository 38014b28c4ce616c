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
from ogive.errors import UnsupportedError, message, suggestion
from ogive.torch import formulas
from ogive.torch.nn.own import Wrapped
from ogive.torch.nn.own import wrap as wrap
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

#: The modules that compare a result with a target.
LOSSES = ("BCEWithLogitsLoss", "CrossEntropyLoss", "HuberLoss", "KLDivLoss", "MSELoss", "SmoothL1Loss")

#: Those of torch, which has more digits than the standards' float32 numbers.
SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


class _Activation:
    """A module that gives the function its input, and its own attributes as parameters."""

    _function: ClassVar[Any]
    _attributes: ClassVar[Mapping[str, str]] = {}
    """The module's attribute for each parameter of the function."""
    _fixed: ClassVar[Mapping[str, float]] = {}

    def _parameters_of_function(self) -> dict[str, Any]:
        return {**self._fixed, **{name: getattr(self, own) for name, own in self._attributes.items()}}

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        return self._function(input, **self._parameters_of_function())


class _InPlace(_Activation):
    """A module that leaves its result in the input's own memory if that is asked for."""

    inplace: bool

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        parameters = self._parameters_of_function()
        if not self.inplace:
            return self._function(input, **parameters)
        # Backward needs what the input was; and what torch.fx traces with stands for a tensor that may need a gradient.
        if not isinstance(input, torch.Tensor) or (input.requires_grad and torch.is_grad_enabled()):
            return input.copy_(self._function(input.clone(), **parameters))
        return self._function(input, out=input, **parameters)


class ReLU(_InPlace, torch.nn.ReLU):
    """``torch.nn.ReLU(inplace=False)``: ``max(0, x)``."""

    _function = function_of(OPERATORS["relu"])


class LeakyReLU(_InPlace, torch.nn.LeakyReLU):
    """``torch.nn.LeakyReLU(negative_slope=0.01, inplace=False)``: x where x >= 0, ``negative_slope * x`` elsewhere."""

    _function = function_of(OPERATORS["leaky_relu"])
    _attributes: ClassVar[Mapping[str, str]] = {"alpha": "negative_slope"}


class PReLU(torch.nn.PReLU):
    """``torch.nn.PReLU(num_parameters=1, init=0.25)``: x where x >= 0, ``weight * x`` elsewhere, with learned weights.

    Several weights belong to the channels, the second axis of the input.
    """

    _function = function_of(OPERATORS["prelu"])

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


class ELU(_InPlace, torch.nn.ELU):
    """``torch.nn.ELU(alpha=1.0, inplace=False)``: x where x >= 0, ``alpha * (exp(x) - 1)`` elsewhere."""

    _function = function_of(OPERATORS["elu"])
    _attributes: ClassVar[Mapping[str, str]] = {"alpha": "alpha"}


class CELU(_InPlace, torch.nn.CELU):
    """``torch.nn.CELU(alpha=1.0, inplace=False)``: x where x >= 0, ``alpha * (exp(x / alpha) - 1)`` elsewhere."""

    _function = function_of(OPERATORS["celu"])
    _attributes: ClassVar[Mapping[str, str]] = {"alpha": "alpha"}


class SELU(_InPlace, torch.nn.SELU):
    """``torch.nn.SELU(inplace=False)``: ELU, scaled so that the mean and the variance of activations persist."""

    _function = function_of(OPERATORS["selu"])
    _fixed: ClassVar[Mapping[str, float]] = {"alpha": SELU_ALPHA, "gamma": SELU_SCALE}


class GELU(_Activation, torch.nn.GELU):
    """``torch.nn.GELU(approximate="none")``: ``x / 2 * (1 + erf(x / sqrt(2)))``, or with ``"tanh"`` its approximation."""

    _function = function_of(OPERATORS["gelu"])
    _attributes: ClassVar[Mapping[str, str]] = {"approximate": "approximate"}


class QuickGELU(_Activation, torch.nn.Module):
    """The GELU of CLIP: ``x / (1 + exp(-1.702 * x))``."""

    _function = function_of(OPERATORS["swish"])
    _fixed: ClassVar[Mapping[str, float]] = {"alpha": 1.702}


class ClippedGELU(_Activation, torch.nn.Module):
    """``ClippedGELU(min, max)``: ``min(max(GELU(x), min), max)``, rounded once."""

    _function = function_of(OPERATORS["clipped_gelu"])
    _attributes: ClassVar[Mapping[str, str]] = {"min": "min", "max": "max"}

    def __init__(self, min: float, max: float) -> None:  # noqa: A002
        super().__init__()
        self.min, self.max = min, max

    def extra_repr(self) -> str:
        return f"min={self.min}, max={self.max}"


class SiLU(_InPlace, torch.nn.SiLU):
    """``torch.nn.SiLU(inplace=False)``: ``x / (1 + exp(-x))``."""

    _function = function_of(OPERATORS["swish"])


class Mish(_InPlace, torch.nn.Mish):
    """``torch.nn.Mish(inplace=False)``: ``x * tanh(log(1 + exp(x)))``."""

    _function = function_of(OPERATORS["mish"])


class Softplus(_Activation, torch.nn.Softplus):
    """``torch.nn.Softplus(beta=1.0, threshold=20.0)``: ``log(1 + exp(beta * x)) / beta``, x where beta * x > threshold."""

    _function = function_of(formulas.softplus)
    _attributes: ClassVar[Mapping[str, str]] = {"beta": "beta", "threshold": "threshold"}


class Softsign(_Activation, torch.nn.Softsign):
    """``torch.nn.Softsign()``: ``x / (1 + abs(x))``."""

    _function = function_of(OPERATORS["softsign"])


class Tanh(_Activation, torch.nn.Tanh):
    """``torch.nn.Tanh()``: the hyperbolic tangent."""

    _function = function_of(OPERATORS["tanh"])


class Sigmoid(_Activation, torch.nn.Sigmoid):
    """``torch.nn.Sigmoid()``: ``1 / (1 + exp(-x))``."""

    _function = function_of(OPERATORS["sigmoid"])


class LogSigmoid(_Activation, torch.nn.LogSigmoid):
    """``torch.nn.LogSigmoid()``: ``-log(1 + exp(-x))``."""

    _function = function_of(OPERATORS["log_sigmoid"])


class Hardtanh(_InPlace, torch.nn.Hardtanh):
    """``torch.nn.Hardtanh(min_val=-1.0, max_val=1.0, inplace=False)``: ``min(max(x, min_val), max_val)``."""

    _function = function_of(formulas.hardtanh)
    _attributes: ClassVar[Mapping[str, str]] = {"min": "min_val", "max": "max_val"}


class ReLU6(_InPlace, torch.nn.ReLU6):
    """``torch.nn.ReLU6(inplace=False)``: ``min(max(x, 0), 6)``."""

    _function = function_of(formulas.hardtanh)
    _attributes: ClassVar[Mapping[str, str]] = {"min": "min_val", "max": "max_val"}


class Hardsigmoid(_InPlace, torch.nn.Hardsigmoid):
    """``torch.nn.Hardsigmoid(inplace=False)``: ``min(max(x + 3, 0), 6) / 6``."""

    _function = function_of(formulas.hardsigmoid)


class Hardswish(_InPlace, torch.nn.Hardswish):
    """``torch.nn.Hardswish(inplace=False)``: ``x * min(max(x + 3, 0), 6) / 6``."""

    _function = function_of(OPERATORS["hard_swish"])


class HardMish(_InPlace, torch.nn.Module):
    """``HardMish(inplace=False)``: ``x / 2 * min(max(x + 2, 0), 2)``."""

    _function = function_of(OPERATORS["hard_mish"])

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class Hardshrink(_Activation, torch.nn.Hardshrink):
    """``torch.nn.Hardshrink(lambd=0.5)``: 0 where -lambd <= x <= lambd, x elsewhere."""

    _function = function_of(formulas.hardshrink)
    _attributes: ClassVar[Mapping[str, str]] = {"lambd": "lambd"}


class Softshrink(_Activation, torch.nn.Softshrink):
    """``torch.nn.Softshrink(lambd=0.5)``: x - lambd where x > lambd, x + lambd where x < -lambd, 0 elsewhere."""

    _function = function_of(formulas.softshrink)
    _attributes: ClassVar[Mapping[str, str]] = {"lambd": "lambd"}


class Tanhshrink(_Activation, torch.nn.Tanhshrink):
    """``torch.nn.Tanhshrink()``: ``x - tanh(x)``."""

    _function = function_of(OPERATORS["tanhshrink"])


class Threshold(_InPlace, torch.nn.Threshold):
    """``torch.nn.Threshold(threshold, value, inplace=False)``: x where x > threshold, ``value`` elsewhere."""

    _function = function_of(formulas.threshold)
    _attributes: ClassVar[Mapping[str, str]] = {"threshold": "threshold", "value": "value"}


class GLU(torch.nn.GLU):
    """``torch.nn.GLU(dim=-1)``: ``a / (1 + exp(-b))`` of the two halves of the input along ``dim``."""

    _function = function_of(OPERATORS["glu"])

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        length = input.shape[self.dim]
        if length % 2:
            return super().forward(input)  # torch's own refusal
        a, b = input.split(length // 2, self.dim)
        return self._function(a, b)


class Softmax(torch.nn.Softmax):
    """``torch.nn.Softmax(dim=None)``: ``exp(x - max(x)) / sum(exp(x - max(x)))`` along ``dim``."""

    _function = function_of(OPERATORS["softmax"])

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        return _rows(self._function, input, _dim("softmax", self.dim, input))


class Softmax2d(torch.nn.Softmax2d):
    """``torch.nn.Softmax2d()``: softmax over the channels of (N, C, H, W) or (C, H, W)."""

    _function = function_of(OPERATORS["softmax"])

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        if input.ndim not in (3, 4):
            return super().forward(input)  # torch's own refusal
        return self._function(input, dim=-3)


class LogSoftmax(torch.nn.LogSoftmax):
    """``torch.nn.LogSoftmax(dim=None)``: the logarithm of softmax along ``dim``."""

    _function = function_of(OPERATORS["log_softmax"])

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        return _rows(self._function, input, _dim("log_softmax", self.dim, input))


class Softmin(torch.nn.Softmin):
    """``torch.nn.Softmin(dim=None)``: softmax of ``-x`` along ``dim``."""

    _function = function_of(OPERATORS["softmin"])

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        return _rows(self._function, input, _dim("softmin", self.dim, input))


class LayerNorm(torch.nn.LayerNorm):
    """``torch.nn.LayerNorm(normalized_shape, eps=1e-05, elementwise_affine=True, bias=True)``, rounded once."""

    _function = function_of(OPERATORS["layer_normalization"])

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


class RMSNorm(torch.nn.RMSNorm):
    """``torch.nn.RMSNorm(normalized_shape, eps=None, elementwise_affine=True)``, rounded once."""

    _function = function_of(OPERATORS["rms_normalization"])

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


class CrossEntropyLoss(torch.nn.CrossEntropyLoss):
    """``torch.nn.CrossEntropyLoss()`` of labels: ``-log_softmax(x)[label]``, each rounded once, with torch's mean or sum.

    For probabilities, and with ``label_smoothing``, it is torch's.
    """

    _function = function_of(OPERATORS["log_softmax"])

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


class _ElementLoss:
    """A loss of single elements: each is rounded once, with torch's mean or sum. What it does not compute is torch's."""

    _function: ClassVar[Any]
    _own: ClassVar[tuple[str, ...]] = ()
    """The module's attributes, which the function takes under the same names."""
    computed: ClassVar[Any]
    """The function, which takes its arguments as that of ``torch.nn.functional`` does."""
    reduction: str

    @classmethod
    def _reduced(
        cls,
        input: Tensor,  # noqa: A002
        target: Tensor,
        size_average: bool | None,
        reduce: bool | None,
        reduction: str,
        **parameters: Any,
    ) -> Any:
        is_other = size_average is not None or reduce is not None or reduction not in (*_REDUCED, "batchmean")
        weight = parameters.pop("weight", None)
        if is_other or not isinstance(target, Tensor) or target.shape != input.shape or not target.is_floating_point():
            return NotImplemented
        found = cls._function(input, target, **parameters)
        found = found if weight is None else found * weight
        if reduction == "batchmean":
            return found.sum() / input.size(0) if input.ndim else found
        return _REDUCED[reduction](found)

    def _given(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._own}

    def forward(self, input: Tensor, target: Tensor) -> Tensor:  # noqa: A002
        found: Any = self.computed(input, target, reduction=self.reduction, **self._given())
        return super().forward(input, target) if found is NotImplemented else found  # type: ignore[misc]


_REDUCED: Mapping[str, Any] = {"none": lambda x: x, "mean": torch.mean, "sum": torch.sum}


class MSELoss(_ElementLoss, torch.nn.MSELoss):
    """``torch.nn.MSELoss(reduction="mean")``: ``(input - target)**2``, each rounded once."""

    _function = function_of(OPERATORS["difference_square"])

    @classmethod
    def computed(
        cls,
        input: Tensor,  # noqa: A002
        target: Tensor,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
    ) -> Any:
        """As ``torch.nn.functional.mse_loss`` takes its arguments."""
        if weight is not None:  # its mean is that of the weights
            return NotImplemented
        return cls._reduced(input, target, size_average, reduce, reduction)


class HuberLoss(_ElementLoss, torch.nn.HuberLoss):
    """``torch.nn.HuberLoss(reduction="mean", delta=1.0)``: a square of small differences and a line beyond, each rounded once."""

    _function = function_of(OPERATORS["huber_loss"])
    _own: ClassVar[tuple[str, ...]] = ("delta",)

    @classmethod
    def computed(
        cls,
        input: Tensor,  # noqa: A002
        target: Tensor,
        reduction: str = "mean",
        delta: float = 1.0,
        weight: Tensor | None = None,
    ) -> Any:
        """As ``torch.nn.functional.huber_loss`` takes its arguments."""
        if weight is not None:
            return NotImplemented
        return cls._reduced(input, target, None, None, reduction, delta=delta)


class SmoothL1Loss(_ElementLoss, torch.nn.SmoothL1Loss):
    """``torch.nn.SmoothL1Loss(reduction="mean", beta=1.0)``: Huber's loss divided by beta, each rounded once.

    With beta=0 it is torch's.
    """

    _function = function_of(formulas.smooth_l1)
    _own: ClassVar[tuple[str, ...]] = ("beta",)

    @classmethod
    def computed(
        cls,
        input: Tensor,  # noqa: A002
        target: Tensor,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> Any:
        """As ``torch.nn.functional.smooth_l1_loss`` takes its arguments."""
        if not beta > 0:
            return NotImplemented
        return cls._reduced(input, target, size_average, reduce, reduction, beta=beta)


class KLDivLoss(_ElementLoss, torch.nn.KLDivLoss):
    """``torch.nn.KLDivLoss(reduction="mean", log_target=False)``: ``target * (log(target) - input)``, each rounded once.

    With log_target=True it is torch's.
    """

    _function = function_of(OPERATORS["kl_div"])
    _own: ClassVar[tuple[str, ...]] = ("log_target",)

    @classmethod
    def computed(
        cls,
        input: Tensor,  # noqa: A002
        target: Tensor,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> Any:
        """As ``torch.nn.functional.kl_div`` takes its arguments."""
        if log_target or reduction == "mean":  # torch warns of this mean
            return NotImplemented
        return cls._reduced(input, target, size_average, reduce, reduction)


class BCEWithLogitsLoss(_ElementLoss, torch.nn.BCEWithLogitsLoss):
    """``torch.nn.BCEWithLogitsLoss(weight=None, reduction="mean")``: cross entropy of logits and probabilities, each rounded once.

    With pos_weight it is torch's.
    """

    _function = function_of(OPERATORS["binary_cross_entropy_with_logits"])
    _own: ClassVar[tuple[str, ...]] = ("weight", "pos_weight")

    @classmethod
    def computed(
        cls,
        input: Tensor,  # noqa: A002
        target: Tensor,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> Any:
        """As ``torch.nn.functional.binary_cross_entropy_with_logits`` takes its arguments."""
        if pos_weight is not None:
            return NotImplemented
        return cls._reduced(input, target, size_average, reduce, reduction, weight=weight)


def _rows(function: Any, input: Tensor, dim: Any) -> Any:  # noqa: A002
    """The function of rows along an axis; along the last one, by the shortest call."""
    return function(input) if dim == -1 or dim == input.ndim - 1 else function(input, dim=dim)


def _dim(name: str, dim: int | None, input: Tensor) -> int:  # noqa: A002
    """The axis; without one torch's choice, with its warning."""
    return torch.nn.functional._get_softmax_dim(name, input.ndim, 6) if dim is None else dim


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
