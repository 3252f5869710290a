//! The serialized form of keys and ciphertexts of every scheme: a header that says what follows,
//! the parameter set, the payload, a checksum.
//!
//! | bytes | what |
//! |---|---|
//! | 4 | `GRIH` |
//! | 2 | version, like all numbers little-endian |
//! | 1 | scheme ([`Scheme`]) |
//! | 1 | kind, of that scheme ([`Kind`]) |
//! | 8 | length of everything, from the first byte to the last |
//! | 16 | name of the client key ([`KeyId`]), zeros for none |
//! | 2 | length of the set |
//! | .. | the set in its canonical form, then the payload by postcard |
//! | 16 | the first bytes of BLAKE3 of all bytes before |
//!
//! The checksum finds accidents. It is no authentication: whoever changes the bytes on purpose can
//! compute it anew. So everything behind it is still checked when it is read, and bytes from
//! someone else need a channel that says who sent them.
//!
//! # Bytes from strangers
//!
//! Reading goes in steps, so that a scheme can stop before anything large happens: [`open`] or
//! [`open_for`] checks header, length, checksum and set; the scheme compares
//! [`Opened::payload_len`] with what such a set can need; [`Opened::payload`] reads. Nothing is
//! allocated that is not there in the input.

use crate::digest::{CHECKSUM, finish};
pub use crate::kind::Kind;
use crate::{KeyId, ParameterSet, Result, Scheme, error};
use serde::{Deserialize, Serialize};

/// First bytes of everything serialized.
const MAGIC: [u8; 4] = *b"GRIH";

/// Raised with every change of what follows, including what mask seeds expand to.
pub const VERSION: u16 = 6;

/// Where the length of everything stands.
const LENGTH: std::ops::Range<usize> = 8..16;

/// Where the name of the client key stands.
const KEY: std::ops::Range<usize> = 16..32;

/// Bytes before the set.
const HEADER: usize = 34;

/// Bytes of a set at most.
pub const LONGEST_SET: usize = 4096;

/// Bytes that a payload takes at most besides its large parts: a seed and a few lengths.
pub const SMALL: usize = 128;

/// What older versions lack, for whoever still holds their files.
fn describe(version: u16) -> &'static str {
    match version {
        1 => {
            " (of girih before ciphertexts carried their modulus: make the keys and ciphertexts \
             anew)"
        }
        2 => {
            " (of girih before bytes ended with a checksum and named their client key: make the \
             keys and ciphertexts anew)"
        }
        3 => {
            " (of girih before random streams were bound to their set: make the keys and \
             ciphertexts anew)"
        }
        4 => {
            " (of girih before ciphertexts carried the variance of their errors: make the keys and \
             ciphertexts anew)"
        }
        5 => {
            " (of girih 0.1, before ciphertexts carried the width of their messages and a declared \
             bound of their slots: make the keys and ciphertexts anew)"
        }
        _ => "",
    }
}

/// The checksum of `bytes`, which may be secret; on all threads where there are many.
fn checksum(bytes: &[u8]) -> [u8; CHECKSUM] {
    let mut hasher = blake3::Hasher::new();
    // Below this BLAKE3 says that threads cost more than they give.
    #[cfg(not(target_family = "wasm"))]
    if bytes.len() >= 128 << 10 {
        hasher.update_rayon(bytes);
        return finish(hasher);
    }
    hasher.update(bytes);
    finish(hasher)
}

/// The form described above, in one piece: `room` is what the large parts of the payload take at
/// most, so that of secrets no copy stays behind and of large keys there is none on the way.
///
/// # Errors
/// [`Error::Malformed`](crate::Error::Malformed) if it cannot be serialized.
pub fn encode<S: ParameterSet>(
    kind: Kind,
    set: &S,
    key: Option<KeyId>,
    room: usize,
    payload: &impl Serialize,
) -> Result<Vec<u8>> {
    let canonical = set.to_canonical();
    let Some(set_len) = u16::try_from(canonical.len()).ok().filter(|l| *l as usize <= LONGEST_SET)
    else {
        return error::malformed(kind.name, format!("{set} takes more than {LONGEST_SET} bytes"));
    };
    let room = HEADER + canonical.len() + SMALL + room + CHECKSUM;
    let mut bytes = Vec::with_capacity(room);
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend([S::SCHEME as u8, kind.byte]);
    bytes.extend([0; 8]);
    bytes.extend(key.map_or([0; 16], |key| *key.as_bytes()));
    bytes.extend(set_len.to_le_bytes());
    bytes.extend(canonical);
    let mut bytes = match postcard::to_extend(payload, bytes) {
        Ok(bytes) => bytes,
        Err(e) => return error::malformed(kind.name, format!("cannot be serialized: {e}")),
    };
    let length = bytes.len() + CHECKSUM;
    debug_assert!(length <= room, "{length} bytes in room for {room}");
    bytes[LENGTH].copy_from_slice(&(length as u64).to_le_bytes());
    bytes.extend(checksum(&bytes));
    Ok(bytes)
}

