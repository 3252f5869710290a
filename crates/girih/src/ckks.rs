//! Approximate arithmetic on encrypted vectors of real and complex numbers.
//!
//! # Encrypt, compute, decrypt
//!
//! A ciphertext holds a vector of slots, a power of two of them up to N/2; operations act on all
//! slots at once. The client makes keys for what the server is to do: one for products, one for
//! each rotation.
//!
//! ```
//! use girih::ckks::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let set = CkksParameters::by_name("INSECURE_CKKS_D40_N10")?;
//! # /*
//! let set = CkksParameters::default();
//! # */
//! let client = ClientKey::generate(&set)?;
//! let kinds = [Some(KeyKind::Multiplication), KeyKind::rotation(&set, 1)];
//! let keys = EvaluationKeys::generate(&client, kinds.into_iter().flatten(), &NoProgress)?;
//!
//! let device = Device::open("cpu")?;
//! let server = device.load(&keys)?;
//!
//! let x = server.upload(&[client.encrypt(&[0.5, -0.25, 0.125, 1.0])?])?;
//! let y = server.mul(&x, &server.rotate(&x, 1)?)?;
//! let y = client.decrypt_real(&server.download(&y)?[0])?;
//! for (got, want) in y.iter().zip([-0.125, -0.03125, 0.125, 0.5]) {
//!     assert!((got - want).abs() < 1e-6);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Levels, functions, recordings
//!
//! Each product takes a level; results tell how many are left and how exact they are. Functions on
//! an interval become polynomials, of the degree that the wanted error needs. What is computed more
//! than once is recorded: then it is one routine on the device.
//!
//! ```
//! use girih::ckks::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let set = CkksParameters::by_name("INSECURE_CKKS_D40_N10")?;
//! # /*
//! let set = CkksParameters::default();
//! # */
//! # let client = ClientKey::generate(&set)?;
//! # let keys = EvaluationKeys::generate(&client, [KeyKind::Multiplication], &NoProgress)?;
//! # let server = Device::open("cpu")?.load(&keys)?;
//! let x = server.upload(&[client.within(8.0).encrypt(&[1.5, -3.0])?])?;
//! let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
//! let (y, polynomial) = server.function(&x, sigmoid, -8.0..=8.0, 1e-4)?;
//! assert!(polynomial.degree() < 32);
//! assert_eq!(y.level(), x.level() - polynomial.levels());
//!
//! let recording = server.record(|b| {
//!     let x = b.input(set.default_level())?;
//!     let square = b.square(&x)?;
//!     Ok(vec![b.add(&square, &x)?])
//! })?;
//! let many = server.upload(&[client.encrypt(&vec![0.5; set.slots()])?])?;
//! let result = &server.download(&recording.run(&[&many])?[0])?[0];
//! let decrypted = client.decrypt_with_precision(result)?;
//! assert!((decrypted.values[0].re - 0.75).abs() < (-decrypted.precision_bits).exp2());
//! # Ok(())
//! # }
//! ```
//!
//! # Bootstrapping
//!
//! A ciphertext at level 0 is brought back up by a bootstrapping, if its slots are at most 1 in
//! magnitude. It needs keys of its own, for the number of slots in use.
//!
//! ```
//! use girih::ckks::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let set = CkksParameters::by_name("INSECURE_CKKS_D40_N10")?;
//! # /*
//! let set = CkksParameters::default();
//! # */
//! # let client = ClientKey::generate(&set)?;
//! let kinds = Bootstrapping::default().keys(&set, 16)?;
//! let keys = EvaluationKeys::generate(&client, kinds, &NoProgress)?;
//! let server = Device::open("cpu")?.load(&keys)?;
//!
//! let values: Vec<f64> = (0..16).map(|i| f64::from(i) / 16.0 - 0.5).collect();
//! let spent = server.upload(&[client.encrypt_at(&values, 0)?])?;
//! let fresh = server.bootstrap(&spent)?;
//! assert_eq!(fresh.level(), set.default_level());
//! let back = client.decrypt_real(&server.download(&fresh)?[0])?;
//! assert!(back.iter().zip(&values).all(|(x, y)| (x - y).abs() < 1e-3));
//! # Ok(())
//! # }
//! ```

