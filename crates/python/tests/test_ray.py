"""Ray: pools of workers, lost ones, Ray Data.

Left out where Ray is not installed, unless GIRIH_TEST_RAY is 1.
"""

import os
import signal
import threading
import time

import numpy as np
import pytest
from wrong import MORE, NONSENSE, public_calls, tried

import girih
from girih import columns, errors, worker

if os.environ.get("GIRIH_TEST_RAY") != "1":
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'ray[data,serve]'")
import ray  # noqa: E402

# Ray leaves sockets and processes to the end of this one.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def cluster():
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    options = {
        "num_cpus": 3, "num_gpus": 0, "include_dashboard": False, "log_to_driver": False,
        "object_store_memory": 200 << 20,
    }  # fmt: skip
    for attempt in range(4):
        try:
            ray.init(**options)
            break
        except Exception as error:
            # Ray gives a node 30 s to start, which a busy machine may need.
            if attempt == 3 or "timed out during startup" not in str(error):
                raise
            ray.shutdown()
    yield ray
    ray.shutdown()


@pytest.fixture(scope="module")
def pool(cluster, keys):
    with girih.ray.Pool(keys, "cpu", workers=2) as pool:
        yield pool


def random_bits(client, count, seed=1):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 2, (2, count)).astype(bool)
    return a, b, client.encrypt(a), client.encrypt(b)


def test_gates_in_order(pool, client):
    a, b, x, y = random_bits(client, 101)
    heard = []
    made = pool.gate("nand", x, y, size=7, progress=lambda *step: heard.append(step))
    assert np.array_equal(client.decrypt(made), ~(a & b))
    assert heard == [("batches", i, 15) for i in range(1, 16)]
    made = pool.gate("xor", x[:100].reshape(20, 5), y[:100].reshape(20, 5))
    assert np.array_equal(client.decrypt(made), (a ^ b)[:100].reshape(20, 5))
    both = pool.map(lambda server, x, y: (x & y, [x | y]), x, y)
    assert np.array_equal(client.decrypt(both[0]), a & b)
    assert np.array_equal(client.decrypt(both[1][0]), a | b)
    info = pool.workers()
    assert {one.device for one in info} == {"cpu"} and len({one.pid for one in info}) == len(info)


def test_tables_and_circuits(pool, client, capsys):
    messages = np.arange(40) % 4
    table = girih.LookUpTable(2, lambda m: 3 - m)

    def apply(server, x):
        # One message in some hundred thousand of the toy may be wrong.
        server.limit_failure(0.0)
        return server.apply(x, table)

    encrypted = client.encrypt(messages, bits=2)
    assert client.decrypt(pool.map(apply, encrypted)).tolist() == (3 - messages).tolist()
    made = pool.apply(encrypted, table, progress=True)
    assert client.decrypt(made).tolist() == (3 - messages).tolist()
    assert "batches" in capsys.readouterr().err
    netlist = girih.Netlist.adder(4)
    circuit = girih.Circuit(netlist, client.parameters, log2_failure=-1.0)
    a, b = np.arange(11) % 16, np.arange(11) * 5 % 16
    inputs = circuit.encrypt(client, {"a": a, "b": b})
    outputs = pool.run(netlist, inputs, log2_failure=-1.0, size=4)
    assert circuit.decrypt(client, outputs)["sum"].tolist() == ((a + b) % 16).tolist()


def test_batches_are_read_as_needed(pool, client):
    read = 0

    def endless():
        nonlocal read
        while True:
            read += 1
            yield (client.encrypt([bool(read % 2)]),)

    results = pool.imap(lambda server, x: ~x, endless())
    first = [client.decrypt(next(results)).tolist() for _ in range(5)]
    assert first == [[False], [True], [False], [True], [False]]
    assert read < 30
    with pytest.raises(errors.MismatchError, match="one call at a time"):
        pool.workers()
    results.close()
    assert client.decrypt(pool.gate("and", *[client.encrypt([True])] * 2)).tolist() == [True]


