//! Encrypted integers: arithmetic on arrays of them.

#[doc(inline)]
pub use girih_integer::*;

/// What a program on integers needs, [`Device`](crate::Device) and keys included.
pub mod prelude {
    pub use crate::device::prelude::*;
    pub use crate::tfhe::prelude::{ClientKey, EvaluationKeys, KeyId, ParameterSet, ServerKey};
    pub use girih_integer::{
        CompressedIntegers, Encrypted, FheBool, FheInt, FheUint, Integer, Integers,
    };
}
