"""Netlists and circuits."""

import json
import pickle

import numpy as np
import pytest

import girih


def test_an_adder_on_many_instances(client, server):
    netlist = girih.Netlist.adder(4)
    circuit = girih.Circuit(netlist, client.parameters, log2_failure=-1.0)
    assert netlist.inputs == circuit.inputs == [("a", 4), ("b", 4)]
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 16, (2, 9))
    inputs = circuit.encrypt(client, {"a": a, "b": b})
    assert (inputs.instances, inputs.bits) == (9, 8)
    heard = []
    outputs, report = server.run(circuit, inputs, progress=lambda *step: heard.append(step))
    out = circuit.decrypt(client, outputs)
    assert np.array_equal(out["sum"] + (out["carry"] << np.uint64(4)), a + b)
    assert report["instances"] == 9 and report["depth"] == circuit.depth
    assert heard and heard[-1][1] == heard[-1][2]
    assert np.array_equal(circuit.simulate({"a": a, "b": b})["sum"], (a + b) % 16)
    # A single value stands for all instances; bits in the place of integers.
    rows = (a[:, None] >> np.arange(4) & 1).astype(bool)
    again = netlist.evaluate({"a": rows, "b": 3})
    assert np.array_equal(again["sum"], (a + 3) % 16)
    kept = pickle.loads(pickle.dumps(outputs))
    assert np.array_equal(kept.decrypt(client), outputs.decrypt(client))


def test_a_built_netlist(client, server):
    builder = girih.NetlistBuilder()
    x, y = builder.input("x", 2), builder.input("y", 1)
    builder.output("z", [x[0] & ~y[0] | x[1] ^ builder.constant(True)])
    builder.output("m", [builder.mux(y[0], x[0], x[1])])
    netlist = builder.finish()
    values = {"x": np.arange(8) % 4, "y": np.arange(8) // 4}
    x0, x1, y0 = values["x"] & 1, values["x"] >> 1, values["y"]
    expected = {"z": x0 & (1 - y0) | (1 - x1), "m": np.where(y0, x0, x1)}
    plain = netlist.evaluate(values)
    circuit = girih.Circuit(netlist, client.parameters, log2_failure=-1.0)
    encrypted, _ = server.run(circuit, circuit.encrypt(client, values))
    decrypted = circuit.decrypt(client, encrypted)
    for name, bits in expected.items():
        assert np.array_equal(plain[name], bits) and np.array_equal(decrypted[name], bits)
    for work in (builder.finish, lambda: x[0] & y[0], lambda: builder.input("w", 1)):
        with pytest.raises(girih.errors.MismatchError, match="finished"):
            work()
    other = girih.NetlistBuilder().input("x", 1)[0]
    with pytest.raises(girih.errors.MismatchError, match="another builder"):
        girih.NetlistBuilder().input("y", 1)[0] & other


def test_files(client):
    text = girih.Netlist.adder(2).to_bristol()
    netlist = girih.Netlist.from_bristol(text)
    assert netlist.evaluate({"in0": 3, "in1": 2})["out0"].tolist() == [1]
    with pytest.raises(girih.errors.CircuitError, match="line"):
        girih.Netlist.from_bristol("1 2 3\nnonsense")
    module = {
        "attributes": {"top": "1"},
        "ports": {
            "a": {"direction": "input", "bits": [2, 3]},
            "y": {"direction": "output", "bits": [4]},
        },
        "cells": {
            "g": {
                "type": "$_AND_",
                "port_directions": {"A": "input", "B": "input", "Y": "output"},
                "connections": {"A": [2], "B": [3], "Y": [4]},
            }
        },
    }
    netlist = girih.Netlist.from_yosys(json.dumps({"modules": {"m": module}}))
    assert netlist.evaluate({"a": [0, 1, 2, 3]})["y"].tolist() == [0, 0, 0, 1]
    module["cells"]["g"]["type"] = "$_DFF_P_"
    with pytest.raises(girih.errors.CircuitError, match="DFF"):
        girih.Netlist.from_yosys(json.dumps({"modules": {"m": module}}))


def test_wide_ports_are_bits():
    aes = girih.Netlist.aes128(1)
    assert aes.inputs == [("key", 128), ("block", 128)] or len(aes.inputs) == 2
    name, width = aes.inputs[0]
    with pytest.raises(girih.errors.MismatchError, match=f"instances, {width}"):
        aes.evaluate({name: 5 for name, _ in aes.inputs})
    out = aes.evaluate({name: np.zeros((2, width), bool) for name, width in aes.inputs})
    assert [bits.shape for bits in out.values()] == [(2, 128)]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"a": [1, 2]}, '"b" is missing'),
        ({"a": 1, "b": 1, "c": 1}, 'no input "c"; there are a, b'),
        ({"a": [1, 2], "b": [1, 2, 3]}, "has 2 values where another has 3"),
        ({"a": 16, "b": 1}, "a number that does not fit 4 bits"),
        ({"a": -1, "b": 1}, "must not be negative"),
    ],
)
def test_wrong_inputs_are_named(values, message):
    with pytest.raises(ValueError, match=message):
        girih.Netlist.adder(4).evaluate(values)
