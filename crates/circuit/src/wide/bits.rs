//! Encrypted bits of many instances, one ciphertext a bit.

use crate::error::{Result, mismatch};
use girih_discrete::{ClientKey, EncryptedNumbers};
use girih_tfhe::{Counts, Mismatch};

/// The same bits of many instances, encrypted for a [`WideCircuit`](super::WideCircuit): ciphertext
/// b holds bit b of every instance, number i that of instance i.
#[derive(Clone, Debug, PartialEq)]
pub struct WideBits(EncryptedNumbers);

impl WideBits {
    /// Encrypts the bits of each instance; all have the same number. A ciphertext holds as many
    /// instances as the set has numbers.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for no instance, no bit, or instances of unequal
    /// length; [`Error::Discrete`](crate::Error::Discrete) for more instances than fit.
    pub fn encrypt<I: AsRef<[bool]>>(client: &ClientKey, instances: &[I]) -> Result<Self> {
        let Some(bits) = instances.first().map(|i| i.as_ref().len()).filter(|&bits| bits > 0)
        else {
            return mismatch(Mismatch::empty("instances of at least one bit"));
        };
        if let Some(index) = instances.iter().position(|i| i.as_ref().len() != bits) {
            let (what, found) =
                (format!("bits of instance {index}"), instances[index].as_ref().len());
            return mismatch(Mismatch::count(what, found, Counts::Exactly(bits)));
        }
        let bit = |b: usize| -> Vec<u32> {
            instances.iter().map(|instance| u32::from(instance.as_ref()[b])).collect()
        };
        let columns: Vec<Vec<u32>> = (0..bits).map(bit).collect();
        Ok(Self(client.encrypt_batch(&columns, 2)?))
    }

    /// Takes numbers, each ciphertext a bit, in the order described above.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for numbers that may be no bits.
    pub fn new(numbers: EncryptedNumbers) -> Result<Self> {
        match numbers.range() {
            (0, 0 | 1) | (1, 1) => Ok(Self(numbers)),
            range => mismatch(Mismatch::numbers("bits", range, (0, 1), "")),
        }
    }

    /// Decrypts: the bits of each instance.
    ///
    /// # Errors
    /// As [`ClientKey::decrypt_bits`].
    pub fn decrypt(&self, client: &ClientKey) -> Result<Vec<Vec<bool>>> {
        let all = client.decrypt_bits(&self.0)?;
        let count = self.instances();
        let instance = |i: usize| (0..self.bits()).map(|b| all[b * count + i]).collect();
        Ok((0..count).map(instance).collect())
    }

    /// The numbers, a ciphertext each bit.
    pub fn numbers(&self) -> &EncryptedNumbers {
        &self.0
    }

    /// Instances in use.
    pub fn instances(&self) -> usize {
        self.0.numbers()
    }

    /// Bits of an instance.
    pub fn bits(&self) -> usize {
        self.0.len()
    }
}
