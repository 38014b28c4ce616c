"""Models for tests: a small one that runs, and ways to change and to run it."""

import copy
import json

from ogive.dxdispatch import load

TENSOR = {"DataType": "FLOAT32", "Sizes": [3]}

MODEL = {
    "$schema": "./_schema.json",
    "resources": {
        "x": {"initialValuesDataType": "FLOAT32", "initialValues": [1, 2.5, "-inf"]},
        "y": {"initialValuesDataType": "FLOAT32", "initialValues": {"valueCount": 3, "value": 0}, "sizeInBytes": 16},
    },
    "dispatchables": {
        "clip": {
            "type": "DML_OPERATOR_ELEMENT_WISE_CLIP",
            "desc": {"InputTensor": dict(TENSOR), "OutputTensor": dict(TENSOR), "Min": -2, "Max": 2},
        },
    },
    "commands": [
        {"type": "dispatch", "dispatchable": "clip", "bindings": {"InputTensor": "x", "OutputTensor": "y"}},
        {"type": "print", "resource": "y"},
    ],
}

DELETE = object()


def changed(*changes, model=MODEL):
    """The model with (path, value) put into it; a path is a tuple of names and numbers."""
    new = {"root": copy.deepcopy(model)}
    for path, value in changes:
        target = new
        *parents, last = ("root", *path)
        for step in parents:
            target = target[step]
        if value is DELETE:
            del target[last]
        elif isinstance(target, list) and last == len(target):
            target.append(value)
        else:
            target[last] = value
    return new["root"]


def written(folder, model, name="model.json"):
    """The file of a model; text is written as it is."""
    path = folder / name
    path.write_text(model if isinstance(model, str) else json.dumps(model, indent=1), encoding="utf-8")
    return path


def run(folder, model, *, iterations=1, **options):
    """The output of a model, line by line."""
    pieces = []
    load(written(folder, model), output_folder=folder, **options).run(pieces.append, iterations=iterations)
    return "".join(pieces).splitlines()


def printed(folder, resource, *, verbose=False):
    """The output of printing one resource."""
    commands = [{"type": "print", "resource": "r", "verbose": verbose}]
    lines = run(folder, {"resources": {"r": resource}, "dispatchables": {}, "commands": commands})
    assert lines[0].startswith("Running on 'Ogive")
    return lines[1:]
