//! Encryption by whoever has no secret.

use super::client::{Errors, ring_distribution};
use super::packed::PackedWords;
use super::{ClientKey, KeyId, domain};
use crate::noise::variance_of;
use crate::wire::PUBLIC_KEY;
use crate::{LweCiphertexts, ParameterSet, Result, error};
use girih_backend::parallel::prelude::*;
use girih_rlwe::wire::{self, Bytes, Opened};
use girih_rlwe::{Entropy, MaskSeed, Secret, SetId};
use zeroize::Zeroizing;

/// A public key: encrypts messages that its client key decrypts.
///
/// It is an encryption of 0 under the GLWE secret s of one polynomial, (a, b = a s + e) modulo
/// 2^64 and X^N + 1 (Lyubashevsky, Peikert, Regev: "On Ideal Lattices and Learning with Errors over
/// Rings", 2010, section 1.1). Messages m, up to N of them, become (a u + e1, b u + e2 + m) with a
/// fresh u, distributed as s, and fresh errors; coefficient i of that is a ciphertext of message i.
/// So its security is the ring problem of the set, with two samples for each u.
///
/// Sets of the native torus with one polynomial have it, which are those of integers. Ciphertexts
/// of other sets are under the LWE secret modulo a q of few bits, where a sum of encryptions of 0
/// would leave no room.
pub struct PublicKey {
    set: ParameterSet,
    id: KeyId,
    seed: MaskSeed,
    /// b: N words.
    body: PackedWords,
    entropy: Entropy,
    errors: Errors,
}

impl std::fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PublicKey({}, {:.8})", self.set, self.id)
    }
}

/// `sum += a b` modulo X^N + 1 and 2^64, b being small.
fn add_product(sum: &mut [u64], a: &[u64], b: &[i8]) {
    let size = a.len();
    // Each coefficient of the sum by itself, so that threads share the work.
    sum.par_iter_mut().enumerate().for_each(|(i, sum)| {
        let (low, high) = b.split_at(i + 1);
        let below = low.iter().zip(a[..=i].iter().rev());
        let above = high.iter().zip(a[i + 1..size].iter().rev());
        let product = |s: u64, (&b, &a): (&i8, &u64)| s.wrapping_add(a.wrapping_mul(b as u64));
        *sum = sum.wrapping_add(below.fold(0, product)).wrapping_sub(above.fold(0, product));
    });
}

impl PublicKey {
    /// Makes the public key of `client`.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported) for a set that has none, and
    /// [`Error::Entropy`](crate::Error::Entropy).
    pub fn generate(client: &ClientKey) -> Result<Self> {
        let set = client.set();
        check_set(set)?;
        let size = set.shape().polynomial_size;
        let fresh = client.entropy.fresh("public key", &[])?;
        let mut body = vec![0; size];
        add_product(&mut body, &mask(set, &fresh.masks), client.stored_secret(0));
        let mut errors = fresh.errors.stream(domain::PUBLIC_KEY, 0);
        body.iter_mut().for_each(|b| *b = b.wrapping_add(client.glwe_error(&mut errors) as u64));
        let too_much = |bytes| error::out_of_memory("a public key", bytes);
        let mut packed = PackedWords::zeroed(u64::MAX, size).or_else(too_much)?;
        packed.fill_blocks(size, |_, bytes| PackedWords::write(u64::MAX, bytes, 0, &body));
        Self::assemble(set, client.key_id(), fresh.masks, packed, client.entropy.child(id(set)))
    }

    fn assemble(
        set: &ParameterSet,
        id: KeyId,
        seed: MaskSeed,
        body: PackedWords,
        entropy: Entropy,
    ) -> Result<Self> {
        Ok(Self { set: set.clone(), id, seed, body, entropy, errors: Errors::of(set)? })
    }

    /// The parameter set.
    pub fn set(&self) -> &ParameterSet {
        &self.set
    }

    /// Name of the client key that decrypts.
    pub fn key_id(&self) -> KeyId {
        self.id
    }

