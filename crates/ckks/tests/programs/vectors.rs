//! Each file of the published vectors through the operations that it is about.

use girih_backend::poly::{Basis, Domain, HostPolynomials, ProgramBuilder, RingShape, View};
use girih_ckks::program::{
    BootstrappingShape, Chain, DiagonalPlan, EvalModSteps, FirstFactor, FirstRow, Group, KeyKind,
    LinearTransform, Part, Recorder, TransformRule, TwoValues, coefficients_to_slots,
    slots_to_coefficients,
};
use girih_ring::{Modulus, NttTable};
use num_bigint::BigInt;
use num_complex::Complex64;
use serde_json::Value as Json;
use std::sync::Arc;

use crate::reader::{array, file, number, polynomial, real, reals, words};
use crate::support::{Check, Keys, chain, run_all};

const MULTIPLICATION: KeyKind = KeyKind::Multiplication;

const VIEWS: [(View, &str); 4] = [
    (View::Lifted, "lifted"),
    (View::LiftedConjugate, "lifted_conjugate"),
    (View::Restricted, "restricted"),
    (View::RestrictedMinus, "restricted_minus"),
];

#[test]
fn scales_layouts_and_base_change() {
    let file = file("ckks/base_change");
    let chain = chain(&file["params"], None);
    for (level, json) in array(&file["canonical_scales"]).iter().enumerate() {
        assert_eq!(chain.scale(level), Some(real(json)), "scale of level {level}");
    }
    for (i, json) in array(&file["rescale_ratios"]).iter().enumerate() {
        assert_eq!(chain.ratio(i + 1), real(json), "ratio {i}");
    }
    let values = |basis: &Basis| -> Vec<u64> {
        basis.primes().iter().map(|&p| chain.ring().primes[usize::from(p)].value().into()).collect()
    };
    let listed =
        |json: &Json| -> Vec<u64> { array(json).iter().map(|p| p.as_u64().unwrap()).collect() };
    for (level, json) in array(&file["layouts"]).iter().enumerate() {
        assert_eq!(values(chain.level(level).unwrap()), listed(json), "level {level}");
    }
    for (digit, json) in array(&file["digit_primes"]).iter().enumerate() {
        assert_eq!(values(&chain.digits()[digit]), listed(json), "digit {digit}");
    }
    let mut check = Check::new(&chain);
    for case in array(&file["mod_up"]) {
        let level = number(&case["level"]);
        let base = chain.level(level).unwrap().clone();
        let x = check.polynomial(&case["input"], base);
        let digits = check.r.digits(x, level).unwrap();
        let expected = array(&case["digits"]);
        assert_eq!(digits.numbers().count(), expected.len());
        for ((numbers, value), json) in digits.numbers().zip(digits.values()).zip(expected) {
            assert_eq!(numbers, [number(&json["digit"])]);
            check.value(format!("digit {numbers:?} at level {level}"), value, &json["output"]);
        }
    }
    for case in array(&file["divide_round"]) {
        let (from, to) = (number(&case["frm"]), number(&case["to"]));
        let kind = case["kind"].as_str().unwrap();
        let mut basis = chain.level(from).unwrap().clone();
        if kind != "rescale" {
            basis = basis.union(chain.auxiliary());
        }
        let x = check.polynomial(&case["input"], basis);
        let y = check.r.divide_round(x, chain.level(to).unwrap()).unwrap();
        check.value(format!("{kind} from {from} to {to}"), y, &case["output"]);
    }
    check.run(&Keys::default());
}

#[test]
fn key_switches_with_any_number_of_digits() {
    let file = file("ckks/key_switch");
    let chain = chain(&file["params"], None);
    let keys = Keys::default().with(MULTIPLICATION, &file["key"]);
    let mut check = Check::new(&chain);
    for case in array(&file["cases"]) {
        let level = number(&case["level"]);
        let base = chain.level(level).unwrap().clone();
        let x = check.polynomial(&case["input"], base);
        let (b, a) = check.r.key_switch(x, level, MULTIPLICATION).unwrap();
        check.value(format!("b at level {level}"), b, &case["b"]);
        check.value(format!("a at level {level}"), a, &case["a"]);
    }
    check.run(&keys);
}

