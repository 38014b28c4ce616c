"""The picture of an operator: its curve and the derivative's, as points.

An operator of several tensors is drawn over its first one, with numbers for the others; an operator over rows as the
first element of a row whose others stay; an operator of integers as points. The tables below have what the default,
-4 to 4, shows badly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ogive.errors import OgiveError
from ogive.operators.operator import Operator

#: The ends of the horizontal axis, by operator.
RANGES: dict[str, tuple[float, float]] = {
    name: ends
    for ends, names in {
        (-1.0, 1.0): "acos asin atanh erfinv",
        (0.0, 5.0): "acosh log log10 log1mexp log2 rsqrt sqrt",
        (0.0, 32.0): "bit_count bit_shift_right bitwise_and bitwise_not bitwise_or bitwise_xor",
        (0.0, 16.0): "bit_shift_left",
        (-7.0, 7.0): "cos sin",
        (-3.0, 3.0): "erf",
        (-4.0, 2.0): "exp",
        (0.0, 1.0): "logit",
        (0.0, 3.0): "pow",
        (-5.0, 5.0): "tan",
    }.items()
    for name in names.split()
}

#: The other tensors, by operator: a curve for each row.
OTHERS: dict[str, tuple[tuple[float, ...], ...]] = {
    "bit_shift_left": ((1,), (2,)),
    "bit_shift_right": ((1,), (2,)),
    "bitwise_and": ((6,),),
    "bitwise_or": ((6,),),
    "bitwise_xor": ((6,),),
    "clip": ((-1.0, 2.0),),
    "clip_grad": ((1.0, -1.0, 2.0),),
    "cross_entropy": ((1 / 3,),),
    "dequantize_linear": ((0.5, 1),),
    "div": ((0.5,), (2.0,)),
    "heaviside": ((0.5,),),
    "mod": ((1.5,),),
    "modulus_floor": ((1.5,), (-1.5,)),
    "modulus_truncate": ((1.5,), (-1.5,)),
    "pow": ((0.5,), (1.0,), (2.0,), (-1.0,)),
    "prelu": ((0.25,), (-0.5,)),
    "quantize_linear": ((0.5, 3),),
    "where": ((1.0, -1.0),),
    "quantized_linear_add": ((0.5, 0, 3, 1.0, 0, 0.5, 0),),
}

#: The parameters, by operator: a curve for each row. Others are drawn with the default, half of it and twice it.
PARAMETERS: dict[str, tuple[dict[str, Any], ...]] = {
    "celu": ({"alpha": 1.0}, {"alpha": 0.5}, {"alpha": 2.0}),
    "clamp": ({"min": -1.0, "max": 2.0},),
    "clip": ({"wins": "max"},),
    "clamp_grad": ({"min": -1.0, "max": 2.0},),
    "layer_normalization": ({"epsilon": 1e-5}, {"epsilon": 0.1}, {"epsilon": 1.0}),
    "leaky_relu": ({"alpha": 0.01}, {"alpha": 0.1}, {"alpha": 0.3}),
    "linear": ({"alpha": 1.0, "beta": 0.0}, {"alpha": 0.5, "beta": 1.0}),
    "parametric_softplus": ({"alpha": 1.0, "beta": 1.0}, {"alpha": 1.0, "beta": 2.0}, {"alpha": 0.5, "beta": 1.0}),
    "rms_normalization": ({"epsilon": 1e-5}, {"epsilon": 0.1}, {"epsilon": 1.0}),
    "scaled_tanh": ({"alpha": 1.0, "beta": 0.5}, {"alpha": 1.7159, "beta": 2 / 3}),
    "shrink": ({"bias": 0.0, "lambd": 0.5}, {"bias": 0.5, "lambd": 0.5}, {"bias": 1.0, "lambd": 1.0}),
    "standardize": ({"epsilon": 1e-5}, {"epsilon": 0.1}, {"epsilon": 1.0}),
    "threshold": ({"min": -1.0}, {"min": 1.0}),
}

#: The values of other tensors where the table says nothing.
USUAL_OTHER = 1.5

#: The elements of a row beside the one that is drawn.
REST_OF_ROW = (0.0, 1.0)

POINTS = 801

#: Values further from 0 are cut off.
TALLEST = 6.0


@dataclass(frozen=True)
class Curve:
    """One line: where it jumps or has no value, ``y`` is NaN."""

    label: str
    x: np.ndarray
    y: np.ndarray


@dataclass(frozen=True)
class Drawing:
    """Everything in one picture."""

    name: str
    low: float
    high: float
    curves: list[Curve]
    derivatives: list[Curve] = field(default_factory=list)
    """One for each curve, or none."""
    is_integer: bool = False
    """Integers are drawn as points."""

    def heights(self, curves: list[Curve]) -> tuple[float, float]:
        """The ends of the vertical axis for these curves, with a margin."""
        finite = [curve.y[np.isfinite(curve.y)] for curve in curves]
        values = np.concatenate([*finite, np.zeros(1)])
        if not self.is_integer:
            values = np.clip(values, -TALLEST, TALLEST)
        low, high = float(values.min()), float(values.max())
        margin = 0.06 * (high - low) or 0.5
        return low - margin, high + margin


def drawing(op: Operator, parameters: Mapping[str, Any] | None = None, *, with_derivative: bool = True) -> Drawing:
    """The points of an operator's picture; with given parameters a single curve.

    >>> import ogive
    >>> drawn = drawing(ogive.celu)
    >>> [curve.label for curve in drawn.curves]
    ['alpha = 1', 'alpha = 0.5', 'alpha = 2']
    >>> len(drawn.derivatives)
    3
    """
    low, high = RANGES.get(op.name, (-4.0, 4.0))
    is_integer = not any(t.is_float for s in op.signatures for t in s.inputs[:1]) and not op.truth_inputs
    x = np.arange(int(low), int(high)) if is_integer else np.linspace(low, high, POINTS)
    rows = [dict(parameters)] if parameters else variants(op)
    others = OTHERS.get(op.name) or ((USUAL_OTHER,) * (op.inputs - 1),)
    curves, derivatives = [], []
    for values in rows:
        for other in others:
            label = _label(op, values, other, many=len(rows) * len(others) > 1 or bool(other))
            curves.append(Curve(label, x, heights_of(op, op, x, other, values)))
            slope = _derivative(op) if with_derivative and not is_integer else None
            if slope is not None:
                derivatives.append(Curve(label, x, heights_of(op, slope, x, other, values)))
    return Drawing(op.name, low, high, curves, derivatives, is_integer)


def variants(op: Operator) -> list[dict[str, Any]]:
    """The parameters that are drawn."""
    if op.name in PARAMETERS:
        return list(PARAMETERS[op.name])
    fixed = {p.name: 1.0 for p in op.parameters if p.is_required}
    for p in op.parameters:
        if p.choices:
            return [{**fixed, p.name: choice} for choice in p.choices]
        if not p.is_required and np.isfinite(p.default) and p.default:
            return [{**fixed, p.name: p.default * factor} for factor in (1.0, 0.5, 2.0)]
    return [fixed]


def _label(op: Operator, values: Mapping[str, Any], other: tuple[float, ...], *, many: bool) -> str:
    if not many:
        return ""
    known = [(name, value) for name, value in values.items()]
    known += zip(op.tensors[1:], other, strict=False) if op.inputs > 1 else []
    return ", ".join(f"{name} = {value:.4g}" if isinstance(value, int | float) else f"{name} = {value}"
                     for name, value in known)  # fmt: skip


def _derivative(op: Operator) -> Operator | None:
    from ogive.gradients import grad, vjp

    try:
        return vjp(op) if op.is_row_wise else grad(op)
    except OgiveError:
        return None


def heights_of(
    op: Operator, drawn: Operator, x: np.ndarray, other: tuple[float, ...], values: Mapping[str, Any]
) -> np.ndarray:
    """The values of an operator or its derivative over x; NaN where it jumps."""
    if op.is_row_wise:
        rows = np.column_stack([x, *(np.full_like(x, value) for value in REST_OF_ROW)])
        beside = [np.full_like(rows, value) for value in other]
        if drawn is op:
            y = np.asarray(op(rows, *beside, **values))
            return _cut(x, y if op.reduces else y[:, 0])
        first = np.zeros_like(rows)
        first[:, 0] = 1
        first = first[:, 0] if op.reduces else first
        of_operands = drawn(first, rows, *beside, **values)
        of_first = of_operands[0] if isinstance(of_operands, tuple) else of_operands
        return _cut(x, np.asarray(of_first)[:, 0])
    y = np.asarray(drawn(*_operands(op, x, other), **values)).astype(np.float64)
    return y if x.dtype.kind == "i" else _cut(x, y)


def _operands(op: Operator, x: np.ndarray, other: tuple[float, ...]) -> list[np.ndarray]:
    """Arrays of the types of one of the operator's signatures: the one with the most digits."""
    wanted = ("int32", "uint8", "int8") if x.dtype.kind == "i" or op.name.startswith("quantized") else ()
    found = list(op.signatures)
    found.sort(key=lambda s: (s.inputs[0].name not in wanted, s.inputs[0].name not in ("float64", "float32", "bool"),
                              s.inputs[0].name != "float64"))  # fmt: skip
    kinds = [t.numpy for t in found[0].inputs]
    if op.name in ("dequantize_linear", "quantize_linear"):
        kinds = [np.dtype("i1"), np.dtype("f4"), np.dtype("i1")]
        kinds = kinds if op.name == "dequantize_linear" else [np.dtype("f4"), np.dtype("f4"), np.dtype("i1")]
    given: list[Any] = [x, *other]
    return [(np.asarray(v) > 0) if kind.kind == "b" else np.asarray(v).astype(kind)
            for v, kind in zip(given, kinds, strict=True)]  # fmt: skip