    /// Encrypts messages below `modulus`, as [`ClientKey::encrypt`] does. Their errors are larger
    /// than those that a client key makes, and far below those of bootstrapped ciphertexts:
    /// [`LweCiphertexts::variance`].
    ///
    /// # Errors
    /// As [`ClientKey::encrypt`].
    pub fn encrypt(&self, messages: &[u64], modulus: u64) -> Result<LweCiphertexts> {
        let plain = LweCiphertexts::trivial(&self.set, messages, modulus)?;
        let (size, len) = (self.set.shape().polynomial_size, self.set.shape().ciphertext_len());
        let bytes =
            Zeroizing::new(messages.iter().flat_map(|m| m.to_le_bytes()).collect::<Vec<_>>());
        let fresh = self.entropy.fresh("public encryption", &[&bytes, &modulus.to_le_bytes()])?;
        let (a, mut b) = (mask(&self.set, &self.seed), vec![0; size]);
        self.body.read(0, &mut b);
        let mut words = plain.words().to_vec();
        for (index, ciphertexts) in words.chunks_mut(size * len).enumerate() {
            let mut stream = fresh.errors.stream(domain::PUBLIC_ENCRYPTION, index as u64);
            let u = Secret::sample(ring_distribution(&self.set), size, &mut stream);
            // (a, b) u and errors.
            let mut masked = |of: &[u64]| {
                let mut sum = vec![0u64; size];
                sum.fill_with(|| self.errors.glwe(&mut stream) as u64);
                add_product(&mut sum, of, u.coefficients());
                sum
            };
            let (mask, body) = (masked(&a), masked(&b));
            ciphertexts.par_chunks_exact_mut(len).enumerate().for_each(|(i, ciphertext)| {
                let (masks, bodies) = ciphertext.split_at_mut(2 * size);
                // Coefficient i of mask times s: s_j times mask_(i - j), X^N being -1.
                for (j, word) in masks.chunks_exact_mut(2).enumerate() {
                    let value = match i.checked_sub(j) {
                        Some(below) => mask[below],
                        None => mask[size + i - j].wrapping_neg(),
                    };
                    word.copy_from_slice(&[value as u32, (value >> 32) as u32]);
                }
                let message = u64::from(bodies[0]) | u64::from(bodies[1]) << 32;
                let value = message.wrapping_add(body[i]);
                bodies.copy_from_slice(&[value as u32, (value >> 32) as u32]);
            });
        }
        let variance = plain.variance() + self.variance();
        Ok(LweCiphertexts::from_words(&self.set, words)?
            .under(Some(self.id))
            .noisy(variance)
            .encoding(Some(modulus)))
    }

    /// Of `e u + e2 - e1 s`.
    fn variance(&self) -> f64 {
        let shape = self.set.shape();
        let square = crate::noise::secret_square(self.set.ring_secret());
        let (_, error) = variance_of(self.set.errors());
        error * (1.0 + 2.0 * shape.polynomial_size as f64 * square)
    }

    /// Encrypts messages of `bits` bits for look-up tables, one bit of padding above them.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt_messages`].
    pub fn encrypt_messages(&self, messages: &[u64], bits: u32) -> Result<LweCiphertexts> {
        let modulus = crate::ciphertext::padded_modulus(&self.set, bits)?;
        crate::ciphertext::check_room(messages, bits)?;
        self.encrypt(messages, modulus)
    }

    /// Encrypts bits for gates.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt_bits`].
    pub fn encrypt_bits(&self, bits: &[bool]) -> Result<LweCiphertexts> {
        self.encrypt(&bits.iter().map(|&b| u64::from(b)).collect::<Vec<_>>(), 4)
    }

    /// The key as bytes, which end with a checksum: it finds accidents on the way, and is no
    /// authentication.
    ///
    /// # Errors
    /// [`Error::Malformed`](crate::Error::Malformed) if it cannot be serialized.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let body = self.body.as_bytes();
        let payload = (self.seed.as_bytes(), Bytes(body));
        Ok(wire::encode(PUBLIC_KEY, &self.set, Some(self.id), body.len(), &payload)?)
    }

    /// Reads and checks what [`PublicKey::to_bytes`] wrote. A key read back draws its randomness
    /// from the operating system.
    ///
    /// # Errors
    /// [`Error::Malformed`](crate::Error::Malformed) naming what is wrong, and
    /// [`Error::Unsupported`](crate::Error::Unsupported) for a set without public keys.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::read(wire::open(PUBLIC_KEY, bytes)?)
    }

    /// The same for a key of `set` and no other: whatever else these bytes may hold is refused
    /// before it is looked at.
    ///
    /// # Errors
    /// As [`PublicKey::from_bytes`], and for a key of another set.
    pub fn from_bytes_for(set: &ParameterSet, bytes: &[u8]) -> Result<Self> {
        Self::read(wire::open_for(PUBLIC_KEY, set, 8 * set.shape().polynomial_size, bytes)?)
    }

    fn read(opened: Opened<'_, ParameterSet>) -> Result<Self> {
        check_set(&opened.set)?;
        let (key, size) = (opened.named_key()?, opened.set.shape().polynomial_size);
        opened.check_payload(8 * size)?;
        let (set, (seed, body)): (_, ([u8; 32], &[u8])) = opened.payload()?;
        let body = match PackedWords::checked(u64::MAX, size, body) {
            Ok(body) => body,
            Err(why) => return error::malformed("public key", format!("its body: {why}")),
        };
        let entropy = Entropy::system(id(&set));
        Self::assemble(&set, key, MaskSeed::from_bytes(seed), body, entropy)
    }
}

fn id(set: &ParameterSet) -> SetId {
    SetId::of(set)
}

/// a: N words that the seed stands for.
fn mask(set: &ParameterSet, seed: &MaskSeed) -> Vec<u64> {
    let mut stream = seed.streams(&id(set)).stream(domain::PUBLIC_KEY, 0);
    (0..set.shape().polynomial_size).map(|_| stream.next_u64()).collect()
}

