"""Threads, processes, signals and progress."""

import collections
import io
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import girih
from girih import ckks


def in_a_worker(arguments):
    """A task as engines send it: keys and ciphertexts in, ciphertexts out."""
    keys, a, b = arguments
    with girih.worker.server(keys, "cpu"):
        return a & b, os.getpid(), girih.worker.loaded()


def test_workers_of_spawn_load_keys_once(client, keys):
    tasks = [
        (keys, client.encrypt([True, False]), client.encrypt([True, bool(i % 2)])) for i in range(6)
    ]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        results = pool.map(in_a_worker, tasks, chunksize=1)
    for result, pid, loaded in results:
        assert client.decrypt(result).tolist() == [True, False]
        assert pid != os.getpid() and loaded == [client.key_id]


def test_the_worker_forgets_what_is_unused(client, keys, stranger, ckks_client):
    worker = girih.worker
    worker.forget()
    try:
        first = worker.server(keys, "cpu")
        assert worker.server(keys, "cpu") is first
        other = stranger.evaluation_keys()
        worker.limit(keys.nbytes)
        worker.server(other, "cpu")
        assert worker.loaded() == [stranger.key_id]
        # Keys of one client for other operations are other keys, though they are as large.
        one, three = (ckks_client.evaluation_keys(rotations=[by]) for by in (1, 3))
        assert one.nbytes == three.nbytes
        worker.limit(1 << 30)
        servers = [worker.server(k, "cpu") for k in (one, three, one)]
        assert servers[0] is servers[2] is not servers[1]
        assert isinstance(servers[0], ckks.ServerKey)
    finally:
        worker.forget()
        worker.limit(4 << 30)
    assert worker.loaded() == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_forked_children_are_refused():
    script = """
import os, girih
client = girih.ClientKey.generate("INSECURE_TOY")
keys = client.evaluation_keys()
pid = os.fork()
if pid == 0:
    try:
        client.encrypt([True])
    except girih.errors.ForkError as error:
        assert "spawn" in str(error)
        os._exit(7)
    os._exit(1)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
client.encrypt([True])
"""
    warnings = ["-W", "ignore::DeprecationWarning"]
    subprocess.run([sys.executable, *warnings, "-c", script], check=True, timeout=60)


def test_fork_before_use_is_no_harm():
    script = """
import os, girih
pid = os.fork()
if pid == 0:
    client = girih.ClientKey.generate("INSECURE_TOY")
    client.evaluation_keys()
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
"""
    if hasattr(os, "fork"):
        subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_other_threads_run_meanwhile():
    client = girih.ClientKey.generate("STD128")
    turns, done = 0, threading.Event()

    def turn():
        nonlocal turns
        while not done.is_set():
            turns += 1
            time.sleep(0.001)

    thread = threading.Thread(target=turn)
    thread.start()
    start = time.monotonic()
    client.evaluation_keys()
    seconds = time.monotonic() - start
    before = turns
    done.set()
    thread.join()
    assert before > 20 * seconds


def test_threads_share_a_server(client, server):
    rng = np.random.default_rng(5)
    wrong = []

    def work(seed):
        a, b = rng.integers(0, 2, (2, 40)).astype(bool)
        with server:
            c = client.encrypt(a) ^ client.encrypt(b)
        if not np.array_equal(client.decrypt(c), a ^ b):
            wrong.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_progress_is_heard(client, capsys):
    heard = []
    keys = client.evaluation_keys(progress=lambda *step: heard.append(step))
    assert {what for what, _, _ in heard} == {"bootstrapping key", "key-switching key"}
    assert all(0 < done <= total for _, done, total in heard)
    assert heard[-1][1] == heard[-1][2]
    girih.ServerKey(keys, "cpu", progress=True)
    client.evaluation_keys(progress=girih.progress.tqdm(ascii=True))
    assert "bootstrapping key" in capsys.readouterr().err


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_a_bar_on_a_terminal_from_two_seconds_on(monkeypatch):
    now = 0.0
    monkeypatch.setattr("tqdm.std.time", lambda: now)
    terminal, file = Terminal(), io.StringIO()
    for stream in [terminal, file]:
        monkeypatch.setattr(sys, "stderr", stream)
        report = girih.progress._shown()
        # Work of one name may begin anew.
        for begin in [0.0, 100.0]:
            for seconds, done in [(0, 0), (1.9, 10), (2.0, 20)]:
                assert stream.getvalue().strip() == ""
                now = begin + seconds
                report("keys", done, 50)
            if stream is file:
                continue
            line = stream.getvalue()
            assert line.startswith("\rkeys:  40%") and "20/50 [00:02<00:03" in line
            report("keys", 50, 50)
            assert stream.getvalue().endswith(" \r")
            stream.truncate(stream.seek(0))
    assert file.getvalue() == ""


def test_an_exception_of_progress_ends_the_work():
    client = girih.ClientKey.generate("STD128")

    class Enough(Exception):
        pass

    def enough(what, done, total):
        raise Enough

    for _ in range(2):
        with pytest.raises(Enough):
            client.evaluation_keys(progress=enough)