#[test]
fn products() {
    let file = file("ckks/multiply");
    let chain = chain(&file["params"], None);
    let keys = Keys::default().with(MULTIPLICATION, &file["key"]);
    for klss in [false, true] {
        let mut check = Check::new(&chain);
        check.r.use_klss(klss).unwrap();
        for case in array(&file["cases"]) {
            let (x, y) = (check.input(&case["x"]), check.input(&case["y"]));
            let tensor = check.r.tensor(&x, &y).unwrap();
            for (i, part) in tensor.into_iter().enumerate() {
                check.value(format!("d{i}"), part, &case["tensor"][i]);
            }
            if let Some(expected) = case.get("key_product") {
                let digits = check.r.digits(tensor[2], x.level).unwrap();
                let product = check.r.key_product(&digits, MULTIPLICATION, None).unwrap();
                for (name, part) in [("b", product.b), ("a", product.a)] {
                    let parts = [part.low, part.high.unwrap()];
                    let whole = check.r.builder().join(&parts).unwrap();
                    check.value(format!("key product {name}"), whole, &expected[name]);
                }
            }
            let product = check.r.multiply(&x, &y).unwrap();
            check.ciphertext("product", &product, &case["product"]);
            let rescaled = check.r.rescale(&product).unwrap();
            check.ciphertext("rescaled", &rescaled, &case["rescaled"]);
        }
        check.run(&keys);
    }
}

#[test]
fn rotations_alone_and_hoisted() {
    let file = file("ckks/rotate");
    let chain = chain(&file["params"], None);
    let mut keys = Keys::default();
    let mut check = Check::new(&chain);
    let x = check.input(&file["input"]);
    let digits = check.r.hoist(&x).unwrap();
    for case in array(&file["cases"]) {
        let g = number(&case["g"]) as u32;
        keys = keys.with(KeyKind::Galois(g), &case["key"]);
        let alone = match case["rotation"].as_i64() {
            Some(by) => check.r.rotate(&x, by).unwrap(),
            None => check.r.conjugate(&x).unwrap(),
        };
        check.ciphertext(&format!("X -> X^{g}"), &alone, &case["output"]);
        let hoisted = check.r.galois_hoisted(&x, &digits, g).unwrap();
        check.ciphertext(&format!("hoisted X -> X^{g}"), &hoisted, &case["output"]);
        if let Some(expected) = case.get("extended") {
            let product = check.r.key_product(&digits, KeyKind::Galois(g), Some(x.b)).unwrap();
            for (name, part) in [("b", product.b), ("a", product.a)] {
                let builder = check.r.builder();
                let whole = builder.join(&[part.low, part.high.unwrap()]).unwrap();
                let whole = builder.automorphism(whole, g).unwrap();
                check.value(format!("extended {name} of {g}"), whole, &expected[name]);
            }
        }
    }
    // A rotation by -1 and by N/2 - 1 are the same.
    let left = check.r.rotate(&x, 15).unwrap();
    assert_eq!(left, check.r.rotate(&x, -1).unwrap());
    assert_eq!(x, check.r.rotate(&x, 0).unwrap());
    check.run(&keys);
}

#[test]
fn level_adjusts_to_every_level() {
    let file = file("ckks/adjust");
    let chain = chain(&file["params"], None);
    let mut check = Check::new(&chain);
    let x = check.input(&file["input"]);
    for case in array(&file["cases"]) {
        let to = number(&case["to"]);
        let y = check.r.adjust(&x, to).unwrap();
        check.ciphertext(&format!("adjust to {to}"), &y, &case["output"]);
    }
    check.run(&Keys::default());
}

#[test]
fn klss_gives_the_same_key_products() {
    let file = file("ckks/klss");
    let chain = chain(&file["params"], None);
    let keys = Keys::default().with(MULTIPLICATION, &file["key"]);
    for (name, part) in [("b", Part::B), ("a", Part::A)] {
        let lifted = keys.klss(&chain, (MULTIPLICATION, 0, part));
        for (group, expected) in array(&file["klss_key_digit_0"][name]).iter().enumerate() {
            assert_eq!(lifted[group], polynomial(expected), "{name}, {group}");
        }
    }
    for klss in [false, true] {
        let mut check = Check::new(&chain);
        check.r.use_klss(klss).unwrap();
        for case in array(&file["cases"]) {
            let level = number(&case["level"]);
            let x = check.polynomial(&case["input"], chain.level(level).unwrap().clone());
            let digits = check.r.digits(x, level).unwrap();
            let product = check.r.key_product(&digits, MULTIPLICATION, None).unwrap();
            for (name, part) in [("b", product.b), ("a", product.a)] {
                let whole = check.r.builder().join(&[part.low, part.high.unwrap()]).unwrap();
                check.value(format!("{name} at {level}"), whole, &case["key_product"][name]);
            }
        }
        check.run(&keys);
    }
}

