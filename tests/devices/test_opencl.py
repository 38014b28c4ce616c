"""Operators on OpenCL devices: the digests of the processor's kernels, arrays of every layout, and what is refused.

Debian's pocl-opencl-icd is a device on the processor, with float64 and correctly rounded quotients.
"""

from __future__ import annotations

import inspect
import os
from typing import Any

import numpy as np
import pytest

import ogive
from ogive.catalog import OPERATORS
from ogive.errors import ArgumentError, DeviceError, DTypeError, ParameterError, ShapeError
from ogive.exporting.sources import elements, fnv
from ogive.operators.operator import Operator
from tests.cpu import test_retry as retry
from tests.cpu import test_tables as tables
from tests.random_formulas import grown

cl = pytest.importorskip("pyopencl", reason="not installed: pyopencl (pip install 'ogive[opencl]')")
cla = pytest.importorskip("pyopencl.array")

from ogive.devices import kernels  # noqa: E402
from ogive.devices.kernels import Computing, Kernel, Placed, kernel_text_of  # noqa: E402
from ogive.opencl import hardware, opencl_driver  # noqa: E402

ELEMENTS = 4099

#: Compiling a kernel for a device takes half a second: `make opencl` tries all of them, other runs one case in four.
ALL = "OGIVE_OPENCL_ALL" in os.environ

EVERY_CASE = [(op, signature) for op in OPERATORS.values() if not op.is_row_wise for signature in op.signatures]
CASES = EVERY_CASE if ALL else EVERY_CASE[::4]
IDS = [f"{op.name}-{'-'.join(t.name for t in (*s.inputs, *s.outputs))}" for op, s in CASES]

#: Formulas that are drawn.
FORMULAS = 200 if ALL else 50


@pytest.fixture(scope="module")
def queue() -> Any:
    able = [device for device in ogive.opencl.devices() if not device.why_not]
    if not able:
        pytest.skip("no OpenCL device that can compute (Debian: pocl-opencl-icd)")
    return cl.CommandQueue(cl.Context([able[0].handle]))


def some_parameters(op: Operator) -> dict[str, Any]:
    return {p.name: p.choices[0] if p.choices else 0.75 for p in op.parameters if p.is_required}


