//! Arrays of encrypted integers.

pub mod ciphertexts;
pub mod kind;
pub mod number;
pub mod server;
