//! What `cargo xtask bench` is asked for.

use super::operation::{Operation, name};
use crate::record;
use anyhow::{Result, bail};
use girih::Device;
use girih::ckks::Specialise;
use girih::device::OpenOptions;
use girih_backend::SPECIALISE;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Arguments {
    /// The device: cpu, wgpu:0, wgpu:llvmpipe, cuda:0, or auto for the fastest real one; several
    /// joined by +, or cuda:* for all of a kind.
    #[arg(long, env = "GIRIH_DEVICE", default_value = "auto")]
    pub device: String,
    /// Let the device allocate so much memory and no more, as on a smaller card: 24G, 512M. Of each
    /// device, where several are one; CUDA devices only.
    #[arg(long, value_name = "BYTES", value_parser = crate::bytes::parse)]
    pub memory_limit: Option<u64>,
    /// A built-in parameter set, of docs/parameters.md [default: STD128; G4 for large-precision
    /// functions, which also take G5; TFHERS_2_2_GROUP_2 for integers].
    #[arg(long, conflicts_with = "params")]
    pub set: Option<String>,
    /// A parameter file (TOML); the end of docs/parameters.md shows one.
    #[arg(long, value_name = "FILE")]
    pub params: Option<PathBuf>,
    /// Messages that share a ciphertext (r), 1 to 16 [default: what the set or file says].
    #[arg(long, value_name = "R")]
    pub packing: Option<usize>,
    /// How polynomials are multiplied; auto leaves it to the device.
    #[arg(long, default_value = "auto")]
    pub transform: TransformChoice,
    /// What to run on every message.
    #[arg(long, default_value = "nand")]
    pub op: Operation,
    /// Large-precision functions: bits of a message, 1 to 21 and as many as the set bears [default:
    /// 16, and 3 for func]; its modulus is 2 beta times as large.
    #[arg(long, value_name = "BITS")]
    pub message: Option<u32>,
    /// Messages in a batch, a multiple of the packing [default: 256 on the CPU (16 large-precision
    /// ones), 16384 on a GPU, rounded up; as many integers as take two seconds, at most 1000].
    #[arg(long)]
    pub batch: Option<usize>,
    /// The netlist of --op circuit: Bristol Fashion, JSON of Yosys (.json) or HEIR's cggi (.mlir).
    #[arg(long, value_name = "FILE")]
    pub netlist: Option<PathBuf>,
    /// Timed runs, after one that warms up; at least 1.
    #[arg(long, default_value_t = 3)]
    pub repeat: usize,
    /// Keep ciphertexts on the device: leave transfers out of the time.
    #[arg(long)]
    pub resident: bool,
    /// Ciphertext groups a workgroup serves at once, where the device plans tiles [default: the
    /// device's plan].
    #[arg(long)]
    pub groups: Option<usize>,
    /// What else of the plan is fixed, as the device names it: `--plan ring=4,packed=1`. Devices
    /// refuse names that they do not know. CKKS on CUDA: `specialise=never`, `now` or `background`
    /// says when kernels of one program are compiled; `background`, the default, is waited for
    /// between the first result and what is timed.
    #[arg(long, value_name = "NAME=VALUE", value_delimiter = ',', value_parser = plan_choice)]
    pub plan: Vec<(String, u32)>,
    /// Seed of keys and inputs: the same seed gives the same run.
    /// Never use such keys for real data.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Write the record (of a sweep an array, after each batch size) to FILE, `-` for standard
    /// output; times in ms, noise as a deviation modulo q.
    #[arg(long, value_name = "FILE")]
    pub json: Option<String>,
    /// Write what host and device did and when to FILE (trace events, for Perfetto or
    /// chrome://tracing). Costs some speed.
    #[arg(long, value_name = "FILE")]
    pub timeline: Option<PathBuf>,
    /// Run every batch size from one ciphertext to --batch in powers of four, and 16,384 messages;
    /// of CKKS sets in powers of two, or every level up to --level.
    #[arg(long, value_name = "WHAT")]
    pub sweep: Option<Sweep>,
    /// Write SVG curves of a sweep to DIR.
    #[arg(long, value_name = "DIR", requires = "sweep")]
    pub plot: Option<PathBuf>,
    /// CKKS: the level of the inputs
    /// [default: that of fresh ciphertexts, for bootstrap the lowest].
    #[arg(long)]
    pub level: Option<usize>,
    /// CKKS: the message ratio of a bootstrapping, as log2 [default: the set's].
    #[arg(long, value_name = "RHO")]
    pub ratio: Option<u32>,
    /// CKKS: how key products are computed: hybrid, klss, or klss:8 for groups of 8 primes
    /// [default: what was measured to be fastest, else hybrid].
    #[arg(long, value_name = "HOW")]
    pub key_switch: Option<crate::ckks::options::KeySwitch>,
    /// CKKS: bootstrap by two rotation keys a transform: a third of the keys, and more work.
    #[arg(long)]
    pub few_keys: bool,
    /// CKKS: make all keys first and load them then, as those that are sent are; otherwise each
    /// limb is made when the device asks for it.
    #[arg(long)]
    pub whole_keys: bool,
    /// Numbers in slots: the order of the table [default: 2 where the set has levels for it].
    #[arg(long, value_name = "1|2")]
    pub order: Option<u32>,
    /// CKKS: what the slots of the inputs are. Real ones are bootstrapped as such, by one sine.
    #[arg(long, default_value = "random")]
    pub slots: Slots,
    /// CKKS: bootstrap vectors of so many slots, a power of two [default: all].
    #[arg(long, value_name = "N")]
    pub slot_count: Option<usize>,
}