def listed(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


def on_device(queue: Any, array: np.ndarray) -> Any:
    return cla.to_device(queue, array)


def assert_same(found: Any, expected: Any) -> None:
    for one, other in zip(listed(found), listed(expected), strict=True):
        array = one.get()
        assert (array.dtype, array.shape) == (other.dtype, other.shape)
        assert array.tobytes() == np.ascontiguousarray(other).tobytes()


# ---- the bits


def test_there_are_cases():
    assert len(EVERY_CASE) > 700
    assert len({op.name for op, _ in CASES}) > 80


def run(queue: Any, program: Any, given: Any, parameters: Any, on_host: Any = None) -> list[np.ndarray]:
    """A program's results of one dimension."""
    driver = opencl_driver.OpenCLDriver(queue)
    results = [cla.empty(queue, given[0].size, t.numpy) for t in program.outputs]
    arrays = [on_device(queue, array) for array in given]
    operands = [Placed(array.base_data, array.dtype, array.shape, array.strides) for array in arrays]
    compiled = Kernel(driver, kernel_text_of(program, driver.dialect, program.inputs))
    memory = [one.base_data for one in results]
    compiled.run(Computing(driver, (given[0].size,), operands, memory, parameters, on_host))
    return [result.get() for result in results]


def test_tables_and_estimates(queue):
    arrays = tables.operands(1000)
    tables.judge(run(queue, tables.program(), arrays, [tables.PLACE]), *arrays)


def test_a_chain_of_kernels(queue):
    """The retry and the repair compute in the work item; what they leave is listed."""
    x, listed_ones = retry.data(3000, 0.1), list[np.ndarray]()

    def on_host(elements):
        listed_ones.append(elements)
        return [elements * retry.FACTORS[3]]

    (result,) = run(queue, retry.chain(), [x], [], on_host)
    np.testing.assert_array_equal(result, retry.expected(x))
    assert sorted(np.concatenate(listed_ones)) == sorted(x[x > retry.LATER[2]])


@pytest.mark.matrix(share=32)
@pytest.mark.parametrize("accuracy", ["exact", "fast"])
@pytest.mark.parametrize(("op", "signature"), CASES, ids=IDS)
def test_the_digests_of_the_processor(op, signature, accuracy, queue):
    op = getattr(op, accuracy)
    given = [elements(kind, k, ELEMENTS) for k, kind in enumerate(signature.inputs)]
    parameters = some_parameters(op)
    expected = listed(op(*given, **parameters))
    found = listed(ogive.opencl.function(op)(*(on_device(queue, array) for array in given), **parameters))
    assert [array.dtype for array in found] == [kind.numpy for kind in signature.outputs]
    assert fnv([array.get() for array in found]) == fnv(expected)


ROW_CASES = [(op, signature) for op in OPERATORS.values() if op.is_row_wise for signature in op.signatures]


@pytest.mark.matrix(share=32)
@pytest.mark.parametrize("accuracy", ["exact", "fast"])
@pytest.mark.parametrize(("op", "signature"), ROW_CASES, ids=lambda one: getattr(one, "name", ""))
def test_rows(op, signature, accuracy, queue):
    """Short rows, and rows of several segments."""
    op = getattr(op, accuracy)
    for rows, count in ((19, 331), (2, 20011)):
        given = [elements(kind, k, rows * count).reshape(rows, count) for k, kind in enumerate(signature.inputs)]
        found = ogive.opencl.function(op)(*(on_device(queue, array) for array in given))
        assert_same(found, op(*given))


def test_rows_of_any_layout(queue, monkeypatch):
    """Along another axis, of another element type, in several launches, and of a shape without elements."""
    assert len(ROW_CASES) > 40
    x = np.random.default_rng(4).standard_normal((6, 9, 7)).astype(np.float32)
    on = on_device(queue, x)
    monkeypatch.setattr(kernels, "ROW_MEMORY", 2000)
    assert_same(ogive.opencl.softmax(on[:, ::2]), ogive.softmax(x[:, ::2]))
    turned = ogive.opencl.softmax(on, axis=1)
    assert turned.shape == x.shape
    assert_same(turned.transpose((0, 2, 1)), np.ascontiguousarray(np.moveaxis(ogive.softmax(x, axis=1), 1, 2)))
    assert ogive.opencl.softmax(on[:0]).shape == (0, 9, 7)


@pytest.mark.matrix(share=16, pool="slow")
def test_rows_that_no_kernel_decides_go_to_the_host(queue):
    @ogive.row_operator(types=["float32"])
    def less(x):
        """Zero, which no number of bits decides, beside a sum."""
        return (np.sqrt(x) ** 2 - x) * ogive.formula.row_sum(x)

    x = np.linspace(0.5, 2, 60, dtype=np.float32).reshape(4, 15)
    assert_same(ogive.opencl.function(less)(on_device(queue, x)), less(x))


def test_levels_that_decide_every_element_list_none(queue):
    @ogive.operator(types=["float64"])
    def least(x, y):
        """The lesser of a difference and a number: its second level takes operands of any size, and decides all."""
        return np.where(x - 100 < y, x - 100, y)

    program = least.computation(least.signatures[0]).program
    assert program.later
    assert not program.has_mask_at_end
    given = [elements(program.inputs[k], k, 2000) for k in range(2)]
    arrays = [on_device(queue, array) for array in given]
    assert_same(ogive.opencl.function(least)(*arrays), least(*given))
    assert_same(ogive.opencl.abs(arrays[0]), ogive.abs(given[0]))


@pytest.mark.matrix(share=20)
@pytest.mark.parametrize("seed", range(FORMULAS))
def test_random_formulas(seed, queue):
    generator = np.random.default_rng(3600 + seed)
    root = grown(generator, 2 + seed % 7)
    dtype = ("float32", "float16", "bfloat16", "float64")[seed % 4]

    @ogive.operator(types=[dtype])
    def drawn(x, y, *, alpha=1.0):
        """Drawn at random."""
        return root

    given = [elements(drawn.signatures[0].inputs[k], k, 2000) for k in range(2)]
    arrays = [on_device(queue, array) for array in given]
    for op in (drawn.exact, drawn.fast):
        assert_same(ogive.opencl.function(op)(*arrays, alpha=0.3), op(*given, alpha=0.3))


@pytest.fixture
def counts(monkeypatch):
    """How many elements went to the host, each time that some did."""
    found: list[int] = []
    own = Kernel._put

    def counted(self: Any, call: Any, count: int, *rest: Any) -> Any:
        found.append(count)
        return own(self, call, count, *rest)

    monkeypatch.setattr(Kernel, "_put", counted)
    return found


@ogive.operator(types=["float32"])
def nothing(x):
    """Zero, which no number of bits decides."""
    return np.sqrt(x) ** 2 - x


def test_what_no_kernel_decides_goes_to_the_host(queue, counts):
    x = np.linspace(0.5, 2, 300, dtype=np.float32)
    assert_same(ogive.opencl.function(nothing)(on_device(queue, x)), nothing(x))
    assert len(counts) == 1
    assert counts[0] > 100


def test_more_open_elements_than_the_list_has_room_for(queue, monkeypatch, counts):
    monkeypatch.setattr(kernels, "ROOM", 2)
    monkeypatch.setattr(kernels, "AT_ONCE", 100)
    x = np.linspace(0.5, 2, 300, dtype=np.float32)

    @ogive.operator(types=["float32"])
    def raised(x):
        """A kernel of its own, whose list has little room."""
        return np.sqrt(x) ** 2 - x

    on = ogive.opencl.function(raised)
    assert_same(on(on_device(queue, x)), raised(x))
    assert max(counts) > 2
    assert len(counts) > 1  # in several launches
    assert_same(on(on_device(queue, x)), raised(x))  # with the room that there is now


@pytest.mark.matrix(share=16, pool="slow")
def test_parameters_and_choices(queue):
    x = np.linspace(-4, 4, 999, dtype=np.float32)
    given = on_device(queue, x)
    assert_same(ogive.opencl.celu(given, alpha=1 / 3), ogive.celu(x, alpha=1 / 3))
    assert_same(ogive.opencl.celu(given, alpha=-2.5), ogive.celu(x, alpha=-2.5))
    assert_same(ogive.opencl.gelu(given, approximate="tanh"), ogive.gelu(x, approximate="tanh"))
    assert_same(ogive.opencl.relu6(given), ogive.relu6(x))  # a name of another library


@pytest.mark.matrix(share=16, pool="slow")
def test_gradients(queue):
    x = np.linspace(-4, 4, 999, dtype=np.float32)
    gradient = ogive.value_and_grad(ogive.gelu)
    assert_same(ogive.opencl.function(gradient)(on_device(queue, x)), gradient(x))


# ---- arrays


def test_views_of_every_layout(queue):
    x = np.linspace(-4, 4, 24 * 35, dtype=np.float32).reshape(24, 35)
    given = on_device(queue, x)
    views = [
        (slice(None, None, 2), slice(None, None, -1)),
        (slice(3, 17), slice(5, 30, 3)),
        (slice(None, None, -1), slice(None, None, -2)),
        (7, slice(None)),
        (slice(None), 11),
        (slice(2, 2), slice(None)),
    ]
    for view in views:
        assert_same(ogive.opencl.silu(given[view]), ogive.silu(x[view]))
    assert_same(ogive.opencl.silu(given.T), ogive.silu(x.T))
    assert_same(ogive.opencl.silu(on_device(queue, np.asfortranarray(x))), ogive.silu(x))
    assert_same(
        ogive.opencl.silu(on_device(queue, np.float32(2.0).reshape(()))), ogive.silu(np.float32(2.0).reshape(()))
    )


@pytest.mark.parametrize(
    "shapes",
    [[(5, 1, 7), (3, 1)], [(4,), (1,)], [(2, 3, 4, 5), (4, 1)], [(), (6,)], [(1, 1), (8, 9)], [(0, 3), (3,)]],
    ids=str,
)
def test_broadcasting(queue, shapes):
    generator = np.random.default_rng(5)
    given = [np.asarray(generator.normal(size=shape), np.float32) for shape in shapes]
    assert_same(ogive.opencl.hypot(*(on_device(queue, array) for array in given)), ogive.hypot(*given))


def test_operands_of_several_dimensions_that_cannot_become_one(queue):
    generator = np.random.default_rng(5)
    a, b = generator.normal(size=(2, 6, 4, 10, 3)).astype(np.float32)
    found = ogive.opencl.hypot(on_device(queue, a)[::2, ::-1, 1:9:3], on_device(queue, b)[1::2, :, 9:1:-3])
    assert_same(found, ogive.hypot(a[::2, ::-1, 1:9:3], b[1::2, :, 9:1:-3]))


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize(
    ("types", "number"),
    [
        (["int16"], None),
        (["bool"], None),
        (["uint32"], None),
        (["int64"], None),
        (["float16", "float32"], None),
        (["int8", "float16"], None),
        (["int32", "float32"], None),
        (["uint64", "int64"], None),
        (["bfloat16", "float32"], None),
        (["float32"], 0.1),
        (["bfloat16"], 0.1),
        (["int8"], 3),
        (["uint8"], 2.5),
        (["float16"], np.float64(1.5)),
        (["float64"], True),
    ],
    ids=str,
)
def test_element_types_become_those_that_numpy_chooses(queue, types, number):
    op = ogive.atan2 if len(types) > 1 or number is not None else ogive.atan
    kinds = {t.name: t for signature in ogive.add.signatures for t in signature.inputs} | {
        "bool": ogive.less.signatures[0].outputs[0]
    }
    given = [elements(kinds[name], k, 300) for k, name in enumerate(types)]
    rest = [] if number is None else [number]
    expected = op(*given, *rest)
    assert_same(ogive.opencl.function(op)(*(on_device(queue, array) for array in given), *rest), expected)


def test_truth_values(queue):
    x = np.linspace(-2, 2, 100, dtype=np.float32)
    given = on_device(queue, x)
    is_less = ogive.opencl.less(given, 0)
    assert_same(is_less, x < 0)
    assert_same(ogive.opencl.where(is_less, given, 1), ogive.where(x < 0, x, 1))
    assert_same(ogive.opencl.where(given < 0, given, 1), ogive.where(x < 0, x, 1))  # pyopencl's are int8


@pytest.mark.matrix(share=16, pool="slow")
def test_results_are_used_on_the_device(queue):
    x = np.linspace(-2, 2, 1000, dtype=np.float32)
    given = on_device(queue, x)
    assert_same(ogive.opencl.tanh(ogive.opencl.gelu(given + given)), ogive.tanh(ogive.gelu(x + x)))


def test_memory_comes_from_the_allocator_of_the_first_array(queue):
    from pyopencl.tools import ImmediateAllocator, MemoryPool

    pool = MemoryPool(ImmediateAllocator(queue))
    x = np.linspace(-2, 2, 1000, dtype=np.float32)
    given = cla.to_device(queue, x, allocator=pool)
    before = pool.active_blocks
    result = ogive.opencl.gelu(given)
    assert pool.active_blocks == before + 1
    assert_same(result, ogive.gelu(x))


def test_another_queue(queue):
    x = np.linspace(-2, 2, 1000, dtype=np.float32)
    other = cl.CommandQueue(queue.context)
    found = ogive.opencl.gelu(on_device(queue, x).with_queue(None), queue=other)
    assert found.queue == other
    assert_same(found, ogive.gelu(x))


def test_kernels_are_compiled_once(queue, monkeypatch):
    x = on_device(queue, np.linspace(-2, 2, 1000, dtype=np.float32))
    ogive.opencl.celu(x)

    def build(*args):
        raise AssertionError("compiled again")

    monkeypatch.setattr(opencl_driver, "build", build)
    ogive.opencl.celu(x[::2], alpha=2.0)


# ---- what is refused


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda f, x, q: f.gelu(x, x),
            ArgumentError,
            "ogive.opencl.gelu: it was given 2 tensors; allowed: one tensor (x)",
        ),
        (
            lambda f, x, q: f.gelu(np.zeros(3, np.float32)),
            ArgumentError,
            (
                "ogive.opencl.gelu: x is an array of shape (3,); allowed: arrays of pyopencl, and numbers. "
                "pyopencl.array.to_device(queue, x) brings an array of NumPy to the device"
            ),
        ),
        (
            lambda f, x, q: f.gelu(1.0),
            ArgumentError,
            (
                "ogive.opencl.gelu: no tensor is one of the arrays of pyopencl; allowed: at least one. "
                "ogive.gelu takes numbers and NumPy's arrays"
            ),
        ),
        (
            lambda f, x, q: f.gelu(x, out=x),
            ArgumentError,
            (
                "ogive.opencl.gelu: out was given; allowed: approximate, queue. "
                "Results are new arrays, of the types that NumPy's rules give"
            ),
        ),
        (
            lambda f, x, q: f.celu(x, alfa=2),
            ArgumentError,
            "ogive.opencl.celu: there is no parameter 'alfa'; allowed: alpha, queue. Did you mean alpha?",
        ),
        (
            lambda f, x, q: f.gelu(x, queue=q.context),
            ArgumentError,
            "ogive.opencl.gelu: queue is a Context; allowed: a pyopencl.CommandQueue",
        ),
        (
            lambda f, x, q: f.gelu(cla.to_device(q, np.ones(3, ">f4"))),
            DTypeError,
            (
                "ogive.opencl.gelu: x has dtype >f4; allowed: element types in this machine's order of bytes. "
                "Convert it on the host: x.get().astype('float32')"
            ),
        ),
        (
            lambda f, x, q: f.gelu(cla.Array(q, 3, np.float32, data=cl.Buffer(q.context, 1, 64), offset=2)),
            ArgumentError,
            (
                "ogive.opencl.gelu: the offset or the strides of x are no multiples of its elements' 4 bytes. "
                "Copy it first: x.copy()"
            ),
        ),
        (
            lambda f, x, q: f.celu(x, alpha=0),
            ParameterError,
            "celu: alpha is 0.0; allowed: any finite number but 0",
        ),
        (
            lambda f, x, q: f.add(x, x[:2]),
            ShapeError,
            "ogive.opencl.add: the shapes do not broadcast together: a (4,) and b (2,); allowed: equal sizes, or 1, from the last axis on",
        ),
        (
            lambda f, x, q: f.gelu(cla.zeros(q, 3, np.complex64)),
            DTypeError,
            "ogive.opencl.gelu: x has complex64; allowed: float16, float32, float64, bfloat16",
        ),
        (
            lambda f, x, q: f.bit_shift_left(cla.zeros(q, 3, np.uint8), 300),
            DTypeError,
            "ogive.opencl.bit_shift_left: b is 300; allowed: numbers of uint8",
        ),
        (
            lambda f, x, q: f.gelu(x.with_queue(None)),
            ArgumentError,
            "ogive.opencl.gelu: no array has a queue. Give queue=, or arrays that have one: x.with_queue(queue)",
        ),
        (
            lambda f, x, q: f.gelu(x, queue=cl.CommandQueue(cl.Context(q.context.devices))),
            ArgumentError,
            (
                "ogive.opencl.gelu: an array lies in another context than the queue. "
                "Copy it: pyopencl.array.to_device(queue, x.get())"
            ),
        ),
        (
            lambda f, x, q: f.softmax(x, axis=1),
            ShapeError,
            "ogive.opencl.softmax: axis is 1, and the shape is (4,); allowed: one axis of the arrays",
        ),
        (
            lambda f, x, q: f.function(np.exp),
            ArgumentError,
            (
                "ogive.opencl.function: operator is the function exp; allowed: an operator. "
                "Make an operator of a formula with @ogive.operator"
            ),
        ),
    ],
    ids=[*map(str, range(16))],
)
def test_wrong_calls(call, kind, text, queue):
    x = on_device(queue, np.ones(4, np.float32))
    with pytest.raises(kind) as raised:
        call(ogive.opencl, x, queue)
    assert str(raised.value) == text
    assert x.get().tolist() == [1, 1, 1, 1]


