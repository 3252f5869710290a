//! Seeds, streams, and everything uniform.

use zeroize::{Zeroize, ZeroizeOnDrop};

/// The words of one stream, and how it begins.
#[cfg(not(target_feature = "simd128"))]
mod words {
    pub use chacha20::ChaCha20Rng as Words;
    pub use rand_core::Rng;
    use rand_core::SeedableRng;

    pub fn open(seed: &[u8; 32], nonce: u64) -> Words {
        let mut words = Words::from_seed(*seed);
        words.set_stream(nonce);
        words
    }
}
#[cfg(target_feature = "simd128")]
mod words {
    use crate::sampler::four_blocks::FourBlocks;
    use rand_core::block::BlockRng;

    pub type Words = BlockRng<FourBlocks>;

    pub fn open(seed: &[u8; 32], nonce: u64) -> Words {
        BlockRng::new(FourBlocks::new(seed, nonce))
    }

    /// What streams elsewhere have of a trait.
    pub trait Rng {
        fn next_u32(&mut self) -> u32;
        fn next_u64(&mut self) -> u64;
    }

    impl Rng for Words {
        #[inline]
        fn next_u32(&mut self) -> u32 {
            self.next_word()
        }
        #[inline]
        fn next_u64(&mut self) -> u64 {
            self.next_u64_from_u32()
        }
    }
}
use words::{Rng, Words};

/// Bytes that [`RandomStream::fill_bits`] draws at once: of four blocks.
const DRAWN: usize = 256;

/// A public seed that masks are expanded from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaskSeed(pub [u8; 32]);

/// A seed of secrets and errors: wiped when dropped, and never printed. It stays where it was made,
/// so that no copy is left behind when its owner moves.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct SecretSeed(Box<[u8; 32]>);

impl std::fmt::Debug for SecretSeed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretSeed(..)")
    }
}

impl MaskSeed {
    /// The stream of `index` (below 2^48) in `domain`.
    pub fn stream(&self, domain: u16, index: u64) -> RandomStream {
        RandomStream::new(&self.0, domain, index)
    }

    /// What [`MaskSeed::stream`] starts from.
    pub fn public_stream(&self, domain: u16, index: u64) -> PublicStream {
        let word = |i: usize| u32::from_le_bytes(std::array::from_fn(|j| self.0[4 * i + j]));
        PublicStream { key: std::array::from_fn(word), nonce: nonce(domain, index) }
    }
}

/// What a public [`RandomStream`] starts from, for devices that expand it themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicStream {
    /// The key of ChaCha20, as little-endian words.
    pub key: [u32; 8],
    /// Its 64-bit nonce; blocks are counted from 0.
    pub nonce: u64,
}

impl PublicStream {
    /// The stream.
    pub fn expand(&self) -> RandomStream {
        let mut seed = [0; 32];
        for (bytes, word) in seed.chunks_exact_mut(4).zip(self.key) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        RandomStream::from_nonce(&seed, self.nonce)
    }
}

impl SecretSeed {
    /// Takes 32 bytes of full entropy; whoever has them elsewhere wipes them there.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(Box::new(bytes))
    }

    /// A seed whose 32 bytes `fill` writes, where they stay.
    pub fn filled(fill: impl FnOnce(&mut [u8; 32])) -> Self {
        let mut seed = Self(Box::new([0; 32]));
        fill(&mut seed.0);
        seed
    }

    /// Its bytes, for key derivation.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The stream of `index` (below 2^48) in `domain`.
    pub fn stream(&self, domain: u16, index: u64) -> RandomStream {
        RandomStream::new(&self.0, domain, index)
    }
}

fn nonce(domain: u16, index: u64) -> u64 {
    assert!(index < 1 << 48, "stream indices are below 2^48");
    u64::from(domain) << 48 | index
}

/// Values from `W` little-endian bytes each.
#[inline]
fn unpack<const W: usize>(
    values: &mut [u64],
    bytes: &[u8],
    mask: u64,
    word: impl Fn([u8; W]) -> u64,
) {
    for (value, &bytes) in values.iter_mut().zip(bytes.as_chunks().0) {
        *value = word(bytes) & mask;
    }
}

/// One ChaCha20 key stream; its state is wiped when dropped.
///
/// The 64-bit nonce is `domain * 2^48 + index`, the block counter starts at 0,
/// words are little-endian.
pub struct RandomStream(Words);

