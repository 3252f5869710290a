//! The numbers that fix the kernels of one parameter set.

mod rules;

use serde::{Deserialize, Serialize};

/// Distribution of the LWE secret, which decides how many GGSW ciphertexts each LWE index has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SecretKind {
    /// Coefficients in {-1, 0, 1}: C0 encrypts `[s = 1]`, C1 encrypts `[s = -1]`.
    Ternary,
    /// Coefficients in {0, 1}: C0 only.
    Binary,
}

/// How the external product controls its noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Gadget {
    /// GD: balanced digits in `[-2^(b-1), 2^(b-1))` of the closest multiple of `2^dropped_bits`.
    /// Accumulator and key share one modulus.
    Decomposition {
        /// log2 of the digit base.
        log2_base: u32,
        /// Digits in use; one GGSW level each. The top one takes what is left above the others.
        levels: usize,
        /// Lowest bits left out of digits and key alike; not always a whole number of digits.
        dropped_bits: u32,
    },
    /// MR: one undecomposed digit modulo Q = 2^log2_modulus; the key lives modulo T > Q and
    /// products are rounded T -> Q.
    ModulusRaising {
        /// log2 of the accumulator modulus Q.
        log2_modulus: u32,
    },
    /// Native torus (Q = 2^64): the closest representative with `levels` digits of `log2_base`
    /// bits; key switch comes first.
    ClosestRepresentative {
        /// log2 of the digit base.
        log2_base: u32,
        /// Digits in use, counted from the most significant.
        levels: usize,
    },
}

/// Modulus of the bootstrapping key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeyModulus {
    /// Product of one or two primes, each `1 mod 2N` and below 2^31, ascending.
    Words(Vec<u32>),
    /// 2^64: the native torus, whose integer transform has primes of its own
    /// ([`BootstrapShape::transform_words`]).
    Torus64,
}

/// Everything a device needs to know about a parameter set; plain numbers, no secrets and no noise.
///
/// Moduli named `log2_*` are powers of two. Letters are those of the papers: n, q, N, k, r, Q, T.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootstrapShape {
    /// n, length of an LWE mask.
    pub lwe_dimension: usize,
    /// log2 q, modulus of LWE ciphertexts between bootstrappings; `q` divides `2N`. Native torus:
    /// log2 of 2N, to which the switched ciphertext is rounded; what is stored lives modulo 2^64.
    pub log2_lwe_modulus: u32,
    /// N, a power of two.
    pub polynomial_size: usize,
    /// k, mask polynomials of a GLWE ciphertext.
    pub glwe_dimension: usize,
    /// r, bodies that share one mask (common-mask packing).
    pub packing: usize,
    /// Distribution of the LWE secret.
    pub secret: SecretKind,
    /// g, LWE indices that one step of the blind rotation takes together: 1, or with binary secrets
    /// a divisor of n up to [`BootstrapShape::MAX_GROUPING`].
    #[serde(default = "ungrouped")]
    pub grouping: usize,
    /// Noise control of the external product.
    pub gadget: Gadget,
    /// Modulus of the bootstrapping key: Q for GD, T for MR.
    pub key_modulus: KeyModulus,
    /// log2 Q_ks, modulus of the key-switching key. Native torus: the leading bits of a mask word
    /// that its digits represent (the key itself lives modulo 2^64).
    pub log2_ks_modulus: u32,
    /// log2 B_ks, base of the key-switching digits: unsigned; native torus: balanced.
    pub log2_ks_base: u32,
}

/// The grouping of shapes that were written down before there was one.
fn ungrouped() -> usize {
    1
}

impl BootstrapShape {
    /// Largest grouping: a step of g indices has 2^g - 1 GGSW ciphertexts.
    pub const MAX_GROUPING: usize = 4;

    /// K = k + r, polynomials of an accumulator.
    pub fn columns(&self) -> usize {
        self.glwe_dimension + self.packing
    }

    /// L, levels of a GGSW ciphertext: digits in use, or 1 for MR.
    pub fn levels(&self) -> usize {
        match self.gadget {
            Gadget::Decomposition { levels, .. } | Gadget::ClosestRepresentative { levels, .. } => {
                levels
            }
            Gadget::ModulusRaising { .. } => 1,
        }
    }

    /// Bits that the digits in use represent together; 0 for MR, which has no digits.
    pub fn gadget_bits(&self) -> u32 {
        match self.gadget {
            Gadget::Decomposition { log2_base, levels, .. }
            | Gadget::ClosestRepresentative { log2_base, levels } => log2_base * levels as u32,
            Gadget::ModulusRaising { .. } => 0,
        }
    }

    /// Steps of the blind rotation: n / g.
    pub fn steps(&self) -> usize {
        self.lwe_dimension / self.grouping
    }

    /// GGSW ciphertexts of one step: 2 (C0 and C1) for ternary secrets; 2^g - 1 for binary ones,
    /// one for each non-empty set S of the step's g indices, encrypting whether exactly the secrets
    /// in S are 1. Number S - 1 is that of set S, whose bit i stands for index `g step + i`.
    pub fn ggsw_per_step(&self) -> usize {
        match self.secret {
            SecretKind::Ternary => 2,
            SecretKind::Binary => (1 << self.grouping) - 1,
        }
    }

