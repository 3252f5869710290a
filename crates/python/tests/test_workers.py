"""What every engine stands on: bytes of several arrays, rows, stored keys, columns, batching."""

import asyncio
import json
import os
import pickle
import pickletools
import random
import struct
import subprocess
import sys
import threading
import time
import zlib
from pathlib import Path

import numpy as np
import pytest

import girih
from girih import ckks, columns, errors, integer, rows, serving, wire, worker


@pytest.fixture
def clean_worker():
    worker.forget()
    yield
    worker.forget()
    worker.limit(4 << 30)


@pytest.fixture(scope="module")
def arrays(client, ckks_client, integer_client):
    """One array of three rows of each class, with what it decrypts to."""
    bits = np.array([[1, 0], [0, 1], [1, 1]], bool)
    numbers = np.arange(48).reshape(3, 16) / 50
    words = np.array([3, 200, 77], np.uint8)
    instances = np.array([[1, 0, 0], [0, 1, 1], [1, 0, 1]], bool)
    return {
        "bits": (client.encrypt(bits), bits, client.decrypt),
        "messages": (client.encrypt([1, 2, 3], bits=2), np.array([1, 2, 3]), client.decrypt),
        "integers": (
            integer_client.encrypt_integers(words),
            words,
            integer_client.decrypt_integers,
        ),
        "conditions": (
            integer_client.encrypt_integers([True, False, True]),
            np.array([True, False, True]),
            integer_client.decrypt_integers,
        ),
        "vectors": (ckks_client.encrypt(numbers), numbers, ckks_client.decrypt),
        "instances": (
            girih.EncryptedBits.encrypt(client, instances),
            instances,
            lambda encrypted: encrypted.decrypt(client),
        ),
    }


KINDS = ["bits", "messages", "integers", "conditions", "vectors", "instances"]


def same(found, wanted):
    return np.shape(found) == np.shape(wanted) and np.allclose(found, wanted, atol=1e-6)


# --- bytes


def test_bytes_of_everything(arrays, client, keys, ckks_client, ckks_keys):
    context = girih.LargeParameters("insecure")
    owner = girih.ClientKey.generate(context.parameters)
    large = context.encrypt(owner, [3, 4], bits=4)
    large_keys = context.keys(owner, ["sign"], bits=4)
    everything = [array for array, _, _ in arrays.values()] + [large, keys, ckks_keys, large_keys]
    data = wire.to_bytes(*everything)
    back = wire.from_bytes(memoryview(data))
    assert [type(thing) for thing in back] == [type(thing) for thing in everything]
    for (_, wanted, decrypt), found in zip(arrays.values(), back):
        assert same(decrypt(found), wanted)
    assert back[6].kind == "large" and back[6].shape == (2,)
    for found, made in zip(back[7:], (keys, ckks_keys, large_keys)):
        assert (found.key_id, found.kinds) == (made.key_id, made.kinds)
    kinds = [entry["kind"] for entry in wire.describe(data)]
    assert kinds == [
        "bits", "messages", "integers", "integers", "vectors", "instances", "large", "keys",
        "ckks keys", "large keys",
    ]  # fmt: skip
    assert wire.key_id(arrays["bits"][0], keys) == client.key_id
    assert wire.key_id(ckks_client.encrypt([1.0, 0.5])) == ckks_client.key_id


def test_single_ones_keep_their_shape(client, ckks_client):
    bit, vector = wire.from_bytes(wire.to_bytes(client.encrypt(True), ckks_client.encrypt([1, 0])))
    assert bit.shape == () and client.decrypt(bit) == True  # noqa: E712
    assert vector.shape == (2,)


def with_header(data, change):
    """The bytes with another header, its checksum right."""
    at = len(wire.MAGIC)
    length, _ = struct.unpack_from("<II", data, at)
    header = json.loads(data[at + 8 : at + 8 + length])
    text = change(header)
    if not isinstance(text, bytes):
        text = json.dumps(text).encode()
    start = wire.MAGIC + struct.pack("<II", len(text), zlib.crc32(text))
    return start + text + data[at + 8 + length :]


