"""An exact number and a tiny part of known sign: the sum lies beside a tie, and the kernel knows on which side."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import ogive
from ogive.common.dtypes import element_type, element_type_of
from ogive.enclosures import enclosure
from ogive.runtime import statistics
from ogive.runtime.kernels import make_ufunc
from tests.nearest import is_nearest

FORMULAS = {
    "x - tanh(x)": lambda x: x - np.tanh(x),
    "tanh(x) - x": lambda x: np.tanh(x) - x,
    "x - erf(x)": lambda x: x - ogive.erf(x),
    "2 - tanh(x)": lambda x: 2 - np.tanh(x),
    "x + exp(-x)": lambda x: x + np.exp(-x),
    "x - exp(-x)": lambda x: x - np.exp(-x),
    "-(x + exp(-x))": lambda x: -(x + np.exp(-x)),
    "abs(exp(-x) - x)": lambda x: np.abs(np.exp(-x) - x),
    "-1.5 (x + exp(-x))": lambda x: -1.5 * (x + np.exp(-x)),
    "0.375 (x + exp(-x))": lambda x: 0.375 * (x + np.exp(-x)),
    "x + exp(-x) + 3": lambda x: x + np.exp(-x) + 3,
    "max(cos(x), 2 + x)": lambda x: np.maximum(np.cos(x), 2.0 + x),
    "min(cos(x), 3 - x)": lambda x: np.minimum(np.cos(x), 3.0 - x),
    "where": lambda x: np.where(x > 1, x + 0.5, np.sin(x)),
    "1.5 log(1 + exp(x))": lambda x: 1.5 * np.log(1 + np.exp(x)),
    "x + x exp(-x)": lambda x: x + x * np.exp(-x),
    "x + sin(x) exp(-x)": lambda x: x + np.sin(x) * np.exp(-x),
}


def data(dtype):
    """Numbers of few bits, so that sums are ties; and of all sizes."""
    rng = np.random.default_rng(11)
    whole = rng.integers(-80, 300, 60)
    halves = rng.integers(2**7, 2**9, 60) / 2
    large = rng.integers(2**23, 2**25, 60) * (1 if dtype is np.float32 else 2.0**-18)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-7, -1e-7, 700.0, -700.0]
    return np.concatenate([special, whole, halves, large, rng.normal(0, 4, 60)]).astype(dtype)


@pytest.mark.matrix(share=9)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32], ids=lambda t: t.__name__)
@pytest.mark.parametrize("name", FORMULAS)
def test_sums_beside_ties_are_right_and_decided_in_the_kernel(name, dtype, monkeypatch):
    x, op, asked = data(dtype), ogive.operator(FORMULAS[name]), []
    if "log(1" in name:  # beyond, enclosures of the formula as it is written take exp(-x) for nothing
        x = x[~(np.abs(x.astype(np.float64)) > 1000)]
    original = enclosure.right_result

    def noted(root, operands, *rest, **named):
        asked.append(operands)
        return original(root, operands, *rest, **named)

    with monkeypatch.context() as patched:
        patched.setattr(enclosure, "right_result", noted)
        found = op(x).astype(np.float64)
    root, kind = op.formula()[0], element_type(np.dtype(dtype).name)
    right = np.array([original(root, (float(v),), {}, kind)[0] for v in x.astype(np.float64)], np.float64)
    np.testing.assert_array_equal(found, right)
    numbers = ~np.isnan(found)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(right[numbers]))
    assert len(asked) <= x.size // 20, asked[:8]


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32], ids=lambda t: t.__name__)
@pytest.mark.parametrize("width", [1, 30, 300])
def test_logarithms_of_softmax_of_wide_logits_are_decided_in_the_kernel(dtype, width, monkeypatch):
    from ogive.enclosures import row_enclosure

    rows, asked = np.random.default_rng(3).normal(0, width, (6, 64)).astype(dtype), []
    rows[0] = np.round(rows[0].astype(np.float32))
    right = row_enclosure.right_row
    for name in ("right_row", "right_rows"):
        original = getattr(row_enclosure, name)
        patched = lambda *given, original=original: asked.append(1) or original(*given)  # noqa: E731
        monkeypatch.setattr(row_enclosure, name, patched)
    found = ogive.log_softmax(rows).astype(np.float64)
    assert len(asked) <= 1
    monkeypatch.undo()
    root, kind = ogive.log_softmax.formula()[0], element_type(np.dtype(dtype).name)
    for row, got in zip(rows, found, strict=True):
        np.testing.assert_array_equal(got, np.array(right(root, [float(v) for v in row], {}, kind), np.float64))


@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16, np.float32])
@pytest.mark.parametrize("op", [ogive.xielu, ogive.elu, ogive.mish, ogive.gelu], ids=lambda op: op.name)
def test_the_repair_moves_nothing_beside_an_infinity(op, kind):
    """The bits of an infinity plus one are those of NaN."""
    signature = next(s for s in op.signatures if s.inputs[0] is element_type_of(np.dtype(kind)))
    repair = make_ufunc("repair", op.program(signature, **op.checked_parameters({})).later[-1].make())
    x = np.array([np.inf, -np.inf, 1.0], kind)
    result, is_open = repair(x)
    np.testing.assert_array_equal(result[is_open == 0], op(x)[is_open == 0])


#: Numbers that are NaN: outside of a domain, or without a quotient.
NOT_NUMBERS = {
    "sqrt": lambda x: 2 + np.sqrt(-1 - x * x),
    "log": lambda x: 9 + np.log(-1 - x * x),
    "atanh": lambda x: np.arctanh(3e38 / x),
    "0/0": lambda x: 3 + (x - x) / (x - x),
}


@pytest.mark.matrix(share=3)
@pytest.mark.parametrize("name", NOT_NUMBERS)
def test_a_number_that_is_chosen_beside_nan_keeps_its_bound(name):
    """``where(a < nan, nan, a)`` is a: results beside ties, and comparisons that enclosures decide."""
    none, kind = NOT_NUMBERS[name], element_type("float32")
    near = float(np.float64(np.exp(-1.0)))
    formulas = (
        lambda x: -5 * np.where(np.arctanh(2 * x) < none(x), none(x), np.arctanh(2 * x)),
        lambda x: np.where(np.where(np.exp(x) < none(x), none(x), np.exp(x)) < near, -1.0, 1.0),
    )
    odd = np.float32(1e-33) * (1 + np.arange(1, 64, 2, dtype=np.float32) * np.float32(2.0**-23))
    for formula, x in zip(formulas, (odd, np.full(8, -1, np.float32)), strict=True):
        op = ogive.operator(formula)
        right = [enclosure.right_result(op.formula()[0], (float(v),), {}, kind)[0] for v in x]
        with np.errstate(all="ignore"):
            assert op(x).tolist() == right


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize(
    "formula",
    [
        lambda x: np.log(ogive.sigmoid(x)) * -2.5,
        lambda x: np.log(ogive.sigmoid(x)) / np.trunc(-3.5 - x * 0),
        lambda x: -np.log(ogive.sigmoid(x)) * (np.tanh(x) - 3),
        lambda x: np.arctanh(np.log(ogive.sigmoid(x)) / -np.exp(1 / x)),
    ],
    ids=["product", "quotient", "negated", "function"],
)
def test_zeros_have_the_sign_of_what_is_next_to_nothing(formula):
    """The logarithm of what is rounded to 1 is a zero whose sign is not that of the exact number."""
    op, kind = ogive.operator(formula), element_type("float16")
    x = np.array([30, 200, 1804, 60000], np.float16)
    with np.errstate(all="ignore"):
        found = op(x)
    right = [enclosure.right_result(op.formula()[0], (float(v),), {}, kind)[0] for v in x]
    assert found.astype(np.float64).view(np.uint64).tolist() == np.array(right, np.float64).view(np.uint64).tolist()


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize(
    "formula",
    [
        lambda x: np.exp(np.floor(1 - x) - np.arctan(x)),
        lambda x: np.exp(np.ceil(x) - np.arctan(x)),
        lambda x: np.exp(np.trunc(1 + x) - np.arctan(x)),
        lambda x: np.exp(np.rint(x + 0.5) - np.arctan(x)),
    ],
    ids=["floor", "ceil", "trunc", "rint"],
)
def test_integers_beside_zero_are_those_of_the_side(formula):
    """Formulas next to zero are expanded in powers of x; a step at zero is no constant."""
    op, kind = ogive.operator(formula), element_type("float32")
    x = np.array([2e-21, -2e-21, 1e-40, -1e-40], np.float32)
    right = [enclosure.right_result(op.formula()[0], (float(v),), {}, kind)[0] for v in x]
    assert op(x).tolist() == right


#: Results beside ties of float64's subnormal numbers: x/2 and more or less, and 3/2 of x.
NEXT_TO_NOTHING = {
    "silu": (1, lambda x: x / (1 + np.exp(-x))),
    "gelu": (1, ogive.gelu),
    "hard_swish": (1, ogive.hard_swish),
    "scaled_tanh": (1, lambda x: 1.5 * np.tanh(x)),
    "negated": (1, lambda x: -(0.5 * np.sin(x))),
    "magnitude": (1, lambda x: np.abs(0.5 * np.arctan(x))),
    "sum of two": (1, lambda x: 0.5 * x + 0.8 * x * x),
    "difference": (1, lambda x: 1.5 * x - x * x * x),
    "choice": (1, lambda x: np.where(x > 0, 0.5 * np.sinh(x), 0.25 * np.expm1(x))),
    "magnitude beside one": (1, lambda x: np.where(np.abs(1 + x) > 1, 0.5 * x, 0.25 * x)),
    "glu": (2, ogive.glu),
    "geglu": (2, ogive.geglu),
    "product": (2, lambda x, y: 0.5 * x * np.exp(y)),
    "quotient": (2, lambda x, y: x / (2 + y)),
    "gradient": (2, ogive.vjp(ogive.hard_swish)),
}


@pytest.mark.parametrize("name", NEXT_TO_NOTHING)
def test_subnormal_doubles_are_decided_in_the_kernel(name):
    operands, formula = NEXT_TO_NOTHING[name]
    op = formula if isinstance(formula, ogive.Operator) else ogive.operator(formula)
    rng = np.random.default_rng(5)
    whole = [
        np.concatenate([rng.integers(-200, 200, 600), rng.integers(-(2**52), 2**52, 1448)]) for _ in range(operands)
    ]
    arrays = [rng.permutation(x) * 2.0**-1074 for x in whole]
    before = sum(row.enclosed for row in statistics())
    found = op(*arrays)
    assert sum(row.enclosed for row in statistics()) <= before  # kernels may go, with what they have counted
    root, kind, numbers = op.formula()[0], element_type("float64"), op.checked_parameters({})
    for i in range(0, 2048, 8):
        right, _ = enclosure.right_result(root, [float(x[i]) for x in arrays], numbers, kind)
        assert float(found[i]).hex() == float(right).hex(), [float(x[i]).hex() for x in arrays]


#: Functions that have come next to a limit, times numbers and beside others: the limit, and the side on which they lie.
SATURATED = {
    "tanh(x) + z": (lambda x, y, z: ogive.tanh(x) + z, lambda y, z: 1 + z, -1),
    "z - tanh(x)": (lambda x, y, z: z - ogive.tanh(x), lambda y, z: z - 1, 1),
    "1.5 z + 1 / (1 + exp(-x))": (
        lambda x, y, z: 1.5 * z + 1 / (1 + np.exp(-x)),
        lambda y, z: Fraction(3, 2) * z + 1,
        -1,
    ),
    "y sigmoid(x) + z": (lambda x, y, z: y * ogive.sigmoid(x) + z, lambda y, z: y + z, -1),
    "abs(y erf(x) - z)": (lambda x, y, z: abs(y * ogive.erf(x) - z), lambda y, z: y - z, -1),
    "-(z + exp(-x))": (lambda x, y, z: -(z + np.exp(-x)), lambda y, z: -z, -1),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", SATURATED)
def test_sums_with_saturated_functions_are_decided(name, dtype, asked):
    """A quarter of such sums of two ordinary numbers are ties but for what a function lacks to its limit."""
    formula, limit, side = SATURATED[name]
    r = np.random.default_rng(21)
    x, y, z = r.uniform(60, 200, 2000), r.uniform(1, 2, 2000), r.normal(size=2000)
    x, y, z = (a.astype(dtype) for a in (x, y, z))
    found = ogive.operator(formula)(x, y, z)
    assert not asked
    tiny = Fraction(side, 2**400)
    for got, *given in zip(found, *(map(Fraction, a.tolist()) for a in (y, z)), strict=True):
        exact = limit(*given)
        turned = -1 if name.startswith("abs") and exact < 0 else 1
        assert is_nearest(got, turned * (exact + tiny), np.dtype(dtype)), (got, exact)
