"""Programs that HEIR compiled for CKKS, on encrypted inputs.

    $ heir-opt --annotate-module="backend=lattigo scheme=ckks" --mlir-to-ckks \\
    >     --scheme-to-lattigo dot.mlir > dot.lattigo.mlir

    >>> import girih.heir
    >>> program = girih.heir.read(open("dot.lattigo.mlir").read())
    >>> client = ckks.ClientKey.generate(program.parameters)          # the owner of the data
    >>> keys, x = program.keys(client), program.encrypt(client, a, b)

    >>> server = program.server(keys, "cuda:0")                       # whoever computes
    >>> y = program.run(server, x)

    >>> (result,) = program.decrypt(client, y)                        # the owner again

HEIR packs arrays into slots and places products, rotations and bootstrappings; girih runs what it
wrote, in HEIR's dialect of Lattigo or of OpenFHE, on any of its devices. What is not known is
refused by its name and line.
"""

from ._program import Argument, Program
from ._read import read

__all__ = ["Argument", "Program", "read"]
