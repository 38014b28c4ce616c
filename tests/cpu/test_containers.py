"""Arrays of other libraries: what comes in comes out, or is refused with the way out."""

import subprocess
import sys
import types

import numpy as np
import pytest

import ogive
from ogive.errors import ArgumentError, DTypeError, OutputError, ParameterError, ShapeError, described
from ogive.formula import exp, row_max, row_sum
from tests.inputs import assert_same_bits

ROW_OPERATORS = [ogive.softmax, ogive.log_softmax, ogive.hardmax]
X = np.linspace(-3, 3, 24, dtype=np.float32).reshape(4, 6)
NOT_INSTALLED = "the library of these arrays is not installed"


def library(name):
    return pytest.importorskip(name, reason=f"{NOT_INSTALLED}: {name}")


@ogive.row_operator()
def share(x, *, gain=1.0):
    """An operator whose masked elements no single number could stand for."""
    return gain * x / row_sum(x)


@ogive.row_operator()
def weighted(x, y):
    return exp(x - row_max(x)) * y / row_sum(exp(x - row_max(x)))


def same(result, expected):
    result = np.asarray(result)
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    assert result.tobytes() == expected.tobytes()


# ---- torch


@pytest.fixture
def torch():
    return library("torch")


TORCH_TYPES = ["float16", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "int64", "bool"]


@pytest.mark.parametrize("name", TORCH_TYPES)
@pytest.mark.parametrize("op", [ogive.celu, ogive.abs, *ROW_OPERATORS], ids=lambda op: op.name)
def test_torch_tensors_come_back(torch, op, name):
    array = np.arange(12).reshape(3, 4).astype(name)
    result = op(torch.from_numpy(array))
    assert type(result) is torch.Tensor
    same(result, op(array))


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("op", [ogive.celu, ogive.softmax], ids=lambda op: op.name)
def test_torch_types_that_numpy_does_not_have(torch, op, name):
    import ml_dtypes

    values = [[0.0, 1.0, -2.0], [0.5, -0.25, 4.0]]
    result = op(torch.tensor(values).to(getattr(torch, name)))
    expected = op(np.array(values, getattr(ml_dtypes, name)))
    assert str(result.dtype) == f"torch.{expected.dtype.name}"
    assert result.to(torch.float64).numpy().tolist() == expected.astype(np.float64).tolist()


@pytest.mark.parametrize("layout", ["transposed", "sliced", "scalar", "empty"])
@pytest.mark.parametrize("name", ["float32", "bfloat16"])
def test_torch_layouts(torch, layout, name):
    x = torch.from_numpy(X).to(getattr(torch, name))
    x = {"transposed": x.T, "sliced": x[::2, 1::2], "scalar": x[0, 0], "empty": x[:0]}[layout]
    result = ogive.celu(x)
    assert result.shape == x.shape
    assert result.dtype == x.dtype
    assert torch.equal(result.contiguous(), ogive.celu(x.contiguous()))
    assert torch.allclose(result.float(), torch.celu(x.float()), atol=0.02)


@pytest.mark.parametrize("name", ["float32", "bfloat16"])
@pytest.mark.parametrize("keywords", [{}, {"axis": 0}, {"axis": (0, 1)}, {"axis": 1}])
def test_torch_rows_and_outputs(torch, name, keywords):
    x = torch.from_numpy(X).to(getattr(torch, name))
    expected = ogive.softmax(x, **keywords)
    exact = torch.softmax(x.double().flatten() if keywords.get("axis") == (0, 1) else x.double(), keywords["axis"]
                          if isinstance(keywords.get("axis"), int) else -1).reshape(x.shape)  # fmt: skip
    assert torch.allclose(expected.double(), exact, atol=4e-3)
    out = torch.empty_like(x)
    address = out.data_ptr()
    assert ogive.softmax(x, out=out, **keywords) is out
    assert out.data_ptr() == address
    assert torch.equal(out, expected)


@pytest.mark.parametrize("wrap", [lambda t: t, lambda t: (t,)])
def test_torch_outputs(torch, wrap):
    out = torch.empty(4, 6)
    assert ogive.celu(torch.from_numpy(X), alpha=1.5, out=wrap(out)) is out
    same(out, ogive.celu(X, alpha=1.5))
    assert ogive.celu(X, alpha=0.5, out=wrap(out)) is out
    same(out, ogive.celu(X, alpha=0.5))
    array = np.empty_like(X)
    assert ogive.celu(torch.from_numpy(X), out=wrap(array)) is array
    same(array, ogive.celu(X))


