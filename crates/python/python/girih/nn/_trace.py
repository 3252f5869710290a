"""A PyTorch module as operations: the one file that needs PyTorch, and only when it is called."""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import errors
from ._ops import Network, Op

#: Modules that are functions of single numbers, by class.
FUNCTIONS = ("ReLU", "GELU", "SiLU", "Sigmoid", "Tanh")

#: What is left out, and what would do.
REFUSED = {
    "LogSoftmax": "apply it to what is decrypted: it changes no order",
    "GroupNorm": "BatchNorm2d, which is multiplied into the layer before it",
    "InstanceNorm2d": "BatchNorm2d, which is multiplied into the layer before it",
    "MaxPool2d": "AvgPool2d: a maximum is a comparison of encrypted numbers",
    "AdaptiveMaxPool2d": "AdaptiveAvgPool2d(1): a maximum is a comparison of encrypted numbers",
    "LeakyReLU": "ReLU, SiLU or GELU",
    "ELU": "SiLU or GELU",
    "Hardswish": "SiLU",
    "MultiheadAttention": "nothing yet: products of encrypted matrices are not there",
}
KNOWN = (
    "Linear, Conv2d, BatchNorm1d, BatchNorm2d, LayerNorm, AvgPool2d, AdaptiveAvgPool2d(1), "
    "Flatten, Dropout, Identity, ReLU, GELU, SiLU, Sigmoid, Tanh, Softmax, sums and products"
)


def torch() -> Any:
    """PyTorch."""
    try:
        return importlib.import_module("torch")
    except ImportError:
        why = "compiling needs PyTorch (pip install torch); what was compiled does not"
        raise errors.UnsupportedError(why) from None


def _pair(value: Any) -> list[int]:
    return [int(v) for v in value] if isinstance(value, (tuple, list)) else [int(value)] * 2


def _layer(node: Any) -> str:
    """The name of what a node calls; of functions, with that of the module that calls them."""
    if node.op == "call_module":
        return str(node.target)
    around = [path for path, *_ in (node.meta.get("nn_module_stack") or {}).values()]
    return ".".join([*around[-1:], str(node.name)])


