"""The operators that ONNX's schemas define by functions, against the standard's text: in all types, judged in fractions and by mpmath."""

from fractions import Fraction

import ml_dtypes
import mpmath
import numpy as np
import onnx
import pytest
from onnx import helper

import ogive.onnx
from ogive.errors import ModelError, OgiveError, ShapeError, UnsupportedError
from ogive.onnx import loading, schemas
from ogive.onnx.composed import COMPOSED
from ogive.onnx.data_types import DATA_TYPES
from tests.nearest import is_nearest
from tests.onnx.models import NEWEST_OPSET, node_model

FLOATS = [np.dtype(t) for t in (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)]
SHORT = FLOATS[:3]
SCALES = ["std 1", "std 100", "std 1e4", "mean 1e4", "ends"]


def numbers(kind, case, shape, generator):
    normal = generator.standard_normal(shape)
    largest = float(ml_dtypes.finfo(kind).max)
    smallest = float(ml_dtypes.finfo(kind).smallest_subnormal)
    return {
        "std 1": normal,
        "std 100": normal * 100,
        "std 1e4": np.clip(normal * 1e4, -6e4, 6e4),
        "mean 1e4": normal + 1e4,
        "ends": generator.choice([largest, -largest, smallest, -smallest, 0.0, 1.0], shape),
    }[case].astype(kind)


def run(operator, opset, inputs, attributes=None, outputs=("y",)):
    given = list(inputs.items())
    return ogive.onnx.load(node_model(operator, opset, given, attributes, outputs))(inputs)


# ---- none of them runs a body of the onnx package


def schemas_of_functions():
    """Every version of an operator that ONNX's schemas define by a function."""
    return [
        schema
        for schema in onnx.defs.get_all_schemas_with_history()
        if schema.domain == ""
        and schema.since_version <= NEWEST_OPSET
        and (schema.has_function or schema.has_context_dependent_function)
    ]


def example(schema, kind):
    """A node of a version whose first type parameter is a type, for loading."""
    types = {}
    for place, constraint in enumerate(schema.type_constraints):
        allowed = sorted(constraint.allowed_type_strs)
        types[constraint.type_param_str] = kind if place == 0 or kind in allowed else allowed[0]
    inputs = []
    for position, parameter in enumerate(schema.inputs):
        if position < max(schema.min_input, 1):
            given = types.get(parameter.type_str, parameter.type_str)
            inputs.append((f"i{position}", given))
    attributes = {}
    for name, row in schema.attributes.items():
        if row.required:
            number = int(getattr(row.type, "value", row.type))
            attributes[name] = {1: 1.0, 2: 1, 3: "none", 6: [1.0], 7: [1]}.get(number, 1)
    outputs = tuple(f"o{i}" for i in range(max(schema.min_output, 1)))
    return node_model(schema.name, schema.since_version, inputs, attributes, outputs)


def put_together(monkeypatch):
    """Operators of which some version is put together from others, found by loading every type of every version."""
    found = set()
    original = loading._Builder._call

    def spy(builder, function, proto, *rest):
        found.add(proto.op_type)
        return original(builder, function, proto, *rest)

    monkeypatch.setattr(loading._Builder, "_call", spy)
    loaded = set()
    for schema in schemas_of_functions():
        if schemas.schema_of(schema.name, schema.since_version) is None:
            continue
        for kind in sorted(schema.type_constraints[0].allowed_type_strs):
            try:
                ogive.onnx.load(example(schema, kind))
            except (OgiveError, NotImplementedError):
                continue  # refused, so that no body runs
            loaded.add(schema.name)
    assert len(loaded) >= 25, "hardly anything loads, so the search finds nothing"
    return found


@pytest.mark.matrix(share=16, pool="slow")
def test_no_operator_runs_a_body_of_the_onnx_package(monkeypatch):
    """An operator that ONNX's schemas define by a function is computed by Ogive's own formulas."""
    functions = schemas_of_functions()
    assert len({schema.name for schema in functions}) >= 40, "ONNX's schemas have no functions any more"
    assert put_together(monkeypatch) == set()


@pytest.mark.matrix(share=16, pool="slow")
def test_the_search_for_bodies_finds_them(monkeypatch):
    """Where Ogive's own way is missing and a body runs, the search says so."""
    schema = onnx.defs.get_schema("HammingWindow", 17, "")
    body = onnx.FunctionProto()
    body.ParseFromString(schema.get_function_with_opset_version(17))
    monkeypatch.delitem(COMPOSED, "HammingWindow")
    monkeypatch.setattr(loading, "body_of", lambda node, domain: body if node.op_type == "HammingWindow" else None)
    assert put_together(monkeypatch) == {"HammingWindow"}


