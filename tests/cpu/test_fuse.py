"""One program for several operators has the bits of the operators one after the other, for each of them."""

import pytest

from ogive.backends.target import host_target
from ogive.catalog import OPERATORS
from ogive.lowering.fuse import fuse
from ogive.runtime.kernels import make_ufunc
from tests.cpu.test_targets import RUNNABLE, program
from tests.inputs import CASE_IDS, CASES, ROW_CASES, assert_same_bits, operands


def neighbour(kind, of_floats="tanh"):
    """An operator that takes and gives this type, and changes most numbers."""
    name = "logical_not" if kind.name == "bool" else "bitwise_not" if kind.is_integer else of_floats
    op = OPERATORS[name]
    return op, next(s for s in op.signatures if s.inputs[0] == kind)


@pytest.mark.matrix(share=24)
@pytest.mark.parametrize(("op", "signature"), CASES, ids=CASE_IDS)
def test_fusing_changes_no_bit(op, signature):
    """With an operator before each operand and one after the result."""
    compiled, required = program(op, signature)
    arrays = operands(signature, 1500)
    count = len(arrays)
    before = [neighbour(kind, "neg" if i else "tanh") for i, kind in enumerate(signature.inputs)]
    after, after_signature = neighbour(signature.outputs[0])
    steps = [(b.program(s), [i]) for i, (b, s) in enumerate(before)]
    steps.append((compiled, list(range(count, 2 * count))))
    steps.append((after.program(after_signature), [2 * count]))
    one = fuse(signature.inputs, steps, [2 * count, 2 * count + 1])

    moved = [b(array) for (b, _), array in zip(before, arrays, strict=True)]
    expected = op(*moved, **required)
    # The smallest instruction set takes as long again: of one type that is enough.
    others = {RUNNABLE[0]} if any(kind.name == "float32" for kind in signature.inputs) else set()
    for target in {host_target(), *others}:
        result, last = make_ufunc(op.name, one, target)(*arrays)
        assert_same_bits(result, expected, *arrays)
        assert_same_bits(last, after(expected), *arrays)


@pytest.mark.parametrize(("op", "signature"), ROW_CASES[:1])
def test_rows_are_not_fused(op, signature):
    with pytest.raises(ValueError, match="a step looks at whole rows"):
        fuse(signature.inputs, [(op.program(signature), [0])], [1])


def test_there_is_something_to_fuse():
    assert CASES
    assert ROW_CASES
