"""Encrypted rows that models take and give, and what goes into them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import ckks
from ..errors import MalformedError, MismatchError

#: What a table of encrypted rows may hold.
KINDS = ("features", "values", "scores", "probabilities", "classes")
_MAGIC = b"girih rows 1 "


def next_power_of_two(n: int) -> int:
    return 1 << max(n - 1, 0).bit_length()


def finite(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Real numbers, none of them infinite or none at all."""
    if np.ma.is_masked(values):
        raise TypeError(f"{name} has masked entries, which have no values: fill or drop them")
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        dtypes: Any = getattr(values, "dtypes", None)
        wrong: list[str] = []
        if hasattr(dtypes, "items"):
            wrong = [str(key) for key, of in dtypes.items() if np.dtype(object) == of]
        which = f" (columns {', '.join(wrong)})" if wrong else ""
        raise TypeError(
            f"{name} are real numbers, not {array.dtype}{which}: give words numbers first, as "
            "OneHotEncoder of scikit-learn does"
        )
    made = array.astype(np.float64)
    if not np.isfinite(made).all():
        raise MismatchError(f"{name} has numbers that are not finite")
    return made


@dataclass(frozen=True, repr=False)
class Rows:
    """Encrypted rows, many to a vector: features that a model takes, or results that it gave.

    Slot ``j * per_vector + i`` of a vector is entry j of its row i.
    """

    #: What they are: one of ``KINDS``.
    kind: str
    vectors: ckks.Ciphertexts
    #: How many rows there are; None where one was given by itself.
    rows: int | None
    #: Slots of a row.
    width: int

    def __post_init__(self) -> None:
        if not isinstance(self.vectors, ckks.Ciphertexts):
            found = type(self.vectors).__name__
            raise TypeError(f"rows are in girih.ckks.Ciphertexts, not in {found}")
        for name, value in (("rows", self.rows), ("width", self.width)):
            is_count = isinstance(value, int) and not isinstance(value, bool)
            if not is_count and not (name == "rows" and value is None):
                raise TypeError(f"{name} is a number, not {type(value).__name__}")
        if self.kind not in KINDS:
            raise MismatchError(f"rows of {self.kind!r}: there are {', '.join(KINDS)}")
        slots, ndim = self.vectors.slots, self.vectors.ndim
        if ndim != 2 or self.width < 1 or self.width & (self.width - 1) or self.width > slots:
            raise MismatchError(f"rows of {self.width} slots in {self.vectors!r}")
        most = self.vectors.shape[0] * self.per_vector
        if not most - self.per_vector < (1 if self.rows is None else self.rows) <= most:
            raise MismatchError(f"{self.rows} rows of {self.width} slots in {self.vectors!r}")

    @property
    def per_vector(self) -> int:
        """Rows of a vector."""
        return self.vectors.slots // self.width

    @property
    def level(self) -> int:
        """How many products one after another are left."""
        return self.vectors.level

    @property
    def key_id(self) -> str | None:
        """Name of the client key that they are under."""
        return self.vectors.key_id

    def to_host(self) -> Rows:
        """The same rows in the memory of this process."""
        return replace(self, vectors=self.vectors.to_host())

    def to_bytes(self) -> bytes:
        """The rows as bytes, with what they are."""
        count = "one" if self.rows is None else str(self.rows)
        head = f"{self.kind} {count} {self.width}\n".encode()
        return _MAGIC + head + self.vectors.to_bytes()

    @staticmethod
    def from_bytes(data: bytes | bytearray | memoryview) -> Rows:
        """Reads what to_bytes wrote."""
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"bytes are read, not {type(data).__name__}")
        view = memoryview(data).cast("B")
        line, newline, _ = bytes(view[:100]).partition(b"\n")
        words = line.removeprefix(_MAGIC).decode("ascii", "replace").split(" ")
        if not line.startswith(_MAGIC) or not newline or len(words) != 3 or words[0] not in KINDS:
            raise MalformedError("these bytes do not begin as encrypted rows do")
        count, width = (word if word.isascii() and word.isdigit() else None for word in words[1:])
        if width is None or (count is None and words[1] != "one"):
            raise MalformedError("these bytes do not tell how many rows there are")
        rows = None if count is None else int(count)
        vectors = ckks.Ciphertexts.from_bytes(view[len(line) + 1 :])
        try:
            return Rows(words[0], vectors, rows, int(width))
        except MismatchError as error:
            raise MalformedError(f"bytes of encrypted rows: {error}") from error

    def __len__(self) -> int:
        if self.rows is None:
            raise TypeError("one row has no length")
        return self.rows

    def __repr__(self) -> str:
        count = "one row" if self.rows is None else f"{self.rows} rows"
        vectors = self.vectors.shape[0]
        return (
            f"<girih.models.Rows: {self.kind} of {count} in {vectors} vectors at level "
            f"{self.level}>"
        )
