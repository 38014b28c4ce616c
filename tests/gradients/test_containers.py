"""Gradients of containers broadcast as the forward call does, and come back as containers.

One property for all: the sum of each gradient is the sum of the derivative over what the operands make together.
"""

import numpy as np
import pytest

import ogive
from ogive.errors import ArgumentError, DTypeError, ShapeError

X = np.arange(12.0).reshape(3, 4) - 5.25


def library(name):
    return pytest.importorskip(name, reason=f"{name} is not installed")


def masked():
    x = np.ma.array(X.copy(), mask=np.arange(12).reshape(3, 4) % 5 == 0)
    x.data[0, 0] = np.nan  # what is masked may be anything
    yield x, 0.25
    yield x, np.array([0.1, 0.2, 0.3, 0.4])
    yield X, np.ma.array([0.1, 0.2, 0.3, 0.4], mask=[0, 0, 1, 0])
    yield np.ma.array(X, mask=[[0, 1, 0, 0]] * 3), np.ma.array([[0.1], [0.2], [0.3]], mask=[[1], [0], [0]])


def named():
    xr = library("xarray")
    q = xr.DataArray(
        X[:, :3], dims=("x", "y"), coords={"x": [1, 2, 3], "z": ("y", [7, 8, 9])}, name="q", attrs={"u": 1}
    )
    yield q, xr.DataArray([0.1, 0.2, 0.3], dims="x")
    yield q, xr.DataArray([0.1, 0.2, 0.3], dims="y")
    yield q, q.T
    yield q[0].drop_vars("x"), q[:, 0].drop_vars("z")
    yield q, q[:2]  # xarray takes what both have
    yield q, 0.25
    yield q, np.array([0.1, 0.2, 0.3])
    yield q.variable, xr.Variable("x", [0.1, 0.2, 0.3])
    yield q.chunk({"x": 2}), xr.DataArray([0.1, 0.2, 0.3], dims="x")


def labelled():
    pd = library("pandas")
    s = pd.Series(X[0], index=list("abcd"), name="s")
    df = pd.DataFrame(X, columns=list("abcd"))
    yield s, s[::-1]
    yield s, 0.25
    yield df, df[["d", "c", "b", "a"]]
    yield df, 0.25
    yield df, np.array([0.1, 0.2, 0.3, 0.4])
    yield pd.Index(X[0], name="i"), 0.25
    yield pd.Series(X[0].astype(np.float32)).astype("Float32"), 0.25


def lazy():
    da = library("dask.array")
    yield da.from_array(X, chunks=2), 0.25
    yield da.from_array(X, chunks=(2, 3)), da.from_array(np.array([0.1, 0.2, 0.3, 0.4]), chunks=3)
    yield X, da.from_array(np.array([[0.1], [0.2], [0.3]]), chunks=2)


def ragged():
    ak = library("awkward")
    x = ak.Array([[-1.0, 2.0], [], [-3.0]])
    yield x, 0.25
    yield x, x
    yield 0.25, x


def tensors():
    torch = library("torch")
    yield torch.tensor(X), torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64)
    yield torch.tensor(X), 0.25


def jax_arrays():
    jnp = library("jax.numpy")
    yield jnp.asarray(X.astype(np.float32)), jnp.asarray(np.float32([0.5, 0.25, 0.125, 2.0]))


def of_the_standard():
    strict = library("array_api_strict")
    yield strict.asarray(X), strict.asarray(np.array([0.1, 0.2, 0.3, 0.4]))


def stored():
    zarr = library("zarr")
    yield zarr.array(X), np.array([0.1, 0.2, 0.3, 0.4])


KINDS = (masked, named, labelled, lazy, ragged, tensors, jax_arrays, of_the_standard, stored)


def total(value):
    """The sum of all elements; NaN, which stands for labels without a partner, and masked ones left out."""
    value = value.compute() if hasattr(value, "compute") else value
    if "awkward" in str(type(value)):
        return float(library("awkward").sum(value))
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if isinstance(value, np.ma.MaskedArray):
        return float(value.astype(np.float64).filled(0).sum())
    return float(np.nansum(np.asarray(value).astype(np.float64)))


