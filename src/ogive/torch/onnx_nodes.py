"""The nodes that ``torch.onnx.export`` writes for Ogive's operators.

A runtime has a kernel for a node of the standard, and none for a formula in a dozen nodes. So an operator becomes, in this order:

1. the node of the standard, where the opset has it for this element type and these parameters;
2. the shortest form that the opset has, a row of `FORMS`;
3. the formula's body, as `ogive.onnx.export` writes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ogive.catalog import OPERATORS
from ogive.catalog.standards import rows
from ogive.errors import MissingPackageError, message
from ogive.operators.operator import Operator
from ogive.torch import formulas
from ogive.torch.registry import entries
from ogive.torch.tensor_operator import TensorOperator

#: A value of torch's exporter, with its element type and its shape.
Value = Any

#: Opset 18 is the oldest that torch's exporter writes, and that of the formulas' bodies.
OLDEST = 18

#: Element types of the exporter whose results a node in float32 gives, too: the result is rounded once more.
HALVES = ("FLOAT16", "BFLOAT16")


def onnx_translations() -> dict[Any, Callable[..., Any]]:
    """A table for ``torch.onnx.export``, which writes Ogive's operators as standard operators.

    That is the node of the standard where the file's opset has it: Gelu from 20 on, Swish from 24. An older opset gets the
    nodes that torch writes for its own operator, and an operator that no standard has those of its formula. The file runs
    everywhere, with the accuracy of what runs it. `ogive.onnx.load` runs it node by node. Operators of one's own are in the
    table once `wrap` has made functions of them.

    Raises MissingPackageError without the packages onnx and onnxscript, which the exporter needs too; the export itself
    UnsupportedError for formulas that look at bits.

    Pass it on: ``torch.onnx.export(model, args, custom_translation_table=table)``.

    >>> import torch, ogive.torch
    >>> table = ogive.torch.onnx_translations()
    >>> torch.ops.ogive.celu.default in table
    True
    """
    try:
        from onnxscript import evaluator
    except ModuleNotFoundError as error:
        what = f"the package {error.name} is not installed"
        way_out = "Install what torch's exporter needs: pip install onnx onnxscript"
        raise MissingPackageError(message("ogive.torch.onnx_translations", what, way_out=way_out)) from error
    return {
        found: _translation(operator, evaluator.default)
        for operator, found in entries().items()
        if not operator.gradient_count
    }


def _translation(operator: TensorOperator, evaluator: Callable[[], Any]) -> Callable[..., Any]:
    """A function of values of the exporter: the operator's tensors, and then numbers and choices."""

    def translate(*given: Any) -> Any:
        count = len(operator.tensors)
        values = dict(zip(operator.parameter_names, given[count:], strict=True))
        writer = _NodeWriter(evaluator())
        found = _standard_node(writer, operator.operator, given[:count], values)
        form = FORMS.get(operator.base.function)
        if found is None and form is not None:
            found = form(writer, *given[:count], **values)
        return _body(writer, operator, given[:count], values) if found is None else found

    return translate


class _NodeWriter:
    """The operators of the opset that the exporter writes: ``writer.Mul(x, 0.5)``."""

    def __init__(self, evaluator: Any) -> None:
        import onnxscript

        self._opset = getattr(evaluator, "opset", onnxscript.opset18)
        self.opset = max(int(self._opset.version), OLDEST)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(self._opset, name)
        return function


def _standard_node(
    writer: _NodeWriter, operator: Operator, tensors: Sequence[Value], values: Mapping[str, Any]
) -> Value | None:
    """The one node of the standard that carries the operator's name; None where the opset's does not compute the same."""
    from ogive.onnx.schemas import schema_of

    own = OPERATORS.get(operator.base.name)
    if not operator.onnx or own is not operator.base or operator.onnx in FORMED:
        return None
    schema: Any = schema_of(operator.onnx, writer.opset)
    if schema is None:
        return None
    choices = rows("onnx", operator.onnx)[0].choices
    attributes: dict[str, Any] = {"axis": -1} if operator.is_row_wise else {}
    for parameter in operator.parameters:
        value = values[parameter.name]
        if parameter.name in schema.attributes:
            attributes[parameter.name] = value
        elif value != choices.get(parameter.name, parameter.default):
            return None
    name = tensors[0].dtype.name
    if f"tensor({name.lower()})" in schema.inputs[0].types:
        return getattr(writer, operator.onnx)(*tensors, **attributes)
    if name not in HALVES or len(tensors) > 1:
        return None
    wide = writer.Cast(tensors[0], to=1)
    return writer.Cast(getattr(writer, operator.onnx)(wide, **attributes), to=int(tensors[0].dtype))


