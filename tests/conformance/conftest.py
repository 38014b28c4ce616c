"""Leaves ONNX's own tests alone where a run takes none of them, and prints how many ran."""

from tests.matrices import always_run

FILE = "test_onnx_backend.py"


def pytest_ignore_collect(collection_path, config):
    """Making the models takes seconds, and all of the file's tests are a sweep, of which a run chooses no case."""
    asked_for = any(FILE in name for name in config.args) or any("TestOnnx" in name for name in always_run(config))
    return True if collection_path.name == FILE and config.option.matrices == "chosen" and not asked_for else None


def pytest_terminal_summary(terminalreporter):
    from collections import Counter

    counts = Counter(
        outcome
        for outcome in ("passed", "failed", "skipped")
        for report in terminalreporter.getreports(outcome)
        if f"{FILE}::TestOnnx" in report.nodeid and (report.when == "call" or outcome == "skipped")
    )
    if not counts:
        return
    from tests.conformance.test_onnx_backend import IN_SCOPE, MISSING, TOTAL

    in_scope = sum(map(len, IN_SCOPE.values()))
    terminalreporter.write_line(
        f"ONNX's own backend tests: {counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped, "
        f"which train or wait for operators ({', '.join(sorted(MISSING)) or 'none'}); {TOTAL - in_scope} of {TOTAL} have operators out of scope"
    )
