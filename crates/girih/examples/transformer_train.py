"""Trains the network of the example `transformer` and writes it as it reads it (safetensors).

    python transformer_train.py            # transformer.safetensors, transformer_data.safetensors
    python transformer_train.py --data FILE.npz --out OUT

Needs NumPy and scikit-learn. Without --data, sequences are the handwritten digits that scikit-learn
ships (E. Alpaydin and C. Kaynak 1998, "Optical Recognition of Handwritten Digits", UCI Machine
Learning Repository, CC BY 4.0): eight tokens, the rows, of eight numbers. The first 400 are kept to
judge by. FILE.npz holds arrays `x` (count, tokens, features), `y` (count) of whole numbers from 0,
and the same of what is kept, `x_kept` and `y_kept`.

The network is one block of BERT: attention with softmax, GELU, layer normalisation after each sum,
the mean over tokens, and a linear classifier. Heads are as wide as there are tokens, which is what
its packing in slots wants. Gradients are written out by hand; --check compares them with
differences. Beside weights, it writes bounds of what softmax, GELU and normalisations are given:
the largest that was seen in training, times --room.
"""

import argparse
import json
import pathlib
import struct

import numpy as np

KEPT = 400  # digits that are not trained on
PULL = 0.05  # towards small scores and variances of 1, so that polynomials have short intervals


def normalise(y):
    """Layer normalisation without its weights, and what its gradient needs."""
    centred = y - y.mean(-1, keepdims=True)
    variance = (centred**2).mean(-1, keepdims=True)
    return centred / np.sqrt(variance), variance


def normalise_back(grad, normal, variance):
    mean = grad.mean(-1, keepdims=True)
    along = (grad * normal).mean(-1, keepdims=True)
    return (grad - mean - normal * along) / np.sqrt(variance)


def gelu(x):
    """The form with tanh (Hendrycks and Gimpel 2016), and its slope."""
    inner = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
    tanh = np.tanh(inner)
    slope = np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x**2)
    return 0.5 * x * (1 + tanh), 0.5 * (1 + tanh) + 0.5 * x * (1 - tanh**2) * slope


