"""Random graphs of the engine alone: fused into a native plan, and node by node, the same bits.

    OGIVE_EXAMPLES=5000 python -m pytest tests/engine/test_random_graphs.py

A graph has elements, rows, reductions along any axes, casts, broadcasts, views and copies, and parameters that stay open.
Each runs for several shapes, for operands whose elements lie apart, and in several threads at once.
"""

import math
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import ogive
from ogive._native import Plan
from ogive.common.dtypes import element_type
from ogive.engine.computation import cast, kernel_of, make_ufunc
from ogive.engine.executable import ArrayFunction, GraphDescription, grouped, plan_graph
from ogive.engine.graph import ArrayValue, GraphNode
from ogive.engine.row_formulas import REDUCTIONS, reduction
from ogive.engine.rows import RowFormula
from ogive.operators.signature import Signature
from tests.inputs import assert_same_bits

ASKED = os.environ.get("OGIVE_EXAMPLES")

KINDS = [
    element_type(name) for name in ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64")
]
BOOLEAN, INT64 = element_type("bool"), element_type("int64")

#: By the number of operands. Those with numeric parameters leave them open.
OF_FLOATS = {
    1: ["neg", "abs", "exp", "tanh", "sigmoid", "sqrt", "celu", "leaky_relu", "elu", "hard_sigmoid", "floor"],
    2: ["add", "sub", "mul", "div", "max", "min"],
}
OF_INTEGERS = {1: ["abs", "relu", "sign"], 2: ["add", "sub", "mul", "max", "min"]}
OF_ROWS = ["softmax", "log_softmax", "hardmax"]
#: For integers, the operators that have a kernel.
OF_INTEGER_ROWS = ["sum", "mean", "product", "max", "min", "l1", "sum_square", "arg_max", "arg_min"]
MOVEMENTS = ["turn", "flip", "skip", "flatten", "split off", "spread", "repeat"]
MOST_ELEMENTS = 40_000


def as_rows(x, order, count):
    """The last ``count`` axes in this order as one."""
    turned = x.transpose(order)
    lead = turned.shape[: turned.ndim - count]
    return turned.reshape(*lead, math.prod(turned.shape[len(lead) :]))


def without_axes(x, order, count, keeps):
    """One number a row, in the places of the axes that were not reduced."""
    rest = x.reshape(x.shape[:-1])
    if not keeps:
        return rest
    lead = len(order) - count
    return rest.reshape(*rest.shape, *(1,) * count).transpose(np.argsort([*order[:lead], *sorted(order[lead:])]))


def from_rows(x, order, sizes):
    return x.reshape(*x.shape[:-1], *sizes).transpose(np.argsort(order))


