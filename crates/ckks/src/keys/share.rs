//! Decryptions that may be shown to others.

use super::{ClientKey, Decryption, domain};
use crate::noise::DEVIATIONS;
use crate::{Ciphertext, Error, Noise, NoiseModel, Result};
use girih_ring::sampler::WideGaussian;
use zeroize::Zeroizing;

/// Fewer trusted bits than this are no result.
const LEAST_PRECISION: f64 = 1.0;

/// A scale is refused that is further from the canonical one of its level than this factor.
const FURTHEST_SCALE: f64 = 2.0;

impl ClientKey {
    /// Decrypts for others: the error, which tells about the secret key, is flooded.
    ///
    /// `error` is what no component of a slot of this result errs by, **as its owner knows it from
    /// the circuit**: of the same computation by [`ServerKey::estimate`] or
    /// [`Recording::estimate`] ([`Estimate::largest_error`]), or worked out by hand. What a
    /// ciphertext says of itself ([`Ciphertext::largest_error`]) will do where whoever computed it
    /// is trusted to have done as told; bytes of others may claim anything. Errors below those of
    /// the last rounding are counted as such.
    ///
    /// Rule: to each of the 2n coefficients that n slots are decoded from, an independent discrete
    /// Gaussian of deviation `sigma = 2^(bits/2) (scale error + sqrt(n)/2)` is added. As the
    /// errors of these coefficients have a norm of at most `sqrt(2) scale error`, however they
    /// depend on each other, what is shown differs from the flooded *exact* result, rounded to
    /// integers, by a Kullback-Leibler divergence of at most `norm^2 / (2 sigma^2) <= 2^-bits` (Li,
    /// Micciancio, Schultz and Sorrell 2022). Divergences of several decryptions add up: for q of
    /// them ask for log2 q more bits.
    ///
    /// This costs `(bits + log2 n)/2` bits of precision and 3.6 more:
    /// [`Decryption::precision_bits`] says what is left.
    ///
    /// **Not protected**: a ciphertext that was not computed as `error` presumes. Of what a stranger
    /// made up, any decryption that is shown may give the key away.
    ///
    /// # Errors
    /// As [`ClientKey::decrypt`]; [`Error::Value`] for `bits` outside 1..=128, and for an `error`
    /// that is infinite or negative; [`Error::Scale`] for a scale that is not near the canonical one
    /// of the level, and where less than one bit would be left or the noise does not fit the
    /// modulus: compute with a larger scale.
    ///
    /// [`ServerKey::estimate`]: crate::server::ServerKey::estimate
    /// [`Recording::estimate`]: crate::server::Recording::estimate
    /// [`Estimate::largest_error`]: crate::server::Estimate::largest_error
    pub fn decrypt_to_share(
        &self,
        ciphertext: &Ciphertext,
        bits: u32,
        error: f64,
    ) -> Result<Decryption> {
        let mut residues = self.phase_residues(ciphertext)?;
        let scale = self.shared_scale(ciphertext)?;
        let error = self.shared_error(ciphertext, error)?;
        if !(1..=128).contains(&bits) {
            return Err(Error::Value {
                what: "the number of flooding bits".into(),
                value: bits.to_string(),
                rule: "must be in 1..=128".into(),
            });
        }
        let root = (ciphertext.slots() as f64).sqrt();
        let sigma = libm::exp2(0.5 * f64::from(bits)) * (scale * error + 0.5 * root);
        let deviation = (error / DEVIATIONS).hypot(root * sigma / ciphertext.scale());
        let noise = Noise { deviation, ..ciphertext.noise() };
        let (set, left) = (self.set(), noise.precision_bits());
        let room = set.chain().log2_product(set.chain().base(ciphertext.level())) - 5.0;
        // The rounding of sigma itself must not make it smaller.
        let whole = (sigma * (1.0 + f64::EPSILON)).ceil() as u128;
        let wide = WideGaussian::new(whole).filter(|_| sigma.log2() < room);
        let Some(wide) = wide.filter(|_| left >= LEAST_PRECISION) else {
            let rule = format!(
                "noise of {bits} bits leaves {left:.1} bits of a result at scale 2^{:.1} whose \
                 errors are up to 2^{:.1}: ask for fewer bits, or compute with a larger scale",
                scale.log2(),
                error.log2()
            );
            return Err(Error::Scale { operation: "decrypt_to_share".into(), rule });
        };
        self.flood(ciphertext, &wide, bits, &mut residues)?;
        let values = self.decode(ciphertext, &residues)?;
        Ok(Decryption { values, noise, precision_bits: left })
    }

    /// Adds noise to the coefficients that slots are decoded from.
    fn flood(
        &self,
        ciphertext: &Ciphertext,
        wide: &WideGaussian,
        bits: u32,
        residues: &mut [u32],
    ) -> Result<()> {
        let (degree, chain) = (self.set().degree(), self.set().chain());
        let fresh = self.entropy().fresh("flooding", &[&bits.to_le_bytes()])?;
        let mut stream = fresh.errors.stream(domain::FLOODING, 0);
        let mut flood = Zeroizing::new(vec![0i128; 2 * ciphertext.slots()]);
        flood.fill_with(|| wide.sample(&mut stream));
        let limbs = residues.chunks_exact_mut(degree);
        for (limb, position) in limbs.zip(chain.base(ciphertext.level())) {
            let modulus = chain.moduli()[position];
            for (x, &g) in limb.iter_mut().step_by(degree / flood.len()).zip(flood.iter()) {
                *x = modulus.add(*x, modulus.reduce_i128(g));
            }
        }
        Ok(())
    }

    /// The scale that noise is measured by: the larger of the ciphertext's and the level's.
    fn shared_scale(&self, ciphertext: &Ciphertext) -> Result<f64> {
        let (level, scale) = (ciphertext.level(), ciphertext.scale());
        let refuse = |rule| Err(Error::Scale { operation: "decrypt_to_share".into(), rule });
        let Some(canonical) = self.set().scale(level) else {
            return refuse(format!(
                "level {level} has no canonical scale that the ciphertext's could be held against: \
                 adjust it to a level that has one"
            ));
        };
        if !(canonical / FURTHEST_SCALE..=canonical * FURTHEST_SCALE).contains(&scale) {
            return refuse(format!(
                "the ciphertext's scale 2^{:.1} is far from 2^{:.1}, that of level {level}, so its \
                 errors are not those of a result there: rescale or adjust it",
                scale.log2(),
                canonical.log2()
            ));
        }
        Ok(scale.max(canonical))
    }

    /// What errors are counted as: no less than the rounding that ends every operation.
    fn shared_error(&self, ciphertext: &Ciphertext, error: f64) -> Result<f64> {
        if !(error >= 0.0 && error.is_finite()) {
            return Err(Error::Value {
                what: "the bound of the result's errors".into(),
                value: error.to_string(),
                rule: "it must be finite and not negative".into(),
            });
        }
        let model = NoiseModel::new(self.set());
        let rounding = model.deviation(model.rounding(), ciphertext.scale());
        Ok(error.max(DEVIATIONS * rounding))
    }
}
