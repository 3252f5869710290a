//! Key words in as few whole bytes as their modulus needs.

use girih_backend::parallel::prelude::*;

/// Words up to a largest one, each in `width` little-endian bytes: 2 for key-switching bodies of
/// most sets, 4 for one prime word, 6 for the key modulus of most modulus-raising sets, 8 on the
/// native torus.
#[derive(Clone)]
pub(crate) struct PackedWords {
    width: usize,
    bytes: Vec<u8>,
}

impl PackedWords {
    /// Bytes of one word up to `largest`.
    pub fn width(largest: u64) -> usize {
        ((64 - largest.leading_zeros()).div_ceil(8) as usize).max(1)
    }

    /// `len` zeros.
    ///
    /// # Errors
    /// Where there is no memory for them: the bytes they take.
    pub fn zeroed(largest: u64, len: usize) -> Result<Self, u64> {
        let width = Self::width(largest);
        let wanted = (width as u64).saturating_mul(len as u64);
        let bytes = usize::try_from(wanted).map_err(|_| wanted)?;
        // Asked for first and given back: zeros straight from the system cost nothing, but end the
        // program where there are none.
        Vec::<u8>::new().try_reserve_exact(bytes).map_err(|_| wanted)?;
        Ok(Self { width, bytes: vec![0; bytes] })
    }

    /// Takes bytes from outside.
    ///
    /// # Errors
    /// What is wrong: the length, or the first word above `largest`.
    pub fn checked(largest: u64, len: usize, bytes: &[u8]) -> Result<Self, String> {
        let width = Self::width(largest);
        if bytes.len() != width * len {
            return Err(format!(
                "{} bytes where {len} words of {width} bytes must stand",
                bytes.len()
            ));
        }
        let words = Self { width, bytes: bytes.to_vec() };
        if let Some(index) = (0..len).into_par_iter().find_any(|&i| words.get(i) > largest) {
            return Err(format!(
                "word {index} is {}, which is above the largest residue {largest}",
                words.get(index)
            ));
        }
        Ok(words)
    }

    /// Number of words.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.width
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Word `index`.
    pub fn get(&self, index: usize) -> u64 {
        let mut word = [0; 8];
        word[..self.width].copy_from_slice(&self.bytes[index * self.width..][..self.width]);
        u64::from_le_bytes(word)
    }

    /// Copies words from `first` on into `out`.
    pub fn read(&self, first: usize, out: &mut [u64]) {
        for (i, x) in out.iter_mut().enumerate() {
            *x = self.get(first + i);
        }
    }

    /// Hands out blocks of `words` words each by their numbers, on all threads, to be filled with
    /// [`PackedWords::write`].
    pub fn fill_blocks(&mut self, words: usize, fill: impl Fn(usize, &mut [u8]) + Sync + Send) {
        let blocks = self.bytes.par_chunks_exact_mut(words * self.width);
        blocks.enumerate().for_each(|(index, block)| fill(index, block));
    }

    /// Stores `values` in a block, from word `first` on; `largest` as at construction.
    pub fn write(largest: u64, block: &mut [u8], first: usize, values: &[u64]) {
        let width = Self::width(largest);
        for (bytes, value) in block[first * width..].chunks_exact_mut(width).zip(values) {
            bytes.copy_from_slice(&value.to_le_bytes()[..width]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_every_width_and_refuses_what_does_not_fit() {
        for (largest, width) in [
            (1u64, 1),
            (255, 1),
            (256, 2),
            ((1 << 14) - 1, 2),
            (134_215_680, 4),
            ((1 << 35) - 1, 5),
            ((1 << 41) - 1, 6),
            (u64::MAX, 8),
        ] {
            assert_eq!(PackedWords::width(largest), width);
            let mut words = PackedWords::zeroed(largest, 6).expect("a few bytes");
            assert_eq!(
                PackedWords::zeroed(largest, usize::MAX / 8).err(),
                Some((width * (usize::MAX / 8)) as u64)
            );
            let values = [largest, largest / 2];
            words.fill_blocks(3, |_, block| PackedWords::write(largest, block, 1, &values));
            assert_eq!((words.get(0), words.get(1), words.get(5)), (0, largest, largest / 2));
            let mut out = [0; 3];
            words.read(3, &mut out);
            assert_eq!(out, [0, largest, largest / 2]);
            let bytes = words.as_bytes().to_vec();
            assert!(PackedWords::checked(largest, 6, &bytes).is_ok());
            assert!(PackedWords::checked(largest, 5, &bytes).is_err_and(|e| e.contains("5 words")));
            if !largest.wrapping_add(1).is_power_of_two() && largest != u64::MAX || largest == 1 {
                let full = vec![0xFF; bytes.len()];
                assert!(
                    PackedWords::checked(largest, 6, &full)
                        .is_err_and(|e| e.contains("above the largest"))
                );
            }
        }
    }
}
