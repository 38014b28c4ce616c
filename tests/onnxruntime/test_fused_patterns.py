"""The patterns that networks have between their products are one kernel each, in every spelling that exporters write."""

import pytest

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")
pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")

from ogive.onnxruntime.node_groups import ModelWiring, find_groups  # noqa: E402
from tests.onnx.models import text_model  # noqa: E402

NUMBERS = {
    "half": 0.5,
    "one": 1.0,
    "two": 2.0,
    "three": 3.0,
    "six": 6.0,
    "zero": 0.0,
    "root": 1.4142135,
    "over": 0.7071068,
}
NUMBERS |= {"cubic": 0.044715, "pi": 0.7978846, "quick": 1.702, "scale": 0.125, "eps": 1e-5, "least": -1e9}  # fmt: skip

ACTIVATIONS = {
    "hard-swish": "y = HardSwish(x)",
    "hard-swish by its gate": "a = HardSigmoid <alpha = 0.16666667, beta = 0.5> (x) y = Mul(x, a)",
    "hard-swish of Paddle": "a = Add(x, three) b = Clip(a, zero, six) c = Mul(x, b) y = Div(c, six)",
    "hard-swish of torch": "a = Add(x, three) b = Clip(a, zero, six) c = Div(b, six) y = Mul(x, c)",
    "SiLU": "a = Sigmoid(x) y = Mul(x, a)",
    "SiLU by exp": "a = Neg(x) b = Exp(a) c = Add(b, one) y = Div(x, c)",
    "GELU": "y = Gelu(x)",
    "GELU by erf": "a = Div(x, root) b = Erf(a) c = Add(b, one) d = Mul(x, c) y = Mul(d, half)",
    "GELU by erf, half first": "h = Mul(x, half) a = Mul(x, over) b = Erf(a) c = Add(b, one) y = Mul(h, c)",
    "GELU by erf, half inside": "a = Div(x, root) b = Erf(a) c = Add(b, one) d = Mul(c, half) y = Mul(x, d)",
    "GELU by tanh": 'y = Gelu <approximate = "tanh"> (x)',
    "GELU by tanh and Pow": """a = Pow(x, three) b = Mul(a, cubic) c = Add(x, b) d = Mul(c, pi) e = Tanh(d) f = Add(e, one)
        g = Mul(x, half) y = Mul(g, f)""",
    "GELU by tanh and products": """a = Mul(x, x) b = Mul(a, x) c = Mul(b, cubic) d = Add(x, c) e = Mul(d, pi) f = Tanh(e)
        g = Add(f, one) h = Mul(x, g) y = Mul(h, half)""",
    "GELU by tanh, factored": """a = Mul(x, x) b = Mul(a, cubic) c = Add(b, one) d = Mul(x, pi) e = Mul(d, c) f = Tanh(e)
        g = Add(f, one) h = Mul(half, x) y = Mul(h, g)""",
    "quick GELU": "a = Mul(x, quick) b = Sigmoid(a) y = Mul(x, b)",
    "mish by parts": "a = Softplus(x) b = Tanh(a) y = Mul(x, b)",
}


def groups(body, opset=20, inputs="float[B,N,64] x", output="float[B,N,64] y"):
    """The operators of each kernel of a model; what moves elements is in none."""
    used = set(body.replace("(", " ").replace(")", " ").replace(",", " ").split())
    numbers = ", ".join(f"float {name} = {{{value}}}" for name, value in NUMBERS.items() if name in used)
    lists = ", ".join(f"int64[1] {name} = {{{v}}}" for name, v in (("last", -1), ("from", 0), ("mid", 32), ("to", 64)) if name in used)  # fmt: skip
    constants = ", ".join(filter(None, (numbers, lists)))
    model = text_model(f"m ({inputs}) => ({output}) {'<' + constants + '>' if constants else ''} {{ {body} }}", opset)
    return [group.operators for group in find_groups(ModelWiring(model), "exact")]


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_an_activation_is_one_kernel(name):
    body = ACTIVATIONS[name]
    assert len(groups(body)) == 1
    assert sum(map(len, groups(body))) == len(text_model(f"m (float[N] x) => (float[N] y) {{ {body} }}", 20).graph.node)


