"""Operators, compiled operators and initialisers: what a device makes of descs, and its life cycle."""

from __future__ import annotations

import contextlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, cast

import numpy as np

from ogive.common import forking
from ogive.devices.device_plan import DevicePlan, copied
from ogive.devices.kernels import Placed
from ogive.directml.binding import (
    DML_BINDING_PROPERTIES,
    DML_BUFFER_BINDING,
    BindingSlot,
    Hazards,
    Region,
    Regions,
    bound_region,
    check_hazards,
    loose_region,
)
from ogive.directml.desc_computation import Computation, computation, kind_of
from ogive.directml.descs import OperatorDesc
from ogive.directml.enumerations import CONSTANTS, DML_EXECUTION_FLAGS
from ogive.directml.graph_plan import (
    KernelNode,
    NodeOperand,
    Plan,
    device_plan,
    flat,
    input_name,
    make_plan,
    native_plan,
)
from ogive.directml.objects import DeviceChild, Parent
from ogive.directml.results import HRESULT, DMLError, refuse
from ogive.directml.structure import short
from ogive.directml.tensor import View
from ogive.engine import plan as calls
from ogive.errors import DeviceError, UnsupportedError, described
from ogive.operators.pickling import plain_bytes


class Operator(DeviceChild):
    """IDMLOperator: a desc that a device has accepted."""

    INTERFACE = "IDMLOperator"

    def __init__(self, device: Parent, desc: OperatorDesc, compute: Callable[[], Computation]) -> None:
        super().__init__(device)
        self.desc = desc
        self._compute = compute
        members = desc.FACTS.inputs
        self.inputs = tuple(_slot(member.name, getattr(desc, member.name)) for member in members)
        self.outputs = (_slot(desc.FACTS.output.name, desc.output),)

    def __reduce__(self) -> tuple[Any, ...]:
        return accepted_operator, (self._device, self.desc), {"_name": self._name, "_private": dict(self._private)}

    def hazards(self) -> Hazards:
        """The operator documents in-place execution."""
        facts = self.desc.FACTS
        names = [member.name for member in facts.inputs]
        return Hazards(frozenset(map(names.index, facts.in_place)), facts.in_place_at_once)

    def _described(self) -> str:
        return f" {self.desc.FACTS.type_name}"


def accepted_operator(device: Parent, desc: OperatorDesc) -> Operator:
    """The operator of a desc that has been validated."""
    return Operator(device, desc, computation(desc, device.accuracy, compiles=device.adapter is None))


def _slot(name: str, desc: Any) -> BindingSlot:
    return BindingSlot(name, () if desc is None else (desc,))


def single_node(operator: Operator, sources: Mapping[int, tuple[Any, int]]) -> KernelNode:
    """An operator as a node of a plan. ``sources``: for each input that is there, the area and number it comes from."""
    desc = operator.desc
    operands = tuple(
        NodeOperand(*sources[position], slot.views[0], kind_of(desc, slot.views[0]))
        for position, slot in enumerate(operator.inputs)
        if not slot.is_absent
    )
    return KernelNode(operator._compute(), operands, desc.output, kind_of(desc, desc.output))


class Dispatchable(DeviceChild, ABC):
    """IDMLDispatchable: what a command recorder records."""

    INTERFACE: ClassVar[str] = "IDMLDispatchable"

    @abstractmethod
    def GetBindingProperties(self) -> DML_BINDING_PROPERTIES:
        """How many descriptors and how many bytes of temporary and persistent memory it needs."""


#: The recipe of a compiled operator: a function and its arguments.
Source = tuple[Callable[..., "CompiledOperator"], tuple[Any, ...]]


def _compiled_again(compile_it: Callable[..., CompiledOperator], arguments: tuple[Any, ...]) -> CompiledOperator:
    return compile_it(*arguments)


