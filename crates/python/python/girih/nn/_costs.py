"""What operations take, in milliseconds: by it bootstrappings are placed.

`Costs` are measured on a device, or those of a model: of one H200 at N = 2^16 (docs/performance.md,
"CKKS on one H200"), key switches by limbs, and a bootstrapping of real slots at a scale of 35 to 40
bits. Placement needs no more than ratios.
"""

from __future__ import annotations

import functools
import math
import operator
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import ckks, errors
from . import _file
from ._places import steps

_KIND = "costs of operations"

#: Milliseconds of a key switch, by limbs of the ciphertext.
_KEY_SWITCH = ((3, 0.03), (10, 0.052), (23, 0.088), (45, 0.184))
#: A key switch that shares its decomposition with others, as a share of another.
_HOISTED = 0.4
_BOOTSTRAPPING = 8.0

#: Diagonals of the map that rotations with one decomposition are measured by.
_DIAGONALS = 16
#: Operations of a recording that one is measured by: layers have several that need not wait for
#: each other.
_SEVERAL = 4
#: Seconds that a recording is repeated for at least: short runs vary most.
_LEAST = 0.05


@dataclass(frozen=True)
class Costs:
    """Milliseconds of operations of a set, by level of the ciphertext that they are done to."""

    #: The set of parameters, and the device they were measured on; "model" of the model.
    parameters: ckks.Parameters
    device: str
    #: A rotation, one of several of the same ciphertext, and a product of two ciphertexts.
    rotation: tuple[float, ...]
    shared_rotation: tuple[float, ...]
    product: tuple[float, ...]
    #: A bootstrapping of real slots; None for a set without.
    bootstrapping: float | None

    @staticmethod
    def modelled(parameters: ckks.Parameters | str) -> Costs:
        """Those of the model."""
        set = _set(parameters)
        switch = tuple(_key_switch(count) for count in _limbs(set)[: set.default_level + 1])
        shared = tuple(_HOISTED * ms for ms in switch)
        bootstrapping = _BOOTSTRAPPING if set.bootstraps else None
        return Costs(set, "model", switch, shared, switch, bootstrapping)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file, for `compile` on another machine."""
        _file.save(path, _KIND, {"costs": written(self)}, {})

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Costs:
        """Reads what save wrote."""
        header, _ = _file.load(path, _KIND)
        return _file.checked(path, lambda: read(header["costs"]))


def written(costs: Costs) -> dict[str, Any]:
    """Costs as text."""
    return {**vars(costs), "parameters": costs.parameters.to_toml()}


def read(written: dict[str, Any]) -> Costs:
    """What `written` wrote."""
    set = ckks.Parameters.from_toml(written["parameters"])
    names = ("rotation", "shared_rotation", "product")
    lists = [tuple(float(ms) for ms in written[name]) for name in names]
    bootstrapping = written["bootstrapping"]
    every = [ms for of in lists for ms in of]
    every += [] if bootstrapping is None else [float(bootstrapping)]
    if any(len(of) != set.default_level + 1 for of in lists):
        raise ValueError(f"costs of the levels 0 to {set.default_level} are needed")
    if not all(0 <= ms < math.inf for ms in every) or set.bootstraps != (bootstrapping is not None):
        raise ValueError("costs are milliseconds, of a bootstrapping where the set has one")
    rotation, shared, product = lists
    return Costs(set, str(written["device"]), rotation, shared, product, bootstrapping)


def _set(parameters: ckks.Parameters | str) -> ckks.Parameters:
    if isinstance(parameters, str):
        return ckks.Parameters(parameters)
    if not isinstance(parameters, ckks.Parameters):
        why = f"a girih.ckks.Parameters or a name is needed, not {type(parameters).__name__}"
        raise TypeError(why)
    return parameters


def _limbs(parameters: ckks.Parameters) -> list[int]:
    """Primes of a ciphertext of each level."""
    text = re.search(r"states\s*=\s*\[(.*?)\]\s*\n\s*(\[\w|\w|$)", parameters.to_toml(), re.DOTALL)
    pairs = re.findall(r"\[\s*(\d+)\s*,\s*(\d+)\s*,?\s*\]", text[1] if text else "")
    return [int(mains) + int(terminals) for mains, terminals in pairs]


def _key_switch(count: int) -> float:
    """Of a ciphertext of so many limbs."""
    at, cost = zip(*_KEY_SWITCH, strict=True)
    return float(np.interp(count, at, cost)) * max(1.0, count / at[-1])


_Function = Callable[[ckks.Ciphertexts], ckks.Ciphertexts]


class _Clock:
    """Times recordings on a device."""

    def __init__(self, set: ckks.Parameters, device: str | None, repeats: int) -> None:
        self.slots, self.repeats = set.slots, repeats
        client = ckks.ClientKey.generate(set)
        self._map = ckks.LinearMap(
            set.slots, {by: np.full(set.slots, 0.05) for by in range(_DIAGONALS)}
        )
        rotations = sorted({1, *self._map.rotations()})
        self.server = client.server_key(
            device, rotations=rotations, conjugation=set.bootstraps,
            bootstrapping=set.slots if set.bootstraps else None, may_wrap=True,
        )  # fmt: skip
        self._client = client

    def seconds(self, function: Callable[..., ckks.Ciphertexts], level: int, count: int) -> float:
        """The fastest of some runs on so many ciphertexts, until the result is on the host."""
        recording = self.server.record(function, *[(level, self.slots)] * count)
        values = np.full(self.slots, 0.25)
        inputs = [
            self.server.upload(self._client.encrypt(values, level=level)) for _ in range(count)
        ]
        recording(*inputs).to_host()
        best, spent, runs = math.inf, 0.0, 0
        while runs < self.repeats or spent < _LEAST:
            begin = time.perf_counter()
            recording(*inputs).to_host()
            took = time.perf_counter() - begin
            best, spent, runs = min(best, took), spent + took, runs + 1
        return best

    def milliseconds(self, operation: _Function, level: int, leaves: int, count: int = 1) -> float:
        """Of an operation on each of several ciphertexts, whose results are added up: less what
        their sum takes, for each."""

        def summed(*inputs: ckks.Ciphertexts) -> ckks.Ciphertexts:
            # Ciphertexts of their own: what differs by constants alone shares key switches.
            return functools.reduce(operator.add, map(operation, inputs))

        def nothing(*inputs: ckks.Ciphertexts) -> ckks.Ciphertexts:
            x = functools.reduce(operator.add, inputs) + 0.125
            return x.drop_to(leaves) if leaves < level else x

        spent = self.seconds(summed, level, count) - self.seconds(nothing, level, count)
        return 1e3 * spent / count

    def rotation(self, level: int) -> float:
        return self.milliseconds(lambda x: x.rotate(1), level, level, _SEVERAL)

    def product(self, level: int) -> float:
        return self.milliseconds(lambda x: x * x, level, level - 1, _SEVERAL)

    def map(self, level: int) -> float:
        return self.milliseconds(lambda x: x.transform(self._map), level, level - 1)

    def bootstrapping(self, level: int) -> float:
        return self.milliseconds(lambda x: x.bootstrap(real=True), level, level)


def _rising(found: list[float]) -> list[float]:
    """Times that do not fall from level to level, and are positive: where measured ones do, their
    mean (pooled, so that the squares of all changes are least)."""
    pools: list[tuple[float, int]] = []
    for ms in found:
        pools.append((max(ms, 1e-6), 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (a, m), (b, n) = pools[-2:]
            pools[-2:] = [((a * m + b * n) / (m + n), m + n)]
    return [ms for ms, count in pools for _ in range(count)]


def measure(
    parameters: ckks.Parameters | str, device: str | None = None, *, repeats: int = 5
) -> Costs:
    """What operations of a set take on a device: for `compile(costs=..)`.

    Keys are made and loaded, and recordings of rotations, products and a bootstrapping run a few
    times at four levels; levels between are interpolated. A bootstrapping is measured from the
    lowest level that has one. Where kernels are compiled while they run, the kernels that serve any
    program may be measured.
    """
    set = _set(parameters)
    if isinstance(repeats, bool) or not isinstance(repeats, int) or not 1 <= repeats <= 1000:
        raise errors.MismatchError(f"repeats={repeats!r}: 1 to 1000")
    clock, top = _Clock(set, device, repeats), set.default_level
    levels = sorted({0, 1, (1 + top) // 2, top})
    baby, giant = steps(list(range(_DIAGONALS)), set.slots)
    rotation = _rising([clock.rotation(level) for level in levels])
    # At level 0 there is neither product nor map.
    product = _rising([clock.product(level) for level in levels[1:]])
    shared = [
        min(max((clock.map(level) - giant * ms) / baby, 0.05 * ms), ms)
        for level, ms in zip(levels[1:], rotation[1:], strict=True)
    ]
    bootstrapping = None
    if set.bootstraps:
        bootstrapping = max(clock.bootstrapping(set.bootstrap_level), 1e-6)
    every = [
        tuple(float(ms) for ms in np.interp(range(top + 1), levels[-len(of) :], of))
        for of in (rotation, _rising(shared), product)
    ]
    return Costs(set, clock.server.device, every[0], every[1], every[2], bootstrapping)
