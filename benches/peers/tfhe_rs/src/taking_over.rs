//! What it takes to bring keys and ciphertexts over, beside loading girih's own.

use crate::Failure;
use crate::arguments::Wanted;
use girih::device::{Device, LoadOptions, NoProgress};
use girih::tfhe::{EvaluationKeys, ParameterSet};
use girih_tfhe_rs::{Keys, ServerKey};
use rayon::prelude::*;
use std::time::Instant;
use tfhe::prelude::*;
use tfhe::{ClientKey, CompressedServerKey, FheUint64};

const NUMBERS: usize = 1000;

/// The shortest and the median of some runs, in ms.
fn shortest<T>(
    runs: usize,
    mut run: impl FnMut() -> Result<T, Failure>,
) -> Result<([f64; 2], T), Failure> {
    let mut times = Vec::with_capacity(runs);
    let mut last = None;
    for _ in 0..runs {
        // What the run before made is not dropped within the time.
        drop(last.take());
        let begin = Instant::now();
        last = Some(run()?);
        times.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    let last = last.ok_or("no run")?;
    Ok(([times[0], times[runs / 2]], last))
}

pub fn run(
    wanted: &Wanted,
    device: &Device,
    client: &ClientKey,
    keys: &CompressedServerKey,
) -> Result<(), Failure> {
    let mut record = serde_json::Map::new();
    let mut note = |what: &str, [best, median]: [f64; 2]| {
        println!("{what:>48}: best {best:>8.1} ms, median {median:>8.1} ms");
        record.insert(what.into(), serde_json::json!({ "best_ms": best, "median_ms": median }));
    };
    println!("{}, {} threads", device.info().id, rayon::current_num_threads());

    let set = ParameterSet::by_name("TFHERS_2_2")?;
    let own_client = girih::tfhe::ClientKey::generate(&set)?;
    let own = EvaluationKeys::generate(&own_client, &NoProgress)?;
    let options = LoadOptions::default();
    let load = || -> Result<girih::tfhe::ServerKey, Failure> {
        let key = girih::tfhe::ServerKey::load(device.backend(), &own, &options, &NoProgress)?;
        key.engine().synchronize()?;
        Ok(key)
    };
    note("girih's own keys to a loaded server", shortest(wanted.runs, load)?.0);
    let mut written = Vec::new();
    tfhe::safe_serialization::safe_serialize(keys, &mut written, 1 << 31)?;
    println!("{:>48}: {} bytes", "the client's compressed keys", written.len());
    let read = || Ok(girih_tfhe_rs::bytes::keys(&written)?);
    note("these bytes to tfhe::CompressedServerKey", shortest(wanted.runs, read)?.0);
    note("tfhe::CompressedServerKey to Keys", {
        let mut copies: Vec<_> = (0..wanted.runs).map(|_| keys.clone()).collect();
        shortest(wanted.runs, || Ok(Keys::new(copies.pop().ok_or("a copy a run")?)?))?.0
    });
    let load = || -> Result<ServerKey, Failure> {
        let server = ServerKey::load(device.backend(), keys)?;
        server.integers().synchronize()?;
        Ok(server)
    };
    let (times, server) = shortest(wanted.runs, load)?;
    note("tfhe::CompressedServerKey to a loaded server", times);

    let plain: Vec<u64> =
        (0..NUMBERS as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let theirs: Vec<FheUint64> = plain.par_iter().map(|&x| FheUint64::encrypt(x, client)).collect();
    let mut copies: Vec<_> = (0..wanted.runs).map(|_| theirs.clone()).collect();
    let (times, ours) =
        shortest(wanted.runs, || Ok(server.convert(copies.pop().ok_or("a copy a run")?)?))?;
    note("1,000 FheUint64 to girih's words", times);
    let (times, back) = shortest(wanted.runs, || Ok(server.revert(&ours)?))?;
    note("girih's words to 1,000 FheUint64", times);
    // What both are held to: reading and writing as many bytes, once.
    let bytes = ours.ciphertexts().words();
    let copy = || Ok(bytes.par_chunks(1 << 16).map(<[u32]>::to_vec).collect::<Vec<_>>());
    note("a copy of as many bytes", shortest(wanted.runs, copy)?.0);
    let back: Vec<u64> = back.par_iter().map(|x| x.decrypt(client)).collect();
    if back != plain {
        return Err("numbers come back as others".into());
    }
    if let Some(path) = &wanted.json {
        std::fs::write(path, serde_json::to_string_pretty(&record)? + "\n")?;
    }
    Ok(())
}
