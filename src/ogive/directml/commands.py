"""Recording and executing: what a command list and a queue do in Direct3D 12, as far as it matters here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ogive.directml.errors import refuse
from ogive.directml.objects import DeviceChild
from ogive.directml.operators import CompiledOperator, Dispatchable, OperatorInitializer
from ogive.directml.table import BindingTable, Bound
from ogive.errors import described

__all__ = ["CommandList", "CommandRecorder"]


class CommandList:
    """Recorded dispatches, in order: Direct3D's command list and queue in one.

    What is recorded runs when `Execute` is called, one dispatch after the other, as if there were a barrier
    between any two.
    """

    def __init__(self) -> None:
        self._commands: list[Callable[[], None]] = []

    def __len__(self) -> int:
        return len(self._commands)

    def Execute(self) -> None:
        """Run everything that is recorded, wait for it, and be empty again."""
        commands, self._commands = self._commands, []
        for command in commands:
            command()

    def Reset(self) -> None:
        """Forget what is recorded."""
        self._commands = []


class CommandRecorder(DeviceChild):
    """IDMLCommandRecorder: puts dispatches into command lists."""

    INTERFACE = "IDMLCommandRecorder"

    def RecordDispatch(self, commandList: CommandList, dispatchable: Dispatchable, bindings: BindingTable) -> None:
        """Record a dispatch with what the table holds now.

        Of an operator compiled with DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE it is what the table holds when
        the dispatch runs. A mistake raises DMLError and removes the device.
        """
        with self._device._removed_by_misuse():
            subject = f"{self.INTERFACE}::RecordDispatch"
            self._check(subject, commandList, dispatchable, bindings)
            is_volatile = isinstance(dispatchable, CompiledOperator) and dispatchable.is_volatile
            bound = None if is_volatile else bindings._bound(subject)
            commandList._commands.append(lambda: self._run(subject, bindings, bound))

    def _check(self, subject: str, commandList: Any, dispatchable: Any, bindings: Any) -> None:
        for name, value, kind in (
            ("commandList", commandList, CommandList),
            ("dispatchable", dispatchable, Dispatchable),
            ("bindings", bindings, BindingTable),
        ):
            if not isinstance(value, kind):
                refuse(subject, f"{name} is {described(value)}", f"a {kind.__name__}", member=name)
        self._device._require_own(subject, dispatchable)
        self._device._require_own(subject, bindings)
        if bindings._dispatchable is not dispatchable:
            what = f"bindings is a table for {bindings._dispatchable!r}"
            refuse(subject, what, f"a table for {dispatchable!r}", "Call Reset", member="bindings")

    def _run(self, subject: str, bindings: BindingTable, recorded: Bound | None) -> None:
        with self._device._removed_by_misuse():
            bound = bindings._bound(subject) if recorded is None else recorded
            if isinstance(bound.dispatchable, OperatorInitializer):
                bound.dispatchable._run(subject, bound.operators, bound.inputs, bound.outputs)
            elif isinstance(bound.dispatchable, CompiledOperator):
                bound.dispatchable._run(subject, bound.inputs, bound.outputs, bound.temporary, bound.persistent)
