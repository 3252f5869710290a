"""Keys of a scheme, made by need, and the server that they are loaded into."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .. import ckks, errors


class Keys:
    """The secret key, and evaluation keys for what was asked for so far.

    Orion names rotations one by one, and computes when all are named: keys are made and loaded
    together, before the first computation after something new was asked for.
    """

    def __init__(
        self, parameters: ckks.Parameters, device: str | None, level: int, moved: Callable[[], None]
    ) -> None:
        self.parameters = parameters
        self._device = device
        self._level = level
        #: The highest level of a rotation so far; None before the first.
        self._rotated: int | None = None
        self._moved = moved
        self._client: ckks.ClientKey | None = None
        self._rotations: set[int] = set()
        self._bootstraps = False
        self._server: ckks.ServerKey | None = None

    @property
    def client(self) -> ckks.ClientKey:
        """The secret key."""
        if self._client is None:
            raise errors.MissingKeyError("there is no secret key: GenerateSecretKey comes first")
        return self._client

    def set_client(self, client: ckks.ClientKey) -> None:
        """Takes another secret key, under which nothing made before can be used."""
        self._unload()
        self._client = client

    def want_rotations(self, rotations: Iterable[int]) -> None:
        """Asks for rotations to the left."""
        new = {by % self.parameters.slots for by in rotations} - self._rotations - {0}
        if new:
            self._rotations |= new
            self._unload()

    def want_bootstrapping(self) -> None:
        """Asks for bootstrappings."""
        if not self.parameters.bootstraps:
            why = (
                f"boot_params: the network needs bootstrappings, and {self.parameters.name} has "
                "none: LogP of boot_params asks for a set that has, or more levels (LogQ) for a "
                "network that needs none"
            )
            raise errors.ParameterError(why)
        if not self._bootstraps:
            self._bootstraps = True
            self._unload()

    @property
    def bootstraps(self) -> bool:
        """Whether bootstrappings were asked for."""
        return self._bootstraps

    def want_level(self, level: int) -> None:
        """Rotations reach this level. The first computation tells how far keys reach; if a later
        one needs more, they reach as far as any can."""
        if self._rotated is None:
            self._rotated = level
        elif level > self._rotated:
            self._rotated = self._level
            self._unload()

    def _unload(self) -> None:
        if self._server is not None:
            self._moved()
            self._server = None

    @property
    def server(self) -> ckks.ServerKey:
        """All keys on the device."""
        if self._server is None:
            level = self._level if self._rotated is None else self._rotated
            # Orion declares no bounds of values, and composes no rotations itself.
            self._server = self.client.server_key(
                self._device,
                rotations=dict.fromkeys(sorted(self._rotations), level),
                bootstrapping=self.parameters.slots if self._bootstraps else None,
                level=None if self._bootstraps else self._level,
                may_wrap=True,
                compose_rotations=True,
            )
        return self._server
