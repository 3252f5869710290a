//! Batches on the host and on the device, under one trait, so that every function is written once.

use super::{DeviceCiphertexts, ServerKey};
use crate::{KeyId, LweCiphertexts, Result, error};
use girih_backend::parallel::prelude::*;
use girih_backend::timeline;
use girih_rlwe::Mismatch;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;

/// How many chunks the device has at a time: one that it works on, and the next.
const IN_FLIGHT: usize = 2;

/// The lengths of the chunks of a batch, of at most `most` ciphertexts each. Equal chunks also let
/// the allocator use their buffers again.
///
/// Where transfers overlap, the device waits for the first upload only, and the host for the last
/// download only. So both of these chunks are short:
///
/// - The first is what is left over after whole waves. It leaves places on the device free, and the
///   next chunk takes them.
/// - The last is one wave.
/// - Those between grow threefold, up to `most`.
///
/// `wave` is that of the device, if its transfers overlap.
fn chunks(batch: usize, wave: Option<usize>, most: usize) -> Vec<usize> {
    let Some(wave) = wave else {
        return (0..batch).step_by(most).map(|first| (batch - first).min(most)).collect();
    };
    let wave = wave.clamp(1, most);
    let (left, most) = (batch % wave, most / wave);
    let mut waves = (batch / wave).saturating_sub(1);
    let (mut lengths, mut next) =
        if left > 0 { (vec![left], 3.min(most)) } else { (Vec::new(), 1) };
    while waves > 0 {
        let now = waves.min(next);
        lengths.push(now * wave);
        waves -= now;
        next = (3 * next).min(most);
    }
    if batch >= wave {
        lengths.push(wave);
    }
    lengths
}

/// What a [`ServerKey`] runs on the device: inputs of equal length, and the position of their first
/// ciphertext in the batch.
///
/// It may return ciphertexts of another modulus.
pub(crate) type Operation<'a> =
    &'a dyn Fn(&[&DeviceCiphertexts], usize) -> Result<DeviceCiphertexts>;

/// Words of ciphertexts on the host, their modulus and the variance of their errors.
#[derive(Clone, Debug)]
pub(crate) struct Words<W> {
    pub words: W,
    pub log2_modulus: u32,
    pub variance: f64,
    /// Of results, what is known of it.
    pub plaintext_modulus: Option<u64>,
}

impl<'a> Words<&'a [u32]> {
    /// Those of a batch.
    pub fn of(batch: &'a LweCiphertexts) -> Self {
        Self {
            words: batch.words(),
            log2_modulus: batch.log2_modulus(),
            variance: batch.variance(),
            plaintext_modulus: None,
        }
    }
}

/// The same with several results.
pub(crate) type Operations<'a> =
    &'a dyn Fn(&[&DeviceCiphertexts], usize) -> Result<Vec<DeviceCiphertexts>>;

mod sealed {
    pub trait Sealed {}
    impl Sealed for crate::LweCiphertexts {}
    impl Sealed for super::DeviceCiphertexts {}
}

/// A batch that a [`ServerKey`] can work on: [`LweCiphertexts`] on the host or
/// [`DeviceCiphertexts`] on the device.
pub trait Batch: Sized + sealed::Sealed {
    /// Number of ciphertexts.
    fn ciphertexts(&self) -> usize;

    /// log2 of their modulus.
    fn log2_modulus(&self) -> u32;

    /// Variance of the error of any message of the batch, in units of the modulus.
    fn variance(&self) -> f64;

    /// How many messages fill the circle, where that is known.
    fn plaintext_modulus(&self) -> Option<u64>;

    /// Whether ciphertext `index` of both is known to be the same one.
    #[doc(hidden)]
    fn same(&self, other: &Self, index: usize) -> bool;

    /// Name of the client key that they are under, if they name one.
    #[doc(hidden)]
    fn key_id(&self) -> Option<KeyId>;

    /// Refuses ciphertexts that are not for this server.
    #[doc(hidden)]
    fn check_owner(&self, server: &ServerKey) -> Result<()>;

    /// The words of a range of ciphertexts on the host.
    #[doc(hidden)]
    fn host_words(&self, server: &ServerKey, range: Range<usize>) -> Result<Cow<'_, [u32]>>;

    /// Inputs must all be modulo `2^log2_modulus`.
    #[doc(hidden)]
    #[allow(private_interfaces, reason = "the trait is sealed; only the server calls this")]
    fn run(
        server: &ServerKey,
        inputs: &[&Self],
        log2_modulus: u32,
        operation: Operation<'_>,
    ) -> Result<Self>;
}

