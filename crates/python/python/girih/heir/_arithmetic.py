"""Operations on whole numbers and on real ones."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ._steps import LEFT, Body, Step, Values, rule
from ._tensor import array_of
from ._text import VALUE, Operation, Type, malformed, number, unsupported


def _whole(value: int, bits: int) -> int:
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ValueError(f"{value} does not fit {bits} bits")
    return value


def _bits(type: Type) -> int:
    return 64 if type.name == "index" else int(type.name[1:])


def _remainder(a: int, b: int) -> int:
    return a - b * _quotient(a, b)


def _quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "addi": operator.add,
    "subi": operator.sub,
    "muli": operator.mul,
    "floordivsi": operator.floordiv,
    "ceildivsi": lambda a, b: -(-a // b),
    "divsi": _quotient,
    "remsi": _remainder,
    "minsi": min,
    "maxsi": max,
    "andi": operator.and_,
    "ori": operator.or_,
    "xori": operator.xor,
    "addf": operator.add,
    "subf": operator.sub,
    "mulf": operator.mul,
    "divf": operator.truediv,
}

_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "slt": operator.lt, "sle": operator.le,
    "sgt": operator.gt, "sge": operator.ge,
}  # fmt: skip
#: Of numbers, so that ordered and unordered comparisons are the same.
_COMPARED_FLOATS = {
    f"{first}{name.removeprefix('s')}": compared
    for first in "ou" for name, compared in _COMPARED.items()
}  # fmt: skip


def _of_tensors(op: Operation, function: Callable[..., Any], *names: str) -> Step:
    """Numbers of tensors, each by itself."""
    result = op.results[0]

    def step(values: Values) -> None:
        arrays = [array_of(values[name]) for name in names]
        if len({array.shape for array in arrays}) != 1:
            raise ValueError(f"tensors of shapes {[list(array.shape) for array in arrays]}")
        values[LEFT].take(arrays[0].size)
        with np.errstate(all="ignore"):
            values[result] = function(*arrays)

    return step


@rule(*(f"arith.{name}" for name in _BINARY))
def _binary(body: Body, op: Operation) -> Step:
    found = body.match(op, rf"({VALUE}, {VALUE})(?: overflow<[\w, ]+>)? : (\S+)")
    (a, b), type, result = body.use(op, found[1]), body.type(op, found[2]), op.results[0]
    function, short = _BINARY[op.name[6:]], op.name[6:]
    if short.endswith("f") != type.is_float or not type.is_number:
        raise malformed(op.line, f"{op.name} of {type.name}")
    if type.shape is not None:
        if not type.is_float:
            raise unsupported(op.line, f"{op.name} of tensors of {type.name}")
        return _of_tensors(op, function, a, b)
    if type.is_float or type.name == "i1":

        def of_floats(values: Values) -> None:
            values[result] = function(values[a], values[b])

        return of_floats
    bits = _bits(type)

    def of_integers(values: Values) -> None:
        values[result] = _whole(function(values[a], values[b]), bits)

    return of_integers


@rule("arith.constant")
def _constant(body: Body, op: Operation) -> Step:
    result = op.results[0] if op.results else ""
    if op.rest in ("true", "false"):
        value: Any = op.rest == "true"
    else:
        found = body.match(op, r"(dense(?:_resource)?<.*>|[^\s<>:]+) : (\S+)")
        type = body.type(op, found[2])
        if type.shape is not None and found[1].startswith("dense"):
            array = body.reader.dense(found[1], type, op.line)
            array.flags.writeable = False
            return lambda values: values.__setitem__(result, array)
        if not type.is_number or type.shape is not None:
            raise unsupported(op.line, f"a constant of {type.name}")
        try:
            value = number(found[1], type.name) if type.is_float else int(found[1])
        except (ValueError, KeyError, OverflowError):
            raise malformed(op.line, f"{found[1]!r} is no {type.name}") from None

    def set(values: Values) -> None:
        values[result] = value

    return set


@rule("arith.index_cast", "arith.extsi", "arith.trunci", "arith.extf", "arith.truncf",
      "arith.sitofp")  # fmt: skip
def _cast(body: Body, op: Operation) -> Step:
    found = body.match(op, rf"({VALUE}) : (\S+) to (\S+)")
    (x,), type, result = body.use(op, found[1]), body.type(op, found[3]), op.results[0]
    if type.shape is not None:
        if not (type.is_float and body.type(op, found[2]).is_float):
            raise unsupported(op.line, f"{op.name} of tensors of {type.name}")
        # Numbers have double precision, whatever they are called.
        return lambda values: values.__setitem__(result, values[x])
    bits = 0 if type.is_float else _bits(type)

    def cast(values: Values) -> None:
        values[result] = _whole(values[x], bits) if bits else float(values[x])

    return cast


def _root(x: Any) -> Any:
    if np.any(np.asarray(x) < 0):
        raise ValueError("the square root of a negative number")
    return np.sqrt(x) if isinstance(x, np.ndarray) else math.sqrt(x)


_UNARY: dict[str, Callable[[Any], Any]] = {"arith.negf": operator.neg, "math.sqrt": _root}


@rule(*_UNARY)
def _unary(body: Body, op: Operation) -> Step:
    found, function, result = body.match(op, rf"({VALUE}) : (\S+)"), _UNARY[op.name], op.results[0]
    (x,), type = body.use(op, found[1]), body.type(op, found[2])
    if not type.is_float:
        raise malformed(op.line, f"{op.name} of {type.name}")
    if type.shape is not None:
        return _of_tensors(op, function, x)

    def step(values: Values) -> None:
        values[result] = function(values[x])

    return step


@rule("arith.cmpi", "arith.cmpf")
def _compare(body: Body, op: Operation) -> Step:
    found, result = body.match(op, rf"(\w+), ({VALUE}, {VALUE}) : \w+"), op.results[0]
    a, b = body.use(op, found[2])
    known = _COMPARED if op.name == "arith.cmpi" else _COMPARED_FLOATS
    compared = known.get(found[1])
    if compared is None:
        raise unsupported(op.line, f"{op.name} {found[1]}: {', '.join(known)} are known")

    def compare(values: Values) -> None:
        x, y = values[a], values[b]
        if x != x or y != y:
            why = "of a number that was never written, or that is known to whoever computes alone"
            raise unsupported(op.line, f"{op.name} {why}")
        values[result] = compared(x, y)

    return compare


@rule("arith.select")
def _select(body: Body, op: Operation) -> Step:
    found, result = body.match(op, rf"({VALUE}, {VALUE}, {VALUE}) : .+"), op.results[0]
    condition, a, b = body.use(op, found[1])

    def select(values: Values) -> None:
        values[result] = values[a] if values[condition] else values[b]

    return select