@pytest.fixture
def interrupts():
    """Python's own handler, which a process in the background is started without."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted(work):
    """How many seconds after a signal the call ended; the work has begun and would go on."""
    at = []

    def interrupt():
        at.append(time.monotonic())
        signal.raise_signal(signal.SIGINT)

    timer = threading.Timer(0.2, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        work()
    return time.monotonic() - at[0]


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_work_that_reports_nothing_is_interrupted_too(interrupts, client):
    # Each is seconds of work, of a crate that looks for no signals.
    netlist, many = girih.Netlist.sorting_network(64, 32), np.zeros(500_000, bool)
    for work in (
        lambda: girih.Circuit(netlist, client.parameters, log2_failure=-1.0),
        lambda: client.encrypt(many),
    ):
        assert interrupted(work) < 1


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_integers_report_and_are_interrupted(interrupts, integer_client, integer_server):
    x = integer_client.encrypt_integers(np.arange(1, 9), "uint64").to_device(integer_server)
    done = integer_server.look_ups
    # Some seconds, of which a report is some hundredths.
    assert interrupted(lambda: x // x[::-1]) < 1
    assert integer_server.look_ups == done
    heard = []
    integer_server.report_to(lambda *step: heard.append(step))
    try:
        small = x.astype("uint4")
        total = small * small
        assert heard[-1][0] == "look-ups" and heard[-1][1] == heard[-1][2] > 0

        class Enough(Exception):
            pass

        def enough(*_):
            raise Enough

        integer_server.report_to(enough)
        with pytest.raises(Enough):
            x // x[::-1]
        with pytest.raises(TypeError, match="callable"):
            integer_server.report_to(5)
    finally:
        integer_server.report_to()
    expected = np.arange(1, 9) ** 2 % 16
    assert np.array_equal(integer_client.decrypt(total), expected)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_keyboard_interrupts_long_work(interrupts):
    # 500 times the time of one gate would be seconds; a sixth of a second is not.
    client = girih.ClientKey.generate("STD128")
    keys = client.evaluation_keys()
    server = girih.ServerKey(keys, "cpu")
    many = client.encrypt(np.zeros(20_000, bool))
    for work in (
        lambda: collections.deque((client.evaluation_keys() for _ in range(1000)), maxlen=1),
        lambda: server.gate("nand", many, many[::-1]),
    ):
        timer = threading.Timer(0.3, signal.raise_signal, (signal.SIGINT,))
        timer.start()
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            work()
        # Parts of 256 gates are a second or two; all of them would be a minute.
        assert time.monotonic() - start < 30
    # All is as before.
    assert client.decrypt(server.gate("nand", many[:2], many[:2])).tolist() == [True, True]


LONG = """
import sys
import time
import numpy as np
from girih import ckks

what = sys.argv[1]
if what.startswith("tfhe"):
    import girih

    client = girih.ClientKey.generate("M5")
    if what == "tfhe keys":
        work = client.evaluation_keys
    else:
        keys = client.evaluation_keys()
        work = lambda: girih.ServerKey(keys, what.split()[-1], transform="ntt")
elif what.startswith("loading"):
    client = ckks.ClientKey.generate("CKKS_N14_D40")
    rotations = list(range(1, 60))
    if what.startswith("loading whole"):
        keys = client.evaluation_keys(rotations=rotations)
        work = lambda: ckks.ServerKey(keys, what.split()[-1])
    else:
        work = lambda: client.server_key(what.split()[-1], rotations=rotations)
elif what == "keys":
    client = ckks.ClientKey.generate("CKKS_D40")
    work = lambda: client.evaluation_keys(rotations=list(range(1, 100)))
else:
    client = ckks.ClientKey.generate("INSECURE_CKKS_D40_N10")
    server = ckks.ServerKey(client.evaluation_keys(bootstrapping=16), "cpu")
    x = client.encrypt(np.zeros((400, 16)), level=0).to_device(server)

    def many(x):
        for _ in range(100):
            x = x.bootstrap()
        return x

    work = (lambda: server.record(many, x)) if what == "recording" else x.bootstrap
# What is loaded in less time than the test waits is loaded again.
times = 50 if "loading" in what else 1
print("begins", flush=True)
try:
    for _ in range(times):
        work()
except KeyboardInterrupt:
    print(time.monotonic(), flush=True)
    raise
print("ended", flush=True)
"""


#: A device of wgpu, where the package has that and the machine one.
WGPU = [d.id for d in girih.devices() if d.kind == "wgpu"][:1]


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(
    "what",
    [
        "keys", "recording", "bootstrapping", "tfhe keys",
        *(f"{what} on {device}" for device in ["cpu", *WGPU]
          for what in ("tfhe loading", "loading whole keys", "loading keys")),
    ],
)  # fmt: skip
def test_a_signal_ends_a_process_at_once(what):
    """Each would take seconds, and nothing of it is waited for. A driver that is compiling may be,
    but only when the process ends."""
    # Processes in the background begin without Python's handler.
    begin = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    words = [sys.executable, "-c", begin + LONG, what]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as one:
        try:
            assert one.stdout.readline() == "begins\n", one.stderr.read()
            time.sleep(0.5)
            start = time.monotonic()
            one.send_signal(signal.SIGINT)
            said, errors = one.communicate(timeout=60)
            took = time.monotonic() - start
        finally:
            one.kill()
    assert one.returncode != 0 and "KeyboardInterrupt" in errors, errors
    raised = float(said) - start
    print(f"{what}: raised after {raised:.2f} s, ended after {took:.2f} s")
    # Half a second on a quiet machine.
    assert raised < 1 and (took < 2 or "wgpu" in what)
