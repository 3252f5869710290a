//! Operations as the scheme records them, on random words in the place of keys and ciphertexts:
//! whether a device computes what was recorded does not depend on what they mean.

use super::vectors::plain_words;
use crate::poly::Work;
use girih::ckks::{CkksParameters, Complex64, Encoder};
use girih::contract::ckks::{
    BootstrappingPlan, Chain, ChainShape, DiagonalPlan, LinearTransform, RecordError, Recorded,
    Recorder, ResidentRequest, Variant,
};
use girih_backend::BackendError;
use girih_backend::poly::HostPolynomials;
use girih_backend::poly::random::Numbers;
use std::sync::Arc;

/// A chain with what is needed to record for it.
struct Place {
    chain: Arc<Chain>,
    encoder: Encoder,
}

type Recording = Result<Vec<Recorded>, RecordError>;
/// Records an operation on two ciphertexts of one level.
type Operation = fn(&mut Recorder, &Place, [Recorded; 2]) -> Recording;

fn multiply(r: &mut Recorder, _: &Place, [x, y]: [Recorded; 2]) -> Recording {
    let product = r.multiply(&x, &y)?;
    Ok(vec![r.rescale(&product)?])
}

fn square(r: &mut Recorder, _: &Place, [x, _]: [Recorded; 2]) -> Recording {
    Ok(vec![r.square(&x)?])
}

fn sums(r: &mut Recorder, place: &Place, [x, y]: [Recorded; 2]) -> Recording {
    let sum = r.add(&x, &y)?;
    let difference = r.sub(&x, &y)?;
    let turned = r.multiply_i(&difference)?;
    let constant = r.add_constant(&sum, 0.25, -1.5)?;
    let scale = place.chain.ratio(x.level);
    let scaled = r.multiply_constant(&turned, 0.3, 0.7, scale)?;
    Ok(vec![constant, r.rescale(&scaled)?])
}

fn rotate(r: &mut Recorder, _: &Place, [x, _]: [Recorded; 2]) -> Recording {
    Ok(vec![r.rotate(&x, 3)?, r.conjugate(&x)?])
}

fn hoisted(r: &mut Recorder, _: &Place, [x, _]: [Recorded; 2]) -> Recording {
    let digits = r.hoist(&x)?;
    let turn = |by: i64| {
        let g = r.rotation_of(x.slots, by);
        r.galois_hoisted(&x, &digits, g)
    };
    [1, 2, 5, -1].into_iter().map(turn).collect()
}

fn inner_sum(r: &mut Recorder, _: &Place, [x, _]: [Recorded; 2]) -> Recording {
    Ok(vec![r.inner_sum(&x, 8, 1)?])
}

fn rotated_sum(r: &mut Recorder, _: &Place, [x, _]: [Recorded; 2]) -> Recording {
    let exponents = [1, 2, 3].map(|by| r.rotation_of(x.slots, by));
    Ok(vec![r.galois_sum(&x, &exponents)?])
}

/// Key switches whose digits are joined: both kinds of key, one after the other.
fn joined(r: &mut Recorder, place: &Place, [x, y]: [Recorded; 2]) -> Recording {
    let joins = place.chain.digits_at(x.level)?.iter().any(|digit| digit.numbers.len() > 1);
    if !joins {
        let why = format!("no digits are joined at level {}", x.level);
        return Err(RecordError::Shape { operation: "joined", why });
    }
    let product = r.multiply(&x, &y)?;
    let digits = r.hoist(&product)?;
    let turn = |by: i64| {
        let g = r.rotation_of(x.slots, by);
        r.galois_hoisted(&product, &digits, g)
    };
    [1, 3].into_iter().map(turn).collect()
}

fn adjust(r: &mut Recorder, _: &Place, [x, y]: [Recorded; 2]) -> Recording {
    Ok(vec![r.adjust(&x, x.level - 1)?, r.adjust(&y, 0)?])
}

/// Eleven diagonals in giant steps of four.
fn eleven_diagonals(place: &Place, x: &Recorded) -> Result<LinearTransform, RecordError> {
    let diagonal = |k: usize| {
        (k != 5).then(|| {
            let slot = |j: usize| Complex64::cis((j * (k + 1)) as f64) / 8.0;
            (0..x.slots).map(slot).collect::<Vec<_>>()
        })
    };
    let diagonals: Vec<_> = (0..11).map(diagonal).collect();
    let plan = DiagonalPlan { stride: 1, baby_steps: 4, slots: x.slots };
    let ratio = place.chain.ratio(x.level);
    let to = place.chain.scale(x.level - 1).unwrap_or(x.scale);
    LinearTransform::encode(&diagonals, plan, ratio, x.scale, to, &place.encoder)
}

fn linear_transform(r: &mut Recorder, place: &Place, [x, _]: [Recorded; 2]) -> Recording {
    Ok(vec![r.linear_transform(&x, &eleven_diagonals(place, &x)?)?])
}

fn divided_transform(r: &mut Recorder, place: &Place, [x, _]: [Recorded; 2]) -> Recording {
    Ok(vec![r.linear_transform_divided(&x, &eleven_diagonals(place, &x)?)?])
}

