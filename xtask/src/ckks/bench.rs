//! `cargo xtask bench --set CKKS_...`: one operation, timed and checked.

use super::check::Checked;
use super::job::Job;
use super::options::options;
use crate::bench::{Arguments, CkksOperation, Operation, Slots, TransformChoice, name, seed_bytes};
use crate::plot;
use crate::record::{self, FirstResult, Milliseconds};
use crate::timeline::Timeline;
use anyhow::{Context, Result, bail};
use girih::Device;
use girih::ckks::server::{Bootstrapping, Ciphertexts, Estimate, Node, Options, ServerKey};
use girih::ckks::{
    self, Ciphertext, CkksParameters, ClientKey, Complex64, Encoder, NoiseModel, PolyOptions,
    StreamedKeys,
};
use girih::device::{PlanSource, TerminalProgress};
use serde::Serialize;
use std::time::Instant;

/// Deviations of the model that a component may err by. What a division rounds off is multiplied by
/// the secret, whose slots are not alike: as a product of two normal complex numbers it has the
/// tails of a Laplace variable, which leaves 14.2 deviations with probability 2^-29.
const TAIL: f64 = 14.2;

/// Bits after the point that are right.
#[derive(Clone, Copy, Serialize)]
struct Precision {
    mean: f64,
    worst: f64,
}

/// One run.
#[derive(Serialize)]
struct Record {
    scheme: &'static str,
    device: String,
    backend: String,
    /// What was asked for behind the device's name: `core`, `core-full` or `int64` of wgpu.
    profile: Option<String>,
    set: String,
    op: String,
    slots: String,
    slot_count: usize,
    batch: usize,
    level: usize,
    limbs: usize,
    repeat: usize,
    /// Of a batch, ciphertexts resident: transfers, encryption and decryption are not in it.
    ms: Milliseconds,
    ms_each: f64,
    /// Of a batch, all repeats queued one behind the other with one wait at the end: what a run of
    /// many costs.
    ms_queued: Option<f64>,
    per_s: f64,
    checked: usize,
    wrong: usize,
    precision_bits: Precision,
    max_error: f64,
    /// Of the words of all results, which are the same on every device: a name, no proof.
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    log2_deviation: f64,
    /// By the noise model.
    log2_model: f64,
    /// Of the client's key, and of evaluation keys where they are made before they are loaded.
    keygen_s: f64,
    load_s: f64,
    whole_keys: bool,
    record_s: f64,
    /// Of the whole process, where this is its first batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_result: Option<FirstResult>,
    device_bytes: u64,
    peak_memory_bytes: Option<u64>,
    message_ratio: Option<u32>,
    few_keys: bool,
    memory_limit: Option<u64>,
    key_switching: String,
    join_digits: bool,
    sum_keys: bool,
    divide_sines: bool,
    plan: String,
    plan_from: PlanSource,
    seed: u64,
    version: &'static str,
    commit: String,
    date: String,
}

/// The CKKS set that is asked for; none where it is one of TFHE.
pub fn set(arguments: &Arguments) -> Result<Option<CkksParameters>> {
    if let Some(path) = &arguments.params {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        // The files of TFHE have no primes.
        if !text.lines().any(|line| line.trim_start().starts_with("main")) {
            return Ok(None);
        }
        let set = CkksParameters::from_toml(&text).with_context(|| path.display().to_string())?;
        return Ok(Some(set));
    }
    match &arguments.set {
        Some(name) if name.contains("CKKS") => Ok(Some(CkksParameters::by_name(name)?)),
        _ => Ok(None),
    }
}

/// Milliseconds of `repeat` runs after one that warms up.
pub fn timed(repeat: usize, mut run: impl FnMut() -> Result<()>) -> Result<Vec<f64>> {
    run()?;
    (0..repeat)
        .map(|_| {
            let start = Instant::now();
            run()?;
            Ok(start.elapsed().as_secs_f64() * 1e3)
        })
        .collect()
}

