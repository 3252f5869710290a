//! Keys and ciphertexts from bytes that TFHE-rs wrote (`tfhe::safe_serialization`), bounded before
//! anything is made of them.

use crate::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tfhe::named::Named;
use tfhe::safe_serialization::{safe_deserialize, safe_serialize};
use tfhe::{Unversionize, Versionize};

/// The most bytes of a compressed server key, with all keys that it may have beside: those of the
/// default parameters with compression, noise squashing and casting take some hundred MB.
pub const LARGEST_KEYS: u64 = 2 << 30;

/// The most bytes of one ciphertext or compressed ciphertext: a `FheUint256` takes 2.1 MB.
pub const LARGEST_CIPHERTEXT: u64 = 16 << 20;

/// The most bytes of a list of ciphertexts: some thousand numbers of 64 bits with their masks, as
/// many more as they are packed.
pub const LARGEST_LIST: u64 = 1 << 30;

/// Reads a compressed server key.
///
/// # Errors
/// [`Error::Malformed`] for more than [`LARGEST_KEYS`] bytes, bytes of anything else (among them a
/// `tfhe::ServerKey`), of a version that cannot be read, or that are cut or changed where that can
/// be seen: bytes of TFHE-rs have no checksum.
pub fn keys(bytes: &[u8]) -> Result<tfhe::CompressedServerKey> {
    read(bytes, LARGEST_KEYS)
}

/// Reads a ciphertext.
///
/// # Errors
/// As [`keys`], with [`LARGEST_CIPHERTEXT`].
pub fn ciphertext<T: DeserializeOwned + Unversionize + Named>(bytes: &[u8]) -> Result<T> {
    read(bytes, LARGEST_CIPHERTEXT)
}

/// Reads a `tfhe::CompactCiphertextList` or a `tfhe::CompressedCiphertextList`.
///
/// # Errors
/// As [`keys`], with [`LARGEST_LIST`].
pub fn list<T: DeserializeOwned + Unversionize + Named>(bytes: &[u8]) -> Result<T> {
    read(bytes, LARGEST_LIST)
}

/// Writes a ciphertext, for its client.
///
/// # Errors
/// [`Error::Malformed`] if it cannot be written.
pub fn write<T: Serialize + Versionize + Named>(ciphertext: &T) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    safe_serialize(ciphertext, &mut bytes, LARGEST_CIPHERTEXT)
        .map_err(|why| Error::Malformed(format!("{} cannot be written: {why}", T::NAME)))?;
    Ok(bytes)
}

fn read<T: DeserializeOwned + Unversionize + Named>(bytes: &[u8], most: u64) -> Result<T> {
    if bytes.len() as u64 > most {
        return Err(Error::Malformed(format!(
            "{} bytes for a {}: {most} are the most",
            bytes.len(),
            T::NAME
        )));
    }
    let mut rest = bytes;
    // What a length in these bytes may claim is held to the bytes that there are.
    let value = safe_deserialize(&mut rest, bytes.len() as u64)
        .map_err(|why| Error::Malformed(format!("these are no {}: {why}", T::NAME)))?;
    match rest.len() {
        0 => Ok(value),
        more => Err(Error::Malformed(format!("{more} bytes follow the {}", T::NAME))),
    }
}
