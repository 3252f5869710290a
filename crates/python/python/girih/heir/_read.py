"""From a text to a program."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from .. import _sets, ckks, errors
from ._calls import Functions, arguments, flat_of, given, parts
from ._machines import Depth, Trace
from ._program import Argument, Program
from ._text import Function, Module, Reader, Type, malformed, unsupported

_MADE_BY = (
    'heir-opt --annotate-module="backend=lattigo scheme=ckks" --mlir-to-ckks --scheme-to-lattigo '
    "makes what is read, and so do backend=openfhe and --scheme-to-openfhe"
)


#: log2 of the smallest degree of a set.
_SMALLEST = 10


def _entry(module: Module, function: str | None) -> Function:
    entries = [f for f in module.functions.values() if "entry" in f.roles]
    named = [f for f in entries if function in (None, f.name)]
    if len(named) == 1:
        return named[0]
    names = ", ".join(f.name for f in entries)
    if not entries:
        raise errors.UnsupportedError(f"HEIR: no function has the role of an entry: {_MADE_BY}")
    if function is None:
        raise errors.MismatchError(f"HEIR: several functions: function= names one of {names}")
    raise errors.MismatchError(f"HEIR: there is no @{function}: there are {names}")


def _packing(module: Module, entry: Function) -> tuple[list[Function], list[Function]]:
    """The functions that encrypt arguments, zeros behind them, and those that decrypt results."""
    encrypting, zeros, decrypting = (
        [module.functions[name] for name in parts(module, entry.name, role)]
        for role in ("client.encrypt", "client.encrypt_zero", "client.decrypt")
    )
    encrypting += zeros
    inputs = sum(t.is_ciphertext for _, t in entry.arguments)
    if [len(encrypting), len(decrypting)] != [inputs, len(entry.results)]:
        why = f"@{entry.name} lacks functions that encrypt its arguments or decrypt its results"
        raise malformed(entry.line, f"{why}: {_MADE_BY}")
    for function in encrypting + decrypting:
        if len(function.results) != 1:
            raise malformed(function.line, f"@{function.name} must have one result")
    for function, result in zip(decrypting, entry.results, strict=True):
        own = [type for _, type in function.arguments if type.is_ciphertext]
        if own != [result] or not result.is_ciphertext:
            why = f"@{function.name} does not decrypt what @{entry.name} returns"
            raise malformed(function.line, why)
    return encrypting, decrypting


def _literal(module: Module) -> tuple[int, int, int]:
    """log2 N, log2 of the scale and bits of level 0, of the program's own parameters."""
    for function in module.functions.values():
        for op in function.body:
            if op.name == "openfhe.gen_params":
                scale = re.search(r"scalingModSize = (\d+)", op.rest)
                first = re.search(r"firstModSize = (\d+)", op.rest)
                if scale and first:
                    # OpenFHE finds a degree by itself.
                    return _SMALLEST, int(scale[1]), int(first[1])
                raise malformed(op.line, "parameters without scalingModSize or firstModSize")
            if op.name == "lattigo.ckks.new_parameters_from_literal":
                degree = re.search(r"logN = (\d+)", op.rest)
                scale = re.search(r"logDefaultScale = (\d+)", op.rest)
                primes = re.search(r"\bQ = \[([\d, ]+)\]", op.rest)
                if degree and scale and primes:
                    q = [int(prime) for prime in primes[1].split(",")]
                    return int(degree[1]), int(scale[1]), q[0].bit_length()
                raise malformed(op.line, "parameters without logN, Q or logDefaultScale")
    raise errors.UnsupportedError(f"HEIR: a program without its parameters: {_MADE_BY}")


def _parameters(name: str, module: Module, trace: Trace) -> ckks.Parameters:
    """A set with the program's scale, and the levels that it takes."""
    levels, slots = trace.levels, trace.slots
    degree, log_scale, first = _literal(module)
    # A larger scale is as good.
    log_scale = max(log_scale, 25)
    if log_scale > 55:
        why = f"HEIR: a scale of {log_scale} bits: 55 at most are there (scaling-mod-bits)"
        raise errors.UnsupportedError(why)
    headroom = float(max(10, first - log_scale))
    if not _SMALLEST <= degree <= 17:
        raise errors.UnsupportedError(f"HEIR: logN = {degree}: {_SMALLEST} to 17 are there")
    if trace.bootstraps is not None:
        found = [one for one in _sets.with_bootstrapping(log_scale) if _fits(one, trace)]
        if found:
            return found[0]
        before = f"{trace.bootstraps} levels before a bootstrapping and {levels} in all"
        raise errors.UnsupportedError(
            f"HEIR: no set of a scale of {log_scale} bits has {before}: a smaller "
            "greedy-level-budget of --mlir-to-ckks takes fewer"
        )
    refused: errors.ParameterError | None = None
    for log_n in range(max(degree, slots.bit_length()), 18):
        try:
            title, what = f"HEIR_N{log_n}_D{log_scale}_L{levels}", f"for @{name} of HEIR"
            return _sets.with_levels(title, log_n, log_scale, max(levels, 1), headroom, what)
        except errors.ParameterError as error:
            refused = error
    why = f"HEIR: no set has {levels} levels of {log_scale} bits with 128 bits of security"
    raise errors.UnsupportedError(f"{why} ({refused})")


def _fits(set: ckks.Parameters, trace: Trace) -> bool:
    """Whether a set has the slots and levels, and the levels below a bootstrapping."""
    lowest = 0 if trace.bootstraps is None else trace.bootstraps + set.bootstrap_level
    return set.slots >= trace.slots and set.default_level >= max(trace.levels, lowest)


