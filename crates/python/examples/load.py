"""Load for the service of serve.py, on loopback: every answer is decrypted and checked.

    python load.py --url http://127.0.0.1:8123 --clients 8 --requests 20 --kill --hostile

Prints one line of JSON: requests a second, latencies, wrong and repeated requests, refusals.
"""

import argparse
import http.client
import json
import os
import signal
import threading
import time
from urllib.parse import urlsplit

import girih
import numpy as np
from girih import ckks


class Service:
    """One connection to the service; a lost one is made again."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.host, self.port = parts.hostname, parts.port
        self.connection = None

    def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        if self.connection is None:
            self.connection = http.client.HTTPConnection(self.host, self.port, timeout=300)
        try:
            self.connection.request(method, path, body)
            answer = self.connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            self.connection.close()
            self.connection = None
            raise


class Bits:
    """NAND of bits."""

    def __init__(self, name: str, size: int) -> None:
        self.client = girih.ClientKey.generate(name)
        self.keys, self.size = self.client.evaluation_keys(), size
        self.path = f"/keys/{self.keys.key_id}-{self.keys.digest}/nand"

    def request(self, rng):
        a, b = rng.integers(0, 2, (2, self.size)).astype(bool)
        return girih.wire.to_bytes(self.client.encrypt(a), self.client.encrypt(b)), ~(a & b)

    def right(self, result, wanted) -> bool:
        return bool((self.client.decrypt(result) == wanted).all())


class Vectors:
    """Products of vectors."""

    def __init__(self, name: str, size: int) -> None:
        self.client = ckks.ClientKey.generate(name)
        self.keys, self.size = self.client.evaluation_keys(), size
        self.path = f"/keys/{self.keys.key_id}-{self.keys.digest}/multiply"

    def request(self, rng):
        x, y = rng.uniform(-1, 1, (2, self.size, 16))
        return girih.wire.to_bytes(self.client.encrypt(x), self.client.encrypt(y)), x * y

    def right(self, result, wanted) -> bool:
        return bool(np.abs(self.client.decrypt(result) - wanted).max() < 1e-3)


def hostile(url: str, user) -> list[tuple[str, int]]:
    """Requests that must be refused, each with the status that it got."""
    service, rng = Service(url), np.random.default_rng(7)
    body, _ = user.request(rng)
    keys = girih.wire.to_bytes(user.keys)
    key_id = user.client.key_id
    other = "0" * 31 + "1"
    flipped = bytearray(body)
    flipped[len(body) // 2] ^= 1
    lies = body.replace(b'"shape":[', b'"shape":[9').replace(b"false", b"true ")
    things = [
        ("nothing", "POST", user.path, b""),
        ("noise", "POST", user.path, rng.bytes(10_000)),
        ("cut off", "POST", user.path, body[:-1]),
        ("one bit changed", "POST", user.path, bytes(flipped)),
        ("a changed header", "POST", user.path, lies),
        ("a header without end", "POST", user.path, girih.wire.MAGIC + b"\xff" * 64),
        ("a pickle", "POST", user.path, b"cos\nsystem\n(S'true'\ntR."),
        ("keys for arrays", "POST", user.path, keys),
        ("no such keys", "POST", f"/keys/{other}/nand", body),
        ("no such operation", "POST", f"/keys/{key_id}/decrypt", body),
        ("a path upwards", "PUT", "/keys/..%2f..%2fetc", keys),
        ("keys under another name", "PUT", f"/keys/{other}", keys),
        ("arrays for keys", "PUT", f"/keys/{key_id}", body),
        ("noise for keys", "PUT", f"/keys/{key_id}", rng.bytes(10_000)),
        ("no such path", "GET", "/", b""),
        ("no such method", "DELETE", f"/keys/{key_id}", b""),
    ]
    return [(what, service.ask(method, path, data)[0]) for what, method, path, data in things]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", default="http://127.0.0.1:8123")
    parser.add_argument("--set", default="STD128", help="of TFHE or CKKS")
    parser.add_argument("--clients", type=int, default=8, help="that ask one after the other")
    parser.add_argument("--requests", type=int, default=20, help="of each client")
    parser.add_argument("--size", type=int, default=8, help="bits or vectors of a request")
    parser.add_argument("--users", type=int, default=1, help="keys that clients share")
    parser.add_argument("--kill", action="store_true", help="a worker of this machine, midway")
    parser.add_argument("--hostile", action="store_true", help="send what must be refused")
    options = parser.parse_args()

    kind = Vectors if "CKKS" in options.set else Bits
    users = [kind(options.set, options.size) for _ in range(options.users)]
    service = Service(options.url)
    for user in users:
        status, text = service.ask(
            "PUT", user.path.rpartition("/")[0], girih.wire.to_bytes(user.keys)
        )
        assert status == 201, (status, text)

    total = options.clients * options.requests
    latencies, wrong, repeated = [], [], []
    lock = threading.Lock()

    def client(number: int) -> None:
        rng = np.random.default_rng(number)
        user, own = users[number % len(users)], Service(options.url)
        for _ in range(options.requests):
            body, wanted = user.request(rng)
            start = time.perf_counter()
            for attempt in range(20):
                try:
                    status, answer = own.ask("POST", user.path, body)
                except (OSError, http.client.HTTPException) as error:
                    status, answer = 0, repr(error).encode()
                if status == 200:
                    break
                repeated.append((status, answer[:200].decode()))
                time.sleep(0.5)
            seconds = time.perf_counter() - start
            good = status == 200 and user.right(girih.wire.from_bytes(answer)[0], wanted)
            with lock:
                latencies.append(seconds)
                if not good:
                    wrong.append(status)

    # The first request of each user waits for its keys to be loaded, which is measured apart.
    start = time.perf_counter()
    for user in users:
        body, _ = user.request(np.random.default_rng(0))
        status, text = service.ask("POST", user.path, body)
        assert status == 200, (status, text)
    first = time.perf_counter() - start
    before = json.loads(service.ask("GET", "/statistics")[1])

    threads = [threading.Thread(target=client, args=(i,)) for i in range(options.clients)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    if options.kill:
        while len(latencies) < total // 4 and any(thread.is_alive() for thread in threads):
            time.sleep(0.01)
        os.kill(before["pid"], signal.SIGKILL)
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - start
    after = json.loads(service.ask("GET", "/statistics")[1])

    latencies.sort()
    at = lambda part: round(latencies[min(int(part * total), total - 1)], 4)  # noqa: E731
    report = {
        "set": options.set,
        "clients": options.clients,
        "requests": total,
        "size": options.size,
        "seconds": round(seconds, 2),
        "requests_per_second": round(total / seconds, 2),
        "latency": {"median": at(0.5), "p95": at(0.95), "p99": at(0.99), "longest": at(1)},
        "first_request_of_all_users": round(first, 2),
        "wrong": len(wrong),
        "repeated": repeated,
        "worker_replaced": before["pid"] != after["pid"],
    }
    if not report["worker_replaced"]:
        calls = after["calls"] - before["calls"]
        report["requests_per_call"] = round((after["requests"] - before["requests"]) / calls, 2)
    if options.hostile:
        answers = hostile(options.url, users[0])
        report["refused"] = {what: status for what, status in answers}
        report["not_refused"] = [what for what, status in answers if not 400 <= status < 500]
    print(json.dumps(report), flush=True)
    good = not wrong and not report.get("not_refused") and len(latencies) == total
    raise SystemExit(0 if good and (report["worker_replaced"] or not options.kill) else 1)


if __name__ == "__main__":
    main()
