"""Wrong calls, and the sentence that each of them gets in place of NumPy's error."""

import re
import subprocess
import sys

import numpy as np
import pytest

import ogive
from ogive.errors import ArgumentError, DTypeError, OutputError, ShapeError

X = np.ones(3, np.float32)
I8, U8 = np.ones(3, np.int8), np.ones(3, np.uint8)
FLOATS = "float16, float32, float64, bfloat16"
READ_ONLY = np.broadcast_to(np.float32(1), (3,))

WRONG = [
    # (operator, operands, keywords, error, sentence)
    # operands
    ("celu", [[[1], [1, 2]]], {}, ShapeError, "x is a list whose rows are not equally long; allowed: arrays, and lists of equally long rows. Compute row by row, or give an awkward array"),
    ("softmax", [[[1], [1, 2]]], {}, ShapeError, "x is a list whose rows are not equally long; allowed: arrays, and lists of equally long rows. Compute row by row, or give an awkward array"),
    ("celu", [None], {}, ArgumentError, "x is None; allowed: an array or a number"),
    ("celu", ["abc"], {}, DTypeError, f"x is 'abc'; allowed: an array or a number, of {FLOATS}"),
    ("celu", [X.astype("c8")], {}, DTypeError, f"x has dtype complex64; allowed: {FLOATS}. Convert it first: x.astype(...). It drops the imaginary part"),
    *([("celu", [X.astype("g")], {}, DTypeError, f"x has dtype {np.dtype('g')}; allowed: {FLOATS}. Convert it first: x.astype(...). It rounds to 53 bits")] if np.dtype("g").itemsize > 8 else []),
    ("celu", [2**70], {}, DTypeError, f"x is a whole number of about 22 digits; allowed: an array or a number, of {FLOATS}"),
    ("where", [X, X, X], {}, DTypeError, "condition has dtype float32; allowed: bool. Convert it first: condition.astype(...)"),
    ("dequantize_linear", [X, 0.1, 0], {}, DTypeError, "x has dtype float32; allowed: int8, uint8, int16, uint16, int32, uint32. Convert it first: x.astype(...)"),
    ("dequantize_linear", [I8, np.complex64(1), I8], {}, DTypeError, "scale has dtype complex64; allowed: float16, float32. Convert it first: scale.astype(...). It drops the imaginary part"),
    ("bitwise_and", [X, I8], {}, DTypeError, "a has dtype float32; allowed: int8, uint8, int16, uint16, int32, uint32, int64, uint64. Convert it first: a.astype(...)"),
    ("bitwise_and", [I8, X], {}, DTypeError, "b has dtype float32; allowed: int8, uint8, int16, uint16, int32, uint32, int64, uint64. Convert it first: b.astype(...)"),
    ("bitwise_and", [I8.astype("u8"), I8.astype("i8")], {}, DTypeError, "no type takes all operands: a uint64 and b int64; allowed: int8, uint8, int16, uint16, int32, uint32, int64, uint64. Convert one of them first: array.astype(...)"),
    ("add", [I8, 300], {}, DTypeError, "b is 300, and takes the type of the arrays beside it, int8; allowed: -128 to 127. Convert the arrays to a larger type first"),
    ("add", [-1, U8], {}, DTypeError, "a is -1, and takes the type of the arrays beside it, uint8; allowed: 0 to 255. Convert the arrays to a larger type first"),
    ("add", [I8.astype("i8"), 2**70], {}, DTypeError, "b is a whole number of 71 bits, and takes the type of the arrays beside it, int64; allowed: -9223372036854775808 to 9223372036854775807. Convert the arrays to a larger type first"),
    ("add", [X, 10**400], {}, DTypeError, "b is a whole number of 1329 bits, and takes the type of the arrays beside it, float32; allowed: magnitudes below 2**1023"),
    ("add", [X, np.ones(4, "f4")], {}, ShapeError, "the shapes do not broadcast together: a (3,) and b (4,); allowed: equal sizes, or 1, from the last axis on"),
    # Python's numbers, where nothing beside them says their type
    ("dequantize_linear", [I8, 0.1, I8], {}, DTypeError, "scale is 0.1, which is of type float64 here; allowed: float16, float32. Say its type: numpy.float32(scale)"),
    ("bit_shift_left", [59, 3], {}, DTypeError, "a is 59, which is of type int64 here; allowed: uint8, uint16, uint32, uint64. Say its type: numpy.uint8(a)"),
    ("bitwise_and", [I8, 3.5], {}, DTypeError, "b is 3.5, which is of type float64 here; allowed: int8, uint8, int16, uint16, int32, uint32, int64, uint64. Convert it first: numpy.int8(b)"),
    ("logical_and", [X > 0, 3], {}, DTypeError, "b is 3, which is of type int64 here; allowed: bool. Convert it first: numpy.bool(b)"),
    ("max", [0, 2**63], {}, DTypeError, "b is 9223372036854775808, and is of type int64 where no array of numbers stands beside it; allowed: -9223372036854775808 to 9223372036854775807. Say its type: numpy.uint64(b)"),
    ("where", [X > 0, 0, 2**63], {}, DTypeError, "b is 9223372036854775808, and is of type int64 where no array of numbers stands beside it; allowed: -9223372036854775808 to 9223372036854775807. Say its type: numpy.uint64(b)"),
    ("quantize_linear", [X, X, 130], {}, DTypeError, "zero_point is 130, too large for its type here (Python integer 130 out of bounds for int8). Say its type: numpy.uint8(zero_point)"),
    # out
    ("celu", [X], {"out": (X, X)}, OutputError, "out has 2 arrays; allowed: an array"),
    ("celu", [X], {"out": ()}, OutputError, "out has 0 arrays; allowed: an array"),
    ("softmax", [X], {"out": (X, X)}, OutputError, "out has 2 arrays; allowed: an array"),
    ("celu", [X], {"out": [1, 2, 3]}, OutputError, "out is a list; allowed: an array. Make an array of a buffer with numpy.frombuffer"),
    ("celu", [X], {"out": np.ndarray}, OutputError, "out is the class ndarray; allowed: an array. Make an array of a buffer with numpy.frombuffer"),
    ("celu", [X], {"out": np.zeros(3, "U4")}, DTypeError, "out has dtype <U4; allowed: arrays of numbers"),
    ("celu", [X], {"out": (np.zeros(3, "S4"),)}, DTypeError, "out has dtype |S4; allowed: arrays of numbers"),
    ("celu", [X], {"out": np.zeros(3, np.dtypes.StringDType())}, DTypeError, "out has dtype StringDType(); allowed: arrays of numbers"),
    ("add", [I8, I8], {"out": np.zeros(3, "V8")}, DTypeError, "out has dtype |V8; allowed: arrays of numbers"),
    ("softmax", [X], {"out": np.zeros(3, "U4")}, DTypeError, "out has dtype <U4; allowed: arrays of numbers"),
    ("softmax", [X], {"out": np.zeros(3, "U4"), "axis": 0}, DTypeError, "out has dtype <U4; allowed: arrays of numbers"),
    ("celu", [X], {"out": READ_ONLY}, OutputError, "out is a read-only array; allowed: writable arrays"),
    ("celu", [X], {"out": I8}, DTypeError, f"out has dtype int8, which cannot take the result for float32; allowed: {FLOATS}. Give casting='unsafe' to cut the result to any dtype"),
    ("celu", [X], {"out": np.ones(4, "f4")}, ShapeError, "out has shape (4,); allowed: (3,)"),
    # NumPy's keywords
    ("celu", [X], {"dtype": int}, DTypeError, f"dtype is int64; allowed: {FLOATS}"),
    ("softmax", [X], {"dtype": "i4"}, DTypeError, f"dtype is int32; allowed: {FLOATS}"),
    ("celu", [X], {"dtype": "nope"}, DTypeError, f"dtype is 'nope', which is no dtype; allowed: {FLOATS}"),
    ("celu", [X], {"dtype": "f2", "casting": "safe"}, DTypeError, "dtype is float16, to which casting='safe' does not convert the operands: x float32; allowed: e->e, f->f, d->d. Convert the operands first, or leave it out"),
    ("celu", [X], {"where": np.ones(4, bool), "out": X.copy()}, ShapeError, "where has shape (4,); allowed: shapes that broadcast together with (3,)"),
    ("celu", [X], {"where": np.ones(3), "out": X.copy()}, DTypeError, "where has dtype float64; allowed: bool. Convert it first: where != 0"),
    ("celu", [X], {"where": None, "out": X.copy()}, ArgumentError, "where is None; allowed: an array of truth values. Leave it out to compute all elements"),
    ("celu", [X], {"where": None}, ArgumentError, "where is None; allowed: an array of truth values. Leave it out to compute all elements"),
    ("celu", [X[0]], {"where": X > 0, "out": np.zeros((), "f4")}, ShapeError, "out has shape (); allowed: (3,)"),
    ("add", [X, X.astype("f8")], {"casting": "no"}, DTypeError, "casting is 'no', and the operands have several dtypes: a float32 and b float64; allowed: operands of one dtype, or casting='same_kind'"),
    ("add", [X, X], {"casting": "bad"}, ArgumentError, "casting is 'bad'; allowed: 'no', 'equiv', 'safe', 'same_kind', 'unsafe'"),
    ("add", [X, X], {"order": "Q"}, ArgumentError, "order is 'Q'; allowed: 'C', 'F', 'A', 'K'"),
    ("add", [X, X], {"subok": "yes"}, ArgumentError, "subok is 'yes'; allowed: True, False"),
    ("add", [X, X], {"signature": "dd->x"}, ArgumentError, "signature is 'dd->x'; allowed: the types of one loop, as bind(...).types lists them"),
    ("add", [X, X], {"signature": "dd->d", "dtype": "f4"}, ArgumentError, "dtype and signature are both given; allowed: one of them"),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:'where' used without 'out'")
@pytest.mark.parametrize(("name", "operands", "keywords", "error", "sentence"), WRONG, ids=range(len(WRONG)))
def test_wrong_calls(name, operands, keywords, error, sentence):
    out = keywords.get("out")
    before = out.copy() if isinstance(out, np.ndarray) else None
    with pytest.raises(error, match=f"^{re.escape(f'{name}: {sentence}')}$") as caught:
        getattr(ogive, name)(*operands, **keywords)
    assert not isinstance(caught.value.__cause__, ogive.errors.OgiveError)
    assert before is None or np.array_equal(out, before)


def test_errors_of_other_libraries_stay_as_they_are():
    class Array:
        def __array_ufunc__(self, ufunc, method, *inputs, **keywords):
            raise TypeError("not today")

        def __array__(self, dtype=None, copy=None):
            return X

    with pytest.raises(TypeError, match="^not today$"):
        ogive.celu(Array())


@pytest.mark.matrix(share=16, pool="slow")
def test_nothing_of_it_is_loaded_by_calls_that_succeed():
    code = "import sys, numpy, ogive; ogive.celu(numpy.ones(3, 'f4')); print('ogive.operators.explain' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
