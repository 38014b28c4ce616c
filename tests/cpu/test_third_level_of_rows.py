"""The elements that rows leave to enclosures, by operator and family of data: microseconds an element, so next to nothing may be left.

A cliff is a range of data that all is left. It comes back as a failing test here, and not as a slow program elsewhere.
"""

import numpy as np
import pytest

import ogive
from ogive import formula as f
from ogive.catalog import OPERATORS
from ogive.cli.deciding_levels import FAMILIES, drawn, signature_of
from ogive.errors import OgiveError
from ogive.runtime.decide import RowDecider

ROWS, LENGTH = 3, 64


def mean(x):
    return f.row_sum(x) / f.row_count(x)


#: Formulas as people write them: of elements, and those that have one number a row.
OWN = {
    "softmax of thirds": lambda x: ogive.softmax(x / 3),
    "softmax of tanh": lambda x: ogive.softmax(f.tanh(x)),
    "softmax of squares": lambda x: ogive.softmax(x * x),
    "softmax beside the smallest": lambda x: f.exp(f.row_min(x) - x) / f.row_sum(f.exp(f.row_min(x) - x)),
    "softmax times x": lambda x: ogive.softmax(x) * x,
    "below the largest": lambda x: f.row_max(x) - x,
    "centred": lambda x: x - mean(x),
    "over the norm": lambda x: x / f.square_root(f.row_sum(x * x) + 1e-12),
    "silu over the root mean square": lambda x: x * f.logistic(x) / f.square_root(mean(x * x) + 1e-6),
    "from 0 to 1": lambda x: (x - f.row_min(x)) / (f.row_max(x) - f.row_min(x)),
}
OWN_OF_ROWS = {
    "mean": mean,
    "variance": lambda x: mean((x - mean(x)) ** 2),
    "norm": lambda x: f.square_root(f.row_sum(x * x)),
    "expectation": lambda x: f.row_sum(ogive.softmax(x) * x),
    "sum of tanh": lambda x: f.row_sum(f.tanh(x)),
}


def operators():
    """By name: operators of the catalogue, their gradients, and formulas."""
    found = {name: op for name, op in OPERATORS.items() if op.is_row_wise}
    for name, op in list(found.items()):
        try:
            found[f"vjp({name})"] = ogive.vjp(op)
        except OgiveError:
            continue
    found |= {name: ogive.row_operator(formula) for name, formula in OWN.items()}
    return found | {name: ogive.row_operator(formula, reduces=True) for name, formula in OWN_OF_ROWS.items()}


ALL = {name: op for name, op in operators().items() if signature_of(op, "float32")}


def with_nan(generator, count, kind):
    return np.where(np.arange(count) % LENGTH == 5, np.nan, generator.normal(0, 3, count))


#: The families of which elements are left. Gradients of rows with one or two numbers are zero by an identity. Gradients and targets that
#: are infinite themselves multiply what may vanish.
LEFT = {
    "vjp(cross_entropy)": {"padded with -inf"},
    "vjp(log_softmax)": {"padded with -inf"},
    "vjp(softmax)": {"padded with -inf"},
    "vjp(softmin)": {"padded with -inf"},
    "vjp(layer_normalization)": {"alternating"},
    "vjp(lp_normalization)": {"constant", "alternating"},
    "vjp(mean_variance_normalization)": {"one-hot", "alternating"},
    "softmax times x": {"subnormal"},
    "silu over the root mean square": {"normal, width 1e4", "huge"},
    "sum of tanh": {"alternating"},
}


@pytest.fixture
def asked(monkeypatch):
    """The elements that enclosures were asked for."""
    counts = []

    def call(self, inputs, outputs, mask, parameters):
        counts.append(sum(mask) if len(mask) > 1 else LENGTH)
        return tuple(outputs)

    monkeypatch.setattr(RowDecider, "__call__", call)
    return counts


def rows_of(op, family, count=ROWS):
    """Operands of a family; the gradient of one number a row is one, too."""
    arrays = [a.reshape(count, LENGTH) for a in drawn(family, signature_of(op, "float32"), count * LENGTH, 1)]
    has_one = getattr(getattr(op, "source", None), "reduces", False)
    return [a[:, 0] if has_one and i == 0 else a for i, a in enumerate(arrays)]


