//! What does not fit, in terms that a program can match, of every scheme.

use std::fmt;

/// Batches, numbers, tables, sets or keys that do not fit each other or what is asked of them:
/// what was found, and what would be right.
///
/// Every crate's error has it as `Mismatch`, so one name has one meaning in all of them.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// Too many things, too few, or none.
    #[error("{} {what}: there must be {allowed}", none(*found))]
    Count {
        /// Of what, in the plural: `gates for 4 ciphertexts`.
        what: String,
        /// How many there are.
        found: usize,
        /// How many there may be.
        allowed: Counts,
    },
    /// Lists that should be equally long.
    #[error("{what} have the lengths {found:?}: they must be equally long")]
    Lengths {
        /// The lists.
        what: &'static str,
        /// Their lengths, in order.
        found: Vec<usize>,
    },
    /// A natural number out of its range, such as an index or a number of bits.
    #[error("{what} is {found}, and must be {}", between(*least, *most))]
    Range {
        /// Which number.
        what: String,
        /// The number.
        found: u64,
        /// The least that is allowed.
        least: u64,
        /// The largest that is allowed, which is the least where only one is.
        most: u64,
    },
    /// A real number that is not allowed: not finite, or of the wrong size.
    #[error("{what} is {found}: {rule}")]
    Real {
        /// Which number.
        what: String,
        /// The number.
        found: f64,
        /// What is allowed.
        rule: &'static str,
    },
    /// A modulus of ciphertexts out of range, or another than is needed.
    #[error("{what} modulo 2^{log2_found}: {}", powers(*log2_least, *log2_most))]
    Modulus {
        /// What has it.
        what: String,
        /// log2 of the modulus it has.
        log2_found: u32,
        /// log2 of the least that serves.
        log2_least: u32,
        /// log2 of the largest that serves, which is the least where only one does.
        log2_most: u32,
    },
    /// Messages of another width than is needed.
    #[error(
        "{what} takes {}, and these ciphertexts are {} (plaintext moduli {expected} and {found}): \
         encrypt them in this width, or work on them in theirs",
        width(*expected),
        width(*found)
    )]
    PlaintextModulus {
        /// The operation.
        what: String,
        /// How many messages fill the circle, of these ciphertexts.
        found: u64,
        /// How many fill it where the operation can be used.
        expected: u64,
    },
    /// A value to encrypt, or to compute with, that does not fit. The error does not say what it
    /// is, as it may be secret.
    #[error("a {what} does not fit {into}, which takes {least} to {most}")]
    Value {
        /// What does not fit: `message`, `number`, ..
        what: &'static str,
        /// What it should fit.
        into: String,
        /// The least that fits.
        least: Box<str>,
        /// The largest that fits.
        most: Box<str>,
    },
    /// Encrypted numbers that may leave the range that an operation can read.
    #[error("numbers from {} to {}: {what} must be from {} to {}{advice}",
        found.0, found.1, allowed.0, allowed.1)]
    Numbers {
        /// What they should be: `bits`, `digits`, ..
        what: String,
        /// The least and the largest number that they may be.
        found: (i64, i64),
        /// The least and the largest that are allowed.
        allowed: (i64, i64),
        /// What to do about it, after a semicolon, or nothing.
        advice: &'static str,
    },
    /// Two things that should agree in something.
    #[error("{first} and {second}: {rule}")]
    Unlike {
        /// One of them.
        first: String,
        /// The other.
        second: String,
        /// In what they must agree.
        rule: &'static str,
    },
    /// Something of a form that does not serve: another level, scale, dimension or kind.
    #[error("{what} {found}, where {expected}")]
    Form {
        /// What it is.
        what: String,
        /// Which form it has.
        found: String,
        /// Which form is needed.
        expected: String,
    },
    /// Something that lives with another server.
    #[error("{what} live with another server key: download them there, and upload them here")]
    Server {
        /// What it is, in the plural.
        what: &'static str,
    },
    /// Ciphertexts that decrypt to nothing that they should hold. The error does not say what.
    #[error(
        "a ciphertext of {ciphertexts} decrypts to no {expected}: not made of such, or too noisy"
    )]
    Decrypted {
        /// The batch.
        ciphertexts: String,
        /// What they should hold, in the singular.
        expected: String,
    },
    /// A name that means nothing.
    #[error("no {what} `{}`; there are {known}", found.escape_debug())]
    Name {
        /// What it should name.
        what: &'static str,
        /// The name.
        found: String,
        /// The names there are.
        known: &'static str,
    },
}

