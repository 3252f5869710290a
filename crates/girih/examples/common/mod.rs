//! What every example needs: a device, keys, a progress bar, and an end that says what went wrong.

use girih::prelude::*;
use indicatif::{ProgressBar, ProgressStyle};
use std::process::ExitCode;
use std::sync::Mutex;

mod output;
mod stamp;

pub type Failure = Box<dyn std::error::Error>;

// The part of the command line that all examples share; a doc comment would become the first line of their help.
#[derive(clap::Args)]
pub struct Options {
    /// The device: cpu, wgpu:0, cuda:0, or auto for the fastest real one.
    #[arg(long, env = "GIRIH_DEVICE", default_value = "auto")]
    device: String,
    /// The parameter set [default: STD128, G4_BASE2P18 for digits]; STD128_R4 packs 4 instances into each ciphertext.
    #[arg(long)]
    set: Option<String>,
    /// Also write what ran and how long it took (JSON) to FILE, `-` for standard output, after the lines for people.
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

/// The owner of the data and whoever computes, in one program for once.
pub struct Parties {
    pub client: ClientKey,
    pub server: ServerKey,
    device: String,
}

impl Options {
    /// Opens the device, makes keys of the chosen set or `default_set`, and loads them.
    pub fn start(&self, default_set: &str) -> Result<Parties, Failure> {
        if let Some(path) = &self.json {
            output::check_file("--json", path)?;
        }
        let device = Device::open(&self.device)?;
        let set = ParameterSet::by_name(self.set.as_deref().unwrap_or(default_set))?;
        println!("{} ({}), {set}", device.info().id, device.info().name);
        if let Some(warning) = set.security().warning {
            println!("warning: {warning}");
        }
        let client = ClientKey::generate(&set)?;
        let keys = EvaluationKeys::generate(&client, &Bar::default())?;
        let server = device.loader().progress(&Bar::default()).load(&keys)?;
        Ok(Parties { client, server, device: device.info().name.clone() })
    }

    /// Writes the record that `--json` asks for.
    pub fn record(&self, example: &str, parties: &Parties, figures: &impl serde::Serialize) -> Result<(), Failure> {
        let Some(path) = &self.json else { return Ok(()) };
        let record = serde_json::json!({
            "example": example,
            "device": parties.device,
            "set": parties.server.set().to_string(),
            "transform": parties.server.engine().transform().to_string(),
            "plan": parties.server.engine().plan(),
            "figures": figures,
            "version": env!("CARGO_PKG_VERSION"),
            "commit": stamp::commit(),
            "date": stamp::today(),
        });
        Ok(output::write_json(path, &record)?)
    }
}

/// The end of `main`: an error in its own words.
pub fn exit(run: impl FnOnce() -> Result<(), Failure>) -> ExitCode {
    // A reader that has seen enough (`| head`) ends the program quietly, where printing would panic.
    sigpipe::reset();
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Progress on a terminal; silent elsewhere.
#[derive(Default)]
pub struct Bar(Mutex<Option<ProgressBar>>);

impl Progress for Bar {
    fn report(&self, what: &str, done: usize, total: usize) {
        let Ok(mut bar) = self.0.lock() else { return };
        let bar = bar.get_or_insert_with(|| {
            let style = ProgressStyle::with_template("{msg:<40} {bar:30} {percent:>3} %  {eta}");
            ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        bar.set_message(what.to_owned());
        bar.set_length(total as u64);
        bar.set_position(done as u64);
        if done >= total {
            bar.finish_and_clear();
        }
    }
}
