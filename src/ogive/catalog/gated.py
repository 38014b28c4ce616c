"""Gated linear units that ONNX has not: of two tensors, or of the halves of one."""

from __future__ import annotations

from typing import Any, Literal

from ogive.catalog import activations
from ogive.catalog.glu_halves import of_halves
from ogive.formula import isnan, maximum, minimum, where
from ogive.operators.operator import operator
from ogive.operators.signature import NOT_NEGATIVE


@of_halves(constraints={"limit": NOT_NEGATIVE})
def clamped_swiglu(a: Any, b: Any, *, alpha: Any = 1.702, limit: Any = 7.0, bias: Any = 1.0) -> Any:
    """Gated linear unit with limits: ``swish(min(a, limit), alpha) * (max(-limit, min(b, limit)) + bias)``, rounded once.

    The gate is the first tensor, or the first half. It has no lower limit; where it is -inf the result is a zero. The
    weights of gpt-oss have gates and linear parts in turn: give them as tensors, ``x[..., ::2], x[..., 1::2]``.

    Special cases (b = 2): nan -> nan; 0 -> 0; -0 -> -0; -inf -> -0; -largest -> -0; inf -> formula; largest -> formula.

    >>> clamped_swiglu([1.0, 100.0], [2.0, -100.0])
    array([  2.5373873 , -41.99971877])

    Source: OpenAI gpt-oss (2025), arXiv 2508.10925; ClampedSwiGLU of NVIDIA's TransformerEngine.
    """
    gate = minimum(a, limit)
    return activations.gated(gate, alpha * gate) * (maximum(minimum(b, limit), -limit) + bias)


@operator
def limited_gate(a: Any, *, alpha: Any, limit: Any) -> Any:
    """The gate of `clamped_swiglu`: ``swish(min(a, limit), alpha)``."""
    gate = minimum(a, limit)
    return activations.gated(gate, alpha * gate)


@operator
def times_limited(gate: Any, b: Any, *, limit: Any, bias: Any) -> Any:
    """The product of `clamped_swiglu`: ``gate * (max(-limit, min(b, limit)) + bias)``."""
    return gate * (maximum(minimum(b, limit), -limit) + bias)


@of_halves(onnx="GeGLU")
def geglu(a: Any, b: Any, *, approximate: Literal["none", "tanh"] = "none") -> Any:
    """Gated linear unit with a GELU gate: ``gelu(a) * b``, rounded once.

    The gate is the first tensor, or the first half, as in `swiglu` and in the paper. Some models have it in the second
    one: then exchange the two.

    Special cases (b = 2): nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> -0; largest -> inf; -largest -> -0;
    smallest -> smallest; -smallest -> -smallest.

    >>> geglu([1.0, -1.0, 2.0, 3.0])
    array([ 1.68268949, -0.47596576])

    Source: ONNX GeGLU-29; N. Shazeer, "GLU Variants Improve Transformer" (2020), arXiv 2002.05202.
    """
    return activations.gelu.function(a, approximate=approximate) * b


@of_halves()
def glu(a: Any, b: Any) -> Any:
    """Gated linear unit: ``a / (1 + exp(-b))``.

    The gate is the second tensor, or the second half, as in PyTorch and JAX. Where it is closed the result is a zero
    with the sign of a, also at infinity.

    Special cases (b = 0): nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> -inf; 3 -> 1.5. NaN stays NaN where the gate
    is closed, too.

    >>> glu([1.0, 2.0], [0.0, -1000.0])
    array([0.5, 0. ])
    >>> glu([[1.0, 0.0], [4.0, 0.0]], axis=1)
    array([[0.5],
           [2. ]])

    Source: PyTorch glu, JAX and Keras glu; Y. Dauphin and others (2016), arXiv 1612.08083.
    """
    return where(isnan(a), a, activations.gated(a, b))


@of_halves()
def reglu(a: Any, b: Any) -> Any:
    """Gated linear unit with a rectifier as the gate: ``max(0, a) * b``.

    The gate is the first tensor, or the first half, as in `swiglu` and in the paper.

    Special cases (b = 2): nan -> nan; 0 -> 0; -0 -> 0; inf -> inf; -inf -> 0; largest -> inf; -largest -> 0; smallest
    -> formula; -smallest -> 0.

    >>> reglu([1.0, -1.0, 2.0, 3.0])
    array([2., 0.])

    Source: N. Shazeer, "GLU Variants Improve Transformer" (2020), arXiv 2002.05202.
    """
    return where(a <= 0, 0, a) * b
