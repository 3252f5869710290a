"""Trained models on encrypted data, in the manner of scikit-learn.

Models stay in the clear, where they compute; data and predictions are encrypted. They are made of
fitted estimators of scikit-learn, or of anything with the same attributes: scikit-learn itself is
not needed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _girih, ckks
from .errors import MismatchError, UnsupportedError


def _next_power_of_two(n: int) -> int:
    return 1 << max(n - 1, 0).bit_length()


def _finite(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Real numbers, none of them infinite or none at all."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} are real numbers, not {array.dtype}")
    made = array.astype(np.float64)
    if not np.isfinite(made).all():
        raise MismatchError(f"{name} has numbers that are not finite")
    return made


class _Linear:
    """Products of encrypted rows of features with a matrix in the clear (CKKS)."""

    def __init__(self, weights: NDArray[np.float64], intercepts: NDArray[np.float64]) -> None:
        rows, self.features = weights.shape
        #: Slots of a row: features padded to a power of two, and room for all results.
        self.slots = max(_next_power_of_two(self.features), _next_power_of_two(rows), 2)
        padded = np.zeros((self.slots, self.slots))
        padded[:rows, : self.features] = weights
        #: The map that keys are made for: ``client.evaluation_keys(maps=[model.matrix])``.
        self.matrix = ckks.Matrix(padded)
        self._weights = weights
        self._intercepts = np.zeros(self.slots)
        self._intercepts[:rows] = intercepts
        self._rows = rows

    def encrypt(
        self,
        client: ckks.ClientKey | ckks.PublicKey,
        rows: ArrayLike,
        *,
        magnitude: float = 1.0,
    ) -> ckks.Ciphertexts:
        """Encrypts rows of features, of shape (rows, features) or (features,). No feature may
        exceed ``magnitude``, which everyone may know who sees the ciphertexts."""
        if not isinstance(client, (ckks.ClientKey, ckks.PublicKey)):
            raise TypeError(f"a key of girih.ckks encrypts, not {type(client).__name__}")
        values = _finite("rows", rows)
        if values.ndim not in (1, 2) or values.shape[-1] != self.features:
            raise MismatchError(
                f"rows of shape {values.shape}: the last length must be {self.features}"
            )
        return client.encrypt(values, slots=self.slots, magnitude=magnitude)

    def bound(self, low: ArrayLike, high: ArrayLike) -> float:
        """The largest size of a result where each feature lies between its low and its high."""
        ends = [_finite(name, end) for name, end in (("low", low), ("high", high))]
        if any(end.shape != (self.features,) for end in ends):
            shapes = " and ".join(str(end.shape) for end in ends)
            raise MismatchError(f"ends of shapes {shapes}: each must be ({self.features},)")
        products = np.stack([self._weights * end for end in ends])
        offsets = self._intercepts[: self._rows]
        most = products.max(axis=0).sum(axis=1) + offsets
        least = products.min(axis=0).sum(axis=1) + offsets
        return float(np.maximum(most, -least).max())

    def _results(self, encrypted: ckks.Ciphertexts) -> ckks.Ciphertexts:
        return self.matrix @ encrypted + self._intercepts

    def _decrypted(
        self, client: ckks.ClientKey, results: ckks.Ciphertexts
    ) -> NDArray[np.float64]:
        """The results of each row, of shape (rows, results)."""
        if not isinstance(client, ckks.ClientKey):
            raise TypeError(f"a girih.ckks.ClientKey decrypts, not {type(client).__name__}")
        values: NDArray[np.float64] = client.decrypt(results)
        return values[..., : self._rows]


class LinearRegression(_Linear):
    """A linear model of one value on encrypted rows of features (CKKS), in one level.

    Each row is one vector of ``slots`` slots; keys are made for ``matrix``.
    """

    def __init__(self, coefficients: ArrayLike, intercept: float) -> None:
        weights = _finite("coefficients", coefficients)
        if weights.ndim != 1 or len(weights) == 0 or np.ndim(intercept) != 0:
            raise MismatchError(
                f"coefficients of shape {weights.shape}: there must be a list of them and one "
                "intercept"
            )
        super().__init__(weights[None, :], _finite("intercept", [intercept]))

    @classmethod
    def from_sklearn(cls, estimator: Any) -> LinearRegression:
        """The model of a fitted ``LinearRegression``, ``Ridge``, ``Lasso`` and so on."""
        try:
            coefficients = np.asarray(estimator.coef_, dtype=np.float64)
            intercept = np.asarray(estimator.intercept_, dtype=np.float64)
        except AttributeError as error:
            raise TypeError(
                f"a fitted linear model has coef_ and intercept_: {error}"
            ) from error
        if coefficients.size != coefficients.shape[-1] or intercept.size != 1:
            raise MismatchError(
                f"coefficients of shape {coefficients.shape}: models of one value only"
            )
        return cls(coefficients.ravel(), float(intercept.ravel()[0]))

    def predict(self, encrypted: ckks.Ciphertexts) -> ckks.Ciphertexts:
        """The value of each row, encrypted; on the server of ``with server:``."""
        return self._results(encrypted)

    def decrypt_predictions(
        self, client: ckks.ClientKey, predictions: ckks.Ciphertexts
    ) -> NDArray[np.float64]:
        """The value of each row."""
        return self._decrypted(client, predictions)[..., 0]


class LogisticRegression(_Linear):
    """A logistic regression, with several classes or two, on encrypted rows of features (CKKS).

    Each row is one vector of ``slots`` slots. ``decision_function`` takes one level and the
    rotations of ``matrix``; ``predict_proba`` and ``predict`` of two classes take more, and the key
    of multiplication.
    """

    def __init__(self, coefficients: ArrayLike, intercepts: ArrayLike, classes: ArrayLike) -> None:
        weights = np.atleast_2d(_finite("coefficients", coefficients))
        self.classes = np.asarray(classes)
        self._binary = len(self.classes) == 2 and len(weights) == 1
        rows = 1 if self._binary else len(self.classes)
        intercepts = np.atleast_1d(_finite("intercepts", intercepts))
        if weights.ndim != 2 or len(weights) != rows or intercepts.shape != (rows,):
            raise MismatchError(
                f"coefficients of shape {weights.shape} and intercepts of {intercepts.shape} for "
                f"{len(self.classes)} classes: there must be {rows} of each"
            )
        super().__init__(weights, intercepts)

    @classmethod
    def from_sklearn(cls, estimator: Any) -> LogisticRegression:
        """The model of a fitted ``sklearn.linear_model.LogisticRegression``."""
        try:
            return cls(estimator.coef_, estimator.intercept_, estimator.classes_)
        except AttributeError as error:
            raise TypeError(
                f"a fitted linear classifier has coef_, intercept_ and classes_: {error}"
            ) from error

    def decision_function(self, encrypted: ckks.Ciphertexts) -> ckks.Ciphertexts:
        """A score for each class and row, encrypted; on the server of ``with server:``."""
        return self._results(encrypted)

    def predict_proba(
        self, encrypted: ckks.Ciphertexts, bound: float, error: float = 1e-3
    ) -> ckks.Ciphertexts:
        """The probability of ``classes[1]`` of each row, encrypted, within ``error``.

        It is a polynomial of the score, right for scores of at most ``bound`` and meaningless
        above: ``model.bound(low, high)`` is the largest of all rows within a range.
        """
        self._of_two("probabilities")
        if not 0 < bound < np.inf:
            raise MismatchError(f"a bound of {bound}: it must be positive and finite")
        scores = self._results(encrypted)
        return scores.apply(lambda t: (1 + math.tanh(t / 2)) / 2, (-bound, bound), error)

    def predict(
        self, encrypted: ckks.Ciphertexts, bound: float, gap: float = 0.05, error: float = 1e-2
    ) -> ckks.Ciphertexts:
        """The class of each row, encrypted: 1 for ``classes[1]`` and 0 for ``classes[0]``, within
        ``error``; between 0 and 1 for scores nearer to 0 than ``gap * bound``.

        ``bound`` is as of ``predict_proba``.
        """
        self._of_two("classes")
        if not 0 < bound < np.inf:
            raise MismatchError(f"a bound of {bound}: it must be positive and finite")
        sign = ckks.CompositeSign(gap, 2 * error)
        return self._results(encrypted).sign(sign, range=bound) * 0.5 + 0.5

    def _of_two(self, what: str) -> None:
        if not self._binary:
            raise UnsupportedError(
                f"{what} of {len(self.classes)} classes: whoever has the key compares the scores, "
                "by decision_function and decrypt_predictions"
            )

    def decrypt_scores(
        self, client: ckks.ClientKey, scores: ckks.Ciphertexts
    ) -> NDArray[np.float64]:
        """The scores, of shape (rows, classes), or (rows,) of two classes; probabilities, too."""
        values = self._decrypted(client, scores)
        return values[..., 0] if self._binary else values

    def decrypt_predictions(
        self, client: ckks.ClientKey, scores: ckks.Ciphertexts
    ) -> NDArray[Any]:
        """The class of each row, of what ``decision_function`` gave."""
        values = self.decrypt_scores(client, scores)
        best = (values > 0).astype(int) if self._binary else values.argmax(axis=-1)
        classes: NDArray[Any] = self.classes[best]
        return classes

    def decrypt_classes(
        self, client: ckks.ClientKey, predictions: ckks.Ciphertexts
    ) -> NDArray[Any]:
        """The class of each row, of what ``predict`` or ``predict_proba`` gave."""
        self._of_two("classes")
        chosen = (self.decrypt_scores(client, predictions) > 0.5).astype(int)
        classes: NDArray[Any] = self.classes[chosen]
        return classes


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
    ) -> None:
        """Nodes by number, 0 the root; a leaf has ``left`` -1 and its ``label`` (from 0 on)."""
        if isinstance(bits, bool) or not isinstance(bits, (int, np.integer)):
            raise TypeError(f"bits is a number, not {type(bits).__name__}")
        if not 1 <= bits <= 16:
            raise MismatchError(f"features of {bits} bits: there must be 1 to 16")
        self._left, self._right = _whole("left", left), _whole("right", right)
        self._feature, self._label = _whole("feature", feature), _whole("label", label)
        self.bits = int(bits)
        self._low, top = _finite("low", low), _finite("high", high)
        if self._low.shape != top.shape or top.ndim != 1 or not (top > self._low).all():
            raise MismatchError("each feature must have a finite high above its low")
        places = _finite("threshold", threshold)
        _check_nodes(self._left, self._right, self._feature, places, self._label, len(top))
        self._scale = (2**self.bits - 1) / (top - self._low)
        # x <= t becomes round(x) <= floor(t) in units of a step; thresholds beyond the range are
        # as good as its ends.
        inside = self._feature.clip(0, len(top) - 1)
        steps = (places - self._low[inside]) * self._scale[inside]
        self._threshold = np.floor(steps.clip(-1, 2**self.bits)).astype(int)
        self.features = len(self._low)
        self._label_bits = max(int(self._label[self._left < 0].max()).bit_length(), 1)
        self.netlist = self._build()

    @classmethod
    def from_sklearn(cls, estimator: Any, rows: ArrayLike, bits: int = 6) -> DecisionTree:
        """The tree of a fitted ``DecisionTreeClassifier``; ``rows`` give each feature's range.

        Labels are indices of ``estimator.classes_``.
        """
        try:
            tree = estimator.tree_
        except AttributeError as error:
            raise TypeError(f"a fitted decision tree has tree_: {error}") from error
        values = _finite("rows", rows)
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
        values = _finite("rows", rows)
        if values.ndim != 2 or values.shape[1] != self.features:
            raise MismatchError(f"rows of shape {values.shape}: give (rows, {self.features})")
        steps = np.rint((values - self._low) * self._scale)
        words = steps.clip(0, 2**self.bits - 1).astype(np.uint64)
        return {f"x{i}": words[:, i] for i in range(self.features)}

    def predict(self, rows: ArrayLike) -> NDArray[np.uint64]:
        """Labels of plain rows, as the circuit gives them."""
        labels: NDArray[np.uint64] = self.netlist.evaluate(self.quantise(rows))["label"]
        return labels


__all__ = ["DecisionTree", "LinearRegression", "LogisticRegression"]
