//! Vectors of 32-bit words, chosen at run time, as [`crate::fft`] has vectors of doubles.
//!
//! Code that wants them is written once, generic over [`WordLanes`], as a [`WordKernel`];
//! `dispatch` runs it compiled for the instruction set named. A value of a `WordLanes` type exists
//! only where the processor has its instructions (`dispatch` makes it after detection, nothing else
//! does), so its methods are safe.

/// One instruction set's vectors of words.
///
/// Products of words are 64 bits wide: a `Wide` holds those of the even words of two vectors, and
/// [`WordLanes::odd`] brings the odd words to even places.
pub(crate) trait WordLanes: Copy {
    /// `WIDTH` words.
    type Words: Copy;
    /// `WIDTH / 2` numbers of 64 bits.
    type Wide: Copy;
    /// `[u32; WIDTH]`, a vector in memory.
    type Array: Copy;
    /// Words of a vector.
    const WIDTH: usize;
    /// Stages of a transform that one pass over memory does, as far as registers hold them.
    const STAGES: usize;

    fn load(self, data: &Self::Array) -> Self::Words;
    fn store(self, a: Self::Words, out: &mut Self::Array);
    /// The vector at `data[at..]`, which panics where `data` ends before it does. A call for what
    /// is left over would make every loop keep its vectors in memory; see [`whole`].
    fn load_at(self, data: &[u32], at: usize) -> Self::Words;
    /// Writes the vector at `out[at..]`, likewise.
    fn store_at(self, a: Self::Words, out: &mut [u32], at: usize);

    fn splat(self, x: u32) -> Self::Words;
    fn add(self, a: Self::Words, b: Self::Words) -> Self::Words;
    fn sub(self, a: Self::Words, b: Self::Words) -> Self::Words;
    fn min(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// The lower 32 bits of the products.
    fn mul_low(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// The upper 32 bits of the products.
    fn mul_high(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// `count + 1` where `a > bound`, else `count`; words of `a` and `bound` below 2^31.
    fn count_greater(self, count: Self::Words, a: Self::Words, bound: Self::Words) -> Self::Words;
    /// `a >> 19`.
    fn shift_right_19(self, a: Self::Words) -> Self::Words;

    /// Exchanges the word index bit of value `H` with the choice between the two vectors: the first
    /// result has the words of both with that bit clear, those of `b` one half block further.
    fn exchange<const H: usize>(self, a: Self::Words, b: Self::Words)
    -> (Self::Words, Self::Words);
    /// Words of `a` and `b` in turn.
    fn interleave(self, a: Self::Words, b: Self::Words) -> (Self::Words, Self::Words);
    /// Even words and odd words: undoes `interleave`.
    fn deinterleave(self, a: Self::Words, b: Self::Words) -> (Self::Words, Self::Words);
    /// The first `WIDTH/H` words of `data`, each `H` times; `data` must have `WIDTH` words.
    fn load_repeated<const H: usize>(self, data: &[u32]) -> Self::Words;
    /// `out[i] = data[index[i]]`, where the indices of each aligned eight name one aligned eight.
    fn permute16(self, data: &[u32; 16], index: &[u32; 16], out: &mut [u32; 16]);

    /// Products of the even words.
    fn mul_even(self, a: Self::Words, b: Self::Words) -> Self::Wide;
    /// Odd words at even places; what is at odd places means nothing.
    fn odd(self, a: Self::Words) -> Self::Words;
    /// The same bits.
    fn as_words(self, a: Self::Wide) -> Self::Words;
    fn splat_wide(self, x: u64) -> Self::Wide;
    fn add_wide(self, a: Self::Wide, b: Self::Wide) -> Self::Wide;
    /// `a - b` where `a >= b`, else `a`.
    fn reduce_wide(self, a: Self::Wide, b: Self::Wide) -> Self::Wide;
    /// The upper words of `even` at even places, of `odd` at odd places.
    fn upper(self, even: Self::Wide, odd: Self::Wide) -> Self::Words;

    /// `x - bound` where that is not negative, else `x`.
    #[inline(always)]
    fn reduce(self, x: Self::Words, bound: Self::Words) -> Self::Words {
        self.min(x, self.sub(x, bound))
    }

    /// `x w` modulo p in
    /// `[0, 2p)`, for any `x`; `w` with its quotient. See `Modulus::mul_shoup_lazy`.
    #[inline(always)]
    fn mul_shoup_lazy(
        self,
        x: Self::Words,
        w: (Self::Words, Self::Words),
        p: Self::Words,
    ) -> Self::Words {
        let quotient = self.mul_high(x, w.1);
        self.sub(self.mul_low(x, w.0), self.mul_low(quotient, p))
    }

    /// `x 2^-32` modulo p for sums of products `x`, below `p + x/2^32 + 1`, where `x + p 2^32` is
    /// below 2^64. See `Modulus::montgomery_reduce_lazy`.
    #[inline(always)]
    fn montgomery_lazy(
        self,
        sum: [Self::Wide; 2],
        neg_inverse: Self::Words,
        p: Self::Words,
    ) -> Self::Words {
        let m = self.as_words(self.mul_even(self.as_words(sum[0]), neg_inverse));
        let even = self.add_wide(sum[0], self.mul_even(m, p));
        let m = self.as_words(self.mul_even(self.as_words(sum[1]), neg_inverse));
        let odd = self.add_wide(sum[1], self.mul_even(m, p));
        self.upper(even, odd)
    }
}

/// Code to be compiled for each instruction set. `run` must be `#[inline(always)]`, and so must all
/// that it calls with lanes; a closure that calls them would be compiled for none.
pub(crate) trait WordKernel {
    type Output;
    fn run<L: WordLanes>(self, lanes: L) -> Self::Output;
}

/// Arrays of eight, which the compiler turns into what every processor of the target has, or pairs
/// of vectors in WebAssembly.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portable(pub(super) ());

/// The words of whole vectors among `len`: what vectors do; the rest is done word by word.
#[inline(always)]
pub(super) fn whole<L: WordLanes>(len: usize) -> usize {
    len - len % L::WIDTH
}
