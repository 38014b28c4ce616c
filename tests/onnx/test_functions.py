"""Functions that a model brings along, and those that ONNX defines operators by."""

import numpy as np
import pytest
from onnx import helper, parser

import ogive.onnx
from ogive.errors import ModelError, UnsupportedError
from ogive.onnx import loading
from tests.onnx.models import node_model

HEADER = '<ir_version: 10, opset_import: ["" : 18, "local" : 1]>\n'
MAIN = "t (float[N] x) => (float[N] y) { y = local.f (x) }\n"
FUNCTION = '<opset_import: ["" : 18, "local" : 1], domain: "local">\n'


def load(text):
    return ogive.onnx.load(parser.parse_model(HEADER + text))


def refused(text, pattern, error=ModelError):
    with pytest.raises(error, match=pattern):
        load(text)


def test_a_function_takes_the_place_of_its_calls():
    model = load(
        """t (float[N] x) => (float[N] y) { a = local.f (x)  y = local.f (a) }
        """
        + FUNCTION
        + "f (x) => (y) { a = Neg(x)  b = Mul(a, a)  y = Add(b, x) }"
    )
    assert model(x=np.float32([1, 2])).tolist() == [6, 42]
    assert len(model._graph.steps) == 6


def test_functions_call_functions_with_names_of_their_own():
    text = (
        MAIN + FUNCTION + "f (a) => (b) { x = local.g (a)  b = Neg(x) }\n" + FUNCTION + "g (x) => (y) { y = Add(x, x) }"
    )
    assert load(text)(x=np.float32([1, 2])).tolist() == [-2, -4]


def test_attributes_reach_the_nodes_inside():
    body = FUNCTION + "f <alpha: float = 2.0> (x) => (y) { y = Celu <alpha: float = @alpha> (x) }"
    x = np.float32([-3, 3])
    default = load(MAIN + body)(x=x)
    given = load(MAIN.replace("local.f (x)", "local.f <alpha = 0.5> (x)") + body)(x=x)
    assert default.tolist() == ogive.celu(x, alpha=2.0).tolist()
    assert given.tolist() == ogive.celu(x, alpha=0.5).tolist()


def test_attributes_without_a_value_leave_the_operator_its_default():
    body = FUNCTION + "f <alpha> (x) => (y) { y = Celu <alpha: float = @alpha> (x) }"
    x = np.float32([-3, 3])
    assert load(MAIN + body)(x=x).tolist() == ogive.celu(x).tolist()


def test_optional_inputs_and_outputs_may_be_left_out():
    text = MAIN + FUNCTION + "f (x, unused) => (y, other) { y = Neg(x)  other = Relu(x) }"
    assert load(text)(x=np.float32([1, 2])).tolist() == [-1, -2]


def test_a_function_may_return_its_input():
    assert load(MAIN + FUNCTION + "f (x) => (x) { z = Neg(x) }")(x=np.float32([1])).tolist() == [1]


def test_a_function_has_an_opset_of_its_own():
    text = MAIN + '<opset_import: ["" : 6], domain: "local">\nf (x) => (y) { c = Constant <value = float[1] {2.0}> ()\n'
    model = load(text + "y = Add <broadcast = 1> (x, c) }")
    assert model(x=np.float32([1, 2, 3])).tolist() == [3, 4, 5]


def test_a_function_of_the_model_comes_before_an_operator():
    text = "t (float[N] x) => (float[N] y) { y = Relu (x) }\n" + FUNCTION.replace('local">', '">')
    assert load(text + "Relu (x) => (y) { y = Neg(x) }")(x=np.float32([1])).tolist() == [-1]


