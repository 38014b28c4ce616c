"""Golden sets of everything both standards have, and Ogive's kernels against a part of them."""

import numpy as np
import pytest

from ogive.golden.onnx_operators import all_of_onnx, of_onnx
from ogive.golden.vectors import make
from ogive.onnx import supported
from tests.golden.coverage import budget, difference, specifications

SPECIFICATIONS = list(specifications())

#: Every so-many-th set is run here; ``python -m tests.golden.coverage`` runs all.
STEP = 97


def test_everything_has_a_golden_set():
    assert [why for _, spec, why in SPECIFICATIONS if spec is None] == []
    labels = [label for label, _, _ in SPECIFICATIONS]
    assert len(labels) == len(set(labels)) >= 10_700


def test_every_version_and_type_of_onnx_is_looked_at():
    wanted = {(r.operator, r.version, p, kind) for r in supported() for p, kinds in r.types.items() for kind in kinds}
    found = {(o.operator, o.version, p, kind) for o in all_of_onnx() for p, kind in o.types.items()}
    assert wanted <= found


@pytest.mark.matrix(share=3)
@pytest.mark.parametrize("number", range(0, len(SPECIFICATIONS), STEP))
def test_ogive_against_golden_data(number):
    label, spec, why = SPECIFICATIONS[number]
    assert spec is not None, why
    worst, _, count = difference(spec)
    assert count > 0
    assert worst <= budget(spec), label


def test_golden_rows_of_reductions():
    spec = of_onnx("ReduceSum", 13, {"T": "tensor(float)"})
    assert spec.reduces
    x = np.float32([[1e8, 1, -1e8, 3], [1, 2, 3, 4]])
    assert spec.right([x]).tolist() == [[4], [10]]
    assert make(spec).expected.shape[-1] == 1


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_integers_to_a_fractional_power_are_cut_off_and_saturate(kind):
    spec = of_onnx("Pow", 15, {"T": f"tensor({kind})", "T1": "tensor(float)"})
    most = np.iinfo(kind).max
    x = np.array([2, 10, -8, 3, 3, 0, 5, 1, -1, 7, 2], kind)
    y = np.float32([0.5, 2.5, 1 / 3, 40, 40.5, -1, np.nan, np.nan, 3, 0.3, -1.5])
    assert spec.right([x, y]).tolist() == [1, 316, 0, most, most, most, 0, 1, -1, 1, 0]
    assert difference(spec)[:2] == (0.0, 0)


@pytest.mark.parametrize("target", ["float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"])
def test_casts_that_do_not_saturate(target):
    """464 lies between 448 and 480 of float8e4m3fn, which has no 480: it is 448, whose last bit is even."""
    spec = of_onnx("Cast", 19, {"T1": "tensor(float)", "T2": f"tensor({target})"}, {"saturate": 0})
    assert difference(spec)[:2] == (0.0, 0)
