"""The result of lowering: primitive graphs with what goes in and out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import numpy as np

from ogive.common.dtypes import ELEMENT_TYPES, ElementType
from ogive.graph import operations as ops
from ogive.graph.expression import STORAGE, Expression, Format, node, python, rewritten, varying, walk

#: So many more powers of two are below 1 than above it among the magnitudes of float32.
SUBNORMAL_BITS = 21

#: The element type of a repair's last result: 1 where it could not decide.
MASK = ELEMENT_TYPES["uint8"]

Number = float | int


@dataclass(frozen=True)
class DecideRow:
    """Function that computes the results of one row with as many bits as they take."""

    decide: Callable[[Sequence[Sequence[Number]], Sequence[float], Sequence[int] | None], tuple[Sequence[Number], ...]]
    reach: int
    """The exponent of two up to which finite operands make no infinities on the way; 0 for none, as by exp(x)."""
    factors: frozenset[int] = frozenset()
    """The operands whose infinities may be multiplied by what vanishes."""
    reach_of_factors: int = 0
    """The exponent of two up to which nothing of that vanishes."""

    def __call__(
        self, rows: Sequence[Sequence[Number]], parameters: Sequence[float], wanted: Sequence[int] | None = None, /
    ) -> tuple[Sequence[Number], ...]:
        """The results for a row of each operand: those at the ``wanted`` positions, all by default."""
        return self.decide(rows, parameters, wanted)

    def keeps_infinities(self, rows: Sequence[np.ndarray], parameters: Sequence[float]) -> bool:
        """Whether infinities and NaN of results are those of IEEE 754's arithmetic, as nothing overflows or vanishes on the way."""
        multiplies = any(bool(np.isinf(rows[place]).any()) for place in self.factors)
        reach = min(self.reach, self.reach_of_factors) if multiplies else self.reach
        sizes = np.abs(np.concatenate([*rows, parameters]))
        exponents = np.frexp(sizes[np.isfinite(sizes) & (sizes > 0)])[1]
        has_room = (-reach - SUBNORMAL_BITS <= exponents) & (exponents <= reach)
        return reach > 0 and bool(has_room.all())


class Summation(Enum):
    """How the numbers of a row are added up.

    IN_FLOAT64 is for sums whose last bits show: without a rounding test, or next to ties. The order of the next two follows the
    loops of a target, and so do their last bits, which a rounding test covers. The fast contract has two kinds of its own.

    Each saves time, here measured on Zen 4 in float32 and rows of 1,000. By IN_FLOAT64 in the place of IN_GROUPS
    layer_normalization takes 1.42 times as long. UNCOMPENSATED is for bounds, second words, and sums with one test a row: without
    it add.reduce takes 1.20 times as long, and by IN_GROUPS logsumexp of float64 1.17 times. Without IN_PAIRS fast log_softmax
    takes 1.09 times as long and fast layer_normalization 1.9 times; without FROM_ONE fast softmax 1.15 times.
    """

    IN_FLOAT64 = "one after the other in float64, and beside a sum of float64 what rounding lost of it"
    IN_GROUPS = (
        "first what a turn of the loop takes, of float32 four elements of a lane, in its own format; then in float64, and beside a"
        " sum of float64 what rounding lost"
    )
    UNCOMPENSATED = "first what a turn of the loop takes, and all in its own format, without what rounding lost"
    IN_PAIRS = (
        "two and two in their own format, then in float64, without what rounding lost: of float64, and of float32 that is far from"
        " infinite, and not negative"
    )
    FROM_ONE = "in float32 from one on, and beside it what rounding lost, which is exact: of numbers from zero to one"