def set_entry(**fields):
    return lambda header: [{**header[0], **fields}]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: [], "at least one"),
        (lambda h: {}, "no list"),
        (lambda h: [5], "none of bits"),
        (lambda h: b"\xff", "no JSON"),
        (lambda h: b"[" * 100_000, "no JSON"),
        (set_entry(kind="secret"), "none of bits"),
        (set_entry(kind=["bits"]), "none of bits"),
        (set_entry(extra=1), "an entry of bits has"),
        (set_entry(shape=[True]), "shape of bits"),
        (set_entry(shape=[-2]), "shape of bits"),
        (set_entry(shape=[2**60]), "shape of bits"),
        (set_entry(shape="2"), "shape of bits"),
        (set_entry(shape=[2**40, 2**40]), "shape of bits"),
        (set_entry(shape=[0]), "shape of bits"),
        (set_entry(shape=[0, 2**48, 2**48]), "shape of bits"),
        (set_entry(shape=[1] * 65), "shape of bits"),
        (set_entry(shape=[2**47] * 200_000), "shape of bits"),
        (set_entry(kind="messages", bits=2**40), "bits of messages"),
        (set_entry(kind="messages", bits=65), "bits of messages"),
        (set_entry(kind="instances", instances=2**48), "an entry of instances"),
        (set_entry(shape=[3]), "no shape"),
        (set_entry(lengths=[]), "0 parts"),
        (set_entry(lengths=[1, 1]), "2 parts"),
        (set_entry(lengths=[1]), "header tells of"),
        (set_entry(lengths=[2**47]), "header tells of"),
        (lambda h: h * 2, "header tells of"),
        (set_entry(kind="integers"), "do not begin as encrypted integers"),
    ],
)
def test_headers_that_lie(client, change, message):
    data = wire.to_bytes(client.encrypt([True, False]))
    with pytest.raises((errors.MalformedError, errors.MismatchError), match=message):
        wire.from_bytes(with_header(data, change))


def test_a_long_header_takes_no_long_time(client):
    """Half a second for 1.6 MB, whatever it says; ten seconds went into one product once."""
    data = wire.to_bytes(client.encrypt([True, False]))
    headers = [
        set_entry(shape=[2**47] * 100_000),
        set_entry(shape=[1] * 800_000),
        set_entry(lengths=[2**47] * 100_000),
        set_entry(kind="x" * 1_600_000),
        lambda h: b"1" * 1_600_000,
        lambda h: b'[{"a":' * 260_000,
    ]
    for change in headers:
        lying = with_header(data, change)
        start = time.process_time()
        with pytest.raises(errors.MalformedError):
            wire.from_bytes(lying)
        assert time.process_time() - start < 0.5, lying[:60]


def test_random_headers_are_refused_or_right(client, ckks_client, integer_client, keys):
    """Changed entries, values and bytes: an array that says the same, or a refusal in words."""
    rng = random.Random(5)
    seeds = [
        wire.to_bytes(client.encrypt([True, False]), client.encrypt([1, 2], bits=2)),
        wire.to_bytes(
            ckks_client.encrypt([0.5, 0.25]), integer_client.encrypt_integers([1, 2], "uint8")
        ),
        wire.to_bytes(girih.EncryptedBits.encrypt(client, [[1, 0]])),
    ]
    values = [
        0, 1, 2, -1, 64, 65, 2**31, 2**32, 2**48, 2**63, 2**64, 2**70, 1.5, 1e999, True, None, "",
        "bits", "messages", "vectors", "instances", "integers", "keys", [], [0], [1], [2], [2**48],
        [2**40, 2**40], [1] * 70, ["x"], [None], {}, {"kind": "bits"},
    ]  # fmt: skip

    def change(header):
        for _ in range(rng.randrange(1, 4)):
            if not header:
                return header
            entry = rng.choice(header)
            action = rng.randrange(5)
            if action == 0:
                entry[rng.choice(sorted(entry) or ["kind"])] = rng.choice(values)
            elif action == 1:
                entry.pop(rng.choice(sorted(entry) or ["kind"]), None)
            elif action == 2:
                header.insert(rng.randrange(len(header) + 1), dict(entry))
            elif action == 3:
                header.remove(entry)
            else:
                kind = rng.choice(sorted(wire._FIELDS))
                entry.clear()
                fields = {field: rng.choice(values) for field in wire._FIELDS[kind]}
                entry.update(kind=kind, lengths=[rng.choice([0, 1, 100, 2**48])], **fields)
        return header

    accepted = 0
    for number in range(3000):
        data = with_header(seeds[number % len(seeds)], change)
        if number % 3 == 0:
            place = rng.randrange(len(data))
            data = data[:place] + bytes([rng.randrange(256)]) + data[place + 1 :]
        start = time.process_time()
        try:
            things = wire.from_bytes(data)
        except errors.Error as error:
            assert 0 < len(str(error)) < 1000 and "\n" not in str(error), number
        else:
            accepted += 1
            assert [e["kind"] for e in wire.describe(wire.to_bytes(*things))] == [
                e["kind"] for e in wire.describe(data)
            ]
        assert time.process_time() - start < 0.5, number
    assert accepted > 0


