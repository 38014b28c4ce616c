"""A graph as text for people: the formula as one would write it."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from fractions import Fraction
from itertools import chain, count
from string import ascii_lowercase
from typing import Any, Protocol

from ogive.graph import operations as ops
from ogive.graph.formats import Format
from ogive.graph.operations import Operation
from ogive.graph.walking import walk


class ShownNode(Hashable, Protocol):
    """A node of a graph. Nodes import this file for their ``repr``."""

    @property
    def operation(self) -> Operation:
        """The results."""

    @property
    def operands(self) -> tuple[ShownNode, ...]:
        """The operands."""

    @property
    def attribute(self) -> Any:
        """The name of an input, a parameter or a constant."""

    @property
    def format(self) -> Format:
        """Whether it is a number or a truth value."""


_BINDING = {"*": 5, "/": 5, "+": 4, "-": 4, "<": 3, "<=": 3, "==": 3, "&": 2, "^": 1, "|": 0}
_TIGHTEST = 9


def formula(root: ShownNode, names: Sequence[str] = ()) -> str:
    """The graph as one would write it. ``names`` are those of the inputs.

    A node that is used more than once and is long gets a letter and a line of its own.

    >>> import ogive
    >>> print(formula(ogive.shrink.formula()[0], ogive.shrink.tensors))
    where(x > lambd, x - bias, where(x < -lambd, x + bias, 0))
    """
    uses: dict[ShownNode, int] = {}
    for current in walk(root):
        for operand in current.operands:
            uses[operand] = uses.get(operand, 0) + 1
    letters = (letter + suffix for suffix in chain([""], map(str, count(1))) for letter in ascii_lowercase)
    shared: dict[ShownNode, str] = {}
    lines = []
    for current in walk(root):
        if uses.get(current, 0) > 1 and sum(1 for inner in walk(current) if inner.operands) > 2:
            letter = next(letter for letter in letters if letter not in names)
            lines.append(f"{letter} = {_text(current, names, shared)[0]}")
            shared[current] = letter
    lines.append(_text(root, names, {k: v for k, v in shared.items() if k is not root})[0])
    return "\n".join(lines)


def _text(current: ShownNode, names: Sequence[str], shared: dict[ShownNode, str]) -> tuple[str, int]:
    """The text of a node and how tightly it holds together."""
    if current in shared:
        return shared[current], _TIGHTEST
    operation, operands = current.operation, current.operands
    if operation == ops.INPUT:
        return names[current.attribute] if current.attribute < len(names) else f"x{current.attribute}", _TIGHTEST
    if operation == ops.PARAMETER:
        return str(current.attribute[1]), _TIGHTEST
    if operation in (ops.CONSTANT, ops.GIVEN, ops.OVERFLOW):
        return _constant(current)
    texts = [_text(operand, names, shared) for operand in operands]
    if operation == ops.SELECT:
        return f"where({', '.join(text for text, _ in texts)})", _TIGHTEST
    symbol = operation.python.replace("{0}", "").replace("{1}", "").strip()
    if len(operands) == 1 and symbol:
        text, binding = texts[0]
        return f"{symbol}{text if binding >= 6 else f'({text})'}", 6
    if symbol in _BINDING:
        return _infix(symbol, texts, current)
    attribute = "" if current.attribute is None else f", {current.attribute}"
    return f"{operation}({', '.join(text for text, _ in texts)}{attribute})", _TIGHTEST


def _infix(symbol: str, texts: list[tuple[str, int]], current: ShownNode) -> tuple[str, int]:
    binding = _BINDING[symbol]
    (left, left_binding), (right, right_binding) = texts
    # `0 < x` is how `x > 0` is stored.
    if symbol in ("<", "<=") and current.operands[0].operation in (ops.CONSTANT, ops.PARAMETER):
        (left, left_binding), (right, right_binding) = (right, right_binding), (left, left_binding)
        symbol = symbol.replace("<", ">")
    if left_binding < binding or (left_binding == binding == _BINDING["<"]):
        left = f"({left})"
    if right_binding < binding or (right_binding == binding and symbol not in "+*&|^"):
        right = f"({right})"
    return f"{left} {symbol} {right}", binding


def _constant(current: ShownNode) -> tuple[str, int]:
    value = current.attribute
    if current.format.value in ("truth", "bit"):
        return str(bool(value)), _TIGHTEST
    if isinstance(value, Fraction):
        if Fraction(float(value)) == value or value.denominator > 10**6:
            short = float(value)
            text = str(int(short)) if short == math.floor(short) and abs(short) < 1e16 else repr(short)
        else:
            return f"{value.numerator} / {value.denominator}", _BINDING["/"]
    else:
        text = str(value)
    return text, 6 if text.startswith("-") else _TIGHTEST
