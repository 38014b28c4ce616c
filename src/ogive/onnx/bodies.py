"""Operators that Ogive puts together from others: bodies of functions, in ONNX's own text form.

ONNX's schemas define many operators by a function; these have none there. The operators of ``com.microsoft`` are ONNX
Runtime's; their sources are its documentation (ContribOperators.md).

Functions: where the body of a function comes from, and a call's attributes inside of it.

A body is a list of nodes that stands for a node: one that the model brings along, or one of Ogive's own. Those
that ONNX's schemas carry are run for no operator: they round after every step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from onnx import AttributeProto, FunctionProto, NodeProto, parser

from ogive.errors import ModelError, message

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
    """The tensor that is normalised: the sum of two inputs, and of a bias where there is one, rounded once."""
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


def _quantised_softmax(node: NodeProto) -> str:
    """Softmax as an opset of ONNX has it: below 13 all axes from ``axis`` on are one row."""
    compute = "result = Softmax <axis: int = @axis> (X_number)"
    if next((attribute.i for attribute in node.attribute if attribute.name == "opset"), 13) < 13:
        compute = """flat = Flatten <axis: int = @axis> (X_number) shares = Softmax <axis = -1> (flat)
            shape = Shape (X) result = Reshape (shares, shape)"""
    return _quantised(["X"], compute, "<axis: int = -1, opset: int = 13>")(node)


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
    "QLinearSoftmax": (21, _quantised_softmax),
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


# ---- functions: where the body of a function comes from, and a call's attributes inside of it


#: The key that tells functions apart: domain, name and overload.
FunctionKey = tuple[str, str, str]


def key_of(node: NodeProto) -> FunctionKey:
    """The function that a node would call."""
    return normal_domain(node.domain), node.op_type, getattr(node, "overload", "")


def normal_domain(domain: str) -> str:
    """ONNX's own operators are in a domain with two names."""
    return "" if domain == "ai.onnx" else domain


def functions_of(functions: Iterable[FunctionProto], subject: str) -> dict[FunctionKey, FunctionProto]:
    """The functions that a model brings along."""
    found: dict[FunctionKey, FunctionProto] = {}
    for function in functions:
        key = normal_domain(function.domain), function.name, getattr(function, "overload", "")
        if not function.name:
            raise ModelError(message(subject, "it has a function without a name"))
        if key in found:
            raise ModelError(message(subject, f"it has the function {function.name!r} of {function.domain!r} twice"))
        found[key] = function
    return found


def call_attributes(function: FunctionProto, node: NodeProto, label: str) -> dict[str, AttributeProto | None]:
    """The values that a call gives a function's attributes: its own values over the defaults; None for those without."""
    values: dict[str, AttributeProto | None] = dict.fromkeys(function.attribute)
    values.update((default.name, default) for default in function.attribute_proto)
    for attribute in node.attribute:
        if attribute.name not in values:
            known = ", ".join(sorted(values)) or "none"
            raise ModelError(message(label, f"the function has no attribute {attribute.name!r}", known))
        values[attribute.name] = attribute
    return values


def bound_node(node: NodeProto, values: dict[str, AttributeProto | None], label: str) -> NodeProto:
    """A node of a function's body with the call's values where its attributes refer to the function's.

    An attribute that refers to one without a value is left out, so that the operator's own default holds.
    """
    if not any(attribute.ref_attr_name for attribute in node.attribute):
        return node
    bound = NodeProto()
    bound.CopyFrom(node)
    del bound.attribute[:]
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            bound.attribute.append(attribute)
            continue
        if attribute.ref_attr_name not in values:
            what = f"the attribute {attribute.name!r} refers to {attribute.ref_attr_name!r}"
            raise ModelError(message(label, what, f"an attribute of the function: {', '.join(values) or 'none'}"))
        value = values[attribute.ref_attr_name]
        if value is not None:
            if attribute.type and attribute.type != value.type:
                what = f"the attribute {attribute.name!r} refers to {value.name!r}, which is of another type"
                raise ModelError(message(label, what))
            bound.attribute.add().CopyFrom(value)
            bound.attribute[-1].name = attribute.name
    return bound
