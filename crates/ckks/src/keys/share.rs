//! Decryptions that may be shown to others.

use super::{ClientKey, Decryption, domain};
use crate::{Ciphertext, Error, Result};
use girih_ring::sampler::RandomStream;
use zeroize::Zeroizing;

/// Bits of a normal variable that come from f64; the others of a wide one are uniform.
const FINE_BITS: i32 = 40;

/// Fewer trusted bits than this are no result.
const LEAST_PRECISION: f64 = 1.0;

impl ClientKey {
    /// Decrypts for others: the error, which tells about the secret key, is flooded.
    ///
    /// Rule: to every coefficient of the decrypted polynomial an independent normal integer is
    /// added, of deviation `sigma = 2^(bits/2) sqrt(2N) d`, d being the deviation of a
    /// coefficient's error by the noise model. What is shown then differs from the flooded *exact*
    /// result by a Kullback-Leibler divergence of at most `N (2d)^2 / (2 sigma^2) = 2^-bits`, even
    /// if errors are twice as large as expected (Li, Micciancio, Schultz and Sorrell 2022).
    /// Divergences of several decryptions add up: for q of them ask for log2 q more bits.
    ///
    /// This costs `(bits + log2 2N)/2` bits of precision: [`Decryption::precision_bits`] says what
    /// is left. The noise model presumes that the ciphertext comes from honest operations on
    /// honest ciphertexts; of others no decryption should be shown.
    ///
    /// # Errors
    /// As [`ClientKey::decrypt`]; [`Error::Value`] for `bits` outside 1..=128 and for a ciphertext
    /// without an estimate of its noise; [`Error::Scale`] where less than one bit would be left, or
    /// where the noise does not fit the modulus: compute with a larger scale.
    pub fn decrypt_to_share(&self, ciphertext: &Ciphertext, bits: u32) -> Result<Decryption> {
        let mut residues = self.phase_residues(ciphertext)?;
        if !(1..=128).contains(&bits) {
            return Err(Error::Value {
                what: "the number of flooding bits".into(),
                value: bits.to_string(),
                rule: "must be in 1..=128".into(),
            });
        }
        let (set, scale) = (self.set(), ciphertext.scale());
        let degree = set.degree() as f64;
        // An exact ciphertext would still be rounded: half a unit at least.
        let deviation = (ciphertext.noise().deviation * scale / (0.5 * degree).sqrt()).max(0.5);
        let sigma = libm::exp2(0.5 * f64::from(bits)) * (2.0 * degree).sqrt() * deviation;
        let slots = ciphertext.slots();
        let flooding = (0.5 * degree).sqrt() * sigma / scale;
        let noise = ciphertext.noise().plus(flooding);
        let chain = set.chain();
        let left = crate::NoiseModel::new(set).decrypted(noise, slots).precision_bits();
        let room = chain.log2_product(chain.base(ciphertext.level())) - 5.0;
        if !(left >= LEAST_PRECISION && sigma.log2() < room.min(115.0)) {
            let rule = format!(
                "noise of {bits} bits leaves {left:.1} bits of a result at scale 2^{:.1} whose \
                 errors are 2^{:.1}: ask for fewer bits, or compute with a larger scale",
                scale.log2(),
                ciphertext.noise().deviation.log2()
            );
            return Err(Error::Scale { operation: "decrypt_to_share".into(), rule });
        }
        let fresh = self.entropy().fresh("flooding", &[&bits.to_le_bytes()])?;
        let mut stream = fresh.errors.stream(domain::FLOODING, 0);
        let flood: Zeroizing<Vec<i128>> =
            Zeroizing::new((0..set.degree()).map(|_| normal(&mut stream, sigma)).collect());
        let limbs = residues.chunks_exact_mut(set.degree());
        for (limb, position) in limbs.zip(chain.base(ciphertext.level())) {
            let modulus = chain.moduli()[position];
            for (x, &g) in limb.iter_mut().zip(flood.iter()) {
                *x = modulus.add(*x, modulus.reduce_i128(g));
            }
        }
        self.decode(ciphertext, &residues, noise)
    }
}

/// A normal integer of deviation `sigma` below 2^120: a rounded normal variable of 40 bits (Box and
/// Muller 1958), with uniform bits below it where sigma is wider.
fn normal(stream: &mut RandomStream, sigma: f64) -> i128 {
    let low_bits = (sigma.log2().floor() as i32 + 1 - FINE_BITS).max(0);
    let uniform = |stream: &mut RandomStream| {
        // In (0, 1], on a grid of 2^-53.
        ((stream.next_u64() >> 11) + 1) as f64 * (0.5f64).powi(53)
    };
    let radius = (-2.0 * libm::log(uniform(stream))).sqrt();
    let angle = 2.0 * std::f64::consts::PI * uniform(stream);
    let high = radius * libm::cos(angle) * sigma * (0.5f64).powi(low_bits);
    let word = u128::from(stream.next_u64()) << 64 | u128::from(stream.next_u64());
    let low = word & ((1 << low_bits) - 1);
    ((high.round_ties_even() as i128) << low_bits) + low as i128 - ((1 << low_bits) >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use girih_ring::sampler::SecretSeed;

    #[test]
    fn flooding_noise_has_the_stated_deviation_at_every_width() {
        let mut stream = SecretSeed::new([3; 32]).stream(0, 0);
        for log2_sigma in [3.3, 20.0, 39.7, 40.0, 45.5, 80.0, 114.0] {
            let sigma = libm::exp2(log2_sigma);
            let count = 100_000;
            let (mut sum, mut squares) = (0.0, 0.0);
            // How often every bit below a quarter of the deviation is set.
            let mut ones = vec![0; (log2_sigma as usize).saturating_sub(2).max(1)];
            for _ in 0..count {
                let x = normal(&mut stream, sigma);
                sum += x as f64 / sigma;
                squares += (x as f64 / sigma).powi(2);
                for (bit, ones) in ones.iter_mut().enumerate() {
                    *ones += (x >> bit & 1) as i32;
                }
            }
            let count = f64::from(count);
            assert!((sum / count).abs() < 0.02, "2^{log2_sigma}: mean {sum}");
            assert!((squares / count - 1.0).abs() < 0.03, "2^{log2_sigma}: {}", squares / count);
            for (bit, &ones) in ones.iter().enumerate() {
                let share = f64::from(ones) / count;
                assert!((share - 0.5).abs() < 0.01, "2^{log2_sigma}, bit {bit}: {share}");
            }
        }
    }
}
