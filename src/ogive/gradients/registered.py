"""The derivatives that are written by hand, for two reasons: kinks, and forms that would cancel or overflow.

A rule has the arguments of the operator, its choices among them, and gives the derivative with respect to one of them.
At a kink it follows PyTorch where PyTorch has the operator; docs/tables/derivatives.md has the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ogive import formula as f
from ogive.catalog import OPERATORS
from ogive.catalog.activations import gelu, swish
from ogive.catalog.more_activations import tanhshrink
from ogive.catalog.normalisation import distance, mean_of_row
from ogive.catalog.rowwise import log_softmax
from ogive.differentiation.partials import (
    bell,
    exp_bend,
    gate_slope,
    gelu_slope,
    hypot_slope,
    logistic_slope,
    mish_slope,
    normal_density,
    nothing,
    serf_slope,
    tanh_slope,
    with_limit,
)
from ogive.formula import where
from ogive.graph.expression import Term
from ogive.graph.limits import at_infinities, is_infinite
from ogive.operators.operator import Operator

Rule = Callable[..., Any]

#: Gradients of such magnitudes are taken as they are.
VAST = 2.0**128


# ---- smooth functions whose formulas have branches, or whose derivatives by the rules would cancel


def _squared(x: Term) -> Term:
    return x * x


def _softplus_steepness(x: Any, *, steepness: Any) -> Any:
    u = f.absolute(steepness * x)
    return with_limit(u, -0.0, -((u * f.logistic(-u) + f.log1p(f.exp(-u))) / (steepness * steepness)))


def _swish_alpha(x: Any, *, alpha: Any) -> Any:
    u = alpha * x
    return with_limit(u, 0, (x * f.logistic(u)) * (x * f.logistic(-u)))


def _swiglu_alpha(a: Any, b: Any, *, alpha: Any) -> Any:
    return _swish_alpha(a, alpha=alpha) * b


def _softsign(x: Any) -> Any:
    return 1 / (1 + f.absolute(x)) / (1 + f.absolute(x))


def _celu(x: Term, *, alpha: Term) -> Term:
    u = x / alpha
    return where(x > 0, 1, at_infinities(f.exp(u), u, below=nothing(x)))


def _celu_alpha(x: Any, *, alpha: Any) -> Any:
    return where(x >= 0, 0, with_limit(x, -1, exp_bend(x / alpha)))


def _parametric_softplus_beta(x: Any, *, alpha: Any, beta: Any) -> Any:
    return alpha * swish.function(x, alpha=beta)


# ---- functions of other libraries


def _part_of_fmax(a: Any, b: Any) -> Any:
    """Equal numbers give all to the first one, as in PyTorch."""
    return where((a >= b) | f.isnan(b), 1, 0)


def _part_of_power_of_two(a: Any, b: Any) -> Any:
    """``2**a / (2**a + 2**b)``."""
    return f.logistic(f.log_2 * (a - b))


def _scaled_tanh_beta(x: Any, *, alpha: Any, beta: Any) -> Any:
    u = beta * x
    return alpha * with_limit(u, f.copy_sign(0, x), x * tanh_slope(u))


def _dyt_alpha(x: Any, weight: Any, bias: Any, *, alpha: Any) -> Any:
    return _scaled_tanh_beta(x, alpha=weight, beta=alpha)


def _derf_alpha(x: Any, weight: Any, bias: Any, *, alpha: Any, shift: Any) -> Any:
    u = alpha * x + shift
    return weight * with_limit(u, f.copy_sign(0, x), 2 / f.square_root(f.pi) * x * bell(u))


def _binary_cross_entropy(x: Any, target: Any) -> Any:
    return where(f.equal(target, 1), -f.logistic(-x), f.logistic(x) - target)


def _snake(x: Any, *, alpha: Any) -> Any:
    """``1 + sin(2 * alpha * x)``; where the product could overflow, a square that needs half of it."""
    u = alpha * x
    return where(f.absolute(u) > 2.0**1000, _squared(f.sin(u) + f.cos(u)), 1 + f.sin(2 * alpha * x))


def _softcap_cap(x: Any, *, cap: Any) -> Any:
    """``tanh(u) - u / cosh(u)**2``, as ``u tanh(u)**2`` less what tanh(u) leaves of u; both are like u**3 near zero."""
    u = x / cap
    t = f.tanh(u)
    near, far = u * (t * t) - tanhshrink.function(u), t - u * tanh_slope(u)
    return with_limit(u, f.copy_sign(1, u), where(f.absolute(u) < 0.5, near, far))


def _squareplus(x: Any, *, b: Any) -> Any:
    """``(1 + x / sqrt(x * x + b)) / 2``: what is left of 0, or of 1, does not cancel."""
    length = f.square_root(x * x + b)
    rest = b / 2 / length / (length + f.absolute(x))
    limit = where(x < 0, nothing(x), 1 - nothing(x))
    return with_limit(x, limit, where(x < 0, rest, 1 - rest))


def _squareplus_b(x: Any, *, b: Any) -> Any:
    return with_limit(x, 0, 0.25 / f.square_root(x * x + b))


def _hard_mish(x: Any) -> Any:
    return where(x <= -2, 0, where(x >= 0, 1, x + 1))


def _sparse_plus(x: Any) -> Any:
    return f.maximum(f.minimum((x + 1) / 2, 1), 0)


# ---- functions with kinks


def _inside(gate: Any) -> Any:
    """Whether a gate is neither shut nor fully open; at its two kinks it is one of them."""
    return (gate > 0) & (gate < 1)


def _hard_sigmoid(x: Any, *, alpha: Any, beta: Any) -> Any:
    return where(_inside(alpha * x + beta), alpha, 0)


def _hard_sigmoid_alpha(x: Any, *, alpha: Any, beta: Any) -> Any:
    return where(_inside(alpha * x + beta), x, 0)


def _hard_sigmoid_beta(x: Any, *, alpha: Any, beta: Any) -> Any:
    return where(_inside(alpha * x + beta), 1, 0)


def _hard_swish(x: Any) -> Any:
    return where(x <= -3, 0, where(x >= 3, 1, (2 * x + 3) / 6))


def _parametric_hard_swish(x: Any, *, alpha: Any, beta: Any) -> Any:
    gate = alpha * x + beta
    return where(gate <= 0, 0, where(gate >= 1, 1, 2 * alpha * x + beta))


def _parametric_hard_swish_alpha(x: Any, *, alpha: Any, beta: Any) -> Any:
    return where(_inside(alpha * x + beta), x * x, 0)


def _parametric_hard_swish_beta(x: Any, *, alpha: Any, beta: Any) -> Any:
    return where(_inside(alpha * x + beta), x, 0)


def _shrink(x: Any, *, bias: Any, lambd: Any, first: str) -> Any:
    return where((x > lambd) | (x < -lambd), 1, 0)


def _clamp(x: Any, *, min: Any, max: Any) -> Any:  # noqa: A002
    return where((x >= min) & (x <= max), 1, 0)


def _clamp_min(x: Any, *, min: Any, max: Any) -> Any:  # noqa: A002
    return where((x < min) & (min < max), 1, 0)


def _clamp_max(x: Any, *, min: Any, max: Any) -> Any:  # noqa: A002
    return where((x > max) | (min > max), 1, 0)


def _clip(x: Any, min: Any, max: Any, *, wins: str) -> Any:  # noqa: A002
    return where(~((x < min) | (x > max) | f.isnan(x)), 1, 0)


def _clip_min(x: Any, min: Any, max: Any, *, wins: str) -> Any:  # noqa: A002
    is_below = (x < min) & ~(min >= max)
    return where(is_below if wins == "max" else (x < min) | (max < min), 1, 0)


def _clip_max(x: Any, min: Any, max: Any, *, wins: str) -> Any:  # noqa: A002
    is_above = (x > max) & ~(min >= max)
    return where((x > max) | (min > max) if wins == "max" else is_above, 1, 0)


def _threshold(x: Any, *, min: Any) -> Any:  # noqa: A002
    return where(x >= min, 1, 0)


def _threshold_min(x: Any, *, min: Any) -> Any:  # noqa: A002
    return where(x < min, 1, 0)


def _sign(x: Any, *, nan: str) -> Any:
    return 0


def _round(x: Any, *, mode: str) -> Any:
    return 0


def _larger_of_two(a: Any, b: Any) -> Any:
    return where(a > b, 1, where(f.equal(a, b), 0.5, where(b > a, 0, 1)))


def _divided(a: Any, b: Any, remainder: Any) -> Any:
    """Minus the whole quotient that left this remainder."""
    return -f.round_even((a - remainder) / b)


def _modulus_floor_b(a: Any, b: Any) -> Any:
    rest = f.remainder(a, b)
    is_moved = ((rest < 0) ^ (b < 0)) & ~f.equal(rest, 0)
    quotient = _divided(a, b, where(is_moved, rest + b, rest))
    return where(is_infinite(b) & ~is_infinite(a) & ~f.isnan(a), where(is_moved, 1, 0), quotient)


def _mod_b(a: Any, b: Any, *, fmod: int) -> Any:
    return _divided(a, b, f.remainder(a, b)) if fmod else _modulus_floor_b(a, b)


# ---- over rows: the gradient of the result is the first argument


def _softmax(gradient: Any, x: Any) -> Any:
    """``y * (gradient - sum(gradient * y))``, of gradients from which that of the largest element is subtracted.

    The shares add up to 1, so that changes nothing; and a constant gradient, of which the result is 0, becomes exact
    zeros. Where one element dominates, nothing cancels: its own gradient is 0 then.
    """
    largest = f.row_max(x)
    e = f.exp(x - largest)
    every = f.row_sum(e)
    beside = gradient - of_largest(gradient, x, largest)
    return e / every * (beside - f.row_sum(beside * e) / every)


def of_largest(gradient: Any, x: Any, largest: Any) -> Any:
    """The gradient of the largest element, the greatest one where there are several; 0 where that is vast."""
    found = f.row_max(where(f.equal(x, largest), gradient, -VAST))
    return where(f.absolute(found) < VAST, found, 0)


def _logsumexp(gradient: Any, x: Any) -> Any:
    e = f.exp(x - f.row_max(x))
    return gradient * (e / f.row_sum(e))


def _softmin(gradient: Any, x: Any) -> Any:
    return _softmax(-gradient, -x)


def _standardize(gradient: Any, x: Any, *, epsilon: Any) -> Any:
    away, square, root = _away(x, epsilon)
    return _beside_mean(gradient, away, square) / root


def _layer_normalization(gradient: Any, x: Any, scale: Any, bias: Any, *, epsilon: Any) -> tuple[Any, ...]:
    away, square, root = _away(x, epsilon)
    return _beside_mean(gradient * scale, away, square) / root, gradient * (away / root), gradient


def _mean_variance_normalization(gradient: Any, x: Any) -> Any:
    differ = ~f.equal(f.row_max(x), f.row_min(x))
    return where(differ, _standardize(gradient, x, epsilon=0), 0)


def _away(x: Any, epsilon: Any) -> tuple[Any, Any, Any]:
    """Distances from the mean; the mean of their squares and a small number; the root of that."""
    away = distance(x)
    square = mean_of_row(away * away) + epsilon
    return away, square, f.square_root(square)


def _beside_mean(gradient: Any, away: Any, square: Any) -> Any:
    """The part of a gradient beside its mean and its part along the distances from the mean."""
    beside = distance(gradient)  # exact zeros of a constant gradient
    return beside - away * (mean_of_row(beside * away) / square)


def _rms_normalization(gradient: Any, x: Any, scale: Any, *, epsilon: Any) -> tuple[Any, ...]:
    square, of_y = mean_of_row(x * x) + epsilon, gradient * scale
    root = f.square_root(square)
    return (of_y - x * (mean_of_row(of_y * x) / square)) / root, gradient * (x / root)


def _lp_normalization(gradient: Any, x: Any, *, p: int) -> Any:
    if p == 2:
        square = f.row_sum(x * x)
        of_x = (gradient - x * (f.row_sum(gradient * x) / square)) / f.square_root(square)
    else:
        norm, sign = f.row_sum(f.absolute(x)), where(x > 0, 1, where(x < 0, -1, 0))
        of_x = (gradient - sign * (f.row_sum(gradient * x) / norm)) / norm
    return where(f.equal(f.row_max(f.absolute(x)), 0), gradient, of_x)


def _log_softmax(gradient: Any, x: Any) -> Any:
    """``gradient - y * sum(gradient)`` for y = softmax(x).

    Where one element dominates, its share is next to 1, and that would cancel. So a largest element has its own gradient
    times the share of the others, less its share of their gradients. Equal ones have one gradient in common, and are
    among the others with the rest.
    """
    largest = f.row_max(x)
    is_largest = f.equal(x, largest)
    common = of_largest(gradient, x, largest)
    e = f.exp(x - largest)
    every, others = f.row_sum(e), f.row_sum(where(is_largest, 0, e))
    own = where(is_largest, gradient - common, gradient)
    of_a_largest = own + (common * others - f.row_sum(own)) / every
    return where(is_largest, of_a_largest, gradient - e * (f.row_sum(gradient) / every))


def _cross_entropy(gradient: Any, x: Any, target: Any) -> tuple[Any, Any]:
    logarithms = log_softmax(x)
    counts_not = f.equal(target, 0) & is_infinite(logarithms)
    return gradient * _log_softmax(-target, x), -gradient * where(counts_not, 0, logarithms)


def _entmax15(gradient: Any, x: Any) -> Any:
    """For the elements above the threshold: what each is above it, times the gradient less its mean of these weights.

    The gradient of the largest element is subtracted before, as in softmax.
    """
    largest = f.row_max(x)
    below = f.larger((x - largest) / 2, -2)
    t = f.row_square_threshold(below)
    beside = gradient - of_largest(gradient, x, largest)
    above = where(t < below, below - t, 0)
    mean = f.row_sum(where(t < below, above * beside, 0)) / f.row_sum(above)
    no_number = largest - largest
    return where(f.equal(no_number, 0), where(t < below, above * (beside - mean), 0), no_number)


def _sparsemax(gradient: Any, x: Any) -> Any:
    """For the elements above the threshold: the gradient less its mean over them."""
    largest = f.row_max(x)
    below = f.larger(x - largest, -2)
    is_above = f.row_threshold(below) < below
    mean = f.row_sum(where(is_above, gradient, 0)) / f.row_sum(where(is_above, 1, 0))
    no_number = largest - largest
    return where(f.equal(no_number, 0), where(is_above, gradient - mean, 0), no_number)


#: By operator and argument.
RULES: dict[str, dict[str, Rule]] = {
    "abs": {"x": lambda x: where(x > 0, 1, where(x < 0, -1, 0))},
    "binary_cross_entropy_with_logits": {"x": _binary_cross_entropy, "target": lambda x, target: -x},
    "celu": {"x": _celu, "alpha": _celu_alpha},
    "clamp": {"x": _clamp, "min": _clamp_min, "max": _clamp_max},
    "clip": {"x": _clip, "min": _clip_min, "max": _clip_max},
    "derf": {"alpha": _derf_alpha},
    "dyt": {"alpha": _dyt_alpha},
    "fmax": {"a": _part_of_fmax, "b": lambda a, b: where((a >= b) | f.isnan(b), 0, 1)},
    "fmin": {"a": lambda a, b: _part_of_fmax(-a, -b), "b": lambda a, b: where((a <= b) | f.isnan(b), 0, 1)},
    "gelu": {"x": gelu_slope},
    "geglu": {
        "a": lambda a, b, *, approximate: gelu_slope(a, approximate=approximate) * b,
        "b": lambda a, b, *, approximate: gelu.function(a, approximate=approximate),
    },
    "glu": {"a": lambda a, b: f.logistic(b), "b": lambda a, b: a * logistic_slope(b)},
    "hard_mish": {"x": _hard_mish},
    "hard_sigmoid": {"x": _hard_sigmoid, "alpha": _hard_sigmoid_alpha, "beta": _hard_sigmoid_beta},
    "hard_swish": {"x": _hard_swish},
    "hypot": {"a": lambda a, b: hypot_slope(a, b, 1, 0), "b": lambda a, b: hypot_slope(a, b, 0, 1)},
    "kl_div": {"x": lambda x, target: -target, "target": lambda x, target: f.log(target) + 1 - x},
    "log1mexp": {"x": lambda x: at_infinities(1 / f.expm1(x), x, above=nothing(x))},
    "log_sigmoid": {"x": lambda x: f.logistic(-x)},
    "logaddexp": {"a": lambda a, b: f.logistic(a - b), "b": lambda a, b: f.logistic(b - a)},
    "logaddexp2": {"a": _part_of_power_of_two, "b": lambda a, b: _part_of_power_of_two(b, a)},
    "logit": {"x": lambda x: 1 / x / (1 - x)},
    "max": {"a": _larger_of_two, "b": lambda a, b: _larger_of_two(b, a)},
    "min": {"a": lambda a, b: _larger_of_two(-a, -b), "b": lambda a, b: _larger_of_two(-b, -a)},
    "mish": {"x": mish_slope},
    "mod": {"a": lambda a, b, *, fmod: 1, "b": _mod_b},
    "modulus_floor": {"a": lambda a, b: 1, "b": _modulus_floor_b},
    "modulus_truncate": {"a": lambda a, b: 1, "b": lambda a, b: _divided(a, b, f.remainder(a, b))},
    "ndtr": {"x": normal_density},
    "parametric_hard_swish": {
        "x": _parametric_hard_swish,
        "alpha": _parametric_hard_swish_alpha,
        "beta": _parametric_hard_swish_beta,
    },
    "parametric_softplus": {
        "x": lambda x, *, alpha, beta: alpha * beta * f.logistic(beta * x),
        "beta": _parametric_softplus_beta,
    },
    "round": {"x": _round},
    "scaled_tanh": {"beta": _scaled_tanh_beta},
    "serf": {"x": serf_slope},
    "shrink": {"x": _shrink},
    "sign": {"x": _sign},
    "snake": {"x": _snake},
    "softcap": {"x": lambda x, *, cap: tanh_slope(x / cap), "cap": _softcap_cap},
    "softplus": {"x": lambda x, *, steepness: f.logistic(steepness * x), "steepness": _softplus_steepness},
    "softsign": {"x": _softsign},
    "sparse_plus": {"x": _sparse_plus},
    "squareplus": {"x": _squareplus, "b": _squareplus_b},
    "swiglu": {
        "a": lambda a, b, *, alpha: gate_slope(alpha * a) * b,
        "b": lambda a, b, *, alpha: swish.function(a, alpha=alpha),
        "alpha": _swiglu_alpha,
    },
    "swish": {"x": lambda x, *, alpha: gate_slope(alpha * x), "alpha": _swish_alpha},
    "tanhshrink": {"x": lambda x: with_limit(x, 1 - nothing(x), f.tanh(x) * f.tanh(x))},
    "threshold": {"x": _threshold, "min": _threshold_min},
    "xielu": {
        "x": lambda x, *, alpha_p, alpha_n, beta: (
            where(x > 0, 2 * alpha_p * x, alpha_n * f.expm1(where(x > 0, 0, x))) + beta
        ),
    },
}

#: By operator: the gradients of all tensors, given that of the result.
ROW_RULES: dict[str, Rule] = {
    "cross_entropy": _cross_entropy,
    "layer_normalization": _layer_normalization,
    "log_softmax": _log_softmax,
    "logmeanexp": _logsumexp,
    "logsumexp": _logsumexp,
    "lp_normalization": _lp_normalization,
    "mean_variance_normalization": _mean_variance_normalization,
    "rms_normalization": _rms_normalization,
    "softmax": _softmax,
    "softmin": _softmin,
    "sparsemax": _sparsemax,
    "entmax15": _entmax15,
    "standardize": _standardize,
}

_OF_OTHERS: dict[Operator, dict[str, Rule]] = {}
"""The rules of operators that the catalogue does not have."""


def register(operator: Operator, **rules: Rule) -> None:
    """Give an operator that the catalogue does not have rules of its own, by argument."""
    _OF_OTHERS[operator] = rules


def is_of_catalogue(operator: Operator) -> bool:
    """Whether this very operator is one of the catalogue."""
    return OPERATORS.get(operator.name) is operator


def rules_of(operator: Operator) -> dict[str, Rule]:
    """The registered derivatives of an operator, by argument."""
    return RULES.get(operator.name, {}) if is_of_catalogue(operator) else _OF_OTHERS.get(operator, {})
