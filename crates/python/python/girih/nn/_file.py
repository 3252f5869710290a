"""Files: a header and arrays, as NumPy's archives, without pickled objects."""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import errors

_T = TypeVar("_T")

#: What reading a file raises that is none, or is damaged.
_WRONG = (
    ValueError, KeyError, TypeError, AttributeError, IndexError, EOFError, zipfile.BadZipFile,
    zlib.error,
)  # fmt: skip

#: What files begin their header with.
FORMAT = "girih.nn 2"


def _check_path(path: object) -> None:
    """Numbers would be files that are open, whatever they are."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"a path is needed, not {type(path).__name__}")


def save(
    path: str | os.PathLike[str], kind: str, header: dict[str, Any],
    arrays: dict[str, NDArray[Any]],
) -> None:
    """Writes a file of a kind."""  # fmt: skip
    _check_path(path)
    text = json.dumps({"format": FORMAT, "kind": kind, **header})
    with open(path, "wb") as file:
        every: dict[str, Any] = {"header": np.frombuffer(text.encode(), np.uint8), **arrays}
        np.savez_compressed(file, **every)


def load(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Reads a file of a kind."""
    _check_path(path)
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(arrays.pop("header").tobytes())
        found = (header["format"], header["kind"])
    except _WRONG as e:
        raise errors.MalformedError(f"{path}: no file of girih.nn: {e}") from None
    if found != (FORMAT, kind):
        why = f"{path}: {found[1]} in the format {found[0]}, not {kind} in {FORMAT}"
        raise errors.MalformedError(why)
    return header, arrays


def checked(path: str | os.PathLike[str], read: Callable[[], _T]) -> _T:
    """What is read of a file's header."""
    try:
        return read()
    except errors.ParameterError:
        raise
    except _WRONG as e:
        raise errors.MalformedError(f"{path}: not what girih.nn wrote: {e!r}") from None
