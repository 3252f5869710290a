"""Many machines by Dask: the sample of the guide, with two workers on this machine."""

import os
import signal
import tempfile
import threading
import time

import girih
import numpy as np
from dask.distributed import Client


def nand(server, x, y):
    return ~(x & y)


# ANCHOR: dask
def divided(dask, stored, work, x, y, size, device):
    tasks = [
        dask.submit(girih.worker.run, stored, work, x[i : i + size], y[i : i + size], device=device)
        for i in range(0, len(x), size)
    ]
    return girih.rows.join(dask.gather(tasks))
# ANCHOR_END: dask


def slow_nand(server, x, y):
    time.sleep(0.2)
    return ~(x & y)


if __name__ == "__main__":
    client = girih.ClientKey.generate("INSECURE_TOY")
    shared = tempfile.TemporaryDirectory()
    stored = girih.worker.KeyFolder(shared.name).put(client.evaluation_keys())
    a, b = np.random.default_rng(1).integers(0, 2, (2, 64)).astype(bool)
    x, y = client.encrypt(a), client.encrypt(b)
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as dask:
        c = divided(dask, stored, nand, x, y, 16, "cpu")
        assert np.array_equal(client.decrypt(c), ~(a & b))
        loaded = dask.run(girih.worker.loaded)
        assert all(len(names) <= 1 for names in loaded.values())

        # A worker is killed while both compute.
        pids = dask.run(os.getpid)
        threading.Timer(0.5, os.kill, (next(iter(pids.values())), signal.SIGKILL)).start()
        c = divided(dask, stored, slow_nand, x, y, 4, "cpu")
        assert np.array_equal(client.decrypt(c), ~(a & b))
        dask.wait_for_workers(2)
        assert set(dask.run(os.getpid).values()) != set(pids.values())
    shared.cleanup()
    print("right")