impl std::fmt::Debug for RandomStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RandomStream(..)")
    }
}

impl RandomStream {
    fn new(seed: &[u8; 32], domain: u16, index: u64) -> Self {
        Self::from_nonce(seed, nonce(domain, index))
    }

    fn from_nonce(seed: &[u8; 32], nonce: u64) -> Self {
        Self(words::open(seed, nonce))
    }

    /// 32 random bits.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// 64 random bits: two words of the stream, the lower first.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `[0, bound)`, for `1 <= bound <= 2^62`, without bias.
    ///
    /// Multiply and reject (Lemire, "Fast random integer generation in an interval", 2019): `x *
    /// bound / 2^w` over words of w = 32 bits where the bound is below 2^32, else 64 bits. A draw
    /// is repeated with probability below `bound / 2^w`, independent of the value returned.
    #[inline]
    pub fn uniform_below(&mut self, bound: u64) -> u64 {
        debug_assert!((1..=1 << 62).contains(&bound));
        if let Ok(bound) = u32::try_from(bound) {
            let mut product = u64::from(self.next_u32()) * u64::from(bound);
            if (product as u32) < bound {
                let threshold = bound.wrapping_neg() % bound;
                while (product as u32) < threshold {
                    product = u64::from(self.next_u32()) * u64::from(bound);
                }
            }
            product >> 32
        } else {
            let mut product = u128::from(self.next_u64()) * u128::from(bound);
            if (product as u64) < bound {
                let threshold = bound.wrapping_neg() % bound;
                while (product as u64) < threshold {
                    product = u128::from(self.next_u64()) * u128::from(bound);
                }
            }
            (product >> 64) as u64
        }
    }

    /// Fills `out` with words uniform in
    /// `[0, bound)`, as [`RandomStream::uniform_below`] draws them.
    pub fn fill_below(&mut self, bound: u64, out: &mut [u64]) {
        for x in out {
            *x = self.uniform_below(bound);
        }
    }

    /// Fills `out` with words uniform in `[0, bound)`, `bound >= 1`, as
    /// [`RandomStream::uniform_below`] draws them, many at a time. What is drawn is public: time
    /// depends on it no more than where a draw is repeated, but its words are not wiped.
    pub fn fill_public_below(&mut self, bound: u32, out: &mut [u32]) {
        debug_assert!(bound >= 1);
        let threshold = bound.wrapping_neg() % bound;
        let mut bytes = [0; DRAWN];
        let mut rest = out;
        while rest.len() >= DRAWN / 4 {
            self.0.fill_bytes(&mut bytes);
            let mut kept = 0;
            for &word in bytes.as_chunks().0 {
                let product = u64::from(u32::from_le_bytes(word)) * u64::from(bound);
                // What is to be repeated is written over.
                rest[kept] = (product >> 32) as u32;
                kept += usize::from(product as u32 >= threshold);
            }
            rest = &mut rest[kept..];
        }
        rest.fill_with(|| self.uniform_below(u64::from(bound)) as u32);
    }

    /// Fills `out` with words uniform in `[0, 2^bits)`, `bits <= 64`.
    ///
    /// Up to 16 bits a stream word gives two values (its lower half first), up to 32 bits one,
    /// above that two give one. A call starts at a whole word.
    pub fn fill_bits(&mut self, bits: u32, out: &mut [u64]) {
        debug_assert!((1..=64).contains(&bits));
        let mask = u64::MAX >> (64 - bits);
        let width = if bits <= 16 { 2 } else { bits.div_ceil(32) as usize * 4 };
        let mut bytes = [0; DRAWN];
        for values in out.chunks_mut(DRAWN / width) {
            let drawn = &mut bytes[..(values.len() * width).next_multiple_of(4)];
            self.0.fill_bytes(drawn);
            match width {
                2 => unpack(values, drawn, mask, |b| u16::from_le_bytes(b).into()),
                4 => unpack(values, drawn, mask, |b| u32::from_le_bytes(b).into()),
                _ => unpack(values, drawn, mask, u64::from_le_bytes),
            }
        }
        bytes.zeroize();
    }

    /// Uniform in {-1, 0, 1}.
    pub fn ternary(&mut self) -> i8 {
        self.uniform_below(3) as i8 - 1
    }

