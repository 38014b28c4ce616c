"""Bound operators in functions that Numba compiles: ``ogive.celu.bind(alpha=1.5)(x)`` in ``@njit``.

Numba loads this module by its entry point (``numba_extensions``) when it compiles for the first time; nobody imports it.
A bound operator is for Numba a function that is compiled for the types of its arguments: arrays, which broadcast, and
numbers. It makes contiguous arrays of them, and calls the kernel by its address. So the bits are those of the call in
Python. Element types are those that Numba has: float16 and bfloat16 it has not.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numba
import numpy as np
from numba.core import types
from numba.core.errors import TypingError
from numba.extending import overload, typeof_impl
from numba.np.numpy_support import as_dtype

from ogive import _native
from ogive.errors import DTypeError, message
from ogive.exporting.in_process import address

__all__ = ["register"]


def register() -> None:
    """Tell Numba of bound operators."""
    typeof_impl.register(_native.Ufunc)(_type_of)


def _type_of(ufunc: Any, context: object) -> Any:
    return types.Dispatcher(_compiled(ufunc))


@cache
def _compiled(ufunc: Any) -> Any:
    """The function that Numba compiles in the place of a bound operator."""
    if ufunc.signature is not None or ufunc.nin > 3 or ufunc.nout != 1:
        what = "it looks at whole rows" if ufunc.signature is not None else f"it has {ufunc.nin} tensors"
        raise TypingError(
            message(ufunc.__name__, f"{what}, in a function for Numba", "one to three tensors, one result")
        )

    def call(*operands: Any) -> Any:  # known to Numba by its overload alone
        raise NotImplementedError

    make: Any = (_of_one, _of_two, _of_three)[ufunc.nin - 1]

    def chosen(*operands: Any) -> Any:
        kinds = [as_dtype(o.dtype if isinstance(o, types.Array) else o) for o in operands]
        try:
            *inputs, result = ufunc.resolve_dtypes((*kinds, None))
            function = _function(address(ufunc, [str(kind) for kind in inputs]), len(inputs))
        except (TypeError, DTypeError) as error:
            raise TypingError(str(error)) from error
        is_number = not any(isinstance(o, types.Array) for o in operands)
        made = make(function, *inputs, result, is_number)
        made.__annotations__ = {}  # Numba compares them too
        return made

    names = ("a", "b", "c")[: ufunc.nin]
    # Numba compares the names of arguments.
    overload(call)(_with_names(chosen, names))
    return numba.njit(_with_names(call, names, is_call=True))


def _with_names(function: Any, names: tuple[str, ...], *, is_call: bool = False) -> Any:
    listed = ", ".join(names)
    scope: dict[str, Any] = {"function": function}
    text = f"def named({listed}):\n    return function({listed})"
    exec(text, scope)
    return scope["named"]


def _function(place: int, inputs: int) -> Any:
    pointers = [ctypes.c_void_p] * (inputs + 1)
    return ctypes.CFUNCTYPE(None, *pointers, ctypes.c_size_t, ctypes.c_size_t)(place)


def _of_one(function: Any, of_a: Any, result: Any, is_number: bool) -> Any:
    def on_array(a: Any) -> Any:
        x = np.ascontiguousarray(a).astype(of_a)
        y = np.empty(x.shape, result)
        function(x.ctypes, y.ctypes, 0, x.size)
        return y

    def on_number(a: Any) -> Any:
        x = np.full(1, a).astype(of_a)
        y = np.empty(1, result)
        function(x.ctypes, y.ctypes, 0, 1)
        return y[0]

    return on_number if is_number else on_array


def _of_two(function: Any, of_a: Any, of_b: Any, result: Any, is_number: bool) -> Any:
    def on_arrays(a: Any, b: Any) -> Any:
        u, v = np.asarray(a), np.asarray(b)
        shape = np.broadcast_shapes(u.shape, v.shape)
        x = np.ascontiguousarray(np.broadcast_to(u, shape)).astype(of_a)
        w = np.ascontiguousarray(np.broadcast_to(v, shape)).astype(of_b)
        y = np.empty(shape, result)
        function(x.ctypes, w.ctypes, y.ctypes, 0, x.size)
        return y

    def on_numbers(a: Any, b: Any) -> Any:
        x, w = np.full(1, a).astype(of_a), np.full(1, b).astype(of_b)
        y = np.empty(1, result)
        function(x.ctypes, w.ctypes, y.ctypes, 0, 1)
        return y[0]

    return on_numbers if is_number else on_arrays


def _of_three(function: Any, of_a: Any, of_b: Any, of_c: Any, result: Any, is_number: bool) -> Any:
    def on_arrays(a: Any, b: Any, c: Any) -> Any:
        u, v, w = np.asarray(a), np.asarray(b), np.asarray(c)
        shape = np.broadcast_shapes(u.shape, v.shape, w.shape)
        x = np.ascontiguousarray(np.broadcast_to(u, shape)).astype(of_a)
        s = np.ascontiguousarray(np.broadcast_to(v, shape)).astype(of_b)
        t = np.ascontiguousarray(np.broadcast_to(w, shape)).astype(of_c)
        y = np.empty(shape, result)
        function(x.ctypes, s.ctypes, t.ctypes, y.ctypes, 0, x.size)
        return y

    def on_numbers(a: Any, b: Any, c: Any) -> Any:
        x, s, t = np.full(1, a).astype(of_a), np.full(1, b).astype(of_b), np.full(1, c).astype(of_c)
        y = np.empty(1, result)
        function(x.ctypes, s.ctypes, t.ctypes, y.ctypes, 0, 1)
        return y[0]

    return on_numbers if is_number else on_arrays
