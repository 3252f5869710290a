"""Operations on memory: arrays of numbers, plaintexts and ciphertexts. Reading an element is as of
tensors (`_tensor.py`)."""

from __future__ import annotations

import math

from ._arrays import PART, Part, filled, inside, shaped
from ._steps import LEFT, Body, Step, Values, rule
from ._text import VALUE, Operation, malformed


@rule("memref.alloc", "memref.alloca")
def _alloc(body: Body, op: Operation) -> Step:
    found, result = body.match(op, r"\(\)(?: alignment = \d+)?(?: \{.*\})? : (\S.*)"), op.results[0]
    type = body.type(op, found[1])
    if type.shape is None:
        raise malformed(op.line, f"memory of {type.name}")
    count = math.prod(type.shape)

    def alloc(values: Values) -> None:
        values[LEFT].take(count)
        values[result] = filled(type)

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


@rule("memref.store")
def _store(body: Body, op: Operation) -> Step:
    found = body.match(op, rf"({VALUE}), ({VALUE})\[([^\]]*)\] : .+", results=0)
    (value,), (x,) = body.use(op, found[1]), body.use(op, found[2])
    places = body.use(op, found[3])

    def store(values: Values) -> None:
        memory = values[x]
        memory[inside(values, places, memory.shape)] = values[value]

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
    found = body.match(op, rf"({VALUE}){PART} to (.+)")
    (x,), shape = body.use(op, found[1]), body.type(op, found[5]).shape or ()
    part, result = Part(body, op, found.group(2, 3, 4)), op.results[0]

    def subview(values: Values) -> None:
        memory = values[x]
        values[result] = shaped(memory[part.of(values, memory.shape)], shape)

    return subview
