"""The operations that Orion calls, by Orion's names.

Those that end in New make a ciphertext, those of the same name without it change their first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .. import ckks, errors
from ._graph import Node, Polynomial, Transform, Vector, node, number
from ._values import Encrypted, Values, next_number

_Change = Callable[[Encrypted], Node]


class Backend(Values):
    """What stands behind a scheme of Orion in the place of its own library."""

    def NewEvaluator(self) -> None:
        """Rotations by powers of two are for sums, and compose all others."""
        self._keys.want_rotations(1 << i for i in range(self.slots.bit_length() - 1))

    def settle(self) -> int:
        """Waits until the device has all kernels that it keeps, where it begins with others while
        these are compiled; how many it waited for. No function of Orion's."""
        return self._keys.server.settle()

    def AddRotationKey(self, amount: int) -> None:
        self._keys.want_rotations([amount])

    # Operations that leave the level as it is

    def _same_level(self, x: int, change: _Change, new: bool) -> int:
        held = self._encrypted[x]
        at = change(held)
        if new:
            return self._add(at, held.scale, held.pending)
        held.node = at
        return x

    def Negate(self, x: int) -> int:
        return self._same_level(x, lambda held: self._multiple(held.node, -1), True)

    def _rotate(self, x: int, amount: int, new: bool) -> int:
        by = int(amount) % self.slots
        return self._same_level(
            x, lambda held: node("rotate", (held.node,), by, "a rotation") if by else held.node, new
        )

    def Rotate(self, x: int, amount: int) -> int:
        return self._rotate(x, amount, False)

    def RotateNew(self, x: int, amount: int) -> int:
        return self._rotate(x, amount, True)

    def _plus(self, x: int, scalar: float, new: bool) -> int:
        value = float(scalar)
        return self._same_level(x, lambda held: node("plus", (held.node,), value, "a sum"), new)

    def AddScalar(self, x: int, scalar: float) -> int:
        return self._plus(x, scalar, False)

    def AddScalarNew(self, x: int, scalar: float) -> int:
        return self._plus(x, scalar, True)

    def SubScalar(self, x: int, scalar: float) -> int:
        return self._plus(x, -scalar, False)

    def SubScalarNew(self, x: int, scalar: float) -> int:
        return self._plus(x, -scalar, True)

    def MulScalarInt(self, x: int, scalar: int) -> int:
        return self._same_level(x, lambda held: self._multiple(held.node, int(scalar)), False)

    def MulScalarIntNew(self, x: int, scalar: int) -> int:
        return self._same_level(x, lambda held: self._multiple(held.node, int(scalar)), True)

    def _plus_plain(self, x: int, vector: Vector, new: bool) -> int:
        return self._same_level(
            x, lambda held: node("plus_vector", (held.node,), vector, "a sum"), new
        )

    def AddPlaintext(self, x: int, plain: int) -> int:
        return self._plus_plain(x, self._plain[plain].vector, False)

    def AddPlaintextNew(self, x: int, plain: int) -> int:
        return self._plus_plain(x, self._plain[plain].vector, True)

    def SubPlaintext(self, x: int, plain: int) -> int:
        return self._plus_plain(x, self._plain[plain].vector.times(-1), False)

    def SubPlaintextNew(self, x: int, plain: int) -> int:
        return self._plus_plain(x, self._plain[plain].vector.times(-1), True)

    def _both(self, x: int, y: int, kind: str, new: bool) -> int:
        other = self._encrypted[y]
        if self._encrypted[x].pending != other.pending:
            why = "a sum of a product and of what is none: the product has to be rescaled (Rescale)"
            raise errors.MismatchError(why)
        return self._same_level(
            x, lambda held: node(kind, (held.node, other.node), None, "a sum"), new
        )

    def AddCiphertext(self, x: int, y: int) -> int:
        return self._both(x, y, "add", False)

    def AddCiphertextNew(self, x: int, y: int) -> int:
        return self._both(x, y, "add", True)

    def SubCiphertext(self, x: int, y: int) -> int:
        return self._both(x, y, "subtract", False)

    def SubCiphertextNew(self, x: int, y: int) -> int:
        return self._both(x, y, "subtract", True)

    # Products, which Orion rescales

    def _product(self, x: int, by: float, change: _Change, new: bool) -> int:
        """A product with something of scale `by`."""
        held = self._rescaled(x, "a product")
        at = change(held)
        # Whole numbers cost no level.
        pending = at.level < held.level
        scale = int(held.scale * by) if pending else held.scale
        if new:
            return self._add(at, scale, pending)
        held.node, held.scale, held.pending = at, scale, pending
        return x

    def _times_scalar(self, x: int, scalar: float, new: bool) -> int:
        value = number(scalar)
        return self._product(
            x, self._scale, lambda held: node("times", (held.node,), value, "a product"), new
        )

    def MulScalarFloat(self, x: int, scalar: float) -> int:
        return self._times_scalar(x, scalar, False)

    def MulScalarFloatNew(self, x: int, scalar: float) -> int:
        return self._times_scalar(x, scalar, True)

    def _times_plain(self, x: int, plain: int, new: bool) -> int:
        by = self._plain[plain]
        return self._product(
            x,
            by.scale,
            lambda held: node("times_vector", (held.node,), by.vector, "a product"),
            new,
        )

    def MulPlaintext(self, x: int, plain: int) -> int:
        return self._times_plain(x, plain, False)

    def MulPlaintextNew(self, x: int, plain: int) -> int:
        return self._times_plain(x, plain, True)

    def _times(self, x: int, y: int, new: bool) -> int:
        other = self._rescaled(y, "a product")
        return self._product(
            x,
            other.scale,
            lambda held: node("product", (held.node, other.node), None, "a product"),
            new,
        )

    def MulRelinCiphertext(self, x: int, y: int) -> int:
        return self._times(x, y, False)

    def MulRelinCiphertextNew(self, x: int, y: int) -> int:
        return self._times(x, y, True)

    def Rescale(self, x: int) -> int:
        """Products are at their level already; anything else stays as it is."""
        held = self._encrypted[x]
        if held.pending:
            held.scale = round(held.scale / self._moduli[min(held.level, self._top)])
            held.pending = False
        return x

    def RescaleNew(self, x: int) -> int:
        held = self._encrypted[x]
        return self.Rescale(self._add(held.node, held.scale, held.pending))

    # Polynomials

    def NewPolynomialEvaluator(self) -> None:
        """Servers evaluate polynomials."""

    def _add_polynomial(self, coefficients: Sequence[float], is_chebyshev: bool) -> int:
        listed = [float(c) for c in coefficients]
        make = ckks.Polynomial.from_chebyshev if is_chebyshev else ckks.Polynomial.from_powers
        found = next_number()
        made = Polynomial(make(listed, (-1, 1)), tuple(listed), is_chebyshev)
        self._polynomials[found] = made
        return found

    def GenerateMonomial(self, coefficients: Sequence[float]) -> int:
        return self._add_polynomial(coefficients, False)

    def GenerateChebyshev(self, coefficients: Sequence[float]) -> int:
        return self._add_polynomial(coefficients, True)

    def EvaluatePolynomial(self, x: int, polynomial: int, scale: int) -> int:
        held = self._rescaled(x, "a polynomial")
        value = self._polynomials[polynomial]
        return self._add(node("polynomial", (held.node,), value, "a polynomial"), int(scale))

    def GenerateMinimaxSignCoeffs(
        self, degrees: Sequence[int], _precision: int, log_alpha: int, _log_error: int, _debug: int
    ) -> list[float]:
        """Chebyshev coefficients of polynomials whose composition is 0 below -2^-log_alpha and 1
        above 2^-log_alpha, one after the other."""
        sign = ckks.CompositeSign.with_degrees(2.0**-log_alpha, list(degrees))
        lists = [list(polynomial.coefficients) for polynomial in sign.polynomials]
        lists[-1] = [c / 2 for c in lists[-1]]
        lists[-1][0] += 0.5
        padded = [c + [0.0] * (d + 1 - len(c)) for c, d in zip(lists, degrees, strict=True)]
        return [c for coefficients in padded for c in coefficients]

    # Linear transforms

    def NewLinearTransformEvaluator(self) -> None:
        """Servers evaluate linear maps."""

    def GenerateLinearTransform(
        self,
        indices: Sequence[int],
        diagonals: Sequence[float],
        level: int,
        _ratio: float,
        _io_mode: str,
    ) -> int:
        rows = np.asarray(diagonals, np.float64).reshape(len(indices), self.slots)
        by_index = {int(index): row for index, row in zip(indices, rows, strict=True)}
        # A map of zeros is none.
        made = ckks.LinearMap(self.slots, by_index) if rows.any() else None
        reads = np.zeros(self.slots, bool)
        for index, row in by_index.items():
            reads |= np.roll(row != 0, index)
        found = next_number()
        amounts = tuple(sorted(by for by, row in by_index.items() if row.any()))
        self._transforms[found] = Transform(made, int(level), amounts, reads)
        return found

    def DeleteLinearTransform(self, transform: int) -> None:
        self._transforms.pop(int(transform), None)

    def GetLinearTransformRotationKeys(self, transform: int) -> list[int]:
        """Rotations to the left, by which Orion asks for keys."""
        made = self._transforms[int(transform)].map
        return [] if made is None else made.rotations()

    def GenerateLinearTransformRotationKey(self, rotation: int) -> None:
        self._keys.want_rotations([rotation])

    def EvaluateLinearTransform(self, transform: int, x: int) -> int:
        held, made = self._rescaled(x, "a linear transform"), self._transforms[int(transform)]
        kind = "zero" if made.map is None else "map"
        at = node(kind, (held.node,), made, "a linear transform")
        return self._add(at, held.scale * self._scale, True)

    # Bootstrapping

    def NewBootstrapper(self, _log_p: Sequence[int], _slots: int) -> None:
        """Keys for vectors of all slots: real ones take no longer than sparse ones."""
        self._keys.want_bootstrapping()

    def Bootstrap(self, x: int, _slots: int) -> int:
        held = self._rescaled(x, "a bootstrapping")
        if not self._keys.bootstraps:
            raise errors.MissingKeyError("a bootstrapping: NewBootstrapper asks for its keys")
        return self._add(Node("bootstrap", (held.node,), None, self._top), self._scale)

    def DeleteBootstrappers(self) -> None:
        """Their keys lie with the others."""
