"""Many machines by Ray: ``pip install "./crates/python[ray]"``.

A :class:`Pool` keeps evaluation keys loaded in workers on all machines of a Ray cluster and divides
arrays of ciphertexts among them by rows. What a lost worker was computing is computed by another::

    with girih.ray.Pool(keys, device="cuda:0") as pool:
        c = pool.gate("nand", a, b)
        d = pool.map(lambda server, x, y: x & ~y, a, b, progress=True)

:class:`MapBatches` does the same for a column of a data set of Ray Data. Secret keys have no place
in a cluster: they refuse to be sent.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Callable, Iterable, Iterator, Sequence

import numpy as np

from . import _girih, columns, progress as _progress, rows, wire, worker
from .errors import DeviceError, Error, MismatchError, NoDeviceError, WorkerLostError

#: Batches that a worker has at a time: one that it computes, one that is on its way.
_AHEAD = 2
#: Batches for each worker that :meth:`Pool.map` makes, so that none waits long for the last one.
_BATCHES_PER_WORKER = 4
_MOST_WORKERS = 10_000


def _package() -> Any:
    try:
        return import_module("ray")
    except ImportError as error:
        why = 'girih.ray needs the package ray: pip install "ray[data,serve]"'
        raise ImportError(why) from error


def require(device: str, workers: int = 1, *, cpus: float = 1, gpus: float | None = None) -> float:
    """The GPUs that each worker on ``device`` takes, once the cluster has them for all workers.

    A device of a GPU (``cuda:0``, ``wgpu:0``) takes 1 unless ``gpus`` says otherwise, ``cpu`` takes
    none. A cluster without what is asked for is refused by :class:`~girih.errors.NoDeviceError`.
    """
    if not isinstance(device, str):
        raise TypeError(f"a device is named by a str, not {type(device).__name__}")
    # Workers of no cores are bounded by nothing else.
    _check_count("workers", workers, most=_MOST_WORKERS)
    _check_amount("cpus", cpus)
    if gpus is None:
        gpus = 0 if device == "cpu" else 1
    _check_amount("gpus", gpus)
    ray = _started()
    there = ray.cluster_resources()
    if gpus * workers > there.get("GPU", 0):
        raise NoDeviceError(
            f"{workers} workers on {device} take {gpus * workers:g} GPUs, and the cluster has "
            f"{there.get('GPU', 0):g}: add machines with GPUs, or pass device=\"cpu\" to compute "
            "on processors, which is many times slower"
        )
    if cpus * workers > there.get("CPU", 0):
        raise NoDeviceError(
            f"{workers} workers take {cpus * workers:g} processor cores, and the cluster has "
            f"{there.get('CPU', 0):g}: ask for fewer workers or cpus"
        )
    return gpus


def _started() -> Any:
    """Ray, connected to a cluster: that of RAY_ADDRESS, or a new one on this machine."""
    ray = _package()
    if not ray.is_initialized():
        ray.init()
    return ray


def _expect(kind: type | tuple[type, ...], what: str, *values: object) -> None:
    """Refuses values of other classes, in words that begin with what is expected."""
    for value in values:
        if not isinstance(value, kind):
            raise TypeError(f"{what}, not {type(value).__name__}")


def _check_count(name: str, value: object, least: int = 1, most: int = 1 << 62) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} is a number, not {type(value).__name__}")
    if value < least:
        raise MismatchError(f"{name} is {value}: it must be at least {least}")
    if value > most:
        raise MismatchError(f"{name} is {value}: it must be at most {most}")


def _check_amount(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} is a number, not {type(value).__name__}")
    if not 0 <= value < 1e6:
        raise MismatchError(f"{name} is {value}: it must not be negative")


@dataclass(frozen=True)
class WorkerInfo:
    """A worker that has loaded its keys: its process, its machine and its device."""

    pid: int
    node: str
    device: str


class _Process:
    """What runs in a worker's process."""

    def load(self, keys: list[Any], device: str, integers: bool) -> WorkerInfo:
        ray = _package()
        evaluation_keys = keys[0]
        if isinstance(evaluation_keys, ray.ObjectRef):
            evaluation_keys = ray.get(evaluation_keys)
        self._server: Any = worker.server(evaluation_keys, device, integers=integers)
        node = str(ray.get_runtime_context().get_node_id())
        return WorkerInfo(os.getpid(), node, self._server.device)

    def compute(self, work: Callable[..., Any], arrays: tuple[Any, ...]) -> Any:
        return worker.call(self._server, work, *arrays)


