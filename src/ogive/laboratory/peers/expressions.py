"""How each peer writes an operator: a table per peer, from Ogive's name to an expression, as its users write it.

The names in an expression are the peer's module, the operator's tensors and its parameters; `out` is the tensor that
a result is written to. An operator that is missing in a table is one that the peer does not have.
"""

from __future__ import annotations

from typing import Any

_TRIGONOMETRIC = ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh")
_OF_X = (*_TRIGONOMETRIC, *["abs", "ceil", "exp", "floor", "neg", "reciprocal", "round", "sign", "sqrt", "tanh"])
_OF_TWO = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def expression(table: dict[str, str], operator: str, parameters: dict[str, float]) -> str | None:
    """The expression of an operator; where parameters select a function, of that one."""
    if operator == "shrink" and parameters.get("bias") == parameters.get("lambd"):
        return table.get("shrink (soft)", table.get("shrink"))
    return table.get(operator)


# ---- PyTorch

#: Calls that return a new tensor.
TORCH = {
    **{name: f"torch.{name}(x)" for name in (*_OF_X, "erf", "log", "relu", "sigmoid")},
    **{name: f"torch.{name}(a, b)" for name in _OF_TWO},
    "atan2": "torch.atan2(y, x)",
    "max": "torch.maximum(a, b)",
    "min": "torch.minimum(a, b)",
    "mod": "torch.fmod(a, b)",
    "pow": "torch.pow(x, exponent)",
    "celu": "torch.celu(x, alpha)",
    "clip": "torch.clamp(x, min, max)",
    "elu": "torch.nn.functional.elu(x)",
    "gelu": "torch.nn.functional.gelu(x)",
    "gelu_tanh": "torch.nn.functional.gelu(x, approximate='tanh')",
    "hard_swish": "torch.nn.functional.hardswish(x)",
    "leaky_relu": "torch.nn.functional.leaky_relu(x, 0.01)",
    "linear": "alpha * x + beta",
    "mish": "torch.nn.functional.mish(x)",
    "prelu": "torch._prelu_kernel(x, slope)",
    "scaled_tanh": "alpha * torch.tanh(beta * x)",
    "selu": "torch.nn.functional.selu(x)",
    "shrink": "torch.nn.functional.hardshrink(x, lambd)",
    "shrink (soft)": "torch.nn.functional.softshrink(x, lambd)",
    "softplus": "torch.nn.functional.softplus(x)",
    "softsign": "torch.nn.functional.softsign(x)",
    "swiglu": "torch.nn.functional.silu(a) * b",
    "swish": "torch.nn.functional.silu(x)",
    "thresholded_relu": "torch.nn.functional.threshold(x, alpha, 0.0)",
    "softmax": "torch.softmax(x, -1)",
    "log_softmax": "torch.log_softmax(x, -1)",
    "logsumexp": "torch.logsumexp(x, -1)",
    "layer_normalization": "torch.nn.functional.layer_norm(x, x.shape[-1:], scale, bias)",
    "chain": "torch.celu(x * w + b, 1.5) * torch.sigmoid(g)",
}

#: Calls that write into a given tensor, where there is such a function: large results then need no new memory.
TORCH_INTO = {
    **{name: f"torch.{name}(x, out=out)" for name in (*_OF_X, "erf", "log", "sigmoid")},
    **{name: f"torch.{name}(a, b, out=out)" for name in _OF_TWO},
    "atan2": "torch.atan2(y, x, out=out)",
    "max": "torch.maximum(a, b, out=out)",
    "min": "torch.minimum(a, b, out=out)",
    "mod": "torch.fmod(a, b, out=out)",
    "pow": "torch.pow(x, exponent, out=out)",
    "celu": "torch.ops.aten.celu.out(x, alpha, out=out)",
    "clip": "torch.clamp(x, min, max, out=out)",
    "elu": "torch._C._nn.elu(x, out=out)",
    "gelu": "torch._C._nn.gelu(x, out=out)",
    "gelu_tanh": "torch._C._nn.gelu(x, approximate='tanh', out=out)",
    "hard_swish": "torch._C._nn.hardswish(x, out=out)",
    "leaky_relu": "torch._C._nn.leaky_relu(x, 0.01, out=out)",
    "linear": "torch.mul(x, alpha, out=out).add_(beta)",
    "mish": "torch._C._nn.mish(x, out=out)",
    "relu": "torch.ops.aten.relu.out(x, out=out)",
    "scaled_tanh": "torch.mul(x, beta, out=out).tanh_().mul_(alpha)",
    "selu": "torch._C._nn.elu(x, 1.67326319, 1.05070102, out=out)",
    "shrink": "torch.ops.aten.hardshrink.out(x, lambd, out=out)",
    "shrink (soft)": "torch._C._nn.softshrink(x, lambd, out=out)",
    "softplus": "torch._C._nn.softplus(x, out=out)",
    "swish": "torch._C._nn.silu(x, out=out)",
    "thresholded_relu": "torch.ops.aten.threshold.out(x, alpha, 0.0, out=out)",
    "softmax": "torch.softmax(x, -1, out=out)",
    "log_softmax": "torch.log_softmax(x, -1, out=out)",
    "logsumexp": "torch.logsumexp(x, -1, out=out)",
}

