"""How much memory this process may use, by files that a container would have."""

import subprocess
import sys

import pytest

from ogive.runtime import free_memory


@pytest.fixture
def machine(tmp_path, monkeypatch):
    monkeypatch.setattr(free_memory, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(free_memory, "_CGROUP", tmp_path / "cgroup")
    monkeypatch.setattr(free_memory, "_left_of_address_space", lambda: None)

    def write(**files):
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/").replace("_DOT_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    write(proc__meminfo="MemTotal:  8000 kB\nMemAvailable:  4000 kB\n", proc__self__cgroup="0::/a/b\n")
    return write


def test_free_memory_without_groups(machine):
    assert free_memory.available_memory() == 4000 << 10


@pytest.mark.parametrize("folder", ["", "__a", "__a__b"])
def test_the_smallest_group_counts_and_cached_files_are_free(machine, folder):
    machine(**{
        f"cgroup{folder}__memory_DOT_max": "1000000\n",
        f"cgroup{folder}__memory_DOT_current": "700000\n",
        f"cgroup{folder}__memory_DOT_stat": "anon 5\ninactive_file 100000\n",
    })  # fmt: skip
    assert free_memory.available_memory() == 400_000


def test_a_group_without_limit(machine):
    machine(cgroup__a__b__memory_DOT_max="max\n", cgroup__a__b__memory_DOT_current="1\n")
    assert free_memory.available_memory() == 4000 << 10


def test_the_first_version_of_groups(machine):
    machine(
        proc__self__cgroup="7:cpu:/c\n4:memory:/docker/x\n",
        cgroup__memory__memory_DOT_limit_in_bytes="2000000",
        cgroup__memory__memory_DOT_usage_in_bytes="500000",
        cgroup__memory__memory_DOT_stat="total_inactive_file 0\n",
    )
    assert free_memory.available_memory() == 1_500_000


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the used address space is read from /proc")
def test_the_limit_of_the_address_space():
    code = "from ogive.runtime.free_memory import available_memory; print(available_memory())"
    shell = f"ulimit -v 3000000; exec {sys.executable} -c '{code}'"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) < 3_000_000 << 10
