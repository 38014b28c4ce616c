"""How many threads a large call may use: of the process, and of one thread."""

from __future__ import annotations

import operator
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from ogive import _native
from ogive.errors import ParameterError, message, refuse_variable

_CGROUPS = "/sys/fs/cgroup"
_OWN_CGROUPS = "/proc/self/cgroup"

_ALLOWED = f"a whole number from 1 to {_native.MAX_THREADS}"


def get_num_threads() -> int:
    """How many threads a large call uses at most, where it is called from this thread.

    >>> import ogive
    >>> with ogive.threads(1):
    ...     ogive.get_num_threads()
    1
    """
    return _native.pool_size()


def set_num_threads(threads: int) -> None:
    """Set how many threads a large call uses at most, the caller's included. It holds for the whole process.

    The bits of a result never depend on it. At the first import the number is ``OGIVE_NUM_THREADS`` of the
    environment, else ``OMP_NUM_THREADS``, else the processors that this process may use.
    :func:`ogive.threads` sets the number for one thread and for a while.

    >>> import ogive
    >>> ogive.set_num_threads(1)
    >>> ogive.get_num_threads()
    1
    """
    _native.set_pool_size(_checked("set_num_threads", threads))


def threads(count: int) -> AbstractContextManager[None]:
    """Limit large calls to ``count`` threads in a ``with`` block, for the thread that runs the block only.

    Other threads keep the number that they have. So every worker of a thread pool can have a number of its own. It may
    also be larger than the number of the process. Blocks can be nested. It can decorate a function too. In a coroutine,
    keep ``await`` out of the block: the number belongs to the thread, not to the task.

    >>> import ogive, numpy as np
    >>> with ogive.threads(1):
    ...     y = ogive.exp(np.zeros(3, np.float32))
    >>> @ogive.threads(2)
    ... def count():
    ...     return ogive.get_num_threads()
    >>> count()
    2
    """
    return _own_threads(_checked("threads", count))


@contextmanager
def _own_threads(count: int) -> Iterator[None]:
    before = _native.own_pool_size()
    _native.set_own_pool_size(count)
    try:
        yield
    finally:
        _native.set_own_pool_size(before)


def _checked(function: str, threads: Any) -> int:
    try:
        count = 0 if isinstance(threads, bool) else operator.index(threads)
    except TypeError:
        count = 0
    if not 1 <= count <= _native.MAX_THREADS:
        raise ParameterError(message(function, f"threads is {threads!r}", _ALLOWED))
    return count


def register_threadpoolctl() -> None:
    """Make Ogive known to threadpoolctl, so that ``threadpool_limits(1)`` limits Ogive's threads too.

    ``import ogive`` does so itself where threadpoolctl was imported before. Call this where it is imported later. A
    limit holds for the thread that sets it, as with :func:`ogive.threads`. Its ``user_api`` is "ogive". Calling it again
    does nothing.

    Raises ImportError if threadpoolctl is not installed.
    """
    import threadpoolctl

    if any(known.internal_api == "ogive" for known in threadpoolctl._ALL_CONTROLLERS):
        return

    class OgiveController(threadpoolctl.LibController):  # type: ignore[misc]
        """Finds the native extension among the loaded libraries, and calls it."""

        user_api = "ogive"
        internal_api = "ogive"
        filename_prefixes = (os.path.basename(_native.__file__).split(".")[0].lower(),)  # noqa: PTH119
        check_symbols = ("ogive_get_num_threads", "ogive_set_num_threads")

        def get_num_threads(self) -> int:
            return int(self.dynlib.ogive_get_num_threads())

        def set_num_threads(self, num_threads: int) -> None:
            self.dynlib.ogive_set_num_threads(num_threads)

        def get_version(self) -> None:
            return None

    threadpoolctl.register(OgiveController)


def available_processors() -> int:
    """The processors that this process may use: by its affinity, and by the quotas of its control groups."""
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        count = os.cpu_count() or 1
    quota = _quota()
    return max(1, count if quota is None else min(count, quota))


def _quota() -> int | None:
    """Whole processors that the control groups grant, rounded up; None without a limit."""
    quotas = [quota for group in _groups() if (quota := _quota_of(group)) is not None]
    return min(quotas, default=None)


def _groups() -> Iterator[str]:
    """The folders of this process's control groups and of all above: each may limit it. In a container, whose groups
    begin at the root, they are one folder.
    """
    try:
        lines = _read(_OWN_CGROUPS).splitlines()
    except OSError:
        lines = []
    groups = {_within(), _within("cpu")}
    for line in lines:
        controllers, _, path = line.partition(":")[2].partition(":")
        if controllers == "" or "cpu" in controllers.split(","):
            root = ("cpu",) if controllers else ()
            parts = [part for part in path.split("/") if part not in ("", "..")]
            groups.update(_within(*root, *parts[:depth]) for depth in range(1, len(parts) + 1))
    yield from sorted(groups)


def _within(*parts: str) -> str:
    """A folder of control groups. Without pathlib, which takes 3 ms to import, and is needed by nothing else here."""
    return os.path.join(_CGROUPS, *parts)  # noqa: PTH118


def _read(*parts: str) -> str:
    with open(os.path.join(*parts)) as file:  # noqa: PTH118, PTH123
        return file.read()


def _quota_of(group: str) -> int | None:
    try:
        limit, period = _read(group, "cpu.max").split()
    except (OSError, ValueError):
        try:
            limit = _read(group, "cpu.cfs_quota_us")
            period = _read(group, "cpu.cfs_period_us")
        except OSError:
            return None
    try:
        return -(-int(limit) // int(period)) if int(limit) > 0 else None
    except (ValueError, ZeroDivisionError):  # "max"
        return None


def _number(text: str) -> int | None:
    text = text.strip()
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    return number if 1 <= number <= _native.MAX_THREADS else None


def _from_environment(environment: Mapping[str, str]) -> int:
    """The number to begin with. Ogive's own variable must be right. The one of OpenMP is written for others: of a list,
    "4,2", the first number counts, which is for the outermost level; what is no number is passed over, as by OpenBLAS.
    """
    wanted = environment.get("OGIVE_NUM_THREADS")
    if wanted:
        number = _number(wanted)
        if number is None:
            refuse_variable("OGIVE_NUM_THREADS", f"it is {wanted!r}", _ALLOWED)
        return number
    common = _number(environment.get("OMP_NUM_THREADS", "").split(",")[0])
    return common or min(available_processors(), _native.MAX_THREADS)


set_num_threads(_from_environment(os.environ))
if "threadpoolctl" in sys.modules:
    register_threadpoolctl()
