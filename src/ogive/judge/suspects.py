"""Wrong implementations that people write, to be compared with a subject bit by bit: a table.

Each row is what somebody would write with NumPy. It is computed in a working type, every operation rounded to it, and
its result rounded to the element type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ogive.graph.error_functions import compiled_error_function


class Tools:
    """Functions of NumPy, with numbers of the working type."""

    def __init__(self, work: Any) -> None:
        self.work = np.dtype(work)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def c(self, value: float) -> Any:
        """A constant."""
        return self.work.type(value)

    def erf(self, x: np.ndarray) -> np.ndarray:
        """The error function, right to the working type."""
        found = compiled_error_function("erf", np.float64)
        long = np.asarray(x, np.float64)
        if found is None:
            import math

            value = np.array([math.erf(v) for v in long.ravel()]).reshape(long.shape)
        else:
            value = found(long)
        rounded: np.ndarray = value.astype(self.work)
        return rounded

    def erf_short(self, x: np.ndarray) -> np.ndarray:
        """Formula 7.1.26 of Abramowitz and Stegun, with an error of 1.5e-7."""
        c, a = self.c, np.abs(x)
        t = c(1) / (c(1) + c(0.3275911) * a)
        p = c(1.061405429)
        for k in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
            p = p * t + c(k)
        y = c(1) - p * t * np.exp(-a * a)
        found: np.ndarray = np.copysign(y, x)
        return found

    def sigmoid(self, x: np.ndarray) -> np.ndarray:
        """1 / (1 + exp(-x))."""
        found: np.ndarray = self.c(1) / (self.c(1) + np.exp(-x))
        return found


Formula = Callable[[Any, np.ndarray, Mapping[str, Any]], Any]


class Suspect(NamedTuple):
    """One wrong implementation."""

    cause: str
    """The name of the cause that it shows."""
    text: str
    """A sentence for people."""
    written: str
    """As somebody would write it."""
    formula: Formula


def _gelu(erf: str) -> Formula:
    return lambda f, x, p: f.c(0.5) * x * (f.c(1) + getattr(f, erf)(x * f.c(0.7071067811865476)))


def _gelu_tanh(f: Any, x: Any, p: Any) -> Any:
    u = f.c(0.7978845608028654) * (x + f.c(0.044715) * x * x * x)
    return f.c(0.5) * x * (f.c(1) + f.tanh(u))


_OVERFLOW = "the exponential overflows"
_CANCELS = "cancellation"

#: Operator -> what may be wrong with it.
SUSPECTS: dict[str, tuple[Suspect, ...]] = {
    "gelu": (
        Suspect(_CANCELS, "1 + erf(x / sqrt(2)) cancels where x is negative", "0.5 * x * (1 + erf(x / sqrt(2)))", _gelu("erf")),
        Suspect("short_erf", "erf is the formula 7.1.26 of Abramowitz and Stegun, whose error is 1.5e-7", "0.5 * x * (1 + erf_7_1_26(x / sqrt(2)))", _gelu("erf_short")),
        Suspect("tanh_form", "it is the form with tanh, not the exact one", "0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))", _gelu_tanh),
        Suspect("sigmoid_form", "it is the form with a sigmoid, not the exact one", "x * sigmoid(1.702 * x)", lambda f, x, p: x * f.sigmoid(f.c(1.702) * x)),
    ),
    "erf": (Suspect("short_erf", "it is the formula 7.1.26 of Abramowitz and Stegun, whose error is 1.5e-7", "erf_7_1_26(x)", lambda f, x, p: f.erf_short(x)),),
    "celu": (
        Suspect(_CANCELS, "exp(x / alpha) - 1 cancels near zero", "alpha * (exp(x / alpha) - 1)", lambda f, x, p: f.where(x >= 0, x, p["alpha"] * (f.exp(x / p["alpha"]) - f.c(1)))),
        Suspect("missing_division", "the exponent is x, not x / alpha", "alpha * (exp(x) - 1)", lambda f, x, p: f.where(x >= 0, x, p["alpha"] * f.expm1(x))),
    ),
    "elu": (
        Suspect(_CANCELS, "exp(x) - 1 cancels near zero", "alpha * (exp(x) - 1)", lambda f, x, p: f.where(x >= 0, x, p["alpha"] * (f.exp(x) - f.c(1)))),
        Suspect("extra_division", "the exponent is x / alpha, as in celu", "alpha * (exp(x / alpha) - 1)", lambda f, x, p: f.where(x >= 0, x, p["alpha"] * f.expm1(x / p["alpha"]))),
    ),
    "selu": (
        Suspect(_CANCELS, "exp(x) - 1 cancels near zero", "gamma * (alpha * exp(x) - alpha)", lambda f, x, p: f.where(x > 0, p["gamma"] * x, p["gamma"] * (p["alpha"] * f.exp(x) - p["alpha"]))),
        Suspect(_CANCELS, "exp(x) - 1 cancels near zero", "gamma * alpha * (exp(x) - 1)", lambda f, x, p: f.where(x > 0, p["gamma"] * x, p["gamma"] * p["alpha"] * (f.exp(x) - f.c(1)))),
        Suspect("wrong_constant", "its constants have four digits: 1.6733 and 1.0507", "1.0507 * 1.6733 * (exp(x) - 1)", lambda f, x, p: f.where(x > 0, f.c(1.0507) * x, f.c(1.0507 * 1.6733) * f.expm1(x))),
    ),
    "softplus": (
        Suspect(_CANCELS, "1 + exp(x) loses exp(x) where x is negative", "log(1 + exp(x))", lambda f, x, p: f.log(f.c(1) + f.exp(x))),
        Suspect(_CANCELS, "1 + exp(x) loses exp(x) where x is negative", "max(x, 0) + log(1 + exp(-abs(x)))", lambda f, x, p: f.maximum(x, f.c(0)) + f.log(f.c(1) + f.exp(-f.abs(x)))),
        Suspect("threshold", "it is x itself from a threshold of 20 on", "x if x > 20 else log1p(exp(x))", lambda f, x, p: f.where(x > 20, x, f.log1p(f.exp(x)))),
        Suspect("overflow", _OVERFLOW, "log1p(exp(x))", lambda f, x, p: f.log1p(f.exp(x))),
    ),
    "sigmoid": (
        Suspect("overflow", _OVERFLOW, "exp(x) / (1 + exp(x))", lambda f, x, p: f.exp(x) / (f.c(1) + f.exp(x))),
        Suspect("overflow", _OVERFLOW + ", and the tail becomes zero early", "1 / (1 + exp(-x))", lambda f, x, p: f.sigmoid(x)),
        Suspect(_CANCELS, "(1 + tanh(x / 2)) / 2 cancels where x is negative", "0.5 * (1 + tanh(x / 2))", lambda f, x, p: f.c(0.5) * (f.c(1) + f.tanh(x * f.c(0.5)))),
        Suspect(_CANCELS, "1 - 1 / (1 + exp(x)) cancels where x is negative", "1 - 1 / (1 + exp(x))", lambda f, x, p: f.c(1) - f.c(1) / (f.c(1) + f.exp(x))),
        Suspect("hard_form", "it is the hard sigmoid", "clip(x / 6 + 0.5, 0, 1)", lambda f, x, p: f.clip(x / f.c(6) + f.c(0.5), f.c(0), f.c(1))),
    ),
    "swish": (
        Suspect("overflow", "the exponential overflows, and infinity times zero is NaN", "x * (exp(x) / (1 + exp(x)))", lambda f, x, p: x * (f.exp(p["alpha"] * x) / (f.c(1) + f.exp(p["alpha"] * x)))),
        Suspect("overflow", _OVERFLOW + ", and the tail becomes zero early", "x / (1 + exp(-alpha * x))", lambda f, x, p: x / (f.c(1) + f.exp(-p["alpha"] * x))),
        Suspect(_CANCELS, "1 + tanh(x / 2) cancels where x is negative", "0.5 * x * (1 + tanh(x / 2))", lambda f, x, p: f.c(0.5) * x * (f.c(1) + f.tanh(p["alpha"] * x * f.c(0.5)))),
        Suspect("hard_form", "it is the hard swish", "x * clip(x / 6 + 0.5, 0, 1)", lambda f, x, p: x * f.clip(x / f.c(6) + f.c(0.5), f.c(0), f.c(1))),
    ),
    "mish": (
        Suspect(_CANCELS, "log(1 + exp(x)) loses exp(x) where x is negative", "x * tanh(log(1 + exp(x)))", lambda f, x, p: x * f.tanh(f.log(f.c(1) + f.exp(x)))),
        Suspect("overflow", _OVERFLOW, "x * tanh(log1p(exp(x)))", lambda f, x, p: x * f.tanh(f.log1p(f.exp(x)))),
        Suspect("overflow", "the square of the exponential overflows", "n = e * (e + 2); x * n / (n + 2)", lambda f, x, p: x * (f.exp(x) * (f.exp(x) + f.c(2))) / (f.exp(x) * (f.exp(x) + f.c(2)) + f.c(2))),
    ),
    "tanh": (
        Suspect("overflow", _OVERFLOW, "(exp(2 * x) - 1) / (exp(2 * x) + 1)", lambda f, x, p: (f.exp(f.c(2) * x) - f.c(1)) / (f.exp(f.c(2) * x) + f.c(1))),
        Suspect(_CANCELS, "1 - 2 / (exp(2 * x) + 1) cancels near zero", "1 - 2 / (exp(2 * x) + 1)", lambda f, x, p: f.c(1) - f.c(2) / (f.exp(f.c(2) * x) + f.c(1))),
        Suspect(_CANCELS, "2 * sigmoid(2 * x) - 1 cancels near zero", "2 * sigmoid(2 * x) - 1", lambda f, x, p: f.c(2) * f.sigmoid(f.c(2) * x) - f.c(1)),
        Suspect("rational_form", "it is a quotient of polynomials for small x", "x * (27 + x * x) / (27 + 9 * x * x)", lambda f, x, p: x * (f.c(27) + x * x) / (f.c(27) + f.c(9) * x * x)),
    ),
    "expm1": (Suspect(_CANCELS, "exp(x) - 1 cancels near zero", "exp(x) - 1", lambda f, x, p: f.exp(x) - f.c(1)),),
    "log1p": (Suspect(_CANCELS, "1 + x loses digits of x near zero", "log(1 + x)", lambda f, x, p: f.log(f.c(1) + x)),),
    "log1mexp": (
        Suspect(_CANCELS, "1 - exp(-x) cancels near zero, and is 1 where exp(-x) is small", "log(1 - exp(-x))", lambda f, x, p: f.log(f.c(1) - f.exp(-x))),
        Suspect(_CANCELS, "log1p(-exp(-x)) cancels near zero", "log1p(-exp(-x))", lambda f, x, p: f.log1p(-f.exp(-x))),
        Suspect(_CANCELS, "-expm1(-x) is 1 where exp(-x) is small", "log(-expm1(-x))", lambda f, x, p: f.log(-f.expm1(-x))),
    ),
    "log_sigmoid": (
        Suspect(_CANCELS, "1 + exp(-x) loses exp(-x) where x is positive", "-log(1 + exp(-x))", lambda f, x, p: -f.log(f.c(1) + f.exp(-x))),
        Suspect(_CANCELS, "the sigmoid is 1 for large x, and zero far below", "log(sigmoid(x))", lambda f, x, p: f.log(f.sigmoid(x))),
    ),
    "logit": (Suspect(_CANCELS, "the quotient is 1 and a rounding error near 1/2", "log(x / (1 - x))", lambda f, x, p: f.log(x / (f.c(1) - x))),),
    "hard_sigmoid": (Suspect("wrong_constant", "its slope is 1 / 6, not 0.2", "clip(x / 6 + 0.5, 0, 1)", lambda f, x, p: f.clip(x / f.c(6) + f.c(0.5), f.c(0), f.c(1))),),
    "hard_swish": (Suspect("wrong_constant", "its slope is 0.2, not 1 / 6", "x * clip(0.2 * x + 0.5, 0, 1)", lambda f, x, p: x * f.clip(f.c(0.2) * x + f.c(0.5), f.c(0), f.c(1))),),
    "softsign": (Suspect("overflow", "infinity divided by infinity is NaN", "x / (1 + abs(x))", lambda f, x, p: x / (f.c(1) + f.abs(x))),),
    "leaky_relu": (Suspect("wrong_form", "it is max(x, alpha * x), which is another function where alpha is above 1", "max(x, alpha * x)", lambda f, x, p: f.maximum(x, p["alpha"] * x)),),
    "relu": (Suspect("nan_as_zero", "max(x, 0) gives 0 for NaN", "x if x > 0 else 0", lambda f, x, p: f.where(x > 0, x, f.c(0))),),
    "shrink": (
        Suspect("soft_form", "it is soft shrinking, with bias = lambd", "x - lambd if x > lambd", lambda f, x, p: f.where(x > p["lambd"], x - p["lambd"], f.where(x < -p["lambd"], x + p["lambd"], f.c(0)))),
        Suspect("hard_form", "it is hard shrinking, without the bias", "x if abs(x) > lambd else 0", lambda f, x, p: f.where(f.abs(x) > p["lambd"], x, f.c(0))),
    ),
    "scaled_tanh": (Suspect("swapped_parameters", "alpha and beta are swapped", "beta * tanh(alpha * x)", lambda f, x, p: p["beta"] * f.tanh(p["alpha"] * x)),),
}  # fmt: skip


def computed(formula: Formula, x: np.ndarray, parameters: Mapping[str, Any], work: Any) -> np.ndarray:
    """The results of a formula with every operation in a working type, rounded to the input's type."""
    tools = Tools(work)
    numbers = {
        name: tools.c(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
        for name, value in parameters.items()
    }
    with np.errstate(all="ignore"):
        found = np.asarray(formula(tools, x.astype(work), numbers))
        return found.astype(work).astype(x.dtype)