/// Refuses a set whose ciphertexts are not under one polynomial modulo 2^64.
fn check_set(set: &ParameterSet) -> Result<()> {
    let shape = set.shape();
    if shape.is_torus() && shape.glwe_dimension == 1 && shape.packing == 1 {
        return Ok(());
    }
    Err(set.unsupported(
        "public keys are for sets of the native torus with k = 1 and packing 1, such as TFHERS_2_2",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(set: &str) -> ClientKey {
        let set = ParameterSet::by_name(set).expect("built in");
        ClientKey::generate_seeded_for_tests(&set, [9; 32]).expect("a toy")
    }

    #[test]
    fn what_a_public_key_encrypts_its_client_decrypts() {
        let client = client("INSECURE_INTEGERS");
        let public = PublicKey::generate(&client).expect("of the torus");
        let bytes = public.to_bytes().expect("small");
        let read = PublicKey::from_bytes_for(client.set(), &bytes).expect("what was written");
        assert_eq!(read.to_bytes().expect("small"), bytes);
        // More than one polynomial has room for.
        let messages: Vec<u64> = (0..300).map(|i| i * 7 % 16).collect();
        for key in [&public, &read] {
            let ciphertexts = key.encrypt_messages(&messages, 4).expect("four bits");
            assert_eq!(ciphertexts.key_id(), Some(client.key_id()));
            assert_eq!(client.decrypt_messages(&ciphertexts, 4).expect("its key"), messages);
        }
        let bits = public.encrypt_bits(&[true, false]).expect("bits");
        assert_eq!(client.decrypt_bits(&bits).expect("its key"), [true, false]);
        // Twice the same messages are two things.
        let again = public.encrypt_messages(&messages, 4).expect("four bits");
        assert_ne!(again, public.encrypt_messages(&messages, 4).expect("four bits"));
    }

    /// Errors of one polynomial hang together: u and s are 1/2 on average, and e times a polynomial
    /// of halves is a walk. So the mean square of a key's 256 errors has a deviation of 0.42 times
    /// what it is on average (simulated, 100,000 keys), and only many keys show that average: over
    /// all seeds the mean of 64 keys is outside these bounds with a probability of 2^-26
    /// (Chernoff's bound on the same figures). Seeds are fixed, so the test repeats.
    #[test]
    fn errors_of_a_public_key_are_what_they_say() {
        let set = ParameterSet::by_name("INSECURE_INTEGERS").expect("built in");
        let messages: Vec<u64> = (0..256).map(|i| i * 7 % 16).collect();
        let keys = 64;
        let ratio = |seed| {
            let client = ClientKey::generate_seeded_for_tests(&set, [seed; 32]).expect("a toy");
            let public = PublicKey::generate(&client).expect("of the torus");
            let ciphertexts = public.encrypt_messages(&messages, 4).expect("four bits");
            let phases = client.phases(&ciphertexts).expect("its key");
            let error = |(phase, m): (&u64, &u64)| (phase.wrapping_sub(m << 59) as i64) as f64;
            let squares: f64 = phases.iter().zip(&messages).map(|x| error(x).powi(2)).sum();
            squares / messages.len() as f64 / ciphertexts.variance()
        };
        let mean = (0..keys).map(ratio).sum::<f64>() / f64::from(keys);
        assert!((0.7..1.4).contains(&mean), "{mean}");
    }

    /// e, and e u and e1 s, each of which has half of 256 terms.
    #[test]
    fn the_stated_error_is_that_of_its_three_parts() {
        let client = client("INSECURE_INTEGERS");
        let public = PublicKey::generate(&client).expect("of the torus");
        let ciphertexts = public.encrypt_messages(&[3], 4).expect("four bits");
        let plain = LweCiphertexts::trivial(client.set(), &[3], 32).expect("four bits");
        let error = (2f64.powi(35) + 1.0) / 6.0;
        let wanted = plain.variance() + error * (1.0 + 2.0 * 128.0);
        assert!((ciphertexts.variance() / wanted - 1.0).abs() < 1e-12);
    }

    #[test]
    fn what_is_no_public_key_is_refused() {
        for set in ["INSECURE_TOY", "INSECURE_INTEGERS_R2"] {
            let error = PublicKey::generate(&client(set)).expect_err("no such keys").to_string();
            assert!(error.contains("native torus"), "{error}");
        }
        let public = PublicKey::generate(&client("INSECURE_INTEGERS")).expect("of the torus");
        let bytes = public.to_bytes().expect("small");
        for length in [0, 10, bytes.len() / 2, bytes.len() - 1] {
            assert!(PublicKey::from_bytes(&bytes[..length]).is_err());
        }
        let other = ParameterSet::by_name("TFHERS_2_2").expect("built in");
        assert!(PublicKey::from_bytes_for(&other, &bytes).is_err());
        for (refused, part) in [
            (public.encrypt_messages(&[16], 4), "does not fit"),
            (public.encrypt(&[], 4), "at least one"),
        ] {
            let error = refused.expect_err(part).to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
