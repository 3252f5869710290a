"""Operations of Lattigo's CKKS as HEIR writes them, as calls of a machine."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ._ciphertexts import (
    Machine, Plaintext, Transform, calls, chebyshev, decode, encode, method, nothing, numbers,
    operands, result_of, rotate, same,
)  # fmt: skip
from ._steps import Body, Step, rule
from ._text import Operation, malformed

_UNUSED = (
    "ckks.new_parameters_from_literal", "ckks.new_encoder", "ckks.new_evaluator",
    "ckks.new_polynomial_evaluator", "ckks.new_bootstrapping_parameters_from_literal",
    "ckks.gen_evaluation_keys_bootstrapping", "ckks.new_bootstrapping_evaluator",
    "rlwe.new_key_generator", "rlwe.gen_key_pair", "rlwe.gen_relinearization_key",
    "rlwe.gen_galois_key", "rlwe.new_evaluation_key_set", "rlwe.new_encryptor",
    "rlwe.new_decryptor",
)  # fmt: skip

rule(*(f"lattigo.{name}" for name in _UNUSED))(nothing)

#: Operations that may write to memory of their caller, with it as their last operand, and without
#: it under names that end in _new.
_INTO = {
    "ckks.add": ((1, 2), method("add")),
    "ckks.sub": ((1, 2), method("sub")),
    "ckks.mul": ((1, 2), method("mul")),
    "ckks.relinearize": ((1,), same),
    "ckks.rescale": ((1,), same),
    "rlwe.drop_level": ((1,), same),
    "rlwe.negate": ((1,), method("negate")),
}
for _end, _memory in (("_new", 0), ("", 1)):
    _table = {
        name + _end: (1 + len(places) + _memory, places, compute)
        for name, (places, compute) in _INTO.items()
    }
    calls("lattigo", _table)

calls("lattigo", {
    "ckks.new_plaintext": (1, (), lambda machine: Plaintext()),
    "ckks.encode": (3, (1,), encode),
    "ckks.apply_linear_transform": (3, (1, 2), method("transform")),
    "ckks.bootstrap": (2, (1,), method("bootstrap")),
    "rlwe.encrypt": (2, (1,), method("encrypt")),
    "rlwe.decrypt": (2, (1,), method("decrypt")),
})  # fmt: skip


@rule("lattigo.ckks.prepare_linear_transform")
def _prepare(body: Body, op: Operation) -> Step:
    (_, _, memory), attributes, _ = operands(body, op, 3)
    indices = [int(i) for i in numbers(op, attributes, "diagonal_indices")]
    if not indices or len(set(indices)) != len(indices):
        raise malformed(op.line, "diagonal_indices: each diagonal once, and one at least")
    named = re.search(r"\bsource_row_indices = ", attributes) is not None
    rows = [int(i) for i in numbers(op, attributes, "source_row_indices")] if named else None
    if rows is not None and len(rows) != len(indices):
        why = f"source_row_indices: {len(rows)} rows for {len(indices)} diagonals"
        raise malformed(op.line, why)

    def prepare(machine: Machine, memory: Any) -> Transform:
        held = np.array(memory, np.float64)
        if held.ndim != 2 or (rows is None and len(held) != len(indices)):
            raise ValueError(f"{len(indices)} diagonals in memory of shape {list(held.shape)}")
        taken = list(range(len(indices))) if rows is None else rows
        if not all(0 <= row < len(held) for row in taken):
            raise ValueError(f"source_row_indices in memory of shape {list(held.shape)}")
        pairs = zip(indices, taken, strict=True)
        return Transform({by: machine.encoded(held[row]) for by, row in pairs})

    return result_of(op, prepare, memory)


@rule("lattigo.ckks.decode")
def _decode(body: Body, op: Operation) -> Step:
    (_, plain, _), _, types = operands(body, op, 3)
    return decode(body, op, plain, types)


@rule("lattigo.ckks.rotate", "lattigo.ckks.rotate_new")
def _rotate(body: Body, op: Operation) -> Step:
    return rotate(body, op, 2 if op.name.endswith("_new") else 3)


@rule("lattigo.ckks.chebyshev")
def _chebyshev(body: Body, op: Operation) -> Step:
    (_, x), attributes, _ = operands(body, op, 2)
    domain = [-1.0, 1.0]
    if re.search(r"\bdomain = ", attributes):
        domain = numbers(op, attributes, "domain")
        if len(domain) != 2:
            raise malformed(op.line, f"a domain from one number to a larger one, not {domain}")
    return chebyshev(op, x, tuple(numbers(op, attributes, "coefficients")), domain[0], domain[1])
