//! ChaCha20, four blocks at a time, in the vectors of WebAssembly, where the crate `chacha20` has
//! none: keys of a page are mostly masks.
#![cfg_attr(target_feature = "simd128", allow(unsafe_code))] // Stores of vectors.

use lanes::{Lanes, add, rotate_7, rotate_8, rotate_12, rotate_16, splat, store_transposed, xor};
use rand_core::block::Generator;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Words of a block, and of what is made at once.
const BLOCK: usize = 16;
const WORDS: usize = 4 * BLOCK;

/// "expand 32-byte k", as words.
const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// The input of the next block, as a 4 by 4 matrix of words: constants, key, a counter of 64 bits,
/// a nonce of 64 bits. Wiped when dropped.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct FourBlocks([u32; BLOCK]);

impl FourBlocks {
    pub(super) fn new(seed: &[u8; 32], nonce: u64) -> Self {
        let mut state = [0; BLOCK];
        state[..4].copy_from_slice(&CONSTANTS);
        for (word, bytes) in state[4..12].iter_mut().zip(seed.chunks_exact(4)) {
            *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        (state[14], state[15]) = (nonce as u32, (nonce >> 32) as u32);
        Self(state)
    }

    fn counter(&self) -> u64 {
        u64::from(self.0[13]) << 32 | u64::from(self.0[12])
    }

    fn set_counter(&mut self, counter: u64) {
        (self.0[12], self.0[13]) = (counter as u32, (counter >> 32) as u32);
    }
}

#[inline(always)]
fn quarter(x: &mut [Lanes; BLOCK], [a, b, c, d]: [usize; 4]) {
    x[a] = add(x[a], x[b]);
    x[d] = rotate_16(xor(x[d], x[a]));
    x[c] = add(x[c], x[d]);
    x[b] = rotate_12(xor(x[b], x[c]));
    x[a] = add(x[a], x[b]);
    x[d] = rotate_8(xor(x[d], x[a]));
    x[c] = add(x[c], x[d]);
    x[b] = rotate_7(xor(x[b], x[c]));
}

impl Generator for FourBlocks {
    type Output = [u32; WORDS];

    fn generate(&mut self, out: &mut [u32; WORDS]) {
        // A vector has one word of the four blocks.
        let first = self.counter();
        let counters: [u64; 4] = std::array::from_fn(|block| first.wrapping_add(block as u64));
        let mut input: [Lanes; BLOCK] = std::array::from_fn(|i| splat(self.0[i]));
        input[12] = lanes::of(counters.map(|counter| counter as u32));
        input[13] = lanes::of(counters.map(|counter| (counter >> 32) as u32));
        let mut x = input;
        for _ in 0..10 {
            quarter(&mut x, [0, 4, 8, 12]);
            quarter(&mut x, [1, 5, 9, 13]);
            quarter(&mut x, [2, 6, 10, 14]);
            quarter(&mut x, [3, 7, 11, 15]);
            quarter(&mut x, [0, 5, 10, 15]);
            quarter(&mut x, [1, 6, 11, 12]);
            quarter(&mut x, [2, 7, 8, 13]);
            quarter(&mut x, [3, 4, 9, 14]);
        }
        for i in 0..4 {
            let words = std::array::from_fn(|j| add(x[4 * i + j], input[4 * i + j]));
            store_transposed(words, out, 4 * i);
        }
        self.set_counter(first.wrapping_add(4));
    }

    fn drop(&mut self, out: &mut [u32; WORDS]) {
        out.zeroize();
    }
}

#[cfg(target_feature = "simd128")]
mod lanes {
    use super::{BLOCK, WORDS};
    use std::arch::wasm32::{
        i8x16_shuffle, i32x4_shuffle, u32x4, u32x4_add, u32x4_shl, u32x4_shr, u32x4_splat, v128,
        v128_or, v128_store, v128_xor,
    };

    /// Four words.
    pub type Lanes = v128;

