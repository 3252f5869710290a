"""Many machines: the samples of the guide. Ray starts a cluster of this machine for them."""

import tempfile

import girih
import numpy as np
import pyarrow
import ray
from girih import ckks

BITS, VECTORS, DEVICE = "INSECURE_TOY", "INSECURE_CKKS_D40_N10", "cpu"
client = girih.ClientKey.generate(BITS)
keys = client.evaluation_keys()
rng = np.random.default_rng(1)
a, b = rng.integers(0, 2, (2, 64)).astype(bool)
x, y = client.encrypt(a), client.encrypt(b)


# ANCHOR: task
def nand(server, x, y):
    return ~(x & y)


c = girih.worker.run(keys, nand, x, y, device=DEVICE)
# ANCHOR_END: task
assert np.array_equal(client.decrypt(c), ~(a & b))

shared = tempfile.TemporaryDirectory()
path = shared.name
# ANCHOR: folder
folder = girih.worker.KeyFolder(path)             # a folder that all machines see
stored = folder.put(keys)                         # a reference of some bytes, to be sent
c = girih.worker.run(stored, nand, x, y, device=DEVICE)
# ANCHOR_END: folder
assert np.array_equal(client.decrypt(c), ~(a & b))

# A cluster of this machine alone; ray.init(address="auto") joins the one that is there.
ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False)
# ANCHOR: pool
with girih.ray.Pool(keys, device=DEVICE, workers=2) as pool:
    c = pool.gate("nand", x, y)
    d = pool.map(lambda server, x, y: (x | y) ^ x, x, y, progress=print)
# ANCHOR_END: pool
assert np.array_equal(client.decrypt(c), ~(a & b))
assert np.array_equal(client.decrypt(d), (a | b) ^ a)

owner = ckks.ClientKey.generate(VECTORS)
numbers = rng.uniform(-1, 1, (8, 16))
# ANCHOR: vectors
with girih.ray.Pool(owner.evaluation_keys(rotations=[1]), device=DEVICE, workers=2) as pool:
    z = pool.map(lambda server, v: v * v + v.rotate(1), owner.encrypt(numbers))
# ANCHOR_END: vectors
wanted = numbers**2 + np.roll(numbers, -1, axis=1)
assert np.abs(owner.decrypt(z) - wanted).max() < 1e-4

# ANCHOR: table
table = pyarrow.table({"x": girih.columns.cells(x), "y": girih.columns.cells(y)})
work = girih.columns.Columns(keys, nand, ["x", "y"], "nand", DEVICE)
c = girih.columns.array(work(table)["nand"])
# ANCHOR_END: table
assert np.array_equal(client.decrypt(c), ~(a & b))

# ANCHOR: data
made = ray.data.from_arrow(table, override_num_blocks=4).map_batches(
    girih.ray.MapBatches,
    fn_constructor_kwargs={
        "keys": ray.put(keys),                    # once to each machine
        "work": nand,
        "inputs": ["x", "y"],
        "output": "nand",
        "device": DEVICE,
    },
    batch_size=16,
    concurrency=2,                                # workers
    num_cpus=1,                                   # of each; num_gpus=1 for cuda:0
)
cells = [row["nand"] for row in made.take_all()]
# ANCHOR_END: data
found = client.decrypt(girih.columns.array(cells))
assert sorted(found) == sorted(~(a & b))

work = girih.columns.Columns(stored, nand, ["x", "y"], "nand", DEVICE)
parts = [part.column("nand") for part in work.batches(iter(table.to_batches(16)))]
# What mapInArrow of Spark calls.
found = [client.decrypt(girih.columns.array(part)) for part in parts]
assert np.array_equal(np.concatenate(found), ~(a & b))
shared.cleanup()
print("right")
