"""Inputs that find faults: every input of short types; of longer ones kinks, edges, ties, tails, special values.

Nothing here knows an operator. Kinks are where a comparison of the formula changes its mind, and edges where a result
becomes infinite, subnormal, zero or constant; both are found by bisection on a grid of all magnitudes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ogive.common.dtypes import FLOAT_FORMATS, ElementType
from ogive.golden.specification import FormulaStep, Specification
from ogive.graph.expression import Expression, Format, walk
from ogive.laboratory.accuracy.measure import SPREADS, drawn
from ogive.laboratory.accuracy.running_bound import enclosed
from ogive.laboratory.accuracy.ulp import units_in_one
from ogive.laboratory.reference import evaluate

#: Random inputs of all magnitudes, and how many are searched for results near a tie.
SAMPLES, SEARCHED, HARDEST = 1024, 1 << 16, 256

#: Points of the grid between which kinks and edges are looked for.
GRID = 1 << 13

#: At most so many inputs round each kink and edge.
ROUND = 3


class Chosen(NamedTuple):
    """Inputs, and why each was chosen."""

    arrays: tuple[np.ndarray, ...]
    labels: tuple[str, ...]
    reasons: np.ndarray
    """For each element the number of its label."""


def every(kind: ElementType) -> np.ndarray:
    """Every number of an element type of at most 16 bits, in the order of the bits."""
    if kind.name == "bool":
        return np.array([False, True])
    return np.arange(1 << kind.bits, dtype=f"u{kind.itemsize}").view(kind.numpy)


def choose(specification: Specification, *, seed: int = 0, samples: int = SAMPLES) -> Chosen:
    """The inputs of an element-wise operator's golden data."""
    kinds = specification.inputs
    if len(kinds) == 1 and kinds[0].bits <= 16:
        x = every(kinds[0])
        return Chosen((x,), ("every input",), np.zeros(x.size, np.uint8))
    generator = np.random.default_rng(seed)
    groups: list[tuple[str, list[np.ndarray]]] = []
    if len(kinds) == 1:
        kind = kinds[0]
        groups.append(("special values", [special_values(kind)]))
        for step in specification.steps[:1]:
            groups += [(label, [x]) for label, x in _of_formula(step, kind, generator)]
        groups += [(label, [x]) for label, x in _spread(kind, generator, samples)]
    else:
        groups.append(("special values", _combined([_few(kind, len(kinds)) for kind in kinds])))
        groups.append(("equal operands", [_few(kind, 1).astype(kind.numpy) for kind in kinds]))
        drawn_each = [list(_spread(kind, generator, samples)) for kind in kinds]
        for each in itertools.zip_longest(*drawn_each):
            first = next(item for item in each if item is not None)
            groups.append((first[0], [item[1] if item else drawn_each[i][-1][1] for i, item in enumerate(each)]))
    arrays, reasons, labels = [[] for _ in kinds], [], []  # type: ignore[var-annotated]
    for label, given in groups:
        size = min(x.size for x in given) if label != "equal operands" else max(x.size for x in given)
        if label not in labels:
            labels.append(label)
        for position, x in enumerate(given):
            arrays[position].append(np.resize(x, size))
        reasons.append(np.full(size, labels.index(label), np.uint8))
    return Chosen(tuple(np.concatenate(each) for each in arrays), tuple(labels), np.concatenate(reasons))


# ---- element types


