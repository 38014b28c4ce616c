"""Specifications of operators of whole arrays, whose golden data are calls: inputs, and results by the rules.

They are what has no formula for each element or row: moved elements, casts of small types, reductions of integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, cast

import numpy as np
import onnx
from onnx import helper

from ogive.common.dtypes import ElementType
from ogive.errors import UnsupportedError, message
from ogive.golden.normal_rules import NORMAL_ATTRIBUTES, NORMAL_RULES, TRAINING_RULES
from ogive.golden.onnx_values import container_calls, element_of, name_of_type, tensor_of, type_of
from ogive.golden.reference_rules import REFERENCE_ATTRIBUTES, REFERENCE_RULES
from ogive.golden.requests import Request, drawn
from ogive.golden.specification import Call, Specification, WholeSpecification
from ogive.golden.whole_rules import ATTRIBUTES, RULES
from ogive.onnx import schemas
from ogive.onnx.data_types import DATA_TYPES

#: Normalisations of rows, whose scales and biases lie as the standard has them.
NORMALISATIONS = frozenset(NORMAL_RULES)

_RULES = REFERENCE_RULES | RULES | NORMAL_RULES | TRAINING_RULES
_ATTRIBUTES = REFERENCE_ATTRIBUTES | ATTRIBUTES | NORMAL_ATTRIBUTES


@dataclass(frozen=True)
class SmallType:
    """An element type that kernels do not compute with, with what golden data ask of an `ElementType`."""

    name: str
    kind: str
    bits: int
    numpy: np.dtype

    @property
    def is_float(self) -> bool:
        return self.kind == "float"


def _element(kind: str) -> ElementType:
    """The type of a value. A sequence or an optional value has one too, with a name for files."""
    row = element_of(kind)
    assert row is not None, kind
    if kind not in DATA_TYPES:
        return cast(ElementType, SmallType(name_of_type(kind), "container", row.bits, row.numpy))
    words = {"S": "text", "C": "complex", "U": "unsigned", "I": "signed"}
    small = SmallType(row.dtype.rstrip("_"), words.get(row.name[0], "float"), row.bits, row.numpy)
    return row.element or cast(ElementType, small)


def of_whole(operator: str, version: int, types: Mapping[str, str], attributes: Mapping[str, Any]) -> Specification:
    """The specification of a version of an operator of ONNX that computes whole arrays.

    Raises UnsupportedError for operators that have no rule, and for types that no rule has, such as maps; and on the way, for
    attributes that the inputs do not fit.
    """
    schema = schemas.schema_of(operator, version)
    if schema is None or operator not in _RULES:
        raise UnsupportedError(message(operator, "golden data has no rule of it", ", ".join(sorted(_RULES))))
    is_many = schema.max_input > len(schema.inputs)
    formal = list(schema.inputs) * (2 if is_many else 1)
    if operator == "Split" and (version == 1 or "num_outputs" in schema.attributes):
        formal = formal[:1]
    names = tuple(p.name if not is_many else f"{p.name}_{i}" for i, p in enumerate(formal))
    input_types = tuple(types.get(p.type_str, p.type_str) for p in formal)
    result_types = tuple(types.get(o.type_str, o.type_str) for o in schema.outputs)
    result = result_types[0]
    others = [kind for kind in (*input_types, result) if kind not in DATA_TYPES]
    if others and (operator != "Identity" or element_of(result) is None):
        raise UnsupportedError(message(operator, f"a value is {others[0]}", "tensors, and of Identity sequences too"))
    chosen = _attributes(operator, schema, names, types, result) | dict(attributes)
    results = tuple(o.name for o in schema.outputs)
    if operator == "Split":
        results, result_types = ("first", "second"), result_types * 2
    if len(results) == 1 or operator == "Dropout":
        results, result_types = ("result",), (result,)
    spec = WholeSpecification(
        operator,
        "onnx",
        str(version),
        names,
        tuple(map(_element, input_types)),
        _element(result),
        (),
        chosen,
        parameter_rule="there are no parameters" if others else "attributes are those of the model",
        results=results,
        input_types=input_types,
        result_types=result_types,
    )
    every = {**schemas.default_values(operator, version), **chosen}
    reference = _made_when_called(lambda: _reference_of(spec))

    def calls(seed: int) -> Iterator[Call]:
        kinds = {name: DATA_TYPES[kind] for name, kind in zip(names, input_types, strict=True)}
        generator = np.random.default_rng(seed)
        request = Request(operator, version, kinds, DATA_TYPES[result], every, generator, reference)
        try:
            yield from _RULES[operator](request)
        except (IndexError, ValueError) as error:
            what = f"the inputs of its golden data have no result with the attributes {chosen}"
            reason = f"The rule says: {error}"
            raise UnsupportedError(message(operator, what, "attributes that fit their shapes", reason)) from error

    kernel = _made_when_called(lambda: _kernel_of(spec))
    return replace(spec, calls=partial(container_calls, result) if others else calls, bind=kernel)


def _attributes(
    operator: str, schema: onnx.defs.OpSchema, names: tuple[str, ...], types: Mapping[str, str], result: str
) -> dict[str, Any]:
    """The attributes of the node: those of the tables, and those that say the type of a result."""
    chosen = {n: v for n, v in _ATTRIBUTES.get(operator, {}).items() if n in schema.attributes and n not in names}
    if result not in DATA_TYPES:
        return chosen
    output = DATA_TYPES[result]
    if operator in ("Constant", "ConstantOfShape"):
        shape = (1,) if operator == "ConstantOfShape" else (2, 3)
        chosen["value"] = drawn(output, shape, np.random.default_rng(4))
    if operator in ("BitCast", "Cast"):
        chosen["to"] = output.name if schema.since_version == 1 else output.number
    if operator == "LayerNormalization":
        chosen["stash_type"] = DATA_TYPES[types[schema.outputs[1].type_str]].number
    if operator == "EyeLike":
        chosen["dtype"] = output.number
    if operator == "DequantizeLinear" and "output_dtype" in schema.attributes:
        chosen["output_dtype"] = output.number
    return chosen


def model_of_whole(spec: WholeSpecification) -> onnx.ModelProto:
    """A model of one node, for tensors of any shape."""
    given = spec.parameters.items()
    attributes = {name: tensor_of(x, name) if isinstance(x, np.ndarray) else x for name, x in given}
    node = helper.make_node(spec.operator, list(spec.tensors), list(spec.results), **attributes)

    def info(name: str, kind: str) -> onnx.ValueInfoProto:
        return helper.make_value_info(name, type_of(kind))

    graph = helper.make_graph(
        [node],
        spec.operator.lower(),
        [info(*each) for each in zip(spec.tensors, spec.input_types, strict=True)],
        [info(*each) for each in zip(spec.results, spec.result_types, strict=True)],
    )
    opset = helper.make_opsetid("", int(spec.version))
    return helper.make_model(
        graph, opset_imports=[opset], ir_version=helper.find_min_ir_version_for([opset], ignore_unknown=True)
    )


def _made_when_called(make: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    made = cache(make)
    return lambda *arrays: made()(*arrays)


def _kernel_of(spec: WholeSpecification) -> Callable[..., Any]:
    """Ogive's own results, by a model of one node."""
    from ogive.onnx.model import load

    return load(model_of_whole(spec))


def _reference_of(spec: WholeSpecification) -> Callable[..., tuple[np.ndarray, ...]]:
    """The results of ONNX's reference implementation, with text in arrays of objects."""
    from onnx.reference import ReferenceEvaluator

    reference = ReferenceEvaluator(model_of_whole(spec))

    def call(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        found = cast(list[np.ndarray], reference.run(None, dict(zip(spec.tensors, arrays, strict=True))))
        return tuple(np.array(x, object if x.dtype.kind == "U" else x.dtype, order="C") for x in found)

    return call
