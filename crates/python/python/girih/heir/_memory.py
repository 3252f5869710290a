"""Operations on memory: arrays of numbers, plaintexts and ciphertexts."""

from __future__ import annotations

import math
import re

import numpy as np

from ._steps import LEFT, MOST_ELEMENTS, Body, Step, Values, rule
from ._text import VALUE, Operation, malformed, unsupported


def _inside(index: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    if len(index) != len(shape) or any(not 0 <= i < n for i, n in zip(index, shape, strict=True)):
        raise IndexError(f"the place {list(index)} of memory of shape {list(shape)}")
    return index


@rule("memref.alloc", "memref.alloca")
def _alloc(body: Body, op: Operation) -> Step:
    found, result = body.match(op, r"\(\)(?: alignment = \d+)?(?: \{.*\})? : (\S.*)"), op.results[0]
    type = body.type(op, found[1])
    if type.shape is None:
        raise malformed(op.line, f"memory of {type.name}")
    shape, is_number, count = type.shape, type.is_number, math.prod(type.shape)

    def alloc(values: Values) -> None:
        values[LEFT].elements -= count
        if values[LEFT].elements < 0:
            raise unsupported(op.line, f"memory of more than {MOST_ELEMENTS} elements in all")
        # What is read before it is written is no number.
        values[result] = np.full(shape, math.nan) if is_number else np.full(shape, None, object)

    return alloc


@rule("memref.dealloc")
def _dealloc(body: Body, op: Operation) -> Step:
    body.use(op, body.match(op, rf"({VALUE}) : .+", results=0)[1])
    return lambda values: None


@rule("memref.get_global")
def _get_global(body: Body, op: Operation) -> Step:
    found, result = body.match(op, r"@([\w$.-]+) : .+"), op.results[0]
    if found[1] not in body.module.constants:
        raise malformed(op.line, f"there is no constant @{found[1]}")
    held = body.module.constants[found[1]]
    held.flags.writeable = False

    def get(values: Values) -> None:
        values[result] = held

    return get


@rule("memref.load")
def _load(body: Body, op: Operation) -> Step:
    found, result = body.match(op, rf"({VALUE})\[([^\]]*)\] : .+"), op.results[0]
    (x,), places = body.use(op, found[1]), body.use(op, found[2])

    def load(values: Values) -> None:
        memory = values[x]
        value = memory[_inside(tuple([values[i] for i in places]), memory.shape)]
        if value is None:
            raise ValueError(f"{x} is read where nothing was written")
        values[result] = value

    return load


@rule("memref.store")
def _store(body: Body, op: Operation) -> Step:
    found = body.match(op, rf"({VALUE}), ({VALUE})\[([^\]]*)\] : .+", results=0)
    (value,), (x,) = body.use(op, found[1]), body.use(op, found[2])
    places = body.use(op, found[3])

    def store(values: Values) -> None:
        memory = values[x]
        memory[_inside(tuple([values[i] for i in places]), memory.shape)] = values[value]

    return store


@rule("memref.copy")
def _copy(body: Body, op: Operation) -> Step:
    found = body.match(op, rf"({VALUE}), ({VALUE}) : .+ to .+", results=0)
    (source,), (target,) = body.use(op, found[1]), body.use(op, found[2])

    def copy(values: Values) -> None:
        if values[source].shape != values[target].shape:
            shapes = f"{list(values[source].shape)} to {list(values[target].shape)}"
            raise ValueError(f"a copy of shape {shapes}")
        values[target][...] = values[source]

    return copy


@rule("memref.cast")
def _memref_cast(body: Body, op: Operation) -> Step:
    found, result = body.match(op, rf"({VALUE}) : .+ to (.+)"), op.results[0]
    (x,), shape = body.use(op, found[1]), body.type(op, found[2]).shape

    def cast(values: Values) -> None:
        if values[x].shape != shape:
            raise ValueError(f"memory of shape {list(values[x].shape)} as {list(shape or ())}")
        values[result] = values[x]

    return cast


@rule("memref.subview")
def _subview(body: Body, op: Operation) -> Step:
    pattern = rf"({VALUE})\s?\[([^\]]*)\] \[([^\]]*)\] \[([^\]]*)\] : .+ to (.+)"
    found, result = body.match(op, pattern), op.results[0]
    (x,), shape = body.use(op, found[1]), body.type(op, found[5]).shape or ()
    parts = []
    for text in (found[2], found[3], found[4]):
        words = [word.strip() for word in text.split(",")]
        body.use(op, ",".join(word for word in words if word.startswith("%")))
        if not all(re.fullmatch(rf"\d+|{VALUE}", word) for word in words):
            raise malformed(op.line, f"memref.subview with [{text}]")
        parts.append([word if word.startswith("%") else int(word) for word in words])

    def subview(values: Values) -> None:
        memory, cuts = values[x], []
        offsets, sizes, strides = (
            [values[word] if isinstance(word, str) else word for word in words] for words in parts
        )
        for offset, size, stride, of in zip(offsets, sizes, strides, memory.shape, strict=True):
            end = offset + (size - 1) * stride + 1
            if min(offset, size - 1, stride - 1) < 0 or end > of:
                raise IndexError(f"{size} elements from {offset} by {stride}, of {of}")
            cuts.append(slice(offset, end, stride))
        view = memory[tuple(cuts)]
        # Ranks are reduced by leaving out dimensions of one element.
        kept = [n for n in view.shape if n > 1]
        if kept != [n for n in shape if n > 1]:
            raise ValueError(f"a part of shape {list(view.shape)} as {list(shape)}")
        for _ in range(view.ndim - len(shape)):
            view = view.squeeze(view.shape.index(1))
        values[result] = view.reshape(shape)

    return subview