class _Batch:
    """A batch, until its result is there."""

    def __init__(self, index: int, arrays: tuple[Any, ...]) -> None:
        self.index, self.arrays, self.lost = index, arrays, 0


class _Worker:
    """The driver's view of a worker."""

    def __init__(self, actor: Any, loading: Any) -> None:
        self.actor, self.loading = actor, loading
        self.info: WorkerInfo | None = None
        self.sent: deque[tuple[Any, _Batch]] = deque()


class Pool:
    """Workers on a Ray cluster that have the same evaluation keys loaded.

    Work is a function ``work(server, *arrays)``; it runs inside ``with server:`` in a worker, so
    operators need no more. It and what it refers to are sent once for each call. Results come back
    in order. Batches are computed anew when their worker is lost, which changes nothing: the same
    ciphertexts give results of the same messages.
    """

    def __init__(
        self,
        keys: worker.AnyKeys | worker.StoredKeys,
        device: str = "cuda:0",
        *,
        workers: int | None = None,
        cpus: float = 1,
        gpus: float | None = None,
        retries: int = 3,
        integers: bool = False,
        timeout: float = 600,
    ) -> None:
        """Starts the workers, and a Ray cluster on this machine where there is none.

        ``device`` is one as each worker sees it: Ray shows a worker its own GPUs alone, so that
        ``cuda:0`` is right for all. Each takes ``cpus`` cores and ``gpus`` (1 of a device that is a
        GPU); ``workers`` are as many as the cluster has room for unless given. A batch is given up
        after the worker that computed it was lost ``retries`` + 1 times, a pool without a single
        worker after ``timeout`` seconds: :class:`~girih.errors.WorkerLostError`.
        """
        if not isinstance(keys, (*wire._KEYS, worker.StoredKeys)):
            raise TypeError(f"keys are evaluation keys, not {type(keys).__name__}")
        _expect(bool, "integers is True or False", integers)
        if workers is not None:
            _check_count("workers", workers)
        _check_count("retries", retries, 0)
        _check_amount("timeout", timeout)
        gpus = require(device, workers or 1, cpus=cpus, gpus=gpus)
        self._ray: Any = _started()
        if workers is None:
            there = self._ray.cluster_resources()
            limits = [there.get(n, 0) // a for n, a in (("GPU", gpus), ("CPU", cpus)) if a > 0]
            workers = int(min(limits, default=1)) or 1
        self._device, self._integers = device, integers
        self._retries, self._timeout = retries, timeout
        # Ray bounds OpenMP's threads by a worker's cores, and knows nothing of rayon's.
        threads = {"RAYON_NUM_THREADS": str(max(int(cpus), 1))} if device == "cpu" else {}
        self._class = self._ray.remote(_Process).options(
            num_cpus=cpus, num_gpus=gpus, max_restarts=0, runtime_env={"env_vars": threads}
        )
        # Once into the object store of this machine, from where each other fetches it once.
        self._keys = keys if isinstance(keys, worker.StoredKeys) else self._ray.put(keys)
        self._busy = threading.Lock()
        self._closed = False
        self._lost = 0
        self._lost_loading = 0
        self._workers: list[_Worker] = [self._start() for _ in range(workers)]

    def _start(self) -> _Worker:
        actor = self._class.remote()
        # In a list, so that Ray does not fetch keys before the process has its environment.
        return _Worker(actor, actor.load.remote([self._keys], self._device, self._integers))

    def __len__(self) -> int:
        """Number of workers, those that start included."""
        return len(self._workers)

    def __repr__(self) -> str:
        return f"<girih.ray.Pool of {len(self)} workers on {self._device}>"

    @property
    def lost(self) -> int:
        """Workers that were lost so far, each replaced by a new one."""
        return self._lost

    def workers(self) -> list[WorkerInfo]:
        """Those that have loaded their keys; waits for the first, as computing does."""
        with self._alone():
            self._await_first()
            return [w.info for w in self._workers if w.info is not None]

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if self._closed:
            raise MismatchError("this pool is closed: make another")
        if not self._busy.acquire(blocking=False):
            raise MismatchError("this pool is computing: one call at a time, or another pool")
        try:
            yield
        finally:
            self._busy.release()

    def _await_first(self) -> None:
        """Returns once a worker can compute."""
        end = time.monotonic() + self._timeout
        while not any(w.info for w in self._workers):
            left = max(end - time.monotonic(), 0)
            loading = [w.loading for w in self._workers]
            done, _ = self._ray.wait(loading, timeout=min(left, 1))
            for one in self._workers:
                if one.loading in done:
                    self._loaded(one)
            if not done and left == 0:
                raise WorkerLostError(
                    f"no worker started in {self._timeout:g} s: the cluster has "
                    f"{self._ray.available_resources()} free"
                )

    def _loaded(self, one: _Worker) -> None:
        """What a worker says after loading."""
        error = self._ray.exceptions
        try:
            one.info = self._ray.get(one.loading)
            self._lost_loading = 0
        except error.RayTaskError as failed:
            raise _cause(failed) from failed
        except error.RayError as failed:
            self._lost += 1
            self._lost_loading += 1
            self._replace(one)
            # All may go with one machine, which is one loss.
            if self._lost_loading > (self._retries + 1) * len(self._workers):
                raise WorkerLostError(f"workers are lost as they start: {failed}") from failed

    def _replace(self, one: _Worker) -> None:
        """Puts a new worker in the place of one that is lost, or that nobody waits for."""
        self._ray.kill(one.actor, no_restart=True)
        self._workers[self._workers.index(one)] = self._start()

    def imap(
        self, work: Callable[..., Any], batches: Iterable[Sequence[Any]]
    ) -> Iterator[Any]:
        """Results of ``work(server, *batch)`` in the order of ``batches``, as they are there.

        ``batches`` is read a few batches ahead of what was taken, so it may be endless.
        """
        if not callable(work):
            raise TypeError(f"work is a function, not {type(work).__name__}")
        if isinstance(batches, (str, bytes)) or not hasattr(batches, "__iter__"):
            raise TypeError(f"batches are tuples of arrays, not {type(batches).__name__}")
        return self._imap(work, iter(batches))

    def _imap(self, work: Any, batches: Iterator[Sequence[Any]]) -> Iterator[Any]:
        with self._alone():
            with _in_words():
                sent_work = self._ray.put(work)
            again: deque[_Batch] = deque()
            results: dict[int, Any] = {}
            read, given, more = 0, 0, True
            try:
                while True:
                    while given in results:
                        yield results.pop(given)
                        given += 1
                    self._await_first()
                    for one in self._workers:
                        while one.info is not None and len(one.sent) < _AHEAD:
                            if again:
                                batch = again.popleft()
                            elif more and read - given < 2 * _AHEAD * len(self._workers):
                                try:
                                    batch = _Batch(read, _arrays(next(batches)))
                                except StopIteration:
                                    more = False
                                    break
                                read += 1
                            else:
                                break
                            one.sent.append((self._send(one, sent_work, batch), batch))
                    if not more and given == read:
                        return
                    self._collect(results, again)
            finally:
                # What is left was given up: nobody is to wait for it later.
                if not self._closed:
                    for one in [w for w in self._workers if w.sent]:
                        self._replace(one)

    def _send(self, one: _Worker, work: Any, batch: _Batch) -> Any:
        with _in_words():
            return one.actor.compute.remote(work, batch.arrays)

    def _collect(self, results: dict[int, Any], again: deque[_Batch]) -> None:
        """Waits for something to happen, and takes what is there."""
        # A worker computes in the order in which it was sent batches.
        awaited = {one.sent[0][0]: one for one in self._workers if one.sent}
        loading = {one.loading: one for one in self._workers if one.info is None}
        done, _ = self._ray.wait([*awaited, *loading], timeout=1)
        for ref in done:
            if ref in loading:
                self._loaded(loading[ref])
            else:
                self._take(awaited[ref], results, again)

    def _take(self, one: _Worker, results: dict[int, Any], again: deque[_Batch]) -> None:
        """Takes the oldest result of a worker, or replaces a lost one."""
        error = self._ray.exceptions
        ref, batch = one.sent[0]
        try:
            results[batch.index] = self._ray.get(ref)
        except error.RayTaskError as failed:
            raise _cause(failed) from failed
        except error.RayError as failed:
            # Those behind it were not begun, so their loss is no fault of theirs.
            batch.lost += 1
            again.extendleft(batch for _, batch in reversed(one.sent))
            one.sent.clear()
            self._lost += 1
            self._replace(one)
            if batch.lost > self._retries:
                raise WorkerLostError(
                    f"batch {batch.index} was lost {batch.lost} times with the worker that "
                    f"computed it: {failed}"
                ) from failed
            return
        one.sent.popleft()

    def map(
        self,
        work: Callable[..., Any],
        *arrays: Any,
        size: int | None = None,
        progress: _progress.Progress | bool | None = None,
    ) -> Any:
        """``work(server, *arrays)`` on batches of ``size`` rows of arrays that are equally long.

        The result is an array of all rows; a tuple or list of arrays where work gives that.
        ``progress`` hears ("batches", done, total), or is True for a bar.
        """
        if not callable(work):
            raise TypeError(f"work is a function, not {type(work).__name__}")
        if not arrays:
            raise MismatchError("no array to be divided: give at least one")
        counts = [rows.count(array) for array in arrays]
        if len(set(counts)) > 1:
            raise MismatchError(f"arrays of {counts} rows: they must be equally long")
        if size is None:
            size = -(-counts[0] // (_BATCHES_PER_WORKER * len(self._workers)))
        _check_count("size", size)
        together = int(np.lcm.reduce([rows.step(array) for array in arrays]))
        size = -(-size // together) * together
        starts = range(0, counts[0], size)
        report = _reporter(progress)
        parts = []
        cuts = (
            tuple(rows.cut(a, start, min(start + size, counts[0])) for a in arrays)
            for start in starts
        )
        for part in self._imap(work, cuts):
            parts.append(part)
            report("batches", len(parts), len(starts))
        return _joined(parts)

    def gate(
        self,
        name: str,
        a: _girih.Ciphertexts,
        b: _girih.Ciphertexts,
        *,
        size: int | None = None,
        progress: _progress.Progress | bool | None = None,
    ) -> _girih.Ciphertexts:
        """A gate on two arrays of bits of the same shape, as ``ServerKey.gate``."""
        _expect(str, "a gate is named by a str", name)
        _expect(_girih.Ciphertexts, "gates take ciphertexts", a, b)
        if a.shape != b.shape:
            raise MismatchError(f"arrays of shapes {a.shape} and {b.shape}: they must be equal")
        made: _girih.Ciphertexts = self.map(
            lambda server, a, b: server.gate(name, a, b), a, b, size=size, progress=progress
        )
        return made

    def apply(
        self,
        messages: _girih.Ciphertexts,
        table: _girih.LookUpTable,
        *,
        size: int | None = None,
        progress: _progress.Progress | bool | None = None,
    ) -> _girih.Ciphertexts:
        """A look-up table on messages, as ``ServerKey.apply``."""
        _expect(_girih.Ciphertexts, "tables take ciphertexts", messages)
        _expect(_girih.LookUpTable, "a table is a girih.LookUpTable", table)
        made: _girih.Ciphertexts = self.map(
            lambda server, x: server.apply(x, table), messages, size=size, progress=progress
        )
        return made

    def run(
        self,
        netlist: _girih.Netlist,
        inputs: _girih.EncryptedBits,
        *,
        log2_failure: float | None = None,
        size: int | None = None,
        progress: _progress.Progress | bool | None = None,
    ) -> _girih.EncryptedBits:
        """A circuit on many instances: each worker schedules the netlist for its set once."""
        _expect(_girih.Netlist, "a circuit is a girih.Netlist here", netlist)
        _expect(_girih.EncryptedBits, "inputs are girih.EncryptedBits", inputs)
        _expect((int, float, type(None)), "log2_failure is a number", log2_failure)
        text = netlist.to_bristol()
        made: _girih.EncryptedBits = self.map(
            lambda server, bits: _run_circuit(server, text, log2_failure, bits),
            inputs, size=size, progress=progress,
        )  # fmt: skip
        return made

    def close(self) -> None:
        """Ends the workers; what they compute is given up."""
        if not self._closed:
            self._closed = True
            for one in self._workers:
                self._ray.kill(one.actor, no_restart=True)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


@contextmanager
def _in_words() -> Iterator[None]:
    """What refuses to be pickled, as secret keys do, is raised without Ray's pages around it."""
    try:
        yield
    except TypeError as error:
        if isinstance(error.__cause__, Error):
            raise error.__cause__ from None
        raise


def _cause(failed: Any) -> BaseException:
    """What work raised in a worker."""
    cause = getattr(failed, "cause", None)
    if isinstance(cause, Exception):
        return cause
    return DeviceError(f"a worker failed: {failed}")


def _arrays(batch: Any) -> tuple[Any, ...]:
    if not isinstance(batch, (tuple, list)):
        raise TypeError(f"a batch is a tuple of arrays, not {type(batch).__name__}")
    return tuple(batch)


def _reporter(progress: _progress.Progress | bool | None) -> _progress.Progress:
    if progress is True:
        return _progress._shown()
    if progress is None or progress is False:
        return lambda what, done, total: None
    if not callable(progress):
        raise TypeError(f"progress is a callable or True, not {type(progress).__name__}")
    return progress


def _joined(parts: list[Any]) -> Any:
    """The results of all batches as one."""
    if type(parts[0]) in (tuple, list):
        return type(parts[0])(_joined(list(part)) for part in zip(*parts))
    return rows.join(parts)


# The last circuits of this process: set, netlist, bound.
_circuits: dict[tuple[Any, str, float | None], _girih.Circuit] = {}


def _run_circuit(
    server: Any, text: str, log2_failure: float | None, bits: _girih.EncryptedBits
) -> _girih.EncryptedBits:
    name = (server.parameters, text, log2_failure)
    circuit = _circuits.get(name)
    if circuit is None:
        netlist = _girih.Netlist.from_bristol(text)
        circuit = _girih.Circuit(netlist, server.parameters, log2_failure=log2_failure)
        if len(_circuits) >= 16:
            _circuits.clear()
        _circuits[name] = circuit
    outputs: _girih.EncryptedBits = server.run(circuit, bits)[0]
    return outputs


class MapBatches(columns.Columns):
    """A class for ``Dataset.map_batches`` of Ray Data: a column of results beside the others.

    ``data.map_batches(girih.ray.MapBatches, fn_constructor_kwargs={..}, concurrency=2)``, with the
    arguments of :class:`girih.columns.Columns`; keys may be what ``ray.put(keys)`` gave, which
    sends them once to each machine. Ray Data computes batches of lost workers anew.
    """

    def __init__(
        self,
        keys: Any,
        work: Callable[..., Any],
        inputs: Sequence[str],
        output: str,
        device: str = "cuda:0",
        *,
        integers: bool = False,
    ) -> None:
        if not isinstance(keys, (*wire._KEYS, worker.StoredKeys)):
            ray = _package()
            if not isinstance(keys, ray.ObjectRef):
                raise TypeError(
                    f"keys are evaluation keys, or in Ray's store, not {type(keys).__name__}"
                )
            keys = ray.get(keys)
        super().__init__(keys, work, inputs, output, device, integers=integers)


__all__ = ["MapBatches", "Pool", "WorkerInfo", "require"]
