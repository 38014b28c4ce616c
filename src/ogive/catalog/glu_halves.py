"""Gated linear units: operators of two tensors that take one tensor too, which holds both halves along an axis."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ogive.catalog.rounded_steps import ONCE, roundings_of, steps_of
from ogive.common.dtypes import FLOATS
from ogive.common.forking import cached_property
from ogive.errors import ArgumentError, ParameterError, ShapeError, message
from ogive.operators.operator import Operator
from ogive.operators.signature import Constraint, Signature, in_order

LAST = -1


class OfHalves(Operator):
    """An operator that is called as ``f(a, b)``, or as ``f(x, axis=-1)`` with a and b as the halves of x.

    ``rounding`` says where it rounds: once, or in steps (ogive.catalog.rounded_steps).
    """

    keywords: tuple[str, ...] = ("axis", "rounding")

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        first, second, *rest = self.__signature__.parameters.values()
        own = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
            for name, default in (("axis", LAST), ("rounding", ONCE))
        ]
        self.__signature__ = self.__signature__.replace(parameters=[first, second.replace(default=None), *rest, *own])

    def _documentation(self) -> str:
        return (
            f"{super()._documentation()}\nWith one tensor {self.tensors[0]} and {self.tensors[1]} are its halves along "
            "axis, the last one unless told otherwise.\nKeyword rounding: 'once', 'gate' or 'body', where the unit has it; "
            "default 'once'. 'gate' rounds the gate to the element type, 'body' each step of the function in ONNX's schema."
        )

    def bind(self, /, *arguments: Any, rounding: str = ONCE, **parameters: Any) -> np.ufunc:
        """The ``numpy.ufunc`` with these parameters, which rounds where ``rounding`` says.

        >>> import numpy as np, ogive
        >>> a, b = np.float16([1.5]), np.float16([3.1])
        >>> ogive.swiglu.bind()(a, b), ogive.swiglu.bind(rounding="gate")(a, b)
        (array([3.8], dtype=float16), array([3.803], dtype=float16))
        """
        if rounding == ONCE and isinstance(rounding, str):
            return super().bind(*arguments, **parameters)
        allowed = self.roundings
        if not isinstance(rounding, str) or rounding not in allowed:
            raise ParameterError(message(self.name, f"rounding is {rounding!r}", ", ".join(map(repr, allowed))))
        values = self.checked_parameters(parameters)
        key = (self.accuracy, rounding, repr(values))  # other contracts share the table
        found = self._in_steps.get(key)
        if found is None:
            shown = ", ".join(f"{name}={value!r}" for name, value in {**values, "rounding": rounding}.items())
            made = self.ufunc_in_steps(
                f"{self.name}({shown})",
                lambda kind: steps_of(self.base.name, rounding, kind, values, self.accuracy),
            )
            made.__dict__["ogive_binding"] = (self, (*values.items(), ("rounding", rounding)))
            found = self._in_steps.setdefault(key, made)
        return found

    @property
    def roundings(self) -> tuple[str, ...]:
        """The places where the unit can round."""
        return roundings_of(self.base.name)

    @cached_property
    def _in_steps(self) -> dict[tuple[Any, ...], np.ufunc]:
        return {}

    def _call_otherwise(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        given = [arg for arg in args if arg is not None]
        if len(given) != 1 or args[0] is None:
            return super()._call_otherwise(args, keywords)
        rest = dict(keywords)
        return self(*self.halves(args[0], rest.pop("axis", LAST)), **rest)

    def _trace(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        if len([arg for arg in args if arg is not None]) == 1:
            way_out = f"Give the halves as tensors of their own: {self.name}({', '.join(self.tensors)})"
            raise ArgumentError(
                message(self.name, "one tensor was given in a formula, which has single elements", "two", way_out)
            )
        rounding = keywords.pop("rounding", ONCE)
        if rounding != ONCE:
            what = f"rounding is {rounding!r} inside a formula, which is rounded once"
            raise ParameterError(message(self.name, what, repr(ONCE), "Call it with arrays"))
        return super()._trace(args, keywords)

    def _refuse_keyword(self, name: str) -> Any:
        if name == "axis":
            what, allowed = "axis was given with two tensors", "axis with one tensor, which is cut in halves along it"
            raise ArgumentError(message(self.name, what, allowed))
        if name == "dim":
            raise ArgumentError(message(self.name, "there is no parameter 'dim'", "axis, which is NumPy's name for it"))
        super()._refuse_keyword(name)

    def halves(self, x: Any, axis: Any) -> tuple[Any, Any]:
        """Views of both halves of anything that is an array."""
        array = x if hasattr(x, "shape") and hasattr(x, "__getitem__") else np.asanyarray(x)
        dimensions = len(array.shape)
        if not isinstance(axis, int | np.integer) or isinstance(axis, bool) or not -dimensions <= axis < dimensions:
            what = f"axis is {axis!r} for an array of {dimensions} dimensions"
            allowed = f"whole numbers from {-dimensions} to {dimensions - 1}"
            if not dimensions:
                what, allowed = (
                    f"{self.tensors[0]} is a single number",
                    "two tensors, or arrays of one dimension or more",
                )
            raise ParameterError(message(self.name, what, allowed))
        length = array.shape[axis]
        if length % 2:
            what = f"axis {axis} has {length} elements, which have no halves"
            raise ShapeError(message(self.name, what, "an even number of elements, or two tensors"))
        before = (slice(None),) * (axis % dimensions)
        return array[(*before, slice(None, length // 2))], array[(*before, slice(length // 2, None))]


def of_halves(
    *, onnx: str | None = None, constraints: Mapping[str, Constraint] | None = None
) -> Callable[[Callable[..., Any]], OfHalves]:
    """Make an operator of a formula of two tensors."""

    def signatures(tensors: tuple[str, ...]) -> Iterable[Signature]:
        return [Signature((t,) * len(tensors), (t,)) for t in in_order(FLOATS)]

    return lambda function: OfHalves(function, signatures, constraints or {}, onnx=onnx)
