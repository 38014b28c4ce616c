"""The derivatives of an operator's formula: by a registered rule, by tangents, by adjoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from ogive import formula as f
from ogive.differentiation.algebra import ZERO, add, multiply, negative, scaled, select, substituted
from ogive.differentiation.partials import FLAT, PARTIALS
from ogive.differentiation.tangents import Recognised, tangents
from ogive.gradients.registered import Rule
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, Term, as_number, constant, lift, node, of_rows, tracing, walk
from ogive.operators.operator import Operator


def leaves(operator: Operator) -> dict[str, Expression]:
    """The leaves that stand for the tensors and the open parameters in an operator's formula."""
    found: dict[str, Expression] = {}
    for i, name in enumerate(operator.tensors):
        found[name] = node(ops.INPUT, (), i, Format.TRUTH if name in operator.truth_inputs else Format.NUMBER)
    for i, parameter in enumerate(operator.numeric_parameters):
        found[parameter.name] = node(ops.PARAMETER, (), (i, parameter.name), Format.NUMBER)
    return found


def derivatives(
    operator: Operator,
    wrt: str,
    rule: Rule | None,
    choices: dict[str, Any],
    recognised: Recognised = lambda root: None,
) -> tuple[Term, ...]:
    """The derivatives of all results of an element-wise operator with respect to one of its arguments."""
    places = leaves(operator)
    if rule is None:
        return tangents(operator.formula(**choices), places[wrt], recognised)
    tensors = [places[name] for name in operator.tensors]
    return _by_rule(rule, tensors, operator, choices)


def gradients(
    operator: Operator,
    wanted: Sequence[str],
    rules: Mapping[str, Rule],
    choices: dict[str, Any],
    recognised: Recognised,
) -> tuple[Expression, ...]:
    """The gradients of tensors of an element-wise operator; the gradients of its results are the inputs before them."""
    outputs = len(operator.signatures[0].outputs)
    results = []
    for name in wanted:
        slopes = derivatives(operator, name, rules.get(name), choices, recognised)
        total = ZERO
        for i, slope in enumerate(substituted(slopes, _later(operator, outputs))):
            total = add(total, scaled(_input(i), cast(Term, slope)))
        results.append(total)
    return tuple(results)


def row_gradients(
    operator: Operator, wanted: Sequence[str], rule: Rule | None, choices: dict[str, Any]
) -> tuple[Expression, ...]:
    """The same of an operator over rows, by adjoints. A rule is for all tensors at once."""
    roots = operator.formula(**choices)
    later = _later(operator, len(roots))
    places = leaves(operator)
    if rule is not None:
        tensors = [*map(_input, range(len(roots))), *(later[places[name]] for name in operator.tensors)]
        of_all = dict(zip(operator.tensors, _by_rule(rule, tensors, operator, choices), strict=True))
        return tuple(of_all[name] for name in wanted)
    upstream: dict[Expression, Term] = {}
    for i, root in enumerate(substituted(roots, later)):
        upstream[root] = add(upstream.get(root, ZERO), _input(i))
    return adjoints(upstream, [later[places[name]] for name in wanted], reduces=operator.reduces)


def _by_rule(
    rule: Rule, tensors: Sequence[Expression], operator: Operator, choices: dict[str, Any]
) -> tuple[Term, ...]:
    places = leaves(operator)
    keywords = {parameter.name: places[parameter.name] for parameter in operator.numeric_parameters} | choices
    tracing.depth += 1
    try:
        made = rule(*tensors, **keywords)
    finally:
        tracing.depth -= 1
    results = made if isinstance(made, tuple) else (made,)
    return tuple(as_number(lift(result)) for result in results)


def _input(position: int) -> Term:
    return cast(Term, node(ops.INPUT, (), position, Format.NUMBER))


def _later(operator: Operator, by: int) -> dict[Expression, Expression]:
    """The tensors of a formula, with so many others before them."""
    inputs = [leaf for leaf in leaves(operator).values() if leaf.operation == ops.INPUT]
    return {leaf: node(ops.INPUT, (), leaf.attribute + by, leaf.format) for leaf in inputs}


HALF = constant(0.5)


def adjoints(
    gradients: Mapping[Expression, Term], leaves: Sequence[Expression], *, reduces: bool = False
) -> tuple[Term, ...]:
    """The gradients of leaves, given those of results; ``reduces``: each result is one number of a row."""
    known: dict[Expression, Term] = {} if reduces else dict(gradients)
    totals: dict[Expression, Term] = dict(gradients) if reduces else {}
    """Gradients that are the row's, not an element's share of it."""
    common = of_rows(*totals)
    for current in reversed([*walk(*gradients)]):
        if not current.operands or current.format is Format.TRUTH or current.operation in FLAT:
            continue
        for table, summed in ((known, f.row_sum), (totals, _as_it_is)):
            given = table.get(current, ZERO)
            if given is not ZERO:
                parts = _parts(cast(Term, current), given, summed)
                for operand, part in zip(current.operands, parts, strict=True):
                    of_row = totals if table is totals and operand in common else known
                    of_row[operand] = add(of_row.get(operand, ZERO), part)
    return tuple(known.get(leaf, ZERO) for leaf in leaves)


def _as_it_is(total: Term) -> Term:
    return total


def _parts(n: Term, given: Term, summed: Callable[[Term], Term]) -> tuple[Term, ...]:
    """The gradients of the operands of a node, given its own; ``summed`` adds up what elements have of a row's."""
    operands = cast(tuple[Term, ...], n.operands)
    if n.operation == ops.SELECT:
        return ZERO, select(operands[0], given, ZERO), select(operands[0], ZERO, given)
    if n.operation == ops.ROW_SUM:
        return (summed(given),)
    if n.operation == ops.ROW_THRESHOLD:
        is_above = n < operands[0]
        return (select(is_above, summed(given) / f.row_sum(f.where(is_above, 1, 0)), ZERO),)
    if n.operation == ops.ROW_SQUARE_THRESHOLD:
        above = f.larger(operands[0] - n, 0)
        return (summed(given) * above / f.row_sum(above),)
    if n.operation in (ops.ROW_MAX, ops.ROW_MIN):
        return (select(f.row_first(f.equal(operands[0], n)), summed(given), ZERO),)
    if n.operation == ops.ABSOLUTE:
        (x,) = operands
        return (select(x > 0, given, select(x < 0, negative(given), ZERO)),)
    if n.operation in ("larger", "smaller"):
        a, b = operands
        first, other = (a > b, b > a) if n.operation == "larger" else (a < b, b < a)
        share = select(f.equal(a, b), multiply(HALF, given), ZERO)
        return select(first, given, share), select(other, given, share)
    return tuple(scaled(partial, given) for partial in PARTIALS[n.operation](n, *operands))
