"""Arithmetic on arrays of encrypted integers of 4 to 256 bits, and of conditions.

    >>> import girih, numpy as np
    >>> from girih import integer
    >>> client = girih.ClientKey.generate("TFHERS_2_2_GROUP_2")
    >>> server = integer.ServerKey(client.evaluation_keys(), device="cpu")
    >>> a = client.encrypt_integers(np.array([700, 50], np.uint16))
    >>> b = client.encrypt_integers(np.array([5, 51], np.uint16))
    >>> with server:
    ...     c = a * b + (a > b).select(a, b)
    >>> client.decrypt_integers(c)
    array([4200, 2601], dtype=uint16)

Operators wrap around as Rust's ``wrapping_`` operations do. Comparisons are encrypted, too: arrays
of conditions, which ``select``.
"""

from ._girih import (
    IntegerCiphertexts as Ciphertexts,
    IntegerServerKey as ServerKey,
)

__all__ = ["Ciphertexts", "ServerKey"]
