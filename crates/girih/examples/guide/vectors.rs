//! Docs: docs/guide/vectors.md.

use super::Failure;
use girih::ckks::prelude::*;

pub fn run(set: &str) -> Result<(), Failure> {
    let set = CkksParameters::by_name(set)?;
    // ANCHOR: keys
    let client = ClientKey::generate(&set)?;
    let kinds = [Some(KeyKind::Multiplication), KeyKind::rotation(&set, 1)];
    let keys = EvaluationKeys::generate(&client, kinds.into_iter().flatten(), &NoProgress)?;
    let server = Device::open("cpu")?.load(&keys)?;
    // ANCHOR_END: keys

    // ANCHOR: product
    let x = server.upload(&[client.encrypt(&[0.5, -0.25, 0.125, 1.0])?])?;
    let next = server.rotate(&x, 1)?; // slot j has what slot j + 1 had
    let y = server.mul(&x, &next)?;
    let y = client.decrypt_real(&server.download(&y)?[0])?;
    for (got, want) in y.iter().zip([-0.125, -0.03125, 0.125, 0.5]) {
        assert!((got - want).abs() < 1e-6);
    }
    // ANCHOR_END: product

    // ANCHOR: levels
    let cube = server.mul(&server.square(&x)?, &x)?;
    assert_eq!(cube.level(), x.level() - 2);
    let cube = &server.download(&cube)?[0];
    let decrypted = client.decrypt_with_precision(cube)?;
    println!("{:.1} bits after the point can be trusted", decrypted.precision_bits);
    let worst = (-decrypted.precision_bits).exp2();
    assert!((decrypted.values[0].re - 0.125).abs() < worst);
    // ANCHOR_END: levels

    // ANCHOR: share
    // What others are to see: noise hides what the error tells about the key. How large the error
    // may be is what the owner of the key knows of the circuit, and not what the result claims.
    let fresh = client.encrypt(&[0.0; 4])?.noise().into();
    let expected = server.estimate(&[fresh], |b| {
        let x = b.input_with(x.level(), x.scale(), x.slots())?;
        let square = b.square(&x)?;
        Ok(vec![b.mul(&square, &x)?])
    })?;
    match client.decrypt_to_share(cube, 10, expected[0].largest_error()) {
        Ok(shared) => println!("shared: {:.3}", shared.values[0].re),
        Err(refused) => println!("{refused}"),
    }
    // ANCHOR_END: share
    Ok(())
}
