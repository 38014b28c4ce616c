"""``python -m benchmarks.by_data``: the price of saturated, infinite, one-hot and subnormal data beside ordinary data, operator by operator.

Every operator of float32 elements computes on one thread, under the exact or the fast contract. A figure is the least of many short
timings, so that a busy machine changes it little. Operators are listed where some data take more than `ALLOWED` times as long
as ordinary data.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import click
import numpy as np

import ogive
from ogive.cli.deciding_levels import numbers_of, signature_of

__all__ = ["DATA", "prices"]

#: Elements of an array; timings, and how long one takes in seconds.
COUNT, TIMINGS, SECONDS = 16384, 12, 4e-4
#: How many times as long as ordinary data others may take, and the ns below which nothing is looked at.
ALLOWED, LEAST = 2.0, 0.05

Generator = np.random.Generator


def _signs(generator: Generator, count: int) -> np.ndarray:
    return generator.choice([-1.0, 1.0], count)


def _one_hot(generator: Generator, count: int) -> np.ndarray:
    return np.where(np.arange(count) % 64 == 7, generator.uniform(1, 20, count), 0.0)


#: By name: the data. The first is what the others are compared with.
DATA: dict[str, Callable[[Generator, int], np.ndarray]] = {
    "ordinary": lambda generator, count: generator.normal(0, 2, count),
    "saturated": lambda generator, count: _signs(generator, count) * generator.uniform(20, 100, count),
    "-100": lambda generator, count: np.full(count, -100.0),
    "1000": lambda generator, count: np.full(count, 1000.0),
    "-1000": lambda generator, count: np.full(count, -1000.0),
    "infinite": lambda generator, count: _signs(generator, count) * np.inf,
    "a third -inf": lambda generator, count: np.where(
        np.arange(count) % 64 < 40, generator.normal(0, 2, count), -np.inf
    ),
    "NaN": lambda generator, count: np.full(count, np.nan),
    "one-hot": _one_hot,
    "subnormal": lambda generator, count: generator.integers(-100, 100, count) * 2.0**-149,
}


def prices(op: Any, data: Sequence[str] = tuple(DATA)) -> dict[str, float]:
    """Nanoseconds an element by the data; {} for operators of rows or of other types."""
    signature = None if op.is_row_wise else signature_of(op, "float32")
    if signature is None:
        return {}
    arrays = {}
    for name in data:
        generator = np.random.default_rng(7)
        arrays[name] = [DATA[name](generator, COUNT).astype(kind.numpy) for kind in signature.inputs]
    out = [np.empty(COUNT, kind.numpy) for kind in signature.outputs]
    numbers = numbers_of(op)
    found = dict.fromkeys(data, float("inf"))
    repeats = {}
    with np.errstate(all="ignore"), ogive.threads(1):
        for name, operands in arrays.items():
            for _ in range(3):  # compiles every level that these data ask for
                op(*operands, out=out[0] if len(out) == 1 else tuple(out), **numbers)
            repeats[name] = 1
        for turn in range(TIMINGS):
            for name, operands in arrays.items():
                begin = time.perf_counter()
                for _ in range(repeats[name]):
                    op(*operands, out=out[0] if len(out) == 1 else tuple(out), **numbers)
                taken = (time.perf_counter() - begin) / repeats[name]
                if turn == 0:
                    repeats[name] = max(1, min(100, int(SECONDS / taken)))
                found[name] = min(found[name], taken / COUNT * 1e9)
    return found


@click.command(help=__doc__)
@click.option("--operator", "operators", multiple=True, help="Only these operators.")
@click.option("--fast", is_flag=True, help="The fast contract.")
@click.option("--all", "everything", is_flag=True, help="List every operator.")
def main(operators: tuple[str, ...], fast: bool, everything: bool) -> None:
    names = list(DATA)
    print(f"{'ns an element':28}" + "".join(f"{name:>13}" for name in names))
    many = beyond = 0
    for name, op in ogive.catalog.OPERATORS.items():
        if operators and name not in operators:
            continue
        found = prices(op.fast if fast else op)
        if not found:
            continue
        many += 1
        ordinary = max(found["ordinary"], LEAST)
        slow = [each for each in names if found[each] > ALLOWED * ordinary]
        beyond += bool(slow)
        if slow or everything or operators:
            print(f"{name:28}" + "".join(f"{found[each]:12.2f}{'*' if each in slow else ' '}" for each in names))
    print(f"{many} operators; {beyond} where some data take more than {ALLOWED} times as long as ordinary data")


if __name__ == "__main__":
    main()
