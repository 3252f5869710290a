//! Polynomials that stay on the device: keys, and encoded vectors shared by content.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use super::joined;
use super::memory::{While, advised};
use crate::keys::KeyKind;
use crate::program::{Part, PlainPolynomial, ResidentRequest, join_halves};
use crate::{CkksParameters, Error, Result};
use girih_backend::parallel::prelude::*;
use girih_backend::poly::{PolyEngine, Resident, ResidentShape, ResidentSource, RingShape};
use girih_backend::{NoProgress, Preparation, preparing};
use girih_ring::SplitNtt;
use girih_ring::limb::LimbKernels;

/// What stays on the device of one server key.
pub(super) struct Library {
    set: CkksParameters,
    keys: HashMap<ResidentRequest, Arc<Resident>>,
    /// The highest level that each key serves.
    levels: Arc<HashMap<KeyKind, usize>>,
    /// Amounts of rotations (to the left, below N/2) whose keys there are.
    rotations: Vec<usize>,
    /// Encoded vectors leave with the last recording that reads them.
    plain: Mutex<HashMap<Digest, Weak<Resident>>>,
    /// Sums of keys' rows, for joined digits: made when first read, they leave likewise.
    sums: Mutex<HashMap<ResidentRequest, Weak<Resident>>>,
    pub(super) transforms: Transforms,
}

/// A rotation is composed of so many at most.
const MOST_ROTATIONS: usize = 16;

/// What an encoded vector is known by.
type Digest = [u8; 32];

impl Library {
    /// A library with the polynomials of keys loaded.
    pub fn new(
        set: &CkksParameters,
        keys: impl IntoIterator<Item = (ResidentRequest, Resident)>,
        levels: HashMap<KeyKind, usize>,
    ) -> Self {
        let keys: HashMap<_, _> =
            keys.into_iter().map(|(request, key)| (request, Arc::new(key))).collect();
        let held: HashSet<KeyKind> = keys.keys().filter_map(kind_of).collect();
        let rotations = amounts(set, |g| held.contains(&KeyKind::Galois(g))).collect();
        Self {
            set: set.clone(),
            keys,
            levels: Arc::new(levels),
            rotations,
            plain: Mutex::default(),
            sums: Mutex::default(),
            transforms: Transforms::default(),
        }
    }

    /// The highest level that each key serves.
    pub fn levels(&self) -> &Arc<HashMap<KeyKind, usize>> {
        &self.levels
    }

    /// An amount below N/2 that rotates `slots` slots at `level` as `by` does, if possible one
    /// whose key is there: sparse vectors repeat, so that any amount that is equal modulo their
    /// slots serves.
    ///
    /// If there is none, it is the amount that was asked for, whose key is then named as missing.
    pub fn rotation(&self, slots: usize, by: i64, level: usize) -> i64 {
        let (wanted, by) = (by % slots as i64, by.rem_euclid(slots as i64) as usize);
        let same = |&&held: &&usize| held % slots == by && self.serves(held as i64, level);
        // The amounts ascend: the smallest is the canonical one if that is there.
        self.rotations.iter().find(same).map_or(wanted, |&held| held as i64)
    }

    /// Whether the key that rotates N/2 slots by this amount is there at `level`, or none is
    /// needed.
    pub fn serves(&self, by: i64, level: usize) -> bool {
        KeyKind::rotation(&self.set, by)
            .is_none_or(|kind| self.levels.get(&kind).is_some_and(|&most| level <= most))
    }

