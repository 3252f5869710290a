"""A program of HEIR, ready to run on encrypted inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import ckks, errors
from ._calls import Functions, arguments, flat_of, given, parts
from ._ciphertexts import Floats
from ._machines import Client, Plain, Prepared, Recorded, Trace
from ._text import Module


@dataclass(frozen=True)
class Argument:
    """An argument of a program."""

    #: The shape of its array; () of a single number.
    shape: tuple[int, ...]
    #: Whether it is encrypted; what is not is known to whoever computes.
    encrypted: bool


@dataclass(frozen=True, eq=False)
class Program:
    """A function that HEIR compiled for CKKS: made by `read`.

    The text holds constants of the program in the clear, which are for whoever computes; clients
    that are not to know them are given the text without the functions that compute.
    """

    name: str
    #: What it takes and what it returns, in order.
    arguments: tuple[Argument, ...]
    results: tuple[Argument, ...]
    #: The set of parameters, slots of a ciphertext, and levels that are used up.
    parameters: ckks.Parameters
    slots: int
    levels: int
    #: What the numbers of encrypted arguments reach at most.
    magnitude: float
    #: Known arguments, in order, where they are set.
    known: tuple[Floats, ...] | None = field(repr=False)
    _functions: Functions = field(repr=False)
    _module: Module = field(repr=False)
    _trace: Trace = field(repr=False)
    _bounds: list[float] | None = field(default=None, repr=False)
    #: What is made of known arguments before ciphertexts are met.
    _plaintexts: Prepared = field(default_factory=dict, repr=False)
    _prepared: list[tuple[ckks.ServerKey, ckks.Recording]] = field(
        default_factory=list, repr=False
    )

    def with_known(self, *arrays: ArrayLike) -> Program:
        """The program with its arguments that are not encrypted: weights, for whoever computes."""
        wanted = [argument.shape for argument in self.arguments if not argument.encrypted]
        if len(arrays) != len(wanted):
            why = f"{len(arrays)} known arguments, @{self.name} has {len(wanted)}: {wanted}"
            raise errors.MismatchError(why)
        known = tuple(_array(x, shape) for x, shape in zip(arrays, wanted, strict=True))
        return replace(self, known=known, _bounds=None, _prepared=[], _plaintexts={})

    def with_ranges(self, *samples: Sequence[ArrayLike], margin: float = 1.25) -> Program:
        """The program with what its values reach on samples, times `margin`, as a bound of each:
        for programs whose own bounds are so large that they are refused.

        Each sample is a list of the arrays that are encrypted. Nobody checks that other inputs keep
        to these bounds: results of those that do not may be wrong.
        """
        if not samples:
            raise errors.MismatchError("ranges need one sample at least")
        if isinstance(margin, bool) or not 1 <= margin < math.inf:
            raise errors.MismatchError(f"margin={margin}: ranges are the samples' times 1 or more")
        reached: list[float] = []
        for sample in samples:
            machine = self._plain(self._checked(sample))[0]
            reached = [max(pair) for pair in zip(reached or machine.reached, machine.reached)]
        bounds = [margin * bound or 1.0 for bound in reached]
        return replace(self, _bounds=bounds, _prepared=[])

    @property
    def bootstraps(self) -> bool:
        """Whether ciphertexts are bootstrapped on the way."""
        return self._trace.bootstraps is not None

    # The client

    def keys(self, client: ckks.ClientKey, *, progress: Any = None) -> ckks.EvaluationKeys:
        """The evaluation keys that the program needs, which are public."""
        self._check_key(client)
        return client.evaluation_keys(**self._wanted(), progress=progress)

    def _wanted(self) -> dict[str, Any]:
        """What the keys are for."""
        return {
            "multiplication": self._trace.multiplies,
            "rotations": {by: self.levels - used for by, used in self._trace.rotations.items()},
            "conjugation": self.bootstraps,
            "bootstrapping": self.slots if self.bootstraps else None,
            "level": self.levels,
        }

    def encrypt(self, client: ckks.ClientKey, *inputs: ArrayLike) -> list[ckks.Ciphertexts]:
        """Encrypts the arrays that the program takes encrypted, none of whose numbers may exceed
        `magnitude`: as many ciphertexts as HEIR packs them into."""
        self._check_key(client)
        vectors = self._packed(self._checked(inputs))
        how = {"slots": self.slots, "level": self.levels}
        return [client.encrypt(v, magnitude=self.magnitude, **how) for v in vectors]

    def decrypt(self, client: ckks.ClientKey, results: Sequence[ckks.Ciphertexts]) -> list[Any]:
        """The results, an array or a number each, for the owner of the key alone."""
        vectors = [np.asarray(client.decrypt(x)) for x in self._encrypted_results(client, results)]
        return self._unpacked(vectors)

    def decrypt_to_share(
        self, client: ckks.ClientKey, results: Sequence[ckks.Ciphertexts], bits: int, *,
        error: float,
    ) -> tuple[list[Any], float]:
        """The results for others, with noise that hides what their errors tell about the key, as
        ckks.ClientKey.decrypt_to_share says: no number of a slot errs by more than `error`. Returns
        how many bits after the binary point are left, too."""  # fmt: skip
        found = self._encrypted_results(client, results)
        pairs = [client.decrypt_to_share(x, bits, error=error) for x in found]
        numbers = self._unpacked([np.asarray(vector) for vector, _ in pairs])
        return numbers, min(left for _, left in pairs)

    # The server

    def server(
        self, keys: ckks.EvaluationKeys | ckks.ClientKey, device: str | None = None, *,
        progress: Any = None,
    ) -> ckks.ServerKey:
        """The client's keys on a device. Of a client key they are made while they are loaded, for
        who computes on data of their own."""  # fmt: skip
        if isinstance(keys, ckks.ClientKey):
            self._check_key(keys)
            return keys.server_key(device, **self._wanted(), progress=progress)
        if not isinstance(keys, ckks.EvaluationKeys):
            raise TypeError(f"girih.ckks.EvaluationKeys are needed, not {type(keys).__name__}")
        self._check_set(keys.parameters, "keys")
        return ckks.ServerKey(keys, device, progress=progress)

    def prepare(self, server: ckks.ServerKey) -> None:
        """Records the program on a server, its constants encoded: what the first run does
        otherwise. It is kept for the last server that it met."""
        if not isinstance(server, ckks.ServerKey):
            raise TypeError(f"a girih.ckks.ServerKey is needed, not {type(server).__name__}")
        self._check_set(server.parameters, "a server")
        if self._prepared and self._prepared[0][0] is server:
            return
        known = self._known_arrays()

        def computed(*inputs: ckks.Ciphertexts) -> list[ckks.Ciphertexts]:
            machine = Recorded(self.slots, self._trace.factors, self._bounds, self._plaintexts)
            return list(flat_of(self._evaluate(machine, list(inputs), known)))

        shapes = [(self.levels, self.slots)] * self._trace.encrypted
        self._prepared[:] = [(server, server.record(computed, *shapes))]

    def run(
        self, server: ckks.ServerKey, inputs: Sequence[ckks.Ciphertexts]
    ) -> list[ckks.Ciphertexts]:
        """Computes the program of what `encrypt` returned: what `decrypt` reads."""
        inputs = _listed(inputs)
        self.prepare(server)
        count = self._trace.encrypted
        if len(inputs) != count:
            why = f"{len(inputs)} ciphertexts, encrypt() returns {count}"
            raise errors.MismatchError(why)
        for x in inputs:
            if (x.ndim, x.slots, x.level) != (1, self.slots, self.levels):
                why = (
                    f"a ciphertext of shape {x.shape} at level {x.level}: what encrypt() returns "
                    f"has ({self.slots},) at level {self.levels}"
                )
                raise errors.MismatchError(why)
        moved = [server.upload(x) if x.device is None else x for x in inputs]
        try:
            found = self._prepared[0][1](*moved)
        except errors.Error as error:
            if self._bounds is not None or "with_magnitude" not in str(error):
                raise
            why = f"@{self.name}: {error}. Of programs samples declare it: with_ranges(..)"
            raise type(error)(why) from error
        return [found] if isinstance(found, ckks.Ciphertexts) else list(found)

    def plain(self, *inputs: ArrayLike) -> list[Any]:
        """The same operations in the clear: what an encrypted run comes near to."""
        return self._plain(self._checked(inputs))[1]

    # Inside

    def _check_set(self, found: ckks.Parameters, what: str) -> None:
        if found != self.parameters:
            why = f"{what} of {found.name}: this program is for {self.parameters.name}"
            raise errors.MismatchError(why)

    def _check_key(self, client: ckks.ClientKey) -> None:
        if not isinstance(client, ckks.ClientKey):
            raise TypeError(f"a girih.ckks.ClientKey is needed, not {type(client).__name__}")
        self._check_set(client.parameters, "a key")

    def _checked(self, inputs: Sequence[ArrayLike]) -> list[Floats]:
        """The arrays that are encrypted: of their shapes, within their range."""
        wanted = [argument.shape for argument in self.arguments if argument.encrypted]
        if not isinstance(inputs, (list, tuple)) or len(inputs) != len(wanted):
            shapes = ", ".join(map(str, wanted))
            why = f"@{self.name} takes {len(wanted)} encrypted arguments, of shapes {shapes}"
            raise errors.MismatchError(why)
        found = [_array(x, shape) for x, shape in zip(inputs, wanted, strict=True)]
        largest = max(float(np.abs(x).max(initial=0)) for x in found)
        if largest > self.magnitude:
            within = f"numbers from -{self.magnitude:g} to {self.magnitude:g} are encrypted"
            why = f"an input reaches {largest:.4g}: {within}, read(.., magnitude=..) says which"
            raise errors.MismatchError(why)
        return found

    def _known_arrays(self) -> tuple[Floats, ...]:
        if self.known is None:
            shapes = [argument.shape for argument in self.arguments if not argument.encrypted]
            why = f"@{self.name} has known arguments of shapes {shapes}: with_known(..) sets them"
            raise errors.MismatchError(why)
        return self.known

    def _packed(self, inputs: list[Floats]) -> list[Floats]:
        machine, found = Client(self.slots), []
        names = [(name, [x]) for name, x in zip(self._parts("client.encrypt"), inputs, strict=True)]
        for name, x in names + [(name, []) for name in self._parts("client.encrypt_zero")]:
            places = self._functions.run(name, machine, given(self._module.functions[name], x))
            found += [machine.vectors[place] for place in flat_of(places)]
        return found

    def _parts(self, role: str) -> list[str]:
        return parts(self._module, self.name, role)

    def _encrypted_results(
        self, client: ckks.ClientKey, results: Sequence[ckks.Ciphertexts]
    ) -> list[ckks.Ciphertexts]:
        self._check_key(client)
        found = _listed(results)
        if any(x.shape != (self.slots,) for x in found):
            raise errors.MismatchError(f"results are what run() returns, of shape ({self.slots},)")
        return found

    def _unpacked(self, vectors: list[Floats]) -> list[Any]:
        machine, found, begin = Client(self.slots, vectors), [], 0
        for name in self._parts("client.decrypt"):
            function = self._module.functions[name]
            shapes = [t.shape for _, t in function.arguments if t.is_ciphertext]
            count = math.prod(shapes[0] or ())
            places = np.arange(begin, begin + count).reshape(shapes[0] or ()).astype(object)
            if begin + count > len(vectors):
                why = f"{len(vectors)} ciphertexts: run() returns more"
                raise errors.MismatchError(why)
            begin += count
            (result,) = self._functions.run(name, machine, given(function, [places]))
            found.append(np.array(result) if isinstance(result, np.ndarray) else float(result))
        if begin != len(vectors):
            raise errors.MismatchError(f"{len(vectors)} ciphertexts, run() returns {begin}")
        return found

    def _plain(self, inputs: list[Floats]) -> tuple[Plain, list[Any]]:
        machine = Plain(self.slots, self._plaintexts)
        vectors: list[Any] = list(self._packed(inputs))
        results = self._evaluate(machine, vectors, self._known_arrays())
        return machine, self._unpacked(list(flat_of(results)))

    def _evaluate(self, machine: Any, flat: list[Any], known: Sequence[Floats]) -> list[Any]:
        """The program on a machine, of ciphertexts in the order of encryption."""
        entry = self._module.functions[self.name]
        return self._functions.run(self.name, machine, arguments(entry, flat, known))


def _listed(given: Sequence[ckks.Ciphertexts]) -> list[ckks.Ciphertexts]:
    if not isinstance(given, (list, tuple)) or not all(
        isinstance(x, ckks.Ciphertexts) for x in given
    ):
        raise TypeError("a list of girih.ckks.Ciphertexts is needed")
    return list(given)


def _array(x: ArrayLike, shape: tuple[int, ...]) -> Floats:
    try:
        found = np.asarray(x)
    except ValueError as error:
        raise errors.MismatchError(f"an array of numbers is needed: {error}") from None
    if found.dtype.kind not in "biuf":
        raise errors.MismatchError(f"real numbers are needed, not of type {found.dtype}")
    if found.shape != shape:
        raise errors.MismatchError(f"an array of shape {found.shape}: it must be {shape}")
    found = found.astype(np.float64)
    if not np.isfinite(found).all():
        raise errors.MismatchError("numbers must be finite")
    return found
