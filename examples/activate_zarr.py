"""Apply an activation to a Zarr array that is larger than the memory for it, and write the result to another one.

    pip install ".[all]" --group examples
    python examples/activate_zarr.py big.zarr activated.zarr --operator gelu --memory 256

Dask reads, computes and writes chunk by chunk, with as many workers as the memory is enough for. Without a source, one
is made that has eight times the memory.
"""

from __future__ import annotations

import argparse
import math
import tracemalloc
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import zarr
from dask.diagnostics import ProgressBar

import ogive

#: At most so many chunks are in work at once.
WORKERS = 2
#: So many times the bytes of a chunk a worker may hold: as it is stored, read, computed and encoded, and what Zarr and
#: Python have not given back yet. 6.9 were measured.
COPIES_OF_A_CHUNK = 8
#: Dask and Zarr hold this for each chunk besides, until all are done. 3.6 KiB were measured.
BYTES_OF_A_TASK = 5 * 2**10
#: The libraries hold this themselves.
BYTES_OF_ALL = 2 * 2**20
MIB = 2**20
#: The least memory, in MiB.
LEAST = 8


def main() -> None:
    """Read the command line, and do it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("source", type=Path, help="a Zarr array; made if it is not there")
    parser.add_argument("target", type=Path, help="where the result goes")
    parser.add_argument("--operator", default="gelu", help="an element-wise operator of one tensor (ogive list)")
    parser.add_argument("--memory", type=float, default=64, help="MiB for arrays, 8 or more (default: 64)")
    given = parser.parse_args()
    if not LEAST <= given.memory < math.inf:
        parser.error(f"--memory is {given.memory:g}; allowed: {LEAST} and more")
    budget = int(given.memory * MIB)
    operator = getattr(ogive, given.operator)
    if not given.source.exists():
        make_source(given.source, 8 * budget, budget)
    source = zarr.open_array(str(given.source), mode="r")
    workers = workers_within(budget, source)
    if not workers:
        least, one = math.ceil(memory_for(1, source) / MIB), chunk_bytes(source) / MIB
        sizes = "smaller" if source.nchunks * BYTES_OF_A_TASK < memory_for(1, source) / 2 else "larger"
        parser.error(
            f"--memory is {given.memory:g}, and the source has {source.nchunks} chunks of {one:.3g} MiB; "
            f"allowed: {least} and more. Or store the source with {sizes} chunks"
        )
    warm_up(operator, source.dtype)
    tracemalloc.start()
    with dask.config.set(scheduler="threads", num_workers=workers), ProgressBar():
        written = activate(source, given.target, operator)
    _, peak = tracemalloc.get_traced_memory()
    print(f"{given.operator} of {written / MIB:.1f} MiB, with at most {peak / MIB:.1f} MiB of memory for arrays")


def activate(source: zarr.Array, target: Path, operator: ogive.Operator) -> int:
    """Write the result of an operator on an array to another one; how many bytes it has."""
    y = operator(da.from_array(source, chunks=source.chunks))
    da.to_zarr(y, str(target))
    return int(y.nbytes)


def chunk_bytes(source: zarr.Array) -> int:
    """How many bytes a chunk of an array has, decoded."""
    return math.prod(source.chunks) * source.dtype.itemsize


def memory_for(workers: int, source: zarr.Array) -> int:
    """How many bytes so many workers may hold at once."""
    return workers * COPIES_OF_A_CHUNK * chunk_bytes(source) + source.nchunks * BYTES_OF_A_TASK + BYTES_OF_ALL


def workers_within(budget: int, source: zarr.Array) -> int:
    """How many workers a budget is enough for; 0 where it is for none."""
    return max((workers for workers in range(1, WORKERS + 1) if memory_for(workers, source) <= budget), default=0)


def warm_up(operator: ogive.Operator, dtype: np.dtype) -> None:
    """Load what a first call loads: kernels and libraries are no arrays."""
    small = zarr.create_array({}, data=np.zeros(2, dtype), chunks=(1,))
    with dask.config.set(scheduler="threads", num_workers=1):
        da.to_zarr(operator(da.from_array(small, chunks=small.chunks)), zarr.storage.MemoryStore())


def make_source(path: Path, size: int, budget: int) -> None:
    """Write normal random numbers of so many bytes."""
    length = max(1, budget // (WORKERS * COPIES_OF_A_CHUNK * 2 * 4))
    x = da.random.default_rng(0).standard_normal(size // 4, chunks=length, dtype="float32")
    with dask.config.set(scheduler="threads", num_workers=WORKERS):
        da.to_zarr(x, str(path))


if __name__ == "__main__":
    print(f"Dask {dask.__version__}, Zarr {zarr.__version__}")
    main()
