//! Look-ups on a CPU, decrypted, against what they should be and against the model.

mod phases;

use super::*;
use crate::{ClientKey, DiscreteLiteral, Expected, LookupNoise, Table};
use girih_backend::NoProgress;
use girih_ckks::Complex64;
use girih_ckks::server::Estimate;
use girih_cpu::CpuBackend;
use std::f64::consts::TAU;

struct Place {
    client: ClientKey,
    server: ServerKey,
}

fn place(set: &DiscreteParameters, seed: u8) -> Place {
    let client = ClientKey::generate_seeded_for_tests(set, [seed; 32]).expect("a key");
    let keys = EvaluationKeys::generate(&client, &NoProgress).expect("keys");
    let device = CpuBackend::new();
    let server = ServerKey::load(&device, &keys, &Options::default(), &NoProgress);
    Place { client, server: server.expect("it fits") }
}

fn named(name: &str) -> DiscreteParameters {
    DiscreteParameters::by_name(name).expect("built in")
}

/// DISCRETE_4 over a small ring with another modulus and other levels for tables.
fn with(modulus: u32, levels: usize) -> DiscreteParameters {
    let of = named("INSECURE_DISCRETE_4_N10").literal();
    let primes = crate::params::nearest_primes(10, of.scale, 14 + levels);
    DiscreteParameters::new(&DiscreteLiteral {
        name: format!("INSECURE_MODULUS_{modulus}_LEVELS_{levels}"),
        modulus: i64::from(modulus),
        main: primes.into_iter().map(i64::from).collect(),
        ..of
    })
    .expect("a valid set")
}

/// Reproducible numbers below `below`.
fn numbers(count: usize, below: u32, seed: u64) -> Vec<u32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as u32 % below
    };
    (0..count).map(|_| next()).collect()
}

impl Place {
    fn upload(&self, numbers: &[u32], below: u32) -> Wires {
        let encrypted = self.client.encrypt_batch(&[numbers], below).expect("numbers");
        self.server.upload(&encrypted).expect("of this set")
    }

    fn decrypt(&self, x: &Wires) -> Vec<i64> {
        let back = self.server.download(x).expect("of this server");
        self.client.decrypt_integers(&back).expect("of this key")
    }

    /// Errors of all numbers.
    fn errors(&self, x: &Wires, wanted: impl Fn(usize) -> i64) -> Vec<f64> {
        let back = self.server.download(x).expect("of this server");
        let slots = self.client.ckks().decrypt(&back.ciphertexts()[0]).expect("of this key");
        let parts = slots.iter().map(|z| z.re).chain(slots.iter().map(|z| z.im));
        parts.enumerate().map(|(j, v)| v - wanted(j) as f64).collect()
    }

    /// t/K and the exponentials of a batch's numbers, decrypted: those of the first half, then the
    /// second.
    fn exponentials(&self, x: &Wires, levels: usize) -> [Vec<Complex64>; 2] {
        let set = self.server.set();
        let plan = {
            let (chain, encoder) = (&self.server.chain, &self.server.encoder);
            let back = LookupPlan::to_coefficients(set, set.modulus(), chain, encoder);
            LookupPlan::new(set, chain, back.expect("a checked set"), levels, encoder)
        };
        let plan = plan.expect("levels of the set");
        let inputs = [(set.wire_level(), set.scale())];
        let recording = self.server.ckks.record_program(&inputs, |recorder, inputs| {
            let mut out = Vec::new();
            let halves = plan.slots(recorder, &inputs[0])?.halves;
            out.extend(halves);
            for half in halves {
                out.push(*plan.exponential(recorder, &half)?.squarings.last().expect("squares"));
            }
            Ok(out.into_iter().map(|x| (x, Estimate::new(0.0, 1.0))).collect())
        });
        let halves = recording.expect("recorded").run(&[&x.ciphertexts]).expect("it runs");
        let decrypt = |half: &girih_ckks::server::Ciphertexts| {
            let back = self.server.ckks.download(half).expect("of this server");
            self.client.ckks().decrypt(&back[0]).expect("of this key")
        };
        let decrypted: Vec<Vec<Complex64>> = halves.iter().map(decrypt).collect();
        [decrypted[..2].concat(), decrypted[2..].concat()]
    }
}

