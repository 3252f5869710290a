//! The CPU device of girih: the oracle that every other device is judged by, and the default where
//! there is no GPU.
//!
//! Two transforms run here. [`Transform::Ntt`](girih_backend::Transform::Ntt) is the *twin* of the
//! GPU kernels: the same steps in the same order under the same names, written to be read beside
//! them, exact in every bit, every stage of it readable through
//! [`Engine::trace`](girih_backend::Engine::trace).
//! [`Transform::Fft`](girih_backend::Transform::Fft) is the fast path: folded f64 FFT, SIMD chosen
//! at run time, several ciphertexts to each load of the key.
//!
//! The bootstrap family, `bootstrap`:
//!
//! | module | kernel |
//! |---|---|
//! | `combine` | small integer combinations of stored ciphertexts |
//! | `blind_rotate` | initialise, n steps, in integers |
//! | `fast` | the same in f64 |
//! | `sample_extract` | extraction, output offset and first mod switch |
//! | `key_switch` | table gather and last mod switch |
//! | `key_switch_torus` | digits times rows modulo 2^64 |
//!
//! `rotate_first` and `switch_first` put them in order: prime words and modulus raising switch keys
//! last, the native torus switches them first.
//!
//! The poly family, `poly`: the kernels `poly_rows`, `poly_columns` and `poly_pointwise` on vectors
//! of words, launch by launch.

mod bootstrap;
mod device;
mod memory;
mod poly;

pub use device::CpuBackend;
