//! A client and a server of integers, with toy sets on the CPU.

use girih_backend::{LoadOptions, NoProgress};
use girih_integer::{Encrypted, Engine, Integer, Integers, Result};

/// A client, and the server that has its keys.
pub struct Toy<E: Engine> {
    pub client: E::ClientKey,
    pub integers: Integers<E>,
}

impl Toy<girih_tfhe::ServerKey> {
    /// Over TFHE, with the keys of this seed.
    #[allow(dead_code)] // Not all tests are over TFHE.
    pub fn tfhe(set: &str, seed: u8) -> Result<Self> {
        let set = girih_tfhe::ParameterSet::by_name(set)?;
        let client = girih_tfhe::ClientKey::generate_seeded_for_tests(&set, [seed; 32])?;
        let keys = girih_tfhe::EvaluationKeys::generate(&client, &NoProgress)?;
        Self::with_keys(client, &keys)
    }

    #[allow(dead_code)] // Not all tests are over TFHE.
    pub fn with_keys(
        client: girih_tfhe::ClientKey,
        keys: &girih_tfhe::EvaluationKeys,
    ) -> Result<Self> {
        let (device, options) = (girih_cpu::CpuBackend::new(), LoadOptions::default());
        let server = girih_tfhe::ServerKey::load(&device, keys, &options, &NoProgress)?;
        Ok(Self { client, integers: Integers::new(server)? })
    }
}

impl Toy<girih_discrete::ServerKey> {
    /// Over numbers in slots, with the keys of this seed.
    #[allow(dead_code)] // Not all tests are over numbers in slots.
    pub fn slots(set: &str, seed: u8) -> Result<Self> {
        let set = girih_discrete::DiscreteParameters::by_name(set)?;
        let client = girih_discrete::ClientKey::generate_seeded_for_tests(&set, [seed; 32])?;
        let keys = girih_discrete::EvaluationKeys::generate(&client, &NoProgress)?;
        let (device, options) = (girih_cpu::CpuBackend::new(), Default::default());
        let server = girih_discrete::ServerKey::load(&device, &keys, &options, &NoProgress)?;
        Ok(Self { client, integers: Integers::new(server)? })
    }
}

impl<E: Engine> Toy<E> {
    /// An array on the server, which had it in bytes.
    pub fn up<T: Integer<Engine = E>, P: Copy + Into<T::Known>>(&self, values: &[P]) -> T {
        let encrypted = Encrypted::<T>::encrypt(&self.client, values).expect("in range");
        let bytes = encrypted.to_bytes().expect("serializes");
        let read = Encrypted::from_bytes(&bytes).expect("what was written");
        self.integers.upload(&read).expect("of this key")
    }

    fn sent<T: Integer<Engine = E>>(&self, array: &T) -> Encrypted<T> {
        self.integers.download(array).expect("of this server")
    }

    #[allow(dead_code)] // Not all numbers are that narrow.
    pub fn down<T: Integer<Engine = E>>(&self, array: &T) -> Vec<T::Plain> {
        self.sent(array).decrypt(&self.client).expect("such integers")
    }

    #[allow(dead_code)] // Not all numbers are that wide.
    pub fn down_wide<T: Integer<Engine = E>>(&self, array: &T) -> Vec<T::Known> {
        self.sent(array).decrypt_wide(&self.client).expect("such integers")
    }
}
