"""SHA-256 as Python's own code computes it: ``hashlib`` loads OpenSSL for it, which takes 3 ms at the first call."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["sha256"]


def _constructor() -> Any:
    for module in ("_sha2", "_sha256"):  # from Python 3.12 on, and before
        try:
            return import_module(module).sha256
        except ImportError:  # a Python that was built without it
            continue
    import hashlib

    return hashlib.sha256


sha256 = _constructor()
