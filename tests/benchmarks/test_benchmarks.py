"""The benchmark names operators that exist, and its document has a place for all that it measures. No time is tested."""

import gc
import inspect
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import ogive
from benchmarks import cliffs, figures, report
from benchmarks.__main__ import main
from benchmarks.cases import ARRAY_SECTIONS, SIZES, cases
from benchmarks.kernels import current, digest_of
from benchmarks.model_peers import MODEL_PEERS, exact_results
from benchmarks.models import MODEL_SIZES, MODELS, ModelCase, model_cases
from benchmarks.peers import PEERS, prepare
from benchmarks.price import BUILT, Checkout, compared, doubles
from benchmarks.startup import CALLS, SECTIONS
from benchmarks.tables import SHORT, best_peer, duration, geometric_mean, ratio, size_name, tables
from ogive.backends.target import host_target, runnable_targets
from ogive.cli.deciding_levels import FAMILIES, drawn, signature_of
from ogive.laboratory.peers.expressions import JAX, NUMEXPR, ONNX, TORCH, TORCH_IN_PLACE, TORCH_INTO

DOCUMENT = Path(report.__file__).parent.parent / "docs/tables/performance.md"
ALL = {section: cases(section, (), (), 2) for section in ARRAY_SECTIONS}

#: Names that are no operator of their own in Ogive.
OTHERS = {"gelu_tanh", "chain"}


@pytest.mark.parametrize("section", ALL)
def test_cases_are_of_operators_that_exist(section):
    assert ALL[section]
    for case in ALL[section]:
        if case.operator not in OTHERS:
            op = ogive.catalog.OPERATORS[case.operator]
            assert case.names == op.tensors
            assert {name for name, _ in case.parameters} <= {p.name for p in op.parameters}
            assert case.dtype in {t.name for s in op.signatures for t in s.inputs}


def test_every_float32_operator_is_timed_at_every_size_in_and_out_of_place():
    seen = {(case.operator, case.elements, case.in_place) for case in ALL["float32"]}
    operators = {case.operator for case in ALL["float32"]}
    assert seen == {(name, size, in_place) for name in operators for size in SIZES for in_place in (False, True)}


@pytest.mark.parametrize("table", [TORCH, TORCH_INTO, TORCH_IN_PLACE, JAX, NUMEXPR, ONNX])
def test_peers_are_asked_for_nothing_that_is_not_timed(table):
    timed = {case.operator for section in ALL.values() for case in section} | {"shrink (soft)", "clip"}
    timed.add("logsumexp")  # the errors of peers are measured, not their speed
    assert table
    assert set(table) <= timed


@pytest.mark.parametrize("section", ["float32", "float16", "bfloat16", "int8", "layouts"])
def test_ogive_computes_every_case(section, threads):
    kept = ogive.get_num_threads()
    for case in cases(section, (), (64,), kept):
        if case.elements > 1 << 12:
            continue
        prepared = prepare_here(case)
        prepared.timer.timeit(1)
        assert prepared.result().shape == case.result_shape
        if prepared.restore is not None:
            prepared.restore()
            np.testing.assert_array_equal(prepared.result(), case.arrays()[0])


def prepare_here(case):
    """Without limiting this process to as many processors as the case has threads."""
    return PEERS["ogive"][1](case, case.arrays())


def test_preparing_is_what_a_contestant_does():
    assert "limit_threads" in inspect.getsource(prepare)


def row(section="float32", elements=16, in_place=False, **seconds):
    case = {"section": section, "operator": "softmax" if section == "softmax" else "celu", "dtype": "float32"}
    return {
        **case,
        "kernels": digest_of(case) if section in ("float32", "softmax") else "",
        "shapes": [[elements]],
        "elements": elements,
        "bytes": 8 * elements,
        "in_place": in_place,
        "layout": "contiguous",
        "seconds": seconds,
        "errors": {"ogive": 0.75, "torch": 2.25},
    }


def test_ratios_are_to_the_fastest_peer():
    one = row(ogive=2e-6, torch=6e-6, jax=4e-6, copyto=1e-7)
    assert best_peer(one) == "jax"
    assert ratio(one) == 2.0
    assert np.isnan(ratio(row(ogive=1e-6, copyto=1e-7)))
    assert geometric_mean([1, 4]) == 2.0