def test_pickles_name_functions_of_the_module_alone(client, keys, ckks_client, ckks_keys):
    """Whoever loads pickles by a list of names need not allow getattr, which reaches anything."""
    things = [
        keys,
        ckks_keys,
        ckks_client.public_key(),
        client.parameters,
        ckks_client.parameters,
        client.encrypt([True]),
        ckks_client.encrypt([1.0, 0.5]),
        girih.EncryptedBits.encrypt(client, [[1, 0]]),
        ckks.Polynomial.from_chebyshev([0.5, 1.0], (-1, 1)),
    ]
    for thing in things:
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            data = pickle.dumps(thing, protocol)
            used = {
                argument
                for opcode, argument, _ in pickletools.genops(data)
                if opcode.name in ("GLOBAL", "SHORT_BINUNICODE", "BINUNICODE")
                and isinstance(argument, str)
                and ("getattr" in argument or "builtins" in argument)
            }
            assert not used, (thing, protocol, used)
            assert type(pickle.loads(data)) is type(thing)
    with pytest.raises(ValueError, match='no class "ClientKey" is pickled'):
        girih._girih._unpickle("ClientKey", b"")


def test_headers_of_other_keys(client, stranger, keys):
    data = wire.to_bytes(keys)
    for change in (set_entry(key_id=stranger.key_id), set_entry(kinds=["everything"])):
        with pytest.raises(errors.MalformedError, match="other keys"):
            wire.from_bytes(with_header(data, change))
    with pytest.raises(errors.MalformedError):
        wire.from_bytes(with_header(data, set_entry(kind="ckks keys")))


def test_every_cut_and_changed_byte_is_found(client):
    data = wire.to_bytes(client.encrypt([True]))
    rng = np.random.default_rng(3)
    for cut in [*range(0, 120), *rng.integers(0, len(data), 40)]:
        with pytest.raises(errors.MalformedError):
            wire.from_bytes(data[:cut])
        changed = bytearray(data)
        changed[cut] ^= 1 << int(rng.integers(8))
        with pytest.raises(errors.MalformedError):
            wire.from_bytes(changed)
    with pytest.raises(errors.MalformedError):
        wire.from_bytes(data + b"x")


def test_key_ids(client, stranger, ckks_client):
    with pytest.raises(errors.MismatchError, match="2 client keys"):
        wire.key_id(client.encrypt([True]), stranger.encrypt([True]))
    with pytest.raises(errors.MissingKeyError, match="constants"):
        wire.key_id(girih.Ciphertexts.trivial(client.parameters, [True]))


# --- rows


@pytest.mark.parametrize("kind", KINDS)
def test_rows(arrays, kind):
    array, wanted, decrypt = arrays[kind]
    assert rows.count(array) == 3 and rows.step(array) == 1
    parts = [rows.cut(array, 0, 1), rows.cut(array, 1, 3)]
    assert same(decrypt(parts[1]), wanted[1:])
    assert same(decrypt(rows.join(parts)), wanted)
    assert rows.likeness(parts[0]) == rows.likeness(parts[1]) == rows.likeness(array)
    singles = [rows.single(array, row) for row in (2, 0)]
    assert same(decrypt(rows.stack(singles)), wanted[[2, 0]])
    for start, stop in ((0, 4), (2, 2), (-1, 2), (3, 1)):
        with pytest.raises(errors.MismatchError, match="of 3"):
            rows.cut(array, start, stop)


