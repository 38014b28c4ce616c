"""The life cycle: create, compile, initialise once, bind, record, execute; and what removes a device."""

import threading
import uuid

import numpy as np
import pytest

import ogive
import ogive.directml as dml
from tests.directml.standard import ACTIVATIONS, LEVELS, data_type, refusal_of, tensor
from tests.inputs import assert_same_bits

R = dml.HRESULT
X = tensor("FLOAT32", (8,))
OWNED = X.replace(Flags=dml.DML_TENSOR_FLAG_OWNED_BY_DML)
DATA = np.linspace(-2, 2, 8, dtype=np.float32)
SLOPE = np.linspace(0.5, 4, 8, dtype=np.float32)


@pytest.fixture
def device():
    return dml.Device()


def relu(device, flags=0):
    return device.CompileOperator(device.CreateOperator(dml.DML_ACTIVATION_RELU_OPERATOR_DESC(X, X)), flags)


def prelu(device, flags=0):
    """With a slope that is bound at initialisation."""
    desc = dml.DML_ACTIVATION_PARAMETERIZED_RELU_OPERATOR_DESC(X, OWNED, X)
    return device.CompileOperator(device.CreateOperator(desc), flags)


def table_for(device, dispatchable):
    return device.CreateBindingTable(dml.DML_BINDING_TABLE_DESC(dispatchable))


def run(device, dispatchable, table):
    commands = dml.CommandList()
    device.CreateCommandRecorder().RecordDispatch(commands, dispatchable, table)
    commands.Execute()


def initialize(device, *operators):
    initializer = device.CreateOperatorInitializer(operators)
    run(device, initializer, table_for(device, initializer))


def removes(device, match, function, *args, reason=R.E_INVALIDARG):
    """A misuse of a method without a result: it raises, the device is removed, and says why from then on."""
    assert device.GetDeviceRemovedReason() == R.S_OK
    with pytest.raises(dml.DMLError, match=match) as caught:
        function(*args)
    assert caught.value.hresult == reason
    assert device.GetDeviceRemovedReason() == reason
    with pytest.raises(dml.DMLError, match="IDMLDevice: it has been removed, because .*Make another one") as caught:
        device.CreateCommandRecorder()
    assert caught.value.hresult == R.DXGI_ERROR_DEVICE_REMOVED
    assert repr(device).endswith("(removed)>")


# ---- the device


@pytest.mark.parametrize("level", LEVELS)
def test_levels(level):
    member = getattr(dml, f"DML_FEATURE_LEVEL_{level}")
    for given in (level, f"DML_FEATURE_LEVEL_{level}", member, int(member)):
        assert dml.Device(given).feature_level is member
    assert repr(dml.Device(level)) == f"<IDMLDevice DML_FEATURE_LEVEL_{level}>"


@pytest.mark.parametrize("level", ["7_0", "5.1", "", 0, 5, 0x1001, True, None, 5.1, ["6_4"]])
def test_levels_that_there_are_not(level):
    with pytest.raises(dml.DMLError, match="Device: feature_level is .*; allowed: 1_0, 2_0, ") as caught:
        dml.Device(level)
    assert caught.value.hresult == R.DXGI_ERROR_UNSUPPORTED


def test_the_default_level_is_the_highest():
    assert dml.Device().feature_level == dml.DML_FEATURE_LEVEL_6_4 == max(dml.DML_FEATURE_LEVEL)
    assert dml.Device(flags=dml.DML_CREATE_DEVICE_FLAG_DEBUG).GetDeviceRemovedReason() == R.S_OK
    with pytest.raises(
        dml.DMLError, match="flags is 8; allowed: DML_CREATE_DEVICE_FLAG_NONE, DML_CREATE_DEVICE_FLAG_DEB"
    ):
        dml.Device(flags=8)


@pytest.mark.parametrize("level", LEVELS)
def test_data_type_queries(level):
    device = dml.Device(level)
    for row in ACTIVATIONS["_tensor_data_types"]:
        query = dml.DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT(row["value"])
        answer = device.CheckFeatureSupport(dml.DML_FEATURE_TENSOR_DATA_TYPE_SUPPORT, query)
        known = row["bits"] is not None and row["bits"] >= 8
        assert answer.IsSupported == (known and LEVELS.index(row["feature_level"]) <= LEVELS.index(level))


