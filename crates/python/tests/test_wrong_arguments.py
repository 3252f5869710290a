"""Every public call with one argument wrong, the others right: an exception in words, or a result.

Calls of a pool of Ray are tried in test_ray.py. What is refused where, and in which words, is for
test_refusals.py.
"""

import asyncio
import contextlib
import dataclasses
import io
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from conftest import CKKS_TOY
from networks import dense
from wrong import MORE, NONSENSE, public_calls, tried

import girih
import girih.heir
import girih.nn
from girih import ckks, columns, discrete, integer, models, progress, rows, serving, wire, worker

NAMES = sorted(public_calls())
OF_RAY = "ray.Pool."
DISCRETE_TOY = "INSECURE_DISCRETE_4_N10"
TWO = Path(__file__).parents[1] / "examples" / "heir" / "two.mlir"
# What takes anything.
ANYTHING = {"progress.tqdm", "worker.on_host"}


class _Tree:
    """What DecisionTree reads of a fitted one."""

    def __init__(self):
        self.tree_ = self
        self.children_left, self.children_right = [1, -1, -1], [2, -1, -1]
        self.feature, self.threshold = [0, -2, -2], [0.5, 0, 0]
        self.value = np.array([[[1, 0]], [[1, 0]], [[0, 1]]])


class _Linear:
    """What linear models read of a fitted one."""

    coef_, intercept_, classes_ = np.array([[1.0, 2.0]]), np.array([0.5]), np.array([0, 1])


def _batch(*arguments):
    """A request alone, answered or refused."""

    async def one():
        batcher = serving.Batcher()
        try:
            return await batcher.run(*arguments)
        finally:
            batcher.close()

    return asyncio.run(one())


@pytest.fixture(scope="module")
def objects(
    client, keys, server, stranger, ckks_client, ckks_keys, ckks_server, integer_client,
    integer_server, tmp_path_factory,
):  # fmt: skip
    """Arguments that are right, by name; each is wrong somewhere else."""
    context = girih.LargeParameters("insecure")
    owner = girih.ClientKey.generate_seeded_for_tests(context.parameters, bytes(32))
    large_keys = context.keys(owner, ["sign", "relu", "decompose"], bits=12)
    netlist = girih.Netlist.adder(2)
    circuit = girih.Circuit(netlist, client.parameters, log2_failure=-1.0)
    of_slots = discrete.ClientKey.generate_seeded_for_tests(DISCRETE_TOY, bytes(32))
    slot_keys = of_slots.evaluation_keys()
    return {
        "bits": client.encrypt([True, False]),
        "three": client.encrypt([True, False, True]),
        "square": client.encrypt([[True, False], [True, True]]),
        "messages": client.encrypt([1, 2], bits=2),
        "resident": server.upload(client.encrypt([True, False])),
        "strange": stranger.encrypt([True, False]),
        "vector": ckks_client.encrypt(np.arange(16) / 20),
        "vectors": ckks_client.encrypt(np.arange(32).reshape(2, 16) / 40),
        "short": ckks_client.encrypt([0.5, 1]),
        "low": ckks_client.encrypt(np.arange(16) / 20, level=0),
        "integers": integer_client.encrypt_integers([1, 2], "uint4"),
        "wide": integer_client.encrypt_integers([1, 2], "int8"),
        "conditions": integer_client.encrypt_integers([True, False]),
        "context": context,
        "owner": owner,
        "large": context.encrypt(owner, [5, 9], bits=12),
        "large keys": large_keys,
        "large server": girih.LargeServerKey(large_keys, "cpu"),
        "netlist": netlist,
        "circuit": circuit,
        "inputs": circuit.encrypt(client, {"a": [1], "b": [2]}),
        "client": client,
        "keys": keys,
        "server": server,
        "ckks client": ckks_client,
        "ckks keys": ckks_keys,
        "ckks server": ckks_server,
        "integer client": integer_client,
        "integer server": integer_server,
        "public": ckks_client.public_key(),
        "slot client": of_slots,
        "slot keys": slot_keys,
        "slot server": discrete.ServerKey(slot_keys, "cpu"),
        "slot public": of_slots.public_key(),
        "numbers": of_slots.encrypt([3, 1], below=4),
        "slot bits": of_slots.encrypt([True, False]),
        "slot integers": of_slots.encrypt_integers([1, 2], "uint4"),
        "slot conditions": of_slots.encrypt_integers([True, False], "bool"),
        "table": girih.LookUpTable(2, [0, 1, 2, 3]),
        "function": girih.Function(2, [0, 1, 2, 3]),
        "matrix": ckks.Matrix(np.eye(16)),
        "map": ckks.LinearMap(16, {0: np.ones(16)}),
        "polynomial": ckks.Polynomial.from_powers([1, 2], (-1, 1)),
        "sign": ckks.CompositeSign(0.1, 0.1),
        "folder": worker.KeyFolder(tmp_path_factory.mktemp("keys")),
    }