def _cut(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The values without the lines that would join the two sides of a jump or a pole."""
    y = np.where(np.isfinite(y), y, np.nan)
    height = np.clip(y, -TALLEST, TALLEST)
    with np.errstate(invalid="ignore"):
        steps = np.abs(np.diff(height))
    span = np.nanmax(height) - np.nanmin(height) if np.isfinite(y).any() else 0
    is_high = steps > max(0.05 * span, 12 * (x[1] - x[0])) if span else steps > np.inf
    # The values beside a jump or a pole stay; on a steep line, as cbrt's at 0, they rise on either side too.
    before = np.concatenate([[0, 0], np.nan_to_num(steps)])[: len(steps) + 1]
    behind = np.concatenate([np.nan_to_num(steps), [0, 0]])[1:]
    rises = np.maximum(np.minimum(before[1:], before[:-1]), np.minimum(behind[:-1], behind[1:])) > 0.1 * steps
    jumps = is_high & ~rises
    cut = y.copy()
    cut[np.flatnonzero(jumps) + 1] = np.nan
    # A value of its own between two level lines, as of equal and heaviside, is a point.
    alone = np.flatnonzero(jumps[1:-2] & jumps[2:-1] & (steps[:-3] == 0) & (steps[3:] == 0)) + 2
    cut[alone - 1] = cut[alone + 1] = np.nan
    cut[alone] = y[alone]
    return cut