@pytest.mark.parametrize("operator", ["MatMul", "Einsum", "LinearAttention", "CausalConvWithState", "Attention"])
def test_what_is_missing_is_refused_by_name(operator):
    kind = "tensor(float)"
    schema = onnx.defs.get_schema(operator, NEWEST_OPSET, "")
    with pytest.raises(UnsupportedError, match=rf"^{operator} node .*: Ogive has no operator {operator} \(opset \d+\)"):
        ogive.onnx.load(example(schema, kind))


# ---- windows

COEFFICIENTS = {
    "HannWindow": (Fraction(1, 2), Fraction(1, 2), Fraction(0)),
    "HammingWindow": (Fraction(25, 46), Fraction(21, 46), Fraction(0)),
    "BlackmanWindow": (Fraction(42, 100), Fraction(50, 100), Fraction(8, 100)),
}
NUMBERS = [row for row in DATA_TYPES.values() if row.element is not None and row.name != "BOOL"]


def point(name, n, period):
    """a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N), with 60 digits; 0 and 1 exactly."""
    with mpmath.workdps(80):
        a0, a1, a2 = (mpmath.mpf(c.numerator) / c.denominator for c in COEFFICIENTS[name])
        angle = 2 * mpmath.pi * n / period
        value = a0 - a1 * mpmath.cos(angle) + a2 * mpmath.cos(2 * angle)
        whole = mpmath.nint(value)
        value = whole if abs(value - whole) < mpmath.mpf(10) ** -60 else value
        sign, mantissa, exponent, _ = value._mpf_
        return (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


@pytest.mark.matrix(share=12)
@pytest.mark.parametrize("row", NUMBERS, ids=lambda row: row.text)
@pytest.mark.parametrize("name", COEFFICIENTS)
def test_windows(name, row):
    for size in (1, 2, 3, 8, 50, 129):
        for periodic in (0, 1):
            attributes = {"output_datatype": row.number, "periodic": periodic}
            found = run(name, 17, {"n": np.array(size)}, attributes)
            assert (found.shape, found.dtype) == ((size,), row.numpy)
            period = size if periodic else size - 1
            for n, got in enumerate(found):
                exact = point(name, n, period) if period else Fraction(1)
                if not row.element.is_float:
                    assert got == int(exact)
                elif row.name == "DOUBLE":
                    assert abs(Fraction(float(got)) - exact) <= Fraction(float(np.spacing(got)))
                else:
                    assert is_nearest(got, exact, row.numpy), (size, n, got)


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_windows_of_wrong_sizes(name):
    assert run(name, 17, {"n": np.array(0)}).shape == (0,)
    for size in (-1, 2**40):
        with pytest.raises(ShapeError, match=rf"{name} node .*: its size is {size}; allowed: one number from 0 on"):
            run(name, 17, {"n": np.array(size)})
    with pytest.raises(ModelError, match="output_datatype is 77"):
        run(name, 17, {"n": np.array(3)}, {"output_datatype": 77})


# ---- grids


def coordinate(i, size, align_corners):
    if align_corners:
        return Fraction(2 * i, size - 1) - 1 if size > 1 else Fraction(0)
    return Fraction(2 * i + 1, size) - 1


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize("kind", FLOATS, ids=str)
@pytest.mark.parametrize("case", SCALES)
@pytest.mark.parametrize("sizes", [(4, 3), (1, 5), (2, 3, 4)])
@pytest.mark.parametrize("align", [0, 1])
def test_affine_grid(kind, case, sizes, align):
    axes = len(sizes)
    theta = numbers(kind, case, (2, axes, axes + 1), np.random.default_rng(axes))
    found = run("AffineGrid", 20, {"t": theta, "s": np.array([2, 1, *sizes])}, {"align_corners": align})
    assert (found.shape, found.dtype) == ((2, *sizes, axes), kind)
    for place in np.ndindex(2, *sizes):
        position = [coordinate(i, size, align) for i, size in zip(place[1:], sizes, strict=True)][::-1]
        for row in range(axes):
            matrix = [Fraction(float(v)) for v in theta[place[0], row]]
            exact = sum((a * b for a, b in zip(matrix, [*position, Fraction(1)], strict=True)), Fraction(0))
            got = found[(*place, row)]
            if kind.itemsize < 8:
                assert is_nearest(got, exact, kind), (place, row, got)
            elif case != "ends":
                size = sum(abs(a * b) for a, b in zip(matrix, [*position, Fraction(1)], strict=True))
                assert abs(Fraction(float(got)) - exact) <= Fraction(float(np.spacing(float(size))))


def test_affine_grid_of_wrong_shapes():
    theta = np.zeros((1, 2, 3), np.float32)
    with pytest.raises(ShapeError, match=r"its size is \[1, 1, 2\]; allowed: \(N, C, H, W\) or"):
        run("AffineGrid", 20, {"t": theta, "s": np.array([1, 1, 2])})
    with pytest.raises(ShapeError, match=r"its theta has the shape \(1, 2, 3\) for the size .*; allowed: \(2, 2, 3\)"):
        run("AffineGrid", 20, {"t": theta, "s": np.array([2, 1, 2, 2])})


# ---- rotations


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("kind", SHORT, ids=str)
@pytest.mark.parametrize("case", SCALES)
@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("part", [0, 4])
@pytest.mark.parametrize("form", ["three axes", "four axes", "positions"])
def test_rotary_embedding(kind, case, interleaved, part, form):
    generator = np.random.default_rng(3)
    batch, heads, length, size = 2, 2, 3, 6
    x = numbers(kind, case, (batch, length, heads, size), generator)
    half = (part or size) // 2
    angles = generator.uniform(0, 7, (batch, length, half))
    cos, sin = np.cos(angles).astype(kind), np.sin(angles).astype(kind)
    inputs = {"x": x.reshape(batch, length, heads * size), "c": cos, "s": sin}
    attributes = {"interleaved": interleaved, "rotary_embedding_dim": part}
    if form == "three axes":
        attributes["num_heads"] = heads
    else:
        inputs["x"] = np.ascontiguousarray(x.transpose(0, 2, 1, 3))
    if form == "positions":
        order = generator.permutation(batch * length)
        inputs["c"], inputs["s"] = (a.reshape(-1, half)[order] for a in (cos, sin))
        inputs["p"] = np.argsort(order).reshape(batch, length)
    found = run("RotaryEmbedding", 23, inputs, attributes)
    assert (found.shape, found.dtype) == (inputs["x"].shape, kind)
    found = found.reshape(batch, length, heads, size) if form == "three axes" else found.transpose(0, 2, 1, 3)
    for b, t, h in np.ndindex(batch, length, heads):
        row, result = x[b, t, h], found[b, t, h]
        assert result[2 * half :].tobytes() == row[2 * half :].tobytes()
        for i in range(half):
            first, second = (2 * i, 2 * i + 1) if interleaved else (i, half + i)
            u, v, c, s = (Fraction(float(a)) for a in (row[first], row[second], cos[b, t, i], sin[b, t, i]))
            assert is_nearest(result[first], u * c - v * s, kind)
            assert is_nearest(result[second], u * s + v * c, kind)


def test_rotary_embedding_of_wrong_shapes():
    x, cache_of = np.zeros((1, 2, 6), np.float32), np.zeros((1, 2, 3), np.float32)
    with pytest.raises(ShapeError, match=r"num_heads is 4 for X of shape \(1, 2, 6\); allowed"):
        run("RotaryEmbedding", 23, {"x": x, "c": cache_of, "s": cache_of}, {"num_heads": 4})
    with pytest.raises(ShapeError, match=r"cos_cache and sin_cache have the shapes .* allowed: \(1, 2, 1\)"):
        run("RotaryEmbedding", 23, {"x": x, "c": cache_of, "s": cache_of}, {"num_heads": 3})
    with pytest.raises(ShapeError, match=r"8 of 6 elements of a head are rotated; allowed: an even number"):
        run("RotaryEmbedding", 23, {"x": x, "c": cache_of, "s": cache_of}, {"num_heads": 1, "rotary_embedding_dim": 8})


# ---- quantisation


@pytest.mark.parametrize("case", [*SCALES, "positive", "negative"])
def test_dynamic_quantize_linear(case):
    kind = np.dtype(np.float32)
    generator = np.random.default_rng(9)
    x = numbers(kind, "std 1" if case in ("positive", "negative") else case, (4, 25), generator)
    x = np.abs(x) if case == "positive" else -np.abs(x) if case == "negative" else x
    y, scale, zero = run("DynamicQuantizeLinear", 11, {"x": x}, {}, ("y", "s", "z"))
    assert (y.dtype, scale.dtype, zero.dtype, scale.shape, zero.shape) == (np.uint8, kind, np.uint8, (), ())
    low, high = min(Fraction(0), Fraction(float(x.min()))), max(Fraction(0), Fraction(float(x.max())))
    assert is_nearest(scale[()], (high - low) / 255, kind)
    step = Fraction(float(scale))

    def whole(quotient):
        """Rounded to float32, and to the nearest integer, to even."""
        near = np.float32(float(quotient))
        near = min((near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))),
                   key=lambda v: (abs(Fraction(float(v)) - quotient), int(v.view(np.uint32)) & 1))  # fmt: skip
        return round(Fraction(float(near)))

    point_of_zero = min(max(whole(-low / step), 0), 255)
    assert zero == point_of_zero
    for value, got in zip(x.ravel(), y.ravel(), strict=True):
        assert got == min(max(whole(Fraction(float(value)) / step) + point_of_zero, 0), 255)