def test_feature_level_queries():
    device = dml.Device("5_1")

    def highest(*levels):
        query = dml.DML_FEATURE_QUERY_FEATURE_LEVELS(levels)
        return device.CheckFeatureSupport(dml.DML_FEATURE_FEATURE_LEVELS, query).MaxSupportedFeatureLevel

    assert highest(0x1000, 0x6400, 0x3000) == dml.DML_FEATURE_LEVEL_3_0
    assert highest(*dml.DML_FEATURE_LEVEL) == dml.DML_FEATURE_LEVEL_5_1
    assert highest(0x5100, 0x1234) is dml.DML_FEATURE_LEVEL_5_1
    for levels in ((), (0x6400,), (7,)):
        with pytest.raises(
            dml.DMLError, match="RequestedFeatureLevels is .*; allowed: lists with a level up to"
        ) as caught:
            highest(*levels)
        assert caught.value.hresult == R.DXGI_ERROR_UNSUPPORTED


def test_other_queries(device):
    query = dml.DML_FEATURE_QUERY_FEATURE_LEVELS([0x1000])
    for feature, wrong, hresult in (
        (2, query, R.DXGI_ERROR_UNSUPPORTED),
        (0, query, R.E_INVALIDARG),
        (1, None, R.E_INVALIDARG),
        ("FEATURE_LEVELS", query, R.E_INVALIDARG),
    ):
        error = refusal_of(device.CheckFeatureSupport, feature, wrong)
        assert error.hresult == hresult
        assert str(error).startswith("IDMLDevice::CheckFeatureSupport: ")
    assert device.GetDeviceRemovedReason() == R.S_OK


def test_names_and_private_data(device):
    operator = relu(device)
    key = uuid.uuid4()
    for thing in (device, operator):
        thing.SetName("first")
        assert "'first'" in repr(thing)
        with pytest.raises(dml.DMLError, match="there is nothing under") as caught:
            thing.GetPrivateData(key)
        assert caught.value.hresult == R.DXGI_ERROR_NOT_FOUND
        thing.SetPrivateData(key, b"123")
        assert thing.GetPrivateData(key) == b"123"
        thing.SetPrivateDataInterface(key, device)
        assert thing.GetPrivateData(key) is device
        thing.SetPrivateData(key, None)
        assert refusal_of(thing.GetPrivateData, key)
        assert "guid is 'key'; allowed: a uuid.UUID" in str(refusal_of(thing.SetPrivateData, "key", b""))
    assert operator.GetDevice() is device
    device.MakeResident([operator])
    device.Evict([operator])
    assert refusal_of(device.GetParentDevice).hresult == R.E_NOINTERFACE


# ---- creating and compiling


def test_create_operator_takes_both_forms(device):
    desc = dml.DML_ACTIVATION_RELU_OPERATOR_DESC(X, X)
    for given in (desc, dml.DML_OPERATOR_DESC(dml.DML_OPERATOR_ACTIVATION_RELU, desc)):
        assert repr(device.CreateOperator(given)) == "<IDMLOperator DML_OPERATOR_ACTIVATION_RELU>"
    for given in (None, X, "relu", 44, dml.DML_SCALE_BIAS(1, 0)):
        with pytest.raises(dml.DMLError, match="IDMLDevice::CreateOperator: desc is .*; allowed: OperatorDesc"):
            device.CreateOperator(given)
    assert device.GetDeviceRemovedReason() == R.S_OK


def test_the_example_of_the_documentation(device):
    """IDENTITY is not a cast."""
    half = tensor("FLOAT16", (8,))
    with pytest.raises(
        dml.DMLError, match="OutputTensor.DataType is FLOAT16; allowed: FLOAT32, as InputTensor.DataType"
    ):
        device.CreateOperator(dml.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC(X, half))


def test_compile_operator(device):
    operator = device.CreateOperator(dml.DML_ACTIVATION_RELU_OPERATOR_DESC(X, X))
    for flags in (0, 1, 2, 4, 7, dml.DML_EXECUTION_FLAG_DISABLE_META_COMMANDS):
        assert device.CompileOperator(operator, flags).dispatch([DATA])[0].tolist() == np.maximum(DATA, 0).tolist()
    for flags in (8, -1, "NONE", True, dml.DML_TENSOR_FLAG_NONE):
        with pytest.raises(dml.DMLError, match="flags is .*; allowed: DML_EXECUTION_FLAG_NONE, "):
            device.CompileOperator(operator, flags)
    with pytest.raises(dml.DMLError, match="operator is None; allowed: an operator"):
        device.CompileOperator(None)
    with pytest.raises(dml.DMLError, match="belongs to another device; allowed: objects of this device"):
        dml.Device().CompileOperator(operator)


def test_binding_properties(device):
    assert relu(device).GetBindingProperties() == dml.DML_BINDING_PROPERTIES(2, 0, 0)
    assert prelu(device).GetBindingProperties() == dml.DML_BINDING_PROPERTIES(4, 0, 256)
    assert device.CreateOperatorInitializer([]).GetBindingProperties() == dml.DML_BINDING_PROPERTIES(0, 0, 0)
    properties = device.CreateOperatorInitializer([relu(device), prelu(device)]).GetBindingProperties()
    assert properties.PersistentResourceSize == 0


