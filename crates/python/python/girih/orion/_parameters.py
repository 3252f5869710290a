"""Orion's numbers as a parameter set of girih."""

from __future__ import annotations

from typing import Any

from .. import _sets, ckks, errors

#: Sets that are tried first, by log2 of the scale: they are as precise whatever the slots are, so
#: that values can be bootstrapped wherever they are small.
_FIRST = {40: ["CKKS_D40_30BIT_LOW_STC_FIRST", "CKKS_D40_30BIT_14_STC_FIRST"]}

#: Level 0 has at least so many bits beyond the scale.
_HEADROOM = 10.0


def _refuse(name: str, value: object, rule: str) -> errors.ParameterError:
    return errors.ParameterError(f"{name}: {value}: {rule}")


def _checked(params: Any) -> tuple[int, int, int, float]:
    """log2 N, log2 of the scale, levels, and bits of level 0 beyond the scale."""
    log_scale, log_q = params.get_logscale(), params.get_logq()
    degree = params.get_slots().bit_length()
    if not 25 <= log_scale <= 55:
        raise _refuse("LogScale", log_scale, "sets of girih have scales of 25 to 55 bits")
    if len(log_q) < 2:
        raise _refuse("LogQ", log_q, "there must be a prime for level 0, and one for each level")
    for bits in log_q[1:]:
        if abs(bits - log_scale) > 1:
            rule = f"levels of girih have the size of the scale, 2^{log_scale} (LogScale)"
            raise _refuse("LogQ", log_q, rule)
    if log_q[0] < log_scale:
        raise _refuse("LogQ", log_q, f"level 0 must be larger than the scale, 2^{log_scale}")
    if params.get_io_mode() != "none":
        rule = "keys and diagonals stay in memory: only `none` is there"
        raise _refuse("io_mode", params.get_io_mode(), rule)
    headroom = max(_HEADROOM, float(log_q[0] - log_scale))
    return degree, log_scale, len(log_q) - 1, headroom


def _bootstrapping(
    degree: int, log_scale: int, levels: int, insecure: bool
) -> ckks.Parameters:
    names = _FIRST.get(log_scale, []) + _sets.BOOTSTRAPPING.get(log_scale, [])
    if insecure:
        names = [f"INSECURE_{name}_N{degree}" for name in [*names, f"CKKS_D{log_scale}"]]
    elif degree != 16:
        rule = "sets with a bootstrapping have 2^15 slots: LogN 16 of the standard ring"
        raise _refuse("LogN", f"{1 << degree - 1} slots", rule)
    elif not names:
        rule = f"sets with a bootstrapping have scales of {list(_sets.BOOTSTRAPPING)} bits"
        raise _refuse("LogScale", log_scale, rule)
    most = 0
    for name in names:
        try:
            found = ckks.Parameters(name)
        except errors.UnknownSetError:
            continue
        # A bootstrapping begins at the level that Orion counts as 0.
        left = found.default_level - found.bootstrap_level
        if left >= levels:
            return found
        most = max(most, left)
    if most == 0:
        rule = f"no set for tests has a bootstrapping at a scale of {log_scale} bits there"
        raise _refuse("LogN", f"{1 << degree - 1} slots", rule)
    rule = f"a bootstrapping at a scale of {log_scale} bits gives {most} levels at most"
    raise _refuse("LogQ", f"{levels} levels", rule)


def parameters(params: Any, *, insecure: bool = False) -> ckks.Parameters:
    """The set of girih for parameters of Orion, `orion.scheme.params` or what reads like it.

    It has as many slots, a scale of the same bits, and at least as many levels. With boot_params it
    is a published set with a bootstrapping; else primes are found for it, with 128 bits of security
    by the table of girih. LogP and H are not taken over: auxiliary primes are girih's choice, and
    secrets are uniform ternary.

    :raises girih.errors.ParameterError: that names what cannot be had.
    """
    degree, log_scale, levels, headroom = _checked(params)
    if params.params_json.get("boot_params"):
        return _bootstrapping(degree, log_scale, levels, insecure)
    prefix = "INSECURE_" if insecure else ""
    name = f"{prefix}ORION_N{degree}_D{log_scale}_L{levels}"
    what = f"{levels} levels of {log_scale} bits for Orion"
    try:
        return _sets.with_levels(name, degree, log_scale, levels, headroom, what)
    except errors.ParameterError as refused:
        slots = 1 << degree - 1
        rule = f"no set of {slots} slots (LogN) has them with 128 bits of security ({refused})"
        raise _refuse("LogQ", f"{levels} levels of {log_scale} bits", rule) from refused
