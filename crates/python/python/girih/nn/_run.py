"""A model on a server: each step recorded once, those that are alike shared."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import ckks, errors
from ..progress import _listener
from ._levels import Placed
from ._places import Packed
from ._sparse import Floats
from ._stages import Program, Stage


#: Parts of values, by stage and number.
_Values = tuple[tuple[int, int], ...]


class Prepared:
    """The recordings of a model, in the order in which they run."""

    def __init__(
        self, server: ckks.ServerKey, program: Program, placed: list[Placed], rows: int, slots: int
    ) -> None:
        self.server = server
        self._program, self._placed = program, placed
        self._rows, self._slots = rows, slots
        #: Slots of an input in a ciphertext.
        self._most = slots // rows
        self._recordings: dict[Hashable, ckks.Recording] = {}
        self._wanted: dict[Hashable, Callable[[], ckks.Recording]] = {}
        self._steps: list[tuple[Hashable, _Values, _Values]] = []
        self._plan()
        with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as threads:
            made = {key: threads.submit(record) for key, record in self._wanted.items()}
            self._recordings = {key: future.result() for key, future in made.items()}
        self._wanted.clear()

    def _plan(self) -> None:
        """What runs: a recording, the parts of values that it reads, and those that it makes."""
        stages, levels = self._program.stages, {0: self._placed[0].result}
        for k, (stage, placed) in enumerate(zip(stages, self._placed, strict=True)):
            if k == 0:
                continue
            for source in placed.refreshed:
                levels[source] = self._bootstrap(source, levels[source])
            own = self._program.parts(k, self._most)
            at = tuple(levels[s] for s in stage.sources)
            self._maps(k, stage, placed, at)
            level = placed.level - 1
            if placed.before:
                level = self._bootstrap(k, level)
            if stage.function:
                key = ("function", repr(stage.function), level, placed.function)
                record = self._function(stage, level, placed.function)
                for part in own:
                    self._step(key, (part,), (part,), record)
                level = placed.function - stage.levels
            levels[k] = self._bootstrap(k, level) if placed.after else level

    def _maps(self, k: int, stage: Stage, placed: Placed, levels: tuple[int, ...]) -> None:
        """The linear part of a stage: a recording of all its parts, products one for each."""
        own, of = self._program.parts(k, self._most), self._program.parts
        if stage.is_product:
            record = self._product(placed, levels)
            key = ("product", levels, placed.level)
            for part in own:
                self._step(key, tuple((s, part[1]) for s in stage.sources), (part,), record)
            return
        read = tuple(part for s in stage.sources for part in of(s, self._most))
        at = dict(zip(stage.sources, levels, strict=True))
        self._step((k, "linear"), read, tuple(own), self._linear(stage, placed, read, at))

    def _step(
        self, key: Hashable, read: _Values, made: _Values, record: Callable[[], ckks.Recording]
    ) -> None:
        self._wanted.setdefault(key, record)
        self._steps.append((key, read, made))

    def _bootstrap(self, k: int, level: int) -> int:
        top = self.server.parameters.default_level

        def refreshed(x: ckks.Ciphertexts) -> ckks.Ciphertexts:
            return x.bootstrap(real=True).with_magnitude(1.0)

        record = self.server.record
        key = ("bootstrapping", level)
        for part in self._program.parts(k, self._most):
            self._step(key, (part,), (part,), lambda: record(refreshed, (level, self._slots)))
        return top

    def _function(self, stage: Stage, level: int, begin: int) -> Callable[[], ckks.Recording]:
        function = stage.function
        assert function is not None

        def activated(x: ckks.Ciphertexts) -> ckks.Ciphertexts:
            if level > begin:
                x = x.adjust(begin)
            return function.record(x.with_magnitude(1.0)).with_magnitude(1.0)

        return lambda: self.server.record(activated, (level, self._slots))

    def _product(
        self, placed: Placed, levels: tuple[int, ...]
    ) -> Callable[[], ckks.Recording]:
        inputs = [(level, self._slots) for level in levels]

        def multiplied(*factors: ckks.Ciphertexts) -> ckks.Ciphertexts:
            one, other = (
                x.adjust(placed.level) if level > placed.level else x
                for x, level in zip(factors, levels, strict=True)
            )
            return (one.with_magnitude(1.0) * other.with_magnitude(1.0)).with_magnitude(1.0)

        return lambda: self.server.record(multiplied, *inputs)

    def _linear(
        self, stage: Stage, placed: Placed, read: _Values, levels: dict[int, int]
    ) -> Callable[[], ckks.Recording]:
        inputs = [(levels[source], self._slots) for source, _ in read]

        def record() -> ckks.Recording:
            parts = [
                ({of: self._part(part, placed.level) for of, part in terms.items()}, added)
                for terms, added in self._program.packed(stage, self._most)
            ]

            def mapped(*inputs: ckks.Ciphertexts) -> list[ckks.Ciphertexts]:
                given = {}
                for of, x in zip(read, inputs, strict=True):
                    if any(of in made for made, _ in parts):
                        x = x.adjust(placed.level) if levels[of[0]] > placed.level else x
                        given[of] = x.with_magnitude(1.0)
                return [self._sum(made, given, added) for made, added in parts]

            return self.server.record(mapped, *inputs)

        return record

    def _sum(
        self,
        made: dict[tuple[int, int], Callable[[ckks.Ciphertexts], ckks.Ciphertexts]],
        given: dict[tuple[int, int], ckks.Ciphertexts],
        added: Floats,
    ) -> ckks.Ciphertexts:
        """A part of a value: of what it reads, and what is added."""
        total = None
        for of, multiplied in made.items():
            y = multiplied(given[of])
            total = y if total is None else total + y
        assert total is not None
        if added.any():
            total = total.with_slots(len(added) * self._rows) + added.repeat(self._rows)
        return total.with_slots(self._slots).with_magnitude(1.0)

    def _part(
        self, part: float | Packed, level: int
    ) -> Callable[[ckks.Ciphertexts], ckks.Ciphertexts]:
        if not isinstance(part, Packed):
            # A product with a whole number takes no level, others that it is added to take one.
            if part == round(part):
                return lambda x: (x * part).adjust(level - 1)
            return lambda x: x * part
        rows, slots, fold = self._rows, part.slots * self._rows, part.fold
        map = ckks.LinearMap(slots, dict(part.vectors(rows)))

        def transform(x: ckks.Ciphertexts) -> ckks.Ciphertexts:
            y = x.with_slots(slots).transform(map)
            y = y.sum(fold, slots // fold) if fold > 1 else y
            return y.with_slots(self._slots)

        return transform

    def run(self, encrypted: list[ckks.Ciphertexts], progress: Any = None) -> ckks.Ciphertexts:
        """The result of all parts of the input. `progress` hears of steps, how many there are
        before the first."""
        heard, total = _listener(progress), len(self._steps)
        if heard is not None:
            heard("steps of the model", 0, total)
        values: dict[tuple[int, int], Any] = {(0, at): x for at, x in enumerate(encrypted)}
        last = {s: i for i, (_, read, _) in enumerate(self._steps) for s in read}
        for i, (key, read, made) in enumerate(self._steps):
            found = self._recordings[key](*(values[s] for s in read))
            several = (found,) if isinstance(found, ckks.Ciphertexts) else found
            values.update(zip(made, several, strict=True))
            if heard is not None:
                heard("steps of the model", i + 1, total)
            values = {s: x for s, x in values.items() if last.get(s, -1) > i or s in made}
        result = values[len(self._program.stages) - 1, 0]
        if not isinstance(result, ckks.Ciphertexts):
            raise errors.InternalError("a recording with one result gave several")
        return result


@dataclass(frozen=True)
class Work:
    """What the linear part of a stage takes."""

    rotations: tuple[int, ...]
    diagonals: int
    baby: int
    giant: int
    #: Rotations of the sums that follow maps.
    sums: int


def work(program: Program, most: int) -> list[Work]:
    """What the linear parts of all stages take, in parts of at most so many slots; maps of the same
    diagonals are looked at once."""
    known: dict[Hashable, list[int]] = {}
    found = [Work((), 0, 0, 0, 0)]
    for stage in program.stages[1:]:
        if stage.is_product:
            found.append(Work((), 0, 0, 0, 0))
            continue
        parts = [part for terms, _ in program.packed(stage, most) for part in terms.values()]
        wanted: list[int] = []
        total = [0, 0, 0, 0]
        for part in parts:
            if not isinstance(part, Packed):
                continue
            slots = part.slots
            key = (slots, *part.diagonals)
            if key not in known:
                ones = dict.fromkeys(part.diagonals, np.ones(slots))
                known[key] = ckks.LinearMap(slots, ones).rotations()
            wanted += known[key]
            wanted += [slots // part.fold << i for i in range(part.fold.bit_length() - 1)]
            more = (len(part.diagonals), *part.steps, part.fold.bit_length() - 1)
            total = [a + b for a, b in zip(total, more, strict=True)]
        if not parts:
            why = f"layer {stage.name}: all of its weights are 0, so that it reads nothing"
            raise errors.UnsupportedError(why)
        found.append(Work(tuple(wanted), *total))
    return found
