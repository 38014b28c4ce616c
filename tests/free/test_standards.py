"""The table of standards says what formulas' own names do not, and nothing twice."""

import pytest

from ogive.catalog import OPERATORS
from ogive.catalog.standards import OF_TERMS, TABLE, StandardRow, counterpart, row_of, rows
from ogive.webnn.operator_table import OPERATORS as WEBNN

LISTED = [(standard, name) for standard, listed in TABLE.items() for name in listed]
assert len(LISTED) > 70


@pytest.mark.parametrize(("standard", "name"), LISTED)
def test_a_row_is_about_a_formula(standard, name):
    found = rows(standard, name)
    assert found
    for row in found:
        known = {p.name: p for p in row.operator.parameters}
        assert all(value in known[choice].choices for choice, value in row.choices.items())
        assert all(own in {*known, *row.operator.tensors} for own in row.renamed.values())
        assert not set(row.when) & set(row.renamed)


@pytest.mark.parametrize(("standard", "name"), LISTED)
def test_no_row_says_what_the_formula_says(standard, name):
    """A formula that carries the name needs a row only for what is irregular."""
    listed = TABLE[standard][name]
    if standard != "webnn":
        carriers = [op.name for op in OPERATORS.values() if getattr(op, standard) == name]
        assert all(row.formula not in carriers for row in listed)
        assert listed != (StandardRow(),)
        assert carriers or all(row.formula for row in listed)


def test_a_name_stands_for_one_formula():
    for standard in ("onnx", "directml"):
        names = [getattr(op, standard) for op in OPERATORS.values() if getattr(op, standard)]
        assert len(names) == len(set(names)) > 60


def test_webnn_has_formulas_for_what_is_computed_element_by_element():
    assert TABLE["webnn"].keys() <= WEBNN.keys()
    elements = {name for name, row in WEBNN.items() if row.kind == "elements"}
    assert len(elements) > 40
    assert elements <= TABLE["webnn"].keys()
    for name in elements:
        row = row_of("webnn", name)
        assert len(row.operator.tensors) == len(WEBNN[name].operands)
        assert set(WEBNN[name].options) <= {p.name for p in row.operator.numeric_parameters}


def test_members_decide_between_rows():
    left, right = (row_of("onnx", "BitShift", {"direction": d}) for d in ("LEFT", "RIGHT"))
    assert (left.formula, right.formula) == ("bit_shift_left", "bit_shift_right")
    assert row_of("onnx", "BitShift", {"direction": "UP"}) is None
    assert row_of("onnx", "MatMul") is None
    assert rows("directml", "GEMM") == rows("webnn", "matmul") == ()


def test_members_have_names_of_ours():
    assert counterpart("directml", "ACTIVATION_SWISH", "SigmoidInputScale") == "alpha"
    assert counterpart("directml", "ACTIVATION_ELU", "Alpha") == "alpha"
    assert counterpart("directml", "GEMM", "TransA") == "trans_a"


def test_sums_of_terms_are_no_rows():
    """An operator that is one formula of any number of terms is not the formula of two, one after the other."""
    assert OF_TERMS
    assert not OF_TERMS.keys() & TABLE["onnx"].keys()