def test_there_are_operators():
    assert len(ALL) >= 35
    assert len(FAMILIES) >= 14


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("name", ALL)
def test_next_to_nothing_is_left_of_any_family(name, asked, monkeypatch):
    monkeypatch.setitem(FAMILIES, "with NaN", with_nan)
    op, left = ALL[name], {}
    for family in FAMILIES:
        with np.errstate(all="ignore"):
            op(*rows_of(op, family))
        if sum(asked) and family not in LEFT.get(name, ()):
            left[family] = sum(asked)
        asked.clear()
    assert not left, f"{name} leaves elements of {ROWS * LENGTH}: {left}"


@pytest.mark.matrix("name", share=3)
@pytest.mark.parametrize(("name", "family"), [(name, family) for name in ALL for family in FAMILIES])
def test_they_are_what_enclosures_say(name, family):
    op = ALL[name]
    program = op.program(signature_of(op, "float32"))
    if program.decide_row is None:
        pytest.skip("it only chooses among the elements")
    arrays = [np.nan_to_num(a[..., ::5] if a.ndim > 1 else a, neginf=-1e4) for a in rows_of(op, family, 1)]
    with np.errstate(all="ignore"):
        found = op(*arrays)
    parameters = [float(np.float32(p.default)) for p in op.numeric_parameters]
    expected = program.decide_row([[float(v) for v in np.ravel(a)] for a in arrays], parameters)
    for one, right in zip(found if isinstance(found, tuple) else (found,), expected, strict=True):
        right = np.array(right, np.float32)
        assert np.ravel(one).view(np.uint32).tolist() == right.view(np.uint32).tolist(), (arrays, one, right)


@pytest.mark.parametrize("name", ["lp_normalization", "rms_normalization"])
def test_infinities_of_float64_make_a_row_zero(name, asked):
    """Padding of -inf makes the norm infinite: what is divided by it is a zero of its own sign."""
    op = OPERATORS[name]
    x = np.random.default_rng(3).normal(size=(ROWS, LENGTH))
    x[:, 40:] = -np.inf
    with np.errstate(all="ignore"):
        found = op(x, *[np.ones(LENGTH) for _ in op.signatures[0].inputs[1:]])
    assert not asked
    assert np.isnan(found[:, 40:]).all()
    assert not found[:, :40].any()
    assert np.array_equal(np.signbit(found[:, :40]), np.signbit(x[:, :40]))


@pytest.mark.parametrize("ahead", [700.0, 744.5, 760.0])
def test_what_lies_far_below_the_largest_of_float64_keeps_its_bits(ahead, asked):
    """The result of the largest element is a sum of exponentials of which none has two words in float64."""
    x = np.random.default_rng(5).normal(size=(ROWS, LENGTH))
    x[:, 3] += ahead
    x[0, 40:] = -np.inf
    ogive.log_softmax(x)
    assert not asked


def test_thresholds_of_float64_leave_no_padding(asked):
    x = np.random.default_rng(6).normal(size=(ROWS, LENGTH))
    x[:, 40:] = -np.inf
    assert not ogive.sparsemax(x)[:, 40:].any()
    assert not asked


@pytest.mark.parametrize("size", [2.0**1015, 1e300, 1e-120, 1e-300])
def test_rows_of_float64_far_from_one_are_decided(size, asked):
    """The bound of a row that is scaled by 1 has nothing of the other factors, and sums up to 2**1020 are in no doubt."""
    x = np.random.default_rng(0).uniform(-4, 4, (2, 32)) * size
    ogive.standardize(x)
    ogive.layer_normalization(x, np.ones(32), np.zeros(32))
    ogive.log_softmax(x)
    ogive.sparsemax(x)
    assert not asked


def test_masked_rows_of_float64_are_decided(asked):
    """The first row of a causal mask has one element, of which the result is zero."""
    x = np.random.default_rng(0).normal(size=(32, 32))
    found = ogive.log_softmax(np.where(np.tri(32) > 0, x, -np.inf))
    assert found[0, 0] == 0
    assert not np.signbit(found[0, 0])
    assert not asked


@pytest.mark.parametrize("sizes", [(2.0**1020, 2.0**1020), (1.0, 2.0**-1040)])
def test_products_of_float64_at_the_ends_of_the_range_are_decided(sizes, asked):
    x, scale = (
        a * size for a, size in zip(np.random.default_rng(7).normal(size=(2, ROWS, LENGTH)), sizes, strict=True)
    )
    with np.errstate(all="ignore"):
        found = ogive.rms_normalization(x, scale, epsilon=0)
        y = x / sizes[0]
        expected = y / np.sqrt(np.mean(y * y, axis=-1, keepdims=True)) * scale
    assert not asked
    np.testing.assert_allclose(found, expected, rtol=2.0**-50, atol=1e-322)


