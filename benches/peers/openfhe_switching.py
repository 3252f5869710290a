#!/usr/bin/env python3
"""Signs of CKKS slots through FHEW and back, by OpenFHE, on one thread: milliseconds a value.

Every slot of the result is decrypted and checked. Exit 0: all were right. 1: some were not. 3:
openfhe is not installed.

Each stage is printed as it ends. Keys may take more threads (--key-threads) than what is measured,
which has one.

OpenFHE's Python interface chooses the FHEW parameters by a level of security and the size of the
modulus; the CKKS ring by a level of security, or by --log2-degree without any.
"""

import argparse
import ctypes
import json
import os
import sys
import time

try:
    import openfhe
except ImportError as error:
    print(f"openfhe is not here ({error}); install it with: pip install openfhe (Python 3.10)")
    sys.exit(3)

# Levels of the way back: a matrix, a sine of degree 119 or so with three double angles.
DEPTH = 17
FEATURES = ["PKE", "KEYSWITCH", "LEVELEDSHE", "ADVANCEDSHE", "SCHEMESWITCH"]


# What is measured, in this order; what comes before is keys and tables.
MEASURED = ["CKKS to FHEW", "signs", "FHEW to CKKS"]


def power_of_two(text):
    value = int(text)
    if value < 2 or value & (value - 1):
        raise argparse.ArgumentTypeError(f"{text}: a power of two from 2 on is needed")
    return value


def openmp():
    """The OpenMP library that openfhe has loaded, whose threads can be changed while it runs."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        loaded = {line.split()[-1] for line in maps if "omp" in os.path.basename(line.split()[-1])}
    libraries = [ctypes.CDLL(path) for path in sorted(loaded) if os.path.isfile(path)]
    found = [library for library in libraries if hasattr(library, "omp_set_num_threads")]
    if not found:
        sys.exit("openfhe has loaded no OpenMP library, by which its threads could be limited")
    return found


class Stages:
    """Seconds of each stage, printed as it ends."""

    def __init__(self):
        self.seconds = {}

    def run(self, name, work):
        start = time.perf_counter()
        result = work()
        self.seconds[name] = time.perf_counter() - start
        print(f"{name}: {self.seconds[name]:.3f} s", file=sys.stderr, flush=True)
        return result


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--values", type=power_of_two, default=256, help="a power of two")
    parser.add_argument("--key-threads", type=int, default=1, help="of keys and tables of the maps")
    parser.add_argument("--log2-modulus", type=int, default=25, help="of FHEW ciphertexts")
    parser.add_argument("--fhew", default="STD128", choices=["STD128", "TOY"])
    parser.add_argument(
        "--log2-degree", type=int, help="a CKKS ring of this size, without security; else 128 bits"
    )
    parser.add_argument("--json", help="write the figures to this file, - for standard output")
    return parser.parse_args()


def context(options):
    parameters = openfhe.CCParamsCKKSRNS()
    parameters.SetMultiplicativeDepth(DEPTH)
    parameters.SetFirstModSize(60)
    parameters.SetScalingModSize(50)
    parameters.SetScalingTechnique(openfhe.ScalingTechnique.FLEXIBLEAUTO)
    parameters.SetBatchSize(options.values)
    security = openfhe.SecurityLevel.HEStd_128_classic
    if options.log2_degree is not None:
        security = openfhe.SecurityLevel.HEStd_NotSet
        parameters.SetRingDim(1 << options.log2_degree)
    parameters.SetSecurityLevel(security)
    cc = openfhe.GenCryptoContext(parameters)
    for feature in FEATURES:
        cc.Enable(getattr(openfhe.PKESchemeFeature, feature))
    return cc, security


def run(options):
    libraries = openmp()

    def threads(count):
        for library in libraries:
            library.omp_set_num_threads(count)

    stages = Stages()
    threads(options.key_threads)
    cc, security = stages.run("context", lambda: context(options))
    keys = stages.run("CKKS keys", cc.KeyGen)
    switching = openfhe.SchSwchParams()
    switching.SetSecurityLevelCKKS(security)
    switching.SetSecurityLevelFHEW(getattr(openfhe.BINFHE_PARAMSET, options.fhew))
    switching.SetCtxtModSizeFHEWLargePrec(options.log2_modulus)
    switching.SetNumSlotsCKKS(options.values)
    switching.SetNumValues(options.values)
    secret = stages.run("FHEW secret", lambda: cc.EvalSchemeSwitchingSetup(switching))
    fhew = cc.GetBinCCForSchemeSwitch()
    stages.run("FHEW keys", lambda: fhew.BTKeyGen(secret))
    stages.run("switching keys", lambda: cc.EvalSchemeSwitchingKeyGen(keys, secret))
    messages = (1 << options.log2_modulus) // (2 * fhew.GetBeta())
    # Numbers up to 1 fill half of the messages: the finest that the modulus tells apart.
    stages.run("tables", lambda: cc.EvalCompareSwitchPrecompute(messages, messages / 4.0))
    setup = sum(stages.seconds.values())

    # Away from zero by more than what any side can tell apart.
    values = [(-1) ** i * (0.1 + 0.9 * i / options.values) for i in range(options.values)]
    encrypt = lambda x: cc.Encrypt(keys.publicKey, cc.MakeCKKSPackedPlaintext(x))
    x, zero = stages.run("encryption", lambda: (encrypt(values), encrypt([0.0] * options.values)))
    # What EvalCompareSchemeSwitching does, step by step.
    threads(1)
    count = options.values
    lwe = stages.run(
        MEASURED[0], lambda: cc.EvalCKKStoFHEW(cc.EvalSub(x, zero), count)
    )
    signs = stages.run(MEASURED[1], lambda: [fhew.EvalSign(one, True) for one in lwe])
    result = stages.run(
        MEASURED[2], lambda: cc.EvalFHEWtoCKKS(signs, count, count, 4, -1.0, 1.0, 0)
    )
    measured = {name: stages.seconds[name] for name in MEASURED}
    seconds = sum(measured.values())
    decrypted = cc.Decrypt(keys.secretKey, result)
    decrypted.SetLength(count)
    found = decrypted.GetRealPackedValue()
    wrong = sum(abs(f - (x < 0)) > 0.5 for f, x in zip(found, values))
    error = max(abs(f - (x < 0)) for f, x in zip(found, values))
    return {
        "peer": "OpenFHE",
        "values": count,
        "log2_modulus": options.log2_modulus,
        "ckks_degree": cc.GetRingDimension(),
        "ckks_security": 128 if options.log2_degree is None else 0,
        "fhew_set": options.fhew,
        "fhew_n": fhew.Getn(),
        "key_threads": options.key_threads,
        "setup_s": round(setup, 3),
        "stages_s": {name: round(s, 3) for name, s in stages.seconds.items()},
        "seconds": round(seconds, 3),
        "ms_a_value": round(1e3 * seconds / count, 3),
        "wrong": wrong,
        "largest_error": error,
    }


def main():
    options = arguments()
    figures = run(options)
    print(
        f"OpenFHE: N = {figures['ckks_degree']}, {figures['fhew_set']} with n = "
        f"{figures['fhew_n']}, modulus 2^{figures['log2_modulus']}: {figures['values']} signs in "
        f"{figures['seconds']} s, {figures['ms_a_value']} ms a value; {figures['wrong']} wrong, "
        f"error {figures['largest_error']:.1e} at most; keys in {figures['setup_s']} s"
    )
    if options.json == "-":
        print(json.dumps(figures))
    elif options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=2)
    return 1 if figures["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