/// Waits, after a first run, until the device has the kernels that it keeps, and says so; `again`
/// is the run that is timed then, once.
pub fn settle(
    server: &ServerKey,
    say: &dyn Fn(String),
    again: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let start = Instant::now();
    match server.engine().settle()? {
        0 => Ok(()),
        waited => {
            let seconds = start.elapsed().as_secs_f64();
            say(format!(
                "kernels   of its own: waited {seconds:.1} s for those of {waited} programs"
            ));
            again()
        }
    }
}

/// Milliseconds of a run when `repeat` are asked for one behind the other, and waited for once.
pub fn queued(
    repeat: usize,
    mut run: impl FnMut() -> Result<()>,
    wait: impl Fn() -> Result<()>,
) -> Result<f64> {
    let start = Instant::now();
    (0..repeat).try_for_each(|_| run())?;
    wait()?;
    Ok(start.elapsed().as_secs_f64() * 1e3 / repeat as f64)
}

pub fn run(arguments: &Arguments, set: &CkksParameters) -> Result<bool> {
    let Operation::Ckks(op) = arguments.op else {
        bail!(
            "--op {}: {set} is a CKKS set; bootstrap, multiply, rotate and others of --help are \
             for it",
            name(arguments.op)
        )
    };
    for (given, flag) in [
        (arguments.packing.is_some(), "--packing"),
        (arguments.message.is_some(), "--message"),
        (arguments.groups.is_some(), "--groups"),
        (arguments.transform != TransformChoice::Auto, "--transform"),
    ] {
        if given {
            bail!("{flag}: is an option of TFHE sets; leave it out for {set}");
        }
    }
    let batch = arguments.batch.unwrap_or(1);
    if batch == 0 {
        bail!("--batch 0: there must be at least one ciphertext");
    }
    let device = arguments.open()?;
    let say = record::speaker(arguments.json.as_deref());
    say(format!("device    {} ({})", device.info().id, device.info().name));
    say(format!("set       {set}: {}", set.description()));
    let how = Bootstrapping {
        message_ratio: arguments.ratio,
        few_keys: arguments.few_keys,
        independent_slots: matches!(arguments.slots, Slots::Random | Slots::Real),
        real: arguments.slots == Slots::Real,
        ..Default::default()
    };
    if arguments.slot_count.is_some() && op != CkksOperation::Bootstrap {
        bail!("--slot-count: is an option of --op bootstrap; others use all slots");
    }
    let count = arguments.slot_count.unwrap_or(set.slots());
    let job = |level| Job::new(op, level, (arguments.slots, count), how, set);
    let steps = job(arguments.level)?.steps(arguments, batch, set);
    // Keys are those of the operation, whatever its level.
    let loaded = Loaded::new(arguments, set, &device, &job(arguments.level)?, &say)?;
    let (mut records, mut failure) = (Vec::new(), Ok(()));
    for (level, batch) in steps {
        let measured = job(Some(level))
            .and_then(|job| measure(arguments, set, &device, &loaded, &job, batch, &say));
        match measured {
            Ok(record) => {
                report(&record, &say);
                records.push(record);
            }
            Err(error) => {
                failure = Err(error.context(format!("a batch of {batch} at level {level}")));
                break;
            }
        }
    }
    // Estimates take part of a second: no result waits for them.
    for warning in set.warnings() {
        say(format!("warning   {warning}"));
    }
    let fails = NoiseModel::new(set).bootstrapping_failure();
    if let (CkksOperation::Bootstrap, Ok(fails)) = (op, fails) {
        say(format!(
            "fails     2^{:.1} loses bits, 2^{:.1} all, by the model",
            fails.degraded, fails.destroyed
        ));
    }
    // What was measured before a failure is kept.
    if let (Some(path), Some(first)) = (&arguments.json, records.first()) {
        let value = match arguments.sweep {
            Some(_) => serde_json::to_value(&records)?,
            None => serde_json::to_value(first)?,
        };
        record::write_json(path, &value)?;
    }
    if let (Some(folder), false) = (&arguments.plot, records.is_empty()) {
        let runs: Vec<_> = records.iter().map(Record::to_plot).collect();
        for path in plot::ckks_sweep(folder, &runs)? {
            say(format!("plot      {path}"));
        }
    }
    failure.map(|()| records.iter().all(|record| record.wrong == 0))
}

