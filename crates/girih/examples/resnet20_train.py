"""Trains the networks of the example `resnet20` and writes them as it reads them (safetensors).

    python resnet20_train.py --size full     # resnet20.safetensors, resnet20_images.safetensors
    python resnet20_train.py --size small    # resnet20_small.safetensors, .._small_images..
    python resnet20_train.py --size full --cifar10 FOLDER --epochs 160

Needs PyTorch, NumPy and scikit-learn. Without --cifar10, images are the handwritten digits that
scikit-learn ships (E. Alpaydin and C. Kaynak 1998, "Optical Recognition of Handwritten Digits", UCI
Machine Learning Repository, CC BY 4.0). The full network sees them enlarged to 32 x 32 pixels, at a
random place and of random colours; the small one as they are. The first 200 are kept to judge by.
With --cifar10, FOLDER holds the binary version of CIFAR-10 (data_batch_1.bin, .., test_batch.bin).

Written are convolutions with their batch normalisation folded in, and for each ReLU a bound on the
magnitude of what it is given: the largest that was seen in training, times --room.
"""

import argparse
import json
import pathlib
import struct
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

KEPT = 200  # digits that are not trained on
SHIPPED = 16  # images in the file beside the weights


class Folding(nn.Module):
    """A convolution and its batch normalisation."""

    def __init__(self, inputs, outputs, kernel, stride):
        super().__init__()
        padding = kernel // 2
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=False)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x):
        return self.norm(self.conv(x))

    def folded(self):
        factor = self.norm.weight / (self.norm.running_var + self.norm.eps).sqrt()
        weight = self.conv.weight * factor[:, None, None, None]
        return weight, self.norm.bias - self.norm.running_mean * factor


class ResNet(nn.Module):
    """ResNet for small images (He et al. 2016); shortcuts between stages are 1 x 1 convolutions."""

    def __init__(self, inputs, channels, blocks, classes):
        super().__init__()
        self.convs = nn.ModuleDict({"conv1": Folding(inputs, channels[0], 3, 1)})
        self.names = []
        width = channels[0]
        for stage, outputs in enumerate(channels, 1):
            for block in range(blocks):
                name = f"layer{stage}_{block}"
                stride = 2 if stage > 1 and block == 0 else 1
                self.convs[f"{name}_conv1"] = Folding(width, outputs, 3, stride)
                self.convs[f"{name}_conv2"] = Folding(outputs, outputs, 3, 1)
                if stride != 1 or width != outputs:
                    self.convs[f"{name}_shortcut"] = Folding(width, outputs, 1, stride)
                self.names.append(name)
                width = outputs
        self.fc = nn.Linear(width, classes)
        self.seen = None  # a list takes the largest magnitudes that ReLUs are given

    def relu(self, x):
        if self.seen is not None:
            self.seen.append(x.abs().max().item())
        return F.relu(x)

    def forward(self, x):
        x = self.relu(self.convs["conv1"](x))
        for name in self.names:
            short = f"{name}_shortcut"
            beside = self.convs[short](x) if short in self.convs else x
            x = self.convs[f"{name}_conv2"](self.relu(self.convs[f"{name}_conv1"](x)))
            x = self.relu(x + beside)
        return self.fc(x.mean((2, 3)))


def digits(side, channels, generator, copies):
    """Digits 0 to 9 as u8 images with their labels: to train on, and to judge by."""
    from sklearn.datasets import load_digits

    data = load_digits()
    scans = torch.tensor(data.images, dtype=torch.float32)[:, None] / 16
    labels = torch.tensor(data.target)

    def rand(*shape):
        return torch.rand(*shape, generator=generator)

    def placed(scans):
        if side == 8:
            return scans
        out = torch.zeros(len(scans), 1, side, side)
        for i, scan in enumerate(scans):
            size = int(side * (0.7 + 0.25 * rand(1).item()))
            large = F.interpolate(scan[None], (size, size), mode="bilinear")[0]
            y, x = (int(rand(1).item() * (side - size + 1)) for _ in range(2))
            out[i, :, y : y + size, x : x + size] = large
        return out

    def coloured(ink):
        if channels == 1:
            return ink
        paper = 0.4 * rand(len(ink), channels, 1, 1)
        pen = 0.55 + 0.45 * rand(len(ink), channels, 1, 1)
        image = paper + (pen - paper) * ink
        return image + 0.04 * torch.randn(image.shape, generator=generator)

    def finished(part, times):
        images = [coloured(placed(scans[part])) for _ in range(times)]
        images = (torch.cat(images).clamp(0, 1) * 255).round().to(torch.uint8)
        return images, labels[part].repeat(times)

    return finished(slice(KEPT, None), copies), finished(slice(0, KEPT), 1)