def test_autograd_learns_that_a_tensor_was_written(torch):
    weight = torch.ones(3, requires_grad=True)
    saved = torch.tensor([1.0, 2.0, 3.0])
    product = (weight * saved).sum()
    ogive.relu(-saved, out=saved)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


def test_torch_keywords(torch):
    x = torch.from_numpy(X)
    same(ogive.celu(x, dtype=torch.float64), ogive.celu(X, dtype=np.float64))
    same(ogive.softmax(x, dtype=torch.float64, axis=0), ogive.softmax(X, dtype=np.float64, axis=0))
    out = torch.full((4, 6), 7.0)
    ogive.celu(x, where=x > 0, out=out)
    same(out, np.where(X > 0, X, np.float32(7)))
    same(ogive.celu(X, where=torch.from_numpy(X > 0), out=np.full_like(X, 7)), np.where(X > 0, X, np.float32(7)))
    same(ogive.add(x.bfloat16(), 2.0).float(), (x.bfloat16() + 2).float().numpy())


def test_torch_tensors_beside_arrays_of_another_byte_order(torch):
    result = ogive.atan2(X.astype(">f4"), torch.from_numpy(X + 1))
    assert type(result) is torch.Tensor
    same(result, ogive.atan2(X, X + 1))


def test_methods_of_ufuncs_on_torch_tensors(torch):
    x = torch.from_numpy(X)
    for result, expected in (
        (ogive.add.reduce(x, axis=0), ogive.add.reduce(X, axis=0)),
        (ogive.add.reduce(x, axis=None, dtype=torch.float64), ogive.add.reduce(X, axis=None, dtype=np.float64)),
        (ogive.add.reduce(x, axis=0, where=x > 0), ogive.add.reduce(X, axis=0, where=X > 0)),
        (ogive.mul.accumulate(x, axis=1), ogive.mul.accumulate(X, axis=1)),
        (ogive.max.reduceat(x, [0, 2]), ogive.max.reduceat(X, [0, 2])),
        (ogive.sub.outer(x[0], X[:, 0]), ogive.sub.outer(X[0], X[:, 0])),
    ):
        assert type(result) is torch.Tensor
        same(result, expected)
    out = torch.empty(6)
    assert ogive.add.reduce(X, axis=0, out=out) is out
    same(out, ogive.add.reduce(X, axis=0))
    assert ogive.add.reduce(x, axis=0, out=(out,)) is out
    target = torch.zeros(3)
    ogive.add.at(target, torch.tensor([0, 0, 2]), torch.ones(3))
    assert target.tolist() == [2, 0, 1]
    with pytest.raises(ArgumentError, match=r"add: array requires a gradient"):
        ogive.add.reduce(torch.ones(2, requires_grad=True))


def test_methods_of_ufuncs_do_not_write_to_jax_arrays():
    jax = library("jax")
    with pytest.raises(OutputError, match="add: out is a JAX array, which cannot be written to"):
        ogive.add.at(jax.numpy.zeros(3), [0], 1.0)


def test_meta_tensors_are_no_parameters(torch):
    with pytest.raises(ParameterError, match="celu: alpha is .*, which gives no number .*; allowed: any"):
        ogive.celu(X, alpha=torch.empty((), device="meta"))


@pytest.mark.parametrize("make", ["Series", "DataFrame"])
def test_pandas_computes_nothing_by_its_own_operators(make):
    pd = library("pandas")
    make = getattr(pd, make)
    a, b = np.uint8([[127], [7]]), np.uint8([[0], [2]])
    if make is pd.Series:
        a, b = a[:, 0], b[:, 0]
    for op in (ogive.mod, ogive.modulus_floor, ogive.pow, ogive.div):
        same(op(make(a), make(b)).to_numpy(), op(a, b))
    x, y = np.int16([2, -3]), np.int16([-1, 3])
    same(ogive.pow(pd.Series(x), pd.Series(y)).to_numpy(), ogive.pow(x, y))


def test_the_imaginary_part_of_a_conjugate(torch):
    x = torch.tensor([1 + 1j, 2 - 3j]).conj().imag
    assert ogive.relu(x).tolist() == [0, 3]


