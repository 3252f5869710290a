"""Several arrays of ciphertexts, or keys, as one run of bytes that says what is in it.

Methods ``to_bytes`` write ciphertexts alone; kind and shape travel beside them. Where one message
has to hold everything (the body of a request, a cell of a table, a file), :func:`to_bytes` writes a
header before them::

    body = girih.wire.to_bytes(a, b)
    a, b = girih.wire.from_bytes(body)

Nothing is unpickled, so that bytes from strangers are safe to read: what is wrong with them is
:class:`~girih.errors.MalformedError`, before anything large is allocated. The header ends with a
checksum, as ciphertexts and keys do, which finds accidents; it is no authentication.
"""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any, BinaryIO, Union

from . import _girih, ckks, integer
from .errors import MalformedError, MismatchError, MissingKeyError

Arrays = Union[
    _girih.Ciphertexts, _girih.EncryptedBits, integer.Ciphertexts, ckks.Ciphertexts
]
Keys = Union[_girih.EvaluationKeys, _girih.LargeKeys, ckks.EvaluationKeys]

#: What everything begins with; the number grows with changes of what follows.
MAGIC = b"girih wire 2\n"
#: Bytes of a header at most: some hundred thousand arrays.
LONGEST_HEADER = 4 << 20

# Length of the header, and its CRC-32.
_LENGTHS = struct.Struct("<II")
_START = len(MAGIC) + _LENGTHS.size

Buffer = Union[bytes, bytearray, memoryview]


def _entry(thing: object) -> tuple[dict[str, Any], list[bytes]]:
    """What the header says of one thing, and its parts."""
    if isinstance(thing, _girih.Ciphertexts):
        kind: dict[str, Any] = {"kind": thing.kind, "shape": list(thing.shape)}
        if thing.bits is not None:
            kind["bits"] = thing.bits
        return kind, [thing.to_bytes()]
    if isinstance(thing, _girih.EncryptedBits):
        return {"kind": "instances", "instances": thing.instances}, [thing.to_bytes()]
    if isinstance(thing, integer.Ciphertexts):
        return {"kind": "integers", "shape": list(thing.shape)}, [thing.to_bytes()]
    if isinstance(thing, ckks.Ciphertexts):
        return {"kind": "vectors"}, [thing.to_bytes()]
    if isinstance(thing, (_girih.EvaluationKeys, ckks.EvaluationKeys)):
        name = "ckks keys" if isinstance(thing, ckks.EvaluationKeys) else "keys"
        return {"kind": name, "key_id": thing.key_id, "kinds": thing.kinds}, [thing.to_bytes()]
    if isinstance(thing, _girih.LargeKeys):
        reduced: Any = thing.__reduce_ex__(4)
        name, transform, parts = reduced[1]
        about = {"key_id": thing.key_id, "kinds": thing.kinds}
        return {"kind": "large keys", "name": name, "transform": transform, **about}, parts
    raise TypeError(f"ciphertexts and evaluation keys have bytes, not {type(thing).__name__}")


def to_bytes(*things: Arrays | Keys) -> bytes:
    """One run of bytes of arrays of ciphertexts or evaluation keys, of any kinds, at least one."""
    if not things:
        raise MismatchError("nothing to be written: give at least one array")
    header, parts = [], []
    for thing in things:
        entry, own = _entry(thing)
        header.append({**entry, "lengths": [len(part) for part in own]})
        parts += own
    text = json.dumps(header, separators=(",", ":")).encode()
    if len(text) > LONGEST_HEADER:
        raise MismatchError(
            f"a header of {len(text)} bytes: the most are {LONGEST_HEADER}, write fewer at a time"
        )
    return b"".join([MAGIC, _LENGTHS.pack(len(text), zlib.crc32(text)), text, *parts])


def _view(data: Buffer) -> memoryview:
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"bytes are read, not {type(data).__name__}")
    view = memoryview(data)
    if not view.c_contiguous:
        raise TypeError("bytes are read in one piece, not in steps")
    return view.cast("B")


def _refuse(why: str) -> MalformedError:
    return MalformedError(f"bytes of girih.wire: {why}")


#: Dimensions of an array at most, as of NumPy.
LARGEST_RANK = 64
#: Largest number of entries of an array, and of bytes of a part.
LARGEST_COUNT = 1 << 48


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_COUNT


# What an entry has beside its kind and lengths: for each field whether a value is possible.
def _counts(value: object) -> bool:
    return isinstance(value, list) and all(_is_count(v) for v in value)


def _shape(value: object) -> bool:
    """Whether this is a shape of at least one entry; a product of counts is never large."""
    if not isinstance(value, list) or len(value) > LARGEST_RANK or not _counts(value):
        return False
    entries = 1
    for count in value:
        entries *= count
        if not 1 <= entries <= LARGEST_COUNT:
            return False
    return True


def _few(value: object) -> bool:
    """Bits of a message, which native code takes as 32 bits and refuses by itself."""
    return _is_count(value) and value <= 64  # type: ignore[operator]


def _text(value: object) -> bool:
    return isinstance(value, str)


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) for v in value)


_KEY_FIELDS = {"key_id": _text, "kinds": _texts}
_FIELDS: dict[str, dict[str, Any]] = {
    "bits": {"shape": _shape},
    "messages": {"shape": _shape, "bits": _few},
    "large": {"shape": _shape},
    "instances": {"instances": _is_count},
    "integers": {"shape": _shape},
    "vectors": {},
    "keys": _KEY_FIELDS,
    "ckks keys": _KEY_FIELDS,
    "large keys": {"name": _text, "transform": _text, **_KEY_FIELDS},
}


