//! Functions of secret values take the same instructions and touch the same memory whatever the
//! values are: the crates as they were built for these tests run step by step on different
//! secrets, with all that they call.
//!
//! A case gives secrets drawn at random and those at the edges of ranges. What the processor
//! executes is compared, so nothing depends on how a compiler writes a branch; a branch that none
//! of the secrets takes is not seen.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![allow(unsafe_code, reason = "a handler of the processor's trap, and an allocator")]

mod decode;
mod schemes;
mod step;

use girih_ring::constant_time::{self, Leading};
use girih_ring::sampler::{Gaussian, SecretSeed, TUniform};
use girih_ring::{Modulus, RnsBasis, SplitNtt};
use girih_rlwe::{Secret, SecretDistribution};
use std::hint::black_box;
use step::same_steps;

#[global_allocator]
static ALLOCATOR: step::Allocator = step::Allocator;

/// Numbers that repeat.
pub(crate) fn words(seed: u64) -> impl Iterator<Item = u64> {
    let mut stream = SecretSeed::new([seed as u8; 32]).stream(9, seed);
    std::iter::repeat_with(move || stream.next_u64())
}

#[track_caller]
pub(crate) fn hides<S, T>(
    what: &str,
    secrets: &[S],
    prepare: impl Fn(&S) -> T,
    run: impl Fn(&mut T),
) {
    match same_steps(secrets, prepare, run) {
        Ok(steps) => println!("{what}: {steps} instructions, {} secrets", secrets.len()),
        Err(shown) => panic!(
            "{what}: secret {} shows at step {}:\n{}",
            shown.secret, shown.step, shown.around
        ),
    }
}

/// What must not pass.
#[test]
fn branches_tables_and_divisions_are_noticed() {
    let secrets: Vec<u64> = words(1).take(8).collect();
    let table: Vec<u64> = words(2).take(256).collect();
    let branch = same_steps(
        &secrets,
        |&x| x,
        |x| {
            if black_box(*x) & 1 == 1 {
                black_box(words(3).take(3).fold(0, |x, y| x ^ y));
            }
        },
    );
    assert!(branch.is_err());
    let lookup = |x: &mut u64| {
        black_box(table[(*x & 255) as usize]);
    };
    assert!(same_steps(&secrets, |&x| x, lookup).is_err());
    let division = |x: &mut u64| {
        black_box(black_box(*x) / black_box(7));
    };
    assert!(same_steps(&secrets, |&x| x, division).is_err());
    let sum = |x: &mut u64| {
        black_box((0..8).fold(*x, |sum, i| black_box(sum.rotate_left(3) ^ i)));
    };
    assert!(same_steps(&secrets, |&x| x, sum).is_ok());
}

/// The arithmetic that everything else is made of, on edges and at random.
#[test]
fn words_of_secrets() {
    let p = 2_147_352_577u32;
    let wide: Vec<u64> =
        [0, 1, 2, u64::MAX, 1 << 63, (1 << 63) - 1].into_iter().chain(words(4).take(26)).collect();
    let below: Vec<u32> = wide.iter().map(|x| (x % u64::from(p)) as u32).collect();
    hides(
        "reduce_small",
        &below,
        |&x| x,
        |x| {
            black_box(constant_time::reduce_small(*x as i32 - black_box(p as i32), black_box(p)));
        },
    );
    hides(
        "subtract_once",
        &below,
        |&x| x,
        |x| {
            black_box(constant_time::subtract_once(*x + black_box(p / 2), black_box(p)));
        },
    );
    hides(
        "centre",
        &below,
        |&x| x,
        |x| {
            black_box(constant_time::centre(u64::from(*x), black_box(u64::from(p))));
        },
    );
    hides(
        "equal_mask",
        &wide,
        |&x| x,
        |x| {
            black_box(constant_time::equal_mask(*x as i64, black_box(1)));
        },
    );
    for log2 in [11, 64] {
        hides(
            "switch_from_power",
            &wide,
            |&x| x >> (64 - log2),
            |x| {
                black_box(constant_time::switch_from_power(*x, black_box(log2), black_box(12_289)));
            },
        );
    }
    for from in [4, 5, 12_289] {
        hides(
            "switch_to_power",
            &wide,
            |&x| x % from,
            |x| {
                black_box(constant_time::switch_to_power(*x, black_box(from), black_box(11)));
            },
        );
    }
    hides(
        "divide",
        &wide,
        |&x| u128::from(x) << (x % 64),
        |x| {
            black_box(constant_time::divide(*x, black_box(12_289)));
        },
    );
    hides(
        "select",
        &wide,
        |&x| x as u32,
        |x| {
            let mask = constant_time::nonzero_mask(*x & 1);
            black_box(constant_time::select(mask, black_box(3), black_box(5)));
        },
    );
    let modulus = Modulus::new(black_box(p)).expect("odd");
    hides(
        "reduce_signed",
        &wide,
        |&x| x as i64,
        |x| {
            black_box(modulus.reduce_signed(*x));
        },
    );
    hides(
        "reduce_i128",
        &wide,
        |&x| (i128::from(x as i64) << (x % 62)) + i128::from(x),
        |x| {
            black_box(modulus.reduce_i128(*x));
        },
    );
    hides(
        "modular arithmetic",
        &below,
        |&x| x,
        |x| {
            let mut y = modulus.mul(*x, 77);
            y = modulus.add(modulus.sub(y, *x), modulus.neg(*x));
            y = modulus.mul_shoup(y, modulus.shoup(5));
            black_box(modulus.centre(y));
        },
    );
    hides(
        "Leading",
        &wide,
        |&x| x >> (x % 64),
        |x| {
            let words = [0, (*x >> 32) as u32, *x as u32, (*x & 1) as u32];
            let leading = words.iter().fold(Leading::default(), |l, &word| l.push(black_box(word)));
            black_box(leading.to_f64(constant_time::nonzero_mask(*x as u32 & 1)));
        },
    );
}