@pytest.fixture(scope="module")
def calls(objects, client, keys, server, ckks_client, ckks_keys, ckks_server, integer_client,
          integer_server, tmp_path_factory):  # fmt: skip
    """A right call of everything: the function, its arguments, its keywords."""
    o = objects
    bits, messages, vector, vectors = o["bits"], o["messages"], o["vector"], o["vectors"]
    integers, netlist, circuit, inputs = o["integers"], o["netlist"], o["circuit"], o["inputs"]
    context, owner, large, table = o["context"], o["owner"], o["large"], o["table"]
    seed, set_of_bits, set_of_vectors = bytes(32), client.parameters, ckks_client.parameters
    of_slots, slot_keys, slot_bits = o["slot client"], o["slot keys"], o["slot bits"]
    slot_integers, slot_conditions = o["slot integers"], o["slot conditions"]
    parameters = set_of_bits.name
    builder = girih.NetlistBuilder()
    wires = builder.input("x", 3)
    tree = ([1, -1, -1], [2, -1, -1], [0, -2, -2], [0.5, 0, 0], [0, 0, 1], [0], [1])
    decision = models.DecisionTree(*tree, bits=2)
    linear = models.LinearRegression([1, 2], 0)
    logistic = models.LogisticRegression([[1, 2]], [0], [0, 1])
    of_model = linear.encrypt(ckks_client, [[0.5, 0.25]])
    values, scores = (dataclasses.replace(of_model, kind=kind) for kind in ("values", "scores"))
    columns_of = columns.Columns(keys, lambda server, a: ~a, ["a"], "b", "cpu")
    mapped = girih.ray.MapBatches(keys, lambda server, a: ~a, ["a"], "b", "cpu")
    batch = {"a": np.array(columns.cells(bits), object)}
    stored = o["folder"].put(keys)

    network = dense(ckks_client.parameters, rows=2)
    few_levels = ckks.Parameters.generate(
        "INSECURE_FEW", log2_degree=10, log2_scale=40.0, auxiliary=2, levels=2
    )
    part, images = network.client_part(), network.samples[0]
    network_keys = network.keys(ckks_client)
    network_server = network.server(network_keys, "cpu")
    heir = girih.heir.read(TWO.read_text(), set=CKKS_TOY).with_known(0.5)
    heir_server, numbers = heir.server(heir.keys(ckks_client), "cpu"), (np.arange(8) / 9, 0.25)
    of_heir = heir.run(heir_server, heir.encrypt(ckks_client, *numbers))
    files = tmp_path_factory.mktemp("models")
    network.save(files / "model")
    part.save(files / "client")
    network.costs.save(files / "costs")

    def in_folder(function):
        """Files of models, where they are written; failures of files are the system's."""

        def call(path):
            try:
                return function(files / path if isinstance(path, str) else path)
            except OSError as error:
                raise girih.Error(str(error)) from error

        return call

    def on(which, function):
        """Operations that compute where `with server:` says."""

        def call(*arguments, **keywords):
            with which:
                return function(*arguments, **keywords)

        return call

    def of_ckks(function):
        return on(ckks_server, function)

    def of_numbers(function):
        return on(o["slot server"], function)

    def of_integers(function):
        return on(integer_server, function)

    def quick(client):
        """Keys without those that take seconds."""
        return lambda **keywords: client.evaluation_keys(**{"bootstrapping": None, **keywords})

    def no_progress(function):
        """Bars of tqdm go nowhere."""

        def call(*arguments, **keywords):
            with contextlib.redirect_stderr(io.StringIO()):
                return function(*arguments, **keywords)

        return call

    mlir = (
        "!ct = !lwe.lwe_ciphertext<a = 1>\nfunc.func @f(%a: !ct) -> !ct {\n"
        "%0 = cggi.not %a : !ct\nreturn %0 : !ct\n}\n"
    )
    port = '{"direction": "%s", "bits": [2]}'
    ports = f'"a": {port % "input"}, "b": {port % "output"}'
    yosys = f'{{"modules": {{"m": {{"ports": {{{ports}}}, "cells": {{}}}}}}}}'
    two = {"a": [1, 2], "b": [3, 0]}
    return {
        "girih.Ciphertexts.from_bytes": (
            girih.Ciphertexts.from_bytes, (bits.to_bytes(),),
            {"bits": None, "large": False, "shape": (2,), "parameters": parameters},
        ),
        "girih.Ciphertexts.reshape": (bits.reshape, (2, 1), {}),
        "girih.Ciphertexts.to_device": (bits.to_device, (server,), {}),
        "girih.Ciphertexts.trivial": (
            girih.Ciphertexts.trivial, (parameters, [1, 0]), {"bits": 1},
        ),
        "girih.Circuit": (
            girih.Circuit, (netlist, parameters), {"log2_failure": -1.0},
        ),
        "girih.Circuit.decrypt": (circuit.decrypt, (client, server.run(circuit, inputs)[0]), {}),
        "girih.Circuit.encrypt": (circuit.encrypt, (client, two), {}),
        "girih.Circuit.from_heir": (
            girih.Circuit.from_heir, (mlir, parameters), {"function": "f", "log2_failure": -1.0},
        ),
        "girih.Circuit.simulate": (circuit.simulate, (two,), {}),
        "girih.ClientKey.decrypt": (client.decrypt, (bits,), {}),
        "girih.ClientKey.decrypt_integers": (integer_client.decrypt_integers, (integers,), {}),
        "girih.ClientKey.encrypt": (client.encrypt, ([1, 0],), {"bits": 1}),
        "girih.ClientKey.encrypt_integers": (
            integer_client.encrypt_integers, ([1, 2], "uint4"), {},
        ),
        "girih.ClientKey.evaluation_keys": (
            no_progress(client.evaluation_keys), (), {"progress": None},
        ),
        "girih.ClientKey.from_bytes": (
            girih.ClientKey.from_bytes, (client.to_bytes(), parameters), {},
        ),
        "girih.ClientKey.generate": (girih.ClientKey.generate, (parameters,), {}),
        "girih.ClientKey.generate_seeded_for_tests": (
            girih.ClientKey.generate_seeded_for_tests, (parameters, seed), {},
        ),
        "girih.EncryptedBits.decrypt": (inputs.decrypt, (client,), {}),
        "girih.EncryptedBits.encrypt": (
            girih.EncryptedBits.encrypt, (client, [[True, False]]), {},
        ),
        "girih.EncryptedBits.from_bytes": (
            girih.EncryptedBits.from_bytes, (inputs.to_bytes(), 1), {},
        ),
        "girih.EvaluationKeys.from_bytes": (
            girih.EvaluationKeys.from_bytes, (keys.to_bytes(), parameters), {},
        ),
        "girih.Function": (girih.Function, (2, [0, 1, 2, 3], 2), {}),
        "girih.LargeParameters": (girih.LargeParameters, ("insecure",), {}),
        "girih.LargeParameters.decrypt": (context.decrypt, (owner, large), {}),
        "girih.LargeParameters.encrypt": (context.encrypt, (owner, [1, 2]), {"bits": 12}),
        "girih.LargeParameters.keys": (
            no_progress(context.keys), (owner, ["sign"]),
            {"bits": 12, "transform": "fft", "progress": None},
        ),
        "girih.LargeServerKey": (
            no_progress(girih.LargeServerKey), (o["large keys"], "cpu"), {"progress": None},
        ),
        "girih.LargeServerKey.argmax": (o["large server"].argmax, ([large, large],), {}),
        "girih.LargeServerKey.floor": (o["large server"].floor, (large, 4), {}),
        "girih.LargeServerKey.function": (
            o["large server"].function,
            (context.encrypt(owner, [1, 2], bits=2), o["function"]), {},
        ),
        **{
            f"girih.LargeServerKey.{name}": (getattr(o["large server"], name), (large, large), {})
            for name in ("less", "less_or_equal", "equal", "max", "min")
        },
        **{
            f"girih.LargeServerKey.{name}": (getattr(o["large server"], name), (large,), {})
            for name in ("sign", "relu", "decompose")
        },
        "girih.LookUpTable": (girih.LookUpTable, (2, lambda m: 3 - m, 2), {}),
        "girih.Netlist.adder": (girih.Netlist.adder, (2, True), {}),
        "girih.Netlist.aes128": (girih.Netlist.aes128, (1,), {}),
        "girih.Netlist.comparator": (girih.Netlist.comparator, (2,), {}),
        "girih.Netlist.evaluate": (netlist.evaluate, (two,), {}),
        "girih.Netlist.from_bristol": (girih.Netlist.from_bristol, (netlist.to_bristol(),), {}),
        "girih.Netlist.from_heir": (girih.Netlist.from_heir, (mlir, "f"), {}),
        "girih.Netlist.from_yosys": (girih.Netlist.from_yosys, (yosys,), {}),
        "girih.Netlist.multiplier": (girih.Netlist.multiplier, (2,), {}),
        "girih.Netlist.sorting_network": (girih.Netlist.sorting_network, (2, 2), {}),
        "girih.NetlistBuilder.constant": (builder.constant, (True,), {}),
        "girih.NetlistBuilder.input": (girih.NetlistBuilder().input, ("y", 2), {}),
        "girih.NetlistBuilder.mux": (builder.mux, tuple(wires), {}),
        "girih.NetlistBuilder.output": (builder.output, ("z", wires), {}),
        "girih.ParameterSet": (girih.ParameterSet, (parameters,), {}),
        "girih.ParameterSet.from_toml": (
            girih.ParameterSet.from_toml, (set_of_bits.to_toml(),), {},
        ),
        "girih.ParameterSet.with_packing": (set_of_bits.with_packing, (1,), {}),
        "girih.ServerKey": (
            no_progress(girih.ServerKey), (keys, "cpu"), {"transform": "ntt", "progress": None},
        ),
        "girih.ServerKey.apply": (server.apply, (messages, table), {}),
        "girih.ServerKey.apply_each": (server.apply_each, (messages, [table, table]), {}),
        "girih.ServerKey.apply_weighted": (
            server.apply_weighted, ([messages, messages], [1, 1], table), {},
        ),
        "girih.ServerKey.gate": (server.gate, ("and", bits, bits), {}),
        "girih.ServerKey.limit_failure": (server.limit_failure, (0.0,), {}),
        "girih.ServerKey.majority": (server.majority, (bits, bits, bits), {}),
        "girih.ServerKey.mux": (server.mux, (bits, bits, bits), {}),
        "girih.ServerKey.run": (
            no_progress(server.run), (circuit, inputs), {"progress": None},
        ),
        "girih.ServerKey.upload": (server.upload, (bits,), {}),
        "girih.concatenate": (girih.concatenate, ([bits, bits],), {}),
        "girih.weighted_sum": (girih.weighted_sum, ([messages, messages], [1, 1], 0), {}),
        # A name that no program has: Yosys itself is not run.
        "girih.synthesize": (
            girih.synthesize, ("module m(input a, output b); assign b = a; endmodule", "m"),
            {"ports": None, "yosys": "/no/such/yosys"},
        ),
        "ckks.Ciphertexts.adjust": (of_ckks(vector.adjust), (1,), {}),
        "ckks.Ciphertexts.apply": (
            of_ckks(vector.apply), (lambda x: x * x, (-1.0, 1.0), 1e-3), {},
        ),
        "ckks.Ciphertexts.bootstrap": (
            of_ckks(o["low"].bootstrap), (), {
                "real": True, "message_ratio": 8, "independent_slots": True, "phases": None,
                "meta_bits": None,
            },
        ),
        "ckks.Ciphertexts.compare": (
            of_ckks(vector.compare), (vector, o["sign"]), {"apart": 1.0},
        ),
        "ckks.Ciphertexts.drop_to": (of_ckks(vector.drop_to), (1,), {}),
        "ckks.Ciphertexts.from_bytes": (
            ckks.Ciphertexts.from_bytes, (vector.to_bytes(),), {},
        ),
        "ckks.Ciphertexts.maximum": (
            of_ckks(vector.maximum), (vector, o["sign"]), {"apart": 1.0},
        ),
        "ckks.Ciphertexts.minimum": (
            of_ckks(vector.minimum), (vector, o["sign"]), {"apart": 1.0},
        ),
        "ckks.Ciphertexts.polynomial": (of_ckks(vector.polynomial), (o["polynomial"],), {}),
        "ckks.Ciphertexts.mean": (of_ckks(vector.mean), (16, 1), {}),
        "ckks.Ciphertexts.reshape": (vectors.reshape, (1, 2, 16), {}),
        "ckks.Ciphertexts.to_device": (vector.to_device, (ckks_server,), {}),
        "ckks.Ciphertexts.relu": (of_ckks(vector.relu), (o["sign"],), {"range": 1.0}),
        "ckks.Ciphertexts.rotate": (of_ckks(vector.rotate), (1,), {}),
        "ckks.Ciphertexts.sign": (of_ckks(vector.sign), (o["sign"],), {"range": 1.0}),
        "ckks.Ciphertexts.spread": (of_ckks(vector.spread), (1, 1), {}),
        "ckks.Ciphertexts.sum": (of_ckks(vector.sum), (16, 1), {}),
        "ckks.Ciphertexts.transform": (of_ckks(vector.transform), (o["map"],), {}),
        "ckks.Ciphertexts.with_magnitude": (of_ckks(vector.with_magnitude), (0.5,), {}),
        "ckks.Ciphertexts.with_slots": (of_ckks(vector.with_slots), (32,), {}),
        "ckks.ClientKey.decrypt": (ckks_client.decrypt, (vector,), {"complex": True}),
        "ckks.ClientKey.decrypt_to_share": (
            ckks_client.decrypt_to_share, (vector, 10), {"error": 1e-6, "complex": False},
        ),
        "ckks.ClientKey.encrypt": (
            ckks_client.encrypt, ([0.5, 1],), {"slots": 8, "level": 1},
        ),
        "ckks.ClientKey.evaluation_keys": (
            no_progress(quick(ckks_client)), (),
            {
                "multiplication": True, "rotations": [1], "sums": [2], "conjugation": False,
                "maps": [o["matrix"]], "bootstrapping": None, "progress": None,
            },
        ),
        "ckks.ClientKey.from_bytes": (
            ckks.ClientKey.from_bytes, (ckks_client.to_bytes(), set_of_vectors), {},
        ),
        "ckks.ClientKey.generate": (ckks.ClientKey.generate, (set_of_vectors,), {}),
        "ckks.ClientKey.generate_seeded_for_tests": (
            ckks.ClientKey.generate_seeded_for_tests, (set_of_vectors, seed), {},
        ),
        "ckks.ClientKey.server_key": (
            no_progress(ckks_client.server_key), ("cpu",),
            {
                "multiplication": True, "rotations": [1], "sums": [2], "conjugation": False,
                "maps": [o["matrix"]], "level": 2, "bootstrap_when_needed": False,
                "compose_rotations": False, "may_wrap": False, "progress": None,
            },
        ),
        "ckks.CompositeSign": (ckks.CompositeSign, (0.1, 0.1), {}),
        "ckks.CompositeSign.with_degrees": (
            ckks.CompositeSign.with_degrees, (0.1, [7, 7]), {},
        ),
        "ckks.CompositeSign.for_relu": (ckks.CompositeSign.for_relu, (0.05,), {}),
        "ckks.EvaluationKeys.from_bytes": (
            ckks.EvaluationKeys.from_bytes, (ckks_keys.to_bytes(), set_of_vectors), {},
        ),
        "ckks.LinearMap": (ckks.LinearMap, (2, {0: [1, 1]}), {}),
        "ckks.Matrix": (ckks.Matrix, ([[1, 2], [3, 4]],), {"slots": 4}),
        "ckks.Matrix.product_rotations": (ckks.Matrix.product_rotations, (2,), {}),
        "ckks.Parameters": (ckks.Parameters, (set_of_vectors.name,), {}),
        "ckks.Parameters.generate": (
            ckks.Parameters.generate, ("INSECURE_MINE",),
            {
                "log2_degree": 10, "log2_scale": 40.0, "auxiliary": 2, "levels": 2,
                "headroom": 10.0, "security": 128, "description": "mine",
            },
        ),
        "ckks.Parameters.from_toml": (
            ckks.Parameters.from_toml, (set_of_vectors.to_toml(),), {},
        ),
        "ckks.Polynomial.fit": (
            ckks.Polynomial.fit, (lambda x: x * x, (-1.0, 1.0), 1e-3), {"max_degree": 7},
        ),
        "ckks.Polynomial.from_chebyshev": (
            ckks.Polynomial.from_chebyshev, ([1, 2], (-1, 1)), {},
        ),
        "ckks.Polynomial.from_powers": (ckks.Polynomial.from_powers, ([1, 2], (-1, 1)), {}),
        "ckks.PublicKey.encrypt": (o["public"].encrypt, ([0.5, 1],), {"slots": 8}),
        "ckks.PublicKey.from_bytes": (
            ckks.PublicKey.from_bytes, (o["public"].to_bytes(), set_of_vectors), {},
        ),
        "ckks.ServerKey": (
            no_progress(ckks.ServerKey), (ckks_keys, "cpu"),
            {
                "bootstrap_when_needed": True,
                "compose_rotations": True,
                "may_wrap": True,
                "progress": None,
            },
        ),
        "ckks.ServerKey.record": (ckks_server.record, (lambda x: x + 1, 2), {}),
        "ckks.ServerKey.upload": (ckks_server.upload, (vector,), {}),
        "discrete.ClientKey.decrypt": (of_slots.decrypt, (slot_bits,), {}),
        "discrete.ClientKey.evaluation_keys": (
            no_progress(of_slots.evaluation_keys), (), {"progress": None},
        ),
        "discrete.ClientKey.generate": (discrete.ClientKey.generate, (DISCRETE_TOY,), {}),
        "discrete.ClientKey.generate_seeded_for_tests": (
            discrete.ClientKey.generate_seeded_for_tests, (DISCRETE_TOY, seed), {},
        ),
        **{
            f"discrete.{name}.{method}": (getattr(key, method), arguments, keywords)
            for name, key in (("ClientKey", of_slots), ("PublicKey", o["slot public"]))
            for method, arguments, keywords in (
                ("encrypt", ([1, 0],), {"below": 4}),
                ("encrypt_integers", ([1, 2], "uint4"), {}),
                ("from_bytes", (key.to_bytes(), DISCRETE_TOY), {}),
            )
        },
        "discrete.EvaluationKeys.from_bytes": (
            discrete.EvaluationKeys.from_bytes, (slot_keys.to_bytes(), DISCRETE_TOY), {},
        ),
        "discrete.Parameters": (discrete.Parameters, (DISCRETE_TOY,), {}),
        "discrete.Parameters.from_toml": (
            discrete.Parameters.from_toml, (of_slots.parameters.to_toml(),), {},
        ),
        "discrete.ServerKey": (
            no_progress(discrete.ServerKey), (slot_keys, "cpu"),
            {"log2_failure": -20.0, "progress": None},
        ),
        "discrete.ServerKey.upload": (o["slot server"].upload, (slot_bits,), {}),
        "discrete.Numbers.from_bytes": (
            discrete.Numbers.from_bytes, (slot_bits.to_bytes(), (2,)), {},
        ),
        "discrete.Numbers.full_adder": (
            of_numbers(slot_bits.full_adder), (slot_bits, slot_bits), {},
        ),
        "discrete.Numbers.lookup": (
            of_numbers(o["numbers"].lookup), (lambda m: 3 - m, [0, 1, 2, 3]),
            {"modulus": None, "order": None},
        ),
        "discrete.Numbers.select": (
            of_numbers(slot_bits.select), (o["numbers"], o["numbers"], 2), {},
        ),
        "discrete.Numbers.take": (of_numbers(o["numbers"].take), ([0],), {}),
        "discrete.Integers.astype": (of_numbers(slot_integers.astype), ("int8",), {}),
        "discrete.Integers.from_bytes": (
            discrete.Integers.from_bytes, (slot_integers.to_bytes(), (2,)), {},
        ),
        "discrete.Integers.select": (
            of_numbers(slot_conditions.select), (slot_integers, slot_integers, "uint4"), {},
        ),
        **{
            f"discrete.Integers.{name}": (
                of_numbers(getattr(slot_integers, name)), (slot_integers,), {},
            )
            for name in (
                "checked_add", "checked_div_rem", "checked_mul", "checked_sub", "div_rem",
                "maximum", "minimum", "overflowing_add", "overflowing_mul", "overflowing_sub",
                "rotate_left", "rotate_right", "total",
            )
        },
        "integer.Ciphertexts.astype": (of_integers(integers.astype), ("int8",), {}),
        "integer.Ciphertexts.from_bytes": (
            integer.Ciphertexts.from_bytes, (integers.to_bytes(), (2,)), {},
        ),
        "integer.Ciphertexts.is_in": (of_integers(integers.is_in), ([1, 3],), {}),
        "integer.Ciphertexts.match_value": (
            of_integers(integers.match_value), ({1: 2}, "uint4"), {},
        ),
        "integer.Ciphertexts.reshape": (integers.reshape, (2, 1), {}),
        "integer.Ciphertexts.sum": (of_integers(integers.sum), (0, "uint8"), {}),
        "integer.Ciphertexts.select": (
            of_integers(o["conditions"].select), (integers, integers), {},
        ),
        "integer.Ciphertexts.to_device": (integers.to_device, (integer_server,), {}),
        **{
            f"integer.Ciphertexts.{name}": (of_integers(getattr(integers, name)), (integers,), {})
            for name in (
                "checked_add", "checked_div_rem", "checked_mul", "checked_sub", "div_rem",
                "maximum", "minimum", "overflowing_add", "overflowing_mul", "overflowing_sub",
                "rotate_left", "rotate_right",
            )
        },
        "integer.ServerKey": (
            no_progress(integer.ServerKey), (integer_client.evaluation_keys(), "cpu"),
            {"transform": "ntt", "log2_failure": -20.0, "progress": None},
        ),
        "integer.ServerKey.report_to": (no_progress(integer_server.report_to), (None,), {}),
        "integer.ServerKey.limit_scratch": (integer_server.limit_scratch, (4 << 30,), {}),
        "integer.ServerKey.generate_oblivious_pseudo_random": (
            integer_server.generate_oblivious_pseudo_random, ((2,), "uint4", bytes(32), 3), {},
        ),
        "integer.ServerKey.upload": (integer_server.upload, (integers,), {}),
        "columns.Columns": (
            columns.Columns, (keys, lambda server, a: ~a, ["a"], "b", "cpu"), {"integers": False},
        ),
        "columns.Columns.batches": (lambda b: list(columns_of.batches([b])), (batch,), {}),
        "columns.array": (columns.array, (columns.cells(bits),), {}),
        "columns.cells": (columns.cells, (bits,), {}),
        "models.DecisionTree": (models.DecisionTree, tree, {"bits": 2, "classes": [3, 7]}),
        "models.DecisionTree.decrypt": (
            decision.decrypt, (client, girih.EncryptedBits.encrypt(client, [[True]])), {},
        ),
        "models.DecisionTree.encrypt": (decision.encrypt, (client, [[0.2], [0.9]]), {}),
        "models.DecisionTree.from_sklearn": (
            models.DecisionTree.from_sklearn, (_Tree(), [[0.0], [1.0]], 2), {},
        ),
        "models.DecisionTree.predict": (decision.predict, ([[0.2], [0.9]],), {}),
        "models.DecisionTree.quantise": (decision.quantise, ([[0.2], [0.9]],), {}),
        "models.LinearRegression": (models.LinearRegression, ([1, 2], 0), {}),
        "models.LogisticRegression": (
            models.LogisticRegression, ([[1, 2]], [0], [0, 1]), {},
        ),
        "models.LogisticRegression.decrypt_labels": (
            logistic.decrypt_labels, (ckks_client, scores), {},
        ),
        "models.Rows": (
            models.Rows, ("features", of_model.vectors, 1, 2), {},
        ),
        "models.Rows.from_bytes": (models.Rows.from_bytes, (of_model.to_bytes(),), {}),
        "models.LogisticRegression.decision_function": (
            of_ckks(logistic.decision_function), (of_model,), {},
        ),
        "models.LogisticRegression.predict": (
            of_ckks(logistic.predict), (of_model, 2.0, 0.05, 0.01), {},
        ),
        "models.LogisticRegression.predict_proba": (
            of_ckks(logistic.predict_proba), (of_model, 2.0, 0.001), {},
        ),
        "models.LinearRegression.predict": (of_ckks(linear.predict), (of_model,), {}),
        **{
            f"models.{name}.{method}": (getattr(model, method), arguments, {})
            for name, model, results in (
                ("LinearRegression", linear, values), ("LogisticRegression", logistic, scores),
            )
            for method, arguments in (
                ("bound", ([0, 0], [1, 1])),
                ("decrypt", (ckks_client, results)),
                ("encrypt", (ckks_client, [[0.5, 0.25]])),
                ("evaluation_keys", (ckks_client,)),
                ("from_sklearn", (_Linear(),)),
                ("per_vector", (ckks_client,)),
                ("rotations", (ckks_client,)),
            )
        },
        "heir.Program.decrypt": (heir.decrypt, (ckks_client, of_heir), {}),
        "heir.Program.decrypt_to_share": (
            heir.decrypt_to_share, (ckks_client, of_heir, 2), {"error": 1e-6},
        ),
        "heir.Program.encrypt": (heir.encrypt, (ckks_client, *numbers), {}),
        "heir.Program.keys": (no_progress(heir.keys), (ckks_client,), {"progress": None}),
        "heir.Program.plain": (heir.plain, numbers, {}),
        "heir.Program.prepare": (heir.prepare, (heir_server,), {}),
        "heir.Program.run": (heir.run, (heir_server, heir.encrypt(ckks_client, *numbers)), {}),
        "heir.Program.server": (
            no_progress(heir.server), (heir.keys(ckks_client), "cpu"), {"progress": None},
        ),
        "heir.Program.with_known": (heir.with_known, (0.5,), {}),
        "heir.Program.with_ranges": (heir.with_ranges, (numbers, numbers), {"margin": 2.0}),
        "heir.read": (
            girih.heir.read, (TWO.read_text(),),
            {"function": "two", "set": CKKS_TOY, "magnitude": 1.0},
        ),
        "progress.tqdm": (no_progress(progress.tqdm), (), {}),
        "ray.MapBatches": (
            girih.ray.MapBatches, (keys, lambda server, a: ~a, ["a"], "b", "cpu"),
            {"integers": False},
        ),
        "ray.MapBatches.batches": (lambda b: list(mapped.batches([b])), (batch,), {}),
        "rows.count": (rows.count, (bits,), {}),
        "rows.cut": (rows.cut, (bits, 0, 1), {}),
        "rows.join": (rows.join, ([bits, bits],), {}),
        "rows.likeness": (rows.likeness, (bits,), {}),
        "rows.single": (rows.single, (bits, 1), {}),
        "nn.Costs.load": (in_folder(girih.nn.Costs.load), ("costs",), {}),
        "nn.Costs.modelled": (girih.nn.Costs.modelled, ("CKKS_D40",), {}),
        "nn.Costs.save": (in_folder(network.costs.save), ("costs again",), {}),
        "nn.measure": (girih.nn.measure, (few_levels, "cpu"), {"repeats": 1}),
        "nn.ClientPart.load": (in_folder(girih.nn.ClientPart.load), ("client",), {}),
        "nn.ClientPart.save": (in_folder(part.save), ("client again",), {}),
        "nn.Model.prepare": (network.prepare, (network_server,), {}),
        "nn.Model.plain": (network.plain, (images,), {}),
        "nn.Model.run": (network.run, (network_server, network.encrypt(ckks_client, images)), {}),
        "nn.Model.save": (in_folder(network.save), ("model again",), {}),
        "nn.Model.server": (
            no_progress(network.server), (network_keys, "cpu"), {"progress": None},
        ),
        "nn.load": (in_folder(girih.nn.load), ("model",), {}),
        **{
            f"nn.{kind}.{name}": call
            for kind, of in (("ClientPart", part), ("Model", network))
            for name, call in {
                "decrypt": (
                    of.decrypt, (ckks_client, network.encrypt(ckks_client, images), 2), {},
                ),
                "decrypt_to_share": (
                    of.decrypt_to_share, (ckks_client, network.encrypt(ckks_client, images), 2),
                    {"error": 1e-6, "count": 2},
                ),
                "encrypt": (of.encrypt, (ckks_client, images), {}),
                "keys": (no_progress(of.keys), (ckks_client,), {"progress": None}),
            }.items()
        },
        "rows.stack": (rows.stack, ([bits[0], bits[1]],), {}),
        "rows.step": (rows.step, (bits,), {}),
        "serving.Batcher": (lambda most: serving.Batcher(most).close(), (16,), {}),
        "serving.Batcher.run": (
            _batch, ("name", lambda: server, lambda server, a, b: a & b, bits, bits), {},
        ),
        "wire.describe": (wire.describe, (wire.to_bytes(bits, vectors),), {}),
        "wire.from_bytes": (wire.from_bytes, (wire.to_bytes(bits, vectors),), {}),
        "wire.key_id": (wire.key_id, (bits, bits), {}),
        "wire.to_bytes": (wire.to_bytes, (bits, vectors), {}),
        "worker.KeyFolder.put": (o["folder"].put, (keys, keys.key_id), {}),
        "worker.KeyFolder.remove": (worker.KeyFolder(o["folder"].path / "x").remove, ("0",), {}),
        "worker.StoredKeys": (
            worker.StoredKeys, (stored.path, stored.key_id, stored.digest), {},
        ),
        "worker.call": (worker.call, (server, lambda server, a: ~a, bits), {}),
        "worker.limit": (worker.limit, (4 << 30,), {}),
        "worker.on_host": (worker.on_host, (o["resident"],), {}),
        "worker.run": (
            worker.run, (keys, lambda server, a: ~a, bits), {"device": "cpu", "integers": False},
        ),
        "worker.server": (worker.server, (keys, "cpu"), {"integers": False}),
    }  # fmt: skip


