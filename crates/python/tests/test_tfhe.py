"""Bits and messages: what users write, with every result decrypted."""

import copy
import pickle

import numpy as np
import pytest

import girih


def bits(rng, shape):
    return rng.integers(0, 2, shape).astype(bool)


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def test_arrays_keep_their_shape(client):
    for value in (True, [True, False], [[0, 1, 1], [1, 0, 0]], np.zeros((2, 1, 3), bool)):
        encrypted = client.encrypt(value)
        back = client.decrypt(encrypted)
        assert encrypted.shape == np.shape(value) == np.shape(back)
        assert np.array_equal(back, np.asarray(value, bool))
        assert np.asarray(back).dtype == bool
        assert (encrypted.ndim, encrypted.size) == (np.ndim(value), np.size(value))


def test_any_order_in_memory(client, rng):
    table = bits(rng, (4, 6))
    for view in (table[:, 2], table.T, table[::-1, ::2], np.asfortranarray(table)):
        assert np.array_equal(client.decrypt(client.encrypt(view)), view)
    messages = rng.integers(0, 4, (3, 4))
    for dtype in (np.int8, np.uint16, np.int64, np.uint64):
        encrypted = client.encrypt(messages.astype(dtype), bits=2)
        assert np.array_equal(client.decrypt(encrypted), messages)
        assert client.decrypt(encrypted).dtype == np.uint64
    read_only = messages.copy()
    read_only.flags.writeable = False
    assert np.array_equal(client.decrypt(client.encrypt(read_only, bits=2)), messages)


def test_operators(client, server, rng):
    a, b = bits(rng, 24), bits(rng, 24)
    x, y = client.encrypt(a), client.encrypt(b)
    with server:
        assert np.array_equal(client.decrypt(x & y), a & b)
        assert np.array_equal(client.decrypt(x | y), a | b)
        assert np.array_equal(client.decrypt(x ^ y), a ^ b)
        assert np.array_equal(client.decrypt(~x), ~a)
        # Plain operands on either side, and of a bit with itself.
        assert np.array_equal(client.decrypt(x & b), a & b)
        assert np.array_equal(client.decrypt(b ^ x), a ^ b)
        assert np.array_equal(client.decrypt(x | True), a | True)
        assert np.array_equal(client.decrypt(x ^ x), a ^ a)
    for name, expected in {
        "nand": ~(a & b),
        "nor": ~(a | b),
        "xnor": a == b,
    }.items():
        assert np.array_equal(client.decrypt(server.gate(name, x, y)), expected)


def test_broadcasting(client, server, rng):
    a, b = bits(rng, (3, 1)), bits(rng, 4)
    with server:
        c = client.encrypt(a) ^ client.encrypt(b)
        assert c.shape == (3, 4)
        assert np.array_equal(client.decrypt(c), a ^ b)
        with pytest.raises(girih.errors.MismatchError, match=r"\(3,\) and \(4,\)"):
            client.encrypt(bits(rng, 3)) & client.encrypt(b)


def test_mux_and_majority(client, server):
    s, a, b = (np.array([i >> k & 1 for i in range(8)], bool) for k in range(3))
    x, y, z = map(client.encrypt, (s, a, b))
    assert np.array_equal(client.decrypt(server.mux(x, y, z)), np.where(s, a, b))
    assert np.array_equal(client.decrypt(server.majority(x, y, z)), s & a | s & b | a & b)


