"""The inputs that every operator is tested with: one place, so that a new hard case reaches all of them."""

import itertools

import numpy as np
from hypothesis import strategies as st

from ogive.catalog import OPERATORS
from ogive.common.dtypes import ElementType
from ogive.graph.expression import walk


def named(cases):
    return [f"{op.name}-{'-'.join(t.name for t in signature.inputs)}" for op, signature in cases]


#: Every (operator, signature) of the catalogue's element-wise operators, of its row-wise ones (OF_ROWS), and of these the
#: ones with a result for each element, with readable ids.
CASES = [(op, signature) for op in OPERATORS.values() if not op.is_row_wise for signature in op.signatures]
CASE_IDS = named(CASES)
OF_ROWS = [(op, signature) for op in OPERATORS.values() if op.is_row_wise for signature in op.signatures]
ROW_CASES = [(op, signature) for op, signature in OF_ROWS if not op.reduces]
ROW_CASE_IDS = named(ROW_CASES)


def _loops():
    """One element-wise case for all that pass the same way through the loops in C.

    These see the sizes of types, and whether a kernel leaves elements to its repair: as most elementary functions do.
    """
    found = {}
    for op, signature in CASES:
        is_curved = any(node.operation.is_elementary for root in op.formula() for node in walk(root))
        sizes = tuple(t.itemsize for t in signature.inputs), tuple(t.itemsize for t in signature.outputs)
        found.setdefault((sizes, is_curved, signature.inputs[0].is_float), (op, signature))
    return [*found.values()]


LOOPS = _loops()
LOOP_IDS = named(LOOPS)


def of_one_array(op):
    """An operator of several tensors as a function of one array, which stands for each of them."""
    return op if op.inputs == 1 else lambda x, **keywords: op(*(x,) * op.inputs, **keywords)


#: Parameters beside the defaults that each operator is tested with: 0.75 and -1.25 in every place they may stand.
def parameter_sets(op):
    """The defaults, and every numeric parameter at values that its constraint allows."""
    required = {p.name: 1.5 for p in op.numeric_parameters if p.is_required}
    sets = [required]
    for value in (0.75, -1.25, 3.0):
        changed = {p.name: value for p in op.numeric_parameters if p.constraint.holds(value)}
        if changed:
            sets.append(changed)
    choices = [[(p.name, c) for c in p.choices] for p in op.parameters if p.choices]
    return [{**numbers, **dict(chosen)} for numbers in sets for chosen in itertools.product(*choices)]


def special_values(kind: ElementType) -> np.ndarray:
    """The ends, the zeros, the neighbours of small numbers, the subnormals, NaN: whatever breaks formulas."""
    if kind.name == "bool":
        return np.array([False, True])
    if kind.is_integer:
        values = {0, 1, 2, 3, 5, 7, 100, kind.maximum, kind.maximum - 1, kind.minimum, kind.minimum + 1}
        values |= {kind.maximum // 2, kind.maximum // 2 + 1, -1, -2, -3, -7, -100}
        values |= {sign * (2**n + d) for n in (24, 31, 53, 62) for d in (-1, 0, 1, 3) for sign in (1, -1)}
        return np.array(sorted(v for v in values if kind.minimum <= v <= kind.maximum), dtype=kind.numpy)
    import ml_dtypes

    info = ml_dtypes.finfo(kind.numpy)
    positive = [0.0, float(info.smallest_subnormal), float(info.tiny), float(info.max), float(info.eps)]
    positive += [0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 6.0, 9.0, 17.3, 88.72, 87.3, 103.97, 20.5, 1e-3, 1e-7, 1e-30, 1e30]
    array = np.array(positive + [-v for v in positive] + [np.inf, -np.inf, np.nan], dtype=np.float64)
    with np.errstate(over="ignore"):
        array = array.astype(kind.numpy)
    bits = array.view(f"u{kind.itemsize}")
    return np.unique(np.concatenate([bits, bits + 1, bits - 1])).view(kind.numpy)


def random_values(kind: ElementType, count: int, seed: int = 0) -> np.ndarray:
    """Values of all magnitudes: every bit pattern is as likely, and every second value is of ordinary size."""
    generator = np.random.default_rng(seed)
    if kind.name == "bool":
        return generator.integers(0, 2, count).astype(bool)
    patterns = generator.integers(0, 256, (count, kind.itemsize), dtype=np.uint8).view(kind.numpy)[:, 0]
    ordinary = (generator.standard_normal(count) * 4).astype(np.float64)
    if kind.is_integer:
        ordinary = np.clip(np.round(ordinary), kind.minimum, kind.maximum)
    return np.where(np.arange(count) % 2 == 0, patterns, ordinary.astype(kind.numpy))


def operands(signature, count: int, seed: int = 0) -> list[np.ndarray]:
    """One array per input, special values first, in combinations that differ between the inputs."""
    arrays = []
    for position, kind in enumerate(signature.inputs):
        special = special_values(kind)
        values = np.concatenate([special, random_values(kind, count, seed + position)])
        if position:
            values = np.random.default_rng(seed + position).permutation(values)
        arrays.append(values)
    length = min(map(len, arrays))
    return [array[:length] for array in arrays]


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays agree in type, shape and every bit: == hides the sign of zero and never equals NaN."""
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def assert_same_bits(a: np.ndarray, b: np.ndarray, *inputs: np.ndarray) -> None:
    """Like `same_bits`, naming the first element that differs."""
    if same_bits(a, b):
        return
    assert a.dtype == b.dtype
    assert a.shape == b.shape
    unsigned = f"u{a.dtype.itemsize}"
    different = np.flatnonzero(
        np.ascontiguousarray(a).view(unsigned).ravel() != np.ascontiguousarray(b).view(unsigned).ravel()
    )
    where = different[0]
    given = [np.broadcast_to(array, a.shape).ravel()[where] for array in inputs]
    raise AssertionError(
        f"{len(different)} of {a.size} elements differ; first at {where}: {a.ravel()[where]!r} and {b.ravel()[where]!r} for {given!r}"
    )


finite_floats = st.floats(allow_nan=False, allow_infinity=False, width=32)