def torch_cases():
    return {
        "requires a gradient, and Ogive records none; .* Give x.detach()": lambda t: t.ones(2, requires_grad=True),
        "requires a gradient": lambda t: t.nn.Parameter(t.ones(2)),
        "is a meta tensor, which has no elements; .* Give a tensor with elements": lambda t: t.ones(2, device="meta"),
        r"is a sparse tensor; .* Give x.to_dense\(\)": lambda t: t.ones(2).to_sparse(),
        r"has dtype torch.complex64; allowed: float16, .* x.to\(...\)": lambda t: t.ones(2) * 1j,
    }


@pytest.mark.parametrize("words", torch_cases())
@pytest.mark.parametrize("op", [ogive.celu, ogive.softmax], ids=lambda op: op.name)
def test_torch_refusals(torch, op, words):
    tensor = torch_cases()[words](torch)
    with pytest.raises((ArgumentError, DTypeError), match=f"{op.name}: x {words}"):
        op(tensor)
    with pytest.raises((OutputError, DTypeError), match=f"{op.name}: out {words.partition(';')[0]}"):
        op(np.ones(2, np.float32), out=tensor)


def test_tensors_inside_torch_transforms_are_refused(torch):
    with pytest.raises(ArgumentError, match="celu: x is a torch.Tensor, which NumPy cannot read"):
        torch.func.vmap(ogive.celu)(torch.ones(2, 2))


@pytest.mark.matrix(share=16, pool="slow")
def test_tensors_without_memory_on_this_processor_are_refused(torch):
    fake = pytest.importorskip("torch._subclasses.fake_tensor", reason="stands in for another device")
    with fake.FakeTensorMode():
        here, there = torch.ones(2), torch.empty(2, device="cuda")
        with pytest.raises(
            ArgumentError, match=r"softmax: x is on the device cuda:0; allowed: .* Copy it first: x.cpu\(\)"
        ):
            ogive.softmax(there)
        with pytest.raises(ArgumentError, match="celu: x is a torch.FakeTensor, which NumPy cannot read"):
            ogive.celu(here)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")  # torch's make_dual uses it
def test_forward_derivatives_are_not_lost(torch):
    forward = torch.autograd.forward_ad
    with forward.dual_level():
        x = forward.make_dual(torch.ones(2), torch.ones(2))
        with pytest.raises(ArgumentError, match=r"celu: x carries a tangent, .* Give x.detach\(\)"):
            ogive.celu(x)


def test_torch_inference_mode(torch):
    normal = torch.ones(2)
    with torch.inference_mode():
        out = torch.empty(2)
        for target in (out, normal):
            assert ogive.celu(normal, out=target) is target


def test_a_torch_output_of_another_shape_or_type_is_refused(torch):
    with pytest.raises(ShapeError, match=r"celu: out has shape \(3,\); allowed: \(4, 6\)"):
        ogive.celu(torch.from_numpy(X), out=torch.empty(3))
    with pytest.raises(DTypeError, match="celu: out has dtype int32, which cannot take the result for float32"):
        ogive.celu(torch.from_numpy(X), out=torch.empty(4, 6, dtype=torch.int32))


# ---- JAX


@pytest.fixture
def jax():
    return library("jax")


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "int8", "bool"])
@pytest.mark.parametrize("op", [ogive.celu, *ROW_OPERATORS], ids=lambda op: op.name)
def test_jax_arrays_come_back(jax, op, name):
    x = jax.numpy.asarray([[0, 1, 1], [1, 0, 1]], dtype=name)
    result = op(x)
    assert isinstance(result, jax.Array)
    assert result.devices() == x.devices()
    same(result, op(np.asarray(x)))
    same(ogive.softmax(x, axis=0), ogive.softmax(np.asarray(x), axis=0))


@pytest.mark.parametrize("op", [ogive.celu, ogive.softmax], ids=lambda op: op.name)
def test_jax_refusals(jax, op):
    x = jax.numpy.ones(3)
    words = f"{op.name}: x is traced by JAX .*Ogive computes on concrete arrays; .* Use ogive.jax, which takes traced arrays"
    for transformed in (jax.jit(op), jax.vmap(op), jax.grad(lambda a: op(a).sum())):
        with pytest.raises(ArgumentError, match=words):
            transformed(x[None] if transformed is not op and op is ogive.softmax else x)
    with pytest.raises(OutputError, match=f"{op.name}: out is a JAX array, which cannot be written to; .* Use the res"):
        op(x, out=x)
    with pytest.raises(ArgumentError, match=f"{op.name}: x is a jax.PRNGKeyArray, which NumPy cannot read"):
        op(jax.random.key(0))