# ---- the long way


def test_the_whole_way(device):
    operator = relu(device)
    initialize(device, operator)
    table = table_for(device, operator)
    out = bytearray(64)
    table.BindInputs([dml.DML_BUFFER_BINDING(DATA, 0, 32)])
    table.BindOutputs([dml.DML_BINDING_DESC(dml.DML_BINDING_TYPE_BUFFER, dml.DML_BUFFER_BINDING(out, 16, 32))])
    run(device, operator, table)
    assert_same_bits(np.frombuffer(out, np.float32)[4:12], ogive.relu(DATA))
    assert not any(out[:16])
    assert not any(out[48:])


def bind_prelu(device, operator, persistent, out):
    initializer = device.CreateOperatorInitializer([operator])
    table = table_for(device, initializer)
    source = SLOPE.copy()
    table.BindInputs([dml.DML_BUFFER_ARRAY_BINDING([None, source])])
    table.BindOutputs([persistent])
    run(device, initializer, table)
    source[:] = 0  # later changes have no effect
    table.Reset(dml.DML_BINDING_TABLE_DESC(operator))
    table.BindInputs([DATA, None])
    table.BindOutputs([out])
    table.BindPersistentResource(persistent)
    return table


def test_owned_inputs(device):
    operator, out = prelu(device), np.zeros_like(DATA)
    persistent = dml.DML_BUFFER_BINDING(np.zeros(1024, np.uint8), 256)
    run(device, operator, bind_prelu(device, operator, persistent, out))
    assert_same_bits(out, ogive.prelu(DATA, SLOPE))


def test_one_initializer_for_several_operators(device):
    operators = [relu(device), prelu(device), prelu(device)]
    initializer = device.CreateOperatorInitializer(operators)
    table = table_for(device, initializer)
    resources = [np.zeros(256, np.uint8) for _ in range(2)]
    arrays = [dml.DML_BUFFER_ARRAY_BINDING([None, SLOPE * k]) for k in (1, 2)]
    table.BindInputs([None, *arrays])
    table.BindOutputs([None, *resources])
    run(device, initializer, table)
    for k, operator, resource in zip((1, 2), operators[1:], resources, strict=True):
        assert_same_bits(operator.dispatch([DATA, None], persistent=resource)[0], ogive.prelu(DATA, SLOPE * k))
    assert_same_bits(operators[0].dispatch([DATA])[0], ogive.relu(DATA))


def test_recorded_dispatches_run_in_order_when_executed(device):
    operator, out = relu(device), np.full_like(DATA, 7)
    recorder, commands = device.CreateCommandRecorder(), dml.CommandList()
    initializer = device.CreateOperatorInitializer([operator])
    recorder.RecordDispatch(commands, initializer, table_for(device, initializer))
    table = table_for(device, operator)
    table.BindInputs([DATA])
    table.BindOutputs([out])
    recorder.RecordDispatch(commands, operator, table)
    table.Reset(None)  # what was recorded keeps its bindings
    assert len(commands) == 2
    assert (out == 7).all()
    commands.Execute()
    assert_same_bits(out, ogive.relu(DATA))
    assert len(commands) == 0
    commands.Execute()
    recorder.RecordDispatch(commands, operator, bound(device, operator, DATA, out))
    commands.Reset()
    assert len(commands) == 0


def bound(device, operator, given, out):
    table = table_for(device, operator)
    table.BindInputs([given])
    table.BindOutputs([out])
    return table


def test_volatile_bindings_count_when_the_dispatch_runs(device):
    first, second = np.zeros_like(DATA), np.zeros_like(DATA)
    for flags, written, untouched in ((0, first, second), (dml.DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE, second, first)):
        first[:] = second[:] = 7
        operator = relu(device, flags)
        initialize(device, operator)
        table, commands = bound(device, operator, DATA, first), dml.CommandList()
        device.CreateCommandRecorder().RecordDispatch(commands, operator, table)
        table.BindOutputs([second])
        commands.Execute()
        assert_same_bits(written, ogive.relu(DATA))
        assert (untouched == 7).all()


def test_volatile_bindings_may_come_after_recording(device):
    operator = relu(device, dml.DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE)
    initialize(device, operator)
    table, commands, out = table_for(device, operator), dml.CommandList(), np.zeros_like(DATA)
    recorder = device.CreateCommandRecorder()
    recorder.RecordDispatch(commands, operator, table)
    table.BindInputs([DATA])
    table.BindOutputs([out])
    commands.Execute()
    assert_same_bits(out, ogive.relu(DATA))
    recorder.RecordDispatch(commands, operator, table_for(device, operator))
    removes(device, "no inputs are bound; allowed: the inputs of DML_OPERATOR_ACTIVATION_RELU", commands.Execute)


