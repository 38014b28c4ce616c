"""`optimize`: a model in which Ogive computes what it computes faster than ONNX Runtime."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, helper, numpy_helper

from ogive.common.contracts import checked
from ogive.errors import ArgumentError, OgiveError, message
from ogive.onnx.declarations import infer_shapes
from ogive.onnx.reading import read_whole_model
from ogive.onnxruntime.custom_operators import DOMAIN, build
from ogive.onnxruntime.node_groups import ModelWiring, NodeGroup, find_groups, without
from ogive.onnxruntime.session_races import GroupReport, OptimizationReport, Race, Sessions, imported

_SUBJECT = "ogive.onnxruntime.optimize"

#: Before this version of the format, initialisers are inputs as well.
_INITIALISERS_ALONE = 4

#: Nodes between which ONNX Runtime keeps tensors in a layout of its own; what is computed there leaves it.
CONVOLUTIONS = frozenset(
    {
        "Conv",
        "FusedConv",
        "ConvTranspose",
        "MaxPool",
        "AveragePool",
        "GlobalAveragePool",
        "GlobalMaxPool",
        "QLinearConv",
    }
)

#: Nodes behind which ONNX Runtime computes simple ones in the same pass.
PRODUCTS = frozenset({"Conv", "ConvTranspose", "Gemm", "MatMul"})

QUANTISING = frozenset({"QuantizeLinear", "DynamicQuantizeLinear"})
DEQUANTISING = frozenset({"DequantizeLinear"})

#: Without times: so many nodes save more than the layout costs, and more than a fused epilogue.
WORTH_BESIDE_CONVOLUTIONS, WORTH_BEHIND_PRODUCTS = 4, 3


@dataclass(frozen=True)
class Optimized:
    """The result of `optimize`."""

    model: ModelProto
    """The model with Ogive's operators; the model that was given where they are not faster."""
    library: Path | None
    """The library that the model needs; None where it needs none."""
    report: OptimizationReport
    """The gains, and their places; ``print`` shows it."""
    threads: int | None = None
    """How many threads of ONNX Runtime it was timed with; None is its default."""

    def session(self, options: Any = None, **more: Any) -> Any:
        """A session of ONNX Runtime with the library; ``options`` are its SessionOptions, the rest goes to the session."""
        runtime = imported(_SUBJECT)
        if options is None:
            options = runtime.SessionOptions()
            if self.threads is not None:
                options.intra_op_num_threads = self.threads
        if self.library is not None:
            options.register_custom_ops_library(str(self.library))
        more.setdefault("providers", ["CPUExecutionProvider"])
        return runtime.InferenceSession(self.model.SerializeToString(), options, **more)


def optimize(
    model: ModelProto | str | os.PathLike[str] | bytes,
    feeds: Mapping[str, np.ndarray] | None = None,
    *,
    library: str | os.PathLike[str] | None = None,
    accuracy: str | None = None,
    processor: str | None = None,
    threads: int | None = None,
    round_between: bool = False,
    progress: Callable[[str], object] | None = None,
) -> Optimized:
    """Put operators of Ogive into a model for ONNX Runtime's CPU provider where they are worth it, and say what was gained.

    ONNX Runtime simplifies the model first. In its graph, neighbouring nodes that are one kernel of Ogive are a group:
    element-wise ones, and rows along the last axis with what is beside them. A group becomes one custom operator.
    Fusion groups that have, feed or read nodes that quantise or dequantise are left, unless the whole pattern is inside.

    ``feeds`` are inputs by name, as ``session.run`` takes them. With them every candidate is timed against ONNX Runtime,
    in sessions that take turns, and only what is faster is kept; at last the whole model is timed, and where it is not
    faster by more than the noise, ``model`` comes back as it is. Without feeds, rules choose: no single node for which ONNX
    Runtime has a kernel, and beside convolutions only groups of four nodes or more.

    ``library`` is where the library is written; without it, it lives as long as the result. A process that has loaded
    a library keeps it, so another one needs another path. ``accuracy`` is the contract, exact or fast; ``processor`` is what
    the library may count on, x86-64-v3 for example, by default this machine; ``threads`` are ONNX Runtime's, of the timed sessions and of ``session()``. float16 is computed
    as ONNX Runtime does, in float32 without rounding between nodes; with ``round_between`` every node rounds, and the model is not simplified first.
    Element types that ONNX Runtime has no kernels for (bfloat16, and float64 of many operators) work where all their nodes are replaced.

    With feeds it takes seconds to minutes: half a second for each kind of group, more in the whole model. ``progress``
    gets a line for each: ``progress=print``.

    Raises ArgumentError for feeds that are no inputs of the model, ParameterError for another contract,
    CompileError without a C compiler, MissingPackageError without onnxruntime.

    >>> made = ogive.onnxruntime.optimize("model.onnx", {"x": x})  # doctest: +SKIP
    >>> print(made.report)  # doctest: +SKIP
    >>> made.session().run(None, {"x": x})  # doctest: +SKIP
    """
    contract = checked(_SUBJECT, accuracy)
    given = read_whole_model(model)[0]
    _check_feeds(given, feeds)
    sessions = Sessions(threads)
    base = None if round_between else _simplified(given, sessions)
    wiring, groups = _searched(given, base, contract)
    plain = _plain_session(given, sessions)
    kinds = _kinds(wiring, groups)
    for kind in kinds:
        kind.judge(is_timed=feeds is not None, is_simplified=wiring.model is base, can_run=plain is not None)
    candidates = [kind for kind in kinds if kind.is_candidate]
    if not candidates:
        return Optimized(given, None, _report(kinds, [], None, "nothing to gain: the model is as it was"), threads)
    folder = tempfile.mkdtemp(prefix="ogive-")
    made = None
    try:
        built = build(Path(folder) / "ogive.so", _operators(candidates), processor)
        made = _chosen(given, wiring, kinds, sessions, built, feeds, plain, progress or _silent)
        if made.library is not None and library is not None:
            path = Path(library).resolve()
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(built, path)
            made = replace(made, library=path)
    finally:
        if made is not None and made.library == built:
            weakref.finalize(made, shutil.rmtree, folder, ignore_errors=True)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return made


