//! Promises and errors of random programs that use what they have again: sums, products,
//! rotations, conjugates, linear maps, vectors, ways through the host. Slots grow until there is no
//! room for them, which must be refused.
//!
//! `GIRIH_PROGRAMS=10000 cargo test --release -p girih-ckks --test server random_programs --
//! --nocapture` runs so many (`GIRIH_SEED` begins elsewhere) and prints how errors lie below
//! promises.

use std::collections::BTreeMap;

use crate::support::{Pair, SMALL, complex, kinds, numbers, pair_of, server_of};
use girih_backend::NoProgress;
use girih_ckks::approximation::Polynomial;
use girih_ckks::server::{Ciphertexts, LinearMap, Options, ServerKey};
use girih_ckks::{CkksParameters, Complex64, Error, EvaluationKeys, Result};
use girih_ring::sampler::MaskSeed;

/// A ciphertext and what should be in it.
#[derive(Clone)]
struct Value {
    batch: Ciphertexts,
    plain: Vec<Complex64>,
}

struct World {
    pair: Pair,
    /// Of the same client, which knows nothing of the first one's ciphertexts.
    other: ServerKey,
    maps: Vec<LinearMap>,
    vectors: Vec<Vec<Complex64>>,
    cubic: Polynomial,
}

impl World {
    fn new() -> Self {
        let set = CkksParameters::by_name(SMALL).unwrap();
        let n = 16;
        let ones = (0..n as i64).map(|by| (by, vec![1.0 / 4.0; n])).collect::<Vec<_>>();
        let some = [(0, complex(512, 1)), (1, complex(512, 2)), (5, complex(512, 3))];
        let maps = vec![
            LinearMap::from_diagonals(n, ones).unwrap(),
            LinearMap::from_diagonals(512, some).unwrap(),
        ];
        let mut rotations: Vec<i64> = (0..9).flat_map(|i| [1 << i, -(1 << i)]).collect();
        rotations.push(3);
        rotations.extend(maps.iter().flat_map(LinearMap::rotations));
        rotations.sort_unstable();
        rotations.dedup();
        let mut all = kinds(&set, &rotations);
        all.sort();
        all.dedup();
        let pair = pair_of(SMALL, all.clone(), Options::default());
        let keys = EvaluationKeys::generate(&pair.client, all, &NoProgress).unwrap();
        let other = server_of(&keys, Options::default());
        let vectors = vec![complex(512, 4), complex(16, 5), complex(1, 6)];
        let cubic = Polynomial::from_powers(&[0.1, 0.5, -0.25, 0.5], -1.0..=1.0).unwrap();
        Self { pair, other, maps, vectors, cubic }
    }
}

/// Choices of one program.
struct Dice(girih_ring::sampler::RandomStream);

impl Dice {
    fn new(seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        Self(MaskSeed(bytes).stream(0, 0))
    }

    fn below(&mut self, n: usize) -> usize {
        (self.0.next_u64() % n as u64) as usize
    }

    /// Later ones are likelier.
    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        let (a, b) = (self.below(list.len()), self.below(list.len()));
        &list[a.max(b)]
    }
}

/// Slot by slot, the shorter one repeated.
fn zip(
    x: &[Complex64],
    y: &[Complex64],
    f: impl Fn(Complex64, Complex64) -> Complex64,
) -> Vec<Complex64> {
    (0..x.len().max(y.len())).map(|j| f(x[j % x.len()], y[j % y.len()])).collect()
}

fn turned(x: &[Complex64], by: i64) -> Vec<Complex64> {
    let n = x.len() as i64;
    (0..n).map(|j| x[(j + by).rem_euclid(n) as usize]).collect()
}

fn summed(x: &[Complex64], width: usize) -> Vec<Complex64> {
    let n = x.len();
    (0..n).map(|j| (0..width).map(|i| x[(j + i) % n]).sum()).collect()
}

