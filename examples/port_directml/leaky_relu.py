"""The program of leaky_relu.cpp with ``ogive.directml``, line by line.

    python examples/port_directml/leaky_relu.py

Pointers become objects, ``ComPtr`` and ``IID_PPV_ARGS`` results, resources NumPy arrays or any buffers. Counts and sizes
that follow from other members may be left out.
"""

from __future__ import annotations

import numpy as np

import ogive.directml as dml


def main(x: np.ndarray) -> np.ndarray:
    """The leaky ReLU of eight numbers."""
    buffer = dml.DML_BUFFER_TENSOR_DESC(
        DataType=dml.DML_TENSOR_DATA_TYPE_FLOAT32,
        Sizes=[1, 1, 2, 4],
    )
    tensor = dml.DML_TENSOR_DESC(dml.DML_TENSOR_TYPE_BUFFER, buffer)

    desc = dml.DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC(
        InputTensor=tensor,
        OutputTensor=tensor,
        Alpha=0.25,
    )
    operator_desc = dml.DML_OPERATOR_DESC(dml.DML_OPERATOR_ACTIVATION_LEAKY_RELU, desc)

    device = dml.Device()  # DMLCreateDevice
    operator = device.CreateOperator(operator_desc)
    compiled = device.CompileOperator(operator, dml.DML_EXECUTION_FLAG_NONE)

    recorder = device.CreateCommandRecorder()
    commands = dml.CommandList()

    initializer = device.CreateOperatorInitializer([compiled])
    table = device.CreateBindingTable(dml.DML_BINDING_TABLE_DESC(initializer))
    recorder.RecordDispatch(commands, initializer, table)
    commands.Execute()  # closes, executes, waits, resets

    table.Reset(dml.DML_BINDING_TABLE_DESC(compiled))
    table.BindInputs([dml.DML_BUFFER_BINDING(x, 0, 32)])
    output = np.empty(8, np.float32)
    table.BindOutputs([dml.DML_BUFFER_BINDING(output, 0, 32)])

    recorder.RecordDispatch(commands, compiled, table)
    commands.Execute()
    return output


if __name__ == "__main__":
    print(main(np.arange(-4, 4, dtype=np.float32)))
