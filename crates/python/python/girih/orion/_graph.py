"""What Orion asked for, before it is computed.

Orion calls a back end operation by operation. Here each call makes a `Node`, and nothing is
computed until a value is decrypted: then it is known what follows each value, and
`_plan.py` decides at which levels to compute and where to bootstrap.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import ckks, errors

Floats = NDArray[np.float64]

#: Products with whole numbers up to here cost no level.
WHOLE = 65536

#: Where the largest value of a polynomial on [-1, 1] is looked for.
_GRID = np.cos(np.linspace(0, np.pi, 2001))


@dataclass(eq=False)
class Vector:
    """A vector in the clear, a number a slot."""

    values: Floats

    @functools.cached_property
    def digest(self) -> bytes:
        return hashlib.blake2b(self.values.tobytes(), digest_size=16).digest()

    @functools.cached_property
    def largest(self) -> float:
        return float(np.abs(self.values).max())

    @functools.cached_property
    def factor(self) -> float | None:
        """The number that all slots have which are not 0, if they have one."""
        found = self.values[self.values != 0]
        same = found.size > 0 and bool((found == found[0]).all())
        return float(found[0]) if same else None

    @functools.cached_property
    def period(self) -> int:
        """After how many slots it repeats."""
        found, values = len(self.values), self.values
        while found > 1 and bool((values[: found // 2] == values[found // 2 : found]).all()):
            found //= 2
        return found

    def times(self, factor: float) -> Vector:
        return Vector(self.values * factor)

    def repeated(self, period: int) -> Vector:
        """Its first slots, again and again."""
        return Vector(np.tile(self.values[:period], len(self.values) // period))


@dataclass(eq=False)
class Polynomial:
    """A polynomial of numbers in [-1, 1]."""

    polynomial: ckks.Polynomial
    coefficients: tuple[float, ...]
    #: Whether coefficients are of Chebyshev polynomials: then arguments lie in [-1, 1].
    is_chebyshev: bool

    def times(self, factor: float) -> Polynomial:
        scaled = tuple(c * factor for c in self.coefficients)
        make = (
            ckks.Polynomial.from_chebyshev if self.is_chebyshev else ckks.Polynomial.from_powers
        )
        return Polynomial(make(list(scaled), (-1, 1)), scaled, self.is_chebyshev)

    @functools.cached_property
    def largest(self) -> float:
        """How far values reach on [-1, 1]."""
        module = np.polynomial.chebyshev if self.is_chebyshev else np.polynomial.polynomial
        evaluate = module.chebval if self.is_chebyshev else module.polyval
        return float(np.abs(evaluate(_GRID, self.coefficients)).max())


@dataclass(eq=False)
class Transform:
    """A linear map of Orion; None is that of zeros."""

    map: ckks.LinearMap | None
    #: The level that Orion gave it.
    level: int
    #: Amounts of its diagonals, and which slots it reads.
    diagonals: tuple[int, ...]
    reads: NDArray[np.bool_]
    #: The map recorded for vectors of a level.
    recordings: dict[int, ckks.Recording] = field(default_factory=dict)

    def run(self, server: ckks.ServerKey, vector: ckks.Ciphertexts) -> ckks.Ciphertexts:
        """The map of a vector; it is encoded when it first meets one of that level."""
        assert self.map is not None
        map, level = self.map, vector.level
        if level not in self.recordings:
            self.recordings[level] = server.record(lambda x: x.transform(map), vector)
        return self.recordings[level](vector)  # type: ignore[no-any-return]


@dataclass(eq=False)
class Node:
    """A value: what it is computed from and by what, or the ciphertext that it is.

    Kinds are `rotate` (by a number of slots), `plus` and `times` (a number), `plus_vector` and
    `times_vector`, `add`, `subtract` and `product` (of two values), `polynomial`, `map`, `zero`
    (a map of zeros), `bootstrap`, and `input`.
    """

    kind: str
    sources: tuple[Node, ...]
    value: Any
    #: As Orion counts levels.
    level: int
    vector: ckks.Ciphertexts | None = None

    def become(self, vector: ckks.Ciphertexts) -> None:
        """Takes what was computed, and forgets how."""
        self.kind, self.sources, self.value, self.vector = "input", (), None, vector


def key_of(value: Any) -> Hashable:
    """What values that do the same have in common."""
    if isinstance(value, Vector):
        return value.digest
    if isinstance(value, Polynomial):
        return value.is_chebyshev, value.coefficients
    return value  # type: ignore[no-any-return]


def takes(kind: str, value: Any) -> int:
    """Levels of an operation."""
    if kind == "times":
        return int(not isinstance(value, int))
    if kind == "polynomial":
        return value.polynomial.levels  # type: ignore[no-any-return]
    return int(kind in ("times_vector", "product", "map", "zero"))


def number(value: float) -> float | int:
    """A factor: an integer where a product with it costs no level."""
    if not abs(value) <= WHOLE or abs(value - round(value)) > 1e-12 * abs(value):
        return value
    return round(value)


def node(kind: str, sources: tuple[Node, ...], value: Any, what: str) -> Node:
    """An operation at Orion's level.

    :raises girih.errors.OutOfLevelsError: where Orion has too few levels left for it.
    """
    needed, level = takes(kind, value), min(source.level for source in sources)
    if kind in ("map", "zero"):
        level = min(level, value.level)
    if level < needed:
        why = f"{what} takes {needed} levels, and {level} are left: bootstrap before it"
        raise errors.OutOfLevelsError(why)
    return Node(kind, sources, value, level - needed)


def in_order(roots: Iterable[Node]) -> list[Node]:
    """All that the roots are computed of, sources first."""
    found: dict[int, Node] = {}
    todo = [(root, False) for root in reversed(list(roots))]
    while todo:
        at, is_ready = todo.pop()
        if id(at) in found:
            continue
        if is_ready:
            found[id(at)] = at
            continue
        todo.append((at, True))
        todo += [(source, False) for source in reversed(at.sources)]
    return list(found.values())
