//! Encrypted integers: arithmetic on arrays of them.

#[doc(inline)]
pub use girih_integer::*;

/// What computes on a client's integers: a server key, taken over.
///
/// ```
/// use girih::tfhe::prelude::*;
///
/// # fn main() -> girih::Result<()> {
/// # let client = ClientKey::generate(&ParameterSet::by_name("INSECURE_INTEGERS")?)?;
/// # let keys = EvaluationKeys::generate(&client, &NoProgress)?;
/// let integers = Integers::new(Device::open("cpu")?.load(&keys)?)?;
///
/// let price = integers.upload(&FheUint::<8>::encrypt(&client, &[30u8, 12])?)?;
/// let number = integers.upload(&FheUint::<8>::encrypt(&client, &[2u8, 20])?)?;
/// let total = (&price * &number)?;
/// assert_eq!(integers.download(&total)?.decrypt(&client)?, [60, 240]);
/// let large = integers.download(&total.greater(&price)?)?;
/// assert_eq!(large.decrypt(&client)?, [true, true]);
/// # Ok(())
/// # }
/// ```
#[doc(inline)]
pub use girih_integer::Integers;
