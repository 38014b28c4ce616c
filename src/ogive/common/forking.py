"""Locks that a fork leaves usable in the child.

A child process has one thread, the one that forked, and a copy of every lock. A lock that another thread held at that
moment would stay locked in the child for ever. So a fork waits for the end of what cannot be copied half-done: compiling
(`no_fork`), and modules that are being loaded, whose locks are Python's. The child makes the locks of all other
objects (`lock`) anew, unless the thread that forked has them itself.

runtime/native/fork.c does this, because Ctrl-C would break off a hook that is written in Python.
"""

from __future__ import annotations

import _imp
import _thread  # `threading`, which has the same locks, takes a hundredth of NumPy's time to import
import os
import weakref
from collections.abc import Callable
from importlib import _bootstrap
from typing import Any, Generic, TypeVar, overload

from ogive import _native

_native.check_interpreter()

_T = TypeVar("_T")

#: ``with no_fork:`` is for one thread at a time, and no other thread forks meanwhile.
no_fork = _thread.RLock()

#: How many seconds a fork waits for other threads that load modules. A thread that loads one for ever must not stop it.
LONGEST_WAIT = 10.0

_held: list[Any] = [no_fork]
#: A dictionary, because going through one needs no memory.
_locks: dict[weakref.ref[Any], None] = {}


def hold_over_fork(other: Any) -> None:
    """Have forks wait for another library's lock too: one of Python's own. Call it inside ``with no_fork``."""
    if other not in _held:
        _held.append(other)


def lock() -> Any:
    """A lock that is not locked in the child of a fork, unless by the thread that forked.

    The data that it guards must be in order between any two Python instructions, as a dictionary with finished entries is:
    the thread that has the lock may take it again, in a signal handler.
    """
    try:
        made = _thread.RLock()
    except RuntimeError as error:  # Python has no memory, and says that it cannot allocate it
        raise MemoryError(str(error)) from None
    _locks[weakref.ref(made, _locks.pop)] = None
    return made


def _hooks(longest_wait: float) -> tuple[Callable[[], None], Callable[[], None], Callable[[], None]]:
    return _native.fork_hooks(_held, _locks, _imp, getattr(_bootstrap, "_module_locks", {}), longest_wait)


if hasattr(os, "register_at_fork"):
    _before, _after, _after_in_child = _hooks(LONGEST_WAIT)
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
