//! Keys that merge many results into one GLWE ciphertext, for the way home.

use super::packed::PackedWords;
use super::{ClientKey, domain};
use crate::compression::{Gadget, modulus, scaled_bound};
use crate::{ErrorDistribution, ParameterSet, Result, error};
use girih_backend::{BackendError, BootstrapShape};
use girih_ring::sampler::{RandomStream, TUniform};
use girih_ring::{Automorphism, NttTable, Rns};
use girih_rlwe::{MaskSeed, MaskStreams, SecretStreams, SetId};
use zeroize::Zeroizing;

/// Key switches to the ring's secret: from the LWE secret, where ciphertexts are under that, and
/// for each level of merging from the ring's secret under X -> X^(2^level + 1).
///
/// A *block* is one polynomial of a secret that is switched from: of the LWE secret ceil(n/N), then
/// k for each of log2 N levels. It has a CM-GLWE encryption of minus the polynomial times
/// `2^dropped B^l` for each digit l, modulo M.
#[derive(Clone)]
pub(crate) struct CompressionKey {
    gadget: Gadget,
    seed: MaskSeed,
    /// `[block][digit][r][N]` modulo M.
    bodies: PackedWords,
}

/// Blocks of the switch from the LWE secret.
pub(crate) fn entry_blocks(shape: &BootstrapShape) -> usize {
    if shape.is_torus() { 0 } else { shape.lwe_dimension.div_ceil(shape.polynomial_size) }
}

/// Blocks of a key.
fn blocks(shape: &BootstrapShape) -> usize {
    let levels = shape.polynomial_size.trailing_zeros() as usize;
    entry_blocks(shape) + levels * shape.glwe_dimension
}

/// Words of bodies for each digit.
fn bodies_per_digit(shape: &BootstrapShape) -> usize {
    blocks(shape) * shape.packing * shape.polynomial_size
}

impl CompressionKey {
    pub fn generate(client: &ClientKey) -> Result<Self> {
        let set = client.set();
        let modulus = modulus_of(set)?;
        let gadget = Gadget::of(set, &modulus);
        let (shape, largest) = (set.shape(), modulus.value() - 1);
        let mut bodies = PackedWords::zeroed(largest, gadget.digits * bodies_per_digit(shape))
            .map_err(|bytes| BackendError::OutOfMemory {
                device: "this machine".into(),
                bytes,
                what: format!("the compression key of {set}"),
            })?;
        let fresh = client.entropy.fresh("compression key", &[])?;
        let Some(generator) = Generator::new(client, &modulus, gadget, &fresh.errors) else {
            return Err(no_transform(set));
        };
        let masks = fresh.masks.streams(client.entropy.set());
        bodies
            .fill_blocks(gadget.digits * shape.packing * shape.polynomial_size, |index, block| {
                generator.block(&masks, index, block)
            });
        Ok(Self { gadget, seed: fresh.masks, bodies })
    }

    pub fn gadget(&self) -> Gadget {
        self.gadget
    }

    /// Its part of the serialized keys: base and number of digits, seed, bodies.
    pub fn parts(&self) -> (u32, u32, &[u8; 32], &[u8]) {
        let Gadget { log2_base, digits, .. } = self.gadget;
        (log2_base, digits as u32, self.seed.as_bytes(), self.bodies.as_bytes())
    }

    /// Bytes of its bodies.
    pub fn bytes(&self) -> usize {
        self.bodies.as_bytes().len()
    }

    /// Bytes of bodies that a key of `set` has at most.
    pub fn most_bytes(set: &ParameterSet) -> usize {
        let Some(modulus) = modulus(set) else { return 0 };
        let digits = (64 - modulus.value().leading_zeros()) as usize;
        digits * bodies_per_digit(set.shape()) * PackedWords::width(modulus.value() - 1)
    }

