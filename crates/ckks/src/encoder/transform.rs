//! The f64 transform between slots and coefficients.
//!
//! With `c_k = m_k + i m_{k+n}` the slots are `S_n .. S_4 S_2 bitrev(c)`, where `S_len` maps each
//! pair (u, v) at distance len/2 in a block of len entries to `(u + w_j v, u - w_j v)`,
//! `w_j = exp(2 pi i 5^j / (4 len))` (Cheon, Kim, Kim and Song 2017, as in HEAAN).

use girih_ring::bit_reverse;
use girih_ring::fft::{self, Complex, Kernel, Lanes, Simd};
use num_complex::Complex64;

/// Tables for up to 2^`log2_slots` slots: the same ones serve every smaller power of two.
#[derive(Clone, Debug)]
pub(super) struct Transform {
    /// `w_j` of the stage with blocks of `len = 2h` at `h + j`; entry 0 is not used.
    roots: Parts,
    simd: Simd,
}

/// Complex numbers as two arrays: real and imaginary parts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts {
    pub re: Vec<f64>,
    pub im: Vec<f64>,
}

impl Parts {
    /// These numbers and no others.
    pub fn fill(&mut self, values: impl Iterator<Item = Complex64> + Clone) {
        self.re.clear();
        self.im.clear();
        self.re.extend(values.clone().map(|value| value.re));
        self.im.extend(values.map(|value| value.im));
    }

    /// These real numbers, one slice after the other, and no others.
    pub fn fill_real(&mut self, values: [&[f64]; 2]) {
        self.re.clear();
        values.iter().for_each(|values| self.re.extend_from_slice(values));
        self.im.clear();
        self.im.resize(self.re.len(), 0.0);
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.re.len()
    }

    fn at(&self, i: usize) -> Complex64 {
        Complex64::new(self.re[i], self.im[i])
    }
}

/// Coefficients below this are rounded by a sum with [`ROUNDING`].
pub(super) const SMALL: f64 = (1u64 << 50) as f64;

/// 3 * 2^51: a number below 2^51 in magnitude plus this is rounded to an integer, ties to even, and
/// that is by how much the words of both differ.
const ROUNDING: f64 = (3u64 << 51) as f64;

impl Transform {
    pub fn new(log2_slots: u32) -> Self {
        let slots = 1usize << log2_slots;
        // exp(i pi k / 2n): each the pair of doubles nearest to the true values.
        let table = fft::roots_of_unity(2 * slots);
        let mut roots = Parts { re: vec![1.0; slots.max(1)], im: vec![0.0; slots.max(1)] };
        let mut half = 1;
        while half < slots {
            let order = 8 * half;
            let mut power = 1;
            for j in 0..half {
                let [re, im] = table[power * (4 * slots / order)];
                (roots.re[half + j], roots.im[half + j]) = (re, im);
                power = power * 5 % order;
            }
            half *= 2;
        }
        Self { roots, simd: Simd::detect() }
    }

    /// The same on the vectors named.
    #[cfg(test)]
    pub fn with_simd(self, simd: Simd) -> Self {
        Self { simd, ..self }
    }

    /// Slots to the `c_k`, in place; the length is a power of two up to that of the tables.
    pub fn to_coefficients(&self, z: &mut Parts) {
        let mut half = z.len() / 2;
        while half > 0 {
            for start in (0..z.len()).step_by(2 * half) {
                for j in 0..half {
                    let (u, v) = (z.at(start + j), z.at(start + j + half));
                    let difference = (u - v) * 0.5;
                    let (sum, product) =
                        ((u + v) * 0.5, difference * self.roots.at(half + j).conj());
                    (z.re[start + j], z.im[start + j]) = (sum.re, sum.im);
                    (z.re[start + j + half], z.im[start + j + half]) = (product.re, product.im);
                }
            }
            half /= 2;
        }
        reverse_bits(&mut z.re);
        reverse_bits(&mut z.im);
    }

