"""The C text that inductor gets, compiled beside torch's own C functions and called with tensors."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

import ogive
from ogive.errors import ArgumentError, DTypeError

torch = pytest.importorskip("torch", reason="torch is not installed")
ot = pytest.importorskip("ogive.torch")
TABLE = "aot_inductor.custom_ops_to_c_shims"

#: The flags of inductor that take away from IEEE 754, and from loops.
FLAGS = (
    "-O1",
    "-fno-signed-zeros",
    "-fno-trapping-math",
    "-ffp-contract=off",
    "-fno-tree-loop-vectorize",
    "-march=native",
)


@pytest.fixture(scope="module")
def called(tmp_path_factory):
    """A function of an operator's name and of what it is given, by the text."""
    if shutil.which("g++") is None:
        pytest.skip("there is no g++")
    folder = tmp_path_factory.mktemp("inductor")
    table = ot.inductor_options(ot.glu, ot.celu, ot.gelu)[TABLE]
    declared = "\n".join(f"extern {text};" for texts in table.values() for text in texts)
    header = "#include <torch/csrc/inductor/aoti_torch/c/shim.h>\n#include <cstring>\n"
    (folder / "text.cpp").write_text(f'{header}extern "C" {{\n{declared}\n}}\n')
    at = Path(torch.__file__).parent
    libraries = (f"-L{at / 'lib'}", "-ltorch_cpu", f"-Wl,-rpath,{at / 'lib'}")
    files = ("-shared", "-fPIC", f"-I{at / 'include'}", "text.cpp", "-o", "text.so", *libraries)
    subprocess.run(["g++", "-std=c++17", *FLAGS, *files], check=True, cwd=folder)
    library = ctypes.CDLL(str(folder / "text.so"))
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype, capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)

    def call(name, *given):
        held = [torch._C._aoti.unsafe_alloc_void_ptr_from_tensor(one) for one in given if isinstance(one, torch.Tensor)]
        handles = [ctypes.c_void_p(pointer(one, None)) for one in held]
        numbers = [ctypes.c_double(one) if isinstance(one, float) else one for one in given[len(held) :]]
        result = ctypes.c_void_p()
        assert not getattr(library, f"aoti_torch_cpu_{name}")(*handles, *numbers, ctypes.byref(result))
        return torch._C._aoti.alloc_tensor_by_stealing_from_void_ptr(capsule(result, None, None))

    return call


def assert_same(found, expected):
    assert found.stride() == expected.stride()
    assert torch.equal(found.contiguous().view(torch.int32), expected.contiguous().view(torch.int32))


@pytest.mark.matrix(share=16, pool="slow")
def test_the_bits_are_those_of_the_kernels(called):
    x = torch.randint(-(2**31), 2**31, (1000, 7), dtype=torch.int64).int().view(torch.float32)
    x[:500] = torch.randn(500, 7)
    x[0, :4] = torch.tensor([0.0, -0.0, torch.inf, -torch.inf])
    assert_same(called("celu", x, 1.5), ot.celu(x, alpha=1.5))
    assert_same(called("gelu", x, b"none"), ot.gelu(x))
    assert_same(called("gelu", x, b"tanh"), ot.gelu(x, approximate="tanh"))
    gradient = torch.ops.ogive.gelu_vjp(x.flip(0), x, "none")
    assert_same(called("gelu_vjp", x.flip(0), x, b"none"), gradient)


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("shapes", [((4, 6), (6,)), ((3, 1, 5), (4, 1)), ((2, 0), (1,)), ((), (3,)), ((), ())])
def test_operands_broadcast(called, shapes):
    a, b = map(torch.randn, shapes)
    assert_same(called("glu", a, b), torch.ops.ogive.glu(a, b))


def test_results_lie_as_operands_do(called):
    whole = torch.randn(6, 4, 8)
    for x in (whole.mT, whole[:, ::2], whole.permute(2, 0, 1), whole[::2, :, ::3], whole[:1].expand(6, 4, 8)):
        assert_same(called("gelu", x, b"none"), torch.ops.ogive.gelu(x, "none"))
        assert_same(called("glu", x, x.contiguous()), torch.ops.ogive.glu(x, x.contiguous()))


def test_what_has_no_text_is_refused():
    with pytest.raises(ArgumentError, match="softmax is a function of rows, of which there is no C text"):
        ot.inductor_options(ot.softmax)
    with pytest.raises(ArgumentError, match=r"allowed: functions of ogive.torch"):
        ot.inductor_options(ogive.gelu)
    with pytest.raises(DTypeError, match=r"inductor_options: gelu: torch.int32 was given"):
        ot.inductor_options(ot.gelu, dtypes=[torch.int32])
