"""How operators and their ufuncs are pickled: by name where the name leads back to them, else by value.

By value an operator is what its formula says, not the Python code that says it: one graph for every combination of
the parameters that select formulas, and the facts of its declaration. So operators of a notebook, of ``__main__``,
of a function and of a lambda reach processes that cannot import them, and compute the same bits there.
"""

from __future__ import annotations

import inspect
import io
import math
import pickle
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from inspect import Parameter as Argument
from itertools import product
from typing import Any, Literal, Protocol

import numpy as np

from ogive.common.dtypes import element_type
from ogive.errors import FormulaError, PickleError, message
from ogive.graph import operations as ops
from ogive.graph.expression import Expression, Format, lift, node, rewritten, walk
from ogive.graph.operations import named
from ogive.operators.signature import Parameter, Signature


class PickledOperator(Protocol):
    """The facts that this module needs of an ogive.operators.operator.Operator."""

    __qualname__: str
    name: str
    function: Callable[..., Any]
    integer_function: Callable[..., Any]
    double_function: Callable[..., Any]
    parameters: tuple[Parameter, ...]
    signatures: tuple[Signature, ...]
    truth_inputs: tuple[str, ...]
    modular: bool
    onnx: str | None
    directml: str | None
    identity: Any
    reorderable: bool

    def formula(
        self, *, for_integers: bool = ..., for_doubles: bool = ..., **choices: Any
    ) -> tuple[Expression, ...]: ...
    def bind(self, **parameters: Any) -> np.ufunc: ...


#: Modules that are another one in another process.
MAIN = ("__main__", "__mp_main__")

#: Names of arguments, by their numbers.
KINDS = {int(kind): kind for kind in (Argument.POSITIONAL_ONLY, Argument.POSITIONAL_OR_KEYWORD, Argument.KEYWORD_ONLY)}

#: Every combination of choices is a graph of its own.
MOST_COMBINATIONS = 1024


def is_importable(thing: Any) -> bool:
    """Whether another process finds this very object by its module and qualified name."""
    module = thing.__module__
    cloudpickle = sys.modules.get("cloudpickle")
    if module in MAIN or (cloudpickle and module in cloudpickle.list_registry_pickle_by_value()):
        return False
    found: Any = sys.modules.get(module)
    for part in thing.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is thing


# ---- ufuncs


def binding_of(ufunc: np.ufunc) -> tuple[PickledOperator, tuple[tuple[str, Any], ...]]:
    """The operator of a bound ufunc, and all its parameters."""
    binding: tuple[PickledOperator, tuple[tuple[str, Any], ...]] = ufunc.ogive_binding  # type: ignore[attr-defined]
    return binding


def reduced_ufunc(ufunc: np.ufunc) -> tuple[Any, ...]:
    """The result of ``__reduce__`` of a ufunc: the operator and the parameters. Native code calls this."""
    if not hasattr(ufunc, "ogive_binding"):
        what = "it is a part of a compiled graph and has no name"
        raise PickleError(message(ufunc.__name__, what, way_out="Pickle the graph or model that it belongs to"))
    return _bound, binding_of(ufunc)


def _bound(operator: PickledOperator, parameters: tuple[tuple[str, Any], ...]) -> np.ufunc:
    return operator.bind(**dict(parameters))


# ---- operators


def reduced_operator(operator: PickledOperator) -> str | tuple[Any, ...]:
    """The result of ``__reduce__`` of an operator: its name, or what it is made of."""
    if is_importable(operator):
        return operator.__qualname__
    return _remade, (type(operator), operator.__module__, operator.__qualname__, content(operator))


def content(operator: PickledOperator) -> bytes:
    """All that makes the operator what it is, but where it was defined. Equal bytes are equal operators."""
    return _packed(operator.name, (_facts(operator), *_formulas(operator)))


def token(operator: PickledOperator) -> tuple[str, ...] | tuple[str, bytes]:
    """The key that tells the operator apart, in every process: its contents, or its name where these are too many."""
    try:
        return type(operator).__qualname__, content(operator)
    except PickleError:
        if is_importable(operator):
            return operator.__module__, operator.__qualname__
        raise


