//! Kernel `key_switch`: a streaming gather over the table `K[i][digit][value]`,
//! then the last mod switch.

use crate::memory::out_of_memory;
use girih_backend::parallel::prelude::*;
use girih_backend::{BootstrapShape, KeySource, Progress, Result, Units};
use girih_ring::fft::prefetch;
use girih_ring::switch::mod_switch_pow2;

/// A word wide enough for Q_ks. Sums wrap modulo its size, which Q_ks divides.
trait Word: Copy + Default + Send + Sync {
    fn from_u64(x: u64) -> Self;
    fn to_u64(self) -> u64;
    fn wrapping_sub(self, other: Self) -> Self;
}

macro_rules! word {
    ($($t:ty),*) => {$(
        impl Word for $t {
            fn from_u64(x: u64) -> Self {
                x as $t
            }
            fn to_u64(self) -> u64 {
                u64::from(self)
            }
            fn wrapping_sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
        }
    )*};
}
word!(u16, u32, u64);

/// The table in the narrowest words that hold Q_ks, without the rows of value 0: `[i][digit][value
/// - 1][n + r]`.
enum Table {
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
}

/// The key-switching key, ready for use.
pub(crate) struct KeySwitcher {
    shape: BootstrapShape,
    table: Table,
}

impl KeySwitcher {
    /// Pulls the whole table.
    pub(crate) fn new(keys: &dyn KeySource, progress: &dyn Progress) -> Result<Self> {
        let shape = keys.shape().clone();
        let table = match shape.log2_ks_modulus {
            0..=16 => Table::U16(load(keys, progress)?),
            17..=32 => Table::U32(load(keys, progress)?),
            _ => Table::U64(load(keys, progress)?),
        };
        Ok(Self { shape, table })
    }

    /// Bytes of the table.
    pub(crate) fn bytes(&self) -> usize {
        match &self.table {
            Table::U16(t) => size_of_val(&t[..]),
            Table::U32(t) => size_of_val(&t[..]),
            Table::U64(t) => size_of_val(&t[..]),
        }
    }

    /// Switches `[ciphertext][kN + r]` words modulo Q_ks to `[ciphertext][n + r]`, still modulo
    /// Q_ks: `(0, b') - sum over i, digit of K[i][digit][digit of a'_i]`, digits unsigned, least
    /// significant first.
    ///
    /// The loop over the table is outermost, so that a block of it serves every ciphertext while it
    /// is in cache.
    pub(crate) fn key_switch(&self, input: &[u64], output: &mut [u64]) {
        match &self.table {
            Table::U16(t) => gather(&self.shape, t, input, output),
            Table::U32(t) => gather(&self.shape, t, input, output),
            Table::U64(t) => gather(&self.shape, t, input, output),
        }
    }
}

/// Rounds switched words from Q_ks to a power of two below it, half up.
pub(crate) fn switch_to_output(words: &[u64], log2_ks: u32, log2_output: u32, out: &mut [u32]) {
    for (o, &w) in out.iter_mut().zip(words) {
        *o = mod_switch_pow2(w, log2_ks, log2_output) as u32;
    }
}

fn load<W: Word>(keys: &dyn KeySource, progress: &dyn Progress) -> Result<Vec<W>> {
    let shape = keys.shape();
    let (digit_rows, len) = (shape.ks_base() - 1, shape.ciphertext_len());
    let block = shape.ks_digits() * digit_rows * len;
    expand(shape.ks_indices(), block, progress, |index, out: &mut [W]| {
        let mut words = vec![0u64; shape.key_switching_block_len()];
        keys.key_switching_block(index, &mut words);
        let all = words.chunks_exact(shape.ks_base() * len);
        for (all, used) in all.zip(out.chunks_exact_mut(digit_rows * len)) {
            for (o, &w) in used.iter_mut().zip(&all[len..]) {
                *o = W::from_u64(w);
            }
        }
    })
}

/// A key-switching key of `count` blocks of `block` words, filled on all threads.
pub(crate) fn expand<W: Copy + Default + Send>(
    count: usize,
    block: usize,
    progress: &dyn Progress,
    fill: impl Fn(usize, &mut [W]) + Sync,
) -> Result<Vec<W>> {
    let (total, mut words) = (count * block, Vec::new());
    let refuse = |_| out_of_memory(total * size_of::<W>(), "the key-switching key");
    words.try_reserve_exact(total).map_err(refuse)?;
    words.resize(total, W::default());
    let blocks = Units::new(progress, "expanding the key-switching key", count);
    words.par_chunks_exact_mut(block).enumerate().for_each(|(index, out)| {
        // A report that unwinds ends the work: threads begin no other block.
        if !blocks.is_over() {
            fill(index, out);
            blocks.done();
        }
    });
    Ok(words)
}

/// The rows of the table for mask word `word` of index `index`: one a digit, none for digit 0.
fn rows<'t, W>(
    shape: &BootstrapShape,
    table: &'t [W],
    index: usize,
    word: u64,
) -> impl Iterator<Item = &'t [W]> {
    let (len, digits, log2_base) =
        (shape.ciphertext_len(), shape.ks_digits(), shape.log2_ks_base as usize);
    let digit_len = (shape.ks_base() - 1) * len;
    table[index * digits * digit_len..].chunks_exact(digit_len).take(digits).enumerate().filter_map(
        move |(position, rows)| {
            let digit = (word >> (position * log2_base)) as usize & ((1 << log2_base) - 1);
            (digit > 0).then(|| &rows[(digit - 1) * len..][..len])
        },
    )
}

fn gather<W: Word>(shape: &BootstrapShape, table: &[W], input: &[u64], output: &mut [u64]) {
    let (len, indices, n) = (shape.ciphertext_len(), shape.ks_indices(), shape.lwe_dimension);
    let ciphertexts = input.len() / (indices + shape.packing);
    let mut sums = vec![W::default(); ciphertexts * len];
    for (sum, ciphertext) in
        sums.chunks_exact_mut(len).zip(input.chunks_exact(indices + shape.packing))
    {
        for (s, &b) in sum[n..].iter_mut().zip(&ciphertext[indices..]) {
            *s = W::from_u64(b);
        }
    }
    for index in 0..indices {
        for (sum, ciphertext) in
            sums.chunks_exact_mut(len).zip(input.chunks_exact(indices + shape.packing))
        {
            // Which rows come next only the digits know: without a hint every one of them waits for
            // main memory.
            const AHEAD: usize = 2;
            if index + AHEAD < indices {
                rows(shape, table, index + AHEAD, ciphertext[index + AHEAD]).for_each(prefetch);
            }
            for row in rows(shape, table, index, ciphertext[index]) {
                for (s, &w) in sum.iter_mut().zip(row) {
                    *s = s.wrapping_sub(w);
                }
            }
        }
    }
    let mask = (1u64 << shape.log2_ks_modulus) - 1;
    for (o, s) in output.iter_mut().zip(&sums) {
        *o = s.to_u64() & mask;
    }
}
