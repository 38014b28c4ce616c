"""Exported functions in float alone as C: a function of one element, with branches, and loops that call it.

Small processors compute one element after the other, without double, and without fused multiply-add. So a choice between
computations is a branch here, where other files compute both sides and keep the loop for vectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ogive.backends.c_like import Text, bare, joined
from ogive.backends.dialects import ISO_C
from ogive.exporting.interface import C_TYPES, Interface
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, walk

__all__ = ["float_functions"]

#: A choice is a branch if a side has more operations than these.
MOST_OF_A_SIDE = 3


def float_functions(interface: Interface, support: dict[str, str]) -> list[str]:
    """The functions of an interface; those that they call come into ``support``."""
    inputs = [o for o in interface.operands if o.is_input]
    (output,) = [o for o in interface.operands if not o.is_input]
    names = dict(enumerate(interface.parameters))

    def leaf(n: Expression) -> str:
        if n.operation == ops.INPUT:
            name: str = inputs[n.attribute].name
            return name
        position = n.attribute[0]
        return names.get(position) or text.literal(n.format, interface.constants[position])

    text = Text(ISO_C, leaf)
    text.support = support
    (result,) = interface.program.results
    body = _branches(text, result, {})
    kinds = [f"const {C_TYPES[o.type.name]} {o.name}" for o in inputs]
    given = ", ".join([*kinds, *(f"const float {name}" for name in interface.parameters)])
    joint = "\n".join(body)
    unused = [f"(void){name};" for name in [*(o.name for o in inputs), *interface.parameters] if name not in joint]
    element = f"{interface.name}_element"
    functions = [_function(f"OGIVE_INLINE {C_TYPES[output.type.name]} {element}({given})", [*unused, *body])]
    for strided in (True, False):
        arguments = ", ".join(f"{kind}{argument}" for kind, argument in interface.arguments(strided=strided))

        def place(name: str, kind: str, apart: bool = strided) -> str:
            at = f"({kind} *)((uintptr_t){name} + (uintptr_t)((ptrdiff_t)i * {name}_step))"
            return f"*{at}" if apart else f"{name}[i]"

        read = [place(o.name, f"const {C_TYPES[o.type.name]}") for o in inputs]
        call = f"{element}({', '.join([*read, *interface.parameters])})"
        loop = [
            "for (size_t i = begin; i < end; i++) {",
            f"    {place(output.name, C_TYPES[output.type.name])} = {call};",
            "}",
        ]
        functions.append(_function(f"void {interface.name}{'_strided' if strided else ''}({arguments})", loop))
    return functions


def _branches(text: Text, root: Expression, known: Mapping[Expression, str]) -> list[str]:
    """The statements that return a value. Each side of a choice computes only what it needs."""
    if root.operation == ops.SELECT and _is_branch(root, known):
        condition, a, b = root.operands
        before, after = _computed([condition], known), _computed([a, b], known)
        shared = [n for n in before if n in after]
        inner = {operand for n in shared for operand in walk(*n.operands)}
        first = [n for n in shared if n not in inner and n is not condition]
        lines, names = text.named([*first, condition], known)
        later = {**known, **names}
        return [
            *joined(lines),
            f"if ({bare(names[condition])}) {{",
            *(f"    {line}" for line in _branches(text, a, later)),
            "}",
            *_branches(text, b, later),
        ]
    lines, (value,) = text.statements([root], known)
    return [*joined(lines), f"return {bare(value)};"]


def _computed(roots: Sequence[Expression], known: Mapping[Expression, str]) -> dict[Expression, None]:
    """The operations of these graphs, operands first."""
    walked = walk(*roots, operands=lambda n: () if n in known else n.operands)
    return {n: None for n in walked if n.operands and n not in known}


def _is_branch(root: Expression, known: Mapping[Expression, str]) -> bool:
    condition, a, b = root.operands
    of_condition, sides = _computed([condition], known), [_computed([side], known) for side in (a, b)]
    alone = [sum(n not in of_condition and n not in other for n in one) for one, other in (sides, sides[::-1])]
    return max(alone) > MOST_OF_A_SIDE


def _function(head: str, lines: Sequence[str]) -> str:
    return "\n".join([f"{head} {{", *(f"    {line}" for line in lines), "}", ""])