#[test]
fn linear_transforms_by_double_hoisting() {
    let file = file("ckks/linear_transform");
    let chain = chain(&file["params"], None);
    let mut keys = Keys::default();
    for key in array(&file["keys"]) {
        keys = keys.with(KeyKind::Galois(number(&key["g"]) as u32), &key["key"]);
    }
    let plaintexts = array(&file["plaintexts"]).iter().map(|json| {
        let coefficients = json.as_array()?;
        Some(coefficients.iter().map(|c| c.as_i64().unwrap()).collect())
    });
    let transform = LinearTransform {
        plan: DiagonalPlan {
            stride: number(&file["stride"]),
            baby_steps: number(&file["baby_steps"]),
            slots: chain.most_slots(),
        },
        plaintexts: plaintexts.collect(),
        plaintext_scale: real(&file["plaintext_scale"]),
        scale: real(&file["output"]["scale"]),
    };
    let expected: Vec<usize> =
        array(&file["keys"]).iter().map(|k| number(&k["rotation"])).collect();
    assert_eq!(transform.rotations(), expected);
    for klss in [false, true] {
        let mut check = Check::new(&chain);
        check.r.use_klss(klss).unwrap();
        let x = check.input(&file["input"]);
        let y = check.r.linear_transform(&x, &transform).unwrap();
        check.ciphertext("transformed", &y, &file["output"]);
        check.run(&keys);
    }
}

#[test]
fn matrices_of_bootstrapping() {
    let file = file("ckks/dft");
    let tolerance = real(&file["tolerance"]);
    for case in array(&file["cases"]) {
        let n = number(&case["slots"]);
        let rule = TransformRule::of(array(&case["sizes"]).len());
        let made: Vec<Group> = match case["transform"].as_str().unwrap() {
            "coefficients_to_slots" => coefficients_to_slots(n, n, rule).unwrap(),
            _ => slots_to_coefficients(n, rule).unwrap(),
        };
        let expected = array(&case["groups"]);
        assert_eq!(made.len(), expected.len());
        let complex = |re: &Json, im: &Json| -> Vec<Complex64> {
            let parts = reals(re).into_iter().zip(reals(im));
            parts.map(|(re, im)| Complex64::new(re, im)).collect()
        };
        let near = |x: Complex64, y: Complex64| {
            (x.re - y.re).abs() <= tolerance && (x.im - y.im).abs() <= tolerance
        };
        let mut x = complex(&case["input_re"], &case["input_im"]);
        for (group, json) in made.iter().zip(expected) {
            assert_eq!(group.stride, number(&json["stride"]));
            assert_eq!(group.offset, json["offset"].as_i64().unwrap());
            assert_eq!(group.stored.len(), number(&json["count"]));
            assert_eq!(group.rotated_by, json["rotated_by"].as_i64().unwrap());
            assert_eq!(group.baby_steps, number(&json["baby_steps"]));
            let mut y = vec![Complex64::default(); n];
            for (k, (ours, theirs)) in group.stored.iter().zip(array(&json["stored"])).enumerate() {
                assert_eq!(ours.is_some(), !theirs.is_null(), "diagonal {k}");
                let Some(ours) = ours else { continue };
                let theirs = complex(&theirs["re"], &theirs["im"]);
                for j in 0..n {
                    assert!(near(ours[j % ours.len()], theirs[j]), "diagonal {k}, slot {j}");
                    y[j] += ours[j % ours.len()] * x[(j + group.stride * k) % n];
                }
            }
            x = y;
        }
        for (j, &expected) in complex(&case["output_re"], &case["output_im"]).iter().enumerate() {
            assert!(near(x[j], expected), "slot {j}");
        }
    }
}

