"""Nodes become lines: in the current block of instructions, but for what only rare values need.

These parts are common to all targets; a loop over elements, and what stores its results, is the matter of loops.py.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from ogive.backends.writer import Writer
from ogive.graph.expression import Expression, eager_operands, walk


@dataclass
class Nodes(Writer):
    """Writes the instructions of nodes."""

    label: str = "entry"
    """The label of the basic block that is being emitted."""

    def region(self, roots: Sequence[Expression], differing: Set[Expression]) -> None:
        """The nodes that the roots need: in the current block, but for what only rare values need."""
        eager = set(walk(*roots, operands=lambda n: () if n in self.names else eager_operands(n)))
        groups = _rare_groups(roots, eager & differing)

        def together(current: Expression) -> list[Expression]:
            if current in self.names:
                return []
            return [operand for member in groups.get(current, (current,)) for operand in member.operands]

        for current in walk(*roots, operands=together):
            if current in eager and current in differing and current not in self.names:
                if current in groups:
                    self._rare(groups[current], differing)
                else:
                    self.node(current)

    def _rare(self, group: tuple[Expression, ...], differing: Set[Expression]) -> None:
        """Selects with one condition: their rare values in a block that is entered if any lane needs them."""
        condition = group[0].operands[0]
        is_common = condition in self.scalars  # a number of the row decides: for all lanes
        any_lane = self.scalars[condition] if is_common else self.any_lane(self.value(condition))
        before, rare, after = self.label, self.fresh()[1:], self.fresh()[1:]
        self.lines += [f"  br i1 {any_lane}, label %{rare}, label %{after}, !prof !0", f"{rare}:"]
        self.label = rare
        known = dict(self.names)
        self.region([member.operands[1] for member in group], differing)
        chosen = [self.value(member.operands[1]) if is_common else self._instructions(member) for member in group]
        self.lines += [f"  br label %{after}", f"{after}:"]
        # The results of the rare block are known only there.
        self.names = {n: name for n, name in self.names.items() if n in known or n not in differing}
        last, self.label = self.label, after
        for member, name in zip(group, chosen, strict=True):
            common = self.value(member.operands[2])
            self.names[member] = self.emit(
                f"phi {self.type(member.format)} [ {name}, %{last} ], [ {common}, %{before} ]"
            )

    def node(self, current: Expression) -> None:
        if current.operation == "constant":
            return
        (self.scalars if self.lanes == 1 else self.names)[current] = self._instructions(current)

    def _instructions(self, current: Expression) -> str:
        """The name of what a node's own instructions compute."""
        return self.rows[current.operation](self, current, *map(self.value, current.operands))


def _rare_groups(roots: Sequence[Expression], among: Set[Expression]) -> dict[Expression, tuple[Expression, ...]]:
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
