"""The results of normalisations, from the standard's text: in fractions, with roots to as many digits as decide the rounding.

Variance is the mean of the squares of distances from the mean. Scale and bias come before the one rounding. Rows lie near
zero, far from it (a mean of 100 and of 10,000 deviations), and at the ends of the type's range.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ogive.golden.requests import Request, array_of
from ogive.golden.specification import Call
from ogive.golden.whole_rules import rounded_to
from ogive.onnx.data_types import DATA_TYPES, DataType

#: Bits of a root that is no fraction: more than the cancellation of any sum with a bias costs.
ROOT_BITS = 2400

#: Mean and deviation of rows; None: the ends of the type's range.
PLACES: dict[str, tuple[float, float] | None] = {
    "rows near zero": (0.0, 1.0),
    "a mean of 100 deviations": (100.0, 1.0),
    "a mean of 10,000 deviations": (1000.0, 0.1),
    "large numbers": None,
    "small numbers": None,
}


def _root(x: Fraction) -> Fraction:
    """The square root; the nearest of many bits where it is no fraction."""
    found = [math.isqrt(part) for part in (x.numerator, x.denominator)]
    if found[0] ** 2 == x.numerator and found[1] ** 2 == x.denominator:
        return Fraction(*found)
    shift = max(0, ROOT_BITS + (x.denominator.bit_length() - x.numerator.bit_length()) // 2)
    return Fraction(math.isqrt((x.numerator << 2 * shift) // x.denominator), 1 << shift)


def _mean(row: Sequence[Fraction]) -> Fraction:
    return sum(row, Fraction()) / len(row)


def _deviation(row: Sequence[Fraction], epsilon: Fraction) -> Fraction:
    """The root of the mean square of distances from the mean and a small number."""
    mean = _mean(row)
    return _root(_mean([(x - mean) ** 2 for x in row]) + epsilon)


def _exactly(array: np.ndarray) -> list[Fraction]:
    return [Fraction(float(x)) for x in array.reshape(-1)]


def _numbers(o: Request, place: str, shape: Sequence[int]) -> np.ndarray:
    """Elements of the first input's type."""
    kind, where = o.first, PLACES[place]
    drawn = o.generator.standard_normal(tuple(shape))
    if where is not None:
        return (drawn * where[1] + where[0]).astype(kind.numpy)
    largest = math.ldexp(1.0, {"FLOAT16": 14, "DOUBLE": 1020}.get(kind.name, 125))
    smallest = math.ldexp(1.0, {"FLOAT16": -20, "DOUBLE": -500, "BFLOAT16": -128}.get(kind.name, -140))
    if place == "large numbers":
        return (np.clip(drawn / 2, -1, 1) * largest).astype(kind.numpy)
    small = (drawn * smallest).astype(kind.numpy)
    return np.where(small == 0, np.array(smallest, kind.numpy), small)


def _beside(o: Request, position: int, shape: Sequence[int]) -> np.ndarray:
    """Scales and biases."""
    return o.generator.standard_normal(tuple(shape)).astype(o.kind(position).numpy)


def _rounded(kind: DataType, values: Sequence[Fraction], shape: Sequence[int]) -> np.ndarray:
    return array_of(kind, [rounded_to(kind, value) for value in values], shape)


def _epsilon(o: Request) -> Fraction:
    return Fraction(float(np.float32(o.attributes["epsilon"])))


def _layer(o: Request) -> Iterator[Call]:
    for place in PLACES:
        x = _numbers(o, place, (2, 3, 5))
        scale, bias = _beside(o, 1, (5,)), _beside(o, 2, (5,))
        results: list[Fraction] = []
        means, inverses = [], []
        for row in x.reshape(-1, 5):
            exact = _exactly(row)
            mean, deviation = _mean(exact), _deviation(exact, _epsilon(o))
            parts = zip(exact, _exactly(scale), _exactly(bias), strict=True)
            results += [(value - mean) / deviation * s + b for value, s, b in parts]
            means.append(mean)
            inverses.append(1 / deviation)
        stash = next(kind for kind in DATA_TYPES.values() if kind.number == o.attributes["stash_type"])
        stashed = (_rounded(stash, values, (2, 3, 1)) for values in (means, inverses))
        yield place, (x, scale, bias), (_rounded(o.output, results, x.shape), *stashed)


def _root_mean_square(o: Request) -> Iterator[Call]:
    for place in PLACES:
        x, scale = _numbers(o, place, (2, 3, 5)), _beside(o, 1, (5,))
        results: list[Fraction] = []
        for row in x.reshape(-1, 5):
            exact = _exactly(row)
            root = _root(_mean([value**2 for value in exact]) + _epsilon(o))
            results += [value / root * s for value, s in zip(exact, _exactly(scale), strict=True)]
        yield place, (x, scale), (_rounded(o.output, results, x.shape),)


