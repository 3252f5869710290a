//! Encrypted integers of every kind behind one interface: on the host, and on a device.

use super::kind::{Element, Kind, Plain, for_kind};
use crate::errors::{Failure, Outcome};
use crate::tfhe::gather;
use girih::integer::{Encrypted, FheBool, FheInt, FheUint, Integers, Other};
use girih::tfhe::{self, LweCiphertexts};
use std::any::Any;
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

impl<T: Element + Number> Host for Encrypted<T> {
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
    for_kind!(kind, T => {
        Ok(Arc::new(Encrypted::<T>::encrypt(client, &own::<T>(values)?)?))
    })
}

/// Known values as an array on a device.
///
/// # Errors
/// As `Integers::constants`.
pub fn constants(kind: Kind, integers: &Integers, values: &[Plain]) -> Outcome<Held> {
    for_kind!(kind, T => hold(integers.constants::<T, _>(&own::<T>(values)?)?))
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

/// Values as those of one type.
fn own<T: Element>(values: &[Plain]) -> Outcome<Vec<T::Known>> {
    let found = values.iter().map(|value| T::value(*value)).collect::<Option<Vec<_>>>();
    found.ok_or_else(|| Failure::mismatch(format!("values of another kind than {}", T::KIND)))
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
    for_kind!(kind, T => {
        let read = Encrypted::<T>::from_bytes(bytes)?;
        let len = read.len();
        Ok((Arc::new(read) as Arc<dyn Host>, len))
    })
}

/// An array on a device, shared.
pub type Held = Arc<dyn Number>;

/// Operations of one array.
#[derive(Clone, Copy, Debug)]
pub enum Unary {
    /// Carries that wait.
    Propagate,
    Negate,
    Not,
    Absolute,
    /// By a known number of bits.
    Move(Move, u32),
    /// Of bits, as numbers of 32 bits.
    Count(Count),
}

/// Which bits are counted.
#[derive(Clone, Copy, Debug)]
pub enum Count {
    Ones,
    Zeros,
    LeadingOnes,
    LeadingZeros,
    TrailingOnes,
    TrailingZeros,
    /// Those below the highest one.
    Log2,
}

/// Operations of two.
#[derive(Clone, Copy, Debug)]
pub enum Binary {
    Add,
    Subtract,
    Multiply,
    /// Quotient and remainder.
    Divide,
    /// The same, and whether there are such.
    CheckedDivide,
    And,
    Or,
    Xor,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
    Minimum,
    Maximum,
    /// The sum, and whether it left the range.
    OverflowingAdd,
    OverflowingSubtract,
    OverflowingMultiply,
}

/// Ways to move bits.
#[derive(Clone, Copy, Debug)]
pub enum Move {
    ShiftLeft,
    ShiftRight,
    RotateLeft,
    RotateRight,
}

/// The other operand.
#[derive(Clone, Copy)]
pub enum Operand<'a> {
    /// An array.
    Array(&'a dyn Number),
    /// One value for all elements.
    Plain(Plain),
}

impl<'a> Operand<'a> {
    /// The operand as one of `T`.
    fn of<T: Element>(self) -> Outcome<Other<'a, T>> {
        let wrong = |kind: &str| {
            Failure::mismatch(format!(
                "{} and {kind} do not go together: astype makes one of the other",
                T::KIND
            ))
        };
        match self {
            Self::Array(array) => {
                let same = array.any().downcast_ref::<T>();
                same.map(Other::Array).ok_or_else(|| wrong(&array.kind().to_string()))
            }
            Self::Plain(value) => {
                T::value(value).map(Other::Plain).ok_or_else(|| wrong("a value of another kind"))
            }
        }
    }
}

/// An array on a device.
pub trait Number: Send + Sync {
    /// What its elements are.
    fn kind(&self) -> Kind;

