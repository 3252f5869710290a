"""What Orion holds by numbers: plaintexts, ciphertexts, and the functions about them.

A ciphertext of Orion has a level and a scale. Here it is a vector at a level of a set of girih,
where operations see to scales themselves: a product goes down a level at once. Until Orion asks for
that by `Rescale`, it is *pending*, and tells the level and scale of before.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import ckks, errors
from ._keys import Keys
from ._parameters import parameters as set_of

#: Numbers of what Orion refers to; no two back ends share one, as things of an earlier scheme may
#: be deleted while a later one is in use.
_numbers = itertools.count(1)


def next_number() -> int:
    """A number that nothing has yet."""
    return next(_numbers)


#: Products with whole numbers up to here cost no level.
_WHOLE = 65536


@dataclass
class Plain:
    values: NDArray[np.float64]
    level: int
    scale: int


@dataclass
class Encrypted:
    vector: ckks.Ciphertexts
    scale: int
    #: Whether it is a product that Orion has not rescaled.
    pending: bool = False

    @property
    def level(self) -> int:
        return self.vector.level + self.pending


@dataclass
class Transform:
    map: ckks.LinearMap | None
    level: int
    #: The map recorded for vectors of a level and a scale.
    recordings: dict[tuple[int, float], ckks.Recording] = field(default_factory=dict)

    def run(self, server: ckks.ServerKey, vector: ckks.Ciphertexts) -> ckks.Ciphertexts:
        """The map of a vector; it is encoded when it first meets one of that level."""
        assert self.map is not None
        map, shape = self.map, (vector.level, vector.scale)
        if shape not in self.recordings:
            self.recordings[shape] = server.record(lambda x: x.transform(map), vector)
        return self.recordings[shape](vector)  # type: ignore[no-any-return]


def whole_multiple(vector: ckks.Ciphertexts, factor: int) -> ckks.Ciphertexts:
    """The vector times a whole number, at no level."""
    if abs(factor) <= _WHOLE:
        return vector * factor
    if abs(factor) >= _WHOLE**2:
        raise errors.UnsupportedError(f"a product with {factor}: whole numbers reach 2^32")
    high, low = divmod(factor, _WHOLE)
    return vector * high * _WHOLE + vector * low


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
        self._polynomials: dict[int, ckks.Polynomial] = {}
        self._transforms: dict[int, Transform] = {}
        self._keys = Keys(self.parameters, device, self._top, self._off_device)

    # Tables

    def _off_device(self) -> None:
        """Before the server is given up: vectors move to the host, recordings are made anew."""
        for held in self._encrypted.values():
            held.vector = held.vector.to_host()
        for transform in self._transforms.values():
            transform.recordings.clear()

    def _add_plain(self, plain: Plain) -> int:
        number = next_number()
        self._plain[number] = plain
        return number

    def _add(self, vector: ckks.Ciphertexts, scale: int, pending: bool = False) -> int:
        number = next_number()
        self._encrypted[number] = Encrypted(vector, scale, pending)
        return number

    def _loaded(self, number: int) -> Encrypted:
        """A ciphertext, on the device."""
        held = self._encrypted[number]
        server = self._keys.server
        if held.vector.device is None:
            held.vector = server.upload(held.vector)
        return held

    def _rescaled(self, number: int, what: str) -> Encrypted:
        held = self._loaded(number)
        if held.pending:
            raise errors.MismatchError(f"{what}: a product has to be rescaled first (Rescale)")
        return held

    # The scheme

    def DeleteScheme(self) -> None:
        for table in (self._plain, self._encrypted, self._polynomials, self._transforms):
            table.clear()

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
        return self._add_plain(Plain(padded, int(level), int(scale)))

    def Decode(self, plain: int) -> list[float]:
        return self._plain[plain].values.tolist()  # type: ignore[no-any-return]

    def Encrypt(self, plain: int) -> int:
        held = self._plain[plain]
        if np.abs(held.values).max() > self._magnitude:
            why = (
                f"Encrypt: a value exceeds {self._magnitude:g}, which is declared: "
                "girih.orion.install(magnitude=m) declares m"
            )
            raise errors.MismatchError(why)
        vector = self._keys.client.encrypt(
            held.values, level=held.level, magnitude=self._magnitude
        )
        return self._add(vector, held.scale)

    def Decrypt(self, encrypted: int) -> int:
        held = self._encrypted[encrypted]
        values = self._keys.client.decrypt(held.vector)
        return self._add_plain(Plain(values, held.level, held.scale))

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
        held.values, held.scale = held.values * (held.scale / scale), int(scale)

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
            held = self._loaded(encrypted)
            held.vector = whole_multiple(held.vector, round(factor))
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