@pytest.mark.parametrize(
    ("functions", "pattern"),
    [
        ("f (x) => (y) { y = local.f(x) }", "in the function f: the function 'f' calls itself"),
        ("f (x) => (y) { y = local.g(x) }\nFUNCTIONg (x) => (y) { y = local.f(x) }", "the function 'f' calls itself"),
        (
            "f (x) => (y) { y = Neg(x) }\nFUNCTIONf (x) => (y) { y = Neg(x) }",
            "it has the function 'f' of 'local' twice",
        ),
        ("f () => (y) { y = Constant <value = float {1.0}> () }", "it has 1 inputs; allowed: 0, as the function"),
        ("f (x) => () { y = Neg(x) }", "it has 1 outputs; allowed: 0, as the function"),
        ("f (x) => (z) { y = Neg(x) }", "nothing in the function computes its output 'z'"),
        ("f (x) => (y) { y = Neg(q) }", "in the function f: its input 'q' is nothing that comes before it"),
        ("f (x, x) => (y) { y = Neg(x) }", "the function has two inputs 'x'"),
        ("f (x, other) => (y) { y = Neg(other) }", "in the function f: its input X is missing"),
        ("f (x) => (y) { y = Neg <a: float = @a> (x) }", "refers to 'a'; allowed: an attribute of the function: none"),
        (
            "f <alpha: int = 2> (x) => (y) { y = Celu <alpha: float = @alpha> (x) }",
            "refers to 'alpha', which is of another",
        ),
    ],
)
def test_bad_functions_are_named(functions, pattern):
    refused(MAIN + FUNCTION + functions.replace("FUNCTION", FUNCTION), pattern)


def test_unknown_attributes_of_a_function():
    refused(
        MAIN.replace("local.f (x)", "local.f <beta = 0.5> (x)") + FUNCTION + "f <alpha> (x) => (y) { y = Neg (x) }",
        "the function has no attribute 'beta'; allowed: alpha",
    )


def test_functions_that_stand_for_too_many_nodes(monkeypatch):
    monkeypatch.setattr(loading, "MOST_EXPANDED_NODES", 2000)  # in place of 100,000: it takes that long to get there
    # Each calls the next one ten times: 10**8 nodes.
    functions = [
        FUNCTION
        + f"f{i} (x) => (y) {{ "
        + " ".join(f"x{j} = local.f{i + 1} (x)" for j in range(9))
        + f" y = local.f{i + 1} (x) }}"
        for i in range(8)
    ]
    functions.append(FUNCTION + "f8 (x) => (y) { y = Neg (x) }")
    refused(MAIN.replace("local.f", "local.f0") + "\n".join(functions), "more than 2000 nodes", UnsupportedError)


def test_functions_that_call_each_other_too_deep():
    functions = [FUNCTION + f"f{i} (x) => (y) {{ y = local.f{i + 1} (x) }}" for i in range(70)]
    functions.append(FUNCTION + "f70 (x) => (y) { y = Neg (x) }")
    refused(MAIN.replace("local.f", "local.f0") + "\n".join(functions), "more than 64 deep", UnsupportedError)


# ---- operators that ONNX defines by functions


def test_an_operator_outside_of_the_catalogue_is_what_onnx_defines_it_by():
    """MeanVarianceNormalization is a function of operators that are there."""
    x = np.random.default_rng(0).standard_normal((2, 3, 4, 4)).astype(np.float32)
    y = ogive.onnx.load(node_model("MeanVarianceNormalization", 13, [("x", "tensor(float)")]))(x=x)
    axes = (0, 2, 3)
    expected = (x - x.mean(axes, keepdims=True)) / x.std(axes, keepdims=True)
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6)


def test_what_is_missing_is_named_with_what_needs_it():
    model = node_model("LayerNormalization", 17, [("x", "tensor(float)"), ("s", "tensor(float)")])
    with pytest.raises(
        UnsupportedError, match="^LayerNormalization node .* no operator LayerNormalization .opset 17.*Flatten|Concat"
    ):
        ogive.onnx.load(model)


def test_splitting_operators_of_very_many_inputs():
    names = [f"x{i}" for i in range(100)]
    arrays = {name: np.float32([i, -i]) for i, name in enumerate(names)}
    for operator, expected in (("Sum", [4950, -4950]), ("Mean", [49.5, -49.5])):
        model = ogive.onnx.load(node_model(operator, 13, [(name, "tensor(float)") for name in names]))
        assert model(arrays).tolist() == expected
        assert model(arrays).tolist() == expected


def test_helper_nodes_do_not_take_names_of_the_model():
    """A model may use the names that inlined values would get."""
    model = parser.parse_model(HEADER + MAIN + FUNCTION + "f (x) => (y) { a = Neg(x)  y = Neg(a) }")
    model.graph.node.insert(0, helper.make_node("Relu", ["x"], ["f 0/a"]))
    model.graph.node[1].input[0] = "f 0/a"
    assert ogive.onnx.load(model)(x=np.float32([-1, 2])).tolist() == [0, 2]
