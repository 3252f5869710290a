"""The same computation with fewer levels.

Orion multiplies values before a bootstrapping, so that they lie in [-1, 1], and after it by what
undoes that, and activations begin with such products too. A product with a number moves towards its
source, past sums with numbers and past bootstrappings where values stay in [-1, 1], until it meets
another, with which it is one. Past sums and linear maps it moves if it becomes part of a polynomial
there. A product that only zeroes slots goes where no slot that is read later depends on them, and
where all of them are known to be small, or known to be copies of others.
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
#: What a polynomial is multiplied by in the place of later values: two bits are lost at most, and
#: values stay far below the room that they have.
_SCALES = (0.25, 16.0)


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


def _periods(ops: list[Op], slots: int) -> list[int]:
    """After how many slots each value repeats."""
    found = [slots] * len(ops)
    for i, op in enumerate(ops):
        of = [found[source] for source in op.sources]
        if op.kind in ("plus", "times", "rotate", "polynomial", "bootstrap", "zero"):
            found[i] = of[0]
        elif op.kind in ("add", "subtract", "product"):
            found[i] = max(of)
            (one, other), rotated = op.sources, ops[op.sources[1]]
            halves = rotated.kind == "rotate" and rotated.sources == [one]
            if op.kind == "add" and halves and 2 * rotated.value == found[one]:
                found[i] = rotated.value
        elif op.kind in ("plus_vector", "times_vector"):
            found[i] = max(op.value.period, of[0])
    return found


def _repeated(op: Op, period: int, read: NDArray[np.bool_]) -> Op | None:
    """A sum or product of a value that repeats and of a vector that does not, with one that does:
    where no slot is read that this changes."""
    vector = op.value.repeated(period)
    changed = vector.values != op.value.values
    if not changed.any() or bool((changed & read).any()):
        return None
    if op.kind == "times_vector" and vector.factor is not None and vector.values.all():
        return Op("times", op.sources, number(vector.factor), op.level)
    return Op(op.kind, op.sources, vector, op.level)


class _Scaling:
    """Has an operation give a multiple of what it gave, by changes of what it is computed of."""

    def __init__(self, ops: list[Op], readers: list[list[int]]) -> None:
        self._ops, self._readers = ops, readers
        #: Operations that are others now, and which of them give a multiple.
        self.changed: dict[int, Op] = {}
        self._multiples: set[int] = set()
        #: Sources by operation and place, which are to be multiplied, and by what.
        self._wanted: dict[tuple[int, int], float] = {}
        self.polynomials = 0

    def want(self, i: int, places: list[int], factor: float) -> None:
        """Operation `i` is to read multiples at these places."""
        self._wanted |= {(i, place): factor for place in places}
        # Of a value and what is made of it, the latter first.
        for source in sorted({self._ops[i].sources[place] for place in places}, reverse=True):
            if source not in self._multiples:
                self._multiply(source, factor)

    def _multiply(self, i: int, factor: float) -> None:
        """Multiplies the value of operation `i`, if all want that who read it, or are products with
        numbers, which can become others."""
        op = self._ops[i]
        if i in self.changed or op.level is not None or op.kind in ("input", "bootstrap"):
            return
        others = []
        for j in set(self._readers[i]):
            reader = self._ops[j]
            wanted = [self._wanted.get((j, at)) for at, s in enumerate(reader.sources) if s == i]
            if all(each == factor for each in wanted):
                continue
            may = reader.kind == "times" and reader.takes > 0 and factor != 0
            if j in self.changed or wanted != [None] or not may:
                return
            others.append(j)
        value, places, own = op.value, list(range(len(op.sources))), factor
        if op.kind == "polynomial":
            if not _SCALES[0] <= abs(factor) <= _SCALES[1]:
                return
            self.polynomials += 1
            value, places = value.times(factor), []
        elif op.kind == "plus_vector":
            value = value.times(factor)
        elif op.kind == "plus":
            value *= factor
        elif op.kind == "times":
            value, own = 1, factor * value
        elif op.kind == "product":
            places = [int(self._ops[op.sources[0]].kind != "polynomial")]
        elif op.kind not in ("add", "subtract", "rotate", "map"):
            return
        self.changed[i] = Op(op.kind, op.sources, value)
        self._multiples.add(i)
        for j in others:
            other = self._ops[j]
            self.changed[j] = Op("times", other.sources, number(other.value / factor), other.level)
        self.want(i, places, own)

    def made(self) -> list[Op]:
        """All operations, with products where a source could not be multiplied."""
        places: list[int] = []
        made: list[Op] = []
        for i, old in enumerate(self._ops):
            new = self.changed.get(i, old)
            sources = [places[source] for source in new.sources]
            for place, source in enumerate(new.sources):
                factor = self._wanted.get((i, place))
                if factor is not None and source not in self._multiples:
                    made.append(Op("times", [sources[place]], number(factor)))
                    sources[place] = len(made) - 1
            places.append(len(made))
            made.append(Op(new.kind, sources, new.value, new.level))
        return made


def _move_far(ops: list[Op], i: int, readers: list[list[int]]) -> list[Op] | None:
    """The operations without product `i` with a number, if a polynomial before it can have it."""
    scaling, op = _Scaling(ops, readers), ops[i]
    scaling.changed[i] = Op("times", op.sources, 1, op.level)
    scaling.want(i, [0], op.value)
    return scaling.made() if scaling.polynomials else None


def _pass(ops: list[Op], slots: int) -> bool:
    """Goes over all operations once; whether any changed. What is read, how far values reach and
    where they repeat stays true meanwhile; who reads whom does not next to a change."""
    readers, reach, read = users(ops), reaches(ops), _read(ops, slots)
    period = _periods(ops, slots)
    changed: set[int] = set()
    for i, op in enumerate(ops):
        near = {i, *op.sources, *readers[i]}
        near |= {source for j in op.sources for source in ops[j].sources}
        if near & changed:
            continue
        if _change(ops, i, readers, reach, read[i], period):
            changed |= near
    return bool(changed)


def _change(
    ops: list[Op],
    i: int,
    readers: list[list[int]],
    reach: list[float],
    read: NDArray[np.bool_],
    period: list[int],
) -> bool:
    """Simplifies one operation; whether it could."""
    op = ops[i]
    if op.kind in ("times_vector", "plus_vector") and period[op.sources[0]] < len(read):
        repeated = _repeated(op, period[op.sources[0]], read)
        if repeated is not None:
            ops[i] = repeated
            return True
    if op.kind == "times":
        if op.value == 1 and op.level is None and readers[i]:
            for j in readers[i]:
                ops[j].sources = [op.sources[0] if s == i else s for s in ops[j].sources]
            return True
        return _move_product(ops, i, readers, reach)
    if op.kind != "times_vector":
        return False
    if _is_needless(op, reach[op.sources[0]], read):
        ops[i] = Op("times", op.sources, number(op.value.factor), op.level)
        return True
    j = op.sources[0]
    if ops[j].kind == "times" and len(readers[j]) == 1 and ops[j].level is None:
        ops[i] = Op("times_vector", ops[j].sources, op.value.times(ops[j].value), op.level)
        return True
    return False


def _move_all_far(ops: list[Op]) -> bool:
    """Moves what products it can into polynomials; whether there were any."""
    moved, first = False, 0
    while True:
        readers = users(ops)
        for i in range(first, len(ops)):
            if ops[i].kind == "times" and ops[i].takes:
                made = _move_far(ops, i, readers)
                if made is not None:
                    ops[:], moved, first = made, True, i
                    break
        else:
            return moved


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
    while _pass(ops, slots) or _move_all_far(ops):
        ops = _used(ops)
    return _used(ops)
