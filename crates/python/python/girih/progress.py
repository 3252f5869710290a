"""Progress of long work: ``progress=True`` shows it, any callable hears numbers."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Callable

#: What ``progress=`` takes: called with (what, done, total) at most 20 times a second, on the
#: thread that made the call. What it raises ends the work and is raised there.
Progress = Callable[[str, int, int], object]


def tqdm(**options: Any) -> Progress:
    """A bar for each kind of work, by the package tqdm; ``options`` go to its bars."""
    # Not before it is wanted: programs that show nothing start sooner.
    package = import_module("tqdm")
    bars: dict[str, Any] = {}

    def report(what: str, done: int, total: int) -> None:
        bar = bars.get(what)
        if bar is None:
            bar = bars[what] = package.tqdm(total=total, desc=what, **options)
        bar.update(done - bar.n)
        if done >= total:
            bar.close()
            # Work of the same name may begin anew.
            del bars[what]

    return report


def _listener(progress: Progress | bool | None) -> Progress | None:
    """Who hears what ``progress=`` was given: nobody for ``None`` and ``False``."""
    if progress is None or progress is False:
        return None
    if progress is True:
        return _shown()
    if callable(progress):
        return progress
    kind = type(progress).__name__
    words = "it must be a callable of (what, done, total), True, or None"
    raise TypeError(f"progress is {kind}: {words}")


def _shown() -> Progress:
    """What ``progress=True`` means: bars on a terminal from two seconds on, wiped when done."""
    return tqdm(delay=2, disable=None, leave=False)


__all__ = ["Progress", "tqdm"]