@dataclass(frozen=True)
class Reduction:
    """Operations that make one number of a row."""

    kind: str
    """One of REDUCTIONS, or what goes with the one before it, of the same value: ``row_lost`` is the sum of the magnitudes
    that both words of a sum lost, ``row_rest`` what a product has beside its leading word. Integers have ``whole_sum`` and the like.
    """
    value: Expression
    """The reduced node."""
    summation: Summation = Summation.IN_FLOAT64

    @property
    def lanes(self) -> int:
        """How many partial results the loop carries. The order of a sum follows from it, and from nothing around it."""
        return 8 if self.value.format.bits == 64 else 16

    @property
    def goes_with_another(self) -> bool:
        """Whether it is found with the reduction before it."""
        return self.kind in ("row_lost", "row_rest")

    @property
    def is_count(self) -> bool:
        """Whether it is a sum of what is 1 where a condition holds, or where it does not, and 0 elsewhere."""
        value = self.value
        return (
            self.kind == "row_sum"
            and value.operation == ops.SELECT
            and all(operand.operation == ops.CONSTANT for operand in value.operands[1:])
            and {operand.attribute for operand in value.operands[1:]} == {0.0, 1.0}
        )


@dataclass(frozen=True)
class Stage:
    """A pass over a row that reduces it to numbers."""

    reductions: tuple[Reduction, ...]
    kept: tuple[tuple[int, Expression], ...] = ()
    """(operand, value): what is stored in a row of the kernel's own, because a later stage needs it too."""
    repeats: bool = False
    """Whether it uses the numbers that it finds, zeros at first, and runs until these stay the same."""

    @property
    def names(self) -> list[str]:
        """Its reductions by name, and ``again`` where it repeats: what a kernel is told."""
        return [*(reduction.kind for reduction in self.reductions), *(["again"] if self.repeats else [])]


@dataclass(frozen=True)
class Level:
    """A later program of a chain. Elements that ask for it have it made."""

    make: Callable[[], Program]
    has_mask: bool = False
    """Whether its last result says where enclosures have to decide: an uint8 that is 1 there. The last level of a chain has it
    unless it decides all."""


