//! What is serialized.

use girih_rlwe::wire::Kind;

pub(crate) const CLIENT_KEY: Kind = Kind::new(1, "client key for numbers");
pub(crate) const PUBLIC_KEY: Kind = Kind::new(2, "public key for numbers");
pub(crate) const EVALUATION_KEYS: Kind = Kind::new(3, "evaluation keys for numbers");
pub(crate) const NUMBERS: Kind = Kind::new(4, "encrypted numbers");
pub(crate) const SEEDED: Kind = Kind::new(5, "seeded numbers");
