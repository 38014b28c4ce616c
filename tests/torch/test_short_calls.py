"""Calls that stay in C, and those that must not: what watches a tensor sees the call."""

import copy
import ctypes
import gc
import inspect
import pickle
import threading
import warnings

import numpy as np
import pytest

import ogive
from ogive import _native

torch = pytest.importorskip("torch", reason="torch is not installed")
ogive_torch = pytest.importorskip("ogive.torch")
exchange = pytest.importorskip("ogive.torch.exchange")

is_there = pytest.mark.skipif(exchange.EXCHANGE is None, reason="this torch has no functions of DLPack")
TYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


def bits(tensor):
    return tensor.contiguous().view({1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.itemsize])


def general(name, *tensors, **parameters):
    function = getattr(ogive_torch, name)
    return function._general(tensors, None, parameters)


@pytest.mark.matrix(share=3)
@is_there
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("name", "count", "parameters"), [
    ("gelu", 1, {"approximate": "tanh"}), ("celu", 1, {"alpha": 1.5}), ("mul", 2, {}), ("softmax", 1, {}),
    ("swiglu", 2, {}), ("isnan", 1, {}),
])  # fmt: skip
def test_short_calls_have_the_bits_and_the_layout_of_others(name, count, parameters, dtype):
    generator = torch.Generator().manual_seed(0)
    for shape in [(16,), (3, 5), (2, 1, 4), (1,), (0, 3), (20000,), (3, 40000)]:
        for view in (lambda t: t, lambda t: t.movedim(0, -1), lambda t: t[..., ::2], lambda t: t.flip(0)[:1]):
            given = [view(torch.randn(shape, generator=generator).to(dtype)) for _ in range(count)]
            short, other = getattr(ogive_torch, name)(*given, **parameters), general(name, *given, **parameters)
            assert (short.dtype, short.stride()) == (other.dtype, other.stride())
            assert torch.equal(bits(short), bits(other))


@is_there
def test_usual_calls_stay_in_c(monkeypatch):
    calls = []
    monkeypatch.setattr(ogive_torch.celu, "_general", lambda *given: calls.append(given))
    for tensor in (torch.randn(3), torch.randn(()), torch.randn(3, 4).T, torch.nn.Parameter(torch.randn(2))):
        assert ogive_torch.celu(tensor, alpha=2).shape == tensor.shape
    with torch.no_grad():
        assert not ogive_torch.celu(torch.ones(2, requires_grad=True)).requires_grad
    assert not calls


@is_there
def test_unusual_tensors_do_not(monkeypatch):
    class Sub(torch.Tensor):
        pass

    complex_one = torch.complex(torch.randn(4), torch.randn(4)).conj()
    negative = [complex_one.imag, complex_one.imag[1], complex_one.imag[:1], torch._neg_view(torch.randn(3))]
    for tensor in negative:
        assert torch.equal(ogive_torch.relu(tensor), torch.relu(tensor))
    calls = []
    monkeypatch.setattr(ogive_torch.relu, "_general", lambda *given: calls.append(given))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own: some of these kinds are deprecated
        others = [torch.randn(3).as_subclass(Sub), torch.ones(3).to_sparse(), torch.empty(2, device="meta"),
                  torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8), torch.ones(2).to_mkldnn(),
                  torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]), torch.ones(2, dtype=torch.complex64),
                  torch._efficientzerotensor(3)]  # fmt: skip
    for tensor in (*negative, *others):
        ogive_torch.relu(tensor)
    ogive_torch.relu(torch.ones(2), out=torch.ones(2).double())
    ogive_torch.relu(torch.ones(2), torch.ones(2))
    ogive_torch.relu(torch.ones(2), alpha=1.0)
    ogive_torch.relu([1.0])
    assert len(calls) == len(negative) + len(others) + 4


