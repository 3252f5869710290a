"""Operations on tensors: arrays that are values, where memory is written to.

An insertion takes over the memory of the tensor that it changes, which keeps what stood there: so
a loop that fills a tensor, element by element, copies none. Arrays of NumPy are tensors that no
insertion changes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._arrays import PART, Array, Part, filled, inside, shaped
from ._steps import LEFT, Body, Left, Step, Values, rule
from ._text import VALUE, Operation, Type, malformed


class Tensor:
    """A tensor that was made by an insertion."""

    __slots__ = ("_array", "_had", "_left", "_newer", "_where")

    def __init__(self, array: Array, left: Left) -> None:
        self._array: Array | None = array
        self._left = left
        self._newer: Tensor | None = None
        self._where: Any = None
        self._had: Any = None

    def array(self) -> Array:
        """What it holds, which nobody else may change."""
        if self._array is None:
            changes, tensor = [], self
            while tensor._newer is not None:
                changes.append((tensor._where, tensor._had))
                tensor = tensor._newer
            assert tensor._array is not None
            self._left.take(tensor._array.size)
            self._array = tensor._array.copy()
            for where, had in reversed(changes):
                self._array[where] = had
            self._newer = self._where = self._had = None
        return self._array

    def inserted(self, where: Any, value: Any) -> Tensor:
        """The tensor with another value at a place."""
        array = self.array()
        had = array[where]
        self._had = had.copy() if isinstance(had, np.ndarray) else had
        array[where] = value
        self._array, self._where, self._newer = None, where, Tensor(array, self._left)
        return self._newer


def array_of(value: Any) -> Array:
    """The array that a tensor or memory holds."""
    return value.array() if isinstance(value, Tensor) else np.asarray(value)


def _inserted(values: Values, tensor: Any, where: Any, value: Any) -> Tensor:
    if isinstance(tensor, Tensor):
        return tensor.inserted(where, value)
    values[LEFT].take(tensor.size)
    return Tensor(tensor.copy(), values[LEFT]).inserted(where, value)


def _made(body: Body, op: Operation, text: str) -> Type:
    type = body.type(op, text)
    if type.shape is None or -1 in type.shape:
        raise malformed(op.line, f"{op.name} makes a tensor of known sizes, not {text}")
    return type


@rule("tensor.empty")
def _empty(body: Body, op: Operation) -> Step:
    type, result = _made(body, op, body.match(op, r"\(\) : (\S.*)")[1]), op.results[0]

    def empty(values: Values) -> None:
        values[LEFT].take(math.prod(type.shape or ()))
        values[result] = filled(type)

    return empty


@rule("tensor.splat")
def _splat(body: Body, op: Operation) -> Step:
    found, result = body.match(op, rf"({VALUE}) : (\S.*)"), op.results[0]
    (x,), type = body.use(op, found[1]), _made(body, op, found[2])

    def splat(values: Values) -> None:
        values[LEFT].take(math.prod(type.shape or ()))
        values[result] = filled(type, values[x])

    return splat


@rule("tensor.from_elements")
def _from_elements(body: Body, op: Operation) -> Step:
    found, result = body.match(op, rf"((?:{VALUE}(?:, )?)*) : (\S.*)"), op.results[0]
    names, type = body.use(op, found[1]), _made(body, op, found[2])
    if len(names) != math.prod(type.shape or ()):
        raise malformed(op.line, f"{len(names)} elements of a tensor of shape {type.shape}")

    def collect(values: Values) -> None:
        array = filled(type)
        for place, name in zip(np.ndindex(array.shape), names, strict=True):
            array[place] = values[name]
        values[result] = array

    return collect


@rule("tensor.extract", "memref.load")
def _extract(body: Body, op: Operation) -> Step:
    found, result = body.match(op, rf"({VALUE})\[([^\]]*)\] : .+"), op.results[0]
    (x,), places = body.use(op, found[1]), body.use(op, found[2])

    def extract(values: Values) -> None:
        array = array_of(values[x])
        value = array[inside(values, places, array.shape)]
        if value is None:
            raise ValueError(f"{x} is read where nothing was written")
        values[result] = value

    return extract


@rule("tensor.insert")
def _insert(body: Body, op: Operation) -> Step:
    found = body.match(op, rf"({VALUE}) into ({VALUE})\[([^\]]*)\] : .+")
    (value,), (x,) = body.use(op, found[1]), body.use(op, found[2])
    places, result = body.use(op, found[3]), op.results[0]

    def insert(values: Values) -> None:
        tensor = values[x]
        place = inside(values, places, array_of(tensor).shape)
        values[result] = _inserted(values, tensor, place, values[value])

    return insert


@rule("tensor.extract_slice")
def _extract_slice(body: Body, op: Operation) -> Step:
    found, result = body.match(op, rf"({VALUE}){PART} to (.+)"), op.results[0]
    (x,), shape = body.use(op, found[1]), body.type(op, found[5]).shape or ()
    part = Part(body, op, found.group(2, 3, 4))

    def extract(values: Values) -> None:
        array = array_of(values[x])
        cut = shaped(array[part.of(values, array.shape)], shape)
        values[LEFT].take(cut.size)
        values[result] = cut.copy()

    return extract


@rule("tensor.insert_slice", "tensor.parallel_insert_slice")
def _insert_slice(body: Body, op: Operation) -> Step:
    found = body.match(op, rf"({VALUE}) into ({VALUE}){PART}", results=-1)
    (source,), (x,) = body.use(op, found[1]), body.use(op, found[2])
    parallel = op.name == "tensor.parallel_insert_slice"
    if len(op.results) != (not parallel):
        raise malformed(op.line, f"{op.name} with {len(op.results)} results")
    # In parallel, it is the value that all rounds share.
    part, result = Part(body, op, found.group(3, 4, 5)), x if parallel else op.results[0]

    def insert(values: Values) -> None:
        tensor, given = values[x], array_of(values[source])
        array = array_of(tensor)
        where = part.of(values, array.shape)
        value = shaped(given, array[where].shape)
        values[result] = _inserted(values, tensor, where, value)

    return insert
