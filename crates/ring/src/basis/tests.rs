use super::*;
use crate::fft::Simd;
use proptest::prelude::*;

/// Of every class: near 2^20, below 2^30, above it, near 2^31.
const PRIMES: [u32; 5] = [33_553_537, 1_048_609, 1_073_741_953, 2_147_352_577, 786_433];

fn basis(len: usize) -> RnsBasis {
    RnsBasis::new(&PRIMES[..len]).expect("distinct primes")
}

/// The residue of an integer of any sign.
fn residue(value: &BigInt, p: u32) -> u32 {
    let p = BigInt::from(p);
    let residue = ((value % &p) + &p) % &p;
    residue.to_u32_digits().1.first().copied().unwrap_or(0)
}

#[test]
fn refuses_by_name() {
    assert_eq!(RnsBasis::new(&[]), Err(RingError::EmptyBasis));
    for value in [0, 1, 2, 9, 1 << 31, 4_294_967_291] {
        assert_eq!(RnsBasis::new(&[5, value]), Err(RingError::NotPrime { value }));
    }
    assert_eq!(RnsBasis::new(&[5, 7, 5]), Err(RingError::RepeatedPrime { prime: 5 }));
    let basis = RnsBasis::new(&[5, 7, 786_433]).expect("primes");
    assert_eq!(basis.select(&[1, 3]), Err(RingError::NoSuchPrime { index: 3, len: 3 }));
    assert_eq!(basis.select(&[2, 0]), RnsBasis::new(&[786_433, 5]));
    let refused = BaseConversion::new(&basis, &basis).map(|_| ());
    assert_eq!(refused, Err(RingError::SourceTooSmall { prime: 5 }));
}

#[test]
fn primes_have_positions() {
    let basis = basis(3);
    assert!(!basis.is_empty());
    let positions = PRIMES.map(|p| basis.position(p));
    assert_eq!(positions, [Some(0), Some(1), Some(2), None, None]);
}

/// Limbs hold one word of every coefficient, and small integers go through 64 bits.
#[test]
fn several_coefficients_are_limb_major() {
    let basis = basis(3);
    let values = [5i64, -7, i64::MAX, i64::MIN, 0];
    let mut residues = vec![0; 15];
    basis.reduce_i64(&values, &mut residues);
    for (limb, p) in basis.primes().enumerate() {
        for (i, value) in values.into_iter().enumerate() {
            assert_eq!(residues[5 * limb + i], residue(&value.into(), p), "{value} modulo {p}");
        }
    }
    assert_eq!(basis.compose(&residues), values.map(BigInt::from));
    let mut rounded = [0.0; 5];
    basis.compose_f64(&residues, &mut rounded);
    assert_eq!(rounded, values.map(|value| value as f64));
    // No coefficients are nothing to do.
    basis.reduce_i64(&[], &mut []);
    assert!(basis.compose(&[]).is_empty());
}

/// What kernels read of a conversion, and one target alone.
#[test]
fn constants_of_conversions() {
    let (from, to) = (basis(4), basis(5));
    let conversion = BaseConversion::new(&from, &to).expect("large enough");
    assert_eq!(
        conversion.weights(),
        from.primes().map(|d| ((1u64 << 51) / u64::from(d)) as u32).collect::<Vec<_>>()
    );
    assert_eq!(conversion.cofactor_inverses().len(), 4);
    conversion.convert(Formula::Plain, &[], &mut []);
    for (modulus, inverse) in from.moduli().iter().zip(conversion.cofactor_inverses()) {
        let d = modulus.value();
        let cofactor = residue(&BigInt::from(from.product() / d), d);
        assert_eq!(modulus.mul_shoup(cofactor, *inverse), 1);
    }
    let y: Vec<u32> = from.primes().flat_map(|d| [d - 1, d / 3]).collect();
    let (u, mut all) = ([3, 1], [0; 10]);
    conversion.targets(0..5, &y, &u, &mut all);
    for (target, want) in all.chunks_exact(2).enumerate() {
        let mut out = [0; 2];
        conversion.target(target, &y, &u, &mut out);
        assert_eq!(out, want);
    }
}