@pytest.mark.matrix(share=16, pool="slow")
@is_there
def test_wrapped_tensors_do_not(monkeypatch):
    """A transformation's tensors have torch's own type: what is in them is not theirs to read."""
    original, kinds = ogive_torch.tanh._general, []

    def watched(tensors, out, given):
        kinds.append(torch._C._functorch.is_functorch_wrapped_tensor(tensors[0]))
        return original(tensors, out, given)

    monkeypatch.setattr(ogive_torch.tanh, "_general", watched)
    x = torch.randn(5)
    t = torch.tanh(x)
    tanh, constant = ogive_torch.tanh, torch.randn(5)
    torch.testing.assert_close(torch.func.vmap(tanh)(x), t)
    torch.testing.assert_close(torch.func.grad(lambda x: tanh(x).sum())(x), 1 - t * t)
    torch.testing.assert_close(torch.func.jvp(tanh, (x,), (torch.ones(5),))[1], 1 - t * t)
    assert torch.func.functionalize(lambda x: x if exchange.EXCHANGE.array(x) is None else x + 1)(x).equal(x)
    torch.testing.assert_close(torch.func.vmap(torch.func.grad(tanh))(x), 1 - t * t)
    assert len(kinds) >= 4
    assert all(kinds)
    # Constants within one are tensors like any other, with gradients of their own or without.
    result = torch.func.grad(lambda x: (x * tanh(constant)).sum())(x)
    assert torch.equal(result, tanh(constant))
    leaf = constant.clone().requires_grad_()
    torch.func.vmap(lambda x: x * tanh(leaf).sum())(x).sum().backward()
    torch.testing.assert_close(leaf.grad, x.sum() * (1 - torch.tanh(constant) ** 2))


def test_modes_and_traces_see_calls():
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils._python_dispatch import TorchDispatchMode

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(str(function))
            return function(*args, **(kwargs or {}))

    seen = []
    with Log():
        ogive_torch.relu(torch.ones(2))
    assert "ogive.relu.default" in seen
    with FakeTensorMode():
        assert type(ogive_torch.relu(torch.ones(2))) is not torch.Tensor
    with pytest.warns(DeprecationWarning, match="torch.jit.trace"):
        traced = torch.jit.trace(lambda x: ogive_torch.relu(x), torch.ones(2))
    assert traced(torch.tensor([-1.0, 3.0])).tolist() == [0, 3]
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(torch.ones(2), torch.ones(2))
        assert torch.autograd.forward_ad.unpack_dual(ogive_torch.relu(dual)).tangent.tolist() == [1, 1]


@pytest.mark.matrix(share=16, pool="slow")
def test_inference_mode_and_memory():
    with torch.inference_mode():
        assert ogive_torch.gelu(torch.ones(3)).is_inference()
        assert ogive_torch.gelu(torch.ones(100000)).is_inference()
    for length in (7, 100000):  # memory of its own, and NumPy's
        x = torch.randn(length)
        kept = [ogive_torch.gelu(x) for _ in range(50)]
        wanted = kept[0].clone()
        del x
        gc.collect()
        assert all(torch.equal(one, wanted) for one in kept)
        kept[1].add_(1)
        assert torch.equal(kept[2], wanted)
        thread = threading.Thread(target=kept.clear)
        thread.start()
        thread.join()
        assert not kept


@pytest.mark.matrix(share=16, pool="slow")
def test_results_of_large_calls_are_freed():
    x = torch.randn(1 << 20)
    array = ogive_torch.gelu(x).numpy()
    owner = array.base
    assert owner is not None
    before = len(gc.get_objects())
    for _ in range(300):
        ogive_torch.gelu(x)
        ogive_torch.gelu(x[:9])
    assert len(gc.get_objects()) < before + 100


@pytest.mark.matrix(share=16, pool="slow")
@is_there
def test_memory_of_long_results_is_used_again():
    x = torch.randn(1 << 19)
    wanted = ogive_torch.gelu(x)
    place = wanted.data_ptr()
    assert ogive_torch.gelu(x).data_ptr() != place
    copy_of_it = wanted.clone()
    del wanted
    found = [ogive_torch.gelu(x) for _ in range(20)]  # more than wait
    assert place in {one.data_ptr() for one in found}
    assert len({one.data_ptr() for one in found}) == len(found)
    for one in found:
        assert torch.equal(one, copy_of_it)
    lengths = [(1 << 18) * k + 7 for k in range(1, 20)]
    assert [ogive_torch.relu(torch.ones(length)).sum().item() for length in lengths] == lengths


