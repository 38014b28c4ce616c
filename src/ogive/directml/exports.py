"""What the package exports from its modules; what is made from data comes on top."""

from __future__ import annotations

__all__ = ["EXPORTS"]

EXPORTS = {
    "builder.activation": ("FusedActivation",),
    "builder.buffers": ("Buffer",),
    "builder.compiled": ("CompiledGraph",),
    "builder.expression": ("Expression",),
    "builder.functions": ("broadcast", "reinterpret"),
    "builder.graph": ("Graph",),
    "builder.tensors": ("TensorDesc", "TensorPolicy"),
    "binding": (
        "DML_BINDING_DESC",
        "DML_BINDING_PROPERTIES",
        "DML_BINDING_TABLE_DESC",
        "DML_BUFFER_ARRAY_BINDING",
        "DML_BUFFER_BINDING",
    ),
    "commands": ("CommandList", "CommandRecorder"),
    "descs": ("DML_OPERATOR_DESC",),
    "device": ("Device",),
    "errors": ("HRESULT", "DMLError"),
    "features": (
        "DML_FEATURE_DATA_FEATURE_LEVELS",
        "DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT",
        "DML_FEATURE_QUERY_FEATURE_LEVELS",
        "DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT",
    ),
    "graph": (
        "DML_CONSTANT_DATA_GRAPH_NODE_DESC",
        "DML_GRAPH_DESC",
        "DML_GRAPH_EDGE_DESC",
        "DML_GRAPH_NODE_DESC",
        "DML_INPUT_GRAPH_EDGE_DESC",
        "DML_INTERMEDIATE_GRAPH_EDGE_DESC",
        "DML_OPERATOR_GRAPH_NODE_DESC",
        "DML_OUTPUT_GRAPH_EDGE_DESC",
    ),
    "operators": ("CompiledOperator", "Operator", "OperatorInitializer"),
    "scalars": ("DML_SCALAR_UNION", "DML_SCALE_BIAS", "DML_SIZE_2D"),
    "table": ("BindingTable",),
    "tensor": ("DML_BUFFER_TENSOR_DESC", "DML_TENSOR_DESC", "DMLCalcBufferTensorSize"),
}
