"""SoftmaxCrossEntropyLoss and NegativeLogLikelihoodLoss by the standard's text: rounded once from their inputs."""

from fractions import Fraction

import flint
import ml_dtypes
import numpy as np
import pytest

import ogive.onnx
from ogive.errors import ModelError, ShapeError
from tests.onnx.models import node_model

KINDS = [np.dtype(t) for t in (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)]
OPERATORS = ["SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"]
CASES = ["std 1", "std 100", "std 1e4", "mean 1e4", "ends", "one leads", "powers", "one class"]


def run(operator, inputs, attributes, outputs=("y",)):
    opset = 22 if operator[0] == "N" else 13
    return ogive.onnx.load(node_model(operator, opset, list(inputs.items()), attributes, outputs))(inputs)


def logits(kind, case, generator):
    shape = (9, 1 if case == "one class" else 5)
    normal = generator.standard_normal(shape)
    largest = float(ml_dtypes.finfo(kind).max)
    one = np.eye(1, shape[1])
    with np.errstate(over="ignore"):
        return {
            "std 1": normal,
            "std 100": normal * 100,
            "std 1e4": np.clip(normal * 1e4, -6e4, 6e4),
            "mean 1e4": normal + 1e4,
            "ends": generator.choice([largest, -largest, 0.0, 1.0, -1.0], shape),
            "one leads": normal + one * 60,
            "powers": generator.choice([0.5, 1, 64, -256, 256, 1000, 4096, 2048.0], shape),
            "one class": normal,
        }[case].astype(kind)


def right(operator, x, label):
    """The loss of a row as a ball, its exact part first so that ties are told apart."""
    if operator[0] == "N":
        return Fraction(-float(x[label])), None
    row = [Fraction(float(v)) for v in x]
    largest = max(row)
    others = [flint.arb(flint.fmpq((v - largest).numerator, (v - largest).denominator)).exp() for v in row]
    del others[row.index(largest)]
    total = sum(others, flint.arb(0))
    return largest - row[label], total.log1p()


def neighbours_agree(got, exact, rest, divisor, kind):
    """Whether the number is the nearest one: no middle to a neighbour lies between it and (exact + rest) / divisor."""

    def beyond(middle, is_above):
        """Whether the value lies on the other side of a middle."""
        gap = middle * divisor - exact
        ball = flint.arb(flint.fmpq(gap.numerator, gap.denominator)) - (0 if rest is None else rest)
        side = ball if divisor > 0 else -ball
        if side > 0:
            return not is_above
        if side < 0:
            return is_above
        return bool(int(got.view(f"u{kind.itemsize}")) & 1) if rest is None or side == 0 else None

    if not np.isfinite(got):
        edge = Fraction(float(ml_dtypes.finfo(kind).max))
        below = Fraction(float(np.nextafter(ml_dtypes.finfo(kind).max, kind.type(0))))
        middle = edge + (edge - below) / 2
        return bool(beyond(middle if got > 0 else -middle, got > 0) is not False) and not np.isnan(got)
    for end in (np.inf, -np.inf):
        with np.errstate(over="ignore"):
            beside = float(np.nextafter(got, kind.type(end)))
        if np.isfinite(beside):
            middle = (Fraction(beside) + Fraction(float(got))) / 2
            if beyond(middle, end > 0) is not False:
                return False
    return True


@pytest.fixture(autouse=True)
def _bits():
    before = flint.ctx.prec
    flint.ctx.prec = 12_000  # 1 + exp(-8000) is told from 1
    yield
    flint.ctx.prec = before


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("operator", OPERATORS)
def test_rounded_once(operator, case, kind):
    generator = np.random.default_rng(CASES.index(case))
    x = logits(kind, case, generator)
    count, classes = x.shape
    labels = generator.integers(0, classes, count)
    for weighted in (False, True):
        weights = np.abs(generator.standard_normal(classes)).astype(kind)
        for ignored in (None, int(labels[0]), -100):
            kept = [i for i in range(count) if labels[i] != ignored]
            inputs = {"x": x, "l": labels, **({"w": weights} if weighted else {})}
            attributes = {} if ignored is None else {"ignore_index": ignored}
            each = {i: right(operator, x[i], labels[i]) for i in kept}
            by = {i: Fraction(float(weights[labels[i]])) if weighted else Fraction(1) for i in kept}
            losses = run(operator, inputs, {"reduction": "none", **attributes})
            assert losses.dtype == kind
            for i in range(count):
                if i not in each:
                    assert losses[i] == 0
                    continue
                exact, rest = each[i]
                rest = None if rest is None else rest * flint.fmpq(by[i].numerator, by[i].denominator)
                assert neighbours_agree(losses[i], exact * by[i], rest, Fraction(1), kind), (i, losses[i])
            exact = sum((by[i] * each[i][0] for i in kept), Fraction(0))
            rest = None
            if operator[0] == "S":
                rest = sum((each[i][1] * flint.fmpq(by[i].numerator, by[i].denominator) for i in kept), flint.arb(0))
            total = run(operator, inputs, {"reduction": "sum", **attributes})
            assert (total.dtype, total.shape) == (kind, ())
            assert neighbours_agree(total[()], exact, rest, Fraction(1), kind), total
            mean = run(operator, inputs, attributes)
            if kept:
                assert neighbours_agree(mean[()], exact, rest, sum(by.values(), Fraction(0)), kind), mean
            else:
                assert np.isnan(mean.astype(float))


