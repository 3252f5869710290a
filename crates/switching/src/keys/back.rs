//! The keys from the secret of TFHE ciphertexts to the dense secret of CKKS: into a packing ring,
//! and out of it.

use super::{check_len, domain};
use crate::parameters::{DEVIATION, KEYS};
use crate::ring::{HostRing, add_product, centred, mask, spread};
use crate::{Result, SwitchingParameters};
use girih_backend::parallel::{fold, prelude::*};
use girih_ring::sampler::{Gaussian, RandomStream};
use girih_rlwe::{MaskStreams, Secret, SecretDistribution, SecretStreams};
use zeroize::Zeroizing;

/// Two keys modulo primes, as evaluations.
///
/// The packing key has, for each coefficient t_j of the TFHE secret, a pair over the primes of the
/// packing ring, whose product is Q, with `b_j + a_j u = t_j + e_j / D`, times D = Q / 2^l: u is a
/// secret of that ring alone. Q is Q_0, or that times one prime that is divided by afterwards. The
/// key to the dense secret s is one pair over these and two
/// auxiliary primes in the ring of CKKS with `b + a s = P u(X^(N / N'')) + e`.
pub(crate) struct BackKey {
    /// b: `[coefficient][prime][N'']`.
    packing: Vec<u32>,
    /// b: `[prime][N]`.
    dense: Vec<u32>,
}

/// The primes of level 0, then the auxiliary ones.
fn all_primes(parameters: &SwitchingParameters) -> Vec<u32> {
    let mut primes = parameters.bottom_primes();
    primes.extend(parameters.auxiliary_primes());
    primes
}

/// Q / 2^l, rounded: what a unit of a packed ciphertext stands for.
fn unit(parameters: &SwitchingParameters) -> u64 {
    let half = 1u64 << (parameters.log2_packing_modulus() - 1);
    (parameters.packing_modulus() + half) >> parameters.log2_packing_modulus()
}

fn masks_below(prime: u32, mut stream: RandomStream, len: usize) -> Vec<u32> {
    (0..len).map(|_| stream.uniform_below(u64::from(prime)) as u32).collect()
}

/// Masks of one coefficient's row, prime by prime.
fn packing_masks(primes: &[u32], degree: usize, masks: MaskStreams, row: usize) -> Vec<Vec<u32>> {
    let mut stream = masks.stream(domain::PACKING, row as u64);
    let mut below = |&prime: &u32| -> Vec<u32> {
        (0..degree).map(|_| stream.uniform_below(u64::from(prime)) as u32).collect()
    };
    primes.iter().map(&mut below).collect()
}

impl BackKey {
    pub fn generate(
        parameters: &SwitchingParameters,
        from: &[i8],
        to: &[i8],
        masks: MaskStreams,
        secrets: &SecretStreams,
    ) -> Result<Self> {
        let (inner, outer) = (parameters.packing_degree(), parameters.ckks().degree());
        let (few, all) = (parameters.packing_primes(), all_primes(parameters));
        let gaussian = Gaussian::new(DEVIATION).expect("in the sampler's range");
        let distribution = SecretDistribution::Ternary;
        let u = Secret::sample(distribution, inner, &mut secrets.stream(domain::SECRET, 0));
        let noisy = |message: &mut dyn FnMut(usize) -> i64, len: usize, stream: RandomStream| {
            let mut stream = stream;
            let word = |k| message(k) + gaussian.sample(&mut stream);
            Zeroizing::new((0..len).map(word).collect::<Vec<i64>>())
        };

        let ring = HostRing::new(&few, inner)?;
        let u_inner = ring.secret_evaluations(&spread(u.coefficients(), 1, inner));
        let unit = unit(parameters) as i64;
        let mut packing = vec![0; from.len() * few.len() * inner];
        packing.par_chunks_exact_mut(few.len() * inner).enumerate().for_each(|(j, rows)| {
            let stream = secrets.stream(domain::PACKING, j as u64);
            let t = unit * i64::from(from[j]);
            let hidden = noisy(&mut |k| if k == 0 { t } else { 0 }, inner, stream);
            let a = packing_masks(&few, inner, masks, j);
            for (word, row) in rows.chunks_exact_mut(inner).enumerate() {
                let modulus = ring.modulus(word);
                row.copy_from_slice(&Zeroizing::new(ring.evaluations(word, &hidden)));
                for ((b, a), u) in row.iter_mut().zip(&a[word]).zip(u_inner[word].iter()) {
                    *b = modulus.sub(*b, modulus.mul(*a, *u));
                }
            }
        });

        let ring = HostRing::new(&all, outer)?;
        let s = ring.secret_evaluations(&spread(to, 1, outer));
        let u_outer = ring.secret_evaluations(&spread(u.coefficients(), outer / inner, outer));
        let hidden = noisy(&mut |_| 0, outer, secrets.stream(domain::BACK, 0));
        let mut dense = vec![0; all.len() * outer];
        dense.par_chunks_exact_mut(outer).enumerate().for_each(|(word, row)| {
            let modulus = ring.modulus(word);
            let auxiliary = parameters.auxiliary_primes();
            let p = auxiliary.iter().fold(1, |p, &q| modulus.mul(p, modulus.reduce(q.into())));
            let a = masks_below(modulus.value(), masks.stream(domain::BACK, word as u64), outer);
            row.copy_from_slice(&Zeroizing::new(ring.evaluations(word, &hidden)));
            let secrets = s[word].iter().zip(u_outer[word].iter());
            for ((b, a), (s, u)) in row.iter_mut().zip(&a).zip(secrets) {
                *b = modulus.sub(modulus.add(*b, modulus.mul(p, *u)), modulus.mul(*a, *s));
            }
        });
        Ok(Self { packing, dense })
    }