use crate::device::{BackendError, Device, LoadKeys, LoadOptions, PlanRequest, Progress};
use std::collections::BTreeMap;

#[doc(inline)]
pub use girih_backend::Specialise;
pub use girih_backend::poly::{PolyOptions, PolyPlan};

#[doc(inline)]
pub use girih_ckks::{
    Ciphertext, CiphertextHeader, CkksParameters, ClientKey, ClientSecrets, Complex64, Decryption,
    Encoder, Error, EvaluationKeys, KeyId, KeyRange, ModulusChain, Noise, NoiseModel,
    ParameterLiteral, Plaintext, PublicKey, Result, SeededCiphertext, approximation, encoder,
    inner_sum_rotations, keys, noise, params, server,
    server::{Bootstrapping, Ciphertexts, LinearMap, LinearMaps, Matrix, Options, Recording},
};

/// What computes on a client's vectors, with that client's evaluation keys.
///
/// ```
/// use girih::ckks::prelude::*;
///
/// # fn main() -> girih::Result<()> {
/// # let set = CkksParameters::by_name("INSECURE_CKKS_D40_N10")?;
/// # let client = ClientKey::generate(&set)?;
/// # let keys = EvaluationKeys::generate(&client, [KeyKind::Multiplication], &NoProgress)?;
/// let server = Device::open("cpu")?.load(&keys)?;
///
/// let x = server.upload(&[client.encrypt(&[0.5, -0.25])?])?;
/// let y = server.upload(&[client.encrypt(&[0.25, 0.5])?])?;
/// let z = server.add(&server.mul(&x, &y)?, &x)?;
/// assert_eq!(z.level(), x.level() - 1); // a product takes one
/// let z = client.decrypt_real(&server.download(&z)?[0])?;
/// assert!(z.iter().zip([0.625, -0.375]).all(|(got, want)| (got - want).abs() < 1e-6));
/// # Ok(())
/// # }
/// ```
#[doc(inline)]
pub use girih_ckks::server::ServerKey;

/// What writes down a computation that is run more than once.
///
/// ```
/// use girih::ckks::prelude::*;
///
/// # fn main() -> girih::Result<()> {
/// # let set = CkksParameters::by_name("INSECURE_CKKS_D40_N10")?;
/// # let client = ClientKey::generate(&set)?;
/// # let keys = EvaluationKeys::generate(&client, [KeyKind::Multiplication], &NoProgress)?;
/// # let server = Device::open("cpu")?.load(&keys)?;
/// // x^2 + y, one routine on the device.
/// let recording = server.record(|b| {
///     let (x, y) = (b.input(set.default_level())?, b.input(set.default_level())?);
///     let square = b.square(&x)?;
///     Ok(vec![b.add(&square, &y)?])
/// })?;
///
/// let [x, y] = [0.5, 0.125].map(|value| client.encrypt(&vec![value; set.slots()]));
/// let (x, y) = (server.upload(&[x?])?, server.upload(&[y?])?);
/// let z = client.decrypt_real(&server.download(&recording.run(&[&x, &y])?[0])?[0])?;
/// assert!((z[0] - 0.375).abs() < 1e-6);
/// # Ok(())
/// # }
/// ```
#[doc(inline)]
pub use girih_ckks::server::Builder;

/// Which keys the owner of the data hands out: what a server can do follows from them.
///
/// ```
/// use girih::ckks::prelude::*;
///
/// # fn main() -> girih::Result<()> {
/// # let set = CkksParameters::by_name("INSECURE_CKKS_D40_N10")?;
/// # let client = ClientKey::generate(&set)?;
/// // Products, the rotation by one slot to the left, and conjugation; no other rotation.
/// let left = KeyKind::rotation(&set, 1).expect("a rotation that moves slots has a key");
/// let kinds = [KeyKind::Multiplication, left, KeyKind::conjugation(&set)];
/// let keys = EvaluationKeys::generate(&client, kinds, &NoProgress)?;
///
/// let server = Device::open("cpu")?.load(&keys)?;
/// let x = server.upload(&[client.encrypt(&[1.0, 0.5, 0.25, 0.125])?])?;
/// assert!(server.rotate(&x, 1).is_ok());
/// assert!(server.rotate(&x, 2).is_err()); // the error says which keys there are
/// # Ok(())
/// # }
/// ```
#[doc(inline)]
pub use girih_ckks::KeyKind;

