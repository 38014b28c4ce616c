"""The activations of ``torch.nn``, computed by Ogive: the same names, arguments, representations and state.

Each is a subclass of torch's own class, so that a model changes by its import:

>>> import torch, ogive.torch
>>> from ogive.torch import nn
>>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), nn.GELU(approximate="tanh"), torch.nn.Linear(3, 1))
>>> model(torch.zeros(1, 2)).shape
torch.Size([1, 1])

At kinks the derivatives are torch's. RReLU, which draws random numbers, and MultiheadAttention are not here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ogive.catalog import OPERATORS
from ogive.torch import formulas
from ogive.torch.functions import wrap

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
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

_celu, _elu, _gelu, _leaky_relu, _log_softmax, _mish, _prelu, _relu, _selu, _sigmoid, _softmax, _softsign, _tanh = (
    wrap(OPERATORS[name])
    for name in (
        "celu", "elu", "gelu", "leaky_relu", "log_softmax", "mish", "prelu", "relu", "selu", "sigmoid", "softmax",
        "softsign", "tanh",
    )
)  # fmt: skip
_hard_swish, _swish = wrap(OPERATORS["hard_swish"]), wrap(OPERATORS["swish"])
_hard_tanh, _hard_shrink, _soft_shrink = map(wrap, (formulas.hard_tanh, formulas.hard_shrink, formulas.soft_shrink))
_hard_sigmoid, _log_sigmoid = wrap(formulas.hard_sigmoid_by_six), wrap(OPERATORS["log_sigmoid"])
_softplus, _tanh_shrink, _threshold = map(
    wrap, (formulas.softplus_below, formulas.tanh_shrink, formulas.replaced_below)
)
_glu, _softmin = wrap(OPERATORS["glu"]), wrap(OPERATORS["softmin"])

#: Those of torch, which has more digits than the standards' float32 numbers.
SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def _activated(function: Callable[..., Tensor], input: Tensor, inplace: bool, **parameters: Any) -> Tensor:  # noqa: A002
    """The result, in the input's own memory if that is asked for."""
    if not inplace:
        return function(input, **parameters)
    if torch.is_grad_enabled() and input.requires_grad:  # backward needs what the input was
        return input.copy_(function(input.clone(), **parameters))
    return function(input, out=input, **parameters)


class ReLU(torch.nn.ReLU):
    """``torch.nn.ReLU(inplace=False)``: ``max(0, x)``."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        return _activated(_relu, input, self.inplace)


class LeakyReLU(torch.nn.LeakyReLU):
    """``torch.nn.LeakyReLU(negative_slope=0.01, inplace=False)``: x where x >= 0, ``negative_slope * x`` elsewhere."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        return _activated(_leaky_relu, input, self.inplace, alpha=self.negative_slope)


class PReLU(torch.nn.PReLU):
    """``torch.nn.PReLU(num_parameters=1, init=0.25)``: x where x >= 0, ``weight * x`` elsewhere, with learned weights.

    Several weights belong to the channels, the second axis of the input.
    """

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        weight = self.weight
        if weight.numel() > 1 and input.ndim > 1:
            weight = weight.reshape(-1, *(1,) * (input.ndim - 2))
        elif input.ndim == 0:
            weight = weight.reshape(())
        return _prelu(input, weight)


class ELU(torch.nn.ELU):
    """``torch.nn.ELU(alpha=1.0, inplace=False)``: x where x >= 0, ``alpha * (exp(x) - 1)`` elsewhere."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        return _activated(_elu, input, self.inplace, alpha=self.alpha)


class CELU(torch.nn.CELU):
    """``torch.nn.CELU(alpha=1.0, inplace=False)``: x where x >= 0, ``alpha * (exp(x / alpha) - 1)`` elsewhere."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        return _activated(_celu, input, self.inplace, alpha=self.alpha)


class SELU(torch.nn.SELU):
    """``torch.nn.SELU(inplace=False)``: ELU, scaled so that the mean and the variance of activations persist."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        return _activated(_selu, input, self.inplace, alpha=SELU_ALPHA, gamma=SELU_SCALE)


class GELU(torch.nn.GELU):
    """``torch.nn.GELU(approximate="none")``: ``x / 2 * (1 + erf(x / sqrt(2)))``, or with ``"tanh"`` its approximation."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        return _gelu(input, approximate=self.approximate)


class SiLU(torch.nn.SiLU):
    """``torch.nn.SiLU(inplace=False)``: ``x / (1 + exp(-x))``."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        return _activated(_swish, input, self.inplace)


class Mish(torch.nn.Mish):
    """``torch.nn.Mish(inplace=False)``: ``x * tanh(log(1 + exp(x)))``."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        return _activated(_mish, input, self.inplace)


