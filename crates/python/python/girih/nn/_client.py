"""What the owner of the data needs of a model: where numbers lie, and no weights."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import ckks, errors
from . import _file
from ._places import Place
from ._sparse import Floats


_KIND = "the client's part of a model"


@dataclass(frozen=True)
class ClientPart:
    """Encrypts what a model takes and reads what it leaves: shapes, slots, levels and ranges, which
    are public. It holds no weights."""

    #: The set of parameters.
    parameters: ckks.Parameters
    #: Shapes of an input and of a result.
    input_shape: tuple[int, ...]
    output_shape: tuple[int, ...]
    #: Inputs that share a ciphertext, which takes as long with one. One input may need several
    #: ciphertexts instead.
    rows: int
    #: Slots of a ciphertext.
    slots: int
    #: No number of an input may be larger in magnitude.
    input_range: float
    #: What results are divided by in ciphertexts.
    output_range: float
    #: The level of encryption.
    level: int
    #: The highest level of anything, and of each rotation; whether there are bootstrappings.
    key_level: int
    rotations: dict[int, int]
    bootstraps: bool
    input_place: Place = field(repr=False)
    output_place: Place = field(repr=False)

    @property
    def parts(self) -> int:
        """Ciphertexts of an input."""
        return self.input_place.parts(self.slots // self.rows)

    def keys(self, client: ckks.ClientKey, *, progress: Any = None) -> ckks.EvaluationKeys:
        """The evaluation keys that the model needs, which are public: for its rotations, each up
        to the level where it is used, for products, and for bootstrappings."""
        self._check_key(client)
        return client.evaluation_keys(**self._wanted(), progress=progress)

    def _wanted(self) -> dict[str, Any]:
        """What the keys are for, as `evaluation_keys` of a client key takes it."""
        return {
            "rotations": self.rotations,
            "conjugation": self.bootstraps,
            "bootstrapping": self.slots if self.bootstraps else None,
            "level": self.key_level,
        }

    def _check_key(self, client: ckks.ClientKey) -> None:
        if not isinstance(client, ckks.ClientKey):
            raise TypeError(f"a girih.ckks.ClientKey is needed, not {type(client).__name__}")
        if client.parameters != self.parameters:
            why = (
                f"a key of {client.parameters.name}: this model is for {self.parameters.name}; "
                "ckks.ClientKey.generate(model.parameters) makes one"
            )
            raise errors.MismatchError(why)

    def encrypt(self, client: ckks.ClientKey, x: ArrayLike) -> ckks.Ciphertexts:
        """Encrypts a batch of inputs (inputs, \\*input_shape): `rows` of them a ciphertext; where
        an input takes several, an array (inputs, parts, slots)."""
        self._check_key(client)
        found = checked_inputs(self, x) / self.input_range
        count = -(-len(found) // self.rows)
        # Places that are left repeat inputs: zeros might leave the ranges of functions.
        found = np.resize(found.reshape(len(found), -1), (count * self.rows, found[0].size))
        period = self.slots // self.rows * self.parts
        at = self.input_place.slots()
        copies = np.arange(0, period, self.input_place.period)
        vectors = np.zeros((count, period, self.rows))
        numbers = found.reshape(count, self.rows, -1).transpose(0, 2, 1)
        for copy in copies:
            vectors[:, at + copy, :] = numbers
        shape = (count, -1) if self.parts == 1 else (count, self.parts, -1)
        return client.encrypt(vectors.reshape(shape), level=self.level, magnitude=1.0)

    def decrypt(
        self, client: ckks.ClientKey, encrypted: ckks.Ciphertexts, count: int | None = None
    ) -> Floats:
        """The results, (inputs, \\*output_shape), for the owner of the key alone; with `count` the
        first so many, as many as there were inputs."""
        self._check_results(client, encrypted)
        return self._numbers(np.asarray(client.decrypt(encrypted), np.float64), count)

    def decrypt_to_share(
        self, client: ckks.ClientKey, encrypted: ckks.Ciphertexts, bits: int, *, error: float,
        count: int | None = None,
    ) -> tuple[Floats, float]:
        """The results for others, with noise that hides what their errors tell about the key, as
        ckks.ClientKey.decrypt_to_share says: no result errs by more than `error`. Returns how many
        bits after the binary point are left, too."""  # fmt: skip
        self._check_results(client, encrypted)
        if isinstance(error, bool) or not isinstance(error, (int, float)):
            raise TypeError(f"error must be a number, not {type(error).__name__}")
        vectors, left = client.decrypt_to_share(encrypted, bits, error=error / self.output_range)
        numbers = self._numbers(np.asarray(vectors, np.float64), count)
        return numbers, left - math.log2(self.output_range)

    def _check_results(self, client: ckks.ClientKey, encrypted: ckks.Ciphertexts) -> None:
        self._check_key(client)
        if not isinstance(encrypted, ckks.Ciphertexts):
            raise TypeError(f"girih.ckks.Ciphertexts are needed, not {type(encrypted).__name__}")
        if encrypted.ndim != 2 or encrypted.slots != self.slots:
            why = f"vectors of shape {encrypted.shape}: what run() returns has (.., {self.slots})"
            raise errors.MismatchError(why)

    def _numbers(self, vectors: Floats, count: int | None) -> Floats:
        """The results in decrypted vectors."""
        rows = vectors.reshape(len(vectors), -1, self.rows).transpose(0, 2, 1)
        numbers = rows[:, :, self.output_place.slots()].reshape(-1, *self.output_shape)
        if count is None:
            return numbers * self.output_range
        if isinstance(count, bool) or not isinstance(count, int) or not 0 < count <= len(numbers):
            raise errors.MismatchError(f"count={count!r}: there are 1 to {len(numbers)} results")
        return numbers[:count] * self.output_range

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file of some kilobytes, of which nothing is secret."""
        _file.save(path, _KIND, {"client": written(self)}, {})

    @staticmethod
    def load(path: str | os.PathLike[str]) -> ClientPart:
        """Reads what save wrote."""
        header, _ = _file.load(path, _KIND)
        return _file.checked(path, lambda: read(header["client"]))