def test_rows_that_share_ciphertexts():
    shared = girih.ParameterSet("INSECURE_TOY").with_packing(2)
    client = girih.ClientKey.generate(shared)
    bits = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 1], [1, 1, 1]], bool)
    instances = girih.EncryptedBits.encrypt(client, bits)
    assert rows.step(instances) == 2
    parts = [rows.cut(instances, 0, 2), rows.cut(instances, 2, 5)]
    assert np.array_equal(parts[1].decrypt(client), bits[2:])
    assert np.array_equal(rows.join(parts).decrypt(client), bits)
    with pytest.raises(errors.MismatchError, match="stay together"):
        rows.cut(instances, 1, 3)
    with pytest.raises(errors.MismatchError, match="multiples of 2"):
        rows.join(parts[::-1])
    encrypted = client.encrypt(bits[:4, 0])
    assert rows.step(encrypted) == 2 and rows.step(client.encrypt(bits[:4, :2])) == 1


def test_rows_that_do_not_go_together(arrays, client):
    bits, vectors = arrays["bits"][0], arrays["vectors"][0]
    with pytest.raises(errors.MismatchError, match="different classes"):
        rows.join([bits, vectors])
    with pytest.raises(errors.MismatchError):
        rows.join([bits, arrays["messages"][0]])
    with pytest.raises(errors.MismatchError, match="uint8"):
        rows.join([arrays["integers"][0], arrays["conditions"][0]])
    with pytest.raises(errors.MismatchError, match="no rows"):
        rows.count(client.encrypt(True))
    with pytest.raises(errors.MismatchError, match="at least one"):
        rows.join([])


# --- keys in a folder, and servers of them


def test_a_folder_of_keys(tmp_path, client, keys, ckks_keys, stranger, clean_worker):
    folder = worker.KeyFolder(tmp_path / "keys")
    stored = folder.put(keys)
    assert folder.put(keys) == stored and len(folder) == 1
    assert folder.put(wire.to_bytes(ckks_keys), ckks_keys.key_id).load().kinds == ckks_keys.kinds
    names = {f"{k.key_id}-{k.digest}" for k in (keys, ckks_keys)}
    assert set(folder) == names and stored.name in names and folder[stored.name] == stored
    assert stored.name in folder and f"{client.key_id}-{ckks_keys.digest}" not in folder
    assert client.key_id in folder and stranger.key_id not in folder and 5 not in folder
    assert folder[client.key_id] == stored and len(pickle.dumps(stored)) < 1000
    assert folder.nbytes == sum(f.stat().st_size for f in (tmp_path / "keys").iterdir())
    # Loaded once, by either way, and found by its name.
    first = worker.server(stored, "cpu")
    assert worker.server(keys, "cpu") is first
    assert isinstance(worker.server(folder[ckks_keys.key_id], "cpu"), ckks.ServerKey)
    a = client.encrypt([True, False])
    result = worker.run(stored, lambda server, a, b: (a & b, {"or": a | b}), a, ~a, device="cpu")
    assert client.decrypt(result[0]).tolist() == [False, False]
    assert client.decrypt(result[1]["or"]).tolist() == [True, True]
    folder.remove(client.key_id)
    with pytest.raises(errors.MissingKeyError, match="no keys"):
        worker.server(stored, "cpu")
    for missing in (lambda: folder[client.key_id], lambda: folder.remove(client.key_id)):
        with pytest.raises(errors.MissingKeyError, match="no keys"):
            missing()


def test_servers_of_integers(integer_client, clean_worker):
    keys = integer_client.evaluation_keys()
    number = integer_client.encrypt_integers([5, 250], "uint8")
    sums = worker.run(keys, lambda server, x: x + 10, number, device="cpu", integers=True)
    assert sums.device is None
    assert integer_client.decrypt_integers(sums).tolist() == [15, 4]
    assert isinstance(worker.server(keys, "cpu"), girih.ServerKey)
    assert isinstance(worker.server(keys, "cpu", integers=True), integer.ServerKey)


