//! The fast rotator against a blind rotation by schoolbook products of integers, on every
//! instruction set.

mod torus;

use super::*;
use crate::bootstrap::blind_rotate::Twin;
use girih_backend::{KeyModulus, NoProgress, SecretKind};
use girih_ring::gadget::balanced_digits;
use girih_ring::switch::mod_switch;

struct RandomKeys {
    shape: BootstrapShape,
    modulus: u64,
}

fn mix(x: u64) -> u64 {
    // SplitMix64's finaliser (Steele et al. 2014).
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl KeySource for RandomKeys {
    fn shape(&self) -> &BootstrapShape {
        &self.shape
    }

    fn bootstrapping_block(&self, index: usize, out: &mut [u64]) {
        let block = out.len() as u64;
        for (i, o) in out.iter_mut().enumerate() {
            *o = mix((index as u64 * block + i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
                % self.modulus;
        }
    }

    fn key_switching_block(&self, _: usize, _: &mut [u64]) {
        unreachable!("a rotator asks for no key-switching key");
    }
}

fn shape(
    size: usize,
    k: usize,
    r: usize,
    secret: SecretKind,
    gadget: Gadget,
    words: &[u32],
) -> BootstrapShape {
    BootstrapShape {
        lwe_dimension: 3,
        log2_lwe_modulus: 6,
        polynomial_size: size,
        glwe_dimension: k,
        packing: r,
        secret,
        grouping: 1,
        gadget,
        key_modulus: KeyModulus::Words(words.to_vec()),
        log2_ks_modulus: 14,
        log2_ks_base: 5,
    }
}

/// The same shape with so many indices a step, three steps in all.
fn grouped(grouping: usize, shape: BootstrapShape) -> BootstrapShape {
    BootstrapShape { grouping, lwe_dimension: 3 * grouping, ..shape }
}

/// The exponents of step `index`.
fn of_step(shape: &BootstrapShape, exponents: &[u32], index: usize) -> Vec<u32> {
    exponents[index * shape.grouping..][..shape.grouping].to_vec()
}

fn gd(log2_base: u32, levels: usize, dropped: u32) -> Gadget {
    Gadget::Decomposition { log2_base, levels, dropped_bits: dropped * log2_base }
}

/// One word of 27 bits: the FFT's error must round away.
fn exact_shapes() -> Vec<BootstrapShape> {
    const P: [u32; 1] = [134_215_681];
    let (ternary, binary) = (SecretKind::Ternary, SecretKind::Binary);
    vec![
        shape(64, 1, 1, ternary, gd(7, 3, 1), &P),
        shape(128, 1, 1, binary, gd(7, 4, 0), &P),
        shape(256, 2, 1, ternary, gd(9, 2, 1), &P),
        shape(256, 1, 2, ternary, gd(9, 3, 0), &P),
        shape(512, 2, 2, binary, gd(5, 5, 1), &P),
        shape(1024, 1, 1, ternary, gd(7, 3, 1), &P),
        grouped(2, shape(256, 1, 1, binary, gd(8, 3, 1), &P)),
        grouped(3, shape(128, 2, 2, binary, gd(7, 4, 0), &P)),
        grouped(4, shape(64, 1, 1, binary, gd(9, 2, 1), &P)),
    ]
}

fn approximate_shapes() -> Vec<BootstrapShape> {
    let mr = |log2_modulus| Gadget::ModulusRaising { log2_modulus };
    let (ternary, binary) = (SecretKind::Ternary, SecretKind::Binary);
    vec![
        // The largest rings that are run, with one digit of two words.
        shape(2048, 1, 1, ternary, gd(27, 1, 1), &[134_111_233, 134_176_769]),
        shape(2048, 1, 1, ternary, gd(25, 1, 1), &[33_538_049, 33_550_337]),
        shape(256, 2, 2, ternary, gd(18, 2, 1), &[134_111_233, 134_176_769]),
        shape(512, 1, 1, binary, gd(13, 2, 1), &[188_417, 366_593]),
        shape(512, 3, 5, ternary, mr(18), &[642_049, 3_425_281]),
        shape(64, 1, 1, binary, mr(18), &[642_049, 3_425_281]),
        shape(1024, 1, 1, ternary, mr(22), &[28_241_921, 39_866_369]),
        grouped(2, shape(512, 1, 1, binary, gd(13, 2, 1), &[188_417, 366_593])),
        grouped(3, shape(256, 3, 1, binary, mr(18), &[642_049, 3_425_281])),
    ]
}

fn keys(shape: &BootstrapShape) -> RandomKeys {
    shape.validate().expect("a possible shape");
    RandomKeys { shape: shape.clone(), modulus: shape.key_modulus_value().expect("words") }
}

fn random_input(shape: &BootstrapShape, seed: u64) -> (Vec<u32>, Vec<u64>) {
    let modulus = shape.accumulator_modulus().expect("words");
    let exponents = (0..shape.ciphertext_len())
        .map(|i| (mix(seed + i as u64) % (2 * shape.polynomial_size as u64)) as u32);
    let tables = (0..shape.packing * shape.polynomial_size)
        .map(|i| mix(seed ^ (1 << 40) ^ i as u64) % modulus);
    (exponents.collect(), tables.collect())
}

/// `X^exponent a`, negacyclic, exponent in [0, 2N).
fn rotate(a: &[i128], exponent: usize) -> Vec<i128> {
    let n = a.len();
    let mut out = vec![0; n];
    for (i, &x) in a.iter().enumerate() {
        let to = (i + exponent) % (2 * n);
        out[to % n] = if to < n { x } else { -x };
    }
    out
}

/// By the definition: e and -e of a ternary secret, or the sum over a set of indices.
fn exponent_of(shape: &BootstrapShape, which: usize, exponents: &[u32]) -> usize {
    let double = 2 * shape.polynomial_size;
    match shape.secret {
        SecretKind::Ternary => {
            [exponents[0] as usize, double - exponents[0] as usize][which] % double
        }
        SecretKind::Binary => {
            (0..exponents.len())
                .filter(|i| (which + 1) & (1 << i) != 0)
                .map(|i| exponents[i] as usize)
                .sum::<usize>()
                % double
        }
    }
}

/// The accumulator `[K][N]` after one step, by the definition:
/// every product a double loop over integers.
fn step_naive(keys: &RandomKeys, index: usize, exponents: &[u32], accumulator: &[u64]) -> Vec<u64> {
    let shape = &keys.shape;
    let (n, columns, levels) = (shape.polynomial_size, shape.columns(), shape.levels());
    let modulus = shape.accumulator_modulus().expect("words");
    let key_modulus = i128::from(keys.modulus);
    let mut block = vec![0; shape.bootstrapping_block_len()];
    keys.bootstrapping_block(index, &mut block);
    // Digits [level][column][coefficient].
    let mut digits = vec![0i32; levels * accumulator.len()];
    for (i, &x) in accumulator.iter().enumerate() {
        let x = centre(x, modulus) as i64;
        let mut one = vec![0; levels];
        match shape.gadget {
            Gadget::Decomposition { log2_base, dropped_bits, .. } => {
                balanced_digits(x, log2_base, dropped_bits, &mut one)
            }
            _ => one[0] = x as i32,
        }
        one.iter().enumerate().for_each(|(l, &d)| digits[l * accumulator.len() + i] = d);
    }
    let mut sums = vec![vec![0i128; n]; columns];
    for (which, ggsw) in block.chunks_exact(levels * columns * columns * n).enumerate() {
        let e = exponent_of(shape, which, exponents);
        for (column, sum) in sums.iter_mut().enumerate() {
            let mut product = vec![0i128; n];
            for (row, d) in digits.chunks_exact(n).enumerate() {
                let c = &ggsw[(row * columns + column) * n..][..n];
                for (i, &d) in d.iter().enumerate() {
                    for (j, &c) in c.iter().enumerate() {
                        let term = i128::from(d) * i128::from(c);
                        if i + j < n { product[i + j] += term } else { product[i + j - n] -= term }
                    }
                }
            }
            for ((s, r), p) in sum.iter_mut().zip(rotate(&product, e)).zip(&product) {
                *s = (*s + r - p).rem_euclid(key_modulus);
            }
        }
    }
    let terms = sums.concat();
    accumulator
        .iter()
        .zip(terms)
        .map(|(&a, t)| (a + mod_switch(t as u64, keys.modulus, modulus)) % modulus)
        .collect()
}

fn rotate_fast(
    rotator: &FastRotator,
    inputs: &[(Vec<u32>, Vec<u64>)],
    steps: usize,
) -> Vec<Vec<u64>> {
    let shape = &rotator.shape;
    let len = shape.columns() * shape.polynomial_size;
    let inputs: Vec<RotateInput<'_>> = inputs
        .iter()
        .map(|(exponents, tables)| RotateInput {
            exponents,
            tables: tables.chunks_exact(shape.polynomial_size).collect(),
        })
        .collect();
    let mut out = vec![0; inputs.len() * len];
    rotator.blind_rotate(&inputs, steps, &mut out);
    out.chunks_exact(len).map(<[u64]>::to_vec).collect()
}

/// Distances on the circle of Q.
fn distances(a: &[u64], b: &[u64], modulus: u64) -> impl Iterator<Item = u64> {
    a.iter()
        .zip(b)
        .map(move |(&a, &b)| (a + modulus - b) % modulus)
        .map(move |d| d.min(modulus - d))
}

fn distance(a: &[u64], b: &[u64], modulus: u64) -> u64 {
    distances(a, b, modulus).max().unwrap_or(0)
}

fn deviation(a: &[u64], b: &[u64], modulus: u64) -> f64 {
    (distances(a, b, modulus).map(|d| (d as f64).powi(2)).sum::<f64>() / a.len() as f64).sqrt()
}

fn rotators(keys: &RandomKeys) -> Vec<FastRotator> {
    Simd::available()
        .into_iter()
        .map(|simd| FastRotator::with_simd(keys, &NoProgress, simd).expect("in range"))
        .collect()
}

#[test]
fn the_first_accumulator_is_the_rotated_table() {
    for shape in exact_shapes().iter().chain(&approximate_shapes()) {
        let keys = keys(shape);
        let (n, modulus) = (shape.polynomial_size, shape.accumulator_modulus().expect("words"));
        let input = random_input(shape, 5);
        for rotator in rotators(&keys) {
            let got = &rotate_fast(&rotator, std::slice::from_ref(&input), 0)[0];
            let (masks, bodies) = got.split_at(shape.glwe_dimension * n);
            assert!(masks.iter().all(|&x| x == 0));
            for (j, (body, table)) in
                bodies.chunks_exact(n).zip(input.1.chunks_exact(n)).enumerate()
            {
                let table: Vec<i128> = table.iter().map(|&x| i128::from(x)).collect();
                let shift = 2 * n - input.0[shape.lwe_dimension + j] as usize;
                for (&b, want) in body.iter().zip(rotate(&table, shift)) {
                    assert_eq!(i128::from(b), want.rem_euclid(i128::from(modulus)), "slot {j}");
                }
            }
        }
    }
}

#[test]
fn one_word_rotations_equal_the_integers() {
    for shape in exact_shapes() {
        let keys = keys(&shape);
        // Five ciphertexts, so pairs and a single; one with a zero exponent, one with N.
        let mut inputs: Vec<_> = (0..5).map(|i| random_input(&shape, 100 * i)).collect();
        inputs[0].0[1] = 0;
        inputs[4].0[0] = 0;
        inputs[3].0[2] = shape.polynomial_size as u32;
        let steps = if shape.polynomial_size > 256 { 2 } else { 3 };
        let rotators = rotators(&keys);
        let start = rotate_fast(&rotators[0], &inputs, 0);
        let want: Vec<Vec<u64>> = start
            .into_iter()
            .zip(&inputs)
            .map(|(acc, (exponents, _))| {
                (0..steps)
                    .fold(acc, |acc, i| step_naive(&keys, i, &of_step(&shape, exponents, i), &acc))
            })
            .collect();
        for rotator in rotators {
            assert_eq!(
                rotate_fast(&rotator, &inputs, steps),
                want,
                "{:?} on {:?}",
                shape.gadget,
                rotator.fft.simd()
            );
        }
    }
}

/// The sets that doubles run exactly, in their own N and gadget, over a hundred steps: every bit as
/// the integer twin.
#[test]
fn long_rotations_of_published_shapes_equal_the_twin() {
    // Every gadget of one 27-bit word that is in use; r = 1 and 3.
    for (gadget, packing) in
        [(gd(7, 3, 1), 1), (gd(8, 3, 1), 1), (gd(9, 2, 1), 3), (gd(7, 4, 0), 1), (gd(5, 5, 1), 1)]
    {
        let mut shape = shape(1024, 1, packing, SecretKind::Ternary, gadget, &[134_215_681]);
        shape.lwe_dimension = 100;
        let keys = keys(&shape);
        let input = random_input(&shape, 77);
        let tables: Vec<&[u64]> = input.1.chunks_exact(shape.polynomial_size).collect();
        let mut want = vec![0; shape.columns() * shape.polynomial_size];
        let twin = Twin::new(&keys, &NoProgress).expect("in range");
        twin.blind_rotate(
            &[RotateInput { exponents: &input.0, tables }],
            shape.lwe_dimension,
            &mut want,
        );
        for rotator in rotators(&keys) {
            let got = rotate_fast(&rotator, std::slice::from_ref(&input), shape.lwe_dimension);
            assert!(
                got[0] == want,
                "{:?}, r = {packing}, on {:?}",
                shape.gadget,
                rotator.fft.simd()
            );
        }
    }
}

/// Two-word GD within the stated deviation, MR within one unit,
/// after one step from the same accumulator.
#[test]
fn wide_steps_stay_within_the_stated_error() {
    for shape in approximate_shapes() {
        let keys = keys(&shape);
        let modulus = shape.accumulator_modulus().expect("words");
        let inputs: Vec<_> = (0..2).map(|i| random_input(&shape, 7 + 100 * i)).collect();
        for rotator in rotators(&keys) {
            // The second step: before the first, masks are zero and half of the digits with them.
            let (start, after) =
                (rotate_fast(&rotator, &inputs, 1), rotate_fast(&rotator, &inputs, 2));
            let name = format!(
                "{:?}, N = {}, on {:?}",
                shape.gadget,
                shape.polynomial_size,
                rotator.fft.simd()
            );
            for ((start, after), (exponents, _)) in start.iter().zip(&after).zip(&inputs) {
                let want = step_naive(&keys, 1, &of_step(&shape, exponents, 1), start);
                let worst = distance(after, &want, modulus);
                let allowed = if let Gadget::ModulusRaising { .. } = shape.gadget {
                    1
                } else {
                    let (stated, deviation) =
                        (rotator.error_per_step(), deviation(after, &want, modulus));
                    println!("{name}: c = {:.2}", FastRotator::ERROR_CONSTANT * deviation / stated);
                    assert!(
                        deviation <= stated + 0.5,
                        "{name}: deviation {deviation}, stated {stated}"
                    );
                    (6.0 * stated).ceil() as u64
                };
                assert!(worst <= allowed, "{name}: off by {worst}, allowed {allowed}");
                assert!(
                    distance(after, start, modulus) > 1000 * allowed,
                    "a step that changes nothing proves nothing"
                );
            }
        }
    }
}

#[test]
fn results_do_not_depend_on_the_group() {
    let shape = approximate_shapes().remove(3);
    let keys = keys(&shape);
    let inputs: Vec<_> = (0..4).map(|i| random_input(&shape, 31 + 100 * i)).collect();
    for rotator in rotators(&keys) {
        let together = rotate_fast(&rotator, &inputs, 3);
        for (input, want) in inputs.iter().zip(&together) {
            assert_eq!(&rotate_fast(&rotator, std::slice::from_ref(input), 3)[0], want);
        }
    }
}

#[test]
fn refuses_what_doubles_cannot_hold() {
    let wide =
        shape(1024, 1, 1, SecretKind::Ternary, gd(30, 1, 1), &[1_073_707_009, 1_073_698_817]);
    let error = FastRotator::new(&RandomKeys { shape: wide, modulus: 1 }, &NoProgress)
        .err()
        .expect("refused")
        .to_string();
    assert!(error.contains("54 bits"), "{error}");
}
