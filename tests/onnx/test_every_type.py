"""Every type of every version of every operator, made from ONNX's schemas: it loads, runs and gives what is right."""

import ml_dtypes  # noqa: F401  (registers bfloat16)
import numpy as np
import pytest

import ogive.onnx
from ogive.catalog.standards import row_of
from ogive.errors import UnsupportedError
from tests.inputs import same_bits
from tests.onnx.models import ACTIVATIONS, SCHEMAS, SCOPE, node_model
from tests.onnx.recipes import RECIPES, from_catalogue

#: (schema, type parameter, type), for every type that a schema allows.
TRIPLES = [
    (schema, constraint.type_param_str, kind)
    for schema in SCHEMAS
    for constraint in schema.type_constraints
    for kind in sorted(constraint.allowed_type_strs)
]
IDS = [f"{schema.name}-{schema.since_version}-{parameter}-{kind}" for schema, parameter, kind in TRIPLES]


def test_the_schemas_are_there():
    assert {schema.name for schema in SCHEMAS} == SCOPE
    assert sum(schema.name in ACTIVATIONS for schema in SCHEMAS) >= 57
    assert len(TRIPLES) > 3000


@pytest.mark.matrix("schema.name", share=5)
@pytest.mark.parametrize(("schema", "parameter", "kind"), TRIPLES, ids=IDS)
def test_type(schema, parameter, kind):
    types = {c.type_param_str: other_type(c.allowed_type_strs, kind, schema) for c in schema.type_constraints}
    types[parameter] = kind
    case = RECIPES.get(schema.name, from_catalogue)(schema, types)
    inputs = [(name, value if isinstance(value, np.ndarray) else kind) for name, value in case.inputs.items()]
    model = node_model(schema.name, schema.since_version, inputs, case.attributes, case.outputs)
    if lacks(schema) and not is_a_function_of_what_there_is(model):
        with pytest.raises(
            UnsupportedError, match=rf"^{schema.name} node .*\(opset {schema.since_version}\): .*{schema.name}"
        ):
            ogive.onnx.load(model)
        return
    loaded = ogive.onnx.load(model)
    if lacks(schema):
        return
    first, second = loaded(case.inputs), loaded(case.inputs)
    if isinstance(case.expected, list):
        assert all(map(same_bits, first, case.expected))
        assert not any(map(np.shares_memory, first, case.expected))
        return
    case.check(first)
    assert first.dtype == object or same_bits(first, second)


def other_type(allowed, kind, schema):
    """The type of another parameter of the schema."""
    same = kind in allowed and schema.name not in ("Cast", "CastLike")
    return kind if same else "tensor(float)" if "tensor(float)" in allowed else min(allowed)


def lacks(schema):
    """Whether the catalogue has not got what the operator needs."""
    if schema.name in RECIPES and schema.name not in {"Clip", "Max", "Min", "Equal", "IsInf", "IsNaN", "Where"}:
        return False
    return row_of("onnx", schema.name) is None


def is_a_function_of_what_there_is(model):
    try:
        ogive.onnx.load(model)
    except UnsupportedError:
        return False
    return True


def test_what_is_computed_comes_from_the_model_alone():
    """The inputs stay as they are, and results share no memory with them."""
    x = np.float32([-1, 2])
    y = ogive.onnx.load(node_model("Identity", 14, [("x", x)]))(x=x)
    assert y.tolist() == x.tolist()
    assert not np.shares_memory(x, y)
