//! Keys of a CKKS example.

use super::common::first::FirstResult;
use super::common::{Failure, Options};
use girih::ckks::prelude::*;
use girih::ckks::{KeyRange, StreamedKeys};
use std::sync::OnceLock;

/// The owner of the data and whoever computes, in one program for once.
pub struct Parties {
    pub client: ClientKey,
    pub server: ServerKey,
    device: String,
    first_result: OnceLock<FirstResult>,
}

impl Parties {
    /// Opens the device, makes the keys that `kinds` names, for all levels or up to one, for the
    /// chosen set or `default_set`, and loads them.
    pub fn start<K: Into<KeyRange>>(
        options: &Options,
        default_set: &str,
        kinds: impl FnOnce(&CkksParameters) -> girih::ckks::Result<Vec<K>>,
    ) -> Result<Self, Failure> {
        let device = options.open()?;
        let set = CkksParameters::by_name(options.set(default_set))?;
        println!("{} ({}), {set}", device.info().id, device.info().name);
        for warning in set.warnings() {
            println!("warning: {warning}");
        }
        let client = ClientKey::generate(&set)?;
        let keys = StreamedKeys::new(&client, kinds(&set)?)?;
        let server = device.loader().progress(&TerminalProgress::new()).load(&keys)?;
        let (device, first_result) = (device.info().name.clone(), OnceLock::new());
        Ok(Self { client, server, device, first_result })
    }

    /// Tells how long it took until the result, which is there now.
    #[allow(dead_code)] // Not all programs take long.
    pub fn tell_first_result(&self) {
        println!("the result came after {}", self.first_result.get_or_init(FirstResult::now));
    }

    /// Writes the record that `--json` asks for.
    pub fn record(
        &self,
        options: &Options,
        example: &str,
        figures: &impl serde::Serialize,
    ) -> Result<(), Failure> {
        options.write(serde_json::json!({
            "example": example,
            "device": self.device,
            "set": self.server.set().to_string(),
            "figures": figures,
            "first_result": self.first_result.get_or_init(FirstResult::now),
        }))
    }
}
