//! Switching keys in the form that KLSS multiplies by: lifted on the device itself, a polynomial
//! after the other, so that no second whole copy exists anywhere.

use super::memory::{While, advised};
use crate::Result;
use crate::keys::{KeyKind, KeyPart, SwitchingKeySource};
use crate::program::{Chain, Part, RecordError, Recorder, ResidentRequest};
use girih_backend::poly::{Bindings, Domain, PolyEngine, Resident, ResidentShape, ResidentSource};
use girih_backend::{NoProgress, Progress};
use std::sync::Arc;

/// Whether products with a key go by KLSS. The two keys of the sparse secret have one digit each,
/// whose product takes fewer transforms as it is.
pub(super) fn is_lifted(kind: KeyKind) -> bool {
    matches!(kind, KeyKind::Multiplication | KeyKind::Galois(_))
}

/// The lifted polynomials of all keys of the kinds that `wanted` takes, group by group.
pub(super) async fn load(
    engine: &PolyEngine,
    chain: &Arc<Chain>,
    keys: &dyn SwitchingKeySource,
    wanted: impl Fn(KeyKind) -> bool,
    progress: &dyn Progress,
) -> Result<Vec<(ResidentRequest, Resident)>> {
    let kinds: Vec<KeyKind> = keys.kinds().into_iter().filter(|&kind| wanted(kind)).collect();
    if kinds.is_empty() {
        return Ok(Vec::new());
    }
    let basis = chain.key_basis();
    let mut recorder = Recorder::new(chain.clone());
    let input = recorder.builder().input(basis.clone(), Domain::Evaluations);
    let x = input.map_err(RecordError::from)?;
    for group in recorder.klss_lift(x)? {
        recorder.builder().output(group);
    }
    let routine = engine.prepare(&recorder.finish().program, &[])?;
    let (groups, primes, degree) = (chain.groups().len(), chain.klss().len(), chain.degree());
    let (plain, lifted) = (engine.allocate(basis.len())?, engine.allocate(groups * primes)?);
    let call = Bindings {
        inputs: vec![plain.place(0)],
        outputs: (0..groups).map(|group| lifted.place(group * primes)).collect(),
    };
    let mut words = vec![0; basis.len() * degree];
    let mut source = Lifted {
        shape: ResidentShape { basis: chain.klss().clone(), log2_run: 0 },
        words: vec![0; groups * primes * degree],
        groups: Vec::new(),
        degree,
    };
    let mut done = 0;
    let digits = |kind: KeyKind| keys.range(kind).digits(keys.set());
    let total = 2 * kinds.iter().map(|&kind| digits(kind).len()).sum::<usize>();
    let mut residents = Vec::with_capacity(total * groups);
    for kind in kinds {
        let positions = keys.range(kind).positions(keys.set());
        // A group of which the key has no prime is of no level that it serves.
        let met = |group: &usize| {
            let primes = chain.groups()[*group].primes().iter();
            primes.copied().any(|prime| positions.contains(&usize::from(prime)))
        };
        source.groups = (0..groups).filter(met).collect();
        // Where a key has no limb any residue will do, as it is read nowhere: 0.
        words.fill(0);
        for digit in digits(kind) {
            for (of, part) in [(KeyPart::Body, Part::B), (KeyPart::Mask, Part::A)] {
                for &position in &positions {
                    let limb = &mut words[position * degree..][..degree];
                    keys.limb(kind, digit, of, position, limb)?;
                }
                engine.write(plain.place(0), &basis, &words)?;
                engine.run(&routine, std::slice::from_ref(&call))?;
                engine.read_async(lifted.place(0), &mut source.words).await?;
                let loaded = engine.load_async(&source, &NoProgress).await;
                let loaded = loaded.map_err(advised(While::Loading))?;
                let request = |&group| ResidentRequest::Klss { kind, digit, part, group };
                residents.extend(source.groups.iter().map(request).zip(loaded));
                done += 1;
                progress.report("lifting evaluation keys", done, total);
            }
        }
    }
    Ok(residents)
}

/// One lifted polynomial: over T for each group.
struct Lifted {
    shape: ResidentShape,
    /// The groups to be loaded.
    groups: Vec<usize>,
    /// `[group][limb][N]`, of all groups.
    words: Vec<u32>,
    degree: usize,
}

impl ResidentSource for Lifted {
    fn shapes(&self) -> Vec<ResidentShape> {
        vec![self.shape.clone(); self.groups.len()]
    }

    fn limb(&self, polynomial: usize, limb: usize, out: &mut [u32]) {
        let first = self.groups[polynomial] * self.shape.basis.len();
        let start = (first + limb) * self.degree;
        out.copy_from_slice(&self.words[start..start + self.degree]);
    }

    fn what(&self) -> &str {
        "evaluation keys"
    }
}
