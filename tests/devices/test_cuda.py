# ruff: noqa: N802
"""Arrays of CUDA devices, behind a stub of the driver: its memory is the host's, and g++ compiles the kernels' text.

So what a launch is told is tested with what it computes: grid and block, pointers, parameters, the stream. The stub has a GPU's NaN, and
counts addresses that a GPU refuses. `python -m tests.device_bits cuda:0` compares a real one.
"""

from __future__ import annotations

import ctypes
import enum
import gc
import importlib
import re
import shutil
import subprocess
import sys
import types
import weakref
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ogive
import ogive.directml as dml
import ogive.onnx
from ogive.errors import ArgumentError, DeviceError, DTypeError
from ogive.golden.specification import of_operator
from ogive.judge import subject
from tests.inputs import assert_same_bits

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="not installed: g++")

#: The names that CUDA C++ has of its own, as C++ for the processor.
PRELUDE = """
#define __global__
#define __device__
struct place { unsigned x; };
static place blockIdx, blockDim, threadIdx;
extern "C" {
float fabsf(float); double fabs(double); float floorf(float); double floor(double); float ceilf(float); double ceil(double);
float truncf(float); double trunc(double); float rintf(float); double rint(double); float copysignf(float, float);
double copysign(double, double); float sqrtf(float); double sqrt(double); float fmaf(float, float, float);
double fma(double, double, double);
}
template <class To, class From> static To stub_bits(From x) { To y; __builtin_memcpy(&y, &x, sizeof y); return y; }
static float stub_single(float x) { return x == x ? x : stub_bits<float, unsigned>(0x7fffffffu); } /* its NaN */
#define __fsqrt_rn(a) stub_single(sqrtf(a))
#define __dsqrt_rn sqrt
#define __fmaf_rn(a, b, c) stub_single(fmaf(a, b, c))
#define __fma_rn fma
#define __fadd_rn(a, b) stub_single((float)(a) + (float)(b))
#define __fsub_rn(a, b) stub_single((float)(a) - (float)(b))
#define __fmul_rn(a, b) stub_single((float)(a) * (float)(b))
#define __fdiv_rn(a, b) stub_single((float)(a) / (float)(b))
#define __dadd_rn(a, b) ((double)(a) + (double)(b))
#define __dsub_rn(a, b) ((double)(a) - (double)(b))
#define __dmul_rn(a, b) ((double)(a) * (double)(b))
#define __ddiv_rn(a, b) ((double)(a) / (double)(b))
#define __uint_as_float stub_bits<float, unsigned>
#define __float_as_uint stub_bits<unsigned, float>
#define __longlong_as_double stub_bits<double, long long>
#define __double_as_longlong stub_bits<long long, double>
#define __popcll __builtin_popcountll
static unsigned atomicAdd(unsigned *p, unsigned more) { unsigned before = *p; *p += more; return before; }
extern "C" { int misaligned; void __ubsan_handle_type_mismatch_v1(void *, void *) { misaligned++; } }
template <class T> static T stub_at(void *p) { return *(T *)p; }
"""

HEAD = re.compile(r'extern "C" __global__ void (\w+)\(([^)]*)\)')


def launchers(text: str) -> str:
    """A function for each kernel that runs it for a grid, of pointers to its arguments."""
    made = []
    for name, listed in HEAD.findall(text):
        kinds = [re.sub(r"\w+$", "", argument.strip()) for argument in listed.split(",")]
        given = ", ".join(f"stub_at<{kind}>(p[{k}])" for k, kind in enumerate(kinds))
        made.append(
            f'extern "C" void launch_{name}(unsigned blocks, unsigned threads, void **p) {{ blockDim.x = threads; '
            "for (unsigned b = 0; b < blocks; b++) for (unsigned t = 0; t < threads; t++) { "
            f"blockIdx.x = b; threadIdx.x = t; {name}({given}); }} }}"
        )
    return "\n".join(made)


