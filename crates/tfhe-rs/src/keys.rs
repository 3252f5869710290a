//! Compressed server keys of TFHE-rs, as a device loads keys.

use crate::parameters::{self, Dimensions};
use crate::{Error, Result, error};
use girih_backend::{BootstrapShape, KeySource};
use girih_tfhe::{KeyId, ParameterSet};
use tfhe::Tag;
use tfhe::core_crypto::commons::generators::MaskRandomGenerator;
use tfhe::core_crypto::commons::math::random::{CompressionSeed, Uniform};
use tfhe::core_crypto::prelude::{
    CiphertextModulus, DecompositionBaseLog, DecompositionLevelCount, DefaultRandomGenerator,
    EncryptionMaskByteCount, GgswCiphertextList, GlweSize, LweCiphertextList, LweSize,
    PolynomialSize, SeededGgswCiphertextList, SeededLweCiphertextList, SeededLweKeyswitchKeyOwned,
    decompress_seeded_ggsw_ciphertext_list_with_pre_seeded_generator,
    decompress_seeded_lwe_ciphertext_list_with_pre_seeded_generator,
};
use tfhe::shortint::atomic_pattern::compressed::CompressedAtomicPatternServerKey;
use tfhe::shortint::server_key::ShortintCompressedBootstrappingKey;
use tfhe::shortint::{PBSOrder, PBSParameters};

/// The bootstrapping and the key-switching key of a TFHE-rs client, public: what a device loads.
///
/// They are held as the client sent them, 30 MB with the default parameters; masks are expanded
/// from their seeds block by block as a device asks for them.
pub struct Keys {
    set: ParameterSet,
    id: KeyId,
    tag: Tag,
    /// `[step][GGSW][level][row K][N]`: the bodies, and the seed of all masks.
    bootstrapping: (Vec<u64>, CompressionSeed),
    /// `[i < kN][level]`.
    key_switching: (Vec<u64>, CompressionSeed),
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Keys of TFHE-rs({}, {:.8})", self.set, self.id)
    }
}

/// Server keys of TFHE-rs, taken over where they can be.
pub trait IntoKeys {
    /// The keys in the form that devices load.
    ///
    /// # Errors
    /// [`Error::Keys`](crate::Error::Keys) naming what was found and what would be right.
    fn into_keys(self) -> Result<Keys>;
}

impl IntoKeys for Keys {
    fn into_keys(self) -> Result<Keys> {
        Ok(self)
    }
}

impl IntoKeys for tfhe::CompressedServerKey {
    fn into_keys(self) -> Result<Keys> {
        Keys::new(self)
    }
}

/// Copies the compressed keys first.
impl IntoKeys for &tfhe::CompressedServerKey {
    fn into_keys(self) -> Result<Keys> {
        Keys::new(self.clone())
    }
}

/// Always refused: its bootstrapping key is Fourier transformed and rounded, so the words that it
/// was made from are lost.
impl IntoKeys for &tfhe::ServerKey {
    fn into_keys(self) -> Result<Keys> {
        error::keys(
            "its bootstrapping key is Fourier transformed; ask the client for \
             `tfhe::CompressedServerKey::new(&client_key)`, which holds it as it was made",
        )
    }
}

/// What is left of a compressed key once its parts are taken out and checked.
struct Parts {
    dimensions: Dimensions,
    bootstrapping: (Vec<u64>, CompressionSeed),
    key_switching: (Vec<u64>, CompressionSeed),
    tag: Tag,
}

impl Keys {
    /// Takes over keys of a published parameter set of TFHE-rs. Keys beside them (compression,
    /// noise squashing, casting, random numbers) are dropped.
    ///
    /// # Errors
    /// [`Error::Keys`](crate::Error::Keys) for keys with bootstrapping first, with a 32-bit key
    /// switch, of other messages than two bits with two of carry, damaged ones, or ones of a set
    /// that is unknown or that girih cannot run.
    pub fn new(keys: tfhe::CompressedServerKey) -> Result<Self> {
        let parts = Parts::new(keys)?;
        let set = parameters::find(&parts.dimensions)?;
        parts.of(set)
    }

