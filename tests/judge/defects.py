"""Defects: implementations that are wrong in a way that people have been wrong, with the cause that a judge should name.

Each is what somebody might ship. Those that are marked real are reported ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from ogive.golden.specification import of_operator
from ogive.graph.error_functions import compiled_error_function
from ogive.judge import Budget

#: The defects of results within 1 ULP, for whoever wants the nearest ones.
NEAREST = Budget(max_not_nearest=0)

F = np.float32
BF = ml_dtypes.bfloat16


class Defect(NamedTuple):
    """One defect: what it is, where, and the names of causes that are right."""

    name: str
    operator: str
    dtype: str
    function: Callable[..., Any] | str
    """The function that computes it; a text is the name of a function of kernels.c."""
    causes: tuple[str, ...]
    """Causes that are right, and policies of memory and process."""
    parameters: Mapping[str, Any] = MappingProxyType({})
    real: str = ""
    budget: Budget = Budget()
    """The claim of the implementation; the default, unless it claims the nearest results."""


def erf(x: Any) -> Any:
    function = compiled_error_function("erf", np.float64)
    if function is None:
        from scipy.special import erf as function
    return function(np.asarray(x, np.float64))


def erf_short(x: Any, t: Any = F) -> Any:
    x = np.asarray(x, t)
    a = np.abs(x)
    k = t(1) / (t(1) + t(0.3275911) * a)
    p = ((((t(1.061405429) * k + t(-1.453152027)) * k) + t(1.421413741)) * k + t(-0.284496736)) * k + t(0.254829592)
    return np.copysign(t(1) - p * k * np.exp(-a * a), x)


def right(operator: str, dtype: str, **parameters: Any) -> Callable[..., Any]:
    """A right implementation, to be broken."""
    spec = of_operator(operator, dtype, parameters)
    return lambda *x: spec.right(x)


def exact(operator: str, dtype: str, **parameters: Any) -> Callable[..., Any]:
    spec = of_operator(operator, dtype, parameters)
    return lambda *x: spec.expected(x).exact


def broken(operator: str, dtype: str, change: Callable[[Any, Any], Any], **parameters: Any) -> Callable[..., Any]:
    """A right implementation, and what is done to its results."""
    good = right(operator, dtype, **parameters)
    return lambda x: np.asarray(change(x, good(x))).astype(x.dtype)


def gelu_tanh(x: Any) -> Any:
    u = F(0.7978845608) * (x + F(0.044715) * x * x * x)
    return F(0.5) * x * (F(1) + np.tanh(u))


def stepped(y: Any, by: int) -> Any:
    bits = y.view(f"i{y.dtype.itemsize}")
    return (bits + by).astype(bits.dtype).view(y.dtype)


def by_lanes(x: Any) -> Any:
    y = right("exp", "float32")(x)
    if x.ndim == 1:
        tail = x.size // 8 * 8
        y[tail:] = np.exp(x[tail:].astype(np.float64) * (1 + 2e-7)).astype(F)
    return y


def by_place(x: Any) -> Any:
    y = np.array(right("sigmoid", "float32")(x))
    flat = y.reshape(-1)
    flat[::7] = stepped(flat[::7].copy(), 1)
    return y


def cut(operator: str, dtype: str) -> Callable[..., Any]:
    """Cut off in place of rounded to nearest: the bits of float32 that do not fit are dropped."""
    spec = of_operator(operator, dtype)
    return lambda x: (spec.expected([x]).exact.astype(F).view(np.uint32) >> 16).astype(np.uint16).view(BF)


def in_type(work: Any) -> Callable[..., Any]:
    """A sigmoid with every operation in a type."""

    def function(x: Any) -> Any:
        w = x.astype(work)
        return (work(1) / (work(1) + np.exp(-w))).astype(x.dtype)

    return function


def clipped(x: Any, low: float, high: float) -> Any:
    return np.minimum(np.maximum(x, x.dtype.type(low)), x.dtype.type(high))


def double_rounded(x: Any) -> Any:
    """bfloat16 through float32."""
    return exact("gelu", "bfloat16")(x).astype(F).astype(BF)


DEFECTS = (
    # ---- GELU
    Defect("gelu: 1 + erf in float32", "gelu", "float32", lambda x: F(0.5) * x * (F(1) + erf(x * F(0.70710678)).astype(F)), ("cancellation",), real="microsoft/onnxruntime, docs/accuracy.md"),
    Defect("gelu: Abramowitz-Stegun erf", "gelu", "float32", lambda x: F(0.5) * x * (F(1) + erf_short(x * F(0.70710678))), ("short_erf",), real="webmachinelearning/webnn#950"),
    Defect("gelu: Abramowitz-Stegun erf in float64", "gelu", "float32", lambda x: (0.5 * x.astype(float) * (1 + erf_short(x.astype(float) * 0.7071067811865476, np.float64))).astype(F), ("short_erf",), real="webmachinelearning/webnn#950"),
    Defect("gelu: tanh form", "gelu", "float32", gelu_tanh, ("tanh_form", "other_form")),
    Defect("gelu: tanh form, bfloat16", "gelu", "bfloat16", lambda x: gelu_tanh(x.astype(F)).astype(BF), ("tanh_form", "other_form")),
    Defect("gelu: sigmoid form", "gelu", "float32", lambda x: x / (F(1) + np.exp(F(-1.702) * x)), ("sigmoid_form",)),
    Defect("gelu: exact in place of tanh", "gelu", "float32", right("gelu", "float32"), ("other_form",), {"approximate": "tanh"}),
    Defect("gelu: F.gelu(x.float()).bfloat16()", "gelu", "bfloat16", lambda x: (F(0.5) * x.astype(F) * (F(1) + erf(x.astype(F) * F(0.70710678)).astype(F))).astype(BF), ("cancellation",), real="tenstorrent/tt-metal#56616"),
    Defect("gelu: tail cut off at -5.5", "gelu", "float32", broken("gelu", "float32", lambda x, y: np.where(x < -5.5, -0.0, y)), ("saturation",), real="pytorch/pytorch"),
    Defect("gelu: NaN at infinity", "gelu", "float32", broken("gelu", "float32", lambda x, y: np.where(np.isinf(x), np.nan, y)), ("overflow",), real="pytorch/pytorch#185770"),
    # ---- ELU and its kin
    Defect("celu: exp(x) - 1", "celu", "float32", lambda x: np.where(x >= 0, x, np.exp(x) - F(1)), ("cancellation",), real="microsoft/onnxruntime, openvinotoolkit/openvino"),
    Defect("elu: exp(x) - 1", "elu", "float32", lambda x: np.where(x >= 0, x, np.exp(x) - F(1)), ("cancellation",), real="tensorflow/tensorflow#116943"),
    Defect("elu: exp(x) - 1 in bfloat16", "elu", "bfloat16", lambda x: np.where(x >= 0, x, np.exp(x) - BF(1)), ("cancellation", "bfloat16_intermediates")),
    Defect("selu: exp(x) - 1", "selu", "float32", lambda x: np.where(x > 0, F(1.050701) * x, F(1.050701 * 1.6732632) * (np.exp(x) - F(1))), ("cancellation",), real="tensorflow/tensorflow#116943"),
    Defect("selu: constants of four digits", "selu", "float32", lambda x: np.where(x > 0, 1.0507 * x.astype(float), 1.0507 * 1.6733 * np.expm1(x.astype(float))).astype(F), ("wrong_constant",)),
    Defect("celu: exponent without alpha", "celu", "float32", lambda x: np.where(x >= 0, x, 2 * np.expm1(x.astype(float))).astype(F), ("missing_division",), {"alpha": 2.0}),
    Defect("elu: alpha ignored", "elu", "float32", right("elu", "float32"), ("ignored_parameter",), {"alpha": 0.25}),
    Defect("celu: alpha in float16", "celu", "float32", right("celu", "float32", alpha=float(np.float16(0.3))), ("parameter_rounding",), {"alpha": 0.3}),
    Defect("leaky_relu: alpha not rounded", "leaky_relu", "float64", right("leaky_relu", "float64", alpha=float(F(0.01))), ("parameter_rounding",)),
    # ---- Softplus, Mish, Swish
    Defect("softplus: log(1 + exp(x))", "softplus", "float32", lambda x: np.log(F(1) + np.exp(x)), ("cancellation", "overflow")),
    Defect("softplus: threshold of 20 in float64", "softplus", "float64", broken("softplus", "float64", lambda x, y: np.where(x > 20, x, y)), ("threshold", "kink"), real="pytorch/pytorch"),
    Defect("softplus: zero from -17 on, bfloat16", "softplus", "bfloat16", lambda x: np.log(F(1) + np.exp(x.astype(F))).astype(BF), ("cancellation", "saturation"), real="tenstorrent/tt-metal#56382"),
    Defect("mish: x * tanh(log(1 + exp(x)))", "mish", "float32", lambda x: x * np.tanh(np.log(F(1) + np.exp(x))), ("cancellation",)),
    Defect("mish: square overflows", "mish", "float32", lambda x: x * (np.exp(x) * (np.exp(x) + F(2))) / (np.exp(x) * (np.exp(x) + F(2)) + F(2)), ("overflow",)),
    Defect("swish: exp(x) / (1 + exp(x))", "swish", "float32", lambda x: x * (np.exp(x) / (F(1) + np.exp(x))), ("overflow",)),
    Defect("swish: hard form", "swish", "float32", lambda x: x * np.clip(x / F(6) + F(0.5), F(0), F(1)), ("hard_form",)),
    # ---- Sigmoid and tanh
    Defect("sigmoid: through tanh", "sigmoid", "float32", lambda x: F(0.5) * (F(1) + np.tanh(x * F(0.5))), ("cancellation",)),
    Defect("sigmoid: float16 intermediates", "sigmoid", "float32", lambda x: in_type(np.float16)(x), ("float16_intermediates", "overflow", "cancellation")),
    Defect("gelu: rounded twice", "gelu", "bfloat16", double_rounded, ("rounded_twice",), budget=NEAREST),
    Defect("sigmoid: cut off, not rounded", "sigmoid", "bfloat16", cut("sigmoid", "bfloat16"), ("truncation",), budget=NEAREST),
    Defect("tanh: overflow", "tanh", "float32", lambda x: (np.exp(F(2) * x) - F(1)) / (np.exp(F(2) * x) + F(1)), ("overflow",), real="intel/llm-scaler#484"),
    Defect("tanh: 2 * sigmoid(2 * x) - 1", "tanh", "float32", lambda x: F(2) / (F(1) + np.exp(F(-2) * x)) - F(1), ("cancellation",)),
    Defect("tanh: saturates at 1.044", "tanh", "float16", lambda x: broken("tanh", "float16", lambda x, y: np.where(np.abs(x) > 4, np.copysign(1.044, x), y))(x), ("saturation",), real="Tencent/ncnn#6978"),
    Defect("tanh: clamped to 3", "tanh", "float16", lambda x: right("tanh", "float16")(clipped(x, -3, 3)), ("saturation",)),
    Defect("tanh: inputs rounded to bfloat16", "tanh", "float32", lambda x: right("tanh", "float32")(x.astype(BF).astype(F)), ("bfloat16_inputs",)),
    Defect("exp: off by a constant factor", "exp", "float32", lambda x: (exact("exp", "float32")(x) * (1 + 1e-5)).astype(F), ("wrong_constant",)),
    Defect("log: off by a constant", "log", "float32", lambda x: (exact("log", "float32")(x) + 1e-4).astype(F), ("wrong_constant",)),
    Defect("exp: subnormals flushed", "exp", "float32", broken("exp", "float32", lambda x, y: np.where(y < 2.0**-126, 0, y)), ("flush",), real="jax-ml/jax#37762"),
    Defect("linear: subnormal inputs flushed", "linear", "float32", lambda x: F(2) * np.where(np.abs(x) < 2.0**-126, F(0), x), ("flush",), {"alpha": 2.0}),
    Defect("exp: single wrong entry", "exp", "float16", broken("exp", "float16", lambda x, y: np.where(x == np.float16(1.5), np.float16(4.5), y)), ("isolated", "kink")),
    # ---- kinks, comparisons, NaN
    Defect("relu: NaN becomes 0", "relu", "float32", lambda x: np.where(x > 0, x, F(0)), ("nan_as_zero", "nan_lost"), real="openvinotoolkit/openvino#35649"),
    Defect("hard_sigmoid: slope of 1/6", "hard_sigmoid", "float32", lambda x: np.clip(x.astype(float) / 6 + 0.5, 0, 1).astype(F), ("wrong_constant",)),
    Defect("hard_sigmoid: NaN becomes 1", "hard_sigmoid", "float32", broken("hard_sigmoid", "float32", lambda x, y: np.where(np.isnan(x), 1, y)), ("nan_lost",), real="openvinotoolkit/openvino#35930"),
    Defect("thresholded_relu: >= in place of >", "thresholded_relu", "float32", lambda x: np.where(np.isnan(x), x, np.where(x >= 1, x, F(0))), ("kink", "isolated", "nan_made")),
    Defect("hard_swish: wrong branch from 2.5 to 3", "hard_swish", "float32", broken("hard_swish", "float32", lambda x, y: np.where((x > 2.5) & (x < 3), x, y)), ("kink",)),
    Defect("shrink: soft in place of hard", "shrink", "float32", lambda x: np.where(x > F(0.5), x - F(0.5), np.where(x < F(-0.5), x + F(0.5), F(0))), ("soft_form",)),
    Defect("shrink: integers through float32", "shrink", "int32", lambda x: np.where(x > 3, np.clip(x.astype(F) - F(1), -2.0**31, 2.0**31 - 129), np.where(x < -3, x.astype(F) + F(1), 0)).astype(np.int32), ("float32_intermediates",), {"bias": 1.0, "lambd": 3.0}, real="microsoft/onnxruntime"),
    Defect("scaled_tanh: parameters swapped", "scaled_tanh", "float32", right("scaled_tanh", "float32", alpha=0.5, beta=1.5), ("swapped_parameters",), {"alpha": 1.5, "beta": 0.5}),
    Defect("prelu: operands swapped", "prelu", "float32", lambda x, s: right("prelu", "float32")(s, x), ("swapped_operands",)),
    # ---- the same input, other bits
    Defect("exp: tail of a vector is another function", "exp", "float32", by_lanes, ("position",), real="pytorch/pytorch#188382"),
    Defect("sigmoid: every seventh element", "sigmoid", "float32", by_place, ("position",)),
    # ---- kernels in C
    Defect("exp in C: the last n % 8 results are garbage", "exp", "float32", "tail", ("position",)),
    Defect("exp in C: wrong where data are not aligned", "exp", "float32", "unaligned", ("position",)),
    Defect("exp in C: wrong in place", "exp", "float32", "overlaps", ("position",)),
    Defect("exp in C: stores whole vectors past the end", "exp", "float32", "past", ("writes_past_end",)),
    Defect("exp in C: stores before the start", "exp", "float32", "before", ("writes_before_start",)),
    Defect("exp in C: loads past the end", "exp", "float32", "reads_past", ("reads_past_end",)),
    Defect("exp in C: no remainder loop", "exp", "float32", "unwritten", ("unwritten",)),
    Defect("exp in C: writes into its input", "exp", "float32", "into_input", ("input_written",)),
    Defect("exp in C: crashes in calls on 7 elements", "exp", "float32", "crash", ("crashed",)),
    Defect("exp in C: calls exit", "exp", "float32", "exits", ("crashed",)),
    Defect("exp in C: does not end in calls on 7 elements", "exp", "float32", "endless", ("endless",)),
)  # fmt: skip