def test_the_judge_takes_a_device(queue):
    from ogive.golden.specification import of_operator
    from ogive.judge import subject

    number = next(d.number for d in ogive.opencl.devices() if d.handle == queue.device)
    x, specification = np.linspace(-4, 4, 1000, dtype=np.float32), of_operator("gelu", "float32")
    chosen = subject(f"opencl:{number}", specification)
    assert chosen(specification, [x]).tobytes() == ogive.gelu(x).tobytes()
    assert queue.device.name.strip() in chosen.version
    for name in ("opencl:99", "opencl:first", "opencl"):
        with pytest.raises(ArgumentError, match=rf"the device is '{name}'; allowed: opencl:0"):
            subject(name, specification)


def test_operators_on_numpys_arrays_name_those_on_a_device(queue):
    with pytest.raises(ArgumentError) as raised:
        ogive.gelu(on_device(queue, np.ones(4, np.float32)))
    assert str(raised.value) == (
        "gelu: x is a pyopencl.Array on a device; allowed: arrays in the memory of the CPU. "
        "Compute there with ogive.opencl.function, or copy it first: x.get()"
    )


def test_names():
    assert {"gelu", "softmax", "function", "devices"} <= set(dir(ogive.opencl))
    assert str(inspect.signature(ogive.opencl.softmax)) == "(x, *, axis=-1, queue=None)"