fn check_alike<B: Batch>(inputs: &[&B], log2_modulus: u32) -> Result<()> {
    let lengths: Vec<_> = inputs.iter().map(|i| i.ciphertexts()).collect();
    if lengths.iter().any(|&l| l != lengths[0]) {
        let what = "batches of ciphertexts";
        return error::mismatch(Mismatch::Lengths { what, found: lengths });
    }
    match inputs.iter().find(|i| i.log2_modulus() != log2_modulus) {
        Some(i) => {
            let (what, found) = ("ciphertexts", i.log2_modulus());
            error::mismatch(Mismatch::modulus(what, found, [log2_modulus; 2]))
        }
        None => Ok(()),
    }
}

impl Batch for DeviceCiphertexts {
    fn key_id(&self) -> Option<KeyId> {
        self.key_id()
    }

    fn check_owner(&self, server: &ServerKey) -> Result<()> {
        server.check_owner(self)
    }

    fn host_words(&self, server: &ServerKey, range: Range<usize>) -> Result<Cow<'_, [u32]>> {
        let mut words = vec![0; range.len() * server.set().shape().ciphertext_len()];
        if !range.is_empty() {
            server.engine().read(self.at(range.start) as usize, &mut words)?;
        }
        Ok(Cow::Owned(words))
    }

    fn ciphertexts(&self) -> usize {
        self.len()
    }

    fn log2_modulus(&self) -> u32 {
        self.log2_modulus()
    }

    fn variance(&self) -> f64 {
        self.variance()
    }

    fn plaintext_modulus(&self) -> Option<u64> {
        self.plaintext_modulus()
    }

    fn same(&self, other: &Self, index: usize) -> bool {
        index < self.len().min(other.len()) && self.at(index) == other.at(index)
    }

    #[allow(private_interfaces, reason = "the trait is sealed; only the server calls this")]
    fn run(
        server: &ServerKey,
        inputs: &[&Self],
        log2_modulus: u32,
        operation: Operation<'_>,
    ) -> Result<Self> {
        check_alike(inputs, log2_modulus)?;
        inputs.iter().try_for_each(|i| server.check_owner(i))?;
        operation(inputs, 0)
    }
}

impl Batch for LweCiphertexts {
    fn key_id(&self) -> Option<KeyId> {
        self.key_id()
    }

    fn check_owner(&self, server: &ServerKey) -> Result<()> {
        server.check(self)
    }

    fn host_words(&self, _: &ServerKey, range: Range<usize>) -> Result<Cow<'_, [u32]>> {
        let len = self.set().shape().ciphertext_len();
        Ok(Cow::Borrowed(&self.words()[range.start * len..range.end * len]))
    }

    fn ciphertexts(&self) -> usize {
        self.len()
    }

    fn log2_modulus(&self) -> u32 {
        self.log2_modulus()
    }

    fn variance(&self) -> f64 {
        self.variance()
    }

    fn plaintext_modulus(&self) -> Option<u64> {
        self.plaintext_modulus()
    }

    fn same(&self, other: &Self, index: usize) -> bool {
        self.same(other, index)
    }

    #[allow(private_interfaces, reason = "the trait is sealed; only the server calls this")]
    fn run(
        server: &ServerKey,
        inputs: &[&Self],
        log2_modulus: u32,
        operation: Operation<'_>,
    ) -> Result<Self> {
        check_alike(inputs, log2_modulus)?;
        inputs.iter().try_for_each(|i| server.check(i))?;
        let words: Vec<_> = inputs.iter().map(|i| Words::of(i)).collect();
        let Words { words, log2_modulus, variance, plaintext_modulus } =
            server.run_words(&words, operation)?;
        let _span = timeline::host("check the result");
        Ok(LweCiphertexts::from_words_at(server.set(), log2_modulus, words)?
            .under(Some(server.key_id()))
            .noisy(variance)
            .encoding(plaintext_modulus))
    }
}

impl ServerKey {
    /// Runs `operation` on words of ciphertexts of one modulus and number, chunk by chunk.
    pub(crate) fn run_words(
        &self,
        inputs: &[Words<&[u32]>],
        operation: Operation<'_>,
    ) -> Result<Words<Vec<u32>>> {
        let one = |resident: &[&DeviceCiphertexts], first| Ok(vec![operation(resident, first)?]);
        let mut results = self.run_words_to(inputs, 1, &one)?;
        Ok(results.pop().expect("as many results as were asked for"))
    }