fn deviation(errors: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = errors.fold((0.0, 0), |(sum, count), e| (sum + e * e, count + 1));
    (sum / f64::from(count)).sqrt()
}

/// Deviations of t, of what the exponential adds by itself along the circle and across it, of z
/// along and across, and of a result; and the model.
fn measure(name: &str, order: u32, seed: u8) -> ([f64; 6], LookupNoise) {
    let place = place(&named(name), seed);
    let set = place.server.set().clone();
    let p = set.modulus();
    let m = numbers(set.numbers(), p, 5);
    let x = place.upload(&m, p);
    let table = Table::new(p, |v| v * v % p).and_then(|t| t.order(order)).expect("a table");
    let noise = LookupNoise::new(&set, table.levels());
    let [t, z] = place.exponentials(&x, table.levels());
    let turns = deviation(t.iter().zip(&m).map(|(t, &m)| {
        let off = t.re * set.interval() - f64::from(m) / f64::from(p);
        off - off.round()
    }));
    // Beside what the series is off by at this t.
    let coefficients = crate::exponential(set.interval(), set.squarings(), set.degree());
    let own: Vec<Complex64> = t
        .iter()
        .zip(&z)
        .map(|(t, z)| {
            let (k, r) = (set.interval(), set.squarings());
            let series = crate::exponential::error_at(k, r, &coefficients, t.re);
            z * Complex64::cis(-TAU * k * t.re) / (series + 1.0)
        })
        .collect();
    let own_along = deviation(own.iter().map(|z| z.im));
    let own_across = deviation(own.iter().map(|z| z.re - 1.0));
    let relative: Vec<Complex64> = z
        .iter()
        .zip(&m)
        .map(|(z, &m)| z * Complex64::cis(-TAU * f64::from(m) / f64::from(p)))
        .collect();
    let along = deviation(relative.iter().map(|z| z.im));
    let across = deviation(relative.iter().map(|z| z.re - 1.0));
    let y = place.server.lookup(&x, &[&table]).expect("within the limit").remove(0);
    let errors = place.errors(&y, |j| table.at(m[j].into()));
    assert!(errors.iter().all(|e| e.abs() < 0.25), "{name}");
    ([turns, own_along, own_across, along, across, deviation(errors.into_iter())], noise)
}

/// What the series is off by in the mean, along the circle and across it: t is a sum of h + 1
/// numbers that are uniform in [-1/2, 1/2], and so about normal.
fn series_deviations(set: &DiscreteParameters) -> [f64; 2] {
    let coefficients = crate::exponential(set.interval(), set.squarings(), set.degree());
    let variance = 2.0 * set.interval() / 12.0;
    let (mut squares, mut weight) = ([0.0, 0.0], 0.0);
    for i in -4000..=4000 {
        let x = f64::from(i) / 4000.0;
        let density = (-0.5 * (x * set.interval()).powi(2) / variance).exp();
        let error = crate::exponential::error_at(set.interval(), set.squarings(), &coefficients, x);
        squares[0] += density * error.im * error.im;
        squares[1] += density * error.re * error.re;
        weight += density;
    }
    squares.map(|sum| (sum / weight).sqrt())
}

fn compare(name: &str, order: u32, seed: u8) {
    let ([turns, own_along, own_across, along, across, result], noise) = measure(name, order, seed);
    let [along_of_series, across_of_series] = series_deviations(&named(name));
    let model = [noise.tangential.hypot(along_of_series), noise.radial.hypot(across_of_series)];
    println!(
        "{name}: along 2^{:.2} (model 2^{:.2}: noise 2^{:.2}), across 2^{:.2} (2^{:.2}: 2^{:.2}), \
         result 2^{:.2} (floor 2^{:.2} + R 2^{:.2}), series 2^{:.2} at most",
        along.log2(),
        model[0].log2(),
        noise.tangential.log2(),
        across.log2(),
        model[1].log2(),
        noise.radial.log2(),
        result.log2(),
        noise.floor.0.log2(),
        noise.floor.1.log2(),
        noise.series.log2()
    );
    // Without the series, which is most of it in some sets.
    let noisy = (TAU * turns).hypot(own_along);
    println!(
        "{name}, beside the series: along {:.3} of the model, across {:.3}",
        noisy / noise.tangential,
        own_across / noise.radial
    );
    // The model is no smaller, but for what so many slots tell, and not much larger.
    let room = 1.01 + 2.0 / (named(name).numbers() as f64).sqrt();
    let own = [(noisy, noise.tangential), (own_across, noise.radial)];
    for (found, model) in own.into_iter().chain([along, across].into_iter().zip(model)) {
        assert!(found < room * model && found > 0.7 * model, "{name}: {found} {model}");
    }
}

