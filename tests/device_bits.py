"""Every kernel on a device beside the processor's, by equal bits: operators, derivatives, both contracts, rows, formulas, models.

    python -m tests.device_bits cuda:0 --jobs 8

prints what differs, and the counts. A NaN may have another payload. `ogive devices` names what is there.

    python -m tests.device_bits cuda:0 --every exp gelu

computes all 2**32 float32 inputs there: the digests must be those of accuracy/float32.json.

    python -m tests.device_bits cuda:0 --times

prints the time of an element there, beside PyTorch's on the same device where it is CUDA's.
"""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ogive
from ogive.catalog import OPERATORS
from ogive.common.dtypes import element_type
from ogive.errors import OgiveError, UnsupportedError
from ogive.exporting.sources import elements
from ogive.laboratory.accuracy.misrounded import digest_of_results
from ogive.operators.operator import Operator
from tests import compositions

__all__ = ["Case", "cases", "difference"]

COUNTED = Path(__file__).parents[1] / "accuracy" / "float32.json"

#: Elements of an operand: those of exported functions' digests, and N(0, 2).
FIXED, ORDINARY = 4099, 1 << 16
#: Short rows, and rows of several segments.
ROWS = ((19, 331), (2, 20011))
#: Operands of a formula.
OPERANDS = 256
#: Elements and rounds of a measured time.
TIMED, ROUNDS = 1 << 24, 9

#: PyTorch's function of an operator.
OF_TORCH: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "exp": lambda torch: torch.exp,
    "tanh": lambda torch: torch.tanh,
    "sigmoid": lambda torch: torch.sigmoid,
    "erf": lambda torch: torch.erf,
    "relu": lambda torch: torch.relu,
    "gelu": lambda torch: torch.nn.functional.gelu,
    "swish": lambda torch: torch.nn.functional.silu,
    "mish": lambda torch: torch.nn.functional.mish,
    "softplus": lambda torch: torch.nn.functional.softplus,
    "elu": lambda torch: torch.nn.functional.elu,
}


class Case(NamedTuple):
    """A computation on both: an operator with a signature's place, or the seed of a formula or a model."""

    kind: str
    name: str
    place: int = 0
    accuracy: str = "exact"

    def __str__(self) -> str:
        return f"{self.kind} {self.name} {self.place} {self.accuracy}"


def cases(formulas: int, models: int) -> Iterator[Case]:
    """First rows and other operators, then derivatives, formulas, models, and the fast contract."""
    for accuracy in ("exact", "fast"):
        for op in sorted(OPERATORS.values(), key=lambda op: not op.is_row_wise):
            for place in range(len(op.signatures)):
                yield Case("rows" if op.is_row_wise else "operator", op.name, place, accuracy)
        if accuracy == "fast":
            continue
        for op in OPERATORS.values():
            for place in range(len(_gradient(op).signatures) if _gradient(op) else 0):
                yield Case("derivative", op.name, place)
        for seed in range(formulas):
            yield Case("formula", list(compositions.FORMATS)[seed % 4], seed)
        for seed in range(models):
            yield Case("model", list(compositions.FORMATS)[seed % 4], seed)


@cache
def _gradient(op: Operator) -> Any:
    """The derivative of an operator of one tensor, if it has one."""
    try:
        return ogive.grad(op) if op.inputs == op.nout == 1 and not op.is_row_wise else None
    except OgiveError:
        return None


def _arrays(op: Operator, place: int, shape: tuple[int, ...] | None) -> list[np.ndarray]:
    found = []
    generator = np.random.default_rng(place)
    for k, kind in enumerate(op.signatures[place].inputs):
        if shape is not None:
            found.append(elements(kind, k, int(np.prod(shape))).reshape(shape))
            continue
        ordinary = generator.normal(0, 2, ORDINARY)
        with np.errstate(all="ignore"):
            found.append(np.concatenate([elements(kind, k, FIXED), ordinary.astype(kind.numpy)]))
    return found


def difference(case: Case, device: Any) -> str:
    """How the device's results differ from the processor's, or nothing."""
    if case.kind == "model":
        return _of_model(case, device)
    if case.kind == "formula":
        tree, leaves = compositions.drawn(case.place)
        op = ogive.operator(compositions.formula_of(tree, leaves))
        return _of_call(op, {}, compositions.operands(leaves, case.name, OPERANDS, case.place), device)
    op = OPERATORS[case.name]
    op = ogive.grad(op) if case.kind == "derivative" else getattr(op, case.accuracy)
    values = {p.name: p.choices[0] if p.choices else 0.75 for p in op.parameters if p.is_required}
    for shape in ROWS if case.kind == "rows" else (None,):
        if found := _of_call(op, values, _arrays(op, case.place, shape), device):
            return found
    return ""


def _listed(results: Any) -> Sequence[Any]:
    return results if isinstance(results, tuple | list) else (results,)


def _of_call(op: Operator, values: dict[str, Any], given: Sequence[np.ndarray], device: Any) -> str:
    with np.errstate(all="ignore"):
        wanted = _listed(op(*given, **values))
    found = _listed(device.function(op)(*map(device.array, given), **values))
    return _apart(found, wanted)


def _apart(found: Sequence[Any], wanted: Sequence[Any]) -> str:
    for place, (one, right) in enumerate(zip(found, wanted, strict=True)):
        array = one.get() if hasattr(one, "get") else one
        if (array.dtype, array.shape) != (right.dtype, right.shape):
            return f"result {place} is {array.dtype} {array.shape}, not {right.dtype} {right.shape}"
        bits = [np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}") for x in (array, right)]
        apart = (bits[0] != bits[1]) & ~((array != array) & (right != right))
        if apart.any():
            at = tuple(map(int, np.argwhere(apart)[0]))
            return f"result {place}: {apart.sum()} of {apart.size}, at {at} {array[at]!r}, not {right[at]!r}"
    return ""


