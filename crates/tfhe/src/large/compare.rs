//! Comparisons and what is chosen by them.

use super::LargeServer;
use crate::{Gate, LweCiphertexts, Result, error};
use girih_rlwe::{Counts, Mismatch};

impl LargeServer {
    /// `a < b` for every pair, as bits for gates: the sign of the difference.
    ///
    /// Right where the difference fits in two's complement, so for unsigned messages **below half
    /// their range**, and for signed messages of a quarter of it either way: of 12 bits, 1 is less
    /// than 2047, and 4095 is taken for -1. What is encrypted cannot be looked at, so messages
    /// outside of that are not refused, and the result is wrong; a parameter set with one bit more
    /// has room for all. The errors of both inputs add up.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for batches that differ in length or modulus,
    /// and as [`LargeServer::sign`].
    pub fn less(&self, a: &LweCiphertexts, b: &LweCiphertexts) -> Result<LweCiphertexts> {
        self.sign(&self.difference(a, b)?)
    }

    /// `a <= b` for every pair, right where [`LargeServer::less`] is: for unsigned messages below
    /// half their range.
    ///
    /// # Errors
    /// As [`LargeServer::less`].
    pub fn less_or_equal(&self, a: &LweCiphertexts, b: &LweCiphertexts) -> Result<LweCiphertexts> {
        Ok(self.less(b, a)?.not())
    }

    /// `a == b` for every pair, over the whole range: the signs of `a - b` and of `a - b - 1`,
    /// in one batch, and one gate.
    ///
    /// # Errors
    /// As [`LargeServer::less`].
    pub fn equal(&self, a: &LweCiphertexts, b: &LweCiphertexts) -> Result<LweCiphertexts> {
        let difference = self.difference(a, b)?;
        let less_by_one = LweCiphertexts::weighted_sum(
            &[(&difference, 1)],
            -2 * self.parameters().beta() as i64,
        )?;
        let signs = self.sign(&LweCiphertexts::concatenate(&[&difference, &less_by_one])?)?;
        self.gate(Gate::And, &signs.slice(0..a.len())?.not(), &signs.slice(a.len()..signs.len())?)
    }

    /// Which of several batches holds the largest message, place by place: the bits of its
    /// position, least significant first, for gates. The first of equals wins. Right where
    /// [`LargeServer::less`] is: for unsigned messages below half their range.
    ///
    /// All pairs are compared in one batch; a candidate that loses to none,
    /// by a tree of OR, is the one.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for fewer than two or more than 256 batches, and
    /// as [`LargeServer::less`].
    pub fn argmax(&self, candidates: &[&LweCiphertexts]) -> Result<Vec<LweCiphertexts>> {
        let count = candidates.len();
        if !(2..=256).contains(&count) {
            let allowed = Counts::Between(2, 256);
            return error::mismatch(Mismatch::count("batches to compare", count, allowed));
        }
        let pairs: Vec<(usize, usize)> =
            (0..count).flat_map(|i| (i + 1..count).map(move |j| (i, j))).collect();
        let difference = |&(i, j): &(usize, usize)| self.difference(candidates[i], candidates[j]);
        let differences = pairs.iter().map(difference).collect::<Result<Vec<_>>>()?;
        let less =
            self.sign(&LweCiphertexts::concatenate(&differences.iter().collect::<Vec<_>>())?)?;
        // losses[i] holds a bit for each rival of i; an earlier candidate wins ties.
        let mut losses = vec![Vec::with_capacity(count - 1); count];
        let len = candidates[0].len();
        for (index, &(i, j)) in pairs.iter().enumerate() {
            let bit = less.slice(index * len..(index + 1) * len)?;
            losses[j].push(bit.not());
            losses[i].push(bit);
        }
        while losses[0].len() > 1 {
            losses = self.or_pairs(losses)?;
        }
        let winners: Vec<LweCiphertexts> = losses.iter().map(|bits| bits[0].not()).collect();
        // A bit of the position is set where one of the candidates with that bit wins.
        let bits = usize::BITS - (count - 1).leading_zeros();
        let sums = (0..bits).map(|bit| {
            let terms: Vec<_> = winners
                .iter()
                .enumerate()
                .filter(|(i, _)| i >> bit & 1 == 1)
                .map(|(_, w)| w)
                .collect();
            self.any(terms)
        });
        sums.collect()
    }

    /// Halves each candidate's list of bits by OR, all in one batch.
    fn or_pairs(&self, lists: Vec<Vec<LweCiphertexts>>) -> Result<Vec<Vec<LweCiphertexts>>> {
        let len = lists[0][0].len();
        let halves = |side: usize| {
            let parts: Vec<_> =
                lists.iter().flat_map(|l| l.chunks_exact(2).map(move |pair| &pair[side])).collect();
            LweCiphertexts::concatenate(&parts)
        };
        let ors = self.gate(Gate::Or, &halves(0)?, &halves(1)?)?;
        let mut next = 0;
        let mut halve = |list: Vec<LweCiphertexts>| {
            let mut out = Vec::with_capacity(list.len().div_ceil(2));
            for _ in 0..list.len() / 2 {
                out.push(ors.slice(next * len..(next + 1) * len)?);
                next += 1;
            }
            if list.len() % 2 == 1 {
                out.extend(list.into_iter().last());
            }
            Ok(out)
        };
        lists.into_iter().map(&mut halve).collect()
    }

    /// OR of several bits.
    fn any(&self, bits: Vec<&LweCiphertexts>) -> Result<LweCiphertexts> {
        let mut lists = vec![bits.into_iter().cloned().collect::<Vec<_>>()];
        while lists[0].len() > 1 {
            lists = self.or_pairs(lists)?;
        }
        match lists.pop().and_then(|mut list| list.pop()) {
            Some(bit) => Ok(bit),
            None => error::mismatch(Mismatch::empty("bits of an OR")),
        }
    }

    /// A gate on bits that these functions gave, with the cheapest gadget that is loaded.
    ///
    /// # Errors
    /// As [`ServerKey::gate`](crate::ServerKey::gate).
    pub fn gate(
        &self,
        gate: Gate,
        a: &LweCiphertexts,
        b: &LweCiphertexts,
    ) -> Result<LweCiphertexts> {
        let home = self.parameters().home();
        let log2_q = home.shape().log2_lwe_modulus;
        [a, b].into_iter().try_for_each(|c| self.parameters().check_home(c.set()))?;
        if a.log2_modulus() != log2_q {
            let what = "bits for gates";
            return error::mismatch(Mismatch::modulus(what, a.log2_modulus(), [log2_q; 2]));
        }
        let server = self.server(log2_q)?;
        server.gate(gate, &a.named(server.set())?, &b.named(server.set())?)?.named(home)
    }
}
