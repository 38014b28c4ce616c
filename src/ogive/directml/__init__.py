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

Descs, enumerations and their members are made from the data files beside this one.
"""

from __future__ import annotations

from typing import Any

from ogive.directml import data, enumerations
from ogive.directml.binding import (
    DML_BINDING_DESC,
    DML_BINDING_PROPERTIES,
    DML_BINDING_TABLE_DESC,
    DML_BUFFER_ARRAY_BINDING,
    DML_BUFFER_BINDING,
)
from ogive.directml.commands import CommandList, CommandRecorder
from ogive.directml.descs import DML_OPERATOR_DESC, desc_class
from ogive.directml.device import Device
from ogive.directml.errors import HRESULT, DMLError
from ogive.directml.features import (
    DML_FEATURE_DATA_FEATURE_LEVELS,
    DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT,
    DML_FEATURE_QUERY_FEATURE_LEVELS,
    DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT,
)
from ogive.directml.graph import (
    DML_CONSTANT_DATA_GRAPH_NODE_DESC,
    DML_GRAPH_DESC,
    DML_GRAPH_EDGE_DESC,
    DML_GRAPH_NODE_DESC,
    DML_INPUT_GRAPH_EDGE_DESC,
    DML_INTERMEDIATE_GRAPH_EDGE_DESC,
    DML_OPERATOR_GRAPH_NODE_DESC,
    DML_OUTPUT_GRAPH_EDGE_DESC,
)
from ogive.directml.operators import CompiledOperator, Operator, OperatorInitializer
from ogive.directml.scalars import DML_SCALAR_UNION, DML_SCALE_BIAS, DML_SIZE_2D
from ogive.directml.table import BindingTable
from ogive.directml.tensor import DML_BUFFER_TENSOR_DESC, DML_TENSOR_DESC, DMLCalcBufferTensorSize

#: Enumerations, their members by full name, and constants.
_VALUES: dict[str, Any] = {
    **enumerations.ENUMERATIONS,
    **{
        name: member
        for kind in enumerations.ENUMERATIONS.values()
        for name, member in enumerations.members(kind).items()
    },
    **enumerations.CONSTANTS,
}
globals().update(_VALUES)

__all__ = [
    "DML_BINDING_DESC",
    "DML_BINDING_PROPERTIES",
    "DML_BINDING_TABLE_DESC",
    "DML_BUFFER_ARRAY_BINDING",
    "DML_BUFFER_BINDING",
    "DML_BUFFER_TENSOR_DESC",
    "DML_CONSTANT_DATA_GRAPH_NODE_DESC",
    "DML_FEATURE_DATA_FEATURE_LEVELS",
    "DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT",
    "DML_FEATURE_QUERY_FEATURE_LEVELS",
    "DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT",
    "DML_GRAPH_DESC",
    "DML_GRAPH_EDGE_DESC",
    "DML_GRAPH_NODE_DESC",
    "DML_INPUT_GRAPH_EDGE_DESC",
    "DML_INTERMEDIATE_GRAPH_EDGE_DESC",
    "DML_OPERATOR_DESC",
    "DML_OPERATOR_GRAPH_NODE_DESC",
    "DML_OUTPUT_GRAPH_EDGE_DESC",
    "DML_SCALAR_UNION",
    "DML_SCALE_BIAS",
    "DML_SIZE_2D",
    "DML_TENSOR_DESC",
    "HRESULT",
    "BindingTable",
    "CommandList",
    "CommandRecorder",
    "CompiledOperator",
    "DMLCalcBufferTensorSize",
    "DMLError",
    "Device",
    "Operator",
    "OperatorInitializer",
    *data.STRUCTS,
    *_VALUES,
]


def __getattr__(name: str) -> Any:
    """The descs of the operators, each made when it is first wanted."""
    if name not in data.STRUCTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = desc_class(name)
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    return sorted(__all__)
