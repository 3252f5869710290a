//! What the owner of a client key makes and reads: ciphertexts, of messages and bits.

use super::ClientKey;
use crate::ciphertext::{BITS, check_plaintext, check_room, padded_modulus};
use crate::{CompressedResults, Decryption, LweCiphertexts, Result, SeededCiphertexts, error};
use girih_rlwe::Mismatch;

impl ClientKey {
    /// Encrypts messages below `modulus`: slot j of ciphertext c holds message
    /// `c r + j` as `m q / modulus`.
    ///
    /// Bits of gates have modulus 4 ([`ClientKey::encrypt_bits`]); inputs of look-up tables have
    /// one bit of padding ([`ClientKey::encrypt_messages`]).
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for an empty batch, one that is not a multiple
    /// of r, a message that is not below `modulus`, or a modulus outside `2..=q`.
    pub fn encrypt(&self, messages: &[u64], modulus: u64) -> Result<LweCiphertexts> {
        self.encrypt_at(messages, modulus, self.set().shape().log2_stored_modulus())
    }

    /// Encrypts messages below `modulus` under the ciphertext modulus
    /// `2^log2_modulus` instead of q.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt`], and for a ciphertext modulus below 8, above 2^30 or above Q_ks.
    pub fn encrypt_at(
        &self,
        messages: &[u64],
        modulus: u64,
        log2_modulus: u32,
    ) -> Result<LweCiphertexts> {
        Ok(LweCiphertexts::encrypt(self, messages, modulus, log2_modulus)?.0)
    }

    /// [`ClientKey::encrypt`] to ciphertexts without masks, which take 2 bytes a message with most
    /// sets and 8 on the native torus: for the way to whoever computes.
    ///
    /// Bits of gates have modulus 4; messages of look-up tables of b bits `2^(b + 1)`.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt`].
    pub fn encrypt_seeded(&self, messages: &[u64], modulus: u64) -> Result<SeededCiphertexts> {
        let log2_modulus = self.set().shape().log2_stored_modulus();
        SeededCiphertexts::encrypt(self, messages, modulus, log2_modulus)
    }

    /// Encrypts bits for gates: a bit b as `b q / 4`.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt`].
    pub fn encrypt_bits(&self, bits: &[bool]) -> Result<LweCiphertexts> {
        self.encrypt(&bits.iter().map(|&b| u64::from(b)).collect::<Vec<_>>(), 4)
    }

    /// Encrypts messages of `bits` bits for look-up tables, one bit of padding above them.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt`].
    pub fn encrypt_messages(&self, messages: &[u64], bits: u32) -> Result<LweCiphertexts> {
        let modulus = padded_modulus(self.set(), bits)?;
        check_room(messages, bits)?;
        self.encrypt(messages, modulus)
    }

    /// Decrypts every slot: `round(modulus phase / q) mod modulus`,
    /// q being the ciphertexts' own modulus.
    ///
    /// # Errors
    /// [`Error::WrongSet`](crate::Error::WrongSet) and [`Error::WrongKey`](crate::Error::WrongKey)
    /// for ciphertexts of another set or under another key, and
    /// [`Error::Mismatch`](crate::Error::Mismatch) for a modulus outside `2..=q`.
    pub fn decrypt(&self, ciphertexts: &LweCiphertexts, modulus: u64) -> Result<Vec<u64>> {
        ciphertexts.decrypt(self, modulus)
    }

    /// Decrypts every slot, and says how near the nearest was to being read as another message.
    ///
    /// **The room is as secret as the key**, as [`ClientKey::phases`] are: it tells of errors,
    /// which give secrets away to whoever knows ciphertexts. It serves to see on one's own machine
    /// whether a computation has the room that it should. What may be shown is
    /// [`LweCiphertexts::log2_failure`], which looks at no secret.
    ///
    /// # Errors
    /// As [`ClientKey::decrypt`].
    pub fn decrypt_checked(
        &self,
        ciphertexts: &LweCiphertexts,
        modulus: u64,
    ) -> Result<Decryption> {
        ciphertexts.decrypt_checked(self, modulus)
    }

