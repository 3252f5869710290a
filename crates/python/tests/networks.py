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


def images(set, channels=3, side=16, function="Square", costs=None):
    """Images whose numbers are more than a small ciphertext's slots: a convolution, a residual
    block of two, one by steps of two, and sums of what is left; and inputs for it."""
    numbers = np.random.default_rng(8)
    wide, half = 4, side // 2
    of_images = {"stride": [1, 1], "padding": [1, 1], "dilation": [1, 1], "groups": 1}
    kernels = {"a.weight": (wide, channels, 3, 3), "b.weight": (wide, wide, 3, 3),
               "c.weight": (wide, wide, 3, 3)}  # fmt: skip
    arrays = {name: numbers.normal(0, 0.1, shape).astype("f4") for name, shape in kernels.items()}
    arrays |= {f"{name}.bias": numbers.normal(0, 0.1, wide).astype("f4") for name in "abc"}
    size = wide * half * half
    arrays["d.weight"] = numbers.normal(0, 0.05, (5, size)).astype("f4")
    large, small = (wide, side, side), (wide, half, half)
    halved = {**of_images, "stride": [2, 2]}
    ops = [
        Op("input", "x", (), (channels, side, side)),
        Op("conv", "a", (0,), large, of_images, ("a.weight", "a.bias")),
        Op("function", "first", (1,), large, {"function": function}),
        Op("conv", "b", (2,), large, of_images, ("b.weight", "b.bias")),
        Op("function", "activation", (3,), large, {"function": function}),
        Op("add", "sum", (2, 4), large, {"factors": [1.0, 1.0]}),
        Op("conv", "c", (5,), small, halved, ("c.weight", "c.bias")),
        Op("function", "last", (6,), small, {"function": function}),
        Op("linear", "d", (7,), (5,), {}, ("d.weight",)),
        Op("shape", "y", (8,), (5,)),
    ]
    network = Network(ops, arrays)
    values = [numbers.uniform(-1, 1, (6, channels * side * side))]
    for op in ops[1:]:
        read = [values[i] for i in op.inputs]
        if op.kind == "function":
            values.append(SIMPLE[op.how["function"]](read[0]))
        elif op.kind == "add":
            values.append(read[0] + read[1])
        else:
            matrix, bias = network.matrix(op)
            values.append(np.array([matrix.apply(row) for row in read[0]]) + bias)
    ranges = [(float(x.min()), float(x.max())) for x in values]
    how = (1.25, 2**-10, set, None, 2, costs)
    inputs = values[0].reshape(-1, channels, side, side)
    return compiled("Images", network, ranges, how, inputs, values[-1])


SIMPLE = {"Square": np.square, "SiLU": lambda x: x / (1 + np.exp(-x))}


def squares(set, size):
    """The squares of numbers, as many as there are."""
    ops = [Op("input", "x", (), (size,)), Op("function", "square", (0,), (size,), {})]
    ops[1].how["function"] = "Square"
    inputs = np.random.default_rng(9).uniform(-1, 1, (4, size))
    ranges = [(float(x.min()), float(x.max())) for x in (inputs, inputs**2)]
    how = (1.25, 2**-10, set, None, 0, None)
    return compiled("Squares", Network(ops, {}), ranges, how, inputs, inputs**2)