# ---- the array API, DLPack, SciPy


class Exporter:
    """Exports DLPack, and nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Exchanger(Exporter):
    """Exports DLPack, and takes it."""

    @classmethod
    def from_dlpack(cls, array):
        return cls(np.from_dlpack(array))


@pytest.mark.parametrize("op", [ogive.celu, ogive.softmax], ids=lambda op: op.name)
def test_exporters_of_dlpack(op):
    result = op(Exchanger(X))
    assert type(result) is Exchanger
    same(result.array, op(X))
    out = Exchanger(np.empty_like(X))
    assert op(X, out=out) is out
    same(out.array, op(X))
    words = f"{op.name}: x is a .*Exporter, which exports DLPack but whose .* Give numpy.from_dlpack"
    with pytest.raises(ArgumentError, match=words):
        op(Exporter(X))
    same(op(Exporter(X), out=np.empty_like(X)), op(X))
    frozen = X.copy()
    frozen.flags.writeable = False
    with pytest.raises(OutputError, match=f"{op.name}: out is "):
        op(X, out=Exporter(frozen))


class Namespaced(Exporter):
    """An array of the array API, as far as Ogive looks at it."""

    device = "cpu"

    def __array_namespace__(self, api_version=None):
        return self

    def asarray(self, array, device):
        assert device == "cpu"
        return Namespaced(array)


@pytest.mark.parametrize("op", [ogive.celu, ogive.softmax], ids=lambda op: op.name)
def test_arrays_of_a_namespace(op):
    result = op(Namespaced(X))
    assert type(result) is Namespaced
    same(result.array, op(X))


def test_array_api_strict():
    xp = library("array_api_strict")
    x = xp.asarray(X, device=xp.Device("device1"))
    for op in (ogive.celu, ogive.softmax):
        result = op(x)
        assert type(result) is type(x)
        assert result.device == x.device
        same(xp.asarray(result, device=xp.Device("CPU_DEVICE")), op(X))
    with pytest.raises(DTypeError, match="celu: the result of dtype float16 cannot be put .* Give a NumPy array"):
        ogive.celu(xp.ones(2, dtype=xp.int8))


@pytest.mark.parametrize("op", [ogive.celu, ogive.softmax], ids=lambda op: op.name)
def test_sparse_arrays_of_scipy_are_refused(op):
    sparse = library("scipy.sparse")
    for array in (sparse.csr_array(X), sparse.coo_matrix(X)):
        with pytest.raises(ArgumentError, match=rf"{op.name}: x is a sparse array .* Give x.toarray\(\)"):
            op(array)
        with pytest.raises(OutputError, match=f"{op.name}: out is a sparse array"):
            op(X, out=array)


def test_sparse_arrays_of_pydata_have_no_rows(monkeypatch):
    class SparseArray:
        """Stands in for the library `sparse`, which would apply a row operator to the elements that it stores."""

        def __array_ufunc__(self, *args, **keywords):
            raise AssertionError("the call must not get here")

    monkeypatch.setitem(sys.modules, "sparse", types.SimpleNamespace(SparseArray=SparseArray))
    with pytest.raises(ArgumentError, match=r"softmax: x is a sparse array, .* Give x.todense\(\)"):
        ogive.softmax(SparseArray())


# ---- mixed, unknown and wrong


def test_the_first_container_decides(torch, jax):
    ones = np.ones((4, 6), np.float32)
    expected = X + ones
    x, j = torch.from_numpy(X), jax.numpy.asarray(ones)
    for operands, kind in [((x, ones), torch.Tensor), ((ones, x), torch.Tensor), ((x, j), torch.Tensor)]:
        result = ogive.add(*operands)
        assert isinstance(result, kind)
        assert result.shape == (4, 6)
    assert isinstance(ogive.add(j, x), jax.Array)
    same(ogive.add(j, x), expected)
    assert isinstance(weighted(x, ones), torch.Tensor)


def test_a_container_with_labels_decides_wherever_it_stands(torch):
    pd = library("pandas")
    series, x = pd.Series(np.float32([1, 2]), index=["a", "b"], name="s"), torch.tensor([1.0, 2.0])
    for result in (ogive.add(series, x), ogive.add(x, series), weighted(series, x), weighted(x, series)):
        assert isinstance(result, pd.Series)
        assert result.index.tolist() == ["a", "b"]


class Arrayed:
    """Has ``__array__`` alone."""

    def __array__(self, dtype=None, copy=None):
        return np.array(X, dtype)


def test_other_objects_are_read_as_numpy_reads_them():
    for op in (ogive.celu, ogive.softmax):
        for given in (Arrayed(), memoryview(X), X.tolist()):
            result = op(given)
            assert type(result) is np.ndarray
            assert np.allclose(result, op(X))


class Elsewhere:
    """An array of another device whose library knows no ufunc of Ogive's."""

    def __array_ufunc__(self, *args, **keywords):
        return NotImplemented

    def __array__(self, dtype=None, copy=None):
        raise TypeError("implicit conversion is not allowed")


