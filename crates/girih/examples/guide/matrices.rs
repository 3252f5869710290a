//! Docs: docs/guide/matrices.md.

use super::Failure;
use girih::ckks::prelude::*;

pub fn run(set: &str) -> Result<(), Failure> {
    let set = CkksParameters::by_name(set)?;
    // ANCHOR: matrix
    let matrix = Matrix::new(2, 2, &[0.5, -1.0, 0.25, 0.75])?; // row after row
    let client = ClientKey::generate(&set)?;
    let mut rotations = matrix.rotations()?; // what this product rotates by
    rotations.push(1);
    let kinds = rotations.iter().filter_map(|&by| KeyKind::rotation(&set, by));
    let keys = EvaluationKeys::generate(&client, kinds, &NoProgress)?;
    let server = Device::open("cpu")?.load(&keys)?;

    let x = server.upload(&[client.encrypt(&[0.4, 0.8])?])?;
    let y = server.matrix_vector(&matrix, &x)?;
    let y = client.decrypt_real(&server.download(&y)?[0])?;
    assert!((y[0] + 0.6).abs() < 1e-6 && (y[1] - 0.7).abs() < 1e-6);
    // ANCHOR_END: matrix

    // ANCHOR: sum
    let mean = server.mul_constant(&server.inner_sum(&x, 2, 1)?, 0.5)?; // in every slot
    let mean = client.decrypt_real(&server.download(&mean)?[0])?;
    assert!(mean.iter().all(|slot| (slot - 0.6).abs() < 1e-6));
    // ANCHOR_END: sum
    Ok(())
}
