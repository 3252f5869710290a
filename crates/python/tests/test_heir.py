"""Programs of HEIR: what heir-opt wrote, for Lattigo and for OpenFHE, of a dot product, a matrix
product, small networks and a chain of squares with a bootstrapping."""

import itertools
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import CKKS_TOY

import girih.heir
from girih import _sets, ckks, errors
from girih.heir._steps import Left

EXAMPLES = Path(__file__).parents[1] / "examples"
sys.path.append(str(EXAMPLES))
import heir_networks  # noqa: E402

FOLDER = EXAMPLES / "heir"
TEXTS = {path.stem: path.read_text() for path in FOLDER.glob("*.mlir")}
numbers = np.random.default_rng(8)


def uniform(*shape):
    return numbers.uniform(-1, 1, shape)


W1, B1, W2, B2 = uniform(8, 16) / 8, uniform(8) / 4, uniform(4, 8) / 4, uniform(4)
# What HEIR put in the place of ReLU on [-2, 2]: a series of Chebyshev polynomials.
RELU = [0.63393991028159502, 1.0, 0.43075053667521668, 0, -0.12656936164678284]


def network(x):
    return W2 @ np.polynomial.chebyshev.chebval((W1 @ x + B1) / 2, RELU) + B2


SET = ckks.Parameters.generate(
    "INSECURE_HEIR", log2_degree=10, log2_scale=40.0, auxiliary=3, levels=6
)
_, LOLA, _, IMAGE = heir_networks.lola(np.random.default_rng(17), 8, 4, 8)
_, MNIST, WEIGHTS, _ = heir_networks.mnist(np.random.default_rng(17), 8, 4, 8)


def deep(x):
    """Four squares, from which the result is three times larger than a bootstrapping takes."""
    return ((((x * x + 0.5) ** 2 - 0.5) ** 2 - 0.5) ** 2 - x) ** 2


CASES = {
    "dot": ([(8,), (8,)], (), lambda a, b: [a @ b + 0.1]),
    "product": ([(3, 5), (5, 2)], (), lambda a, b: [a @ b]),
    "network": ([(16,)], (W1, B1, W2, B2), lambda x: [network(x)]),
    "two": ([(8,), ()], (-0.75,), lambda x, y: [1 - x, -0.75 * y * y]),
    "large": ([(40,), (40,)], (), lambda a, b: [a * b - b]),
    "lola": ([IMAGE], (), lambda x: [LOLA(x)]),
    "mnist": ([(64,)], WEIGHTS, lambda x: [MNIST(x)]),
}


@pytest.mark.parametrize("file", [name for name in TEXTS if name != "deep"])
def test_encrypted_and_in_the_clear(file):
    name = file.split("_")[0]
    shapes, known, wanted = CASES[name]
    program = girih.heir.read(TEXTS[file], set=SET)
    # Owners of data need no weights.
    client = ckks.ClientKey.generate_seeded_for_tests(SET, bytes(range(32)))
    keys, inputs = program.keys(client), [uniform(*shape) for shape in shapes]
    encrypted = program.encrypt(client, *inputs)
    assert [a.shape for a in program.arguments if a.encrypted] == shapes
    if known:
        with pytest.raises(errors.MismatchError, match="with_known"):
            program.run(program.server(keys, "cpu"), encrypted)
        program = program.with_known(*known)
    if name == "lola":
        # Bounds of squares of sums are far from what they reach.
        program = program.with_ranges(inputs)
    server = program.server(keys, "cpu")
    results = program.run(server, encrypted)
    found, plain = program.decrypt(client, results), program.plain(*inputs)
    assert len(found) == len(program.results) == len(wanted(*inputs))
    for a, b, right in zip(found, plain, wanted(*inputs), strict=True):
        # Programs for OpenFHE have constants of 32 bits.
        assert np.shape(a) == np.shape(right) and np.abs(b - right).max() < 2e-9
        assert np.abs(a - right).max() < 1e-6
    shared, left = program.decrypt_to_share(client, results, 10, error=1e-6)
    assert left > 7 and np.abs(shared[0] - wanted(*inputs)[0]).max() < 2**-left