#[test]
fn chebyshev_polynomials() {
    for name in ["ckks/chebyshev", "ckks/chebyshev_rational"] {
        let file = file(name);
        let chain = chain(&file["params"], None);
        let keys = Keys::default().with(MULTIPLICATION, &file["key"]);
        let coefficients = reals(&file["coefficients"]);
        let mut check = Check::new(&chain);
        let x = check.input(&file["input"]);
        let baby = number(&file["baby_log2"]) as u32;
        let basis = check.r.chebyshev_basis(&x, coefficients.len() - 1, baby).unwrap();
        let expected = file["basis"].as_object().unwrap();
        assert_eq!(basis.terms().count(), expected.len());
        for (j, json) in expected {
            let term = *basis.get(j.parse().unwrap()).unwrap();
            check.ciphertext(&format!("{name}: T_{j}"), &term, json);
        }
        let level = number(&file["output_level"]);
        let scale = chain.scale(level).unwrap();
        let y = check.r.chebyshev_sum(&coefficients, &basis, level, scale).unwrap();
        check.ciphertext(name, &y, &file["output"]);
        check.run(&keys);
    }
}

/// Bootstrapping data of a chain whose level `out` is under EvalMod.
fn shape(out: usize, cts_groups: usize) -> BootstrappingShape {
    BootstrappingShape {
        effective_level: out,
        cts_groups,
        cts_shifts: vec![1; cts_groups.saturating_sub(1)],
        stc_shift: -4,
        sine_scale: 2f64.powi(58),
        ..BootstrappingShape::default()
    }
}

#[test]
fn eval_mod_step_by_step() {
    let file = file("ckks/eval_mod");
    let chain = chain(&file["params"], Some(shape(0, 0)));
    for (level, json) in array(&file["evalmod_scales"]).iter().enumerate() {
        assert_eq!(chain.sine_scale(level), Some(real(json)), "E_{level}");
    }
    let keys = Keys::default().with(MULTIPLICATION, &file["key"]);
    let mut check = Check::new(&chain);
    let x = check.input(&file["input"]);
    let steps: EvalModSteps = check.r.eval_mod(&x).unwrap();
    let mut nodes = steps.nodes.iter();
    let mut double_angles = steps.double_angles.iter();
    for json in array(&file["steps"]) {
        let name = json["name"].as_str().unwrap();
        let step = match name {
            "u" => steps.u,
            _ if name.starts_with('T') => *steps.basis.get(name[1..].parse().unwrap()).unwrap(),
            _ if name.starts_with('R') => {
                let (degree, node) = nodes.next().expect("a node");
                assert!(name.starts_with(&format!("R_deg{degree}_")), "{name} for {degree}");
                *node
            }
            _ => *double_angles.next().expect("a double angle"),
        };
        check.ciphertext(name, &step, json);
    }
    assert_eq!((nodes.next(), double_angles.next()), (None, None));
    check.run(&keys);
}

#[test]
fn raising_the_modulus() {
    let file = file("ckks/raise");
    // Only steps 1 to 4 are run: any layout of the levels above serves that ends at the top.
    let levels = BootstrappingShape { double_angles: 0, ..shape(0, 0) };
    let chain = padded(&file["params"], levels);
    let keys = Keys::default()
        .with(KeyKind::DenseToSparse, &file["dense_to_sparse_key"])
        .with(KeyKind::SparseToDense, &file["sparse_to_dense_key"]);
    let mut check = Check::new(&chain);
    let x = check.input(&file["input"]);
    let factor = BigInt::from(number(&file["factor"]));
    let scale = real(&file["output"]["scale"]);
    let steps = check.r.raise_modulus(&x, &factor, scale).unwrap();
    check.ciphertext("prepared", &steps.prepared, &file["prepared"]);
    check.ciphertext("sparse", &steps.sparse, &file["sparse"]);
    check.value("raised b", steps.raised_b, &file["raised_b"]);
    let raised_a = [steps.raised_a.low, steps.raised_a.high.unwrap()];
    let raised_a = check.r.builder().join(&raised_a).unwrap();
    check.value("raised a", raised_a, &file["raised_a"]);
    check.value("b", steps.result.b, &file["output"]["b"]);
    check.value("a", steps.result.a, &file["output"]["a"]);
    check.run(&keys);
}

/// The chain of a file about the first transform by keys.
fn chain_by_keys(file: &Json) -> Arc<Chain> {
    let cts_stages: Vec<usize> = array(&file["stages"]).iter().map(number).collect();
    let mut cts_shifts = vec![0; cts_stages.len() - 1];
    cts_shifts[0] = file["shift"].as_i64().unwrap() as i32;
    let whole = shape(0, cts_stages.len());
    let levels = BootstrappingShape {
        double_angles: 0,
        first_by_keys: true,
        cts_stages,
        cts_shifts,
        ..whole
    };
    chain(&file["params"], Some(levels))
}

