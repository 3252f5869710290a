"""Numbers in slots and integers over them, on toy keys without security."""

import pickle

import numpy as np
import pytest

import girih
from girih import discrete

TOY = "INSECURE_DISCRETE_4_N10"


@pytest.fixture(scope="module")
def client():
    return discrete.ClientKey.generate_seeded_for_tests(TOY, bytes(range(32)))


@pytest.fixture(scope="module")
def keys(client):
    return client.evaluation_keys()


@pytest.fixture(scope="module")
def server(keys):
    return discrete.ServerKey(keys, device="cpu")


def test_sets():
    names = discrete.Parameters.names()
    assert {"DISCRETE_1", "DISCRETE_4"} <= set(names)
    parameters = discrete.Parameters("DISCRETE_4")
    assert (parameters.modulus, parameters.numbers) == (16, 32768)
    assert discrete.Parameters.from_toml(parameters.to_toml()) == parameters
    assert pickle.loads(pickle.dumps(parameters)) == parameters
    with pytest.raises(girih.errors.UnknownSetError):
        discrete.Parameters("DISCRETE_5")


def test_look_ups(client, server):
    a, b = np.array([[3, 2], [1, 0]]), np.array([[2, 2], [3, 1]])
    x, y = client.encrypt(a, below=4), client.encrypt(b, below=4)
    with server:
        both = 4 * x + y
        product = both.lookup(lambda m: (m >> 2) * (m & 3) % 4)
        low, high = both.lookup(lambda m: m & 3, np.arange(16) >> 2)
        shifted = (x - y + 3).lookup(np.arange(8) // 2)
    assert (product.shape, product.device, product.range) == ((2, 2), "cpu", (0, 3))
    np.testing.assert_array_equal(client.decrypt(product), a * b % 4)
    np.testing.assert_array_equal(client.decrypt(low), b)
    np.testing.assert_array_equal(client.decrypt(high), a)
    np.testing.assert_array_equal(client.decrypt(shifted), (a - b + 3) // 2)
    # Sums are whole numbers, which may be negative.
    np.testing.assert_array_equal(client.decrypt(5 - 2 * server.upload(x)), 5 - 2 * a)


def test_bits(client, server):
    a, b = np.array([False, False, True, True]), np.array([False, True, False, True])
    x, y = client.encrypt(a), client.encrypt(b)
    with server:
        results = [x & y, x | y, x ^ y, ~x]
        low, high = x.full_adder(y, y)
        chosen = x.select(client.encrypt([3, 1, 2, 0], below=4), client.encrypt([1] * 4, below=4))
    for found, wanted in zip(results, [a & b, a | b, a ^ b, ~a], strict=True):
        np.testing.assert_array_equal(client.decrypt(found), wanted)
    np.testing.assert_array_equal(client.decrypt(low) + 2 * client.decrypt(high), a + 2 * b)
    np.testing.assert_array_equal(client.decrypt(chosen), [1, 1, 2, 0])


def test_several_ciphertexts(client, server):
    # One more than fits a ciphertext.
    values = np.arange(1025) % 16
    x = client.encrypt(values)
    with server:
        squares = x.lookup(lambda m: m * m)
    np.testing.assert_array_equal(client.decrypt(squares), values**2)
    again = pickle.loads(pickle.dumps(squares))
    assert again.shape == (1025,)
    np.testing.assert_array_equal(client.decrypt(again), values**2)


def test_take(client, server):
    a = np.arange(1500) * 7 % 4
    x = client.encrypt(a, below=4)
    with server:
        taken = x.take([[1400, -1, 3], [3, 0, 1024]])
        slice_of_one = x.take(np.arange(1030, 1400))
    assert (taken.shape, taken.device) == ((2, 3), "cpu")
    np.testing.assert_array_equal(client.decrypt(taken), a[[[1400, -1, 3], [3, 0, 1024]]])
    np.testing.assert_array_equal(client.decrypt(slice_of_one), a[1030:1400])
    with server:
        for wrong in ([1500], [-1501]):
            with pytest.raises(girih.errors.MismatchError, match="of an array of 1500"):
                x.take(wrong)
        with pytest.raises(girih.errors.Error, match="elements to take"):
            x.take([])


def test_integers(client, server):
    a, b = np.array([0, 7, 200, 255], np.uint8), np.array([1, 7, 100, 255], np.uint8)
    x, y = client.encrypt_integers(a), client.encrypt_integers(b)
    with server:
        results = [
            (x + y, a + b),
            (x - y, a - b),
            (3 - x, 3 - a),
            (x * y, a * b),
            (x & 0x3C, a & 0x3C),
            (x ^ y, a ^ b),
            (~x, ~a),
            (x << 3, a << 3),
            (x >> 1, a >> 1),
            (x < y, a < b),
            (x == 7, a == 7),
            (x.maximum(y), np.maximum(a, b)),
            ((x > y).select(x, 9), np.where(a > b, a, 9)),
            (x.total(y, y), a + b + b),
            ((x < y).astype("uint8"), (a < b).astype(np.uint8)),
        ]
        total, over = x.overflowing_add(y)
    for found, wanted in results:
        np.testing.assert_array_equal(client.decrypt(found), wanted)
        assert client.decrypt(found).dtype == wanted.dtype == np.dtype(found.dtype)
    np.testing.assert_array_equal(client.decrypt(total), a + b)
    np.testing.assert_array_equal(client.decrypt(over), a.astype(int) + b > 255)


def test_counts_and_checked_results(client, server):
    a, b = np.array([0, 1, 6, 12], np.uint8), np.array([3, 15, 5, 0], np.uint8)
    x, y = client.encrypt_integers(a, "uint4"), client.encrypt_integers(b, "uint4")
    bits = [f"{value:04b}" for value in a]
    with server:
        counts = [
            (x.count_ones(), [text.count("1") for text in bits]),
            (x.count_zeros(), [text.count("0") for text in bits]),
            (x.leading_zeros(), [4 - len(text.lstrip("0")) for text in bits]),
            (x.leading_ones(), [4 - len(text.lstrip("1")) for text in bits]),
            (x.trailing_zeros(), [4 - len(text.rstrip("0")) for text in bits]),
            (x.trailing_ones(), [4 - len(text.rstrip("1")) for text in bits]),
        ]
        log, there = x.checked_ilog2()
        total, good = x.checked_add(y)
        less, not_less = x.checked_sub(y)
        product, over = x.overflowing_mul(y)
        fits = x.checked_mul(y)[1]
        quotient, remainder, divided = x.checked_div_rem(y)
    for found, wanted in counts:
        assert found.dtype == "uint32"
        np.testing.assert_array_equal(client.decrypt(found), wanted)
    np.testing.assert_array_equal(client.decrypt(log), [0, 0, 2, 3])
    np.testing.assert_array_equal(client.decrypt(there), a > 0)
    np.testing.assert_array_equal(client.decrypt(total), (a + b) % 16)
    np.testing.assert_array_equal(client.decrypt(good), [True, False, True, True])
    np.testing.assert_array_equal(client.decrypt(less), (a - b) % 16)
    np.testing.assert_array_equal(client.decrypt(not_less), a >= b)
    np.testing.assert_array_equal(client.decrypt(product), a * b % 16)
    np.testing.assert_array_equal(client.decrypt(over), [False, False, True, False])
    np.testing.assert_array_equal(client.decrypt(fits), [True, True, False, True])
    np.testing.assert_array_equal(client.decrypt(quotient), [0, 0, 1, 15])
    np.testing.assert_array_equal(client.decrypt(remainder), [0, 1, 1, 12])
    np.testing.assert_array_equal(client.decrypt(divided), b > 0)


def test_signed_integers(client, server):
    a, b = np.array([-8, 7, -3], np.int8), np.array([3, -2, 0], np.int8)
    x, y = client.encrypt_integers(a, "int4"), client.encrypt_integers(b, "int4")
    with server:
        quotient, remainder = x.div_rem(y)
        less, size = x < y, abs(x)
        wide = x.astype("int16")
    np.testing.assert_array_equal(client.decrypt(quotient), [-2, -3, 1])
    np.testing.assert_array_equal(client.decrypt(remainder), [-2, 1, -3])
    np.testing.assert_array_equal(client.decrypt(less), a < b)
    np.testing.assert_array_equal(client.decrypt(size), [-8, 7, 3])
    np.testing.assert_array_equal(client.decrypt(wide), a)


def test_travel(client, keys, server):
    again = discrete.EvaluationKeys.from_bytes(keys.to_bytes(), TOY)
    assert (again.key_id, again.digest) == (client.key_id, keys.digest)
    public = pickle.loads(pickle.dumps(client.public_key()))
    x = public.encrypt_integers([[1, 2], [3, 4]], "uint4")
    read = pickle.loads(pickle.dumps(x))
    assert (read.shape, read.dtype, read.key_id) == ((2, 2), "uint4", client.key_id)
    with server:
        np.testing.assert_array_equal(client.decrypt(read + 15), [[0, 1], [2, 3]])
    flat = discrete.Integers.from_bytes(read.to_bytes())
    assert flat.shape == (4,)
    with pytest.raises(girih.errors.SecretKeyError):
        pickle.dumps(client)
    with pytest.raises(girih.errors.PickleError):
        pickle.dumps(server)


def test_refusals(client, server):
    x, y = client.encrypt([1, 2, 3], below=4), client.encrypt([1, 2], below=4)
    with pytest.raises(girih.errors.MismatchError, match="with server"):
        x + 1
    wide = client.encrypt_integers([1, 2, 3], "uint8")
    with server:
        with pytest.raises(girih.errors.MismatchError, match="shapes must be equal"):
            x + y
        with pytest.raises(TypeError, match="lookup"):
            x * x
        with pytest.raises(TypeError, match="whole number"):
            x + 0.5
        with pytest.raises(girih.errors.MismatchError, match="16"):
            x.lookup(lambda m: m, modulus=5)
        with pytest.raises(ZeroDivisionError):
            x.lookup(lambda m: 1 // m)
        with pytest.raises(girih.errors.TooNoisyError, match="order"):
            (64 * x.lookup(lambda m: 1000 * m, order=1)).lookup(lambda m: m, order=1)
        with pytest.raises(TypeError, match="one known number"):
            wide + np.array([1, 2, 3])
        with pytest.raises(girih.errors.MismatchError, match="does not fit FheUint8"):
            wide + 256
        with pytest.raises(girih.errors.MismatchError, match="astype"):
            wide + client.encrypt_integers([1, 2, 3], "uint16")
        with pytest.raises(girih.errors.MismatchError, match="below"):
            wide << 8
    with pytest.raises(girih.errors.MismatchError, match="below"):
        client.encrypt([4], below=4)
    with pytest.raises(girih.errors.MismatchError, match="at least one"):
        client.encrypt([])
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(x)
    with pytest.raises(TypeError, match="no entries"):
        np.asarray(x)
    with pytest.raises(girih.errors.MalformedError):
        discrete.Integers.from_bytes(b"nothing")
    bits = discrete.ClientKey.generate("INSECURE_DISCRETE_1_N10")
    small = discrete.ServerKey(bits.evaluation_keys(), device="cpu")
    with pytest.raises(girih.errors.MismatchError, match="take DISCRETE_4"):
        small.upload(bits.encrypt_integers([1], "uint4"))
