//! How wide the messages of a batch are, which whoever encrypts says in the open.

use super::{LweCiphertexts, check_modulus};
use crate::{Result, error};
use girih_rlwe::Mismatch;

/// Bits of gates, 0 and 1 of four; messages of one bit are the same.
pub(crate) const BITS: u64 = 4;

/// Refuses messages that are known to be of another plaintext modulus than `what` takes.
pub(crate) fn check_plaintext(found: Option<u64>, wanted: u64, what: &str) -> Result<()> {
    match found {
        Some(found) if found != wanted => error::mismatch(Mismatch::PlaintextModulus {
            what: what.into(),
            found,
            expected: wanted,
        }),
        _ => Ok(()),
    }
}

/// Refuses messages that take more than `bits` bits (at most 62). Messages may be secret: the error
/// says neither which it is nor what it is.
pub(crate) fn check_room(messages: &[u64], bits: u32) -> Result<()> {
    if messages.iter().any(|&m| m >> bits != 0) {
        let most = (1u64 << bits) - 1;
        return error::mismatch(Mismatch::value("message", format!("{bits} bits"), [0, most]));
    }
    Ok(())
}

/// The plaintext modulus of batches that become one, of those where it is known.
pub(crate) fn common_plaintext(
    moduli: impl Iterator<Item = Option<u64>> + Clone,
) -> Result<Option<u64>> {
    let mut known = moduli.clone().flatten();
    if let Some(first) = known.next()
        && let Some(other) = known.find(|&other| other != first)
    {
        let what = "a batch that begins so".into();
        let (found, expected) = (other, first);
        return error::mismatch(Mismatch::PlaintextModulus { what, found, expected });
    }
    Ok(moduli.fold(None, |all, one| all.or(one)))
}

impl LweCiphertexts {
    /// How many messages fill the circle: m stands as `m q / modulus`. Of bits it is 4, of messages
    /// of b bits for look-up tables `2^(b + 1)`, and otherwise what [`ClientKey::encrypt`] was
    /// given; none for words that were made elsewhere and for sums of messages of different widths.
    ///
    /// Gates and look-up tables refuse messages that are known to have another width than theirs; a
    /// [`Function`](crate::Function) reads them in its own steps. It is public and part of the
    /// bytes: it says how wide messages are, not what they are.
    ///
    /// [`ClientKey::encrypt`]: crate::ClientKey::encrypt
    pub fn plaintext_modulus(&self) -> Option<u64> {
        self.plaintext_modulus
    }

    /// The same ciphertexts, said to be of another plaintext modulus, or of one that nothing is
    /// known of: for whoever knows what phases stand for now.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for a modulus below 2 or above that of the
    /// ciphertexts.
    pub fn with_plaintext_modulus(self, modulus: Option<u64>) -> Result<Self> {
        modulus.map_or(Ok(()), |modulus| check_modulus(modulus, self.log2_modulus))?;
        Ok(self.encoding(modulus))
    }

    /// The same with one that is known to be possible.
    pub(crate) fn encoding(self, plaintext_modulus: Option<u64>) -> Self {
        Self { plaintext_modulus, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_that_are_known_must_be_the_same() {
        let common = |moduli: &[Option<u64>]| common_plaintext(moduli.iter().copied());
        assert_eq!(common(&[Some(8), None, Some(8)]).expect("one"), Some(8));
        assert_eq!(common(&[None, None]).expect("none"), None);
        let error = common(&[None, Some(8), Some(4)]).expect_err("two").to_string();
        assert!(
            error.contains("takes messages of 2 bits") && error.contains("are bits"),
            "{error}"
        );
        check_plaintext(None, 8, "a table").expect("not known");
        check_plaintext(Some(8), 8, "a table").expect("the same");
        let error = check_plaintext(Some(10), 8, "a table").expect_err("another").to_string();
        assert!(error.contains("messages modulo 10"), "{error}");
    }
}