class Softplus(torch.nn.Softplus):
    """``torch.nn.Softplus(beta=1.0, threshold=20.0)``: ``log(1 + exp(beta * x)) / beta``, x where beta * x > threshold."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        return _softplus(input, beta=self.beta, threshold=self.threshold)


class Softsign(torch.nn.Softsign):
    """``torch.nn.Softsign()``: ``x / (1 + abs(x))``."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        return _softsign(input)


class Tanh(torch.nn.Tanh):
    """``torch.nn.Tanh()``: the hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        return _tanh(input)


class Sigmoid(torch.nn.Sigmoid):
    """``torch.nn.Sigmoid()``: ``1 / (1 + exp(-x))``."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        return _sigmoid(input)


class LogSigmoid(torch.nn.LogSigmoid):
    """``torch.nn.LogSigmoid()``: ``-log(1 + exp(-x))``."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        return _log_sigmoid(input)


class Hardtanh(torch.nn.Hardtanh):
    """``torch.nn.Hardtanh(min_val=-1.0, max_val=1.0, inplace=False)``: ``min(max(x, min_val), max_val)``."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        return _activated(_hard_tanh, input, self.inplace, min=self.min_val, max=self.max_val)


class ReLU6(torch.nn.ReLU6):
    """``torch.nn.ReLU6(inplace=False)``: ``min(max(x, 0), 6)``."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        return _activated(_hard_tanh, input, self.inplace, min=self.min_val, max=self.max_val)


class Hardsigmoid(torch.nn.Hardsigmoid):
    """``torch.nn.Hardsigmoid(inplace=False)``: ``min(max(x + 3, 0), 6) / 6``."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        return _activated(_hard_sigmoid, input, self.inplace)


class Hardswish(torch.nn.Hardswish):
    """``torch.nn.Hardswish(inplace=False)``: ``x * min(max(x + 3, 0), 6) / 6``."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        return _activated(_hard_swish, input, self.inplace)


class Hardshrink(torch.nn.Hardshrink):
    """``torch.nn.Hardshrink(lambd=0.5)``: 0 where -lambd <= x <= lambd, x elsewhere."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        return _hard_shrink(input, lambd=self.lambd)


class Softshrink(torch.nn.Softshrink):
    """``torch.nn.Softshrink(lambd=0.5)``: x - lambd where x > lambd, x + lambd where x < -lambd, 0 elsewhere."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        return _soft_shrink(input, lambd=self.lambd)


class Tanhshrink(torch.nn.Tanhshrink):
    """``torch.nn.Tanhshrink()``: ``x - tanh(x)``."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        return _tanh_shrink(input)


class Threshold(torch.nn.Threshold):
    """``torch.nn.Threshold(threshold, value, inplace=False)``: x where x > threshold, ``value`` elsewhere."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        return _activated(_threshold, input, self.inplace, threshold=self.threshold, value=self.value)


class GLU(torch.nn.GLU):
    """``torch.nn.GLU(dim=-1)``: ``a / (1 + exp(-b))`` of the two halves of the input along ``dim``."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        length = input.shape[self.dim]
        if length % 2:
            return super().forward(input)  # torch's own refusal
        a, b = input.split(length // 2, self.dim)
        return _glu(a, b)


class Softmax(torch.nn.Softmax):
    """``torch.nn.Softmax(dim=None)``: ``exp(x - max(x)) / sum(exp(x - max(x)))`` along ``dim``."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        return _softmax(input, dim=_dim("softmax", self.dim, input))


class Softmax2d(torch.nn.Softmax2d):
    """``torch.nn.Softmax2d()``: softmax over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        if input.ndim not in (3, 4):
            return super().forward(input)  # torch's own refusal
        return _softmax(input, dim=-3)


class LogSoftmax(torch.nn.LogSoftmax):
    """``torch.nn.LogSoftmax(dim=None)``: the logarithm of softmax along ``dim``."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        return _log_softmax(input, dim=_dim("log_softmax", self.dim, input))


class Softmin(torch.nn.Softmin):
    """``torch.nn.Softmin(dim=None)``: softmax of ``-x`` along ``dim``."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        return _softmin(input, dim=_dim("softmin", self.dim, input))


def _dim(name: str, dim: int | None, input: Tensor) -> int:  # noqa: A002
    """The axis; without one torch's choice, with its warning."""
    return torch.nn.functional._get_softmax_dim(name, input.ndim, 6) if dim is None else dim
