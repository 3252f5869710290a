//! Large-precision functions: messages of up to 21 bits under moduli up to 2^29
//! (Liu-Micciancio-Polyakov 2022).
//!
//! A rotation reads only a dozen bits. These functions take a long message apart, digit by digit
//! from the low end, and come back to the long modulus: the last step of a bootstrapping switches
//! to any modulus, so its result can be subtracted from the ciphertext that it was read from.
//!
//! ```
//! use girih_backend::{LoadOptions, NoProgress, Transform};
//! use girih_tfhe::{ClientKey, large::{LargeKeys, LargeOperation, LargeParameters, LargeServer}};
//!
//! # fn main() -> girih_tfhe::Result<()> {
//! // A toy, to be quick. `LargeParameters::default()` is the published context.
//! let parameters = LargeParameters::insecure();
//! # // One message in a thousand of the toy is wrong.
//! # let client = ClientKey::generate_seeded_for_tests(parameters.home(), [7; 32])?;
//! # /*
//! let client = ClientKey::generate(parameters.home())?;
//! # */
//!
//! // Messages of 12 bits, modulus 2^17. Keys are made for the gadgets that such messages meet.
//! let a = parameters.encrypt(&client, &[5, 1999], 17)?;
//! let b = parameters.encrypt(&client, &[700, 3], 17)?;
//! let gadgets = parameters.gadgets(&[LargeOperation::Sign], 17, Transform::Fft)?;
//! let keys = LargeKeys::generate(&parameters, &client, &gadgets, &NoProgress)?;
//!
//! let options = LoadOptions::default().with_transform(Transform::Fft);
//! let server = LargeServer::load(&girih_cpu::CpuBackend::new(), &keys, &options, &NoProgress)?;
//! assert_eq!(client.decrypt_bits(&server.less(&a, &b)?)?, [true, false]);
//! assert_eq!(parameters.decrypt(&client, &server.floor(&b, 4)?)?, [688, 0]);
//! # Ok(())
//! # }
//! ```
//!
//! # One step of beta
//!
//! beta bounds every error: p messages fill a modulus of 2 beta p, and a message is read by adding
//! beta and taking the floor. All functions here fail only where an error exceeds beta
//! ([`LargeParameters::log2_failure`]).
//!
//! # Several gadgets
//!
//! Noise in units of the ciphertext modulus grows with the modulus, with the range of the gadget's
//! digits and with the bits that they leave out; time grows with their number. So each
//! bootstrapping takes the gadget with the fewest digits that its own part in the function bears,
//! by the noise model under the transform in use, and each gadget in use has a bootstrapping key.
//! All of them share one LWE and one ring secret, and on a device one store and one key-switching
//! table, so that nothing passes through the host inside a function.

mod compare;
mod gadget_plan;
mod keys;
mod parameters;
mod relu;
mod rounds;
mod server;

pub use keys::LargeKeys;
pub use parameters::{LargeOperation, LargeParameters};
pub use server::LargeServer;
