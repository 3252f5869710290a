use girih_ring::{BaseConversion, Formula, RnsBasis, negacyclic_product_naive};

use super::*;
use crate::poly::{HostPolynomials, ProgramBuilder, View};

fn ring(log2_degree: u32) -> Arc<RingShape> {
    let values = [1073479681, 998244353, 30539777, 2147352577, 2146959361];
    let primes = values.iter().map(|&p| Modulus::new(p).unwrap()).collect();
    Arc::new(RingShape::new(log2_degree, primes))
}

/// Words below `p` that differ from call to call.
fn words(p: u32, count: usize, seed: u64) -> Vec<u32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((state >> 32) % u64::from(p)) as u32
    };
    (0..count).map(|_| next()).collect()
}

fn polynomial(ring: &RingShape, basis: &Basis, seed: u64) -> Vec<u32> {
    let limb = |&p: &u16| {
        let modulus = ring.primes[usize::from(p)];
        words(modulus.value(), ring.degree(), seed + u64::from(p))
    };
    basis.primes().iter().flat_map(limb).collect()
}

#[test]
fn products_are_negacyclic_and_automorphisms_substitute() {
    let ring = ring(4);
    let n = ring.degree();
    let basis = ring.basis(0..2);
    let mut builder = ProgramBuilder::new(ring.clone());
    let a = builder.input(basis.clone(), Domain::Coefficients).unwrap();
    let b = builder.input(basis.clone(), Domain::Coefficients).unwrap();
    let (ea, eb) =
        (builder.transform(a, Domain::Evaluations), builder.transform(b, Domain::Evaluations));
    let product = builder.sum(vec![Term::product(ea, eb)]).unwrap();
    let image = builder.automorphism(ea, 5).unwrap();
    for value in [product, image] {
        let value = builder.transform(value, Domain::Coefficients);
        builder.output(value);
    }
    let inputs = [polynomial(&ring, &basis, 1), polynomial(&ring, &basis, 2)];
    let none = HostPolynomials::default();
    let out = interpret(&builder.finish(), &none, &inputs, &[]).unwrap();
    for (limb, &modulus) in ring.primes[..2].iter().enumerate() {
        let part = |words: &[u32]| words[limb * n..(limb + 1) * n].to_vec();
        let (a, b) = (part(&inputs[0]), part(&inputs[1]));
        assert_eq!(part(&out.outputs[0]), negacyclic_product_naive(modulus, &a, &b));
        let mut substituted = vec![0; n];
        for (k, &word) in a.iter().enumerate() {
            let to = 5 * k % (2 * n);
            substituted[to % n] = if to < n { word } else { modulus.neg(word) };
        }
        assert_eq!(part(&out.outputs[1]), substituted);
    }
}

