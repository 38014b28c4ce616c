"""The process that calls a function of a shared library for `ogive.judge.library`, which starts this file as a program.

It needs the standard library alone. The first line that it reads is what to load; each other line is a call. Tensors lie in
a file that both processes have mapped. Whatever the function does to this process, the judge goes on.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import threading
import time
from typing import Any

#: Seconds between two looks at the clock.
TICK = 0.05

#: mprotect's argument: memory that must not be touched.
PROT_NONE = 0


class _Clock:
    """Ends the process if a call lasts too long, or if the judge is gone."""

    def __init__(self, answers: int) -> None:
        self.answers, self.parent, self.deadline = answers, os.getppid(), float("inf")
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            time.sleep(TICK)
            if time.monotonic() > self.deadline:
                os.write(self.answers, b"late\n")
                os._exit(0)
            if os.getppid() != self.parent:
                os._exit(0)


def _protect(base: int, guards: list[list[int]]) -> bool:
    """Make pages untouchable; False where the system has no mprotect."""
    try:
        mprotect = ctypes.CDLL(None).mprotect
    except (AttributeError, OSError, TypeError):
        return False
    mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return all(mprotect(base + begin, size, PROT_NONE) == 0 for begin, size in guards)


def _without_core() -> None:
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _elements(call: Any, order: list[Any], base: int, command: dict[str, Any], c_types: list[Any], out: Any) -> None:
    """Call a function of numbers for each element."""
    count = command["count"]
    tensors = [(c_type * count).from_address(base + at) for at, c_type in zip(command["inputs"], c_types, strict=True)]
    result = (out * count).from_address(base + command["output"])
    for i in range(count):
        result[i] = call(*(tensors[what][i] if isinstance(what, int) else float(what) for what in order))


def main() -> None:
    """Load, answer, and call until the judge closes the pipe."""
    commands, answers = os.fdopen(os.dup(0), "rb"), os.dup(1)
    # The function has nothing to read, and what it prints goes nowhere.
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    _without_core()
    setup = json.loads(commands.readline())

    def answer(**facts: Any) -> None:
        os.write(answers, json.dumps(facts).encode() + b"\n")

    with open(setup["file"], "r+b") as file:  # noqa: PTH123 - it may be a number
        memory = mmap.mmap(file.fileno(), 0)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    try:
        library = ctypes.CDLL(setup["library"])
    except OSError as error:
        answer(cannot_load=str(error))
        return
    call = getattr(library, setup["function"], None)
    if call is None:
        answer(has_no_function=True)
        return
    types = [getattr(ctypes, name) for name in setup["arguments"]]
    call.argtypes = types
    call.restype = None if setup["result"] is None else getattr(ctypes, setup["result"])
    clock = _Clock(answers)
    answer(protects=_protect(base, setup["guards"]))
    for line in commands:
        command = json.loads(line)
        clock.deadline = time.monotonic() + command["limit"]
        try:
            if "order" in command:
                tensors = [t for t, what in zip(types, command["order"], strict=True) if isinstance(what, int)]
                _elements(call, command["order"], base, command, tensors, call.restype)
            else:
                call(*(base + int(v[1:]) if isinstance(v, str) else v for v in command["values"]))
        except OSError as error:  # Windows: an access violation
            answer(crashed=str(error))
            return
        clock.deadline = float("inf")
        os.write(answers, b"ok\n")


if __name__ == "__main__":
    main()
