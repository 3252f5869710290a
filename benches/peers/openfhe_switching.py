#!/usr/bin/env python3
"""Signs of CKKS slots through FHEW and back, by OpenFHE, on one thread: milliseconds a value.

Every slot of the result is decrypted and checked. Exit 0: all were right. 1: some were not. 3:
openfhe is not installed.

OpenFHE's Python interface chooses the FHEW parameters by a level of security and the size of the
modulus; the CKKS ring by a level of security, or by --log2-degree without any.
"""

import argparse
import json
import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"
try:
    import openfhe
except ImportError as error:
    print(f"openfhe is not here ({error}); install it with: pip install openfhe (Python 3.10)")
    sys.exit(3)

# Levels of the way back: a matrix, a sine of degree 119 or so with three double angles.
DEPTH = 17
FEATURES = ["PKE", "KEYSWITCH", "LEVELEDSHE", "ADVANCEDSHE", "SCHEMESWITCH"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--values", type=int, default=256)
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
    cc, security = context(options)
    keys = cc.KeyGen()
    switching = openfhe.SchSwchParams()
    switching.SetSecurityLevelCKKS(security)
    switching.SetSecurityLevelFHEW(getattr(openfhe.BINFHE_PARAMSET, options.fhew))
    switching.SetCtxtModSizeFHEWLargePrec(options.log2_modulus)
    switching.SetNumSlotsCKKS(options.values)
    switching.SetNumValues(options.values)
    start = time.perf_counter()
    secret = cc.EvalSchemeSwitchingSetup(switching)
    fhew = cc.GetBinCCForSchemeSwitch()
    fhew.BTKeyGen(secret)
    cc.EvalSchemeSwitchingKeyGen(keys, secret)
    messages = (1 << options.log2_modulus) // (2 * fhew.GetBeta())
    # Numbers up to 1 fill half of the messages: the finest that the modulus tells apart.
    cc.EvalCompareSwitchPrecompute(messages, messages / 4.0)
    setup = time.perf_counter() - start

    # Away from zero by more than what any side can tell apart.
    values = [(-1) ** i * (0.1 + 0.9 * i / options.values) for i in range(options.values)]
    encrypt = lambda x: cc.Encrypt(keys.publicKey, cc.MakeCKKSPackedPlaintext(x))
    x, zero = encrypt(values), encrypt([0.0] * options.values)
    start = time.perf_counter()
    result = cc.EvalCompareSchemeSwitching(
        x, zero, options.values, options.values, messages, messages / 4.0
    )
    seconds = time.perf_counter() - start
    decrypted = cc.Decrypt(keys.secretKey, result)
    decrypted.SetLength(options.values)
    found = decrypted.GetRealPackedValue()
    wrong = sum(abs(f - (x < 0)) > 0.5 for f, x in zip(found, values))
    error = max(abs(f - (x < 0)) for f, x in zip(found, values))
    return {
        "peer": "OpenFHE",
        "values": options.values,
        "log2_modulus": options.log2_modulus,
        "ckks_degree": cc.GetRingDimension(),
        "ckks_security": 128 if options.log2_degree is None else 0,
        "fhew_set": options.fhew,
        "fhew_n": fhew.Getn(),
        "setup_s": round(setup, 3),
        "seconds": round(seconds, 3),
        "ms_a_value": round(1e3 * seconds / options.values, 3),
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