/// Bytes whose header, checksum and set are right, and whose payload nobody has read yet.
#[derive(Debug)]
pub struct Opened<'a, S> {
    /// The parameter set.
    pub set: S,
    /// Name of the client key, if there is one.
    pub key: Option<KeyId>,
    kind: Kind,
    payload: &'a [u8],
}

impl<'a, S: ParameterSet> Opened<'a, S> {
    /// Bytes of the payload.
    pub fn payload_len(&self) -> usize {
        self.payload.len()
    }

    /// Refuses a payload of more than `most` bytes and [`SMALL`] ones besides.
    ///
    /// # Errors
    /// [`Error::Malformed`](crate::Error::Malformed) with both numbers.
    pub fn check_payload(&self, most: usize) -> Result<()> {
        let (len, most) = (self.payload.len(), most.saturating_add(SMALL));
        if len > most {
            let (set, what) = (&self.set, self.kind.name);
            return error::malformed(what, format!("{len} bytes where {set} needs at most {most}"));
        }
        Ok(())
    }

    /// The name of the client key, where there must be one.
    ///
    /// # Errors
    /// [`Error::Malformed`](crate::Error::Malformed).
    pub fn named_key(&self) -> Result<KeyId> {
        match self.key {
            Some(key) => Ok(key),
            None => error::malformed(self.kind.name, "they name no client key"),
        }
    }

    /// Reads the payload, all of it. Its meaning is the caller's to check.
    ///
    /// # Errors
    /// [`Error::Malformed`](crate::Error::Malformed) for a payload that is truncated, too long, or
    /// of another form.
    pub fn payload<T: Deserialize<'a>>(self) -> Result<(S, T)> {
        let (payload, rest) = self.take(self.payload, "their")?;
        self.check_end(rest)?;
        Ok((self.set, payload))
    }

    /// The same of a payload after which another part may follow; errors name its bytes by `whose`,
    /// such as "the compression key's".
    ///
    /// # Errors
    /// As [`Opened::payload`], for either.
    pub fn payload_and_more<T: Deserialize<'a>, U: Deserialize<'a>>(
        self,
        whose: &str,
    ) -> Result<(S, T, Option<U>)> {
        let (payload, rest) = self.take(self.payload, "their")?;
        if rest.is_empty() {
            return Ok((self.set, payload, None));
        }
        let (more, rest) = self.take(rest, whose)?;
        self.check_end(rest)?;
        Ok((self.set, payload, Some(more)))
    }

    fn take<T: Deserialize<'a>>(&self, bytes: &'a [u8], whose: &str) -> Result<(T, &'a [u8])> {
        match postcard::take_from_bytes(bytes) {
            Ok(read) => Ok(read),
            Err(why) => {
                let len = bytes.len();
                let why = match why {
                    postcard::Error::DeserializeUnexpectedEnd => {
                        format!("truncated: {whose} {len} bytes end early")
                    }
                    other => format!("{whose} {len} bytes: {other}"),
                };
                error::malformed(self.kind.name, why)
            }
        }
    }

    fn check_end(&self, rest: &[u8]) -> Result<()> {
        if rest.is_empty() {
            return Ok(());
        }
        error::malformed(self.kind.name, format!("{} bytes too many at the end", rest.len()))
    }
}

/// What stands between the header's fields and the checksum, when all of them are right.
struct Content<'a> {
    key: Option<KeyId>,
    set: &'a [u8],
    payload: &'a [u8],
}

/// Undoes [`encode`] up to the payload, for whatever set is named inside.
///
/// # Errors
/// [`Error::Malformed`](crate::Error::Malformed) naming what is wrong: truncated, damaged, another
/// version, scheme or kind, an impossible set.
pub fn open<S: ParameterSet>(kind: Kind, bytes: &[u8]) -> Result<Opened<'_, S>> {
    let Content { key, set, payload } = content::<S>(kind, bytes)?;
    let set = match S::from_canonical(set) {
        Ok(set) if set.to_canonical() == bytes[HEADER..][..bytes_of_set(bytes)] => set,
        Ok(set) => {
            return error::malformed(
                kind.name,
                format!("{set} is not written in its canonical form"),
            );
        }
        Err(why) => return error::malformed(kind.name, format!("their parameter set: {why}")),
    };
    Ok(Opened { set, key, kind, payload })
}