def test_a_device_without_what_is_needed(queue, monkeypatch):
    class Handle:
        available = compiler_available = endian_little = True
        name, double_fp_config, single_fp_config = "small", 0, 0xFF

    assert hardware.why_not(Handle()) == "has no double precision"
    Handle.double_fp_config = 0xFF
    Handle.single_fp_config = 0xFF & ~cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT
    assert hardware.why_not(Handle()) == "does not round quotients and roots of float32 correctly"
    Handle.single_fp_config = 0xFF & ~cl.device_fp_config.DENORM
    assert hardware.why_not(Handle()) == "has no subnormal numbers in float32"

    monkeypatch.setattr("ogive.opencl.open_devices.why_not", lambda device: "has no double precision")
    x = on_device(queue, np.ones(4, np.float32))
    with pytest.raises(DeviceError) as raised:
        ogive.opencl.gelu(x)
    assert str(raised.value) == (
        f"ogive.opencl.gelu: the device {queue.device.name.strip()} has no double precision. "
        "ogive devices lists what is there and what it can"
    )


@pytest.mark.parametrize(
    ("wrong", "found"),
    [
        ("sum[i] = fma(a[i], b[i], c[i])", "fuses or misrounds a product and a sum of float32"),
        ("quotient[i] = a[i] * (1 / b[i])", "misrounds quotients of float32"),
        ("root[i] = (float)1 / rsqrt(fabs(a[i]))", "misrounds roots of float32"),
        ("fused[i] = a[i] * b[i] - product", "misrounds fma of float32"),
    ],
)
def test_a_device_that_computes_otherwise_is_found(queue, monkeypatch, wrong, found):
    result = wrong.partition(" =")[0]
    lines = [
        f"    {wrong};" if line.strip().startswith(f"{result} =") else line for line in hardware._TRIED.split("\n")
    ]
    assert "\n".join(lines) != hardware._TRIED
    monkeypatch.setattr(hardware, "_TRIED", "\n".join(lines))
    assert hardware._tried(queue.device) == found


