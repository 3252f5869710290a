//! The serialized form of keys and ciphertexts: a header that says what follows, then postcard, then a checksum.
//!
//! | bytes | what |
//! |---|---|
//! | 4 | `GRIH` |
//! | 2 | version, like all numbers little-endian |
//! | 1 | kind |
//! | 8 | length of everything, from the first byte to the last |
//! | .. | the set as a parameter file, then the payload, both by postcard |
//! | 16 | the first bytes of BLAKE3 of all bytes before |
//!
//! The checksum finds accidents. It is no authentication: whoever changes the bytes on purpose can compute it anew. So everything
//! behind it is still checked when it is read, and bytes from someone else need a channel that says who sent them.

use crate::{Error, ParameterSet, Result, error};
use serde::{Serialize, de::DeserializeOwned};
use zeroize::Zeroize;

/// First bytes of everything serialized.
const MAGIC: [u8; 4] = *b"GRIH";

/// Raised with every change of what follows, including what mask seeds expand to.
const VERSION: u16 = 3;

/// Where the length stands.
const LENGTH: usize = 7;

/// Bytes before the set.
const HEADER: usize = 15;

/// Bytes after the payload.
const CHECKSUM: usize = 16;

/// Bytes that a payload takes at most besides its large parts: a name, a seed and a few lengths.
const SMALL: usize = 128;

/// What older versions lack, for whoever still holds their files.
fn describe(version: u16) -> &'static str {
    match version {
        1 => " (of girih before ciphertexts carried their modulus: make the keys and ciphertexts anew)",
        2 => " (of girih before bytes ended with a checksum and named their client key: make the keys and ciphertexts anew)",
        _ => "",
    }
}

/// What is serialized.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    ClientKey = 1,
    EvaluationKeys = 2,
    Ciphertexts = 3,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::ClientKey => "client key",
            Self::EvaluationKeys => "evaluation keys",
            Self::Ciphertexts => "ciphertexts",
        }
    }
}

/// The first 16 bytes of what `hasher` makes of `bytes`, which may be secret; on all threads where there are many.
pub(crate) fn digest(mut hasher: blake3::Hasher, bytes: &[u8]) -> [u8; CHECKSUM] {
    // Below this BLAKE3 says that threads cost more than they give.
    let hashed = if bytes.len() < 128 << 10 { hasher.update(bytes) } else { hasher.update_rayon(bytes) };
    let mut digest = [0; CHECKSUM];
    hashed.finalize_xof().fill(&mut digest);
    hasher.zeroize();
    digest
}

/// The form described above, in one piece: `room` is what the large parts of the payload take at most, so that of secrets no copy
/// stays behind and of large keys there is none on the way.
pub(crate) fn encode(kind: Kind, set: &ParameterSet, room: usize, payload: &impl Serialize) -> Result<Vec<u8>> {
    let text = set.to_toml();
    let room = HEADER + text.len() + SMALL + room + CHECKSUM;
    let mut bytes = Vec::with_capacity(room);
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.push(kind as u8);
    bytes.resize(HEADER, 0);
    let mut bytes = postcard::to_extend(&(text, payload), bytes)
        .map_err(|e| Error::Malformed { what: kind.name(), why: format!("cannot be serialized: {e}") })?;
    let length = bytes.len() + CHECKSUM;
    debug_assert!(length <= room, "{length} bytes in room for {room}");
    bytes[LENGTH..HEADER].copy_from_slice(&(length as u64).to_le_bytes());
    bytes.extend(digest(blake3::Hasher::new(), &bytes));
    Ok(bytes)
}

/// Undoes [`encode`], checking everything but the payload's own meaning.
pub(crate) fn decode<T: DeserializeOwned>(kind: Kind, bytes: &[u8]) -> Result<(ParameterSet, T)> {
    let what = kind.name();
    let malformed = |e: postcard::Error| match e {
        postcard::Error::DeserializeUnexpectedEnd => Error::Malformed { what, why: format!("truncated after {} bytes", bytes.len()) },
        e => Error::Malformed { what, why: e.to_string() },
    };
    let (text, rest): (String, _) = postcard::take_from_bytes(content(kind, bytes)?).map_err(malformed)?;
    let set = ParameterSet::from_toml(&text).map_err(|e| Error::Malformed { what, why: format!("their parameter set: {e}") })?;
    let (payload, rest) = postcard::take_from_bytes(rest).map_err(malformed)?;
    if !rest.is_empty() {
        return error::malformed(what, format!("{} bytes too many at the end", rest.len()));
    }
    Ok((set, payload))
}

/// What stands between header and checksum, when both are right.
fn content(kind: Kind, bytes: &[u8]) -> Result<&[u8]> {
    let what = kind.name();
    let Some((header, _)) = bytes.split_first_chunk::<HEADER>() else {
        return error::malformed(what, format!("truncated: {} bytes are less than a header of {HEADER}", bytes.len()));
    };
    let [m0, m1, m2, m3, v0, v1, found, length @ ..] = *header;
    if [m0, m1, m2, m3] != MAGIC {
        return error::malformed(what, "does not start with `GRIH`: not written by this library");
    }
    let version = u16::from_le_bytes([v0, v1]);
    if version != VERSION {
        return error::malformed(what, format!("format version {version}{}; this library reads version {VERSION}", describe(version)));
    }
    if found != kind as u8 {
        let found = [Kind::ClientKey, Kind::EvaluationKeys, Kind::Ciphertexts].into_iter().find(|k| *k as u8 == found);
        return error::malformed(what, format!("these bytes hold {}", found.map_or("something unknown", Kind::name)));
    }
    let (given, length) = (bytes.len() as u64, u64::from_le_bytes(length));
    if given > length {
        return error::malformed(what, format!("{} bytes too many at the end: the header speaks of {length}", given - length));
    }
    match bytes.split_last_chunk() {
        Some((front, checksum)) if given == length && front.len() >= HEADER => {
            if digest(blake3::Hasher::new(), front) != *checksum {
                return error::malformed(what, "the checksum does not match: damaged or truncated in transit, get them again");
            }
            Ok(&front[HEADER..])
        }
        _ => error::malformed(what, format!("truncated: {given} bytes where the header speaks of {length}")),
    }
}
