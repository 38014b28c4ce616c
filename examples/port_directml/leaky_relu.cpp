// A leaky ReLU with DirectML. leaky_relu.py has the same program, line by line; what is left out there is
// Direct3D's own: resources, heaps, queues, fences.

DML_BUFFER_TENSOR_DESC buffer = {};
buffer.DataType = DML_TENSOR_DATA_TYPE_FLOAT32;
buffer.DimensionCount = 4;
UINT sizes[] = {1, 1, 2, 4};
buffer.Sizes = sizes;
buffer.TotalTensorSizeInBytes = 32;
DML_TENSOR_DESC tensor = {DML_TENSOR_TYPE_BUFFER, &buffer};

DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC desc = {};
desc.InputTensor = &tensor;
desc.OutputTensor = &tensor;
desc.Alpha = 0.25f;
DML_OPERATOR_DESC operatorDesc = {DML_OPERATOR_ACTIVATION_LEAKY_RELU, &desc};

ComPtr<IDMLDevice> device;
DMLCreateDevice(d3d12Device, DML_CREATE_DEVICE_FLAG_NONE, IID_PPV_ARGS(&device));
ComPtr<IDMLOperator> op;
device->CreateOperator(&operatorDesc, IID_PPV_ARGS(&op));
ComPtr<IDMLCompiledOperator> compiled;
device->CompileOperator(op.Get(), DML_EXECUTION_FLAG_NONE, IID_PPV_ARGS(&compiled));

ComPtr<IDMLCommandRecorder> recorder;
device->CreateCommandRecorder(IID_PPV_ARGS(&recorder));

IDMLCompiledOperator* initialized[] = {compiled.Get()};
ComPtr<IDMLOperatorInitializer> initializer;
device->CreateOperatorInitializer(1, initialized, IID_PPV_ARGS(&initializer));
DML_BINDING_TABLE_DESC tableDesc = {initializer.Get(), cpuHandle, gpuHandle, descriptorCount};
ComPtr<IDMLBindingTable> table;
device->CreateBindingTable(&tableDesc, IID_PPV_ARGS(&table));
recorder->RecordDispatch(commandList, initializer.Get(), table.Get());
// Close, execute, wait, reset the command list.

tableDesc = {compiled.Get(), cpuHandle, gpuHandle, descriptorCount};
table->Reset(&tableDesc);
DML_BUFFER_BINDING input = {inputResource, 0, 32};
DML_BINDING_DESC inputDesc = {DML_BINDING_TYPE_BUFFER, &input};
table->BindInputs(1, &inputDesc);
DML_BUFFER_BINDING output = {outputResource, 0, 32};
DML_BINDING_DESC outputDesc = {DML_BINDING_TYPE_BUFFER, &output};
table->BindOutputs(1, &outputDesc);

recorder->RecordDispatch(commandList, compiled.Get(), table.Get());
