//! The serialized form of keys and ciphertexts: a header that says what follows, then postcard.

use crate::{Error, ParameterSet, Result, error};
use serde::{Serialize, de::DeserializeOwned};

/// First bytes of everything serialized.
const MAGIC: [u8; 4] = *b"GRIH";

/// Raised with every change of what follows, including what mask seeds expand to.
const VERSION: u16 = 2;

/// What older versions lack, for whoever still holds their files.
fn describe(version: u16) -> &'static str {
    match version {
        1 => " (of girih before ciphertexts carried their modulus: make the keys and ciphertexts anew)",
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

/// Magic, version, kind, then the set as a parameter file and `payload`, both by postcard.
pub(crate) fn encode(kind: Kind, set: &ParameterSet, payload: &impl Serialize) -> Result<Vec<u8>> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(VERSION.to_le_bytes());
    bytes.push(kind as u8);
    postcard::to_extend(&(set.to_toml(), payload), bytes)
        .map_err(|e| Error::Malformed { what: kind.name(), why: format!("cannot be serialized: {e}") })
}

/// Undoes [`encode`], checking everything but the payload's own meaning.
pub(crate) fn decode<T: DeserializeOwned>(kind: Kind, bytes: &[u8]) -> Result<(ParameterSet, T)> {
    let what = kind.name();
    let Some((header, rest)) = bytes.split_at_checked(7) else {
        return error::malformed(what, format!("truncated: {} bytes are less than a header of 7", bytes.len()));
    };
    if header[..4] != MAGIC {
        return error::malformed(what, "does not start with `GRIH`: not written by this library");
    }
    let version = u16::from_le_bytes([header[4], header[5]]);
    if version != VERSION {
        return error::malformed(what, format!("format version {version}{}; this library reads version {VERSION}", describe(version)));
    }
    if header[6] != kind as u8 {
        let found = [Kind::ClientKey, Kind::EvaluationKeys, Kind::Ciphertexts].into_iter().find(|k| *k as u8 == header[6]);
        return error::malformed(what, format!("these bytes hold {}", found.map_or("something unknown", Kind::name)));
    }
    let malformed = |e: postcard::Error| match e {
        postcard::Error::DeserializeUnexpectedEnd => Error::Malformed { what, why: format!("truncated after {} bytes", bytes.len()) },
        e => Error::Malformed { what, why: e.to_string() },
    };
    let (text, rest): (String, _) = postcard::take_from_bytes(rest).map_err(malformed)?;
    let set = ParameterSet::from_toml(&text).map_err(|e| Error::Malformed { what, why: format!("their parameter set: {e}") })?;
    let (payload, rest) = postcard::take_from_bytes(rest).map_err(malformed)?;
    if !rest.is_empty() {
        return error::malformed(what, format!("{} bytes too many at the end", rest.len()));
    }
    Ok((set, payload))
}
