//! Masks of ciphertexts, which a published seed stands for.

use super::domain;
use crate::CkksParameters;
use girih_backend::parallel::prelude::*;
use girih_rlwe::{MaskSeed, SetId};

/// The mask that a seed stands for, at a level: uniform limbs in evaluation form.
pub(crate) fn mask_limbs(set: &CkksParameters, seed: &MaskSeed, level: usize) -> Vec<u32> {
    let (degree, chain) = (set.degree(), set.chain());
    let masks = seed.streams(&SetId::of(set));
    let base = chain.base(level);
    let mut a = vec![0; base.len() * degree];
    a.par_chunks_exact_mut(degree).zip(base).for_each(|(a, position)| {
        let mut stream = masks.stream(domain::MASKS, position as u64);
        stream.fill_public_below(chain.moduli()[position].value(), a);
    });
    a
}
