"""Requests of many clients at once: those of the same keys and work are computed together.

A gate of a hundred bits takes little longer than one of a single bit, on a GPU above all, so a
service gains by joining what waits. :class:`Batcher` does so inside an asyncio service; HTTP, names
of operations and limits are the service's own (``examples/serve.py`` is one).
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Hashable

from . import rows, worker
from .errors import MismatchError


class Batcher:
    """Runs work on arrays of concurrent requests, as many at once as wait for the same.

    Work runs on one thread, in the order in which the first of a group came. A request waits for
    nothing but the work before it: groups grow while the thread is busy, and only then.
    """

    def __init__(self, most_rows: int = 4096) -> None:
        """``most_rows`` bounds what goes into one call; larger requests go alone."""
        if isinstance(most_rows, bool) or not isinstance(most_rows, int):
            raise TypeError(f"most_rows is a number, not {type(most_rows).__name__}")
        if most_rows < 1:
            raise MismatchError(f"most_rows is {most_rows}: it must be at least 1")
        self.most_rows = most_rows
        #: Requests answered, and calls that they took.
        self.requests = 0
        self.calls = 0
        self._waiting: OrderedDict[Hashable, deque[_Request]] = OrderedDict()
        self._thread = ThreadPoolExecutor(1, "girih-batcher")
        self._running: asyncio.Task[None] | None = None

    async def run(
        self,
        name: Hashable,
        server: Callable[[], worker.AnyServer],
        work: Callable[..., Any],
        *arrays: Any,
    ) -> Any:
        """``work(server, *arrays)``, whose result has as many rows as each array.

        Requests of one ``name`` (keys and work, say) share calls where their arrays can be joined.
        ``server`` is called on the thread that computes, so it may load keys.
        """
        if not callable(server) or not callable(work):
            raise TypeError("server and work are functions")
        if not arrays:
            raise MismatchError("no array to compute with: give at least one")
        counts = {rows.count(array) for array in arrays}
        if len(counts) > 1:
            raise MismatchError(f"arrays of {sorted(counts)} rows: they must be equally long")
        hash(name)
        alike = tuple(rows.likeness(array) for array in arrays)
        # Rows that share ciphertexts cannot be put beside others in any number.
        alone = any(rows.step(array) > 1 for array in arrays)
        request = _Request(server, work, arrays, counts.pop())
        group = (name, alike, id(request) if alone else None)
        self._waiting.setdefault(group, deque()).append(request)
        if self._running is None or self._running.done():
            self._running = asyncio.get_running_loop().create_task(self._serve())
        return await request.future

    def _take(self) -> list[_Request]:
        """The requests of the next call."""
        group, queue = next(iter(self._waiting.items()))
        taken = [queue.popleft()]
        total = taken[0].rows
        while queue and total + queue[0].rows <= self.most_rows:
            total += queue[0].rows
            taken.append(queue.popleft())
        if queue:
            self._waiting.move_to_end(group)
        else:
            del self._waiting[group]
        return [request for request in taken if not request.future.cancelled()]

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            taken = self._take()
            if not taken:
                continue
            results = await loop.run_in_executor(self._thread, _compute, taken)
            self.calls += 1
            for request, result in zip(taken, results):
                self.requests += 1
                if request.future.done():
                    continue  # who asked went away
                if isinstance(result, BaseException):
                    request.future.set_exception(result)
                else:
                    request.future.set_result(result)

    def close(self) -> None:
        """Ends the thread once it has done what it does."""
        self._thread.shutdown(wait=False)


class _Request:
    def __init__(self, server: Any, work: Any, arrays: tuple[Any, ...], rows: int) -> None:
        self.server, self.work, self.arrays, self.rows = server, work, arrays, rows
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()


def _compute(requests: list[_Request]) -> list[Any]:
    """The result of each request, or what it raised."""
    try:
        first = requests[0]
        arrays = [rows.join(parts) for parts in zip(*(r.arrays for r in requests))]
        result = worker.call(first.server(), first.work, *arrays)
        total = sum(request.rows for request in requests)
        if rows.count(result) != total:
            raise MismatchError(f"work gave {rows.count(result)} rows for {total}: one for each")
        if len(requests) == 1:
            return [result]
        parts, at = [], 0
        for request in requests:
            parts.append(rows.cut(result, at, at + request.rows))
            at += request.rows
        return parts
    except BaseException as error:  # who asked hears of it, whatever it is
        if len(requests) == 1:
            return [error]
        # One that cannot be done must not fail its neighbours.
        return [one for request in requests for one in _compute([request])]


__all__ = ["Batcher"]