@pytest.mark.parametrize("op", [ogive.celu, ogive.softmax], ids=lambda op: op.name)
def test_arrays_that_numpy_cannot_read_are_refused(op):
    with pytest.raises(ArgumentError, match=rf"{op.name}: x is a .*Elsewhere, which NumPy cannot read \(implicit"):
        op(Elsewhere())


@pytest.mark.parametrize("op", [ogive.celu, ogive.softmax], ids=lambda op: op.name)
def test_ragged_lists_are_refused(op):
    with pytest.raises(
        ShapeError, match=f"{op.name}: x is a list whose rows are not equally long; .* give an awkward array"
    ):
        op([[1.0], [2.0, 3.0]])


@pytest.mark.parametrize("out", [[0.0] * 6, bytearray(96), memoryview(bytearray(96)), "text", 5])
@pytest.mark.parametrize("op", [ogive.celu, ogive.softmax], ids=lambda op: op.name)
def test_outputs_that_are_no_arrays_are_refused(op, out):
    with pytest.raises(OutputError, match=f"{op.name}: out is {described(out)}; allowed: an array"):
        op(X, out=out)


# ---- masked arrays

MASK = np.array([[0, 0, 1, 0, 0, 0], [1, 0, 0, 1, 0, 0], [1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0]], bool)


@pytest.mark.parametrize("op", [*ROW_OPERATORS, share], ids=lambda op: op.name)
@pytest.mark.parametrize("axis", [-1, 0, 1, (0, 1), (1, 0)])
def test_masked_elements_are_no_part_of_their_row(op, axis):
    values = np.where(MASK, 1e30, X + 5).astype(np.float32)  # would take all the mass
    x = np.ma.array(values, mask=MASK)
    result = op(x, axis=axis)
    assert type(result) is np.ma.MaskedArray
    assert result.dtype == np.float32
    assert (result.mask == MASK).all()
    result.mask[0, 0] = True  # a mask of its own
    assert not x.mask[0, 0]
    if isinstance(axis, tuple):
        same(result.data[~MASK], op(values[~MASK]))
        return
    for row, there, got in zip(*(np.moveaxis(a, axis, -1) for a in (values, ~MASK, result.data)), strict=True):
        same(got[there], op(row[there]))


def test_masked_rows_in_examples():
    x = np.ma.array([[1.0, 1.0, 100.0]], mask=[[0, 0, 1]])
    assert ogive.softmax(x).tolist() == [[0.5, 0.5, None]]
    assert ogive.hardmax(np.ma.array([-np.inf, -np.inf], mask=[1, 0])).tolist() == [None, 1]
    assert share(np.ma.array([1.0, 3.0]), gain=2.0).tolist() == [0.5, 1.5]
    assert ogive.softmax(np.ma.array([3, 3], np.int8)).dtype == np.float16
    y = np.ma.array([[2.0, 2.0, 2.0]], mask=[[1, 0, 0]])
    assert weighted(x, y).tolist() == [[None, 2.0, None]]
    assert ogive.softmax(x, dtype=np.float32).dtype == np.float32
    assert ogive.celu(x).tolist() == [[1, 1, None]]  # element-wise as NumPy has it
    assert not ogive.log(np.ma.array([-1.0])).mask.any()  # documented: np.log masks this