def test_bootstrapping():
    text = TEXTS["deep"]
    program, samples = girih.heir.read(text, set=CKKS_TOY), np.linspace(-1, 1, 8)
    assert program.bootstraps and program.levels == ckks.Parameters(CKKS_TOY).default_level
    client = ckks.ClientKey.generate_seeded_for_tests(CKKS_TOY, bytes(range(32)))
    server = program.server(program.keys(client), "cpu")
    with pytest.raises(errors.Error, match="with_ranges"):
        program.run(server, program.encrypt(client, samples))
    ranged = program.with_ranges([samples])
    (found,) = ranged.decrypt(client, ranged.run(server, program.encrypt(client, samples)))
    assert np.abs(program.plain(samples)[0] - deep(samples)).max() < 1e-12
    assert np.abs(found - deep(samples)).max() < 1e-2
    # A set of its own is one with a bootstrapping; others are refused.
    own = girih.heir.read(text)
    assert own.parameters.bootstraps and "128 bits" in own.parameters.security
    with pytest.raises(errors.MismatchError, match="@deep bootstraps: INSECURE_HEIR has no"):
        girih.heir.read(text, set=SET)
    deeper = text.replace("logDefaultScale = 45", "logDefaultScale = 51")
    with pytest.raises(errors.UnsupportedError, match="a smaller greedy-level-budget"):
        girih.heir.read(deeper)


def test_inputs_of_another_magnitude():
    shapes, _, wanted = CASES["lola"]
    (image,) = (3 * uniform(*shape) for shape in shapes)
    program = girih.heir.read(TEXTS["lola_lattigo"], set=SET, magnitude=3)
    client = ckks.ClientKey.generate_seeded_for_tests(SET, bytes(range(32)))
    server = program.server(program.keys(client), "cpu")
    results = program.run(server, program.encrypt(client, image))
    assert np.abs(program.decrypt(client, results)[0] - wanted(image)[0]).max() < 1e-6
    with pytest.raises(errors.MismatchError, match="from -3 to 3 are encrypted, read"):
        program.encrypt(client, 2 * image)
    for magnitude in (0, -1, np.inf, np.nan):
        with pytest.raises(errors.MismatchError, match="a positive number is needed"):
            girih.heir.read(TEXTS["dot"], magnitude=magnitude)
    with pytest.raises(TypeError, match="magnitude: a number is needed, not str"):
        girih.heir.read(TEXTS["dot"], magnitude="1")


def test_tensors_are_values():
    """Whatever is inserted later, a tensor keeps what it was, and constants stay as they are."""
    text = TEXTS["dot_openfhe"]
    line = next(line for line in text.splitlines() if "tensor.extract_slice %0" in line)
    inserted = [
        "%v = arith.constant 0.25 : f32",
        "%more = tensor.insert %v into %0[%c0, %c0] : tensor<1x32xf32>",
        "%most = tensor.insert %v into %more[%c0, %c0] : tensor<1x32xf32>",
        "%zero = arith.constant dense<0.0> : tensor<1x32xf32>",
        "%other = tensor.insert %v into %zero[%c0, %c0] : tensor<1x32xf32>",
        "%sum = arith.addf %0, %zero : tensor<1x32xf32>",
        line.replace("%0", "%sum"),
    ]
    changed = girih.heir.read(text.replace(line, "\n".join(inserted)), set=SET)
    program, inputs = girih.heir.read(text, set=SET), (uniform(8), uniform(8))
    assert changed.plain(*inputs) == program.plain(*inputs)
    newer = girih.heir.read(text.replace(line, "\n".join(inserted).replace("%sum[", "%most[")))
    assert newer.plain(*inputs) != program.plain(*inputs)


def test_its_own_set_is_secure_and_has_its_levels():
    program = girih.heir.read(TEXTS["dot"])
    assert (program.slots, program.levels) == (32, 2) and "128 bits" in program.parameters.security
    assert program.parameters.default_level == 2 and program.parameters.slots == 8192
    deeper = girih.heir.read(TEXTS["network"])
    assert deeper.levels == 6 and deeper.parameters.slots == 16384


