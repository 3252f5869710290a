"""Two networks for images of digits, compiled by HEIR and run on encrypted images.

    $ pip install heir-py
    $ python heir_networks.py lola --backend lattigo
    $ python heir_networks.py mnist --backend openfhe

LoLA is a convolution by steps of two, a square, a dense layer, a square and a dense layer, whose
weights are in the text. The other network is two dense layers with HEIR's polynomial for ReLU
between, whose weights are arguments. Weights and images are random. `--small` takes an image of 8 x
8 pixels and a set without security; `--write FILE` writes what heir-opt made, as tests read it.
"""

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import girih.heir
from girih import ckks

DIGITS = 10


def literal(array):
    """A constant of MLIR."""
    values = np.asarray(array, "<f4")
    return f'dense<"0x{values.tobytes().hex().upper()}">'


def uniform(random, *shape, of):
    """Weights of a layer with so many inputs; as the compiler reads them, in 32 bits."""
    return (random.uniform(-1, 1, shape) / np.sqrt(of)).astype(np.float32).astype(float)


def lola(random, side, channels, hidden):
    """The function in MLIR, what it computes, its known arguments, and the shape of an image."""
    half = side // 2
    flat = channels * half * half
    kernel, bias = uniform(random, channels, 1, 2, 2, of=4), uniform(random, channels, of=4)
    w1, b1 = uniform(random, hidden, flat, of=flat), uniform(random, hidden, of=4)
    w2, b2 = uniform(random, DIGITS, hidden, of=hidden), uniform(random, DIGITS, of=4)
    image, maps = f"tensor<1x1x{side}x{side}xf32>", f"tensor<1x{channels}x{half}x{half}xf32>"
    vector = f"tensor<{hidden}xf32>"
    text = f"""\
func.func @lola(%image: {image} {{secret.secret}}) -> tensor<{DIGITS}xf32> {{
  %kernel = arith.constant {literal(kernel)} : tensor<{channels}x1x2x2xf32>
  %bias = arith.constant {literal(bias)} : tensor<{channels}xf32>
  %w1 = arith.constant {literal(w1)} : tensor<{hidden}x{flat}xf32>
  %b1 = arith.constant {literal(b1)} : {vector}
  %w2 = arith.constant {literal(w2)} : tensor<{DIGITS}x{hidden}xf32>
  %b2 = arith.constant {literal(b2)} : tensor<{DIGITS}xf32>
  %e = tensor.empty() : {maps}
  %b = linalg.broadcast ins(%bias : tensor<{channels}xf32>) outs(%e : {maps}) dimensions = [0, 2, 3]
  %c = linalg.conv_2d_nchw_fchw {{dilations = dense<1> : vector<2xi64>, strides = dense<2> : \
vector<2xi64>}} ins(%image, %kernel : {image}, tensor<{channels}x1x2x2xf32>) outs(%b : {maps}) \
-> {maps}
  %s = arith.mulf %c, %c : {maps}
  %f = tensor.collapse_shape %s [[0, 1, 2, 3]] : {maps} into tensor<{flat}xf32>
  %h = linalg.matvec ins(%w1, %f : tensor<{hidden}x{flat}xf32>, tensor<{flat}xf32>) \
outs(%b1 : {vector}) -> {vector}
  %t = arith.mulf %h, %h : {vector}
  %y = linalg.matvec ins(%w2, %t : tensor<{DIGITS}x{hidden}xf32>, {vector}) \
outs(%b2 : tensor<{DIGITS}xf32>) -> tensor<{DIGITS}xf32>
  return %y : tensor<{DIGITS}xf32>
}}
"""

    def plain(image):
        windows = image.reshape(half, 2, half, 2).transpose(0, 2, 1, 3)
        maps = np.einsum("xyij,cij->cxy", windows, kernel[:, 0]) + bias[:, None, None]
        return w2 @ (w1 @ (maps * maps).reshape(-1) + b1) ** 2 + b2

    return text, plain, (), (1, 1, side, side)


#: Numbers between the layers are within these bounds, for which HEIR finds its polynomial.
RANGE = 4.0


