"""Every method of the builder, with everything in the place of each operand: wrong ones raise MLTypeError, and nothing else."""

import inspect

import numpy as np
import pytest

from ogive.webnn import MLContext, MLGraphBuilder, MLTypeError

METHODS = sorted(
    name for name in vars(MLGraphBuilder) if not name.startswith("_") and name not in ("input", "constant", "build")
)
WRONG = (3, 1.5, [1.5], None, "x", np.float32(2), {"a": 1}, True, [3], np.ones(2, np.float32), [[1]], object(), "int4")


def test_there_are_methods():
    assert len(METHODS) > 80


@pytest.mark.parametrize("name", METHODS)
def test_wrong_operands_and_options(name):
    builder = MLGraphBuilder(MLContext())
    x = builder.input("x", {"dataType": "float32", "shape": [2, 4]})
    method = getattr(builder, name)
    places = [
        p
        for p in inspect.signature(method).parameters.values()
        if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
    ]
    assert places
    raised = 0
    for wrong in (*WRONG, [x], [[x]]):
        calls = [[*[x] * place, wrong, *[x] * (len(places) - place - 1)] for place in range(len(places))]
        calls += [
            [*[x] * len(places), {option: wrong}] for option in ("axis", "axes", "scale", "bias", "alpha", "label")
        ]
        calls.append([*[x] * len(places), wrong])
        for arguments in calls:
            try:
                method(*arguments)
            except MLTypeError:
                raised += 1
    assert raised