    /// The fewest amounts whose keys are there, and which rotate `slots` slots at `level` as `by`
    /// does one after the other; none where more than [`MOST_ROTATIONS`] would be needed.
    pub fn rotations(&self, slots: usize, by: i64, level: usize) -> Option<Vec<i64>> {
        let by = by.rem_euclid(slots as i64) as usize;
        let serves = |held: &usize| {
            let kind = KeyKind::rotation(&self.set, *held as i64);
            kind.and_then(|kind| self.levels.get(&kind)).is_some_and(|&most| level <= most)
        };
        let held: Vec<usize> = self.rotations.iter().copied().filter(serves).collect();
        // Breadth first: by which amount each position was reached.
        let mut reached: Vec<Option<usize>> = vec![None; slots];
        let mut ends = vec![0];
        for _ in 0..MOST_ROTATIONS {
            let mut next = Vec::new();
            for &amount in &held {
                for &from in &ends {
                    let to = (from + amount) % slots;
                    if to != 0 && reached[to].is_none() {
                        reached[to] = Some(amount);
                        next.push(to);
                    }
                }
            }
            ends = next;
            if reached[by].is_some() || ends.is_empty() {
                break;
            }
        }
        let (mut at, mut amounts) = (by, Vec::new());
        while at != 0 {
            let amount = reached[at]?;
            amounts.push(amount as i64);
            at = (at + slots - amount % slots) % slots;
        }
        Some(amounts)
    }

    /// What is asked for, in that order. Encoded vectors and sums of keys that are not there yet
    /// are loaded; `changing` are the plaintexts that runs bring along, in the order in which they
    /// are asked for.
    pub fn find(
        &self,
        engine: &PolyEngine,
        requests: &[ResidentRequest],
        changing: &[Arc<Resident>],
    ) -> Result<Vec<Arc<Resident>>> {
        self.check_keys(requests)?;
        let sums = self.sums(engine, requests)?;
        let vectors = self.encoded(engine, requests)?;
        let (mut vectors, mut changing) = (vectors.into_iter(), changing.iter().cloned());
        let one = |request: &ResidentRequest| match request {
            ResidentRequest::Plain(_) => vectors.next().expect("one a request"),
            ResidentRequest::Changing { .. } => changing.next().expect("one a request"),
            ResidentRequest::JoinedKey { .. } => sums[request].clone(),
            key => self.keys[key].clone(),
        };
        Ok(requests.iter().map(one).collect())
    }

    /// The encoded vectors among `requests`, in that order.
    fn encoded(
        &self,
        engine: &PolyEngine,
        requests: &[ResidentRequest],
    ) -> Result<Vec<Arc<Resident>>> {
        let _encoding = preparing(Preparation::Encoding);
        let polynomials: Vec<&PlainPolynomial> =
            requests.iter().filter_map(ResidentRequest::plain).collect();
        let digests: Vec<Digest> = polynomials.par_iter().map(|p| digest(p)).collect();
        let mut found: HashMap<Digest, Arc<Resident>> = HashMap::new();
        let (mut new, mut names, mut named) = (Vec::new(), Vec::new(), HashSet::new());
        {
            let mut held = self.held();
            held.retain(|_, resident| resident.strong_count() > 0);
            for (digest, polynomial) in digests.iter().zip(&polynomials) {
                if found.contains_key(digest) {
                    continue;
                }
                if let Some(resident) = held.get(digest).and_then(Weak::upgrade) {
                    found.insert(*digest, resident);
                } else if named.insert(*digest) {
                    names.push(*digest);
                    new.push((*polynomial).clone());
                }
            }
        }
        if !new.is_empty() {
            // Not under the lock: a thread of rayon that encodes may take up another task, which
            // wants it. Two that ask for a vector at once both encode it, and one is kept.
            let source = PlainSource::new(engine.ring().clone(), new, &self.transforms);
            let loaded = engine.load(&source, &NoProgress).map_err(advised(While::Computing))?;
            let mut held = self.held();
            for (digest, resident) in names.into_iter().zip(loaded) {
                let resident = match held.get(&digest).and_then(Weak::upgrade) {
                    Some(known) => known,
                    None => {
                        let resident = Arc::new(resident);
                        held.insert(digest, Arc::downgrade(&resident));
                        resident
                    }
                };
                found.insert(digest, resident);
            }
        }
        Ok(digests.iter().map(|digest| found[digest].clone()).collect())
    }