class CUresult(enum.IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_LAUNCH_FAILED = 719


class Stub:
    """The functions of cuda.bindings.driver and of cuda.bindings.nvrtc, with what they were called for."""

    def __init__(self, folder: Any) -> None:
        self.folder, self.memory, self.launches = folder, dict[int, np.ndarray](), list[tuple[Any, ...]]()
        self.compiled, self.current, self.elsewhere = 0, 0, set[int]()
        self.synchronised: list[int] = []
        self.fails: dict[str, CUresult] = {}
        self.libraries: list[Any] = []
        self.log = b""

    def modules(self) -> dict[str, types.ModuleType]:
        cuda, bindings = types.ModuleType("cuda"), types.ModuleType("cuda.bindings")
        driver, nvrtc = types.ModuleType("cuda.bindings.driver"), types.ModuleType("cuda.bindings.nvrtc")
        attributes = ["COMPUTE_CAPABILITY_MAJOR", "COMPUTE_CAPABILITY_MINOR"]
        driver.CUresult = CUresult
        driver.CUdevice_attribute = types.SimpleNamespace(
            **{f"CU_DEVICE_ATTRIBUTE_{name}": name for name in attributes}
        )
        driver.CUpointer_attribute = types.SimpleNamespace(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL=9)
        driver.CUmemPoolProps = lambda: types.SimpleNamespace(location=types.SimpleNamespace())
        driver.CUmemAllocationType = types.SimpleNamespace(CU_MEM_ALLOCATION_TYPE_PINNED=1)
        driver.CUmemLocationType = types.SimpleNamespace(CU_MEM_LOCATION_TYPE_DEVICE=1)
        driver.CUmemPool_attribute = types.SimpleNamespace(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD=4)
        driver.cuuint64_t = int
        for name in dir(self):
            if name.startswith("cu"):
                setattr(driver, name, getattr(self, name))
            elif name.startswith("nvrtc"):
                setattr(nvrtc, name, getattr(self, name))
        bindings.driver, bindings.nvrtc = driver, nvrtc
        return {"cuda": cuda, "cuda.bindings": bindings, "cuda.bindings.driver": driver, "cuda.bindings.nvrtc": nvrtc}

    # ---- the driver

    def cuInit(self, flags):
        return (CUresult.CUDA_SUCCESS,)

    def cuDriverGetVersion(self):
        return CUresult.CUDA_SUCCESS, 12060

    def cuDeviceGetCount(self):
        return CUresult.CUDA_SUCCESS, 2

    def cuDeviceGet(self, number):
        return CUresult.CUDA_SUCCESS, number

    def cuDeviceGetName(self, length, device):
        return CUresult.CUDA_SUCCESS, (b"a stub" + bytes(58)).ljust(length)  # what lies behind the name is anything

    def cuDeviceTotalMem(self, device):
        return CUresult.CUDA_SUCCESS, 1 << 30

    def cuDeviceGetAttribute(self, attribute, device):
        return CUresult.CUDA_SUCCESS, {"COMPUTE_CAPABILITY_MAJOR": 9, "COMPUTE_CAPABILITY_MINOR": 0}[attribute]

    def cuDevicePrimaryCtxRetain(self, device):
        return CUresult.CUDA_SUCCESS, ("context", device)

    def cuCtxPushCurrent(self, context):
        self.current += 1
        return (CUresult.CUDA_SUCCESS,)

    def cuCtxPopCurrent(self):
        self.current -= 1
        return CUresult.CUDA_SUCCESS, None

    def cuPointerGetAttribute(self, attribute, pointer):
        assert attribute == 9
        assert self.current
        return CUresult.CUDA_SUCCESS, int(pointer in self.elsewhere)

    def cuGetErrorString(self, status):
        return CUresult.CUDA_SUCCESS, b"unspecified launch failure"

    def cuMemPoolCreate(self, wanted):
        assert (wanted.allocType, wanted.location.type) == (1, 1)
        return CUresult.CUDA_SUCCESS, ("pool", wanted.location.id)

    def cuMemPoolSetAttribute(self, pool, attribute, value):
        assert (pool[0], attribute, value) == ("pool", 4, 1 << 29)
        return (CUresult.CUDA_SUCCESS,)

    def cuMemAllocFromPoolAsync(self, size, pool, stream):
        assert pool[0] == "pool"
        if "alloc" in self.fails:
            return self.fails["alloc"], None
        assert self.current
        made = np.full(size, 0xA5, np.uint8)
        self.memory[made.ctypes.data] = made
        return CUresult.CUDA_SUCCESS, made.ctypes.data

    def cuMemFreeAsync(self, pointer, stream):
        del self.memory[pointer]
        return (CUresult.CUDA_SUCCESS,)

    def _inside(self, pointer, size):
        """That a copy stays in what was allocated."""
        assert any(start <= pointer and pointer + size <= start + one.nbytes for start, one in self.memory.items())

    def cuMemcpyHtoDAsync(self, target, source, size, stream):
        self._inside(target, size)
        ctypes.memmove(target, source, size)
        return (CUresult.CUDA_SUCCESS,)

    def cuMemcpyDtoHAsync(self, target, source, size, stream):
        ctypes.memmove(target, source, size)
        return (CUresult.CUDA_SUCCESS,)

    def cuStreamSynchronize(self, stream):
        self.synchronised.append(stream)
        return (CUresult.CUDA_SUCCESS,)

    def cuModuleLoadData(self, code):
        path = self.folder / f"kernels{len(self.libraries)}.so"
        path.write_bytes(code)
        self.libraries.append(ctypes.CDLL(str(path)))
        return CUresult.CUDA_SUCCESS, self.libraries[-1]

    def cuModuleGetFunction(self, module, name):
        return CUresult.CUDA_SUCCESS, (name.decode(), getattr(module, f"launch_{name.decode()}"))

    def cuLaunchKernel(self, function, x, y, z, bx, by, bz, shared, stream, parameters, extra):
        if "launch" in self.fails:
            return (self.fails["launch"],)
        assert (y, z, by, bz, shared, extra) == (1, 1, 1, 1, 0, 0)
        assert self.current
        name, run = function
        first = ctypes.cast(parameters, ctypes.POINTER(ctypes.POINTER(ctypes.c_int64)))[0][0]
        assert (x - 1) * bx < first <= x * bx  # as many blocks as the elements take
        self.launches.append((name, x, bx, stream))
        run(x, bx, ctypes.c_void_p(parameters))
        assert [one for one in self.libraries if ctypes.c_int.in_dll(one, "misaligned").value] == []
        return (CUresult.CUDA_SUCCESS,)

    # ---- NVRTC

    def nvrtcVersion(self):  # none that there is: the session's cache keeps what g++ makes by it
        return CUresult.CUDA_SUCCESS, 0, 1

    def nvrtcCreateProgram(self, text, name, count, headers, names):
        assert (count, headers, names) == (0, [], [])
        return CUresult.CUDA_SUCCESS, {"text": text.decode()}

    def nvrtcCompileProgram(self, program, count, options):
        assert options == [b"--gpu-architecture=sm_90", b"--fmad=false"]
        source, target = self.folder / "kernel.cpp", self.folder / f"compiled{self.compiled}.so"
        source.write_text(PRELUDE + program["text"] + launchers(program["text"]))
        command = [
            "g++",
            "-O0",
            "-w",
            "-ffp-contract=off",
            "-mfma",
            "-fsanitize=alignment",
            "-shared",
            "-fPIC",
            "-o",
            str(target),
            str(source),
            "-lm",
        ]
        done = subprocess.run(command, capture_output=True, check=False)
        self.compiled += 1
        if done.returncode:
            self.log = done.stderr
            return (CUresult.CUDA_ERROR_LAUNCH_FAILED,)
        program["code"] = target.read_bytes()
        return (CUresult.CUDA_SUCCESS,)

    def nvrtcGetProgramLogSize(self, program):
        return CUresult.CUDA_SUCCESS, len(self.log)

    def nvrtcGetProgramLog(self, program, buffer):
        filled(buffer, self.log)
        return (CUresult.CUDA_SUCCESS,)

    def nvrtcGetCUBINSize(self, program):
        return CUresult.CUDA_SUCCESS, len(program["code"])

    def nvrtcGetCUBIN(self, program, buffer):
        filled(buffer, program["code"])
        return (CUresult.CUDA_SUCCESS,)

    def nvrtcDestroyProgram(self, program):
        return (CUresult.CUDA_SUCCESS,)


def filled(buffer: bytes, content: bytes) -> None:
    """As the package writes into bytes that it is given."""
    assert len(buffer) == len(content)
    ctypes.memmove(ctypes.c_char_p(buffer), content, len(content))


@pytest.fixture(scope="module")
def stub(tmp_path_factory):
    """ogive.cuda behind the stub; kernels are found by the driver's key, which another stub must not have."""
    from ogive.devices import kernels

    made = Stub(tmp_path_factory.mktemp("cuda"))
    held = {name: sys.modules.pop(name) for name in list(sys.modules) if re.match(r"(cuda|ogive\.cuda)(\.|$)", name)}
    sys.modules.update(made.modules())
    kernels._found.cache_clear()
    yield made
    kernels._found.cache_clear()
    for name in list(sys.modules):
        if re.match(r"(cuda|ogive\.cuda)(\.|$)", name):
            del sys.modules[name]
    sys.modules.update(held)


@pytest.fixture
def there(stub):
    """The package, with nothing launched so far."""
    stub.launches.clear()
    stub.synchronised.clear()
    yield importlib.import_module("ogive.cuda")
    stub.fails.clear()
    assert not stub.current


class Exporter:
    """An array of a library that nobody knows, on the device of the stub."""

    def __init__(self, array: np.ndarray, stream: int | None = None, **more: Any) -> None:
        self.array, self.stream, self.more = array, stream, more

    @property
    def __cuda_array_interface__(self):
        known = self.array.__array_interface__
        found = {name: known[name] for name in ("shape", "strides", "typestr", "data")}
        return {**found, "version": 3, "stream": self.stream, **self.more}


def fetched(array: Any) -> np.ndarray:
    """A result's elements, by its interface."""
    given = array.__cuda_array_interface__
    assert given["version"] == 3
    pointer, _ = given["data"]
    span = sum((n - 1) * step for n, step in zip(given["shape"], given["strides"], strict=True)) + 8
    memory = np.frombuffer((ctypes.c_char * span).from_address(pointer), np.uint8)
    return np.ndarray(given["shape"], given["typestr"], memory, 0, given["strides"]).copy()


X = np.linspace(-4, 4, 999, dtype=np.float32)


@pytest.mark.parametrize(
    ("name", "kind", "parameters"),
    [("gelu", "float32", {}), ("celu", "float64", {"alpha": 1 / 3}), ("tanh", "float16", {}), ("sign", "int32", {})],
)
def test_elements(name, kind, parameters, there, stub):
    x = X.astype(kind)
    found = getattr(there, name)(Exporter(x), **parameters)
    assert_same_bits(fetched(found), getattr(ogive, name)(x, **parameters))
    assert_same_bits(found.get(), fetched(found))
    assert repr(found) == f"<array of cuda:0: {kind}, shape (999,)>"
    assert stub.launches[0] == ("ogive_elements", 8, 128, 0)


def test_views_and_broadcasting(there):
    a, b = X[:990].reshape(30, 33), X[:33]
    assert_same_bits(fetched(there.hypot(Exporter(a[::2, ::-1]), Exporter(b))), ogive.hypot(a[::2, ::-1], b))
    assert_same_bits(fetched(there.hypot(Exporter(a.T), 2.5)), ogive.hypot(a.T, np.float32(2.5)))
    assert there.tanh(Exporter(a[:0])).shape == (0, 33)


def test_rows(there, stub):
    x = X[:990].reshape(30, 33)
    assert_same_bits(fetched(there.softmax(Exporter(x))), ogive.softmax(x))
    assert_same_bits(fetched(there.softmax(Exporter(x), axis=0)), ogive.softmax(x, axis=0))
    assert {name for name, *_ in stub.launches} == {"ogive_rows"}


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize(
    "op",
    [
        *map(ogive.grad, (ogive.sigmoid, ogive.erf, ogive.gelu)),
        ogive.glu,
        ogive.glu.fast,
        ogive.exp.fast,
        ogive.softmax,
    ],
    ids=lambda op: op.name,
)
def test_a_gpus_nan(op, kind, there):
    """Its float32 arithmetic makes NaN of all ones, and bits are added to these."""
    device, numbers = ogive.device("cuda:0"), np.array([[np.nan, -np.nan, 0.5, np.inf, -np.inf, -3.0, -1.5e38]])
    with np.errstate(all="ignore"):
        x = numbers.astype(ml_dtypes.bfloat16 if kind == "bfloat16" else kind)
        given = [x, x[:, ::-1]][: op.inputs]
        wanted = op(*given)
    assert_same_bits(device.function(op)(*map(device.array, given)).get(), wanted)


def test_arrays_of_bfloat16_of_its_own(there):
    """`__cuda_array_interface__` has no name for the type."""
    device, x = ogive.device("cuda:0"), X[:99].astype(ml_dtypes.bfloat16)
    found = device.function(ogive.gelu)(device.array(x))
    assert repr(found) == "<array of cuda:0: bfloat16, shape (99,)>"
    assert_same_bits(found.get(), ogive.gelu(x))


@ogive.operator(types=["float32"])
def nothing(x):
    """Zero, which no number of bits decides."""
    return np.sqrt(x) ** 2 - x


@pytest.mark.matrix(share=16, pool="slow")
def test_what_no_kernel_decides_goes_to_the_host(there, stub):
    x = np.linspace(0.5, 2, 300, dtype=np.float32)
    assert_same_bits(fetched(there.function(nothing)(Exporter(x))), nothing(x))
    assert [name for name, *_ in stub.launches] == ["ogive_elements", "ogive_put"]


def test_streams(there, stub):
    """The caller's stream has the launch; what another stream is at is waited for."""

    class Stream:
        cuda_stream = 77

    there.gelu(Exporter(X, stream=5), stream=Stream())
    assert stub.launches[0][-1] == 77
    assert 5 in stub.synchronised
    assert there.gelu(Exporter(X), stream=2).__cuda_array_interface__["stream"] == 2
    with pytest.raises(ArgumentError, match=r"^ogive\.cuda\.gelu: stream is 'two'; allowed: a stream, or its number"):
        there.gelu(Exporter(X), stream="two")


def test_a_stream_lives_as_long_as_its_results(there, stub):
    """Memory is given back in the stream's order: without the stream, the driver crashed."""

    class Stream:
        ptr = 88

    stream = Stream()
    known, found = weakref.ref(stream), there.gelu(Exporter(X), stream=stream)
    del stream
    gc.collect()
    assert known() is not None
    assert_same_bits(fetched(found), ogive.gelu(X))
    held = len(stub.memory)
    del found
    gc.collect()
    assert len(stub.memory) < held


@pytest.fixture
def cupy(monkeypatch):
    """A stub of CuPy: its arrays, its current stream, and what makes an array of another's."""
    made = types.ModuleType("cupy")
    made.ndarray = type("ndarray", (Exporter,), {"__module__": "cupy"})
    made.cuda = types.SimpleNamespace(get_current_stream=lambda: types.SimpleNamespace(ptr=55))
    made.asarray = lambda array: made.ndarray(fetched(array))
    made.from_dlpack = lambda array: made.ndarray(array.array)
    monkeypatch.setitem(sys.modules, "cupy", made)
    return made


def test_arrays_of_cupy(there, stub, cupy):
    """They go in and come out on CuPy's current stream; it reads capsules of libraries that have nothing else."""
    found = there.gelu(cupy.ndarray(X))
    assert isinstance(found, cupy.ndarray)
    assert_same_bits(found.array, ogive.gelu(X))
    capsule = types.SimpleNamespace(array=X, __dlpack_device__=lambda: (2, 0))
    assert_same_bits(fetched(there.gelu(capsule)), ogive.gelu(X))
    assert [stream for *_, stream in stub.launches] == [55, 0]


def test_a_capsule_that_nobody_reads(there, monkeypatch):
    for name in ("cupy", "torch"):
        monkeypatch.setitem(sys.modules, name, None)
    capsule = types.SimpleNamespace(__dlpack_device__=lambda: (2, 0))
    with pytest.raises(
        ArgumentError,
        match=r"^ogive\.cuda\.gelu: an array is a SimpleNamespace\. Import cupy or torch first, which read",
    ):
        there.gelu(capsule)


def test_memory_is_given_back(there, stub):
    before = len(stub.memory)
    result = there.gelu(Exporter(X))
    assert len(stub.memory) == before + 1
    del result
    assert len(stub.memory) == before


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda f: f.gelu(X),
            ArgumentError,
            (
                "ogive.cuda.gelu: x is an array of shape (999,); allowed: arrays of a CUDA device, and numbers. "
                "cupy.asarray(x), or torch.from_numpy(x).cuda(), brings an array of NumPy to the device"
            ),
        ),
        (
            lambda f: f.gelu(Exporter(X, mask=Exporter(X))),
            ArgumentError,
            "ogive.cuda.gelu: an array has a mask; allowed: arrays without one",
        ),
        (
            lambda f: ogive.add(X, Exporter(X)),
            ArgumentError,
            (
                "add: b is a tests.Exporter on a device; allowed: arrays in the memory of the CPU. "
                "Compute there with ogive.cuda.function, or copy it first: b.get()"
            ),
        ),
        (
            lambda f: f.gelu(Exporter(X.astype(">f4"))),
            DTypeError,
            (
                "ogive.cuda.gelu: x has dtype >f4; allowed: element types in this machine's order of bytes. "
                "Convert it on the host: x.get().astype('float32')"
            ),
        ),
    ],
    ids=["numpy", "mask", "of a device", "byte order"],
)
def test_wrong_calls(call, kind, text, there):
    with pytest.raises(kind) as raised:
        call(there)
    assert str(raised.value) == text


