//! A client of the simplest kind, for tests of what is recorded: explicit secrets, keys made limb
//! by limb, exact decryption. It shares nothing with the crate's own client but the encoder.

use std::collections::HashMap;
use std::sync::Arc;

use girih_backend::poly::{Basis, View};
use girih_ckks::Encoder;
use girih_ckks::program::{Chain, FirstFactor, FirstRow, KeyKind, Part, Recorded};
use girih_ring::sampler::{Gaussian, MaskSeed, RandomStream};
use girih_ring::{Automorphism, NttTable, RnsBasis, bit_reverse};
use num_complex::Complex64;

use crate::support::Keys;

/// The domain of all streams here.
const DOMAIN: u16 = 0x7e57;

pub struct Client {
    pub chain: Arc<Chain>,
    pub encoder: Encoder,
    tables: Vec<NttTable>,
    secret: Vec<i64>,
    sparse: Vec<i64>,
    /// f_j of a secret of the conjugation-invariant ring.
    invariant: Vec<i64>,
    stream: RandomStream,
    gaussian: Gaussian,
}

impl Client {
    pub fn new(chain: &Arc<Chain>, seed: u8) -> Self {
        let n = chain.degree();
        let mut stream = MaskSeed([seed; 32]).stream(DOMAIN, 0);
        let secret = (0..n).map(|_| i64::from(stream.ternary())).collect();
        let mut of_weight = |mut left: usize| {
            let mut sparse = vec![0; n];
            while left > 0 {
                let place = stream.uniform_below(n as u64) as usize;
                if sparse[place] == 0 {
                    sparse[place] = 2 * stream.uniform_below(2) as i64 - 1;
                    left -= 1;
                }
            }
            sparse
        };
        let sparse = of_weight(32);
        let invariant = match chain.in_invariant() {
            Some(_) => of_weight(n / 16),
            None => Vec::new(),
        };
        let tables = chain.ring().primes.iter().map(|&p| NttTable::new(p, n).unwrap()).collect();
        Self {
            chain: chain.clone(),
            encoder: Encoder::new(n.ilog2()).unwrap(),
            tables,
            secret,
            sparse,
            invariant,
            stream,
            gaussian: Gaussian::new(3.19).unwrap(),
        }
    }

    /// Uniform complex numbers of [-1, 1]^2.
    pub fn random_slots(&mut self, slots: usize) -> Vec<Complex64> {
        let mut real = || self.stream.next_u64() as f64 / 2f64.powi(63) - 1.0;
        (0..slots).map(|_| Complex64::new(real(), real())).collect()
    }

    fn evaluations(&self, prime: u16, coefficients: &[i64]) -> Vec<u32> {
        let table = &self.tables[usize::from(prime)];
        let mut words: Vec<u32> =
            coefficients.iter().map(|&c| table.modulus().reduce_signed(c)).collect();
        table.forward(&mut words);
        words
    }

    fn error(&mut self) -> Vec<i64> {
        (0..self.chain.degree()).map(|_| self.gaussian.sample(&mut self.stream)).collect()
    }

    /// (b, a) over `basis` with b + a s = message + e, limb after limb.
    fn pair(&mut self, basis: &Basis, secret: &[i64], message: &[i64]) -> Vec<Vec<u32>> {
        let error = self.error();
        let sum: Vec<i64> = error.iter().zip(message).map(|(e, m)| e + m).collect();
        let (mut b, mut a) = (Vec::new(), Vec::new());
        for &prime in basis.primes() {
            let q = self.chain.ring().primes[usize::from(prime)];
            let (s, m) = (self.evaluations(prime, secret), self.evaluations(prime, &sum));
            for (s, m) in s.into_iter().zip(m) {
                let mask = self.stream.uniform_below(u64::from(q.value())) as u32;
                a.push(mask);
                b.push(q.sub(m, q.mul(mask, s)));
            }
        }
        vec![b, a]
    }

    /// The switching key from `from` to `to`:
    /// g is the product of `auxiliary` on the primes of each digit.
    fn key(
        &mut self,
        kind: KeyKind,
        [from, to]: [&[i64]; 2],
        digits: &[Basis],
        auxiliary: &Basis,
        keys: &mut Keys,
    ) {
        let base = digits.iter().fold(auxiliary.clone(), |basis, digit| basis.union(digit));
        let zero = vec![0; self.chain.degree()];
        let p = self.chain.product(auxiliary);
        let n = self.chain.degree();
        for (number, digit) in digits.iter().enumerate() {
            let mut row = self.pair(&base, to, &zero);
            for &prime in digit.primes() {
                let q = self.chain.ring().primes[usize::from(prime)];
                let g = (&*p % q.value()).to_u32_digits().first().copied().unwrap_or(0);
                let mut wanted = self.evaluations(prime, from);
                if kind == KeyKind::Multiplication {
                    wanted.iter_mut().for_each(|s| *s = q.mul(*s, *s));
                }
                let at = base.position(prime).unwrap() * n;
                for (b, s) in row[0][at..at + n].iter_mut().zip(wanted) {
                    *b = q.add(*b, q.mul(g, s));
                }
            }
            let a = row.pop().unwrap();
            keys.insert(kind, number, Part::B, row.pop().unwrap());
            keys.insert(kind, number, Part::A, a);
        }
    }

