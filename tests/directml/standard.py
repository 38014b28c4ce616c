"""The standard as the tests see it: read from the data files anew, not through the code under test."""

import itertools
import json
import re
from pathlib import Path

import numpy as np

import ogive.directml as dml

FOLDER = Path(dml.__file__).parent / "data"
ACTIVATIONS = json.loads((FOLDER / "activations.json").read_text(encoding="utf-8"))
ELEMENTWISE = json.loads((FOLDER / "elementwise.json").read_text(encoding="utf-8"))
CONVERSION = json.loads((FOLDER / "conversion.json").read_text(encoding="utf-8"))

#: Every operator of the three files, by its full name.
OPERATORS = {
    name: row for table in (ACTIVATIONS, ELEMENTWISE, CONVERSION) for name, row in table.items() if name[0] != "_"
}
assert len(OPERATORS) >= 95

LEVELS = [row["feature_level"] for row in ACTIVATIONS["_feature_levels"]]
TYPES = [row["name"].removeprefix("DML_TENSOR_DATA_TYPE_") for row in ACTIVATIONS["_tensor_data_types"]][1:]
NUMPY = {name: np.dtype(name.lower()) for name in TYPES if not name.endswith("INT4")}

#: Values for members that have no default, and that every level takes.
NUMBERS = {"Min": -1.0, "Max": 2.5, "Exponent": 2.0, "Alpha": 0.75, "Beta": 0.25, "Gamma": 1.25}


def desc_class(name):
    return getattr(dml, OPERATORS[name]["struct"])


def data_type(name):
    return getattr(dml, f"DML_TENSOR_DATA_TYPE_{name}")


def tensor(kind, sizes, **members):
    return dml.DML_BUFFER_TENSOR_DESC(DataType=data_type(kind), Sizes=sizes, **members)


def tensors(name):
    return [field["name"] for field in OPERATORS[name]["fields"] if field["type"] == "DML_TENSOR_DESC"]


def output(name):
    return next(field["name"] for field in OPERATORS[name]["fields"] if field["kind"] == "output")


def inputs(name):
    return [field["name"] for field in OPERATORS[name]["fields"] if field["kind"] == "input"]


def row(name, level):
    """The support table that holds at a level, or None below the operator's introduction."""
    position = LEVELS.index(level)
    for table in OPERATORS[name]["support"]:  # highest first
        if LEVELS.index(table["feature_level"]) <= position:
            return table["tensors"]
    return None


def linked(name, level, what="DataType"):
    """Groups of tensors that must agree in something, from the sentences of the data."""
    groups = [{t} for t in tensors(name)]
    for sentence in OPERATORS[name]["constraints"]:
        sentence = re.sub(r"\(.*?\)", "", sentence)
        subject, found, rest = sentence.partition(": identical ")
        if found and what in rest:
            named = set(tensors(name)) if "all tensors" in subject else set(re.findall(r"\w+Tensor", subject))
            together = set().union(*(group for group in groups if group & named))
            groups = [group for group in groups if not group & named] + [together]
    if name.endswith("_POW") and "ExponentTensor" in tensors(name) and LEVELS.index(level) < LEVELS.index("3_0"):
        groups = [set(tensors(name))] if what == "DataType" else groups
    return groups


def with_type(name, level, chosen, kind):
    """Types of all tensors such that only `kind` for the tensor `chosen` can be the reason for a refusal."""
    table = row(name, level)
    types = {t: table[t]["types"][0] for t in tensors(name)}
    for group in linked(name, level):
        common = [k for k in table[min(group)]["types"] if all(k in table[t]["types"] for t in group)]
        for t in group:
            types[t] = kind if chosen in group else common[0]
    if name.endswith("WISE_QUANTIZE_LINEAR"):
        if chosen == "ScaleTensor":
            types["InputTensor"] = kind if kind in table["InputTensor"]["types"] else "FLOAT32"
        elif chosen == "InputTensor":
            types["ScaleTensor"] = kind if kind in table["ScaleTensor"]["types"] else "FLOAT32"
    return types


def combinations(name, level):
    """Every choice of types of all tensors that a level takes."""
    table, groups = row(name, level), linked(name, level)
    if table is None:
        return []
    choices = [[k for k in table[min(g)]["types"] if all(k in table[t]["types"] for t in g)] for g in groups]
    found = []
    for chosen in itertools.product(*choices):
        types = {t: kind for group, kind in zip(groups, chosen, strict=True) for t in group}
        if name.endswith("WISE_QUANTIZE_LINEAR"):
            scale = "FLOAT32" if types["InputTensor"] == "INT32" else types["InputTensor"]
            if types["ScaleTensor"] != scale:
                continue
        found.append({t: types[t] for t in tensors(name)})
    return found


def sizes_for(name, t, rank, base=(2, 3)):
    """Sizes of a rank that every operator takes."""
    full = ((1,) * rank + base)[-rank:]
    is_single = name.endswith("QUANTIZED_LINEAR_ADD") and re.search("Scale|ZeroPoint", t)
    return (1,) * rank if is_single else full


def least_rank(name, level):
    return max(entry["min_dims"] for entry in row(name, level).values())


def attributes(name, kind="FLOAT32", **given):
    """Values for all members that are no tensors and have no default."""
    values = {}
    for field in OPERATORS[name]["fields"]:
        if field["type"] == "FLOAT" and field["typical_default"] is None:
            values[field["name"]] = NUMBERS[field["name"]]
        elif field["type"] == "DML_SCALAR_UNION":
            number = {"Min": 1, "Max": 100, "Value": 7, "ValueStart": 3, "ValueDelta": 2}[field["name"]]
            values[field["name"]] = dml.DML_SCALAR_UNION.of(number, data_type(kind))
        elif field["name"] == "Axes":
            values[field["name"]] = (0,)
    return values | given


def make(name, level="6_4", types=None, rank=None, sizes=None, descs=None, **given):
    """A desc that a device of the level takes, but for what the arguments change."""
    rank = least_rank(name, level) if rank is None else rank
    types = types or with_type(name, level, output(name), row(name, level)[output(name)]["types"][0])
    rank, base = (rank, (2, 3)) if sizes is None else (len(sizes), tuple(sizes))
    made = {t: tensor(types[t], sizes_for(name, t, rank, base)) for t in tensors(name)}
    for t, changes in (descs or {}).items():
        made[t] = changes if changes is None or not isinstance(changes, dict) else made[t].replace(**changes)
    kind = types[output(name)]
    return desc_class(name)(**made, **attributes(name, kind if kind in NUMPY else "FLOAT32", **given))


def refusal_of(function, *args):
    """The DMLError that a call raises, or None."""
    try:
        function(*args)
    except dml.DMLError as error:
        return error
    return None