def _check(entry: Any) -> None:
    """Refuses an entry that :func:`to_bytes` does not write."""
    if not isinstance(entry, dict) or entry.get("kind") not in list(_FIELDS):
        kinds = ", ".join(_FIELDS)
        raise _refuse(f"an entry of the header is none of {kinds}")
    kind = entry["kind"]
    fields = {"kind": _text, "lengths": _counts, **_FIELDS[kind]}
    if entry.keys() != fields.keys():
        raise _refuse(f"an entry of {kind} has {sorted(fields)}, not {sorted(entry)}")
    for field, possible in fields.items():
        if not possible(entry[field]):
            raise _refuse(f"{field} of {kind} is {str(entry[field])[:40]!r}")
    lengths = entry["lengths"]
    if not lengths or (kind != "large keys" and len(lengths) != 1):
        raise _refuse(f"{len(lengths)} parts of {kind}")


def _open(view: memoryview, complete: bool = True) -> tuple[list[dict[str, Any]], int]:
    """The checked header, and where the first part begins."""
    if len(view) < _START or view[: len(MAGIC)] != MAGIC:
        raise _refuse(f"they begin with {MAGIC!r}, not {bytes(view[: len(MAGIC)])!r}")
    length, checksum = _LENGTHS.unpack_from(view, len(MAGIC))
    end = _START + length
    if length > LONGEST_HEADER or end > len(view):
        raise _refuse(f"a header of {length} bytes is too long, or was cut off")
    text = bytes(view[_START:end])
    if zlib.crc32(text) != checksum:
        raise _refuse("the header was changed on the way: its checksum is another")
    try:
        header = json.loads(text)
    except (ValueError, RecursionError, OverflowError) as error:
        raise _refuse("the header is no JSON") from error
    if not isinstance(header, list) or not header:
        raise _refuse("the header is no list of at least one entry")
    for entry in header:
        _check(entry)
    size = end + sum(sum(entry["lengths"]) for entry in header)
    if complete and size != len(view):
        raise _refuse(f"there are {len(view)}, and the header tells of {size}")
    return header, end


def _header_of(file: BinaryIO) -> list[dict[str, Any]]:
    """The header of a file, whose parts stay unread."""
    start = file.read(_START)
    if len(start) == _START:
        length, _ = _LENGTHS.unpack_from(start, len(MAGIC))
        start += file.read(min(length, LONGEST_HEADER))
    return _open(memoryview(start), complete=False)[0]


def describe(data: Buffer) -> list[dict[str, Any]]:
    """What the header says of each thing: ``kind``, ``shape`` and so on; the parts stay unread."""
    return _open(_view(data))[0]


def _read(entry: dict[str, Any], parts: list[memoryview]) -> Any:
    kind = entry["kind"]
    if kind == "instances":
        return _girih.EncryptedBits.from_bytes(parts[0], entry["instances"])
    if kind == "integers":
        return integer.Ciphertexts.from_bytes(parts[0], entry["shape"])
    if kind == "vectors":
        return ckks.Ciphertexts.from_bytes(parts[0])
    if kind in ("keys", "ckks keys", "large keys"):
        keys: Keys
        if kind == "keys":
            keys = _girih.EvaluationKeys.from_bytes(parts[0])
        elif kind == "ckks keys":
            keys = ckks.EvaluationKeys.from_bytes(parts[0])
        else:
            keys = _girih._unpickle_large_keys(entry["name"], entry["transform"], parts)
        if (keys.key_id, keys.kinds) != (entry["key_id"], entry["kinds"]):
            raise _refuse("the header tells of other keys than those behind it")
        return keys
    shape = entry["shape"]
    large = kind == "large"
    return _girih.Ciphertexts.from_bytes(
        parts[0], bits=entry.get("bits"), large=large, shape=shape
    )


def from_bytes(data: Buffer) -> list[Any]:
    """What :func:`to_bytes` wrote, in its order: each array or key of its own class."""
    view = _view(data)
    header, at = _open(view)
    things = []
    for entry in header:
        parts = []
        for length in entry["lengths"]:
            parts.append(view[at : at + length])
            at += length
        things.append(_read(entry, parts))
    return things


def key_id(*arrays: Arrays | Keys) -> str:
    """The ``key_id`` that all of these are under; constants are under any."""
    for array in arrays:
        if not isinstance(array, (*_ARRAYS, *_KEYS)):
            raise TypeError(f"ciphertexts and keys have a key_id, not {type(array).__name__}")
    found = {array.key_id for array in arrays if array.key_id is not None}
    if not found:
        raise MissingKeyError("constants alone: their key_id is that of no client key")
    if len(found) > 1:
        raise MismatchError(f"arrays of {len(found)} client keys: {', '.join(sorted(found))}")
    return str(found.pop())


_ARRAYS = (_girih.Ciphertexts, _girih.EncryptedBits, integer.Ciphertexts, ckks.Ciphertexts)
_KEYS = (_girih.EvaluationKeys, _girih.LargeKeys, ckks.EvaluationKeys)

__all__ = [
    "LONGEST_HEADER",
    "MAGIC",
    "Arrays",
    "Keys",
    "describe",
    "from_bytes",
    "key_id",
    "to_bytes",
]