def test_arrays_of_two_devices(there, stub):
    other = X.copy()
    stub.elsewhere.add(other.ctypes.data)
    with pytest.raises(
        ArgumentError, match=r"^ogive\.cuda\.add: the arrays lie on cuda:0 and cuda:1; allowed: one device"
    ):
        there.add(Exporter(X), Exporter(other))
    stub.elsewhere.clear()


def test_a_device_that_fails(there, stub):
    x = X.copy()
    stub.fails["launch"] = CUresult.CUDA_ERROR_LAUNCH_FAILED
    with pytest.raises(DeviceError) as raised:
        there.gelu(Exporter(x))
    assert str(raised.value) == (
        "ogive.cuda.gelu: the device cuda:0 failed (unspecified launch failure). The arrays are as they were"
    )
    stub.fails["alloc"] = CUresult.CUDA_ERROR_OUT_OF_MEMORY
    with pytest.raises(
        DeviceError, match=r"the device cuda:0 has too little memory for results of shape \(999,\)\. Compute"
    ):
        there.gelu(Exporter(x))
    assert_same_bits(x, X)


def test_no_driver_is_there(there, monkeypatch):
    from ogive.cuda import cuda_driver, open_cuda

    def missing(*given: Any) -> Any:
        raise RuntimeError("the library is not found")

    monkeypatch.setattr(open_cuda.cu, "cuInit", missing)
    assert there.devices() == []
    with pytest.raises(ArgumentError, match=r"^ogive\.device: the device is 'cuda:0', and no CUDA device is there\. "):
        ogive.device("cuda:0")
    monkeypatch.setattr(cuda_driver, "_context_of", lambda number: cuda_driver.asked(missing))
    with pytest.raises(DeviceError) as raised:
        there.gelu(Exporter(X))
    assert str(raised.value) == (
        "ogive.cuda.gelu: CUDA failed (NVIDIA's driver is not installed). The arrays are as they were"
    )
    with pytest.raises(DeviceError, match=r"^cuda:0: the device cuda:0 failed \(NVIDIA's driver is not installed\)\."):
        there.Device(0).array(X)


