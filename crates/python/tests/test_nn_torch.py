"""PyTorch modules compiled: against PyTorch, against the same polynomials in the clear."""

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest

if importlib.util.find_spec("torch") is None and not os.environ.get("GIRIH_TEST_ORION"):
    why = "torch not installed: `cargo xtask python --orion` installs it"
    pytest.skip(why, allow_module_level=True)

import torch
from torch import nn
from wrong import MORE, NONSENSE, tried

import girih.nn
from girih import ckks, errors

pytestmark = pytest.mark.filterwarnings("ignore")


def insecure(levels, log2_degree=10, scale=40.0):
    return ckks.Parameters.generate(
        f"INSECURE_NN_{levels}_{log2_degree}", log2_degree=log2_degree, log2_scale=scale,
        auxiliary=4, levels=levels,
    )  # fmt: skip


def inputs(*shape):
    torch.manual_seed(3)
    return (2 * torch.rand(24, *shape) - 1) * 1.5


def encrypted(model, x):
    """What comes out of an encrypted run."""
    client = ckks.ClientKey.generate_seeded_for_tests(model.parameters, bytes(range(32)))
    server = model.server(model.keys(client), "cpu")
    result = model.run(server, model.encrypt(client, x.numpy()))
    return model.decrypt(client, result, len(x))


def check(net, x, *, against_plain=1e-5, against_torch=1e-2, count=2, **how):
    """Compiles a module and holds an encrypted run against it, and against its polynomials."""
    torch.manual_seed(5)
    model = girih.nn.compile(net, x[:1], calibration=x, **how)
    net.eval()
    found = encrypted(model, x[:count])
    exact = net(x[:count]).detach().numpy()
    assert found.shape == exact.shape
    assert np.abs(found - model.plain(x[:count].numpy())).max() < against_plain
    assert np.abs(found - exact).max() < against_torch * max(1.0, np.abs(exact).max())
    return model


@pytest.mark.parametrize("activation", [nn.SiLU(), nn.GELU(), nn.GELU("tanh"), nn.Tanh()])
def test_mlp(activation):
    net = nn.Sequential(
        nn.Flatten(), nn.Linear(16, 24), nn.BatchNorm1d(24), activation, nn.Dropout(0.5),
        nn.Linear(24, 10), nn.Sigmoid(), nn.Linear(10, 4),
    )  # fmt: skip
    model = check(net, inputs(1, 4, 4), set=insecure(11), count=5)
    # Linear layers that follow each other are one.
    assert len(model.program.stages) == 4 and model.client.rows == 16


class Square(nn.Module):
    def forward(self, x):
        return x * x


@pytest.mark.parametrize(
    ("net", "shape"),
    [
        (nn.Sequential(nn.Linear(6, 8), nn.Softmax(1), nn.Linear(8, 3)), (6,)),
        (nn.Softmax(-1), (2, 4)),
    ],
)
def test_softmax(net, shape):
    torch.manual_seed(4)
    model = check(net, inputs(*shape), against_torch=2**-10, set=insecure(14), error=2**-11)
    assert model.calibration_error < 2**-11 * 2


def lenet(activation):
    return nn.Sequential(
        nn.Conv2d(1, 3, 5, padding=2), nn.BatchNorm2d(3), activation, nn.AvgPool2d(2),
        nn.Conv2d(3, 6, 5), activation, nn.AvgPool2d(2), nn.Flatten(),
        nn.Linear(6 * 2 * 2, 12), activation, nn.Linear(12, 10),
    )  # fmt: skip


@pytest.mark.parametrize(("activation", "levels"), [(Square(), 7), (nn.SiLU(), 13)])
def test_lenet(activation, levels):
    torch.manual_seed(1)
    model = check(lenet(activation), inputs(1, 16, 16), set=insecure(levels, 11))
    assert model.bootstrappings == 0


class Block(nn.Module):
    def __init__(self, before, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, channels, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.shortcut = nn.Identity()
        if stride > 1:
            conv = nn.Conv2d(before, channels, 1, stride, bias=False)
            self.shortcut = nn.Sequential(conv, nn.BatchNorm2d(channels))

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


def residual():
    torch.manual_seed(2)
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), Block(4, 4, 1), Block(4, 8, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "rows"),
    [("INSECURE_CKKS_D35_N10", 2), ("INSECURE_CKKS_D40_30BIT_14_STC_FIRST_N10", 1)],
)
def test_residual_network(name, rows):
    # Two ciphertexts of all slots, the second with one image; and three of half of the slots.
    model = check(residual(), inputs(3, 8, 8), set=name, error=2**-8, count=3, rows=rows)
    # One before each ReLU but the first.
    assert model.bootstrappings == 4
    assert len(model.program.stages) == 7


