"""Made by `python -m ogive.stubs`; do not edit."""

# ruff: noqa: A001, A002, RUF022  (operators and parameters have the standards' names; aliases follow them)

from collections.abc import Sequence
from typing import Any, Literal, Protocol, SupportsFloat, SupportsIndex, TypedDict, TypeVar, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ogive import check as check
from ogive import directml as directml
from ogive import dxdispatch as dxdispatch
from ogive import errors as errors
from ogive import fast as fast
from ogive import formula
from ogive import golden as golden
from ogive import jax as jax
from ogive import judge as judge
from ogive import onnx as onnx
from ogive import onnxruntime as onnxruntime
from ogive import torch as torch
from ogive import webnn as webnn
from ogive.exporting import address as address
from ogive.exporting import export as export
from ogive.expression import Expression
from ogive.golden import exact as exact
from ogive.golden import ulp as ulp
from ogive.golden import vectors as vectors
from ogive.gradients.operators import grad, value_and_grad, vjp
from ogive.operator import Operator, operator
from ogive.row_operator import RowOperator, RowReduction, row_operator
from ogive.runtime.threads import get_num_threads, register_threadpoolctl, set_num_threads, threads

__all__ = [
    "Operator",
    "RowOperator",
    "RowReduction",
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "batch_normalization",
    "bit_count",
    "bit_shift_left",
    "bit_shift_right",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "cbrt",
    "ceil",
    "celu",
    "clamp",
    "clamp_grad",
    "clip",
    "clip_grad",
    "copysign",
    "cos",
    "cosh",
    "dequantize_linear",
    "difference_square",
    "div",
    "elu",
    "equal",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "fmax",
    "fmin",
    "formula",
    "geglu",
    "gelu",
    "get_num_threads",
    "glu",
    "grad",
    "greater",
    "greater_or_equal",
    "hard_mish",
    "hard_sigmoid",
    "hard_swish",
    "hardmax",
    "heaviside",
    "hypot",
    "identity",
    "isfinite",
    "isinf",
    "isnan",
    "layer_normalization",
    "leaky_relu",
    "less",
    "less_or_equal",
    "linear",
    "log",
    "log1mexp",
    "log1p",
    "log2",
    "log10",
    "log_ndtr",
    "log_sigmoid",
    "log_softmax",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logit",
    "logmeanexp",
    "logsumexp",
    "lp_normalization",
    "max",
    "mean",
    "mean_variance_normalization",
    "min",
    "mish",
    "mod",
    "modulus_floor",
    "modulus_truncate",
    "mul",
    "ndtr",
    "neg",
    "not_equal",
    "operator",
    "parametric_hard_swish",
    "parametric_softplus",
    "pow",
    "prelu",
    "quantize_linear",
    "quantized_linear_add",
    "reciprocal",
    "register_threadpoolctl",
    "reglu",
    "relu",
    "relu_grad",
    "rms_normalization",
    "round",
    "row_operator",
    "rsqrt",
    "scaled_tanh",
    "selu",
    "serf",
    "set_num_threads",
    "shrink",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "snake",
    "softcap",
    "softmax",
    "softmin",
    "softplus",
    "softsign",
    "sparse_plus",
    "sparse_sigmoid",
    "sparsemax",
    "sqrt",
    "square",
    "squareplus",
    "standardize",
    "star_relu",
    "sub",
    "swiglu",
    "swish",
    "tan",
    "tanh",
    "tanhshrink",
    "threads",
    "threshold",
    "thresholded_relu",
    "trunc",
    "value_and_grad",
    "vjp",
    "where",
    "xielu",
    "absolute",
    "fabs",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "invert",
    "bitwise_invert",
    "divide",
    "true_divide",
    "eq",
    "exponential",
    "gt",
    "ge",
    "greater_equal",
    "hardswish",
    "hard_silu",
    "lt",
    "le",
    "less_equal",
    "logsigmoid",
    "log_expit",
    "maximum",
    "minimum",
    "remainder",
    "fmod",
    "multiply",
    "negative",
    "ne",
    "power",
    "expit",
    "logistic",
    "soft_sign",
    "subtract",
    "silu",
    "tanh_shrink",
    "fix",
    "fast_gelu",
    "gelu_tanh",
    "hard_shrink",
    "hard_tanh",
    "hardshrink",
    "hardsigmoid",
    "hardtanh",
    "quick_gelu",
    "relu6",
    "rrelu",
    "soft_shrink",
    "softshrink",
]

__version__: str
_PARTS: tuple[str, ...]
_FUNCTIONS: dict[str, str]

class _UFunc(Protocol):
    def __array_ufunc__(self, *args: Any, **keywords: Any) -> Any: ...

class _DLPack(Protocol):
    def __dlpack__(self, *args: Any, **keywords: Any) -> Any: ...

_Tensor = ArrayLike | _UFunc | _DLPack
_Axis = SupportsIndex | Sequence[SupportsIndex] | None
_Out = TypeVar("_Out")

class _RowKeywords(TypedDict, total=False):
    casting: Literal["no", "equiv", "safe", "same_kind", "unsafe"]
    order: Literal["K", "A", "C", "F"]
    subok: bool

class _RowTypes(_RowKeywords, total=False):
    dtype: DTypeLike
    signature: str | tuple[DTypeLike, ...]

class _Keywords(_RowKeywords, total=False):
    where: _Tensor

class _Types(_Keywords, total=False):
    dtype: DTypeLike
    signature: str | tuple[DTypeLike, ...]

_Bool = TypeVar("_Bool", bound=np.bool)
_Bools = TypeVar("_Bools", bound=NDArray[np.bool] | np.bool)
_Floating = TypeVar("_Floating", bound=np.floating[Any])
_Floatings = TypeVar("_Floatings", bound=NDArray[np.floating[Any]] | np.floating[Any])
_Integer = TypeVar("_Integer", bound=np.integer[Any])
_Integers = TypeVar("_Integers", bound=NDArray[np.integer[Any]] | np.integer[Any])
_Number = TypeVar("_Number", bound=np.number[Any])
_Numbers = TypeVar("_Numbers", bound=NDArray[np.number[Any]] | np.number[Any])
_Any = TypeVar("_Any", bound=np.number[Any] | np.bool)
_Anys = TypeVar("_Anys", bound=NDArray[np.number[Any]] | np.number[Any] | NDArray[np.bool] | np.bool)

