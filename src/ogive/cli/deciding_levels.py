"""Families of data, and which share of an operator's elements each level decides on them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from ogive.common.conversion import converted
from ogive.common.dtypes import ElementType
from ogive.operators.operator import Operator
from ogive.operators.signature import Signature
from ogive.runtime import statistics

Generator = np.random.Generator


def _normal(width: float) -> Callable[[Generator, int, ElementType], np.ndarray]:
    return lambda generator, count, kind: generator.normal(0, width, count)


def _constant(generator: Generator, count: int, kind: ElementType) -> np.ndarray:
    return np.full(count, generator.normal(0, 3))


def _saturated(generator: Generator, count: int, kind: ElementType) -> np.ndarray:
    return generator.choice([-1.0, 1.0], count) * generator.uniform(20, 200, count)


def _padded(generator: Generator, count: int, kind: ElementType) -> np.ndarray:
    values = generator.normal(0, 3, count)
    values[np.arange(count) % 64 >= 40] = -np.inf
    return values


def _one_hot(generator: Generator, count: int, kind: ElementType) -> np.ndarray:
    return np.where(np.arange(count) % 64 == generator.integers(64), generator.uniform(1, 20, count), 0.0)


def _end(kind: ElementType, name: str) -> float:
    """The smallest or the largest number of a type."""
    import ml_dtypes

    return float(getattr(ml_dtypes.finfo(kind.numpy), name))  # type: ignore[no-untyped-call]


def _subnormal(generator: Generator, count: int, kind: ElementType) -> np.ndarray:
    return generator.integers(-100, 100, count) * _end(kind, "smallest_subnormal")


def _huge(generator: Generator, count: int, kind: ElementType) -> np.ndarray:
    return generator.uniform(-1, 1, count) * _end(kind, "max")


def _alternating(generator: Generator, count: int, kind: ElementType) -> np.ndarray:
    return generator.normal(0, 3) * np.where(np.arange(count) % 2, 1.0, -1.0)


#: By name: what makes so many numbers of a family, for an element type.
FAMILIES: dict[str, Callable[[Generator, int, ElementType], np.ndarray]] = {
    "normal, width 1": _normal(1),
    "normal, width 10": _normal(10),
    "normal, width 100": _normal(100),
    "normal, width 1e4": _normal(1e4),
    "constant": _constant,
    "saturated": _saturated,
    "padded with -inf": _padded,
    "one-hot": _one_hot,
    "integers": lambda generator, count, kind: generator.integers(-100, 100, count).astype(np.float64),
    "ties": lambda generator, count, kind: generator.integers(-512, 512, count) / 64,
    "subnormal": _subnormal,
    "huge": _huge,
    "alternating": _alternating,
    "zero": lambda generator, count, kind: generator.choice([0.0, -0.0], count),
}


#: Families that only shares are counted of.
EVERYDAY: dict[str, Callable[[Generator, int, ElementType], np.ndarray]] = {
    "normal, width 2": _normal(2),
    "uniform, up to 10": lambda generator, count, kind: generator.uniform(-10, 10, count),
    "half zeros": lambda generator, count, kind: np.maximum(generator.normal(0, 1, count), 0),
}


def drawn(family: str, signature: Signature, count: int, seed: int) -> list[np.ndarray]:
    """Operands of a family, each drawn on its own. Truth values and integers are those of the rounded numbers."""
    found = []
    for place, kind in enumerate(signature.inputs):
        floats = next((t for t in signature.inputs if t.is_float), kind)
        values = (FAMILIES.get(family) or EVERYDAY[family])(np.random.default_rng((seed, place)), count, floats)
        with np.errstate(all="ignore"):
            if not kind.is_float:
                values = np.clip(np.nan_to_num(values), -100 if kind.name[0] == "i" else 0, 100)
            found.append(converted(values, kind.numpy))
    return found


def signature_of(op: Operator, dtype: str) -> Signature | None:
    """The operator's types where all its floats are of this type, results included."""
    for signature in op.signatures:
        floats = {t.name for t in (*signature.inputs, *signature.outputs) if t.is_float}
        if floats == {dtype} and any(t.is_float for t in signature.inputs):
            return signature
    return None


def numbers_of(op: Operator) -> dict[str, Any]:
    """Values of the parameters that have no default."""
    return {
        p.name: next((value for value in (1.5, 0.5, 1.0, 2.0) if p.constraint.holds(value)), 1.5)
        for p in op.numeric_parameters
        if p.is_required
    }


#: Elements of a family; the first of them alone where more of these go to enclosures, which take long. (No clock decides
#: that: the first call of a kernel compiles its levels, and the same command would print other shares the second time.)
COUNT, FIRST, ENCLOSED = 4096, 256, 8


def shares(op: Operator, dtype: str = "float32") -> dict[str, tuple[float, ...]]:
    """By family: which share of elements kernel, retry, repair and enclosures decide. Empty where there is no such type.

    Rows have 256 elements.
    """
    signature = signature_of(op, dtype)
    if signature is None:
        return {}
    numbers, found = numbers_of(op), {}
    for seed, family in enumerate((*FAMILIES, *EVERYDAY)):
        for count in (FIRST, COUNT):
            arrays = [a.reshape(-1, FIRST) if op.is_row_wise else a for a in drawn(family, signature, count, seed)]
            before = _counted()
            with np.errstate(all="ignore"):
                op(*arrays, **numbers)
            after = _counted()
            elements, *left, enclosed = (a - b for a, b in zip(after, before, strict=True))
            elements = elements or 1  # a kernel without a repair counts nothing
            left[0] = max(left)  # a kernel without a retry leaves all to the repair
            levels = [elements, *left, enclosed, 0]
            found[family] = tuple((a - b) / elements for a, b in pairwise(levels))
            if enclosed > ENCLOSED:
                break
    return found


#: The numbers of a family of which one is looked at, and the share of enclosures from which on that is done.
LOOKED_AT, MANY = 8, 0.1


def identities(op: Operator, found: dict[str, tuple[float, ...]], dtype: str = "float32") -> list[str]:
    """The families on which no number of bits decides results, as of ``sin(x)**2 + cos(x)**2 - 1``: that is taken for 0.

    ``found`` are `shares`.
    """
    from ogive.enclosures.enclosure import right_result

    signature = signature_of(op, dtype)
    if signature is None or op.is_row_wise:
        return []
    numbers = op.checked_parameters(numbers_of(op))
    roots = op.formula(**{p.name: numbers[p.name] for p in op.parameters if p.choices})
    outputs = list(zip(roots, signature.outputs, strict=True))
    named = []
    for seed, family in enumerate(FAMILIES):
        if found[family][-1] < MANY:
            continue
        arrays = drawn(family, signature, LOOKED_AT, seed)
        elements = dict.fromkeys(zip(*(array.tolist() for array in arrays), strict=True))
        if any(not right_result(root, element, numbers, kind)[1] for element in elements for root, kind in outputs):
            named.append(family)
    return named


def _counted() -> tuple[int, ...]:
    """Elements, and how many of them were retried, repaired and enclosed, of all kernels."""
    return tuple(map(sum, zip((0, 0, 0, 0), *(row[2:6] for row in statistics()), strict=True)))