    /// As [`ServerKey::run_words`], for an operation with `count` results.
    pub(crate) fn run_words_to(
        &self,
        inputs: &[Words<&[u32]>],
        count: usize,
        operation: Operations<'_>,
    ) -> Result<Vec<Words<Vec<u32>>>> {
        let len = self.set().shape().ciphertext_len();
        let (total, mut first) = (inputs[0].words.len(), 0);
        let nothing = Words {
            words: Vec::new(),
            log2_modulus: inputs[0].log2_modulus,
            variance: 0.0,
            plaintext_modulus: None,
        };
        let mut results = vec![nothing; count];
        let mut download = |resident: &[DeviceCiphertexts], range: Range<usize>| {
            results.iter_mut().zip(resident).try_for_each(|(result, resident)| {
                result.log2_modulus = resident.log2_modulus();
                result.variance = result.variance.max(resident.variance());
                // Chunks of one operation have one.
                result.plaintext_modulus = resident.plaintext_modulus();
                if result.words.is_empty() {
                    result.words = vec![0; total];
                }
                let words = &mut result.words[range.clone()];
                touch(words);
                self.download_words(resident, words)
            })
        };
        // Inputs stay where they are until their result is here: the next upload then need not wait
        // for them.
        let mut flying: VecDeque<(Vec<DeviceCiphertexts>, Vec<DeviceCiphertexts>, Range<usize>)> =
            VecDeque::new();
        let pipelining = self.engine().pipelining();
        let wave = pipelining.overlaps_transfers.then_some(pipelining.wave);
        for length in chunks(total / len, wave, pipelining.part) {
            let range = first * len..(first + length) * len;
            let span = timeline::host("upload");
            let resident = inputs
                .iter()
                .map(|i| {
                    let words = &i.words[range.clone()];
                    Ok(self.upload_words(words, i.log2_modulus)?.noisy(i.variance))
                })
                .collect::<Result<Vec<_>>>()?;
            drop(span);
            let span = timeline::host("launch");
            let result = operation(&resident.iter().collect::<Vec<_>>(), first)?;
            drop(span);
            flying.push_back((resident, result, range));
            first += length;
            if flying.len() > IN_FLIGHT
                && let Some((_, result, range)) = flying.pop_front()
            {
                download(&result, range)?;
            }
        }
        for (_, result, range) in flying {
            download(&result, range)?;
        }
        Ok(results)
    }
}

/// Makes the system give memory for results while the device is at work on them, not page by page
/// when they arrive.
fn touch(words: &mut [u32]) {
    const PAGE: usize = 1024;
    let _span = timeline::host("make room");
    words
        .par_chunks_mut(64 * PAGE)
        .for_each(|words| words.iter_mut().step_by(PAGE).for_each(|word| *word = 0));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn chunks_begin_and_end_small() {
        assert_eq!(chunks(16_384, Some(528), 3168), [16, 1584, 3168, 3168, 3168, 3168, 1584, 528]);
        assert_eq!(chunks(5462, Some(264), 3168), [182, 792, 2376, 1848, 264]);
        assert_eq!(chunks(6336, Some(528), 3168), [528, 1584, 3168, 528, 528]);
        assert_eq!(chunks(528, Some(528), 3168), [528]);
        assert_eq!(chunks(1056, Some(528), 3168), [528, 528]);
        assert_eq!(chunks(700, Some(528), 3168), [172, 528]);
        assert_eq!(chunks(500, Some(528), 3168), [500]);
        assert_eq!(chunks(1, Some(528), 3168), [1]);
        assert_eq!(chunks(9000, None, 4224), [4224, 4224, 552]);
        assert_eq!(chunks(16_384, Some(1056), 6336), [544, 3168, 6336, 5280, 1056]);
        assert_eq!(chunks(9000, None, 8448), [8448, 552]);
    }

    proptest! {
        /// Every batch is covered by chunks of bounded length, all but the first of whole waves.
        #[test]
        fn chunks_cover_a_batch(
            batch in 1usize..100_000,
            wave in prop::option::of(1usize..10_000),
            most in 1usize..20_000,
        ) {
            let lengths = chunks(batch, wave, most);
            prop_assert_eq!(lengths.iter().sum::<usize>(), batch);
            prop_assert!(lengths.iter().all(|&l| (1..=most).contains(&l)));
            if let Some(wave) = wave {
                let unit = wave.min(most);
                prop_assert!(lengths[1..].iter().all(|l| l.is_multiple_of(unit)));
                prop_assert!(lengths.len() < 20 + batch / most * 2);
            }
        }
    }
}
