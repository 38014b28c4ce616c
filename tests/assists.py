"""Microcode assists: operations of a program that take Intel's processors a hundred cycles on ordinary data.

Processors of Intel compute with subnormal numbers in microcode, some 130 cycles for a vector, where those of AMD and Arm take no
time. Measured on one with AVX-512, an operation takes an assist for a vector with one of these:

- add, subtract: a subnormal result of normal operands. A subnormal operand alone costs nothing.
- multiply, divide, square root: a subnormal operand or result, unless the other operand is zero.
- fma: a subnormal factor, addend or result, unless the product is zero.
- scale: a result that underflows, to zero too.

Conversions, comparisons, choices, estimates and operations on bits take none.

`assists` evaluates all levels of a program node by node in NumPy, as far as ordinary data reach them, and so needs no such
processor. The values are good to a few units in the last place, which is enough to say which are subnormal.

    python -m tests.assists softplus mish --fast --derivatives --types float32,bfloat16

names the operations of these operators, or of all, and estimates their time.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

import ogive
from ogive.catalog import OPERATORS
from ogive.common.dtypes import ElementType
from ogive.errors import ArgumentError, DTypeError
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, walk
from ogive.lowering.program import Program

__all__ = ["ORDINARY", "Assist", "assists", "assists_of", "derivatives", "drawn", "programs", "values_of"]

Array = Any
"""A NumPy array or number."""

NUMPY = {
    **{form: np.dtype(form.value.replace("f", "float")) for form in (Format.F16, Format.F32, Format.F64)},
    **{form: np.dtype(form.value.replace("i", "int")) for form in (Format.I8, Format.I16, Format.I32, Format.I64)},
    **{form: np.dtype(form.value.replace("u", "uint")) for form in (Format.U8, Format.U16, Format.U32, Format.U64)},
    Format.BF16: np.dtype(ml_dtypes.bfloat16),
    Format.BIT: np.dtype(bool),
}

#: The smallest normal numbers of what is computed with.
NORMAL = {Format.F32: 2.0**-126, Format.F64: 2.0**-1022}

#: How many numbers a vector has, and what an assist takes it, in nanoseconds.
LANES, TIME = {Format.F32: 16, Format.F64: 8}, 40.0

#: How many elements; of rows, how many and how long.
COUNT, ROWS, LENGTH = 1024, 8, 256

#: Fewer elements are no ordinary data.
RARE = 0.01

#: A chunk with more undecided elements goes to the next level whole.
WHOLE = 0.1

#: Ordinary data, of a generator and a shape.
ORDINARY = {
    "N(0, 2)": lambda r, shape: r.standard_normal(shape) * 2,
    "U(-10, 10)": lambda r, shape: r.uniform(-10, 10, shape),
    "N(0, 1/4)": lambda r, shape: r.standard_normal(shape) / 4,
    "-abs(N(0, 2))": lambda r, shape: -abs(r.standard_normal(shape) * 2) - 1e-3,
    "U(0, 1)": lambda r, shape: r.random(shape) * 0.996 + 0.002,
    "1 + abs(N(0, 2))": lambda r, shape: abs(r.standard_normal(shape) * 2) + 1,
}

REDUCED = {
    "max": np.max, "min": np.min, "sum": np.sum, "product": np.prod, "first": np.min,
}  # fmt: skip


class Assist(NamedTuple):
    """The operations that take assists on one kind of data."""

    data: str
    level: str
    operations: tuple[str, ...]
    time: float
    """Nanoseconds an element, estimated."""


def is_subnormal(value: Array, form: Format) -> Array:
    size = np.abs(value)
    return (size > 0) & (size < NORMAL[form])


def _fma(a: Array, b: Array, c: Array) -> Array:
    if np.asarray(a).dtype == np.float32:
        return (np.asarray(a, np.float64) * b + c).astype(np.float32)
    product = a * b
    high_a, high_b = (x * 134217729.0 - (x * 134217729.0 - x) for x in (a, b))
    low_a, low_b = a - high_a, b - high_b
    error = ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b
    total = product + c
    back = total - product
    rest = (product - (total - back)) + (c - back) + error
    return np.where(np.isfinite(rest), total + rest, total)


def _scaled(a: Array, exponent: Array) -> Array:
    return np.ldexp(a, np.clip(np.nan_to_num(exponent), -5000, 5000).astype(np.int32))


def _looked_up(n: Expression, place: Array) -> Array:
    table = np.array(n.attribute, np.float32)
    return table[np.asarray(place).astype(np.int64) & (len(table) - 1)]


def _converted(n: Expression, a: Array) -> Array:
    if n.format.is_integer and n.operands[0].format.is_float:
        return np.clip(np.nan_to_num(np.asarray(a, np.float64)), -(2.0**62), 2.0**62).astype(NUMPY[n.format])
    return np.asarray(a).astype(NUMPY[n.format])


#: The results of operations.
VALUES: Mapping[Any, Any] = {
    ops.ADD: np.add, ops.SUBTRACT: np.subtract, ops.MULTIPLY: np.multiply, ops.MULTIPLY_TO_ODD: np.multiply, ops.DIVIDE: np.divide,
    ops.FMA: _fma, ops.SQUARE_ROOT: np.sqrt, ops.NEGATE: np.negative, ops.ABSOLUTE: np.abs, ops.FLOOR: np.floor,
    ops.CEILING: np.ceil, ops.TRUNCATE: np.trunc, ops.ROUND_EVEN: np.rint, ops.COPY_SIGN: np.copysign, ops.LESS: np.less,
    ops.LESS_EQUAL: np.less_equal, ops.EQUAL: np.equal, ops.AND: np.bitwise_and, ops.OR: np.bitwise_or,
    ops.EXCLUSIVE_OR: np.bitwise_xor, ops.NOT: np.invert, ops.SELECT: np.where, ops.SELECT_RARE: np.where,
    ops.SCALE_BY_POWER_OF_TWO: _scaled, ops.RECIPROCAL_ESTIMATE: np.reciprocal, ops.QUOTIENT: lambda a, b: a,
    ops.REMAINDER: lambda a, b: a,
}  # fmt: skip


def _takes_assist(n: Expression, operands: Sequence[Array], value: Array) -> Array:
    """Where an operation takes one."""
    form, operation = n.format, n.operation
    if form not in NORMAL or all(o.operation is ops.CONSTANT for o in n.operands):  # which the compiler computes
        return np.False_
    result = is_subnormal(value, form)
    if operation is ops.ADD or operation is ops.SUBTRACT:
        return result & ~is_subnormal(operands[0], form) & ~is_subnormal(operands[1], form)
    if operation is ops.SCALE_BY_POWER_OF_TWO:
        return (np.abs(value) < NORMAL[form]) & (operands[0] != 0) & np.isfinite(operands[1])
    if operation not in (ops.MULTIPLY, ops.MULTIPLY_TO_ODD, ops.FMA, ops.DIVIDE, ops.SQUARE_ROOT):
        return np.False_
    slow = result
    for operand in operands:
        slow = slow | is_subnormal(operand, form)
    if operation in (ops.MULTIPLY, ops.MULTIPLY_TO_ODD, ops.FMA):
        slow = slow & (operands[0] != 0) & (operands[1] != 0)
    return slow


class Evaluation:
    """The values of a program's nodes for some data, and where nodes take an assist."""

    def __init__(
        self, program: Program, arrays: Sequence[Array], parameters: Mapping[str, float], shape: tuple[int, ...]
    ) -> None:
        self.program, self.shape, self.parameters = program, shape, parameters
        self.operands = dict(enumerate(arrays))
        for place in program.row_operands:
            if place in self.operands:
                self.operands[place] = self.operands[place][..., :1]
        self.found: dict[tuple[int, int], Array] = {}
        self.values: dict[Expression, Array] = {}
        self.slow: dict[Expression, Array] = {}

    def value(self, root: Expression) -> Array:
        for n in walk(root, operands=lambda n: () if n in self.values else n.operands):
            if n not in self.values:
                operands = [self.values[o] for o in n.operands]
                self.values[n] = value = self._computed(n, operands)
                slow = _takes_assist(n, operands, value)
                if np.any(slow):
                    self.slow[n] = slow
        return self.values[root]

    def _computed(self, n: Expression, operands: Sequence[Array]) -> Array:
        operation, form = n.operation, n.format
        if operation is ops.CONSTANT:
            if form.is_integer:
                return np.array(int(n.attribute) & ((1 << form.bits) - 1), f"u{form.bits // 8}").view(NUMPY[form])[()]
            return NUMPY[form].type(n.attribute)
        if operation is ops.INPUT or operation is ops.ROW_INPUT:
            return self.operands[n.attribute][..., : None if operation is ops.INPUT else 1]
        if operation is ops.PARAMETER:
            return NUMPY[form].type(self.parameters.get(n.attribute[1], 1.0))
        if operation is ops.ROW_VALUE:
            return self.found.get(n.attribute, np.zeros((self.shape[0], 1), NUMPY[form]))
        if operation is ops.ROW_LENGTH:
            return np.float64(self.shape[-1])
        if operation is ops.ROW_POSITION:
            return np.broadcast_to(np.arange(self.shape[-1], dtype=np.float64), self.shape)
        if operation in (ops.SHIFT_LEFT, ops.SHIFT_RIGHT):
            shift = np.left_shift if operation is ops.SHIFT_LEFT else np.right_shift
            return shift(operands[0], NUMPY[form].type(n.attribute))
        if operation is ops.BITCAST:
            return np.ascontiguousarray(operands[0]).view(NUMPY[form]).reshape(np.shape(operands[0]))[()]
        if operation is ops.TABLE:
            return _looked_up(n, operands[0])
        if operation is ops.CONVERT:
            return _converted(n, operands[0])
        return np.asarray(VALUES[operation](*operands), NUMPY[form])[()]

    def run(self) -> None:
        """All stages of rows, and all results."""
        program, count = self.program, 0
        for stage in program.stages:
            for _ in range(20 if stage.repeats else 1):
                found = {}
                for place, reduction in enumerate(stage.reductions, count):
                    found.update(self._reduced(place, reduction.kind, reduction.value))
                is_same = all(np.array_equal(value, self.found.get(key)) for key, value in found.items())
                self.found.update(found)
                if stage.repeats and not is_same:
                    self.values.clear()
                    self.slow.clear()
                if is_same:
                    break
            count += len(stage.reductions)
            for place, value in stage.kept:
                self.operands[place] = self.value(value)
        for root in self.program.roots:
            self.value(root)

    def _reduced(self, place: int, kind: str, value: Expression) -> Iterator[tuple[tuple[int, int], Array]]:
        row, reduce = np.broadcast_to(self.value(value), self.shape), REDUCED.get(kind.partition("_")[2])
        nothing = np.zeros((self.shape[0], 1))
        if reduce is None:  # what rounding has lost
            yield from (((place, 0), nothing), ((place, 1), nothing))
            return
        is_whole = value.format.is_integer
        total = reduce(row.astype(np.int64 if is_whole else np.float64), axis=-1, keepdims=True)
        if kind == "row_product":
            mantissa, exponent = np.frexp(total)
            yield from (((place, 0), mantissa * 2), ((place, 1), exponent - 1.0))
            return
        yield from (((place, 0), total.view(np.float64) if is_whole else total), ((place, 1), nothing))

    @property
    def undecided(self) -> Array:
        """Where results are undecided."""
        test = self.program.undecided
        return np.False_ if test is None else self.values[test]

    def _in_groups(self, where: Array, count: int) -> Array:
        """Whether an element of its group has it."""
        if np.ndim(where) == 0 or np.shape(where)[-1] == 1:
            return where
        groups = np.broadcast_to(where, self.shape).reshape(*self.shape[:-1], -1, count).any(-1, keepdims=True)
        return np.broadcast_to(groups, (*groups.shape[:-1], count)).reshape(self.shape)

    def computed_where(self) -> dict[Expression, Array]:
        """The nodes, and where they are computed: what only rare values need, in vectors with one."""
        roots = self.program.roots
        found: dict[Expression, Array] = dict.fromkeys(roots, np.True_)
        for n in reversed(list(walk(*roots))):
            for place, operand in enumerate(n.operands):
                where = found[n]
                if n.operation is ops.SELECT_RARE and place == 1:
                    where = where & self._in_groups(self.values[n.operands[0]], 16)
                found[operand] = found.get(operand, np.False_) | where
        return found

    def slow_operations(self) -> tuple[list[str], float]:
        """The operations that take assists for more than rare elements, and their time for an element."""
        names, time, computed = [], 0.0, self.computed_where()
        for n, slow in self.slow.items():
            if self.program.stages and np.ndim(slow) and np.shape(slow)[-1] == 1:
                continue  # once a row
            where = np.broadcast_to(slow & computed.get(n, np.False_), self.shape)
            if where.mean() > RARE:
                names.append(f"{n.format.value} {n.operation.name}")
                time += TIME * self._in_groups(where, LANES[n.format]).mean() / LANES[n.format]
        return names, time


