//! Exact bits and small integers in CKKS slots: a look-up on all of them by one bootstrapping.

#[doc(inline)]
pub use girih_discrete::*;
