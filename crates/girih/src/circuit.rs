//! Netlists as levels of bootstrappings on many inputs at once, or of look-ups of numbers in slots
//! on thousands ([`WideCircuit`]).

#[doc(inline)]
pub use girih_circuit::*;
