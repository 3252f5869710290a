//! Netlists as levels of bootstrappings on many inputs at once.

#[doc(inline)]
pub use girih_circuit::*;
