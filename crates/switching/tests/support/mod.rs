//! Keys on small sets.
#![allow(dead_code)]

use girih_backend::NoProgress;
use girih_ckks::server::{Options, ServerKey};
use girih_ckks::{CkksParameters, ClientKey, EvaluationKeys};
use girih_cpu::CpuBackend;
use girih_switching::{Switch, SwitchingKeys};
use girih_tfhe::ParameterSet;

/// Both owners, and the keys between them.
pub struct Parties {
    pub ckks: ClientKey,
    pub tfhe: girih_tfhe::ClientKey,
    pub keys: SwitchingKeys,
    pub slots: usize,
}

impl Parties {
    pub fn new(ckks: &str, tfhe: &str, slots: usize) -> Self {
        let set = CkksParameters::by_name(ckks).expect("built in");
        let ckks = ClientKey::generate_seeded_for_tests(&set, [3; 32]).expect("a key");
        let set = ParameterSet::by_name(tfhe).expect("built in");
        let tfhe = girih_tfhe::ClientKey::generate_seeded_for_tests(&set, [4; 32]).expect("a key");
        let keys = SwitchingKeys::generate_seeded_for_tests(&ckks, &tfhe, [5; 32]).expect("keys");
        Self { ckks, tfhe, keys, slots }
    }

    pub fn load(&self) -> ServerKey {
        let kinds = Switch::evaluation_keys(self.ckks.set(), self.slots).expect("enough slots");
        let keys = EvaluationKeys::generate(&self.ckks, kinds, &NoProgress).expect("keys");
        let device = CpuBackend::new();
        ServerKey::load(&device, &keys, &Options::default(), &NoProgress).expect("they fit")
    }

    pub fn switch<'s>(&self, server: &'s ServerKey) -> Switch<'s> {
        Switch::new(server, &self.keys, self.slots).expect("keys of these clients")
    }
}

/// Numbers from -1 to 1.
pub fn wave(len: usize) -> Vec<f64> {
    (0..len).map(|j| (1.0 + 2.3 * j as f64).sin()).collect()
}