def test_what_work_raises_is_raised_here(pool, client, stranger):
    x = client.encrypt([True, False])

    class OurOwn(Exception):
        pass

    def fail(server, x):
        raise OurOwn("a word")

    with pytest.raises(Exception, match="a word") as raised:
        pool.map(fail, x)
    assert type(raised.value).__name__ == "OurOwn"
    with pytest.raises(errors.MismatchError, match="client key"):
        pool.map(lambda server, x: x & x, stranger.encrypt([True]))
    with pytest.raises(errors.MismatchError, match="bits"):
        pool.map(lambda server, x: server.apply(x, girih.LookUpTable(2, [0, 1, 2, 3])), x)

    def enough(what, done, total):
        raise OurOwn("enough")

    with pytest.raises(OurOwn, match="enough"):
        pool.map(lambda server, x: ~x, x, progress=enough)
    # The pool computes on.
    assert client.decrypt(pool.map(lambda server, x: ~x, x)).tolist() == [False, True]


def test_bad_input(cluster, pool, keys, client, ckks_client):
    x = client.encrypt([True, False])
    for work, error, message in (
        (lambda: girih.ray.Pool(client, "cpu"), TypeError, "evaluation keys"),
        (lambda: girih.ray.Pool(keys, 5), TypeError, "named by a str"),
        (lambda: girih.ray.Pool(keys, "cpu", workers=0), ValueError, "at least 1"),
        (lambda: girih.ray.Pool(keys, "cpu", workers="2"), TypeError, "a number"),
        (lambda: girih.ray.Pool(keys, "cpu", retries=-1), ValueError, "at least 0"),
        (lambda: girih.ray.Pool(keys, "cpu", cpus=-1), ValueError, "negative"),
        (lambda: girih.ray.Pool(keys, "cpu", workers=2**40, cpus=0), ValueError, "at most"),
        (lambda: girih.ray.Pool(keys, "cpu", workers=99), errors.NoDeviceError, "has 3"),
        (lambda: girih.ray.MapBatches(b"keys", len, ["a"], "b"), TypeError, "Ray's store"),
        (lambda: girih.ray.MapBatches(keys, len, "a", "b"), TypeError, "list of str"),
        (lambda: pool.map(5, x), TypeError, "a function"),
        (lambda: pool.map(len), ValueError, "at least one"),
        (lambda: pool.map(len, x, x[:1]), ValueError, "equally long"),
        (lambda: pool.map(len, [1, 2]), TypeError, "rows are those of ciphertexts"),
        (lambda: pool.map(len, client.encrypt(True)), ValueError, "no rows"),
        (lambda: pool.map(len, x, size=0), ValueError, "at least 1"),
        (lambda: pool.map(len, x, progress=5), TypeError, "callable"),
        (lambda: list(pool.imap(len, 5)), TypeError, "tuples of arrays"),
        (lambda: list(pool.imap(len, [5])), TypeError, "tuple of arrays"),
        (lambda: pool.gate("and", x, [True, False]), TypeError, "ciphertexts"),
        (lambda: pool.gate("and", x, x.reshape(2, 1)), ValueError, "must be equal"),
        (lambda: pool.gate("nor?", x, x), ValueError, "nand"),
        (lambda: pool.apply(x, [0, 1]), TypeError, "LookUpTable"),
        (lambda: pool.run("netlist", x), TypeError, "Netlist"),
        (lambda: pool.run(girih.Netlist.adder(2), x), TypeError, "EncryptedBits"),
        (lambda: pool.map(lambda s, x: client, x), errors.SecretKeyError, "secret"),
        (lambda: list(pool.imap(len, [(client,)])), errors.SecretKeyError, "secret"),
    ):
        with pytest.raises(error, match=message):
            work()


