"""Functions that a model brings along, and those that ONNX defines operators by."""

import tracemalloc

import numpy as np
import pytest
from onnx import AttributeProto, helper, numpy_helper, parser

import ogive.onnx
from ogive.errors import ModelError, ParameterError, UnsupportedError
from tests.onnx.models import node_model

HEADER = '<ir_version: 10, opset_import: ["" : 18, "local" : 1]>\n'
MAIN = "t (float[N] x) => (float[N] y) { y = local.f (x) }\n"
FUNCTION = '<opset_import: ["" : 18, "local" : 1], domain: "local">\n'


def load(text, **options):
    return ogive.onnx.load(parser.parse_model(HEADER + text), **options)


def refused(text, pattern, error=ModelError, **options):
    with pytest.raises(error, match=pattern):
        load(text, **options)


def rotated(shape):
    """RotaryEmbedding of a value that another node computes; the standard's text has it for three axes and four."""
    text = f"""<ir_version: 10, opset_import: ["" : 23]>
        t ({shape} x, float[5,2] c, float[5,2] s, int64[1,3] p) => (y) {{
            v = Neg(x)
            y = RotaryEmbedding <num_heads = 2> (v, c, s, p)
        }}"""
    return parser.parse_model(text)


@pytest.mark.parametrize("shape", [(1, 2, 3, 4), (1, 3, 8)])
def test_an_operator_that_depends_on_the_rank(shape):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape).astype(np.float32)
    c, s = rng.standard_normal((2, 5, 2)).astype(np.float32)
    p = np.array([[4, 0, 2]])
    found = ogive.onnx.load(rotated(f"float[{','.join(map(str, shape))}]"))(x=x, c=c, s=s, p=p)
    heads = -x if len(shape) == 4 else -x.reshape(1, 3, 2, 4).transpose(0, 2, 1, 3)
    a, b = heads[..., :2], heads[..., 2:]
    expected = np.concatenate([a * c[p[0]] - b * s[p[0]], b * c[p[0]] + a * s[p[0]]], -1)
    expected = expected if len(shape) == 4 else expected.transpose(0, 2, 1, 3).reshape(shape)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


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
        ("f (x) => (y) { y = Neg(q) }", "in the function f: its input 'q' is not computed before it"),
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


@pytest.mark.matrix(share=16, pool="slow")
def test_functions_that_stand_for_too_many_nodes():
    # Each calls the next one ten times: 10**8 nodes.
    functions = [
        FUNCTION
        + f"f{i} (x) => (y) {{ "
        + " ".join(f"x{j} = local.f{i + 1} (x)" for j in range(9))
        + f" y = local.f{i + 1} (x) }}"
        for i in range(8)
    ]
    functions.append(FUNCTION + "f8 (x) => (y) { y = Neg (x) }")
    text = MAIN.replace("local.f", "local.f0") + "\n".join(functions)
    refused(text, "more than 10000 nodes; .* Give ogive.onnx.load a larger node_limit", UnsupportedError)
    refused(text, "more than 2000 nodes; allowed: 2000 nodes", UnsupportedError, node_limit=2000)


def test_the_limit_of_nodes_can_be_set():
    text = MAIN + FUNCTION + "f (x) => (y) { a = Neg(x)  b = Abs(a)  y = Neg(b) }"
    assert load(text, node_limit=3)(np.float32([1, -2])).tolist() == [-1, -2]
    refused(text, "more than 2 nodes; allowed: 2 nodes", UnsupportedError, node_limit=2)
    for wrong in (-1, 1.5, "3", None):
        with pytest.raises(ParameterError, match=r"node_limit is .*; allowed: a whole number from 0 on"):
            load(text, node_limit=wrong)


def many_calls(count, name):
    """A model that calls a function of two nodes many times; a value in the body has this name."""
    function = FUNCTION + "f (x) => (y) { NAME = Relu(x)  y = Relu(NAME) }".replace("NAME", name)
    return parser.parse_model(
        HEADER
        + "t (float[N] x) => (float[N] y0) { "
        + " ".join(f"y{i} = local.f (x)" for i in range(count))
        + " }\n"
        + function
    )


def peak_of(load):
    """The most bytes that Python's objects take while something is done."""
    tracemalloc.start()
    try:
        load()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_names_in_functions_are_not_copied_for_every_call():
    name = "v" * 1_000_000
    model = many_calls(20, name)
    assert peak_of(lambda: ogive.onnx.load(model)) < 12e6


def test_labels_of_nodes_in_functions_are_not_copied_for_every_call():
    model = many_calls(20, "v")
    for node in model.functions[0].node:
        node.name = "n" * 1_000_000
    assert peak_of(lambda: ogive.onnx.load(model)) < 12e6


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("what", ["names", "constants", "attributes"])
def test_functions_that_stand_for_too_many_bytes(what):
    """A file of 2 MB that would stand for 300 or 600 MB."""
    model = many_calls(300, "v" * (1_000_000 if what == "names" else 1))
    body = model.functions[0]
    if what == "constants":
        value = numpy_helper.from_array(np.zeros(500_000, np.float32))
        body.node.append(helper.make_node("Constant", [], ["c"], value=value))
    if what == "attributes":  # an attribute of the outer function becomes one of every node inside
        inner = model.functions.add()
        inner.CopyFrom(body)
        inner.name = "g"
        inner.attribute.append("value")
        node = inner.node.add(op_type="Constant", output=["c"])
        node.attribute.add(name="value", ref_attr_name="value", type=AttributeProto.TENSOR)
        body.ClearField("node")
        value = numpy_helper.from_array(np.zeros(500_000, np.float32))
        body.node.append(helper.make_node("g", ["x"], ["y"], domain="local", value=value))
        model.graph.ClearField("node")
        model.graph.node.extend([helper.make_node("f", ["x"], [f"y{i}"], domain="local") for i in range(300)])

    def load_it():
        with pytest.raises(UnsupportedError, match="bodies of functions have more than 67108864 bytes in all calls"):
            ogive.onnx.load(model)

    assert peak_of(load_it) < 200e6


def test_equal_names_of_values_in_functions():
    """A number tells them apart, also from values of the main graph that are called like it."""
    text = (
        "t (float[N] x) => (float[N] y, float[N] z) { y = local.f (x)  z = local.f (y) }\n"
        + FUNCTION
        + "f (x) => (y) { a = Neg(x)  y = Add(a, a) }"
    )
    proto = parser.parse_model(HEADER + text)
    for number in range(20):
        proto.graph.node.insert(0, helper.make_node("Relu", ["x"], [f"a #{number}"]))
    results = ogive.onnx.load(proto)(np.float32([1, -3]))
    assert [result.tolist() for result in results] == [[-2, 6], [4, -12]]


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


def test_what_is_missing_is_named_itself():
    """Not what ONNX would make it of."""
    model = node_model("Attention", 23, [(name, "tensor(float)") for name in "qkv"])
    with pytest.raises(UnsupportedError, match=r"^Attention node .* no operator Attention .opset 23.(?!.*MatMul)"):
        ogive.onnx.load(model)


@pytest.mark.matrix(share=16, pool="slow")
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
