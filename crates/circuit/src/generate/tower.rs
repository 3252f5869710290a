//! Inversion in GF(2^8) as one in GF(4) over GF(16) (Satoh, Morioka, Takano, Munetoh 2001): products
//! of two elements of GF(4) are functions of four bits.
//!
//! GF(4) has elements x + y w with w^2 = w + 1, GF(16) is GF(4)[t]/(t^2 + t + w), GF(256) is
//! GF(16)[u]/(u^2 + u + l); bits of an element are those of its parts, the constant one first.

use crate::{Builder, Wire};

fn times_4(a: u8, b: u8) -> u8 {
    let [a0, a1, b0, b1] = [a & 1, a >> 1, b & 1, b >> 1];
    (a0 & b0 ^ a1 & b1) | (a0 & b1 ^ a1 & b0 ^ a1 & b1) << 1
}

/// Products in an extension by a root of x^2 + x + `constant`, whose parts have `bits` bits.
fn times(a: u8, b: u8, bits: u32, constant: u8, of: impl Fn(u8, u8) -> u8) -> u8 {
    let mask = (1 << bits) - 1;
    let [al, ah, bl, bh] = [a & mask, a >> bits, b & mask, b >> bits];
    let high = of(ah, bh);
    (of(al, bl) ^ of(constant, high)) | (of(ah, bl) ^ of(al, bh) ^ high) << bits
}

fn times_16(a: u8, b: u8) -> u8 {
    times(a, b, 2, 2, times_4)
}

/// The tower, and how bytes of AES lie in it.
pub(super) struct Tower {
    constant: u8,
    /// Bits of the tower's element for each bit of a byte.
    to: [u8; 8],
    /// Bits of a byte, after the affine map of SubBytes, for each bit of the tower's element.
    from: [u8; 8],
}

/// The affine map of SubBytes without its constant (FIPS 197, section 5.1.1).
fn affine(byte: u8) -> u8 {
    (0..5).fold(0, |sum, by| sum ^ byte.rotate_left(by))
}

const AFFINE: u8 = 0x63;

impl Tower {
    pub fn new() -> Self {
        let has_no_root = |&c: &u8| (0..16).all(|x| times_16(x, x) ^ x ^ c != 0);
        let constant = (1..16).find(has_no_root).expect("half of the field has none");
        let product = |a: u8, b: u8| times(a, b, 4, constant, times_16);
        let power = |x: u8, n: usize| (0..n).fold(1, |all, _| product(all, x));
        // A root of x^8 + x^4 + x^3 + x + 1.
        let is_root = |&x: &u8| [8, 4, 3, 1, 0].iter().fold(0, |sum, &n| sum ^ power(x, n)) == 0;
        let root = (2..=255).find(is_root).expect("the field has its roots");
        let to: [u8; 8] = std::array::from_fn(|bit| power(root, bit));
        let image = |byte: u8| sum_of(&to, byte);
        let from = std::array::from_fn(|bit| {
            let byte = (0..=255).find(|&byte| image(byte) == 1 << bit).expect("a permutation");
            affine(byte)
        });
        Self { constant, to, from }
    }

    /// SubBytes of one byte.
    pub fn s_box(&self, builder: &mut Builder, byte: &[Wire]) -> Vec<Wire> {
        let x: Vec<Wire> =
            (0..8).map(|bit| combined(builder, byte, &rows(&self.to, bit))).collect();
        let (b, a) = x.split_at(4);
        // Of x = a u + b the norm is l a^2 + a b + b^2, and 1/x is (a u + a + b)/norm.
        let norm = |a: u8, b: u8| {
            times_16(self.constant, times_16(a, a)) ^ times_16(a, b) ^ times_16(b, b)
        };
        let norm: Vec<Wire> = pairs(builder, a, b, &norm, 4);
        let inverse = |n: u8| (0..16).find(|&m| times_16(n, m) == 1).unwrap_or(0);
        let d: Vec<Wire> =
            (0..4).map(|bit| function(builder, &norm, &|n| inverse(n) >> bit & 1 == 1)).collect();
        // The affine map is linear: each product adds its part to each bit of the result.
        let high = |a: u8, d: u8| sum_of(&self.from, times_16(a, d) << 4 ^ times_16(a, d));
        let low = |b: u8, d: u8| sum_of(&self.from, times_16(b, d));
        let (high, low) = (pairs(builder, a, &d, &high, 8), pairs(builder, b, &d, &low, 8));
        let bit = |bit: usize| {
            let sum = builder.xor(high[bit], low[bit]);
            if AFFINE >> bit & 1 == 1 { builder.not(sum) } else { sum }
        };
        (0..8).map(bit).collect()
    }
}

/// The sum of the vectors that bits of `of` name.
fn sum_of(vectors: &[u8; 8], of: u8) -> u8 {
    (0..8).filter(|bit| of >> bit & 1 == 1).fold(0, |sum, bit| sum ^ vectors[bit])
}

/// Which vectors have a bit.
fn rows(vectors: &[u8; 8], bit: usize) -> Vec<bool> {
    vectors.iter().map(|vector| vector >> bit & 1 == 1).collect()
}

fn combined(builder: &mut Builder, wires: &[Wire], which: &[bool]) -> Wire {
    let used = wires.iter().zip(which).filter(|(_, used)| **used).map(|(wire, _)| *wire);
    let sum = used.reduce(|sum, wire| builder.xor(sum, wire));
    sum.unwrap_or_else(|| builder.constant(false))
}

/// A function of four bits by its algebraic normal form.
fn function(builder: &mut Builder, wires: &[Wire], f: &dyn Fn(u8) -> bool) -> Wire {
    let mut sum: Option<Wire> = None;
    for term in 0..16u8 {
        // The coefficient: the sum of values below.
        let below = (0..16u8).filter(|m| m & !term == 0 && f(*m)).count();
        if below % 2 == 0 {
            continue;
        }
        let factors = (0..4).filter(|i| term >> i & 1 == 1).map(|i| wires[i]);
        let product = factors.reduce(|all, wire| builder.and(all, wire));
        let product = product.unwrap_or_else(|| builder.constant(true));
        sum = Some(match sum {
            None => product,
            Some(sum) => builder.xor(sum, product),
        });
    }
    sum.unwrap_or_else(|| builder.constant(false))
}

/// Bits of a quadratic function of two elements of GF(16), as sums of functions of a part of the
/// one and a part of the other, two bits each.
fn pairs(
    builder: &mut Builder,
    a: &[Wire],
    b: &[Wire],
    f: &dyn Fn(u8, u8) -> u8,
    bits: usize,
) -> Vec<Wire> {
    // What is linear in one alone belongs to the pairs of equal parts.
    let part = |i: u8, j: u8, x: u8, y: u8| {
        let (a, b) = (x << (2 * i), y << (2 * j));
        let both = f(a, b) ^ f(a, 0) ^ f(0, b) ^ f(0, 0);
        if i == j { both ^ f(a, 0) ^ f(0, b) } else { both }
    };
    (0..bits)
        .map(|bit| {
            let parts = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(i, j)| {
                let wires = [&a[2 * i..2 * i + 2], &b[2 * j..2 * j + 2]].concat();
                let value = |m: u8| part(i as u8, j as u8, m & 3, m >> 2) >> bit & 1 == 1;
                function(builder, &wires, &value)
            });
            let sum = parts.into_iter().reduce(|sum, part| builder.xor(sum, part));
            sum.unwrap_or_else(|| builder.constant(false))
        })
        .collect()
}
