//! One error for programs that use several parts of the library.

use crate::{circuit, ckks, device::BackendError, discrete, integer, switching, tfhe};

/// Whatever can go wrong: every error of the library becomes one by `?`.
///
/// ```
/// use girih::tfhe::prelude::*;
///
/// fn nand(a: bool, b: bool) -> girih::Result<bool> {
///     let client = ClientKey::generate(&ParameterSet::by_name("INSECURE_TOY")?)?;
///     let keys = EvaluationKeys::generate(&client, &NoProgress)?;
///     let server = Device::open("cpu")?.load(&keys)?; // of devices
///     let [a, b] = [client.encrypt_bits(&[a])?, client.encrypt_bits(&[b])?]; // of TFHE
///     Ok(client.decrypt_bits(&server.gate(Gate::Nand, &a, &b)?)?[0])
/// }
/// assert!(!nand(true, true)?);
/// # Ok::<(), girih::Error>(())
/// ```
///
/// What does not fit is the same type in every part, with what was found and what would be right:
///
/// ```
/// use girih::{Counts, Mismatch, integer::Error, prelude::*};
///
/// let client = tfhe::ClientKey::generate(&ParameterSet::by_name("INSECURE_INTEGERS")?)?;
/// let none: [u8; 0] = [];
/// let refused = FheUint::<8>::encrypt(&client, &none).expect_err("no number");
/// let Error::Mismatch(Mismatch::Count { found: 0, allowed, .. }) = refused else {
///     panic!("{refused}");
/// };
/// assert_eq!(allowed, Counts::From(1));
/// # Ok::<(), girih::Error>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Of gates, look-up tables and large messages.
    #[error(transparent)]
    Tfhe(#[from] tfhe::Error),
    /// Of approximate vectors.
    #[error(transparent)]
    Ckks(#[from] ckks::Error),
    /// Of approximations by polynomials.
    #[error(transparent)]
    Approximation(#[from] ckks::approximation::ApproximationError),
    /// Of exact numbers in slots.
    #[error(transparent)]
    Discrete(#[from] discrete::Error),
    /// Of integers.
    #[error(transparent)]
    Integer(#[from] integer::Error),
    /// Of netlists and circuits.
    #[error(transparent)]
    Circuit(#[from] circuit::Error),
    /// Of conversions between schemes.
    #[error(transparent)]
    Switching(#[from] switching::Error),
    /// Of a device.
    #[error(transparent)]
    Device(#[from] BackendError),
}

/// The result of whatever can go wrong in several parts of the library.
pub type Result<T, E = Error> = std::result::Result<T, E>;
