//! What operations cost, by recording them.

use super::linear::MOST;
use super::operations::{Request, State, record};
use super::standard::Standard;
use crate::Result;
use crate::operation::{Count, Logic, Move, Operand, Operation, Order};
use girih_discrete::Forecast;
use std::sync::Arc;

/// What one operation costs on as many elements as fit a ciphertext.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SlotCost {
    /// What is computed.
    pub operation: &'static str,
    /// Bits of the operands.
    pub bits: u32,
    /// Look-ups, each of one ciphertext.
    pub look_ups: usize,
    /// Tables of all look-ups: several of one sum cost little more than one.
    pub tables: usize,
    /// Look-ups one after another.
    pub levels: usize,
    /// Kinds of look-ups, each of which is recorded once on a device.
    pub kinds: usize,
}

/// How operations of the table are named, and what they are.
fn operations() -> [(&'static str, Operation, bool); 23] {
    use Operation as Op;
    [
        ("a + b, a - b", Op::Add, false),
        ("-a", Op::Negate, false),
        ("a * b", Op::Multiply, false),
        ("a / b, a % b", Op::Divide, false),
        ("a / b, a % b, signed", Op::Divide, true),
        ("the sum of three", Op::Sum, false),
        ("a & b, a \\| b, a ^ b", Op::Logic(Logic::And), false),
        ("a << 1", Op::Move(Move::ShiftLeft, 1), false),
        ("a << b", Op::MoveBy(Move::ShiftLeft), false),
        ("a < b and the like", Op::Compare(Order::Less), false),
        ("a < b and the like, signed", Op::Compare(Order::Less), true),
        ("a == b", Op::Compare(Order::Equal), false),
        ("min, max", Op::Maximum, false),
        ("condition ? a : b", Op::Select, false),
        ("a + b and overflow", Op::AddOverflowing, false),
        ("a + b and overflow, signed", Op::AddOverflowing, true),
        ("a - b and overflow", Op::SubtractOverflowing, false),
        ("a * b and overflow", Op::MultiplyOverflowing, false),
        ("a * b and overflow, signed", Op::MultiplyOverflowing, true),
        ("abs", Op::Absolute, true),
        ("count_ones, count_zeros", Op::Count(Count::Ones, 16), false),
        ("leading_zeros, ilog2 and the like", Op::Count(Count::LeadingZeros, 16), false),
        ("what comes of a selection, made clean", Op::Clean, false),
    ]
}

/// What operations on integers of so many bits cost with `forecast`'s set, where no look-up may be
/// wrong with a probability above `2^log2_failure`: by recording, not running.
///
/// # Errors
/// As [`Integers::new`](crate::Integers::new).
pub fn slot_costs(forecast: &Forecast, bits: u32, log2_failure: f64) -> Result<Vec<SlotCost>> {
    let standard = Arc::new(Standard::new(forecast, log2_failure)?);
    let one = |of: &(&'static str, Operation, bool)| cost(&standard, *of, bits);
    operations().iter().map(one).collect()
}

fn cost(
    standard: &Arc<Standard>,
    (name, operation, signed): (&'static str, Operation, bool),
    bits: u32,
) -> Result<SlotCost> {
    let digits = (bits as usize / 2).max(1);
    let number = |state| Operand::Digits(vec![state; digits]);
    let clean = State::Clean(MOST);
    let operands = match operation {
        Operation::Select => {
            vec![Operand::Digits(vec![State::Clean(1)]), number(clean), number(clean)]
        }
        Operation::Clean => vec![number(State::Rest(MOST))],
        Operation::Sum => vec![number(clean); 3],
        Operation::MoveBy(_) => {
            let amount = bits.next_power_of_two().ilog2().div_ceil(2) as usize;
            vec![number(clean), Operand::Digits(vec![clean; amount])]
        }
        Operation::Negate | Operation::Absolute | Operation::Move(..) | Operation::Count(..) => {
            vec![number(clean)]
        }
        _ => vec![number(clean); 2],
    };
    let program = record(&Request { operation, signed, operands }, standard)?;
    Ok(SlotCost {
        operation: name,
        bits,
        look_ups: program.lookups.len(),
        tables: program.tables(),
        levels: program.levels.len(),
        kinds: program.kinds.len(),
    })
}