def test_tables(client, server):
    x = client.encrypt([0, 1, 2, 3], bits=2)
    calls = []
    table = girih.LookUpTable(2, lambda m: calls.append(m) or m * m % 4)
    assert calls == [0, 1, 2, 3]
    assert np.array_equal(client.decrypt(server.apply(x, table)), [0, 1, 0, 1])
    assert calls == [0, 1, 2, 3]
    one_bit = girih.LookUpTable(2, [0, 0, 1, 1], output_bits=1)
    y = server.apply(x, one_bit)
    assert (y.bits, y.kind) == (1, "messages")
    assert np.array_equal(client.decrypt(y), [0, 0, 1, 1])
    assert (table.bits, table.output_bits, table.values) == (2, 2, [0, 1, 0, 1])
    assert pickle.loads(pickle.dumps(one_bit)) == one_bit != table
    # x + 2 y of bits in messages of two bits, by one bootstrapping.
    low, high = client.encrypt([0, 1, 0, 1], bits=2), client.encrypt([0, 0, 1, 1], bits=2)
    both = server.apply_weighted([low, high], [1, 2], girih.LookUpTable(2, [3, 2, 1, 0]))
    assert np.array_equal(client.decrypt(both), [3, 2, 1, 0])
    each = [girih.LookUpTable(2, lambda m, k=k: (m + k) % 4) for k in range(4)]
    assert np.array_equal(client.decrypt(server.apply_each(x, each)), [0, 2, 0, 2])
    total = girih.weighted_sum([low, high], [1, 1], constant=1)
    assert np.array_equal(client.decrypt(total), [1, 2, 2, 3])


def test_exceptions_of_callables_arrive(client):
    class Mine(Exception):
        pass

    def fail(m):
        raise Mine(m)

    with pytest.raises(Mine):
        girih.LookUpTable(2, fail)


def test_indexing(client, rng):
    table = bits(rng, (4, 5))
    x = client.encrypt(table)
    keys = (1, -1, slice(1, 3), (slice(None), 2), (..., slice(None, None, -2)), [3, 0], None)
    for key in (*keys, (0, 4), np.arange(4) > 1):
        assert np.array_equal(client.decrypt(x[key]), table[key])
    assert [row.shape for row in x] == [(5,)] * 4
    assert np.array_equal(client.decrypt(x.reshape(2, -1)), table.reshape(2, -1))
    assert np.array_equal(client.decrypt(x.reshape((20,))), table.reshape(20))
    assert np.array_equal(client.decrypt(girih.concatenate([x, x[:1]])), [*table, table[0]])
    with pytest.raises(IndexError):
        x[4]
    with pytest.raises(ValueError, match="no shape"):
        x.reshape(3, -1)
    with pytest.raises(ValueError, match="no ciphertext"):
        x[:0]


def test_ciphertexts_on_the_device(client, server, rng):
    a, b = bits(rng, (2, 4)), bits(rng, (2, 4))
    x, y = server.upload(client.encrypt(a)), client.encrypt(b)
    assert x.device == "cpu" and y.device is None
    # The server is that of the operand, and results stay there.
    c = x & y
    assert c.device == "cpu" and c.shape == (2, 4)
    assert np.array_equal(client.decrypt(c), a & b)
    assert np.array_equal(client.decrypt((~c).to_host()[1]), ~(a & b)[1])
    assert np.array_equal(client.decrypt(pickle.loads(pickle.dumps(c))), a & b)
    assert np.array_equal(client.decrypt(y.to_device(server) ^ x), a ^ b)
    # There they are indexed and broadcast as on the host.
    assert x[:, ::-1].device == "cpu"
    assert np.array_equal(client.decrypt(x[:, ::-1]), a[:, ::-1])
    assert np.array_equal(client.decrypt(x & y[0]), a & b[0])
    assert np.array_equal(client.decrypt(x[1] | y), a[1] | b)
    assert np.array_equal(client.decrypt(x ^ [True, False, True, False]), a ^ [1, 0, 1, 0])


def test_long_batches_run_in_parts(client, server, rng):
    a, b = bits(rng, 700), bits(rng, 700)
    x, y = client.encrypt(a), client.encrypt(b)
    assert np.array_equal(client.decrypt(server.gate("nand", x, y)), ~(a & b))
    assert np.array_equal(client.decrypt(server.gate("and", x, x)), a)
    messages = rng.integers(0, 4, 600)
    tables = [girih.LookUpTable(2, lambda m, k=k: (m + k) % 4) for k in range(4)]
    each = server.apply_each(client.encrypt(messages, bits=2), [tables[i % 4] for i in range(600)])
    wrong = client.decrypt(each) != (messages + np.arange(600)) % 4
    assert wrong.sum() <= 2  # the toy's own failures


