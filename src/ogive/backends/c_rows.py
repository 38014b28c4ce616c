"""Row-wise programs as text in C and its kin: a function for each stage (row_stages.h has the loop that calls them).

A stage goes over the elements of a row, or of a segment of one, and leaves what it finds in the row's record. How it takes
elements and joins lanes says reduction_plans.py, as it does for LLVM; a loop's turn has one element of a lane.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from ogive.backends.blocks import elements_of_a_group
from ogive.backends.c_graphs import settled
from ogive.backends.c_like import Text, bare
from ogive.backends.dialects import Dialect
from ogive.backends.reduction_plans import ReductionPlan, leaves, plans_of
from ogive.backends.row_records import MOST_AHEAD, Work, mark_slot, work_of
from ogive.backends.writer import first_finding
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, varying, walk
from ogive.lowering.program import Program

#: The reductions by the names that row_reductions.h has for them.
KINDS = {
    "row_max": "OGIVE_MAXIMUM", "row_min": "OGIVE_MINIMUM", "row_sum": "OGIVE_SUM",
    "row_lost": "OGIVE_LOST", "row_product": "OGIVE_PRODUCT", "row_rest": "OGIVE_REST", "whole_max": "OGIVE_WHOLE_MAXIMUM",
    "whole_min": "OGIVE_WHOLE_MINIMUM", "whole_sum": "OGIVE_WHOLE_SUM", "whole_product": "OGIVE_WHOLE_PRODUCT",
}  # fmt: skip


def loop_text(text: Text, programs: Sequence[Program], words: Mapping[str, str], kernel: str) -> str:
    """The loop over the stages of these programs and of their repairs, in the text's language.

    ``words`` are what row_stages.h wants to be defined before it, ``kernel`` is the struct that describes a program.
    """
    sizes = {
        "OGIVE_ROWS_AT_ONCE": "1",
        "OGIVE_MAX_AHEAD": str(MOST_AHEAD),
        "OGIVE_UNUSED(operand, unused)": "(operand)",
        "OGIVE_IS_FOLLOWED(program)": "((program)->next != 0)",
        "OGIVE_ALIGNED": "",
        "OGIVE_ROW_KERNEL": "ogive_row_kernel",
        **row_sizes(programs),
    }
    defined = "\n".join(f"#define {name} {meaning}".rstrip() for name, meaning in {**sizes, **words}.items())
    reduced, stages = map(text.written, headers())
    return "\n".join([reduced, defined, text.written(kernel), stages])


def row_sizes(programs: Sequence[Program]) -> dict[str, str]:
    """How much room the loop needs for these programs and their repairs; no room for none."""
    every = [one for program in programs for one in program.chain]
    if not every:
        return {}
    return {
        "OGIVE_MAX_OPERANDS": str(max(len(p.inputs) + len(p.outputs) + len(p.scratch) for p in every)),
        "OGIVE_MAX_REDUCTIONS": str(max(sum(len(stage.reductions) for stage in p.stages) for p in every)),
        "OGIVE_MAX_STAGES": str(max(len(p.stages) for p in every) + 1),
        "OGIVE_RECORDS": str(max(map(mark_slot, every)) + 2),
    }


@lru_cache
def headers() -> tuple[str, str]:
    """The headers that C and its kin share: row_reductions.h and row_stages.h."""
    here = Path(__file__).parent
    return (here / "row_reductions.h").read_text("utf-8"), (here / "row_stages.h").read_text("utf-8")


def kernel_record(program: Program, functions: str, following: str) -> str:
    """The fields of the struct that describes a program."""

    def listed(values: Sequence[object]) -> str:
        return f"{{{', '.join(map(str, values))}}}"

    sizes = [t.itemsize for t in (*program.inputs, *program.outputs)] + [form.bits // 8 for form in program.scratch]
    stages = [*program.stages, None]
    reductions = [KINDS[reduction.kind] for stage in program.stages for reduction in stage.reductions]
    fields = [
        f"{len(program.inputs)}, {len(program.outputs)}, {len(program.scratch)}, {len(stages)}",
        functions,
        listed(sizes),
        listed([int(k in program.row_operands) for k in range(len(sizes))]),
        listed([len(stage.reductions) if stage else 0 for stage in stages]),
        listed([int(stage is not None and stage.repeats) for stage in stages]),
        listed(reductions),
        following,
    ]
    return f"{{{', '.join(fields)}}}"


#: In C, so many elements are computed before lanes take them in: compilers vectorise a loop that computes, and one that adds
#: up in lanes; not one that does both.
BLOCK = 128


@dataclass
class StageText:
    """The function of a stage, or behind the stages of what computes the results."""

    program: Program
    number: int
    text: Text
    """The writer of the language; its leaves are set here."""
    memory: str = ""
    """Stands before the type of a pointer to operands."""
    restrict: str = "restrict "
    parameters: Mapping[int, str] = field(default_factory=dict)
    """The texts of parameters, where the record does not say it."""
    mask: int = -1
    """The operand that is a repair's mask: nobody reads it, and the record says whether a result is open still."""

    @property
    def dialect(self) -> Dialect:
        return self.text.dialect

    def function(self, head: str) -> str:
        """The function: ``head`` names it, and the arguments operands, count, record and first."""
        work = work_of(self.program, self.number)
        self.text.leaf = self._leaf
        stored = [place for place in work.stored if place[0] != self.mask]
        of_rows = [place for place in work.of_rows if place[0] != self.mask]
        test = None
        if self.number == len(self.program.stages):
            masks = [value for k, value in (*work.stored, *work.of_rows) if k == self.mask]
            test = next(iter(masks), self.program.undecided)
        reductions = [] if test is not None else list(work.reductions)
        decided = iter(
            settled(
                [v for _, v in (*stored, *of_rows)] + [r.value for r in reductions] + ([] if test is None else [test])
            )
        )
        stored, of_rows = ([(k, next(decided)) for k, _ in some] for some in (stored, of_rows))
        reductions, test = [replace(r, value=next(decided)) for r in reductions], next(decided, None)
        found = [_Found(self.text, i, plan, elements_of_a_group(self.program, 1)) for i, plan in plans_of(reductions)]
        roots = [value for _, value in stored] + [one.plan.taken for one in found]
        roots += [] if test is None else [test]
        differing = varying(roots)
        before = _before(roots, differing)
        lines, known = self.text.named([*before, *(value for _, value in of_rows)])
        lines += [f"{self._name(k)}[0] = {bare(known[value])};" for k, value in of_rows]
        inner, values = self.text.statements(roots, known)
        inner += [f"{self._name(k)}[i] = {bare(value)};" for (k, _), value in zip(stored, values, strict=False)]
        by_root = dict(zip(roots, values, strict=True))
        if test is not None and test in differing:
            inner.append(f"is_open |= {bare(by_root[test])};")
        ahead = list[str]()
        step = min((one.lanes for one in found), default=0)
        taken_in = [by_root[one.plan.taken] for one in found]
        if found and self.dialect.kernel is None:
            ahead, taken_in = self._apart(inner, found, taken_in, step)
            inner = []
        inner += [line for one, value in zip(found, taken_in, strict=True) for line in one.taken(value, step)]
        lines += [line for one in found for line in one.begin()]
        if test is not None:
            lines.append(f"int is_open = {'0' if test in differing else bare(by_root[test])};")
        if (inner and any(root in differing for root in roots)) or found:
            lines += self._loop(inner, found, ahead)
        lines += [line for one in found for line in one.end(work.slot)]
        if test is not None:
            lines.append(f"record[{mark_slot(self.program)}] = is_open;")
        return self._whole(head, work, lines)

    def _apart(
        self, inner: Sequence[str], found: Sequence[_Found], values: Sequence[str], step: int
    ) -> tuple[list[str], list[str]]:
        """A loop that computes a block's values into arrays of its own, and where they lie then.

        Behind the last element are numbers that change nothing, so that all lanes take one in.
        """
        pairs = [(value, one.neutral) for one, value in zip(found, values, strict=True)]
        names = {pair: f"of{k}" for k, pair in enumerate(dict.fromkeys(pairs))}
        kinds = [
            f"{self.dialect.type(one.plan.taken.format)} {name}[{_block(found)}];"
            for name, one in {names[pair]: one for pair, one in zip(pairs, found, strict=True)}.items()
        ]
        put = [f"{name}[i - block] = {bare(value)};" for (value, _), name in names.items()]
        fill = [f"{name}[i - block] = {bare(neutral)};" for (_, neutral), name in names.items()]
        loop = ["for (intptr_t i = block; i < end; i++) {", *(f"    {line}" for line in (*inner, *put)), "}"]
        loop += [f"for (intptr_t i = end; i % {step} != 0; i++) {{", *(f"    {line}" for line in fill), "}"]
        return [*kinds, *loop], [f"{names[pair]}[at - block + j]" for pair in pairs]

    def _loop(self, inner: Sequence[str], found: Sequence[_Found], ahead: Sequence[str] = ()) -> list[str]:
        """The loop over elements; of lanes where something is found, after what a block computes ahead."""
        if not found:
            return ["for (intptr_t i = 0; i < count; i++) {", *(f"    {line}" for line in inner), "}"]
        lanes = min(one.lanes for one in found)
        of_lanes = [line for one in found for line in one.ahead(lanes)]
        if not ahead:
            return [
                f"for (intptr_t at = 0; at < count; at += {lanes}) {{",
                f"    const int n = count - at < {lanes} ? (int)(count - at) : {lanes};",
                *(f"    {line}" for line in of_lanes),
                "    for (int j = 0; j < n; j++) {",
                "        const intptr_t i = at + j;",
                *(f"        {line}" for line in inner),
                "    }",
                "}",
            ]
        size = _block(found)
        return [
            f"for (intptr_t block = 0; block < count; block += {size}) {{",
            f"    const intptr_t end = count - block < {size} ? count : block + {size};",
            *(f"    {line}" for line in ahead),
            f"    for (intptr_t at = block; at < end; at += {lanes}) {{",
            *(f"        {line}" for line in of_lanes),
            "        OGIVE_LANES",
            f"        for (int j = 0; j < {lanes}; j++) {{",
            *(f"            {line}" for line in inner),
            "        }",
            "    }",
            "}",
        ]

    def _whole(self, head: str, work: Work, lines: Sequence[str]) -> str:
        """The function around the lines, with the operands that they name."""
        words = set(re.findall(r"\w+", " ".join(lines)))
        first = []
        for k, form in enumerate(work.operand_types):
            if self._name(k) in words:
                kind = f"{'const ' if k < len(self.program.inputs) else ''}{self.dialect.type(form)} *"
                first.append(f"{self.memory}{kind}{self.restrict}{self._name(k)} = ({self.memory}{kind})operands[{k}];")
        unused = [f"(void){name};" for name in ("operands", "count", "record", "first") if name not in words]
        unused = [line for line in unused if line != "(void)operands;" or not first]
        return "\n".join([f"{head} {{", *(f"    {line}" for line in (*first, *unused, *lines)), "}", ""])

    def _name(self, operand: int) -> str:
        inputs, results = len(self.program.inputs), len(self.program.inputs) + len(self.program.outputs)
        letter, before = ("x", 0) if operand < inputs else ("y", inputs) if operand < results else ("kept", results)
        return f"{letter}{operand - before}"

    def _leaf(self, n: Expression) -> str:
        if n.operation == ops.INPUT:
            return f"{self._name(n.attribute)}[i]"
        if n.operation == ops.ROW_INPUT:
            return f"{self._name(n.attribute)}[0]"
        if n.operation == ops.ROW_POSITION:
            return "(double)(first + i)"
        if n.operation == ops.ROW_LENGTH:
            return f"record[{self.program.parameter_count}]"
        if n.operation == ops.ROW_VALUE:
            index, part = n.attribute
            return f"record[{first_finding(self.program) + 2 * index + part}]"
        position = n.attribute[0]
        return self.parameters.get(position, f"record[{position}]")


