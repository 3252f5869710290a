//! Whole bootstrappings through the public API: encrypt, run on a device, decrypt, compare with
//! plain bits.

use crate::bootstrap::compare::Differences;
use crate::bootstrap::planned::Planned;
use girih::contract::Backend;
use girih::tfhe::{ClientKey, EvaluationKeys, Gate, LookUpTable, ParameterSet, Result, ServerKey};
use girih::{LoadOptions, NoProgress, PlanRequest, Transform};

/// Ciphertexts in a batch: every pair of bits in every slot, several times.
const CIPHERTEXTS: usize = 8;

/// Bit `input` of message `index`: all combinations of three inputs, and of neighbouring slots,
/// come up.
fn bit(index: usize, input: usize) -> bool {
    (index + index / 8) >> input & 1 == 1
}

struct Bench {
    client: ClientKey,
    server: ServerKey,
    count: usize,
    differences: Differences,
}

impl Bench {
    fn new(device: &dyn Backend, set: &ParameterSet, transform: Transform) -> Result<Self> {
        let client = ClientKey::generate_seeded_for_tests(set, [5; 32])?;
        let keys = EvaluationKeys::generate(&client, &NoProgress)?;
        let options = LoadOptions::default().with_transform(transform);
        let server = ServerKey::load(device, &keys, &options, &NoProgress)?;
        // Toys have little room.
        server.limit_failure(-5.0)?;
        Ok(Self {
            client,
            server,
            count: CIPHERTEXTS * set.packing(),
            differences: Differences::new(),
        })
    }

    fn plain(&self, input: usize) -> Vec<bool> {
        (0..self.count).map(|i| bit(i, input)).collect()
    }

    fn compare<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, want: &[T], got: &[T]) {
        if want != got {
            self.differences.push(format!("{what}: {got:?} instead of {want:?}"));
        }
    }

    /// Six gates on host batches, each then negated on the device: a chain that does not come back
    /// in between.
    fn gates(&mut self) -> Result<()> {
        let (x, y) = (self.plain(0), self.plain(1));
        let (ex, ey) = (self.client.encrypt_bits(&x)?, self.client.encrypt_bits(&y)?);
        let (dx, dy) = (self.server.upload(&ex)?, self.server.upload(&ey)?);
        for gate in Gate::ALL {
            let want: Vec<bool> = x.iter().zip(&y).map(|(&x, &y)| gate.evaluate(x, y)).collect();
            let got = self.client.decrypt_bits(&self.server.gate(gate, &ex, &ey)?)?;
            self.compare(&format!("{gate}"), &want, &got);
            let again = self.server.gate(
                gate,
                &self.server.not(&self.server.gate(gate, &dx, &dy)?)?,
                &dy,
            )?;
            let want: Vec<bool> =
                want.iter().zip(&y).map(|(&w, &y)| gate.evaluate(!w, y)).collect();
            let got = self.client.decrypt_bits(&self.server.download(&again)?)?;
            self.compare(&format!("{gate}(not {gate}(x, y), y) on the device"), &want, &got);
        }
        let mixed: Vec<Gate> = (0..CIPHERTEXTS).map(|c| Gate::ALL[c % 6]).collect();
        let per_ciphertext = self.count / CIPHERTEXTS;
        let want: Vec<bool> =
            (0..self.count).map(|i| mixed[i / per_ciphertext].evaluate(x[i], y[i])).collect();
        let got = self.client.decrypt_bits(&self.server.gates(&mixed, &ex, &ey)?)?;
        self.compare("mixed gates", &want, &got);
        Ok(())
    }

    fn three_inputs(&mut self) -> Result<()> {
        let plain = [0, 1, 2].map(|input| self.plain(input));
        let [a, b, c] = [0, 1, 2].map(|input| self.client.encrypt_bits(&plain[input]));
        let (a, b, c) = (a?, b?, c?);
        let want: Vec<bool> =
            (0..self.count).map(|i| if plain[0][i] { plain[1][i] } else { plain[2][i] }).collect();
        let got = self.client.decrypt_bits(&self.server.mux(&a, &b, &c)?)?;
        self.compare("mux", &want, &got);
        let want: Vec<bool> =
            (0..self.count).map(|i| plain.iter().filter(|p| p[i]).count() >= 2).collect();
        let got = self.client.decrypt_bits(&self.server.majority(&a, &b, &c)?)?;
        self.compare("majority", &want, &got);
        Ok(())
    }

    /// Two-bit messages through one table, then each slot through a table of its own.
    fn tables(&mut self) -> Result<()> {
        let messages: Vec<u64> = (0..self.count as u64).map(|i| (i + i / 4) % 4).collect();
        let encrypted = self.client.encrypt_messages(&messages, 2)?;
        let table = LookUpTable::new(2, |x| [2, 3, 1, 0][x as usize])?;
        let got = self.client.decrypt_messages(&self.server.apply(&encrypted, &table)?, 2)?;
        let want: Vec<u64> = messages.iter().map(|&m| [2, 3, 1, 0][m as usize]).collect();
        self.compare("one table", &want, &got);
        let tables = (0..self.count as u64)
            .map(|i| LookUpTable::new(2, move |x| (x + i) % 4))
            .collect::<Result<Vec<_>>>()?;
        let got =
            self.client.decrypt_messages(&self.server.apply_each_slot(&encrypted, &tables)?, 2)?;
        let want: Vec<u64> = messages.iter().zip(0..).map(|(&m, i)| (m + i) % 4).collect();
        self.compare("a table a slot", &want, &got);
        // Each message in all slots of its ciphertext: r functions of it by one bootstrapping.
        let r = self.count / CIPHERTEXTS;
        let repeated: Vec<u64> = (0..self.count).map(|i| (i / r) as u64 % 4).collect();
        let encrypted = self.client.encrypt_messages(&repeated, 2)?;
        let got =
            self.client.decrypt_messages(&self.server.apply_slots(&encrypted, &tables[..r])?, 2)?;
        let want: Vec<u64> =
            repeated.iter().zip(0..).map(|(&m, i)| (m + (i % r) as u64) % 4).collect();
        self.compare("several values of one input", &want, &got);
        Ok(())
    }
}