def test_bound_rows_of_masked_arrays():
    """A bound operator is a ufunc, and NumPy's ufuncs of rows compute with what the mask hides."""
    x = np.ma.array([[1.0, 2.0, 100.0], [1.0, 2.0, 3.0]], mask=[[0, 0, 1], [0, 0, 0]])
    for keywords in ({}, {"axis": 0}, {"dtype": np.float32}):
        expected, result = ogive.softmax(x, **keywords), ogive.softmax.bind()(x, **keywords)
        assert result.tolist() == expected.tolist()
        assert type(result) is type(expected)
    assert ogive.softmax.bind()(x.data).tolist() == ogive.softmax(x.data).tolist()
    with pytest.raises(ArgumentError, match="softmax: out is not taken for rows of a masked array"):
        ogive.softmax.bind()(x, out=np.empty((2, 3)))


@pytest.mark.parametrize("keyword", ["out", "order", "subok"])
def test_keywords_that_masked_rows_do_not_take(keyword):
    with pytest.raises(ArgumentError, match=f"softmax: {keyword} is not taken"):
        ogive.softmax(np.ma.array(X), **{keyword: np.empty_like(X)})
    with pytest.raises(
        ArgumentError, match=r"softmax: where was given, and x is a numpy.MaskedArray; .* Give its array"
    ):
        ogive.softmax(np.ma.array(X), where=X > 0)


def test_masked_arrays_of_different_shapes_are_refused():
    with pytest.raises(ShapeError, match="weighted: masked arrays of the shapes"):
        weighted(np.ma.array(X), X[0])


# ---- awkward arrays


@pytest.fixture
def ak():
    return library("awkward")


def awkward_cases(ak):
    lists = [[1.0, -2.0], [], [3.0], [0.5, 0.25]]
    return [
        (ak.Array(lists), lists),
        (ak.Array([[9.0, 9.0], *lists])[1:], lists),
        (ak.Array([lists, [], lists[:1]]), [lists, [], lists[:1]]),
        (ak.Array([[1.0, 2.0], None, [3.0]]), [[1.0, 2.0], None, [3.0]]),
        (ak.Array([1.0, 2.0]), [1.0, 2.0]),
        (ak.to_regular(ak.Array([[1.0, 2.0], [3.0, 3.0]])), [[1.0, 2.0], [3.0, 3.0]]),
        (ak.from_numpy(np.ones((2, 2))), [[1.0, 1.0], [1.0, 1.0]]),
        (ak.Array([[], []]), [[], []]),
    ]


def rows_of(op, value):
    if value is None:
        return None
    if not value or not isinstance(value[0], float):
        return [rows_of(op, row) for row in value]
    return op(np.array(value)).tolist()


@pytest.mark.parametrize("case", range(8))
@pytest.mark.parametrize("op", [*ROW_OPERATORS, share], ids=lambda op: op.name)
def test_the_innermost_lists_of_awkward_arrays_are_rows(ak, op, case):
    array, lists = awkward_cases(ak)[case]
    result = op(array)
    assert isinstance(result, ak.Array)
    assert result.to_list() == rows_of(op, lists)


@pytest.mark.parametrize("value", [[[1.0, None]], [1.0, None], [{"x": [1.0]}], [["a"]], ["ab", "c"], [[1.0, "a"]]])
def test_awkward_arrays_of_something_else_are_refused(ak, value):
    with pytest.raises(
        ArgumentError, match="softmax: x is an awkward array with missing values, records, .* awkward.drop_none"
    ):
        ogive.softmax(ak.Array(value))


def test_awkward_refusals(ak):
    array = ak.Array([[1.0], [2.0, 3.0]])
    with pytest.raises(ParameterError, match="softmax: axis is 0 for an awkward array of 2 dimensions; allowed: -1, 1"):
        ogive.softmax(array, axis=0)
    with pytest.raises(ArgumentError, match="softmax: out is not taken for rows of an awkward array"):
        ogive.softmax(array, out=X)
    with pytest.raises(ArgumentError, match="weighted: x is an awkward array beside others"):
        weighted(array, array)
    assert ogive.relu(array - 2).to_list() == [[0], [0, 1]]


# ---- pandas


@pytest.fixture
def pd():
    return library("pandas")


def test_pandas(pd):
    frame = pd.DataFrame(X, index=list("pqrs"), columns=list("abcdef"))
    series = frame["b"]
    index = pd.Index(X[0], name="k")
    for op in (ogive.celu, *ROW_OPERATORS, share):
        result = op(frame)
        pd.testing.assert_frame_equal(result, pd.DataFrame(op(X), index=frame.index, columns=frame.columns))
        pd.testing.assert_series_equal(op(series), pd.Series(op(X[:, 1].copy()), index=frame.index, name="b"))
        pd.testing.assert_index_equal(op(index), pd.Index(op(X[0]), name="k"))
    same(ogive.softmax(frame, axis=0).to_numpy().copy(), ogive.softmax(X, axis=0))
    same(ogive.softmax(frame, axis=(0, 1)).to_numpy().copy(), ogive.softmax(X, axis=(0, 1)))
    same(weighted(frame, frame).to_numpy().copy(), weighted(X, X))


