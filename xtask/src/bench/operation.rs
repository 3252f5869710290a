//! What is run on every message: a list for each kind of bench, and all of them as `--op`.

use clap::ValueEnum;
use clap::builder::PossibleValue;
use std::sync::LazyLock;

/// What is run on every message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Gate(GateOperation),
    Large(LargeFunction),
    Integer(IntegerOperation),
    Ckks(CkksOperation),
    Discrete(DiscreteOperation),
}

/// Gates, look-ups and functions of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GateOperation {
    Nand,
    And,
    Or,
    Nor,
    Xor,
    Xnor,
    /// All six gates in turn, mixed in one batch.
    Gates,
    /// Majority of three bits.
    Majority,
    /// `select ? a : b`: three bootstrappings.
    Mux,
    /// A look-up table on two-bit messages; on four-bit ones where the set is made for them.
    Lut,
}

/// Functions of large-precision messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LargeFunction {
    /// EvalFunc: an arbitrary function of a message that fills its modulus.
    Func,
    /// EvalFloor: clear the four lowest bits of a large-precision message.
    Floor,
    /// EvalSign: the top bit of a large-precision message.
    Sign,
    /// EvalDecomp: the four-bit digits of a large-precision message.
    Decomp,
    /// Less than, of two large-precision messages.
    Compare,
    /// The larger of a large-precision message and 0, in two's complement.
    Relu,
    /// The larger of two large-precision messages.
    Max,
}

/// Operations on arrays of encrypted integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum IntegerOperation {
    /// Encrypted integers of 64 bits: a sum, with its carries.
    Add64,
    /// Encrypted integers: a product.
    Mul64,
    /// Encrypted integers: a quotient.
    Div64,
    /// Encrypted integers: less than.
    #[value(alias = "less64")]
    Cmp64,
    /// Encrypted integers: AND of every bit.
    Bitand64,
    /// Encrypted integers: `condition ? a : b`.
    Select64,
    /// Encrypted integers: results in few bytes on the host.
    Compress64,
}

impl IntegerOperation {
    /// What it makes of `a`, `b` and a condition, in the plain.
    pub fn of(self, a: u64, b: u64, condition: bool) -> u64 {
        match self {
            Self::Add64 => a.wrapping_add(b),
            Self::Mul64 => a.wrapping_mul(b),
            Self::Div64 => a.checked_div(b).unwrap_or(u64::MAX),
            Self::Cmp64 => u64::from(a < b),
            Self::Select64 if condition => a,
            Self::Select64 => b,
            Self::Bitand64 | Self::Compress64 => a & b,
        }
    }
}

/// Operations of CKKS sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CkksOperation {
    /// CKKS: a whole bootstrapping.
    Bootstrap,
    /// CKKS: the product of two ciphertexts, relinearised and rescaled.
    Multiply,
    /// CKKS: the square, relinearised and rescaled.
    Square,
    /// CKKS: a rotation by one slot.
    Rotate,
    /// CKKS: a rescaling.
    Rescale,
    /// CKKS: eight rotations of one ciphertext, which share their decomposition.
    Hoisted,
    /// CKKS: a linear transform of 32 diagonals.
    Transform,
    /// CKKS: a polynomial of degree 31.
    Chebyshev,
    /// CKKS, on the host: slots to a polynomial.
    Encode,
    /// CKKS, on the host: encoding and encryption.
    Encrypt,
}

/// Operations on numbers in slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DiscreteOperation {
    /// Numbers in slots (DISCRETE sets): a table of every number.
    Lookup,
    /// Numbers in slots: NAND of two bits each.
    Gate,
    /// Numbers in slots: AES-128 of as many blocks as a ciphertext has numbers.
    Aes,
    /// Numbers in slots: the circuit of --netlist, of as many instances.
    Circuit,
}

/// All of them, in the order of `--help`.
static ALL: LazyLock<Vec<Operation>> = LazyLock::new(|| {
    let gates = GateOperation::value_variants().iter().copied().map(Operation::Gate);
    let large = LargeFunction::value_variants().iter().copied().map(Operation::Large);
    let integers = IntegerOperation::value_variants().iter().copied().map(Operation::Integer);
    let ckks = CkksOperation::value_variants().iter().copied().map(Operation::Ckks);
    let discrete = DiscreteOperation::value_variants().iter().copied().map(Operation::Discrete);
    gates.chain(large).chain(integers).chain(ckks).chain(discrete).collect()
});

impl ValueEnum for Operation {
    fn value_variants<'a>() -> &'a [Self] {
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Gate(op) => op.to_possible_value(),
            Self::Large(op) => op.to_possible_value(),
            Self::Integer(op) => op.to_possible_value(),
            Self::Ckks(op) => op.to_possible_value(),
            Self::Discrete(op) => op.to_possible_value(),
        }
    }
}

/// What the command line calls an operation.
pub fn name(op: impl ValueEnum) -> String {
    op.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}
