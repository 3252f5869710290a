//! Signs, comparisons, the largest slot and look-ups, and what is refused.

mod support;

use girih_backend::{LoadOptions, NoProgress, Transform};
use girih_ckks::server::Ciphertexts;
use girih_cpu::CpuBackend;
use girih_switching::{Comparator, Error, Switch, SwitchingKeys};
use girih_tfhe::large::{LargeKeys, LargeParameters, LargeServer};
use girih_tfhe::{EvaluationKeys, ParameterSet, ServerKey};
use support::{Parties, wave};

const LOG2_MODULUS: u32 = 16;

fn large(parties: &Parties) -> LargeServer {
    let parameters = LargeParameters::insecure();
    let gadgets =
        Comparator::gadgets(parties.keys.parameters(), &parameters, LOG2_MODULUS, Transform::Fft);
    let keys =
        LargeKeys::generate(&parameters, &parties.tfhe, &gadgets.unwrap(), &NoProgress).unwrap();
    let options = LoadOptions::default().with_transform(Transform::Fft);
    LargeServer::load(&CpuBackend::new(), &keys, &options, &NoProgress).unwrap()
}

#[test]
fn slots_are_compared_exactly_and_come_back() {
    let slots = 16;
    let parties = Parties::new("INSECURE_CKKS_D40_N10", "INSECURE_LARGE", slots);
    let server = parties.load();
    let switch = parties.switch(&server);
    let large = large(&parties);
    let comparator = Comparator::new(&switch, &large, LOG2_MODULUS).unwrap();
    let encrypt = |values: &[f64]| server.upload(&[parties.ckks.encrypt(values).unwrap()]).unwrap();
    let decrypt =
        |x: &Ciphertexts| parties.ckks.decrypt_real(&server.download(x).unwrap()[0]).unwrap();

    // As near to zero as the model says that signs are right but for one in 2^20.
    let probe = comparator.sign(&encrypt(&wave(slots)), 1, 1.0).unwrap();
    let near = probe.resolution.distance(-20.0).expect("bootstrappings fail less");
    println!("2^{:.2} is told from zero, of numbers up to 1", near.log2());
    assert!(near < 0.01, "{near}");
    let mut values = wave(slots);
    for (j, v) in values.iter_mut().enumerate().take(8) {
        *v = if j % 2 == 0 { near } else { -near };
    }
    let x = encrypt(&values);
    let signs = decrypt(&comparator.sign(&x, slots, 1.0).unwrap().slots);
    for (j, (sign, v)) in signs.iter().zip(&values).enumerate() {
        assert!((sign - v.signum()).abs() < 2e-3, "slot {j}: {v} has sign {sign}");
    }
    let other = wave(slots).into_iter().rev().collect::<Vec<_>>();
    let less = decrypt(&comparator.less(&x, &encrypt(&other), slots, 2.0).unwrap().slots);
    for (j, less) in less.iter().enumerate() {
        let wanted = f64::from(u8::from(values[j] < other[j]));
        assert!((less - wanted).abs() < 2e-3, "slot {j}: {} < {}: {less}", values[j], other[j]);
    }
    let points: Vec<f64> = (0..slots).map(|j| -1.0 + 0.5 * (j % 4) as f64).collect();
    let square = |x: f64| x * x - 0.5;
    let looked_up = comparator.lookup(&encrypt(&points), slots, -1.0..1.0, 2, square).unwrap();
    let nowhere = comparator.lookup(&encrypt(&points), slots, -1.0..1.0, 2, |x| (x - 2.0).sqrt());
    assert!(nowhere.unwrap_err().to_string().contains("function at -1 is NaN"));
    for (y, x) in decrypt(&looked_up.slots).iter().zip(&points) {
        assert!((y - square(*x)).abs() < 2e-3, "{x}: {y}, not {}", square(*x));
    }
    let largest = decrypt(&comparator.argmax(&encrypt(&other), 5, 1.0).unwrap().slots);
    let at = (0..5).max_by(|&i, &j| other[i].total_cmp(&other[j])).unwrap();
    for (j, one) in largest.iter().enumerate() {
        let wanted = f64::from(u8::from(j == at));
        assert!((one - wanted).abs() < 2e-3, "slot {j} of {other:?}: {one}");
    }
    let smallest = decrypt(&comparator.argmin(&encrypt(&other), 5, 1.0).unwrap().slots);
    let at = (0..5).min_by(|&i, &j| other[i].total_cmp(&other[j])).unwrap();
    for (j, one) in smallest.iter().enumerate() {
        let wanted = f64::from(u8::from(j == at));
        assert!((one - wanted).abs() < 2e-3, "slot {j} of {other:?}: {one}");
    }
    // What was declared to lie beyond the range would have several largest, or none.
    let beyond = encrypt(&other).with_magnitude(3.0).unwrap();
    for refused in [
        comparator.argmax(&beyond, 5, 1.0),
        comparator.argmin(&beyond, 5, 1.0),
        comparator.sign(&beyond, 5, 1.0),
        comparator.lookup(&beyond, slots, -1.0..1.0, 2, square),
    ] {
        let refused = refused.expect_err("it is too large").to_string();
        assert!(refused.contains("declared to reach 3, and a range of 1"), "{refused}");
    }
    assert!(comparator.argmax(&beyond, 5, 3.0).is_ok());
}

