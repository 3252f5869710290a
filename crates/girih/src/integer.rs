//! Encrypted integers: arithmetic on arrays of them.

#[doc(inline)]
pub use girih_integer::*;
