"""Progress of long work: ``progress=True`` shows it, any callable hears numbers."""

from __future__ import annotations

import sys
import time
from importlib import import_module
from typing import Any, Callable, TextIO

#: What ``progress=`` takes: called with (what, done, total) at most 20 times a second, on the
#: thread that made the call. What it raises ends the work and is raised there.
Progress = Callable[[str, int, int], object]


def tqdm(**options: Any) -> Progress:
    """A bar for each kind of work, by the package tqdm; ``options`` go to its bars."""
    try:
        package = import_module("tqdm")
    except ImportError as error:
        why = "progress bars need the package tqdm: pip install tqdm, or pass a callable"
        raise ImportError(why) from error
    bars: dict[str, Any] = {}

    def report(what: str, done: int, total: int) -> None:
        bar = bars.get(what)
        if bar is None:
            bar = bars[what] = package.tqdm(total=total, desc=what, **options)
        bar.update(done - bar.n)
        if done >= total:
            bar.close()

    return report


def _lines(stream: TextIO | None = None) -> Progress:
    """One line on a terminal, from two seconds on: what is done, and about how long the rest takes.

    ``stream`` is standard error if none is given. Where it is no terminal, nothing is written.
    """
    begun: dict[str, tuple[float, int]] = {}
    drawn = 0.0

    def report(what: str, done: int, total: int) -> None:
        nonlocal drawn
        out = sys.stderr if stream is None else stream
        if not out.isatty():
            return
        now = time.monotonic()
        since, first = begun.setdefault(what, (now, done))
        if done >= total:
            del begun[what]
            if drawn:
                out.write("\r\x1b[2K")
                out.flush()
                drawn = 0.0
        elif now - since >= 2 and now - drawn >= 0.2:
            line = f"{what}: {done} of {total}"
            if done > first:
                rest = (now - since) / (done - first) * (total - done)
                line += f", about {rest:.0f} s left"
            out.write(f"\r\x1b[2K{line[:79]}")
            out.flush()
            drawn = now

    return report


def _shown() -> Progress:
    """What ``progress=True`` means: bars where tqdm is installed, else a line on a terminal."""
    try:
        import_module("tqdm")
    except ImportError:
        return _lines()
    return tqdm()


__all__ = ["Progress", "tqdm"]
