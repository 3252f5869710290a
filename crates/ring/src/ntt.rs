//! The negacyclic number-theoretic transform, in the one order that every device shares.
//!
//! The forward transform of `a` in `Z_p[X]/(X^N + 1)` puts `a(psi^(2 brv(j) + 1))` at position `j`,
//! where `brv` reverses `log2 N` bits and `psi` is `x^((p-1)/2N)` for the smallest `x >= 2` that
//! makes it a primitive 2N-th root of unity. Every radix that a kernel may use for its passes
//! yields the same values at the same positions;
//! only lazy representatives inside a pass may differ.

use crate::{Modulus, Shoup};

/// Reverses the lowest `bits` bits of `x`.
pub fn bit_reverse(x: usize, bits: u32) -> usize {
    if bits == 0 { 0 } else { x.reverse_bits() >> (usize::BITS - bits) }
}

/// `a * b mod (X^N + 1, p)`, by the definition; the oracle of every transform.
pub fn negacyclic_product_naive(modulus: Modulus, a: &[u32], b: &[u32]) -> Vec<u32> {
    let n = a.len();
    let mut out = vec![0; n];
    for i in 0..n {
        for j in 0..n {
            let product = modulus.mul(a[i], b[j]);
            let slot = &mut out[(i + j) % n];
            *slot =
                if i + j < n { modulus.add(*slot, product) } else { modulus.sub(*slot, product) };
        }
    }
    out
}

/// The root of unity of every transform here: `x^((p-1)/2N)` for the smallest `x >= 2` that makes
/// it a primitive 2N-th one. `None` unless `size` is a power of two from 2 and `p` a prime that is
/// `1 mod 2 size`.
pub(crate) fn primitive_root(modulus: Modulus, size: usize) -> Option<u32> {
    let p = modulus.value();
    if !size.is_power_of_two()
        || size < 2
        || p as usize % (2 * size) != 1
        || !crate::is_prime(u64::from(p))
    {
        return None;
    }
    let exponent = u64::from(p - 1) / (2 * size as u64);
    (2..p).map(|x| modulus.pow(x, exponent)).find(|&y| modulus.pow(y, size as u64) == p - 1)
}

/// Tables of one (p, N).
#[derive(Clone, Debug)]
pub struct NttTable {
    modulus: Modulus,
    log2_size: u32,
    /// `psi^brv(i)`, i < N: entry `m + i` is the twiddle of block `i` in the pass with `m` blocks.
    roots: Vec<Shoup>,
    /// `psi^-brv(i)`.
    inverse_roots: Vec<Shoup>,
    /// `N^-1`.
    size_inverse: Shoup,
    /// `psi^i`, i < 2N.
    powers: Vec<u32>,
}

impl NttTable {
    /// Tables for `size` coefficients modulo the prime `p`; `None` unless `size` is a power of two
    /// and `p = 1 mod 2 size`.
    pub fn new(modulus: Modulus, size: usize) -> Option<Self> {
        let p = modulus.value();
        let psi = primitive_root(modulus, size)?;
        let log2_size = size.trailing_zeros();
        let mut powers = vec![1; 2 * size];
        for i in 1..2 * size {
            powers[i] = modulus.mul(powers[i - 1], psi);
        }
        let table = |sign: i64| {
            (0..size)
                .map(|i| {
                    let e = sign * bit_reverse(i, log2_size) as i64;
                    modulus.shoup(powers[e.rem_euclid(2 * size as i64) as usize])
                })
                .collect()
        };
        Some(Self {
            modulus,
            log2_size,
            roots: table(1),
            inverse_roots: table(-1),
            size_inverse: modulus.shoup(modulus.inverse(size as u32 % p)),
            powers,
        })
    }

    /// p.
    pub fn modulus(&self) -> Modulus {
        self.modulus
    }

    /// N.
    pub fn size(&self) -> usize {
        1 << self.log2_size
    }

    /// `psi^brv(i)` for `i < N`, in the order in which passes read them: pass with `m` blocks,
    /// block `i`, at `m + i`.
    pub fn roots(&self) -> &[Shoup] {
        &self.roots
    }

    /// Inverses of [`NttTable::roots`], entry by entry.
    pub fn inverse_roots(&self) -> &[Shoup] {
        &self.inverse_roots
    }

    /// `N^-1 mod p`.
    pub fn size_inverse(&self) -> Shoup {
        self.size_inverse
    }

    /// `psi^i` for `i < 2N`: one table of roots serves every monomial.
    pub fn powers(&self) -> &[u32] {
        &self.powers
    }

    /// Value of `X^exponent` at transform position `position`.
    pub fn monomial(&self, exponent: usize, position: usize) -> u32 {
        let point = 2 * bit_reverse(position, self.log2_size) + 1;
        self.powers[exponent * point % self.powers.len()]
    }

    /// Transforms reduced coefficients in place; reduced values out.
    ///
    /// Cooley-Tukey butterflies, natural order in, bit-reversed order out (Longa and Naehrig 2016,
    /// Algorithm 1).
    pub fn forward(&self, a: &mut [u32]) {
        assert_eq!(a.len(), self.size(), "the transform is of N coefficients");
        let m = self.modulus;
        let (mut blocks, mut half) = (1, self.size() / 2);
        while blocks < self.size() {
            for (block, chunk) in a.chunks_exact_mut(2 * half).enumerate() {
                let w = self.roots[blocks + block];
                let (low, high) = chunk.split_at_mut(half);
                for (u, v) in low.iter_mut().zip(high) {
                    let product = m.mul_shoup(*v, w);
                    (*u, *v) = (m.add(*u, product), m.sub(*u, product));
                }
            }
            blocks *= 2;
            half /= 2;
        }
    }