def plain_bytes(value: object) -> bytes:
    """The pickle of a value without references back: these would tell which of equal strings are one object."""
    file = io.BytesIO()
    pickler = pickle.Pickler(file, protocol=4)
    pickler.fast = True
    pickler.dump(value)
    return file.getvalue()


def _packed(name: str, value: object) -> bytes:
    """A value as bytes, by cloudpickle where it is needed."""
    packed, cause = b"", None
    try:
        packed = plain_bytes(value)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        cause = error
    # A choice or a condition may be a lambda, or defined in __main__. Where cloudpickle is in use, it takes these.
    if cause is not None or b"__main__" in packed:
        cloudpickle = sys.modules.get("cloudpickle")
        if cloudpickle is not None:
            return bytes(cloudpickle.dumps(value))
    if cause is not None:
        what = f"it cannot be pickled, because a condition or a choice of its parameters cannot: {_ADDRESS.sub('', str(cause))}"
        way_out = "Use functions and classes of an importable module, or import cloudpickle first"
        raise PickleError(message(name, what, way_out=way_out)) from cause
    return packed


#: Addresses of objects, which differ in every run.
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


@lru_cache(maxsize=64)
def _remade(cls: Callable[..., PickledOperator], module: str, qualified_name: str, packed: bytes) -> PickledOperator:
    """The operator of these contents. Those used last are kept: tasks that bring the same one share its kernels."""
    facts, rows, tables = pickle.loads(packed)
    nodes = _nodes(rows)
    functions = {kind: _function(facts, nodes, dict(table)) for kind, table in tables.items()}
    for one in functions.values():
        one.__module__, one.__qualname__ = module, qualified_name
    signatures = [Signature(*(tuple(map(element_type, side)) for side in pair)) for pair in facts["signatures"]]
    function = functions.pop("function")
    return cls(function, lambda _: signatures, facts["constraints"], **functions, **facts["options"])


def _facts(operator: PickledOperator) -> dict[str, Any]:
    """The declaration of an operator, in plain values."""
    entries = inspect.signature(operator.function).parameters.values()
    return {
        "name": operator.name,
        "doc": operator.function.__doc__,
        "arguments": [
            (entry.name, int(entry.kind), () if entry.default is Argument.empty else (entry.default,))
            for entry in entries
        ],
        "choices": {p.name: p.choices for p in operator.parameters if p.choices},
        "constraints": {p.name: p.constraint for p in operator.parameters if not p.choices},
        "signatures": [[[t.name for t in side] for side in signature] for signature in operator.signatures],
        "options": {
            "truth_inputs": operator.truth_inputs,
            "modular": operator.modular,
            "onnx": operator.onnx,
            "directml": operator.directml,
            "identity": operator.identity,
            "reorderable": operator.reorderable,
            **({"left_out": left_out} if (left_out := getattr(operator, "left_out", None)) else {}),
        },
    }


# ---- formulas

#: One row for a node: operation, the rows of its operands, attribute, format.
Row = tuple[str, tuple[int, ...], Any, str]

#: By the type and value of every choice: the rows of the outputs, or what the formula raises for these choices.
Table = list[tuple[tuple[Any, ...], tuple[int, ...] | str]]


