"""Running functions along an axis, which have a result for each element, of the elements up to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ogive.common.conversion import converted
from ogive.common.dtypes import element_type_of
from ogive.errors import ArgumentError, DTypeError, ParameterError, ShapeError, described, message

TYPES = ("float16", "bfloat16", "float32", "float64")


class RunningFunction:
    """A function of the elements up to each place of an axis, and the gradient that `ogive.vjp` makes of it."""

    def __init__(self, function: Callable[..., Any], compute: str, gradient: str) -> None:
        self.__name__ = self.name = function.__name__
        self.__qualname__, self.__doc__, self.__module__ = function.__qualname__, function.__doc__, function.__module__
        self._compute, self._gradient = compute, gradient

    def __call__(self, x: Any, axis: int = -1) -> Any:
        array = self._floats("x", x)
        place = self.checked_axis(axis, array.ndim)
        return self.computed(array, place) if array.ndim else self.computed(array.reshape(1), 0)[0]

    def computed(self, array: np.ndarray, axis: int) -> np.ndarray:
        """The results of an array of one of the types."""
        return self._in_engine(self._compute)(array, axis)

    def gradient(self, given: np.ndarray, array: np.ndarray, axis: int) -> np.ndarray:
        """The gradient of an array, of that of the results, which has its type and its shape."""
        return self._in_engine(self._gradient)(given, array, axis)

    def vjp(self, wrt: Iterable[str] | None = None) -> Any:
        """The gradient as a function: (gradient of the result, x, axis=-1) to the gradient of x."""
        if wrt is not None and tuple((wrt,) if isinstance(wrt, str) else wrt) != ("x",):
            raise ArgumentError(message("ogive.vjp", f"wrt is {described(wrt)}, for {self.name}", "'x'"))

        def gradient_of(given: Any, x: Any, axis: int = -1) -> Any:
            array = self._floats("x", x)
            place = self.checked_axis(axis, array.ndim)
            upstream = converted(self._floats("the gradient", given), array.dtype)
            if upstream.shape != array.shape:
                what = f"the gradient has shape {upstream.shape}, and x {array.shape}"
                raise ShapeError(message(f"vjp({self.name})", what, "the shape of x"))
            if not array.ndim:
                return self.gradient(upstream.reshape(1), array.reshape(1), 0)[0]
            return self.gradient(upstream, array, place)

        gradient_of.__name__ = gradient_of.__qualname__ = f"vjp({self.name})"
        return gradient_of

    def checked_axis(self, axis: Any, dimensions: int) -> int:
        """An axis, counted from the front."""
        is_whole = isinstance(axis, int | np.integer) and not isinstance(axis, bool)
        if not dimensions and is_whole and axis in (0, -1):
            return 0
        if not is_whole or not -dimensions <= axis < dimensions:
            allowed = f"whole numbers from {-dimensions} to {dimensions - 1}" if dimensions else "0, -1"
            what = f"axis is {axis!r} for an array of {dimensions} dimensions"
            raise ParameterError(message(self.name, what, allowed))
        return int(axis) % dimensions

    def _floats(self, name: str, x: Any) -> np.ndarray:
        """The elements; integers become float64, as in NumPy."""
        array = np.asarray(x)
        if array.dtype.kind in "iub":
            return array.astype(np.float64)
        kind = element_type_of(array.dtype)
        if kind is None or kind.name not in TYPES:
            raise DTypeError(message(self.name, f"{name} is {described(x)}", ", ".join(TYPES)))
        return array

    @staticmethod
    def _in_engine(name: str) -> Callable[..., np.ndarray]:
        from ogive.engine import running_logarithms  # only such calls need it

        found: Callable[..., np.ndarray] = getattr(running_logarithms, name)
        return found

    def __repr__(self) -> str:
        return f"<function ogive.{self.name}(x, axis=-1)>"

    def __reduce__(self) -> str:
        return self.name


def _logcumsumexp(x: Any, axis: int = -1) -> Any:
    """Running logarithm of the sum of exponentials: ``log(exp(x[0]) + ... + exp(x[i]))``, each rounded once.

    x is an array of any shape, of float16, bfloat16, float32 or float64; integers become float64. The result has its shape and its
    type. A number is a row of one element. ``axis`` is the last one by default.

    Special cases: an element of -inf adds nothing; from an element of inf on results are inf, from NaN on NaN.
    `ogive.vjp` of it is (gradient of the result, x, axis=-1) to the gradient of x, rounded once too; that is NaN in rows
    with NaN or inf, and of the elements of -inf that a row begins with.

    Raises DTypeError for other types, ParameterError for an axis that x does not have.

    >>> import numpy as np, ogive
    >>> ogive.logcumsumexp([0.0, 0.0, 1000.0])
    array([0.00000000e+00, 6.93147181e-01, 1.00000000e+03])
    >>> ogive.vjp(ogive.logcumsumexp)([0.0, 1.0], [1.0, 2.0])
    array([0.26894142, 0.73105858])

    Source: PyTorch logcumsumexp; JAX lax.cumlogsumexp.
    """


_logcumsumexp.__name__ = _logcumsumexp.__qualname__ = "logcumsumexp"
logcumsumexp = RunningFunction(_logcumsumexp, "running_log_sum_exp", "running_log_sum_exp_gradient")
