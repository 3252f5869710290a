//! The operations of `cargo xtask bench --set CKKS_...`: what they need, do and must yield.

use crate::bench::{Arguments, CkksOperation, Slots, Sweep};
use anyhow::Result;
use girih::ckks::approximation::Polynomial;
use girih::ckks::server::{Bootstrapping, Builder, LinearMap, Node};
use girih::ckks::{self, CkksParameters, Complex64, KeyKind, KeyRange};

/// Rotations that share one decomposition in `--op hoisted`.
const HOISTED: i64 = 8;
/// Diagonals of the map of `--op transform`.
const DIAGONALS: usize = 32;
/// Degree of the polynomial of `--op chebyshev`.
const DEGREE: usize = 31;

/// An operation with what it works on.
pub struct Job {
    pub op: CkksOperation,
    pub slots: Slots,
    /// How many.
    pub count: usize,
    pub level: usize,
    map: Option<LinearMap>,
    polynomial: Option<Polynomial>,
    bootstrapping: Bootstrapping,
}

impl Job {
    pub fn new(
        op: CkksOperation,
        level: Option<usize>,
        (slots, count): (Slots, usize),
        bootstrapping: Bootstrapping,
        set: &CkksParameters,
    ) -> Result<Self> {
        let fresh = match op {
            CkksOperation::Bootstrap => set.bootstrap_level(),
            _ => set.default_level(),
        };
        let level = level.unwrap_or(fresh);
        let map = match op {
            CkksOperation::Transform => {
                let diagonals = (0..DIAGONALS).map(|k| {
                    let entries =
                        (0..set.slots()).map(move |j| Complex64::cis((j * (k + 1)) as f64));
                    (k as i64, entries.map(|z| z / DIAGONALS as f64).collect::<Vec<_>>())
                });
                Some(LinearMap::from_diagonals(set.slots(), diagonals)?)
            }
            _ => None,
        };
        let polynomial = match op {
            CkksOperation::Chebyshev => {
                Some(Polynomial::interpolate(|x| (2.0 * x).sin(), -1.0..=1.0, DEGREE)?)
            }
            _ => None,
        };
        Ok(Self { op, slots, count, level, map, polynomial, bootstrapping })
    }

    /// The keys that it needs: of a bootstrapping, for the levels at which it uses them.
    pub fn keys(&self, set: &CkksParameters) -> Result<Vec<KeyRange>> {
        let rotations = |by: Vec<i64>| {
            by.into_iter()
                .filter_map(|r| Some(KeyRange::from(KeyKind::rotation(set, r)?)))
                .collect()
        };
        Ok(match self.op {
            CkksOperation::Multiply
            | CkksOperation::Square
            | CkksOperation::Chebyshev
            | CkksOperation::Rescale => {
                vec![KeyKind::Multiplication.into()]
            }
            CkksOperation::Rotate => rotations(vec![1]),
            CkksOperation::Hoisted => rotations((1..=HOISTED).collect()),
            CkksOperation::Transform => {
                rotations(self.map.as_ref().map(LinearMap::rotations).unwrap_or_default())
            }
            CkksOperation::Bootstrap => self.bootstrapping.keys_by_level(set, self.count)?,
            CkksOperation::Encode | CkksOperation::Encrypt => Vec::new(),
        })
    }

    pub fn bootstrapping(&self) -> &Bootstrapping {
        &self.bootstrapping
    }

    pub fn inputs(&self) -> usize {
        if self.op == CkksOperation::Multiply { 2 } else { 1 }
    }

    pub fn record(&self, b: &mut Builder<'_>, x: &[Node]) -> ckks::Result<Vec<Node>> {
        Ok(vec![match self.op {
            CkksOperation::Multiply => b.mul(&x[0], &x[1])?,
            CkksOperation::Square => b.square(&x[0])?,
            CkksOperation::Rotate => b.rotate(&x[0], 1)?,
            CkksOperation::Rescale => b.rescale(&x[0])?,
            CkksOperation::Hoisted => {
                return b.rotate_many(&x[0], &(1..=HOISTED).collect::<Vec<_>>());
            }
            CkksOperation::Transform => {
                b.linear_transform(&x[0], self.map.as_ref().expect("made for it"))?
            }
            CkksOperation::Chebyshev => {
                b.polynomial(&x[0], self.polynomial.as_ref().expect("made for it"))?
            }
            CkksOperation::Bootstrap => b.bootstrap_with(&x[0], &self.bootstrapping)?,
            // These are of the host, and change nothing.
            CkksOperation::Encode | CkksOperation::Encrypt => x[0],
        }])
    }