def test_pandas_refusals(pd):
    a, b = pd.Series([1.0, 2.0], index=[0, 1]), pd.Series([1.0, 2.0], index=[1, 2])
    with pytest.raises(ShapeError, match="weighted: the labels of the pandas objects differ; .* Align them first"):
        weighted(a, b)
    with pytest.raises(
        DTypeError, match=r"softmax: x has columns or values that have no common type .* x.fillna\(...\)"
    ):
        ogive.softmax(pd.DataFrame({"a": [1.0], "b": ["text"]}))
    with pytest.raises(DTypeError, match=r"softmax: x has missing values; .* x.fillna\(...\)"):
        ogive.softmax(pd.Series([1.0, None], dtype="Float64"))
    with pytest.raises(ArgumentError, match="softmax: out is not taken for rows of a pandas object"):
        ogive.softmax(a, out=np.empty(2))


# ---- xarray


@pytest.fixture
def xr():
    return library("xarray")


def test_xarray(xr):
    x = xr.DataArray(X, dims=("time", "place"), coords={"time": [1, 2, 3, 4]}, attrs={"unit": "m"}, name="x")
    assert ogive.celu(x).dims == x.dims
    for op in ROW_OPERATORS:
        for dim, axis in (("time", 0), ("place", 1), (["time", "place"], (0, 1)), (("place", "time"), (0, 1))):
            result = op(x, dim=dim)
            assert type(result) is xr.DataArray
            assert (result.dims, result.attrs, result.name) == (x.dims, x.attrs, "x")
            assert result.time.values.tolist() == [1, 2, 3, 4]
            if dim != ("place", "time"):
                same(result.values.copy(), op(X, axis=axis))
            assert np.allclose(result.values, op(X, axis=axis))
    same(ogive.softmax(x.variable, dim="time").values.copy(), ogive.softmax(X, axis=0))
    both = ogive.softmax(xr.Dataset({"a": x, "b": x.T}), dim="time")
    assert both.b.dims == ("place", "time")
    assert np.array_equal(both.b.values.T, both.a.values)
    same(weighted(x, x, dim="time").values.copy(), weighted(X, X, axis=0))


def test_xarray_over_dask(xr):
    library("dask")
    x = xr.DataArray(X, dims=("time", "place"))
    result = ogive.softmax(x.chunk({"time": 2}), dim="place")
    assert result.chunks == ((2, 2), (6,))
    same(result.values, ogive.softmax(X))
    with pytest.raises(ShapeError, match=r"softmax: the array is cut .* 'time'.* x.chunk\(\{'time': -1\}\)"):
        ogive.softmax(x.chunk({"time": 2}), dim="time")


def test_xarray_refusals(xr):
    x = xr.DataArray(X, dims=("time", "place"))
    with pytest.raises(
        ArgumentError, match="softmax: dim is missing for an xarray object; allowed: dim=, .* dim='time'"
    ):
        ogive.softmax(x)
    with pytest.raises(ArgumentError, match="softmax: axis was given for an xarray object; .* dim='time'"):
        ogive.softmax(x, axis=0)
    for dim in ("depth", [], ["time", "time"]):
        with pytest.raises(
            ParameterError, match=r"softmax: dim is .* for an array with the dimensions 'time', 'place'"
        ):
            ogive.softmax(x, dim=dim)
    with pytest.raises(ArgumentError, match="softmax: out is not taken for rows of an xarray object"):
        ogive.softmax(x, dim="time", out=X.copy())


def test_dim_is_for_xarray():
    with pytest.raises(ArgumentError, match="softmax: dim was given, but x is an array of shape .* Use axis="):
        ogive.softmax(X, dim=1)
    with pytest.raises(ArgumentError, match="celu: there is no parameter 'dim'"):
        ogive.celu(X, dim=1)


# ---- Dask


@pytest.fixture
def da():
    return library("dask.array")