@pytest.mark.matrix(share=9)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_gradients_sum_up_to_the_derivatives(kind):
    count = 0
    for operands in kind():
        for operator in (ogive.prelu, ogive.mul, ogive.logaddexp):
            found = ogive.vjp(operator)(1.0, *operands)
            for i, (gradient, operand) in enumerate(zip(found, operands, strict=True)):
                slopes = ogive.grad(operator, i)(*operands)
                assert total(gradient) == pytest.approx(total(slopes), rel=1e-5), (operands, operator, i)
                assert type(gradient) is type(operand) or isinstance(operand, float) or is_plain(operand), operand
                if not isinstance(operand, float) and hasattr(operand, "shape"):
                    assert np.shape(gradient) == np.shape(operand)
            count += 1
        only_float = operands[0]
        if not isinstance(only_float, float):
            alpha = ogive.vjp(ogive.celu, ["x", "alpha"])(1.0, only_float, alpha=1.5)[1]
            slopes = ogive.grad(ogive.celu, "alpha")(only_float, alpha=1.5)
            assert total(alpha) == pytest.approx(total(slopes), rel=1e-5)
    assert count >= 3


def is_plain(operand):
    return isinstance(operand, np.ndarray) or "zarr" in type(operand).__module__


@pytest.mark.matrix(share=16, pool="slow")
def test_a_slope_for_each_name():
    xr = library("xarray")
    x = xr.DataArray(np.arange(9.0).reshape(3, 3) - 4, dims=("x", "y"), coords={"x": [1, 2, 3]}, name="q")
    slope = xr.DataArray([0.1, 0.2, 0.3], dims="x")
    of_x, of_slope = ogive.vjp(ogive.prelu)(xr.ones_like(x), x, slope)
    assert of_x.values.tolist() == [[0.1, 0.1, 0.1], [0.2, 0.2, 1.0], [1.0, 1.0, 1.0]]
    assert of_slope.values.tolist() == [-9.0, -1.0, 0.0]
    assert (of_x.dims, of_x.name, of_slope.dims) == (("x", "y"), "q", ("x",))
    assert of_x.coords["x"].values.tolist() == [1, 2, 3]
    u, w = xr.DataArray([1.0, 2.0, 3.0], dims="x"), xr.DataArray([10.0, 20.0, 30.0], dims="y")
    of_u, of_w = ogive.vjp(ogive.mul)(xr.ones_like(x), u, w)
    assert (of_u.values.tolist(), of_w.values.tolist()) == ([60.0] * 3, [6.0] * 3)
    wide = xr.DataArray(np.ones((3, 4)), dims=("x", "y"))
    assert ogive.vjp(ogive.prelu)(wide, wide, slope)[1].shape == (3,)
    turned = ogive.vjp(ogive.mul)(x, x, x.T)
    assert (turned[0].dims, turned[1].dims) == (("x", "y"), ("y", "x"))


def test_what_has_no_partner_by_name_has_the_gradient_0():
    xr = library("xarray")
    x = xr.DataArray([1.0, 2.0, 3.0], dims="x", coords={"x": [1, 2, 3]})
    of_x, of_other = ogive.vjp(ogive.mul)(1.0, x, x[1:] * 10)
    assert of_x.values.tolist() == [0.0, 20.0, 30.0]
    assert of_other.values.tolist() == [2.0, 3.0]


def test_data_sets():
    xr = library("xarray")
    x = xr.DataArray(X, dims=("x", "y"))
    slope = xr.DataArray([0.1, 0.2, 0.3], dims="x")
    of_x, of_slope = ogive.vjp(ogive.prelu)(1.0, xr.Dataset({"a": x, "b": -x}), slope)
    for name, one in (("a", x), ("b", -x)):
        wanted = ogive.vjp(ogive.prelu)(1.0, one, slope)
        assert of_x[name].equals(wanted[0])
        assert of_slope[name].equals(wanted[1])


@pytest.mark.matrix(share=16, pool="slow")
def test_rows_by_name():
    xr = library("xarray")
    x = xr.DataArray(X, dims=("x", "y"))
    g = xr.DataArray([1.0, 2.0, 3.0], dims="x")
    found = ogive.vjp(ogive.logsumexp)(g, x, dim="y")
    assert found.dims == ("x", "y")
    assert found.values.tolist() == ogive.vjp(ogive.logsumexp)(g.values, X).tolist()
    of_softmax = ogive.vjp(ogive.softmax)(x.T, x, dim="x")
    assert of_softmax.values.tolist() == ogive.vjp(ogive.softmax)(X, X, axis=0).tolist()
    with pytest.raises(ArgumentError, match="softmax_vjp: dim is missing for an xarray object"):
        ogive.vjp(ogive.softmax)(x, x)


