//! Ever new look-up tables from several threads at once, in little room.

use crate::bootstrap::compare::Differences;
use girih::contract::Backend;
use girih::tfhe::{ClientKey, EvaluationKeys, Gate, LookUpTable, ParameterSet, Result, ServerKey};
use girih::{LoadOptions, NoProgress, Transform};

/// Threads that share one server key.
const THREADS: usize = 3;
/// Ciphertexts of a call, each with a table of its own for each slot or for all.
const CIPHERTEXTS: usize = 4;
/// The toy's noise turns about one message in a thousand into its neighbour; a table that is wrong
/// is wrong each time.
const TRIES: usize = 4;
/// Lists of tables that the threads hold at one time.
const HELD: usize = THREADS * CIPHERTEXTS;

struct Bench {
    client: ClientKey,
    server: ServerKey,
}

impl Bench {
    /// A table for each number below 4,096, from two bits to three.
    fn table(number: usize) -> Result<LookUpTable> {
        LookUpTable::with_output_bits(2, 3, move |m| (number >> (3 * m) & 7) as u64)
    }

    /// One batch through tables from `number` on: one for each slot, or for each ciphertext.
    fn call(&self, number: usize, ciphertexts: usize, each_slot: bool) -> Result<Differences> {
        let packing = self.server.set().packing();
        let messages: Vec<u64> =
            (0..ciphertexts * packing).map(|i| (number / 5 + i) as u64 % 4).collect();
        let tables = if each_slot { messages.len() } else { ciphertexts };
        let tables = (number..number + tables).map(Self::table).collect::<Result<Vec<_>>>()?;
        let table_of = |i: usize| &tables[if each_slot { i } else { i / packing }];
        let want: Vec<u64> =
            messages.iter().enumerate().map(|(i, &m)| table_of(i).values()[m as usize]).collect();
        let mut wrong = None;
        for _ in 0..TRIES {
            let encrypted = self.client.encrypt_messages(&messages, 2)?;
            let got = if each_slot {
                self.server.apply_each_slot(&encrypted, &tables)
            } else {
                self.server.apply_each(&encrypted, &tables)
            };
            let got = self.client.decrypt_messages(&got?, 3)?;
            if got == want {
                return Ok(Differences::new());
            }
            wrong = Some(format!("tables from {number} on: {got:?} instead of {want:?}"));
        }
        Ok(wrong.into_iter().collect())
    }

    /// A gate, whose table is older than all others and must still be there.
    fn gate(&self) -> Result<Differences> {
        let (x, y) = ([true, true, false, false], [true, false, true, false]);
        let got = self.server.gate(
            Gate::Nand,
            &self.client.encrypt_bits(&x)?,
            &self.client.encrypt_bits(&y)?,
        )?;
        let got = self.client.decrypt_bits(&got)?;
        Ok((got != [false, true, true, true])
            .then(|| format!("nand among tables: {got:?}"))
            .into_iter()
            .collect())
    }

    /// Every third call has a table for each slot: lists of two sizes share the room.
    fn thread(&self, thread: usize, calls: usize) -> Result<Differences> {
        let mut differences = Differences::new();
        for call in 0..calls {
            let number = (thread * calls + call) * CIPHERTEXTS * self.server.set().packing();
            differences.extend(self.call(number, CIPHERTEXTS, call % 3 == 2)?);
            if call % 8 == 7 {
                differences.extend(self.gate()?);
            }
        }
        Ok(differences)
    }
}

/// `calls` calls of each of several threads that share a server key, no two with the same table;
/// then one call with more tables than there is room for.
///
/// # Errors
/// When keys cannot be made or loaded, or the device fails; wrong outputs and too much room come
/// back as lines.
pub fn end_to_end(device: &dyn Backend, transform: Transform, calls: usize) -> Result<Differences> {
    let set = ParameterSet::by_name("INSECURE_TOY")?.with_packing(2)?;
    let client = ClientKey::generate(&set)?;
    let keys = EvaluationKeys::generate(&client, &NoProgress)?;
    let options = LoadOptions::default().with_transform(transform);
    let server = ServerKey::load(device, &keys, &options, &NoProgress)?;
    // Three bits are what the toy just reads.
    server.limit_failure(-5.0)?;
    // A list takes up to two places. Half of twice as many are free, in at most one gap more than
    // lists: two are neighbours.
    let one = 8 * set.shape().polynomial_size;
    let (limit, bench) = (4 * HELD, Bench { client, server });
    bench.server.limit_tables(limit * one);
    let mut differences = bench.gate()?;
    let threads: Vec<Result<Differences>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let bench = &bench;
                scope.spawn(move || bench.thread(thread, calls))
            })
            .collect();
        threads.into_iter().map(|t| t.join().expect("a thread ends with its result")).collect()
    });
    for thread in threads {
        differences.extend(thread?);
    }
    let mut expect = |when: &str, least: usize, most: usize| {
        let got = bench.server.table_bytes() / one;
        if !(least..=most).contains(&got) {
            differences.push(format!(
                "{when}: there is room for {got} tables and not for {least} to {most}"
            ));
        }
    };
    // A list of two may find one place too few below the limit.
    expect("after all threads", limit - 1, limit);
    // Nobody else holds anything: all but the gate give way.
    let many = limit + 2;
    let wrong = bench.call(0, many, false)?;
    expect("after a call beyond the limit", many + 1, many + 1);
    differences.extend(wrong);
    Ok(differences)
}