/// Polynomials in every number of primes: residues of integers, transforms, and integers of
/// residues, as a decryption has them.
#[test]
fn polynomials_of_secrets() {
    let size = 16;
    let primes = girih_ring::largest_ntt_primes(30, 1 << 12, 6).expect("there are six");
    let seeds: Vec<u64> = (0..5).collect();
    for count in [1, 2, 3, 6] {
        let basis = RnsBasis::new(&primes[..count]).expect("a basis");
        let small = |seed: u64| -> Vec<i64> {
            words(seed).take(size).map(|x| (x as i64) >> (8 * seed + 1)).collect()
        };
        hides(
            "reduce_i64",
            &seeds,
            |&seed| (small(seed), vec![0; size * count]),
            |(integers, limbs)| basis.reduce_i64(integers, limbs),
        );
        // From all primes alike to the smallest integers of both signs.
        hides(
            "compose_f64",
            &seeds,
            |&seed| {
                let mut limbs = vec![0; size * count];
                basis.reduce_i64(&small(seed), &mut limbs);
                // Every preparation takes the same memory.
                for (i, (limb, x)) in limbs.iter_mut().zip(words(7)).enumerate() {
                    let random = (x % u64::from(primes[i / size])) as u32;
                    *limb = if seed == 0 { random } else { *limb };
                }
                (limbs, vec![0.0; size])
            },
            |(limbs, out)| basis.compose_f64(limbs, out),
        );
    }
    let modulus = Modulus::new(primes[0]).expect("odd");
    for size in [64, 1 << 11] {
        let Ok(transform) = SplitNtt::new(modulus, size) else { continue };
        let limb = |&seed: &u64| -> Vec<u32> {
            words(seed).take(size).map(|x| modulus.reduce(x)).collect()
        };
        hides("forward", &seeds[..3], limb, |limb| transform.forward(limb));
        hides("inverse", &seeds[..3], limb, |limb| transform.inverse(limb));
    }
}

#[test]
fn secrets_and_errors_as_they_are_drawn() {
    let seeds: Vec<u64> = (0..5).collect();
    let stream = |&seed: &u64| SecretSeed::new([seed as u8 + 1; 32]).stream(1, 0);
    let gaussian = Gaussian::new(3.19).expect("in range");
    hides("Gaussian", &seeds, stream, |stream| {
        black_box((0..50).fold(0, |sum, _| sum + gaussian.sample(stream)));
    });
    let uniform = TUniform::new(17).expect("in range");
    hides("TUniform", &seeds, stream, |stream| {
        black_box((0..50).fold(0, |sum, _| sum + uniform.sample(stream)));
    });
    for distribution in [
        SecretDistribution::Ternary,
        SecretDistribution::Binary,
        SecretDistribution::FixedWeight(9),
    ] {
        hides(&format!("{distribution:?}"), &seeds, stream, |stream| {
            black_box(Secret::sample(distribution, 96, stream));
        });
    }
}
