"""Kernels of the catalogue as WebAssembly, run by wasmtime: the bits of this machine."""

import numpy as np
import pytest

from ogive.errors import CompileError
from ogive.exporting.digest import ELEMENTS, ROWS, elements, fnv
from ogive.exporting.exported import export_sources
from ogive.exporting.places import place
from ogive.exporting.webassembly import linked
from tests.exporting.sample import sample

wasmtime = pytest.importorskip("wasmtime", reason="the package wasmtime, which runs the code, is not installed")


class Running:
    """A module in wasmtime."""

    def __init__(self, code):
        engine = wasmtime.Engine()
        module = wasmtime.Module(engine, code)
        assert not list(module.imports)
        self.store = wasmtime.Store(engine)
        self.exports = wasmtime.Instance(self.store, module, []).exports(self.store)
        self.memory = self.exports["memory"]
        self.free = self.exports["__heap_base"].value(self.store)

    def call(self, name, *arguments):
        return self.exports[name](self.store, *arguments)

    def placed(self, data, at):
        more = at + len(data) - self.memory.data_len(self.store)
        if more > 0:
            self.memory.grow(self.store, more // 65536 + 1)
        self.memory.write(self.store, data, at)
        return (at + len(data) + 63) // 64 * 64

    def results(self, source):
        """Of a function on the fixed set."""
        interface, found = source.interface, []
        for rows, count in ROWS if interface.is_row_wise else ((1, ELEMENTS),):
            at, places = self.free, []
            for number, operand in enumerate(interface.operands):
                items = rows if operand.of_row else rows * count
                data = elements(operand.type, number, items).tobytes() if operand.is_input else None
                data = bytes(items * operand.type.itemsize) if data is None else data
                places.append(at)
                at = self.placed(data, at)
            arguments = [*places, 0, rows if interface.is_row_wise else count]
            if interface.is_row_wise:
                self.placed(bytes(self.call(f"{interface.name}_scratch", count)), at)
                arguments += [count, *source.values, at]
            else:
                arguments += source.values
            self.call(interface.name, *arguments)
            for operand, where in zip(interface.operands, places, strict=True):
                if not operand.is_input:
                    end = where + (rows if operand.of_row else rows * count) * operand.type.itemsize
                    found.append(np.frombuffer(self.memory.read(self.store, where, end), np.uint8))
        return found


@pytest.fixture(scope="module")
def everything():
    sources = sample()
    exported = export_sources(sources, place("wasm32", None), "shared", "everything", self_test=False)
    return sources, exported.digests, exported.files["everything.wasm"]


def test_the_bits_of_this_machine(everything):
    sources, digests, code = everything
    running = Running(code)
    wrong = [s.interface.name for s in sources if fnv(running.results(s)) != digests[s.interface.name]]
    assert not wrong


def test_vectors_are_used():
    """128 bits at a time: the loop of celu multiplies vectors."""
    import ogive

    text = ogive.export(ogive.celu, target="wasm32", form="assembly").files["ogive_celu_float32.s"].decode()
    assert text.count("f64x2.mul") + text.count("f32x4.mul") > 10


def test_link_refuses_what_is_no_object_file(everything):
    with pytest.raises(CompileError, match="the object file is not WebAssembly"):
        linked(b"\x7fELF", [])
    with pytest.raises(CompileError, match="has no function 'missing'"):
        linked(everything[2], ["missing"])