#: Calls that overwrite their first tensor. An operator that is not here writes into it as `TORCH_INTO` has it.
TORCH_IN_PLACE = {
    **{name: f"x.{name}_()" for name in (*_OF_X, "erf", "log", "relu", "sigmoid")},
    **{name: f"a.{name}_(b)" for name in _OF_TWO},
    "atan2": "y.atan2_(x)",
    "mod": "a.fmod_(b)",
    "pow": "x.pow_(exponent)",
    "celu": "torch.celu_(x, alpha)",
    "elu": "torch.nn.functional.elu_(x)",
    "hard_swish": "torch._C._nn.hardswish_(x)",
    "leaky_relu": "torch.nn.functional.leaky_relu_(x, 0.01)",
    "linear": "x.mul_(alpha).add_(beta)",
    "mish": "torch._C._nn.mish_(x)",
    "scaled_tanh": "x.mul_(beta).tanh_().mul_(alpha)",
    "selu": "torch.selu_(x)",
    "swiglu": "a.mul_(torch.sigmoid(a)).mul_(b)",
    "swish": "torch._C._nn.silu_(x)",
    "thresholded_relu": "torch.threshold_(x, alpha, 0.0)",
}

# ---- JAX, compiled by jax.jit

JAX = {
    **{name: f"jax.numpy.{name}(x)" for name in (*_OF_X, "log") if name != "neg"},
    **{name: f"a {sign} b" for name, sign in _OF_TWO.items()},
    "neg": "-x",
    "atan2": "jax.numpy.arctan2(y, x)",
    "max": "jax.numpy.maximum(a, b)",
    "min": "jax.numpy.minimum(a, b)",
    "mod": "jax.numpy.fmod(a, b)",
    "pow": "x ** exponent",
    "erf": "jax.lax.erf(x)",
    "celu": "jax.nn.celu(x, alpha)",
    "clip": "jax.numpy.clip(x, min, max)",
    "elu": "jax.nn.elu(x)",
    "gelu": "jax.nn.gelu(x, approximate=False)",
    "gelu_tanh": "jax.nn.gelu(x, approximate=True)",
    "hard_sigmoid": "jax.numpy.clip(x * 0.2 + 0.5, 0.0, 1.0)",
    "hard_swish": "jax.nn.hard_swish(x)",
    "leaky_relu": "jax.nn.leaky_relu(x, 0.01)",
    "linear": "alpha * x + beta",
    "mish": "jax.nn.mish(x)",
    "prelu": "jax.numpy.where(x >= 0, x, slope * x)",
    "relu": "jax.nn.relu(x)",
    "scaled_tanh": "alpha * jax.numpy.tanh(beta * x)",
    "selu": "jax.nn.selu(x)",
    "shrink": "jax.numpy.where(x > lambd, x - bias, jax.numpy.where(x < -lambd, x + bias, 0))",
    "sigmoid": "jax.nn.sigmoid(x)",
    "softplus": "jax.nn.softplus(x)",
    "softsign": "jax.nn.soft_sign(x)",
    "swiglu": "jax.nn.silu(a) * b",
    "swish": "jax.nn.silu(x)",
    "thresholded_relu": "jax.numpy.where(x > alpha, x, 0)",
    "softmax": "jax.nn.softmax(x, -1)",
    "log_softmax": "jax.nn.log_softmax(x, -1)",
    "logsumexp": "jax.nn.logsumexp(x, -1)",
    "chain": "jax.nn.celu(x * w + b, 1.5) * jax.nn.sigmoid(g)",
}

# ---- TensorFlow