# ---- initialisation


def test_an_operator_must_be_initialized(device):
    operator = relu(device)
    table = bound(device, operator, DATA, np.zeros_like(DATA))
    removes(device, "ACTIVATION_RELU is not initialised; .*Dispatch an initialiser", run, device, operator, table)


def test_recording_the_initializer_is_not_enough(device):
    operator, out = relu(device), np.full_like(DATA, 7)
    initializer = device.CreateOperatorInitializer([operator])
    device.CreateCommandRecorder().RecordDispatch(dml.CommandList(), initializer, table_for(device, initializer))
    removes(device, "is not initialised", run, device, operator, bound(device, operator, DATA, out))
    assert (out == 7).all()


def test_a_second_initialization_is_an_error(device):
    operator = relu(device)
    initialize(device, operator)
    removes(device, "DML_OPERATOR_ACTIVATION_RELU is initialised already", initialize, device, operator)


def test_the_same_operator_twice_in_one_initializer(device):
    operator = relu(device)
    removes(device, "is initialised already", initialize, device, operator, operator)
    assert not operator._is_initialized


def test_an_initializer_for_nothing_does_nothing(device):
    initializer = device.CreateOperatorInitializer([])
    run(device, initializer, table_for(device, initializer))
    operator = relu(device)
    initializer.Reset([operator])
    run(device, initializer, table_for(device, initializer))
    assert operator.dispatch([DATA])


def test_initializers_take_compiled_operators_of_their_device(device):
    for given, text in (
        (None, "operators is None; allowed: a sequence of compiled operators"),
        ([None], r"operators\[0\] is None; allowed: compiled operators"),
        ([relu(dml.Device())], "belongs to another device"),
    ):
        with pytest.raises(dml.DMLError, match=text):
            device.CreateOperatorInitializer(given)
    assert device.GetDeviceRemovedReason() == R.S_OK


def test_owned_inputs_are_bound_at_initialization_and_only_then(device):
    operator = prelu(device)
    initializer = device.CreateOperatorInitializer([operator])
    table = table_for(device, initializer)
    resource = np.zeros(256, np.uint8)
    both = dml.DML_BUFFER_ARRAY_BINDING([DATA, SLOPE])
    removes(device, "InputTensor is bound at initialisation; allowed: None at initialisation", table.BindInputs, [both])
    device = dml.Device()
    operator = prelu(device)
    table = bind_prelu(device, operator, resource, np.zeros_like(DATA))
    text = "SlopeTensor is bound at execution; allowed: None at execution. It is owned by DirectML"
    removes(device, text, table.BindInputs, [DATA, SLOPE])


def test_the_persistent_resource_stays_where_it_is(device):
    operator, out = prelu(device), np.full_like(DATA, 7)
    table = bind_prelu(device, operator, np.zeros(256, np.uint8), out)
    table.BindPersistentResource(np.zeros(256, np.uint8))
    removes(device, "the persistent resource is not where it was at initialisation", run, device, operator, table)
    assert (out == 7).all()


INITIALIZER_MISUSE = {
    "no inputs": (lambda t, s, r: t.BindOutputs([r]), "no inputs are bound; allowed: those that .* owns"),
    "no outputs": (
        lambda t, s, r: t.BindInputs([dml.DML_BUFFER_ARRAY_BINDING([None, s])]),
        "no outputs are bound; allowed: the operators' persistent resources",
    ),
    "too few arrays": (
        lambda t, s, r: t.BindInputs([None, None]),
        "2 bindings were given; allowed: 1, one for each op",
    ),
    "a plain binding": (lambda t, s, r: t.BindInputs([s]), "allowed: a DML_BUFFER_ARRAY_BINDING for each operator"),
    "too few entries": (
        lambda t, s, r: t.BindInputs([dml.DML_BUFFER_ARRAY_BINDING([s])]),
        "1 bindings were given for DML_OPERATOR_ACTIVATION_PARAMETERIZED_RELU; allowed: 2",
    ),
    "nothing owned": (
        lambda t, s, r: t.BindInputs([dml.DML_BUFFER_ARRAY_BINDING([None, None])]),
        "SlopeTensor is not bound",
    ),
    "a small resource": (
        lambda t, s, r: t.BindOutputs([r[:128]]),
        "is bound with SizeInBytes 128; allowed: 256 or more",
    ),
    "no resource": (lambda t, s, r: t.BindOutputs([None]), "the persistent resource of .* is not bound"),
    "a persistent resource": (lambda t, s, r: t.BindPersistentResource(r), "an initialiser has no persistent resource"),
    "a shared buffer": (
        lambda t, s, r: (t.BindInputs([dml.DML_BUFFER_ARRAY_BINDING([None, r])]), t.BindOutputs([r])),
        "an input and a persistent resource share a buffer; allowed: buffers of their own at initialisation",
    ),
}