class Transformer:
    def __init__(self, tokens, features, classes, heads, hidden, rng):
        self.tokens, self.heads = tokens, heads
        width = heads * tokens

        def matrix(outputs, inputs):
            return rng.normal(0, inputs**-0.5, (outputs, inputs))

        self.p = {
            "embedding.weight": matrix(width, features),
            "embedding.position": rng.normal(0, 0.3, (tokens, width)),
            "attention.query.weight": matrix(width, width),
            "attention.query.bias": np.zeros(width),
            "attention.key.weight": matrix(width, width),
            "attention.value.weight": matrix(width, width),
            "attention.value.bias": np.zeros(width),
            "attention.output.weight": matrix(width, width),
            "attention.output.bias": np.zeros(width),
            "norm1.weight": np.ones(width),
            "norm1.bias": np.zeros(width),
            "mlp.up.weight": matrix(hidden, width),
            "mlp.up.bias": np.zeros(hidden),
            "mlp.down.weight": matrix(width, hidden),
            "mlp.down.bias": np.zeros(width),
            "norm2.weight": np.ones(width),
            "norm2.bias": np.zeros(width),
            "head.weight": matrix(classes, width),
            "head.bias": np.zeros(classes),
        }

    def split(self, x):
        """[sample, token, width] to [sample, head, token, a head's width]."""
        return x.reshape(len(x), self.tokens, self.heads, -1).swapaxes(1, 2)

    def merge(self, x):
        return x.swapaxes(1, 2).reshape(len(x), self.tokens, -1)

    def forward(self, x):
        """Logits, and everything that was computed for them."""
        p = self.p
        h = x @ p["embedding.weight"].T + p["embedding.position"]
        q = self.split(h @ p["attention.query.weight"].T + p["attention.query.bias"])
        k = self.split(h @ p["attention.key.weight"].T)
        v = self.split(h @ p["attention.value.weight"].T + p["attention.value.bias"])
        # Scores have the mean 0 over keys, which changes no softmax.
        scores = q @ (k - k.mean(2, keepdims=True)).swapaxes(2, 3) / np.sqrt(q.shape[-1])
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        shares = powers / powers.sum(-1, keepdims=True)
        o = self.merge(shares @ v)
        y1 = h + o @ p["attention.output.weight"].T + p["attention.output.bias"]
        n1, variance1 = normalise(y1)
        h1 = n1 * p["norm1.weight"] + p["norm1.bias"]
        m = h1 @ p["mlp.up.weight"].T + p["mlp.up.bias"]
        e, slope = gelu(m)
        y2 = h1 + e @ p["mlp.down.weight"].T + p["mlp.down.bias"]
        n2, variance2 = normalise(y2)
        mean = (n2 * p["norm2.weight"] + p["norm2.bias"]).mean(1)
        return mean @ p["head.weight"].T + p["head.bias"], locals()

    def loss(self, x, y):
        """Mean cross entropy, and its gradients by name."""
        logits, at = self.forward(x)
        logits = logits - logits.max(1, keepdims=True)
        log = logits - np.log(np.exp(logits).sum(1, keepdims=True))
        rows = np.arange(len(y))
        loss = -log[rows, y].mean() + PULL * (at["scores"] ** 2).mean() / 2
        loss += PULL * sum((np.log(at[v]) ** 2).mean() for v in ("variance1", "variance2")) / 4
        d = np.exp(log)
        d[rows, y] -= 1
        return loss, self.backward(x, d / len(y), at)

    def backward(self, x, d, at):
        p, grads = self.p, {}

        def linear(name, d, inputs, bias=True):
            """Gradients of a linear layer; returns that of its inputs."""
            flat = d.reshape(-1, d.shape[-1])
            grads[f"{name}.weight"] = flat.T @ inputs.reshape(-1, inputs.shape[-1])
            if bias:
                grads[f"{name}.bias"] = flat.sum(0)
            return d @ p[f"{name}.weight"]

        def norm(name, d, normal, variance):
            grads[f"{name}.weight"] = (d * normal).sum((0, 1))
            grads[f"{name}.bias"] = d.sum((0, 1))
            pull = PULL * np.log(variance) / np.sqrt(variance) * normal / normal.size
            return normalise_back(d * p[f"{name}.weight"], normal, variance) + pull

        d = linear("head", d, at["mean"])
        d = np.repeat(d[:, None] / self.tokens, self.tokens, 1)
        d = norm("norm2", d, at["n2"], at["variance2"])
        up = linear("mlp.down", d, at["e"]) * at["slope"]
        d = d + linear("mlp.up", up, at["h1"])
        d = norm("norm1", d, at["n1"], at["variance1"])
        o = self.split(linear("attention.output", d, at["o"]))
        q, k, v, shares = at["q"], at["k"], at["v"], at["shares"]
        dv = shares.swapaxes(2, 3) @ o
        ds = o @ v.swapaxes(2, 3)
        ds = shares * (ds - (ds * shares).sum(-1, keepdims=True))
        ds = (ds + PULL * at["scores"] / ds.size) / np.sqrt(q.shape[-1])
        h = at["h"]
        d = d + linear("attention.value", self.merge(dv), h)
        d = d + linear("attention.query", self.merge(ds @ k), h)
        d = d + linear("attention.key", self.merge(ds.swapaxes(2, 3) @ q), h, bias=False)
        linear("embedding", d, x, bias=False)
        grads["embedding.position"] = d.sum(0)
        return grads

    def bounds(self, x):
        """What the polynomials are given: the largest magnitude of scores, the largest sum of
        their powers over the least there can be, variances, the largest magnitude before GELU."""
        at = self.forward(x)[1]
        sums = np.exp(at["scores"]).mean(-1)
        variances = [at["variance1"], at["variance2"]]
        return {
            "bounds.score": np.abs(at["scores"]).max(keepdims=True).reshape(1),
            "bounds.sum": sums.max().reshape(1),
            "bounds.variance": np.array([v.max() for v in variances]),
            "bounds.least": np.array([v.min() for v in variances]),
            "bounds.gelu": np.abs(at["m"]).max().reshape(1),
        }


def check(net, x, y):
    """Gradients against differences."""
    grads = net.loss(x, y)[1]
    rng = np.random.default_rng(1)
    for name, values in net.p.items():
        place = tuple(rng.integers(n) for n in values.shape)
        found, old = [], values[place]
        for step in (1e-5, -1e-5):
            values[place] = old + step
            found.append(net.loss(x, y)[0])
        values[place] = old
        slope = (found[0] - found[1]) / 2e-5
        assert abs(slope - grads[name][place]) < 1e-7, (name, slope, grads[name][place])
    print("gradients are those of differences")


def digits():
    from sklearn.datasets import load_digits

    data = load_digits()
    x, y = data.images, data.target
    return (x[KEPT:], y[KEPT:]), (x[:KEPT], y[:KEPT])


