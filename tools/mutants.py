"""Change the code at one place at a time, and see which tests notice it.

    python -m tools.mutants            # all of them, one after the other
    python -m tools.mutants atan2 ends # those whose names contain one of these words
    python -m tools.mutants --list

Each mutant names the test files where it should be seen. They run as the README's command runs them, with one case of each
operator in every matrix, and end at the first failure. The files of this checkout are changed for that time and written
back, so nothing else may run in it meanwhile, and the changed files must be as committed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent


class Mutant(NamedTuple):
    """One change of the code that makes it wrong."""

    name: str
    path: str
    """Below src/ogive."""
    old: str
    """Stands once in the file."""
    new: str
    tests: str
    """Files and folders below tests/."""


MUTANTS = (
    # ---- bounds of errors, and the levels that decide
    Mutant(
        "a sum has no rounding error",
        "lowering/numerics/bounded.py",
        "            relative, absolute, least = unit, self._sum_of(x.absolute, y.absolute), 0.0",
        "            relative, absolute, least = 0.0, self._sum_of(x.absolute, y.absolute), 0.0",
        "numerics cpu/test_exact.py cpu/test_ties.py",
    ),
    Mutant(
        "a rounding of 16 bits on the way is exact",
        "lowering/tested.py",
        "SINGLE_ROUNDING = 2.0**-22",
        "SINGLE_ROUNDING = 2.0**-30",
        "cpu/test_exact.py cpu/test_halves.py",
    ),
    Mutant(
        "every quotient is rounded once",
        "lowering/rounded_once.py",
        '        if output.name not in ("float32", "float16", "bfloat16"):\n            return False\n',
        '        if output.name not in ("float32", "float16", "bfloat16"):\n            return False\n'
        "        if root.operation is ops.DIVIDE:\n            return True\n",
        "cpu/test_exact.py cpu/test_textbooks.py accuracy/test_audit.py",
    ),
    Mutant(
        "numbers lie beside an infinity",
        "lowering/tested.py",
        "            is_beyond = both(m.is_finite_(beyond.high), is_beyond)",
        "            is_beyond = both(m.not_(m.equal_(beyond.high, zero)), is_beyond)",
        "cpu/test_ties.py",
    ),
    Mutant(
        "a rest of third order has one sign",
        "enclosures/near_zero.py",
        "{key: side.rises for key, side in sides.items()}",
        "{key: first.rises for key, side in sides.items()}",
        "golden/test_near_zero.py cpu/test_third_level.py",
    ),
    Mutant(
        "what is added to vast numbers may be vast",
        "lowering/numerics/beyond_range.py",
        "        smaller = _is_ordinary(m, other)\n",
        "        smaller = _is_ordinary(m, other, 2.0**1023)\n",
        "cpu/test_levels.py cpu/test_third_level.py cpu/test_limits.py",
    ),
    # ---- references
    Mutant(
        "enclosures: inf - inf is infinite",
        "enclosures/enclosure.py",
        '            if kinds == ("infinity", "infinity") and a.sign != b.sign:\n                return _NAN\n            return a if',
        "            return a if",
        "accuracy/test_enclosure.py",
    ),
    Mutant(
        "enclosures: ties go away from zero",
        "enclosures/enclosure.py",
        "    whole += half > 0 or (half == 0 and whole % 2)",
        "    whole += half >= 0",
        "accuracy/test_enclosure.py",
    ),
    Mutant(
        "bounds beside a run: tanh has no error",
        "laboratory/accuracy/running_bound.py",
        "functions.TANH: (np.tanh, itself, 0,",
        "functions.TANH: (np.tanh, lambda x, e, f: 0 * e, 0,",
        "accuracy/test_running_bound.py",
    ),
    # ---- derivatives
    Mutant(
        "the slope of an angle at the origin",
        "differentiation/slope_forms.py",
        "        return where(is_origin, 0, found)",
        "        return found",
        "gradients",
    ),
    Mutant(
        "the slope of scaled_tanh by beta at infinity",
        "gradients/registered.py",
        "    return alpha * with_limit(u, f.copy_sign(0, x), x * tanh_slope(u))",
        "    return alpha * (x * tanh_slope(u))",
        "gradients",
    ),
    Mutant(
        "arccos grows",
        "differentiation/partials.py",
        '    "acos": lambda n, x: (-(1 / f.square_root(1 - x * x)),),',
        '    "acos": lambda n, x: (1 / f.square_root(1 - x * x),),',
        "gradients",
    ),
    # ---- the engine
    Mutant(
        "in place over what rows still read",
        "engine/schedule.py",
        "    return task.is_element_wise and are_alike and all(",
        "    return are_alike and all(",
        "engine/test_schedule.py",
    ),
    Mutant(
        "memory ends a step late",
        "engine/schedule.py",
        "        last_use.update((name, index) for name, _ in task.reads)",
        "        last_use.update((name, index + 1) for name, _ in task.reads)",
        "engine/test_schedule.py",
    ),
    Mutant(
        "a plan serves a batch of another length",
        "engine/plan.py",
        "                raise ShapesChanged\n        return array",
        "                pass\n        return array",
        "engine/test_plan.py onnx/test_batches.py",
    ),
    Mutant(
        "a kernel keeps back what others read",
        "engine/fusion.py",
        "        if not (count and graph.can_read_stored):",
        "        if not count:",
        "engine onnx/test_model.py",
    ),
    # ---- DirectML
    Mutant(
        "an output over two inputs at once",
        "directml/binding.py",
        "        if index not in hazards.in_place:",
        "        if False:",
        "directml",
    ),
    Mutant(
        "a range four bytes beyond its buffer",
        "directml/binding.py",
        "    if offset + given > memory.nbytes:",
        "    if offset + given > memory.nbytes + 4:",
        "directml/test_binding.py",
    ),
    Mutant(
        "a binding four bytes too short",
        "directml/binding.py",
        "    if given < size:",
        "    if given < size - 4:",
        "directml/test_binding.py",
    ),
    Mutant(
        "activations fuse at any feature level",
        "directml/support.py",
        '    if level < since:\n        what = f"is {name} on a device',
        '    if level < 0:\n        what = f"is {name} on a device',
        "directml/test_support.py",
    ),
    # ---- ONNX, WebNN, containers
    Mutant(
        "notEqual is equal",
        "webnn/operator_table.py",
        '    "notEqual": _binary("Equal, Not"),',
        '    "notEqual": _binary("Equal"),',
        "webnn",
    ),
    Mutant(
        "the smallest is the largest",
        "onnx/reduction_nodes.py",
        '    "ReduceMin": "min",',
        '    "ReduceMin": "max",',
        "onnx/test_reductions.py",
    ),
    Mutant(
        "masks of two arrays: one is enough",
        "operators/containers.py",
        "    mask = np.logical_or.reduce([",
        "    mask = np.logical_and.reduce([",
        "cpu/test_containers.py",
    ),
    # ---- catalogue and messages
    Mutant(
        "hard_swish is the identity from 4 on",
        "catalog/activations.py",
        "    return where(x >= 3, x, inner * ((inner + 3) / 6))",
        "    return where(x > 4, x, inner * ((inner + 3) / 6))",
        "cpu/test_special_cases.py golden",
    ),
    Mutant(
        "a tensor's size forgets its strides",
        "directml/tensor.py",
        "        elements = 1 + sum((size - 1) * stride",
        "        elements = sum(size * stride",
        "directml/test_tensor.py",
    ),
    Mutant(
        "an unknown axis is taken",
        "engine/movement/views.py",
        "        if not -rank <= axis < rank:",
        "        if not -rank <= axis <= rank:",
        "onnx/test_movement.py onnx/test_rows.py messages",
    ),
)


def changed(mutant: Mutant) -> str:
    """The text of the mutant's file with its change."""
    text = (ROOT / "src" / "ogive" / mutant.path).read_text()
    if text.count(mutant.old) != 1:
        raise SystemExit(
            f"{mutant.name}: its place stands {text.count(mutant.old)} times in {mutant.path}; mend tools/mutants.py"
        )
    return text.replace(mutant.old, mutant.new)