    /// Itself, to be asked for its type.
    fn any(&self) -> &dyn Any;

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

/// `move_by` of a number, by amounts of any width.
macro_rules! moved {
    ($self:ident, $how:ident, $amounts:ident, $($bits:literal)*) => {{
        $(
            if let Some(by) = $amounts.any().downcast_ref::<FheUint<$bits>>() {
                return hold(match $how {
                    Move::ShiftLeft => $self.shl_by(by),
                    Move::ShiftRight => $self.shr_by(by),
                    Move::RotateLeft => $self.rotate_left_by(by),
                    Move::RotateRight => $self.rotate_right_by(by),
                }?);
            }
        )*
        let kind = $amounts.kind();
        Err(Failure::mismatch(format!("bits are moved by natural numbers, not by {kind}")))
    }};
}

/// `cast` of a number: to another width, then perhaps to the other sign.
macro_rules! resized {
    ($self:ident, $to:ident, $same:ident, $other:ident, $($bits:literal)*) => {
        match $to {
            $(
                Kind::$same($bits) => hold($self.resize::<$bits>()?),
                Kind::$other($bits) => hold($self.resize::<$bits>()?.reinterpret()),
            )*
            _ => {
                let from = Self::KIND;
                Err(Failure::mismatch(format!("{from} is not made into {}: write x != 0", $to)))
            }
        }
    };
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
            fn kind(&self) -> Kind {
                Self::KIND
            }

            fn any(&self) -> &dyn Any {
                self
            }

            fn download(&self, integers: &Integers) -> Outcome<Arc<dyn Host>> {
                Ok(Arc::new(integers.download(self)?))
            }

            fn unary(&self, operation: Unary) -> Outcome<Held> {
                let absolute: fn(&Self) -> girih::integer::Result<Self> = $absolute;
                if let Unary::Count(which) = operation {
                    return hold(match which {
                        Count::Ones => self.count_ones(),
                        Count::Zeros => self.count_zeros(),
                        Count::LeadingOnes => self.leading_ones(),
                        Count::LeadingZeros => self.leading_zeros(),
                        Count::TrailingOnes => self.trailing_ones(),
                        Count::TrailingZeros => self.trailing_zeros(),
                        Count::Log2 => self.ilog2(),
                    }?);
                }
                hold(match operation {
                    Unary::Propagate | Unary::Count(_) => self.propagate(),
                    Unary::Negate => self.neg(),
                    Unary::Not => self.not(),
                    Unary::Absolute => absolute(self),
                    Unary::Move(Move::ShiftLeft, bits) => self.shl(bits),
                    Unary::Move(Move::ShiftRight, bits) => self.shr(bits),
                    Unary::Move(Move::RotateLeft, bits) => self.rotate_left(bits),
                    Unary::Move(Move::RotateRight, bits) => self.rotate_right(bits),
                }?)
            }

            fn binary(&self, operation: Binary, other: Operand<'_>) -> Outcome<Vec<Held>> {
                let other = other.of::<Self>()?;
                let one = |array: Self| Ok(vec![hold(array)?]);
                let condition = |condition: FheBool| Ok(vec![hold(condition)?]);
                let both = |(array, flag): (Self, FheBool)| Ok(vec![hold(array)?, hold(flag)?]);
                match operation {
                    Binary::Add => one(self.add(other)?),
                    Binary::Subtract => one(self.sub(other)?),
                    Binary::Multiply => one(self.mul(other)?),
                    Binary::And => one(self.and(other)?),
                    Binary::Or => one(self.or(other)?),
                    Binary::Xor => one(self.xor(other)?),
                    Binary::Minimum => one(self.min(other)?),
                    Binary::Maximum => one(self.max(other)?),
                    Binary::Less => condition(self.less(other)?),
                    Binary::LessOrEqual => condition(self.less_or_equal(other)?),
                    Binary::Greater => condition(self.greater(other)?),
                    Binary::GreaterOrEqual => condition(self.greater_or_equal(other)?),
                    Binary::Equal => condition(self.equal(other)?),
                    Binary::NotEqual => condition(self.not_equal(other)?),
                    Binary::OverflowingAdd => both(self.overflowing_add(other)?),
                    Binary::OverflowingSubtract => both(self.overflowing_sub(other)?),
                    Binary::OverflowingMultiply => both(self.overflowing_mul(other)?),
                    Binary::CheckedDivide => {
                        let (quotient, remainder, good) = self.checked_div_rem(other)?;
                        Ok(vec![hold(quotient)?, hold(remainder)?, hold(good)?])
                    }
                    Binary::Divide => {
                        let (quotient, remainder) = self.div_rem(other)?;
                        Ok(vec![hold(quotient)?, hold(remainder)?])
                    }
                }
            }

            fn move_by(&self, how: Move, amounts: &dyn Number) -> Outcome<Held> {
                moved!(self, how, amounts, 4 8 16 32 64 128 160 256)
            }

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

            fn cast(&self, to: Kind) -> Outcome<Held> {
                resized!(self, to, $same, $other, 4 8 16 32 64 128 160 256)
            }
        }
    };
}

number!(FheUint, Uint, Int, |x| Ok(x.clone()));
number!(FheInt, Int, Uint, |x| x.abs());

impl Number for FheBool {
    fn kind(&self) -> Kind {
        Kind::Bool
    }

    fn any(&self) -> &dyn Any {
        self
    }

    fn download(&self, integers: &Integers) -> Outcome<Arc<dyn Host>> {
        Ok(Arc::new(integers.download(self)?))
    }

    fn unary(&self, operation: Unary) -> Outcome<Held> {
        match operation {
            Unary::Not => hold(self.not()?),
            Unary::Propagate => hold(self.clone()),
            _ => Err(not_of_conditions()),
        }
    }

    fn binary(&self, operation: Binary, other: Operand<'_>) -> Outcome<Vec<Held>> {
        let other = other.of::<Self>()?;
        let result = match operation {
            Binary::And => self.and(other)?,
            Binary::Or => self.or(other)?,
            Binary::Xor | Binary::NotEqual => self.xor(other)?,
            Binary::Equal => self.xor(other)?.not()?,
            _ => return Err(not_of_conditions()),
        };
        Ok(vec![hold(result)?])
    }

    fn move_by(&self, _how: Move, _amounts: &dyn Number) -> Outcome<Held> {
        Err(not_of_conditions())
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

    fn cast(&self, to: Kind) -> Outcome<Held> {
        macro_rules! numbers {
            ($($bits:literal)*) => {
                match to {
                    Kind::Bool => hold(self.clone()),
                    $(
                        Kind::Uint($bits) => hold(self.to_uint::<$bits>()?),
                        Kind::Int($bits) => hold(self.to_int::<$bits>()?),
                    )*
                    _ => Err(Failure::mismatch(format!("there are no {to}"))),
                }
            };
        }
        numbers!(4 8 16 32 64 128 160 256)
    }
}

fn not_of_conditions() -> Failure {
    Failure::mismatch("conditions have &, |, ^, ~, ==, != and select; astype makes numbers of them")
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
    for_kind!(kind, T => hold(condition.select::<T>(on.of::<T>()?, off.of::<T>()?)?))
}
