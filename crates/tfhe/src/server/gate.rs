//! Two-input gates: which window of phases is true.

use girih_backend::BootstrapShape;
use girih_rlwe::Mismatch;

/// A gate of two bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gate {
    /// NOT (a AND b).
    Nand,
    /// a AND b.
    And,
    /// a OR b.
    Or,
    /// NOT (a OR b).
    Nor,
    /// a differs from b.
    Xor,
    /// a equals b.
    Xnor,
}

impl Gate {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Nand, Self::And, Self::Or, Self::Nor, Self::Xor, Self::Xnor];

    /// The gate on plain bits.
    pub fn evaluate(self, a: bool, b: bool) -> bool {
        match self {
            Self::Nand => !(a && b),
            Self::And => a && b,
            Self::Or => a || b,
            Self::Nor => !(a || b),
            Self::Xor => a != b,
            Self::Xnor => a == b,
        }
    }

    /// Weight of both inputs: XOR and XNOR bootstrap `2 (c1 + c2)`, the others `c1 + c2`.
    pub fn weight(self) -> i32 {
        match self {
            Self::Xor | Self::Xnor => 2,
            _ => 1,
        }
    }

    /// What the gate is of one bit twice: the bit, its inverse, or a constant.
    pub(super) fn of_one(self) -> OfOne {
        match self {
            Self::And | Self::Or => OfOne::Copy,
            Self::Nand | Self::Nor => OfOne::Not,
            Self::Xor => OfOne::Constant(false),
            Self::Xnor => OfOne::Constant(true),
        }
    }

    /// Start of the true window `[low, low + q/2)` in units of q/8 (OpenFHE's gate constants,
    /// docs/tfhe.md, "One bootstrapping").
    fn low(self) -> i64 {
        match self {
            Self::Nand => -1,
            Self::And => 3,
            Self::Or => 1,
            Self::Nor => -3,
            Self::Xor => 2,
            Self::Xnor => -2,
        }
    }

    /// The test polynomial: N coefficients modulo Q.
    pub fn test_polynomial(self, shape: &BootstrapShape) -> Vec<u64> {
        bit_polynomial(shape, self.low())
    }
}

/// A function of one bit.
pub(super) enum OfOne {
    Copy,
    Not,
    Constant(bool),
}

impl std::fmt::Display for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Nand => "nand",
            Self::And => "and",
            Self::Or => "or",
            Self::Nor => "nor",
            Self::Xor => "xor",
            Self::Xnor => "xnor",
        })
    }
}

impl std::str::FromStr for Gate {
    type Err = crate::Error;

    fn from_str(name: &str) -> crate::Result<Self> {
        let found = Self::ALL.into_iter().find(|g| g.to_string().eq_ignore_ascii_case(name));
        let known = "nand, and, or, nor, xor, xnor";
        let unknown = || Mismatch::Name { what: "gate", found: name.into(), known };
        Ok(found.ok_or_else(unknown)?)
    }
}

/// round(Q/8), half up: added to the result, so that +-Q/8 become Q/4 and 0.
pub(crate) fn eighth(shape: &BootstrapShape) -> u64 {
    // Q below 2^61 for every set on prime words.
    shape.accumulator_modulus().map_or(1 << 61, |modulus| (modulus + 4) / 8)
}

/// `v_u = f(floor(u q / 2N))`, u < N, where f is +Q/8 on `[low, low + q/2)` (low in units of q/8)
/// and -Q/8 elsewhere.
pub(crate) fn bit_polynomial(shape: &BootstrapShape, low: i64) -> Vec<u64> {
    let (q, size) = (1u64 << shape.log2_lwe_modulus, shape.polynomial_size as u64);
    let low = (low * (q / 8) as i64).rem_euclid(q as i64) as u64;
    let high_value = eighth(shape);
    let low_value = shape
        .accumulator_modulus()
        .map_or(high_value.wrapping_neg(), |modulus| modulus - high_value);
    let inside = |u: u64| (u * q / (2 * size) + q - low) % q < q / 2;
    (0..size).map(|u| if inside(u) { high_value } else { low_value }).collect()
}
