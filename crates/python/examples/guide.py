"""The samples of docs/python.md, on small sets without any security so that they end at once."""

import math

import numpy as np

import girih
from girih import ckks, discrete, integer

BITS, VECTORS = "INSECURE_TOY", "INSECURE_CKKS_D40_N10"

# ANCHOR: gates
client = girih.ClientKey.generate(BITS)           # STD128 for real ones
keys = client.evaluation_keys()                   # progress=True shows how far it is
server = girih.ServerKey(keys, device="cpu")

a, b = client.encrypt([0, 0, 1, 1]), client.encrypt([0, 1, 0, 1])
with server:
    c = ~(a & b)
client.decrypt(c)                                 # array([ True,  True,  True, False])
# ANCHOR_END: gates
assert client.decrypt(c).tolist() == [True, True, True, False]

server.limit_failure(0.0)  # the toy errs more often than anything real may
# ANCHOR: tables
square = girih.LookUpTable(2, lambda x: x * x % 4)
d = server.apply(client.encrypt(np.arange(4), bits=2), square)
client.decrypt(d)                                 # array([0, 1, 0, 1])
# ANCHOR_END: tables
assert client.decrypt(d).tolist() == [0, 1, 0, 1]

INTEGERS = "INSECURE_INTEGERS"
# ANCHOR: integers
holder = girih.ClientKey.generate(INTEGERS)       # TFHERS_2_2_GROUP_2 for real ones
integers = integer.ServerKey(holder.evaluation_keys(), device="cpu")

a = holder.encrypt_integers(np.array([700, 50], np.uint16))
b = holder.encrypt_integers(np.array([5, 51], np.uint16))
with integers:
    c = a * b + (a > b).select(a, b)
holder.decrypt_integers(c)                        # array([4200, 2601], dtype=uint16)
# ANCHOR_END: integers
assert holder.decrypt_integers(c).tolist() == [4200, 2601]

numbers = np.linspace(-0.5, 0.5, 16)
# ANCHOR: vectors
owner = ckks.ClientKey.generate(VECTORS)          # CKKS_D40 for real ones
keys = owner.evaluation_keys(rotations=[1], sums=[16], bootstrapping=16)
vectors = ckks.ServerKey(keys, device="cpu")

x = owner.encrypt(numbers)                        # (slots,), or a batch (vectors, slots)
with vectors:
    y = (x * x.rotate(1) + 1).sum() / 16
    z = y.apply(lambda t: 1 / (1 + math.exp(-t)), (-8, 8), 1e-4)
    fresh = z.bootstrap()
owner.decrypt(fresh)                              # real parts; complex=True for all
# ANCHOR_END: vectors
mean = (numbers * np.roll(numbers, -1) + 1).mean()
assert np.abs(owner.decrypt(fresh) - 1 / (1 + math.exp(-mean))).max() < 1e-2

# ANCHOR: record
program = vectors.record(lambda s, t: (s * t).rotate(1), x, x)  # inputs by example, or by level
result = program(x, x)
# ANCHOR_END: record
assert np.abs(owner.decrypt(result) - np.roll(numbers**2, -1)).max() < 1e-4
SLOTS = "INSECURE_DISCRETE_4_N10"
# ANCHOR: slots
many = discrete.ClientKey.generate(SLOTS)         # DISCRETE_4 for real ones
slots = discrete.ServerKey(many.evaluation_keys(), device="cpu")
a = many.encrypt([3, 2, 1, 0], below=4)
b = many.encrypt([2, 2, 3, 1], below=4)
x = many.encrypt_integers([700, 50], "uint16")
y = many.encrypt_integers([5, 51], "uint16")
with slots:
    c = (4 * a + b).lookup(lambda m: (m >> 2) * (m & 3) % 4)
    z = x * y + (x > y).select(x, y)
many.decrypt(c)                                   # array([2, 0, 3, 0])
many.decrypt(z)                                   # array([4200, 2601], dtype=uint16)
# ANCHOR_END: slots
assert many.decrypt(c).tolist() == [2, 0, 3, 0]
assert many.decrypt(z).tolist() == [4200, 2601]
print("right")
