"""A plan on a server: maps, bootstrappings, and all that lies between them as recordings."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from .. import ckks, errors
from ._graph import WHOLE, Transform, key_of
from ._plan import Placed
from ._simplify import Op

_Function = Callable[..., list[ckks.Ciphertexts]]

#: A value of a plan: an operation's, before it is bootstrapped or after.
_Value = tuple[int, bool]


@dataclass
class _Step:
    """Values that are read, and those that are made."""

    read: list[_Value]
    made: list[_Value]
    #: A map, nothing for a bootstrapping, or operations of a recording.
    work: Transform | None | list[int]


def whole_multiple(vector: ckks.Ciphertexts, factor: int) -> ckks.Ciphertexts:
    """The vector times a whole number, at no level."""
    if factor == -1:
        return -vector
    if abs(factor) <= WHOLE:
        return vector * factor
    high, low = divmod(factor, WHOLE)
    return vector * high * WHOLE + vector * low


def _computed(op: Op, x: list[ckks.Ciphertexts], begins: int) -> ckks.Ciphertexts:
    """An operation of vectors of the level where it begins."""
    first, value = x[0], op.value
    found: ckks.Ciphertexts
    if op.kind == "rotate":
        found = first.rotate(value)
    elif op.kind == "plus":
        found = first + value
    elif op.kind == "plus_vector":
        found = first + value.values
    elif op.kind == "times":
        found = whole_multiple(first, value) if isinstance(value, int) else first * value
    elif op.kind == "times_vector":
        found = first * value.values
    elif op.kind == "add":
        found = first + x[1]
    elif op.kind == "subtract":
        found = first - x[1]
    elif op.kind == "product":
        found = first.square() if first is x[1] else first * x[1]
    elif op.kind == "polynomial":
        found = first.polynomial(value.polynomial)
    elif op.kind == "zero":
        found = (first * 0).adjust(begins - 1)
    else:
        raise errors.InternalError(f"{op.kind} is no operation of a recording")
    return found


class Execution:
    """What runs, in order; recordings are made when they first run, and shared by those alike."""

    def __init__(self, ops: list[Op], placed: list[Placed], slots: int, offset: int) -> None:
        self._ops, self._placed, self._slots, self._offset = ops, placed, slots, offset
        self.inputs = [i for i, op in enumerate(ops) if op.kind == "input"]
        self.results = [
            i for i, op in enumerate(ops) if op.kind != "input" and op.level is not None
        ]
        self._steps = self._in_steps()
        self._last = {value: k for k, step in enumerate(self._steps) for value in step.read}
        self._functions: dict[int, tuple[Hashable, _Function]] = {}

    @property
    def bootstraps(self) -> int:
        return sum(placed.is_bootstrapped for placed in self._placed)

    @property
    def rotated(self) -> int:
        """The highest level of a rotation."""
        turns = [i for i, op in enumerate(self._ops) if op.kind in ("map", "rotate")]
        return max((self._begins(i) for i in turns), default=0)

    def _value(self, i: int) -> _Value:
        """The value of an operation as others read it."""
        return i, self._placed[i].is_bootstrapped

    def _in_steps(self) -> list[_Step]:
        steps: list[_Step] = []
        group: list[int] = []

        def close() -> None:
            if group:
                steps.append(_Step([], [(i, False) for i in group], group.copy()))
                group.clear()

        for i, op in enumerate(self._ops):
            if op.kind == "input":
                continue
            # Activations of several layers share recordings.
            last = self._ops[group[-1]].kind if group else None
            if op.kind == "map" or (op.kind == "polynomial" and last != "polynomial"):
                close()
            if op.kind == "map":
                steps.append(_Step([self._value(op.sources[0])], [(i, False)], op.value))
            elif op.kind != "bootstrap" or not self._placed[i].is_bootstrapped:
                group.append(i)
            if self._placed[i].is_bootstrapped:
                close()
                source = (op.sources[0], self._placed[op.sources[0]].is_bootstrapped)
                read = source if op.kind == "bootstrap" else (i, False)
                steps.append(_Step([read], [(i, True)], None))
        close()
        self._bound(steps)
        return steps

    def _bound(self, steps: list[_Step]) -> None:
        """What each recording reads of others, and what others read of it."""
        results = {self._value(i) for i in self.results}
        for step in steps:
            if isinstance(step.work, list):
                own = set(step.made)
                read = [self._value(s) for i in step.work for s in self._ops[i].sources]
                step.read = list(dict.fromkeys(value for value in read if value not in own))
        for step in steps:
            if isinstance(step.work, list):
                others = {value for other in steps if other is not step for value in other.read}
                step.made = [value for value in step.made if value in others | results]

    def _level(self, value: _Value, top: int) -> int:
        """Of a value."""
        return top if value[1] else self._placed[value[0]].level

    def _begins(self, i: int) -> int:
        return self._placed[i].level + self._ops[i].takes

    def _function(
        self, step: _Step, work: list[int], top: int
    ) -> tuple[Hashable, _Function]:
        """What tells a recording from others, and the function to record."""
        names = {value: ("read", n) for n, value in enumerate(step.read)}
        names |= {(i, False): ("made", n) for n, i in enumerate(work)}
        parts = [
            (
                self._ops[i].kind,
                key_of(self._ops[i].value),
                tuple(names[self._value(s)] for s in self._ops[i].sources),
                self._begins(i),
            )
            for i in work
        ]
        given = tuple(self._level(value, top) for value in step.read)
        key = (given, tuple(parts), tuple(names[value] for value in step.made))

        def computed(*inputs: ckks.Ciphertexts) -> list[ckks.Ciphertexts]:
            known = dict(zip(step.read, inputs, strict=True))
            lowered: dict[tuple[_Value, int], ckks.Ciphertexts] = {}

            def at(value: _Value, level: int) -> ckks.Ciphertexts:
                if self._level(value, top) == level:
                    return known[value]
                if (value, level) not in lowered:
                    lowered[value, level] = known[value].adjust(level)
                return lowered[value, level]

            for i in work:
                op, begins = self._ops[i], self._begins(i)
                x = [at(self._value(s), begins) for s in op.sources]
                known[i, False] = x[0] if op.kind == "bootstrap" else _computed(op, x, begins)
            return [known[value] for value in step.made]

        return key, computed

    def run(
        self,
        server: ckks.ServerKey,
        recordings: dict[Hashable, ckks.Recording],
        inputs: list[ckks.Ciphertexts],
    ) -> list[ckks.Ciphertexts]:
        """The results, of inputs on the device."""
        top = server.parameters.default_level
        results = [self._value(i) for i in self.results]
        values: dict[_Value, ckks.Ciphertexts] = {
            (i, False): x for i, x in zip(self.inputs, inputs, strict=True)
        }
        for k, step in enumerate(self._steps):
            x = [values[value] for value in step.read]
            if step.work is None:
                made = [self._bootstrapped(x[0], step.made[0][0])]
            elif isinstance(step.work, Transform):
                begins = self._begins(step.made[0][0])
                low = x[0].adjust(begins) if x[0].level > begins else x[0]
                made = [step.work.run(server, low)]
            else:
                if k not in self._functions:
                    self._functions[k] = self._function(step, step.work, top)
                key, function = self._functions[k]
                if key not in recordings:
                    given = [(self._level(value, top), self._slots) for value in step.read]
                    recordings[key] = server.record(function, *given)
                made = list(recordings[key](*x))
            for value, vector in zip(step.made, made, strict=True):
                if vector.level != self._level(value, top):
                    why = f"{self._ops[value[0]].kind}: level {vector.level} was not expected"
                    raise errors.InternalError(why)
                values[value] = vector
            done = [v for v in step.read if self._last[v] == k and v not in results]
            for value in done:
                values.pop(value, None)
        asked = [(self._ops[i].level or 0) + self._offset for i in self.results]
        found = [values[value] for value in results]
        return [x.adjust(low) if x.level > low else x for x, low in zip(found, asked, strict=True)]

    def _bootstrapped(self, vector: ckks.Ciphertexts, i: int) -> ckks.Ciphertexts:
        level = self._placed[i].level
        low = vector.adjust(level) if vector.level > level else vector
        return low.bootstrap(real=True)
