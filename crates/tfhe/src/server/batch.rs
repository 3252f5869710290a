//! Batches on the host and on the device, under one trait, so that every function is written once.

use super::{DeviceCiphertexts, ServerKey};
use crate::{LweCiphertexts, Result, error};

/// Ciphertexts that one upload carries: bounds memory on both sides (under 100 MB for every set) while a batch of any
/// size is worked through, and is large enough that a last, part-filled wave of workgroups costs under 1 % on any GPU.
const CHUNK: usize = 16_384;

/// What a [`ServerKey`] runs on the device: inputs of equal length, and the position of their first ciphertext in the batch.
pub(crate) type Operation<'a> = &'a dyn Fn(&[&DeviceCiphertexts], usize) -> Result<DeviceCiphertexts>;

mod sealed {
    pub trait Sealed {}
    impl Sealed for crate::LweCiphertexts {}
    impl Sealed for super::DeviceCiphertexts {}
}

/// A batch that a [`ServerKey`] can work on: [`LweCiphertexts`] on the host or [`DeviceCiphertexts`] on the device.
pub trait Batch: Sized + sealed::Sealed {
    /// Number of ciphertexts.
    fn ciphertexts(&self) -> usize;

    #[doc(hidden)]
    #[allow(private_interfaces, reason = "the trait is sealed; only the server calls this")]
    fn run(server: &ServerKey, inputs: &[&Self], operation: Operation<'_>) -> Result<Self>;
}

fn check_lengths<B: Batch>(inputs: &[&B]) -> Result<()> {
    let lengths: Vec<_> = inputs.iter().map(|i| i.ciphertexts()).collect();
    if lengths.iter().any(|&l| l != lengths[0]) {
        return error::mismatch(format!("batches of {lengths:?} ciphertexts: they must be equally long"));
    }
    Ok(())
}

impl Batch for DeviceCiphertexts {
    fn ciphertexts(&self) -> usize {
        self.len()
    }

    #[allow(private_interfaces, reason = "the trait is sealed; only the server calls this")]
    fn run(server: &ServerKey, inputs: &[&Self], operation: Operation<'_>) -> Result<Self> {
        check_lengths(inputs)?;
        inputs.iter().try_for_each(|i| server.check_owner(i))?;
        operation(inputs, 0)
    }
}

impl Batch for LweCiphertexts {
    fn ciphertexts(&self) -> usize {
        self.len()
    }

    #[allow(private_interfaces, reason = "the trait is sealed; only the server calls this")]
    fn run(server: &ServerKey, inputs: &[&Self], operation: Operation<'_>) -> Result<Self> {
        check_lengths(inputs)?;
        inputs.iter().try_for_each(|i| server.check_set(i.set()))?;
        let chunk = CHUNK * server.set().shape().ciphertext_len();
        let mut words = Vec::with_capacity(inputs[0].words().len());
        for first in (0..inputs[0].words().len()).step_by(chunk) {
            let last = (first + chunk).min(inputs[0].words().len());
            let resident = inputs.iter().map(|i| server.upload_words(&i.words()[first..last])).collect::<Result<Vec<_>>>()?;
            let out = operation(&resident.iter().collect::<Vec<_>>(), first / server.set().shape().ciphertext_len())?;
            words.extend(server.download_words(&out)?);
        }
        LweCiphertexts::from_words(server.set(), words)
    }
}