    /// The sums of keys that are asked for; what is not there yet is made.
    fn sums(
        &self,
        engine: &PolyEngine,
        requests: &[ResidentRequest],
    ) -> Result<HashMap<ResidentRequest, Arc<Resident>>> {
        let sums = || self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        sums().retain(|_, resident| resident.strong_count() > 0);
        let mut found = HashMap::new();
        for request in requests {
            let ResidentRequest::JoinedKey { basis, .. } = request else { continue };
            let known = sums().get(request).and_then(Weak::upgrade);
            let sum = match known {
                Some(sum) => sum,
                None => {
                    // Not under the lock, as for vectors.
                    let rows = request.summands();
                    let rows = rows.iter().map(|row| Resident::clone(&self.keys[row]));
                    Arc::new(joined::sum(engine, &rows.collect::<Vec<_>>(), basis)?)
                }
            };
            sums().insert(request.clone(), Arc::downgrade(&sum));
            found.insert(request.clone(), sum);
        }
        Ok(found)
    }

    fn held(&self) -> MutexGuard<'_, HashMap<Digest, Weak<Resident>>> {
        self.plain.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Encoded vectors on the device now.
    pub fn vectors(&self) -> usize {
        self.held().values().filter(|resident| resident.strong_count() > 0).count()
    }

    /// Refuses requests of keys that are not there, naming all of them and those that are.
    fn check_keys(&self, requests: &[ResidentRequest]) -> Result<()> {
        let mut missing: Vec<KeyKind> = requests
            .iter()
            .filter(|request| match request.summands().as_slice() {
                [] => !self.keys.contains_key(request),
                rows => rows.iter().any(|row| !self.keys.contains_key(row)),
            })
            .filter_map(kind_of)
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let mut held: Vec<KeyKind> = self.keys.keys().filter_map(kind_of).collect();
        Err(Error::MissingKey { wanted: self.names(&mut missing), held: self.names(&mut held) })
    }

    /// Refuses kinds of keys that are not there.
    pub fn check_kinds(&self, kinds: impl Iterator<Item = KeyKind>) -> Result<()> {
        let first = |kind| ResidentRequest::Key { kind, digit: 0, part: Part::B };
        self.check_keys(&kinds.map(first).collect::<Vec<_>>())
    }

    /// Keys in words: "multiplication, conjugation, rotations by 1, 2, -1".
    fn names(&self, kinds: &mut Vec<KeyKind>) -> String {
        kinds.sort_unstable();
        kinds.dedup();
        let order = 2 * self.set.degree() as u64;
        let half = self.set.slots() as i64;
        let wanted = |g| kinds.binary_search(&KeyKind::Galois(g)).is_ok();
        let signed = |amount: usize| {
            let amount = amount as i64;
            if 2 * amount <= half { amount } else { amount - half }
        };
        let rotations: Vec<i64> = amounts(&self.set, wanted).map(signed).collect();
        let mut names = Vec::new();
        for kind in kinds.iter() {
            match kind {
                KeyKind::Multiplication => names.push("multiplication".to_owned()),
                KeyKind::DenseToSparse
                | KeyKind::SparseToDense
                | KeyKind::InvariantMultiplication
                | KeyKind::ToInvariant
                | KeyKind::FromInvariant => {
                    if !names.iter().any(|name| name == "bootstrapping") {
                        names.push("bootstrapping".to_owned());
                    }
                }
                KeyKind::First { log2_slots, .. } => {
                    let name = format!("bootstrapping of {} slots", 1u64 << log2_slots);
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
                KeyKind::Galois(g) if u64::from(*g) == order - 1 => {
                    names.push("conjugation".to_owned());
                }
                KeyKind::Galois(_) => {}
            }
        }
        if !rotations.is_empty() {
            let amounts: Vec<_> = rotations.iter().map(i64::to_string).collect();
            names.push(format!("rotations by {}", amounts.join(", ")));
        }
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    }
}

/// Amounts of the rotations whose exponents are `wanted`, ascending.
fn amounts(set: &CkksParameters, wanted: impl Fn(u32) -> bool) -> impl Iterator<Item = usize> {
    let order = 2 * set.degree() as u64;
    let powers = std::iter::successors(Some(1u64), move |power| Some(power * 5 % order));
    powers.take(set.slots()).enumerate().filter(move |&(_, g)| wanted(g as u32)).map(|(by, _)| by)
}

fn kind_of(request: &ResidentRequest) -> Option<KeyKind> {
    match request {
        ResidentRequest::Key { kind, .. }
        | ResidentRequest::JoinedKey { kind, .. }
        | ResidentRequest::Klss { kind, .. } => Some(*kind),
        ResidentRequest::Plain(_) | ResidentRequest::Changing { .. } => None,
    }
}

fn digest(polynomial: &PlainPolynomial) -> Digest {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&polynomial.log2_run.to_le_bytes());
    hasher.update(&(polynomial.basis.len() as u64).to_le_bytes());
    for prime in polynomial.basis.primes() {
        hasher.update(&prime.to_le_bytes());
    }
    hasher.update(bytemuck::cast_slice(&polynomial.coefficients));
    if let Some(odd) = &polynomial.odd {
        hasher.update(&odd.view.code().to_le_bytes());
        hasher.update(bytemuck::cast_slice(&odd.coefficients));
    }
    *hasher.finalize().as_bytes()
}