def _chosen(
    given: ModelProto,
    wiring: ModelWiring,
    kinds: Sequence[_Kind],
    sessions: Sessions,
    built: Path,
    feeds: Mapping[str, np.ndarray] | None,
    plain: Any,
    progress: Callable[[str], object],
) -> Optimized:
    """The model with the candidates that are worth it; the model that was given where they are not, all together."""
    chosen = [kind for kind in kinds if kind.is_candidate]
    race = None
    if feeds is None or plain is None:
        what = "no feeds" if plain is not None else "ONNX Runtime has no kernels for the model"
        verdict = f"not timed: {what}"
    else:
        chosen = _Chooser(wiring, sessions, built, dict(feeds), progress).chosen(chosen)
        if chosen:
            progress("timing the whole model")
            another = sessions.session(without(wiring.model, _groups_of(chosen)), built)
            race = sessions.race(plain, another, feeds)
        if race is None or not race.is_won:
            for kind in chosen:
                kind.left("the whole model is not faster")
            report = _report(kinds, [], race, "not faster: the model is as it was")
            return Optimized(given, None, report, sessions.threads)
        verdict = "faster"
    for kind in chosen:
        kind.is_kept = True
    report = _report(kinds, chosen, race, verdict)
    return Optimized(without(wiring.model, _groups_of(chosen)), built, report, sessions.threads)


def _searched(given: ModelProto, simplified: ModelProto | None, accuracy: str) -> tuple[ModelWiring, list[NodeGroup]]:
    """The groups of the simplified model; of the one that was given where ONNX Runtime has written what nothing knows."""
    with suppress(OgiveError):
        if simplified is not None:
            wiring = ModelWiring(simplified)
            return wiring, find_groups(wiring, accuracy)
    wiring = ModelWiring(_without_constant_nodes(given))
    return wiring, find_groups(wiring, accuracy)


def _check_feeds(model: ModelProto, feeds: Mapping[str, np.ndarray] | None) -> None:
    known = [info.name for info in model.graph.input]
    for name in feeds or ():
        if name not in known:
            raise ArgumentError(message(_SUBJECT, f"feeds has {name!r}", f"the model's inputs: {', '.join(known)}"))


def _report(kinds: Sequence[_Kind], chosen: Sequence[_Kind], race: Race | None, verdict: str) -> OptimizationReport:
    groups = _groups_of(chosen)
    nodes = sum(len(group.places) for group in groups)
    found: dict[Any, GroupReport] = {}
    for kind in kinds:
        one = kind.report()
        key = (one.operators, one.reason) if one.race is None else id(kind)
        same = found.get(key)
        found[key] = one if same is None else replace(same, count=same.count + one.count)
    return OptimizationReport(tuple(found.values()), nodes, len(groups), race, verdict)


def _groups_of(kinds: Iterable[_Kind]) -> list[NodeGroup]:
    return [group for kind in kinds for group in kind.groups]


def _operators(kinds: Iterable[_Kind]) -> list[Any]:
    return list({group.custom.name: group.custom for group in _groups_of(kinds)}.values())


# ---- what ONNX Runtime makes of a model


