"""What runs a program: a trace of its levels, numbers in the clear, a recording, encryption."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import ckks, errors
from ._ciphertexts import Floats, Plaintext, Transform

#: Results of functions by their name and what they were called with, which is kept.
Prepared = dict[tuple[Any, ...], tuple[list[Any], list[Any]]]

#: Products with whole numbers up to here take no level.
_WHOLE = 65536.0


def _repeated(values: Floats, slots: int) -> Floats:
    """Numbers in all slots: Lattigo repeats shorter vectors."""
    if not values.size or slots % values.size:
        raise errors.MismatchError(f"{values.size} numbers are encoded in {slots} slots")
    return np.tile(values, slots // values.size)


def _numbers(plain: Plaintext) -> Floats:
    if plain.values is None:
        raise errors.MalformedError("a plaintext is used before it is encoded")
    return plain.values


def _diagonals(map: Transform, slots: int) -> dict[int, Floats]:
    """Diagonals by rotations to the left. One of zeros keeps a number too small to count, so that
    the rotations are those that keys were made for, whatever the numbers are."""
    found: dict[int, Floats] = {}
    for by, values in map.diagonals.items():
        found[by % slots] = found.get(by % slots, np.zeros(slots)) + values
    for values in found.values():
        if not values.any():
            values[0] = 1e-300
    return found


@dataclass(frozen=True)
class Depth:
    """A ciphertext by the levels that were used up on the way to it."""

    used: int


@dataclass
class Trace:
    """What a program needs: levels, rotations and where they are; known arguments are not numbers
    to it, so that it is the same for whoever has them and for whoever has not."""

    slots: int
    #: Levels that are used up before each rotation, by its amount: the fewest.
    rotations: dict[int, int] = field(default_factory=dict)
    levels: int = 0
    multiplies: bool = False
    #: Of each product with a plaintext, in order, the number that it is for all slots, where that
    #: takes no level.
    factors: list[int | None] = field(default_factory=list)
    #: Ciphertexts of all arguments.
    encrypted: int = 0
    #: The most levels that are used up before a bootstrapping; None without any.
    bootstraps: int | None = None

    def encoded(self, values: Floats) -> Floats:
        return _repeated(values, self.slots)

    def _made(self, used: int) -> Depth:
        self.levels = max(self.levels, used)
        return Depth(used)

    def _sum(self, x: Depth, y: Depth | Plaintext) -> Depth:
        return Depth(max(x.used, y.used if isinstance(y, Depth) else 0))

    add = sub = _sum

    def mul(self, x: Depth, y: Depth | Plaintext) -> Depth:
        if isinstance(y, Depth):
            self.multiplies = True
            return self._made(max(x.used, y.used) + 1)
        factor, numbers = None, _numbers(y)
        first = float(numbers[0])
        if (numbers == first).all() and first == round(first) and abs(first) <= _WHOLE:
            factor = int(first)
        self.factors.append(factor)
        return self._made(x.used + (factor is None))

    def negate(self, x: Depth) -> Depth:
        return x

    def _rotated(self, by: int, used: int) -> None:
        by = operator.index(by) % self.slots
        if by:
            self.rotations[by] = min(self.rotations.get(by, used), used)

    def rotate(self, x: Depth, by: int) -> Depth:
        self._rotated(by, x.used)
        return x

    def transform(self, x: Depth, map: Transform) -> Depth:
        ones = dict.fromkeys(_diagonals(map, self.slots), np.ones(self.slots))
        for by in ckks.LinearMap(self.slots, ones).rotations():
            self._rotated(by, x.used)
        return self._made(x.used + 1)

    def chebyshev(
        self, x: Depth, coefficients: tuple[float, ...], low: float, high: float
    ) -> Depth:
        polynomial = ckks.Polynomial.from_chebyshev(coefficients, (low, high))
        self.multiplies = self.multiplies or polynomial.degree > 1
        return self._made(x.used + polynomial.levels)

    def bootstrap(self, x: Depth) -> Depth:
        # A product before it brings larger numbers into the range of a bootstrapping.
        used = self._made(x.used + 1).used
        self.bootstraps = max(self.bootstraps or 0, used)
        return Depth(0)

    def unknown(self, inputs: list[Any]) -> bool:
        """Whether nothing is known of an array among these."""
        return any(isinstance(x, np.ndarray) and np.isnan(x).all() for x in inputs)

    def encrypt(self, plain: Plaintext) -> Depth:
        return Depth(0)

    def decrypt(self, x: object) -> Plaintext:
        return Plaintext(np.zeros(self.slots))


@dataclass
class Plain:
    """The same operations on numbers in the clear."""

    slots: int
    #: Plaintexts that were made of known arguments, which runs share.
    prepared: Prepared = field(default_factory=dict)
    #: What the results of all operations on ciphertexts reach, in order.
    reached: list[float] = field(default_factory=list)

    def encoded(self, values: Floats) -> Floats:
        if not np.isfinite(values).all():
            raise ValueError("a number that is encoded is not finite, or was never written")
        return _repeated(values, self.slots)

    def _made(self, values: Floats) -> Floats:
        self.reached.append(float(np.abs(values).max()))
        return values

    @staticmethod
    def _of(y: Floats | Plaintext) -> Floats:
        return _numbers(y) if isinstance(y, Plaintext) else y

    def add(self, x: Floats, y: Floats | Plaintext) -> Floats:
        return self._made(x + self._of(y))

    def sub(self, x: Floats, y: Floats | Plaintext) -> Floats:
        return self._made(x - self._of(y))

    def mul(self, x: Floats, y: Floats | Plaintext) -> Floats:
        return self._made(x * self._of(y))

    def negate(self, x: Floats) -> Floats:
        return self._made(-x)

    def rotate(self, x: Floats, by: int) -> Floats:
        return self._made(np.roll(x, -by))

    def transform(self, x: Floats, map: Transform) -> Floats:
        parts = [d * np.roll(x, -by) for by, d in map.diagonals.items()]
        return self._made(np.asarray(np.sum(parts, axis=0), np.float64))

    def chebyshev(
        self, x: Floats, coefficients: tuple[float, ...], low: float, high: float
    ) -> Floats:
        u = (2 * x - low - high) / (high - low)
        return self._made(np.asarray(np.polynomial.chebyshev.chebval(u, coefficients), np.float64))

    def bootstrap(self, x: Floats) -> Floats:
        # Twice: what a recording multiplies first, and what it makes.
        return self._made(self._made(x))

    def encrypt(self, plain: Plaintext) -> Floats:
        return self.encoded(_numbers(plain))

    def decrypt(self, x: Floats) -> Plaintext:
        return Plaintext(x)


@dataclass
class Recorded:
    """The same operations on ciphertexts of a recording."""

    slots: int
    factors: list[int | None]
    #: What the results of all operations reach, where that is declared.
    bounds: list[float] | None
    prepared: Prepared
    _operations: int = 0
    _products: int = 0

    def encoded(self, values: Floats) -> Floats:
        return Plain(self.slots).encoded(values)

    def _made(self, x: ckks.Ciphertexts) -> ckks.Ciphertexts:
        k, self._operations = self._operations, self._operations + 1
        return x if self.bounds is None else x.with_magnitude(self.bounds[k])

    @staticmethod
    def _of(y: ckks.Ciphertexts | Plaintext) -> ckks.Ciphertexts | Floats | float:
        if not isinstance(y, Plaintext):
            return y
        values = _numbers(y)
        # One number for all slots is cheaper.
        return float(values[0]) if (values == values[0]).all() else values

    def add(self, x: ckks.Ciphertexts, y: ckks.Ciphertexts | Plaintext) -> ckks.Ciphertexts:
        return self._made(x + self._of(y))

    def sub(self, x: ckks.Ciphertexts, y: ckks.Ciphertexts | Plaintext) -> ckks.Ciphertexts:
        return self._made(x - self._of(y))

    def mul(self, x: ckks.Ciphertexts, y: ckks.Ciphertexts | Plaintext) -> ckks.Ciphertexts:
        if not isinstance(y, Plaintext):
            return self._made(x * y)
        factor = self.factors[self._products]
        self._products += 1
        if factor is not None:
            return self._made(x if factor == 1 else x * factor)
        # As a vector, which takes a level whatever its numbers are.
        return self._made(x * _numbers(y))

    def negate(self, x: ckks.Ciphertexts) -> ckks.Ciphertexts:
        return self._made(-x)

    def rotate(self, x: ckks.Ciphertexts, by: int) -> ckks.Ciphertexts:
        return self._made(x.rotate(by % self.slots) if by % self.slots else x)

    def transform(self, x: ckks.Ciphertexts, map: Transform) -> ckks.Ciphertexts:
        diagonals = _diagonals(map, self.slots)
        return self._made(x.transform(ckks.LinearMap(self.slots, diagonals)))

    def chebyshev(
        self, x: ckks.Ciphertexts, coefficients: tuple[float, ...], low: float, high: float
    ) -> ckks.Ciphertexts:
        polynomial = ckks.Polynomial.from_chebyshev(coefficients, (low, high))
        return self._made(x.polynomial(polynomial))

    def bootstrap(self, x: ckks.Ciphertexts) -> ckks.Ciphertexts:
        """Numbers of magnitude up to 1 are bootstrapped, larger ones are divided first."""
        if self.bounds is None:
            why = (
                "a bootstrapping takes numbers up to 1, and what those of the program reach is not "
                "known: with_ranges(..) of samples says so"
            )
            raise errors.MismatchError(why)
        reached = self.bounds[self._operations]
        by = 2 ** max(math.ceil(math.log2(reached)), 0)
        if by > _WHOLE:
            why = f"a bootstrapping of numbers up to {reached:.4g}: {_WHOLE:g} at most"
            raise errors.UnsupportedError(why)
        self._operations += 1
        if by > 1:
            x = (x * (1 / by)).with_magnitude(reached / by)
        return self._made(x.bootstrap(real=True) * by)

    def encrypt(self, plain: Plaintext) -> ckks.Ciphertexts:
        raise errors.UnsupportedError("an encryption within the program: clients encrypt")

    def decrypt(self, x: ckks.Ciphertexts) -> Plaintext:
        raise errors.UnsupportedError("a decryption within the program: clients decrypt")


@dataclass
class Client:
    """Vectors that are to be encrypted, and those that were decrypted."""

    slots: int
    vectors: list[Floats] = field(default_factory=list)

    def encoded(self, values: Floats) -> Floats:
        return Plain(self.slots).encoded(values)

    def encrypt(self, plain: Plaintext) -> int:
        self.vectors.append(_numbers(plain))
        return len(self.vectors) - 1

    def decrypt(self, x: int) -> Plaintext:
        return Plaintext(self.vectors[x])
