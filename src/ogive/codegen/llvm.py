"""The only emitter: a primitive graph as LLVM IR.

The kernel is a loop over blocks of elements, after one that takes several blocks at a time: the instructions of one
block wait for each other, those of several fill the gaps. Where a program has a fast path for operands that are not large
(transform/usual.py), it decides at each turn between these and the results'. Nodes that depend on parameters alone are
computed once, as scalars, before the loops. There is no fast-math flag, no contraction and no call of a library
function anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ogive.codegen.blocks import block_size, blocks_at_a_time, elements_of_a_group
from ogive.codegen.instructions import ROWS
from ogive.codegen.reductions import Accumulator
from ogive.codegen.target import Target
from ogive.codegen.writer import ROWS_AT_ONCE, TYPES, Writer, first_finding, natural_alignment
from ogive.expression import Expression, Format, walk
from ogive.transform.cost import eager_operands, varying
from ogive.transform.program import STORAGE, Program

__all__ = ["emit", "entries"]

#: Some processors of the highest level are tuned for half its width; the full one is faster on all we measured.
ATTRIBUTES = 'nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512"'

#: What has to divide the addresses of outputs that are written past the caches.
STREAM_ALIGNMENT = 64

#: How many numbers a stage may compute for all its rows at once; they follow the findings of all stages.
MOST_AHEAD = 16


def entries(program: Program) -> list[str]:
    """The names of the functions that `emit` defines: one per stage, and the one that computes the results."""
    return [f"stage{i}" for i in range(len(program.stages) + 1)]


def _slot(program: Program, stage: int) -> int:
    """Where in a row's record the findings of a stage begin: behind those of the stages before it."""
    return first_finding(program) + 2 * sum(len(s.reductions) for s in program.stages[:stage])


@dataclass(frozen=True)
class _Loop:
    """One of the loops of a function, which take up the elements one after the other."""

    name: str
    width: int
    """Elements of a turn."""
    begin: str
    """Where it begins: the limit of the loop before it."""
    after: str
    """The block after it."""
    group: int = 1
    """What has to divide the number of elements of all turns."""
    is_incomplete: bool = False
    """Whether a turn reaches beyond the last element."""

    @property
    def check(self) -> str:
        """The block before it, which finds whether there is anything for it to do."""
        return f"before.{self.name}"

    @property
    def limit(self) -> str:
        return "%count" if self.is_incomplete else f"%limit.{self.name}"


def _loops(program: Program, target: Target) -> list[_Loop]:
    """Over several blocks at a time, over single ones, and over the incomplete last one, where there may be one."""
    block, at_a_time, has_rest = block_size(program), blocks_at_a_time(program, target), bool(program.stages)
    rest = [_Loop("rest", block, "%limit.block", "done", is_incomplete=True)] if has_rest else []
    group = elements_of_a_group(program, block * at_a_time)
    several = [_Loop("blocks", block * at_a_time, "0", "before.block", group)] if at_a_time > 1 else []
    single = _Loop("block", block, "%limit.blocks" if several else "0", "before.rest" if rest else "done", block)
    return [*several, single, *rest]


def emit(program: Program, target: Target) -> str:
    """The module whose functions (`entries`) compute a program for a multiple of `block_size` elements."""
    writers = [_Function(target, block_size(program), program) for _ in entries(program)]
    functions = [
        writer.function(name, i) for i, (writer, name) in enumerate(zip(writers, entries(program), strict=True))
    ]
    declarations = {text: None for writer in writers for text in writer.declarations.values()}
    header = [f'target triple = "{target.triple}"', *declarations]
    attributes = f'{ATTRIBUTES} "tune-cpu"="{target.tuning.scheduled_for}"'
    footer = [f"attributes #0 = {{ {attributes} }}", '!0 = !{!"branch_weights", i32 1, i32 1000}', "!1 = !{i32 1}"]
    return "\n".join([*header, *functions, *footer, ""])