#[test]
fn noise_is_that_of_the_model() {
    compare("INSECURE_DISCRETE_1_N10", 1, 3);
    compare("INSECURE_DISCRETE_4_N11", 2, 3);
    compare("INSECURE_DISCRETE_4_FINE_N10", 2, 3);
}

/// The same at the size of real sets: a minute or more on a CPU.
#[test]
#[ignore = "takes minutes"]
fn noise_of_the_real_sets() {
    compare("DISCRETE_4", 2, 3);
    compare("DISCRETE_4_FINE", 2, 3);
    compare("DISCRETE_1", 1, 3);
}

#[test]
fn gates_are_right_in_chains() {
    let place = place(&named("INSECURE_DISCRETE_1_N10"), 4);
    let server = &place.server;
    let count = server.set().numbers();
    let mut bits: Vec<Vec<u32>> = (0..2).map(|i| numbers(count, 2, 7 + i)).collect();
    let mut wires: Vec<Wires> = bits.iter().map(|b| place.upload(b, 2)).collect();
    let mut first = 0.0;
    for step in 0..20 {
        let gate = Gate::ALL[step % Gate::ALL.len()];
        let y = server.gate(gate, &wires[step], &wires[step + 1]).expect("within the limit");
        let pairs = bits[step].iter().zip(&bits[step + 1]);
        let wanted: Vec<u32> = pairs.map(|(&a, &b)| u32::from(gate.of(a == 1, b == 1))).collect();
        let errors = place.errors(&y, |j| wanted[j].into());
        let found = deviation(errors.iter().copied());
        assert!(errors.iter().all(|e| e.abs() < 0.01), "{gate:?} in step {step}");
        if step == 0 {
            first = found;
        }
        // XOR modulo 2 has fewer levels than the others.
        assert!(found < 2.0 * first && found < 2f64.powi(-18), "step {step}: {found:e}");
        assert_eq!(y.range(), (0, 1));
        bits.push(wanted);
        wires.push(y);
    }
    let not = server.not(&wires[20]).expect("free");
    let wanted: Vec<i64> = bits[20].iter().map(|&b| 1 - i64::from(b)).collect();
    assert_eq!(place.decrypt(&not), wanted);
}

#[test]
fn tables_of_every_modulus_and_order_are_right() {
    for (modulus, levels) in [(2, 3), (3, 4), (4, 4), (5, 4), (8, 5), (16, 6), (32, 7)] {
        let place = place(&with(modulus, levels), 5);
        let server = &place.server;
        server.limit_failure(0.0).expect("a limit");
        let m = numbers(server.set().numbers(), modulus, 9);
        let x = place.upload(&m, modulus);
        for order in 1..=2 {
            let values: Vec<i64> =
                (0..modulus).map(|v| i64::from(numbers(40, modulus, 3)[v as usize])).collect();
            let random = Table::from_values(&values).and_then(|t| t.order(order));
            let (random, same) = (random.expect("a table"), Table::new(modulus, |m| m));
            let same = same.and_then(|t| t.order(order)).expect("a table");
            let both = server.lookup(&x, &[&random, &same]).expect("within the limit");
            for (table, y) in [&random, &same].into_iter().zip(&both) {
                let errors = place.errors(y, |j| table.at(m[j].into()));
                let worst = errors.iter().fold(0f64, |w, e| w.max(e.abs()));
                println!("p {modulus} order {order}: worst 2^{:.1}", worst.log2());
                assert!(worst < 0.1, "p {modulus} order {order}: {worst}");
            }
        }
    }
}

