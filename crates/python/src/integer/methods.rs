//! Methods of Python that arrays of integers of both engines have.

/// The methods of a class of encrypted integers: its own, and those that both classes have. PyO3
/// takes one block of methods a class, so that the two parts meet here.
///
/// The class brings `unary`, `compared` and `results` (all results of an operation of two).
macro_rules! integer_methods {
    ($name:ident { $($own:tt)* }) => {
        impl $name {
            pub(super) fn binary(
                &self,
                py: Python<'_>,
                operation: Binary,
                other: &Bound<'_, PyAny>,
            ) -> PyResult<Self> {
                Ok(self.results(py, operation, other)?.swap_remove(0))
            }

            pub(super) fn both(
                &self,
                py: Python<'_>,
                operation: Binary,
                other: &Bound<'_, PyAny>,
            ) -> PyResult<(Self, Self)> {
                let mut results = self.results(py, operation, other)?;
                let second = results.swap_remove(1);
                Ok((results.swap_remove(0), second))
            }

            /// Both results, the second of which says that the first is right, where it says that
            /// it is wrong as it comes.
            pub(super) fn checked(
                &self,
                py: Python<'_>,
                operation: Binary,
                other: &Bound<'_, PyAny>,
            ) -> PyResult<(Self, Self)> {
                let (result, wrong) = self.both(py, operation, other)?;
                Ok((result, wrong.unary(py, Unary::Not)?))
            }
        }

        #[pymethods]
        impl $name {
            $($own)*

            fn __add__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.binary(py, Binary::Add, other)
            }

            fn __radd__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.binary(py, Binary::Add, other)
            }

            fn __sub__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.binary(py, Binary::Subtract, other)
            }

            fn __rsub__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.unary(py, Unary::Negate)?.binary(py, Binary::Add, other)
            }

            fn __mul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.binary(py, Binary::Multiply, other)
            }

            fn __rmul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.binary(py, Binary::Multiply, other)
            }

            /// Quotient and remainder, rounded towards 0. By 0 the quotient is all ones (of a
            /// dividend below 0: 1) and the remainder the dividend.
            fn div_rem(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<(Self, Self)> {
                self.both(py, Binary::Divide, other)
            }

            fn __and__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.binary(py, Binary::And, other)
            }

            fn __rand__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.binary(py, Binary::And, other)
            }

            fn __or__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.binary(py, Binary::Or, other)
            }

            fn __ror__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.binary(py, Binary::Or, other)
            }

            fn __xor__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.binary(py, Binary::Xor, other)
            }

            fn __rxor__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.binary(py, Binary::Xor, other)
            }

            fn __neg__(&self, py: Python<'_>) -> PyResult<Self> {
                self.unary(py, Unary::Negate)
            }

            fn __invert__(&self, py: Python<'_>) -> PyResult<Self> {
                self.unary(py, Unary::Not)
            }

            /// The absolute value; that of the lowest number is itself.
            fn __abs__(&self, py: Python<'_>) -> PyResult<Self> {
                self.unary(py, Unary::Absolute)
            }

            /// Comparisons are encrypted: arrays of conditions.
            fn __richcmp__(
                &self,
                py: Python<'_>,
                other: &Bound<'_, PyAny>,
                how: pyo3::basic::CompareOp,
            ) -> PyResult<Self> {
                let operation = match how {
                    pyo3::basic::CompareOp::Lt => Binary::Less,
                    pyo3::basic::CompareOp::Le => Binary::LessOrEqual,
                    pyo3::basic::CompareOp::Eq => Binary::Equal,
                    pyo3::basic::CompareOp::Ne => Binary::NotEqual,
                    pyo3::basic::CompareOp::Gt => Binary::Greater,
                    pyo3::basic::CompareOp::Ge => Binary::GreaterOrEqual,
                };
                self.compared(py, operation, other)
            }

            /// The smaller of both.
            fn minimum(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.binary(py, Binary::Minimum, other)
            }

            /// The larger of both.
            fn maximum(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
                self.binary(py, Binary::Maximum, other)
            }

            /// The sum, and whether it left the range.
            fn overflowing_add(
                &self,
                py: Python<'_>,
                other: &Bound<'_, PyAny>,
            ) -> PyResult<(Self, Self)> {
                self.both(py, Binary::OverflowingAdd, other)
            }

            /// The difference, and whether it left the range.
            fn overflowing_sub(
                &self,
                py: Python<'_>,
                other: &Bound<'_, PyAny>,
            ) -> PyResult<(Self, Self)> {
                self.both(py, Binary::OverflowingSubtract, other)
            }

            /// The product, and whether it left the range.
            fn overflowing_mul(
                &self,
                py: Python<'_>,
                other: &Bound<'_, PyAny>,
            ) -> PyResult<(Self, Self)> {
                self.both(py, Binary::OverflowingMultiply, other)
            }

            /// The sum, and whether it is in the range.
            fn checked_add(
                &self,
                py: Python<'_>,
                other: &Bound<'_, PyAny>,
            ) -> PyResult<(Self, Self)> {
                self.checked(py, Binary::OverflowingAdd, other)
            }

            /// The difference, and whether it is in the range.
            fn checked_sub(
                &self,
                py: Python<'_>,
                other: &Bound<'_, PyAny>,
            ) -> PyResult<(Self, Self)> {
                self.checked(py, Binary::OverflowingSubtract, other)
            }

            /// The product, and whether it is in the range.
            fn checked_mul(
                &self,
                py: Python<'_>,
                other: &Bound<'_, PyAny>,
            ) -> PyResult<(Self, Self)> {
                self.checked(py, Binary::OverflowingMultiply, other)
            }

            /// Quotient and remainder as of div_rem, and whether they are those of a division: not
            /// by 0, nor of the lowest signed number by -1.
            fn checked_div_rem(
                &self,
                py: Python<'_>,
                other: &Bound<'_, PyAny>,
            ) -> PyResult<(Self, Self, Self)> {
                let mut results = self.results(py, Binary::CheckedDivide, other)?;
                let (good, remainder) = (results.swap_remove(2), results.swap_remove(1));
                Ok((results.swap_remove(0), remainder, good))
            }

            /// The logarithm as of ilog2, and whether there is one.
            fn checked_ilog2(&self, py: Python<'_>) -> PyResult<(Self, Self)> {
                let zero = 0i32.into_pyobject(py)?.into_any();
                Ok((self.ilog2(py)?, self.compared(py, Binary::Greater, &zero)?))
            }

            /// How many bits are 1, as uint32.
            fn count_ones(&self, py: Python<'_>) -> PyResult<Self> {
                self.unary(py, Unary::Count(Count::Ones))
            }

            /// How many bits are 0.
            fn count_zeros(&self, py: Python<'_>) -> PyResult<Self> {
                self.unary(py, Unary::Count(Count::Zeros))
            }

            /// How many bits are 0 above the highest 1.
            fn leading_zeros(&self, py: Python<'_>) -> PyResult<Self> {
                self.unary(py, Unary::Count(Count::LeadingZeros))
            }

            /// How many bits are 1 above the highest 0.
            fn leading_ones(&self, py: Python<'_>) -> PyResult<Self> {
                self.unary(py, Unary::Count(Count::LeadingOnes))
            }

            /// How many bits are 0 below the lowest 1.
            fn trailing_zeros(&self, py: Python<'_>) -> PyResult<Self> {
                self.unary(py, Unary::Count(Count::TrailingZeros))
            }

            /// How many bits are 1 below the lowest 0.
            fn trailing_ones(&self, py: Python<'_>) -> PyResult<Self> {
                self.unary(py, Unary::Count(Count::TrailingOnes))
            }

            /// Which bit is the highest 1: the logarithm, rounded down; of 0 it is 0.
            fn ilog2(&self, py: Python<'_>) -> PyResult<Self> {
                self.unary(py, Unary::Count(Count::BelowHighest))
            }
        }
    };
}

pub(crate) use integer_methods;
