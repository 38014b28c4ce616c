"""Steps of a plan that NumPy computes: arrays of another shape than the known one are noticed."""

import numpy as np
import pytest

from ogive.engine.plan import Call, Output, ShapesChanged, _Views


def views(*shapes):
    """Each view has these axes behind the batch; the plan knows a batch of 4 and rows of 3."""
    known = Output("rows", (4, 3), np.dtype(np.float32))
    calls = [Call("view", lambda x, shape=shape: x.reshape(-1, *shape), ("x",), (known,)) for shape in shapes]
    return _Views(tuple((call, ()) for call in calls))


def test_views_serve_batches_of_any_length():
    x = np.arange(30, dtype=np.float32)
    result = views((3,), (3,))((x,), None)
    assert result.shape == (10, 3)
    assert result.base is x


@pytest.mark.parametrize("shapes", [((2,),), ((3,), (5,)), ((2,), (3,)), ((3, 1),)])
def test_a_view_with_other_axes_is_noticed(shapes):
    with pytest.raises(ShapesChanged):
        views(*shapes)((np.zeros(30, np.float32),), None)
