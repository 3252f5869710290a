"""girih as the back end of Orion, called as Orion calls it: what is asked for and how it is
computed. Neither Orion nor PyTorch is needed."""

import dataclasses

import numpy as np
import pytest

import girih.orion
from girih import ckks, errors
from girih.orion import _graph, _plan, _simplify

SLOTS = 512
SCALE = 1 << 40
#: Near a sign on both sides of 0, and odd.
STEP = [0.0, 1.2, 0.0, -0.25]
#: From sign to step: (1 + x) / 2 and a little more.
HALF = [0.5, 0.5]


class Parameters:
    """What reads like `orion.scheme.params`."""

    def __init__(self, levels, boot):
        self.levels = levels
        self.params_json = {"boot_params": {"LogP": [61] * 8}} if boot else {}

    def get_logscale(self):
        return 40

    def get_logq(self):
        return [50] + [40] * self.levels

    def get_slots(self):
        return SLOTS

    def get_max_level(self):
        return self.levels

    def get_default_scale(self):
        return SCALE

    def get_io_mode(self):
        return "none"


def backend(levels=8, boot=True):
    made = girih.orion.Backend(Parameters(levels, boot), "cpu", insecure=True)
    made.GenerateSecretKey()
    made.NewEvaluator()
    if boot:
        made.NewBootstrapper([61] * 8, SLOTS)
    return made


def rescaled(on, number):
    return on.Rescale(number)


