//! Where randomness comes from, and which stream serves what.
//!
//! Every 32-byte seed is used through BLAKE3's key derivation with a context that says for what,
//! and with the [`SetId`] of the parameter set: masks, secrets, errors, names and further seeds are
//! separate domains, under each set others. So a mask seed, which is published, expands to nothing
//! that a secret seed expands to, even if both had the same bytes; and one seed under two sets does
//! not make two related keys.
//!
//! A derived key opens one ChaCha20 stream for each `(domain, index)` ([`girih_ring::sampler`]).

use crate::{Error, KeyId, Result, SetId, digest};
use girih_ring::sampler::{MaskSeed as PublicKey, PublicStream, RandomStream, SecretSeed};
use std::sync::atomic::{AtomicU64, Ordering};

/// Contexts of key derivation. **Part of the serialized form**: what seeds expand to hangs on them.
mod context {
    /// A published seed to the key of mask streams.
    pub const MASKS: &str = "girih 2026-11-22 masks";
    /// A key's seed to the key of streams of secret coefficients.
    pub const SECRETS: &str = "girih 2026-11-22 secrets";
    /// A key's seed to its name.
    pub const NAME: &str = "girih 2026-11-22 name of a client key";
    /// A seed of errors to the key of their streams.
    pub const ERRORS: &str = "girih 2026-11-22 errors";
    /// What a seed of random numbers under a key stands for, to the seed of their masks.
    pub const RANDOM_NUMBERS: &str = "girih 2026-11-26 oblivious random numbers";
    /// The seed of a repeatable key to seeds of secrets, published seeds of masks, seeds of errors,
    /// and seeds of keys under other sets.
    pub const TEST_KEYS: &str = "girih 2026-11-22 tests: secrets";
    pub const TEST_MASKS: &str = "girih 2026-11-22 tests: masks";
    pub const TEST_ERRORS: &str = "girih 2026-11-22 tests: errors";
    pub const TEST_CHILDREN: &str = "girih 2026-11-22 tests: children";
}

/// Derives 32 bytes from `seed` under `set`; `inputs` are kept apart by their lengths.
fn derive(context: &str, seed: &[u8; 32], set: &SetId, inputs: &[&[u8]], out: &mut [u8]) {
    let mut hasher = blake3::Hasher::new_derive_key(context);
    hasher.update(seed).update(set.as_bytes());
    for input in inputs {
        hasher.update(&(input.len() as u64).to_le_bytes()).update(input);
    }
    digest::finish_into(hasher, out);
}

fn derived_seed(context: &str, seed: &SecretSeed, set: &SetId, inputs: &[&[u8]]) -> SecretSeed {
    SecretSeed::filled(|out| derive(context, seed.as_bytes(), set, inputs, out))
}

fn system_bytes(out: &mut [u8]) -> Result<()> {
    getrandom::fill(out).map_err(|error| Error::Entropy(error.to_string()))
}

fn system_seed() -> Result<SecretSeed> {
    let mut result = Ok(());
    let seed = SecretSeed::filled(|out| result = system_bytes(out));
    result.map(|()| seed)
}

/// A published seed that masks are expanded from: what is serialized in their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaskSeed([u8; 32]);

impl MaskSeed {
    /// The seed of these bytes, which came with a key or a ciphertext.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The seed of the masks of random numbers under a key, of a seed of anyone's choice: none that
    /// ciphertexts of that key came with, unless by a collision of BLAKE3.
    pub fn of_random_numbers(seed: &[u8; 32], key: KeyId) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key(context::RANDOM_NUMBERS);
        hasher.update(seed).update(key.as_bytes());
        let mut derived = [0; 32];
        digest::finish_into(hasher, &mut derived);
        Self(derived)
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// What it expands to under a set.
    pub fn streams(&self, set: &SetId) -> MaskStreams {
        let mut key = [0; 32];
        derive(context::MASKS, &self.0, set, &[], &mut key);
        MaskStreams(PublicKey(key))
    }
}

/// The streams of a mask seed under one set: public.
#[derive(Clone, Copy, Debug)]
pub struct MaskStreams(PublicKey);

impl MaskStreams {
    /// The stream of `index` (below 2^48) in `domain`.
    pub fn stream(&self, domain: u16, index: u64) -> RandomStream {
        self.0.stream(domain, index)
    }

    /// What [`MaskStreams::stream`] starts from.
    pub fn public_stream(&self, domain: u16, index: u64) -> PublicStream {
        self.0.public_stream(domain, index)
    }
}

