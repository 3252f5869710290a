"""Sets of CKKS for programs of other compilers, by what those ask for."""

from __future__ import annotations

from . import ckks, errors


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