    /// The key of a row of the first transform: M times the sparse secret, no factor.
    fn first_key(&mut self, kind: KeyKind, row: &FirstRow, keys: &mut Keys) {
        let KeyKind::First { g, log2_slots } = kind else { panic!("{kind}") };
        let (chain, n) = (self.chain.clone(), self.chain.degree());
        let shape = chain.shape().bootstrapping.as_ref().unwrap();
        let level = shape.raised_level(chain.most_slots(), 1 << log2_slots);
        let basis = chain.level(level).unwrap().union(&chain.sparse_auxiliary().unwrap());
        let to = self.inverse_automorphism(g);
        let mut pair = self.pair(&basis, &to, &vec![0; n]);
        let whole = self.diagonal(row);
        for (limb, &prime) in pair[0].chunks_exact_mut(n).zip(basis.primes()) {
            let q = chain.ring().primes[usize::from(prime)];
            let (m, s) = (self.evaluations(prime, &whole), self.evaluations(prime, &self.sparse));
            limb.iter_mut().zip(m.into_iter().zip(s)).for_each(|(b, (m, s))| {
                *b = q.add(*b, q.mul(m, s));
            });
        }
        let a = pair.pop().unwrap();
        keys.insert(kind, 0, Part::B, pair.pop().unwrap());
        keys.insert(kind, 0, Part::A, a);
    }

    /// A key between s(Y^2) and the secret of the conjugation-invariant ring, or of that ring: all
    /// in the ring of degree 2N, whose evaluations are read at the points of each row.
    fn two_ring_key(&mut self, kind: KeyKind, keys: &mut Keys) {
        let chain = self.chain.clone();
        let n = chain.degree();
        let own = match kind {
            KeyKind::FromInvariant => chain.clone(),
            _ => chain.in_invariant().unwrap().clone(),
        };
        let mut dense = vec![0; 2 * n];
        self.secret.iter().enumerate().for_each(|(j, &s)| dense[2 * j] = s);
        let fold = |f: &[i64]| -> Vec<i64> {
            let mut all = [f, &vec![0; n]].concat();
            (1..n).for_each(|j| all[2 * n - j] = -f[j]);
            all
        };
        let invariant = fold(&self.invariant);
        let (from, to, views): (&Vec<i64>, &Vec<i64>, &[View]) = match kind {
            KeyKind::InvariantMultiplication => (&invariant, &invariant, &[View::Lifted]),
            KeyKind::ToInvariant => (&dense, &invariant, &[View::Lifted, View::LiftedConjugate]),
            _ => (&invariant, &dense, &[View::Restricted, View::RestrictedMinus]),
        };
        let (base, p) = (own.key_basis(), own.product(own.auxiliary()));
        for (number, digit) in own.digits().iter().enumerate() {
            let error = match kind {
                KeyKind::InvariantMultiplication => fold(&self.error()),
                _ => [self.error(), self.error()].concat(),
            };
            let mut rows = vec![[Vec::new(), Vec::new()]; views.len()];
            for &prime in base.primes() {
                let q = chain.ring().primes[usize::from(prime)];
                let table = NttTable::new(q, 2 * n).unwrap();
                let values = |coefficients: &[i64]| -> Vec<u32> {
                    let mut words: Vec<u32> =
                        coefficients.iter().map(|&c| q.reduce_signed(c)).collect();
                    table.forward(&mut words);
                    words
                };
                let (from, to, error) = (values(from), values(to), values(&error));
                let g = match digit.contains(prime) {
                    true => (&*p % q.value()).to_u32_digits()[0],
                    false => 0,
                };
                for (row, view) in rows.iter_mut().zip(views) {
                    for j in 0..n {
                        // The exponent of the point: conjugates are of minus it.
                        let place = |j| 4 * bit_reverse(j, n.ilog2()) + 1;
                        let e = match view {
                            View::Lifted => place(j),
                            View::LiftedConjugate => 4 * n - place(j),
                            View::Restricted | View::RestrictedMinus if 2 * j < n => {
                                place(2 * j + usize::from(*view == View::RestrictedMinus))
                            }
                            _ => {
                                let k = 2 * (n - 1 - j);
                                4 * n - place(k + usize::from(*view == View::RestrictedMinus))
                            }
                        };
                        let at = bit_reverse((e - 1) / 2, (2 * n).ilog2());
                        let source = match kind {
                            KeyKind::InvariantMultiplication => q.mul(from[at], from[at]),
                            _ => from[at],
                        };
                        let mask = self.stream.uniform_below(u64::from(q.value())) as u32;
                        let b = q.sub(q.add(error[at], q.mul(g, source)), q.mul(mask, to[at]));
                        row[0].push(b);
                        row[1].push(mask);
                    }
                }
            }
            let count = rows.len();
            for (half, [b, a]) in rows.into_iter().enumerate() {
                keys.insert(kind, count * number + half, Part::B, b);
                keys.insert(kind, count * number + half, Part::A, a);
            }
        }
    }

