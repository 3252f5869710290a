//! Switching keys in the form that KLSS multiplies by: lifted on the device itself, a polynomial
//! after the other, so that no second whole copy exists anywhere.

use crate::Result;
use crate::keys::{KeyKind, KeyPart, SwitchingKeySource};
use crate::program::{Chain, Part, RecordError, Recorder, ResidentRequest};
use girih_backend::poly::{Bindings, Domain, PolyEngine, Resident, ResidentShape, ResidentSource};
use girih_backend::{NoProgress, Progress};
use std::sync::Arc;

/// Whether products with a key go by KLSS. The two keys of the sparse secret have one digit each,
/// whose product takes fewer transforms as it is.
pub(super) fn is_lifted(kind: KeyKind) -> bool {
    !matches!(kind, KeyKind::DenseToSparse | KeyKind::SparseToDense)
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
        degree,
    };
    let total = 2 * kinds.iter().map(|kind| kind.digits(keys.set())).sum::<usize>();
    let mut residents = Vec::with_capacity(total * groups);
    for kind in kinds {
        for digit in 0..kind.digits(keys.set()) {
            for (of, part) in [(KeyPart::Body, Part::B), (KeyPart::Mask, Part::A)] {
                let limbs = words.chunks_exact_mut(degree);
                for (position, limb) in kind.positions(keys.set()).into_iter().zip(limbs) {
                    keys.limb(kind, digit, of, position, limb)?;
                }
                engine.write(plain.place(0), &basis, &words)?;
                engine.run(&routine, std::slice::from_ref(&call))?;
                engine.read_async(lifted.place(0), &mut source.words).await?;
                let loaded = engine.load_async(&source, &NoProgress).await?;
                let request = |group| ResidentRequest::Klss { kind, digit, part, group };
                residents.extend((0..groups).map(request).zip(loaded));
                progress.report("lifting evaluation keys", residents.len() / groups, total);
            }
        }
    }
    Ok(residents)
}

/// One lifted polynomial: over T for each group.
struct Lifted {
    shape: ResidentShape,
    /// `[group][limb][N]`.
    words: Vec<u32>,
    degree: usize,
}

impl ResidentSource for Lifted {
    fn shapes(&self) -> Vec<ResidentShape> {
        let groups = self.words.len() / (self.shape.basis.len() * self.degree);
        vec![self.shape.clone(); groups]
    }

    fn limb(&self, polynomial: usize, limb: usize, out: &mut [u32]) {
        let start = (polynomial * self.shape.basis.len() + limb) * self.degree;
        out.copy_from_slice(&self.words[start..start + self.degree]);
    }

    fn what(&self) -> &str {
        "evaluation keys"
    }
}
