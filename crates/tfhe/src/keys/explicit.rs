//! Keys written out in full, as test vectors hold them.

use crate::{Result, error};
use girih_backend::{BootstrapShape, KeySource};

/// Every word of both keys, masks included, in the order in which devices load them.
///
/// For published vectors and for tests that look inside keys; users load
/// [`EvaluationKeys`](crate::EvaluationKeys).
pub struct ExplicitKeys {
    shape: BootstrapShape,
    bootstrapping: Vec<u64>,
    key_switching: Vec<u64>,
}

impl std::fmt::Debug for ExplicitKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExplicitKeys").field("shape", &self.shape).finish_non_exhaustive()
    }
}

impl ExplicitKeys {
    /// Takes `bootstrapping` `[step][GGSW][level][row K][column K][N]` modulo M and `key_switching`
    /// `[kN][digit][value][n + r]` modulo Q_ks, value 0 included; native torus: `[kN][digit][n +
    /// r]` modulo 2^64.
    ///
    /// # Errors
    /// [`Error::Parameter`](crate::Error::Parameter) for an impossible shape,
    /// [`Error::Malformed`](crate::Error::Malformed) for a wrong length, a word out of range, or a
    /// value 0 that is not zero.
    pub fn new(
        shape: BootstrapShape,
        bootstrapping: Vec<u64>,
        key_switching: Vec<u64>,
    ) -> Result<Self> {
        shape.validate()?;
        let check = |name: &str, words: &[u64], len: usize, largest: u64| {
            if words.len() != len {
                return error::malformed(
                    "explicit keys",
                    format!("{name} has {} words, the shape needs {len}", words.len()),
                );
            }
            match words.iter().position(|&w| w > largest) {
                Some(i) => error::malformed(
                    "explicit keys",
                    format!("word {i} of {name} is {}, the largest residue is {largest}", words[i]),
                ),
                None => Ok(()),
            }
        };
        let len = shape.steps() * shape.bootstrapping_block_len();
        check(
            "bootstrapping_key",
            &bootstrapping,
            len,
            super::bootstrapping::largest_word(&shape),
        )?;
        let len = shape.ks_indices() * shape.key_switching_block_len();
        check(
            "key_switching_key",
            &key_switching,
            len,
            super::key_switching::largest_word(&shape),
        )?;
        if shape.is_torus() {
            return Ok(Self { shape, bootstrapping, key_switching });
        }
        let ciphertext = shape.switched_len();
        let mut tables = key_switching.chunks_exact(shape.ks_base() * ciphertext);
        if let Some(i) = tables.position(|table| table[..ciphertext].iter().any(|&w| w != 0)) {
            let (index, digit) = (i / shape.ks_digits(), i % shape.ks_digits());
            return error::malformed(
                "explicit keys",
                format!("key_switching_key[{index}][{digit}][0] must be zero"),
            );
        }
        Ok(Self { shape, bootstrapping, key_switching })
    }

    /// Writes out the keys of any source.
    ///
    /// # Errors
    /// As [`ExplicitKeys::new`]: the source is checked like anything else.
    pub fn expand(source: &dyn KeySource) -> Result<Self> {
        let shape = source.shape().clone();
        let mut bootstrapping = vec![0; shape.steps() * shape.bootstrapping_block_len()];
        for (i, block) in
            bootstrapping.chunks_exact_mut(shape.bootstrapping_block_len()).enumerate()
        {
            source.bootstrapping_block(i, block);
        }
        let mut key_switching = vec![0; shape.ks_indices() * shape.key_switching_block_len()];
        for (i, block) in
            key_switching.chunks_exact_mut(shape.key_switching_block_len()).enumerate()
        {
            source.key_switching_block(i, block);
        }
        Self::new(shape, bootstrapping, key_switching)
    }

    /// All words of the bootstrapping key.
    pub fn bootstrapping(&self) -> &[u64] {
        &self.bootstrapping
    }

    /// All words of the key-switching key.
    pub fn key_switching(&self) -> &[u64] {
        &self.key_switching
    }
}

impl KeySource for ExplicitKeys {
    fn shape(&self) -> &BootstrapShape {
        &self.shape
    }

    fn bootstrapping_block(&self, index: usize, out: &mut [u64]) {
        let len = self.shape.bootstrapping_block_len();
        out.copy_from_slice(&self.bootstrapping[index * len..][..len]);
    }

    fn key_switching_block(&self, index: usize, out: &mut [u64]) {
        let len = self.shape.key_switching_block_len();
        out.copy_from_slice(&self.key_switching[index * len..][..len]);
    }
}