    #[inline(always)]
    pub fn of([a, b, c, d]: [u32; 4]) -> Lanes {
        u32x4(a, b, c, d)
    }
    #[inline(always)]
    pub fn splat(x: u32) -> Lanes {
        u32x4_splat(x)
    }
    #[inline(always)]
    pub fn add(a: Lanes, b: Lanes) -> Lanes {
        u32x4_add(a, b)
    }
    #[inline(always)]
    pub fn xor(a: Lanes, b: Lanes) -> Lanes {
        v128_xor(a, b)
    }
    #[inline(always)]
    pub fn rotate_16(a: Lanes) -> Lanes {
        i8x16_shuffle::<2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13>(a, a)
    }
    #[inline(always)]
    pub fn rotate_12(a: Lanes) -> Lanes {
        v128_or(u32x4_shl(a, 12), u32x4_shr(a, 20))
    }
    #[inline(always)]
    pub fn rotate_8(a: Lanes) -> Lanes {
        i8x16_shuffle::<3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14>(a, a)
    }
    #[inline(always)]
    pub fn rotate_7(a: Lanes) -> Lanes {
        v128_or(u32x4_shl(a, 7), u32x4_shr(a, 25))
    }

    /// Writes four words of each block, from word `first` of the block on.
    #[inline(always)]
    pub fn store_transposed([a, b, c, d]: [Lanes; 4], out: &mut [u32; WORDS], first: usize) {
        let (low_ab, low_cd) =
            (i32x4_shuffle::<0, 4, 1, 5>(a, b), i32x4_shuffle::<0, 4, 1, 5>(c, d));
        let (high_ab, high_cd) =
            (i32x4_shuffle::<2, 6, 3, 7>(a, b), i32x4_shuffle::<2, 6, 3, 7>(c, d));
        let blocks = [
            i32x4_shuffle::<0, 1, 4, 5>(low_ab, low_cd),
            i32x4_shuffle::<2, 3, 6, 7>(low_ab, low_cd),
            i32x4_shuffle::<0, 1, 4, 5>(high_ab, high_cd),
            i32x4_shuffle::<2, 3, 6, 7>(high_ab, high_cd),
        ];
        for (block, words) in blocks.into_iter().enumerate() {
            let place: &mut [u32] = &mut out[block * BLOCK + first..][..4];
            // SAFETY: four words are borrowed exclusively; vectors may be stored at any address.
            unsafe { v128_store(place.as_mut_ptr().cast(), words) };
        }
    }
}

/// The same on arrays, for tests of what is above.
#[cfg(not(target_feature = "simd128"))]
mod lanes {
    use super::{BLOCK, WORDS};

    pub type Lanes = [u32; 4];

    pub fn of(words: [u32; 4]) -> Lanes {
        words
    }
    pub fn splat(x: u32) -> Lanes {
        [x; 4]
    }
    pub fn add(a: Lanes, b: Lanes) -> Lanes {
        std::array::from_fn(|i| a[i].wrapping_add(b[i]))
    }
    pub fn xor(a: Lanes, b: Lanes) -> Lanes {
        std::array::from_fn(|i| a[i] ^ b[i])
    }
    pub fn rotate_16(a: Lanes) -> Lanes {
        a.map(|x| x.rotate_left(16))
    }
    pub fn rotate_12(a: Lanes) -> Lanes {
        a.map(|x| x.rotate_left(12))
    }
    pub fn rotate_8(a: Lanes) -> Lanes {
        a.map(|x| x.rotate_left(8))
    }
    pub fn rotate_7(a: Lanes) -> Lanes {
        a.map(|x| x.rotate_left(7))
    }
    pub fn store_transposed(words: [Lanes; 4], out: &mut [u32; WORDS], first: usize) {
        for block in 0..4 {
            for (j, lanes) in words.iter().enumerate() {
                out[block * BLOCK + first + j] = lanes[block];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};

    #[test]
    fn its_words_are_those_of_chacha20_whatever_the_counter() {
        let seed = std::array::from_fn(|i| 7 * i as u8 + 1);
        for nonce in [0, 1, 0x0123_4567_89AB_CDEF, u64::MAX] {
            // Counters that carry from the lower word to the upper one within four blocks.
            for counter in [0, 5, (1 << 32) - 2, (7 << 32) - 3] {
                let mut wanted = ChaCha20Rng::from_seed(seed);
                wanted.set_stream(nonce);
                wanted.set_block_pos(counter);
                let mut blocks = FourBlocks::new(&seed, nonce);
                blocks.set_counter(counter);
                let mut words = [0; WORDS];
                for _ in 0..3 {
                    blocks.generate(&mut words);
                    let wanted: [u32; WORDS] = std::array::from_fn(|_| wanted.next_u32());
                    assert_eq!(words, wanted, "nonce {nonce}, counter {counter}");
                }
            }
        }
    }
}