def test_too_little_memory(queue):
    x = on_device(queue, np.ones((1, 1), np.float32))
    many = cla.Array(queue, (1 << 20, 1 << 20), np.float32, data=x.base_data, strides=(0, 0))
    with pytest.raises(DeviceError) as raised:
        ogive.opencl.gelu(many)
    assert str(raised.value) == (
        f"ogive.opencl.gelu: the device {queue.device.name.strip()} has too little memory for results of shape "
        "(1048576, 1048576). Compute parts of the arrays one after the other"
    )


@pytest.mark.parametrize("name", ["relu", "softmax"])
@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        ("MemoryError", r"has too little memory for results of shape \(2, 3\)\. Compute parts of the arrays"),
        ("RuntimeError", r"failed \(the context is lost\)\. The arrays are as they were$"),
    ],
)
def test_a_device_that_fails(name, error, sentence, queue, monkeypatch):
    x = np.float32([[1, 2, 3], [4, 5, 6]])
    given, on = on_device(queue, x), getattr(ogive.opencl, name)
    expected = on(given).get()

    def failing(*args: Any) -> Any:
        raise getattr(cl, error)("the context is lost")

    monkeypatch.setattr(opencl_driver.OpenCLDriver, "launch", failing)
    with pytest.raises(DeviceError, match=rf"^ogive\.opencl\.{name}: the device .* {sentence}"):
        on(given)
    monkeypatch.undo()
    assert_same(given, x)
    assert_same(on(given), expected)


def test_no_device_is_there(monkeypatch):
    def platforms() -> Any:
        raise cl.LogicError("PLATFORM_NOT_FOUND_KHR")

    monkeypatch.setattr(cl, "get_platforms", platforms)
    with pytest.raises(ArgumentError) as raised:
        ogive.device("opencl:0")
    assert str(raised.value) == (
        "ogive.device: the device is 'opencl:0', and no OpenCL device is there. ogive devices lists what is there"
    )


def test_what_the_compiler_of_a_device_says(queue, monkeypatch):
    monkeypatch.setattr(kernels, "kernel_text", lambda *args: "__kernel void broken(")

    @ogive.operator
    def own(x):
        """A kernel of its own."""
        return 2 * x

    with pytest.raises(
        DeviceError, match=r"^ogive\.opencl\.own: the device .* failed \(.*error: .*\)\. The arrays are"
    ):
        ogive.opencl.function(own)(on_device(queue, np.ones(4, np.float32)))


def test_the_command(queue, capsys):
    from ogive.cli import main

    with pytest.raises(SystemExit) as ended:
        main(["devices"])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert queue.device.name.strip() in printed
    assert "opencl:0" in printed
    assert "operators, ONNX models, DirectML" in printed
