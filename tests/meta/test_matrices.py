"""How many cases of a matrix a run takes, and which."""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from ogive.catalog import OPERATORS
from tests import matrices

ROOT = Path(__file__).parents[2]
FILE = "tests/free/test_verify.py"
TEST = f"{FILE}::test_stages_of_rows_are_well_formed"


class Item:
    """A test as pytest collects it."""

    def __init__(self, name, marker=None, share=None, pool=None, **parameters):
        self.nodeid = name
        kwargs = {name: value for name, value in (("share", share), ("pool", pool)) if value is not None}
        self.marker = None if marker is None else SimpleNamespace(args=tuple(marker), kwargs=kwargs)
        if parameters:
            self.callspec = SimpleNamespace(params=parameters)

    def get_closest_marker(self, name):
        assert name == "matrix"
        return self.marker

    def __repr__(self):
        return self.nodeid


MATRIX = [
    Item(f"a.py::test[{op.name}-{kind}]", ["op.name"], op=op, kind=kind)
    for op in list(OPERATORS.values())[:12]
    for kind in ("float16", "float32", "float64", "int8")
]
ALONE = [Item("a.py::test_one"), Item("a.py::test_two[1]", kind=1)]
OF_ANOTHER = [Item(f"a.py::test_other[{op}-{n}]", ["op"], op=op, n=n) for op in "ab" for n in range(9)]
SWEEP = [Item(f"b.py::test[{n}]", [], n=n) for n in range(3)]
ITEMS = [*MATRIX, *ALONE, *OF_ANOTHER, *SWEEP]


def operators_of(items):
    return sorted(item.callspec.params["op"].name for item in items)


def test_of_each_matrix_a_run_takes_each_operator_once_and_all_else():
    chosen = matrices.left_in(ITEMS, "first")
    assert operators_of(chosen & {*MATRIX}) == sorted(op.name for op in list(OPERATORS.values())[:12])
    assert sorted(item.callspec.params["op"] for item in chosen & {*OF_ANOTHER}) == ["a", "b"]
    assert {*ALONE} <= chosen
    assert not chosen & {*SWEEP}


def test_a_share_is_a_number_of_cases():
    cases = [Item(f"c.py::test[{n}]", [], share=5, n=n) for n in range(11)]
    chosen = matrices.left_in([*cases, *MATRIX], "first") & {*cases}
    assert len(chosen) == 3
    assert chosen == matrices.left_in(cases, "first") != matrices.left_in(cases, "other")
    assert {item for n in range(60) for item in matrices.left_in(cases, str(n))} == {*cases}


@pytest.mark.matrix(share=16, pool="slow")
def test_a_share_of_operators_is_the_same_in_all_matrices():
    def of(file):
        return [Item(f"{file}.py::test[{op}-{n}]", ["op"], share=3, op=op, n=n) for op in "abcdefg" for n in range(5)]

    items = [*of("a"), *of("b")]
    chosen = matrices.left_in(items, "first")
    names = [[item.callspec.params["op"] for item in file if item in chosen] for file in (items[:35], items[35:])]
    assert len(names[0]) == len({*names[0]}) == 3
    assert names[0] == names[1]
    further = matrices.left_in(items, "first", is_further=True)
    assert len(further) == 2 * (3 + 4)
    assert not further & chosen
    assert {item for n in range(200) for item in matrices.left_in(items, str(n))} == {*items}


def test_a_pool_is_a_matrix_of_several_tests():
    tests = [Item(f"{file}.py::test_{n}", [], share=4, pool="slow") for file in "ab" for n in range(6)]
    assert len(matrices.left_in(tests, "first")) == 3
    assert {item for n in range(60) for item in matrices.left_in(tests, str(n))} == {*tests}
    assert len(matrices.left_in(tests[:1], "first")) == 1  # who runs one file runs what it has


def test_a_seed_chooses_the_same_cases_again_and_another_one_chooses_others():
    first, other = matrices.left_in(ITEMS, "first"), matrices.left_in(ITEMS, "other")
    assert first == matrices.left_in(reversed(ITEMS), "first") != other
    assert operators_of(first & {*MATRIX}) == operators_of(other & {*MATRIX})