def test_servers_of_large_messages(client, clean_worker):
    context = girih.LargeParameters("insecure")
    owner = girih.ClientKey.generate(context.parameters)
    keys = context.keys(owner, ["sign"], bits=4)
    a, b = context.encrypt(owner, [3, 9], bits=4), context.encrypt(owner, [5, 2], bits=4)
    less = worker.run(keys, lambda server, a, b: server.less(a, b), a, b, device="cpu")
    assert owner.decrypt(less).tolist() == [True, False]
    with pytest.raises(errors.MismatchError, match="integers need"):
        worker.server(keys, "cpu", integers=True)


def test_results_come_to_the_host(ckks_client, ckks_keys, clean_worker):
    x = ckks_client.encrypt([0.5, 0.25])
    square = worker.run(ckks_keys, lambda server, x: x * x, x, device="cpu")
    assert square.device is None
    assert same(ckks_client.decrypt(square), [0.25, 0.0625])


def test_a_folder_refuses(tmp_path, client, keys, stranger, ckks_client):
    folder = worker.KeyFolder(tmp_path)
    data = wire.to_bytes(keys)
    with pytest.raises(errors.MismatchError, match=stranger.key_id):
        folder.put(data, stranger.key_id)
    for name in ("../" + client.key_id, client.key_id.upper() + "x", "", "a" * 31):
        with pytest.raises(errors.MalformedError, match="hexadecimal"):
            folder[name]
        with pytest.raises(errors.MalformedError, match="hexadecimal"):
            folder.put(data, name)
    with pytest.raises(errors.MalformedError, match="one set of evaluation keys"):
        folder.put(wire.to_bytes(client.encrypt([True])))
    with pytest.raises(errors.MalformedError):
        folder.put(data[:-1])
    with pytest.raises(TypeError):
        folder.put(client)
    assert len(folder) == 0 and list(tmp_path.iterdir()) == []
    full = worker.KeyFolder(tmp_path, limit=folder.nbytes + len(data) - 1)
    with pytest.raises(errors.MismatchError, match="remove others"):
        full.put(keys)
    worker.KeyFolder(tmp_path, limit=folder.nbytes + len(data)).put(keys)


def test_keys_under_the_name_of_another_client(tmp_path, client, keys, clean_worker):
    """They are found by their bytes: by their name they would take that client's place."""
    # Other keys of one name: for whoever looks at names alone, those of a stranger.
    forged = client.evaluation_keys()
    assert (forged.key_id, forged.kinds) == (keys.key_id, keys.kinds)
    assert forged.digest != keys.digest
    copy = pickle.loads(pickle.dumps(keys))
    assert copy.digest == keys.digest and len(keys.digest) == 32
    own, other = worker.server(keys, "cpu"), worker.server(forged, "cpu")
    assert worker.server(copy, "cpu") is own and other is not own
    a = client.encrypt([True, False])
    both = worker.run(keys, lambda server, a: a & a, a, device="cpu")
    assert client.decrypt(both).tolist() == [True, False]
    # In a folder, whoever comes first: side by side.
    for first, second in ((keys, forged), (forged, keys)):
        folder = worker.KeyFolder(tmp_path / first.digest)
        stored, beside = folder.put(first), folder.put(second)
        assert len(folder) == 2 and stored.path != beside.path
        assert stored.load().digest == first.digest and beside.load().digest == second.digest
        assert worker.server(folder[f"{client.key_id}-{keys.digest}"], "cpu") is own
        with pytest.raises(errors.MismatchError, match="2 different keys"):
            folder[client.key_id]
        # One file in the place of another is noticed.
        os.replace(beside.path, stored.path)
        with pytest.raises(errors.MalformedError, match="another digest"):
            stored.load()


def test_a_limit_counts_what_servers_hold(keys, ckks_keys, clean_worker):
    server = worker.server(keys, "cpu")
    # Masks are a seed in bytes, and words where keys are loaded.
    assert server.device_bytes > 2 * keys.nbytes
    vectors = worker.server(ckks_keys, "cpu")
    assert len(worker.loaded()) == 2
    worker.limit(server.device_bytes + vectors.device_bytes)
    assert len(worker.loaded()) == 2
    worker.limit(server.device_bytes + vectors.device_bytes - 1)
    assert worker.loaded() == [ckks_keys.key_id]


