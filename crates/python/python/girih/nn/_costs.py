"""What operations take, in milliseconds: for choices between plans, which need no more than ratios.

Measured on one H200 at N = 2^16 (docs/performance.md, "CKKS on one H200"): rotations by limbs, and
a bootstrapping of real slots at a scale of 35 to 40 bits. Other devices are slower by a factor
that is about one for all of them.
"""

from __future__ import annotations

import re

import numpy as np

from .. import ckks

#: Milliseconds of a key switch, by limbs of the ciphertext.
KEY_SWITCH = ((3, 0.03), (10, 0.052), (23, 0.088), (45, 0.184))
#: A key switch that shares its decomposition with others, by the same measure.
HOISTED = 0.4
#: A bootstrapping.
BOOTSTRAPPING = 8.0


def limbs(parameters: ckks.Parameters) -> list[int]:
    """Primes of a ciphertext of each level."""
    text = re.search(r"states\s*=\s*\[(.*?)\]\s*\n\s*(\[\w|\w|$)", parameters.to_toml(), re.DOTALL)
    pairs = re.findall(r"\[\s*(\d+)\s*,\s*(\d+)\s*,?\s*\]", text[1] if text else "")
    return [int(mains) + int(terminals) for mains, terminals in pairs]


def key_switch(count: int) -> float:
    """Of a ciphertext of so many limbs."""
    at, cost = zip(*KEY_SWITCH, strict=True)
    return float(np.interp(count, at, cost)) * max(1.0, count / at[-1])
