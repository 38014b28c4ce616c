"""The activation operators of DirectML and ONNX: written once as formulas, compiled to SIMD code.

>>> import numpy as np, ogive
>>> ogive.celu(np.float32([-1.0, 2.0]), alpha=1.5)
array([-0.7298743,  2.       ], dtype=float32)

``ogive.operator`` makes an operator of your own formula; ``ogive.directml`` and ``ogive.onnx`` are the two
standards' front ends, which are loaded when they are first wanted. Importing this package loads no compiler.
"""

from ogive import formula
from ogive.catalog.activations import (
    celu,
    elu,
    gelu,
    hard_sigmoid,
    hard_swish,
    identity,
    leaky_relu,
    linear,
    mish,
    parametric_hard_swish,
    parametric_softplus,
    prelu,
    relu,
    relu_grad,
    scaled_tanh,
    selu,
    shrink,
    sigmoid,
    softplus,
    softsign,
    swiglu,
    swish,
    tanh,
    thresholded_relu,
)
from ogive.catalog.aliases import ALIASES, named
from ogive.catalog.arithmetic import (
    abs,
    add,
    difference_square,
    div,
    erf,
    exp,
    log,
    max,
    mean,
    min,
    mod,
    modulus_floor,
    modulus_truncate,
    mul,
    neg,
    pow,
    reciprocal,
    sign,
    sqrt,
    sub,
)
from ogive.catalog.bits import (
    bit_count,
    bit_shift_left,
    bit_shift_right,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
)
from ogive.catalog.clipping import clamp, clamp_grad, clip, clip_grad, threshold
from ogive.catalog.functions import (
    cbrt,
    copysign,
    erfc,
    erfinv,
    exp2,
    expm1,
    fmax,
    fmin,
    heaviside,
    hypot,
    isfinite,
    log1mexp,
    log1p,
    log2,
    log10,
    log_ndtr,
    logaddexp,
    logaddexp2,
    logit,
    ndtr,
    not_equal,
    rsqrt,
    square,
    trunc,
)
from ogive.catalog.gated import (
    geglu,
    glu,
    reglu,
)
from ogive.catalog.logic import (
    equal,
    greater,
    greater_or_equal,
    isinf,
    isnan,
    less,
    less_or_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    where,
)
from ogive.catalog.more_activations import (
    hard_mish,
    log_sigmoid,
    serf,
    snake,
    softcap,
    sparse_plus,
    sparse_sigmoid,
    squareplus,
    star_relu,
    tanhshrink,
    xielu,
)
from ogive.catalog.normalisation import (
    batch_normalization,
    layer_normalization,
    lp_normalization,
    mean_variance_normalization,
    rms_normalization,
    standardize,
)
from ogive.catalog.rounding import ceil, dequantize_linear, floor, quantize_linear, quantized_linear_add, round
from ogive.catalog.rowwise import (
    hardmax,
    log_softmax,
    logmeanexp,
    logsumexp,
    softmax,
    softmin,
    sparsemax,
)
from ogive.catalog.trigonometry import acos, acosh, asin, asinh, atan, atan2, atanh, cos, cosh, sin, sinh, tan
from ogive.operator import ADVISERS, Operator, operator
from ogive.row_operator import RowOperator, RowReduction, row_operator
from ogive.runtime.threads import get_num_threads, register_threadpoolctl, set_num_threads, threads

