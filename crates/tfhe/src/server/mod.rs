//! Evaluation keys loaded on a device, and what can be done with them.

mod batch;
mod centred;
mod compress;
mod failure;
mod function;
mod gate;
mod jobs;
mod load;
mod rounding;
mod store;
mod table;
mod table_cache;
mod three;

pub use batch::Batch;
pub use centred::{CentredTable, LoadedTable, SecondMessage};
pub use function::{Function, FunctionKind};
pub use gate::Gate;
pub use store::DeviceCiphertexts;
pub use table::LookUpTable;

use crate::ciphertext::{BITS, check_plaintext};
use crate::compression::Merger;
use crate::{KeyId, LweCiphertexts, NoiseModel, ParameterSet, Result, error};
pub(crate) use batch::Words;
use failure::Bound;
use gate::OfOne;
use girih_backend::{BootstrapJob, Combination, Engine, LinearJob, Operand, timeline};
use girih_rlwe::{Counts, Mismatch};
pub(crate) use rounding::{before_rounding, centred};
use std::sync::Arc;
use store::Store;
use table::{LoadedTables, plaintext_of};
pub(crate) use table_cache::HeldTables;
use table_cache::TableCache;

/// Evaluation keys loaded on one device: runs gates and look-up tables there.
///
/// Every function takes batches of either kind (see [`Batch`]): [`LweCiphertexts`] on the host are
/// carried to the device and back in chunks of bounded size; [`DeviceCiphertexts`] stay there
/// between calls. It can be shared between threads.
///
/// Ciphertexts under another client key than its own are refused; results name its own. So is what
/// would fail more often than a bound, by the noise model: [`ServerKey::limit_failure`].
pub struct ServerKey {
    set: ParameterSet,
    id: KeyId,
    engine: Engine,
    store: Arc<Store>,
    tables: Arc<TableCache>,
    model: NoiseModel,
    bound: Bound,
    /// Where the keys have a compression key.
    merger: Option<Merger>,
}

impl std::fmt::Debug for ServerKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ServerKey({}, {}, {})", self.set, self.engine.transform(), self.engine.plan())
    }
}

impl ServerKey {
    /// The limit of [`ServerKey::limit_tables`] until another is set.
    pub const TABLE_BYTES: usize = 64 << 20;

    /// Why it works on the ciphertexts of one client key.
    pub(crate) const ONE_CLIENT: &str =
        "each client's ciphertexts need evaluation keys from that client";

    /// The parameter set.
    pub fn set(&self) -> &ParameterSet {
        &self.set
    }

    /// Name of the client key whose ciphertexts it works on.
    pub fn key_id(&self) -> KeyId {
        self.id
    }

    /// The device's engine, for jobs of one's own and for reading stages.
    ///
    /// Its store is shared with [`DeviceCiphertexts`]: reserve places with [`ServerKey::allocate`]
    /// instead of choosing them. Test polynomials that are added there stay for good.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Limits the memory of look-up tables to `bytes` on the device and as many on the host, at 8
    /// bytes a coefficient of a test polynomial (N of them a table; some devices take 4). Each
    /// table is loaded once and stays for later calls; when the limit is reached, a new one takes
    /// the room of those that have gone unused for longest. Gates stay.
    ///
    /// A call that has more tables than the limit allows, or calls of several threads that do
    /// together, go beyond it for as many as they need at one time. Room that there is stays: a
    /// lower limit than [`ServerKey::table_bytes`] stops its growth. Keys loaded beside each other
    /// have one limit.
    pub fn limit_tables(&self, bytes: usize) {
        self.tables.limit(bytes);
    }

    /// Bytes that look-up tables take now, counted as for [`ServerKey::limit_tables`].
    pub fn table_bytes(&self) -> usize {
        self.tables.bytes()
    }

    /// Copies a batch to the device.
    ///
    /// # Errors
    /// [`Error::WrongSet`](crate::Error::WrongSet) and [`Error::WrongKey`](crate::Error::WrongKey)
    /// for another set or another client's ciphertexts, [`Error::Backend`](crate::Error::Backend)
    /// from the device.
    pub fn upload(&self, ciphertexts: &LweCiphertexts) -> Result<DeviceCiphertexts> {
        self.check(ciphertexts)?;
        Ok(self
            .upload_words(ciphertexts.words(), ciphertexts.log2_modulus())?
            .under(ciphertexts.key_id())
            .noisy(ciphertexts.variance())
            .with_plaintext_modulus(ciphertexts.plaintext_modulus()))
    }

