"""Functions in LLVM's language, written in order: values get names, blocks get labels, loops get their phi nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

__all__ = ["FunctionText"]

#: The types of whole numbers in a comparison, and of truth values.
INT, BIT = "i64", "i1"


class FunctionText:
    """One function. ``kind`` is what its values are where nothing else is said: a number, or a vector of them.

    >>> f = FunctionText("define i64 @twice(i64 %n)")
    >>> f.end(f"ret i64 {f.do('add', '%n', '%n')}")
    >>> print(f.text)
    define i64 @twice(i64 %n) {
    start:
      %t1 = add i64 %n, %n
      ret i64 %t1
    }
    """

    def __init__(self, head: str, kind: str = INT) -> None:
        self.kind = kind
        self.label = "start"
        self._lines = [f"{head} {{", "start:"]
        self._counter = 0

    @property
    def text(self) -> str:
        """What was written, to be closed by `end`."""
        return "\n".join(self._lines)

    # ---- lines

    def fresh(self) -> str:
        """A name that is not used yet."""
        self._counter += 1
        return f"t{self._counter}"

    def line(self, text: str) -> None:
        """An instruction without result."""
        self._lines.append(f"  {text}")

    def emit(self, text: str) -> str:
        """An instruction; the name of its result."""
        name = f"%{self.fresh()}"
        self.line(f"{name} = {text}")
        return name

    def end(self, text: str) -> None:
        """The last instruction."""
        self.line(text)
        self._lines.append("}")

    # ---- values

    def do(self, instruction: str, a: str, b: str, kind: str | None = None) -> str:
        """An instruction of two operands of one type."""
        return self.emit(f"{instruction} {kind or self.kind} {a}, {b}")

    def add(self, a: str, b: str) -> str:
        """The sum of floating-point numbers."""
        return self.do("fadd", a, b)

    def subtract(self, a: str, b: str) -> str:
        """Their difference."""
        return self.do("fsub", a, b)

    def multiply(self, a: str, b: str) -> str:
        """Their product."""
        return self.do("fmul", a, b)

    def cast(self, instruction: str, a: str, source: str, result: str) -> str:
        """A conversion."""
        return self.emit(f"{instruction} {source} {a} to {result}")

    def choose(self, condition: str, a: str, b: str, kind: str | None = None, bit: str = BIT) -> str:
        """One or the other."""
        kind = kind or self.kind
        return self.emit(f"select {bit} {condition}, {kind} {a}, {kind} {b}")

    def two_sum(self, a: str, b: str) -> tuple[str, str]:
        """A sum, and what rounding lost of it."""
        total = self.add(a, b)
        t = self.subtract(total, a)
        return total, self.add(self.subtract(a, self.subtract(total, t)), self.subtract(b, t))

    # ---- memory

    def at(self, base: str, offset: str) -> str:
        """The address so many bytes behind another one."""
        return self.emit(f"getelementptr i8, ptr {base}, i64 {offset}")

    def item(self, kind: str, base: str, index: str | int) -> str:
        """The address of an item of an array."""
        return self.emit(f"getelementptr {kind}, ptr {base}, i64 {index}")

    def load(self, kind: str, address: str, alignment: int) -> str:
        """What lies at an address."""
        return self.emit(f"load {kind}, ptr {address}, align {alignment}")

    def store(self, kind: str, value: str, address: str, alignment: int) -> None:
        """Put it there."""
        self.line(f"store {kind} {value}, ptr {address}, align {alignment}")

    # ---- control

    def _begin(self, label: str) -> None:
        self._lines.append(f"{label}:")
        self.label = label

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """What is done only if a condition holds. It makes no value that is used behind it."""
        inside, after = self.fresh(), self.fresh()
        self.line(f"br i1 {condition}, label %{inside}, label %{after}")
        self._begin(inside)
        yield
        self.line(f"br label %{after}")
        self._begin(after)

    def leave_if(self, condition: str, value: str) -> None:
        """Return a value if a condition holds."""
        out, after = self.fresh(), self.fresh()
        self.line(f"br i1 {condition}, label %{out}, label %{after}")
        self._begin(out)
        self.line(f"ret {value}")
        self._begin(after)

    @contextmanager
    def loop(self, begin: str, end: str, step: str) -> Iterator[str]:
        """From ``begin`` on while below ``end``; the counter."""
        head, inside, after = self.fresh(), self.fresh(), self.fresh()
        before, counter, following = self.label, f"%{self.fresh()}", f"%{self.fresh()}"
        self.line(f"br label %{head}")
        self._begin(head)
        place = len(self._lines)
        more = f"%{self.fresh()}"
        self.line(f"{more} = icmp slt i64 {counter}, {end}")
        self.line(f"br i1 {more}, label %{inside}, label %{after}")
        self._begin(inside)
        yield counter
        self.line(f"{following} = add i64 {counter}, {step}")
        self.line(f"br label %{head}")
        self._lines.insert(place, f"  {counter} = phi i64 [ {begin}, %{before} ], [ {following}, %{self.label} ]")
        self._begin(after)

    def switch(self, value: str, cases: Sequence[int]) -> Iterator[int]:
        """Each of the cases in turn, in a block of its own; others do nothing."""
        after = self.fresh()
        labels = [self.fresh() for _ in cases]
        rows = " ".join(f"i32 {case}, label %{label}" for case, label in zip(cases, labels, strict=True))
        self.line(f"switch i32 {value}, label %{after} [ {rows} ]")
        for case, label in zip(cases, labels, strict=True):
            self._begin(label)
            yield case
            self.line(f"br label %{after}")
        self._begin(after)
