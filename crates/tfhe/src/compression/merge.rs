//! Many ciphertexts into one: the merging of Chen, Dai, Kim and Song ("Efficient homomorphic
//! conversion between (ring) LWE ciphertexts", 2021, section 3.3).
//!
//! A ciphertext of which the constant coefficient is a message is merged with another: with s = N /
//! 2^level and the automorphism t: X -> X^(2^level + 1), which takes X^s to -X^s,
//!
//! ```text
//! (a + X^s b) + t(a - X^s b)
//! ```
//!
//! has twice the message of a at 0 and twice that of b at s, and so on up the levels: message c of
//! 2^L stands at c N / 2^L, times 2^L. M is odd, so ciphertexts are divided by 2^L before. Other
//! coefficients mean nothing, and nobody reads them.

use super::gadget::{Gadget, MergeNoise, modulus};
use crate::keys::{CompressionKey, entry_blocks};
use crate::{ParameterSet, Result};
use girih_ring::constant_time::switch_from_power;
use girih_ring::gadget::balanced_digits;
use girih_ring::limb::{LimbKernels, ProductTerm};
use girih_ring::{Automorphism, Rns, Shoup, SplitNtt};

/// A compression key made ready: evaluations of all its polynomials.
pub(crate) struct Merger {
    set: ParameterSet,
    gadget: Gadget,
    noise: MergeNoise,
    modulus: Rns,
    words: Vec<Word>,
    levels: Vec<Level>,
    /// `[block][digit][K][word][N]`.
    rows: Vec<u32>,
}

/// One prime word.
struct Word {
    table: SplitNtt,
    kernels: LimbKernels,
    one: Shoup,
}

struct Level {
    turn: Automorphism,
    /// X^(N / 2^level) of each word: evaluations with their Shoup quotients.
    shifts: Vec<(Vec<u32>, Vec<u32>)>,
}

/// A GLWE ciphertext modulo M: `[K][word][N]`, evaluations.
type Glwe = Vec<u32>;

/// Masks `[k][N]` and bodies `[r][N]` of a GLWE ciphertext, coefficients modulo M.
pub(crate) struct Merged {
    pub masks: Vec<u64>,
    pub bodies: Vec<u64>,
}

