"""How many threads a large call may use: the processors this process has, unless told otherwise."""

from __future__ import annotations

import os
from pathlib import Path

from ogive import _native
from ogive.errors import OgiveError, ParameterError, message

__all__ = ["available_processors", "get_num_threads", "set_num_threads"]

_CGROUP = Path("/sys/fs/cgroup")


def get_num_threads() -> int:
    """How many threads a large call uses at most."""
    return _native.pool_size()


def set_num_threads(threads: int) -> None:
    """Set how many threads a large call uses at most, the caller's included.

    The bits of a result never depend on it. The environment variable ``OGIVE_NUM_THREADS`` sets the same
    before the first import; without it, the processors that this process may use are counted.

    >>> import ogive
    >>> ogive.set_num_threads(1)
    >>> ogive.get_num_threads()
    1
    """
    if not isinstance(threads, int) or threads < 1:
        raise ParameterError(message("set_num_threads", f"threads is {threads!r}", "a whole number from 1 on"))
    _native.set_pool_size(threads)


def available_processors() -> int:
    """The processors that this process may use: by affinity, and by the quota of its control group."""
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        count = os.cpu_count() or 1
    quota = _quota()
    return max(1, count if quota is None else min(count, quota))


def _quota() -> int | None:
    """Whole processors that the control group grants, rounded up; None without a limit."""
    try:
        limit, period = (_CGROUP / "cpu.max").read_text().split()
    except (OSError, ValueError):
        try:
            limit = (_CGROUP / "cpu/cpu.cfs_quota_us").read_text()
            period = (_CGROUP / "cpu/cpu.cfs_period_us").read_text()
        except OSError:
            return None
    try:
        return -(-int(limit) // int(period)) if int(limit) > 0 else None
    except ValueError:  # "max"
        return None


def _initialise() -> None:
    wanted = os.environ.get("OGIVE_NUM_THREADS")
    if not wanted:
        set_num_threads(available_processors())
        return
    if not wanted.isdigit() or int(wanted) < 1:
        raise OgiveError(message("OGIVE_NUM_THREADS", f"it is {wanted!r}", "a whole number from 1 on"))
    set_num_threads(int(wanted))


_initialise()
