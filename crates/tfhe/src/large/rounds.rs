//! The job lists of one round.

use crate::server::{HeldTables, before_rounding, centred};
use crate::{DeviceCiphertexts, Result, ServerKey};
use girih_backend::{BootstrapJob, Combination, LinearJob, Operand};
use girih_ring::switch::mod_switch;

/// A stored ciphertext with its weight.
pub(super) fn operand(ciphertext: u32, weight: i32) -> Operand {
    Operand { ciphertext, weight }
}

/// One bootstrapping of each of `len` inputs through one table.
pub(super) struct Rotation<'t> {
    /// log2 of the modulus of the input, which divides 2N.
    pub log2_input: u32,
    pub table: &'t HeldTables,
    /// Added modulo Q.
    pub offset: u64,
    pub log2_output: u32,
}

/// Runs `rotation` on each input: operands and a constant.
pub(super) fn rotate(
    server: &ServerKey,
    rotation: &Rotation<'_>,
    len: usize,
    input: impl Fn(usize) -> (Vec<Operand>, u32),
) -> Result<DeviceCiphertexts> {
    let out = server.allocate_at(len, rotation.log2_output)?;
    let job = |c| {
        let (operands, constant) = input(c);
        BootstrapJob {
            input: Combination::new(&operands, constant, rotation.log2_input),
            table: rotation.table.first(),
            table_stride: 0,
            output_offset: centred(server.set(), rotation.offset, rotation.log2_output),
            log2_output_modulus: rotation.log2_output,
            output: out.at(c),
            second: None,
        }
    };
    server.engine().bootstrap(&(0..len).map(job).collect::<Vec<_>>())?;
    Ok(out)
}

/// `sum of operands + constant` modulo `2^log2_modulus`, rescaled to `2^log2_result`.
pub(super) fn combine(
    server: &ServerKey,
    (log2_modulus, log2_result): (u32, u32),
    len: usize,
    input: impl Fn(usize) -> (Vec<Operand>, u32),
) -> Result<DeviceCiphertexts> {
    let out = server.allocate_at(len, log2_result)?;
    let mean = if log2_result < log2_modulus { before_rounding(server.set()) } else { 0 };
    let job = |c| {
        let (operands, constant) = input(c);
        LinearJob {
            input: Combination::new(&operands, constant.wrapping_add(mean), log2_modulus),
            log2_output_modulus: log2_result,
            output: out.at(c),
        }
    };
    server.engine().combine(&(0..len).map(job).collect::<Vec<_>>())?;
    Ok(out)
}

/// The test polynomial that maps phase x, `0 <= x < 2^log2_input / 2`, to phase `f(x)` modulo
/// `2^log2_output`: coefficient u holds `f(floor(u 2^log2_input / 2N)) Q / 2^log2_output`.
pub(super) fn phase_table(
    server: &ServerKey,
    log2_input: u32,
    log2_output: u32,
    f: impl Fn(i64) -> i64,
) -> Result<HeldTables> {
    let (size, modulus) =
        (server.set().shape().polynomial_size as u64, server.accumulator_modulus()?);
    let value = |u: u64| {
        let phase = f(((u << log2_input) / (2 * size)) as i64);
        mod_switch(phase.rem_euclid(1 << log2_output) as u64, 1 << log2_output, modulus)
    };
    server.table((0..size).map(value).collect())
}

/// What a floor leaves.
pub(super) struct Floor {
    /// Ciphertexts with the digit cleared.
    pub result: DeviceCiphertexts,
    /// Between the bootstrappings: phases whose digit lies in the middle half, input modulus.
    pub halfway: DeviceCiphertexts,
}

/// LMP22, algorithm HomFloor: clears what lies below `2^log2_digit`, then rescales to
/// `2^log2_result`. The two bootstrappings are by the keys `decide` and `read`.
///
/// The digit x with beta added, modulo q = `2^log2_digit`, is first moved into the middle half
/// `[q/4, 3q/4)` by a quarter up or down, whichever the first bootstrapping sees fit. The second,
/// negacyclic where x is the identity on that half, then gives all of it to be subtracted. Both
/// choose exactly on the ciphertexts they read: no bound on x near q/2 is needed.
pub(super) fn floor(
    [decide, read]: [&ServerKey; 2],
    input: &DeviceCiphertexts,
    beta: u64,
    log2_digit: u32,
    log2_result: u32,
) -> Result<Floor> {
    let (len, log2_modulus) = (input.len(), input.log2_modulus());
    let q = 1i64 << log2_digit;
    let rotation =
        |table| Rotation { log2_input: log2_digit, table, offset: 0, log2_output: log2_modulus };
    let down_or_up = phase_table(decide, log2_digit, log2_modulus, |_| -q / 4)?;
    let quarter = rotate(decide, &rotation(&down_or_up), len, |c| {
        (vec![operand(input.at(c), 1)], beta as u32)
    })?;
    let halfway = combine(read, (log2_modulus, log2_modulus), len, |c| {
        (vec![operand(input.at(c), 1), operand(quarter.at(c), -1)], beta as u32)
    })?;
    let identity =
        phase_table(read, log2_digit, log2_modulus, |x| if x < q / 4 { -q / 2 - x } else { x })?;
    let digit = rotate(read, &rotation(&identity), len, |c| (vec![operand(halfway.at(c), 1)], 0))?;
    let result = combine(read, (log2_modulus, log2_result), len, |c| {
        (vec![operand(halfway.at(c), 1), operand(digit.at(c), -1)], 0)
    })?;
    Ok(Floor { result, halfway })
}

/// Top bits of messages whose modulus divides 2N: `2 / parts` of `2^log2_output` where the bit is
/// set, 0 where it is not.
pub(super) fn extract_sign(
    server: &ServerKey,
    input: &DeviceCiphertexts,
    beta: u64,
    parts: u64,
    log2_output: u32,
) -> Result<DeviceCiphertexts> {
    let modulus = server.accumulator_modulus()?;
    let offset = mod_switch(1, parts, modulus);
    let table = server.constant_table(modulus - offset)?;
    let rotation =
        Rotation { log2_input: input.log2_modulus(), table: &table, offset, log2_output };
    rotate(server, &rotation, input.len(), |c| (vec![operand(input.at(c), 1)], beta as u32))
}