/// The first transform of `slots` slots by the rows of a file, and `keys` with theirs.
fn first_of(file: &Json, chain: &Arc<Chain>, slots: usize, mut keys: Keys) -> (FirstFactor, Keys) {
    let encoder = girih_ckks::Encoder::new(chain.degree().ilog2()).unwrap();
    let first = FirstFactor::new(chain, slots, &encoder).unwrap();
    assert_eq!(first.plaintext_scale(), real(&file["plaintext_scale"]));
    let primes = first.lift().primes().iter().map(|&p| chain.ring().primes[usize::from(p)]);
    let primes: Vec<_> = primes.map(|p| p.value() as usize).collect();
    assert_eq!(primes, array(&file["lift_primes"]).iter().map(number).collect::<Vec<_>>());
    let rows = array(&file["rows"]);
    assert_eq!(first.rows().len(), rows.len());
    let mut theirs = Vec::new();
    for ((row, kind), json) in first.rows().iter().zip(first.kinds()).zip(rows) {
        assert_eq!(row.g as usize, number(&json["g"]));
        let plaintext: Arc<[i64]> =
            array(&json["plaintext"]).iter().map(|c| c.as_i64().unwrap()).collect();
        // Coefficients of 58 bits by an f64 transform: the low bits are not under test.
        assert_eq!(row.plaintext.len(), plaintext.len());
        let off = row.plaintext.iter().zip(plaintext.iter()).map(|(x, y)| x.abs_diff(*y));
        assert!(off.max().unwrap() < 1 << 13, "the diagonal of X -> X^{}", row.g);
        theirs.push(FirstRow { g: row.g, plaintext });
        keys = keys.with(kind, &json["key"]);
    }
    (first.with_rows(theirs), keys)
}

#[test]
fn few_slots_by_keys_and_sums_of_repeats() {
    let file = file("ckks/few_slots");
    let chain = chain_by_keys(&file);
    let factor = BigInt::from(number(&file["factor"]));
    for case in array(&file["cases"]) {
        let slots = number(&case["slots"]);
        let mut keys = Keys::default().with(KeyKind::DenseToSparse, &file["dense_to_sparse_key"]);
        for rotation in array(&file["rotations"]) {
            let g = chain.rotation(number(&rotation["by"]) as i64);
            assert_eq!(g as usize, number(&rotation["g"]));
            keys = keys.with(KeyKind::Galois(g), &rotation["key"]);
        }
        let (first, keys) = first_of(case, &chain, slots, keys);
        assert_eq!(first.traced(), number(&case["traced"]));
        assert_eq!(first.level(), number(&case["raised_level"]));
        let mut check = Check::new(&chain);
        let x = check.input_of(&case["input"], slots);
        let steps = check.r.raise_by_first_factor(&x, &factor, &first).unwrap();
        check.ciphertext("sparse", &steps.sparse, &case["sparse"]);
        check.value("the sum of M b", steps.integer, &case["integer"]);
        check.ciphertext("raised", &steps.result, &case["raised"]);
        let sums: Vec<Vec<u32>> = array(&case["sums"])
            .iter()
            .map(|step| array(step).iter().map(|by| chain.rotation(number(by) as i64)).collect())
            .collect();
        let y = check.r.galois_sums(&steps.result, &sums).unwrap();
        check.ciphertext("output", &y, &case["output"]);
        check.run(&keys);
    }
}

#[test]
fn raising_the_modulus_with_the_first_transform_by_keys() {
    let file = file("ckks/first_factor");
    let chain = chain_by_keys(&file);
    let keys = Keys::default().with(KeyKind::DenseToSparse, &file["dense_to_sparse_key"]);
    let (first, keys) = first_of(&file, &chain, chain.most_slots(), keys);
    let mut check = Check::new(&chain);
    let x = check.input(&file["input"]);
    let factor = BigInt::from(number(&file["factor"]));
    let steps = check.r.raise_by_first_factor(&x, &factor, &first).unwrap();
    check.ciphertext("sparse", &steps.sparse, &file["sparse"]);
    check.value("the sum of M b", steps.integer, &file["integer"]);
    check.ciphertext("output", &steps.result, &file["output"]);
    check.run(&keys);
}

