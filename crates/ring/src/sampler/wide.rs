//! A discrete Gaussian of any width.

use super::RandomStream;

/// Integers x with probability in proportion to `exp(-x^2 / (2 sigma^2))`, for a whole sigma below
/// 2^119: sampled exactly, by integers alone, whatever the width.
///
/// Time depends on what is drawn, unlike that of [`Gaussian`](super::Gaussian).
///
/// An x is `±(k sigma + u)` with `0 <= u < sigma`, so that its weight is
/// `exp(-k^2/2) exp(-k u/sigma) exp(-(u/sigma)^2/2)`: each factor is the probability of an event
/// that uniform integers decide (Karney 2016; Canonne, Kamath and Steinke 2020), and a candidate
/// stays if all of them happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WideGaussian {
    sigma: u128,
}

/// Above this many sigmas, which has a probability of 2^-2950, a candidate is drawn anew: k times
/// sigma stays in range.
const MOST: u64 = 64;

impl WideGaussian {
    /// The distribution of deviation `sigma`; none unless it is in `1..2^119`.
    pub fn new(sigma: u128) -> Option<Self> {
        (1..1 << 119).contains(&sigma).then_some(Self { sigma })
    }

    /// sigma.
    pub fn sigma(&self) -> u128 {
        self.sigma
    }

    /// One sample.
    pub fn sample(&self, stream: &mut RandomStream) -> i128 {
        loop {
            let k = half_steps(stream);
            if k > MOST || !(0..k * k.saturating_sub(1)).all(|_| half(stream)) {
                continue;
            }
            let u = self.below_sigma(stream);
            if !(0..k).all(|_| event(|n| one_in(stream, n) && self.is_below(stream, u))) {
                continue;
            }
            let twice =
                |stream: &mut RandomStream| self.is_below(stream, u) && self.is_below(stream, u);
            if !event(|n| one_in(stream, 2 * n) && twice(stream)) {
                continue;
            }
            let x = (u128::from(k) * self.sigma + u) as i128;
            match stream.binary() {
                0 => return x,
                // 0 has one sign.
                _ if x == 0 => (),
                _ => return -x,
            }
        }
    }

    /// Uniform below sigma.
    fn below_sigma(&self, stream: &mut RandomStream) -> u128 {
        let mask = u128::MAX >> (self.sigma - 1).leading_zeros().min(127);
        loop {
            let word = u128::from(stream.next_u64());
            let word = if mask >> 64 == 0 { word } else { word << 64 | stream.next_u64() as u128 };
            if word & mask < self.sigma {
                return word & mask;
            }
        }
    }

    /// With probability `u / sigma`.
    fn is_below(&self, stream: &mut RandomStream, u: u128) -> bool {
        self.below_sigma(stream) < u
    }
}

/// With probability `1 / n`.
fn one_in(stream: &mut RandomStream, n: u64) -> bool {
    stream.uniform_below(n) == 0
}

/// With probability `exp(-g)`, given trials that succeed with probability `g / n`, n = 1, 2, .., for
/// a g of at most 1: the number of trials up to the first failure is odd (von Neumann 1951).
fn event(mut trial: impl FnMut(u64) -> bool) -> bool {
    let failed = (1..).find(|&n| !trial(n));
    failed.is_some_and(|n| n % 2 == 1)
}

/// With probability `exp(-1/2)`.
fn half(stream: &mut RandomStream) -> bool {
    event(|n| one_in(stream, 2 * n))
}

/// k with probability in proportion to `exp(-k/2)`.
fn half_steps(stream: &mut RandomStream) -> u64 {
    let mut k = 0;
    while k <= MOST && half(stream) {
        k += 1;
    }
    k
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampler::SecretSeed;

    #[test]
    fn narrow_ones_have_the_probabilities_of_the_formula() {
        let mut stream = SecretSeed::new([5; 32]).stream(0, 0);
        for sigma in [1u32, 2, 3, 7] {
            let distribution = WideGaussian::new(sigma.into()).expect("in range");
            let weight = |x: i32| (-0.5 * (f64::from(x) / f64::from(sigma)).powi(2)).exp();
            let reach = 10 * sigma as i32;
            let all: f64 = (-reach..=reach).map(weight).sum();
            let count = 400_000;
            let mut found = vec![0u32; 2 * reach as usize + 1];
            for _ in 0..count {
                let x = distribution.sample(&mut stream);
                found[(x + i128::from(reach)) as usize] += 1;
            }
            // Pearson's sum over what is expected 10 times or more: its mean is their number.
            let mut sum = 0.0;
            let mut places = 0f64;
            for x in -reach..=reach {
                let want = f64::from(count) * weight(x) / all;
                let got = f64::from(found[(x + reach) as usize]);
                if want >= 10.0 {
                    sum += (got - want).powi(2) / want;
                    places += 1.0;
                }
            }
            assert!(sum < places + 5.0 * (2.0 * places).sqrt(), "{sigma}: {sum} for {places}");
        }
    }

    #[test]
    fn wide_ones_have_tails_and_low_bits() {
        let mut stream = SecretSeed::new([3; 32]).stream(0, 0);
        // P(|x| > 1, 2, 3, 4 sigma).
        let tails = [0.317_310_5, 0.045_500_3, 0.002_699_8, 0.000_063_3];
        let widths = [(1u128 << 20) + 12_345, (1 << 64) - 1, 1 << 64, 3 << 99, (1 << 119) - 1];
        for sigma in widths {
            let distribution = WideGaussian::new(sigma).expect("in range");
            let count = 200_000;
            let (mut sum, mut squares) = (0.0, 0.0);
            let mut beyond = [0u32; 4];
            // How often every bit below an eighth of the deviation is set.
            let mut ones = vec![0u32; sigma.ilog2() as usize - 3];
            for _ in 0..count {
                let x = distribution.sample(&mut stream);
                let relative = x as f64 / sigma as f64;
                sum += relative;
                squares += relative * relative;
                for (i, beyond) in beyond.iter_mut().enumerate() {
                    *beyond += u32::from(relative.abs() > (i + 1) as f64);
                }
                for (bit, ones) in ones.iter_mut().enumerate() {
                    *ones += (x >> bit & 1) as u32;
                }
            }
            let count = f64::from(count);
            assert!((sum / count).abs() < 0.012, "{sigma}: mean {}", sum / count);
            assert!((squares / count - 1.0).abs() < 0.017, "{sigma}: {}", squares / count);
            for (found, tail) in beyond.iter().zip(tails) {
                let want = tail * count;
                assert!((f64::from(*found) - want).abs() < 5.0 * want.sqrt() + 1.0, "{beyond:?}");
            }
            for (bit, &ones) in ones.iter().enumerate() {
                let share = f64::from(ones) / count;
                assert!((share - 0.5).abs() < 0.0075, "{sigma}, bit {bit}: {share}");
            }
        }
    }

    #[test]
    fn what_is_out_of_range_is_none() {
        assert!(WideGaussian::new(0).is_none() && WideGaussian::new(1 << 119).is_none());
        assert_eq!(WideGaussian::new(5).map(|g| g.sigma()), Some(5));
    }
}