class _Abs(Operator):
    @overload
    def __call__(self, x: _Numbers, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Numbers: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

abs: _Abs
"""``abs(x)``

Magnitude: ``abs(x)``. The smallest signed integer has no counterpart and stays what it is.
"""

class _Acos(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

acos: _Acos
"""``acos(x)``

Inverse cosine, in radians: ``acos(x)``, from 0 to pi.
"""

class _Acosh(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

acosh: _Acosh
"""``acosh(x)``

Inverse hyperbolic cosine: ``log(x + sqrt(x**2 - 1))``, without cancellation and without overflow.
"""

class _Add(Operator):
    @overload
    def __call__(
        self,
        a: NDArray[_Number],
        b: NDArray[_Number] | _Number | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        a: NDArray[_Number] | _Number | float,
        b: NDArray[_Number],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        a: Expression,
        b: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        b: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

add: _Add
"""``add(a, b)``

Sum of two: ``a + b``.
"""

class _Asin(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

asin: _Asin
"""``asin(x)``

Inverse sine, in radians: ``asin(x)``, from -pi/2 to pi/2.
"""

class _Asinh(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

asinh: _Asinh
"""``asinh(x)``

Inverse hyperbolic sine: ``log(x + sqrt(x**2 + 1))``, without cancellation and without overflow.
"""

class _Atan(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

atan: _Atan
"""``atan(x)``

Inverse tangent, in radians: ``atan(x)``, from -pi/2 to pi/2.
"""

class _Atan2(Operator):
    @overload
    def __call__(
        self,
        y: NDArray[_Floating],
        x: NDArray[_Floating] | _Floating | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Floating]: ...
    @overload
    def __call__(
        self,
        y: NDArray[_Floating] | _Floating | float,
        x: NDArray[_Floating],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Floating]: ...
    @overload
    def __call__(self, y: float, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(
        self,
        y: Expression,
        x: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        y: Expression | float,
        x: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(self, y: _Tensor, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, y: _Tensor, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

atan2: _Atan2
"""``atan2(y, x)``

Angle of the point (x, y) in radians: ``atan2(y, x)``, from -pi to pi.
"""

class _Atanh(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

atanh: _Atanh
"""``atanh(x)``

Inverse hyperbolic tangent: ``log((1 + x) / (1 - x)) / 2``, without cancellation.
"""

class _BatchNormalization(Operator):
    @overload
    def __call__(
        self,
        x: NDArray[_Floating],
        scale: NDArray[_Floating] | _Floating | float,
        bias: NDArray[_Floating] | _Floating | float,
        mean: NDArray[_Floating] | _Floating | float,
        variance: NDArray[_Floating] | _Floating | float,
        /,
        *,
        epsilon: SupportsFloat = 1e-05,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Floating]: ...
    @overload
    def __call__(
        self,
        x: NDArray[_Floating] | _Floating | float,
        scale: NDArray[_Floating],
        bias: NDArray[_Floating] | _Floating | float,
        mean: NDArray[_Floating] | _Floating | float,
        variance: NDArray[_Floating] | _Floating | float,
        /,
        *,
        epsilon: SupportsFloat = 1e-05,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Floating]: ...
    @overload
    def __call__(
        self,
        x: NDArray[_Floating] | _Floating | float,
        scale: NDArray[_Floating] | _Floating | float,
        bias: NDArray[_Floating],
        mean: NDArray[_Floating] | _Floating | float,
        variance: NDArray[_Floating] | _Floating | float,
        /,
        *,
        epsilon: SupportsFloat = 1e-05,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Floating]: ...
    @overload
    def __call__(
        self,
        x: NDArray[_Floating] | _Floating | float,
        scale: NDArray[_Floating] | _Floating | float,
        bias: NDArray[_Floating] | _Floating | float,
        mean: NDArray[_Floating],
        variance: NDArray[_Floating] | _Floating | float,
        /,
        *,
        epsilon: SupportsFloat = 1e-05,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Floating]: ...
    @overload
    def __call__(
        self,
        x: NDArray[_Floating] | _Floating | float,
        scale: NDArray[_Floating] | _Floating | float,
        bias: NDArray[_Floating] | _Floating | float,
        mean: NDArray[_Floating] | _Floating | float,
        variance: NDArray[_Floating],
        /,
        *,
        epsilon: SupportsFloat = 1e-05,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Floating]: ...
    @overload
    def __call__(
        self,
        x: float,
        scale: float,
        bias: float,
        mean: float,
        variance: float,
        /,
        *,
        epsilon: SupportsFloat = 1e-05,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        scale: Expression | float,
        bias: Expression | float,
        mean: Expression | float,
        variance: Expression | float,
        /,
        *,
        epsilon: Expression | SupportsFloat = 1e-05,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: Expression | float,
        scale: Expression,
        bias: Expression | float,
        mean: Expression | float,
        variance: Expression | float,
        /,
        *,
        epsilon: Expression | SupportsFloat = 1e-05,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: Expression | float,
        scale: Expression | float,
        bias: Expression,
        mean: Expression | float,
        variance: Expression | float,
        /,
        *,
        epsilon: Expression | SupportsFloat = 1e-05,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: Expression | float,
        scale: Expression | float,
        bias: Expression | float,
        mean: Expression,
        variance: Expression | float,
        /,
        *,
        epsilon: Expression | SupportsFloat = 1e-05,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: Expression | float,
        scale: Expression | float,
        bias: Expression | float,
        mean: Expression | float,
        variance: Expression,
        /,
        *,
        epsilon: Expression | SupportsFloat = 1e-05,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        scale: _Tensor,
        bias: _Tensor,
        mean: _Tensor,
        variance: _Tensor,
        /,
        *,
        epsilon: SupportsFloat = 1e-05,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        scale: _Tensor,
        bias: _Tensor,
        mean: _Tensor,
        variance: _Tensor,
        /,
        *,
        epsilon: SupportsFloat = 1e-05,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self, *, epsilon: SupportsFloat = 1e-05) -> np.ufunc: ...

batch_normalization: _BatchNormalization
"""``batch_normalization(x, scale, bias, mean, variance, *, epsilon=1e-05)``

Elements beside a mean and a variance that are given: ``(x - mean) / sqrt(variance + epsilon) * scale + bias``.

Parameter epsilon: any finite number from 0 on; default 1e-05.
"""

class _BitCount(Operator):
    @overload
    def __call__(self, x: NDArray[Any], /, *, out: None = None, **numpy: Unpack[_Keywords]) -> NDArray[np.uint8]: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.uint8: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

bit_count: _BitCount
"""``bit_count(x)``

Number of bits that are set: ``popcount(x)``, of the two's complement where x is negative.
"""

class _BitShiftLeft(Operator):
    @overload
    def __call__(
        self,
        a: NDArray[_Integer],
        b: NDArray[_Integer] | _Integer | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Integer]: ...
    @overload
    def __call__(
        self,
        a: NDArray[_Integer] | _Integer | float,
        b: NDArray[_Integer],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Integer]: ...
    @overload
    def __call__(
        self,
        a: Expression,
        b: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        b: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

bit_shift_left: _BitShiftLeft
"""``bit_shift_left(a, b)``

Shift to the left: ``a << b``; 0 where the shift is as long as the number.
"""

class _BitShiftRight(Operator):
    @overload
    def __call__(
        self,
        a: NDArray[_Integer],
        b: NDArray[_Integer] | _Integer | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Integer]: ...
    @overload
    def __call__(
        self,
        a: NDArray[_Integer] | _Integer | float,
        b: NDArray[_Integer],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Integer]: ...
    @overload
    def __call__(
        self,
        a: Expression,
        b: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        b: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

bit_shift_right: _BitShiftRight
"""``bit_shift_right(a, b)``

Shift to the right: ``a >> b``; 0 where the shift is as long as the number.
"""

class _BitwiseAnd(Operator):
    @overload
    def __call__(
        self,
        a: NDArray[_Integer],
        b: NDArray[_Integer] | _Integer | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Integer]: ...
    @overload
    def __call__(
        self,
        a: NDArray[_Integer] | _Integer | float,
        b: NDArray[_Integer],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Integer]: ...
    @overload
    def __call__(
        self,
        a: Expression,
        b: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        b: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

bitwise_and: _BitwiseAnd
"""``bitwise_and(a, b)``

Conjunction of bits: ``a & b``.
"""

class _BitwiseNot(Operator):
    @overload
    def __call__(self, x: _Integers, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Integers: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

bitwise_not: _BitwiseNot
"""``bitwise_not(x)``

Complement of bits: ``~x``.
"""

class _BitwiseOr(Operator):
    @overload
    def __call__(
        self,
        a: NDArray[_Integer],
        b: NDArray[_Integer] | _Integer | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Integer]: ...
    @overload
    def __call__(
        self,
        a: NDArray[_Integer] | _Integer | float,
        b: NDArray[_Integer],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Integer]: ...
    @overload
    def __call__(
        self,
        a: Expression,
        b: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        b: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

bitwise_or: _BitwiseOr
"""``bitwise_or(a, b)``

Disjunction of bits: ``a | b``.
"""

class _BitwiseXor(Operator):
    @overload
    def __call__(
        self,
        a: NDArray[_Integer],
        b: NDArray[_Integer] | _Integer | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Integer]: ...
    @overload
    def __call__(
        self,
        a: NDArray[_Integer] | _Integer | float,
        b: NDArray[_Integer],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Integer]: ...
    @overload
    def __call__(
        self,
        a: Expression,
        b: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        b: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

bitwise_xor: _BitwiseXor
"""``bitwise_xor(a, b)``

Exclusive disjunction of bits: ``a ^ b``.
"""

class _Cbrt(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

cbrt: _Cbrt
"""``cbrt(x)``

Cube root: ``x ** (1 / 3)``, of negative numbers too.
"""

class _Ceil(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

ceil: _Ceil
"""``ceil(x)``

Smallest integer that is not smaller: ``ceil(x)``.
"""

class _Celu(Operator):
    @overload
    def __call__(
        self,
        x: _Floatings,
        /,
        *,
        alpha: SupportsFloat = 1.0,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> _Floatings: ...
    @overload
    def __call__(
        self,
        x: float,
        /,
        *,
        alpha: SupportsFloat = 1.0,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        alpha: Expression | SupportsFloat = 1.0,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        alpha: SupportsFloat = 1.0,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        alpha: SupportsFloat = 1.0,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self, *, alpha: SupportsFloat = 1.0) -> np.ufunc: ...

celu: _Celu
"""``celu(x, *, alpha=1.0)``

Continuously differentiable exponential linear unit: ``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))``.

Parameter alpha: any finite number but 0; default 1.0.
"""

class _Clamp(Operator):
    @overload
    def __call__(
        self,
        x: _Numbers,
        /,
        min: SupportsFloat | None = None,
        max: SupportsFloat | None = None,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> _Numbers: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        min: Expression | SupportsFloat | None = None,
        max: Expression | SupportsFloat | None = None,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        min: SupportsFloat | None = None,
        max: SupportsFloat | None = None,
        *,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        min: SupportsFloat | None = None,
        max: SupportsFloat | None = None,
        *,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self, *, min: SupportsFloat = ..., max: SupportsFloat = ...) -> np.ufunc: ...

clamp: _Clamp
"""``clamp(x, min=None, max=None)``

Clip to an interval between two numbers: ``min(max, max(min, x))``.

Parameter min: any number but NaN; default -inf.
Parameter max: any number but NaN; default inf.
"""

class _ClampGrad(Operator):
    @overload
    def __call__(
        self,
        x: NDArray[_Number],
        gradient: NDArray[_Number] | _Number | float,
        /,
        *,
        min: SupportsFloat,
        max: SupportsFloat,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        x: NDArray[_Number] | _Number | float,
        gradient: NDArray[_Number],
        /,
        *,
        min: SupportsFloat,
        max: SupportsFloat,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        x: Expression,
        gradient: Expression | float,
        /,
        *,
        min: Expression | SupportsFloat,
        max: Expression | SupportsFloat,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: Expression | float,
        gradient: Expression,
        /,
        *,
        min: Expression | SupportsFloat,
        max: Expression | SupportsFloat,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        gradient: _Tensor,
        /,
        *,
        min: SupportsFloat,
        max: SupportsFloat,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        gradient: _Tensor,
        /,
        *,
        min: SupportsFloat,
        max: SupportsFloat,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self, *, min: SupportsFloat, max: SupportsFloat) -> np.ufunc: ...

clamp_grad: _ClampGrad
"""``clamp_grad(x, gradient, *, min, max)``

Gradient of `clamp`: ``0`` where x <= min or x >= max, ``gradient`` elsewhere, also where x is NaN.

Parameter min: any number but NaN; required.
Parameter max: any number but NaN; required.
"""

class _Clip(Operator):
    @overload
    def __call__(
        self,
        x: NDArray[_Number],
        /,
        min: NDArray[_Number] | _Number | float | None = None,
        max: NDArray[_Number] | _Number | float | None = None,
        *,
        wins: Literal["max", "min"] = "max",
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        min: Expression | float | None = None,
        max: Expression | float | None = None,
        *,
        wins: Literal["max", "min"] = "max",
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        min: _Tensor | None = None,
        max: _Tensor | None = None,
        *,
        wins: Literal["max", "min"] = "max",
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        min: _Tensor | None = None,
        max: _Tensor | None = None,
        *,
        wins: Literal["max", "min"] = "max",
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self, *, wins: Literal["max", "min"] = "max") -> np.ufunc: ...

clip: _Clip
"""``clip(x, min=None, max=None, *, wins='max')``

Clip to an interval: ``min(max(x, min), max)``.

Parameter wins: 'max', 'min'; default 'max'.
"""

class _ClipGrad(Operator):
    @overload
    def __call__(
        self,
        x: NDArray[_Number],
        gradient: NDArray[_Number] | _Number | float,
        min: NDArray[_Number] | _Number | float,
        max: NDArray[_Number] | _Number | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        x: NDArray[_Number] | _Number | float,
        gradient: NDArray[_Number],
        min: NDArray[_Number] | _Number | float,
        max: NDArray[_Number] | _Number | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        x: NDArray[_Number] | _Number | float,
        gradient: NDArray[_Number] | _Number | float,
        min: NDArray[_Number],
        max: NDArray[_Number] | _Number | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        x: NDArray[_Number] | _Number | float,
        gradient: NDArray[_Number] | _Number | float,
        min: NDArray[_Number] | _Number | float,
        max: NDArray[_Number],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        x: Expression,
        gradient: Expression | float,
        min: Expression | float,
        max: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: Expression | float,
        gradient: Expression,
        min: Expression | float,
        max: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: Expression | float,
        gradient: Expression | float,
        min: Expression,
        max: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: Expression | float,
        gradient: Expression | float,
        min: Expression | float,
        max: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        gradient: _Tensor,
        min: _Tensor,
        max: _Tensor,
        /,
        *,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        gradient: _Tensor,
        min: _Tensor,
        max: _Tensor,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self) -> np.ufunc: ...

clip_grad: _ClipGrad
"""``clip_grad(x, gradient, min, max)``

Gradient of clipping between tensors: ``0`` where x <= min or x >= max, ``gradient`` elsewhere.
"""

class _Copysign(Operator):
    @overload
    def __call__(
        self,
        x: NDArray[_Floating],
        sign: NDArray[_Floating] | _Floating | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Floating]: ...
    @overload
    def __call__(
        self,
        x: NDArray[_Floating] | _Floating | float,
        sign: NDArray[_Floating],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Floating]: ...
    @overload
    def __call__(self, x: float, sign: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        sign: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: Expression | float,
        sign: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, sign: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, sign: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

copysign: _Copysign
"""``copysign(x, sign)``

Magnitude of one with the sign of another: ``abs(x)`` or ``-abs(x)``, as the sign bit of ``sign`` says.
"""

class _Cos(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

cos: _Cos
"""``cos(x)``

Cosine of an angle in radians: ``cos(x)``, exactly reduced whatever the size of the angle.
"""

class _Cosh(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

cosh: _Cosh
"""``cosh(x)``

Hyperbolic cosine: ``(exp(x) + exp(-x)) / 2``, infinite only where the result is.
"""

class _DequantizeLinear(Operator):
    @overload
    def __call__(
        self,
        x: _Tensor,
        scale: NDArray[_Floating],
        zero_point: _Tensor,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Floating]: ...
    @overload
    def __call__(
        self,
        x: float,
        scale: float,
        zero_point: float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        scale: Expression | float,
        zero_point: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: Expression | float,
        scale: Expression,
        zero_point: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: Expression | float,
        scale: Expression | float,
        zero_point: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        scale: _Tensor,
        zero_point: _Tensor,
        /,
        *,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        scale: _Tensor,
        zero_point: _Tensor,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self) -> np.ufunc: ...

dequantize_linear: _DequantizeLinear
"""``dequantize_linear(x, scale, zero_point)``

Integers as the numbers they stand for: ``(x - zero_point) * scale``, rounded once.
"""

class _DifferenceSquare(Operator):
    @overload
    def __call__(
        self,
        a: NDArray[_Number],
        b: NDArray[_Number] | _Number | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        a: NDArray[_Number] | _Number | float,
        b: NDArray[_Number],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        a: Expression,
        b: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        b: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

difference_square: _DifferenceSquare
"""``difference_square(a, b)``

Square of the difference: ``(a - b) * (a - b)``, rounded once.
"""

class _Div(Operator):
    @overload
    def __call__(
        self,
        a: NDArray[_Number],
        b: NDArray[_Number] | _Number | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        a: NDArray[_Number] | _Number | float,
        b: NDArray[_Number],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        a: Expression,
        b: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        b: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

div: _Div
"""``div(a, b)``

Quotient: ``a / b``; of integers rounded towards zero, and 0 where ``b`` is 0.
"""

class _Elu(Operator):
    @overload
    def __call__(
        self,
        x: _Floatings,
        /,
        *,
        alpha: SupportsFloat = 1.0,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> _Floatings: ...
    @overload
    def __call__(
        self,
        x: float,
        /,
        *,
        alpha: SupportsFloat = 1.0,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        alpha: Expression | SupportsFloat = 1.0,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        alpha: SupportsFloat = 1.0,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        alpha: SupportsFloat = 1.0,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self, *, alpha: SupportsFloat = 1.0) -> np.ufunc: ...

elu: _Elu
"""``elu(x, *, alpha=1.0)``

Exponential linear unit: x where x >= 0, ``alpha * (exp(x) - 1)`` elsewhere.

Parameter alpha: any finite number; default 1.0.
"""

class _Equal(Operator):
    @overload
    def __call__(
        self,
        a: NDArray[Any],
        b: _Tensor,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[np.bool]: ...
    @overload
    def __call__(
        self,
        a: _Tensor,
        b: NDArray[Any],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[np.bool]: ...
    @overload
    def __call__(self, a: float, b: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.bool: ...
    @overload
    def __call__(
        self,
        a: Expression,
        b: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        b: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

equal: _Equal
"""``equal(a, b)``

Equality: ``a == b``; false where an operand is NaN.
"""

class _Erf(Operator):
    @overload
    def __call__(self, x: _Numbers, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Numbers: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

erf: _Erf
"""``erf(x)``

Error function: ``2 / sqrt(pi)`` times the integral of exp(-t**2) from 0 to x.
"""

class _Erfc(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

erfc: _Erfc
"""``erfc(x)``

Complementary error function: ``1 - erf(x)``, accurate in both tails.
"""

class _Erfinv(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

erfinv: _Erfinv
"""``erfinv(x)``

Inverse of the error function: ``erf(y) = x``; infinite at -1 and 1, NaN beyond.
"""

class _Exp(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

exp: _Exp
"""``exp(x)``

Exponential function: ``exp(x)``.
"""

class _Exp2(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

exp2: _Exp2
"""``exp2(x)``

Power of two: ``2 ** x``, exact where x is an integer.
"""

class _Expm1(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

expm1: _Expm1
"""``expm1(x)``

Exponential less one: ``exp(x) - 1``, without cancellation near zero.
"""

class _Floor(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

floor: _Floor
"""``floor(x)``

Largest integer that is not larger: ``floor(x)``.
"""

class _Fmax(Operator):
    @overload
    def __call__(
        self,
        a: NDArray[_Number],
        b: NDArray[_Number] | _Number | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        a: NDArray[_Number] | _Number | float,
        b: NDArray[_Number],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        a: Expression,
        b: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        b: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

fmax: _Fmax
"""``fmax(a, b)``

Larger of two numbers: ``max(a, b)``, and the other one where one is NaN. Of two zeros the positive one is larger.
"""

class _Fmin(Operator):
    @overload
    def __call__(
        self,
        a: NDArray[_Number],
        b: NDArray[_Number] | _Number | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        a: NDArray[_Number] | _Number | float,
        b: NDArray[_Number],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        a: Expression,
        b: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        b: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

fmin: _Fmin
"""``fmin(a, b)``

Smaller of two numbers: ``min(a, b)``, and the other one where one is NaN. Of two zeros the negative one is smaller.
"""

class _Geglu(Operator):
    @overload
    def __call__(
        self,
        a: NDArray[_Floating],
        /,
        b: NDArray[_Floating] | _Floating | float | None = None,
        *,
        approximate: Literal["none", "tanh"] = "none",
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Floating]: ...
    @overload
    def __call__(
        self,
        a: float,
        /,
        b: float | None = None,
        *,
        approximate: Literal["none", "tanh"] = "none",
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        a: Expression,
        /,
        b: Expression | float | None = None,
        *,
        approximate: Literal["none", "tanh"] = "none",
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: _Tensor,
        /,
        b: _Tensor | None = None,
        *,
        approximate: Literal["none", "tanh"] = "none",
        axis: _Axis = -1,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        a: _Tensor,
        /,
        b: _Tensor | None = None,
        *,
        approximate: Literal["none", "tanh"] = "none",
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self, *, approximate: Literal["none", "tanh"] = "none") -> np.ufunc: ...

geglu: _Geglu
"""``geglu(a, b=None, *, approximate='none', axis=-1)``

Gated linear unit with a GELU gate: ``gelu(a) * b``, rounded once.

Parameter approximate: 'none', 'tanh'; default 'none'.
"""

class _Gelu(Operator):
    @overload
    def __call__(
        self,
        x: _Floatings,
        /,
        *,
        approximate: Literal["none", "tanh"] = "none",
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> _Floatings: ...
    @overload
    def __call__(
        self,
        x: float,
        /,
        *,
        approximate: Literal["none", "tanh"] = "none",
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        approximate: Literal["none", "tanh"] = "none",
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        approximate: Literal["none", "tanh"] = "none",
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        approximate: Literal["none", "tanh"] = "none",
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self, *, approximate: Literal["none", "tanh"] = "none") -> np.ufunc: ...

gelu: _Gelu
"""``gelu(x, *, approximate='none')``

Gaussian error linear unit: ``0.5 * x * (1 + erf(x / sqrt(2)))``.

Parameter approximate: 'none', 'tanh'; default 'none'.
"""

class _Glu(Operator):
    @overload
    def __call__(
        self,
        a: NDArray[_Floating],
        /,
        b: NDArray[_Floating] | _Floating | float | None = None,
        *,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Floating]: ...
    @overload
    def __call__(
        self,
        a: float,
        /,
        b: float | None = None,
        *,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        a: Expression,
        /,
        b: Expression | float | None = None,
        *,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: _Tensor,
        /,
        b: _Tensor | None = None,
        *,
        axis: _Axis = -1,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        a: _Tensor,
        /,
        b: _Tensor | None = None,
        *,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self) -> np.ufunc: ...

glu: _Glu
"""``glu(a, b=None, *, axis=-1)``

Gated linear unit: ``a / (1 + exp(-b))``.
"""

class _Greater(Operator):
    @overload
    def __call__(
        self,
        a: NDArray[Any],
        b: _Tensor,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[np.bool]: ...
    @overload
    def __call__(
        self,
        a: _Tensor,
        b: NDArray[Any],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[np.bool]: ...
    @overload
    def __call__(self, a: float, b: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.bool: ...
    @overload
    def __call__(
        self,
        a: Expression,
        b: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        b: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

greater: _Greater
"""``greater(a, b)``

Comparison: ``a > b``; false where an operand is NaN.
"""

class _GreaterOrEqual(Operator):
    @overload
    def __call__(
        self,
        a: NDArray[Any],
        b: _Tensor,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[np.bool]: ...
    @overload
    def __call__(
        self,
        a: _Tensor,
        b: NDArray[Any],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[np.bool]: ...
    @overload
    def __call__(self, a: float, b: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.bool: ...
    @overload
    def __call__(
        self,
        a: Expression,
        b: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        b: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

greater_or_equal: _GreaterOrEqual
"""``greater_or_equal(a, b)``

Comparison: ``a >= b``; false where an operand is NaN.
"""

class _HardMish(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

hard_mish: _HardMish
"""``hard_mish(x)``

Piecewise mish: ``x / 2 * max(0, min(x + 2, 2))``.
"""

class _HardSigmoid(Operator):
    @overload
    def __call__(
        self,
        x: _Floatings,
        /,
        *,
        alpha: SupportsFloat = 0.2,
        beta: SupportsFloat = 0.5,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> _Floatings: ...
    @overload
    def __call__(
        self,
        x: float,
        /,
        *,
        alpha: SupportsFloat = 0.2,
        beta: SupportsFloat = 0.5,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        alpha: Expression | SupportsFloat = 0.2,
        beta: Expression | SupportsFloat = 0.5,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        alpha: SupportsFloat = 0.2,
        beta: SupportsFloat = 0.5,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        alpha: SupportsFloat = 0.2,
        beta: SupportsFloat = 0.5,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self, *, alpha: SupportsFloat = 0.2, beta: SupportsFloat = 0.5) -> np.ufunc: ...

hard_sigmoid: _HardSigmoid
"""``hard_sigmoid(x, *, alpha=0.2, beta=0.5)``

Piecewise linear sigmoid: ``max(0, min(alpha * x + beta, 1))``.

Parameter alpha: any finite number; default 0.2.
Parameter beta: any finite number; default 0.5.
"""

class _HardSwish(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

hard_swish: _HardSwish
"""``hard_swish(x)``

Piecewise swish: ``x * max(0, min(x / 6 + 1 / 2, 1))``.
"""

class _Hardmax(RowOperator):
    @overload
    def __call__(
        self,
        x: _Floatings,
        /,
        *,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> _Floatings: ...
    @overload
    def __call__(
        self,
        x: float,
        /,
        *,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        axis: _Axis = -1,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_RowTypes],
    ) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, axis: _Axis = -1, out: None = None, **numpy: Unpack[_RowTypes]) -> Any: ...
    def bind(self) -> np.ufunc: ...

hardmax: _Hardmax
"""``hardmax(x, *, axis=-1)``

One where the row has its largest element for the first time, 0 elsewhere: ``x == max(x)``, once a row.
"""

class _Heaviside(Operator):
    @overload
    def __call__(
        self,
        x: NDArray[_Floating],
        at_zero: NDArray[_Floating] | _Floating | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Floating]: ...
    @overload
    def __call__(
        self,
        x: NDArray[_Floating] | _Floating | float,
        at_zero: NDArray[_Floating],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Floating]: ...
    @overload
    def __call__(self, x: float, at_zero: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        at_zero: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: Expression | float,
        at_zero: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        at_zero: _Tensor,
        /,
        *,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, at_zero: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

heaviside: _Heaviside
"""``heaviside(x, at_zero)``

Step function: 0 where x < 0, 1 where x > 0, ``at_zero`` where x is a zero.
"""

class _Hypot(Operator):
    @overload
    def __call__(
        self,
        a: NDArray[_Floating],
        b: NDArray[_Floating] | _Floating | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Floating]: ...
    @overload
    def __call__(
        self,
        a: NDArray[_Floating] | _Floating | float,
        b: NDArray[_Floating],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Floating]: ...
    @overload
    def __call__(self, a: float, b: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(
        self,
        a: Expression,
        b: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        b: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

hypot: _Hypot
"""``hypot(a, b)``

Length of a vector of two: ``sqrt(a * a + b * b)``, without overflow on the way.
"""

class _Identity(Operator):
    @overload
    def __call__(self, x: _Numbers, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Numbers: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

identity: _Identity
"""``identity(x)``

Identity: ``x``. Of all NaN only the one canonical quiet NaN comes out.
"""

class _Isfinite(Operator):
    @overload
    def __call__(self, x: NDArray[Any], /, *, out: None = None, **numpy: Unpack[_Keywords]) -> NDArray[np.bool]: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.bool: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

isfinite: _Isfinite
"""``isfinite(x)``

Whether a number is neither infinite nor NaN: ``abs(x) < inf``.
"""

class _Isinf(Operator):
    @overload
    def __call__(
        self,
        x: NDArray[Any],
        /,
        *,
        detect_negative: Literal[1, 0] = 1,
        detect_positive: Literal[1, 0] = 1,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[np.bool]: ...
    @overload
    def __call__(
        self,
        x: float,
        /,
        *,
        detect_negative: Literal[1, 0] = 1,
        detect_positive: Literal[1, 0] = 1,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> np.bool: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        detect_negative: Literal[1, 0] = 1,
        detect_positive: Literal[1, 0] = 1,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        detect_negative: Literal[1, 0] = 1,
        detect_positive: Literal[1, 0] = 1,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        detect_negative: Literal[1, 0] = 1,
        detect_positive: Literal[1, 0] = 1,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self, *, detect_negative: Literal[1, 0] = 1, detect_positive: Literal[1, 0] = 1) -> np.ufunc: ...

isinf: _Isinf
"""``isinf(x, *, detect_negative=1, detect_positive=1)``

Whether a number is infinite: ``abs(x) == inf``, or one of the two infinities.

Parameter detect_negative: 1, 0; default 1.
Parameter detect_positive: 1, 0; default 1.
"""

class _Isnan(Operator):
    @overload
    def __call__(self, x: NDArray[Any], /, *, out: None = None, **numpy: Unpack[_Keywords]) -> NDArray[np.bool]: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.bool: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

isnan: _Isnan
"""``isnan(x)``

Whether a number is NaN: ``x != x``.
"""

class _LayerNormalization(RowOperator):
    @overload
    def __call__(
        self,
        x: NDArray[_Floating],
        scale: NDArray[_Floating] | _Floating | float,
        bias: NDArray[_Floating] | _Floating | float,
        /,
        *,
        epsilon: SupportsFloat = 1e-05,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> NDArray[_Floating]: ...
    @overload
    def __call__(
        self,
        x: NDArray[_Floating] | _Floating | float,
        scale: NDArray[_Floating],
        bias: NDArray[_Floating] | _Floating | float,
        /,
        *,
        epsilon: SupportsFloat = 1e-05,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> NDArray[_Floating]: ...
    @overload
    def __call__(
        self,
        x: NDArray[_Floating] | _Floating | float,
        scale: NDArray[_Floating] | _Floating | float,
        bias: NDArray[_Floating],
        /,
        *,
        epsilon: SupportsFloat = 1e-05,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> NDArray[_Floating]: ...
    @overload
    def __call__(
        self,
        x: float,
        scale: float,
        bias: float,
        /,
        *,
        epsilon: SupportsFloat = 1e-05,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        scale: Expression | float,
        bias: Expression | float,
        /,
        *,
        epsilon: Expression | SupportsFloat = 1e-05,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: Expression | float,
        scale: Expression,
        bias: Expression | float,
        /,
        *,
        epsilon: Expression | SupportsFloat = 1e-05,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: Expression | float,
        scale: Expression | float,
        bias: Expression,
        /,
        *,
        epsilon: Expression | SupportsFloat = 1e-05,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        scale: _Tensor,
        bias: _Tensor,
        /,
        *,
        epsilon: SupportsFloat = 1e-05,
        axis: _Axis = -1,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_RowTypes],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        scale: _Tensor,
        bias: _Tensor,
        /,
        *,
        epsilon: SupportsFloat = 1e-05,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowTypes],
    ) -> Any: ...
    def bind(self, *, epsilon: SupportsFloat = 1e-05) -> np.ufunc: ...

layer_normalization: _LayerNormalization
"""``layer_normalization(x, scale, bias, *, epsilon=1e-05, axis=-1)``

Rows of mean 0 and variance 1, scaled and shifted: ``(x - mean(x)) / sqrt(variance(x) + epsilon) * scale + bias``.

Parameter epsilon: any finite number from 0 on; default 1e-05.
"""

class _LeakyRelu(Operator):
    @overload
    def __call__(
        self,
        x: _Floatings,
        /,
        *,
        alpha: SupportsFloat = 0.01,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> _Floatings: ...
    @overload
    def __call__(
        self,
        x: float,
        /,
        *,
        alpha: SupportsFloat = 0.01,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        alpha: Expression | SupportsFloat = 0.01,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        alpha: SupportsFloat = 0.01,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        alpha: SupportsFloat = 0.01,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self, *, alpha: SupportsFloat = 0.01) -> np.ufunc: ...

leaky_relu: _LeakyRelu
"""``leaky_relu(x, *, alpha=0.01)``

Leaky rectified linear unit: x where x >= 0, ``alpha * x`` elsewhere.

Parameter alpha: any finite number; default 0.01.
"""

class _Less(Operator):
    @overload
    def __call__(
        self,
        a: NDArray[Any],
        b: _Tensor,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[np.bool]: ...
    @overload
    def __call__(
        self,
        a: _Tensor,
        b: NDArray[Any],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[np.bool]: ...
    @overload
    def __call__(self, a: float, b: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.bool: ...
    @overload
    def __call__(
        self,
        a: Expression,
        b: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        b: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

less: _Less
"""``less(a, b)``

Comparison: ``a < b``; false where an operand is NaN.
"""

class _LessOrEqual(Operator):
    @overload
    def __call__(
        self,
        a: NDArray[Any],
        b: _Tensor,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[np.bool]: ...
    @overload
    def __call__(
        self,
        a: _Tensor,
        b: NDArray[Any],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[np.bool]: ...
    @overload
    def __call__(self, a: float, b: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.bool: ...
    @overload
    def __call__(
        self,
        a: Expression,
        b: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        b: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

less_or_equal: _LessOrEqual
"""``less_or_equal(a, b)``

Comparison: ``a <= b``; false where an operand is NaN.
"""

class _Linear(Operator):
    @overload
    def __call__(
        self,
        x: _Floatings,
        /,
        *,
        alpha: SupportsFloat = 1.0,
        beta: SupportsFloat = 0.0,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> _Floatings: ...
    @overload
    def __call__(
        self,
        x: float,
        /,
        *,
        alpha: SupportsFloat = 1.0,
        beta: SupportsFloat = 0.0,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        alpha: Expression | SupportsFloat = 1.0,
        beta: Expression | SupportsFloat = 0.0,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        alpha: SupportsFloat = 1.0,
        beta: SupportsFloat = 0.0,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        alpha: SupportsFloat = 1.0,
        beta: SupportsFloat = 0.0,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self, *, alpha: SupportsFloat = 1.0, beta: SupportsFloat = 0.0) -> np.ufunc: ...

linear: _Linear
"""``linear(x, *, alpha=1.0, beta=0.0)``

Affine function: ``alpha * x + beta``, rounded once.

Parameter alpha: any finite number; default 1.0.
Parameter beta: any finite number; default 0.0.
"""

class _Log(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

log: _Log
"""``log(x)``

Natural logarithm: ``log(x)``; -inf at both zeros, NaN below.
"""

class _Log1Mexp(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

log1mexp: _Log1Mexp
"""``log1mexp(x)``

Logarithm of one less an exponential: ``log(1 - exp(-x))``, without cancellation at both ends; NaN below zero.
"""

class _Log1P(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

log1p: _Log1P
"""``log1p(x)``

Logarithm of one more: ``log(1 + x)``, without cancellation near zero; -inf at -1, NaN below.
"""

class _Log2(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

log2: _Log2
"""``log2(x)``

Logarithm to base 2: ``log(x) / log(2)``, exact at powers of two; -inf at both zeros, NaN below.
"""

class _Log10(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

log10: _Log10
"""``log10(x)``

Logarithm to base 10: ``log(x) / log(10)``, exact at powers of ten; -inf at both zeros, NaN below.
"""

class _LogNdtr(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

log_ndtr: _LogNdtr
"""``log_ndtr(x)``

Logarithm of the standard normal distribution function: ``log((1 + erf(x / sqrt(2))) / 2)``.
"""

class _LogSigmoid(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

log_sigmoid: _LogSigmoid
"""``log_sigmoid(x)``

Logarithm of the logistic function: ``log(1 / (1 + exp(-x)))``, without overflow and accurate at both ends.
"""

class _LogSoftmax(RowOperator):
    @overload
    def __call__(
        self,
        x: _Floatings,
        /,
        *,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> _Floatings: ...
    @overload
    def __call__(
        self,
        x: float,
        /,
        *,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        axis: _Axis = -1,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_RowTypes],
    ) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, axis: _Axis = -1, out: None = None, **numpy: Unpack[_RowTypes]) -> Any: ...
    def bind(self) -> np.ufunc: ...

log_softmax: _LogSoftmax
"""``log_softmax(x, *, axis=-1)``

Logarithm of the softmax: ``x - max(x) - log(sum(exp(x - max(x))))``.
"""

class _Logaddexp(Operator):
    @overload
    def __call__(
        self,
        a: NDArray[_Floating],
        b: NDArray[_Floating] | _Floating | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Floating]: ...
    @overload
    def __call__(
        self,
        a: NDArray[_Floating] | _Floating | float,
        b: NDArray[_Floating],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Floating]: ...
    @overload
    def __call__(self, a: float, b: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(
        self,
        a: Expression,
        b: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        b: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

logaddexp: _Logaddexp
"""``logaddexp(a, b)``

Logarithm of a sum of exponentials: ``log(exp(a) + exp(b))``, without overflow on the way.
"""

class _Logaddexp2(Operator):
    @overload
    def __call__(
        self,
        a: NDArray[_Floating],
        b: NDArray[_Floating] | _Floating | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Floating]: ...
    @overload
    def __call__(
        self,
        a: NDArray[_Floating] | _Floating | float,
        b: NDArray[_Floating],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Floating]: ...
    @overload
    def __call__(self, a: float, b: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(
        self,
        a: Expression,
        b: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        b: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

logaddexp2: _Logaddexp2
"""``logaddexp2(a, b)``

Logarithm of a sum of powers of two: ``log2(2 ** a + 2 ** b)``, without overflow on the way.
"""

class _LogicalAnd(Operator):
    @overload
    def __call__(
        self,
        a: NDArray[Any],
        b: _Tensor,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[np.bool]: ...
    @overload
    def __call__(
        self,
        a: _Tensor,
        b: NDArray[Any],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[np.bool]: ...
    @overload
    def __call__(self, a: float, b: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.bool: ...
    @overload
    def __call__(
        self,
        a: Expression,
        b: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        b: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

logical_and: _LogicalAnd
"""``logical_and(a, b)``

Conjunction: ``a & b``.
"""

class _LogicalNot(Operator):
    @overload
    def __call__(self, x: NDArray[Any], /, *, out: None = None, **numpy: Unpack[_Keywords]) -> NDArray[np.bool]: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.bool: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

logical_not: _LogicalNot
"""``logical_not(x)``

Negation: ``~x``.
"""

class _LogicalOr(Operator):
    @overload
    def __call__(
        self,
        a: NDArray[Any],
        b: _Tensor,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[np.bool]: ...
    @overload
    def __call__(
        self,
        a: _Tensor,
        b: NDArray[Any],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[np.bool]: ...
    @overload
    def __call__(self, a: float, b: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.bool: ...
    @overload
    def __call__(
        self,
        a: Expression,
        b: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        b: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

logical_or: _LogicalOr
"""``logical_or(a, b)``

Disjunction: ``a | b``.
"""

class _LogicalXor(Operator):
    @overload
    def __call__(
        self,
        a: NDArray[Any],
        b: _Tensor,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[np.bool]: ...
    @overload
    def __call__(
        self,
        a: _Tensor,
        b: NDArray[Any],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[np.bool]: ...
    @overload
    def __call__(self, a: float, b: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.bool: ...
    @overload
    def __call__(
        self,
        a: Expression,
        b: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        b: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

logical_xor: _LogicalXor
"""``logical_xor(a, b)``

Exclusive disjunction: ``a ^ b``.
"""

class _Logit(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

logit: _Logit
"""``logit(x)``

Inverse of the logistic function: ``log(x / (1 - x))``, without cancellation near 1/2; NaN outside [0, 1].
"""

class _Logmeanexp(RowReduction):
    @overload
    def __call__(
        self,
        x: _Floatings,
        /,
        *,
        axis: _Axis = -1,
        keepdims: bool = False,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> _Floatings: ...
    @overload
    def __call__(
        self,
        x: float,
        /,
        *,
        axis: _Axis = -1,
        keepdims: bool = False,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        axis: _Axis = -1,
        keepdims: bool = False,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        axis: _Axis = -1,
        keepdims: bool = False,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_RowTypes],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        axis: _Axis = -1,
        keepdims: bool = False,
        out: None = None,
        **numpy: Unpack[_RowTypes],
    ) -> Any: ...
    def bind(self) -> np.ufunc: ...

logmeanexp: _Logmeanexp
"""``logmeanexp(x, *, axis=-1, keepdims=False)``

Logarithm of the mean of exponentials: ``max(x) + log(mean(exp(x - max(x))))``.
"""

class _Logsumexp(RowReduction):
    @overload
    def __call__(
        self,
        x: _Floatings,
        /,
        *,
        axis: _Axis = -1,
        keepdims: bool = False,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> _Floatings: ...
    @overload
    def __call__(
        self,
        x: float,
        /,
        *,
        axis: _Axis = -1,
        keepdims: bool = False,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        axis: _Axis = -1,
        keepdims: bool = False,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        axis: _Axis = -1,
        keepdims: bool = False,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_RowTypes],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        axis: _Axis = -1,
        keepdims: bool = False,
        out: None = None,
        **numpy: Unpack[_RowTypes],
    ) -> Any: ...
    def bind(self) -> np.ufunc: ...

logsumexp: _Logsumexp
"""``logsumexp(x, *, axis=-1, keepdims=False)``

Logarithm of the sum of exponentials: ``max(x) + log(sum(exp(x - max(x))))``.
"""

class _LpNormalization(RowOperator):
    @overload
    def __call__(
        self,
        x: _Floatings,
        /,
        *,
        p: Literal[2, 1] = 2,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> _Floatings: ...
    @overload
    def __call__(
        self,
        x: float,
        /,
        *,
        p: Literal[2, 1] = 2,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        p: Literal[2, 1] = 2,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        p: Literal[2, 1] = 2,
        axis: _Axis = -1,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_RowTypes],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        p: Literal[2, 1] = 2,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowTypes],
    ) -> Any: ...
    def bind(self, *, p: Literal[2, 1] = 2) -> np.ufunc: ...

lp_normalization: _LpNormalization
"""``lp_normalization(x, *, p=2, axis=-1)``

Rows of norm 1: ``x / sum(abs(x)**p)**(1/p)``; a row of zeros stays as it is.

Parameter p: 2, 1; default 2.
"""

class _Max(Operator):
    @overload
    def __call__(
        self,
        a: NDArray[_Number],
        b: NDArray[_Number] | _Number | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        a: NDArray[_Number] | _Number | float,
        b: NDArray[_Number],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        a: Expression,
        b: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        b: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

max: _Max
"""``max(a, b)``

Larger of two: ``max(a, b)``. NaN in either gives NaN; of two zeros the positive one is larger.
"""

class _Mean(Operator):
    @overload
    def __call__(
        self,
        a: NDArray[_Number],
        b: NDArray[_Number] | _Number | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        a: NDArray[_Number] | _Number | float,
        b: NDArray[_Number],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        a: Expression,
        b: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        b: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

mean: _Mean
"""``mean(a, b)``

Mean of two: ``(a + b) / 2``, which does not overflow; of integers rounded towards zero.
"""

class _MeanVarianceNormalization(RowOperator):
    @overload
    def __call__(
        self,
        x: _Floatings,
        /,
        *,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> _Floatings: ...
    @overload
    def __call__(
        self,
        x: float,
        /,
        *,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        axis: _Axis = -1,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_RowTypes],
    ) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, axis: _Axis = -1, out: None = None, **numpy: Unpack[_RowTypes]) -> Any: ...
    def bind(self) -> np.ufunc: ...

mean_variance_normalization: _MeanVarianceNormalization
"""``mean_variance_normalization(x, *, axis=-1)``

Rows of mean 0 and variance 1: ``(x - mean(x)) / sqrt(mean((x - mean(x))**2))``; 0 where all elements are equal.
"""

class _Min(Operator):
    @overload
    def __call__(
        self,
        a: NDArray[_Number],
        b: NDArray[_Number] | _Number | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        a: NDArray[_Number] | _Number | float,
        b: NDArray[_Number],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        a: Expression,
        b: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        b: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

min: _Min
"""``min(a, b)``

Smaller of two: ``min(a, b)``. NaN in either gives NaN; of two zeros the negative one is smaller.
"""

class _Mish(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

mish: _Mish
"""``mish(x)``

Self-regularised activation: ``x * tanh(log(1 + exp(x)))``.
"""

class _Mod(Operator):
    @overload
    def __call__(
        self,
        a: NDArray[_Number],
        b: NDArray[_Number] | _Number | float,
        /,
        *,
        fmod: Literal[0, 1] = 0,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        a: NDArray[_Number] | _Number | float,
        b: NDArray[_Number],
        /,
        *,
        fmod: Literal[0, 1] = 0,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        a: Expression,
        b: Expression | float,
        /,
        *,
        fmod: Literal[0, 1] = 0,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        b: Expression,
        /,
        *,
        fmod: Literal[0, 1] = 0,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: _Tensor,
        b: _Tensor,
        /,
        *,
        fmod: Literal[0, 1] = 0,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        a: _Tensor,
        b: _Tensor,
        /,
        *,
        fmod: Literal[0, 1] = 0,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self, *, fmod: Literal[0, 1] = 0) -> np.ufunc: ...

mod: _Mod
"""``mod(a, b, *, fmod=0)``

Remainder of a division: ``a - b * floor(a / b)``; with ``fmod=1`` C's, ``a - b * trunc(a / b)``.

Parameter fmod: 0, 1; default 0.
"""

class _ModulusFloor(Operator):
    @overload
    def __call__(
        self,
        a: NDArray[_Number],
        b: NDArray[_Number] | _Number | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        a: NDArray[_Number] | _Number | float,
        b: NDArray[_Number],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        a: Expression,
        b: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        b: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

modulus_floor: _ModulusFloor
"""``modulus_floor(a, b)``

Remainder with the sign of the divisor: ``a - b * floor(a / b)``.
"""

class _ModulusTruncate(Operator):
    @overload
    def __call__(
        self,
        a: NDArray[_Number],
        b: NDArray[_Number] | _Number | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        a: NDArray[_Number] | _Number | float,
        b: NDArray[_Number],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        a: Expression,
        b: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        b: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

modulus_truncate: _ModulusTruncate
"""``modulus_truncate(a, b)``

Remainder with the sign of the dividend: ``a - b * trunc(a / b)``, exactly.
"""

class _Mul(Operator):
    @overload
    def __call__(
        self,
        a: NDArray[_Number],
        b: NDArray[_Number] | _Number | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        a: NDArray[_Number] | _Number | float,
        b: NDArray[_Number],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        a: Expression,
        b: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        b: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

mul: _Mul
"""``mul(a, b)``

Product: ``a * b``.
"""

class _Ndtr(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

ndtr: _Ndtr
"""``ndtr(x)``

Standard normal distribution function: ``(1 + erf(x / sqrt(2))) / 2``, accurate in both tails.
"""

class _Neg(Operator):
    @overload
    def __call__(self, x: _Numbers, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Numbers: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

neg: _Neg
"""``neg(x)``

Negative: ``-x``. The smallest integer has no counterpart and stays what it is.
"""

class _NotEqual(Operator):
    @overload
    def __call__(
        self,
        a: NDArray[Any],
        b: _Tensor,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[np.bool]: ...
    @overload
    def __call__(
        self,
        a: _Tensor,
        b: NDArray[Any],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[np.bool]: ...
    @overload
    def __call__(self, a: float, b: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.bool: ...
    @overload
    def __call__(
        self,
        a: Expression,
        b: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        b: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

not_equal: _NotEqual
"""``not_equal(a, b)``

Inequality: ``a != b``; true where an operand is NaN.
"""

class _ParametricHardSwish(Operator):
    @overload
    def __call__(
        self,
        x: _Floatings,
        /,
        *,
        alpha: SupportsFloat = 0.16666666666666666,
        beta: SupportsFloat = 0.5,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> _Floatings: ...
    @overload
    def __call__(
        self,
        x: float,
        /,
        *,
        alpha: SupportsFloat = 0.16666666666666666,
        beta: SupportsFloat = 0.5,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        alpha: Expression | SupportsFloat = 0.16666666666666666,
        beta: Expression | SupportsFloat = 0.5,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        alpha: SupportsFloat = 0.16666666666666666,
        beta: SupportsFloat = 0.5,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        alpha: SupportsFloat = 0.16666666666666666,
        beta: SupportsFloat = 0.5,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self, *, alpha: SupportsFloat = 0.16666666666666666, beta: SupportsFloat = 0.5) -> np.ufunc: ...

parametric_hard_swish: _ParametricHardSwish
"""``parametric_hard_swish(x, *, alpha=0.16666666666666666, beta=0.5)``

Piecewise swish with a gate of one's own: ``x * max(0, min(alpha * x + beta, 1))``.

Parameter alpha: any finite number; default 0.16666666666666666.
Parameter beta: any finite number; default 0.5.
"""

class _ParametricSoftplus(Operator):
    @overload
    def __call__(
        self,
        x: _Floatings,
        /,
        *,
        alpha: SupportsFloat,
        beta: SupportsFloat,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> _Floatings: ...
    @overload
    def __call__(
        self,
        x: float,
        /,
        *,
        alpha: SupportsFloat,
        beta: SupportsFloat,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        alpha: Expression | SupportsFloat,
        beta: Expression | SupportsFloat,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        alpha: SupportsFloat,
        beta: SupportsFloat,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        alpha: SupportsFloat,
        beta: SupportsFloat,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self, *, alpha: SupportsFloat, beta: SupportsFloat) -> np.ufunc: ...

parametric_softplus: _ParametricSoftplus
"""``parametric_softplus(x, *, alpha, beta)``

Softplus, stretched both ways: ``alpha * log(1 + exp(beta * x))``. Neither parameter has a default.

Parameter alpha: any finite number; required.
Parameter beta: any finite number; required.
"""

class _Pow(Operator):
    @overload
    def __call__(
        self,
        x: NDArray[_Number],
        exponent: NDArray[_Number] | _Number | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        x: NDArray[_Number] | _Number | float,
        exponent: NDArray[_Number],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        x: Expression,
        exponent: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: Expression | float,
        exponent: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        exponent: _Tensor,
        /,
        *,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, exponent: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

pow: _Pow
"""``pow(x, exponent)``

Power: ``x ** exponent``.
"""

class _Prelu(Operator):
    @overload
    def __call__(
        self,
        x: NDArray[_Number],
        slope: NDArray[_Number] | _Number | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        x: NDArray[_Number] | _Number | float,
        slope: NDArray[_Number],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        x: Expression,
        slope: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: Expression | float,
        slope: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, slope: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, slope: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

prelu: _Prelu
"""``prelu(x, slope)``

Parametrised rectified linear unit: x where x >= 0, ``slope * x`` elsewhere.
"""

class _QuantizeLinear(Operator):
    @overload
    def __call__(
        self,
        x: _Tensor,
        scale: _Tensor,
        zero_point: NDArray[_Integer],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Integer]: ...
    @overload
    def __call__(
        self,
        x: Expression,
        scale: Expression | float,
        zero_point: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: Expression | float,
        scale: Expression,
        zero_point: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: Expression | float,
        scale: Expression | float,
        zero_point: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        scale: _Tensor,
        zero_point: _Tensor,
        /,
        *,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        scale: _Tensor,
        zero_point: _Tensor,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self) -> np.ufunc: ...

quantize_linear: _QuantizeLinear
"""``quantize_linear(x, scale, zero_point)``

Numbers as integers: ``round(x / scale) + zero_point``, saturating; halves round to even, NaN to 0.
"""

class _QuantizedLinearAdd(Operator):
    @overload
    def __call__(
        self,
        a: _Tensor,
        a_scale: _Tensor,
        a_zero_point: _Tensor,
        b: _Tensor,
        b_scale: _Tensor,
        b_zero_point: _Tensor,
        output_scale: _Tensor,
        output_zero_point: NDArray[_Integer],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Integer]: ...
    @overload
    def __call__(
        self,
        a: Expression,
        a_scale: Expression | float,
        a_zero_point: Expression | float,
        b: Expression | float,
        b_scale: Expression | float,
        b_zero_point: Expression | float,
        output_scale: Expression | float,
        output_zero_point: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        a_scale: Expression,
        a_zero_point: Expression | float,
        b: Expression | float,
        b_scale: Expression | float,
        b_zero_point: Expression | float,
        output_scale: Expression | float,
        output_zero_point: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        a_scale: Expression | float,
        a_zero_point: Expression,
        b: Expression | float,
        b_scale: Expression | float,
        b_zero_point: Expression | float,
        output_scale: Expression | float,
        output_zero_point: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        a_scale: Expression | float,
        a_zero_point: Expression | float,
        b: Expression,
        b_scale: Expression | float,
        b_zero_point: Expression | float,
        output_scale: Expression | float,
        output_zero_point: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        a_scale: Expression | float,
        a_zero_point: Expression | float,
        b: Expression | float,
        b_scale: Expression,
        b_zero_point: Expression | float,
        output_scale: Expression | float,
        output_zero_point: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        a_scale: Expression | float,
        a_zero_point: Expression | float,
        b: Expression | float,
        b_scale: Expression | float,
        b_zero_point: Expression,
        output_scale: Expression | float,
        output_zero_point: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        a_scale: Expression | float,
        a_zero_point: Expression | float,
        b: Expression | float,
        b_scale: Expression | float,
        b_zero_point: Expression | float,
        output_scale: Expression,
        output_zero_point: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        a_scale: Expression | float,
        a_zero_point: Expression | float,
        b: Expression | float,
        b_scale: Expression | float,
        b_zero_point: Expression | float,
        output_scale: Expression | float,
        output_zero_point: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: _Tensor,
        a_scale: _Tensor,
        a_zero_point: _Tensor,
        b: _Tensor,
        b_scale: _Tensor,
        b_zero_point: _Tensor,
        output_scale: _Tensor,
        output_zero_point: _Tensor,
        /,
        *,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        a: _Tensor,
        a_scale: _Tensor,
        a_zero_point: _Tensor,
        b: _Tensor,
        b_scale: _Tensor,
        b_zero_point: _Tensor,
        output_scale: _Tensor,
        output_zero_point: _Tensor,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self) -> np.ufunc: ...

quantized_linear_add: _QuantizedLinearAdd
"""``quantized_linear_add(a, a_scale, a_zero_point, b, b_scale, b_zero_point, output_scale, output_zero_point)``

Sum of two quantised tensors, quantised: ``round((x + y) / output_scale) + output_zero_point``.
"""

class _Reciprocal(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

reciprocal: _Reciprocal
"""``reciprocal(x)``

Reciprocal: ``1 / x``.
"""

class _Reglu(Operator):
    @overload
    def __call__(
        self,
        a: NDArray[_Floating],
        /,
        b: NDArray[_Floating] | _Floating | float | None = None,
        *,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Floating]: ...
    @overload
    def __call__(
        self,
        a: float,
        /,
        b: float | None = None,
        *,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        a: Expression,
        /,
        b: Expression | float | None = None,
        *,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: _Tensor,
        /,
        b: _Tensor | None = None,
        *,
        axis: _Axis = -1,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        a: _Tensor,
        /,
        b: _Tensor | None = None,
        *,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self) -> np.ufunc: ...

reglu: _Reglu
"""``reglu(a, b=None, *, axis=-1)``

Gated linear unit with a rectifier as the gate: ``max(0, a) * b``.
"""

class _Relu(Operator):
    @overload
    def __call__(self, x: _Numbers, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Numbers: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

relu: _Relu
"""``relu(x)``

Rectified linear unit: ``max(0, x)``.
"""

class _ReluGrad(Operator):
    @overload
    def __call__(
        self,
        x: NDArray[_Number],
        gradient: NDArray[_Number] | _Number | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        x: NDArray[_Number] | _Number | float,
        gradient: NDArray[_Number],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        x: Expression,
        gradient: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: Expression | float,
        gradient: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        gradient: _Tensor,
        /,
        *,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, gradient: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

relu_grad: _ReluGrad
"""``relu_grad(x, gradient)``

Gradient of the rectified linear unit: ``gradient`` where x > 0, 0 elsewhere.
"""

class _RmsNormalization(RowOperator):
    @overload
    def __call__(
        self,
        x: NDArray[_Floating],
        scale: NDArray[_Floating] | _Floating | float,
        /,
        *,
        epsilon: SupportsFloat = 1e-05,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> NDArray[_Floating]: ...
    @overload
    def __call__(
        self,
        x: NDArray[_Floating] | _Floating | float,
        scale: NDArray[_Floating],
        /,
        *,
        epsilon: SupportsFloat = 1e-05,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> NDArray[_Floating]: ...
    @overload
    def __call__(
        self,
        x: float,
        scale: float,
        /,
        *,
        epsilon: SupportsFloat = 1e-05,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        scale: Expression | float,
        /,
        *,
        epsilon: Expression | SupportsFloat = 1e-05,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: Expression | float,
        scale: Expression,
        /,
        *,
        epsilon: Expression | SupportsFloat = 1e-05,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        scale: _Tensor,
        /,
        *,
        epsilon: SupportsFloat = 1e-05,
        axis: _Axis = -1,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_RowTypes],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        scale: _Tensor,
        /,
        *,
        epsilon: SupportsFloat = 1e-05,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowTypes],
    ) -> Any: ...
    def bind(self, *, epsilon: SupportsFloat = 1e-05) -> np.ufunc: ...

rms_normalization: _RmsNormalization
"""``rms_normalization(x, scale, *, epsilon=1e-05, axis=-1)``

Rows of mean square 1, scaled: ``x / sqrt(mean(x**2) + epsilon) * scale``.

Parameter epsilon: any finite number from 0 on; default 1e-05.
"""

class _Round(Operator):
    @overload
    def __call__(
        self,
        x: _Floatings,
        /,
        *,
        mode: Literal["nearest_even", "truncate", "nearest_away"] = "nearest_even",
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> _Floatings: ...
    @overload
    def __call__(
        self,
        x: float,
        /,
        *,
        mode: Literal["nearest_even", "truncate", "nearest_away"] = "nearest_even",
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        mode: Literal["nearest_even", "truncate", "nearest_away"] = "nearest_even",
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        mode: Literal["nearest_even", "truncate", "nearest_away"] = "nearest_even",
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        mode: Literal["nearest_even", "truncate", "nearest_away"] = "nearest_even",
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self, *, mode: Literal["nearest_even", "truncate", "nearest_away"] = "nearest_even") -> np.ufunc: ...

round: _Round
"""``round(x, *, mode='nearest_even')``

Rounding to an integer: ``round(x)``.

Parameter mode: 'nearest_even', 'truncate', 'nearest_away'; default 'nearest_even'.
"""

class _Rsqrt(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

rsqrt: _Rsqrt
"""``rsqrt(x)``

Reciprocal of the square root: ``1 / sqrt(x)``, rounded once; NaN below zero.
"""

class _ScaledTanh(Operator):
    @overload
    def __call__(
        self,
        x: _Floatings,
        /,
        *,
        alpha: SupportsFloat = 1.0,
        beta: SupportsFloat = 0.5,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> _Floatings: ...
    @overload
    def __call__(
        self,
        x: float,
        /,
        *,
        alpha: SupportsFloat = 1.0,
        beta: SupportsFloat = 0.5,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        alpha: Expression | SupportsFloat = 1.0,
        beta: Expression | SupportsFloat = 0.5,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        alpha: SupportsFloat = 1.0,
        beta: SupportsFloat = 0.5,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        alpha: SupportsFloat = 1.0,
        beta: SupportsFloat = 0.5,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self, *, alpha: SupportsFloat = 1.0, beta: SupportsFloat = 0.5) -> np.ufunc: ...

scaled_tanh: _ScaledTanh
"""``scaled_tanh(x, *, alpha=1.0, beta=0.5)``

Hyperbolic tangent, stretched both ways: ``alpha * tanh(beta * x)``.

Parameter alpha: any finite number; default 1.0.
Parameter beta: any finite number; default 0.5.
"""

class _Selu(Operator):
    @overload
    def __call__(
        self,
        x: _Floatings,
        /,
        *,
        alpha: SupportsFloat = 1.6732631921768188,
        gamma: SupportsFloat = 1.0507010221481323,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> _Floatings: ...
    @overload
    def __call__(
        self,
        x: float,
        /,
        *,
        alpha: SupportsFloat = 1.6732631921768188,
        gamma: SupportsFloat = 1.0507010221481323,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        alpha: Expression | SupportsFloat = 1.6732631921768188,
        gamma: Expression | SupportsFloat = 1.0507010221481323,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        alpha: SupportsFloat = 1.6732631921768188,
        gamma: SupportsFloat = 1.0507010221481323,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        alpha: SupportsFloat = 1.6732631921768188,
        gamma: SupportsFloat = 1.0507010221481323,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(
        self,
        *,
        alpha: SupportsFloat = 1.6732631921768188,
        gamma: SupportsFloat = 1.0507010221481323,
    ) -> np.ufunc: ...

selu: _Selu
"""``selu(x, *, alpha=1.6732631921768188, gamma=1.0507010221481323)``

Scaled exponential linear unit: ``gamma * x`` where x > 0, ``gamma * (alpha * exp(x) - alpha)`` elsewhere.

Parameter alpha: any finite number; default 1.6732631921768188.
Parameter gamma: any finite number; default 1.0507010221481323.
"""

class _Serf(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

serf: _Serf
"""``serf(x)``

Smooth activation by the error function: ``x * erf(log(1 + exp(x)))``. The limit at -inf is -0.
"""

class _Shrink(Operator):
    @overload
    def __call__(
        self,
        x: _Numbers,
        /,
        *,
        bias: SupportsFloat = 0.0,
        lambd: SupportsFloat = 0.5,
        first: Literal["positive", "negative"] = "positive",
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> _Numbers: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        bias: Expression | SupportsFloat = 0.0,
        lambd: Expression | SupportsFloat = 0.5,
        first: Literal["positive", "negative"] = "positive",
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        bias: SupportsFloat = 0.0,
        lambd: SupportsFloat = 0.5,
        first: Literal["positive", "negative"] = "positive",
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        bias: SupportsFloat = 0.0,
        lambd: SupportsFloat = 0.5,
        first: Literal["positive", "negative"] = "positive",
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(
        self,
        *,
        bias: SupportsFloat = 0.0,
        lambd: SupportsFloat = 0.5,
        first: Literal["positive", "negative"] = "positive",
    ) -> np.ufunc: ...

shrink: _Shrink
"""``shrink(x, *, bias=0.0, lambd=0.5, first='positive')``

Shrink towards zero: ``x - bias`` where x > lambd, ``x + bias`` where x < -lambd, 0 elsewhere.

Parameter bias: any finite number; default 0.0.
Parameter lambd: any finite number; default 0.5.
Parameter first: 'positive', 'negative'; default 'positive'.
"""

class _Sigmoid(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

sigmoid: _Sigmoid
"""``sigmoid(x)``

Logistic function: ``1 / (1 + exp(-x))``, without overflow and with subnormal results.
"""

class _Sign(Operator):
    @overload
    def __call__(
        self,
        x: _Numbers,
        /,
        *,
        nan: Literal["nan", "zero"] = "nan",
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> _Numbers: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        nan: Literal["nan", "zero"] = "nan",
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        nan: Literal["nan", "zero"] = "nan",
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        nan: Literal["nan", "zero"] = "nan",
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self, *, nan: Literal["nan", "zero"] = "nan") -> np.ufunc: ...

sign: _Sign
"""``sign(x, *, nan='nan')``

Sign: ``-1`` where x < 0, 1 where x > 0, 0 elsewhere.

Parameter nan: 'nan', 'zero'; default 'nan'.
"""

class _Sin(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

sin: _Sin
"""``sin(x)``

Sine of an angle in radians: ``sin(x)``, exactly reduced whatever the size of the angle.
"""

class _Sinh(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

sinh: _Sinh
"""``sinh(x)``

Hyperbolic sine: ``(exp(x) - exp(-x)) / 2``, without cancellation, infinite only where the result is.
"""

class _Snake(Operator):
    @overload
    def __call__(
        self,
        x: _Floatings,
        /,
        *,
        alpha: SupportsFloat = 1.0,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> _Floatings: ...
    @overload
    def __call__(
        self,
        x: float,
        /,
        *,
        alpha: SupportsFloat = 1.0,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        alpha: Expression | SupportsFloat = 1.0,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        alpha: SupportsFloat = 1.0,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        alpha: SupportsFloat = 1.0,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self, *, alpha: SupportsFloat = 1.0) -> np.ufunc: ...

snake: _Snake
"""``snake(x, *, alpha=1.0)``

Periodic activation: ``x + sin(alpha * x)**2 / alpha``. At the infinities it is x.

Parameter alpha: any finite number but 0; default 1.0.
"""

class _Softcap(Operator):
    @overload
    def __call__(
        self,
        x: _Floatings,
        /,
        *,
        cap: SupportsFloat,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> _Floatings: ...
    @overload
    def __call__(
        self,
        x: float,
        /,
        *,
        cap: SupportsFloat,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        cap: Expression | SupportsFloat,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        cap: SupportsFloat,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, cap: SupportsFloat, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self, *, cap: SupportsFloat) -> np.ufunc: ...

softcap: _Softcap
"""``softcap(x, *, cap)``

Hyperbolic tangent that is x near zero: ``cap * tanh(x / cap)``. The cap has no default.

Parameter cap: any finite number but 0; required.
"""

class _Softmax(RowOperator):
    @overload
    def __call__(
        self,
        x: _Floatings,
        /,
        *,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> _Floatings: ...
    @overload
    def __call__(
        self,
        x: float,
        /,
        *,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        axis: _Axis = -1,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_RowTypes],
    ) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, axis: _Axis = -1, out: None = None, **numpy: Unpack[_RowTypes]) -> Any: ...
    def bind(self) -> np.ufunc: ...

softmax: _Softmax
"""``softmax(x, *, axis=-1)``

Exponentials that add up to 1: ``exp(x - max(x)) / sum(exp(x - max(x)))``.
"""

class _Softmin(RowOperator):
    @overload
    def __call__(
        self,
        x: _Floatings,
        /,
        *,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> _Floatings: ...
    @overload
    def __call__(
        self,
        x: float,
        /,
        *,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        axis: _Axis = -1,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_RowTypes],
    ) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, axis: _Axis = -1, out: None = None, **numpy: Unpack[_RowTypes]) -> Any: ...
    def bind(self) -> np.ufunc: ...

softmin: _Softmin
"""``softmin(x, *, axis=-1)``

Softmax of the negative: ``exp(min(x) - x) / sum(exp(min(x) - x))``.
"""

class _Softplus(Operator):
    @overload
    def __call__(
        self,
        x: _Floatings,
        /,
        *,
        steepness: SupportsFloat = 1.0,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> _Floatings: ...
    @overload
    def __call__(
        self,
        x: float,
        /,
        *,
        steepness: SupportsFloat = 1.0,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        steepness: Expression | SupportsFloat = 1.0,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        steepness: SupportsFloat = 1.0,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        steepness: SupportsFloat = 1.0,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self, *, steepness: SupportsFloat = 1.0) -> np.ufunc: ...

softplus: _Softplus
"""``softplus(x, *, steepness=1.0)``

Smooth rectifier: ``log(1 + exp(steepness * x)) / steepness``, without overflow and without a threshold.

Parameter steepness: any finite number but 0; default 1.0.
"""

class _Softsign(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

softsign: _Softsign
"""``softsign(x)``

Algebraic sigmoid: ``x / (1 + abs(x))``. The limits at the infinities are 1 and -1.
"""

class _SparsePlus(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

sparse_plus: _SparsePlus
"""``sparse_plus(x)``

Piecewise softplus: 0 where x <= -1, ``(x + 1)**2 / 4`` between -1 and 1, x where x >= 1.
"""

class _SparseSigmoid(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

sparse_sigmoid: _SparseSigmoid
"""``sparse_sigmoid(x)``

Piecewise linear sigmoid from -1 to 1: ``max(0, min((x + 1) / 2, 1))``.
"""

class _Sparsemax(RowOperator):
    @overload
    def __call__(
        self,
        x: _Floatings,
        /,
        *,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> _Floatings: ...
    @overload
    def __call__(
        self,
        x: float,
        /,
        *,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        axis: _Axis = -1,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_RowTypes],
    ) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, axis: _Axis = -1, out: None = None, **numpy: Unpack[_RowTypes]) -> Any: ...
    def bind(self) -> np.ufunc: ...

sparsemax: _Sparsemax
"""``sparsemax(x, *, axis=-1)``

The nearest numbers that add up to 1 and are not negative: ``max(x - t, 0)``, where t makes the sum 1.
"""

class _Sqrt(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

sqrt: _Sqrt
"""``sqrt(x)``

Square root: ``sqrt(x)``; NaN below zero.
"""

class _Square(Operator):
    @overload
    def __call__(self, x: _Numbers, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Numbers: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

square: _Square
"""``square(x)``

Square: ``x * x``.
"""

class _Squareplus(Operator):
    @overload
    def __call__(
        self,
        x: _Floatings,
        /,
        *,
        b: SupportsFloat = 4.0,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> _Floatings: ...
    @overload
    def __call__(
        self,
        x: float,
        /,
        *,
        b: SupportsFloat = 4.0,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        b: Expression | SupportsFloat = 4.0,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        b: SupportsFloat = 4.0,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, b: SupportsFloat = 4.0, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self, *, b: SupportsFloat = 4.0) -> np.ufunc: ...

squareplus: _Squareplus
"""``squareplus(x, *, b=4.0)``

Algebraic softplus: ``(x + sqrt(x * x + b)) / 2``, without cancellation where x is negative.

Parameter b: any finite number from 0 on; default 4.0.
"""

class _Standardize(RowOperator):
    @overload
    def __call__(
        self,
        x: _Floatings,
        /,
        *,
        epsilon: SupportsFloat = 1e-05,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> _Floatings: ...
    @overload
    def __call__(
        self,
        x: float,
        /,
        *,
        epsilon: SupportsFloat = 1e-05,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        epsilon: Expression | SupportsFloat = 1e-05,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowKeywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        epsilon: SupportsFloat = 1e-05,
        axis: _Axis = -1,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_RowTypes],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        epsilon: SupportsFloat = 1e-05,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_RowTypes],
    ) -> Any: ...
    def bind(self, *, epsilon: SupportsFloat = 1e-05) -> np.ufunc: ...

standardize: _Standardize
"""``standardize(x, *, epsilon=1e-05, axis=-1)``

Numbers of mean 0 and variance 1: ``(x - mean(x)) / sqrt(mean((x - mean(x))**2) + epsilon)``.

Parameter epsilon: any finite number from 0 on; default 1e-05.
"""

class _StarRelu(Operator):
    @overload
    def __call__(
        self,
        x: _Floatings,
        /,
        *,
        scale: SupportsFloat = 0.8944,
        bias: SupportsFloat = -0.4472,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> _Floatings: ...
    @overload
    def __call__(
        self,
        x: float,
        /,
        *,
        scale: SupportsFloat = 0.8944,
        bias: SupportsFloat = -0.4472,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        scale: Expression | SupportsFloat = 0.8944,
        bias: Expression | SupportsFloat = -0.4472,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        scale: SupportsFloat = 0.8944,
        bias: SupportsFloat = -0.4472,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        scale: SupportsFloat = 0.8944,
        bias: SupportsFloat = -0.4472,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self, *, scale: SupportsFloat = 0.8944, bias: SupportsFloat = -0.4472) -> np.ufunc: ...

star_relu: _StarRelu
"""``star_relu(x, *, scale=0.8944, bias=-0.4472)``

Squared rectifier, scaled and moved: ``scale * max(0, x)**2 + bias``.

Parameter scale: any finite number; default 0.8944.
Parameter bias: any finite number; default -0.4472.
"""

class _Sub(Operator):
    @overload
    def __call__(
        self,
        a: NDArray[_Number],
        b: NDArray[_Number] | _Number | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        a: NDArray[_Number] | _Number | float,
        b: NDArray[_Number],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Number]: ...
    @overload
    def __call__(
        self,
        a: Expression,
        b: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: Expression | float,
        b: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, a: _Tensor, b: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

sub: _Sub
"""``sub(a, b)``

Difference: ``a - b``.
"""

class _Swiglu(Operator):
    @overload
    def __call__(
        self,
        a: NDArray[_Floating],
        /,
        b: NDArray[_Floating] | _Floating | float | None = None,
        *,
        alpha: SupportsFloat = 1.0,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Floating]: ...
    @overload
    def __call__(
        self,
        a: float,
        /,
        b: float | None = None,
        *,
        alpha: SupportsFloat = 1.0,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        a: Expression,
        /,
        b: Expression | float | None = None,
        *,
        alpha: Expression | SupportsFloat = 1.0,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        a: _Tensor,
        /,
        b: _Tensor | None = None,
        *,
        alpha: SupportsFloat = 1.0,
        axis: _Axis = -1,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        a: _Tensor,
        /,
        b: _Tensor | None = None,
        *,
        alpha: SupportsFloat = 1.0,
        axis: _Axis = -1,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self, *, alpha: SupportsFloat = 1.0) -> np.ufunc: ...

swiglu: _Swiglu
"""``swiglu(a, b=None, *, alpha=1.0, axis=-1)``

Gated linear unit with a swish gate: ``a / (1 + exp(-alpha * a)) * b``, rounded once.

Parameter alpha: any finite number; default 1.0.
"""

class _Swish(Operator):
    @overload
    def __call__(
        self,
        x: _Floatings,
        /,
        *,
        alpha: SupportsFloat = 1.0,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> _Floatings: ...
    @overload
    def __call__(
        self,
        x: float,
        /,
        *,
        alpha: SupportsFloat = 1.0,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        alpha: Expression | SupportsFloat = 1.0,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        alpha: SupportsFloat = 1.0,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        alpha: SupportsFloat = 1.0,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self, *, alpha: SupportsFloat = 1.0) -> np.ufunc: ...

swish: _Swish
"""``swish(x, *, alpha=1.0)``

Sigmoid linear unit: ``x / (1 + exp(-alpha * x))``. The limit at -inf is -0.

Parameter alpha: any finite number; default 1.0.
"""

class _Tan(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

tan: _Tan
"""``tan(x)``

Tangent of an angle in radians: ``tan(x)``, exactly reduced whatever the size of the angle.
"""

class _Tanh(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

tanh: _Tanh
"""``tanh(x)``

Hyperbolic tangent: ``(1 - exp(-2 x)) / (1 + exp(-2 x))``, without overflow and at most 1 in magnitude.
"""

class _Tanhshrink(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

tanhshrink: _Tanhshrink
"""``tanhshrink(x)``

What the hyperbolic tangent leaves: ``x - tanh(x)``, without cancellation near zero.
"""

class _Threshold(Operator):
    @overload
    def __call__(
        self,
        x: _Numbers,
        /,
        *,
        min: SupportsFloat,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> _Numbers: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        min: Expression | SupportsFloat,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        min: SupportsFloat,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, min: SupportsFloat, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self, *, min: SupportsFloat) -> np.ufunc: ...

threshold: _Threshold
"""``threshold(x, *, min)``

Clip from below: ``max(x, min)``. A bound of integers may be a fraction.

Parameter min: any number but NaN; required.
"""

class _ThresholdedRelu(Operator):
    @overload
    def __call__(
        self,
        x: _Floatings,
        /,
        *,
        alpha: SupportsFloat = 1.0,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> _Floatings: ...
    @overload
    def __call__(
        self,
        x: float,
        /,
        *,
        alpha: SupportsFloat = 1.0,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        alpha: Expression | SupportsFloat = 1.0,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        alpha: SupportsFloat = 1.0,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        alpha: SupportsFloat = 1.0,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self, *, alpha: SupportsFloat = 1.0) -> np.ufunc: ...

thresholded_relu: _ThresholdedRelu
"""``thresholded_relu(x, *, alpha=1.0)``

Rectified linear unit with a threshold: ``x`` where x > alpha, 0 elsewhere.

Parameter alpha: any finite number; default 1.0.
"""

class _Trunc(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

trunc: _Trunc
"""``trunc(x)``

Integer part: ``floor(x)`` where x > 0, ``ceil(x)`` elsewhere.
"""

class _Where(Operator):
    @overload
    def __call__(
        self,
        condition: _Tensor,
        a: NDArray[_Any],
        b: NDArray[_Any] | _Any | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Any]: ...
    @overload
    def __call__(
        self,
        condition: _Tensor,
        a: NDArray[_Any] | _Any | float,
        b: NDArray[_Any],
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> NDArray[_Any]: ...
    @overload
    def __call__(
        self,
        condition: Expression,
        a: Expression | float,
        b: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        condition: Expression | float,
        a: Expression,
        b: Expression | float,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        condition: Expression | float,
        a: Expression | float,
        b: Expression,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        condition: _Tensor,
        a: _Tensor,
        b: _Tensor,
        /,
        *,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        condition: _Tensor,
        a: _Tensor,
        b: _Tensor,
        /,
        *,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self) -> np.ufunc: ...

where: _Where
"""``where(condition, a, b)``

Selection: ``a`` where the condition holds, ``b`` elsewhere.
"""

class _Xielu(Operator):
    @overload
    def __call__(
        self,
        x: _Floatings,
        /,
        *,
        alpha_p: SupportsFloat = 0.8,
        alpha_n: SupportsFloat = 0.8,
        beta: SupportsFloat = 0.5,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> _Floatings: ...
    @overload
    def __call__(
        self,
        x: float,
        /,
        *,
        alpha_p: SupportsFloat = 0.8,
        alpha_n: SupportsFloat = 0.8,
        beta: SupportsFloat = 0.5,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> np.float64: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        alpha_p: Expression | SupportsFloat = 0.8,
        alpha_n: Expression | SupportsFloat = 0.8,
        beta: Expression | SupportsFloat = 0.5,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        alpha_p: SupportsFloat = 0.8,
        alpha_n: SupportsFloat = 0.8,
        beta: SupportsFloat = 0.5,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        alpha_p: SupportsFloat = 0.8,
        alpha_n: SupportsFloat = 0.8,
        beta: SupportsFloat = 0.5,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(
        self,
        *,
        alpha_p: SupportsFloat = 0.8,
        alpha_n: SupportsFloat = 0.8,
        beta: SupportsFloat = 0.5,
    ) -> np.ufunc: ...

xielu: _Xielu
"""``xielu(x, *, alpha_p=0.8, alpha_n=0.8, beta=0.5)``

Integral of an ELU: ``alpha_p * x**2 + beta * x`` where x > 0, ``alpha_n * (exp(x) - 1 - x) + beta * x`` elsewhere.

Parameter alpha_p: any finite number; default 0.8.
Parameter alpha_n: any finite number; default 0.8.
Parameter beta: any finite number; default 0.5.
"""

absolute: _Abs

fabs: _Abs

arccos: _Acos

arccosh: _Acosh

arcsin: _Asin

arcsinh: _Asinh

arctan: _Atan

arctan2: _Atan2

arctanh: _Atanh

invert: _BitwiseNot

bitwise_invert: _BitwiseNot

divide: _Div

true_divide: _Div

eq: _Equal

exponential: _Exp

gt: _Greater

ge: _GreaterOrEqual

greater_equal: _GreaterOrEqual

hardswish: _HardSwish

hard_silu: _HardSwish

lt: _Less

le: _LessOrEqual

less_equal: _LessOrEqual

logsigmoid: _LogSigmoid

log_expit: _LogSigmoid

maximum: _Max

minimum: _Min

remainder: _ModulusFloor

fmod: _ModulusTruncate

multiply: _Mul

negative: _Neg

ne: _NotEqual

power: _Pow

expit: _Sigmoid

logistic: _Sigmoid

soft_sign: _Softsign

subtract: _Sub

silu: _Swish

tanh_shrink: _Tanhshrink

fix: _Trunc

class _FastGelu(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

fast_gelu: _FastGelu
"""``fast_gelu(x)``

Another name of `gelu` with numbers filled in: ``gelu(x, approximate='tanh')``.
"""

class _GeluTanh(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

gelu_tanh: _GeluTanh
"""``gelu_tanh(x)``

Another name of `gelu` with numbers filled in: ``gelu(x, approximate='tanh')``.
"""

class _HardShrink(Operator):
    @overload
    def __call__(
        self,
        x: _Numbers,
        /,
        *,
        lambd: SupportsFloat = 0.5,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> _Numbers: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        lambd: Expression | SupportsFloat = 0.5,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        lambd: SupportsFloat = 0.5,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        lambd: SupportsFloat = 0.5,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self, *, lambd: SupportsFloat = 0.5) -> np.ufunc: ...

hard_shrink: _HardShrink
"""``hard_shrink(x, *, lambd=0.5)``

Another name of `shrink` with numbers filled in: ``shrink(x, bias=0, lambd=lambd)``. NaN gives 0, in PyTorch NaN.

Parameter lambd: any finite number; default 0.5.
"""

class _HardTanh(Operator):
    @overload
    def __call__(
        self,
        x: _Numbers,
        /,
        *,
        min_val: SupportsFloat = -1.0,
        max_val: SupportsFloat = 1.0,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> _Numbers: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        min_val: Expression | SupportsFloat = -1.0,
        max_val: Expression | SupportsFloat = 1.0,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        min_val: SupportsFloat = -1.0,
        max_val: SupportsFloat = 1.0,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        min_val: SupportsFloat = -1.0,
        max_val: SupportsFloat = 1.0,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self, *, min_val: SupportsFloat = -1.0, max_val: SupportsFloat = 1.0) -> np.ufunc: ...

hard_tanh: _HardTanh
"""``hard_tanh(x, *, min_val=-1.0, max_val=1.0)``

Another name of `clamp` with numbers filled in: ``clamp(x, min=min_val, max=max_val)``.

Parameter min_val: any number but NaN; default -1.0.
Parameter max_val: any number but NaN; default 1.0.
"""

class _Hardshrink(Operator):
    @overload
    def __call__(
        self,
        x: _Numbers,
        /,
        *,
        lambd: SupportsFloat = 0.5,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> _Numbers: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        lambd: Expression | SupportsFloat = 0.5,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        lambd: SupportsFloat = 0.5,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        lambd: SupportsFloat = 0.5,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self, *, lambd: SupportsFloat = 0.5) -> np.ufunc: ...

hardshrink: _Hardshrink
"""``hardshrink(x, *, lambd=0.5)``

Another name of `shrink` with numbers filled in: ``shrink(x, bias=0, lambd=lambd)``. NaN gives 0, in PyTorch NaN.

Parameter lambd: any finite number; default 0.5.
"""

class _Hardsigmoid(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

hardsigmoid: _Hardsigmoid
"""``hardsigmoid(x)``

Another name of `hard_sigmoid` with numbers filled in: ``hard_sigmoid(x, alpha=1/6, beta=0.5)``.
"""

class _Hardtanh(Operator):
    @overload
    def __call__(
        self,
        x: _Numbers,
        /,
        *,
        min_val: SupportsFloat = -1.0,
        max_val: SupportsFloat = 1.0,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> _Numbers: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        min_val: Expression | SupportsFloat = -1.0,
        max_val: Expression | SupportsFloat = 1.0,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        min_val: SupportsFloat = -1.0,
        max_val: SupportsFloat = 1.0,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        min_val: SupportsFloat = -1.0,
        max_val: SupportsFloat = 1.0,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self, *, min_val: SupportsFloat = -1.0, max_val: SupportsFloat = 1.0) -> np.ufunc: ...

hardtanh: _Hardtanh
"""``hardtanh(x, *, min_val=-1.0, max_val=1.0)``

Another name of `clamp` with numbers filled in: ``clamp(x, min=min_val, max=max_val)``.

Parameter min_val: any number but NaN; default -1.0.
Parameter max_val: any number but NaN; default 1.0.
"""

class _QuickGelu(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

quick_gelu: _QuickGelu
"""``quick_gelu(x)``

Another name of `swish` with numbers filled in: ``swish(x, alpha=1.702)``.
"""

class _Relu6(Operator):
    @overload
    def __call__(self, x: _Numbers, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Numbers: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

relu6: _Relu6
"""``relu6(x)``

Another name of `clamp` with numbers filled in: ``clamp(x, min=0, max=6)``.
"""

class _Rrelu(Operator):
    @overload
    def __call__(self, x: _Floatings, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> _Floatings: ...
    @overload
    def __call__(self, x: float, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> np.float64: ...
    @overload
    def __call__(self, x: Expression, /, *, out: None = None, **numpy: Unpack[_Keywords]) -> Expression: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: _Out | tuple[_Out], **numpy: Unpack[_Types]) -> _Out: ...
    @overload
    def __call__(self, x: _Tensor, /, *, out: None = None, **numpy: Unpack[_Types]) -> Any: ...
    def bind(self) -> np.ufunc: ...

rrelu: _Rrelu
"""``rrelu(x)``

Another name of `leaky_relu` with numbers filled in: ``leaky_relu(x, alpha=11/48)``. As PyTorch evaluates it, not as it trains.
"""

class _SoftShrink(Operator):
    @overload
    def __call__(
        self,
        x: _Numbers,
        /,
        *,
        lambd: SupportsFloat = 0.5,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> _Numbers: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        lambd: Expression | SupportsFloat = 0.5,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        lambd: SupportsFloat = 0.5,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        lambd: SupportsFloat = 0.5,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self, *, lambd: SupportsFloat = 0.5) -> np.ufunc: ...

soft_shrink: _SoftShrink
"""``soft_shrink(x, *, lambd=0.5)``

Another name of `shrink` with numbers filled in: ``shrink(x, bias=lambd, lambd=lambd)``. NaN gives 0, in PyTorch NaN.

Parameter lambd: any finite number; default 0.5.
"""

class _Softshrink(Operator):
    @overload
    def __call__(
        self,
        x: _Numbers,
        /,
        *,
        lambd: SupportsFloat = 0.5,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> _Numbers: ...
    @overload
    def __call__(
        self,
        x: Expression,
        /,
        *,
        lambd: Expression | SupportsFloat = 0.5,
        out: None = None,
        **numpy: Unpack[_Keywords],
    ) -> Expression: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        lambd: SupportsFloat = 0.5,
        out: _Out | tuple[_Out],
        **numpy: Unpack[_Types],
    ) -> _Out: ...
    @overload
    def __call__(
        self,
        x: _Tensor,
        /,
        *,
        lambd: SupportsFloat = 0.5,
        out: None = None,
        **numpy: Unpack[_Types],
    ) -> Any: ...
    def bind(self, *, lambd: SupportsFloat = 0.5) -> np.ufunc: ...

softshrink: _Softshrink
"""``softshrink(x, *, lambd=0.5)``

Another name of `shrink` with numbers filled in: ``shrink(x, bias=lambd, lambd=lambd)``. NaN gives 0, in PyTorch NaN.

Parameter lambd: any finite number; default 0.5.
"""
