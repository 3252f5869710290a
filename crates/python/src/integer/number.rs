//! Encrypted integers of every kind behind one interface: on the host, and on a device.

use super::kind::{Element, Kind, Plain, for_kind};
use super::operation::{
    Binary, Move, Typed, Unary, condition_operations, not_of_conditions, number_operations, own,
};
use crate::errors::{Failure, Outcome};
use crate::tfhe::gather;
use girih::integer::{Encrypted, FheBool, FheInt, FheUint, Integer, Integers};
use girih::tfhe::{self, LweCiphertexts};
use std::sync::Arc;

/// An array on the host.
pub trait Host: Send + Sync {
    /// What its elements are.
    fn kind(&self) -> Kind;

    /// Its ciphertexts, digit after digit.
    fn ciphertexts(&self) -> &LweCiphertexts;

    /// The values of its elements.
    ///
    /// # Errors
    /// As `Encrypted::decrypt`.
    fn decrypt(&self, client: &tfhe::ClientKey) -> Outcome<Vec<Plain>>;

    /// The same on a device.
    ///
    /// # Errors
    /// As `Integers::upload`.
    fn upload(&self, integers: &Integers) -> Outcome<Held>;

    /// Some of its elements, in any order.
    ///
    /// # Errors
    /// For none, or one that is not there.
    fn take(&self, elements: &[usize]) -> Outcome<Arc<dyn Host>>;

    /// What it is of, and its ciphertexts.
    ///
    /// # Errors
    /// As `Encrypted::to_bytes`.
    fn to_bytes(&self) -> Outcome<Vec<u8>>;
}

impl<T: Element + Number + Integer<Engine = tfhe::ServerKey>> Host for Encrypted<T> {
    fn kind(&self) -> Kind {
        T::KIND
    }

    fn ciphertexts(&self) -> &LweCiphertexts {
        self.ciphertexts()
    }

    fn decrypt(&self, client: &tfhe::ClientKey) -> Outcome<Vec<Plain>> {
        Ok(self.decrypt_wide(client)?.into_iter().map(T::plain).collect())
    }

    fn upload(&self, integers: &Integers) -> Outcome<Held> {
        hold(integers.upload(self)?)
    }

    fn take(&self, elements: &[usize]) -> Outcome<Arc<dyn Host>> {
        let digits = self.ciphertexts().len() / self.len();
        let of_digit = |d: usize| elements.iter().map(move |&e| d * self.len() + e);
        let taken: Vec<usize> = (0..digits).flat_map(of_digit).collect();
        let taken = gather::take(self.ciphertexts(), &taken)?;
        Ok(Arc::new(Self::from_ciphertexts(taken, elements.len())?))
    }

    fn to_bytes(&self) -> Outcome<Vec<u8>> {
        Ok(self.to_bytes()?)
    }
}

/// Encrypts values of a kind.
///
/// # Errors
/// As `Encrypted::encrypt`.
pub fn encrypt(kind: Kind, client: &tfhe::ClientKey, values: &[Plain]) -> Outcome<Arc<dyn Host>> {
    for_kind!(kind, girih::integer, T => {
        Ok(Arc::new(Encrypted::<T>::encrypt(client, &own::<T>(values)?)?))
    })
}

/// Known values as an array on a device.
///
/// # Errors
/// As `Integers::constants`.
pub fn constants(kind: Kind, integers: &Integers, values: &[Plain]) -> Outcome<Held> {
    for_kind!(kind, girih::integer, T => hold(integers.constants::<T, _>(&own::<T>(values)?)?))
}

/// Where random values lie.
#[derive(Clone, Copy)]
pub enum Range {
    /// Below `2^bits`, or anywhere.
    Bits(Option<u32>),
    /// Below a bound, within a distance of uniform values.
    Below { bound: u128, log2_distance: u32 },
}

/// Random values on a device.
///
/// # Errors
/// As `FheUint::generate_oblivious_pseudo_random_bounded`, and for conditions of so many bits.
pub fn random(
    kind: Kind,
    integers: &Integers,
    seed: &[u8; 32],
    count: usize,
    range: Range,
) -> Outcome<Held> {
    macro_rules! numbers {
        ($($bits:literal)*) => {
            match (kind, range) {
                $(
                    (Kind::Uint($bits), Range::Below { bound, log2_distance }) => {
                        hold(FheUint::<$bits>::generate_oblivious_pseudo_random_custom_range(
                            integers, seed, count, bound, log2_distance,
                        )?)
                    }
                )*
                (kind, Range::Below { .. }) => Err(Failure::mismatch(format!(
                    "random {kind} below a bound: they are drawn of unsigned integers, such as \
                     uint8"
                ))),
                (kind, Range::Bits(bits)) => match (kind, bits) {
                (Kind::Bool, None | Some(1)) => {
                    hold(FheBool::generate_oblivious_pseudo_random(integers, seed, count)?)
                }
                (Kind::Bool, Some(bits)) => Err(Failure::mismatch(format!(
                    "random conditions of {bits} bits: a condition has one"
                ))),
                $(
                    (Kind::Uint($bits), bits) => {
                        hold(FheUint::<$bits>::generate_oblivious_pseudo_random_bounded(
                            integers, seed, count, bits.unwrap_or($bits),
                        )?)
                    }
                    (Kind::Int($bits), None) => {
                        hold(FheInt::<$bits>::generate_oblivious_pseudo_random(
                            integers, seed, count,
                        )?)
                    }
                    (Kind::Int($bits), Some(bits)) => {
                        hold(FheInt::<$bits>::generate_oblivious_pseudo_random_bounded(
                            integers, seed, count, bits,
                        )?)
                    }
                )*
                    _ => Err(Failure::mismatch(format!("there are no {kind}"))),
                },
            }
        };
    }
    numbers!(4 8 16 32 64 128 160 256)
}

