//! The keys and ciphertexts of published runs, which come from a seed (README of the vectors).

use super::sha;
use girih::contract::ckks::{Chain, KeyKind, Part};
use girih_ring::NttTable;
use std::collections::HashMap;
use std::sync::Arc;

/// SplitMix64, one stream of a seed.
struct SplitMix(u64);

impl SplitMix {
    fn new(seed: u64, stream: u64) -> Self {
        Self((seed << 40).wrapping_add(stream))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = self.0;
        let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// `count` words below `p`: the top 31 bits of outputs, drawn in blocks of 4 `count`.
    fn below(&mut self, p: u32, count: usize) -> Vec<u32> {
        let mut words = Vec::with_capacity(4 * count);
        while words.len() < count {
            let block = (0..4 * count).map(|_| (self.next() >> 33) as u32);
            words.extend(block.collect::<Vec<_>>().into_iter().filter(|&word| word < p));
        }
        words.truncate(count);
        words
    }

    /// An error: the difference of the weights of two runs of 21 bits.
    fn error(&mut self) -> i64 {
        let v = self.next();
        let weight = |bits: u64| i64::from((bits & ((1 << 21) - 1)).count_ones());
        weight(v) - weight(v >> 21)
    }
}

/// Where errors stand among limbs.
const ERRORS: u64 = 255;

/// Secrets and keys of a seed over one chain.
pub struct Seeded {
    chain: Arc<Chain>,
    seed: u64,
    /// The dense secret.
    pub dense: Vec<i64>,
    /// The sparse secret.
    pub sparse: Vec<i64>,
    tables: Vec<NttTable>,
    limbs: HashMap<(KeyKind, usize, Part, u16), Vec<u32>>,
}

impl Seeded {
    /// The secrets: `weight` coefficients of the dense one, or any; `sparse` of the other.
    pub fn new(chain: &Arc<Chain>, seed: u64, weight: Option<usize>, sparse: usize) -> Self {
        let degree = chain.degree();
        let fixed = |key: u64, weight: usize| {
            let mut stream = SplitMix::new(seed, key << 16);
            let mut secret = vec![0; degree];
            let mut left = weight;
            while left > 0 {
                let r = stream.next();
                let place = (r >> 1) as usize % degree;
                if secret[place] == 0 {
                    secret[place] = if r & 1 == 1 { 1 } else { -1 };
                    left -= 1;
                }
            }
            secret
        };
        let dense = match weight {
            Some(weight) => fixed(3, weight),
            None => {
                let mut stream = SplitMix::new(seed, 3 << 16);
                (0..degree).map(|_| (stream.next() % 3) as i64 - 1).collect()
            }
        };
        let table = |&q| NttTable::new(q, degree).expect("a prime of the ring");
        let tables = chain.ring().primes.iter().map(table).collect();
        let sparse = fixed(4, sparse);
        Self { chain: chain.clone(), seed, dense, sparse, tables, limbs: HashMap::new() }
    }

    fn evaluations(&self, prime: u16, coefficients: &[i64]) -> Vec<u32> {
        let table = &self.tables[usize::from(prime)];
        let mut words: Vec<u32> =
            coefficients.iter().map(|&c| table.modulus().reduce_signed(c)).collect();
        table.forward(&mut words);
        words
    }

    /// X -> X^g of a polynomial in coefficients.
    fn automorphism(&self, x: &[i64], g: u64) -> Vec<i64> {
        let n = x.len();
        let mut out = vec![0; n];
        for (k, &c) in x.iter().enumerate() {
            let at = (k as u64 * g % (2 * n as u64)) as usize;
            out[at % n] = if at < n { c } else { -c };
        }
        out
    }

    fn number(kind: KeyKind) -> u64 {
        match kind {
            KeyKind::Multiplication => 0,
            KeyKind::DenseToSparse => 1,
            KeyKind::SparseToDense => 2,
            KeyKind::Galois(g) => (1 << 16) + u64::from(g),
            _ => unreachable!("these sets raise the modulus by two keys"),
        }
    }

