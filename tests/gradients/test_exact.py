"""Derivatives of all operators beside the exact ones: differences of their own formulas, in 2,600 bits."""

import itertools
import math
import zlib

import ml_dtypes
import numpy as np
import pytest

import ogive
from ogive.catalog import OPERATORS
from ogive.common.dtypes import element_type_of
from ogive.enclosures.row_enclosure import right_rows
from ogive.errors import DTypeError
from ogive.graph.error_functions import context
from ogive.laboratory.accuracy import count_misrounded
from ogive.laboratory.reference import evaluate_exactly

PARAMETERS = {
    "alpha": 1.25,
    "alpha_n": 0.75,
    "alpha_p": 0.75,
    "b": 4.0,
    "beta": 0.75,
    "cap": 30.0,
    "delta": 0.5,
    "epsilon": 0.125,
    "gamma": 1.125,
    "lambd": 0.5,
    "bias": 0.25,
    "min": -1.0,
    "max": 1.0,
    "limit": 2.0,
    "scale": 0.75,
    "shift": 0.25,
    "steepness": 1.5,
}
#: (significant bits, smallest exponent, largest number)
FORMATS = {"float16": (11, -14, 65504.0), "float32": (24, -126, 3.4028235e38), "float64": (53, -1022, 1.797e308)}
TYPES = ("float16", "float32", "float64")

#: Functions that cancel next to the zero of its derivative.
CANCELS = {"geglu", "gelu", "log_ndtr", "mish", "softcap", "swish", "swiglu", "xielu"}


def arguments_of(op):
    return (*op.tensors, *(parameter.name for parameter in op.numeric_parameters))


def differentiable():
    for name, op in OPERATORS.items():
        if not op.is_row_wise:
            for wrt in arguments_of(op):
                try:
                    ogive.grad(op, wrt)
                except (DTypeError, ogive.errors.ArgumentError):
                    continue
                yield name, wrt


PAIRS = [*differentiable()]