class Layer:
    """A map of the first half of the slots, repeated in the second by a rotation, and then what
    Orion makes of a ReLU: products before and after bootstrappings, sign, and a product."""

    def __init__(self, on, seed):
        rng = np.random.default_rng(seed)
        self.on, half = on, SLOTS // 2
        self.matrix = np.zeros((SLOTS, SLOTS))
        rows = np.arange(half)
        data = []
        for by in range(3):
            diagonal = np.zeros(SLOTS)
            # The second half is not read.
            diagonal[: half - by] = rng.uniform(-0.6, 0.6, half - by)
            self.matrix[rows, rows + by] = diagonal[:half]
            data.append(diagonal)
        self.map = on.GenerateLinearTransform(
            range(3), [value for row in data for value in row], 3, 2.0, "none"
        )
        on.AddRotationKey(half)
        self.mask = np.ones(half)

    def clear(self, x):
        y = self.matrix @ x
        y = y + np.roll(y, SLOTS // 2)
        u = y / 4
        step = np.polynomial.Chebyshev(HALF)(np.polynomial.Chebyshev(STEP)(u))
        return 4 * u * step

    def encrypted(self, x, level):
        on, half = self.on, SLOTS // 2
        y = rescaled(on, on.EvaluateLinearTransform(self.map, x))
        y = on.AddCiphertext(y, on.RotateNew(y, half))
        y = on.AddScalar(y, 0.125)
        y = rescaled(on, on.MulPlaintext(y, on.Encode(self.mask / 4, 1, SCALE)))
        y = on.Bootstrap(y, half)
        y = on.AddScalar(on.MulScalarInt(y, 4), -0.125)
        u = rescaled(on, on.MulScalarFloat(y, 0.25))
        sign = on.EvaluatePolynomial(u, on.GenerateChebyshev(STEP), SCALE)
        sign = rescaled(on, on.MulPlaintext(sign, on.Encode(self.mask / 2, 1, SCALE)))
        sign = on.MulScalarInt(on.Bootstrap(sign, half), 2)
        step = on.EvaluatePolynomial(sign, on.GenerateChebyshev(HALF), SCALE)
        z = rescaled(on, on.MulRelinCiphertextNew(u, step))
        assert on.GetCiphertextLevel(z) >= level
        on.MulScalarInt(z, 4)
        for number in on.GetLiveCiphertexts():
            if number != z:
                on.DeleteCiphertext(number)
        return z


def test_layers_take_fewer_bootstrappings_than_orion_asks_for():
    on = backend()
    layers = [Layer(on, seed) for seed in range(2)]
    x = np.random.default_rng(7).uniform(-1, 1, SLOTS)
    y = on.Encrypt(on.Encode(x, 2, SCALE))
    expected = x
    for layer in layers:
        y, expected = layer.encrypted(y, 2), layer.clear(expected)
    found = np.array(on.Decode(on.Decrypt(y)))[: SLOTS // 2]
    assert np.abs(found - expected[: SLOTS // 2]).max() < 1e-4
    # Two a layer were asked for.
    assert on.bootstraps == 2
    # The same of another input runs the same plan and recordings.
    recordings = len(on._recordings)
    again = on.Encrypt(on.Encode(x / 2, 2, SCALE))
    expected = x / 2
    for layer in layers:
        again, expected = layer.encrypted(again, 2), layer.clear(expected)
    found = np.array(on.Decode(on.Decrypt(again)))[: SLOTS // 2]
    assert np.abs(found - expected[: SLOTS // 2]).max() < 1e-4
    assert (len(on._plans), len(on._recordings)) == (1, recordings)


def test_what_is_held_is_computed_once_and_stays():
    on = backend(4, boot=False)
    x = on.Encrypt(on.Encode([0.5] * SLOTS, 4, SCALE))
    y = rescaled(on, on.MulScalarFloatNew(x, 0.5))
    z = rescaled(on, on.MulRelinCiphertextNew(y, y))
    assert on.Decode(on.Decrypt(z))[3] == pytest.approx(1 / 16, abs=1e-7)
    # y came with z; what is made of both begins there.
    nodes = [on._encrypted[number].node for number in (y, z)]
    assert [node.kind for node in nodes] == ["input", "input"]
    assert [node.vector.level for node in nodes] == [3, 2]
    total = on.AddCiphertextNew(y, z)
    on.DeleteCiphertext(y)
    assert on.Decode(on.Decrypt(total))[3] == pytest.approx(5 / 16, abs=1e-7)


def test_keys_reach_as_far_as_rotations_do():
    on = backend(4, boot=False)
    values = np.arange(SLOTS) / SLOTS
    found = []
    for level in (1, 3, 4):
        x = on.Encrypt(on.Encode(values, level, SCALE))
        moved = np.array(on.Decode(on.Decrypt(on.RotateNew(x, 4))))
        assert np.abs(moved - np.roll(values, -4)).max() < 1e-6
        found.append(on._keys.server)
    # Made for level 1, then for all.
    assert found[0] is not found[1] and found[1] is found[2]


def test_more_than_the_levels_is_refused_where_it_is_asked_for():
    on = backend(2, boot=False)
    x = on.Encrypt(on.Encode([0.5] * SLOTS, 2, SCALE))
    cubic = on.GenerateChebyshev([0.0, 0.5, 0.25, 0.125])
    y = on.EvaluatePolynomial(x, cubic, SCALE)
    with pytest.raises(errors.OutOfLevelsError, match="2 levels, and 0 are left"):
        on.EvaluatePolynomial(y, cubic, SCALE)
    with pytest.raises(errors.MissingKeyError, match="NewBootstrapper"):
        on.Bootstrap(y, SLOTS)


def inputs(level=3):
    return _graph.Node("input", (), None, level)


def step(kind, *sources, value=None):
    return _graph.node(kind, sources, value, kind)


def simplified(root):
    ops = _simplify.ops_of(_graph.in_order([root]), [root])
    return _simplify.simplified(ops, SLOTS)


def polynomial(coefficients):
    made = ckks.Polynomial.from_chebyshev(coefficients, (-1, 1))
    return _graph.Polynomial(made, tuple(coefficients), True)


def evaluated(ops, x):
    """What operations give in the clear: the results."""
    values = []
    for op in ops:
        of = [values[source] for source in op.sources]
        if op.kind == "input":
            made = x
        elif op.kind == "polynomial":
            made = np.polynomial.Chebyshev(op.value.coefficients)(of[0])
        elif op.kind == "map":
            made = 0.5 * (of[0] * op.value.reads)[::-1] + of[0][0]
        elif op.kind == "bootstrap":
            made = of[0]
        elif op.kind == "rotate":
            made = np.roll(of[0], -op.value)
        elif op.kind in ("plus", "plus_vector"):
            made = of[0] + getattr(op.value, "values", op.value)
        elif op.kind in ("times", "times_vector"):
            made = of[0] * getattr(op.value, "values", op.value)
        else:
            made = {"add": np.add, "subtract": np.subtract, "product": np.multiply}[op.kind](*of)
        values.append(made)
    asked = [op.kind != "input" and op.level is not None for op in ops]
    return [value for value, is_asked in zip(values, asked, strict=True) if is_asked]


def random_nodes(rng):
    """Operations in any order, of those before."""
    half = SLOTS // 2
    nodes = [_graph.Node("input", (), None, 1000)]
    for _ in range(40):
        x = nodes[-1] if rng.random() < 0.7 else rng.choice(nodes[-4:])
        kind = rng.choice([
            "times", "times", "plus", "times_vector", "plus_vector", "polynomial", "map", "halves",
            "add", "subtract", "product", "square", "rotate", "bootstrap",
        ])  # fmt: skip
        value, sources = None, (x,)
        if kind == "times":
            value = _graph.number(float(rng.choice([0.5, 0.75, 2, -1, 1.25, 0.1])))
        elif kind == "plus":
            value = float(rng.choice([0.0, 0.25]))
        elif kind in ("times_vector", "plus_vector"):
            value = masked(float(rng.choice([0.5, 1.0])))
        elif kind == "polynomial":
            value = polynomial([0.25, 0.5, 0.125])
        elif kind == "map":
            read = (np.arange(SLOTS) < half) & (np.arange(SLOTS) > rng.integers(-1, 3))
            value = _graph.Transform(None, 1000, (0, 1), read | (np.arange(SLOTS) == 0))
        elif kind == "rotate":
            value = int(rng.integers(1, SLOTS))
        elif kind == "halves":
            by = half >> int(rng.integers(2))
            kind, sources = "add", (x, step("rotate", x, value=by))
        elif kind == "square":
            kind, sources = "product", (x, x)
        elif kind in ("add", "subtract", "product"):
            sources = (x, rng.choice(nodes[-6:]))
        nodes.append(_graph.node(kind, sources, value, kind))
    return nodes


@pytest.mark.parametrize("seed", range(300))
def test_what_is_simplified_gives_the_same(seed):
    rng = np.random.default_rng(seed)
    made = random_nodes(rng)
    roots = [made[-1], made[rng.integers(1, len(made))]]
    nodes = _graph.in_order(roots)
    ops = _simplify.ops_of(nodes, roots)
    x = rng.uniform(-0.1, 0.1, SLOTS)
    expected = evaluated(ops, x)
    simple = _simplify.simplified(ops, SLOTS)
    found = evaluated(simple, x)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert np.allclose(a, b, rtol=1e-9, atol=1e-9 * np.abs(b).max())


def test_a_product_becomes_part_of_a_polynomial_before_the_layer():
    u = step("plus", inputs(9), value=0.25)
    z = step("product", u, step("polynomial", u, value=polynomial([0.5, 0.5])))
    z = step("times", z, value=5)
    transform = _graph.Transform(None, 1000, (0,), np.ones(SLOTS, bool))
    y = step("plus_vector", step("map", z, value=transform), value=masked(1.0))
    y = step("times", y, value=0.5)
    # A residual: read besides, and multiplied there.
    y = step("product", y, step("times", z, value=0.1))
    ops = _simplify.ops_of(_graph.in_order([y]), [y])
    simple = _simplify.simplified(ops, SLOTS)
    kinds = [op.kind for op in simple if op.takes]
    assert sorted(kinds) == ["map", "polynomial", "product", "product", "times"]
    (product,) = [op.value for op in simple if op.kind == "times"]
    assert product == pytest.approx(0.2)
    x = np.random.default_rng(1).uniform(-0.5, 0.5, SLOTS)
    assert np.allclose(evaluated(simple, x), evaluated(ops, x), rtol=1e-9)


def masked(value):
    return _graph.Vector(np.repeat([value, 0.0], SLOTS // 2))


def test_products_with_numbers_become_one():
    y = step("times_vector", inputs(), value=masked(0.25))
    y = step("plus", step("times", _graph.Node("bootstrap", (y,), None, 8), value=4), value=0.5)
    y = step("polynomial", step("times", y, value=0.125), value=polynomial([0.0, 1.0, 0.5]))
    kinds = [(op.kind, op.value) for op in simplified(y)]
    assert [kind for kind, _ in kinds] == [
        "input", "times_vector", "bootstrap", "plus", "polynomial"
    ]  # fmt: skip
    assert kinds[1][1].factor == 0.125 and kinds[3][1] == 0.0625
    # Before a bootstrapping no value may leave [-1, 1], nor lose more than a bit.
    for factor in (3.0, 0.01):
        y = _graph.Node("bootstrap", (inputs(),), None, 8)
        assert [op.kind for op in simplified(step("times", y, value=factor))][1] == "bootstrap"


@pytest.mark.parametrize(
    ("reads", "reach", "goes"), [(SLOTS // 2, 1.0, True), (SLOTS, 1.0, False), (8, 1.5, False)]
)
def test_a_product_that_zeroes_what_nobody_reads_goes(reads, reach, goes):
    y = step("polynomial", inputs(), value=polynomial([0.0, reach]))
    y = step("times_vector", y, value=masked(1.0))
    read = np.arange(SLOTS) < reads
    transform = _graph.Transform(None, 8, (0,), read)
    kinds = [op.kind for op in simplified(step("map", y, value=transform))]
    assert ("times_vector" not in kinds) == goes


def test_bootstrappings_are_where_they_cost_least():
    parameters = ckks.Parameters("CKKS_D40_30BIT_LOW_STC_FIRST")
    rules = _plan.rules(parameters, 10, True)
    assert (rules.top, rules.lowest, rules.offset, rules.anywhere) == (14, 3, 3, True)
    y = inputs(2)
    deep = polynomial([0.0, *[0.1] * 14, 0.5])
    for _ in range(5):
        y = _graph.Node("bootstrap", (y,), None, 10)
        y = step("polynomial", y, value=deep)
    ops = _simplify.ops_of(_graph.in_order([y]), [y])
    placed = _plan.place(ops, rules)
    # Five times four levels by eleven at once, the last to level 6 of Orion, 9 of the set.
    assert sum(p.is_bootstrapped for p in placed) == 3
    for i, (op, of) in enumerate(zip(ops, placed, strict=True)):
        for source in op.sources:
            given = rules.top if placed[source].is_bootstrapped else placed[source].level
            assert given >= of.level + op.takes, i
    with pytest.raises(errors.OutOfLevelsError, match="14 that there are"):
        _plan.place(ops, dataclasses.replace(rules, lowest=None))


def test_where_too_few_ways_are_looked_at_orions_own_is_taken(monkeypatch):
    on = backend()
    layers = [Layer(on, seed) for seed in range(2)]
    values = np.random.default_rng(7).uniform(-1, 1, SLOTS)
    y, expected = on.Encrypt(on.Encode(values, 2, SCALE)), values
    for layer in layers:
        y, expected = layer.encrypted(y, 2), layer.clear(expected)
    place = girih.orion._values.place

    def none(ops, rules):
        if not rules.as_asked:
            raise errors.OutOfLevelsError("none was found")
        return place(ops, rules)

    monkeypatch.setattr(girih.orion._values, "place", none)
    found = np.array(on.Decode(on.Decrypt(y)))[: SLOTS // 2]
    assert np.abs(found - expected[: SLOTS // 2]).max() < 1e-4
    assert on.bootstraps == 4
