"""The loops of a CPU: over several blocks of elements at a time, over single ones, over rows.

The instructions of one block wait for each other, those of several fill the gaps. Where a program has tables a
turn begins the elements of the next one (`begun`), whose instructions wait less then. The measured preferences of a target
(prefetch, stores past the caches) is asked of its tuning.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from ogive.backends.blocks import block_size, blocks_at_a_time, elements_of_a_group
from ogive.backends.nodes import Nodes
from ogive.backends.reductions import Accumulator
from ogive.backends.target import Target
from ogive.graph.expression import STORAGE, Expression, Format, varying, walk
from ogive.lowering.program import Program

#: The divisor of the addresses of outputs that are written past the caches.
STREAM_ALIGNMENT = 64


@dataclass(frozen=True)
class Loop:
    """One of the loops of a function, which take up the elements one after the other."""

    name: str
    width: int
    """Elements of a turn."""
    begin: str
    """Its beginning: the limit of the loop before it."""
    after: str
    """The block after it."""
    group: int = 1
    """A divisor of the number of elements of all turns."""
    is_incomplete: bool = False
    """Whether a turn reaches beyond the last element."""
    begun: tuple[Expression, ...] = ()
    """The numbers that a turn takes from the one before it, which computes them."""
    streams: bool = False
    """Whether it writes past the caches, and runs only where that is wanted."""

    @property
    def check(self) -> str:
        """The block before it, which finds whether there is anything for it to do."""
        return f"before.{self.name}"

    @property
    def limit(self) -> str:
        return "%count" if self.is_incomplete else f"%limit.{self.name}"


def loops_of(program: Program, target: Target) -> list[Loop]:
    """Over several blocks at a time, over single ones, and over the incomplete last one, where there may be one.

    A repair of rows takes all blocks as it takes the last one: masks cost little beside its arithmetic, and code is half as long.
    """
    block, at_a_time, has_rest = block_size(program, target), blocks_at_a_time(program, target), bool(program.stages)
    if program.is_repair and has_rest and at_a_time == 1:
        return [Loop("rest", block, "0", "done", is_incomplete=True)]
    rest = [Loop("rest", block, "%limit.block", "done", is_incomplete=True)] if has_rest else []
    group = elements_of_a_group(program, block * at_a_time)
    several = [Loop("blocks", block * at_a_time, "0", "before.block", group)] if at_a_time > 1 else []
    if target.tuning.blocks_begun_ahead and (ahead := begun(program)):
        width = target.tuning.blocks_begun_ahead * block
        several = [
            Loop("streamed", width, "0", "before.blocks", width, begun=ahead, streams=True),
            Loop("blocks", width, "%limit.streamed", "before.block", width, begun=ahead),
        ]
    single = Loop("block", block, "%limit.blocks" if several else "0", "before.rest" if rest else "done", block)
    return [*several, single, *rest]


def begun(program: Program) -> tuple[Expression, ...]:
    """Software pipelining: what a turn takes from the one before it, of element-wise programs in float32 with tables.

    These are the place in all tables, and the distance from the number that one of them has there: the longest way to a result
    goes on from them. Other programs take nothing. With tables of two functions it was measured to take longer.
    """
    is_single = all(t.name == "float32" for t in (*program.inputs, *program.outputs))
    if program.undecided is None or program.stages or not is_single:
        return ()
    needed = (*program.results, program.undecided)
    differing = varying(needed)
    order = [n for n in walk(*needed) if n in differing]
    places = {n.operands[0] for n in order if n.operation == "table"}
    distances = [n for n in order if n.operation == "subtract" and n.operands[1].operation == "table"]
    if len(places) != 1 or not distances or any(n.operation == "select_rare" for n in order):
        return ()
    ahead = set(walk(*places, distances[0]))
    near: set[Expression] = set()  # an operand, or next to it: these are computed again
    for n in order:
        if n.operation == "input" or (n.operation in ("absolute", "bitcast", "negate") and n.operands[0] in near):
            near.add(n)
    read = {operand for n in order if n not in ahead for operand in n.operands}
    return tuple(n for n in order if n in ahead and n in read and n not in near)


@dataclass
class CpuLoops(Nodes):
    """Writes the loops of a function around the instructions of its nodes."""

    between: bool = False
    """Whether this is a stage of rows neither first nor last."""

    def head(self, name: str, operands: int, ahead: Sequence[str]) -> list[str]:
        """The beginning of the function. One that is a stage of rows has a loop over them."""
        slots = [f"  %slot{k} = getelementptr ptr, ptr %operands, i64 {k}" for k in range(operands)]
        if not self.program.stages:
            loads = [f"  %operand{k} = load ptr, ptr %slot{k}, align 8" for k in range(operands)]
            parameters = "ptr %operands, i64 %count, ptr %values, i64 %hints, ptr %flags"
            bits = sum(STORAGE[t.name].bits for t in (*self.program.inputs, *self.program.outputs))
            return [
                *(f"define void @{name}({parameters}) #0 {{", "begin:", *slots, *loads),
                *self._whether_in_place(operands),
                "  %stream = trunc i64 %hints to i1",
                "  %total = lshr i64 %hints, 1",
                f"  %many = icmp ugt i64 %total, {self.target.tuning.bytes_from_afar * 8 // bits}",
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

    def _whether_in_place(self, operands: int) -> list[str]:
        """Whether a result that may be undecided lies over an operand; and a zero of which LLVM knows nothing."""
        if self.program.undecided is None:
            return []
        inputs = len(self.program.inputs)
        pairs = [(i, result) for result in range(inputs, operands) for i in range(inputs)]
        lines = [f"  %over{i}.{result} = icmp eq ptr %operand{i}, %operand{result}" for i, result in pairs]
        found = "false"
        for i, result in pairs:
            lines.append(f"  %any{i}.{result} = or i1 {found}, %over{i}.{result}")
            found = f"%any{i}.{result}"
        return [
            *lines,
            f"  %in_place = or i1 {found}, false",
            f"  %again = load volatile ptr, ptr %slot{inputs}, align 8",
            "  %there = ptrtoint ptr %again to i64",
            f"  %here = ptrtoint ptr %operand{inputs} to i64",
            "  %nothing = sub i64 %there, %here",  # zero, and LLVM does not know
        ]

    def foot(self, behind_the_last_row: Sequence[str]) -> list[str]:
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

    def loop(
        self,
        loop: Loop,
        roots: Sequence[Expression],
        stored: Sequence[tuple[int, Expression]],
        operand_types: Sequence[Format],
        found: Sequence[Accumulator],
    ) -> list[str]:
        """One of the loops over the elements."""
        if loop.begun:
            return self._pipelined(loop, stored, operand_types)
        block = self.block
        self.block = self.lanes = loop.width
        self.lines, self.names, self.label, self.at = [], {}, loop.name, f"%at.{loop.name}"
        self.valid = self.valid_lanes() if loop.is_incomplete else ""
        if loop.width > block:
            self._fetch_ahead(operand_types)
        tested = self.program.undecided is not None and not self.program.stages
        undecided = self.program.undecided if tested else None
        flagged = () if undecided is None else (undecided,)
        self.region([*roots, *flagged], varying([*roots, *flagged]))
        if tested:
            self._store_flags(undecided)
        places = self._places(stored, operand_types)
        if loop.width > block and not self.program.stages:
            kept, self.undecided, kinds = self.undecided, "", ["streamed", "cached"]
            if kept:  # such stores take longer
                self.lines += ["  br i1 %in_place, label %kept, label %gone", "gone:"]
            stores = [[self.store(*place, alignment) for place in places] for alignment in (STREAM_ALIGNMENT, 0)]
            self.lines.append("  br i1 %stream, label %streamed, label %cached")
            if kept:
                self.undecided = kept
                stores.append([self.store(*place) for place in places])
                kinds.append("kept")
            for kind, lines in zip(kinds, stores, strict=True):
                self.lines += [f"{kind}:", *lines, "  br label %stored"]
            self.lines.append("stored:")
            self.label = "stored"
        else:
            self.lines += [self.store(*place) for place in places]
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

    def _pipelined(
        self, loop: Loop, stored: Sequence[tuple[int, Expression]], operand_types: Sequence[Format]
    ) -> list[str]:
        """A loop whose turns begin the elements of the next one. Block goes after block: results wait in few registers.

        Stores leave what is undecided as it is: it may be the operands. So there is no other way for results in place.
        """
        undecided, block, at = self.program.undecided, self.block, f"%at.{loop.name}"
        assert undecided is not None
        needed = [*(value for _, value in stored), undecided]
        differing, parts = varying(needed), range(0, loop.width, block)
        self.names, self.lines, self.lanes = {}, [], block
        first = [self._begun(loop, loop.begin, k, differing) for k in parts]
        before, self.lines, self.label, self.at = self.lines, [], f"turn.{loop.name}", at
        self.block = self.lanes = loop.width
        self._fetch_ahead(operand_types, always=loop.streams)
        self.block = self.lanes = block
        behind = self.emit_scalar(f"add nuw i64 {at}, {loop.width}")
        is_there = self.emit_scalar(f"icmp ult i64 {behind}, {loop.limit}")
        there = self.emit_scalar(f"select i1 {is_there}, i64 {behind}, i64 {at}")
        phis = []
        for k, values in zip(parts, first, strict=True):
            for n, value, other in zip(loop.begun, values, self._begun(loop, there, k, differing), strict=True):
                name = self.fresh()
                phis.append(
                    f"  {name} = phi {self.type(n.format)} [ {value}, %{loop.name} ], [ {other}, %{self.label} ]"
                )
                self.names[n] = name
            self.names = {n: name for n, name in self.names.items() if n not in differing or n in loop.begun}
            self.at = self.emit_scalar(f"add i64 {at}, {k}")
            self.region(needed, differing)
            flags = self._store_flags(undecided)
            if not loop.streams:  # LLVM would compare once more for this mask, which takes as long as an FMA
                flags = self.emit(f"xor i{block} {self.emit(f'freeze i{block} {flags}')}, -1")
                self.valid = self.emit(f"bitcast i{block} {flags} to <{block} x i1>")
            self.undecided = ""
            places, alignment = self._places(stored, operand_types), STREAM_ALIGNMENT if loop.streams else 0
            self.lines += [self.store(*place, alignment) for place in places]
            self.valid = ""
        return [
            f"{loop.name}:",
            *before,
            f"  br label %turn.{loop.name}",
            f"turn.{loop.name}:",
            f"  {at} = phi i64 [ {loop.begin}, %{loop.name} ], [ {behind}, %{self.label} ]",
            *phis,
            *self.lines,
            f"  br i1 {is_there}, label %turn.{loop.name}, label %{loop.after}",
        ]

    def _begun(self, loop: Loop, begin: str, block: int, differing: Set[Expression]) -> list[str]:
        """The numbers that are computed ahead, of the block that lies so far behind a place."""
        self.at = self.emit_scalar(f"add i64 {begin}, {block}")
        self.names = {n: name for n, name in self.names.items() if n not in differing}
        self.region(loop.begun, differing)
        return [self.names[n] for n in loop.begun]

    def _store_flags(self, undecided: Expression | None) -> str:
        """A bit of every element, for those who repair what is undecided; the name of these bits."""
        kind = f"i{self.block}"
        mask = f"<{self.block} x i1>"
        flags, self.undecided = "0", ""
        if undecided is not None:
            self.undecided = self.value(undecided)
            flags = self.emit(f"bitcast {mask} {self.undecided} to {kind}")
        byte = self.emit_scalar(f"lshr i64 {self.at}, 3")
        place = self.emit_scalar(f"getelementptr i8, ptr %flags, i64 {byte}")
        self.lines.append(f"  store {kind} {flags}, ptr {place}, align 1")
        return flags

    def _places(
        self, stored: Sequence[tuple[int, Expression]], operand_types: Sequence[Format]
    ) -> list[tuple[str, str, Format]]:
        """The stored nodes, with their places and types."""
        return [(self.value(result), self.address(i, operand_types[i]), operand_types[i]) for i, result in stored]

    def _fetch_ahead(self, operand_types: Sequence[Format], *, always: bool = False) -> None:
        """Software prefetch.

        Inputs are prefetched BYTES_FETCHED_AHEAD bytes before they are used if the working set exceeds BYTES_FROM_AFAR.
        The stages of rows between the first and the last prefetch the inputs of the next rows and the places of the
        results, because they have little else to do.
        """
        inputs = len(self.program.inputs)
        if not self.program.stages:
            if not always:
                self.lines += ["  br i1 %from_afar, label %fetch, label %fetched", "fetch:"]
            for operand, form in enumerate(operand_types[:inputs]):
                self._fetch(operand, form, str(self.target.tuning.bytes_fetched_ahead))
            if not always:
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