/// Two results of two inputs, one of which they share.
fn matrix_of_transforms(r: &mut Recorder, place: &Place, [x, y]: [Recorded; 2]) -> Recording {
    let first = eleven_diagonals(place, &x)?;
    let mut second = first.clone();
    second.plaintexts.truncate(6);
    r.linear_transforms(&[x, y], &[&[Some(&first), Some(&second)], &[None, Some(&first)]])
}

fn chebyshev(r: &mut Recorder, place: &Place, [x, _]: [Recorded; 2]) -> Recording {
    let coefficients: Vec<f64> = (0..16).map(|k| 1.0 / f64::from(k * k + 2)).collect();
    let basis = r.chebyshev_basis(&x, 15, 2)?;
    let level = x.level.saturating_sub(4);
    let scale = place.chain.scale(level).unwrap_or(x.scale);
    Ok(vec![r.chebyshev_sum(&coefficients, &basis, level, scale)?])
}

fn bootstrap(r: &mut Recorder, place: &Place, [x, _]: [Recorded; 2]) -> Recording {
    let variant = match place.chain.in_invariant() {
        Some(_) => Variant::Invariant,
        None => Variant::Pair,
    };
    let plan = BootstrappingPlan::new(&place.chain, x.slots, 8, variant, &place.encoder)?;
    Ok(vec![r.bootstrap(&x, &plan)?])
}

/// Where the inputs of an operation stand.
#[derive(Clone, Copy)]
enum At {
    Highest,
    Half,
    Bottom,
    /// Where slots-to-coefficients begins, with digits joined.
    Joined,
}

const OPERATIONS: [(&str, Operation, At); 14] = [
    ("multiply", multiply, At::Highest),
    ("square_low", square, At::Half),
    ("sums", sums, At::Highest),
    ("rotate", rotate, At::Highest),
    ("hoisted", hoisted, At::Half),
    ("inner_sum", inner_sum, At::Half),
    ("rotated_sum", rotated_sum, At::Highest),
    ("joined", joined, At::Joined),
    ("adjust", adjust, At::Highest),
    ("linear_transform", linear_transform, At::Highest),
    ("divided_transform", divided_transform, At::Half),
    ("matrix_of_transforms", matrix_of_transforms, At::Half),
    ("chebyshev", chebyshev, At::Half),
    ("bootstrap", bootstrap, At::Bottom),
];

/// Names of the operations.
pub fn names() -> impl Iterator<Item = &'static str> {
    OPERATIONS.iter().map(|(name, ..)| *name)
}

/// The program of one operation over the primes of `set`, with random words for all that it reads.
///
/// # Errors
/// For unknown sets and operations, and what cannot be recorded.
pub fn work(set: &str, operation: &str) -> Result<Work, Box<dyn std::error::Error>> {
    let known = OPERATIONS.iter().find(|(name, ..)| *name == operation);
    let (_, record, at) = known.ok_or_else(|| format!("no operation {operation}"))?;
    let mut shape = ChainShape::from(&CkksParameters::by_name(set)?);
    shape.join_digits |= matches!(at, At::Joined);
    let chain = Chain::new(shape)?;
    let encoder = Encoder::new(chain.degree().ilog2())?;
    let place = Place { chain, encoder };
    let highest = place.chain.highest_normal();
    let level = match at {
        At::Highest => highest,
        At::Half => highest / 2,
        At::Bottom => match &place.chain.shape().bootstrapping {
            Some(shape) if shape.stc_first => shape.stc_groups,
            _ => 0,
        },
        At::Joined => place.chain.shape().bootstrapping.as_ref().ok_or("no bootstrapping")?.out(),
    };
    let scale = place.chain.scale(level).ok_or("a normal level has a scale")?;
    let mut r = Recorder::new(place.chain.clone());
    let slots = place.chain.most_slots();
    let inputs = [r.input(level, scale, slots)?, r.input(level, scale, slots)?];
    for output in record(&mut r, &place, inputs)? {
        r.output(&output);
    }
    let recording = r.finish();
    random_words(format!("{operation} of {set}"), &place.chain, &recording).map_err(Into::into)
}

fn random_words(
    name: String,
    chain: &Chain,
    recording: &girih::contract::ckks::RecordedProgram,
) -> Result<Work, BackendError> {
    let (program, ring) = (recording.program.clone(), chain.ring());
    let mut numbers = Numbers::new(17);
    let inputs = program.inputs().iter().map(|of| numbers.limbs(ring, &of.basis, ring.degree()));
    let inputs = inputs.collect();
    let both = recording.residents.iter().zip(program.residents());
    let polynomials = both.map(|(request, shape)| {
        let words = match request {
            ResidentRequest::Plain(plain) => plain_words(chain, plain, shape),
            _ => numbers.limbs(ring, &shape.basis, ring.degree() >> shape.log2_run),
        };
        (shape.clone(), words)
    });
    let residents = HostPolynomials::new(ring, polynomials.collect())?;
    Ok(Work { name, program, residents, inputs })
}
