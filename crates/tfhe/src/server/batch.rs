//! Batches on the host and on the device, under one trait, so that every function is written once.

use super::{DeviceCiphertexts, ServerKey};
use crate::{LweCiphertexts, Result, error};

/// Ciphertexts that one upload carries: bounds memory on both sides while a batch of any size is worked through. Eight
/// full waves of a data-centre GPU's tile (132 multiprocessors, 4 ciphertexts each), and buffers small enough for the
/// allocator to keep between chunks.
const CHUNK: usize = 4224;

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
        let len = server.set().shape().ciphertext_len();
        let mut words = vec![0; inputs[0].words().len()];
        for (index, out) in words.chunks_mut(CHUNK * len).enumerate() {
            let first = index * CHUNK;
            let upload = |i: &&Self| server.upload_words(&i.words()[first * len..][..out.len()]);
            let resident = inputs.iter().map(upload).collect::<Result<Vec<_>>>()?;
            let result = operation(&resident.iter().collect::<Vec<_>>(), first)?;
            server.download_words(&result, out)?;
        }
        LweCiphertexts::from_words(server.set(), words)
    }
}