/// How often signs are wrong at a distance is what the model says, where that is often.
#[test]
fn wrong_signs_are_as_frequent_as_stated() {
    let (slots, rounds) = (64, 4);
    let parties = Parties::new("INSECURE_CKKS_D40_N10", "INSECURE_LARGE", slots);
    let server = parties.load();
    let switch = parties.switch(&server);
    let large = large(&parties);
    let comparator = Comparator::new(&switch, &large, LOG2_MODULUS).unwrap();
    let encrypt = |values: &[f64]| server.upload(&[parties.ckks.encrypt(values).unwrap()]).unwrap();
    let resolution = comparator.sign(&encrypt(&wave(slots)), 1, 1.0).unwrap().resolution;
    let distance = resolution.deviation;
    let values: Vec<f64> =
        (0..slots).map(|j| if j % 2 == 0 { distance } else { -distance }).collect();
    let mut wrong = 0;
    for _ in 0..rounds {
        let signs = comparator.sign(&encrypt(&values), slots, 1.0).unwrap();
        let signs = parties.ckks.decrypt_real(&server.download(&signs.slots).unwrap()[0]).unwrap();
        wrong += signs.iter().zip(&values).filter(|(s, v)| **s * **v < 0.0).count();
    }
    let share = wrong as f64 / (rounds * slots) as f64;
    // Phases are whole, so that the boundary lies half a unit below 0, which is the bias: nearer to
    // one half of the numbers than to the other.
    let sides = [distance, distance + 2.0 * resolution.bias];
    let model = sides.map(|d| resolution.log2_wrong(d).exp2()).iter().sum::<f64>() / 2.0;
    println!("{share:.3} of signs are wrong at one deviation, {model:.3} by the model");
    assert!((0.15..0.19).contains(&model), "{model}");
    // 256 numbers: four deviations of that share are 0.09.
    assert!((share - model).abs() < 0.09, "{share}, not {model}");
}

