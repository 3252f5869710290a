//! Ciphertexts of TFHE-rs and arrays of girih's integers, both ways.
//!
//! Both write a number as digits of two bits, lowest first, each under two bits of carry and one of
//! padding, with the body as mask times secret plus message plus error: words carry over as they
//! are. A condition is 0 or 1 there, 0 or 8 here; a look-up goes between them.

use crate::{HostKeys, Result, error};
use girih_integer::{Encrypted, FheBool, FheInt, FheUint, Integer};
use girih_tfhe::{LookUpTable, LweCiphertexts, ParameterSet};
use rayon::prelude::*;
use serde::Serialize;
use tfhe::core_crypto::prelude::{CiphertextModulus, LweCiphertext};
use tfhe::integer::ciphertext::{
    DataKind, Expandable, IntegerRadixCiphertext, RadixCiphertext, SignedRadixCiphertext,
};
use tfhe::prelude::Tagged;
use tfhe::shortint::ciphertext::{Degree, NoiseLevel};
use tfhe::shortint::parameters::{AtomicPatternKind, CarryModulus, MessageModulus};
use tfhe::shortint::{Ciphertext, PBSOrder};
use tfhe::{ReRandomizationMetadata, Tag};

/// Messages that fill the circle: two bits, two of carry and one of padding.
pub(crate) const PLAINTEXT: u64 = 32;

/// What digits carry: the message of two bits, no carries.
const LARGEST_DEGREE: u64 = 3;

/// The largest noise level that TFHE-rs lets ciphertexts of these parameters have.
const LARGEST_NOISE: u64 = 5;

/// Encrypted values of TFHE-rs that girih computes on: `tfhe::FheBool`, and `tfhe::FheUint2` to
/// `FheUint256` and `FheInt2` to `FheInt256`, of 2 to 16, 32, 64, 128, 160 and 256 bits.
pub trait Foreign: Tagged + Sized {
    /// What they are in girih: an array of them.
    type Integers: Ours<Theirs = Self>;

    #[doc(hidden)]
    fn into_blocks(self) -> Vec<Ciphertext>;

    #[doc(hidden)]
    fn from_blocks(blocks: Vec<Ciphertext>, tag: Tag) -> Result<Self>;
}

/// Arrays of girih of which ciphertexts of TFHE-rs can be made.
pub trait Ours: Integer<Engine = girih_tfhe::ServerKey> {
    /// What an element is in TFHE-rs.
    type Theirs: Foreign<Integers = Self>;

    /// What becomes of a block's message on its way in and out, where it does not stay.
    #[doc(hidden)]
    const LOOK_UPS: Option<LookUps> = None;
}

/// The look-ups between messages of TFHE-rs and girih.
#[doc(hidden)]
pub struct LookUps {
    pub to_ours: fn(u64) -> u64,
    pub to_theirs: fn(u64) -> u64,
}

impl LookUps {
    pub(crate) fn table(function: fn(u64) -> u64) -> Result<LookUpTable> {
        Ok(LookUpTable::new(4, function)?)
    }
}

impl Foreign for tfhe::FheBool {
    type Integers = FheBool;

    fn into_blocks(self) -> Vec<Ciphertext> {
        vec![self.into_raw_parts()]
    }

    fn from_blocks(blocks: Vec<Ciphertext>, tag: Tag) -> Result<Self> {
        let mut value = Self::from_expanded_blocks(blocks, DataKind::Boolean)
            .map_err(|why| crate::Error::Ciphertexts(why.to_string()))?;
        *value.tag_mut() = tag;
        Ok(value)
    }
}

impl Ours for FheBool {
    type Theirs = tfhe::FheBool;
    const LOOK_UPS: Option<LookUps> =
        Some(LookUps { to_ours: |x| 8 * (x & 1), to_theirs: |x| x >> 3 });
}

macro_rules! numbers {
    ($name:ident, $radix:ident, $($theirs:ident $bits:literal),*) => {
        $(
            impl Foreign for tfhe::$theirs {
                type Integers = $name<$bits>;

                fn into_blocks(self) -> Vec<Ciphertext> {
                    self.into_raw_parts().0.into_blocks()
                }

                fn from_blocks(blocks: Vec<Ciphertext>, tag: Tag) -> Result<Self> {
                    let metadata = ReRandomizationMetadata::default();
                    let radix = $radix::from(blocks);
                    Ok(Self::from_raw_parts(radix, Default::default(), tag, metadata))
                }
            }

            impl Ours for $name<$bits> {
                type Theirs = tfhe::$theirs;
            }
        )*
    };
}

