"""A model loads exactly where Ogive says so."""

from pathlib import Path

import pytest

import ogive.onnx
from ogive.catalog import standards
from ogive.errors import UnsupportedError
from ogive.onnx.data_types import DATA_TYPES
from tests.onnx.models import ACTIVATIONS, SCHEMAS, SCOPE, node_model
from tools.onnx_table import markdown

ROWS = ogive.onnx.supported()


def test_rows_are_in_order_and_in_scope():
    keys = [(row.operator, row.version) for row in ROWS]
    assert keys == sorted(set(keys))
    assert {operator for operator, _ in keys} <= SCOPE
    assert ("Celu", 12) in keys
    assert ("Cast", 28) in keys


def test_every_version_of_what_there_is():
    there = {row.operator for row in ROWS}
    assert {(row.operator, row.version) for row in ROWS} == {
        (s.name, s.since_version) for s in SCHEMAS if s.name in there
    }


@pytest.mark.matrix("row.operator")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.operator}-{row.version}")
def test_every_type_of_the_schema_is_listed_once(row):
    (schema,) = (s for s in SCHEMAS if (s.name, s.since_version) == (row.operator, row.version))
    for constraint in schema.type_constraints:
        name = constraint.type_param_str
        assert sorted(row.types[name] + row.refused[name]) == sorted(constraint.allowed_type_strs)
    assert row.is_complete == (not any(row.refused.values()))
    assert row.is_complete


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.operator in ACTIVATIONS], ids=lambda r: f"{r.operator}-{r.version}"
)
def test_what_is_listed_loads(row):
    (schema,) = (s for s in SCHEMAS if (s.name, s.since_version) == (row.operator, row.version))
    for kind in row.types["T"]:
        ogive.onnx.load(node_model(row.operator, row.version, [(p.name, kind) for p in schema.inputs]))


def test_what_is_not_listed_is_refused():
    missing = sorted(SCOPE - {row.operator for row in ROWS})
    for schema in SCHEMAS:
        if schema.name in missing and not (schema.has_function or schema.has_context_dependent_function):
            kinds = {c.type_param_str: sorted(c.allowed_type_strs)[0] for c in schema.type_constraints}
            inputs = [(p.name, kinds.get(p.type_str, p.type_str)) for p in schema.inputs]
            with pytest.raises(
                UnsupportedError, match=f"Ogive has no operator {schema.name} .opset {schema.since_version}"
            ):
                ogive.onnx.load(node_model(schema.name, schema.since_version, inputs))


@pytest.mark.matrix(share=16, pool="slow")
def test_a_new_operator_of_the_catalogue_is_there_at_once(monkeypatch):
    """Operators are found by ONNX's name: nothing here lists them."""
    from ogive.catalog import OPERATORS
    from ogive.formula import absolute

    @ogive.operator(onnx="HardSwish")
    def strange(x):
        """Not what HardSwish is."""
        return absolute(x)

    ogive.onnx.node_support.supported.cache_clear()
    standards.rows.cache_clear()
    others = {name: op for name, op in OPERATORS.items() if op.onnx != "HardSwish"}
    monkeypatch.setattr(standards, "OPERATORS", others | {"strange": strange})
    try:
        assert [r.version for r in ogive.onnx.supported() if r.operator == "HardSwish"] == [14, 22]
        assert ogive.onnx.load(node_model("HardSwish", 14, [("x", "tensor(float16)")])).inputs[0].dtype == "float16"
    finally:
        ogive.onnx.node_support.supported.cache_clear()
        standards.rows.cache_clear()


def test_types_of_onnx():
    assert len(DATA_TYPES) >= 26
    for kind, row in DATA_TYPES.items():
        assert kind == row.type == f"tensor({row.text})"
        assert row.numpy.itemsize * 8 >= row.bits
        assert row.element is None or row.element.numpy == row.numpy


# ---- the table in the documentation is what loading says


PAGE = Path(__file__).resolve().parents[2] / "docs" / "tables" / "onnx.md"


@pytest.mark.matrix(share=16, pool="slow")
def test_the_table_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == markdown(), "run: make pages"


def test_rows():
    lines = markdown().splitlines()
    assert "| Relu | 1, 6 | float, double, float16 |  |" in lines
    assert "| Relu | 13 | floats |  |" in lines
    assert "| Relu | 14 | floats, signed |  |" in lines