    /// Takes over keys of parameters that the client names.
    ///
    /// # Errors
    /// As [`Keys::new`], and for keys that cannot be of these parameters.
    pub fn with_parameters(
        keys: tfhe::CompressedServerKey,
        parameters: impl Into<PBSParameters>,
    ) -> Result<Self> {
        let parts = Parts::new(keys)?;
        let set = parameters::given(parameters, &parts.dimensions)?;
        parts.of(set)
    }

    /// The parameter set: TFHERS_2_2 for the default of TFHE-rs since 1.4.
    pub fn set(&self) -> &ParameterSet {
        &self.set
    }

    /// A name of the client key: a hash of these keys, as TFHE-rs has no names. Keys that a client
    /// makes again have another one.
    pub fn key_id(&self) -> KeyId {
        self.id
    }

    /// The tag that the client put on its keys, empty unless it did.
    pub fn tag(&self) -> &Tag {
        &self.tag
    }

    /// Bytes held in memory.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.bootstrapping.0[..]) + size_of_val(&self.key_switching.0[..])
    }
}

impl Parts {
    fn new(keys: tfhe::CompressedServerKey) -> Result<Self> {
        let (integer, .., tag) = keys.into_raw_parts();
        let (pattern, message, carry, ..) = integer.into_raw_parts().into_raw_parts();
        let moduli = (message.0, carry.0);
        if moduli != (4, 4) {
            return error::keys(format!(
                "messages modulo {} with carries modulo {}: girih's integers are made of digits \
                 modulo 4 with carries modulo 4 (parameters MESSAGE_2_CARRY_2)",
                moduli.0, moduli.1
            ));
        }
        let standard = match pattern {
            CompressedAtomicPatternServerKey::Standard(standard) => standard,
            CompressedAtomicPatternServerKey::KeySwitch32(_) => {
                return error::keys(
                    "a key switch to 32 bits (parameters KS32): ask the client for parameters \
                     KS_PBS, the default",
                );
            }
        };
        let (key_switching, bootstrapping, order) = standard.into_raw_parts();
        if order != PBSOrder::KeyswitchBootstrap {
            return error::keys(
                "bootstrapping before the key switch (parameters PBS_KS): girih runs the other \
                 order; ask the client for parameters KS_PBS, the default",
            );
        }
        let (grouping, dims, bodies, seed) = match bootstrapping {
            ShortintCompressedBootstrappingKey::Classic { bsk, .. } => {
                let dims = RingDimensions::new(
                    bsk.glwe_size(),
                    bsk.polynomial_size(),
                    bsk.decomposition_base_log(),
                    bsk.decomposition_level_count(),
                    bsk.ciphertext_modulus(),
                )?;
                let seed = bsk.compression_seed();
                (1, dims, bsk.into_container(), seed)
            }
            ShortintCompressedBootstrappingKey::MultiBit { seeded_bsk: bsk, .. } => {
                let dims = RingDimensions::new(
                    bsk.glwe_size(),
                    bsk.polynomial_size(),
                    bsk.decomposition_base_log(),
                    bsk.decomposition_level_count(),
                    bsk.ciphertext_modulus(),
                )?;
                let (grouping, seed) = (bsk.grouping_factor().0, bsk.compression_seed());
                (grouping, dims, bsk.into_container(), seed)
            }
        };
        let dimensions = dims.with(grouping, bodies.len(), &key_switching, moduli)?;
        let key_switching_seed = key_switching.compression_seed();
        Ok(Self {
            dimensions,
            bootstrapping: (bodies, seed),
            key_switching: (key_switching.into_container(), key_switching_seed),
            tag,
        })
    }

    fn of(self, set: ParameterSet) -> Result<Keys> {
        let Self { bootstrapping, key_switching, tag, .. } = self;
        let id = name(&[&bootstrapping, &key_switching])?;
        Ok(Keys { set, id, tag, bootstrapping, key_switching })
    }
}

