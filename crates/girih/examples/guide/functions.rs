//! Docs: docs/guide/functions.md.

use super::Failure;
use girih::ckks::prelude::*;

pub fn run(set: &str) -> Result<(), Failure> {
    let set = CkksParameters::by_name(set)?;
    let client = ClientKey::generate(&set)?;
    let keys = EvaluationKeys::generate(&client, [KeyKind::Multiplication], &NoProgress)?;
    let server = Device::open("cpu")?.load(&keys)?;
    // ANCHOR: sigmoid
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let x = server.upload(&[client.within(8.0).encrypt(&[1.5, -3.0])?])?;
    let (y, polynomial) = server.function(&x, sigmoid, -8.0..=8.0, 1e-4)?;
    println!("degree {}, {} levels", polynomial.degree(), polynomial.levels());
    let y = client.decrypt_real(&server.download(&y)?[0])?;
    assert!((y[0] - sigmoid(1.5)).abs() < 2e-4 && (y[1] - sigmoid(-3.0)).abs() < 2e-4);
    // ANCHOR_END: sigmoid

    // ANCHOR: sign
    // Right to 0.01 for numbers further than 0.05 from zero.
    let sign = CompositeSign::new(0.05, 0.01)?;
    let x = server.upload(&[client.encrypt(&[0.3, -0.06])?])?;
    let signs = server.sign(&x, 1.0, &sign)?; // of numbers up to 1
    let signs = client.decrypt_real(&server.download(&signs)?[0])?;
    assert!((signs[0] - 1.0).abs() < 0.02 && (signs[1] + 1.0).abs() < 0.02);
    // ANCHOR_END: sign

    // ANCHOR: recording
    let recording = server.record(|b| {
        let x = b.input(set.default_level())?;
        let square = b.square(&x)?;
        Ok(vec![b.add(&square, &x)?])
    })?;
    let full = server.upload(&[client.encrypt(&vec![0.5; set.slots()])?])?;
    let result = &recording.run(&[&full])?[0];
    let result = client.decrypt_real(&server.download(result)?[0])?;
    assert!((result[0] - 0.75).abs() < 1e-6);
    // ANCHOR_END: recording
    Ok(())
}