@dataclass
class _Function(Writer):
    """Writes one function."""

    label: str = "entry"
    """Of the basic block that is being emitted."""
    between: bool = False
    """Whether this is a stage of rows neither first nor last."""

    def function(self, name: str, stage: int) -> str:
        """The text of a stage, or of what computes the results."""
        program = self.program
        self.between = 0 < stage < len(program.stages)
        if stage < len(program.stages):
            reductions, stored = program.stages[stage].reductions, program.stages[stage].kept
        else:
            reductions, stored = (), tuple(enumerate(program.results, start=len(program.inputs)))
        of_rows = [(operand, value) for operand, value in stored if operand in program.row_operands]
        stored = tuple(place for place in stored if place not in of_rows)
        roots = [*(reduction.value for reduction in reductions), *(value for _, value in stored)]
        operand_types = [*(STORAGE[t.name] for t in (*program.inputs, *program.outputs)), *program.scratch]
        everything = [
            *roots,
            *(value for _, value in of_rows),
            *(() if program.usual is None else (program.usual.magnitude, program.usual.limit, *program.usual.results)),
        ]
        differing = varying(everything)
        ahead = _ahead([*roots, *(value for _, value in of_rows)], differing)
        head = self._head(name, len(operand_types), self._ahead(ahead))
        for i, current in enumerate(ahead):
            kind = TYPES[current.format]
            address = self.first_record(_slot(program, len(program.stages)) + i)
            address = self.emit(f"getelementptr {kind}, ptr {address}, i64 %row")
            self.scalars[current] = self.emit(f"load {kind}, ptr {address}, align {natural_alignment(current.format)}")
        for current in walk(*everything, operands=lambda n: () if n in self.scalars else n.operands):
            if current not in differing and current not in self.scalars:
                self._node(current)
        for operand, result in of_rows:
            self.invariant_lines.append(self.store(self.value(result), f"%operand{operand}", operand_types[operand]))
        found = [Accumulator(self, i, reduction) for i, reduction in enumerate(reductions)]
        loops = _loops(program, self.target) if roots else []
        lines, before, last = [], "", ""
        for loop in loops:
            lines.append(f"{loop.check}:")
            if before:
                lines += [line for accumulator in found for line in accumulator.joints(loop.check, before, last)]
            if not loop.is_incomplete:
                lines.append(f"  {loop.limit} = and i64 %count, {-loop.group}")
            lines += [
                f"  %some.{loop.name} = icmp ult i64 {loop.begin}, {loop.limit}",
                f"  br i1 %some.{loop.name}, label %{loop.name}, label %{loop.after}",
                *self._loop(loop, roots, stored, operand_types, found),
            ]
            before, last = loop.check, self.label
        lines.append("done:")
        for accumulator in found:
            lines += accumulator.joints("done", before, last)
        aside = _slot(program, len(program.stages)) + MOST_AHEAD
        lines += [line for accumulator in found for line in accumulator.put_aside(aside)]
        last_lines = [line for accumulator in found for line in accumulator.find(aside, _slot(program, stage))]
        start = [*self.invariant_lines, f"  br label %{loops[0].check if loops else 'done'}"]
        return "\n".join([*head, *start, *lines, *self._foot(last_lines)])

    def _ahead(self, nodes: Sequence[Expression]) -> list[str]:
        """What differs from row to row only, for all rows at once, into their records."""
        if not nodes:
            return []
        block, self.block, self.label, self.is_ahead = self.block, ROWS_AT_ONCE, "entry", True
        differing = varying(nodes, ("row_value",))
        for current in walk(*nodes):
            if current not in differing:
                self._node(current)
        self.lanes = self.block
        self._region(nodes, differing)
        for i, current in enumerate(nodes):
            slot = _slot(self.program, len(self.program.stages)) + i
            self.lines.append(self.store(self.value(current), self.record(slot), current.format))
        lines = [*self.invariant_lines, *self.lines]
        self.block, self.lanes, self.is_ahead = block, 1, False
        self.lines, self.invariant_lines, self.names, self.scalars = [], [], {}, {}
        return lines

    def _loop(
        self,
        loop: _Loop,
        roots: Sequence[Expression],
        stored: Sequence[tuple[int, Expression]],
        operand_types: Sequence[Format],
        found: Sequence[Accumulator],
    ) -> list[str]:
        """One of the loops over the elements."""
        block = self.block
        self.block = self.lanes = loop.width
        self.lines, self.names, self.label, self.at = [], {}, loop.name, f"%at.{loop.name}"
        self.valid = self.valid_lanes() if loop.is_incomplete else ""
        if loop.width > block:
            self._fetch_ahead(operand_types)
        decides = loop.width > block and self.program.usual is not None
        if decides:
            stored = self._unless_usual(stored, operand_types)
            roots = [value for _, value in stored]
        self._region(roots, varying(roots))
        places = self._places(stored, operand_types)
        if loop.width > block and not self.program.stages:
            streamed = [self.store(*place, STREAM_ALIGNMENT) for place in places]
            self.lines += [
                "  br i1 %stream, label %streamed, label %cached",
                *("streamed:", *streamed, "  br label %stored"),
                *("cached:", *(self.store(*place) for place in places), "  br label %stored"),
                "stored:",
            ]
            self.label = "stored"
        else:
            self.lines += [self.store(*place) for place in places]
        if decides:
            self.lines += ["  br label %turned", "turned:"]
            self.label = "turned"
        for accumulator in found:
            accumulator.accumulate(loop.name)
        self.block, self.valid = block, ""
        return [
            f"{loop.name}:",
            f"  {self.at} = phi i64 [ {loop.begin}, %{loop.check} ], [ %next.{loop.name}, %{self.label} ]",
            *(line for accumulator in found for line in accumulator.phis(loop.name, loop.check, self.label)),
            *self.lines,
            f"  %next.{loop.name} = add nuw i64 {self.at}, {loop.width}",
            f"  %more.{loop.name} = icmp ult i64 %next.{loop.name}, {loop.limit}",
            f"  br i1 %more.{loop.name}, label %{loop.name}, label %{loop.after}",
        ]

    def _places(
        self, stored: Sequence[tuple[int, Expression]], operand_types: Sequence[Format]
    ) -> list[tuple[str, str, Format]]:
        """What is stored, where, and as what."""
        return [(self.value(result), self.address(i, operand_types[i]), operand_types[i]) for i, result in stored]

    def _unless_usual(
        self, stored: Sequence[tuple[int, Expression]], operand_types: Sequence[Format]
    ) -> list[tuple[int, Expression]]:
        """Store the results where an operand is unusual, and what is to be stored elsewhere.

        Each way loads its operands itself: so conversions to float64 take them from memory, and not registers apart.
        """
        usual = self.program.usual
        assert usual is not None
        results = [value for _, value in stored]
        differing = varying([usual.magnitude, *results])
        self._region([usual.magnitude], differing)
        any_lane = self.any_at_least(usual.magnitude.format, *map(self.value, (usual.magnitude, usual.limit)))
        self.lines += [f"  br i1 {any_lane}, label %unusual, label %usual, !prof !0", "unusual:"]
        self.names = {n: name for n, name in self.names.items() if n not in differing}
        self.label = "unusual"
        self._region(results, differing)
        places = self._places(stored, operand_types)
        self.lines += [self.store(*place) for place in places]
        self.lines += ["  br label %turned", "usual:"]
        self.names = {n: name for n, name in self.names.items() if n not in differing}
        self.label = "usual"
        return [(operand, value) for (operand, _), value in zip(stored, usual.results, strict=True)]

    def _fetch_ahead(self, operand_types: Sequence[Format]) -> None:
        """Software prefetch.

        Inputs are prefetched BYTES_FETCHED_AHEAD bytes before they are used if the working set exceeds BYTES_FROM_AFAR.
        The stages of rows between the first and the last prefetch the inputs of the next rows and the places of the
        results, because they have little else to do.
        """
        inputs = len(self.program.inputs)
        if not self.program.stages:
            self.lines += ["  br i1 %from_afar, label %fetch, label %fetched", "fetch:"]
            for operand, form in enumerate(operand_types[:inputs]):
                self._fetch(operand, form, str(self.target.tuning.bytes_fetched_ahead))
            self.lines += ["  br label %fetched", "fetched:"]
            self.label = "fetched"
        elif self.between:
            for operand, form in enumerate(operand_types[: inputs + len(self.program.outputs)]):
                if operand in self.program.row_operands:
                    continue
                is_result = operand >= inputs
                distance = "0" if is_result else self.emit_scalar(f"mul i64 %rows, %step{operand}")
                self._fetch(operand, form, distance, is_result=is_result)

    def _fetch(self, operand: int, form: Format, distance: str, *, is_result: bool = False) -> None:
        """Ask for the lines of the cache so many bytes behind the elements. There need not be any memory."""
        self.declarations["prefetch"] = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"
        begin = self.emit_scalar(f"getelementptr i8, ptr {self.address(operand, form)}, i64 {distance}")
        for offset in range(0, self.block * form.bits // 8, 64):
            line = self.emit_scalar(f"getelementptr i8, ptr {begin}, i64 {offset}")
            self.lines.append(f"  call void @llvm.prefetch.p0(ptr {line}, i32 {int(is_result)}, i32 3, i32 1)")

    def _head(self, name: str, operands: int, ahead: Sequence[str]) -> list[str]:
        """The beginning of the function. One that is a stage of rows has a loop over them."""
        slots = [f"  %slot{k} = getelementptr ptr, ptr %operands, i64 {k}" for k in range(operands)]
        if not self.program.stages:
            loads = [f"  %operand{k} = load ptr, ptr %slot{k}, align 8" for k in range(operands)]
            parameters = "ptr %operands, i64 %count, ptr %values, i1 zeroext %stream"
            bits = sum(STORAGE[t.name].bits for t in (*self.program.inputs, *self.program.outputs))
            return [
                *(f"define void @{name}({parameters}) #0 {{", "begin:", *slots, *loads),
                f"  %many = icmp ugt i64 %count, {self.target.tuning.bytes_from_afar * 8 // bits}",
                "  %from_afar = or i1 %many, %stream",
            ]
        parameters = "ptr %operands, i64 %count, ptr %records, i64 %rows, ptr %steps, i64 %first"
        lines = [f"define void @{name}({parameters}) #0 {{", "entry:", *slots]
        for k in range(operands):
            lines += [
                f"  %base{k} = load ptr, ptr %slot{k}, align 8",
                f"  %place{k} = getelementptr i64, ptr %steps, i64 {k}",
                f"  %step{k} = load i64, ptr %place{k}, align 8",
            ]
        lines += [
            *ahead,
            "  br label %begin",
            "begin:",
            f"  %row = phi i64 [ 0, %{self.label} ], [ %next.row, %done ]",
            "  %values = getelementptr double, ptr %records, i64 %row",
        ]
        for k in range(operands):
            lines += [
                f"  %offset{k} = mul i64 %row, %step{k}",
                f"  %operand{k} = getelementptr i8, ptr %base{k}, i64 %offset{k}",
            ]
        return lines

    def _foot(self, behind_the_last_row: Sequence[str]) -> list[str]:
        if not self.program.stages:
            return ["  ret void", "}"]
        return [
            "  %next.row = add nuw i64 %row, 1",
            "  %more.rows = icmp ult i64 %next.row, %rows",
            "  br i1 %more.rows, label %begin, label %end",
            "end:",
            *behind_the_last_row,
            "  ret void",
            "}",
        ]

    # ---- nodes

    def _region(self, roots: Sequence[Expression], differing: set[Expression]) -> None:
        """What the roots need: in the current block, but for what only rare values need."""
        eager = set(walk(*roots, operands=eager_operands))
        groups = _rare_groups(roots, eager & differing)

        def together(current: Expression) -> list[Expression]:
            return [operand for member in groups.get(current, (current,)) for operand in member.operands]

        for current in walk(*roots, operands=together):
            if current in eager and current in differing and current not in self.names:
                if current in groups:
                    self._rare(groups[current], differing)
                else:
                    self._node(current)

    def _rare(self, group: tuple[Expression, ...], differing: set[Expression]) -> None:
        """Selects with one condition: their rare values in a block that is entered if any lane needs them."""
        condition = group[0].operands[0]
        is_common = condition in self.scalars  # a number of the row decides: for all lanes
        any_lane = self.scalars[condition] if is_common else self.any_lane(self.value(condition))
        before, rare, after = self.label, self.fresh()[1:], self.fresh()[1:]
        self.lines += [f"  br i1 {any_lane}, label %{rare}, label %{after}, !prof !0", f"{rare}:"]
        self.label = rare
        known = dict(self.names)
        self._region([member.operands[1] for member in group], differing)
        chosen = [self.value(member.operands[1]) if is_common else self._instructions(member) for member in group]
        self.lines += [f"  br label %{after}", f"{after}:"]
        # What the rare block computed is known only there.
        self.names = {n: name for n, name in self.names.items() if n in known or n not in differing}
        last, self.label = self.label, after
        for member, name in zip(group, chosen, strict=True):
            common = self.value(member.operands[2])
            self.names[member] = self.emit(
                f"phi {self.type(member.format)} [ {name}, %{last} ], [ {common}, %{before} ]"
            )

    def _node(self, current: Expression) -> None:
        if current.operation == "constant":
            return
        (self.scalars if self.lanes == 1 else self.names)[current] = self._instructions(current)

    def _instructions(self, current: Expression) -> str:
        """The name of what a node's own instructions compute."""
        return ROWS[current.operation](self, current, *map(self.value, current.operands))


def _ahead(roots: Sequence[Expression], differing: set[Expression]) -> list[Expression]:
    """The numbers that a stage computes for all its rows at once: what elements meet that depends on the row."""
    of_rows = varying(roots, ("row_value",)) - varying(roots, ("row_input",)) - differing
    met = {operand: None for current in walk(*roots) if current in differing for operand in current.operands}
    met |= dict.fromkeys(roots)
    return [n for n in met if n in of_rows and n.operands and n.format in (Format.F32, Format.F64)][:MOST_AHEAD]


def _rare_groups(roots: Sequence[Expression], among: set[Expression]) -> dict[Expression, tuple[Expression, ...]]:
    """For each rare select, those that share its block: of the same condition, and none depends on another."""
    depth: dict[Expression, int] = {}
    shared: dict[tuple[Expression, int], list[Expression]] = {}
    for current in walk(*roots):
        is_rare = current.operation == "select_rare"
        depth[current] = max((depth[operand] for operand in current.operands), default=0) + is_rare
        if is_rare and current in among:
            # Equal depth: no member is below another, and no two groups can each be below the other.
            shared.setdefault((current.operands[0], depth[current]), []).append(current)
    return {member: tuple(members) for members in shared.values() for member in members}
