"""A compiled model."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import ArrayLike

from .. import ckks, errors
from . import _client, _costs, _file
from ._client import ClientPart
from ._costs import Costs
from ._levels import Placed
from ._ops import Network, Op
from ._run import Prepared
from ._sparse import Floats
from ._stages import Program, Stage

_KIND = "a model"

#: Names of arrays of samples.
_SAMPLES = ("sample.inputs", "sample.results", "sample.plain")


@dataclass(frozen=True, eq=False)
class Model:
    """A network ready to run on encrypted inputs: made by `compile`, read by `load`, neither of
    which needs PyTorch to be used afterwards.

    A model holds weights in the clear, for whoever computes. Owners of data need its `client_part`
    alone.
    """

    name: str
    program: Program = field(repr=False)
    placed: list[Placed] = field(repr=False)
    client: ClientPart = field(repr=False)
    #: Of each stage: diagonals, baby steps, giant steps, rotations of sums.
    counts: list[Any] = field(repr=False)
    #: The largest distance from the module on the calibration batch, in the clear, and the
    #: magnitude of the module's results there.
    calibration_error: float
    calibration_reach: float
    #: What layers and bootstrappings were placed by.
    costs: Costs = field(repr=False)
    #: Inputs to try it with, what the module makes of them, and what `plain` does, if some were
    #: stored.
    samples: tuple[Floats, Floats, Floats] | None = field(default=None, repr=False)
    _prepared: list[Prepared] = field(default_factory=list, repr=False, compare=False)

    @property
    def parameters(self) -> ckks.Parameters:
        """The set of parameters."""
        return self.client.parameters

    @property
    def bootstrappings(self) -> int:
        """Bootstrappings of one run."""
        parts = self._parts()
        return sum(
            sum(parts[s] for s in p.refreshed) + (p.before + p.after) * count
            for p, count in zip(self.placed, parts, strict=True)
        )

    def _parts(self) -> list[int]:
        """Ciphertexts of what each stage makes."""
        most = self.client.slots // self.client.rows
        return [stage.place.parts(most) for stage in self.program.stages]

    @property
    def rotations(self) -> int:
        """Rotations of one run, those of bootstrappings aside."""
        return sum(sum(steps) for _, *steps in self.counts)

    @property
    def products(self) -> int:
        """Products of two ciphertexts of one run, those of bootstrappings aside."""
        return sum(
            count * ((stage.function.products if stage.function else 0) + stage.is_product)
            for stage, count in zip(self.program.stages, self._parts(), strict=True)
        )

    # The client

    def client_part(self) -> ClientPart:
        """What the owner of the data needs: no weights are in it."""
        return self.client

    def keys(self, client: ckks.ClientKey, *, progress: Any = None) -> ckks.EvaluationKeys:
        """The evaluation keys that the model needs; see ClientPart.keys."""
        return self.client.keys(client, progress=progress)

    def encrypt(self, client: ckks.ClientKey, x: ArrayLike) -> ckks.Ciphertexts:
        """Encrypts a batch of inputs; see ClientPart.encrypt."""
        return self.client.encrypt(client, x)

    def decrypt(
        self, client: ckks.ClientKey, encrypted: ckks.Ciphertexts, count: int | None = None
    ) -> Floats:
        """The results; see ClientPart.decrypt."""
        return self.client.decrypt(client, encrypted, count)

    def decrypt_to_share(
        self, client: ckks.ClientKey, encrypted: ckks.Ciphertexts, bits: int, *, error: float,
        count: int | None = None,
    ) -> tuple[Floats, float]:
        """The results for others; see ClientPart.decrypt_to_share."""  # fmt: skip
        return self.client.decrypt_to_share(client, encrypted, bits, error=error, count=count)

    # The server

    def server(
        self, keys: ckks.EvaluationKeys | ckks.ClientKey, device: str | None = None, *,
        progress: Any = None,
    ) -> ckks.ServerKey:
        """The client's keys on a device, as models want them: ranges are those of the calibration,
        where bounds of any weights and inputs would refuse sums that stay small.

        Of a client key they are made while they are loaded, for who computes on data of their own.
        """  # fmt: skip
        if isinstance(keys, ckks.ClientKey):
            self.client._check_key(keys)
            wanted = self.client._wanted()
            return keys.server_key(device, **wanted, may_wrap=True, progress=progress)
        if not isinstance(keys, ckks.EvaluationKeys):
            raise TypeError(f"girih.ckks.EvaluationKeys are needed, not {type(keys).__name__}")
        if keys.parameters != self.parameters:
            why = f"keys of {keys.parameters.name}: this model is for {self.parameters.name}"
            raise errors.MismatchError(why)
        return ckks.ServerKey(keys, device, may_wrap=True, progress=progress)

    def prepare(self, server: ckks.ServerKey) -> None:
        """Encodes weights and records all steps on a server: what the first run does otherwise. A
        model keeps them for the last server that it met."""
        if not isinstance(server, ckks.ServerKey):
            raise TypeError(f"a girih.ckks.ServerKey is needed, not {type(server).__name__}")
        if server.parameters != self.parameters:
            why = f"a server of {server.parameters.name}: this model is for {self.parameters.name}"
            raise errors.MismatchError(why)
        if not self._prepared or self._prepared[0].server is not server:
            part = self.client
            made = Prepared(server, self.program, self.placed, part.rows, part.slots)
            self._prepared[:] = [made]

    def run(
        self, server: ckks.ServerKey, encrypted: ckks.Ciphertexts, *, progress: Any = None
    ) -> ckks.Ciphertexts:
        """Computes the model of encrypted inputs: what `decrypt` reads. `progress` hears of its
        steps, all of which are counted before the first; a GPU may still be at those that are
        done."""
        if not isinstance(encrypted, ckks.Ciphertexts):
            raise TypeError(f"girih.ckks.Ciphertexts are needed, not {type(encrypted).__name__}")
        self.prepare(server)
        part = self.client
        shape = (part.slots,) if part.parts == 1 else (part.parts, part.slots)
        if (encrypted.shape[1:], encrypted.level) != (shape, part.level):
            why = (
                f"vectors of shape {encrypted.shape} at level {encrypted.level}: what encrypt() "
                f"returns has (.., {', '.join(map(str, shape))}) at level {part.level}"
            )
            raise errors.MismatchError(why)
        if encrypted.device is None:
            encrypted = server.upload(encrypted)
        parts = [encrypted[:, at] for at in range(part.parts)] if part.parts > 1 else [encrypted]
        return self._prepared[0].run(parts, progress)

    # In the clear

    def plain(self, x: ArrayLike) -> Floats:
        """The same polynomials in the clear, of a batch of inputs: what an encrypted run comes
        near to."""
        inputs = _client.checked_inputs(self.client, x)
        results = self.program.plain(inputs.reshape(len(inputs), -1))
        return results.reshape(len(inputs), *self.client.output_shape)

    def summary(self) -> str:
        """Stages, levels, bootstrappings and ranges, as a table."""
        rows = [("layer", "function", "range", "levels", "diagonals", "rotations", "bootstrapped")]
        parts = zip(self.program.stages, self.placed, self.counts, strict=True)
        for k, (stage, placed, (diagonals, *steps)) in enumerate(parts):
            function = stage.function
            what = "product" if stage.is_product else ""
            what = f"{function.name} {function.degrees}" if function else what
            moved = [f"of {self.program.stages[s].name}" for s in placed.refreshed]
            moved += ["before"] * placed.before + ["after"] * placed.after
            begin = f"{placed.level} > {placed.level - 1}" if k else ""
            levels = f"{begin} | {placed.function} > {placed.function - stage.levels}"
            if not function:
                levels = begin or str(placed.result)
            numbers = (f"{stage.bound:.3g}", levels, str(diagonals or ""), str(sum(steps) or ""))
            rows.append((stage.name, what, *numbers, ", ".join(moved)))
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        padded = ([c.ljust(w) for c, w in zip(row, widths, strict=True)] for row in rows)
        lines = ["  ".join(row).rstrip() for row in padded]
        client = self.client
        share = self.calibration_error / max(self.calibration_reach, 1e-300)
        lines += [
            "",
            f"{self.name}: {self.parameters.name}, {_held(client)}",
            f"placed by the costs of: {self.costs.device}",
            f"{self.bootstrappings} bootstrappings, {self.rotations} rotations and "
            f"{self.products} products besides, {len(client.rotations)} rotation keys",
            f"polynomials are within {self.calibration_error:.2e} of the module on its calibration "
            f"batch,",
            f"{share:.1e} of its largest result",
        ]
        return "\n".join(lines)

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file that `load` reads, without PyTorch. It holds the weights in the clear and
        nothing of any key."""
        network = self.program.network
        arrays: dict[str, Any] = {f"weight.{name}": a for name, a in network.arrays.items()}
        if self.samples:
            arrays |= dict(zip(_SAMPLES, self.samples, strict=True))
        header = {
            "name": self.name,
            "ops": [vars(op) for op in network.ops],
            "stages": [stage.written() for stage in self.program.stages],
            "placed": [placed.written() for placed in self.placed],
            "client": _client.written(self.client),
            "counts": self.counts,
            "calibration": [self.calibration_error, self.calibration_reach],
            "costs": _costs.written(self.costs),
        }
        _file.save(path, _KIND, header, arrays)


