//! Error distributions.

use super::RandomStream;

/// A rounded Gaussian: the nearest integer to a normal variable, with *standard deviation of the
/// integer* sigma.
///
/// The width of the normal variable is a little below sigma (its variance is sigma^2 - 1/12, solved
/// for exactly), so that the deviation of what is drawn is the sigma that noise models and security
/// estimates speak of.
///
/// Sampling is by inversion of the cumulative table and takes the same time and the same memory
/// accesses for every value. A magnitude x is drawn when a uniform 63-bit number lies below exactly
/// x thresholds `2^63 P(|X| > i)`; a 64th bit gives the sign. The table ends where thresholds round
/// to 0 (9.1 sigma).
///
/// The statistical distance to the rounded Gaussian of exactly that deviation is below 2^-48 for
/// every sigma up to 64: thresholds are computed with 53 bits, and their errors add up over the
/// table (2^-52.2 at 3.19, 2^-49.8 at 25, 2^-48.6 at 64, by an exact computation in the tests).
#[derive(Clone, Debug)]
pub struct Gaussian {
    sigma: f64,
    thresholds: Vec<i64>,
}

impl Gaussian {
    /// The distribution of deviation `sigma`; `None` unless `0 < sigma <= 64`.
    pub fn new(sigma: f64) -> Option<Self> {
        if !(sigma > 0.0 && sigma <= 64.0) {
            return None;
        }
        // Var(round(X)) grows with the width of X: bisect to the last bit.
        let (mut low, mut high) = (0.0, sigma + 1.0);
        for _ in 0..64 {
            let middle = 0.5 * (low + high);
            if variance(middle) < sigma * sigma { low = middle } else { high = middle }
        }
        let mut thresholds = Vec::new();
        for i in 0.. {
            let threshold = (tail(high, i) * 2f64.powi(63)).round() as i64;
            if threshold == 0 {
                break;
            }
            thresholds.push(threshold);
        }
        Some(Self { sigma, thresholds })
    }

    /// The standard deviation.
    pub fn sigma(&self) -> f64 {
        self.sigma
    }

    /// Largest magnitude that can be drawn.
    pub fn largest(&self) -> i64 {
        self.thresholds.len() as i64
    }

    /// One draw, in constant time. Compiled here, as vectors, whatever the caller is compiled for.
    #[inline(never)]
    pub fn sample(&self, stream: &mut RandomStream) -> i64 {
        let bits = stream.next_u64();
        let uniform = (bits >> 1) as i64;
        // Both are in
        // [0, 2^63), so the difference cannot overflow and its sign bit is the comparison.
        let magnitude = self.thresholds.iter().fold(0, |sum, &t| sum - ((uniform - t) >> 63));
        let sign = -((bits & 1) as i64);
        (magnitude ^ sign) - sign
    }
}

/// `P(|round(X)| > i)` for a normal X of deviation `width`.
fn tail(width: f64, i: usize) -> f64 {
    libm::erfc((i as f64 + 0.5) / (width * std::f64::consts::SQRT_2))
}

/// Variance of `round(X)`: sum over i >= 0 of `(2i + 1) P(|round(X)| > i)`.
fn variance(width: f64) -> f64 {
    (0..)
        .map(|i| (i, tail(width, i)))
        .take_while(|&(_, t)| t > 1e-22)
        .map(|(i, t)| (2 * i + 1) as f64 * t)
        .sum()
}

/// TUniform(b): integers in `[-2^b, 2^b]`, all equally likely except the two ends,
/// which have half weight.
///
/// It is the sum of a uniform `b + 1`-bit number and a bit, minus 2^b: constant time. Variance
/// `(2^(2b+1) + 1) / 6`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TUniform {
    log2_bound: u32,
}

impl TUniform {
    /// The distribution on `[-2^log2_bound, 2^log2_bound]`; `None` unless `log2_bound <= 61`.
    pub fn new(log2_bound: u32) -> Option<Self> {
        (log2_bound <= 61).then_some(Self { log2_bound })
    }

    /// The standard deviation.
    pub fn sigma(&self) -> f64 {
        ((2f64.powi(2 * self.log2_bound as i32 + 1) + 1.0) / 6.0).sqrt()
    }

    /// One draw.
    pub fn sample(&self, stream: &mut RandomStream) -> i64 {
        let bits = stream.next_u64();
        let uniform = (bits >> 1) & ((2 << self.log2_bound) - 1);
        (uniform + (bits & 1)) as i64 - (1 << self.log2_bound)
    }
}

#[cfg(test)]
mod tests {
    use super::super::SecretSeed;
    use super::*;

    const SAMPLES: usize = 10_000_000;

