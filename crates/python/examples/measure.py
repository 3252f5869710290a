"""What Python adds: the figures of docs/python.md.

    python crates/python/examples/measure.py
"""

import pickle
import time

import numpy as np

import girih


def best(work, repeats: int) -> float:
    """Seconds of the fastest of some calls."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def per_call(work, calls: int = 2000, rounds: int = 15) -> float:
    """Seconds of a call in the fastest of some rounds."""

    def round_of_calls() -> None:
        for _ in range(calls):
            work()

    return best(round_of_calls, rounds) / calls


def main() -> None:
    def line(what: str, figure: str) -> None:
        print(f"{what:<60}{figure:>12}")

    toy = girih.ClientKey.generate("INSECURE_TOY")
    bits, one = toy.encrypt([True]), np.array([True])
    seconds = per_call(lambda: ~bits)
    line("a call that computes next to nothing (~ of one bit)", f"{1e6 * seconds:.2f} us")
    seconds = per_call(lambda: toy.encrypt(one))
    line("one bit of the toy encrypted, whole", f"{1e6 * seconds:.2f} us")

    client = girih.ClientKey.generate("STD128")
    keys = client.evaluation_keys()
    seconds = best(lambda: pickle.loads(pickle.dumps(keys, 5)), 5)
    line(f"STD128 keys, {keys.nbytes / 1e6:.1f} MB, pickled and back", f"{seconds:.3f} s")

    server = girih.ServerKey(keys, device="cpu")
    a, b = client.encrypt(np.zeros(1024, bool)), client.encrypt(np.ones(1024, bool))
    resident = server.upload(a), server.upload(b)
    line("1,024 STD128 gates", f"{best(lambda: server.gate('nand', a, b), 3):.3f} s")
    # One call into Rust without parts, slices or copies: what Python cannot be blamed for.
    line("the same on the device", f"{best(lambda: server.gate('nand', *resident), 3):.3f} s")


if __name__ == "__main__":
    main()
