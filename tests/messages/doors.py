"""The things that the wrong calls of the table use: arrays, models, devices, files, and the command line in this process.

Every call runs in an empty folder that `files` fills, with these names at hand.
"""

import contextlib
import io
import json
import linecache
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnx
from onnx import helper

import ogive
import ogive.directml as dml
import ogive.dxdispatch
import ogive.onnx
from ogive import formula
from ogive.check import check
from ogive.cli import main
from ogive.operators.signature import Constraint
from tests.dxdispatch.models import DELETE, MODEL, changed
from tests.onnx.models import text_model

X = np.linspace(-2, 2, 6, dtype=np.float32)
ROWS = X.reshape(2, 3)
INT = np.int32([1, 2, 3])
RELU = "t (float[N] x) => (float[N] y) { y = Relu(x) }"
TWO = "t (float[2, 3] x, float[3] w) => (float[2, 3] y) { y = Add(x, w) }"


class NoNumber:
    """Neither a number nor an array."""

    def __repr__(self) -> str:
        return "<NoNumber>"


class CommandLineError(Exception):
    """The output of the command line on standard error, and how it ended."""


class ProcessError(Exception):
    """The last line that a process wrote on standard error, and how it ended."""


def cli(*arguments: str) -> None:
    """Run `ogive` with these arguments in this process."""
    out, err = io.StringIO(), io.StringIO()
    status: Any = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(list(arguments))
        except SystemExit as ended:
            status = ended.code
    said = err.getvalue()
    assert said.count("\n") == 1, said
    raise CommandLineError(f"status {status}: {said.rstrip()}")


def load(text: str, **options: Any) -> ogive.onnx.Model:
    """An ONNX model from its text form."""
    return ogive.onnx.load(text_model(text), **options)


def change(how: Any, text: str = RELU) -> ogive.onnx.Model:
    """An ONNX model, changed before it is loaded."""
    model = text_model(text)
    how(model)
    return ogive.onnx.load(model)


def dispatch(*changes: Any, **options: Any) -> None:
    """A model of DxDispatch with (path, value) put into it, loaded and run."""
    Path("model.json").write_text(json.dumps(changed(*changes), indent=1), encoding="utf-8")
    ogive.dxdispatch.load("model.json").run(lambda text: None, **options)


def dispatch_text(text: str) -> None:
    """A model of DxDispatch, as it is written."""
    Path("model.json").write_text(text, encoding="utf-8")
    ogive.dxdispatch.load("model.json")


def tensor(kind: Any = dml.DML_TENSOR_DATA_TYPE_FLOAT32, sizes: Any = (1, 6), **members: Any) -> Any:
    return dml.DML_BUFFER_TENSOR_DESC(DataType=kind, Sizes=sizes, **members)


def relu(level: str = "6_4", **members: Any) -> Any:
    """A compiled RELU of six float32 elements on a new device."""
    device = dml.Device(level)
    t = tensor(**members)
    return device.CompileOperator(device.CreateOperator(dml.DML_ACTIVATION_RELU_OPERATOR_DESC(t, t)))


def created(desc: Any, level: str = "6_4") -> Any:
    return dml.Device(level).CreateOperator(desc)


def bound(source: Any, target: Any) -> None:
    """One dispatch of RELU by the long way."""
    operator = relu()
    device = operator.GetDevice()
    run(device, operator, source, target)


def run(device: Any, operator: Any, source: Any, target: Any, initialize: bool = True) -> None:
    recorder = device.CreateCommandRecorder()
    if initialize:
        initializer, commands = device.CreateOperatorInitializer([operator]), dml.CommandList()
        recorder.RecordDispatch(
            commands, initializer, device.CreateBindingTable(dml.DML_BINDING_TABLE_DESC(initializer))
        )
        commands.Execute()
    table, commands = device.CreateBindingTable(dml.DML_BINDING_TABLE_DESC(operator)), dml.CommandList()
    table.BindInputs([source])
    table.BindOutputs([target])
    recorder.RecordDispatch(commands, operator, table)
    commands.Execute()


def graph(sizes: Any = (2, 3), level: str = "6_4", **options: Any) -> Any:
    """A graph of DirectML's builder and one input of it."""
    made = dml.Graph(dml.Device(level))
    return made, made.input(sizes, **options)


def environment(name: str, value: str) -> None:
    """A call in a process of its own, with this environment variable."""
    command = [sys.executable, "-W", "error", "-c", "import ogive; ogive.celu(1.0)"]
    found = subprocess.run(command, env=os.environ | {name: value}, capture_output=True, text=True, check=False)
    raise ProcessError(f"status {found.returncode}: {found.stderr.splitlines()[-1] if found.stderr else ''}")


def files(folder: Path) -> None:
    """The files that the wrong calls name."""
    onnx.save(text_model(RELU), folder / "relu.onnx")
    onnx.save(text_model(TWO), folder / "two.onnx")
    onnx.save(text_model("t (float[2] x) => (float[2] y) { y = Gelu(x) }"), folder / "gelu.onnx")
    model = text_model("t (float[2, 2] x) => (float[2, 2] y) { z = MatMul(x, x) y = MatMul(z, x) }")
    onnx.save(model, folder / "products.onnx")
    np.save(folder / "x.npy", X)
    np.save(folder / "wide.npy", X.astype(np.float64))
    np.save(folder / "rows.npy", ROWS)
    (folder / "broken.onnx").write_bytes(b"hello")
    (folder / "broken.npy").write_bytes(b"hello")
    (folder / "broken.json").write_text("{", encoding="utf-8")
    (folder / "model.txt").write_text("text", encoding="utf-8")
    (folder / "mine.py").write_text("import ogive\nnumber = 1\n", encoding="utf-8")
    (folder / "model.json").write_text(json.dumps(MODEL), encoding="utf-8")
    (folder / "occupied").write_text("a file", encoding="utf-8")
    (folder / "folder").mkdir()


def execute(code: str) -> None:
    """Run a wrong call; the lines of formulas in it are lines of `call.py`."""
    text = code if code.endswith("\n") else code + "\n"
    linecache.cache["call.py"] = (len(text), None, text.splitlines(keepends=True), "call.py")
    exec(compile(text, "call.py", "exec"), dict(NAMES))


#: The names that the code of a wrong call can use.
NAMES: dict[str, Any] = {
    "__name__": "call",
    "np": np,
    "pickle": pickle,
    "Literal": Literal,
    "ogive": ogive,
    "dml": dml,
    "f": formula,
    "check": check,
    "Constraint": Constraint,
    "helper": helper,
    "X": X,
    "ROWS": ROWS,
    "INT": INT,
    "RELU": RELU,
    "TWO": TWO,
    "DELETE": DELETE,
    "NoNumber": NoNumber,
    **{function.__name__: function for function in (cli, load, change, dispatch, dispatch_text, tensor, relu, created)},
    **{function.__name__: function for function in (bound, run, graph, environment)},
}
