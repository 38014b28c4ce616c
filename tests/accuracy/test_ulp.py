import numpy as np
import pytest

from ogive.accuracy import error_in_ulp as error
from ogive.dtypes import element_type
from ogive.errors import DTypeError

single, half = element_type("float32"), element_type("float16")


@pytest.mark.parametrize(
    ("result", "exact", "units"),
    [
        (1.0, 1.0, 0),
        (1.0, 1.0 + 2.0**-24, 0.5),
        (1.0 + 2.0**-23, 1.0, 1),
        (2.0**-149, 0.0, 1),
        (0.0, 2.0**-149, 1),
        (2.0**-149, 1.5 * 2.0**-149, 0.5),
        (np.inf, 3.5e38, 0),
        (3.4028235e38, 3.5e38, np.inf),
        (np.inf, 3e38, np.inf),
        (-np.inf, np.inf, np.inf),
        (np.nan, np.nan, 0),
        (1.0, np.nan, np.inf),
        (np.nan, 1.0, np.inf),
        (-1.0, 1.0, 2**24),
    ],
)
def test_error_of_single(result, exact, units):
    assert error(np.float32([result]), np.float64([exact]), single)[0] == units


def test_error_of_half():
    assert error(np.float16([1.0]), np.float64([1.0 + 2.0**-11]), half)[0] == 0.5
    assert error(np.float16([np.inf]), np.float64([65520.0]), half)[0] == 0
    assert error(np.float16([65504]), np.float64([65519.0]), half)[0] < 0.5


@pytest.mark.parametrize("kind", ["float32", np.float32, np.dtype("float32")])
def test_the_type_by_its_name_or_numpys_dtype(kind):
    assert error(np.float32([1.0]), np.float64([1 + 2**-24]), kind).tolist() == [0.5]


def test_a_type_without_places_is_refused():
    for kind in ("int8", np.int8, "nonsense", object()):
        with pytest.raises(DTypeError, match="allowed: float16, bfloat16, float32, float64"):
            error(np.float32([1.0]), np.float64([1.0]), kind)
