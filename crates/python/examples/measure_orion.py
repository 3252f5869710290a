"""Orion's example networks on the same weights and images, by girih and by Orion's own library.

python measure_orion.py [mlp lola lenet resnet20] [--device cpu] [--images 5] [--only girih]: the
time of the fastest image on the clock and in seconds of processors, and the largest error of a
score against the network in the clear. The first image of each is told apart: keys and encoded
weights are made then. girih's second one waits until the device has all kernels of its own.
`resnet20` takes images of 32 x 32 pixels in three colours and bootstraps at N = 2^16; its weights
fill a large graphics card, or a hundred gigabytes of a host. With `--lattigo-limit SECONDS` Orion's
own library is stopped after so many, compilation included, and it is said how long its first image
had been computed by then. `--lattigo-bootstrapping SLOTS` runs no network, but one bootstrapping by
Orion's own library with the keys of `resnet20`.
"""

import argparse
import contextlib
import io
import multiprocessing
import time
import warnings

import girih.orion

warnings.filterwarnings("ignore")

import orion
import orion.models
import torch

NETWORKS = {
    "mlp": (orion.models.MLP, 13, [29] + [26] * 5, 26),
    "lola": (orion.models.LoLA, 13, [29] + [26] * 5, 26),
    "lenet": (orion.models.LeNet, 14, [44] + [34] * 7, 34),
    "resnet20": (orion.models.ResNet20, 16, [55] + [40] * 10, 40),
}


def config(log_n, log_q, log_scale):
    """As in Orion's own examples: N real slots of the conjugate-invariant ring, or N/2 complex ones
    and bootstrappings."""
    if log_n == 16:
        return {
            "ckks_params": {
                "LogN": log_n,
                "LogQ": log_q,
                "LogP": [61, 61, 61],
                "LogScale": log_scale,
                "H": 192,
                "RingType": "Standard",
            },
            "boot_params": {"LogP": [61] * 8},
            "orion": {"margin": 2, "embedding_method": "hybrid", "debug": False},
        }
    return {
        "ckks_params": {
            "LogN": log_n,
            "LogQ": log_q,
            "LogP": [log_q[0], log_q[0]],
            "LogScale": log_scale,
            "H": 1 << log_n,
            "RingType": "ConjugateInvariant",
        },
        "orion": {"margin": 2, "embedding_method": "hybrid", "debug": False},
    }


def measure(name, back_end, device, images, tell):
    """Sends ("compiled", seconds), then ("done", figures)."""
    if back_end == "girih":
        girih.orion.install(device=device)
    kind, *numbers = NETWORKS[name]
    torch.manual_seed(1)
    net = kind()
    shape = (3, 32, 32) if name == "resnet20" else (1, 28, 28)
    calibration = torch.utils.data.TensorDataset(torch.randn(64, *shape), torch.zeros(64))
    started = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        orion.init_scheme(config(*numbers))
        net.eval()
        inputs = torch.randn(images + 1, 1, *shape).clamp(-4, 4)
        clear = [net(x).detach().flatten() for x in inputs]
        if name == "resnet20":
            # Orion looks for shapes of a batch in layers that do nothing, and finds none.
            orion.fit(net, inputs[0])
        else:
            orion.fit(net, torch.utils.data.DataLoader(calibration, batch_size=1))
        net.eval()
        level = orion.compile(net)
        net.he()
    tell.send(("compiled", time.perf_counter() - started))
    times, processors, worst, settled, bootstraps = [], [], 0.0, 0.0, 0
    for x, expected in zip(inputs, clear):
        encrypted = orion.encrypt(orion.encode(x, level))
        started, used = time.perf_counter(), time.process_time()
        scores = net(encrypted)
        values = scores.decrypt().decode().flatten()[: expected.numel()]
        times.append(time.perf_counter() - started)
        processors.append(time.process_time() - used)
        worst = max(worst, (values - expected).abs().max().item())
        if back_end == "girih" and len(times) == 2:
            started = time.perf_counter()
            orion.core.orion.scheme.backend.settle()
            settled = time.perf_counter() - started
            bootstraps = orion.core.orion.scheme.backend.bootstraps
    figures = times[0], min(times[1:]), min(processors[1:]), worst, settled, bootstraps
    tell.send(("done", figures))


def run(name, back_end, device, images, limit):
    """What is printed of a network by a back end. Orion's library serves one scheme a process."""
    context = multiprocessing.get_context("spawn")
    hear, tell = context.Pipe(False)
    process = context.Process(target=measure, args=(name, back_end, device, images, tell))
    started = time.perf_counter()
    process.start()
    tell.close()
    heard = {}
    begun = started
    while "done" not in heard:
        left = None if limit is None else max(limit - (time.perf_counter() - started), 0)
        if not hear.poll(left):
            process.kill()
            process.join()
            what = "finished its image" if heard else "compiled the network"
            of = " of inference" if heard else ""
            return f"had not {what} after {time.perf_counter() - begun:.0f} s{of}"
        kind, heard[kind] = hear.recv()
        begun = time.perf_counter()
    process.join()
    first, fastest, busy, worst, settled, bootstraps = heard["done"]
    waited = f", {settled:.0f} s for kernels" if settled >= 0.5 else ""
    by = f", {bootstraps} bootstrappings" if bootstraps else ""
    return (
        f"compiled in {heard['compiled']:.2f} s, first image {first:.2f} s{waited}, "
        f"then {1e3 * fastest:.0f} ms ({1e3 * busy:.0f} ms of processors{by}), "
        f"scores within {worst:.1e}"
    )


def bootstrapping(slots):
    """What is printed of Orion's own library: a bootstrapping with the keys of its ResNet-20."""
    orion.init_scheme(config(*NETWORKS["resnet20"][1:]))
    scheme = orion.core.orion.scheme
    started = time.perf_counter()
    scheme.bootstrapper.generate_bootstrapper(slots)
    keys = time.perf_counter() - started
    values = torch.rand(slots).repeat(scheme.params.get_slots() // slots)
    # Level 0 is none to Orion's `encode`.
    plain = scheme.backend.Encode(values.tolist(), 0, scheme.params.get_default_scale())
    encrypted = scheme.backend.Encrypt(plain)
    started, used = time.perf_counter(), time.process_time()
    scheme.backend.Bootstrap(encrypted, slots)
    took, busy = time.perf_counter() - started, time.process_time() - used
    return f"keys {keys:.0f} s, a bootstrapping {took:.1f} s ({busy:.1f} s of processors)"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*", default=["mlp", "lola", "lenet"])
    parser.add_argument("--device")
    parser.add_argument("--images", type=int, default=5)
    parser.add_argument("--only", choices=("girih", "lattigo"), help="one back end")
    parser.add_argument("--lattigo-limit", type=float, metavar="SECONDS")
    parser.add_argument("--lattigo-bootstrapping", type=int, metavar="SLOTS")
    arguments = parser.parse_args()
    if arguments.lattigo_bootstrapping is not None:
        slots = arguments.lattigo_bootstrapping
        print(f"lattigo, {slots} slots: {bootstrapping(slots)}", flush=True)
        return
    for name in arguments.networks:
        for back_end in [arguments.only] if arguments.only else ("girih", "lattigo"):
            limit = arguments.lattigo_limit if back_end == "lattigo" else None
            found = run(name, back_end, arguments.device, arguments.images, limit)
            print(f"{name}, {back_end}: {found}", flush=True)


if __name__ == "__main__":
    main()