    pub(crate) fn upload_words(
        &self,
        words: &[u32],
        log2_modulus: u32,
    ) -> Result<DeviceCiphertexts> {
        let resident =
            self.allocate_at(words.len() / self.set.shape().ciphertext_len(), log2_modulus)?;
        self.engine.write(resident.first() as usize, words)?;
        Ok(resident)
    }

    /// Copies a batch back to the host, waiting for the work it depends on.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for ciphertexts of another server key, and
    /// failures of the device.
    pub fn download(&self, ciphertexts: &DeviceCiphertexts) -> Result<LweCiphertexts> {
        let mut words = vec![0; ciphertexts.len() * self.set.shape().ciphertext_len()];
        self.download_words(ciphertexts, &mut words)?;
        Ok(LweCiphertexts::from_words_at(&self.set, ciphertexts.log2_modulus(), words)?
            .under(ciphertexts.key_id())
            .noisy(ciphertexts.variance())
            .encoding(ciphertexts.plaintext_modulus()))
    }

    pub(crate) fn download_words(
        &self,
        ciphertexts: &DeviceCiphertexts,
        words: &mut [u32],
    ) -> Result<()> {
        self.check_owner(ciphertexts)?;
        let _span = timeline::host("download");
        Ok(self.engine.read(ciphertexts.first() as usize, words)?)
    }

    /// Reserves places for `count` ciphertexts modulo q on the device, for results under this key;
    /// what they hold is unspecified until something writes them. They are taken for bootstrapped
    /// ones; [`DeviceCiphertexts::with_variance`] says otherwise.
    ///
    /// # Errors
    /// [`Error::Backend`](crate::Error::Backend) if memory runs out.
    pub fn allocate(&self, count: usize) -> Result<DeviceCiphertexts> {
        self.allocate_at(count, self.log2_q())
    }

    pub(crate) fn allocate_at(&self, count: usize, log2_modulus: u32) -> Result<DeviceCiphertexts> {
        let kind = (log2_modulus, self.model.variance_out_at(log2_modulus));
        Ok(DeviceCiphertexts::new(&self.store, &self.set, kind, &self.engine, count)?
            .under(Some(self.id)))
    }

    /// One gate on every pair of bits of two batches of equal length.
    ///
    /// Where both are the same ciphertext, whose error would count twice over, the gate is the bit
    /// itself, its inverse or a constant, and takes no bootstrapping.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for batches of unequal length,
    /// [`Error::WrongSet`](crate::Error::WrongSet) and [`Error::WrongKey`](crate::Error::WrongKey)
    /// for those of another set or key, [`Error::TooNoisy`](crate::Error::TooNoisy) for a failure
    /// probability above [`ServerKey::limit_failure`], and failures of the device.
    pub fn gate<B: Batch>(&self, gate: Gate, a: &B, b: &B) -> Result<B> {
        self.check_width("a gate", &[a, b], BITS)?;
        B::run(self, &[a, b], self.log2_q(), &|inputs, offset| {
            self.gate_list(|_| gate, |c| a.same(b, offset + c), inputs[0], inputs[1])
        })
    }

    /// A gate of its own for each ciphertext of the batch (it acts on all r slots),
    /// all in one launch.
    ///
    /// # Errors
    /// As [`ServerKey::gate`], and if there is not exactly one gate for each ciphertext.
    pub fn gates<B: Batch>(&self, gates: &[Gate], a: &B, b: &B) -> Result<B> {
        if gates.len() != a.ciphertexts() {
            let count = a.ciphertexts();
            let (what, allowed) =
                (format!("gates for {count} ciphertexts"), Counts::Exactly(count));
            return error::mismatch(Mismatch::count(what, gates.len(), allowed));
        }
        self.check_width("a gate", &[a, b], BITS)?;
        B::run(self, &[a, b], self.log2_q(), &|inputs, offset| {
            let same = |c| a.same(b, offset + c);
            self.gate_list(|c| gates[offset + c], same, inputs[0], inputs[1])
        })
    }

