"""The table for people who come from torch.nn.functional is true, row by row."""

import re
from pathlib import Path

import pytest

import ogive

torch = pytest.importorskip("torch", reason="the table is about it")

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "names.md").read_text(encoding="utf-8")
TABLE = PAGE.split("## torch.nn.functional")[1].split("## ")[0]
ROWS = re.findall(r"^\| `(.+?)` \| `(.+?)` \|(.*?)\|$", TABLE, re.MULTILINE)

VALUES = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 3.0, -3.0, 30.0, -30.0, 200.0, float("inf"), float("-inf"), float("nan")]
NAMES = {"alpha": 1.25, "lambd": 0.75, "slope": 0.125, "beta": 2.0, "a": -0.5, "b": 1.5, "t": 1.0, "dim": -1}


def results(theirs, ours, dtype):
    x = torch.cat([torch.tensor(VALUES, dtype=dtype), torch.linspace(-9, 9, 235, dtype=dtype)])
    if "weight" in theirs:
        x = torch.cat([x] * 3).reshape(1, 3, 3, -1)
    if "softmax" in theirs:
        x = x[torch.isfinite(x)]
    names = {"x": x, "weight": torch.tensor([0.1, 0.5, 0.9], dtype=dtype), **NAMES}
    functions = [{n: getattr(module, n, None) for n in dir(module)} for module in (torch.nn.functional, ogive)]
    return [eval(text, space | names) for text, space in zip((theirs, ours), functions, strict=True)]


def agree(theirs, ours, dtype):
    tolerance = 1e-5 if dtype == torch.float32 else 1e-12
    return torch.allclose(*results(theirs, ours, dtype), rtol=tolerance, atol=tolerance, equal_nan=True)


def test_the_table_is_read():
    assert len(ROWS) == TABLE.count("\n| `") > 20


@pytest.mark.parametrize(("theirs", "ours", "remark"), ROWS, ids=[row[0] for row in ROWS])
def test_a_row_computes_the_same_but_where_it_says_so(theirs, ours, remark):
    same = [agree(theirs, ours, dtype) for dtype in (torch.float32, torch.float64)]
    if "weight" in theirs:  # the remark is about shapes, and the second column has heeded it
        assert all(same)
        return
    assert all(same) == (not remark.strip()), remark
    if "float64" in remark:
        assert same == [True, False]
    special = {"NaN gives 0": [13], "NaN at an infinity": [11, 12]}
    for text, places in special.items():
        for dtype in (torch.float32, torch.float64) if text in remark else ():
            a, b = results(theirs, ours, dtype)
            differ = ~torch.isclose(a, b, rtol=1e-5, atol=1e-5, equal_nan=True)
            assert differ.any()
            assert set(differ.nonzero().flatten().tolist()) <= set(places)
