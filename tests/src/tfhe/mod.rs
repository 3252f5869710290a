//! Cases of TFHE: encrypt, run on a device, decrypt, compare with the plain.

pub mod circuits;
pub mod gates;
pub mod integers;
pub mod large;
pub mod tables;
