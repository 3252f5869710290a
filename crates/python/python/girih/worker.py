"""Servers of this process, loaded once: what a worker of any cluster engine calls.

Ray, Dask, Spark and `multiprocessing` (by ``spawn``) send keys to many processes, often with each
task. :func:`server` loads them on the first and finds them by their ``digest`` afterwards, so that
a task is a function of keys and ciphertexts::

    def gate(keys, a, b):
        with girih.worker.server(keys):
            return a & b

or, the same with the result in the memory of the process, ``girih.worker.run(keys, work, a, b)``.
Keys come as they are, or as a reference into a :class:`KeyFolder` that all machines see.

A ``key_id`` is a name, which anyone can write into keys of their own; the digest depends on every
byte of the keys. So keys under another client's name are other keys, here and in a folder: they
replace nothing and are never found in the place of that client's.

Servers that went unused for longest go when all of them together hold more than :func:`limit`
bytes on their devices (``device_bytes``).
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

from . import _girih, ckks, integer, models, wire
from .errors import MalformedError, MismatchError, MissingKeyError

AnyKeys = wire.Keys
AnyServer = Union[
    _girih.ServerKey, _girih.LargeServerKey, ckks.ServerKey, integer.ServerKey
]

_DEFAULT_LIMIT = 4 << 30
_KEY_ID = re.compile("[0-9a-f]{32}")
_DIGEST = _KEY_ID
_NAME = re.compile("([0-9a-f]{32})-([0-9a-f]{32})")
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
    digest: str

    def __post_init__(self) -> None:
        if not isinstance(self.path, str):
            raise TypeError(f"a path is a str, not {type(self.path).__name__}")
        _check_key_id(self.key_id)
        if not isinstance(self.digest, str):
            raise TypeError(f"a digest is a str, not {type(self.digest).__name__}")
        if not _DIGEST.fullmatch(self.digest):
            raise MalformedError(f"a digest is 32 hexadecimal digits, not {self.digest[:40]!r}")

    @property
    def name(self) -> str:
        """The name of these keys in their folder, and of no others: ``key_id-digest``."""
        return f"{self.key_id}-{self.digest}"

    def _missing(self, error: OSError) -> MissingKeyError:
        return MissingKeyError(f"no keys {self.name}: {self.path}: {error.strerror}")

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
        """The keys themselves; a file that holds others by now is refused."""
        self.kinds()
        try:
            data = Path(self.path).read_bytes()
        except OSError as error:
            raise self._missing(error) from error
        keys: AnyKeys = wire.from_bytes(data)[0]
        if keys.digest != self.digest:
            raise MalformedError(f"{self.path} holds keys of another digest, {keys.digest}")
        return keys


class KeyFolder:
    """Evaluation keys by name, each a file of :mod:`girih.wire` bytes below one folder.

    A name is ``key_id-digest`` (:attr:`StoredKeys.name`). Files appear whole or not at all, and
    survive whoever wrote them; a folder that several machines mount serves all of them. A
    ``key_id`` is no proof of whose keys these are: keys of one ``key_id`` that differ lie side by
    side and replace nothing. Where there is one of a ``key_id``, that is its name, too.
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

    def _named(self, name: str) -> list[StoredKeys]:
        """What there is of a name, or of a key_id."""
        if not isinstance(name, str):
            raise TypeError(f"a name of keys is a str, not {type(name).__name__}")
        if not _NAME.fullmatch(name):
            _check_key_id(name)
            files = sorted(self.path.glob(f"{name}-*{_SUFFIX}"))
        else:
            files = [file for file in [self.path / (name + _SUFFIX)] if file.exists()]
        found = [(file, _NAME.fullmatch(file.stem)) for file in files]
        return [StoredKeys(str(file), match[1], match[2]) for file, match in found if match]

    def __contains__(self, name: object) -> bool:
        known = isinstance(name, str) and (_NAME.fullmatch(name) or _KEY_ID.fullmatch(name))
        return bool(known) and bool(self._named(str(name)))

    def __iter__(self) -> Iterator[str]:
        files = self.path.glob("*" + _SUFFIX)
        return iter(sorted(file.stem for file in files if _NAME.fullmatch(file.stem)))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, name: str) -> StoredKeys:
        """A reference to the keys of that name, or to the only ones of a ``key_id``."""
        found = self._named(name)
        if not found:
            raise MissingKeyError(f"no keys {name} in {self.path}: put(..) them there first")
        if len(found) > 1:
            raise MismatchError(
                f"{len(found)} different keys say {name} in {self.path}: a key_id is a name that "
                f"anyone can write, ask by key_id-digest, such as {found[0].name}"
            )
        return found[0]

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
            kept: AnyKeys = wire.from_bytes(data)[0]
        elif isinstance(keys, (_girih.EvaluationKeys, _girih.LargeKeys, ckks.EvaluationKeys)):
            kept = keys
        else:
            raise TypeError(f"evaluation keys or their bytes are kept, not {type(keys).__name__}")
        if key_id not in (None, kept.key_id):
            raise MismatchError(f"these are the keys {kept.key_id}, not {key_id}")
        file = self.path / f"{kept.key_id}-{kept.digest}{_SUFFIX}"
        # One form for all who bring these keys.
        data = wire.to_bytes(kept)
        if not file.exists():
            self._write(file, data)
        if file.read_bytes() != data:
            raise MalformedError(f"{file} was changed: remove it and put the keys there again")
        return StoredKeys(str(file), kept.key_id, kept.digest)

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

    def remove(self, name: str) -> None:
        """Deletes the keys of that name, as ``folder[name]`` finds them; servers that have loaded
        them are not told."""
        stored = self[name]
        try:
            os.unlink(stored.path)
        except FileNotFoundError as error:
            raise MissingKeyError(f"no keys {name} in {self.path}") from error


