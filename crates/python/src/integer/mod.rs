//! Arrays of encrypted integers.

mod arithmetic;
pub mod ciphertexts;
pub mod kind;
pub mod methods;
pub mod number;
pub mod operation;
pub mod server;
