"""What a network computes, one operation after the other, without PyTorch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._sparse import Floats, Sparse, convolution, pooling, product

#: Operations that are linear, besides the sum of two values. `centre` takes the mean of a group of
#: numbers off, `average` puts it everywhere; a group are all numbers, or `group` that lie together.
LINEAR = ("conv", "linear", "scale", "pool", "shape", "centre", "average")


@dataclass(frozen=True)
class Op:
    """An operation on values, each the result of one: numbers of the shape that is named, without
    the batch."""

    kind: str
    #: Of the layer in the module, for messages and the summary.
    name: str
    inputs: tuple[int, ...]
    shape: tuple[int, ...]
    #: Stride, padding, and what else numbers say.
    how: dict[str, Any] = field(default_factory=dict)
    #: Weight and bias, by their names among a network's arrays.
    arrays: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))


@dataclass(frozen=True)
class Network:
    """Operations in the order in which they are computed, the input first, the result last."""

    ops: list[Op]
    arrays: dict[str, NDArray[np.float32]]

    def weights(self, op: Op) -> list[Floats]:
        return [self.arrays[name].astype(np.float64) for name in op.arrays]

    def matrix(self, op: Op) -> tuple[Sparse, Floats]:
        """A linear operation of one value: a matrix, and what is added."""
        shape = self.ops[op.inputs[0]].shape
        weights, how = self.weights(op), op.how
        bias = np.zeros(op.size)
        if op.kind == "conv":
            stride, padding, dilation = how["stride"], how["padding"], how["dilation"]
            of = (shape, op.shape, stride, padding, dilation, how["groups"])
            made = convolution(weights[0], *of)
        elif op.kind == "linear":
            made = product(weights[0])
        elif op.kind == "scale":
            made = Sparse.diagonal(_by_channel(weights[0], op.shape))
        elif op.kind in ("centre", "average"):
            group = how.get("group", op.size)
            mean: Floats = np.zeros((op.size, op.size))
            for at in range(0, op.size, group):
                mean[at : at + group, at : at + group] = 1 / group
            made = product(np.eye(op.size) - mean if op.kind == "centre" else mean)
        elif op.kind == "pool":
            of_pool = (how["kernel"], how["stride"], how["padding"], how["counts_padding"])
            return pooling(shape, op.shape, *of_pool), bias
        else:
            return Sparse.diagonal(np.ones(op.size)), bias
        if len(weights) > 1:
            bias = _by_channel(weights[1], op.shape)
        return made, bias


def _by_channel(values: Floats, shape: tuple[int, ...]) -> Floats:
    """A number a channel, at each of its pixels."""
    size = int(np.prod(shape, dtype=np.int64))
    if len(values) == 1:
        return np.full(size, values[0])
    return np.repeat(values, size // len(values))
