//! Integers in slots of every kind behind one interface: on the host, and on a device.

use crate::errors::{Failure, Outcome};
use crate::integer::kind::{Kind, Plain};
use crate::integer::number::{Binary, Count, Move, Unary};
use girih::discrete::{
    ClientKey, EncryptedNumbers, FheBool, FheInt, FheUint, Integers, PublicKey, ServerKey,
};
use girih::integer::{Encrypted, I256, Integer, Other, U256};
use std::any::Any;
use std::sync::Arc;

/// Something for the type of a kind.
macro_rules! for_kind {
    ($kind:expr, $type:ident => $body:expr) => {
        for_kind!(@ $kind, $type, $body, 4 8 16 32 64 128 160 256)
    };
    (@ $kind:expr, $type:ident, $body:expr, $($bits:literal)*) => {
        match $kind {
            Kind::Bool => {
                type $type = FheBool;
                $body
            }
            $(
                Kind::Uint($bits) => {
                    type $type = FheUint<$bits>;
                    $body
                }
                Kind::Int($bits) => {
                    type $type = FheInt<$bits>;
                    $body
                }
            )*
            kind => Err(Failure::mismatch(format!("there are no {kind}"))),
        }
    };
}

/// What encrypts.
pub enum Maker {
    Client(Arc<ClientKey>),
    Public(Arc<PublicKey>),
}

/// An array on the host.
pub trait Host: Send + Sync {
    /// What its elements are.
    fn kind(&self) -> Kind;

    /// Its ciphertexts.
    fn numbers(&self) -> &EncryptedNumbers;

    /// The values of its elements.
    ///
    /// # Errors
    /// As `Encrypted::decrypt`.
    fn decrypt(&self, client: &ClientKey) -> Outcome<Vec<Plain>>;

    /// The same on a device.
    ///
    /// # Errors
    /// As `Integers::upload`.
    fn upload(&self, integers: &Integers) -> Outcome<Held>;

    /// What it is of, and its ciphertexts.
    ///
    /// # Errors
    /// As `Encrypted::to_bytes`.
    fn to_bytes(&self) -> Outcome<Vec<u8>>;
}

/// An array on a device, shared.
pub type Held = Arc<dyn Number>;

/// The other operand.
#[derive(Clone, Copy)]
pub enum Operand<'a> {
    /// An array.
    Array(&'a dyn Number),
    /// One value for all elements.
    Plain(Plain),
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

    /// Its bits moved by an encrypted number of places for each element, modulo the width.
    ///
    /// # Errors
    /// As [`Number::unary`], and for amounts that are no natural numbers.
    fn move_by(&self, how: Move, amounts: &dyn Number) -> Outcome<Held>;

    /// The sum of this array and others of its kind.
    ///
    /// # Errors
    /// As [`Number::binary`].
    fn total(&self, others: &[Held]) -> Outcome<Held>;

    /// The same numbers as another kind, modulo its range.
    ///
    /// # Errors
    /// Failures of the device, and for conditions to be made of numbers.
    fn cast(&self, to: Kind) -> Outcome<Held>;
}

/// The integers of girih, with what their values are here.
trait Element: Integer<Engine = ServerKey> + Send + Sync + 'static {
    const KIND: Kind;

    fn plain(value: Self::Known) -> Plain;

    fn value(plain: Plain) -> Option<Self::Known>;
}

impl Element for FheBool {
    const KIND: Kind = Kind::Bool;

    fn plain(value: bool) -> Plain {
        Plain::Bool(value)
    }

    fn value(plain: Plain) -> Option<bool> {
        if let Plain::Bool(value) = plain { Some(value) } else { None }
    }
}

impl<const BITS: u32> Element for FheUint<BITS> {
    const KIND: Kind = Kind::Uint(BITS);

    fn plain(value: U256) -> Plain {
        Plain::Natural(value)
    }

    fn value(plain: Plain) -> Option<U256> {
        if let Plain::Natural(value) = plain { Some(value) } else { None }
    }
}

impl<const BITS: u32> Element for FheInt<BITS> {
    const KIND: Kind = Kind::Int(BITS);

    fn plain(value: I256) -> Plain {
        Plain::Whole(value)
    }

    fn value(plain: Plain) -> Option<I256> {
        if let Plain::Whole(value) = plain { Some(value) } else { None }
    }
}

impl<T: Element + Number> Host for Encrypted<T> {
    fn kind(&self) -> Kind {
        T::KIND
    }