/// (d - 1)/2 is not counted, the next one is.
#[test]
fn words_above_half_are_counted_from_the_first_on() {
    let from = basis(3);
    let conversion = BaseConversion::new(&from, &from).expect("large enough");
    // More than the widest vectors hold, and some that fill none.
    let y: Vec<u32> = from.primes().flat_map(|d| (0..35).map(move |c| d / 2 + c % 2)).collect();
    for simd in Simd::available() {
        let mut u = [9; 35];
        conversion.clone().with_simd(simd).overflow(Formula::Plain, &y, &mut u);
        assert_eq!(u, std::array::from_fn(|c| 3 * (c as u32 % 2)), "{}", simd.name());
    }
}

#[test]
fn conversions_have_1024_sources_at_most() {
    let primes: Vec<u32> = ((1u32 << 19) + 1..)
        .step_by(2)
        .filter(|&p| crate::is_prime(u64::from(p)))
        .take(1025)
        .collect();
    let to = basis(1);
    let most = RnsBasis::new(&primes[..1024]).expect("distinct primes");
    assert!(BaseConversion::new(&most, &to).is_ok());
    let more = RnsBasis::new(&primes).expect("distinct primes");
    let refused = BaseConversion::new(&more, &to).map(|_| ());
    assert_eq!(refused, Err(RingError::TooManySources { len: 1025, limit: 1024 }));
}

#[test]
fn extremes_compose() {
    for len in 1..=4 {
        let basis = basis(len);
        let half = BigInt::from(basis.product() >> 1u32);
        for value in [BigInt::ZERO, BigInt::from(1), BigInt::from(-1), half.clone(), -half] {
            let residues = basis.reduce_big(&value);
            assert_eq!(basis.compose(&residues), [value]);
        }
    }
}

/// Q fills its words, so that sums below 2Q take one more.
#[test]
fn products_of_whole_words_compose() {
    let basis = RnsBasis::new(&[65_519, 65_521]).expect("distinct primes");
    assert_eq!(basis.product().bits(), 32);
    for value in [0, 1, -1, 1 << 20, -(1 << 20), 2_146_434_899, -2_146_434_899] {
        let value = BigInt::from(value);
        assert_eq!(basis.compose(&basis.reduce_big(&value)), [value]);
    }
}

#[test]
fn ties_of_f64_are_rounded_to_even_once() {
    let basis = basis(4);
    let cases = [
        ((1i128 << 53) + 1, 9_007_199_254_740_992.0),
        ((1 << 53) + 3, 9_007_199_254_740_996.0),
        // Just above a tie by a bit that only a second word of 64 bits holds.
        ((1 << 100) + (1 << 47) + 1, 2f64.powi(100) + 2f64.powi(48)),
        ((1 << 100) + (1 << 47), 2f64.powi(100)),
        ((1 << 100) + 3 * (1 << 47), 2f64.powi(100) + 2f64.powi(49)),
        (-(1 << 100) - (1 << 47) - 1, -2f64.powi(100) - 2f64.powi(48)),
        (0, 0.0),
    ];
    for (value, want) in cases {
        let mut residues = vec![0; 4];
        basis.reduce_i128(&[value], &mut residues);
        let mut out = [f64::NAN];
        basis.compose_f64(&residues, &mut out);
        assert_eq!(out[0], want, "{value}");
    }
}

