"""Every public function with wrong types, shapes, dtypes, keys and bytes: an exception in words."""

import pickle

import numpy as np
import pytest

import girih
from girih import ckks, errors, integer

REFUSED = (errors.Error, TypeError, ValueError, OverflowError, IndexError, LookupError)
NONSENSE = [
    None, 5, -1, 2.5, 1j, "text", b"bytes", object(), [], {}, [[1, 2], [3]], [None], ["a"],
    float("nan"), 2**70, -(2**70), (), lambda: None, np.zeros((0, 3)), np.array(["x"]),
    np.array([1.5, -2.5]), np.array([2**63], np.uint64), np.zeros((2, 2, 2)),
]  # fmt: skip


def members(
    client, keys, server, ckks_client, ckks_keys, ckks_server, integer_client, integer_server,
    folder,
):  # fmt: skip
    """Everything that can be called, with a name."""
    context = girih.LargeParameters("insecure")
    netlist = girih.Netlist.adder(2)
    circuit = girih.Circuit(netlist, client.parameters, log2_failure=-1.0)
    level = ckks_client.parameters.default_level
    objects = {
        "client": client,
        "keys": keys,
        "server": server,
        "bits": client.encrypt([True, False]),
        "messages": client.encrypt([1, 2], bits=2),
        "parameters": client.parameters,
        "table": girih.LookUpTable(2, [0, 1, 2, 3]),
        "function": girih.Function(2, [0, 1, 2, 3]),
        "context": context,
        "netlist": netlist,
        "builder": girih.NetlistBuilder(),
        "wire": girih.NetlistBuilder().input("x", 1)[0],
        "circuit": circuit,
        "encrypted": circuit.encrypt(client, {"a": [1], "b": [2]}),
        "ckks client": ckks_client,
        "public key": ckks_client.public_key(),
        "ckks keys": ckks_keys,
        "ckks server": ckks_server,
        "vector": ckks_client.encrypt([0.5, 1]),
        "batch": ckks_server.upload(ckks_client.encrypt([[0.5, 1]])),
        "ckks parameters": ckks_client.parameters,
        "polynomial": ckks.Polynomial.from_powers([1, 2], (-1, 1)),
        "sign": ckks.CompositeSign(0.1, 0.1),
        "matrix": ckks.Matrix(np.eye(2)),
        "map": ckks.LinearMap(2, {0: [1, 1]}),
        "recording": ckks_server.record(lambda x: x + 1, level),
        "integer server": integer_server,
        "integers": integer_client.encrypt_integers([1, 2], "uint4"),
        "conditions": integer_server.upload(integer_client.encrypt_integers([True, False])),
        "girih": girih,
        "ckks": ckks,
        "columns": girih.columns,
        "column": girih.columns.Columns(keys, len, ["a"], "b"),
        "ray": girih.ray,
        "rows": girih.rows,
        "serving": girih.serving,
        "wire": girih.wire,
        "worker": girih.worker,
        "folder": folder,
        "stored": folder.put(keys),
        "models": girih.models,
        "progress": girih.progress,
        "tree": girih.models.DecisionTree(
            [1, -1, -1], [2, -1, -1], [0, -2, -2], [0.5, 0, 0], [0, 0, 1], [0], [1], bits=2
        ),
        "linear": girih.models.LinearRegression([1, 2], 0),
        "regression": girih.models.LogisticRegression([[1, 2]], [0], [0, 1]),
        "model rows": girih.models.LinearRegression([1, 2], 0).encrypt(ckks_client, [[0.5, 1]]),
    }
    # What takes seconds, makes folders or never fails on any argument of the right number.
    left_out = {
        "evaluation_keys", "generate", "forget", "__exit__", "devices", "absent_devices", "require",
        "KeyFolder",
    }  # fmt: skip
    operators = {
        "__getitem__", "__call__", "__and__", "__rand__", "__xor__", "__invert__", "__add__",
        "__rsub__", "__mul__", "__truediv__", "__pow__", "__matmul__", "__rmatmul__",
        "__floordiv__", "__mod__", "__lshift__", "__lt__", "__eq__",
    }  # fmt: skip
    for name, thing in objects.items():
        for member in getattr(thing, "__all__", None) or dir(thing):
            if member in left_out or (member.startswith("_") and member not in operators):
                continue
            try:
                value = getattr(thing, member)
            except REFUSED:
                continue
            if callable(value):
                yield f"{name}.{member}", value