/// A device that takes one LWE index a step says so of `set`, which has more.
///
/// # Errors
/// What is wrong with the refusal, or that there was none.
pub fn refuses_groups(
    device: &dyn Backend,
    set: &ParameterSet,
    transform: Transform,
) -> std::result::Result<(), String> {
    match Bench::new(device, set, transform) {
        Ok(_) => Err(format!("{set} loads, and its gates are not compared")),
        Err(error) if error.to_string().contains("indices a step") => Ok(()),
        Err(error) => Err(format!("the refusal does not name the indices: {error}")),
    }
}

/// A device says so of a choice of its plan that it does not know, instead of leaving it out.
///
/// # Errors
/// What is wrong with the refusal, or that there was none.
pub fn refuses_unknown_choices(
    device: &dyn Backend,
    transform: Transform,
) -> std::result::Result<(), String> {
    let set = ParameterSet::by_name("INSECURE_TOY").map_err(|e| e.to_string())?;
    let plan = PlanRequest { choices: [("colour".to_owned(), 3)].into(), ..Default::default() };
    match Bench::new(&Planned { device, plan }, &set, transform) {
        Ok(_) => Err("a plan with colour=3 loads".into()),
        Err(error) if error.to_string().contains("colour") => Ok(()),
        Err(error) => Err(format!("the refusal does not name the choice: {error}")),
    }
}

/// Gates, functions of three bits and look-up tables on one device, with one set and transform.
///
/// # Errors
/// When keys cannot be made or loaded, or the device fails; wrong outputs come back as lines.
pub fn end_to_end(
    device: &dyn Backend,
    set: &ParameterSet,
    transform: Transform,
) -> Result<Differences> {
    let mut bench = Bench::new(device, set, transform)?;
    bench.gates()?;
    bench.three_inputs()?;
    bench.tables()?;
    Ok(bench.differences)
}
