//! Batches on the host and on the device, under one trait, so that every function is written once.

use super::{DeviceCiphertexts, ServerKey};
use crate::{LweCiphertexts, Result, error};
use girih_backend::timeline;

/// Ciphertexts that one upload carries at most: bounds memory on both sides while a batch of any size is worked through, and
/// lets the allocator keep buffers between chunks.
pub(crate) const CHUNK: usize = 2 * WAVES;
/// Chunks are multiples of this: whole waves of a data-centre GPU (132 multiprocessors) with 1, 2, 3 or 4 ciphertexts each.
const WAVES: usize = 132 * 12;
/// A batch has so many chunks or more: while one is worked on, the next is uploaded and the one before is downloaded; only the
/// first upload and the last download have the device wait. More chunks would cost more in unfilled waves than they hide.
const CHUNKS: usize = 4;

/// Ciphertexts of a chunk where nothing overlaps: as many as buffers of bounded size hold, for a part less is an unfilled wave
/// less (eight waves of a data-centre GPU with four ciphertexts a multiprocessor).
const ALONE: usize = 4224;

/// Ciphertexts of each chunk of a batch.
fn chunk_of(batch: usize, overlaps: bool) -> usize {
    if overlaps { batch.div_ceil(CHUNKS).next_multiple_of(WAVES).min(CHUNK) } else { ALONE }
}

/// What a [`ServerKey`] runs on the device: inputs of equal length, and the position of their first ciphertext in the batch.
///
/// It may return ciphertexts of another modulus.
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

    /// log2 of their modulus.
    fn log2_modulus(&self) -> u32;

    /// Inputs must all be modulo `2^log2_modulus`.
    #[doc(hidden)]
    #[allow(private_interfaces, reason = "the trait is sealed; only the server calls this")]
    fn run(server: &ServerKey, inputs: &[&Self], log2_modulus: u32, operation: Operation<'_>) -> Result<Self>;
}

fn check_alike<B: Batch>(inputs: &[&B], log2_modulus: u32) -> Result<()> {
    let lengths: Vec<_> = inputs.iter().map(|i| i.ciphertexts()).collect();
    if lengths.iter().any(|&l| l != lengths[0]) {
        return error::mismatch(format!("batches of {lengths:?} ciphertexts: they must be equally long"));
    }
    match inputs.iter().find(|i| i.log2_modulus() != log2_modulus) {
        Some(i) => error::mismatch(format!("ciphertexts modulo 2^{} where they must be modulo 2^{log2_modulus}", i.log2_modulus())),
        None => Ok(()),
    }
}

impl Batch for DeviceCiphertexts {
    fn ciphertexts(&self) -> usize {
        self.len()
    }

    fn log2_modulus(&self) -> u32 {
        self.log2_modulus()
    }

    #[allow(private_interfaces, reason = "the trait is sealed; only the server calls this")]
    fn run(server: &ServerKey, inputs: &[&Self], log2_modulus: u32, operation: Operation<'_>) -> Result<Self> {
        check_alike(inputs, log2_modulus)?;
        inputs.iter().try_for_each(|i| server.check_owner(i))?;
        operation(inputs, 0)
    }
}

impl Batch for LweCiphertexts {
    fn ciphertexts(&self) -> usize {
        self.len()
    }

    fn log2_modulus(&self) -> u32 {
        self.log2_modulus()
    }

    #[allow(private_interfaces, reason = "the trait is sealed; only the server calls this")]
    fn run(server: &ServerKey, inputs: &[&Self], log2_modulus: u32, operation: Operation<'_>) -> Result<Self> {
        check_alike(inputs, log2_modulus)?;
        inputs.iter().try_for_each(|i| server.check_set(i.set()))?;
        let words: Vec<&[u32]> = inputs.iter().map(|i| i.words()).collect();
        let (words, log2_modulus) = server.run_words(&words, log2_modulus, operation)?;
        let _span = timeline::host("check the result");
        LweCiphertexts::from_words_at(server.set(), log2_modulus, words)
    }
}

impl ServerKey {
    /// Runs `operation` on words of ciphertexts modulo `2^log2_modulus`, chunk by chunk; returns words and their modulus.
    pub(crate) fn run_words(&self, inputs: &[&[u32]], log2_modulus: u32, operation: Operation<'_>) -> Result<(Vec<u32>, u32)> {
        let len = self.set().shape().ciphertext_len();
        let mut words = vec![0; inputs[0].len()];
        let mut log2_result = log2_modulus;
        let chunk = chunk_of(words.len() / len, self.engine().overlaps_transfers());
        // Inputs stay where they are until their result is here: the next upload then need not wait for them.
        let mut before: Option<(Vec<DeviceCiphertexts>, DeviceCiphertexts, &mut [u32])> = None;
        for (index, out) in words.chunks_mut(chunk * len).enumerate() {
            let first = index * chunk;
            let upload = |i: &&[u32]| self.upload_words(&i[first * len..][..out.len()], log2_modulus);
            let span = timeline::host("upload");
            let resident = inputs.iter().map(upload).collect::<Result<Vec<_>>>()?;
            drop(span);
            let span = timeline::host("launch");
            let result = operation(&resident.iter().collect::<Vec<_>>(), first)?;
            drop(span);
            log2_result = result.log2_modulus();
            if let Some((_, result, out)) = before.replace((resident, result, out)) {
                self.download_words(&result, out)?;
            }
        }
        if let Some((_, result, out)) = before {
            self.download_words(&result, out)?;
        }
        Ok((words, log2_result))
    }
}