def test_threads_at_once():
    x, failures = torch.randn(1000), []
    wanted = ogive_torch.celu(x, alpha=1.25)

    def run(alpha):
        for _ in range(200):
            y = ogive_torch.celu(x, alpha=alpha)
            if alpha == 1.25 and not torch.equal(y, wanted):
                failures.append(alpha)

    threads = [threading.Thread(target=run, args=(alpha,)) for alpha in (1.25, 2.0, 1.25, 3.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.matrix(share=16, pool="slow")
def test_without_torchs_table_of_functions(monkeypatch):
    """torch before 2.10: the general way computes the same."""
    monkeypatch.setattr(exchange, "EXCHANGE", None)

    @ogive.operator
    def doubled(x, *, by=2.0):
        return by * x

    function = ogive_torch.wrap(doubled)
    for dtype in TYPES:
        leaf = torch.ones(3, dtype=dtype, requires_grad=True)
        y = function(leaf, by=3)
        assert y.tolist() == [3, 3, 3]
        assert torch.autograd.grad(y.sum(), leaf)[0].tolist() == [3, 3, 3]
        assert function(leaf.detach()).dtype is dtype


def test_functions_are_like_functions():
    gelu = ogive_torch.gelu
    assert pickle.loads(pickle.dumps(gelu)) is gelu
    assert copy.deepcopy(gelu) is gelu
    assert copy.copy(gelu) is gelu
    assert str(inspect.signature(gelu)) == "(x, *, approximate='none', out=None)"
    assert repr(gelu) == "<function ogive.torch.gelu(x, *, approximate='none', out=None)>"
    assert inspect.isroutine(gelu)  # help() shows it, not its class

    class Model(torch.nn.Module):
        activation = gelu

        def forward(self, x):
            return self.activation(x)

    x = torch.randn(3)
    assert torch.equal(Model()(x), gelu(x))
    assert torch.equal(torch.compile(gelu, fullgraph=True, backend="eager")(x), gelu(x))


# ---- what reaches C is checked


def capsule_of(major, functions):
    """A table of DLPack's functions, of addresses."""
    table = (ctypes.c_uint64 * 8)(major, 0, *functions)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return table, new(ctypes.addressof(table), b"dlpack_exchange_api", None)


def arguments(**changed):
    usual = {"types": (), "dtypes": (), "is_negated": bool, "records": bool, "conditions": (), "watchers": ()}
    usual |= dict.fromkeys(("threads", "written", "is_uncounted", "is_writable"), bool)
    return usual | changed


@is_there
@pytest.mark.parametrize(
    "changed",
    [
        {"capsule": None},
        {"capsule": 3},
        {"types": (3,)},
        {"dtypes": (3,)},
        {"dtypes": ((2, 16, np.dtype("f4")),)},
        {"dtypes": ((2, 32, np.dtype(">f4")),)},
        {"dtypes": ((2, 32, np.dtype("f4")),) * 25},
        {"is_negated": 3},
        {"records": 3},
        {"threads": 3},
        {"written": 3},
        {"is_uncounted": 3},
        {"is_writable": 3},
        {"conditions": (({}, "name"),)},
        {"conditions": ((3, "name", 3),)},
        {"watchers": (3,)},
    ],
)
def test_wrong_exchanges(changed):
    with pytest.raises((TypeError, ValueError)):
        _native.TensorExchange(**arguments(capsule=torch.Tensor.__dlpack_c_exchange_api__) | changed)


def test_wrong_tables():
    for major, functions in ((2, (1, 1, 1, 1, 1)), (1, (1, 1, 0, 1, 1)), (1, (1, 1, 1, 0, 1))):
        table, capsule = capsule_of(major, functions)
        with pytest.raises(ValueError, match="the functions of DLPack 1 are wanted"):
            _native.TensorExchange(capsule, **arguments())
        del table


@is_there
@pytest.mark.parametrize(
    "changed",
    [
        {"exchange": 3},
        {"operator": 3},
        {"inputs": 0},
        {"inputs": _native.MAX_TENSORS + 1},
        {"dtypes": (3,)},
        {"names": ("alpha",)},
        {"record": 3},
    ],
)
def test_wrong_calls(changed):
    usual = {"exchange": exchange.EXCHANGE, "operator": ogive.celu, "inputs": 1, "dtypes": (), "names": frozenset(),
             "row_wise": False}  # fmt: skip
    with pytest.raises((TypeError, ValueError)):
        _native.TensorCall(**usual | changed)


@is_there
def test_arrays_that_are_no_tensors():
    frozen = np.ones(3)
    frozen.flags.writeable = False
    for array in (frozen, np.ones(3, ">f4"), np.array(["text"]), np.ones(6)[::-1]):
        with pytest.raises(ValueError, match="has no tensor"):
            exchange.EXCHANGE.tensor(array)
    assert exchange.EXCHANGE.array(np.ones(3)) is None
    assert exchange.EXCHANGE.array(torch.ones(2, dtype=torch.complex64)) is None


# ---- the fast contract


def test_the_fast_contract_holds_for_gradients_too():
    from ogive.torch import fast

    assert fast.mish is ogive_torch.wrap(ogive.mish.fast)
    assert fast.mish is not ogive_torch.mish
    assert ogive_torch.fast is fast
    leaf = torch.randn(1000, generator=torch.Generator().manual_seed(0)).requires_grad_()
    x, ones = leaf.detach().numpy(), np.ones(1000, np.float32)
    y = fast.mish(leaf)
    np.testing.assert_array_equal(y.detach().numpy(), ogive.mish.fast(x))
    assert (y.detach().numpy() != ogive.mish(x)).any()
    slope = torch.autograd.grad(y.sum(), leaf)[0].numpy()
    np.testing.assert_array_equal(slope, ogive.vjp(ogive.mish).fast(ones, x))
    assert (slope != ogive.vjp(ogive.mish)(ones, x)).any()
    exact = ogive_torch.wrap(ogive.mish.exact)(leaf.detach())
    np.testing.assert_array_equal(exact.numpy(), ogive.mish.exact(x))


@pytest.mark.matrix(share=16, pool="slow")
def test_a_learned_parameter_under_both_contracts():
    from ogive.torch import fast

    x, results = torch.linspace(-3, 0, 1000), []
    for function in (fast.celu, ogive_torch.celu, fast.celu):
        alpha = torch.tensor(1.3, requires_grad=True)
        y = function(x, alpha=alpha)
        results.append((y.detach(), torch.autograd.grad(y.sum(), alpha)[0]))
    assert torch.equal(results[0][0], results[2][0])
    assert not torch.equal(results[0][0], results[1][0])
    torch.testing.assert_close(results[0], results[1], rtol=1e-5, atol=1e-5)


@pytest.mark.matrix(share=16, pool="slow")
def test_the_fast_contract_compiles():
    from ogive.torch import fast

    torch._dynamo.reset()
    x = torch.randn(100, requires_grad=True)
    compiled = torch.compile(lambda x: fast.swish(x) * 2, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(x), fast.swish(x) * 2)
    assert torch.equal(torch.autograd.grad(compiled(x).sum(), x)[0], torch.autograd.grad(2 * fast.swish(x).sum(), x)[0])
    with pytest.raises(AttributeError, match=r"ogive.torch.fast: there is no operator 'gelo'"):
        fast.gelo  # noqa: B018


# ---- out, and in place


@pytest.mark.matrix(share=3)
@is_there
@pytest.mark.parametrize("dtype", TYPES)
def test_results_are_written_without_a_copy(monkeypatch, dtype):
    calls, generator = [], torch.Generator().manual_seed(0)
    monkeypatch.setattr(ogive_torch.celu, "_general", lambda *given: calls.append(given))
    monkeypatch.setattr(ogive_torch.softmax, "_general", lambda *given: calls.append(given))
    monkeypatch.setattr(ogive_torch.mul, "_general", lambda *given: calls.append(given))
    for shape in [(), (16,), (3, 5), (2, 3, 4, 5), (0, 3), (3, 40000)]:
        for view in (lambda t: t, lambda t: t.movedim(0, -1) if t.ndim else t, lambda t: t[..., ::2] if t.ndim else t):
            x = view(torch.randn(shape, generator=generator).to(dtype))
            row = torch.randn(x.shape[-1:], generator=generator).to(dtype)
            for function, tensors, parameters in [
                (ogive_torch.celu, [x], {"alpha": 1.5}), (ogive_torch.celu, [x], {}), (ogive_torch.mul, [x, row], {}),
                (ogive_torch.mul, [row, x], {}), (ogive_torch.softmax, [x], {}),
            ]:  # fmt: skip
                if not x.ndim and function is ogive_torch.softmax:
                    continue
                wanted = function(*tensors, **parameters)
                if wanted is None:  # 0 elements, which have no memory, go the general way
                    assert not x.numel()
                    continue
                for target in (torch.empty_like(x), torch.empty(x.shape, dtype=dtype), x.clone()):
                    version = target._version
                    assert function(*tensors, out=target, **parameters) is target
                    assert torch.equal(bits(target), bits(wanted))
                    assert target._version == version + 1
                twin = x.clone(memory_format=torch.preserve_format)
                given = [twin if tensor is x else tensor for tensor in tensors]
                assert torch.equal(bits(function(*given, out=twin, **parameters)), bits(wanted))
    assert not [given for given in calls if all(tensor.numel() for tensor in given[0])]


@is_there
def test_other_targets_go_the_general_way():
    x = torch.linspace(-2, 2, 9)
    wanted = ogive_torch.gelu(x)
    wide = ogive_torch.gelu(x, out=torch.empty(9, dtype=torch.float64))
    assert torch.equal(wide, wanted.double())
    both = torch.cat([x, x[:1]])
    assert torch.equal(ogive_torch.gelu(both[:9], out=both[1:]), wanted)  # they overlap
    flags = torch.empty(9, dtype=torch.bool)
    assert ogive_torch.isnan(x, out=flags) is flags
    assert not flags.any()
    assert ogive_torch.isnan(x, out=torch.ones(9)).tolist() == [0] * 9
    with pytest.raises(RuntimeError, match="single memory location"):
        ogive_torch.gelu(x, out=torch.zeros(1).expand(9))
    leaf = torch.ones(9, requires_grad=True)
    for target in (leaf, leaf * 2):
        with pytest.raises(ogive.errors.OgiveError, match="requires a gradient"):
            ogive_torch.gelu(x, out=target)
    negative = torch._neg_view(torch.zeros(9))
    assert torch.equal(ogive_torch.gelu(x, out=negative), wanted)
    part = torch.nn.Parameter(torch.ones(9))
    with torch.no_grad():
        assert ogive_torch.gelu(x, out=part) is part
    assert torch.equal(part, wanted)


def test_writes_are_counted():
    """Autograd notices that a value that it has saved was overwritten; a tensor of inference mode stays what it is."""
    leaf = torch.ones(3, requires_grad=True)
    saved = leaf * 2
    loss = (saved * saved).sum()
    with torch.no_grad():
        ogive_torch.gelu(saved, out=saved)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    with torch.inference_mode():
        frozen = torch.zeros(3)
        ogive_torch.exp(frozen, out=frozen)
    assert frozen.tolist() == [1, 1, 1]
    with pytest.raises(RuntimeError, match="inference tensor"):
        ogive_torch.exp(frozen, out=frozen)


@is_there
@pytest.mark.parametrize("name", ["ReLU", "Hardswish", "SiLU", "CELU", "Hardtanh"])
def test_modules_in_place_stay_in_c(monkeypatch, name):
    module = getattr(ogive_torch.nn, name)(inplace=True)
    for shape in [(1, 16, 1, 1), (2, 32, 20, 20)]:
        for layout in (torch.contiguous_format, torch.channels_last):
            x = torch.randn(shape, generator=torch.Generator().manual_seed(0)).to(memory_format=layout)
            wanted, where = getattr(ogive_torch.nn, name)()(x), x.data_ptr()
            with monkeypatch.context() as patch:
                patch.setattr(type(module)._function, "_general", None)
                assert module(x) is x
            assert x.data_ptr() == where
            assert torch.equal(x, wanted)


# ---- threads


def test_calls_use_as_many_threads_as_torch(monkeypatch):
    before = torch.get_num_threads()
    seen = []

    x = torch.randn(1 << 19)[::2]  # with gaps: those without stay in C
    wanted = ogive_torch.exp(x)
    tensor_operator, original = pytest.importorskip("ogive.torch.tensor_operator"), _native.set_own_pool_size

    def restored(number):
        seen.append(ogive.get_num_threads())
        original(number)

    def counted(array):
        seen.append(ogive.get_num_threads())
        return array

    monkeypatch.setattr(tensor_operator, "set_own_pool_size", restored)
    try:
        torch.set_num_threads(1)
        ogive.set_num_threads(4)
        assert torch.equal(torch.ops.ogive.exp(x), wanted)
        assert seen == [1]
        assert ogive.get_num_threads() == 4
        torch.set_num_threads(8)
        torch.ops.ogive.exp(x)
        assert seen == [1, 4]
        if exchange.EXCHANGE is not None:  # and in C
            call = {"inputs": 1, "dtypes": (np.dtype("f4"),), "names": frozenset(), "row_wise": False}
            in_c = _native.TensorCall(exchange.EXCHANGE, counted, **call)
            in_c(x)
            torch.set_num_threads(1)
            assert torch.equal(in_c(x), x)
            assert seen == [1, 4, 4, 1]
            assert ogive.get_num_threads() == 4
            assert torch.equal(ogive_torch.exp(x), wanted)
    finally:
        torch.set_num_threads(before)
        ogive.set_num_threads(before)
