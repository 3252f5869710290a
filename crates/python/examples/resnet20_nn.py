"""ResNet-20 on encrypted images, by girih.nn: compiled where PyTorch is, run where it is not.

python resnet20_nn.py compile resnet20.girih             # PyTorch; a minute or two, 2 MB
python resnet20_nn.py run resnet20.girih --device cuda:0 --images 8 --json

The network and the images are those of the Rust example: handwritten digits, 32 x 32 x 3.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

import girih.nn
from girih import ckks

FOLDER = Path(__file__).resolve().parents[2] / "girih" / "examples"


def arrays(path):
    """The arrays of a safetensors file."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    found = {}
    for name, entry in json.loads(data[8:start]).items():
        if name != "__metadata__":
            first, last = entry["data_offsets"]
            kind = {"F16": "<f2", "F32": "<f4", "U8": "u1"}[entry["dtype"]]
            flat = np.frombuffer(data[start + first : start + last], kind)
            found[name] = flat.reshape(entry["shape"])
    return found


def compile(arguments):
    # begin: module
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, before, channels, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(before, channels, 3, stride, padding=1)
            self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
            self.shortcut = nn.Conv2d(before, channels, 1, stride) if stride > 1 else nn.Identity()

        def forward(self, x):
            y = self.conv2(torch.relu(self.conv1(x)))
            return torch.relu(y + self.shortcut(x))

    class ResNet20(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, before = nn.Conv2d(3, 16, 3, padding=1), 16
            for stage, channels in enumerate((16, 32, 64), 1):
                strides = (1 if stage == 1 else 2, 1, 1)
                befores = (before, channels, channels)
                blocks = [Block(b, channels, s) for b, s in zip(befores, strides)]
                self.add_module(f"layer{stage}", nn.Sequential(*blocks))
                before = channels
            self.fc = nn.Linear(64, 10)

        def forward(self, x):
            x = self.layer3(self.layer2(self.layer1(torch.relu(self.conv1(x)))))
            return self.fc(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))
    # end: module

    weights, pictures = arrays(FOLDER / "resnet20.safetensors"), arrays(arguments.pictures)
    net = ResNet20()
    net.load_state_dict({name: torch.tensor(np.array(weights[name])) for name in net.state_dict()})
    mean, std = (weights[name].reshape(-1, 1, 1) for name in ("mean", "std"))
    images = torch.tensor((pictures["images"].reshape(-1, 3, 32, 32) / 255 - mean) / std).float()
    # begin: compile
    model = girih.nn.compile(
        net, images[:1], set="CKKS_D35", calibration=images, error=2**-13, samples=len(images)
    )
    model.save(arguments.file)
    # end: compile
    print(model.summary())
    print(f"{arguments.file}: {Path(arguments.file).stat().st_size / 1e6:.1f} MB")


def run(arguments):
    started = time.perf_counter()
    model = girih.nn.load(arguments.file)
    inputs, of_module, plain = model.samples
    if not 1 <= arguments.images <= 4096:
        raise SystemExit("--images: 1 to 4096")
    images = np.resize(inputs, (arguments.images, *inputs.shape[1:]))
    client = ckks.ClientKey.generate(model.parameters)
    keys = model.keys(client)
    made = time.perf_counter()
    server = model.server(keys, arguments.device)
    loaded = time.perf_counter()
    model.prepare(server)
    prepared = time.perf_counter()
    encrypted = server.upload(model.encrypt(client, images))
    # Once before it is timed: what a device does once for all runs is left out.
    result = model.run(server, encrypted).to_host()
    first = time.perf_counter()
    server.settle()
    result = model.run(server, encrypted).to_host()
    warm = time.perf_counter()
    result = model.run(server, encrypted).to_host()
    seconds = time.perf_counter() - warm
    found = model.decrypt(client, result, len(images))
    wanted, exact = (np.resize(x, found.shape) for x in (plain, of_module))
    figures = {
        "images": len(images),
        "seconds": seconds,
        "milliseconds_an_image": 1e3 * seconds / len(images),
        "seconds_keys": made - started,
        "seconds_loading": loaded - made,
        "seconds_preparing": prepared - loaded,
        "seconds_first_run": first - prepared,
        "seconds_compiling": warm - first,
        "key_bytes": keys.nbytes,
        "device_bytes": server.device_bytes,
        "device": server.device,
        "bootstrappings": model.bootstrappings * len(encrypted),
        "largest_error": float(np.abs(found - wanted).max()),
        "largest_error_of_the_module": float(np.abs(found - exact).max()),
        "labels_as_the_module": int((found.argmax(1) == exact.argmax(1)).sum()),
    }
    if arguments.json:
        print(json.dumps(figures))
    else:
        print(model.summary())
        for name, value in figures.items():
            print(f"{name}: {value}")
    if figures["labels_as_the_module"] < len(images):
        raise SystemExit("labels are not those of the module")


parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
commands = parser.add_subparsers(required=True)
one = commands.add_parser("compile", help="with PyTorch: writes the file of the compiled network")
one.add_argument("file")
one.add_argument("--pictures", type=Path, default=FOLDER / "resnet20_images.safetensors")
one.set_defaults(command=compile)
one = commands.add_parser("run", help="without PyTorch: encrypts, runs, compares")
one.add_argument("file")
one.add_argument("--device")
one.add_argument("--images", type=int, default=8)
one.add_argument("--json", action="store_true")
one.set_defaults(command=run)

if __name__ == "__main__":
    arguments = parser.parse_args()
    arguments.command(arguments)
