//! The launch of `poly_masks`, which expands limbs of resident polynomials from public seeds.

use crate::poly::arguments::{MaskRecord, halves};
use crate::poly::source::{KernelText, kernel_file};
use crate::runtime::machine::LaunchSize;
use crate::runtime::source::{KernelFile, Source};
use girih_ring::Modulus;
use girih_ring::sampler::PublicStream;

/// `cuda/poly/masks.cu`.
const POLY_MASKS: KernelFile = kernel_file(girih_kernels::poly::MASKS, &["poly_masks"]);

const THREADS: usize = 256;

/// The kernel for polynomials of degree 2^`log2_degree`.
pub(crate) fn source(log2_degree: u32) -> Source {
    KernelText::new(POLY_MASKS, &[("LOG2_DEGREE", log2_degree as usize)]).source()
}

/// A launch that expands `limbs` limbs.
pub(crate) fn size(limbs: usize) -> LaunchSize {
    LaunchSize { blocks: limbs, threads: THREADS, shared_bytes: 8 * THREADS, cluster: 1 }
}

/// The record of a limb modulo `prime` at `address`.
pub(crate) fn record(stream: &PublicStream, prime: &Modulus, address: u64) -> MaskRecord {
    let threshold = prime.reduce(1 << 32);
    MaskRecord {
        key: stream.key,
        nonce: halves(stream.nonce),
        q: prime.value(),
        threshold,
        quotient: ((u64::from(threshold) << 32) / u64::from(prime.value())) as u32,
        unused: 0,
        address: halves(address),
    }
}
