"""How much memory this process may still use: of the machine, of its control group, of its own limits."""

from __future__ import annotations

import os
from pathlib import Path

_PROC = Path("/proc")
_CGROUP = Path("/sys/fs/cgroup")


def available_memory() -> int:
    """The bytes that are free, without swap; very many where the system does not say.

    It is the smallest of what the machine has free, what each control group of this process has left, and the
    address space that ``ulimit -v`` leaves. Memory that only caches files counts as free.
    """
    found = [_free_memory(), *_left_in_groups(), _left_of_address_space()]
    known = [size for size in found if size is not None]
    return max(1, min(known)) if known else 1 << 62


def _free_memory() -> int | None:
    try:
        for line in (_PROC / "meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    except (OSError, ValueError, IndexError):
        pass
    try:  # macOS, and old kernels: all that the machine has
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on Windows
        return None


def _left_in_groups() -> list[int]:
    """The memory left in each control group that this process is in, versions 2 and 1."""
    try:
        entries = [line.split(":", 2) for line in (_PROC / "self/cgroup").read_text().splitlines()]
    except OSError:
        return []
    left = []
    for number, controllers, path in (entry for entry in entries if len(entry) == 3):
        if number == "0":
            root, files, cached = _CGROUP, ("memory.max", "memory.current"), "inactive_file"
        elif "memory" in controllers.split(","):
            files = "memory.limit_in_bytes", "memory.usage_in_bytes"
            root, cached = _CGROUP / "memory", "total_inactive_file"
        else:
            continue
        folder = root / path.lstrip("/")
        # Inside a container the path is often that of the host, and the group is mounted as the root.
        for group in (folder, *folder.parents) if folder.is_relative_to(root) else (root,):
            try:
                limit, used = (int((group / name).read_text()) for name in files)
                cache = sum(
                    int(line.split()[1])
                    for line in (group / "memory.stat").read_text().splitlines()
                    if line.split()[:1] == [cached]
                )
                left.append(limit - used + cache)
            except (OSError, ValueError, IndexError):  # no such folder, or "max"
                pass
            if group == root:
                break
    return left


def _left_of_address_space() -> int | None:
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit == resource.RLIM_INFINITY:
            return None
        used = int((_PROC / "self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        return limit - used
    except (ImportError, OSError, ValueError, IndexError):  # not on Windows; no /proc on macOS
        return None
