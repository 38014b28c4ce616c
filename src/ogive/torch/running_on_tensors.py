"""Running functions on tensors, as operators of torch's registry: with gradients, ``torch.func.vmap`` and ``torch.compile``."""

from __future__ import annotations

from typing import Any, NoReturn

import torch
from torch.compiler import is_compiling

from ogive.errors import ArgumentError, DTypeError, UnsupportedError, described, message
from ogive.operators import running_functions
from ogive.torch.exchange import array_of, tensor_of

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_FUNCTION = running_functions.logcumsumexp


@torch.library.custom_op("ogive::logcumsumexp", mutates_args=())  # type: ignore[untyped-decorator, unused-ignore]
def _forward(x: torch.Tensor, dim: int) -> torch.Tensor:
    return tensor_of(_FUNCTION.computed(array_of(_FUNCTION, "x", x), dim))


@torch.library.custom_op("ogive::logcumsumexp_gradient", mutates_args=())  # type: ignore[untyped-decorator, unused-ignore]
def _backward(gradient: torch.Tensor, x: torch.Tensor, dim: int) -> torch.Tensor:
    given = array_of(_FUNCTION, "the gradient", gradient.to(x.dtype))
    return tensor_of(_FUNCTION.gradient(given, array_of(_FUNCTION, "x", x), dim))


@_forward.register_fake  # type: ignore[untyped-decorator, unused-ignore]
def _(x: torch.Tensor, dim: int) -> torch.Tensor:
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


@_backward.register_fake  # type: ignore[untyped-decorator, unused-ignore]
def _(gradient: torch.Tensor, x: torch.Tensor, dim: int) -> torch.Tensor:
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


class _RunningValue(torch.autograd.Function):
    """The operator with its gradient; torch.func makes the rules of vmap of those of the two operators."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: torch.Tensor, dim: int) -> torch.Tensor:
        return _forward(x, dim)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        x, ctx.dim = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        (x,) = ctx.saved_tensors
        return _RunningSlope.apply(gradient, x, ctx.dim), None


class _RunningSlope(torch.autograd.Function):
    """The gradient, which has none: torch.func records it nevertheless."""

    generate_vmap_rule = True

    @staticmethod
    def forward(gradient: torch.Tensor, x: torch.Tensor, dim: int) -> torch.Tensor:
        return _backward(gradient, x, dim)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> NoReturn:
        what = "its gradient has no gradient"
        raise UnsupportedError(message("ogive.torch.logcumsumexp", what, "first derivatives", "Use torch.logcumsumexp"))


def _gradient(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
    (x,) = ctx.saved_tensors
    return _backward(gradient, x, ctx.dim), None


# For what torch.compile traces; torch.func knows no such gradients.
_forward.register_autograd(_gradient, setup_context=_RunningValue.setup_context)


@_forward.register_vmap  # type: ignore[untyped-decorator, unused-ignore]
def _(info: Any, in_dims: tuple[int | None, ...], x: torch.Tensor, dim: int) -> tuple[torch.Tensor, int]:
    assert in_dims[0] is not None
    return _forward(x.movedim(in_dims[0], 0), dim + 1), 0


@_backward.register_vmap  # type: ignore[untyped-decorator, unused-ignore]
def _(
    info: Any, in_dims: tuple[int | None, ...], gradient: torch.Tensor, x: torch.Tensor, dim: int
) -> tuple[torch.Tensor, int]:
    batched = [
        one.expand(info.batch_size, *one.shape) if place is None else one.movedim(place, 0)
        for one, place in zip((gradient, x), in_dims[:2], strict=True)
    ]
    return _backward(*batched, dim + 1), 0


def logcumsumexp(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """``torch.logcumsumexp``: the running logarithm of the sum of exponentials along a dimension, each rounded once.

    It has a gradient, rounded once too, which has none itself. Tensors are dense ones on the CPU, of float16, bfloat16, float32 or float64;
    the result has the type and the shape. Special cases are those of `ogive.logcumsumexp`.

    Raises ArgumentError for what is no tensor, DTypeError for other types, ParameterError for a dimension that x does not have.

    >>> import torch, ogive.torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> ogive.torch.logcumsumexp(x, dim=0)[1].backward()
    >>> x.grad
    tensor([0.2689, 0.7311])

    Source: PyTorch logcumsumexp.
    """
    if not isinstance(x, torch.Tensor):
        raise ArgumentError(message("ogive.torch.logcumsumexp", f"x is {described(x)}", "a tensor"))
    if x.dtype not in FLOATS:
        allowed = ", ".join(str(dtype).removeprefix("torch.") for dtype in FLOATS)
        raise DTypeError(message("ogive.torch.logcumsumexp", f"x is of {x.dtype}", allowed, "Convert it: x.float()"))
    place = _FUNCTION.checked_axis(dim, x.ndim)
    function = _forward if is_compiling() else _RunningValue.apply
    found: torch.Tensor = function(x, place) if x.ndim else function(x.reshape(1), 0).reshape(())
    return found
