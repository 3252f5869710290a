"""Servers of this process, loaded once: what a worker of any cluster engine calls.

Ray, Dask, Spark and `multiprocessing` (by ``spawn``) send keys to many processes, often with each
task. :func:`server` loads them on the first and finds them by ``key_id`` afterwards, so that a task
is a function of keys and ciphertexts::

    def gate(keys, a, b):
        with girih.worker.server(keys):
            return a & b

Servers that went unused for longest go when their keys together exceed :func:`limit` bytes.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from typing import Any, Union, overload

from . import _girih, ckks
from .errors import MismatchError

AnyKeys = Union[_girih.EvaluationKeys, _girih.LargeKeys, ckks.EvaluationKeys]
AnyServer = Union[_girih.ServerKey, _girih.LargeServerKey, ckks.ServerKey]

_DEFAULT_LIMIT = 4 << 30

_lock = threading.Lock()
_limit = _DEFAULT_LIMIT
# Which keys on which device: key_id, kinds, device.
_Name = tuple[str, tuple[str, ...], Union[str, None]]
# The server of each, and the bytes of its keys; the longest unused first.
_loaded: OrderedDict[_Name, tuple[AnyServer, int]] = OrderedDict()
# Keys that are being loaded: other threads that want the same wait for it.
_loading: dict[_Name, threading.Lock] = {}


def limit(nbytes: int) -> None:
    """Lets the keys of loaded servers take ``nbytes`` together; the last one used always stays."""
    global _limit
    if isinstance(nbytes, bool) or not isinstance(nbytes, int):
        raise TypeError(f"a limit is a number of bytes, not {type(nbytes).__name__}")
    if nbytes < 0:
        raise MismatchError(f"a limit of {nbytes} bytes: it must not be negative")
    with _lock:
        _limit = nbytes
        _forget_unused()


def _forget_unused() -> None:
    while len(_loaded) > 1 and sum(size for _, size in _loaded.values()) > _limit:
        _loaded.popitem(last=False)


def loaded() -> list[str]:
    """The ``key_id`` of each loaded server, the longest unused first."""
    with _lock:
        return [key_id for key_id, _, _ in _loaded]


def forget() -> None:
    """Forgets all servers; their memory goes when nobody uses them any more."""
    with _lock:
        _loaded.clear()


@overload
def server(keys: _girih.EvaluationKeys, device: str | None = None) -> _girih.ServerKey: ...
@overload
def server(keys: _girih.LargeKeys, device: str | None = None) -> _girih.LargeServerKey: ...
@overload
def server(keys: ckks.EvaluationKeys, device: str | None = None) -> ckks.ServerKey: ...
def server(keys: AnyKeys, device: str | None = None) -> AnyServer:
    """The server of these keys on a device, loaded on the first call of this process."""
    makers: dict[type[Any], Any] = {
        _girih.EvaluationKeys: _girih.ServerKey,
        _girih.LargeKeys: _girih.LargeServerKey,
        ckks.EvaluationKeys: ckks.ServerKey,
    }
    make = makers.get(type(keys))
    if make is None:
        raise TypeError(f"keys are evaluation keys, not {type(keys).__name__}")
    # Keys of one client for other operations are other keys.
    name = (keys.key_id, tuple(keys.kinds), device)
    with _lock:
        alone = _loading.setdefault(name, threading.Lock())
    with alone:
        with _lock:
            found = _loaded.get(name)
            if found is not None:
                _loaded.move_to_end(name)
                return found[0]
        made: AnyServer = make(keys, device)
        with _lock:
            _loaded[name] = (made, keys.nbytes)
            _forget_unused()
        return made


def _forget_after_fork() -> None:
    """A child of fork has none of the threads that servers need, and perhaps a held lock."""
    global _lock
    _lock = threading.Lock()
    _loaded.clear()
    _loading.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)

__all__ = ["AnyKeys", "AnyServer", "forget", "limit", "loaded", "server"]