/// One operation on values that are there; none where it cannot be.
fn step(w: &World, dice: &mut Dice, values: &[Value], what: usize) -> Result<Option<Value>> {
    let s = &w.pair.server;
    let (x, y) = (dice.pick(values).clone(), dice.pick(values).clone());
    let has = |levels: usize| x.batch.level() >= levels && y.batch.level() >= levels;
    let value = |batch: Ciphertexts, plain: Vec<Complex64>| Ok(Some(Value { batch, plain }));
    let negative = |plain: &[Complex64]| plain.iter().map(|v| -v).collect::<Vec<_>>();
    match what {
        0 => value(s.add(&x.batch, &y.batch)?, zip(&x.plain, &y.plain, |x, y| x + y)),
        1 => value(s.sub(&x.batch, &y.batch)?, zip(&x.plain, &y.plain, |x, y| x - y)),
        2 => {
            let (mut sum, times) = (x.batch.clone(), 2 + dice.below(40));
            for _ in 1..times {
                sum = s.add(&sum, &x.batch)?;
            }
            value(sum, x.plain.iter().map(|v| v * times as f64).collect())
        }
        3 => {
            let by = [1, 2, 4, 3, -1, 256][dice.below(6)];
            value(s.rotate(&x.batch, by)?, turned(&x.plain, by))
        }
        4 => {
            let by = 1 << dice.below(9);
            let sum = s.add(&x.batch, &s.rotate(&x.batch, by)?)?;
            value(sum, zip(&x.plain, &turned(&x.plain, by), |x, y| x + y))
        }
        5 => {
            let plain = x.plain.iter().map(|v| v.conj());
            value(s.conjugate(&x.batch)?, plain.collect())
        }
        6 => {
            let sum = s.add(&x.batch, &s.conjugate(&x.batch)?)?;
            value(sum, x.plain.iter().map(|v| (2.0 * v.re).into()).collect())
        }
        7 if has(1) => value(s.mul(&x.batch, &y.batch)?, zip(&x.plain, &y.plain, |x, y| x * y)),
        8 if has(1) => value(s.square(&x.batch)?, x.plain.iter().map(|v| v * v).collect()),
        9 | 10 => {
            let vector = dice.pick(&w.vectors).clone();
            if vector.len() > x.plain.len() || what == 9 && !has(1) {
                return Ok(None);
            }
            if what == 9 {
                let product = s.mul_plain(&x.batch, &vector)?;
                return value(product, zip(&x.plain, &vector, |x, y| x * y));
            }
            value(s.add_plain(&x.batch, &vector)?, zip(&x.plain, &vector, |x, y| x + y))
        }
        11 if has(1) => {
            let c = [0.5, -0.5, 1.7][dice.below(3)];
            value(s.mul_constant(&x.batch, c)?, x.plain.iter().map(|v| v * c).collect())
        }
        12 => {
            let c = [Complex64::new(0.0, 1.0), (-3.0).into(), Complex64::new(1.0, 2.0)];
            let c = c[dice.below(3)];
            value(s.mul_constant(&x.batch, c)?, x.plain.iter().map(|v| v * c).collect())
        }
        13 | 14 => {
            let n = x.plain.len();
            let width = if what == 13 { n } else { 1 << dice.below(n.ilog2() as usize + 1) };
            let stride = if dice.below(4) == 0 { -1 } else { 1 };
            let sum = s.inner_sum(&x.batch, width, stride)?;
            let plain = summed(&x.plain, width);
            let plain = if stride < 0 { turned(&plain, 1 - width as i64) } else { plain };
            if what == 13 && dice.below(2) == 0 {
                return value(sum.with_slots(1)?, plain[..1].to_vec());
            }
            value(sum, plain)
        }
        15 if has(1) => {
            let map = dice.pick(&w.maps);
            let n = map.slots();
            let repeats = x.plain.len() >= n
                && (0..x.plain.len()).all(|j| (x.plain[j] - x.plain[j % n]).norm() < 1e-30);
            if !repeats {
                return Ok(None);
            }
            value(s.linear_transform(&x.batch, map)?, map.apply(&x.plain))
        }
        16 if has(1) => {
            let count = 1 + dice.below(20);
            let z = dice.pick(values).clone();
            if z.batch.level() == 0 {
                return Ok(None);
            }
            let (mut left, mut right, mut plain) = (vec![], vec![], vec![Complex64::default()]);
            for i in 0..count {
                let other = if i % 3 == 2 { &z } else { &y };
                left.push(&x.batch);
                right.push(&other.batch);
                plain = zip(&plain, &zip(&x.plain, &other.plain, |x, y| x * y), |x, y| x + y);
            }
            value(s.inner_product(&left, &right)?, plain)
        }
        17 if has(2) => {
            let inside = x.plain.iter().all(|v| v.im.abs() < 1e-15 && v.re.abs() <= 1.0);
            if !inside {
                return Ok(None);
            }
            let plain = x.plain.iter().map(|v| w.cubic.evaluate(v.re).into()).collect();
            value(s.polynomial(&x.batch, &w.cubic)?, plain)
        }
        18 if has(1) => value(s.adjust(&x.batch, x.batch.level() - 1)?, x.plain),
        19 if has(1) => value(s.drop_to(&x.batch, x.batch.level() - 1)?, x.plain),
        20 => value(s.neg(&x.batch)?, negative(&x.plain)),
        21 => value(s.upload(&s.download(&x.batch)?)?, x.plain),
        22 => {
            // Through another server, with something done to it there.
            let there = w.other.upload(&s.download(&x.batch)?)?;
            value(s.upload(&w.other.download(&w.other.neg(&there)?)?)?, negative(&x.plain))
        }
        23 => {
            let n = 1 << dice.below(10);
            if n < x.plain.len() {
                return Ok(None);
            }
            value(x.batch.with_slots(n)?, (0..n).map(|j| x.plain[j % x.plain.len()]).collect())
        }
        _ => Ok(None),
    }
}

