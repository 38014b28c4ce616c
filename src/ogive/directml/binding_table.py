"""Binding tables: what a dispatchable will read and write when it is recorded.

Binding is where a mistake removes a device, in DirectML as here; here it also raises, at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ogive.directml.binding import (
    DML_BINDING_TABLE_DESC,
    DML_BUFFER_ARRAY_BINDING,
    DML_BUFFER_BINDING,
    BindingSlot,
    Region,
    Regions,
    bound_region,
    unwrapped,
)
from ogive.directml.life_cycle import CompiledOperator, Dispatchable, OperatorInitializer, resource_region
from ogive.directml.objects import DeviceChild, Parent
from ogive.directml.results import refuse
from ogive.errors import described


class BoundTable(NamedTuple):
    """The contents of a table at one moment: a recorded dispatch runs on them."""

    dispatchable: Dispatchable
    operators: tuple[CompiledOperator, ...]
    """The operators of an initialiser, those that it is for"""
    regions: Any
    """Its `Regions`; of an initialiser, with inputs and outputs of each operator"""


class BindingTable(DeviceChild):
    """IDMLBindingTable: the bindings for one dispatchable. Not for use from several threads at once.

    Counts are the lengths of the sequences; an empty one unbinds everything.
    """

    INTERFACE = "IDMLBindingTable"

    def __init__(self, device: Parent, desc: DML_BINDING_TABLE_DESC | None) -> None:
        super().__init__(device)
        self._dispatchable: Dispatchable | None = None
        self.Reset(desc)

    def Reset(self, desc: DML_BINDING_TABLE_DESC | None) -> None:
        """Unbind everything, and be for another dispatchable; for none yet, with None."""
        subject = f"{self.INTERFACE}::Reset"
        self._device._require()
        if desc is not None:
            self._check_desc(subject, desc)
        self._dispatchable = None if desc is None else desc.Dispatchable
        self._operators: tuple[CompiledOperator, ...] = ()
        if isinstance(self._dispatchable, OperatorInitializer):
            self._operators = self._dispatchable._operators
        self._inputs: Any = None
        self._outputs: Any = None
        self._temporary: Region | None = None
        self._persistent: Region | None = None

    def _check_desc(self, subject: str, desc: DML_BINDING_TABLE_DESC) -> None:
        if not isinstance(desc, DML_BINDING_TABLE_DESC):
            refuse(subject, f"desc is {described(desc)}", "DML_BINDING_TABLE_DESC or None", member="desc")
        target = desc.Dispatchable
        if not isinstance(target, CompiledOperator | OperatorInitializer):
            what = f"Dispatchable is {described(target)}"
            refuse("DML_BINDING_TABLE_DESC", what, "a compiled operator or an initialiser", member="Dispatchable")
        self._device._require_own(subject, target)
        needed = target.GetBindingProperties().RequiredDescriptorCount
        if desc.SizeInDescriptors is not None and desc.SizeInDescriptors < needed:
            what = f"SizeInDescriptors is {desc.SizeInDescriptors}"
            refuse("DML_BINDING_TABLE_DESC", what, f"{needed} or more", member="SizeInDescriptors")

    # ---- binding

    def BindInputs(self, bindings: Sequence[Any]) -> None:
        """Bind all inputs, in order, or none."""
        with self._device._removed_by_misuse():
            subject = f"{self.INTERFACE}::BindInputs"
            target = self._target(subject)
            listed = self._listed(subject, bindings)
            if not listed:
                self._inputs = None
            elif isinstance(target, CompiledOperator):
                self._inputs = self._operator_inputs(subject, target, listed)
            else:
                self._inputs = self._initializer_inputs(subject, listed)

    def BindOutputs(self, bindings: Sequence[Any]) -> None:
        """Bind all outputs, in order, or none. Those of an initialiser are the operators' persistent resources."""
        with self._device._removed_by_misuse():
            subject = f"{self.INTERFACE}::BindOutputs"
            target = self._target(subject)
            listed = self._listed(subject, bindings)
            if not listed:
                self._outputs = None
            elif isinstance(target, CompiledOperator):
                self._outputs = self._operator_outputs(subject, target, listed)
            else:
                self._outputs = self._initializer_outputs(subject, listed)

    def BindTemporaryResource(self, binding: Any) -> None:
        """Bind the memory that a dispatch may use as it likes; None unbinds it."""
        with self._device._removed_by_misuse():
            subject = f"{self.INTERFACE}::BindTemporaryResource"
            size = self._target(subject).GetBindingProperties().TemporaryResourceSize
            self._temporary = self._resource(subject, "the temporary resource", binding, size)

    def BindPersistentResource(self, binding: Any) -> None:
        """Bind what the initialiser wrote; None unbinds it."""
        with self._device._removed_by_misuse():
            subject = f"{self.INTERFACE}::BindPersistentResource"
            target = self._target(subject)
            if isinstance(target, OperatorInitializer) and unwrapped(binding) is not None:
                what = "an initialiser has no persistent resource"
                refuse(subject, what, "None", "The operators' persistent resources are its outputs")
            size = target.GetBindingProperties().PersistentResourceSize
            self._persistent = self._resource(subject, "the persistent resource", binding, size)

    def _target(self, subject: str) -> Dispatchable:
        if self._dispatchable is None:
            refuse(subject, "the table is for no dispatchable yet", "a table with one", "Call Reset")
        return self._dispatchable

    def _listed(self, subject: str, bindings: Any) -> list[Any]:
        if bindings is None:
            return []
        if not isinstance(bindings, list | tuple):
            what = f"bindings is {described(bindings)}"
            refuse(subject, what, "a list of bindings", "Write [binding] for one", member="bindings")
        return [unwrapped(binding) for binding in bindings]

    def _resource(self, subject: str, name: str, binding: Any, size: int) -> Region | None:
        inner = unwrapped(binding)
        if inner is None:
            return None
        if not isinstance(inner, DML_BUFFER_BINDING):
            refuse(subject, f"{name} is bound to {described(inner)}", "DML_BUFFER_BINDING or None", member=name)
        return resource_region(subject, name, inner, size)

    # ---- of compiled operators

    def _operator_inputs(self, subject: str, target: CompiledOperator, bindings: list[Any]) -> dict[int, Region]:
        if len(bindings) != target._input_count:
            what = f"{len(bindings)} bindings were given"
            allowed = f"{target._input_count}, one for each input of {target._title}, absent ones included"
            refuse(subject, what, allowed, member="bindings")
        regions = {}
        for index, binding in enumerate(bindings):
            slot = target._inputs.get(index)
            if slot is None or slot.is_absent or slot.is_owned:
                if binding is not None:
                    target._refuse_extra(subject, index)
            else:
                regions[index] = _region(subject, slot, binding, is_written=False)
        return regions

    def _operator_outputs(self, subject: str, target: CompiledOperator, bindings: list[Any]) -> list[Region]:
        if len(bindings) != len(target._outputs):
            what = f"{len(bindings)} bindings were given"
            allowed = f"{len(target._outputs)}, one for each output of {target._title}"
            refuse(subject, what, allowed, member="bindings")
        return [
            _region(subject, slot, binding, is_written=True)
            for slot, binding in zip(target._outputs, bindings, strict=True)
        ]

    # ---- of initialisers

    def _check_count(self, subject: str, bindings: list[Any]) -> None:
        if len(bindings) != len(self._operators):
            what = f"{len(bindings)} bindings were given"
            allowed = f"{len(self._operators)}, one for each operator that is initialised"
            refuse(subject, what, allowed, member="bindings")

    def _initializer_inputs(self, subject: str, bindings: list[Any]) -> list[dict[int, Region]]:
        self._check_count(subject, bindings)
        return [
            self._owned(subject, operator, binding) for operator, binding in zip(self._operators, bindings, strict=True)
        ]

    def _owned(self, subject: str, operator: CompiledOperator, binding: Any) -> dict[int, Region]:
        if isinstance(binding, DML_BUFFER_BINDING):
            what = "a DML_BUFFER_BINDING was given"
            refuse(subject, what, "a DML_BUFFER_ARRAY_BINDING for each operator, or None", member="bindings")
        entries = () if binding is None else binding.Bindings
        if not entries and not operator._plan.persistent:
            return {}
        if len(entries) != operator._input_count:
            what = f"{len(entries)} bindings were given for {operator._title}"
            refuse(subject, what, f"{operator._input_count}, one for each input", member="Bindings")
        regions = {}
        for index, entry in enumerate(entries):
            inner = unwrapped(entry)
            if index in operator._plan.persistent:
                regions[index] = _region(subject, operator._inputs[index], inner, is_written=False)
            elif inner is not None:
                operator._refuse_extra(subject, index)
        return regions

    def _initializer_outputs(self, subject: str, bindings: list[Any]) -> list[Region | None]:
        self._check_count(subject, bindings)
        regions: list[Region | None] = []
        for operator, binding in zip(self._operators, bindings, strict=True):
            size = operator._plan.persistent_size
            name = f"the persistent resource of {operator._title}"
            if size and binding is None:
                refuse(subject, f"{name} is not bound", f"{size} bytes or more", member="bindings")
            regions.append(self._resource(subject, name, binding, size) if size else None)
        return regions

    # ---- recording

    def _bound(self, subject: str) -> BoundTable:
        """The present bindings; refuses where something is missing."""
        target = self._target(subject)
        if isinstance(target, CompiledOperator):
            self._check_complete(subject, target)
        else:
            self._complete_initializer(subject)
        return BoundTable(target, self._operators, self._regions())

    def _regions(self) -> Regions:
        return Regions(self._inputs, self._outputs, self._temporary, self._persistent)

    def _check_complete(self, subject: str, target: CompiledOperator) -> None:
        needs_inputs = any(not slot.is_absent and not slot.is_owned for slot in target._inputs.values())
        if self._inputs is None:
            if needs_inputs:
                refuse(subject, "no inputs are bound", f"the inputs of {target._title}", "Call BindInputs")
            self._inputs = {}
        if self._outputs is None:
            refuse(subject, "no outputs are bound", f"the outputs of {target._title}", "Call BindOutputs")
        properties = target.GetBindingProperties()
        if properties.TemporaryResourceSize and self._temporary is None:
            refuse(subject, "no temporary resource is bound", f"{properties.TemporaryResourceSize} bytes or more")
        if properties.PersistentResourceSize and self._persistent is None:
            refuse(subject, "no persistent resource is bound", f"{properties.PersistentResourceSize} bytes or more")
        target._check(subject, self._regions())

    def _complete_initializer(self, subject: str) -> None:
        owners = [operator for operator in self._operators if operator._plan.persistent]
        if owners and self._inputs is None:
            refuse(subject, "no inputs are bound", f"those that {owners[0]._title} owns", "Call BindInputs")
        if owners and self._outputs is None:
            refuse(subject, "no outputs are bound", "the operators' persistent resources", "Call BindOutputs")
        if self._inputs is None:
            self._inputs = [{} for _ in self._operators]
        if self._outputs is None:
            self._outputs = [None] * len(self._operators)
        _check_initializer_hazards(subject, self._inputs, self._outputs)


