"""``python -m benchmarks.network_table``: whole networks in ONNX Runtime, as they are and optimised by Ogive.

Networks are the recipes of benchmarks/networks.py, and the models in the wheels of rapidocr-onnxruntime, magika and silero-vad
where these are installed. Sessions take turns; the ratio is the median of the rounds. With one thread the time is what the
thread computes, which holds on a busy machine; with more it is the clock's. Errors are root mean squares beside float64.
"""

from __future__ import annotations

import importlib.util
import json
import math
import statistics
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np
import onnx
from onnx import ModelProto

from benchmarks.networks import RECIPES, feeds_of, in_float64

__all__ = ["networks"]

#: The packages with models, and the sizes of axes that these leave open, by the names of files and inputs.
PACKAGES = ("rapidocr_onnxruntime", "magika", "silero_vad")
SIZES: Mapping[str, Mapping[str, tuple[int, ...]]] = {
    "ch_PP-OCRv4_det_infer": {"x": (1, 3, 640, 640)},
    "ch_PP-OCRv4_rec_infer": {"x": (1, 3, 48, 320)},
    "ch_ppocr_mobile_v2.0_cls_infer": {"x": (1, 3, 48, 192)},
    "model": {"bytes": (1, 2048)},
    "silero_vad": {"input": (1, 512), "state": (2, 1, 128)},
    "silero_vad_16k_op15": {"input": (1, 512), "state": (2, 1, 128)},
}

SECONDS_A_RACE = 4.0


def networks(names: tuple[str, ...] = ()) -> Iterator[tuple[str, ModelProto, dict[str, Any], Any]]:
    """Name, model, inputs, and the output in float64 where that can be computed."""
    for name, recipe in RECIPES.items():
        if not names or name in names:
            model = recipe.model()
            feeds = feeds_of(model)
            exact = in_float64(model, feeds)[0] if recipe.has_float64 else None
            yield name, model, feeds, exact
    for package in PACKAGES:
        found = importlib.util.find_spec(package)
        for folder in () if found is None else found.submodule_search_locations or ():
            for path in sorted(Path(folder).rglob("*.onnx")):
                if path.stem in SIZES and (not names or path.stem in names):
                    model = onnx.load(path)
                    feeds = feeds_of(model, sizes=SIZES[path.stem])
                    if "sr" in feeds:
                        feeds["sr"] = np.array(16000, np.int64)
                    yield path.stem, model, feeds, None


def _error(result: np.ndarray, exact: Any) -> float | None:
    return None if exact is None else float(np.sqrt(np.mean((result.astype(np.float64) - exact) ** 2)))


@click.command(help=__doc__)
@click.option("--network", "names", multiple=True, help="Only these.")
@click.option("--contract", "contracts", multiple=True, default=("fast", "exact"), show_default=True)
@click.option("--threads", "threads", multiple=True, type=int, default=(1, 2), show_default=True)
@click.option("--json", "file", type=click.Path(dir_okay=False, path_type=Path), help="Write the rows to this file.")
@click.option("--reports", is_flag=True, help="Print what was gained where.")
def main(
    names: tuple[str, ...], contracts: tuple[str, ...], threads: tuple[int, ...], file: Path | None, reports: bool
) -> None:
    from ogive.onnxruntime import optimize
    from ogive.onnxruntime.session_races import Sessions

    rows: list[dict[str, Any]] = []
    for name, model, feeds, exact in networks(names):
        for count in threads:
            sessions = Sessions(count)
            for contract in contracts:
                begin = time.perf_counter()
                made = optimize(model, feeds, accuracy=contract, threads=count)
                took = time.perf_counter() - begin
                plain, ours = sessions.session(model), made.session()
                race = sessions.race(plain, ours, feeds, SECONDS_A_RACE)
                before, after = (_error(session.run(None, feeds)[0], exact) for session in (plain, ours))
                row = {"network": name, "threads": count, "contract": contract, "milliseconds": 1e3 * race.before}
                row |= {"ratio": race.ratio, "noise": race.noise, "operators": made.report.operators}
                row |= {"error before": before, "error after": after, "seconds to optimise": took}
                rows.append(row)
                click.echo(_line(row))
                if reports:
                    click.echo(made.report)
    for count in threads:
        for contract in contracts:
            ratios = [row["ratio"] for row in rows if (row["threads"], row["contract"]) == (count, contract)]
            if ratios:
                mean = math.exp(statistics.fmean(map(math.log, ratios)))
                click.echo(f"{count} threads, {contract}: geometric mean {mean:.3f}, largest {max(ratios):.3f}")
    if file is not None:
        file.write_text(json.dumps(rows, indent=1) + "\n")


def _line(row: Mapping[str, Any]) -> str:
    errors = [row["error before"], row["error after"]]
    shown = "" if errors[0] is None else f", error {errors[0]:.2e} -> {errors[1]:.2e}"
    return (
        f"{row['network']:32} {row['threads']} threads {row['contract']:5} {row['milliseconds']:8.2f} ms, "
        f"ratio {row['ratio']:.3f} +- {row['noise']:.3f}, {row['operators']:3} operators{shown}"
        f", optimised in {row['seconds to optimise']:.1f} s"
    )


if __name__ == "__main__":
    main()
