//! A client of TFHE-rs with the default parameters, and girih with its keys on the CPU.

use girih_tfhe_rs::ServerKey;
use std::sync::OnceLock;
use tfhe::{ClientKey, CompressedServerKey, ConfigBuilder};

#[allow(dead_code, reason = "not every file of tests uses all of it")]
pub struct Both {
    pub client: ClientKey,
    pub keys: CompressedServerKey,
    pub server: ServerKey,
}

/// Once for all tests of a file: keys take a second to make.
pub fn both() -> &'static Both {
    static BOTH: OnceLock<Both> = OnceLock::new();
    BOTH.get_or_init(|| {
        let client = ClientKey::generate(ConfigBuilder::default());
        let keys = CompressedServerKey::new(&client);
        let device = girih_cpu::CpuBackend::new();
        let server = ServerKey::load(&device, &keys).expect("the default parameters");
        Both { client, keys, server }
    })
}