def test_files_that_were_changed(tmp_path, client, keys, stranger, clean_worker):
    stored = worker.KeyFolder(tmp_path).put(keys)
    whole = Path(stored.path).read_bytes()
    for damaged in (whole[:-1], whole[:10], b"", whole[:5000] + b"x" + whole[5001:]):
        Path(stored.path).write_bytes(damaged)
        with pytest.raises(errors.MalformedError):
            worker.server(stored, "cpu")
    Path(stored.path).write_bytes(wire.to_bytes(stranger.evaluation_keys()))
    with pytest.raises(errors.MalformedError, match="does not hold"):
        worker.server(stored, "cpu")
    assert worker.loaded() == []


def test_room_is_made_before_keys_are_loaded(client, keys, stranger, clean_worker):
    worker.server(keys, "cpu")
    worker.limit(keys.nbytes)
    other = stranger.evaluation_keys()
    with pytest.raises(errors.NoDeviceError):
        worker.server(other, "tpu:0")
    assert worker.loaded() == []


def test_writers_at_once(tmp_path, keys):
    folder = worker.KeyFolder(tmp_path)
    stored = []
    threads = [threading.Thread(target=lambda: stored.append(folder.put(keys))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(stored) == 4 and len(list(tmp_path.iterdir())) == 1


# --- columns


@pytest.mark.parametrize("kind", KINDS)
def test_cells(arrays, kind):
    array, wanted, decrypt = arrays[kind]
    cells = columns.cells(array)
    assert len(cells) == 3
    assert same(decrypt(columns.array(cells)), wanted)
    assert same(decrypt(columns.array(np.array(cells, dtype=object))), wanted)


def test_columns_of_dictionaries(client, keys, clean_worker):
    a, b = np.array([1, 0, 1, 1], bool), np.array([1, 1, 0, 1], bool)
    batch = {
        "a": np.array(columns.cells(client.encrypt(a)), dtype=object),
        "b": np.array(columns.cells(client.encrypt(b)), dtype=object),
        "name": np.arange(4),
    }
    work = columns.Columns(keys, lambda server, a, b: a ^ b, ["a", "b"], "c", "cpu")
    made = work(batch)
    assert list(made) == ["a", "b", "name", "c"] and "c" not in batch
    assert np.array_equal(client.decrypt(columns.array(made["c"])), a ^ b)
    assert len(work({name: column[:0] for name, column in batch.items()})["c"]) == 0
    with pytest.raises(errors.MismatchError, match="no column 'b'"):
        work({"a": batch["a"]})
    with pytest.raises(TypeError, match="Arrow table"):
        work([1])
    half = columns.Columns(keys, lambda server, a: a[:2], ["a"], "c", "cpu")
    with pytest.raises(errors.MismatchError, match="2 rows for 4"):
        half(batch)
    batch["b"][1] = wire.to_bytes(client.encrypt([True]), client.encrypt([True]))
    with pytest.raises(errors.MalformedError, match="cell 1"):
        work(batch)
    batch["b"][1] = 5
    with pytest.raises(TypeError, match="cell 1"):
        work(batch)


def test_columns_of_arrow(ckks_client, ckks_keys, clean_worker):
    arrow = pytest.importorskip("pyarrow")
    x = np.arange(48).reshape(3, 16) / 50
    cells = arrow.array(columns.cells(ckks_client.encrypt(x)), arrow.binary())
    table = arrow.table({"x": cells})
    work = columns.Columns(ckks_keys, lambda server, x: x * x, ["x"], "y", "cpu")
    made = work(table)
    assert made.schema.names == ["x", "y"] and made.schema.field("y").type == arrow.binary()
    assert same(ckks_client.decrypt(columns.array(made["y"])), x * x)
    # As Spark calls it.
    parts = list(work.batches(iter(table.to_batches(max_chunksize=2))))
    assert [type(part) for part in parts] == [arrow.RecordBatch] * len(parts)
    squares = [ckks_client.decrypt(columns.array(part.column("y"))) for part in parts]
    assert same(np.concatenate(squares), x * x)
    assert work(table.slice(0, 0)).num_rows == 0


# --- batching


def test_waiting_requests_are_joined(client, keys, stranger, ckks_client, ckks_server, server):
    held, release = threading.Event(), threading.Event()

    def slow(server, a):
        held.set()
        release.wait(30)
        return ~a

    async def load():
        batcher = serving.Batcher(most_rows=6)
        bits = np.array([1, 0, 1, 1, 0, 0], bool)
        x, y = client.encrypt(bits), client.encrypt(~bits)
        work = lambda server, a, b: a & b  # noqa: E731
        first = asyncio.create_task(batcher.run("slow", lambda: server, slow, x))
        await asyncio.to_thread(held.wait, 30)
        cuts = [(0, 2), (2, 3), (3, 6), (0, 4)]
        tasks = [
            asyncio.create_task(batcher.run("and", lambda: server, work, x[i:j], x[i:j]))
            for i, j in cuts
        ]
        broadcast = asyncio.create_task(
            batcher.run("and", lambda: server, work, x[:1], x[:1, None])
        )
        vectors = ckks_client.encrypt([[0.5, 0.25]])
        product = asyncio.create_task(
            batcher.run("multiply", lambda: ckks_server, lambda s, x: x * x, vectors)
        )
        cancelled = asyncio.create_task(batcher.run("and", lambda: server, work, y, y))
        await asyncio.sleep(0)
        cancelled.cancel()
        release.set()
        assert client.decrypt(await first).tolist() == (~bits).tolist()
        for (i, j), task in zip(cuts, tasks):
            assert client.decrypt(await task).tolist() == bits[i:j].tolist()
        assert same(ckks_client.decrypt(await product), [[0.25, 0.0625]])
        # A bit broadcast against a table gives one row: not joined with others, and right.
        assert client.decrypt(await broadcast).tolist() == [[True]]
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        # The slow one, 2 + 1 + 3 rows, 4 rows, the broadcast, the vectors.
        assert (batcher.requests, batcher.calls) == (7, 5)
        batcher.close()

    asyncio.run(load())


def test_one_bad_request_fails_alone(client, stranger, server):
    started, release = threading.Event(), threading.Event()

    def wait(server, a):
        started.set()
        release.wait(30)
        return a

    async def load():
        batcher = serving.Batcher()
        good, bad = client.encrypt([True]), stranger.encrypt([False])
        first = asyncio.create_task(batcher.run("wait", lambda: server, wait, good))
        await asyncio.to_thread(started.wait, 30)
        work = lambda server, a: server.gate("and", a, a)  # noqa: E731
        tasks = [
            asyncio.create_task(batcher.run("and", lambda: server, work, x))
            for x in (good, bad, good)
        ]
        await asyncio.sleep(0)
        release.set()
        await first
        assert client.decrypt(await tasks[0]).tolist() == [True]
        with pytest.raises(errors.MismatchError, match="client key"):
            await tasks[1]
        assert client.decrypt(await tasks[2]).tolist() == [True]
        with pytest.raises(errors.MismatchError, match="one for each"):
            await batcher.run("cut", lambda: server, lambda s, a: a[:1], client.encrypt([1, 0]))
        with pytest.raises(errors.MismatchError, match="equally long"):
            await batcher.run("and", lambda: server, work, good, client.encrypt([1, 0]))
        with pytest.raises(TypeError):
            await batcher.run("and", server, work, good)
        with pytest.raises(TypeError):
            await batcher.run([], lambda: server, work, good)
        batcher.close()

    asyncio.run(load())


def test_without_ray():
    """The package works where Ray is not installed, and says what it lacks."""
    script = """
import sys
sys.modules["ray"] = None
import girih
keys = girih.ClientKey.generate("INSECURE_TOY").evaluation_keys()
try:
    girih.ray.Pool(keys, "cpu")
except ImportError as error:
    assert 'pip install "ray[data,serve]"' in str(error)
else:
    raise SystemExit(1)
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60, env=dict(os.environ))