    /// The primes of a key, and those of each of its digits.
    fn primes(&self, kind: KeyKind) -> (Vec<u16>, Vec<Vec<u16>>) {
        let chain = &self.chain;
        let level = |l| chain.level(l).expect("a level").primes().to_vec();
        let full = level(chain.top());
        let auxiliary = chain.auxiliary().primes().to_vec();
        match kind {
            KeyKind::DenseToSparse => {
                let few = chain.sparse_auxiliary().expect("it has a sparse secret");
                ([level(0), few.primes().to_vec()].concat(), vec![level(0)])
            }
            KeyKind::SparseToDense => ([full.clone(), auxiliary].concat(), vec![full]),
            _ => {
                let digits = chain.digits().iter().map(|digit| digit.primes().to_vec());
                ([full, auxiliary].concat(), digits.collect())
            }
        }
    }

    fn make(&mut self, kind: KeyKind) {
        let (primes, digits) = self.primes(kind);
        let modulus_bits = 2 * self.chain.degree() as u64;
        let target = match kind {
            KeyKind::DenseToSparse => self.sparse.clone(),
            KeyKind::Galois(g) => {
                let inverse = (1..modulus_bits).find(|x| x * u64::from(g) % modulus_bits == 1);
                self.automorphism(&self.dense, inverse.expect("g is odd"))
            }
            _ => self.dense.clone(),
        };
        let carrying: Vec<u16> = match kind {
            KeyKind::DenseToSparse => primes[1..].to_vec(),
            _ => self.chain.auxiliary().primes().to_vec(),
        };
        for (digit, own) in digits.iter().enumerate() {
            let base = (Self::number(kind) << 8 | digit as u64) << 8;
            let mut stream = SplitMix::new(self.seed, base + ERRORS);
            let errors: Vec<i64> = (0..self.chain.degree()).map(|_| stream.error()).collect();
            for &prime in &primes {
                let q = self.tables[usize::from(prime)].modulus();
                let mask = SplitMix::new(self.seed, base + u64::from(prime))
                    .below(q.value(), self.chain.degree());
                let s = self.evaluations(prime, &target);
                let e = self.evaluations(prime, &errors);
                let from = match kind {
                    KeyKind::Multiplication => s.iter().map(|&x| q.mul(x, x)).collect(),
                    KeyKind::SparseToDense => self.evaluations(prime, &self.sparse),
                    _ => self.evaluations(prime, &self.dense),
                };
                let product = carrying.iter().fold(1, |product, &p| {
                    q.mul(product, q.reduce(self.tables[usize::from(p)].modulus().value().into()))
                });
                let factor = if own.contains(&prime) { product } else { 0 };
                let body = (0..e.len())
                    .map(|j| q.add(q.sub(e[j], q.mul(mask[j], s[j])), q.mul(factor, from[j])))
                    .collect();
                self.limbs.insert((kind, digit, Part::B, prime), body);
                self.limbs.insert((kind, digit, Part::A, prime), mask);
            }
        }
    }

    /// The words of a polynomial of a key at `primes`.
    pub fn key(&mut self, kind: KeyKind, digit: usize, part: Part, primes: &[u16]) -> Vec<u32> {
        if !self.limbs.contains_key(&(kind, digit, part, primes[0])) {
            self.make(kind);
        }
        primes.iter().flat_map(|&p| self.limbs[&(kind, digit, part, p)].clone()).collect()
    }

    /// The digest of a whole key: rows in order, b before a.
    pub fn digest(&mut self, kind: KeyKind) -> String {
        let (primes, digits) = self.primes(kind);
        let mut words = Vec::new();
        for digit in 0..digits.len() {
            words.extend(self.key(kind, digit, Part::B, &primes));
            words.extend(self.key(kind, digit, Part::A, &primes));
        }
        sha::of_words(&words)
    }

    /// Ciphertext `index` of encoded numbers at `level`: b and a.
    pub fn encrypt(&self, index: u64, message: &[i64], level: usize) -> [Vec<u32>; 2] {
        let base = (8 + index) << 16;
        let mut stream = SplitMix::new(self.seed, base + ERRORS);
        let hidden: Vec<i64> = message.iter().map(|m| m + stream.error()).collect();
        let (mut b, mut a) = (Vec::new(), Vec::new());
        for &prime in self.chain.level(level).expect("a level").primes() {
            let q = self.tables[usize::from(prime)].modulus();
            let mask = SplitMix::new(self.seed, base + u64::from(prime))
                .below(q.value(), self.chain.degree());
            let s = self.evaluations(prime, &self.dense);
            let m = self.evaluations(prime, &hidden);
            b.extend((0..m.len()).map(|j| q.sub(m[j], q.mul(mask[j], s[j]))));
            a.extend(mask);
        }
        [b, a]
    }
}
