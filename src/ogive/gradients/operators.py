"""Derivatives as operators: their names, arguments, element types and documentation.

Operators inside of larger formulas: their registered derivatives hold there too.

A formula that calls an operator has the operator's graph as a part, which is found again by its shape. Left out are
operators of one or two nodes, such as ``abs`` and ``max``: a formula may use these to write a smooth function.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any, Literal, NamedTuple, TypeVar, cast

from ogive.catalog import OPERATORS
from ogive.differentiation.algebra import matched, substituted
from ogive.differentiation.tangents import Recognised
from ogive.errors import ArgumentError, DTypeError, described, message
from ogive.gradients.derivatives import derivatives, gradients, leaves, row_gradients
from ogive.gradients.registered import ROW_RULES, RULES, Rule, is_of_catalogue, rules_of
from ogive.gradients.summing import Gradients, ReductionGradients, RowGradients
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, Term, lift, node
from ogive.operators.operator import Operator, check_is_operator
from ogive.operators.running_functions import RunningFunction
from ogive.operators.signature import Signature

#: Operators whose derivatives are registered, and are looked for in formulas.
NAMES = (
    *(
        "celu",
        "gelu",
        "hard_sigmoid",
        "hard_swish",
        "hypot",
        "log1mexp",
        "log_sigmoid",
        "logaddexp",
        "logaddexp2",
        "logit",
    ),
    *(
        "mish",
        "parametric_hard_swish",
        "parametric_softplus",
        "serf",
        "shrink",
        "softcap",
        "softplus",
        "softsign",
    ),
    *("squareplus", "swiglu", "swish", "tanhshrink", "xielu"),
)


class _Pattern(NamedTuple):
    root: Expression
    leaves: tuple[Expression, ...]
    partials: tuple[Expression, ...]
    """The derivatives with respect to the leaves."""


@cache
def _patterns() -> dict[str, list[_Pattern]]:
    """By the kind of the root."""
    found: dict[str, list[_Pattern]] = {}
    for name in NAMES:
        operator = OPERATORS[name]
        for choices in _choices(operator):
            (root,) = operator.formula(**choices)
            places = leaves(operator)
            partials = [derivatives(operator, wrt, RULES[name].get(wrt), choices)[0] for wrt in places]
            found.setdefault(root.operation, []).append(_Pattern(root, tuple(places.values()), tuple(partials)))
    return found


def _choices(operator: Operator) -> Iterator[dict[str, Any]]:
    """All values of the parameters that select between formulas."""
    chosen = [parameter for parameter in operator.parameters if parameter.choices]
    for values in product(*(parameter.choices for parameter in chosen)):
        yield {parameter.name: value for parameter, value in zip(chosen, values, strict=True)}


def recognised(root: Expression) -> list[tuple[Expression, Term]] | None:
    """The operands of the operator whose result a node is, and the partial derivatives by them; None if it is none."""
    for pattern in _patterns().get(root.operation, ()):
        bound = matched(pattern.root, root)
        if bound is not None:
            partials: Any = substituted(pattern.partials, bound)
            operands = [bound.get(leaf) for leaf in pattern.leaves]
            return [(operand, p) for operand, p in zip(operands, partials, strict=True) if operand is not None]
    return None


Argument = inspect.Parameter
Made = TypeVar("Made", bound=Operator)

#: By the choices: the graphs of the results, over the leaves of `places`.
Graphs = Callable[[dict[str, Any]], tuple[Expression, ...]]


def grad(operator: Operator, wrt: int | str = 0) -> Operator:
    """The derivative of an element-wise operator with respect to one of its arguments: an operator as well.

    ``wrt`` is the name or the position of a tensor, or the name of a parameter that is a number. The derivative takes
    the same tensors and parameters. It is there for the floating-point types of the operator, fuses, can be pickled,
    has the contract of the operator (``ogive.grad(ogive.gelu.fast)`` is fast), and has a derivative itself. An operator
    of several results gives a derivative of each.

    At a kink it has the value that docs/tables/derivatives.md lists, which is PyTorch's where PyTorch has the operator; in a
    formula of one's own every comparison is decided just left of the point. A branch that is not taken has no effect.
    Where an operand is NaN, comparisons are false, as in the formula itself.

    Raises ArgumentError for an unknown argument, or one that selects between formulas; DTypeError for an operator
    without floating-point results; ArgumentError for an operator over rows, whose elements all depend on each other:
    there is :func:`vjp` for those.

    >>> import ogive
    >>> slope = ogive.grad(ogive.softplus)
    >>> slope([0.0, 3.0])
    array([0.5       , 0.95257413])
    >>> ogive.grad(slope)(0.0)
    np.float64(0.25)
    >>> ogive.grad(ogive.elu, "alpha")([-1.0, 1.0])
    array([-0.63212056,  0.        ])
    """
    check_is_operator("ogive.grad", operator)
    name = _argument("ogive.grad", operator, wrt)
    return _derived(operator, ("grad", name), lambda base: _make_grad(base, name, with_value=False))


def value_and_grad(operator: Operator, wrt: int | str = 0) -> Operator:
    """An operator and its derivative, in one kernel: it returns both, and of several results all values first.

    Arguments and errors are those of :func:`grad`.

    >>> import ogive
    >>> ogive.value_and_grad(ogive.tanh)([0.0, 1.0])
    (array([0.        , 0.76159416]), array([1.        , 0.41997434]))
    """
    check_is_operator("ogive.value_and_grad", operator)
    name = _argument("ogive.value_and_grad", operator, wrt)
    return _derived(operator, ("value_and_grad", name), lambda base: _make_grad(base, name, with_value=True))


def vjp(operator: Operator, wrt: Iterable[str] | None = None) -> Operator:
    """The gradients of back-propagation: (gradient of the result, tensors) to the gradients of the tensors, in one kernel.

    ``wrt`` names the arguments whose gradients are wanted: all tensors of floating-point types, unless told otherwise;
    parameters that are numbers can be among them. There is a result for each, and no tuple where there is one. An
    operator of several results takes a gradient for each, before its tensors. Operators over rows have a vjp too.

    The gradient of a tensor has its shape: where it was broadcast, it is the sum over the elements that it took part in.
    That of a parameter is the sum over all elements. Sums are computed in more precision than the element type has, in
    an order that depends on their length alone, and rounded once. ``out`` and NumPy's other keywords are taken where all
    shapes are equal. In a formula nothing is summed: there an operand is one element.

    Raises ArgumentError for an unknown argument, DTypeError for operators without floating-point results.

    >>> import ogive
    >>> ogive.vjp(ogive.mul)([1.0, 10.0], [2.0, 3.0], [4.0, 5.0])
    (array([ 4., 50.]), array([ 2., 30.]))
    >>> of_x, of_slope = ogive.vjp(ogive.prelu)([1.0, 1.0, 1.0], [-2.0, 3.0, -4.0], 0.1)
    >>> of_x, float(of_slope)
    (array([0.1, 1. , 0.1]), -6.0)
    """
    if isinstance(operator, RunningFunction):
        return cast(Operator, operator.vjp(wrt))
    check_is_operator("ogive.vjp", operator)
    wanted = _wanted(operator, wrt)
    return _derived(operator, ("vjp", *wanted), lambda base: _make_vjp(base, wanted))


# ---- what is asked for


def _argument(subject: str, operator: Operator, wrt: int | str) -> str:
    """The name of the argument that is meant."""
    if operator.is_row_wise:
        what = f"{operator.name} looks at whole rows, so each result depends on all elements of its row"
        raise ArgumentError(message(subject, what, "element-wise operators", f"Use ogive.vjp(ogive.{operator.name})"))
    numbers = [name for name in operator.tensors if name not in operator.truth_inputs]
    numbers += [parameter.name for parameter in operator.numeric_parameters]
    if isinstance(wrt, int) and not isinstance(wrt, bool) and -operator.inputs <= wrt < operator.inputs:
        wrt = operator.tensors[wrt]
    if wrt not in numbers:
        what = f"wrt is {described(wrt)}, for {operator.name}"
        if not numbers:
            raise DTypeError(message(subject, f"{operator.name} has no derivative: all its operands are truth values"))
        allowed = f"{', '.join(map(repr, numbers))}, or the position of a tensor"
        raise ArgumentError(message(subject, what, allowed))
    return str(wrt)


def _wanted(operator: Operator, wrt: Iterable[str] | None) -> tuple[str, ...]:
    """The names of the arguments whose gradients are wanted."""
    if wrt is None:
        return tuple(
            name
            for i, name in enumerate(operator.tensors)
            if name not in operator.truth_inputs and any(s.inputs[i].is_float for s in operator.signatures)
        )
    listed = (wrt,) if isinstance(wrt, str) else tuple(wrt)
    allowed = [name for name in operator.tensors if name not in operator.truth_inputs]
    if not operator.is_row_wise:
        allowed += [parameter.name for parameter in operator.numeric_parameters]
    for name in listed:
        if name not in allowed:
            what = f"wrt has {described(name)}, for {operator.name}"
            raise ArgumentError(message("ogive.vjp", what, ", ".join(map(repr, allowed))))
    if not listed or len(set(listed)) < len(listed):
        what = "wrt is empty" if not listed else f"wrt names an argument twice: {', '.join(listed)}"
        raise ArgumentError(message("ogive.vjp", what, f"one or more of {', '.join(map(repr, allowed))}, each once"))
    return listed


def _derived(operator: Operator, what: tuple[str, ...], make: Callable[[Operator], Operator]) -> Operator:
    """One object for one question. The operator keeps it, so that both go together.

    A derivative is made of the operator that the module names, and has the contract of the one that was given.
    """
    base = operator.base
    known: dict[tuple[str, ...], Operator] = base.__dict__.setdefault("_derived", {})
    if what not in known:
        known[what] = make(base)
    return known[what].under_contract_of(operator)


def _rule(operator: Operator, wrt: str) -> Rule | None:
    """The registered derivative. A parameter that is a tensor here is given to it by name, as in the operator it is of."""
    rule = rules_of(operator.opened_of or operator).get(wrt)
    if rule is None or operator.opened_of is None:
        return rule
    count, names = operator.opened_of.inputs, operator.tensors[operator.opened_of.inputs :]

    def opened(*tensors: Any, **parameters: Any) -> Any:
        return rule(*tensors[:count], **dict(zip(names, tensors[count:], strict=True)), **parameters)

    return opened


def _recognised(operator: Operator) -> Recognised:
    """The search for operators inside of a formula; an operator of the catalogue is not looked for in itself."""
    if not is_of_catalogue(operator.opened_of or operator):
        return recognised
    whole = {root for values in _choices(operator) for root in operator.formula(**values)}
    return lambda root: None if root in whole else recognised(root)


# ---- element-wise


def _make_grad(operator: Operator, wrt: str, *, with_value: bool) -> Operator:
    rule = _rule(operator, wrt)

    def graphs(choices: dict[str, Any]) -> tuple[Expression, ...]:
        slopes = derivatives(operator, wrt, rule, choices, _recognised(operator))
        return (*operator.formula(**choices), *slopes) if with_value else slopes

    index = operator.tensors.index(wrt) if wrt in operator.tensors else None
    signatures = []
    for signature in operator.signatures:
        is_smooth = all(t.is_float for t in signature.outputs)
        if is_smooth and (index is None or signature.inputs[index].is_float):
            values = signature.outputs if with_value else ()
            of_slopes = signature.outputs if index is None else (signature.inputs[index],) * len(signature.outputs)
            signatures.append(Signature(signature.inputs, (*values, *of_slopes)))
    kind = "value_and_grad" if with_value else "grad"
    _check_types(kind, operator, signatures, wrt)
    title = f"{'Value and derivative' if with_value else 'Derivative'} of {operator.name} with respect to {wrt}"
    return _operator(Operator, operator, f"{operator.name}_{kind}_{wrt}", operator.tensors, graphs, signatures, title)


def _make_vjp(operator: Operator, wanted: tuple[str, ...]) -> Operator:
    outputs = len(operator.signatures[0].outputs)
    upstream = _upstream_names(operator, outputs)
    signatures = []
    for s in operator.signatures:
        types = dict(zip(operator.tensors, s.inputs, strict=True))
        results = tuple(types.get(name, s.outputs[0]) for name in wanted)
        if results and all(t.is_float for t in (*s.outputs, *results)):
            signatures.append(Signature((*s.outputs, *s.inputs), results))
    _check_types("vjp", operator, signatures, "")
    rules = {name: rule for name in wanted if (rule := _rule(operator, name))}

    def graphs(choices: dict[str, Any]) -> tuple[Expression, ...]:
        if operator.is_row_wise:
            rule = ROW_RULES.get(operator.name) if is_of_catalogue(operator) else None
            return row_gradients(operator, wanted, rule, choices)
        return gradients(operator, wanted, rules, choices, _recognised(operator))

    of = wanted[0] if len(wanted) == 1 else f"{', '.join(wanted[:-1])} and {wanted[-1]}"
    title = f"Gradient of {of}, given that of the result of {operator.name}"
    tensors = (*upstream, *operator.tensors)
    is_all = wanted == _wanted(operator, None)
    name = f"{operator.name}_vjp" if is_all else f"{operator.name}_vjp_{'_'.join(wanted)}"
    of_rows = ReductionGradients if "keepdims" in operator.keywords else RowGradients
    kind: type[Gradients | RowGradients] = of_rows if operator.is_row_wise else Gradients
    made = _operator(kind, operator, name, tensors, graphs, signatures, title)
    made.source, made.wanted, made.remake = operator, wanted, vjp
    return made


def _upstream_names(operator: Operator, outputs: int) -> list[str]:
    taken = {*operator.tensors, *(parameter.name for parameter in operator.parameters)}
    names = ["gradient"] if outputs == 1 else [f"gradient_{i}" for i in range(outputs)]
    while not taken.isdisjoint(names):  # of the vjp of a vjp
        names = [f"upstream_{name}" for name in names]
    return names


def _check_types(kind: str, operator: Operator, signatures: Sequence[Signature], wrt: str) -> None:
    if signatures:
        return
    operands, results = (
        ", ".join(dict.fromkeys(_KINDS[t.kind] for signature in operator.signatures for t in signature[side]))
        for side in (0, 1)
    )
    what = f"{operator.name} has no derivative{f' with respect to {wrt}' if wrt else ''}"
    what += f": it makes {results} of {operands}"
    raise DTypeError(message(f"ogive.{kind}", what, "floating-point numbers of floating-point numbers"))


_KINDS = {
    "float": "floating-point numbers",
    "signed": "integers",
    "unsigned": "integers",
    "boolean": "truth values",
}


# ---- the operator


def _operator(
    cls: type[Made],
    source: Operator,
    name: str,
    tensors: Sequence[str],
    graphs: Graphs,
    signatures: Iterable[Signature],
    title: str,
) -> Made:
    """An operator of these graphs, with the parameters of another."""
    chosen = {parameter.name: parameter.choices for parameter in source.parameters if parameter.choices}
    numeric = [parameter.name for parameter in source.numeric_parameters]
    positional = [Argument(tensor, Argument.POSITIONAL_OR_KEYWORD) for tensor in tensors]
    keywords = [
        Argument(
            p.name,
            Argument.KEYWORD_ONLY,
            default=p.default,
            annotation=Literal[p.choices] if p.choices else Argument.empty,
        )
        for p in source.parameters
    ]
    signature = inspect.Signature([*positional, *keywords])
    known: dict[tuple[Any, ...], tuple[Expression, ...]] = {}

    def function(*given: Any, **parameters: Any) -> Any:
        bound = signature.bind(*given, **parameters)
        bound.apply_defaults()
        values = bound.arguments
        choices = {choice: values[choice] for choice in chosen}
        key = tuple((type(value), value) for value in choices.values())
        if key not in known:
            known[key] = graphs(choices)
        places: dict[Expression, Expression] = {}
        for i, tensor in enumerate(tensors):
            operand = lift(values[tensor])
            places[node(ops.INPUT, (), i, Format.NUMBER)] = operand
            places[node(ops.INPUT, (), i, Format.TRUTH)] = operand
        for i, parameter in enumerate(numeric):
            places[node(ops.PARAMETER, (), (i, parameter), Format.NUMBER)] = lift(values[parameter])
        results = substituted(known[key], places)
        return results[0] if len(results) == 1 else results

    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    function.__signature__ = signature  # type: ignore[attr-defined]
    function.__annotations__ = {p.name: p.annotation for p in keywords if p.annotation is not Argument.empty}
    function.__doc__ = _documentation(source, title, tensors, graphs, chosen)
    constraints = {parameter.name: parameter.constraint for parameter in source.numeric_parameters}
    made = cls(function, lambda _: signatures, constraints, truth_inputs=source.truth_inputs)
    made.check_formula()
    return made


def _documentation(
    source: Operator,
    title: str,
    tensors: Sequence[str],
    graphs: Graphs,
    chosen: Mapping[str, tuple[Any, ...]],
) -> str:
    from ogive.graph.show import formula

    defaults = {p.name: p.default if not p.is_required else p.choices[0] for p in source.parameters if p.choices}
    roots = graphs(defaults)
    text = "\n".join(formula(root, tensors) for root in roots)
    lines = [title + (": ``" + text + "``." if "\n" not in text else ".")]
    if "\n" in text:
        lines += ["", "::", "", *("    " + line for line in text.splitlines())]
    if chosen:
        lines += ["", "The formula is that of " + ", ".join(f"{k}={v!r}" for k, v in defaults.items()) + "."]
    lines += ["", f"Made of the formula of {source.name} by ogive.gradients. At kinks: docs/tables/derivatives.md."]
    return "\n".join(lines)
