#!/usr/bin/env python3
"""OpenFHE's STD128 NAND against girih's, one thread each, in one run on one machine.

Exit 0: girih was at least RATIO times faster in every round. 1: it was not. 3: openfhe is not
installed.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROUNDS = 3
GATES = 40
RATIO = 3.0
ROOT = pathlib.Path(__file__).resolve().parents[2]
XTASK = ROOT / "target" / "release" / "xtask"

os.environ["OMP_NUM_THREADS"] = "1"
try:
    import openfhe
except ImportError as error:
    print(f"openfhe is not here ({error}); install it with: pip install openfhe (Python 3.10)")
    sys.exit(3)


def openfhe_context():
    context = openfhe.BinFHEContext()
    context.GenerateBinFHEContext(openfhe.BINFHE_PARAMSET.STD128, openfhe.BINFHE_METHOD.GINX)
    secret = context.KeyGen()
    context.BTKeyGen(secret)
    return context, secret


def openfhe_ms(context, secret):
    """Milliseconds of each gate, every output checked."""
    samples = []
    for i in range(GATES):
        x, y = i & 1, i >> 1 & 1
        a, b = context.Encrypt(secret, x), context.Encrypt(secret, y)
        start = time.perf_counter()
        c = context.EvalBinGate(openfhe.BINGATE.NAND, a, b)
        samples.append(1e3 * (time.perf_counter() - start))
        assert context.Decrypt(secret, c) == 1 - (x & y), "OpenFHE returned a wrong bit"
    return samples


def girih_ms(batch, repeat):
    """Median milliseconds of a gate in batches of `batch`."""
    command = [XTASK, "bench", "--device", "cpu", "--set", "STD128", "--op", "nand", "--json", "-"]
    command += ["--batch", str(batch), "--repeat", str(repeat)]
    environment = dict(os.environ, RAYON_NUM_THREADS="1")
    output = subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True
    ).stdout
    record = json.loads(output)
    assert record["wrong"] == 0, "girih returned a wrong bit"
    return record["ms"]["median"] / batch


def main():
    if not XTASK.exists():
        sys.exit(f"{XTASK} is not there; build it with: cargo build --release --package xtask")
    context, secret = openfhe_context()
    openfhe_ms(context, secret)  # warm-up
    print(
        f"{'round':<8}{'OpenFHE ms':>12}{'girih ms':>12}{'ratio':>8}"
        f"{'in batches of 64':>20}{'ratio':>8}"
    )
    ratios = []
    for number in range(1, ROUNDS + 1):
        peer = statistics.median(openfhe_ms(context, secret))
        single, batched = girih_ms(1, GATES), girih_ms(64, 3)
        ratios.append(peer / single)
        print(
            f"{number:<8}{peer:>12.2f}{single:>12.2f}{peer / single:>8.2f}"
            f"{batched:>20.2f}{peer / batched:>8.2f}"
        )
    print(f"smallest ratio {min(ratios):.2f}, wanted {RATIO}")
    sys.exit(0 if min(ratios) >= RATIO else 1)


if __name__ == "__main__":
    main()
