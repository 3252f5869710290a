"""Exact bits, small integers and integers of 4 to 256 bits on thousands of elements at once.

    >>> from girih import discrete
    >>> client = discrete.ClientKey.generate("DISCRETE_4")
    >>> server = discrete.ServerKey(client.evaluation_keys(), device="cuda:0")
    >>> a = client.encrypt([3, 2, 1, 0], below=4)
    >>> b = client.encrypt([2, 2, 3, 1], below=4)
    >>> with server:
    ...     c = (4 * a + b).lookup(lambda m: (m >> 2) * (m & 3) % 4)
    >>> client.decrypt(c)
    array([2, 0, 3, 0])

A ciphertext holds a number of each of 32,768 elements. Sums, differences and products with known
numbers are free; a look-up replaces every number by any function of it, in the same time for one
element as for all. ``Integers`` are arrays of digits of two bits:

    >>> x = client.encrypt_integers([700, 50], "uint16")
    >>> y = client.encrypt_integers([5, 51], "uint16")
    >>> with server:
    ...     z = x * y + (x > y).select(x, y)
    >>> client.decrypt(z)
    array([4200, 2601], dtype=uint16)

From some hundred elements on they are faster than ``girih.integer``.
"""

from ._girih import (
    DiscreteClientKey as ClientKey,
    DiscreteEvaluationKeys as EvaluationKeys,
    DiscreteIntegers as Integers,
    DiscreteNumbers as Numbers,
    DiscreteParameters as Parameters,
    DiscretePublicKey as PublicKey,
    DiscreteServerKey as ServerKey,
)

__all__ = [
    "ClientKey",
    "EvaluationKeys",
    "Integers",
    "Numbers",
    "Parameters",
    "PublicKey",
    "ServerKey",
]
