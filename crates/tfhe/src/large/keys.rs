//! Public keys of a large-precision context.

use super::LargeParameters;
use crate::{ClientKey, EvaluationKeys, KeyId, Result, error};
use girih_backend::Progress;
use girih_rlwe::{Counts, Mismatch};

/// Evaluation keys under one pair of secrets, one for each gadget that was asked for.
///
/// To send them, serialize each of [`LargeKeys::keys`] and put them together again with
/// [`LargeKeys::new`].
#[derive(Debug)]
pub struct LargeKeys {
    parameters: LargeParameters,
    keys: Vec<EvaluationKeys>,
}

impl LargeKeys {
    /// Makes the keys of some gadgets, given as positions in [`LargeParameters::sets`];
    /// [`LargeParameters::gadgets`] says which ones messages of some modulus need.
    ///
    /// # Errors
    /// [`Error::WrongSet`](crate::Error::WrongSet) for a client key that is not of the home set,
    /// [`Error::Mismatch`](crate::Error::Mismatch) for a gadget that does not exist or is named
    /// twice, and as [`EvaluationKeys::generate`].
    pub fn generate(
        parameters: &LargeParameters,
        client: &ClientKey,
        gadgets: &[usize],
        progress: &dyn Progress,
    ) -> Result<Self> {
        parameters.check_home(client.set())?;
        let make = |&gadget: &usize| match parameters.sets().get(gadget) {
            Some(set) => EvaluationKeys::generate(&client.under(set)?, progress),
            None => {
                let what = "the gadget of a large-precision context";
                error::mismatch(Mismatch::index(what, gadget, parameters.sets().len()))
            }
        };
        Self::new(parameters, gadgets.iter().map(make).collect::<Result<_>>()?)
    }

    /// Puts keys together that were made by one client for this context.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for no keys or two of one set,
    /// [`Error::WrongSet`](crate::Error::WrongSet) for a key of a set that is not the context's,
    /// [`Error::WrongKey`](crate::Error::WrongKey) for keys of two clients.
    pub fn new(parameters: &LargeParameters, keys: Vec<EvaluationKeys>) -> Result<Self> {
        let Some(first) = keys.first() else {
            return error::mismatch(Mismatch::empty("keys of a large-precision context"));
        };
        for (index, key) in keys.iter().enumerate() {
            if !parameters.sets().contains(key.set()) {
                let all: Vec<String> = parameters.sets().iter().map(ToString::to_string).collect();
                return error::wrong_set("evaluation keys", key.set(), &all.join(" or "));
            }
            if keys[..index].iter().any(|k| k.set() == key.set()) {
                let what = format!("keys of {}", key.set());
                return error::mismatch(Mismatch::count(what, 2, Counts::Exactly(1)));
            }
            if key.key_id() != first.key_id() {
                let (ids, rule) = ([key.key_id(), first.key_id()], "a context takes keys of one");
                return error::wrong_key("evaluation keys", ids, rule);
            }
        }
        Ok(Self { parameters: parameters.clone(), keys })
    }

    /// The context.
    pub fn parameters(&self) -> &LargeParameters {
        &self.parameters
    }

    /// Name of the client key that all of them were made from.
    pub fn key_id(&self) -> KeyId {
        self.keys[0].key_id()
    }

    /// One key for each gadget.
    pub fn keys(&self) -> &[EvaluationKeys] {
        &self.keys
    }
}
