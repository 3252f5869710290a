"""Vectors of numbers: operators against NumPy, functions, bootstrapping, recordings."""

import pickle

import numpy as np
import pytest

import girih
from girih import ckks


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def near(client, encrypted, expected, error=1e-5):
    complex = np.iscomplexobj(expected)
    got = client.decrypt(encrypted, complex=complex)
    assert got.shape == np.shape(expected) == encrypted.shape
    assert got.dtype == (np.complex128 if complex else np.float64)
    assert np.abs(got - expected).max() < error


def test_arrays_real_and_complex(ckks_client, rng):
    real, both = rng.uniform(-1, 1, 16), rng.uniform(-1, 1, (3, 8)) + 1j * rng.uniform(-1, 1, 8)
    near(ckks_client, ckks_client.encrypt(real), real)
    near(ckks_client, ckks_client.encrypt(both, magnitude=3), both)
    near(ckks_client, ckks_client.encrypt(both.T[:, :2].T, magnitude=3), both.T[:, :2].T)
    integers = ckks_client.encrypt([1, 0, -1, 2], magnitude=2)
    near(ckks_client, integers, np.array([1.0, 0, -1, 2]))
    padded = ckks_client.encrypt([1, 2, 3], slots=4, magnitude=4)
    near(ckks_client, padded, np.array([1.0, 2, 3, 0]))
    low = ckks_client.encrypt(real, level=1)
    assert (low.level, low.slots, low.shape) == (1, 16, (16,))
    assert low.precision_bits > 15
    public = ckks_client.public_key()
    near(ckks_client, public.encrypt(real), real)
    again = pickle.loads(pickle.dumps(public))
    near(ckks_client, again.encrypt(real), real)
    near(ckks_client, again.encrypt(8 * real, magnitude=8), 8 * real)


def test_magnitudes_are_declared_and_nothing_of_values_is_told(ckks_client):
    public = ckks_client.public_key()
    for key in (ckks_client, public):
        told = set()
        for values in ([0.5, 1000], [-7.25, 3], [2j, 0]):
            with pytest.raises(girih.errors.MismatchError, match=r"magnitude=m") as refused:
                key.encrypt(values)
            told.add(str(refused.value))
        assert len(told) == 1
        for wrong in (0, -1, float("nan"), float("inf")):
            with pytest.raises(girih.errors.MismatchError, match="finite and positive"):
                key.encrypt([0.5], magnitude=wrong)
        # Bytes before the limbs: header, set, level, slots, scale and noise.
        heads = set()
        for values in ([0, 0], [0.5, -0.25], [999, -1e-9]):
            data = key.encrypt(values, magnitude=1000).to_bytes()
            limbs = len(data) - len(data) % 4096
            # Behind them both checksums, and how long the second run of limbs is.
            heads.add((len(data), data[: len(data) - limbs - 16 - 3 - 8]))
        assert len(heads) == 1


def test_operators(ckks_client, ckks_server, rng):
    a, b = rng.uniform(-1, 1, (2, 16))
    x, y = ckks_client.encrypt(a), ckks_client.encrypt(b)
    with ckks_server:
        for got, expected in (
            (x + y, a + b),
            (x - y, a - b),
            (x * y, a * b),
            (-x, -a),
            (x + 0.5, a + 0.5),
            (1 - x, 1 - a),
            (3 * x, 3 * a),
            (x / 4, a / 4),
            (x + b, a + b),
            (b - x, b - a),
            (b * x, a * b),
            (x / (b + 2), a / (b + 2)),
            (x * 1j, a * 1j),
            (x.square(), a**2),
            (x**3, a**3),
            (x**1, a),
        ):
            near(ckks_client, got, expected)
        z = (x * y).rotate(1)
        # Results stay on the device, and carry their server.
        assert z.device == "cpu" and x.device is None
    near(ckks_client, z * z, np.roll(a * b, -1) ** 2)
    near(ckks_client, x + z, a + np.roll(a * b, -1))