fn report(record: &Record, say: &dyn Fn(String)) {
    let bits = record.precision_bits;
    say(format!(
        "{:<9} {:.3} ms a batch of {} (min {:.3}, max {:.3}), {:.3} ms each, at level {} ({} \
         limbs)",
        record.op,
        record.ms.median,
        record.batch,
        record.ms.min,
        record.ms.max,
        record.ms_each,
        record.level,
        record.limbs
    ));
    if let Some(ms) = record.ms_queued {
        say(format!(
            "queued    {ms:.3} ms a batch of {}, {} with one wait",
            record.batch, record.repeat
        ));
    }
    say(format!(
        "precision {:.1} bits in the mean, {:.1} at worst; deviation 2^{:.1} (model 2^{:.1}); {} \
         slots checked, {} wrong",
        bits.mean,
        bits.worst,
        record.log2_deviation,
        record.log2_model,
        record.checked,
        record.wrong
    ));
    if let Some(digest) = &record.digest {
        say(format!("digest    {digest} of the words of all results"));
    }
    let gib = |bytes: u64| bytes as f64 / (1u64 << 30) as f64;
    let host = record
        .peak_memory_bytes
        .map_or_else(String::new, |b| format!(", {:.2} GiB of the host at most", gib(b)));
    say(format!("memory    {:.2} GiB on the device{host}", gib(record.device_bytes)));
}

impl Record {
    fn to_plot(&self) -> plot::CkksRun {
        plot::CkksRun {
            device: self.device.clone(),
            backend: self.backend.clone(),
            set: self.set.clone(),
            op: self.op.clone(),
            batch: self.batch,
            level: self.level,
            limbs: self.limbs,
            per_s: self.per_s,
            ms: plot::Median { median: self.ms.median },
            log2_deviation: self.log2_deviation,
            log2_model: self.log2_model,
        }
    }
}

/// What the command line leaves open of loading, and what not.
fn load_options(arguments: &Arguments, set: &CkksParameters, device: &Device) -> Result<Options> {
    let loader = device.backend().poly();
    let loader = loader.with_context(|| format!("{} runs no CKKS", device.info().id))?;
    let switching = arguments.key_switch.map_or_else(Default::default, |k| k.of(set));
    let own = loader.plan(&*switching.ring(set)?);
    options(set, arguments.key_switch, &arguments.plan, own)
}

/// Keys of one operation, on the device.
struct Loaded {
    client: ClientKey,
    server: ServerKey,
    keygen_s: f64,
    load_s: f64,
    plan: String,
    plan_from: PlanSource,
}

impl Loaded {
    fn new(
        arguments: &Arguments,
        set: &CkksParameters,
        device: &Device,
        job: &Job,
        say: &dyn Fn(String),
    ) -> Result<Self> {
        let progress = TerminalProgress::new().with_lines();
        let start = Instant::now();
        let client = ClientKey::generate_seeded_for_tests(set, seed_bytes(arguments.seed))?;
        let options = load_options(arguments, set, device)?;
        let keys = StreamedKeys::new(&client, job.keys(set)?)?;
        let whole = arguments.whole_keys.then(|| keys.whole(&progress)).transpose()?;
        let keygen_s = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let (device, progress) = (device.backend(), &progress);
        let server = match &whole {
            Some(keys) => ServerKey::load(device, keys, &options, progress)?,
            None => ServerKey::load_streamed(device, &keys, &options, progress)?,
        };
        drop(whole);
        let load_s = start.elapsed().as_secs_f64();
        let engine = server.engine();
        let plan = PolyOptions { plan: Some(*engine.plan()), ..options.device }.to_string();
        let plan_from = engine.plan_source();
        let joined = match (server.joins_digits(), options.sum_keys) {
            (true, true) => "digits joined, their keys summed",
            (true, false) => "digits joined",
            (false, _) => "digits apart",
        };
        let switching = server.key_switching();
        say(format!("plan      key switching {switching}, {joined}; {plan} ({plan_from:?})"));
        say(match arguments.whole_keys {
            true => format!("keys      made in {keygen_s:.2} s, loaded in {load_s:.2} s"),
            false => format!("keys      made while they were loaded, in {load_s:.2} s"),
        });
        Ok(Self { client, server, keygen_s, load_s, plan, plan_from })
    }
}