def test_ranges_are_bounds_of_what_is_computed():
    # Sums of sums of products: bounds grow beyond all room, values do not.
    text = TEXTS["dot"]
    line = next(line for line in text.splitlines() if "%ct_9 = lattigo.ckks.add" in line)
    names = ["%ct_9", *(f"%more_{i}" for i in range(9))]
    doubled = [
        f"{y} = lattigo.ckks.add_new %evaluator, {x}, {x} : (!evaluator, !ct, !ct) -> !ct"
        for x, y in itertools.pairwise(names)
    ]
    text = text.replace(line, "\n".join([line, *doubled])).replace(
        "rescale %evaluator, %ct_9,", "rescale %evaluator, %more_8,"
    )
    program = girih.heir.read(text, set=CKKS_TOY)
    client = ckks.ClientKey.generate(CKKS_TOY)
    server, small = program.server(program.keys(client), "cpu"), np.full(8, 1e-3)
    encrypted = program.encrypt(client, small, small)
    with pytest.raises(errors.Error, match="@dot: .*room below.* with_ranges"):
        program.run(server, encrypted)
    ranged = program.with_ranges([small, small])
    # The constant 0.1 is doubled as well.
    found = ranged.decrypt(client, ranged.run(server, encrypted))
    assert abs(found[0] - 2**9 * (8e-6 + 0.1)) < 1e-3
    with pytest.raises(errors.MismatchError, match="margin=0.5"):
        program.with_ranges([small, small], margin=0.5)
    with pytest.raises(errors.MismatchError, match="one sample"):
        program.with_ranges()


def test_refusals_of_clients_and_servers():
    program = girih.heir.read(TEXTS["dot"], set=CKKS_TOY)
    client = ckks.ClientKey.generate(CKKS_TOY)
    other, zeros = ckks.ClientKey.generate("INSECURE_CKKS_D35_N10"), np.zeros(8)
    server = program.server(program.keys(client), "cpu")
    encrypted = program.encrypt(client, zeros, zeros)
    with pytest.raises(errors.MismatchError, match="this program is for INSECURE_CKKS_D40_N10"):
        program.encrypt(other, zeros, zeros)
    with pytest.raises(errors.MismatchError, match="this program is for"):
        program.server(other.evaluation_keys(), "cpu")
    with pytest.raises(errors.MismatchError, match=r"takes 2 encrypted arguments, of shapes \("):
        program.encrypt(client, zeros)
    with pytest.raises(errors.MismatchError, match=r"of shape \(7,\): it must be \(8,\)"):
        program.encrypt(client, zeros, zeros[:7])
    with pytest.raises(errors.MismatchError, match="reaches 1.5: numbers from -1 to 1"):
        program.plain(zeros, zeros + 1.5)
    with pytest.raises(errors.MismatchError, match="1 ciphertexts, encrypt"):
        program.run(server, encrypted[:1])
    with pytest.raises(errors.MismatchError, match="at level 2"):
        program.run(server, [encrypted[0], client.encrypt(np.zeros(32))])
    with pytest.raises(errors.MismatchError, match="2 ciphertexts, run"):
        program.decrypt(client, encrypted)
    with pytest.raises(errors.MismatchError, match="4 known arguments, @dot has 0"):
        program.with_known(W1, B1, W2, B2)
    with pytest.raises(errors.MismatchError, match="32 slots and 6 levels are needed"):
        few = ckks.Parameters.generate(
            "INSECURE_FEW", log2_degree=10, log2_scale=40.0, auxiliary=2, levels=2
        )
        girih.heir.read(TEXTS["network"], set=few)
    with pytest.raises(errors.MismatchError, match="no @other: there are dot"):
        girih.heir.read(TEXTS["dot"], function="other")