#[test]
fn digits_adders_and_selections_are_right() {
    let place = place(&named("INSECURE_DISCRETE_4_N10"), 6);
    let server = &place.server;
    let count = server.set().numbers();
    let digits: Vec<Vec<u32>> = (0..3).map(|i| numbers(count, 4, 20 + i)).collect();
    let [a, b, c] = [0, 1, 2].map(|i| place.upload(&digits[i], 4));
    // A sum of digits with a carry, split again.
    let sum = server.sum(&[(1, &a), (2, &b), (1, &c)], 1).expect("free");
    assert_eq!(sum.range(), (1, 13));
    let (low, high) = server.digits(&sum, 4, 2).expect("within the limit");
    let want = |j: usize| i64::from(digits[0][j] + 2 * digits[1][j] + digits[2][j] + 1);
    assert_eq!(place.decrypt(&low), (0..count).map(|j| want(j) % 4).collect::<Vec<_>>());
    assert_eq!(place.decrypt(&high), (0..count).map(|j| want(j) / 4).collect::<Vec<_>>());
    let bits: Vec<Vec<u32>> = (0..3).map(|i| numbers(count, 2, 30 + i)).collect();
    let [x, y, z] = [0, 1, 2].map(|i| place.upload(&bits[i], 2));
    let (sum, carry) = server.full_adder(&x, &y, &z).expect("within the limit");
    let want = |j: usize| i64::from(bits[0][j] + bits[1][j] + bits[2][j]);
    assert_eq!(place.decrypt(&sum), (0..count).map(|j| want(j) % 2).collect::<Vec<_>>());
    assert_eq!(place.decrypt(&carry), (0..count).map(|j| want(j) / 2).collect::<Vec<_>>());
    let chosen = server.select(&x, &a, &b, 2).expect("within the limit");
    assert_eq!(chosen.range(), (0, 3));
    let want = |j: usize| i64::from(digits[if bits[0][j] == 1 { 0 } else { 1 }][j]);
    assert_eq!(place.decrypt(&chosen), (0..count).map(want).collect::<Vec<_>>());
    // Sums beyond the modulus, and negative ones, are read modulo it.
    let far = server.sum(&[(7, &a), (-5, &b)], 3).expect("free");
    let table = Table::new(16, |m| m).and_then(|t| t.order(2)).expect("a table");
    let read = server.lookup(&far, &[&table]).expect("fresh numbers have hardly any error");
    let want = |j: usize| 7 * i64::from(digits[0][j]) - 5 * i64::from(digits[1][j]) + 3;
    let wanted: Vec<i64> = (0..count).map(|j| want(j).rem_euclid(16)).collect();
    assert_eq!(place.decrypt(&read[0]), wanted);
}

/// Several ciphertexts of one batch, public encryption, and bytes on the way.
#[test]
fn batches_travel_and_public_keys_serve() {
    let place = place(&named("INSECURE_DISCRETE_4_N10"), 7);
    let (client, server) = (&place.client, &place.server);
    let public = client.public_key().expect("a key").to_bytes().expect("bytes");
    let public = crate::PublicKey::from_bytes(&public).expect("its own bytes");
    let batch: Vec<Vec<u32>> = (0..3).map(|i| numbers(100, 16, 40 + i)).collect();
    let sent = public.encrypt_batch(&batch, 16).expect("numbers").to_bytes().expect("bytes");
    let set = server.set();
    let received = EncryptedNumbers::from_bytes_for(set, 3, &sent).expect("its own bytes");
    assert!(EncryptedNumbers::from_bytes_for(set, 2, &sent).is_err());
    let x = server.upload(&received).expect("of this set");
    assert_eq!((x.len(), x.numbers(), x.range()), (3, 100, (0, 15)));
    let table = Table::new(16, |m| (m >> 2) * (m & 3)).and_then(|t| t.order(2)).expect("a table");
    let y = server.lookup(&x, &[&table]).expect("within the limit").remove(0);
    let wanted: Vec<i64> = batch.iter().flatten().map(|&m| table.at(m.into())).collect();
    assert_eq!(place.decrypt(&y), wanted);
    assert_eq!(place.decrypt(&y.select(1..2).expect("within")), wanted[100..200]);
    let again = client.to_bytes().expect("bytes");
    let again = ClientKey::from_bytes_for(set, &again).expect("its own bytes");
    let back = server.download(&y).expect("of this server");
    assert_eq!(again.decrypt_integers(&back).expect("the same key"), wanted);
}

