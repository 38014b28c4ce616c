"""Prints how many of ONNX's own tests ran."""


def pytest_terminal_summary(terminalreporter):
    from collections import Counter

    counts = Counter(
        outcome
        for outcome in ("passed", "failed", "skipped")
        for report in terminalreporter.getreports(outcome)
        if "test_onnx_backend.py::TestOnnx" in report.nodeid and (report.when == "call" or outcome == "skipped")
    )
    if not counts:
        return
    from tests.conformance.test_onnx_backend import IN_SCOPE, MISSING, TOTAL

    in_scope = sum(map(len, IN_SCOPE.values()))
    terminalreporter.write_line(
        f"ONNX's own backend tests: {counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped, "
        f"which train or wait for operators ({', '.join(sorted(MISSING)) or 'none'}); {TOTAL - in_scope} of {TOTAL} have operators out of scope"
    )