/// The chain of a file with levels of the sine above its own, on which nothing is run.
fn padded(params: &Json, levels: BootstrappingShape) -> Arc<Chain> {
    let mut params = params.clone();
    let list = params["states"].as_array_mut().unwrap();
    let top = list.last().unwrap().clone();
    list.resize(levels.top() + 1, top);
    chain(&params, Some(levels))
}

/// Such a chain in both rings.
fn both_rings(params: &Json) -> Arc<Chain> {
    padded(params, BootstrappingShape { double_angles: 0, invariant_sine: true, ..shape(0, 0) })
}

#[test]
fn transforms_of_the_conjugation_invariant_ring() {
    let file = file("ckks/invariant");
    for case in array(&file["transforms"]) {
        let degree = number(&case["N"]);
        let primes: Vec<Modulus> =
            words(&case["primes"]).into_iter().map(|p| Modulus::new(p).unwrap()).collect();
        for (&modulus, psi) in primes.iter().zip(array(&case["psi"])) {
            // That of the usual ring of degree 2N.
            let table = NttTable::new(modulus, 2 * degree).unwrap();
            assert_eq!(table.powers()[1] as usize, number(psi));
        }
        let ring = RingShape { log2_degree: degree.ilog2(), primes, invariant_from: 0 };
        let ring = Arc::new(ring);
        let whole = ring.basis(0..ring.primes.len());
        let mut builder = ProgramBuilder::new(ring);
        let x = builder.input(whole.clone(), Domain::Coefficients).unwrap();
        let y = builder.input(whole, Domain::Evaluations).unwrap();
        let forward = builder.transform(x, Domain::Evaluations);
        let inverse = builder.transform(y, Domain::Coefficients);
        builder.output(forward);
        builder.output(inverse);
        let [x, y] = ["coefficients", "transformed"].map(|name| polynomial(&case[name]));
        let expected = [
            (format!("forward of {degree}"), y.clone()),
            (format!("inverse of {degree}"), x.clone()),
        ];
        run_all(&builder.finish(), &HostPolynomials::default(), &[x, y], &expected);
    }
}

#[test]
fn views_of_the_other_ring() {
    let file = file("ckks/invariant");
    let chain = both_rings(&file["params"]);
    let mut check = Check::new(&chain);
    for json in array(&file["views"]) {
        let value = number(&json["prime"]) as u32;
        let primes = &chain.ring().primes;
        let here = primes.iter().position(|p| p.value() == value).unwrap() as u16;
        let there = here + chain.ring().invariant_from as u16;
        for (view, name) in VIEWS {
            let Some(expected) = json.get(name) else { continue };
            let (from, to) = if view.lifts() { (here, there) } else { (there, here) };
            let x = check.polynomial(&json["input"], Basis::new([from]));
            let seen = check.r.builder().view(x, view, Basis::new([to])).unwrap();
            check.value(name, seen, expected);
        }
    }
    check.run(&Keys::default());
}

#[test]
fn both_sines_in_one_there_products_and_back() {
    let file = file("ckks/invariant");
    let chain = both_rings(&file["params"]);
    let keys = Keys::default()
        .with(KeyKind::InvariantMultiplication, &file["key"])
        .with(KeyKind::ToInvariant, &file["to_invariant_key"])
        .with(KeyKind::FromInvariant, &file["from_invariant_key"]);
    let encoder = girih_ckks::Encoder::new(chain.degree().ilog2()).unwrap();
    let mut check = Check::new(&chain);
    for case in array(&file["products"]) {
        let (x, y) = (check.input_there(&case["x"]), check.input_there(&case["y"]));
        let tensor = check.r.in_invariant(|there| there.tensor(&x, &y)).unwrap();
        for (i, part) in tensor.into_iter().enumerate() {
            check.value(format!("d{i}"), part, &case["tensor"][i]);
        }
        let product = check.r.in_invariant(|there| there.multiply(&x, &y)).unwrap();
        check.ciphertext("product", &product, &case["product"]);
        let rescaled = check.r.in_invariant(|there| there.rescale(&product)).unwrap();
        check.ciphertext("rescaled", &rescaled, &case["rescaled"]);
    }
    let (one, i) = (Complex64::new(1.0, 0.0), Complex64::i());
    for (way, second) in [("enter", -i), ("leave", i)] {
        let values = TwoValues::new(one, second, &encoder, chain.degree()).unwrap();
        for case in array(&file[way]) {
            // The scales are such that f64 gives the integers of exact arithmetic.
            let made = values.coefficients(real(&case["times"])).unwrap();
            for (made, name) in made.iter().zip(["even", "odd"]) {
                let expected = array(&case["plaintext"][name]).iter().map(|c| c.as_i64().unwrap());
                assert!(made.iter().copied().eq(expected), "{way}: the {name} coefficients");
            }
            let scale = real(&case["output"]["scale"]);
            let (x, y) = if way == "enter" {
                let x = check.input(&case["input"]);
                (x, check.r.enter_invariant(&x, &values, scale).unwrap())
            } else {
                let x = check.input_there(&case["input"]);
                (x, check.r.leave_invariant(&x, &values, scale).unwrap())
            };
            assert_eq!(scale * chain.ratio(x.level) / x.scale, real(&case["times"]));
            check.ciphertext(way, &y, &case["output"]);
        }
    }
    check.run(&keys);
}

