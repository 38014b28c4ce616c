"""The plugin of pytest: a fixture ``assert_conforms``, so that tests need no import.

It is no entry point: other projects' tests would pay for it. ``pytest_plugins = ["ogive.judge.plugin"]`` in conftest.py registers it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture(scope="session")
def assert_conforms() -> Callable[..., Any]:
    """`ogive.judge.assert_conforms`, which is imported when a test asks for it."""
    from ogive.judge import assert_conforms as function

    return function
