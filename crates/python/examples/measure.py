"""What Python adds: the figures of docs/python.md.

    python crates/python/examples/measure.py
"""

import pickle
import time

import numpy as np

import girih


def spent(work) -> tuple[float, float]:
    """Seconds on the clock, and of processors in all threads."""
    clock, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - processor


def best(work, repeats: int) -> tuple[float, float]:
    """The least of each in some calls: other work on the machine only adds to them."""
    times = [spent(work) for _ in range(repeats)]
    return min(clock for clock, _ in times), min(processor for _, processor in times)


def per_call(work, calls: int = 500, rounds: int = 100) -> tuple[float, float]:
    """The same of one call, in the fastest of some rounds."""

    def round_of_calls() -> None:
        for _ in range(calls):
            work()

    clock, processor = best(round_of_calls, rounds)
    return clock / calls, processor / calls


def main() -> None:
    def line(what: str, times: tuple[float, float], unit: str = "s") -> None:
        clock, processor = (t * {"s": 1, "ms": 1e3, "us": 1e6}[unit] for t in times)
        print(f"{what:<56}{clock:>10.3f} {unit:<2}{processor:>12.3f} {unit}", flush=True)

    print(f"{'':<56}{'clock':>10}{'processors':>16}")
    toy = girih.ClientKey.generate("INSECURE_TOY")
    bits, one = toy.encrypt([True]), np.array([True])
    line("a call that computes next to nothing (~ of one bit)", per_call(lambda: ~bits), "us")
    line("one bit of the toy encrypted, whole", per_call(lambda: toy.encrypt(one)), "us")

    client = girih.ClientKey.generate("STD128")
    keys = client.evaluation_keys()
    data = pickle.dumps(keys, 5)
    size = f"{keys.nbytes / 1e6:.1f} MB"
    line(f"STD128 keys, {size}, pickled", best(lambda: pickle.dumps(keys, 5), 5))
    line("read again", best(lambda: pickle.loads(data), 5))
    line("loaded on the CPU", best(lambda: girih.ServerKey(keys, device="cpu"), 3))

    server = girih.ServerKey(keys, device="cpu")
    a, b = client.encrypt(np.zeros(1024, bool)), client.encrypt(np.ones(1024, bool))

    def there_and_back() -> None:
        server.upload(a)
        server.upload(b).to_host()

    line("1,024 bits of STD128 to the engine twice, back once", best(there_and_back, 20), "ms")
    resident = server.upload(a), server.upload(b)
    # One call into Rust without parts, slices or copies: what Python cannot be blamed for.
    # In turns, so that both see the same machine.
    whole, inner = [], []
    for _ in range(3):
        whole.append(spent(lambda: server.gate("nand", a, b)))
        inner.append(spent(lambda: server.gate("nand", *resident)))
    least = [tuple(min(times) for times in zip(*runs)) for runs in (whole, inner)]
    line("1,024 STD128 gates from host to host", least[0])
    line("the same by one call on ciphertexts of the device", least[1])
    more = 100 * (least[0][1] / least[1][1] - 1)
    print(f"{'the former, in time of processors':<56}{more:>+26.1f} %")


if __name__ == "__main__":
    main()