    /// What output `output` must hold.
    pub fn expected(&self, x: &[&[Complex64]], output: usize) -> Vec<Complex64> {
        let rotated = |by: usize| [&x[0][by..], &x[0][..by]].concat();
        match self.op {
            CkksOperation::Multiply => x[0].iter().zip(x[1]).map(|(a, b)| a * b).collect(),
            CkksOperation::Square | CkksOperation::Rescale => x[0].iter().map(|a| a * a).collect(),
            CkksOperation::Rotate => rotated(1),
            CkksOperation::Hoisted => rotated(output + 1),
            CkksOperation::Transform => self.map.as_ref().expect("made for it").apply(x[0]),
            CkksOperation::Chebyshev => {
                let p = self.polynomial.as_ref().expect("made for it");
                x[0].iter().map(|z| p.evaluate(z.re).into()).collect()
            }
            CkksOperation::Bootstrap | CkksOperation::Encode | CkksOperation::Encrypt => {
                x[0].to_vec()
            }
        }
    }

    pub fn slots(&self, seed: u64, count: usize) -> Vec<Complex64> {
        let mut words = girih_conformance::synthetic::Words::new(seed);
        let mut uniform = || (words.next_word() >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
        (0..count)
            .map(|_| match self.slots {
                Slots::Constant => Complex64::new(1.0, 0.0),
                Slots::Zero => Complex64::new(0.0, 0.0),
                // Polynomials are of real numbers.
                Slots::Real => Complex64::new(uniform(), 0.0),
                Slots::Random if self.op == CkksOperation::Chebyshev => {
                    Complex64::new(uniform(), 0.0)
                }
                Slots::Random => Complex64::new(uniform(), uniform()),
            })
            .collect()
    }

    pub fn largest(&self) -> f64 {
        match (self.slots, self.op) {
            (Slots::Random, op) if op != CkksOperation::Chebyshev => std::f64::consts::SQRT_2,
            _ => 1.0,
        }
    }

    /// Levels and batches to be measured: those of the job, or a sweep up to them.
    pub fn steps(
        &self,
        arguments: &Arguments,
        batch: usize,
        set: &CkksParameters,
    ) -> Vec<(usize, usize)> {
        match arguments.sweep {
            None => vec![(self.level, batch)],
            Some(Sweep::Batch) => {
                let powers = std::iter::successors(Some(1usize), |size| size.checked_mul(2));
                let sizes = powers.take_while(|&size| size < batch).chain([batch]);
                sizes.map(|size| (self.level, size)).collect()
            }
            Some(Sweep::Level) => {
                let lowest = match self.op {
                    CkksOperation::Bootstrap => set.bootstrap_level(),
                    CkksOperation::Rotate
                    | CkksOperation::Hoisted
                    | CkksOperation::Encode
                    | CkksOperation::Encrypt => 0,
                    CkksOperation::Chebyshev => {
                        self.polynomial.as_ref().map_or(0, Polynomial::levels)
                    }
                    _ => 1,
                };
                let to = arguments.level.unwrap_or(set.default_level());
                (lowest.min(to)..=to).map(|level| (level, batch)).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn sweeps_go_up_to_what_is_asked_for() {
        let set = CkksParameters::by_name("INSECURE_CKKS_D40_N10").expect("built in");
        let of = |more: &str| {
            let all = ["xtask bench --set INSECURE_CKKS_D40_N10 --op", more].join(" ");
            let parsed = crate::Arguments::parse_from(all.split(' '));
            let crate::Command::Bench(arguments) = parsed.command else {
                unreachable!("bench was asked for")
            };
            let how = Bootstrapping::default();
            let crate::bench::Operation::Ckks(op) = arguments.op else {
                unreachable!("an operation of CKKS was asked for")
            };
            let job = Job::new(op, arguments.level, (Slots::Random, set.slots()), how, &set);
            job.expect("possible").steps(&arguments, arguments.batch.unwrap_or(1), &set)
        };
        let top = set.default_level();
        assert_eq!(of("square --batch 3"), [(top, 3)]);
        let batches = of("rotate --level 2 --sweep batch --batch 6");
        assert_eq!(batches, [(2, 1), (2, 2), (2, 4), (2, 6)]);
        let levels = of("multiply --level 3 --sweep level --batch 2");
        assert_eq!(levels, [(1, 2), (2, 2), (3, 2)]);
        let levels = of("bootstrap --sweep level");
        assert_eq!((levels[0], levels.len()), ((0, 1), top + 1));
        let levels = of("chebyshev --sweep level");
        assert_eq!(levels[0], (5, 1));
    }
}
