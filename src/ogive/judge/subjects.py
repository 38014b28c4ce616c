"""The subjects whose results are judged: a library, a Python function, a function of a shared library, a program.

`subject` reads what people write: ``torch``, ``onnxruntime:CPUExecutionProvider``, ``openvino:CPU``, ``jax``, ``opencl:0``,
``module:function``, ``file.py:function``, ``./libk.so:my_gelu``.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ogive.common.array_shapes import broadcast_arrays
from ogive.device_names import device_of
from ogive.errors import ArgumentError, DTypeError, ShapeError, UnsupportedError, message
from ogive.golden.specification import Specification, find_operator
from ogive.judge.evidence import Died, Fault, Outcome, result_shape
from ogive.judge.library import DEFAULT_SIGNATURE, LibraryFunction, functions_of
from ogive.laboratory.peers.expressions import TORCH, expression
from ogive.laboratory.peers.peer_functions import PEERS, function, one_node, openvino_core, version, when_known

__all__ = [
    "DEFAULT_SIGNATURE",
    "Died",
    "Fault",
    "Outcome",
    "Subject",
    "aligned",
    "of_callable",
    "of_program",
    "subject",
]


def aligned(x: np.ndarray, start: int = 0) -> np.ndarray:
    """A copy that begins so many bytes behind a multiple of 64."""
    room = np.empty(x.nbytes + 128, np.uint8)
    begin = -room.ctypes.data % 64 + start
    copy: np.ndarray = room[begin : begin + x.nbytes].view(x.dtype).reshape(x.shape)
    copy[...] = x
    return copy


def _like(x: np.ndarray) -> np.ndarray:
    """A copy that lies in memory as the array does."""
    if x.flags.c_contiguous:
        return aligned(x, x.ctypes.data % 64)
    step, rest = divmod(x.strides[0], x.itemsize) if x.ndim == 1 else (0, 1)
    if rest or step < 1:
        return x.copy(order="K")
    view = aligned(np.zeros(x.size * step, x.dtype), x.ctypes.data % 64)[::step]
    view[...] = x
    return view


@dataclass(frozen=True, eq=False)
class Subject:
    """An implementation: arrays of a specification's inputs to an array of its results."""

    name: str
    version: str
    function: Callable[..., np.ndarray]
    is_slow: bool = False
    """Whether a call costs much whatever its size, as of a program: then it is called less often."""
    has_results_alone: bool = False
    """Whether there are results of certain inputs and no implementation, so that no other call can be made."""
    set_threads: Callable[[int], None] | None = None
    in_memory: Callable[[Sequence[np.ndarray], str], Outcome] | None = None
    """Makes a call and looks at memory; takes the mode of the call, one of `modes` or an empty text."""
    modes: tuple[str, ...] = ()
    is_packed: bool = False
    """Whether the function takes only arrays without strides."""

    def outcome(self, specification: Specification, arrays: Sequence[np.ndarray], mode: str = "") -> Outcome:
        """The results of a call, and what else it did. The function gets copies that lie as the arrays do.

        Raises Died for a call of which there are no results.
        """
        if self.in_memory is not None:
            return self.in_memory(arrays, mode)
        given = [_like(x) for x in arrays]
        result = np.array(self(specification, given))
        is_written = any(x.tobytes() != y.tobytes() for x, y in zip(arrays, given, strict=True))
        return Outcome(result, None, (Fault("input_written", "writes into its input"),) if is_written else ())

    def __call__(self, specification: Specification, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """The results, of the right type and shape.

        Raises DTypeError and ShapeError where they are not.
        """
        with np.errstate(all="ignore"):
            result = np.asarray(self.function(*arrays))
        shape = result_shape(specification, arrays)
        if result.dtype != specification.output.numpy:
            raise DTypeError(message(self.name, f"its results are {result.dtype}", specification.output.name))
        if result.shape != shape:
            raise ShapeError(
                message(
                    self.name,
                    f"its result has shape {result.shape}",
                    f"{shape}{'' if specification.reduces else ', that of the inputs'}",
                )
            )
        return result


def of_callable(call: Callable[..., Any], name: str | None = None) -> Subject:
    """A Python function of arrays."""
    return Subject(name or str(getattr(call, "__name__", None) or repr(call)), "", call)


def subject(
    text: str, specification: Specification, *, signature: str | None = None, time_limit: float | None = None
) -> Subject:
    """The subject that a text names.

    ``signature`` is the declaration of a C function, ``time_limit`` the seconds that a call of it may take.

    Raises ArgumentError for texts that name none where a package is not installed,
    UnsupportedError where a library does not have the operator with these parameters.
    """
    head, _, rest = text.partition(":")
    if head == "ogive" and not rest:
        if specification.bind is None:
            raise UnsupportedError(message(specification.operator, "Ogive has no kernel of it"))
        return Subject("ogive", "", specification.bind)
    if head in PEERS:
        return _peer(head, rest, specification)
    if head in ("cuda", "opencl"):
        return _on_device(text, specification)
    place, _, name = text.rpartition(":")
    if re.search(_LIBRARY, text):
        raise _without_function(Path(text))
    source = re.search(_SOURCE, place or text)
    if source:
        path = Path(place or text)
        compiled = f"cc -O2 -shared -fPIC -o lib{path.stem}.so {path} -lm"
        way_out = f"Compile it, and judge the library: {compiled}; ./lib{path.stem}.so:{name if place else 'function'}"
        raise ArgumentError(message("ogive judge", f"'{path}' is no shared library", "library.so:function", way_out))
    if not place or not name:
        allowed = f"ogive, opencl:0, {', '.join(PEERS)}, module:function, file.py:function, ./library.so:function"
        raise ArgumentError(message("ogive judge", f"the subject is {text!r}", allowed))
    if re.search(_LIBRARY, place):
        return _of_library(Path(place), name, specification, signature, time_limit)
    for option, value in (("--signature", signature), ("--time-limit", time_limit)):
        if value is not None:
            raise ArgumentError(message("ogive judge", f"{option} was given for {text!r}", "shared libraries"))
    return _of_module(place, name)


# ---- libraries for Python


def _on_device(name: str, spec: Specification) -> Subject:
    """The operator's kernel on a device, by the name that `ogive devices` shows."""
    op = find_operator(spec.catalogue) if spec.catalogue else None
    if op is None:
        raise UnsupportedError(message(spec.operator, "devices are asked for operators of the catalogue only"))
    device = device_of("ogive judge", name)
    on_device = device.function(op)
    compute = lambda *arrays: on_device(*map(device.array, arrays), **spec.parameters).get()  # noqa: E731
    return Subject(device.name, f"{device.model}, {device.platform}", compute)


def _peer(peer: str, rest: str, spec: Specification) -> Subject:
    op = find_operator(spec.catalogue) if spec.catalogue else None
    if op is None:
        raise UnsupportedError(message(spec.operator, f"{peer} is asked for operators of the catalogue only"))
    defaults = {p.name: p for p in op.parameters}
    changed = {n: v for n, v in spec.parameters.items() if n in defaults and not defaults[n].is_default(v)}
    label = version(peer)
    if peer == "torch":
        return _torch(label, rest, spec, changed)
    numbers = {n: v for n, v in spec.parameters.items() if not defaults[n].choices or n == "approximate"}
    others = [n for n in changed if defaults[n].choices and n != "approximate"]
    if others:
        raise UnsupportedError(message(spec.operator, f"{peer} does not have it with {', '.join(others)}"))
    if peer == "onnxruntime" and rest:
        return Subject(f"onnxruntime:{rest}", label, _onnxruntime(rest, spec, changed))
    if peer == "openvino" and rest:
        return Subject(f"openvino:{rest}", label, _openvino(rest, spec, changed))
    if rest:
        raise ArgumentError(message("ogive judge", f"the subject is '{peer}:{rest}'", f"{peer} alone"))
    return Subject(peer, label, function(peer, spec.catalogue, spec.tensors, numbers, changed))


def _torch(label: str, rest: str, spec: Specification, changed: Mapping[str, Any]) -> Subject:
    """``torch``, ``torch:cuda``, ``torch:compile``, ``torch:cuda:compile``."""
    words = rest.split(":") if rest else []
    is_compiled = "compile" in words
    devices = [word for word in words if word != "compile"]
    if len(devices) > 1:
        raise ArgumentError(message("ogive judge", f"the subject is 'torch:{rest}'", "torch[:device][:compile]"))
    numbers = {n: v for n, v in spec.parameters.items() if n != "approximate"}
    if not words:
        given = {**numbers, **{n: v for n, v in spec.parameters.items() if n == "approximate"}}
        call = function("torch", spec.catalogue, spec.tensors, given, changed)
        torch = importlib.import_module("torch")
        return Subject("torch", label, call, set_threads=torch.set_num_threads)
    torch = importlib.import_module("torch")
    name = spec.catalogue if spec.parameters.get("approximate", "none") == "none" else f"{spec.catalogue}_tanh"
    text = expression(TORCH, name, numbers)
    if text is None or any(n not in text for n in changed if n != "approximate"):
        raise UnsupportedError(message(spec.operator, "torch does not have it with these parameters"))
    written = eval(f"lambda {', '.join(spec.tensors)}: {text}", {**numbers, "torch": torch})
    if is_compiled:
        written = torch.compile(written, dynamic=True)
    device = devices[0] if devices else "cpu"

    def compute(*arrays: np.ndarray) -> np.ndarray:
        tensors = []
        for x in arrays:
            x = np.ascontiguousarray(x)
            is_brain = x.dtype.name == "bfloat16"
            tensor = torch.from_numpy(x.view(np.int16)).view(torch.bfloat16) if is_brain else torch.from_numpy(x)
            tensors.append(tensor.to(device))
        result = written(*tensors).cpu()
        if result.dtype is torch.bfloat16:
            found: np.ndarray = result.view(torch.int16).numpy().view(spec.output.numpy)
            return found
        return np.asarray(result.numpy())

    return Subject(f"torch:{rest}", label, compute, set_threads=torch.set_num_threads)


def _one_node(spec: Specification, changed: Mapping[str, Any], array: np.ndarray) -> bytes:
    name = spec.catalogue if spec.parameters.get("approximate", "none") == "none" else f"{spec.catalogue}_tanh"
    given = {n: v for n, v in changed.items() if n != "approximate"}
    return one_node(name, spec.tensors, given, array, spec.operator)


def _onnxruntime(provider: str, spec: Specification, changed: Mapping[str, Any]) -> Callable[..., np.ndarray]:
    ort = importlib.import_module("onnxruntime")
    known = ort.get_available_providers()
    if provider not in known:
        raise ArgumentError(message("onnxruntime", f"there is no provider {provider!r}", ", ".join(known)))

    def prepare(array: np.ndarray) -> Callable[..., np.ndarray]:
        session = ort.InferenceSession(_one_node(spec, changed, array), providers=[provider])
        return lambda *arrays: np.asarray(session.run(None, dict(zip(spec.tensors, arrays, strict=True)))[0])

    return when_known(prepare)


def _openvino(device: str, spec: Specification, changed: Mapping[str, Any]) -> Callable[..., np.ndarray]:
    core = openvino_core()
    if device.split(".")[0] not in core.available_devices:
        raise ArgumentError(message("openvino", f"there is no device {device!r}", ", ".join(core.available_devices)))

    def prepare(array: np.ndarray) -> Callable[..., np.ndarray]:
        request = core.compile_model(core.read_model(_one_node(spec, changed, array)), device).create_infer_request()
        return lambda *arrays: np.array(next(iter(request.infer(list(arrays)).values())))

    return when_known(prepare)


# ---- Python functions


def _of_module(place: str, name: str) -> Subject:
    if place.endswith(".py"):
        path = Path(place)
        if not path.is_file():
            raise ArgumentError(message("ogive judge", f"there is no file {place!r}", "file.py:function"))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    else:
        folder = str(Path.cwd())
        if folder not in sys.path:
            sys.path.insert(0, folder)
        try:
            module = importlib.import_module(place)
        except ModuleNotFoundError as error:
            what = f"there is no module {error.name!r}"
            raise ArgumentError(message("ogive judge", what, "module:function, file.py:function")) from None
        except (ImportError, ValueError, TypeError) as error:
            what = f"{place!r} cannot be imported: {error}"
            raise ArgumentError(message("ogive judge", what, "module:function, file.py:function")) from None
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise ArgumentError(message("ogive judge", f"{place} has no function {name!r}", "functions of arrays"))
    return Subject(f"{Path(place).name}:{name}", "", found)


# ---- shared libraries

_SOURCE = r"\.(c|cc|cpp|cxx|h|hpp|o|a|cu)$"
_LIBRARY = r"\.(so(\.\d+)*|dylib|dll)$"


def _of_library(
    path: Path, name: str, specification: Specification, signature: str | None, time_limit: float | None
) -> Subject:
    function = LibraryFunction(path, name, specification, signature or DEFAULT_SIGNATURE, time_limit)
    return Subject(
        f"{path.name}:{name}", "", function, in_memory=function.outcome, modes=function.modes, is_packed=True
    )


def _without_function(path: Path) -> ArgumentError:
    if not path.is_file():
        return ArgumentError(
            message("ogive judge", f"there is no file '{path}'", "a shared library and a function, library.so:function")
        )
    known = functions_of(path)
    some = f"{path}:{known[0]}" if known else f"{path}:function"
    what = f"the subject is '{path}', without a function"
    return ArgumentError(message("ogive judge", what, ", ".join(known) or "its exported names", f"Write {some}"))


# ---- programs


def of_program(command: str, specification: Specification, time_limit: float | None = None) -> Subject:
    """A program that reads the inputs as raw bytes, one tensor after the other, and writes the results as raw bytes.

    ``time_limit`` is how many seconds a call may take; None: any number.
    """
    words = shlex.split(command)
    if not words:
        raise ArgumentError(message("ogive judge", "--exec is empty", "a command"))

    def compute(*arrays: np.ndarray) -> np.ndarray:
        together = [np.ascontiguousarray(x) for x in broadcast_arrays(*arrays)]
        data = b"".join(x.tobytes() for x in together)
        try:
            done = subprocess.run(words, input=data, capture_output=True, check=False, timeout=time_limit)
        except subprocess.TimeoutExpired:
            raise Died(Fault("endless", f"does not end within {time_limit:.3g} s")) from None
        except OSError as error:
            raise ArgumentError(message("ogive judge", f"{words[0]!r} cannot be run: {error.strerror}")) from None
        if done.returncode:
            last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["it wrote nothing to stderr"]
            raise ArgumentError(message("ogive judge", f"{words[0]!r} ended with status {done.returncode}: {last[0]}"))
        wanted = together[0].size * specification.output.itemsize
        if len(done.stdout) != wanted:
            what = f"{words[0]!r} wrote {len(done.stdout)} bytes"
            raise ShapeError(message("ogive judge", what, f"{wanted}: {together[0].size} {specification.output.name}"))
        return np.frombuffer(done.stdout, specification.output.numpy).reshape(together[0].shape)

    return Subject(words[0], "", compute, is_slow=True)
