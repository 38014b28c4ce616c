"""Graphs as C and its kin are written of them: without what is decided already, and with loops.

A loop is turns of the same form with other constants, such as those of Horner's rule for a polynomial. To find one, two nodes
are compared from their results on. Where the later one reaches a node that stands for a node of the other turn, that node is
**carried** from turn to turn; so a turn may carry several values, as the two words of a sum.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from ogive.graph import operations as ops
from ogive.graph.expression import COMPARISONS, Expression, Format, is_negative_zero, node, rewritten, walk

#: Operations whose second and third operands are values to choose from.
CHOICES = ("select", "select_rare")

#: The operation of c_support.py's function of that name, which stands for four.
LOST = "lost"

#: Formats without a sign.
UNSIGNED = (Format.U8, Format.U16, Format.U32, Format.U64)

#: The smallest numbers beside zero.
SMALLEST = {Format.F32: 2.0**-149, Format.F64: 2.0**-1074}

#: A loop has so many turns and operations. A turn has at most so many operations, and the one before it is so near.
LEAST_TURNS, LEAST, MOST_OF_A_TURN, DEPTH = 4, 12, 32, 4


@dataclass(eq=False)
class LoopOfTurns:
    """A loop. Its turn is made of placeholders, which are inputs with a text as their number."""

    carried: tuple[Expression, ...]
    """Placeholders of the carried values."""
    step: tuple[Expression, ...]
    """These values after a turn."""
    begin: tuple[Expression, ...]
    """The nodes that they are before the first turn."""
    end: tuple[Expression, ...]
    """The nodes that they are after the last turn."""
    turns: int
    tables: dict[Expression, tuple[float, ...]]
    """Placeholders of the constants that change from turn to turn, if any do, and the constants of each turn."""
    needs: tuple[Expression, ...]
    """The nodes that are computed before: those of the begin, and others that all turns use."""


@dataclass(eq=False)
class _Turn:
    before: tuple[Expression, ...]
    after: tuple[Expression, ...]
    inside: frozenset[Expression]
    form: tuple[Expression, ...]
    """The values after the turn, of placeholders for those before it and for constants."""
    constants: tuple[Expression, ...]


def loops(roots: Sequence[Expression]) -> dict[Expression, LoopOfTurns]:
    """The loops in these graphs, by the nodes that they are at the end. What else they compute is used by them alone."""
    nodes = list(walk(*roots))
    places = {current: k for k, current in enumerate(nodes)}
    users: dict[Expression, set[Expression | None]] = {}
    for current in nodes:
        for operand in current.operands:
            users.setdefault(operand, set()).add(current)
    for root in roots:
        users.setdefault(root, set()).add(None)
    found: dict[Expression, LoopOfTurns] = {}
    taken: set[Expression] = set()
    for current in reversed(nodes):
        for other in _near(current) if current not in taken else ():
            turns = _usable(_turns(current, other, places), users)
            inside = {n for turn in turns for n in turn.inside}
            if len(inside) >= LEAST and taken.isdisjoint(inside) and (loop := _loop(turns, inside)) is not None:
                taken |= inside
                found |= dict.fromkeys(loop.end, loop)
                break
    return found


def _near(current: Expression) -> Iterator[Expression]:
    """The nodes of the same operation that it is made of, the nearest first."""
    level, seen = [current], {current}
    for _ in range(DEPTH):
        level = list(dict.fromkeys(o for n in level for o in n.operands if o.operands and o not in seen))
        seen.update(level)
        yield from (n for n in level if _is_alike(n, current))


def _is_alike(a: Expression, b: Expression) -> bool:
    return (a.operation, a.attribute, a.format, len(a.operands)) == (
        b.operation,
        b.attribute,
        b.format,
        len(b.operands),
    )


def _turns(last: Expression, other: Expression, places: Mapping[Expression, int]) -> list[_Turn]:
    """The turns up to the one with ``last``, whose counterpart in the turn before is ``other``; in their order."""
    found: list[_Turn] = []
    seeds = [(last, other)]
    while (compared := _compared(seeds, places)) is not None:
        same, carried = compared
        if not found:
            if other not in carried:
                break
            of_images = {image: a for a, image in same.items()}
            found.append(_turn([of_images[q] for q in carried], list(carried), same))
        before = found[-1].before
        if set(before) != set(carried):
            break
        turn = _turn(before, [carried[q] for q in before], same.values())
        if turn.form != found[-1].form:
            break
        found.append(turn)
        seeds = list(zip(turn.after, turn.before, strict=True))
    return found[::-1]


def _compared(
    seeds: Sequence[tuple[Expression, Expression]], places: Mapping[Expression, int]
) -> tuple[dict[Expression, Expression], dict[Expression, Expression]] | None:
    """The nodes of a turn and their counterparts in the turn before; the carried ones and theirs. None: the turns differ."""
    same: dict[Expression, Expression] = {}
    carried: dict[Expression, Expression] = {}
    images: set[Expression] = set()
    left = list(seeds)
    while left:  # nodes before those that they are made of, so that a counterpart is known before it is met
        a, b = left.pop(max(range(len(left)), key=lambda k: places[left[k][0]]))
        known = same.get(a) or carried.get(a)
        if known is not None:
            if known is not b:
                return None
        elif a in images:
            carried[a] = b
        elif a.operation == ops.CONSTANT and b.operation == ops.CONSTANT and a.format is b.format:
            continue
        elif a is not b:
            if not a.operands or not _is_alike(a, b) or len(same) == MOST_OF_A_TURN:
                return None
            same[a] = b
            images.add(b)
            left += zip(a.operands, b.operands, strict=True)
    return same, carried


def _turn(after: Sequence[Expression], before: Sequence[Expression], inside: Collection[Expression]) -> _Turn:
    """A turn of these nodes, in a form that is the same for all turns."""
    known = {n: _placeholder("carried", k, n) for k, n in enumerate(before)}
    constants: list[Expression] = []
    for n in walk(*after, operands=lambda n: n.operands if n in inside and n not in known else ()):
        if n in inside and n not in known:
            operands = []
            for operand in n.operands:
                if operand.operation == ops.CONSTANT and operand not in known:
                    operands.append(_placeholder("constant", len(constants), operand))
                    constants.append(operand)
                else:
                    operands.append(known.get(operand, operand))
            known[n] = node(n.operation, tuple(operands), n.attribute, n.format)
    form = tuple(known.get(n, n) for n in after)
    return _Turn(tuple(before), tuple(after), frozenset(inside), form, tuple(constants))


def _placeholder(kind: str, number: int, n: Expression) -> Expression:
    return node(ops.INPUT, (), f"{kind} {number}", n.format)


def _usable(turns: list[_Turn], users: Mapping[Expression, set[Expression | None]]) -> list[_Turn]:
    """As many of these turns as nobody looks into."""
    while len(turns) >= LEAST_TURNS:
        inside = {n for turn in turns for n in turn.inside}
        wrong = [
            k
            for k, turn in enumerate(turns)
            if any(n not in turns[-1].after and not users[n] <= inside for n in turn.inside)
        ]
        if not wrong:
            return turns if len(inside) == sum(len(turn.inside) for turn in turns) else []
        at = wrong[-1]
        turns = turns[at + 1 :] if 2 * at < len(turns) else turns[:at]
    return []


def _loop(turns: Sequence[_Turn], inside: Collection[Expression]) -> LoopOfTurns | None:
    """The loop of these turns, if all that it needs is known before it."""
    first, last = turns[0], turns[-1]
    columns = list(zip(*(turn.constants for turn in turns), strict=True))
    tables: dict[Expression, tuple[float, ...]] = {}
    of_column: dict[tuple[Expression, ...], Expression] = {}
    known: dict[Expression, Expression] = {}
    for k, column in enumerate(columns):
        placeholder = _placeholder("constant", k, column[0])
        if len(set(column)) == 1:
            known[placeholder] = column[0]
            continue
        known[placeholder] = of_column.setdefault(column, placeholder)
        tables[of_column[column]] = tuple(n.attribute for n in column)
    carried = tuple(_placeholder("carried", k, n) for k, n in enumerate(last.before))
    unchanging = [n for user in last.inside for n in user.operands if n not in inside]
    needs = tuple(dict.fromkeys([*first.before, *(n for n in unchanging if n.operation != ops.CONSTANT)]))
    if not inside or any(n in inside for n in walk(*needs)):
        return None
    return LoopOfTurns(carried, rewritten(last.form, known.get), first.before, last.after, len(turns), tables, needs)


def settled(roots: Sequence[Expression]) -> Sequence[Expression]:
    """The graphs without comparisons that a type or numbers decide: no unsigned number is less than zero.

    Compilers warn of such comparisons, and of values that only such a choice uses; people wonder. Choices of -0 are written so
    that no compiler changes them (`_beside_zero`).
    """
    return rewritten(roots, lambda old, new: _folded(new))


def _decided(n: Expression) -> bool | None:
    """Whether a comparison is always true or always false, if its operands or their type say so."""
    if n.operation not in COMPARISONS:
        return None
    a, b = n.operands
    if a.operation == ops.CONSTANT and b.operation == ops.CONSTANT:
        x, y = a.attribute, b.attribute
        return bool(x < y if n.operation == ops.LESS else x <= y if n.operation == ops.LESS_EQUAL else x == y)
    if a is b and a.format.is_integer:  # a floating-point number that is not equal to itself is NaN
        return n.operation != ops.LESS
    if n.operation == ops.LESS and _is(b, 0) and b.format in UNSIGNED:
        return False
    if n.operation == ops.LESS_EQUAL and _is(a, 0) and a.format in UNSIGNED:
        return True
    return None


def _is(n: Expression, value: int) -> bool:
    return n.operation == ops.CONSTANT and bool(n.attribute == value)


def _beside_zero(condition: Expression) -> Expression:
    """A comparison with zero as one with the smallest number beside it, which is true of the same numbers.

    LLVM 14 and 15 make x <= 0 ? -0 : x of x < 0 ? -0 : x, which is -0 and not 0 of 0, at all of their levels that optimise.
    LLVM 20 and 22 don't.
    """
    if condition.operation == ops.NOT:
        return node(ops.NOT, (_beside_zero(condition.operands[0]),), None, Format.BIT)
    if condition.operation not in (ops.LESS, ops.LESS_EQUAL):
        return condition
    a, b = condition.operands
    if a.format not in SMALLEST or not (_is(a, 0) or _is(b, 0)):
        return condition
    # The number is negative for x < 0 and 0 <= x, and positive for 0 < x and x <= 0.
    sign = -1 if _is(b, 0) == (condition.operation == ops.LESS) else 1
    limit = node(ops.CONSTANT, (), sign * SMALLEST[a.format], a.format)
    operation = ops.LESS_EQUAL if condition.operation == ops.LESS else ops.LESS
    return node(operation, (limit, b) if _is(a, 0) else (a, limit), None, Format.BIT)


def _folded(n: Expression) -> Expression:
    """A node, or what it is where one of its conditions is decided."""
    decided = _decided(n)
    if decided is not None:
        return node(ops.CONSTANT, (), int(decided), Format.BIT)
    if n.operation in CHOICES and n.operands[0].operation == ops.CONSTANT:
        return n.operands[1] if n.operands[0].attribute else n.operands[2]
    if n.operation in CHOICES and any(map(is_negative_zero, n.operands[1:])):
        return node(n.operation, (_beside_zero(n.operands[0]), *n.operands[1:]), n.attribute, n.format)
    if n.operation == ops.ABSOLUTE and n.operands[0].operation == ops.NEGATE and n.format.is_float:
        return node(ops.ABSOLUTE, n.operands[0].operands, None, n.format)
    if n.operation == ops.ADD and n.format is Format.F64 and (lost := _lost(n)) is not None:
        return node(cast(ops.Operation, LOST), lost, None, n.format)
    if n.format is not Format.BIT:
        return n
    if n.operation == ops.NOT and n.operands[0].operation == ops.CONSTANT:
        return node(ops.CONSTANT, (), int(not n.operands[0].attribute), Format.BIT)
    if n.operation in (ops.AND, ops.OR, ops.EXCLUSIVE_OR):
        a, b = n.operands
        for known, other in ((a, b), (b, a)):
            if _is(known, 0):
                return known if n.operation == ops.AND else other
            if _is(known, 1):
                return {ops.AND: other, ops.OR: known}.get(n.operation) or _folded(
                    node(ops.NOT, (other,), None, Format.BIT)
                )
    return n


def _lost(n: Expression) -> tuple[Expression, ...] | None:
    """The operands and the sum, if this is what rounding lost of it: (a - (sum - t)) + (b - t), where t is sum - a."""
    left, right = n.operands
    if left.operation != ops.SUBTRACT or right.operation != ops.SUBTRACT:
        return None
    (a, inner), (b, t) = left.operands, right.operands
    if inner.operation != ops.SUBTRACT or inner.operands[1] is not t or t.operation != ops.SUBTRACT:
        return None
    total = inner.operands[0]
    return (a, b, total) if t.operands == (total, a) and total.operands == (a, b) else None