/// How many of something there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Counts {
    /// So many.
    Exactly(usize),
    /// So many or more.
    From(usize),
    /// So many or fewer.
    UpTo(usize),
    /// From the first to the second number.
    Between(usize, usize),
    /// A whole number of groups of so many, one group at least.
    MultipleOf(usize),
    /// A power of two.
    PowerOfTwo {
        /// The least.
        least: usize,
        /// The largest.
        most: usize,
    },
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(count) => write!(f, "{count}"),
            Self::From(1) => write!(f, "at least one"),
            Self::From(least) => write!(f, "at least {least}"),
            Self::UpTo(most) => write!(f, "at most {most}"),
            Self::Between(least, most) => write!(f, "{least} to {most}"),
            Self::MultipleOf(group) => write!(f, "a multiple of {group}"),
            Self::PowerOfTwo { least, most } => {
                write!(f, "a power of two from {least} to {most}")
            }
        }
    }
}

impl Mismatch {
    /// `found` of `what`, of which there must be another number.
    pub fn count(what: impl Into<String>, found: usize, allowed: Counts) -> Self {
        Self::Count { what: what.into(), found, allowed }
    }

    /// None of `what`, of which there must be at least one.
    pub fn empty(what: impl Into<String>) -> Self {
        Self::count(what, 0, Counts::From(1))
    }

    /// `found` that is outside `least..=most`.
    pub fn range(
        what: impl Into<String>,
        found: impl Into<u64>,
        [least, most]: [impl Into<u64>; 2],
    ) -> Self {
        let (found, least, most) = (found.into(), least.into(), most.into());
        Self::Range { what: what.into(), found, least, most }
    }

    /// The index `found` of one of `len` things.
    pub fn index(what: impl Into<String>, found: usize, len: usize) -> Self {
        Self::range(what, found as u64, [0, (len as u64).saturating_sub(1)])
    }

    /// A real number that breaks `rule`.
    pub fn real(what: impl Into<String>, found: f64, rule: &'static str) -> Self {
        Self::Real { what: what.into(), found, rule }
    }

    /// log2 of a modulus that is outside `least..=most`.
    pub fn modulus(what: impl Into<String>, log2_found: u32, [least, most]: [u32; 2]) -> Self {
        Self::Modulus { what: what.into(), log2_found, log2_least: least, log2_most: most }
    }

    /// A value that is outside `least..=most`, which is all that `into` takes.
    pub fn value(
        what: &'static str,
        into: impl Into<String>,
        [least, most]: [impl ToString; 2],
    ) -> Self {
        let (least, most) = (least.to_string().into(), most.to_string().into());
        Self::Value { what, into: into.into(), least, most }
    }

    /// Numbers that may leave the `allowed` ones.
    pub fn numbers(
        what: impl Into<String>,
        found: (i64, i64),
        allowed: (i64, i64),
        advice: &'static str,
    ) -> Self {
        Self::Numbers { what: what.into(), found, allowed, advice }
    }

    /// Two things that break `rule`.
    pub fn unlike(first: impl Into<String>, second: impl Into<String>, rule: &'static str) -> Self {
        Self::Unlike { first: first.into(), second: second.into(), rule }
    }
}

/// A number as people say it.
fn none(found: usize) -> String {
    if found == 0 { "no".into() } else { found.to_string() }
}

/// Numbers of a range.
fn between(least: u64, most: u64) -> String {
    if least == most { least.to_string() } else { format!("from {least} to {most}") }
}

