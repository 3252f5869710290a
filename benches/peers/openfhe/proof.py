"""A product and a rotation of an OpenFHE client by girih's formulas, on words of 32 bits.

An OpenFHE client with composite scaling makes keys and ciphertexts and writes them as JSON. From
there on nothing is OpenFHE's: primes, roots, polynomials and keys are read from the files, brought
to coefficient form, and key switching is done by the formulas of docs/guide/openfhe.md, with
products of two words of 32 bits in 64. Results go back as ciphertexts that OpenFHE decrypts.

Needs numpy and `openfhe` from PyPI (its wheel says for which Python): python3 proof.py FOLDER
"""

import json
import pathlib
import sys

import numpy as np
import openfhe

X = [0.5, -1.25, 2, 3.5, 0.125, -0.75, 1, 0.25]
Y = [1.5, 0.5, -0.25, 2, 1, -3, 0.0625, 4]
ELEMENT = 5  # of a rotation by one slot


def client(folder):
    """OpenFHE alone: keys, two ciphertexts, and what its own operations give."""
    parameters = openfhe.CCParamsCKKSRNS()
    # For a proof of arithmetic, not of security.
    parameters.SetSecurityLevel(openfhe.SecurityLevel.HEStd_NotSet)
    parameters.SetRingDim(4096)
    parameters.SetMultiplicativeDepth(2)
    parameters.SetScalingTechnique(openfhe.ScalingTechnique.COMPOSITESCALINGAUTO)
    parameters.SetRegisterWordSize(27)
    parameters.SetScalingModSize(50)
    parameters.SetFirstModSize(54)
    parameters.SetKeySwitchTechnique(openfhe.KeySwitchTechnique.HYBRID)
    parameters.SetNumLargeDigits(2)
    parameters.SetBatchSize(len(X))
    context = openfhe.GenCryptoContext(parameters)
    for feature in ("PKE", "KEYSWITCH", "LEVELEDSHE"):
        context.Enable(getattr(openfhe.PKESchemeFeature, feature))
    keys = context.KeyGen()
    context.EvalMultKeyGen(keys.secretKey)
    context.EvalRotateKeyGen(keys.secretKey, [1])
    x, y = (context.Encrypt(keys.publicKey, context.MakeCKKSPackedPlaintext(v)) for v in (X, Y))
    files = {"x": x, "y": y, "secret": keys.secretKey, "product": context.EvalMult(x, y),
             "rotated": context.EvalRotate(x, 1)}
    for name, value in files.items():
        assert openfhe.SerializeToFile(str(folder / f"{name}.json"), value, openfhe.JSON)
    assert context.SerializeEvalMultKey(str(folder / "relinearization.json"), openfhe.JSON, "")
    assert context.SerializeEvalAutomorphismKey(str(folder / "rotation.json"), openfhe.JSON, "")
    return context, keys