    fn numbers(&self) -> &EncryptedNumbers {
        self.ciphertexts()
    }

    fn decrypt(&self, client: &ClientKey) -> Outcome<Vec<Plain>> {
        Ok(self.decrypt_wide(client)?.into_iter().map(T::plain).collect())
    }

    fn upload(&self, integers: &Integers) -> Outcome<Held> {
        hold(integers.upload(self)?)
    }

    fn to_bytes(&self) -> Outcome<Vec<u8>> {
        Ok(self.to_bytes()?)
    }
}

fn hold(array: impl Number + 'static) -> Outcome<Held> {
    Ok(Arc::new(array))
}

/// Encrypts values of a kind.
///
/// # Errors
/// As `Encrypted::encrypt`.
pub fn encrypt(kind: Kind, maker: &Maker, values: &[Plain]) -> Outcome<Arc<dyn Host>> {
    fn one<T: Element + Number>(maker: &Maker, values: &[Plain]) -> Outcome<Arc<dyn Host>> {
        let own = values.iter().map(|value| T::value(*value)).collect::<Option<Vec<_>>>();
        let wrong = || Failure::mismatch(format!("values of another kind than {}", T::KIND));
        let own = own.ok_or_else(wrong)?;
        Ok(Arc::new(match maker {
            Maker::Client(key) => Encrypted::<T>::encrypt(key.as_ref(), &own)?,
            Maker::Public(key) => Encrypted::<T>::encrypt(key.as_ref(), &own)?,
        }))
    }
    for_kind!(kind, T => one::<T>(maker, values))
}

/// What [`Host::to_bytes`] wrote, with its number of elements.
///
/// # Errors
/// `MalformedError` for anything else.
pub fn from_bytes(bytes: &[u8]) -> Outcome<(Arc<dyn Host>, usize)> {
    // `girih 1 FheUint16 in slots`, as `Encrypted::to_bytes` begins.
    let line = bytes.iter().take(40).position(|byte| *byte == b'\n').unwrap_or(0);
    let name = String::from_utf8_lossy(&bytes[..line]);
    let name = name.strip_prefix("girih 1 Fhe").and_then(|name| name.strip_suffix(" in slots"));
    let kind = Kind::parse(&name.unwrap_or_default().to_lowercase()).map_err(|_| {
        Failure::new("MalformedError", "these bytes do not begin as encrypted integers in slots do")
    })?;
    for_kind!(kind, T => {
        let read = Encrypted::<T>::from_bytes(bytes)?;
        let len = read.len();
        Ok((Arc::new(read) as Arc<dyn Host>, len))
    })
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

fn unknown<T>(kind: Kind, operation: &dyn std::fmt::Debug) -> Outcome<T> {
    Err(Failure::mismatch(format!("{kind} in slots have no operation {operation:?}")))
}

/// What both kinds of numbers do.
macro_rules! number {
    ($type:ident, $same:ident, $other:ident, $absolute:expr, $($bits:literal)*) => {
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
                hold(match operation {
                    Unary::Propagate => self.propagate()?,
                    Unary::Negate => self.neg()?,
                    Unary::Not => self.not()?,
                    Unary::Absolute => ($absolute)(self)?,
                    Unary::Move(Move::ShiftLeft, by) => self.shl(by)?,
                    Unary::Move(Move::ShiftRight, by) => self.shr(by)?,
                    Unary::Move(Move::RotateLeft, by) => self.rotate_left(by)?,
                    Unary::Move(Move::RotateRight, by) => self.rotate_right(by)?,
                    Unary::Count(which) => {
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
                })
            }

            fn binary(&self, operation: Binary, other: Operand<'_>) -> Outcome<Vec<Held>> {
                let other = other.of::<Self>()?;
                let two = |(a, b): (Self, FheBool)| Ok(vec![hold(a)?, hold(b)?]);
                let one = |a: Self| Ok(vec![hold(a)?]);
                let flag = |a: FheBool| Ok(vec![hold(a)?]);
                match operation {
                    Binary::Add => one(self.add(other)?),
                    Binary::Subtract => one(self.sub(other)?),
                    Binary::Multiply => one(self.mul(other)?),
                    Binary::Divide => {
                        let (quotient, remainder) = self.div_rem(other)?;
                        Ok(vec![hold(quotient)?, hold(remainder)?])
                    }
                    Binary::And => one(self.and(other)?),
                    Binary::Or => one(self.or(other)?),
                    Binary::Xor => one(self.xor(other)?),
                    Binary::Less => flag(self.less(other)?),
                    Binary::LessOrEqual => flag(self.less_or_equal(other)?),
                    Binary::Greater => flag(self.greater(other)?),
                    Binary::GreaterOrEqual => flag(self.greater_or_equal(other)?),
                    Binary::Equal => flag(self.equal(other)?),
                    Binary::NotEqual => flag(self.not_equal(other)?),
                    Binary::Minimum => one(self.min(other)?),
                    Binary::Maximum => one(self.max(other)?),
                    Binary::OverflowingAdd => two(self.overflowing_add(other)?),
                    Binary::OverflowingSubtract => two(self.overflowing_sub(other)?),
                    Binary::OverflowingMultiply => two(self.overflowing_mul(other)?),
                    Binary::CheckedDivide => {
                        let (quotient, remainder, good) = self.checked_div_rem(other)?;
                        Ok(vec![hold(quotient)?, hold(remainder)?, hold(good)?])
                    }
                }
            }

            fn move_by(&self, how: Move, amounts: &dyn Number) -> Outcome<Held> {
                $(
                    if let Some(by) = amounts.any().downcast_ref::<FheUint<$bits>>() {
                        return hold(match how {
                            Move::ShiftLeft => self.shl_by(by),
                            Move::ShiftRight => self.shr_by(by),
                            Move::RotateLeft => self.rotate_left_by(by),
                            Move::RotateRight => self.rotate_right_by(by),
                        }?);
                    }
                )*
                let kind = amounts.kind();
                Err(Failure::mismatch(format!(
                    "bits are moved by natural numbers, not by {kind}"
                )))
            }

            fn total(&self, others: &[Held]) -> Outcome<Held> {
                let mut all = vec![self];
                for other in others {
                    match Operand::Array(other.as_ref()).of::<Self>()? {
                        Other::Array(other) => all.push(other),
                        Other::Plain(_) => return unknown(Self::KIND, &"of a known number"),
                    }
                }
                hold(Self::sum(&all)?)
            }

            fn cast(&self, to: Kind) -> Outcome<Held> {
                match to {
                    $(
                        Kind::$same($bits) => hold(self.resize::<$bits>()?),
                        Kind::$other($bits) => hold(self.resize::<$bits>()?.reinterpret()),
                    )*
                    _ => {
                        let from = Self::KIND;
                        let why = format!("{from} is not made into {to}: write x != 0");
                        Err(Failure::mismatch(why))
                    }
                }
            }
        }
    };
}