def test_slots(ckks_client, ckks_server, rng):
    a = rng.uniform(-1, 1, 16)
    with ckks_server:
        x = ckks_client.encrypt(a)
        near(ckks_client, x.rotate(3), np.roll(a, -3))
        near(ckks_client, x.rotate(-1), np.roll(a, 1))
        near(ckks_client, x.sum(), np.full(16, a.sum()))
        near(ckks_client, x.sum(2), a + np.roll(a, -1))
        near(ckks_client, x.with_slots(32), np.tile(a, 2))
        c = a + 1j * a[::-1]
        near(ckks_client, ckks_client.encrypt(c, magnitude=2).conjugate(), c.conj())
        with pytest.raises(girih.errors.MissingKeyError, match="there are"):
            x.rotate(7)


def test_magnitudes_are_declared(ckks_client, ckks_server, rng):
    a = rng.uniform(0.3, 0.5, 16)
    with ckks_server:
        x = ckks_client.encrypt(a).with_magnitude(0.5)
        with pytest.raises(girih.errors.MismatchError, match="with_magnitude"):
            (ckks_client.encrypt(a, level=0) * 400) * 400
        with pytest.raises(girih.errors.MismatchError, match="largest magnitude"):
            x.with_magnitude(-1.0)
        # Without a word on y the same squares may reach more than there is room for.
        y = 2 * x
        for _ in range(2):
            y = (y * y).with_magnitude(1)
        near(ckks_client, y, (2 * a) ** 4)
        assert y.precision_bits > 15


def test_what_may_wrap_around_is_refused_or_trusted_to_no_bit(ckks_client, ckks_keys, rng):
    a = rng.uniform(-1, 1, 16)
    with girih.ckks.ServerKey(ckks_keys, "cpu", may_wrap=True):
        x = (ckks_client.encrypt(a, level=0) * 400) * 400
        assert x.precision_bits == 0


def test_batches(ckks_client, ckks_server, rng):
    a, b = rng.uniform(-1, 1, (2, 4, 8))
    with ckks_server:
        x, y = ckks_client.encrypt(a), ckks_client.encrypt(b)
        near(ckks_client, x * y, a * b)
        near(ckks_client, (x + y)[1], (a + b)[1])
        near(ckks_client, x[-1], a[-1])
        near(ckks_client, (x + y)[1:3], (a + b)[1:3])
        near(ckks_client, x + b[0], a + b[0])
        assert len(x) == 4 and len((x + y)[:2]) == 2
        # Batches broadcast, are indexed and reshaped along all axes but the slots.
        near(ckks_client, x * y[0], a * b[0])
        near(ckks_client, (x + y)[2] - x, (a + b)[2] - a)
        near(ckks_client, (x + y)[[3, 0, 0]], (a + b)[[3, 0, 0]])
        near(ckks_client, (x + y)[::-2], (a + b)[::-2])
        four = x.reshape(2, 2, -1)
        assert (four.shape, four.ndim, four.size) == ((2, 2, 8), 3, 32)
        near(ckks_client, four[:, 1] * y[:2], a.reshape(2, 2, 8)[:, 1] * b[:2])
        near(ckks_client, four + y[:2], a.reshape(2, 2, 8) + b[:2])
        near(ckks_client, x.to_device(ckks_server).to_host()[1].reshape(1, 8), a[1:2])
        with pytest.raises(girih.errors.MismatchError, match="keep their slots"):
            x.reshape(8, 4)
        near(ckks_client, x.mean() * 8, np.tile(a.sum(axis=1)[:, None], 8))
        with pytest.raises(IndexError):
            x[4]
        with pytest.raises(girih.errors.MismatchError, match="do not go together"):
            x + ckks_client.encrypt(b[:2])


def devices():
    """The CPU, and a device of wgpu where the package has that and the machine one."""
    return ["cpu", *(d.id for d in girih.devices() if d.kind == "wgpu")][:2]


