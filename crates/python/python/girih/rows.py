"""Rows of arrays of ciphertexts of every class: what is divided among workers.

A row is an entry along the first axis of :class:`girih.Ciphertexts` and
:class:`girih.integer.Ciphertexts`, a vector of a batch of :class:`girih.ckks.Ciphertexts`, an
instance of :class:`girih.EncryptedBits`.
"""

from __future__ import annotations

import math
from typing import Any, Sequence, TypeVar

import numpy as np

from . import _girih, ckks, integer
from .errors import MismatchError
from .wire import Arrays

_ARRAYS = (_girih.Ciphertexts, _girih.EncryptedBits, integer.Ciphertexts, ckks.Ciphertexts)
Array = TypeVar("Array", bound=Arrays)


def _known(array: object) -> None:
    if not isinstance(array, _ARRAYS):
        raise TypeError(f"rows are those of ciphertexts, not of {type(array).__name__}")


def count(array: Arrays) -> int:
    """How many rows there are; a single ciphertext or vector has none and is refused."""
    _known(array)
    if isinstance(array, _girih.EncryptedBits):
        return array.instances
    if len(array.shape) < (2 if isinstance(array, ckks.Ciphertexts) else 1):
        raise MismatchError("one ciphertext or vector has no rows: give an array of several")
    return len(array)


def step(array: Arrays) -> int:
    """Rows that stay together, because they share ciphertexts; mostly 1."""
    _known(array)
    if isinstance(array, _girih.EncryptedBits):
        # The bytes name the set, whose packing they are of.
        return _words(array).parameters.packing
    if isinstance(array, _girih.Ciphertexts):
        packing = array.parameters.packing
        return packing // math.gcd(packing, math.prod(array.shape[1:]))
    return 1