    /// Uniform in {0, 1}.
    pub fn binary(&mut self) -> i8 {
        (self.next_u32() >> 31) as i8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> RandomStream {
        SecretSeed::new([7; 32]).stream(3, 5)
    }

    /// Word by word: a draw is kept unless the low half of its product lies among the first
    /// 2^w mod bound, so that every value has as many.
    #[test]
    fn draws_are_repeated_where_they_would_be_biased() {
        for bound in [3u64 << 30, (1 << 31) + 1, 5, 1] {
            let (mut words, mut repeated) = (stream(), 0);
            let mut s = stream();
            for _ in 0..1000 {
                let want = loop {
                    let product = u64::from(words.next_u32()) * bound;
                    if product % (1 << 32) >= (1 << 32) % bound {
                        break product >> 32;
                    }
                    repeated += 1;
                };
                assert_eq!(s.uniform_below(bound), want, "below {bound}");
            }
            assert_eq!(s.next_u32(), words.next_u32(), "as many words below {bound}");
            assert_eq!(repeated > 100, bound > 1 << 31, "{repeated} below {bound}");
        }
        for bound in [3u128 << 60, (1 << 61) + 1, (1 << 32) + 1, 1 << 62] {
            let (mut words, mut s) = (stream(), stream());
            for _ in 0..1000 {
                let want = loop {
                    let product = u128::from(words.next_u64()) * bound;
                    if product % (1 << 64) >= (1 << 64) % bound {
                        break product >> 64;
                    }
                };
                assert_eq!(u128::from(s.uniform_below(bound as u64)), want, "below {bound}");
            }
            assert_eq!(s.next_u64(), words.next_u64(), "as many words below {bound}");
        }
    }

    #[test]
    fn many_words_below_a_bound_are_those_drawn_one_by_one() {
        for bound in [1, 5, (1 << 20) - 3, 3 << 30, (1 << 31) + 1, u32::MAX] {
            for len in [0, 1, 63, 64, 65, 1000] {
                let (mut many, mut single) = (stream(), stream());
                let mut out = vec![0; len];
                many.fill_public_below(bound, &mut out);
                let wanted = (0..len).map(|_| single.uniform_below(bound.into()) as u32);
                assert_eq!(out, wanted.collect::<Vec<_>>(), "{len} below {bound}");
                assert_eq!(many.next_u32(), single.next_u32(), "{len} below {bound}");
            }
        }
    }

    #[test]
    fn widths_take_the_words_that_are_said() {
        let words: Vec<u64> = {
            let mut s = stream();
            (0..6).map(|_| u64::from(s.next_u32())).collect()
        };
        let drawn = |bits| {
            let mut out = [0; 3];
            stream().fill_bits(bits, &mut out);
            out
        };
        assert_eq!(drawn(16), [words[0] & 0xffff, words[0] >> 16, words[1] & 0xffff]);
        assert_eq!(drawn(17), [0, 1, 2].map(|i| words[i] & 0x1_ffff));
        assert_eq!(drawn(32), [0, 1, 2].map(|i| words[i]));
        let wide = [0, 2, 4].map(|i| words[i] | words[i + 1] << 32);
        assert_eq!(drawn(33), wide.map(|x| x & 0x1_ffff_ffff));
        assert_eq!(drawn(64), wide);
    }

    /// Chi-squared statistic of `samples` draws over `cells` equal cells.
    fn chi_squared(cells: usize, samples: usize, mut draw: impl FnMut() -> usize) -> f64 {
        let mut counts = vec![0u64; cells];
        for _ in 0..samples {
            counts[draw()] += 1;
        }
        let expected = samples as f64 / cells as f64;
        counts.iter().map(|&c| (c as f64 - expected).powi(2) / expected).sum()
    }

    /// A statistic with `cells - 1` degrees of freedom, five deviations above its mean.
    fn limit(cells: usize) -> f64 {
        let freedom = cells as f64 - 1.0;
        freedom + 5.0 * (2.0 * freedom).sqrt() + 10.0
    }

    #[test]
    fn uniform_below_any_bound_is_uniform() {
        let mut s = stream();
        // Bounds just above a power of two, where a biased reduction shows most; large ones are
        // folded into 64 cells.
        for bound in [
            2,
            3,
            5,
            64,
            100,
            188_417,
            134_215_681,
            0xC000_0001,
            (1 << 32) + 7,
            2_199_178_297_348,
            3 << 60,
        ] {
            let cells = if bound <= 100 { bound } else { 64 };
            let draw = || {
                let x = s.uniform_below(bound);
                assert!(x < bound);
                (u128::from(x) * u128::from(cells) / u128::from(bound)) as usize
            };
            let statistic = chi_squared(cells as usize, 1_000_000, draw);
            assert!(statistic < limit(cells as usize), "bound {bound}: {statistic}");
        }
        assert_eq!(s.uniform_below(1), 0);
    }

    #[test]
    fn every_bit_of_every_width_is_fair() {
        let mut s = stream();
        for bits in [1, 7, 14, 15, 16, 17, 21, 32, 33, 35, 64] {
            let mut words = vec![0; 100_001];
            s.fill_bits(bits, &mut words);
            for bit in 0..64 {
                let ones = words.iter().filter(|&&w| w >> bit & 1 == 1).count() as f64;
                let deviation = (ones - 50_000.5).abs();
                if bit < bits {
                    assert!(deviation < 5.0 * 158.2, "{bits}: bit {bit}")
                } else {
                    assert_eq!(ones, 0.0)
                }
            }
        }
    }

    #[test]
    fn secrets_take_each_value_equally_often() {
        let mut s = stream();
        assert!(chi_squared(3, 3_000_000, || (s.ternary() + 1) as usize) < limit(3));
        assert!(chi_squared(2, 3_000_000, || s.binary() as usize) < limit(2));
    }

    /// The numbers come from an independent implementation of ChaCha20 and of
    /// the rules documented above.
    ///
    /// Changing any of them changes what stored keys expand to: raise the version of their format
    /// with them.
    #[test]
    fn the_expansion_of_masks_is_pinned() {
        let seed = MaskSeed(std::array::from_fn(|i| i as u8));
        let mut s = seed.stream(2, 0x1234_5678_9ABC);
        let drawn = [
            s.uniform_below(134_215_681),
            s.uniform_below(2_199_178_297_348),
            s.uniform_below(1 << 62),
        ];
        assert_eq!(drawn, PINNED_BELOW, "{drawn:?}");
        let mut bits = [[0; 3]; 3];
        s.fill_bits(14, &mut bits[0]);
        s.fill_bits(21, &mut bits[1]);
        s.fill_bits(35, &mut bits[2]);
        assert_eq!(bits, PINNED_BITS, "{bits:?}");
        // A long run, folded (FNV-1a over little-endian words), so that a change after the first
        // block shows too.
        let mut long = vec![0; 4096];
        seed.stream(1, 0).fill_below(33_538_049 * 33_550_337, &mut long);
        let hash = long
            .iter()
            .fold(0xcbf2_9ce4_8422_2325u64, |h, &w| (h ^ w).wrapping_mul(0x100_0000_01b3));
        assert_eq!(hash, PINNED_HASH, "{hash:#x}");
    }

    #[test]
    fn a_public_stream_is_the_stream_it_was_taken_from() {
        let seed = MaskSeed(std::array::from_fn(|i| 3 * i as u8));
        let public = seed.public_stream(7, 0xFEDC_BA98_7654);
        assert_eq!(public.key[1], 0x1512_0F0C);
        assert_eq!(public.nonce, 0x0007_FEDC_BA98_7654);
        let mut streams = [seed.stream(7, 0xFEDC_BA98_7654), public.expand()];
        let drawn = streams.each_mut().map(|s| [(); 40].map(|()| s.next_u32()));
        assert_eq!(drawn[0], drawn[1]);
    }

    const PINNED_BELOW: [u64; 3] = [42_885_177, 2_083_507_000_579, 3_230_422_087_395_440_672];
    const PINNED_BITS: [[u64; 3]; 3] = [
        [4_847, 5_893, 1_523],
        [1_329_898, 293_721, 959_060],
        [9_268_127_297, 8_760_970_116, 16_441_097_263],
    ];
    const PINNED_HASH: u64 = 0x8014_90b1_a031_324f;

    #[test]
    fn streams_differ_by_domain_index_and_seed_and_repeat() {
        let first = |seed: u8, domain, index| MaskSeed([seed; 32]).stream(domain, index).next_u64();
        let all =
            [first(0, 0, 0), first(0, 0, 1), first(0, 1, 0), first(1, 0, 0), first(0, 0, 1 << 47)];
        for (i, a) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|b| a != b));
        }
        assert_eq!(first(0, 0, 1), first(0, 0, 1));
        assert!(!format!("{:?}", SecretSeed::new([9; 32])).contains('9'));
    }
}