def checked_inputs(part: ClientPart, x: ArrayLike) -> Floats:
    """A batch of inputs: of their shape, finite, within the range."""
    try:
        found = np.asarray(x)
    except ValueError as error:
        raise errors.MismatchError(f"inputs must be an array of numbers: {error}") from None
    if found.dtype.kind not in "biuf":
        raise errors.MismatchError(f"inputs must be real numbers, not of type {found.dtype}")
    found, shape = found.astype(np.float64), part.input_shape
    if found.ndim != len(shape) + 1 or found.shape[1:] != shape or not len(found):
        why = f"inputs of shape {found.shape}: it must be {('inputs', *shape)}"
        raise errors.MismatchError(why)
    largest = float(np.abs(found).max())
    if not largest <= part.input_range:
        why = (
            f"a number of an input reaches {largest:.4g}: the model was compiled for "
            f"{part.input_range:.4g}, what its calibration reaches times the margin"
        )
        raise errors.MismatchError(why)
    return found


def written(part: ClientPart) -> dict[str, Any]:
    """A client's part as text."""
    found: dict[str, Any] = {f.name: getattr(part, f.name) for f in fields(part)}
    found["parameters"] = part.parameters.to_toml()
    found["rotations"] = [[by, level] for by, level in part.rotations.items()]
    for name in ("input_place", "output_place"):
        found[name] = found[name].written()
    return found


def read(written: dict[str, Any]) -> ClientPart:
    """What `written` wrote."""
    found = {f.name: written[f.name] for f in fields(ClientPart)}
    found["parameters"] = ckks.Parameters.from_toml(found["parameters"])
    found["rotations"] = {int(by): int(level) for by, level in found["rotations"]}
    for name in ("input_shape", "output_shape"):
        found[name] = tuple(found[name])
    for name in ("input_place", "output_place"):
        found[name] = Place.read(found[name])
    return ClientPart(**found)
