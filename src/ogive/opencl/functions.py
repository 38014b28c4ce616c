"""Operators as functions on pyopencl's arrays."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyopencl as cl
from pyopencl.array import Array, to_device

from ogive.conversion import converted
from ogive.dtypes import ElementType, element_type_of
from ogive.errors import (
    ArgumentError,
    DeviceError,
    DTypeError,
    ShapeError,
    described,
    message,
    shapes_apart,
    suggestion,
)
from ogive.opencl.hardware import Device, first_line, why_not
from ogive.opencl.kernels import Operand, RowKernel, kernel
from ogive.operator import Operator, advice_on, check_is_operator, named_like
from ogive.signature import NUMPY_KEYWORDS, Signature

__all__ = ["function", "on_host_arrays"]


@lru_cache(maxsize=1024)
def function(operator: Operator) -> Callable[..., Any]:
    """An operator as a function on pyopencl's arrays, computed on their device.

    ``function(op)(*tensors, queue=None, **parameters)``: tensors are arrays of one context, with any strides, and numbers,
    which NumPy's rules turn into elements; at least one is an array. They broadcast, and their element types become the
    operator's, as with NumPy's arrays. Results are new, contiguous arrays on ``queue``, by default that of the first array,
    from the first array's allocator. They have the bits of the operator on NumPy's arrays.

    A call returns when the device has computed: the host looks at the list of what is still open, and computes that.

    An operator over rows takes ``axis`` too, by default the last one. Results along another axis are views whose rows are
    contiguous.

    Raises ArgumentError for what is no operator; calls raise ArgumentError, DTypeError, ShapeError, ParameterError or
    DeviceError, and leave the arrays as they were.

    >>> import ogive
    >>> on_device = ogive.opencl.function(ogive.gelu)
    >>> on_device.__name__
    'gelu'
    """
    check_is_operator("ogive.opencl.function", operator)

    def call(*tensors: Any, queue: cl.CommandQueue | None = None, **keywords: Any) -> Any:
        return _Call(operator, tensors, queue, keywords).results()

    return named_like(operator, call, "ogive.opencl", "pyopencl's arrays")


def on_host_arrays(device: Device, operator: Operator, parameters: Mapping[str, Any]) -> Callable[..., np.ndarray]:
    """An operator as a function of NumPy's arrays, which go to the device and come back."""
    queue, on_device = cl.CommandQueue(cl.Context([device.handle])), function(operator)

    def compute(*arrays: np.ndarray) -> np.ndarray:
        found: np.ndarray = on_device(*(to_device(queue, np.array(x)) for x in arrays), **parameters).get()
        return found

    return compute


def _kind(tensor: Any) -> Any:
    """The element type of an array; of a number of Python its type, which counts less."""
    if type(tensor) in (int, float):
        return type(tensor)
    return np.dtype(tensor.dtype) if hasattr(tensor, "dtype") else np.dtype(bool)