def _region(subject: str, slot: BindingSlot, binding: Any, *, is_written: bool) -> Region:
    if binding is None:
        refuse(subject, f"{slot.name} is not bound", f"a binding for {slot.name}", member=slot.name)
    if isinstance(binding, DML_BUFFER_ARRAY_BINDING):
        what = f"{slot.name} is bound to a DML_BUFFER_ARRAY_BINDING"
        refuse(subject, what, "DML_BUFFER_BINDING", member=slot.name)
    return bound_region(subject, slot.name, binding, slot.size, slot.alignment, is_written=is_written)


def _check_initializer_hazards(
    subject: str, inputs: Sequence[Mapping[int, Region]], outputs: Sequence[Region | None]
) -> None:
    written = [region for region in outputs if region is not None]
    for i, region in enumerate(written):
        if any(region.overlaps(other) for other in written[:i]):
            refuse(subject, "two persistent resources overlap in memory", "memory of its own for each")
    whole = [Region(region.memory, 0, region.memory.nbytes) for region in written]
    for regions in inputs:
        for region in regions.values():
            source = Region(region.memory, 0, region.memory.nbytes)
            if any(source.overlaps(resource) for resource in whole):
                what = "an input and a persistent resource share a buffer"
                refuse(subject, what, "buffers of their own at initialisation")
