"""Functions of shared libraries: their declarations, and calls of them in a process of their own.

Somebody's function may crash, run for ever or write anywhere. So it is called in another process (`child.py`), with
zones of a marker before and behind each tensor, pages behind them that must not be touched, and a time limit.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import mmap
import os
import re
import select
import struct
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ogive.common import forking
from ogive.common.array_shapes import broadcast_arrays
from ogive.common.dtypes import FLOATS_OF_8_BITS, ElementType
from ogive.errors import ArgumentError, message, suggestion
from ogive.golden.specification import Specification
from ogive.judge.evidence import Died, Fault, Outcome, result_shape

#: The properties of a function of a shared library, unless the caller says otherwise.
DEFAULT_SIGNATURE = "void f(const T *x, T *y, size_t n)"

#: Seconds that a call may take, and more for each element.
SECONDS, SECONDS_AN_ELEMENT = 10.0, 2e-5

#: Seconds that a process which does not answer gets more.
PATIENCE = 2.0

#: Bytes before and behind each tensor that must stay as they are.
ZONE = 1 << 14

#: The marker in unwritten memory; a second call with the other one tells results that happen to be equal to it.
MARKER, OTHER_MARKER = 0xA5, 0x5A
_OTHER = {MARKER: OTHER_MARKER, OTHER_MARKER: MARKER}

#: Elements that a process has room for from the start: those of the longest call beside the sweep.
ROOM = 1_050_000

_LONG = f"int{8 * ctypes.sizeof(ctypes.c_long)}"

#: C's types of tensors, and the element types that they hold.
_TENSORS: dict[str, tuple[str, ...]] = {
    "T": (),
    "void": (),
    "float": ("float32",),
    "double": ("float64",),
    "float32_t": ("float32",),
    "float64_t": ("float64",),
    "_Float16": ("float16",),
    "__fp16": ("float16",),
    "float16_t": ("float16",),
    "__bf16": ("bfloat16",),
    "bfloat16_t": ("bfloat16",),
    "uint16_t": ("uint16", "float16", "bfloat16"),
    "unsigned short": ("uint16", "float16", "bfloat16"),
    "int8_t": ("int8",),
    "signed char": ("int8",),
    "char": ("int8", "uint8", "bool"),
    "uint8_t": ("uint8", "bool", *FLOATS_OF_8_BITS),
    "unsigned char": ("uint8", "bool", *FLOATS_OF_8_BITS),
    "bool": ("bool",),
    "_Bool": ("bool",),
    "int16_t": ("int16",),
    "short": ("int16",),
    "int32_t": ("int32",),
    "int": ("int32",),
    "uint32_t": ("uint32",),
    "unsigned": ("uint32",),
    "unsigned int": ("uint32",),
    "int64_t": ("int64",),
    "long long": ("int64",),
    "long": (_LONG,),
    "uint64_t": ("uint64",),
    "unsigned long long": ("uint64",),
    "unsigned long": (f"u{_LONG}",),
    "size_t": ("uint64",),
}

#: C's types of counts, as ctypes has them.
_COUNTS = {
    "size_t": "c_size_t",
    "int": "c_int",
    "unsigned": "c_uint",
    "unsigned int": "c_uint",
    "long": "c_long",
    "unsigned long": "c_ulong",
    "long long": "c_longlong",
    "unsigned long long": "c_ulonglong",
    "int64_t": "c_int64",
    "uint64_t": "c_uint64",
    "int32_t": "c_int32",
    "uint32_t": "c_uint32",
}

#: C's types of single numbers, as ctypes has them.
_NUMBERS = {"float": "c_float", "double": "c_double", "float32_t": "c_float", "float64_t": "c_double"}

_QUALIFIERS = ("const", "volatile", "restrict", "__restrict", "__restrict__", "extern", "static", "inline")


class _CArgument(NamedTuple):
    role: str
    """``in``, ``out``, ``count``, ``element`` or ``parameter``."""
    c_type: str
    name: str
    is_alone: bool
    """Whether it is declared `restrict`."""


class _Declaration(NamedTuple):
    arguments: tuple[_CArgument, ...]
    result: str


def _wrong(signature: str, what: str, way_out: str = "") -> ArgumentError:
    allowed = f"such as '{DEFAULT_SIGNATURE}', 'void f(const T *x, T *y, size_t n, float alpha)', 'float f(float x)'"
    return ArgumentError(message("ogive judge", f"the signature is {signature!r}: {what}", allowed, way_out))


def _split_type(words: Sequence[str], signature: str, text: str) -> tuple[str, str]:
    """The type and the name."""
    for length in (len(words), len(words) - 1):
        c_type = " ".join(words[:length])
        if c_type in _TENSORS and len(words) - length <= 1:
            return c_type, " ".join(words[length:])
    unknown = " ".join(words[:-1]) or text
    raise _wrong(signature, f"{unknown!r} is no type that is known", f"Known types: {', '.join(_TENSORS)}.")


def _argument(text: str, signature: str, spec: Specification) -> _CArgument:
    tokens = re.findall(r"[A-Za-z_]\w*|\*|\[\w*\]|\S", text)
    words = [t for t in tokens if re.fullmatch(r"[A-Za-z_]\w*", t) and t not in _QUALIFIERS]
    levels = sum(t == "*" or t.startswith("[") for t in tokens)
    strange = [t for t in tokens if not re.fullmatch(r"[A-Za-z_]\w*|\*|\[\w*\]", t)]
    if not words or strange or levels > 1:
        raise _wrong(signature, f"{text.strip()!r} is not understood")
    c_type, name = _split_type(words, signature, text.strip())
    is_alone = any("restrict" in t for t in tokens)
    if levels:
        return _CArgument("in" if "const" in tokens else "out", c_type, name, is_alone)
    if c_type in _COUNTS:
        return _CArgument("count", c_type, name, False)
    if c_type == "T" or c_type in _NUMBERS:
        role = "parameter" if name in spec.parameters and c_type != "T" else "element"
        return _CArgument(role, c_type, name, False)
    allowed = ", ".join([*_NUMBERS, *_COUNTS])
    raise _wrong(signature, f"{c_type!r} of {text.strip()!r} is no number that is known", f"Known numbers: {allowed}.")


def _parsed(signature: str, spec: Specification) -> _Declaration:
    text = signature.replace('extern "C"', " ")
    found = re.fullmatch(r"\s*([\w\s*]+?)\s*\b([A-Za-z_]\w*)\s*\((.*)\)\s*;?\s*", text, re.DOTALL)
    if found is None:
        raise _wrong(signature, "it is no declaration of a function")
    arguments = tuple(_argument(part, signature, spec) for part in found[3].split(","))
    result = " ".join(word for word in found[1].replace("*", " * ").split() if word not in _QUALIFIERS)
    is_of_elements = any(a.role == "element" for a in arguments) and not any(a.role in ("in", "out") for a in arguments)
    if not is_of_elements:
        # A number beside tensors is a parameter, or nothing that is known.
        arguments = tuple(a._replace(role="parameter") if a.role == "element" else a for a in arguments)
    if "*" in result or (result != "void" and not (is_of_elements and result in ("T", *_NUMBERS))):
        allowed = "T, float or double" if is_of_elements else "void"
        raise _wrong(signature, f"it returns {result!r}, and must return {allowed}")
    return _Declaration(arguments, result)


def _check_type(signature: str, c_type: str, what: str, kind: ElementType) -> None:
    """Compare what is declared with the element type."""
    holds = _TENSORS[c_type]
    if not holds or kind.name in holds:
        return
    fitting = [name for name, kinds in _TENSORS.items() if kind.name in kinds]
    raise ArgumentError(
        message(
            "ogive judge",
            f"the signature is {signature!r}: {what} is declared as {c_type}, and the element type is {kind.name}",
            f"{', '.join(fitting)} or T for {kind.name}",
            f"For {c_type} give --dtype {holds[0]}.",
        )
    )


# ---- the process


class _TensorRange(NamedTuple):
    """The range of a tensor in the shared file."""

    begin: int
    end: int


class _Process:
    """A child, and the memory that it shares."""

    def __init__(self, setup: Mapping[str, Any], buffers: int, room: int) -> None:
        page = mmap.PAGESIZE
        size = -(-(room + 2 * ZONE + 256) // page) * page
        self.room, self.places, guards = room, [], []
        for i in range(buffers):
            begin = i * (size + page) + page
            self.places.append(_TensorRange(begin, begin + size))
            guards.append([begin - page, page])
        total = buffers * (size + page) + page
        guards.append([total - page, page])
        # Linux has memory without a name; elsewhere it is a file.
        self.path: Path | None = None
        if hasattr(os, "memfd_create"):
            handle, inherited = os.memfd_create("ogive-judge"), True
        else:
            handle, name = tempfile.mkstemp(prefix="ogive-judge-")
            self.path, inherited = Path(name), False
        os.truncate(handle, total)
        self.memory = np.frombuffer(mmap.mmap(handle, total), np.uint8)
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(__file__).with_name("child.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=(handle,) if inherited else (),
        )
        os.close(handle)
        self.hello = self._ask({**setup, "file": handle if inherited else str(self.path), "guards": guards})

    def _ask(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Send a line and read one; what became of the process, if there is none.

        The process looks at the clock by itself, unless it is stopped: so there is a second look from here.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(command).encode() + b"\n")
            self.process.stdin.flush()
            if "limit" in command and os.name == "posix":
                patience = command["limit"] + PATIENCE
                if not select.select([self.process.stdout], [], [], patience)[0]:
                    return {"late": True}
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = b""
        if line == b"ok\n":
            return {}
        if line == b"late\n":
            return {"late": True}
        if not line:
            return {"status": self.process.wait()}
        found: dict[str, Any] = json.loads(line)
        return found

    def call(self, command: Mapping[str, Any]) -> None:
        """Make a call. Raises Died if the function does not come back."""
        found = self._ask(command)
        if not found:
            return
        self.close()
        if "late" in found:
            raise Died(Fault("endless", f"does not end within {command['limit']:.3g} s"))
        status = found.get("status", 1)
        if "crashed" in found:
            raise Died(Fault("crashed", f"crashed ({found['crashed']})"))
        if status < 0:
            raise Died(Fault("crashed", f"crashed (signal {-status})"))
        raise Died(Fault("crashed", f"ended the process (exit status {status})"))

    def close(self) -> None:
        """End the process."""
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        self.process.kill()
        self.process.wait()
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def _close_all(processes: list[_Process]) -> None:
    for process in processes:
        process.close()


class LibraryFunction:
    """A function of a shared library, as one of arrays."""

    def __init__(
        self,
        path: Path,
        name: str,
        spec: Specification,
        signature: str = DEFAULT_SIGNATURE,
        time_limit: float | None = None,
    ) -> None:
        self.spec, self.path, self.name, self.time_limit = spec, path, name, time_limit
        declared = _parsed(signature, spec)
        self.arguments = declared.arguments
        of_role = {role: [a for a in declared.arguments if a.role == role] for role in ("in", "out", "element")}
        self.is_of_elements = bool(of_role["element"])
        inputs = of_role["element"] if self.is_of_elements else of_role["in"]
        if self.is_of_elements:
            if len(inputs) != len(spec.inputs):
                raise _wrong(signature, f"{spec.operator} has {len(spec.inputs)} inputs")
            if len({*spec.inputs, spec.output}) > 1 or spec.output.name not in ("float32", "float64"):
                raise _wrong(signature, f"C has no type for one {spec.output.name}; take arrays")
            _check_type(signature, declared.result, "the result", spec.output)
        elif len(inputs) != len(spec.inputs) or len(of_role["out"]) != 1:
            need = f"{len(spec.inputs)} 'const T *' and one 'T *'"
            raise _wrong(signature, f"it has {len(inputs)} inputs and {len(of_role['out'])} outputs of {need}")
        for argument, kind in zip(inputs, spec.inputs, strict=True):
            _check_type(signature, argument.c_type, argument.name or "an input", kind)
        for argument in of_role["out"]:
            _check_type(signature, argument.c_type, argument.name or "the result", spec.output)
        self.parameters = {a.name: _parameter(a.name, spec, signature) for a in self.arguments if a.role == "parameter"}
        number = {"float32": "c_float", "float64": "c_double"}.get(spec.output.name)
        self.setup = {
            "library": str(path.resolve()),
            "function": name,
            "result": number if self.is_of_elements else None,
            "arguments": [
                {"in": "c_void_p", "out": "c_void_p", "element": number, "count": _COUNTS.get(a.c_type)}.get(a.role)
                or _NUMBERS[a.c_type]
                for a in self.arguments
            ],
        }
        self._lock, self._idle, self._all = forking.lock(), list[_Process](), list[_Process]()
        weakref.finalize(self, _close_all, self._all)
        self._room = ROOM * max(k.itemsize for k in (*spec.inputs, spec.output))
        self._idle.append(self._start(self._room))
        protects = bool(self._idle[0].hello.get("protects"))
        can_overwrite = not self.is_of_elements and not any(a.is_alone for a in self.arguments)
        can_overwrite &= not spec.is_row_wise and spec.inputs[0] is spec.output
        modes = {"empty": not self.is_of_elements, "edge": protects, "in place": can_overwrite}
        self.modes = tuple(name for name, has in modes.items() if has)

    def _start(self, room: int) -> _Process:
        process = _Process(self.setup, len(self.spec.inputs) + 1, room)
        self._all.append(process)
        hello = process.hello
        if "protects" in hello:
            return process
        process.close()
        if "has_no_function" in hello:
            known = functions_of(self.path)
            raise ArgumentError(
                message(
                    "ogive judge",
                    f"{self.path} has no function {self.name!r}",
                    ", ".join(known) or "its exported names",
                    suggestion(self.name, known),
                )
            )
        why = hello.get("cannot_load") or f"the process ended (status {hello.get('status')})"
        raise ArgumentError(message("ogive judge", f"{self.path} cannot be loaded: {why}", "a shared library"))

    # ---- calls

    def outcome(self, arrays: Sequence[np.ndarray], mode: str = "") -> Outcome:
        """The results of a call. Raises Died for a call of which there are none."""
        together = broadcast_arrays(*arrays)
        shape = together[0].shape
        if not self.spec.is_row_wise:
            found = self._flat([x.reshape(-1) for x in together], together[0].size, mode)
            written = None if found.written is None else found.written.reshape(shape)
            return Outcome(found.result.reshape(shape), written, found.faults)
        # A row a call; of a row with one result the function writes one.
        rows = together[0].reshape(-1, shape[-1]) if together[0].size else together[0].reshape(0, 1)
        each = [self._flat([row], 1 if self.spec.reduces else row.size, mode) for row in rows]
        result = np.concatenate([o.result for o in each]) if each else np.empty(0, self.spec.output.numpy)
        is_all = all(o.written is None for o in each)
        written = None if is_all else np.concatenate([np.ones(o.result.size, bool) if o.written is None else o.written for o in each])  # fmt: skip
        return Outcome(result, written, tuple({f.policy: f for o in each for f in o.faults}.values()))

    def __call__(self, *arrays: np.ndarray) -> np.ndarray:
        return self.outcome(arrays).result.reshape(result_shape(self.spec, arrays))

    def _flat(self, arrays: Sequence[np.ndarray], size: int, mode: str) -> Outcome:
        process = self._take(max(size * self.spec.output.itemsize, *(x.nbytes for x in arrays)))
        try:
            found = self._call(process, arrays, size, mode, MARKER)
            if found.written is not None and not found.written.all():
                again = self._call(process, arrays, size, mode, OTHER_MARKER)
                written = found.written | (np.ones(size, bool) if again.written is None else again.written)
                faults = found.faults
                if not written.all():
                    faults = (*faults, Fault("unwritten", _unwritten(np.flatnonzero(~written), size)))
                found = Outcome(found.result, None if written.all() else written, faults)
        except Died as died:
            where = self._crash_of_element(process, arrays, size, died)
            with self._lock:
                self._all.remove(process)
            raise Died(Fault(died.fault.policy, died.fault.text + where)) from None
        with self._lock:
            self._idle.append(process)
        return found

    def _take(self, need: int) -> _Process:
        with self._lock:
            self._room = max(self._room, need)
            if self._idle and self._idle[-1].room >= need:
                return self._idle.pop()
            return self._start(self._room)

    def _crash_of_element(self, process: _Process, arrays: Sequence[np.ndarray], size: int, died: Died) -> str:
        """For a function that is called once an element: the first one without a result."""
        if not self.is_of_elements or size < 2 or died.fault.policy not in ("crashed", "endless"):
            return ""
        place = process.places[-1]
        nbytes = size * self.spec.output.itemsize
        begin = (place.end - ZONE - nbytes - 64) // 64 * 64 + arrays[0].ctypes.data % 64
        at = np.flatnonzero(_is_marked(process.memory[begin : begin + nbytes], self.spec.output.itemsize, MARKER))
        return f" at {', '.join(f'{float(x[at[0]]):.9g}' for x in arrays)}" if at.size else ""

    def _call(self, process: _Process, arrays: Sequence[np.ndarray], size: int, mode: str, marker: int) -> Outcome:
        memory, spec = process.memory, self.spec
        kinds = [*(k.itemsize for k in spec.inputs), spec.output.itemsize]
        lengths = [*(x.nbytes for x in arrays), size * spec.output.itemsize]
        begins = []
        for place, length, itemsize in zip(process.places, lengths, kinds, strict=True):
            start = arrays[0].ctypes.data % 64
            begin = (place.end - ZONE - length - 64) // 64 * 64 + start // itemsize * itemsize
            begin = place.end - length if mode == "edge" else begin
            begins.append(begin)
            # Zones of inputs have another marker: a function that copies them past the end of its results is seen.
            memory[begin - ZONE : place.end] = marker if len(begins) > len(arrays) else _OTHER[marker]
        for begin, x in zip(begins, arrays, strict=False):
            memory[begin : begin + x.nbytes] = np.ascontiguousarray(x).view(np.uint8)
        if mode == "in place":
            begins[-1] = begins[0]
        seconds = SECONDS + SECONDS_AN_ELEMENT * size if self.time_limit is None else self.time_limit
        try:
            process.call({**self._command(begins, arrays[0].size), "limit": seconds})
        except Died as died:
            zone = memory[begins[-1] + lengths[-1] : process.places[-1].end]
            if mode or not _touched(zone, marker).size:
                raise
            text = f"{died.fault.text} after it wrote past the end of its results"
            raise Died(Fault(died.fault.policy, text)) from None
        return self._looked_at(process, begins, lengths, arrays, size, mode, marker)

    def _command(self, begins: Sequence[int], count: int) -> dict[str, Any]:
        inputs = iter(range(len(begins) - 1))
        if self.is_of_elements:
            order = [
                next(inputs) if a.role == "element" else str(self.parameters.get(a.name, count)) for a in self.arguments
            ]
            return {"order": order, "inputs": begins[:-1], "output": begins[-1], "count": count}
        values: list[Any] = []
        for argument in self.arguments:
            if argument.role in ("in", "out"):
                # A text is a place in the shared memory.
                values.append(f"@{begins[next(inputs) if argument.role == 'in' else -1]}")
            else:
                values.append(count if argument.role == "count" else self.parameters[argument.name])
        return {"values": values}

    def _looked_at(
        self,
        process: _Process,
        begins: Sequence[int],
        lengths: Sequence[int],
        arrays: Sequence[np.ndarray],
        size: int,
        mode: str,
        marker: int,
    ) -> Outcome:
        """The contents of memory after a call."""
        memory, kind, faults = process.memory, self.spec.output, list[Fault]()
        for i, (place, begin, length) in enumerate(zip(process.places, begins, lengths, strict=True)):
            is_output = i == len(arrays)
            if is_output and mode == "in place":
                break
            what = "" if is_output else f" of input {i + 1}"
            unit = kind.itemsize if is_output else arrays[i].itemsize
            around = marker if is_output else _OTHER[marker]
            behind = _touched(memory[begin + length : place.end], around)
            before = _touched(memory[begin - ZONE : begin], around)
            if behind.size:
                count = -(-(int(behind[-1]) + 1) // unit)
                longer = is_output and length and int(behind[-1]) + 1 >= length
                hint = f", as a function of a type longer than {kind.name} does" if longer else ""
                faults.append(Fault("writes_past_end", f"writes {_counted(count)} past the end{what}{hint}"))
            if before.size:
                count = -(-(ZONE - int(before[0])) // unit)
                faults.append(Fault("writes_before_start", f"writes {_counted(count)} before the start{what}"))
            if not is_output and not (i == 0 and mode == "in place"):
                given = np.ascontiguousarray(arrays[i]).view(np.uint8)
                if not np.array_equal(memory[begin : begin + length], given):
                    faults.append(Fault("input_written", "writes into its input"))
        data = memory[begins[-1] : begins[-1] + lengths[-1]].copy()
        written = None
        if mode != "in place" and size:
            is_marked = _is_marked(data, kind.itemsize, marker)
            written = ~is_marked if is_marked.any() else None
        return Outcome(data.view(kind.numpy), written, tuple(faults))


def _touched(zone: np.ndarray, marker: int) -> np.ndarray:
    """The bytes that are no marker any more."""
    if zone.tobytes() == bytes([marker]) * zone.size:
        return np.empty(0, np.int64)
    return np.flatnonzero(zone != marker)


def _is_marked(data: np.ndarray, itemsize: int, marker: int) -> np.ndarray:
    """The elements that have nothing but the marker."""
    found: np.ndarray = data.view(f"u{itemsize}") == int.from_bytes(bytes([marker] * itemsize), "little")
    return found


def _counted(count: int) -> str:
    return f"{count:,} element" + ("" if count == 1 else "s")


def _unwritten(places: np.ndarray, size: int) -> str:
    count = places.size
    results = "result" if count == 1 else f"{count:,} results"
    if count == size:
        return "does not write its result" if size == 1 else "does not write its results"
    if places[0] == size - count:
        return f"does not write the last {results}"
    if places[-1] == count - 1:
        return f"does not write the first {results}"
    return f"does not write {count:,} of {size:,} results, first that at place {int(places[0]):,}"


def _parameter(name: str, spec: Specification, signature: str) -> float:
    if name not in spec.parameters:
        known = ", ".join(spec.parameters) or "it has none"
        raise _wrong(signature, f"{spec.operator} has no parameter {name!r} ({known})")
    value = spec.parameters[name]
    if isinstance(value, str):
        raise _wrong(signature, f"parameter {name!r} is {value!r}, and no number")
    return float(value)


# ---- which functions a library has

_ELF, _DYNSYM, _FUNCTION = b"\x7fELF\x02\x01", 11, 2


def functions_of(path: Path) -> list[str]:
    """The functions that a shared library exports; none where the format is another one than ELF of 64 bits."""
    try:
        data = path.read_bytes()
        if not data.startswith(_ELF):
            return []
        (table,) = struct.unpack_from("<Q", data, 0x28)
        size, count = struct.unpack_from("<HH", data, 0x3A)
        sections = [struct.unpack_from("<IIQQQQIIQQ", data, table + i * size) for i in range(count)]
        names = []
        for section in sections:
            if section[1] != _DYNSYM:
                continue
            text = sections[section[6]][4]
            for at in range(section[4], section[4] + section[5], 24):
                name, info, _, index = struct.unpack_from("<IBBH", data, at)
                if index and info & 15 == _FUNCTION and info >> 4:
                    begin = text + name
                    names.append(data[begin : data.index(b"\0", begin)].decode(errors="replace"))
    except (OSError, struct.error, IndexError, ValueError):
        return []
    return sorted(set(names) - {"_init", "_fini"})
