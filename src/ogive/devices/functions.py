"""Operators as functions of a device's arrays: what was given is checked before anything is computed."""

from __future__ import annotations

import contextlib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from ogive.common.array_shapes import broadcast_shapes
from ogive.common.conversion import converted
from ogive.common.dtypes import ElementType, element_type_of
from ogive.devices.device_plan import packed
from ogive.devices.kernels import Computing, Driver, Placed, kernel
from ogive.errors import ArgumentError, DTypeError, ShapeError, described, message, shapes_apart, suggestion
from ogive.operators.operator import Operator, advice_on, check_is_operator, named_like
from ogive.operators.signature import NUMPY_KEYWORDS, Signature


class DeviceCall(ABC):
    """One call; a subclass knows a library's arrays."""

    MODULE: ClassVar[str]
    ARRAYS: ClassVar[str]
    """The library's arrays in words."""
    WAY_IN: ClassVar[str]
    """How an array of NumPy becomes one."""
    WAY_OUT: ClassVar[str]
    """How one becomes an array of NumPy, with {0} for its name."""
    WHERE: ClassVar[str]
    """The keyword that says where to compute."""

    driver: Driver

    def __init__(self, operator: Operator, tensors: tuple[Any, ...], where: Any, keywords: dict[str, Any]) -> None:
        self.operator, self.subject = operator, f"{self.MODULE}.{operator.name}"
        axis = keywords.pop("axis", -1) if operator.is_row_wise else -1
        self._check_names(tensors, keywords)
        self.values = operator.checked_parameters(keywords)
        self.arrays = [tensor for tensor in tensors if self.is_array(tensor)]
        for name, tensor in zip(operator.tensors, tensors, strict=True):
            self._check_tensor(name, tensor)
        if not self.arrays:
            way_out = f"ogive.{operator.name} takes numbers and NumPy's arrays"
            raise ArgumentError(
                message(self.subject, f"no tensor is one of the {self.ARRAYS}", "at least one", way_out)
            )
        self.driver = self.driver_of(where)
        self.tensors = [
            self.placed(name, tensor) if self.is_array(tensor) else tensor
            for name, tensor in zip(operator.tensors, tensors, strict=True)
        ]
        self.signature = self._signature()
        shapes = [np.shape(tensor) if not isinstance(tensor, Placed) else tensor.shape for tensor in self.tensors]
        try:
            self.shape = broadcast_shapes(*shapes)
        except ValueError:
            raise shapes_apart(self.subject, operator.tensors, shapes) from None
        self.order = tuple(range(len(self.shape)))
        if operator.is_row_wise:
            self._turn(axis)

    @classmethod
    def function(cls, operator: Operator) -> Callable[..., Any]:
        """The calls of an operator as a function."""
        check_is_operator(f"{cls.MODULE}.function", operator)

        def call(*tensors: Any, **keywords: Any) -> Any:
            return cls(operator, tensors, keywords.pop(cls.WHERE, None), keywords).results()

        made: Any = named_like(operator, call, cls.MODULE, cls.ARRAYS)
        taken = [p for p in made.__signature__.parameters.values() if p.name not in NUMPY_KEYWORDS]
        where = inspect.Parameter(cls.WHERE, inspect.Parameter.KEYWORD_ONLY, default=None)
        made.__signature__ = inspect.Signature([*taken, where])
        return made  # type: ignore[no-any-return]

    @abstractmethod
    def is_array(self, tensor: Any) -> bool:
        """Whether it is one of the library's arrays."""

    @abstractmethod
    def driver_of(self, where: Any) -> Driver:
        """The driver for the arrays, and where the caller wants them computed."""

    @abstractmethod
    def placed(self, name: str, array: Any) -> Placed:
        """The place of an array."""

    @abstractmethod
    def wrapped(self, placed: Placed) -> Any:
        """The memory there as an array of the library."""

    # ---- what was given

    def _check_names(self, tensors: Sequence[Any], keywords: dict[str, Any]) -> None:
        operator = self.operator
        if len(tensors) != operator.inputs:
            many = "one tensor" if operator.inputs == 1 else f"{operator.inputs} tensors"
            what = f"it was given {len(tensors)} tensor{'' if len(tensors) == 1 else 's'}"
            raise ArgumentError(message(self.subject, what, f"{many} ({', '.join(operator.tensors)})"))
        known = [parameter.name for parameter in operator.parameters]
        for name in keywords:
            if name not in known:
                what, way_out = f"{name} was given", "Results are new arrays, of the types that NumPy's rules give"
                if name not in NUMPY_KEYWORDS:
                    what = f"there is no parameter {name!r}"
                    way_out = advice_on(operator.name, name) or suggestion(name, [*known, self.WHERE])
                raise ArgumentError(message(self.subject, what, ", ".join([*known, self.WHERE]), way_out))

    def _check_tensor(self, name: str, tensor: Any) -> None:
        is_number = isinstance(tensor, bool | int | float)
        is_element = isinstance(tensor, np.generic | np.ndarray) and not tensor.ndim
        if not (is_number or is_element or self.is_array(tensor)):
            what = f"{name} is {described(tensor)}"
            raise ArgumentError(message(self.subject, what, f"{self.ARRAYS}, and numbers", self.WAY_IN))

    def _signature(self) -> Signature:
        """The combination of element types that NumPy's rules choose."""
        operator = self.operator
        own = [
            np.dtype(bool) if name in operator.truth_inputs and kind == np.int8 else kind  # pyopencl's truth values
            for name, kind in zip(operator.tensors, map(_kind, self.tensors), strict=True)
        ]
        types: tuple[np.dtype, ...] = ()
        with contextlib.suppress(TypeError, ValueError):
            types = operator.resolve_dtypes((*own, *(None,) * operator.nout))
        for signature in operator.signatures:
            if tuple(t.numpy for t in (*signature.inputs, *signature.outputs)) == tuple(types):
                return signature
        named = (kind.__name__ if isinstance(kind, type) else kind.name for kind in own)
        given = ", ".join(f"{name} has {kind}" for name, kind in zip(operator.tensors, named, strict=True))
        allowed = ", ".join(dict.fromkeys(t.name for s in operator.signatures for t in s.inputs))
        raise DTypeError(message(self.subject, given, allowed))

    def _turn(self, axis: Any) -> None:
        """Have the rows along the last dimension."""
        if not self.shape or type(axis) is not int or not -len(self.shape) <= axis < len(self.shape):
            what = f"axis is {described(axis)}, and the shape is {self.shape}"
            raise ShapeError(message(self.subject, what, "one axis of the arrays"))
        place = axis % len(self.shape)
        self.order = (*(d for d in self.order if d != place), place)

    def _operand(self, k: int, tensor: Any) -> tuple[Placed, ElementType]:
        """The place of an operand, and its own element type."""
        wanted, name = self.signature.inputs[k], self.operator.tensors[k]
        if not isinstance(tensor, Placed):
            value = np.atleast_1d(self._number(k, tensor))
            memory = self.driver.allocate(value.nbytes)
            self.driver.write(memory, value)
            return Placed(memory, wanted.numpy, (1,), (wanted.itemsize,)).broadcast(self.shape or (1,)), wanted
        kind = element_type_of(tensor.dtype)
        if kind is None:
            way_out = f"Convert it on the host: {self.WAY_OUT.format(name)}.astype({wanted.name!r})"
            what = f"{name} has dtype {tensor.dtype}"
            raise DTypeError(message(self.subject, what, "element types in this machine's order of bytes", way_out))
        return tensor.broadcast(self.shape), kind

    def _number(self, k: int, number: Any) -> np.ndarray:
        """A number as an element of the operand's type."""
        wanted = self.signature.inputs[k]
        try:
            if type(number) is int:
                return np.array(number, wanted.numpy)
            with np.errstate(all="ignore"):
                return converted(np.asarray(number), wanted.numpy)
        except OverflowError:
            what = f"{self.operator.tensors[k]} is {described(number)}"
            raise DTypeError(message(self.subject, what, f"numbers of {wanted.name}")) from None

    # ---- computing

    def _on_host(self, *operands: np.ndarray) -> Sequence[np.ndarray]:
        """The operator's results on NumPy's arrays, of the elements that the device leaves open."""
        found = self.operator(*operands, **self.values)
        return found if isinstance(found, tuple) else (found,)

    def results(self) -> Any:
        operator = self.operator
        choices = {p.name: self.values[p.name] for p in operator.parameters if p.choices}
        numbers = [self.values[p.name] for p in operator.numeric_parameters]
        with self.driver.failures(self.subject, f"results of shape {self.shape}"):
            pairs = [self._operand(k, tensor) for k, tensor in enumerate(self.tensors)]
            operands, given = [placed for placed, _ in pairs], [kind for _, kind in pairs]
            shape = full = tuple(self.shape[d] for d in self.order)
            if operator.is_row_wise:
                operands = [o._replace(shape=full, strides=tuple(o.strides[d] for d in self.order)) for o in operands]
                shape = full[:-1] if operator.reduces else full
            made = [
                Placed(
                    self.driver.allocate(int(np.prod(shape, dtype=np.int64)) * t.itemsize),
                    t.numpy,
                    shape,
                    packed(shape, t.numpy),
                )
                for t in self.signature.outputs
            ]
            if 0 not in shape:
                compiled = kernel(self.driver, operator.computation(self.signature, **choices), given)
                memory = [one.memory for one in made]
                compiled.run(Computing(self.driver, full, operands, memory, numbers, self._on_host))
        if shape == full and self.order != tuple(range(len(full))):
            back = tuple(int(d) for d in np.argsort(self.order))
            made = [
                o._replace(shape=tuple(o.shape[d] for d in back), strides=tuple(o.strides[d] for d in back))
                for o in made
            ]
        found = tuple(map(self.wrapped, made))
        return found if len(found) > 1 else found[0]


def host_array(subject: str, values: Any) -> np.ndarray:
    """An array of NumPy in C order, of elements that devices have."""
    array = np.asarray(values, order="C")
    if array.dtype.hasobject or array.dtype.kind in "SUmM":
        raise DTypeError(message(subject, f"the array has dtype {array.dtype}", "numbers and truth values"))
    return array


def _kind(tensor: Any) -> Any:
    """The element type of an array; of a number of Python its type, which counts less."""
    if type(tensor) in (int, float):
        return type(tensor)
    return np.dtype(tensor.dtype) if hasattr(tensor, "dtype") else np.dtype(bool)
