"""Operators that Ogive puts together from others: bodies of functions, in ONNX's own text form.

ONNX's schemas define many operators by a function; these have none there. The operators of ``com.microsoft`` are ONNX
Runtime's; their sources are its documentation (ContribOperators.md).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from onnx import FunctionProto, NodeProto, parser

__all__ = ["MICROSOFT", "body_of"]

#: The domain of ONNX Runtime's own operators.
MICROSOFT = "com.microsoft"

Body = Callable[[NodeProto], str]


def _function(domain: str, name: str, opset: int, text: str) -> str:
    """``text``: attributes, inputs, outputs and nodes, as in ``<a: float = 1.0> (x) => (y) { y = Neg(x) }``."""
    attributes, rest = text[: text.index(">") + 1] if text.startswith("<") else "", text[text.find("(") :]
    # ONNX's parser takes no default for an attribute of a function without its type.
    return f'<domain: "{domain}", opset_import: ["" : {opset}]> {name} {attributes} {rest}'


def _has(node: NodeProto, place: int) -> bool:
    return len(node.input) > place and bool(node.input[place])


# ---- ONNX's own


def _layer(node: NodeProto) -> str:
    inputs = "X, scale, B" if _has(node, 2) else "X, scale"
    given = "axis: int = @axis, epsilon: float = @epsilon, stash_type: int = @stash_type"
    return f"""<axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1> ({inputs}) => (Y, mean, inverse) {{
        Y, mean, inverse = LayerNormalization <{given}> ({inputs})
    }}"""


#: By operator: the opset of the body, and its text. ONNX Runtime's optimiser writes SimplifiedLayerNormalization, and
#: LayerNormalization into models of opsets that do not have it yet.
_ONNX: dict[str, tuple[int, Body]] = {
    "LayerNormalization": (17, _layer),
    "SimplifiedLayerNormalization": (
        23,
        lambda _: (
            """<axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1> (X, scale) => (Y) {
            Y = RMSNormalization <axis: int = @axis, epsilon: float = @epsilon, stash_type: int = @stash_type> (X, scale)
        }"""
        ),
    ),
}


# ---- ONNX Runtime's


def _text(text: str) -> Body:
    return lambda _: text


def _fast_gelu(node: NodeProto) -> str:
    if not _has(node, 1):
        return '(X) => (Y) { Y = Gelu <approximate = "tanh"> (X) }'
    return '(X, bias) => (Y) { sum = Add (X, bias) Y = Gelu <approximate = "tanh"> (sum) }'


def _skip_layer(node: NodeProto) -> str:
    inputs = "total, gamma, beta" if _has(node, 3) else "total, gamma"
    return f"""<epsilon: float = 1e-5> (input, skip, gamma, beta, bias) => (output, mean, inverse, sum) {{
        {_total(node, 4)}
        output, mean, inverse = LayerNormalization <axis = -1, epsilon: float = @epsilon> ({inputs})
        sum = Identity (total)
    }}"""


def _skip_simplified(node: NodeProto) -> str:
    return f"""<epsilon: float = 1e-5> (input, skip, gamma, bias) => (output, mean, inverse, sum) {{
        {_total(node, 3)}
        output = RMSNormalization <axis = -1, epsilon: float = @epsilon> (total, gamma)
        sum = Identity (total)
    }}"""


def _total(node: NodeProto, bias: int) -> str:
    """What is normalised: the sum of two inputs, and of a bias where there is one, rounded once."""
    if _has(node, bias):
        return "total = Sum (input, skip, bias)"
    return "total = Add (input, skip)"


def _quantised(inputs: list[str], compute: str, attributes: str = "") -> Body:
    """Numbers for the integers, a computation on them, and integers again.

    Each input is an integer, its scale and its zero point; behind them stand the scale and zero point of the result.
    """

    def body(node: NodeProto) -> str:
        names, steps = [], []
        for i, name in enumerate(inputs):
            names += [name, f"{name}_scale", f"{name}_zero_point"]
            zero = f", {name}_zero_point" if _has(node, 3 * i + 2) else ""
            steps.append(f"{name}_number = DequantizeLinear ({name}, {name}_scale{zero})")
        zero = "result_zero_point"
        if not _has(node, 3 * len(inputs) + 1):
            zero = "zero"
            steps.append(f"none = Constant <value_int = 0> () zero = CastLike (none, {inputs[0]})")
        end = f"Y = QuantizeLinear (result, result_scale, {zero})"
        names += ["result_scale", "result_zero_point"]
        return f"{attributes} ({', '.join(names)}) => (Y) {{ {' '.join(steps)} {compute} {end} }}"

    return body


_MICROSOFT: dict[str, tuple[int, Body]] = {
    "BiasGelu": (20, _text("(A, B) => (C) { sum = Add (A, B) C = Gelu (sum) }")),
    "BiasSoftmax": (
        11,
        _text(
            "<axis: int = 1, is_inner_broadcast: int = 0> (data, bias) => (output) { sum = Add (data, bias) output = Softmax <axis: int = @axis> (sum) }"
        ),
    ),
    "DequantizeLinear": (
        21,
        lambda node: (
            "<axis: int = 1> (x, scale, zero) => (y) { y = DequantizeLinear <axis: int = @axis> (x, scale"
            + (", zero" if _has(node, 2) else "")
            + ") }"
        ),
    ),
    "FastGelu": (20, _fast_gelu),
    "Gelu": (20, _text("(X) => (Y) { Y = Gelu (X) }")),
    "QLinearAdd": (21, _quantised(["A", "B"], "result = Add (A_number, B_number)")),
    "QLinearLeakyRelu": (
        21,
        _quantised(["X"], "result = LeakyRelu <alpha: float = @alpha> (X_number)", "<alpha: float = 0.01>"),
    ),
    "QLinearMul": (21, _quantised(["A", "B"], "result = Mul (A_number, B_number)")),
    "QLinearSigmoid": (21, _quantised(["X"], "result = Sigmoid (X_number)")),
    "QLinearSoftmax": (
        21,
        _quantised(["X"], "result = Softmax <axis: int = @axis> (X_number)", "<axis: int = -1, opset: int = 13>"),
    ),
    "QuantizeLinear": (
        21,
        lambda node: (
            "<axis: int = 1> (x, scale, zero) => (y) { y = QuantizeLinear <axis: int = @axis> (x, scale"
            + (", zero" if _has(node, 2) else "")
            + ") }"
        ),
    ),
    "QuickGelu": (24, _text("<alpha: float = 1.702> (X) => (Y) { Y = Swish <alpha: float = @alpha> (X) }")),
    "SkipLayerNormalization": (23, _skip_layer),
    "SkipSimplifiedLayerNormalization": (23, _skip_simplified),
}


def body_of(node: NodeProto, domain: str) -> FunctionProto | None:
    """The function that stands for a node; None where there is none."""
    found = (_MICROSOFT if domain == MICROSOFT else _ONNX).get(node.op_type) if domain in ("", MICROSOFT) else None
    if found is None:
        return None
    opset, make = found
    return _parsed(_function(domain, node.op_type, opset, make(node)))


@cache
def _parsed(text: str) -> FunctionProto:
    return parser.parse_function(text)
