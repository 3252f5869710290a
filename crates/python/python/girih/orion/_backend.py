"""The operations that Orion calls, by Orion's names.

Those that end in New make a ciphertext, those of the same name without it change their first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .. import ckks, errors
from ._values import Encrypted, Transform, Values, next_number, whole_multiple

_Change = Callable[[Encrypted], ckks.Ciphertexts]


class Backend(Values):
    """What stands behind a scheme of Orion in the place of its own library."""

    def NewEvaluator(self) -> None:
        """Rotations by powers of two are for sums, and compose all others."""
        self._keys.want_rotations(1 << i for i in range(self.slots.bit_length() - 1))

    def AddRotationKey(self, amount: int) -> None:
        self._keys.want_rotations([amount])

    # Operations that leave the level as it is

    def _same_level(self, number: int, change: _Change, new: bool) -> int:
        held = self._loaded(number)
        with self._keys.server:
            vector = change(held)
        if new:
            return self._add(vector, held.scale, held.pending)
        held.vector = vector
        return number

    def Negate(self, x: int) -> int:
        return self._same_level(x, lambda held: -held.vector, True)

    def Rotate(self, x: int, amount: int) -> int:
        return self._same_level(x, lambda held: held.vector.rotate(amount), False)

    def RotateNew(self, x: int, amount: int) -> int:
        return self._same_level(x, lambda held: held.vector.rotate(amount), True)

    def AddScalar(self, x: int, scalar: float) -> int:
        return self._same_level(x, lambda held: held.vector + scalar, False)

    def AddScalarNew(self, x: int, scalar: float) -> int:
        return self._same_level(x, lambda held: held.vector + scalar, True)

    def SubScalar(self, x: int, scalar: float) -> int:
        return self.AddScalar(x, -scalar)

    def SubScalarNew(self, x: int, scalar: float) -> int:
        return self.AddScalarNew(x, -scalar)

    def MulScalarInt(self, x: int, scalar: int) -> int:
        return self._same_level(x, lambda held: whole_multiple(held.vector, scalar), False)

    def MulScalarIntNew(self, x: int, scalar: int) -> int:
        return self._same_level(x, lambda held: whole_multiple(held.vector, scalar), True)

    def AddPlaintext(self, x: int, plain: int) -> int:
        return self._same_level(x, lambda held: held.vector + self._plain[plain].values, False)

    def AddPlaintextNew(self, x: int, plain: int) -> int:
        return self._same_level(x, lambda held: held.vector + self._plain[plain].values, True)

    def SubPlaintext(self, x: int, plain: int) -> int:
        return self._same_level(x, lambda held: held.vector - self._plain[plain].values, False)

    def SubPlaintextNew(self, x: int, plain: int) -> int:
        return self._same_level(x, lambda held: held.vector - self._plain[plain].values, True)

    def _other(self, x: Encrypted, y: int) -> ckks.Ciphertexts:
        other = self._loaded(y)
        if x.pending != other.pending:
            why = "a sum of a product and of what is none: the product has to be rescaled (Rescale)"
            raise errors.MismatchError(why)
        return other.vector

    def AddCiphertext(self, x: int, y: int) -> int:
        return self._same_level(x, lambda held: held.vector + self._other(held, y), False)

    def AddCiphertextNew(self, x: int, y: int) -> int:
        return self._same_level(x, lambda held: held.vector + self._other(held, y), True)

    def SubCiphertext(self, x: int, y: int) -> int:
        return self._same_level(x, lambda held: held.vector - self._other(held, y), False)

    def SubCiphertextNew(self, x: int, y: int) -> int:
        return self._same_level(x, lambda held: held.vector - self._other(held, y), True)

    # Products, which Orion rescales

    def _product(self, number: int, by: float, change: _Change, new: bool) -> int:
        """A product with something of scale `by`."""
        held = self._rescaled(number, "a product")
        with self._keys.server:
            vector = change(held)
        # Whole numbers cost no level.
        pending = vector.level < held.vector.level
        scale = int(held.scale * by) if pending else held.scale
        if new:
            return self._add(vector, scale, pending)
        held.vector, held.scale, held.pending = vector, scale, pending
        return number

    def MulScalarFloat(self, x: int, scalar: float) -> int:
        return self._product(x, self._scale, lambda held: held.vector * scalar, False)

    def MulScalarFloatNew(self, x: int, scalar: float) -> int:
        return self._product(x, self._scale, lambda held: held.vector * scalar, True)

    def _times_plain(self, x: int, plain: int, new: bool) -> int:
        held = self._plain[plain]
        return self._product(x, held.scale, lambda x: x.vector * held.values, new)

    def MulPlaintext(self, x: int, plain: int) -> int:
        return self._times_plain(x, plain, False)

    def MulPlaintextNew(self, x: int, plain: int) -> int:
        return self._times_plain(x, plain, True)

    def _times(self, x: int, y: int, new: bool) -> int:
        other = self._rescaled(y, "a product")
        return self._product(x, other.scale, lambda held: held.vector * other.vector, new)

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
        return self.Rescale(self._add(held.vector, held.scale, held.pending))

    # Polynomials

    def NewPolynomialEvaluator(self) -> None:
        """Servers evaluate polynomials."""

    def _add_polynomial(self, polynomial: ckks.Polynomial) -> int:
        number = next_number()
        self._polynomials[number] = polynomial
        return number

    def GenerateMonomial(self, coefficients: Sequence[float]) -> int:
        return self._add_polynomial(ckks.Polynomial.from_powers(list(coefficients), (-1, 1)))

    def GenerateChebyshev(self, coefficients: Sequence[float]) -> int:
        return self._add_polynomial(ckks.Polynomial.from_chebyshev(list(coefficients), (-1, 1)))

    def EvaluatePolynomial(self, x: int, polynomial: int, scale: int) -> int:
        held = self._rescaled(x, "a polynomial")
        with self._keys.server:
            vector = held.vector.polynomial(self._polynomials[polynomial])
        return self._add(vector, int(scale))

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
        number = next_number()
        self._transforms[number] = Transform(made, int(level))
        return number

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
        server = self._keys.server
        with server:
            vector = held.vector
            if vector.level > made.level:
                vector = vector.adjust(made.level)
            if made.map is None:
                result = (vector * 0).adjust(vector.level - 1)
            else:
                result = made.run(server, vector)
        return self._add(result, held.scale * self._scale, True)

    # Bootstrapping

    def NewBootstrapper(self, _log_p: Sequence[int], _slots: int) -> None:
        """Keys for vectors of all slots: real ones take no longer than sparse ones."""
        self._keys.want_bootstrapping()

    def Bootstrap(self, x: int, _slots: int) -> int:
        held = self._rescaled(x, "a bootstrapping")
        with self._keys.server:
            vector = held.vector.bootstrap(real=True)
            if vector.level > self._top:
                vector = vector.adjust(self._top)
        return self._add(vector, self._scale)

    def DeleteBootstrappers(self) -> None:
        """Their keys lie with the others."""
