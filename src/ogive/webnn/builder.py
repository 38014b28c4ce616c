"""MLGraphBuilder: graphs in WebNN's own names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from ogive.catalog.standards import row_of
from ogive.errors import described, message, suggestion
from ogive.webnn import shapes
from ogive.webnn.checking import (
    buffer_of,
    check_operand,
    check_operands,
    descriptor_of,
    options_of,
    parameters_of,
    subject_of,
)
from ogive.webnn.compiled_graph import MLGraph
from ogive.webnn.context import MLContext, MLTensor
from ogive.webnn.exceptions import InvalidStateError, NotSupportedError, refuse
from ogive.webnn.operand import DATA_TYPES, BuiltOperation, MLOperand, cast_number, data_type
from ogive.webnn.operator_table import OPERATORS, OUT_OF_SCOPE
from ogive.webnn.shapes import Shape

#: concat and split take no more tensors.
MOST_TENSORS = 8192

_Options = Mapping[str, Any] | None


def _unary(name: str) -> Callable[..., MLOperand]:
    def made(self: MLGraphBuilder, input: MLOperand, options: _Options = None, **given: Any) -> MLOperand:  # noqa: A002
        return self._element_wise(name, (input,), options, given)

    return made


def _binary(name: str) -> Callable[..., MLOperand]:
    def made(self: MLGraphBuilder, a: MLOperand, b: MLOperand, options: _Options = None, **given: Any) -> MLOperand:
        return self._element_wise(name, (a, b), options, given)

    return made


def _reduction(name: str) -> Callable[..., MLOperand]:
    def made(self: MLGraphBuilder, input: MLOperand, options: _Options = None, **given: Any) -> MLOperand:  # noqa: A002
        return self._reduce(name, input, options, given)

    return made


class _Methods:
    """Methods of one kind: each name that this is assigned to in a class gets its own."""

    def __init__(self, make: Callable[[str], Callable[..., MLOperand]], sentence: str) -> None:
        self.make, self.sentence = make, sentence

    def __set_name__(self, owner: type, name: str) -> None:
        row, made = OPERATORS[name], self.make(name)
        defaults = ", ".join(f"{key} = {value}" for key, value in row.options.items() if value is not None)
        text = f"{self.sentence.format(name)} Types: {', '.join(row.operands[0].types)}."
        text += f" Options: {defaults}." if defaults else ""
        made.__name__, made.__qualname__ = name, f"{owner.__name__}.{name}"
        made.__doc__ = f"{text}\n\n        Raises MLTypeError.\n        "
        setattr(owner, name, made)


_UNARY: Any = _Methods(_unary, "The operator {} of every element.")
_BINARY: Any = _Methods(_binary, "The operator {} of two operands that broadcast.")
_REDUCTION: Any = _Methods(_reduction, "{} over ``axes``, by default over all.")


class MLGraphBuilder:
    """Builds a graph, operator by operator, and compiles it once.

    Methods have the names, operands, options and defaults of the specification; options are a dictionary or keywords.

    >>> import numpy as np
    >>> from ogive.webnn import MLContext, MLGraphBuilder
    >>> context = MLContext()
    >>> builder = MLGraphBuilder(context)
    >>> x = builder.input("x", {"dataType": "float32", "shape": [3]})
    >>> y = builder.elu(builder.add(x, builder.constant("float32", 1)), {"alpha": 0.5})
    >>> graph = builder.build({"y": y})
    >>> graph({"x": np.float32([-3, -1, 1])})["y"]
    array([-0.43233237,  0.        ,  2.        ], dtype=float32)

    Raises MLTypeError for what WebNN throws a TypeError for, InvalidStateError after `build`.
    Source: W3C, Web Neural Network API.
    """

    def __init__(self, context: MLContext) -> None:
        if not isinstance(context, MLContext):
            refuse("MLGraphBuilder", f"context is {described(context)}", "an MLContext")
        context._check_alive("MLGraphBuilder")
        self._context = context
        self._has_built = False
        self._count = 0
        self._inputs: dict[str, MLOperand] = {}

    def __repr__(self) -> str:
        return f"<MLGraphBuilder of {self._count} operands>"

    def __getattr__(self, name: str) -> NoReturn:
        what = OUT_OF_SCOPE.get(name)
        if what is None:
            hint = "" if name.startswith("_") else suggestion(name, OPERATORS)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint and f'. {hint}'}")
        way_out = "Compute it elsewhere, and build a graph of what comes before and one of what comes after it"
        text = message(f"MLGraphBuilder.{name}", f"it is {what}, which Ogive does not compute", "", way_out)
        raise _NotSupportedAttribute(text)

    # ---- what is given from outside

    def input(self, name: str, descriptor: Mapping[str, Any]) -> MLOperand:
        """A named input of the graph.

        ``descriptor``: ``{"dataType": ..., "shape": [...]}``. Sizes are known when a graph is built, and from 1 on.

        Raises MLTypeError for an empty name or one that the builder has, and for a wrong descriptor.
        """
        self._check_state("input")
        if not isinstance(name, str) or not name:
            refuse("input", f"name is {described(name)}", "text that is not empty")
        if name in self._inputs:
            refuse("input", f"there is an input {name!r} already", "another name")
        kind, sizes = descriptor_of("input", descriptor)
        made = self._operand(data_type("input", kind), shapes.checked_shape("input", sizes), name=name)
        self._inputs[name] = made
        return made

    def constant(self, descriptor: Any, buffer: Any = None) -> MLOperand:
        """A constant: of a descriptor and its data, of a type and a number, or of a constant tensor.

        >>> from ogive.webnn import MLContext, MLGraphBuilder
        >>> builder = MLGraphBuilder(MLContext())
        >>> builder.constant("int8", 300)
        <MLOperand int8 [], a constant>
        >>> builder.constant({"dataType": "float32", "shape": [2]}, [0.5, 1.5])
        <MLOperand float32 [2], a constant>

        Data are arrays of the type with as many elements, or their bytes. Raises MLTypeError.
        """
        self._check_state("constant")
        if isinstance(descriptor, MLTensor):
            return self._of_tensor(descriptor)
        if isinstance(descriptor, str):
            kind = data_type("constant", descriptor)
            number = cast_number("constant", "value", buffer, kind)
            return self._operand(kind, (), array=np.array(number, DATA_TYPES[kind].numpy))
        given, sizes = descriptor_of("constant", descriptor)
        kind, shape = data_type("constant", given), shapes.checked_shape("constant", sizes)
        return self._operand(kind, shape, array=buffer_of("constant", buffer, kind, shape))

    def _of_tensor(self, tensor: MLTensor) -> MLOperand:
        if tensor._context is not self._context:
            refuse("constant", "the tensor is of another context", "tensors of the builder's context")
        if tensor._array is None:
            refuse("constant", "the tensor is destroyed", "a tensor that is not")
        if not tensor.constant:
            refuse("constant", "the tensor is no constant", "what context.createConstantTensor makes")
        return self._operand(tensor.dataType, tensor.shape, array=tensor._array)

    # ---- element by element

    elu = gelu = hardSigmoid = hardSwish = leakyRelu = linear = relu = sigmoid = softplus = softsign = tanh = _UNARY
    abs = ceil = cos = erf = exp = floor = identity = log = neg = reciprocal = roundEven = sign = sin = sqrt = _UNARY
    tan = logicalNot = isNaN = isInfinite = _UNARY

    add = div = max = min = mul = pow = sub = equal = notEqual = greater = greaterOrEqual = lesser = _BINARY
    lesserOrEqual = logicalAnd = logicalOr = logicalXor = _BINARY

    reduceL1 = reduceL2 = reduceLogSum = reduceLogSumExp = reduceMax = reduceMean = reduceMin = _REDUCTION
    reduceProduct = reduceSum = reduceSumSquare = _REDUCTION

    def prelu(self, input: MLOperand, slope: MLOperand, options: _Options = None, **given: Any) -> MLOperand:  # noqa: A002
        """The input where it is 0 or more, times the slope elsewhere; both broadcast. Raises MLTypeError."""
        return self._element_wise("prelu", (input, slope), options, given)

    def clamp(self, input: MLOperand, options: _Options = None, **given: Any) -> MLOperand:  # noqa: A002
        """``min(max(input, minValue), maxValue)``; a bound that is absent is none. NaN stays NaN.

        Bounds are cast to the type of the input. Raises MLTypeError, also if minValue is above maxValue.
        """
        subject, chosen = self._begin("clamp", (input,), options, given)
        kind = input.dataType
        bounds = {
            name: None if chosen[name] is None else cast_number(subject, name, chosen[name], kind)
            for name in ("minValue", "maxValue")
        }
        low, high = bounds["minValue"], bounds["maxValue"]
        if low is not None and high is not None and not low <= high:
            refuse(subject, f"minValue is {low} and maxValue {high}", "a minValue up to maxValue")
        if any(bound != bound for bound in bounds.values()):
            refuse(subject, "a bound is NaN", "numbers")
        return self._add("clamp", subject, (input,), kind, input.shape, **bounds)

    def cast(self, input: MLOperand, dataType: str, options: _Options = None, **given: Any) -> MLOperand:  # noqa: A002
        """The elements in another type: rounded to the nearest, cut off for integers, which saturate.

        Integers become integers by their lower bits; NaN becomes 0. Raises MLTypeError.
        """
        subject, _ = self._begin("cast", (input,), options, given)
        return self._add("cast", subject, (input,), data_type(subject, dataType), input.shape)

    def where(
        self,
        condition: MLOperand,
        trueValue: MLOperand,
        falseValue: MLOperand,
        options: _Options = None,
        **given: Any,
    ) -> MLOperand:
        """An element of trueValue where the condition is not 0, of falseValue elsewhere. Raises MLTypeError."""
        return self._element_wise("where", (condition, trueValue, falseValue), options, given)

    # ---- along axes

    def softmax(self, input: MLOperand, axis: int, options: _Options = None, **given: Any) -> MLOperand:  # noqa: A002
        """``exp(x) / sum(exp(x))`` along an axis. Raises MLTypeError."""
        subject, _ = self._begin("softmax", (input,), options, given)
        along = shapes.axis(subject, axis, len(input.shape))
        return self._add("softmax", subject, (input,), input.dataType, input.shape, axes=(along,))

    def argMax(self, input: MLOperand, axis: int, options: _Options = None, **given: Any) -> MLOperand:  # noqa: A002
        """Where the largest element lies along an axis: the first of equal ones; a NaN is the largest."""
        return self._place("argMax", input, axis, options, given)

    def argMin(self, input: MLOperand, axis: int, options: _Options = None, **given: Any) -> MLOperand:  # noqa: A002
        """Where the smallest element lies along an axis: the first of equal ones; a NaN is the smallest."""
        return self._place("argMin", input, axis, options, given)

    def cumulativeSum(self, input: MLOperand, axis: int, options: _Options = None, **given: Any) -> MLOperand:  # noqa: A002
        """The sums of all elements up to each along an axis: in float64 and rounded once; integers wrap around.

        Options: ``exclusive`` leaves the element itself out, ``reversed`` begins at the end. Raises MLTypeError.
        """
        subject, chosen = self._begin("cumulativeSum", (input,), options, given)
        along = shapes.axis(subject, axis, len(input.shape))
        rest = {"exclusive": chosen["exclusive"], "reverse": chosen["reversed"]}
        return self._add("cumulativeSum", subject, (input,), input.dataType, input.shape, axis=along, **rest)

    # ---- where elements lie

    def concat(self, inputs: Sequence[MLOperand], axis: int, options: _Options = None, **given: Any) -> MLOperand:
        """Tensors one after the other along an axis; their other sizes are equal. Raises MLTypeError."""
        chosen = self._options("concat", options, given)
        subject = subject_of("concat", chosen)
        if not isinstance(inputs, list | tuple) or not 1 <= len(inputs) <= MOST_TENSORS:
            refuse(subject, f"inputs is {described(inputs)}", f"a list of 1 to {MOST_TENSORS} operands")
        for i, operand in enumerate(inputs):
            check_operand(subject, f"inputs[{i}]", self, operand)
        first = inputs[0]
        along = shapes.axis(subject, axis, len(first.shape))
        for i, operand in enumerate(inputs):
            if operand.dataType != first.dataType:
                refuse(subject, f"inputs[{i}] is {operand.dataType} and inputs[0] {first.dataType}", "one type for all")
            if _without(operand.shape, along) != _without(first.shape, along) or len(operand.shape) != len(first.shape):
                what = f"inputs[{i}] has the shape {list(operand.shape)} and inputs[0] {list(first.shape)}"
                refuse(subject, what, f"equal sizes but for axis {along}")
        total = sum(operand.shape[along] for operand in inputs)
        shape = shapes.checked_shape(subject, (*first.shape[:along], total, *first.shape[along + 1 :]))
        return self._add("concat", subject, tuple(inputs), first.dataType, shape, axis=along)

    def expand(self, input: MLOperand, newShape: Sequence[int], options: _Options = None, **given: Any) -> MLOperand:  # noqa: A002
        """The input, broadcast to a shape. Raises MLTypeError."""
        subject, _ = self._begin("expand", (input,), options, given)
        shape = shapes.checked_shape(subject, newShape, "newShape")
        old = (1,) * (len(shape) - len(input.shape)) + input.shape
        if len(old) != len(shape) or any(have not in (1, want) for have, want in zip(old, shape, strict=True)):
            what = f"the input has the shape {list(input.shape)} and newShape is {list(shape)}"
            refuse(subject, what, "shapes to which the input broadcasts")
        return self._add("expand", subject, (input,), input.dataType, shape, shape=shape)

    def gather(self, input: MLOperand, indices: MLOperand, options: _Options = None, **given: Any) -> MLOperand:  # noqa: A002
        """The slices of the input at indices of an axis; indices below 0 count from the end.

        Raises MLTypeError; ShapeError when the graph runs with an index that the axis does not have.
        """
        subject, chosen = self._begin("gather", (input, indices), options, given)
        along = shapes.axis(subject, chosen["axis"], len(input.shape))
        shape = shapes.checked_shape(subject, (*input.shape[:along], *indices.shape, *input.shape[along + 1 :]))
        return self._add("gather", subject, (input, indices), input.dataType, shape, axis=along)

    def gatherElements(
        self,
        input: MLOperand,  # noqa: A002
        indices: MLOperand,
        options: _Options = None,
        **given: Any,
    ) -> MLOperand:
        """For every index the element at that place of an axis. Raises as `gather`."""
        subject, chosen = self._begin("gatherElements", (input, indices), options, given)
        along = self._along_both(subject, input, indices, chosen["axis"])
        return self._add("gatherElements", subject, (input, indices), input.dataType, indices.shape, axis=along)

    def gatherND(self, input: MLOperand, indices: MLOperand, options: _Options = None, **given: Any) -> MLOperand:  # noqa: A002
        """For every row of indices the slice of the input at that place. Raises as `gather`."""
        subject, _ = self._begin("gatherND", (input, indices), options, given)
        shape = shapes.checked_shape(subject, self._gathered(subject, input, indices))
        return self._add("gatherND", subject, (input, indices), input.dataType, shape)

    def scatterElements(
        self,
        input: MLOperand,  # noqa: A002
        indices: MLOperand,
        updates: MLOperand,
        options: _Options = None,
        **given: Any,
    ) -> MLOperand:
        """The input with updates written at indices of an axis. Raises as `gather`."""
        operands = (input, indices, updates)
        subject, chosen = self._begin("scatterElements", operands, options, given)
        along = self._along_both(subject, input, indices, chosen["axis"])
        if updates.shape != indices.shape:
            what = f"updates has the shape {list(updates.shape)} and indices {list(indices.shape)}"
            refuse(subject, what, "equal shapes")
        return self._add("scatterElements", subject, operands, input.dataType, input.shape, axis=along)

    def scatterND(
        self,
        input: MLOperand,  # noqa: A002
        indices: MLOperand,
        updates: MLOperand,
        options: _Options = None,
        **given: Any,
    ) -> MLOperand:
        """The input with slices of updates written at rows of indices. Raises as `gather`."""
        operands = (input, indices, updates)
        subject, _ = self._begin("scatterND", operands, options, given)
        wanted = self._gathered(subject, input, indices)
        if updates.shape != wanted:
            refuse(subject, f"updates has the shape {list(updates.shape)}", f"{list(wanted)}")
        return self._add("scatterND", subject, operands, input.dataType, input.shape)

    def pad(
        self,
        input: MLOperand,  # noqa: A002
        beginningPadding: Sequence[int],
        endingPadding: Sequence[int],
        options: _Options = None,
        **given: Any,
    ) -> MLOperand:
        """The input with elements before and after each axis: ``mode`` is "constant" (``value``), "edge" or "reflection".

        Raises MLTypeError.
        """
        subject, chosen = self._begin("pad", (input,), options, given)
        before = shapes.integers(subject, "beginningPadding", beginningPadding)
        after = shapes.integers(subject, "endingPadding", endingPadding)
        for what, values in (("beginningPadding", before), ("endingPadding", after)):
            if len(values) != len(input.shape):
                refuse(subject, f"{what} has {len(values)} numbers", f"{len(input.shape)}, one for each axis")
        modes = {"constant": "constant", "edge": "edge", "reflection": "reflect"}
        if chosen["mode"] not in modes:
            refuse(subject, f"mode is {described(chosen['mode'])}", ", ".join(map(repr, modes)))
        if chosen["mode"] == "reflection":
            for i, size in enumerate(input.shape):
                if max(before[i], after[i]) >= size:
                    what = f"axis {i} of size {size} is padded by {max(before[i], after[i])}"
                    refuse(subject, what, f"up to {size - 1} with the mode 'reflection'")
        sizes = [b + size + a for b, size, a in zip(before, input.shape, after, strict=True)]
        shape = shapes.checked_shape(subject, sizes, "the shape of the result")
        value = cast_number(subject, "value", chosen["value"], input.dataType)
        more = {"pads": (*before, *after), "mode": modes[chosen["mode"]], "value": value}
        return self._add("pad", subject, (input,), input.dataType, shape, **more)

    def reshape(self, input: MLOperand, newShape: Sequence[int], options: _Options = None, **given: Any) -> MLOperand:  # noqa: A002
        """The elements in their order, in another shape. Raises MLTypeError."""
        subject, _ = self._begin("reshape", (input,), options, given)
        shape = shapes.checked_shape(subject, newShape, "newShape")
        have, want = (int(np.prod(s, dtype=np.int64)) for s in (input.shape, shape))
        if have != want:
            what = f"newShape is {list(shape)}, of {want} elements"
            refuse(subject, what, f"shapes of {have} elements, as the input of shape {list(input.shape)} has")
        return self._add("reshape", subject, (input,), input.dataType, shape, shape=shape)

    def reverse(self, input: MLOperand, options: _Options = None, **given: Any) -> MLOperand:  # noqa: A002
        """The elements in reverse order along ``axes``, by default along all. Raises MLTypeError."""
        subject, chosen = self._begin("reverse", (input,), options, given)
        rank = len(input.shape)
        over = range(rank) if chosen["axes"] is None else shapes.axes(subject, chosen["axes"], rank)
        return self._add("reverse", subject, (input,), input.dataType, input.shape, axes=tuple(over))

    def slice(
        self,
        input: MLOperand,  # noqa: A002
        starts: Sequence[int],
        sizes: Sequence[int],
        options: _Options = None,
        **given: Any,
    ) -> MLOperand:
        """A part of the input: from ``starts`` on ``sizes`` elements, of which every ``strides``-th. Raises MLTypeError."""
        subject, chosen = self._begin("slice", (input,), options, given)
        rank = len(input.shape)
        first, count = shapes.integers(subject, "starts", starts), shapes.integers(subject, "sizes", sizes, 1)
        by = (1,) * rank if chosen["strides"] is None else shapes.integers(subject, "strides", chosen["strides"], 1)
        for what, values in (("starts", first), ("sizes", count), ("strides", by)):
            if len(values) != rank:
                refuse(subject, f"{what} has {len(values)} numbers", f"{rank}, one for each axis")
        for i, size in enumerate(input.shape):
            if first[i] + count[i] > size:
                refuse(
                    subject, f"axis {i} of size {size} is cut from {first[i]} to {first[i] + count[i]}", f"up to {size}"
                )
        parts = tuple(slice(a, a + n, s) for a, n, s in zip(first, count, by, strict=True))
        shape = tuple(-(-n // s) for n, s in zip(count, by, strict=True))
        return self._add("slice", subject, (input,), input.dataType, shape, parts=parts)

    def split(
        self,
        input: MLOperand,  # noqa: A002
        splits: int | Sequence[int],
        options: _Options = None,
        **given: Any,
    ) -> list[MLOperand]:
        """The input cut along an axis: into so many equal parts, or into parts of these sizes. Raises MLTypeError."""
        subject, chosen = self._begin("split", (input,), options, given)
        along = shapes.axis(subject, chosen["axis"], len(input.shape))
        size = input.shape[along]
        if isinstance(splits, int | np.integer):
            count = shapes.integer(subject, "splits", splits, 1, MOST_TENSORS)
            if size % count:
                refuse(subject, f"an axis of size {size} is cut into {count} equal parts", "numbers that divide it")
            sizes: tuple[int, ...] = (size // count,) * count
        else:
            sizes = shapes.integers(subject, "splits", splits, 1)
            if not 1 <= len(sizes) <= MOST_TENSORS or sum(sizes) != size:
                refuse(subject, f"splits is {list(sizes)}", f"up to {MOST_TENSORS} sizes whose sum is {size}")
        made, start = [], 0
        operation = BuiltOperation("split", subject, (input,), {})
        for i, n in enumerate(sizes):
            parts = (slice(None),) * along + (slice(start, start + n),)
            part = BuiltOperation("slice", operation.subject, (input,), {"parts": parts})
            shape = (*input.shape[:along], n, *input.shape[along + 1 :])
            made.append(self._operand(input.dataType, shape, operation=part, output=i))
            start += n
        return made

    def tile(self, input: MLOperand, repetitions: Sequence[int], options: _Options = None, **given: Any) -> MLOperand:  # noqa: A002
        """The input, repeated along each axis. Raises MLTypeError."""
        subject, _ = self._begin("tile", (input,), options, given)
        times = shapes.integers(subject, "repetitions", repetitions, 1)
        if len(times) != len(input.shape):
            refuse(subject, f"repetitions has {len(times)} numbers", f"{len(input.shape)}, one for each axis")
        sizes = [size * n for size, n in zip(input.shape, times, strict=True)]
        shape = shapes.checked_shape(subject, sizes, "the shape of the result")
        return self._add("tile", subject, (input,), input.dataType, shape, repetitions=times)

    def transpose(self, input: MLOperand, options: _Options = None, **given: Any) -> MLOperand:  # noqa: A002
        """The input with its axes in the order of ``permutation``, by default reversed. Raises MLTypeError."""
        subject, chosen = self._begin("transpose", (input,), options, given)
        rank = len(input.shape)
        order = tuple(reversed(range(rank)))
        if chosen["permutation"] is not None:
            order = shapes.axes(subject, chosen["permutation"], rank, "permutation")
            if len(order) != rank:
                refuse(subject, f"permutation is {list(order)}", f"all axes of an input of {rank}, each once")
        shape = tuple(input.shape[i] for i in order)
        return self._add("transpose", subject, (input,), input.dataType, shape, order=order)

    def triangular(self, input: MLOperand, options: _Options = None, **given: Any) -> MLOperand:  # noqa: A002
        """The ``upper`` or lower triangle of matrices, 0 elsewhere, from the ``diagonal``-th on. Raises MLTypeError."""
        subject, chosen = self._begin("triangular", (input,), options, given)
        diagonal = shapes.integer(subject, "diagonal", chosen["diagonal"], -(2**31), 2**31 - 1)
        more = {"diagonal": diagonal, "upper": bool(chosen["upper"])}
        return self._add("triangular", subject, (input,), input.dataType, input.shape, **more)

    # ---- quantised numbers, normalisation

    def dequantizeLinear(
        self,
        input: MLOperand,  # noqa: A002
        scale: MLOperand,
        zeroPoint: MLOperand,
        options: _Options = None,
        **given: Any,
    ) -> MLOperand:
        """``(input - zeroPoint) * scale``, rounded once; a scale is for a block of elements. Raises MLTypeError."""
        return self._quantisation("dequantizeLinear", (input, scale, zeroPoint), 1, options, given)

    def quantizeLinear(
        self,
        input: MLOperand,  # noqa: A002
        scale: MLOperand,
        zeroPoint: MLOperand,
        options: _Options = None,
        **given: Any,
    ) -> MLOperand:
        """``roundEven(input / scale) + zeroPoint``, saturating. Raises MLTypeError.

        The quotient is a number of the input's type; a scale is for a block of elements.
        """
        return self._quantisation("quantizeLinear", (input, scale, zeroPoint), 2, options, given)

    def batchNormalization(
        self,
        input: MLOperand,  # noqa: A002
        mean: MLOperand,
        variance: MLOperand,
        options: _Options = None,
        **given: Any,
    ) -> MLOperand:
        """``(input - mean) / sqrt(variance + epsilon) * scale + bias``, rounded once. Raises MLTypeError.

        All but the input have one element for each index of ``axis``.
        """
        operands = (input, mean, variance)
        subject, chosen = self._begin("batchNormalization", operands, options, given)
        along = shapes.axis(subject, chosen["axis"], len(input.shape))
        wanted = (input.shape[along],)
        for what, operand in (("mean", mean), ("variance", variance)):
            if operand.shape != wanted:
                refuse(subject, f"{what} has the shape {list(operand.shape)}", f"{list(wanted)}")
        more = self._scale_and_bias(subject, input, chosen, wanted)
        return self._normalised("batchNormalization", subject, input, operands, more, chosen, axis=along)

    def instanceNormalization(self, input: MLOperand, options: _Options = None, **given: Any) -> MLOperand:  # noqa: A002
        """Every channel of every image, with mean 0 and variance 1, times ``scale`` plus ``bias``. Raises MLTypeError."""
        subject, chosen = self._begin("instanceNormalization", (input,), options, given)
        if chosen["layout"] not in ("nchw", "nhwc"):
            refuse(subject, f"layout is {described(chosen['layout'])}", "'nchw', 'nhwc'")
        channel = 1 if chosen["layout"] == "nchw" else 3
        more = self._scale_and_bias(subject, input, chosen, (input.shape[channel],))
        over = tuple(i for i in (1, 2, 3) if i != channel)
        return self._normalised(
            "instanceNormalization", subject, input, (input,), more, chosen, axes=over, described_by=(channel,)
        )

    def layerNormalization(self, input: MLOperand, options: _Options = None, **given: Any) -> MLOperand:  # noqa: A002
        """Elements along ``axes`` with mean 0 and variance 1, times ``scale`` plus ``bias``. Raises MLTypeError.

        ``axes`` are by default all but the first; scale and bias have their sizes, in their order.
        """
        subject, chosen = self._begin("layerNormalization", (input,), options, given)
        rank = len(input.shape)
        over = tuple(range(1, rank)) if chosen["axes"] is None else shapes.axes(subject, chosen["axes"], rank)
        more = self._scale_and_bias(subject, input, chosen, tuple(input.shape[i] for i in over))
        return self._normalised(
            "layerNormalization", subject, input, (input,), more, chosen, axes=over, described_by=over
        )

    # ---- the end

    def build(self, outputs: Mapping[str, MLOperand]) -> MLGraph:
        """Compile what the outputs need. A builder builds once.

        Raises MLTypeError for outputs that are inputs, constants or of another builder.
        """
        self._check_state("build")
        if not isinstance(outputs, Mapping) or not outputs:
            refuse(
                "build",
                f"outputs is {described(outputs) if outputs else repr(outputs)}",
                "a dictionary of names and operands, not empty",
            )
        for name, operand in outputs.items():
            if not isinstance(name, str) or not name:
                refuse("build", f"an output is named {described(name)}", "text that is not empty")
            check_operand("build", f"the output {name!r}", self, operand)
            if operand._operation is None:
                what = f"the output {name!r} is {'a constant' if operand._name is None else 'an input'}"
                refuse("build", what, "what an operator makes", "Use builder.identity(x)")
        graph = MLGraph(self._context, dict(outputs))
        self._has_built = True
        return graph

    # ---- what the methods have in common

    def _check_state(self, subject: str) -> None:
        if self._has_built:
            what, way_out = "the builder has built its graph", "Make another MLGraphBuilder"
            raise InvalidStateError(message(subject, what, "", way_out))
        self._context._check_alive(subject)

    def _options(self, name: str, options: Any, given: Mapping[str, Any]) -> dict[str, Any]:
        self._check_state(name)
        return options_of(name, options, given)

    def _begin(
        self, name: str, operands: tuple[Any, ...], options: Any, given: Mapping[str, Any]
    ) -> tuple[str, dict[str, Any]]:
        """Check state, options and operands: how messages name the operator, and its options."""
        chosen = self._options(name, options, given)
        subject = subject_of(name, chosen)
        check_operands(name, subject, self, operands)
        return subject, chosen

    def _operand(self, kind: str, shape: Shape, **more: Any) -> MLOperand:
        self._count += 1
        return MLOperand(self, self._count, kind, shape, **more)

    def _add(
        self, name: str, subject: str, inputs: tuple[MLOperand, ...], kind: str, result: Shape, **attributes: Any
    ) -> MLOperand:
        return self._operand(kind, result, operation=BuiltOperation(name, subject, inputs, attributes))

    def _element_wise(
        self, name: str, operands: tuple[MLOperand, ...], options: Any, given: Mapping[str, Any]
    ) -> MLOperand:
        subject, chosen = self._begin(name, operands, options, given)
        row = row_of("webnn", name)
        assert row is not None
        shape = shapes.broadcast(subject, (operand.shape for operand in operands))
        kind = "uint8" if row.gives_truth else operands[-1].dataType
        parameters = parameters_of(row, subject, chosen, kind)
        return self._add(name, subject, operands, kind, shape, parameters=parameters)

    def _reduce(self, name: str, operand: MLOperand, options: Any, given: Mapping[str, Any]) -> MLOperand:
        subject, chosen = self._begin(name, (operand,), options, given)
        rank = len(operand.shape)
        over = tuple(range(rank)) if chosen["axes"] is None else shapes.axes(subject, chosen["axes"], rank)
        shape = shapes.reduced(operand.shape, over, chosen["keepDimensions"])
        return self._add(name, subject, (operand,), operand.dataType, shape, axes=over)

    def _place(self, name: str, operand: MLOperand, axis: int, options: Any, given: Mapping[str, Any]) -> MLOperand:
        subject, chosen = self._begin(name, (operand,), options, given)
        along = shapes.axis(subject, axis, len(operand.shape))
        kind = chosen["outputDataType"]
        if kind not in ("int32", "int64"):
            refuse(subject, f"outputDataType is {described(kind)}", "'int32', 'int64'")
        shape = shapes.reduced(operand.shape, (along,), chosen["keepDimensions"])
        return self._add(name, subject, (operand,), kind, shape, axes=(along,))

    def _along_both(self, subject: str, operand: MLOperand, indices: MLOperand, axis: Any) -> int:
        along = shapes.axis(subject, axis, len(operand.shape))
        same_rank = len(indices.shape) == len(operand.shape)
        if not same_rank or _without(indices.shape, along) != _without(operand.shape, along):
            what = f"indices has the shape {list(indices.shape)} and the input {list(operand.shape)}"
            refuse(subject, what, f"equal sizes but for axis {along}")
        return along

    def _gathered(self, subject: str, operand: MLOperand, indices: MLOperand) -> Shape:
        count = indices.shape[-1]
        if count > len(operand.shape):
            refuse(subject, f"the last axis of indices has the size {count}", f"up to {len(operand.shape)}")
        return (*indices.shape[:-1], *operand.shape[count:])

    def _quantisation(
        self, name: str, operands: tuple[MLOperand, ...], typed: int, options: Any, given: Mapping[str, Any]
    ) -> MLOperand:
        """The result has the type of the operand at the place ``typed``."""
        subject, _ = self._begin(name, operands, options, given)
        x, scale, zero = operands
        if scale.shape != zero.shape:
            what = f"scale has the shape {list(scale.shape)} and zeroPoint {list(zero.shape)}"
            refuse(subject, what, "equal shapes")
        fits = len(scale.shape) == len(x.shape) and all(n % m == 0 for n, m in zip(x.shape, scale.shape, strict=True))
        if not fits:
            what = f"scale has the shape {list(scale.shape)} and the input {list(x.shape)}"
            refuse(subject, what, "as many axes, of sizes that divide the input's")
        return self._add(name, subject, operands, operands[typed].dataType, x.shape)

    def _scale_and_bias(
        self, subject: str, operand: MLOperand, chosen: Mapping[str, Any], wanted: Shape
    ) -> dict[str, MLOperand]:
        found: dict[str, MLOperand] = {}
        for what in ("scale", "bias"):
            other = chosen[what]
            if other is None:
                continue
            check_operand(subject, what, self, other)
            if other.dataType != operand.dataType:
                refuse(subject, f"{what} is {other.dataType} and input {operand.dataType}", "one type for both")
            if other.shape != wanted:
                refuse(subject, f"{what} has the shape {list(other.shape)}", f"{list(wanted)}")
            found[what] = other
        return found

    def _normalised(
        self,
        name: str,
        subject: str,
        operand: MLOperand,
        operands: tuple[MLOperand, ...],
        more: Mapping[str, MLOperand],
        chosen: Mapping[str, Any],
        **attributes: Any,
    ) -> MLOperand:
        epsilon = float(cast_number(subject, "epsilon", chosen["epsilon"], operand.dataType))
        attributes |= {"epsilon": epsilon, "more": tuple(more)}
        inputs = (*operands, *more.values())
        return self._add(name, subject, inputs, operand.dataType, operand.shape, **attributes)


class _NotSupportedAttribute(NotSupportedError, AttributeError):
    """An operator out of scope, asked for as a method: ``hasattr`` is then false."""


def _without(shape: Shape, axis: int) -> Shape:
    return shape[:axis] + shape[axis + 1 :]
