"""NumPy's functions of ciphertexts: right, or refused; never the ciphertext as it came."""

import numpy as np
import pytest

import girih
from girih import ckks, models


@pytest.fixture
def bits(client):
    a = np.array([[1, 0, 1], [0, 0, 1]], bool)
    return a, client.encrypt(a), client.decrypt


@pytest.fixture
def integers(integer_client, integer_server):
    a = np.array([[1, 20, 3], [200, 5, 6]], np.uint8)
    return a, integer_client.encrypt_integers(a).to_device(integer_server), integer_client.decrypt


#: What moves entries, as NumPy moves those of an array.
MOVES = [
    lambda x: np.roll(x, 1), lambda x: np.roll(x, -1, axis=1), lambda x: np.flip(x),
    lambda x: np.flip(x, axis=0), np.fliplr, np.transpose, np.ravel, lambda x: np.repeat(x, 2, 0),
    lambda x: np.reshape(x, (3, 2)), lambda x: np.expand_dims(x, 0), lambda x: np.take(x, [4, 0]),
    lambda x: np.tile(x, 2), lambda x: np.swapaxes(x, 0, 1), np.rot90,
    lambda x: np.concatenate([x, x[:1]]), lambda x: np.stack([x, x]),
]  # fmt: skip


@pytest.mark.parametrize("kind", ["bits", "integers"])
def test_entries_are_moved(kind, request):
    a, x, read = request.getfixturevalue(kind)
    for move in MOVES:
        assert np.array_equal(read(move(x)), move(a))
    assert (np.shape(x), np.ndim(x), np.size(x)) == ((2, 3), 2, 6)


def test_sums_and_choices_of_integers(integers):
    a, x, read = integers
    assert np.array_equal(read(np.sum(x, axis=0)), a.sum(axis=0))
    assert np.array_equal(read(np.clip(x, 3, 20)), np.clip(a, 3, 20))
    assert np.array_equal(read(np.where(x > 5, x, 0)), np.where(a > 5, a, 0))
    with pytest.raises(TypeError, match="known condition"):
        np.where(a > 5, x, 0)


def test_vectors(ckks_client, ckks_server):
    a = np.random.default_rng(1).uniform(-1, 1, (3, 16))
    with ckks_server:
        x = ckks_client.encrypt(a)
        for function in (
            lambda v: np.roll(v, -3, axis=1), lambda v: np.roll(v, 1, axis=-1),
            lambda v: np.roll(v, 1, axis=0), lambda v: np.flip(v, axis=0),
            lambda v: np.roll(v[0], -1), lambda v: np.concatenate([v, v[:1]]),
            lambda v: np.repeat(v, 2, axis=0), lambda v: np.stack([v[0], v[2]]),
            lambda v: np.reshape(v, (1, 3, 16)), lambda v: np.dot(v[0], v[1]) * np.ones(16)
            if isinstance(v, np.ndarray) else np.dot(v[0], a[1]),
            lambda v: np.broadcast_to(v[0], (2, 16)),
        ):  # fmt: skip
            got = function(x)
            assert got.shape == function(a).shape
            assert np.abs(ckks_client.decrypt(got) - function(a)).max() < 1e-5
        for function in (np.mean, np.sum):
            # In every slot.
            got = ckks_client.decrypt(function(x, axis=1))
            assert np.abs(got - function(a, axis=1)[:, None]).max() < 1e-5
            assert np.abs(ckks_client.decrypt(function(x[0])) - function(a[0])).max() < 1e-5
            with pytest.raises(TypeError, match="axis"):
                function(x)
        for refused in (np.flip, np.fliplr, np.transpose, lambda v: np.roll(v, 1)):
            with pytest.raises(TypeError, match="LinearMap"):
                refused(x)


#: Functions that returned a ciphertext unchanged, and others without a meaning.
MEANINGLESS = [
    np.median, np.std, np.var, np.sort, np.cumsum, np.prod, np.max, np.argmax, np.unique,
    np.linalg.norm, np.diff, np.around, np.isclose, np.array_equal, np.fft.fft, np.trace,
]  # fmt: skip


def test_what_has_no_meaning_is_refused(bits, integers, client, ckks_client):
    one = ckks_client.encrypt([0.5, 1])
    batch = ckks_client.encrypt([[0.5, 1], [0.25, 0]])
    for x in (bits[1], integers[1], one, batch):
        for function in MEANINGLESS:
            arguments = (x, x) if function in (np.isclose, np.array_equal) else (x,)
            with pytest.raises(TypeError, match="no meaning"):
                function(*arguments)
        for convert in (np.asarray, np.array, lambda x: np.array([x, x]), np.float64):
            with pytest.raises(TypeError, match="no entries that NumPy could see"):
                convert(x)
    for x in (bits[1], integers[1]):
        with pytest.raises(TypeError, match="no meaning"):
            np.mean(x)
    for x in (ckks.Matrix(np.eye(2)), girih.EncryptedBits.encrypt(client, [[True]])):
        with pytest.raises(TypeError, match="no entries"):
            np.mean(x)


def test_masked_entries_have_no_values(client, integer_client, ckks_client):
    masked = np.ma.masked_array([1, 0], [True, False])
    model = models.LinearRegression([1, 2], 0)
    for encrypt in (
        client.encrypt, lambda v: client.encrypt(v, bits=2),
        lambda v: integer_client.encrypt_integers(v, "uint8"), ckks_client.encrypt,
        lambda v: ckks_client.encrypt([v, v]), lambda v: model.encrypt(ckks_client, v),
    ):  # fmt: skip
        with pytest.raises(TypeError, match="masked"):
            encrypt(masked)
        encrypt(np.ma.masked_array([1, 0], False))
    assert client.decrypt(client.encrypt(masked.filled(0))).tolist() == [False, False]
