"""Sets of CKKS for programs of other compilers, by what those ask for."""

from __future__ import annotations

from . import ckks, errors


#: Sets with a bootstrapping at N = 2^16, by log2 of the scale: those with fewer levels first.
BOOTSTRAPPING = {
    30: ["CKKS_D30"],
    35: ["CKKS_D35"],
    40: ["CKKS_D40_30BIT_LOW", "CKKS_D40_30BIT_14"],
    45: ["CKKS_D45"],
    50: ["CKKS_D50"],
}


def with_bootstrapping(log_scale: int) -> list[ckks.Parameters]:
    """Published sets with a bootstrapping whose scale has so many bits, or the next more."""
    found = [names for bits, names in BOOTSTRAPPING.items() if bits >= log_scale]
    return [ckks.Parameters(name) for names in found[:1] for name in names]


def with_levels(
    name: str, degree: int, log_scale: int, levels: int, headroom: float, description: str
) -> ckks.Parameters:
    """A set of N = 2^degree with so many levels of `log_scale` bits, and a level 0 that has
    `headroom` bits beyond the scale; 128 bits of security, unless its name begins with INSECURE_.
    Where no primes give that, the scale has up to five bits more, or there are up to two levels
    more.

    :raises girih.errors.ParameterError: if there is none.
    """
    refused: errors.ParameterError | None = None
    for half_bits, more in [(bits, more) for more in range(3) for bits in range(11)]:
        # Few digits make fast key switches; fewer auxiliary primes leave bits for levels.
        limbs = -(-int(log_scale * (levels + more + 1) + headroom) // 30)
        for auxiliary in range(-(-limbs // 2), 0, -1):
            try:
                return ckks.Parameters.generate(
                    name,
                    log2_degree=degree,
                    log2_scale=log_scale + half_bits / 2,
                    levels=levels + more,
                    headroom=headroom,
                    auxiliary=auxiliary,
                    description=description,
                )
            except errors.ParameterError as error:
                refused = refused or error
    assert refused is not None
    raise refused
