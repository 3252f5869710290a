//! One small program for each thing that a kernel does, and random ones that do all of it together.

use super::Work;
use girih_backend::poly::random::{self, Numbers, RandomProgram, random_program_over};
use girih_backend::poly::{
    Basis, Domain, Factor, HostPolynomials, ProgramBuilder, ProgramError, ResidentShape, RingShape,
    Term, Value, View,
};
use girih_ring::sampler::{MaskSeed, PublicStream};
use std::sync::Arc;

/// A program in the making, with random inputs and resident polynomials.
struct Maker {
    builder: ProgramBuilder,
    numbers: Numbers,
    inputs: Vec<Vec<u32>>,
    residents: Vec<(ResidentShape, Vec<u32>)>,
    masks: Vec<(Basis, Vec<PublicStream>)>,
}

type Made = Result<Vec<Value>, ProgramError>;

impl Maker {
    fn basis(&self, range: std::ops::Range<usize>) -> Basis {
        self.builder.ring().basis(range)
    }

    fn input(&mut self, basis: &Basis, domain: Domain) -> Result<Value, ProgramError> {
        let ring = self.builder.ring().clone();
        self.inputs.push(self.numbers.limbs(&ring, basis, ring.degree()));
        self.builder.input(basis.clone(), domain)
    }

    fn resident(&mut self, basis: &Basis, log2_run: u32) -> Result<Value, ProgramError> {
        let ring = self.builder.ring().clone();
        let shape = ResidentShape { basis: basis.clone(), log2_run };
        let words = self.numbers.limbs(&ring, basis, ring.degree() >> log2_run);
        self.residents.push((shape.clone(), words));
        self.builder.resident(shape)
    }

    /// A resident polynomial of public streams; no other kind comes after it.
    fn mask(&mut self, basis: &Basis, seed: u8) -> Result<Value, ProgramError> {
        let stream = |&prime: &u16| MaskSeed([seed; 32]).public_stream(2, u64::from(prime));
        self.masks.push((basis.clone(), basis.primes().iter().map(stream).collect()));
        self.builder.resident(ResidentShape { basis: basis.clone(), log2_run: 0 })
    }
}

fn forward(m: &mut Maker) -> Made {
    let x = m.input(&m.basis(0..12), Domain::Coefficients)?;
    Ok(vec![m.builder.transform(x, Domain::Evaluations)])
}

fn inverse(m: &mut Maker) -> Made {
    let x = m.input(&m.basis(0..12), Domain::Evaluations)?;
    Ok(vec![m.builder.transform(x, Domain::Coefficients)])
}

/// From five primes to the other seven, both formulas, from coefficients and between transforms.
fn conversions(m: &mut Maker) -> Made {
    let (from, to) = (m.basis(2..7), m.basis(7..12).union(&m.basis(0..2)));
    let x = m.input(&from, Domain::Coefficients)?;
    let y = m.input(&from, Domain::Evaluations)?;
    let inverse = m.builder.transform(y, Domain::Coefficients);
    let mut outputs = Vec::new();
    for corrected in [false, true] {
        outputs.push(m.builder.convert(x, to.clone(), corrected)?);
        let converted = m.builder.convert(inverse, to.clone(), corrected)?;
        outputs.push(m.builder.transform(converted, Domain::Evaluations));
    }
    Ok(outputs)
}

/// Sums of products of inputs and of resident polynomials, whole ones and runs.
fn products(m: &mut Maker) -> Made {
    let basis = m.basis(0..12);
    let (x, y) = (m.input(&basis, Domain::Evaluations)?, m.input(&basis, Domain::Evaluations)?);
    let (key, diagonal) = (m.resident(&basis, 0)?, m.resident(&basis, 2)?);
    let halves = basis.primes().iter().map(|&p| m.builder.ring().imaginary_unit(p));
    let imaginary = Factor::Residues(halves.collect());
    let terms = vec![
        Term::product(x, key),
        Term::product(y, diagonal),
        Term::scaled_product(Factor::MinusOne, x, y),
        Term::scaled(imaginary.clone(), x),
        Term::constant(imaginary),
    ];
    let sum = m.builder.sum(terms)?;
    Ok(vec![sum, m.builder.sum(vec![Term::product(sum, sum), Term::minus(key)])?])
}

