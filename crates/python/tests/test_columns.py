"""Columns of Arrow, plain and as tables, go in as arrays do; results become columns again."""

import numpy as np
import pytest

import girih

pa = pytest.importorskip("pyarrow")


def test_columns(client, ckks_client, integer_client):
    bits = pa.array([True, False, True])
    back = pa.array(client.decrypt(client.encrypt(bits)))
    assert back.equals(bits)
    messages = pa.chunked_array([[1, 2], [3]])
    assert client.decrypt(client.encrypt(messages, bits=2)).tolist() == [1, 2, 3]
    numbers = pa.array([0.5, -0.25], pa.float32())
    assert np.abs(ckks_client.decrypt(ckks_client.encrypt(numbers)) - [0.5, -0.25]).max() < 1e-4
    # The type of the column is that of the integers.
    integers = integer_client.encrypt_integers(pa.array([700, 50], pa.uint16()))
    assert integers.dtype == "uint16"
    assert pa.array(integer_client.decrypt_integers(integers)).type == pa.uint16()


def test_a_table_is_the_inputs_of_a_circuit(client):
    circuit = girih.Circuit(girih.Netlist.adder(4), client.parameters, log2_failure=-1.0)
    table = pa.table({"b": [1, 2, 3], "a": pa.array([4, 15, 6], pa.uint8())})
    assert pa.table(circuit.simulate(table))["sum"].to_pylist() == [5, 1, 9]
    assert circuit.encrypt(client, table).instances == 3
    with pytest.raises(girih.errors.MismatchError, match='"b" is missing'):
        circuit.encrypt(client, table.select(["a"]))
    with pytest.raises(girih.errors.MismatchError, match='no input "c"'):
        circuit.encrypt(client, table.append_column("c", [[1, 2, 3]]))


def test_nulls_are_no_values(client):
    for column in (pa.array([True, None]), pa.array([1, None])):
        with pytest.raises(TypeError, match="not (object|float64)"):
            client.encrypt(column)
    circuit = girih.Circuit(girih.Netlist.adder(4), client.parameters, log2_failure=-1.0)
    with pytest.raises(TypeError, match='input "a" must be integers'):
        circuit.encrypt(client, pa.table({"a": [1, None], "b": [1, 2]}))
