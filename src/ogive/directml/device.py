"""The device: what makes operators, compiles them, and is removed by a mistake that no method can report.

It also has recording and executing, which is what a command list and a queue do in Direct3D 12, as far as it matters here.

The questions and answers of CheckFeatureSupport.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from ogive.common.contracts import CONTRACTS, checked
from ogive.device_names import device_of
from ogive.directml.binding import DML_BINDING_TABLE_DESC
from ogive.directml.binding_table import BindingTable, BoundTable
from ogive.directml.data import DATA_TYPES, FEATURE_LEVELS
from ogive.directml.descs import OperatorDesc
from ogive.directml.enumerations import (
    DML_CREATE_DEVICE_FLAGS,
    DML_EXECUTION_FLAGS,
    DML_FEATURE,
    DML_FEATURE_LEVEL,
    DML_TENSOR_DATA_TYPE,
    level_name,
    short_name,
)
from ogive.directml.graph_descs import DML_GRAPH_DESC, compile_graph
from ogive.directml.life_cycle import (
    CompiledOperator,
    Dispatchable,
    Operator,
    OperatorInitializer,
    accepted_operator,
    compile_operator,
)
from ogive.directml.objects import DeviceChild, Parent
from ogive.directml.results import HRESULT, refuse
from ogive.directml.structure import CONVERTERS, Structure, StructureMember, short
from ogive.directml.support import validate
from ogive.errors import ArgumentError, described, message


class DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT(Structure):
    """Can the device use a data type in tensors at all? Source: the structure of this name (DirectML 1.0)."""

    MEMBERS = (StructureMember("DataType", "DML_TENSOR_DATA_TYPE"),)
    __slots__ = ("DataType",)


class DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT(Structure):
    """The answer for a data type. It says nothing about any one operator, whose tables do."""

    MEMBERS = (StructureMember("IsSupported", "BOOL"),)
    __slots__ = ("IsSupported",)


class DML_FEATURE_QUERY_FEATURE_LEVELS(Structure):
    """The highest of these levels that the device has. Source: the structure of this name (DirectML 1.1)."""

    MEMBERS = (StructureMember("RequestedFeatureLevels", "UINT[]"),)
    __slots__ = ("RequestedFeatureLevels",)


class DML_FEATURE_DATA_FEATURE_LEVELS(Structure):
    """The answer for feature levels."""

    MEMBERS = (StructureMember("MaxSupportedFeatureLevel", "DML_FEATURE_LEVEL"),)
    __slots__ = ("MaxSupportedFeatureLevel",)


_QUERIES = {
    DML_FEATURE.TENSOR_DATA_TYPE_SUPPORT: DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT,
    DML_FEATURE.FEATURE_LEVELS: DML_FEATURE_QUERY_FEATURE_LEVELS,
}


def answer(level: int, feature: Any, query: Any) -> Structure:
    """The answers of a device of a feature level."""
    subject = "IDMLDevice::CheckFeatureSupport"
    known = ", ".join(str(member) for member in _QUERIES)
    if isinstance(feature, int) and feature not in list(DML_FEATURE):
        refuse(subject, f"feature is {feature}", known, member="feature", hresult=HRESULT.DXGI_ERROR_UNSUPPORTED)
    asked = CONVERTERS["DML_FEATURE"](subject, "feature", feature)
    if type(query) is not _QUERIES[asked]:
        what = f"the query for {asked} is {described(query)}"
        refuse(subject, what, _QUERIES[asked].__name__, member="query")
    if isinstance(query, DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT):
        return DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT(_is_supported(level, query.DataType))
    supported = [value for value in query.RequestedFeatureLevels if value in FEATURE_LEVELS.values() and value <= level]
    if not supported:
        refuse(
            subject,
            f"RequestedFeatureLevels is {short(query.RequestedFeatureLevels)}",
            f"lists with a level up to {level_name(level)}",
            member="RequestedFeatureLevels",
            hresult=HRESULT.DXGI_ERROR_UNSUPPORTED,
        )
    return DML_FEATURE_DATA_FEATURE_LEVELS(DML_FEATURE_LEVEL(max(supported)))


def _is_supported(level: int, data_type: Any) -> bool:
    if data_type == DML_TENSOR_DATA_TYPE.UNKNOWN:
        return False
    row = DATA_TYPES[short_name(data_type)]
    # The operators that 4-bit types belong to are not here.
    return row.bits >= 8 and FEATURE_LEVELS[row.level] <= level


class CommandList:
    """Recorded dispatches, in order: Direct3D's command list and queue in one.

    Recorded dispatches run when `Execute` is called, one after the other, as if there were a barrier
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

        With DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE the operator takes what the table holds when the dispatch
        runs. A mistake raises DMLError and removes the device.
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

    def _run(self, subject: str, bindings: BindingTable, recorded: BoundTable | None) -> None:
        with self._device._removed_by_misuse():
            bound = bindings._bound(subject) if recorded is None else recorded
            if isinstance(bound.dispatchable, OperatorInitializer):
                bound.dispatchable._run(subject, bound.operators, bound.regions.inputs, bound.regions.outputs)
            elif isinstance(bound.dispatchable, CompiledOperator):
                bound.dispatchable._run(subject, bound.regions)


