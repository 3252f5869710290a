"""A network that needs no PyTorch to be made."""

import numpy as np

from girih.nn._compile import compiled
from girih.nn._ops import Network, Op


def dense(set, rows=None, costs=None):
    """Eight numbers, six of their sums squared, three sums of these; and inputs for it."""
    numbers = np.random.default_rng(5)
    shapes = {"1.weight": (6, 8), "1.bias": (6,), "3.weight": (3, 6)}
    arrays = {name: numbers.normal(0, 0.4, shape).astype("f4") for name, shape in shapes.items()}
    ops = [
        Op("input", "x", (), (8,)),
        Op("linear", "fc1", (0,), (6,), {}, ("1.weight", "1.bias")),
        Op("function", "square", (1,), (6,), {"function": "Square"}),
        Op("linear", "fc2", (2,), (3,), {}, ("3.weight",)),
        Op("shape", "fc2", (3,), (3,)),
    ]
    inputs = numbers.uniform(-1, 1, (5, 8))
    hidden = inputs @ arrays["1.weight"].T + arrays["1.bias"]
    results = hidden**2 @ arrays["3.weight"].T
    values = (inputs, hidden, hidden**2, results, results)
    ranges = [(float(x.min()), float(x.max())) for x in values]
    how = (1.25, 2**-10, set, rows, 2, costs)
    return compiled("Dense", Network(ops, arrays), ranges, how, inputs, results)


def softmax(set=None, error=2**-10, spread=1.0, rows=None):
    """Two rows of four numbers, a softmax of each; and inputs for it."""
    inputs = np.random.default_rng(6).uniform(-spread, spread, (64, 2, 4))
    centred = inputs - inputs.mean(-1, keepdims=True)
    powers = np.exp(centred)
    mean = powers.mean(-1, keepdims=True)
    group, shape = {"group": 4}, (2, 4)
    arrays = {"share": np.array([0.25], "f4"), "none": np.zeros(1, "f4")}
    ops = [
        Op("input", "x", (), shape),
        Op("centre", "softmax", (0,), shape, group),
        Op("function", "softmax", (1,), shape, {"function": "Exp"}),
        Op("average", "softmax", (2,), shape, group),
        Op("function", "softmax", (3,), shape, {"function": "Inverse"}),
        Op("product", "softmax", (2, 4), shape),
        Op("scale", "softmax", (5,), shape, {}, ("share", "none")),
        Op("shape", "softmax", (6,), shape),
    ]
    results = powers / powers.sum(-1, keepdims=True)
    values = (inputs, centred, powers, mean, 1 / mean, 4 * results, results, results)
    ranges = [(float(x.min()), float(x.max())) for x in values]
    how = (1.25, error, set, rows, 0, None)
    return compiled("Softmax", Network(ops, arrays), ranges, how, inputs, results)


def deep(set, costs, layers=12):
    """Four numbers, mixed and squared again and again."""
    numbers = np.random.default_rng(7)
    arrays, ops = {}, [Op("input", "x", (), (4,))]
    values = [numbers.uniform(-1, 1, (16, 4))]
    for k in range(layers):
        name = f"{k}.weight"
        weight = np.eye(4) / 2 + numbers.uniform(-0.2, 0.2, (4, 4))
        arrays[name] = (weight / np.abs(values[-1] @ weight.T).max()).astype("f4")
        ops.append(Op("linear", f"fc{k}", (2 * k,), (4,), {}, (name,)))
        ops.append(Op("function", f"square{k}", (2 * k + 1,), (4,), {"function": "Square"}))
        values += [values[-1] @ arrays[name].T.astype("f8")]
        values += [values[-1] ** 2]
    ops.append(Op("shape", "y", (2 * layers,), (4,)))
    values.append(values[-1])
    ranges = [(float(x.min()), float(x.max())) for x in values]
    how = (1.25, 2**-10, set, None, 0, costs)
    return compiled("Deep", Network(ops, arrays), ranges, how, values[0], values[-1])
