//! The published CKKS vectors, as far as they are arithmetic of the ring: transforms, automorphisms
//! and base changes, bit for bit.

#[path = "../../../tests/vectors/reader.rs"]
mod reader;

use girih_ring::{Automorphism, BaseConversion, Formula, Modulus, RnsBasis, SplitNtt};
use reader::{array, file, limbs, number, words};

#[test]
fn transforms_and_automorphisms() {
    let file = file("ckks/ntt");
    let cases = array(&file["cases"]);
    assert_eq!(cases.len(), 3);
    for case in cases {
        let size = number(&case["N"]);
        let (psi, transformed) = (words(&case["psi"]), limbs(&case["transformed"]));
        let coefficients = limbs(&case["coefficients"]);
        let turned = limbs(&case["times_x_to_half_n"]);
        let primes = words(&case["primes"]);
        for (i, &prime) in primes.iter().enumerate() {
            let modulus = Modulus::new(prime).expect("a prime");
            for row_len in [1, 4, size / 2, size] {
                let ntt = SplitNtt::with_row_len(modulus, size, row_len).expect("1 mod 2N");
                assert_eq!(ntt.psi(), psi[i]);
                let mut data = coefficients[i].clone();
                ntt.forward(&mut data);
                assert_eq!(data, transformed[i], "N = {size}, p = {prime}, R = {row_len}");
                ntt.inverse(&mut data);
                assert_eq!(data, coefficients[i], "N = {size}, p = {prime}, R = {row_len}");
                let mut shifted = vec![0; size];
                for (k, &c) in coefficients[i].iter().enumerate() {
                    let to = k + size / 2;
                    shifted[to % size] = if to < size { c } else { modulus.neg(c) };
                }
                ntt.forward(&mut shifted);
                assert_eq!(shifted, turned[i]);
            }
        }
        let automorphisms = array(&case["automorphisms"]);
        assert!(!automorphisms.is_empty());
        for automorphism in automorphisms {
            let phi = Automorphism::new(size, number(&automorphism["g"])).expect("odd");
            let gather = words(&automorphism["gather"]);
            assert!((0..size).all(|j| phi.source(j) == gather[j] as usize));
            let output = limbs(&automorphism["output"]);
            let mut out = vec![0; size];
            phi.apply(&transformed[0], &mut out);
            assert_eq!(out, output[0]);
        }
    }
}

#[test]
fn conversions() {
    let file = file("ckks/base_change");
    let cases = array(&file["conversions"]);
    assert_eq!(cases.len(), 3);
    for case in cases {
        let basis = |name: &str| RnsBasis::new(&words(&case[name])).expect("primes");
        let (from, to) = (basis("from_primes"), basis("to_primes"));
        let conversion = BaseConversion::new(&from, &to).expect("primes above 2^19");
        let input = limbs(&case["coefficients"]).concat();
        for (name, formula) in [("plain", Formula::Plain), ("corrected", Formula::Corrected)] {
            let mut out = vec![0; input.len() / from.len() * to.len()];
            conversion.convert(formula, &input, &mut out);
            assert_eq!(out, limbs(&case[name]).concat(), "{name}");
        }
    }
}

/// A base change of limbs in evaluation form, from the parts of this crate.
struct Ring {
    size: usize,
}

impl Ring {
    fn ntt(&self, modulus: Modulus) -> SplitNtt {
        SplitNtt::with_row_len(modulus, self.size, 8).expect("1 mod 2N")
    }

    fn convert(&self, formula: Formula, from: &[u32], x: &[Vec<u32>], to: &[u32]) -> Vec<Vec<u32>> {
        let from = RnsBasis::new(from).expect("primes");
        let to = RnsBasis::new(to).expect("primes");
        let mut coefficients = x.to_vec();
        for (limb, &modulus) in coefficients.iter_mut().zip(from.moduli()) {
            self.ntt(modulus).inverse(limb);
        }
        let conversion = BaseConversion::new(&from, &to).expect("primes above 2^19");
        let mut out = vec![0; self.size * to.len()];
        conversion.convert(formula, &coefficients.concat(), &mut out);
        let pairs = out.chunks_exact_mut(self.size).zip(to.moduli());
        pairs
            .map(|(limb, &modulus)| {
                self.ntt(modulus).forward(limb);
                limb.to_vec()
            })
            .collect()
    }

    /// round(A x / S) over `y_primes` of `x` over `x_primes`.
    fn divide_round(&self, x_primes: &[u32], x: &[Vec<u32>], y_primes: &[u32]) -> Vec<Vec<u32>> {
        let without = |a: &[u32], b: &[u32]| -> Vec<u32> {
            a.iter().copied().filter(|p| !b.contains(p)).collect()
        };
        let (dropped, added) = (without(x_primes, y_primes), without(y_primes, x_primes));
        let product = |m: Modulus, primes: &[u32]| primes.iter().fold(1, |a, &p| m.mul(a, p));
        let limb = |p: u32| {
            let m = Modulus::new(p).expect("a prime");
            let at = x_primes.iter().position(|&q| q == p).expect("a prime of x");
            x[at].iter().map(|&v| m.mul(v, product(m, &added))).collect::<Vec<u32>>()
        };
        let scaled: Vec<Vec<u32>> = dropped.iter().map(|&p| limb(p)).collect();
        let r = self.convert(Formula::Corrected, &dropped, &scaled, y_primes);
        let quotient = |(i, &p): (usize, &u32)| {
            let m = Modulus::new(p).expect("a prime");
            let inverse = m.inverse(product(m, &dropped));
            let kept = if added.contains(&p) { vec![0; self.size] } else { limb(p) };
            kept.iter().zip(&r[i]).map(|(&a, &b)| m.mul(m.sub(a, b), inverse)).collect()
        };
        y_primes.iter().enumerate().map(quotient).collect()
    }
}

#[test]
fn raised_digits_and_rounded_quotients() {
    let file = file("ckks/base_change");
    let params = &file["params"];
    let ring = Ring { size: number(&params["N"]) };
    let auxiliary = words(&params["auxiliary"]);
    let (layouts, digits) = (limbs(&file["layouts"]), limbs(&file["digit_primes"]));
    for case in array(&file["mod_up"]) {
        let base = &layouts[number(&case["level"])];
        let input = limbs(&case["input"]);
        let extended = [&base[..], &auxiliary].concat();
        for raised in array(&case["digits"]) {
            let digit = &digits[number(&raised["digit"])];
            let at: Vec<usize> = (0..base.len()).filter(|&i| digit.contains(&base[i])).collect();
            let from: Vec<u32> = at.iter().map(|&i| base[i]).collect();
            let x: Vec<Vec<u32>> = at.iter().map(|&i| input[i].clone()).collect();
            let out = ring.convert(Formula::Plain, &from, &x, &extended);
            assert_eq!(out, limbs(&raised["output"]));
        }
    }
    let cases = array(&file["divide_round"]);
    assert_eq!(cases.len(), 8);
    for case in cases {
        let (from, to) = (&layouts[number(&case["frm"])], &layouts[number(&case["to"])]);
        let kind = case["kind"].as_str().expect("a name");
        let from = if kind == "rescale" { from.clone() } else { [&from[..], &auxiliary].concat() };
        let out = ring.divide_round(&from, &limbs(&case["input"]), to);
        assert_eq!(out, limbs(&case["output"]), "{kind}");
    }
}
