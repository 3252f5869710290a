//! Encrypted bits of many instances of a circuit.

use crate::error::{Result, mismatch};
use girih_tfhe::{ClientKey, Counts, LweCiphertexts, Mismatch};

/// The same bits of many instances, encrypted: slot j of ciphertext `b G + g` is bit b of instance
/// `g r + j`.
///
/// G is the number of ciphertexts that all instances of one bit need, instances / r rounded up;
/// slots beyond the last instance hold zeros on the way in and are dropped on the way out.
#[derive(Clone, Debug, PartialEq)]
pub struct EncryptedBits {
    ciphertexts: LweCiphertexts,
    instances: usize,
}

impl EncryptedBits {
    /// Encrypts the bits of each instance; all have the same number.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for no instance, no bit,
    /// or instances of unequal length.
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
        let padded = instances.len().next_multiple_of(client.set().packing());
        let bit =
            |b: usize, i: usize| instances.get(i).is_some_and(|instance| instance.as_ref()[b]);
        let slots: Vec<bool> =
            (0..bits * padded).map(|index| bit(index / padded, index % padded)).collect();
        Ok(Self { ciphertexts: client.encrypt_bits(&slots)?, instances: instances.len() })
    }

    /// Decrypts: the bits of each instance.
    ///
    /// # Errors
    /// As [`ClientKey::decrypt_bits`].
    pub fn decrypt(&self, client: &ClientKey) -> Result<Vec<Vec<bool>>> {
        let slots = client.decrypt_bits(&self.ciphertexts)?;
        let padded = slots.len() / self.bits();
        Ok((0..self.instances)
            .map(|i| (0..self.bits()).map(|b| slots[b * padded + i]).collect())
            .collect())
    }

    /// Takes ciphertexts in the order described above.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) unless the ciphertexts are a whole number of
    /// bits of `instances` instances.
    pub fn new(ciphertexts: LweCiphertexts, instances: usize) -> Result<Self> {
        let groups = instances.div_ceil(ciphertexts.set().packing());
        if groups == 0 || ciphertexts.is_empty() || !ciphertexts.len().is_multiple_of(groups) {
            let what = format!("ciphertexts of bits of {instances} instances");
            let allowed = Counts::MultipleOf(groups.max(1));
            return mismatch(Mismatch::count(what, ciphertexts.len(), allowed));
        }
        Ok(Self { ciphertexts, instances })
    }

    /// The ciphertexts, in the order described above.
    pub fn ciphertexts(&self) -> &LweCiphertexts {
        &self.ciphertexts
    }

    /// Number of instances.
    pub fn instances(&self) -> usize {
        self.instances
    }

    /// G, ciphertexts that all instances of one bit take.
    pub fn groups(&self) -> usize {
        self.instances.div_ceil(self.ciphertexts.set().packing())
    }

    /// Bits of an instance.
    pub fn bits(&self) -> usize {
        self.ciphertexts.len() / self.groups()
    }
}
