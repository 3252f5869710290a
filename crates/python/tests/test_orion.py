"""girih as the back end of Orion: networks against themselves in the clear."""

import contextlib
import gc
import importlib.util
import io
import os
import sys

import numpy as np
import pytest

import girih
import girih.orion

missing = [name for name in ("torch", "orion") if importlib.util.find_spec(name) is None]
if missing and not os.environ.get("GIRIH_TEST_ORION"):
    why = f"{' and '.join(missing)} not installed: `cargo xtask python --orion` installs them"
    pytest.skip(why, allow_module_level=True)

import orion
import orion.nn as on
import torch
from orion.nn.activation import Chebyshev

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def installed():
    girih.orion.install(device="cpu", insecure=True)
    torch.manual_seed(7)
    yield
    orion.core.orion.scheme.delete_scheme()
    girih.orion.uninstall()


def config(levels, *, log_scale=40, log_n=10, ring="standard", boot=False, **more):
    ckks = {"LogN": log_n, "LogQ": [log_scale + 10] + [log_scale] * levels, "LogP": [61]}
    found = {
        "ckks_params": ckks | {"LogScale": log_scale, "H": 192, "RingType": ring},
        "orion": {"backend": "lattigo", "debug": False} | more,
    }
    return found | ({"boot_params": {"LogP": [61] * 8}} if boot else {})


def by_coefficients(layer):
    """An activation as the polynomial that it is where it is encrypted."""
    polynomial = np.polynomial.Chebyshev(np.asarray(layer.coeffs))

    def evaluate(x):
        x = layer.prescale * x.detach().double() + layer.constant
        return torch.as_tensor(polynomial(x.numpy())).float()

    return evaluate