@pytest.mark.parametrize("x", [np.zeros(4), np.float32([1e-45, 0]), np.zeros(0)])
def test_a_range_of_nothing_has_the_scale_one(x):
    y, scale, zero = run("DynamicQuantizeLinear", 11, {"x": x.astype(np.float32)}, {}, ("y", "s", "z"))
    assert (scale, zero, y.tolist()) == (1, 0, [0] * x.size)


def test_dynamic_quantize_linear_of_nan():
    x = np.float32([np.nan, 1])
    y, scale, zero = run("DynamicQuantizeLinear", 11, {"x": x}, {}, ("y", "s", "z"))
    assert np.isnan(scale)
    assert (zero, y.tolist()) == (0, [0, 0])


# ---- cutting and padding


@pytest.mark.parametrize(
    "kind", sorted(onnx.defs.get_schema("CenterCropPad", 18, "").type_constraints[0].allowed_type_strs)
)
def test_center_crop_pad(kind):
    x = np.arange(1, 21).reshape(4, 5)
    x = x.astype(str).astype(object) if kind == "tensor(string)" else x.astype(DATA_TYPES[kind].numpy)
    zero = "" if kind == "tensor(string)" else np.zeros((), x.dtype)[()]
    for shape, axes in [((2, 8), None), ((7, 2), None), ((3,), [-1]), ((6,), [0]), ((4, 5), [0, 1]), ((0, 1), None)]:
        attributes = {} if axes is None else {"axes": axes}
        found = run("CenterCropPad", 18, {"x": x, "s": np.array(shape)}, attributes)
        wanted = list(x.shape)
        for axis, size in zip(range(2) if axes is None else axes, shape, strict=True):
            wanted[axis] = size
        assert (found.shape, found.dtype) == (tuple(wanted), x.dtype)
        for place in np.ndindex(*wanted):
            # From an odd number of elements one less is cut in front, or added in front.
            source = [
                p + (have - size) // 2 if have >= size else p - (size - have) // 2
                for p, have, size in zip(place, x.shape, wanted, strict=True)
            ]
            inside = all(0 <= p < have for p, have in zip(source, x.shape, strict=True))
            assert found[place] == (x[tuple(source)] if inside else zero)
    with pytest.raises(ShapeError, match=r"CenterCropPad node .*: shape is \(1, 2, 3\); allowed: 2 sizes from 0 on"):
        run("CenterCropPad", 18, {"x": x, "s": np.array([1, 2, 3])})


