"""The process of a test session is as tests/conftest.py makes it: no module that is collected may change that."""

import os

from ogive.runtime import wheel_kernels


def test_workers_share_the_kernels_that_one_compiles():
    assert "ogive-test-cache-" in os.environ["OGIVE_CACHE"]
    assert "OGIVE_PACKS" not in os.environ
    assert "ogive-fuzz-" not in wheel_kernels.__file__
