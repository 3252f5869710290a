//! The same on the native torus, against wrapping integers.

use super::*;
use girih_ring::gadget::closest_representative_digits;
use girih_ring::round_torus;

/// Keys of any 64-bit words, others for each seed.
struct TorusKeys(BootstrapShape, u64);

impl KeySource for TorusKeys {
    fn shape(&self) -> &BootstrapShape {
        &self.0
    }

    fn bootstrapping_block(&self, index: usize, out: &mut [u64]) {
        let first = (self.1 << 32) + index as u64 * out.len() as u64 + 1;
        out.iter_mut()
            .enumerate()
            .for_each(|(i, o)| *o = mix((first + i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    }

    fn key_switching_block(&self, _: usize, _: &mut [u64]) {
        unreachable!("a rotator asks for no key-switching key");
    }
}

fn torus(
    size: usize,
    k: usize,
    r: usize,
    secret: SecretKind,
    log2_base: u32,
    levels: usize,
) -> BootstrapShape {
    let mut shape =
        shape(size, k, r, secret, Gadget::ClosestRepresentative { log2_base, levels }, &[]);
    shape.key_modulus = KeyModulus::Torus64;
    (shape.log2_lwe_modulus, shape.log2_ks_modulus) = (shape.log2_monomials(), 15);
    shape
}

/// One step on the native torus by the definition, in wrapping 64-bit integers, of a key whose
/// words are rounded by so many bits.
fn torus_step_naive(
    keys: &TorusKeys,
    rounding: u32,
    index: usize,
    exponents: &[u32],
    accumulator: &[u64],
) -> Vec<u64> {
    let shape = &keys.0;
    let Gadget::ClosestRepresentative { log2_base, levels } = shape.gadget else {
        unreachable!("a torus shape")
    };
    let (n, columns) = (shape.polynomial_size, shape.columns());
    let mut block = vec![0; shape.bootstrapping_block_len()];
    keys.bootstrapping_block(index, &mut block);
    block.iter_mut().for_each(|c| *c = (round_torus(*c, rounding) as u64) << rounding);
    let mut digits = vec![0i32; levels * accumulator.len()];
    for (i, &x) in accumulator.iter().enumerate() {
        let mut one = vec![0; levels];
        closest_representative_digits(x, log2_base, &mut one);
        one.iter().enumerate().for_each(|(l, &d)| digits[l * accumulator.len() + i] = d);
    }
    let mut out = accumulator.to_vec();
    for (which, ggsw) in block.chunks_exact(levels * columns * columns * n).enumerate() {
        let e = exponent_of(shape, which, exponents);
        for (column, out) in out.chunks_exact_mut(n).enumerate() {
            let mut product = vec![0u64; n];
            for (row, d) in digits.chunks_exact(n).enumerate() {
                let c = &ggsw[(row * columns + column) * n..][..n];
                for (i, &d) in d.iter().enumerate() {
                    for (j, &c) in c.iter().enumerate() {
                        let term = c.wrapping_mul(i64::from(d) as u64);
                        let to = (i + j) % n;
                        product[to] = if i + j < n {
                            product[to].wrapping_add(term)
                        } else {
                            product[to].wrapping_sub(term)
                        };
                    }
                }
            }
            for (i, &p) in product.iter().enumerate() {
                let to = (i + e) % (2 * n);
                out[to % n] =
                    if to < n { out[to % n].wrapping_add(p) } else { out[to % n].wrapping_sub(p) };
                out[i] = out[i].wrapping_sub(p);
            }
        }
    }
    out
}

/// The native torus, the shape in use first,
/// against wrapping integers after one step from the same accumulator.
#[test]
fn torus_steps_stay_within_the_stated_error() {
    let (ternary, binary) = (SecretKind::Ternary, SecretKind::Binary);
    for shape in [
        torus(2048, 1, 1, binary, 23, 1),
        torus(512, 2, 1, binary, 15, 2),
        torus(256, 1, 2, ternary, 10, 3),
        torus(64, 1, 1, binary, 4, 12),
        grouped(2, torus(2048, 1, 1, binary, 23, 1)),
        grouped(3, torus(2048, 1, 1, binary, 23, 1)),
        grouped(4, torus(512, 2, 1, binary, 15, 2)),
    ] {
        shape.validate().expect("a possible shape");
        let keys = TorusKeys(shape.clone(), 0);
        let exponents = |seed: u64| -> Vec<u32> {
            (0..shape.switched_len())
                .map(|i| (mix(seed + i as u64) % (2 * shape.polynomial_size as u64)) as u32)
                .collect()
        };
        let tables = |seed: u64| -> Vec<u64> {
            (0..shape.packing * shape.polynomial_size)
                .map(|i| mix(seed ^ (1 << 40) ^ i as u64))
                .collect()
        };
        let inputs: Vec<_> =
            (0..2).map(|i| (exponents(9 + 100 * i), tables(9 + 100 * i))).collect();
        for simd in Simd::available() {
            let rotator = FastRotator::with_simd(&keys, &NoProgress, simd).expect("in range");
            let (start, after) =
                (rotate_fast(&rotator, &inputs, 1), rotate_fast(&rotator, &inputs, 2));
            // Stated in units of the held modulus; rounding accumulators to those units is within
            // half of one.
            let stated = (rotator.error_per_step() + 1.0) * 2f64.powi(TORUS_DROPPED as i32);
            for ((start, after), (exponents, _)) in start.iter().zip(&after).zip(&inputs) {
                let want = torus_step_naive(&keys, 0, 1, &of_step(&shape, exponents, 1), start);
                let off = |a: &[u64], b: &[u64]| -> f64 {
                    let squares =
                        a.iter().zip(b).map(|(a, b)| (a.wrapping_sub(*b) as i64 as f64).powi(2));
                    (squares.sum::<f64>() / a.len() as f64).sqrt()
                };
                let deviation = off(after, &want);
                let (size, g) = (shape.polynomial_size, shape.grouping);
                println!(
                    "N = {size}, {g} a step: deviation 2^{:.2}, stated 2^{:.2}",
                    deviation.log2(),
                    stated.log2()
                );
                assert!(
                    deviation <= stated,
                    "{:?} on {simd:?}: deviation {deviation}, stated {stated}",
                    shape.gadget
                );
                assert!(
                    off(after, start) > 1000.0 * stated,
                    "a step that changes nothing proves nothing"
                );
            }
        }
    }
}

/// The integer twin has every bit: with three primes, where the key is rounded and where it is not,
/// and with four of 27 bits and of 31.
#[test]
fn torus_steps_of_the_twin_are_exact() {
    let (ternary, binary) = (SecretKind::Ternary, SecretKind::Binary);
    for (shape, words, rounding) in [
        (torus(256, 1, 1, binary, 23, 1), 3, 7),
        (torus(64, 2, 1, binary, 31, 2), 4, 0),
        (torus(128, 1, 2, ternary, 10, 3), 3, 0),
        (torus(64, 1, 1, binary, 4, 12), 3, 0),
        (torus(64, 1, 1, binary, 20, 2), 4, 0),
        (grouped(3, torus(64, 1, 1, binary, 23, 1)), 3, 7),
    ] {
        assert_eq!(shape.transform_words().map(|w| w.len()), Ok(words), "{shape:?}");
        assert_eq!(shape.transform_rounding(), Ok(rounding), "{shape:?}");
        let keys = TorusKeys(shape.clone(), 5);
        let order = 2 * shape.polynomial_size as u64;
        let exponents: Vec<u32> =
            (0..shape.switched_len()).map(|i| (mix(77 + i as u64) % order) as u32).collect();
        let table: Vec<u64> =
            (0..shape.packing * shape.polynomial_size).map(|i| mix(i as u64) << 3).collect();
        let twin = Twin::new(&keys, &NoProgress).expect("enough primes");
        let after = |steps: usize| {
            let tables = table.chunks_exact(shape.polynomial_size).collect();
            let mut out = vec![0; shape.columns() * shape.polynomial_size];
            let input = RotateInput { exponents: &exponents, tables };
            twin.blind_rotate(&[input], steps, &mut out);
            out
        };
        for step in 0..2 {
            let of = of_step(&shape, &exponents, step);
            let want = torus_step_naive(&keys, rounding, step, &of, &after(step));
            assert_eq!(after(step + 1), want, "{:?}", shape.gadget);
            assert_ne!(after(step), want, "a step that changes nothing proves nothing");
        }
    }
}

/// One word of a quarter of the unit that accumulators are held in.
struct QuarterUnit(BootstrapShape);

impl KeySource for QuarterUnit {
    fn shape(&self) -> &BootstrapShape {
        &self.0
    }

    fn bootstrapping_block(&self, _: usize, out: &mut [u64]) {
        out.fill(0);
        out[0] = 1 << (TORUS_DROPPED - 2);
    }

    fn key_switching_block(&self, _: usize, _: &mut [u64]) {
        unreachable!("a rotator asks for no key-switching key");
    }
}

/// Errors of masks are multiplied by the secret: words rounded to accumulators' units would add a
/// quarter to a key's own noise of 2^17 / sqrt(3).
#[test]
fn torus_keys_are_not_rounded_to_units_of_accumulators() {
    let fft = Fft::new(64).expect("a size");
    let shape = torus(64, 1, 1, SecretKind::Binary, 4, 12);
    let key = FourierKey::load(&QuarterUnit(shape), &fft, &NoProgress).expect("in range");
    assert_eq!(key.block(0).iter().copied().fold(0.0, f64::max), 0.25);
}

/// The share of the transform's error that is in proportion to the spectrum: what a first step errs
/// at the frequency of a constant test polynomial of Q/4, over the error of white digits and how
/// much the constant has there. It is 0.40 with N = 2048; the noise model takes more: CUDA's
/// kernels have up to 0.68.
#[test]
fn first_steps_err_where_the_test_polynomial_stands() {
    const KEYS: u64 = 96;
    let shape = torus(512, 1, 1, SecretKind::Binary, 23, 1);
    let (size, digits) = (shape.polynomial_size, 2f64.powi(23));
    let mut squares = 0.0;
    for seed in 0..KEYS {
        let keys = TorusKeys(shape.clone(), seed + 1);
        let rotator = FastRotator::new(&keys, &NoProgress).expect("in range");
        let exponents: Vec<u32> = (0..shape.switched_len())
            .map(|i| (mix(100 * seed + i as u64) % (2 * size as u64)) as u32)
            .collect();
        let inputs = [(exponents, vec![1u64 << 62; size])];
        let [start, after] = [0, 1].map(|steps| rotate_fast(&rotator, &inputs, steps).remove(0));
        let want = torus_step_naive(&keys, 0, 0, &inputs[0].0[..1], &start);
        // The mask's error at exp(i pi / N).
        let (mut re, mut im) = (0.0, 0.0);
        for (j, (&got, &want)) in after.iter().zip(&want).take(size).enumerate() {
            let (sine, cosine) = (std::f64::consts::PI * j as f64 / size as f64).sin_cos();
            let error = got.wrapping_sub(want) as i64 as f64 / 2f64.powi(TORUS_DROPPED as i32);
            (re, im) = (re + error * cosine, im + error * sine);
        }
        // As the noise model has it: of one GGSW ciphertext where that tells of two.
        let per_step = rotator.error_per_step() / FastRotator::ERROR_CONSTANT * 4.4 * 0.5f64.sqrt();
        squares += (re * re + im * im) / per_step.powi(2) / KEYS as f64;
    }
    // |v(z)|^2 of the constant's digits over that of two white polynomials, and N coefficients of
    // error e.
    let constant = (digits / 4.0 * 2.0 * size as f64 / std::f64::consts::PI).powi(2);
    let share = squares / size as f64 / (constant / (2.0 * size as f64 * digits.powi(2) / 12.0));
    println!("{share:.3}");
    assert!((0.15..0.45).contains(&share), "{share}");
}

#[test]
fn refuses_digits_that_doubles_cannot_hold() {
    let error =
        FastRotator::new(&TorusKeys(torus(1024, 1, 1, SecretKind::Binary, 13, 4), 0), &NoProgress)
            .err()
            .expect("refused")
            .to_string();
    assert!(error.contains("52 bits"), "{error}");
}
