"""What Orion holds by numbers: plaintexts, ciphertexts, and the functions about them.

A ciphertext of Orion has a level and a scale. Here it is a `Node`, which is computed when something
is decrypted, at levels of a set of girih, where operations see to scales themselves: a product goes
down a level at once. Until Orion asks for that by `Rescale`, it is *pending*, and tells the level
and scale of before.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import ckks, errors
from ._execute import Execution
from ._graph import Node, Polynomial, Transform, Vector, in_order, key_of, node
from ._keys import Keys
from ._parameters import parameters as set_of
from ._plan import place
from ._plan import rules as rules_of
from ._simplify import ops_of, simplified

#: Numbers of what Orion refers to; no two back ends share one, as things of an earlier scheme may
#: be deleted while a later one is in use.
_numbers = itertools.count(1)


def next_number() -> int:
    """A number that nothing has yet."""
    return next(_numbers)


#: Plans and recordings that are kept; of more the oldest go.
_MOST_PLANS, _MOST_RECORDINGS = 16, 2048


@dataclass
class Plain:
    vector: Vector
    level: int
    scale: int


@dataclass
class Encrypted:
    node: Node
    scale: int
    #: Whether it is a product that Orion has not rescaled.
    pending: bool = False

    @property
    def level(self) -> int:
        return self.node.level + self.pending


class Values:
    """Keys, encoding and encryption, by the names of Orion's functions."""

    def __init__(
        self, params: Any, device: str | None, *, magnitude: float = 16.0, insecure: bool = False
    ) -> None:
        self.parameters = set_of(params, insecure=insecure)
        self.slots = self.parameters.slots
        self._top: int = params.get_max_level()
        self._scale: int = params.get_default_scale()
        self._moduli = [1 << params.get_logq()[0]] + [self._scale] * self._top
        self._magnitude = magnitude
        self._plain: dict[int, Plain] = {}
        self._encrypted: dict[int, Encrypted] = {}
        self._polynomials: dict[int, Polynomial] = {}
        self._transforms: dict[int, Transform] = {}
        #: Levels of the set below Orion's level 0.
        self._offset = self.parameters.bootstrap_level if self.parameters.bootstraps else 0
        self._highest = self._top + self._offset
        self._keys = Keys(self.parameters, device, self._highest, self._off_device)
        #: Bootstrappings that the last computation took: none of Orion's.
        self.bootstraps = 0
        self._plans: dict[Hashable, Execution] = {}
        self._recordings: dict[Hashable, ckks.Recording] = {}

    # Tables

    def _off_device(self) -> None:
        """Before the server is given up: vectors move to the host, recordings are made anew."""
        for at in in_order(held.node for held in self._encrypted.values()):
            if at.vector is not None:
                at.vector = at.vector.to_host()
        for transform in self._transforms.values():
            transform.recordings.clear()
        self._recordings.clear()

    def _add_plain(self, plain: Plain) -> int:
        found = next_number()
        self._plain[found] = plain
        return found

    def _add(self, at: Node, scale: int, pending: bool = False) -> int:
        found = next_number()
        self._encrypted[found] = Encrypted(at, scale, pending)
        return found

    def _rescaled(self, encrypted: int, what: str) -> Encrypted:
        held = self._encrypted[encrypted]
        if held.pending:
            raise errors.MismatchError(f"{what}: a product has to be rescaled first (Rescale)")
        return held

    # Computing

    def _compute(self) -> None:
        """All values that Orion holds: what they have in common is computed once."""
        held = {id(held.node): held.node for held in self._encrypted.values()}
        roots = [at for at in held.values() if at.vector is None]
        if not roots:
            return
        nodes = in_order(roots)
        execution = self._planned(nodes, roots)
        self._keys.want_level(execution.rotated)
        server = self._keys.server
        inputs = [at for at in nodes if at.vector is not None]
        for at in inputs:
            if at.vector is not None and at.vector.device is None:
                at.vector = server.upload(at.vector)
        vectors = [at.vector for at in inputs if at.vector is not None]
        found = execution.run(server, self._recordings, vectors)
        self.bootstraps = execution.bootstraps
        asked = {id(root) for root in roots}
        for at, vector in zip([at for at in nodes if id(at) in asked], found, strict=True):
            at.become(vector)
        while len(self._recordings) > _MOST_RECORDINGS:
            self._recordings.pop(next(iter(self._recordings)))

    def _planned(self, nodes: list[Node], roots: list[Node]) -> Execution:
        """How to compute, which is decided once for computations alike."""
        places, asked = {id(at): i for i, at in enumerate(nodes)}, {id(root) for root in roots}
        key: Hashable = self._keys.bootstraps, tuple(
            (
                at.kind,
                key_of(at.value),
                tuple(places[id(source)] for source in at.sources),
                at.level,
                id(at) in asked,
            )
            for at in nodes
        )
        if key not in self._plans:
            rules = rules_of(self.parameters, self._highest, self._keys.bootstraps)
            ops = ops_of(nodes, roots)
            if rules.anywhere:
                ops = simplified(ops, self.slots)
            try:
                placed = place(ops, rules)
            except errors.OutOfLevelsError:
                # Of many values at once not all ways are looked at; Orion's own is one.
                ops = ops_of(nodes, roots)
                placed = place(ops, replace(rules, as_asked=True))
            self._plans[key] = Execution(ops, placed, self.slots, self._offset)
            if len(self._plans) > _MOST_PLANS:
                self._plans.pop(next(iter(self._plans)))
        return self._plans[key]

    # The scheme

    def DeleteScheme(self) -> None:
        for table in (self._plain, self._encrypted, self._polynomials, self._transforms):
            table.clear()
        self._plans.clear()
        self._recordings.clear()

    def FreeCArray(self, _pointer: object) -> None:
        """Arrays are Python's."""

    def GetModuliChain(self) -> list[int]:
        return list(self._moduli)

    # Keys

    def NewKeyGenerator(self) -> None:
        """Keys are made by the secret key."""

    def GenerateSecretKey(self) -> None:
        self._keys.set_client(ckks.ClientKey.generate(self.parameters))

    def GeneratePublicKey(self) -> None:
        """Whoever has a scheme of Orion has the secret key, which encrypts with less noise."""

    def GenerateRelinearizationKey(self) -> None:
        """Made with the others."""

    def GenerateEvaluationKeys(self) -> None:
        """Made when they are needed."""

    def SerializeSecretKey(self) -> tuple[NDArray[np.uint8], None]:
        return np.frombuffer(self._keys.client.to_bytes(), np.uint8), None

    def LoadSecretKey(self, data: NDArray[np.uint8]) -> None:
        key = ckks.ClientKey.from_bytes(np.asarray(data, np.uint8).tobytes(), self.parameters)
        self._keys.set_client(key)

    # Encoding and encryption

    def NewEncoder(self) -> None:
        """Sets have their encoder."""

    def NewEncryptor(self) -> None:
        """The secret key encrypts."""

    def NewDecryptor(self) -> None:
        """The secret key decrypts."""

    def Encode(self, values: Sequence[float], level: int, scale: int) -> int:
        padded = np.zeros(self.slots)
        if len(values) > self.slots:
            raise errors.MismatchError(f"Encode: {len(values)} values, {self.slots} slots")
        padded[: len(values)] = values
        if not 0 <= level <= self._top:
            raise errors.MismatchError(f"Encode: level {level}: there are 0 to {self._top}")
        return self._add_plain(Plain(Vector(padded), int(level), int(scale)))

    def Decode(self, plain: int) -> list[float]:
        return self._plain[plain].vector.values.tolist()  # type: ignore[no-any-return]

    def Encrypt(self, plain: int) -> int:
        held = self._plain[plain]
        if held.vector.largest > self._magnitude:
            why = (
                f"Encrypt: a value exceeds {self._magnitude:g}, which is declared: "
                "girih.orion.install(magnitude=m) declares m"
            )
            raise errors.MismatchError(why)
        vector = self._keys.client.encrypt(
            held.vector.values, level=held.level + self._offset, magnitude=self._magnitude
        )
        return self._add(Node("input", (), None, held.level, vector), held.scale)

    def Decrypt(self, encrypted: int) -> int:
        held = self._encrypted[encrypted]
        self._compute()
        assert held.node.vector is not None
        values = np.asarray(self._keys.client.decrypt(held.node.vector), np.float64)
        return self._add_plain(Plain(Vector(values), held.level, held.scale))

    # Plaintexts and ciphertexts

    def DeletePlaintext(self, plain: int) -> None:
        self._plain.pop(plain, None)

    def DeleteCiphertext(self, encrypted: int) -> None:
        self._encrypted.pop(encrypted, None)

    def GetPlaintextScale(self, plain: int) -> int:
        return self._plain[plain].scale

    def GetCiphertextScale(self, encrypted: int) -> int:
        return self._encrypted[encrypted].scale

    def SetPlaintextScale(self, plain: int, scale: int) -> None:
        held = self._plain[plain]
        held.vector, held.scale = held.vector.times(held.scale / scale), int(scale)

    def _multiple(self, x: Node, factor: int) -> Node:
        """x times a whole number, at no level."""
        if abs(factor) >= 1 << 32:
            raise errors.UnsupportedError(f"a product with {factor}: whole numbers reach 2^32")
        return node("times", (x,), factor, "a product with a whole number")

    def SetCiphertextScale(self, encrypted: int, scale: int) -> None:
        """Values of a ciphertext that is read at another scale are multiples of what they were."""
        held = self._encrypted[encrypted]
        factor = held.scale / scale
        if factor != 1:
            if factor != round(factor):
                why = (
                    f"SetCiphertextScale: {scale} in the place of {held.scale} multiplies values "
                    f"by {factor:g}: girih does so for whole numbers"
                )
                raise errors.UnsupportedError(why)
            held.node = self._multiple(held.node, round(factor))
        held.scale = int(scale)

    def GetPlaintextLevel(self, plain: int) -> int:
        return self._plain[plain].level

    def GetCiphertextLevel(self, encrypted: int) -> int:
        return min(self._encrypted[encrypted].level, self._top)

    def GetPlaintextSlots(self, _plain: int) -> int:
        return self.slots

    def GetCiphertextSlots(self, _encrypted: int) -> int:
        return self.slots

    def GetCiphertextDegree(self, _encrypted: int) -> int:
        return 1

    def GetLivePlaintexts(self) -> list[int]:
        return list(self._plain)

    def GetLiveCiphertexts(self) -> list[int]:
        return list(self._encrypted)
