"""Calls with ``where=``: what NumPy's own way gives, for scattered masks too, whose elements are computed together."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ogive
from ogive.common import conversion
from ogive.operators import masked
from tests.inputs import assert_same_bits

GENERATOR = np.random.default_rng(5)
TYPES = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16]
SHAPE = (40, 77)

MASKS = {
    "half": GENERATOR.random(SHAPE) < 0.5,
    "few": GENERATOR.random(SHAPE) < 0.02,
    "most": GENERATOR.random(SHAPE) < 0.98,
    "all": np.ones(SHAPE, bool),
    "none": np.zeros(SHAPE, bool),
    "rows": np.repeat(GENERATOR.random((40, 1)) < 0.5, 77, axis=1),
}


def by_hand(op: Any, tensors: Any, mask: np.ndarray, out: np.ndarray) -> np.ndarray:
    """All elements computed, and those of the mask taken."""
    return np.where(mask, np.asarray(op(*tensors)).astype(out.dtype), out)


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: np.dtype(kind).name)
@pytest.mark.parametrize("name", MASKS)
def test_masks(name: str, kind: Any) -> None:
    x, y = (GENERATOR.normal(0, 2, SHAPE).astype(kind) for _ in range(2))
    for op, tensors in ((ogive.gelu, (x,)), (ogive.mul, (x, y)), (ogive.add, (x, 2.5)), (ogive.celu.fast, (x,))):
        out = GENERATOR.normal(0, 2, SHAPE).astype(kind)
        wanted = by_hand(op, tensors, MASKS[name], out)
        assert op(*tensors, out=out, where=MASKS[name]) is out
        assert_same_bits(out, wanted)


@pytest.mark.parametrize("turn", [lambda x: x, lambda x: x.T, lambda x: x[:, ::2], lambda x: np.asfortranarray(x)])
def test_layouts(turn: Any) -> None:
    x = turn(GENERATOR.normal(0, 2, SHAPE).astype(np.float32))
    mask, out = turn(MASKS["half"]), turn(np.full(SHAPE, 7, np.float32))
    wanted = by_hand(ogive.silu, (x,), mask, out)
    assert ogive.silu(x, out=(out,), where=mask) is out
    assert_same_bits(np.ascontiguousarray(out), np.ascontiguousarray(wanted))


def test_over_its_operand_and_its_mask() -> None:
    x, mask = GENERATOR.normal(0, 2, SHAPE).astype(np.float32), MASKS["half"].copy()
    wanted = by_hand(ogive.exp, (x,), mask, x)
    assert_same_bits(ogive.exp(x, out=x, where=mask), wanted)
    other = GENERATOR.random(SHAPE) < 0.5
    wanted = by_hand(ogive.logical_not, (other,), mask, mask)
    assert_same_bits(ogive.logical_not(other, out=mask, where=mask), wanted)


def test_masks_and_operands_that_broadcast() -> None:
    x, out = GENERATOR.normal(0, 2, SHAPE).astype(np.float32), np.full(SHAPE, 7, np.float32)
    for mask, given in ((MASKS["half"][0], x), (MASKS["half"], x[:1]), (True, x), (False, x)):
        wanted = by_hand(ogive.gelu, (given,), np.broadcast_to(mask, SHAPE), out)
        assert_same_bits(ogive.gelu(given, out=out, where=mask), wanted)


def test_another_type_for_the_result() -> None:
    """Rounded once, as without a mask; refused, as without."""
    x, mask = GENERATOR.normal(0, 2, SHAPE), MASKS["half"]
    single = np.zeros(SHAPE, np.float32)
    everything = ogive.exp(x, out=np.zeros(SHAPE, np.float32))
    assert_same_bits(ogive.exp(x, out=single, where=mask), np.where(mask, everything, np.float32(0)))
    whole = np.zeros(SHAPE, np.int32)
    with pytest.raises(ogive.errors.OgiveError, match="exp: out has dtype int32"):
        ogive.exp(x, out=whole, where=mask)
    single.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        ogive.exp(x, out=single, where=mask)
    assert not whole.any()


def test_masked_elements_are_computed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """One call for a scattered mask; NumPy's way for long runs and few elements."""
    seen = []

    def counted(ufunc: np.ufunc, operands: Any, keywords: Any) -> Any:
        seen.append(operands[0].size)
        return conversion.rounded_once(ufunc, operands, keywords)

    monkeypatch.setattr(masked, "rounded_once", counted)
    x, out = GENERATOR.normal(0, 2, SHAPE).astype(np.float32), np.zeros(SHAPE, np.float32)
    for name in ("half", "rows", "all"):
        ogive.gelu(x, out=out, where=MASKS[name])
    ogive.gelu(x[:3], out=out[:3], where=MASKS["half"][:3])
    assert seen == [np.count_nonzero(MASKS["half"])]
