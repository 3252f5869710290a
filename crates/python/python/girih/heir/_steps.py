"""Operations as steps: a line is read once and then run as often as its loop goes round.

A step is a function of the values by their names. What reads operations into steps is in the
modules `_arithmetic`, `_memory`, `_tensor`, `_control`, `_lattigo` and `_openfhe`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from .. import errors
from ._text import Function, Module, Operation, Reader, Type, malformed, unsupported

Values = dict[str, Any]
Step = Callable[[Values], None]
#: Reads an operation's line, in a function that is being read.
Rule = Callable[["Body", Operation], Step]

#: Operations by their names.
RULES: dict[str, Rule] = {}

#: Rounds of all loops of a run.
MOST_ROUNDS = 100_000_000
#: Calls within calls.
MOST_CALLS = 8
#: Elements of all memory of a run.
MOST_ELEMENTS = 1 << 28
#: Under these names values have what they run with, how many rounds and elements are left, and how
#: many calls they are in.
MACHINE, LEFT, CALLS = "machine", "left", "calls"


@dataclass
class Left:
    """What a run may still do."""

    rounds: int = MOST_ROUNDS
    elements: int = MOST_ELEMENTS

    def take(self, elements: int) -> None:
        """Counts elements of memory."""
        self.elements -= elements
        if self.elements < 0:
            why = f"memory of more than {MOST_ELEMENTS} elements in all"
            raise errors.UnsupportedError(why)


_R = TypeVar("_R", bound=Rule)


def rule(*names: str) -> Callable[[_R], _R]:
    """What reads operations of these names."""

    def known(read: _R) -> _R:
        RULES.update(dict.fromkeys(names, read))
        return read

    return known


#: What a program that does not keep to its types comes to.
_FAULTS = (
    AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError, ZeroDivisionError,
)  # fmt: skip


class Return(Exception):
    """The end of a function, with its results."""


def run_steps(steps: list[tuple[int, Step]], values: Values) -> None:
    """One after the other; what a step meets is said with its line."""
    line = 0
    try:
        for line, step in steps:
            step(values)
    except errors.Error as error:
        if str(error).startswith("HEIR, line"):
            raise
        raise type(error)(f"HEIR, line {line}: {error}") from error
    except _FAULTS as error:
        raise malformed(line, str(error)) from error


class Functions(Protocol):
    """Functions by their names: of the caller's values and the arguments."""

    def __getitem__(self, name: str) -> Callable[[Values, list[Any]], list[Any]]: ...


class Body:
    """A function while it is read: which values are there, and the steps of its regions."""

    def __init__(self, reader: Reader, function: Function, functions: Functions) -> None:
        self.reader, self.function, self.functions = reader, function, functions
        self.module: Module = reader.module
        self._known = [{name for name, _ in function.arguments}]

    def steps(
        self, operations: list[Operation], names: tuple[str, ...] = (), last: tuple[str, ...] = ()
    ) -> list[tuple[int, Step]]:
        """The steps of a region, in which these names are known, too, and `last` at its end."""
        self._known.append(set(names))
        found = []
        for operation in operations:
            read = RULES.get(operation.name)
            if read is None:
                why = f"the operation {operation.name} is not known"
                raise unsupported(operation.line, why)
            if operation.regions and not operation.name.startswith(("scf.", "affine.")):
                raise malformed(operation.line, f"{operation.name} has no regions")
            found.append((operation.line, read(self, operation)))
            self._known[-1].update(operation.results)
        if operations:
            self.use(operations[-1], ",".join(last))
        self._known.pop()
        return found

    def match(self, operation: Operation, pattern: str, results: int = 1) -> re.Match[str]:
        """The parts of an operation's line."""
        found = re.fullmatch(pattern, operation.rest)
        if found is None:
            why = f"{operation.name} is not read as {operation.rest[:80]!r}"
            raise malformed(operation.line, why)
        if results >= 0 and len(operation.results) != results:
            why = f"{operation.name} has {results} results, not {len(operation.results)}"
            raise malformed(operation.line, why)
        return found

    def use(self, operation: Operation, text: str) -> tuple[str, ...]:
        """Names of values that are known at this place."""
        names = tuple(name.strip() for name in text.split(",")) if text.strip() else ()
        for name in names:
            if not any(name in known for known in self._known):
                raise malformed(operation.line, f"{name} is not defined above")
        return names

    def type(self, operation: Operation, text: str) -> Type:
        return self.reader.type(text, operation.line)