_HIGHEST = next(reversed(FEATURE_LEVELS))


class Device(Parent):
    """IDMLDevice and IDMLDevice1: a device of a feature level, which takes what that level takes and nothing else.

    ``feature_level`` is a name ("5_1") or a DML_FEATURE_LEVEL. A device can be used from several threads.
    ``use_gpu`` and ``use_debug_layer`` are taken from scripts for other bindings and change nothing: errors always say
    what the debug layer would. ``Device(True, True)`` of Microsoft's binding is a device of the highest level. ``accuracy`` is the contract of element-wise operators:
    "exact", or "fast" (docs/accuracy.md); without it, the one of the process.

    With ``adapter="opencl:0"``, or what `ogive.device` gives, kernels run on that device, with the same bits, and nothing
    between two of them goes to the host. Buffers are copied there and back. ``dispatch`` takes the device's arrays too, and
    returns them then.

    >>> import ogive.directml as dml
    >>> device = dml.Device("3_0")
    >>> device
    <IDMLDevice DML_FEATURE_LEVEL_3_0>
    >>> x = dml.DML_BUFFER_TENSOR_DESC(DataType=dml.DML_TENSOR_DATA_TYPE_INT32, Sizes=[2, 3])
    >>> device.CreateOperator(dml.DML_ACTIVATION_SHRINK_OPERATOR_DESC(InputTensor=x, OutputTensor=x))
    Traceback (most recent call last):
        ...
    ogive.directml.results.DMLError: DML_ACTIVATION_SHRINK_OPERATOR_DESC: InputTensor.DataType is INT32; \
allowed: FLOAT32, FLOAT16 at DML_FEATURE_LEVEL_3_0. DML_FEATURE_LEVEL_5_1 takes it (E_INVALIDARG)

    Raises DMLError (DXGI_ERROR_UNSUPPORTED) for an unknown level, and ArgumentError for an adapter that is not there.
    """

    def __init__(
        self,
        feature_level: Any = _HIGHEST,
        flags: Any = DML_CREATE_DEVICE_FLAGS.NONE,
        *,
        use_gpu: bool = True,
        use_debug_layer: bool = False,
        accuracy: str | None = None,
        adapter: Any = None,
    ) -> None:
        super().__init__(_contract(accuracy), None if adapter is None else device_of("Device", adapter))
        if isinstance(feature_level, bool) and isinstance(flags, bool):  # use_gpu and use_debug_layer by position
            feature_level, flags = _HIGHEST, DML_CREATE_DEVICE_FLAGS.NONE
        self._level = _level(feature_level)
        CONVERTERS["DML_CREATE_DEVICE_FLAGS"]("Device", "flags", flags)

    @property
    def feature_level(self) -> Any:
        """The device's DML_FEATURE_LEVEL."""
        return DML_FEATURE_LEVEL(self._level)

    def _described(self) -> str:
        where = "" if self.adapter is None else f" on {self.adapter.name}"
        return f" {level_name(self._level)}{where}" + (" (removed)" if self._removed else "")

    def compute(self, op: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
        """The outputs of a model of `GraphBuilder.build`, as Microsoft's binding computes them: arrays.

        ``inputs`` are `Binding`s, ``outputs`` expressions that the model was built for.

        >>> import ogive.directml as dml
        >>> device = dml.Device(True, True)
        >>> builder = dml.GraphBuilder(device)
        >>> x = dml.input_tensor(builder, 0, dml.TensorDesc(dml.TensorDataType.FLOAT32, [1, 2]))
        >>> y = dml.activation_relu(x)
        >>> op = builder.build(dml.ExecutionFlags.NONE, [y])
        >>> device.compute(op, [dml.Binding(x, [[-1.0, 2.0]])], [y])[0].tolist()
        [[0.0, 2.0]]

        Raises ArgumentError for other arguments, and DMLError for data that does not fit.
        """
        computed: Callable[..., list[Any]] | None = getattr(type(op), "computed", None)
        if computed is None:
            what = "op is no model"
            raise ArgumentError(message("compute", what, "what GraphBuilder.build has returned"))
        return computed(op, inputs, outputs)

    # ---- operators

    def CreateOperator(self, desc: Any) -> Operator:
        """An operator from its desc, with or without DML_OPERATOR_DESC around it.

        Raises DMLError (E_INVALIDARG) for what the feature level does not take, and for numbers for which the
        formula has no meaning.
        """
        self._require()
        inner = CONVERTERS["DML_OPERATOR_DESC"]("IDMLDevice::CreateOperator", "desc", desc)
        assert isinstance(inner, OperatorDesc)
        validate(inner, self._level)
        return accepted_operator(self, inner)

    def CompileOperator(self, operator: Operator, flags: Any = DML_EXECUTION_FLAGS.NONE) -> CompiledOperator:
        """The operator as code that can be dispatched."""
        self._require()
        subject = "IDMLDevice::CompileOperator"
        if not isinstance(operator, Operator):
            refuse(subject, f"operator is {described(operator)}", "an operator", member="operator")
        self._require_own(subject, operator)
        checked = CONVERTERS["DML_EXECUTION_FLAGS"](subject, "flags", flags)
        return compile_operator(self, operator, checked)

    def CompileGraph(self, desc: DML_GRAPH_DESC, flags: Any = DML_EXECUTION_FLAGS.NONE) -> CompiledOperator:
        """A graph of operators as one compiled operator, whose inputs and outputs are the graph's.

        Element-wise operators that follow one another become one kernel, which goes through memory once.
        Raises DMLError for a graph that is not valid, naming the node or the edge.
        """
        self._require()
        subject = "IDMLDevice1::CompileGraph"
        if not isinstance(desc, DML_GRAPH_DESC):
            refuse(subject, f"desc is {described(desc)}", "DML_GRAPH_DESC", member="desc")
        checked = CONVERTERS["DML_EXECUTION_FLAGS"](subject, "flags", flags)
        return compile_graph(self, self._level, desc, checked)

    def CreateOperatorInitializer(self, operators: Sequence[CompiledOperator] = ()) -> OperatorInitializer:
        """An operator that initialises compiled operators, each of which needs that once."""
        self._require()
        return OperatorInitializer(self, operators)

    def CreateBindingTable(self, desc: DML_BINDING_TABLE_DESC | None = None) -> BindingTable:
        """A table for the bindings of one dispatchable; for none yet, with None."""
        self._require()
        return BindingTable(self, desc)

    def CreateCommandRecorder(self) -> CommandRecorder:
        """An object that records dispatches."""
        self._require()
        return CommandRecorder(self)

    # ---- queries

    def CheckFeatureSupport(self, feature: Any, query: Structure) -> Structure:
        """The device's answer to a query.

        >>> import ogive.directml as dml
        >>> query = dml.DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT(DataType=dml.DML_TENSOR_DATA_TYPE_INT64)
        >>> dml.Device("2_1").CheckFeatureSupport(dml.DML_FEATURE_TENSOR_DATA_TYPE_SUPPORT, query)
        DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT(IsSupported=False)

        Raises DMLError for an unknown feature (DXGI_ERROR_UNSUPPORTED), and for a query of another feature.
        """
        self._require()
        return answer(self._level, feature, query)

    # ---- what has no meaning without a graphics device

    def MakeResident(self, objects: Sequence[Dispatchable]) -> None:
        """Memory is always resident here: nothing happens."""
        self._require()

    def Evict(self, objects: Sequence[Dispatchable]) -> None:
        """Memory is always resident here: nothing happens."""
        self._require()

    def GetParentDevice(self) -> NoReturn:
        """Refused with E_NOINTERFACE: there is no Direct3D device."""
        self._require()
        refuse("IDMLDevice::GetParentDevice", "there is no Direct3D device", hresult=HRESULT.E_NOINTERFACE)


def _contract(given: Any) -> str:
    if given is not None and given not in CONTRACTS:
        allowed = ", ".join(f'"{name}"' for name in CONTRACTS)
        refuse("Device", f"accuracy is {given!r}", allowed, member="accuracy")
    return checked("Device", given)


def _level(given: Any) -> int:
    """The value of a feature level, by name or value."""
    value = FEATURE_LEVELS.get(given.removeprefix("DML_FEATURE_LEVEL_")) if isinstance(given, str) else given
    if not isinstance(value, int) or value not in FEATURE_LEVELS.values():
        refuse(
            "Device",
            f"feature_level is {given!r}",
            f"{', '.join(FEATURE_LEVELS)}, or a DML_FEATURE_LEVEL",
            member="feature_level",
            hresult=HRESULT.DXGI_ERROR_UNSUPPORTED,
        )
    return int(value)