CHANGED = [
    # The program, what is changed in it, and what is said.
    ("dot", "lattigo.ckks.rescale ", "lattigo.ckks.invert ", "lattigo.ckks.invert is not known"),
    ("dot", "ckks.mul_new", "ckks.bootstrap", "lattigo.ckks.bootstrap has 2 operands, not 3"),
    ("dot", "mul_new %evaluator, %ct, %ct_0", "mul_new %evaluator, %ct", "has 3 operands, not 2"),
    ("dot", "mul_new %evaluator, %ct, %ct_0", "mul_new %ct, %ct, %x", "%x is not defined above"),
    ("dot", "!lattigo.rlwe.ciphertext", "!lattigo.rlwe.plaintext", "lacks functions that encrypt"),
    ("dot", "memref<8xf32", "memref<?xf32", "sizes that are known when it runs alone"),
    ("dot", "memref<8xf32", "tensor<8xf32", "the type 'tensor<8xf32"),
    ("dot", "memref<8xf32", "memref<4xf32", r"the place \[4\] of memory of shape \[4\]"),
    ("dot", "memref<1x32xf32>", "memref<1x31xf32>", r"the place \[0, 31\]|a part of shape|32 elem"),
    ("dot", "memref<1x32xf32>", "memref<99999x99999xf32>", "elements, 67108864 at most"),
    ("dot", "step %c1_i32", "step %c0_i32", "a loop by steps of 0"),
    ("dot", "dense<[1.0", 'dense<"0x0000803">, <[1.0', r"a constant of shape \(32,\)"),
    ("dot", "dense<[1.0", "dense<[one, 1.0", r"a constant of shape \(32,\)"),
    ("dot", "dense<[1.0", "dense<[1.0, 1.0", r"a constant of shape \(32,\)"),
    ("dot", "slot_count = 32", "slot_count = 33", "33: it must be a power of two"),
    ("dot", "slot_count = 32", "slot_count = 16", "32 numbers are encoded in 16"),
    ("dot", "logDefaultScale = 45", "logDefaultScale = 56", "a scale of 56 bits: 55 at most"),
    ("dot", 'roles = ["entry"]', 'roles = ["other"]', "no function has the role of an entry"),
    ("dot", 'roles = ["client.decrypt"]', "roles = []", "lacks functions that encrypt"),
    ("dot", "call @dot__preprocessed(", "call @dot(", "@dot has 5 arguments and 1 results"),
    ("dot", "call @dot__preprocessing(", "call @other(", "there is no function @other"),
    ("dot_openfhe", "openfhe.rot ", "openfhe.automorph ", "openfhe.automorph is not known"),
    ("dot_openfhe", "scalingModSize = 45", "scalingMod = 45", "without scalingModSize"),
    ("dot_openfhe", "scalingModSize = 45", "scalingModSize = 60", "a scale of 60 bits: 55 at"),
    ("dot_openfhe", "tensor<8xf32>, %pk", "tensor<?xf32>, %pk", "HEIR"),
    ("dot_openfhe", "%arg4[%c0, %4]", "%arg4[%c0, %c32]", "%c32 is not defined above"),
    ("dot_openfhe", "[1, 32] [1, 1]", "[1, 33] [1, 1]", "33 elements from 0 by 1, of 32"),
    ("dot_openfhe", "%arg4[%c0, %4]", "%arg4[%c0]", r"the place \[0\] of memory of shape"),
    ("dot_openfhe", "tensor.from_elements %ct ", "tensor.from_elements %ct, %ct ", "2 elements"),
    ("large_openfhe", "%arg3 = 0 to 2", "%arg3 = 0 to 2 step 0", "a loop by steps of 0"),
    ("large_openfhe", "affine.yield %inserted", "affine.yield", "of 0 values, 1 are wanted"),
    ("product_openfhe", "in (2)", "in (3)", r"the place \[2\] of memory"),
    ("product_openfhe", "in (2)", "in (2, 2)", "scf.forall of 1 counters"),
    ("product_openfhe", "tensor<2xindex>", "tensor<2xf16>", "constants of f16"),
    ("mnist_openfhe", "client.encrypt_zero", "client.encrypt_one", "lacks functions that encrypt"),
    ("mnist_openfhe", "domain_lower = -1.0", "domain_lower = 1.0", "a domain from one number to a"),
    ("mnist_openfhe", "domain_upper = ", "domain_top = ", "no number named domain_upper"),
    ("lola_lattigo", "source_row_indices = [", "source_row_indices = [0, ", "rows for"),
    ("lola_lattigo", "row_indices = [0", "row_indices = [99", "source_row_indices in memory"),
    ("network", "diagonal_indices = [0, 1", "diagonal_indices = [1, 1", "each diagonal once"),
    ("network", "domain = [-1.0", "domain = [1.0", "a domain from one number to a larger"),
    ("network", "arith.floordivsi", "arith.shli", "the operation arith.shli is not known"),
    ("network", "arith.cmpi eq", "arith.cmpi ult", "arith.cmpi ult: eq, ne"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "said"), CHANGED)
def test_what_is_not_known_is_refused_by_name(name, old, new, said):
    assert old in TEXTS[name]
    with pytest.raises(errors.Error, match=said) as refused:
        girih.heir.read(TEXTS[name].replace(old, new))
    assert str(refused.value).startswith("HEIR")