#[test]
fn what_does_not_fit_is_refused_in_words() {
    let place = place(&named("INSECURE_DISCRETE_1_N10"), 8);
    let (client, server) = (&place.client, &place.server);
    let count = server.set().numbers();
    let text = |error: crate::Error| error.to_string();
    let refused = |numbers: &[u32]| text(client.encrypt(numbers).expect_err("must be refused"));
    assert!(refused(&vec![0; count + 1]).contains("there must be 1 to 1024"));
    assert!(refused(&[]).contains("there must be 1 to 1024"));
    assert!(refused(&[1, 4]).contains("number 1 is 4: numbers must be below 4"));
    let table = |result: Result<Table>| text(result.expect_err("must be refused"));
    assert!(table(Table::new(33, |m| m)).contains("2 to 32 values"));
    assert!(table(Table::new(4, |m| 1 << (20 + m))).contains("below 2^20"));
    assert!(table(Table::new(4, |m| 12 / (m - m))).contains("panicked"));
    let x = place.upload(&numbers(count, 4, 3), 4);
    let bit = place.upload(&numbers(count, 2, 4), 2);
    let looked = |x: &Wires, table: Result<Table>| {
        text(server.lookup(x, &[&table.expect("a table")]).expect_err("must be refused"))
    };
    assert!(looked(&x, Table::new(3, |m| m)).contains("are read modulo 2, 4"));
    let deep = Table::new(4, |m| m).and_then(|t| t.order(2));
    assert!(looked(&x, deep).contains("take 4 levels, and INSECURE_DISCRETE_1_N10 has 3"));
    let none = server.lookup(&x, &[]).expect_err("must be refused");
    assert!(text(none).contains("no tables of a look-up"));
    let mixed = [&Table::new(4, |m| m).expect("one"), &Table::new(2, |m| m).expect("one")];
    assert!(
        text(server.lookup(&x, &mixed).expect_err("two moduli"))
            .contains("a table modulo 4 and a table modulo 2")
    );
    let gate = server.gate(Gate::And, &x, &bit).expect_err("no bits");
    assert!(text(gate).contains("numbers from 0 to 3: bits must be from 0 to 1"));
    assert!(text(server.sum(&[], 1).expect_err("no terms")).contains("no terms of a sum"));
    let far = server.sum(&[(i64::MAX, &x)], 0).expect_err("too large");
    assert!(text(far).contains("below 2^40"));
    let other = self::place(&named("INSECURE_DISCRETE_1_N10"), 9);
    let foreign = other.upload(&numbers(count, 2, 4), 2);
    let mixed = server.gate(Gate::And, &bit, &foreign).expect_err("another key");
    assert!(text(mixed).contains("client key"));
    let four = ClientKey::generate_seeded_for_tests(&named("INSECURE_DISCRETE_4_N10"), [1; 32]);
    let four = four.and_then(|c| c.encrypt(&[1])).expect("numbers");
    assert!(text(server.upload(&four).expect_err("another set")).contains("where INSECURE"));
    assert!(server.limit_failure(1.0).is_err() && server.limit_failure(f64::NAN).is_err());
}

/// A limit that does not hold is refused with what would do, and what would do is accepted.
#[test]
fn sums_beyond_the_failure_bound_are_refused() {
    let place = place(&named("INSECURE_DISCRETE_4_N10"), 10);
    let server = &place.server;
    let x = place.upload(&numbers(1024, 16, 3), 16);
    for order in 1..=2 {
        let reach = server.reach(16, order).expect("a modulus of the set");
        assert!(reach > 0, "order {order}");
        let same = Table::new(16, |m| m).and_then(|t| t.order(order)).expect("a table");
        let y = server.lookup(&x, &[&same]).expect("fresh numbers").remove(0);
        // A weight that is twice as large each time is too large for some look-up: within
        // eight of them it is 100 times what may follow each other without end.
        let mut heavy = i64::from(reach) / 15 + 1;
        let mut z = server.sum(&[(heavy, &y)], 0).expect("free");
        let error = (0..8).find_map(|_| match server.lookup(&z, &[&same]) {
            Ok(y) => {
                heavy *= 2;
                z = server.sum(&[(heavy, &y[0])], 0).expect("free");
                None
            }
            Err(error) => Some(error.to_string()),
        });
        let error = error.unwrap_or_else(|| panic!("order {order}: {heavy} times {reach} held"));
        assert!(error.contains(&format!("{reach} from tables of order {order}")), "{error}");
        // What is named holds for long chains: a table of range 1 with that weight.
        let bit = Table::new(16, |m| m & 1).and_then(|t| t.order(order)).expect("a table");
        let mut z = server.lookup(&x, &[&bit]).expect("fresh numbers").remove(0);
        for _ in 0..6 {
            let sum = server.sum(&[(i64::from(reach), &z)], 0).expect("free");
            z = server.lookup(&sum, &[&bit]).expect("within the reach").remove(0);
        }
    }
}

