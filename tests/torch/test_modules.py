"""ogive.torch.nn beside torch.nn: the same constructors, states, results and gradients; replacing; training."""

import copy
import pickle

import pytest

from ogive.errors import ArgumentError, ParameterError

torch = pytest.importorskip("torch", reason="torch is not installed")
ogive_torch = pytest.importorskip("ogive.torch")
nn = ogive_torch.nn

CASES = [
    ("ReLU", {}),
    ("LeakyReLU", {"negative_slope": 0.2}),
    ("PReLU", {}),
    ("PReLU", {"num_parameters": 3, "init": 0.1}),
    ("ELU", {"alpha": 1.2}),
    ("CELU", {"alpha": 1.5}),
    ("SELU", {}),
    ("GELU", {}),
    ("GELU", {"approximate": "tanh"}),
    ("SiLU", {}),
    ("Mish", {}),
    ("Softplus", {}),
    ("Softplus", {"beta": 2.0, "threshold": 3.0}),
    ("Softsign", {}),
    ("Tanh", {}),
    ("Sigmoid", {}),
    ("LogSigmoid", {}),
    ("Hardtanh", {"min_val": -2.0, "max_val": 1.0}),
    ("ReLU6", {}),
    ("Hardsigmoid", {}),
    ("Hardswish", {}),
    ("Hardshrink", {"lambd": 0.75}),
    ("Softshrink", {"lambd": 0.75}),
    ("Tanhshrink", {}),
    ("Threshold", {"threshold": 0.5, "value": -1.0}),
    ("GLU", {"dim": 2}),
    ("Softmax", {"dim": 1}),
    ("LogSoftmax", {"dim": 1}),
    ("Softmin", {"dim": -1}),
    ("Softmax2d", {}),
    ("LayerNorm", {"normalized_shape": 6}),
    ("LayerNorm", {"normalized_shape": (4, 6), "bias": False}),
    ("LayerNorm", {"normalized_shape": 6, "elementwise_affine": False}),
    ("RMSNorm", {"normalized_shape": (4, 6), "eps": 1e-6}),
    ("RMSNorm", {"normalized_shape": 6, "elementwise_affine": False}),
]
KINKS = [0.0, -0.0, 0.5, -0.5, 0.75, -0.75, 1.0, -1.0, -2.0, 2.0, 3.0, -3.0, 6.0, 25.0, -25.0]
INPLACE = ("ReLU", "LeakyReLU", "ELU", "CELU", "SELU", "SiLU", "Mish", "Hardtanh", "ReLU6", "Hardsigmoid", "Hardswish")


def inputs(dtype):
    random = 3 * torch.randn(2 * 3 * 4 * 6 - len(KINKS), generator=torch.Generator().manual_seed(1))
    return torch.cat([torch.tensor(KINKS), random]).reshape(2, 3, 4, 6).to(dtype)


@pytest.mark.matrix(share=5)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("name", "arguments"), CASES)
def test_modules_beside_torchs(name, arguments, dtype):
    """torch errs by some units in the last place of the largest operand: its tails (gelu, tanh) cancel."""
    theirs, ours = (getattr(library, name)(**arguments).to(dtype) for library in (torch.nn, nn))
    assert repr(ours) == repr(theirs)
    ours.load_state_dict(theirs.state_dict())
    x = inputs(dtype)
    results = []
    for module in (theirs, ours):
        leaf = x.clone().requires_grad_()
        y = module(leaf)
        upstream = torch.linspace(0.5, 2, y.numel(), dtype=dtype).reshape(y.shape)
        y.backward(upstream)
        results.append((y.detach(), leaf.grad, *(parameter.grad for parameter in module.parameters())))
    epsilon = torch.finfo(dtype).eps
    is_rough = name == "Hardsigmoid"  # torch's derivative is a float32 1/6 in float64 too
    for theirs_, ours_ in zip(*results, strict=True):
        rtol = 1e-7 if is_rough and dtype is torch.float64 else 16 * epsilon
        torch.testing.assert_close(ours_, theirs_, rtol=rtol, atol=16 * epsilon)


