"""ONNX's own tests of backends, driven by ONNX's own runner: every model made of operators that Ogive is for.

The operators in the models decide which tests run. conftest.py prints the count.
"""

import unittest
import warnings
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.backend.test import BackendTest
from onnx.backend.test.loader import load_model_tests

import ogive.onnx
import ogive.onnx.backend
from tests.onnx.models import SCOPE

#: Kinds of tests whose models and data come with the package onnx; the others would be downloaded.
KINDS = {
    "node": "Node",
    "simple": "Simple",
    "pytorch-converted": "PyTorchConverted",
    "pytorch-operator": "PyTorchOperator",
}


def operators(nodes):
    """The operators of nodes, and of the graphs inside of them."""
    for node in nodes:
        yield node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                yield from operators(graph.node)


def model_of(case):
    return case.model if case.model is not None else onnx.load(Path(case.model_dir) / "model.onnx")


def operators_of(case):
    model = model_of(case)
    found = set(operators(model.graph.node))
    for function in model.functions:
        found |= set(operators(function.node))
    return found - {f"{function.domain}.{function.name}" for function in model.functions}


with warnings.catch_warnings(), np.errstate(all="ignore"):
    warnings.simplefilter("ignore")
    CASES = {kind: load_model_tests(kind=kind) for kind in KINDS}
    RUNNER = BackendTest(ogive.onnx.backend, __name__)

#: Operators that ONNX defines by functions of operators in scope: Ogive computes these functions.
COMPOSED = frozenset(
    {
        *("AffineGrid", "BlackmanWindow", "CenterCropPad", "DynamicQuantizeLinear", "HammingWindow", "HannWindow"),
        *("NegativeLogLikelihoodLoss", "RotaryEmbedding", "SoftmaxCrossEntropyLoss", "LRN"),
    }
)

#: The names of the tests of each kind whose operators are all in scope, and the operators that they need.
IN_SCOPE = {
    kind: {case.name: needs for case in cases if (needs := operators_of(case)) <= SCOPE | COMPOSED}
    for kind, cases in CASES.items()
}
TOTAL = sum(map(len, CASES.values()))

#: Operators that a training step asks for in these tests, not a model that runs.
TRAINING = ("training_dropout",)

#: The operators that the catalogue has not got yet.
MISSING = SCOPE - {row.operator for row in ogive.onnx.supported()}


def test_case(kind):
    """The runner's class for one kind of test, with the tests that are in scope."""
    source = RUNNER.test_cases[f"OnnxBackend{KINDS[kind]}ModelTest"]
    members = {}
    for name, needs in IN_SCOPE[kind].items():
        test = getattr(source, f"{name}_cpu")
        missing = ", ".join(sorted(needs & MISSING))
        if missing:
            test = unittest.skip(f"the catalogue has not got {missing} yet")(test)
        elif any(part in name for part in TRAINING) and not name.endswith(("_zero_ratio", "_zero_ratio_mask")):
            test = unittest.skip("it trains: dropout is random, and refused")(test)
        members[name] = test
    return pytest.mark.matrix()(type(f"TestOnnx{KINDS[kind]}", (unittest.TestCase,), members))


test_case.__test__ = False
TestOnnxNode = test_case("node")
TestOnnxSimple = test_case("simple")
TestOnnxPyTorchConverted = test_case("pytorch-converted")
TestOnnxPyTorchOperator = test_case("pytorch-operator")


@pytest.mark.matrix
def test_the_tests_are_there():
    assert len(CASES["node"]) >= 1800
    assert len(IN_SCOPE["node"]) >= 700
    assert sum(name.endswith("_expanded") or "_expanded_" in name for name in IN_SCOPE["node"]) >= 100
    covered = set().union(*IN_SCOPE["node"].values())
    assert covered >= COMPOSED
    wanted = SCOPE - {"GeGLU", "GlobalLpPool"}  # ONNX has no tests of these
    assert covered - COMPOSED in (wanted, wanted - {"Constant", "Flatten"})