/// What runs of one operation showed.
struct Measured {
    samples: Vec<f64>,
    checked: Checked,
    /// The model's deviation.
    model: f64,
    /// What operations of the device have: a recording, a time without waiting, words.
    record_s: f64,
    ms_queued: Option<f64>,
    digest: Option<String>,
    first_result: Option<FirstResult>,
}

impl Measured {
    fn on_host(samples: Vec<f64>, checked: Checked, model: f64) -> Self {
        let (record_s, ms_queued, digest, first_result) = (0.0, None, None, None);
        Self { samples, checked, model, record_s, ms_queued, digest, first_result }
    }
}

/// What is measured, with its keys and the slots of its inputs.
struct Run<'a> {
    arguments: &'a Arguments,
    set: &'a CkksParameters,
    loaded: &'a Loaded,
    job: &'a Job,
    encoder: Encoder,
    scale: f64,
    /// Of each input, of each ciphertext of the batch.
    plain: Vec<Vec<Vec<Complex64>>>,
}

impl Run<'_> {
    fn encrypt(&self, z: &[Complex64]) -> ckks::Result<Ciphertext> {
        let encoded = self.encoder.encode(z, self.scale)?;
        let within = self.loaded.client.within(self.job.largest());
        within.encrypt_plaintext(&encoded, self.job.level)
    }

    fn encodes(&self) -> Result<Measured> {
        let (encoder, scale) = (&self.encoder, self.scale);
        let samples = timed(self.arguments.repeat, || {
            Ok(self.plain[0].iter().try_for_each(|z| encoder.encode(z, scale).map(drop))?)
        })?;
        let mut checked = Checked::default();
        for z in &self.plain[0] {
            let encoded = encoder.encode(z, scale)?;
            let coefficients: Vec<f64> = encoded.coefficients().iter().map(|&c| c as f64).collect();
            // Half a unit of each coefficient, all of one sign at worst.
            let allowed = self.set.degree() as f64 / scale;
            checked.add(&encoder.decode(&coefficients, self.set.slots(), scale)?, z, allowed);
        }
        Ok(Measured::on_host(samples, checked, 0.5 / scale))
    }

    fn encrypts(&self) -> Result<Measured> {
        let samples = timed(self.arguments.repeat, || {
            Ok(self.plain[0].iter().try_for_each(|z| self.encrypt(z).map(drop))?)
        })?;
        let encrypted: Vec<Ciphertext> =
            self.plain[0].iter().map(|z| self.encrypt(z)).collect::<ckks::Result<_>>()?;
        let model = encrypted[0].noise().deviation;
        let mut checked = Checked::default();
        for (x, z) in encrypted.iter().zip(&self.plain[0]) {
            checked.add(&self.loaded.client.decrypt(x)?, z, 6.0 * model);
        }
        Ok(Measured::on_host(samples, checked, model))
    }

    fn evaluates(&self, say: &dyn Fn(String)) -> Result<Measured> {
        let (job, arguments) = (self.job, self.arguments);
        let Loaded { client, server, .. } = self.loaded;
        let upload = |batch: &Vec<Vec<Complex64>>| {
            let encrypted: Vec<Ciphertext> =
                batch.iter().map(|z| self.encrypt(z)).collect::<ckks::Result<_>>()?;
            let x = server.upload(&encrypted)?;
            // What is rescaled is a product.
            if job.op == CkksOperation::Rescale { server.mul_unscaled(&x, &x) } else { Ok(x) }
        };
        let inputs = self.plain.iter().map(upload).collect::<ckks::Result<Vec<Ciphertexts>>>()?;
        let start = Instant::now();
        let inputs: Vec<&Ciphertexts> = inputs.iter().collect();
        let run = runner(server, job, &inputs)?;
        let record_s = start.elapsed().as_secs_f64();
        say(format!("recorded  in {record_s:.2} s"));
        run()?;
        server.synchronize()?;
        let first_result = FirstResult::first();
        settle(server, say, || run().map(drop))?;
        let mut outputs = Vec::new();
        let samples = timed(arguments.repeat, || {
            outputs = run()?;
            Ok(server.synchronize()?)
        })?;
        if let Some(first) = &first_result {
            say(format!("first     result after {first}"));
        }
        let again = || {
            outputs = run()?;
            Ok(())
        };
        let ms_queued = Some(queued(arguments.repeat, again, || Ok(server.synchronize()?))?);
        if let Some(path) = &arguments.timeline {
            let recorded = Timeline::start(path);
            run()?;
            server.synchronize()?;
            recorded.write(say)?;
        }
        let results = outputs
            .iter()
            .map(|output| Ok((output.estimate(), server.download(output)?)))
            .collect::<Result<Vec<_>>>()?;
        let mut checked = Checked::default();
        let model = check(client, job, &self.plain, &results, &mut checked)?;
        let digest = Some(digest_of(results.iter().flat_map(|(_, all)| all)));
        Ok(Measured { samples, checked, model, record_s, ms_queued, digest, first_result })
    }
}