def find(tree, wanted):
    """Everything below a key of this name."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key == wanted:
                yield value
            yield from find(value, wanted)
    elif isinstance(tree, list):
        for value in tree:
            yield from find(value, wanted)


def polynomials(tree):
    """Polynomials of a list of them: one row of words for each prime, in evaluation form."""
    rows = [entry["v"]["ptr_wrapper"]["data"] for entry in tree["v"]]
    assert tree["f"] == 0 and all(entry["f"] == 0 for entry in tree["v"]), "in coefficient form"
    return [row["m"]["v"] for row in rows], np.array([row["v"] for row in rows], dtype=np.uint64)


def roots(*trees):
    """The root of unity of each prime."""
    found = {}
    for tree in trees:
        for values in find(tree, "p"):
            for entry in values if isinstance(values, list) else [values]:
                data = entry.get("ptr_wrapper", {}).get("data", {})
                data = data.get("value0", {}) if isinstance(data, dict) else {}
                if isinstance(data.get("cm", {}).get("v"), int):
                    found[data["cm"]["v"]] = data["ru"]["v"]
    return found


class Ring:
    """Z_q[X] / (X^N + 1) for one prime below 2^27, as a device has it."""

    def __init__(self, q, root, n):
        assert q < 1 << 27 and q % (2 * n) == 1 and pow(root, n, q) == q - 1
        self.q, self.n = np.uint64(q), n
        bits = n.bit_length() - 1
        order = [int(f"{i:0{bits}b}"[::-1], 2) for i in range(n)]
        # OpenFHE's entry i is the value at the root to the power 2 reverse(i) + 1.
        powers = [1]
        for _ in range(2 * n - 1):
            powers.append(powers[-1] * root % q)
        self.powers = np.array(powers, dtype=np.uint64)
        self.order = np.array(order)

    def _cyclic(self, values, root):
        """The discrete Fourier transform of n values, by halves."""
        n = len(values)
        if n == 1:
            return values
        even = self._cyclic(values[0::2], root * root % int(self.q))
        odd = self._cyclic(values[1::2], root * root % int(self.q))
        powers = [1]
        for _ in range(n // 2 - 1):
            powers.append(powers[-1] * root % int(self.q))
        odd = odd * np.array(powers, dtype=np.uint64) % self.q
        return np.concatenate([(even + odd) % self.q, (even + self.q - odd) % self.q])

    def forward(self, coefficients):
        twisted = coefficients * self.powers[: self.n] % self.q
        return self._cyclic(twisted, int(self.powers[2]))[self.order]

    def inverse(self, values):
        natural = np.empty_like(values)
        natural[self.order] = values
        twisted = self._cyclic(natural, int(self.powers[2 * self.n - 2]))
        scale = np.uint64(pow(self.n, -1, int(self.q)))
        back = self.powers[(2 * self.n - np.arange(self.n)) % (2 * self.n)]
        return twisted * back % self.q * scale % self.q


def convert(rows, source, target):
    """Fast base conversion of coefficients: right but for a small multiple of the source."""
    product = 1
    for q in source:
        product *= q
    out = [np.zeros_like(rows[0]) for _ in target]
    for row, q in zip(rows, source):
        rest = product // q
        digit = row * np.uint64(pow(rest, -1, q)) % np.uint64(q)
        for sum_, p in zip(out, target):
            sum_ += digit % np.uint64(p) * np.uint64(rest % p) % np.uint64(p)
            sum_ %= np.uint64(p)
    return out


class Server:
    """Key switching from coefficient form, digit by digit."""

    def __init__(self, folder):
        read = lambda name: json.loads((folder / f"{name}.json").read_text())
        relinearization, rotation, x = read("relinearization"), read("rotation"), read("x")
        self.keys = {}
        for name, tree in (("relinearization", relinearization), ("rotation", rotation)):
            [a], [b] = list(find(tree, "ak")), list(find(tree, "bk"))
            self.keys[name] = [
                [polynomials(poly) for poly in (part if isinstance(part, list) else part["v"])]
                for part in (b, a)
            ]
        self.q = polynomials(elements(x)[0])[0]
        self.qp = self.keys["relinearization"][0][0][0]
        assert self.qp[: len(self.q)] == self.q, "key primes begin with those of ciphertexts"
        self.p = self.qp[len(self.q) :]
        known = roots(relinearization, rotation, x)
        n = len(elements(x)[0]["v"][0]["v"]["ptr_wrapper"]["data"]["v"])
        self.ring = {q: Ring(q, known[q], n) for q in self.qp}
        digits = len(self.keys["relinearization"][0])
        per = -(-len(self.q) // digits)
        self.digits = [self.q[i : i + per] for i in range(0, len(self.q), per)]
        # What girih would load: keys in coefficient form.
        for parts in self.keys.values():
            for part in parts:
                for j, (primes, rows) in enumerate(part):
                    assert primes == self.qp
                    part[j] = [self.ring[q].inverse(row) for q, row in zip(primes, rows)]

    def switch(self, coefficients, key):
        """A pair modulo Q that decrypts to the polynomial times the key's secret."""
        sums = [[np.zeros_like(coefficients[0]) for _ in self.qp] for _ in range(2)]
        for j, digit in enumerate(self.digits):
            own = [coefficients[self.q.index(q)] for q in digit]
            others = [q for q in self.qp if q not in digit]
            rows = dict(zip(digit, own)) | dict(zip(others, convert(own, digit, others)))
            for part, sum_ in zip(self.keys[key], sums):
                for i, q in enumerate(self.qp):
                    ring = self.ring[q]
                    term = ring.forward(rows[q]) * ring.forward(part[j][i]) % ring.q
                    sum_[i] = (sum_[i] + ring.inverse(term)) % ring.q
        return [self.down(sum_) for sum_ in sums]

    def down(self, rows):
        """Divided by P."""
        product = 1
        for p in self.p:
            product *= p
        low = convert(rows[len(self.q) :], self.p, self.q)
        inverse = [np.uint64(pow(product, -1, q)) for q in self.q]
        return [
            (row + np.uint64(q) - part) % np.uint64(q) * factor % np.uint64(q)
            for row, part, q, factor in zip(rows, low, self.q, inverse)
        ]

    def multiply(self, x, y):
        """Tensor product and relinearization of pairs of coefficients."""
        def times(a, b):
            rings = [self.ring[q] for q in self.q]
            return [
                ring.inverse(ring.forward(u) * ring.forward(v) % ring.q)
                for u, v, ring in zip(a, b, rings)
            ]

        def plus(a, b):
            return [(u + v) % np.uint64(q) for u, v, q in zip(a, b, self.q)]

        middle = plus(times(x[0], y[1]), times(x[1], y[0]))
        switched = self.switch(times(x[1], y[1]), "relinearization")
        return [plus(times(x[0], y[0]), switched[0]), plus(middle, switched[1])]

    def permuted(self, rows, primes, element):
        """a(X^element)."""
        n = len(rows[0])
        at = np.arange(n) * element % (2 * n)
        out = []
        for row, q in zip(rows, primes):
            target = np.empty_like(row)
            target[at % n] = np.where(at < n, row, (np.uint64(q) - row) % np.uint64(q))
            out.append(target)
        return out

    def rotate(self, x):
        """Switched first and moved then, as OpenFHE and girih do, by OpenFHE's key as it is."""
        switched = self.switch(x[1], "rotation")
        first = [(u + v) % np.uint64(q) for u, v, q in zip(x[0], switched[0], self.q)]
        return [self.permuted(part, self.q, ELEMENT) for part in (first, switched[1])]

    def rescaled(self, pair, scale, count):
        """Without the last `count` primes, one after the other, and the scale that is left."""
        primes, pair = list(self.q), [list(part) for part in pair]
        for _ in range(count):
            last = primes.pop()
            scale /= last
            for part in pair:
                low = part.pop()
                # Rounded: the remainder is taken around 0.
                low = (low + np.uint64(last // 2)) % np.uint64(last)
                for i, q in enumerate(primes):
                    less = (low + np.uint64(q - last // 2 % q)) % np.uint64(q)
                    factor, q = np.uint64(pow(last, -1, q)), np.uint64(q)
                    part[i] = (part[i] + q - less) % q * factor % q
        return primes, pair, scale


def elements(tree):
    """The two polynomials of a ciphertext."""
    found = tree["value0"]["ptr_wrapper"]["data"]["v"]
    return found["v"] if isinstance(found, dict) else found


def pair(server, folder, name):
    tree = json.loads((folder / f"{name}.json").read_text())
    result = []
    for element in elements(tree):
        primes, rows = polynomials(element)
        result.append([server.ring[q].inverse(row) for q, row in zip(primes, rows)])
    return result


def write(server, folder, like, name, values):
    """A ciphertext of these coefficients, with the level and scale of OpenFHE's own result."""
    tree = json.loads((folder / f"{like}.json").read_text())
    for element, rows in zip(elements(tree), values):
        assert len(element["v"]) == len(rows)
        for entry, row, q in zip(element["v"], rows, server.q):
            entry["v"]["ptr_wrapper"]["data"]["v"] = server.ring[q].forward(row).tolist()
    (folder / f"{name}.json").write_text(json.dumps(tree))


def decrypted(server, folder, primes, values, scale):
    """Slots of a pair, by the client's secret: for results that OpenFHE has no file for."""
    tree = json.loads((folder / "secret.json").read_text())
    found, rows = next(
        polynomials(v) for v in find(tree, "s") if isinstance(v, dict) and "f" in v
    )
    secret = {q: server.ring[q].inverse(row) for q, row in zip(found, rows)}
    product, phase = 1, None
    for q, c0, c1 in zip(primes, *values):
        ring = server.ring[q]
        row = (c0 + ring.inverse(ring.forward(c1) * ring.forward(secret[q]) % ring.q)) % ring.q
        row = [int(v) for v in row]
        if phase is None:
            phase, product = row, q
            continue
        factor = pow(product, -1, q)
        phase = [a + product * ((b - a) * factor % q) for a, b in zip(phase, row)]
        product *= q
    centred = [v - product if v > product // 2 else v for v in phase]
    n = len(centred)
    exponents, element = [], 1
    for _ in X:
        exponents.append(element)
        element = element * 5 % (2 * n)
    # Slots of a sparse packing repeat: those of the first are those of all.
    angle = np.pi / n
    values = np.array([float(v) / scale for v in centred])
    return [float(np.sum(values * np.cos(angle * (e * np.arange(n) % (2 * n))))) for e in exponents]


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    context, keys = client(folder)
    server = Server(folder)
    print(f"N = {len(server.ring[server.q[0]].order)}\nQ = {server.q}\nP = {server.p}")
    print(f"digits of {[len(d) for d in server.digits]} primes")
    x, y = pair(server, folder, "x"), pair(server, folder, "y")
    write(server, folder, "product", "product_here", server.multiply(x, y))
    write(server, folder, "rotated", "rotated_here", server.rotate(x))
    wrong = 0.0
    for name, want in (
        ("product_here", [a * b for a, b in zip(X, Y)]),
        ("rotated_here", X[1:] + X[:1]),
    ):
        ciphertext, read = openfhe.DeserializeCiphertext(
            str(folder / f"{name}.json"), openfhe.JSON
        )
        assert read
        plain = context.Decrypt(ciphertext, keys.secretKey)
        plain.SetLength(len(X))
        got = plain.GetRealPackedValue()
        error = max(abs(a - b) for a, b in zip(got, want))
        print(f"{name}: {[round(v, 6) for v in got]}, largest error {error:.1e}")
        wrong = max(wrong, error)
    scale = json.loads((folder / "product.json").read_text())
    scale = scale["value0"]["ptr_wrapper"]["data"]["s"]
    primes, rescaled, scale = server.rescaled(server.multiply(x, y), scale, 2)
    got = decrypted(server, folder, primes, rescaled, scale)
    error = max(abs(a - b * c) for a, b, c in zip(got, X, Y))
    print(f"rescaled by two primes: {[round(v, 6) for v in got]}, largest error {error:.1e}")
    assert max(wrong, error) < 1e-8, "wrong results"


if __name__ == "__main__":
    main()
