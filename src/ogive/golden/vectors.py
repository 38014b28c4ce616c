"""Golden data: inputs that find faults, expected results that are exact, and a manifest that says how they were made."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ogive.catalog.rounded_steps import ONCE
from ogive.common.dtypes import FLOAT_FORMATS, FLOATS_OF_8_BITS, ElementType
from ogive.common.forking import cached_property
from ogive.golden.inputs import Chosen, choose, special_values
from ogive.golden.specification import Specification, WholeSpecification, find_operator, of_operator
from ogive.operators.operator import Operator

#: How results were decided, for manifests.
RULER = (
    "correctly rounded: to nearest, of two equally near numbers the even one; integers cut off towards zero and "
    "saturated, or modulo the number of values where the operator wraps around. Decided by running error bounds and "
    "by enclosures (Arb), never by a kernel"
)


def arrays_in(value: Any) -> list[np.ndarray]:
    """The arrays of a value: one of a tensor, those of a sequence, none of an optional value that is not there."""
    return (
        [] if value is None else [x for item in value for x in arrays_in(item)] if isinstance(value, list) else [value]
    )


@dataclass(frozen=True, eq=False)
class Case:
    """One call: inputs, and what must come out.

    Values are arrays. Those of ONNX's Identity may be sequences, which are lists of arrays, and None.
    """

    name: str
    inputs: tuple[Any, ...]
    expected: Any
    others: tuple[np.ndarray, ...] = ()
    """The results of an operator of several behind the first."""

    @property
    def elements(self) -> int:
        """How many elements the first result has."""
        return sum(x.size for x in arrays_in(self.expected))


@dataclass(frozen=True, eq=False)
class Vectors:
    """Golden data of one operator in one element type, with one set of parameters.

    ``inputs`` and ``expected`` are those of the first case, which has all chosen elements. ``cases`` has the others
    too: broadcasting, strides, no elements, odd lengths.
    """

    specification: Specification
    chosen: Chosen | None
    cases: tuple[Case, ...]
    seed: int

    @property
    def inputs(self) -> tuple[Any, ...]:
        """The inputs of the first case."""
        return self.cases[0].inputs

    @property
    def expected(self) -> Any:
        """The correctly rounded results of the first case."""
        return self.cases[0].expected

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all inputs and expected results: names, types, shapes and bytes."""
        digest = hashlib.sha256()
        for case in self.cases:
            for value in (*case.inputs, case.expected, *case.others):
                if not isinstance(value, np.ndarray):
                    count = "no value" if value is None else f"{len(value)} tensors"
                    digest.update(f"{case.name} {count}\n".encode())
                for array in arrays_in(value):
                    digest.update(f"{case.name} {array.dtype.name} {array.shape}\n".encode())
                    is_text = array.dtype == object
                    digest.update(repr(array.tolist()).encode() if is_text else np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """The contents of the file beside the data."""
        import ogive

        spec = self.specification
        numbers = [{name: float(value) for name, value in step.numbers.items()} for step in spec.steps]
        return {
            "operator": spec.operator,
            "standard": spec.standard,
            "version": spec.version,
            "tensors": dict(zip(spec.tensors, (t.name for t in spec.inputs), strict=True)),
            "result": spec.output.name,
            "parameters": {name: _plain(value) for name, value in spec.parameters.items()},
            "parameters_as_used": numbers[0] if len(numbers) == 1 else numbers,
            "parameter_rule": spec.parameter_rule,
            "ruler": RULER,
            **({"rounding": spec.rounding} if spec.rounding != ONCE else {}),
            **({"saturates": spec.steps[-1].saturates} if spec.kind.name in FLOATS_OF_8_BITS and spec.steps else {}),
            "seed": self.seed,
            "cases": [
                {"name": case.name, "shapes": [_shape(x) for x in case.inputs], "elements": case.elements}
                for case in self.cases
            ],
            "chosen": {}
            if self.chosen is None
            else {
                label: int(count)
                for label, count in zip(
                    self.chosen.labels,
                    np.bincount(self.chosen.reasons, minlength=len(self.chosen.labels)),
                    strict=True,
                )
            },
            "digest": f"sha256:{self.digest}",
            "made_by": f"ogive {ogive.__version__}",
        }

    @property
    def name(self) -> str:
        """A name for files: operator, version, type, parameters that are not the defaults."""
        spec = self.specification
        parts = [spec.operator, spec.version.replace(".", "_"), spec.kind.name]
        parts += [] if spec.rounding == ONCE else [f"{spec.rounding}_rounded"]
        parts += [] if not spec.steps or spec.steps[-1].saturates else ["unsaturated"]
        if spec.catalogue:
            op = find_operator(spec.catalogue)
            defaults = {p.name: p for p in op.parameters}
            parts += [
                f"{name}_{_in_a_name(value)}"
                for name, value in spec.parameters.items()
                if name in defaults and not defaults[name].is_default(value)
            ]
        return "-".join(part for part in parts if part)


def _shape(value: Any) -> Any:
    return None if value is None else [_shape(x) for x in value] if isinstance(value, list) else list(value.shape)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [str(v) for v in value.flat]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _in_a_name(value: Any) -> str:
    return str(value).replace("-", "minus").replace(".", "p").replace("+", "")


def vectors(
    operator: Operator | str,
    dtype: ElementType | np.dtype | type | str = "float32",
    parameters: Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
    saturate: bool = True,
    rounding: str = ONCE,
    **named: Any,
) -> Vectors:
    """Golden data of an operator: inputs, and results that are correctly rounded.

    Every input of one tensor of 8 or 16 bits; of longer types and several tensors special values, kinks, edges, tails,
    results near a tie, and random numbers. Parameters are given by name, or as a mapping. Results of floats of 8 bits end at the
    largest number, as ONNX's Cast has it; with ``saturate=False`` they are infinities or NaN there. ``rounding`` says where a
    gated unit rounds: "once", "gate" or "body", as its operator has it.

    Raises ArgumentError for an unknown operator, DTypeError for a type that it does not have, ParameterError
    for parameters and roundings.

    >>> import ogive
    >>> golden = ogive.vectors("gelu", "bfloat16")
    >>> golden.inputs[0].size, golden.expected.dtype
    (65536, dtype(bfloat16))
    """
    given = {**(parameters or {}), **named}
    return make(of_operator(operator, dtype, given, saturate=saturate, rounding=rounding), seed=seed)


def make(specification: Specification, *, seed: int = 0, samples: int = 1024) -> Vectors:
    """Golden data of a specification."""
    if isinstance(specification, WholeSpecification):
        calls = tuple(Case(name, given, results[0], results[1:]) for name, given, results in specification.calls(seed))
        return Vectors(specification, None, calls, seed)
    if specification.is_row_wise:
        cases = tuple(_rows(specification, seed))
        return Vectors(specification, None, cases, seed)
    chosen = choose(specification, seed=seed, samples=samples)
    cases = (
        Case("elements", chosen.arrays, specification.expected(chosen.arrays, with_exact=False).right),
        *_layouts(specification, chosen, seed),
    )
    return Vectors(specification, chosen, cases, seed)


#: Lengths that vector code ends differently.
LENGTHS = (0, 1, 3, 7, 17, 33, 65)


def _layouts(specification: Specification, chosen: Chosen, seed: int) -> Iterator[Case]:
    """Cases of the same elements in other layouts, with the same expected results."""
    generator = np.random.default_rng(seed + 1)
    some = generator.integers(0, chosen.arrays[0].size, 256)
    flat = [x[some] for x in chosen.arrays]

    def case(name: str, inputs: Sequence[np.ndarray]) -> Case:
        return Case(name, tuple(inputs), specification.expected(inputs, with_exact=False).right)

    for length in LENGTHS:
        yield case(f"length {length}", [x[:length] for x in flat])
    yield case("four dimensions", [x[:210].reshape(2, 3, 5, 7) for x in flat])
    yield case("strides of 3", [x[: 3 * 79 : 3] for x in flat])
    yield case("backwards", [x[100::-1] for x in flat])
    yield case("transposed", [x[: 13 * 11].reshape(13, 11).T for x in flat])
    if len(flat) > 1:
        yield case("one number for all", [flat[0][:35].reshape(5, 7), *(x[:1] for x in flat[1:])])
        shapes = [(5, 1, 7), (3, 1), (1, 7), (1,)]
        yield case(
            "broadcasting",
            [
                x[: math.prod(s)].reshape(s)
                for x, s in zip(flat, [shapes[i % 4] for i in range(len(flat))], strict=True)
            ],
        )


#: Lengths of rows, and how widely their elements are spread.
ROW_LENGTHS, ROW_WIDTHS = (1, 2, 3, 7, 8, 16, 31, 100, 257), (0.1, 1.0, 8.0, 60.0)


def _rows(specification: Specification, seed: int) -> Iterator[Case]:
    kind = specification.inputs[0]
    generator = np.random.default_rng(seed)

    def case(name: str, x: np.ndarray) -> Case:
        return Case(name, (x,), specification.right([x]))

    def drawn(*shape: int, width: float) -> np.ndarray:
        if kind.is_float:
            with np.errstate(over="ignore"):
                return (generator.standard_normal(shape) * width).astype(kind.numpy)
        return generator.integers(max(kind.minimum, -100), 100, shape).astype(kind.numpy)

    for length in ROW_LENGTHS:
        for width in ROW_WIDTHS:
            yield case(f"rows of {length}, width {width:g}", drawn(3, length, width=width))
    if kind.is_float:
        special = special_values(kind)
        with np.errstate(invalid="ignore"):  # NumPy warns of the signalling NaN of a type of ml_dtypes
            finite = special[np.isfinite(special)]
        yield case("special values", np.stack([generator.permutation(finite)[:24] for _ in range(4)]))
        rows = []
        for odd in ([np.nan], [np.inf], [-np.inf], [np.inf, np.inf], [-np.inf] * 8, [np.inf, -np.inf], [0.0, -0.0]):
            row = drawn(8, width=1.0)
            row[: len(odd)] = odd
            rows.append(row)
        yield case("infinities and NaN", np.stack(rows))
        largest = FLOAT_FORMATS[kind.name].largest
        far = [[0.0] * 8, [1.0] * 8, [-1000.0] + [0.0] * 7, [largest / 16] * 8, [88.0] * 4 + [-88.0] * 4]
        yield case("equal elements and far ones", np.array(far, np.float64).astype(kind.numpy))
    yield case("four dimensions", drawn(2, 1, 3, 5, width=2.0))


# ---- parameters

#: Values of numeric parameters that formulas treat differently: 0.1 is no number of a binary format.
REGIMES = (0.1, 1.0, 2.5, -0.75, 0.0, 1e-3, 100.0)


def regimes(operator: Operator | str) -> list[dict[str, Any]]:
    """Sets of parameters that an operator should be tested with: the defaults, its choices, each regime of a number.

    >>> regimes("gelu")
    [{'approximate': 'none'}, {'approximate': 'tanh'}]
    """
    from ogive.errors import ParameterError

    op = find_operator(operator)
    start = {p.name: 0.75 if p.is_required else p.default for p in op.parameters}
    found = [start]
    for parameter in op.parameters:
        for value in parameter.choices or REGIMES:
            given = {**start, parameter.name: value}
            try:
                op.checked_parameters(given)
            except ParameterError:
                continue
            if given not in found:
                found.append(given)
    return found