def _by_channel(
    groups: Callable[[Request], int], *, one_scale_a_group: bool = False
) -> Callable[[Request], Iterator[Call]]:
    """Rows are groups of channels; scale and bias have a number for each channel, or for each group."""

    def rule(o: Request) -> Iterator[Call]:
        count = groups(o)
        is_of_group = one_scale_a_group and o.version < 21
        for place in PLACES:
            x = _numbers(o, place, (2, 4, 3, 2))
            scale, bias = (_beside(o, i, (count if is_of_group else 4,)) for i in (1, 2))
            s, b = _exactly(scale), _exactly(bias)
            results: list[Fraction] = []
            for sample in x:
                for group, row in enumerate(sample.reshape(count, -1)):
                    exact = _exactly(row)
                    mean, deviation = _mean(exact), _deviation(exact, _epsilon(o))
                    for i, value in enumerate(exact):
                        own = group if is_of_group else group * (4 // count) + i // 6
                        results.append((value - mean) / deviation * s[own] + b[own])
            yield place, (x, scale, bias), (_rounded(o.output, results, x.shape),)

    return rule


def _batch_in_training(o: Request) -> Iterator[Call]:
    """Rows are channels; running statistics are of the batch and of those before."""
    momentum = Fraction(float(np.float32(o.attributes["momentum"])))

    for place, where in PLACES.items():
        x = _numbers(o, place, (3, 4, 2, 3))
        scale, bias = _beside(o, 1, (4,)), _beside(o, 2, (4,))
        old = [_beside(o, i, (4,)) * o.kind(i).numpy.type(1 if where is None else where[1]) for i in (3, 4)]
        old_mean, old_variance = old[0], np.abs(old[1])
        results = np.empty(x.shape, object)
        means, variances = [], []
        for channel in range(4):
            exact = _exactly(x[:, channel])
            mean = _mean(exact)
            variance = _mean([(value - mean) ** 2 for value in exact])
            (s,), (b,) = _exactly(scale[channel]), _exactly(bias[channel])
            root = _root(variance + _epsilon(o))
            values = [(value - mean) / root * s + b for value in exact]
            results[:, channel] = np.array(values, object).reshape(3, 2, 3)
            means.append(_exactly(old_mean[channel])[0] * momentum + mean * (1 - momentum))
            variances.append(_exactly(old_variance[channel])[0] * momentum + variance * (1 - momentum))
        y = _rounded(o.output, results.reshape(-1).tolist(), x.shape)
        statistics = (_rounded(o.kind(i), values, (4,)) for i, values in ((3, means), (4, variances)))
        yield place, (x, scale, bias, old_mean, old_variance), (y, *statistics)


def _along(x: np.ndarray, axes: Sequence[int], call: Callable[[list[Fraction]], list[Fraction]]) -> list[Fraction]:
    """The results of rows along some axes, in the order of the elements."""
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    order = [*kept, *axes]
    numbers = np.arange(x.size).reshape(x.shape).transpose(order)
    length = math.prod(x.shape[axis] for axis in axes)
    found: dict[int, Fraction] = {}
    for places in numbers.reshape(-1, length).tolist():
        results = call([Fraction(float(x.reshape(-1)[i])) for i in places])
        found.update(zip(places, results, strict=True))
    return [found[i] for i in range(x.size)]


def _mean_and_variance(o: Request) -> Iterator[Call]:
    def normal(row: list[Fraction]) -> list[Fraction]:
        mean, deviation = _mean(row), _deviation(row, Fraction())
        return [(x - mean) / deviation if deviation else Fraction() for x in row]

    for place in PLACES:
        x = _numbers(o, place, (2, 3, 2, 2))
        x[:, 2] = x[0, 2, 0, 0]  # a row of equal elements
        results = _along(x, o.attributes.get("axes", (0, 2, 3)), normal)
        yield place, (x,), (_rounded(o.output, results, x.shape),)


def _norm(o: Request) -> Iterator[Call]:
    def scaled(row: list[Fraction]) -> list[Fraction]:
        norm = (
            sum(map(abs, row), Fraction()) if o.attributes["p"] == 1 else _root(sum((x * x for x in row), Fraction()))
        )
        return [x / norm if norm else x for x in row]

    for place in PLACES:
        x = _numbers(o, place, (3, 4))
        x[1] = 0
        results = _along(x, (o.attributes["axis"] % 2,), scaled)
        yield place, (x,), (_rounded(o.output, results, x.shape),)


#: Attributes that are set where a version has them.
NORMAL_ATTRIBUTES: dict[str, dict[str, Any]] = {
    "GroupNormalization": {"num_groups": 2},
    "LpNormalization": {"axis": 1, "p": 2},
    "MeanVarianceNormalization": {"axes": (0, 2, 3)},
}

#: Operator -> its calls.
NORMAL_RULES: dict[str, Callable[[Request], Iterator[Call]]] = {
    "GroupNormalization": _by_channel(lambda o: int(o.attributes["num_groups"]), one_scale_a_group=True),
    "InstanceNormalization": _by_channel(lambda _: 4),
    "LayerNormalization": _layer,
    "LpNormalization": _norm,
    "MeanVarianceNormalization": _mean_and_variance,
    "RMSNormalization": _root_mean_square,
}

#: The same, of what is computed otherwise when a model is trained.
TRAINING_RULES: dict[str, Callable[[Request], Iterator[Call]]] = {"BatchNormalization": _batch_in_training}
