"""The modules that a file that cannot be imported leaves behind: a plugin, since the hooks of a conftest see its own folder alone."""

import sys
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule

TESTS = Path(__file__).parent


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """A file of tests that cannot be imported is an error, though pytest skips modules whose examples cannot be.

    Modules of the package need packages that may be missing; files of tests say so by pytest.importorskip. For a module that
    failed pytest keeps what was made of it, and later imports took that for the whole: ogive.cuda without its devices.
    """
    before = set(sys.modules)
    report = yield
    is_examples = isinstance(collector, DoctestModule)
    if report.skipped and is_examples and "unable to import module" in str(report.longrepr):
        if TESTS in collector.path.parents:
            report.outcome, report.longrepr = "failed", f"{collector.path} cannot be imported"
        for name in sorted(set(sys.modules) - before):
            package, _, last = name.rpartition(".")
            if package.partition(".")[0] == "ogive":
                del sys.modules[name]
                vars(sys.modules.get(package, sys.modules["ogive"])).pop(last, None)
    return report