def _body(
    writer: _NodeWriter, operator: TensorOperator, tensors: Sequence[Value], values: Mapping[str, Any]
) -> Value | tuple[Value, ...]:
    """The nodes of the formula."""
    import onnx

    from ogive.onnx import export

    function = export(operator.operator, **{p.name: values[p.name] for p in operator.parameters if p.choices})
    known = dict(zip(function.input, tensors, strict=True))
    for node in function.node:
        attributes = {
            a.name: values[a.ref_attr_name] if a.ref_attr_name else onnx.helper.get_attribute_value(a)
            for a in node.attribute
        }
        results = getattr(writer, node.op_type)(*(known.get(name) for name in node.input), **attributes)
        known.update(zip(node.output, results if isinstance(results, tuple | list) else (results,), strict=True))
    results = tuple(known[name] for name in function.output)
    return results[0] if len(results) == 1 else results


# ---- forms of several nodes, and nodes with conditions; None where there is none for these values


def _number(writer: _NodeWriter, value: float, like: Value) -> Value:
    """A number of a tensor's element type."""
    import onnxscript

    return writer.Constant(value=onnxscript.ir.tensor(value, dtype=like.dtype))


def _swish(writer: _NodeWriter, x: Value, *, alpha: float = 1.0) -> Value:
    return writer.Mul(x, writer.Sigmoid(x if alpha == 1 else writer.Mul(x, _number(writer, alpha, x))))


def _gelu(writer: _NodeWriter, x: Value, *, approximate: str = "none") -> Value:
    half, one = (_number(writer, value, x) for value in (0.5, 1.0))
    if approximate == "none":
        inner = writer.Erf(writer.Div(x, _number(writer, math.sqrt(2), x)))
    else:
        cube = writer.Pow(x, _number(writer, 3.0, x))
        bent = writer.Add(x, writer.Mul(_number(writer, 0.044715, x), cube))
        inner = writer.Tanh(writer.Mul(_number(writer, math.sqrt(2 / math.pi), x), bent))
    return writer.Mul(x, writer.Mul(half, writer.Add(inner, one)))


def _gelu_of_opset(writer: _NodeWriter, x: Value, approximate: str = "none") -> Value:
    return writer.Gelu(x, approximate=approximate) if writer.opset >= 20 else _gelu(writer, x, approximate=approximate)


def _clip(writer: _NodeWriter, x: Value, *, min: float, max: float) -> Value | None:  # noqa: A002
    return writer.Clip(x, _number(writer, min, x), _number(writer, max, x)) if min <= max else None


def _clip_by_tensors(writer: _NodeWriter, x: Value, min: Value, max: Value, *, wins: str) -> Value | None:  # noqa: A002
    has_numbers = all(bound.shape is not None and not len(bound.shape) for bound in (min, max))
    return writer.Clip(x, min, max) if wins == "max" and has_numbers else None


def _prelu(writer: _NodeWriter, x: Value, slope: Value) -> Value | None:
    """The standard's slopes broadcast to x, not x to them."""
    if x.shape is None or slope.shape is None or len(slope.shape) > len(x.shape):
        return None
    last = x.shape[len(x.shape) - len(slope.shape) :]
    fits = all(own in (1, of_x) for own, of_x in zip(slope.shape, last, strict=True))
    return writer.PRelu(x, slope) if fits else None


def _softplus(writer: _NodeWriter, x: Value, *, beta: float, threshold: float) -> Value | None:
    """Beyond 20 softplus and x are the same number of all types but float64."""
    if beta != 1:
        return None
    found = writer.Softplus(x)
    if threshold >= 20 and x.dtype.name != "DOUBLE":
        return found
    return writer.Where(writer.Greater(x, _number(writer, threshold, x)), x, found)


def _shrink(writer: _NodeWriter, x: Value, *, bias: float, lambd: float, first: str) -> Value | None:
    """The order of the two conditions matters where both can hold."""
    return writer.Shrink(x, bias=bias, lambd=lambd) if first == "negative" or lambd >= 0 else None


def _hardshrink(writer: _NodeWriter, x: Value, *, lambd: float) -> Value:
    """Shrink of the standard gives 0 for NaN."""
    is_small = writer.LessOrEqual(writer.Abs(x), _number(writer, lambd, x))
    return writer.Where(is_small, _number(writer, 0.0, x), x)


def _layer_normalization(writer: _NodeWriter, x: Value, scale: Value, bias: Value, *, epsilon: float) -> Value | None:
    """The standard computes in float32, also of float64, and its scale is one row."""
    is_row = all(value.shape is not None and len(value.shape) == 1 for value in (scale, bias))
    if x.dtype.name == "DOUBLE" or not is_row:
        return None
    results = writer.LayerNormalization(x, scale, bias, axis=-1, epsilon=epsilon)
    return results[0] if isinstance(results, tuple | list) else results  # the others: means, inverse deviations