def test_a_tie_is_decided_by_what_is_too_small():
    """4098 lies between the float16 4096 and 4100; exp(-4098) is all that makes the loss more."""
    x = np.float16([[4096, -2], [4096, -2]])
    losses = run("SoftmaxCrossEntropyLoss", {"x": x, "l": np.array([1, 0])}, {"reduction": "none"})
    assert losses.tolist() == [4100, 0]


@pytest.mark.matrix(share=16, pool="slow")
def test_means_of_many():
    """A million losses, of which float32 loses digits on the way: the mean is the one of exact numbers."""
    x = np.random.default_rng(0).standard_normal((200_000, 3)).astype(np.float32)
    labels = np.arange(200_000) % 3
    mean = run("NegativeLogLikelihoodLoss", {"x": x, "l": labels}, {})
    exact = sum(map(Fraction, (-x[np.arange(200_000), labels].astype(np.float64)).tolist())) / 200_000
    assert neighbours_agree(mean[()], exact, None, Fraction(1), np.dtype(np.float32))
    mean = run("SoftmaxCrossEntropyLoss", {"x": x, "l": labels}, {})
    wide = x.astype(np.longdouble)
    losses = np.log(np.exp(wide).sum(1)) - wide[np.arange(200_000), labels]
    assert abs(mean - float(losses.mean())) <= np.spacing(mean) * 0.5001


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_logarithms_of_probabilities_and_places(kind):
    x = np.random.default_rng(1).standard_normal((2, 4, 3, 2)).astype(kind)
    labels = np.random.default_rng(2).integers(0, 4, (2, 3, 2))
    loss, found = run("SoftmaxCrossEntropyLoss", {"x": x, "l": labels}, {"reduction": "none"}, ("y", "p"))
    assert found.tobytes() == ogive.log_softmax(x, axis=1).tobytes()
    picked = -np.take_along_axis(found, labels[:, None], 1)[:, 0]
    assert np.allclose(loss.astype(float), picked.astype(float), rtol=1e-2)
    if kind.itemsize < 8:
        assert loss.tobytes() == picked.tobytes()


def test_what_is_not_finite():
    x = np.float32([[np.nan, 0], [np.inf, 0], [-np.inf, -np.inf], [-np.inf, 0], [0, -np.inf]])
    losses = run("SoftmaxCrossEntropyLoss", {"x": x, "l": np.array([0, 0, 0, 0, 0])}, {"reduction": "none"})
    assert np.isnan(losses[:3]).all()
    assert losses[3:].tolist() == [np.inf, 0]
    mean = run("SoftmaxCrossEntropyLoss", {"x": x[3:], "l": np.array([0, 0])}, {})
    assert mean == np.inf
    assert np.isnan(run("SoftmaxCrossEntropyLoss", {"x": x[:0], "l": np.array([], np.int64)}, {}))
    assert run("SoftmaxCrossEntropyLoss", {"x": x[:0], "l": np.array([], np.int64)}, {"reduction": "sum"}) == 0


def test_wrong_calls():
    x = np.zeros((2, 3), np.float32)
    with pytest.raises(ShapeError, match=r"SoftmaxCrossEntropyLoss node .*: a label is 3; allowed: 0 to 2$"):
        run("SoftmaxCrossEntropyLoss", {"x": x, "l": np.array([0, 3])}, {})
    with pytest.raises(ShapeError, match=r": a label is -1; allowed: 0 to 2, and 7, which is ignored$"):
        run("NegativeLogLikelihoodLoss", {"x": x, "l": np.array([7, -1])}, {"ignore_index": 7})
    with pytest.raises(ShapeError, match=r"its scores have the shape \(2, 3\) and its labels \(3,\); allowed: \(N, C"):
        run("NegativeLogLikelihoodLoss", {"x": x, "l": np.array([0, 1, 2])}, {})
    with pytest.raises(ShapeError, match=r"its weights have the shape \(2,\); allowed: \(3,\), one for each class"):
        run("SoftmaxCrossEntropyLoss", {"x": x, "l": np.array([0, 1]), "w": np.ones(2, np.float32)}, {})
    with pytest.raises(ModelError, match=r"reduction is 'avg'; allowed: 'none', 'sum', 'mean'"):
        run("SoftmaxCrossEntropyLoss", {"x": x, "l": np.array([0, 1])}, {"reduction": "avg"})