def cifar10(folder):
    def read(name):
        records = np.fromfile(folder / name, np.uint8).reshape(-1, 3073)
        images = torch.tensor(records[:, 1:].reshape(-1, 3, 32, 32))
        return images, torch.tensor(records[:, 0].astype(np.int64))

    parts = [read(f"data_batch_{i}.bin") for i in range(1, 6)]
    known = tuple(torch.cat(list(part)) for part in zip(*parts))
    return known, read("test_batch.bin")


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
    parser.add_argument("--size", choices=["full", "small"], default="full")
    parser.add_argument("--cifar10", type=pathlib.Path, help="folder of the binary version")
    parser.add_argument("--epochs", type=int, help="8 by default, 60 for the small network")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent)
    parser.add_argument("--room", type=float, default=1.25, help="bounds over what was seen")
    parser.add_argument("--f32", action="store_true", help="write weights of 32 bits, not of 16")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(20)
    generator = torch.Generator().manual_seed(20)
    small = options.size == "small"
    if small and options.cifar10:
        parser.error("--cifar10 is for --size full")
    side, inputs, channels, blocks = (8, 1, [4, 8, 16], 1) if small else (32, 3, [16, 32, 64], 3)
    epochs = options.epochs or (60 if small else 8)
    if options.cifar10:
        known, others = cifar10(options.cifar10)
    else:
        known, others = digits(side, inputs, generator, 1 if small else 2)
    pixels = known[0].float() / 255
    mean, std = pixels.mean((0, 2, 3)), pixels.std((0, 2, 3))

    def normal(images):
        return (images.float() / 255 - mean[:, None, None]) / std[:, None, None]

    def moved(images):
        reach = side // 8
        images = F.pad(images, [reach] * 4)
        y, x = torch.randint(0, 2 * reach + 1, (2,), generator=generator).tolist()
        images = images[:, :, y : y + side, x : x + side]
        flip = options.cifar10 and torch.rand(1, generator=generator) < 0.5
        return images.flip(3) if flip else images

    net = ResNet(inputs, channels, blocks, 10).to(memory_format=torch.channels_last)
    batch = 64
    steps = epochs * (len(known[0]) // batch)
    optimizer = torch.optim.SGD(net.parameters(), 0.05, 0.9, weight_decay=5e-4, nesterov=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.05, total_steps=steps)

    def score(images, labels):
        net.eval()
        with torch.no_grad():
            hits = [(net(normal(x)).argmax(1) == y).sum() for x, y in
                    zip(images.split(256), labels.split(256))]
        net.train()
        return 100 * sum(hits).item() / len(images)

    start = time.time()
    for epoch in range(epochs):
        order = torch.randperm(len(known[0]), generator=generator)
        for part in order[: len(order) // batch * batch].split(batch):
            loss = F.cross_entropy(net(moved(normal(known[0][part]))), known[1][part])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        spent, right = time.time() - start, score(*others)
        print(f"epoch {epoch + 1}: {right:.1f} % right, {spent:.0f} s", flush=True)

    # Folded and rounded as they are written; the bounds are those of the rounded network.
    kind = np.float32 if options.f32 else np.float16
    tensors = {}

    def rounded(name, tensor):
        tensors[name] = tensor.detach().numpy().astype(kind)
        return torch.tensor(tensors[name].astype(np.float32))

    with torch.no_grad():
        net.eval()
        for name, conv in net.convs.items():
            weight, bias = conv.folded()
            path = name.replace("_", ".")
            weight, bias = rounded(f"{path}.weight", weight), rounded(f"{path}.bias", bias)
            plain = nn.Conv2d(conv.conv.in_channels, conv.conv.out_channels,
                              conv.conv.kernel_size, conv.conv.stride, conv.conv.padding)
            plain.weight.copy_(weight)
            plain.bias.copy_(bias)
            conv.conv, conv.norm = plain, nn.Identity()
        net.fc.weight.copy_(rounded("fc.weight", net.fc.weight))
        net.fc.bias.copy_(rounded("fc.bias", net.fc.bias))
        largest = None
        for images in known[0].split(256):
            net.seen = []
            net(normal(images))
            largest = net.seen if largest is None else list(map(max, largest, net.seen))
        net.seen = None
    right = score(*others)
    bounds = options.room * np.array(largest, np.float32)
    tensors["relu.bounds"] = bounds.astype(np.float32)
    tensors["mean"] = mean.numpy().astype(np.float32)
    tensors["std"] = std.numpy().astype(np.float32)
    print(f"{right:.1f} % of {len(others[0])} others right; bounds {np.round(bounds, 1).tolist()}")
    name = "resnet20_small" if small else "resnet20"
    notes = {"side": str(side), "accuracy": f"{right:.1f} %"}
    notes["data"] = "CIFAR-10" if options.cifar10 else "handwritten digits, CC BY 4.0"
    write(options.out / f"{name}.safetensors", tensors, notes)
    images = {"images": others[0][:SHIPPED].numpy(),
              "labels": others[1][:SHIPPED].numpy().astype(np.uint8)}
    write(options.out / f"{name}_images.safetensors", images, {"data": notes["data"]})


if __name__ == "__main__":
    main()