def _simplified(model: ModelProto, sessions: Sessions) -> ModelProto | None:
    """The graph that ONNX Runtime runs, before it chooses layouts: its own fusions are done, constants are computed."""
    runtime = imported(_SUBJECT)
    with suppress(Exception):  # it fails on much that is valid; ONNX Runtime keeps what is known of values
        model = infer_shapes(model, data_prop=True)
    options = sessions.options()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    with tempfile.TemporaryDirectory(prefix="ogive-") as folder:
        options.optimized_model_filepath = str(Path(folder) / "simplified.onnx")
        try:
            sessions.session(model, options=options)
            return onnx.load(options.optimized_model_filepath)
        except Exception:  # it raises errors of many kinds, where it has no kernels too
            return None


def _plain_session(model: ModelProto, sessions: Sessions) -> Any:
    """A session of the model as it is; None where ONNX Runtime has no kernels for it."""
    try:
        return sessions.session(model)
    except Exception:
        return None


def _without_constant_nodes(model: ModelProto) -> ModelProto:
    """The model with numbers that nodes have made as initialisers: groups may hold those."""
    result = ModelProto()
    result.CopyFrom(model)
    if model.ir_version < _INITIALISERS_ALONE:
        return result
    del result.graph.node[:]
    for node in model.graph.node:
        found = [_value(attribute) for attribute in node.attribute] if node.op_type == "Constant" else []
        if len(found) == 1 and found[0] is not None:
            found[0].name = node.output[0]
            result.graph.initializer.append(found[0])
        else:
            result.graph.node.append(node)
    return result


def _value(attribute: onnx.AttributeProto) -> onnx.TensorProto | None:
    """The array that a node Constant makes of an attribute; None of texts and what is sparse."""
    if attribute.name == "value":
        tensor = onnx.TensorProto()
        tensor.CopyFrom(attribute.t)
        return tensor
    kinds = {"float": np.float32, "floats": np.float32, "int": np.int64, "ints": np.int64}
    kind = kinds.get(attribute.name.removeprefix("value_"))
    return None if kind is None else numpy_helper.from_array(np.asarray(helper.get_attribute_value(attribute), kind))


# ---- which groups are worth it


#: Above this noise a ratio says nothing.
TOO_NOISY = 0.1


def _silent(text: str) -> None:
    """No progress is shown."""


class _Kind:
    """Fusion groups with the same operators and neighbours, which are chosen together."""

    def __init__(self, wiring: ModelWiring, groups: list[NodeGroup]) -> None:
        self.groups = groups
        first = groups[0]
        self.before, self.behind = wiring.before(first.places), wiring.behind(first.places)
        self.operators = set(first.operators)
        self.is_beside_convolutions = bool(CONVOLUTIONS & {*self.before, *self.behind})
        self.is_kept, self.is_candidate = False, True
        self.reason = ""
        self.race: Race | None = None

    def left(self, reason: str) -> None:
        self.is_candidate, self.reason = False, reason

    def judge(self, *, is_timed: bool, is_simplified: bool, can_run: bool) -> None:
        """Leave what is not worth it by what is known without times."""
        weight = self.groups[0].weight
        self.reason = "by rule"
        if not can_run:
            return
        if not self._has_whole_pattern():
            self.left("it is beside nodes that quantise or dequantise")
        elif weight == 1 and (not is_timed or self.operators <= SIMPLE):
            self.left("ONNX Runtime has a kernel for the one node")
        elif is_timed:
            return
        elif self.is_beside_convolutions and weight < WORTH_BESIDE_CONVOLUTIONS:
            self.left("it is beside a convolution, whose layout it would end")
        elif not is_simplified and PRODUCTS & self.before.keys() and weight < WORTH_BEHIND_PRODUCTS:
            self.left("ONNX Runtime may compute it together with the product before it")

    def _has_whole_pattern(self) -> bool:
        """Whether no number goes between the group and a node that quantises or dequantises it."""
        if DEQUANTISING & self.before.keys() or QUANTISING & self.behind.keys():
            return False
        quantised = self.operators & (QUANTISING | DEQUANTISING)
        return not quantised or (quantised >= DEQUANTISING and bool(quantised & QUANTISING))

    def measured(self, race: Race) -> bool:
        """Remember how long the groups took; whether they are worth it."""
        self.race = race
        if race.is_won:
            self.reason = "faster"
        elif race.noise > TOO_NOISY:
            self.left("too noisy to tell: run it on an idle machine")
        else:
            self.left("not faster")
        return race.is_won

    def report(self) -> GroupReport:
        first = self.groups[0]
        is_of_model = self.is_beside_convolutions
        return GroupReport(first.operators, len(self.groups), self.is_kept, self.reason, self.race, is_of_model)


