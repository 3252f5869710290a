"""Servers of this process, loaded once: what a worker of any cluster engine calls.

Ray, Dask, Spark and `multiprocessing` (by ``spawn``) send keys to many processes, often with each
task. :func:`server` loads them on the first and finds them by ``key_id`` afterwards, so that a task
is a function of keys and ciphertexts::

    def gate(keys, a, b):
        with girih.worker.server(keys):
            return a & b

or, the same with the result in the memory of the process, ``girih.worker.run(keys, work, a, b)``.
Keys come as they are, or as a reference into a :class:`KeyFolder` that all machines see.

Servers that went unused for longest go when their keys together exceed :func:`limit` bytes.
"""

from __future__ import annotations

import os
import re
import tempfile
import threading
from collections import OrderedDict
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Iterator, Literal, Union, overload

from . import _girih, ckks, integer, wire
from .errors import MalformedError, MismatchError, MissingKeyError

AnyKeys = wire.Keys
AnyServer = Union[
    _girih.ServerKey, _girih.LargeServerKey, ckks.ServerKey, integer.ServerKey
]

_DEFAULT_LIMIT = 4 << 30
_KEY_ID = re.compile("[0-9a-f]{32}")
_SUFFIX = ".keys"


def _check_key_id(key_id: object) -> str:
    if not isinstance(key_id, str):
        raise TypeError(f"a key_id is a str, not {type(key_id).__name__}")
    if not _KEY_ID.fullmatch(key_id):
        raise MalformedError(f"a key_id is 32 hexadecimal digits, not {key_id[:40]!r}")
    return key_id


@dataclass(frozen=True)
class StoredKeys:
    """Evaluation keys in a file of a :class:`KeyFolder`: a reference of a few bytes to be sent."""

    path: str
    key_id: str

    def __post_init__(self) -> None:
        if not isinstance(self.path, str):
            raise TypeError(f"a path is a str, not {type(self.path).__name__}")
        _check_key_id(self.key_id)

    def _missing(self, error: OSError) -> MissingKeyError:
        return MissingKeyError(f"no keys {self.key_id}: {self.path}: {error.strerror}")

    def kinds(self) -> list[str]:
        """What there are keys for, as ``kinds`` of the keys; reads the file's header."""
        try:
            with open(self.path, "rb") as file:
                header = wire._header_of(file)
        except OSError as error:
            raise self._missing(error) from error
        if len(header) != 1 or header[0].get("key_id") != self.key_id:
            raise MalformedError(f"{self.path} does not hold the keys {self.key_id}")
        kinds: list[str] = header[0]["kinds"]
        return kinds

    def load(self) -> AnyKeys:
        """The keys themselves."""
        self.kinds()
        try:
            data = Path(self.path).read_bytes()
        except OSError as error:
            raise self._missing(error) from error
        keys: AnyKeys = wire.from_bytes(data)[0]
        return keys


