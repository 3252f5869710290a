"""Trained models on encrypted data, in the manner of scikit-learn.

Models stay in the clear, where they compute; data and predictions are encrypted. They are made of
fitted estimators of scikit-learn, or of anything with the same attributes: scikit-learn itself is
not needed. What a model encrypts and what it computes says what it is, and ``model.decrypt`` reads
it as that.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any, Callable, TypeVar, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _girih, ckks
from .errors import MalformedError, MismatchError, OutOfLevelsError, UnsupportedError

#: What a table of encrypted rows may hold.
KINDS = ("features", "values", "scores", "probabilities", "classes")
_MAGIC = b"girih rows 1 "


def _next_power_of_two(n: int) -> int:
    return 1 << max(n - 1, 0).bit_length()


def _finite(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Real numbers, none of them infinite or none at all."""
    if np.ma.is_masked(values):
        raise TypeError(f"{name} has masked entries, which have no values: fill or drop them")
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        dtypes: Any = getattr(values, "dtypes", None)
        wrong: list[str] = []
        if hasattr(dtypes, "items"):
            wrong = [str(key) for key, of in dtypes.items() if np.dtype(object) == of]
        which = f" (columns {', '.join(wrong)})" if wrong else ""
        raise TypeError(
            f"{name} are real numbers, not {array.dtype}{which}: give words numbers first, as "
            "OneHotEncoder of scikit-learn does"
        )
    made = array.astype(np.float64)
    if not np.isfinite(made).all():
        raise MismatchError(f"{name} has numbers that are not finite")
    return made


@dataclass(frozen=True, repr=False)
class Rows:
    """Encrypted rows, many to a vector: features that a model takes, or results that it gave.

    Slot ``j * per_vector + i`` of a vector is entry j of its row i.
    """

    #: What they are: one of ``KINDS``.
    kind: str
    vectors: ckks.Ciphertexts
    #: How many rows there are; None where one was given by itself.
    rows: int | None
    #: Slots of a row.
    width: int

    def __post_init__(self) -> None:
        if not isinstance(self.vectors, ckks.Ciphertexts):
            found = type(self.vectors).__name__
            raise TypeError(f"rows are in girih.ckks.Ciphertexts, not in {found}")
        for name, value in (("rows", self.rows), ("width", self.width)):
            is_count = isinstance(value, int) and not isinstance(value, bool)
            if not is_count and not (name == "rows" and value is None):
                raise TypeError(f"{name} is a number, not {type(value).__name__}")
        if self.kind not in KINDS:
            raise MismatchError(f"rows of {self.kind!r}: there are {', '.join(KINDS)}")
        slots, ndim = self.vectors.slots, self.vectors.ndim
        if ndim != 2 or self.width < 1 or self.width & (self.width - 1) or self.width > slots:
            raise MismatchError(f"rows of {self.width} slots in {self.vectors!r}")
        most = self.vectors.shape[0] * self.per_vector
        if not most - self.per_vector < (1 if self.rows is None else self.rows) <= most:
            raise MismatchError(f"{self.rows} rows of {self.width} slots in {self.vectors!r}")

    @property
    def per_vector(self) -> int:
        """Rows of a vector."""
        return self.vectors.slots // self.width

    @property
    def level(self) -> int:
        """How many products one after another are left."""
        return self.vectors.level

    @property
    def key_id(self) -> str | None:
        """Name of the client key that they are under."""
        return self.vectors.key_id

    def to_host(self) -> Rows:
        """The same rows in the memory of this process."""
        return replace(self, vectors=self.vectors.to_host())

    def to_bytes(self) -> bytes:
        """The rows as bytes, with what they are."""
        count = "one" if self.rows is None else str(self.rows)
        head = f"{self.kind} {count} {self.width}\n".encode()
        return _MAGIC + head + self.vectors.to_bytes()

    @staticmethod
    def from_bytes(data: bytes | bytearray | memoryview) -> Rows:
        """Reads what to_bytes wrote."""
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"bytes are read, not {type(data).__name__}")
        view = memoryview(data).cast("B")
        line, newline, _ = bytes(view[:100]).partition(b"\n")
        words = line.removeprefix(_MAGIC).decode("ascii", "replace").split(" ")
        if not line.startswith(_MAGIC) or not newline or len(words) != 3 or words[0] not in KINDS:
            raise MalformedError("these bytes do not begin as encrypted rows do")
        count, width = (word if word.isascii() and word.isdigit() else None for word in words[1:])
        if width is None or (count is None and words[1] != "one"):
            raise MalformedError("these bytes do not tell how many rows there are")
        rows = None if count is None else int(count)
        vectors = ckks.Ciphertexts.from_bytes(view[len(line) + 1 :])
        try:
            return Rows(words[0], vectors, rows, int(width))
        except MismatchError as error:
            raise MalformedError(f"bytes of encrypted rows: {error}") from error

    def __len__(self) -> int:
        if self.rows is None:
            raise TypeError("one row has no length")
        return self.rows

    def __repr__(self) -> str:
        count = "one row" if self.rows is None else f"{self.rows} rows"
        vectors = self.vectors.shape[0]
        return (
            f"<girih.models.Rows: {self.kind} of {count} in {vectors} vectors at level "
            f"{self.level}>"
        )