def moved(x, rng):
    """Images, half of them moved by a pixel to a side, with a little noise."""
    wide = np.pad(x, ((0, 0), (0, 0), (1, 1)))
    out = np.empty_like(x)
    for i, column in enumerate(rng.choice([0, 1, 1, 2], len(x))):
        out[i] = wide[i, :, column : column + x.shape[2]]
    return out + rng.normal(0, 0.5, x.shape)


def write(path, tensors, notes):
    """The safetensors format: the header's length, the header as JSON, the tensors one by one."""
    header, data = {"__metadata__": notes}, b""
    names = {np.dtype(np.float16): "F16", np.dtype(np.float32): "F32", np.dtype(np.uint8): "U8"}
    for name, tensor in tensors.items():
        array = np.ascontiguousarray(tensor)
        start, data = len(data), data + array.tobytes()
        kind = names[array.dtype]
        offsets = [start, len(data)]
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": offsets}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    print(f"{path}: {path.stat().st_size} bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=pathlib.Path, help="sequences of one's own (npz)")
    parser.add_argument("--epochs", type=int, default=120)
    parser.add_argument("--heads", type=int, default=2)
    parser.add_argument("--hidden", type=int, help="twice the width by default")
    parser.add_argument("--room", type=float, default=1.25, help="bounds over what was seen")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent)
    parser.add_argument("--check", action="store_true", help="check the gradients, and end")
    options = parser.parse_args()
    rng = np.random.default_rng(18)
    if options.data:
        data = np.load(options.data)
        known, kept = (data["x"], data["y"]), (data["x_kept"], data["y_kept"])
    else:
        known, kept = digits()
    # Inputs are divided by this.
    reach = float(np.abs(known[0]).max())
    tokens, features = known[0].shape[1:]
    classes = int(known[1].max()) + 1
    hidden = options.hidden or 2 * options.heads * tokens
    net = Transformer(tokens, features, classes, options.heads, hidden, rng)
    if options.check:
        check(net, known[0][:7] / reach, known[1][:7])
        return

    def score(x, y):
        return 100 * (net.forward(x / reach)[0].argmax(1) == y).mean()

    # Adam with decoupled weight decay (Loshchilov and Hutter 2019), rates along a cosine.
    first, second, batch = {}, {}, 64
    steps = options.epochs * (len(known[0]) // batch)
    step = 0
    for epoch in range(options.epochs):
        order = rng.permutation(len(known[0]))
        for part in order[: len(order) // batch * batch].reshape(-1, batch):
            x = known[0][part] if options.data else moved(known[0][part], rng)
            loss, grads = net.loss(x / reach, known[1][part])
            step += 1
            rate = 1e-2 * min(1, step / 100) * 0.5 * (1 + np.cos(np.pi * step / steps))
            for name, grad in grads.items():
                first[name] = 0.9 * first.get(name, 0) + 0.1 * grad
                second[name] = 0.99 * second.get(name, 0) + 0.01 * grad**2
                change = first[name] / (1 - 0.9**step)
                change = change / (np.sqrt(second[name] / (1 - 0.99**step)) + 1e-8)
                decay = 0.02 * net.p[name] if net.p[name].ndim == 2 else 0
                net.p[name] = net.p[name] - rate * (change + decay)
        if (epoch + 1) % 10 == 0:
            print(f"epoch {epoch + 1}: loss {loss:.3f}, {score(*kept):.1f} % right", flush=True)

    # Rounded as it is written; the bounds are those of the rounded network.
    kind = np.float32 if options.data else np.float16
    tensors = {name: values.astype(kind) for name, values in net.p.items()}
    net.p = {name: values.astype(np.float64) for name, values in tensors.items()}
    seen = known[0] if options.data else np.concatenate([known[0], moved(known[0], rng)])
    for name, bound in net.bounds(seen / reach).items():
        room = 1 / options.room if name == "bounds.least" else options.room
        tensors[name] = (room * bound).astype(np.float32)
        print(name, np.round(tensors[name], 3).tolist())
    right = score(*kept)
    print(f"{right:.2f} % of {len(kept[0])} others right")
    source = options.data.name if options.data else "handwritten digits, CC BY 4.0"
    notes = {"heads": str(options.heads), "reach": repr(reach), "data": source}
    write(options.out / "transformer.safetensors", tensors, notes)
    kind = np.float32 if options.data else np.uint8
    inputs = {"inputs": kept[0].astype(kind), "labels": kept[1].astype(np.uint8)}
    write(options.out / "transformer_data.safetensors", inputs, {"data": source})


if __name__ == "__main__":
    main()
