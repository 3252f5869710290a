"""Operations of Lattigo's CKKS as HEIR writes them, as calls of a machine.

Operands that keys or a context are, and memory that a result may be written to, are read and not
used: every operation makes a value of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ._steps import MACHINE, Body, Rule, Step, Values, rule
from ._text import VALUE, Operation, malformed, unsupported

_OPERANDS = rf"((?:{VALUE}(?:, )?)*)\s*(<.*>|\{{.*\}})?\s*: (.+)"


@dataclass(frozen=True)
class Plaintext:
    """Numbers in slots; none before they are encoded."""

    values: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Transform:
    """A linear map, by its diagonals."""

    diagonals: dict[int, NDArray[np.float64]]


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
    def encrypt(self, plain: Plaintext) -> Any: ...
    def decrypt(self, x: Any) -> Plaintext: ...
    def encoded(self, values: NDArray[np.float64]) -> NDArray[np.float64]: ...


def _read(body: Body, op: Operation, *counts: int) -> tuple[tuple[str, ...], str, str]:
    """Operands, attributes and types; there are as many operands as one of the counts."""
    found = body.match(op, _OPERANDS)
    operands = body.use(op, found[1])
    if len(operands) not in counts:
        why = f"{op.name} has {' or '.join(map(str, counts))} operands, not {len(operands)}"
        raise malformed(op.line, why)
    return operands, found[2] or "", found[3]


def _numbers(op: Operation, attributes: str, name: str) -> list[float]:
    """A list of numbers among the attributes."""
    found = re.search(rf"\b{name} = (?:array<\w+: ([^>]*)>|\[([^\]]*)\])", attributes)
    try:
        if found is not None:
            words = re.sub(r" : \w+", "", found[1] or found[2] or "").split(",")
            return [float(word) for word in words if word.strip()]
    except ValueError:
        pass
    raise malformed(op.line, f"{op.name} has no list of numbers named {name}")


# Contexts and keys: they are made where their owner is.

_UNUSED = (
    "ckks.new_parameters_from_literal", "ckks.new_encoder", "ckks.new_evaluator",
    "ckks.new_polynomial_evaluator", "rlwe.new_key_generator", "rlwe.gen_key_pair",
    "rlwe.gen_relinearization_key", "rlwe.gen_galois_key", "rlwe.new_evaluation_key_set",
    "rlwe.new_encryptor", "rlwe.new_decryptor",
)  # fmt: skip


@rule(*(f"lattigo.{name}" for name in _UNUSED))
def _unused(body: Body, op: Operation) -> Step:
    results = op.results

    def nothing(values: Values) -> None:
        values.update(dict.fromkeys(results))

    return nothing


# Plaintexts and linear maps


@rule("lattigo.ckks.new_plaintext")
def _new_plaintext(body: Body, op: Operation) -> Step:
    _read(body, op, 1)
    result = op.results[0]

    def new(values: Values) -> None:
        values[result] = Plaintext()

    return new


@rule("lattigo.ckks.encode")
def _encode(body: Body, op: Operation) -> Step:
    (_, x, _), _, _ = _read(body, op, 3)
    result = op.results[0]

    def encode(values: Values) -> None:
        # Memory may be written again.
        numbers = np.array(values[x], np.float64).reshape(-1)
        values[result] = Plaintext(values[MACHINE].encoded(numbers))

    return encode


@rule("lattigo.ckks.prepare_linear_transform")
def _prepare(body: Body, op: Operation) -> Step:
    (_, _, x), attributes, _ = _read(body, op, 3)
    indices = [int(i) for i in _numbers(op, attributes, "diagonal_indices")]
    result = op.results[0]
    if not indices or len(set(indices)) != len(indices):
        raise malformed(op.line, "diagonal_indices: each diagonal once, and one at least")

    def prepare(values: Values) -> None:
        rows = np.array(values[x], np.float64)
        if rows.ndim != 2 or len(rows) != len(indices):
            raise ValueError(f"{len(indices)} diagonals in memory of shape {list(rows.shape)}")
        encoded = values[MACHINE].encoded
        made = {by: encoded(row) for by, row in zip(indices, rows, strict=True)}
        values[result] = Transform(made)

    return prepare


@rule("lattigo.ckks.apply_linear_transform")
def _apply(body: Body, op: Operation) -> Step:
    (_, x, map), _, _ = _read(body, op, 3)
    result = op.results[0]

    def apply(values: Values) -> None:
        values[result] = values[MACHINE].transform(values[x], values[map])

    return apply


@rule("lattigo.ckks.decode")
def _decode(body: Body, op: Operation) -> Step:
    (_, plain, _), _, types = _read(body, op, 3)
    shape = body.type(op, types.rsplit("->", 1)[-1]).shape or ()
    result = op.results[0]

    def decode(values: Values) -> None:
        values[result] = np.array(values[plain].values).reshape(shape)

    return decode


@rule("lattigo.rlwe.encrypt")
def _encrypt(body: Body, op: Operation) -> Step:
    (_, plain), _, _ = _read(body, op, 2)
    result = op.results[0]

    def encrypt(values: Values) -> None:
        values[result] = values[MACHINE].encrypt(values[plain])

    return encrypt


@rule("lattigo.rlwe.decrypt")
def _decrypt(body: Body, op: Operation) -> Step:
    (_, x), _, _ = _read(body, op, 2)
    result = op.results[0]

    def decrypt(values: Values) -> None:
        values[result] = values[MACHINE].decrypt(values[x])

    return decrypt


# Ciphertexts


def _binary(name: str) -> Rule:
    def read(body: Body, op: Operation) -> Step:
        operands, _, _ = _read(body, op, 3 if op.name.endswith("_new") else 4)
        x, y = operands[1:3]
        result = op.results[0]

        def step(values: Values) -> None:
            values[result] = getattr(values[MACHINE], name)(values[x], values[y])

        return step

    return read


for _name in ("add", "sub", "mul"):
    rule(f"lattigo.ckks.{_name}", f"lattigo.ckks.{_name}_new")(_binary(_name))


@rule("lattigo.rlwe.negate", "lattigo.rlwe.negate_new")
def _negate(body: Body, op: Operation) -> Step:
    operands, _, _ = _read(body, op, 2 if op.name.endswith("_new") else 3)
    x, result = operands[1], op.results[0]

    def negate(values: Values) -> None:
        values[result] = values[MACHINE].negate(values[x])

    return negate


_SAME = ("ckks.relinearize", "ckks.rescale", "rlwe.drop_level")


@rule(*(f"lattigo.{name}{end}" for name in _SAME for end in ("", "_new")))
def _same(body: Body, op: Operation) -> Step:
    """Products are relinearised and rescaled at once, and levels fit when two values meet."""
    operands, _, _ = _read(body, op, 2 if op.name.endswith("_new") else 3)
    x, result = operands[1], op.results[0]

    def same(values: Values) -> None:
        values[result] = values[x]

    return same


@rule("lattigo.ckks.rotate", "lattigo.ckks.rotate_new")
def _rotate(body: Body, op: Operation) -> Step:
    new = op.name.endswith("_new")
    operands, attributes, _ = _read(body, op, *((2, 3) if new else (3, 4)))
    x, result = operands[1], op.results[0]
    static = re.search(r"\b(?:offset|static_shift) = (-?\d+)", attributes)
    dynamic = len(operands) == (3 if new else 4)
    if dynamic == (static is not None):
        raise malformed(op.line, f"{op.name} by an operand or by an attribute, one of both")
    amount = int(static[1]) if static else operands[-1]

    def rotate(values: Values) -> None:
        by = values[amount] if isinstance(amount, str) else amount
        values[result] = values[MACHINE].rotate(values[x], by)

    return rotate


@rule("lattigo.ckks.chebyshev")
def _chebyshev(body: Body, op: Operation) -> Step:
    (_, x), attributes, _ = _read(body, op, 2)
    coefficients = tuple(_numbers(op, attributes, "coefficients"))
    low, high = -1.0, 1.0
    if re.search(r"\bdomain = ", attributes):
        domain = _numbers(op, attributes, "domain")
        if len(domain) != 2 or not domain[0] < domain[1]:
            raise malformed(op.line, f"a domain from one number to a larger one, not {domain}")
        low, high = domain
    result = op.results[0]
    if not coefficients or not np.isfinite(coefficients).all():
        raise malformed(op.line, "coefficients: finite numbers, one at least")

    def chebyshev(values: Values) -> None:
        values[result] = values[MACHINE].chebyshev(values[x], coefficients, low, high)

    return chebyshev


@rule("lattigo.ckks.bootstrap")
def _bootstrap(body: Body, op: Operation) -> Step:
    why = (
        "lattigo.ckks.bootstrap is not read: a larger greedy-level-budget of --mlir-to-ckks leaves "
        "it out"
    )
    raise unsupported(op.line, why)
