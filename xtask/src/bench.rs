//! `cargo xtask bench`: the main job.

use crate::progress::Terminal;
use crate::record::{self, Milliseconds, Noise, Record};
use crate::timeline::Timeline;
use crate::{plot, published, sets};
use anyhow::{Context, Result, bail};
use girih::device::OpenOptions;
use girih::{
    Batch, ClientKey, Device, DeviceKind, EvaluationKeys, Gate, LoadOptions, LookUpTable,
    LweCiphertexts, NoiseModel, ParameterSet, PlanRequest, ServerKey, Transform,
};
use girih_backend::timeline;
use std::path::PathBuf;
use std::time::Instant;

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
    /// refuse names that they do not know.
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
        let options = OpenOptions { memory_limit: self.memory_limit };
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

/// What is run on every message.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Operation {
    Nand,
    And,
    Or,
    Nor,
    Xor,
    Xnor,
    /// All six gates in turn, mixed in one batch.
    Gates,
    /// Majority of three bits.
    Majority,
    /// `select ? a : b`: three bootstrappings.
    Mux,
    /// A look-up table on two-bit messages; on four-bit ones where the set is made for them.
    Lut,
    /// EvalFunc: an arbitrary function of a message that fills its modulus.
    Func,
    /// EvalFloor: clear the four lowest bits of a large-precision message.
    Floor,
    /// EvalSign: the top bit of a large-precision message.
    Sign,
    /// EvalDecomp: the four-bit digits of a large-precision message.
    Decomp,
    /// Less than, of two large-precision messages.
    Compare,
    /// The larger of a large-precision message and 0, in two's complement.
    Relu,
    /// The larger of two large-precision messages.
    Max,
    /// Encrypted integers of 64 bits: a sum, with its carries.
    Add64,
    /// Encrypted integers: a product.
    Mul64,
    /// Encrypted integers: a quotient.
    Div64,
    /// Encrypted integers: less than.
    Cmp64,
    /// Encrypted integers: AND of every bit.
    Bitand64,
    /// Encrypted integers: `condition ? a : b`.
    Select64,
    /// Encrypted integers: results in few bytes on the host.
    Compress64,
    /// CKKS: a whole bootstrapping.
    Bootstrap,
    /// CKKS: the product of two ciphertexts, relinearised and rescaled.
    Multiply,
    /// CKKS: the square, relinearised and rescaled.
    Square,
    /// CKKS: a rotation by one slot.
    Rotate,
    /// CKKS: a rescaling.
    Rescale,
    /// CKKS: eight rotations of one ciphertext, which share their decomposition.
    Hoisted,
    /// CKKS: a linear transform of 32 diagonals.
    Transform,
    /// CKKS: a polynomial of degree 31.
    Chebyshev,
    /// CKKS, on the host: slots to a polynomial.
    Encode,
    /// CKKS, on the host: encoding and encryption.
    Encrypt,
}

impl Operation {
    pub fn name(self) -> String {
        clap::ValueEnum::to_possible_value(&self)
            .map_or_else(String::new, |v| v.get_name().to_owned())
    }

    fn inputs(self) -> usize {
        match self {
            Self::Lut => 1,
            Self::Majority | Self::Mux => 3,
            _ => 2,
        }
    }

    /// Bits of a message: look-ups take what the set is made for.
    pub fn message_bits(self, set: &ParameterSet) -> u32 {
        match self {
            Self::Lut if NoiseModel::new(set).looks_up_four_bits() => 4,
            Self::Lut => 2,
            _ => 1,
        }
    }

    fn bootstraps(self) -> usize {
        if self == Self::Mux { 3 } else { 1 }
    }

    /// Functions of large-precision messages, which have a bench of their own.
    pub fn is_large(self) -> bool {
        matches!(
            self,
            Self::Func
                | Self::Floor
                | Self::Sign
                | Self::Decomp
                | Self::Compare
                | Self::Relu
                | Self::Max
        )
    }

    /// Operations on encrypted integers, which have a bench of their own.
    pub fn is_integer(self) -> bool {
        matches!(
            self,
            Self::Add64
                | Self::Mul64
                | Self::Div64
                | Self::Cmp64
                | Self::Bitand64
                | Self::Select64
                | Self::Compress64
        )
    }