    /// Everything a sampler must hold, as one judgement, so that a wrong sampler can be shown to
    /// fail it.
    fn judge_gaussian(sigma: f64, draws: impl Iterator<Item = i64>) -> Result<(), String> {
        let (mut sum, mut squares, mut fourth, mut counts) = (0f64, 0f64, 0f64, vec![0u64; 40]);
        let mut total = 0f64;
        for x in draws {
            total += 1.0;
            let y = x as f64;
            (sum, squares, fourth) = (sum + y, squares + y * y, fourth + y.powi(4));
            // Counts of |x| > i.
            for count in counts.iter_mut().take(x.unsigned_abs() as usize) {
                *count += 1;
            }
        }
        let mean = sum / total;
        if mean.abs() > 5.0 * sigma / total.sqrt() {
            return Err(format!("mean {mean}"));
        }
        // The deviation's own relative error is 1/sqrt(2 samples) = 2.2e-4.
        let deviation = (squares / total).sqrt();
        if (deviation / sigma - 1.0).abs() > 5.0 / (2.0 * total).sqrt() {
            return Err(format!("deviation {deviation}, not {sigma}"));
        }
        let kurtosis = fourth / total / sigma.powi(4);
        if (kurtosis - 3.0).abs() > 0.02 {
            return Err(format!("kurtosis {kurtosis}"));
        }
        let width = (sigma * sigma - 1.0 / 12.0).sqrt();
        for (i, &count) in counts.iter().enumerate() {
            let expected = total * tail(width, i);
            if (count as f64 - expected).abs() > 5.0 * expected.sqrt() + 3.0 {
                return Err(format!("|x| > {i}: {count} times, expected {expected}"));
            }
        }
        Ok(())
    }

    #[test]
    fn gaussian_deviation_and_tails() {
        let gaussian = Gaussian::new(3.19).expect("in range");
        let mut s = SecretSeed::new([1; 32]).stream(0, 0);
        judge_gaussian(3.19, (0..SAMPLES).map(|_| gaussian.sample(&mut s)))
            .expect("the sampler is right");
        assert!((28..=30).contains(&gaussian.largest()), "{}", gaussian.largest());
    }

    #[test]
    fn a_shrunken_or_clipped_sampler_fails() {
        let mut s = SecretSeed::new([2; 32]).stream(0, 0);
        let mut judged = |gaussian: Gaussian, clip: i64| {
            judge_gaussian(3.19, (0..SAMPLES).map(|_| gaussian.sample(&mut s).clamp(-clip, clip)))
                .expect_err("must fail")
        };
        // 0.2 % too narrow, and cut at 3.8 sigma.
        assert!(judged(Gaussian::new(3.19 * 0.998).expect("in range"), 100).contains("deviation"));
        assert!(judged(Gaussian::new(3.19).expect("in range"), 12).contains("|x| >"));
    }

    #[test]
    fn gaussian_of_any_width() {
        for sigma in [0.3, 0.5, 1.0, 25.0, 64.0] {
            let gaussian = Gaussian::new(sigma).expect("in range");
            let mut s = SecretSeed::new([3; 32]).stream(0, 0);
            let squares: f64 =
                (0..1_000_000).map(|_| (gaussian.sample(&mut s) as f64).powi(2)).sum();
            // Narrow ones are mostly zeros: their fourth moment is larger,
            // so is the error of this estimate.
            assert!(
                ((squares / 1e6).sqrt() / sigma - 1.0).abs() < 0.012,
                "{sigma}: {}",
                (squares / 1e6).sqrt()
            );
        }
        for bad in [0.0, -1.0, 64.1, f64::NAN, f64::INFINITY] {
            assert!(Gaussian::new(bad).is_none(), "{bad}");
        }
    }

    /// Statistical distance between what is drawn and the rounded Gaussian of deviation exactly
    /// sigma, in 256-bit fixed point.
    #[test]
    fn gaussian_distance_is_what_is_claimed() {
        for sigma in [0.3, 1.0, 3.19, 25.0, 64.0] {
            let gaussian = Gaussian::new(sigma).expect("in range");
            let distance = exact::log2_distance(&gaussian);
            println!("sigma {sigma}: 2^{distance:.1}");
            assert!(distance < -48.0, "{sigma}: 2^{distance}");
            // The judgement notices one threshold that is off by 2^-46.
            let mut worse = gaussian.clone();
            worse.thresholds[0] += 1 << 17;
            assert!(exact::log2_distance(&worse) > -48.0, "{sigma}");
        }
    }

    /// Normal probabilities to 250 bits, by series; shares nothing with the sampler's own.
    mod exact {
        use super::Gaussian;
        use num_bigint::BigInt;

        /// Numbers are integers in units of 2^-BITS.
        const BITS: usize = 256;

        fn one() -> BigInt {
            BigInt::from(1) << BITS
        }

        fn times(a: &BigInt, b: &BigInt) -> BigInt {
            (a * b) >> BITS
        }

        fn over(a: &BigInt, b: &BigInt) -> BigInt {
            (a << BITS) / b
        }

        fn real(x: f64) -> BigInt {
            BigInt::from((x * 2f64.powi(60)) as i128) << (BITS - 60)
        }