    /// The switching keys `kinds`.
    pub fn keys(&mut self, kinds: &[KeyKind]) -> Keys {
        let chain = self.chain.clone();
        let (secret, sparse) = (self.secret.clone(), self.sparse.clone());
        let mut keys = Keys::default();
        let mut first = HashMap::new();
        for &kind in kinds {
            let full = [chain.digits().iter().fold(Basis::new([]), |all, d| all.union(d))];
            let bottom = [chain.level(0).unwrap().clone()];
            match kind {
                KeyKind::Multiplication => {
                    self.key(kind, [&secret, &secret], chain.digits(), chain.auxiliary(), &mut keys)
                }
                KeyKind::Galois(g) => {
                    let to = self.inverse_automorphism(g);
                    self.key(kind, [&secret, &to], chain.digits(), chain.auxiliary(), &mut keys)
                }
                KeyKind::DenseToSparse => {
                    let few = chain.sparse_auxiliary().unwrap();
                    self.key(kind, [&secret, &sparse], &bottom, &few, &mut keys)
                }
                KeyKind::First { log2_slots, g } => {
                    let slots = 1usize << log2_slots;
                    let first = first
                        .entry(log2_slots)
                        .or_insert_with(|| FirstFactor::new(&chain, slots, &self.encoder).unwrap());
                    let row = first.rows().iter().find(|row| row.g == g).unwrap().clone();
                    self.first_key(kind, &row, &mut keys);
                }
                KeyKind::SparseToDense => {
                    self.key(kind, [&sparse, &secret], &full, chain.auxiliary(), &mut keys)
                }
                KeyKind::InvariantMultiplication
                | KeyKind::ToInvariant
                | KeyKind::FromInvariant => self.two_ring_key(kind, &mut keys),
                _ => unreachable!("a kind that the reference does not know"),
            }
        }
        keys
    }

    /// The centred coefficients of a polynomial over `basis`, which f64 holds exactly up to 2^53.
    fn coefficients(&self, basis: &Basis, words: &[u32]) -> Vec<f64> {
        let n = self.chain.degree();
        let mut limbs = words.to_vec();
        let tables = basis.primes().iter().map(|&p| &self.tables[usize::from(p)]);
        limbs.chunks_exact_mut(n).zip(tables.clone()).for_each(|(limb, t)| t.inverse(limb));
        let rns = RnsBasis::new(&tables.map(|t| t.modulus().value()).collect::<Vec<_>>()).unwrap();
        let mut coefficients = vec![0.0; n];
        rns.compose_f64(&limbs, &mut coefficients);
        coefficients
    }

