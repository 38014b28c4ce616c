"""Golden sets of everything both standards have, and Ogive's kernels against a part of them."""

import numpy as np
import pytest

pytest.importorskip("flint", reason="golden data needs python-flint")

from ogive.golden.onnx_operators import all_of_onnx, of_onnx
from ogive.golden.vectors import make
from ogive.onnx import supported
from tests.golden.coverage import budget, difference, is_undecided, specifications

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


@pytest.mark.parametrize("number", range(0, len(SPECIFICATIONS), STEP))
def test_ogive_against_golden_data(number):
    label, spec, why = SPECIFICATIONS[number]
    assert spec is not None, why
    if is_undecided(spec):
        pytest.skip("integers to a fractional power, modulo 2**bits: no enclosure decides them")
    worst, _, count = difference(spec)
    assert count > 0
    assert worst <= budget(spec), label


def test_golden_rows_of_reductions():
    spec = of_onnx("ReduceSum", 13, {"T": "tensor(float)"})
    assert spec.reduces
    x = np.float32([[1e8, 1, -1e8, 3], [1, 2, 3, 4]])
    assert spec.right([x]).tolist() == [[4], [10]]
    assert make(spec).expected.shape[-1] == 1
