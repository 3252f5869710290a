//! Which rotation a batch gets: of each how long its waves take, and the fastest way through lists
//! of any length.

use crate::bootstrap::rotation::{Fill, Rotation};
use std::sync::Arc;

/// Measured rotations of one shape, at least one, throughput first.
pub(crate) struct Choice {
    rotations: Vec<Arc<Rotation>>,
    /// The fastest ways through lists of no ciphertext to the largest wave.
    ways: Vec<Way>,
}

/// The fastest way through a list: a share of it by one rotation, and the rest as fast as may be.
#[derive(Clone, Copy, Default)]
struct Way {
    /// How long all of it takes.
    seconds: f64,
    /// Its place among the rotations.
    rotation: usize,
    /// 0 of an empty list.
    share: usize,
}

impl Choice {
    pub fn new(rotations: Vec<Arc<Rotation>>) -> Self {
        let most = rotations.iter().map(|rotation| rotation.wave()).max().unwrap_or(0);
        let mut ways = vec![Way::default()];
        for jobs in 1..=most {
            let mut best = Way { seconds: f64::INFINITY, ..Way::default() };
            for (index, rotation) in rotations.iter().enumerate() {
                for &Fill { ciphertexts, seconds } in &rotation.fills {
                    let share = ciphertexts.min(jobs);
                    let seconds = seconds + ways[jobs - share].seconds;
                    // Of equals the one that takes the larger share first: what is left then runs
                    // beside its end.
                    let is_equal = (seconds - best.seconds).abs() < 1e-9;
                    if seconds < best.seconds - 1e-9 || is_equal && share > best.share {
                        best = Way { seconds, rotation: index, share };
                    }
                    if share == jobs {
                        break;
                    }
                }
            }
            ways.push(best);
        }
        Self { rotations, ways }
    }

    /// All of them.
    pub fn rotations(&self) -> &[Arc<Rotation>] {
        &self.rotations
    }

    pub fn into_rotations(self) -> Vec<Arc<Rotation>> {
        self.rotations
    }

    /// The one for throughput.
    pub fn first(&self) -> &Rotation {
        &self.rotations[0]
    }

    /// How `jobs` bootstrappings are launched: by one rotation, or by several one after the other,
    /// whatever takes the least time.
    pub fn shares(&self, jobs: usize) -> Vec<(&Rotation, usize)> {
        let mut found: Vec<(&Rotation, usize)> = Vec::new();
        let mut left = jobs;
        let mut way = self.waves_first(jobs);
        while way.share > 0 {
            let rotation: &Rotation = &self.rotations[way.rotation];
            match found.iter_mut().find(|(known, _)| std::ptr::eq(*known, rotation)) {
                Some((_, all)) => *all += way.share,
                None => found.push((rotation, way.share)),
            }
            left -= way.share;
            way = self.ways[left];
        }
        found
    }

    /// How long so many bootstrappings are predicted to take, in seconds.
    pub fn seconds(&self, jobs: usize) -> f64 {
        self.waves_first(jobs).seconds
    }

    /// The way through a list that may be longer than any wave: whole waves of one rotation first.
    fn waves_first(&self, jobs: usize) -> Way {
        if let Some(&way) = self.ways.get(jobs) {
            return way;
        }
        let with_waves_of = |(index, rotation): (usize, &Arc<Rotation>)| {
            let Fill { ciphertexts, seconds } = rotation.full();
            let left = jobs % ciphertexts;
            let seconds = self.ways[left].seconds + (jobs / ciphertexts) as f64 * seconds;
            Way { seconds, rotation: index, share: jobs - left }
        };
        let all = self.rotations.iter().enumerate().map(with_waves_of);
        all.reduce(|best, way| if way.seconds < best.seconds { way } else { best })
            .unwrap_or_default()
    }

