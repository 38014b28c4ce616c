"""Intervals of graphs: what implementations within their budgets compute lies inside, and errors are blamed rightly."""

import math

import numpy as np
import pytest

pytest.importorskip("onnx", reason="models need the package onnx")

from onnx import parser

import ogive
from ogive.errors import ArgumentError, UnsupportedError
from ogive.golden import admissible, attribute
from ogive.onnx import load


def model(nodes, given="float[N] x", result="float[N] y", opset=20):
    return parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : {opset}]> agraph ({given}) => ({result}) {{ {nodes} }}'
    )


CHAIN = "a = Gelu (x) b = Sigmoid (a) c = Mul (b, x) d = Elu <alpha = 0.5> (c) y = Sub (d, a)"


def moved(array, steps):
    """Each element so many representable numbers further."""
    for _ in range(abs(steps)):
        array = np.nextafter(array, np.array(math.copysign(np.inf, steps), array.dtype))
    return array


def perturbed(rng, array, ulps):
    shifts = rng.integers(-ulps, ulps + 1, array.shape)
    return np.array([moved(v, s) for v, s in zip(array, shifts, strict=True)], array.dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("seed", range(3))
def test_implementations_within_their_budgets_are_admissible(dtype, seed):
    """Each node's correctly rounded result, moved by up to 2 numbers: 4.5 ULP beside a power of two."""
    rng = np.random.default_rng(seed)
    kind = {np.float32: "float", np.float16: "float16"}[dtype]
    x = np.concatenate([rng.normal(0, 2, 12), [0, -0.0, 1e-4, -6]]).astype(dtype)
    source = model(CHAIN, f"{kind}[N] x", f"{kind}[N] y")
    bounds = admissible(source, {"x": x}, default=4.51)
    got = {"x": x}
    got["a"] = perturbed(rng, ogive.gelu(x), 2)
    got["b"] = perturbed(rng, ogive.sigmoid(got["a"]), 2)
    got["c"] = perturbed(rng, got["b"] * x, 2)
    got["d"] = perturbed(rng, ogive.elu(got["c"], alpha=0.5), 2)
    got["y"] = perturbed(rng, got["d"] - got["a"], 2)
    for name in "abcdy":
        assert not bounds[name].outside(got[name]).any(), name
    results = {name: got[name] for name in "abcdy"}
    assert attribute(source, {"x": x}, results, default=4.51) is None
    assert attribute(source, {"x": x}, {"y": got["y"]}, default=4.51) is None


def test_bounds_are_narrow():
    """One operator's are the nearest numbers, and a chain's are what the derivative makes of the error."""
    x = np.float32([0.3, 1.7, -2.2, 5.0])
    bounds = admissible(model("y = Tanh (x)"), {"x": x}, default=0.5)["y"]
    np.testing.assert_array_equal(bounds.lower, ogive.tanh(x))
    np.testing.assert_array_equal(bounds.upper, ogive.tanh(x))
    # An error of 1 ULP at 20 is 1.9e-6 of exp(20), 32 ULP of it; what tanh does with it is nothing.
    bounds = admissible(
        model("a = Mul (x, x) b = Exp (a) y = Tanh (a)", result="float[N] y, float[N] b"),
        {"x": np.float32([4.4721])},
        default=1,
    )
    width = (bounds["b"].upper - bounds["b"].lower) / np.spacing(bounds["b"].lower)
    assert 25 <= width[0] <= 70
    assert 1 - 2**-23 <= bounds["y"].lower[0] <= bounds["y"].upper[0] <= 1 + 2**-23


def test_kinks_steps_and_special_values():
    x = np.float32([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30])
    found = admissible(model("a = Tanh (x) y = Relu (a)"), {"x": x}, default=1)["y"]
    assert found.lower[2] < 1 <= found.upper[2]
    assert np.isnan(found.lower[4])
    assert found.lower[3] == found.upper[3] == 0
    assert not found.outside(np.float32([0, 0, 1, 0, np.nan, 1e-30])).any()
    assert found.outside(np.float32([0, 0, 1, 0, 0, 1e-30])).tolist() == [False] * 4 + [True, False]
    # 1 / x around zero can be anything.
    wild = admissible(model("a = Sin (x) b = Sub (a, a) y = Reciprocal (b)"), {"x": np.float32([0.5])}, default=1)["y"]
    assert (wild.lower[0], wild.upper[0]) == (-np.inf, np.inf)
    assert not wild.outside(np.float32([np.nan])).any()
    # A step that is in doubt can be either of its values.
    step = admissible(model("a = Sqrt (x) y = Floor (a)"), {"x": np.float32([4, 5])}, default=1)["y"]
    assert (step.lower.tolist(), step.upper.tolist()) == ([1, 2], [2, 2])


def test_rows_and_movement():
    x = np.float32([[0.5, 1.5, -1.0], [2.0, 2.0, 30.0]])
    nodes = (
        "a = Tanh (x) b = Softmax <axis = 1> (a) c = Transpose <perm = [1, 0]> (b) "
        "d = ReduceMean <keepdims = 0> (a) e = ReduceMax <keepdims = 1> (a) y = Concat <axis = 0> (c, c)"
    )
    source = model(nodes, "float[2, 3] x", "float[6, 2] y, float[1, 1] e, float d")
    bounds = admissible(source, {"x": x}, default=2)
    names = load(source).output_names
    results = dict(zip(names, load(source)(x), strict=True))
    for name, value in results.items():
        assert bounds[name].lower.shape == value.shape
        assert not bounds[name].outside(value).any(), name
    np.testing.assert_array_equal(bounds["c"].lower, bounds["b"].lower.T)
    gap = (bounds["b"].upper - bounds["b"].lower) / np.spacing(bounds["b"].lower)
    assert (gap <= 12).all()


def erf_of_handbook(x):
    """Abramowitz and Stegun 7.1.26 in float32: an error of 1.5e-7."""
    f = np.float32
    t = f(1) / (f(1) + f(0.3275911) * np.abs(x))
    poly = ((((f(1.061405429) * t + f(-1.453152027)) * t) + f(1.421413741)) * t + f(-0.284496736)) * t + f(0.254829592)
    return np.copysign(f(1) - poly * t * np.exp(-x * x), x).astype(f)


WEB = "r = Constant <value_float = 1.4142135> () q = Div (x, r) e = Erf (q) one = Constant <value_float = 1.0> () "
WEB += "s = Add (e, one) half = Constant <value_float = 0.5> () h = Mul (x, half) y = Mul (h, s)"


def reference_of_gelu(x):
    q = x / np.float32(1.4142135)
    e = erf_of_handbook(q)
    s, h = e + np.float32(1), x * np.float32(0.5)
    return {"q": q, "e": e, "s": s, "h": h, "y": h * s}


def test_the_case_of_webnn_950():
    """The reference's erf is what is wrong, and the results that were called wrong are admissible."""
    x = np.float32([-3.0, -1.5, -0.05, 0.3, 1.1])
    reference = reference_of_gelu(x)
    found = attribute(model(WEB), {"x": x}, reference, budget={"Erf": 4}, default=1)
    assert found is not None
    assert (found.operator, found.value, found.index, found.from_own_inputs) == ("Erf", "e", (2,), True)
    assert str(found).startswith("Erf node that computes 'e' (opset 20): 1 results are not admissible for the operands")
    # A whole gelu of 4 ULP is right, and the reference's result is not.
    right = ogive.gelu(x)
    assert attribute(model("y = Gelu (x)"), {"x": x}, {"y": moved(right, 3)}, budget={"Gelu": 4}) is None
    wrong = attribute(model("y = Gelu (x)"), {"x": x}, {"y": reference["y"]}, budget={"Gelu": 4})
    assert wrong is not None
    assert (wrong.operator, wrong.index, wrong.count) == ("Gelu", (0,), 1)


def test_where_the_formula_itself_loses_digits_nothing_is_blamed():
    """At -3 an erf that is 2 ULP off makes a gelu that is 372 off: 1 + erf cancels, and the interval says so."""
    x = np.float32([-3.0, 1.1])
    reference = reference_of_gelu(x)
    assert attribute(model(WEB), {"x": x}, reference, budget={"Erf": 4}, default=1) is None
    bounds = admissible(model(WEB), {"x": x}, budget={"Erf": 4}, default=1)["y"]
    assert not bounds.outside(reference["y"]).any()
    width = (bounds.upper - bounds.lower) / np.spacing(np.abs(ogive.gelu(x)))
    assert width[0] > 700
    assert width[1] < 12


def test_an_error_is_blamed_on_the_node_that_made_it():
    x = np.float32([0.4, 1.2, -0.8])
    got = {"a": ogive.gelu(x)}
    got["b"] = moved(ogive.sigmoid(got["a"]), 9)
    got["c"] = got["b"] * x
    got["d"] = ogive.elu(got["c"], alpha=0.5)
    got["y"] = got["d"] - got["a"]
    found = attribute(model(CHAIN), {"x": x}, got, default=2)
    assert (found.operator, found.value, found.count) == ("Sigmoid", "b", 3)
    # Without the intermediate values it is only known that the end is wrong, if it is.
    got["y"] = moved(got["y"], 1000)
    found = attribute(model(CHAIN), {"x": x}, {"y": got["y"]}, default=2)
    assert (found.value, found.from_own_inputs) == ("y", False)


def test_wrong_calls():
    x = np.float32([1])
    for call, text in (
        (lambda: admissible(model(CHAIN), {}), "admissible: the input 'x' is missing; allowed: an array for each"),
        (
            lambda: admissible(model(CHAIN), {"x": x}, default=0.1),
            "admissible: the budget of default is 0.1; allowed: 0.5 ULP and more",
        ),
        (
            lambda: admissible(model(CHAIN), {"x": x.astype(float)}),
            "admissible: the input 'x' is float64; allowed: float32. Convert it first: array.astype(...)",
        ),
        (
            lambda: attribute(model(CHAIN), {"x": x}, {"z": x}),
            "attribute: no node computes 'z'; allowed: a, b, c, d, y",
        ),
        (
            lambda: attribute(model(CHAIN), {"x": x}, {"a": x.astype(float)}),
            "attribute: 'a' is an array of float64 and shape (1,); allowed: float32 and (1,)",
        ),
    ):
        with pytest.raises(ArgumentError) as error:
            call()
        assert str(error.value) == text
    with pytest.raises(
        UnsupportedError, match=r"LayerNormalization node that computes 'y' .*: there are no intervals for it; "
    ):
        admissible(model("y = LayerNormalization (x, x)"), {"x": x})


def test_casts_comparisons_and_integers():
    nodes = "a = Sqrt (x) i = Cast <to = 6> (a) t = Greater (a, x) y = Where (t, a, x)"
    source = model(nodes, result="float[N] y, int32[N] i, bool[N] t")
    bounds = admissible(source, {"x": np.float32([0.25, 1.0, 9.0])}, default=1)
    assert bounds["i"].lower.tolist() == [0, 0, 2]
    assert bounds["i"].upper.tolist() == [0, 1, 3]
    assert bounds["t"].lower.tolist() == [True, False, False]
    assert bounds["t"].upper.tolist() == [True, True, False]
    assert bounds["y"].lower[2] == bounds["y"].upper[2] == 9


@pytest.mark.parametrize(
    "operator", ["LogSoftmax", "Softmax", "ReduceLogSumExp", "ReduceL2", "ReduceSumSquare", "Hardmax"]
)
def test_rows(operator):
    """Whatever the first node's results are within their budget, the rows' results are admissible."""
    given = np.float32([[0.5, -1.0, 2.0, 0.25]])
    form = "<keepdims=1>" if operator.startswith("Reduce") else ""
    graph = parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 17]>
        agraph (float[1, 4] x) => (float[1, n] y) {{ a = Tanh (x) y = {operator} {form} (a) }}""")
    found = admissible(graph, {"x": given}, budget={"Tanh": 2.0}, default=1.0)
    a, y = found["a"], found["y"]
    whole = ogive.onnx.load(
        parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 17]>
        agraph (float[1, 4] a) => (float[1, n] y) {{ y = {operator} {form} (a) }}""")
    )
    assert (a.lower < a.upper).all()
    generator = np.random.default_rng(3)
    for _ in range(50):
        chosen = np.where(generator.integers(2, size=a.lower.shape) == 1, a.lower, a.upper)
        assert not y.outside(np.asarray(whole(chosen))).any()
    assert (y.upper - y.lower < 1e-5).all()


def test_rows_whose_order_is_in_doubt():
    graph = parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
        agraph (float[1, 2] x) => (float[1, 2] y) { a = Tanh (x) y = Hardmax (a) }""")
    with pytest.raises(UnsupportedError, match="in doubt"):
        admissible(graph, {"x": np.float32([[0.5, 0.5]])}, budget={"Tanh": 2.0})
