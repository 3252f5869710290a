//! Ciphertexts whose words are all drawn: of messages that nobody chose.

use super::{LweCiphertexts, width};
use crate::keys::domain;
use crate::{ParameterSet, Result, error};
use girih_backend::parallel::prelude::*;
use girih_rlwe::{Counts, KeyId, MaskSeed, Mismatch, SetId};

impl LweCiphertexts {
    /// Ciphertexts under the key `id` whose masks and bodies are all drawn from `seed`, one for
    /// each of `indices` (each below 2^48), the same for the same index again.
    ///
    /// What such a ciphertext decrypts to, body less mask times secret, is uniform modulo q over
    /// the choice of the body, and a function of the secret: whoever has the ciphertext alone knows
    /// nothing of it, whoever has the key computes it. No error is in it. It is the input of a
    /// look-up that makes a random message of it; sums and other look-ups of it mean nothing.
    ///
    /// The words are those of no seed that ciphertexts or keys are expanded from.
    ///
    /// # Errors
    /// [`Error::Malformed`](crate::Error::Malformed) for no index, and
    /// [`Error::Mismatch`](crate::Error::Mismatch) for more ciphertexts than an address space has.
    pub fn uniform(
        set: &ParameterSet,
        id: KeyId,
        seed: &[u8; 32],
        indices: &[u64],
    ) -> Result<Self> {
        let shape = set.shape();
        let len = shape.ciphertext_len();
        let most = isize::MAX as usize / 4 / len;
        if indices.len() > most {
            let allowed = Counts::UpTo(most);
            return error::mismatch(Mismatch::count("ciphertexts", indices.len(), allowed));
        }
        let words = indices.len() * len;
        let streams = MaskSeed::of_random_numbers(seed, id).streams(&SetId::of(set));
        let log2_modulus = shape.log2_stored_modulus();
        // Words of two halves are whole.
        let mask = if width(shape) == 2 { u32::MAX } else { u32::MAX >> (32 - log2_modulus) };
        let mut words = vec![0; words];
        words.par_chunks_exact_mut(len).zip(indices).for_each(|(words, &index)| {
            let mut stream = streams.stream(domain::RANDOM_NUMBERS, index);
            words.iter_mut().for_each(|word| *word = stream.next_u32() & mask);
        });
        Ok(Self::from_words(set, words)?.with_key(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClientKey, Error};

    /// Phases fill the circle evenly, are the same for an index again, and others for another seed,
    /// index or key.
    #[test]
    fn phases_are_uniform_and_repeat() {
        for set in ["INSECURE_TOY", "INSECURE_INTEGERS"] {
            let set = ParameterSet::by_name(set).expect("built in");
            let client = ClientKey::generate_seeded_for_tests(&set, [3; 32]).expect("a toy");
            let other = ClientKey::generate_seeded_for_tests(&set, [4; 32]).expect("a toy");
            let id = client.key_id();
            let indices: Vec<u64> = (0..4096).map(|i| 5 * i).collect();
            let drawn = LweCiphertexts::uniform(&set, id, &[7; 32], &indices).expect("some");
            let one = LweCiphertexts::uniform(&set, id, &[7; 32], &[10]).expect("one");
            assert_eq!(one, drawn.slice(2..3).expect("there"));
            for (id, seed) in [(id, 8), (other.key_id(), 7)] {
                let another = LweCiphertexts::uniform(&set, id, &[seed; 32], &[10]).expect("one");
                assert_ne!(another.words(), one.words());
            }
            let phases = client.phases(&drawn).expect("of this key");
            let log2 = drawn.log2_modulus();
            let mut counts = [0u32; 16];
            phases.iter().for_each(|phase| counts[(phase >> (log2 - 4)) as usize] += 1);
            // Of 256 each, with a deviation of 15.5: chi squared of 15 degrees of freedom is above
            // 50 with a probability of 10^-5, and the seed is fixed.
            let squares = counts.iter().map(|&c| (f64::from(c) - 256.0).powi(2)).sum::<f64>();
            assert!(squares / 256.0 < 50.0, "{counts:?}");
            let none = LweCiphertexts::uniform(&set, id, &[7; 32], &[]).expect_err("none");
            assert!(matches!(none, Error::Malformed { .. }), "{none}");
        }
    }
}