    /// Checks parts that came from outside.
    pub fn read(
        set: &ParameterSet,
        (log2_base, digits, seed, bodies): (u32, u32, [u8; 32], &[u8]),
    ) -> Result<Self> {
        let modulus = modulus_of(set)?;
        let refuse = |why| error::malformed("evaluation keys", format!("compression key: {why}"));
        let gadget = match Gadget::new(&modulus, log2_base, digits) {
            Ok(gadget) => gadget,
            Err(why) => return refuse(why),
        };
        let len = gadget.digits * bodies_per_digit(set.shape());
        match PackedWords::checked(modulus.value() - 1, len, bodies) {
            Ok(bodies) => Ok(Self { gadget, seed: MaskSeed::from_bytes(seed), bodies }),
            Err(why) => refuse(why),
        }
    }

    /// Hands out every polynomial of the key in the order `[block][digit][K]`, coefficients modulo
    /// M.
    pub fn for_each_polynomial(&self, set: &ParameterSet, mut take: impl FnMut(&[u64])) {
        let shape = set.shape();
        let (size, k) = (shape.polynomial_size, shape.glwe_dimension);
        let Some(modulus) = modulus(set) else { return };
        let masks = self.seed.streams(&SetId::of(set));
        let mut polynomial = vec![0; size];
        for block in 0..blocks(shape) {
            let mut stream = mask_stream(&masks, block);
            for digit in 0..self.gadget.digits {
                for _ in 0..k {
                    stream.fill_below(modulus.value(), &mut polynomial);
                    take(&polynomial);
                }
                for slot in 0..shape.packing {
                    let index = (block * self.gadget.digits + digit) * shape.packing + slot;
                    self.bodies.read(index * size, &mut polynomial);
                    take(&polynomial);
                }
            }
        }
    }
}

/// The mask stream of a block, which serves its rows in the order `[digit][k]`: part of the wire
/// format.
fn mask_stream(masks: &MaskStreams, block: usize) -> RandomStream {
    masks.stream(domain::COMPRESSION, block as u64)
}

fn modulus_of(set: &ParameterSet) -> Result<Rns> {
    modulus(set).ok_or_else(|| no_transform(set))
}

fn no_transform(set: &ParameterSet) -> crate::Error {
    set.unsupported("its modulus has no number-theoretic transform")
}

/// Makes the bodies of any block; shared by all threads.
struct Generator<'a> {
    client: &'a ClientKey,
    gadget: Gadget,
    modulus: &'a Rns,
    tables: Vec<NttTable>,
    /// `[word][r][k][N]`: the ring's secrets, transformed, in Montgomery form.
    secrets: Zeroizing<Vec<u32>>,
    errors: &'a SecretStreams,
    /// Errors modulo M on the native torus; elsewhere they are those of all keys.
    scaled: Option<TUniform>,
}

impl<'a> Generator<'a> {
    fn new(
        client: &'a ClientKey,
        modulus: &'a Rns,
        gadget: Gadget,
        errors: &'a SecretStreams,
    ) -> Option<Self> {
        let shape = client.set().shape();
        let size = shape.polynomial_size;
        let tables: Vec<NttTable> =
            modulus.words().iter().map(|&w| NttTable::new(w, size)).collect::<Option<_>>()?;
        let len = tables.len() * shape.packing * shape.ks_indices();
        let mut secrets = Zeroizing::new(Vec::with_capacity(len));
        for table in &tables {
            let word = table.modulus();
            let first = secrets.len();
            for slot in 0..shape.packing {
                let secret = client.glwe_secret(slot);
                secrets.extend(secret.iter().map(|&s| word.reduce_small(i32::from(s))));
            }
            for polynomial in secrets[first..].chunks_exact_mut(size) {
                table.forward(polynomial);
                polynomial.iter_mut().for_each(|x| *x = word.to_montgomery(*x));
            }
        }
        let scaled = match client.set().errors() {
            ErrorDistribution::TUniform { glwe_log2_bound, .. } => {
                Some(TUniform::new(scaled_bound(glwe_log2_bound))?)
            }
            ErrorDistribution::Gaussian { .. } => None,
        };
        Some(Self { client, gadget, modulus, tables, secrets, errors, scaled })
    }

