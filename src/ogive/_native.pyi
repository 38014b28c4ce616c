"""The native extension: see runtime/native/native.h for its parts."""

from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar

import numpy as np

_T = TypeVar("_T", bound=type[OperatorCall] | type[ModelCall] | type[TensorCall])
_R = TypeVar("_R")

MAX_THREADS: int
MAX_TENSORS: int

class Code:
    """Executable memory with a copy of position-independent code."""

    def __init__(self, image: bytes, entries: tuple[int, ...], imports: tuple[tuple[int, int], ...]) -> None: ...
    def addresses(self) -> tuple[int, ...]: ...

class Ufunc(np.ufunc):  # type: ignore[misc]  # final in NumPy's stubs alone
    """What `make_ufunc` makes."""

class Kernel:
    """An operator for one combination of element types, given by their sizes in bytes."""

    def __init__(
        self,
        inputs: tuple[int, ...],
        outputs: tuple[int, ...],
        resolve: Callable[
            [],
            tuple[
                Code,
                int,
                tuple[tuple[str, ...], ...],
                tuple[int, ...],
                int,
                int,
                tuple[Kernel, ...],
                Kernel | None,
                Kernel | None,
            ],
        ],
        row_wise: bool = False,
        of_row: tuple[int, ...] = (),
        decide: Callable[[tuple[bytes, ...], tuple[bytes, ...], bytes, tuple[float, ...]], tuple[bytes, ...]]
        | None = None,
        few: Callable[[tuple[bytes, ...], tuple[float, ...]], tuple[bytes, ...] | None] | None = None,
    ) -> None: ...
    def prepare(self) -> None: ...
    @property
    def prepared(self) -> bool: ...
    @property
    def addresses(self) -> tuple[int, int]: ...
    @property
    def name(self) -> str | None: ...
    @property
    def counts(self) -> tuple[int, int, int, int, int]: ...

class OperatorCall:
    """The base of Operator: calls go to the ufunc bound to their parameters."""

    inputs: int
    is_row_wise: bool
    def __call__(self, *tensors: Any, **keywords: Any) -> Any: ...
    def _forget(self) -> None: ...

class TensorExchange:
    """Tensors of a library as arrays, and arrays as tensors, by DLPack's exchange API."""

    def __init__(
        self,
        capsule: object,
        types: tuple[type, ...],
        dtypes: tuple[tuple[int, int, np.dtype], ...],
        is_negated: Callable[[Any], bool],
        records: Callable[[], bool],
        conditions: tuple[tuple[dict[str, Any], str, object], ...],
        watchers: tuple[Callable[[], object], ...],
        threads: Callable[[], int],
        written: Callable[[Any], object],
        is_uncounted: Callable[[Any], bool],
        is_writable: Callable[[], bool],
    ) -> None: ...
    def array(self, tensor: Any, /) -> np.ndarray | None: ...
    def tensor(self, array: Any, /) -> Any: ...

class TensorCall:
    """An operator on tensors. Calls that it does not take go to the subclass, or give NotImplemented."""

    def __new__(
        cls,
        exchange: TensorExchange | None,
        operator: Any,
        inputs: int,
        dtypes: tuple[np.dtype, ...],
        names: frozenset[str],
        row_wise: bool,
        record: Callable[..., Any] | None = None,
    ) -> Self: ...
    def __call__(self, *tensors: Any, **keywords: Any) -> Any: ...

def recorded_forward(node: Any, made_and_result: tuple[Any, Any], /, *tensors: Any) -> Any: ...
def recorded_backward(node: Any, /, *gradients: Any) -> Any: ...

class ShapesChanged(Exception):
    """A function returned another shape than in the run that the plan was made from: another plan is due."""

class Plan:
    """The runs of a graph with every decision made; runtime/native/plan.c says what the arguments are."""

    def __init__(
        self,
        *,
        steps: tuple[
            tuple[Any, bool, tuple[int, ...], tuple[int, ...], tuple[tuple[Any, ...], ...], tuple[int, ...]], ...
        ],
        start: tuple[Any, ...],
        inputs: tuple[int, ...],
        input_kinds: tuple[tuple[np.dtype[Any], tuple[int | None, ...]] | None, ...],
        results: tuple[int, ...],
        is_own: tuple[bool, ...],
        separate: Callable[[Any, int], Any],
        make_workspace: Callable[[Any], tuple[np.ndarray, ...]],
        workspace_bytes: int,
        uniform: bool,
        most_elements: int,
    ) -> None: ...
    def run(self, inputs: Sequence[Any], /) -> tuple[Any, ...]: ...
    def fits(self, inputs: Sequence[Any], /) -> bool: ...
    def attempt(self, inputs: Sequence[Any], outs: Sequence[Any] | None, /) -> tuple[Any, ...] | None: ...
    @property
    def uniform(self) -> int: ...
    @property
    def flexible(self) -> bool: ...
    @property
    def is_own(self) -> tuple[bool, ...]: ...
    @property
    def workspace_bytes(self) -> int: ...
    @property
    def steps(self) -> tuple[tuple[Any, ...], ...]: ...
    @property
    def make_workspace(self) -> Any: ...
    @property
    def idle(self) -> list[tuple[np.ndarray, ...]]: ...

class ModelCall:
    """The base of ogive.onnx.Model: calls run the plan for their inputs."""

    def __call__(self, *args: Any, **keywords: Any) -> Any: ...
    def _publish(self, plan: Plan, /) -> None: ...
    def _set_names(self, names: tuple[str, ...], /) -> None: ...

def make_ufunc(
    name: str,
    doc: str,
    inputs: int,
    outputs: int,
    loops: list[tuple[tuple[int, ...], Kernel]],
    parameters: tuple[float, ...],
    row_wise: bool = False,
    identity: float | None = None,
    reorderable: bool = False,
    reduces: bool = False,
) -> np.ufunc: ...
def pool_size() -> int: ...
def set_pool_size(threads: int, /) -> None: ...
def own_pool_size() -> int: ...
def set_own_pool_size(threads: int, /) -> None: ...
def call_within(size: int, exception: type[Exception], function: Callable[..., _R], /, *arguments: Any) -> _R: ...
def fork_hooks(
    held: list[Any], locks: dict[Any, None], imports: Any, loading: dict[str, Any], longest_wait: float, /
) -> tuple[Callable[[], None], Callable[[], None], Callable[[], None]]: ...
def check_interpreter() -> None: ...
def operands_first(roots: tuple[Any, ...], /) -> list[Any]: ...
def x86_level() -> int: ...
def xla_handler() -> object: ...
def add_xla_kernel(number: int, kernel: Kernel, /) -> None: ...
def set_expression_type(kind: type, /) -> None: ...
def inherit_vectorcall(kind: _T, /) -> _T: ...