#: Single nodes that take as long as their memory: nothing computes them faster.
SIMPLE = frozenset(
    {"Abs", "Add", "And", "Cast", "Ceil", "Clip", "Div", "Equal", "Floor", "Greater", "GreaterOrEqual", "IsInf", "IsNaN"}
    | {"LeakyRelu", "Less", "LessOrEqual", "Max", "Min", "Mul", "Neg", "Not", "Or", "PRelu", "Reciprocal", "Relu"}
    | {"Round", "Sign", "Sqrt", "Sub", "Sum", "Where", "Xor", "DequantizeLinear", "QuantizeLinear"}
)  # fmt: skip


def _kinds(wiring: ModelWiring, groups: Iterable[NodeGroup]) -> list[_Kind]:
    """The groups in kinds. Next to convolutions all sizes are one kind; elsewhere the shapes of inputs are the same."""
    found: dict[Any, list[NodeGroup]] = {}
    for group in groups:
        neighbours = {*wiring.before(group.places), *wiring.behind(group.places)}
        shapes: Any = None
        if not CONVOLUTIONS & neighbours:
            shapes = tuple(info.SerializeToString(deterministic=True) for info in group.part.graph.input)
            neighbours &= PRODUCTS | QUANTISING | DEQUANTISING
        found.setdefault((group.operators, frozenset(neighbours), shapes), []).append(group)
    return [_Kind(wiring, same) for same in found.values()]


#: How long groups are timed: each kind by itself, and in the model.
SECONDS_BY_ITSELF, SECONDS_IN_THE_MODEL = 0.2, 0.8


class _Chooser:
    """Times the candidates, and keeps what is faster."""

    def __init__(
        self,
        wiring: ModelWiring,
        sessions: Sessions,
        library: Path,
        feeds: dict[str, np.ndarray],
        progress: Callable[[str], object],
    ) -> None:
        self.wiring, self.sessions, self.library, self.feeds = wiring, sessions, library, feeds
        self.progress = progress

    def chosen(self, candidates: Sequence[_Kind]) -> list[_Kind]:
        """First groups that nothing else depends on, each by itself; then those beside convolutions, in the model."""
        alone = [kind for kind in candidates if not kind.is_beside_convolutions]
        values = self._values(alone)
        kept = []
        for number, kind in enumerate(alone, 1):
            self.progress(f"timing group {number} of {len(candidates)}: {', '.join(kind.groups[0].operators)}")
            if kind.measured(self._by_itself(kind.groups[0], values)):
                kept.append(kind)
        session = self._session(kept)
        beside = [kind for kind in candidates if kind.is_beside_convolutions]
        for number, kind in enumerate(beside, len(alone) + 1):
            self.progress(
                f"timing group {number} of {len(candidates)} in the whole model: {', '.join(kind.groups[0].operators)}"
            )
            another = self._session([*kept, kind])
            if kind.measured(self.sessions.race(session, another, self.feeds, SECONDS_IN_THE_MODEL)):
                kept.append(kind)
                session = another
        return kept

    def _session(self, kinds: Sequence[_Kind]) -> Any:
        return self.sessions.session(without(self.wiring.model, _groups_of(kinds)), self.library)

    def _values(self, kinds: Sequence[_Kind]) -> dict[str, np.ndarray]:
        """The values that the first group of each kind reads."""
        names = dict.fromkeys(name for kind in kinds for name in kind.groups[0].node.input)
        given = {name: numpy_helper.to_array(t) for name, t in self.wiring.initialisers.items() if name in names}
        given |= {name: array for name, array in self.feeds.items() if name in names}
        wanted = [name for name in names if name not in given]
        if not wanted:
            return given
        model = ModelProto()
        model.CopyFrom(self.wiring.model)
        declared = {info.name for info in model.graph.output}
        model.graph.output.extend(self.wiring.known[name] for name in wanted if name not in declared)
        found = self.sessions.session(model).run(wanted, self.feeds)
        return given | dict(zip(wanted, found, strict=True))

    def _by_itself(self, group: NodeGroup, values: Mapping[str, np.ndarray]) -> Race:
        """A group's nodes in ONNX Runtime, and its custom operator."""
        part = group.part
        reads, writes = ([info.name for info in side] for side in (part.graph.input, part.graph.output))
        node = NodeProto()
        node.CopyFrom(group.node)
        node.input[:], node.output[:] = reads, writes
        ours = ModelProto()
        ours.CopyFrom(part)
        del ours.graph.node[:]
        ours.graph.node.append(node)
        ours.opset_import.append(helper.make_opsetid(DOMAIN, 1))
        feeds = {short: values[name] for short, name in zip(reads, group.node.input, strict=True)}
        session = self.sessions.session
        return self.sessions.race(session(part), session(ours, self.library), feeds, SECONDS_BY_ITSELF)