def mnist(random, side, channels, hidden):
    """The same of two dense layers."""
    size = side * side
    w1, b1 = uniform(random, hidden, size, of=size), uniform(random, hidden, of=4)
    w2, b2 = uniform(random, DIGITS, hidden, of=hidden), uniform(random, DIGITS, of=4)
    vector, output = f"tensor<{hidden}xf32>", f"tensor<{DIGITS}xf32>"
    text = f"""\
func.func @mnist(%w1: tensor<{hidden}x{size}xf32>, %b1: {vector}, \
%w2: tensor<{DIGITS}x{hidden}xf32>, %b2: {output}, \
%image: tensor<{size}xf32> {{secret.secret}}) -> {output} {{
  %zero = arith.constant dense<0.0> : {vector}
  %h = linalg.matvec ins(%w1, %image : tensor<{hidden}x{size}xf32>, tensor<{size}xf32>) \
outs(%b1 : {vector}) -> {vector}
  %r = arith.maximumf %h, %zero {{domain_lower = {-RANGE}, domain_upper = {RANGE}}} : {vector}
  %y = linalg.matvec ins(%w2, %r : tensor<{DIGITS}x{hidden}xf32>, {vector}) outs(%b2 : {output}) \
-> {output}
  return %y : {output}
}}
"""
    # HEIR's series of Chebyshev polynomials for ReLU on [-1, 1], which it scales.
    relu = [0.31696995514079751, 0.5, 0.21537526833760834, 0.0, -0.06328468082339142]

    def plain(image):
        h = w1 @ image + b1
        return w2 @ (RANGE * np.polynomial.chebyshev.chebval(h / RANGE, relu)) + b2

    return text, plain, (w1, b1, w2, b2), (size,)


def compiled(text, backend, slots, program):
    """What heir-opt makes of a function."""
    flags = [
        f"--annotate-module=backend={backend} scheme=ckks",
        f"--mlir-to-ckks=min-slot-count={slots}",
        f"--scheme-to-{backend}",
    ]
    found = subprocess.run([program, *flags], input=text, capture_output=True, text=True)
    if found.returncode:
        sys.exit(f"heir-opt: {found.stderr[:2000]}")
    return f"// What heir-opt makes by {' '.join(flags)}.\n\n{found.stdout}"


def run(program, inputs, plain, known, device):
    """Times, and the largest difference from the network in the clear."""
    begin = time.perf_counter()

    def lap(what):
        nonlocal begin
        now = time.perf_counter()
        print(f"{what}: {now - begin:.2f} s")
        begin = now

    samples = inputs[1:]
    program = program.with_known(*known).with_ranges(*([x] for x in samples))
    lap("ranges of samples in the clear")
    client = ckks.ClientKey.generate(program.parameters)
    keys = program.keys(client)
    server = program.server(keys, device)
    lap(f"keys, {keys.nbytes >> 20} MiB, on {device}")
    program.prepare(server)
    lap("recording")
    encrypted = program.encrypt(client, inputs[0])
    lap("encryption")
    results = program.run(server, encrypted)
    lap("first run")
    results = program.run(server, encrypted)
    lap("second run")
    (found,) = program.decrypt(client, results)
    return np.abs(found - plain(inputs[0])).max()


def main():
    words = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    words.add_argument("network", choices=["lola", "mnist"])
    words.add_argument("--backend", choices=["lattigo", "openfhe"], default="lattigo")
    words.add_argument("--device", default="cpu")
    words.add_argument("--small", action="store_true")
    words.add_argument("--heir-opt", default=shutil.which("heir-opt") or "heir-opt")
    words.add_argument("--write", type=Path)
    asked = words.parse_args()
    random = np.random.default_rng(17)
    side, channels, hidden = (8, 4, 8) if asked.small else (28, 8, 100)
    if asked.network == "mnist" and not asked.small:
        hidden = 512
    make = {"lola": lola, "mnist": mnist}[asked.network]
    text, plain, known, shape = make(random, side, channels, hidden)
    slots = 64 if asked.small else {"lola": 2048, "mnist": 1024}[asked.network]
    begin = time.perf_counter()
    text = compiled(text, asked.backend, slots, asked.heir_opt)
    print(f"heir-opt: {time.perf_counter() - begin:.1f} s, {len(text) >> 10} KiB of text")
    if asked.write:
        asked.write.write_text(text)
        return
    inputs = [random.uniform(-2, 2, shape) for _ in range(9)]
    begin = time.perf_counter()
    program = girih.heir.read(text, magnitude=2.0)
    if asked.small:
        name, levels = "INSECURE_HEIR", program.levels
        small = ckks.Parameters.generate(
            name, log2_degree=11, log2_scale=45.0, auxiliary=3, levels=levels
        )
        program = girih.heir.read(text, set=small, magnitude=2.0)
    print(f"read: {time.perf_counter() - begin:.2f} s")
    print(f"{program.parameters.name}: {program.levels} levels, {program.slots} slots")
    print(f"largest error: {run(program, inputs, plain, known, asked.device):.2e}")


if __name__ == "__main__":
    main()