def run(net, shape, settings, reach=0.5):
    """What a network gives in the clear, by the same polynomials, and encrypted; its back end."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        scheme = orion.init_scheme(settings)
        x = (2 * torch.rand(1, *shape) - 1) * reach
        net.eval()
        orion.fit(net, x)
        for layer in net.modules():
            if isinstance(layer, Chebyshev):
                layer.fn = by_coefficients(layer)
        net.eval()
        clear = net(x).detach().numpy()
        level = orion.compile(net)
        net.he()
        got = net(orion.encrypt(orion.encode(x, level))).decrypt().decode().numpy()
    return clear.ravel(), got.ravel()[: clear.size], scheme.backend


class Dense(on.Module):
    def __init__(self):
        super().__init__()
        self.flatten = on.Flatten()
        self.fc1 = on.Linear(16, 12)
        self.bn1 = on.BatchNorm1d(12)
        self.act1 = on.Quad()
        self.fc2 = on.Linear(12, 4)

    def forward(self, x):
        return self.fc2(self.act1(self.bn1(self.fc1(self.flatten(x)))))


@pytest.mark.parametrize("ring", ["standard", "ConjugateInvariant"])
@pytest.mark.parametrize("embedding", ["hybrid", "square"])
def test_dense_layers_give_what_they_give_in_the_clear(ring, embedding):
    settings = config(3, ring=ring, embedding_method=embedding)
    clear, got, backend = run(Dense(), (16,), settings)
    assert np.abs(got - clear).max() < 1e-5
    assert backend.slots == (512 if ring == "standard" else 1024)
    assert backend.parameters.name.startswith("INSECURE_ORION_")


class Convolutions(on.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = on.Conv2d(1, 4, kernel_size=3, padding=1, stride=2)
        self.bn1 = on.BatchNorm2d(4)
        self.act1 = on.SiLU(degree=7)
        self.conv2 = on.Conv2d(4, 4, kernel_size=3, padding=1, bias=False)
        self.pool = on.AvgPool2d(2)
        self.flatten = on.Flatten()
        self.fc = on.Linear(16, 3)

    def forward(self, x):
        x = self.pool(self.conv2(self.act1(self.bn1(self.conv1(x)))))
        return self.fc(self.flatten(x))


@pytest.mark.parametrize("fuse", [True, False])
def test_convolutions_norms_and_polynomials_fused_and_apart(fuse):
    # Orion counts a level too few for a polynomial that it fuses where all is below 1.
    clear, got, _ = run(Convolutions(), (1, 8, 8), config(10, fuse_modules=fuse), reach=8)
    assert np.abs(got - clear).max() < 1e-5


def test_a_matrix_of_several_blocks():
    class Wide(on.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.act, self.fc2 = on.Linear(700, 600), on.Quad(), on.Linear(600, 5)

        def forward(self, x):
            return self.fc2(self.act(self.fc1(x)))

    clear, got, backend = run(Wide(), (700,), config(3))
    assert backend.slots == 512
    assert np.abs(got - clear).max() < 1e-4


class Residual(on.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.act1 = on.Linear(16, 16), on.ReLU(degrees=[3, 3], logalpha=2)
        self.fc2, self.act2, self.add = on.Linear(16, 16), on.Quad(), on.Add()
        self.fc3 = on.Linear(16, 4)

    def forward(self, x):
        x = self.act1(self.fc1(x))
        return self.fc3(self.add(x, self.act2(self.fc2(x))))


def test_a_network_that_bootstraps():
    clear, got, backend = run(Residual(), (16,), config(8, boot=True))
    assert backend.parameters.name == "INSECURE_CKKS_D40_30BIT_LOW_STC_FIRST_N10"
    assert np.abs(got - clear).max() < 1e-4


def test_the_compiler_of_pytorch_calls_the_back_end_and_looks_no_further(monkeypatch):
    # It made tensors of Orion half, where it traced what they are made of.
    broken = []
    monkeypatch.setattr(sys, "unraisablehook", broken.append)
    run(Residual(), (16,), config(8, boot=True))
    gc.collect()
    assert [str(one.exc_value) for one in broken] == []


def scheme(**more):
    return orion.init_scheme(config(3) | more)


def test_operations_on_tensors():
    scheme()
    rng = np.random.default_rng(5)
    a, b = (torch.tensor(rng.uniform(-1, 1, 512), dtype=torch.float32) for _ in range(2))
    x, y = orion.encrypt(orion.encode(a)), orion.encrypt(orion.encode(b))
    plain = orion.encode(b, level=x.level())

    def near(tensor, expected):
        error = (tensor.decrypt().decode() - expected).abs().max()
        assert error < 1e-5 * max(1, expected.abs().max())

    near(-x, -a)
    near(x + y, a + b)
    near(x - y, a - b)
    near(x * y, a * b)
    near(x + 0.25, a + 0.25)
    near(x - 0.25, a - 0.25)
    near(x * 0.3, a * 0.3)
    near(x * 7, a * 7)
    near(x * (1 << 20), a * (1 << 20))
    near(x * -100_001 * 2.0**-17, a * -100_001 / 2**17)
    near(x + plain, a + b)
    near(x - plain, a - b)
    near(x * plain, a * b)
    near(x.roll(3), a.roll(-3))
    assert ((x * y).level(), (x * y).scale(), x.scale()) == (2, 1 << 40, 1 << 40)
    x += y
    x *= 0.5
    x -= 0.125
    near(x, (a + b) / 2 - 0.125)
    assert (x.level(), x.slots(), x.degree()) == (2, 512, 1)
    live = len(scheme_backend().GetLiveCiphertexts())
    del y
    assert len(scheme_backend().GetLiveCiphertexts()) == live - 1


def scheme_backend():
    return orion.core.orion.scheme.backend


def test_scales_multiply_values_or_are_refused():
    scheme()
    values = torch.tensor([0.5, -0.25] * 256)
    x = orion.encrypt(orion.encode(values))
    x.set_scale(1 << 39)
    assert (x.decrypt().decode() - 2 * values).abs().max() < 1e-6
    with pytest.raises(girih.errors.UnsupportedError, match="SetCiphertextScale: .* by 0.5"):
        x.set_scale(1 << 40)
    plain = orion.encode(values)
    plain.set_scale(1 << 41)
    assert (plain.decode() - values / 2).abs().max() == 0
    assert plain.scale() == 1 << 41


def test_products_are_rescaled_before_they_meet_others():
    backend = scheme().backend
    x = backend.Encrypt(backend.Encode([0.5] * 512, 3, 1 << 40))
    product = backend.MulRelinCiphertextNew(x, x)
    assert backend.GetCiphertextScale(product) == 1 << 80
    assert backend.GetCiphertextLevel(product) == 3
    with pytest.raises(girih.errors.MismatchError, match="Rescale"):
        backend.AddCiphertextNew(product, x)
    with pytest.raises(girih.errors.MismatchError, match="Rescale"):
        backend.MulRelinCiphertextNew(product, x)
    both = backend.RescaleNew(backend.AddCiphertextNew(product, product))
    assert backend.GetCiphertextLevel(both) == 2
    assert backend.Decode(backend.Decrypt(both))[7] == pytest.approx(0.5, abs=1e-6)


def test_keys_asked_for_later_and_keys_as_bytes():
    backend = scheme().backend
    x = backend.Encrypt(backend.Encode([0.5] + [0.0] * 511, 3, 1 << 40))
    double = backend.AddCiphertextNew(x, x)
    backend.AddRotationKey(5)
    moved = backend.RotateNew(double, -5)
    assert backend.Decode(backend.Decrypt(moved))[5] == pytest.approx(1, abs=1e-6)
    data, _ = backend.SerializeSecretKey()
    backend.LoadSecretKey(data)
    again = backend.RotateNew(moved, 5)
    assert backend.Decode(backend.Decrypt(again))[0] == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (config(3, log_scale=24), "LogScale: 24"),
        (config(3, io_mode="load"), "io_mode: load"),
        (config(40, log_n=13), "LogQ: 40 levels"),
        (config(8, log_n=15, boot=True), "LogN: 16384 slots"),
        (config(8, log_n=16, log_scale=42, boot=True), "LogScale: 42"),
        (config(20, log_n=16, boot=True), "LogQ: 20 levels"),
    ],
)
def test_what_no_set_has_is_refused_by_its_name(settings, name):
    girih.orion.install(device="cpu")
    with pytest.raises(girih.errors.ParameterError, match=name):
        orion.init_scheme(settings)


def test_levels_of_another_size_are_refused():
    settings = config(3)
    settings["ckks_params"]["LogQ"][2] = 45
    with pytest.raises(girih.errors.ParameterError, match="LogQ.* of the scale"):
        orion.init_scheme(settings)


def test_values_are_declared_and_not_told():
    backend = scheme().backend
    with pytest.raises(girih.errors.MismatchError, match="magnitude=m") as refused:
        backend.Encrypt(backend.Encode([17.125], 3, 1 << 40))
    assert "17" not in str(refused.value)


def test_uninstalled_orion_has_its_own_back_end():
    girih.orion.uninstall()
    assert type(orion.init_scheme(config(3, log_n=11)).backend).__name__ == "LattigoLibrary"


def test_a_sign_of_given_degrees():
    backend = scheme().backend
    flat = backend.GenerateMinimaxSignCoeffs([7, 5], 128, 3, 12, 0)
    assert len(flat) == 14
    first, second = np.polynomial.Chebyshev(flat[:8]), np.polynomial.Chebyshev(flat[8:])
    x = np.linspace(2.0**-3, 1, 100)
    assert np.abs(second(first(x)) - 1).max() < 0.02
    assert np.abs(second(first(-x))).max() < 0.02
