"""Look for the operands of float64 whose exact results lie nearest to ties, and judge Ogive's results there.

    python accuracy/hard_cases.py [--count 1000] [--only NAME ...] [--save tests/golden/hard_cases.csv]

Between an operand and the 2**15th number after it an operator is a parabola, but for a part in 2**55 of a result's unit. Three
exact values, in balls of Arb (``ogive.enclosures.enclosure.exact_value``), say which one. Its values modulo a unit are computed for
all these numbers, in whole numbers of 64 bits, and the one nearest to a tie is taken: it lies 2**-16 units from one, more or
less. Ogive's result is compared with enclosures there. ``--save`` keeps the three nearest of each operator.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ogive.catalog import OPERATORS
from ogive.common.dtypes import ELEMENT_TYPES
from ogive.enclosures.enclosure import exact_value, right_result
from ogive.errors import OgiveError
from ogive.graph.expression import Expression
from ogive.operators.operator import Operator

#: How many numbers are tried for each case.
TRIED = 1 << 15

#: A case that is no nearer is none: the operator is linear there, or nearly so.
FARTHEST = 2.0**-12

#: Draws for each case at most.
DRAWS = 4

DOUBLE = ELEMENT_TYPES["float64"]
PARAMETERS = {
    "linear": {"alpha": 1.5, "beta": 0.5},
    "parametric_softplus": {"alpha": 1.5, "beta": 0.5},
    "softcap": {"cap": 1.5},
}


class Case(NamedTuple):
    """An operand, and how far its exact result lies from a tie, in units in the last place."""

    x: float
    distance: float


class Subject(NamedTuple):
    """An operator of one float64 tensor, with values of its parameters."""

    name: str
    op: Operator
    given: dict[str, float]
    root: Expression
    numbers: dict[str, float]


def subjects(only: list[str] | None = None) -> Iterator[Subject]:
    for name, op in OPERATORS.items():
        is_one = any((*s.inputs, *s.outputs) == (DOUBLE, DOUBLE) for s in op.signatures)
        if op.is_row_wise or not is_one or (only and name not in only):
            continue
        given = PARAMETERS.get(name, {p.name: 0.75 for p in op.numeric_parameters if p.is_required})
        numbers = {
            p.name: float(p.default) for p in op.numeric_parameters if isinstance(p.default, (int, float))
        } | given
        (root,) = op.formula(for_doubles=True)
        yield Subject(name, op, given, root, numbers)


def cases(subject: Subject, count: int, rng: np.random.Generator) -> list[Case]:
    """So many hard cases, the nearest first; fewer where the operator is mostly linear."""
    found: list[Case] = []
    for draw in range(count * DRAWS):
        x = rng.normal(0, 2) if rng.integers(2) else rng.choice([-1.0, 1.0]) * 2.0 ** rng.uniform(-12, 6)
        if len(found) == count:
            break
        case = nearest(subject, float(x))
        if case is not None and case.distance < FARTHEST:
            found.append(case)
        if not found and draw > 40 * DRAWS:
            break
    return sorted(found, key=lambda case: case.distance)


def nearest(subject: Subject, x: float) -> Case | None:
    """The number nearest to a tie among those after this one; None where exponents change, or there is no number."""
    unit = Fraction(np.spacing(x))
    ends = [Fraction(x) + unit * (TRIED * i // 2) for i in range(3)]
    if np.spacing(float(ends[2])) != np.spacing(x) or x * float(ends[2]) <= 0:
        return None
    try:
        values = [Fraction(exact_value(subject.root, [float(end)], subject.numbers, 60)) for end in ends]
    except (OgiveError, ArithmeticError, ValueError, OverflowError):
        return None
    size = [float(abs(value)) for value in values]
    if min(size) < 2.0**-900 or np.frexp(size[0])[1] != np.frexp(size[2])[1]:
        return None
    of_result = Fraction(np.spacing(min(size)))
    a, middle, end = (value / of_result for value in values)
    # Through the three points: a + b * i + c * i**2, of which 64 bits behind the point are kept.
    half = Fraction(TRIED // 2)
    c = (end - 2 * middle + a) / (2 * half * half)
    b = (middle - a) / half - c * half
    numbers = np.arange(TRIED, dtype=np.uint64)
    with np.errstate(over="ignore"):
        bits = _bits(a) + numbers * _bits(b) + numbers * numbers * _bits(c)
        from_tie = bits - np.uint64(1 << 63)
        from_tie = np.minimum(from_tie, np.uint64(0) - from_tie)
    place = int(np.argmin(from_tie))
    return Case(float(ends[0] + unit * place), float(from_tie[place]) / 2.0**64)


def _bits(number: Fraction) -> np.uint64:
    """A number modulo one, with 64 bits behind the point."""
    return np.uint64(round(number * 2**64) % 2**64)


def misrounded(subject: Subject, found: list[Case]) -> list[Case]:
    """The cases where Ogive's result is not the nearest number."""
    results = np.asarray(subject.op(np.array([case.x for case in found]), **subject.given)).tolist()
    right = (right_result(subject.root, [case.x], subject.numbers, DOUBLE, bits=64)[0] for case in found)
    return [case for case, got, wanted in zip(found, results, right, strict=True) if got != wanted]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="cases of each operator")
    parser.add_argument("--only", nargs="*", help="these operators")
    parser.add_argument("--save", type=Path, help="add the three nearest cases of each operator to this file")
    arguments = parser.parse_args()
    wrong = judged = 0
    for subject in subjects(arguments.only):
        found = cases(subject, arguments.count, np.random.default_rng(sum(map(ord, subject.name))))
        if not found:
            print(f"{subject.name}: no cases", flush=True)
            continue
        bad = misrounded(subject, found)
        wrong, judged = wrong + len(bad), judged + len(found)
        least, middle = (np.log2(found[i].distance + 2.0**-64) for i in (0, len(found) // 2))
        print(
            f"{subject.name}: {len(found)} cases, from ties 2**{least:.1f}, median 2**{middle:.1f}, misrounded {len(bad)}",
            flush=True,
        )
        for case in bad[:3]:
            print(f"    {case.x.hex()}", flush=True)
        if arguments.save:
            with arguments.save.open("a", encoding="utf-8") as file:
                for case in found[:3]:
                    right, _ = right_result(subject.root, [case.x], subject.numbers, DOUBLE, bits=64)
                    file.write(f"{subject.name},{case.x.hex()},{float(right).hex()}\n")
    print(f"{judged} cases: {wrong} misrounded")


if __name__ == "__main__":
    main()