/// Evaluation keys of a client that computes on its own machine: each limb is made while the device
/// loads, which is sooner than making them all first.
///
/// ```
/// use girih::ckks::StreamedKeys;
/// use girih::ckks::prelude::*;
///
/// # fn main() -> girih::Result<()> {
/// # let set = CkksParameters::by_name("INSECURE_CKKS_D40_N10")?;
/// let client = ClientKey::generate(&set)?;
/// let keys = StreamedKeys::new(&client, [KeyKind::Multiplication])?;
/// let server = Device::open("cpu")?.load(&keys)?;
/// let x = server.upload(&[client.encrypt(&[0.5, 0.25])?])?;
/// let squares = client.decrypt_real(&server.download(&server.square(&x)?)?[0])?;
/// assert!((squares[1] - 0.0625).abs() < 1e-6);
/// # Ok(())
/// # }
/// ```
#[doc(inline)]
pub use girih_ckks::StreamedKeys;

/// What a program of this scheme alone needs: [`crate::prelude`], and keys by their
/// short names.
pub mod prelude {
    pub use super::{Builder, ClientKey, EvaluationKeys, Options, PublicKey, ServerKey};
    pub use crate::prelude::*;
}

impl LoadKeys for EvaluationKeys {
    type Server = server::ServerKey;
    type Error = Error;

    /// Of the plan, `klss` chooses the key switching (primes in a group; 0 is hybrid),
    /// `join_digits`, `sum_keys` and `divide_sines` are those of [`Options`](server::Options) (1:
    /// yes, 0: no), and other choices go to the device, which refuses names that it does not know.
    /// Transforms and tiles are options of other schemes: what names one is refused.
    fn load_on(
        &self,
        device: &Device,
        options: &LoadOptions,
        progress: &dyn Progress,
    ) -> Result<server::ServerKey> {
        server::ServerKey::load(device.backend(), self, &server_options(options)?, progress)
    }
}

impl LoadKeys for StreamedKeys<'_> {
    type Server = server::ServerKey;
    type Error = Error;

    /// Makes each limb when the device asks for it. Options are those of [`EvaluationKeys`].
    fn load_on(
        &self,
        device: &Device,
        options: &LoadOptions,
        progress: &dyn Progress,
    ) -> Result<server::ServerKey> {
        let options = server_options(options)?;
        server::ServerKey::load_streamed(device.backend(), self, &options, progress)
    }
}

/// What options of a load say to a server key of CKKS.
pub(crate) fn server_options(options: &LoadOptions) -> Result<server::Options> {
    let mut choices = options.plan.choices.clone();
    let plan = PlanRequest { choices: choices.clone(), ..PlanRequest::default() };
    if options.transform.is_some() || options.plan != plan {
        let why = "transforms and tile plans are options of TFHE keys: leave them out";
        return Err(Error::Backend(BackendError::InvalidRequest(why.into())));
    }
    let key_switching = choices.remove("klss").map(|group| match group {
        0 => server::KeySwitching::Hybrid,
        group => server::KeySwitching::Klss { group: group as usize },
    });
    let own = Options::default();
    let join_digits = yes_or_no(&mut choices, "join_digits")?;
    let sum_keys = yes_or_no(&mut choices, "sum_keys")?.unwrap_or(own.sum_keys);
    let divide_sines = yes_or_no(&mut choices, "divide_sines")?.unwrap_or(own.divide_sines);
    let device_options = PolyOptions { plan: None, choices, untuned: options.untuned };
    Ok(own
        .with_key_switching(key_switching)
        .with_join_digits(join_digits)
        .with_sum_keys(sum_keys)
        .with_divide_sines(divide_sines)
        .with_device(device_options))
}

/// Takes a choice that is 1 or 0.
fn yes_or_no(choices: &mut BTreeMap<String, u32>, name: &str) -> Result<Option<bool>> {
    match choices.remove(name) {
        None => Ok(None),
        Some(value @ (0 | 1)) => Ok(Some(value == 1)),
        Some(value) => {
            let why = format!("{name}={value}: it is 0 or 1");
            Err(Error::Backend(BackendError::InvalidRequest(why)))
        }
    }
}