def test_the_table_has_every_public_call(calls):
    elsewhere = {name for name in NAMES if name.startswith(OF_RAY)} | {"ray.Pool", "ray.require"}
    # What needs PyTorch is in test_nn_torch.py.
    elsewhere.add("nn.compile")
    # A constructor that makes folders is in test_refusals.py.
    elsewhere.add("worker.KeyFolder")
    assert set(NAMES) - elsewhere == set(calls)


@pytest.mark.parametrize("name", [n for n in NAMES if not n.startswith("ray.Pool")])
def test_one_wrong_argument(name, calls, objects, server, integer_server):
    if name not in calls:
        pytest.skip("tried in test_refusals.py, or test_nn_torch.py")
    if name == "ray.MapBatches" and find_spec("ray") is None:
        pytest.skip("no Ray: pip install 'ray[data,serve]'")
    function, arguments, keywords = calls[name]
    if name not in ("girih.synthesize", "worker.KeyFolder.remove", "progress.tqdm"):
        function(*arguments, **keywords)
    # What is right elsewhere, and bytes that end early or are those of something else.
    others = [*objects.values()]
    cut = [data[: len(data) // 2] for data in arguments if isinstance(data, bytes)]
    refused = tried(name, function, arguments, keywords, [*NONSENSE, *MORE, *others, *cut])
    # What was no nonsense to somebody is put back.
    girih.worker.limit(4 << 30)
    girih.worker.forget()
    server.limit_failure(0.0)
    integer_server.limit_scratch(4 << 30)
    integer_server.report_to(None)
    assert refused or name in ANYTHING