def test_nonsense_is_refused_in_words(
    client, keys, server, ckks_client, ckks_keys, ckks_server, integer_client, integer_server,
    tmp_path,
):  # fmt: skip
    called, refused = 0, 0
    everything = (
        client, keys, server, ckks_client, ckks_keys, ckks_server, integer_client, integer_server,
        girih.worker.KeyFolder(tmp_path),
    )  # fmt: skip
    for name, function in members(*everything):
        for nonsense in NONSENSE:
            for arguments in ((nonsense,), (nonsense, nonsense), (nonsense,) * 3, ()):
                called += 1
                try:
                    function(*arguments)
                except errors.InternalError as error:
                    raise AssertionError(f"{name}{arguments!r}: {error}") from error
                except REFUSED as error:
                    refused += 1
                    assert str(error), f"{name}{arguments!r} was refused without a word"
                except BaseException as error:
                    raise AssertionError(f"{name}{arguments!r}: {error!r}") from error
    # What was no nonsense to somebody is put back.
    girih.worker.limit(4 << 30)
    server.limit_failure(0.0)
    integer_server.limit_scratch(4 << 30)
    integer_server.report_to(None)
    assert called > 5000 and refused > 0.8 * called


@pytest.mark.parametrize("cut", [0, 1, 10, 100, -1])
def test_damaged_bytes(cut, client, keys, ckks_client, ckks_keys, integer_client):
    public = ckks_client.public_key()
    integers = integer_client.encrypt_integers([1], "uint4")
    for made, read in (
        (client.to_bytes(), girih.ClientKey.from_bytes),
        (keys.to_bytes(), girih.EvaluationKeys.from_bytes),
        (client.encrypt([True]).to_bytes(), girih.Ciphertexts.from_bytes),
        (integers.to_bytes(), integer.Ciphertexts.from_bytes),
        (ckks_client.to_bytes(), ckks.ClientKey.from_bytes),
        (ckks_keys.to_bytes(), ckks.EvaluationKeys.from_bytes),
        (public.to_bytes(), ckks.PublicKey.from_bytes),
        (ckks_client.encrypt([1, 0.5]).to_bytes(), ckks.Ciphertexts.from_bytes),
        (ckks_client.encrypt([[1, 0.5]]).to_bytes(), ckks.Ciphertexts.from_bytes),
    ):
        with pytest.raises(errors.MalformedError):
            read(made[:cut])
        flipped = bytearray(made)
        flipped[cut] ^= 1
        with pytest.raises(errors.MalformedError):
            read(bytes(flipped))
    # Bytes of one kind are not those of another.
    with pytest.raises(errors.MalformedError):
        girih.Ciphertexts.from_bytes(keys.to_bytes())


def test_keys_do_not_mix(client, stranger, server, ckks_client, ckks_server):
    with pytest.raises(errors.MismatchError, match="client key"):
        stranger.decrypt(client.encrypt([True]))
    with server:
        with pytest.raises(errors.MismatchError, match="client key"):
            client.encrypt([True]) & stranger.encrypt([True])
    with pytest.raises(errors.MismatchError):
        girih.concatenate([client.encrypt([True]), stranger.encrypt([True])])
    other = ckks.ClientKey.generate(ckks_client.parameters)
    with pytest.raises(errors.MismatchError, match="client key"):
        other.decrypt(ckks_client.encrypt([1, 0.5]))
    with ckks_server, pytest.raises(errors.MismatchError, match="client key"):
        ckks_client.encrypt([1, 0.5]) * other.encrypt([1, 0.5])