    /// The largest batch up to which every batch goes to splits over blocks; 0 where none does.
    pub fn crossover(&self) -> usize {
        let spread =
            |&jobs: &usize| self.shares(jobs).iter().all(|(r, _)| r.plan.split.is_spread());
        (1..self.ways.len()).take_while(spread).last().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::limits::{MAX_CLUSTER, limits_of};
    use crate::bootstrap::plan::{Planner, Split};
    use crate::bootstrap::test_shapes;
    use girih_backend::{PlanRequest, Transform};

    /// The plans of a shape with the times of each that an H200 measured: ciphertexts and
    /// milliseconds.
    fn measured(shape: &str, plans: &[(&str, &[(usize, f64)])]) -> Choice {
        let (shape, limits) = (test_shapes::shape(shape, 1), limits_of(90));
        let planner = Planner {
            device: "cuda",
            shape: &shape,
            transform: Transform::Fft,
            limits: &limits,
            cluster: MAX_CLUSTER,
        };
        let found = planner.candidates(&PlanRequest::default()).expect("it fits");
        let splits: Vec<String> = found.iter().map(|plan| plan.split.to_string()).collect();
        assert_eq!(splits, plans.iter().map(|(split, _)| *split).collect::<Vec<_>>());
        let fill = |&(ciphertexts, ms): &(usize, f64)| Fill { ciphertexts, seconds: ms / 1e3 };
        let fills = plans.iter().map(|(_, times)| times.iter().map(fill).collect());
        Choice::new(
            found.into_iter().zip(fills).map(|(p, f)| Arc::new(Rotation::timed(p, f))).collect(),
        )
    }

    fn shares(choice: &Choice, jobs: usize) -> Vec<(Split, usize)> {
        choice.shares(jobs).into_iter().map(|(r, share)| (r.plan.split, share)).collect()
    }

    #[test]
    fn what_is_left_of_whole_waves_goes_where_it_ends_soonest() {
        let choice = measured(
            "word_3x7",
            &[
                ("ciphertexts_4", &[(528, 5.87)]),
                ("ciphertexts_2", &[(264, 4.8)]),
                ("ciphertexts_1", &[(132, 4.59)]),
                ("blocks_8", &[(30, 1.53)]),
                ("blocks_2", &[(66, 2.03)]),
            ],
        );
        use Split::{Blocks, Ciphertexts};
        for (jobs, expected) in [
            (1, vec![(Blocks(8), 1)]),
            (30, vec![(Blocks(8), 30)]),
            (31, vec![(Blocks(2), 31)]),
            (90, vec![(Blocks(2), 66), (Blocks(8), 24)]),
            (132, vec![(Blocks(2), 132)]),
            (200, vec![(Ciphertexts(2), 200)]),
            (528, vec![(Ciphertexts(4), 528)]),
            (16_384, vec![(Ciphertexts(4), 16_368), (Blocks(8), 16)]),
            (1000, vec![(Ciphertexts(4), 1000)]),
        ] {
            assert_eq!(shares(&choice, jobs), expected, "{jobs} ciphertexts");
        }
        assert!(choice.shares(0).is_empty());
        assert_eq!(choice.crossover(), 132);
    }

    /// The times of a light key, whose blocks alone on a multiprocessor take half a wave's time.
    #[test]
    fn waves_that_are_not_full_take_less() {
        let choice = measured(
            "word_3x7",
            &[
                ("ciphertexts_4", &[(132, 2.92), (264, 4.48), (396, 6.26)]),
                ("ciphertexts_2", &[(264, 9.0)]),
                ("ciphertexts_1", &[(132, 9.0)]),
                ("blocks_8", &[(15, 1.73), (31, 2.16), (46, 2.49), (62, 2.57)]),
                ("blocks_2", &[(66, 3.12)]),
            ],
        );
        use Split::{Blocks, Ciphertexts};
        for (jobs, expected, ms) in [
            (15, vec![(Blocks(8), 15)], 1.73),
            (62, vec![(Blocks(8), 62)], 2.57),
            (63, vec![(Ciphertexts(4), 63)], 2.92),
            (140, vec![(Ciphertexts(4), 140)], 4.48),
            (400, vec![(Ciphertexts(4), 396), (Blocks(8), 4)], 7.99),
            (411, vec![(Ciphertexts(4), 396), (Blocks(8), 15)], 7.99),
            (396 * 5 + 140, vec![(Ciphertexts(4), 396 * 5 + 140)], 35.78),
        ] {
            let seconds = choice.seconds(jobs);
            assert!((seconds * 1e3 - ms).abs() < 1e-9, "{jobs} ciphertexts: {seconds}");
            assert_eq!(shares(&choice, jobs), expected, "{jobs} ciphertexts");
        }
    }
}
