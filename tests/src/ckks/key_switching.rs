//! Key products by digits and by KLSS: every operation that has one yields the same words.

use super::evaluator::slots;
use girih::ckks::approximation::Polynomial;
use girih::ckks::server::{
    Bootstrapping, Ciphertexts, KeySwitching, LinearMap, Options, ServerKey,
};
use girih::ckks::{Ciphertext, CkksParameters, ClientKey, EvaluationKeys, KeyKind, Result};
use girih_backend::{Backend, NoProgress};
use girih_cpu::CpuBackend;

const SET: &str = "INSECURE_CKKS_D40_N10";

/// Slots of what is computed on: few, so that bootstrapping takes few keys.
const SLOTS: usize = 16;

type Operation = fn(&ServerKey, &[Ciphertexts]) -> Result<Vec<Ciphertexts>>;

/// Operations on two batches at a middle level, and on one at the lowest.
const OPERATIONS: [(&str, Operation); 8] = [
    ("multiply", |s, x| Ok(vec![s.mul(&x[0], &x[1])?])),
    ("square", |s, x| Ok(vec![s.square(&x[0])?])),
    ("rotate", |s, x| Ok(vec![s.rotate(&x[0], 1)?, s.conjugate(&x[0])?])),
    ("hoisted", |s, x| s.rotate_many(&x[0], &[1, 2, 4])),
    ("inner sum", |s, x| Ok(vec![s.inner_sum(&x[0], 8, 1)?])),
    ("linear transform", |s, x| Ok(vec![s.linear_transform(&x[0], &map()?)?])),
    ("polynomial", |s, x| {
        let sine = Polynomial::interpolate(|x| (2.0 * x).sin(), -1.0..=1.0, 7)?;
        Ok(vec![s.polynomial(&x[0], &sine)?])
    }),
    ("bootstrap", |s, x| Ok(vec![s.bootstrap(&x[2])?])),
];

fn map() -> Result<LinearMap> {
    LinearMap::from_diagonals(
        SLOTS,
        [(0, slots(SLOTS, 20)), (1, slots(SLOTS, 21)), (5, slots(SLOTS, 22))],
    )
}

/// A rotation at the lowest level but one, by keys that reach no further: by KLSS on `device`, and
/// by digits on the CPU. One line if words differ.
///
/// # Errors
/// Failures of the device.
pub fn rotation_both_ways(device: &dyn Backend) -> Result<Vec<String>> {
    let set = CkksParameters::by_name(SET)?;
    let client = ClientKey::generate_seeded_for_tests(&set, [3; 32])?;
    let kinds = KeyKind::rotation(&set, 1).map(|kind| kind.up_to(1));
    let keys = EvaluationKeys::generate(&client, kinds, &NoProgress)?;
    let x = client.encrypt_at(&slots(SLOTS, 1), 1)?;
    let run = |device: &dyn Backend, switching| -> Result<Vec<Ciphertext>> {
        let options = Options::default().with_key_switching(switching);
        let server = ServerKey::load(device, &keys, &options, &NoProgress)?;
        let y = server.rotate(&server.upload(std::slice::from_ref(&x))?, 1)?;
        server.download(&y)
    };
    let klss = run(device, KeySwitching::klss(&set))?;
    let hybrid = run(&CpuBackend::new(), KeySwitching::Hybrid)?;
    let same = klss[0].b() == hybrid[0].b() && klss[0].a() == hybrid[0].a();
    Ok(if same { Vec::new() } else { vec!["rotate: hybrid and KLSS differ".into()] })
}

