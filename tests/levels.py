"""The levels of a program against enclosures: what kernel and repair decide has to be the correctly rounded result.

The repair is asked about all elements, not only about those that the kernel leaves to it, and both with open parameters and
with constant ones, as models have them.

    python -m tests.levels --count 12 gelu "grad(mish)" "focal"

judges these functions of `benchmarks.cliffs`, or all of them, on the families of data and special numbers.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks.cliffs import functions
from ogive import _native
from ogive.cli.deciding_levels import FAMILIES, drawn, numbers_of, signature_of
from ogive.lowering.program import Program
from ogive.runtime.kernels import make_kernel
from tests.inputs import special_values

__all__ = ["Differing", "data", "differing", "functions", "programs_of", "results"]


class Differing(NamedTuple):
    """Elements that a level decided otherwise than enclosures."""

    level: str
    operands: tuple[float, ...]
    found: tuple[Any, ...]
    right: tuple[Any, ...]


def data(signature: Any, count: int, seed: int = 0) -> list[np.ndarray]:
    """So many numbers of each family, and special ones in several combinations."""
    families = [drawn(family, signature, count, seed + place) for place, family in enumerate(FAMILIES)]
    random = np.random.default_rng(seed)
    special = []
    for place, kind in enumerate(signature.inputs):
        values = special_values(kind)
        if kind.is_float:
            bits = values.view(f"u{kind.itemsize}")
            least = 1 << 8 * kind.itemsize - 1
            ends = np.array([0, least, 1, least + 1], bits.dtype).view(kind.numpy)
            with np.errstate(all="ignore"):
                is_finite = np.isfinite(values.astype(np.float64))
            always = np.concatenate([ends, values[~is_finite][:6], values[-4:]])
            values = np.concatenate([always, random.choice(values, 4 * count)])
        special.append(random.permutation(values) if place else values)
    length = min(map(len, special))
    return [
        np.concatenate([*(family[place] for family in families), special[place][:length]])
        for place in range(len(signature.inputs))
    ]


def programs_of(op: Any, signature: Any) -> Iterator[tuple[str, Program, tuple[float, ...]]]:
    """The program with open parameters, and with constant ones; and the parameters that it takes."""
    values = op.checked_parameters(numbers_of(op))
    choices = {p.name: values[p.name] for p in op.parameters if p.choices}
    numbers = tuple(float(values[p.name]) for p in op.numeric_parameters)
    yield "open", op.program(signature, **choices), numbers
    if numbers:
        yield "constant", op.program(signature, **values), ()


def results(program: Program, arrays: list[np.ndarray], numbers: tuple[float, ...]) -> list[np.ndarray]:
    """The results that a repair computes."""
    kernel = make_kernel(program.inputs, program.outputs, lambda: program)
    operands = (*program.inputs, *program.outputs)
    ufunc = _native.make_ufunc(
        name="level",
        doc="",
        inputs=len(program.inputs),
        outputs=len(program.outputs),
        loops=[(tuple(t.type_numbers[0] for t in operands), kernel)],
        parameters=numbers,
        row_wise=False,
    )
    with np.errstate(all="ignore"):
        found = ufunc(*arrays)
    return [found] if len(program.outputs) == 1 else list(found)


def differing(op: Any, dtype: str, count: int, seed: int = 0) -> list[Differing]:
    """The elements that the levels of an operator decide wrongly."""
    signature = signature_of(op, dtype)
    if signature is None:
        return []
    arrays, found = data(signature, count, seed), []
    for name, program, numbers in programs_of(op, signature):
        if not program.has_mask_at_end or program.decide is None:
            continue
        values = op.checked_parameters(numbers_of(op))
        right = _right(program, arrays, numbers)
        *repaired, mask = results(program.later[-1].make(), arrays, numbers)
        found += _compared(f"repair, {name} parameters", arrays, repaired, right, mask == 0)
        if name == "open":
            with np.errstate(all="ignore"):
                computed = op(*arrays, **values)
            computed = list(computed) if isinstance(computed, tuple) else [computed]
            found += _compared("kernel", arrays, computed, right, np.ones(mask.shape, bool))
    return found


def _right(program: Program, arrays: list[np.ndarray], numbers: tuple[float, ...]) -> list[np.ndarray]:
    decide: Callable[..., Any] = program.decide  # type: ignore[assignment]
    kinds = program.inputs
    rows = []
    known: dict[tuple[bytes, ...], tuple[Any, ...]] = {}
    for elements in zip(*arrays, strict=True):
        key = tuple(element.tobytes() for element in elements)
        if key not in known:
            operands = [float(e) if kind.is_float else int(e) for e, kind in zip(elements, kinds, strict=True)]
            known[key] = decide(operands, numbers)
        rows.append(known[key])
    with np.errstate(all="ignore"):
        return [
            np.array(column).astype(t.numpy) for column, t in zip(zip(*rows, strict=True), program.outputs, strict=True)
        ]


def _compared(
    level: str, arrays: list[np.ndarray], found: list[np.ndarray], right: list[np.ndarray], is_decided: np.ndarray
) -> list[Differing]:
    wrong = np.zeros(is_decided.shape, bool)
    for a, b in zip(found, right, strict=True):
        bits = f"u{a.dtype.itemsize}"
        same = a.view(bits) == b.view(bits)
        if a.dtype.kind not in "iub?":
            with np.errstate(all="ignore"):
                same |= np.isnan(a) & np.isnan(b)
        wrong |= ~same
    return [
        Differing(level, *(tuple(column[place].item() for column in columns) for columns in (arrays, found, right)))
        for place in np.flatnonzero(wrong & is_decided)
    ]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--count", type=int, default=8, help="Numbers of a family.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dtype", action="append", choices=["float32", "bfloat16", "float16"])
    given = parser.parse_args(arguments)
    wrong = 0
    for name, make in functions(given.names).items():
        op = make()
        if op is None or op.is_row_wise:
            continue
        for dtype in given.dtype or ("float32", "bfloat16", "float16"):
            found = differing(op, dtype, given.count, given.seed)
            wrong += len(found)
            for each in found[:4]:
                print(f"{name} {dtype}: {each}", flush=True)
            if len(found) > 4:
                print(f"{name} {dtype}: {len(found)} in all", flush=True)
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
