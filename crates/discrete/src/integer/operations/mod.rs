//! What is recorded for each operation.

mod add;
mod bits;
mod divide;
mod multiply;
mod order;

use super::linear::Linear;
use super::program::Program;
use super::recorder::Recorder;
use super::standard::Standard;
use crate::Result;
use std::sync::Arc;

/// Values of a digit.
pub(super) const RADIX: i64 = 4;

/// The largest digit.
pub(super) const MOST: i64 = RADIX - 1;

/// Functions of two bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Logic {
    And,
    Or,
    Xor,
}

impl Logic {
    fn of(self, a: i64, b: i64) -> i64 {
        match self {
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
        }
    }
}

/// What a comparison asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Order {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
}

/// Where bits go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Move {
    ShiftLeft,
    ShiftRight,
    RotateLeft,
    RotateRight,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Operation {
    /// The same number, with errors of clean digits.
    Clean,
    Add,
    Subtract,
    /// The result, and whether it left the range.
    AddOverflowing,
    SubtractOverflowing,
    Negate,
    Absolute,
    Multiply,
    /// Quotient and remainder.
    Divide,
    /// Of all operands.
    Sum,
    Compare(Order),
    Minimum,
    Maximum,
    /// A bit, then what it chooses from.
    Select,
    Logic(Logic),
    Not,
    Move(Move, u32),
    /// By an encrypted number of bits.
    MoveBy(Move),
    /// To so many digits.
    Cast(usize),
    /// A bit as a number of so many digits.
    FromBit(usize),
    BitLogic(Logic),
    BitNot,
    BitSelect,
}

/// What is known of a digit of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum State {
    Known(i64),
    Clean,
    Rest,
}

/// An operation, and what is known of its operands: programs are recorded for that.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Request {
    pub operation: Operation,
    pub signed: bool,
    /// Digits, and whether they are bits.
    pub operands: Vec<(Vec<State>, bool)>,
}

impl Request {
    /// Records the operation. Inputs are the digits that are not known, operand by operand.
    pub fn record(&self, standard: &Arc<Standard>) -> Result<Program> {
        let mut recorder = Recorder::new(Arc::clone(standard));
        let mut operands = Vec::with_capacity(self.operands.len());
        for (digits, bits) in &self.operands {
            let most = if *bits { 1 } else { MOST };
            let of = |state: &State| match state {
                State::Known(value) => Linear::constant(*value),
                State::Clean => recorder.input(standard.clean(most).clone(), most),
                State::Rest => recorder.input(standard.rest(most).clone(), most),
            };
            operands.push(digits.iter().map(of).collect::<Vec<Linear>>());
        }
        let results = self.of(&mut recorder, &operands)?;
        recorder.finish(results)
    }

    fn of(&self, recorder: &mut Recorder, operands: &[Vec<Linear>]) -> Result<Vec<Vec<Linear>>> {
        use Operation as O;
        let (a, signed) = (&operands[0], self.signed);
        let b = operands.get(1).unwrap_or(a);
        let one = |digits: Vec<Linear>| vec![digits];
        Ok(match self.operation {
            O::Clean => one(recorder.cleaned(a)?),
            O::Add => one(add::add(recorder, a, b)?),
            O::Subtract => one(add::subtract(recorder, a, b)?),
            O::AddOverflowing => add::overflowing(recorder, a, b, signed, false)?,
            O::SubtractOverflowing => add::overflowing(recorder, a, b, signed, true)?,
            O::Negate => one(add::subtract(recorder, &vec![Linear::constant(0); a.len()], a)?),
            O::Absolute => one(add::absolute(recorder, a)?),
            O::Multiply => one(multiply::multiply(recorder, a, b)?),
            O::Divide => divide::divide(recorder, a, b, signed)?,
            O::Sum => one(multiply::sum(recorder, operands)?),
            O::Compare(order) => one(vec![order::compare(recorder, a, b, order, signed)?]),
            O::Minimum => one(order::extreme(recorder, a, b, Order::Less, signed)?),
            O::Maximum => one(order::extreme(recorder, a, b, Order::Greater, signed)?),
            O::Select => one(order::select(recorder, &a[0], b, &operands[2])?),
            O::Logic(logic) => one(bits::logic(recorder, a, b, logic)?),
            O::Not => one(a.iter().map(|x| Linear::constant(MOST).minus(x)).collect()),
            O::Move(how, by) => one(bits::moved(recorder, a, how, by, signed)?),
            O::MoveBy(how) => one(bits::moved_by(recorder, a, b, how, signed)?),
            O::Cast(digits) => one(bits::resized(recorder, a, digits, signed)?),
            O::FromBit(digits) => one(bits::resized(recorder, a, digits, false)?),
            O::BitLogic(logic) => {
                let sum = a[0].times(2).plus(&b[0]);
                one(vec![recorder.one(&sum, |v| logic.of(v >> 1, v & 1))?])
            }
            O::BitNot => one(vec![Linear::constant(1).minus(&a[0])]),
            O::BitSelect => {
                let sum = a[0].times(4).plus(&b[0].times(2)).plus(&operands[2][0]);
                one(vec![recorder.one(&sum, |v| if v >= 4 { v >> 1 & 1 } else { v & 1 })?])
            }
        })
    }
}
