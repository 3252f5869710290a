//! What is recorded for each operation.

mod add;
mod bits;
mod count;
mod divide;
mod lists;
mod multiply;
mod order;

use super::linear::{Linear, MOST, RADIX};
use super::program::Program;
use super::recorder::Recorder;
use super::standard::Standard;
use crate::Result;
use crate::operation::{Logic, Move, Operand, Operation, Order};
use std::sync::Arc;

/// What is known of a digit of an array: its value, or how large its errors may be and the largest
/// value that it may have, which is 1 of conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    Known(i64),
    Clean(i64),
    Rest(i64),
}

impl State {
    /// The largest value that it may have.
    pub(super) fn most(self) -> i64 {
        match self {
            Self::Known(most) | Self::Clean(most) | Self::Rest(most) => most,
        }
    }
}

/// An operation, and what is known of its operands: programs are recorded for that.
pub(super) type Request = crate::operation::Request<State>;

/// Records the operation. Inputs are the digits that are not known, operand by operand.
pub(super) fn record(request: &Request, standard: &Arc<Standard>) -> Result<Program> {
    let mut recorder = Recorder::new(Arc::clone(standard));
    let mut operands: Vec<Vec<Linear>> = Vec::with_capacity(request.operands.len());
    for operand in &request.operands {
        let of = |state: &State| match *state {
            State::Known(value) => Linear::constant(value),
            State::Clean(most) => recorder.input(standard.clean(most).clone(), most),
            State::Rest(most) => recorder.input(standard.rest(most).clone(), most),
        };
        operands.push(match operand {
            Operand::Digits(states) => states.iter().map(of).collect(),
            Operand::Plain(digits) => {
                digits.iter().map(|&digit| Linear::constant(digit.into())).collect()
            }
            Operand::Same(earlier) => operands[*earlier].clone(),
        });
    }
    let results = results(&mut recorder, request, &operands)?;
    recorder.finish(results)
}

fn results(
    recorder: &mut Recorder,
    request: &Request,
    operands: &[Vec<Linear>],
) -> Result<Vec<Vec<Linear>>> {
    use Operation as O;
    let (a, signed) = (&operands[0], request.signed);
    let b = operands.get(1).unwrap_or(a);
    let one = |digits: Vec<Linear>| vec![digits];
    Ok(match request.operation {
        O::Clean => one(recorder.cleaned(a)?),
        O::Add => one(add::add(recorder, a, b)?),
        O::Subtract => one(add::subtract(recorder, a, b)?),
        O::AddOverflowing => add::overflowing(recorder, a, b, signed, false)?,
        O::SubtractOverflowing => add::overflowing(recorder, a, b, signed, true)?,
        O::Negate => one(add::subtract(recorder, &vec![Linear::constant(0); a.len()], a)?),
        O::Absolute => one(add::absolute(recorder, a)?),
        O::Multiply => one(multiply::multiply(recorder, a, b)?),
        O::MultiplyOverflowing => multiply::overflowing(recorder, a, b, signed)?,
        O::Count(which, digits) => one(count::count(recorder, which, a, digits)?),
        O::IsIn => one(vec![lists::is_in(recorder, a, &operands[1..])?]),
        O::Find => lists::find(recorder, a, &operands[1..])?,
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
        O::FromCondition(digits) => one(bits::resized(recorder, a, digits, false)?),
        O::ConditionLogic(logic) => {
            let sum = a[0].times(2).plus(&b[0]);
            one(vec![recorder.one(&sum, |v| logic.of(v >> 1, v & 1))?])
        }
        O::ConditionNot => one(vec![Linear::constant(1).minus(&a[0])]),
        O::ConditionSelect => {
            let sum = a[0].times(4).plus(&b[0].times(2)).plus(&operands[2][0]);
            one(vec![recorder.one(&sum, |v| if v >= 4 { v >> 1 & 1 } else { v & 1 })?])
        }
    })
}
