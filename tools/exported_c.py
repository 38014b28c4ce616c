"""Tables of docs/export.md: exported C in ns and bytes, exact and fast, with FMA and without; and errors of the fast contract.

    python -m tools.exported_c [--arm]

``--arm`` counts the instructions of a Cortex-M4 with gcc-arm-linux-gnueabihf and qemu-arm in the place of these.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import ogive
from ogive.common.dtypes import ELEMENT_TYPES
from ogive.exporting.exported import with_accuracy
from ogive.golden.inputs import special_values
from ogive.laboratory.accuracy.ulp import error_in_ulp

__all__ = ["errors", "instructions", "nanoseconds"]

OPERATORS = ("gelu", "silu", "mish", "tanh", "sigmoid", "softplus", "elu", "exp")

#: Levels of x86-64, without fused multiply-add and with it.
LEVELS = ("x86-64", "x86-64-v3")

_TIMED = """\
#include "{name}.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static float x[4096], y[4096];
int main(int argc, char **argv) {{
    const size_t count = argc > 1 ? (size_t)atoi(argv[1]) : 4096;
    uint32_t s = 1;
    for (int i = 0; i < 4096; i++) {{ /* about N(0, 3) */
        float t = 0;
        for (int k = 0; k < 12; k++) {{
            s = s * 1664525u + 1013904223u;
            t += (float)(s >> 8) * 0x1p-24f;
        }}
        x[i] = (t - 6.0f) * 3.0f;
    }}
    if (argc > 1) {{
        {name}(x, y, 0, count{more});
        return 0;
    }}
    double best = 1e9;
    for (int round = 0; round < 400; round++) {{
        struct timespec a, b;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
        {name}(x, y, 0, 4096{more});
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
        const double ns = ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / 4096;
        best = ns < best ? ns : best;
    }}
    printf("%.2f\\n", best);
    return 0;
}}
"""


def _written(operator: str, accuracy: str, folder: Path) -> str:
    exported = ogive.export(getattr(ogive, operator), accuracy=accuracy)
    exported.write(folder)
    numbers = len(getattr(ogive, operator).numeric_parameters)
    text = _TIMED.format(name=exported.name, more=", 1.0f" * numbers)
    (folder / "timed.c").write_text(text, encoding="utf-8")
    return exported.name


def nanoseconds(operator: str, accuracy: str, level: str) -> float:
    """The least time of an element, of 400 rounds of 4,096."""
    with tempfile.TemporaryDirectory() as folder:
        name = _written(operator, accuracy, Path(folder))
        options = ["-std=gnu11", "-O3", "-ffp-contract=off", "-fno-math-errno", f"-march={level}"]
        subprocess.run(["gcc", *options, "-o", "timed", "timed.c", f"{name}.c"], cwd=folder, check=True)
        run = subprocess.run(["./timed"], cwd=folder, check=True, capture_output=True, text=True)
        return float(run.stdout)


def instructions(operator: str) -> float:
    """How many instructions of a Cortex-M4 an element takes, of about N(0, 3)."""
    gcc = "arm-linux-gnueabihf-gcc"
    with tempfile.TemporaryDirectory() as folder:
        name = _written(operator, "fast", Path(folder))

        def run(*command: str) -> None:
            subprocess.run(command, cwd=folder, check=True)

        core = ["-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"]
        run(gcc, "-std=c11", "-O2", *core, "-c", f"{name}.c", "-o", "core.o")
        # Linux has no programs for this core, but its processors have all of the instructions.
        run("arm-linux-gnueabihf-objcopy", "--remove-section", ".ARM.attributes", "core.o")
        run(gcc, "-std=gnu11", "-O2", "-mthumb", "-static", "-o", "timed", "timed.c", "core.o")
        counts = []
        for elements in ("1000", "0"):
            run("qemu-arm", "-singlestep", "-d", "exec,nochain", "-D", "log", "./timed", elements)
            with (Path(folder) / "log").open(encoding="utf-8") as log:
                counts.append(sum(1 for _ in log))
        return (counts[0] - counts[1]) / 1000


def errors(operator: str) -> tuple[float, float]:
    """The largest errors of the fast contract in float alone, in ULP: where results are at least 2**-120, and elsewhere."""
    generator, kind = np.random.default_rng(0), ELEMENT_TYPES["float32"]
    x = np.concatenate(
        [
            special_values(kind),
            generator.integers(0, 1 << 32, 1_000_000, dtype=np.uint32).view(np.float32),
            (generator.standard_normal(1_000_000) * 3).astype(np.float32),
            np.linspace(-110, 110, 1_000_001).astype(np.float32),
        ]
    )
    found = with_accuracy(getattr(ogive, operator), "fast", in_float=True)(x)
    with np.errstate(invalid="ignore"):  # signalling NaN
        exact = getattr(ogive, operator)(x.astype(np.float64))
    off = error_in_ulp(found, exact, kind)
    is_small = np.abs(exact) < 2.0**-120
    return float(off[~is_small].max()), float(off[is_small].max(initial=0))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arm", action="store_true")
    if parser.parse_args().arm:
        for operator in OPERATORS:
            print(f"| {operator} | {instructions(operator):.0f} |", flush=True)
        return
    for operator in OPERATORS:
        times = [nanoseconds(operator, accuracy, level) for accuracy in ("exact", "fast") for level in LEVELS]
        sizes = [ogive.export(getattr(ogive, operator), accuracy=accuracy).sizes() for accuracy in ("exact", "fast")]
        bytes_of = [f"{s.code:,} + {s.data:,}, {s.stack:,}" if s else "" for s in sizes]
        worst, small = errors(operator)
        cells = [operator, *(f"{t:.1f}" for t in times), *bytes_of, f"{worst:.2g}", f"{small:.2g}"]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
