"""Element-wise computations as front ends describe them: formulas with element types, before lowering.

A computation answers three questions without lowering its formulas: which kernel it needs (``identity``), how
long the kernel will be (``size``), and how many numbers the kernel takes at run time (``parameter_count``). Only
a kernel that is in no cache asks for the ``program``. Functions and models with equal computations share a kernel.
Casts are computations too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar
from weakref import WeakValueDictionary

import numpy as np

from ogive import _native
from ogive.common.dtypes import ElementType
from ogive.common.forking import cached_property
from ogive.common.records import record, replaced
from ogive.graph import operations as ops
from ogive.graph.expression import STORAGE, Expression, Format, in_format, lift, node, python, walk

if TYPE_CHECKING:
    from ogive.lowering.program import Program
from ogive.common.dtypes import BOOLEAN
from ogive.formula import equal, where

C = TypeVar("C", bound="Compilable")


class Compilable(Protocol):
    """The computation of a kernel: results of some element types from operands of some element types."""

    @property
    def inputs(self) -> tuple[ElementType, ...]: ...

    @property
    def outputs(self) -> tuple[ElementType, ...]: ...

    @property
    def is_row_wise(self) -> bool:
        """Whether an element may depend on others of its row."""

    @property
    def row_operands(self) -> frozenset[int]:
        """The operands that have one number a row: inputs, then outputs, as they are counted."""

    @property
    def identity(self) -> str:
        """A text that is the same exactly for computations that have the same program."""

    @property
    def key(self) -> Hashable:
        """A key that computations of one identity share, in this process and while they live; found faster."""

    @property
    def program(self) -> Program:
        """The program that the computation is lowered to."""


class Computation(Compilable, Protocol):
    """Results that are computed element by element."""

    @property
    def parameter_count(self) -> int:
        """How many numbers a kernel of the computation takes at run time."""

    @property
    def needs_test(self) -> bool:
        """Whether some results must be computed again (lowering/exact.py). Code over rows has no place for that."""

    @property
    def size(self) -> int:
        """About how many instructions an element takes."""


@record(eq=False)
class Formula:
    """Formulas for operands of certain element types; parameters that are not bound stay open."""

    roots: tuple[Expression, ...]
    inputs: tuple[ElementType, ...]
    outputs: tuple[ElementType, ...]
    modular: bool = False
    """Whether integers wrap around."""
    parameter_count: int = 0
    """How many stay open."""
    is_row_wise: bool = False
    reduces: bool = False
    """Whether results are one number a row."""
    bound: tuple[tuple[str, float], ...] = ()
    """Parameters that are constants, with their values."""
    accuracy: str = "exact"
    """The contract, one of contracts.CONTRACTS."""

    @property
    def row_operands(self) -> frozenset[int]:
        count = len(self.inputs)
        return frozenset(range(count, count + len(self.outputs)) if self.reduces else ())

    @cached_property
    def identity(self) -> str:
        return f"{self._rest}\n{python(*self.roots)}"

    @cached_property
    def key(self) -> Hashable:
        return self._rest, *map(id, self.roots)  # equal graphs are one graph

    @cached_property
    def _rest(self) -> str:
        types = [[t.name for t in side] for side in (self.inputs, self.outputs)]
        contract = ("" if self.accuracy == "exact" else f" {self.accuracy}") + (" reduces" if self.reduces else "")
        return f"{types} {self.modular} {self.parameter_count} {self.is_row_wise} {self.bound}{contract}"

    @cached_property
    def size(self) -> int:
        kinds = (current.operation for current in walk(*self.roots) if current.operands)
        return sum(kind.instructions for kind in kinds) + 1

    @cached_property
    def program(self) -> Program:
        from ogive.lowering.exact import computes_in
        from ogive.lowering.fold import fold
        from ogive.lowering.lower import lower

        numbers = dict(self.bound)
        if computes_in(self.inputs, self.outputs) == "float32":  # as a kernel gets those that stay open
            numbers = {name: float(np.float32(value)) for name, value in self.bound}
        return lower(
            [fold(root, numbers) for root in self._of_types(keeps_overflow=True)],
            self.inputs,
            self.outputs,
            modular=self.modular,
            parameter_count=self.parameter_count,
            reduces=self.reduces,
            accuracy=self.accuracy,
        )

    def _of_types(self, *, keeps_overflow: bool = False) -> tuple[Expression, ...]:
        """The formulas with what depends on the element types, but for where numbers become infinite if that is kept."""
        from ogive.graph.limits import stored_in, with_limits
        from ogive.lowering.exact import computes_in

        is_single = computes_in(self.inputs, self.outputs) == "float32"
        stored = stored_in(self.inputs, self.outputs)
        return with_limits(
            self.roots, stored, in_float64=True, rounds_parameters=is_single, keeps_overflow=keeps_overflow
        )

    @cached_property
    def needs_test(self) -> bool:
        """Whether results come with a rounding test, and are repaired where that says so (lowering/exact.py)."""
        from ogive.lowering.exact import is_of_doubles, needs_test
        from ogive.lowering.fold import fold
        from ogive.lowering.lower import computed_in_integers

        roots = [fold(root) for root in self._of_types()]
        if computed_in_integers(roots, self.inputs, self.outputs, modular=self.modular):
            return False
        if not self.is_row_wise and is_of_doubles(roots, self.outputs):
            return self.program.undecided is not None  # which only the bounds know
        return needs_test(roots, self.inputs, self.outputs)

    def applied_to(
        self, operands: Sequence[Expression], inputs: tuple[ElementType, ...], first: int, parameter_count: int
    ) -> Formula:
        """The formulas of other operands, which are graphs of ``inputs``.

        There are ``parameter_count`` parameters then; the formulas' own begin at number ``first``.
        """
        from ogive.lowering.program import substituted

        roots = substituted(self.roots, operands, first, first + self.parameter_count)
        return replaced(self, roots=roots, inputs=inputs, parameter_count=parameter_count)


@record(eq=False)
class Element:
    """One number of an element type, the same for all elements."""

    value: float | int
    kind: ElementType

    inputs = ()
    parameter_count = 0
    is_row_wise = False
    needs_test = False
    row_operands: ClassVar[frozenset[int]] = frozenset()
    size = 0

    @property
    def outputs(self) -> tuple[ElementType, ...]:
        return (self.kind,)

    @property
    def identity(self) -> str:
        return f"{self.kind.name} {self.value!r}"

    key = identity

    @cached_property
    def program(self) -> Program:
        from ogive.lowering.program import Program

        storage = STORAGE[self.kind.name]
        if storage in (Format.F16, Format.BF16):  # stored only: constants of these formats do not exist
            single = node(ops.CONSTANT, (), float(self.value), Format.F32)
            result = in_format(single, storage)
        else:
            result = node(ops.CONSTANT, (), float(self.value) if storage.is_float else int(self.value), storage)
        return Program((), (self.kind,), (result,), decide=lambda _operands, _parameters: (self.value,))


@record(eq=False)
class Fused:
    """Computations one after the other on the same elements, in one pass over memory.

    Values are numbered: the ``inputs`` first, then the results of each step in turn. A step is a computation and
    the numbers of its operands; ``results`` are the numbers of the values that are wanted. The parameters are
    those of the steps, in order. Numbers that are rounded to an element type between two steps stay rounded.
    """

    inputs: tuple[ElementType, ...]
    steps: tuple[tuple[Computation, tuple[int, ...]], ...]
    results: tuple[int, ...]
    is_row_wise = False
    row_operands: ClassVar[frozenset[int]] = frozenset()

    @cached_property
    def outputs(self) -> tuple[ElementType, ...]:
        types = [*self.inputs, *(t for step, _ in self.steps for t in step.outputs)]
        return tuple(types[number] for number in self.results)

    @cached_property
    def needs_test(self) -> bool:
        return any(step.needs_test for step, _ in self.steps)

    @cached_property
    def parameter_count(self) -> int:
        return sum(step.parameter_count for step, _ in self.steps)

    @cached_property
    def only_step(self) -> Computation | None:
        return only_step(self.inputs, self.steps, self.results)

    @cached_property
    def identity(self) -> str:
        if self.only_step is not None:
            return self.only_step.identity
        lines = [f"{[t.name for t in self.inputs]} -> {list(self.results)}"]
        lines += [f"{list(operands)}: {step.identity}" for step, operands in self.steps]
        return "\n".join(lines)

    @cached_property
    def key(self) -> Hashable:
        if self.only_step is not None:
            return self.only_step.key
        return self.inputs, self.results, *((step.key, operands) for step, operands in self.steps)

    @cached_property
    def size(self) -> int:
        return sum(step.size for step, _ in self.steps)

    @cached_property
    def program(self) -> Program:
        if self.only_step is not None:  # computations of one identity have one program
            return self.only_step.program
        from ogive.lowering.fuse import fuse

        return fuse(self.inputs, programs(self.steps), self.results)


def only_step(
    inputs: tuple[ElementType, ...], steps: Sequence[tuple[C, tuple[int, ...]]], results: tuple[int, ...]
) -> C | None:
    """The only step, where there is one, of these operands and with these results; None elsewhere."""
    if len(steps) != 1:
        return None
    ((step, operands),) = steps
    is_whole = (*operands, *results) == (*range(len(inputs) + len(step.outputs)),)
    return step if is_whole and step.inputs == inputs else None


def programs(steps: Iterable[tuple[Compilable, tuple[int, ...]]]) -> list[tuple[Program, tuple[int, ...]]]:
    """The steps with their programs in place of their computations; equal computations are lowered once."""
    known: dict[Hashable, Program] = {}
    found = []
    for step, operands in steps:
        program = known.get(step.key)
        if program is None:
            program = known[step.key] = step.program
        found.append((program, operands))
    return found


def under(computation: C, accuracy: str) -> C:
    """The computation under another accuracy contract; one without a contract stays as it is."""
    if isinstance(computation, Formula):
        return replaced(computation, accuracy=accuracy)
    if isinstance(computation, Fused):
        return replaced(computation, steps=tuple((under(step, accuracy), places) for step, places in computation.steps))
    return computation


class _ByKey:
    """A computation as a key of a table: equal to every other one of its identity. It keeps what the key is made of."""

    __slots__ = ("computation", "key")

    def __init__(self, computation: Compilable) -> None:
        self.computation, self.key = computation, computation.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByKey) and self.key == other.key


#: The kernels that somebody holds.
_kernels: WeakValueDictionary[_ByKey, _native.Kernel] = WeakValueDictionary()


def kernel_of(computation: Compilable) -> _native.Kernel:
    """The kernel of a computation, compiled or read from the disk when it is first called.

    Computations of one identity share a kernel, whatever front end they come from.
    """
    return _kernel(_ByKey(computation))


def _kernel(key: _ByKey) -> _native.Kernel:
    found = _kernels.get(key)
    return found if found is not None else _kernels.setdefault(key, _made_kernel(key.computation))


def _made_kernel(made: Compilable, *, has_enclosures: bool = True) -> _native.Kernel:
    from ogive.runtime.kernels import make_kernel

    return make_kernel(
        made.inputs,
        made.outputs,
        lambda: made.program,
        row_wise=made.is_row_wise,
        row_operands=made.row_operands,
        make_identity=lambda: made.identity,
        has_enclosures=has_enclosures,
    )


@lru_cache(maxsize=512)
def _kept(key: _ByKey) -> _native.Kernel:
    """The kernel, for models that are loaded again."""
    return _kernel(key)


def make_ufunc(
    name: str, computation: Compilable, parameters: Sequence[float] = (), *, has_enclosures: bool = True
) -> np.ufunc:
    """A ufunc that computes for operands of exactly the computation's element types; over rows a generalised one.

    ``parameters`` are the values of the numbers that the computation leaves open. Without enclosures results are those of
    exported C.
    """
    kernel = _kept(_ByKey(computation)) if has_enclosures else _made_kernel(computation, has_enclosures=False)
    operands = (*computation.inputs, *computation.outputs)
    return _native.make_ufunc(
        name=name,
        doc="",
        inputs=len(computation.inputs),
        outputs=len(computation.outputs),
        loops=[(tuple(t.type_numbers[0] for t in operands), kernel)],
        parameters=tuple(parameters),
        row_wise=computation.is_row_wise,
    )


def leaves(count: int, first: int = 0) -> list[Any]:
    """The operands of a formula of numbers: so many, from a place on."""
    return [lift(node(ops.INPUT, (), first + i, Format.NUMBER)) for i in range(count)]


def formula_of(function: Callable[..., Any], inputs: tuple[ElementType, ...], output: ElementType) -> Formula:
    """A function of numbers as the formula for operands of these types."""
    return Formula((lift(function(*leaves(len(inputs)))),), inputs, (output,))


def cast(source: ElementType, result: ElementType) -> Formula:
    """The conversion of elements of one type to another."""
    x = node(ops.INPUT, (), 0, Format.TRUTH if source is BOOLEAN else Format.NUMBER)
    root: Expression = x
    if source is BOOLEAN and result is not BOOLEAN:
        root = where(x, 1, 0)
    elif result is BOOLEAN and source is not BOOLEAN:
        root = ~equal(x, 0)
    # Integers lose higher bits; computed as real numbers they would saturate.
    return Formula((root,), (source,), (result,), modular=not (source.is_float or result.is_float))