Model = TypeVar("Model", bound="_Linear")
AnyParameters = Union[ckks.Parameters, str]


def _parameters(of: object) -> ckks.Parameters:
    """The set that a name, a key or a server is of."""
    if isinstance(of, str):
        return ckks.Parameters(of)
    found = of if isinstance(of, ckks.Parameters) else getattr(of, "parameters", None)
    if not isinstance(found, ckks.Parameters):
        raise TypeError(f"a parameter set of girih.ckks or its name, not {type(of).__name__}")
    return found


def _affine(steps: Any, features: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The matrix and offset of transformations that are affine, as most scalers are."""

    def transformed(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        with warnings.catch_warnings():
            # Of names of columns, which are not there.
            warnings.simplefilter("ignore")
            made = steps.transform(rows)
        return _finite("transformed rows", made.toarray() if hasattr(made, "toarray") else made)

    offset = transformed(np.zeros((1, features)))[0]
    matrix = transformed(np.eye(features)) - offset
    rng = np.random.default_rng(0)
    for size in (1e-2, 1.0, 1e4):
        rows = rng.uniform(-size, size, (8, features))
        if not np.allclose(transformed(rows), rows @ matrix + offset, rtol=1e-6, atol=1e-6):
            raise UnsupportedError(
                "the steps before the model are not affine: a scaler without clipping, a PCA and "
                "the like become part of it; apply others before encrypting"
            )
    return matrix, offset


def _fitted(
    estimator: Any, what: str, attributes: tuple[str, ...]
) -> tuple[NDArray[np.float64], NDArray[np.float64], Any]:
    """Coefficients and intercepts of a linear model, or of a pipeline that ends with one."""
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    missing = [name for name in attributes if not hasattr(last, name)]
    if missing:
        raise TypeError(
            f"a fitted {what} has {', '.join(attributes)}: {type(last).__name__} lacks "
            f"{', '.join(missing)}"
        )
    weights = np.atleast_2d(_finite("coef_", last.coef_))
    intercepts = np.atleast_1d(_finite("intercept_", last.intercept_))
    if last is not estimator and len(estimator.steps) > 1:
        matrix, offset = _affine(estimator[:-1], int(estimator.n_features_in_))
        intercepts = intercepts + weights @ offset
        weights = weights @ matrix.T
    return weights, intercepts, last


class _Linear:
    """Products of encrypted rows of features with a matrix in the clear (CKKS)."""

    def __init__(self, weights: NDArray[np.float64], intercepts: NDArray[np.float64]) -> None:
        #: Results of a row.
        self.results, self.features = weights.shape
        #: Slots of a row: features padded to a power of two, and room for all results.
        self.width = max(_next_power_of_two(self.features), _next_power_of_two(self.results))
        self._weights, self._intercepts = weights, intercepts
        self._maps: dict[int, ckks.LinearMap] = {}

    def __repr__(self) -> str:
        return f"<girih.models.{type(self).__name__}: {self._facts()}>"

    def _facts(self) -> str:
        return f"{self.features} features"

    def per_vector(self, parameters: object) -> int:
        """Rows that a vector of this set holds."""
        slots = _parameters(parameters).slots
        if self.width > slots:
            raise MismatchError(
                f"rows of {self.width} slots do not fit the {slots} of a vector of this set"
            )
        return slots // self.width

    def _map(self, slots: int) -> tuple[ckks.LinearMap, int, int]:
        """The map of a vector, then how many slots are added up, how far apart."""
        rows, few = slots // self.width, _next_power_of_two(self.results)
        if slots not in self._maps:
            padded = np.zeros((few, self.width))
            padded[: self.results, : self.features] = self._weights
            places = np.arange(self.width)
            diagonals = {
                by * rows: np.repeat(padded[places % few, (places + by) % self.width], rows)
                for by in range(few)
            }
            self._maps[slots] = ckks.LinearMap(slots, diagonals)
        return self._maps[slots], self.width // few, few * rows

    def rotations(self, parameters: object) -> list[int]:
        """The rotations whose keys the model needs with this set, named or as a key has it."""
        rows = self.per_vector(parameters)
        if not self._weights.any():
            return []
        linear, width, stride = self._map(rows * self.width)
        return sorted({*linear.rotations(), *(stride << i for i in range(width.bit_length() - 1))})

    def evaluation_keys(
        self, client: ckks.ClientKey, *, progress: Any = None, **more: Any
    ) -> ckks.EvaluationKeys:
        """The keys that the model needs; ``more`` are further ones, as of
        ``client.evaluation_keys``."""
        if not isinstance(client, ckks.ClientKey):
            raise TypeError(f"a girih.ckks.ClientKey makes keys, not {type(client).__name__}")
        rotations = [*self.rotations(client), *more.pop("rotations", ())]
        return client.evaluation_keys(rotations=rotations, progress=progress, **more)

    def encrypt(
        self,
        client: ckks.ClientKey | ckks.PublicKey,
        rows: ArrayLike,
        *,
        magnitude: float = 1.0,
    ) -> Rows:
        """Encrypts rows of features, of shape (rows, features) or (features,), as many to a vector
        as fit. No feature may exceed ``magnitude``, which everyone may know who sees the
        ciphertexts."""
        if not isinstance(client, (ckks.ClientKey, ckks.PublicKey)):
            raise TypeError(f"a key of girih.ckks encrypts, not {type(client).__name__}")
        values = _finite("rows", rows)
        if values.ndim not in (1, 2) or values.shape[-1] != self.features or not values.size:
            raise MismatchError(
                f"rows of shape {values.shape}: the last length must be {self.features}"
            )
        each, table = self.per_vector(client), np.atleast_2d(values)
        vectors = -(-len(table) // each)
        # Places without a row repeat one, so that no result leaves the bounds of those of rows.
        filled = np.concatenate([table, np.repeat(table[:1], vectors * each - len(table), axis=0)])
        slots = np.zeros((vectors, self.width, each))
        slots[:, : self.features] = filled.reshape(vectors, each, -1).swapaxes(1, 2)
        encrypted = client.encrypt(slots.reshape(vectors, -1), magnitude=magnitude)
        return Rows("features", encrypted, None if values.ndim == 1 else len(table), self.width)

    def bound(self, low: ArrayLike, high: ArrayLike) -> float:
        """The largest size of a result where each feature lies between its low and its high: one
        number for all of them, or one for each."""
        ends = [_finite(name, end) for name, end in (("low", low), ("high", high))]
        if any(end.shape not in ((), (self.features,)) for end in ends):
            shapes = " and ".join(str(end.shape) for end in ends)
            raise MismatchError(
                f"ends of shapes {shapes}: each must be a number or ({self.features},)"
            )
        if (ends[0] > ends[1]).any():
            raise MismatchError("a low above its high")
        products = np.stack([self._weights * end for end in ends])
        most = products.max(axis=0).sum(axis=1) + self._intercepts
        least = products.min(axis=0).sum(axis=1) + self._intercepts
        return float(np.maximum(most, -least).max())

    def _check(self, encrypted: Rows, kinds: tuple[str, ...]) -> None:
        if not isinstance(encrypted, Rows):
            raise TypeError(
                f"a model takes girih.models.Rows, as its encrypt makes them, not "
                f"{type(encrypted).__name__}"
            )
        if encrypted.kind not in kinds:
            raise MismatchError(f"{encrypted.kind} where {' or '.join(kinds)} are needed")
        if encrypted.width != self.width:
            raise MismatchError(
                f"rows of {encrypted.width} slots are of another model: this one's have "
                f"{self.width}"
            )

    def _products(self, encrypted: Rows) -> ckks.Ciphertexts:
        self._check(encrypted, ("features",))
        vectors = encrypted.vectors
        linear, width, stride = self._map(vectors.slots) if self._weights.any() else (None, 1, 1)
        made = vectors * 0.0 if linear is None else vectors.transform(linear)
        made = made.sum(width, stride) if width > 1 else made
        offsets = np.zeros(_next_power_of_two(self.results))
        offsets[: self.results] = self._intercepts
        every = np.resize(offsets, self.width)
        return made + np.repeat(every, encrypted.per_vector)

    def _made(self, kind: str, encrypted: Rows, vectors: ckks.Ciphertexts) -> Rows:
        return replace(encrypted, kind=kind, vectors=vectors)

    def _decrypted(self, client: ckks.ClientKey, results: Rows) -> NDArray[np.float64]:
        """The results of each row, of shape (rows, results) or (results,)."""
        if not isinstance(client, ckks.ClientKey):
            raise TypeError(f"a girih.ckks.ClientKey decrypts, not {type(client).__name__}")
        values = client.decrypt(results.vectors)
        table = values.reshape(len(values), self.width, -1)[:, : self.results].swapaxes(1, 2)
        table = table.reshape(-1, self.results)
        made: NDArray[np.float64] = table[0] if results.rows is None else table[: results.rows]
        return made


def _with_levels(
    work: Callable[[], ckks.Ciphertexts], vectors: ckks.Ciphertexts, needed: int
) -> ckks.Ciphertexts:
    """Says which sets have the levels, where these vectors have too few."""
    try:
        return work()
    except OutOfLevelsError as error:
        sets = [ckks.Parameters(name) for name in ckks.Parameters.names()]
        fitting = [s.name for s in sets if s.default_level >= needed and not s.warnings]
        raise OutOfLevelsError(
            f"this takes about {needed} levels, and vectors of {vectors.parameters.name} have "
            f"{vectors.level} here ({error}): a larger error or a smaller bound takes fewer; sets "
            f"with as many are {', '.join(fitting) or 'none'}"
        ) from error


class LinearRegression(_Linear):
    """A linear model of one value or several on encrypted rows of features (CKKS), in one level."""

    def __init__(self, coefficients: ArrayLike, intercept: ArrayLike) -> None:
        weights = _finite("coefficients", coefficients)
        intercepts = _finite("intercept", intercept)
        self._single = weights.ndim == 1
        fitting = weights.ndim in (1, 2) and weights.size > 0
        if not fitting or intercepts.shape != weights.shape[:-1]:
            raise MismatchError(
                f"coefficients of shape {weights.shape} and intercepts of {intercepts.shape}: "
                "there must be a list of them and one intercept, or both for each value"
            )
        super().__init__(np.atleast_2d(weights), np.atleast_1d(intercepts))

    @classmethod
    def from_sklearn(cls, estimator: Any) -> LinearRegression:
        """The model of a fitted ``LinearRegression``, ``Ridge``, ``Lasso`` and so on, or of a
        ``Pipeline`` of affine steps, such as scalers, that ends with one."""
        weights, intercepts, last = _fitted(estimator, "linear model", ("coef_", "intercept_"))
        intercepts = np.broadcast_to(intercepts, len(weights))
        if np.ndim(last.coef_) == 1:
            return cls(weights[0], float(intercepts[0]))
        return cls(weights, intercepts)

    def predict(self, encrypted: Rows) -> Rows:
        """The value of each row, encrypted; on the server of ``with server:``."""
        return self._made("values", encrypted, self._products(encrypted))

    def decrypt(self, client: ckks.ClientKey, values: Rows) -> NDArray[np.float64]:
        """The value of each row, as ``predict`` of scikit-learn gives them."""
        self._check(values, ("values",))
        table = self._decrypted(client, values)
        return table[..., 0] if self._single else table


class LogisticRegression(_Linear):
    """A logistic regression, with several classes or two, on encrypted rows of features (CKKS).

    ``decision_function`` takes one level and rotations; ``predict_proba`` and ``predict`` of two
    classes take more, and the key of multiplication.
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

    def _facts(self) -> str:
        return f"{self.features} features, classes {', '.join(map(str, self.classes))}"

    @classmethod
    def from_sklearn(cls, estimator: Any) -> LogisticRegression:
        """The model of a fitted ``LogisticRegression``, or of a ``Pipeline`` of affine steps, such
        as scalers, that ends with one."""
        names = ("coef_", "intercept_", "classes_")
        weights, intercepts, last = _fitted(estimator, "linear classifier", names)
        return cls(weights, intercepts, last.classes_)

    def decision_function(self, encrypted: Rows) -> Rows:
        """A score for each class and row, encrypted; on the server of ``with server:``."""
        return self._made("scores", encrypted, self._products(encrypted))

    def predict_proba(self, encrypted: Rows, bound: float, error: float = 1e-3) -> Rows:
        """The probability of ``classes[1]`` of each row, encrypted, within ``error``.

        It is a polynomial of the score, right for scores of at most ``bound`` and meaningless
        above: ``model.bound(low, high)`` is the largest of all rows within a range.
        """
        self._of_two("probabilities")
        self._check_bound(bound)
        self._check(encrypted, ("features",))
        fitted = ckks.Polynomial.fit(
            lambda t: (1 + math.tanh(t / 2)) / 2, (-bound, bound), error
        )
        made = _with_levels(
            lambda: self._products(encrypted).polynomial(fitted),
            encrypted.vectors,
            1 + fitted.levels,
        )
        return self._made("probabilities", encrypted, made)

    def predict(
        self, encrypted: Rows, bound: float, gap: float = 0.05, error: float = 1e-2
    ) -> Rows:
        """The class of each row, encrypted: 1 for ``classes[1]`` and 0 for ``classes[0]``, within
        ``error``; between 0 and 1 for scores nearer to 0 than ``gap * bound``.

        ``bound`` is as of ``predict_proba``.
        """
        self._of_two("classes")
        self._check_bound(bound)
        self._check(encrypted, ("features",))
        sign = ckks.CompositeSign(gap, 2 * error)
        made = _with_levels(
            lambda: self._products(encrypted).sign(sign, range=bound) * 0.5 + 0.5,
            encrypted.vectors,
            3 + sign.levels,
        )
        return self._made("classes", encrypted, made)

    def _of_two(self, what: str) -> None:
        if not self._binary:
            raise UnsupportedError(
                f"{what} of {len(self.classes)} classes: whoever has the key compares the scores, "
                "by decision_function and decrypt_labels"
            )

    @staticmethod
    def _check_bound(bound: float) -> None:
        if not 0 < bound < np.inf:
            raise MismatchError(f"a bound of {bound}: it must be positive and finite")

    def decrypt(self, client: ckks.ClientKey, results: Rows) -> NDArray[Any]:
        """What the method that made the results gives in scikit-learn: scores of shape (rows,
        classes), or (rows,) of two classes; probabilities of shape (rows, 2); or classes."""
        self._check(results, ("scores", "probabilities", "classes"))
        if results.kind == "classes":
            return self.decrypt_labels(client, results)
        values = self._decrypted(client, results)
        if results.kind == "probabilities":
            return np.concatenate([1 - values, values], axis=-1)
        return values[..., 0] if self._binary else values

    def decrypt_labels(self, client: ckks.ClientKey, results: Rows) -> NDArray[Any]:
        """The class of each row, of results of any kind."""
        self._check(results, ("scores", "probabilities", "classes"))
        values = self._decrypted(client, results)
        if self._binary:
            best = (values[..., 0] > (0 if results.kind == "scores" else 0.5)).astype(int)
        else:
            best = values.argmax(axis=-1)
        classes: NDArray[Any] = self.classes[best]
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
        values = _finite("rows", rows)
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


__all__ = ["DecisionTree", "LinearRegression", "LogisticRegression", "Rows"]