numbers!(
    FheUint, RadixCiphertext, FheUint2 2, FheUint4 4, FheUint6 6, FheUint8 8, FheUint10 10,
    FheUint12 12, FheUint14 14, FheUint16 16, FheUint32 32, FheUint64 64, FheUint128 128,
    FheUint160 160, FheUint256 256
);
numbers!(
    FheInt, SignedRadixCiphertext, FheInt2 2, FheInt4 4, FheInt6 6, FheInt8 8, FheInt10 10,
    FheInt12 12, FheInt14 14, FheInt16 16, FheInt32 32, FheInt64 64, FheInt128 128,
    FheInt160 160, FheInt256 256
);

/// Ciphertexts that TFHE-rs writes without their masks, as clients send them:
/// `tfhe::CompressedFheBool`, `CompressedFheUint8` and so on.
pub trait Compressed: Serialize {
    /// What they are of.
    type Value: Foreign;

    /// The ciphertext with its masks.
    ///
    /// # Errors
    /// [`Error::Ciphertexts`](crate::Error::Ciphertexts) for one that a server compressed
    /// (`compress()`), which is rounded and takes a bootstrapping of TFHE-rs to be used again:
    /// [`Compressed::expand_by`] has the keys for it.
    fn expand(&self) -> Result<Self::Value>;

    /// The same of one that a server may have compressed, by TFHE-rs's own server.
    ///
    /// # Errors
    /// [`Error::Ciphertexts`](crate::Error::Ciphertexts) where TFHE-rs fails.
    fn expand_by(&self, keys: &HostKeys) -> Result<Self::Value>;
}