    /// Operations of CKKS sets, which have a bench of their own.
    pub fn is_ckks(self) -> bool {
        matches!(
            self,
            Self::Bootstrap
                | Self::Multiply
                | Self::Square
                | Self::Rotate
                | Self::Rescale
                | Self::Hoisted
                | Self::Transform
                | Self::Chebyshev
                | Self::Encode
                | Self::Encrypt
        )
    }

    fn gate(self) -> Option<Gate> {
        Some(match self {
            Self::Nand => Gate::Nand,
            Self::And => Gate::And,
            Self::Or => Gate::Or,
            Self::Nor => Gate::Nor,
            Self::Xor => Gate::Xor,
            Self::Xnor => Gate::Xnor,
            _ => return None,
        })
    }

    /// The function of a look-up: a permutation without symmetry, so that every wrong entry shows.
    fn table(x: u64, bits: u32) -> u64 {
        const TWO: [u64; 4] = [2, 3, 1, 0];
        const FOUR: [u64; 16] = [9, 4, 14, 0, 7, 13, 2, 11, 5, 15, 1, 8, 12, 3, 10, 6];
        if bits == 2 { TWO[x as usize] } else { FOUR[x as usize] }
    }

    /// What message `index` must decrypt to.
    fn expected(self, set: &ParameterSet, index: usize, x: &[u64]) -> u64 {
        let bit = |i: usize| x[i] == 1;
        match self {
            Self::Lut => Self::table(x[0], self.message_bits(set)),
            Self::Majority => u64::from(x.iter().sum::<u64>() >= 2),
            Self::Mux => {
                if bit(0) {
                    x[1]
                } else {
                    x[2]
                }
            }
            Self::Gates => u64::from(Gate::ALL[index / set.packing() % 6].evaluate(bit(0), bit(1))),
            _ => self.gate().map_or(0, |g| u64::from(g.evaluate(bit(0), bit(1)))),
        }
    }

    fn run<B: Batch>(self, server: &ServerKey, x: &[B]) -> girih::Result<B> {
        match self {
            Self::Lut => {
                let bits = self.message_bits(server.set());
                server.apply(&x[0], &LookUpTable::new(bits, |m| Self::table(m, bits))?)
            }
            Self::Majority => server.majority(&x[0], &x[1], &x[2]),
            Self::Mux => server.mux(&x[0], &x[1], &x[2]),
            Self::Gates => {
                let gates: Vec<Gate> = (0..x[0].ciphertexts()).map(|i| Gate::ALL[i % 6]).collect();
                server.gates(&gates, &x[0], &x[1])
            }
            _ => server.gate(self.gate().unwrap_or(Gate::Nand), &x[0], &x[1]),
        }
    }
}

/// Messages in the batches that papers and our tables compare,
/// before they are rounded up to whole ciphertexts.
pub const TABLE_BATCH: usize = 16_384;

/// Everything that one set of keys needs, loaded.
pub struct Loaded {
    client: ClientKey,
    server: ServerKey,
    keygen_s: f64,
    load_s: f64,
}

/// Gates, look-ups and functions of slots.
pub fn run(arguments: &Arguments) -> Result<bool> {
    if let Some(bits) = arguments.message {
        bail!("--message {bits}: only large-precision functions take messages of other sizes");
    }
    let set = parameter_set(arguments)?;
    let device = arguments.open()?;
    let batch = batch_size(arguments, &set, &device, 256)?;
    let say = record::speaker(arguments.json.as_deref());
    say(format!("device    {} ({})", device.info().id, device.info().name));
    say(format!("set       {} r={}: {}", set.name(), set.packing(), set.description()));
    say(format!("security  {}", set.security().text));
    for warning in set.warnings() {
        say(format!("warning   {warning}"));
    }
    let loaded = load(arguments, &set, &device)?;
    say(format!("keys      made in {:.2} s, loaded in {:.2} s", loaded.keygen_s, loaded.load_s));
    let (failure, what) = sets::log2_failure(&set, loaded.server.engine().transform());
    say(format!("fails     2^{failure:.1} {what}, by the noise model"));
    say(format!(
        "plan      {} {}",
        loaded.server.engine().transform(),
        loaded.server.engine().plan()
    ));

    measure_all(arguments, sizes(arguments, batch, set.packing()), &say, |size| {
        let record = measure(arguments, &set, &device, &loaded, size)?;
        report(&record, &say);
        Ok(record)
    })
}