    fn gate_list(
        &self,
        gate: impl Fn(usize) -> Gate,
        same: impl Fn(usize) -> bool,
        a: &DeviceCiphertexts,
        b: &DeviceCiphertexts,
    ) -> Result<DeviceCiphertexts> {
        let out = self.allocate(a.len())?.with_plaintext_modulus(Some(BITS));
        let (alike, pairs): (Vec<usize>, Vec<usize>) = (0..a.len()).partition(|&c| same(c));
        let mut known = [None; Gate::ALL.len()];
        let jobs = pairs
            .into_iter()
            .map(|c| {
                let gate = gate(c);
                let table = match known[gate as usize] {
                    Some(table) => table,
                    None => *known[gate as usize].insert(self.gate_table(gate)?),
                };
                let weight = gate.weight();
                let operands = [
                    Operand { ciphertext: a.at(c), weight },
                    Operand { ciphertext: b.at(c), weight },
                ];
                Ok(self.bit_job(&operands, 0, table, out.at(c)))
            })
            .collect::<Result<Vec<_>>>()?;
        if !jobs.is_empty() {
            // XOR has twice the weights and twice the margin.
            let variance = self.variance_together(&[a.variance(), b.variance()]);
            self.check_input("a gate", self.eighth_of_q(), variance)?;
            self.engine.bootstrap(&jobs)?;
        }
        if alike.is_empty() {
            return Ok(out);
        }
        let log2_modulus = self.log2_q();
        let copies: Vec<_> = alike
            .into_iter()
            .map(|c| {
                let bit = |weight| vec![Operand { ciphertext: a.at(c), weight }];
                let (operands, ones) = match gate(c).of_one() {
                    OfOne::Copy => (bit(1), 0),
                    OfOne::Not => (bit(-1), 1),
                    OfOne::Constant(value) => (Vec::new(), u32::from(value)),
                };
                let input = Combination::new(&operands, self.quarters(ones), log2_modulus);
                LinearJob { input, log2_output_modulus: log2_modulus, output: out.at(c) }
            })
            .collect();
        self.engine.combine(&copies)?;
        let variance = out.variance().max(a.variance());
        Ok(out.noisy(variance))
    }

    /// NOT of every bit: linear, without bootstrapping.
    ///
    /// # Errors
    /// [`Error::WrongSet`](crate::Error::WrongSet) and [`Error::WrongKey`](crate::Error::WrongKey)
    /// for a batch of another set or key, and failures of the device.
    pub fn not<B: Batch>(&self, a: &B) -> Result<B> {
        self.check_width("a NOT", &[a], BITS)?;
        B::run(self, &[a], self.log2_q(), &|inputs, _| {
            let out = self.allocate(inputs[0].len())?.with_plaintext_modulus(Some(BITS));
            let log2_modulus = self.log2_q();
            let job = |c| {
                let operand = Operand { ciphertext: inputs[0].at(c), weight: -1 };
                let input = Combination::new(&[operand], self.quarters(1), log2_modulus);
                LinearJob { input, log2_output_modulus: log2_modulus, output: out.at(c) }
            };
            self.engine.combine(&(0..out.len()).map(job).collect::<Vec<_>>())?;
            Ok(out.noisy(inputs[0].variance()))
        })
    }

    /// One look-up table on every message of a batch.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) if q has no room for the table's messages, for
    /// messages that are known to be of another width ([`LweCiphertexts::plaintext_modulus`]), for
    /// a batch of another set or key, [`Error::TooNoisy`](crate::Error::TooNoisy) where inputs or
    /// results would be read wrongly with a probability above [`ServerKey::limit_failure`], and
    /// failures of the device.
    pub fn apply<B: Batch>(&self, a: &B, table: &LookUpTable) -> Result<B> {
        self.apply_weighted(&[a], &[1], table)
    }

    /// One look-up table on `sum weight_i * input_i`: functions of up to four inputs whose weighted
    /// sum still fits the table's input bits. The errors of the inputs grow with their weights.
    ///
    /// # Errors
    /// As [`ServerKey::apply`], and for no or more than four inputs or unequal numbers of inputs
    /// and weights.
    pub fn apply_weighted<B: Batch>(
        &self,
        inputs: &[&B],
        weights: &[i32],
        table: &LookUpTable,
    ) -> Result<B> {
        let (count, most) = (inputs.len(), Combination::MAX_OPERANDS);
        if !(1..=most).contains(&count) {
            let allowed = Counts::Between(1, most);
            return error::mismatch(Mismatch::count("inputs of a look-up", count, allowed));
        }
        if weights.len() != count {
            let (what, allowed) = (format!("weights for {count} inputs"), Counts::Exactly(count));
            return error::mismatch(Mismatch::count(what, weights.len(), allowed));
        }
        let loaded = self.load_slots(std::slice::from_ref(table))?;
        table.check_inputs(self, inputs)?;
        let variance = self.variance_of_sum(inputs, weights);
        B::run(self, inputs, self.log2_q(), &|inputs, _| {
            self.check_look_up(table, variance)?;
            let results = plaintext_of(std::slice::from_ref(table));
            self.table_list(inputs[0].len(), results, |c| {
                let operands = inputs
                    .iter()
                    .zip(weights)
                    .map(|(i, &weight)| Operand { ciphertext: i.at(c), weight })
                    .collect();
                (operands, &loaded)
            })
        })
    }

