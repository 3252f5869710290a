"""A network that needs no PyTorch to be made."""

import numpy as np

from girih.nn._compile import compiled
from girih.nn._ops import Network, Op


def dense(set, rows=None):
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
    how = (1.25, 2**-10, set, rows, 2)
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
    how = (1.25, error, set, rows, 0)
    return compiled("Softmax", Network(ops, arrays), ranges, how, inputs, results)