/// Streams of secrets or of errors under one set; wiped when dropped, never printed.
#[derive(Debug)]
pub struct SecretStreams(SecretSeed);

impl SecretStreams {
    /// The stream of `index` (below 2^48) in `domain`.
    pub fn stream(&self, domain: u16, index: u64) -> RandomStream {
        self.0.stream(domain, index)
    }
}

/// What a secret key is drawn from, and nothing else.
#[derive(Debug)]
pub struct KeySeed {
    seed: SecretSeed,
    set: SetId,
}

impl KeySeed {
    /// Streams of the key's secret coefficients.
    pub fn secrets(&self) -> SecretStreams {
        SecretStreams(derived_seed(context::SECRETS, &self.seed, &self.set, &[]))
    }

    /// The key's public name.
    pub fn name(&self) -> KeyId {
        let mut name = [0; 16];
        derive(context::NAME, self.seed.as_bytes(), &self.set, &[], &mut name);
        KeyId::of_digest(name)
    }
}

/// Randomness of one thing that is made once: a key, a batch of ciphertexts.
#[derive(Debug)]
pub struct Fresh {
    /// The seed of its masks, which may be published.
    pub masks: MaskSeed,
    /// Streams of its errors, and of whatever else nobody may know.
    pub errors: SecretStreams,
}

/// Where a secret key and all that it makes take randomness from, under one parameter set.
#[derive(Debug)]
pub struct Entropy {
    set: SetId,
    source: Source,
}

#[derive(Debug)]
enum Source {
    /// The operating system, afresh each time.
    System,
    /// A seed, so that tests and benchmarks repeat.
    Seeded { seed: SecretSeed, drawn: AtomicU64 },
}

impl Entropy {
    /// The operating system's randomness: for all real data.
    pub fn system(set: SetId) -> Self {
        Self { set, source: Source::System }
    }

    /// **For tests and benchmarks only**: everything repeats,
    /// given the seed and the order of calls.
    ///
    /// Whoever knows the seed knows every secret, so no secret that protects something may be made
    /// this way. What a restart with the same seed can *not* do is to use one stream for two
    /// things: streams depend on what they are for and on all that goes into it
    /// ([`Entropy::fresh`]), so that two things made of one seed are the same or unrelated.
    pub fn seeded_for_tests(set: SetId, seed: [u8; 32]) -> Self {
        Self {
            set,
            source: Source::Seeded { seed: SecretSeed::new(seed), drawn: AtomicU64::new(0) },
        }
    }

    /// The set it is bound to.
    pub fn set(&self) -> &SetId {
        &self.set
    }

    /// The seed of a secret key. Of a seeded source always the same: that of its one key.
    ///
    /// # Errors
    /// [`Error::Entropy`].
    pub fn key_seed(&self) -> Result<KeySeed> {
        let seed = match &self.source {
            Source::System => system_seed()?,
            Source::Seeded { seed, .. } => derived_seed(context::TEST_KEYS, seed, &self.set, &[]),
        };
        Ok(KeySeed { seed, set: self.set })
    }

    /// Randomness for one thing: `purpose` says which, `inputs` are all that it is made of besides
    /// the key (messages, moduli, indices).
    ///
    /// From the operating system it is new each time. From a seed it depends on the purpose, on
    /// the inputs and on how often this was asked before: two different things never share a
    /// stream, not even after a restart with the same seed.
    ///
    /// # Errors
    /// [`Error::Entropy`].
    pub fn fresh(&self, purpose: &str, inputs: &[&[u8]]) -> Result<Fresh> {
        let mut masks = MaskSeed([0; 32]);
        let errors = match &self.source {
            Source::System => {
                system_bytes(&mut masks.0)?;
                system_seed()?
            }
            Source::Seeded { seed, drawn } => {
                let count = drawn.fetch_add(1, Ordering::Relaxed).to_le_bytes();
                let mut all = vec![purpose.as_bytes(), &count[..]];
                all.extend(inputs);
                derive(context::TEST_MASKS, seed.as_bytes(), &self.set, &all, &mut masks.0);
                derived_seed(context::TEST_ERRORS, seed, &self.set, &all)
            }
        };
        let errors = SecretStreams(derived_seed(context::ERRORS, &errors, &self.set, &[]));
        Ok(Fresh { masks, errors })
    }

