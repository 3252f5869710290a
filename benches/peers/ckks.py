#!/usr/bin/env python3
"""OpenFHE's and Lattigo's CKKS against girih's, one thread each, in one run on one machine.

Product with relinearisation and rescaling, rotation, and a bootstrapping of all slots at N = 2^16,
hybrid key switching, dense secrets with an encapsulated sparse one, moduli of about the same size
as those of girih's set. OpenFHE needs 19 GiB for the bootstrapping; `--no-bootstrap` leaves it out.
Lattigo needs Go and is fetched and built at its first run.

Exit 0: girih was at least RATIO times faster in everything. 1: it was not. 3: a peer is missing.
"""
import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

RATIO = 2.5
ROOT = pathlib.Path(__file__).resolve().parents[2]
XTASK = ROOT / "target" / "release" / "xtask"
LATTIGO = pathlib.Path(__file__).resolve().parent / "lattigo_ckks"

os.environ["OMP_NUM_THREADS"] = "1"
try:
    import openfhe
except ImportError:
    openfhe = None


def arguments():
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("--set", default="CKKS_D40", help="girih's set")
    parser.add_argument("--peers", default="OpenFHE,Lattigo", help="which, separated by commas")
    parser.add_argument("--log2-degree", type=int, default=16)
    parser.add_argument("--depth", type=int, default=22, help="OpenFHE's levels")
    parser.add_argument("--scale", type=int, default=59, help="bits of OpenFHE's scale")
    parser.add_argument("--digits", type=int, default=4, help="OpenFHE's digits (dnum)")
    parser.add_argument("--repeat", type=int, default=5, help="products and rotations timed")
    parser.add_argument("--bootstraps", type=int, default=2, help="bootstrappings timed")
    parser.add_argument("--no-bootstrap", action="store_true", help="leave the bootstrapping out")
    parser.add_argument("--level", type=int, default=27, help="girih's level, Q about OpenFHE's")
    parser.add_argument("--insecure", action="store_true", help="let OpenFHE take any ring")
    return parser.parse_args()


class OpenFhe:
    """OpenFHE: a context, keys, and two ciphertexts of random slots."""

    def __init__(self, options):
        parameters = openfhe.CCParamsCKKSRNS()
        # girih's sparse secret is encapsulated, too.
        parameters.SetSecretKeyDist(openfhe.SecretKeyDist.SPARSE_ENCAPSULATED)
        level = openfhe.SecurityLevel
        level = level.HEStd_NotSet if options.insecure else level.HEStd_128_classic
        parameters.SetSecurityLevel(level)
        parameters.SetRingDim(1 << options.log2_degree)
        parameters.SetScalingTechnique(openfhe.ScalingTechnique.FIXEDMANUAL)
        parameters.SetKeySwitchTechnique(openfhe.KeySwitchTechnique.HYBRID)
        parameters.SetNumLargeDigits(options.digits)
        parameters.SetFirstModSize(60)
        parameters.SetScalingModSize(options.scale)
        parameters.SetMultiplicativeDepth(options.depth)
        parameters.SetBatchSize(1 << (options.log2_degree - 1))
        self.context = context = openfhe.GenCryptoContext(parameters)
        features = openfhe.PKESchemeFeature
        for name in ("PKE", "KEYSWITCH", "LEVELEDSHE", "ADVANCEDSHE", "FHE"):
            context.Enable(getattr(features, name))
        self.depth = options.depth
        self.slots = 1 << (options.log2_degree - 1)
        self.keys = context.KeyGen()
        context.EvalMultKeyGen(self.keys.secretKey)
        context.EvalRotateKeyGen(self.keys.secretKey, [1])
        self.values = [math.sin(1.0 + 3.7 * i) for i in range(self.slots)]

    def encrypt(self, level=0):
        plaintext = self.context.MakeCKKSPackedPlaintext(self.values, 1, level)
        return self.context.Encrypt(self.keys.publicKey, plaintext)

    def check(self, ciphertext, wanted, tolerance, what):
        plaintext = self.context.Decrypt(ciphertext, self.keys.secretKey)
        plaintext.SetLength(self.slots)
        error = max(abs(x - y) for x, y in zip(plaintext.GetRealPackedValue(), wanted))
        assert error < tolerance, f"OpenFHE's {what} errs by {error}"
        return -math.log2(error)

    def multiply(self, x):
        return self.context.Rescale(self.context.EvalMult(x, x))

    def rotate(self, x):
        return self.context.EvalRotate(x, 1)


def timed(run, repeat):
    """Median milliseconds after one run that warms up, and the last result."""
    result, samples = run(), []
    for _ in range(repeat):
        start = time.perf_counter()
        result = run()
        samples.append(1e3 * (time.perf_counter() - start))
    return statistics.median(samples), result