@pytest.mark.parametrize("case", INITIALIZER_MISUSE)
def test_misuse_of_an_initializer(device, case):
    bind, text = INITIALIZER_MISUSE[case]
    operator = prelu(device)
    initializer = device.CreateOperatorInitializer([operator])
    table = table_for(device, initializer)
    resource = np.full(512, 7, np.uint8)

    def all_of_it():
        bind(table, SLOPE, resource)
        run(device, initializer, table)

    removes(device, text, all_of_it)
    assert not operator._is_initialized
    assert (resource == 7).all()


# ---- binding

MISUSE = {
    "too many inputs": (lambda t, b: t.BindInputs([b, b]), "2 bindings were given; allowed: 1, one for each input of"),
    "a missing input": (lambda t, b: t.BindInputs([None]), "InputTensor is not bound; allowed: a binding"),
    "a null buffer": (lambda t, b: t.BindInputs([dml.DML_BUFFER_BINDING(None)]), "InputTensor is not bound"),
    "an array": (
        lambda t, b: t.BindInputs([dml.DML_BUFFER_ARRAY_BINDING([b])]),
        "InputTensor is bound to a DML_BUFFER_ARRAY_BINDING; allowed: DML_BUFFER_BINDING",
    ),
    "no list": (lambda t, b: t.BindInputs(b), r"bindings is a DML_BUFFER_BINDING; allowed: a list .*\[binding\]"),
    "no buffer": (lambda t, b: t.BindInputs([3]), "Buffer is 3; allowed: NumPy arrays, bytearray"),
    "too many outputs": (lambda t, b: t.BindOutputs([b, b]), "2 bindings were given; allowed: 1, one for each output"),
    "a missing output": (lambda t, b: t.BindOutputs([None]), "OutputTensor is not bound"),
    "an odd offset": (
        lambda t, b: t.BindInputs([dml.DML_BUFFER_BINDING(bytearray(64), 8)]),
        "InputTensor is bound at Offset 8; allowed: multiples of 16",
    ),
    "a range that leaves the buffer": (
        lambda t, b: t.BindInputs([dml.DML_BUFFER_BINDING(bytearray(64), 48, 32)]),
        "InputTensor is bound from 48 to 80 of a buffer of 64 bytes; allowed: a range inside the buffer",
    ),
    "an offset beyond the buffer": (
        lambda t, b: t.BindInputs([dml.DML_BUFFER_BINDING(bytearray(64), 2**63, 32)]),
        "from 9223372036854775808 to 9223372036854775840 of a buffer of 64 bytes",
    ),
    "a range that overflows": (
        lambda t, b: t.BindInputs([dml.DML_BUFFER_BINDING(bytearray(64), 2**64 - 16, 2**64 - 1)]),
        "of a buffer of 64 bytes; allowed: a range inside",
    ),
    "too few bytes": (
        lambda t, b: t.BindInputs([dml.DML_BUFFER_BINDING(bytearray(64), 0, 28)]),
        "InputTensor is bound with SizeInBytes 28; allowed: 32 or more",
    ),
    "an odd buffer": (
        lambda t, b: t.BindInputs([bytearray(63)]),
        "InputTensor is bound to a buffer of 63 bytes; allowed: buffers whose size is a multiple of 4. Round",
    ),
    "a read-only output": (lambda t, b: t.BindOutputs([bytes(32)]), "OutputTensor is bound to read-only memory"),
    "a strided buffer": (lambda t, b: t.BindInputs([np.zeros((8, 2))[:, 0]]), "Buffer is not contiguous in memory; al"),
    "python objects": (lambda t, b: t.BindInputs([np.zeros(8, object)]), "Buffer is an array of dtype object"),
    "a temporary resource that is none": (lambda t, b: t.BindTemporaryResource(3), "Buffer is 3"),
    "an array of temporary resources": (
        lambda t, b: t.BindTemporaryResource(dml.DML_BUFFER_ARRAY_BINDING([b])),
        "the temporary resource is bound to a DML_BUFFER_ARRAY_BINDING",
    ),
}


@pytest.mark.parametrize("case", MISUSE)
def test_misuse_of_a_binding_table_removes_the_device(device, case):
    bind, text = MISUSE[case]
    table = table_for(device, relu(device))
    removes(device, text, bind, table, dml.DML_BUFFER_BINDING(bytearray(64), 0, 32))


