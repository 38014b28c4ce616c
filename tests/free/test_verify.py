"""The rules, on graphs that break each of them; and every pass keeps graphs well-formed."""

import pytest

from ogive.expression import OPERATIONS, Format, node
from ogive.passes.fold import fold
from ogive.passes.fuse import fuse
from tests.inputs import CASE_IDS, CASES, OF_ROWS, named, parameter_sets
from tests.verify import MalformedGraph, verify

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
        ("primitive", node("constant", (), 1, Format.F32)),
        ("formula", node("constant", (), 1.5, Format.NUMBER)),
        ("formula", node("and", (number, node("less", (number, number), None, Format.TRUTH)), None, Format.NUMBER)),
    ],
)
def test_malformed_graphs_are_named(stage, bad):
    with pytest.raises(MalformedGraph, match=f"{stage} graph: {bad.operation}|no operation '{bad.operation}'"):
        verify(bad, stage=stage)


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
    verify(*program.roots, stage="primitive")


@pytest.mark.matrix("op.name")
@pytest.mark.parametrize(("op", "signature"), CASES, ids=CASE_IDS)
def test_passes_keep_graphs_well_formed(op, signature):
    integers = not any(t.is_float for t in signature.inputs)
    roots = op.formula(for_integers=integers)
    verify(*roots, stage="formula")
    verify(*map(fold, roots), stage="formula")
    verify(*op.program(signature).results, stage="primitive")
    for parameters in parameter_sets(op):
        program = op.program(signature, **op.checked_parameters(parameters))
        verify(*program.results, stage="primitive")
        if program.fast_path is not None:
            verify(program.fast_path.magnitude, program.fast_path.limit, *program.fast_path.results, stage="primitive")
        fused = fuse(program.inputs, [(program, list(range(len(program.inputs))))], [len(program.inputs)])
        verify(*fused.results, stage="primitive")