    /// A look-up table of its own for each ciphertext of the batch (it acts on all r slots), all in
    /// one launch.
    ///
    /// # Errors
    /// As [`ServerKey::apply`], and if there is not exactly one table for each ciphertext.
    pub fn apply_each<B: Batch>(&self, a: &B, tables: &[LookUpTable]) -> Result<B> {
        self.apply_lists(a, tables, 1, "ciphertexts")
    }

    /// A look-up table of its own for each message: slot j of ciphertext c goes through table `c r
    /// + j`.
    ///
    /// # Errors
    /// As [`ServerKey::apply`], and if there is not exactly one table for each message, or tables
    /// for slots of one ciphertext take inputs of different bits.
    pub fn apply_each_slot<B: Batch>(&self, a: &B, tables: &[LookUpTable]) -> Result<B> {
        self.apply_lists(a, tables, self.set.packing(), "messages")
    }

    fn apply_lists<B: Batch>(
        &self,
        a: &B,
        tables: &[LookUpTable],
        per_ciphertext: usize,
        what: &str,
    ) -> Result<B> {
        let wanted = a.ciphertexts() * per_ciphertext;
        if tables.len() != wanted {
            let what = format!("tables for {wanted} {what}");
            let allowed = Counts::Exactly(wanted);
            return error::mismatch(Mismatch::count(what, tables.len(), allowed));
        }
        tables.iter().try_for_each(|table| table.check_inputs(self, &[a]))?;
        let loaded = tables
            .chunks_exact(per_ciphertext)
            .map(|tables| self.load_slots(tables))
            .collect::<Result<Vec<_>>>()?;
        B::run(self, &[a], self.log2_q(), &|inputs, offset| {
            self.check_look_ups(tables, inputs[0].variance())?;
            self.table_list(inputs[0].len(), plaintext_of(tables), |c| {
                (vec![Operand { ciphertext: inputs[0].at(c), weight: 1 }], &loaded[offset + c])
            })
        })
    }

    /// Runs `len` table look-ups, whose results are of that plaintext modulus: operands and tables
    /// of each.
    fn table_list<'t>(
        &self,
        len: usize,
        results: Option<u64>,
        job: impl Fn(usize) -> (Vec<Operand>, &'t LoadedTables),
    ) -> Result<DeviceCiphertexts> {
        let out = self.allocate(len)?.with_plaintext_modulus(results);
        let log2_q = self.log2_q();
        let jobs: Vec<_> = (0..len)
            .map(|c| {
                let (operands, tables) = job(c);
                BootstrapJob {
                    input: Combination::new(&operands, tables.shift, log2_q),
                    table: tables.held.first(),
                    table_stride: tables.stride,
                    output_offset: centred(&self.set, tables.offset, log2_q),
                    log2_output_modulus: log2_q,
                    output: out.at(c),
                    second: None,
                }
            })
            .collect();
        self.engine.bootstrap(&jobs)?;
        Ok(out)
    }

    /// Whole test polynomials on the device, where they may already be; to be held until the last
    /// call that names them returns.
    pub(crate) fn table(&self, polynomials: Vec<u64>) -> Result<HeldTables> {
        self.tables.hold(&self.engine, polynomials)
    }

    /// log2 of q, the modulus of gates and look-up tables.
    fn log2_q(&self) -> u32 {
        self.set.shape().log2_stored_modulus()
    }

    /// Refuses messages that are known to be of another width. Those of another ciphertext modulus
    /// are left to [`Batch::run`], which refuses them for that.
    fn check_width<B: Batch>(&self, what: &str, inputs: &[&B], wanted: u64) -> Result<()> {
        let mut own = inputs.iter().filter(|input| input.log2_modulus() == self.log2_q());
        own.try_for_each(|input| check_plaintext(input.plaintext_modulus(), wanted, what))
    }

    /// Refuses ciphertexts of another set or under another client key.
    fn check(&self, ciphertexts: &LweCiphertexts) -> Result<()> {
        if *ciphertexts.set() != self.set {
            return error::wrong_set("ciphertexts", ciphertexts.set(), &self.set);
        }
        ciphertexts.check_key(self.id, Self::ONE_CLIENT)
    }
}