class Maker:
    """A graph that grows, out of choices that hold for any length of the first axis of its inputs."""

    def __init__(self, choices, batch):
        self.choices, self.batch = choices, batch
        self.described = GraphDescription()
        kind, (inner, length) = KINDS[choices["kind"]], choices["shape"]
        full = (batch, *inner, length)
        shapes = {"x": full, "y": full, "row": (length,), "numbers": (batch, *(1 for _ in inner), 1)}
        self.inputs = [ArrayValue(name, kind, shape) for name, shape in shapes.items()]
        number = np.array(3 if not kind.is_float else 0.75).astype(kind.numpy)
        values = np.arange(length).astype(kind.numpy)
        self.described.constants.update({"one": number.reshape(1), "scalar": number, "many": values})
        constants = [ArrayValue(name, kind, array.shape) for name, array in self.described.constants.items()]
        self.values = [*self.inputs, *constants]

    def pick(self, number, of_kind=None):
        """A value, new ones before old ones."""
        found = [value for value in self.values if of_kind is None or value.type is of_kind]
        return found[-1 - number % len(found)]

    def add(self, kind, shape, operands, computation, parameters=(), axis=-1):
        if len(shape) > 5 or math.prod(shape) > MOST_ELEMENTS:
            return None
        made = ArrayValue(len(self.described.nodes), kind, tuple(map(int, shape)))
        self.described.nodes.append(
            GraphNode(f"node {made.array}", made, tuple(operands), computation, parameters, axis)
        )
        return made

    def function(self, value, call, *, is_view=True):
        """The result of a function, whose shape an array without memory tells."""
        if value is None:
            return None
        shape = call(np.broadcast_to(np.zeros((), value.type.numpy), value.space)).shape
        made = self.add(value.type, shape, [value], None)
        if made is not None:
            self.described.functions[made.array] = ArrayFunction(call, is_view)
        return made

    def step(self, what, a, b, c, bits):
        made = getattr(self, f"_{what}")(a, b, c, bits)
        if made is not None:
            self.values.append(made)

    def _elements(self, a, b, c, bits):
        first = self.pick(a)
        if first.type is BOOLEAN:
            return self._choice(a, b, c, bits)
        operands = [first] if bits & 1 else [first, self.pick(b, first.type)]
        try:
            shape = np.broadcast_shapes(*(value.space for value in operands))
        except ValueError:
            operands, shape = [first, first], first.space
        names = (OF_FLOATS if first.type.is_float else OF_INTEGERS)[len(operands)]
        op = getattr(ogive, names[c % len(names)])
        computation = op.computation(Signature((first.type,) * len(operands), (first.type,)))
        parameters = tuple(0.25 * (1 + (bits >> place) % 7) for place in range(computation.parameter_count))
        return self.add(first.type, shape, operands, computation, parameters)

    def _choice(self, a, b, c, bits):
        """A comparison, and what it chooses."""
        x, y, z = self.pick(a), self.pick(b), self.pick(c)
        if x.type is BOOLEAN or y.type is not x.type or z.type is not x.type:
            return self._cast(a, b, c, bits)
        try:
            both, shape = (np.broadcast_shapes(*(v.space for v in vs)) for vs in ((x, y), (x, y, z)))
        except ValueError:
            return None
        compare = getattr(ogive, "less" if bits & 1 else "equal").computation(Signature((x.type,) * 2, (BOOLEAN,)))
        if math.prod(shape) > MOST_ELEMENTS:
            return None
        chosen = self.add(BOOLEAN, both, [x, y], compare)
        where = ogive.where.computation(Signature((BOOLEAN, x.type, x.type), (x.type,)))
        if bits & 2:
            self.values.append(chosen)
        return self.add(x.type, shape, [chosen, z, y], where)

    def _cast(self, a, b, _, bits):
        value, kind = self.pick(a), KINDS[b % len(KINDS)]
        return None if value.type is kind else self.add(kind, value.space, [value], cast(value.type, kind))

    def _turned_rows(self, value, bits):
        """The value as rows of some axes, in some order; (rows, the order, how many axes)."""
        rank = len(value.space)
        if not rank:
            return None
        axes = [axis for axis in range(rank) if bits >> axis & 1] or [rank - 1]
        kept = [axis for axis in range(rank) if axis not in axes]
        order, count = (*kept, *axes), len(axes)
        if order == tuple(range(rank)) and count == 1:
            return value, order, count
        rows = self.function(value, lambda x: as_rows(x, order, count))
        return None if rows is None else (rows, order, count)

    def _row_axis(self, value, c):
        """One axis, counted from the last, for half of the choices; else rows are turned by views."""
        rank = len(value.space)
        return -1 - c // 2 % rank if rank and c & 1 else None

    def _reduction(self, a, b, c, bits):
        value = self.pick(a)
        axis = self._row_axis(value, c)
        if value.type is BOOLEAN:
            return None
        found = (value, (), 1) if axis is not None else self._turned_rows(value, bits >> 1)
        if found is None:
            return None
        rows, order, count = found
        names = list(REDUCTIONS) if value.type.is_float else OF_INTEGER_ROWS
        name = names[b % len(names)]
        kind = INT64 if name.startswith("arg") else value.type
        if name.startswith("arg") and not rows.space[-1 if axis is None else axis]:
            return None
        if axis is not None:
            shape = list(value.space)
            shape[axis] = 1
            return self.add(kind, tuple(shape), [value], reduction(name, value.type, kind), axis=axis)
        made = self.add(kind, (*rows.space[:-1], 1), [rows], reduction(name, value.type, kind))
        keeps = bool(bits & 1)
        if keeps and order[-1] == len(order) - 1 and count == 1:
            return made
        return self.function(made, lambda x: without_axes(x, order, count, keeps))

    def _rows(self, a, b, c, bits):
        value = self.pick(a)
        axis = self._row_axis(value, c)
        found = (value, (), 1) if axis is not None else self._turned_rows(value, bits)
        if found is None or not value.type.is_float:
            return None
        rows, order, count = found
        kinds = (value.type,)
        formula = getattr(ogive, OF_ROWS[b % len(OF_ROWS)]).computation(Signature(kinds, kinds))
        row = RowFormula(formula.roots, kinds, kinds, parameter_count=formula.parameter_count)
        made = self.add(value.type, rows.space, [rows], row, axis=-1 if axis is None else axis)
        if rows is value:
            return made
        sizes = [value.space[axis] for axis in order[len(order) - count :]]
        return self.function(made, lambda x: from_rows(x, order, sizes))

    def _movement(self, a, b, c, bits):
        value, name = self.pick(a), MOVEMENTS[b % len(MOVEMENTS)]
        rank = len(value.space)
        axis = c % max(rank, 1)
        if not rank or name == "spread":
            return self.function(value, lambda x: np.broadcast_to(x, (2, *x.shape)))
        part = (slice(None),) * axis
        calls = {
            "turn": lambda x: x.transpose(np.roll(range(rank), axis)),
            "flip": lambda x: np.flip(x, axis),
            "skip": lambda x: x[(*part, slice(bits % 2, None, 2))],
            "flatten": lambda x: x.reshape(-1),
            "split off": lambda x: np.expand_dims(x, axis),
            "repeat": lambda x: np.repeat(x, 2, axis),
        }
        return self.function(value, calls[name], is_view=name != "repeat")