class Tracer:
    """Follows the nodes of a graph of `torch.fx`."""

    def __init__(self, module: Any, example: Any) -> None:
        self._torch = torch()
        self._title = type(module).__name__
        fx = importlib.import_module("torch.fx")
        module = copy.deepcopy(module).cpu().float().eval()
        inner = isinstance(module, self._torch.nn.Sequential)
        if type(module).__module__.startswith("torch.nn") and not inner:
            # A layer by itself would be traced into.
            module = self._torch.nn.Sequential(module)
        self._module = module
        try:
            self._graph = fx.symbolic_trace(self._module)
        except Exception as error:
            why = f"{self._title}: torch.fx cannot trace it: {error}"
            raise errors.UnsupportedError(why) from error
        # What leads to no result is not computed.
        self._graph.graph.eliminate_dead_code()
        self._modules = dict(self._graph.named_modules())
        self._ops: list[Op] = []
        self._arrays: dict[str, NDArray[np.float32]] = {}
        self._values: dict[Any, int] = {}
        #: Values that a node has on the way to its own, as functions of what it reads.
        self._inner: dict[Any, list[tuple[int, Callable[[Any], Any]]]] = {}
        self._shapes = self._run(example)[0]

    def refuse(self, node: Any, what: str, rule: str) -> errors.UnsupportedError:
        return errors.UnsupportedError(f"{self._title}: layer {_layer(node)} ({what}): {rule}")

    def _run(
        self, batch: Any
    ) -> tuple[dict[Any, tuple[int, ...]], dict[Any, tuple[float, float]], Any]:
        """Shapes and ranges of all values, by their nodes or by the numbers of operations, and the
        result."""
        interpreter = importlib.import_module("torch.fx").Interpreter
        shapes: dict[Any, tuple[int, ...]] = {}
        ranges: dict[Any, tuple[float, float]] = {}

        def range_of(value: Any) -> tuple[float, float]:
            return (float(value.min()), float(value.max())) if value.numel() else (0.0, 0.0)

        def run_node(run: Any, node: Any) -> Any:
            value = interpreter.run_node(run, node)
            if isinstance(value, self._torch.Tensor):
                shapes[node], ranges[node] = tuple(value.shape[1:]), range_of(value)
                for inner, function in self._inner.get(node, []):
                    ranges[inner] = range_of(function(run.env[node.args[0]]))
            return value

        noting = type("Noting", (interpreter,), {"run_node": run_node})
        with self._torch.no_grad():
            result = noting(self._graph).run(batch)
        return shapes, ranges, result

    def network(self) -> Network:
        """Its operations."""
        for node in self._graph.graph.nodes:
            if node.op == "placeholder":
                if self._ops:
                    raise self.refuse(node, "a second input", "there must be one input")
                self._values[node] = self._add("input", node, ())
            elif node.op == "output":
                result = node.args[0]
                if result not in self._values:
                    raise self.refuse(node, "output", "the result must be one tensor")
                # The result is the last operation.
                self._values[node] = self._add("shape", result, (self._values[result],))
            elif node.op == "call_module":
                self._values[node] = self._of_module(node)
            elif node.op in ("call_function", "call_method"):
                self._values[node] = self._of_call(node)
            else:
                raise self.refuse(node, str(node.target), "tensors of one's own: a layer has them")
        return Network(self._ops, self._arrays)

    def measure(self, batch: Any) -> tuple[list[tuple[float, float]], NDArray[np.float64]]:
        """The range of each operation's result on a batch, and the last result."""
        _, ranges, result = self._run(batch)
        found = [ranges.get(value, (0.0, 0.0)) for value in range(len(self._ops))]
        for node, value in self._values.items():
            found[value] = ranges[node.args[0] if node.op == "output" else node]
        return found, result.double().numpy()

    # Operations

    def _add(
        self, kind: str, node: Any, inputs: tuple[int, ...], how: dict[str, Any] | None = None,
        arrays: tuple[Any, ...] = (),
    ) -> int:  # fmt: skip
        names = []
        for part, array in zip(("weight", "bias"), arrays, strict=False):
            if array is not None:
                key = f"{len(self._ops)}.{part}"
                self._arrays[key] = np.array(array.detach().numpy(), np.float32)
                names.append(key)
                if not np.isfinite(self._arrays[key]).all():
                    raise self.refuse(node, kind, f"its {part} has numbers that are not finite")
        shape = self._shapes[node]
        self._ops.append(Op(kind, _layer(node), inputs, shape, how or {}, tuple(names)))
        return len(self._ops) - 1

    def _value(self, node: Any, argument: Any) -> int:
        if argument in self._values:
            return self._values[argument]
        raise self.refuse(node, str(node.target), f"its operand {argument!r} is no value of it")

    def _of_module(self, node: Any) -> int:
        layer = self._modules[str(node.target)]
        kind, x = type(layer).__name__, self._value(node, node.args[0])
        if not type(layer).__module__.startswith("torch.nn"):
            raise self.refuse(node, kind, f"it is none of {KNOWN}")
        if kind in ("Identity", "Dropout", "Dropout1d", "Dropout2d"):
            return x
        if kind in FUNCTIONS:
            approximate = getattr(layer, "approximate", "none")
            return self._function(node, x, kind, approximate)
        made: Callable[[Any, int, Any], int] | None = getattr(self, f"_{kind}", None)
        if made is None:
            raise self.refuse(node, kind, REFUSED.get(kind, f"it is none of {KNOWN}"))
        return made(node, x, layer)

    def _function(self, node: Any, x: int, kind: str, approximate: str = "none") -> int:
        name = "GELUTanh" if approximate == "tanh" else kind
        return self._add("function", node, (x,), {"function": name})

    def _Linear(self, node: Any, x: int, layer: Any) -> int:
        if len(self._ops[x].shape) != 1:
            rule = f"of numbers of shape {self._ops[x].shape}: Flatten comes first"
            raise self.refuse(node, "Linear", rule)
        return self._add("linear", node, (x,), None, (layer.weight, layer.bias))

    def _Conv2d(self, node: Any, x: int, layer: Any) -> int:
        if layer.padding_mode != "zeros":
            rule = f"padding_mode={layer.padding_mode!r}: only zeros are there"
            raise self.refuse(node, "Conv2d", rule)
        padding, dilation = layer.padding, _pair(layer.dilation)
        if padding == "valid":
            padding = 0
        elif padding == "same":
            sizes = [d * (k - 1) for d, k in zip(dilation, layer.kernel_size, strict=True)]
            if any(size % 2 for size in sizes):
                raise self.refuse(node, "Conv2d", "padding='same' of an even kernel: state numbers")
            padding = [size // 2 for size in sizes]
        how = {
            "stride": _pair(layer.stride),
            "padding": _pair(padding),
            "dilation": dilation,
            "groups": layer.groups,
        }
        return self._add("conv", node, (x,), how, (layer.weight, layer.bias))

    def _BatchNorm2d(self, node: Any, x: int, layer: Any) -> int:
        if layer.running_mean is None or layer.running_var is None:
            rule = "without running statistics its factors are those of a batch"
            raise self.refuse(node, type(layer).__name__, rule)
        factor = 1 / (layer.running_var.double() + layer.eps).sqrt()
        if layer.weight is not None:
            factor = factor * layer.weight.double()
        offset = -layer.running_mean.double() * factor
        if layer.bias is not None:
            offset = offset + layer.bias.double()
        return self._add("scale", node, (x,), None, (factor, offset))

    _BatchNorm1d = _BatchNorm2d

    def _LayerNorm(self, node: Any, x: int, layer: Any) -> int:
        """(x - mean) / sqrt(variance + eps), the root by a polynomial on the variances' range."""
        shape, size = self._ops[x].shape, self._ops[x].size
        if shape != tuple(layer.normalized_shape):
            rule = f"over {tuple(layer.normalized_shape)} of {shape}: it must be over all numbers"
            raise self.refuse(node, "LayerNorm", rule)
        axes = tuple(range(-len(shape), 0))

        def variance(values: Any) -> Any:
            return values.var(axes, correction=0) + layer.eps

        tensor = self._torch.tensor
        centred = self._add("centre", node, (x,))
        squares = self._function(node, centred, "Square")
        mean = self._add("average", node, (squares,))
        offset = (tensor([1.0]), tensor([layer.eps]))
        shifted = self._add("scale", node, (mean,), None, offset)
        root = self._function(node, shifted, "InverseRoot")
        found = self._add("product", node, (centred, root))
        self._inner[node] = [
            (centred, lambda values: values - values.mean(axes, keepdim=True)),
            (squares, lambda values: (values - values.mean(axes, keepdim=True)) ** 2),
            (shifted, variance),
        ]
        if layer.weight is None:
            return found
        weights = [w.flatten() for w in (layer.weight, layer.bias) if w is not None]
        assert len(weights[0]) == size
        return self._add("scale", node, (found,), None, tuple(weights))

    def _Softmax(self, node: Any, x: int, layer: Any) -> int:
        return self._softmax(node, x, layer.dim)

    def _softmax(self, node: Any, x: int, axis: int | None) -> int:
        """exp(x - mean) by its sum: 1 / sum by a polynomial on the range of means of exponentials,
        which begins at 1 whatever the numbers are."""
        shape = self._ops[x].shape
        # The axis of the batch comes first.
        if axis not in (-1, len(shape)) or not 1 <= len(shape) <= 2:
            rule = f"along axis {axis} of (inputs, *{shape}): along the last, of one axis or two"
            raise self.refuse(node, "Softmax", rule)
        group = {"group": shape[-1]}
        tensor = self._torch.tensor

        def exponential(values: Any) -> Any:
            return (values - values.mean(-1, keepdim=True)).exp()

        centred = self._add("centre", node, (x,), group)
        powers = self._function(node, centred, "Exp")
        mean = self._add("average", node, (powers,), group)
        inverse = self._function(node, mean, "Inverse")
        found = self._add("product", node, (powers, inverse))
        self._inner[node] = [
            (centred, lambda values: values - values.mean(-1, keepdim=True)),
            (powers, exponential),
            (mean, lambda values: exponential(values).mean(-1)),
        ]
        share = (tensor([1 / shape[-1]]), tensor([0.0]))
        return self._add("scale", node, (found,), None, share)

    def _pool(self, node: Any, x: int, kernel: Any, stride: Any, padding: Any, counts: bool) -> int:
        if len(self._ops[x].shape) != 3:
            raise self.refuse(node, "AvgPool2d", f"of shape {self._ops[x].shape}: images are 3-d")
        kernel = _pair(kernel)
        how = {
            "kernel": kernel,
            "stride": _pair(stride) if stride not in (None, []) else kernel,
            "padding": _pair(padding),
            "counts_padding": bool(counts),
        }
        return self._add("pool", node, (x,), how)

    def _AvgPool2d(self, node: Any, x: int, layer: Any) -> int:
        if layer.ceil_mode or layer.divisor_override is not None:
            rule = "ceil_mode and divisor_override are left at False and None"
            raise self.refuse(node, "AvgPool2d", rule)
        return self._pool(
            node, x, layer.kernel_size, layer.stride, layer.padding, layer.count_include_pad
        )

    def _AdaptiveAvgPool2d(self, node: Any, x: int, layer: Any) -> int:
        return self._mean(node, x, _pair(layer.output_size))

    def _mean(self, node: Any, x: int, size: list[int]) -> int:
        shape = self._ops[x].shape
        if size != [1, 1] or len(shape) != 3:
            rule = f"to {size[0]} x {size[1]} of shape {shape}: to 1 x 1 of images, or AvgPool2d"
            raise self.refuse(node, "AdaptiveAvgPool2d", rule)
        return self._pool(node, x, list(shape[1:]), None, 0, True)

    def _Flatten(self, node: Any, x: int, layer: Any) -> int:
        return self._add("shape", node, (x,))

    # Functions and methods

    def _of_call(self, node: Any) -> int:
        target = node.target
        name = target if isinstance(target, str) else getattr(target, "__name__", str(target))
        name = name.rstrip("_")
        args, options = list(node.args), dict(node.kwargs)
        if name in ("add", "iadd", "sub", "isub") and not options:
            return self._sum(node, args, -1.0 if "sub" in name else 1.0)
        if name in ("mul", "imul", "truediv", "div", "pow", "square", "neg") and not options:
            return self._product(node, name, args)
        if name in ("flatten", "view", "reshape"):
            x = self._value(node, args[0])
            if self._shapes[node] and self._ops[x].size == np.prod(self._shapes[node]):
                return self._add("shape", node, (x,))
            raise self.refuse(node, name, "it must leave the batch as it is")
        if name in ("relu", "silu", "gelu", "sigmoid", "tanh"):
            kind = {"relu": "ReLU", "silu": "SiLU", "gelu": "GELU"}.get(name, name.capitalize())
            approximate = options.get("approximate", "none")
            return self._function(node, self._value(node, args[0]), kind, approximate)
        if name == "dropout":
            return self._value(node, args[0])
        if name == "softmax" and options.get("dtype") is None and len(args) <= 2:
            axis = args[1] if len(args) > 1 else options.get("dim")
            return self._softmax(node, self._value(node, args[0]), axis)
        if name == "adaptive_avg_pool2d":
            size = args[1] if len(args) > 1 else options["output_size"]
            return self._mean(node, self._value(node, args[0]), _pair(size))
        if name == "avg_pool2d" and len(args) < 5 and not set(options) - {"stride", "padding"}:
            given = dict(zip(("kernel", "stride", "padding"), args[1:], strict=False)) | options
            if "kernel" in given:
                x = self._value(node, args[0])
                stride, padding = given.get("stride"), given.get("padding", 0)
                return self._pool(node, x, given["kernel"], stride, padding, True)
        refusal = {
            "log_softmax": "LogSoftmax", "max_pool2d": "MaxPool2d",
            "leaky_relu": "LeakyReLU",
        }.get(name, "")  # fmt: skip
        raise self.refuse(node, name, REFUSED.get(refusal, f"it is none of {KNOWN}"))

    def _constant(self, node: Any, x: int, factor: float, offset: float = 0.0) -> int:
        tensor = self._torch.tensor
        return self._add("scale", node, (x,), None, (tensor([factor]), tensor([offset])))

    def _sum(self, node: Any, args: list[Any], sign: float) -> int:
        one, other = args
        if isinstance(other, (int, float)):
            return self._constant(node, self._value(node, one), 1.0, sign * other)
        if isinstance(one, (int, float)):
            return self._constant(node, self._value(node, other), sign, float(one))
        x, y = self._value(node, one), self._value(node, other)
        if self._ops[x].shape != self._ops[y].shape:
            rule = f"of shapes {self._ops[x].shape} and {self._ops[y].shape}: they must be one"
            raise self.refuse(node, "a sum", rule)
        return self._add("add", node, (x, y), {"factors": [1.0, sign]})

    def _product(self, node: Any, name: str, args: list[Any]) -> int:
        one, other = (args + [None])[:2]
        if name == "neg":
            return self._constant(node, self._value(node, one), -1.0)
        if name == "square" or (name in ("mul", "imul") and one is other):
            return self._function(node, self._value(node, one), "Square")
        if name == "pow" and other == 2:
            return self._function(node, self._value(node, one), "Square")
        if name in ("mul", "imul") and isinstance(one, (int, float)):
            one, other = other, one
        if name != "pow" and isinstance(other, (int, float)):
            factor = 1 / other if "div" in name else float(other)
            return self._constant(node, self._value(node, one), factor)
        if name in ("mul", "imul") and one in self._values and other in self._values:
            x, y = self._values[one], self._values[other]
            if self._ops[x].shape == self._ops[y].shape:
                return self._add("product", node, (x, y))
        rule = "products of two values of one shape, squares and products with numbers are there"
        raise self.refuse(node, name, rule)
