"""The form that a graph is compiled to: an operator that is called with arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, NoReturn, Self

import numpy as np

from ogive.common import forking
from ogive.directml.builder.buffers import Buffer, checked_array, converted, view_of
from ogive.directml.builder.tensor_descs import TensorDesc
from ogive.directml.builder.tensor_expression import Expression, ExpressionNode
from ogive.directml.device import Device
from ogive.directml.life_cycle import CompiledOperator
from ogive.directml.results import refuse
from ogive.directml.tensor import View
from ogive.errors import ArgumentError, described, message
from ogive.operators.pickling import plain_bytes


class InputSlot:
    """An input of a graph. ``is_used``: whether an output depends on it."""

    def __init__(self, number: int, name: str | None, node: ExpressionNode, desc: TensorDesc, is_used: bool) -> None:
        self.number = number
        self.name = name
        self.node = node
        self.desc = desc
        self.is_used = is_used
        self.is_owned = bool(desc.structure.is_owned)
        self.dtype = desc.dtype
        self.is_packed = desc.strides is None
        #: How many elements fill it, or, where it has strides, how many cover its bytes.
        self.count = desc.structure.used_bytes // self.dtype.itemsize

    def __str__(self) -> str:
        name = "" if self.name is None else f" {self.name!r}"
        return f"input {self.number}{name} ({self.desc.dtype} {self.desc.sizes})"


class CompiledGraph:
    """A compiled graph. Calling it is dispatching it; that can be done from several threads.

    Inputs are given by their expressions or by their names. Owned inputs are given to `initialize`, once; a graph
    whose owned inputs are all constants is initialised already. Copies and pickles have the same state; in another
    process inputs are known by their names, or by expressions that were pickled together with the graph.
    """

    def __init__(
        self,
        device: Device,
        compile_it: Callable[[], CompiledOperator],
        slots: Sequence[InputSlot],
        outputs: Sequence[TensorDesc],
        sizes: Sequence[int],
        constants: Mapping[ExpressionNode, Any],
        literals: Mapping[str | int, np.ndarray],
    ) -> None:
        self._device = device
        self._compile = compile_it
        self._slots = tuple(slots)
        self._outputs = tuple(outputs)
        self._sizes = tuple(sizes)
        self._views = tuple(map(view_of, outputs))
        self._are_packed = all(seen.is_packed for seen in self._views)
        self._constants = dict(constants)
        self._literals = dict(literals)
        self._by_node = {slot.node: slot for slot in slots}
        self._by_name = {slot.name: slot for slot in slots if slot.name is not None}
        self._wanted_slots = [[s for s in slots if s.is_used and s.is_owned == owned] for owned in (False, True)]
        self._lock = forking.lock()
        self._operator = compile_it()
        self._is_fresh = True
        self._is_initialized = False
        if all(slot.node in self._constants for slot in self._wanted(owned=True)):
            self.initialize()

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = forking.lock()

    def __dask_tokenize__(self) -> bytes:
        return plain_bytes(self)

    def __copy__(self) -> Self:
        # The state that `initialize` changes is the copy's own.
        state = self.__getstate__()
        state |= {"_operator": copy(self._operator), "_constants": dict(self._constants)}
        new = object.__new__(type(self))
        new.__setstate__(state)
        return new

    @property
    def device(self) -> Device:
        """The device that compiled it."""
        return self._device

    @property
    def initialized(self) -> bool:
        """Whether it can be dispatched."""
        return self._is_initialized

    @property
    def temporary_size(self) -> int:
        """The bytes of memory that a dispatch needs besides its inputs and outputs."""
        return int(self._operator.GetBindingProperties().TemporaryResourceSize)

    @property
    def persistent_size(self) -> int:
        """The bytes that the owned inputs take."""
        return int(self._operator.GetBindingProperties().PersistentResourceSize)

    @property
    def descriptor_count(self) -> int:
        """How many buffers a dispatch binds."""
        return int(self._operator.GetBindingProperties().RequiredDescriptorCount)

    def __repr__(self) -> str:
        outputs = ", ".join(f"{desc.dtype} {desc.sizes}" for desc in self._outputs)
        return f"<dml.CompiledGraph of {', '.join(map(str, self._slots)) or 'no inputs'} to {outputs}>"

    # ---- the two calls

    def initialize(self, weights: Mapping[Expression | str, Any] | None = None) -> None:
        """Give the owned inputs their data, which is copied.

        ``weights``: arrays or Buffers by expression or name. Constants of the graph may be left out the first
        time; afterwards everything that is owned is given anew.

        Raises DMLError for a key that is no input or not owned, and for one that is missing or given twice; for data
        that cannot be converted safely or does not fill its tensor. Raises ArgumentError for other keys.
        """
        subject = "initialize"
        with self._lock:
            bound = self._bound(subject, {} if weights is None else weights, owned=True)
            operator = self._operator if self._is_fresh else self._compile()
            self._is_fresh = False
            operator.initialize({**bound, **self._literals})
            # Dispatches that are under way keep the operator that they began with.
            self._operator = operator
            self._constants.clear()
            self._is_initialized = True

    def dispatch(self, inputs: Mapping[Expression | str, Any] | None = None, *, readback: bool = True) -> list[Any]:
        """Compute the outputs.

        ``inputs``: an array or a Buffer for every input that is not owned, by expression or name. Arrays are
        converted where that is safe, and may have any shape with the right number of elements. With
        ``readback=False`` the outputs are Buffers, not arrays.

        Raises DMLError for a key that is no input or is owned, and for one that is missing or given twice; for data
        that cannot be converted safely or does not fill its tensor; and if `initialize` must be called first. Raises
        ArgumentError for other keys.
        """
        if not self._is_initialized:
            owned = ", ".join(map(str, self._wanted(owned=True)))
            refuse("dispatch", "the operator is not initialised", way_out=f"Call initialize() first; it owns {owned}")
        results = self._at_once(inputs) if readback else None
        if results is not None:
            return list(results)
        bound = self._bound("dispatch", {} if inputs is None else inputs, owned=False)
        memory = [_allocated(desc, size) for desc, size in zip(self._outputs, self._sizes, strict=True)]
        self._operator.dispatch(bound, memory)
        if not readback:
            pairs = zip(memory, self._outputs, strict=True)
            return [Buffer._over(self._device, bytes_, desc) for bytes_, desc in pairs]
        return [_read(bytes_, view) for bytes_, view in zip(memory, self._views, strict=True)]

    __call__ = dispatch

    def _at_once(self, inputs: Any) -> Sequence[np.ndarray] | None:
        """The outputs, where every input is given as an array that needs no check but those of the native plan."""
        operator = self._operator
        plan = operator._native
        if plan is None or not self._are_packed or type(inputs) is not dict or len(inputs) != len(operator._flat):
            return None
        values: dict[int, Any] = {}
        for key, value in inputs.items():
            found = self._by_node.get(key._node) if type(key) is Expression else self._by_name.get(key)
            if found is None:
                return None
            values[found.number] = value
        results = plan.attempt([values.get(number) for number in operator._flat], None)
        # An output may see the operator's result in another shape.
        return results and [array.reshape(seen.shape) for array, seen in zip(results, self._views, strict=True)]

    # ---- what is bound to what

    def _wanted(self, owned: bool) -> list[InputSlot]:
        return self._wanted_slots[owned]

    def _bound(self, subject: str, given: Any, owned: bool) -> dict[str | int, Any]:
        """The data of the inputs by their numbers. Everything is checked before anything is converted."""
        if not isinstance(given, Mapping):
            way_out = "Write {x: array}, or {'name': array}"
            raise ArgumentError(message(subject, f"the inputs are {described(given)}", "a dictionary", way_out))
        found: dict[InputSlot, Any] = {}
        for key, value in given.items():
            slot = self._slot(subject, key)
            if slot.is_owned != owned:
                self._refuse_time(subject, slot)
            if slot in found:
                refuse(subject, f"{slot} is bound twice", "every input once")
            found[slot] = self._checked(subject, slot, value)
        if owned:
            for slot in self._wanted(owned=True):
                if slot not in found and slot.node in self._constants:
                    found[slot] = self._checked(subject, slot, self._constants[slot.node])
        missing = [slot for slot in self._wanted(owned) if slot not in found]
        if missing:
            refuse(subject, f"it is missing {', '.join(map(str, missing))}", "an array or a Buffer for each")
        return {
            slot.number: value._memory if isinstance(value, Buffer) else converted(value, slot.dtype)
            for slot, value in found.items()
            if slot.is_used
        }

    def _slot(self, subject: str, key: Any) -> InputSlot:
        slot: InputSlot | None
        if isinstance(key, Expression):
            slot = self._by_node.get(key._node)
        elif isinstance(key, str):
            slot = self._by_name.get(key)
        else:
            what = f"a key is {described(key)}"
            raise ArgumentError(message(subject, what, "expressions and names of inputs"))
        if slot is None:
            is_name = isinstance(key, str)
            what = f"there is no input named {key!r}" if is_name else f"{key!r} is not an input of this graph"
            refuse(subject, what, ", ".join(map(str, self._slots)) or "no inputs")
        return slot

    def _refuse_time(self, subject: str, slot: InputSlot) -> NoReturn:
        if slot.is_owned:
            refuse(subject, f"{slot} is owned by DirectML", way_out="Give it to initialize() instead")
        refuse(subject, f"{slot} is not owned by DirectML", way_out="Give it to dispatch instead")

    def _checked(self, subject: str, slot: InputSlot, value: Any) -> Any:
        """The data of an input, which fits: a Buffer, or an array that can be converted."""
        if isinstance(value, Buffer):
            if value.device is not self._device:
                refuse(subject, f"the Buffer for {slot} is of a different device", "buffers of this device")
            if value.dtype != slot.dtype:
                what = f"{slot} is given a Buffer of {value.dtype}"
                refuse(subject, what, f"{slot.dtype}", "Buffers are not converted: make one with that dtype")
        else:
            value = checked_array(subject, slot, value, slot.dtype)
        if value.size != slot.count and slot.is_packed:
            what = f"data of {value.size} elements does not fill {slot}"
            refuse(subject, what, f"{slot.count} elements")
        if value.size < slot.count:
            what = f"data of {value.size} elements does not fill {slot}, with its strides {slot.desc.strides}"
            refuse(subject, what, f"{slot.count} elements or more")
        return value


def _allocated(desc: TensorDesc, size: int) -> np.ndarray:
    """Memory for an output. The bytes between the elements of a strided one are 0."""
    try:
        return np.empty(size, np.uint8) if desc.strides is None else np.zeros(size, np.uint8)
    except (MemoryError, ValueError) as error:
        refuse("dispatch", f"an output takes {size} bytes, which are not there", cause=error)


def _read(memory: np.ndarray, view: View) -> np.ndarray:
    """The output as an array of its own elements; a view that repeats some is written out."""
    array = view.over(memory, 0)
    repeats = any(stride == 0 and size > 1 for stride, size in zip(view.strides, view.shape, strict=True))
    return array.copy() if repeats else array
