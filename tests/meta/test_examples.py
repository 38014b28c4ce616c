"""The scripts in examples/ do what they say."""

import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def script(name):
    spec = importlib.util.spec_from_file_location(f"example_{Path(name).stem}", EXAMPLES / name)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_calibrating_finds_a_range_that_is_better_than_the_full_one(capsys):
    module = script("calibrate_quantised.py")
    ratios = module.calibrated()
    best = max(ratios, key=ratios.get)
    assert 0.4 < best < 1
    assert 20 < ratios[1.0] < ratios[best] < 30
    module.main()
    assert f"{best:4.0%} of the range: {ratios[best]:6.2f} dB  <- best" in capsys.readouterr().out


def test_porting_a_directml_program():
    x = np.arange(-4, 4, dtype=np.float32)
    assert script("port_directml/leaky_relu.py").main(x).tolist() == [-1, -0.75, -0.5, -0.25, 0, 1, 2, 3]


def test_the_two_programs_have_the_same_names():
    here = (EXAMPLES / "port_directml" / "leaky_relu.cpp").read_text(encoding="utf-8")
    there = (EXAMPLES / "port_directml" / "leaky_relu.py").read_text(encoding="utf-8")
    names = set(re.findall(r"\bDML_\w+", here)) | set(re.findall(r"(?:->|\bDML)(\w+)\(", here))
    # Python does not need these: arguments that are there for memory, and a structure around one binding.
    left_out = {"DML_CREATE_DEVICE_FLAG_NONE", "DML_BINDING_DESC", "DML_BINDING_TYPE_BUFFER"}
    assert {name for name in names if name not in there} == left_out
    assert len(names) > 15


def test_checking_a_feature_level(capsys):
    pytest.importorskip("onnx", reason="onnx, which reads models, is not installed")
    module = script("check_feature_level.py")
    model = str(EXAMPLES / "threshold.onnx")
    assert module.main("5_0", model) == 0
    assert capsys.readouterr().out == "1 model runs at feature level 5_0\n"
    assert module.main("1_0", model) == 1
    assert "ACTIVATION_SHRINK was introduced in 2_0" in capsys.readouterr().out
    assert module.main(model) == 2
    assert "give a level such as 5_0 and one model or more" in capsys.readouterr().out


@pytest.mark.matrix(share=16, pool="slow")
def test_finding_a_bug(capsys):
    script("find_bug.py").main()
    textbook, repaired = capsys.readouterr().out.split("repaired")
    assert "cause: 1 + exp(x) loses exp(x)" in textbook
    assert "an intermediate result overflows" in textbook
    assert "allowed: 4" not in repaired


@pytest.mark.matrix(pool="slowest")
def test_training_with_an_activation_of_ones_own(capsys):
    pytest.importorskip("torch", reason="torch, which trains the network, is not installed")
    module = script("train_activation.py")
    network, share = module.trained()
    assert share > 0.98
    assert network.width.detach().std() > 0.01  # they are learned
    module.main()
    assert f"right: {share:.1%} of 1,000 new points" in capsys.readouterr().out


@pytest.mark.matrix(share=16, pool="slow")
def test_the_readme_shows_what_its_example_finds(monkeypatch):
    module = script("why.py")
    monkeypatch.setattr(module, "times", lambda calls: [0.0] * len(calls))
    monkeypatch.setattr(module, "torch", None)  # other libraries' results depend on the machine
    readme = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
    ours = [row for row in module.rows() if row[1] == "Ogive"]
    assert [(name, wrong) for name, _, wrong, *_ in ours if wrong] == [("gelu.fast", 1207)]
    for name, by, wrong, largest, _ in ours:
        assert f"\n{name:18}{by:10}{wrong:14,}{largest:12.3g} ULP" in readme
    assert module.digest() == module.DIGEST
    assert readme.count(module.DIGEST) == 4
    theirs = [("gelu", "NumPy", 9, 9.0, 0.5), ("gelu", "PyTorch", 9, 9.0, 0.25), ("gelu", "Ogive", 0, 0.5, 1.0)]
    some = [(name, "Ogive", 0, 0.5, 1.0) for name in module.CASES if name != "gelu"]
    assert module.slower([*some, *theirs]) == ["gelu: PyTorch takes 0.25 of Ogive's time"]


def test_every_example_is_listed():
    page = (EXAMPLES.parent / "docs" / "start-numpy.md").read_text(encoding="utf-8")
    for path in EXAMPLES.iterdir():
        if (path.suffix in (".py", ".c") and path.name != "make_model.py") or (
            path.is_dir() and path.name[0] not in "._"
        ):
            assert f"`{path.name}" in page, path.name


@pytest.mark.matrix(share=16, pool="slow")
def test_denoising_a_photograph():
    pytest.importorskip("pywt", reason="PyWavelets, which has the wavelets, is not installed (extra: examples)")
    pytest.importorskip("matplotlib", reason="matplotlib, which writes the picture, is not installed")
    module = script("denoise_photograph.py")
    clean = np.add.outer(np.arange(512.0) / 4, np.arange(512.0) / 4).astype(np.float32)
    noisy = clean + np.random.default_rng(1).normal(0, module.NOISE, clean.shape).astype(np.float32)
    before, after = (module.peak_signal_to_noise(image, clean) for image in (noisy, module.denoised(noisy)))
    assert after > before + 5