def test_constants_as_bytes():
    """HEIR prints large constants in hexadecimal digits."""
    text, found = TEXTS["dot"], re.search(r"dense<\[([^\]]*)\]>", TEXTS["dot"])
    values = np.array([float(word) for word in found[1].split(",")], "<f4")
    changed = text.replace(found[0], f'dense<"0x{values.tobytes().hex().upper()}">')
    behind = f"""{text.replace(found[0], "dense_resource<first>")}
{{-#
  dialect_resources: {{
    builtin: {{
      other: "0x04000000{bytes(4).hex()}",
      first: "0x04000000{values.tobytes().hex()}"
    }}
  }}
#-}}
"""
    inputs = uniform(8), uniform(8)
    *again, program = (girih.heir.read(t, set=SET) for t in (changed, behind, text))
    assert [one.plain(*inputs) for one in again] == [program.plain(*inputs)] * 2
    for old, new, said in [
        ("dense_resource<first>", "dense_resource<last>", "no resource last behind the module"),
        ("    builtin: {", "    builtin: 1", "'builtin: 1' is no resource of bytes"),
        ("first: \"0x04000000", "first: \"0x040000000", "a constant of shape|non-hexadecimal"),
        ("\n#-}", "", "the text ends within its resources"),
    ]:
        with pytest.raises(errors.MalformedError, match=said):
            girih.heir.read(behind.replace(old, new))


def test_a_refusal_names_the_line():
    lines = TEXTS["dot"].splitlines()
    at = next(i for i, line in enumerate(lines, 1) if "lattigo.ckks.rotate_new" in line)
    text = TEXTS["dot"].replace("lattigo.ckks.rotate_new", "lattigo.ckks.turn")
    with pytest.raises(errors.UnsupportedError, match=f"HEIR, line {at}: the operation .*turn"):
        girih.heir.read(text)


def test_cut_and_changed_texts():
    """Whatever is cut or changed, a program is read or refused in words."""
    for name in ("dot", "network", "dot_openfhe", "product_openfhe", "large_openfhe"):
        text = TEXTS[name]
        lines = text.splitlines(keepends=True)
        last = len("".join(lines).rstrip("}\n "))
        for cut in range(0, last, last // 25):
            with pytest.raises(errors.Error, match="HEIR"):
                girih.heir.read(text[:cut], set=SET)
        for k in range(5, len(lines), 13):
            for changed in (lines[k] * 2, "", re.sub(r"[\[\](){}<>]", "", lines[k], count=1)):
                try:
                    girih.heir.read("".join([*lines[:k], changed, *lines[k + 1 :]]), set=SET)
                except errors.Error as error:
                    assert str(error)


def test_runs_end():
    loop = "scf.for %arg1 = %c0_i32 to %c8_i32 step"
    text = TEXTS["dot"]
    deep = text.replace(loop, (loop[:-4] + "step %c1_i32 : i32 {\n") * 40 + loop)
    with pytest.raises(errors.UnsupportedError, match="more than 16 loops in loops"):
        girih.heir.read(deep)
    endless = text.replace("arith.constant 8 : i32", "arith.constant 2000000 : i32")
    endless = endless.replace("%alloc[%c0, %3]", "%alloc[%c0, %c0]").replace("[%1]", "[%c0]")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("girih.heir._calls.Left", lambda: Left(rounds=1000))
        with pytest.raises(errors.UnsupportedError, match="loops go round more than"):
            girih.heir.read(endless)
    caller = text.replace("call @dot__preprocessed(%evaluator, %param, %encoder, %arg0, %arg1, %0)",
                          "call @dot(%evaluator, %param, %encoder, %arg0, %arg1)")  # fmt: skip
    with pytest.raises(errors.UnsupportedError, match="more than 8 calls in calls"):
        girih.heir.read(caller)


def test_sets_for_numbers_that_no_primes_give():
    """At N = 2^15 there are none for four levels of 40 bits; there are for a little more."""
    found = _sets.with_levels("NEAR", 15, 40, 4, 10.0, "four levels of 40 bits")
    assert 4 <= found.default_level <= 6 and "128 bits" in found.security
    with pytest.raises(errors.ParameterError, match="levels"):
        _sets.with_levels("FAR", 13, 40, 20, 10.0, "more than there are")