/// Ratios of error and promise of all that one program computes.
fn run(w: &World, seed: u64) -> Vec<(f64, Vec<usize>)> {
    let mut dice = Dice::new(seed);
    let mut values = Vec::new();
    let level = 1 + dice.below(5);
    let mut sent = Vec::new();
    for i in 0..1 + dice.below(3) {
        let n = [512, 512, 512, 16, 1][dice.below(5)];
        let scale = [1.0, 1.0, 0.01][dice.below(3)];
        let plain: Vec<Complex64> = if dice.below(2) == 0 {
            complex(n, seed * 8 + i as u64)
        } else {
            numbers(n, seed * 8 + i as u64).into_iter().map(Complex64::from).collect()
        };
        let plain: Vec<Complex64> = plain.into_iter().map(|v| v * scale).collect();
        let host = w.pair.client.encrypt_at(&plain, level).unwrap();
        sent.push((host.clone(), plain.clone()));
        let batch = w.pair.server.upload(&[host]).unwrap();
        values.push((Value { batch, plain }, vec![100 + n]));
    }
    for _ in 0..4 + dice.below(12) {
        let what = dice.below(25);
        let list: Vec<Value> = values.iter().map(|(value, _)| value.clone()).collect();
        let made = if what == 24 {
            // Sent again.
            let (host, plain) = dice.pick(&sent).clone();
            Some(Value { batch: w.pair.server.upload(&[host]).unwrap(), plain })
        } else {
            match step(w, &mut dice, &list, what) {
                Ok(made) => made,
                Err(Error::Room { .. }) => None,
                Err(e) => panic!("seed {seed}, {what}: {e}"),
            }
        };
        let Some(made) = made else { continue };
        let mut trace = values.iter().flat_map(|(_, t)| t.last().copied()).collect::<Vec<_>>();
        trace.push(what);
        values.push((made, trace));
    }
    values.iter().map(|(value, trace)| (ratio(w, value), trace.clone())).collect()
}

fn ratio(w: &World, value: &Value) -> f64 {
    let host = w.pair.server.download(&value.batch).unwrap().remove(0);
    let found = w.pair.client.decrypt_with_precision(&host).unwrap();
    let (deviation, bits) = (found.noise.deviation, found.precision_bits);
    // What may have wrapped is promised nothing, and told so.
    assert!(
        deviation.is_finite() && bits >= 0.0 || bits == 0.0,
        "{deviation}, {bits} bits, {:?}",
        value.batch.estimate()
    );
    let errors = found.values.iter().zip(&value.plain).map(|(x, y)| x - y);
    let worst = errors.map(|e| e.re.abs().max(e.im.abs())).fold(0.0, f64::max);
    // What f64 rounds off is not meant.
    let exact = value.plain.iter().map(|v| v.norm()).fold(1.0, f64::max) * 2f64.powi(-44);
    worst / (12.0 * found.noise.deviation + exact)
}

#[test]
fn random_programs_err_less_than_promised() {
    let number = |name: &str, default: u64| {
        std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
    };
    let (count, first) = (number("GIRIH_PROGRAMS", 60), number("GIRIH_SEED", 0));
    let world = World::new();
    let (mut last, mut all) = (Vec::new(), Vec::new());
    let mut by_last: BTreeMap<usize, (usize, f64)> = BTreeMap::new();
    let mut beyond = Vec::new();
    for seed in first..first + count {
        let ratios = run(&world, seed);
        for (ratio, trace) in &ratios {
            let of = by_last.entry(trace[trace.len() - 1]).or_default();
            *of = (of.0 + 1, of.1.max(*ratio));
            if *ratio > 1.0 {
                beyond.push(format!("seed {seed}: {ratio:.3} after {trace:?}"));
            }
        }
        all.extend(ratios.iter().map(|(ratio, _)| *ratio));
        last.push(ratios[ratios.len() - 1].0);
        if (seed - first) % 500 == 499 {
            println!(
                "{} programs, {} results, {} beyond",
                seed - first + 1,
                all.len(),
                beyond.len()
            );
        }
        world.pair.server.forget_recordings();
    }
    let quantile = |list: &mut Vec<f64>, q: f64| {
        list.sort_by(f64::total_cmp);
        list[((list.len() - 1) as f64 * q) as usize]
    };
    for (name, list) in [("last results", &mut last), ("all results", &mut all)] {
        let [least, low, median, high, most] = [0.0, 0.1, 0.5, 0.9, 1.0].map(|q| quantile(list, q));
        println!(
            "{name}: {} of {count} programs; error over promise: least {least:.4}, tenth \
             {low:.4}, median {median:.4}, ninth tenth {high:.4}, most {most:.4}",
            list.len()
        );
    }
    println!("by operation, number and most: {by_last:.3?}");
    assert!(beyond.is_empty(), "{} beyond: {beyond:#?}", beyond.len());
    let median = quantile(&mut all, 0.5);
    assert!(median > 0.02, "the median of error over promise is {median}: promises say nothing");
}
