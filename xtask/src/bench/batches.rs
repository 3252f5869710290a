//! Sizes of batches, and one after the other measured and written.

use super::arguments::{Arguments, Sweep};
use crate::plot;
use crate::record::{self, Record};
use crate::timeline::Timeline;
use anyhow::{Result, bail};
use girih::tfhe::ParameterSet;
use girih::{Device, DeviceKind};

/// Messages in the batches that papers and our tables compare,
/// before they are rounded up to whole ciphertexts.
pub const TABLE_BATCH: usize = 16_384;

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
