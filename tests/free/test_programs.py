"""The programs of formulas change where somebody wants it, and are looked at: digests of all texts are kept."""

import pytest

from tools import programs


@pytest.mark.matrix(share=14, pool="programs")
@pytest.mark.parametrize("part", range(programs.PARTS))
@pytest.mark.parametrize("family", programs.FAMILIES)
def test_programs_are_as_they_were(family, part):
    found = programs.digests(family, part)
    assert found, f"{family} has no programs in part {part}"
    lines = programs.altered(programs.kept(family, part), found)
    assert not lines, "\n".join(
        [
            "these programs are lowered to other texts than tests/programs.txt has:",
            *lines,
            f"`python -m tools.programs --diff HEAD` shows how; `{programs.COMMAND}` renews the file",
        ]
    )


def test_all_lines_belong_to_a_family():
    assert set(programs.kept()) == {name for family in programs.FAMILIES for name in programs.kept(family)}


def test_what_differs_is_named():
    assert programs.altered({"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "9", "d": "4"}) == [
        "b",
        "gone: c",
        "new: d",
    ]
