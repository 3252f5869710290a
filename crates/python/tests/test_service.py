"""The service of the examples under load: a killed worker, hostile bodies.

Left out where Ray is not installed, unless GIRIH_TEST_RAY is 1.
"""

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"

if os.environ.get("GIRIH_TEST_RAY") != "1":
    pytest.importorskip("ray.serve", reason="Ray is not installed: pip install 'ray[data,serve]'")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextmanager
def service(folder, port):
    """serve.py as users start it, until it answers."""
    command = [
        sys.executable, str(EXAMPLES / "serve.py"), "--folder", str(folder / "keys"),
        "--device", "cpu", "--port", str(port), "--most-bytes", str(16 << 20),
    ]  # fmt: skip
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=folder)
    try:
        end = time.monotonic() + 300
        while "ready at" not in (text := (folder / "log").read_text()):
            assert process.poll() is None and time.monotonic() < end, text
            time.sleep(0.5)
        yield
    finally:
        process.terminate()
        try:
            process.wait(120)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def load(port, *words):
    made = subprocess.run(
        [sys.executable, str(EXAMPLES / "load.py"), "--url", f"http://127.0.0.1:{port}", *words],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert made.returncode == 0, made.stdout + made.stderr
    return json.loads(made.stdout.splitlines()[-1])


def test_the_service_under_load(tmp_path):
    port = free_port()
    with service(tmp_path, port):
        toy = load(
            port, "--set", "INSECURE_TOY", "--clients", "6", "--requests", "10", "--hostile"
        )
        assert toy["requests"] == 60 and toy["wrong"] == 0 and toy["repeated"] == []
        assert toy["not_refused"] == [] and len(toy["refused"]) == 16
        vectors = load(
            port, "--set", "INSECURE_CKKS_D40_N10", "--clients", "4", "--requests", "10",
            "--users", "2", "--kill",
        )  # fmt: skip
        assert vectors["wrong"] == 0 and vectors["worker_replaced"]
        assert len(list((tmp_path / "keys").iterdir())) == 3
        too_long = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        too_long.request("PUT", "/keys/" + "a" * 32, bytes((16 << 20) + 1))
        answer = too_long.getresponse()
        assert (answer.status, answer.read()) == (413, b"a body has at most 16777216 bytes")
        too_long.close()