/// Transforms modulo primes of a ring, by prime and length, each made when first needed, by one
/// thread: others that need it wait.
#[derive(Default)]
pub(super) struct Transforms(Mutex<HashMap<(u16, usize), Made>>);

/// A transform, once it is made.
type Made = Arc<OnceLock<Arc<SplitNtt>>>;

impl Transforms {
    /// Those of these primes and lengths; a polynomial of one coefficient, its own value, needs
    /// none.
    pub fn of(
        &self,
        ring: &RingShape,
        wanted: HashSet<(u16, usize)>,
    ) -> HashMap<(u16, usize), Arc<SplitNtt>> {
        let places: Vec<_> = {
            let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let wanted = wanted.into_iter().filter(|of| of.1 > 1);
            wanted.map(|of| (of, held.entry(of).or_default().clone())).collect()
        };
        // Not under the lock, as for vectors.
        let one = |((prime, len), place): ((u16, usize), Made)| {
            let modulus = ring.primes[usize::from(prime)];
            let new = || Arc::new(SplitNtt::new(modulus, len).expect("a prime of the ring"));
            ((prime, len), place.get_or_init(new).clone())
        };
        places.into_par_iter().map(one).collect()
    }
}

/// Encoded vectors as a device loads them.
struct PlainSource {
    ring: Arc<RingShape>,
    polynomials: Vec<PlainPolynomial>,
    tables: HashMap<(u16, usize), Arc<SplitNtt>>,
}

impl PlainSource {
    /// These polynomials, with the transforms that they need.
    fn new(
        ring: Arc<RingShape>,
        polynomials: Vec<PlainPolynomial>,
        transforms: &Transforms,
    ) -> Self {
        let sizes = |p: &PlainPolynomial| {
            let len = p.coefficients.len();
            p.basis.primes().iter().map(|&prime| (prime, len)).collect::<Vec<_>>()
        };
        let tables = transforms.of(&ring, polynomials.iter().flat_map(sizes).collect());
        Self { ring, polynomials, tables }
    }
}

impl ResidentSource for PlainSource {
    fn shapes(&self) -> Vec<ResidentShape> {
        let shape = |polynomial: &PlainPolynomial| ResidentShape {
            basis: polynomial.basis.clone(),
            log2_run: polynomial.log2_run,
        };
        self.polynomials.iter().map(shape).collect()
    }

    fn limb(&self, polynomial: usize, limb: usize, out: &mut [u32]) {
        let PlainPolynomial { coefficients, basis, odd, .. } = &self.polynomials[polynomial];
        let prime = basis.primes()[limb];
        let modulus = self.ring.primes[usize::from(prime)];
        let evaluations = |coefficients: &[i64], out: &mut [u32]| {
            LimbKernels::new(modulus).residues(coefficients, out);
            // A polynomial in X^r takes the values of one of degree N/r, r times each.
            if let Some(table) = self.tables.get(&(prime, out.len())) {
                table.forward(out);
            }
        };
        evaluations(coefficients, out);
        if let Some(odd) = odd {
            let even = out.to_vec();
            let mut other = vec![0; out.len()];
            evaluations(&odd.coefficients, &mut other);
            join_halves(&self.ring, prime, odd.view, [&even, &other], out);
        }
    }

    fn what(&self) -> &str {
        "encoded vectors"
    }
}
