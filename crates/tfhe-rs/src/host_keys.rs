//! A client's keys as TFHE-rs's own server has them.

use crate::{Error, Result, error};
use tfhe::{CompressedServerKey, set_server_key};

/// TFHE-rs's own server key of a client, on the host: what lists and ciphertexts that servers
/// compressed are expanded by, a bootstrapping or two of TFHE-rs for each block. girih's devices do
/// the rest.
///
/// It holds all keys that the client sent, Fourier transformed: 120 MB with the default parameters,
/// more where there are keys for compression. It is cheap to clone.
#[derive(Clone)]
pub struct HostKeys {
    pub(crate) keys: tfhe::ServerKey,
    can_decompress: bool,
}

impl std::fmt::Debug for HostKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HostKeys(decompression: {})", self.can_decompress)
    }
}

impl HostKeys {
    /// Transforms the keys, for seconds.
    pub fn new(keys: &CompressedServerKey) -> Self {
        let can_decompress = keys.clone().into_raw_parts().3.is_some();
        Self { keys: keys.decompress(), can_decompress }
    }

    /// Whether there is a key by which compressed lists are expanded: a client makes one that asks
    /// for it (`ConfigBuilder::enable_compression`).
    pub fn can_decompress(&self) -> bool {
        self.can_decompress
    }

    pub(crate) fn check_decompression(&self) -> Result<()> {
        match self.can_decompress {
            true => Ok(()),
            false => error::ciphertexts(
                "a compressed list, and the client's keys have none for it: the client makes them \
                 with `ConfigBuilder::enable_compression`",
            ),
        }
    }

    /// What TFHE-rs gives on a thread that has these keys: its functions look for them there, and
    /// the caller's thread may have others.
    pub(crate) fn with<R: Send>(&self, work: impl FnOnce() -> R + Send) -> Result<R> {
        let run = || {
            set_server_key(self.keys.clone());
            work()
        };
        std::thread::scope(|scope| scope.spawn(run).join())
            .map_err(|_| Error::Ciphertexts("TFHE-rs failed to expand it: it is damaged".into()))
    }
}