@pytest.mark.parametrize("device", devices())
def test_keys_that_are_made_while_they_are_loaded_are_the_same(device):
    def owner():
        return ckks.ClientKey.generate_seeded_for_tests("INSECURE_CKKS_D40_N10", bytes(range(32)))

    wanted = {"rotations": [1, -3], "sums": [4], "conjugation": True, "bootstrapping": 16}
    heard, first, second = [], owner(), owner()
    whole = ckks.ServerKey(first.evaluation_keys(**wanted), device, may_wrap=True)
    flowing = second.server_key(
        device, **wanted, may_wrap=True, progress=lambda *step: heard.append(step)
    )
    assert flowing.key_id == whole.key_id == first.key_id and flowing.device == whole.device
    assert flowing.device_bytes == whole.device_bytes
    what, done, total = heard[-1]
    assert "evaluation keys" in what and done == total > 0
    x, y = owner().encrypt(np.linspace(-0.5, 0.5, 16)), []
    for server in (whole, flowing):
        with server:
            z = x.to_device(server)
            z = ((z * z).rotate(1) + z.conjugate()).sum(4).bootstrap()
            y.append((z.rotate(-3) * z).to_host().to_bytes())
    # Word for word, whoever made the keys first.
    assert y[0] == y[1]
    with pytest.raises(girih.errors.MissingKeyError), flowing:
        x.rotate(5)
    with pytest.raises(girih.errors.MismatchError, match="nothing to make keys for"):
        first.server_key(device, multiplication=False)
    with pytest.raises(girih.errors.NoDeviceError):
        first.server_key("cpu:7")


def test_matrices(rng):
    client = ckks.ClientKey.generate("INSECURE_CKKS_D40_N10")
    entries, a = rng.uniform(-1, 1, (5, 8)), rng.uniform(-1, 1, 8)
    matrix = ckks.Matrix(entries)
    shift = ckks.LinearMap(8, {1: np.full(8, 2.0), 0: np.arange(8.0)})
    rotations = ckks.Matrix.product_rotations(2)
    square, tall, wide = (rng.uniform(-1, 1, shape) for shape in ((8, 8), (16, 8), (3, 3)))
    # Arrays will do; a matrix for more slots than it has columns says so.
    padded = ckks.Matrix(wide, slots=8)
    maps = [matrix, shift, matrix.T, square.T, tall, padded, padded.T]
    keys = client.evaluation_keys(maps=maps, rotations=rotations, sums=[8])
    server = ckks.ServerKey(keys, device="cpu")
    x = client.encrypt(a)
    with server:
        for product in (matrix @ x, entries @ x, x.transform(matrix)):
            assert np.abs(client.decrypt(product)[:5] - entries @ a).max() < 1e-5
        near(client, x.transform(shift), 2 * np.roll(a, -1) + np.arange(8) * a)
        near(client, x @ square, a @ square)
        near(client, x @ ckks.Matrix(square), a @ square)
        assert np.abs(client.decrypt(x @ tall.T[:, :5])[:5] - a @ tall.T[:, :5]).max() < 1e-5
        # More results than slots: the vector repeats.
        near(client, tall @ x, tall @ a)
        # Columns that are missing are zeros, whatever the other slots hold.
        for product in (wide @ x, padded @ x):
            assert np.abs(client.decrypt(product)[:3] - wide @ a[:3]).max() < 1e-5
        assert np.abs(client.decrypt(x @ padded)[:3] - a[:3] @ wide).max() < 1e-5
        for product in (x @ a, a @ x):
            near(client, product, np.full(8, a @ a))
        recorded = server.record(lambda v: (v @ square, tall @ v, wide @ v), x)
        for got, wanted in zip(recorded(x), (a @ square, tall @ a, wide @ a[:3])):
            assert np.abs(client.decrypt(got)[: len(wanted)] - wanted).max() < 1e-5
        for wrong, words in (
            (lambda: square @ client.encrypt(a[:4]), "has to have 8"),
            (lambda: ckks.Matrix(wide) @ x, "slots=8"),
            (lambda: x.transform(ckks.LinearMap(4, {0: np.ones(4)})), r"with_slots\(4\)"),
            (lambda: x @ a[:4], "slots|length|values"),
        ):
            with pytest.raises(girih.errors.MismatchError, match=words):
                wrong()
        p, q = rng.uniform(-1, 1, (2, 2, 2))
        product = client.encrypt(p.ravel()) @ client.encrypt(q.ravel())
        near(client, product, (p @ q).ravel())