proptest! {
    #[test]
    fn reduction_and_composition_are_inverse(value: i128, len in 1usize..5) {
        let basis = basis(len);
        let product = BigInt::from(basis.product().clone());
        let value = value >> 10;
        let mut residues = vec![0; len];
        basis.reduce_i128(&[value], &mut residues);
        for (&r, p) in residues.iter().zip(basis.primes()) {
            prop_assert_eq!(r, residue(&value.into(), p));
        }
        prop_assert_eq!(&residues, &basis.reduce_big(&value.into()));
        if let Ok(small) = i64::try_from(value) {
            let mut same = vec![0; len];
            basis.reduce_i64(&[small], &mut same);
            prop_assert_eq!(&same, &residues);
        }
        let composed = &basis.compose(&residues)[0];
        let difference = composed - value;
        prop_assert!((&difference % &product) == BigInt::ZERO);
        prop_assert!(composed * 2 < product && composed * -2 < product);
        let mut rounded = [0.0];
        basis.compose_f64(&residues, &mut rounded);
        // The decimal reader of the standard library rounds once, to nearest and ties to even.
        prop_assert_eq!(rounded[0], composed.to_string().parse::<f64>().expect("decimal"));
    }

    /// Both formulas against their definition in big integers, and the corrected one against the
    /// centred representative.
    #[test]
    fn conversions_are_their_formulas(seed: u64, sources in 1usize..5, size in 1usize..40) {
        let all = basis(5);
        let from = all.select(&(0..sources).collect::<Vec<_>>()).expect("in range");
        let conversion = BaseConversion::new(&from, &all).expect("large enough");
        let mut state = seed;
        let mut next = |p: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (((state >> 33) * u64::from(p)) >> 31) as u32
        };
        let x: Vec<u32> = from.primes().flat_map(|p| {
            (0..size).map(|_| next(p)).collect::<Vec<_>>()
        }).collect();
        let product = BigInt::from(from.product().clone());
        for formula in [Formula::Plain, Formula::Corrected] {
            let mut out = vec![0; size * all.len()];
            conversion.convert(formula, &x, &mut out);
            let factors: Vec<u32> = all.primes().map(&mut next).collect();
            let mut scaled = vec![0; out.len()];
            conversion.clone().with_factors(&factors).convert(formula, &x, &mut scaled);
            for (t, m) in all.moduli().iter().enumerate() {
                for c in t * size..(t + 1) * size {
                    prop_assert_eq!(scaled[c], m.mul(factors[t], out[c]));
                }
            }
            for simd in Simd::available() {
                let mut same = vec![0; out.len()];
                conversion.clone().with_simd(simd).convert(formula, &x, &mut same);
                prop_assert_eq!(&out, &same, "{}", simd.name());
            }
            for c in 0..size {
                let (mut sum, mut count, mut fixed) = (BigInt::ZERO, 0, 0u64);
                for (i, d) in from.primes().enumerate() {
                    let cofactor = BigInt::from(from.product() / d);
                    let inverse = cofactor.modinv(&BigInt::from(d)).expect("coprime");
                    let y = (BigInt::from(x[i * size + c]) * inverse) % d;
                    let word = u64::from(residue(&y, d));
                    count += u64::from(word > u64::from(d - 1) / 2);
                    fixed += (word * ((1u64 << 51) / u64::from(d))) >> 32;
                    sum += y * cofactor;
                }
                let u = match formula {
                    Formula::Plain => count,
                    Formula::Corrected => (fixed + (1 << 18)) >> 19,
                };
                let value = sum - BigInt::from(u) * &product;
                for (t, p) in all.primes().enumerate() {
                    prop_assert_eq!(out[t * size + c], residue(&value, p), "target {}", p);
                }
                let bound: BigInt = match formula {
                    Formula::Plain => &product * sources,
                    Formula::Corrected => &product + ((&product * sources * 3) >> 19u32) + 1,
                };
                prop_assert!(BigInt::from(value.magnitude().clone()) * 2 <= bound);
            }
        }
    }
}

/// Sums of the largest terms there are: reduced too late, they overflow.
#[test]
fn conversions_of_extremes_do_not_overflow() {
    let primes = |bits: u32, count| {
        let (mut primes, mut p) = (Vec::new(), (1u32 << bits) - 1);
        while primes.len() < count {
            if crate::is_prime(u64::from(p)) {
                primes.push(p);
            }
            p -= 2;
        }
        RnsBasis::new(&primes).expect("distinct primes")
    };
    let sets = [primes(31, 30), primes(30, 30), primes(25, 30)];
    for from in &sets {
        for to in &sets {
            let conversion = BaseConversion::new(from, to).expect("above 2^19");
            // More than the widest vectors hold, and some that fill none.
            const SIZE: usize = 35;
            let y: Vec<u32> = from
                .primes()
                .flat_map(|d| (0..SIZE).map(move |c| [d - 1, d / 2, 0][c % 3]))
                .collect();
            let u: Vec<u32> = (0..SIZE).map(|c| [30, 15, 0][c % 3]).collect();
            for simd in Simd::available() {
                let mut out = vec![0; SIZE * to.len()];
                let conversion = conversion.clone().with_simd(simd);
                conversion.targets(0..to.len(), &y, &u, &mut out);
                for (t, m) in to.moduli().iter().enumerate() {
                    for c in 0..SIZE {
                        let terms = conversion.cofactors(t).iter().enumerate();
                        let sum =
                            terms.fold(0, |sum, (i, &f)| m.add(sum, m.mul(y[SIZE * i + c], f)));
                        let want = m.sub(sum, m.mul(u[c], conversion.products()[t]));
                        assert_eq!(out[SIZE * t + c], want, "{} modulo {}", simd.name(), m.value());
                    }
                }
            }
        }
    }
}