#[test]
fn slots_are_looked_up_by_any_set() {
    let slots = 16;
    let parties = Parties::new("INSECURE_CKKS_D40_N10", "INSECURE_TOY_TORUS", slots);
    let server = parties.load();
    let switch = parties.switch(&server);
    let keys = EvaluationKeys::generate(&parties.tfhe, &NoProgress).unwrap();
    let device = CpuBackend::new();
    let tfhe = ServerKey::load(&device, &keys, &LoadOptions::default(), &NoProgress).unwrap();
    let values: Vec<f64> = (0..slots).map(|j| -1.0 + 0.25 * (j % 8) as f64).collect();
    let x = server.upload(&[parties.ckks.encrypt(&values).unwrap()]).unwrap();
    let square = |x: f64| x * x - 0.5;
    tfhe.limit_failure(0.0).unwrap();
    let y = switch.lookup(&tfhe, &x, slots, -1.0..1.0, 3, square).unwrap();
    let y = parties.ckks.decrypt_real(&server.download(&y).unwrap()[0]).unwrap();
    for (y, x) in y.iter().zip(&values) {
        assert!((y - square(*x)).abs() < 0.05, "{x}: {y}, not {}", square(*x));
    }
    let nowhere = switch.lookup(&tfhe, &x, slots, -1.0..1.0, 3, |x| (x - 2.0).sqrt()).unwrap_err();
    assert!(nowhere.to_string().contains("function at -1 is NaN"), "{nowhere}");
    let beyond = x.with_magnitude(2.0).unwrap();
    let beyond = switch.lookup(&tfhe, &beyond, slots, -1.0..1.0, 3, square).unwrap_err();
    assert!(beyond.to_string().contains("declared to reach 2"), "{beyond}");
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let slots = 16;
    let parties = Parties::new("INSECURE_CKKS_D40_N10", "INSECURE_LARGE", slots);
    let server = parties.load();
    let switch = parties.switch(&server);
    let x = server.upload(&[parties.ckks.encrypt(&wave(slots)).unwrap()]).unwrap();
    let why = |e: Error| e.to_string();
    let low = server.upload(&[parties.ckks.encrypt_at(&wave(slots), 0).unwrap()]).unwrap();
    let levels = switch.to_tfhe(&low, 1, 0.1, 16).map_err(why).unwrap_err();
    assert!(levels.contains("level 1") && levels.contains("bootstrap"), "{levels}");
    for (count, turns) in [(0, 0.1), (17, 0.1), (1, 0.0), (1, f64::NAN), (1, -0.1)] {
        assert!(matches!(switch.to_tfhe(&x, count, turns, 16), Err(Error::Mismatch(_))));
    }
    assert!(matches!(switch.to_tfhe(&x, 1, 0.1, 31), Err(Error::Tfhe(_))));
    let short = server.upload(&[parties.ckks.encrypt(&wave(8)).unwrap()]).unwrap();
    assert!(matches!(switch.to_tfhe(&short, 1, 0.1, 16), Err(Error::Mismatch(_))));

    let other = girih_tfhe::ClientKey::generate(parties.tfhe.set()).unwrap();
    let stranger = other.encrypt_at(&[0, 1], 4, 16).unwrap();
    let key = switch.to_ckks(&stranger).map_err(why).unwrap_err();
    assert!(key.contains("client key"), "{key}");
    let toy = ParameterSet::by_name("INSECURE_TOY").unwrap();
    let wrong = girih_tfhe::ClientKey::generate(&toy).unwrap().encrypt(&[1], 4).unwrap();
    assert!(matches!(switch.to_ckks(&wrong), Err(Error::WrongSet { .. })));
    let strangers = SwitchingKeys::generate(
        &girih_ckks::ClientKey::generate(parties.ckks.set()).unwrap(),
        &parties.tfhe,
        &NoProgress,
    );
    let error = Switch::new(&server, &strangers.unwrap(), slots).map(drop);
    assert!(matches!(error, Err(Error::WrongKey { .. })));
    assert!(matches!(Switch::new(&server, &parties.keys, 12), Err(Error::Mismatch(_))));

    let leveled = girih_ckks::CkksParameters::by_name("CKKS_N14_D40").unwrap();
    let sets = girih_switching::SwitchingParameters::new(&leveled, parties.tfhe.set());
    assert!(matches!(sets, Err(Error::Unsupported { .. })));
    let packed = ParameterSet::by_name("STD128_R4").unwrap();
    let sets = girih_switching::SwitchingParameters::new(parties.ckks.set(), &packed);
    assert!(matches!(sets, Err(Error::Unsupported { .. })));
}

#[test]
fn keys_travel_as_bytes_and_damage_is_found() {
    let parties = Parties::new("INSECURE_CKKS_D40_N10", "INSECURE_LARGE", 16);
    let bytes = parties.keys.to_bytes().unwrap();
    let read = SwitchingKeys::from_bytes(&bytes).unwrap();
    assert_eq!(read.to_bytes().unwrap(), bytes);
    assert!(SwitchingKeys::from_bytes_for(parties.keys.parameters(), &bytes).is_ok());
    let toy = ParameterSet::by_name("INSECURE_TOY").unwrap();
    let other = girih_switching::SwitchingParameters::new(parties.ckks.set(), &toy).unwrap();
    assert!(SwitchingKeys::from_bytes_for(&other, &bytes).is_err());
    assert_eq!(read.parameters(), parties.keys.parameters());
    assert_eq!(read.ckks_key_id(), parties.ckks.key_id());
    assert_eq!(read.tfhe_key_id(), parties.tfhe.key_id());
    for at in [0, 5, 8, 20, bytes.len() / 2, bytes.len() - 1] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x40;
        assert!(SwitchingKeys::from_bytes(&damaged).is_err(), "byte {at}");
    }
    assert!(SwitchingKeys::from_bytes(&bytes[..bytes.len() - 1]).is_err());
}

#[test]
fn security_is_that_of_the_sets_and_of_the_packing_ring() {
    let by_name = |ckks: &str, tfhe: &str| {
        girih_switching::SwitchingParameters::new(
            &girih_ckks::CkksParameters::by_name(ckks).unwrap(),
            &ParameterSet::by_name(tfhe).unwrap(),
        )
        .unwrap()
    };
    for tfhe in ["G4", "TFHERS_2_2", "STD128"] {
        let parameters = by_name("CKKS_D40", tfhe);
        let bits = parameters.security().usvp_bdgl16;
        println!("CKKS_D40 and {tfhe}: {bits:.1} bits, {:.1} by MATZOV", {
            parameters.security().cheapest_matzov
        });
        assert!(bits > 125.0, "{parameters}: {bits}");
        assert_eq!(parameters.packing_degree(), 2048);
    }
    assert!(!by_name("INSECURE_CKKS_D40_N10", "INSECURE_TOY").warnings().is_empty());
}