    fn lens(parameters: &SwitchingParameters) -> [usize; 2] {
        let few = parameters.packing_primes().len();
        [
            parameters.mask_len() * few * parameters.packing_degree(),
            all_primes(parameters).len() * parameters.ckks().degree(),
        ]
    }

    pub fn bytes_of(parameters: &SwitchingParameters) -> usize {
        4 * Self::lens(parameters).iter().sum::<usize>()
    }

    pub fn bytes(&self) -> usize {
        4 * (self.packing.len() + self.dense.len())
    }

    pub fn packing_bytes(&self) -> Vec<u8> {
        self.packing.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    pub fn dense_bytes(&self) -> Vec<u8> {
        self.dense.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    pub fn from_bytes(
        parameters: &SwitchingParameters,
        packing: &[u8],
        dense: &[u8],
    ) -> Result<Self> {
        let [packing_len, dense_len] = Self::lens(parameters);
        check_len("the packing key", packing.len(), 4 * packing_len)?;
        check_len("the key back to CKKS", dense.len(), 4 * dense_len)?;
        let words = |bytes: &[u8], primes: &[u32], degree: usize| -> Result<Vec<u32>> {
            let word = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
            let words: Vec<u32> = bytes.chunks_exact(4).map(word).collect();
            let rows = words.chunks_exact(degree).zip(primes.iter().cycle());
            for (row, &prime) in rows {
                if let Some(word) = row.iter().find(|&&word| word >= prime) {
                    let why = format!("a word is {word}, its prime is {prime}");
                    return Err(girih_rlwe::Error::Malformed { what: KEYS.name(), why }.into());
                }
            }
            Ok(words)
        };
        Ok(Self {
            packing: words(packing, &parameters.packing_primes(), parameters.packing_degree())?,
            dense: words(dense, &all_primes(parameters), parameters.ckks().degree())?,
        })
    }
}

/// The keys as they are multiplied with.
pub(crate) struct LoadedBack {
    /// The packing ring, over its primes: those of level 0 come first.
    inner: HostRing,
    /// The primes of level 0 alone.
    bottom: HostRing,
    /// The ring of CKKS, over the primes of level 0 and the auxiliary ones.
    outer: HostRing,
    /// The auxiliary primes alone.
    auxiliary: HostRing,
    unit: u64,
    bits: u32,
    /// `[coefficient][prime]`: b and a.
    packing: Vec<Vec<[Vec<u32>; 2]>>,
    /// `[prime]`: b and a.
    dense: Vec<[Vec<u32>; 2]>,
}

impl BackKey {
    pub fn load(&self, parameters: &SwitchingParameters, masks: MaskStreams) -> Result<LoadedBack> {
        let (few, all) = (parameters.packing_primes(), all_primes(parameters));
        let inner = HostRing::new(&few, parameters.packing_degree())?;
        let outer = HostRing::new(&all, parameters.ckks().degree())?;
        let bottom = HostRing::new(&parameters.bottom_primes(), parameters.packing_degree())?;
        let auxiliary = HostRing::new(&parameters.auxiliary_primes(), parameters.ckks().degree())?;
        let row = |(j, b): (usize, &[u32])| {
            let a = packing_masks(&few, inner.degree(), masks, j);
            b.chunks_exact(inner.degree()).zip(a).map(|(b, a)| [b.to_vec(), a]).collect()
        };
        let packing = self
            .packing
            .par_chunks_exact(few.len() * inner.degree())
            .enumerate()
            .map(row)
            .collect();
        let one = |(word, b): (usize, &[u32])| {
            let stream = masks.stream(domain::BACK, word as u64);
            [b.to_vec(), masks_below(all[word], stream, outer.degree())]
        };
        let dense = self.dense.chunks_exact(outer.degree()).enumerate().map(one).collect();
        let (unit, bits) = (unit(parameters), parameters.log2_packing_modulus());
        Ok(LoadedBack { inner, bottom, outer, auxiliary, unit, bits, packing, dense })
    }
}

/// A TFHE ciphertext of phase `body - <mask, t>` modulo 2^l, and the exponent that it is to have.
pub(crate) struct Placed {
    pub mask: Vec<u64>,
    pub body: u64,
    pub exponent: usize,
}

impl LoadedBack {
    /// The polynomial of these evaluations over the primes of level 0: N centred coefficients.
    pub fn coefficients(&self, limbs: &[u32]) -> Vec<i64> {
        let degree = self.outer.degree();
        let mut limbs = limbs.to_vec();
        for (word, limb) in limbs.chunks_exact_mut(degree).enumerate() {
            self.outer.inverse(word, limb);
        }
        let whole = |k| self.bottom.compose(|word| limbs[word * degree + k]) as i64;
        (0..degree).into_par_iter().map(whole).collect()
    }

    /// Packs ciphertexts: (b, a) over the primes of level 0 in the ring of CKKS, as evaluations,
    /// under the dense secret. The coefficient at an exponent is phase Q_0 / 2^l of what was placed
    /// there, modulo Q_0 and but for an error; where nothing was placed it is an error alone.
    pub fn pack(&self, ciphertexts: &[Placed]) -> [Vec<u32>; 2] {
        let (limbs, degree) = (self.bottom.len(), self.outer.degree());
        let step = degree / self.inner.degree();
        let mut packed = [vec![0u32; limbs * degree], vec![0u32; limbs * degree]];
        for residue in 0..step {
            let group: Vec<&Placed> =
                ciphertexts.iter().filter(|c| c.exponent % step == residue).collect();
            if group.is_empty() {
                continue;
            }
            let sums = self.divided(self.pack_group(&group, step));
            for (out, sum) in packed.iter_mut().zip(&sums) {
                for (word, sum) in sum.iter().enumerate() {
                    for (v, &x) in sum.iter().enumerate() {
                        out[word * degree + residue + step * v] = x;
                    }
                }
            }
        }
        self.to_dense(packed)
    }

    /// Ciphertexts whose exponents are alike modulo `step`, in the packing ring: coefficients of b
    /// and a, prime by prime.
    fn pack_group(&self, group: &[&Placed], step: usize) -> [Vec<Vec<u32>>; 2] {
        let (limbs, degree) = (self.inner.len(), self.inner.degree());
        let zeros = || -> [Vec<Vec<u32>>; 2] {
            [vec![vec![0; degree]; limbs], vec![vec![0; degree]; limbs]]
        };
        let add_row = |mut sums: [Vec<Vec<u32>>; 2], j: usize| {
            let mut column = vec![0; degree];
            for c in group {
                column[c.exponent / step] = -centred(c.mask[j], self.bits);
            }
            for word in 0..limbs {
                let evaluations = self.inner.evaluations(word, &column);
                for (part, sum) in sums.iter_mut().enumerate() {
                    let key = &self.packing[j][word][part];
                    add_product(self.inner.modulus(word), &mut sum[word], &evaluations, key);
                }
            }
            sums
        };
        let join = |mut x: [Vec<Vec<u32>>; 2], y: [Vec<Vec<u32>>; 2]| {
            for (x, y) in x.iter_mut().zip(y) {
                for (word, (x, y)) in x.iter_mut().zip(y).enumerate() {
                    let modulus = self.inner.modulus(word);
                    x.iter_mut().zip(y).for_each(|(x, y)| *x = modulus.add(*x, y));
                }
            }
            x
        };
        let mut sums = fold(self.packing.len(), zeros, add_row, join);
        for part in &mut sums {
            for (word, sum) in part.iter_mut().enumerate() {
                self.inner.inverse(word, sum);
            }
        }
        for c in group {
            for word in 0..limbs {
                let modulus = self.inner.modulus(word);
                let body = modulus
                    .mul(modulus.reduce(self.unit), modulus.reduce(c.body & mask(self.bits)));
                let at = &mut sums[0][word][c.exponent / step];
                *at = modulus.add(*at, body);
            }
        }
        sums
    }

    /// From the primes of the packing ring to those of level 0: divided by what there is more, and
    /// rounded.
    fn divided(&self, mut sums: [Vec<Vec<u32>>; 2]) -> [Vec<Vec<u32>>; 2] {
        for word in self.bottom.len()..self.inner.len() {
            let last = self.inner.modulus(word).value();
            for part in &mut sums {
                let (own, rest) = part.split_at_mut(word);
                for (word, own) in own.iter_mut().enumerate() {
                    let modulus = self.inner.modulus(word);
                    let inverse = modulus.inverse(modulus.reduce(last.into()));
                    for (x, &rest) in own.iter_mut().zip(&rest[0]) {
                        let over = if rest > last / 2 { i64::from(last) } else { 0 };
                        let rest = modulus.reduce_signed(i64::from(rest) - over);
                        *x = modulus.mul(modulus.sub(*x, rest), inverse);
                    }
                }
            }
        }
        sums.map(|part| part.into_iter().take(self.bottom.len()).collect())
    }

    /// From `b + a u(X^(N / N''))` to the dense secret, by one digit and a division by the
    /// auxiliary primes.
    fn to_dense(&self, [b, a]: [Vec<u32>; 2]) -> [Vec<u32>; 2] {
        let (limbs, degree) = (self.bottom.len(), self.outer.degree());
        let digit: Vec<i64> = (0..degree)
            .into_par_iter()
            .map(|k| self.bottom.compose(|word| a[word * degree + k]) as i64)
            .collect();
        let product = |word: usize| {
            let evaluations = self.outer.evaluations(word, &digit);
            let modulus = self.outer.modulus(word);
            [0, 1].map(|part| {
                let mut sum = vec![0; degree];
                add_product(modulus, &mut sum, &evaluations, &self.dense[word][part]);
                self.outer.inverse(word, &mut sum);
                sum
            })
        };
        let products: Vec<[Vec<u32>; 2]> =
            (0..self.outer.len()).into_par_iter().map(product).collect();
        let divide = |part: usize, added: Option<&[u32]>| {
            let rest: Vec<i64> = (0..degree)
                .into_par_iter()
                .map(|k| self.auxiliary.compose(|word| products[limbs + word][part][k]) as i64)
                .collect();
            let mut out = vec![0; limbs * degree];
            for (word, out) in out.chunks_exact_mut(degree).enumerate() {
                let modulus = self.outer.modulus(word);
                let p = (limbs..self.outer.len()).fold(1, |p, other| {
                    modulus.mul(p, modulus.reduce(self.outer.modulus(other).value().into()))
                });
                let inverse = modulus.inverse(p);
                for (k, out) in out.iter_mut().enumerate() {
                    let x = modulus.sub(products[word][part][k], modulus.reduce_signed(rest[k]));
                    let own = added.map_or(0, |b| b[word * degree + k]);
                    *out = modulus.add(own, modulus.mul(x, inverse));
                }
                self.outer.forward(word, out);
            }
            out
        };
        [divide(0, Some(&b)), divide(1, None)]
    }
}
