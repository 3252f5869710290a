//! Ends of hashes.

use zeroize::Zeroize;

/// Bytes of a checksum, and of a name.
pub(crate) const CHECKSUM: usize = 16;

/// The first bytes of what a hasher of something secret makes, which is wiped.
pub(crate) fn finish_into(mut hasher: blake3::Hasher, out: &mut [u8]) {
    hasher.finalize_xof().fill(out);
    hasher.zeroize();
}

pub(crate) fn finish(hasher: blake3::Hasher) -> [u8; CHECKSUM] {
    let mut digest = [0; CHECKSUM];
    finish_into(hasher, &mut digest);
    digest
}