@contextmanager
def applied(mutant: Mutant) -> Iterator[None]:
    """The checkout with the change."""
    path = ROOT / "src" / "ogive" / mutant.path
    before, after = path.read_bytes(), changed(mutant)
    path.write_text(after)
    try:
        yield
    finally:
        path.write_bytes(before)


def noticed_by(mutant: Mutant) -> str:
    """The first test that fails with the change; empty if none does."""
    tests = [str(Path("tests") / name) for name in mutant.tests.split()]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    with applied(mutant):
        found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines = found.stdout.splitlines()
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    if found.returncode not in (0, 1):  # 5: there was no test
        raise SystemExit(f"{mutant.name}: {' '.join(tests)} did not run:\n{found.stdout}{found.stderr}")
    return failed[0].partition(" ")[2].partition(" - ")[0] if failed else ""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("words", nargs="*", help="only the mutants whose names contain one of these")
    parser.add_argument("--list", action="store_true", help="name them, and see that their places are there")
    options = parser.parse_args(arguments)
    chosen = [m for m in MUTANTS if not options.words or any(word in m.name for word in options.words)]
    if not chosen:
        parser.error(f"no mutant is named so; allowed: {', '.join(m.name for m in MUTANTS)}")
    for mutant in chosen:
        changed(mutant)
    if options.list:
        print(*(f"{m.name}: {m.path}" for m in chosen), sep="\n")
        return 0
    dirty = subprocess.run(["git", "diff", "--quiet", "--", "src"], cwd=ROOT, check=False).returncode
    if dirty:
        raise SystemExit("src has changes that are not committed; commit them first, so that nothing of yours is lost")
    missed = 0
    for mutant in chosen:
        begin = time.monotonic()
        test = noticed_by(mutant)
        missed += not test
        print(
            f"{'caught' if test else 'MISSED'} {time.monotonic() - begin:4.0f} s  {mutant.name}: {test or mutant.tests}",
            flush=True,
        )
    print(f"{len(chosen) - missed} of {len(chosen)} caught")
    return missed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
