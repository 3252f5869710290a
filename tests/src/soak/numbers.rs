//! Gates and look-ups of numbers in the slots of CKKS ciphertexts, in chains that stay on the
//! device.

use super::{Caller, Failure, Part, Tally, compare, key_seed, numbers};
use girih::NoProgress;
use girih::discrete::{ClientKey, EvaluationKeys, Gate, Result, ServerKey, Table, Wires};
use girih_backend::poly::random::Numbers;

/// Steps one after the other before new numbers are encrypted.
const DEPTH: usize = 16;

/// Tables of a part: each is a recording.
const TABLES: usize = 2;

pub(super) struct InSlots {
    client: ClientKey,
    server: ServerKey,
    ciphertexts: usize,
    /// What may follow itself without end, by the bound on failures.
    gates: Vec<Gate>,
    tables: Vec<Table>,
}

impl InSlots {
    pub fn new(part: &Part) -> std::result::Result<Self, Failure> {
        let (set, ciphertexts) = part.in_slots.ok_or("numbers in slots need a set")?;
        let client = ClientKey::generate_seeded_for_tests(set, key_seed(part, 3))?;
        let keys = EvaluationKeys::generate(&client, &NoProgress)?;
        let options = Default::default();
        let server = ServerKey::load(part.device.backend(), &keys, &options, &NoProgress)?;
        let mut draws = numbers(part.seed, &[part.number, 4]);
        let p = set.modulus();
        let mut table = || {
            let values: Vec<u32> = (0..p).map(|_| draws.below(p as usize) as u32).collect();
            Table::new(p, |m| values[m as usize])
        };
        let mut tables = Vec::new();
        if server.reach(p, 1)? > 0 {
            tables = (0..TABLES).map(|_| table()).collect::<Result<_>>()?;
        }
        // Which gates go on without end is seen on results of gates, which are noisier than fresh.
        let bits = client.encrypt_batch(&[&[0, 1]], 2)?;
        let fresh = server.upload(&bits)?;
        let first = server.gate(Gate::And, &fresh, &fresh)?;
        let gates = Gate::ALL.into_iter().filter(|&g| server.gate(g, &first, &first).is_ok());
        let gates = gates.collect();
        Ok(Self { client, server, ciphertexts, gates, tables })
    }

    fn random(&self, draws: &mut Numbers, below: u32) -> Vec<Vec<u32>> {
        let count = self.server.set().numbers();
        let mut one = || (0..count).map(|_| draws.below(below as usize) as u32).collect();
        (0..self.ciphertexts).map(|_| one()).collect()
    }

    fn upload(&self, plain: &[Vec<u32>], below: u32) -> Result<Wires> {
        self.server.upload(&self.client.encrypt_batch(plain, below)?)
    }

    fn compare(
        &self,
        what: &str,
        want: &[Vec<u32>],
        got: &Wires,
        tally: &mut Tally,
    ) -> Result<Option<String>> {
        let want: Vec<i64> = want.iter().flatten().map(|&x| x.into()).collect();
        let got = self.client.decrypt_integers(&self.server.download(got)?)?;
        Ok(compare(what, &want, &got, tally))
    }

    /// A gate of its own at each step, of the two results before it.
    fn gates(&self, draws: &mut Numbers, tally: &mut Tally) -> Result<Option<String>> {
        let (mut x, mut y) = (self.random(draws, 2), self.random(draws, 2));
        let (mut dx, mut dy) = (self.upload(&x, 2)?, self.upload(&y, 2)?);
        for depth in 0..DEPTH {
            let gate = self.gates[draws.below(self.gates.len())];
            let dz = self.server.gate(gate, &dx, &dy)?;
            let of = |(x, y): (&u32, &u32)| u32::from(gate.of(*x == 1, *y == 1));
            let pairs = x.iter().zip(&y);
            let z: Vec<Vec<u32>> = pairs.map(|(x, y)| x.iter().zip(y).map(of).collect()).collect();
            tally.gates_in_slots += z.iter().map(|z| z.len() as u64).sum::<u64>();
            let line = self.compare(&format!("{gate:?} at depth {depth}"), &z, &dz, tally)?;
            if line.is_some() {
                return Ok(line);
            }
            (dx, dy, x, y) = (dy, dz, y, z);
        }
        Ok(None)
    }

    /// A table of its own at each step, of the result before it.
    fn look_ups(&self, draws: &mut Numbers, tally: &mut Tally) -> Result<Option<String>> {
        let p = self.server.set().modulus();
        let mut x = self.random(draws, p);
        let mut dx = self.upload(&x, p)?;
        for depth in 0..DEPTH {
            let table = &self.tables[draws.below(self.tables.len())];
            dx = self.server.lookup(&dx, &[table])?.remove(0);
            for x in x.iter_mut().flatten() {
                *x = table.at(i64::from(*x)) as u32;
            }
            tally.look_ups_in_slots += x.iter().map(|x| x.len() as u64).sum::<u64>();
            let line =
                self.compare(&format!("a table modulo {p} at depth {depth}"), &x, &dx, tally)?;
            if line.is_some() {
                return Ok(line);
            }
        }
        Ok(None)
    }
}

impl Caller for InSlots {
    fn call(
        &self,
        draws: &mut Numbers,
        tally: &mut Tally,
    ) -> std::result::Result<Option<String>, Failure> {
        // Where both are possible, every other call.
        let look_ups = self.gates.is_empty() || !self.tables.is_empty() && draws.once_in(2);
        if look_ups && self.tables.is_empty() {
            return Err(format!("{} takes neither gates nor tables", self.server.set()).into());
        }
        Ok(if look_ups { self.look_ups(draws, tally)? } else { self.gates(draws, tally)? })
    }
}
