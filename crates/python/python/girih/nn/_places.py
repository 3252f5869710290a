"""Where numbers lie in slots, and matrices as diagonals between such places.

Images of several channels lie in grids of the first image's size. After a stride of 2 every second
pixel of every second row is left, and other channels take the places between (multiplexed packing:
Lee et al. 2022), so that no pixel moves far. Vectors lie one number after the other. A vector
repeats with its *period*, a power of two.

A ciphertext has several inputs interleaved: slot j of input i is slot j rows + i. Rotations by
multiples of `rows` then move all of them alike, and round. Where a ciphertext has fewer slots than
the period of a value, the value is cut into parts of so many slots, a ciphertext each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd

import numpy as np

from ._sparse import Floats, Ints, Sparse


def power_of_two(n: int) -> int:
    """The least that is not below n."""
    return 1 << max(n - 1, 0).bit_length()


@dataclass(frozen=True)
class Place:
    """Where the numbers of a value lie."""

    #: (channels, height, width); a vector is (numbers, 1, 1).
    shape: tuple[int, int, int]
    #: Rows and columns of a grid.
    grid: tuple[int, int]
    #: How many rows and columns pixels of a channel are apart.
    gap: tuple[int, int]

    @staticmethod
    def of(shape: tuple[int, ...]) -> Place:
        """Of an input."""
        if len(shape) == 3:
            channels, height, width = shape
            grid = (power_of_two(height), power_of_two(width))
            return Place((channels, height, width), grid, (1, 1))
        return Place((int(np.prod(shape, dtype=np.int64)), 1, 1), (1, 1), (1, 1))

    def strided(self, shape: tuple[int, ...], stride: list[int]) -> Place:
        """Of what a convolution makes of it."""
        channels, height, width = shape
        gap = (self.gap[0] * stride[0], self.gap[1] * stride[1])
        if height == width == 1 or height * gap[0] > self.grid[0] or width * gap[1] > self.grid[1]:
            return Place.of(shape)
        return Place((channels, height, width), self.grid, gap)

    def written(self) -> list[list[int]]:
        return [list(self.shape), list(self.grid), list(self.gap)]

    @staticmethod
    def read(written: list[list[int]]) -> Place:
        shape, grid, gap = (tuple(int(n) for n in part) for part in written)
        if (len(shape), len(grid), len(gap)) != (3, 2, 2) or min(*shape, *grid, *gap) < 1:
            raise ValueError(f"{written} is no place")
        return Place(shape, grid, gap)  # type: ignore[arg-type]

    @property
    def period(self) -> int:
        grids = -(-self.shape[0] // (self.gap[0] * self.gap[1]))
        return power_of_two(grids) * self.grid[0] * self.grid[1]

    def parts(self, most: int) -> int:
        """Ciphertexts of so many slots that hold all numbers."""
        return 1 if self.period <= most else int(self.slots().max()) // most + 1

    def slots(self) -> Ints:
        """The slot of each number."""
        channels, height, width = self.shape
        (rows, columns), (down, right) = self.grid, self.gap
        c, y, x = np.ogrid[:channels, :height, :width]
        part = c % (down * right)
        row = y * down + part // right
        column = x * right + part % right
        slots: Ints = (((c // (down * right)) * rows + row) * columns + column).ravel()
        return slots


def steps(diagonals: list[int], slots: int) -> tuple[int, int]:
    """Baby and giant steps of a map with these diagonals, as `ckks.LinearMap` takes them."""
    stride = slots
    for diagonal in diagonals:
        stride = gcd(stride, diagonal)
    at = np.asarray(diagonals) // stride
    best = None
    for i in range((slots // stride).bit_length()):
        baby = len(set((at % (1 << i)).tolist()) - {0})
        giant = len(set((at >> i).tolist()) - {0})
        if best is None or baby + 2 * giant < best[0] + 2 * best[1]:
            best = baby, giant
    assert best is not None
    return best


@dataclass(frozen=True)
class Packed:
    """A matrix between two places: diagonals over `slots` slots, and a sum of `fold` slots that
    are slots / fold apart, which follows."""

    slots: int
    fold: int
    #: By rotation to the left: slots of the result, and factors.
    diagonals: dict[int, tuple[Ints, Floats]]

    def vectors(self, rows: int) -> Iterator[tuple[int, Floats]]:
        """Diagonals of `rows` interleaved inputs."""
        for by, (slots, values) in self.diagonals.items():
            vector = np.zeros(self.slots)
            vector[slots] = values
            yield by * rows, np.repeat(vector, rows)

    @property
    def steps(self) -> tuple[int, int]:
        return steps(list(self.diagonals), self.slots)


def _keyed(
    rows: Ints, columns: Ints, to_period: int, period: int, fold: int
) -> tuple[Ints, Ints, Ints]:
    """For entries, as often as their places repeat: which entry, slot of the result, diagonal."""
    every = np.arange(len(rows))
    if to_period >= period:
        return every, rows, (columns - rows) % period
    # Copies that the fold does not make; of those that it adds up, the one of the least diagonal.
    window = period // fold
    copies = np.arange(0, window, to_period)
    rows = (rows[:, None] + copies).ravel()
    every, columns = np.repeat(every, len(copies)), np.repeat(columns, len(copies))
    diagonals = (columns - rows) % window
    return every, (columns - diagonals) % period, diagonals


def packed(
    matrix: Sparse, to: Place, source: Place, most: int
) -> dict[tuple[int, int], Packed]:
    """A matrix as diagonals, by the parts of the result and of the source, which have `most` slots
    at most."""
    rows, columns = to.slots()[matrix.rows], source.slots()[matrix.columns]
    periods = min(to.period, most), min(source.period, most)
    of = source.parts(most)
    which = rows // periods[0] * of + columns // periods[1]
    order = np.argsort(which, kind="stable")
    keys, starts = np.unique(which[order], return_index=True)
    found = {}
    for key, at in zip(keys.tolist(), np.split(order, starts[1:]), strict=True):
        entries = rows[at] % periods[0], columns[at] % periods[1], matrix.values[at]
        found[divmod(key, of)] = _packed(*entries, *periods)
    return found


def _packed(rows: Ints, columns: Ints, entries: Floats, to_period: int, period: int) -> Packed:
    """Entries as diagonals, by the fold that takes fewest key switches."""
    slots, best = max(to_period, period), None
    fold = 1
    while True:
        *_, diagonals = _keyed(rows, columns, to_period, period, fold)
        baby, giant = steps(np.unique(diagonals).tolist() or [0], slots)
        cost = baby + 2 * giant + 2 * (fold.bit_length() - 1)
        if best is None or cost < best[0]:
            best = cost, fold
        fold *= 2
        if fold * to_period > period:
            break
    fold = best[1]
    every, rows, diagonals = _keyed(rows, columns, to_period, period, fold)
    order = np.argsort(diagonals, kind="stable")
    keys, starts = np.unique(diagonals[order], return_index=True)
    parts = np.split(order, starts[1:])
    values = entries[every]
    found = {int(key): (rows[part], values[part]) for key, part in zip(keys, parts, strict=True)}
    return Packed(slots, fold, found)
