"""girih as a back end of Orion, which compiles networks of PyTorch (``pip install orion-fhe``).

    >>> import orion
    >>> import girih.orion
    >>> girih.orion.install(device="cpu")
    >>> scheme = orion.init_scheme("mlp.yml")

From then on Orion encrypts and computes with girih on that device: the rest of a program stays as
Orion's documentation has it. Nothing of Orion is changed on disk, and ``uninstall`` gives it its
own back end again.

Numbers of Orion's set become those of a set of girih: `girih.orion.parameters` says which, and what
cannot be had is refused by the name of the parameter. A set of girih has one scale a level, so
scales that Orion names stand beside ciphertexts: values are what they would be at that scale.
"""

from __future__ import annotations

import importlib
from importlib import metadata
from typing import Any

from .. import errors
from ._backend import Backend
from ._parameters import parameters

__all__ = ["Backend", "install", "parameters", "uninstall"]

#: The release of Orion whose interface this is.
_RELEASE = "1.0.2"

#: What Orion had before `install`.
_own: Any = None


def _scheme() -> Any:
    """Orion's class of schemes."""
    try:
        release = metadata.version("orion-fhe")
    except metadata.PackageNotFoundError:
        why = f"Orion is not installed: pip install orion-fhe=={_RELEASE}"
        raise errors.UnsupportedError(why) from None
    if release != _RELEASE:
        why = f"orion-fhe {release}: the back end is for {_RELEASE}"
        raise errors.UnsupportedError(why)
    return importlib.import_module("orion.core.orion").Scheme


def _untraced(backend: Backend) -> Backend:
    """Has PyTorch's compiler call the back end, and not look into it: Orion calls `compile` of all
    modules, which for its sums and products is PyTorch's own."""
    disable = importlib.import_module("torch").compiler.disable
    for name in dir(backend):
        if name[0].isupper():
            setattr(backend, name, disable(getattr(backend, name)))
    return backend


def install(
    device: str | None = None, *, magnitude: float = 16.0, insecure: bool = False
) -> None:
    """Makes girih, on `device`, the back end of every scheme that Orion sets up from now on.

    No value that is encrypted may exceed `magnitude`, which is public. With `insecure` sets need
    not be secure, and are named INSECURE_: for tests.

    :raises girih.errors.UnsupportedError: where Orion is missing, or is another release.
    """
    global _own
    scheme = _scheme()
    if not magnitude > 0:
        raise errors.MismatchError(f"magnitude={magnitude}: it must be positive")

    def setup_backend(_scheme: Any, params: Any) -> Backend:
        return _untraced(Backend(params, device, magnitude=magnitude, insecure=insecure))

    if _own is None:
        _own = scheme.setup_backend
    scheme.setup_backend = setup_backend


def uninstall() -> None:
    """Gives Orion its own back end again, for schemes that are set up from now on."""
    global _own
    if _own is not None:
        _scheme().setup_backend = _own
        _own = None
