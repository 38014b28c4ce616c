"""Clipping to an interval, between arrays (`clip`) and between numbers (`clamp`), and its gradients.

The standards have both: ONNX Clip and DirectML's CLIP1 take tensors, DirectML's CLIP takes FLOAT parameters. Both
functions take every usual call: bounds by position or by name, and None for a bound that is left out.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NoReturn

from ogive import formula as f
from ogive.common.dtypes import NUMBERS
from ogive.errors import ArgumentError, ParameterError, by_position, message
from ogive.operators.operator import Operator, operator
from ogive.operators.signature import ANY, Constraint, Signature, in_order

BOUNDS = ("min", "max")


class Clipping(Operator):
    """An operator that is called as ``f(x, min=None, max=None)``, and whose formula takes the bounds in one way only.

    A call in the formula's own way is as fast as any operator's. Every other call is rewritten first.
    """

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        own = self.__signature__.parameters
        either = inspect.Parameter.POSITIONAL_OR_KEYWORD
        shown = [own["x"], *(inspect.Parameter(name, either, default=None) for name in BOUNDS)]
        shown += [entry for name, entry in own.items() if name not in ("x", *BOUNDS)]
        self.__signature__ = self.__signature__.replace(parameters=shown)

    def _call_otherwise(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        args, keywords = self.rewritten(args, keywords)
        return self(*args, **keywords)

    def _trace(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        return super()._trace(*self.rewritten(args, keywords))

    def rewritten(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The call in the formula's way."""
        raise NotImplementedError

    def _taken_apart(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, list[Any], dict[str, Any]]:
        """x, the two bounds (None for one that is not given) and the other keywords."""
        if not 1 <= len(args) <= 3 or args[0] is None:
            self._refuse_arguments(args, keywords)
        for name in BOUNDS[: len(args) - 1]:
            if name in keywords:
                raise ArgumentError(message(self.name, f"{name} is given twice", "once, by position or by name"))
        rest = dict(keywords)
        return args[0], [args[i] if i < len(args) else rest.pop(name, None) for i, name in enumerate(BOUNDS, 1)], rest

    def _refuse_arguments(self, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> NoReturn:
        given = "x is None" if args and args[0] is None else by_position(len(args))
        usual = f"{self.name}(x, 0, 6), {self.name}(x, min=0, max=6), {self.name}(x, None, 6)"
        raise ArgumentError(message(self.name, given, f"x, min and max, by position or by name: {usual}"))


class BetweenArrays(Clipping):
    """The bounds are tensors of the formula."""

    keywords: tuple[str, ...] = BOUNDS

    def rewritten(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        x, (low, high), rest = self._taken_apart(args, keywords)
        # x as its own bound changes nothing, and its type and shape are right whatever kind of array it is. That bound
        # has to be applied first. The bound that wins makes no difference where there is only one.
        if low is None or high is None:
            self.checked_parameters({name: value for name, value in rest.items() if name not in self.numpy_keywords})
            rest["wins"] = "max" if low is None else "min"
        return (x, x if low is None else low, x if high is None else high), rest

    def _refuse_keyword(self, name: str) -> NoReturn:
        if name in BOUNDS:
            what = f"{name} is an array here: it is given once, in the call, and cannot be bound"
            raise ArgumentError(message(self.name, what, "", "ogive.clamp.bind(min=0, max=6) binds numbers"))
        super()._refuse_keyword(name)


class BetweenNumbers(Clipping):
    """The bounds are parameters of the formula."""

    def rewritten(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        x, bounds, rest = self._taken_apart(args, keywords)
        return (x,), rest | {name: value for name, value in zip(BOUNDS, bounds, strict=True) if value is not None}

    def checked_parameters(self, given: Mapping[str, Any]) -> dict[str, Any]:
        for name, value in given.items():
            if name in BOUNDS and math.prod(getattr(value, "shape", ())) != 1:
                what = f"{name} is an array of shape {tuple(value.shape)}"
                raise ParameterError(message(self.name, what, "a number", "For arrays use ogive.clip(x, min, max)"))
        return super().checked_parameters(
            {name: value for name, value in given.items() if value is not None or name not in BOUNDS}
        )


def _between(kind: type[Clipping], constraints: Mapping[str, Constraint], **standards: str) -> Callable[..., Clipping]:
    def signatures(tensors: tuple[str, ...]) -> Iterable[Signature]:
        return [Signature((t,) * len(tensors), (t,)) for t in in_order(NUMBERS)]

    return lambda function: kind(function, signatures, constraints, **standards)


@_between(BetweenNumbers, {"min": ANY, "max": ANY}, directml="ELEMENT_WISE_CLIP")
def clamp(x: Any, *, min: Any = -math.inf, max: Any = math.inf) -> Any:
    """Clip to an interval between two numbers: ``min(max, max(min, x))``.

    The bounds are FLOAT parameters, so they can be bound; `clip` takes arrays as well. They are given by position or
    by name, and None leaves one out. Where they are in the wrong order the result is ``max``. Bounds of integers may
    be fractions: what is clipped to one is rounded towards zero.

    Special cases (min = -1, max = 1): nan -> nan; 0 -> 0; -0 -> -0; inf -> 1; -inf -> -1.

    >>> clamp([-5.0, 0.5, 5.0], -1, 1)
    array([-1. ,  0.5,  1. ])
    >>> clamp([-5.0, 0.5, 5.0], min=-1)
    array([-1. ,  0.5,  5. ])

    Source: DirectML DML_ELEMENT_WISE_CLIP_OPERATOR_DESC (1_0).
    """
    return f.minimum(f.maximum(x, min), max)


@_between(BetweenArrays, {}, onnx="Clip", directml="ELEMENT_WISE_CLIP1")
def clip(x: Any, min: Any, max: Any, *, wins: Literal["max", "min"] = "max") -> Any:
    """Clip to an interval: ``min(max(x, min), max)``.

    The bounds are arrays or numbers that broadcast with x, of its type; `clamp` takes numbers only, which may be
    fractions where x holds integers, and which can be bound. They are given by position or by name, and None leaves
    one out. Where they are in the wrong order the result is ``max``, as ONNX has it; with ``wins="min"`` it is
    ``min``, as DirectML has it. NaN in x stays NaN; NaN as a bound is no bound.

    Special cases (min = -1, max = 1): nan -> nan; 0 -> 0; -0 -> -0; inf -> 1; -inf -> -1; 1 -> 1; -1 -> -1;
    largest -> 1; -largest -> -1; smallest -> smallest; -smallest -> -smallest; 1- -> 1-; 1+ -> 1; -1- -> -1;
    -1+ -> -1+.

    >>> import numpy as np
    >>> clip(np.int32([-7, 0, 7]), np.int32(-5), np.int32(5))
    array([-5,  0,  5], dtype=int32)
    >>> clip([-7.0, 0.0, 7.0], min=0)
    array([0., 0., 7.])

    Source: ONNX Clip-1 to Clip-13; DirectML DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC (5_0).
    """
    return f.minimum(f.maximum(x, min), max) if wins == "max" else f.maximum(f.minimum(x, max), min)


@operator(types=NUMBERS, constraints={"min": ANY, "max": ANY}, directml="ELEMENT_WISE_CLIP_GRAD")
def clamp_grad(x: Any, gradient: Any, *, min: Any, max: Any) -> Any:
    """Gradient of `clamp`: ``0`` where x <= min or x >= max, ``gradient`` elsewhere, also where x is NaN.

    >>> clamp_grad([-1.0, 0.5, 1.0], [7.0, 7.0, 7.0], min=-1, max=1)
    array([0., 7., 0.])

    Source: DirectML DML_ELEMENT_WISE_CLIP_GRAD_OPERATOR_DESC (3_1).
    """
    return f.where((x <= min) | (x >= max), 0, gradient)


@operator(types=NUMBERS, directml="ELEMENT_WISE_CLIP_GRAD1")
def clip_grad(x: Any, gradient: Any, min: Any, max: Any) -> Any:
    """Gradient of clipping between tensors: ``0`` where x <= min or x >= max, ``gradient`` elsewhere.

    >>> clip_grad([-1.0, 0.5, 1.0], [7.0, 7.0, 7.0], -1.0, 1.0)
    array([0., 7., 0.])

    Source: DirectML DML_ELEMENT_WISE_CLIP_GRAD1_OPERATOR_DESC (5_0).
    """
    return f.where((x <= min) | (x >= max), 0, gradient)


@operator(types=NUMBERS, constraints={"min": ANY}, directml="ELEMENT_WISE_THRESHOLD")
def threshold(x: Any, *, min: Any) -> Any:
    """Clip from below: ``max(x, min)``. A bound of integers may be a fraction.

    Special cases (min = -1): nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> -1.

    >>> threshold([-5.0, 5.0], min=0.5)
    array([0.5, 5. ])

    Source: DirectML DML_ELEMENT_WISE_THRESHOLD_OPERATOR_DESC (1_0).
    """
    return f.maximum(x, min)
