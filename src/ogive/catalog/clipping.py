"""Clipping between numbers, and its gradients. `clip`, between tensors, is an activation."""

from __future__ import annotations

from typing import Any

from ogive import formula as f
from ogive.dtypes import NUMBERS
from ogive.operator import operator
from ogive.signature import ANY

__all__ = ["clamp", "clamp_grad", "clip_grad", "threshold"]


@operator(types=NUMBERS, constraints={"min": ANY, "max": ANY}, directml="ELEMENT_WISE_CLIP")
def clamp(x: Any, *, min: Any, max: Any) -> Any:
    """Clip to an interval between two numbers: ``min(max, max(min, x))``.

    The bounds are FLOAT parameters; `clip` takes tensors. Where they are in the wrong order the result is
    ``max``. Bounds of integers may be fractions: what is clipped to one is rounded towards zero.

    Special cases (min = -1, max = 1): nan -> nan; 0 -> 0; -0 -> -0; inf -> 1; -inf -> -1.

    >>> clamp([-5.0, 0.5, 5.0], min=-1, max=float("inf"))
    array([-1. ,  0.5,  5. ])

    Source: DirectML DML_ELEMENT_WISE_CLIP_OPERATOR_DESC (1_0).
    """
    return f.minimum(f.maximum(x, min), max)


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
