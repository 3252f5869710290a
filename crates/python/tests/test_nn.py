"""Compiled models without PyTorch: packing, levels, files, and what is refused."""

import dataclasses
import itertools

import numpy as np
import pytest
from conftest import CKKS_TOY
from networks import deep, dense, images, softmax, squares

import girih.nn
from girih import _sets, ckks, errors
from girih.nn import Costs, _file
from girih.nn._levels import Rules, Task, place
from girih.nn._places import Place, packed
from girih.nn._sparse import Sparse, convolution, pooling


@pytest.fixture(scope="module")
def model():
    return dense(CKKS_TOY, rows=4)


@pytest.fixture(scope="module")
def client(model):
    return ckks.ClientKey.generate_seeded_for_tests(model.parameters, bytes(range(32)))


@pytest.fixture(scope="module")
def server(model, client):
    return model.server(model.keys(client), "cpu")


def test_encrypted_and_in_the_clear(model, client, server):
    inputs, exact, plain = model.samples
    assert np.abs(exact - plain).max() < 1e-6 and np.abs(model.plain(inputs) - plain).max() < 1e-12
    batch = np.random.default_rng(1).uniform(-0.9, 0.9, (7, 8))
    encrypted = model.encrypt(client, batch)
    assert encrypted.shape == (2, 32)
    heard = []
    result = model.run(server, encrypted, progress=lambda *step: heard.append(step))
    # All steps are counted before the first.
    total = heard[0][2]
    assert heard == [("steps of the model", done, total) for done in range(total + 1)] and total
    with pytest.raises(TypeError, match="callable"):
        model.run(server, encrypted, progress=5)
    found = model.decrypt(client, result, 7)
    shared, left = model.decrypt_to_share(client, result, 10, error=1e-6, count=7)
    assert left > 7 and np.abs(shared - model.plain(batch)).max() < 2**-left
    assert found.shape == (7, 3) and model.decrypt(client, result).shape == (8, 3)
    assert np.abs(found - model.plain(batch)).max() < 1e-6
    assert model.bootstrappings == 0 and model.rotations > 0 and model.products == 1
    assert "square" in model.summary() and "4 inputs in 32 slots" in model.summary()