def test_guaranteed_alignment_counts(device):
    aligned = X.replace(GuaranteedBaseOffsetAlignment=64)
    operator = device.CompileOperator(device.CreateOperator(dml.DML_ACTIVATION_RELU_OPERATOR_DESC(aligned, X)))
    table = table_for(device, operator)
    table.BindInputs([dml.DML_BUFFER_BINDING(bytearray(256), 64)])
    text = "InputTensor is bound at Offset 16; allowed: multiples of 64"
    removes(device, text, table.BindInputs, [dml.DML_BUFFER_BINDING(bytearray(256), 16)])


def test_binding_descs_say_what_they_are():
    binding = dml.DML_BUFFER_BINDING(bytearray(16))
    assert dml.DML_BINDING_DESC(dml.DML_BINDING_TYPE_NONE).Desc is None
    for kind, desc, shown in ((2, binding, "a DML_BUFFER_BINDING"), (0, binding, "a DML_BUFFER"), (1, None, "None")):
        with pytest.raises(dml.DMLError, match=f"Type is DML_BINDING_TYPE_[A-Z_]* where Desc is {shown}"):
            dml.DML_BINDING_DESC(kind, desc)
    with pytest.raises(dml.DMLError, match="Desc is 3; allowed: DML_BUFFER_BINDING, DML_BUFFER_ARRAY_BINDING"):
        dml.DML_BINDING_DESC(1, 3)
    with pytest.raises(dml.DMLError, match="Buffer is None with Offset 16 and SizeInBytes None; allowed: 0 for both"):
        dml.DML_BUFFER_BINDING(None, 16)
    assert binding == dml.DML_BUFFER_BINDING(binding.Buffer) != dml.DML_BUFFER_BINDING(bytearray(16))


def test_a_missing_persistent_resource(device):
    operator = prelu(device)
    table = bind_prelu(device, operator, np.zeros(256, np.uint8), np.zeros_like(DATA))
    table.BindPersistentResource(None)
    removes(device, "no persistent resource is bound; allowed: 256 bytes or more", run, device, operator, table)


def test_persistent_resources_do_not_overlap(device):
    operators = [prelu(device), prelu(device)]
    initializer, shared = device.CreateOperatorInitializer(operators), np.zeros(1024, np.uint8)
    table = table_for(device, initializer)
    table.BindInputs([dml.DML_BUFFER_ARRAY_BINDING([None, SLOPE])] * 2)
    table.BindOutputs([dml.DML_BUFFER_BINDING(shared, 0, 512), dml.DML_BUFFER_BINDING(shared, 0)])
    removes(device, "two persistent resources overlap in memory", run, device, initializer, table)
    assert not shared.any()


def test_answers_are_structures_too():
    with pytest.raises(dml.DMLError, match="IsSupported is 1; allowed: True or False"):
        dml.DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT(1)


def test_binding_nothing_unbinds(device):
    operator = relu(device)
    initialize(device, operator)
    table = bound(device, operator, DATA, np.zeros_like(DATA))
    table.BindOutputs(None)
    removes(device, "RecordDispatch: no outputs are bound", run, device, operator, table)


def test_tables(device):
    operator = relu(device)
    with pytest.raises(dml.DMLError, match="SizeInDescriptors is 1; allowed: 2 or more"):
        device.CreateBindingTable(dml.DML_BINDING_TABLE_DESC(operator, SizeInDescriptors=1))
    with pytest.raises(dml.DMLError, match="Dispatchable is a Device; allowed: a compiled operator or an init"):
        device.CreateBindingTable(dml.DML_BINDING_TABLE_DESC(device))
    with pytest.raises(dml.DMLError, match="desc is a CompiledOperator; allowed: DML_BINDING_TABLE_DESC or None"):
        device.CreateBindingTable(operator)
    with pytest.raises(dml.DMLError, match="belongs to another device"):
        dml.Device().CreateBindingTable(dml.DML_BINDING_TABLE_DESC(operator))
    assert device.GetDeviceRemovedReason() == R.S_OK
    table = device.CreateBindingTable(dml.DML_BINDING_TABLE_DESC(operator))
    table.BindInputs([DATA])
    table.Reset(None)
    removes(device, "the table is for no dispatchable yet", table.BindInputs, [DATA])


RECORDING = {
    "no list": (lambda d, o, t: (None, o, t), "commandList is None; allowed: a CommandList"),
    "no dispatchable": (lambda d, o, t: (dml.CommandList(), X, t), "dispatchable is a DML_BUFFER_TENSOR_DESC"),
    "no table": (lambda d, o, t: (dml.CommandList(), o, None), "bindings is None; allowed: a BindingTable"),
    "another table": (
        lambda d, o, t: (dml.CommandList(), relu(d), t),
        "bindings is a table for <IDMLCompiledOperator .*>; allowed: a table for",
    ),
    "another device": (lambda d, o, t: (dml.CommandList(), relu(dml.Device()), t), "belongs to another device"),
}