def test_every_operator_here_is_one_of_onnx():
    assert len(COMPOSED) >= 9
    known = {schema.name for schema in onnx.defs.get_all_schemas()}
    assert known >= COMPOSED.keys()
    newest = min(NEWEST_OPSET, onnx.defs.onnx_opset_version())
    assert helper.find_min_ir_version_for([helper.make_opsetid("", newest)], ignore_unknown=True) >= 10


# ---- local response normalisation


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("kind", FLOATS, ids=str)
def test_local_response_normalisation_is_rounded_once(kind):
    """Windows of an odd and an even number of channels, cut off at both ends."""
    generator = np.random.default_rng(3)
    x = generator.standard_normal((2, 5, 3)).astype(kind)
    for size, numbers in ((3, {}), (4, {"alpha": 0.5, "beta": 0.5, "bias": 2.0}), (1, {"alpha": 0.25})):
        found = run("LRN", 13, {"x": x}, {"size": size, **numbers})
        assert found.dtype == kind
        alpha, beta, bias = (
            float(np.float32(numbers.get(name, default)))
            for name, default in (("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0))
        )
        for place in np.ndindex(x.shape):
            image, channel, column = place
            window = range(max(channel - (size - 1) // 2, 0), min(channel + size // 2, 4) + 1)
            with mpmath.workprec(300):
                squares = sum(mpmath.mpf(float(x[image, c, column])) ** 2 for c in window)
                divisor = (mpmath.mpf(bias) + mpmath.mpf(alpha) * squares / size) ** mpmath.mpf(beta)
                exact = mpmath.mpf(float(x[place])) / divisor
                fraction = Fraction(exact.man) * Fraction(2) ** exact.exp * (-1 if x[place] < 0 else 1)
            assert is_nearest(found[place], fraction, kind)


def test_local_response_normalisation_refuses():
    x = np.ones((2, 5), np.float32)
    assert run("LRN", 13, {"x": x}, {"size": 3}).shape == (2, 5)
    with pytest.raises(UnsupportedError, match="LRN node .* size is 32; allowed: 1 to 31"):
        run("LRN", 13, {"x": x}, {"size": 32})
    with pytest.raises(ShapeError, match=r"its input has the shape \(5,\); allowed: two axes or more"):
        run("LRN", 13, {"x": x[0]}, {"size": 3})