@pytest.mark.parametrize(
    ("seconds", "text"), [(8.4e-8, "84 ns"), (1.05e-6, "1.05 us"), (0.25, "250 ms"), (3, "3.00 s")]
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_sizes():
    assert [size_name(size) for size in SIZES] == ["16", "1 Ki", "64 Ki", "1 Mi", "16 Mi"]


def test_the_document_has_a_place_for_every_section():
    text = DOCUMENT.read_text()
    for name in (*ARRAY_SECTIONS, "models", "price", "cliffs", *SECTIONS, "machine", "summary", "picture"):
        assert text.count(f"<!-- begin {name} -->") == text.count(f"<!-- end {name} -->") == 1


def test_the_report_fills_the_document(tmp_path):
    rows = [row(ogive=1e-7, torch=3e-7, jax=9e-7), row(in_place=True, ogive=1e-7, torch=5e-8)]
    rows_of_softmax = [row("softmax", 64, ogive=1e-7, onnxruntime=5e-8, copyto=1e-8)]
    found = [
        measured("P", "x86-64-v4", float32=rows, softmax=rows_of_softmax),
        measured("Q", "x86-64-v3", float32=rows[:1]),
    ]
    file, document = tmp_path / "figures.json", tmp_path / "performance.md"
    figures.write(file, found)
    document.write_text(
        "a\n<!-- begin float32 -->\nold\n<!-- end float32 -->\n<!-- begin summary -->\n<!-- end summary -->\n"
    )
    for _ in range(2):  # twice the same
        result = CliRunner().invoke(report.main, ["--json", str(file), "--document", str(document)])
        assert result.exit_code == 0, result.output
        text = document.read_text()
        assert "old" not in text
        assert f"100 ns 3.00x {SHORT['torch']}" in text
        assert "| 16 elements | P, x86-64-v4 | 2 | 104 | 1.22 | 0.50 | 1 |" in text
        assert "| 16 elements | Q, x86-64-v3 | 1 | 104 | 3.00 | 3.00 | 0 |" in text
        assert text.count("**float32, out of place** (") == 2


def measured(processor, level, **sections):
    machine = {"processor": processor, "level": level, "python": "3", "date": "D"}
    return {"machine": machine, "versions": {"torch": "9"}, "threads": 2, "rounds": 5, "sections": sections}


def test_a_run_replaces_the_figures_of_its_own_processor_alone():
    before = [measured(*key, float32=[row(ogive=1e-7)]) for key in (("P", "v4"), ("P", "v3"), ("Q", "v4"))]
    now = measured(
        "P", "v3", float32=[row(ogive=2e-7), row(elements=64, ogive=3e-7)], softmax=[row("softmax", ogive=1e-6)]
    )
    after = figures.stored(before, now)
    assert [figures.title(one) for one in after] == ["P, v4", "P, v3", "Q, v4"]
    assert after[0] == before[0]
    assert after[2] == before[2]
    assert after[1]["sections"] == now["sections"]
    assert figures.stored(after, measured("R", "v4"))[:3] == after
    of_cliffs = measured("P", "v4", cliffs=[{"name": "relu", "dtype": "float32"}])
    again = figures.stored([of_cliffs], measured("P", "v4", cliffs=[{"name": "gelu", "dtype": "float32"}]))
    assert [each["name"] for each in again[0]["sections"]["cliffs"]] == ["gelu"]


def test_rows_that_have_become_worse_are_told():
    before = measured("P", "v4", float32=[row(ogive=1e-6, torch=1e-6), row(elements=64, ogive=1e-6, torch=1e-6)])
    now = measured(
        "P", "v4", float32=[row(ogive=2e-6, torch=1e-6, jax=1e-7), row(elements=64, ogive=1.2e-6, torch=1e-6)]
    )
    compared, worse = figures.worse(now, before)
    assert compared == 2  # and JAX, which did not take part before, does not count
    assert [(each["elements"], then, today) for each, then, today in worse] == [(16, 1.0, 0.5)]
    assert figures.worse(now, figures.of_processor([before], measured("P", "v3")["machine"])) == (0, [])


def test_the_file_keeps_what_it_is_given(tmp_path):
    found = [measured("P", "v4", float32=[row(ogive=1e-7)]), measured("Q", "v4")]
    figures.write(tmp_path / "figures.json", found)
    assert figures.read(tmp_path / "figures.json") == found
    assert figures.read(tmp_path / "none.json") == []


def test_processors_without_a_number_are_told_by_family_and_model(monkeypatch):
    facts = {"model name": "Some Processor", "cpu family": "26", "model\t": "2"}
    monkeypatch.setattr(figures, "cpuinfo", lambda key: facts.get(key, ""))
    assert figures.processor() == "Some Processor, family 26, model 2"
    facts["model name"] = "Some Processor 7950X"
    assert figures.processor() == "Some Processor 7950X"


@pytest.mark.matrix(share=16, pool="slow")
def test_a_quick_run_needs_no_peer_and_says_which_are_missing(monkeypatch):
    """Ogive computes one small array. The level below has contestants of its own."""
    monkeypatch.setattr("benchmarks.__main__.installed", lambda peers: (["ogive"], ["torch", "jax"]))
    monkeypatch.setattr("benchmarks.__main__.installed_for_models", lambda: (["ogive"], ["onnxruntime"]))
    result = CliRunner().invoke(
        main, ["--quick", "--operator", "exp", "--size", "64", "--rounds", "1", "--threads", "1"]
    )
    assert result.exit_code == 0, result.output
    assert "not installed, left out: torch, jax, onnxruntime" in result.output
    levels = {host_target().name, "x86-64-v3"} & set(runnable_targets())
    for level in levels:
        assert f"{level}: docs/tables/performance.md has no figure of it to compare with" in result.output
    assert "nan" not in result.output


def test_levels_that_cannot_be_measured_are_refused():
    refused = CliRunner().invoke(main, ["--level", "z80"])
    assert refused.exit_code == 2
    assert "--level: it is 'z80'; allowed on this machine: " in refused.output
    if len(runnable_targets()) > 1:
        refused = CliRunner().invoke(main, ["--level", next(iter(runnable_targets())), "--section", "calls"])
        assert refused.exit_code == 2
        assert "other levels are measured of float32, float16" in refused.output


def test_every_section_has_tables():
    for section in ARRAY_SECTIONS:
        assert tables(section, [row(section, ogive=1e-7, torch=3e-7)])
        assert tables(section, []) == []


@pytest.mark.parametrize("way", CALLS)
def test_every_way_to_call_computes(way):
    preparation, statement = CALLS[way]
    if "onnx" in preparation:
        pytest.importorskip("onnx", reason="models need it")
    x, y = np.linspace(-4, 4, 16, dtype=np.float32), np.zeros(16, np.float32)
    names = {"ogive": ogive, "np": np, "x": x, "y": y}
    exec(preparation, names)
    result = eval(statement, names)
    result = result[0] if isinstance(result, list | tuple) else result
    np.testing.assert_array_equal(result.reshape(-1), np.maximum(x, 0))


# ---- models


def test_every_model_is_timed_at_every_size():
    assert len(MODELS) >= 20
    seen = [(case.operator, case.elements) for case in model_cases((), (), 2)]
    assert seen == [(name, size) for name in MODELS for size in MODEL_SIZES]
    assert MODEL_SIZES == (16, 1000, 1 << 16, 1 << 20, 1 << 24)


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("size", [16, 1000, 2048])
@pytest.mark.parametrize("name", MODELS)
def test_ogive_and_torch_compute_the_same_model(name, size, threads):
    pytest.importorskip("torch", reason="the exact results are PyTorch's in float64")
    case = ModelCase(name, size, ogive.get_num_threads())
    prepared = MODEL_PEERS["ogive"][1](case, case.arrays())
    prepared.timer.timeit(1)
    exact = exact_results(case)
    assert prepared.result().size == exact.size == sum(int(np.prod(shape)) for shape in case.outputs.values())
    np.testing.assert_allclose(prepared.result().reshape(-1), exact.reshape(-1), rtol=3e-6, atol=3e-6)


@pytest.mark.parametrize("peer", [peer for peer in MODEL_PEERS if peer != "torch.compile"])
def test_peers_compute_the_same_model(peer, threads):
    modules, adapter = MODEL_PEERS[peer]
    for module in (*modules, "torch"):
        pytest.importorskip(module, reason="peers of the benchmark are optional")
    for name in ("gelu by erf", "layer norm", "mean and variance", "haar shrinkage"):
        case = ModelCase(name, 2048, 2)
        prepared = adapter(case, case.arrays())
        prepared.timer.timeit(1)
        np.testing.assert_allclose(prepared.result().reshape(-1), exact_results(case).reshape(-1), rtol=1e-4, atol=1e-4)


def test_the_table_of_models_names_the_cells_that_peers_win():
    rows = [row("models", ogive=1e-6, onnxruntime=3e-6), row("models", elements=1000, ogive=1e-6, onnxruntime=5e-7)]
    cells, means, lost = tables("models", rows)
    assert cells.columns == ["model", "16", "1000", "error, ULP"]
    assert means.rows == [["onnxruntime (R)", "3.00x", "0.50x", "0.50x"]]
    assert lost.rows == [["celu", "1000", "1 us 0.50x R", "0.75"]]


def test_networks_of_torch_are_timed_with_their_errors():
    seconds = {"eager": 1.0, "ogive": 1.25, "fast": 0.5}
    errors = dict.fromkeys(seconds, 1e-7)
    row = {"name": "mlp", "what": "eager", "elements": 16, "seconds": seconds, "errors": errors}
    (table,) = tables("torch-networks", [row])
    assert table.rows == [["mlp", "eager", "1.00 s", "1.25", "0.50", "1.00e-07 / 1.00e-07 / 1.00e-07"]]


def test_figures_of_other_kernels_are_left_out():
    case = {"section": "float32", "operator": "celu", "dtype": "float32"}
    now = digest_of(case)
    assert len(now) == 16
    assert digest_of({**case, "section": "fast"}) != now != digest_of({**case, "dtype": "float16"})
    assert current([{**case, "kernels": now}, {**case, "kernels": "0" * 16}, case]) == [{**case, "kernels": now}]
    assert current([{"name": "import ogive"}]) == [{"name": "import ogive"}]  # no kernel decides it


@pytest.mark.matrix(share=16, pool="slow")
def test_every_model_has_kernels_of_its_own():
    digests = {name: digest_of({"section": "models", "operator": name}) for name in MODELS}
    assert all(digests.values())
    assert digests["gelu"] != digests["gelu by erf"]


@pytest.mark.matrix(share=16, pool="slow")
def test_the_document_has_the_figures_of_these_kernels():
    text = DOCUMENT.read_text()
    assert report.filled(text, figures.read()) == text, "run: python -m benchmarks.report"


@pytest.mark.matrix(share=16, pool="slow")
def test_the_price_is_measured_of_operators_that_both_have():
    checkouts = Checkout(BUILT), Checkout(BUILT, "fast")
    try:
        found = compared(*checkouts, ["relu", "gelu_tanh", "no such operator"], 64, 1)
    finally:
        for checkout in checkouts:
            checkout.close()
    assert list(found) == ["relu", "gelu_tanh"]
    assert all(0 < seconds < 1 for pair in found.values() for seconds in pair)


@pytest.mark.matrix(share=16, pool="slow")
def test_the_price_of_float64_is_that_of_elements_and_their_derivatives():
    names = doubles()
    assert {"gelu", "grad(gelu, 0)", "grad(swiglu, 1)"} < set(names)
    assert "softmax" not in names
    assert len(names) > 200
    checkouts = Checkout(BUILT), Checkout(BUILT)
    try:
        found = compared(*checkouts, ["grad(mul, 1)", "no such operator"], 64, 1, "float64")
    finally:
        for checkout in checkouts:
            checkout.close()
    assert list(found) == ["grad(mul, 1)"]


# ---- cliffs


def test_cliffs_are_looked_for_in_every_operator_and_formula():
    from ogive.catalog import OPERATORS
    from tests.textbooks import TEXTBOOKS

    names = set(cliffs.functions())
    assert len(OPERATORS) > 100
    assert {*OPERATORS, *(f"vjp({name})" for name in OPERATORS)} < names
    of_elements = [name for name, op in OPERATORS.items() if not op.is_row_wise]
    assert {*(f"grad({name})" for name in of_elements), *(f"grad(grad({name}))" for name in of_elements)} < names
    assert len(names) == sum(4 - 2 * op.is_row_wise for op in OPERATORS.values()) + len(TEXTBOOKS)
    assert len(TEXTBOOKS) >= 60
    assert set(cliffs.functions(("gelu",))) == {"gelu", "grad(gelu)", "grad(grad(gelu))", "vjp(gelu)"}
    assert set(cliffs.functions(("grad(gelu)", "Planck"))) == {"grad(gelu)", "Planck"}


@pytest.mark.parametrize("dtype", cliffs.DTYPES)
@pytest.mark.parametrize("family", FAMILIES)
def test_families_are_fresh_and_of_their_type(family, dtype):
    signature = signature_of(ogive.vjp(ogive.prelu), dtype)
    first, second = (drawn(family, signature, 4096, seed) for seed in (0, 1))
    assert [array.dtype for array in first] == [kind.numpy for kind in signature.inputs]
    assert all(array.shape == (4096,) for array in first)
    assert not np.isnan(first[0].astype(np.float64)).any()
    assert any(a.tobytes() != b.tobytes() for a, b in zip(first, second, strict=True))


@pytest.mark.matrix(share=16, pool="slow")
def test_a_cliff_is_measured_and_stored_with_its_kernels():
    """The formula is zero, which enclosures cannot decide."""

    @ogive.operator
    def undecidable(x):
        return np.sin(x) ** 2 + np.cos(x) ** 2 - 1

    cells = cliffs.measure({"undecidable": lambda: undecidable, "relu": lambda: ogive.relu}, "float32", lambda: None)
    assert len(cells) == 2 * len(FAMILIES)
    assert {row["name"] for row in cliffs.worst_first(cells)} <= {"undecidable", "relu"}
    slow = next(row for row in cells if (row["name"], row["family"]) == ("undecidable", "normal, width 1"))
    assert cliffs.is_beyond(slow)
    assert slow["elements"] < 4096
    assert slow["enclosed"] > slow["elements"] / 2
    assert all(row["enclosed"] == 0 for row in cells if row["name"] == "relu")
    stored = cliffs.stored([row | {"name": "gelu"} for row in cells])
    assert [row["family"] for row in stored[: len(FAMILIES)]] == list(FAMILIES)
    assert sum(row["cells"] for row in stored[: len(FAMILIES)]) == len(cells)
    assert {row["kernels"] for row in stored[len(FAMILIES) :]} == {
        ogive.gelu.program(signature_of(ogive.gelu, "float32")).digest
    }
    assert current(stored) == stored
    summary, worst = tables("cliffs", stored)
    assert f"{len(cells)} cells, " in summary.summary
    assert worst.rows[0][0] == "gelu"


#: The operators of the README's sentence about large arrays.
UP_TO = {"softmax": 2.35, "exp": 1.65, "gelu": 1.65} | dict.fromkeys(
    ("celu", "elu", "hard_swish", "mish", "sigmoid", "softplus", "swish", "tanh"), 1.35
)


def test_large_arrays_take_as_long_as_the_readme_says():
    """The processor is the one that it names. The fastest library counts, and times of kernels that have changed since do not."""
    sections = next(
        one["sections"] for one in figures.read() if figures.title(one) == "AMD EPYC, family 25, model 17, x86-64-v4"
    )
    longest = {}
    for row in (*sections["float32"], *sections["softmax"]):
        if row["operator"] in UP_TO and row["elements"] >= 1 << 16 and current([row]):
            peers = [seconds for name, seconds in row["seconds"].items() if name not in ("ogive", "copyto")]
            longest.setdefault(row["operator"], []).append(row["seconds"]["ogive"] / min(peers))
    assert longest
    for name, ratios in longest.items():
        assert max(ratios) < UP_TO[name], name
        assert min(ratios) > 0.05, name


def test_the_limit_is_20_times_the_ordinary_time_or_50_ns():
    assert cliffs.limit_of(1.0, "float32") == 50.0
    assert cliffs.limit_of(4.0, "float16") == 80.0
    assert cliffs.limit_of(4.0, "float64") == 200.0
    assert cliffs.limit_of(30_000.0, "float32") == 2000.0
    assert cliffs.is_beyond({"nanoseconds": 51, "limit": 50.0})
    assert not cliffs.is_beyond({"nanoseconds": 50, "limit": 50.0})


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="calls cannot be interrupted there")
def test_a_call_that_takes_too_long_is_given_up():
    no_digits = ogive.operator(lambda x: np.sin(x) ** 2 + np.cos(x) ** 2 - 1)
    timed = cliffs._Timed(no_digits, signature_of(no_digits, "float32"))
    timed.seconds("normal, width 1", 16, 60.0)
    assert 0.05 <= timed.seconds("normal, width 1", 4096, 0.05) < 5
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="calls cannot be interrupted there")
def test_no_garbage_is_collected_in_a_call_that_is_given_up():
    """An exception in a callback of the collector would be lost, and the call would not end."""

    def waits():
        while not gc.isenabled():
            pass

    with pytest.raises(TimeoutError), cliffs._limited(0.01):
        waits()
    assert gc.isenabled()


