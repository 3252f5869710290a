//! Gates, functions of three bits and look-up tables.

use super::{Caller, Failure, Part, Tally, compare, key_seed};
use girih::tfhe::{ClientKey, EvaluationKeys, Gate, LookUpTable, NoiseModel, Result, ServerKey};
use girih::{LoadOptions, NoProgress};
use girih_backend::poly::random::Numbers;

/// Gates one after the other before new bits are encrypted.
const DEPTH: usize = 8;

/// log2 of the probability of failure that a call may have by the noise model: a wrong result is
/// then no chance.
const LOG2_RARE: f64 = -45.0;

pub(super) struct Bits {
    client: ClientKey,
    server: ServerKey,
    ciphertexts: usize,
    /// Whether sums of three bits fail rarely.
    three: bool,
    /// Bits of messages whose look-ups fail rarely.
    table_bits: Option<u32>,
}

impl Bits {
    pub fn new(part: &Part) -> Result<Self> {
        let client = ClientKey::generate_seeded_for_tests(part.set, key_seed(part, 0))?;
        let keys = EvaluationKeys::generate(&client, &NoProgress)?;
        let server =
            ServerKey::load(part.device.backend(), &keys, &LoadOptions::default(), &NoProgress)?;
        // What is called is what fails rarely, and not only what the set is made for.
        server.limit_failure(LOG2_RARE.max(server.failure_limit()))?;
        let model = NoiseModel::with_transform(part.set, server.engine().transform());
        let rare = |bits: &u32| model.log2_failure_table(*bits, &[1]) < LOG2_RARE;
        Ok(Self {
            client,
            server,
            ciphertexts: part.ciphertexts,
            three: model.log2_failure_majority() < LOG2_RARE,
            table_bits: (1..=4).rev().find(rare),
        })
    }

    fn messages(&self) -> usize {
        self.ciphertexts * self.server.set().packing()
    }

    fn random_bits(&self, numbers: &mut Numbers) -> Vec<bool> {
        (0..self.messages()).map(|_| numbers.once_in(2)).collect()
    }

    /// A chain that stays on the device, a gate of its own for each ciphertext; every step is read
    /// back and compared.
    fn gates(&self, numbers: &mut Numbers, tally: &mut Tally) -> Result<Option<String>> {
        let packing = self.server.set().packing();
        let (mut x, mut y) = (self.random_bits(numbers), self.random_bits(numbers));
        let upload = |bits: &[bool]| self.server.upload(&self.client.encrypt_bits(bits)?);
        let (mut dx, mut dy) = (upload(&x)?, upload(&y)?);
        for depth in 0..DEPTH {
            let gates: Vec<Gate> =
                (0..self.ciphertexts).map(|_| Gate::ALL[numbers.below(Gate::ALL.len())]).collect();
            let dz = self.server.gates(&gates, &dx, &dy)?;
            let gate = |i: usize| gates[i / packing].evaluate(x[i], y[i]);
            let want: Vec<bool> = (0..x.len()).map(gate).collect();
            let got = self.client.decrypt_bits(&self.server.download(&dz)?)?;
            tally.gates += want.len() as u64;
            let line = compare(&format!("gates at depth {depth}"), &want, &got, tally);
            if line.is_some() {
                // What follows would count one wrong bit many times.
                return Ok(line);
            }
            (dx, dy) = (dy, dz);
            (x, y) = (y, want);
        }
        Ok(None)
    }

    fn three_bits(&self, numbers: &mut Numbers, tally: &mut Tally) -> Result<Option<String>> {
        let plain = [(); 3].map(|()| self.random_bits(numbers));
        let encrypt = |i: usize| self.client.encrypt_bits(&plain[i]);
        let (a, b, c) = (encrypt(0)?, encrypt(1)?, encrypt(2)?);
        let (what, got) = if numbers.once_in(2) {
            ("mux", self.server.mux(&a, &b, &c)?)
        } else {
            ("majority", self.server.majority(&a, &b, &c)?)
        };
        let wanted = |i: usize| match (what, plain[0][i], plain[1][i], plain[2][i]) {
            ("mux", select, yes, no) => [no, yes][usize::from(select)],
            (_, a, b, c) => u8::from(a) + u8::from(b) + u8::from(c) >= 2,
        };
        let want: Vec<bool> = (0..self.messages()).map(wanted).collect();
        tally.gates += want.len() as u64;
        Ok(compare(what, &want, &self.client.decrypt_bits(&got)?, tally))
    }

    /// A random table for each ciphertext.
    fn look_ups(
        &self,
        bits: u32,
        numbers: &mut Numbers,
        tally: &mut Tally,
    ) -> Result<Option<String>> {
        let most = 1usize << bits;
        let packing = self.server.set().packing();
        let messages: Vec<u64> = (0..self.messages()).map(|_| numbers.below(most) as u64).collect();
        let tables = (0..self.ciphertexts)
            .map(|_| {
                let values: Vec<u64> = (0..most).map(|_| numbers.below(most) as u64).collect();
                LookUpTable::new(bits, |m| values[m as usize])
            })
            .collect::<Result<Vec<_>>>()?;
        let encrypted = self.client.encrypt_messages(&messages, bits)?;
        let got = self.server.apply_each(&encrypted, &tables)?;
        let value = |(i, &m): (usize, &u64)| tables[i / packing].values()[m as usize];
        let want: Vec<u64> = messages.iter().enumerate().map(value).collect();
        tally.look_ups += want.len() as u64;
        let got = self.client.decrypt_messages(&got, bits)?;
        Ok(compare(&format!("tables of {bits} bits"), &want, &got, tally))
    }
}

impl Caller for Bits {
    fn call(
        &self,
        numbers: &mut Numbers,
        tally: &mut Tally,
    ) -> std::result::Result<Option<String>, Failure> {
        Ok(match (numbers.below(4), self.table_bits) {
            (0, Some(bits)) => self.look_ups(bits, numbers, tally)?,
            (1, _) if self.three => self.three_bits(numbers, tally)?,
            _ => self.gates(numbers, tally)?,
        })
    }
}
