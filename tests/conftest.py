"""The needs of every test session: a cache of its own, so that no test sees what other sessions compiled."""

import gc
import os
import sys
import tempfile
from functools import lru_cache
from weakref import WeakValueDictionary

import hypothesis
import pytest

# How long an example takes says how busy the machine is.
hypothesis.settings.register_profile("ogive", deadline=None)
hypothesis.settings.load_profile("ogive")

pytest_plugins = ["tests.collecting", "tests.matrices"]

#: Commands that prepare the process when they are imported: a cache of their own, and packs in another folder.
collect_ignore = ["hostile"]

# Collecting makes tens of thousands of objects that live as long as the session. The collector of garbage would walk over
# them again and again: that was half of the time of collecting. Lowering makes many, too: it was a fifteenth of the tests'.
gc.disable()
gc.set_threshold(20_000)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish():
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True, scope="module")
def _garbage_of_this_file_alone():
    """The objects that other files left, a million with JAX and torch, are not looked through: that takes a second each time."""
    gc.collect(1)
    gc.freeze()


# Before the first import of ogive: kernels of earlier sessions must not be found, nor the user's folder touched.
# Workers of one session share its cache, whose name they inherit: a kernel is compiled once.
if "PYTEST_XDIST_WORKER" not in os.environ:
    _cache = tempfile.TemporaryDirectory(prefix="ogive-test-cache-")
    os.environ["OGIVE_CACHE"] = _cache.name
os.environ.pop("OGIVE_TARGET", None)
os.environ.pop("OGIVE_NUM_THREADS", None)


@pytest.fixture(autouse=True, scope="session")
def _doctest_names(doctest_namespace):
    import numpy as np

    import ogive

    doctest_namespace["np"] = np
    doctest_namespace["ogive"] = ogive


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown():
    """Measuring torch turns its gradients off for the process, and measuring JAX its float64 on; tests behind need both."""
    torch, jax = sys.modules.get("torch"), sys.modules.get("jax")
    if torch is not None and hasattr(torch, "set_grad_enabled"):
        torch.set_grad_enabled(True)
    if jax is not None and hasattr(jax, "config") and jax.config.jax_enable_x64:
        jax.config.update("jax_enable_x64", False)


@pytest.fixture
def threads():
    """Set the number of threads for one test: threads(2)."""
    import ogive

    before = ogive.get_num_threads()
    yield ogive.set_num_threads
    ogive.set_num_threads(before)


@pytest.fixture
def own_kernels(monkeypatch):
    """Tables of kernels for one test that forgets kernels: operators of other tests hold theirs, which `kernel_of` goes on finding."""
    from ogive.engine import computation

    monkeypatch.setattr(computation, "_kernels", WeakValueDictionary())
    monkeypatch.setattr(computation, "_kept", lru_cache(maxsize=512)(computation._kept.__wrapped__))


@pytest.fixture
def asked(monkeypatch):
    """The operands that enclosures were asked for: each combination once, as they are remembered."""
    from ogive.runtime.decide import Decider

    found = {}
    # Blocks begin where results are aligned: the allocator says how many open elements come together. So few are asked together, too.
    monkeypatch.setattr("ogive.runtime.decide.SEVERAL", 1)

    def decide(self, operands, place, elements, parameters):
        found[elements] = [operand[place] for operand in operands]
        return

    monkeypatch.setattr(Decider, "_decided", decide)
    return found
