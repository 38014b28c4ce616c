"""DirectML's activation and element-wise operators on any machine, by DirectML's own names.

A program in C++ against DirectML.h becomes one in Python line by line: the same descs with the same members,
the same enumerations, the same life cycle, the same refusals at each feature level (`DMLError`).

>>> import numpy as np, ogive.directml as dml
>>> device = dml.Device(feature_level="5_1")
>>> tensor = dml.DML_BUFFER_TENSOR_DESC(DataType=dml.DML_TENSOR_DATA_TYPE_FLOAT32, Sizes=[1, 1, 2, 2])
>>> desc = dml.DML_ACTIVATION_CELU_OPERATOR_DESC(InputTensor=tensor, OutputTensor=tensor, Alpha=1.5)
>>> celu = device.CompileOperator(device.CreateOperator(desc), dml.DML_EXECUTION_FLAG_NONE)
>>> celu.dispatch([np.float32([-3.0, -0.5, 0.0, 2.0])])
[array([[[[-1.2969971 , -0.42520303],
         [ 0.        ,  2.        ]]]], dtype=float32)]

Descs, enumerations and their members are made from the data files beside this one. Everything is loaded when
it is first wanted, so importing the package costs next to nothing; ``__init__.pyi``, which the build writes,
lists for editors and type checkers what there is.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NoReturn

#: The names that the package exports from its modules; those made from data comes on top.
EXPORTS = {
    "builder.activation": ("FusedActivation",),
    "builder.microsoft_bindings": ("Binding", "GraphBuilder", "Model", "activation_soft_max", "input_tensor"),
    "builder.buffers": ("Buffer",),
    "builder.compiled": ("CompiledGraph",),
    "builder.tensor_expression": ("Expression",),
    "builder.operator_functions": ("broadcast", "reinterpret"),
    "builder.graph_builder": ("Graph",),
    "builder.tensor_descs": ("TensorDesc", "TensorPolicy"),
    "binding": (
        "DML_BINDING_DESC",
        "DML_BINDING_PROPERTIES",
        "DML_BINDING_TABLE_DESC",
        "DML_BUFFER_ARRAY_BINDING",
        "DML_BUFFER_BINDING",
    ),
    "descs": ("DML_OPERATOR_DESC",),
    "device": (
        "CommandList",
        "CommandRecorder",
        "DML_FEATURE_DATA_FEATURE_LEVELS",
        "DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT",
        "DML_FEATURE_QUERY_FEATURE_LEVELS",
        "DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT",
        "Device",
    ),
    "results": ("HRESULT", "DMLError"),
    "graph_descs": (
        "DML_CONSTANT_DATA_GRAPH_NODE_DESC",
        "DML_GRAPH_DESC",
        "DML_GRAPH_EDGE_DESC",
        "DML_GRAPH_NODE_DESC",
        "DML_INPUT_GRAPH_EDGE_DESC",
        "DML_INTERMEDIATE_GRAPH_EDGE_DESC",
        "DML_OPERATOR_GRAPH_NODE_DESC",
        "DML_OUTPUT_GRAPH_EDGE_DESC",
    ),
    "life_cycle": ("CompiledOperator", "Operator", "OperatorInitializer"),
    "scalars": ("DML_SCALAR_UNION", "DML_SCALE_BIAS", "DML_SIZE_2D"),
    "binding_table": ("BindingTable",),
    "tensor": ("DML_BUFFER_TENSOR_DESC", "DML_TENSOR_DESC", "DMLCalcBufferTensorSize"),
}

_MODULE_OF = {name: module for module, names in EXPORTS.items() for name in names}


def _values() -> dict[str, Any]:
    """Enumerations, their members by full name, and constants."""
    from ogive.directml.enumerations import CONSTANTS, ENUMERATIONS, members

    listed = {name: member for kind in ENUMERATIONS.values() for name, member in members(kind).items()}
    return {**ENUMERATIONS, **listed, **CONSTANTS}


def _names() -> list[str]:
    """The names that there are to use: functions that only say that their operator is out of scope are not listed."""
    from ogive.directml.data import STRUCTS, alias_names, function_names

    return sorted([*_MODULE_OF, *STRUCTS, *_values(), *alias_names(), *function_names()])


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        found = getattr(import_module(f"ogive.directml.{_MODULE_OF[name]}"), name)
    elif name == "__all__":
        found = _names()
    elif name.startswith("DML_"):
        found = _made_from_data(name)
    elif not name.startswith("_"):
        found = _of_the_builder(name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def _of_the_builder(name: str) -> Any:
    """A function of the Python API, or an enumeration by its name there."""
    from ogive.directml.data import alias_names, function_names, out_of_scope

    if name in alias_names():
        from ogive.directml.builder.vocabulary import aliases

        return aliases()[name]
    if name in function_names() or name in out_of_scope():
        from ogive.directml.builder.operator_functions import function_of

        return function_of(name)
    from ogive.catalog.aliases import ALIASES
    from ogive.catalog.other_names import called
    from ogive.errors import suggestion

    short = name.removeprefix("activation_")
    ours = sorted(ALIASES[n].operator if n in ALIASES else n for n in called(short))
    meant = next((n for n in (f"activation_{text}" for text in (short, *ours)) if n in function_names()), "")
    # Names of the C++ interface: DMLCreateDevice, IDMLCommandRecorder, IDMLDevice1.
    of_interface = name.removeprefix("IDML").removeprefix("DMLCreate").rstrip("1")
    if of_interface != name and of_interface in _MODULE_OF:
        meant = of_interface
    hint = f"Did you mean {meant}?" if meant else suggestion(name, _names())
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint and f'. {hint}'}")


def _made_from_data(name: str) -> Any:
    from ogive.directml.data import STRUCTS
    from ogive.directml.descs import desc_class

    if name in STRUCTS:
        return desc_class(name)
    values = _values()
    if name not in values:
        _refuse_name(name, [*STRUCTS, *values])
    globals().update(values)
    return values[name]


def _refuse_name(name: str, known: list[str]) -> NoReturn:
    from ogive.errors import MissingNameError, message, suggestion

    way_out = suggestion(name, known, "dir(ogive.directml) lists them", least=0.85)
    allowed = "the names of DirectML's activation and element-wise operators"
    raise MissingNameError(message("ogive.directml", f"there is no {name}", allowed, way_out))


def __dir__() -> list[str]:
    return _names()