/// Refuses what could only fail, or be ignored, after keys are made and batches run.
pub fn check(arguments: &Arguments) -> Result<()> {
    if arguments.repeat == 0 {
        bail!("--repeat 0: there must be at least one timed run");
    }
    if arguments.sweep == Some(Sweep::Level) && !arguments.op.is_ckks() {
        bail!("--sweep level: ciphertexts of --op {} have no levels", arguments.op.name());
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

/// Measures one batch size after the other and writes all that was asked for; what was measured
/// before a failure is kept.
pub fn measure_all(
    arguments: &Arguments,
    sizes: Vec<usize>,
    say: &dyn Fn(String),
    mut measure: impl FnMut(usize) -> Result<Record>,
) -> Result<bool> {
    let recorded = arguments.timeline.as_deref().map(Timeline::start);
    let (mut records, mut failure) = (Vec::new(), Ok(()));
    for size in sizes {
        match measure(size) {
            Ok(record) => {
                records.push(record);
                if arguments.json.as_deref() != Some("-") {
                    // For whoever ends a long sweep early; the last write tells of what stands in
                    // the way.
                    let _ = save(arguments, &records);
                }
            }
            Err(error) => {
                failure = Err(error.context(format!("a batch of {size}")));
                break;
            }
        }
    }
    if !records.is_empty() {
        write(arguments, &records, say)?;
    }
    if let Some(recorded) = recorded {
        recorded.write(say)?;
    }
    failure.map(|()| records.iter().all(|r| r.wrong == 0))
}

fn parameter_set(arguments: &Arguments) -> Result<ParameterSet> {
    parameter_set_or(arguments, "STD128")
}

/// The set that is asked for, or `default`.
pub fn parameter_set_or(arguments: &Arguments, default: &str) -> Result<ParameterSet> {
    let set = match &arguments.params {
        Some(path) => {
            let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
            ParameterSet::from_toml(&text).with_context(|| path.display().to_string())?
        }
        None => ParameterSet::by_name(arguments.set.as_deref().unwrap_or(default))?,
    };
    repack(set, arguments.set.as_deref(), arguments.packing)
}

/// `set` at the packing that was asked for; a name that holds one of its own, such as `M3_R5`, does
/// not go with another.
pub fn repack(
    set: ParameterSet,
    name: Option<&str>,
    packing: Option<usize>,
) -> Result<ParameterSet> {
    match (packing, name) {
        (None, _) => Ok(set),
        (Some(r), Some(name)) if ![1, r].contains(&set.packing()) => {
            bail!(
                "--packing {r}: {name} is a set of packing {}; leave one of the two out",
                set.packing()
            )
        }
        (Some(r), _) => Ok(set.with_packing(r)?),
    }
}

/// Messages in a batch; `cpu` of them on the CPU unless told.
pub fn batch_size(
    arguments: &Arguments,
    set: &ParameterSet,
    device: &Device,
    cpu: usize,
) -> Result<usize> {
    let packing = set.packing();
    match arguments.batch {
        Some(batch) if batch > 0 && batch.is_multiple_of(packing) => {
            // One input and one output in host memory: less than any operation takes.
            let bytes_each = 2 * 4 * set.shape().ciphertext_len() as u64;
            let free = record::available_memory_bytes().unwrap_or(isize::MAX as u64);
            let most = free / bytes_each * packing as u64;
            if batch as u64 > most {
                let free = free as f64 / (1u64 << 30) as f64;
                bail!(
                    "--batch {batch}: an input and an output of {most} messages fill the {free:.1} \
                     GiB of memory that are free; ask for less"
                );
            }
            Ok(batch)
        }
        Some(batch) => {
            bail!("--batch {batch}: must be a positive multiple of the packing r = {packing}")
        }
        None => {
            let gpu = device.info().kind != DeviceKind::Cpu && !device.info().software;
            Ok(if gpu { TABLE_BATCH } else { cpu }.next_multiple_of(packing))
        }
    }
}

/// The batch alone, or a sweep up to it, through the batch of the tables.
pub fn sizes(arguments: &Arguments, batch: usize, packing: usize) -> Vec<usize> {
    match arguments.sweep {
        None | Some(Sweep::Level) => vec![batch],
        Some(Sweep::Batch) => {
            let powers = std::iter::successors(Some(packing), |s| s.checked_mul(4))
                .take_while(|&s| s < batch);
            let mut sizes: Vec<usize> = powers
                .chain([TABLE_BATCH.next_multiple_of(packing)])
                .filter(|&s| s < batch)
                .collect();
            sizes.push(batch);
            sizes.sort_unstable();
            sizes.dedup();
            sizes
        }
    }
}

/// A choice of `--plan`.
fn plan_choice(text: &str) -> Result<(String, u32), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("{text} is not NAME=VALUE"))?;
    let value =
        value.parse().map_err(|_| format!("{value} is not a number from 0 to {}", u32::MAX))?;
    match name.trim() {
        "" => Err(format!("{text} has no name; give NAME=VALUE")),
        name => Ok((name.to_owned(), value)),
    }
}

