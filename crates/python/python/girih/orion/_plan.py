"""At which levels to compute, and where to bootstrap.

Operations are gone through from the last to the first. What is known of those that follow is the
level that each value needs which they read and which is not made yet. From every such state all
that an operation can do is tried: it makes the value at the level needed, or at the lowest that a
bootstrapping begins at. Of all ways to one state the cheapest is kept, which is a shortest path
over levels.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

from .. import ckks, errors
from ..nn._costs import Costs
from ..nn._places import steps
from ..nn._functions import products_of_degree
from ._simplify import REACH, Op, reaches

#: States that are kept; chains and residual blocks have some hundreds.
_MOST_STATES = 1000
#: Milliseconds of a product with a diagonal, a prime.
_DIAGONAL = 1e-4
#: Milliseconds of anything else, so that of equal ways that with fewer operations wins.
_OTHER = 0.02


@dataclass(frozen=True)
class Rules:
    """What the set allows."""

    costs: Costs
    #: The highest level, that of what is bootstrapped.
    top: int
    #: The highest level of rotations: their keys reach so far.
    rotations: int
    #: The lowest level that a bootstrapping begins at; None where there is none.
    lowest: int | None
    #: Whether values may be bootstrapped where Orion does not: where all slots are as precise
    #: whatever the others are.
    anywhere: bool
    #: Levels of the set below Orion's level 0.
    offset: int
    #: Whether there are bootstrappings where Orion asks for them, and all of them.
    as_asked: bool = False


@dataclass(frozen=True)
class Placed:
    """What an operation makes."""

    #: The level of its result; for a bootstrapped one that before it.
    level: int
    is_bootstrapped: bool


def rules(parameters: ckks.Parameters, rotations: int, bootstraps: bool) -> Rules:
    """Of a set, with keys of rotations up to a level, and of bootstrappings or none."""
    offset = parameters.bootstrap_level if parameters.bootstraps else 0
    lowest = offset if bootstraps else None
    costs, top = Costs.modelled(parameters), parameters.default_level
    return Rules(costs, top, rotations, lowest, offset > 0, offset)


@dataclass
class _Path:
    cost: float
    #: What operations do, the last chosen first.
    placed: Placed | None = None
    before: _Path | None = None


_State = tuple[tuple[int, int], ...]


@functools.lru_cache(4096)
def _steps(diagonals: tuple[int, ...], slots: int) -> tuple[int, int]:
    return steps(list(diagonals), slots)


def _cost(op: Op, level: int, rules: Rules) -> float:
    """Milliseconds of an operation that begins at a level."""
    costs = rules.costs
    if op.kind == "rotate":
        return costs.rotation[level]
    if op.kind == "product":
        return costs.product[level]
    if op.kind == "polynomial":
        degree = len(op.value.coefficients) - 1
        middle = max(level - op.takes // 2, 0)
        return products_of_degree(degree) * costs.product[middle]
    if op.kind == "map":
        baby, giant = _steps(op.value.diagonals, rules.costs.parameters.slots)
        switches = baby * costs.shared_rotation[level] + giant * costs.rotation[level]
        return switches + _DIAGONAL * len(op.value.diagonals) * (level + 1)
    return 0.0 if op.kind in ("input", "bootstrap") else _OTHER


def _ways(
    op: Op, needed: int, may_bootstrap: bool, rules: Rules
) -> Iterator[tuple[Placed, int]]:
    """What an operation can do for a result of this level: and the level where it begins."""
    most = rules.rotations if op.kind in ("map", "rotate") else rules.top
    must = rules.as_asked and op.kind == "bootstrap"
    if needed + op.takes <= most and not must:
        yield Placed(needed, False), needed + op.takes
    if may_bootstrap and rules.lowest is not None and rules.lowest + op.takes <= most:
        yield Placed(rules.lowest, True), rules.lowest + op.takes


def place(ops: list[Op], rules: Rules) -> list[Placed]:
    """The cheapest way.

    :raises girih.errors.OutOfLevelsError: where there is none.
    """
    reach = reaches(ops)
    paths: dict[_State, _Path] = {(): _Path(0.0)}
    for i in reversed(range(len(ops))):
        op, found = ops[i], dict[_State, _Path]()
        small = rules.anywhere and reach[i] <= REACH and op.kind != "input"
        may = op.kind == "bootstrap" or (small and not rules.as_asked)
        asked = None if op.level is None else op.level + rules.offset
        for state, path in paths.items():
            needs = dict(state)
            needed = needs.pop(i, 0)
            if op.kind == "input":
                if asked is None or needed > asked:
                    continue
                ways = iter([(Placed(asked, False), 0)])
            else:
                ways = _ways(op, max(needed, asked or 0), may, rules)
            for placed, begins in ways:
                own = needs | {s: max(begins, needs.get(s, 0)) for s in op.sources}
                after = tuple(sorted(own.items()))
                cost = path.cost + _cost(op, begins, rules)
                if placed.is_bootstrapped:
                    cost += rules.costs.bootstrapping or 0.0
                if after not in found or cost < found[after].cost:
                    found[after] = _Path(cost, placed, path)
        if not found:
            raise _impossible(op, rules)
        paths = found
        if len(paths) > _MOST_STATES:
            kept = sorted(paths.items(), key=lambda item: item[1].cost)[:_MOST_STATES]
            paths = dict(kept)
    best: _Path | None = min(paths.values(), key=lambda path: path.cost)
    placed_ops: list[Placed] = []
    while best is not None and best.placed is not None:
        placed_ops.append(best.placed)
        best = best.before
    return placed_ops


def _impossible(op: Op, rules: Rules) -> errors.OutOfLevelsError:
    what = f"a {op.kind}" if op.kind != "input" else "an input"
    return errors.OutOfLevelsError(
        f"{what} and what follows it take more levels than the {rules.top} that there are: "
        "bootstrap between them"
    )
