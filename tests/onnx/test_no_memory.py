"""Models where an allocation fails: the error says so, whatever the library says that had no memory (`make failures` tries more)."""

import _thread

import pytest
from google.protobuf.message import DecodeError

import ogive.onnx
from ogive.common import forking
from ogive.errors import ModelError
from ogive.onnx import model, reading, tracing
from tests.onnx.models import text_model

TRANSPOSED = text_model("""t (float[2, 3] x) => (float[3, 2] y) { y = Transpose(x) }""")
NO_ROOM = DecodeError("Error parsing message with type 'onnx.ModelProto': Arena alloc failed")


def raising(error):
    def raise_it(*arguments, **keywords):
        raise error

    return raise_it


@pytest.mark.parametrize("error", [NO_ROOM, SystemError("error return without exception set")])
def test_messages_that_cannot_be_copied(monkeypatch, error):
    monkeypatch.setattr(model, "without_data", raising(error))
    with pytest.raises(MemoryError, match="memory"):
        ogive.onnx.load(TRANSPOSED)


def test_a_file_without_memory_is_not_called_damaged(monkeypatch):
    monkeypatch.setattr(reading, "ModelProto", lambda: type("M", (), {"ParseFromString": raising(NO_ROOM)})())
    with pytest.raises(MemoryError, match="memory"):
        reading._parsed(b"", "model")
    damaged = DecodeError("Error parsing message with type 'onnx.ModelProto'")
    monkeypatch.setattr(reading, "ModelProto", lambda: type("M", (), {"ParseFromString": raising(damaged)})())
    with pytest.raises(ModelError, match="damaged"):
        reading._parsed(b"", "model")


def test_a_lock_without_memory(monkeypatch):
    monkeypatch.setattr(_thread, "RLock", raising(RuntimeError("can't allocate lock")))
    with pytest.raises(MemoryError, match="lock"):
        forking.lock()


def test_a_node_without_memory_says_so():
    with pytest.raises(ModelError, match="Transpose: there is no memory"):
        tracing._called("Transpose", tracing.Room(1 << 20, 0), raising(MemoryError()))