/// 32 bytes of seed from the number on the command line.
pub fn seed_bytes(seed: u64) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes
}

pub fn load_options(arguments: &Arguments) -> LoadOptions {
    let transform = match arguments.transform {
        TransformChoice::Auto => None,
        TransformChoice::Ntt => Some(Transform::Ntt),
        TransformChoice::Fft => Some(Transform::Fft),
    };
    let choices = arguments.plan.iter().cloned().collect();
    LoadOptions {
        transform,
        plan: PlanRequest { groups: arguments.groups, choices, ..Default::default() },
        ..Default::default()
    }
}

/// Makes and loads the keys of a run.
pub fn load(arguments: &Arguments, set: &ParameterSet, device: &Device) -> Result<Loaded> {
    let progress = Terminal::new();
    let start = Instant::now();
    let client = ClientKey::generate_seeded_for_tests(set, seed_bytes(arguments.seed))?;
    let keys = EvaluationKeys::generate(&client, &progress)?;
    let keygen_s = start.elapsed().as_secs_f64();
    let options = load_options(arguments);
    let start = Instant::now();
    let server = ServerKey::load(device.backend(), &keys, &options, &progress)?;
    // Outputs are checked and wrong ones counted: what fails often is to be measured, too.
    server.limit_failure(0.0)?;
    Ok(Loaded { client, server, keygen_s, load_s: start.elapsed().as_secs_f64() })
}

/// Random messages below `bound` from a counter (SplitMix64): reproducible, and plain text anyway.
pub fn messages(seed: u64, count: usize, bound: u64) -> Vec<u64> {
    let mut words = girih_conformance::synthetic::Words::new(seed);
    (0..count).map(|_| words.next_word() % bound).collect()
}

/// Runs and checks one batch size.
pub fn measure(
    arguments: &Arguments,
    set: &ParameterSet,
    device: &Device,
    loaded: &Loaded,
    batch: usize,
) -> Result<Record> {
    let (op, server, client) = (arguments.op, &loaded.server, &loaded.client);
    let bits = op.message_bits(set);
    let plain: Vec<Vec<u64>> =
        (0..op.inputs()).map(|i| messages(arguments.seed + i as u64, batch, 1 << bits)).collect();
    let encrypted =
        plain.iter().map(|m| encrypt(client, m, bits)).collect::<girih::Result<Vec<_>>>()?;
    let resident = if arguments.resident {
        Some(encrypted.iter().map(|e| server.upload(e)).collect::<girih::Result<Vec<_>>>()?)
    } else {
        None
    };
    let mut samples = Vec::with_capacity(arguments.repeat);
    let (mut checked, mut wrong, mut squares) = (0, 0, 0.0);
    for round in 0..=arguments.repeat {
        let start = Instant::now();
        let span = timeline::host("a batch");
        let output = match &resident {
            None => op.run(server, &encrypted)?,
            Some(inputs) => {
                let output = op.run(server, inputs)?;
                server.engine().synchronize()?;
                let elapsed = start.elapsed();
                if round > 0 {
                    samples.push(1e3 * elapsed.as_secs_f64());
                }
                server.download(&output)?
            }
        };
        if round > 0 && resident.is_none() {
            samples.push(1e3 * start.elapsed().as_secs_f64());
        }
        drop(span);
        if timeline::is_on() {
            // Devices hand over their spans there.
            server.engine().synchronize()?;
        }
        for (index, error) in errors(client, set, op, &plain, &output)?.into_iter().enumerate() {
            checked += 1;
            squares += error * error;
            // Beyond half the distance to the next message it decrypts to another one.
            let half = 0.5 * spacing(op, set) * set.lwe_modulus() as f64;
            if !(-half..half).contains(&error) {
                wrong += 1;
                if wrong <= 3 {
                    eprintln!(
                        "wrong output: message {index} of round {round} is off by {error} of q = \
                         {}",
                        set.lwe_modulus()
                    );
                }
            }
        }
    }
    let ms = Milliseconds::of(&samples);
    Ok(Record {
        device: device.info().name.clone(),
        backend: device.info().kind.to_string(),
        set: set.name().into(),
        packing: set.packing(),
        transform: server.engine().transform().to_string(),
        plan: server.engine().plan().to_json(),
        op: op.name(),
        batch,
        repeat: arguments.repeat,
        bootstraps_per_s: (batch * op.bootstraps()) as f64 / (ms.median / 1e3),
        ms,
        transfers_included: !arguments.resident,
        checked,
        wrong,
        function: None,
        integers: None,
        noise: Noise {
            sigma_out: (squares / checked as f64).sqrt(),
            model: NoiseModel::with_transform(set, server.engine().transform()).sigma_out(),
        },
        keygen_s: loaded.keygen_s,
        load_s: loaded.load_s,
        peak_memory_bytes: record::peak_memory_bytes(),
        seed: arguments.seed,
        version: env!("CARGO_PKG_VERSION"),
        commit: record::commit(),
        date: record::today(),
    })
}

