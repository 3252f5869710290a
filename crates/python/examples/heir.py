"""A program of HEIR on encrypted inputs, with a small set without security.

Its text is what heir-opt made of the function at its beginning.
"""

from pathlib import Path

import numpy as np

from girih import ckks

DEVICE = "cpu"
file = Path(__file__).parent / "heir" / "dot.mlir"
SET = ckks.Parameters.generate(
    "INSECURE_HEIR", log2_degree=10, log2_scale=40.0, auxiliary=2, levels=2
)

# ANCHOR: read
import girih.heir  # noqa: E402

program = girih.heir.read(file.read_text())
program.arguments                       # two of shape (8,), encrypted
program.parameters.security             # 128 bits
# ANCHOR_END: read
assert [argument.shape for argument in program.arguments] == [(8,), (8,)]
assert "128 bits" in program.parameters.security
program = girih.heir.read(file.read_text(), set=SET)

a, b = np.linspace(-1, 1, 8), np.linspace(0, 1, 8)
# ANCHOR: run
client = ckks.ClientKey.generate(program.parameters)     # the owner of a and b
keys = program.keys(client)                              # public
encrypted = program.encrypt(client, a, b)

server = program.server(keys, DEVICE)                    # whoever computes: "cuda:0", "wgpu:0"
results = program.run(server, encrypted)

(found,) = program.decrypt(client, results)              # a @ b + 0.1
# ANCHOR_END: run
assert abs(found - (a @ b + 0.1)) < 1e-6
print("right")