def test_functions(ckks_client, ckks_server, rng):
    a = rng.uniform(-4, 4, 16)

    def sigmoid(t):
        return 1 / (1 + np.exp(-t))

    with ckks_server:
        x = ckks_client.encrypt(a, magnitude=4)
        y = x.apply(sigmoid, (-4, 4), 1e-3)
        near(ckks_client, y, sigmoid(a), 2e-3)
        p = ckks.Polynomial.fit(sigmoid, (-4, 4), 1e-3)
        assert y.level == x.level - p.levels and p.error <= 1e-3
        near(ckks_client, x.polynomial(p), np.array([p(t) for t in a]))
        square = ckks.Polynomial.from_powers([1, 0, 2], (-1, 1))
        b = a / 4
        near(ckks_client, ckks_client.encrypt(b).polynomial(square), 1 + 2 * b**2)
        assert pickle.loads(pickle.dumps(p)) == p and p.degree == len(p.coefficients) - 1

        class Mine(Exception):
            pass

        def fail(t):
            raise Mine(t)

        for work in (
            lambda: x.apply(fail, (-1, 1), 0.1),
            lambda: ckks.Polynomial.fit(fail, (0, 1), 0.1),
        ):
            with pytest.raises(Mine):
                work()
        with pytest.raises(TypeError):
            x.apply(lambda t: "one", (-1, 1), 0.1)
        with pytest.raises(girih.errors.ApproximationError, match="levels"):
            x.apply(abs, (-1, 1), 1e-9)


def test_sign_and_maximum(ckks_client, ckks_server, rng):
    sign = ckks.CompositeSign(0.1, 0.02)
    a, b = rng.uniform(0.1, 0.5, (2, 16)) * [[1], [-1]]
    with ckks_server:
        x, y = ckks_client.encrypt(a), ckks_client.encrypt(b)
        near(ckks_client, x.sign(sign), np.ones(16), 0.03)
        near(ckks_client, x.compare(y, sign), np.ones(16), 0.03)
        near(ckks_client, x.maximum(y, sign), a, 0.05)
        near(ckks_client, x.minimum(y, sign), b, 0.05)


def test_bootstrapping(ckks_client, ckks_server, rng):
    a = rng.uniform(-1, 1, 16)
    spent = ckks_client.encrypt(a, level=0)
    with ckks_server:
        with pytest.raises(girih.errors.OutOfLevelsError, match="bootstrap"):
            spent * spent
        fresh = spent.bootstrap()
        assert fresh.level == ckks_client.parameters.default_level
        near(ckks_client, fresh, a, 1e-3)
        near(ckks_client, fresh * fresh, a * a, 1e-3)
        # Of one result, three promises: for any slots, for unlike ones, and after two passes.
        promised = spent.bootstrap(message_ratio=8).precision_bits
        assert spent.bootstrap(message_ratio=8, independent_slots=True).precision_bits > promised
        twice = spent.bootstrap(message_ratio=8, meta_bits=8)
        assert twice.precision_bits > promised and twice.level == fresh.level - 1
        phased = ckks_client.encrypt(a, level=1).bootstrap(message_ratio=8, phases=1)
        assert phased.precision_bits > promised
        near(ckks_client, phased, a, 1e-3)


def test_recordings(ckks_client, ckks_server, rng):
    a, b = rng.uniform(-1, 1, (2, 16))
    x, y = ckks_client.encrypt(a), ckks_client.encrypt(b)
    calls = []

    def program(s, t):
        calls.append(1)
        return (s * t + 1).rotate(1), s - 2 * t

    recording = ckks_server.record(program, x, y)
    for p, q in ((a, b), (b, a)):
        first, second = recording(ckks_client.encrypt(p), ckks_client.encrypt(q))
        near(ckks_client, first, np.roll(p * q + 1, -1))
        near(ckks_client, second, p - 2 * q)
    assert calls == [1]
    level = ckks_client.parameters.default_level
    single = ckks_server.record(lambda s: s.apply(np.cos, (-1, 1), 1e-3), (level, 16))
    near(ckks_client, single(x), np.cos(a), 2e-3)
    batch = rng.uniform(-1, 1, (3, 16))
    near(ckks_client, single(ckks_client.encrypt(batch)), np.cos(batch), 2e-3)
    kept = []
    ckks_server.record(lambda s: kept.append(s) or s + 1, level)
    for work, message in (
        (lambda: kept[0] + 1, "finished"),
        (lambda: ckks_server.record(lambda s: s + x, level), "pass them to record"),
        (lambda: ckks_server.record(lambda s: s.level, level), "not known"),
        (lambda: ckks_server.record(lambda s: s, 99), "level 99"),
        (lambda: ckks_server.record(lambda: None), "at least one input"),
        (lambda: single(), "0 inputs where 1"),
    ):
        with pytest.raises(girih.errors.MismatchError, match=message):
            work()
    for wrong in (lambda s: 5, lambda s: None, lambda s: (s, 1)):
        with pytest.raises(TypeError, match="must return"):
            ckks_server.record(wrong, level)


