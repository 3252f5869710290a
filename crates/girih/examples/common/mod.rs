//! What every example needs: a device, a record, and an end that says what went
//! wrong. Keys are made in `tfhe.rs` and `ckks.rs` beside this file.

use girih::device::Device;
use std::process::ExitCode;

pub mod first;
mod output;
mod stamp;

pub type Failure = Box<dyn std::error::Error>;

// The part of the command line that all examples share; a doc comment would become the first line
// of their help.
#[derive(clap::Args)]
pub struct Options {
    /// The device: cpu, wgpu:0, cuda:0, or auto for the fastest real one.
    #[arg(long, env = "GIRIH_DEVICE", default_value = "auto")]
    device: String,
    /// The parameter set; `cargo xtask sets` lists them. STD128_R4 packs 4 instances of a circuit
    /// into each ciphertext.
    #[arg(long)]
    set: Option<String>,
    /// Also write what ran and how long it took (JSON) to FILE, `-` for standard output, after the
    /// lines for people.
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

impl Options {
    /// Opens the device, before any work a file could not be written for.
    pub fn open(&self) -> Result<Device, Failure> {
        first::start();
        if let Some(path) = &self.json {
            output::check_file("--json", path)?;
        }
        Ok(Device::open(&self.device)?)
    }

    /// The set asked for, or `default_set`.
    pub fn set<'a>(&'a self, default_set: &'a str) -> &'a str {
        self.set.as_deref().unwrap_or(default_set)
    }

    /// Writes the record that `--json` asks for: `fields` of the scheme,
    /// and what all records end with.
    pub fn write(&self, mut fields: serde_json::Value) -> Result<(), Failure> {
        let Some(path) = &self.json else { return Ok(()) };
        fields["version"] = env!("CARGO_PKG_VERSION").into();
        fields["commit"] = stamp::commit().into();
        fields["date"] = stamp::today().into();
        Ok(output::write_json(path, &fields)?)
    }
}

/// The end of `main`: an error in its own words.
pub fn exit(run: impl FnOnce() -> Result<(), Failure>) -> ExitCode {
    // A reader that has seen enough (`| head`) ends the program quietly, where printing would
    // panic.
    sigpipe::reset();
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