def special_values(kind: ElementType) -> np.ndarray:
    """Zeros, ones, edges of the format, infinities and NaN of several payloads, with both signs."""
    if not kind.is_float:
        if kind.name == "bool":
            return np.array([False, True])
        least, most = kind.minimum, kind.maximum
        near = [0, 1, 2, 3, 5, 7, 10, 100, most, most - 1, most - 2, most // 2, most // 2 + 1, least, least + 1]
        powers = [2**n + d for n in range(1, kind.bits) for d in (-1, 0, 1)]
        values = sorted({v for w in [*near, *powers] for v in (w, -w) if least <= v <= most})
        return np.array(values, kind.numpy)
    significant, smallest, largest = FLOAT_FORMATS[kind.name]
    one = 1.0
    numbers: list[float] = [0.0, one, 0.5, 2.0, 3.0, 4.0, 6.0, 0.25, 10.0, 0.1, 1 / 3, largest]
    numbers += [2.0**smallest, 2.0**smallest * 1.5, 2.0 ** (smallest - significant + 1), 2.0 ** (smallest - 1)]
    numbers += [2.0 ** (significant - 1), 2.0**significant, 2.0 ** (significant - 2) + 0.5, 2.0 ** (smallest + 1)]
    with np.errstate(all="ignore"):
        x = np.array(numbers, np.float64).astype(kind.numpy)
    places = ranks(x)[:, None] + np.array([-1, 0, 1])
    limit = ranks(np.array([np.inf], kind.numpy))[0]
    near_values = from_ranks(np.clip(np.unique(places), -limit, limit), kind)
    near_values = np.concatenate([near_values, np.array([-0.0, 0.0], kind.numpy)])
    both = np.concatenate([near_values, -near_values, np.array([np.inf, -np.inf], kind.numpy)])
    quiet = 1 << (significant - 2)
    exponent = ((1 << (kind.bits - significant)) - 1) << (significant - 1)
    sign = 1 << (kind.bits - 1)
    payloads = [exponent | quiet, exponent | quiet | 1, exponent | 1, exponent | (2 * quiet - 1)]
    nan = np.array([p | s for p in payloads for s in (0, sign)], f"u{kind.itemsize}").view(kind.numpy)
    return np.concatenate([_unique(both), nan])


def _unique(x: np.ndarray) -> np.ndarray:
    return np.unique(x.view(f"u{x.dtype.itemsize}")).view(x.dtype)


def _few(kind: ElementType, tensors: int) -> np.ndarray:
    """Special values, of which all combinations are taken."""
    if not kind.is_float:
        if kind.name == "bool":
            return np.array([False, True])
        values = [kind.minimum, -2, -1, 0, 1, 2, 3, 7, kind.bits - 1, kind.bits, kind.maximum - 1, kind.maximum]
        if tensors > 3:
            values = [kind.minimum, 0, 1, 3, kind.maximum]
        return np.array(sorted({v for v in values if kind.minimum <= v <= kind.maximum}), kind.numpy)
    _, smallest, largest = FLOAT_FORMATS[kind.name]
    tiny = 2.0**smallest
    values_f = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, largest, -largest, tiny, -tiny, np.inf, -np.inf, np.nan]
    if tensors <= 2:
        values_f += [-0.5, 2.0, -3.0, tiny / 4, -tiny / 4, 1e-3, 1.5, -1.5, 7.0, 100.0]
    if tensors > 3:
        values_f = [0.0, -0.0, 1.0, -2.5, np.inf, np.nan]
    with np.errstate(all="ignore"):
        return np.array(values_f, np.float64).astype(kind.numpy)


