"""A function that needs a package that is not installed says so in one sentence, with the way out."""

import platform
import subprocess
import sys

import pytest


def without(package, code):
    code = f"import sys; sys.modules[{package!r}] = None\n{code}"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize("package", ["click", "rich"])
def test_the_command_line(package):
    run = without(package, "import runpy; runpy.run_module('ogive', run_name='__main__')")
    expected = (
        f"ogive: the command line: the package {package} is not installed. Install it: pip install 'ogive[cli]'\n"
    )
    assert (run.returncode, run.stdout, run.stderr) == (2, "", expected)


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize(
    ("package", "code", "expected"),
    [
        (
            "onnx",
            "import ogive.onnx",
            "ogive.onnx: the package onnx is not installed. Install it: pip install 'ogive[onnx]'",
        ),
        (
            "pyopencl",
            "import ogive.opencl",
            "ogive.opencl: the package pyopencl is not installed. Install it: pip install 'ogive[opencl]'",
        ),
        (
            "llvmlite",
            "import ogive; ogive.export(ogive.relu)",
            (
                "llvmlite: this install has no compiled kernels, as it was built from sources. "
                "Install the compiler of kernels: pip install 'ogive[compile]'"
            ),
        ),
        (
            "flint",
            "import ogive; ogive.exact('exp', [1.0])",
            "exact results: the package python-flint is not installed. Install it: pip install python-flint",
        ),
        (
            "mpmath",
            "from ogive.graph import error_functions; error_functions.context()",
            "results in 300 bits: the package mpmath is not installed. Install it: pip install 'ogive[exact]'",
        ),
        pytest.param(
            "llvmlite",
            "import ogive; ogive.vectors('gelu')",
            "erf and erfc for references: the package llvmlite is not installed. Install it: pip install 'ogive[exact]'",
            marks=pytest.mark.skipif(
                platform.libc_ver()[0] != "glibc", reason="the C library's functions are not used"
            ),
        ),
    ],
)
def test_parts_of_the_library(package, code, expected):
    run = without(package, code)
    assert run.stderr.splitlines()[-1] == f"ogive.errors.MissingPackageError: {expected}"


@pytest.mark.matrix(share=16, pool="slow")
@pytest.mark.parametrize(
    ("arguments", "subject"),
    [
        (["relu", "--format", "onnx"], "the format onnx"),
        (["Relu", "--standard", "onnx"], "--standard onnx"),
        (["ACTIVATION_RELU", "--standard", "directml"], "--standard directml"),
    ],
)
def test_golden_data_without_onnx(arguments, subject, tmp_path):
    command = ["vectors", *arguments, "--output", str(tmp_path)]
    run = without("onnx", f"from ogive.cli import main; raise SystemExit(main({command!r}))")
    expected = f"ogive: {subject}: the package onnx is not installed. Install it: pip install 'ogive[onnx]'\n"
    assert (run.returncode, run.stderr) == (2, expected)


@pytest.mark.matrix(share=16, pool="slow")
def test_golden_data_that_need_no_error_function():
    run = without("llvmlite", "import ogive; print(len(ogive.vectors('relu').cases))")
    assert (run.returncode, run.stdout.strip(), run.stderr) == (0, "12", "")


@pytest.mark.matrix(share=16, pool="slow")
def test_devices_without_pyopencl():
    run = without("pyopencl", "from ogive.cli import main; main(['devices'])")
    assert (run.returncode, run.stderr) == (0, "")
    *_, cpu, reason = run.stdout.splitlines()
    assert cpu.startswith("cpu")
    assert reason == "ogive.opencl: the package pyopencl is not installed. Install it: pip install 'ogive[opencl]'"