def test_packed_sets(rng):
    parameters = girih.ParameterSet("STD128").with_packing(2)
    assert (parameters.name, parameters.packing) == ("STD128_R2", 2)
    client = girih.ClientKey.generate(parameters)
    table = bits(rng, (3, 4))
    x = client.encrypt(table)
    assert np.array_equal(client.decrypt(x[1]), table[1])
    with pytest.raises(ValueError, match="share a ciphertext"):
        x[:, 1]
    with pytest.raises(ValueError, match="a multiple of 2"):
        client.encrypt([True])


def test_std128_gate():
    client = girih.ClientKey.generate()
    assert client.parameters == girih.ParameterSet() and hash(client.parameters)
    server = girih.ServerKey(client.evaluation_keys(), device="cpu")
    with server:
        c = ~(client.encrypt([0, 0, 1, 1]) & client.encrypt([0, 1, 0, 1]))
    assert client.decrypt(c).tolist() == [True, True, True, False]
    assert c.key_id == client.key_id == server.key_id
    assert server.failure_limit == -128.0
    assert girih.ParameterSet().security and girih.ParameterSet().warnings == []


def test_bytes_and_pickles(client, keys, server):
    x = client.encrypt([[True, False]])
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(x, protocol))
        assert again.shape == (1, 2)
        assert client.decrypt(again).tolist() == [[True, False]]
    buffers = []
    small = pickle.dumps(keys, 5, buffer_callback=buffers.append)
    assert len(small) < 500 and len(buffers) == 1
    assert pickle.loads(small, buffers=buffers).key_id == keys.key_id
    assert girih.EvaluationKeys.from_bytes(keys.to_bytes(), client.parameters).kinds == keys.kinds
    assert client.decrypt(copy.deepcopy(x)).tolist() == [[True, False]]
    messages = client.encrypt([1, 2], bits=2)
    assert client.decrypt(pickle.loads(pickle.dumps(messages))).tolist() == [1, 2]
    as_read = girih.Ciphertexts.from_bytes(messages.to_bytes(), bits=2, shape=(2, 1))
    assert client.decrypt(as_read).tolist() == [[1], [2]]
    own = girih.ClientKey.from_bytes(client.to_bytes())
    assert own.decrypt(x).tolist() == [[True, False]]
    for kind in (bytearray, memoryview, lambda b: np.frombuffer(b, np.uint8)):
        girih.Ciphertexts.from_bytes(kind(x.to_bytes()))
    parameters = client.parameters
    assert pickle.loads(pickle.dumps(parameters)) == parameters


def test_secret_keys_refuse_to_be_pickled(client, server):
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(girih.errors.SecretKeyError, match="client key is secret"):
            pickle.dumps(client, protocol)
    with pytest.raises(girih.errors.SecretKeyError):
        copy.deepcopy(client)
    with pytest.raises(girih.errors.PickleError, match="evaluation keys"):
        pickle.dumps(server)


def test_trivial_constants_go_with_any_key(client, server):
    ones = girih.Ciphertexts.trivial(client.parameters, [True, True])
    assert ones.key_id is None
    with server:
        assert client.decrypt(ones ^ client.encrypt([1, 0])).tolist() == [False, True]


def test_large_messages():
    context = girih.LargeParameters("insecure")
    client = girih.ClientKey.generate_seeded_for_tests(context.parameters, bytes([7] * 32))
    keys = context.keys(client, ["sign", "relu", "decompose"], bits=12)
    keys = pickle.loads(pickle.dumps(keys))
    server = girih.LargeServerKey(keys, device="cpu")
    a = context.encrypt(client, [5, 1999], bits=12)
    b = context.encrypt(client, [700, 3], bits=12)
    assert client.decrypt(server.less(a, b)).tolist() == [True, False]
    assert context.decrypt(client, server.max(a, b)).tolist() == [700, 1999]
    digits = server.decompose(a)
    values = [context.decrypt(client, d) for d in digits]
    base = 1 << context.digit_bits
    assert sum(v.astype(int) * base**i for i, v in enumerate(values)).tolist() == [5, 1999]
    with pytest.raises(ValueError, match="LargeParameters.decrypt"):
        client.decrypt(a)
    with pytest.raises(ValueError, match="large messages"):
        server.less(a, client.encrypt([True, False]))
    assert pickle.loads(pickle.dumps(context)).digit_bits == context.digit_bits