#[test]
fn contradictions_are_named() {
    let file = file("ckks/multiply");
    let chain = chain(&file["params"], None);
    let mut r = Recorder::new(chain.clone());
    let scale = |level: usize| chain.scale(level).unwrap();
    let x = r.input(2, scale(2), 16).unwrap();
    let y = r.input(3, scale(3), 16).unwrap();
    let say = |e: girih_ckks::program::RecordError| e.to_string();
    assert!(say(r.add(&x, &y).unwrap_err()).contains("not 2 and 3"));
    assert!(say(r.multiply(&x, &y).unwrap_err()).contains("not 2 and 3"));
    let z = r.input(2, 2.0 * scale(2), 16).unwrap();
    assert!(say(r.sub(&x, &z).unwrap_err()).contains("one scale"));
    assert!(say(r.input(9, 1.0, 16).unwrap_err()).contains("levels are 0 to 4"));
    assert!(say(r.input(1, f64::NAN, 16).unwrap_err()).contains("positive and finite"));
    assert!(say(r.input(1, 1.0, 12).unwrap_err()).contains("power of two up to 16"));
    assert!(say(r.adjust(&x, 2).unwrap_err()).contains("must go down"));
    assert!(say(r.add_constant(&x, f64::INFINITY, 0.0).unwrap_err()).contains("finite"));
    assert!(say(r.eval_mod(&x).unwrap_err()).contains("EvalMod"));
    let low = r.input(0, scale(0), 16).unwrap();
    assert!(say(r.rescale(&low).unwrap_err()).contains("needs level 1"));
    assert!(say(r.inner_sum(&x, 3, 1).unwrap_err()).contains("power of two"));
    let few: Arc<[i64]> = vec![1, 2, 3].into();
    assert!(say(r.plaintext(few, 1).unwrap_err()).contains("3 coefficients"));
    let encoder = girih_ckks::Encoder::new(chain.degree().ilog2()).unwrap();
    let one = Complex64::new(1.0, 0.0);
    let values = TwoValues::new(one, -Complex64::i(), &encoder, chain.degree()).unwrap();
    assert!(say(r.enter_invariant(&x, &values, 1.0).unwrap_err()).contains("`invariant_sine`"));
    let refused = |first, degree| say(TwoValues::new(first, one, &encoder, degree).unwrap_err());
    assert!(refused(one, 2 * chain.degree()).contains("up to 32"));
    assert!(refused(one, 12).contains("power of two"));
    assert!(refused(f64::NAN.into(), 32).contains("infinite"));
    assert!(values.coefficients(f64::INFINITY).is_err());
    let params = self::file("ckks/invariant")["params"].clone();
    let mut r = Recorder::new(both_rings(&params));
    let x = r.input(2, 1.0, 16).unwrap();
    let small = TwoValues::new(one, one, &encoder, chain.degree() / 2).unwrap();
    assert!(say(r.enter_invariant(&x, &small, 1.0).unwrap_err()).contains("for degree 16"));
    assert!(say(r.enter_invariant(&x, &values, 0.0).unwrap_err()).contains("positive and finite"));
    let low = r.input(0, 1.0, 16).unwrap();
    assert!(say(r.enter_invariant(&low, &values, 1.0).unwrap_err()).contains("needs level 1"));
    // It is there already, and was never there.
    let again = r.in_invariant(|there| there.enter_invariant(&x, &values, 1.0));
    assert!(again.is_err() && r.leave_invariant(&x, &values, 1.0).is_err());
}
