//! What the fields of a shape must keep to.

use super::{BootstrapShape, Gadget, KeyModulus, SecretKind};
use crate::ShapeError;

impl BootstrapShape {
    /// Checks every relation between the fields that a kernel relies on.
    ///
    /// # Errors
    /// The first field that is out of range, with the rule it breaks.
    pub fn validate(&self) -> Result<(), ShapeError> {
        if !(1..=8192).contains(&self.lwe_dimension) {
            return Err(ShapeError::new("n", self.lwe_dimension, "must be in 1..=8192"));
        }
        let size = self.polynomial_size;
        // Published vectors go down to N = 64;
        // parameter files are held to 256 and above by the scheme.
        if !size.is_power_of_two() || !(64..=8192).contains(&size) {
            return Err(ShapeError::new("N", size, "must be a power of two in 64..=8192"));
        }
        if !(1..=4).contains(&self.glwe_dimension) {
            return Err(ShapeError::new("k", self.glwe_dimension, "must be in 1..=4"));
        }
        if !(1..=16).contains(&self.packing) {
            return Err(ShapeError::new("r", self.packing, "must be in 1..=16"));
        }
        if self.log2_lwe_modulus < 3 || self.log2_lwe_modulus > self.log2_monomials() {
            return Err(ShapeError::new(
                "q",
                format!("2^{}", self.log2_lwe_modulus),
                format!("must be a power of two that divides 2N = {}, at least 8", 2 * size),
            ));
        }
        if !(self.log2_lwe_modulus..=40).contains(&self.log2_ks_modulus) {
            return Err(ShapeError::new(
                "q_ks",
                format!("2^{}", self.log2_ks_modulus),
                format!("must be a power of two from q = 2^{} to 2^40", self.log2_lwe_modulus),
            ));
        }
        if !(1..=12).contains(&self.log2_ks_base) || self.log2_ks_base > self.log2_ks_modulus {
            return Err(ShapeError::new(
                "base_ks",
                format!("2^{}", self.log2_ks_base),
                "must be a power of two from 2 to 4096 and at most q_ks",
            ));
        }
        self.validate_grouping()?;
        match &self.key_modulus {
            KeyModulus::Words(words) => self.validate_words(words),
            KeyModulus::Torus64 => match self.gadget {
                Gadget::ClosestRepresentative { log2_base, levels }
                    if levels >= 1
                        && (levels as u64) * u64::from(log2_base) <= 63
                        && log2_base >= 1 =>
                {
                    self.validate_torus()
                }
                _ => Err(ShapeError::new(
                    "mode",
                    format!("{:?}", self.gadget),
                    "the native torus takes closest-representative digits of at most 63 bits \
                     together",
                )),
            },
        }
    }

    fn validate_grouping(&self) -> Result<(), ShapeError> {
        let g = self.grouping;
        if !(1..=Self::MAX_GROUPING).contains(&g) {
            return Err(ShapeError::new(
                "grouping",
                g,
                format!("must be in 1..={}", Self::MAX_GROUPING),
            ));
        }
        if g > 1 && self.secret != SecretKind::Binary {
            return Err(ShapeError::new(
                "grouping",
                g,
                "takes binary secrets; ternary ones run one index a step (grouping = 1)",
            ));
        }
        if !self.lwe_dimension.is_multiple_of(g) {
            let rule =
                format!("must divide n = {}: a step takes that many indices", self.lwe_dimension);
            return Err(ShapeError::new("grouping", g, rule));
        }
        Ok(())
    }

    fn validate_torus(&self) -> Result<(), ShapeError> {
        if self.log2_lwe_modulus != self.log2_monomials() {
            let rule = format!("must be 2N = {} on the native torus", 2 * self.polynomial_size);
            return Err(ShapeError::new("q", format!("2^{}", self.log2_lwe_modulus), rule));
        }
        if !self.log2_ks_modulus.is_multiple_of(self.log2_ks_base) {
            let rule =
                format!("must be a power of base_ks = 2^{} on the native torus", self.log2_ks_base);
            return Err(ShapeError::new("q_ks", format!("2^{}", self.log2_ks_modulus), rule));
        }
        Ok(())
    }

    fn validate_words(&self, words: &[u32]) -> Result<(), ShapeError> {
        if !(1..=2).contains(&words.len()) {
            return Err(ShapeError::new(
                "words",
                format!("{words:?}"),
                "must be one or two primes",
            ));
        }
        let order = 2 * self.polynomial_size as u32;
        for (i, &word) in words.iter().enumerate() {
            if word >= 1 << 31 || word % order != 1 || !girih_ring::is_prime(u64::from(word)) {
                return Err(ShapeError::new(
                    "words",
                    word,
                    format!("must be a prime below 2^31 that is 1 modulo 2N = {order}"),
                ));
            }
            if i > 0 && words[i - 1] >= word {
                return Err(ShapeError::new(
                    "words",
                    format!("{words:?}"),
                    "two primes must differ and be given in ascending order",
                ));
            }
        }
        let modulus: u64 = words.iter().map(|&w| u64::from(w)).product();
        match self.gadget {
            Gadget::Decomposition { log2_base, levels, dropped_bits } => {
                if !(1..=31).contains(&log2_base) {
                    return Err(ShapeError::new(
                        "base_g",
                        format!("2^{log2_base}"),
                        "must be a power of two from 2 to 2^31",
                    ));
                }
                let bits = 64 - (modulus - 1).leading_zeros();
                if dropped_bits >= bits {
                    return Err(ShapeError::new(
                        "dropped_bits",
                        dropped_bits,
                        format!("must be below the {bits} bits of Q"),
                    ));
                }
                // As many digits as it takes: fewer would make the top one wider than the others,
                // more are always zero.
                let digits = (bits - dropped_bits).div_ceil(log2_base);
                if levels != digits as usize {
                    let rule =
                        format!("must be ceil(({bits} - {dropped_bits}) / {log2_base}) = {digits}");
                    return Err(ShapeError::new("levels", levels, rule));
                }
                Ok(())
            }
            Gadget::ModulusRaising { log2_modulus } => {
                if !(8..=30).contains(&log2_modulus) || log2_modulus < self.log2_monomials() {
                    return Err(ShapeError::new(
                        "log2_Q",
                        log2_modulus,
                        format!(
                            "modulus raising needs log2_Q from {} to 30",
                            self.log2_monomials().max(8)
                        ),
                    ));
                }
                if modulus <= 1 << (log2_modulus + 1) {
                    return Err(ShapeError::new(
                        "log2_T",
                        modulus,
                        format!("T must exceed 2Q = 2^{}", log2_modulus + 1),
                    ));
                }
                Ok(())
            }
            Gadget::ClosestRepresentative { .. } => Err(ShapeError::new(
                "words",
                format!("{words:?}"),
                "closest-representative digits belong to the native torus",
            )),
        }
    }
}
