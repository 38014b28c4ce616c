"""Apply an activation to a Zarr array that is larger than the memory for it, and write the result to another one.

    pip install ".[examples]"
    python examples/activate_zarr.py big.zarr activated.zarr --operator gelu --memory 256

Dask reads, computes and writes chunk by chunk; the chunks are cut so that those in work fit into the memory. Without a
source, one is made that has eight times the memory.
"""

from __future__ import annotations

import argparse
import math
import tracemalloc
from pathlib import Path

import dask
import dask.array as da
import zarr
from dask.diagnostics import ProgressBar

import ogive

WORKERS = 2
#: Arrays of a chunk's size that a worker may hold at once: read, computed, encoded, what waits to be written, and as many again.
ARRAYS_AT_ONCE = 16
MIB = 2**20


def main() -> None:
    """Read the command line, and do it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("source", type=Path, help="a Zarr array; made if it is not there")
    parser.add_argument("target", type=Path, help="where the result goes")
    parser.add_argument("--operator", default="gelu", help="an element-wise operator of one tensor (ogive list)")
    parser.add_argument("--memory", type=float, default=64, help="MiB for arrays (default: 64)")
    given = parser.parse_args()
    budget = int(given.memory * MIB)
    if not given.source.exists():
        make_source(given.source, 8 * budget, budget)
    tracemalloc.start()
    with dask.config.set(scheduler="threads", num_workers=WORKERS), ProgressBar():
        written = activate(given.source, given.target, getattr(ogive, given.operator), budget)
    _, peak = tracemalloc.get_traced_memory()
    print(f"{given.operator} of {written / MIB:.1f} MiB, with at most {peak / MIB:.1f} MiB of memory")


def activate(source: Path, target: Path, operator: ogive.Operator, budget: int) -> int:
    """Write the result of an operator on an array to another one; how many bytes it has."""
    x = da.from_zarr(str(source))
    length = chunk_length(budget, x.dtype.itemsize)
    if math.prod(x.chunksize) > length:
        x = x.rechunk("auto", block_size_limit=length * x.dtype.itemsize)
    y = operator(x)
    da.to_zarr(y, str(target))
    return int(y.nbytes)


def make_source(path: Path, size: int, budget: int) -> None:
    """Write normal random numbers of so many bytes."""
    length = chunk_length(budget, 4)
    x = da.random.default_rng(0).standard_normal(size // 4, chunks=length, dtype="float32")
    with dask.config.set(scheduler="threads", num_workers=WORKERS):
        da.to_zarr(x, str(path))


def chunk_length(budget: int, itemsize: int) -> int:
    """How many elements a chunk may have."""
    return max(1, budget // (WORKERS * ARRAYS_AT_ONCE * itemsize))


if __name__ == "__main__":
    print(f"Dask {dask.__version__}, Zarr {zarr.__version__}")
    main()
