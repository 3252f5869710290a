//! The cheapest sets by the cost model, measured as `bench` does.

use super::space::Candidate;
use super::{Arguments, By, Purpose};
use crate::record::{self, Record};
use crate::{bench, sets};
use anyhow::{Result, bail};
use girih::Device;
use girih::tfhe::ParameterSet;

/// Timed runs of one ciphertext, for each run of a batch: single ones vary more.
const SINGLES: u32 = 5;

/// What one set measured: a batch, and one ciphertext.
struct Measured {
    batch: Record,
    one: Record,
}

/// The operation that measures sets of this purpose and whose results can be checked on any of
/// them: bench's look-ups take messages of one size.
fn operation(purpose: Purpose, set: &ParameterSet) -> bench::GateOperation {
    match purpose {
        Purpose::LookUp(bits) if bits == bench::GateOperation::Lut.message_bits(set) => {
            bench::GateOperation::Lut
        }
        _ => bench::GateOperation::Nand,
    }
}

fn measure(arguments: &Arguments, device: &Device, set: &ParameterSet) -> Result<Measured> {
    let op = operation(arguments.message, set);
    let options = |repeat: u32| {
        let repeat = repeat.to_string();
        crate::parsed::<bench::Arguments>(&["bench", "--op", &bench::name(op), "--repeat", &repeat])
    };
    let mut many = options(arguments.repeat);
    many.batch = arguments.batch;
    let batch = bench::batch_size(&many, set, device, 256)?;
    let loaded = bench::load(&many, set, device)?;
    let single = options(SINGLES * arguments.repeat);
    Ok(Measured {
        one: bench::measure(&single, op, set, device, &loaded, set.packing())?,
        batch: bench::measure(&many, op, set, device, &loaded, batch)?,
    })
}

/// Measures the first candidates and prints them in the order of what they took.
pub fn run(arguments: &Arguments, found: &[Candidate], say: &dyn Fn(String)) -> Result<bool> {
    let device = Device::open(&arguments.device)?;
    say(format!("device    {} ({})", device.info().id, device.info().name));
    let mut all: Vec<Measured> = Vec::new();
    for candidate in found.iter().take(arguments.measure) {
        // A device may lack the memory or the kernel for one; the others are still to be measured.
        match measure(arguments, &device, &candidate.set) {
            Ok(measured) => {
                say(format!(
                    "{}: {:.0} a second, one in {:.3} ms, {} wrong",
                    candidate.set.name(),
                    measured.batch.bootstraps_per_s,
                    measured.one.ms.median,
                    measured.batch.wrong + measured.one.wrong
                ));
                all.push(measured);
            }
            Err(error) => say(format!("{}: skipped: {error:#}", candidate.set.name())),
        }
        // For whoever ends a long search early.
        save(arguments, &all)?;
    }
    if all.is_empty() {
        bail!("no set of these ran on {}", device.info().name);
    }
    match arguments.by {
        By::Throughput => {
            all.sort_by(|a, b| b.batch.bootstraps_per_s.total_cmp(&a.batch.bootstraps_per_s));
        }
        By::Latency => all.sort_by(|a, b| a.one.ms.median.total_cmp(&b.one.ms.median)),
    }
    print(&all, say);
    save(arguments, &all)?;
    Ok(all.iter().all(|m| m.batch.wrong + m.one.wrong == 0))
}

fn print(all: &[Measured], say: &dyn Fn(String)) {
    let row = |m: &Measured| {
        [
            m.batch.set.clone(),
            format!("{:.0}", m.batch.bootstraps_per_s),
            format!("{:.3}", m.one.ms.median),
            format!("{:.3}", m.batch.noise.sigma_out / m.batch.noise.model),
            (m.batch.checked + m.one.checked).to_string(),
            (m.batch.wrong + m.one.wrong).to_string(),
        ]
    };
    let rows: Vec<_> = all.iter().map(row).collect();
    let heads = ["measured", "a second", "one, ms", "noise of the model's", "checked", "wrong"];
    sets::lines(heads, &rows).into_iter().for_each(say);
}

fn save(arguments: &Arguments, all: &[Measured]) -> Result<()> {
    let Some(path) = &arguments.json else { return Ok(()) };
    let records: Vec<&Record> = all.iter().flat_map(|m| [&m.batch, &m.one]).collect();
    Ok(record::write_json(path, &serde_json::to_value(records)?)?)
}