@st.composite
def cases(draw):
    number = st.sampled_from([0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 4, 5, 7, 9])  # mostly what was made last
    kinds = st.sampled_from(["elements"] * 8 + ["reduction"] * 3 + ["rows"] * 2 + ["movement", "cast", "choice"])
    bits = st.sampled_from([0, 1, 1, 1, 1, *range(32)])  # mostly the last axis, and kept
    return {
        "kind": draw(st.sampled_from([0, 0, 0, *range(len(KINDS))])),
        "shape": (
            draw(st.sampled_from([(), (), (1,), (2,), (3,), (17,), (2, 3)])),
            draw(st.sampled_from([1, 1, 2, 5, 16, 33, 100, 0])),
        ),
        "steps": draw(
            st.lists(
                st.tuples(kinds, number, st.integers(0, 99), st.integers(0, 99), bits),
                min_size=6,
                max_size=14,
            )
        ),
        "results": draw(st.lists(number, min_size=0, max_size=3)),
        "batches": draw(st.lists(st.sampled_from([0, 1, 2, 3, 4, 7, 65]), min_size=1, max_size=3)),
        "seed": draw(st.integers(0, 99)),
    }


def needed(described, results):
    """The nodes that results need, as front ends give them to the engine."""
    wanted, nodes = {value.array for value in results}, []
    for node in reversed(described.nodes):
        if node.result.array in wanted:
            wanted.update(operand.array for operand in node.operands)
            nodes.append(node)
    return GraphDescription(nodes[::-1], described.functions, described.constants)


def node_by_node(described, arrays):
    """Every value that is needed, each computed by a ufunc of its own from whole arrays."""
    values = {**described.constants, **arrays}
    for node in described.nodes:
        operands = [values[operand.array] for operand in node.operands]
        if node.computation is None:
            made = described.functions[node.result.array].call(*operands)
        else:
            if node.axis != -1:
                operands = [np.moveaxis(x, node.axis, -1) for x in operands]
            made = make_ufunc(node.label, node.computation, node.parameters)(*operands)
            if node.axis != -1:
                made = np.moveaxis(made, -1, node.axis)
        assert made.shape == node.result.space
        values[node.result.array] = made
    return values


def some_arrays(inputs, seed):
    generator = np.random.default_rng(seed)
    made = {}
    for value in inputs:
        array = generator.standard_normal(value.space) * 3
        if not value.type.is_float:
            array = np.floor(np.abs(array) if value.type.name.startswith("u") else array)
        made[value.array] = array.astype(value.type.numpy)
    return made


@pytest.mark.matrix(share=16, pool="slow")
@settings(
    max_examples=int(ASKED) if ASKED else 60,
    derandomize=not ASKED,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@given(cases())
def test_fused_and_node_by_node(case):
    kernels = {}
    for batch in case["batches"]:
        maker = Maker(case, batch)
        for step in case["steps"]:
            maker.step(*step)
        made = [node.result for node in maker.described.nodes]
        if not made:
            return
        results = list(dict.fromkeys([made[-1], *(made[-1 - number % len(made)] for number in case["results"])]))
        described = needed(maker.described, results)
        note("\n".join(f"{n.result} = {n.computation} of {[v.array for v in n.operands]}" for n in described.nodes))
        with np.errstate(all="ignore"):
            arrays = some_arrays(maker.inputs, case["seed"])
        known = node_by_node(described, arrays)
        expected = [known[value.array] for value in results]
        apart = {name: np.repeat(array, 2, axis=-1)[..., ::2] for name, array in arrays.items()}
        turned = {name: np.asfortranarray(array) for name, array in arrays.items()}
        fused, _ = plan_graph(described, maker.inputs, results)
        plain, _ = plan_graph(described, maker.inputs, results, fuse=False)
        runs = [plan.run(list(given.values())) for plan in (plain, fused, fused) for given in (arrays, apart, turned)]
        with ThreadPoolExecutor(3) as pool:
            runs += pool.map(Plan.run, [fused, plain, fused], [list(arrays.values())] * 3)
        for run in runs:
            for got, wanted in zip(run, expected, strict=True):
                assert_same_bits(got, np.asarray(wanted))
        for group in grouped(described, results):
            if group.nodes[0].computation is not None:
                kernel = kernel_of(group.computation)
                assert kernels.setdefault(group.computation.identity, kernel) is kernel  # one for all shapes