def _of_model(case: Case, device: Any) -> str:
    from tests import doors

    graph = doors.drawn_graph(case.place, "onnx")
    arrays = doors.drawn_arrays(case.place, case.name, (3, 2, (7, 1, 40)[case.place % 3]))
    model = doors.onnx_model(graph, arrays)
    named = {f"v{i}": x for i, x in enumerate(arrays)}
    with np.errstate(all="ignore"):
        wanted = _listed(ogive.onnx.load(model)(**named))
    return _apart(
        _listed(ogive.onnx.load(model, device=device)(**{n: device.array(x) for n, x in named.items()})), wanted
    )


def _tried(name: str, case: Case) -> tuple[Case, str, bool]:
    """The case, what is wrong with it, and whether it was refused."""
    try:
        return case, difference(case, ogive.device(name)), False
    except UnsupportedError as error:
        return case, str(error), True
    except Exception as failure:  # a failure is a finding: the run goes on
        return case, f"{type(failure).__name__}: {failure}", False


def compare(name: str, jobs: int, seconds: float, chosen: Sequence[Case]) -> int:
    """Print what differs and the counts; the number of what differs."""
    end = time.monotonic() + seconds
    counts: Counter[str] = Counter()
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        waiting = [pool.submit(_tried, name, case) for case in chosen]
        for done in as_completed(waiting):
            case, found, is_refused = done.result()
            counts[f"{case.kind}, {case.accuracy}"] += 1
            counts["refused" if is_refused else "differ"] += bool(found)
            if found:
                print(f"{case}: {'refused: ' if is_refused else ''}{found[:400]}", flush=True)
            if time.monotonic() > end:
                pool.shutdown(wait=False, cancel_futures=True)
                print("the time is over")
                break
    print(", ".join(f"{name} {n}" for name, n in sorted(counts.items())), f"of {len(chosen)}")
    return counts["differ"]


def digest(name: str, operator: str, stride: int = 1) -> tuple[str, str, float]:
    """The digest of an operator's results on a device, of all or of every so many-th, and how long it took."""
    device, op, begin = ogive.device(name), OPERATORS[operator], time.monotonic()
    function = device.function(op)
    found = digest_of_results(
        op, element_type("float32"), {}, stride, function=lambda x: function(device.array(x)).get()
    )
    return operator, found, time.monotonic() - begin


def every(name: str, jobs: int, operators: Sequence[str]) -> int:
    """Print whether all 2**32 results of each are those that were counted; the number of those that are not."""
    rows = {
        row["operator"]: row["digest"] for row in reversed(json.loads(COUNTED.read_text())) if not row["parameters"]
    }
    wrong = 0
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        for done in as_completed([pool.submit(digest, name, operator) for operator in operators]):
            operator, found, seconds = done.result()
            is_right = found == rows[operator]
            wrong += not is_right
            print(
                f"{operator}: {'the digest of the count' if is_right else 'ANOTHER DIGEST'}, {seconds:.0f} s",
                flush=True,
            )
    return wrong


def _median(call: Callable[[], Any], wait: Callable[[], Any]) -> float:
    """Nanoseconds an element."""
    found = []
    for _ in range(ROUNDS + 2):
        wait()
        begin = time.perf_counter()
        call()
        wait()
        found.append(time.perf_counter() - begin)
    return statistics.median(found[2:]) / TIMED * 1e9


def times(name: str) -> None:
    """Print nanoseconds an element for N(0, 2), of both contracts and PyTorch."""
    device = ogive.device(name)
    print(f"{device!r}, {TIMED:,} float32 of N(0, 2), ns an element: exact, fast, PyTorch")
    x = np.random.default_rng(0).normal(0, 2, TIMED).astype(np.float32)
    torch: Any = importlib.import_module("torch") if name.startswith("cuda") else None
    on: Any = torch.from_numpy(x).to(name) if torch else device.array(x)
    wait = torch.cuda.synchronize if torch else lambda: None
    for operator, peer in OF_TORCH.items():
        op = OPERATORS[operator]
        row = [_median(partial(device.function(one), on), wait) for one in (op, op.fast)]
        if torch:
            row.append(_median(partial(peer(torch), on), wait))
        print(f"{operator:10}", *(f"{ns:8.4f}" for ns in row), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("device", help="as ogive devices shows it")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--seconds", type=float, default=3600, help="stop after so many")
    parser.add_argument("--formulas", type=int, default=200)
    parser.add_argument("--models", type=int, default=100)
    parser.add_argument("--each", type=int, default=1, metavar="N", help="take each Nth case")
    parser.add_argument(
        "--every", nargs="+", default=[], metavar="NAME", help="operators of which to compute all 2**32 inputs"
    )
    parser.add_argument("--times", action="store_true")
    chosen = parser.parse_args()
    if chosen.times:
        times(chosen.device)
        return
    if chosen.every:
        raise SystemExit(every(chosen.device, chosen.jobs, chosen.every) > 0)
    listed = [*cases(chosen.formulas, chosen.models)][:: chosen.each]
    raise SystemExit(compare(chosen.device, chosen.jobs, chosen.seconds, listed) > 0)


if __name__ == "__main__":
    main()