fn automorphisms(m: &mut Maker) -> Made {
    let basis = m.basis(0..4);
    let x = m.input(&basis, Domain::Evaluations)?;
    let order = 2 * m.builder.ring().degree() as u32;
    [5, 25, order - 1, order / 2 + 1].iter().map(|&g| m.builder.automorphism(x, g)).collect()
}

/// Limbs taken out and put together, and a product with a rotated one.
fn views(m: &mut Maker) -> Made {
    let (low, high) = (m.basis(0..6), m.basis(6..12));
    let (x, y) = (m.input(&low, Domain::Evaluations)?, m.input(&high, Domain::Evaluations)?);
    let whole = m.builder.join(&[x, y])?;
    let part = m.builder.limbs(whole, m.basis(3..9))?;
    let turned = m.builder.automorphism(part, 5)?;
    Ok(vec![m.builder.sum(vec![Term::product(part, turned), Term::plus(part)])?])
}

/// Masks expanded from their seeds, on all primes and on some, beside a polynomial that is not.
fn masks(m: &mut Maker) -> Made {
    let (all, some) = (m.basis(0..12), m.basis(3..9));
    let (x, y) = (m.input(&all, Domain::Evaluations)?, m.input(&some, Domain::Evaluations)?);
    let (body, mask, short) = (m.resident(&all, 0)?, m.mask(&all, 5)?, m.mask(&some, 6)?);
    let sum = m.builder.sum(vec![Term::product(x, mask), Term::plus(body)])?;
    Ok(vec![sum, m.builder.sum(vec![Term::product(y, short)])?])
}

/// Sums as those of a convolution: products of limbs that are transformed, by resident polynomials
/// and by each other, with factors or without, in sums that later ones read.
fn convolution(m: &mut Maker) -> Made {
    let basis = m.basis(4..6);
    let mut xs = Vec::new();
    for i in 0..5 {
        let domain = if i % 3 == 2 { Domain::Evaluations } else { Domain::Coefficients };
        let x = m.input(&basis, domain)?;
        xs.push(m.builder.transform(x, Domain::Evaluations));
    }
    let keys: Vec<Value> = (0..3).map(|i| m.resident(&basis, i % 3)).collect::<Result<_, _>>()?;
    let turned = m.builder.automorphism(xs[2], 5)?;
    let halves = basis.primes().iter().map(|&p| m.builder.ring().imaginary_unit(p));
    let imaginary = Factor::Residues(halves.collect());
    let (mut sums, mut outputs) = (Vec::new(), Vec::new());
    for s in 0..4 {
        let mut terms = Vec::new();
        for (i, &x) in xs.iter().enumerate() {
            // No two sums have the same keys.
            let keys = keys.iter().enumerate().filter(|(k, _)| (i + k + s) % 5 != 0);
            terms.extend(keys.map(|(_, &key)| Term::product(x, key)));
            terms.push(Term::scaled_product(Factor::MinusOne, x, xs[(i + s) % 5]));
            terms.push(Term::scaled_product(imaginary.clone(), turned, x));
        }
        terms.push(Term::scaled(imaginary.clone(), xs[s]));
        terms.push(Term::constant(imaginary.clone()));
        terms.extend(sums.last().map(|&sum| Term::product(sum, keys[0])));
        sums.push(m.builder.sum(terms)?);
    }
    for (s, &sum) in sums.iter().enumerate() {
        outputs.push(match s {
            0 => m.builder.transform(sum, Domain::Coefficients),
            1 => m.builder.automorphism(sum, 25)?,
            _ => sum,
        });
    }
    Ok(outputs)
}