def test_the_exit_status_says_whether_there_are_cliffs(monkeypatch, tmp_path):
    file = tmp_path / "figures.json"
    cell = {"name": "relu", "family": "zero", "dtype": "float32", "elements": 4096, "ordinary": 1.0, "limit": 50.0}
    for nanoseconds, status in ((60.0, 1), (40.0, 0)):
        monkeypatch.setattr(cliffs, "measure", lambda *_, ns=nanoseconds: [cell | {"nanoseconds": ns}])
        result = CliRunner().invoke(main, ["--section", "cliffs", "--json", str(file)])
        assert result.exit_code == status, result.output
        rows = figures.read(file)[0]["sections"]["cliffs"]
        assert len(rows) == 1 + status  # a new run takes the place of the old one
        assert f"1 cells, {status} beyond the limit" in result.output
    refused = CliRunner().invoke(main, ["--section", "cliffs", "--operator", "relu", "--json", str(file)])
    assert refused.exit_code == 2
    assert "allowed: without --operator, --family and --quick" in refused.output
    few = CliRunner().invoke(main, ["--section", "cliffs", "--operator", "relu", "--family", "zero"])
    assert "1 cells, " in few.output


def _busy(seconds):
    begin = time.thread_time()
    while time.thread_time() - begin < seconds:
        pass


def test_counting_is_no_part_of_the_time_of_a_cell(monkeypatch):
    """There are as many rows to count as kernels: the more a process has, the longer that takes."""
    count = cliffs._enclosed
    monkeypatch.setattr(cliffs, "_enclosed", lambda: _busy(0.05) or count())
    timed = cliffs._Timed(ogive.relu, cliffs.signature_of(ogive.relu, "float32"))
    timed.seconds("zero", 16, 60.0)
    assert timed.seconds("zero", 16) < 0.02


def test_compiling_is_no_part_of_the_time_of_a_cell(monkeypatch):
    """The repair is compiled at the first element that needs it, for longer than a call may take."""
    timed = cliffs._Timed(ogive.relu, cliffs.signature_of(ogive.relu, "float32"))
    calls = []

    def seconds(family, count, time_out=cliffs.TIME_OUT):
        is_compiled = (cliffs.COUNT, 60.0) in calls
        calls.append((count, time_out))
        return 1e-5 if is_compiled or count < cliffs.COUNT else cliffs.TIME_OUT

    monkeypatch.setattr(timed, "seconds", seconds)
    nanoseconds, _ = timed.cell("zero", 50.0)
    assert nanoseconds < 50