impl Merger {
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported) for a set without transform, which no
    /// checked set is.
    pub fn new(set: &ParameterSet, key: &CompressionKey) -> Result<Self> {
        let size = set.shape().polynomial_size;
        let none = || set.unsupported("its modulus has no number-theoretic transform");
        let modulus = modulus(set).ok_or_else(none)?;
        let words = modulus
            .words()
            .iter()
            .map(|&word| {
                let table = SplitNtt::new(word, size).ok()?;
                Some(Word { table, kernels: LimbKernels::new(word), one: word.shoup(1) })
            })
            .collect::<Option<Vec<_>>>()
            .ok_or_else(none)?;
        let levels = (1..=size.trailing_zeros())
            .map(|level| {
                let shift = |word: &Word| {
                    let mut values = vec![0; size];
                    values[size >> level] = 1;
                    word.table.forward(&mut values);
                    let quotient = |&v: &u32| word.kernels.modulus().shoup(v).quotient;
                    let quotients = values.iter().map(quotient).collect();
                    (values, quotients)
                };
                let turn = Automorphism::new(size, (1 << level) + 1).ok()?;
                Some(Level { turn, shifts: words.iter().map(shift).collect() })
            })
            .collect::<Option<Vec<_>>>()
            .ok_or_else(none)?;
        let mut rows = Vec::new();
        key.for_each_polynomial(set, |polynomial| {
            for word in &words {
                let first = rows.len();
                let modulus = word.kernels.modulus();
                rows.extend(polynomial.iter().map(|&x| modulus.reduce(x)));
                word.table.forward(&mut rows[first..]);
            }
        });
        let noise = key.gadget().noise(set, &modulus);
        Ok(Self { set: set.clone(), gadget: key.gadget(), noise, modulus, words, levels, rows })
    }

    pub fn noise(&self) -> MergeNoise {
        self.noise
    }

    /// M.
    pub fn modulus(&self) -> u64 {
        self.modulus.value()
    }

    /// Merges `count <= 2^levels` ciphertexts, `levels <= log2 N`; `word(c, i)` is word i of
    /// ciphertext c, mask first, modulo `2^log2_modulus`.
    pub fn merge(
        &self,
        count: usize,
        levels: u32,
        log2_modulus: u32,
        word: &(dyn Fn(usize, usize) -> u64 + Sync),
    ) -> Merged {
        let shape = self.set.shape();
        let halves: Vec<Shoup> = self
            .words
            .iter()
            .map(|w| {
                let modulus = w.kernels.modulus();
                modulus.shoup(modulus.inverse(modulus.pow(2, u64::from(levels))))
            })
            .collect();
        let leaf = |c: usize| {
            let lifted = |i: usize| switch_from_power(word(c, i), log2_modulus, self.modulus());
            let glwe = self.enter(&lifted);
            self.map(&glwe, |w, from, to| self.words[w].kernels.scale(halves[w], from, to))
        };
        let merged = self
            .merge_from(&leaf, count, (0, 1), levels)
            .unwrap_or_else(|| vec![0; shape.columns() * self.limb()]);
        let mut all = self.coefficients(&merged);
        let bodies = all.split_off(shape.ks_indices());
        Merged { masks: all, bodies }
    }

    /// Words of a polynomial.
    fn limb(&self) -> usize {
        self.words.len() * self.set.shape().polynomial_size
    }

    /// Applies `f` to each polynomial modulo each word: (word, from, to).
    fn map(&self, from: &[u32], f: impl Fn(usize, &[u32], &mut [u32])) -> Glwe {
        let size = self.set.shape().polynomial_size;
        let mut to = vec![0; from.len()];
        let limbs = from.chunks_exact(size).zip(to.chunks_exact_mut(size));
        limbs.enumerate().for_each(|(i, (from, to))| f(i % self.words.len(), from, to));
        to
    }

    /// The same of two ciphertexts.
    fn map2(
        &self,
        (a, b): (&[u32], &[u32]),
        f: impl Fn(&LimbKernels, &[u32], &[u32], &mut [u32]),
    ) -> Glwe {
        let size = self.set.shape().polynomial_size;
        let mut to = vec![0; a.len()];
        let limbs = a.chunks_exact(size).zip(b.chunks_exact(size)).zip(to.chunks_exact_mut(size));
        for (i, ((a, b), to)) in limbs.enumerate() {
            f(&self.words[i % self.words.len()].kernels, a, b, to);
        }
        to
    }

    /// Ciphertexts `first`, `first + stride`, .. of `count`, `2^level` of them where there are as
    /// many; none where there is not one.
    fn merge_from(
        &self,
        leaf: &(dyn Fn(usize) -> Glwe + Sync),
        count: usize,
        (first, stride): (usize, usize),
        level: u32,
    ) -> Option<Glwe> {
        if first >= count {
            return None;
        }
        let Some(below) = level.checked_sub(1) else { return Some(leaf(first)) };
        let half = |first| self.merge_from(leaf, count, (first, 2 * stride), below);
        let (even, odd) = girih_backend::parallel::join(|| half(first), || half(first + stride));
        even.map(|even| self.merge_two(even, odd, level))
    }

    fn merge_two(&self, even: Glwe, odd: Option<Glwe>, level: u32) -> Glwe {
        let Level { turn, shifts } = &self.levels[level as usize - 1];
        let (sum, difference) = match odd {
            None => (even.clone(), even),
            Some(odd) => {
                let odd = self.map(&odd, |w, from, to| {
                    let (values, quotients) = &shifts[w];
                    self.words[w].kernels.mul_shoup(values, quotients, from, to);
                });
                let sum = self.map2((&even, &odd), |k, a, b, to| k.add(a, b, to));
                (sum, self.map2((&even, &odd), |k, a, b, to| k.sub(a, b, to)))
            }
        };
        let turned = self.map(&difference, |_, from, to| turn.apply(from, to));
        let shape = self.set.shape();
        let (masks, bodies) = turned.split_at(shape.glwe_dimension * self.limb());
        // What is switched adds to the masks and bodies of the sum, and to bodies that only turn.
        let mut base = sum;
        let place = base.len() - bodies.len();
        let added = self.map2((&base[place..], bodies), |k, a, b, to| k.add(a, b, to));
        base[place..].copy_from_slice(&added);
        let block = entry_blocks(shape) + (level as usize - 1) * shape.glwe_dimension;
        self.switch(block, &self.coefficients(masks), &base)
    }

    /// One ciphertext of words modulo M with its messages at the constant coefficients.
    fn enter(&self, word: &dyn Fn(usize) -> u64) -> Glwe {
        let shape = self.set.shape();
        let (size, len) = (shape.polynomial_size, shape.stored_mask_len());
        let modulus = self.modulus();
        // The constant coefficient of a product with s is a_0 s_0 - a_(N-1) s_1 - .. - a_1 s_(N-1).
        let mut masks = vec![0u64; len.div_ceil(size) * size];
        for i in 0..len {
            let (p, i_in) = (i / size, i % size);
            let value = word(i);
            let turned = if i_in == 0 || value == 0 { value } else { modulus - value };
            masks[p * size + (size - i_in) % size] = turned;
        }
        let columns = shape.columns() * self.limb();
        let mut glwe = vec![0; columns];
        let bodies = columns - shape.packing * self.limb();
        for (i, body) in glwe[bodies..].chunks_exact_mut(size).enumerate() {
            let (slot, w) = (i / self.words.len(), i % self.words.len());
            // A constant is the same at every point.
            body.fill(self.words[w].kernels.modulus().reduce(word(len + slot)));
        }
        if !shape.is_torus() {
            return self.switch(0, &masks, &glwe);
        }
        for (i, mask) in glwe[..bodies].chunks_exact_mut(size).enumerate() {
            let word = &self.words[i % self.words.len()];
            let from = &masks[i / self.words.len() * size..][..size];
            for (x, &a) in mask.iter_mut().zip(from) {
                *x = word.kernels.modulus().reduce(a);
            }
            word.table.forward(mask);
        }
        glwe
    }

    /// Polynomials `[p][word][N]` of evaluations as `[p][N]` of coefficients modulo M.
    fn coefficients(&self, polynomials: &[u32]) -> Vec<u64> {
        let size = self.set.shape().polynomial_size;
        let mut out = Vec::with_capacity(polynomials.len() / self.words.len());
        let mut limbs = vec![0; self.limb()];
        for polynomial in polynomials.chunks_exact(self.limb()) {
            limbs.copy_from_slice(polynomial);
            for (limb, word) in limbs.chunks_exact_mut(size).zip(&self.words) {
                word.table.inverse(limb);
            }
            let (first, second) = limbs.split_at(size);
            let composed =
                |i: usize| self.modulus.compose(first[i], second.get(i).copied().unwrap_or(0));
            out.extend((0..size).map(composed));
        }
        out
    }

    /// `base` and the masks, coefficients `[p][N]` under the secrets of the blocks from
    /// `first_block` on, under the ring's secret.
    fn switch(&self, first_block: usize, masks: &[u64], base: &[u32]) -> Glwe {
        let shape = self.set.shape();
        let (size, words) = (shape.polynomial_size, self.words.len());
        let Gadget { log2_base, digits: levels, dropped_bits } = self.gadget;
        // `[p][digit][word][N]`.
        let mut digits = vec![0u32; masks.len() * levels * words];
        let mut one = vec![0i32; levels];
        for (mask, digits) in
            masks.chunks_exact(size).zip(digits.chunks_exact_mut(levels * words * size))
        {
            for (i, &x) in mask.iter().enumerate() {
                balanced_digits(self.modulus.centre(x), log2_base, dropped_bits, &mut one);
                for (j, &digit) in one.iter().enumerate() {
                    for (w, word) in self.words.iter().enumerate() {
                        let place = (j * words + w) * size + i;
                        digits[place] = word.kernels.modulus().reduce_small(digit);
                    }
                }
            }
            for (i, limb) in digits.chunks_exact_mut(size).enumerate() {
                self.words[i % words].table.forward(limb);
            }
        }
        let (columns, row_len) = (shape.columns(), shape.columns() * self.limb());
        let rows = &self.rows[first_block * levels * row_len..];
        let mut out = vec![0; columns * self.limb()];
        let mut terms = Vec::new();
        for (i, out) in out.chunks_exact_mut(size).enumerate() {
            let (w, factor) = (i % words, self.words[i % words].one);
            terms.clear();
            terms.push(ProductTerm { factor, a: &base[i * size..][..size], b: None });
            terms.extend(rows.chunks_exact(row_len).zip(digits.chunks_exact(words * size)).map(
                |(row, digit)| ProductTerm {
                    factor,
                    a: &digit[w * size..][..size],
                    b: Some(&row[i * size..][..size]),
                },
            ));
            self.words[w].kernels.sum_of_products(0, &terms, out);
        }
        out
    }
}