@pytest.mark.parametrize("name", INPLACE)
def test_in_place(name):
    module = getattr(nn, name)(inplace=True)
    expected = getattr(nn, name)()
    x = torch.randn(3, 4)
    y = x.clone()
    assert module(y) is y
    assert torch.equal(y, expected(x))
    results = []
    for function in (module, expected):
        leaf = x.clone().requires_grad_()
        function(leaf * 2).sum().backward()
        results.append(leaf.grad)
    assert torch.equal(*results)


def test_there_is_a_module_for_each_of_torchs_activations():
    from torch.nn.modules import activation

    left_out = {"RReLU", "MultiheadAttention"}
    others = {*nn.LOSSES, "LayerNorm", "RMSNorm", "QuickGELU", "ClippedGELU", "HardMish"}
    assert set(nn.__all__) - others == set(activation.__all__) - left_out


def test_replace():
    shared = torch.nn.PReLU()
    model = torch.nn.Sequential(
        torch.nn.Linear(4, 4), shared, torch.nn.ModuleDict({"inner": torch.nn.Sequential(torch.nn.GELU(), shared)})
    )
    seen = []
    model[2]["inner"][0].register_forward_hook(lambda *_: seen.append(1))
    before = copy.deepcopy(model.state_dict())
    assert ogive_torch.replace(model) is model
    assert type(model[1]) is nn.PReLU
    assert model[1] is model[2]["inner"][1]
    assert model[1].weight is shared.weight
    assert type(model[2]["inner"][0]) is nn.GELU
    assert list(model.state_dict()) == list(before)
    model[2]["inner"](torch.ones(1))
    assert seen == [1]
    assert type(ogive_torch.replace(torch.nn.Mish())) is nn.Mish


def test_a_second_replace_says_what_is_there():
    model = ogive_torch.replace(torch.nn.Sequential(torch.nn.GELU(), torch.nn.Linear(2, 2), torch.nn.ReLU()))
    assert repr(model.ogive_report).startswith("replaced 2 of 2 modules")
    report = ogive_torch.replace(model).ogive_report
    assert repr(report) == "replaced 0 of 0 modules\n2 Ogive's already"
    assert report.already == ("0", "2")


def test_names_of_other_libraries_lead_to_a_module_or_a_function():
    for name, hint in (
        ("Swish", "Use SiLU"),
        ("SquaredReLU", "Use ogive.torch.nn.wrap(ogive.squared_relu)"),
        ("ReLU2", "Use ogive.torch.nn.wrap(ogive.relu2)"),
        ("Softmox", "Did you mean Softmax?"),
        ("MultiheadAttention", "Use torch.nn.MultiheadAttention"),
    ):
        with pytest.raises(AttributeError) as raised:
            getattr(nn, name)
        assert str(raised.value) == f"module 'ogive.torch.nn' has no attribute {name!r}. {hint}"


def test_replace_leaves_subclasses_alone():
    class Mine(torch.nn.ReLU):
        pass

    model = ogive_torch.replace(torch.nn.Sequential(Mine(), nn.ReLU()))
    assert [type(module) for module in model] == [Mine, nn.ReLU]


class _Elsewhere(torch.nn.Module):
    """A class of another package that is called so, and computes this."""

    def __init__(self, function, **attributes):
        super().__init__()
        self.function = function
        self.__dict__.update(attributes)

    def forward(self, x):
        return self.function(x)


def elsewhere(package, name, function, **attributes):
    kind = type(name, (_Elsewhere,), {"__module__": f"{package}.layers"})
    return kind(function, **attributes)