GATES = {"SwiGLU": "s = Sigmoid(a) g = Mul(a, s)", "GEGLU": "g = Gelu(a)", "ReGLU": "g = Relu(a)"}
HALVES = {
    "Split": "a, b = Split <axis = -1, num_outputs = 2> (x)",
    "Slice": "a = Slice(x, from, mid, last) b = Slice(x, mid, to, last)",
}


@pytest.mark.matrix(share=3)
@pytest.mark.parametrize("halves", HALVES)
@pytest.mark.parametrize("gate", GATES)
def test_a_gate_of_halves_is_one_kernel(gate, halves):
    found = groups(f"{HALVES[halves]} {GATES[gate]} y = Mul(g, b)", output="float[B,N,32] y")
    assert found == [(*[node.split("(")[0].split()[-1] for node in GATES[gate].split(")")[:-1]], "Mul")]


ROWS = {
    "residual and LayerNorm": ("t = Add(x, r) y = LayerNormalization(t, w, v)", 2),
    "residual and RMSNorm of primitives": (
        """t = Add(x, r) a = Pow(t, two) b = ReduceMean(a, last) c = Add(b, eps) d = Sqrt(c) e = Reciprocal(d)
        f = Mul(t, e) y = Mul(w, f)""",
        8,
    ),
    "LayerNorm of primitives": (
        """m = ReduceMean(x, last) c = Sub(x, m) s = Pow(c, two) a = ReduceMean(s, last) b = Add(a, eps) d = Sqrt(b)
        n = Div(c, d) k = Mul(n, w) y = Add(k, v)""",
        9,
    ),
    "softmax, scaled and masked": ("a = Mul(x, scale) b = Add(a, r) y = Softmax(b)", 3),
    "softmax, chosen and masked": ("b = Where(q, x, least) y = Softmax(b)", 2),
    "softmax of torch": ("a = Mul(x, scale) b = Add(a, r) s = Softmax(b) n = IsNaN(s) y = Where(n, zero, s)", 5),
}


@pytest.mark.parametrize("name", ROWS)
def test_rows_with_what_is_beside_them_are_one_kernel(name):
    body, nodes = ROWS[name]
    more = {"r": "float[B,N,64] r", "w": "float[64] w", "v": "float[64] v", "q": "bool[B,N,64] q"}
    words = set(body.replace("(", " ").replace(")", " ").replace(",", " ").split())
    inputs = ", ".join(["float[B,N,64] x", *(text for letter, text in more.items() if letter in words)])
    assert [len(group) for group in groups(body, inputs=inputs)] == [nodes]


def test_the_element_wise_part_of_a_rotary_embedding_is_one_kernel():
    """The half that is turned is moved before."""
    body = """a, b = Split <axis = -1, num_outputs = 2> (x) n = Neg(b) o = Concat <axis = -1> (n, a)
        p = Mul(x, c) q = Mul(o, s) y = Add(p, q)"""
    found = groups(body, inputs="float[B,N,64] x, float[N,64] c, float[N,64] s")
    assert sorted(found) == [("Mul", "Mul", "Add"), ("Neg",)]


@pytest.mark.parametrize("middle", ["b = HardSwish(a)", "s = Sigmoid(a) b = Mul(a, s)", "b = Gelu(a)"])
def test_an_activation_between_integers_is_one_kernel(middle):
    body = f"a = DequantizeLinear(x, s1, z1) {middle} y = QuantizeLinear(b, s2, z2)".replace("s1", "scale").replace(
        "s2", "eps"
    )
    body = body.replace("z1", "z").replace("z2", "z")
    found = groups(body, inputs="uint8[N] x, uint8 z", output="uint8[N] y")
    assert [len(group) for group in found] == [2 + middle.count(" = ")]
