"""Other libraries' names for our operators: a table for each library. tools/names_page.py makes docs/tables/names.md of them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from ogive.catalog.aliases import ALIASES, named
from ogive.catalog.standards import TABLE
from ogive.errors import MissingNameError, message, suggestion

Theirs = str | tuple[str, str]


def _listed(same: str, **others: Theirs) -> dict[str, Theirs]:
    """Names that are ours too, and others by what they are here, some with a remark."""
    return dict(sorted([*((name, name) for name in same.split()), *others.items()], key=lambda pair: pair[0].lower()))


_TRAINING = "as PyTorch evaluates it, not as it trains"
_IN_PLACE = "in place: `out=x`"

_OF_WEBNN: dict[str, Theirs] = {
    **{name: found[0].formula for name, found in TABLE["webnn"].items()},
    "batchNormalization": ("batch_normalization", "input, scale, bias, mean, variance, in this order"),
    "clamp": "clamp",
    "layerNormalization": ("layer_normalization", "axes is axis"),
    "reduceLogSumExp": ("logsumexp", "axes is axis, keepDimensions is keepdims"),
}

#: By library and its name: our name, or our name and how it differs.
OTHER_NAMES: dict[str, dict[str, Theirs]] = {
    "PyTorch": _listed(
        "abs absolute acos acosh add arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2 atanh "
        "binary_cross_entropy_with_logits bitwise_and bitwise_not bitwise_or bitwise_xor ceil celu clamp clip copysign cos cosh div divide elu eq erf erfc "
        "erfinv exp exp2 expit expm1 fix floor fmax fmin fmod ge glu greater greater_equal gt hardshrink hardsigmoid hardswish hardtanh "
        "hypot isfinite isinf isnan le less less_equal log log10 log1p log2 log_ndtr log_softmax logaddexp logaddexp2 logical_and logical_not "
        "logical_or logical_xor logit logsigmoid logsumexp lt maximum minimum mish mul multiply ndtr ne neg negative not_equal pow "
        "prelu reciprocal relu relu6 remainder round rsqrt sigmoid sign silu sin sinh softmax softmin softshrink "
        "softsign sqrt square sub subtract tan tanh tanhshrink true_divide trunc where",
        LeakyReLU=("leaky_relu", "negative_slope is alpha"),
        cross_entropy=("cross_entropy", "of class probabilities or labels, without a reduction"),
        heaviside=("heaviside", "values is at_zero"),
        huber_loss=("huber_loss", "without a reduction"),
        kl_div=("kl_div", "without a reduction; log_target is not taken"),
        mse_loss=("difference_square", "without a reduction"),
        nll_loss=("nll_loss", "without a reduction, and the classes are the last axis"),
        smooth_l1_loss=("huber_loss", "without a reduction, divided by beta; beta is delta"),
        mean=("average", "dim is axis, -1 by default"),
        sum=("sum", "dim is axis, -1 by default"),
        LogSigmoid="log_sigmoid",
        LogSoftmax="log_softmax",
        Softmax2d=("softmax", "for axis=-3"),
        Threshold=("thresholded_relu", "for value 0; threshold is alpha"),
        bitwise_left_shift=("bit_shift_left", "of unsigned integers"),
        bitwise_right_shift=("bit_shift_right", "of unsigned integers"),
        gelu=("gelu", "the same, also with approximate='tanh'"),
        batch_norm=("batch_normalization", "x, weight, bias, mean, variance; without training"),
        layer_norm=(
            "layer_normalization",
            "eps is epsilon, and axis the last axes; `standardize` is without weight and bias",
        ),
        normalize=("lp_normalization", "for p 1 and 2; without eps"),
        rms_norm=("rms_normalization", "eps is epsilon, and axis the last axes"),
        leaky_relu=("leaky_relu", "negative_slope is alpha"),
        rrelu=("rrelu", _TRAINING),
        **{
            f"{name}_": (name, _IN_PLACE) for name in ("celu", "elu", "hardtanh", "leaky_relu", "relu", "rrelu", "selu")
        },
        selu=("selu", "the constants are ONNX's, rounded to float32; in float64 they differ by 3e-8"),
        softplus=("softplus", "beta is steepness; there is no threshold"),
        threshold=("thresholded_relu", "for value 0; threshold is alpha. `threshold` is DirectML's max(x, min)"),
    ),
    "JAX": _listed(
        "celu elu erf erfc erfinv expit glu hard_silu hard_swish hard_tanh identity log1mexp log_ndtr log_sigmoid log_softmax logit "
        "logmeanexp logsumexp mish ndtr relu relu6 sigmoid silu soft_sign softmax softplus sparse_plus sparse_sigmoid squareplus swish "
        "tanh",
        gelu=("gelu", "JAX's default is approximate='tanh'"),
        hard_sigmoid=("hardsigmoid", "`hard_sigmoid` is ONNX's, with 0.2"),
        leaky_relu=("leaky_relu", "negative_slope is alpha"),
        selu=("selu", "the constants are ONNX's, rounded to float32; in float64 they differ by 3e-8"),
        standardize=("standardize", "without mean and variance, which it computes"),
    ),
    "Keras": _listed(
        "celu elu exponential gelu glu hard_shrink hard_silu hard_swish hard_tanh linear log_sigmoid log_softmax "
        "logsumexp mish relu relu6 sigmoid silu soft_shrink softmax softplus softsign sparse_plus sparse_sigmoid sparsemax squareplus swish tanh "
        "tanh_shrink",
        binary_crossentropy=("binary_cross_entropy_with_logits", "for from_logits=True, with the logits first"),
        categorical_crossentropy=("cross_entropy", "for from_logits=True, with the logits first"),
        hard_sigmoid=("hardsigmoid", "`hard_sigmoid` is ONNX's, with 0.2"),
        layer_normalization=("layer_normalization", "gamma is scale, beta is bias"),
        rms_normalization=("rms_normalization", "the scale is required"),
        leaky_relu=("leaky_relu", "negative_slope is alpha, and 0.2 by default"),
        selu=("selu", "the constants are ONNX's, rounded to float32; in float64 they differ by 3e-8"),
        threshold=("thresholded_relu", "for default_value 0; threshold_value is alpha"),
    ),
    "NumPy": _listed(
        "abs absolute acos acosh add arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2 atanh "
        "bitwise_and bitwise_invert bitwise_not bitwise_or bitwise_xor cbrt ceil clip copysign cos cosh divide equal exp exp2 expm1 fabs fix floor fmax fmin fmod greater "
        "greater_equal heaviside hypot invert isfinite isinf isnan less less_equal log log10 log1p log2 logaddexp logaddexp2 logical_and "
        "logical_not logical_or logical_xor maximum minimum multiply negative not_equal pow power reciprocal remainder "
        "round sign sin sinh sqrt square subtract tan tanh true_divide trunc where",
        bitwise_count=("bit_count", "of unsigned integers"),
        left_shift=("bit_shift_left", "of unsigned integers"),
        average=("average", "without weights; axis is -1 by default"),
        float_power=("pow", "of floating-point numbers"),
        mod=("modulus_floor", "`mod` is the same without fmod=1"),
        mean=("average", "axis is -1 by default; `mean` is that of two tensors"),
        sum=("sum", "axis is -1 by default"),
        positive="identity",
        right_shift=("bit_shift_right", "of unsigned integers"),
        rint="round",
    ),
    "SciPy": _listed(
        "cbrt erf erfc erfinv exp2 expit expm1 log1p log_expit log_ndtr log_softmax logit logsumexp ndtr round softmax"
    ),
    "WebNN": _listed("", **_OF_WEBNN),
    "com.microsoft": _listed(
        "",
        BiasGelu=("gelu", "without its bias; add that first"),
        BiasSoftmax=("softmax", "without its bias; add that first"),
        FastGelu=("fast_gelu", "without its bias; add that first"),
        Gelu="gelu",
        QLinearAdd="quantized_linear_add",
        QuickGelu=("quick_gelu", "for alpha 1.702; `swish` takes any other"),
    ),
}


#: The names that people look for and that are no operators: what to do instead, and the names.
WITHOUT: dict[str, str] = {
    "It works in formulas of your own: write NumPy's function of that name": (
        "deg2rad degrees divmod floor_divide modf nan_to_num rad2deg radians signbit sinc"
    ),
    "Write it as a formula of your own": (
        "boxcox boxcox1p cosm1 entr exp10 exprel inv_boxcox inv_boxcox1p ndtri polar pseudo_huber rel_entr "
        "xlog1py xlogy"
    ),
    "Use reduce of mul, max, min, fmax or fmin, or a row operator of your own with reduces=True": (
        "all amax amin any nanmax nanmin nanprod nansum prod"
    ),
    "Write it as a row operator of your own, with row_sum, row_max and row_count": (
        "cosine_similarity moments norm std var"
    ),
    "ogive.onnx.load runs it in a model": (
        "ArgMax ArgMin Concat CumSum Dropout DynamicQuantizeLinear Expand Gather "
        "GatherElements GlobalLpPool GroupNormalization InstanceNormalization LRN Pad QLinearLeakyRelu QLinearMul QLinearSigmoid QLinearSoftmax Range "
        "ReduceL1 ReduceL2 ReduceLogSum ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Reshape "
        "SimplifiedLayerNormalization SkipLayerNormalization Slice Split Tile TopK Transpose Trilu "
        "group_norm instance_norm local_response_norm lrn"
    ),
    "For one result a channel write average(x, axis=(2, 3), keepdims=True)": "GlobalAveragePool adaptive_avg_pool2d global_average_pool global_avg_pool",
    "For one result a channel write max.reduce(x, axis=(2, 3), keepdims=True)": "GlobalMaxPool adaptive_max_pool2d global_max_pool",
    "ogive.webnn has it in its graphs": (
        "argMax argMin cast concat cumulativeSum expand gather gatherElements gatherND "
        "instanceNormalization pad reduceL1 reduceL2 reduceLogSum reduceMax reduceMean reduceMin "
        "reduceProduct reduceSum reduceSumSquare reshape reverse scatterElements scatterND slice split tile transpose "
        "triangular"
    ),
    "Ogive has no products of matrices, convolutions, pooling by windows, attention and networks with a state": (
        "Attention AveragePool Conv Gemm LpPool MatMul MaxPool MultiheadAttention averagePool2d average_pool avg_pool avg_pool1d "
        "avg_pool2d avg_pool3d bilinear conv1d "
        "conv2d conv3d convTranspose2d dot dot_product_attention einsum gemm grouped_mm gru gruCell l2Pool2d lp_pool lstm lstmCell "
        "matmul matvec max_pool max_pool1d max_pool2d max_pool3d maxPool2d scaled_dot_product_attention scaled_matmul vecdot vecmat"
    ),
    "Ogive does not resample, select or count elements": (
        "depth_to_space embedding fold grid_sample interpolate one_hot pixel_shuffle resample2d space_to_depth unfold upsample"
    ),
    "Ogive has no random numbers": "alpha_dropout dropout feature_alpha_dropout gumbel_softmax",
    "Give its logits to binary_cross_entropy_with_logits": "binary_cross_entropy bce_loss",
    "Write it as a formula of your own; ogive list has the losses that there are": (
        "ctc_loss dice_loss focal_loss hinge_embedding_loss hinge_loss l1_loss mae mae_loss poisson_nll_loss soft_margin_loss"
    ),
    "Write ogive.logcumsumexp(x, axis=...), which rounds each result once": "cumlogsumexp cumulative_logsumexp logcumsumexp",
    "Write ogive.add.accumulate(x, axis=...), which rounds each result once": "cumsum cumulative_sum",
    "Write ogive.mul.accumulate(x, axis=...), which rounds each result once": "cumprod cumulative_prod",
    "Write ogive.max.accumulate(x, axis=...)": "cummax",
    "Write ogive.min.accumulate(x, axis=...)": "cummin",
    "Write softmax for alpha 1, entmax15 for 1.5 and sparsemax for 2": "alpha_entmax entmax entmax_bisect",
    "Ogive has no Bessel, gamma and other functions of several series": (
        "beta betaln digamma erfcx expi exp1 gamma gammainc gammaln i0 i0e i1 i1e lgamma loggamma polygamma psi zeta"
    ),
    "Ogive has no complex numbers": "angle conj conjugate imag real",
    "Ogive has it neither for integers nor for floating-point numbers": "frexp gcd isnat lcm ldexp nextafter spacing",
}


def our_name(theirs: Theirs) -> str:
    return theirs if isinstance(theirs, str) else theirs[0]


@cache
def names_of(operator: str) -> tuple[str, ...]:
    """All names under which people look for an operator, but its own and those of the two standards."""
    found = {name for name, alias in ALIASES.items() if alias.operator == operator and not alias.values}
    mine = {operator, *found}
    found |= {name for names in OTHER_NAMES.values() for name, theirs in names.items() if our_name(theirs) in mine}
    return tuple(sorted(found - {operator}))


def called(theirs: str) -> set[str]:
    """The operators that a library calls so, by their names here; capitals do not matter."""
    return {
        our_name(meant)
        for names in OTHER_NAMES.values()
        for name, meant in names.items()
        if name.lower() == theirs.lower()
    }


@cache
def advice(theirs: str) -> str:
    """The advice for somebody who looks for this name of another library, as a sentence; empty if it is in no table.

    >>> advice("lesserOrEqual"), advice("conv").partition(",")[0]
    ('It is called less_or_equal here', 'Ogive has no products of matrices')
    """
    ours = sorted(called(theirs))
    if ours:
        return f"It is called {' or '.join(ours)} here"
    own = {name: sentence for sentence, names in reversed(WITHOUT.items()) for name in names.split()}
    return own.get(theirs) or {name.lower(): sentence for name, sentence in own.items()}.get(theirs.lower(), "")


def no_operator(module: str, name: str, way_out: str) -> AttributeError:
    """The error that a module of all operators raises for a name that it does not have."""
    from ogive.catalog import OPERATORS

    if name.startswith("__"):  # Python asks for these
        return AttributeError(f"module {module!r} has no attribute {name!r}")
    hint = advice(name) or suggestion(name, [*OPERATORS, *ALIASES], way_out)
    return MissingNameError(message(module, f"there is no operator {name!r}", "the operators of the catalogue", hint))


def found_here(module: str, name: str, function: Callable[[Any], Any]) -> Any:
    """``function`` of the operator of a name, for the ``__getattr__`` of a module that has one of each; made once."""
    from ogive.catalog import OPERATORS

    operator = named(name) if name in ALIASES else OPERATORS.get(name)
    if operator is None:
        way_out = f"ogive list names them; operators of your own: {module}.function"
        raise no_operator(module, name, way_out)
    return sys.modules[module].__dict__.setdefault(name, function(operator))


_THRESHOLD = (
    "threshold(x, min=...) is max(x, min). PyTorch's threshold(x, threshold, value) is another function: "
    "ogive.torch.nn.Threshold(threshold, value)"
)

_MEAN = "average(x, axis=...) is the mean of a row; mean is that of two tensors"

#: Parameters by their names in papers and older libraries.
_OF_PAPERS = {
    ("swish", "beta"): "alpha",
    ("swiglu", "beta"): "alpha",
    ("leaky_relu", "slope"): "alpha",
    ("leaky_relu", "leak"): "alpha",
    ("thresholded_relu", "theta"): "alpha",
    ("shrink", "threshold"): "lambd",
    ("softplus", "sharpness"): "steepness",
}


@cache
def parameter_here(operator: str, theirs: str) -> str:
    """The parameter to write in place of one that PyTorch, JAX or Keras calls so, as a sentence; empty if none does.

    Without a name the parameters were given by position: there is a sentence where an operator of that name differs.

    >>> parameter_here("leaky_relu", "negative_slope")
    'Write alpha for the negative_slope of PyTorch'
    """
    if not theirs:
        return {"threshold": _THRESHOLD, "mean": _MEAN}.get(operator, "")
    if theirs == "inplace":
        return "Write out=x to compute in place"
    if theirs == "rounding":
        return "Calls of gated units on arrays take it, such as ogive.swiglu(a, b, rounding='gate'); formulas and gradients round once"
    in_papers = _OF_PAPERS.get((operator, theirs))
    if in_papers is not None:
        return f"Write {in_papers} for the {theirs} of papers"
    for library, names in OTHER_NAMES.items():
        for meant in names.values():
            if not isinstance(meant, str) and meant[0] == operator:
                found = re.search(rf"\b{re.escape(theirs)} is (\w+)", meant[1])
                if found:
                    return f"Write {found[1]} for the {theirs} of {library}"
    return ""
