"""The native extension: see runtime/native/native.h for its parts."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

_T = TypeVar("_T", bound=type[OperatorCall])

MAX_THREADS: int

class Code:
    """Executable memory with a copy of position-independent code."""

    def __init__(self, image: bytes, entries: tuple[int, ...], imports: tuple[tuple[int, int], ...]) -> None: ...

class Kernel:
    """An operator for one combination of element types, given by their sizes in bytes."""

    def __init__(
        self,
        inputs: tuple[int, ...],
        outputs: tuple[int, ...],
        resolve: Callable[[], tuple[Code, int, tuple[tuple[str, ...], ...], tuple[int, ...], int, bool]],
        row_wise: bool = False,
    ) -> None: ...
    def prepare(self) -> None: ...
    @property
    def prepared(self) -> bool: ...

class OperatorCall:
    """The base of Operator: calls go to the ufunc bound to their parameters."""

    inputs: int
    is_row_wise: bool
    def __call__(self, *tensors: Any, **keywords: Any) -> Any: ...
    def _forget(self) -> None: ...

def make_ufunc(
    name: str,
    doc: str,
    inputs: int,
    outputs: int,
    loops: list[tuple[tuple[int, ...], Kernel]],
    parameters: tuple[float, ...],
    row_wise: bool = False,
) -> np.ufunc: ...
def table_count() -> int: ...
def pool_size() -> int: ...
def set_pool_size(threads: int, /) -> None: ...
def own_pool_size() -> int: ...
def set_own_pool_size(threads: int, /) -> None: ...
def x86_level() -> int: ...
def set_expression_type(kind: type, /) -> None: ...
def inherit_vectorcall(kind: _T, /) -> _T: ...