    /// Inverse of [`NttTable::forward`], `N^-1` included (Gentleman-Sande butterflies).
    pub fn inverse(&self, a: &mut [u32]) {
        assert_eq!(a.len(), self.size(), "the transform is of N coefficients");
        let m = self.modulus;
        let (mut blocks, mut half) = (self.size() / 2, 1);
        while blocks > 0 {
            for (block, chunk) in a.chunks_exact_mut(2 * half).enumerate() {
                let w = self.inverse_roots[blocks + block];
                let (low, high) = chunk.split_at_mut(half);
                for (u, v) in low.iter_mut().zip(high) {
                    let difference = m.sub(*u, *v);
                    (*u, *v) = (m.add(*u, *v), m.mul_shoup(difference, w));
                }
            }
            blocks /= 2;
            half *= 2;
        }
        for x in a {
            *x = m.mul_shoup(*x, self.size_inverse);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pseudo_random(modulus: Modulus, size: usize, seed: u64) -> Vec<u32> {
        let mut x = seed;
        (0..size)
            .map(|_| {
                x = x
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                modulus.reduce(x >> 16)
            })
            .collect()
    }

    fn tables() -> Vec<NttTable> {
        let mut all = Vec::new();
        for log2_size in 6..=13 {
            let size = 1usize << log2_size;
            for bits in [20, 27, 31] {
                let p =
                    crate::largest_ntt_prime(bits, 2 * size as u32).expect("such a prime exists");
                all.push(
                    NttTable::new(Modulus::new(p).expect("odd"), size)
                        .expect("admits the transform"),
                );
            }
        }
        all
    }

    #[test]
    fn forward_is_evaluation_in_the_stated_order() {
        for table in tables().iter().filter(|t| t.size() <= 1024) {
            let m = table.modulus();
            let a = pseudo_random(m, table.size(), 7);
            let mut transformed = a.clone();
            table.forward(&mut transformed);
            for position in [0, 1, 2, 5, table.size() / 2, table.size() - 1] {
                let point = table.monomial(1, position);
                let value = a.iter().rev().fold(0, |acc, &c| m.add(m.mul(acc, point), c));
                assert_eq!(
                    transformed[position],
                    value,
                    "N = {}, position {position}",
                    table.size()
                );
            }
        }
    }

    #[test]
    fn products_equal_the_naive_ones_extremes_included() {
        for table in tables().iter().filter(|t| t.size() <= 512) {
            let m = table.modulus();
            let top = vec![m.value() - 1; table.size()];
            let (a, b) = (pseudo_random(m, table.size(), 1), pseudo_random(m, table.size(), 2));
            for (a, b) in [(&a, &b), (&top, &top), (&a, &top)] {
                let (mut fa, mut fb) = (a.clone(), b.clone());
                table.forward(&mut fa);
                table.forward(&mut fb);
                for (x, y) in fa.iter_mut().zip(&fb) {
                    *x = m.mul(*x, *y);
                }
                table.inverse(&mut fa);
                assert_eq!(fa, negacyclic_product_naive(m, a, b));
            }
        }
    }

    #[test]
    fn inverse_undoes_forward() {
        for table in tables() {
            let a = pseudo_random(table.modulus(), table.size(), 3);
            let mut b = a.clone();
            table.forward(&mut b);
            assert_ne!(a, b);
            table.inverse(&mut b);
            assert_eq!(a, b);
        }
    }

    #[test]
    fn monomials_multiply_as_rotations() {
        let table = &tables()[0];
        let (m, n) = (table.modulus(), table.size());
        let a = pseudo_random(m, n, 4);
        for e in [0, 1, n - 1, n, n + 3, 2 * n - 1] {
            let mut b = a.clone();
            table.forward(&mut b);
            for (position, x) in b.iter_mut().enumerate() {
                *x = m.mul(*x, table.monomial(e, position));
            }
            table.inverse(&mut b);
            for i in 0..n {
                let to = (i + e) % (2 * n);
                let want = if to < n { a[i] } else { m.neg(a[i]) };
                assert_eq!(b[to % n], want, "X^{e}");
            }
        }
    }

    #[test]
    fn refuses_what_has_no_transform() {
        let m = |p| Modulus::new(p).expect("odd");
        assert!(NttTable::new(m(134_215_681), 1000).is_none());
        assert!(NttTable::new(m(134_215_681), 2048).is_none());
        assert!(NttTable::new(m(2049 * 2048 + 1), 1024).is_none());
        // 1 mod 48, but 24 is no power of two; 1 is one, but no size.
        assert!(NttTable::new(m(97), 24).is_none());
        assert!(NttTable::new(m(97), 1).is_none() && NttTable::new(m(97), 0).is_none());
    }

    /// What kernels read, by the definitions.
    #[test]
    fn tables_hold_powers_of_one_root() {
        for table in tables().iter().take(4) {
            let (m, size) = (table.modulus(), table.size());
            let bits = size.trailing_zeros();
            let powers = table.powers();
            let psi = powers[1];
            assert_eq!((powers.len(), m.pow(psi, size as u64)), (2 * size, m.value() - 1));
            for (i, &power) in powers.iter().enumerate() {
                assert_eq!(power, m.pow(psi, i as u64));
            }
            assert_eq!((table.roots().len(), table.inverse_roots().len()), (size, size));
            for (i, (&root, &inverse)) in
                table.roots().iter().zip(table.inverse_roots()).enumerate()
            {
                assert_eq!(m.mul_shoup(1, root), powers[bit_reverse(i, bits)]);
                assert_eq!(m.mul_shoup(powers[bit_reverse(i, bits)], inverse), 1);
            }
            assert_eq!(m.mul_shoup(size as u32 % m.value(), table.size_inverse()), 1);
        }
    }
}
