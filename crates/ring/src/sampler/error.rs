//! Error distributions.

use super::RandomStream;

/// A rounded Gaussian: the nearest integer to a normal variable, with *standard deviation of the integer* sigma.
///
/// The width of the normal variable is a little below sigma (its variance is sigma^2 - 1/12, solved for exactly), so
/// that the deviation of what is drawn is the sigma that noise models and security estimates speak of.
///
/// Sampling is by inversion of the cumulative table and takes the same time and the same memory accesses for every
/// value. A magnitude x is drawn when a uniform 63-bit number lies below exactly x thresholds
/// `2^63 P(|X| > i)`; a 64th bit gives the sign. The table ends where thresholds round to 0 (9.1 sigma), so the
/// distribution is within 2^-57 of the true one in total.
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

    /// One draw, in constant time.
    #[inline]
    pub fn sample(&self, stream: &mut RandomStream) -> i64 {
        let bits = stream.next_u64();
        let uniform = (bits >> 1) as i64;
        // Both are in [0, 2^63), so the difference cannot overflow and its sign bit is the comparison.
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

/// TUniform(b): integers in `[-2^b, 2^b]`, all equally likely except the two ends, which have half weight.
///
/// It is the sum of a uniform `b + 1`-bit number and a bit, minus 2^b: constant time. Variance `(2^(2b+1) + 1) / 6`.
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

    /// Everything a sampler must hold, as one judgement, so that a wrong sampler can be shown to fail it.
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
            // Narrow ones are mostly zeros: their fourth moment is larger, so is the error of this estimate.
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
        assert!(TUniform::new(62).is_none());
    }
}