class _Call:
    """One call: what was given, checked before anything is computed."""

    def __init__(
        self, operator: Operator, tensors: tuple[Any, ...], queue: cl.CommandQueue | None, keywords: dict[str, Any]
    ) -> None:
        self.operator, self.subject = operator, f"ogive.opencl.{operator.name}"
        self.axis = keywords.pop("axis", -1) if operator.is_row_wise else -1
        self._check_names(tensors, keywords)
        self.values = operator.checked_parameters(keywords)
        self.arrays = [tensor for tensor in tensors if isinstance(tensor, Array)]
        for name, tensor in zip(operator.tensors, tensors, strict=True):
            self._check_tensor(name, tensor)
        if not self.arrays:
            way_out = f"ogive.{operator.name} takes numbers and NumPy's arrays"
            raise ArgumentError(message(self.subject, "no tensor is an array of pyopencl", "at least one", way_out))
        self.queue = self._queue(queue)
        self.signature = self._signature_of(tensors)
        shapes = [np.shape(tensor) for tensor in tensors]
        try:
            self.shape = np.broadcast_shapes(*shapes)
        except ValueError:
            raise shapes_apart(self.subject, operator.tensors, shapes) from None
        self.tensors = tensors
        self.operands = [self._operand(k, tensor) for k, tensor in enumerate(tensors)]
        if operator.is_row_wise:
            self._turn()

    def _turn(self) -> None:
        """Have the rows along the last dimension."""
        if not self.shape or type(self.axis) is not int or not -len(self.shape) <= self.axis < len(self.shape):
            what = f"axis is {described(self.axis)}, and the shape is {self.shape}"
            raise ShapeError(message(self.subject, what, "one axis of the arrays"))
        order = [d for d in range(len(self.shape)) if d != self.axis % len(self.shape)]
        self.order = (*order, self.axis % len(self.shape))
        self.turned = tuple(self.shape[d] for d in self.order)
        self.operands = [
            ((memory, start, tuple(steps[d] for d in self.order)), kind)
            for (memory, start, steps), kind in self.operands
        ]

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
                    way_out = advice_on(operator.name, name) or suggestion(name, [*known, "queue"])
                raise ArgumentError(message(self.subject, what, ", ".join([*known, "queue"]), way_out))

    def _check_tensor(self, name: str, tensor: Any) -> None:
        is_number = isinstance(tensor, bool | int | float)
        is_element = isinstance(tensor, np.generic | np.ndarray) and not tensor.ndim
        if not (is_number or is_element or isinstance(tensor, Array)):
            way_out = "pyopencl.array.to_device(queue, x) brings an array of NumPy to the device"
            what = f"{name} is {described(tensor)}"
            raise ArgumentError(message(self.subject, what, "arrays of pyopencl, and numbers", way_out))

    def _queue(self, queue: cl.CommandQueue | None) -> cl.CommandQueue:
        if queue is not None and not isinstance(queue, cl.CommandQueue):
            raise ArgumentError(message(self.subject, f"queue is {described(queue)}", "a pyopencl.CommandQueue"))
        found = queue or next((array.queue for array in self.arrays if array.queue is not None), None)
        if found is None:
            way_out = "Give queue=, or arrays that have one: x.with_queue(queue)"
            raise ArgumentError(message(self.subject, "no array has a queue", "", way_out))
        if any(array.context != found.context for array in self.arrays):
            way_out = "Copy it: pyopencl.array.to_device(queue, x.get())"
            raise ArgumentError(message(self.subject, "an array lies in another context than the queue", "", way_out))
        reason = why_not(found.device)
        if reason:
            way_out = "ogive devices lists what is there and what it can"
            raise DeviceError(message(self.subject, f"the device {found.device.name.strip()} {reason}", "", way_out))
        return found

    def _signature_of(self, tensors: Sequence[Any]) -> Signature:
        """The combination of element types that NumPy's rules choose."""
        operator = self.operator
        own = [
            np.dtype(bool) if name in operator.truth_inputs and kind == np.int8 else kind  # pyopencl's truth values
            for name, kind in zip(operator.tensors, map(_kind, tensors), strict=True)
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

    def _operand(self, k: int, tensor: Any) -> tuple[Operand, ElementType]:
        """Where an operand lies, and its own element type."""
        wanted = self.signature.inputs[k]
        if not isinstance(tensor, Array):
            flags = cl.mem_flags
            value = np.atleast_1d(self._number(k, tensor)).view(np.uint8)
            memory = cl.Buffer(self.queue.context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=value)
            return (memory, 0, (0,) * len(self.shape)), wanted
        size, name = tensor.dtype.itemsize, self.operator.tensors[k]
        if any(distance % size for distance in (tensor.offset, *tensor.strides)):
            what = f"the offset or the strides of {name} are no multiples of its elements' {size} bytes"
            raise ArgumentError(message(self.subject, what, "", f"Copy it first: {name}.copy()"))
        missing = len(self.shape) - tensor.ndim
        steps = [0] * missing
        steps += [0 if count == 1 else step // size for count, step in zip(tensor.shape, tensor.strides, strict=True)]
        kind = element_type_of(tensor.dtype)
        if kind is None:
            way_out = f"Convert it on the host: {name}.get().astype({wanted.name!r})"
            what = f"{name} has dtype {tensor.dtype}"
            raise DTypeError(message(self.subject, what, "element types in this machine's order of bytes", way_out))
        return (tensor.base_data, tensor.offset // size, tuple(steps)), kind

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

    def _on_host(self, *operands: np.ndarray) -> tuple[Any, ...]:
        """The operator's results on NumPy's arrays, of the elements that the device leaves open."""
        found = self.operator(*operands, **self.values)
        return found if isinstance(found, tuple) else (found,)

    def results(self) -> Any:
        operator, signature, queue = self.operator, self.signature, self.queue
        choices = tuple((p.name, self.values[p.name]) for p in operator.parameters if p.choices)
        numbers = [self.values[p.name] for p in operator.numeric_parameters]
        given = tuple(kind for _, kind in self.operands)
        try:
            shape = self.shape
            if operator.is_row_wise:
                shape = self.turned[:-1] if operator.reduces else self.turned
            made = [Array(queue, shape, t.numpy, allocator=self.arrays[0].allocator) for t in signature.outputs]
            if made[0].size:
                compiled = kernel(queue.context, queue.device, operator, signature, choices, given)
                events = [event for array in self.arrays for event in array.events]
                operands, memory = [operand for operand, _ in self.operands], [array.base_data for array in made]
                if isinstance(compiled, RowKernel):
                    rows = compiled.run(queue, self.turned, operands, memory, numbers, events)
                    if rows:
                        self._decide_rows(rows, made)
                else:
                    event = compiled.run(queue, self.shape, operands, memory, numbers, self._on_host, events)
                    for array in made:
                        array.add_event(event)
        except cl.Error as error:
            name = queue.device.name.strip()
            what, way_out = f"the device {name} failed ({first_line(error)})", "The arrays are as they were"
            if isinstance(error, cl.MemoryError) or error.code == cl.status_code.INVALID_BUFFER_SIZE:
                what = f"the device {name} has too little memory for results of shape {self.shape}"
                way_out = "Compute parts of the arrays one after the other"
            raise DeviceError(message(self.subject, what, "", way_out)) from error
        if operator.is_row_wise and not operator.reduces and self.order != tuple(range(len(self.shape))):
            made = [array.transpose(tuple(int(d) for d in np.argsort(self.order))) for array in made]
        return made[0] if len(made) == 1 else tuple(made)

    def _decide_rows(self, rows: list[int], made: list[Array]) -> None:
        """Have the host compute rows that the device leaves open, and put them into place."""
        given = []
        for k, tensor in enumerate(self.tensors):
            array = self._fetched(tensor) if isinstance(tensor, Array) else self._number(k, tensor)
            whole = np.broadcast_to(array, self.shape).transpose(self.order).reshape(-1, self.turned[-1])
            given.append(np.ascontiguousarray(whole[rows]))
        for array, found in zip(made, self._on_host(*given), strict=True):
            size = found[0].nbytes
            for row, result in zip(rows, found, strict=True):
                cl.enqueue_copy(
                    self.queue,
                    array.base_data,
                    np.ascontiguousarray(result).view(np.uint8),
                    dst_offset=row * size,
                    is_blocking=True,
                )

    def _fetched(self, tensor: Array) -> np.ndarray:
        """An array of any strides, on the host."""
        memory = np.empty(tensor.base_data.size, np.uint8)
        cl.enqueue_copy(self.queue, memory, tensor.base_data, is_blocking=True)
        return np.ndarray(tensor.shape, tensor.dtype, memory, tensor.offset, tensor.strides)