@dataclass(frozen=True)
class Program:
    """Primitive graphs with what goes in and out: what one kernel computes."""

    inputs: tuple[ElementType, ...]
    outputs: tuple[ElementType, ...]
    results: tuple[Expression, ...]
    """One root per output, in the storage format of its element type."""
    stages: tuple[Stage, ...] = ()
    """The first computations of a row-wise program. Stages and results use what earlier stages have found."""
    parameter_count: int = 0
    """How many scalar parameters a kernel gets at run time."""
    row_operands: frozenset[int] = frozenset()
    """The operands of a row-wise program that have one number a row: inputs, then outputs, as they are counted."""
    is_fused: bool = field(default=False, compare=False)
    """Whether it computes several programs, one after the other."""
    undecided: Expression | None = None
    """A bit: where a result may not be the correctly rounded one, because the number that it is rounded from is nearer to
    a rounding boundary than the bound of its error. None: nowhere."""
    later: tuple[Level, ...] = field(default=(), compare=False)
    """The rest of the chain: each level computes again what the one before leaves undecided. All but the last have the same results
    and a test of their own. Programs that decide everything need none."""
    first_levels: tuple[Program, ...] = ()
    """The forms of a level before this program, in float32 or pairs of it, for targets that have its instructions. The second
    form has shorter tables, of eight powers of two, for targets where longer ones take several instructions."""
    decide: Callable[[Sequence[Number], Sequence[float]], tuple[Number, ...]] | None = field(
        default=None, compare=False
    )
    """The results for the operands of one element and these parameters, with as many bits as they take. None for rows."""

    decide_row: DecideRow | None = field(default=None, compare=False)
    """The same for a row-wise program."""

    is_tested: bool = field(default=False, compare=False)
    """Whether the sums and products of a row-wise program have bounds of their error, and its results a rounding test."""

    def level_before(self, **fields: Any) -> Program:
        """A program with these fields in the place of this one's, whose undecided elements this one computes again."""
        later = () if self.undecided is None else self.later
        return replace(self, **fields, later=(Level(lambda: self), *later), first_levels=())

    @property
    def first(self) -> Program:
        """The first program of the chain on a target with all instructions."""
        return self.first_levels[0] if self.first_levels else self

    @property
    def chain(self) -> tuple[Program, ...]:
        """The program and all later ones, which are made now."""
        return (self, *(level.make() for level in self.later))

    @property
    def last_tested(self) -> Program:
        """The last program of the chain before the repair: it takes operands of any size."""
        before = [level for level in self.later if not level.has_mask]
        return before[-1].make() if before else self

    @property
    def has_mask_at_end(self) -> bool:
        """Whether enclosures decide what the last level leaves open."""
        return bool(self.later) and self.later[-1].has_mask

    @property
    def is_repair(self) -> bool:
        """Whether this computes again what another program leaves undecided: its last result is a mask."""
        return self.undecided is None and self.outputs[-1] is MASK and len(self.outputs) > 1

    @property
    def in_any_order(self) -> bool:
        """Whether results are the same in whatever order a row's elements are added up and multiplied."""
        kinds = {reduction.kind for stage in self.stages for reduction in stage.reductions}
        return self.is_tested or kinds.isdisjoint({"row_sum", "row_product"})

    @property
    def marks_rows(self) -> bool:
        """Whether it is said of whole rows that they are undecided: of results that a row has one of."""
        results = range(len(self.inputs), len(self.inputs) + len(self.outputs))
        undecided = self.undecided
        return undecided is not None and self.row_operands.issuperset(results) and undecided not in varying([undecided])

    @property
    def scratch(self) -> tuple[Format, ...]:
        """The rows of the kernel's own, that stages keep; as operands they follow the outputs."""
        kept = dict(place for stage in self.stages for place in stage.kept)
        return tuple(kept[place].format for place in sorted(kept))

    @property
    def roots(self) -> tuple[Expression, ...]:
        """The computed nodes, in all stages."""
        reduced = [reduction.value for stage in self.stages for reduction in stage.reductions]
        kept = [value for stage in self.stages for _, value in stage.kept]
        undecided = () if self.undecided is None else (self.undecided,)
        return (*reduced, *kept, *self.results, *undecided)

    @property
    def is_in_pairs(self) -> bool:
        """Whether numbers are pairs of float32, which need tables in registers: so are all in float32 but those of 16 bits."""
        return bool(self.tables) or any(t.bits != 16 for t in (*self.inputs, *self.outputs))

    @property
    def tables(self) -> list[tuple[float, ...]]:
        """The tables whose numbers it takes."""
        return [current.attribute for current in walk(*self.roots) if current.operation is ops.TABLE]

    @property
    def size(self) -> int:
        """How many instructions an element takes."""
        return sum(1 for current in varying(self.roots) if current.operands)

    @property
    def text(self) -> str:
        """All that a kernel is made of, later levels included: equal texts are equal kernels on every target."""
        types = [[kind.name for kind in side] for side in (self.inputs, self.outputs)]
        passes = [
            (stage.names, [r.summation.name for r in stage.reductions], [place for place, _ in stage.kept])
            for stage in self.stages
        ]
        rows = (passes, [f.name for f in self.scratch], sorted(self.row_operands), self.in_any_order)
        parts = [f"{types} {self.parameter_count} {rows}", python(*self.roots)]
        for form in self.first_levels:
            between = form.later[: max(0, len(form.later) - len(self.later) - 1)]
            parts += [python(*program.roots) for program in (form, *(level.make() for level in between))]
        if self.has_mask_at_end:
            parts.append(self.later[0].make().text)
        return "\n".join(parts)

    @property
    def digest(self) -> str:
        """16 hexadecimal digits that tell this program's text from others.

        Measured figures keep them. So they do not depend on the module that texts import nodes from.
        """
        import hashlib  # it loads OpenSSL, and only measurements ask

        text = self.text.replace(f"from {node.__module__} import", "from ogive.expression import")
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def stored_operand(leaf: Expression, types: tuple[ElementType, ...]) -> Expression:
    """An operand of a formula as it lies in memory."""
    return node(ops.INPUT, (), leaf.attribute, STORAGE[types[leaf.attribute].name])


def substituted(
    roots: Sequence[Expression], operands: Sequence[Expression], first: int, end: int
) -> tuple[Expression, ...]:
    """The graphs with ``operands`` in the place of their inputs, their parameters numbered ``first`` to ``end``."""

    def replaced(old: Expression, new: Expression) -> Expression:
        if old.operation == ops.INPUT:
            return operands[int(old.attribute)]
        if old.operation != ops.PARAMETER:
            return new
        position, name = old.attribute
        if first + position >= end:
            raise ValueError(f"fuse: parameter {name} of a step is not bound")
        return node(ops.PARAMETER, (), (first + position, name), old.format)

    return rewritten(roots, replaced)