def test_namesakes_are_told_apart(client, keys, ckks_client, ckks_server, integer_client):
    bits, vector = client.encrypt([True]), ckks_client.encrypt([1, 0.5])
    integers = integer_client.encrypt_integers([1], "uint4")
    for work, words in (
        (lambda: client.decrypt(vector), "girih.Ciphertexts is wanted, not girih.ckks.Ciphertexts"),
        (lambda: ckks_client.decrypt(integers), "not girih.integer.Ciphertexts"),
        (lambda: integer_client.decrypt_integers(bits), "girih.integer.Ciphertexts is wanted"),
        (lambda: ckks.ServerKey(keys), "girih.ckks.EvaluationKeys is wanted, not girih.Eval"),
        (lambda: bits.to_device(ckks_server), "girih.ServerKey is wanted, not girih.ckks.Serv"),
        (lambda: girih.concatenate([bits, integers]), "different classes"),
    ):
        with pytest.raises((TypeError, errors.MismatchError), match=words):
            work()
    # One name reads and joins whatever has a meaning.
    assert integer_client.decrypt(integers).tolist() == [1]
    joined = girih.concatenate([integers, integers])
    assert integer_client.decrypt(joined).tolist() == [1, 1]
    rows = girih.concatenate([vector.reshape(1, 2), vector.reshape(1, 2)])
    assert rows.shape == (2, 2)


def test_kinds_of_messages_do_not_mix(client, server):
    bits, messages = client.encrypt([True]), client.encrypt([1], bits=2)
    table = girih.LookUpTable(2, [0, 1, 2, 3])
    for work in (
        lambda: server.gate("and", bits, messages),
        lambda: server.apply(bits, table),
        lambda: server.apply(client.encrypt([1], bits=1), table),
        lambda: girih.weighted_sum([bits], [1]),
        lambda: ~messages,
    ):
        with pytest.raises(errors.MismatchError, match="bit"):
            work()


def test_operators_need_a_server(client, ckks_client, server):
    with pytest.raises(errors.NoServerError, match="with server:"):
        client.encrypt([True]) & client.encrypt([True])
    with server, pytest.raises(errors.NoServerError):
        # A server of bits is none of vectors.
        ckks_client.encrypt([1, 0.5]) + 1
    with pytest.raises(ZeroDivisionError):
        with server:
            1 / 0
    with pytest.raises(errors.NoServerError):
        client.encrypt([True]) & True


def test_nothing_encrypted_is_compared_in_the_clear(client, ckks_client):
    for x in (client.encrypt([True]), ckks_client.encrypt([1, 0.5])):
        with pytest.raises(TypeError, match="no truth value"):
            bool(x)
        for compare in (lambda: x == x, lambda: x < 1, lambda: x in [x, 1][1:]):
            with pytest.raises(TypeError, match="in the clear"):
                compare()
    with pytest.raises(TypeError, match="not indexed"):
        ckks_client.encrypt([1, 0.5])[0]


def tree(left, right, **rest):
    """A tree of one feature from 0 to 1."""
    nodes = len(left)
    given = {"feature": [0] * nodes, "threshold": [0.5] * nodes, "label": [0] * nodes, **rest}
    return girih.models.DecisionTree(left, right, low=[0], high=[1], bits=2, **given)