    /// What the first transform by keys errs by, in units of its result: P' times the phase of
    /// `result` against the integers phi(M (b + a s)) of what is `sparse` at level 0.
    pub fn first_error(
        &self,
        first: &FirstFactor,
        sparse: &[Vec<u32>],
        result: &[Vec<u32>],
    ) -> Vec<f64> {
        let (chain, n) = (&self.chain, self.chain.degree());
        let (bottom, top) = (chain.level(0).unwrap(), chain.level(first.level()).unwrap());
        let whole = |words: &[u32]| -> Vec<i64> {
            self.coefficients(bottom, words).into_iter().map(|c| c as i64).collect()
        };
        let [b, a] = [whole(&sparse[0]), whole(&sparse[1])];
        let p = chain.product(&chain.sparse_auxiliary().unwrap());
        // Errors times P' are far below four primes.
        let mains = chain.shape().terminal.len() as u16..;
        let common = Basis::new(mains.take(4));
        let mut limbs = Vec::new();
        for &prime in common.primes() {
            let q = self.tables[usize::from(prime)].modulus();
            let at = top.position(prime).unwrap() * n;
            let phase = |b: &[u32], a: &[u32], secret: &[i64]| -> Vec<u32> {
                let s = self.evaluations(prime, secret);
                b.iter().zip(a).zip(s).map(|((&b, &a), s)| q.add(b, q.mul(a, s))).collect()
            };
            let [b, a] = [&b, &a].map(|x| self.evaluations(prime, x));
            let low = phase(&b, &a, &self.sparse);
            let found = phase(&result[0][at..at + n], &result[1][at..at + n], &self.secret);
            let p = (&*p % q.value()).to_u32_digits()[0];
            let mut off: Vec<u32> = found.iter().map(|&x| q.mul(p, x)).collect();
            for row in first.rows() {
                let m = self.evaluations(prime, &self.diagonal(row));
                let product: Vec<_> = low.iter().zip(m).map(|(&x, m)| q.mul(x, m)).collect();
                let mut moved = vec![0; n];
                Automorphism::new(n, row.g as usize).unwrap().apply(&product, &mut moved);
                off.iter_mut().zip(moved).for_each(|(x, y)| *x = q.sub(*x, y));
            }
            limbs.extend(off);
        }
        let p: f64 = p.to_string().parse().unwrap();
        self.coefficients(&common, &limbs).into_iter().map(|e| e / p).collect()
    }

    /// All N coefficients of a row's diagonal.
    fn diagonal(&self, row: &FirstRow) -> Vec<i64> {
        let mut whole = vec![0; self.chain.degree()];
        let gap = whole.len() / row.plaintext.len();
        whole.iter_mut().step_by(gap).zip(row.plaintext.iter()).for_each(|(x, &c)| *x = c);
        whole
    }

    /// The secret under X -> X^(1/g).
    fn inverse_automorphism(&self, g: u32) -> Vec<i64> {
        let n = self.secret.len();
        // s(X) = t(X^g): coefficient i of t goes to place i g.
        (0..n)
            .map(|i| {
                let at = i * g as usize % (2 * n);
                if at < n { self.secret[at] } else { -self.secret[at - n] }
            })
            .collect()
    }

    /// An encryption of `slots` at `level` with its canonical scale: b and a.
    pub fn encrypt(&mut self, slots: &[Complex64], level: usize) -> Vec<Vec<u32>> {
        let scale = self.chain.scale(level).unwrap();
        let message = self.encoder.encode(slots, scale).unwrap();
        let (basis, secret) = (self.chain.level(level).unwrap().clone(), self.secret.clone());
        self.pair(&basis, &secret, message.coefficients())
    }

    /// An encryption of 0 at any level: b and a.
    pub fn encrypt_zero(&mut self, level: usize) -> Vec<Vec<u32>> {
        let (basis, secret) = (self.chain.level(level).unwrap().clone(), self.secret.clone());
        self.pair(&basis, &secret, &vec![0; self.chain.degree()])
    }

    /// The centred coefficients of b + a s.
    pub fn phase(&self, level: usize, words: &[Vec<u32>]) -> Vec<f64> {
        let basis = self.chain.level(level).unwrap();
        let n = self.chain.degree();
        let mut limbs = Vec::new();
        for (i, &prime) in basis.primes().iter().enumerate() {
            let table = &self.tables[usize::from(prime)];
            let q = table.modulus();
            let s = self.evaluations(prime, &self.secret);
            let at = |part: usize, j: usize| words[part][i * n + j];
            let mut limb: Vec<u32> =
                (0..n).map(|j| q.add(at(0, j), q.mul(at(1, j), s[j]))).collect();
            table.inverse(&mut limb);
            limbs.extend(limb);
        }
        let primes = basis.primes().iter().map(|&p| self.tables[usize::from(p)].modulus().value());
        let rns = RnsBasis::new(&primes.collect::<Vec<_>>()).unwrap();
        let mut coefficients = vec![0.0; n];
        rns.compose_f64(&limbs, &mut coefficients);
        coefficients
    }

    /// The slots of a result.
    pub fn decrypt(&self, x: &Recorded, words: &[Vec<u32>]) -> Vec<Complex64> {
        self.encoder.decode(&self.phase(x.level, words), x.slots, x.scale).unwrap()
    }
}

/// log2 of the deviation of a real component, and of the largest error of a slot.
pub fn errors(x: &[Complex64], y: &[Complex64]) -> (f64, f64) {
    assert_eq!(x.len(), y.len());
    let squares = x.iter().zip(y).map(|(x, y)| (x - y).norm_sqr());
    let deviation = (squares.clone().sum::<f64>() / (2 * x.len()) as f64).sqrt();
    (deviation.log2(), squares.fold(0.0, f64::max).sqrt().log2())
}