/// Undoes [`encode`] up to the payload, for things of `set` alone: what another set needs, however
/// much, is not even looked at. `most` is what the large parts of the payload take at most.
///
/// # Errors
/// As [`open`], and for another set or too many bytes.
pub fn open_for<'a, S: ParameterSet>(
    kind: Kind,
    set: &S,
    most: usize,
    bytes: &'a [u8],
) -> Result<Opened<'a, S>> {
    let canonical = set.to_canonical();
    let fixed = HEADER + canonical.len() + SMALL + CHECKSUM;
    let most_bytes = most.saturating_add(fixed);
    // Before the checksum, which reads every byte; of another set this may be a long way off.
    if bytes.len() > most_bytes && header_is_of::<S>(kind, bytes) {
        return error::malformed(
            kind.name,
            format!("{} bytes where {set} needs at most {most_bytes}", bytes.len()),
        );
    }
    let Content { key, set: found, payload } = content::<S>(kind, bytes)?;
    if found != canonical {
        let name =
            S::from_canonical(found).map_or("another set".to_owned(), |found| found.to_string());
        return error::malformed(kind.name, format!("they are of {name}, where {set} is expected"));
    }
    Ok(Opened { set: set.clone(), key, kind, payload })
}

/// Whether the header is that of things of this kind in this version.
fn header_is_of<S: ParameterSet>(kind: Kind, bytes: &[u8]) -> bool {
    let version = VERSION.to_le_bytes();
    bytes.starts_with(&[MAGIC.as_slice(), &version, &[S::SCHEME as u8, kind.byte]].concat())
}

fn bytes_of_set(bytes: &[u8]) -> usize {
    usize::from(u16::from_le_bytes([bytes[HEADER - 2], bytes[HEADER - 1]]))
}

/// Checks header and checksum.
fn content<S: ParameterSet>(kind: Kind, bytes: &[u8]) -> Result<Content<'_>> {
    let what = kind.name;
    let Some((header, _)) = bytes.split_first_chunk::<HEADER>() else {
        return error::malformed(
            what,
            format!("truncated: {} bytes are less than a header of {HEADER}", bytes.len()),
        );
    };
    let [m0, m1, m2, m3, v0, v1, scheme, found, rest @ ..] = *header;
    if [m0, m1, m2, m3] != MAGIC {
        return error::malformed(what, "does not start with `GRIH`: not written by this library");
    }
    let version = u16::from_le_bytes([v0, v1]);
    if version != VERSION {
        return error::malformed(
            what,
            format!(
                "format version {version}{}; this library reads version {VERSION}",
                describe(version)
            ),
        );
    }
    if scheme != S::SCHEME as u8 {
        let scheme = Scheme::of_byte(scheme).map_or("an unknown scheme".into(), |s| s.to_string());
        return error::malformed(
            what,
            format!("these bytes are of {scheme}, not of {}", S::SCHEME),
        );
    }
    if found != kind.byte {
        let found =
            S::KINDS.iter().find(|k| k.byte == found).map_or("something unknown", |k| k.name);
        return error::malformed(what, format!("these bytes hold {found}"));
    }
    let (length, _) = rest.split_first_chunk().unwrap_or((&[0; 8], &[]));
    let (given, length) = (bytes.len() as u64, u64::from_le_bytes(*length));
    if given > length {
        return error::malformed(
            what,
            format!("{} bytes too many at the end: the header speaks of {length}", given - length),
        );
    }
    match bytes.split_last_chunk() {
        Some((front, sum)) if given == length && front.len() >= HEADER => {
            if checksum(front) != *sum {
                return error::malformed(
                    what,
                    "the checksum does not match: damaged or truncated in transit, get them again",
                );
            }
            let (set_len, body) = (bytes_of_set(bytes), &front[HEADER..]);
            if set_len > LONGEST_SET {
                return error::malformed(
                    what,
                    format!("a parameter set of {set_len} bytes; {LONGEST_SET} are the most"),
                );
            }
            let Some((set, payload)) = body.split_at_checked(set_len) else {
                return error::malformed(what, "truncated within their parameter set");
            };
            let key = bytes[KEY].first_chunk().and_then(|key| KeyId::from_bytes(*key));
            Ok(Content { key, set, payload })
        }
        _ => error::malformed(
            what,
            format!("truncated: {given} bytes where the header speaks of {length}"),
        ),
    }
}

/// Computes length and checksum of changed bytes anew, as someone who changes them on purpose
/// would: for tests of what lies behind the checksum.
pub fn reseal(bytes: &mut [u8]) {
    let length = bytes.len() as u64;
    if let Some(place) = bytes.get_mut(LENGTH) {
        place.copy_from_slice(&length.to_le_bytes());
    }
    if bytes.len() >= HEADER + CHECKSUM {
        let (front, sum) = bytes.split_at_mut(bytes.len() - CHECKSUM);
        sum.copy_from_slice(&checksum(front));
    }
}

/// Bytes that serde writes in one piece; they are read back as `&[u8]`.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'a>(pub &'a [u8]);

impl Serialize for Bytes<'_> {
    fn serialize<Z: serde::Serializer>(
        &self,
        serializer: Z,
    ) -> std::result::Result<Z::Ok, Z::Error> {
        serializer.serialize_bytes(self.0)
    }
}

#[cfg(test)]
pub(crate) mod tests;