def test_trees_are_as_deep_as_they_like():
    # Inner nodes 0, 2, 4, .. each with a leaf on its left.
    nodes = 4001
    left = [i + 1 if i % 2 == 0 and i + 2 < nodes else -1 for i in range(nodes)]
    right = [i + 2 if left[i] >= 0 else -1 for i in range(nodes)]
    deep = tree(left, right, label=[0] * (nodes - 1) + [1])
    assert deep.predict([[0.0], [1.0]]).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("work", "error", "message"),
    [
        (lambda c: c.encrypt([0.5]), TypeError, "booleans"),
        (lambda c: c.encrypt([2]), ValueError, "0 or 1, and one is not"),
        (lambda c: c.encrypt([]), ValueError, "at least one"),
        (lambda c: c.encrypt([4], bits=2), ValueError, "does not fit 2 bits"),
        (lambda c: c.encrypt([-1], bits=2), ValueError, "negative"),
        (lambda c: c.encrypt([1], bits=40), ValueError, "from 1 to 7"),
        (lambda c: girih.ClientKey.generate("STD1"), errors.UnknownSetError, "STD128"),
        (lambda c: girih.ClientKey.generate(5), TypeError, "not int"),
        (lambda c: girih.LookUpTable(20, lambda m: m), ValueError, "1 to 11"),
        (lambda c: girih.LookUpTable(2, lambda m: m + 1), ValueError, "4"),
        (lambda c: girih.LookUpTable(2, lambda m: m / 2), TypeError, "message 0 is 0.0"),
        (lambda c: girih.LookUpTable(2, [1, 2, 3]), ValueError, "3 values"),
        (lambda c: girih.ParameterSet.from_toml("n = 5"), errors.ParameterError, "missing"),
        (lambda c: c.evaluation_keys(progress=5), TypeError, "callable"),
        (lambda c: girih.ServerKey(c, "cpu"), TypeError, "EvaluationKeys"),
        (lambda c: girih.concatenate([]), ValueError, "at least one"),
        (lambda c: girih.LargeParameters("none"), errors.UnknownSetError, "insecure"),
        (lambda c: girih.Netlist.adder(0), ValueError, "1 to 64"),
        (lambda c: ckks.Polynomial.from_powers(np.array([1j]), (-1, 1)), TypeError, "real numbers"),
        (lambda c: tree([0], [0]), ValueError, "below one node"),
        (lambda c: tree([1, 0, -1], [2, 2, -1]), ValueError, "below one node"),
        (lambda c: tree([9, -1, -1], [2, -1, -1]), ValueError, "of 1 to 2"),
        (lambda c: tree([1, -1, -1], [2, -1]), ValueError, "one entry for each node"),
        (lambda c: tree([1.5], [2]), TypeError, "whole numbers"),
        (lambda c: tree([-1], [-1], label=[-1]), ValueError, "labels"),
        (lambda c: tree([1, -1, -1], [2, -1, -1], feature=[1, 0, 0]), ValueError, "none of 0 to 0"),
        (lambda c: tree([-1], [-1], threshold=[float("nan")]), ValueError, "not finite"),
        (lambda c: girih.worker.server(c), TypeError, "evaluation keys"),
        (lambda c: girih.worker.limit(-1), ValueError, "negative"),
        (lambda c: girih.worker.KeyFolder(5), TypeError, "a folder is a path"),
        (lambda c: girih.worker.KeyFolder("x\0y"), ValueError, "no folder of keys"),
        (lambda c: girih.worker.StoredKeys("x", "y", "0" * 32), ValueError, "hexadecimal"),
        (lambda c: girih.wire.to_bytes(c), TypeError, "evaluation keys have bytes"),
        (lambda c: girih.wire.from_bytes(c.to_bytes()), ValueError, "begin with"),
        (lambda c: girih.columns.Columns(c, len, ["a"], "b"), TypeError, "evaluation keys"),
        (lambda c: girih.ray.Pool(c), TypeError, "evaluation keys"),
        (lambda c: girih.ray.require(5), TypeError, "named by a str"),
        (lambda c: girih.ray.require("cpu", 0), ValueError, "at least 1"),
    ],
)
def test_words(work, error, message, client):
    with pytest.raises(error, match=message):
        work(client)


def test_devices(keys):
    names = [device.id for device in girih.devices()]
    assert "cpu" in names and all(isinstance(line, str) for line in girih.absent_devices())
    for name in ("tpu:0", "cpu:1", "", "cuda:99"):
        with pytest.raises(errors.NoDeviceError):
            girih.ServerKey(keys, device=name)
    with pytest.raises(errors.MismatchError, match="ntt, fft"):
        girih.ServerKey(keys, "cpu", transform="dft")
    assert "ntt" in girih.ServerKey(keys, "cpu", transform="ntt").plan


def test_pickles_that_were_changed(client):
    data = pickle.dumps(client.encrypt([True, False]), 2)
    at = data.index(b"INSECURE_TOY")
    with pytest.raises((errors.MalformedError, pickle.UnpicklingError)):
        pickle.loads(data[:at] + b"X" + data[at + 1 :])