def test_bytes_pickles_and_sharing(ckks_client, ckks_keys, ckks_server, rng):
    a = rng.uniform(-1, 1, (2, 16))
    x = ckks_client.encrypt(a)
    with ckks_server:
        y = x + 1
    for batch, expected in ((x, a), (y, a + 1), (x[0], a[0])):
        buffers = []
        data = pickle.dumps(batch, 5, buffer_callback=buffers.append)
        near(ckks_client, pickle.loads(data, buffers=buffers), expected)
        near(ckks_client, pickle.loads(pickle.dumps(batch, 2)), expected)
    for some in (x, x[0], x.reshape(2, 1, 16)):
        again = ckks.Ciphertexts.from_bytes(some.to_bytes())
        assert again.shape == some.shape
        near(ckks_client, again, ckks_client.decrypt(some))
    assert 0 < x.largest_error < 2.0**-20
    values, precision = ckks_client.decrypt_to_share(x, 10, error=x.largest_error)
    assert values.shape == (2, 16) and np.abs(values - a).max() < 2.0 ** (3 - precision)
    assert pickle.loads(pickle.dumps(ckks_keys)).kinds == ckks_keys.kinds
    own = ckks.ClientKey.from_bytes(ckks_client.to_bytes(), "INSECURE_CKKS_D40_N10")
    near(own, x, a)
    with pytest.raises(girih.errors.SecretKeyError):
        pickle.dumps(ckks_client)
    with pytest.raises(girih.errors.PickleError):
        pickle.dumps(ckks_server)
    parameters = ckks_client.parameters
    assert pickle.loads(pickle.dumps(parameters)) == parameters
    assert parameters.slots == 512 and "CKKS_D40" in ckks.Parameters.names()


def test_a_set_of_ones_own_and_keys_for_its_lower_levels(rng):
    made = {"log2_scale": 30, "auxiliary": 2, "levels": 3}
    own = ckks.Parameters.generate("INSECURE_OWN", log2_degree=9, **made)
    assert (own.slots, own.default_level, own.bootstraps) == (256, 3, False)
    assert ckks.Parameters.from_toml(own.to_toml()) == own
    with pytest.raises(girih.errors.ParameterError, match="INSECURE_"):
        ckks.Parameters.generate("OWN", log2_degree=9, **made)
    with pytest.raises(girih.errors.ParameterError, match="normal_levels"):
        ckks.Parameters.generate("OWN", log2_degree=12, **made | {"levels": 10})
    client = ckks.ClientKey.generate_seeded_for_tests(own, bytes(32))
    every, low = (client.evaluation_keys(rotations=[1], level=level) for level in (None, 1))
    assert low.nbytes < every.nbytes
    values = rng.uniform(-1, 1, 256)
    with ckks.ServerKey(low, device="cpu"):
        x = client.encrypt(values)
        near(client, x.adjust(1).rotate(1), np.roll(values, -1), 1e-3)
        assert x.adjust(1).level == 1
        with pytest.raises(girih.Error, match="level"):
            x.rotate(1)
    # A level for each rotation.
    each = client.evaluation_keys(rotations={1: 1, 2: 2})
    with ckks.ServerKey(each, device="cpu"):
        near(client, x.adjust(2).rotate(2), np.roll(values, -2), 1e-3)
        near(client, x.adjust(1).rotate(1), np.roll(values, -1), 1e-3)
        with pytest.raises(girih.Error, match="levels up to 1"):
            x.adjust(2).rotate(1)


def test_a_sign_of_given_degrees():
    sign = ckks.CompositeSign.with_degrees(0.1, [7, 5])
    assert [p.degree for p in sign.polynomials] == [7, 5]
    first, second = sign.polynomials
    assert sign(0.1) == pytest.approx(second(first(0.1))) == pytest.approx(1, abs=sign.error * 1.01)
    with pytest.raises(girih.Error, match="odd"):
        ckks.CompositeSign.with_degrees(0.1, [4])