    /// Real parts of the `c_k` times `scale`, rounded to integers, then their imaginary parts;
    /// what is left in `z` is of no use. `out` has two integers a slot.
    ///
    /// None where there are too few slots for vectors. Integers are those of
    /// [`Transform::to_coefficients`] where all parts times the scale are below [`SMALL`].
    pub fn to_small_integers(&self, z: &mut Parts, scale: f64, out: &mut [i64]) -> Option<()> {
        if z.len() < self.simd.width() * self.simd.width() {
            return None;
        }
        let (re, im) = (&mut z.re[..], &mut z.im[..]);
        self.simd.run(ToIntegers { roots: &self.roots, re, im, scale, out });
        Some(())
    }

    /// The `c_k` to slots, in place.
    pub fn to_slots(&self, z: &mut [Complex64]) {
        reverse_bits(z);
        let mut half = 1;
        while half < z.len() {
            for block in z.chunks_exact_mut(2 * half) {
                let (low, high) = block.split_at_mut(half);
                for ((u, v), j) in low.iter_mut().zip(high).zip(half..) {
                    let product = *v * self.roots.at(j);
                    (*u, *v) = (*u + product, *u - product);
                }
            }
            half *= 2;
        }
    }
}

fn reverse_bits<T>(z: &mut [T]) {
    let bits = z.len().trailing_zeros();
    for i in 0..z.len() {
        let j = bit_reverse(i, bits);
        if i < j {
            z.swap(i, j);
        }
    }
}

/// [`Transform::to_small_integers`]: the same sums and products in the same order, so that all
/// vectors give the same integers.
struct ToIntegers<'a> {
    roots: &'a Parts,
    re: &'a mut [f64],
    im: &'a mut [f64],
    scale: f64,
    out: &'a mut [i64],
}

type C<L> = Complex<<L as Lanes>::F>;

/// Doubles in the widest vectors.
const WIDEST: usize = 8;

/// ((u + v) / 2, (u - v) / 2 conj(w)).
#[inline(always)]
fn butterfly<L: Lanes>(l: L, u: C<L>, v: C<L>, w: C<L>) -> [C<L>; 2] {
    let half = l.splat(0.5);
    let sum = Complex { re: l.mul(l.add(u.re, v.re), half), im: l.mul(l.add(u.im, v.im), half) };
    let (re, im) = (l.mul(l.sub(u.re, v.re), half), l.mul(l.sub(u.im, v.im), half));
    let product = Complex {
        re: l.add(l.mul(re, w.re), l.mul(im, w.im)),
        im: l.sub(l.mul(im, w.re), l.mul(re, w.im)),
    };
    [sum, product]
}

impl Kernel for ToIntegers<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(mut self, l: L) {
        let mut half = self.re.len() / 2;
        while half >= 2 * L::WIDTH {
            self.two_stages(l, half);
            half /= 4;
        }
        if half == L::WIDTH {
            self.stage(l, half);
        }
        self.last_stages(l);
    }
}