def test_replace_knows_classes_of_other_packages_by_name_and_formula():
    gelu, tanh = torch.nn.functional.gelu, torch.tanh
    modules = [
        elsewhere("transformers", "GELUActivation", gelu),
        elsewhere("transformers", "NewGELUActivation", lambda x: gelu(x, approximate="tanh")),
        elsewhere("transformers", "ClippedGELUActivation", lambda x: gelu(x).clip(-1, 2), min=-1, max=2),
        elsewhere("timm", "HardSwish", lambda x: x.mul_((x + 3).clamp(0, 6) / 6), inplace=True),
        elsewhere("transformers", "GELUActivation", lambda x: gelu(x) + 1e-3),
        elsewhere("timm", "Tanh", lambda x: x.tanh_()),
        elsewhere("somewhere", "GELUActivation", gelu),
        elsewhere("timm", "QuickGELU", tanh),
    ]
    modules[0].register_forward_hook(lambda module, args, result: result + 1)
    model = ogive_torch.replace(torch.nn.Sequential(*modules))
    assert [type(module).__name__ for module in model[:4]] == ["GELU", "GELU", "ClippedGELU", "Hardswish"]
    assert [module is other for module, other in zip(model[4:], modules[4:], strict=True)] == [True] * 4
    x = torch.linspace(-3, 3, 7)
    torch.testing.assert_close(model[0](x), gelu(x) + 1)
    assert model[3](x) is x
    assert repr(model.ogive_report) == "\n".join(
        [
            "replaced 4 of 7 modules",
            "  1 transformers: GELUActivation by GELU",
            "  1 transformers: NewGELUActivation by GELU",
            "  1 transformers: ClippedGELUActivation by ClippedGELU",
            "  1 timm: HardSwish by Hardswish",
            "left 1 transformers: GELUActivation: on a sample of numbers its results are others, or lie elsewhere",
            "left 1 timm: Tanh: on a sample of numbers its results are others, or lie elsewhere",
            "left 1 timm: QuickGELU: on a sample of numbers its results are others, or lie elsewhere",
        ]
    )


def test_replace_takes_normalisations_where_it_is_asked_to():
    weight = torch.nn.Parameter(torch.rand(8))
    llama = elsewhere(
        "transformers", "LlamaRMSNorm", lambda x: weight * x / (x * x).mean(-1, keepdim=True).add(1e-6).sqrt()
    )
    llama.weight, llama.variance_epsilon = weight, 1e-6
    model = torch.nn.Sequential(llama, torch.nn.LayerNorm(8), torch.nn.ReLU())
    x = torch.randn(3, 8)
    expected = model(x)
    report = ogive_torch.replace(model).ogive_report
    assert [(row.name, row.places) for row in report.replaced] == [("torch.nn.ReLU", ("2",))]
    assert [row.note for row in report.left] == ["normalisations=True replaces it"] * 2
    ogive_torch.replace(model, normalisations=True)
    assert [type(module) for module in model] == [nn.RMSNorm, nn.LayerNorm, nn.ReLU]
    assert model[0].weight is weight
    torch.testing.assert_close(model(x), expected)


class Functional(torch.nn.Module):
    def forward(self, x):
        y = torch.nn.functional.leaky_relu(self.inner(x), 0.25, inplace=True)
        return torch.nn.functional.softmax(y, dim=-1) + torch.threshold(x, 0.0, -0.0) + x.relu()

    def inner(self, x):
        return torch.nn.functional.gelu(torch.nn.functional.layer_norm(x, (4,)))