fn encrypt(client: &ClientKey, messages: &[u64], bits: u32) -> girih::Result<LweCiphertexts> {
    if bits == 1 {
        let bits: Vec<bool> = messages.iter().map(|&m| m == 1).collect();
        return client.encrypt_bits(&bits);
    }
    client.encrypt_messages(messages, bits)
}

/// Distance between neighbouring messages as a fraction of q: bits are q/4 apart, tables leave one
/// bit of padding.
fn spacing(op: Operation, set: &ParameterSet) -> f64 {
    if op == Operation::Lut { 1.0 / f64::from(2u32 << op.message_bits(set)) } else { 0.25 }
}

/// The error of every output: its phase less that of the message it must be, in `[-q/2, q/2)`.
fn errors(
    client: &ClientKey,
    set: &ParameterSet,
    op: Operation,
    plain: &[Vec<u64>],
    output: &LweCiphertexts,
) -> Result<Vec<f64>> {
    let q = set.lwe_modulus() as f64;
    let phases = client.phases(output)?;
    if phases.len() != plain[0].len() {
        bail!("{} messages came back instead of {}", phases.len(), plain[0].len());
    }
    let error = |(index, &phase): (usize, &u64)| {
        let inputs: Vec<u64> = plain.iter().map(|m| m[index]).collect();
        let want = op.expected(set, index, &inputs) as f64 * spacing(op, set) * q;
        let error = (phase as f64 - want).rem_euclid(q);
        if error >= q / 2.0 { error - q } else { error }
    };
    Ok(phases.iter().enumerate().map(error).collect())
}

fn report(record: &Record, say: &dyn Fn(String)) {
    let transfers = if record.transfers_included { "transfers included" } else { "resident" };
    say(format!(
        "batch {:>6}  {:>10.2} ms (min {:.2}, max {:.2})  {:>10.1} bootstrappings/s  {transfers}  \
         {} checked, {} wrong, noise {:.2} (model {:.2})",
        record.batch,
        record.ms.median,
        record.ms.min,
        record.ms.max,
        record.bootstraps_per_s,
        record.checked,
        record.wrong,
        record.noise.sigma_out,
        record.noise.model
    ));
    for row in published::of(&record.set) {
        let ratio = record.bootstraps_per_s / row.rate;
        say(format!(
            "  published r={}: {:>10.1}/s  ({})  ratio {ratio:.3}",
            row.packing, row.rate, row.source
        ));
    }
}

/// Writes the record, or those of a sweep so far, where `--json` wants them.
fn save(arguments: &Arguments, records: &[Record]) -> Result<()> {
    let Some(path) = &arguments.json else { return Ok(()) };
    let value = if arguments.sweep.is_some() {
        serde_json::to_value(records)?
    } else {
        serde_json::to_value(&records[0])?
    };
    Ok(record::write_json(path, &value)?)
}