def _argument(function: Function, encrypted: bool, type: Type) -> Argument:
    if not type.is_float:
        why = f"@{function.name}: numbers are f32 or f64, not {type.name}"
        raise unsupported(function.line, why)
    return Argument(type.shape or (), encrypted)


def _traced(
    entry: Function, encrypting: list[Function], functions: Functions, slots: int
) -> tuple[Trace, tuple[Argument, ...]]:
    """What the program needs, found by going through it, and its arguments."""
    trace, flat = Trace(slots), []
    inputs = iter(encrypting)
    found, known = [], []
    for _, type in entry.arguments:
        if type.is_ciphertext:
            function = next(inputs)
            own = [t for _, t in function.arguments if t.is_number]
            if len(own) != ("client.encrypt" in function.roles):
                raise malformed(function.line, f"@{function.name} encrypts one array")
            taken = [_argument(function, True, t) for t in own]
            zeros: list[Any] = [np.zeros(x.shape) if x.shape else 0.0 for x in taken]
            (made,) = functions.run(function.name, trace, given(function, zeros))
            if np.shape(made) != (type.shape or ()):
                why = f"@{function.name} makes ciphertexts of shape {np.shape(made)}"
                raise malformed(function.line, f"{why}, @{entry.name} takes {type.shape}")
            flat += list(flat_of([made]))
            found += taken
        elif type.is_number:
            argument = _argument(entry, False, type)
            known.append(np.full(argument.shape, math.nan) if argument.shape else math.nan)
            found.append(argument)
    trace.encrypted = len(flat)
    results = functions.run(entry.name, trace, arguments(entry, flat, known))
    for result, type in zip(results, entry.results, strict=True):
        ciphertexts = all(isinstance(x, Depth) for x in flat_of([result]))
        if not ciphertexts or np.shape(result) != (type.shape or ()):
            raise malformed(entry.line, f"@{entry.name} returns what it does not say")
    return trace, tuple(found)


def read(
    text: str, *, function: str | None = None, set: ckks.Parameters | str | None = None,
    magnitude: float = 1.0,
) -> Program:
    """A program in HEIR's dialect of Lattigo or of OpenFHE, as `heir-opt --scheme-to-lattigo` or
    `--scheme-to-openfhe` prints it: the function of that name, or the only one.

    The set of parameters has the scale of the program's own, as many levels as it takes and 128
    bits of security; `set` is another with enough slots and levels. Encrypted inputs are numbers
    from -`magnitude` to `magnitude`.

    :raises girih.errors.UnsupportedError: for an operation, a type or parameters that are not
        known, by its name and line.
    :raises girih.errors.MalformedError: for text that is no program, with the line.
    """
    if not isinstance(text, str):
        raise TypeError(f"the text of a program is needed, not {type(text).__name__}")
    if function is not None and not isinstance(function, str):
        raise TypeError(f"function: a name is needed, not {type(function).__name__}")
    if isinstance(set, str):
        set = ckks.Parameters(set)
    if set is not None and not isinstance(set, ckks.Parameters):
        why = f"set: a girih.ckks.Parameters or a name is needed, not {type(set).__name__}"
        raise TypeError(why)
    if isinstance(magnitude, bool) or not isinstance(magnitude, (int, float)):
        why = f"magnitude: a number is needed, not {type(magnitude).__name__}"
        raise TypeError(why)
    if not 0 < magnitude < math.inf:
        raise errors.MismatchError(f"magnitude={magnitude}: a positive number is needed")
    try:
        return _read(text, function, set, float(magnitude))
    except (ValueError, LookupError, OverflowError, RecursionError, TypeError) as error:
        if isinstance(error, errors.Error):
            raise
        raise errors.MalformedError(f"HEIR: {error}") from error


def _read(
    text: str, function: str | None, set: ckks.Parameters | None, magnitude: float
) -> Program:
    reader = Reader(text)
    module, functions = reader.module, Functions(reader)
    entry = _entry(module, function)
    encrypting, decrypting = _packing(module, entry)
    slots = module.slots or 0
    if slots < 2 or slots & (slots - 1):
        why = f"scheme.requested_slot_count is {slots}: it must be a power of two"
        raise errors.MalformedError(f"HEIR: {why}: {_MADE_BY}")
    trace, taken = _traced(entry, encrypting, functions, slots)
    results = tuple(_argument(f, True, f.results[0]) for f in decrypting)
    if set is None:
        set = _parameters(entry.name, module, trace)
    if trace.bootstraps is not None and not set.bootstraps:
        why = f"@{entry.name} bootstraps: {set.name} has no bootstrapping"
        raise errors.MismatchError(f"HEIR: {why}")
    if not _fits(set, trace):
        why = f"{slots} slots and {trace.levels} levels are needed"
        if trace.bootstraps is not None:
            why += f", {trace.bootstraps} of them before a bootstrapping"
        why += f": {set.name} has {set.slots} and {set.default_level}"
        if trace.bootstraps is not None:
            why += f", and a bootstrapping begins at level {set.bootstrap_level}"
        raise errors.MismatchError(f"HEIR: {why}")
    known = () if all(argument.encrypted for argument in taken) else None
    levels = trace.levels if trace.bootstraps is None else set.default_level
    return Program(
        entry.name, taken, results, set, slots, levels, magnitude, known, functions, module, trace
    )
