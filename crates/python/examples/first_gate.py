"""From keys to a result: gates, a look-up table, a circuit, and a vector of numbers."""

import numpy as np

import girih
from girih import ckks

# Small sets without any security, so that this ends at once; leave the names out for real ones.
client = girih.ClientKey.generate("INSECURE_TOY")
server = girih.ServerKey(client.evaluation_keys(), device="cpu")
server.limit_failure(0.0)  # the toy errs more often than anything real may

a, b = client.encrypt([0, 0, 1, 1]), client.encrypt([0, 1, 0, 1])
with server:
    print("nand  ", client.decrypt(~(a & b)))

square = girih.LookUpTable(2, lambda x: x * x % 4)
print("square", client.decrypt(server.apply(client.encrypt(np.arange(4), bits=2), square)))

circuit = girih.Circuit(girih.Netlist.adder(8), client.parameters, log2_failure=-1.0)
inputs = circuit.encrypt(client, {"a": [20, 100], "b": [22, 27]})
outputs, report = server.run(circuit, inputs)
print("sums  ", circuit.decrypt(client, outputs)["sum"], f"by {report['bootstraps']} gates")

owner = ckks.ClientKey.generate("INSECURE_CKKS_D40_N10")
vectors = owner.server_key(device="cpu", sums=[4])  # of ckks.EvaluationKeys elsewhere
x = owner.encrypt([0.5, -0.25, 0.125, 1.0])
with vectors:
    print("norm  ", owner.decrypt((x * x).sum())[0].round(6))