fn write(arguments: &Arguments, records: &[Record], say: &dyn Fn(String)) -> Result<()> {
    save(arguments, records)?;
    if let Some(folder) = &arguments.plot {
        let batches: Vec<_> = records.iter().map(plot::Batch::from).collect();
        for path in plot::sweep(folder, &batches)? {
            say(format!("plot      {path}"));
        }
    }
    if let Some(bytes) = record::peak_memory_bytes() {
        say(format!("memory    {:.2} GiB at most", bytes as f64 / (1u64 << 30) as f64));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    /// The arguments of `cargo xtask bench` on the CPU and a toy set.
    fn arguments(more: &[&str]) -> Arguments {
        let all = [&["xtask", "bench", "--device", "cpu", "--repeat", "1"], more].concat();
        match crate::Arguments::parse_from(all).command {
            crate::Command::Bench(arguments) => arguments,
            _ => unreachable!("bench was asked for"),
        }
    }

    fn refusal<T>(result: Result<T>) -> String {
        result.map(|_| ()).expect_err("must be refused").to_string()
    }

    #[test]
    fn contradictions_are_named_before_any_work() {
        for (more, part) in [
            (&["--plan", "ring=4,ring=5"][..], "--plan ring"),
            (&["--timeline", "-"], "--timeline -"),
            (&["--json", "one.json", "--timeline", "one.json"], "a file of its own"),
            (&["--json", "src"], "--json src"),
            (&["--sweep", "level"], "--sweep level"),
        ] {
            assert!(refusal(check(&arguments(more))).contains(part), "{more:?}");
        }
        assert!(!std::path::Path::new("one.json").exists());
        let file = std::env::temp_dir().join(format!("girih-bench-{}.toml", std::process::id()));
        let toml = ParameterSet::by_name("INSECURE_TOY_R2").expect("built in").to_toml();
        let read = |text: &str| {
            std::fs::write(&file, text).expect("writable");
            parameter_set(&arguments(&["--params", &file.to_string_lossy()]))
        };
        assert_eq!(read(&toml).expect("the built-in set itself").packing(), 2);
        let refused = read(&toml.replace("3.19", "3.2")).expect_err("a built-in name");
        assert!(format!("{refused:#}").contains("take another name"), "{refused:#}");
        assert!(read(&toml.replace("3.19", "3.2").replace("INSECURE_TOY", "MINE")).is_ok());
        std::fs::remove_file(&file).expect("ours");
        assert!(crate::Arguments::try_parse_from(["xtask", "bench", "--plan", "=4"]).is_err());
        let packed = || ParameterSet::by_name("M3_R5").expect("built in");
        assert!(refusal(repack(packed(), Some("M3_R5"), Some(3))).contains("packing 5"));
        assert_eq!(repack(packed(), Some("M3_R5"), Some(5)).expect("the same").packing(), 5);
    }

    #[test]
    fn batches_that_fit_no_memory_are_refused_with_what_does() {
        let device = Device::open("cpu").expect("always there");
        let set = ParameterSet::by_name("INSECURE_TOY_R4").expect("built in");
        let size = |batch: &str| batch_size(&arguments(&["--batch", batch]), &set, &device, 256);
        assert_eq!(size("8").expect("two ciphertexts"), 8);
        for (batch, part) in [
            ("0", "multiple"),
            ("6", "r = 4"),
            ("18446744073709551612", "GiB"),
            ("4611686018427387904", "GiB"),
        ] {
            assert!(refusal(size(batch)).contains(part), "{batch}: {}", refusal(size(batch)));
        }
        let sweep = sizes(&arguments(&["--sweep", "batch"]), usize::MAX / 4 * 4, 4);
        assert!(sweep.is_sorted() && sweep.contains(&TABLE_BATCH) && sweep[0] == 4);
    }

    #[test]
    fn what_was_measured_before_a_failure_is_kept() {
        let file = std::env::temp_dir().join(format!("girih-bench-{}.json", std::process::id()));
        let arguments = arguments(&[
            "--set",
            "INSECURE_TOY",
            "--sweep",
            "batch",
            "--json",
            &file.to_string_lossy(),
        ]);
        let (set, device) = (
            parameter_set(&arguments).expect("built in"),
            Device::open("cpu").expect("always there"),
        );
        let loaded = load(&arguments, &set, &device).expect("a toy");
        let failed = measure_all(&arguments, vec![1, 4, 16], &|_| {}, |size| match size {
            1 => measure(&arguments, &set, &device, &loaded, size),
            _ => {
                assert!(file.exists(), "the first record is there before the second batch");
                bail!("no more memory")
            }
        });
        assert_eq!(
            format!("{:#}", failed.expect_err("the second batch")),
            "a batch of 4: no more memory"
        );
        let written: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(&file).expect("written")).expect("JSON");
        std::fs::remove_file(&file).expect("ours");
        assert_eq!(
            (written.as_array().map(Vec::len), written[0]["batch"].as_u64()),
            (Some(1), Some(1))
        );
    }
}
