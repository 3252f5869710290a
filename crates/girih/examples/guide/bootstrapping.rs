//! Docs: docs/guide/bootstrapping.md.

use super::Failure;
use girih::ckks::prelude::*;

pub fn run(set: &str) -> Result<(), Failure> {
    let set = CkksParameters::by_name(set)?;
    // ANCHOR: bootstrap
    let client = ClientKey::generate(&set)?;
    let kinds = Bootstrapping::default().keys(&set, 16)?; // for vectors of 16 slots
    let keys = EvaluationKeys::generate(&client, kinds, &NoProgress)?;
    let server = Device::open("cpu")?.load(&keys)?;

    let values: Vec<f64> = (0..16).map(|i| f64::from(i) / 16.0 - 0.5).collect();
    let lowest = set.bootstrap_level(); // level 3 of the default set
    let spent = server.upload(&[client.encrypt_at(&values, lowest)?])?;
    let fresh = server.bootstrap(&spent)?;
    assert_eq!(fresh.level(), set.default_level());
    let back = client.decrypt_real(&server.download(&fresh)?[0])?;
    assert!(back.iter().zip(&values).all(|(x, y)| (x - y).abs() < 1e-3));
    // ANCHOR_END: bootstrap
    Ok(())
}
