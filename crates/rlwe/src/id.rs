//! Names of client keys.

use crate::digest::finish;

/// The name of a client key: 16 bytes that its evaluation keys and every ciphertext under it carry,
/// so that those of two keys are not mixed up unnoticed.
///
/// It is public, says nothing about the secrets, and two keys have one name with a probability of
/// 2^-128. A key that is drawn from a seed takes its name from a hash of that seed that serves
/// nothing else ([`KeySeed::name`](crate::KeySeed::name)); a key of given secrets takes a hash of
/// them. It is a name, not a proof: whoever makes ciphertexts can write any name on them.
///
/// As text it is 32 hexadecimal digits; a precision takes the first of them (`{id:.8}`), as error
/// messages do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId([u8; 16]);

impl KeyId {
    /// The name of these bytes; all zeros stand for no name.
    pub fn from_bytes(bytes: [u8; 16]) -> Option<Self> {
        (bytes != [0; 16]).then_some(Self(bytes))
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The name of a key of given secrets: a hash of all coefficients and of the parts' lengths.
    pub fn of_secrets(parts: &[&[i8]]) -> Self {
        let mut hasher =
            blake3::Hasher::new_derive_key("girih 2026-11-22 name of a client key of secrets");
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            // In pieces, so that no whole copy of a secret is made.
            for piece in part.chunks(64) {
                let mut bytes = zeroize::Zeroizing::new([0; 64]);
                bytes.iter_mut().zip(piece).for_each(|(byte, &s)| *byte = s as u8);
                hasher.update(&bytes[..piece.len()]);
            }
        }
        Self::of_digest(finish(hasher))
    }

    /// Sixteen bytes of a hash, which are zero with a probability of 2^-128.
    pub(crate) fn of_digest(digest: [u8; 16]) -> Self {
        Self(digest)
    }
}

impl std::fmt::Display for KeyId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.0.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
    }
}

impl std::fmt::Debug for KeyId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeyId({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(byte: u8) -> KeyId {
        KeyId::from_bytes([byte; 16]).expect("not all zeros")
    }

    #[test]
    fn zeros_are_no_name() {
        assert_eq!(KeyId::from_bytes([0; 16]), None);
        assert_eq!(id(0xa7).as_bytes(), &[0xa7; 16]);
        let mut nearly = [0; 16];
        nearly[15] = 1;
        assert!(KeyId::from_bytes(nearly).is_some());
    }

    #[test]
    fn a_name_reads_as_hexadecimal_digits() {
        assert_eq!(id(0x0a).to_string(), "0a".repeat(16));
        assert_eq!(format!("{:.8}", id(0xb3)), "b3b3b3b3");
        assert_eq!(format!("{:?}", id(0xb3)), format!("KeyId({})", "b3".repeat(16)));
    }
}
