"""The table of derivatives in docs/tables/derivatives.md is what accuracy/measure_derivatives.py has measured."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
specification = importlib.util.spec_from_file_location("derivatives", ROOT / "accuracy/measure_derivatives.py")
assert specification is not None
assert specification.loader is not None
script = importlib.util.module_from_spec(specification)
specification.loader.exec_module(script)


def test_the_page_has_the_table():
    results = json.loads(script.RESULTS.read_text())
    assert [*results["operators"]] == [*script.PEERS]
    assert script.BEGIN + script.table(results) + script.END in script.PAGE.read_text()


@pytest.mark.matrix(share=4, pool="slow")
def test_ours_are_correctly_rounded_where_they_were_worst():
    results = json.loads(script.RESULTS.read_text())["operators"]
    for name, rows in results.items():
        assert rows["Ogive"]["largest"] <= 0.5, name
        for row in rows.values():
            x = np.array([row["at"]])
            assert x.astype(np.float32) == x
            error = script.error_in_ulp(
                script.of_ogive(name)(x.astype(np.float32)), script.of_ogive(name)(x), "float32"
            )
            assert error <= 0.5, name
