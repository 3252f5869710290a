//! What operations cost, by recording them.

use crate::operation::{Count, Logic, Move, Operand, Operation, Order};
use crate::tfhe::CONDITION;
use crate::tfhe::operations::{Request, record};
use crate::tfhe::record::{Aim, DigitState, Margin, Rules, Values};
use crate::tfhe::run::{budgets, digit_values, has_pairs, log2_failure};
use crate::{Result, error};
use girih_backend::Transform;
use girih_tfhe::{NoiseModel, ParameterSet};

/// What one operation costs on each element of an array.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Cost {
    /// What is computed.
    pub operation: &'static str,
    /// Bits of the operands.
    pub bits: u32,
    /// What the program is made for; an array that is long enough takes fewer bootstrappings.
    pub aim: Aim,
    /// Bootstrappings: one may look up two functions of the same sum.
    pub bootstrappings: usize,
    /// Bootstrappings one after another.
    pub levels: usize,
    /// Ciphertexts that are stored beside operands and results at most.
    pub scratch: usize,
    /// log2 of a bound on the probability that the result is wrong: the sum over its
    /// bootstrappings.
    pub log2_failure: f64,
}

/// How operations of the table are named, and what they are.
fn operations() -> [(&'static str, Vec<Operation>, bool); 23] {
    use Operation as Op;
    let one = |operation| vec![operation];
    [
        ("a + b, carries propagated", vec![Op::Add, Op::Clean], false),
        ("a - b, carries propagated", vec![Op::Subtract, Op::Clean], false),
        ("-a, carries propagated", vec![Op::Negate, Op::Clean], false),
        ("a * b", one(Op::Multiply), false),
        ("a / b, a % b", one(Op::Divide), false),
        ("a / b, a % b, signed", one(Op::Divide), true),
        ("a & b, a \\| b, a ^ b", one(Op::Logic(Logic::And)), false),
        ("a << 1", one(Op::Move(Move::ShiftLeft, 1)), false),
        ("a << b", one(Op::MoveBy(Move::ShiftLeft)), false),
        ("a >> b, signed", one(Op::MoveBy(Move::ShiftRight)), true),
        ("a rotated by b", one(Op::MoveBy(Move::RotateLeft)), false),
        ("a < b and the like", one(Op::Compare(Order::Less)), false),
        ("a == b", one(Op::Compare(Order::Equal)), false),
        ("min, max", one(Op::Maximum), false),
        ("condition ? a : b", one(Op::Select), false),
        ("a + b and overflow", one(Op::AddOverflowing), false),
        ("a + b and overflow, signed", one(Op::AddOverflowing), true),
        ("a - b and overflow", one(Op::SubtractOverflowing), false),
        ("a * b and overflow", one(Op::MultiplyOverflowing), false),
        ("abs", one(Op::Absolute), true),
        ("count_ones, count_zeros", one(Op::Count(Count::Ones, COUNT_DIGITS)), false),
        (
            "leading_zeros, ilog2 and the like",
            one(Op::Count(Count::LeadingZeros, COUNT_DIGITS)),
            false,
        ),
        ("sum of 8 numbers", one(Op::Sum), false),
    ]
}

/// Digits of a count of bits, 32 bits.
const COUNT_DIGITS: usize = 16;

/// The widths of the table.
const BITS: [u32; 5] = [8, 16, 32, 64, 128];

/// What operations on fresh or computed integers cost with `set` on a device that multiplies by
/// `transform`, where nothing may fail more often than `2^log2_bound`, for either aim: by
/// recording, not running.
///
/// # Errors
/// [`Error::Unsupported`](crate::Error::Unsupported) for a set on which look-ups of four bits fail
/// too often.
pub fn costs(set: &ParameterSet, transform: Transform, log2_bound: f64) -> Result<Vec<Cost>> {
    let model = NoiseModel::with_transform(set, transform);
    let (budgets, pairs) = (budgets(&model, set, log2_bound), has_pairs(set));
    let mut all = Vec::new();
    for aim in Aim::ALL {
        let rules = Rules { budgets, pairs, aim };
        for (name, steps, signed) in operations() {
            for bits in BITS {
                let log2_failure = |margin, norm| log2_failure(&model, set, margin, norm);
                let Some(cost) = cost((name, bits), &steps, signed, rules, &log2_failure) else {
                    let why = format!(
                        "there is no room for {name}, as look-ups of four bits fail with more than \
                         2^{log2_bound}"
                    );
                    return error::unsupported(set, why);
                };
                all.push(cost);
            }
        }
    }
    Ok(all)
}

fn cost(
    (operation, bits): (&'static str, u32),
    steps: &[Operation],
    signed: bool,
    rules: Rules,
    log2_failure: &dyn Fn(Margin, u32) -> f64,
) -> Option<Cost> {
    let digits =
        |values: Values, count| Operand::Digits(vec![DigitState { values, norm: 1 }; count]);
    let number = || digits(digit_values(), bits as usize / 2);
    let (bootstrappings, levels, scratch) = (0, 0, 0);
    let mut total = Cost {
        operation,
        bits,
        aim: rules.aim,
        bootstrappings,
        levels,
        scratch,
        log2_failure: 0.0,
    };
    let mut failure = 0.0;
    let mut given: Option<Operand<DigitState>> = None;
    for &step in steps {
        let operands = match step {
            Operation::Select => {
                vec![digits(Values::from_iter([0, CONDITION]), 1), number(), number()]
            }
            Operation::Clean
            | Operation::Negate
            | Operation::Absolute
            | Operation::Move(..)
            | Operation::Count(..) => vec![given.take().unwrap_or_else(number)],
            Operation::Sum => (0..8).map(|_| number()).collect(),
            _ => vec![number(), number()],
        };
        let program = record(&Request { operation: step, signed, operands }, rules)?;
        total.bootstrappings += program.bootstrappings();
        total.levels += program.levels;
        total.scratch = total.scratch.max(program.slots as usize);
        failure += program
            .norms
            .iter()
            .map(|(&(margin, norm), &count)| count as f64 * log2_failure(margin, norm).exp2())
            .sum::<f64>();
        given = program.outputs.into_iter().next().map(Operand::Digits);
    }
    total.log2_failure = failure.log2();
    Some(total)
}
