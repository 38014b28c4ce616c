"""Any binding whatever is taken by the rules, or refused before a byte is touched."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import ogive
import ogive.directml as dml
from ogive.directml.binding import Region, bytes_of
from tests.directml.standard import refusal_of, tensor
from tests.inputs import assert_same_bits

X = tensor("FLOAT32", (6,))
DATA = np.linspace(-1, 1, 6, dtype=np.float32)
NEEDED = 24


def operator(device):
    made = device.CompileOperator(device.CreateOperator(dml.DML_ACTIVATION_RELU_OPERATOR_DESC(X, X)))
    initializer, commands = device.CreateOperatorInitializer([made]), dml.CommandList()
    table = device.CreateBindingTable(dml.DML_BINDING_TABLE_DESC(initializer))
    device.CreateCommandRecorder().RecordDispatch(commands, initializer, table)
    commands.Execute()
    return made


def dispatch(device, made, source, target):
    """One dispatch by the long way."""
    table, commands = device.CreateBindingTable(dml.DML_BINDING_TABLE_DESC(made)), dml.CommandList()
    table.BindInputs([source])
    table.BindOutputs([target])
    device.CreateCommandRecorder().RecordDispatch(commands, made, table)
    commands.Execute()


# Numbers near what is allowed, and far beyond it.
numbers = st.one_of(
    st.sampled_from([0, 16, 32, 48, 64, 8, 4, 24, 23, 25]),
    st.integers(0, 200),
    st.sampled_from([2**31, 2**32 - 16, 2**63, 2**64 - 16, 2**64 - 1]),
)


@pytest.mark.matrix(share=16, pool="slow")
@settings(max_examples=200, deadline=None)
@given(st.integers(0, 200) | st.sampled_from([32, 64, 128]), numbers, numbers | st.none())
@example(40, 16, 24)
@example(40, 16, 28)  # one number behind the end
@example(40, 0, 44)
@example(40, 0, 20)  # one number short
def test_ranges_of_an_output(length, offset, size):
    memory = np.full(length + 512, 7, np.uint8)
    buffer = memory[256 : 256 + length]
    device = dml.Device()
    made = operator(device)
    error = refusal_of(dispatch, device, made, DATA, dml.DML_BUFFER_BINDING(buffer, offset, size))
    given_size = max(length - offset, 0) if size is None else size
    allowed = length % 4 == 0 and offset % 16 == 0 and offset + given_size <= length and given_size >= NEEDED
    assert (error is None) == allowed, error
    if allowed:
        written = memory[256 + offset : 256 + offset + NEEDED]
        assert_same_bits(written.view(np.float32), ogive.relu(DATA))
        written[:] = 7
    else:
        assert error.hresult == dml.HRESULT.E_INVALIDARG
        assert device.GetDeviceRemovedReason() == dml.HRESULT.E_INVALIDARG
    assert (memory == 7).all()


@pytest.mark.matrix(share=16, pool="slow")
@settings(max_examples=100, deadline=None)
@given(st.integers(0, 200) | st.sampled_from([32, 64, 128]), numbers, numbers | st.none())
@example(40, 16, 24)
@example(40, 16, 28)  # one number behind the end
@example(40, 0, 44)
@example(40, 0, 20)  # one number short
def test_ranges_of_an_input(length, offset, size):
    buffer = np.arange(length, dtype=np.uint8)
    before, out, device = buffer.copy(), np.full(6, 7, np.float32), dml.Device()
    made = operator(device)
    error = refusal_of(dispatch, device, made, dml.DML_BUFFER_BINDING(buffer, offset, size), out)
    given_size = max(length - offset, 0) if size is None else size
    allowed = length % 4 == 0 and offset % 16 == 0 and offset + given_size <= length and given_size >= NEEDED
    assert (error is None) == allowed, error
    wanted = ogive.relu(before[offset : offset + NEEDED].view(np.float32)) if allowed else np.full(6, 7, np.float32)
    assert_same_bits(out, wanted)
    assert_same_bits(buffer, before)


@pytest.mark.matrix(share=16, pool="slow")
@settings(max_examples=150, deadline=None)
@given(st.integers(0, 8), st.integers(0, 8), st.integers(0, 8))
def test_ranges_of_one_buffer(source, target, extra):
    """Disjoint or identical, nothing between; what counts is the tensor's size, not the binding's."""
    buffer = np.full(256, 255, np.uint8).view(np.float32)
    buffer[4 * source : 4 * source + 6] = DATA
    before = buffer.copy()
    device = dml.Device()
    made = operator(device)
    size = NEEDED + 4 * extra
    error = refusal_of(
        dispatch,
        device,
        made,
        dml.DML_BUFFER_BINDING(buffer, 16 * source, size),
        dml.DML_BUFFER_BINDING(buffer, 16 * target, size),
    )
    assert (error is None) == (source == target or abs(source - target) >= 2), error
    if error is None:
        before[4 * target : 4 * target + 6] = ogive.relu(DATA)
    assert_same_bits(buffer, before)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.binary(max_size=40), max_size=3), st.none() | st.lists(st.binary(max_size=40), max_size=3))
def test_any_buffers_for_the_short_way(inputs, outputs):
    device = dml.Device()
    made = operator(device)
    targets = None if outputs is None else [bytearray(b) for b in outputs]
    error = refusal_of(made.dispatch, inputs, targets)
    fits = len(inputs) == 1 and len(inputs[0]) >= NEEDED
    fits = fits and (targets is None or (len(targets) == 1 and len(targets[0]) >= NEEDED))
    assert (error is None) == fits, error
    if not fits and targets is not None:
        assert targets == [bytearray(b) for b in outputs]
    assert device.GetDeviceRemovedReason() == dml.HRESULT.S_OK


# ---- what memory is


@pytest.mark.parametrize(
    ("buffer", "text"),
    [
        (None, "x is None; allowed: NumPy arrays, bytearray"),
        ([1.0, 2.0], "x is a list"),
        (np.float32(1).item(), "x is 1.0"),
        (np.zeros((4, 4), np.float32).T, "x is not contiguous in memory; .*Strides, or copy it"),
        (np.zeros(8)[::2], "x is not contiguous"),
        (np.broadcast_to(np.zeros(1), (8,)), "x is not contiguous"),
        (memoryview(bytearray(8))[::2], "x is not contiguous"),
        (np.zeros(4, object), "x is an array of dtype object"),
        (np.zeros(4, [("a", "i4"), ("O", object)]), "x is an array of dtype"),
        (memoryview(np.zeros(4, object)), "x holds Python objects"),
        (np.zeros(4, "V0"), "x is an array of dtype"),
    ],
)
def test_what_is_no_buffer(buffer, text):
    with pytest.raises(dml.DMLError, match=text):
        bytes_of("f", "x", buffer)


def test_bytes_share_the_memory():
    import ctypes

    import ml_dtypes

    for buffer in (
        np.zeros((2, 3), np.float16),
        np.zeros((), np.float64),
        np.zeros(3, ml_dtypes.bfloat16),
        np.zeros(3, "datetime64[s]"),
        np.zeros(2, [("a", "i4"), ("Others", "f8")]),
        np.ma.zeros(4),
        bytearray(8),
        memoryview(bytearray(8)).cast("f"),
        (ctypes.c_float * 4)(),
    ):
        found = bytes_of("f", "x", buffer)
        assert (
            found.nbytes
            == memoryview(
                np.asarray(buffer).view(np.uint8) if isinstance(buffer, np.ndarray) and buffer.ndim else buffer
            ).nbytes
        )
        found[:] = 1
        shared = np.asarray(buffer).tobytes() if isinstance(buffer, np.ndarray) else bytes(buffer)
        assert shared == b"\1" * found.nbytes
    assert bytes_of("f", "x", b"").nbytes == bytes_of("f", "x", np.zeros(0)).nbytes == 0
    assert not bytes_of("f", "x", b"12").flags.writeable


@given(st.integers(0, 20), st.integers(1, 20), st.integers(0, 20), st.integers(1, 20))
def test_overlap(a, m, b, n):
    memory = np.zeros(64, np.uint8)
    first, second = Region(memory, a, m), Region(memory[4:], b, n)
    common = set(range(a, a + m)) & set(range(b + 4, b + 4 + n))
    assert first.overlaps(second) == second.overlaps(first) == bool(common)
    assert first.is_same(second) == ((a, m) == (b + 4, n))