number!(FheUint, Uint, Int, |x: &FheUint<BITS>| Ok::<_, Failure>(x.clone()),
    4 8 16 32 64 128 160 256);
number!(FheInt, Int, Uint, FheInt::abs, 4 8 16 32 64 128 160 256);

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
            other => unknown(Kind::Bool, &other),
        }
    }

    fn binary(&self, operation: Binary, other: Operand<'_>) -> Outcome<Vec<Held>> {
        let other = other.of::<Self>()?;
        let result = match operation {
            Binary::And => self.and(other)?,
            Binary::Or => self.or(other)?,
            Binary::Xor | Binary::NotEqual => self.xor(other)?,
            Binary::Equal => self.xor(other)?.not()?,
            other => return unknown(Kind::Bool, &other),
        };
        Ok(vec![hold(result)?])
    }

    fn move_by(&self, how: Move, _: &dyn Number) -> Outcome<Held> {
        unknown(Kind::Bool, &how)
    }

    fn total(&self, _: &[Held]) -> Outcome<Held> {
        unknown(Kind::Bool, &"total, but x.astype(\"uint8\") has")
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

/// Elements of `on` where a condition holds, else of `off`, both of one kind.
///
/// # Errors
/// Those of selections, and for a condition that is none.
pub fn select(
    condition: &dyn Number,
    kind: Kind,
    on: Operand<'_>,
    off: Operand<'_>,
) -> Outcome<Held> {
    let Some(condition) = condition.any().downcast_ref::<FheBool>() else {
        let kind = condition.kind();
        return Err(Failure::mismatch(format!("{kind} chooses nothing: write (x != 0).select")));
    };
    for_kind!(kind, T => hold(condition.select::<T>(on.of::<T>()?, off.of::<T>()?)?))
}