def _words(bits: _girih.EncryptedBits) -> _girih.Ciphertexts:
    """The ciphertexts of circuits' bits: those of the first bit of all instances, and so on."""
    words = _girih.Ciphertexts.from_bytes(bits.to_bytes())
    return words.reshape(bits.bits, words.size // bits.bits)


def cut(array: Array, start: int, stop: int) -> Array:
    """The rows from ``start`` to before ``stop``, in the memory of this process."""
    for name, value in (("start", start), ("stop", stop)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise TypeError(f"{name} is the number of a row, not {type(value).__name__}")
    rows = count(array)
    if not 0 <= start < stop <= rows:
        raise MismatchError(f"rows {start} to {stop} of {rows}: take at least one that is there")
    whole: Any = array
    part: Any
    if isinstance(array, _girih.EncryptedBits):
        part = _cut_bits(array, start, stop)
    else:
        part = whole.to_host()[start:stop]
    made: Array = part
    return made


def _cut_bits(bits: _girih.EncryptedBits, start: int, stop: int) -> _girih.EncryptedBits:
    words = _words(bits)
    packing = words.parameters.packing
    if start % packing or (stop % packing and stop != bits.instances):
        raise MismatchError(
            f"rows {start} to {stop}: {packing} instances share a ciphertext and stay together"
        )
    padded = -(-stop // packing) * packing
    return _girih.EncryptedBits.from_bytes(words[:, start:padded].to_bytes(), stop - start)


def _join_bits(parts: Sequence[_girih.EncryptedBits]) -> _girih.EncryptedBits:
    """Instances side by side: for each bit the ciphertexts of all parts."""
    words = [_words(part) for part in parts]
    packing = words[0].parameters.packing
    for part in parts[:-1]:
        if part.instances % packing:
            raise MismatchError(
                f"{part.instances} instances before others: {packing} share a ciphertext, so all "
                f"parts but the last are multiples of {packing}"
            )
    bits = {part.bits for part in parts}
    if len(bits) > 1:
        raise MismatchError(f"instances of {sorted(bits)} bits do not go together")
    rows = [word[bit : bit + 1].reshape(-1) for bit in range(bits.pop()) for word in words]
    instances = sum(part.instances for part in parts)
    whole = _girih.concatenate(rows).to_bytes()
    return _girih.EncryptedBits.from_bytes(whole, instances)


def _join_integers(parts: Sequence[integer.Ciphertexts]) -> integer.Ciphertexts:
    """A line with the type, and all elements' lowest digits, all next ones, and so on."""
    cuts = [part.to_bytes().partition(b"\n") for part in parts]
    lines = {line for line, _, _ in cuts}
    if len(lines) > 1:
        dtypes = sorted({part.dtype for part in parts})
        raise MismatchError(f"integers of {', '.join(dtypes)} do not go together: they are equal")
    tails = {tuple(part.shape[1:]) for part in parts}
    if len(tails) > 1:
        raise MismatchError(f"rows of shapes {sorted(tails)} do not go together")
    words = [_girih.Ciphertexts.from_bytes(digits) for _, _, digits in cuts]
    digits = words[0].size // parts[0].size
    words = [word.reshape(digits, word.size // digits) for word in words]
    rows = [word[digit] for digit in range(digits) for word in words]
    data = lines.pop() + b"\n" + _girih.concatenate(rows).to_bytes()
    shape = [sum(len(part) for part in parts), *tails.pop()]
    return integer.Ciphertexts.from_bytes(data, shape)


def join(parts: Sequence[Array]) -> Array:
    """The rows of all parts, one after the other: the inverse of :func:`cut`."""
    if not isinstance(parts, (list, tuple)):
        raise TypeError(f"parts come as a list, not as {type(parts).__name__}")
    if not parts:
        raise MismatchError("no part: give at least one")
    for part in parts:
        count(part)
        if type(part) is not type(parts[0]):
            names = sorted({f"{type(p).__module__}.{type(p).__name__}" for p in parts})
            raise MismatchError(f"parts of different classes: {', '.join(names)}")
    if len(parts) == 1:
        return parts[0]
    all_parts: Any = parts
    joined: Any
    if isinstance(parts[0], _girih.EncryptedBits):
        joined = _join_bits(all_parts)
    elif isinstance(parts[0], integer.Ciphertexts):
        joined = _join_integers(all_parts)
    elif isinstance(parts[0], ckks.Ciphertexts):
        joined = _girih._join_vectors(all_parts)
    else:
        joined = _girih.concatenate(all_parts)
    result: Array = joined
    return result


def single(array: Array, row: int) -> Array:
    """One row by itself: of an array of shape (rows, ..) one of shape (..)."""
    if isinstance(array, _girih.EncryptedBits):
        return cut(array, row, row + 1)
    part: Any = cut(array, row, row + 1)
    made: Array = part.reshape(part.shape[1:])
    return made


def stack(singles: Sequence[Array]) -> Array:
    """The array whose rows these are: the inverse of :func:`single`."""
    if not isinstance(singles, (list, tuple)):
        raise TypeError(f"rows come as a list, not as {type(singles).__name__}")
    rows: list[Any] = []
    for one in singles:
        _known(one)
        if isinstance(one, _girih.EncryptedBits):
            rows.append(one)
        else:
            rows.append(one.reshape(1, *one.shape))
    joined: Array = join(rows)
    return joined


def likeness(array: Arrays) -> tuple[Any, ...]:
    """What arrays have in common whose rows go into one: equal for those that can be joined."""
    _known(array)
    if isinstance(array, _girih.EncryptedBits):
        return ("instances", array.bits, array.key_id, step(array))
    name = array.parameters
    if isinstance(array, ckks.Ciphertexts):
        return ("vectors", name, array.slots, array.level, array.scale)
    tail = tuple(array.shape[1:])
    if isinstance(array, integer.Ciphertexts):
        return ("integers", name, array.dtype, tail)
    return (array.kind, array.bits, name, array.log2_modulus, tail)


__all__ = ["count", "cut", "join", "likeness", "single", "stack", "step"]
