"""A network as stages: each a linear map of earlier ones, and a function of single numbers.

Layers that are linear and follow each other are one matrix, sums of branches included. A stage is
made for each function, for the result, and for what is linear and read more than once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import errors
from ._functions import Function
from ._ops import LINEAR, Network
from ._places import Packed, Place, packed
from ._sparse import Floats, Sparse


@dataclass(frozen=True)
class Stage:
    """A linear map of the results of earlier stages, or the product of two; and a function."""

    name: str
    #: The operation whose value the linear part is, and the one whose value the result is.
    value: int
    result: int
    #: Stages that it reads.
    sources: tuple[int, ...]
    place: Place
    #: Values of the linear part are divided by this, after the centre was taken off.
    bound: float
    function: Function | None = None
    centre: float = 0.0
    is_product: bool = False

    @property
    def out(self) -> float:
        """What results are divided by."""
        return self.function.out if self.function else self.bound

    @property
    def levels(self) -> int:
        return self.function.levels if self.function else 0

    def written(self) -> dict[str, Any]:
        function = self.function.written() if self.function else None
        return {**vars(self), "place": self.place.written(), "function": function}

    @staticmethod
    def read(written: dict[str, Any]) -> Stage:
        function = Function(**written["function"]) if written["function"] else None
        known = {
            "place": Place.read(written["place"]),
            "sources": tuple(written["sources"]),
            "function": function,
        }
        return Stage(**{**written, **known})


def places(network: Network) -> list[Place]:
    """Where the values of all operations lie."""
    found: list[Place] = []
    for op in network.ops:
        if op.kind in ("conv", "pool"):
            found.append(found[op.inputs[0]].strided(op.shape, op.how["stride"]))
        elif op.kind in ("input", "linear", "centre", "average"):
            found.append(Place.of(op.shape))
        else:
            place = found[op.inputs[0]]
            moved = len(op.shape) == 3 and op.shape != place.shape
            found.append(Place.of(op.shape) if moved else place)
    return found


def roots(network: Network) -> list[int]:
    """The operations that stages result in: the input, functions, products and their factors, what
    is linear and read twice, and the result."""
    ops = network.ops
    readers = [0] * len(ops)
    for op in ops:
        for source in op.inputs:
            # A factor is a stage, however often it is read.
            readers[source] += 2 if op.kind == "product" else 1
    found = [0]
    plain: dict[int, bool] = {0: True}
    for i, op in enumerate(ops[1:], 1):
        # What is another's value in another shape is read there.
        own = op.kind in ("function", "product")
        plain[i] = own or (op.kind == "shape" and plain[op.inputs[0]])
        last = i == len(ops) - 1
        if own or (not plain[i] and (readers[i] > 1 or last)):
            found.append(i)
            plain[i] = True
    return found


#: A part of a value: by stages and their parts what they are multiplied by, and what is added.
Part = tuple[dict[tuple[int, int], "float | Packed"], Floats]


@dataclass(frozen=True)
class Program:
    """A network and its stages, the input first, the result last."""

    network: Network
    stages: list[Stage]

    def terms(self, stage: Stage) -> tuple[dict[int, Sparse], Floats]:
        """The linear part of a stage, by its sources, in the units of ciphertexts."""
        made = {s.result: k for k, s in enumerate(self.stages)}
        known: dict[int, tuple[dict[int, Sparse], Floats]] = {}
        found, bias = expression(self.network, stage.value, made, known, stage.result)
        units = {k: self.stages[k].out / stage.bound for k in found}
        scaled = {k: m.scaled(units[k]) for k, m in found.items()}
        return scaled, (bias - stage.centre) / stage.bound

    def packed(self, stage: Stage, most: int) -> list[Part]:
        """The same by parts of at most so many slots, as numbers that whole vectors are multiplied
        by, or diagonals; and what is added."""
        terms, bias = self.terms(stage)
        place, count = stage.place, stage.place.parts(most)
        added = np.zeros(place.period)
        added[place.slots()] = bias
        period = min(place.period, most)
        cuts = [added[at * period : (at + 1) * period] for at in range(count)]
        found: list[Part] = [({}, cut) for cut in cuts]
        for k, matrix in terms.items():
            source = self.stages[k].place
            if matrix.factor is not None and source == place:
                for at in range(count):
                    found[at][0][k, at] = matrix.factor
            elif matrix.values.size:
                for (to, of), block in packed(matrix, place, source, most).items():
                    found[to][0][k, of] = block
        if any(terms for terms, _ in found):
            for one, _ in found:
                # What reads nothing is what is added alone.
                one.update({} if one else {(stage.sources[0], 0): 0.0})
        return found

    def parts(self, k: int, most: int) -> list[tuple[int, int]]:
        """The parts of a stage's value."""
        return [(k, at) for at in range(self.stages[k].place.parts(most))]

    def plain(self, x: Floats) -> Floats:
        """What is computed of inputs, one a row, in the clear."""
        values: dict[int, Floats] = {0: x / self.stages[0].bound}
        last = {source: k for k, stage in enumerate(self.stages) for source in stage.sources}
        for k, stage in enumerate(self.stages[1:], 1):
            if stage.is_product:
                one, other = (values[source] for source in stage.sources)
                u = one * other
            else:
                terms, bias = self.terms(stage)
                u = np.tile(bias, (len(x), 1))
                for source, matrix in terms.items():
                    for row, value in zip(u, values[source], strict=True):
                        row += matrix.apply(value)
            values[k] = stage.function.plain(u) if stage.function else u
            values = {s: value for s, value in values.items() if last.get(s, k) > k or s == k}
        return values[len(self.stages) - 1] * self.stages[-1].out


def expression(
    network: Network,
    at: int,
    made: dict[int, int],
    known: dict[int, tuple[dict[int, Sparse], Floats]],
    root: int | None = None,
) -> tuple[dict[int, Sparse], Floats]:
    """A linear value by the stages that it is made of, and what is added."""
    op = network.ops[at]
    if at in made and at != root:
        return {made[at]: Sparse.diagonal(np.ones(op.size))}, np.zeros(op.size)
    if at in known:
        return known[at]
    if op.kind == "add":
        terms: dict[int, Sparse] = {}
        bias = np.zeros(op.size)
        for source, factor in zip(op.inputs, op.how["factors"], strict=True):
            more, added = expression(network, source, made, known)
            bias = bias + factor * added
            for k, matrix in more.items():
                matrix = matrix.scaled(factor)
                terms[k] = terms[k] + matrix if k in terms else matrix
    else:
        if op.kind not in LINEAR:
            raise errors.MalformedError(f"an operation of kind {op.kind!r} is none that is known")
        inner, before = expression(network, op.inputs[0], made, known)
        matrix, bias = network.matrix(op)
        terms = {k: matrix @ m for k, m in inner.items()}
        bias = bias + matrix.apply(before)
    known[at] = (terms, bias)
    return known[at]


def sources(network: Network, at: int, made: dict[int, int], root: int) -> tuple[int, ...]:
    """The stages that a linear value is made of."""
    if at in made and at != root:
        return (made[at],)
    found: set[int] = set()
    for source in network.ops[at].inputs:
        found.update(sources(network, source, made, -1))
    return tuple(sorted(found))