        /// A small number as f64.
        fn float(x: &BigInt) -> f64 {
            let kept = x.bits().saturating_sub(60);
            (x >> kept).to_string().parse::<f64>().expect("60 bits")
                * 2f64.powi(kept as i32 - BITS as i32)
        }

        /// Machin: pi = 16 atan(1/5) - 4 atan(1/239).
        fn pi() -> BigInt {
            let atan = |inverse: u32| {
                let (mut power, mut sum) = (one() / inverse, BigInt::from(0));
                for n in 0.. {
                    let term: BigInt = &power / (2 * n + 1);
                    if term == BigInt::from(0) {
                        break;
                    }
                    sum += if n % 2 == 0 { term } else { -term };
                    power /= inverse * inverse;
                }
                sum
            };
            16 * atan(5) - 4 * atan(239)
        }

        /// sqrt(2 / pi).
        pub fn factor() -> BigInt {
            (over(&(2 * one()), &pi()) << BITS).sqrt()
        }

        /// `P(|Z| > z)` of a standard normal Z: 1 - sqrt(2/pi) e^(-z^2/2) sum_n z^(2n+1) / (1 3 5
        /// .. (2n+1)).
        fn tail(z: &BigInt, factor: &BigInt) -> BigInt {
            let square = times(z, z);
            let (mut term, mut sum, mut n) = (z.clone(), BigInt::from(0), 1u32);
            while term > BigInt::from(0) {
                sum += &term;
                n += 2;
                term = times(&term, &square) / n;
            }
            let (mut term, mut exp, mut n) = (one(), BigInt::from(0), 0u32);
            while term > BigInt::from(0) {
                exp += &term;
                n += 1;
                term = times(&term, &square) / (2 * n);
            }
            one() - over(&times(factor, &sum), &exp)
        }

        /// `P(|round(X)| > i)` for i = 0, 1, .. of a normal X of deviation `width`, down to 2^-120.
        fn tails(width: &BigInt, factor: &BigInt) -> Vec<BigInt> {
            let of = |i: u32| tail(&over(&(one() * (2 * i + 1) / 2), width), factor);
            (0..).map(of).take_while(|t| *t > one() >> 120).collect()
        }

        fn variance(tails: &[BigInt]) -> BigInt {
            tails.iter().enumerate().map(|(i, t)| t * (2 * i + 1)).sum()
        }

        pub fn log2_distance(gaussian: &Gaussian) -> f64 {
            let (factor, sigma) = (factor(), real(gaussian.sigma));
            let wanted = times(&sigma, &sigma);
            // The width whose rounding has this variance, by two secant steps.
            let mut width = real((gaussian.sigma.powi(2) - 1.0 / 12.0).max(0.01).sqrt());
            for _ in 0..40 {
                let step = (&width >> 60) + 1;
                let (here, there) = (
                    variance(&tails(&width, &factor)),
                    variance(&tails(&(&width + &step), &factor)),
                );
                let slope = over(&(&there - &here), &step);
                let change = over(&(&wanted - here), &slope);
                width += &change;
                if change.magnitude().bits() < 156 {
                    break;
                }
            }
            let exact = tails(&width, &factor);
            let drawn = |i: usize| {
                BigInt::from(gaussian.thresholds.get(i).copied().unwrap_or(0)) << (BITS - 63)
            };
            let exact = |i: usize| exact.get(i).cloned().unwrap_or_default();
            // P(|x| = m) is the difference of two tails, the first of which is 1.
            let mass = |tail: &dyn Fn(usize) -> BigInt, m: usize| {
                if m == 0 { one() - tail(0) } else { tail(m - 1) - tail(m) }
            };
            let most = gaussian.thresholds.len() + 100;
            let sum: BigInt = (0..most)
                .map(|m| mass(&drawn, m) - mass(&exact, m))
                .map(|d| if d < BigInt::from(0) { -d } else { d })
                .sum();
            float(&sum).log2() - 1.0
        }
    }

    #[test]
    fn tuniform_deviation_and_ends() {
        let mut s = SecretSeed::new([4; 32]).stream(0, 0);
        for log2_bound in [0, 2, 17, 45] {
            let distribution = TUniform::new(log2_bound).expect("in range");
            let bound = 1i64 << log2_bound;
            let (mut squares, mut ends, samples) = (0f64, 0u64, SAMPLES / 4);
            for _ in 0..samples {
                let x = distribution.sample(&mut s);
                assert!((-bound..=bound).contains(&x));
                squares += (x as f64).powi(2);
                ends += u64::from(x.abs() == bound);
            }
            let deviation = (squares / samples as f64).sqrt();
            assert!(
                (deviation / distribution.sigma() - 1.0).abs() < 1e-3,
                "TUniform({log2_bound}): {deviation}"
            );
            let expected = samples as f64 / (2 * bound) as f64;
            assert!(
                (ends as f64 - expected).abs() < 5.0 * expected.sqrt() + 3.0,
                "TUniform({log2_bound}): {ends} ends"
            );
        }
        assert!(TUniform::new(61).is_some() && TUniform::new(62).is_none());
    }
}