fn measure(
    arguments: &Arguments,
    set: &CkksParameters,
    device: &Device,
    loaded: &Loaded,
    job: &Job,
    batch: usize,
    say: &dyn Fn(String),
) -> Result<Record> {
    let slots = |i, k| job.slots(arguments.seed + (i * batch + k) as u64, job.count);
    let plain = (0..job.inputs()).map(|i| (0..batch).map(|k| slots(i, k)).collect()).collect();
    let encoder = Encoder::new(set.chain().log2_degree())?;
    // Levels of a bootstrapping have no canonical scale.
    let scale = set.scale(job.level).or(set.scale(0)).context("a set has a level 0")?;
    let run = Run { arguments, set, loaded, job, encoder, scale, plain };
    let measured = match job.op {
        CkksOperation::Encode => run.encodes(),
        CkksOperation::Encrypt => run.encrypts(),
        _ => run.evaluates(say),
    };
    Ok(record_of(&run, device, batch, measured?))
}

fn record_of(run: &Run<'_>, device: &Device, batch: usize, measured: Measured) -> Record {
    let Run { arguments, set, loaded, job, .. } = run;
    let Measured { samples, checked, model, record_s, ms_queued, digest, first_result } = measured;
    let (ms, info, server) = (Milliseconds::of(&samples), device.info(), &loaded.server);
    let bootstraps = job.op == CkksOperation::Bootstrap;
    let set_ratio = || set.bootstrapping().map(|b| b.message_ratio());
    Record {
        scheme: "ckks",
        device: info.name.clone(),
        backend: info.kind.to_string(),
        profile: arguments.device.split_once('@').map(|(_, profile)| profile.to_owned()),
        set: set.name().into(),
        op: name(job.op),
        slots: format!("{:?}", job.slots).to_lowercase(),
        slot_count: job.count,
        batch,
        level: job.level,
        limbs: set.chain().base(job.level).len(),
        repeat: arguments.repeat,
        ms,
        ms_each: ms.median / batch as f64,
        ms_queued,
        per_s: 1e3 * batch as f64 / ms.median,
        checked: checked.components / 2,
        wrong: checked.wrong,
        precision_bits: Precision { mean: checked.mean_bits(), worst: checked.worst_bits() },
        max_error: checked.max_error,
        digest,
        log2_deviation: checked.deviation().log2(),
        log2_model: model.log2(),
        keygen_s: loaded.keygen_s,
        load_s: loaded.load_s,
        record_s,
        first_result,
        device_bytes: server.memory().device_bytes,
        peak_memory_bytes: record::peak_memory_bytes(),
        message_ratio: if bootstraps { arguments.ratio.or_else(set_ratio) } else { None },
        few_keys: bootstraps && arguments.few_keys,
        whole_keys: arguments.whole_keys,
        memory_limit: arguments.memory_limit,
        key_switching: server.key_switching().to_string(),
        join_digits: server.joins_digits(),
        sum_keys: server.joins_digits() && server.options().sum_keys,
        divide_sines: bootstraps && server.options().divide_sines,
        plan: loaded.plan.clone(),
        plan_from: loaded.plan_from,
        seed: arguments.seed,
        version: env!("CARGO_PKG_VERSION"),
        commit: record::commit(),
        date: record::today(),
    }
}

