"""The same computation with fewer levels.

Orion multiplies values before a bootstrapping, so that they lie in [-1, 1], and after it by what
undoes that, and activations begin with such products too. A product with a number moves towards its
source, past sums with numbers and past bootstrappings where values stay in [-1, 1], until it meets
another, with which it is one. A product that only zeroes slots goes where no slot that is
read later depends on them, and where all of them are known to be small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._graph import Node, Vector, number, takes

#: How far values may reach that are bootstrapped: polynomials overshoot 1 by some percent.
REACH = 1.1
#: A product that moves before a bootstrapping makes values smaller by this at least: a bit is lost.
_LEAST = 0.5


@dataclass
class Op:
    """A node of a plan; sources by their places."""

    kind: str
    sources: list[int]
    value: Any
    #: Of an input, its level; of what is asked for, the level at least; both Orion's.
    level: int | None = None

    @property
    def takes(self) -> int:
        return takes(self.kind, self.value)


def ops_of(nodes: list[Node], roots: list[Node]) -> list[Op]:
    """The nodes, sources first, as they are."""
    places, asked = {id(at): i for i, at in enumerate(nodes)}, {id(root) for root in roots}
    return [
        Op(
            at.kind,
            [places[id(source)] for source in at.sources],
            at.value,
            at.level if at.kind == "input" or id(at) in asked else None,
        )
        for at in nodes
    ]


def users(ops: list[Op]) -> list[list[int]]:
    """By whom each is read."""
    found: list[list[int]] = [[] for _ in ops]
    for i, op in enumerate(ops):
        for source in op.sources:
            found[source].append(i)
    return found


def reaches(ops: list[Op]) -> list[float]:
    """How far the values of all slots reach at most, where that is known: arguments of Chebyshev
    polynomials and what is bootstrapped lie in [-1, 1], or the network would be wrong."""
    own, readers = [float("inf")] * len(ops), users(ops)
    for i, op in enumerate(ops):
        of = [own[source] for source in op.sources]
        if op.kind == "polynomial" and op.value.is_chebyshev:
            own[i] = op.value.largest
        elif op.kind in ("rotate", "bootstrap"):
            own[i] = of[0]
        elif op.kind == "plus":
            own[i] = of[0] + abs(op.value)
        elif op.kind == "plus_vector":
            own[i] = of[0] + op.value.largest
        elif op.kind == "times":
            own[i] = of[0] * abs(op.value) if op.value else 0.0
        elif op.kind == "times_vector":
            own[i] = of[0] * op.value.largest if op.value.largest else 0.0
        elif op.kind in ("add", "subtract"):
            own[i] = of[0] + of[1]
        elif op.kind == "product":
            own[i] = of[0] * of[1] if min(of) > 0 else 0.0
        elif op.kind == "zero":
            own[i] = 0.0
        by = [ops[j] for j in readers[i]]
        if any(b.kind == "bootstrap" or _is_chebyshev(b) for b in by):
            own[i] = min(own[i], 1.0)
    return own


def _is_chebyshev(op: Op) -> bool:
    return op.kind == "polynomial" and bool(op.value.is_chebyshev)


def _read(ops: list[Op], slots: int) -> list[NDArray[np.bool_]]:
    """Which slots of each value anything depends on that is asked for."""
    found = [np.full(slots, op.level is not None and op.kind != "input") for op in ops]
    for i in reversed(range(len(ops))):
        op, own = ops[i], found[i]
        for source in op.sources:
            if op.kind == "map":
                found[source] |= op.value.reads
            elif op.kind == "rotate":
                found[source] |= np.roll(own, op.value)
            elif op.kind == "times_vector":
                found[source] |= own & (op.value.values != 0)
            elif op.kind != "zero":
                found[source] |= own
    return found


def _move_product(ops: list[Op], i: int, readers: list[list[int]], reach: list[float]) -> bool:
    """Moves product `i` with a number before its source, or into it."""
    factor, j = ops[i].value, ops[i].sources[0]
    source = ops[j]
    if len(readers[j]) != 1 or source.level is not None or source.kind == "input":
        return False
    if source.kind == "times":
        ops[i] = Op("times", source.sources, number(factor * source.value), ops[i].level)
    elif source.kind == "times_vector":
        moved = Vector.times(source.value, factor)
        ops[i] = Op("times_vector", source.sources, moved, ops[i].level)
    elif source.kind == "plus":
        ops[j] = Op("times", source.sources, factor)
        ops[i] = Op("plus", [j], factor * source.value, ops[i].level)
    elif source.kind == "bootstrap":
        if abs(factor) < _LEAST or abs(factor) * reach[source.sources[0]] > REACH:
            return False
        ops[j] = Op("times", source.sources, factor)
        ops[i] = Op("bootstrap", [j], None, ops[i].level)
    else:
        return False
    return True


def _is_needless(op: Op, reach: float, read: NDArray[np.bool_]) -> bool:
    """Whether a product with a vector might as well be one with a number."""
    factor = op.value.factor
    return (
        factor is not None
        and abs(factor) * reach <= REACH
        and not bool((read & (op.value.values == 0)).any())
    )


def _pass(ops: list[Op], slots: int) -> bool:
    """Goes over all operations once; whether any changed."""
    readers, reach, read = users(ops), reaches(ops), _read(ops, slots)
    for i, op in enumerate(ops):
        if op.kind == "times_vector" and _is_needless(op, reach[op.sources[0]], read[i]):
            ops[i] = Op("times", op.sources, number(op.value.factor), op.level)
            return True
        if op.kind == "times" and op.value == 1 and op.level is None:
            for j in readers[i]:
                ops[j].sources = [op.sources[0] if s == i else s for s in ops[j].sources]
            if readers[i]:
                return True
        elif op.kind == "times" and _move_product(ops, i, readers, reach):
            return True
        elif op.kind == "times_vector":
            j = op.sources[0]
            if ops[j].kind == "times" and len(readers[j]) == 1 and ops[j].level is None:
                ops[i] = Op("times_vector", ops[j].sources, op.value.times(ops[j].value), op.level)
                return True
    return False


def _used(ops: list[Op]) -> list[Op]:
    """Without what nothing reads that is asked for."""
    wanted = [op.level is not None and op.kind != "input" for op in ops]
    for i in reversed(range(len(ops))):
        for source in ops[i].sources if wanted[i] else ():
            wanted[source] = True
    places: dict[int, int] = {}
    kept: list[Op] = []
    for i, op in enumerate(ops):
        # Inputs and results keep their places: whoever runs the plan has them in this order.
        if wanted[i] or op.level is not None:
            places[i] = len(kept)
            sources = [places[source] for source in op.sources]
            kept.append(Op(op.kind, sources, op.value, op.level))
    return kept


def simplified(ops: list[Op], slots: int) -> list[Op]:
    """The same values, asked for in the same order, by fewer levels."""
    while _pass(ops, slots):
        ops = _used(ops)
    return _used(ops)