class Sums(nn.Module):
    """Linear values that are read twice, numbers, and functions by name."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        y = self.first(x)
        z = nn.functional.silu(y) - 2 * y + 0.5
        z = -self.second(z) / 4 + y
        return (z.view(-1, 8) ** 2 + torch.square(x)).flatten(1)


def test_sums_products_with_numbers_and_values_read_twice():
    check(Sums(), inputs(8), set=insecure(12))


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.value, self.gate = nn.Linear(8, 12), nn.Linear(8, 12)
        self.norm, self.last = nn.LayerNorm(12), nn.Linear(12, 3)

    def forward(self, x):
        x = self.value(x) * nn.functional.silu(self.gate(x))
        return self.last(self.norm(x) * x)


def test_products_of_two_values_and_layer_norm():
    torch.manual_seed(4)
    model = check(Gated(), inputs(8), set="INSECURE_CKKS_D40_N10", against_torch=2e-2)
    assert "InverseRoot" in model.summary() and model.bootstrappings > 0
    with torch.no_grad():
        net = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16, elementwise_affine=False))
        check(net, inputs(8), set=insecure(10))


class Strided(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 4, (3, 2), (2, 1), (1, 0), groups=2)
        self.same = nn.Conv2d(4, 4, 3, padding="same", dilation=2)

    def forward(self, x):
        x = self.same(torch.relu(self.conv(x)))
        return nn.functional.avg_pool2d(x, 3, 2, 1)


def test_groups_dilation_uneven_strides_and_padded_means():
    model = check(Strided(), inputs(2, 7, 6), set="INSECURE_CKKS_D35_N10", error=2**-8)
    assert model.client.output_shape == (4, 2, 3)


def test_a_network_that_ends_in_a_function_and_one_that_is_linear():
    check(nn.Sequential(nn.Linear(4, 4), nn.SiLU()), inputs(4), set=insecure(8))
    model = check(nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)), inputs(4), set=insecure(2))
    assert model.products == 0


WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
import numpy as np
import girih.nn
from girih import ckks
model, part = girih.nn.load(sys.argv[1]), girih.nn.ClientPart.load(sys.argv[2])
client = ckks.ClientKey.generate(part.parameters)
server = model.server(part.keys(client), "cpu")
inputs, exact, plain = model.samples
found = part.decrypt(client, model.run(server, part.encrypt(client, inputs)), len(inputs))
assert np.abs(found - plain).max() < 1e-5 and np.abs(found - exact).max() < 1e-2
try:
    girih.nn.compile(None, None)
except girih.errors.UnsupportedError as error:
    print(error)
"""


def test_files_serve_processes_without_torch(tmp_path):
    x = inputs(1, 16, 16)
    torch.manual_seed(1)
    net = lenet(Square())
    model = girih.nn.compile(net, x[:1], set=insecure(7, 11), calibration=x, samples=3)
    model.save(tmp_path / "model")
    model.client_part().save(tmp_path / "client")
    made = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, tmp_path / "model", tmp_path / "client"],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    assert "compiling needs PyTorch" in made.stdout


def test_sets_are_chosen_by_slots_and_levels():
    shallow = girih.nn.compile(nn.Linear(4, 4), inputs(4))
    assert shallow.parameters.name == "CKKS_N14_D40" and shallow.client.rows == 2048
    deep = nn.Sequential(*[part for _ in range(6) for part in (nn.Linear(4, 4), Square())])
    assert girih.nn.compile(deep, inputs(4)).parameters.name == "CKKS_N15_D40"
    many = nn.Sequential(*[part for _ in range(9) for part in (nn.Linear(4, 4), Square())])
    found = girih.nn.compile(many, inputs(4))
    assert found.parameters.name == "CKKS_D35" and found.bootstrappings == 1


class Unknown(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(8, 8), layer)

    def forward(self, x):
        return self.inner(x)


