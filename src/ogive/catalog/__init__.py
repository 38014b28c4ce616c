"""Every operator, written once: the one place to add one.

``_MODULES`` lists the operators of each module; nothing else names them. A module is loaded when one of its operators is first
wanted: all of them together would take a tenth of the time that NumPy takes.
"""

from __future__ import annotations

from importlib import import_module

from ogive.operators.operator import Operator

__all__ = ["OPERATORS", "PLACES", "load"]

_MODULES = {
    "activations": (
        "celu elu gelu hard_sigmoid hard_swish identity leaky_relu linear mish parametric_hard_swish "
        "parametric_softplus prelu relu relu_grad scaled_tanh selu shrink sigmoid softplus softsign swiglu swish tanh "
        "thresholded_relu"
    ),
    "more_activations": (
        "clipped_gelu derf dyt hard_mish log_sigmoid serf snake softcap sparse_plus sparse_sigmoid squared_relu "
        "squareplus star_relu tanhshrink xielu"
    ),
    "gated": "clamped_swiglu geglu glu reglu",
    "rowwise": "average cross_entropy entmax15 hardmax log_softmax logmeanexp logsumexp softmax softmin sparsemax sum",
    "loss_functions": "binary_cross_entropy_with_logits huber_loss kl_div nll_loss",
    "normalisation": (
        "batch_normalization layer_normalization lp_normalization mean_variance_normalization rms_normalization "
        "standardize"
    ),
    "arithmetic": (
        "abs add difference_square div erf exp log max mean min mod modulus_floor modulus_truncate mul neg pow "
        "reciprocal sign sqrt sub"
    ),
    "functions": (
        "cbrt copysign erfc erfinv exp2 expm1 fmax fmin heaviside hypot isfinite log1mexp log1p log2 log10 log_ndtr "
        "logaddexp logaddexp2 logit ndtr not_equal rsqrt square trunc"
    ),
    "trigonometry": "acos acosh asin asinh atan atan2 atanh cos cosh sin sinh tan",
    "rounding": "ceil dequantize_linear floor quantize_linear quantized_linear_add round",
    "clipping": "clamp clamp_grad clip clip_grad threshold",
    "logic": (
        "equal greater greater_or_equal isinf isnan less less_or_equal logical_and logical_not logical_or logical_xor "
        "where"
    ),
    "bits": "bit_count bit_shift_left bit_shift_right bitwise_and bitwise_not bitwise_or bitwise_xor",
}

#: The module of each operator.
PLACES: dict[str, str] = {name: module for module, names in _MODULES.items() for name in names.split()}

#: All operators by name. They are loaded when it is first wanted.
OPERATORS: dict[str, Operator]


def load(name: str) -> Operator:
    """The operator of that name.

    >>> load("celu")
    <operator celu(x, *, alpha=1.0)>
    """
    found: Operator = getattr(import_module(f"ogive.catalog.{PLACES[name]}"), name)
    return found


def __getattr__(name: str) -> object:
    if name == "OPERATORS":
        return globals().setdefault(name, {each: load(each) for each in PLACES})
    raise AttributeError(f"module 'ogive.catalog' has no attribute {name!r}")
