"""Approximate arithmetic on encrypted vectors of real and complex numbers (CKKS).

    >>> from girih import ckks
    >>> client = ckks.ClientKey.generate("CKKS_N14_D40")
    >>> server = ckks.ServerKey(client.evaluation_keys(rotations=[1]), device="cpu")
    >>> x = client.encrypt([0.5, -0.25, 0.125, 1.0])
    >>> with server:
    ...     y = x * x.rotate(1) + 1
    >>> client.decrypt(y).round(3)
    array([0.875, 0.969, 1.125, 1.5  ])

A decrypted result tells about the key: what others are to see comes from ``decrypt_to_share``.
"""

from ._girih import (
    CkksCiphertexts as Ciphertexts,
    CkksClientKey as ClientKey,
    CkksEvaluationKeys as EvaluationKeys,
    CkksParameters as Parameters,
    CkksPublicKey as PublicKey,
    CkksServerKey as ServerKey,
    CompositeSign,
    LinearMap,
    Matrix,
    Polynomial,
    Recording,
)

__all__ = [
    "Ciphertexts",
    "ClientKey",
    "CompositeSign",
    "EvaluationKeys",
    "LinearMap",
    "Matrix",
    "Parameters",
    "Polynomial",
    "PublicKey",
    "Recording",
    "ServerKey",
]
