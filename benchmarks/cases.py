"""The timed things: sections of cases. Nothing here knows a peer."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import ml_dtypes  # noqa: F401  # by it NumPy knows the name of bfloat16
import numpy as np

__all__ = ["ARRAY_SECTIONS", "SIZES", "Case", "cases"]

SIZES = (16, 1 << 10, 1 << 16, 1 << 20, 1 << 24)


@dataclass(frozen=True)
class Case:
    """One thing to time: an operator with parameters on arrays of shapes, a type and a layout."""

    section: str
    operator: str
    names: tuple[str, ...]
    """The names of the tensors, as the operator has them."""
    shapes: tuple[tuple[int, ...], ...]
    parameters: tuple[tuple[str, float], ...] = ()
    dtype: str = "float32"
    in_place: bool = False
    layout: str = "contiguous"
    """How the first tensor and its like lie: see `laid_out`."""
    threads: int = 2

    @property
    def result_shape(self) -> tuple[int, ...]:
        return np.broadcast_shapes(*self.shapes)

    @property
    def elements(self) -> int:
        return math.prod(self.result_shape)

    def arrays(self) -> list[np.ndarray]:
        """Ordinary activations: a normal distribution of width 3, small integers for integer types."""
        generator = np.random.default_rng(0)
        pattern = generator.standard_normal(min(1 << 20, self.elements), dtype=np.float32) * 3
        if self.operator in ("acosh", "log", "pow", "sqrt"):  # where they are defined
            pattern = np.abs(pattern) + (self.operator == "acosh")
        elif self.operator in ("acos", "asin", "atanh"):
            pattern = np.clip(pattern / 12, -1, 1)
        made = []
        for i, shape in enumerate(self.shapes):
            values = np.resize(np.roll(pattern, 7 * i), math.prod(shape)).astype(self.dtype)
            if self.operator == "clip" and i:
                values[...] = -2 if i == 1 else 2
            made.append(laid_out(values.reshape(shape), self.layout if shape == self.result_shape else "contiguous"))
        return made


def laid_out(array: np.ndarray, layout: str) -> np.ndarray:
    """An array with the same elements, in a layout."""
    if layout == "channels last":  # (n, c, h, w) with the channels side by side in memory
        return np.ascontiguousarray(np.moveaxis(array, 1, -1)).transpose(0, array.ndim - 1, *range(1, array.ndim - 1))
    if layout == "every second column":
        wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
        wide[..., ::2] = array
        return wide[..., ::2]
    if layout == "transposed":
        return np.ascontiguousarray(array.T).T
    return array


#: Operator -> (tensors, parameters).
_OF_X = ["abs", "ceil", "exp", "erf", "floor", "log", "neg", "reciprocal", "round", "sign", "sqrt"]
_OF_X += ["sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh"]
_OF_X += [
    "elu",
    "gelu",
    "gelu_tanh",
    "hard_sigmoid",
    "hard_swish",
    "leaky_relu",
    "mish",
    "relu",
    "selu",
    "sigmoid",
    "softplus",
    "softsign",
    "swish",
    "tanh",
]
_OPERATORS: dict[str, tuple[tuple[str, ...], dict[str, float]]] = {
    "celu": (("x",), {"alpha": 1.5}),
    "linear": (("x",), {"alpha": 1.5, "beta": 0.75}),
    "prelu": (("x", "slope"), {}),
    "scaled_tanh": (("x",), {"alpha": 1.5, "beta": 0.75}),
    "shrink": (("x",), {"bias": 0.5, "lambd": 0.5}),
    "swiglu": (("a", "b"), {}),
    "thresholded_relu": (("x",), {"alpha": 1.0}),
    **{name: (("x",), {}) for name in _OF_X},
    **{name: (("a", "b"), {}) for name in ["add", "sub", "mul", "div", "max", "min", "mod"]},
    "pow": (("x", "exponent"), {}),
    "atan2": (("y", "x"), {}),
}
_OPERATORS = dict(sorted(_OPERATORS.items()))

#: For types of 16 bits.
_SHORT = [
    "celu",
    "elu",
    "gelu",
    "hard_swish",
    "leaky_relu",
    "mish",
    "prelu",
    "relu",
    "selu",
    "sigmoid",
    "softplus",
    "swish",
    "tanh",
    "exp",
    "add",
    "mul",
]
_SMALL_INTEGERS = ["abs", "add", "max", "min", "mul", "neg", "prelu", "relu", "shrink", "sign", "sub"]


def _elementwise(section: str, operators: list[str], dtype: str, sizes: tuple[int, ...]) -> Iterator[Case]:
    for name in operators:
        names, parameters = _OPERATORS[name]
        if dtype == "int8" and name == "shrink":
            parameters = {"bias": 1.0, "lambd": 1.0}
        for size in sizes:
            for in_place in (False, True):
                yield Case(section, name, names, ((size,),) * len(names), tuple(parameters.items()), dtype, in_place)


def _in_16_bits(dtype: str, sizes: tuple[int, ...]) -> Iterator[Case]:
    yield from _elementwise(dtype, _SHORT, dtype, sizes)
    for rows in (size >> 10 for size in sizes if 1 << 16 <= size <= 1 << 20):
        yield Case(dtype, "softmax", ("x",), ((rows, 1 << 10),), dtype=dtype)


#: The headline operators of the fast contract, from where threads share the work.
_FAST = ["exp", "gelu", "gelu_tanh", "mish", "sigmoid", "softplus", "swish", "tanh"]


def _chain(sizes: tuple[int, ...]) -> Iterator[Case]:
    for size in sizes:
        if size >= 1 << 20:
            yield Case("fused", "chain", ("x", "w", "b", "g"), ((size,),) * 4)
            rows = (size >> 10, 1 << 10)
            yield Case("fused", "chain", ("x", "w", "b", "g"), (rows, rows[1:], rows[1:], rows))


def _softmax() -> Iterator[Case]:
    for name in ("softmax", "log_softmax"):
        for shape in ((64, 1000), (1024, 1024), (32, 128256), (4096, 64)):
            yield Case("softmax", name, ("x",), (shape,))
    yield Case("softmax", "layer_normalization", ("x", "scale", "bias"), ((1024, 1024), (1024,), (1024,)))


def _layouts() -> Iterator[Case]:
    images, square, alpha = (32, 64, 64, 64), (2048, 4096), (("alpha", 1.5),)
    for layout in ("contiguous", "channels last"):
        yield Case("layouts", "prelu", ("x", "slope"), (images, images), layout=layout)
        yield Case("layouts", "prelu", ("x", "slope"), (images, (64, 1, 1)), layout=layout)
    yield Case("layouts", "add", ("a", "b"), (square, square))
    yield Case("layouts", "add", ("a", "b"), (square, square[1:]))
    yield Case("layouts", "add", ("a", "b"), (square, (square[0], 1)))
    for layout in ("contiguous", "every second column", "transposed"):
        for name, parameters in (("relu", ()), ("celu", alpha)):
            yield Case("layouts", name, ("x",), (square,), parameters, layout=layout)


def _xnnpack(sizes: tuple[int, ...]) -> Iterator[Case]:
    """The operators that XNNPACK has."""
    from ogive.laboratory.peers.expressions import (
        LITERT,  # here, since benchmarks.price asks for cases beside an older package
    )

    for size in (size for size in sizes if 1 << 16 <= size <= 1 << 20):
        for name in (name for name in LITERT if name in _OPERATORS):
            names, parameters = _OPERATORS[name]
            yield Case("xnnpack", name, names, ((size,),), tuple(parameters.items()))
        yield Case("xnnpack", "softmax", ("x",), ((size >> 10, 1 << 10),))


def _copy() -> Iterator[Case]:
    """Arrays larger than any cache: what moving the memory costs is what there is to compare with."""
    for name in ("relu", "shrink", "celu", "sigmoid", "gelu"):
        parameters = tuple(_OPERATORS[name][1].items())
        for in_place in (False, True):
            yield Case("copy", name, ("x",), ((1 << 24,),), parameters, in_place=in_place)


ARRAY_SECTIONS = {
    "float32": lambda sizes: _elementwise("float32", list(_OPERATORS), "float32", sizes),
    "float16": lambda sizes: _in_16_bits("float16", sizes),
    "bfloat16": lambda sizes: _in_16_bits("bfloat16", sizes),
    "int8": lambda sizes: _elementwise("int8", _SMALL_INTEGERS, "int8", sizes),
    "fast": lambda sizes: _elementwise("fast", _FAST, "float32", tuple(size for size in sizes if size >= 1 << 16)),
    "fused": _chain,
    "softmax": lambda sizes: _softmax(),
    "layouts": lambda sizes: _layouts(),
    "copy": lambda sizes: _copy(),
    "xnnpack": _xnnpack,
}


def cases(section: str, operators: tuple[str, ...], sizes: tuple[int, ...], threads: int) -> list[Case]:
    """The cases of a section; of all operators and sizes where none is named."""
    made = ARRAY_SECTIONS[section](sizes or SIZES)
    return [replace(case, threads=threads) for case in made if not operators or case.operator in operators]