    /// The exponent of the monomial that GGSW ciphertext `which` of a step is multiplied by, modulo
    /// 2N: e and -e for ternary secrets, for binary ones the sum of the exponents in its set.
    ///
    /// `exponents` are those of the step's g indices, each in `[0, 2N)`.
    pub fn ggsw_exponent(&self, which: usize, exponents: &[u32]) -> u32 {
        let mask = 2 * self.polynomial_size as u32 - 1;
        match self.secret {
            SecretKind::Ternary if which == 1 => exponents[0].wrapping_neg() & mask,
            SecretKind::Ternary => exponents[0],
            SecretKind::Binary => {
                let of_set =
                    exponents.iter().enumerate().filter(|(i, _)| (which + 1) >> i & 1 == 1);
                of_set.fold(0u32, |sum, (_, &e)| sum.wrapping_add(e)) & mask
            }
        }
    }

    /// Coefficients of the bootstrapping-key block of one step:
    /// `[GGSW][level][row K][column K][N]`.
    pub fn bootstrapping_block_len(&self) -> usize {
        self.ggsw_per_step()
            * self.levels()
            * self.columns()
            * self.columns()
            * self.polynomial_size
    }

    /// Unsigned digits of the key switch: ceil(log2 Q_ks / log2 B_ks).
    pub fn ks_digits(&self) -> usize {
        self.log2_ks_modulus.div_ceil(self.log2_ks_base) as usize
    }

    /// B_ks, values a key-switching digit can take.
    pub fn ks_base(&self) -> usize {
        1 << self.log2_ks_base
    }

    /// kN, indices of the key-switching table.
    pub fn ks_indices(&self) -> usize {
        self.glwe_dimension * self.polynomial_size
    }

    /// Words of the key-switching block of one index: `[digit][value][n + r]`, value 0 included
    /// (all zero). Native torus: `[digit][n + r]`, most significant digit first; row `digit`
    /// belongs to weight `2^(64 - b (digit + 1))`.
    pub fn key_switching_block_len(&self) -> usize {
        let values = if self.is_torus() { 1 } else { self.ks_base() };
        self.ks_digits() * values * self.switched_len()
    }

    /// Whether this set lives on the native torus (moduli 2^64, key switch first).
    pub fn is_torus(&self) -> bool {
        self.key_modulus == KeyModulus::Torus64
    }

    /// n + r, length of a CM-LWE ciphertext under the LWE secret: what a key switch yields.
    pub fn switched_len(&self) -> usize {
        self.lwe_dimension + self.packing
    }

    /// kN + r, length of a CM-LWE ciphertext under the GLWE secret: what an extraction yields.
    pub fn extracted_len(&self) -> usize {
        self.ks_indices() + self.packing
    }

    /// Length of the mask of a stored ciphertext: n, or kN on the native torus, where the key
    /// switch comes first.
    pub fn stored_mask_len(&self) -> usize {
        if self.is_torus() { self.ks_indices() } else { self.lwe_dimension }
    }

    /// 32-bit words of one stored CM-LWE ciphertext, mask first, then bodies: n + r; native torus:
    /// 2 (kN + r), low half of each 64-bit word first.
    pub fn ciphertext_len(&self) -> usize {
        if self.is_torus() { 2 * self.extracted_len() } else { self.switched_len() }
    }

    /// log2 of the modulus of stored ciphertexts between bootstrappings: log2 q, or 64 on the
    /// native torus.
    pub fn log2_stored_modulus(&self) -> u32 {
        if self.is_torus() { 64 } else { self.log2_lwe_modulus }
    }

    /// log2 of the modulus in which constants of combinations are given: log2 q; native torus: 32,
    /// the leading half.
    pub fn log2_constant_modulus(&self) -> u32 {
        self.log2_stored_modulus().min(32)
    }

    /// log2 of 2N, the order of the monomial group.
    pub fn log2_monomials(&self) -> u32 {
        self.polynomial_size.trailing_zeros() + 1
    }

    /// Modulus of the bootstrapping key (Q for GD, T for MR); 2^64 is reported as `None`.
    pub fn key_modulus_value(&self) -> Option<u64> {
        match &self.key_modulus {
            KeyModulus::Words(words) => Some(words.iter().map(|&w| u64::from(w)).product()),
            KeyModulus::Torus64 => None,
        }
    }

    /// Modulus of the accumulator; 2^64 is reported as `None`.
    pub fn accumulator_modulus(&self) -> Option<u64> {
        match self.gadget {
            Gadget::ModulusRaising { log2_modulus } => Some(1 << log2_modulus),
            Gadget::Decomposition { .. } => self.key_modulus_value(),
            Gadget::ClosestRepresentative { .. } => None,
        }
    }

    /// The gadget weights g_l of the levels in use, modulo the key modulus.
    ///
    /// GD: `2^dropped_bits B^l`. MR: `round(T/Q)`. Native torus: `2^(64 - b*(l+1))`, most
    /// significant first.
    pub fn gadget_weights(&self) -> Vec<u64> {
        match self.gadget {
            Gadget::Decomposition { log2_base, levels, dropped_bits } => {
                (0..levels as u32).map(|l| 1u64 << (dropped_bits + log2_base * l)).collect()
            }
            Gadget::ModulusRaising { log2_modulus } => {
                let t = self.key_modulus_value().unwrap_or(0);
                vec![(t + (1 << (log2_modulus - 1))) >> log2_modulus]
            }
            Gadget::ClosestRepresentative { log2_base, levels } => {
                (0..levels).map(|l| 1u64 << (64 - log2_base as usize * (l + 1))).collect()
            }
        }
    }
}