/// What [`Host::to_bytes`] wrote, with its number of elements.
///
/// # Errors
/// `MalformedError` for anything else.
pub fn from_bytes(bytes: &[u8]) -> Outcome<(Arc<dyn Host>, usize)> {
    // `girih 1 FheUint16`, as `Encrypted::to_bytes` begins.
    let line = bytes.iter().take(32).position(|byte| *byte == b'\n').unwrap_or(0);
    let name = String::from_utf8_lossy(&bytes[..line]);
    let name = name.strip_prefix("girih 1 Fhe").unwrap_or_default().to_lowercase();
    let kind = Kind::parse(&name).map_err(|_| {
        Failure::new("MalformedError", "these bytes do not begin as encrypted integers do")
    })?;
    for_kind!(kind, girih::integer, T => {
        let read = Encrypted::<T>::from_bytes(bytes)?;
        let len = read.len();
        Ok((Arc::new(read) as Arc<dyn Host>, len))
    })
}

/// An array on a device, shared.
pub type Held = Arc<dyn Number>;

/// The other operand.
pub type Operand<'a> = super::operation::Operand<'a, dyn Number>;

/// An array on a device.
pub trait Number: Typed + Send + Sync {
    /// A copy on the host.
    ///
    /// # Errors
    /// As `Integers::download`.
    fn download(&self, integers: &Integers) -> Outcome<Arc<dyn Host>>;

    /// An operation of this array.
    ///
    /// # Errors
    /// Those of the operation, and for one that such integers do not have.
    fn unary(&self, operation: Unary) -> Outcome<Held>;

    /// An operation of this array and another one or a value.
    ///
    /// # Errors
    /// As [`Number::unary`], and for another kind.
    fn binary(&self, operation: Binary, other: Operand<'_>) -> Outcome<Vec<Held>>;

    /// Its bits moved by an encrypted number of places for each element.
    ///
    /// # Errors
    /// As [`Number::unary`], and for amounts that are no natural numbers.
    fn move_by(&self, how: Move, amounts: &dyn Number) -> Outcome<Held>;

    /// Whether an element is one of these values.
    ///
    /// # Errors
    /// Those of the operation, and for conditions.
    fn is_in(&self, values: &[Plain]) -> Outcome<Held>;

    /// What stands beside an element in a table, as this kind of such a width, and whether it is
    /// there.
    ///
    /// # Errors
    /// As [`Number::is_in`], and for another kind.
    fn find(&self, table: &[(Plain, Plain)], to: Kind) -> Outcome<[Held; 2]>;

    /// Some of its elements, in any order and as often as wanted.
    ///
    /// # Errors
    /// As `Integers::take`.
    fn take(&self, integers: &Integers, elements: &[usize]) -> Outcome<Held>;

    /// The same numbers as another kind, modulo its range.
    ///
    /// # Errors
    /// Failures of the device, and for conditions to be made of numbers.
    fn cast(&self, to: Kind) -> Outcome<Held>;
}

impl dyn Number {
    /// Bits moved by encrypted numbers of places: by the width or more nothing is left of them.
    ///
    /// # Errors
    /// As [`Number::move_by`].
    pub fn moved_by(&self, how: Move, width: u32, amounts: &Held) -> Outcome<Held> {
        let largest = 1u64.checked_shl(amounts.kind().bits()).map_or(u64::MAX, |values| values - 1);
        let (Move::ShiftLeft | Move::ShiftRight, Kind::Uint(_)) = (how, amounts.kind()) else {
            return self.move_by(how, amounts.as_ref());
        };
        if largest < u64::from(width) {
            return self.move_by(how, amounts.as_ref());
        }
        if let (Move::ShiftRight, Kind::Int(_)) = (how, self.kind()) {
            let most = Operand::Plain(Plain::Natural((width - 1).into()));
            let amounts = amounts.one(Binary::Minimum, most)?;
            return self.move_by(how, amounts.as_ref());
        }
        let moved = self.move_by(how, amounts.as_ref())?;
        let few = amounts.one(Binary::Less, Operand::Plain(Plain::Natural(width.into())))?;
        let none = Operand::Plain(Plain::zero(self.kind()));
        select(few.as_ref(), Operand::Array(moved.as_ref()), none)
    }

