//! `cargo xtask tune --set CKKS_...`: key switching and plans, measured by one operation.

use super::bench::{settle, timed};
use super::job::Job;
use crate::bench::{CkksOperation, Operation, Slots, name, seed_bytes};
use crate::record::Milliseconds;
use crate::tune::arguments::{Arguments, told};
use anyhow::{Context, Result, bail};
use girih::Device;
use girih::ckks::server::{Bootstrapping, Ciphertexts, KeySwitching, Node, Options, ServerKey};
use girih::ckks::{self, Ciphertext, CkksParameters, ClientKey, EvaluationKeys, PolyOptions};
use girih::device::{TerminalProgress, TunedPlan, TunedPlans};
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

/// Seed of keys and inputs.
const SEED: u64 = 1;

/// What one plan measured.
#[derive(Serialize)]
struct Measurement {
    set: String,
    op: String,
    batch: usize,
    key_switching: KeySwitching,
    options: PolyOptions,
    ms: Milliseconds,
    per_s: f64,
    load_s: f64,
    device_bytes: u64,
    checksum: u64,
}

/// The operation with its keys and inputs, which all plans share.
struct Bench {
    set: CkksParameters,
    job: Job,
    keys: EvaluationKeys,
    inputs: Vec<Vec<Ciphertext>>,
}

impl Bench {
    fn new(set: &CkksParameters, op: Operation, batch: usize) -> Result<Self> {
        let op = match op {
            Operation::Ckks(
                CkksOperation::Encode | CkksOperation::Encrypt | CkksOperation::Rescale,
            )
            | Operation::Gate(_)
            | Operation::Large(_)
            | Operation::Integer(_)
            | Operation::Discrete(_) => bail!(
                "--op {}: plans of {set} are measured by multiply, square, rotate, hoisted, \
                   transform, chebyshev or bootstrap",
                name(op)
            ),
            Operation::Ckks(op) => op,
        };
        let job = Job::new(op, None, (Slots::Random, set.slots()), Bootstrapping::default(), set)?;
        let client = ClientKey::generate_seeded_for_tests(set, seed_bytes(SEED))?;
        let keys = EvaluationKeys::generate(
            &client,
            job.keys(set)?,
            &TerminalProgress::new().with_lines(),
        )?;
        let inputs = (0..job.inputs()).map(|i| {
            let one = |k| {
                let slots = job.slots(SEED + (i * batch + k) as u64, set.slots());
                client.within(job.largest()).encrypt_at(&slots, job.level)
            };
            (0..batch).map(one).collect::<ckks::Result<Vec<_>>>()
        });
        let inputs = inputs.collect::<ckks::Result<_>>()?;
        Ok(Self { set: set.clone(), job, keys, inputs })
    }

    fn measure(
        &self,
        device: &Device,
        key_switching: KeySwitching,
        options: PolyOptions,
        repeat: usize,
    ) -> Result<Measurement> {
        let start = Instant::now();
        let load = Options::default()
            .with_key_switching(key_switching)
            .with_device(PolyOptions { untuned: true, ..options.clone() });
        let server = ServerKey::load(
            device.backend(),
            &self.keys,
            &load,
            &TerminalProgress::new().with_lines(),
        )?;
        let inputs = self.inputs.iter().map(|batch| server.upload(batch));
        let inputs = inputs.collect::<ckks::Result<Vec<Ciphertexts>>>()?;
        let recording = server.record(|b| {
            let x = inputs.iter().map(|x| b.input_with(x.level(), x.scale(), x.slots()));
            let x = x.collect::<ckks::Result<Vec<Node>>>()?;
            self.job.record(b, &x)
        })?;
        let load_s = start.elapsed().as_secs_f64();
        let inputs: Vec<&Ciphertexts> = inputs.iter().collect();
        recording.run(&inputs)?;
        settle(&server, &|_| (), || Ok(()))?;
        let mut outputs = Vec::new();
        let samples = timed(repeat, || {
            outputs = recording.run(&inputs)?;
            Ok(server.synchronize()?)
        })?;
        let ms = Milliseconds::of(&samples);
        let batch = self.inputs[0].len();
        let mut checksum = 0xcbf2_9ce4_8422_2325_u64;
        for output in &outputs {
            for x in server.download(output)? {
                for &word in x.b().iter().chain(x.a()) {
                    checksum = (checksum ^ u64::from(word)).wrapping_mul(0x0100_0000_01b3);
                }
            }
        }
        Ok(Measurement {
            set: self.set.name().into(),
            op: name(self.job.op),
            batch,
            key_switching,
            options,
            per_s: 1e3 * batch as f64 / ms.median,
            ms,
            load_s,
            device_bytes: server.memory().device_bytes,
            checksum,
        })
    }
}

