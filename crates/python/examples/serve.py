"""A service that computes on encrypted data, over Ray Serve.

    python serve.py --folder keys --device cpu --port 8123

| request | answer |
|---|---|
| PUT /keys/{key_id} | keeps the keys of the body, `girih.wire.to_bytes(keys)`; says their name |
| GET /keys/{name} | 204 where there are keys of that name, 404 where there are none |
| POST /keys/{name}/{operation} | `girih.wire.to_bytes(a, ..)` in, bytes of the result out |
| GET /statistics | requests, calls that they took, loaded keys and process of one worker |

A name is `key_id-digest`, which no other keys have; the key_id alone will do for as long as one set
of keys says that it is theirs. Refusals are a status and a line of text. Keys lie in a folder and
survive every process; workers keep those in memory that were used last. What waits for the same
keys and operation is computed together.

The service knows nobody. It listens on loopback, and a proxy before it has to say who may store
keys, who may compute with them, how often, and how large bodies may be: it encrypts the connection
and authenticates. A key_id is a name that whoever sees a ciphertext knows, not a password.
"""

import argparse
import asyncio
import os
import signal
import threading

import girih
import ray
from ray import serve
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

SQUARE = girih.LookUpTable(2, lambda m: m * m % 4)

#: What may be asked for: the number of arrays, and work that gives as many rows as they have.
OPERATIONS = {
    "and": (2, lambda server, a, b: server.gate("and", a, b)),
    "nand": (2, lambda server, a, b: server.gate("nand", a, b)),
    "xor": (2, lambda server, a, b: server.gate("xor", a, b)),
    "square": (1, lambda server, m: server.apply(m, SQUARE)),
    "multiply": (2, lambda server, x, y: x * y),
    "add": (2, lambda server, x, y: x + y),
}

#: Times that a request is computed anew whose worker was lost.
RETRIES = 3


def status_of(error: Exception) -> int:
    """The status of a refusal."""
    kinds = [
        (girih.errors.MissingKeyError, 404),
        (girih.errors.MalformedError, 400),
        (girih.errors.OutOfMemoryError, 503),
        (girih.errors.DeviceError, 500),
        (girih.errors.InternalError, 500),
        (girih.errors.Error, 422),
        (TypeError, 422),
    ]
    return next((status for kind, status in kinds if isinstance(error, kind)), 500)


def refusal(error: Exception) -> tuple[int, bytes]:
    """A status and a line of text; what is no refusal of girih's is not told to strangers."""
    status = status_of(error)
    if status == 500:
        print("failed:", repr(error), flush=True)
        return status, b"the service failed"
    return status, str(error).encode()


@serve.deployment(max_ongoing_requests=1000, health_check_period_s=2)
class Worker:
    """Computes, with the keys of many clients."""

    def __init__(self, folder: str, device: str, key_memory: int, most_rows: int) -> None:
        self.folder = girih.worker.KeyFolder(folder)
        self.device = device
        girih.worker.limit(key_memory)
        self.batcher = girih.serving.Batcher(most_rows)

    @serve.multiplexed(max_num_models_per_replica=1000)
    async def known(self, key_id: str) -> str:
        """Tells Ray Serve which keys this worker has seen, so that it is sent them again."""
        return key_id

    async def compute(self, name: str, operation: str, body: bytes) -> tuple[int, bytes]:
        """Status and body of the answer."""
        try:
            await self.known(serve.get_multiplexed_model_id())
            number, work = OPERATIONS[operation]
            stored = self.folder[name]
            arrays = await asyncio.to_thread(girih.wire.from_bytes, body)
            if len(arrays) != number:
                return 422, f"{operation} takes {number} arrays, not {len(arrays)}".encode()
            found = girih.wire.key_id(*arrays)
            if found != stored.key_id:
                why = f"these ciphertexts are under {found}, not {stored.key_id}"
                return 422, why.encode()
            result = await self.batcher.run(
                (stored.name, operation),
                lambda: girih.worker.server(stored, self.device),
                work,
                *arrays,
            )
            return 200, await asyncio.to_thread(girih.wire.to_bytes, result)
        except Exception as error:
            return refusal(error)

    def statistics(self) -> dict[str, object]:
        return {
            "requests": self.batcher.requests,
            "calls": self.batcher.calls,
            "loaded": len(girih.worker.loaded()),
            "pid": os.getpid(),
        }


