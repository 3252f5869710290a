"""Linear models on encrypted rows (CKKS)."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any, Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import ckks
from ..errors import MismatchError, OutOfLevelsError, UnsupportedError
from ._rows import Rows, finite, next_power_of_two


def parameters_of(of: object) -> ckks.Parameters:
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
        return finite("transformed rows", made.toarray() if hasattr(made, "toarray") else made)

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
    weights = np.atleast_2d(finite("coef_", last.coef_))
    intercepts = np.atleast_1d(finite("intercept_", last.intercept_))
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
        self.width = max(next_power_of_two(self.features), next_power_of_two(self.results))
        self._weights, self._intercepts = weights, intercepts
        self._maps: dict[int, ckks.LinearMap] = {}

    def __repr__(self) -> str:
        return f"<girih.models.{type(self).__name__}: {self._facts()}>"

    def _facts(self) -> str:
        return f"{self.features} features"

    def per_vector(self, parameters: object) -> int:
        """Rows that a vector of this set holds."""
        slots = parameters_of(parameters).slots
        if self.width > slots:
            raise MismatchError(
                f"rows of {self.width} slots do not fit the {slots} of a vector of this set"
            )
        return slots // self.width

    def _map(self, slots: int) -> tuple[ckks.LinearMap, int, int]:
        """The map of a vector, then how many slots are added up, how far apart."""
        rows, few = slots // self.width, next_power_of_two(self.results)
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
        values = finite("rows", rows)
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
        ends = [finite(name, end) for name, end in (("low", low), ("high", high))]
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
        offsets = np.zeros(next_power_of_two(self.results))
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
        fitting = [s.name for s in sets if s.default_level >= needed and "INSECURE" not in s.name]
        raise OutOfLevelsError(
            f"this takes about {needed} levels, and vectors of {vectors.parameters.name} have "
            f"{vectors.level} here ({error}): a larger error or a smaller bound takes fewer; sets "
            f"with as many are {', '.join(fitting) or 'none'}"
        ) from error


class LinearRegression(_Linear):
    """A linear model of one value or several on encrypted rows of features (CKKS), in one level."""

    def __init__(self, coefficients: ArrayLike, intercept: ArrayLike) -> None:
        weights = finite("coefficients", coefficients)
        intercepts = finite("intercept", intercept)
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
        weights = np.atleast_2d(finite("coefficients", coefficients))
        self.classes = np.asarray(classes)
        self._binary = len(self.classes) == 2 and len(weights) == 1
        rows = 1 if self._binary else len(self.classes)
        intercepts = np.atleast_1d(finite("intercepts", intercepts))
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