    /// What block `index` switches from, of one slot: N small coefficients.
    fn source(&self, index: usize, slot: usize) -> Zeroizing<Vec<i8>> {
        let shape = self.client.set().shape();
        let (size, entry) = (shape.polynomial_size, entry_blocks(shape));
        let mut source = Zeroizing::new(vec![0; size]);
        let Some(index) = index.checked_sub(entry) else {
            let part = self.client.lwe_secret(slot).chunks(size).nth(index).unwrap_or(&[]);
            source[..part.len()].copy_from_slice(part);
            return source;
        };
        let (level, p) = (index / shape.glwe_dimension + 1, index % shape.glwe_dimension);
        let secret = &self.client.glwe_secret(slot)[p * size..][..size];
        let turn = Automorphism::new(size, (1 << level) + 1).expect("N is a power of two");
        for (i, &s) in secret.iter().enumerate() {
            let (to, negate) = turn.coefficient(i);
            // A sign that the place alone decides.
            source[to] = if negate { -s } else { s };
        }
        source
    }

    /// Fills the packed bodies of block `index`.
    fn block(&self, masks: &MaskStreams, index: usize, out: &mut [u8]) {
        let shape = self.client.set().shape();
        let (size, k, words) = (shape.polynomial_size, shape.glwe_dimension, self.tables.len());
        let mut stream = mask_stream(masks, index);
        let mut errors = self.errors.stream(domain::COMPRESSION, index as u64);
        let mut mask = vec![0u64; k * size];
        let mut transformed = vec![0u32; k * size];
        let mut products = Zeroizing::new(vec![0u32; words * shape.packing * size]);
        let mut body = Zeroizing::new(vec![0u64; size]);
        let sources: Vec<_> = (0..shape.packing).map(|slot| self.source(index, slot)).collect();
        for digit in 0..self.gadget.digits {
            stream.fill_below(self.modulus.value(), &mut mask);
            for (w, table) in self.tables.iter().enumerate() {
                let word = table.modulus();
                for (x, &a) in transformed.iter_mut().zip(&mask) {
                    *x = word.reduce(a);
                }
                transformed.chunks_exact_mut(size).for_each(|p| table.forward(p));
                for slot in 0..shape.packing {
                    let secrets = &self.secrets[(w * shape.packing + slot) * k * size..];
                    let sum = &mut products[(w * shape.packing + slot) * size..][..size];
                    sum.fill(0);
                    for (a, s) in transformed.chunks_exact(size).zip(secrets.chunks_exact(size)) {
                        for ((sum, &a), &s) in sum.iter_mut().zip(a).zip(s) {
                            *sum = word.add(*sum, word.mul_montgomery(a, s));
                        }
                    }
                    table.inverse(sum);
                }
            }
            let weight = 1i64 << (self.gadget.dropped_bits + self.gadget.log2_base * digit as u32);
            for (slot, source) in sources.iter().enumerate() {
                let product = |w: usize, i: usize| {
                    let place = ((w * shape.packing + slot) * size) + i;
                    products.get(place).copied().unwrap_or(0)
                };
                for (i, (x, &s)) in body.iter_mut().zip(source.iter()).enumerate() {
                    let error = match self.scaled {
                        Some(errors_of) => errors_of.sample(&mut errors),
                        None => self.client.glwe_error(&mut errors),
                    };
                    let payload = error - weight * i64::from(s);
                    *x = self.add(self.modulus.compose(product(0, i), product(1, i)), payload);
                }
                let first = (digit * shape.packing + slot) * size;
                PackedWords::write(self.modulus.value() - 1, out, first, &body);
            }
        }
    }

    /// `x + y mod M` for `x < M < 2^61` and `|y| < M`, without branches on either.
    fn add(&self, x: u64, y: i64) -> u64 {
        let modulus = self.modulus.value() as i64;
        // In (-M, 2M); both corrections are masks of a sign.
        let sum = x as i64 + y;
        let sum = sum + (modulus & (sum >> 63));
        let over = sum - modulus;
        (over + (modulus & (over >> 63))) as u64
    }
}
