"""Sparse matrices, and linear layers as such."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Sparse:
    """A matrix by its entries that are not zero."""

    shape: tuple[int, int]
    rows: Ints
    columns: Ints
    values: Floats

    @staticmethod
    def of(shape: tuple[int, int], rows: Ints, columns: Ints, values: Floats) -> Sparse:
        """Entries of one place are added, zeros go."""
        places = rows * shape[1] + columns
        order = np.argsort(places, kind="stable")
        places, values = places[order], values[order]
        if not places.size:
            return Sparse(shape, places, places, values)
        starts = np.flatnonzero(np.r_[True, places[1:] != places[:-1]])
        places, values = places[starts], np.add.reduceat(values, starts)
        places, values = places[values != 0], values[values != 0]
        return Sparse(shape, places // shape[1], places % shape[1], values)

    @staticmethod
    def diagonal(values: Floats) -> Sparse:
        every = np.arange(len(values))
        return Sparse((len(values), len(values)), every, every, values)

    @property
    def is_diagonal(self) -> bool:
        rows, columns = self.shape
        return rows == columns and bool(np.array_equal(self.rows, self.columns))

    @property
    def factor(self) -> float | None:
        """The number that it multiplies by, if it is one."""
        full = self.is_diagonal and len(self.values) == self.shape[0]
        if full and bool((self.values == self.values[0]).all()):
            return float(self.values[0])
        return None

    def scaled(self, factor: float) -> Sparse:
        return Sparse(self.shape, self.rows, self.columns, self.values * factor)

    def __add__(self, other: Sparse) -> Sparse:
        return Sparse.of(
            self.shape,
            np.r_[self.rows, other.rows],
            np.r_[self.columns, other.columns],
            np.r_[self.values, other.values],
        )

    def __matmul__(self, other: Sparse) -> Sparse:
        shape = (self.shape[0], other.shape[1])
        if other.factor == 1.0:
            return self
        if self.factor == 1.0:
            return other
        order = np.argsort(other.rows, kind="stable")
        first = np.searchsorted(other.rows[order], np.arange(other.shape[0] + 1))
        counts = (first[1:] - first[:-1])[self.columns]
        which = np.repeat(np.arange(len(self.values)), counts)
        before = np.cumsum(counts) - counts
        taken = order[np.arange(counts.sum()) - np.repeat(before - first[self.columns], counts)]
        values = self.values[which] * other.values[taken]
        return Sparse.of(shape, self.rows[which], other.columns[taken], values)

    def apply(self, x: Floats) -> Floats:
        """The product with a vector."""
        values = self.values * x[self.columns]
        # Of no entries NumPy makes whole numbers.
        return np.bincount(self.rows, values, self.shape[0]).astype(np.float64)


def windows(
    shape: tuple[int, ...], out: tuple[int, ...], kernel: list[int], stride: list[int],
    padding: list[int], dilation: list[int],
) -> list[tuple[int, int, Ints, Ints]]:
    """For each place of a kernel: its row and column, and pixels of the result with the pixels of
    the image that they take there, those outside being left out."""  # fmt: skip
    (_, height, width), (_, to_height, to_width) = shape, out
    found = []
    for i in range(kernel[0]):
        y = np.arange(to_height) * stride[0] + i * dilation[0] - padding[0]
        for j in range(kernel[1]):
            x = np.arange(to_width) * stride[1] + j * dilation[1] - padding[1]
            inside = ((y >= 0) & (y < height))[:, None] & ((x >= 0) & (x < width))[None, :]
            to = np.flatnonzero(inside)
            source = (y[:, None] * width + x[None, :]).ravel()[to]
            found.append((i, j, to, source))
    return found


def convolution(
    weight: Floats, shape: tuple[int, ...], out: tuple[int, ...], stride: list[int],
    padding: list[int], dilation: list[int], groups: int,
) -> Sparse:
    """A convolution of images (channels, height, width), by the weight of PyTorch."""  # fmt: skip
    outputs, inputs, *kernel = weight.shape
    area, to_area = shape[1] * shape[2], out[1] * out[2]
    first = np.arange(outputs) // (outputs // groups) * inputs
    rows, columns, values = [], [], []
    for i, j, to, source in windows(shape, out, kernel, stride, padding, dilation):
        row = (np.arange(outputs) * to_area)[:, None, None] + to
        channel = first[:, None] + np.arange(inputs)
        column = (channel * area)[:, :, None] + source
        every = (outputs, inputs, len(to))
        rows.append(np.broadcast_to(row, every).ravel())
        columns.append(np.broadcast_to(column, every).ravel())
        values.append(np.broadcast_to(weight[:, :, i, j, None], every).ravel())
    places = (outputs * to_area, shape[0] * area)
    return Sparse.of(places, *(np.concatenate(x) for x in (rows, columns, values)))


def pooling(
    shape: tuple[int, ...], out: tuple[int, ...], kernel: list[int], stride: list[int],
    padding: list[int], counts_padding: bool,
) -> Sparse:
    """Means of windows of images (channels, height, width)."""  # fmt: skip
    area, to_area, size = shape[1] * shape[2], out[1] * out[2], kernel[0] * kernel[1]
    share = np.zeros(to_area)
    found = windows(shape, out, kernel, stride, padding, [1, 1])
    for _, _, to, _ in found:
        share[to] += 1
    share = np.full(to_area, 1 / size) if counts_padding else 1 / np.maximum(share, 1)
    rows, columns, values = [], [], []
    for _, _, to, source in found:
        channels = np.arange(shape[0])[:, None]
        rows.append((channels * to_area + to).ravel())
        columns.append((channels * area + source).ravel())
        values.append(np.broadcast_to(share[to], (shape[0], len(to))).ravel())
    places = (shape[0] * to_area, shape[0] * area)
    return Sparse.of(places, *(np.concatenate(x) for x in (rows, columns, values)))


def product(weight: Floats) -> Sparse:
    """A whole matrix."""
    rows, columns = np.nonzero(weight)
    height, width = weight.shape
    return Sparse((height, width), rows, columns, weight[rows, columns])
