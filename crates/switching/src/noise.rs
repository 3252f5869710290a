//! What switching adds to errors.

use crate::SwitchingParameters;
use crate::parameters::DEVIATION;
use girih_backend::SecretKind;

/// Errors of both ways, in turns: an error of one turn is a whole modulus.
///
/// To TFHE, for a key modulus 2^w, L digits of base B of which the lowest d bits are left out, and
/// secrets of squared norm S (CKKS) and T (TFHE):
///
/// | what | variance, in units of 2^w |
/// |---|---|
/// | rounding from Q_0 to 2^w | (1 + S) / 12 |
/// | what digits leave out, for d > 0 | (1 + S) / 12 4^d |
/// | errors of the key | L N (B^2 + 2) / 12 sigma^2 |
/// | rounding to 2^l | (1 + T) / 12 4^(w - l) |
///
/// Back, with M ciphertexts packed modulo 2^c in one ring of degree N'', each of n words, at
/// modulus Q, which is Q_0 or that times a prime:
///
/// | what | variance |
/// |---|---|
/// | rounding to 2^c, where that is smaller | (1 + T) / 12 4^-c |
/// | errors of the packing key | n M 4^c / 12 3.19^2 / Q^2 |
/// | 2^c times the rounded Q / 2^c | (1 + T) / 12 4^c / 4 / Q^2 |
/// | division by the prime, if any | (1 + 2/3 N'') / 12 / Q_0^2 |
/// | errors of the key to the dense secret, P its auxiliary primes | N / 12 3.19^2 / P^2 |
/// | its division | (1 + S) / 12 / Q_0^2 |
#[derive(Clone, Debug)]
pub struct SwitchingNoise {
    parameters: SwitchingParameters,
}

impl SwitchingNoise {
    /// The model of `parameters`.
    pub fn new(parameters: &SwitchingParameters) -> Self {
        Self { parameters: parameters.clone() }
    }

    /// T: the expected squared norm of the TFHE secret.
    fn lwe_norm(&self) -> f64 {
        let square = match self.parameters.tfhe().stored_secret() {
            SecretKind::Ternary => 2.0 / 3.0,
            SecretKind::Binary => 0.5,
        };
        self.parameters.mask_len() as f64 * square
    }

    /// Variance that the way to TFHE adds, in turns squared, for results modulo 2^`log2_modulus`.
    pub fn there(&self, log2_modulus: u32) -> f64 {
        let p = &self.parameters;
        let (log2_base, digits) = p.digits();
        let degree = p.ckks().degree() as f64;
        let rounding = (1.0 + p.ckks().secret_norm()) / 12.0;
        let dropped = p.dropped_bits();
        let left_out = if dropped > 0 { libm::exp2(2.0 * f64::from(dropped)) } else { 0.0 };
        let digit = (libm::exp2(2.0 * f64::from(log2_base)) + 2.0) / 12.0;
        let key = digits as f64 * degree * digit * p.error_deviation().powi(2);
        let bits = f64::from(p.log2_key_modulus());
        let switched = (rounding * (1.0 + left_out) + key) * libm::exp2(-2.0 * bits);
        if log2_modulus >= p.log2_key_modulus() {
            return switched;
        }
        switched + (1.0 + self.lwe_norm()) / 12.0 * libm::exp2(-2.0 * f64::from(log2_modulus))
    }

    /// Variance that packing adds, in turns squared, for `count` ciphertexts modulo
    /// 2^`log2_modulus` that are packed together.
    pub fn back(&self, count: usize, log2_modulus: u32) -> f64 {
        let p = &self.parameters;
        let packed = f64::from(p.log2_packing_modulus());
        let words = (1.0 + self.lwe_norm()) / 12.0;
        let rounding = if log2_modulus > p.log2_packing_modulus() { words } else { 0.0 };
        let auxiliary: f64 = p.auxiliary_primes().iter().map(|&q| f64::from(q)).product();
        let (error, degree) = (DEVIATION * DEVIATION, p.ckks().degree() as f64);
        let power = libm::exp2(2.0 * packed);
        let inner = p.packing_degree() as f64;
        let together = inner.min(count as f64);
        let at_q = p.mask_len() as f64 * together * power / 12.0 * error + words * power / 4.0;
        let (q, q0) = (p.packing_modulus(), p.q0());
        let divided = if q > q0 { (1.0 + 2.0 / 3.0 * inner) / 12.0 } else { 0.0 };
        let at_q0 = divided + (1.0 + p.ckks().secret_norm()) / 12.0;
        rounding / power
            + at_q / (q as f64).powi(2)
            + at_q0 / (q0 as f64).powi(2)
            + degree / 12.0 * error / (auxiliary * auxiliary)
    }
}
