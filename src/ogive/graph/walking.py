"""The order in which everything goes through a graph."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from ogive import _native


class _HasOperands(Hashable, Protocol):
    @property
    def operands(self) -> tuple[Any, ...]: ...


Node = TypeVar("Node", bound=_HasOperands)


def walk(*roots: Node, operands: Callable[[Node], Sequence[Node]] | None = None) -> Iterator[Node]:
    """Every node of the graphs once, operands before the nodes that use them.

    ``operands`` says what counts as the operands of a node, where that is not all of them. It is asked when the walk comes to
    the node.
    """
    if operands is None:
        found: list[Node] = _native.operands_first(roots)
        return iter(found)
    return _walk(roots, operands)


def _walk(roots: tuple[Node, ...], operands: Callable[[Node], Sequence[Node]]) -> Iterator[Node]:
    seen: set[Node] = set()
    # None before a node: all its operands are done.
    stack: list[Node | None] = list(reversed(roots))
    see, push, pop = seen.add, stack.append, stack.pop
    while stack:
        current = pop()
        if current is None:
            current = pop()
            assert current is not None
            yield current
        elif current not in seen:
            see(current)
            push(current)
            push(None)
            for operand in reversed(operands(current)):
                if operand not in seen:
                    push(operand)