def levels(program: Program) -> Iterator[tuple[str, Program]]:
    """The programs that compute an element after each other, before the repair, which few elements see."""
    yield "first level", program.first
    yield from (("first level, short tables", form) for form in program.first_levels[1:])
    yield from (("retry", level.make()) for level in program.first.later if not level.has_mask)


def drawn(types: Sequence[ElementType], data: str, shape: tuple[int, ...]) -> list[Array]:
    """An array of ordinary data for each operand."""
    random, make = np.random.default_rng(7), ORDINARY[data]
    return [make(random, shape) > 0 if t.name == "bool" else make(random, shape).astype(t.numpy) for t in types]


def assists(program: Program, parameters: Mapping[str, float]) -> Iterator[Assist]:
    """The operations of a program that take assists, by kind of data and level."""
    shape = (ROWS, LENGTH) if program.stages else (COUNT,)
    for data in ORDINARY:
        yield from assists_of(program, parameters, drawn(program.inputs, data, shape), data)


def assists_of(
    program: Program, parameters: Mapping[str, float], arrays: Sequence[Array], data: str
) -> Iterator[Assist]:
    """The same for these arrays."""
    reach, shape = 1.0, arrays[0].shape
    for level, current in levels(program):
        found = Evaluation(current, arrays, parameters, shape)
        with np.errstate(all="ignore"):
            found.run()
            operations, time = found.slow_operations()
        if operations:
            counted = Counter(operations)
            yield Assist(data, level, tuple(f"{count} {each}" for each, count in counted.items()), float(time * reach))
        where = np.broadcast_to(found.undecided, shape)
        share = float((where.any(-1) if program.stages else where).mean())
        reach *= 1.0 if share > WHOLE and not program.stages else share
        if not reach:
            break