def test_one_wrong_argument(cluster, pool, keys, client, ckks_client, ckks_keys):
    x, netlist = client.encrypt([True, False]), girih.Netlist.adder(2)
    circuit = girih.Circuit(netlist, client.parameters, log2_failure=-1.0)
    inputs = circuit.encrypt(client, {"a": [1], "b": [2]})
    table = girih.LookUpTable(2, [0, 1, 2, 3])
    rest = {"size": 1, "progress": None}
    others = [client, keys, ckks_keys, x, inputs, netlist, table, ckks_client.encrypt([0.5, 1])]
    calls = {
        "ray.Pool.map": (pool.map, (lambda server, a: ~a, x), rest),
        "ray.Pool.imap": (
            lambda *arguments: list(pool.imap(*arguments)), (lambda server, a: ~a, [(x,)]), {},
        ),
        "ray.Pool.gate": (pool.gate, ("and", x, x), rest),
        "ray.Pool.apply": (pool.apply, (client.encrypt([1, 2], bits=2), table), rest),
        "ray.Pool.run": (pool.run, (netlist, inputs), {"log2_failure": -1.0, **rest}),
        "ray.Pool": (
            lambda *arguments, **keywords: girih.ray.Pool(*arguments, **keywords).close(),
            (keys, "cpu"), {"workers": 1, "cpus": 1, "gpus": 0, "retries": 0, "integers": False},
        ),
        "ray.require": (girih.ray.require, ("cpu", 1), {"cpus": 1, "gpus": 0}),
    }  # fmt: skip
    assert set(calls) == {n for n in public_calls() if n.startswith(("ray.Pool", "ray.req"))}
    # These start workers, or end them where they are interrupted.
    slow = ("ray.Pool", "ray.Pool.imap")
    for name, (function, arguments, keywords) in calls.items():
        wrong = NONSENSE[::2] if name in slow else [*NONSENSE, *MORE, *others]
        assert tried(name, function, arguments, keywords, wrong), name
    assert client.decrypt(pool.gate("and", x, x)).tolist() == [True, False]


def test_a_cluster_without_gpus_says_so(cluster, keys):
    for device in ("cuda:0", "wgpu:0", "auto"):
        with pytest.raises(errors.NoDeviceError, match='has 0: .* device="cpu"'):
            girih.ray.Pool(keys, device)
    # The CPU only when asked, for a device that needs none as well.
    with pytest.raises(errors.NoDeviceError, match="tpu"):
        with girih.ray.Pool(keys, "tpu:0", gpus=0, workers=1) as pool:
            pool.workers()
    closed = girih.ray.Pool(keys, "cpu", workers=1)
    closed.close()
    with pytest.raises(errors.MismatchError, match="closed"):
        closed.workers()


