"""docs/accuracy.md says what was measured, what was measured keeps the goals, and it is still what is computed."""

import importlib.util
import json
import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from ogive.catalog import OPERATORS
from ogive.common.dtypes import FLOATS, element_type
from ogive.laboratory.accuracy import ErrorReport, fingerprint, sweep
from ogive.laboratory.accuracy.misrounded import digest_of_results
from ogive.laboratory.accuracy.report import load

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")
RESULTS = ROOT / "accuracy" / "results"
OWN = load(RESULTS / "ogive.csv")
OF_PEERS = {path.stem: load(path) for path in sorted(RESULTS.glob("*.csv")) if path.stem != "ogive"}
HALVES = {name: report for name, report in OWN.items() if name.endswith("float16") and report.inputs == "every input"}

COUNTS = json.loads((ROOT / "accuracy" / "misrounded.json").read_text(encoding="utf-8"))
EVERY_FLOAT32 = json.loads((ROOT / "accuracy" / "float32.json").read_text(encoding="utf-8"))
PAIRS = json.loads((ROOT / "accuracy" / "pairs.json").read_text(encoding="utf-8"))

MEASURE_AGAIN = "measure it again: ogive accuracy {} --save accuracy/results; then python accuracy/make_document.py"


def loaded(name):
    specification = importlib.util.spec_from_file_location(name, ROOT / "accuracy" / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def script():
    return loaded("make_document")


def test_there_are_measurements():
    assert OWN
    assert OF_PEERS
    assert all(OF_PEERS.values())
    assert HALVES


def test_every_float32_is_counted():
    """Rows of the operators that people ask for first."""
    counted = {row["operator"] for row in EVERY_FLOAT32}
    assert counted >= {"exp", "sigmoid", "tanh", "softplus", "mish", "celu", "elu", "selu", "erf", "log"}
    assert {row["count"] for row in EVERY_FLOAT32} == {1 << 32}


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("row", EVERY_FLOAT32, ids=lambda row: f"{row['operator']} {row['parameters']}")
def test_no_float32_is_misrounded(row):
    op = OPERATORS.get(row["operator"])
    assert row["misrounded"] == row["undecided"] == 0
    if op is not None:  # a derivative is none of the catalogue
        assert fingerprint(op, element_type("float32"), row["parameters"]) == row["fingerprint"], (
            "count again: python accuracy/count_float32.py; then python accuracy/make_document.py"
        )


@pytest.mark.parametrize("name", loaded("count_float32").MAIN)
def test_the_main_kernels_compute_what_was_counted(name):
    """Every 4,099th bit pattern is tried in each run."""
    (row,) = (row for row in EVERY_FLOAT32 if row["operator"] == name and not row["parameters"])
    digest = digest_of_results(OPERATORS[name], element_type("float32"), {}, loaded("count_float32").STRIDE)
    assert digest == row["strided"], (
        f"python accuracy/count_float32.py --digests {name} says whether other results are new"
    )


def test_the_document_is_made_of_the_measurements(script):
    expected = script.document()
    assert script.DOCUMENT.read_text(encoding="utf-8") == expected, "run: python accuracy/make_document.py"


def test_the_picture_is_made_of_the_measurements(script):
    assert script.picture_digest() in script.PICTURE.read_text(encoding="utf-8"), (
        "run: python accuracy/make_document.py"
    )


def test_every_operator_of_one_tensor_is_measured_in_every_type():
    for op in OPERATORS.values():
        for kind in FLOATS:
            is_there = any({t.name for t in (*s.inputs, *s.outputs)} == {kind.name} for s in op.signatures)
            if op.inputs == 1 and is_there:
                found = [report for report in OWN.values() if (report.operator, report.dtype) == (op.name, kind.name)]
                assert found, MEASURE_AGAIN.format(f"{op.name} --dtype {kind.name}")


@pytest.mark.parametrize("report", OWN.values(), ids=OWN)
def test_the_goals_are_kept(report, script):
    assert report.by == "ogive"
    assert sum(report.histogram) == report.count
    assert 0 <= report.worst <= script.goal(report)


@pytest.mark.matrix(share=16)
@pytest.mark.parametrize("report", OWN.values(), ids=OWN)
def test_operators_compute_what_was_measured(report):
    found = fingerprint(OPERATORS[report.operator], element_type(report.dtype), report.parameters)
    assert found == report.fingerprint, MEASURE_AGAIN.format(report.operator)


def test_every_operator_of_one_tensor_is_counted_in_16_bits():
    counted = {(count["operator"], count["dtype"]) for count in COUNTS}
    wanted = [
        (op.name, dtype)
        for op in OPERATORS.values()
        for dtype in ("float16", "bfloat16")
        if op.inputs == 1 and not op.is_row_wise
        if any({*s.inputs, *s.outputs} == {element_type(dtype)} for s in op.signatures)
    ]
    assert len(wanted) > 60
    assert set(wanted) <= counted


@pytest.mark.matrix(share=9)
@pytest.mark.parametrize(
    "count", COUNTS, ids=lambda count: f"{count['operator']}-{count['dtype']}-{count['parameters']}"
)
def test_operators_compute_what_was_counted(count):
    found = fingerprint(OPERATORS[count["operator"]], element_type(count["dtype"]), count["parameters"])
    assert found == count["fingerprint"], (
        "count again: python accuracy/count_misrounded.py; then python accuracy/make_document.py"
    )


@pytest.mark.matrix(share=16)
@pytest.mark.parametrize("kept", HALVES.values(), ids=HALVES)
def test_measuring_again_gives_the_same(kept):
    report = sweep(OPERATORS[kept.operator], element_type(kept.dtype), kept.parameters)
    assert report.digest == kept.digest
    assert report.count == 65536
    # The reference's last bits are those of the machine's C library.
    assert report.worst == pytest.approx(kept.worst, abs=1e-6)
    assert report.misrounded == kept.misrounded


@pytest.mark.parametrize("peer", OF_PEERS)
def test_peers_are_measured_like_ogive(peer):
    assert {report.by.split()[0] for report in OF_PEERS[peer].values()} == {peer}
    assert OF_PEERS[peer].keys() <= OWN.keys()


def test_the_program_of_the_document_runs():
    (program,) = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    names = {}
    exec(compile(program, "docs/accuracy.md", "exec"), names)
    report = names["report"]
    assert (report.by, report.count) == ("my_gelu", 1 << 16)
    assert report.worst > 1  # it computes in float16


def test_every_member_of_a_report_is_documented():
    (table,) = re.findall(r"`reports`, a list of\n\n(.*?)\n\n", TEXT, re.DOTALL)
    cells = [line.split("|")[1] for line in table.splitlines()[2:]]
    assert {name for cell in cells for name in re.findall(r"`(\w+)`", cell)} == {f.name for f in fields(ErrorReport)}


def test_pairs_were_counted():
    assert {row["operator"] for row in PAIRS} >= {"pow", "div", "atan2", "hypot", "prelu", "logaddexp"}


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("row", PAIRS, ids=lambda row: row["operator"])
def test_no_pair_is_misrounded(row):
    assert row["misrounded"] == row["undecided"] == 0
    assert row["count"] == row["rounds"] * 1_000_000 > 0
    assert fingerprint(OPERATORS[row["operator"]], element_type("float32")) == row["fingerprint"], (
        "count again: python accuracy/count_pairs.py"
    )


# ---- the table of derivatives in docs/tables/derivatives.md is what accuracy/measure_derivatives.py has measured


@pytest.fixture(scope="module")
def derivatives():
    return loaded("measure_derivatives")


def test_the_page_has_the_table_of_derivatives(derivatives):
    results = json.loads(derivatives.RESULTS.read_text())
    assert [*results["operators"]] == [*derivatives.PEERS]
    assert derivatives.BEGIN + derivatives.table(results) + derivatives.END in derivatives.PAGE.read_text()


@pytest.mark.matrix(share=16, pool="slow")
def test_ours_are_correctly_rounded_where_they_were_worst(derivatives):
    results = json.loads(derivatives.RESULTS.read_text())["operators"]
    for name, rows in results.items():
        assert rows["Ogive"]["largest"] <= 0.5, name
        for row in rows.values():
            x = np.array([row["at"]])
            assert x.astype(np.float32) == x
            error = derivatives.error_in_ulp(
                derivatives.of_ogive(name)(x.astype(np.float32)), derivatives.of_ogive(name)(x), "float32"
            )
            assert error <= 0.5, name