def exact_softmax(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


@pytest.mark.parametrize(("spread", "error"), [(0.1, 2**-10), (2.0, 2**-8), (5.0, 2**-10)])
def test_a_softmax_errs_by_its_error_at_most(spread, error):
    model = softmax(error=error, spread=spread)
    at = np.linspace(-spread, spread, 9)
    # All corners, and all alike: the mean of exponentials is 1 at least, however inputs lie.
    corners = np.array(list(itertools.product((-spread, 0.3 * spread, spread), repeat=4)))
    x = np.concatenate([corners[:80].reshape(-1, 2, 4), np.repeat(at, 8).reshape(-1, 2, 4)])
    centred = x - x.mean(-1, keepdims=True)
    made = {s.function.name: s for s in model.program.stages if s.function}
    within = np.abs(centred - made["Exp"].centre) <= made["Exp"].bound
    most = made["Inverse"].centre + made["Inverse"].bound
    held = x[within.all((1, 2)) & (np.exp(centred).mean(-1) <= most).all(-1)]
    assert len(held) > len(x) / 2
    off = np.abs(model.plain(held) - exact_softmax(held)).max()
    assert off <= error and model.calibration_error <= error


def test_an_encrypted_softmax():
    set = ckks.Parameters.generate(
        "INSECURE_SOFTMAX", log2_degree=10, log2_scale=40.0, auxiliary=4, levels=14
    )
    model = softmax(set, spread=2.0, rows=4)
    client = ckks.ClientKey.generate_seeded_for_tests(set, bytes(range(32)))
    x = np.random.default_rng(9).uniform(-2, 2, (3, 2, 4))
    # Of a client key the keys are made while they are loaded.
    result = model.run(model.server(client, "cpu"), model.encrypt(client, x))
    found = model.decrypt(client, result, 3)
    assert np.abs(found - model.plain(x)).max() < 1e-6
    assert np.abs(found - exact_softmax(x)).max() < 2**-10
    with pytest.raises(errors.ApproximationError, match=r"softmax \(Exp\)"):
        softmax(spread=400.0)
    with pytest.raises(errors.ApproximationError, match=r"softmax \((Exp|Inverse)\)"):
        softmax(spread=20.0)


def tried(model, count=3):
    """The largest distance of an encrypted run from the same polynomials in the clear."""
    client = ckks.ClientKey.generate_seeded_for_tests(model.parameters, bytes(range(32)))
    server = model.server(model.keys(client), "cpu")
    x = np.random.default_rng(3).uniform(-0.9, 0.9, (count, *model.client.input_shape))
    encrypted = model.encrypt(client, x)
    found = model.decrypt(client, model.run(server, encrypted), count)
    return encrypted, np.abs(found - model.plain(x)).max() / model.client.output_range


@pytest.mark.parametrize(("channels", "side", "parts"), [(3, 16, 2), (1, 32, 2), (5, 16, 3)])
def test_values_of_several_ciphertexts(channels, side, parts, tmp_path):
    """Images of more numbers than there are slots: channels apart, and rows of one channel."""
    set = ckks.Parameters.generate(
        "INSECURE_IMAGES", log2_degree=10, log2_scale=40.0, auxiliary=3, levels=7
    )
    model = images(set, channels, side)
    assert (model.client.parts, model.client.rows, model.client.slots) == (parts, 1, 512)
    assert f"an input in {parts} ciphertexts of 512 slots" in model.summary()
    inputs, exact, plain = model.samples
    assert np.abs(exact - plain).max() < 1e-6
    encrypted, off = tried(model)
    assert encrypted.shape == (3, parts, 512) and off < 1e-6
    model.save(tmp_path / "model")
    again = girih.nn.load(tmp_path / "model")
    assert tried(again)[1] < 1e-6 and again.products == model.products
    # In one ciphertext the same network takes fewer rotations and products.
    whole = _sets.with_levels("INSECURE_WHOLE", 13, 40, 7, 10.0, "of more slots")
    one = images(whole, channels, side)
    assert one.client.parts == 1 and one.products < model.products
    assert np.abs(one.plain(inputs) - model.plain(inputs)).max() < 1e-9
    with pytest.raises(errors.MismatchError, match=rf"returns has \(.., {parts}, 512\) at level"):
        client = ckks.ClientKey.generate(model.parameters)
        model.run(model.server(model.keys(client), "cpu"), model.encrypt(client, inputs)[:, 0])


def test_several_ciphertexts_are_bootstrapped():
    set = ckks.Parameters(CKKS_TOY)
    rising = tuple(1.0 + level for level in range(set.default_level + 1))
    cheap = Costs(set, "cheap", rising, rising, rising, 0.0)
    model = images(CKKS_TOY, function="SiLU", costs=cheap)
    most = [len(p.refreshed) + p.before + p.after for p in model.placed]
    # Of values in two ciphertexts each of them is.
    assert model.client.parts == 2 and model.bootstrappings > sum(most) > 0
    assert tried(model)[1] < 1e-3


def test_values_that_no_ciphertexts_hold():
    small = ckks.Parameters.generate(
        "INSECURE_SMALL", log2_degree=4, log2_scale=40.0, auxiliary=3, levels=4
    )
    set = ckks.Parameters.generate(
        "INSECURE_TINY", log2_degree=5, log2_scale=40.0, auxiliary=3, levels=7
    )
    with pytest.raises(errors.UnsupportedError, match="which are .* and 64 at most are there"):
        images(set, 3, 32)
    with pytest.raises(errors.UnsupportedError, match="layer square: results lie in 32 slots"):
        squares(small, 20)


def test_files_are_the_model_and_the_clients_part(model, client, server, tmp_path):
    model.save(tmp_path / "model")
    model.client_part().save(tmp_path / "client")
    again, part = girih.nn.load(tmp_path / "model"), girih.nn.ClientPart.load(tmp_path / "client")
    assert part == model.client_part() == again.client_part()
    assert again.summary() == model.summary()
    inputs = model.samples[0]
    assert np.array_equal(again.samples[2], model.samples[2])
    found = part.decrypt(client, again.run(server, part.encrypt(client, inputs)), 2)
    assert np.abs(found - model.samples[2]).max() < 1e-6
    # No weight is in the client's part.
    size = (tmp_path / "client").stat().st_size
    assert set(np.load(tmp_path / "client").files) == {"header"} and size < 4000


def test_files_that_are_none(model, tmp_path):
    model.save(tmp_path / "model")
    data = (tmp_path / "model").read_bytes()
    with pytest.raises(errors.MalformedError, match="a model in the format"):
        girih.nn.ClientPart.load(tmp_path / "model")
    for n, wrong in enumerate((b"", b"text", data[:-40], data[: len(data) // 2])):
        (tmp_path / "wrong").write_bytes(wrong)
        with pytest.raises(errors.MalformedError, match="no file of girih.nn"):
            girih.nn.load(tmp_path / "wrong")
    header, arrays = _file.load(tmp_path / "model", "a model")
    for key in ("ops", "stages", "placed", "client", "counts", "calibration", "costs"):
        less = {k: v for k, v in header.items() if k not in (key, "format", "kind")}
        _file.save(tmp_path / "less", "a model", less, arrays)
        with pytest.raises(errors.MalformedError, match=key):
            girih.nn.load(tmp_path / "less")


def test_refusals_of_clients_and_servers(model, client, server):
    x, other = model.samples[0], ckks.ClientKey.generate("INSECURE_CKKS_D35_N10")
    with pytest.raises(errors.MismatchError, match="this model is for INSECURE_CKKS_D40_N10"):
        model.encrypt(other, x)
    with pytest.raises(errors.MismatchError, match=r"\('inputs', 8\)"):
        model.encrypt(client, x[0])
    with pytest.raises(errors.MismatchError, match="reaches 9: the model was compiled for"):
        model.encrypt(client, np.full((1, 8), 9.0))
    with pytest.raises(errors.MismatchError, match="reaches nan"):
        model.plain(np.full((1, 8), np.nan))
    with pytest.raises(errors.MismatchError, match="what encrypt"):
        model.run(server, client.encrypt(np.zeros((1, 64))))
    with pytest.raises(errors.MismatchError, match="count=9: there are 1 to 4"):
        model.decrypt(client, model.run(server, model.encrypt(client, x)), 9)
    with pytest.raises(errors.MismatchError, match="this model is for"):
        model.server(other.evaluation_keys(), "cpu")
    with pytest.raises(errors.MismatchError, match="this model is for"):
        model.server(other, "cpu")
    with pytest.raises(errors.UnsupportedError, match=r"fc2 \(linear\): levels end there"):
        few = ckks.Parameters.generate(
            "INSECURE_FEW", log2_degree=10, log2_scale=40.0, auxiliary=2, levels=2
        )
        dense(few)
    with pytest.raises(errors.MismatchError, match="rows=128: 64 inputs"):
        dense(CKKS_TOY, rows=128)


def applied(part, x):
    """What servers make of a vector by diagonals and a fold."""
    y = sum(v * np.roll(x[: part.slots], -by) for by, v in part.vectors(1))
    step = part.slots // part.fold
    return sum(np.roll(y, -i * step) for i in range(part.fold))


PLACES = [
    ((3, 8, 8), (4, 8, 8), [1, 1]), ((4, 8, 8), (8, 4, 4), [2, 2]), ((8, 4, 4), (5, 4, 4), [1, 1]),
    ((2, 7, 5), (3, 7, 5), [1, 1]), ((2, 9, 9), (4, 3, 3), [3, 3]), ((1, 6, 8), (4, 3, 8), [2, 1]),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "out", "stride"), PLACES)
def test_diagonals_are_the_convolution(shape, out, stride):
    numbers = np.random.default_rng(3)
    weight = numbers.normal(size=(out[0], shape[0], 3, 3))
    matrix = convolution(weight, shape, out, stride, [1, 1], [1, 1], 1)
    source = Place.of(shape)
    to = source.strided(out, stride)
    x = numbers.normal(size=shape)
    # The definition, pixel by pixel.
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1)))
    wanted = np.zeros(out)
    for o, i, j in np.ndindex(*out):
        y, k = i * stride[0], j * stride[1]
        wanted[o, i, j] = (weight[o] * padded[:, y : y + 3, k : k + 3]).sum()
    assert np.abs(matrix.apply(x.ravel()) - wanted.ravel()).max() < 1e-12
    check(matrix, to, source, x.ravel())


