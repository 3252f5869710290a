"""What dialects of CKKS libraries share: plaintexts, maps, what computes, and their operations.

Operands that keys or a context are, and memory that a result may be written to, are read and not
used: every operation makes a value of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ._steps import MACHINE, Body, Step, Values, rule
from ._tensor import array_of
from ._text import VALUE, Operation, malformed

_OPERANDS = rf"((?:{VALUE}(?:, )?)*)\s*(<.*>|\{{.*\}})?\s*: (.+)"

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Plaintext:
    """Numbers in slots; none before they are encoded."""

    values: Floats | None = None


@dataclass(frozen=True)
class Transform:
    """A linear map, by its diagonals."""

    diagonals: dict[int, Floats]


class Machine(Protocol):
    """What computes: ciphertexts are what it says."""

    def add(self, x: Any, y: Any) -> Any: ...
    def sub(self, x: Any, y: Any) -> Any: ...
    def mul(self, x: Any, y: Any) -> Any: ...
    def negate(self, x: Any) -> Any: ...
    def rotate(self, x: Any, by: int) -> Any: ...
    def transform(self, x: Any, map: Transform) -> Any: ...
    def chebyshev(self, x: Any, coefficients: tuple[float, ...], low: float, high: float) -> Any:
        ...
    def bootstrap(self, x: Any) -> Any: ...
    def encrypt(self, plain: Plaintext) -> Any: ...
    def decrypt(self, x: Any) -> Plaintext: ...
    def encoded(self, values: Floats) -> Floats: ...


#: What is computed of a machine and of operands.
Compute = Callable[..., Any]


def operands(body: Body, op: Operation, *counts: int) -> tuple[tuple[str, ...], str, str]:
    """Operands, attributes and types; there are as many operands as one of the counts."""
    found = body.match(op, _OPERANDS)
    names = body.use(op, found[1])
    if len(names) not in counts:
        why = f"{op.name} has {' or '.join(map(str, counts))} operands, not {len(names)}"
        raise malformed(op.line, why)
    return names, found[2] or "", found[3]


def result_of(op: Operation, compute: Compute, *names: str) -> Step:
    """The step whose result is what a machine computes of these values."""
    (result,) = op.results

    def step(values: Values) -> None:
        values[result] = compute(values[MACHINE], *[values[name] for name in names])

    return step


def nothing(body: Body, op: Operation) -> Step:
    """Contexts and keys: they are made where their owner is."""
    results = op.results

    def step(values: Values) -> None:
        values.update(dict.fromkeys(results))

    return step


def calls(prefix: str, table: Mapping[str, tuple[int, tuple[int, ...], Compute]]) -> None:
    """Rules of operations that have no attributes of meaning: of each how many operands it has,
    which of them count, and what is computed of these."""
    for name, (count, places, compute) in table.items():

        def read(
            body: Body, op: Operation, count: int = count, places: tuple[int, ...] = places,
            compute: Compute = compute,
        ) -> Step:  # fmt: skip
            names, _, _ = operands(body, op, count)
            return result_of(op, compute, *(names[place] for place in places))

        rule(f"{prefix}.{name}")(read)


# What is computed


def method(name: str) -> Compute:
    """The machine's method of this name."""

    def compute(machine: Machine, *values: Any) -> Any:
        return getattr(machine, name)(*values)

    return compute


def same(machine: Machine, x: Any) -> Any:
    """Products are relinearised and rescaled at once, and levels fit when two values meet."""
    return x


def encode(machine: Machine, values: Any) -> Plaintext:
    # Memory may be written again.
    return Plaintext(machine.encoded(np.array(array_of(values), np.float64).reshape(-1)))


# Operations with attributes, which dialects write in the same way


def decode(body: Body, op: Operation, plain: str, types: str) -> Step:
    """The numbers of a plaintext, of the shape of the type behind the arrow."""
    shape = body.type(op, types.rsplit("->", 1)[-1]).shape or ()
    return result_of(op, lambda _, plain: np.array(plain.values).reshape(shape), plain)


def rotate(body: Body, op: Operation, count: int) -> Step:
    """A rotation of the second operand by one behind `count` others, or by an attribute."""
    names, attributes, _ = operands(body, op, count, count + 1)
    static = re.search(r"\b(?:offset|static_shift) = (-?\d+)", attributes)
    if (len(names) > count) == (static is not None):
        raise malformed(op.line, f"{op.name} by an operand or by an attribute, one of both")
    if static is None:
        return result_of(op, method("rotate"), names[1], names[-1])
    by = int(static[1])
    return result_of(op, lambda machine, x: machine.rotate(x, by), names[1])


def numbers(op: Operation, attributes: str, name: str) -> list[float]:
    """A list of numbers among the attributes."""
    found = re.search(rf"\b{name} = (?:array<\w+: ([^>]*)>|\[([^\]]*)\])", attributes)
    try:
        if found is not None:
            words = re.sub(r" : \w+", "", found[1] or found[2] or "").split(",")
            return [float(word) for word in words if word.strip()]
    except ValueError:
        pass
    raise malformed(op.line, f"{op.name} has no list of numbers named {name}")


def chebyshev(
    op: Operation, x: str, coefficients: tuple[float, ...], low: float, high: float
) -> Step:
    """A series of Chebyshev polynomials on an interval."""
    if not low < high:
        why = f"a domain from one number to a larger one, not {[low, high]}"
        raise malformed(op.line, why)
    if not coefficients or not np.isfinite(coefficients).all():
        raise malformed(op.line, "coefficients: finite numbers, one at least")
    return result_of(
        op, lambda machine, x: machine.chebyshev(x, coefficients, low, high), x
    )