/// Transforms, a product and a conversion in the conjugation-invariant ring; limbs of each ring
/// seen from the other, resident ones of runs among them.
fn both_rings(m: &mut Maker) -> Made {
    let ring = m.builder.ring().clone();
    let (usual, invariant) = ring.primes.split_at(ring.invariant_from);
    let is_both = |&p: &u16| invariant.contains(&usual[usize::from(p)]);
    let below = Basis::new((0..usual.len() as u16).filter(is_both));
    let (first, end) = (ring.invariant_from, ring.primes.len());
    let (all, few, rest) =
        (m.basis(first..end), m.basis(first..first + 2), m.basis(first + 2..end));
    let x = m.input(&all, Domain::Coefficients)?;
    let y = m.input(&all, Domain::Evaluations)?;
    let z = m.input(&below, Domain::Evaluations)?;
    let at_x = m.builder.transform(x, Domain::Evaluations);
    let product = m.builder.sum(vec![Term::product(at_x, y)])?;
    let of_y = m.builder.transform(y, Domain::Coefficients);
    let part = m.builder.limbs(of_y, few)?;
    let converted = m.builder.convert(part, rest, true)?;
    let converted = m.builder.transform(converted, Domain::Evaluations);
    let mut outputs = vec![m.builder.transform(product, Domain::Coefficients), of_y, converted];
    let (key, invariant_key) = (m.resident(&below, 2)?, m.resident(&all, 1)?);
    for view in View::ALL {
        let (of, key, to) =
            if view.lifts() { (z, key, &all) } else { (product, invariant_key, &below) };
        let seen = m.builder.view(of, view, to.clone())?;
        let key = m.builder.view(key, view, to.clone())?;
        outputs.push(m.builder.sum(vec![Term::product(seen, key), Term::plus(seen)])?);
    }
    Ok(outputs)
}

type Make = fn(&mut Maker) -> Made;

const KERNELS: [(&str, Make); 8] = [
    ("forward", forward),
    ("inverse", inverse),
    ("conversions", conversions),
    ("products", products),
    ("automorphisms", automorphisms),
    ("views", views),
    ("masks", masks),
    ("convolution", convolution),
];

/// Seeds of the random programs.
const SEEDS: std::ops::Range<u64> = 0..4;
/// Of those in both rings.
const SEEDS_OF_BOTH: std::ops::Range<u64> = 4..6;
/// Steps of a random program: those of a key switch and more.
const STEPS: usize = 14;

/// All programs at degree 2^log2_degree.
///
/// # Panics
/// Never: the programs are well typed.
pub fn all(log2_degree: u32) -> Vec<Work> {
    let (usual, both) = (random::ring(log2_degree), random::both_rings(log2_degree));
    let explicit = KERNELS.iter().map(|&(name, make)| (&usual, name, make));
    let explicit = explicit.chain([(&both, "both_rings", both_rings as Make)]);
    let mut all: Vec<Work> = explicit
        .enumerate()
        .map(|(number, (ring, name, make))| work(ring, number as u64, name, make))
        .collect();
    for (ring, name, seeds) in [(&usual, "random", SEEDS), (&both, "random_both", SEEDS_OF_BOTH)] {
        all.extend(seeds.map(|seed| {
            let of = 1000 * u64::from(log2_degree) + seed;
            let random = random_program_over(ring.clone(), STEPS, of);
            let RandomProgram { program, residents, inputs, .. } = random;
            Work { name: format!("{name}_{seed}_n{log2_degree}"), program, residents, inputs }
        }));
    }
    all
}

/// The program that `make` records.
fn work(ring: &Arc<RingShape>, number: u64, name: &str, make: Make) -> Work {
    let mut maker = Maker {
        builder: ProgramBuilder::new(ring.clone()),
        numbers: Numbers::new(number),
        inputs: Vec::new(),
        residents: Vec::new(),
        masks: Vec::new(),
    };
    let outputs = make(&mut maker).unwrap_or_else(|error| panic!("{name}: {error}"));
    outputs.into_iter().for_each(|value| {
        maker.builder.output(value);
    });
    let residents = HostPolynomials::new(ring, maker.residents);
    let mut residents = residents.unwrap_or_else(|error| panic!("{name}: {error}"));
    for (basis, streams) in maker.masks {
        let pushed = residents.push_streams(ring, basis, &streams);
        pushed.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let name = format!("{name}_n{}", ring.log2_degree);
    Work { name, program: maker.builder.finish(), residents, inputs: maker.inputs }
}
