//! Integers in slots of every kind behind one interface: on the host, and on a device.

use crate::errors::{Failure, Outcome};
use crate::integer::kind::{Element, Kind, Plain, for_kind};
use crate::integer::operation::{
    Binary, Move, Typed, Unary, condition_operations, not_of_conditions, number_operations, own,
};
use girih::discrete::{
    ClientKey, EncryptedNumbers, FheBool, FheInt, FheUint, Integers, PublicKey, ServerKey,
};
use girih::integer::{Encrypted, Integer, Other};
use std::sync::Arc;

/// What encrypts.
pub enum Maker {
    Client(Arc<ClientKey>),
    Public(Arc<PublicKey>),
}

/// An array on the host.
pub trait Host: Send + Sync {
    /// What its elements are.
    fn kind(&self) -> Kind;

    /// Its ciphertexts.
    fn numbers(&self) -> &EncryptedNumbers;

    /// The values of its elements.
    ///
    /// # Errors
    /// As `Encrypted::decrypt`.
    fn decrypt(&self, client: &ClientKey) -> Outcome<Vec<Plain>>;

    /// The same on a device.
    ///
    /// # Errors
    /// As `Integers::upload`.
    fn upload(&self, integers: &Integers) -> Outcome<Held>;

    /// What it is of, and its ciphertexts.
    ///
    /// # Errors
    /// As `Encrypted::to_bytes`.
    fn to_bytes(&self) -> Outcome<Vec<u8>>;
}

/// An array on a device, shared.
pub type Held = Arc<dyn Number>;

/// The other operand.
pub type Operand<'a> = crate::integer::operation::Operand<'a, dyn Number>;

/// An array on a device.
pub trait Number: Typed + Send + Sync {
    /// A copy on the host.
    ///
    /// # Errors
    /// As `Integers::download`.
    fn download(&self, integers: &Integers) -> Outcome<Arc<dyn Host>>;

    /// An operation of this array.
    ///
    /// # Errors
    /// Those of the operation, and for one that such integers do not have.
    fn unary(&self, operation: Unary) -> Outcome<Held>;

    /// An operation of this array and another one or a value.
    ///
    /// # Errors
    /// As [`Number::unary`], and for another kind.
    fn binary(&self, operation: Binary, other: Operand<'_>) -> Outcome<Vec<Held>>;

    /// Its bits moved by an encrypted number of places for each element, modulo the width.
    ///
    /// # Errors
    /// As [`Number::unary`], and for amounts that are no natural numbers.
    fn move_by(&self, how: Move, amounts: &dyn Number) -> Outcome<Held>;

    /// The sum of this array and others of its kind.
    ///
    /// # Errors
    /// As [`Number::binary`].
    fn total(&self, others: &[Held]) -> Outcome<Held>;

    /// The same numbers as another kind, modulo its range.
    ///
    /// # Errors
    /// Failures of the device, and for conditions to be made of numbers.
    fn cast(&self, to: Kind) -> Outcome<Held>;
}

impl<T: Element + Number + Integer<Engine = ServerKey>> Host for Encrypted<T> {
    fn kind(&self) -> Kind {
        T::KIND
    }

    fn numbers(&self) -> &EncryptedNumbers {
        self.ciphertexts()
    }

    fn decrypt(&self, client: &ClientKey) -> Outcome<Vec<Plain>> {
        Ok(self.decrypt_wide(client)?.into_iter().map(T::plain).collect())
    }

    fn upload(&self, integers: &Integers) -> Outcome<Held> {
        hold(integers.upload(self)?)
    }

    fn to_bytes(&self) -> Outcome<Vec<u8>> {
        Ok(self.to_bytes()?)
    }
}

fn hold(array: impl Number + 'static) -> Outcome<Held> {
    Ok(Arc::new(array))
}

/// Encrypts values of a kind.
///
/// # Errors
/// As `Encrypted::encrypt`.
pub fn encrypt(kind: Kind, maker: &Maker, values: &[Plain]) -> Outcome<Arc<dyn Host>> {
    for_kind!(kind, girih::discrete, T => {
        let values = own::<T>(values)?;
        Ok(Arc::new(match maker {
            Maker::Client(key) => Encrypted::<T>::encrypt(key.as_ref(), &values)?,
            Maker::Public(key) => Encrypted::<T>::encrypt(key.as_ref(), &values)?,
        }))
    })
}

/// What [`Host::to_bytes`] wrote, with its number of elements.
///
/// # Errors
/// `MalformedError` for anything else.
pub fn from_bytes(bytes: &[u8]) -> Outcome<(Arc<dyn Host>, usize)> {
    // `girih 1 FheUint16 in slots`, as `Encrypted::to_bytes` begins.
    let line = bytes.iter().take(40).position(|byte| *byte == b'\n').unwrap_or(0);
    let name = String::from_utf8_lossy(&bytes[..line]);
    let name = name.strip_prefix("girih 1 Fhe").and_then(|name| name.strip_suffix(" in slots"));
    let kind = Kind::parse(&name.unwrap_or_default().to_lowercase()).map_err(|_| {
        Failure::new("MalformedError", "these bytes do not begin as encrypted integers in slots do")
    })?;
    for_kind!(kind, girih::discrete, T => {
        let read = Encrypted::<T>::from_bytes(bytes)?;
        let len = read.len();
        Ok((Arc::new(read) as Arc<dyn Host>, len))
    })
}

/// What both kinds of numbers do.
macro_rules! number {
    ($type:ident, $same:ident, $other:ident, $absolute:expr) => {
        impl<const BITS: u32> Number for $type<BITS> {
            number_operations!($same, $other, $absolute);

            fn download(&self, integers: &Integers) -> Outcome<Arc<dyn Host>> {
                Ok(Arc::new(integers.download(self)?))
            }

            fn total(&self, others: &[Held]) -> Outcome<Held> {
                let mut all = vec![self];
                for other in others {
                    if let Other::Array(other) = Operand::Array(other.as_ref()).of::<Self>()? {
                        all.push(other);
                    }
                }
                hold(Self::sum(&all)?)
            }
        }
    };
}

number!(FheUint, Uint, Int, |x| Ok(x.clone()));
number!(FheInt, Int, Uint, |x| x.abs());

impl Number for FheBool {
    condition_operations!();

    fn download(&self, integers: &Integers) -> Outcome<Arc<dyn Host>> {
        Ok(Arc::new(integers.download(self)?))
    }

    fn total(&self, _: &[Held]) -> Outcome<Held> {
        Err(not_of_conditions())
    }
}

/// Elements of `on` where a condition holds, else of `off`, both of one kind.
///
/// # Errors
/// Those of selections, and for a condition that is none.
pub fn select(
    condition: &dyn Number,
    kind: Kind,
    on: Operand<'_>,
    off: Operand<'_>,
) -> Outcome<Held> {
    let Some(condition) = condition.any().downcast_ref::<FheBool>() else {
        let kind = condition.kind();
        return Err(Failure::mismatch(format!("{kind} chooses nothing: write (x != 0).select")));
    };
    for_kind!(kind, girih::discrete, T => {
        hold(condition.select::<T>(on.of::<T>()?, off.of::<T>()?)?)
    })
}
