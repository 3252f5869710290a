"""A network of PyTorch on encrypted images, by girih.nn and by Orion: docs/guide/model.md.

It needs torch, orion-fhe 1.0.2 and scikit-learn, whose images of digits have 8 x 8 pixels.
"""

import contextlib
import io
import os
import tempfile
import time
import warnings

warnings.filterwarnings("ignore")

DEVICE = os.environ.get("GIRIH_DEVICE", "cpu")

# ANCHOR: train
import torch
from sklearn.datasets import load_digits
from torch import nn

digits = load_digits()
images = torch.tensor(digits.images / 16, dtype=torch.float32).reshape(-1, 1, 8, 8)
labels = torch.tensor(digits.target)


class Square(nn.Module):
    def forward(self, x):
        return x * x


trained = nn.Sequential()
trained.add_module("conv", nn.Conv2d(1, 8, kernel_size=3, stride=2, padding=1))
trained.add_module("norm", nn.BatchNorm2d(8))
trained.add_module("act1", Square())
trained.add_module("flat", nn.Flatten())
trained.add_module("fc1", nn.Linear(128, 32))
trained.add_module("act2", Square())
trained.add_module("fc2", nn.Linear(32, 10))

torch.manual_seed(1)
optimiser = torch.optim.Adam(trained.parameters(), lr=3e-3)
for epoch in range(30):
    for some in torch.randperm(1500).split(50):
        optimiser.zero_grad()
        nn.functional.cross_entropy(trained(images[some]), labels[some]).backward()
        optimiser.step()
trained.eval()
# ANCHOR_END: train
right = (trained(images[1500:]).argmax(1) == labels[1500:]).float().mean().item()
print(f"in the clear {100 * right:.1f} % of 297 other images are read right")
assert right > 0.9

folder = tempfile.TemporaryDirectory()
os.chdir(folder.name)
# ANCHOR: nn_compile
import girih.nn

model = girih.nn.compile(trained, images[:1], calibration=images[:1500])
model.save("digits.girih")                        # for whoever computes
model.client_part().save("client.girih")          # for the owner of images
# ANCHOR_END: nn_compile
print(model.summary())

# ANCHOR: nn_client
from girih import ckks

part = girih.nn.ClientPart.load("client.girih")
client = ckks.ClientKey.generate(part.parameters)
keys = part.keys(client)                          # public
encrypted = part.encrypt(client, images[1500:1508])
# ANCHOR_END: nn_client

# ANCHOR: nn_server
model = girih.nn.load("digits.girih")
server = model.server(keys, DEVICE)               # or "cuda:0", "wgpu:0"
scores = model.run(server, encrypted)
# ANCHOR_END: nn_server

# ANCHOR: nn_read
found = part.decrypt(client, scores, count=8)
found.argmax(1)                                   # labels[1500:1508]
# ANCHOR_END: nn_read
expected = trained(images[1500:1508]).detach().numpy()
worst = abs(found - expected).max()
print(f"by girih.nn scores of up to {abs(expected).max():.0f} are right within {worst:.1e}")
assert (found.argmax(1) == expected.argmax(1)).all() and worst < 0.01

# ANCHOR: module
import orion
import orion.nn as on


class Digits(on.Module):
    def __init__(self):
        super().__init__()
        self.conv = on.Conv2d(1, 8, kernel_size=3, stride=2, padding=1)
        self.norm = on.BatchNorm2d(8)
        self.act1 = on.Quad()
        self.flat = on.Flatten()
        self.fc1 = on.Linear(128, 32)
        self.act2 = on.Quad()
        self.fc2 = on.Linear(32, 10)

    def forward(self, x):
        x = self.act1(self.norm(self.conv(x)))
        return self.fc2(self.act2(self.fc1(self.flat(x))))


net = Digits()
net.load_state_dict(trained.state_dict())
net.eval()
# ANCHOR_END: module

quiet = contextlib.ExitStack()
quiet.enter_context(contextlib.redirect_stdout(io.StringIO()))
quiet.enter_context(contextlib.redirect_stderr(io.StringIO()))
# ANCHOR: compile
import girih.orion

girih.orion.install(device=DEVICE)                # or "cuda:0", "wgpu:0"
scheme = orion.init_scheme({
    "ckks_params": {
        "LogN": 13,                               # 4,096 slots
        "LogQ": [36, 26, 26, 26, 26, 26],         # 5 levels
        "LogP": [30, 30],
        "LogScale": 26,
    },
    "orion": {"margin": 2, "debug": False},
})
orion.fit(net, images[:1])
level = orion.compile(net)
net.he()
# ANCHOR_END: compile
quiet.close()

print(scheme.backend.parameters.security)
# ANCHOR: run
encrypted = orion.encrypt(orion.encode(images[1500:1501], level))
scores = net(encrypted)
scores.decrypt().decode().argmax()                # labels[1500] is 1
# ANCHOR_END: run

right, worst, reach = 0, 0.0, 0.0
for number in range(1500, 1508):
    image = images[number : number + 1]
    started = time.perf_counter()
    scores = net(orion.encrypt(orion.encode(image, level))).decrypt().decode().flatten()[:10]
    took = time.perf_counter() - started
    expected = trained(image).detach().flatten()
    worst = max(worst, (scores - expected).abs().max().item())
    reach = max(reach, expected.abs().max().item())
    right += int(scores.argmax() == expected.argmax())
print(f"{right} of 8 encrypted images are read as in the clear, {took:.2f} s for the last")
print(f"scores of up to {reach:.0f} are right within {worst:.1e}")
assert right == 8 and worst < 0.05
