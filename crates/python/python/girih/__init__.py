"""Fully homomorphic encryption on any GPU: compute on data that stays encrypted.

The owner of the data makes a :class:`ClientKey`, encrypts arrays with it, and sends them with the
evaluation keys, which are public, to whoever computes. There a :class:`ServerKey` on any device
runs gates, look-up tables and circuits on encrypted bits and messages; :mod:`girih.integer`
computes with encrypted integers, :mod:`girih.ckks` with encrypted vectors of real and complex
numbers, :mod:`girih.discrete` with bits and integers of thousands of elements at once.

    >>> import girih
    >>> client = girih.ClientKey.generate("STD128")
    >>> server = girih.ServerKey(client.evaluation_keys(), device="cpu")
    >>> a, b = client.encrypt([False, True]), client.encrypt([True, True])
    >>> with server:
    ...     c = ~(a & b)
    >>> client.decrypt(c)
    array([ True, False])

A secret key decrypts everything: it is not pickled, and its ``to_bytes`` is for its owner alone.
"""

import os as _os
from pathlib import Path as _Path

from . import (
    _girih,
    ckks,
    columns,
    discrete,
    errors,
    integer,
    models,
    progress,
    ray,
    rows,
    serving,
    wire,
    worker,
)
from ._girih import (
    VERSION as __version__,
    Ciphertexts,
    Circuit,
    ClientKey,
    Device,
    EncryptedBits,
    EvaluationKeys,
    Function,
    LargeKeys,
    LargeParameters,
    LargeServerKey,
    LookUpTable,
    Netlist,
    NetlistBuilder,
    ParameterSet,
    ServerKey,
    Wire,
    absent_devices,
    devices,
    weighted_sum,
)
from .errors import Error
from .rows import join as concatenate
from .synthesis import synthesize

# Kernels for CUDA that this package carries, if it does.
_kernels = _Path(__file__).with_name("kernels")
if _kernels.is_dir():
    _girih._kernels_in(_kernels)

# A child of fork lacks the threads that compute: it is told so instead of waiting for ever.
if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_girih._after_fork)

__all__ = [
    "Ciphertexts",
    "Circuit",
    "ClientKey",
    "Device",
    "EncryptedBits",
    "Error",
    "EvaluationKeys",
    "Function",
    "LargeKeys",
    "LargeParameters",
    "LargeServerKey",
    "LookUpTable",
    "Netlist",
    "NetlistBuilder",
    "ParameterSet",
    "ServerKey",
    "Wire",
    "__version__",
    "absent_devices",
    "ckks",
    "columns",
    "concatenate",
    "devices",
    "discrete",
    "errors",
    "integer",
    "models",
    "progress",
    "ray",
    "rows",
    "serving",
    "synthesize",
    "weighted_sum",
    "wire",
    "worker",
]