/// Runs a job's operation, which is one recording; a bootstrapping that is divided records its
/// parts itself, when it first runs.
fn runner<'a>(
    server: &'a ServerKey,
    job: &'a Job,
    inputs: &'a [&'a Ciphertexts],
) -> Result<Box<dyn Fn() -> Result<Vec<Ciphertexts>> + 'a>> {
    if let (CkksOperation::Bootstrap, true) = (job.op, server.options().divide_sines) {
        let run = || Ok(vec![server.bootstrap_with(inputs[0], job.bootstrapping())?]);
        run()?;
        return Ok(Box::new(run));
    }
    let recording = server.record(|b| {
        let x: Vec<Node> = inputs
            .iter()
            .map(|x| b.input_with(x.level(), x.scale(), x.slots()))
            .collect::<ckks::Result<_>>()?;
        job.record(b, &x)
    })?;
    Ok(Box::new(move || Ok(recording.run(inputs)?)))
}

/// Compares every slot of every result; the model's deviation.
fn check(
    client: &ClientKey,
    job: &Job,
    plain: &[Vec<Vec<Complex64>>],
    results: &[(Estimate, Vec<Ciphertext>)],
    checked: &mut Checked,
) -> Result<f64> {
    let mut model: f64 = 0.0;
    for (number, (estimate, ciphertexts)) in results.iter().enumerate() {
        model = model.max(estimate.deviation);
        for (k, ciphertext) in ciphertexts.iter().enumerate() {
            let x: Vec<&[Complex64]> = plain.iter().map(|batch| batch[k].as_slice()).collect();
            let allowed = TAIL * estimate.deviation + estimate.bias;
            checked.add(&client.decrypt(ciphertext)?, &job.expected(&x, number), allowed);
        }
    }
    Ok(model)
}

/// Of the words of ciphertexts, in their order.
pub fn digest_of<'a>(ciphertexts: impl Iterator<Item = &'a Ciphertext>) -> String {
    let halves: Vec<Vec<u8>> = ciphertexts
        .flat_map(|c| [c.b(), c.a()])
        .map(|words| words.iter().flat_map(|word| word.to_le_bytes()).collect())
        .collect();
    girih_backend::cache_key(&halves.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_tell_words_and_their_order_apart() -> Result<()> {
        let set = CkksParameters::by_name("INSECURE_CKKS_D40_N10")?;
        let client = ClientKey::generate_seeded_for_tests(&set, [1; 32])?;
        let encrypt = |x: f64| client.encrypt(&[x]);
        let (x, y) = (encrypt(0.5)?, encrypt(0.5)?);
        let of = |all: &[&Ciphertext]| digest_of(all.iter().copied());
        let again = Ciphertext::from_bytes(&x.to_bytes()?)?;
        assert_eq!(of(&[&x, &y]), of(&[&again, &y]));
        assert_ne!(of(&[&x, &y]), of(&[&y, &x]));
        let mut words = x.a().to_vec();
        words[7] ^= 1;
        let changed = Ciphertext::from_parts(x.header(), x.b().to_vec(), words)?;
        assert_ne!(of(&[&x]), of(&[&changed]));
        Ok(())
    }
}