/// A product and a rotation at a level whose digits can be joined: on `device` by sums of keys and
/// without them, on the CPU by sums and by KLSS. One line if words differ, or if those of digits
/// apart do not.
///
/// # Errors
/// Failures of the device.
pub fn joined_and_apart(device: &dyn Backend) -> Result<Vec<String>> {
    let set = CkksParameters::by_name(SET)?;
    let joins = |level: &usize| set.joined_digits_at(*level).iter().any(|of| of.digits.len() > 1);
    let Some(level) = (0..=set.default_level()).find(joins) else {
        return Ok(vec![format!("{set} has no level at which digits can be joined")]);
    };
    let client = ClientKey::generate_seeded_for_tests(&set, [3; 32])?;
    let kinds = [Some(KeyKind::Multiplication), KeyKind::rotation(&set, 1)];
    let kinds = kinds.into_iter().flatten().map(|kind| kind.up_to(level));
    let keys = EvaluationKeys::generate(&client, kinds, &NoProgress)?;
    let x = client.encrypt_at(&slots(SLOTS, 1), level)?;
    let run = |device: &dyn Backend, options: &Options| -> Result<Vec<Vec<u32>>> {
        let server = ServerKey::load(device, &keys, options, &NoProgress)?;
        let x = server.upload(std::slice::from_ref(&x))?;
        let mut words = Vec::new();
        for y in [server.mul_unscaled(&x, &x)?, server.rotate(&x, 1)?] {
            let y = server.download(&y)?;
            words.extend([y[0].b().to_vec(), y[0].a().to_vec()]);
        }
        Ok(words)
    };
    let hybrid = Some(KeySwitching::Hybrid);
    let joined = Options::default().with_key_switching(hybrid).with_join_digits(true);
    let each = joined.clone().with_sum_keys(false);
    let klss = joined.clone().with_key_switching(KeySwitching::klss(&set));
    let apart = joined.clone().with_join_digits(false);
    let cpu = CpuBackend::new();
    let wanted = run(&cpu, &joined)?;
    let mut lines = Vec::new();
    let all: [(&str, &dyn Backend, &Options); 3] =
        [("by sums", device, &joined), ("key by key", device, &each), ("KLSS", &cpu, &klss)];
    for (name, device, options) in all {
        if run(device, options)? != wanted {
            lines.push(format!("joined digits, {name}: not the words of the CPU"));
        }
    }
    if run(&cpu, &apart)? == wanted {
        lines.push("joined digits: the words of digits apart".into());
    }
    Ok(lines)
}

/// One line for each operation whose words differ.
///
/// # Errors
/// Failures of the device.
pub fn both_ways(device: &dyn Backend) -> Result<Vec<String>> {
    let set = CkksParameters::by_name(SET)?;
    let mut rotations = vec![1, 2, 4];
    rotations.extend(map()?.rotations());
    let rotations = rotations.iter().filter_map(|&by| KeyKind::rotation(&set, by));
    let most = set.default_level();
    let mut kinds = Bootstrapping::default().keys_by_level(&set, SLOTS)?;
    kinds.extend(rotations.map(|kind| kind.up_to(most)));
    kinds.push(KeyKind::conjugation(&set).up_to(most));
    let client = ClientKey::generate_seeded_for_tests(&set, [3; 32])?;
    let keys = EvaluationKeys::generate(&client, kinds, &NoProgress)?;
    let load = |switching| {
        let options = Options::default().with_key_switching(switching);
        ServerKey::load(device, &keys, &options, &NoProgress)
    };
    let (hybrid, klss) = (load(KeySwitching::Hybrid)?, load(KeySwitching::klss(&set))?);
    let level = set.default_level() / 2;
    let encrypt = |(seed, level)| client.encrypt_at(&slots(SLOTS, seed), level);
    let inputs = [(1, level), (2, level), (3, 0)].into_iter().map(encrypt);
    let inputs: Vec<Ciphertext> = inputs.collect::<Result<_>>()?;
    let run = |s: &ServerKey, operation: Operation| -> Result<Vec<Ciphertext>> {
        let x = inputs.iter().map(|x| s.upload(std::slice::from_ref(x)));
        let results = operation(s, &x.collect::<Result<Vec<_>>>()?)?;
        let results = results.iter().map(|batch| s.download(batch)).collect::<Result<Vec<_>>>()?;
        Ok(results.into_iter().flatten().collect())
    };
    let mut lines = Vec::new();
    for (name, operation) in OPERATIONS {
        let (one, other) = (run(&hybrid, operation)?, run(&klss, operation)?);
        let same = |(x, y): (&Ciphertext, &Ciphertext)| x.b() == y.b() && x.a() == y.a();
        if one.is_empty() || one.len() != other.len() || !one.iter().zip(&other).all(same) {
            lines.push(format!("{name}: hybrid and KLSS differ"));
        }
    }
    Ok(lines)
}
