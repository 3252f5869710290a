//! Ciphertexts that are recognised when they come back.

use std::collections::{HashMap, VecDeque};

use super::tracked::{Mask, Tracked, mix, short};
use crate::ciphertext::Ciphertext;
use crate::noise::Noise;

/// So many of the last downloads are known.
const MOST: usize = 4096;
/// Words of a limb that tell masks apart.
const WORDS: usize = 64;

struct Download {
    noise: Noise,
    b: u64,
    known: Tracked,
}

/// What was known of the ciphertexts that were downloaded last.
#[derive(Default)]
pub(super) struct Downloads {
    known: HashMap<u64, Download>,
    order: VecDeque<u64>,
}

/// A digest of the mask: the same for its products with -1 and i, and for its limbs at lower
/// levels.
pub(super) fn mask(x: &Ciphertext) -> u64 {
    let (chain, degree) = (x.set().chain(), x.set().degree());
    let base = chain.base(x.level());
    // A prime that every level has, if there is one.
    let common = chain.base(0).find(|position| base.contains(position)).unwrap_or(base.start);
    let modulus = chain.moduli()[common];
    let limb = (common - base.start) * degree;
    let mut hasher = blake3::Hasher::new();
    for &word in &x.a()[limb..limb + WORDS.min(degree)] {
        // In evaluations these units are fourth roots of 1.
        let square = modulus.mul(word, word);
        hasher.update(&modulus.mul(square, square).to_le_bytes());
    }
    short(&hasher)
}

/// A digest of all that the mask does not say.
fn rest(x: &Ciphertext) -> u64 {
    let mut hasher = blake3::Hasher::new();
    for part in [&x.b()[..WORDS], &x.a()[..WORDS]] {
        hasher.update(bytemuck::cast_slice(part));
    }
    mix(mix(x.level() as u64, x.slots() as u64), mix(x.scale().to_bits(), short(&hasher)))
}

impl Downloads {
    pub fn insert(&mut self, x: &Ciphertext, known: &Tracked) {
        let digest = mask(x);
        let download = Download { noise: x.noise(), b: rest(x), known: known.clone() };
        if self.known.insert(digest, download).is_none() {
            self.order.push_back(digest);
        }
        if self.order.len() > MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }

    /// What was known of `x`; of another ciphertext with its mask, that mask.
    pub fn find(&self, x: &Ciphertext) -> Result<Tracked, Mask> {
        let digest = mask(x);
        match self.known.get(&digest) {
            None => Err(Mask::of(digest)),
            Some(of) if of.b == rest(x) && of.noise == x.noise() => Ok(of.known.clone()),
            Some(of) => Err(of.known.mask()),
        }
    }
}