def test_what_the_compiler_says(there, monkeypatch):
    from ogive.devices import kernels

    monkeypatch.setattr(kernels, "kernel_text", lambda *args: "broken")

    @ogive.operator(types=["float32"])
    def own(x):
        """A kernel of its own."""
        return 2 * x

    with pytest.raises(
        DeviceError, match=r"^ogive\.cuda\.own: the device cuda:0 failed \(.*error: .*\)\. The arrays are"
    ):
        there.function(own)(Exporter(X))


def test_machine_code_is_kept_on_disk(there, stub, monkeypatch, tmp_path):
    from ogive.devices import kernels

    monkeypatch.setenv("OGIVE_CACHE", str(tmp_path))
    tmp_path.chmod(0o700)
    expected = ogive.elu(X)
    for _ in range(2):
        kernels._found.cache_clear()
        assert_same_bits(fetched(there.elu(Exporter(X))), expected)
        compiled, stub.compiled = stub.compiled, 100
    assert compiled == 100  # the second time nothing was


@pytest.mark.matrix(share=16, pool="slow")
def test_models_and_directml(there):
    from onnx import parser

    device = ogive.device("cuda:0")
    assert repr(device) == "<cuda:0: a stub>"
    text = '<ir_version: 8, opset_import: ["" : 18]> g (float[N,M] x) => (y) { a = Softmax<axis=1>(x) b = Transpose(a) y = Tanh(b) }'
    x = X[:990].reshape(30, 33)
    on, expected = (
        ogive.onnx.load(parser.parse_model(text), device=device),
        ogive.onnx.load(parser.parse_model(text))(x),
    )
    assert_same_bits(fetched(on(device.array(x))), expected)
    assert_same_bits(on(x), expected)
    desc = dml.DML_BUFFER_TENSOR_DESC(DataType=dml.DML_TENSOR_DATA_TYPE_FLOAT32, Sizes=[30, 33])
    own = dml.Device(adapter=device)
    tanh = own.CompileOperator(own.CreateOperator(dml.DML_ELEMENT_WISE_TANH_OPERATOR_DESC(desc, desc)))
    assert_same_bits(tanh.dispatch([x])[0], ogive.tanh(x))
    specification = of_operator("gelu", "float32")
    assert_same_bits(subject("cuda:0", specification)(specification, [X]), ogive.gelu(X))
    with pytest.raises(ArgumentError, match=r"^ogive\.device: the device is 'cuda:7'; allowed: cuda:0, cuda:1"):
        ogive.device("cuda:7")