/// Measures and stores; the measurements, and whether all plans yielded the same words.
pub fn run(
    arguments: &Arguments,
    device: &Device,
    set: &CkksParameters,
    path: &Path,
    say: &dyn Fn(String),
) -> Result<(Vec<serde_json::Value>, bool)> {
    let loader = device.backend().poly();
    let loader = loader.with_context(|| format!("{} runs no CKKS", device.info().id))?;
    let op = arguments.op.unwrap_or(Operation::Ckks(CkksOperation::Multiply));
    let bench = Bench::new(set, op, arguments.batch.unwrap_or(1))?;
    say(format!(
        "set       {set}: {} at level {}, batches of {}",
        name(bench.job.op),
        bench.job.level,
        bench.inputs[0].len()
    ));
    say(format!(
        "{:<20}{:<56}{:>12}{:>12}{:>9}",
        "key switching", "plan", "a second", "median ms", "load s"
    ));
    let mut all = Vec::new();
    for switching in [KeySwitching::Hybrid, KeySwitching::klss(set)] {
        let mut plans = loader.alternatives(&*switching.ring(set)?);
        plans.truncate(arguments.most.map_or(usize::MAX, usize::from));
        for options in plans {
            let (name, plan) = (switching.to_string(), options.to_string());
            let measured = bench.measure(device, switching, options, arguments.repeat);
            all.extend(told(say, &format!("{name:<20}{plan:<56}"), measured, |m| {
                format!("{:>12.3}{:>12.3}{:>9.2}", m.per_s, m.ms.median, m.load_s)
            }));
        }
    }
    if all.is_empty() {
        bail!("no plan of {set} ran on {}", device.info().name);
    }
    let agree = all.windows(2).all(|w| w[0].checksum == w[1].checksum);
    if !agree {
        say("the plans differ in their results: nothing is stored".into());
        for m in &all {
            say(format!("  {:016x} {} {}", m.checksum, m.key_switching, m.options));
        }
    } else if !arguments.dry_run {
        store(path, &device.backend().identity(), set, &all, say)?;
    }
    let values = all.iter().map(serde_json::to_value).collect::<Result<_, _>>()?;
    Ok((values, agree))
}

/// Keeps the fastest plan of each key switching, and which of these is the faster.
fn store(
    path: &Path,
    device: &str,
    set: &CkksParameters,
    measured: &[Measurement],
    say: &dyn Fn(String),
) -> Result<()> {
    let (mut plans, note) = TunedPlans::read(path)?;
    if let Some(note) = note {
        say(note);
    }
    let fastest = |of: &dyn Fn(&&Measurement) -> bool| {
        measured.iter().filter(of).max_by(|a, b| a.per_s.total_cmp(&b.per_s))
    };
    for switching in [KeySwitching::Hybrid, KeySwitching::klss(set)] {
        if let Some(best) = fastest(&|m| m.key_switching == switching) {
            let ring = switching.ring(set)?;
            plans.put(TunedPlan::new(device, &*ring, &best.options, best.per_s)?);
        }
    }
    if let Some(best) = fastest(&|_| true) {
        best.key_switching.note(&mut plans, device, set, best.per_s)?;
        say(format!(
            "best      {}, {} ({:.3} a second)",
            best.key_switching, best.options, best.per_s
        ));
    }
    plans.write(path)?;
    say(format!("stored    in {}", path.display()));
    Ok(())
}
