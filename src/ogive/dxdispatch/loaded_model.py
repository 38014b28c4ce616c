"""A loaded model: everything in it is checked, and it can be run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ogive.common.documents.document import read_document
from ogive.common.documents.place import DocumentPlace
from ogive.directml import Device
from ogive.dxdispatch.commands import Command, ModelDispatchable, Write, WriteFile, read_command
from ogive.dxdispatch.onnx_dispatchable import OnnxDispatchable
from ogive.dxdispatch.operator_dispatchable import OperatorDispatchable
from ogive.dxdispatch.resources import MemoryBudget, Resource, read_resource
from ogive.errors import ParameterError, UnsupportedError, message

#: The members of a model; an editor's schema may stand beside them.
ROOT_MEMBERS = ("resources", "dispatchables", "commands")

#: Dispatchables that are not operators, in lower case; None where they are not run.
_OTHER_TYPES: dict[str, str | None] = {
    "onnx": "onnx",
    "hlsl": None,
    "dmlserializedgraph": None,
}


def load(
    path: str | os.PathLike[str],
    *,
    feature_level: Any = None,
    accuracy: str | None = None,
    output_folder: str | os.PathLike[str] | None = None,
    memory_limit: int | None = None,
) -> Model:
    """Load a model in the JSON format of DxDispatch, and check all of it: nothing has run when this returns.

    ``feature_level``: the DirectML device's ("5_1"), by default the highest. ``accuracy``: the contract of
    its element-wise operators, "exact" or "fast". ``output_folder``: where writeFile
    writes to, by default the current folder; files outside of it are refused. ``memory_limit``: how many bytes the
    buffers may have together, by default as much as this process may use.

    Raises ModelError and UnsupportedError that name the file, the line and the path of what is refused; OSError
    where a file cannot be read; DMLError for an unknown feature level.

    >>> import pathlib, sys, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "model.json"
    >>> _ = path.write_text('''{
    ...     "resources": { "x": { "initialValuesDataType": "FLOAT32", "initialValues": [-1, 2.5] } },
    ...     "dispatchables": { "relu": {
    ...         "type": "ACTIVATION_RELU",
    ...         "InputTensor": { "DataType": "FLOAT32", "Sizes": [2] },
    ...         "OutputTensor": { "DataType": "FLOAT32", "Sizes": [2] },
    ...     } },
    ...     "commands": [
    ...         { "type": "dispatch", "dispatchable": "relu", "bindings": { "InputTensor": "x", "OutputTensor": "x" } },
    ...         { "type": "print", "resource": "x" },
    ...     ],
    ... }''')
    >>> ogive.dxdispatch.load(path).run(sys.stdout.write)  # doctest: +ELLIPSIS
    Running on 'Ogive (DML_FEATURE_LEVEL_6_4)'
    Compile Op
    Dispatch 'relu': 1 iterations, ... ms median (CPU)
    Resource 'x': 0, 2.5
    >>> folder.cleanup()
    """
    given = {} if feature_level is None else {"feature_level": feature_level}
    device = Device(**given, accuracy=accuracy)
    budget = MemoryBudget(memory_limit)
    document = read_document(path)
    members = DocumentPlace.root(document).members(("$schema", *ROOT_MEMBERS), ROOT_MEMBERS)
    input_folder = Path(path).absolute().parent
    outputs = Path(output_folder or ".").resolve()
    resources = {
        name: read_resource(name, place, input_folder, budget) for name, place in members["resources"].members().items()
    }
    dispatchables = {
        name: _dispatchable(name, place, device, resources, input_folder, budget)
        for name, place in members["dispatchables"].members().items()
    }
    commands = [read_command(place, dispatchables, resources, outputs) for place in members["commands"].entries()]
    for resource in resources.values():
        try:
            resource.make()
        except MemoryError as error:
            resource.place.refuse(f"{resource.size} bytes are wanted, which are not there", cause=error)
    return Model(document.name, device, dispatchables, commands, resources)


def type_of(place: DocumentPlace) -> str:
    """The kind of the dispatchable at a place: "onnx", or "operator". Raises for those that are not run."""
    type_place = place.type_place("the name of an operator, or onnx")
    name = type_place.text().lower()
    kind = _OTHER_TYPES.get(name, "operator")
    if kind is None:
        what = f"dispatchables of the type {type_place.text()} are not run"
        type_place.refuse(what, "DirectML's operators, and onnx", error=UnsupportedError)
    return kind


def _dispatchable(
    name: str,
    place: DocumentPlace,
    device: Device,
    resources: Mapping[str, Resource],
    folder: Path,
    budget: MemoryBudget,
) -> ModelDispatchable:
    if type_of(place) == "onnx":
        return OnnxDispatchable(name, place, folder, budget)
    return OperatorDispatchable(name, place, device, resources, budget)


class Model:
    """A model that `load` has checked. It can be run several times; buffers keep what they hold."""

    def __init__(
        self,
        name: str,
        device: Device,
        dispatchables: Mapping[str, ModelDispatchable],
        commands: list[Command],
        resources: Mapping[str, Resource],
    ) -> None:
        self.name = name
        self.resources = resources
        self.feature_level = device.feature_level
        self._notes = [dispatchable.note for dispatchable in dispatchables.values()]
        self._initializers: list[Callable[[], None]] = [d.initializer() for d in dispatchables.values()]
        self._commands = commands
        for command in commands:
            command.check()

    @property
    def writes_files(self) -> bool:
        """Whether a command of the model writes to the folder for outputs."""
        return any(isinstance(command, WriteFile) for command in self._commands)

    def __repr__(self) -> str:
        return f"<{self.name}: {len(self._commands)} commands on {self.feature_level}>"

    def run(self, write: Write, *, iterations: int = 1) -> None:
        """Run the commands in order.

        ``write`` takes pieces of what DxDispatch prints, line ends included. ``iterations``: how often every dispatch
        runs; the time that is printed is the median, without the first one where there are several.
        """
        if not isinstance(iterations, int) or iterations < 1:
            raise ParameterError(message(self.name, f"iterations is {iterations!r}", "whole numbers from 1 on"))
        write(f"Running on 'Ogive ({self.feature_level})'\n")
        for note in filter(None, self._notes):
            write(f"{note}\n")
        initializers, self._initializers = self._initializers, []
        for initialize in initializers:
            initialize()
        for command in self._commands:
            command.run(write, iterations)
