//! Numbers from slots to TFHE ciphertexts and back, within what the noise model says.

mod support;

use girih_ckks::ClientKey;
use girih_tfhe::LweCiphertexts;
use support::{Parties, wave};

/// Phases as parts of a turn, from -1/2 to 1/2.
fn turns(parties: &Parties, x: &LweCiphertexts) -> Vec<f64> {
    let modulus = 2f64.powi(x.log2_modulus() as i32);
    let phases = parties.tfhe.phases(x).expect("of this key");
    phases.into_iter().map(|p| p as f64 / modulus).map(|f| f - f.round()).collect()
}

fn deviation(errors: &[f64]) -> f64 {
    (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt()
}

fn there_and_back(tfhe: &str, slots: usize, log2_modulus: u32) {
    let parties = Parties::new("INSECURE_CKKS_D40_N10", tfhe, slots);
    let server = parties.load();
    let switch = parties.switch(&server);
    let values = wave(slots);
    let x = server.upload(&[parties.ckks.encrypt(&values).unwrap()]).unwrap();

    let factor = 0.23;
    let lwe = switch.to_tfhe(&x, slots, factor, log2_modulus).unwrap();
    assert_eq!((lwe.len(), lwe.key_id()), (slots, Some(parties.tfhe.key_id())));
    let errors: Vec<f64> =
        turns(&parties, &lwe).iter().zip(&values).map(|(f, v)| f - factor * v).collect();
    let model = lwe.variance().sqrt() / 2f64.powi(log2_modulus as i32);
    let ratio = deviation(&errors) / model;
    println!(
        "{tfhe}, {slots} slots: to TFHE 2^{:.1} of a turn, {ratio:.2} of the model",
        model.log2()
    );
    assert!((0.5..1.6).contains(&ratio), "{ratio} of the deviation of the model");

    let back = switch.to_ckks(&lwe).unwrap();
    assert_eq!(back.level(), server.set().default_level());
    let errors = errors_of(&parties.ckks, &server, &back, |j| {
        (2.0 * std::f64::consts::PI * factor * values[j]).sin()
    });
    let share = (slots as f64 / server.set().slots() as f64).sqrt();
    let model = back.estimate().deviation * share;
    let ratio = deviation(&errors) / model;
    println!("{tfhe}, {slots} slots: and back 2^{:.1}, {ratio:.2} of the model", model.log2());
    assert!((0.2..1.6).contains(&ratio), "{ratio} of the deviation of the model");
}

fn errors_of(
    client: &ClientKey,
    server: &girih_ckks::server::ServerKey,
    x: &girih_ckks::server::Ciphertexts,
    wanted: impl Fn(usize) -> f64,
) -> Vec<f64> {
    let found = client.decrypt_real(&server.download(x).unwrap()[0]).unwrap();
    found.iter().enumerate().map(|(j, y)| y - wanted(j)).collect()
}

#[test]
fn numbers_go_to_prime_words_and_back() {
    there_and_back("INSECURE_LARGE", 64, 24);
}

#[test]
fn numbers_go_to_the_native_torus_and_back() {
    there_and_back("INSECURE_TOY_TORUS", 16, 64);
}
