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
#: How often a chunk of the source may be in memory for one worker: 6.3 were measured, without compression.
COPIES_OF_A_SOURCE_CHUNK = 7
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
    whole = COPIES_OF_A_SOURCE_CHUNK * chunk_bytes(given.source)
    if whole > budget:
        parser.error(f"the source has chunks that take {whole / MIB:.0f} MiB to read: give --memory at least that")
    workers = min(WORKERS, budget // whole)
    with dask.config.set(scheduler="threads", num_workers=workers), ProgressBar():
        written = activate(given.source, given.target, getattr(ogive, given.operator), budget)
    _, peak = tracemalloc.get_traced_memory()
    print(f"{given.operator} of {written / MIB:.1f} MiB, with at most {peak / MIB:.1f} MiB of memory")


def activate(source: Path, target: Path, operator: ogive.Operator, budget: int) -> int:
    """Write the result of an operator on an array to another one; how many bytes it has."""
    stored = zarr.open_array(str(source), mode="r")
    chunks = pieces(stored.chunks, chunk_length(budget, stored.dtype.itemsize))
    x = da.from_array(stored, chunks=chunks)
    y = operator(x)
    da.to_zarr(y, str(target))
    return int(y.nbytes)


def chunk_bytes(source: Path) -> int:
    """How many bytes a chunk of an array has, decoded."""
    stored = zarr.open_array(str(source), mode="r")
    return max(1, math.prod(stored.chunks) * stored.dtype.itemsize)


def pieces(chunks: tuple[int, ...], length: int) -> tuple[int, ...]:
    """Chunks of at most so many elements, cut along the first axes. Each piece reads whole chunks of the source again.

    Were chunks cut by Dask after they are read, whole ones would wait in memory for all of their pieces.
    """
    cut = list(chunks)
    for axis in range(len(cut)):
        if math.prod(cut) > length:
            cut[axis] = max(1, length // math.prod(cut[axis + 1 :]))
    return tuple(cut)


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
