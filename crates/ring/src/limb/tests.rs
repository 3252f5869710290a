use super::*;
use proptest::prelude::*;

fn moduli() -> Vec<Modulus> {
    let primes =
        [3, 786_433, 33_553_537, 1_073_692_673, 1_073_741_953, 2_147_352_577, (1 << 31) - 1];
    primes.into_iter().map(|p| Modulus::new(p).expect("odd and in range")).collect()
}

/// Words of every kind, extremes often.
fn words(m: Modulus, size: usize, seed: u64) -> Vec<u32> {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..size)
        .map(|_| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            match x >> 61 {
                0 => m.value() - 1,
                1 => 0,
                _ => m.reduce(x >> 8),
            }
        })
        .collect()
}

/// The largest products there are, so that a sum that is reduced too late overflows.
fn full(m: Modulus, size: usize) -> Vec<u32> {
    vec![m.value() - 1; size]
}

/// Vectors read as many words of every operand as the result has.
#[test]
fn operands_of_another_length_are_refused() {
    let m = moduli()[2];
    let (one, kernels) = (m.shoup(1), LimbKernels::new(m));
    let refused = |what: &str, call: &dyn Fn(&[u32], &mut [u32])| {
        let panics = |len: usize| {
            let call = || call(&vec![1; len], &mut [0; 40]);
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).is_err()
        };
        assert!(!panics(40), "{what}");
        assert!([0, 8, 39, 41, 80].into_iter().all(panics), "{what}");
    };
    let good = [1; 40];
    let products = |a: &[u32], b: Option<&[u32]>, out: &mut [u32]| {
        kernels.sum_of_products(0, &[ProductTerm { factor: one, a, b }], out);
    };
    refused("one factor", &|a, out| products(a, None, out));
    refused("the second factor", &|b, out| products(&good, Some(b), out));
    refused("scale", &|a, out| kernels.scale(one, a, out));
    refused("a of mul_shoup", &|a, out| kernels.mul_shoup(&good, &good, a, out));
    refused("values", &|w, out| kernels.mul_shoup(w, &good, &good, out));
    refused("quotients", &|w, out| kernels.mul_shoup(&good, w, &good, out));
    refused("a of a difference", &|a, out| kernels.scaled_difference(one, a, &good, out));
    refused("b of a difference", &|b, out| kernels.scaled_difference(one, &good, b, out));
    refused("a of a sum", &|a, out| kernels.add(a, &good, out));
    refused("b of a sum", &|b, out| kernels.add(&good, b, out));
    refused("a less b", &|a, out| kernels.sub(a, &good, out));
    refused("b taken off", &|b, out| kernels.sub(&good, b, out));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn sums_of_products_are_exact_on_every_path(
        size in 0usize..150,
        count in 0usize..40,
        seed: u64,
    ) {
        for m in moduli() {
            let operands: Vec<(Vec<u32>, Vec<u32>, u32, bool)> = (0..count as u64)
                .map(|i| {
                    let kind = seed.wrapping_add(i * 7);
                    if seed % 3 == 0 {
                        return (full(m, size), full(m, size), 1, true);
                    }
                    let factor = [1, m.value() - 1, words(m, 1, kind)[0]][kind as usize % 3];
                    (words(m, size, kind), words(m, size, kind + 1), factor, kind % 5 != 0)
                })
                .collect();
            let terms: Vec<ProductTerm> = operands
                .iter()
                .map(|(a, b, factor, two)| {
                    let b = two.then_some(&b[..]);
                    ProductTerm { factor: m.shoup(*factor), a, b }
                })
                .collect();
            let constant = if seed % 2 == 0 { 0 } else { m.value() - 1 };
            let want: Vec<u32> = (0..size)
                .map(|i| {
                    terms.iter().fold(constant, |sum, t| {
                        let product = m.mul(t.a[i], t.b.map_or(1 % m.value(), |b| b[i]));
                        m.add(sum, m.mul(product, t.factor.value))
                    })
                })
                .collect();
            for simd in Simd::available() {
                let mut out = vec![u32::MAX; size];
                LimbKernels::with_simd(m, simd).sum_of_products(constant, &terms, &mut out);
                prop_assert_eq!(&out, &want, "{} modulo {}", simd.name(), m.value());
            }
        }
    }

    #[test]
    fn other_loops_are_exact_on_every_path(size in 0usize..100, seed: u64) {
        for m in moduli() {
            let (a, b, c) = (words(m, size, seed), words(m, size, seed + 1), words(m, 1, seed)[0]);
            let factor = m.shoup(c);
            let quotients: Vec<u32> = b.iter().map(|&w| m.shoup(w).quotient).collect();
            let map = |f: &dyn Fn(u32, u32) -> u32| -> Vec<u32> {
                a.iter().zip(&b).map(|(&a, &b)| f(a, b)).collect()
            };
            for simd in Simd::available() {
                let kernels = LimbKernels::with_simd(m, simd);
                let mut out = vec![u32::MAX; size];
                kernels.add(&a, &b, &mut out);
                prop_assert_eq!(&out, &map(&|a, b| m.add(a, b)), "{}", simd.name());
                kernels.sub(&a, &b, &mut out);
                prop_assert_eq!(&out, &map(&|a, b| m.sub(a, b)), "{}", simd.name());
                kernels.scale(factor, &a, &mut out);
                prop_assert_eq!(&out, &map(&|a, _| m.mul(a, c)), "{}", simd.name());
                kernels.mul_shoup(&b, &quotients, &a, &mut out);
                prop_assert_eq!(&out, &map(&|a, b| m.mul(a, b)), "{}", simd.name());
                kernels.scaled_difference(factor, &a, &b, &mut out);
                prop_assert_eq!(&out, &map(&|a, b| m.mul(m.sub(a, b), c)), "{}", simd.name());
            }
        }
    }

    #[test]
    fn residues_are_exact_on_every_path(
        some in prop::collection::vec(any::<i64>(), 0..300),
        shift in 0u32..64,
    ) {
        let ends = [i64::MIN, i64::MAX, -1, 0, 1, 1 << 31, -1 << 31, 1 << 32, -1 << 32];
        let some: Vec<i64> = ends.into_iter().chain(some.iter().map(|x| x >> shift)).collect();
        for m in moduli() {
            let want: Vec<u32> = some.iter().map(|&x| m.reduce_signed(x)).collect();
            let p = i64::from(m.value());
            let other = some.iter().map(|x| x.rem_euclid(p) as u32);
            prop_assert!(want.iter().copied().eq(other));
            for simd in Simd::available() {
                let mut out = vec![u32::MAX; some.len()];
                LimbKernels::with_simd(m, simd).residues(&some, &mut out);
                prop_assert_eq!(&out, &want, "{} modulo {}", simd.name(), m.value());
            }
        }
    }
}