/// Dimensions of a bootstrapping key, within what girih runs.
struct RingDimensions {
    glwe: usize,
    polynomial: usize,
    digits: (usize, usize),
}

impl RingDimensions {
    fn new(
        glwe: GlweSize,
        polynomial: PolynomialSize,
        base: DecompositionBaseLog,
        levels: DecompositionLevelCount,
        modulus: CiphertextModulus<u64>,
    ) -> Result<Self> {
        if !modulus.is_native_modulus() {
            return error::keys(format!("{modulus:?}: girih runs the native modulus, 2^64"));
        }
        let (glwe, polynomial, digits) =
            (glwe.0.saturating_sub(1), polynomial.0, (base.0, levels.0));
        let possible = |(log2_base, count): (usize, usize)| {
            (1..=31).contains(&log2_base) && (1..=63).contains(&count)
        };
        if !(1..=4).contains(&glwe)
            || !polynomial.is_power_of_two()
            || !(256..=8192).contains(&polynomial)
            || !possible(digits)
        {
            return error::keys(format!(
                "k = {glwe}, N = {polynomial}, bootstrapping digits 2^{} x {}: girih runs k from 1 \
                 to 4 and N = 256 to 8192, a power of two",
                digits.0, digits.1
            ));
        }
        Ok(Self { glwe, polynomial, digits })
    }

    /// All dimensions, of keys whose lengths go with each other.
    fn with(
        &self,
        grouping: usize,
        bodies: usize,
        key_switching: &SeededLweKeyswitchKeyOwned<u64>,
        moduli: (u64, u64),
    ) -> Result<Dimensions> {
        if !(1..=BootstrapShape::MAX_GROUPING).contains(&grouping) {
            return error::keys(format!("groups of {grouping} LWE indices: girih runs 1 to 4"));
        }
        let step = (if grouping == 1 { 1 } else { 1 << grouping })
            * self.digits.1
            * (self.glwe + 1)
            * self.polynomial;
        let lwe = bodies / step * grouping;
        if bodies == 0 || !bodies.is_multiple_of(step) {
            return error::keys(format!(
                "a bootstrapping key of {bodies} words, of which a step takes {step}: it is cut or \
                 missing"
            ));
        }
        let modulus = key_switching.ciphertext_modulus();
        if !modulus.is_native_modulus() {
            return error::keys(format!("{modulus:?}: girih runs the native modulus, 2^64"));
        }
        let digits =
            (key_switching.decomposition_base_log().0, key_switching.decomposition_level_count().0);
        let (rows, to) = (key_switching.as_ref().len(), key_switching.output_lwe_size().0);
        let wanted = (self.glwe * self.polynomial).checked_mul(digits.1);
        if wanted != Some(rows) || to != lwe + 1 {
            return error::keys(format!(
                "a key-switching key of {rows} rows to {} words with {} digits, where the \
                 bootstrapping key has kN = {} and n = {lwe}: it is cut, missing or another \
                 client's",
                to.saturating_sub(1),
                digits.1,
                self.glwe * self.polynomial
            ));
        }
        Ok(Dimensions {
            lwe,
            glwe: self.glwe,
            polynomial: self.polynomial,
            grouping,
            bootstrapping: self.digits,
            key_switching: digits,
            moduli,
        })
    }
}

/// A hash of both keys.
fn name(parts: &[&(Vec<u64>, CompressionSeed)]) -> Result<KeyId> {
    let mut hasher = blake3::Hasher::new_derive_key("girih 2026-11-26 name of TFHE-rs server keys");
    for (bodies, seed) in parts {
        let seed = bincode::serialize(seed)
            .map_err(|why| Error::Keys(format!("its seed cannot be written: {why}")))?;
        hasher.update(&(seed.len() as u64).to_le_bytes()).update(&seed);
        hasher.update(&(bodies.len() as u64).to_le_bytes());
        let mut bytes = [0; 4096];
        for words in bodies.chunks(bytes.len() / 8) {
            for (to, word) in bytes.chunks_exact_mut(8).zip(words) {
                to.copy_from_slice(&word.to_le_bytes());
            }
            hasher.update(&bytes[..8 * words.len()]);
        }
    }
    let mut digest = [0; 16];
    digest.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    // All zeros, which stand for no name, come with a probability of 2^-128.
    KeyId::from_bytes(digest).map_or_else(|| error::keys("it has no name"), Ok)
}