class CompiledOperator(Dispatchable):
    """IDMLCompiledOperator: an operator, or a graph of operators, ready to run.

    Initialised once, by an initialiser or by `initialize`, then run by recorded dispatches or by `dispatch`,
    from any number of threads. Copies and pickles are compiled anew. They are initialised if this one is, unless its
    persistent resource is the caller's, whose place only this one knows.
    """

    INTERFACE = "IDMLCompiledOperator"

    def __init__(
        self,
        device: Parent,
        title: str,
        plan: Plan,
        inputs: Mapping[int, BindingSlot],
        input_count: int,
        outputs: Sequence[BindingSlot],
        hazards: Hazards,
        flags: Any,
        source: Source,
    ) -> None:
        super().__init__(device)
        self._source = source
        self._title = title
        self._plan = plan
        self._inputs = dict(inputs)
        self._input_count = input_count
        self._outputs = tuple(outputs)
        self._hazards = hazards
        self._flags = flags
        self._input_numbers = _by_name(self._inputs)
        self._output_numbers = _by_name(dict(enumerate(self._outputs)))
        self._lock = forking.lock()
        self._is_initialized = False
        #: The region of the persistent resource, kept alive if the operator made it itself.
        self._persistent: Region | None = None
        self._persistent_address: int | None = None
        #: How the array of each input lies that a call of plain arrays gives, by its number; others are None.
        self._flat = {
            number: flat(slot.view)
            for number, slot in self._inputs.items()
            if slot.view is not None and number not in plan.persistent
        }
        self._takes_all = len(self._flat) == input_count
        self._native = self._native_plan()
        self._on_device = self._device_plan(None)

    def __reduce__(self) -> tuple[Any, ...]:
        with self._lock:
            resource = self._persistent
            is_kept = self._is_initialized and (resource is not None or not self._plan.persistent_size)
            state = {
                "_name": self._name,
                "_private": self._private,
                "is_initialized": is_kept,
                "resource": None if resource is None else resource.memory,
            }
        return _compiled_again, self._source, state

    def __dask_tokenize__(self) -> bytes:
        return plain_bytes(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._name, self._private = state["_name"], dict(state["_private"])
        self._is_initialized = state["is_initialized"]
        if state["resource"] is not None:
            memory = state["resource"].copy()
            self._persistent = Region(memory, 0, memory.nbytes)
            self._persistent_address = self._persistent.address
            self._native = self._native_plan()

    def _native_plan(self) -> calls.Plan | None:
        """The runner of calls with an array for each input; None before inputs that are owned are bound."""
        if self._device.adapter is not None:
            return None
        return native_plan(self._plan, self._flat, [slot.view for slot in self._outputs], self._persistent)

    def _device_plan(self, persistent: Region | None) -> DevicePlan | None:
        """The runner on the device's adapter; None without one, and before inputs that are owned are bound."""
        adapter = self._device.adapter
        if adapter is None:
            return None
        views = [cast(View, slot.view) for slot in self._outputs]
        with self._failures(self._title):
            return device_plan(self._title, adapter.driver(), self._plan, self._flat, views, persistent)

    @contextlib.contextmanager
    def _failures(self, subject: str) -> Iterator[None]:
        """The refusals and failures of an adapter, as DirectML says it."""
        try:
            with self._device.adapter.driver().failures(subject, "the tensors"):
                yield
        except UnsupportedError as error:
            raise DMLError(str(error), HRESULT.DXGI_ERROR_UNSUPPORTED, subject=subject) from error
        except DeviceError as error:
            hresult = HRESULT.E_OUTOFMEMORY if "too little memory" in str(error) else HRESULT.DXGI_ERROR_DEVICE_REMOVED
            raise DMLError(str(error), hresult, subject=subject) from error

    def _run_on_device(self, subject: str, arrays: Mapping[int, Any], persistent: Region | None) -> list[Placed]:
        """The outputs there, of inputs by their numbers: arrays of the adapter, or of NumPy."""
        adapter = self._device.adapter
        with self._lock:
            plan = self._on_device
            if plan is None:
                plan = self._on_device = self._device_plan(persistent)
        assert plan is not None
        driver, given = adapter.driver(), {}
        with self._failures(subject):
            for number, view in self._flat.items():
                array = arrays[number]
                if adapter.holds(array):
                    placed = adapter.placed(subject, self._inputs[number].name, array)
                    self._check_placed(subject, number, placed)
                    placed = placed._replace(shape=view.shape, strides=view.strides)
                else:
                    placed = copied(driver, array)
                given[input_name(number, view)] = placed
            return plan.run(driver, given)

    def _check_placed(self, subject: str, number: int, placed: Placed) -> None:
        """Refuse an array of the adapter that is not the tensor's bytes."""
        view, name = self._flat[number], self._inputs[number].name
        count, is_packed = math.prod(placed.shape), View(placed.shape, placed.dtype, placed.strides).is_packed
        if placed.dtype != view.dtype or count < math.prod(view.shape) or not is_packed:
            what = f"{name} is an array of {count} elements of {placed.dtype}" + (
                "" if is_packed else ", which lie apart"
            )
            allowed = f"{math.prod(view.shape)} elements of {view.dtype}, one after the other"
            refuse(subject, what, allowed, member=name)

    def _described(self) -> str:
        return f" {self._title}"

    def GetBindingProperties(self) -> DML_BINDING_PROPERTIES:
        """How many descriptors and how many bytes of temporary and persistent memory a dispatch needs.

        >>> import ogive.directml as dml
        >>> x = dml.DML_BUFFER_TENSOR_DESC(DataType=dml.DML_TENSOR_DATA_TYPE_FLOAT32, Sizes=[4])
        >>> device = dml.Device()
        >>> relu = device.CreateOperator(dml.DML_ACTIVATION_RELU_OPERATOR_DESC(InputTensor=x, OutputTensor=x))
        >>> device.CompileOperator(relu, dml.DML_EXECUTION_FLAG_NONE).GetBindingProperties()
        DML_BINDING_PROPERTIES(RequiredDescriptorCount=2, TemporaryResourceSize=0, PersistentResourceSize=0)
        """
        temporary, persistent = self._plan.temporary_size, self._plan.persistent_size
        bound = len(self._inputs) + len(self._outputs) + bool(temporary) + bool(persistent)
        return DML_BINDING_PROPERTIES(bound, temporary, persistent)

    @property
    def is_volatile(self) -> bool:
        """Whether bindings count as they are when a recorded dispatch runs, not when it is recorded."""
        return bool(self._flags & DML_EXECUTION_FLAGS.DESCRIPTORS_VOLATILE)

    # ---- the short way

    def initialize(self, inputs: Mapping[str | int, Any] | Sequence[Any] = ()) -> None:
        """Initialise the operator in one call: bind the inputs that are owned by DirectML, and copy them.

        ``inputs`` are their buffers, by name or number, or in order with None for all others. The operator
        keeps the persistent resource itself. Raises DMLError if it is initialised already.
        """
        subject = f"{self.INTERFACE}.initialize"
        self._device._require()
        given = self._given(subject, inputs, self._plan.persistent)
        regions = {
            index: loose_region(subject, self._inputs[index], buffer, is_written=False)
            for index, buffer in given.items()
        }
        size = self._plan.persistent_size
        resource = None if not size else Region(np.zeros(size, np.uint8), 0, size)
        self._initialize(subject, regions, resource)
        self._persistent = resource
        if resource is not None:
            self._native = self._native_plan()

    def dispatch(
        self,
        inputs: Mapping[str | int, Any] | Sequence[Any],
        outputs: Mapping[str | int, Any] | Sequence[Any] | None = None,
        *,
        temporary: Any = None,
        persistent: Any = None,
    ) -> list[np.ndarray]:
        """Run the operator in one call: table, bindings, record and execute. Returns the outputs as arrays.

        ``inputs`` and ``outputs`` are buffers, or `DML_BUFFER_BINDING` for parts of them: in order, with None
        for an optional tensor that is absent and for one that was bound at initialisation, or by name or
        number. Without ``outputs`` they are made. A NumPy array must have the tensor's data type (or be
        bytes: uint8), and need not be padded to a multiple of 4 bytes. An operator that owns no inputs is
        initialised by its first dispatch. ``temporary`` and ``persistent`` are made, and kept, where they
        are not given.

        >>> import numpy as np, ogive.directml as dml
        >>> x = dml.DML_BUFFER_TENSOR_DESC(DataType=dml.DML_TENSOR_DATA_TYPE_FLOAT32, Sizes=[3])
        >>> device = dml.Device()
        >>> shrink = device.CreateOperator(
        ...     dml.DML_ACTIVATION_SHRINK_OPERATOR_DESC(InputTensor=x, OutputTensor=x, Bias=0.5, Threshold=1.0)
        ... )
        >>> compiled = device.CompileOperator(shrink, dml.DML_EXECUTION_FLAG_NONE)
        >>> compiled.dispatch([np.float32([-2.0, 0.25, 2.0])])
        [array([-1.5,  0. ,  1.5], dtype=float32)]

        Raises DMLError, before anything is written, for what a binding table would refuse; the device is not
        removed.
        """
        subject = f"{self.INTERFACE}.dispatch"
        self._device._require()
        plan = self._native
        if plan is not None and temporary is None and persistent is None:
            is_listed = type(inputs) in (list, tuple) and (outputs is None or type(outputs) in (list, tuple))
            results = plan.attempt(inputs, outputs) if is_listed and self._takes_all else None  # type: ignore[arg-type]
            if results is None:
                results = self._at_once(plan, inputs, outputs)
            if results is not None:
                self._is_initialized = True
                return list(results)
        persistent_inputs, adapter = self._plan.persistent, self._device.adapter
        wanted = {i: None for i, slot in self._inputs.items() if not slot.is_absent and i not in persistent_inputs}
        buffers = self._given(subject, inputs, wanted)
        if adapter is not None and any(map(adapter.holds, buffers.values())):
            return self._arrays_of_adapter(subject, buffers, outputs, persistent)
        read = {
            index: loose_region(subject, self._inputs[index], buffer, is_written=False)
            for index, buffer in buffers.items()
        }
        written = self._written(subject, outputs)
        scratch = self._resource(subject, "the temporary resource", temporary, self._plan.temporary_size)
        regions = Regions(read, written, scratch, self._kept(subject, persistent))
        if not self._plan.persistent:
            self._initialize_itself()
        self._check(subject, regions)
        self._run(subject, regions)
        pairs = zip(self._outputs, written, strict=True)
        return [slot.view.over(region.memory, region.offset) for slot, region in pairs if slot.view is not None]

    def _arrays_of_adapter(self, subject: str, buffers: Mapping[int, Any], outputs: Any, persistent: Any) -> list[Any]:
        """A dispatch on the device's own arrays: its arrays out."""
        adapter = self._device.adapter
        if outputs is not None:
            refuse(subject, f"outputs was given with arrays of {adapter.name}", "None: the outputs are new arrays")
        kept = self._kept(subject, persistent)
        arrays = {
            number: buffer
            if adapter.holds(buffer)
            else self._over(number, loose_region(subject, self._inputs[number], buffer, is_written=False))
            for number, buffer in buffers.items()
        }
        if not self._plan.persistent:
            self._initialize_itself()
        return list(map(adapter.wrapped, self._run_on_device(subject, arrays, kept)))

    def _over(self, number: int, region: Region) -> np.ndarray:
        """An input's memory as its plans of calls take it."""
        return self._flat[number].over(region.memory, region.offset)

    def _at_once(self, plan: calls.Plan, inputs: Any, outputs: Any) -> tuple[np.ndarray, ...] | None:
        """The results for arrays in other shapes, or by name, that need no other check than the native plan's."""
        listed = self._listed(inputs)
        if listed is None or not (outputs is None or type(outputs) in (list, tuple)):
            return None
        fitted = [_fitted(array, view) for array, view in zip(listed, self._flat.values(), strict=True)]
        is_tried = listed is inputs and all(array is given for array, given in zip(fitted, listed, strict=True))
        return None if is_tried else plan.attempt(fitted, outputs)

    def _listed(self, inputs: Any) -> Sequence[Any] | None:
        """The inputs that calls give, in order; None if one is missing or there are others."""
        if type(inputs) is not dict:
            if type(inputs) not in (list, tuple) or len(inputs) != self._input_count:
                return None
            if self._takes_all:
                return cast(Sequence[Any], inputs)
            inputs = {number: array for number, array in enumerate(inputs) if array is not None}
        listed = {self._input_numbers.get(key, key): array for key, array in inputs.items()}
        if len(listed) != len(self._flat) or len(listed) != len(inputs):
            return None
        return [listed.get(number) for number in self._flat]

    def _given(self, subject: str, given: Any, wanted: Any) -> dict[int, Any]:
        """Buffers by slot number, from a sequence or a mapping: exactly the wanted ones."""
        if not isinstance(given, Mapping):
            listed = self._in_order(subject, given, wanted)
        else:
            listed = {}
            for key, buffer in given.items():
                index = self._input_numbers.get(key, key)
                if index not in self._inputs:
                    allowed = ", ".join(map(str, self._input_numbers))
                    refuse(subject, f"there is no input {short(key)}", allowed, member=str(key))
                if index in listed:
                    refuse(subject, f"{self._inputs[index].name} was given twice", member=str(key))
                listed[index] = buffer
        listed = {index: buffer for index, buffer in listed.items() if buffer is not None}
        for index in listed:
            if index not in wanted:
                self._refuse_extra(subject, index)
        for index in wanted:
            if index not in listed:
                name = self._inputs[index].name
                refuse(subject, f"{name} is not bound", f"a buffer for {name}", member=name)
        return listed

    def _in_order(self, subject: str, given: Any, wanted: Any) -> dict[int, Any]:
        if isinstance(given, np.ndarray | bytes | bytearray | memoryview) or not isinstance(given, Sequence):
            what = f"inputs is {described(given)}"
            refuse(subject, what, "a list of buffers, or a dictionary by name", "Write [x] for one input")
        if not len(given) and not wanted:
            return {}
        if len(given) != self._input_count:
            names = ", ".join(slot.name for slot in self._inputs.values())
            allowed = f"{self._input_count}: {names}; None for what is not bound now"
            refuse(subject, f"{len(given)} inputs were given", allowed)
        return {index: given[index] for index in range(len(given)) if index in self._inputs or given[index] is not None}

    def _refuse_extra(self, subject: str, index: int) -> None:
        slot = self._inputs.get(index)
        if slot is None or slot.is_absent:
            name = f"input {index}" if slot is None else slot.name
            refuse(subject, f"{name} is bound, which the operator does not have", "None", member=name)
        when = "at execution" if slot.is_owned else "at initialisation"
        allowed = f"None {when}"
        rule = "is owned by DirectML: it was bound at initialisation" if slot.is_owned else "is bound at execution"
        refuse(subject, f"{slot.name} is bound {when}", allowed, f"It {rule}", member=slot.name)

    def _written(self, subject: str, given: Any) -> list[Region]:
        if given is None:
            sizes = [slot.size for slot in self._outputs]
            return [Region(_allocated(subject, size), 0, size) for size in sizes]
        if isinstance(given, Mapping):
            listed: list[Any] = [None] * len(self._outputs)
            for key, buffer in given.items():
                index: Any = self._output_numbers.get(key, key)
                if index not in range(len(self._outputs)):
                    allowed = ", ".join(map(str, self._output_numbers))
                    refuse(subject, f"there is no output {short(key)}", allowed, member=str(key))
                listed[index] = buffer
        elif isinstance(given, np.ndarray | bytes | bytearray | memoryview) or not isinstance(given, Sequence):
            what = f"outputs is {described(given)}"
            refuse(subject, what, "a list of buffers, or a dictionary by name", "Write [y] for one output")
        else:
            listed = list(given)
        if len(listed) != len(self._outputs):
            names_ = ", ".join(slot.name for slot in self._outputs)
            refuse(subject, f"{len(listed)} outputs were given", f"{len(self._outputs)}: {names_}")
        for slot, buffer in zip(self._outputs, listed, strict=True):
            if buffer is None:
                refuse(subject, f"{slot.name} is not bound", f"a buffer for {slot.name}", member=slot.name)
        return [
            loose_region(subject, slot, buffer, is_written=True)
            for slot, buffer in zip(self._outputs, listed, strict=True)
        ]

    def _resource(self, subject: str, name: str, buffer: Any, size: int) -> Region | None:
        if not size:
            return None
        if buffer is None:
            return Region(_allocated(subject, size), 0, size)
        return resource_region(subject, name, buffer, size)

    def _kept(self, subject: str, buffer: Any) -> Region | None:
        """The persistent resource: the caller's, or the one that `initialize` made."""
        size = self._plan.persistent_size
        if not size:
            return None
        if buffer is not None:
            return resource_region(subject, "the persistent resource", buffer, size)
        if self._persistent is None:
            names = ", ".join(self._inputs[index].name for index in self._plan.persistent)
            way_out = "Pass the resource as persistent=" if self._is_initialized else "Call initialize first"
            refuse(subject, f"the copy of {names} is not known", "operators that are initialised", way_out)
        return self._persistent

    # ---- what both ways share

    def _initialize(self, subject: str, inputs: Mapping[int, Region], resource: Region | None) -> None:
        """Copy the owned inputs into the persistent resource, once."""
        with self._lock:
            if self._is_initialized:
                refuse(subject, f"{self._title} is initialised already", "one initialisation")
            for index, (offset, size) in self._plan.persistent.items():
                source = inputs[index]
                assert resource is not None
                start = resource.offset + offset
                count = min(size, source.size)
                resource.memory[start : start + count] = source.memory[source.offset : source.offset + count]
            self._is_initialized = True
            self._persistent_address = None if resource is None else resource.address

    def _initialize_itself(self) -> None:
        """An operator that owns nothing is initialised by being marked so."""
        with self._lock:
            self._is_initialized = True

    def _check(self, subject: str, regions: Regions) -> None:
        """Refuse regions that overlap where that is not allowed."""
        check_hazards(subject, self._hazards, self._inputs, self._outputs, regions)

    def _run(self, subject: str, regions: Regions) -> None:
        """Execute, on regions that are free of hazards."""
        persistent = regions.persistent
        if not self._is_initialized:
            way_out = "Dispatch an initialiser for it first, or call initialize"
            refuse(subject, f"{self._title} is not initialised", "operators that are", way_out)
        if persistent is not None and persistent.address != self._persistent_address:
            what = "the persistent resource is not where it was at initialisation"
            refuse(subject, what, "the resource that the initialiser wrote")
        if self._device.adapter is None:
            self._plan.execute(regions)
            return
        arrays = {number: self._over(number, regions.inputs[number]) for number in self._flat}
        found = self._run_on_device(subject, arrays, persistent)
        with self._failures(subject):
            results = [one.on_host(self._device.adapter.driver()) for one in found]
        for slot, region, result in zip(self._outputs, regions.outputs, results, strict=True):
            np.copyto(cast(View, slot.view).over(region.memory, region.offset), result)


def _compile_desc(device: Parent, desc: OperatorDesc, flags: Any) -> CompiledOperator:
    return compile_operator(device, accepted_operator(device, desc), flags)


def compile_operator(device: Parent, operator: Operator, flags: Any) -> CompiledOperator:
    """The compiled operator of one operator."""
    inputs = dict(enumerate(operator.inputs))
    owned = {index: slot.size for index, slot in inputs.items() if slot.is_owned}
    node = single_node(operator, {index: ("input", index) for index in inputs})
    plan = make_plan([node], [0], owned, compiles=device.adapter is None)
    title = operator.desc.FACTS.type_name
    source = _compile_desc, (device, operator.desc, flags)
    return CompiledOperator(
        device, title, plan, inputs, len(inputs), operator.outputs, operator.hazards(), flags, source
    )


def _fitted(array: Any, view: View) -> Any:
    """An array with the shape of a view, where it has the elements in another shape; others as they are."""
    if type(array) is not np.ndarray or array.shape == view.shape or not array.flags.c_contiguous:
        return array
    count = math.prod(view.shape)
    return array if array.size < count else array.reshape(-1)[:count].reshape(view.shape)


def _by_name(slots: Mapping[int, BindingSlot]) -> dict[Any, int]:
    """The numbers of slots by their names; a name that several have names none."""
    numbers: dict[Any, int] = {}
    doubled = set()
    for number, slot in slots.items():
        if slot.name in numbers:
            doubled.add(slot.name)
        numbers[slot.name] = number
    return {name: number for name, number in numbers.items() if name not in doubled}


def resource_region(subject: str, name: str, buffer: Any, size: int) -> Region:
    """The region of a temporary or persistent resource."""
    binding = buffer if isinstance(buffer, DML_BUFFER_BINDING) else DML_BUFFER_BINDING(buffer)
    if binding.Buffer is None:
        refuse(subject, f"{name} is not bound", f"{size} bytes or more", member=name)
    alignment = CONSTANTS["DML_TEMPORARY_BUFFER_ALIGNMENT"]
    return bound_region(subject, name, binding, size, alignment, is_written=True)


def _allocated(subject: str, size: int) -> np.ndarray:
    try:
        return np.zeros(size, np.uint8)
    except (MemoryError, ValueError) as error:
        refuse(subject, f"{size} bytes are wanted, which are not there", hresult=HRESULT.E_OUTOFMEMORY, cause=error)


class OperatorInitializer(Dispatchable):
    """IDMLOperatorInitializer: initialises operators, each of them once, when its dispatch runs."""

    INTERFACE = "IDMLOperatorInitializer"

    def __init__(self, device: Parent, operators: Sequence[CompiledOperator]) -> None:
        super().__init__(device)
        self._operators: tuple[CompiledOperator, ...] = ()
        self.Reset(operators)

    def _described(self) -> str:
        return f" of {len(self._operators)} operators"

    def Reset(self, operators: Any) -> None:
        """Initialise these operators instead."""
        subject = f"{self.INTERFACE}::Reset"
        self._device._require()
        if not isinstance(operators, Sequence):
            refuse(subject, f"operators is {described(operators)}", "a sequence of compiled operators")
        for index, operator in enumerate(operators):
            if not isinstance(operator, CompiledOperator):
                what = f"operators[{index}] is {described(operator)}"
                refuse(subject, what, "compiled operators", member=f"operators[{index}]")
            self._device._require_own(subject, operator)
        self._operators = tuple(operators)

    def GetBindingProperties(self) -> DML_BINDING_PROPERTIES:
        """How many descriptors it needs. It needs no memory of its own."""
        bound = sum(len(operator._plan.persistent) + 1 for operator in self._operators if operator._plan.persistent)
        return DML_BINDING_PROPERTIES(bound, 0, 0)

    def _run(
        self,
        subject: str,
        operators: Sequence[CompiledOperator],
        inputs: Sequence[Mapping[int, Region]],
        outputs: Sequence[Region | None],
    ) -> None:
        for i, operator in enumerate(operators):
            if operator._is_initialized or operator in operators[:i]:
                refuse(subject, f"{operator._title} is initialised already", "one initialisation")
        for operator, given, resource in zip(operators, inputs, outputs, strict=True):
            operator._initialize(subject, given, resource)