impl ToIntegers<'_> {
    #[inline(always)]
    fn load<L: Lanes>(&self, l: L, at: usize) -> C<L> {
        Complex { re: l.load(&self.re[at..]), im: l.load(&self.im[at..]) }
    }

    #[inline(always)]
    fn store<L: Lanes>(&mut self, l: L, x: C<L>, at: usize) {
        l.store(x.re, &mut self.re[at..]);
        l.store(x.im, &mut self.im[at..]);
    }

    #[inline(always)]
    fn root<L: Lanes>(&self, l: L, at: usize) -> C<L> {
        Complex { re: l.load(&self.roots.re[at..]), im: l.load(&self.roots.im[at..]) }
    }

    /// The stage with pairs at this distance.
    #[inline(always)]
    fn stage<L: Lanes>(&mut self, l: L, half: usize) {
        for start in (0..self.re.len()).step_by(2 * half) {
            for j in (0..half).step_by(L::WIDTH) {
                let (u, v) = (self.load(l, start + j), self.load(l, start + j + half));
                let [u, v] = butterfly(l, u, v, self.root(l, half + j));
                self.store(l, u, start + j);
                self.store(l, v, start + j + half);
            }
        }
    }

    /// That stage and the next one.
    #[inline(always)]
    fn two_stages<L: Lanes>(&mut self, l: L, half: usize) {
        let quarter = half / 2;
        for start in (0..self.re.len()).step_by(2 * half) {
            for j in (0..quarter).step_by(L::WIDTH) {
                let at = start + j;
                let (a, b) = (self.load(l, at), self.load(l, at + quarter));
                let (c, d) = (self.load(l, at + 2 * quarter), self.load(l, at + 3 * quarter));
                let [a, c] = butterfly(l, a, c, self.root(l, half + j));
                let [b, d] = butterfly(l, b, d, self.root(l, half + j + quarter));
                let next = self.root(l, quarter + j);
                let [a, b] = butterfly(l, a, b, next);
                let [c, d] = butterfly(l, c, d, next);
                self.store(l, a, at);
                self.store(l, b, at + quarter);
                self.store(l, c, at + 2 * quarter);
                self.store(l, d, at + 3 * quarter);
            }
        }
    }

    /// The stages inside of vectors, across as many blocks as a vector has lanes, and the reversal
    /// of bits: of blocks that are far apart, results lie side by side.
    #[inline(always)]
    fn last_stages<L: Lanes>(&mut self, l: L) {
        let (n, width) = (self.re.len(), L::WIDTH);
        let mut reversed = [0; WIDEST];
        for (lane, reversed) in reversed[..width].iter_mut().enumerate() {
            *reversed = bit_reverse(lane, width.trailing_zeros());
        }
        // So far apart are blocks whose numbers differ in their upper bits alone, and results of
        // one place in a block.
        let apart = n / (width * width);
        for number in 0..apart {
            let [mut re, mut im] = [[l.splat(0.0); WIDEST]; 2];
            for (lane, block) in reversed[..width].iter().enumerate() {
                let at = width * (block * apart + number);
                (re[lane], im[lane]) = (l.load(&self.re[at..]), l.load(&self.im[at..]));
            }
            l.transpose(&mut re[..width]);
            l.transpose(&mut im[..width]);
            let mut half = width / 2;
            while half > 0 {
                for start in (0..width).step_by(2 * half) {
                    for j in 0..half {
                        let (low, high) = (start + j, start + j + half);
                        let u = Complex { re: re[low], im: im[low] };
                        let v = Complex { re: re[high], im: im[high] };
                        let root = Complex {
                            re: l.splat(self.roots.re[half + j]),
                            im: l.splat(self.roots.im[half + j]),
                        };
                        let [u, v] = butterfly(l, u, v, root);
                        (re[low], im[low], re[high], im[high]) = (u.re, u.im, v.re, v.im);
                    }
                }
                half /= 2;
            }
            let first = bit_reverse(number, apart.trailing_zeros()) * width;
            for (place, to) in reversed[..width].iter().enumerate() {
                let at = to * (n / width) + first;
                self.round(l, re[place], at);
                self.round(l, im[place], at + n);
            }
        }
    }

    /// Writes `part` times the scale, rounded.
    #[inline(always)]
    fn round<L: Lanes>(&mut self, l: L, part: L::F, at: usize) {
        let mut sums = [0.0; WIDEST];
        l.store(l.add(l.mul(part, l.splat(self.scale)), l.splat(ROUNDING)), &mut sums);
        for (out, sum) in self.out[at..at + L::WIDTH].iter_mut().zip(sums) {
            *out = (sum.to_bits() as i64).wrapping_sub(const { ROUNDING.to_bits() as i64 });
        }
    }
}
