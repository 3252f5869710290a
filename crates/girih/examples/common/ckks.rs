//! Keys of a CKKS example.

use super::common::{Bar, Failure, Options};
use girih::ckks::KeyRange;
use girih::ckks::prelude::*;

/// The owner of the data and whoever computes, in one program for once.
pub struct Parties {
    pub client: ClientKey,
    pub server: ServerKey,
    device: String,
}

impl Parties {
    /// Opens the device, makes the keys that `kinds` names for the chosen set or `default_set`, and
    /// loads them.
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
        let keys = EvaluationKeys::generate(&client, kinds(&set)?, &Bar::default())?;
        let server = device.loader().progress(&Bar::default()).load(&keys)?;
        Ok(Self { client, server, device: device.info().name.clone() })
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
        }))
    }
}
