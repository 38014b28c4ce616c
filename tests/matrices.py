"""Matrices of tests, and how much of them one run takes.

A matrix is a test with a case for each operator, type, target and so on. Its marker says which argument is the operator:

    @pytest.mark.matrix("op.name")
    @pytest.mark.parametrize(("op", "signature"), CASES)

A run takes one case of each operator, by default. The seed decides which one. It is the hash of the tree of the last commit,
so every commit tries other cases, and everybody tries the same ones for a commit. All matrices take the same types of an
operator, so that its kernel is compiled once. ``@pytest.mark.matrix(share=5)`` names no operator: a run takes a fifth of the
cases, and ``@pytest.mark.matrix("op.name", share=5)`` one case of each of a fifth of the operators, the same ones in all
matrices. ``@pytest.mark.matrix(share=16, pool="slow")`` makes a matrix of many tests that each take seconds, of which a run takes a
sixteenth, and none where a pool has no share. ``@pytest.mark.matrix()`` says neither: by default a run takes no case of such a
sweep.

``--matrices further`` runs others: one more case of each operator, as many more of a share, all others of a pool, and a quarter
of a sweep. ``--matrices whole`` runs every case. ``--seed``, or OGIVE_TEST_SEED in the environment, sets the seed. A test
that the command line names (``file.py::test``) keeps all its cases.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from operator import attrgetter
from pathlib import Path

import pytest

MARKER = (
    "matrix(path, share=n): a run takes one case of each operator, or of one operator in n, to which the path, such as "
    '"op.name", leads from an argument; without a path one case in n, of all tests with the same pool=name where there is '
    "one; with neither no case"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("matrices", "matrices of operators, types and targets")
    group.addoption(
        "--matrices",
        choices=("chosen", "further", "whole"),
        default="chosen",
        help="of each matrix one case of each operator (chosen), another one (further), or all cases (whole)",
    )
    group.addoption(
        "--seed",
        default=os.environ.get("OGIVE_TEST_SEED"),
        help="any text; it chooses the cases, and is by default the hash of the last commit's tree",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    # xdist hands the options to its workers, so that all of them choose the same cases.
    config.option.seed = config.option.seed or tree_of_the_last_commit()


def tree_of_the_last_commit() -> str:
    """Its hash, or "none" where this is no checkout."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short=12", "HEAD^{tree}"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "none"


def description(config: pytest.Config) -> str:
    seed, mode = config.option.seed, config.option.matrices
    return {
        "chosen": f"matrices: one case of each operator; --seed={seed} chooses it; --matrices=whole runs all cases",
        "further": f"matrices: one case of each operator beside the one that --seed={seed} chooses",
        "whole": "matrices: all cases",
    }[mode]


def pytest_sessionstart(session: pytest.Session) -> None:
    """Say it at the top, under ``-q`` too."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter.write_line(description(session.config))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    terminalreporter.write_line(description(config))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """After ``-k`` and ``-m``: the cases are chosen among those that are left."""
    if config.option.matrices == "whole":
        return
    chosen = left_in(items, config.option.seed, always_run(config), is_further=config.option.matrices == "further")
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = filter(chosen.__contains__, items)


def always_run(config: pytest.Config) -> tuple[str, ...]:
    """How the names of tests begin that the command line, or the last run's failures with --lf, ask for."""
    named = [name for argument in config.args if (name := argument.partition("::")[2])]
    if config.getoption("lf", False) or config.getoption("failedfirst", False):
        named += [name.partition("::")[2] for name in config.cache.get("cache/lastfailed", {})]
    return tuple(named)


def left_in(
    items: Iterable[pytest.Item], seed: str, named: tuple[str, ...] = (), *, is_further: bool = False
) -> set[pytest.Item]:
    """The tests outside of matrices, and those that the seed chooses; or those that a further run takes."""
    kept, groups = set[pytest.Item](), dict[tuple[str, object, int | None, bool], list[pytest.Item]]()
    for item in items:
        marker = item.get_closest_marker("matrix")
        if marker is None or item.nodeid.partition("::")[2].startswith(named):
            kept.add(item)
            continue
        share, pool = marker.kwargs.get("share"), marker.kwargs.get("pool")
        operator = operator_of(item, *marker.args) if marker.args else None
        is_sweep = operator is share is None
        together = pool or item.nodeid.partition("::" if is_sweep else "[")[0]
        groups.setdefault((together, operator, share, bool(pool)), []).append(item)
    if is_further:
        kept.clear()
    operators = defaultdict[tuple[str, int | None], set[object]](set)
    for together, operator, share, _ in groups:
        operators[together, share].add(operator)
    taken = {key: share_of(seed, found, key[1] or 1) for key, found in operators.items()}
    for (together, operator, share, is_pool), cases in groups.items():
        if operator is not None:
            count = int(operator in taken[together, share])
            end = count + 1
        else:
            count = 0 if share is None else -(-len(cases) // share)
            end = len(cases) if is_pool else count + (count or -(-len(cases) // 4))
        ordered = sorted(cases, key=lambda item: order_of(seed, item))
        kept.update(ordered[count:end] if is_further else ordered[:count])
    return kept


def share_of(seed: str, operators: Iterable[object], share: int) -> list[object]:
    """One operator in so many."""
    ordered = sorted(operators, key=lambda operator: place(seed, str(operator)))
    return ordered[: -(-len(ordered) // share)]


def order_of(seed: str, item: pytest.Item) -> tuple[bytes, bytes]:
    """An operator's types decide first: all matrices take the same, and what is compiled for one serves the others."""
    case = item.nodeid.partition("[")[2].removesuffix("]") or item.nodeid
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    if "op" in parameters and "signature" in parameters:
        case = "-".join((parameters["op"].name, *(kind.name for kind in parameters["signature"].inputs)))
    return place(seed, case), place(seed, item.nodeid)


def operator_of(item: pytest.Item, path: str) -> object:
    argument, _, attributes = path.partition(".")
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    if argument not in parameters:
        raise pytest.UsageError(
            f"{item.nodeid}: matrix({path!r}) names no parameter; allowed: {', '.join(parameters) or 'none'}"
        )
    value = parameters[argument]
    return attrgetter(attributes)(value) if attributes else value


def place(seed: str, name: str) -> bytes:
    return hashlib.sha256(f"{seed} {name}".encode()).digest()