def test_in_time_every_case_is_chosen():
    assert {item for n in range(60) for item in matrices.left_in(MATRIX, str(n))} == {*MATRIX}


def test_all_matrices_take_the_same_types_of_an_operator():
    cases = [(OPERATORS["celu"], signature) for signature in OPERATORS["celu"].signatures]
    items = [
        Item(f"{file}::test[celu-{n}-{target}]", ["op.name"], op=op, signature=signature, target=target)
        for file in ("a.py", "b.py", "c.py")
        for n, (op, signature) in enumerate(cases)
        for target in ("x86-64", "aarch64")
    ]
    assert len(cases) > 2
    for seed in "123456":
        chosen = [item.callspec.params for item in matrices.left_in(items, seed)]
        assert len(chosen) == 3
        assert len({chosen_case["signature"] for chosen_case in chosen}) == 1


def test_a_test_that_is_named_keeps_all_its_cases():
    named = ("test[relu", "test[1]")
    chosen = matrices.left_in([*MATRIX, *SWEEP], "first", named)
    assert {item for item in MATRIX if "[relu-" in item.nodeid} <= chosen
    assert [item.nodeid for item in SWEEP if item in chosen] == ["b.py::test[1]"]
    assert matrices.left_in(ITEMS, "first", ("test",)) == {*ITEMS}


def test_a_marker_names_a_parameter():
    item = Item("a.py::test[1]", ["operator"], kind=1, op=OPERATORS["celu"])
    assert matrices.operator_of(item, "op.name") == "celu"
    with pytest.raises(pytest.UsageError, match=r"matrix\('operator'\) names no parameter; allowed: kind, op"):
        matrices.left_in([item], "first")
    with pytest.raises(pytest.UsageError, match="allowed: none"):
        matrices.left_in([Item("a.py::test", ["op"])], "first")


def run(*arguments, **environment):
    """The output of pytest; the names of tests that it collects, or runs."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, cwd=ROOT)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout, {line for line in result.stdout.splitlines() if line.startswith(TEST)}


@pytest.mark.matrix(share=16, pool="slow")
def test_a_run_says_its_seed_and_its_workers_agree_on_it():
    """xdist ends a run whose workers choose different cases."""
    of_rows = sum(op.is_row_wise for op in OPERATORS.values())
    text, _ = run("-n", "2", FILE, "-k", "rows_are_well_formed")
    seed = matrices.tree_of_the_last_commit()
    assert text.startswith(f"matrices: one case of each operator; --seed={seed} chooses it")  # under -q, too
    assert re.search(rf"^{of_rows} passed", text, re.MULTILINE)


def test_a_further_run_takes_other_cases():
    def further(items):
        return matrices.left_in(items, "first", is_further=True)

    assert not further(ITEMS) & matrices.left_in(ITEMS, "first")
    assert not further(ALONE)
    assert [*map(operators_of, ([*MATRIX], further(MATRIX)))] == [
        sorted(op.name for op in list(OPERATORS.values())[:12] for _ in range(count)) for count in (4, 1)
    ]
    assert {item for n in range(60) for item in matrices.left_in(MATRIX, str(n), is_further=True)} == {*MATRIX}
    assert len(further([Item(f"c.py::test[{n}]", [], share=5, n=n) for n in range(50)])) == 10
    assert len(further([Item(f"c.py::test_{n}", [], share=5, pool="slow") for n in range(50)])) == 40
    assert len(further([Item(f"c.py::test_{n}", [], pool="slowest") for n in range(50)])) == 50
    assert len(further([Item(f"c.py::Test::test_{n}", []) for n in range(50)])) == 13


@pytest.mark.matrix(share=16, pool="slow")
def test_the_modes_take_cases_of_one_whole():
    text, chosen = run("--collect-only", FILE, OGIVE_TEST_SEED="first")
    assert "--seed=first chooses it" in text
    _, further = run("--collect-only", FILE, "--seed=first", "--matrices=further")
    _, whole = run("--collect-only", TEST)
    assert further
    assert chosen
    assert not chosen & further
    assert chosen | further < whole
