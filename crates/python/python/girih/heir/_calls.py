"""Functions of a module, read when they are called first, and what they are called with."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from . import _arithmetic, _control, _lattigo, _memory, _openfhe, _tensor
from ._steps import CALLS, LEFT, MACHINE, MOST_CALLS, Body, Left, Return, Values, run_steps
from ._text import Function, Module, Reader, malformed, unsupported

#: What reads operations is known by its import.
RULES_OF = (_arithmetic, _control, _lattigo, _memory, _openfhe, _tensor)


class Functions:
    """Functions as steps, read when they are called first."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._read: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._read:
            function = self._reader.module.functions[name]
            steps = Body(self._reader, function, self).steps(function.body)
            names = [argument for argument, _ in function.arguments]

            def call(values: Values, inputs: list[Any]) -> list[Any]:
                if values[CALLS] >= MOST_CALLS:
                    raise unsupported(function.line, f"more than {MOST_CALLS} calls in calls")
                own = {key: values[key] for key in (MACHINE, LEFT)}
                own[CALLS] = values[CALLS] + 1
                own.update(zip(names, inputs, strict=True))
                try:
                    run_steps(steps, own)
                except Return as end:
                    return list(end.args[0])
                raise malformed(function.line, f"@{name} ends without a return")

            self._read[name] = call
        return self._read[name]

    def run(self, name: str, machine: Any, inputs: list[Any]) -> list[Any]:
        """A function on a machine."""
        start = {MACHINE: machine, LEFT: Left(), CALLS: 0}
        found: list[Any] = self[name](start, inputs)
        return [x.array() if isinstance(x, _tensor.Tensor) else x for x in found]


def arguments(entry: Function, flat: list[Any], known: Sequence[Any]) -> list[Any]:
    """What the entry is called with; contexts and keys are nothing here."""
    found: list[Any] = []
    rest, more = list(flat), list(known)
    for _, type in entry.arguments:
        if type.is_ciphertext:
            count = math.prod(type.shape or ())
            held = np.empty(count, object)
            # One by one: ciphertexts are no sequences of NumPy's.
            for i in range(count):
                held[i] = rest.pop(0)
            found.append(held.reshape(type.shape) if type.shape is not None else held[0])
        elif type.is_number:
            found.append(more.pop(0))
        else:
            found.append(None)
    return found


def given(function: Function, inputs: list[Any]) -> list[Any]:
    """The arguments of a function of the client: contexts and keys are nothing here."""
    rest = list(inputs)
    wanted = [t.is_number or t.is_ciphertext for _, t in function.arguments]
    if sum(wanted) != len(rest):
        why = f"@{function.name} takes {sum(wanted)} arrays, not {len(rest)}"
        raise malformed(function.line, why)
    return [rest.pop(0) if is_array else None for is_array in wanted]


def flat_of(results: list[Any]) -> Iterator[Any]:
    """Ciphertexts, one after the other."""
    for result in results:
        yield from result.reshape(-1) if isinstance(result, np.ndarray) else (result,)


def parts(module: Module, program: str, role: str) -> list[str]:
    """The functions of a program with this role, in the order of arguments or results."""
    found = [f for f in module.functions.values() if role in f.roles and f.program == program]
    return [f.name for f in sorted(found, key=lambda f: f.index)]