class Calls(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.offset = nn.Parameter(torch.ones(8))

    def forward(self, x):
        return x + self.offset


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        (nn.LogSoftmax(1), r"inner.1 \(LogSoftmax\): apply it to what is decrypted"),
        (nn.Softmax(0), r"inner.1 \(Softmax\): along axis 0 of \(inputs, \*\(8,\)\): along the"),
        (nn.GroupNorm(2, 8), r"inner.1 \(GroupNorm\): BatchNorm2d"),
        (nn.LeakyReLU(), r"inner.1 \(LeakyReLU\): ReLU, SiLU or GELU"),
        (nn.PReLU(), r"inner.1 \(PReLU\): it is none of Linear, Conv2d"),
        (nn.BatchNorm1d(8, track_running_stats=False), r"inner.1 \(BatchNorm1d\): without running"),
        (nn.RNN(8, 4), r"inner.1 \(RNN\): it is none of"),
    ],
)  # fmt: skip
def test_layers_that_are_not_known(layer, words):
    with pytest.raises(errors.UnsupportedError, match="Unknown: layer " + words):
        girih.nn.compile(Unknown(layer), inputs(8), set=insecure(3))


@pytest.mark.parametrize(
    ("net", "shape", "words"),
    [
        (Calls(lambda x: torch.softmax(x, 1)), (8, 2), r"softmax \(Softmax\): along axis 1"),
        (nn.Softmax(-1), (2, 4, 4), r"\(Softmax\): along axis -1 of .*: along the last, of one"),
        (Calls(lambda x: x[:, :1] * x), (8,), r"\(getitem\): it is none of"),
        (Calls(lambda x: x**3), (8,), r"\(pow\): products of two values of one shape"),
        (nn.LayerNorm(4), (2, 4), r"\(LayerNorm\): over \(4,\) of \(2, 4\)"),
        (Calls(lambda x: x.exp()), (8,), r"\(exp\): it is none of"),
        (Calls(lambda x: x.reshape(-1)), (8,), r"\(reshape\): it must leave the batch"),
        (Calls(lambda x: x), (8,), "computes nothing of its input"),
        (Calls(lambda x: x if x.sum() > 0 else -x), (8,), "torch.fx cannot trace it"),
        (Own(), (8,), r"layer offset \(offset\): tensors of one's own"),
        (nn.MaxPool2d(2), (1, 4, 4), r"\(MaxPool2d\): AvgPool2d"),
        (nn.AdaptiveAvgPool2d(2), (1, 4, 4), r"\(AdaptiveAvgPool2d\): to 2 x 2 of shape"),
        (nn.AvgPool2d(2, ceil_mode=True), (1, 4, 4), r"\(AvgPool2d\): ceil_mode"),
        (nn.Conv2d(1, 1, 3, padding=1, padding_mode="reflect"), (1, 4, 4), "only zeros"),
        (nn.Linear(4, 4), (1, 4, 4), r"\(Linear\): of numbers of shape \(1, 4, 4\): Flatten"),
        (nn.Conv2d(1, 9, 3, padding=1), (1, 16, 16), r"results lie in 4096 slots, .* has 512"),
        (nn.Sequential(nn.Linear(4, 4), nn.ReLU()), (4,), r"\(ReLU\): levels end there"),
    ],
)  # fmt: skip
def test_networks_that_are_refused(net, shape, words):
    with pytest.raises(errors.UnsupportedError, match=words):
        girih.nn.compile(net, inputs(*shape), set=insecure(3))


def test_ranges_and_errors_that_are_refused():
    net, x = nn.Sequential(nn.Linear(4, 4), nn.ReLU()), inputs(4)
    with pytest.raises(errors.UnsupportedError, match=r"\(ReLU\): it takes 20 levels"):
        girih.nn.compile(net, x, set="INSECURE_CKKS_D35_N10", error=2**-18)
    with pytest.raises(errors.ApproximationError, match=r"Sequential: layer 1 \(SiLU\) on \[-"):
        girih.nn.compile(
            nn.Sequential(nn.Linear(4, 4), nn.SiLU()), 1e5 * x, set=insecure(3), error=2**-20
        )
    dead = nn.Linear(4, 4)
    nn.init.zeros_(dead.weight)
    with pytest.raises(errors.UnsupportedError, match="all of its weights are 0"):
        girih.nn.compile(dead, x, set=insecure(3))
    nn.init.constant_(dead.weight, float("nan"))
    with pytest.raises(errors.UnsupportedError, match="weight has numbers that are not finite"):
        girih.nn.compile(dead, x, set=insecure(3))


def test_one_wrong_argument_of_compile():
    net, x = nn.Linear(4, 4), inputs(4)
    keywords = {
        "set": insecure(3), "calibration": x, "margin": 1.5, "error": 2**-9, "rows": 2,
        "samples": 1, "costs": girih.nn.Costs.modelled(insecure(3)),
    }  # fmt: skip
    girih.nn.compile(net, x, **keywords)
    assert tried("nn.compile", girih.nn.compile, (net, x), keywords, [*NONSENSE, *MORE])
