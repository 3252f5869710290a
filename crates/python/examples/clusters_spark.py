"""Many machines by Spark: the sample of the guide, in Spark's local mode with two workers.

    pip install pyspark pyarrow        # and a Java runtime, 17 or newer
    python crates/python/examples/clusters_spark.py
"""

import argparse
import os
import sys
import tempfile
import time

import girih
import numpy as np
from pyspark.sql import SparkSession

parser = argparse.ArgumentParser()
parser.add_argument("--set", default="INSECURE_TOY")
parser.add_argument("--rows", type=int, default=64)
options = parser.parse_args()

# Workers are processes of their own: this Python, which has girih, and one thread each.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
os.environ.setdefault("RAYON_NUM_THREADS", "1")
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
client = girih.ClientKey.generate(options.set)
a, b = np.random.default_rng(1).integers(0, 2, (2, options.rows)).astype(bool)
x, y = client.encrypt(a), client.encrypt(b)
shared = tempfile.TemporaryDirectory()
path, DEVICE = shared.name, "cpu"
rows = range(options.rows)


# ANCHOR: spark
def nand(server, x, y):
    return ~(x & y)


stored = girih.worker.KeyFolder(path).put(client.evaluation_keys())
work = girih.columns.Columns(stored, nand, ["x", "y"], "nand", DEVICE)
cells = zip(rows, girih.columns.cells(x), girih.columns.cells(y))
frame = spark.createDataFrame(list(cells), "row long, x binary, y binary")
made = frame.mapInArrow(work.batches, "row long, x binary, y binary, nand binary")
found = made.select("row", "nand").orderBy("row").collect()
z = girih.columns.array([bytes(row["nand"]) for row in found])
# ANCHOR_END: spark
assert np.array_equal(client.decrypt(z), ~(a & b))

start = time.perf_counter()
parts = frame.repartition(4).mapInArrow(work.batches, made.schema).select("row", "nand").collect()
seconds = time.perf_counter() - start
z = girih.columns.array([bytes(row["nand"]) for row in sorted(parts, key=lambda row: row["row"])])
assert np.array_equal(client.decrypt(z), ~(a & b))
print(f"{len(parts)} rows in 4 parts again: {seconds:.2f} s")
spark.stop()
shared.cleanup()
print("right")