    /// Decrypts bits of gates.
    ///
    /// # Errors
    /// As [`ClientKey::decrypt`], and if a slot decrypts to neither 0 nor 1; the error says neither
    /// which nor to what. Even that there was one says something of the secrets to whoever chose
    /// the ciphertexts: see SECURITY.md.
    pub fn decrypt_bits(&self, ciphertexts: &LweCiphertexts) -> Result<Vec<bool>> {
        check_plaintext(ciphertexts.plaintext_modulus(), BITS, "decryption of bits")?;
        let values = self.decrypt(ciphertexts, BITS)?;
        if any_above(&values, 1) {
            return decrypted(ciphertexts, "bit");
        }
        Ok(values.into_iter().map(|v| v == 1).collect())
    }

    /// Decrypts messages of `bits` bits.
    ///
    /// # Errors
    /// As [`ClientKey::decrypt`], and as [`ClientKey::decrypt_bits`] if a slot
    /// has its padding bit set.
    pub fn decrypt_messages(&self, ciphertexts: &LweCiphertexts, bits: u32) -> Result<Vec<u64>> {
        let modulus = padded_modulus(self.set(), bits)?;
        let what = format!("decryption of messages of {bits} bits");
        check_plaintext(ciphertexts.plaintext_modulus(), modulus, &what)?;
        let values = self.decrypt(ciphertexts, modulus)?;
        if any_above(&values, modulus / 2 - 1) {
            return decrypted(ciphertexts, &format!("message of {bits} bits"));
        }
        Ok(values)
    }

    /// Decrypts compressed results: messages modulo [`CompressedResults::modulus`].
    ///
    /// # Errors
    /// [`Error::WrongSet`](crate::Error::WrongSet) and [`Error::WrongKey`](crate::Error::WrongKey)
    /// for results of another set or under another key.
    pub fn decrypt_compressed(&self, results: &CompressedResults) -> Result<Vec<u64>> {
        results.decrypt(self)
    }

    /// Decrypts compressed bits.
    ///
    /// # Errors
    /// As [`ClientKey::decrypt_compressed`], and for results that are not modulo 2.
    pub fn decrypt_compressed_bits(&self, results: &CompressedResults) -> Result<Vec<bool>> {
        if results.modulus() != 2 {
            let what = format!("the modulus of {results:?}, where compress_bits makes bits,");
            return error::mismatch(Mismatch::range(what, results.modulus(), [2, 2u64]));
        }
        Ok(results.decrypt(self)?.into_iter().map(|v| v == 1).collect())
    }

    /// How far every compressed message is from what it is read as, in steps between two messages:
    /// what noise is measured on ([`CompressedResults::variance`]).
    ///
    /// **They are as secret as the key**, as [`ClientKey::phases`] are.
    ///
    /// # Errors
    /// As [`ClientKey::decrypt_compressed`].
    pub fn compressed_errors(&self, results: &CompressedResults) -> Result<Vec<f64>> {
        results.errors(self)
    }

    /// Phases `b_j - <a, s_j>` of every slot modulo the ciphertexts' modulus, error included: what
    /// noise is measured on.
    ///
    /// **They are as secret as the key**: masks are public, so n of them give the secret by linear
    /// algebra. They serve measurements on one's own machine, and are shown to nobody.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch)
    /// for ciphertexts of another set or under another key.
    pub fn phases(&self, ciphertexts: &LweCiphertexts) -> Result<Vec<u64>> {
        ciphertexts.phases(self)
    }
}

/// Says that a batch holds something else than it should, but neither where nor what.
fn decrypted<T>(ciphertexts: &LweCiphertexts, expected: &str) -> Result<T> {
    let (ciphertexts, expected) = (format!("{ciphertexts:?}"), expected.into());
    error::mismatch(Mismatch::Decrypted { ciphertexts, expected })
}

/// Whether any of the decrypted values (below 2^63) is above `most`: all are looked at alike, so
/// that time does not tell which.
fn any_above(values: &[u64], most: u64) -> bool {
    values.iter().fold(0, |above, &v| above | most.wrapping_sub(v) >> 63) != 0
}
