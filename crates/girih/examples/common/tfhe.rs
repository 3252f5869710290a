//! Keys of a TFHE example.

use super::common::{Failure, Options};
use girih::tfhe::prelude::*;

/// The owner of the data and whoever computes, in one program for once.
pub struct Parties {
    pub client: ClientKey,
    pub server: ServerKey,
    pub device: String,
}

impl Parties {
    /// Opens the device, makes keys of the chosen set or `default_set`, and loads them.
    #[allow(dead_code, reason = "an example may make its keys by `start_with`")]
    pub fn start(options: &Options, default_set: &str) -> Result<Self, Failure> {
        Self::start_with(options, default_set, |_, keys| Ok(keys))
    }

    /// The same with what `more` makes of the keys.
    pub fn start_with(
        options: &Options,
        default_set: &str,
        more: impl FnOnce(&ClientKey, EvaluationKeys) -> girih::tfhe::Result<EvaluationKeys>,
    ) -> Result<Self, Failure> {
        let device = options.open()?;
        let set = ParameterSet::by_name(options.set(default_set))?;
        println!("{} ({}), {set}", device.info().id, device.info().name);
        if let Some(warning) = set.security().warning {
            println!("warning: {warning}");
        }
        let client = ClientKey::generate(&set)?;
        let keys = more(&client, EvaluationKeys::generate(&client, &TerminalProgress::new())?)?;
        let server = device.loader().progress(&TerminalProgress::new()).load(&keys)?;
        Ok(Self { client, server, device: device.info().name.clone() })
    }

    /// Writes the record that `--json` asks for.
    #[allow(
        dead_code,
        reason = "an example that hands its server on writes its record by `record`"
    )]
    pub fn record(
        &self,
        options: &Options,
        example: &str,
        figures: &impl serde::Serialize,
    ) -> Result<(), Failure> {
        record(options, example, (&self.device, &self.server), figures)
    }
}

/// The same of a device's name and a server.
pub fn record(
    options: &Options,
    example: &str,
    (device, server): (&str, &ServerKey),
    figures: &impl serde::Serialize,
) -> Result<(), Failure> {
    options.write(serde_json::json!({
        "example": example,
        "device": device,
        "set": server.set().to_string(),
        "transform": server.engine().transform().to_string(),
        "plan": server.engine().plan(),
        "figures": figures,
    }))
}