def values_of(op: Any) -> dict[str, float]:
    """The parameters that an operator has by default, and 1.5 where it has none."""
    return {p.name: float(1.5 if p.is_required else p.default) for p in op.numeric_parameters}


def programs(op: Any, signature: Any) -> Iterator[tuple[str, Program]]:
    """The programs of one combination of types, by the choices that parameters leave."""
    for chosen in itertools.product(*([(p.name, c) for c in p.choices] for p in op.parameters if p.choices)):
        yield ", ".join(f"{name}={value!r}" for name, value in chosen), op.program(signature, **dict(chosen))


def derivatives(op: Any) -> Iterator[tuple[str, Any]]:
    """The derivatives of an operator, as far as it has them."""
    names = (*op.tensors, *(p.name for p in op.numeric_parameters))
    makers = [("vjp", lambda: ogive.vjp(op)), *((f"grad of {n}", lambda n=n: ogive.grad(op, wrt=n)) for n in names)]
    for name, make in makers:
        try:
            yield name, make()
        except (ArgumentError, DTypeError):
            continue


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--types", default="float32,float64,float16,bfloat16")
    parser.add_argument("--derivatives", action="store_true")
    parser.add_argument("--fast", action="store_true")
    given = parser.parse_args(arguments)
    kinds, seen, slow = {*given.types.split(","), "bool"}, 0, 0
    for name in given.names or OPERATORS:
        op = getattr(OPERATORS[name], "fast" if given.fast else "exact")
        for which, each in derivatives(op) if given.derivatives else [("", op)]:
            for signature in each.signatures:
                names = [t.name for t in (*signature.inputs, *signature.outputs)]
                if not kinds.issuperset(names) or names[0] == "bool":
                    continue
                for chosen, program in programs(each, signature):
                    found = list(assists(program, values_of(each)))
                    seen, slow = seen + 1, slow + bool(found)
                    for one in found:
                        print(f"{name} {which} {names[0]} {chosen}: {one}", flush=True)
    print(f"{seen} programs, {slow} with assists")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