    /// Entropy of the same kind for the same secrets under another set.
    pub fn child(&self, set: SetId) -> Self {
        let source = match &self.source {
            Source::System => Source::System,
            Source::Seeded { seed, drawn } => {
                let count = drawn.fetch_add(1, Ordering::Relaxed).to_le_bytes();
                let inputs = [&count[..], set.as_bytes()];
                let seed = derived_seed(context::TEST_CHILDREN, seed, &self.set, &inputs);
                Source::Seeded { seed, drawn: AtomicU64::new(0) }
            }
        };
        Self { set, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::tests::Toy;

    fn id(n: u8) -> SetId {
        SetId::of(&Toy { number: n })
    }

    /// The first words of every stream there is for a seed: of the key's secrets, and of the masks
    /// and errors of `count` things.
    fn words(entropy: &Entropy, count: usize) -> Vec<u64> {
        let key = entropy.key_seed().expect("seeded");
        let mut words = vec![key.secrets().stream(0, 0).next_u64()];
        words.push(u64::from_le_bytes(std::array::from_fn(|i| key.name().as_bytes()[i])));
        for _ in 0..count {
            let fresh = entropy.fresh("a thing", &[b"of this"]).expect("seeded");
            words.push(fresh.masks.streams(entropy.set()).stream(0, 0).next_u64());
            words.push(fresh.errors.stream(0, 0).next_u64());
            // What everyone can compute from the published seed.
            let published = *fresh.masks.as_bytes();
            words.push(u64::from_le_bytes(std::array::from_fn(|i| published[i])));
            let public = Entropy::seeded_for_tests(*entropy.set(), published);
            words.push(public.key_seed().expect("seeded").secrets().stream(0, 0).next_u64());
            let fresh = public.fresh("a thing", &[b"of this"]).expect("seeded");
            words.push(fresh.errors.stream(0, 0).next_u64());
            words.push(SecretSeed::new(published).stream(0, 0).next_u64());
        }
        words
    }

    fn all_differ(words: &[u64]) -> bool {
        let mut sorted = words.to_vec();
        sorted.sort_unstable();
        sorted.windows(2).all(|pair| pair[0] != pair[1])
    }

    #[test]
    fn no_published_seed_leads_to_a_secret_stream_not_even_of_the_next_thing_after_a_restart() {
        let seeded = || Entropy::seeded_for_tests(id(1), [5; 32]);
        let before = words(&seeded(), 8);
        assert!(all_differ(&before));
        assert_eq!(before, words(&seeded(), 8), "it repeats");
    }

    #[test]
    fn sets_seeds_purposes_inputs_and_counts_all_bind() {
        let of = |set, seed| Entropy::seeded_for_tests(id(set), [seed; 32]);
        let mut all = words(&of(1, 5), 2);
        all.extend(words(&of(2, 5), 2));
        all.extend(words(&of(1, 6), 2));
        all.extend(words(&of(1, 5).child(id(2)), 2));
        all.extend(words(&of(1, 5).child(id(3)), 2));
        assert!(all_differ(&all), "{all:x?}");
        // A restart begins to count anew: another purpose or other inputs must suffice.
        let first = |purpose: &str, inputs: &[&[u8]]| {
            let fresh = of(1, 5).fresh(purpose, inputs).expect("seeded");
            [fresh.masks.streams(&id(1)).stream(0, 0), fresh.errors.stream(0, 0)]
                .map(|mut s| s.next_u64())
        };
        let parts: [(&str, &[&[u8]]); 5] = [
            ("a", &[b"xy", b"z"]),
            ("a", &[b"x", b"yz"]),
            ("a", &[b"xyz"]),
            ("b", &[b"xyz"]),
            ("a", &[]),
        ];
        assert!(all_differ(&parts.map(|(purpose, inputs)| first(purpose, inputs)).concat()));
    }

    #[test]
    fn the_operating_system_never_repeats() {
        let entropy = Entropy::system(id(1));
        let a = words(&entropy, 2);
        let b = words(&entropy, 2);
        assert!(all_differ(&[a, b].concat()));
        assert!(!format!("{entropy:?} {:?}", entropy.fresh("x", &[])).contains("seed: ["));
    }

    /// What published seeds expand to is part of the serialized form.
    #[test]
    fn the_expansion_is_pinned() {
        let mut stream = MaskSeed::from_bytes([7; 32]).streams(&id(1)).stream(3, 5);
        let words =
            [stream.next_u64(), stream.uniform_below(134_215_681), stream.uniform_below(1 << 40)];
        assert_eq!(words, [10_761_847_812_138_549_310, 46_924_268, 266_160_804_343]);
    }
}