@pytest.mark.parametrize("case", RECORDING)
def test_misuse_of_a_recorder_removes_the_device(device, case):
    arguments, text = RECORDING[case]
    operator = relu(device)
    recorder, table = device.CreateCommandRecorder(), table_for(device, operator)
    removes(device, text, recorder.RecordDispatch, *arguments(device, operator, table))


def test_hazards_are_found_when_recording(device):
    operator = device.CompileOperator(
        device.CreateOperator(dml.DML_ACTIVATION_PARAMETERIZED_RELU_OPERATOR_DESC(X, X, X))
    )
    initialize(device, operator)
    shared = np.ones(64, np.float32)
    table = table_for(device, operator)
    table.BindInputs([DATA, shared[:8]])
    table.BindOutputs([shared[:8]])
    text = "OutputTensor and SlopeTensor overlap in memory; allowed: an output that may lie over InputTensor only"
    removes(device, text, device.CreateCommandRecorder().RecordDispatch, dml.CommandList(), operator, table)
    assert (shared == 1).all()


def test_the_persistent_resource_must_not_be_written(device):
    operator = prelu(device)
    resource = np.zeros(256, np.uint8)
    table = bind_prelu(device, operator, resource, resource)
    removes(device, "the persistent resource and OutputTensor overlap in memory", run, device, operator, table)


def test_inputs_may_share_memory_with_anything_that_is_read(device):
    operator = prelu(device)
    resource, out = np.zeros(256, np.uint8), np.zeros_like(DATA)
    table = bind_prelu(device, operator, resource, out)
    table.BindInputs([resource, None])
    run(device, operator, table)
    assert_same_bits(out, ogive.prelu(SLOPE, SLOPE))


def test_memory_stays_while_it_is_bound(device):
    table, buffer = table_for(device, relu(device)), bytearray(32)
    table.BindInputs([buffer])
    with pytest.raises(BufferError):
        buffer.extend(b"1234")
    table.BindInputs([])
    buffer.extend(b"1234")


# ---- the short way


def test_dispatch_takes_names_numbers_and_parts(device):
    operator = relu(device)
    wanted = ogive.relu(DATA)
    buffer = np.zeros(64, np.float32)
    for given in ([DATA], (DATA,), {"InputTensor": DATA}, {0: DATA}):
        assert_same_bits(operator.dispatch(given)[0], wanted)
    for target in ([buffer], {"OutputTensor": buffer}, {0: buffer}, [dml.DML_BUFFER_BINDING(buffer, 64)]):
        buffer[:] = 7
        (result,) = operator.dispatch([DATA], target)
        assert_same_bits(result, wanted)
        assert np.shares_memory(result, buffer)
        assert (buffer == 7).sum() == 56


def test_dispatch_needs_no_padding(device):
    half = tensor("FLOAT16", (3,))
    operator = device.CompileOperator(device.CreateOperator(dml.DML_ACTIVATION_RELU_OPERATOR_DESC(half, half)))
    out = np.zeros(3, np.float16)
    operator.dispatch([np.float16([-1, 2, 3])], [out])
    assert out.tolist() == [0, 2, 3]
    table = table_for(device, operator)
    removes(device, "buffer of 6 bytes; allowed: buffers whose size is a multiple of 4", table.BindOutputs, [out])


SHORT_MISUSE = {
    "no list": (lambda o: o.dispatch(DATA), r"inputs is an array of shape .*; allowed: a list .* Write \[x\]"),
    "no outputs list": (lambda o: o.dispatch([DATA], DATA), r"outputs is an array of shape .*; .* Write \[y\]"),
    "too many": (lambda o: o.dispatch([DATA, DATA]), "2 inputs were given; allowed: 1: InputTensor"),
    "too many outputs": (lambda o: o.dispatch([DATA], [DATA, DATA]), "2 outputs were given; allowed: 1: OutputTensor"),
    "none": (lambda o: o.dispatch([None]), "InputTensor is not bound"),
    "nothing": (lambda o: o.dispatch([]), "0 inputs were given; allowed: 1"),
    "no output": (lambda o: o.dispatch([DATA], [None]), "OutputTensor is not bound"),
    "another name": (lambda o: o.dispatch({"Input": DATA}), "there is no input 'Input'; allowed: InputTensor"),
    "another number": (lambda o: o.dispatch({3: DATA}), "there is no input 3"),
    "another output": (lambda o: o.dispatch([DATA], {"y": DATA}), "there is no output 'y'; allowed: OutputTensor"),
    "twice": (lambda o: o.dispatch({0: DATA, "InputTensor": DATA}), "InputTensor was given twice"),
    "another dtype": (
        lambda o: o.dispatch([DATA.astype(np.float64)]),
        "InputTensor is an array of float64; allowed: float32, or uint8 for bytes as they are. Convert it first",
    ),
    "too small": (lambda o: o.dispatch([DATA[:7]]), "InputTensor has 28 bytes; allowed: 32 or more, for DML_BUFFER"),
    "read-only": (lambda o: o.dispatch([DATA], [bytes(32)]), "OutputTensor is read-only; allowed: writable"),
    "an odd offset": (lambda o: o.dispatch([dml.DML_BUFFER_BINDING(bytearray(64), 8)]), "at Offset 8; allowed: mult"),
    "initialised twice": (lambda o: (o.initialize(), o.initialize()), "is initialised already"),
    "initialised with something": (lambda o: o.initialize([DATA]), "InputTensor is bound at initialisation"),
}