def _formulas(operator: PickledOperator) -> tuple[list[Row], dict[str, Table]]:
    """The graphs of an operator: the rows of all, and a table for each formula that it has: also for integers, for float64."""
    chosen = [p for p in operator.parameters if p.choices]
    count = math.prod(len(p.choices) for p in chosen)
    if count > MOST_COMBINATIONS:
        what = f"its choices have {count} combinations, and each is a formula to pickle"
        way_out = "Define it in an importable module, to be pickled by name"
        raise PickleError(message(operator.name, what, f"up to {MOST_COMBINATIONS}", way_out))
    rows: list[Row] = []
    row_of: dict[Expression, int] = {}
    kinds: dict[str, dict[str, bool]] = {"function": {}}
    if operator.integer_function is not operator.function:
        kinds["integers"] = {"for_integers": True}
    if operator.double_function is not operator.function:
        kinds["doubles"] = {"for_doubles": True}
    tables: dict[str, Table] = {}
    for kind, which in kinds.items():
        table: Table = []
        for values in product(*(p.choices for p in chosen)):
            choices = {p.name: value for p, value in zip(chosen, values, strict=True)}
            try:
                roots = operator.formula(**which, **choices)
            except Exception as error:  # the formula may refuse choices that do not go together
                table.append((_key(values), f"{type(error).__name__}: {error}"))
                continue
            for current in walk(*roots):
                if current not in row_of:
                    row_of[current] = len(rows)
                    operands = tuple(row_of[operand] for operand in current.operands)
                    rows.append((str(current.operation), operands, current.attribute, current.format.value))
            table.append((_key(values), tuple(row_of[root] for root in roots)))
        tables[kind] = table
    return rows, tables


def _key(values: Iterable[Any]) -> tuple[Any, ...]:
    """Choices as a key: ``1``, ``1.0`` and ``True`` are equal, but not the same choice."""
    return tuple((type(value), value) for value in values)


def _nodes(rows: Iterable[Row]) -> list[Expression]:
    """The nodes of rows."""
    nodes: list[Expression] = []
    for operation, operands, attribute, form in rows:
        nodes.append(node(named(operation), tuple(nodes[i] for i in operands), attribute, Format(form)))
    return nodes


def _function(
    facts: dict[str, Any], nodes: list[Expression], table: dict[tuple[Any, ...], tuple[int, ...] | str]
) -> Callable[..., Any]:
    """A formula as a Python function: the graph of the choices, with what the call gives in the place of its leaves."""
    signature = inspect.Signature(
        [
            Argument(
                name,
                KINDS[kind],
                default=default[0] if default else Argument.empty,
                annotation=Literal[facts["choices"][name]] if name in facts["choices"] else Argument.empty,
            )
            for name, kind, default in facts["arguments"]
        ]
    )
    tensors = [name for name, kind, _ in facts["arguments"] if KINDS[kind] is not Argument.KEYWORD_ONLY]

    def function(*given: Any, **keywords: Any) -> Any:
        bound = signature.bind(*given, **keywords)
        bound.apply_defaults()
        values = bound.arguments
        chosen = {name: values[name] for name in facts["choices"]}
        found = table.get(_key(chosen.values()), "there is no such choice")
        if isinstance(found, str):
            raise FormulaError(message(facts["name"], f"the formula refuses {chosen}: {found}"))
        leaves: dict[tuple[str, Any], Any] = {("input", i): values[name] for i, name in enumerate(tensors)}
        leaves |= {("parameter", name): values[name] for name in facts["constraints"]}
        results = _replaced([nodes[i] for i in found], leaves, facts["name"])
        return results if len(results) > 1 else results[0]

    function.__name__, function.__doc__ = facts["name"], facts["doc"]
    function.__signature__ = signature  # type: ignore[attr-defined]
    function.__annotations__ = {
        e.name: e.annotation for e in signature.parameters.values() if e.annotation is not e.empty
    }
    return function


def _replaced(roots: Sequence[Expression], leaves: Mapping[tuple[str, Any], Any], name: str) -> tuple[Expression, ...]:
    """The graphs with other operands and parameters."""

    def replaced(old: Expression, new: Expression) -> Expression:
        if old.operation == ops.INPUT:
            return _fitting(lift(leaves["input", old.attribute]), old, name)
        if old.operation == ops.PARAMETER:
            return _fitting(lift(leaves["parameter", old.attribute[1]]), old, name)
        return new

    return rewritten(roots, replaced)


def _fitting(given: Expression, wanted: Expression, name: str) -> Expression:
    if given.format is not wanted.format:
        raise FormulaError(message(name, f"an operand is a {given.format.value}", f"a {wanted.format.value}"))
    return given
