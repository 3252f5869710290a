//! The launch of `poly_masks`, which expands limbs of resident polynomials from public seeds.

use crate::poly::HEADERS;
use crate::runtime::machine::LaunchSize;
use crate::runtime::source::{KernelFile, Source};
use girih_ring::Modulus;
use girih_ring::sampler::PublicStream;

/// `cuda/poly/masks.cu`.
const POLY_MASKS: KernelFile = KernelFile {
    name: "poly_masks",
    text: girih_kernels::poly::MASKS,
    kernels: &["poly_masks"],
    headers: HEADERS,
};

const THREADS: usize = 256;
/// Words of a limb's record.
pub(crate) const RECORD_WORDS: usize = 16;

/// The kernel for polynomials of degree 2^`log2_degree`.
pub(crate) fn source(log2_degree: u32) -> Source {
    let constants = format!("#pragma once\nconstexpr int LOG2_DEGREE = {log2_degree};\n");
    Source { file: POLY_MASKS, constants }
}

/// A launch that expands `limbs` limbs.
pub(crate) fn size(limbs: usize) -> LaunchSize {
    LaunchSize { blocks: limbs, threads: THREADS, shared_bytes: 8 * THREADS, cluster: 1 }
}

/// The record of a limb modulo `prime` at `address`.
pub(crate) fn record(stream: &PublicStream, prime: &Modulus, address: u64) -> [u32; RECORD_WORDS] {
    let threshold = prime.reduce(1 << 32);
    let halves = |x: u64| [x as u32, (x >> 32) as u32];
    let quotient = ((u64::from(threshold) << 32) / u64::from(prime.value())) as u32;
    let mut words = [0; RECORD_WORDS];
    words[..8].copy_from_slice(&stream.key);
    words[8..10].copy_from_slice(&halves(stream.nonce));
    words[10..13].copy_from_slice(&[prime.value(), threshold, quotient]);
    words[14..].copy_from_slice(&halves(address));
    words
}