def check(matrix, to, source, x):
    ((where, part),) = packed(matrix, to, source, 1 << 20).items()
    assert where == (0, 0)
    slots = np.zeros(source.period)
    slots[source.slots()] = x
    found = applied(part, np.tile(slots, part.slots // source.period))
    # What is made repeats with the period of its place.
    assert np.abs(found - np.tile(found[: to.period], len(found) // to.period)).max() < 1e-12
    assert np.abs(found[to.slots()] - matrix.apply(x)).max() < 1e-12
    return part


@pytest.mark.parametrize(("rows", "columns"), [(3, 50), (50, 3), (16, 16), (1, 64), (10, 12)])
def test_diagonals_are_the_matrix(rows, columns):
    numbers = np.random.default_rng(4)
    weight = numbers.normal(size=(rows, columns))
    matrix = Sparse((rows, columns), *np.nonzero(weight), weight.ravel())
    x = numbers.normal(size=columns)
    part = check(matrix, Place.of((rows,)), Place.of((columns,)), x)
    # Far fewer rotations than the 15 to 63 of a diagonal each.
    assert sum(part.steps) + part.fold.bit_length() - 1 <= 10
    dense = np.zeros((rows, columns))
    dense[matrix.rows, matrix.columns] = matrix.values
    other = numbers.normal(size=(columns, 7)) * (numbers.uniform(size=(columns, 7)) < 0.4)
    product = matrix @ Sparse(other.shape, *np.nonzero(other), other[np.nonzero(other)])
    assert np.abs(product.apply(np.ones(7)) - dense @ other.sum(1)).max() < 1e-12


def test_means_of_windows():
    x = np.arange(18.0).reshape(2, 3, 3)
    whole = pooling((2, 3, 3), (2, 1, 1), [3, 3], [3, 3], [0, 0], True)
    assert np.allclose(whole.apply(x.ravel()), [4, 13])
    for counts, corner in ((True, (0 + 1 + 3 + 4) / 9), (False, (0 + 1 + 3 + 4) / 4)):
        padded = pooling((2, 3, 3), (2, 3, 3), [3, 3], [1, 1], [1, 1], counts)
        assert np.isclose(padded.apply(x.ravel())[0], corner)


def exhausted(tasks, rules):
    """The least cost, by trying every way."""
    best = [np.inf]

    def go(k, levels, cost):
        if cost >= best[0]:
            return
        if k == len(tasks):
            best[0] = cost
            return
        task, free = tasks[k], rules.lowest is not None
        able = [s for s in task.sources if free and levels[s] >= rules.lowest]
        for bits in itertools.product((False, True), repeat=len(able)):
            moved = dict(levels)
            moved.update({s: rules.top for s, bit in zip(able, bits, strict=True) if bit})
            more = cost + sum(bits) * rules.bootstrapping
            for level in range(1, min(moved[s] for s in task.sources) + 1):
                for before in (False, True):
                    if before and not (free and level - 1 >= rules.lowest):
                        continue
                    high = rules.top if before else level - 1
                    total = more + task.linear[level] + before * rules.bootstrapping
                    for begin in range(task.levels, high + 1):
                        result = {**moved, k: begin - task.levels}
                        go(k + 1, result, total + task.function[begin])

    for level in range(rules.top + 1):
        go(1, {0: level}, 0.0)
    return best[0]


@pytest.mark.parametrize("lowest", [0, 1])
def test_the_cheapest_way_over_levels(lowest):
    numbers = np.random.default_rng(lowest)
    for sources in ([(), (0,), (1,), (2,)], [(), (0,), (1,), (1, 2)]):
        costs = [np.cumsum(numbers.uniform(0.1, 1, 6)).tolist() for _ in range(8)]
        tasks = [
            Task(str(k), of, costs[2 * k], costs[2 * k + 1], int(numbers.integers(1, 3)) * (k > 0))
            for k, of in enumerate(sources)
        ]
        rules = Rules(5, lowest, 3.0)
        placed = place(tasks, rules)
        total = 0.0
        for task, how in zip(tasks[1:], placed[1:], strict=True):
            total += (len(how.refreshed) + how.before + how.after) * rules.bootstrapping
            total += task.linear[how.level] + task.function[how.function]
        assert np.isclose(total, exhausted(tasks, rules))


def test_levels_that_do_not_suffice_name_the_layer():
    flat = [1.0] * 9
    tasks = [Task("x", (), flat, flat, 0)] + [
        Task(str(k), (k - 1,), flat, flat, 2) for k in range(1, 4)
    ]
    assert place(tasks, Rules(8, None, 1.0)) == 3
    assert place(tasks, Rules(1, 0, 1.0)) == 1
    placed = place(tasks, Rules(4, 0, 1.0))
    assert sum(len(p.refreshed) + p.before + p.after for p in placed) == 2


def costs(of, **changed):
    """Those of the model, some of them changed."""
    return dataclasses.replace(girih.nn.Costs.modelled(of), **changed)


BOOTSTRAPPING = "INSECURE_CKKS_D35_N10"


def test_other_costs_place_bootstrappings_elsewhere():
    """Layers of a few rotations and squares, more of them than there are levels."""
    top = ckks.Parameters(BOOTSTRAPPING).default_level
    rising = tuple(1.0 + level for level in range(top + 1))
    flat = (1.0,) * (top + 1)
    found = {
        name: deep(BOOTSTRAPPING, costs(BOOTSTRAPPING, device=name, **changed))
        for name, changed in {
            "rotations": {"rotation": rising, "product": (0.0,) * (top + 1)},
            "products": {"rotation": (0.0,) * (top + 1), "product": rising},
            "dear": {"bootstrapping": 1e6},
            "cheap": {"rotation": rising, "product": rising, "bootstrapping": 0.0},
            "flat": {"rotation": flat, "product": flat, "bootstrapping": 0.0},
        }.items()
    }
    placed = {name: [vars(p) for p in model.placed] for name, model in found.items()}
    assert placed["rotations"] != placed["products"]
    # What is free is done as often as it helps; what is dear as seldom as can be.
    assert found["cheap"].bootstrappings > found["dear"].bootstrappings >= 1
    # Where levels cost nothing, there is no reason for more.
    assert found["flat"].bootstrappings >= found["dear"].bootstrappings
    by_rotations = [p.level for p in found["rotations"].placed[1:]]
    by_products = [p.level for p in found["products"].placed[1:]]
    assert sum(by_rotations) < sum(by_products)
    assert "placed by the costs of: dear" in found["dear"].summary()
    # The model without costs is that of the model of a graphics card.
    modelled = deep(BOOTSTRAPPING, None)
    assert modelled.costs == girih.nn.Costs.modelled(BOOTSTRAPPING)
    assert modelled.costs.device == "model" and modelled.costs.bootstrapping == 8.0


def test_measured_costs(tmp_path):
    measured = girih.nn.measure(BOOTSTRAPPING, "cpu", repeats=2)
    top = measured.parameters.default_level
    assert measured.device.startswith("cpu") and len(measured.rotation) == top + 1
    every = (*measured.rotation, *measured.shared_rotation, *measured.product)
    assert min(every) > 0 and measured.bootstrapping > max(measured.rotation)
    measured.save(tmp_path / "costs")
    assert girih.nn.Costs.load(tmp_path / "costs") == measured
    model = deep(BOOTSTRAPPING, measured)
    model.save(tmp_path / "model")
    again = girih.nn.load(tmp_path / "model")
    assert again.costs == measured == model.costs and again.placed == model.placed
    client = ckks.ClientKey.generate(model.parameters)
    x = np.random.default_rng(4).uniform(-1, 1, (2, 4))
    result = model.run(model.server(model.keys(client), "cpu"), model.encrypt(client, x))
    assert np.abs(model.decrypt(client, result, 2) - model.plain(x)).max() < 1e-3


def test_costs_that_are_refused(tmp_path):
    with pytest.raises(errors.MismatchError, match="costs of INSECURE_CKKS_D35_N10, and set=INSEC"):
        deep(CKKS_TOY, costs(BOOTSTRAPPING))
    with pytest.raises(TypeError, match="what nn.measure returns is needed, not int"):
        deep(CKKS_TOY, 5)
    with pytest.raises(errors.MismatchError, match="repeats=0: 1 to 1000"):
        girih.nn.measure(CKKS_TOY, "cpu", repeats=0)
    good = costs(BOOTSTRAPPING)
    for changed in (
        {"rotation": good.rotation[1:]}, {"product": (-1.0, *good.product[1:])},
        {"bootstrapping": None}, {"bootstrapping": float("nan")},
    ):  # fmt: skip
        dataclasses.replace(good, **changed).save(tmp_path / "wrong")
        with pytest.raises(errors.MalformedError, match="costs"):
            girih.nn.Costs.load(tmp_path / "wrong")