    /// The first result of an operation.
    ///
    /// # Errors
    /// As [`Number::binary`].
    pub fn one(&self, operation: Binary, other: Operand<'_>) -> Outcome<Held> {
        let first = self.binary(operation, other)?.into_iter().next();
        first.ok_or_else(|| Failure::new("InternalError", "an operation without a result"))
    }

    /// The sum of `terms` arrays of `entries` elements that lie one after the other in this one.
    ///
    /// # Errors
    /// Those of sums.
    pub fn folded(&self, integers: &Integers, terms: usize, entries: usize) -> Outcome<Held> {
        let part = |array: &Self, from: usize, to: usize| {
            array.take(integers, &(from * entries..to * entries).collect::<Vec<_>>())
        };
        let mut sums = part(self, 0, terms)?;
        let (mut left, mut odd): (usize, Option<Held>) = (terms, None);
        while left > 1 {
            let half = left / 2;
            if left > 2 * half {
                let last = part(sums.as_ref(), 2 * half, left)?;
                odd = Some(match odd {
                    None => last,
                    Some(odd) => odd.one(Binary::Add, Operand::Array(last.as_ref()))?,
                });
            }
            let high = part(sums.as_ref(), half, 2 * half)?;
            let low = part(sums.as_ref(), 0, half)?;
            sums = low.one(Binary::Add, Operand::Array(high.as_ref()))?;
            left = half;
        }
        match odd {
            None => Ok(sums),
            Some(odd) => sums.one(Binary::Add, Operand::Array(odd.as_ref())),
        }
    }
}

fn hold(array: impl Number + 'static) -> Outcome<Held> {
    Ok(Arc::new(array))
}

/// `match_value` of a number, to another width.
macro_rules! found {
    ($self:ident, $to:ident, $same:ident, $numbers:ident, $beside:ident, $($bits:literal)*) => {
        match $to {
            $(
                Kind::$same($bits) => {
                    // Values of one sign are of one type, whatever their width.
                    let beside = own::<Self>(&$beside)?;
                    let table: Vec<_> = $numbers.into_iter().zip(beside).collect();
                    let (result, found) = $self.match_value_wide::<$bits>(&table)?;
                    Ok([hold(result)?, hold(found)?])
                }
            )*
            _ => {
                let from = Self::KIND;
                Err(Failure::mismatch(format!(
                    "a table of {from} has numbers of the same sign, of any width, not {}", $to
                )))
            }
        }
    };
}

/// What both kinds of numbers do.
macro_rules! number {
    ($type:ident, $same:ident, $other:ident, $absolute:expr) => {
        impl<const BITS: u32> Number for $type<BITS> {
            fn download(&self, integers: &Integers) -> Outcome<Arc<dyn Host>> {
                Ok(Arc::new(integers.download(self)?))
            }

            number_operations!($same, $other, $absolute);

            fn is_in(&self, values: &[Plain]) -> Outcome<Held> {
                hold(self.is_in(&own::<Self>(values)?)?)
            }

            fn find(&self, table: &[(Plain, Plain)], to: Kind) -> Outcome<[Held; 2]> {
                let (numbers, beside): (Vec<Plain>, Vec<Plain>) = table.iter().copied().unzip();
                let numbers = own::<Self>(&numbers)?;
                found!(self, to, $same, numbers, beside, 4 8 16 32 64 128 160 256)
            }

            fn take(&self, integers: &Integers, elements: &[usize]) -> Outcome<Held> {
                hold(integers.take(self, elements)?)
            }
        }
    };
}

number!(FheUint, Uint, Int, |x| Ok(x.clone()));
number!(FheInt, Int, Uint, |x| x.abs());

impl Number for FheBool {
    condition_operations!();

    fn download(&self, integers: &Integers) -> Outcome<Arc<dyn Host>> {
        Ok(Arc::new(integers.download(self)?))
    }

    fn is_in(&self, _values: &[Plain]) -> Outcome<Held> {
        Err(not_of_conditions())
    }

    fn find(&self, _table: &[(Plain, Plain)], _to: Kind) -> Outcome<[Held; 2]> {
        Err(not_of_conditions())
    }

    fn take(&self, integers: &Integers, elements: &[usize]) -> Outcome<Held> {
        hold(integers.take(self, elements)?)
    }
}

/// Elements of `on` where the condition holds, else of `off`.
///
/// # Errors
/// Unless `condition` is of conditions and the others are of one kind, one of them an array; and
/// failures of the device.
pub fn select(condition: &dyn Number, on: Operand<'_>, off: Operand<'_>) -> Outcome<Held> {
    let Some(condition) = condition.any().downcast_ref::<FheBool>() else {
        let why = format!("conditions select, not {}: compare first", condition.kind());
        return Err(Failure::mismatch(why));
    };
    let kind = match (on, off) {
        (Operand::Array(array), _) | (_, Operand::Array(array)) => array.kind(),
        _ => return Err(Failure::mismatch("a choice of two known values: encrypt one of them")),
    };
    for_kind!(kind, girih::integer, T => {
        hold(condition.select::<T>(on.of::<T>()?, off.of::<T>()?)?)
    })
}