@pytest.mark.matrix(share=16, pool="slow")
def test_functions_are_replaced_by_a_mode():
    model, x = Functional(), torch.randn(3, 4)
    expected = model(x)
    with pytest.warns(
        UserWarning, match="nothing was replaced. replaced 0 of 0 modules\ncalls of functions that are torch"
    ):
        report = ogive_torch.replace(model).ogive_report
    assert report.calls == {"leaky_relu": 1, "softmax": 1, "gelu": 1, "layer_norm": 1}
    model = ogive_torch.replace(model, functional=True, normalisations=True)
    found = model(x)
    torch.testing.assert_close(found, expected)
    assert model.ogive_report.calls == dict.fromkeys(("leaky_relu", "softmax", "gelu", "layer_norm", "relu"), 1)
    copied = pickle.loads(pickle.dumps(model))
    assert torch.equal(copied(x), found)
    assert (copied.ogive_report.calls["gelu"], model.ogive_report.calls["gelu"]) == (2, 1)
    torch._dynamo.reset()
    assert torch.equal(torch.compile(model, fullgraph=True, backend="aot_eager")(x), found)
    with pytest.warns(UserWarning, match="nothing was replaced"):
        ogive_torch.replace(model, accuracy="fast")
    assert "forward" not in vars(model)


def test_the_mode_leaves_to_torch_what_it_cannot_compute():
    with ogive_torch.functional_mode(accuracy="fast") as mode:
        assert torch.relu(torch.tensor([-1, 2])).tolist() == [0, 2]
        assert torch.tanh(torch.tensor([1j])).is_complex()
        with pytest.raises(RuntimeError, match="alving dimension"):
            torch.nn.functional.glu(torch.ones(3))
        value = torch.nn.functional.hardtanh(torch.tensor([5.0]), -2, max_val=3)
    assert value.item() == 3
    assert mode.calls == {"hardtanh": 1}
    with pytest.raises(ParameterError, match=r"ogive.torch.functional_mode"):
        ogive_torch.functional_mode("quick")


@pytest.mark.parametrize("arguments", [{}, {"reduction": "sum"}, {"weight": torch.rand(5)}, {"label_smoothing": 0.1}])
def test_cross_entropy_of_labels(arguments):
    x, labels = torch.randn(4, 5, requires_grad=True), torch.tensor([0, 4, -100, 2])
    found, expected = (library.CrossEntropyLoss(**arguments)(x, labels) for library in (nn, torch.nn))
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(*(torch.autograd.grad(loss, x)[0] for loss in (found, expected)))
    each = nn.CrossEntropyLoss(reduction="none")(x.detach(), labels.clamp(min=0))
    exact = torch.nn.functional.cross_entropy(x.detach().double(), labels.clamp(min=0), reduction="none")
    assert torch.equal(each, exact.float())


LOSSES = [
    ("BCEWithLogitsLoss", {}),
    ("BCEWithLogitsLoss", {"weight": torch.rand(5)}),
    ("BCEWithLogitsLoss", {"pos_weight": torch.rand(5)}),
    ("HuberLoss", {"delta": 0.75}),
    ("KLDivLoss", {"reduction": "batchmean"}),
    ("KLDivLoss", {"log_target": True, "reduction": "sum"}),
    ("MSELoss", {"reduction": "none"}),
    ("SmoothL1Loss", {"beta": 0.5, "reduction": "sum"}),
    ("SmoothL1Loss", {"beta": 0.0}),
]


@pytest.mark.parametrize(("name", "arguments"), LOSSES)
def test_losses_beside_torchs(name, arguments):
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(5)).requires_grad_()
    target = torch.rand(4, 5, generator=torch.Generator().manual_seed(6))
    target[0, 0] = 0.0
    found, expected = (getattr(library, name)(**arguments)(x, target) for library in (nn, torch.nn))
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(*(torch.autograd.grad(loss.sum(), x)[0] for loss in (found, expected)))
    with ogive_torch.functional_mode() as mode:  # torch's own module calls the function
        again = getattr(torch.nn, name)(**arguments)(x, target)
    is_torchs = "pos_weight" in arguments or "log_target" in arguments or arguments.get("beta") == 0.0
    assert sum(mode.calls.values()) == (not is_torchs)
    torch.testing.assert_close(again, found, rtol=0, atol=0)


