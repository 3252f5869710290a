"""Operations of OpenFHE's CKKS as HEIR writes them, as calls of a machine.

Those that end in _inplace change their operand in OpenFHE. HEIR writes them where nobody reads it
afterwards, so that here they make a value like all others.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ._ciphertexts import (
    Machine, Plaintext, calls, chebyshev, decode, encode, method, nothing, numbers, operands,
    rotate, same,
)  # fmt: skip
from ._steps import Body, Step, rule
from ._text import Operation, malformed

_UNUSED = ("gen_params", "gen_context", "gen_mulkey", "gen_rotkey", "setup_bootstrap",
           "gen_bootstrapkey")  # fmt: skip

rule(*(f"openfhe.{name}" for name in _UNUSED))(nothing)


def _sub(machine: Machine, x: Any, y: Any) -> Any:
    """The plaintext may be the first of both."""
    return machine.add(machine.negate(y), x) if isinstance(x, Plaintext) else machine.sub(x, y)


def _either(name: str) -> Any:
    """Sums and products, whose plaintext may be the first of both."""

    def compute(machine: Machine, x: Any, y: Any) -> Any:
        return getattr(machine, name)(*((y, x) if isinstance(x, Plaintext) else (x, y)))

    return compute


def _by_constant(machine: Machine, x: Any, constant: int) -> Any:
    return machine.mul(x, Plaintext(machine.encoded(np.array([constant], np.float64))))


_WITH_INPLACE = {
    "add": (3, (1, 2), method("add")),
    "sub": (3, (1, 2), method("sub")),
    "add_plain": (3, (1, 2), _either("add")),
    "sub_plain": (3, (1, 2), _sub),
    "mul_const": (3, (1, 2), _by_constant),
    "negate": (2, (1,), method("negate")),
    "square": (2, (1,), lambda machine, x: machine.mul(x, x)),
    "relin": (2, (1,), same),
    "mod_reduce": (2, (1,), same),
    "level_reduce": (2, (1,), same),
}
for _end in ("", "_inplace"):
    calls("openfhe", {name + _end: what for name, what in _WITH_INPLACE.items()})

calls("openfhe", {
    "mul": (3, (1, 2), method("mul")),
    "mul_no_relin": (3, (1, 2), method("mul")),
    "mul_plain": (3, (1, 2), _either("mul")),
    "bootstrap": (2, (1,), method("bootstrap")),
    "make_ckks_packed_plaintext": (2, (1,), encode),
    "encrypt": (3, (1,), method("encrypt")),
    "decrypt": (3, (1,), method("decrypt")),
    # What several rotations of one ciphertext share; girih shares it by itself.
    "fast_rotation_precompute": (2, (1,), same),
    "fast_rotation": (4, (1, 2), method("rotate")),
})  # fmt: skip


@rule("openfhe.rot")
def _rotate(body: Body, op: Operation) -> Step:
    return rotate(body, op, 2)


@rule("openfhe.decode_ckks")
def _decode(body: Body, op: Operation) -> Step:
    (plain,), _, types = operands(body, op, 1)
    return decode(body, op, plain, types)


@rule("openfhe.eval_chebyshev_series")
def _chebyshev(body: Body, op: Operation) -> Step:
    (_, x), attributes, _ = operands(body, op, 2)
    ends = []
    for name in ("domain_lower", "domain_upper"):
        found = re.search(rf"\b{name} = ([^\s,>]+)", attributes)
        try:
            ends.append(float(found[1] if found else ""))
        except ValueError:
            raise malformed(op.line, f"{op.name} has no number named {name}") from None
    first, *others = numbers(op, attributes, "coefficients") or [0.0]
    # OpenFHE takes half of the first.
    return chebyshev(op, x, (first / 2, *others), ends[0], ends[1])