NORMALIZATIONS = [
    "layer_normalization",
    "lp_normalization",
    "mean_variance_normalization",
    "rms_normalization",
    "standardize",
]
WITH_SCALES = ("layer_normalization", "rms_normalization")


@pytest.mark.parametrize("width", [1.0, 300.0])
@pytest.mark.parametrize("name", NORMALIZATIONS)
def test_gradients_along_the_result_are_decided(name, width, asked):
    """Three words of float64 are left of y - x * row_sum(x * y) / row_sum(x * x), which is the rounding of y; of two words nothing is."""
    op = OPERATORS[name]
    x = np.random.default_rng(8).normal(size=(ROWS, LENGTH)) * width
    others = [np.ones(LENGTH)] * (ogive.vjp(op).inputs - 2) if name in WITH_SCALES else []
    result = op(x, *others)
    ogive.vjp(op)(result, x, *others)
    assert not asked


@pytest.mark.matrix(share=4)
@pytest.mark.parametrize("name", NORMALIZATIONS)
@pytest.mark.parametrize("size", [1.0, 300.0, 1e100, 1e-140])
def test_gradients_along_the_result_are_what_enclosures_say(name, size):
    op, vjp = OPERATORS[name], ogive.vjp(OPERATORS[name])
    x = np.random.default_rng(9).normal(size=(1, 9)) * size
    others = [np.ones(9)] * (vjp.inputs - 2) if name in WITH_SCALES else []
    with np.errstate(all="ignore"):
        given = [op(x, *others), x, *others]
        found = vjp(*given)
    program = vjp.program(signature_of(vjp, "float64"))
    parameters = [float(p.default) for p in vjp.numeric_parameters]
    expected = program.decide_row([[float(v) for v in np.ravel(a)] for a in given], parameters)
    for one, right in zip(found if isinstance(found, tuple) else (found,), expected, strict=True):
        assert np.ravel(one).view(np.uint64).tolist() == np.array(right, np.float64).view(np.uint64).tolist()


@pytest.mark.parametrize("name", ["softmax", "softmin"])
@pytest.mark.parametrize("kind", ["one-hot", "own", "random"])
def test_gradients_of_saturated_rows_are_decided(name, kind, asked):
    """Sums of a gradient's exponentials may be smaller than all numbers of float64, and keep their bits."""
    op, r = OPERATORS[name], np.random.default_rng(11)
    for width in (300.0, 1000.0, 3e4):
        x = r.normal(size=(ROWS, LENGTH)) * width
        gradient = op(x) if kind == "own" else r.normal(size=x.shape)
        if kind == "one-hot":
            gradient = np.zeros_like(x)
            gradient[np.arange(ROWS), r.integers(LENGTH, size=ROWS)] = 1
        ogive.vjp(op)(gradient, x)
        assert not asked


@pytest.mark.parametrize("width", [300.0, 1000.0, 1e300])
def test_sums_of_what_underflows_are_what_enclosures_say(width):
    op = ogive.row_operator(
        lambda w, x: f.exp(x - f.row_max(x)) * (w - f.row_sum((w - f.row_max(w)) * f.exp(x - f.row_max(x)))),
        types=["float64"],
    )
    r = np.random.default_rng(12)
    program = op.program(op.signatures[0])
    for _ in range(5):
        w, x = r.choice([0.0, 0.0, 1.0, -1e-300, 1e300], (1, 9)), r.normal(size=(1, 9)) * width
        with np.errstate(all="ignore"):
            found = op(w, x)
        (right,) = program.decide_row([[float(v) for v in a[0]] for a in (w, x)], [])
        assert found.tobytes() == np.array([right]).tobytes(), (w, x)


def test_many_passes_leave_sums_unscaled():
    """A scaled sum takes two passes, for which a kernel may have no room."""

    def formula(w, x):
        for _ in range(3):
            y = w * f.exp(x - f.row_max(x))
            x = y / (1 + f.row_sum(y) ** 2)
        return x

    op = ogive.row_operator(formula, types=["float64"])
    chain = op.program(op.signatures[0]).chain
    assert chain[0].is_tested
    w, x = np.random.default_rng(13).normal(size=(2, 1, 7))
    (right,) = op.program(op.signatures[0]).decide_row([w[0].tolist(), x[0].tolist()], [])
    assert op(w, x)[0].tolist() == list(right)