def _rms_normalization(writer: _NodeWriter, x: Value, scale: Value, *, epsilon: float) -> Value | None:
    is_row = scale.shape is not None and len(scale.shape) == 1
    if writer.opset < 23 or x.dtype.name == "DOUBLE" or not is_row:
        return None
    return writer.RMSNormalization(x, scale, axis=-1, epsilon=epsilon)


def _logsumexp(writer: _NodeWriter, x: Value) -> Value:
    import onnxscript

    last = writer.Constant(value=onnxscript.ir.tensor([-1], dtype=onnxscript.ir.DataType.INT64))
    return writer.ReduceLogSumExp(x, last, keepdims=0)


def _softshrink(writer: _NodeWriter, x: Value, *, lambd: float) -> Value | None:
    """Shrink of the standard gives 0 for NaN."""
    within = _clip(writer, x, min=-lambd, max=lambd)
    return None if within is None else writer.Sub(x, within)


def _clipped_gelu(writer: _NodeWriter, x: Value, *, min: float, max: float) -> Value | None:  # noqa: A002
    return _clip(writer, _gelu_of_opset(writer, x), min=min, max=max) if min <= max else None


def _scaled(writer: _NodeWriter, x: Value, factor: float) -> Value:
    return x if factor == 1 else writer.Mul(_number(writer, factor, x), x)


def _derf(writer: _NodeWriter, x: Value, weight: Value, bias: Value, *, alpha: float, shift: float) -> Value:
    moved = _scaled(writer, x, alpha)
    moved = writer.Add(moved, _number(writer, shift, x)) if shift else moved
    return writer.Add(writer.Mul(weight, writer.Erf(moved)), bias)


def _squared_relu(writer: _NodeWriter, x: Value) -> Value:
    positive = writer.Relu(x)
    return writer.Mul(positive, positive)


def _clamped_swiglu(
    writer: _NodeWriter, a: Value, b: Value, *, alpha: float, limit: float, bias: float
) -> Value | None:
    linear = _clip(writer, b, min=-limit, max=limit)
    if linear is None:
        return None
    gate = writer.Min(a, _number(writer, limit, a))
    moved = writer.Add(linear, _number(writer, bias, b)) if bias else linear
    return writer.Mul(_swish(writer, gate, alpha=alpha), moved)


#: Operators of the standard with conditions on shapes: their forms check them.
FORMED = ("Clip", "PRelu")

_OF_CATALOGUE: dict[str, Callable[..., Value | None]] = {
    "clamp": _clip,
    "clamped_swiglu": _clamped_swiglu,
    "clip": _clip_by_tensors,
    "clipped_gelu": _clipped_gelu,
    "derf": _derf,
    "dyt": lambda w, x, weight, bias, *, alpha: w.Add(w.Mul(weight, w.Tanh(_scaled(w, x, alpha))), bias),
    "geglu": lambda w, a, b, *, approximate: w.Mul(_gelu_of_opset(w, a, approximate), b),
    "gelu": _gelu,
    "glu": lambda w, a, b: w.Mul(a, w.Sigmoid(b)),
    "layer_normalization": _layer_normalization,
    # Log(Sigmoid(x)), which torch writes, ends at -18 in ONNX Runtime.
    "log_sigmoid": lambda w, x: w.Neg(w.Softplus(w.Neg(x))),
    "logsumexp": _logsumexp,
    "prelu": _prelu,
    "reglu": lambda w, a, b: w.Mul(w.Relu(a), b),
    "rms_normalization": _rms_normalization,
    "shrink": _shrink,
    "squared_relu": _squared_relu,
    "softmin": lambda w, x: w.Softmax(w.Neg(x), axis=-1),
    "swiglu": lambda w, a, b, *, alpha: w.Mul(_swish(w, a, alpha=alpha), b),
    "swish": _swish,
    "tanhshrink": lambda w, x: w.Sub(x, w.Tanh(x)),
}

#: By the function of the formula, so that all contracts have the same form.
FORMS: dict[Any, Callable[..., Value | None]] = {
    **{OPERATORS[name].function: form for name, form in _OF_CATALOGUE.items()},
    formulas.hardshrink.function: _hardshrink,
    formulas.hardsigmoid.function: lambda w, x: w.HardSigmoid(x, alpha=1 / 6, beta=0.5),
    formulas.hardtanh.function: _clip,
    formulas.softplus.function: _softplus,
    formulas.softshrink.function: _softshrink,
}