def test_losses_are_rounded_once():
    x, target = (torch.randn(500, generator=torch.Generator().manual_seed(i)) for i in (1, 2))
    each = nn.HuberLoss("none", delta=1.25)(x, target)
    exact = torch.nn.functional.huber_loss(x.double(), target.double(), reduction="none", delta=1.25)
    assert torch.equal(each, exact.float())
    with pytest.warns(UserWarning, match="target size"):  # torch's own warning
        nn.MSELoss()(x, target[:1])
    with pytest.raises(ValueError, match="must be the same as input size"):
        nn.BCEWithLogitsLoss()(x, target[:2])
    assert nn.KLDivLoss(reduction="sum")(x, target.abs()).shape == ()
    assert type(ogive_torch.replace(torch.nn.HuberLoss(delta=2.0))) is nn.HuberLoss


@pytest.mark.matrix(share=16, pool="slow")
def test_compiled_and_pickled_modules():
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), nn.CELU(1.5, inplace=True), nn.GLU(), nn.Softmax(1))
    x = torch.randn(3, 4)
    torch._dynamo.reset()
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(x), model(x))
    assert torch.equal(copy.deepcopy(model)(x), model(x))


# ---- training


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize(
    ("name", "arguments"), [case for case in CASES if case[0] not in ("GLU", "Softmax2d", "Softmax")]
)
def test_loss_curve_of_a_small_network(name, arguments):
    arguments = {"num_parameters": 1} if name == "PReLU" else arguments
    arguments = arguments | ({"normalized_shape": 8} if "normalized_shape" in arguments else {})
    x = torch.randn(64, 3, generator=torch.Generator().manual_seed(2))
    wanted = torch.sin(x.sum(1, keepdim=True))
    curves = []
    for library in (torch.nn, nn):
        torch.manual_seed(3)
        model = torch.nn.Sequential(torch.nn.Linear(3, 8), getattr(library, name)(**arguments), torch.nn.Linear(8, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.005)
        losses = []
        for _ in range(10):
            loss = torch.nn.functional.mse_loss(model(x), wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        curves.append(torch.stack(losses))
    assert curves[1][-1] < curves[1][0]
    torch.testing.assert_close(curves[1], curves[0], rtol=1e-5, atol=1e-6)


# ---- torch's own samples


def opinfos():
    methods = pytest.importorskip(
        "torch.testing._internal.common_methods_invocations",
        reason="torch's own samples need expecttest",
        exc_type=ImportError,
    )
    return {info.name: info for info in methods.op_db if not info.variant_test_name}


#: torch's name -> ours, and the names of keywords where they differ.
SAMPLED = {
    "nn.functional.celu": ("celu", {}),
    "nn.functional.elu": ("elu", {}),
    "nn.functional.gelu": ("gelu", {}),
    "nn.functional.hardswish": ("hard_swish", {}),
    "nn.functional.leaky_relu": ("leaky_relu", {"negative_slope": "alpha"}),
    "nn.functional.mish": ("mish", {}),
    "nn.functional.relu": ("relu", {}),
    "nn.functional.silu": ("swish", {}),
    "nn.functional.softsign": ("softsign", {}),
    "sigmoid": ("sigmoid", {}),
    "tanh": ("tanh", {}),
    "clamp": ("clip", {}),
}


@pytest.mark.matrix(share=9)
@pytest.mark.parametrize("name", SAMPLED)
@pytest.mark.filterwarnings("ignore")
def test_torchs_samples(name):
    info = opinfos()[name]
    ours, renamed = SAMPLED[name]
    function = getattr(ogive_torch, ours)
    tried = 0
    for dtype in (torch.float32, torch.float64):
        for sample in info.sample_inputs("cpu", dtype, requires_grad=True):
            keywords = {renamed.get(key, key): value for key, value in sample.kwargs.items() if key != "inplace"}
            x = sample.input
            results = []
            for call, given in ((info.op, sample.kwargs), (function, keywords)):
                leaf = x.detach().clone().requires_grad_()
                y = call(leaf, *sample.args, **given)
                results.append((y.detach(), *torch.autograd.grad(y.sum(), leaf)))
            tolerance = 16 * torch.finfo(dtype).eps
            for theirs_, ours_ in zip(*results, strict=True):
                torch.testing.assert_close(ours_, theirs_, rtol=tolerance, atol=tolerance)
            tried += 1
    assert tried


# ---- contracts

ELEMENTARY = ("ELU", "CELU", "SELU", "GELU", "SiLU", "Mish", "Softplus", "Tanh", "Sigmoid", "LogSigmoid")


@pytest.mark.matrix(share=6)
@pytest.mark.parametrize(("name", "arguments"), CASES)
def test_modules_under_the_fast_contract(name, arguments):
    """The same constructors, states and results, but for some units in the last place, forward and backward."""
    exact, fast = (getattr(library, name)(**arguments) for library in (nn.exact, nn.fast))
    assert isinstance(fast, getattr(nn, name))
    assert repr(fast) == repr(exact)
    fast.load_state_dict(exact.state_dict())
    results = []
    for module in (exact, fast):
        x = inputs(torch.float32).requires_grad_()
        y = module(x)
        (slope,) = torch.autograd.grad(y.sum(), x)
        results.append((y.detach(), slope))
    torch.testing.assert_close(results[1], results[0], rtol=2e-6, atol=2e-7)
    if name in ELEMENTARY:
        assert (results[0][0] != results[1][0]).any()


def test_classes_of_both_contracts():
    assert set(nn.__all__) <= {*dir(nn.fast)} == {*dir(nn.exact)}
    assert {"exact", "fast"} <= {*dir(nn)}
    module = nn.fast.CELU(1.5, inplace=True)
    assert type(pickle.loads(pickle.dumps(module))) is type(copy.deepcopy(module)) is nn.fast.CELU
    assert nn.fast.CELU.__doc__ == nn.CELU.__doc__
    assert nn.fast.CELU.__module__ == "ogive.torch.nn.fast"
    for name, way_out in ("RReLU", "Use torch.nn.RReLU"), ("Gelu", "Did you mean GELU?"):
        with pytest.raises(AttributeError) as refused:
            getattr(nn, name)
        assert str(refused.value) == f"module 'ogive.torch.nn' has no attribute {name!r}. {way_out}"
    with pytest.raises(ArgumentError, match=r"^softmax: 2 arguments .* Give all else by name: dim=, where=$"):
        ogive_torch.softmax(torch.ones(2), 0)


def test_a_compiled_model_of_fast_modules():
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), nn.fast.GELU(), nn.fast.SiLU())
    x = torch.randn(5, 3, generator=torch.Generator().manual_seed(2))
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    assert (compiled(x) == model(x)).all()


def test_replacing_by_a_contract():
    model = torch.nn.Sequential(
        torch.nn.GELU("tanh"), torch.nn.Linear(2, 2), nn.PReLU(2), torch.nn.Sequential(nn.exact.Mish())
    )
    weight = model[2].weight
    assert ogive_torch.replace(model, accuracy="fast") is model
    assert [type(module) for module in (model[0], model[2], model[3][0])] == [nn.fast.GELU, nn.fast.PReLU, nn.fast.Mish]
    assert model[0].approximate == "tanh"
    assert model[2].weight is weight
    assert type(ogive_torch.replace(model[0], accuracy="exact")) is nn.exact.GELU
    assert type(ogive_torch.replace(nn.fast.GELU())) is nn.fast.GELU  # without a contract only torch's are replaced


def test_replacing_by_an_unknown_contract():
    with pytest.raises(ParameterError, match=r"ogive\.torch\.replace: accuracy is 'quick'; allowed: 'exact', 'fast'"):
        ogive_torch.replace(torch.nn.GELU(), accuracy="quick")
