//! Results in few bytes, merged many to a mask.

use super::{Batch, ServerKey};
use crate::ciphertext::{BITS, check_plaintext};
use crate::compression::{CompressedResults, Reading, Source, compress};
use crate::{Error, Result};
use girih_backend::timeline;

impl ServerKey {
    /// Compresses results for whoever decrypts them: messages of which `modulus` fill the circle.
    ///
    /// Up to N ciphertexts are merged to share one mask, as many as their errors bear, and all
    /// words are rounded to the bits that messages take to be read within
    /// [`ServerKey::limit_failure`] (where that is 0, what the set is held to). It is work of the
    /// host, on all its threads: what lives on the device is downloaded some thousand ciphertexts
    /// at a time.
    ///
    /// # Errors
    /// [`Error::MissingKey`](crate::Error::MissingKey) where the evaluation keys have no
    /// compression key
    /// ([`EvaluationKeys::with_compression`](crate::EvaluationKeys::with_compression)),
    /// [`Error::Mismatch`](crate::Error::Mismatch) for a modulus below 2, above 2^32 or above that
    /// of the ciphertexts and for ciphertexts of another server,
    /// [`Error::WrongSet`](crate::Error::WrongSet) and [`Error::WrongKey`](crate::Error::WrongKey)
    /// for those of another set or client; [`Error::TooNoisy`](crate::Error::TooNoisy) if no form
    /// keeps to the bound; failures of the device.
    pub fn compress<B: Batch>(&self, results: &B, modulus: u64) -> Result<CompressedResults> {
        self.compress_as(results, Reading::whole(modulus, results.log2_modulus())?)
    }

    /// The same of bits of gates, which are read as 0 or 1 whatever they are: that a message was no
    /// bit is not seen any more.
    ///
    /// # Errors
    /// As [`ServerKey::compress`].
    pub fn compress_bits<B: Batch>(&self, results: &B) -> Result<CompressedResults> {
        check_plaintext(results.plaintext_modulus(), BITS, "compression of bits")?;
        self.compress_as(results, Reading::bits())
    }

    /// The same of messages of `bits` bits under one of padding, which is left out: a message above
    /// is read modulo 2^bits.
    ///
    /// # Errors
    /// As [`ServerKey::compress`], and for messages that the set has no room for.
    pub fn compress_messages<B: Batch>(&self, results: &B, bits: u32) -> Result<CompressedResults> {
        let reading = Reading::messages(&self.set, bits)?;
        Reading::check_messages(results.plaintext_modulus(), bits)?;
        self.compress_as(results, reading)
    }

    fn compress_as<B: Batch>(&self, results: &B, reading: Reading) -> Result<CompressedResults> {
        let Some(merger) = &self.merger else {
            return Err(Error::MissingKey {
                what: "compression of results under one mask".into(),
                wanted: "a compression key".into(),
                advice: "make evaluation keys with one, by EvaluationKeys::with_compression \
                         (LweCiphertexts::compress needs none)",
            });
        };
        let _span = timeline::host("compress");
        results.check_owner(self)?;
        let source = Source {
            set: &self.set,
            key: results.key_id(),
            log2_modulus: results.log2_modulus(),
            variance: results.variance(),
            len: results.ciphertexts(),
            words: &|range| results.host_words(self, range),
        };
        compress(&source, reading, Some(merger), self.failure_limit())
    }

    /// Whether its evaluation keys came with a compression key.
    pub fn can_compress(&self) -> bool {
        self.merger.is_some()
    }
}
