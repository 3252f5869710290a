"""Decision trees on encrypted features (TFHE)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _girih
from ..errors import MismatchError
from ._rows import finite


def _whole(name: str, values: ArrayLike) -> NDArray[np.int64]:
    """One whole number for each node."""
    array = np.asarray(values)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        found = f"{array.ndim} axes of {array.dtype}"
        raise TypeError(f"{name} is a list of whole numbers, not {found}")
    if array.dtype.itemsize == 8 and array.dtype.kind == "u" and (array > 2**62).any():
        raise MismatchError(f"{name} has numbers above 2^62")
    return array.astype(np.int64)


def _check_nodes(
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    feature: NDArray[np.int64],
    threshold: NDArray[np.float64],
    label: NDArray[np.int64],
    features: int,
) -> None:
    """Whether these are the nodes of one tree."""
    nodes = len(left)
    shapes = [of.shape for of in (left, right, feature, threshold, label)]
    if not nodes or set(shapes) != {(nodes,)}:
        raise MismatchError(f"lists of shapes {shapes}: all have one entry for each node")
    inner = left >= 0
    children = np.concatenate([left[inner], right[inner]])
    # Where each node but the root is below one other, none is below itself.
    if (children < 1).any() or (children >= nodes).any() or len(set(children)) < len(children):
        raise MismatchError(f"children must be of 1 to {nodes - 1}, each below one node alone")
    if (feature[inner] < 0).any() or (feature[inner] >= features).any():
        raise MismatchError(f"a node asks for a feature that is none of 0 to {features - 1}")
    if (label[~inner] < 0).any() or (label[~inner] >= 1 << 16).any():
        raise MismatchError("labels must be of 0 to 65535")


class DecisionTree:
    """A decision tree on encrypted integer features, as a circuit of gates (TFHE).

    Features are rounded to ``bits`` bits over the range ``[low, high]`` of each; thresholds are
    rounded with them, so labels are those of the rounded tree.
    """

    def __init__(
        self,
        left: ArrayLike,
        right: ArrayLike,
        feature: ArrayLike,
        threshold: ArrayLike,
        label: ArrayLike,
        low: ArrayLike,
        high: ArrayLike,
        bits: int = 6,
        classes: ArrayLike | None = None,
    ) -> None:
        """Nodes by number, 0 the root; a leaf has ``left`` -1 and its ``label`` (from 0 on), the
        number of one of ``classes`` where these are given."""
        if isinstance(bits, bool) or not isinstance(bits, (int, np.integer)):
            raise TypeError(f"bits is a number, not {type(bits).__name__}")
        if not 1 <= bits <= 16:
            raise MismatchError(f"features of {bits} bits: there must be 1 to 16")
        self._left, self._right = _whole("left", left), _whole("right", right)
        self._feature, self._label = _whole("feature", feature), _whole("label", label)
        self.bits = int(bits)
        self._low, top = finite("low", low), finite("high", high)
        if self._low.shape != top.shape or top.ndim != 1 or not (top > self._low).all():
            raise MismatchError("each feature must have a finite high above its low")
        places = finite("threshold", threshold)
        _check_nodes(self._left, self._right, self._feature, places, self._label, len(top))
        self._scale = (2**self.bits - 1) / (top - self._low)
        # x <= t becomes round(x) <= floor(t) in units of a step; thresholds beyond the range are
        # as good as its ends.
        inside = self._feature.clip(0, len(top) - 1)
        steps = (places - self._low[inside]) * self._scale[inside]
        self._threshold = np.floor(steps.clip(-1, 2**self.bits)).astype(int)
        self.features = len(self._low)
        self._label_bits = max(int(self._label[self._left < 0].max()).bit_length(), 1)
        #: What labels stand for.
        self.classes = None if classes is None else np.asarray(classes)
        most = int(self._label[self._left < 0].max())
        if self.classes is not None and (self.classes.ndim != 1 or most >= len(self.classes)):
            raise MismatchError(f"classes of shape {self.classes.shape} for labels up to {most}")
        self.netlist = self._build()

    def __repr__(self) -> str:
        return (
            f"<girih.models.DecisionTree: {self.features} features of {self.bits} bits, "
            f"{self.netlist.gates} gates>"
        )

    @classmethod
    def from_sklearn(cls, estimator: Any, rows: ArrayLike, bits: int = 6) -> DecisionTree:
        """The tree of a fitted ``DecisionTreeClassifier``; ``rows`` give each feature's range."""
        try:
            tree = estimator.tree_
        except AttributeError as error:
            raise TypeError(f"a fitted decision tree has tree_: {error}") from error
        values = finite("rows", rows)
        if values.ndim != 2 or not len(values):
            raise MismatchError(f"rows of shape {values.shape}: give (rows, features)")
        label = tree.value[:, 0, :].argmax(axis=1)
        return cls(
            tree.children_left,
            tree.children_right,
            tree.feature,
            tree.threshold,
            label,
            values.min(axis=0),
            values.max(axis=0),
            bits,
            getattr(estimator, "classes_", None),
        )

    def _build(self) -> _girih.Netlist:
        builder = _girih.NetlistBuilder()
        inputs = [builder.input(f"x{i}", self.bits) for i in range(self.features)]
        zero, one = builder.constant(False), builder.constant(True)

        def at_most(word: list[_girih.Wire], most: int) -> _girih.Wire:
            """word <= most, from the lowest bit up."""
            if most < 0:
                return zero
            result = one
            for i, bit in enumerate(word):
                result = (~bit | result) if most >> i & 1 else (~bit & result)
            return one if most >> len(word) else result

        # Parents before their children: trees may be deeper than Python calls functions.
        order = [0]
        for node in order:
            if self._left[node] >= 0:
                order += [int(self._left[node]), int(self._right[node])]
        labels: dict[int, list[_girih.Wire]] = {}
        for node in reversed(order):
            if self._left[node] < 0:
                label = int(self._label[node])
                labels[node] = [one if label >> i & 1 else zero for i in range(self._label_bits)]
                continue
            word = inputs[int(self._feature[node])]
            goes_left = at_most(word, int(self._threshold[node]))
            on, off = labels[int(self._left[node])], labels[int(self._right[node])]
            labels[node] = [builder.mux(goes_left, a, b) for a, b in zip(on, off)]
        builder.output("label", labels[0])
        return builder.finish()

    def quantise(self, rows: ArrayLike) -> dict[str, NDArray[np.uint64]]:
        """The inputs of the circuit for rows of shape (rows, features)."""
        values = finite("rows", rows)
        if values.ndim != 2 or values.shape[1] != self.features:
            raise MismatchError(f"rows of shape {values.shape}: give (rows, {self.features})")
        steps = np.rint((values - self._low) * self._scale)
        words = steps.clip(0, 2**self.bits - 1).astype(np.uint64)
        return {f"x{i}": words[:, i] for i in range(self.features)}

    def predict(self, rows: ArrayLike) -> NDArray[Any]:
        """The class of each plain row, as the circuit gives it."""
        return self._named(self.netlist.evaluate(self.quantise(rows))["label"])

    def _named(self, labels: NDArray[Any]) -> NDArray[Any]:
        if self.classes is None:
            return labels
        named: NDArray[Any] = self.classes[labels.astype(int)]
        return named

    def encrypt(self, client: _girih.ClientKey, rows: ArrayLike) -> _girih.EncryptedBits:
        """The encrypted inputs of the circuit for rows of shape (rows, features)."""
        words = self.quantise(rows)
        places = np.arange(self.bits, dtype=np.uint64)
        bits = [(words[name][:, None] >> places & np.uint64(1)) for name in words]
        return _girih.EncryptedBits.encrypt(client, np.concatenate(bits, axis=1).astype(bool))

    def decrypt(self, client: _girih.ClientKey, outputs: _girih.EncryptedBits) -> NDArray[Any]:
        """The class of each row, of what ``server.run`` gave for the circuit of ``netlist``."""
        if not isinstance(outputs, _girih.EncryptedBits):
            raise TypeError(
                f"girih.EncryptedBits, as server.run gives them, not {type(outputs).__name__}"
            )
        if outputs.bits != self._label_bits:
            raise MismatchError(
                f"{outputs.bits} bits a row where a label of this tree has {self._label_bits}"
            )
        bits = outputs.decrypt(client)
        return self._named(bits @ (1 << np.arange(bits.shape[1])))