class Missing(Exception):
    """A peer is not here."""


def openfhe_figures(options):
    """(milliseconds, bits in the worst slot) of each operation, its outputs checked."""
    if openfhe is None:
        raise Missing("openfhe is not here; install it with: pip install openfhe (Python 3.10)")
    q = 60 + options.scale * options.depth
    p = 60 * math.ceil(math.ceil(q / options.digits) / 60)
    print(f"OpenFHE: log2 Q about {q}, log2 QP about {q + p}, {options.digits} digits", end="")
    peer = OpenFhe(options)
    x = peer.encrypt()
    figures = {}
    ms, product = timed(lambda: peer.multiply(x), options.repeat)
    figures["multiply"] = ms, peer.check(product, [v * v for v in peer.values], 1e-4, "product")
    ms, rotated = timed(lambda: peer.rotate(x), options.repeat)
    figures["rotate"] = ms, peer.check(rotated, peer.values[1:] + peer.values[:1], 1e-4, "rotation")
    if not options.no_bootstrap:
        # The correction factor is at least the first modulus less the scale, in bits.
        peer.context.EvalBootstrapSetup([4, 3], [0, 0], peer.slots, max(60 - options.scale, 9))
        peer.context.EvalBootstrapKeyGen(peer.keys.secretKey, peer.slots)
        low = peer.encrypt(peer.depth - 1)
        ms, high = timed(lambda: peer.context.EvalBootstrap(low), options.bootstraps)
        figures["bootstrap"] = ms, peer.check(high, peer.values, 1e-2, "bootstrapping")
        print(f", {peer.depth - high.GetLevel()} levels after a bootstrapping", end="")
    print()
    return figures


def lattigo_figures(options):
    """The same of Lattigo, from its own program."""
    command = ["go", "run", ".", "-repeat", str(options.repeat)]
    command += ["-bootstraps", str(0 if options.no_bootstrap else options.bootstraps)]
    try:
        output = subprocess.run(command, cwd=LATTIGO, check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise Missing("go is not here; install Go, or leave Lattigo out with --peers OpenFHE")
    peer = json.loads(output.stdout)
    print(f"Lattigo: log2 QP {peer['log2_qp']:.0f}, {peer['levels']} levels after a bootstrapping")
    for operation, (_, bits) in peer["figures"].items():
        assert bits > 10, f"Lattigo's {operation} keeps {bits} bits"
    return peer["figures"]


def girih_figures(options, operation):
    command = [XTASK, "bench", "--device", "cpu", "--set", options.set, "--op", operation]
    command += ["--json", "-"]
    if operation != "bootstrap":
        command += ["--level", str(options.level)]
    command += ["--repeat", str(options.bootstraps if operation == "bootstrap" else options.repeat)]
    environment = dict(os.environ, RAYON_NUM_THREADS="1")
    run = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    record = json.loads(run.stdout)
    assert record["wrong"] == 0, "girih returned a wrong slot"
    return record["ms"]["median"], record["precision_bits"]["worst"], record["limbs"]


def main():
    options = arguments()
    if not XTASK.exists():
        sys.exit(f"{XTASK} is not there; build it with: cargo build --release --package xtask")
    names = options.peers.split(",")
    unknown = set(names) - set(PEERS)
    if unknown:
        sys.exit(f"no peer {', '.join(unknown)}: there are {', '.join(PEERS)}")
    print(f"girih:   {options.set}; `cargo xtask sets` has its moduli")
    # A process each, whose memory is free again before the next begins.
    peers = {}
    for name in names:
        with concurrent.futures.ProcessPoolExecutor(max_workers=1) as one:
            try:
                peers[name] = one.submit(PEERS[name], options).result()
            except Missing as what:
                print(what)
                sys.exit(3)
    operations = list(next(iter(peers.values())))
    own = {operation: girih_figures(options, operation) for operation in operations}
    print(f"{'operation':<12}{'library':<10}{'ms':>10}{'bits':>7}{'girih is faster':>18}")
    ratios = []
    for operation in operations:
        ms, bits, limbs = own[operation]
        print(f"{operation:<12}{'girih':<10}{ms:>10.1f}{bits:>7.1f}{f'({limbs} limbs)':>18}")
        for name, figures in peers.items():
            peer_ms, peer_bits = figures[operation]
            ratios.append(peer_ms / ms)
            print(f"{'':<12}{name:<10}{peer_ms:>10.1f}{peer_bits:>7.1f}{peer_ms / ms:>17.2f}x")
    print(f"smallest ratio {min(ratios):.2f}, wanted {RATIO}; bits are those of the worst slot")
    sys.exit(0 if min(ratios) >= RATIO else 1)


PEERS = {"OpenFHE": openfhe_figures, "Lattigo": lattigo_figures}

if __name__ == "__main__":
    main()
