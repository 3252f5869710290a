"""Work on columns of tables: what Ray Data, Dask and Spark hand to a worker, batch by batch.

A cell of a column is one row of an array (see :mod:`girih.rows`) as :mod:`girih.wire` bytes, of
Arrow's type ``binary``. :func:`cells` makes such columns, :func:`array` reads them, and
:class:`Columns` computes one column from others::

    table = pyarrow.table({"a": girih.columns.cells(a), "b": girih.columns.cells(b)})
    nand = girih.columns.Columns(keys, lambda server, a, b: ~(a & b), ["a", "b"], "c")
    girih.columns.array(nand(table)["c"])
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Callable, Iterable, Iterator, Sequence

import numpy as np

from . import rows, wire, worker
from .errors import MalformedError, MismatchError


def cells(array: wire.Arrays) -> list[bytes]:
    """The rows of an array as bytes, one cell each."""
    return [wire.to_bytes(rows.single(array, row)) for row in range(rows.count(array))]


def array(column: Iterable[Any]) -> Any:
    """The array of a column's cells: bytes, or what Arrow and NumPy hold them in."""
    if hasattr(column, "to_pylist"):
        column = column.to_pylist()
    if isinstance(column, (str, bytes, bytearray, memoryview)) or not hasattr(column, "__iter__"):
        raise TypeError(f"a column is a sequence of bytes, not {type(column).__name__}")
    singles: list[Any] = []
    for number, cell in enumerate(column):
        if not isinstance(cell, (bytes, bytearray, memoryview)):
            raise TypeError(f"cell {number} is {type(cell).__name__}: cells are bytes")
        things = wire.from_bytes(cell)
        if len(things) != 1 or isinstance(things[0], wire._KEYS):
            raise MalformedError(f"cell {number} holds something else than one array")
        singles.append(things[0])
    return rows.stack(singles)


def _names(names: object) -> list[str]:
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise TypeError(f"columns are named by a list of str, not {type(names).__name__}")
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"columns are named by str, not {type(name).__name__}")
    if not names:
        raise MismatchError("no column to compute from: name at least one")
    return list(names)


class Columns:
    """Adds a column ``output`` of ``work(server, *inputs)`` to batches of tables.

    Batches are Arrow tables or record batches, or dictionaries of NumPy arrays. Keys are loaded on
    the first batch of a process and found afterwards.
    """

    def __init__(
        self,
        keys: worker.AnyKeys | worker.StoredKeys,
        work: Callable[..., Any],
        inputs: Sequence[str],
        output: str,
        device: str | None = None,
        *,
        integers: bool = False,
    ) -> None:
        """``work`` gives as many rows as its inputs have; ``device`` as for a server."""
        if not isinstance(keys, (*wire._KEYS, worker.StoredKeys)):
            raise TypeError(f"keys are evaluation keys, not {type(keys).__name__}")
        if not callable(work):
            raise TypeError(f"work is a function, not {type(work).__name__}")
        if not isinstance(output, str):
            raise TypeError(f"columns are named by str, not {type(output).__name__}")
        self._keys, self._work, self._inputs = keys, work, _names(inputs)
        self._output, self._device, self._integers = output, device, integers

    def _column(self, columns: dict[str, Any]) -> list[bytes]:
        missing = [name for name in self._inputs if name not in columns]
        if missing:
            raise MismatchError(f"no column {missing[0]!r}: there are {sorted(columns)}")
        arrays = [array(columns[name]) for name in self._inputs]
        result = worker.run(
            self._keys, self._work, *arrays, device=self._device, integers=self._integers
        )
        made, wanted = rows.count(result), rows.count(arrays[0])
        if made != wanted:
            raise MismatchError(f"work gave {made} rows for {wanted}: a column has one for each")
        return cells(result)

    def __call__(self, batch: Any) -> Any:
        """The batch with its new column, in the form that it came in."""
        if isinstance(batch, dict):
            column = np.empty(len(next(iter(batch.values()), ())), dtype=object)
            if len(column) == 0:
                return {**batch, self._output: column}
            column[:] = self._column(batch)
            return {**batch, self._output: column}
        names = getattr(getattr(batch, "schema", None), "names", None)
        if names is None:
            raise TypeError(
                f"a batch is an Arrow table or a dictionary of columns, not {type(batch).__name__}"
            )
        arrow = import_module("pyarrow")
        made = self._column({n: batch.column(n) for n in names}) if batch.num_rows else []
        return batch.append_column(self._output, arrow.array(made, arrow.binary()))

    def batches(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The same of each of several, as ``mapInArrow`` of Spark calls it."""
        for batch in batches:
            yield self(batch)


__all__ = ["Columns", "array", "cells"]