/// A generator of the masks of a seed, `bytes` behind its beginning.
fn masks(seed: &CompressionSeed, bytes: usize) -> MaskRandomGenerator<DefaultRandomGenerator> {
    let mut generator = MaskRandomGenerator::new(seed.clone());
    if bytes > 0 {
        generator.skip(EncryptionMaskByteCount(bytes));
    }
    generator
}

/// Turns `[level][rest]` around: TFHE-rs has the least significant digit first.
fn reverse_levels(levels: usize, words: &mut [u64]) {
    let len = words.len() / levels;
    for level in 0..levels / 2 {
        let (low, high) = words.split_at_mut((levels - 1 - level) * len);
        low[level * len..][..len].swap_with_slice(&mut high[..len]);
    }
}

impl KeySource for Keys {
    fn shape(&self) -> &BootstrapShape {
        self.set.shape()
    }

    fn bootstrapping_block(&self, index: usize, out: &mut [u64]) {
        let shape = self.set.shape();
        let (levels, columns, size) = (shape.levels(), shape.columns(), shape.polynomial_size);
        let (bodies, seed) = &self.bootstrapping;
        // Multi-bit keys hold the empty set of a step's indices too, which girih does without, and
        // number sets by their first index on, where girih does by their last.
        let grouping = shape.grouping as u32;
        let per_step = if grouping == 1 { 1 } else { 1 << grouping };
        let theirs = |which: usize| match grouping {
            1 => 0,
            _ => (which as u32 + 1).reverse_bits() as usize >> (32 - grouping),
        };
        let len = levels * columns * size;
        let mask_bytes = 8 * len * (columns - 1);
        for (which, ggsw) in out.chunks_exact_mut(len * columns).enumerate() {
            let at = index * per_step + theirs(which);
            let seeded = SeededGgswCiphertextList::from_container(
                &bodies[at * len..][..len],
                GlweSize(columns),
                PolynomialSize(size),
                DecompositionBaseLog(shape.gadget_bits() as usize / levels),
                DecompositionLevelCount(levels),
                seed.clone(),
                CiphertextModulus::new_native(),
            );
            let config = seeded.decompression_fork_config(Uniform);
            debug_assert_eq!(config.mask_byte_count_per_child().0, mask_bytes);
            let mut expanded = GgswCiphertextList::from_container(
                &mut *ggsw,
                GlweSize(columns),
                PolynomialSize(size),
                DecompositionBaseLog(shape.gadget_bits() as usize / levels),
                DecompositionLevelCount(levels),
                CiphertextModulus::new_native(),
            );
            decompress_seeded_ggsw_ciphertext_list_with_pre_seeded_generator(
                &mut expanded,
                &seeded,
                &mut masks(seed, at * mask_bytes),
            );
            reverse_levels(levels, ggsw);
        }
    }

    fn key_switching_block(&self, index: usize, out: &mut [u64]) {
        let shape = self.set.shape();
        let (levels, size) = (shape.ks_digits(), LweSize(shape.lwe_dimension + 1));
        let (bodies, seed) = &self.key_switching;
        let seeded = SeededLweCiphertextList::from_container(
            &bodies[index * levels..][..levels],
            size,
            seed.clone(),
            CiphertextModulus::new_native(),
        );
        let mut expanded =
            LweCiphertextList::from_container(&mut *out, size, CiphertextModulus::new_native());
        let mask_bytes = 8 * levels * shape.lwe_dimension;
        decompress_seeded_lwe_ciphertext_list_with_pre_seeded_generator(
            &mut expanded,
            &seeded,
            &mut masks(seed, index * mask_bytes),
        );
        reverse_levels(levels, out);
    }
}