@pytest.mark.matrix(share=16, pool="slow")
def test_tensors_of_torch(there, stub, monkeypatch):
    """Tensors of the host behind the stub, with autograd: their pointers go to kernels, on torch's current stream."""
    torch = pytest.importorskip("torch", reason="not installed: torch")
    from ogive.cuda import cuda_arrays
    from ogive.torch import eager, tensor_operator

    def as_tensor(made: Any, device: Any) -> Any:
        holder = types.SimpleNamespace(__array_interface__=made.__cuda_array_interface__, owner=made)
        return torch.from_numpy(np.asarray(holder))

    monkeypatch.setattr(cuda_arrays, "on_cuda", lambda tensor: True)
    monkeypatch.setattr(tensor_operator, "lies_on_cuda", lambda tensor: True)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda number: types.SimpleNamespace(cuda_stream=41))
    monkeypatch.setattr(torch, "as_tensor", as_tensor)
    monkeypatch.setattr(eager, "is_dynamo_compiling", lambda: True)  # gradients go the general way too
    x = torch.linspace(-3, 3, 70).reshape(7, 10)
    for kind in (torch.float32, torch.bfloat16):
        operand = x.to(kind)
        assert torch.equal(there.gelu(operand.T), ogive.torch.gelu(operand.T))
    for name in ("gelu", "softmax"):
        operator = tensor_operator.TensorOperator(
            f"stub_{name}", getattr(ogive, name), lambda name=name: getattr(ogive, name)
        )
        given, right = x.clone().requires_grad_(), x.clone().requires_grad_()
        values = tuple(parameter.default for parameter in operator.parameters)
        stub.launches.clear()
        (found,) = eager.call(operator, [given], values)
        found.sum().backward()
        assert {stream for *_, stream in stub.launches} == {41}
        assert len(stub.launches) > 1
        expected = getattr(ogive.torch, name)(right, **({"dim": -1} if name == "softmax" else {}))
        expected.sum().backward()
        assert torch.equal(found, expected)
        assert torch.equal(given.grad, right.grad)
