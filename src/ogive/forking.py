"""Locks that a fork leaves usable in the child.

A child process has one thread, the one that forked, and a copy of every lock. A lock that another thread held at that
moment would stay locked in the child for ever. So a fork waits for the end of what cannot be copied half-done: compiling
(`no_fork`), and modules that are being loaded, whose locks are Python's. The child releases the locks of all other
objects (`lock`).
"""

from __future__ import annotations

import _imp
import os
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib import _bootstrap
from typing import Any, Generic, TypeVar, overload

__all__ = ["cached_property", "hold_over_fork", "lock", "no_fork"]

_T = TypeVar("_T")

#: ``with no_fork:`` is for one thread at a time, and no other thread forks meanwhile.
no_fork = threading.RLock()

#: How many seconds a fork waits for other threads that load modules. A thread that loads one for ever must not stop it.
LONGEST_WAIT = 10.0

_held: list[AbstractContextManager[Any]] = [no_fork]
_locks: weakref.WeakSet[Any] = weakref.WeakSet()


def hold_over_fork(other: AbstractContextManager[Any]) -> None:
    """Have forks wait for another library's lock too. Call it inside ``with no_fork``."""
    if other not in _held:
        _held.append(other)


def lock() -> threading.Lock:
    """A lock that is not locked in the child of a fork.

    What it guards must be in order between any two Python instructions, as a dictionary with finished entries is.
    """
    made = threading.Lock()
    _locks.add(made)
    return made


def _is_loading_elsewhere() -> bool:
    """Whether another thread is in the middle of loading a module; asked while this one holds the import lock."""
    here = threading.get_ident()
    locks = [reference() for reference in list(getattr(_bootstrap, "_module_locks", {}).values())]
    return any(getattr(lock, "owner", None) not in (None, here) for lock in locks)


def _before() -> None:
    """Wait until nothing is half-done, and keep other threads from beginning anything."""
    deadline = time.monotonic() + LONGEST_WAIT
    while True:
        for held in _held:
            held.__enter__()
        _imp.acquire_lock()  # from now on nobody begins to load a module
        if not _is_loading_elsewhere() or time.monotonic() > deadline:
            return
        _after()
        time.sleep(0.001)


def _after() -> None:
    _imp.release_lock()
    for held in reversed(_held):
        held.__exit__(None, None, None)


def _after_in_child() -> None:
    _after()
    for each in _locks:
        if each.locked():
            each.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after_in_child)


class cached_property(Generic[_T]):  # noqa: N801  (named like the one in functools)
    """`functools.cached_property` without the lock that it has in Python 3.11, which a fork could leave locked.

    Two threads may compute the value at the same time; the last one is kept.
    """

    def __init__(self, function: Callable[[Any], _T]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[_T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> _T: ...

    def __get__(self, instance: object | None, owner: type) -> cached_property[_T] | _T:
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._function(instance)
        return value