/// In the ring of degree 2N, as integers modulo p: a polynomial u(Y^2) + Y v(Y^2) times an
/// invariant one, plus its conjugate, is invariant; an invariant one times such a polynomial, its
/// even part doubled, is of the usual ring. Views compute both.
#[test]
fn views_are_those_of_the_ring_that_holds_both() {
    let usual = ring(4);
    let n = usual.degree();
    let modulus = usual.primes[1];
    let ring =
        Arc::new(RingShape { log2_degree: 4, primes: vec![modulus, modulus], invariant_from: 1 });
    let (x, y) = (ring.basis(0..1), ring.basis(1..2));
    let inputs: Vec<Vec<u32>> = (0..3).map(|i| words(modulus.value(), n, 10 + i)).collect();
    // Y and 1/Y at the points of either ring, by their places.
    let psi = ring.transform(1).unwrap().psi();
    let power = |e: i64| modulus.pow(psi, e.rem_euclid(4 * n as i64) as u64);
    let point = |j: usize| 4 * bit_reverse(j, 4) as i64 + 1;
    let resident = |basis: &Basis, of: &dyn Fn(usize) -> u32| {
        let shape = ResidentShape { basis: basis.clone(), log2_run: 0 };
        (shape, (0..n).map(of).collect::<Vec<u32>>())
    };
    // A square root of the point of place j.
    let root = |j: usize| if j < n / 2 { point(2 * j) } else { -point(2 * (n - 1 - j)) };
    let residents = HostPolynomials::new(
        &ring,
        vec![
            resident(&y, &|j| power(point(j))),
            resident(&y, &|j| power(-point(j))),
            resident(&x, &|j| power(root(j))),
        ],
    )
    .unwrap();
    for (view, prime, slot) in
        [(View::Lifted, 1, 0), (View::LiftedConjugate, 1, 1), (View::Restricted, 0, 2)]
    {
        let mut point = vec![0; n];
        residents.limb(slot, 0, &mut point);
        assert_eq!(ring.points(prime, view), point, "{view:?}");
        if view == View::Restricted {
            point.iter_mut().for_each(|y| *y = modulus.neg(*y));
            assert_eq!(ring.points(prime, View::RestrictedMinus), point);
        }
    }
    let mut builder = ProgramBuilder::new(ring.clone());
    let [u, v] = [(), ()].map(|()| builder.input(x.clone(), Domain::Coefficients).unwrap());
    let w = builder.input(y.clone(), Domain::Coefficients).unwrap();
    let [u, v, w] = [u, v, w].map(|value| builder.transform(value, Domain::Evaluations));
    let at = residents.shapes().into_iter().map(|shape| builder.resident(shape).unwrap());
    let at: Vec<Value> = at.collect();
    let mut sides = Vec::new();
    for (view, at) in [(View::Lifted, at[0]), (View::LiftedConjugate, at[1])] {
        let lifted = [u, v].map(|value| builder.view(value, view, y.clone()).unwrap());
        sides.push(Term::plus(lifted[0]));
        sides.push(Term::product(lifted[1], at));
    }
    let trace = builder.sum(sides).unwrap();
    let there = builder.sum(vec![Term::product(trace, w)]).unwrap();
    let [plus, minus] = [View::Restricted, View::RestrictedMinus]
        .map(|view| builder.view(w, view, x.clone()).unwrap());
    let odd = builder.sum(vec![Term::product(plus, at[2])]).unwrap();
    let other = builder.sum(vec![Term::product(minus, at[2])]).unwrap();
    let odd = builder.sum(vec![Term::plus(odd), Term::minus(other)]).unwrap();
    let back = builder
        .sum(vec![Term::product(plus, u), Term::product(minus, u), Term::product(odd, v)])
        .unwrap();
    for value in [there, back] {
        let value = builder.transform(value, Domain::Coefficients);
        builder.output(value);
    }
    let out = interpret(&builder.finish(), &residents, &inputs, &[]).unwrap();

    let mut uv = vec![0; 2 * n];
    for j in 0..n {
        (uv[2 * j], uv[2 * j + 1]) = (inputs[0][j], inputs[1][j]);
    }
    let conjugate = |f: &[u32]| -> Vec<u32> {
        let of = |j: usize| if j == 0 { f[0] } else { modulus.neg(f[2 * n - j]) };
        (0..2 * n).map(of).collect()
    };
    let mut whole = [inputs[2].clone(), vec![0; n]].concat();
    (1..n).for_each(|j| whole[2 * n - j] = modulus.neg(inputs[2][j]));
    assert_eq!(conjugate(&whole), whole);
    let trace: Vec<u32> = uv.iter().zip(conjugate(&uv)).map(|(&a, b)| modulus.add(a, b)).collect();
    let product = negacyclic_product_naive(modulus, &trace, &whole);
    assert_eq!(out.outputs[0], product[..n]);
    let product = negacyclic_product_naive(modulus, &uv, &whole);
    let even: Vec<u32> = (0..n).map(|j| modulus.mul(2, product[2 * j])).collect();
    assert_eq!(out.outputs[1], even);
}

#[test]
fn both_conversions_are_those_of_the_ring() {
    let ring = ring(5);
    let (from, to) = (ring.basis(0..3), ring.basis(2..5));
    for (corrected, formula) in [(false, Formula::Plain), (true, Formula::Corrected)] {
        let mut builder = ProgramBuilder::new(ring.clone());
        let x = builder.input(from.clone(), Domain::Coefficients).unwrap();
        let y = builder.convert(x, to.clone(), corrected).unwrap();
        builder.output(y);
        let mut input = polynomial(&ring, &from, 7);
        // The last summands that count as positive, and the first that count as negative.
        for (i, limb) in input.chunks_exact_mut(ring.degree()).enumerate() {
            let d = ring.primes[i];
            let others = (0..3).filter(|&j| j != i).map(|j| ring.primes[j].value() % d.value());
            let product = others.fold(1, |all, other| d.mul(all, other));
            let half = (d.value() - 1) / 2;
            (limb[0], limb[1]) = (d.mul(half, product), d.mul(half + 1, product));
        }
        let program = builder.finish();
        let out =
            interpret(&program, &HostPolynomials::default(), std::slice::from_ref(&input), &[])
                .unwrap();
        let basis = |b: &Basis| {
            let primes = b.primes().iter().map(|&p| ring.primes[usize::from(p)].value());
            RnsBasis::new(&primes.collect::<Vec<_>>()).unwrap()
        };
        let conversion = BaseConversion::new(&basis(&from), &basis(&to)).unwrap();
        let mut expected = vec![0; to.len() * ring.degree()];
        conversion.convert(formula, &input, &mut expected);
        assert_eq!(out.outputs[0], expected, "corrected: {corrected}");
    }
}

