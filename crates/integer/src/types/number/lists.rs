//! Sums of several arrays, and numbers looked for in lists of known ones.

use super::{FheInt, FheUint};
use crate::Result;
use crate::engine::{Argument, Engine};
use crate::error::mismatch;
use crate::operation::Operation;
use crate::types::{FheBool, I256, Integer, U256};
use girih_rlwe::{Counts, Mismatch};

macro_rules! lists {
    ($name:ident, $known:ident, $plain:ident, $signed:literal) => {
        impl<const BITS: u32, E: Engine> $name<BITS, E> {
            /// The sum of arrays, element by element, modulo 2^BITS: columns of digits at once,
            /// which takes fewer look-ups than one sum after another.
            ///
            /// # Errors
            /// [`Error::Mismatch`](crate::Error::Mismatch) for no array and for arrays of unequal
            /// length or of two servers, and failures of the device.
            pub fn sum(arrays: &[&Self]) -> Result<Self> {
                let Some((first, rest)) = arrays.split_first() else {
                    return mismatch(Mismatch::empty("arrays of a sum"));
                };
                if arrays.len() > E::MOST_TERMS {
                    let parts = arrays.chunks(E::MOST_TERMS).map(Self::sum);
                    let parts = parts.collect::<Result<Vec<_>>>()?;
                    return Self::sum(&parts.iter().collect::<Vec<_>>());
                }
                let rest: Vec<Argument<'_, E>> =
                    rest.iter().map(|x| Argument::Array(&x.0)).collect();
                Ok(Self(first.0.run(Operation::Sum, $signed, &rest)?))
            }

            /// The sum of all elements, modulo 2^BITS: an array of one.
            ///
            /// # Errors
            /// Failures of the device.
            pub fn sum_elements(&self) -> Result<Self> {
                let count = self.len();
                if count == 1 {
                    return self.propagate();
                }
                let parts = count.min(32);
                let len = count / parts;
                let part = |from: usize, to: usize| -> Result<Self> {
                    Ok(Self(self.0.take(&(from..to).collect::<Vec<_>>())?))
                };
                let terms = (0..parts).map(|i| part(i * len, (i + 1) * len));
                let terms = terms.collect::<Result<Vec<_>>>()?;
                let sum = Self::sum(&terms.iter().collect::<Vec<_>>())?.sum_elements()?;
                match parts * len {
                    all if all == count => Ok(sum),
                    some => Self::sum(&[&sum, &part(some, count)?.sum_elements()?]),
                }
            }

            /// A known number as an operand.
            fn known(value: $known) -> Result<Argument<'static, E>> {
                Ok(Argument::Plain(Self::to_digits(value)?))
            }

            /// Whether an element is one of these known numbers.
            ///
            /// # Errors
            /// [`Error::Mismatch`](crate::Error::Mismatch) for no number or one out of range, and
            /// failures of the device.
            pub fn is_in<P: Copy + Into<$known>>(&self, values: &[P]) -> Result<FheBool<E>> {
                if values.is_empty() {
                    return mismatch(Mismatch::empty("numbers of a list"));
                }
                let values = values.iter().map(|&v| Self::known(v.into()));
                let values = values.collect::<Result<Vec<_>>>()?;
                Ok(FheBool::wrap(self.0.run(Operation::IsIn, $signed, &values)?))
            }

            /// What stands beside an element in a table of known numbers, 0 where it is not among
            /// them, and whether it is.
            ///
            /// # Errors
            /// [`Error::Mismatch`](crate::Error::Mismatch) for an empty table, a number that it has
            /// twice or one out of range, and failures of the device.
            pub fn match_value<const TO: u32>(
                &self,
                table: &[($plain, $plain)],
            ) -> Result<($name<TO, E>, FheBool<E>)> {
                self.match_value_wide::<TO>(&Self::widened(table))
            }

            /// `match_value` with numbers of any width.
            ///
            /// # Errors
            /// As for `match_value`.
            pub fn match_value_wide<const TO: u32>(
                &self,
                table: &[($known, $known)],
            ) -> Result<($name<TO, E>, FheBool<E>)> {
                if table.is_empty() {
                    return mismatch(Mismatch::empty("numbers of a table"));
                }
                let mut known: Vec<$known> = table.iter().map(|entry| entry.0).collect();
                known.sort_unstable();
                if let Some(twice) = known.windows(2).find(|pair| pair[0] == pair[1]) {
                    let what = format!("entries for the number {} of a table", twice[0]);
                    return mismatch(Mismatch::count(what, 2, Counts::Exactly(1)));
                }
                let mut entries = Vec::with_capacity(2 * table.len());
                for &(number, beside) in table {
                    entries.extend([Self::known(number)?, $name::<TO, E>::known(beside)?]);
                }
                let mut results = self.0.run_all(Operation::Find, $signed, &entries)?;
                let found = FheBool::wrap(results.swap_remove(1));
                Ok(($name(results.swap_remove(0)), found))
            }

            /// The same with a known number for elements that the table does not have.
            ///
            /// # Errors
            /// As for `match_value`.
            pub fn match_value_or<const TO: u32>(
                &self,
                table: &[($plain, $plain)],
                otherwise: $plain,
            ) -> Result<$name<TO, E>> {
                self.match_value_or_wide::<TO>(&Self::widened(table), otherwise.into())
            }

            /// `match_value_or` with numbers of any width.
            ///
            /// # Errors
            /// As for `match_value`.
            pub fn match_value_or_wide<const TO: u32>(
                &self,
                table: &[($known, $known)],
                otherwise: $known,
            ) -> Result<$name<TO, E>> {
                let (result, found) = self.match_value_wide::<TO>(table)?;
                found.select::<$name<TO, E>>(&result, otherwise)
            }

            fn widened(table: &[($plain, $plain)]) -> Vec<($known, $known)> {
                table.iter().map(|&(number, beside)| (number.into(), beside.into())).collect()
            }
        }
    };
}

lists!(FheUint, U256, u128, false);
lists!(FheInt, I256, i128, true);
