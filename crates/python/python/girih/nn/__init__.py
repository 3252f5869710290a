"""PyTorch modules on encrypted inputs: compiled once, run without PyTorch.

    >>> import girih.nn                                               # where the module is trained
    >>> model = girih.nn.compile(module, example_input, calibration=batch)
    >>> model.save("model.girih")
    >>> model.client_part().save("client.girih")

    >>> part = girih.nn.ClientPart.load("client.girih")               # the owner of the data
    >>> client = ckks.ClientKey.generate(part.parameters)
    >>> keys, x = part.keys(client), part.encrypt(client, images)

    >>> model = girih.nn.load("model.girih")                          # whoever computes
    >>> server = model.server(keys, "cuda:0")
    >>> y = model.run(server, x)

    >>> scores = part.decrypt(client, y, len(images))                 # the owner again

Sequential networks and residual blocks of linear layers, convolutions, normalisations, means and
activations; what is not known is refused by its name. Weights are in the clear for whoever
computes: inputs, results and everything between are encrypted.
"""

from ._client import ClientPart
from ._compile import compile
from ._costs import Costs, measure
from ._model import Model, load

__all__ = ["ClientPart", "Costs", "Model", "compile", "load", "measure"]