@serve.deployment(max_ongoing_requests=1000, ray_actor_options={"num_cpus": 0})
class Front:
    """Reads requests, refuses what it can, and hands the rest to a worker."""

    def __init__(self, workers, folder: str, folder_limit: int, most_bytes: int) -> None:
        self.workers = workers
        self.folder = girih.worker.KeyFolder(folder, folder_limit)
        self.most_bytes = most_bytes

    async def __call__(self, request: Request) -> Response:
        path = request.url.path.strip("/").split("/")
        match request.method, path:
            case "GET", ["statistics"]:
                return JSONResponse(await self.workers.statistics.remote())
            case "GET", ["keys", key_id]:
                return Response(status_code=204 if key_id in self.folder else 404)
            case "PUT", ["keys", key_id]:
                work = self.put
            case "POST", ["keys", key_id, operation] if operation in OPERATIONS:
                work = self.compute
                key_id = f"{key_id}/{operation}"
            case "POST", ["keys", _, operation]:
                known = ", ".join(OPERATIONS)
                return Response(f"no operation {operation[:40]!r}: there are {known}", 404)
            case _:
                return Response("PUT and GET /keys/ID, POST /keys/ID/OPERATION", 404)
        body = await self.body(request)
        if body is None:
            return Response(f"a body has at most {self.most_bytes} bytes", 413)
        try:
            status, content = await work(key_id, body)
        except Exception as error:
            status, content = refusal(error)
        kind = "application/octet-stream" if status == 200 else "text/plain; charset=utf-8"
        return Response(content, status, media_type=kind)

    async def body(self, request: Request) -> bytes | None:
        """The body; None where it is too long, whatever its header says."""
        parts, size = [], 0
        async for part in request.stream():
            size += len(part)
            if size > self.most_bytes:
                return None
            parts.append(part)
        return b"".join(parts)

    async def put(self, key_id: str, body: bytes) -> tuple[int, bytes]:
        stored = await asyncio.to_thread(self.folder.put, body, key_id)
        return 201, stored.name.encode()

    async def compute(self, path: str, body: bytes) -> tuple[int, bytes]:
        asked, operation = path.split("/")
        # Raises for keys that are not there, before a worker hears of them.
        name = self.folder[asked].name
        workers = self.workers.options(multiplexed_model_id=name)
        for attempt in range(RETRIES + 1):
            try:
                return await workers.compute.remote(name, operation, body)
            except (ray.exceptions.RayActorError, serve.exceptions.ReplicaUnavailableError):
                # The worker was lost with the request. Computing it again changes nothing.
                if attempt == RETRIES:
                    return 503, b"workers are lost again and again: try later"
                await asyncio.sleep(0.2 * 2**attempt)
            except serve.exceptions.BackPressureError:
                return 503, b"too many requests wait: try later"
        raise AssertionError("unreachable")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", required=True, help="where keys are kept")
    parser.add_argument("--device", default="cuda:0", help="of each worker; cpu to do without GPU")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--cpus", type=int, default=1, help="cores of each worker")
    parser.add_argument("--port", type=int, default=8123)
    parser.add_argument("--key-memory", type=int, default=4 << 30, help="bytes of loaded keys")
    parser.add_argument("--folder-limit", type=int, default=64 << 30, help="bytes of stored keys")
    parser.add_argument("--most-bytes", type=int, default=1 << 30, help="bytes of a body")
    parser.add_argument("--most-rows", type=int, default=16384, help="rows of one computation")
    parser.add_argument("--address", help="of a running Ray cluster; a new one without")
    options = parser.parse_args()

    ray.init(address=options.address)
    gpus = girih.ray.require(options.device, options.workers, cpus=options.cpus)
    serve.start(http_options={"host": "127.0.0.1", "port": options.port})
    folder = os.path.abspath(options.folder)
    threads = {"RAYON_NUM_THREADS": str(options.cpus)} if options.device == "cpu" else {}
    actor = {
        "num_cpus": options.cpus,
        "num_gpus": gpus,
        "runtime_env": {"env_vars": threads},
    }
    workers = Worker.options(
        num_replicas=options.workers, max_queued_requests=10_000, ray_actor_options=actor
    ).bind(folder, options.device, options.key_memory, options.most_rows)
    app = Front.bind(workers, folder, options.folder_limit, options.most_bytes)
    serve.run(app, name="girih", route_prefix="/")
    print(f"ready at http://127.0.0.1:{options.port}", flush=True)
    stop = threading.Event()
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, lambda *_: stop.set())
    stop.wait()
    serve.shutdown()
    ray.shutdown()


if __name__ == "__main__":
    main()