@pytest.mark.parametrize("case", SHORT_MISUSE)
def test_misuse_of_the_short_way_leaves_the_device(device, case):
    misuse, text = SHORT_MISUSE[case]
    with pytest.raises(dml.DMLError, match=text):
        misuse(relu(device))
    assert device.GetDeviceRemovedReason() == R.S_OK


def test_the_short_way_with_owned_inputs(device):
    operator = prelu(device)
    with pytest.raises(dml.DMLError, match="the copy of SlopeTensor is not known; .* Call initialize first"):
        operator.dispatch([DATA, None])
    with pytest.raises(dml.DMLError, match="0 inputs were given; allowed: 2: InputTensor, SlopeTensor; None for what"):
        operator.initialize()
    with pytest.raises(dml.DMLError, match="SlopeTensor is not bound"):
        operator.initialize({})
    source = SLOPE.copy()
    operator.initialize({"SlopeTensor": source})
    source[:] = 0
    for given in ([DATA, None], {"InputTensor": DATA}):
        assert_same_bits(operator.dispatch(given)[0], ogive.prelu(DATA, SLOPE))
    with pytest.raises(dml.DMLError, match="SlopeTensor is bound at execution"):
        operator.dispatch([DATA, SLOPE])
    with pytest.raises(dml.DMLError, match="is initialised already"):
        operator.initialize([None, SLOPE])
    again = prelu(device)
    bind_prelu(device, again, np.zeros(256, np.uint8), np.zeros_like(DATA))
    with pytest.raises(dml.DMLError, match="Pass the resource as persistent="):
        again.dispatch([DATA, None])


def test_nothing_works_on_a_removed_device(device):
    operator, table = relu(device), None
    table = table_for(device, operator)
    initializer = device.CreateOperatorInitializer()
    recorder = device.CreateCommandRecorder()
    removes(device, "InputTensor is not bound", table.BindInputs, [None])
    node = device.CreateOperator
    for call in (
        lambda: node(dml.DML_ACTIVATION_RELU_OPERATOR_DESC(X, X)),
        lambda: device.CompileOperator(None),
        lambda: device.CompileGraph(None),
        lambda: device.CreateOperatorInitializer([]),
        lambda: device.CreateBindingTable(None),
        lambda: device.CreateCommandRecorder(),
        lambda: device.CheckFeatureSupport(0, None),
        lambda: device.MakeResident([]),
        lambda: device.Evict([]),
        lambda: device.GetParentDevice(),
        lambda: operator.dispatch([DATA]),
        lambda: operator.initialize(),
        lambda: table.Reset(None),
        lambda: table.BindInputs([DATA]),
        lambda: table.BindOutputs([DATA]),
        lambda: table.BindTemporaryResource(None),
        lambda: table.BindPersistentResource(None),
        lambda: initializer.Reset([]),
        lambda: recorder.RecordDispatch(dml.CommandList(), operator, table),
    ):
        error = refusal_of(call)
        assert error is not None
        assert error.hresult == R.DXGI_ERROR_DEVICE_REMOVED
    assert device.GetDeviceRemovedReason() == R.E_INVALIDARG


def test_only_one_of_many_threads_initializes():
    device = dml.Device()
    for _ in range(20):
        operator, errors = prelu(device), []
        barrier = threading.Barrier(4)

        def work(operator=operator, barrier=barrier, errors=errors):
            barrier.wait()
            errors.append(refusal_of(operator.initialize, [None, SLOPE]))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(error is None for error in errors) == 1
        assert_same_bits(operator.dispatch([DATA, None])[0], ogive.prelu(DATA, SLOPE))


def test_data_type_helper_names_what_it_means():
    assert data_type("FLOAT32") is dml.DML_TENSOR_DATA_TYPE_FLOAT32