@pytest.mark.parametrize("name", ["float32", "float64", "int8"])
@pytest.mark.parametrize("axis", [-1, 0, 1, (0, 1), (-1, 0)])
@pytest.mark.parametrize("op", [*ROW_OPERATORS, share], ids=lambda op: op.name)
def test_dask_rows_are_lazy(da, op, axis, name):
    array = (np.arange(24).reshape(4, 6) % 7 + 1).astype(name)
    chunks = {-1: (2, 6), 1: (2, 6), 0: (4, 2)}.get(axis, (4, 6))
    x = da.from_array(array, chunks=chunks)
    result = op(x, axis=axis)
    assert isinstance(result, da.Array)
    assert result.chunks == x.chunks
    expected = op(array, axis=axis)
    assert result.dtype == expected.dtype
    same(result.compute(scheduler="synchronous"), expected)
    assert op(x, axis=axis).name == result.name


def test_dask_element_wise_is_lazy(da):
    result = ogive.celu(da.from_array(X, chunks=2), alpha=1.5)
    assert isinstance(result, da.Array)
    assert result.dtype == np.float32
    same(result.compute(scheduler="synchronous"), ogive.celu(X, alpha=1.5))


def test_dask_refusals(da):
    x = da.from_array(X, chunks=(2, 6))
    with pytest.raises(ShapeError, match=r"softmax: the Dask array is cut .* axis 0, .* x.rechunk\(\{0: -1\}\)"):
        ogive.softmax(x, axis=(0, 1))
    with pytest.raises(ParameterError, match="softmax: axis is 2 for an array of 2 dimensions"):
        ogive.softmax(x, axis=2)
    with pytest.raises(DTypeError, match="softmax: x has dtype complex64"):
        ogive.softmax(x.astype(np.complex64))
    with pytest.raises(ArgumentError, match="softmax: out is not taken for rows of a Dask array"):
        ogive.softmax(x, out=x)
    with pytest.raises(ArgumentError, match="softmax: there is no parameter 'alpha'"):
        ogive.softmax(x, alpha=1)


# ---- nothing is imported


def test_no_library_is_imported_for_a_call():
    code = """
import sys, numpy as np, ogive
ogive.celu(np.ones(3)); ogive.softmax(np.ones((2, 2)), axis=0); ogive.softmax(np.ma.ones((2, 2)))
try: ogive.celu(memoryview(b"ab").cast("c"))
except ogive.errors.OgiveError: pass
print([name for name in ("torch", "jax", "pandas", "xarray", "dask", "awkward", "sparse", "scipy") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_masked_rows_of_labelled_arrays():
    """Labels stay, and a mask may have labels too."""
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    xr = pytest.importorskip("xarray", reason="xarray is not installed")
    x = np.float32([[1, 2, 3, 4], [4, 3, 2, 1]])
    mask = np.array([[1, 0, 1, 1], [1, 1, 0, 0]], bool)
    for op in (ogive.softmax, ogive.log_softmax):
        frame = pd.DataFrame(x, index=["p", "q"])
        for where in (mask, pd.DataFrame(mask, index=["p", "q"])):
            found = op(frame, where=where)
            assert list(found.index) == ["p", "q"]
            assert_same_bits(found.to_numpy(), op(x, where=mask))
        array = xr.DataArray(x, dims=("a", "b"))
        for dim, axis in (("b", -1), ("a", 0)):
            for where in (mask, xr.DataArray(mask, dims=("a", "b")), xr.DataArray(mask.T, dims=("b", "a"))):
                assert_same_bits(op(array, dim=dim, where=where).to_numpy(), op(x, axis=axis, where=mask))
        of_all = op(array, dim="b", where=xr.DataArray(mask[0], dims=("b",)))
        assert_same_bits(of_all.to_numpy(), op(x, where=mask[0]))
        set_of = op(xr.Dataset({"v": array}), dim="b", where=xr.DataArray(mask, dims=("a", "b")))
        assert_same_bits(set_of["v"].to_numpy(), op(x, where=mask))
    reduced = ogive.logsumexp(array, dim="b", where=mask)
    assert_same_bits(reduced.to_numpy(), ogive.logsumexp(x, where=mask))
    gradient = ogive.vjp(ogive.softmax)
    assert_same_bits(gradient(array, array, dim="b", where=mask).to_numpy(), gradient(x, x, where=mask))
    with pytest.raises(ogive.errors.ArgumentError, match="where is an array of float32; allowed: an array of truth"):
        ogive.softmax(array, dim="b", where=x)
