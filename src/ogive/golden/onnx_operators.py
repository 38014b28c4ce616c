"""Specifications of ONNX's operators: every version and type that Ogive loads, by the formula that loading finds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ogive.engine.computation import Computation, Formula, Fused, make_ufunc
from ogive.engine.rows import RowFormula
from ogive.errors import UnsupportedError, message
from ogive.golden.specification import FLOAT32_PARAMETERS, FormulaStep, Specification
from ogive.golden.whole_arrays import NORMALISATIONS, of_whole
from ogive.graph.expression import walk
from ogive.onnx import schemas
from ogive.onnx.data_types import DATA_TYPES
from ogive.onnx.dispatch import SEVERAL, node_computation
from ogive.onnx.node import OnnxNode
from ogive.onnx.node_computation import ArrangedRows, ElementwiseNode
from ogive.onnx.node_support import Support, supported


class OnnxOperator(NamedTuple):
    """One version of an operator, with a type for each of the schema's type parameters, such as T."""

    operator: str
    version: int
    types: Mapping[str, str]

    @property
    def label(self) -> str:
        """A line for people."""
        kinds = ", ".join(f"{name} = {kind}" for name, kind in self.types.items())
        return f"{self.operator}-{self.version} {kinds}"


def all_of_onnx() -> Iterator[OnnxOperator]:
    """Every operator, version and type that Ogive loads: each type of each type parameter, the others at their first."""
    for row in supported():
        seen = set()
        for types in _types(row):
            key = tuple(sorted(types.items()))
            if key not in seen:
                seen.add(key)
                yield OnnxOperator(row.operator, row.version, types)


def _types(row: Support) -> Iterator[dict[str, str]]:
    if row.operator == "BitCast":  # types of as many bits
        pairs = [(a, b) for a in row.types["T1"] for b in row.types["T2"] if DATA_TYPES[a].bits == DATA_TYPES[b].bits]
        yield from ({"T1": a, "T2": b} for a, b in pairs)
        return
    first = {name: kinds[0] for name, kinds in row.types.items() if kinds}
    for name, kinds in row.types.items():
        for kind in kinds:
            yield {**first, name: kind}


def of_onnx(
    operator: str, version: int, types: Mapping[str, str], attributes: Mapping[str, Any] | None = None
) -> Specification:
    """The specification of a version of an operator of ONNX.

    ``types`` has a type for each type parameter of the schema: ``{"T": "tensor(float)"}``. For inputs that may be many
    there are two.

    Raises UnsupportedError where Ogive does not load it, or where a value is no tensor.
    """
    schema = schemas.schema_of(operator, version)
    if schema is None:
        raise UnsupportedError(message("ogive.golden", f"ONNX has no {operator} in opset {version}"))
    formal = list(schema.inputs) * (2 if schema.max_input > len(schema.inputs) else 1)
    names = tuple(p.name if len(schema.inputs) == len(formal) else f"{p.name}_{i}" for i, p in enumerate(formal))
    trains = bool((attributes or {}).get("training_mode"))
    has_one_output = len(schema.outputs) == 1 or (operator == "BatchNormalization" and not trains)
    if operator in {"Constant", *NORMALISATIONS} or not has_one_output:
        return of_whole(operator, version, types, attributes or {})
    output = schema.outputs[0]
    result = types.get(output.type_str, output.type_str)
    given = dict(attributes or {})
    if operator == "BitShift":
        given.setdefault("direction", "LEFT")
    if operator in ("BitCast", "Cast"):
        target = DATA_TYPES[result]
        given["to"] = target.name if version == 1 else target.number
    node = OnnxNode(
        operator=operator,
        version=version,
        label=operator,
        inputs=names,
        outputs=(output.name,),
        parameters=tuple(p.name for p in formal),
        input_types=tuple(types.get(p.type_str, p.type_str) for p in formal),
        attributes={**schemas.default_values(operator, version), **given},
        given=frozenset(given),
    )
    several = SEVERAL.get(operator)
    made = several(node, (result,)) if several is not None else None
    found = made[0] if made else node_computation(node, result)
    computation: Computation | RowFormula
    if isinstance(found, ElementwiseNode):
        computation, values, operands = found.computation, found.parameters, found.operands
    elif (
        isinstance(found, ArrangedRows) and not found.row_wise.computation.modular
    ):  # rows of integers have no exact rule
        computation, values = found.row_wise.computation, found.row_wise.parameters
        operands = found.row_wise.operands
    else:
        return of_whole(operator, version, types, attributes or {})
    is_row_wise = isinstance(computation, RowFormula)
    return Specification(
        operator,
        "onnx",
        str(version),
        operands,
        computation.inputs,
        computation.outputs[0],
        steps_of(computation, values),
        given,
        is_row_wise=is_row_wise,
        reduces=isinstance(computation, RowFormula) and computation.reduces,
        parameter_rule=FLOAT32_PARAMETERS,
        bind=kernel_of(operator, computation, values),
    )


def kernel_of(name: str, computation: Any, values: tuple[float, ...]) -> Any:
    """Ogive's own kernel, made when it is first called."""
    made: list[Any] = []

    def call(*arrays: np.ndarray) -> np.ndarray:
        if not made:
            made.append(make_ufunc(name, computation, values))
        result: np.ndarray = made[0](*arrays)
        return result

    return call


def steps_of(computation: Any, values: tuple[float, ...]) -> tuple[FormulaStep, ...]:
    """A computation of the engine as steps, each rounded to its element type."""
    if isinstance(computation, Fused):
        steps: list[FormulaStep] = []
        taken = 0
        for part, operands in computation.steps:
            count = part.parameter_count
            (step,) = steps_of(part, values[taken : taken + count])
            steps.append(step._replace(operands=operands))
            taken += count
        return tuple(steps)
    assert isinstance(computation, Formula | RowFormula), computation
    if len(computation.roots) != 1:
        raise UnsupportedError(message("ogive.golden", f"a formula has {len(computation.roots)} results", "one"))
    (root,) = computation.roots
    bound = dict(getattr(computation, "bound", ()))
    kinds = (*computation.inputs, *computation.outputs)
    in_single = all(kind.computes_in == "float32" for kind in kinds)
    numbers: dict[str, float] = {}
    for node in walk(root):
        if node.operation == "parameter":
            position, name = node.attribute
            value = bound[name] if name in bound else values[position]
            numbers[name] = float(np.float32(value)) if in_single else float(value)
    of_integers = not any(kind.is_float for kind in kinds)
    modular = of_integers and bool(getattr(computation, "modular", False))
    return (FormulaStep(root, tuple(range(len(computation.inputs))), numbers, computation.outputs[0], modular),)
