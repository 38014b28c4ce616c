"""The rules, on graphs that break each of them; and every pass keeps graphs well-formed."""

import pytest

from ogive.common.dtypes import ELEMENT_TYPES
from ogive.graph.expression import OPERATIONS, Format, node
from ogive.lowering.fold import fold
from ogive.lowering.fuse import fuse
from ogive.lowering.program import Program, Reduction, Stage
from tests.inputs import CASE_IDS, CASES, OF_ROWS, named, parameter_sets
from tests.verify import MalformedGraph, verify, verify_program

number = node("input", (), 0, Format.NUMBER)
single = node("input", (), 0, Format.F32)
double = node("input", (), 1, Format.F64)
whole = node("input", (), 2, Format.I32)
bit = node("less", (single, single), None, Format.BIT)


@pytest.mark.parametrize(
    ("stage", "bad"),
    [
        ("formula", single),
        ("primitive", number),
        ("formula", node("nonsense", (number,), None, Format.NUMBER)),
        ("formula", node("fma", (number, number, number), None, Format.NUMBER)),
        ("primitive", node("exp", (single,), None, Format.F32)),
        ("primitive", node("add", (single,), None, Format.F32)),
        ("primitive", node("add", (single, double), None, Format.F64)),
        ("primitive", node("add", (bit, bit), None, Format.BIT)),
        ("primitive", node("divide", (whole, whole), None, Format.I32)),
        ("primitive", node("select", (single, single, single), None, Format.F32)),
        ("primitive", node("select", (bit, single, double), None, Format.F64)),
        ("primitive", node("less", (single, double), None, Format.BIT)),
        ("primitive", node("shift_left", (whole,), 32, Format.I32)),
        ("primitive", node("bitcast", (single,), None, Format.F64)),
        ("primitive", node("convert", (double,), None, Format.F16)),
        ("primitive", node("table", (whole,), (0.5,) * 9, Format.F32)),
        ("primitive", node("table", (whole,), (0.1,) * 8, Format.F32)),
        ("primitive", node("table", (single,), (0.5,) * 8, Format.F32)),
        ("primitive", node("reciprocal_estimate", (double,), None, Format.F64)),
        ("primitive", node("constant", (), 1, Format.F32)),
        ("formula", node("constant", (), 1.5, Format.NUMBER)),
        ("formula", node("and", (number, node("less", (number, number), None, Format.TRUTH)), None, Format.NUMBER)),
    ],
)
def test_malformed_graphs_are_named(stage, bad):
    with pytest.raises(MalformedGraph, match=f"{stage} graph: {bad.operation}|no operation '{bad.operation}'"):
        verify(bad, stage=stage)


def test_results_that_depend_on_the_machine_are_named():
    """An estimate's bits differ, so that only a test of what was made of it may let it into results."""
    estimate = node("reciprocal_estimate", (single,), None, Format.F32)
    result = node("multiply", (estimate, estimate), None, Format.F32)
    kind, other = ELEMENT_TYPES["float32"], node("equal", (single, single), None, Format.BIT)
    test = node("less", (result, single), None, Format.BIT)
    verify_program(Program((kind,), (kind,), (result,), undecided=test))
    for undecided in (None, other):
        program = Program((kind,), (kind,), (result,), undecided=undecided)
        with pytest.raises(MalformedGraph, match="results depend on reciprocal_estimate, which no rounding test sees"):
            verify_program(program)
    stage = Stage((Reduction("row_max", result),))
    with pytest.raises(MalformedGraph, match="numbers of a row depend on reciprocal_estimate"):
        verify_program(Program((kind,), (kind,), (single,), (stage,)))


def test_subnormal_constants_are_named():
    """As operands of products they take some processors a hundred cycles."""
    for name, form, size in (("float32", Format.F32, 2.0**-140), ("float32", Format.F64, 2.0**-1070)):
        kind, x = ELEMENT_TYPES[name], node("input", (), 0, form)
        tiny, half = (node("constant", (), value, form) for value in (size, 0.5))
        bad = node("fma", (x, x, tiny), None, form), node("multiply", (x, tiny), None, form)
        for each in (*bad, node("divide", (tiny, x), None, form)):
            with pytest.raises(MalformedGraph, match="has the subnormal constant"):
                verify_program(Program((kind,), (kind,), (each,)))
        for each in (node("add", (x, tiny), None, form), node("multiply", (tiny, half), None, form)):
            verify_program(Program((kind,), (kind,), (each,)))


def test_every_operation_has_a_rule_at_each_of_its_stages():
    for row in OPERATIONS.values():
        assert (row.in_formulas is not None) == (row.stages in ("formula", "both")), row
        assert (row.in_programs is not None) == (row.stages in ("primitive", "both")), row


@pytest.mark.matrix("op.name")
@pytest.mark.parametrize(("op", "signature"), OF_ROWS, ids=named(OF_ROWS))
def test_stages_of_rows_are_well_formed(op, signature):
    verify(*op.formula(), stage="formula")
    program = op.program(signature)
    assert program.stages
    verify_program(program)


@pytest.mark.matrix("op.name", share=3)
@pytest.mark.parametrize(("op", "signature"), CASES, ids=CASE_IDS)
def test_passes_keep_graphs_well_formed(op, signature):
    integers = not any(t.is_float for t in signature.inputs)
    roots = op.formula(for_integers=integers)
    verify(*roots, stage="formula")
    verify(*map(fold, roots), stage="formula")
    verify_program(op.program(signature))
    for parameters in parameter_sets(op):
        program = op.program(signature, **op.checked_parameters(parameters))
        verify_program(program)
        fused = fuse(program.inputs, [(program, list(range(len(program.inputs))))], [len(program.inputs)])
        verify_program(fused)
