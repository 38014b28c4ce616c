"""The plugin of pytest: a fixture ``assert_conforms``, so that tests need no import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

__all__ = ["assert_conforms"]


@pytest.fixture(scope="session")
def assert_conforms() -> Callable[..., Any]:
    """`ogive.judge.assert_conforms`, which is imported when a test asks for it."""
    from ogive.judge import assert_conforms as function

    return function
