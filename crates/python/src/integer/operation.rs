//! Operations of encrypted integers of every kind, whatever computes them.

use super::kind::{Element, Kind, Plain};
use crate::errors::{Failure, Outcome};
use girih::integer::Other;
use std::any::Any;

pub use girih::integer::Count;

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

/// An array on a device.
pub trait Typed {
    /// What its elements are.
    fn kind(&self) -> Kind;

    /// Itself, to be asked for its type.
    fn any(&self) -> &dyn Any;
}

impl<T: Element> Typed for T {
    fn kind(&self) -> Kind {
        T::KIND
    }

    fn any(&self) -> &dyn Any {
        self
    }
}

/// The other operand: an array of a trait.
pub enum Operand<'a, N: ?Sized> {
    /// An array.
    Array(&'a N),
    /// One value for all elements.
    Plain(Plain),
}

impl<N: ?Sized> Clone for Operand<'_, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<N: ?Sized> Copy for Operand<'_, N> {}

impl<'a, N: Typed + ?Sized> Operand<'a, N> {
    /// The operand as one of `T`.
    ///
    /// # Errors
    /// For one of another kind.
    pub fn of<T: Element>(self) -> Outcome<Other<'a, T>> {
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

/// Values as those of one type.
///
/// # Errors
/// For values of another kind.
pub fn own<T: Element>(values: &[Plain]) -> Outcome<Vec<T::Known>> {
    let found = values.iter().map(|value| T::value(*value)).collect::<Option<Vec<_>>>();
    found.ok_or_else(|| Failure::mismatch(format!("values of another kind than {}", T::KIND)))
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

/// `cast` of a condition: 0 and 1 as numbers.
macro_rules! counted {
    ($self:ident, $to:ident, $($bits:literal)*) => {
        match $to {
            Kind::Bool => hold($self.clone()),
            $(
                Kind::Uint($bits) => hold($self.to_uint::<$bits>()?),
                Kind::Int($bits) => hold($self.to_int::<$bits>()?),
            )*
            _ => Err(Failure::mismatch(format!("there are no {}", $to))),
        }
    };
}

pub(crate) use {counted, moved, resized};

/// What numbers of both signs do, in an `impl Number` of them.
macro_rules! number_operations {
    ($same:ident, $other:ident, $absolute:expr) => {
        fn unary(&self, operation: Unary) -> Outcome<Held> {
            let absolute: fn(&Self) -> girih::integer::Result<Self> = $absolute;
            hold(match operation {
                // Of another type.
                Unary::Count(which) => return hold(self.count(which)?),
                Unary::Propagate => self.propagate(),
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
            $crate::integer::operation::moved!(self, how, amounts, 4 8 16 32 64 128 160 256)
        }

        fn cast(&self, to: Kind) -> Outcome<Held> {
            $crate::integer::operation::resized!(self, to, $same, $other, 4 8 16 32 64 128 160 256)
        }
    };
}
pub(crate) use number_operations;

/// What conditions do, in an `impl Number` of them.
macro_rules! condition_operations {
    () => {
        fn unary(&self, operation: Unary) -> Outcome<Held> {
            match operation {
                Unary::Not => hold(self.not()?),
                Unary::Propagate => hold(self.clone()),
                _ => Err($crate::integer::operation::not_of_conditions()),
            }
        }

        fn binary(&self, operation: Binary, other: Operand<'_>) -> Outcome<Vec<Held>> {
            let other = other.of::<Self>()?;
            let result = match operation {
                Binary::And => self.and(other)?,
                Binary::Or => self.or(other)?,
                Binary::Xor | Binary::NotEqual => self.xor(other)?,
                Binary::Equal => self.xor(other)?.not()?,
                _ => return Err($crate::integer::operation::not_of_conditions()),
            };
            Ok(vec![hold(result)?])
        }

        fn move_by(&self, _how: Move, _amounts: &dyn Number) -> Outcome<Held> {
            Err($crate::integer::operation::not_of_conditions())
        }

        fn cast(&self, to: Kind) -> Outcome<Held> {
            $crate::integer::operation::counted!(self, to, 4 8 16 32 64 128 160 256)
        }
    };
}
pub(crate) use condition_operations;

/// What is said of other operations of conditions.
pub fn not_of_conditions() -> Failure {
    Failure::mismatch("conditions have &, |, ^, ~, ==, != and select; astype makes numbers of them")
}