/// Errors that count as those that were planned stay as they are, however long a chain is.
#[test]
fn errors_count_as_larger_ones() {
    let place = place(&named("INSECURE_DISCRETE_4_N10"), 11);
    let server = &place.server;
    let bit = Table::new(16, |m| m & 1).and_then(|t| t.order(2)).expect("a table");
    let step = |y: &Wires| {
        let sum = server.sum(&[(12, y)], 0).expect("free");
        server.lookup(&sum, &[&bit]).expect("within the reach").remove(0)
    };
    let x = place.upload(&numbers(1024, 16, 4), 16);
    let first = server.lookup(&x, &[&bit]).expect("fresh numbers").remove(0);
    let planned = (0..3).fold(first.clone(), |y, _| step(&y)).expected().widened();
    let mut y = first.clone().counted_as(&planned);
    for _ in 0..4 {
        assert_eq!(y.expected(), planned);
        y = step(&y).counted_as(&planned);
    }
    // Nothing counts as less than it may be.
    let same = first.clone().counted_as(&Expected::exact(0, 1));
    assert_eq!(same.expected(), first.expected());
}

/// Elements of several ciphertexts in any order: right, and within the errors that are counted.
#[test]
fn elements_come_from_any_ciphertext() {
    let place = place(&named("INSECURE_DISCRETE_4_N10"), 12);
    let server = &place.server;
    let all = server.set().numbers();
    let m: Vec<Vec<u32>> = (0..2).map(|i| numbers(all, 4, 50 + i)).collect();
    let x = server.upload(&place.client.encrypt_batch(&m, 4).expect("numbers"));
    let x = x.expect("of this set");
    let decrypt = |x: &Wires| {
        let back = server.download(x).expect("of this server");
        place.client.decrypt(&back).expect("of this key")
    };
    let flat = m.concat();
    for (what, elements) in [
        ("a few of both", vec![1700, 3, 3, 900, 1024]),
        ("backwards over both", (0..2 * all).rev().collect::<Vec<_>>()),
        ("the second, shifted", (all + 7..2 * all).collect()),
    ] {
        let y = server.take(&x, &elements).expect("within the limit");
        let wanted: Vec<u32> = elements.iter().map(|&e| flat[e]).collect();
        assert_eq!(y.len(), elements.len().div_ceil(all), "{what}");
        let found = decrypt(&y);
        assert_eq!(found[..wanted.len()], wanted, "{what}");
        assert!(y.range().0 == 0 && y.range().1 <= 3, "{what}: {:?}", y.range());
    }
    // A batch of two, joined of its parts, is the same batch.
    let parts = [x.select(0..1), x.select(1..2)].map(|part| part.expect("there are two"));
    let joined = Wires::join(&[&parts[1], &parts[0]]).expect("of one server");
    assert_eq!(decrypt(&joined), [&m[1][..], &m[0]].concat());
    // Without the room to tell marks: refused in words, and so is what there is not.
    let large = place.upload(&numbers(all, 16, 3), 16);
    let text = server.take(&large, &[3, 1]).expect_err("too large").to_string();
    assert!(text.contains("must be from 0 to 7; take digits"), "{text}");
    let text = server.take(&x, &[2 * all]).expect_err("beyond the end").to_string();
    assert!(text.contains("2047"), "{text}");
    let negative = server.sum(&[(-1, &x)], 0).expect("free");
    let text = server.take(&negative, &[0]).expect_err("negative").to_string();
    assert!(text.contains("add a constant"), "{text}");
    let short = parts[0].clone().of_numbers(5).expect("fewer");
    let text = Wires::join(&[&parts[1], &short]).expect_err("unequal").to_string();
    assert!(text.contains("1024"), "{text}");
}