__all__ = [
    "Operator",
    "RowOperator",
    "RowReduction",
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "batch_normalization",
    "bit_count",
    "bit_shift_left",
    "bit_shift_right",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "cbrt",
    "ceil",
    "celu",
    "clamp",
    "clamp_grad",
    "clip",
    "clip_grad",
    "copysign",
    "cos",
    "cosh",
    "dequantize_linear",
    "difference_square",
    "div",
    "elu",
    "equal",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "fmax",
    "fmin",
    "formula",
    "geglu",
    "gelu",
    "get_num_threads",
    "glu",
    "grad",
    "greater",
    "greater_or_equal",
    "hard_mish",
    "hard_sigmoid",
    "hard_swish",
    "hardmax",
    "heaviside",
    "hypot",
    "identity",
    "isfinite",
    "isinf",
    "isnan",
    "layer_normalization",
    "leaky_relu",
    "less",
    "less_or_equal",
    "linear",
    "log",
    "log1mexp",
    "log1p",
    "log2",
    "log10",
    "log_ndtr",
    "log_sigmoid",
    "log_softmax",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logit",
    "logmeanexp",
    "logsumexp",
    "lp_normalization",
    "max",
    "mean",
    "mean_variance_normalization",
    "min",
    "mish",
    "mod",
    "modulus_floor",
    "modulus_truncate",
    "mul",
    "ndtr",
    "neg",
    "not_equal",
    "operator",
    "parametric_hard_swish",
    "parametric_softplus",
    "pow",
    "prelu",
    "quantize_linear",
    "quantized_linear_add",
    "reciprocal",
    "register_threadpoolctl",
    "reglu",
    "relu",
    "relu_grad",
    "rms_normalization",
    "round",
    "row_operator",
    "rsqrt",
    "scaled_tanh",
    "selu",
    "serf",
    "set_num_threads",
    "shrink",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "snake",
    "softcap",
    "softmax",
    "softmin",
    "softplus",
    "softsign",
    "sparse_plus",
    "sparse_sigmoid",
    "sparsemax",
    "sqrt",
    "square",
    "squareplus",
    "standardize",
    "star_relu",
    "sub",
    "swiglu",
    "swish",
    "tan",
    "tanh",
    "tanhshrink",
    "threads",
    "threshold",
    "thresholded_relu",
    "trunc",
    "value_and_grad",
    "vjp",
    "where",
    "xielu",
]
__all__ += ALIASES

#: Parts that are loaded when they are first wanted: ``import ogive`` alone needs none of them.
_PARTS = ("check", "directml", "dxdispatch", "fast", "golden", "jax", "judge", "onnx", "onnxruntime", "torch", "webnn")

#: Functions that are loaded when they are first wanted, and where they are.
_FUNCTIONS = {
    **dict.fromkeys(("grad", "value_and_grad", "vjp"), "ogive.gradients"),
    **dict.fromkeys(("address", "export"), "ogive.exporting"),
    **dict.fromkeys(("exact", "ulp", "vectors"), "ogive.golden"),
}

#: Where other libraries keep their functions, and what stands in their place here.
_PLACES = {
    "nn": "Use ogive.torch.nn for PyTorch's modules, and ogive.torch for its functions",
    "functional": "Use ogive.torch for PyTorch's functions",
}


def _parameter_here(operator: str, theirs: str) -> str:
    from ogive.catalog import OPERATORS
    from ogive.catalog.elsewhere import parameter_here  # only calls that fail need it

    if theirs in ("accuracy", "fast"):
        operator = operator.removesuffix(".fast")
        place = "ogive." if operator in OPERATORS else ""
        return f"Write {place}{operator}.fast(...) for the fast contract, and {place}{operator}(...) for the exact one"
    return parameter_here(operator, theirs)


ADVISERS.append(_parameter_here)


def __getattr__(name: str) -> object:
    if name in _PARTS:
        from importlib import import_module

        from ogive.errors import MissingNameError, MissingPackageError

        try:
            return import_module(f"ogive.{name}")
        except MissingPackageError as error:  # hasattr() asks too, and takes only an AttributeError for a no
            raise MissingNameError(str(error)) from error
    if name in ALIASES:
        globals()[name] = found = named(name)
        return found
    if name in _FUNCTIONS:
        from importlib import import_module

        return globals().setdefault(name, getattr(import_module(_FUNCTIONS[name]), name))
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("ogive")
        except PackageNotFoundError:  # run from its sources, which do not say
            return "unknown"
    text = f"module 'ogive' has no attribute {name!r}"
    if not name.startswith("_"):
        from ogive.catalog.elsewhere import advice
        from ogive.errors import suggestion

        hint = _PLACES.get(name) or advice(name) or suggestion(name, [*__all__, *_PARTS, *_FUNCTIONS])
        text = f"{text}. {hint}" if hint else text
    raise AttributeError(text)


def __dir__() -> list[str]:
    """What is for users; modules that only the package itself needs are left out."""
    names = (name for name in globals() if name.startswith("__"))
    return sorted([*__all__, *_PARTS, *_FUNCTIONS, "errors", "__version__", *names])