class KeyFolder:
    """Evaluation keys by ``key_id``, each a file of :mod:`girih.wire` bytes below one folder.

    Files appear whole or not at all, and survive whoever wrote them; a folder that several machines
    mount serves all of them. Keys under a name stay those that came first: others are refused until
    they are removed, since a ``key_id`` is a name and no proof of whose keys these are.
    """

    def __init__(self, path: str | os.PathLike[str], limit: int | None = None) -> None:
        """Makes the folder where it is missing; ``limit`` is what all files may take, in bytes."""
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"a folder is a path, not {type(path).__name__}")
        if limit is not None:
            _check_limit(limit)
        self.path = Path(path).absolute()
        self.limit = limit
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            raise MismatchError(f"no folder of keys at {str(path)!r}: {error}") from error

    def __repr__(self) -> str:
        return f"girih.worker.KeyFolder({str(self.path)!r}, limit={self.limit})"

    def _file(self, key_id: str) -> Path:
        return self.path / (_check_key_id(key_id) + _SUFFIX)

    def __contains__(self, key_id: object) -> bool:
        known = isinstance(key_id, str) and _KEY_ID.fullmatch(key_id) is not None
        return known and self._file(str(key_id)).exists()

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(file.stem for file in self.path.glob("*" + _SUFFIX)))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, key_id: str) -> StoredKeys:
        """A reference to the keys of that name."""
        file = self._file(key_id)
        if not file.exists():
            raise MissingKeyError(f"no keys {key_id} in {self.path}: put(..) them there first")
        return StoredKeys(str(file), key_id)

    @property
    def nbytes(self) -> int:
        """Bytes of all files."""
        total = 0
        for file in self.path.glob("*" + _SUFFIX):
            try:
                total += file.stat().st_size
            except FileNotFoundError:
                continue  # removed meanwhile
        return total

    def put(self, keys: AnyKeys | bytes, key_id: str | None = None) -> StoredKeys:
        """Keeps keys, or bytes of ``girih.wire.to_bytes(keys)``, which are read and so checked.

        The same keys again are no error. With ``key_id``, keys of another name are refused.
        """
        if key_id is not None:
            _check_key_id(key_id)
        if isinstance(keys, (bytes, bytearray, memoryview)):
            data = bytes(keys)
            header = wire.describe(data)
            if len(header) != 1 or "key_id" not in header[0]:
                kinds = ", ".join(entry["kind"] for entry in header[:8])
                raise MalformedError(f"one set of evaluation keys is kept, not {kinds}")
            if key_id not in (None, header[0]["key_id"]):
                raise MismatchError(f"these are the keys {header[0]['key_id']}, not {key_id}")
            name = str(wire.from_bytes(data)[0].key_id)
        elif isinstance(keys, (_girih.EvaluationKeys, _girih.LargeKeys, ckks.EvaluationKeys)):
            data, name = wire.to_bytes(keys), keys.key_id
        else:
            raise TypeError(f"evaluation keys or their bytes are kept, not {type(keys).__name__}")
        if key_id not in (None, name):
            raise MismatchError(f"these are the keys {name}, not {key_id}")
        file = self._file(name)
        if not file.exists():
            self._write(file, data)
        if file.read_bytes() != data:
            raise MismatchError(
                f"there are other keys {name} in the folder: remove them to replace them"
            )
        return StoredKeys(str(file), name)

    def _write(self, file: Path, data: bytes) -> None:
        if self.limit is not None and self.nbytes + len(data) > self.limit:
            raise MismatchError(
                f"{len(data)} bytes of keys beside {self.nbytes} in a folder of {self.limit}: "
                "remove others first"
            )
        handle, temporary = tempfile.mkstemp(dir=self.path, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(data)
                out.flush()
                os.fsync(out.fileno())
            try:
                # Unlike a rename, a link leaves alone what another writer put there meanwhile.
                os.link(temporary, file)
            except FileExistsError:
                pass
        finally:
            os.unlink(temporary)

    def remove(self, key_id: str) -> None:
        """Deletes the keys of that name; servers that have loaded them are not told."""
        file = self._file(key_id)
        try:
            file.unlink()
        except FileNotFoundError as error:
            raise MissingKeyError(f"no keys {key_id} in {self.path}") from error


# Which keys on which device: key_id, kinds, device, whether for integers.
_Name = tuple[str, tuple[str, ...], Union[str, None], bool]
_lock = threading.Lock()
_limit = _DEFAULT_LIMIT
# The server of each, and the bytes of its keys; the longest unused first.
_loaded: OrderedDict[_Name, tuple[AnyServer, int]] = OrderedDict()
# Threads that want the same keys wait for the first one's; others seldom share its lock.
_loading = [threading.Lock() for _ in range(64)]


def _check_limit(nbytes: object) -> None:
    if isinstance(nbytes, bool) or not isinstance(nbytes, int):
        raise TypeError(f"a limit is a number of bytes, not {type(nbytes).__name__}")
    if nbytes < 0:
        raise MismatchError(f"a limit of {nbytes} bytes: it must not be negative")


def limit(nbytes: int) -> None:
    """Lets the keys of loaded servers take ``nbytes`` together; the last one used always stays."""
    global _limit
    _check_limit(nbytes)
    with _lock:
        _limit = nbytes
        while len(_loaded) > 1 and _sum() > _limit:
            _loaded.popitem(last=False)


def _sum() -> int:
    return sum(size for _, size in _loaded.values())


def _make_room(nbytes: int) -> None:
    """Before keys are loaded, so that old and new ones do not lie on the device together."""
    while _loaded and _sum() + nbytes > _limit:
        _loaded.popitem(last=False)


def loaded() -> list[str]:
    """The ``key_id`` of each loaded server, the longest unused first."""
    with _lock:
        return [name[0] for name in _loaded]


def forget() -> None:
    """Forgets all servers; their memory goes when nobody uses them any more."""
    with _lock:
        _loaded.clear()


@overload
def server(
    keys: _girih.EvaluationKeys, device: str | None = None, *, integers: Literal[False] = False
) -> _girih.ServerKey: ...
@overload
def server(
    keys: _girih.EvaluationKeys, device: str | None = None, *, integers: Literal[True]
) -> integer.ServerKey: ...
@overload
def server(
    keys: _girih.LargeKeys, device: str | None = None, *, integers: bool = False
) -> _girih.LargeServerKey: ...
@overload
def server(
    keys: ckks.EvaluationKeys, device: str | None = None, *, integers: bool = False
) -> ckks.ServerKey: ...
@overload
def server(
    keys: AnyKeys | StoredKeys, device: str | None = None, *, integers: bool = False
) -> AnyServer: ...
def server(
    keys: AnyKeys | StoredKeys, device: str | None = None, *, integers: bool = False
) -> AnyServer:
    """The server of these keys on a device, loaded on the first call of this process.

    With ``integers`` one of :mod:`girih.integer`. Stored keys are read when they are not loaded.
    """
    known = (_girih.EvaluationKeys, _girih.LargeKeys, ckks.EvaluationKeys, StoredKeys)
    if not isinstance(keys, known):
        raise TypeError(f"keys are evaluation keys, not {type(keys).__name__}")
    if not isinstance(device, (str, type(None))):
        raise TypeError(f"a device is named by a str, not {type(device).__name__}")
    if not isinstance(integers, bool):
        raise TypeError(f"integers is True or False, not {type(integers).__name__}")
    if integers and isinstance(keys, (_girih.LargeKeys, ckks.EvaluationKeys)):
        raise MismatchError(f"integers need girih.EvaluationKeys, not {type(keys).__name__}")
    kinds = keys.kinds() if isinstance(keys, StoredKeys) else keys.kinds
    # Keys of one client for other operations are other keys.
    name = (keys.key_id, tuple(kinds), device, integers)
    with _loading[hash(name) % len(_loading)]:
        with _lock:
            found = _loaded.get(name)
            if found is not None:
                _loaded.move_to_end(name)
                return found[0]
        if isinstance(keys, StoredKeys):
            keys = keys.load()
        make: Any
        if isinstance(keys, ckks.EvaluationKeys):
            make = ckks.ServerKey
        elif isinstance(keys, _girih.LargeKeys):
            make = _girih.LargeServerKey
        else:
            make = integer.ServerKey if integers else _girih.ServerKey
        with _lock:
            _make_room(keys.nbytes)
        made: AnyServer = make(keys, device)
        with _lock:
            _make_room(keys.nbytes)
            _loaded[name] = (made, keys.nbytes)
        return made


def on_host(result: Any) -> Any:
    """Ciphertexts, alone or in tuples, lists and dictionaries, copied from their device."""
    if isinstance(result, (_girih.Ciphertexts, ckks.Ciphertexts, integer.Ciphertexts)):
        return result.to_host()
    if type(result) in (tuple, list):
        return type(result)(on_host(one) for one in result)
    if type(result) is dict:
        return {key: on_host(one) for key, one in result.items()}
    return result


def call(server: AnyServer, work: Callable[..., Any], *arrays: Any) -> Any:
    """``work(server, *arrays)`` inside ``with server:``, with its result on the host."""
    if not callable(work):
        raise TypeError(f"work is a function of a server and arrays, not {type(work).__name__}")
    known = (_girih.ServerKey, _girih.LargeServerKey, ckks.ServerKey, integer.ServerKey)
    if not isinstance(server, known):
        raise TypeError(f"a server of girih computes, not {type(server).__name__}")
    within = nullcontext() if isinstance(server, _girih.LargeServerKey) else server
    with within:
        return on_host(work(server, *arrays))


def run(
    keys: AnyKeys | StoredKeys,
    work: Callable[..., Any],
    *arrays: Any,
    device: str | None = None,
    integers: bool = False,
) -> Any:
    """One task: ``work(server, *arrays)`` on the server of these keys, its result on the host."""
    if not callable(work):
        raise TypeError(f"work is a function of a server and arrays, not {type(work).__name__}")
    return call(server(keys, device, integers=integers), work, *arrays)


def _forget_after_fork() -> None:
    """A child of fork has none of the threads that servers need, and perhaps a held lock."""
    global _lock, _loading
    _lock = threading.Lock()
    _loading = [threading.Lock() for _ in _loading]
    _loaded.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)

__all__ = [
    "AnyKeys",
    "AnyServer",
    "KeyFolder",
    "StoredKeys",
    "call",
    "forget",
    "limit",
    "loaded",
    "on_host",
    "run",
    "server",
]