#[test]
fn runs_constants_halves_and_views() {
    let ring = ring(3);
    let n = ring.degree();
    let (low, high) = (ring.basis(0..1), ring.basis(1..2));
    let both = ring.basis(0..2);
    let mut builder = ProgramBuilder::new(ring.clone());
    let a = builder.input(low.clone(), Domain::Evaluations).unwrap();
    let b = builder.input(high.clone(), Domain::Evaluations).unwrap();
    let runs = ResidentShape { basis: both.clone(), log2_run: 2 };
    let diagonal = builder.resident(runs.clone()).unwrap();
    let joined = builder.join(&[b, a]).unwrap();
    let units: Vec<[u32; 2]> = vec![[2, 3], [5, 7]];
    let units = Factor::Residues(units.into());
    let sum = builder
        .sum(vec![
            Term::product(joined, diagonal),
            Term::scaled(units.clone(), joined),
            Term::constant(Factor::MinusOne),
        ])
        .unwrap();
    let view = builder.limbs(sum, high.clone()).unwrap();
    builder.output(view);
    let input = [polynomial(&ring, &low, 3), polynomial(&ring, &high, 4)];
    let stored = vec![1, 2, 3, 4];
    let residents = HostPolynomials::new(&ring, vec![(runs, stored)]).unwrap();
    let out = interpret(&builder.finish(), &residents, &input, &[diagonal, sum]).unwrap();
    assert_eq!(out.kept[0], [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4]);
    let p = u64::from(ring.primes[1].value());
    let expected: Vec<u32> = (0..n)
        .map(|k| {
            let (d, factor) = if k < n / 2 { (3, 5) } else { (4, 7) };
            ((u64::from(input[1][k]) * (d + factor) + p - 1) % p) as u32
        })
        .collect();
    assert_eq!(out.outputs[0], expected);
    assert_eq!(out.kept[1][n..], expected);
}

#[test]
fn refusals_name_what_is_wrong() {
    let ring = ring(3);
    let basis = ring.basis(0..1);
    let mut builder = ProgramBuilder::new(ring.clone());
    let a = builder.input(basis.clone(), Domain::Evaluations).unwrap();
    builder.output(a);
    let program = builder.finish();
    assert_eq!([0, program.ops().len()].map(|at| program.value(at)), [Some(a), None]);
    let none = HostPolynomials::default();
    let refuse =
        |inputs: &[Vec<u32>]| interpret(&program, &none, inputs, &[]).unwrap_err().to_string();
    assert!(refuse(&[]).contains("0 inputs for a program of 1"));
    assert!(refuse(&[vec![0; 7]]).contains("input 0 has 7 words; 1 limbs of 8 are 8"));
    let large = vec![1073479681; 8];
    assert!(refuse(&[large]).contains("word 0 of the limb modulo 1073479681"));
    let shape = ResidentShape { basis, log2_run: 0 };
    let mut builder = ProgramBuilder::new(ring.clone());
    let pairs = ResidentShape { log2_run: 1, ..shape.clone() };
    let pairs = builder.resident(pairs).unwrap();
    let later = builder.sum(vec![Term::product(pairs, pairs)]).unwrap();
    builder.output(later);
    let why = interpret(&program, &none, &[vec![0; 8]], &[Value(2)]).unwrap_err().to_string();
    assert!(why.contains("value 2 of a program of 2 operations"), "{why}");
    let extra = HostPolynomials::new(&ring, vec![(shape, vec![0; 8])]).unwrap();
    let why = interpret(&builder.finish(), &extra, &[], &[]).unwrap_err().to_string();
    assert!(why.contains("in runs of 2^0; the program reads one"), "{why}");
    let why = interpret(&program, &extra, &[vec![0; 8]], &[]).unwrap_err().to_string();
    assert!(why.contains("1 polynomials for a program that reads 0"), "{why}");
}

/// X^(N/2) has the values that it is multiplied by.
#[test]
fn the_imaginary_unit_is_a_power_of_x() {
    let ring = ring(4);
    let n = ring.degree();
    let mut builder = ProgramBuilder::new(ring.clone());
    let basis = ring.basis(0..ring.primes.len());
    let x = builder.input(basis.clone(), Domain::Coefficients).unwrap();
    let values = builder.transform(x, Domain::Evaluations);
    builder.output(values);
    let power: Vec<u32> = (0..basis.len() * n).map(|j| u32::from(j % n == n / 2)).collect();
    let program = builder.finish();
    let out = interpret(&program, &HostPolynomials::default(), &[power], &[]).unwrap();
    for (&prime, values) in basis.primes().iter().zip(out.outputs[0].chunks_exact(n)) {
        let [low, high] = ring.imaginary_unit(prime);
        assert!(values[..n / 2].iter().all(|&value| value == low));
        assert!(values[n / 2..].iter().all(|&value| value == high));
    }
}
