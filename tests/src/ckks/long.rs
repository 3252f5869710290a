//! Many bootstrappings, for `cargo xtask test --long`: not one slot beyond twelve deviations.

use super::evaluator::{Parties, slots, wrong_slots};
use girih::ckks::CkksParameters;
use girih::ckks::Result;
use girih::ckks::server::Bootstrapping;
use girih_backend::Backend;

/// What is run: set and number of bootstrappings.
pub const RUNS: [(&str, usize); 2] = [("INSECURE_CKKS_D40_N10", 1000), ("CKKS_D40", 20)];

/// Bootstraps `count` random vectors of full slots, each under new noise. One line for each that
/// has a wrong slot, and the largest error of all.
///
/// # Errors
/// For unknown sets, and failures of the device.
pub fn bootstrappings(device: &dyn Backend, set: &str, count: usize) -> Result<(Vec<String>, f64)> {
    let how = Bootstrapping::default();
    let parameters = CkksParameters::by_name(set)?;
    let parties = Parties::new(device, set, how.keys(&parameters, parameters.slots())?)?;
    let server = &parties.server;
    let scale = parameters.scale(0).unwrap_or(1.0);
    let recording = server.record(|b| {
        let x = b.input_with(0, scale, parameters.slots())?;
        Ok(vec![b.bootstrap_with(&x, &how)?])
    })?;
    let (mut lines, mut largest) = (Vec::new(), 0f64);
    for number in 0..count {
        let x = slots(parameters.slots(), 1000 + number as u64);
        let input = server.upload(&[parties.client.encrypt_at(&x, 0)?])?;
        let output = recording.run(&[&input])?;
        let (wrong, error) = wrong_slots(&parties, &output[0], &x, 12.0)?;
        largest = largest.max(error);
        if wrong > 0 {
            lines.push(format!("number {number}: {wrong} slots err by up to {error:e}"));
        }
    }
    Ok((lines, largest))
}