def _held(client: ClientPart) -> str:
    """How inputs lie in ciphertexts."""
    if client.parts > 1:
        return f"an input in {client.parts} ciphertexts of {client.slots} slots"
    return f"{client.rows} inputs in {client.slots} slots"


def load(path: str | os.PathLike[str]) -> Model:
    """Reads what Model.save wrote."""
    header, arrays = _file.load(path, _KIND)

    def read() -> Model:
        weights = {name[7:]: a for name, a in arrays.items() if name.startswith("weight.")}
        ops = [
            Op(**{**op, **{key: tuple(op[key]) for key in ("inputs", "shape", "arrays")}})
            for op in header["ops"]
        ]
        samples = None
        if _SAMPLES[0] in arrays:
            inputs, results, plain = (arrays[name] for name in _SAMPLES)
            samples = (inputs, results, plain)
        error, reach = header["calibration"]
        placed = [Placed(**{**p, "refreshed": tuple(p["refreshed"])}) for p in header["placed"]]
        stages = [Stage.read(stage) for stage in header["stages"]]
        return Model(
            str(header["name"]), Program(Network(ops, weights), stages), placed,
            _client.read(header["client"]), header["counts"], error, reach,
            _costs.read(header["costs"]), samples,
        )  # fmt: skip

    return _file.checked(path, read)