@pytest.mark.matrix(share=16, pool="slow")
def test_masked_elements_take_no_part():
    m = np.ma.array([-1.0, -2.0, -3.0], mask=[0, 1, 0])
    of_x, of_slope = ogive.vjp(ogive.prelu)(np.ones(3), m, 0.25)
    assert of_x.mask.tolist() == [False, True, False]
    assert of_x.compressed().tolist() == [0.25, 0.25]
    assert of_slope == -4.0
    assert ogive.vjp(ogive.celu, ["alpha"])(np.ones(3), m, alpha=1.5) == pytest.approx(-0.7383, abs=1e-4)
    _, nothing = ogive.vjp(ogive.mul)(1.0, np.ma.array(X, mask=[[1, 0, 0, 0]] * 3), np.ones(4))
    assert nothing.mask.tolist() == [True, False, False, False]
    assert ogive.vjp(ogive.logsumexp)(1.0, m).compressed().tolist() == pytest.approx([0.880797, 0.119203], abs=1e-6)


def test_sums_of_masked_elements_are_rounded_once():
    rng = np.random.default_rng(0)
    x, mask = rng.normal(size=(50, 4)).astype(np.float32), rng.random((50, 4)) < 0.3
    _, found = ogive.vjp(ogive.mul)(np.float32(1), np.ma.array(x, mask=mask), np.ones(4, np.float32))
    wanted = [np.float32(x[~mask[:, i], i].astype(np.float64).sum()) for i in range(4)]
    assert found.tolist() == wanted


def test_labels():
    pd = library("pandas")
    a = pd.Series([-1.0, -2.0, 3.0], index=list("abc"), name="s")
    of_a, of_b = ogive.vjp(ogive.prelu)(1.0, a, pd.Series([0.1, 0.2], index=list("cb")))
    assert of_a[["b", "c"]].tolist() == [0.2, 1.0]
    assert np.isnan(of_a["a"])
    assert of_b.to_dict() == {"c": 0.0, "b": -2.0}


def refusals():
    pd, da, ak = library("pandas"), library("dask.array"), library("awkward")
    df, s = pd.DataFrame(X[:2, :2]), pd.Series([0.1, 0.2])
    kinds = "prelu_vjp: the operands are a DataFrame and Series of pandas; allowed: pandas objects of one kind. "
    yield (
        lambda: ogive.vjp(ogive.prelu)(np.ones((2, 2)), df, s),
        ArgumentError,
        kinds + "Give NumPy arrays: x.to_numpy()",
    )
    missing = "x has missing values; allowed: numbers alone. Fill missing values, x.fillna(...), and convert it: x.astype(...)"
    nullable = pd.Series([2.0, -2.5, pd.NA], dtype="Float64")
    yield lambda: ogive.softmax(nullable), DTypeError, f"softmax: {missing}"
    yield lambda: ogive.softmax(nullable.to_frame(), axis=0), DTypeError, f"softmax: {missing}"
    yield lambda: ogive.vjp(ogive.prelu)(1.0, nullable, 0.25), DTypeError, f"prelu_vjp: {missing}"
    labels = "softmax_vjp: the labels of the pandas objects differ; allowed: equal labels. Align them first: x.align(y)"
    yield lambda: ogive.vjp(ogive.softmax)(df, df[::-1]), ShapeError, labels
    two = ogive.row_operator(lambda x, w: x * w / ogive.formula.row_sum(x))
    lazy = da.ones((2, 2))
    yield (
        lambda: ogive.vjp(two)(lazy, lazy, lazy),
        ArgumentError,
        (
            "<lambda>_vjp: Dask arrays were given, and gradients of rows that were broadcast, or several of them; allowed: one "
            "gradient, of operands of one shape. Give operands of one shape, ask for one gradient, or compute the arrays first: "
            "x.compute()"
        ),
    )
    ragged = ak.Array([[1.0, 2.0], [3.0]])
    yield (
        lambda: ogive.vjp(ogive.mul)(1.0, ragged, ak.Array([1.0, 2.0])),
        ArgumentError,
        (
            "mul_vjp: b is broadcast beside awkward arrays, or has missing values; allowed: awkward arrays of one structure, and "
            "numbers. Broadcast them first: awkward.broadcast_arrays(...), and leave out missing values"
        ),
    )


def test_refusals():
    for call, kind, text in refusals():
        with pytest.raises(kind) as caught:
            call()
        assert str(caught.value) == text


@pytest.mark.matrix(share=16, pool="slow")
def test_element_wise_calls_keep_missing_values():
    pd = library("pandas")
    nullable = pd.Series([2.0, -2.5, pd.NA], dtype="Float64")
    found = ogive.vjp(ogive.gelu)(nullable, nullable)
    assert found.dtype == "Float64"
    assert found.isna().tolist() == [False, False, True]
