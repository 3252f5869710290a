"""Functions of single numbers, as polynomials.

A function reads numbers of [centre - bound, centre + bound] as u in [-1, 1], the centre taken off
and divided by the bound. It leaves what it is, divided by `out`, so that results are of magnitude 1
at most, too. Centres are 0, but for functions on an interval of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import ckks, errors
from ._sparse import Floats


def _gelu_tanh(x: float) -> float:
    return x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > 0 else 1 - 1 / (1 + math.exp(x))


#: Those that one polynomial approximates.
SMOOTH: dict[str, Callable[[float], float]] = {
    "GELU": lambda x: x / 2 * (1 + math.erf(x / math.sqrt(2))),
    "GELUTanh": _gelu_tanh,
    "SiLU": lambda x: x * _sigmoid(x),
    "Sigmoid": _sigmoid,
    "Tanh": math.tanh,
}

#: Those that are approximated on the interval that their numbers have: a root of positive numbers,
#: and the two of a softmax.
ON_INTERVALS: dict[str, Callable[[float], float]] = {
    "InverseRoot": lambda x: 1 / math.sqrt(x),
    "Exp": math.exp,
    "Inverse": lambda x: 1 / x,
}

#: The mean of exponentials of numbers whose mean is 0 is at least 1; polynomials may be less by an
#: error that `_share` keeps below this.
_BELOW_ONE = 2.0**-6


def interval(name: str, low: float, high: float, margin: float) -> tuple[float, float]:
    """Centre and bound of a function on an interval, by what its numbers reach."""
    if name == "Exp":
        half = max(margin * (high - low) / 2, 1e-3)
        return (high + low) / 2, half
    low = min(low / margin, 1 - _BELOW_ONE) if name == "Inverse" else low / margin
    high = high * margin
    return (high + low) / 2, max((high - low) / 2, 1e-3 * high)


def _share(name: str, high: float, out: float, error: float) -> float:
    """How far a polynomial may be off, as a share of `out`.

    A softmax is E / (n a), E being exponentials and a the mean of n of them, which is at least 1.
    With errors of d in E and of D in 1 / a it errs by d / n + d / (1 - d) + a D (1 + d) at most: by
    `error` if d and a D are a quarter of it."""
    if name == "Exp":
        return error / 4 / out
    if name == "Inverse":
        return error / 4 / high / out
    return error

#: Degrees beyond this are refused.
_MOST_DEGREE = 511


@dataclass(frozen=True)
class Function:
    """A function on [-bound, bound]."""

    name: str
    #: Chebyshev coefficients: of a ReLU those of a step from 0 to 1, one polynomial of the other's
    #: values, which u is multiplied by; of a square none.
    polynomials: list[list[float]]
    #: What results are divided by.
    out: float
    #: How far results may be from the function's, for numbers within the bound.
    error: float
    levels: int

    @property
    def degrees(self) -> list[int]:
        return [len(coefficients) - 1 for coefficients in self.polynomials] or [2]

    def plain(self, u: Floats) -> Floats:
        """What is computed, in the clear."""
        if self.name == "Square":
            return u * u
        x = u
        for coefficients in self.polynomials:
            x = np.asarray(np.polynomial.chebyshev.chebval(x, coefficients), np.float64)
        return u * x if self.name == "ReLU" else x

    def record(self, u: ckks.Ciphertexts) -> ckks.Ciphertexts:
        """The same of encrypted numbers."""
        if self.name == "Square":
            return u.square()
        x = u
        for coefficients in self.polynomials:
            x = x.polynomial(ckks.Polynomial.from_chebyshev(coefficients, (-1, 1)))
        return u * x if self.name == "ReLU" else x

    def written(self) -> dict[str, Any]:
        return {**vars(self)}

    @property
    def products(self) -> int:
        """Products of two ciphertexts that it takes."""
        found = sum(products_of_degree(degree) for degree in self.degrees)
        return found + (self.name == "ReLU") if self.polynomials else 1


def products_of_degree(degree: int) -> int:
    """Products of a polynomial, by Chebyshev polynomials below 2^bits and powers of two."""

    def splits(degree: int, bits: int) -> int:
        if degree < 1 << bits:
            return 0
        giant = 1 << (degree.bit_length() - 1)
        return 1 + splits(degree - giant, bits) + splits(giant - 1, bits)

    def basis(bits: int) -> int:
        babies = min(1 << bits, degree + 1) - 1
        return babies + max(degree.bit_length() - bits, 0) - 1

    ways = range(1, degree.bit_length() + 1)
    return min((splits(degree, bits) + basis(bits) for bits in ways), default=0)


def _levels(coefficients: list[float]) -> int:
    return ckks.Polynomial.from_chebyshev(coefficients, (-1, 1)).levels


def function(name: str, centre: float, bound: float, error: float, layer: str) -> Function:
    """The function of a layer on [centre - bound, centre + bound], to within `error` times what it
    reaches there."""
    if name == "Square":
        return Function(name, [], bound * bound, 0.0, 1)
    if name == "ReLU":
        sign = ckks.CompositeSign.for_relu(error)
        lists = [list(p.coefficients) for p in sign.polynomials]
        # (1 + sign) / 2
        lists[-1] = [c / 2 for c in lists[-1]]
        lists[-1][0] += 0.5
        return Function(name, lists, bound, error * bound, sign.levels + 1)
    exact = SMOOTH.get(name) or ON_INTERVALS[name]
    try:
        exact(centre + bound)
    except OverflowError:
        ends = f"[{centre - bound:.3g}, {centre + bound:.3g}]"
        raise errors.ApproximationError(f"{layer} ({name}) on {ends}: too large a range") from None
    grid = np.linspace(centre - bound, centre + bound, 4097)
    out = max(abs(exact(float(x))) for x in grid) or 1.0
    error = _share(name, centre + bound, out, error)

    def unit(u: float) -> float:
        return exact(centre + bound * u) / out

    try:
        p = ckks.Polynomial.fit(unit, (-1, 1), error, max_degree=_MOST_DEGREE)
    except errors.ApproximationError as refused:
        ends = f"[{centre - bound:.3g}, {centre + bound:.3g}]"
        why = f"{layer} ({name}) on {ends}: {refused}; a larger error="
        raise errors.ApproximationError(f"{why}, or weights that keep its range small") from None
    made = [float(c) for c in p.coefficients]
    return Function(name, [made], out, (p.error or error) * out, _levels(made))
