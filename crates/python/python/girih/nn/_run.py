"""A model on a server: each step recorded once, those that are alike shared."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import ckks, errors
from ._levels import Placed
from ._places import Packed
from ._stages import Program, Stage


class Prepared:
    """The recordings of a model, in the order in which they run."""

    def __init__(
        self, server: ckks.ServerKey, program: Program, placed: list[Placed], rows: int, slots: int
    ) -> None:
        self.server = server
        self._program, self._placed = program, placed
        self._rows, self._slots = rows, slots
        self._recordings: dict[Hashable, ckks.Recording] = {}
        self._wanted: dict[Hashable, Callable[[], ckks.Recording]] = {}
        self._steps: list[tuple[Hashable, tuple[int, ...], int]] = []
        self._plan()
        with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as threads:
            made = {key: threads.submit(record) for key, record in self._wanted.items()}
            self._recordings = {key: future.result() for key, future in made.items()}
        self._wanted.clear()

    def _plan(self) -> None:
        """What runs: a recording, the stages whose values it reads, and the one that it makes."""
        stages, levels = self._program.stages, {0: self._placed[0].result}
        for k, (stage, placed) in enumerate(zip(stages, self._placed, strict=True)):
            if k == 0:
                continue
            for source in placed.refreshed:
                levels[source] = self._bootstrap(source, levels[source])
            at = tuple(levels[s] for s in stage.sources)
            self._step((k, "linear"), stage.sources, k, self._linear(stage, placed, at))
            level = placed.level - 1
            if placed.before:
                level = self._bootstrap(k, level)
            if stage.function:
                key = ("function", repr(stage.function), level, placed.function)
                self._step(key, (k,), k, self._function(stage, level, placed.function))
                level = placed.function - stage.levels
            levels[k] = self._bootstrap(k, level) if placed.after else level

    def _step(
        self, key: Hashable, read: tuple[int, ...], made: int, record: Callable[[], ckks.Recording]
    ) -> None:
        self._wanted.setdefault(key, record)
        self._steps.append((key, read, made))

    def _bootstrap(self, k: int, level: int) -> int:
        top = self.server.parameters.default_level

        def refreshed(x: ckks.Ciphertexts) -> ckks.Ciphertexts:
            return x.bootstrap(real=True).with_magnitude(1.0)

        record = self.server.record
        key = ("bootstrapping", level)
        self._step(key, (k,), k, lambda: record(refreshed, (level, self._slots)))
        return top

    def _function(self, stage: Stage, level: int, begin: int) -> Callable[[], ckks.Recording]:
        function = stage.function
        assert function is not None

        def activated(x: ckks.Ciphertexts) -> ckks.Ciphertexts:
            if level > begin:
                x = x.adjust(begin)
            return function.record(x.with_magnitude(1.0)).with_magnitude(1.0)

        return lambda: self.server.record(activated, (level, self._slots))

    def _linear(
        self, stage: Stage, placed: Placed, levels: tuple[int, ...]
    ) -> Callable[[], ckks.Recording]:
        inputs = [(level, self._slots) for level in levels]

        def multiplied(*factors: ckks.Ciphertexts) -> ckks.Ciphertexts:
            one, other = (
                x.adjust(placed.level) if level > placed.level else x
                for x, level in zip(factors, levels, strict=True)
            )
            return (one.with_magnitude(1.0) * other.with_magnitude(1.0)).with_magnitude(1.0)

        def record() -> ckks.Recording:
            if stage.is_product:
                return self.server.record(multiplied, *inputs)
            parts, added = self._program.packed(stage)
            made = {source: self._part(part, placed.level) for source, part in parts.items()}
            period = len(added)
            bias = added.repeat(self._rows) if added.any() else None

            def mapped(*inputs: ckks.Ciphertexts) -> ckks.Ciphertexts:
                total = None
                for source, x in zip(stage.sources, inputs, strict=True):
                    if source not in made:
                        continue
                    if levels[stage.sources.index(source)] > placed.level:
                        x = x.adjust(placed.level)
                    y = made[source](x.with_magnitude(1.0))
                    total = y if total is None else total + y
                assert total is not None
                if bias is not None:
                    total = total.with_slots(period * self._rows) + bias
                return total.with_slots(self._slots).with_magnitude(1.0)

            return self.server.record(mapped, *inputs)

        return record

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

    def run(self, encrypted: ckks.Ciphertexts) -> ckks.Ciphertexts:
        values: dict[int, Any] = {0: encrypted}
        last = {s: i for i, (_, read, _) in enumerate(self._steps) for s in read}
        for i, (key, read, made) in enumerate(self._steps):
            values[made] = self._recordings[key](*(values[s] for s in read))
            values = {s: x for s, x in values.items() if last.get(s, -1) > i or s == made}
        result = values[len(self._program.stages) - 1]
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


def work(program: Program, rows: int) -> list[Work]:
    """What the linear parts of all stages take; maps of the same diagonals are looked at once."""
    known: dict[Hashable, list[int]] = {}
    found = [Work((), 0, 0, 0, 0)]
    for stage in program.stages[1:]:
        if stage.is_product:
            found.append(Work((), 0, 0, 0, 0))
            continue
        parts, _ = program.packed(stage)
        wanted: list[int] = []
        total = [0, 0, 0, 0]
        for part in parts.values():
            if not isinstance(part, Packed):
                continue
            slots = part.slots * rows
            key = (slots, *part.diagonals)
            if key not in known:
                ones = np.ones(slots)
                known[key] = ckks.LinearMap(
                    slots, {by * rows: ones for by in part.diagonals}
                ).rotations()
            wanted += known[key]
            wanted += [slots // part.fold << i for i in range(part.fold.bit_length() - 1)]
            more = (len(part.diagonals), *part.steps, part.fold.bit_length() - 1)
            total = [a + b for a, b in zip(total, more, strict=True)]
        if not parts:
            why = f"layer {stage.name}: all of its weights are 0, so that it reads nothing"
            raise errors.UnsupportedError(why)
        found.append(Work(tuple(wanted), *total))
    return found