impl Arguments {
    /// The device that is asked for.
    pub fn open(&self) -> Result<Device> {
        let options = OpenOptions::default().with_memory_limit(self.memory_limit);
        Ok(Device::open_with(&self.device, &options)?)
    }
}

/// What the slots of the inputs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Slots {
    /// Uniform in the square [-1, 1]^2.
    Random,
    /// Uniform in [-1, 1].
    Real,
    /// All 1: the worst case of a bootstrapping's modular reduction.
    Constant,
    /// All 0.
    Zero,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum TransformChoice {
    Auto,
    Ntt,
    Fft,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Sweep {
    /// Over sizes of batches.
    Batch,
    /// CKKS: over levels of the inputs.
    Level,
}

/// A choice of `--plan`.
pub(crate) fn plan_choice(text: &str) -> Result<(String, u32), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("{text} is not NAME=VALUE"))?;
    let (name, value) = (name.trim(), value.trim());
    let number = match name {
        SPECIALISE => Specialise::by_name(value).map(Specialise::number).ok_or_else(|| {
            let names = Specialise::ALL.map(Specialise::name).join(", ");
            format!("{name}={value}: it is one of {names}")
        }),
        _ => value.parse().map_err(|_| format!("{value} is not a number from 0 to {}", u32::MAX)),
    };
    let value = number?;
    match name {
        "" => Err(format!("{text} has no name; give NAME=VALUE")),
        name => Ok((name.to_owned(), value)),
    }
}

/// Refuses what could only fail, or be ignored, after keys are made and batches run.
pub fn check(arguments: &Arguments) -> Result<()> {
    if arguments.repeat == 0 {
        bail!("--repeat 0: there must be at least one timed run");
    }
    if arguments.sweep == Some(Sweep::Level) && !matches!(arguments.op, Operation::Ckks(_)) {
        bail!("--sweep level: ciphertexts of --op {} have no levels", name(arguments.op));
    }
    let names: Vec<&str> = arguments.plan.iter().map(|(name, _)| name.as_str()).collect();
    if let Some(index) = (1..names.len()).find(|&i| names[..i].contains(&names[i])) {
        bail!("--plan {}: is given twice; give one value", names[index]);
    }
    if let Some(json) = &arguments.json {
        record::check_file("--json", json)?;
    }
    if let Some(timeline) = &arguments.timeline {
        let name = timeline.to_string_lossy();
        if name == "-" || arguments.json.as_deref() == Some(name.as_ref()) {
            bail!("--timeline {name}: needs a file of its own");
        }
        record::check_file("--timeline", &name)?;
    }
    if let Some(folder) = &arguments.plot {
        record::check_file("--plot", &folder.join("a curve.svg").to_string_lossy())?;
    }
    Ok(())
}
