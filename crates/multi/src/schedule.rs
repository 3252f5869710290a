//! Which member does which job.

use girih_backend::Combination;

/// The members that hold each operand of a job, one bit each; none where there is no operand.
pub(crate) type Holders = [u32; Combination::MAX_OPERANDS];

/// The members, as far as a division of work is concerned.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shares {
    /// The part of the work that each member does, as fast as it is; the sum is 1.
    weights: Vec<f64>,
    /// Fewest jobs worth handing to one more member.
    least: usize,
}

impl Shares {
    /// Members that do `speeds` jobs in one time, of any unit.
    pub fn new(speeds: &[f64], least: usize) -> Self {
        let sum: f64 = speeds.iter().sum();
        Self { weights: speeds.iter().map(|s| s / sum).collect(), least: least.max(1) }
    }

    /// How many of `count` each member gets. Where they are too few for all, `home` and those
    /// behind it share them. Where members are alike, no two of these differ by more than one.
    pub fn split(&self, count: usize, home: usize) -> Vec<usize> {
        let all = self.weights.len();
        let members = all.min((count / self.least).max(1));
        let first = if members < all { home } else { 0 };
        let chosen = || (0..members).map(|i| (first + i) % all);
        let sum: f64 = chosen().map(|member| self.weights[member]).sum();
        let mut parts = vec![0; all];
        let (mut done, mut weight) = (0, 0.0);
        for (i, member) in chosen().enumerate() {
            weight += self.weights[member];
            // The last takes what rounding leaves.
            let end = if i + 1 < members {
                (count as f64 * weight / sum).round() as usize
            } else {
                count
            };
            parts[member] = end.max(done) - done;
            done += parts[member];
        }
        parts
    }

    pub fn members(&self) -> usize {
        self.weights.len()
    }

    /// A member for each of `jobs`, given as who holds their operands: where most operands
    /// are, but no member more than its part; operands that several hold leave the choice to the
    /// order of jobs, or to `home`.
    pub fn assign<J: AsRef<[u32]>>(&self, jobs: &[J], home: usize) -> Vec<usize> {
        let parts = self.split(jobs.len(), home);
        // Too few to share: all go where most operands of all are.
        if parts[home] == jobs.len() {
            let all: Vec<u32> = jobs.iter().flat_map(|job| job.as_ref()).copied().collect();
            return vec![self.nearest(&all, home); jobs.len()];
        }
        let mut room = parts.clone();
        let mut own =
            (0..parts.len()).flat_map(|member| std::iter::repeat_n(member, parts[member]));
        let mut assigned: Vec<Option<usize>> = jobs
            .iter()
            .map(|operands| {
                let member = self.nearest(operands.as_ref(), own.next().unwrap_or(0));
                room[member] = room[member].checked_sub(1)?;
                Some(member)
            })
            .collect();
        let mut left = (0..room.len()).flat_map(|member| std::iter::repeat_n(member, room[member]));
        assigned.iter_mut().filter(|a| a.is_none()).for_each(|a| *a = left.next());
        // Parts add up to all jobs, so there was room for each.
        assigned.into_iter().map(|a| a.unwrap_or(0)).collect()
    }

    /// The member that holds most of `operands`: `preferred` where no other holds more,
    /// else the first.
    pub fn nearest(&self, operands: &[u32], preferred: usize) -> usize {
        let held =
            |member: usize| operands.iter().filter(|&&holders| holders >> member & 1 == 1).count();
        (0..self.members())
            .fold(preferred, |best, member| if held(member) > held(best) { member } else { best })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parts_are_as_speeds() {
        let alike = Shares::new(&[2.0, 2.0, 2.0], 16);
        assert_eq!(alike.split(3168, 2), [1056, 1056, 1056]);
        assert_eq!(alike.split(100, 1), [33, 34, 33]);
        assert_eq!(alike.split(40, 0), [20, 20, 0]);
        assert_eq!(alike.split(40, 2), [20, 0, 20]);
        assert_eq!(alike.split(31, 0), [31, 0, 0]);
        assert_eq!(alike.split(31, 1), [0, 31, 0]);
        assert_eq!(Shares::new(&[3.0, 1.0], 1).split(8, 0), [6, 2]);
        assert_eq!(Shares::new(&[3.0, 1.0], 1).split(0, 1), [0, 0]);
    }

    #[test]
    fn jobs_go_where_their_operands_are() {
        let shares = Shares::new(&[1.0, 1.0], 1);
        let of = |jobs: &[&[u32]]| -> Vec<Holders> {
            jobs.iter()
                .map(|job| std::array::from_fn(|i| job.get(i).copied().unwrap_or(0)))
                .collect()
        };
        assert_eq!(shares.assign(&of(&[&[2, 2], &[1, 1], &[2, 1], &[1]]), 0), [1, 0, 1, 0]);
        // A member with more than its part hands the last ones on.
        assert_eq!(shares.assign(&of(&[&[2], &[2], &[2], &[2]]), 0), [1, 1, 0, 0]);
        // What all hold is divided in order.
        assert_eq!(shares.assign(&of(&[&[3], &[3], &[3], &[3]]), 1), [0, 0, 1, 1]);
        assert_eq!(Shares::new(&[1.0, 1.0], 16).assign(&of(&[&[1], &[2], &[2]]), 0), [1, 1, 1]);
        // What no one member holds more of than others goes home.
        assert_eq!(Shares::new(&[1.0, 1.0], 16).assign(&of(&[&[3], &[]]), 1), [1, 1]);
    }

    proptest! {
        #[test]
        fn every_member_gets_its_part(
            speeds in prop::collection::vec(0.1f64..10.0, 1..6),
            least in 1usize..20,
            jobs in prop::collection::vec(prop::array::uniform4(0u32..64), 0..200),
            home in 0usize..6,
        ) {
            let (shares, home) = (Shares::new(&speeds, least), home % speeds.len());
            let parts = shares.split(jobs.len(), home);
            prop_assert_eq!(parts.iter().sum::<usize>(), jobs.len());
            let assigned = shares.assign(&jobs, home);
            prop_assert_eq!(assigned.len(), jobs.len());
            if parts[home] < jobs.len() {
                for (member, part) in parts.iter().enumerate() {
                    prop_assert_eq!(assigned.iter().filter(|&&a| a == member).count(), *part);
                }
            }
        }
    }
}