/// Moduli between two powers of two.
fn powers(least: u32, most: u32) -> String {
    match least == most {
        true => format!("the modulus must be 2^{least}"),
        false => format!("the modulus must be from 2^{least} to 2^{most}"),
    }
}

/// Messages of which `modulus` fill the circle, as people know them: half of it is free where that
/// is a power of two.
fn width(modulus: u64) -> String {
    match modulus {
        4 => "bits".into(),
        m if m.is_power_of_two() && m > 4 => format!("messages of {} bits", m.ilog2() - 1),
        m => format!("messages modulo {m}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_say_what_is_wrong_and_what_would_be_right() {
        let count = |found, allowed| Mismatch::count("gates", found, allowed);
        let plaintext =
            |found, expected| Mismatch::PlaintextModulus { what: "a gate".into(), found, expected };
        for (mismatch, text) in [
            (count(1, Counts::Exactly(4)), "1 gates: there must be 4"),
            (Mismatch::empty("gates"), "no gates: there must be at least one"),
            (count(1, Counts::From(2)), "1 gates: there must be at least 2"),
            (count(9, Counts::UpTo(8)), "9 gates: there must be at most 8"),
            (count(9, Counts::Between(1, 8)), "9 gates: there must be 1 to 8"),
            (count(9, Counts::MultipleOf(2)), "9 gates: there must be a multiple of 2"),
            (
                count(3, Counts::PowerOfTwo { least: 2, most: 8 }),
                "3 gates: there must be a power of two from 2 to 8",
            ),
            (
                Mismatch::Lengths { what: "arrays", found: vec![1, 2] },
                "arrays have the lengths [1, 2]: they must be equally long",
            ),
            (Mismatch::range("a base", 9u32, [2u32, 4]), "a base is 9, and must be from 2 to 4"),
            (Mismatch::range("a base", 9u32, [4u32, 4]), "a base is 9, and must be 4"),
            (Mismatch::index("a slot", 3, 3), "a slot is 3, and must be from 0 to 2"),
            (
                Mismatch::real("a step", -1.0, "it must be above 0"),
                "a step is -1: it must be above 0",
            ),
            (Mismatch::modulus("bits", 14, [9, 9]), "bits modulo 2^14: the modulus must be 2^9"),
            (
                Mismatch::modulus("results", 2, [3, 14]),
                "results modulo 2^2: the modulus must be from 2^3 to 2^14",
            ),
            (
                plaintext(8, 4),
                "a gate takes bits, and these ciphertexts are messages of 2 bits (plaintext moduli \
                 4 and 8): encrypt them in this width, or work on them in theirs",
            ),
            (
                plaintext(2, 10),
                "a gate takes messages modulo 10, and these ciphertexts are messages modulo 2 \
                 (plaintext moduli 10 and 2): encrypt them in this width, or work on them in \
                 theirs",
            ),
            (
                Mismatch::value("number", "FheUint8", [0, 255]),
                "a number does not fit FheUint8, which takes 0 to 255",
            ),
            (
                Mismatch::numbers("bits", (0, 3), (0, 1), "; look them up"),
                "numbers from 0 to 3: bits must be from 0 to 1; look them up",
            ),
            (
                Mismatch::unlike("G4", "G5", "sets must be the same"),
                "G4 and G5: sets must be the same",
            ),
            (
                Mismatch::Form {
                    what: "phases".into(),
                    found: "at level 2".into(),
                    expected: "they stand at level 0".into(),
                },
                "phases at level 2, where they stand at level 0",
            ),
            (
                Mismatch::Server { what: "these integers" },
                "these integers live with another server key: download them there, and upload them \
                 here",
            ),
            (
                Mismatch::Decrypted { ciphertexts: "a batch".into(), expected: "bit".into() },
                "a ciphertext of a batch decrypts to no bit: not made of such, or too noisy",
            ),
            (
                Mismatch::Name { what: "gate", found: "na\nnd".into(), known: "nand and or" },
                "no gate `na\\nnd`; there are nand and or",
            ),
        ] {
            assert_eq!(mismatch.to_string(), text);
        }
    }
}