def _combined(values: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Every combination, of many tensors a part of them."""
    if np.prod([float(v.size) for v in values]) > 20_000:
        generator = np.random.default_rng(1)
        return [generator.choice(v, 20_000) for v in values]
    return [x.ravel() for x in np.meshgrid(*values, indexing="ij")]


def ranks(x: np.ndarray) -> np.ndarray:
    """Numbers of a floating-point type counted from zero; both zeros are 0."""
    bits = np.ascontiguousarray(x).view(f"i{x.dtype.itemsize}").astype(np.int64)
    least = np.int64(-(2 ** (8 * x.dtype.itemsize - 1)))
    return np.where(bits < 0, least - bits, bits)


def from_ranks(ranks_: np.ndarray, kind: ElementType) -> np.ndarray:
    """The numbers that `ranks` counts."""
    least = np.int64(-(2 ** (kind.bits - 1)))
    bits = np.where(ranks_ < 0, least - ranks_, ranks_)
    return bits.astype(f"i{kind.itemsize}").view(kind.numpy)


def _spread(kind: ElementType, generator: np.random.Generator, samples: int) -> Iterator[tuple[str, np.ndarray]]:
    if kind.name == "bool":
        yield "random", generator.integers(0, 2, samples).astype(bool)
    elif kind.is_float:
        for spread in SPREADS:
            label = "any bits" if spread is None else f"magnitudes to 2**{spread}" if spread else "near 1"
            yield label, drawn(generator, kind, spread)[: samples // 4]
    else:
        raw = generator.integers(0, 256, (samples // 2, kind.itemsize), dtype=np.uint8)
        yield "any bits", raw.view(kind.numpy)[:, 0].copy()
        yield "small", generator.integers(max(kind.minimum, -100), 100, samples // 2).astype(kind.numpy)


# ---- what the formula shows


def _of_formula(
    step: FormulaStep, kind: ElementType, generator: np.random.Generator
) -> Iterator[tuple[str, np.ndarray]]:
    if not kind.is_float:
        yield "kinks", _kinks_of_integers(step, kind)
        return
    yield "kinks and their neighbours", flips(truths(step), kind, ROUND)
    if step.kind.is_float:
        yield "edges of the range of results", flips(_category(step), kind, ROUND)
        hard, tails = _hard_and_tails(step, kind, generator)
        yield "results nearest to a tie", hard
        yield "tails", tails


def _kinks_of_integers(step: FormulaStep, kind: ElementType) -> np.ndarray:
    numbers = [float(v) for v in step.numbers.values()]
    numbers += [float(n.attribute) for n in walk(step.root) if n.operation == "constant" and n.format is Format.NUMBER]
    whole = [int(v) + d for v in numbers if abs(v) < 2.0**62 for d in (-2, -1, 0, 1, 2)]
    values = sorted({v for w in whole for v in (w, -w) if kind.minimum <= v <= kind.maximum})
    return np.array(values, kind.numpy)


def truths(step: FormulaStep) -> Callable[[np.ndarray], np.ndarray]:
    """The comparisons of the formula that hold, as the bits of a number."""
    conditions: list[Expression] = [
        node for node in walk(step.root) if node.operation in ("less", "less_equal", "equal") and _depends(node)
    ][:60]

    def held(x: np.ndarray) -> np.ndarray:
        found = np.zeros(x.shape, np.int64)
        for i, condition in enumerate(conditions):
            with np.errstate(all="ignore"):
                truth = evaluate(condition, [x], step.numbers, np.longdouble if x.itemsize == 8 else np.float64)
            found |= np.broadcast_to(np.asarray(truth, bool), x.shape).astype(np.int64) << i
        return found

    return held


def _depends(root: Expression) -> bool:
    return any(node.operation == "input" for node in walk(root))


def _category(step: FormulaStep) -> Callable[[np.ndarray], np.ndarray]:
    """The kind of number that a result is: infinite, NaN, zero, subnormal, at a limit; and its sign."""
    _, smallest, _ = FLOAT_FORMATS[step.kind.name]

    def category(x: np.ndarray) -> np.ndarray:
        found = enclosed(step.root, [x], step.numbers, step.kind)
        right = found.right.astype(np.float64)
        size = np.abs(right)
        kind = np.select([np.isnan(right), np.isinf(right), size == 0, size < 2.0**smallest], [1, 2, 3, 4], 5)
        # A limit that is not zero: the result is the same as that of a number of twice the magnitude.
        with np.errstate(all="ignore"):
            twice = enclosed(step.root, [(x * x.dtype.type(2)).astype(x.dtype)], step.numbers, step.kind)
        constant = (bits_equal(twice.right, found.right)) & found.known & twice.known
        identity = bits_equal(found.right.astype(np.float64), x.astype(np.float64)) & found.known
        return np.where(found.known, kind + 8 * np.signbit(right) + 16 * constant + 32 * identity, -1)

    return category


def bits_equal(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The elements at which two arrays of one type have the same bits, as truth values."""
    unsigned = f"u{a.dtype.itemsize}"
    same: np.ndarray = np.ascontiguousarray(a).view(unsigned) == np.ascontiguousarray(b).view(unsigned)
    return same


def flips(function: Callable[[np.ndarray], np.ndarray], kind: ElementType, round_: int) -> np.ndarray:
    """Numbers beside which a function of whole numbers changes, with some of their neighbours."""
    limit = int(ranks(np.array([np.inf], kind.numpy))[0]) - 1
    grid = np.unique(np.linspace(-limit, limit, GRID).astype(np.int64))
    near = np.concatenate(
        [np.arange(-40, 41) * 0.25, [-(2.0**n) for n in range(-8, 10)], [2.0**n for n in range(-8, 10)]]
    )
    with np.errstate(over="ignore"):
        grid = np.unique(np.concatenate([grid, ranks(near.astype(kind.numpy))]))
    values = function(from_ranks(grid, kind))
    changed = np.flatnonzero(values[:-1] != values[1:])[:512]
    low, high, at_low = grid[changed], grid[changed + 1], values[changed]
    while changed.size and np.any(high - low > 1):
        middle = low + (high - low) // 2
        same = function(from_ranks(middle, kind)) == at_low
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    beside = np.unique((low[:, None] + np.arange(1 - round_, round_ + 1)).ravel())
    return from_ranks(np.clip(beside, -limit, limit), kind)


def _hard_and_tails(
    step: FormulaStep, kind: ElementType, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """From many inputs those whose results are nearest to a tie; and inputs in every binade."""
    spreads = [40, 5, 3, 0]
    x = np.concatenate([drawn(generator, kind, spread)[: SEARCHED // 4] for spread in spreads])
    found = enclosed(step.root, [x], step.numbers, step.kind)
    with np.errstate(all="ignore"):
        places = np.abs(found.value) * units_in_one(found.value, step.kind)
        distance = np.abs(places - np.floor(places) - 0.5)
        # Ties themselves, and numbers of the format, are not hard.
        distance = np.where(np.isfinite(distance) & np.isfinite(found.bound), distance, 1.0)
    order = np.argsort(distance, kind="stable")[: 4 * HARDEST]
    _, first = np.unique(x[order].view(f"u{kind.itemsize}"), return_index=True)
    hard = x[order[np.sort(first)]][:HARDEST]
    significant, smallest, _ = FLOAT_FORMATS[kind.name]
    largest = -smallest + 1
    exponents = np.arange(smallest - significant + 1, largest + 1, max(1, (largest - smallest) // 256))
    with np.errstate(all="ignore"):
        powers = np.ldexp(generator.uniform(1, 2, exponents.size), exponents).astype(kind.numpy)
    return hard, np.concatenate([powers, -powers])