def _before(roots: Sequence[Expression], differing: AbstractSet[Expression]) -> list[Expression]:
    """The nodes that are the same for all elements and are operands of others that differ: computed once, before the loop."""
    met = {operand: None for n in walk(*roots) if n in differing for operand in n.operands} | dict.fromkeys(roots)
    return [n for n in met if n not in differing and n.operation != ops.CONSTANT]


def _block(found: Sequence[_Found]) -> int:
    return max(BLOCK, *(one.lanes for one in found))


class _Found:
    """The findings of a stage: lanes in arrays, the statements that take an element in, and those that join the lanes."""

    def __init__(self, text: Text, index: int, plan: ReductionPlan, group: int) -> None:
        self.text, self.index, self.plan, self.group = text, index, plan, group
        self.lanes, self.is_product = plan.reduction.lanes, plan.kind == "row_product"
        self.kind = "ogive_partial" if self.is_product else text.dialect.type(plan.form)
        name = f"{plan.kind.partition('_')[2]}{index}"
        self.starts = [text.literal(plan.form, start) for start in plan.starts]
        if self.is_product:  # (mantissa, exponent), and the low word with the sum of what was lost
            self.starts = [f"ogive_pair({a}, {b})" for a, b in zip(self.starts[::2], self.starts[1::2], strict=True)]
        self.parts = [name, *(f"{name}_{word}" for word in ("low", "lost")[: len(self.starts) - 1])]
        self.pair, self.nan = f"{name}_pair", f"{name}_nan"

    def begin(self) -> list[str]:
        """The arrays, and their values before the first element."""
        lines = [f"{self.kind} {', '.join(f'{part}[{self.lanes}]' for part in self.parts)};"]
        starts = zip(self.parts, self.starts, strict=True)
        lines += _each(self.lanes, [f"{part}[j] = {bare(start)};" for part, start in starts])
        if self.plan.in_pairs:
            lines.append(f"{self.text.dialect.type(self.plan.taken.format)} {self.pair}[{self.lanes}];")
        return [*lines, *([f"int {self.nan}[{self.lanes}] = {{0}};"] if self.plan.is_extreme else [])]

    @property
    def neutral(self) -> str:
        """An element that changes nothing."""
        return self.text.literal(self.plan.taken.format, self.plan.neutral)

    def ahead(self, lanes: int) -> list[str]:
        """The questions that are asked once for so many elements: where their lanes begin, and which of two that are added first they are."""
        lines = [f"const int {self.parts[0]}_at = (int)(at % {self.lanes});"] if self.lanes != lanes else []
        if self.plan.in_pairs:
            lines += [
                f"const int {self.pair}_begun = at < count / {self.group} * {self.group};",
                f"const int {self.pair}_whole = at / {self.lanes} % 2 == 1;",
            ]
        return lines

    def taken(self, value: str, step: int) -> list[str]:
        """The statements that take in an element, of so many in a turn of the loop."""
        lane, name = "j" if self.lanes == step else f"{self.parts[0]}_at + j", f"v{self.index}"
        lines = [f"const {self.text.dialect.type(self.plan.taken.format)} {name} = {bare(value)};"]
        if self.is_product:
            rest = f"&{self.parts[1]}[{lane}]" if self.parts[1:] else "0"
            taken_in = f"ogive_product({self.parts[0]}[{lane}], ogive_as_product({name}), {rest}, "
            return [*lines, f"{self.parts[0]}[{lane}] = {taken_in}ogive_pair(0.0, 0.0));"]
        if self.plan.is_extreme:
            lines.append(f"{self.nan}[{lane}] |= {name} != {name};")
        if not self.plan.in_pairs:
            return [*lines, *self._with_element(lane, name)]
        pair = f"{self.pair}[{lane}]"
        return [
            *lines,
            f"if (!{self.pair}_begun) {{",
            *(f"    {line}" for line in self._with_element(lane, name)),
            f"}} else if ({self.pair}_whole) {{",
            *(f"    {line}" for line in self._with_element(lane, pair, name)),
            "}",
            f"{pair} = {name};",
        ]

    def _with_element(self, lane: str, *group: str) -> list[str]:
        """The statements that take in an element, or the sum of two."""
        plan = self.plan
        parts, elements = leaves(plan.form, len(self.parts)), leaves(plan.taken.format, len(group), len(self.parts))
        element = plan.joined(elements[:1], elements[1:])[0] if elements[1:] else elements[0]
        known = dict(zip(elements, group, strict=True))
        return self._set(lane, plan.with_element(parts, element), parts, known)

    def _set(
        self, lane: str, roots: Sequence[Expression], parts: Sequence[Expression], known: Mapping[Expression, str]
    ) -> list[str]:
        """The statements that set a lane to what a step of the plan makes."""
        places = [f"{part}[{lane}]" for part in self.parts]
        known = {**known, **dict(zip(parts, places, strict=True))}
        if len(places) == 1:
            lines, (value,) = self.text.statements(roots, known)
            return [*lines, f"{places[0]} = {bare(value)};"]
        lines, found = self.text.named(roots, known)
        return [*lines, *(f"{place} = {found[root]};" for place, root in zip(places, roots, strict=True))]

    def _joined(self) -> list[str]:
        """The statements that join a lane with another one."""
        if self.is_product:
            rest = [f"&{part}[j], {part}[j + apart]" for part in self.parts[1:]] or [f"0, {self.parts[0]}[0]"]
            return [f"{self.parts[0]}[j] = ogive_product({self.parts[0]}[j], {self.parts[0]}[j + apart], {rest[0]});"]
        parts = leaves(self.plan.form, len(self.parts))
        others = leaves(self.plan.form, len(self.parts), len(self.parts))
        known = {leaf: f"{part}[j + apart]" for leaf, part in zip(others, self.parts, strict=True)}
        return self._set("j", self.plan.joined(parts, others), parts, known)

    def end(self, slot: int) -> list[str]:
        """The statements that join the lanes, and put what was found into the record."""
        slot += 2 * self.index
        if self.plan.begins_with_one:
            return self._end_from_one(slot)
        nan = [f"{self.nan}[j] |= {self.nan}[j + apart];"] if self.plan.is_extreme else []
        lines, values = self._halves([*self._joined(), *nan]), [f"{part}[0]" for part in self.parts]
        if self.is_product:
            values = [f"{value}.{word}" for value in values for word in ("high", "low")]
        else:
            parts = leaves(self.plan.form, len(values))
            made, values = self.text.statements(self.plan.found(parts), dict(zip(parts, values, strict=True)))
            lines += made
        if self.plan.is_extreme:
            values[0] = f"{self.nan}[0] ? {self.text.literal(Format.F64, math.nan)} : {values[0]}"
        values += ["0.0"] * (len(values) % 2)
        return [*lines, *(f"record[{slot + k}] = {bare(value)};" for k, value in enumerate(values))]

    def _halves(self, join: Sequence[str]) -> list[str]:
        loop = ["    for (int j = 0; j < apart; j++) {", *(f"        {line}" for line in join), "    }"]
        return [f"for (int apart = {self.lanes // 2}; apart > 0; apart /= 2) {{", *loop, "}"]

    def _end_from_one(self, slot: int) -> list[str]:
        """The sums began with one, in each lane."""
        name, low = self.parts
        return [
            f"double {name}_all[{self.lanes}];",
            *_each(self.lanes, [f"{name}_all[j] = {name}[j];"]),
            *self._halves(
                [f"{name}_all[j] = {name}_all[j] + {name}_all[j + apart];", f"{low}[j] = {low}[j] + {low}[j + apart];"]
            ),
            f"record[{slot}] = ({name}_all[0] - {float(self.lanes)}) + (double){low}[0];",
            f"record[{slot + 1}] = 0.0;",
        ]


def _each(lanes: int, lines: Sequence[str]) -> list[str]:
    return [f"for (int j = 0; j < {lanes}; j++) {{", *(f"    {line}" for line in lines), "}"]