/// Refuses what TFHE-rs would need a server key of its own for.
fn check_seeded(value: &impl Serialize) -> Result<()> {
    /// Keeps the first bytes: the number of the variant of the first field.
    struct Head(Vec<u8>);

    impl std::io::Write for Head {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if self.0.len() >= 4 {
                return Err(std::io::ErrorKind::WriteZero.into());
            }
            self.0.extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    let mut head = Head(Vec::new());
    // Ends with an error as soon as the head is there.
    let _ = bincode::serialize_into(&mut head, value);
    if head.0.get(..4) == Some(&[0; 4]) {
        return Ok(());
    }
    error::ciphertexts(
        "a ciphertext that a server compressed: it is rounded, and TFHE-rs bootstraps it when it \
         decompresses; `expand_by` does, with the client's keys on the host",
    )
}

macro_rules! compressed {
    ($($compressed:ident $value:ident),*) => {
        $(
            impl Compressed for tfhe::$compressed {
                type Value = tfhe::$value;

                fn expand(&self) -> Result<Self::Value> {
                    check_seeded(self)?;
                    Ok(self.decompress())
                }

                fn expand_by(&self, keys: &HostKeys) -> Result<Self::Value> {
                    keys.with(|| self.decompress())
                }
            }
        )*
    };
}

compressed!(
    CompressedFheBool FheBool, CompressedFheUint2 FheUint2, CompressedFheUint4 FheUint4,
    CompressedFheUint6 FheUint6, CompressedFheUint8 FheUint8, CompressedFheUint10 FheUint10,
    CompressedFheUint12 FheUint12, CompressedFheUint14 FheUint14, CompressedFheUint16 FheUint16,
    CompressedFheUint32 FheUint32, CompressedFheUint64 FheUint64, CompressedFheUint128 FheUint128,
    CompressedFheUint160 FheUint160, CompressedFheUint256 FheUint256,
    CompressedFheInt2 FheInt2, CompressedFheInt4 FheInt4, CompressedFheInt6 FheInt6,
    CompressedFheInt8 FheInt8, CompressedFheInt10 FheInt10, CompressedFheInt12 FheInt12,
    CompressedFheInt14 FheInt14, CompressedFheInt16 FheInt16, CompressedFheInt32 FheInt32,
    CompressedFheInt64 FheInt64, CompressedFheInt128 FheInt128,
    CompressedFheInt160 FheInt160, CompressedFheInt256 FheInt256
);

/// Words of ciphertexts, in the order of girih's arrays, and the largest noise level.
pub(crate) struct Words {
    pub words: Vec<u32>,
    pub noise: u64,
    pub count: usize,
}

impl Words {
    /// Of values whose every element has `digits` blocks.
    pub fn of<T: Foreign>(set: &ParameterSet, tag: &Tag, values: Vec<T>) -> Result<Self> {
        let (digits, count) = (blocks_of::<T::Integers>(), values.len());
        let len = set.shape().ciphertext_len();
        let mut noise = 0;
        let mut blocks = Vec::with_capacity(count);
        for (e, value) in values.into_iter().enumerate() {
            if value.tag() != tag {
                return error::ciphertexts(format!(
                    "the tag of number {e} is {:?}, that of the keys is {:?}: they are of \
                     different clients",
                    value.tag().data(),
                    tag.data()
                ));
            }
            let own = value.into_blocks();
            if own.len() != digits {
                return error::ciphertexts(format!(
                    "number {e} has {} blocks, a {} has {digits}",
                    own.len(),
                    std::any::type_name::<T::Integers>()
                ));
            }
            for (d, block) in own.iter().enumerate() {
                noise = noise.max(check(set, block, e, d)?);
            }
            blocks.push(own);
        }
        let mut words = vec![0; digits * count * len];
        words.par_chunks_exact_mut(len).enumerate().for_each(|(place, to)| {
            let block = &blocks[place % count][place / count];
            for (halves, &word) in to.as_chunks_mut::<2>().0.iter_mut().zip(block.ct.as_ref()) {
                *halves = [word as u32, (word >> 32) as u32];
            }
        });
        Ok(Self { words, noise, count })
    }
}

/// Blocks of an element.
pub(crate) fn blocks_of<T: Ours>() -> usize {
    T::digits()
}

/// Refuses a block that is not of this set, or not what a digit is; else its noise level.
fn check(set: &ParameterSet, block: &Ciphertext, e: usize, d: usize) -> Result<u64> {
    let moduli = (block.message_modulus.0, block.carry_modulus.0);
    let (found, mask) = (block.ct.as_ref().len(), set.shape().stored_mask_len());
    let (degree, noise) = (block.degree.get(), block.noise_level().get());
    let why = if moduli != (4, 4) {
        format!(
            "has messages modulo {} with carries modulo {}, those of the keys are 4 and 4",
            moduli.0, moduli.1
        )
    } else if found != mask + 1 {
        format!("has a mask of {}, those of the keys have {mask}", found.saturating_sub(1))
    } else if !block.ct.ciphertext_modulus().is_native_modulus() {
        format!("is modulo {:?}, keys are modulo 2^64", block.ct.ciphertext_modulus())
    } else if block.atomic_pattern != AtomicPatternKind::Standard(PBSOrder::KeyswitchBootstrap) {
        format!("is of the pattern {:?}, keys switch keys first", block.atomic_pattern)
    } else if degree > LARGEST_DEGREE {
        format!(
            "may hold up to {degree}: propagate carries before, messages alone go to \
             {LARGEST_DEGREE}"
        )
    } else if noise > LARGEST_NOISE {
        format!("has the noise level {noise}, {LARGEST_NOISE} is the largest of its parameters")
    } else {
        return Ok(noise);
    };
    error::ciphertexts(format!("block {d} of number {e} {why}"))
}

/// Values of an array on the host, of nominal noise, under `tag`.
pub(crate) fn values<T: Ours>(
    words: &LweCiphertexts,
    count: usize,
    tag: &Tag,
) -> Result<Vec<T::Theirs>> {
    let (digits, len) = (blocks_of::<T>(), words.set().shape().ciphertext_len());
    let largest = if T::LOOK_UPS.is_some() { 1 } else { LARGEST_DEGREE };
    let block = |d: usize, e: usize| {
        let halves = words.words()[(d * count + e) * len..][..len].as_chunks::<2>().0;
        let whole = halves.iter().map(|[low, high]| u64::from(*low) | u64::from(*high) << 32);
        let whole = whole.collect();
        Ciphertext::new(
            LweCiphertext::from_container(whole, CiphertextModulus::new_native()),
            Degree::new(largest),
            NoiseLevel::NOMINAL,
            MessageModulus(4),
            CarryModulus(4),
            AtomicPatternKind::Standard(PBSOrder::KeyswitchBootstrap),
        )
    };
    let blocks = (0..count).into_par_iter().map(|e| (0..digits).map(|d| block(d, e)).collect());
    let blocks: Vec<Vec<Ciphertext>> = blocks.collect();
    blocks.into_iter().map(|own| T::Theirs::from_blocks(own, tag.clone())).collect()
}

/// An array on the host of words of girih's own messages.
pub(crate) fn encrypted<T: Ours>(words: LweCiphertexts, count: usize) -> Result<Encrypted<T>> {
    Ok(Encrypted::from_ciphertexts(words, count)?)
}