TENSORFLOW = {
    **{name: f"tensorflow.math.{name}(x)" for name in (*_OF_X, "log", "erf") if name != "neg"},
    **{name: f"a {sign} b" for name, sign in _OF_TWO.items()},
    "neg": "-x",
    "atan2": "tensorflow.math.atan2(y, x)",
    "max": "tensorflow.math.maximum(a, b)",
    "min": "tensorflow.math.minimum(a, b)",
    "mod": "tensorflow.truncatemod(a, b)",
    "pow": "x ** exponent",
    "clip": "tensorflow.clip_by_value(x, min, max)",
    "elu": "tensorflow.nn.elu(x)",
    "gelu": "tensorflow.nn.gelu(x, approximate=False)",
    "gelu_tanh": "tensorflow.nn.gelu(x, approximate=True)",
    "leaky_relu": "tensorflow.nn.leaky_relu(x, alpha)",
    "linear": "alpha * x + beta",
    "prelu": "tensorflow.where(x >= 0, x, slope * x)",
    "relu": "tensorflow.nn.relu(x)",
    "selu": "tensorflow.nn.selu(x)",
    "sigmoid": "tensorflow.math.sigmoid(x)",
    "softplus": "tensorflow.math.softplus(x)",
    "softsign": "tensorflow.nn.softsign(x)",
    "swiglu": "tensorflow.nn.silu(a) * b",
    "swish": "tensorflow.nn.silu(x)",
    "softmax": "tensorflow.nn.softmax(x, -1)",
    "log_softmax": "tensorflow.nn.log_softmax(x, -1)",
}

# ---- ONNX, for ONNX Runtime and OpenVINO

#: (operator, attributes beside our parameters).
ONNX: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name.capitalize(), {}) for name in (*_OF_X, *_OF_TWO, "erf", "log", "relu", "sigmoid")},
    **{name: (name.capitalize(), {}) for name in ("max", "min", "pow", "celu", "clip", "elu", "gelu", "mish", "selu")},
    **{name: (name.capitalize(), {}) for name in ("shrink", "softplus", "softsign")},
    "gelu_tanh": ("Gelu", {"approximate": "tanh"}),
    "hard_sigmoid": ("HardSigmoid", {}),
    "hard_swish": ("HardSwish", {}),
    "leaky_relu": ("LeakyRelu", {}),
    "mod": ("Mod", {"fmod": 1}),
    "prelu": ("PRelu", {}),
    "thresholded_relu": ("ThresholdedRelu", {}),
    "softmax": ("Softmax", {"axis": -1}),
    "log_softmax": ("LogSoftmax", {"axis": -1}),
    "layer_normalization": ("LayerNormalization", {"axis": -1}),
}

# ---- LiteRT, which has XNNPACK's functions

#: (operator of its schema, attributes of its options).
LITERT: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name.upper(), {}) for name in ("abs", "ceil", "cos", "elu", "exp", "floor", "log", "relu", "sin")},
    **{name: (name.upper(), {}) for name in ("hard_swish", "sqrt", "tanh")},
    "gelu": ("GELU", {"approximate": False}),
    "gelu_tanh": ("GELU", {"approximate": True}),
    "leaky_relu": ("LEAKY_RELU", {"alpha": 0.01}),
    "sigmoid": ("LOGISTIC", {}),
    "softmax": ("SOFTMAX", {"beta": 1.0}),
}

# ---- numexpr

NUMEXPR = {
    **{name: f"{name}(x)" for name in _OF_X if name not in ("neg", "reciprocal") and name not in _TRIGONOMETRIC[3:]},
    **{name: f"{name}(x)" for name in ("sinh", "cosh", "log")},
    **{f"a{name}": f"arc{name}(x)" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{name: f"a {sign} b" for name, sign in _OF_TWO.items()},
    "neg": "-x",
    "reciprocal": "1 / x",
    "atan2": "arctan2(y, x)",
    "max": "where(a >= b, a, b)",
    "min": "where(a <= b, a, b)",
    "mod": "fmod(a, b)",
    "pow": "x ** exponent",
    "celu": "where(x >= 0, x, alpha * expm1(x / alpha))",
    "elu": "where(x >= 0, x, expm1(x))",
    "hard_sigmoid": "where(x <= -2.5, 0, where(x >= 2.5, 1, x * 0.2 + 0.5))",
    "hard_swish": "where(x <= -3, 0, where(x >= 3, x, x * (x + 3) / 6))",
    "leaky_relu": "where(x >= 0, x, 0.01 * x)",
    "linear": "alpha * x + beta",
    "prelu": "where(x >= 0, x, slope * x)",
    "relu": "where(x <= 0, 0, x)",
    "scaled_tanh": "alpha * tanh(beta * x)",
    "selu": "where(x > 0, 1.05070102 * x, 1.75809935 * expm1(x))",
    "shrink": "where(x > lambd, x - bias, where(x < -lambd, x + bias, 0))",
    "sigmoid": "1 / (1 + exp(-x))",
    "softplus": "where(x > 0, x, 0) + log1p(exp(-abs(x)))",
    "softsign": "x / (1 + abs(x))",
    "swiglu": "a / (1 + exp(-a)) * b",
    "swish": "x / (1 + exp(-x))",
    "thresholded_relu": "where(x > alpha, x, 0)",
    "chain": "where(x * w + b >= 0, x * w + b, 1.5 * expm1((x * w + b) / 1.5)) / (1 + exp(-g))",
}