# Which keys on which device: key_id, digest, device, whether for integers.
_Name = tuple[str, str, Union[str, None], bool]
_lock = threading.Lock()
_limit = _DEFAULT_LIMIT
# The server of each; the longest unused first.
_loaded: OrderedDict[_Name, AnyServer] = OrderedDict()
# Threads that want the same keys wait for the first one's; others seldom share its lock.
_loading = [threading.Lock() for _ in range(64)]


def _check_limit(nbytes: object) -> None:
    if isinstance(nbytes, bool) or not isinstance(nbytes, int):
        raise TypeError(f"a limit is a number of bytes, not {type(nbytes).__name__}")
    if nbytes < 0:
        raise MismatchError(f"a limit of {nbytes} bytes: it must not be negative")


def limit(nbytes: int) -> None:
    """Lets loaded servers hold ``nbytes`` together on their devices; the last one used stays.

    What a server holds is its ``device_bytes``: keys as they are computed with, which take several
    times what they take as bytes, and what work on them has left there.
    """
    global _limit
    _check_limit(nbytes)
    with _lock:
        _limit = nbytes
        while len(_loaded) > 1 and _sum() > _limit:
            _loaded.popitem(last=False)


def _sum() -> int:
    return sum(server.device_bytes for server in _loaded.values())


def _make_room(nbytes: int) -> None:
    """Before keys are loaded, so that old and new ones do not lie on the device together.

    What they will take there is known afterwards; ``nbytes`` of the keys is the least.
    """
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
    if isinstance(keys, StoredKeys):
        keys.kinds()  # raises for a file that is gone
    # Keys of one name that differ in a byte are other keys.
    name = (keys.key_id, keys.digest, device, integers)
    with _loading[hash(name) % len(_loading)]:
        with _lock:
            found = _loaded.get(name)
            if found is not None:
                _loaded.move_to_end(name)
                # They may have grown since.
                while len(_loaded) > 1 and _sum() > _limit:
                    _loaded.popitem(last=False)
                return found
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
            _make_room(made.device_bytes)
            _loaded[name] = made
        return made


def on_host(result: Any) -> Any:
    """Ciphertexts and rows of models, alone or in tuples, lists and dictionaries, copied from their
    device."""
    kinds = (_girih.Ciphertexts, ckks.Ciphertexts, integer.Ciphertexts, models.Rows)
    if isinstance(result, kinds):
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