def test_what_has_a_derivative():
    assert len(PAIRS) >= 115
    without = set(OPERATORS) - {name for name, _ in PAIRS}
    assert without == {
        *(
            "softmax",
            "cross_entropy",
            "log_softmax",
            "logsumexp",
            "hardmax",
            "softmin",
            "sparsemax",
            "entmax15",
            "logmeanexp",
            "standardize",
            "layer_normalization",
            "lp_normalization",
            "mean_variance_normalization",
            "rms_normalization",
            "average",
            "nll_loss",
            "sum",
        ),  # over rows: vjp
        *("equal", "greater", "greater_or_equal", "less", "less_or_equal", "isfinite", "isinf", "isnan"),
        "not_equal",
        *("logical_and", "logical_not", "logical_or", "logical_xor"),
        *("bit_count", "bit_shift_left", "bit_shift_right", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor"),
        *("quantize_linear", "quantized_linear_add"),
    }


def choices_of(op):
    selecting = [parameter for parameter in op.parameters if parameter.choices]
    for chosen in itertools.product(*(parameter.choices for parameter in selecting)):
        yield {parameter.name: choice for parameter, choice in zip(selecting, chosen, strict=True)}


def points(kind, rng, count):
    """Numbers of moderate size, small and large ones, none of them a kink."""
    if kind.name == "bool":
        return rng.integers(0, 2, count).astype(bool)
    if not kind.is_float:
        return rng.integers(1, 100, count).astype(kind.numpy)
    sizes = np.where(np.arange(count) % 3 == 0, 3.0, np.exp2(rng.uniform(-9, 4, count)))
    return (rng.normal(size=count) * sizes).astype(kind.numpy)


def difference(root, inputs, parameters, which, order, bits=700):
    """The derivative of a formula at a point, by differences."""
    mp = context()

    def value(shift):
        shifted, changed = [*inputs], dict(parameters)
        if isinstance(which, int):
            shifted[which] = mp.mpf(inputs[which]) + shift
        else:
            changed[which] = mp.mpf(parameters[which]) + shift
        return evaluate_exactly(root, shifted, changed)

    h = mp.mpf(2) ** (-bits if order == 1 else -400)
    if order == 1:
        return (value(h) - value(-h)) / (2 * h)
    return (value(h) - 2 * value(0) + value(-h)) / (h * h)


def errors(op, derivative, wrt, dtype, order, count):
    """Errors in ULP at points where the derivative is finite: a list."""
    signature = next((s for s in derivative.signatures if s.outputs[0].name == dtype), None)
    if signature is None:
        return []
    rng = np.random.default_rng(zlib.crc32(f"{op.name} {wrt}".encode()))
    parameters = {parameter.name: PARAMETERS[parameter.name] for parameter in op.numeric_parameters}
    which = op.tensors.index(wrt) if wrt in op.tensors else wrt
    precision, smallest, largest = FORMATS[dtype]
    found = []
    for choices in choices_of(op):
        operands = [points(kind, rng, count) for kind in signature.inputs]
        results = derivative(*operands, **parameters, **choices)
        root = op.formula(**choices)[0]
        mp = context()
        with mp.workprec(2600):
            for i in range(count):
                exact = difference(root, [operand[i].item() for operand in operands], parameters, which, order)
                if not mp.isfinite(exact) or abs(exact) > largest:
                    continue
                exponent = smallest if exact == 0 else max(smallest, int(mp.floor(mp.log(abs(exact), 2))))
                error = abs(mp.mpf(float(results[i])) - exact) * mp.mpf(2) ** (precision - 1 - exponent)
                found.append(float(error) if math.isfinite(results[i]) else math.inf)
    return found


@pytest.mark.matrix(share=16, pool="slow")
def test_every_formula_of_a_derivative_is_the_slope():
    """At one point, without a kernel."""
    mp, wrong = context(), []
    for name, wrt in PAIRS:
        op = OPERATORS[name]
        inputs = [0.3125 + 0.125 * i for i in range(op.inputs)]
        if name in ("acosh", "atanh"):
            inputs = [1.3125] if name == "acosh" else [0.3125]
        parameters = {parameter.name: PARAMETERS[parameter.name] for parameter in op.numeric_parameters}
        which = op.tensors.index(wrt) if wrt in op.tensors else wrt
        for choices in choices_of(op):
            with mp.workprec(300):
                exact = difference(op.formula(**choices)[0], inputs, parameters, which, 1, bits=80)
                found = evaluate_exactly(ogive.grad(op, wrt).formula(**choices)[0], inputs, parameters)
                if not abs(found - exact) <= 2.0**-40 * abs(exact):
                    wrong.append((name, wrt, choices, found, exact))
    assert not wrong


@pytest.mark.matrix(share=12)
@pytest.mark.parametrize(("name", "wrt"), PAIRS)
def test_derivatives_are_right_to_a_unit(name, wrt):
    op = OPERATORS[name]
    for dtype in TYPES:
        found = errors(op, ogive.grad(op, wrt), wrt, dtype, 1, 18)
        assert len(found) >= 3 or dtype == "float64", dtype
        assert max(found, default=0) <= (2.0 if name in CANCELS else 0.55), dtype


@pytest.mark.matrix(share=18)
@pytest.mark.parametrize(("name", "wrt"), [(name, wrt) for name, wrt in PAIRS if wrt in OPERATORS[name].tensors])
def test_second_derivatives(name, wrt):
    op = OPERATORS[name]
    second = ogive.grad(ogive.grad(op, wrt), wrt)
    for dtype in TYPES:
        found = errors(op, second, wrt, dtype, 2, 9)
        assert max(found, default=0) <= (4.0 if name in CANCELS else 0.75), dtype


EVERY = np.arange(0, 1 << 32, 40009, dtype=np.uint64).astype(np.uint32).view(np.float32)
FINITE = EVERY[np.isfinite(EVERY)]


@pytest.mark.matrix(share=12)
@pytest.mark.parametrize(
    "name", [name for name, op in OPERATORS.items() if (name, op.tensors[0]) in PAIRS and op.nin == 1]
)
def test_derivatives_are_finite_where_they_should_be(name):
    """Over all magnitudes: finite wherever the operator is, but where it has a pole of its slope."""
    op = OPERATORS[name]
    poles = {"sqrt": {0.0}, "acos": {-1.0, 1.0}, "asin": {-1.0, 1.0}, "acosh": {1.0}, "cbrt": {0.0}}.get(name, set())
    x = np.array([n for n in (*FINITE, 0.0, -0.0, 1.0, -1.0) if float(n) not in poles], np.float32)
    parameters = {parameter.name: PARAMETERS[parameter.name] for parameter in op.numeric_parameters}
    for choices in choices_of(op):
        value, slope = ogive.value_and_grad(op)(x, **parameters, **choices)
        wide = ogive.grad(op)(x.astype(np.float64), **parameters, **choices)
        assert np.isfinite(wide[np.isfinite(value)]).all()
        with np.errstate(over="ignore", under="ignore"):
            agrees = np.isclose(slope, wide.astype(np.float32), rtol=3e-7, atol=1e-8, equal_nan=True)
        assert agrees[np.isfinite(value)].all()


def test_a_derivative_that_underflows_keeps_its_sign():
    """The loss by underflow is more than what is left of the two terms of GELU's derivative: it is below zero."""
    slope = ogive.grad(ogive.gelu)
    assert count_misrounded(slope, "float16").misrounded == 0
    x = np.linspace(-39, -36, 601, dtype=np.float32)
    assert np.array_equal(slope(x), np.zeros_like(x))
    assert np.signbit(slope(x)).all()


@pytest.mark.matrix(share=16, pool="slow")
def test_the_sign_of_a_formula_that_underflows():
    """The derivative of a formula of one's own, with both signs, and that of one whose zeros are exact."""
    own = ogive.operator(lambda x: ogive.formula.normal_tail(x) - x * ogive.formula.exp(-(x * x) / 2))
    x = np.array([37.25, 37.5, 38], np.float32)
    assert np.signbit(own(x)).all()
    assert not np.signbit(
        ogive.operator(lambda x: x * ogive.formula.exp(-(x * x) / 2) - ogive.formula.normal_tail(x))(x)
    ).any()
    assert not np.signbit(ogive.operator(lambda x: x - ogive.formula.tanh(x))(np.zeros(3, np.float32))).any()


#: Limits at -inf and inf: (derivative there).
LIMITS = {
    "celu": (0, 1),
    "elu": (0, 1),
    "selu": (0, 1.0507010221481323),
    "gelu": (0, 1),
    "mish": (0, 1),
    "swish": (0, 1),
    "sigmoid": (0, 0),
    "tanh": (0, 0),
    "softplus": (0, 1),
    "softsign": (0, 0),
    "hard_swish": (0, 1),
    "erf": (0, 0),
    "hard_sigmoid": (0, 0),
    "relu": (0, 1),
    "leaky_relu": (0.01, 1),
    "atan": (0, 0),
    "asinh": (0, 0),
    "parametric_hard_swish": (0, 1),
    "scaled_tanh": (0, 0),
    "thresholded_relu": (0, 1),
    "reciprocal": (0, 0),
    "exp": (0, math.inf),
    "shrink": (1, 1),
    "abs": (-1, 1),
    "identity": (1, 1),
    "neg": (-1, -1),
}


@pytest.mark.matrix(share=9)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", LIMITS)
def test_limits_at_the_infinities(name, dtype):
    slope = ogive.grad(OPERATORS[name])(np.array([-math.inf, math.inf], dtype))
    assert slope.tolist() == np.array(LIMITS[name], dtype).tolist()
    if name != "exp":
        both = ogive.grad(ogive.grad(OPERATORS[name]))(np.array([-math.inf, math.inf], dtype))
        assert both.tolist() == [0, 0]


# ---- gradients of normalisations: beside torch in float64, and beside enclosures in the types that are rounded once


torch = pytest.importorskip("torch")
functional = torch.nn.functional

#: By name: the operator, tensors beside the data, parameters, and what torch computes.
CASES = {
    "layer": ("layer_normalization", 2, {}, lambda x, s, b: functional.layer_norm(x, x.shape[-1:], s, b)),
    "rms": ("rms_normalization", 1, {}, lambda x, s: functional.rms_norm(x, x.shape[-1:], s, 1e-5)),
    "l2": ("lp_normalization", 0, {}, lambda x: functional.normalize(x, dim=-1)),
    "l1": ("lp_normalization", 0, {"p": 1}, lambda x: functional.normalize(x, p=1.0, dim=-1)),
    "mvn": ("mean_variance_normalization", 0, {}, lambda x: functional.layer_norm(x, x.shape[-1:], eps=0.0)),
    "standardize": ("standardize", 0, {}, lambda x: functional.layer_norm(x, x.shape[-1:])),
}
PLACES = [(0.0, 1.0), (100.0, 1.0), (1000.0, 0.1)]


def data(beside, mean, deviation, rows=3, length=5):
    rng = np.random.default_rng(7)
    x = rng.standard_normal((rows, length)) * deviation + mean
    return rng.standard_normal(x.shape), [x, *(rng.standard_normal(length) for _ in range(beside))]


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize(("mean", "deviation"), PLACES)
@pytest.mark.parametrize("name", CASES)
def test_gradients_beside_torch(name, mean, deviation):
    op, beside, parameters, of_torch = CASES[name]
    gradient, arrays = data(beside, mean, deviation)
    tensors = [torch.tensor(array, requires_grad=True) for array in arrays]
    result = of_torch(*tensors)
    result.backward(torch.tensor(gradient))
    np.testing.assert_allclose(getattr(ogive, op)(*arrays, **parameters), result.detach().numpy(), rtol=1e-9, atol=1e-9)
    found = ogive.vjp(getattr(ogive, op))(gradient, *arrays, **parameters)
    found = found if isinstance(found, tuple) else (found,)
    assert len(found) == len(tensors)
    for own, tensor in zip(found, tensors, strict=True):
        right = tensor.grad.numpy()
        np.testing.assert_allclose(own, right, rtol=1e-8, atol=1e-8 * max(1, np.abs(right).max()))


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
@pytest.mark.parametrize("name", CASES)
def test_gradients_of_data_are_rounded_once(name, dtype):
    """The gradient of the data, whose gradient has a number for each element."""
    op, beside, parameters, _ = CASES[name]
    vjp = ogive.vjp(getattr(ogive, op), wrt=["x"])
    kind = element_type_of(np.dtype(dtype))
    computation = vjp.computation(next(s for s in vjp.signatures if set(s.inputs) == {kind}), **parameters)
    numbers = {} if "epsilon" not in {p.name for p in vjp.numeric_parameters} else {"epsilon": float(np.float32(1e-5))}
    for mean, deviation in PLACES:
        gradient, arrays = data(beside, mean, deviation, rows=2, length=4)
        gradient, *arrays = ((array + 0).astype(dtype) for array in (gradient, *arrays))
        found = vjp(gradient, *arrays, **parameters)
        rows = [np.broadcast_to(array, gradient.shape) for array in (gradient, *arrays)]
        for i, row in enumerate(found):
            operands = [[float(v) for v in array[i]] for array in rows]
            right = right_rows(computation.roots[0], operands, numbers, kind)
            np.testing.assert_array_equal(row.astype(float), np.array(right, float))
