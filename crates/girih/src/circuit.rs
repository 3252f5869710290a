//! Netlists as levels of bootstrappings on many inputs at once, or of look-ups of numbers in slots on
//! thousands ([`WideCircuit`]).

#[doc(inline)]
pub use girih_circuit::*;
<<<<<<< HEAD

/// What a program that runs circuits needs besides [`crate::tfhe::prelude`].
pub mod prelude {
    pub use girih_circuit::{
        Circuit, EncryptedBits, Netlist, WideBits, WideCircuit, WideOptions, generate,
    };
}
=======
>>>>>>> main