def kill_when(pool, event):
    """Kills a worker once `event` is set; returns the thread."""
    pids = [one.pid for one in pool.workers()]

    def kill():
        assert event.wait(60)
        os.kill(pids[0], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


@pytest.mark.parametrize("size", [1, 5])
def test_a_killed_worker_loses_nothing(pool, client, size):
    a, b, x, y = random_bits(client, 60, seed=size)
    quarter, before = threading.Event(), pool.lost
    killing = kill_when(pool, quarter)

    def slow_nand(server, x, y):
        time.sleep(0.05)
        return ~(x & y)

    def report(what, done, total):
        if done >= total // 4:
            quarter.set()

    made = pool.map(slow_nand, x, y, size=size, progress=report)
    killing.join()
    assert np.array_equal(client.decrypt(made), ~(a & b))
    # The last batches may be done before the loss is seen; the next call sees it then.
    pool.gate("and", x, y, size=10)
    assert pool.lost == before + 1


def test_a_killed_worker_of_vectors(cluster, ckks_client, ckks_keys):
    x = np.random.default_rng(2).uniform(-1, 1, (16, 16))
    with girih.ray.Pool(ckks_keys, "cpu", workers=2) as pool:
        quarter = threading.Event()
        killing = kill_when(pool, quarter)

        def slow(server, v):
            time.sleep(0.05)
            return v * v + v.rotate(1)

        def report(what, done, total):
            if done >= total // 4:
                quarter.set()

        made = pool.map(slow, ckks_client.encrypt(x), size=1, progress=report)
        killing.join()
    wanted = x * x + np.roll(x, -1, axis=1)
    assert np.abs(ckks_client.decrypt(made) - wanted).max() < 1e-4


def test_work_that_kills_is_given_up(cluster, keys, client):
    x = client.encrypt([True] * 4)

    def kill(server, x):
        os.kill(os.getpid(), signal.SIGKILL)

    with girih.ray.Pool(keys, "cpu", workers=1, retries=1) as pool:
        with pytest.raises(errors.WorkerLostError, match="batch 0 was lost 2 times"):
            pool.map(kill, x)
        assert pool.lost == 2
        assert client.decrypt(pool.gate("and", x, x)).tolist() == [True] * 4


def test_interrupts_end_the_wait(pool, client):
    x = client.encrypt([True] * 8)

    def sleep(server, x):
        time.sleep(30)
        return x

    timer = threading.Timer(1.0, signal.raise_signal, (signal.SIGINT,))
    start = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        pool.map(sleep, x, size=1)
    assert time.monotonic() - start < 15
    assert client.decrypt(pool.gate("and", x, x)).tolist() == [True] * 8


def test_stored_keys_and_integers(cluster, integer_client, tmp_path):
    keys = integer_client.evaluation_keys()
    stored = worker.KeyFolder(tmp_path).put(keys)
    values = np.arange(6, dtype=np.uint8) * 40
    with girih.ray.Pool(stored, "cpu", workers=1, integers=True) as pool:
        sums = pool.map(lambda server, x: x + 100, integer_client.encrypt_integers(values), size=4)
    assert integer_client.decrypt_integers(sums).tolist() == (values + np.uint8(100)).tolist()


def test_map_batches_of_ray_data(cluster, client, keys):
    arrow = pytest.importorskip("pyarrow")
    data = pytest.importorskip("ray.data")
    a, b, x, y = random_bits(client, 24, seed=9)
    table = arrow.table({
        "a": arrow.array(columns.cells(x), arrow.binary()),
        "b": arrow.array(columns.cells(y), arrow.binary()),
        "row": np.arange(24),
    })  # fmt: skip
    arguments = {
        "keys": ray.put(keys), "work": lambda server, a, b: ~(a & b), "inputs": ["a", "b"],
        "output": "c", "device": "cpu",
    }  # fmt: skip
    for form in ("pyarrow", "numpy"):
        made = data.from_arrow(table, override_num_blocks=3).map_batches(
            girih.ray.MapBatches, fn_constructor_kwargs=arguments, batch_size=5,
            batch_format=form, concurrency=1, num_cpus=1,
        )  # fmt: skip
        rows = sorted(made.take_all(), key=lambda row: row["row"])
        found = client.decrypt(columns.array([row["c"] for row in rows]))
        assert np.array_equal(found, ~(a & b))


def test_a_killed_worker_of_ray_data(cluster, client, keys, tmp_path):
    data = pytest.importorskip("ray.data")
    a, _, x, _ = random_bits(client, 12, seed=10)

    def slow_not(server, x):
        (tmp_path / str(os.getpid())).touch()
        time.sleep(0.3)
        return ~x

    def kill():
        end = time.monotonic() + 120
        while time.monotonic() < end:
            for file in tmp_path.iterdir():
                os.kill(int(file.name), signal.SIGKILL)
                return
            time.sleep(0.05)

    killing = threading.Thread(target=kill)
    killing.start()
    items = [{"row": row, "x": cell} for row, cell in enumerate(columns.cells(x))]
    made = data.from_items(items, override_num_blocks=6).map_batches(
        girih.ray.MapBatches, batch_size=2, concurrency=1, num_cpus=1, fn_constructor_kwargs={
            "keys": ray.put(keys), "work": slow_not, "inputs": ["x"], "output": "y",
            "device": "cpu",
        },
    )  # fmt: skip
    rows = sorted(made.take_all(), key=lambda row: row["row"])
    killing.join()
    assert client.decrypt(columns.array([row["y"] for row in rows])).tolist() == (~a).tolist()
    assert len(list(tmp_path.iterdir())) == 2
