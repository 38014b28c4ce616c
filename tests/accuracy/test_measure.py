"""The measurements themselves: they find errors that are known, and their results can be kept."""

import math
from dataclasses import fields

import numpy as np
import pytest

import ogive
from ogive.common.dtypes import element_type
from ogive.errors import DTypeError
from ogive.laboratory.accuracy import BINS, ErrorReport, fingerprint, sample, sample_rows, sweep
from ogive.laboratory.accuracy import error_in_ulp as error
from ogive.laboratory.accuracy.report import load

half, single, double = map(element_type, ("float16", "float32", "float64"))


def test_a_sweep_takes_every_input():
    report = sweep(ogive.exp, half)
    assert report.inputs == "every input"
    assert report.count == sum(report.histogram) == 1 << 16
    assert 0.49 < report.worst < 0.501
    assert report.misrounded <= 8
    assert len(report.worst_by_binade) == 64
    assert max(report.worst_by_binade) == pytest.approx(report.worst, abs=1e-3)


def test_a_sweep_finds_a_wrong_result_among_all():
    """One result of 65,536, off by 3 units; and NaN where there is a number."""

    def wrong(x):
        result = ogive.identity(x)
        result[x == 1.5] += np.float16(3 * 2**-10)
        return result

    report = sweep(ogive.identity, half, function=wrong)
    assert (report.worst, report.worst_input, report.misrounded) == (3.0, (1.5,), 1)
    assert report.histogram[BINS.index(4.0)] == 1
    # 1.5 has the exponent 0, which float16 stores as 15.
    assert [i for i, error in enumerate(report.worst_by_binade) if error] == [15]
    report = sweep(ogive.identity, half, function=lambda x: np.where(x == -2, np.nan, x).astype(x.dtype))
    assert (report.worst, report.worst_input) == (math.inf, (-2.0,))
    assert report.histogram[-1] == 1


@pytest.mark.parametrize("stride", [128, 1 << 12, 999_983])
def test_a_stride_is_said(stride):
    report = sweep(ogive.neg, single, stride=stride)
    assert report.inputs == f"every {stride}th input"
    assert report.count == -(-(1 << 32) // stride)
    assert report.worst == 0
    assert len(report.worst_by_binade) == 512


def test_worst_by_binade_is_of_the_right_binade_for_any_stride():
    for stride in (1, 7, 100, 2048):
        report = sweep(ogive.identity, half, stride=stride, function=lambda x: (x + (x == 1)).astype(x.dtype))
        found = [i for i, error in enumerate(report.worst_by_binade) if error]
        assert found == ([15] if 0x3C00 % stride == 0 else []), stride


@pytest.mark.matrix(share=16, pool="slow")
def test_a_sample_searches_round_the_worst():
    report = sample(ogive.pow, double, count=100_000)
    assert report.count == 100_000
    assert 0.499 < report.worst < 0.51
    assert len(report.worst_input) == 2
    wrong = sample(ogive.mul, single, count=100_000, function=lambda a, b: np.where(a > 1, a, a * b))
    assert wrong.worst > 1000


@pytest.mark.matrix(share=16, pool="slow")
def test_rows_of_several_lengths():
    report = sample_rows(ogive.softmax, single, count=300_000)
    assert report.count == 300_000
    assert 0 < report.worst <= 0.5000001
    assert sample_rows(ogive.standardize, single, {"epsilon": 0.5}, count=10_000).worst < 0.501
    for operator in (ogive.rms_normalization, ogive.cross_entropy):
        assert 0.4 < sample_rows(operator, single, count=10_000).worst < 0.501
    assert sample_rows(ogive.standardize, single, count=1000, function=lambda x: x).worst > 1e3
    assert sample_rows(ogive.softmax, single, count=1000, function=lambda x: x * 0).worst > 1e6


@pytest.mark.parametrize("count", [1, 2, 10, 1000, 70_000])
def test_as_many_samples_as_asked_for(count):
    told = []
    assert sample(ogive.mul, single, count=count, progress=told.append).count == sum(told) == count
    assert sample_rows(ogive.softmax, single, count=count).count == count


def test_a_type_is_given_by_its_name():
    assert sweep(ogive.exp, "float16").worst == sweep(ogive.exp, half).worst
    with pytest.raises(DTypeError, match="the element type is 'int8'; allowed: float16, bfloat16, float32, float64"):
        sweep(ogive.exp, "int8")


def test_whose_results_a_report_is_of():
    def mine(x):
        return x

    assert sweep(ogive.identity, half).by == "ogive"
    assert sweep(ogive.identity, half, function=mine).by == "mine"
    assert sample(ogive.identity, double, count=10, function=mine).by == "mine"
    assert sample_rows(ogive.softmax, single, count=10, function=mine).by == "mine"


@pytest.mark.matrix(share=16, pool="slow")
def test_cancellation_is_found_by_a_careful_measurement():
    """x - tanh(x) is x ** 3 / 3 near 0, of which float64 has nothing left below 1e-8."""

    @ogive.operator
    def shrinkage(x):
        return x - np.tanh(x)

    # Ogive's own results are right. NumPy's are those of the formula as it is written.
    assert sweep(shrinkage, half, careful=True).worst <= 0.5000001
    report = sweep(shrinkage, single, stride=1 << 12, careful=True, function=lambda x: x - np.tanh(x))
    assert report.worst > 1e6
    (x,) = report.worst_input
    assert 0 < abs(x) < 1e-3
    # The estimate that it found is true: the first term of the series is all that counts there.
    exact = np.longdouble(x) ** 3 / 3
    unit = 2.0 ** (np.floor(np.log2(abs(exact))) - 23)
    assert report.worst == pytest.approx(float(abs(report.worst_result - exact) / max(unit, 2.0**-149)), rel=1e-4)


def test_fingerprints_tell_operators_apart():
    found = [
        fingerprint(ogive.celu, single),
        fingerprint(ogive.celu, single, {"alpha": 1.5}),
        fingerprint(ogive.celu, half),
        fingerprint(ogive.elu, single, {"alpha": 1.5}),
        fingerprint(ogive.add, single),
        fingerprint(ogive.add, double),
        fingerprint(ogive.softmax, single),
    ]
    assert len(set(found)) == len(found)
    assert fingerprint(ogive.celu, single) == found[0]


def test_reports_are_kept_as_they_are(tmp_path):
    report = ErrorReport(
        "celu", {"alpha": 0.1}, "float32", worst=math.inf, worst_input=(-math.inf, 0.1), worst_result=1.0
    )
    report.histogram[1:3], report.worst_by_binade = [7, 7], [0.0] * 300 + [0.5, math.inf]
    another = ErrorReport("add", {}, "float16", by="a library, of another", worst_result=2.0)
    path = tmp_path / "there" / "ogive.csv"
    assert load(path) == {}
    report.save(path)
    another.save(path)
    assert load(path) == {"add float16": another, "celu alpha=0.1 float32": report}
    report.count = 8
    report.save(path)
    assert load(path)["celu alpha=0.1 float32"].count == 8
    assert path.read_text(encoding="utf-8").splitlines()[0] == ",".join(f.name for f in fields(ErrorReport))
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    path.write_text("operator,dtype\n", encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"ogive.csv is not a file of measurements; allowed: a file that `ogive accuracy --save`"
    ):
        load(path)


# ---- distances in units in the last place


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
