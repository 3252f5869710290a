"""At which levels a network computes, and where it bootstraps: the cheapest way.

Layers are computed one after the other. What is known of the past is the level of each value that
is still to be read; from every such state, all that a layer can do is tried, and of all ways that
lead to one state the cheapest is kept. That is a shortest path over levels: exact for chains,
residual blocks, and whatever has few values alive at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

#: States that are kept; networks of chains and residual blocks have some hundreds.
_MOST_STATES = 20_000


@dataclass(frozen=True)
class Task:
    """A layer as it is placed."""

    name: str
    #: Layers that it reads; none for the input.
    sources: tuple[int, ...]
    #: Milliseconds of its linear part by level where it begins, and of its function.
    linear: list[float]
    function: list[float]
    #: Levels of the function.
    levels: int
    #: Ciphertexts of what it makes.
    parts: int = 1


@dataclass(frozen=True)
class Placed:
    """How a layer is computed."""

    #: Sources that are bootstrapped first.
    refreshed: tuple[int, ...] = ()
    #: Where the linear part begins: it ends one below.
    level: int = 0
    #: Whether what it makes is bootstrapped.
    before: bool = False
    #: Where the function begins.
    function: int = 0
    #: Whether the function's result is bootstrapped.
    after: bool = False
    #: Levels of the result.
    result: int = 0

    def written(self) -> dict[str, Any]:
        return {**vars(self)}


@dataclass(frozen=True)
class Rules:
    """What the set allows."""

    #: The highest level.
    top: int
    #: The lowest that a bootstrapping begins at; None where there is none.
    lowest: int | None
    #: Milliseconds of a bootstrapping.
    bootstrapping: float


_State = tuple[tuple[int, int], ...]


@dataclass
class _Path:
    cost: float
    last: Placed | None = None
    before: _Path | None = None

    def placed(self) -> list[Placed]:
        found: list[Placed] = []
        path: _Path | None = self
        while path is not None and path.last is not None:
            found.append(path.last)
            path = path.before
        return found[::-1]


def _ways(
    task: Task, rules: Rules, levels: dict[int, int], parts: list[int]
) -> Iterator[tuple[float, Placed]]:
    """What a layer can do with sources of these levels: costs, and levels of results; of each
    layer's value it is known how many ciphertexts it has."""
    free = rules.lowest is not None
    able = [s for s in task.sources if free and levels[s] >= (rules.lowest or 0)]
    for count in range(len(able) + 1):
        for refreshed in combinations(able, count):
            at = [rules.top if s in refreshed else levels[s] for s in task.sources]
            for level in range(1, min(at) + 1):
                moved = sum(parts[s] for s in refreshed)
                cost = moved * rules.bootstrapping + task.linear[level]
                yield from _functions(task, rules, cost, refreshed, level)


def _functions(
    task: Task, rules: Rules, cost: float, refreshed: tuple[int, ...], level: int
) -> Iterator[tuple[float, Placed]]:
    free = rules.lowest is not None
    for before in (False, True) if free and level - 1 >= (rules.lowest or 0) else (False,):
        highest = rules.top if before else level - 1
        for begin in range(task.levels, highest + 1) if task.levels else [highest]:
            result = begin - task.levels
            total = cost + before * task.parts * rules.bootstrapping + task.function[begin]
            yield total, Placed(refreshed, level, before, begin, False, result)
            if free and task.levels and result >= (rules.lowest or 0):
                placed = Placed(refreshed, level, before, begin, True, rules.top)
                yield total + task.parts * rules.bootstrapping, placed


def place(tasks: list[Task], rules: Rules) -> list[Placed] | int:
    """The cheapest way, the input being the first task; or the first layer that none reaches."""
    parts = [task.parts for task in tasks]
    last_use = {source: k for k, task in enumerate(tasks) for source in task.sources}
    paths: dict[_State, _Path] = {
        ((0, level),): _Path(0.0, Placed(result=level)) for level in range(rules.top + 1)
    }
    for k, task in enumerate(tasks[1:], 1):
        found: dict[_State, _Path] = {}
        # Ways depend on the levels of sources alone.
        known: dict[tuple[int, ...], list[tuple[float, Placed]]] = {}
        for state, path in paths.items():
            levels = dict(state)
            key = tuple(levels[s] for s in task.sources)
            if key not in known:
                known[key] = _cheapest(_ways(task, rules, levels, parts))
            for cost, placed in known[key]:
                after = {s: rules.top if s in placed.refreshed else at for s, at in state}
                after[k] = placed.result
                alive = tuple(sorted((s, at) for s, at in after.items() if last_use.get(s, k) > k))
                if k == len(tasks) - 1:
                    alive = ()
                total = path.cost + cost
                if alive not in found or total < found[alive].cost:
                    found[alive] = _Path(total, placed, path)
        if not found:
            return k
        paths = found
        if len(paths) > _MOST_STATES:
            kept = sorted(paths.items(), key=lambda item: item[1].cost)[:_MOST_STATES]
            paths = dict(kept)
    return min(paths.values(), key=lambda path: path.cost).placed()


def _cheapest(ways: Iterator[tuple[float, Placed]]) -> list[tuple[float, Placed]]:
    """Of ways to the same levels, the cheapest."""
    best: dict[tuple[tuple[int, ...], int], tuple[float, Placed]] = {}
    for cost, placed in ways:
        key = (placed.refreshed, placed.result)
        if key not in best or cost < best[key][0]:
            best[key] = (cost, placed)
    return list(best.values())
