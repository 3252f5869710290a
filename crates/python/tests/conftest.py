"""Keys that tests share: toys without security, made once."""

import pytest

import girih
from girih import ckks, integer

TOY = "INSECURE_TOY"
CKKS_TOY = "INSECURE_CKKS_D40_N10"


@pytest.fixture(scope="session")
def client():
    return girih.ClientKey.generate_seeded_for_tests(TOY, bytes(range(32)))


@pytest.fixture(scope="session")
def keys(client):
    return client.evaluation_keys()


@pytest.fixture(scope="session")
def server(keys):
    server = girih.ServerKey(keys, device="cpu")
    # One message of two bits in some hundred thousand of the toy may be wrong; seeds are fixed.
    server.limit_failure(0.0)
    return server


@pytest.fixture(scope="session")
def stranger():
    """Another client of the same set."""
    return girih.ClientKey.generate_seeded_for_tests(TOY, bytes(32))


@pytest.fixture(scope="session")
def integer_client():
    return girih.ClientKey.generate_seeded_for_tests("INSECURE_INTEGERS", bytes(range(32)))


@pytest.fixture(scope="session")
def integer_server(integer_client):
    return integer.ServerKey(integer_client.evaluation_keys(), device="cpu")


@pytest.fixture(scope="session")
def ckks_client():
    return ckks.ClientKey.generate_seeded_for_tests(CKKS_TOY, bytes(range(32)))


@pytest.fixture(scope="session")
def ckks_keys(ckks_client):
    return ckks_client.evaluation_keys(
        rotations=[1, -1, 3, 256], sums=[16], conjugation=True, bootstrapping=16
    )


@pytest.fixture(scope="session")
def ckks_server(ckks_keys):
    return ckks.ServerKey(ckks_keys, device="cpu")

