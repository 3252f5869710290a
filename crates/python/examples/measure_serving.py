"""What joining concurrent requests gains on a device: `girih.serving.Batcher`, without HTTP.

    python measure_serving.py --device cuda:0 --set STD128 --size 8
"""

import argparse
import asyncio
import time

import girih
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--set", default="STD128")
parser.add_argument("--device", default="cpu")
parser.add_argument("--size", type=int, default=8, help="bits of a request")
parser.add_argument("--seconds", type=float, default=5, help="of each number of clients")
parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64, 512])
options = parser.parse_args()

client = girih.ClientKey.generate(options.set)
server = girih.ServerKey(client.evaluation_keys(), options.device)
a, b = np.random.default_rng(1).integers(0, 2, (2, options.size)).astype(bool)
x, y = client.encrypt(a), client.encrypt(b)


def nand(server, x, y):
    return server.gate("nand", x, y)


async def load(clients):
    batcher = girih.serving.Batcher(65536)
    end = time.perf_counter() + options.seconds
    latencies = []

    async def ask():
        while (start := time.perf_counter()) < end:
            z = await batcher.run("nand", lambda: server, nand, x, y)
            latencies.append(time.perf_counter() - start)
        assert np.array_equal(client.decrypt(z), ~(a & b))

    start = time.perf_counter()
    await asyncio.gather(*(ask() for _ in range(clients)))
    seconds = time.perf_counter() - start
    batcher.close()
    print(
        f"{clients} clients: {len(latencies) / seconds:.1f} requests/s, "
        f"{len(latencies) * options.size / seconds:.0f} gates/s, median "
        f"{np.median(latencies) * 1e3:.2f} ms, {batcher.requests / batcher.calls:.1f} in a call",
        flush=True,
    )


server.gate("nand", x, y)
for clients in options.clients:
    asyncio.run(load(clients))
